//! Brute force: every cell of the grid.

use secateur_model::{CellId, Grid};

/// Every combination of cells, one for each axis of the grid.
pub fn all_cells(grid: &Grid) -> impl Iterator<Item = Vec<CellId>> + '_ {
    let sizes: Vec<usize> = grid.axes().iter().map(|axis| axis.len()).collect();
    let total: usize = sizes.iter().product();
    (0..total).map(move |mut code| {
        sizes
            .iter()
            .map(|&size| {
                let cell = CellId::new(code % size);
                code /= size;
                cell
            })
            .collect()
    })
}

/// One row from every cell.
pub fn every_row(grid: &Grid) -> impl Iterator<Item = Vec<f64>> + '_ {
    all_cells(grid).map(|cells| grid.witness(&cells))
}
