//! Smaller models that decide the same on every input, proved.
//!
//! Passes, each dearer than the one before: fold (keeps every score), relevant splits (stumps in closed
//! form), reweight (the paper's l1), eliminate (tree by tree), minimum (the paper's l0). Every candidate is
//! a model file as it would be written; it counts only when the oracle proves that file.

pub mod baseline;
mod bounds;
mod candidate;
mod certify;
mod config;
mod journal;
mod outcome;
mod passes;
mod points;
mod points_only;
mod rows;
mod run;
mod search;
mod watch;

pub use bounds::cover::{Cover, CoverProof, cheapest_cover, check_cover};
pub use bounds::cut::{Cut, Cutter, Separating};
pub use bounds::evidence::{Bound, Crossing, Evidence, Term, write_bounds};
pub use bounds::indispensable::{Indispensable, indispensable};
pub use candidate::column::{Column, Intercept};
pub use candidate::plan::Editable;
pub use certify::{
    Certificate, CertifyError, certify, certify_scores, certify_scores_with, certify_with, have_checked,
};
pub use config::{Choice, Claim, Config, Effort, Moves, Objective, Unit};
pub use journal::Journal;
pub use outcome::{Fate, Outcome, PruneError, Pruned, Seconds, Size};
pub use passes::class_changes::class_changes;
pub use passes::minimum::{Minimum, Settle, Settled, minimum};
pub use passes::relevant::{Boundary, Pair, Relevance, Relevant, relevant_boundaries};
pub use passes::stumps::{Closed, StumpPlan, closed_form};
pub use points::boundary_walks::near_boundary;
pub use points::point::{Demand, Points, certain_winner, column_lead, intercept_of};
pub use points_only::{Scrutiny, Unchecked, prune_unchecked};
pub use rows::{RowsSeen, rows_seen};
pub use search::weight_program::Weights;
pub use watch::{Pass, Status, Watch};

pub use secateur_lp::LinearSolver;
pub use secateur_model::Domain;

use secateur_formats::ModelFile;

/// A smaller model that decides as this one does, or has its scores but for a distance that is allowed.
///
/// `data` holds start points, one row of the model's features after the other; it may be empty, and rows that
/// are outside the domain or not accepted do not count. The answer holds for every input of the domain whatever the
/// points are.
pub fn prune(file: &ModelFile, data: &[f64], config: &Config, watch: &Watch) -> Result<Pruned, PruneError> {
    prune_model(file, data, config, watch)
}

/// The answer of a run that ends before it has begun: the model as it is, which decides as it does and needs no proof.
pub fn unpruned(file: &ModelFile, config: &Config) -> Result<Pruned, PruneError> {
    let model = file.ensemble().within(&config.domain)?;
    run::unchanged(file, model.as_ref(), config)
}

/// As [`prune`], for whatever can be edited.
pub fn prune_model<M: Editable>(
    model: &M,
    data: &[f64],
    config: &Config,
    watch: &Watch,
) -> Result<Pruned<M>, PruneError> {
    run::run(model, data, config, watch)
}
