//! Refusals that need other models or limits than the corpus has; and the meaning of bounds,
//! checked by brute force.

use std::sync::Arc;

use crate::common::{self, Opened, assert_told, certified, searched_pair, stump_pair, stumps};
use fastrand::Rng;
use num_bigint::BigUint;
use secateur_certificate::{
    BandClaim, Claim, CoverTerm, CutTerm, Digest, Domain, Intercept, Slack, Statement, Step,
};
use secateur_checker::{Limits, Reason, Verdict, check, check_until};
use secateur_model::{
    Accumulation, ClassId, ClassLabels, Decision, Ensemble, EnsembleBuilder, Exact, Features, Grid, GroupId,
    Intake, InterceptPosition, NumberType, Order, Output, Predictor, Steps, TreeBuilder, TreeId,
};
use secateur_oracle::{Band, Comparison, Options, exact_class};
use secateur_testkit::{Shape, ensemble, every_row, leads_by_more_than};

fn claim(original: &Ensemble, pruned: &Ensemble, band: BandClaim) -> Claim {
    Claim {
        original: Digest::of(original),
        pruned: Digest::of(pruned),
        statement: Statement::Decisions { band, local_rounding: false, cuts: None },
        domain: Domain::everything(),
    }
}

fn reason_with(opened: &Opened, models: [&Ensemble; 2], limits: &Limits) -> Option<Reason> {
    let (reason, incomplete) = match check(models[0], models[1], &opened.write()[..], limits).unwrap() {
        Verdict::Valid(_) => return None,
        Verdict::Invalid { reason, .. } => (reason, false),
        Verdict::Incomplete { reason, .. } => (reason, true),
    };
    assert_eq!(reason.is_incomplete(), incomplete, "{reason:?}");
    assert_told(&reason);
    Some(reason)
}

/// Asserts that the certificate is refused with this code, and that the sentence names all of this.
fn assert_refused(reason: Option<Reason>, code: &str, names: &[&str]) {
    let reason = reason.unwrap_or_else(|| panic!("accepted, where {code} was expected"));
    assert_eq!(reason.code(), code);
    for name in names {
        assert!(reason.message().contains(name), "{name:?} is not in {:?}", reason.message());
    }
}

/// A check that is stopped never gives a verdict about the certificate: at whichever call of `stop`
/// it ends, the answer is that it was stopped; and if `stop` would only say true after its last
/// call, the answer is the usual one.
#[test]
fn a_check_that_is_stopped_says_so() {
    let (mut meets, mut boxes, mut joins) = (0, 0, 0);
    let pairs = (0..40).map(stump_pair).chain((0..40).map(searched_pair));
    let pairs = pairs.map(|pair| (pair, false)).chain((0..40).map(|seed| (common::joined_pair(seed), true)));
    for ((first, second), small_boxes) in pairs {
        let options = Options { small_boxes, shortcuts: !small_boxes, ..Options::unlimited() };
        let Some(bytes) = common::certified_with(&first, &second, Band::Auto, &options) else { continue };
        let steps = Opened::read(&bytes).unwrap().steps;
        meets += usize::from(steps.iter().any(|step| matches!(step, Step::Meet { .. })));
        boxes += usize::from(steps.contains(&Step::Cells));
        joins += usize::from(steps.iter().any(|step| matches!(step, Step::Join { .. })));
        let asked = std::cell::Cell::new(0u64);
        let after = |limit: u64| {
            asked.set(0);
            let stop = || {
                asked.set(asked.get() + 1);
                asked.get() > limit
            };
            check_until(&first, &second, &bytes[..], &Limits::default(), &stop).unwrap()
        };
        assert!(matches!(after(u64::MAX), Verdict::Valid(_)));
        let questions = asked.get();
        assert!(questions > 1);
        for limit in (0..questions).step_by(1 + questions as usize / 20) {
            let verdict = after(limit);
            let stopped = matches!(verdict, Verdict::Incomplete { ref reason, .. } if reason.is_stopped());
            assert!(stopped, "{limit} of {questions}: {verdict:?}");
        }
        assert!(matches!(after(questions), Verdict::Valid(_)));
    }
    assert!(meets > 5 && boxes > 2 && joins > 2, "{meets} {boxes} {joins}: rules that were not met");
}

/// Constant trees of f64 values with a decision at zero, added in this order.
fn constants(values: &[f64], order: Order) -> Ensemble {
    constants_with(values, order, 0.0)
}

/// The same, with an intercept of zero that is known up to an error.
fn constants_with(values: &[f64], order: Order, error: f64) -> Ensemble {
    let intake = Intake { number: NumberType::F64, missing: false, infinities: false, zero_window: None };
    let accumulation =
        Accumulation { number: NumberType::F64, intercept: InterceptPosition::First, order, average: None };
    let decision = Decision::Threshold { group: GroupId(0), threshold: 0.0, strict: true };
    let (features, classes) = (Features::unnamed(1), ClassLabels::Unnamed(2));
    let mut builder =
        EnsembleBuilder::new(features, intake, classes, vec![0.0], accumulation, decision).unwrap();
    builder.intercept_errors(vec![error]).unwrap();
    for &value in values {
        let mut tree = TreeBuilder::new();
        tree.leaf(&[value]);
        builder.tree(tree, Output::Group(GroupId(0)), 1.0).unwrap();
    }
    builder.build()
}

const FIRST: Step = Step::System { winner: 0, other: 1, slack: Slack::Global };
const SECOND: Step = Step::System { winner: 1, other: 0, slack: Slack::Global };

#[test]
fn models_of_different_columns_are_refused() {
    let (one, two) = (constants(&[1.0], Order::File), stumps(0.0, &[(0, 0.0, 1.0, 1.0)]));
    let opened = Opened { claim: claim(&one, &two, BandClaim::Exact), steps: vec![] };
    let reason = reason_with(&opened, [&one, &two], &Limits::default());
    assert_refused(reason, "claim.features", &["original has 1 columns", "pruned model has 2"]);
}

/// Digests are of the models, so this certificate fits all of these files, although its claim would
/// be false for some of them.
#[test]
fn models_behind_different_steps_are_refused() {
    let behind = |content: &[u8]| {
        let steps = Steps { names: vec!["scaler".to_owned()], content: content.to_vec() };
        constants(&[1.0], Order::File).behind(Arc::new(steps))
    };
    let (plain, ours, others) = (constants(&[1.0], Order::File), behind(b"1"), behind(b"2"));
    let opened = Opened { claim: claim(&ours, &ours, BandClaim::Exact), steps: vec![] };
    let reason = |models| reason_with(&opened, models, &Limits::default());
    for models in [[&ours, &others], [&others, &ours], [&plain, &ours], [&ours, &plain]] {
        assert_refused(reason(models), "claim.steps", &["steps", "does not reach both"]);
    }
    assert!(reason([&ours, &ours]).is_none_or(|reason| reason.code() != "claim.steps"));
}

#[test]
fn sums_that_may_overflow_have_no_certain_margin() {
    let huge = constants(&[f64::MAX, f64::MAX], Order::File);
    let opened = Opened { claim: claim(&huge, &huge, BandClaim::Score(1.0)), steps: vec![] };
    let reason = reason_with(&opened, [&huge, &huge], &Limits::default());
    assert_refused(reason, "claim.no_certain_margin", &["A sum of the original may overflow"]);
    // In exact arithmetic there is nothing to overflow: class 1, always.
    let steps = vec![FIRST, Step::Cells, SECOND, Step::Cells];
    let opened = Opened { claim: claim(&huge, &huge, BandClaim::Exact), steps };
    assert_eq!(reason_with(&opened, [&huge, &huge], &Limits::default()), None);
}

#[test]
fn an_order_of_addition_that_may_decide_is_refused() {
    // Depending on the order, (1e16 + 1) - 1e16 is 0 or 1 in f64: class 0 or class 1.
    let sure = constants(&[1.0], Order::File);
    for (order, expected) in [(Order::Any, "cells.order_of_addition"), (Order::File, "cells.solution")] {
        let shaky = constants(&[1e16, 1.0, -1e16], order);
        let steps = vec![FIRST, Step::Cells, SECOND, Step::Cells];
        let opened = Opened { claim: claim(&sure, &shaky, BandClaim::Score(0.5)), steps };
        let reason = reason_with(&opened, [&sure, &shaky], &Limits::default());
        assert_refused(reason, expected, &["At the input (0.0) the original decides class 1"]);
    }
    // The same holds for a model whose intercept is known only up to an error, although the sum of
    // its stored numbers is right.
    let blurred = constants_with(&[1e16, -1e16, 1.0], Order::File, 2.0);
    let steps = vec![FIRST, Step::Cells, SECOND, Step::Cells];
    let opened = Opened { claim: claim(&sure, &blurred, BandClaim::Score(0.5)), steps };
    let reason = reason_with(&opened, [&sure, &blurred], &Limits::default());
    assert_refused(reason, "cells.order_of_addition", &["(0.0)", "class 1", "order of addition"]);
    let sharp = constants(&[1e16, -1e16, 1.0], Order::File);
    assert_ne!(Digest::of(&blurred), Digest::of(&sharp));
    // In the order of the file the sums come out right, and the library's own bits suffice.
    let lucky = constants(&[1e16, -1e16, 1.0], Order::File);
    let steps = vec![FIRST, Step::Cells, SECOND, Step::Cells];
    let opened = Opened { claim: claim(&sure, &lucky, BandClaim::Score(0.5)), steps };
    assert_eq!(reason_with(&opened, [&sure, &lucky], &Limits::default()), None);
}

#[test]
fn a_join_judges_what_reaches_both_bounds_as_cells_are_judged() {
    let sure = constants(&[1.0], Order::File);
    let join = || Step::Join { row: 0, fixed: vec![] };
    for (values, order, expected) in [
        (&[1e16, 1.0, -1e16], Order::Any, Some("cells.order_of_addition")),
        (&[1e16, 1.0, -1e16], Order::File, Some("join.solution")),
        (&[1e16, -1e16, 1.0], Order::File, None),
    ] {
        let other = constants(values, order);
        let steps = vec![FIRST, join(), SECOND, join()];
        let opened = Opened { claim: claim(&sure, &other, BandClaim::Score(0.5)), steps };
        let reason = reason_with(&opened, [&sure, &other], &Limits::default());
        assert_eq!(reason.map(|reason| reason.code()), expected, "{values:?}");
    }
}

#[test]
fn a_join_of_the_whole_space_decides_as_brute_force_does() {
    // Whatever axes are fixed, a join that is accepted proves a true claim. With two classes and
    // exact arithmetic no true claim is refused.
    let (mut accepted, mut refused, mut more_classes) = (0, 0, 0);
    for seed in 0..1200 {
        let mut rng = Rng::with_seed(seed);
        let (first, second) =
            if rng.bool() { common::joined_pair(seed) } else { common::searched_pair(seed) };
        let grid = Grid::new(&[&first, &second]).unwrap();
        if grid.log10_cells() > 3.0 {
            continue;
        }
        let band = if rng.u32(0..3) == 0 { Band::Auto } else { Band::Exact };
        let Ok(comparison) = Comparison::new(&first, &second, band) else { continue };
        let claim = comparison.claim();
        let claimed = claim.band().unwrap();
        let statement = Statement::Decisions { band: claimed, local_rounding: false, cuts: None };
        let claim = Claim { statement, ..claim };
        let axes = grid.axes().len() as u32;
        let count = first.classes().len() as u32;
        let mut steps = Vec::new();
        for winner in 0..count {
            for other in (0..count).filter(|&other| other != winner) {
                steps.push(Step::System { winner, other, slack: Slack::Global });
                let fixed = (0..axes).filter(|_| rng.u32(0..3) == 0).collect();
                steps.push(Step::Join { row: rng.u32(0..count - 1), fixed });
            }
        }
        let opened = Opened { claim: claim.clone(), steps };
        let holds = every_row(&grid).all(|row| {
            let winner = exact_class(&first, &row);
            match claimed {
                BandClaim::Exact => exact_class(&second, &row) == winner,
                BandClaim::Score(band) => {
                    let decides = || Predictor::new(&second).classes(&row).unwrap()[0] == winner;
                    !leads_by_more_than(&first, &row, winner, band) || decides()
                }
            }
        });
        match reason_with(&opened, [&first, &second], &Limits::default()).map(|reason| reason.code()) {
            None => {
                assert!(holds, "seed {seed}: a false claim was accepted");
                accepted += 1;
                more_classes += u32::from(count > 2);
            }
            Some("join.solution" | "cells.order_of_addition" | "limit.join") => {
                refused += 1;
                let decided = count == 2 && claimed == BandClaim::Exact;
                assert!(!(decided && holds), "seed {seed}: a true claim was refused");
            }
            Some(other) => panic!("seed {seed}: {other:?}"),
        }
    }
    println!("{accepted} accepted, {more_classes} of them with more classes, {refused} refused");
    assert!(accepted > 60 && more_classes > 10 && refused > 100, "{accepted} {more_classes} {refused}");
}

#[test]
fn every_limit_gives_incomplete() {
    let small = |change: &dyn Fn(&mut Limits)| {
        let mut limits = Limits::default();
        change(&mut limits);
        limits
    };
    let opened =
        |a: &Ensemble, b: &Ensemble| certified(a, b, Band::Auto).map(|bytes| Opened::read(&bytes).unwrap());
    let (first, second, met) = (0..)
        .map(stump_pair)
        .find_map(|(a, b)| {
            let opened = opened(&a, &b)?;
            let meets = opened.steps.iter().any(|step| matches!(step, Step::Meet { .. }));
            meets.then_some((a, b, opened))
        })
        .unwrap();
    let pair = [&first, &second];
    assert_refused(
        reason_with(&met, pair, &small(&|l| l.kernel.meet_entries = 1)),
        "limit.meet",
        &["more than 1 sums"],
    );
    assert_refused(
        reason_with(&met, pair, &small(&|l| l.kernel.overlay_bytes = 100)),
        "limit.overlay",
        &["more than 100 bytes"],
    );
    let (first, second, boxes) = (0..)
        .map(searched_pair)
        .find_map(|(a, b)| {
            let opened = opened(&a, &b)?;
            let stacked = opened.steps.iter().any(|step| matches!(step, Step::Stack { .. }));
            (stacked && opened.steps.contains(&Step::Cells)).then_some((a, b, opened))
        })
        .unwrap();
    let pair = [&first, &second];
    assert_eq!(reason_with(&boxes, pair, &Limits::default()), None);
    assert_refused(
        reason_with(&boxes, pair, &small(&|l| l.kernel.cells = 0)),
        "limit.cells",
        &["at 0 in one step"],
    );
    assert_refused(
        reason_with(&boxes, pair, &small(&|l| l.kernel.lens_bytes = 10)),
        "limit.lenses",
        &["The 1 lenses", "more than 10,"],
    );
    assert_refused(
        reason_with(&boxes, pair, &small(&|l| l.kernel.overlay_leaves = 1)),
        "limit.overlay",
        &["more than 1 joint leaves"],
    );
    let steps =
        vec![FIRST, Step::Join { row: 0, fixed: vec![] }, SECOND, Step::Join { row: 0, fixed: vec![] }];
    let model = stumps(0.0, &[(0, 0.0, -1.0, 1.0)]);
    let pair = [&model, &model];
    let joined = Opened { claim: claim(&model, &model, BandClaim::Exact), steps: steps.clone() };
    assert_eq!(reason_with(&joined, pair, &Limits::default()), None);
    let few = small(&|l| l.kernel.join_sums = 1);
    assert_refused(reason_with(&joined, pair, &few), "limit.join", &["more than 1 sums"]);
    // A case with a single pair of entries to examine.
    let (sure, shaky) = (constants(&[1.0], Order::File), constants(&[1e16, 1.0, -1e16], Order::File));
    let joined = Opened { claim: claim(&sure, &shaky, BandClaim::Score(0.5)), steps };
    let one = small(&|l| l.kernel.join_pairs = 1);
    assert_refused(reason_with(&joined, [&sure, &shaky], &one), "join.solution", &["class 1"]);
    let none = small(&|l| l.kernel.join_pairs = 0);
    assert_refused(reason_with(&joined, [&sure, &shaky], &none), "limit.join", &["more than 0 pairs"]);
    let model = stumps(0.0, &[(0, 0.0, -1.0, 1.0)]);
    let mut bounds = Opened::read(&certified(&model, &model, Band::Auto).unwrap()).unwrap();
    bounds.steps.push(Step::Point { values: vec![1.0, 1.0] });
    bounds.steps.push(Step::Columns { intercept: Intercept::None, columns: vec![vec![0]] });
    let multiplier = BigUint::from(1u8);
    bounds.steps.push(Step::Cut { terms: vec![CutTerm { point: 0, winner: 1, other: 0, multiplier }] });
    let pair = [&model, &model];
    assert_eq!(reason_with(&bounds, pair, &Limits::default()), None);
    assert_refused(
        reason_with(&bounds, pair, &small(&|l| l.point_values = 1)),
        "limit.points",
        &["have 2 values", "more than 1,"],
    );
    assert_refused(
        reason_with(&bounds, pair, &small(&|l| l.kernel.cut_bytes = 1)),
        "limit.cuts",
        &["The 1 cuts take 32 bytes", "more than 1,"],
    );
}

trait IntoExact {
    fn into_exact(self) -> Exact;
}

impl IntoExact for f64 {
    fn into_exact(self) -> Exact {
        Exact::from_f64(self).unwrap()
    }
}

/// The exact lead of one class over another in the model with these column weights (one tree per
/// column) and with the intercept multiplied by `scale`.
fn lead(
    model: &Ensemble,
    weights: &[f64],
    scale: f64,
    row: &[f64],
    winner: ClassId,
    other: ClassId,
) -> Exact {
    let read: Vec<f64> = row.iter().map(|&value| model.intake().read(value).unwrap()).collect();
    let mut sums: Vec<Exact> =
        model.intercepts().iter().map(|value| &value.into_exact() * &scale.into_exact()).collect();
    for ((index, leaf), &weight) in model.leaves(&read).enumerate().zip(weights) {
        let tree = model.tree(TreeId::new(index));
        let factor = &tree.weight().into_exact() * &weight.into_exact();
        match tree.output() {
            Output::Group(group) => {
                sums[group.index()] = &sums[group.index()] + &(&factor * &tree.leaf(leaf)[0].into_exact());
            }
            Output::All => {
                for (sum, &value) in sums.iter_mut().zip(tree.leaf(leaf)) {
                    *sum = &*sum + &(&factor * &value.into_exact());
                }
            }
        }
    }
    match *model.decision() {
        Decision::Threshold { group, threshold, .. } => {
            let divisor = model.accumulation().divisor();
            let distance = &sums[group.index()] - &(&threshold.into_exact() * &divisor.into_exact());
            if winner == ClassId(1) { distance } else { -distance }
        }
        _ => &sums[winner.index()] - &sums[other.index()],
    }
}

#[test]
fn no_model_of_the_family_escapes_an_accepted_cut() {
    // Random cuts. If a cut is accepted, then no random weights that leave out the cut's columns
    // may lead everywhere.
    let (mut accepted, mut refused, mut faithful) = (0, 0, 0);
    for seed in 0..1500 {
        let mut rng = Rng::with_seed(seed);
        let mut shape = Shape::random(&mut rng);
        shape.trees = rng.u32(2..=3);
        let model = ensemble(&mut rng, &shape);
        let grid = Grid::new(&[&model]).unwrap();
        if model.features().is_empty() || grid.log10_cells() > 2.0 {
            continue;
        }
        let Some(bytes) = certified(&model, &model, Band::Exact) else { continue };
        let mut opened = Opened::read(&bytes).unwrap();
        let rows: Vec<Vec<f64>> = every_row(&grid).collect();
        let classes = || model.classes().ids();
        let winner_of = |row: &[f64]| classes().find(|&class| leads_by_more_than(&model, row, class, 0.0));
        let mut terms = Vec::new();
        for _ in 0..2 {
            let row = rng.choice(&rows).unwrap().clone();
            let Some(winner) = winner_of(&row) else { continue };
            let others: Vec<ClassId> = classes().filter(|&other| other != winner).collect();
            let Some(other) = rng.choice(&others).copied() else { continue };
            opened.steps.push(Step::Point { values: row });
            let multiplier = BigUint::from(rng.u32(1..3));
            let term = CutTerm { point: terms.len() as u32, winner: winner.0, other: other.0, multiplier };
            terms.push(term);
        }
        let columns: Vec<Vec<u32>> = (0..model.trees().len() as u32).map(|tree| vec![tree]).collect();
        let intercept =
            *rng.choice(&[Intercept::None, Intercept::Scaled, Intercept::Free, Intercept::Counted]).unwrap();
        opened.steps.push(Step::Columns { intercept, columns });
        opened.steps.push(Step::Cut { terms });
        match opened.refusal(&model, &model).map(|(reason, _)| reason.code()) {
            None => accepted += 1,
            Some("cut.intercept" | "cut.empty" | "columns.intercept") => {
                refused += 1;
                continue;
            }
            Some(other) => panic!("seed {seed}: {other:?}"),
        }
        let count = model.trees().len();
        for kept in 0..1u32 << count {
            let weights: Vec<f64> = (0..count)
                .map(|tree| if kept >> tree & 1 == 1 { f64::from(rng.u32(1..4)) } else { 0.0 })
                .collect();
            let scale = match intercept {
                Intercept::None => 0.0,
                Intercept::Scaled => *rng.choice(&[0.0, 1.0, 2.0]).unwrap(),
                Intercept::Free => 1.0,
                Intercept::Counted => *rng.choice(&[-1.0, 0.0, 1.0, 2.0]).unwrap(),
            };
            let leads_everywhere = rows.iter().all(|row| {
                winner_of(row).is_none_or(|winner| {
                    classes()
                        .filter(|&other| other != winner)
                        .all(|other| lead(&model, &weights, scale, row, winner, other).signum() > 0)
                })
            });
            if !leads_everywhere {
                continue;
            }
            faithful += 1;
            // The cut's columns cost nothing and all others cost 1, so it would be false that the
            // cut costs at least 1.
            let mut costs: Vec<u64> = (0..count).map(|tree| 1 - u64::from(kept >> tree & 1)).collect();
            if intercept == Intercept::Counted {
                let there = scale != 0.0 && model.intercepts().iter().any(|&value| value != 0.0);
                costs.push(1 - u64::from(there));
            }
            let mut covered = opened.clone();
            covered.steps.push(Step::Cover { costs: Some(costs), bound: 1 });
            let terms = vec![CoverTerm { cut: 0, numerator: 1 }];
            covered.steps.push(Step::Dual { denominator: 1, terms });
            let reason = covered.refusal(&model, &model).map(|(reason, _)| reason.code());
            assert_eq!(reason, Some("cover.dual"), "seed {seed}: a faithful model escapes the cut");
        }
    }
    println!("{accepted} cuts accepted, {refused} refused, {faithful} faithful models");
    assert!(accepted > 200 && refused > 50 && faithful > 150, "{accepted} {refused} {faithful}");
}

#[test]
fn labels_that_are_never_equal_are_refused_and_equal_ones_are_not() {
    let model = constants(&[1.0], Order::File);
    let with = |labels: ClassLabels| model.with_classes(labels).unwrap();
    let whole = with(ClassLabels::Integers(vec![0, 1]));
    let refused = |other: &Ensemble| {
        let opened = Opened { claim: claim(&whole, other, BandClaim::Exact), steps: vec![] };
        let reason = reason_with(&opened, [&whole, other], &Limits::default());
        reason.is_some_and(|reason| reason.code() == "claim.classes")
    };
    let text = |labels: [&str; 2]| ClassLabels::Strings(labels.map(str::to_owned).to_vec());
    assert!(refused(&with(text(["0", "1"]))));
    assert!(refused(&with(ClassLabels::Integers(vec![1, 2]))));
    for same in [
        ClassLabels::Unnamed(2),
        ClassLabels::Floats(vec![1.0, 0.0]),
        ClassLabels::Booleans(vec![false, true]),
    ] {
        assert!(!refused(&with(same)));
    }
}
