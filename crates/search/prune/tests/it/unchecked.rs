//! Pruning without a proof: it keeps the rows, as it promises, and claims no more.

use crate::memory::{Memory, random_model};
use fastrand::Rng;
use secateur_model::{Ensemble, Grid, Predictor};
use secateur_oracle::{Band, Comparison, Options, Outline, Verdict};
use secateur_prune::{Config, Effort, Moves, Scrutiny, Watch, certain_winner, prune_unchecked};
use secateur_testkit::{Shape, ensemble};

fn random_rows(model: &Ensemble, count: usize, rng: &mut Rng) -> Vec<f64> {
    (0..count * model.features().len()).map(|_| f64::from(rng.i32(-4..=8)) / 2.0).collect()
}

/// Does the second model decide as the first on every input outside the band?
fn alike(first: &Ensemble, second: &Ensemble) -> bool {
    let compared = Comparison::new(first, second, Band::Auto).unwrap().run(&Options::unlimited());
    compared.verdict == Verdict::Identical
}

#[test]
fn rows_are_decided_as_before_and_other_inputs_not_always() {
    let (mut runs, mut smaller, mut wrong) = (0, 0, 0);
    for seed in 0..300 {
        let mut rng = Rng::with_seed(seed);
        let Some(model) = random_model(&mut rng) else { continue };
        let Ok(outline) = Outline::new(&model, &model, Band::Auto) else { continue };
        let band = Some(outline.band());
        let rows = random_rows(&model, 12, &mut rng);
        let effort = *rng.choice(&[Effort::Fast, Effort::Thorough]).unwrap();
        let moves = *rng.choice(&[Moves::Leaves, Moves::Weights]).unwrap();
        let config = Config { effort, moves, ..Config::default() };
        let file = Memory(model.clone());
        let Ok(found) = prune_unchecked(&file, &rows, &config, Scrutiny::Rows, &Watch::default()) else {
            continue;
        };
        assert_eq!(found.oracle_calls, 0);
        let pruned = &found.file.0;
        let [old, new] = [&model, pruned].map(Predictor::new);
        for row in rows.chunks_exact(model.features().len()) {
            let read: Option<Vec<f64>> = row.iter().map(|&value| model.intake().read(value)).collect();
            let Some(read) = read else { continue };
            let certain = certain_winner(&model, &model.exact_sums(model.leaves(&read)), band).is_some();
            let [Ok(old), Ok(new)] = [old.classes(row), new.classes(row)] else { continue };
            assert!(!certain || old == new, "seed {seed}, {config:?}: {row:?} was {old:?} and is {new:?}");
        }
        runs += 1;
        smaller += usize::from(pruned.trees().len() < model.trees().len());
        wrong += usize::from(!alike(&model, pruned));
    }
    // The test is strong only if many models became smaller and many of these are wrong on other
    // inputs.
    assert!(runs > 100 && smaller > runs / 4 && wrong > runs / 10, "{runs} {smaller} {wrong}");
}

#[test]
fn an_oracle_that_may_look_at_few_boxes_takes_what_one_with_many_refutes() {
    let wrong = |boxes: u64| {
        let (mut runs, mut wrong) = (0, 0);
        for seed in 0..40 {
            let mut rng = Rng::with_seed(seed);
            let mut shape = Shape::random(&mut rng);
            (shape.features, shape.trees, shape.depth) = (8, 10, 4);
            let model = ensemble(&mut rng, &shape);
            // In smaller spaces every cell is checked, however few boxes the oracle may visit.
            let large = Grid::new(&[&model]).is_ok_and(|grid| (6.1..8.0).contains(&grid.log10_cells()));
            if !large || Outline::new(&model, &model, Band::Auto).is_err() {
                continue;
            }
            let rows = random_rows(&model, 2, &mut rng);
            let config = Config { effort: Effort::Fast, ..Config::default() };
            let scrutiny = Scrutiny::Boxes(boxes);
            let found = prune_unchecked(&Memory(model.clone()), &rows, &config, scrutiny, &Watch::default());
            let Ok(found) = found else { continue };
            runs += 1;
            wrong += usize::from(!alike(&model, &found.file.0));
        }
        assert!(runs > 3, "{runs}");
        wrong
    };
    assert_eq!(wrong(100_000), 0, "with boxes enough for a proof it is one");
    assert!(wrong(1) > 0, "one box is enough for everything");
}
