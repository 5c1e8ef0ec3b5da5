//! The passes where scores are kept, up to a distance, and not decisions.
//!
//! Candidates, points, solver and oracle are those of decisions; what is asked of a candidate is another claim. The demands of a
//! point are two-sided and have a scale, so what rests on leads (cuts, covers, thresholds that matter, the closed form
//! for stumps) does not carry over: no lower bound is claimed.
//!
//! In a large space proofs are dear and little goes. First every column is left out in turn, and the solver asked whether
//! the others could meet the demands of the points without it: if none can be left out, that is the answer, and no proof
//! is needed for it.

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

/// A space with at least 10^LARGE cells is large: columns are first tried without proofs.
const LARGE: f64 = 4.5;
/// In a space with at least 10^HUGE cells weights for all columns at once are hardly ever proved, and are not looked for.
const HUGE: f64 = 7.0;

/// Refuses distances that nothing can be kept within.
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
    // Two runs of the library may differ by as much.
    if model.scores_vary() && within < 2.0 * rounding {
        return Err(PruneError::WithinRounding { within, least: (2.0 * rounding).next_up() });
    }
    Ok(())
}

/// Finds fewer columns; the best model is kept in `search`. True where each column that is left was refused.
pub(crate) fn passes<M: Editable>(search: &mut Search<'_, M>, data: &[f64], rng: &mut fastrand::Rng) -> bool {
    let Some(within) = search.problem.config.claim.within() else { return false };
    // Rounding alone may use the distance up: trees are folded, and nothing else can be proved.
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

/// The columns that the others cannot do without, by the solver's word and the demands of the points.
fn needed_columns<M: Editable>(search: &mut Search<'_, M>) -> Vec<bool> {
    search.begin(Pass::Indispensable);
    let started = Instant::now();
    // Half of the time, so that what can go has the other half.
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
