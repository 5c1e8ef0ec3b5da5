//! Local search: from a start, one axis after another is set to its best cell.
//!
//! The height of a cell is the smallest relative surplus over all rows; at zero or above, every row
//! reaches its bound. The caller checks exactly what is found.

use fastrand::Rng;
use secateur_model::CellId;

use crate::lens::Lens;
use crate::stop::SearchBudget;

/// The number of random starts, in addition to the starts that were given.
const RANDOM_STARTS: usize = 24;
/// The most rounds over all axes in one climb.
const ROUNDS: usize = 12;

/// From a cell, sets one axis after another to the cell with the largest value of one row, until no
/// axis raises it or the budget's time is over. Returns the cell where it ends.
pub(crate) fn ascend(
    row: &Lens,
    sizes: &[u32],
    mut cells: Vec<CellId>,
    rng: &mut Rng,
    budget: &SearchBudget,
) -> Vec<CellId> {
    let mut order: Vec<usize> = (0..sizes.len()).collect();
    let mut rises = vec![0; sizes.iter().copied().max().unwrap_or(1) as usize];
    for _ in 0..ROUNDS {
        rng.shuffle(&mut order);
        let mut rose = false;
        for &axis in &order {
            if budget.over().is_some() {
                return cells;
            }
            let rises = &mut rises[..sizes[axis] as usize];
            row.rises(&cells, axis, rises);
            let best = (0..rises.len()).max_by_key(|&cell| (rises[cell], std::cmp::Reverse(cell)));
            if let Some(best) = best.filter(|&best| rises[best] > 0) {
                cells[axis] = CellId::new(best);
                rose = true;
            }
        }
        if !rose {
            break;
        }
    }
    cells
}

/// Searches for cells where every row reaches its bound, and calls `visit` with each one found. The
/// search ends when `visit` returns true, or when the budget's time is over. Finding none proves
/// nothing.
pub(crate) fn climb(
    rows: &[Lens],
    sizes: &[u32],
    starts: &[Vec<CellId>],
    rng: &mut Rng,
    budget: &SearchBudget,
    visit: &mut dyn FnMut(&[CellId]) -> bool,
) {
    if sizes.is_empty() {
        visit(&[]);
        return;
    }
    let random: Vec<Vec<CellId>> =
        (0..RANDOM_STARTS).map(|_| sizes.iter().map(|&size| CellId(rng.u32(0..size))).collect()).collect();
    let longest = sizes.iter().copied().max().unwrap_or(1) as usize;
    let mut heights = vec![0.0; longest];
    let mut rises = vec![0; longest];
    for start in starts.iter().chain(&random) {
        let mut cells = start.clone();
        let mut height = f64::NEG_INFINITY;
        let mut sums: Vec<i64> = rows.iter().map(|lens| lens.at(&cells)).collect();
        let mut order: Vec<usize> = (0..sizes.len()).collect();
        for _ in 0..ROUNDS {
            let before = height;
            rng.shuffle(&mut order);
            for &axis in &order {
                if budget.over().is_some() {
                    return;
                }
                let size = sizes[axis] as usize;
                heights[..size].fill(f64::INFINITY);
                for (lens, sum) in rows.iter().zip(&sums) {
                    lens.rises(&cells, axis, &mut rises[..size]);
                    for (height, rise) in heights[..size].iter_mut().zip(&rises) {
                        let surplus = (sum + rise - lens.bound) as f64;
                        *height = height.min(surplus / lens.range.max(1) as f64);
                    }
                }
                let best = (0..size).max_by(|&a, &b| heights[a].total_cmp(&heights[b]));
                let best = best.expect("an axis has cells");
                if heights[best] > height {
                    height = heights[best];
                    for (lens, sum) in rows.iter().zip(&mut sums) {
                        lens.rises(&cells, axis, &mut rises[..size]);
                        *sum += rises[best];
                    }
                    cells[axis] = CellId::new(best);
                }
                if height >= 0.0 && visit(&cells) {
                    return;
                }
            }
            if height <= before {
                break;
            }
        }
    }
}
