//! The smallest size: it is proved where every cell can be checked, and no model undercuts it, not
//! even one whose scores tie.

use crate::memory::{Memory, random_model};
use fastrand::Rng;
use secateur_model::{
    Accumulation, ClassId, ClassLabels, Decision, Ensemble, EnsembleBuilder, FeatureId, Features, Grid,
    GroupId, Intake, NodeId, NumberType, Output, Split, Test, TreeBuilder,
};
use secateur_oracle::{Band, Comparison, exact_class};
use secateur_prune::{Claim, Config, Effort, Moves, Watch, prune_model};
use secateur_testkit::{Shape, ensemble, every_row};

/// A model of few cells with more trees than it needs.
fn toy(rng: &mut Rng) -> Option<Ensemble> {
    if rng.bool() {
        return random_model(rng);
    }
    let shape = Shape { depth: 2, trees: 12, ..Shape::random(rng) };
    let model = ensemble(rng, &shape);
    (Grid::new(&[&model]).ok()?.log10_cells() <= 2.6).then_some(model)
}

/// A run that is asked for the minimum continues until the minimum is proved. Where no limit is given,
/// the default tries so much that it nearly always proves it too.
#[test]
fn the_minimum_of_a_toy_is_proved() {
    let (mut runs, mut proved, mut fewer) = (0, 0, 0);
    for seed in 0..90 {
        let Some(model) = toy(&mut Rng::with_seed(seed)) else { continue };
        if Comparison::new(&model, &model, Band::Auto).is_err() {
            continue;
        }
        let run = |effort| {
            let config = Config { effort, seed, ..Config::default() };
            prune_model(&Memory(model.clone()), &[], &config, &Watch::default()).unwrap()
        };
        let minimum = run(Effort::Minimum);
        assert_eq!(minimum.lower_bound, minimum.size[1].trees, "seed {seed}");
        let thorough = run(Effort::Thorough);
        assert!(thorough.size[1].trees >= minimum.size[1].trees, "seed {seed}");
        runs += 1;
        proved += u32::from(thorough.lower_bound == thorough.size[1].trees);
        fewer += u32::from(minimum.size[1].trees < minimum.size[0].trees);
    }
    assert!(runs > 30 && fewer > 15 && proved * 10 > runs * 9, "{runs} {proved} {fewer}");
}

/// Trees that vote plus or minus their weight; the first class has all scores up to zero, ties among
/// them, as scikit-learn's AdaBoost decides.
fn votes(rng: &mut Rng, trees: u32) -> Ensemble {
    let intake = Intake::everything(NumberType::F64);
    let accumulation = Accumulation::in_order(NumberType::F64);
    let decision = Decision::Threshold { group: GroupId(0), threshold: 0.0, strict: true };
    let (features, classes) = (Features::unnamed(3), ClassLabels::Unnamed(2));
    let mut builder =
        EnsembleBuilder::new(features, intake, classes, vec![0.0], accumulation, decision).unwrap();
    let split = |rng: &mut Rng| Split {
        feature: FeatureId(rng.u32(0..3)),
        test: Test::LessOrEqual { threshold: f64::from(rng.u32(0..2)) },
        missing_left: rng.bool(),
    };
    for _ in 0..trees {
        let vote = |rng: &mut Rng| [if rng.bool() { 1.0 } else { -1.0 }];
        let mut tree = TreeBuilder::new();
        tree.split(split(rng), NodeId(1), NodeId(2)).split(split(rng), NodeId(3), NodeId(4));
        tree.leaf(&vote(rng)).leaf(&vote(rng)).leaf(&vote(rng));
        builder.tree(tree, Output::Group(GroupId(0)), f64::from(rng.u32(2..20))).unwrap();
    }
    builder.build()
}

/// Every choice of small whole weights, on every cell. A vote of 2, 1 and 1 ties where the first is
/// against the others, and the tie rule makes a decision of that; such models count as well. (A free
/// constant would break every tie.)
#[test]
fn no_model_that_ties_undercuts_a_proved_minimum() {
    const TREES: u32 = 5;
    const MOST: u32 = 4;
    let mut smaller = 0;
    for seed in 0..60 {
        let mut rng = Rng::with_seed(seed);
        let model = votes(&mut rng, TREES);
        let grid = Grid::new(&[&model]).unwrap();
        // The votes of all trees on every cell, and whether the second class is decided there.
        let mut cells: Vec<(Vec<i32>, bool)> = every_row(&grid)
            .map(|row| {
                let leaves = model.trees().iter().zip(model.leaves(&row));
                let votes: Vec<i32> = leaves.map(|(tree, leaf)| tree.leaf(leaf)[0] as i32).collect();
                (votes, exact_class(&model, &row) == ClassId(1))
            })
            .collect();
        cells.sort_unstable();
        cells.dedup();
        let claim = Claim::Decisions { band: Band::Exact };
        let config =
            Config { effort: Effort::Minimum, moves: Moves::Weights, claim, seed, ..Config::default() };
        let pruned = prune_model(&Memory(model.clone()), &[], &config, &Watch::default()).unwrap();
        for code in 1..MOST.pow(TREES) {
            let weight = |tree: usize| (code / MOST.pow(tree as u32) % MOST) as i32;
            let sum =
                |votes: &[i32]| -> i32 { votes.iter().enumerate().map(|(at, vote)| vote * weight(at)).sum() };
            if cells.iter().all(|(votes, second)| (sum(votes) > 0) == *second) {
                let size = (0..TREES as usize).filter(|&tree| weight(tree) > 0).count();
                assert!(
                    size >= pruned.lower_bound,
                    "seed {seed}: {size} trees, bound {}",
                    pruned.lower_bound
                );
                smaller += u32::from(size < pruned.size[1].trees);
            }
        }
    }
    assert!(smaller > 0, "no model is smaller by its ties, so the bound was never at stake");
}
