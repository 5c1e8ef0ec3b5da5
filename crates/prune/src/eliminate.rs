//! Eliminate: column by column, until none can go.
//!
//! Each column of the best support is held at zero in turn; solver and oracle then settle whether the others
//! can do without it. Points that one attempt finds serve all later ones. What is infeasible stays so when
//! columns go and points come, so one pass over the columns is enough: afterwards every column that is left
//! was refused, unless an attempt stayed open.

use fastrand::Rng;

use crate::engine::{Engine, Settled, Why};
use crate::master::{Master, Rows, Weights};
use crate::plan::Editable;
use crate::reweight::divided;
use crate::watch::Pass;

/// How elimination ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Eliminated {
    /// Columns that are left.
    pub(crate) support: usize,
    /// Each of them was refused.
    pub(crate) irreducible: bool,
}

/// Drops what can go from the support of proved weights. Columns that are known to be indispensable are not
/// tried. With chance, the order is a little out of order.
pub(crate) fn eliminate<M: Editable>(
    engine: &mut Engine<'_, M>,
    mut weights: Weights,
    indispensable: &[bool],
    mut chance: Option<&mut Rng>,
) -> Eliminated {
    engine.begin(Pass::Eliminate);
    let costs = engine.costs();
    let mut kept: Vec<bool> = weights.columns.iter().map(|&weight| weight > 0.0).collect();
    let mut master = engine.master(&divided(&costs, &weights), &kept, Rows::Lead);
    let mut refused = indispensable.to_vec();
    let mut irreducible = true;
    let luck: Vec<f64> = match &mut chance {
        Some(rng) => costs.iter().map(|_| 0.2 + rng.f64()).collect(),
        None => vec![1.0; costs.len()],
    };
    loop {
        let influences = influences(engine, &weights);
        let next = (0..costs.len())
            .filter(|&column| kept[column] && !refused[column])
            .min_by(|&a, &b| (influences[a] * luck[a]).total_cmp(&(influences[b] * luck[b])).then(a.cmp(&b)));
        let Some(column) = next else { break };
        let saved = master.save();
        master.drop_column(column);
        match engine.settle(&mut master) {
            Settled::Proved(found) => {
                weights = found;
                drop_unused(&weights, &mut kept, &mut master);
                continue;
            }
            Settled::Infeasible => {}
            Settled::Open(Why::Hard) => irreducible = false,
            Settled::Open(Why::Budget) => {
                irreducible = false;
                break;
            }
        }
        master.restore(saved);
        refused[column] = true;
    }
    Eliminated { support: kept.iter().filter(|kept| **kept).count(), irreducible }
}

fn drop_unused(weights: &Weights, kept: &mut [bool], master: &mut Master) {
    for (column, weight) in weights.columns.iter().enumerate() {
        if *weight == 0.0 {
            kept[column] = false;
            master.drop_column(column);
        }
    }
}

/// How much each column moves the leads, on average over the points.
fn influences<M>(engine: &Engine<'_, M>, weights: &Weights) -> Vec<f64> {
    let mut totals = vec![0.0; weights.columns.len()];
    for demand in engine.points.demands() {
        for (total, value) in totals.iter_mut().zip(&demand.columns) {
            *total += value.abs();
        }
    }
    totals.iter().zip(&weights.columns).map(|(total, weight)| total * weight).collect()
}
