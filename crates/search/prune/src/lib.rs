//! Makes models smaller, with a proof that no decision changes on any input of the domain.
//!
//! Passes, each more expensive than the one before: fold (keeps every score), relevant splits
//! (stumps in closed form), reweight (the paper's l1), eliminate (tree by tree), minimum (the
//! paper's l0). Every candidate is a model as its file would read back; it counts only when the
//! oracle proves that model.
//!
//! # Where to read
//! `run` has the passes in their order. `candidate` leads from a model to a smaller file (`fold`,
//! `reach`, `column`, `plan`); `points` are the inputs that a smaller model must decide right;
//! `search` is the loop of solver and oracle (`weight_program` is the solver's side, `questions`
//! the oracle's). `passes` has a file for each pass, `bounds` shows why no smaller number of trees
//! suffices.
//!
//! `certify` writes the proof down and has it checked. `search/allowance` limits the work on large
//! models if there is no time limit. `config` and `outcome` are what goes in and comes out.
//! `baseline` (the paper's comparison) and `points_only` (pruning that asks less than a proof) give
//! unproved models.

pub mod baseline;
mod bounds;
mod candidate;
mod certify;
mod config;
mod outcome;
mod passes;
mod points;
mod points_only;
mod run;
mod search;
mod watch;

pub use bounds::cover::{Cover, CoverProof, cheapest_cover, check_cover};
pub use bounds::cut::{ColumnCut, Cutter, Separating};
pub use bounds::evidence::{Bound, Crossing, Evidence, Term, write_bounds};
pub use bounds::indispensable::{Indispensable, indispensable};
pub use candidate::column::{Column, Intercept};
pub use candidate::plan::Editable;
pub use certify::{Certificate, CertifyError, certify, have_checked};
pub use config::{Choice, Config, Effort, Moves, Objective, Unit};
pub use outcome::{Fate, Outcome, PruneError, Pruned, Seconds, Size};
pub use passes::class_changes::class_changes;
pub use passes::minimum::{Minimum, Settle, Settled, minimum};
pub use passes::relevant::{Boundary, Pair, Relevance, Relevant, relevant_boundaries};
pub use passes::stumps::{Closed, StumpPlan, closed_form};
pub use points::boundary_walks::near_boundary;
pub use points::point::{Demand, Points, certain_winner, column_lead, intercept_of};
pub use points_only::{Scrutiny, Unchecked, prune_unchecked};
pub use search::weight_program::Weights;
pub use watch::{Pass, Status, Watch};

pub use secateur_model::Domain;
pub use secateur_oracle::Claim;

use secateur_formats::ModelFile;

/// Prunes a model: the result decides as the original does, or keeps its scores up to an allowed
/// distance.
///
/// `data` holds rows to start from, one after another, each with a value for every feature of the
/// model. It may be empty; rows that are outside the domain or that the library does not accept are
/// ignored. Whatever the rows are, the result holds for every input of the domain.
pub fn prune(file: &ModelFile, data: &[f64], config: &Config, watch: &Watch) -> Result<Pruned, PruneError> {
    prune_model(file, data, config, watch)
}

/// As [`prune`], for any kind of model that can be edited.
pub fn prune_model<M: Editable>(
    model: &M,
    data: &[f64],
    config: &Config,
    watch: &Watch,
) -> Result<Pruned<M>, PruneError> {
    run::run(model, data, config, watch)
}
