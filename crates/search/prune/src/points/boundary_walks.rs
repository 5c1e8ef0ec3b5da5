//! Finds many different inputs close to the decision boundary, at little cost.
//!
//! A walk starts from a row of data or a random cell and takes one axis after the other. It
//! evaluates all cells along the axis. Where the class changes between neighbouring cells, it keeps
//! both; then it continues from the cell with the smallest lead, so it comes closer to the boundary
//! with each axis. The inputs are starting points for solvers: nothing is claimed about them except
//! that the original's f64 lead exceeds the band.

use std::collections::HashSet;
use std::time::Instant;

use fastrand::Rng;
use secateur_model::{CellId, Ensemble, Grid};
use secateur_oracle::SearchBudget;

use crate::points::profile::Profiles;

/// Walks in a row that find nothing new before the search ends.
const IDLE_WALKS: usize = 40;
/// Changes of class that are kept from one axis; more of them would be points of one line.
const CHANGES_KEPT: usize = 2;

/// Is the budget's time over, or was it cancelled?
pub(crate) fn is_over(budget: &SearchBudget) -> bool {
    budget.cancel.is_cancelled() || budget.deadline.is_some_and(|deadline| Instant::now() >= deadline)
}

/// The band in terms of sums, before averaging.
pub(crate) fn band_of_sums(model: &Ensemble, band: Option<f64>) -> f64 {
    band.unwrap_or(0.0) * model.accumulation().divisor()
}

/// Up to `wanted` inputs near the decision boundary. Walks start from the rows of `starts` that the
/// model accepts, then from random cells. `grid` must be the model's own.
pub fn near_boundary(
    model: &Ensemble,
    grid: &Grid,
    band: Option<f64>,
    starts: &[&[f64]],
    wanted: usize,
    rng: &mut Rng,
    budget: &SearchBudget,
) -> Vec<Vec<f64>> {
    let profiles = Profiles::new(model, grid);
    let band = band_of_sums(model, band);
    let mut kept = Kept { grid, wanted, band, seen: HashSet::new(), found: Vec::new() };
    let mut order: Vec<usize> = (0..grid.axes().len()).collect();
    let mut starts = starts.iter().filter_map(|row| grid.cells_of(row));
    let mut idle = 0;
    let mut line = Vec::new();
    while !order.is_empty() && idle < IDLE_WALKS && kept.found.len() < wanted && !is_over(budget) {
        let before = kept.found.len();
        let mut cells = starts.next().unwrap_or_else(|| profiles.random_cells(rng));
        let mut scores = profiles.scores(&cells);
        rng.shuffle(&mut order);
        for &axis in &order {
            if is_over(budget) {
                break;
            }
            let tops = tops_along(&profiles, &scores, &cells, axis, &mut line);
            kept.add_changes(&cells, axis, &tops, rng);
            let nearest = (0..tops.len())
                .filter(|&cell| tops[cell].1 > band)
                .min_by(|&a, &b| tops[a].1.total_cmp(&tops[b].1));
            if let Some(nearest) = nearest {
                step(&profiles, &mut scores, &mut cells, axis, nearest, &line);
            }
        }
        kept.add(cells);
        idle = if kept.found.len() > before { 0 } else { idle + 1 };
    }
    kept.found.iter().map(|cells| grid.witness(cells)).collect()
}

/// The class and its lead in every cell along an axis. Leaves the profile of the axis in `line`.
pub(crate) fn tops_along(
    profiles: &Profiles<'_>,
    scores: &[f64],
    cells: &[CellId],
    axis: usize,
    line: &mut Vec<f64>,
) -> Vec<(usize, f64)> {
    profiles.profile(cells, axis, line);
    let width = profiles.width();
    let own = &line[cells[axis].index() * width..][..width];
    let rest: Vec<f64> = scores.iter().zip(own).map(|(score, own)| score - own).collect();
    let mut here = vec![0.0; width];
    line.chunks_exact(width)
        .map(|values| {
            for (slot, (value, rest)) in here.iter_mut().zip(values.iter().zip(&rest)) {
                *slot = rest + value;
            }
            profiles.top(&here)
        })
        .collect()
}

/// Moves to another cell along an axis whose profile is `line`, and updates the scores.
pub(crate) fn step(
    profiles: &Profiles<'_>,
    scores: &mut [f64],
    cells: &mut [CellId],
    axis: usize,
    to: usize,
    line: &[f64],
) {
    let width = profiles.width();
    let from = cells[axis].index();
    for (slot, score) in scores.iter_mut().enumerate() {
        *score += line[to * width + slot] - line[from * width + slot];
    }
    cells[axis] = CellId::new(to);
}

struct Kept<'a> {
    grid: &'a Grid,
    wanted: usize,
    band: f64,
    seen: HashSet<Vec<CellId>>,
    found: Vec<Vec<CellId>>,
}

impl Kept<'_> {
    fn add(&mut self, cells: Vec<CellId>) {
        let new = self.found.len() < self.wanted && self.seen.insert(cells.clone());
        if new && self.grid.scores_hold(&cells) {
            self.found.push(cells);
        }
    }

    fn add_changes(&mut self, cells: &[CellId], axis: usize, tops: &[(usize, f64)], rng: &mut Rng) {
        let decided = |cell: usize| tops[cell].1 > self.band;
        let mut changes: Vec<usize> = (1..tops.len())
            .filter(|&cell| tops[cell].0 != tops[cell - 1].0 && decided(cell) && decided(cell - 1))
            .collect();
        rng.shuffle(&mut changes);
        for change in changes.into_iter().take(CHANGES_KEPT) {
            for cell in [change - 1, change] {
                let mut moved = cells.to_vec();
                moved[axis] = CellId::new(cell);
                self.add(moved);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use secateur_testkit::{Shape, ensemble};

    use super::*;

    #[test]
    fn points_are_distinct_inputs_of_the_model_and_have_neighbours_of_another_class() {
        let mut rng = Rng::with_seed(3);
        let mut changes = 0;
        for _ in 0..100 {
            let shape = Shape { depth: 2, trees: 5, ..Shape::random(&mut rng) };
            let model = ensemble(&mut rng, &shape);
            let grid = Grid::new(&[&model]).unwrap();
            let rows = near_boundary(&model, &grid, None, &[], 30, &mut rng, &SearchBudget::unlimited());
            let cells: Vec<_> = rows.iter().map(|row| grid.cells_of(row).unwrap()).collect();
            assert_eq!(cells.iter().collect::<HashSet<_>>().len(), rows.len());
            let class = |cells: &Vec<CellId>| {
                let profiles = Profiles::new(&model, &grid);
                profiles.top(&profiles.scores(cells)).0
            };
            let neighbours =
                |a: &Vec<CellId>, b: &Vec<CellId>| a.iter().zip(b).filter(|(a, b)| a != b).count() == 1;
            changes += cells
                .iter()
                .filter(|a| cells.iter().any(|b| neighbours(a, b) && class(a) != class(b)))
                .count();
        }
        assert!(changes > 300, "{changes}");
    }

    #[test]
    fn a_cancelled_budget_ends_the_walks() {
        let mut rng = Rng::with_seed(3);
        let shape = Shape { depth: 2, trees: 5, ..Shape::random(&mut rng) };
        let model = ensemble(&mut rng, &shape);
        let grid = Grid::new(&[&model]).unwrap();
        let budget = SearchBudget::unlimited();
        budget.cancel.cancel();
        assert!(near_boundary(&model, &grid, None, &[], 30, &mut rng, &budget).is_empty());
    }
}
