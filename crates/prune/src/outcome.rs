//! What a run ends with.

use secateur_formats::{EditError, ModelFile};
use secateur_oracle::CompareError;
use thiserror::Error;

/// What is known of the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Smaller, and proved to decide the same.
    Proved,
    /// The budget ended; the best model that was proved by then.
    BudgetReached,
    /// Nothing can go: proved for what the moves allow.
    AlreadyMinimal,
}

/// Why a model cannot be pruned.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PruneError {
    /// The model cannot be compared with a copy of itself.
    #[error(transparent)]
    Compare(#[from] CompareError),
    /// The format cannot hold what pruning needs at the least.
    #[error(transparent)]
    Edit(#[from] EditError),
}

/// Sizes of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Trees.
    pub trees: usize,
    /// Leaves that some input can reach.
    pub leaves: usize,
}

/// A pruned model, with what is proved of it.
#[derive(Debug)]
pub struct Pruned {
    /// The model file; the original's own bytes where nothing changed.
    pub file: ModelFile,
    /// What is known.
    pub outcome: Outcome,
    /// Before and after.
    pub size: [Size; 2],
    /// No fewer trees can do, within the moves.
    pub lower_bound: usize,
    /// The band of the claim, as a score.
    pub band: f64,
    /// How often the oracle was asked.
    pub oracle_calls: u64,
    /// How many inputs were looked at by the solver.
    pub points: usize,
}
