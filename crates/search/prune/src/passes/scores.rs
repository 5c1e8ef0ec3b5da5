//! The passes for claims about scores, which are kept up to a distance.
//!
//! Candidates, points, solver and oracle are the same as for decisions; only the claim differs. A
//! point's demands are two-sided and have a scale, so what rests on leads (cuts, covers, relevant
//! boundaries, the closed form for stumps) does not carry over: no lower bound is claimed.
//!
//! In a large space proofs are expensive and few columns can be dropped. So first each column is
//! left out in turn, and the solver is asked whether the others could meet the demands of the
//! points. If no column can be left out, the pass ends, and no proof is needed.

use std::time::Instant;

use secateur_lp::Limits;
use secateur_model::Ensemble;
use secateur_oracle::CompareError;

use crate::candidate::plan::Editable;
use crate::config::Effort;
use crate::outcome::PruneError;
use crate::passes::eliminate::eliminate;
use crate::passes::reweight::reweight;
use crate::points::initial::add_points;
use crate::search::weight_program::{Rows, Solved};
use crate::search::{Search, free_distance};
use crate::watch::Pass;

/// A space of more than 10^LARGE cells is large: columns are first tried without proofs.
const LARGE: f64 = 4.5;
/// In a space of more than 10^HUGE cells, weights for all columns at once are hardly ever proved,
/// so they are not searched for.
const HUGE: f64 = 7.0;

/// Refuses distances within which scores cannot be kept.
pub(crate) fn refuse(model: &Ensemble, within: f64, effort: Effort) -> Result<(), PruneError> {
    if !(within >= 0.0 && within.is_finite()) {
        return Err(PruneError::Within { within });
    }
    if effort == Effort::Minimum {
        return Err(PruneError::WithinMinimum);
    }
    let Some(rounding) = model.rounding().map(|rounding| rounding.largest()) else {
        return Err(CompareError::ScoreOverflow { model: "first" }.into());
    };
    // Two runs of the library on one row may already differ by this much.
    if model.scores_vary() && within < 2.0 * rounding {
        return Err(PruneError::WithinRounding { within, least: (2.0 * rounding).next_up() });
    }
    Ok(())
}

/// Finds fewer columns; the best model is kept in `search`. True if every column that is left was
/// refused.
pub(crate) fn passes<M: Editable>(search: &mut Search<'_, M>, data: &[f64], rng: &mut fastrand::Rng) -> bool {
    let Some(within) = search.problem.config.claim.within() else { return false };
    // Rounding alone may use up the distance: then only folding is possible, and nothing else can
    // be proved.
    if free_distance(search.problem.model, within) <= 0.0 {
        return false;
    }
    add_points(search, data, false, rng);
    let (large, huge) = (search.log10_cells() > LARGE, search.log10_cells() > HUGE);
    let thorough = search.problem.config.effort != Effort::Fast;
    let count = search.points.columns().len();
    let mut needed = vec![false; count];
    if thorough && large {
        needed = needed_columns(search);
        if needed.iter().all(|&needed| needed) {
            return true;
        }
    }
    if !(thorough && huge) {
        reweight(search);
    }
    if !thorough {
        return false;
    }
    let Some(weights) = search.best_weights.clone() else { return false };
    eliminate(search, &weights, &needed, None).irreducible
}

/// The columns that the others cannot replace, by the demands of the points. Found by the solver in
/// floating point; not proved.
fn needed_columns<M: Editable>(search: &mut Search<'_, M>) -> Vec<bool> {
    search.begin(Pass::Indispensable);
    let started = Instant::now();
    // Half of the time, so that the other half is left for elimination.
    let deadline =
        search.problem.config.deadline.map(|end| started + end.saturating_duration_since(started) / 2);
    let count = search.points.columns().len();
    let mut needed = vec![false; count];
    let mut program = search.program(&search.costs(), &vec![true; count], Rows::Lead);
    for (column, needed) in needed.iter_mut().enumerate() {
        if search.spent() || deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            break;
        }
        let saved = program.save();
        program.drop_column(column);
        let config = search.problem.config;
        let stop = || config.cancel.is_cancelled();
        let limits = Limits { deadline, stop: Some(&stop) };
        *needed = matches!(program.solve(search.points.demands(), &limits), Solved::Infeasible);
        program.restore(saved);
    }
    search.seconds.lp += started.elapsed().as_secs_f64();
    needed
}
