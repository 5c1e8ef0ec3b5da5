//! The passes for claims about scores, which are kept up to a distance.
//!
//! Candidates, points, solver and oracle are the same as for decisions; only the claim differs. A
//! point's demands are two-sided and have a scale, so what rests on leads (cuts, covers, relevant
//! boundaries, the closed form for stumps) does not carry over: no lower bound is claimed.
//!
//! In a large space proofs are expensive and few columns can be dropped. So first each column is
//! left out in turn, and the solver is asked whether the others could meet the demands of the
//! points. If no column can be left out, the pass ends, and no proof is needed.

use secateur_lp::Limits;
use secateur_model::Ensemble;
use secateur_oracle::{Claim, CompareError};

use crate::candidate::plan::Editable;
use crate::clock::Task;
use crate::config::{Config, Effort};
use crate::outcome::PruneError;
use crate::passes::eliminate::eliminate;
use crate::passes::reweight::reweight;
use crate::points::initial::add_points;
use crate::search::weight_program::{Rows, Solved};
use crate::search::{Search, free_distance, is_spent};
use crate::watch::Pass;

/// If scores are kept but for rounding, they may move by this many times the bound on the library's
/// rounding.
const ROUNDINGS: f64 = 4.0;
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

/// The claim that keeps every score but for changes as small as the library's own rounding.
///
/// The factor allows for the rounding of both models and of the written numbers. If sums may
/// overflow there is no bound, and a run with this claim fails whatever the distance.
pub fn keep_scores(model: &Ensemble) -> Claim {
    let rounding = model.rounding().map_or(0.0, |rounding| rounding.largest());
    Claim::Scores { within: ROUNDINGS * rounding }
}

/// Takes the model that keeps the scores, if it is smaller than the best and keeps the decisions
/// too. In a large space that may be the easier way to it: the points of decisions can lead the
/// solver to weights whose proof is too hard, and nearly equal scores are easily proved.
pub(crate) fn as_kept<M: Editable>(search: &mut Search<'_, M>) {
    let problem = &search.problem;
    let config = Config { claim: keep_scores(problem.model), ..problem.config.clone() };
    let columns = search.points.columns().to_vec();
    let (file, model, folded, watch) = (problem.file, problem.model, problem.folded, problem.watch);
    let kept = Search::new(file, model, folded, columns, search.intercept, &config, search.time, watch);
    let Ok(mut kept) = kept else { return };
    search.lend_to(&mut kept);
    if kept.judge_folded().is_ok() {
        passes(&mut kept, &[], &mut fastrand::Rng::with_seed(config.seed));
    }
    search.adopt_cost(&kept);
    if let Some((_, plan)) = kept.best.made
        && kept.best.size.trees < search.best.size.trees
    {
        search.prove(&plan);
    }
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
    search.clock.switch(Task::Lp);
    // Half of the time, so that the other half is left for elimination.
    let deadline = search.budget().half().deadline;
    let count = search.points.columns().len();
    let mut needed = vec![false; count];
    let mut program = search.program(&search.costs(), &vec![true; count], Rows::Lead);
    for (column, needed) in needed.iter_mut().enumerate() {
        if is_spent(search.problem.config, deadline) {
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
    needed
}
