//! Brute force: every cell of the grid, and what a claim about a row means.

use secateur_model::{CellId, ClassId, Decision, Ensemble, Exact, Grid};

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

/// Does this class lead by more than the band in the model's exact scores? From the definition of a lead.
pub fn leads_by_more_than(model: &Ensemble, row: &[f64], winner: ClassId, band: f64) -> bool {
    let read: Vec<f64> = row.iter().map(|&value| model.intake().read(value).unwrap()).collect();
    let sums = model.exact_sums(model.leaves(&read));
    let exact = |value: f64| Exact::from_f64(value).unwrap();
    let divisor = exact(model.accumulation().divisor());
    let band = &exact(band) * &divisor;
    match *model.decision() {
        Decision::Threshold { group, threshold, .. } => {
            let distance = &sums[group.index()] - &(&exact(threshold) * &divisor);
            if winner == ClassId(1) { distance > band } else { -distance > band }
        }
        _ => (0..sums.len())
            .all(|other| other == winner.index() || &sums[winner.index()] - &sums[other] > band),
    }
}
