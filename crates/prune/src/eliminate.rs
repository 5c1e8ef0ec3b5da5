//! Eliminate: column by column, until none can go.
//!
//! Each column of the best support is held at zero in turn; solver and oracle then settle whether the others
//! can do without it. Points that one attempt finds serve all later ones. What is infeasible stays so when
//! columns go and points come, so one pass over the columns is enough: afterwards every column that is left
//! was refused, unless an attempt stayed open.

use crate::engine::{Engine, Settled, Why};
use crate::master::{Master, Rows, Weights};
use crate::plan::Editable;
use crate::reweight::divided;
use crate::watch::Pass;

/// Drops what can go from the best support; true where every column left was refused.
pub(crate) fn eliminate<M: Editable>(engine: &mut Engine<'_, M>) -> bool {
    engine.begin(Pass::Eliminate);
    let costs = engine.costs();
    let mut weights = match &engine.best_weights {
        Some(weights) => weights.clone(),
        None => return false,
    };
    let mut kept: Vec<bool> = weights.columns.iter().map(|&weight| weight > 0.0).collect();
    let mut master = engine.master(&divided(&costs, &weights), &kept, Rows::Lead);
    let mut refused = vec![false; costs.len()];
    let mut open = false;
    loop {
        if engine.spent() {
            return false;
        }
        let influences = influences(engine, &weights);
        let next = (0..costs.len())
            .filter(|&column| kept[column] && !refused[column])
            .min_by(|&a, &b| influences[a].total_cmp(&influences[b]).then(a.cmp(&b)));
        let Some(column) = next else { return !open };
        let saved = master.save();
        master.drop_column(column);
        match engine.settle(&mut master) {
            Settled::Proved(found) => {
                weights = found;
                drop_unused(&weights, &mut kept, &mut master);
                continue;
            }
            Settled::Infeasible => {}
            Settled::Open(Why::Hard) => open = true,
            Settled::Open(Why::Budget) => return false,
        }
        master.restore(saved);
        refused[column] = true;
    }
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
