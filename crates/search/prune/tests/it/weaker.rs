//! Who asks for less, or for more work, never gets a larger model: on random models, decisions
//! against scores, a domain against every input, a band against exact arithmetic, more effort
//! against less.

use crate::memory::{Memory, random_model};
use fastrand::Rng;
use secateur_model::{Domain, Ensemble, Grid};
use secateur_oracle::{Band, Comparison};
use secateur_prune::{Claim, Config, Effort, Watch, prune_model};
use secateur_testkit::{Shape, ensemble};

/// The number of trees that pruning leaves, with or without rows to start from; `None` if the
/// claim is refused.
fn trees(model: &Ensemble, rows: usize, config: &Config) -> Option<usize> {
    let data = vec![0.0; model.features().len() * rows];
    let pruned = prune_model(&Memory(model.clone()), &data, config, &Watch::default()).ok()?;
    Some(pruned.size[1].trees)
}

/// A model with more cells than a run can list, so that a longer run begins with the bound.
fn large_model(rng: &mut Rng) -> Option<Ensemble> {
    let shape = Shape {
        features: 6,
        categorical: 0,
        classes: 2,
        trees: rng.u32(12..=16),
        depth: 2,
        thresholds: 6,
        ..Shape::random(rng)
    };
    let model = ensemble(rng, &shape);
    (4.5..5.5).contains(&Grid::new(&[&model]).ok()?.log10_cells()).then_some(model)
}

#[test]
fn more_effort_never_leaves_a_larger_model() {
    let (mut runs, mut smaller) = (0, 0);
    for seed in 0..24 {
        let mut rng = Rng::with_seed(seed);
        let model = if seed % 2 == 0 { large_model(&mut rng) } else { random_model(&mut rng) };
        let Some(model) = model else { continue };
        let rows = rng.usize(0..3);
        let config = Config { seed: rng.u64(..), ..Config::default() };
        let with = |effort| trees(&model, rows, &Config { effort, ..config.clone() });
        let [Some(fast), Some(thorough), Some(minimum)] =
            [Effort::Fast, Effort::Thorough, Effort::Minimum].map(with)
        else {
            continue;
        };
        assert!(thorough <= fast && minimum <= thorough, "seed {seed}: {fast} {thorough} {minimum}");
        runs += 1;
        smaller += u32::from(minimum < fast);
    }
    assert!(runs > 10 && smaller > 0, "{runs} {smaller}");
}

#[test]
fn a_weaker_claim_never_leaves_a_larger_model() {
    let mut runs = [0; 4];
    for seed in 0..100 {
        let mut rng = Rng::with_seed(seed);
        let Some(model) = random_model(&mut rng) else { continue };
        if Comparison::new(&model, &model, Band::Auto).is_err() {
            continue;
        }
        let effort = *rng.choice(&[Effort::Thorough, Effort::Minimum]).unwrap();
        let config = Config { effort, seed: rng.u64(..), ..Config::default() };
        let with = |claim, domain: &Domain| {
            trees(&model, 0, &Config { claim, domain: domain.clone(), ..config.clone() })
        };
        let decisions = |band| Claim::Decisions { band };
        let all = Domain::everything();
        let Some(auto) = with(decisions(Band::Auto), &all) else { continue };
        let mut weaker = |kind: usize, weak: Option<usize>, strong: Option<usize>| {
            if let (Some(weak), Some(strong)) = (weak, strong) {
                assert!(weak <= strong, "seed {seed}, {effort:?}, kind {kind}: {weak} {strong}");
                runs[kind] += 1;
            }
        };
        let rounding = model.rounding().map_or(0.0, |rounding| rounding.largest());
        if effort != Effort::Minimum {
            weaker(0, Some(auto), with(Claim::Scores { within: rounding }, &all));
        }
        weaker(1, with(decisions(Band::Auto), &Domain::no_missing()), Some(auto));
        weaker(2, with(decisions(Band::Score(0.5)), &all), Some(auto));
        weaker(3, Some(auto), with(decisions(Band::Exact), &all));
    }
    assert!(runs.iter().all(|&runs| runs > 15), "{runs:?}");
}
