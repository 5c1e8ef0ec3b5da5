//! Prunes random models so that their scores stay, checks the results on every cell in the
//! libraries' own arithmetic, and has the certificates checked.

use crate::memory::{Memory, random_model, settings};
use fastrand::Rng;
use secateur_model::{Decision, Domain, Ensemble, Exact, Grid, Predictor, Value};
use secateur_oracle::Cancel;
use secateur_prune::{
    Claim, Config, Effort, Moves, Outcome, PruneError, Pruned, Unit, Watch, certify, prune_model,
};
use secateur_testkit::{Shape, ensemble, every_row};

fn exact(value: f64) -> Exact {
    Exact::from_f64(value).expect("finite")
}

/// The greatest distance of the two models' scores, over every cell of the domain.
fn greatest(first: &Ensemble, second: &Ensemble, domain: &Domain) -> Exact {
    let models = [first.within(domain).unwrap(), second.within(domain).unwrap()];
    let grid = Grid::new(&[&models[0], &models[1]]).unwrap();
    let predictors = [Predictor::new(&models[0]), Predictor::new(&models[1])];
    let mut most = Exact::zero();
    for row in every_row(&grid) {
        let [ours, theirs] = [0, 1].map(|model: usize| predictors[model].decided_scores(&row).unwrap());
        for (a, b) in ours.iter().zip(&theirs) {
            most = most.max((&exact(*b) - &exact(*a)).abs());
        }
    }
    most
}

/// A classifier, or a regressor with up to three outputs.
fn model(rng: &mut Rng) -> Option<Ensemble> {
    if rng.bool() {
        return random_model(rng);
    }
    let mut shape = Shape::random(rng);
    shape.decision = Decision::Scores(Value::Score);
    shape.classes = rng.u32(1..=3);
    shape.depth = rng.u32(1..=2);
    shape.trees = rng.u32(3..=14);
    let model = ensemble(rng, &shape);
    Grid::new(&[&model]).is_ok_and(|grid| grid.log10_cells() < 3.3).then_some(model)
}

fn config(rng: &mut Rng) -> Config {
    Config {
        effort: *rng.choice(&[Effort::Fast, Effort::Thorough, Effort::Thorough]).unwrap(),
        moves: *rng.choice(&[Moves::Leaves, Moves::Leaves, Moves::Weights]).unwrap(),
        unit: *rng.choice(&[None, Some(Unit::Round), Some(Unit::Tree)]).unwrap(),
        claim: Claim::Scores { within: *rng.choice(&[0.0, 1e-4, 0.05, 0.3, 1.0, 5.0]).unwrap() },
        domain: rng.choice([Domain::everything(), Domain::no_missing()]).unwrap(),
        seed: rng.u64(..),
        ..Config::default()
    }
}

#[test]
fn scores_stay_on_every_cell() {
    let (mut runs, mut smaller, mut moved, mut averaged, mut dropped, mut regressors) = (0, 0, 0, 0, 0, 0);
    for seed in 0..400 {
        let mut rng = Rng::with_seed(seed);
        let Some(model) = model(&mut rng) else { continue };
        let config = config(&mut rng);
        let within = config.claim.within().unwrap();
        let context = format!("seed {seed}, {config:?}");
        let data: Vec<f64> = vec![0.0; model.features().len() * 2];
        let memory = Memory(model.clone());
        let pruned: Pruned<Memory> = match prune_model(&memory, &data, &config, &Watch::default()) {
            Ok(pruned) => pruned,
            Err(PruneError::WithinRounding { least, .. }) => {
                assert!(model.scores_vary() && least > within, "{context}");
                continue;
            }
            Err(PruneError::Compare(_)) => {
                assert!(model.rounding().is_none(), "{context}");
                continue;
            }
            Err(error) => panic!("{context}: {error}"),
        };
        runs += 1;
        let [before, after] = pruned.size;
        assert!(after.trees <= before.trees, "{context}");
        assert_ne!(pruned.outcome, Outcome::BudgetReached, "{context}");
        assert_eq!((pruned.lower_bound, pruned.within), (0, Some(within)), "{context}");
        let distance = greatest(&model, &pruned.file.0, &config.domain);
        assert!(distance <= exact(within), "{context}: {} apart", distance.to_f64());
        let changed = usize::from(after.trees < before.trees);
        smaller += changed;
        moved += usize::from(!distance.is_zero());
        averaged += changed * usize::from(model.accumulation().average.is_some());
        dropped += before.trees - after.trees;
        regressors += changed * usize::from(!model.decision().is_classifier());
        // The proof can be written, and the checker accepts it.
        let narrow = model.within(&config.domain).unwrap();
        let cancel = Cancel::default();
        let certificate =
            certify(&narrow, &pruned.file.0, config.claim, None, &settings(&cancel)).expect(&context);
        assert_eq!(certificate.proved.claim.within(), Some(within), "{context}");
    }
    println!("{runs} runs, {smaller} smaller, {moved} with other scores, {dropped} trees fewer");
    assert!(
        runs > 150 && smaller > 60 && moved > 40 && averaged > 5 && dropped > 150 && regressors > 20,
        "{runs} {smaller} {moved} {averaged} {dropped} {regressors}: a weak test"
    );
}

/// A tree that never adds more than the allowed distance is dropped.
#[test]
fn a_tree_of_small_leaves_goes() {
    let (mut tried, mut went) = (0, 0);
    for seed in 0..60 {
        let mut rng = Rng::with_seed(seed);
        let Some(model) = model(&mut rng) else { continue };
        let Some(rounding) = model.rounding() else { continue };
        if model.trees().is_empty() || model.accumulation().average.is_some() {
            continue;
        }
        // The distance is the most that the smallest tree adds, with some room for rounding.
        let reach = |index: usize| {
            let tree = &model.trees()[index];
            tree.leaf_values().iter().fold(0.0f64, |most, leaf| most.max((leaf * tree.weight()).abs()))
        };
        let least = (0..model.trees().len()).map(reach).fold(f64::INFINITY, f64::min);
        let within = least * 1.01 + 8.0 * rounding.largest() + 1e-9;
        let config = Config { claim: Claim::Scores { within }, ..Config::default() };
        let memory = Memory(model.clone());
        let pruned = prune_model(&memory, &[], &config, &Watch::default()).unwrap();
        went += u32::from(pruned.size[1].trees < model.trees().len());
        tried += 1;
    }
    // The weights that the solver chooses are rounded when they are written; that may use up a
    // distance this small.
    assert!(tried > 15 && went * 10 >= tried * 8, "{went} of {tried}");
}

#[test]
fn distances_that_nothing_can_be_kept_within_are_refused() {
    let mut rng = Rng::with_seed(1);
    let model = std::iter::from_fn(|| Some(model(&mut rng))).flatten().next().unwrap();
    let memory = Memory(model);
    let run = |claim: Claim, effort: Effort| {
        let config = Config { claim, effort, ..Config::default() };
        prune_model(&memory, &[], &config, &Watch::default()).map(|_| ())
    };
    for within in [-1.0, f64::NAN, f64::INFINITY] {
        let refused = run(Claim::Scores { within }, Effort::Thorough);
        assert!(matches!(refused, Err(PruneError::Within { .. })), "{refused:?}");
    }
    let refused = run(Claim::Scores { within: 1.0 }, Effort::Minimum);
    assert!(matches!(refused, Err(PruneError::WithinMinimum)), "{refused:?}");
}
