//! Reweight: one linear program for all weights (the paper's l1), then a few rounds with other costs.
//!
//! First with bounds of the original's own leads, which always has an answer; then, where the space is small
//! enough for proofs to be cheap, with bounds of one, which leave more columns out. Then costs are divided by
//! the weights found, so that what is small becomes dear and leaves; a few rounds of that. Each round ends
//! with a proved model or not at all.

use fastrand::Rng;

use crate::candidate::plan::Editable;
use crate::search::weight_program::{Rows, Weights};
use crate::search::{Judge, Search, Settled};
use crate::watch::Pass;

/// Up to this decimal logarithm of the number of cells bounds of one are tried.
const FEW_CELLS: f64 = 7.0;
/// How much dearer than the best columns all others are for another start.
const DEARER: f64 = 8.0;
/// Columns of the best support that another start does without, at most.
const MOST_LEFT_OUT: usize = 2;
/// How often a start is far from the best, and how far its costs are apart.
const AFRESH: f64 = 0.3;
const SPREAD: f64 = 30.0;
/// Rounds with new costs.
const ROUNDS: usize = 4;

/// Finds weights with few columns; the best model is kept in `search`.
pub(crate) fn reweight<M: Editable>(search: &mut Search<'_, M>) {
    search.begin(Pass::Reweight);
    let costs = search.costs();
    let all = vec![true; costs.len()];
    let mut last = None;
    // Bounds of one are for leads, which have no scale; scores have one.
    let few = search.log10_cells() <= FEW_CELLS && !search.keeps_scores();
    let scalings: &[Rows] = if few { &[Rows::Lead, Rows::One] } else { &[Rows::Lead] };
    for &rows in scalings {
        let mut program = search.program(&costs, &all, rows);
        if let Settled::Proved(weights) = search.settle_all(&mut program, Judge::Proof) {
            last = Some((rows, weights));
        }
        if search.spent() {
            return;
        }
    }
    let Some((rows, mut weights)) = last else { return };
    for _ in 0..ROUNDS {
        let before = weights.support();
        if before <= 1 {
            return;
        }
        let mut program = search.program(&divided(&costs, &weights), &all, rows);
        match search.settle(&mut program, Judge::Proof) {
            Settled::Proved(next) => weights = next,
            _ => return,
        }
        if weights.support() >= before || search.spent() {
            return;
        }
    }
}

/// Another start for elimination: weights near the best support, without one or two of its columns that chance
/// picks (what can stand in for these is dear, so little else joins), or now and then weights far from it.
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

/// Costs divided by weights: what is small is dear.
pub(crate) fn divided(costs: &[f64], weights: &Weights) -> Vec<f64> {
    let mut positive: Vec<f64> = weights.columns.iter().copied().filter(|&weight| weight > 0.0).collect();
    positive.sort_by(f64::total_cmp);
    let middle = positive.get(positive.len() / 2).copied().unwrap_or(1.0);
    let least = 0.1 * middle;
    costs.iter().zip(&weights.columns).map(|(cost, weight)| cost * middle / (weight + least)).collect()
}
