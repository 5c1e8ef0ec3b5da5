//! Smaller models that decide the same on every input, proved.
//!
//! Passes, each dearer than the one before: fold (keeps every score), relevant splits (stumps in closed
//! form), reweight (the paper's l1), eliminate (tree by tree), minimum (the paper's l0). Every candidate is
//! a model file as it would be written; it counts only when the oracle proves that file.

mod balance;
pub mod baseline;
mod certify;
mod column;
mod config;
mod cover;
mod cut;
mod eliminate;
mod engine;
mod evidence;
mod flips;
mod fold;
mod indispensable;
mod master;
mod minimum;
mod near;
mod opposites;
mod outcome;
mod plan;
mod point;
mod profile;
mod reach;
mod relevant;
mod reweight;
mod run;
mod starts;
mod stumps;
mod sums;
mod sweep;
mod watch;

pub use certify::{Certificate, CertifyError, certify};
pub use column::{Column, Intercept};
pub use config::{Config, Effort, Moves, Objective, Unit};
pub use cover::{Cover, CoverProof, cheapest_cover, check_cover};
pub use cut::{Cut, Cutter, Separating};
pub use evidence::{Bound, Crossing, Evidence, Term, write_bounds};
pub use flips::class_changes;
pub use indispensable::{Indispensable, indispensable};
pub use master::Weights;
pub use minimum::{Minimum, Settle, Settled, minimum};
pub use near::near_boundary;
pub use outcome::{Fate, Outcome, PruneError, Pruned, Seconds, Size};
pub use plan::Editable;
pub use point::{Demand, Points, certain_winner, column_lead, intercept_of};
pub use relevant::{Boundary, Pair, Relevance, Relevant, relevant_boundaries};
pub use stumps::{Closed, StumpPlan, closed_form};
pub use watch::{Pass, Status, Watch};

pub use secateur_lp::LinearSolver;
pub use secateur_model::Scope;

use secateur_formats::ModelFile;

/// A smaller model that decides as this one does.
///
/// `data` holds start points, one row of the model's features after the other; it may be empty, and rows that
/// are outside the scope or not accepted do not count. The answer holds for every input in scope whatever the
/// points are.
pub fn prune(file: &ModelFile, data: &[f64], config: &Config, watch: &Watch) -> Result<Pruned, PruneError> {
    prune_model(file, data, config, watch)
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
