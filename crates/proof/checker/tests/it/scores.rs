//! Claims about scores: the checker accepts what the oracle proves and refuses what brute force
//! refutes, and every field of accepted certificates is changed.

use std::collections::BTreeMap;

use crate::common::{Opened, assert_told, certified_scores, kernel_limits, stumps};
use fastrand::Rng;
use secateur_certificate::{Claim, Digest, Domain, Statement, Step};
use secateur_checker::{Limits, Verdict, check};
use secateur_model::{
    Accumulation, Average, ClassLabels, Decision, Ensemble, EnsembleBuilder, Exact, Features, Grid, GroupId,
    Intake, InterceptPosition, NumberType, Order, Output, Predictor, TreeBuilder, Value,
};
use secateur_oracle::{Limit, Options, ScoreComparison, SearchBudget};
use secateur_testkit::{Shape, ensemble, every_row, mutate};

/// A pair of models of this seed, classifiers and regressors.
fn models(seed: u64) -> (Ensemble, Ensemble) {
    let mut rng = Rng::with_seed(seed);
    let mut shape = Shape::random(&mut rng);
    if seed.is_multiple_of(2) {
        shape.decision = Decision::Scores(Value::Score);
        shape.classes = rng.u32(1..=3);
    }
    if seed % 4 > 1 {
        // More trees than cells, so that a real search is needed.
        shape.features = rng.u32(3..=4);
        shape.categorical = shape.categorical.min(1);
        shape.trees = rng.u32(6..=14);
        shape.depth = 2;
        shape.thresholds = 3;
    }
    if seed % 7 == 3 {
        // One model has a score for each of two classes, the other one score for the second class.
        shape.classes = 2;
        shape.decision = Decision::Argmax;
        let both = ensemble(&mut rng, &shape);
        shape.decision = Decision::Threshold { group: GroupId(0), threshold: 0.5, strict: true };
        let single = ensemble(&mut rng, &shape);
        return if rng.bool() { (both, single) } else { (single, both) };
    }
    let first = ensemble(&mut rng, &shape);
    let mut second = if rng.u32(0..6) == 0 { ensemble(&mut rng, &shape) } else { mutate(&mut rng, &first) };
    if rng.bool() {
        second = mutate(&mut rng, &second);
    }
    (first, second)
}

fn exact(value: f64) -> Exact {
    Exact::from_f64(value).expect("finite")
}

/// The greatest distance between the scores that the two libraries compute, over every cell of the
/// domain, by the definition of the claim.
fn greatest(first: &Ensemble, second: &Ensemble, domain: &Domain) -> Exact {
    let models = [first.within(domain).unwrap(), second.within(domain).unwrap()];
    let grid = Grid::new(&[&models[0], &models[1]]).unwrap();
    let predictors = [Predictor::new(&models[0]), Predictor::new(&models[1])];
    let mut most = Exact::zero();
    for row in every_row(&grid) {
        let [mut ours, mut theirs] =
            [0, 1].map(|model: usize| predictors[model].decided_scores(&row).unwrap());
        match (ours.len(), theirs.len()) {
            (2, 1) => drop(ours.remove(0)),
            (1, 2) => drop(theirs.remove(0)),
            (a, b) => assert_eq!(a, b),
        }
        for (a, b) in ours.iter().zip(&theirs) {
            most = most.max((&exact(*b) - &exact(*a)).abs());
        }
    }
    most
}

fn options(seed: u64) -> Options {
    Options { shortcuts: !seed.is_multiple_of(3), threads: 1 + (seed as usize & 1), ..Options::unlimited() }
}

#[test]
fn what_is_proved_of_scores_is_accepted_and_true() {
    let (mut valid, mut searched, mut cells, mut any_order, mut outputs, mut tight) = (0, 0, 0, 0, 0, 0);
    let mut singles = 0;
    for seed in 0..600 {
        let (first, second) = models(seed);
        if Grid::new(&[&first, &second]).is_ok_and(|grid| grid.log10_cells() > 3.3) {
            continue;
        }
        let Ok(comparison) = ScoreComparison::new(&first, &second, &SearchBudget::unlimited()) else {
            continue;
        };
        let truth = greatest(&first, &second, &Domain::everything()).to_f64_up();
        let varies = first.scores_vary() || second.scores_vary();
        // If the files fix every bit, even the true distance can be proved.
        for (round, within) in [truth, truth * 1.001 + 1e-5, truth * 2.0 + 0.1].into_iter().enumerate() {
            let (limit, _, certificate) = comparison.certify(within, &options(seed), Vec::new()).unwrap();
            let Some(certificate) = certificate else {
                assert!(varies && matches!(limit, Limit::OrderOfAddition(_)), "seed {seed}: {limit:?}");
                continue;
            };
            let bytes = certificate.finish(true).unwrap();
            for limits in [Limits::default(), kernel_limits(|limits| limits.masked_leaves = 0)] {
                match check(&first, &second, &bytes[..], &limits).unwrap() {
                    Verdict::Valid(proved) => {
                        assert_eq!(proved.claim, comparison.claim(within));
                        assert_eq!(proved.systems, 2 * comparison.outputs().len() as u64);
                        singles += u32::from(first.group_count() != second.group_count());
                    }
                    verdict => panic!("seed {seed}: {verdict:?}"),
                }
            }
            let steps = Opened::read(&bytes).unwrap().steps;
            valid += 1;
            tight += u32::from(round == 0 && truth > 0.0);
            searched += u32::from(steps.iter().any(|step| matches!(step, Step::Split { .. })));
            cells += u32::from(steps.contains(&Step::Cells));
            any_order += u32::from(varies);
            outputs += u32::from(first.group_count() > 1);
        }
    }
    println!("{valid} valid, {tight} of them tight, {searched} with splits, {cells} with cells");
    assert!(
        valid > 600
            && tight > 100
            && searched > 100
            && cells > 100
            && any_order > 50
            && outputs > 150
            && singles > 60,
        "{valid} {tight} {searched} {cells} {any_order} {outputs} {singles}: a weak test"
    );
}

/// A proof for one limit, presented as a proof for a limit smaller than the truth, is never
/// accepted.
#[test]
fn a_limit_below_the_truth_is_refused() {
    let (mut tried, mut by_cells) = (0, 0);
    for seed in 0..400 {
        let (first, second) = models(seed);
        let Ok(grid) = Grid::new(&[&first, &second]) else { continue };
        if grid.log10_cells() > 3.0 {
            continue;
        }
        let truth = greatest(&first, &second, &Domain::everything()).to_f64_down();
        if truth == 0.0 {
            continue;
        }
        let wide = truth * 1.0001 + 1e-4;
        let Some(bytes) = certified_scores(&first, &second, wide, &options(seed)) else { continue };
        let opened = Opened::read(&bytes).unwrap();
        // A proof that visits every cell, if that is not more than the checker allows.
        let mut looks = opened.clone();
        let systems = (0..first.group_count().min(second.group_count()) as u32)
            .flat_map(|output| [false, true].map(|below| (output, below)));
        looks.steps =
            systems.flat_map(|(output, below)| [Step::ScoreSystem { output, below }, Step::Cells]).collect();
        for within in [truth.next_down(), truth * 0.999, truth / 2.0, 0.0] {
            for forged in [&opened, &looks] {
                let mut forged = forged.clone();
                forged.claim.statement = Statement::Scores { within };
                let (reason, _) = forged.refusal(&first, &second).unwrap_or_else(|| {
                    panic!("seed {seed}: {within} was accepted where {truth} is the greatest distance")
                });
                assert_told(&reason);
                by_cells += u32::from(reason.code() == "cells.score");
                tried += 1;
            }
        }
        // The same steps are accepted for the claim that they prove.
        assert!(looks.refusal(&first, &second).is_none(), "seed {seed}");
    }
    assert!(tried > 800 && by_cells > 400, "{tried} {by_cells}: a weak test");
}

/// Kinds of change after which a proof may still be a proof. As in `mutations.rs`, a certificate
/// that is accepted proves the claim that it now makes. This includes `within`: a larger limit is a
/// weaker claim, and a smaller one may be proved by the same bounds.
const HARMLESS: &[&str] = &[
    "within",
    "scope",
    "stack dropped",
    "lens",
    "multiplier",
    "narrow",
    "cell",
    "axis",
    "first side",
    "swapped",
];

fn mutants(opened: &Opened) -> Vec<(&'static str, Opened)> {
    let mut all = Vec::new();
    let mut claim = |kind, change: &dyn Fn(&mut Claim)| {
        let mut copy = opened.clone();
        change(&mut copy.claim);
        all.push((kind, copy));
    };
    let within = opened.claim.within().unwrap();
    for byte in [0, 13, 31] {
        claim("digest", &|claim| claim.original.0[byte] ^= 1);
        claim("digest", &|claim| claim.pruned.0[byte] ^= 0x80);
    }
    for other in [within * 2.0, within.next_down(), within * 0.99, within / 2.0, 0.0] {
        claim("within", &|claim| claim.statement = Statement::Scores { within: other });
    }
    for other in [f64::NAN, f64::INFINITY, -1.0, -0.0] {
        claim("within no number", &|claim| claim.statement = Statement::Scores { within: other });
    }
    claim("scope", &|claim| claim.domain = Domain::no_missing());
    for (at, step) in opened.steps.iter().enumerate() {
        let mut other = |kind, step: Step| {
            let mut copy = opened.clone();
            copy.steps[at] = step;
            all.push((kind, copy));
        };
        let up_down = |value: u32| [value.wrapping_add(1), value.wrapping_sub(1), u32::MAX];
        let (dropped, doubled) = match step {
            Step::Stack { .. } => ("stack dropped", "stack doubled"),
            &Step::ScoreSystem { output, below } => {
                for output in up_down(output) {
                    other("output", Step::ScoreSystem { output, below });
                }
                other("output", Step::ScoreSystem { output, below: !below });
                other(
                    "another kind",
                    Step::System { winner: 0, other: 1, slack: secateur_certificate::Slack::Global },
                );
                ("system dropped", "system doubled")
            }
            Step::Lens { multipliers } => {
                for value in [0, multipliers[0].wrapping_add(1), u64::MAX] {
                    other("multiplier", Step::Lens { multipliers: vec![value] });
                }
                other("rows", Step::Lens { multipliers: vec![1, 1] });
                other("rows", Step::Lens { multipliers: vec![] });
                ("lens", "lens")
            }
            &Step::Narrow { axis, low, high, lens } => {
                for axis in up_down(axis) {
                    other("axis", Step::Narrow { axis, low, high, lens });
                }
                for value in up_down(low) {
                    other("narrow", Step::Narrow { axis, low: value, high, lens });
                }
                for value in up_down(high) {
                    other("narrow", Step::Narrow { axis, low, high: value, lens });
                }
                other("lens unknown", Step::Narrow { axis, low, high, lens: lens + 7 });
                ("narrow", "narrow doubled")
            }
            &Step::Close { lens } => {
                other("lens unknown", Step::Close { lens: lens + 7 });
                ("close dropped", "close doubled")
            }
            &Step::Split { axis, cell, low_first } => {
                for axis in up_down(axis) {
                    other("axis", Step::Split { axis, cell, low_first });
                }
                for cell in up_down(cell) {
                    other("cell", Step::Split { axis, cell, low_first });
                }
                other("first side", Step::Split { axis, cell, low_first: !low_first });
                ("split dropped", "split doubled")
            }
            Step::Cells => ("cells dropped", "cells doubled"),
            step => panic!("{step:?} in a proof about scores"),
        };
        let mut copy = opened.clone();
        copy.steps.remove(at);
        all.push((dropped, copy));
        let mut copy = opened.clone();
        copy.steps.insert(at, step.clone());
        all.push((doubled, copy));
        if at + 1 < opened.steps.len() && opened.steps[at] != opened.steps[at + 1] {
            let mut copy = opened.clone();
            copy.steps.swap(at, at + 1);
            all.push(("swapped", copy));
        }
    }
    all
}

#[test]
fn every_change_is_refused_or_known_to_be_harmless() {
    let mut tally: BTreeMap<&str, (u32, u32)> = BTreeMap::new();
    let (mut certificates, mut splits) = (0, 0);
    for seed in 0..400 {
        let (first, second) = models(seed);
        if !Grid::new(&[&first, &second]).is_ok_and(|grid| grid.log10_cells() < 2.9) {
            continue;
        }
        let truth = greatest(&first, &second, &Domain::everything()).to_f64_up();
        // If the files fix every bit, the claim is the true distance, so that single cells decide.
        let varies = first.scores_vary() || second.scores_vary();
        let within = if varies { truth * 1.0001 + 1e-5 } else { truth };
        let Some(bytes) = certified_scores(&first, &second, within, &options(seed)) else { continue };
        let opened = Opened::read(&bytes).unwrap();
        assert_eq!(opened.write(), bytes, "reading and writing a certificate changes it");
        let split = opened.steps.iter().any(|step| matches!(step, Step::Split { .. }));
        if opened.steps.len() > 150 || splits >= 12 || !split && certificates > 6 {
            continue;
        }
        splits += u32::from(split);
        certificates += 1;
        for (kind, mutant) in mutants(&opened) {
            let slot = tally.entry(kind).or_default();
            match mutant.refusal(&first, &second) {
                Some((reason, _)) => {
                    assert_told(&reason);
                    slot.1 += 1;
                }
                None => {
                    slot.0 += 1;
                    assert!(HARMLESS.contains(&kind), "seed {seed}: {kind} was accepted");
                    let within = exact(mutant.claim.within().unwrap());
                    let truth = greatest(&first, &second, &mutant.claim.domain);
                    assert!(truth <= within, "seed {seed}: {kind}: a false claim was accepted");
                }
            }
        }
    }
    tally.iter().for_each(|(kind, (accepted, refused))| println!("{kind:20} {accepted:5} {refused:5}"));
    println!("{certificates} certificates, {splits} with splits");
    assert!(splits >= 10 && tally.len() >= 25, "{splits} with splits, {} kinds", tally.len());
    assert!(tally["within"].1 > 60, "{tally:?}");
}

/// One tree without splits, in f64.
fn constant(leaf: f64, average: Option<f64>) -> Ensemble {
    let intake = Intake { number: NumberType::F64, missing: false, infinities: false, zero_window: None };
    let accumulation = Accumulation {
        number: NumberType::F64,
        intercept: InterceptPosition::First,
        order: Order::File,
        average: average.map(|divisor| Average { divisor, in_raw_scores: true }),
    };
    let decision = Decision::Scores(Value::Score);
    let mut builder = EnsembleBuilder::new(
        Features::unnamed(2),
        intake,
        ClassLabels::Unnamed(0),
        vec![0.0],
        accumulation,
        decision,
    )
    .unwrap();
    let mut tree = TreeBuilder::new();
    tree.leaf(&[leaf]);
    builder.tree(tree, Output::Group(GroupId(0)), 1.0).unwrap();
    builder.build()
}

fn claim(original: &Ensemble, pruned: &Ensemble, within: f64) -> Opened {
    let (original, pruned) = (Digest::of(original), Digest::of(pruned));
    let statement = Statement::Scores { within };
    let claim = Claim { original, pruned, statement, domain: Domain::everything() };
    let systems = [false, true].map(|below| [Step::ScoreSystem { output: 0, below }, Step::Cells]);
    Opened { claim, steps: systems.concat() }
}

#[test]
fn models_whose_scores_cannot_be_compared_are_refused() {
    let (one, two) = (constant(1.0, None), constant(2.0, Some(2.0)));
    // The scores are 1 and 2 / 2.
    assert_eq!(claim(&one, &two, 0.0).refusal(&one, &two), None);
    let three = constant(3.0, Some(2.0));
    assert_eq!(claim(&one, &three, 0.5).refusal(&one, &three), None);
    let code = |first: &Ensemble, second: &Ensemble, within| {
        let (reason, _) = claim(first, second, within).refusal(first, second).expect("refused");
        assert_told(&reason);
        reason.code()
    };
    assert_eq!(code(&one, &three, 0.5f64.next_down()), "cells.score");
    assert_eq!(code(&three, &one, 0.4), "cells.score");
    let huge = constant(f64::MAX, None);
    assert_eq!(code(&huge, &one, 1.0), "claim.overflow");
    assert_eq!(code(&one, &huge, 1.0), "claim.overflow");
    let tiny = constant(1.0, Some(1e-300));
    assert_eq!(code(&tiny, &one, 1.0), "claim.divisors");
    // A classifier and a regressor both have scores; models whose classes are in another order have
    // different ones.
    let stump = stumps(0.0, &[(0, 0.5, -2.0, 2.0)]);
    assert_eq!(claim(&stump, &one, 3.0).refusal(&stump, &one), None);
    let labels = |labels: [i64; 2]| stump.with_classes(ClassLabels::Integers(labels.to_vec())).unwrap();
    let (ours, theirs) = (labels([0, 1]), labels([1, 0]));
    assert_eq!(claim(&ours, &ours, 0.0).refusal(&ours, &ours), None);
    assert_eq!(code(&ours, &theirs, 10.0), "claim.classes");
}

/// A model beside itself has the same rounding, so that a distance of zero is proved at once. This
/// does not hold if the order of addition is free, nor for two models that merely have equal bounds
/// on rounding.
#[test]
fn a_model_is_at_no_distance_from_itself() {
    let mut at_once = 0;
    for seed in 0..60 {
        let (first, _) = models(seed);
        let Ok(comparison) = ScoreComparison::new(&first, &first, &SearchBudget::unlimited()) else {
            continue;
        };
        let (limit, nodes, certificate) = comparison.certify(0.0, &Options::unlimited(), Vec::new()).unwrap();
        let Some(certificate) = certificate else {
            assert!(first.scores_vary() && matches!(limit, Limit::OrderOfAddition(_)), "seed {seed}");
            continue;
        };
        if first.scores_vary() {
            continue;
        }
        assert_eq!(nodes, 0, "seed {seed}");
        let opened = Opened::read(&certificate.finish(true).unwrap()).unwrap();
        assert_eq!(opened.refusal(&first, &first), None, "seed {seed}");
        at_once += 1;
    }
    assert!(at_once > 25, "{at_once}");
}

/// The last bits of one model depend on an unknown order of addition: only a limit with room for
/// them is accepted.
#[test]
fn free_orders_of_addition_count_against_the_claim() {
    let model = |order: Order, leaves: [f64; 3]| {
        let accumulation = Accumulation {
            number: NumberType::F32,
            intercept: InterceptPosition::First,
            order,
            average: None,
        };
        let intake = Intake { number: NumberType::F64, missing: false, infinities: false, zero_window: None };
        let decision = Decision::Scores(Value::Score);
        let mut builder = EnsembleBuilder::new(
            Features::unnamed(1),
            intake,
            ClassLabels::Unnamed(0),
            vec![0.0],
            accumulation,
            decision,
        )
        .unwrap();
        for leaf in leaves {
            let mut tree = TreeBuilder::new();
            tree.leaf(&[leaf]);
            builder.tree(tree, Output::Group(GroupId(0)), 1.0).unwrap();
        }
        builder.build()
    };
    // 1 + 2^-24 is a tie in f32: added one at a time the small numbers vanish, added together they
    // do not.
    let small = 2f64.powi(-24);
    let leaves = [1.0, small, small];
    let (fixed, free) = (model(Order::File, leaves), model(Order::Any, leaves));
    assert_eq!(claim(&fixed, &fixed, 0.0).refusal(&fixed, &fixed), None);
    for (first, second) in [(&fixed, &free), (&free, &fixed), (&free, &free)] {
        let (reason, _) =
            claim(first, second, small).refusal(first, second).expect("an order may make more of it");
        assert_eq!(reason.code(), "cells.score");
        assert_eq!(claim(first, second, 1e-6).refusal(first, second), None);
    }
}
