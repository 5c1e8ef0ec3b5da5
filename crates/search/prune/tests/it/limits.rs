//! Runs that are ended early: at the start, and after arbitrary times.

use std::time::{Duration, Instant};

use crate::memory::{Memory, check, random_model, settings};
use fastrand::Rng;
use secateur_oracle::{Band, Cancel, Comparison};
use secateur_prune::{
    CertifyError, Claim, Config, Effort, Fate, Moves, Outcome, Watch, certify, prune_model,
};

/// Without time the model is returned as it is. The result claims nothing more than that, and a
/// certificate proves it.
#[test]
fn no_time_leaves_the_model_as_it_is() {
    let mut runs = 0;
    for seed in 0..120 {
        let mut rng = Rng::with_seed(seed);
        let Some(model) = random_model(&mut rng) else { continue };
        if Comparison::new(&model, &model, Band::Auto).is_err() {
            continue;
        }
        let cancelled = Cancel::default();
        cancelled.cancel();
        let moves = if seed % 2 == 0 { Moves::Leaves } else { Moves::Weights };
        for config in [
            Config { deadline: Some(Instant::now()), moves, ..Config::default() },
            Config { cancel: cancelled, moves, ..Config::default() },
        ] {
            let pruned = prune_model(&Memory(model.clone()), &[], &config, &Watch::default()).unwrap();
            assert_eq!(pruned.outcome, Outcome::BudgetReached);
            assert_eq!(pruned.file.0, model);
            assert_eq!(pruned.size[0], pruned.size[1]);
            assert_eq!((pruned.lower_bound, pruned.irreducible, pruned.oracle_calls), (0, false, 0));
            assert!(pruned.fates.iter().all(|fate| *fate == Fate::Kept));
            let cancel = Cancel::default();
            let made =
                certify(&model, &pruned.file.0, Claim::default(), Some(&pruned.evidence), &settings(&cancel));
            assert!(made.is_ok(), "seed {seed}: {:?}", made.err());
            cancel.cancel();
            let made =
                certify(&model, &pruned.file.0, Claim::default(), Some(&pruned.evidence), &settings(&cancel));
            assert!(matches!(made, Err(CertifyError::Interrupted)), "seed {seed}");
            runs += 1;
        }
    }
    assert!(runs > 60, "{runs}");
}

/// Whenever a run is ended, by its deadline or from outside, its result decides as the original,
/// its bound holds and its certificate is accepted.
#[test]
fn a_run_that_is_ended_anywhere_gives_what_is_proved() {
    let (mut ended, mut runs) = (0, 0);
    for seed in 0..150 {
        let mut rng = Rng::with_seed(1_000 + seed);
        let Some(model) = random_model(&mut rng) else { continue };
        if Comparison::new(&model, &model, Band::Auto).is_err() {
            continue;
        }
        let effort = *rng.choice(&[Effort::Fast, Effort::Thorough, Effort::Minimum]).unwrap();
        let late = Duration::from_micros(1 << rng.u32(3..16));
        let config = Config { effort, seed, ..Config::default() };
        let pruned = std::thread::scope(|scope| {
            let config = if rng.bool() {
                Config { deadline: Some(Instant::now() + late), ..config.clone() }
            } else {
                let cancel = config.cancel.clone();
                scope.spawn(move || {
                    std::thread::sleep(late);
                    cancel.cancel();
                });
                config.clone()
            };
            prune_model(&Memory(model.clone()), &[], &config, &Watch::default()).unwrap()
        });
        let context = format!("seed {seed}, {late:?}");
        check(&model, &pruned, Band::Auto, &context);
        assert!(pruned.lower_bound <= pruned.size[1].trees, "{context}");
        let cancel = Cancel::default();
        let made =
            certify(&model, &pruned.file.0, Claim::default(), Some(&pruned.evidence), &settings(&cancel));
        assert!(made.is_ok(), "{context}: {:?}", made.err());
        ended += usize::from(pruned.outcome == Outcome::BudgetReached);
        runs += 1;
    }
    assert!(runs > 60 && ended > 10, "{ended} of {runs}");
}
