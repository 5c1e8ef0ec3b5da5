//! The corpus in `testdata/certificates`: what must be accepted, what must be refused and why, and
//! what is no certificate. `SECATEUR_WRITE_CORPUS=1 cargo test -p secateur-checker --test it corpus`
//! writes it anew; without that, the committed files are compared with what would be written.

use std::collections::BTreeSet;
use std::fs;

use crate::common::{Opened, assert_told, certified, certified_scores, certified_with, stumps, stumps_with};
use num_bigint::BigUint;
use secateur_certificate::{
    BandClaim, CoverTerm, CutTerm, Digest, Domain, Effect, Intercept, MAGIC, MAGIC_2, OutputRange, Slack,
    Statement, Step, Writer, encode,
};
use secateur_checker::{Limits, Reason, Scorer, Verdict, check_where};
use secateur_formats::{Edit, ModelFile, TreeEdit, threshold_cut};
use secateur_model::{
    ClassId, Column, Cut, Ensemble, FeatureId, Group, GroupKind, Near, Pairing, Side, TreeId, Where,
};
use secateur_oracle::{
    Around, Band, Held, OneModel, Options, Outline, Part, ScoreComparison, SearchBudget, Surroundings, Twins,
};
use secateur_testkit::testdata;

/// One file of the corpus.
struct Case {
    /// `accept/name`, `reject/name` or `malformed/name`.
    name: String,
    models: [&'static str; 2],
    bytes: Vec<u8>,
    /// The reason of a refusal; none where it is accepted.
    reason: Option<&'static str>,
}

struct Models {
    files: Vec<(&'static str, ModelFile)>,
}

impl Models {
    fn make() -> Self {
        let fixture = |name: &str| ModelFile::read(&testdata("models/xgboost").join(name)).unwrap();
        let (binary, three) = (fixture("3.4.1-logistic.json"), fixture("3.4.1-softprob.json"));
        let scaled = |file: &ModelFile, size: f64| {
            let count = file.ensemble().trees().len();
            let scale = |index: usize| TreeEdit::Scale {
                tree: TreeId::new(index),
                factor: 1.0 + size * (index as f64 / count as f64 - 0.5),
            };
            file.edit(&Edit { trees: (0..count).map(scale).collect(), intercepts: None }).unwrap()
        };
        // Two stumps of which the first always decides, and each of them alone.
        let trees = stumps(0.0, &[(0, 0.5, -2.0, 2.0), (1, 0.5, -1.0, 1.0)]);
        let replaced = |kept: &[usize]| {
            let replace = |&index: &usize| TreeEdit::Replace {
                tree: TreeId::new(index),
                with: trees.trees()[index].clone(),
            };
            let trees = kept.iter().map(replace).collect();
            binary.edit(&Edit { trees, intercepts: Some(vec![0.0]) }).unwrap()
        };
        // The first stump, which sends missing values to the other side.
        let turned = stumps_with(0.0, &[(0, 0.5, -2.0, 2.0)], true);
        let with = TreeEdit::Replace { tree: TreeId(0), with: turned.trees()[0].clone() };
        let missing_left = Edit { trees: vec![with], intercepts: Some(vec![0.0]) };
        let files = vec![
            ("binary_scaled", scaled(&binary, 0.02)),
            ("binary_far", scaled(&binary, 0.6)),
            ("three_scaled", scaled(&three, 0.02)),
            ("stumps", replaced(&[0, 1])),
            ("first_stump", replaced(&[0])),
            ("second_stump", replaced(&[1])),
            ("missing_left", binary.edit(&missing_left).unwrap()),
            ("binary", binary),
            ("three", three),
        ];
        Self { files }
    }

    fn file(&self, name: &str) -> &ModelFile {
        &self.files.iter().find(|(own, _)| *own == name).unwrap().1
    }

    fn get(&self, name: &str) -> &Ensemble {
        self.file(name).ensemble()
    }

    fn pair(&self, [first, second]: [&str; 2]) -> [&Ensemble; 2] {
        [self.get(first), self.get(second)]
    }
}

const BINARY: [&str; 2] = ["binary", "binary_scaled"];
const THREE: [&str; 2] = ["three", "three_scaled"];
const MISSING: [&str; 2] = ["first_stump", "missing_left"];
const STUMPS: [&str; 2] = ["stumps", "first_stump"];
const TOGETHER: [&str; 2] = ["stumps", "second_stump"];

/// The first two columns hold one of these rows.
fn table(rows: Vec<Vec<f64>>) -> Group {
    Group { columns: vec![FeatureId(0), FeatureId(1)], kind: GroupKind::Table(rows) }
}

fn cut(terms: &[(u32, u32, u32, u32)]) -> Step {
    let term = |&(point, winner, other, multiplier): &(u32, u32, u32, u32)| CutTerm {
        point,
        winner,
        other,
        multiplier: BigUint::from(multiplier),
    };
    Step::Cut { terms: terms.iter().map(term).collect() }
}

fn dual(denominator: u64, terms: &[(u32, u64)]) -> Step {
    let term = |&(cut, numerator): &(u32, u64)| CoverTerm { cut, numerator };
    Step::Dual { denominator, terms: terms.iter().map(term).collect() }
}

/// The proof that the first stump cannot be removed: it outweighs the second where they disagree.
fn bound_steps(width: usize) -> Vec<Step> {
    let point = |first: f64, second: f64| {
        let mut values = vec![0.0; width];
        (values[0], values[1]) = (first, second);
        Step::Point { values }
    };
    vec![
        point(1.0, 0.0),
        point(0.0, 1.0),
        Step::Columns { intercept: Intercept::Free, columns: vec![vec![0], vec![1]] },
        cut(&[(0, 1, 0, 1), (1, 0, 1, 1)]),
        Step::Cover { costs: None, bound: 1 },
        Step::Branch { column: 1 },
        dual(1, &[(0, 1)]),
        dual(2, &[(0, 2)]),
        Step::Cover { costs: Some(vec![7, 3]), bound: 7 },
        dual(1, &[(0, 7)]),
        Step::Crossing { point: 0, feature: 0, low: 0.0, high: 1.0 },
    ]
}

/// A single point: it needs the first stump or else a constant, which counts as the third item.
fn counted_steps(width: usize) -> Vec<Step> {
    let mut steps = bound_steps(width);
    steps.truncate(2);
    steps.extend([
        Step::Columns { intercept: Intercept::Counted, columns: vec![vec![0], vec![1]] },
        cut(&[(0, 1, 0, 1)]),
        Step::Cover { costs: None, bound: 1 },
        Step::Branch { column: 2 },
        dual(1, &[]),
        dual(1, &[(0, 1)]),
        Step::Cover { costs: Some(vec![4, 9, 2]), bound: 2 },
        dual(1, &[(0, 2)]),
    ]);
    steps
}

fn is_join(step: &Step) -> bool {
    matches!(step, Step::Join { .. })
}

fn cases(models: &Models) -> Vec<Case> {
    let certificate = |names: [&str; 2], band: Band| {
        let [first, second] = models.pair(names);
        // These files are older than joins and stay as they are.
        let options = Options { small_boxes: false, ..Options::unlimited() };
        Opened::read(&certified_with(first, second, band, &options).expect("the claim holds")).unwrap()
    };
    // Proofs by the search over boxes alone, which joins small boxes.
    let joined = |names: [&str; 2], band: Band| {
        let [first, second] = models.pair(names);
        let options = Options { shortcuts: false, ..Options::unlimited() };
        let opened = Opened::read(&certified_with(first, second, band, &options).expect("the claim holds"));
        let opened = opened.unwrap();
        assert!(opened.steps.iter().any(is_join), "{names:?}: no small box was joined");
        opened
    };
    let binary = certificate(BINARY, Band::Score(0.001));
    let three = certificate(THREE, Band::Score(0.001));
    let met = certificate(STUMPS, Band::Auto);
    let mut bounded = met.clone();
    let width = models.get("stumps").features().len();
    bounded.steps.extend(bound_steps(width));

    let mut cases = Vec::new();
    let mut add = |folder: &str, name: &str, models, bytes: Vec<u8>, reason| {
        cases.push(Case { name: format!("{folder}/{name}"), models, bytes, reason });
    };
    add("accept", "binary", BINARY, binary.write(), None);
    add("accept", "three_classes", THREE, three.write(), None);
    add("accept", "meet", STUMPS, met.write(), None);
    add("accept", "bounds", STUMPS, bounded.write(), None);
    // Both decisions need the first stump or a constant. The cover says so, since the constant is
    // counted.
    let mut counted = met.clone();
    counted.steps.extend(counted_steps(width));
    add("accept", "counted_constant", STUMPS, counted.write(), None);
    add(
        "accept",
        "itself",
        ["binary", "binary"],
        certificate(["binary", "binary"], Band::Exact).write(),
        None,
    );

    let mut at_once = certificate(["binary", "binary"], Band::Score(0.001));
    at_once.steps.clear();
    add("accept", "itself_without_systems", ["binary", "binary"], at_once.write(), None);

    let join = joined(BINARY, Band::Score(0.001));
    add("accept", "join", BINARY, join.write(), None);
    // Each of six systems at once: the original's lead over the class that the other one's row is
    // about.
    let itself = ["three", "three"];
    let mut whole = certificate(itself, Band::Exact);
    whole.steps.retain(|step| matches!(step, Step::Stack { .. } | Step::System { .. }));
    let join_of = |step: Step| match step {
        Step::System { winner, other, .. } => {
            let row = if other < winner { other } else { other - 1 };
            vec![step, Step::Join { row, fixed: vec![] }]
        }
        _ => vec![step],
    };
    whole.steps = whole.steps.into_iter().flat_map(join_of).collect();
    add("accept", "join_of_three_classes", itself, whole.write(), None);

    // The models differ only for missing values.
    let [first, other] = models.pair(MISSING);
    assert!(certified(first, other, Band::Auto).is_none(), "the models differ at missing values");
    let narrow = certified(&first.within(&Domain::no_missing()).unwrap(), other, Band::Auto)
        .expect("and nowhere else");
    let narrow = Opened::read(&narrow).unwrap();
    add("accept", "no_missing", MISSING, narrow.write(), None);

    // The models read different columns, which hold the same values in the domain.
    let [first, other] = models.pair(TOGETHER);
    assert!(certified(first, other, Band::Auto).is_none(), "the models differ where the columns do");
    let equal = vec![vec![0.0, 0.0], vec![1.0, 1.0]];
    let limits = Column { min: Some(0.0), whole: true, missing: false, ..Column::default() };
    let within = Domain::new(true, [(FeatureId(2), limits)], vec![table(equal.clone())]).unwrap();
    let together = certified(&first.within(&within).unwrap(), other, Band::Auto).expect("and nowhere else");
    let together = Opened::read(&together).unwrap();
    assert_eq!(together.claim.version(), 2);
    add("accept", "domain", TOGETHER, together.write(), None);
    // Announced is not used: the rows of these systems have the unit that they had before.
    let mut announced = together.clone();
    announced.set_local(true);
    add("accept", "rounding_by_input_announced", TOGETHER, announced.write(), None);

    // The models read different columns, which hold the same values wherever the first model's own
    // score is high.
    let score = |digest: Digest, output: u32, bound: f64| {
        let own = Where::of_digest(digest.0, output, Side::AtLeast, bound).unwrap();
        move |copy: &mut Opened| {
            copy.claim.domain = copy.claim.domain.without_wheres().with_wheres(vec![own.clone()]);
        }
    };
    let own = Where::of_digest(Digest::of(first).0, 0, Side::AtLeast, 2.0).unwrap();
    let high = Domain::everything().with_wheres(vec![own.with_model(first.clone(), "stumps").unwrap()]);
    let scored =
        certified(&first.within(&high).unwrap(), other, Band::Auto).expect("they decide alike there");
    let scored = Opened::read(&scored).unwrap();
    add("accept", "where", TOGETHER, scored.write(), None);
    // Scores: the logistic ones of a binary model, and the three of a softmax.
    let scores = |names: [&str; 2], within: f64| {
        let [first, second] = models.pair(names);
        let options = Options { shortcuts: false, ..Options::unlimited() };
        let bytes = certified_scores(first, second, within, &options).expect("the scores are that near");
        Opened::read(&bytes).unwrap()
    };
    let near = scores(BINARY, 0.00875);
    assert_eq!(near.claim.version(), 2);
    add("accept", "scores", BINARY, near.write(), None);
    add("accept", "scores_of_three_classes", THREE, scores(THREE, 0.0031).write(), None);
    let [first, other] = models.pair(TOGETHER);
    let one_row = Domain::new(true, [], vec![table(vec![vec![0.0, 0.0], vec![0.0, 1.0]])]).unwrap();
    let first = first.within(&one_row).unwrap();
    let near_there = certified_scores(&first, other, 2.5, &Options::unlimited()).expect("a stump apart");
    add("accept", "scores_in_a_domain", TOGETHER, near_there, None);

    // Decisions at a probability of 0.6.
    let cut_of = |probability: f64| threshold_cut(models.file("stumps"), probability).unwrap();
    let six = cut_of(0.6);
    let [first, second] = models.pair(STUMPS).map(|model| model.cut_at(six).unwrap());
    let at_threshold =
        Opened::read(&certified(&first, &second, Band::Auto).expect("the claim holds")).unwrap();
    assert_eq!(at_threshold.claim.version(), 2);
    add("accept", "threshold", STUMPS, at_threshold.write(), None);

    // One model: its range, its class where the first column is high, what moving the second column
    // does, and that the score never falls when the first one rises.
    let alone = ["stumps", "stumps"];
    let own = models.get("stumps");
    let unlimited = || Options::unlimited();
    let one = OneModel::new(own, &SearchBudget::unlimited()).unwrap();
    let found = one.range(0, 4, &unlimited()).unwrap();
    assert_eq!([found.at_least, found.at_most], [-3.0, 3.0]);
    let limits = |least: f64, most: f64| Statement::Range {
        outputs: vec![OutputRange { output: 0, at_least: Some(least), at_most: Some(most) }],
    };
    let Statement::Range { outputs } = limits(-3.0, 3.0) else { unreachable!("made above") };
    let shown = [(0, found.lowest.row), (0, found.highest.row)];
    let (_, _, writer) = one.certify_range(&outputs, &shown, &unlimited(), Vec::new()).unwrap();
    let range = Opened::read(&writer.unwrap().finish(true).unwrap()).unwrap();
    add("accept", "range", alone, range.write(), None);
    let high = Column { min: Some(0.5), missing: false, ..Column::default() };
    let high = own.within(&Domain::new(true, [(FeatureId(0), high)], vec![]).unwrap()).unwrap().into_owned();
    let there = OneModel::new(&high, &SearchBudget::unlimited()).unwrap();
    let (_, _, writer) = there.class(&[ClassId(1)], &unlimited(), Vec::new()).unwrap();
    let class = Opened::read(&writer.unwrap().finish(true).unwrap()).unwrap();
    add("accept", "class", alone, class.write(), None);
    let closest = nearest(own);
    add("accept", "nearest", alone, closest.write(), None);
    let twins = Twins::new(own, &[FeatureId(1)], Pairing::Free).unwrap();
    let comparison = ScoreComparison::of_twins(&twins, &SearchBudget::unlimited()).unwrap();
    let (_, _, writer) = comparison.certify(2.0, &unlimited(), Vec::new()).unwrap();
    let moves = Opened::read(&writer.unwrap().finish(true).unwrap()).unwrap();
    add("accept", "moves", alone, moves.write(), None);
    let outline = Outline::of_twins(&twins, Band::Auto).unwrap();
    let comparison = outline.lay_out(&SearchBudget::unlimited()).unwrap();
    let (_, writer) = comparison.certify(&unlimited(), Vec::new()).unwrap();
    let keeps = Opened::read(&writer.unwrap().finish(true).unwrap()).unwrap();
    add("accept", "moves_no_decision", alone, keeps.write(), None);
    let steps = Twins::new(own, &[FeatureId(0)], Pairing::Steps).unwrap();
    let (_, _, writer) = steps.rises(0, false, &unlimited(), Vec::new()).unwrap();
    let rises = Opened::read(&writer.unwrap().finish(true).unwrap()).unwrap();
    add("accept", "never_falls", alone, rises.write(), None);
    let bits = Opened::read(&steps.treewise(0, false).unwrap()).unwrap();
    add("accept", "never_falls_tree_by_tree", alone, bits.write(), None);

    let find = |opened: &Opened, wanted: fn(&Step) -> bool| opened.steps.iter().position(wanted).unwrap();
    let mut refuse = |name: &str, models, opened: &Opened, change: &dyn Fn(&mut Opened), reason| {
        let mut copy = opened.clone();
        change(&mut copy);
        add("reject", name, models, copy.write(), Some(reason));
    };
    refuse("another_original", ["stumps", "binary_scaled"], &binary, &|_| {}, "digest.original");
    refuse("another_pruned", ["binary", "binary"], &binary, &|_| {}, "digest.pruned");
    refuse("models_swapped", ["binary_scaled", "binary"], &binary, &|_| {}, "digest.original");
    let relabel = |copy: &mut Opened| copy.claim.pruned = Digest::of(models.get("three"));
    refuse("other_classes", ["binary", "three"], &binary, &relabel, "claim.classes");
    let band = |score: f64| move |copy: &mut Opened| copy.set_band(BandClaim::Score(score));
    refuse("band_below_rounding", BINARY, &binary, &band(1e-12), "claim.band");
    refuse("band_not_a_number", BINARY, &binary, &band(f64::NAN), "claim.band");
    let far = certificate(["binary", "binary_far"], Band::Score(0.21));
    refuse("band_smaller_than_proved", ["binary", "binary_far"], &far, &band(0.1), "narrow.bound_not_met");
    let exact = |copy: &mut Opened| {
        copy.set_band(BandClaim::Exact);
        copy.set_local(true);
    };
    refuse("rounding_by_input_without_rounding", BINARY, &binary, &exact, "claim.local_rounding");
    let widen = |copy: &mut Opened| copy.claim.domain = Domain::everything();
    refuse("scope_wider_than_proved", MISSING, &narrow, &widen, "close.bound_not_met");
    let missing = |copy: &mut Opened| copy.steps.push(Step::Point { values: vec![f64::NAN; width] });
    refuse("missing_value_out_of_scope", MISSING, &narrow, &missing, "point.values");

    let cut_at = |cuts: Option<[Cut; 2]>| {
        move |copy: &mut Opened| {
            let (band, local_rounding) = (copy.band(), copy.is_local());
            copy.claim.statement = Statement::Decisions { band, local_rounding, cuts };
        }
    };
    // The original's highest score is 3, and the pruned model's is 2.
    let elsewhere = [Cut { score: 2.5, ..six }; 2];
    refuse("threshold_elsewhere", STUMPS, &at_threshold, &cut_at(Some(elsewhere)), "meet.solution");
    let other = cut_at(Some([cut_of(0.45); 2]));
    refuse("threshold_by_a_proof_for_the_library", BINARY, &binary, &other, "narrow.bound_not_met");
    let no_number = Cut { score: f64::NAN, ..six };
    refuse("threshold_not_a_number", STUMPS, &at_threshold, &cut_at(Some([six, no_number])), "claim.cut");
    let negative = Cut { gap: -1.0, ..six };
    refuse(
        "threshold_with_a_negative_gap",
        STUMPS,
        &at_threshold,
        &cut_at(Some([negative, six])),
        "claim.cut",
    );
    refuse("threshold_of_three_classes", ["stumps", "three"], &at_threshold, &relabel, "claim.cut");

    let within = |within: f64| move |copy: &mut Opened| copy.claim.statement = Statement::Scores { within };
    refuse("scores_nearer_than_proved", BINARY, &near, &within(0.001), "close.bound_not_met");
    refuse("scores_within_not_a_number", BINARY, &near, &within(f64::NAN), "claim.within");
    refuse("scores_within_a_negative_number", BINARY, &near, &within(-0.5), "claim.within");
    refuse("scores_within_infinity", BINARY, &near, &within(f64::INFINITY), "claim.within");
    refuse("scores_of_other_models", ["binary", "three"], &near, &relabel, "claim.score_count");
    refuse("scores_by_a_proof_of_decisions", BINARY, &binary, &within(0.00875), "order.unexpected");
    let output = |output: u32, below: bool| {
        move |copy: &mut Opened| {
            let at = copy.steps.iter().position(|step| matches!(step, Step::ScoreSystem { .. })).unwrap();
            copy.steps[at] = Step::ScoreSystem { output, below };
        }
    };
    refuse("scores_of_another_output", BINARY, &near, &output(1, false), "system.output");
    refuse("scores_of_the_other_side", BINARY, &near, &output(0, true), "system.output");
    let one_side = |copy: &mut Opened| {
        let at = copy.steps.iter().rposition(|step| matches!(step, Step::ScoreSystem { .. })).unwrap();
        copy.steps.truncate(at);
    };
    refuse("scores_of_one_side_only", BINARY, &near, &one_side, "end.missing");
    let with_point = |copy: &mut Opened| copy.steps.push(Step::Point { values: vec![0.0; width] });
    refuse("scores_with_a_point", BINARY, &near, &with_point, "order.unexpected");
    let apart = |copy: &mut Opened| {
        copy.claim.statement = Statement::Scores { within: 0.5 };
        copy.steps = vec![Step::ScoreSystem { output: 0, below: false }, Step::Cells];
    };
    let stump_scores = scores(STUMPS, 1.5);
    refuse("scores_too_far_apart_by_cells", STUMPS, &stump_scores, &apart, "cells.score");
    let join_scores = |copy: &mut Opened| {
        copy.steps =
            vec![Step::ScoreSystem { output: 0, below: false }, Step::Join { row: 0, fixed: vec![] }];
    };
    refuse("scores_by_join", STUMPS, &stump_scores, &join_scores, "join.row");
    let meet_scores = |copy: &mut Opened| {
        copy.steps = vec![Step::ScoreSystem { output: 0, below: false }, Step::Meet { first: vec![0] }];
    };
    refuse("scores_by_meet", STUMPS, &stump_scores, &meet_scores, "meet.shape");

    let wider = |rows: Vec<Vec<f64>>| {
        move |copy: &mut Opened| {
            copy.claim.domain = Domain::new(true, [], vec![table(rows.clone())]).unwrap();
        }
    };
    let more = [equal.clone(), vec![vec![1.0, 0.0]]].concat();
    refuse("domain_wider_than_proved", TOGETHER, &together, &wider(more), "close.bound_not_met");
    refuse("domain_gone", TOGETHER, &together, &widen, "close.bound_not_met");
    let beyond = |copy: &mut Opened| {
        let limits = Column { min: Some(0.0), ..Column::default() };
        copy.claim.domain = Domain::new(true, [(FeatureId(999), limits)], Vec::new()).unwrap();
    };
    refuse("domain_of_another_column", TOGETHER, &together, &beyond, "claim.domain");
    let outside = |copy: &mut Opened| {
        let mut values = vec![0.0; width];
        values[0] = 1.0;
        copy.steps.push(Step::Point { values });
    };
    refuse("point_outside_of_the_domain", TOGETHER, &together, &outside, "point.values");

    let of_stumps = Digest::of(models.get("stumps"));
    let of_three = Digest::of(models.get("three"));
    refuse("where_wider_than_proved", TOGETHER, &scored, &score(of_stumps, 0, 0.5), "narrow.bound_not_met");
    refuse("where_gone", TOGETHER, &scored, &widen, "lens.rows");
    refuse("where_another_model_scores", TOGETHER, &scored, &score(of_three, 0, 2.0), "claim.where");
    refuse("where_no_score_is", TOGETHER, &scored, &score(of_stumps, 1, 2.0), "claim.domain");
    refuse("where_nothing_scores_so", TOGETHER, &scored, &score(of_stumps, 0, 99.0), "claim.domain");
    let low = |copy: &mut Opened| copy.steps.push(Step::Point { values: vec![0.0; width] });
    refuse("point_with_another_score", TOGETHER, &scored, &low, "point.values");

    let says = |statement: Statement| move |copy: &mut Opened| copy.claim.statement = statement.clone();
    let by_cells = |statement: Statement, system: Step| {
        move |copy: &mut Opened| {
            copy.claim.statement = statement.clone();
            copy.steps = vec![system.clone(), Step::Cells];
        }
    };
    let above = Step::ScoreSystem { output: 0, below: false };
    let below = Step::ScoreSystem { output: 0, below: true };
    refuse("range_narrower_than_proved", alone, &range, &says(limits(-3.0, 2.5)), "close.bound_not_met");
    refuse("range_not_a_number", alone, &range, &says(limits(-3.0, f64::NAN)), "claim.range");
    refuse("range_of_negative_zero", alone, &range, &says(limits(-0.0, 3.0)), "claim.range");
    refuse("range_of_nothing", alone, &range, &says(Statement::Range { outputs: vec![] }), "claim.range");
    let no_output = OutputRange { output: 1, at_least: None, at_most: Some(9.0) };
    let no_output = says(Statement::Range { outputs: vec![no_output] });
    refuse("range_of_no_output", alone, &range, &no_output, "claim.range");
    let cells = by_cells(limits(-3.0, 2.5), above.clone());
    refuse("range_too_narrow_by_cells", alone, &range, &cells, "cells.range");
    refuse("range_of_another_model", ["first_stump", "first_stump"], &range, &|_| {}, "digest.original");
    refuse("range_of_two_models", STUMPS, &range, &|_| {}, "digest.pruned");
    refuse("range_with_a_point", alone, &range, &with_point, "order.unexpected");
    let short = |copy: &mut Opened| copy.steps.push(Step::Shown { output: 0, values: vec![0.0] });
    refuse("shown_input_too_short", alone, &range, &short, "shown.input");
    let outside = |copy: &mut Opened| copy.steps.push(Step::Shown { output: 3, values: vec![0.0; width] });
    refuse("shown_of_no_output", alone, &range, &outside, "shown.input");
    let allowed = |classes: &[u32]| Statement::Class {
        allowed: classes.iter().map(|&class| ClassId(class)).collect(),
        cut: None,
        near: None,
    };
    refuse("class_domain_gone", alone, &class, &widen, "close.bound_not_met");
    refuse("class_of_no_kind", alone, &class, &says(allowed(&[5])), "claim.class");
    refuse("class_of_all_kinds", alone, &class, &says(allowed(&[0, 1])), "claim.class");
    refuse("class_of_none", alone, &class, &says(allowed(&[])), "claim.class");
    refuse("class_system_of_another", alone, &class, &says(allowed(&[0])), "system.class");
    let everywhere = |copy: &mut Opened| {
        copy.claim.domain = Domain::everything();
        copy.steps = vec![Step::ClassSystem { class: 0 }, Step::Cells];
    };
    refuse("class_that_does_not_hold_by_cells", alone, &class, &everywhere, "cells.class");
    let no_cut = Statement::Class {
        allowed: vec![ClassId(1)],
        cut: Some(Cut { score: f64::NAN, gap: 0.0 }),
        near: None,
    };
    refuse("class_at_no_cut", alone, &class, &says(no_cut), "claim.cut");
    let Some(known) = closest.claim.near().cloned() else { unreachable!("made so") };
    let about = |near: Near| {
        let statement = Statement::Class { allowed: vec![ClassId(0)], cut: None, near: Some(Box::new(near)) };
        says(statement)
    };
    let farther = Near { than: vec![2.0; width], ..known.clone() };
    refuse("nearest_is_farther", alone, &closest, &about(farther.clone()), "close.bound_not_met");
    let far_by_cells = |copy: &mut Opened| {
        about(farther.clone())(copy);
        copy.steps = vec![Step::ClassSystem { class: 1 }, Step::Cells];
    };
    refuse("nearest_is_farther_by_cells", alone, &closest, &far_by_cells, "cells.class");
    let everywhere = |copy: &mut Opened| copy.claim.domain = Domain::everything();
    refuse("nearest_where_values_may_be_missing", alone, &closest, &everywhere, "claim.near");
    let short = Near { row: vec![0.0], ..known.clone() };
    refuse("nearest_to_a_row_too_short", alone, &closest, &about(short), "claim.near");
    let missing = Near { than: vec![f64::NAN; width], ..known.clone() };
    refuse("nearest_is_missing", alone, &closest, &about(missing), "claim.near");
    let negative = Near { weights: vec![-1.0; width], ..known.clone() };
    refuse("nearest_by_negative_weights", alone, &closest, &about(negative), "claim.near");
    let nowhere = says(Statement::Class { allowed: vec![ClassId(0)], cut: None, near: None });
    refuse("nearest_of_all_inputs", alone, &closest, &nowhere, "lens.rows");
    let moved = |columns: &[u32], effect: Effect| Statement::Moves {
        columns: columns.iter().map(|&column| FeatureId(column)).collect(),
        effect,
    };
    let apart = |within: f64| Effect::Apart { within };
    refuse("moves_less_than_proved", alone, &moves, &says(moved(&[1], apart(1.5))), "close.bound_not_met");
    refuse("moves_more_columns", alone, &moves, &says(moved(&[0, 1], apart(2.0))), "close.bound_not_met");
    refuse("moves_no_column", alone, &moves, &says(moved(&[], apart(2.0))), "claim.moves");
    refuse("moves_a_column_that_is_none", alone, &moves, &says(moved(&[999], apart(2.0))), "claim.moves");
    refuse("moves_a_negative_distance", alone, &moves, &says(moved(&[1], apart(-2.0))), "claim.within");
    let cells = by_cells(moved(&[1], apart(1.5)), above);
    refuse("moves_too_far_by_cells", alone, &moves, &cells, "cells.score");
    let other_column = says(moved(&[0], Effect::Decides { band: keeps_band(&keeps), local_rounding: false }));
    refuse("moves_decisions_of_another_column", alone, &keeps, &other_column, "meet.shape");
    let no_system = |copy: &mut Opened| copy.steps.clear();
    refuse("moves_no_decision_without_systems", alone, &keeps, &no_system, "end.missing");
    let with_columns = |copy: &mut Opened| copy.steps.push(Step::Point { values: vec![0.0; width + 1] });
    refuse("moves_no_decision_with_a_point", alone, &keeps, &with_columns, "order.unexpected");
    let order =
        |column: u32, falls: bool, bits: bool| moved(&[column], Effect::Rises { output: 0, falls, bits });
    refuse("never_rises_by_another_proof", alone, &rises, &says(order(0, true, false)), "system.output");
    let cells = by_cells(order(0, true, false), Step::ScoreSystem { output: 0, below: false });
    refuse("never_rises_by_cells", alone, &rises, &cells, "cells.falls");
    refuse("never_rises_tree_by_tree", alone, &bits, &says(order(0, true, true)), "treewise.tree");
    let two = moved(&[0, 1], Effect::Rises { output: 0, falls: false, bits: true });
    refuse("never_falls_of_two_columns", alone, &bits, &says(two), "claim.moves");
    let no_output = moved(&[0], Effect::Rises { output: 7, falls: false, bits: true });
    refuse("never_falls_of_no_output", alone, &bits, &says(no_output), "claim.range");
    let one_more = |copy: &mut Opened| copy.steps.push(below.clone());
    refuse("never_falls_with_a_system", alone, &bits, &one_more, "system.output");

    let stack = |original: Vec<u32>| {
        move |copy: &mut Opened| {
            copy.steps.insert(0, Step::Stack { original: original.clone(), pruned: vec![] })
        }
    };
    refuse("stack_of_nothing", BINARY, &binary, &stack(vec![]), "stack.empty");
    refuse("stack_of_no_tree", BINARY, &binary, &stack(vec![99]), "stack.tree");
    refuse("tree_in_two_stacks", BINARY, &binary, &stack(vec![0]), "stack.twice");
    let after = |copy: &mut Opened| copy.steps.push(Step::Stack { original: vec![], pruned: vec![0] });
    refuse("stack_behind_systems", BINARY, &binary, &after, "order.unexpected");

    let is_system: fn(&Step) -> bool = |step| matches!(step, Step::System { .. });
    let first_system = find(&binary, is_system);
    let second_system =
        first_system + 1 + binary.steps[first_system + 1..].iter().position(is_system).unwrap();
    let without_first = |copy: &mut Opened| drop(copy.steps.drain(first_system..second_system));
    refuse("first_system_missing", BINARY, &binary, &without_first, "system.pair");
    let without_last = |copy: &mut Opened| copy.steps.truncate(second_system);
    refuse("last_system_missing", BINARY, &binary, &without_last, "end.missing");
    // Only a model that is compared with itself needs no system.
    refuse("no_system_at_all", BINARY, &binary, &|copy: &mut Opened| copy.steps.clear(), "end.missing");
    let one_more = |copy: &mut Opened| {
        copy.steps.push(Step::System { winner: 0, other: 1, slack: Slack::Global });
    };
    refuse("system_too_many", BINARY, &binary, &one_more, "system.pair");
    let local = |copy: &mut Opened| {
        copy.set_local(false);
        copy.steps[first_system] = Step::System { winner: 0, other: 1, slack: Slack::Local };
    };
    refuse("rounding_by_input_not_announced", BINARY, &binary, &local, "system.slack");
    let cut_off = |copy: &mut Opened| drop(copy.steps.pop());
    refuse("last_box_missing", BINARY, &binary, &cut_off, "end.missing");

    let lens = find(&binary, |step| matches!(step, Step::Lens { .. }));
    let shorter = |copy: &mut Opened| copy.steps[lens] = Step::Lens { multipliers: vec![1] };
    refuse("lens_of_one_row", BINARY, &binary, &shorter, "lens.rows");
    let late = |copy: &mut Opened| {
        let at = find(copy, |step| matches!(step, Step::Split { .. })) + 1;
        copy.steps.insert(at, Step::Lens { multipliers: vec![1, 1] });
    };
    refuse("lens_behind_boxes", BINARY, &binary, &late, "order.unexpected");

    let replace = |wanted: fn(&Step) -> bool, step: Step| {
        move |copy: &mut Opened| {
            let at = find(copy, wanted);
            copy.steps[at] = step.clone();
        }
    };
    let is_close: fn(&Step) -> bool = |step| matches!(step, Step::Close { .. });
    let is_split: fn(&Step) -> bool = |step| matches!(step, Step::Split { .. });
    let unknown = replace(is_close, Step::Close { lens: 999 });
    refuse("close_by_no_lens", BINARY, &binary, &unknown, "lens.unknown");
    let at_once = |copy: &mut Opened| {
        let at = find(copy, is_split);
        copy.steps.insert(at, Step::Close { lens: 0 });
    };
    refuse("close_too_early", BINARY, &binary, &at_once, "close.bound_not_met");
    let no_axis = replace(is_split, Step::Split { axis: 999, cell: 0, low_first: true });
    refuse("split_on_no_axis", BINARY, &binary, &no_axis, "box.axis");
    let no_cell = replace(is_split, Step::Split { axis: 0, cell: 999, low_first: true });
    refuse("split_behind_no_cell", BINARY, &binary, &no_cell, "box.range");
    let narrow = |low: u32, high: u32| {
        move |copy: &mut Opened| {
            let at = copy.steps.iter().rposition(|step| matches!(step, Step::Lens { .. })).unwrap();
            copy.steps.insert(at + 1, Step::Narrow { axis: 0, low, high, lens: 0 });
        }
    };
    refuse("narrow_to_nothing", BINARY, &binary, &narrow(1, 1), "box.range");
    refuse("narrow_to_the_same", BINARY, &binary, &narrow(0, 999), "box.range");
    refuse("narrow_without_bound", BINARY, &binary, &narrow(0, 1), "narrow.bound_not_met");
    let no_meet = |copy: &mut Opened| {
        copy.steps.truncate(first_system + 1);
        copy.steps.push(Step::Meet { first: vec![0] });
    };
    refuse("meet_of_deep_trees", BINARY, &binary, &no_meet, "meet.shape");
    let axis = |copy: &mut Opened| {
        let at = find(copy, is_system);
        copy.steps.truncate(at + 1);
        copy.steps.push(Step::Meet { first: vec![0, 9] });
    };
    refuse("meet_on_no_axis", STUMPS, &met, &axis, "meet.axis");

    let join_step = |row: u32, fixed: Vec<u32>| {
        move |copy: &mut Opened| {
            let at = find(copy, is_join);
            copy.steps[at] = Step::Join { row, fixed: fixed.clone() };
        }
    };
    refuse("join_of_the_last_row", BINARY, &join, &join_step(1, vec![]), "join.row");
    refuse("join_of_no_row", BINARY, &join, &join_step(999, vec![]), "join.row");
    refuse("join_on_no_axis", BINARY, &join, &join_step(0, vec![0, 999]), "join.axis");

    // A claim that does not hold: the second stump alone is said to decide as both.
    let false_claim = |step: Step| {
        let [first, second] = models.pair(["stumps", "second_stump"]);
        let mut opened = met.clone().about(first, second);
        opened.set_band(BandClaim::Exact);
        opened.set_local(false);
        opened.steps = vec![Step::System { winner: 0, other: 1, slack: Slack::Global }, step];
        opened
    };
    let wrong = ["stumps", "second_stump"];
    refuse("false_claim_by_cells", wrong, &false_claim(Step::Cells), &|_| {}, "cells.solution");
    refuse(
        "false_claim_by_meet",
        wrong,
        &false_claim(Step::Meet { first: vec![0] }),
        &|_| {},
        "meet.solution",
    );

    let join = Step::Join { row: 0, fixed: vec![] };
    refuse("false_claim_by_join", wrong, &false_claim(join), &|_| {}, "join.solution");
    let join = Step::Join { row: 0, fixed: vec![0] };
    refuse("false_claim_by_join_with_fixed_axis", wrong, &false_claim(join), &|_| {}, "join.solution");

    // Bounds: each case replaces one step of the accepted certificate.
    let start = met.steps.len();
    let mut bound = |name: &str, offset: usize, step: Step, reason: &'static str| {
        refuse(
            name,
            STUMPS,
            &bounded,
            &|copy: &mut Opened| copy.steps[start + offset] = step.clone(),
            reason,
        );
    };
    bound("point_too_short", 0, Step::Point { values: vec![0.0] }, "point.values");
    let columns = |intercept, columns: Vec<Vec<u32>>| Step::Columns { intercept, columns };
    bound("column_of_no_tree", 2, columns(Intercept::Free, vec![vec![0], vec![7]]), "columns.tree");
    bound("tree_in_no_column", 2, columns(Intercept::Free, vec![vec![0]]), "columns.tree");
    bound("tree_in_two_columns", 2, columns(Intercept::Free, vec![vec![0], vec![0, 1]]), "columns.tree");
    bound("cut_before_columns", 2, cut(&[(0, 1, 0, 1), (1, 0, 1, 1)]), "order.unexpected");
    bound("cut_of_nothing", 3, cut(&[]), "cut.empty");
    bound("cut_of_no_point", 3, cut(&[(9, 1, 0, 1), (1, 0, 1, 1)]), "cut.point");
    bound("cut_of_one_class", 3, cut(&[(0, 1, 1, 1), (1, 0, 1, 1)]), "cut.classes");
    bound("cut_of_the_loser", 3, cut(&[(0, 0, 1, 1), (1, 1, 0, 1)]), "cut.lead");
    bound("cut_times_zero", 3, cut(&[(0, 1, 0, 0), (1, 0, 1, 0)]), "cut.multiplier");
    bound("cut_by_the_intercept", 3, cut(&[(0, 1, 0, 1)]), "cut.intercept");
    bound("costs_of_one_column", 4, Step::Cover { costs: Some(vec![1]), bound: 1 }, "cover.costs");
    bound("bound_too_high", 4, Step::Cover { costs: None, bound: 2 }, "cover.bound_not_met");
    bound("branch_on_no_column", 5, Step::Branch { column: 2 }, "cover.column");
    bound("dual_of_no_cut", 6, dual(1, &[(1, 1)]), "cover.cut");
    bound("dual_above_the_cost", 6, dual(1, &[(0, 2)]), "cover.dual");
    bound("dual_by_zero", 6, dual(0, &[(0, 1)]), "cover.dual");
    bound("dual_below_the_bound", 7, dual(1, &[]), "cover.bound_not_met");
    bound("case_missing", 7, Step::Cover { costs: None, bound: 1 }, "order.unexpected");
    let crossing = |point, feature, low, high| Step::Crossing { point, feature, low, high };
    bound("crossing_of_no_point", 10, crossing(5, 0, 0.0, 1.0), "crossing.point");
    bound("crossing_backwards", 10, crossing(0, 0, 1.0, 0.0), "crossing.values");
    bound("crossing_to_missing", 10, crossing(0, 0, 0.0, f64::NAN), "crossing.values");
    bound("crossing_without_change", 10, crossing(0, 1, 0.0, 1.0), "crossing.decision");
    let twice = |copy: &mut Opened| copy.steps.push(crossing(1, 0, 0.25, 2.0));
    refuse("crossings_that_overlap", STUMPS, &bounded, &twice, "crossing.overlap");
    let none = |copy: &mut Opened| {
        let trees = models.get("three").trees().len() as u32;
        copy.steps.push(columns(Intercept::None, vec![(0..trees).collect()]));
    };
    refuse("family_without_the_original", THREE, &three, &none, "columns.intercept");
    let counted_step =
        |offset: usize, step: Step| move |copy: &mut Opened| copy.steps[start + offset] = step.clone();
    let costs = counted_step(8, Step::Cover { costs: Some(vec![4, 9]), bound: 2 });
    refuse("costs_without_the_constant", STUMPS, &counted, &costs, "cover.costs");
    let dear = counted_step(9, dual(1, &[(0, 4)]));
    refuse("constant_cheaper_than_the_cut", STUMPS, &counted, &dear, "cover.dual");
    let no_item = counted_step(5, Step::Branch { column: 3 });
    refuse("branch_behind_the_constant", STUMPS, &counted, &no_item, "cover.column");
    let open = |copy: &mut Opened| copy.steps.truncate(start + 6);
    refuse("cover_that_does_not_end", STUMPS, &bounded, &open, "end.missing");

    let mut unfinished = Writer::new(Vec::new(), &binary.claim).unwrap();
    binary.steps[..second_system].iter().for_each(|step| unfinished.step(step).unwrap());
    add(
        "reject",
        "says_that_it_is_incomplete",
        BINARY,
        unfinished.finish(false).unwrap(),
        Some("incomplete.declared"),
    );

    let whole = met.write();
    let mut malformed = |name, bytes: Vec<u8>, reason| add("malformed", name, STUMPS, bytes, Some(reason));
    malformed("empty", Vec::new(), "malformed.truncated");
    malformed("a_model", b"{\"learner\": {}}\n".to_vec(), "malformed.magic");
    malformed("another_version", b"secateur certificate 3\n".to_vec(), "malformed.version");
    malformed("half", whole[..whole.len() / 2].to_vec(), "malformed.truncated");
    malformed("checksum_missing", whole[..whole.len() - 1].to_vec(), "malformed.truncated");
    malformed("something_behind", [&whole[..], b"x"].concat(), "malformed.trailing");
    let mut damaged = whole.clone();
    *damaged.last_mut().unwrap() ^= 1;
    malformed("checksum_wrong", damaged, "malformed.compression");
    let body = |bytes: &[u8]| {
        // The claim stays, and these bytes follow it as the steps.
        let mut writer = Writer::new(Vec::new(), &met.claim).unwrap();
        writer.encoded(bytes, 0).unwrap();
        writer.finish(true).unwrap()
    };
    malformed("unknown_step", body(&[0x07]), "malformed.unknown_step");
    malformed("unknown_extended_step", body(&[30 << 3]), "malformed.unknown_step");
    malformed("number_not_shortest", body(&[3, 0x80, 0x00]), "malformed.number");
    malformed(
        "number_too_large",
        body(&[3, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]),
        "malformed.number",
    );
    malformed("choice_of_no_kind", body(&[8, 0, 1, 2]), "malformed.choice");
    malformed("list_too_long", body(&[16, 0xff, 0xff, 0xff, 0x7f]), "malformed.too_long");
    let mut steps = Vec::new();
    met.steps.iter().for_each(|step| encode(step, &mut steps));
    malformed("steps_not_counted", body(&steps), "malformed.step_count");
    // Claims of version 2: digests, exact arithmetic, then a domain.
    let claim = |kind: u8, domain: &[u8]| {
        let mut bytes = vec![kind];
        bytes.extend([0; 64]);
        bytes.push(0);
        bytes.extend_from_slice(domain);
        bytes.push(0);
        let mut encoder = flate2::write::ZlibEncoder::new(MAGIC_2.to_vec(), flate2::Compression::new(1));
        std::io::Write::write_all(&mut encoder, &bytes).unwrap();
        encoder.finish().unwrap()
    };
    malformed("claim_of_no_kind", claim(7, &[1, 0, 0, 0]), "malformed.choice");
    // Numbers 13 and 14 are steps of claims about one model.
    malformed("class_system_in_decisions", body(&[13 << 3, 0]), "malformed.unknown_step");
    malformed("shown_in_decisions", body(&[14 << 3, 0, 0]), "malformed.unknown_step");
    // Number 12 is a step of claims about scores alone.
    malformed("score_system_in_decisions", body(&[12 << 3, 0, 0]), "malformed.unknown_step");
    // The domain says that column 0 may be missing, which the first byte already says.
    malformed("domain_says_nothing", claim(0, &[1, 1, 0, 1, 0, 0]), "malformed.domain");
    let scored = |output: u8, side: u8, bound: f64| {
        [&[1, 0, 0, 1][..], &[7; 32], &[output, side], &bound.to_le_bytes()].concat()
    };
    malformed("where_of_no_number", claim(0, &scored(0, 0, f64::NAN)), "malformed.domain");
    malformed("where_of_negative_zero", claim(0, &scored(0, 0, -0.0)), "malformed.domain");
    malformed("where_of_no_side", claim(0, &scored(0, 2, 1.0)), "malformed.choice");
    let one = &scored(0, 0, 1.0)[4..];
    let twice = [&[1, 0, 0, 2][..], one, one].concat();
    malformed("where_twice", claim(0, &twice), "malformed.domain");
    malformed("domain_with_group_of_one", claim(0, &[1, 0, 1, 0, 1, 3, 0]), "malformed.domain");
    malformed("domain_with_columns_turned", claim(0, &[1, 0, 1, 0, 2, 3, 2, 0]), "malformed.domain");
    malformed("domain_with_unknown_flag", claim(0, &[1, 1, 0, 64, 0, 0]), "malformed.choice");
    cases
}

/// The band of a claim that moving columns changes no decision.
fn keeps_band(opened: &Opened) -> BandClaim {
    match opened.claim.statement {
        Statement::Moves { effect: Effect::Decides { band, .. }, .. } => band,
        ref other => panic!("{other:?}"),
    }
}

/// What the checker says: verdict, reason, step, message.
fn answer(
    models: [&Ensemble; 2],
    scorers: &[Scorer<'_>],
    bytes: &[u8],
) -> (&'static str, &'static str, String, String) {
    let refused = |verdict, reason: Reason, step: Option<u64>| {
        assert_told(&reason);
        let step = step.map_or("-".to_owned(), |step| step.to_string());
        (verdict, reason.code(), step, reason.message())
    };
    match check_where(models[0], models[1], scorers, bytes, &Limits::default(), &|| false) {
        Ok(Verdict::Valid(_)) => ("valid", "-", "-".to_owned(), "-".to_owned()),
        Ok(Verdict::Invalid { reason, step }) => refused("invalid", reason, step),
        Ok(Verdict::Incomplete { reason, step }) => refused("incomplete", reason, step),
        Err(error) => ("malformed", error.code(), "-".to_owned(), "-".to_owned()),
    }
}

/// Reasons that need other models or limits than the corpus has. `rules.rs`, `labels.rs` and
/// `one_model.rs` test them.
const ELSEWHERE: &[&str] = &[
    "claim.features",
    "claim.steps",
    "claim.labels",
    "claim.no_certain_margin",
    "claim.band_asked",
    "claim.scope_asked",
    "claim.domain_asked",
    "claim.kind_asked",
    "claim.within_asked",
    "claim.threshold_asked",
    "claim.overflow",
    "claim.divisors",
    "claim.treewise",
    "cells.order_of_addition",
    "limit.overlay",
    "limit.lenses",
    "limit.cells",
    "limit.join",
    "limit.meet",
    "limit.points",
    "limit.cuts",
    "limit.stopped",
];

#[test]
fn the_corpus_is_judged_as_it_says() {
    let models = Models::make();
    let folder = testdata("certificates");
    let write = std::env::var_os("SECATEUR_WRITE_CORPUS").is_some();
    let mut table = String::from("file\toriginal\tpruned\tverdict\treason\tstep\tmessage\n");
    let mut seen = BTreeSet::new();
    let mut wrong = Vec::new();
    let cases = cases(&models);
    let scorers = [Scorer { model: models.get("stumps"), name: "models/stumps.json" }];
    for case in &cases {
        let (verdict, reason, step, message) = answer(models.pair(case.models), &scorers, &case.bytes);
        let expected = case.reason.unwrap_or("-");
        if reason != expected {
            wrong.push(format!("{}: {expected} expected, {verdict} {reason} at {step}", case.name));
        }
        seen.insert(reason);
        let [first, second] = case.models;
        table +=
            &format!("{}\t{first}.json\t{second}.json\t{verdict}\t{reason}\t{step}\t{message}\n", case.name);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    for code in Reason::codes() {
        let here = seen.contains(code);
        assert!(here != ELSEWHERE.contains(&code), "{code}: in the corpus: {here}");
    }
    if write {
        for part in ["models", "accept", "reject", "malformed"] {
            fs::create_dir_all(folder.join(part)).unwrap();
        }
        for (name, file) in &models.files {
            fs::write(folder.join("models").join(format!("{name}.json")), file.to_bytes()).unwrap();
        }
        for case in &cases {
            fs::write(folder.join(&case.name), &case.bytes).unwrap();
        }
        fs::write(folder.join("expected.tsv"), &table).unwrap();
    }
    assert_eq!(fs::read_to_string(folder.join("expected.tsv")).unwrap(), table, "written anew? see above");
    let mut listed = 0;
    for part in ["accept", "reject", "malformed"] {
        listed += fs::read_dir(folder.join(part)).unwrap().count();
    }
    assert_eq!(listed, cases.len(), "files that no case accounts for");
    for (name, file) in &models.files {
        let committed = fs::read(folder.join("models").join(format!("{name}.json"))).unwrap();
        assert!(committed == file.to_bytes(), "{name}: another model is committed");
    }
    for case in &cases {
        let committed = fs::read(folder.join(&case.name)).unwrap();
        assert_eq!(
            answer(models.pair(case.models), &scorers, &committed),
            answer(models.pair(case.models), &scorers, &case.bytes),
            "{}",
            case.name
        );
        // Compressed bytes may change from one version of the compressor to the next; the content
        // may not.
        match (Opened::read(&committed), Opened::read(&case.bytes)) {
            (Ok(committed), Ok(made)) => {
                assert_eq!(format!("{committed:?}"), format!("{made:?}"), "{}", case.name);
            }
            (Err(committed), Err(made)) => assert_eq!(committed.code(), made.code(), "{}", case.name),
            _ => panic!("{}: another certificate is committed", case.name),
        }
        let known = committed.starts_with(MAGIC) || committed.starts_with(MAGIC_2);
        assert!(known || case.name.starts_with("malformed/"), "{}", case.name);
    }
}

/// The proof that no input is nearer to a row of zeros and of another class than the nearest one, by the
/// differences of the columns.
fn nearest(own: &Ensemble) -> Opened {
    let model = own.within(&Domain::no_missing()).unwrap();
    let one = OneModel::new(&model, &SearchBudget::unlimited()).unwrap();
    let of = Surroundings::new(&one);
    let width = model.features().len();
    let row = vec![0.0; width];
    let mut near = Near { row: row.clone(), than: row.clone(), weights: vec![1.0; width], counted: false };
    let measured = near.clone();
    let measure = |column, value| measured.of_value(model.features(), column, value);
    let around = Around::new(&of, &row, &measure).unwrap().unwrap();
    let (parts, allowed) = (vec![Part::Free; of.held().len()], [around.class()]);
    let mut found = around.ask(&parts, &allowed, &[], &Options::unlimited(), false).unwrap();
    while let Some(cells) = &found.cells {
        near.than = around.input(cells);
        found = around.ask_near(&near, &parts, &allowed, &Options::unlimited()).unwrap();
    }
    assert_eq!(found.held, Held::Holds);
    Opened::read(&found.certificate.unwrap()).unwrap()
}
