//! A model that rounds its inputs to f32 and its version that reads doubles give the same bits on
//! every double that the library accepts.

use fastrand::Rng;
use secateur_model::{NumberType, Predictor, Test};
use secateur_testkit::{Shape, ensemble};

#[test]
fn rounding_inputs_is_moving_thresholds() {
    let (mut models, mut moved, mut refused) = (0, 0, 0);
    for seed in 0..600 {
        let mut rng = Rng::with_seed(seed);
        let mut shape = Shape::random(&mut rng);
        shape.intake.number = NumberType::F32;
        let model = ensemble(&mut rng, &shape);
        let comparisons = model
            .trees()
            .iter()
            .flat_map(|tree| tree.splits())
            .all(|split| matches!(split.test, Test::Less { .. } | Test::LessOrEqual { .. }));
        let Some(other) = model.reading_doubles() else {
            assert!(!comparisons || shape.intake.zero_window.is_some(), "seed {seed}");
            refused += 1;
            continue;
        };
        assert!(comparisons && other.intake().number == NumberType::F64, "seed {seed}");
        models += 1;
        // Doubles around every point where the direction of rounding changes.
        let mut values = vec![0.0, -0.0, 1e-46, -1e-46, 1e39, -1e39, 3.4028235677973366e38, f64::MAX];
        for tree in model.trees() {
            for split in tree.splits() {
                let (Test::Less { threshold } | Test::LessOrEqual { threshold }) = split.test else {
                    continue;
                };
                let single = NumberType::F32.round(threshold);
                for near in [NumberType::F32.next_down(single), single] {
                    let middle = (near + NumberType::F32.next_up(near)) / 2.0;
                    values.extend([threshold, near, middle, middle.next_up(), middle.next_down()]);
                }
            }
        }
        if shape.intake.missing {
            values.push(f64::NAN);
        }
        let predictors = [&model, &other].map(Predictor::new);
        for _ in 0..200 {
            let row: Vec<f64> =
                (0..shape.features).map(|_| *rng.choice(&values).expect("there are values")).collect();
            let Ok(ours) = predictors[0].raw_scores(&row) else { continue };
            let theirs = predictors[1].raw_scores(&row).expect("what the library takes is taken");
            let bits = |scores: &[f64]| scores.iter().map(|score| score.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(&ours), bits(&theirs), "seed {seed}: {row:?}");
            // Some of these rows would take another path without moved thresholds.
            moved += u32::from(row.iter().any(|&value| NumberType::F32.round(value) != value));
        }
    }
    assert!(models > 150 && refused > 50 && moved > 10_000, "{models} {refused} {moved}: a weak test");
}
