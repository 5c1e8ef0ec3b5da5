//! Random models without files, and a check of pruned models on every cell.

use fastrand::Rng;
use secateur_formats::{Edit, EditError};
use secateur_model::{Ensemble, Grid, Predictor};
use secateur_oracle::{Band, Cancel, Options, SearchBudget, exact_class};
use secateur_prune::{Pruned, certain_winner};
use secateur_testkit::{Shape, edited, ensemble, every_row, mutate};

/// A model without a file. See [`edited`].
#[derive(Clone, Debug)]
pub(crate) struct Memory(pub(crate) Ensemble);

impl secateur_prune::Editable for Memory {
    fn ensemble(&self) -> &Ensemble {
        &self.0
    }

    fn edit(&self, edit: &Edit) -> Result<Self, EditError> {
        Ok(Self(edited(&self.0, edit)))
    }

    fn votes_only(&self) -> bool {
        false
    }

    fn bytes(&self) -> Option<u64> {
        Some(self.0.trees().iter().map(|tree| tree.node_count() as u64 * 10 + 7).sum())
    }
}

/// A random model, if it has few cells.
pub(crate) fn random_model(rng: &mut Rng) -> Option<Ensemble> {
    let mut shape = Shape::random(rng);
    shape.trees = rng.u32(1..=10);
    let mut model = ensemble(rng, &shape);
    for _ in 0..rng.u32(0..3) {
        model = mutate(rng, &model);
    }
    (Grid::new(&[&model]).ok()?.log10_cells() <= 2.6).then_some(model)
}

/// Asserts that the pruned model decides as the original on every cell that the claim is about.
/// Returns how many cells that are.
// Tests of claims about scores have a check of their own.
#[allow(dead_code)]
pub(crate) fn check(original: &Ensemble, pruned: &Pruned<Memory>, band: Band, context: &str) -> usize {
    let original = &*original.within(&pruned.domain).unwrap();
    let grid = Grid::new(&[original, &pruned.file.0]).unwrap();
    let (first, second) = (Predictor::new(original), Predictor::new(&pruned.file.0));
    let mut certain = 0;
    for row in every_row(&grid).filter(|row| original.domain().contains(row)) {
        let read: Vec<f64> = row.iter().map(|&value| original.intake().read(value).unwrap()).collect();
        let sums = original.exact_sums(original.leaves(&read));
        let margin = (band != Band::Exact).then_some(pruned.band);
        let Some(winner) = certain_winner(original, &sums, margin) else { continue };
        certain += 1;
        if band == Band::Exact {
            assert_eq!(exact_class(&pruned.file.0, &row), winner, "{context}: {row:?}");
        } else {
            assert_eq!(first.classes(&row).unwrap()[0], winner, "{context}: {row:?}");
            assert_eq!(second.classes(&row).unwrap()[0], winner, "{context}: {row:?}");
        }
    }
    certain
}

/// The settings of a search with one thread that only this switch ends.
pub(crate) fn settings(cancel: &Cancel) -> Options {
    let budget = SearchBudget { cancel: cancel.clone(), ..SearchBudget::unlimited() };
    Options { budget, threads: 1, ..Options::unlimited() }
}
