//! Finds which classes change places at which boundaries, each with two inputs that show it.
//!
//! With more than two classes, several pairs of classes may change places at one boundary, and a
//! tree that steps there for one class serves only the pairs with this class. For each pair of
//! classes that change places at a boundary, one of the columns that step there in favour of this
//! change must stay (see `cut`), so each boundary needs as many columns as it takes to cover its
//! pairs. `relevant` stops at the first pair of a boundary. Here, walks near the decision boundary
//! collect all pairs, until several walks in a row find no new one. Every pair is checked exactly;
//! finding none proves nothing.

use std::collections::HashSet;

use fastrand::Rng;
use secateur_model::{CellId, Ensemble, Grid};
use secateur_oracle::SearchBudget;

use crate::passes::relevant::{Boundary, Pair, pair_at};
use crate::points::boundary_walks::{band_of_sums, is_over, step, tops_along};
use crate::points::profile::Profiles;

/// Walks in a row without a new pair before the search ends.
const IDLE_WALKS: usize = 60;

/// Pairs of inputs: one for each boundary and each two classes that change places there, as far as
/// the walks find them.
pub fn class_changes(
    model: &Ensemble,
    grid: &Grid,
    band: Option<f64>,
    starts: &[&[f64]],
    rng: &mut Rng,
    budget: &SearchBudget,
) -> Vec<Pair> {
    let profiles = Profiles::new(model, grid);
    let band_of_sums = band_of_sums(model, band);
    let mut order: Vec<usize> = (0..grid.axes().len()).collect();
    let mut starts = starts.iter().filter_map(|row| grid.cells_of(row));
    let mut seen: HashSet<(Boundary, [usize; 2])> = HashSet::new();
    let mut found = Vec::new();
    let (mut idle, mut line) = (0, Vec::new());
    while !order.is_empty() && idle < IDLE_WALKS && !is_over(budget) {
        let before = found.len();
        let mut cells = starts.next().unwrap_or_else(|| profiles.random_cells(rng));
        let mut scores = profiles.scores(&cells);
        for _ in 0..2 {
            rng.shuffle(&mut order);
            for &axis in &order {
                if is_over(budget) {
                    return found;
                }
                let tops = tops_along(&profiles, &scores, &cells, axis, &mut line);
                let count = grid.axes()[axis].bounds().map_or(0, <[f64]>::len);
                for below in 0..count {
                    let (low, high) = (tops[below], tops[below + 1]);
                    // Leads just at the band, and ties, are decided by the exact check.
                    let decided = low.1 >= band_of_sums && high.1 >= band_of_sums;
                    let boundary = Boundary { axis, below: CellId::new(below) };
                    let change = (boundary, [low.0, high.0]);
                    if low.0 == high.0 || !decided || seen.contains(&change) {
                        continue;
                    }
                    if let Some(pair) = pair_at(model, grid, band, boundary, &cells) {
                        seen.insert(change);
                        found.push(pair);
                    }
                }
                if let Some(nearest) = (0..tops.len()).min_by(|&a, &b| tops[a].1.total_cmp(&tops[b].1)) {
                    step(&profiles, &mut scores, &mut cells, axis, nearest, &line);
                }
            }
        }
        idle = if found.len() > before { 0 } else { idle + 1 };
    }
    found
}

#[cfg(test)]
mod tests {
    use secateur_model::Decision;
    use secateur_testkit::{Shape, all_cells, ensemble};

    use super::*;
    use crate::passes::relevant::boundaries;

    #[test]
    fn walks_find_nearly_every_change_of_small_models_and_nothing_else() {
        let mut rng = Rng::with_seed(11);
        let (mut shown, mut there) = (0, 0);
        for _ in 0..60 {
            let decision = Decision::Argmax;
            let coarse = false;
            let shape = Shape { depth: 1, trees: 8, classes: 4, decision, coarse, ..Shape::random(&mut rng) };
            let model = ensemble(&mut rng, &shape);
            let grid = Grid::new(&[&model]).unwrap();
            let pairs = class_changes(&model, &grid, None, &[], &mut rng, &SearchBudget::unlimited());
            shown += pairs.len();
            let mut all = HashSet::new();
            for cells in all_cells(&grid) {
                for boundary in boundaries(&grid).filter(|b| b.below == cells[b.axis]) {
                    let pair = pair_at(&model, &grid, None, boundary, &cells);
                    all.extend(pair.map(|pair| (boundary, pair.classes)));
                }
            }
            there += all.len();
            for pair in &pairs {
                let at = grid.cells_of(&pair.rows[0]).unwrap();
                let differs = |&b: &Boundary| at[b.axis] == b.below && pair.rows[0] != pair.rows[1];
                assert!(boundaries(&grid).filter(differs).any(|b| all.contains(&(b, pair.classes))));
            }
        }
        assert!(shown <= there && shown * 20 > there * 19, "{shown} of {there}");
    }
}
