//! Changes every field of the bounds in certificates of pruned models, one at a time: lower bounds,
//! proofs of minimality and relevant splits, of files with many classes, categories, missing values
//! and votes. Kinds of change that must always be refused are asserted to be. The other kinds are
//! listed with the reason why an accepted one is harmless. The systems' own steps are changed in
//! `checker/tests/mutations.rs`.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::memory::settings;
use num_bigint::BigUint;
use secateur_certificate::{Claim, CoverTerm, CutTerm, Intercept, Reader, Step, Writer};
use secateur_checker::{Limits, Proved, Verdict, check};
use secateur_formats::{Edit, ModelFile, TreeEdit};
use secateur_model::{Ensemble, EnsembleBuilder, FeatureId, NodeId, Split, Test, TreeBuilder, TreeId};
use secateur_oracle::Cancel;
use secateur_prune::{Config, Moves, Watch, certify, prune};
use secateur_testkit::testdata;

/// Kinds of change that may leave the bounds true. The checker computes every cut, cover and
/// crossing again from what the certificate contains, so an accepted change proves the bound that
/// the changed certificate states:
/// - `point value`, `point of cut`, `point of crossing`: another input of which the same is true;
///   it is computed at that input, not taken from the certificate;
/// - `point doubled`, `points swapped`, `point dropped`: the steps that refer to a point by its
///   index find another point of which the same is true, or no step refers to the points after the
///   change;
/// - `regrouped`, `intercept`: a bound for another family of models, which the certificate names
///   and the checker reports; the original is in every family that is accepted;
/// - `classes of cut`, `multiplier`, `term dropped`, `term doubled`: other multipliers, whose cut
///   serves the cover as well;
/// - `cut doubled`, `cut dropped`, `cuts swapped`: the cover's multipliers apply to other cuts, and
///   still add up;
/// - `bound down`: less is claimed;
/// - `costs`: a bound for other costs; the multipliers stay within those too;
/// - `branch`: another column distinguishes the cases;
/// - `numerator`, `denominator`, `dual cut`, `dual term dropped`, `dual term doubled`: other
///   multipliers that give the bound too (a case in which the kept columns alone cost enough needs
///   none);
/// - `crossing value`, `crossing feature`: two other inputs that are decided differently;
/// - `crossing dropped`: fewer splits are claimed; `crossings swapped`: their order has no meaning.
const HARMLESS: &[&str] = &[
    "bound down",
    "branch",
    "classes of cut",
    "costs",
    "crossing dropped",
    "crossing feature",
    "crossing value",
    "crossings swapped",
    "cut doubled",
    "cut dropped",
    "cuts swapped",
    "denominator",
    "dual cut",
    "dual term doubled",
    "dual term dropped",
    "intercept",
    "multiplier",
    "numerator",
    "point doubled",
    "point dropped",
    "point of crossing",
    "point of cut",
    "point value",
    "points swapped",
    "regrouped",
    "term doubled",
    "term dropped",
];

/// Kinds of change that the checker always refuses.
const REFUSED: &[&str] = &[
    "bound up",
    "branch doubled",
    "branch dropped",
    "branch unknown",
    "classes unknown",
    "column dropped",
    "columns doubled",
    "columns dropped",
    "costs of too few",
    "cover doubled",
    "cover dropped",
    "crossing backwards",
    "crossing doubled",
    "crossing unknown",
    "crossing without a step",
    "cut by nothing",
    "cut empty",
    "cut of the loser",
    "denominator zero",
    "dual doubled",
    "dual dropped",
    "dual unknown",
    "point unknown",
    "point width",
    "tree dropped",
    "tree twice",
    "tree unknown",
];

/// How many steps of one kind are changed in one certificate, and how many entries of a list in a
/// step.
const STEPS: usize = 5;
const ENTRIES: usize = 3;

struct Opened {
    claim: Claim,
    steps: Vec<Step>,
}

impl Opened {
    fn read(bytes: &[u8]) -> Self {
        let mut reader = Reader::new(bytes).unwrap();
        let claim = reader.claim().clone();
        let mut steps = Vec::new();
        while let Some(step) = reader.next_step().unwrap() {
            steps.push(step);
        }
        steps.pop();
        Self { claim, steps }
    }

    fn proved(&self, steps: &[Step], models: &[Ensemble; 2]) -> Option<Proved> {
        let mut writer = Writer::new(Vec::new(), &self.claim).unwrap();
        steps.iter().for_each(|step| writer.step(step).unwrap());
        let bytes = writer.finish(true).unwrap();
        match check(&models[0], &models[1], &bytes[..], &Limits::default()).ok()? {
            Verdict::Valid(proved) => Some(proved),
            _ => None,
        }
    }
}

/// Some indices of a list: its ends, and a few between them.
fn some(length: usize, most: usize) -> Vec<usize> {
    let mut places: Vec<usize> = (0..most.min(length)).map(|at| at * length / most.min(length)).collect();
    places.extend(length.checked_sub(1));
    places.dedup();
    places
}

/// All changes of one step: the kind, and the steps that replace it.
fn changes(step: &Step, columns: usize) -> Vec<(&'static str, Vec<Step>)> {
    let mut all: Vec<(&'static str, Vec<Step>)> = Vec::new();
    let mut put = |kind, step: Step| all.push((kind, vec![step]));
    let near = |value: u32| [value.wrapping_add(1), value.wrapping_sub(1)];
    let (dropped, doubled) = match step {
        Step::Point { values } => {
            for at in some(values.len(), ENTRIES) {
                for value in [values[at].next_up(), -values[at] - 1.0, 1e9, f64::NAN] {
                    let mut changed = values.clone();
                    changed[at] = value;
                    put("point value", Step::Point { values: changed });
                }
            }
            put("point width", Step::Point { values: values[1..].to_vec() });
            put("point width", Step::Point { values: [&values[..], &[0.0]].concat() });
            ("point dropped", "point doubled")
        }
        Step::Columns { intercept, columns } => {
            for other in [Intercept::None, Intercept::Scaled, Intercept::Free, Intercept::Counted] {
                if other != *intercept {
                    put("intercept", Step::Columns { intercept: other, columns: columns.clone() });
                }
            }
            let mut with = |kind, change: &dyn Fn(&mut Vec<Vec<u32>>)| {
                let mut changed = columns.clone();
                change(&mut changed);
                put(kind, Step::Columns { intercept: *intercept, columns: changed });
            };
            for at in some(columns.len(), STEPS) {
                let next = (at + 1) % columns.len();
                with("tree dropped", &|columns| {
                    columns[at].pop();
                });
                with("tree unknown", &|columns| columns[at].push(1 << 20));
                with("column dropped", &|columns| drop(columns.remove(at)));
                if next != at {
                    let tree = columns[at][0];
                    let add = |column: &mut Vec<u32>| {
                        column.push(tree);
                        column.sort_unstable();
                    };
                    with("tree twice", &|columns| add(&mut columns[next]));
                    with("regrouped", &|columns| {
                        columns[at].remove(0);
                        add(&mut columns[next]);
                    });
                }
            }
            ("columns dropped", "columns doubled")
        }
        Step::Cut { terms } => {
            let mut with = |kind, change: &dyn Fn(&mut Vec<CutTerm>)| {
                let mut changed = terms.clone();
                change(&mut changed);
                put(kind, Step::Cut { terms: changed });
            };
            for at in some(terms.len(), ENTRIES) {
                for point in near(terms[at].point) {
                    with("point of cut", &|terms| terms[at].point = point);
                }
                with("point unknown", &|terms| terms[at].point = u32::MAX);
                for class in near(terms[at].other) {
                    with("classes of cut", &|terms| terms[at].other = class);
                }
                with("classes unknown", &|terms| terms[at].winner = 1 << 20);
                with("cut of the loser", &|terms| {
                    let term = &mut terms[at];
                    std::mem::swap(&mut term.winner, &mut term.other);
                });
                with("cut by nothing", &|terms| terms[at].multiplier = BigUint::ZERO);
                with("multiplier", &|terms| terms[at].multiplier += 1u32);
                with("multiplier", &|terms| terms[at].multiplier <<= 70);
                with("term dropped", &|terms| drop(terms.remove(at)));
                with("term doubled", &|terms| terms.insert(at, terms[at].clone()));
            }
            with("cut empty", &|terms| terms.clear());
            ("cut dropped", "cut doubled")
        }
        Step::Cover { costs, bound } => {
            put("bound up", Step::Cover { costs: costs.clone(), bound: bound + 1 });
            put("bound up", Step::Cover { costs: costs.clone(), bound: u64::MAX });
            put("bound down", Step::Cover { costs: costs.clone(), bound: bound - 1 });
            let costs = costs.clone().unwrap_or_else(|| vec![1; columns]);
            for at in some(costs.len(), STEPS) {
                for cost in [0, costs[at] + 1] {
                    let mut changed = costs.clone();
                    changed[at] = cost;
                    put("costs", Step::Cover { costs: Some(changed), bound: *bound });
                }
            }
            put("costs of too few", Step::Cover { costs: Some(costs[1..].to_vec()), bound: *bound });
            ("cover dropped", "cover doubled")
        }
        Step::Branch { column } => {
            near(*column).into_iter().for_each(|column| put("branch", Step::Branch { column }));
            put("branch unknown", Step::Branch { column: u32::MAX });
            ("branch dropped", "branch doubled")
        }
        Step::Dual { denominator, terms } => {
            put("denominator zero", Step::Dual { denominator: 0, terms: terms.clone() });
            for other in [denominator + 1, denominator.saturating_sub(1).max(1)] {
                if other != *denominator {
                    put("denominator", Step::Dual { denominator: other, terms: terms.clone() });
                }
            }
            let mut with = |kind, change: &dyn Fn(&mut Vec<CoverTerm>)| {
                let mut changed = terms.clone();
                change(&mut changed);
                put(kind, Step::Dual { denominator: *denominator, terms: changed });
            };
            for at in some(terms.len(), ENTRIES) {
                for numerator in [0, terms[at].numerator + 1, u64::MAX] {
                    with("numerator", &|terms| terms[at].numerator = numerator);
                }
                for cut in near(terms[at].cut) {
                    with("dual cut", &|terms| terms[at].cut = cut);
                }
                with("dual unknown", &|terms| terms[at].cut = u32::MAX);
                with("dual term dropped", &|terms| {
                    terms.remove(at);
                });
                with("dual term doubled", &|terms| terms.insert(at, terms[at]));
            }
            ("dual dropped", "dual doubled")
        }
        Step::Crossing { point, feature, low, high } => {
            let (point, feature, low, high) = (*point, *feature, *low, *high);
            let crossing = |point, feature, low, high| Step::Crossing { point, feature, low, high };
            for other in near(point) {
                put("point of crossing", crossing(other, feature, low, high));
            }
            for other in near(feature) {
                put("crossing feature", crossing(point, other, low, high));
            }
            put("crossing unknown", crossing(u32::MAX, feature, low, high));
            put("crossing unknown", crossing(point, u32::MAX, low, high));
            put("crossing backwards", crossing(point, feature, high, low));
            put("crossing without a step", crossing(point, feature, low, low));
            put("crossing without a step", crossing(point, feature, f64::NAN, high));
            for (low, high) in [(low.next_down(), high), (low, high.next_up()), (low - 1e3, high), (low, 1e9)]
            {
                put("crossing value", crossing(point, feature, low, high));
            }
            ("crossing dropped", "crossing doubled")
        }
        _ => return Vec::new(),
    };
    all.push((dropped, Vec::new()));
    all.push((doubled, vec![step.clone(), step.clone()]));
    all
}

/// The kind of change if these two neighbours are swapped; `None` if they are of different kinds.
fn swapped(pair: &[Step]) -> Option<&'static str> {
    match pair {
        [Step::Point { .. }, Step::Point { .. }] => Some("points swapped"),
        [Step::Cut { .. }, Step::Cut { .. }] => Some("cuts swapped"),
        [Step::Crossing { .. }, Step::Crossing { .. }] => Some("crossings swapped"),
        _ => None,
    }
}

/// All changed lists of steps, each with its kind of change.
fn mutants(steps: &[Step], columns: usize) -> Vec<(&'static str, Vec<Step>)> {
    let mut all = Vec::new();
    let mut kinds: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (at, step) in steps.iter().enumerate() {
        let name = format!("{step:?}").chars().take_while(|letter| letter.is_alphabetic()).collect();
        kinds.entry(name).or_default().push(at);
    }
    for places in kinds.values() {
        for at in some(places.len(), STEPS).into_iter().map(|place| places[place]) {
            for (kind, instead) in changes(&steps[at], columns) {
                all.push((kind, [&steps[..at], &instead, &steps[at + 1..]].concat()));
            }
            if let Some(kind) = steps.get(at..at + 2).and_then(swapped) {
                let mut changed = steps.to_vec();
                changed.swap(at, at + 1);
                all.push((kind, changed));
            }
        }
    }
    all
}

/// Files whose certificates have many classes, categories, missing values or votes.
const FILES: &[(&str, Moves)] = &[
    ("sklearn/adaboost.skops", Moves::Leaves),
    ("sklearn/adaboost_three.skops", Moves::Leaves),
    ("sklearn/forest.skops", Moves::Leaves),
    ("sklearn/histogram_categories.skops", Moves::Leaves),
    ("xgboost/3.4.1-logistic.json", Moves::Leaves),
    ("xgboost/3.4.1-softprob.json", Moves::Weights),
    ("xgboost/3.4.1-categorical.json", Moves::Leaves),
    ("lightgbm/categorical.txt", Moves::Leaves),
    ("lightgbm/categorical_multiclass.txt", Moves::Leaves),
    ("lightgbm/binary.txt", Moves::Weights),
    ("onnx/lightgbm_missing.onnx", Moves::Leaves),
];

/// A certificate with its models.
struct Case {
    name: String,
    opened: Opened,
    models: [Ensemble; 2],
    /// The cost of each column, and of a constant where it is counted.
    costs: Vec<u64>,
}

/// Prunes a file. The checker must confirm exactly the bound that the run found.
fn pruned(name: &str, file: &ModelFile, moves: Moves) -> Case {
    let deadline = Some(Instant::now() + Duration::from_secs(5));
    let config = Config { moves, deadline, ..Config::default() };
    let pruned = prune(file, &[], &config, &Watch::default()).unwrap();
    let models = [file.ensemble().clone(), pruned.file.ensemble().clone()];
    let evidence = Some(&pruned.evidence);
    let certificate =
        certify(&models[0], &models[1], config.claim, evidence, &settings(&Cancel::default())).unwrap();
    let (bound, _) = shown(&certificate.proved).unwrap_or_else(|| panic!("{name}: no bound"));
    assert_eq!(bound, pruned.lower_bound as u64, "{name}: the checker confirms another bound");
    let costs = pruned.evidence.bound.as_ref().unwrap().costs.clone();
    Case { name: name.to_owned(), opened: Opened::read(&certificate.bytes), models, costs }
}

/// A certificate of the corpus that the checker's own tests use; covers with branches come from
/// there.
fn kept(name: &str, items: usize) -> Case {
    let folder = testdata("certificates");
    let model = |name: &str| ModelFile::read(&folder.join("models").join(name)).unwrap().ensemble().clone();
    let models = [model("stumps.json"), model("first_stump.json")];
    let opened = Opened::read(&std::fs::read(folder.join("accept").join(name)).unwrap());
    Case { name: name.to_owned(), opened, models, costs: vec![9; items] }
}

/// Votes for `x0 > 0` and for `x1 > 0`, and a little more if x2 is between -1 and 1. There the
/// model decides "or"; elsewhere it ties where the two votes disagree. Two trees cannot decide this
/// without a constant, which is a third vote.
fn votes_that_need_a_constant() -> ModelFile {
    let file = ModelFile::read(&testdata("models/sklearn/adaboost.skops")).unwrap();
    let model = file.ensemble();
    let mut builder = EnsembleBuilder::new(
        model.features().clone(),
        *model.intake(),
        model.classes().clone(),
        model.intercepts().to_vec(),
        *model.accumulation(),
        *model.decision(),
    )
    .unwrap();
    let stumps =
        [(0, 0.0, -1.0, 1.0), (1, 0.0, -1.0, 1.0), (2, -1.0, -0.125, 0.125), (2, 1.0, 0.125, -0.125)];
    for (feature, threshold, left, right) in stumps {
        let mut tree = TreeBuilder::new();
        let test = Test::LessOrEqual { threshold };
        let split = Split { feature: FeatureId(feature), test, missing_left: false };
        tree.split(split, NodeId(1), NodeId(2)).leaf(&[left]).leaf(&[right]);
        builder.tree(tree, model.trees()[0].output(), 1.0).unwrap();
    }
    let votes = builder.build();
    let replace = |index| TreeEdit::Replace { tree: TreeId::new(index), with: votes.trees()[index].clone() };
    file.edit(&Edit { trees: (0..4).map(replace).collect(), intercepts: None }).unwrap()
}

fn shown(proved: &Proved) -> Option<(u64, Intercept)> {
    proved.columns.or(proved.cost).map(|bound| (bound.bound, bound.intercept))
}

#[test]
fn a_constant_that_takes_a_tree_counts_in_the_certificate() {
    let case = pruned("votes", &votes_that_need_a_constant(), Moves::Leaves);
    let proved = case.opened.proved(&case.opened.steps, &case.models).unwrap();
    let bound = proved.columns.unwrap();
    assert_eq!((bound.bound, bound.intercept, bound.reached), (3, Intercept::Counted, true));
    // If the constant costs nothing, two trees suffice, so the checker refuses the bound of three.
    let mut free = case.opened.steps.clone();
    for step in &mut free {
        if let Step::Columns { intercept, .. } = step {
            *intercept = Intercept::Free;
        }
    }
    assert_eq!(case.opened.proved(&free, &case.models), None);
}

#[test]
fn every_change_of_a_bound_is_refused_or_known_to_be_harmless() {
    let mut cases: Vec<Case> = FILES
        .iter()
        .map(|(name, moves)| pruned(name, &ModelFile::read(&testdata("models").join(name)).unwrap(), *moves))
        .collect();
    cases.push(pruned("votes", &votes_that_need_a_constant(), Moves::Leaves));
    cases.extend([kept("bounds", 2), kept("counted_constant", 3)]);
    // For each kind of change, how many were accepted and how many refused.
    let mut tally: BTreeMap<&str, (u32, u32)> = BTreeMap::new();
    let (mut minimal, mut intercepts) = (0, Vec::new());
    for Case { name, opened, models, costs } in &cases {
        let proved = opened.proved(&opened.steps, models).unwrap();
        let (bound, intercept) = shown(&proved).unwrap();
        minimal += u32::from(proved.columns.is_some_and(|bound| bound.reached));
        intercepts.push(intercept);
        let mutants = mutants(&opened.steps, costs.len());
        println!("{name}: {} steps, {} changes, {bound}, {intercept:?}", opened.steps.len(), mutants.len());
        for (kind, steps) in mutants {
            let slot = tally.entry(kind).or_default();
            let Some(accepted) = opened.proved(&steps, models) else {
                slot.1 += 1;
                continue;
            };
            slot.0 += 1;
            assert!(HARMLESS.contains(&kind), "{name}: {kind} was accepted");
            // A change never shows a higher bound than before, unless it is for other costs or
            // another family. It never shows more than the original costs, because the original is
            // in every family.
            let other = ["costs", "regrouped", "intercept"].contains(&kind);
            let most = if other { costs.iter().sum::<u64>() + 2 } else { bound };
            assert!(shown(&accepted).is_none_or(|(now, _)| now <= most), "{name}: {kind}: {accepted:?}");
            assert!(accepted.thresholds <= proved.thresholds, "{name}: {kind}: {accepted:?}");
        }
    }
    tally.iter().for_each(|(kind, (accepted, refused))| println!("{kind:24} {accepted:5} {refused:5}"));
    println!("{minimal} minimal");
    assert!(minimal >= 2, "{minimal}");
    for wanted in [Intercept::None, Intercept::Scaled, Intercept::Free, Intercept::Counted] {
        assert!(intercepts.contains(&wanted), "no family with {wanted:?}");
    }
    for kind in HARMLESS.iter().chain(REFUSED) {
        assert!(tally.contains_key(kind), "{kind} never happened");
    }
    for kind in tally.keys() {
        assert!(HARMLESS.contains(kind) != REFUSED.contains(kind), "{kind} is not listed once");
    }
}
