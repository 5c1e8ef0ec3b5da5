//! Reweight: one linear program for all weights (the paper's l1), then a few rounds with other
//! costs.
//!
//! The first program has the original's own leads as bounds, which always has an answer. Where the
//! space is small enough for cheap proofs, a second one has bounds of one, which leave out more
//! columns. Then the costs are divided by the weights found, so that columns of small weight become
//! expensive and drop out; this is repeated for a few rounds. Each round ends with a proved model,
//! or the pass ends.

use fastrand::Rng;

use crate::candidate::plan::Editable;
use crate::search::weight_program::{Rows, Weights};
use crate::search::{Judge, Search, Settled};
use crate::watch::Pass;

/// Bounds of one are tried in spaces of at most 10^FEW_CELLS cells.
const FEW_CELLS: f64 = 7.0;
/// For another start, columns outside the best support cost this many times as much.
const DEARER: f64 = 8.0;
/// The most columns of the best support that another start leaves out.
const MOST_LEFT_OUT: usize = 2;
/// The share of starts that are far from the best support. For these, each cost is multiplied by a
/// random factor from 1 to SPREAD.
const AFRESH: f64 = 0.3;
const SPREAD: f64 = 30.0;
/// Rounds with new costs.
const ROUNDS: usize = 4;

/// Finds weights of few columns; the best model is kept in `search`. True if some weights were proved.
pub(crate) fn reweight<M: Editable>(search: &mut Search<'_, M>) -> bool {
    search.begin(Pass::Reweight);
    let costs = search.costs();
    let all = vec![true; costs.len()];
    let mut last = None;
    // Bounds of one suit leads, which can be scaled freely; scores cannot.
    let few = search.log10_cells() <= FEW_CELLS && !search.keeps_scores();
    let scalings: &[Rows] = if few { &[Rows::Lead, Rows::One] } else { &[Rows::Lead] };
    for &rows in scalings {
        let mut program = search.program(&costs, &all, rows);
        if let Settled::Proved(weights) = search.settle_all(&mut program, Judge::Proof) {
            last = Some((rows, weights));
        }
        if search.spent() {
            return last.is_some();
        }
    }
    let Some((rows, mut weights)) = last else { return false };
    for _ in 0..ROUNDS {
        let before = weights.support();
        if before <= 1 {
            return true;
        }
        let mut program = search.program(&divided(&costs, &weights), &all, rows);
        match search.settle(&mut program, Judge::Proof) {
            Settled::Proved(next) => weights = next,
            _ => return true,
        }
        if weights.support() >= before || search.spent() {
            return true;
        }
    }
    true
}

/// Another start for elimination. Usually its weights are near the best support, without one or two
/// randomly chosen columns of it; all columns outside the support are expensive, so few others
/// join. Now and then the weights are far from the best support.
pub(crate) fn reweight_again<M: Editable>(
    search: &mut Search<'_, M>,
    indispensable: &[bool],
    rng: &mut Rng,
) -> Option<Weights> {
    search.begin(Pass::Reweight);
    let best = search.best_weights.as_ref()?;
    if rng.f64() < AFRESH {
        let costs: Vec<f64> = search.costs().iter().map(|cost| cost * SPREAD.powf(rng.f64())).collect();
        let all = vec![true; costs.len()];
        return match search.settle(&mut search.program(&costs, &all, Rows::Lead), Judge::Cells) {
            Settled::Proved(found) | Settled::Holds(found) => Some(found),
            _ => None,
        };
    }
    let mut support: Vec<usize> =
        (0..best.columns.len()).filter(|&column| best.columns[column] > 0.0).collect();
    let mut costs: Vec<f64> = search.costs().iter().map(|cost| cost * (0.25 + 1.5 * rng.f64())).collect();
    for (cost, &weight) in costs.iter_mut().zip(&best.columns) {
        if weight == 0.0 {
            *cost *= DEARER;
        }
    }
    let mut kept = vec![true; costs.len()];
    support.retain(|&column| !indispensable[column]);
    rng.shuffle(&mut support);
    support.truncate(rng.usize(1..=MOST_LEFT_OUT));
    support.iter().for_each(|&column| kept[column] = false);
    match search.settle(&mut search.program(&costs, &kept, Rows::Lead), Judge::Cells) {
        Settled::Proved(found) | Settled::Holds(found) => Some(found),
        _ => None,
    }
}

/// Costs divided by weights, so that columns of small weight become expensive.
pub(crate) fn divided(costs: &[f64], weights: &Weights) -> Vec<f64> {
    let mut positive: Vec<f64> = weights.columns.iter().copied().filter(|&weight| weight > 0.0).collect();
    positive.sort_by(f64::total_cmp);
    let middle = positive.get(positive.len() / 2).copied().unwrap_or(1.0);
    let least = 0.1 * middle;
    costs.iter().zip(&weights.columns).map(|(cost, weight)| cost * middle / (weight + least)).collect()
}
