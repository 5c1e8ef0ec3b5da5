//! Random models, pruned in every way, judged on every cell.

mod memory;

use fastrand::Rng;
use memory::{Memory, check, random_model};
use secateur_oracle::{Band, Comparison};
use secateur_prune::{Config, Effort, Fate, Moves, Objective, Outcome, Pruned, Unit, Watch, prune_model};

fn random_config(rng: &mut Rng) -> Config {
    Config {
        effort: *rng.choice(&[Effort::Fast, Effort::Thorough, Effort::Minimum]).unwrap(),
        objective: *rng.choice(&[Objective::Trees, Objective::Leaves, Objective::Bytes]).unwrap(),
        moves: *rng.choice(&[Moves::Leaves, Moves::Leaves, Moves::Weights]).unwrap(),
        unit: *rng.choice(&[None, Some(Unit::Round), Some(Unit::Tree)]).unwrap(),
        band: *rng.choice(&[Band::Auto, Band::Exact, Band::Score(0.25)]).unwrap(),
        seed: rng.u64(..),
        ..Config::default()
    }
}

fn rank(model: &Pruned<Memory>, objective: Objective, after: bool, original: &Memory) -> u64 {
    use secateur_prune::Editable;
    let size = model.size[usize::from(after)];
    match objective {
        Objective::Trees => size.trees as u64,
        Objective::Leaves => size.leaves as u64,
        Objective::Bytes if after => model.file.bytes().unwrap(),
        Objective::Bytes => original.bytes().unwrap(),
    }
}

#[test]
fn pruned_models_decide_alike_on_every_cell() {
    let (mut smaller, mut cells, mut runs, mut scaled) = (0, 0, 0, 0);
    for seed in 0..450 {
        let mut rng = Rng::with_seed(seed);
        let Some(model) = random_model(&mut rng) else { continue };
        let config = random_config(&mut rng);
        // A model whose decisions are never certain has no band; that is a clear answer, too.
        if Comparison::new(&model, &model, config.band).is_err() {
            continue;
        }
        let context = format!("seed {seed}, {config:?}");
        let memory = Memory(model.clone());
        let data: Vec<f64> = vec![0.0; model.features().len() * 2];
        let pruned = prune_model(&memory, &data, &config, &Watch::default()).expect(&context);
        runs += 1;
        cells += check(&model, &pruned, config.band, &context);
        let (before, after) =
            (rank(&pruned, config.objective, false, &memory), rank(&pruned, config.objective, true, &memory));
        assert!(after <= before, "{context}");
        assert_ne!(pruned.outcome, Outcome::BudgetReached, "{context}");
        assert!(pruned.lower_bound <= pruned.size[1].trees, "{context}");
        assert_eq!(pruned.fates.len(), model.trees().len());
        smaller += usize::from(after < before);
        scaled += pruned.fates.iter().filter(|fate| matches!(fate, Fate::Scaled(_))).count();
        let again = prune_model(&memory, &data, &config, &Watch::default()).expect(&context);
        assert_eq!(again.file.0, pruned.file.0, "{context}: same seed, same model");
    }
    assert!(runs > 150 && smaller > 70 && cells > 3_000, "{runs} {smaller} {cells}");
    assert!(scaled > 20, "{scaled}");
}

#[test]
fn a_cancelled_run_ends_with_a_model_that_decides_alike() {
    for seed in 0..60 {
        let mut rng = Rng::with_seed(seed);
        let Some(model) = random_model(&mut rng) else { continue };
        let config = Config { band: Band::Exact, ..random_config(&mut rng) };
        config.cancel.cancel();
        let memory = Memory(model.clone());
        let pruned = prune_model(&memory, &[], &config, &Watch::default()).unwrap();
        // A fold that is proved minimal at once needs no budget.
        let minimal = pruned.lower_bound >= pruned.size[1].trees;
        assert_eq!(pruned.outcome == Outcome::BudgetReached, !minimal, "seed {seed}");
        check(&model, &pruned, config.band, &format!("seed {seed}"));
    }
}
