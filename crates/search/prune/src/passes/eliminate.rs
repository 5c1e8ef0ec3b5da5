//! Eliminate: drops column after column, until none can be dropped.
//!
//! Each column of the best support is held at zero in turn; solver and oracle then settle whether
//! the others suffice without it. Points found by one attempt serve all later ones. What is
//! infeasible stays infeasible when columns are dropped and points are added, so one pass over the
//! columns is enough: afterwards every column that is left was refused, unless an attempt stayed
//! open.
//!
//! Where all cells can be checked, which takes a small part of a proof's time, columns are dropped
//! on cell checks alone. A proof follows after some of them and at the end: only proved models are
//! ever kept.

use fastrand::Rng;

use crate::candidate::plan::Editable;
use crate::passes::reweight::divided;
use crate::search::weight_program::{Rows, WeightProgram, Weights};
use crate::search::{Judge, Search, Settled, Why};
use crate::watch::Pass;

/// Columns dropped on cell checks alone, before a proof is required.
const UNPROVED: usize = 4;

/// How elimination ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Eliminated {
    /// Every column that is left was refused.
    pub(crate) irreducible: bool,
    /// A model of the remaining columns is proved: the best, or the one it started from.
    pub(crate) proved: bool,
}

/// Drops columns from the support of these weights. Without `chance` the weights are proved; with
/// it they are unproved and the order of the attempts is slightly shuffled. Columns known to be
/// indispensable are not tried. A result that is not cheaper than the best is not proved.
pub(crate) fn eliminate<M: Editable>(
    search: &mut Search<'_, M>,
    weights: &Weights,
    indispensable: &[bool],
    chance: Option<&mut Rng>,
) -> Eliminated {
    search.begin(Pass::Eliminate);
    let count = weights.columns.len();
    let first = chance.is_none();
    let luck: Vec<f64> = match chance {
        Some(rng) => (0..count).map(|_| 0.2 + rng.f64()).collect(),
        None => vec![1.0; count],
    };
    let mut attempt = |judge| attempt(search, weights.clone(), first, indispensable, &luck, judge);
    // If cells and proof disagree in the last bits, elimination starts again with a proof of every
    // step.
    let ended = attempt(Judge::Cells).or_else(|| attempt(Judge::Proof));
    ended.unwrap_or(Eliminated { irreducible: false, proved: false })
}

/// One elimination; `None` if weights that hold in all cells could not be proved.
fn attempt<M: Editable>(
    search: &mut Search<'_, M>,
    mut weights: Weights,
    proved: bool,
    indispensable: &[bool],
    luck: &[f64],
    judge: Judge,
) -> Option<Eliminated> {
    let costs = search.costs();
    let mut kept: Vec<bool> = weights.columns.iter().map(|&weight| weight > 0.0).collect();
    let mut program = search.program(&divided(&costs, &weights), &kept, Rows::Lead);
    let mut refused = indispensable.to_vec();
    let mut irreducible = true;
    let mut unproved = usize::from(!proved);
    loop {
        let influences = influences(search, &weights);
        let next = (0..costs.len())
            .filter(|&column| kept[column] && !refused[column])
            .min_by(|&a, &b| (influences[a] * luck[a]).total_cmp(&(influences[b] * luck[b])).then(a.cmp(&b)));
        let due = if next.is_some() { UNPROVED } else { 1 };
        if unproved >= due && is_cheaper(search, &costs, &kept) {
            match search.settle(&mut program, Judge::Proof) {
                Settled::Proved(found) => weights = found,
                Settled::Open(Why::SearchBudget) => {
                    irreducible = false;
                    break;
                }
                _ => return None,
            }
            drop_unused(&weights, &mut kept, &mut program);
            unproved = 0;
            continue;
        }
        let Some(column) = next else { break };
        let saved = program.save();
        program.drop_column(column);
        match search.settle(&mut program, judge) {
            Settled::Proved(found) => {
                weights = found;
                drop_unused(&weights, &mut kept, &mut program);
                continue;
            }
            Settled::Holds(found) => {
                weights = found;
                drop_unused(&weights, &mut kept, &mut program);
                unproved += 1;
                continue;
            }
            Settled::Infeasible => {}
            Settled::Open(Why::Hard) => irreducible = false,
            Settled::Open(Why::SearchBudget) => {
                irreducible = false;
                break;
            }
        }
        program.restore(saved);
        refused[column] = true;
    }
    Some(Eliminated { irreducible, proved: unproved == 0 })
}

/// Do these columns cost less than the columns of the best model?
fn is_cheaper<M: Editable>(search: &Search<'_, M>, costs: &[f64], kept: &[bool]) -> bool {
    let cost: f64 = costs.iter().zip(kept).filter(|(_, kept)| **kept).map(|(cost, _)| cost).sum();
    cost < search.best_cost()
}

pub(crate) fn drop_unused(weights: &Weights, kept: &mut [bool], program: &mut WeightProgram) {
    for (column, weight) in weights.columns.iter().enumerate() {
        if *weight == 0.0 {
            kept[column] = false;
            program.drop_column(column);
        }
    }
}

/// How much each column moves the leads: its weight times the sum of its entries' magnitudes over
/// all demands.
pub(crate) fn influences<M>(search: &Search<'_, M>, weights: &Weights) -> Vec<f64> {
    let mut totals = vec![0.0; weights.columns.len()];
    for demand in search.points.demands() {
        for (total, value) in totals.iter_mut().zip(&demand.columns) {
            *total += value.abs();
        }
    }
    totals.iter().zip(&weights.columns).map(|(total, weight)| total * weight).collect()
}
