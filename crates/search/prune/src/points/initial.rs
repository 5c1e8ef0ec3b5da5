//! The points that a run starts with: every cell of a small space; otherwise rows of data, inputs
//! near the decision boundary and random cells.

use secateur_model::CellId;

use crate::candidate::plan::Editable;
use crate::clock::Task;
use crate::points::all_cells::Sweep;
use crate::points::boundary_walks::near_boundary;
use crate::search::Search;

/// In spaces of up to this many cells, every cell becomes a point.
const ALL_CELLS: usize = 20_000;
/// The same limit where each column splits on one feature: then only few of the cells matter.
const ALL_CELLS_OF_STUMPS: usize = 500;
/// Random cells, so that the points are not all near data or the boundary.
const RANDOM_CELLS: usize = 100;
/// Inputs near the decision boundary: how many for each column, and their least and largest number.
const NEAR_PER_COLUMN: usize = 8;
const LEAST_NEAR: usize = 300;
const MOST_NEAR: usize = 3_000;
/// The most rows of data that are used.
const DATA_ROWS: usize = 2_000;
/// The most numbers that the starting points may take: points times columns times demands of a
/// point.
const MOST_NUMBERS: usize = 8_000_000;

/// Adds the starting points. `stumps` says that each column splits on at most one feature.
pub(crate) fn add_points<M: Editable>(
    search: &mut Search<'_, M>,
    data: &[f64],
    stumps: bool,
    rng: &mut fastrand::Rng,
) {
    search.clock.switch(Task::Points);
    let numbers = search.points.columns().len().max(1) * search.points.demands_per_point().max(1);
    let room = MOST_NUMBERS / numbers;
    let sizes: Vec<usize> = search.problem.space.axis_sizes().iter().map(|&size| size as usize).collect();
    let cells = sizes.iter().try_fold(1usize, |total, &size| total.checked_mul(size));
    let all = if stumps { ALL_CELLS_OF_STUMPS } else { ALL_CELLS };
    if let Some(cells) = cells.filter(|&cells| cells <= all.min(room)) {
        for code in 0..cells {
            let row = search.problem.space.grid().witness(&cells_of_code(&sizes, code));
            search.points.add(&row);
            if code % 256 == 0 && search.spent() {
                return;
            }
        }
        search.all_cells = true;
        return;
    }
    let scores = search.keeps_scores();
    if !stumps && !scores {
        search.sweep = Sweep::new(&search.points, search.problem.space.grid(), &sizes, &|| search.spent());
    }
    let width = search.problem.model.features().len();
    let mut rows: Vec<&[f64]> = if width == 0 { Vec::new() } else { data.chunks_exact(width).collect() };
    if rows.len() > DATA_ROWS.min(room) {
        rng.shuffle(&mut rows);
        rows.truncate(DATA_ROWS.min(room));
    }
    for (index, row) in rows.iter().enumerate() {
        if index % 64 == 0 && search.spent() {
            return;
        }
        search.points.add(row);
    }
    let budget = search.budget();
    let near = if stumps { 0 } else { NEAR_PER_COLUMN * search.points.columns().len() };
    let wanted = near.clamp(LEAST_NEAR, MOST_NEAR).min(room);
    let mut random = RANDOM_CELLS.min(room);
    if scores {
        // Scores have no decision boundary to be near to.
        random = wanted;
    } else {
        let grid = search.problem.space.grid().clone();
        let near =
            near_boundary(search.problem.model, &grid, search.points.band(), &rows, wanted, rng, &budget);
        for (index, row) in near.iter().enumerate() {
            if index % 64 == 0 && search.spent() {
                return;
            }
            search.points.add(row);
        }
    }
    for _ in 0..random {
        let cells: Vec<CellId> = sizes.iter().map(|&size| CellId::new(rng.usize(0..size))).collect();
        let row = search.problem.space.grid().witness(&cells);
        search.points.add(&row);
        if search.spent() {
            return;
        }
    }
}

fn cells_of_code(sizes: &[usize], mut code: usize) -> Vec<CellId> {
    let cell = |&size: &usize| {
        let cell = CellId::new(code % size);
        code /= size;
        cell
    };
    sizes.iter().map(cell).collect()
}
