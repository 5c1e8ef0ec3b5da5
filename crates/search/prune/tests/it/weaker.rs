//! Asking for less, or for more work, never gives a larger model: on random models, decisions against
//! scores, a domain against every input, a band against exact arithmetic, more effort against less, a
//! longer limit against none.

use crate::memory::{Memory, random_model};
use fastrand::Rng;
use std::time::{Duration, Instant};

use secateur_formats::{Edit, TreeEdit};
use secateur_model::{Decision, Domain, Ensemble, Grid, TreeId};
use secateur_oracle::{Band, Comparison};
use secateur_prune::{Claim, Config, Effort, Watch, keep_scores, prune_model};
use secateur_testkit::{Shape, edited, ensemble};

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

/// A model with more than 10^9 cells, of which the search cannot prove much by looking at boxes. Its
/// last trees are too small to change a decision outside of the band, as late rounds of boosting are
/// when nothing is left to be learned.
fn with_tiny_trees(rng: &mut Rng, tiny: u32) -> Option<Ensemble> {
    let shape = Shape {
        features: 12,
        categorical: 0,
        classes: 2,
        trees: 24 + tiny,
        depth: 3,
        thresholds: 8,
        coarse: false,
        weighted: false,
        ..Shape::random(rng)
    };
    let model = ensemble(rng, &shape);
    let scale = |index: usize| match index < 24 {
        true => TreeEdit::Keep(TreeId::new(index)),
        false => TreeEdit::Scale { tree: TreeId::new(index), factor: 2f64.powi(-40) },
    };
    let edit = Edit { trees: (0..model.trees().len()).map(scale).collect(), intercepts: None };
    let model = edited(&model, &edit);
    let one_score = matches!(model.decision(), Decision::Threshold { .. });
    let large = Grid::new(&[&model]).ok()?.log10_cells() > 9.0;
    (large && one_score && Comparison::new(&model, &model, Band::Auto).is_ok()).then_some(model)
}

/// A proof that decisions are kept is out of reach for these models unless it goes by the scores.
/// Once, the default said of them that no tree can go, while `--keep scores` removed some.
#[test]
fn what_keeps_the_scores_is_found_for_decisions_too() {
    let (mut runs, mut seed) = (0, 0);
    while runs < 3 {
        seed += 1;
        let mut rng = Rng::with_seed(seed);
        let tiny = rng.u32(2..6);
        let Some(model) = with_tiny_trees(&mut rng, tiny) else { continue };
        let with = |claim, effort| trees(&model, 0, &Config { claim, effort, ..Config::default() });
        let Some(scores) = with(keep_scores(&model), Effort::Thorough) else { continue };
        if scores > 24 {
            continue;
        }
        for effort in [Effort::Fast, Effort::Thorough] {
            let decisions = with(Claim::default(), effort).expect("decisions can be kept");
            assert!(decisions <= scores, "seed {seed}, {effort:?}: {decisions}, with its scores {scores}");
        }
        runs += 1;
    }
}

/// A run with a limit begins as one without does, and then continues.
#[test]
fn a_long_limit_never_leaves_a_larger_model() {
    let (mut runs, mut proved) = (0, [0; 2]);
    for seed in 0..60 {
        let mut rng = Rng::with_seed(4_000 + seed);
        let Some(model) = random_model(&mut rng) else { continue };
        let run = |effort, deadline| {
            let config = Config { effort, deadline, ..Config::default() };
            prune_model(&Memory(model.clone()), &[], &config, &Watch::default()).ok()
        };
        let hour = Some(Instant::now() + Duration::from_secs(3600));
        for effort in [Effort::Fast, Effort::Thorough, Effort::Minimum] {
            let [Some(without), Some(with)] = [None, hour].map(|deadline| run(effort, deadline)) else {
                continue;
            };
            assert!(with.size[1].trees <= without.size[1].trees, "seed {seed}, {effort:?}");
            assert!(with.lower_bound >= without.lower_bound, "seed {seed}, {effort:?}");
            runs += 1;
            if effort == Effort::Thorough {
                proved[0] += u32::from(without.lower_bound == without.size[1].trees);
                proved[1] += u32::from(with.lower_bound == with.size[1].trees);
            }
        }
    }
    assert!(runs > 60 && proved[1] >= proved[0], "{runs} {proved:?}");
}
