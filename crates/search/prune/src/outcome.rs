//! The result of a run.

use secateur_formats::{EditError, ModelFile};
use secateur_model::{Domain, DomainError, TreeId};
use secateur_oracle::CompareError;
use thiserror::Error;

use crate::bounds::evidence::Evidence;
use crate::passes::relevant::Relevant;

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The model is proved to keep what the claim says, and the run was not cut off by its budget.
    Proved,
    /// The time ran out or the run was cancelled; the model is the best that was proved by then.
    BudgetReached,
    /// The original is minimal: no model that the moves allow has fewer trees, as the bound proves.
    AlreadyMinimal,
}

/// Why a model cannot be pruned.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PruneError {
    /// The model cannot be compared with a copy of itself.
    #[error(transparent)]
    Compare(#[from] CompareError),
    /// The domain does not fit the model.
    #[error("the domain does not fit the model: {0}")]
    Domain(#[from] DomainError),
    /// Decisions cannot be kept: a regressor or ranker, or a model that gives a row several labels.
    #[error(
        "this model is a regressor or ranker, or gives a row several labels: it has no classes to choose from, so there are no decisions to \
         keep; prune --within EPS (prune(model, within=EPS)) keeps its scores up to EPS"
    )]
    NoClasses,
    /// The distance for scores is negative or not finite.
    #[error("{within} is no distance for scores; give a finite number from zero up")]
    Within {
        /// The distance that was given.
        within: f64,
    },
    /// No smallest size is proved for models that keep scores.
    #[error(
        "where scores are kept, no smallest size is proved: --effort minimum is for decisions; thorough tries to do without \
         each tree"
    )]
    WithinMinimum,
    /// The last bits of the library's own scores are not fixed, and may differ by more than the
    /// distance.
    #[error(
        "the last bits of this model's scores are not fixed by its file (the order of addition, the processor), and they alone \
         may make scores {least:e} apart; give at least that, not {within:e}"
    )]
    WithinRounding {
        /// The distance that was given.
        within: f64,
        /// The smallest distance that can be kept.
        least: f64,
    },
    /// The format cannot hold an edit that pruning needs.
    #[error(transparent)]
    Edit(#[from] EditError),
    /// The number of members to keep is zero or larger than the model has.
    #[error("{size} of {members} members cannot be kept; give a size from 1 to {members}")]
    Size {
        /// The number asked for.
        size: usize,
        /// The number of members.
        members: usize,
    },
    /// The number of values does not fit the number of classes.
    #[error("{values} values are not {classes} rows of {width} features")]
    Rows {
        /// How many values the rows have.
        values: usize,
        /// How many features a row has.
        width: usize,
        /// How many classes are given.
        classes: usize,
    },
    /// A row that the model's library does not accept.
    #[error("row {row}: the library does not accept this row as an input of the model")]
    RefusedRow {
        /// The position of the row, from zero.
        row: usize,
    },
}

/// The size of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// The number of trees. Trees of a single leaf of zero, which some formats need to fill a
    /// round, do not count.
    pub trees: usize,
    /// The number of leaves of these trees.
    pub leaves: usize,
}

/// What became of one tree of the original.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fate {
    /// It is as it was.
    Kept,
    /// Every leaf is multiplied by this number.
    Scaled(f64),
    /// It is written anew, multiplied by this number: simplified, or with other trees or a constant
    /// in its leaves.
    Rewritten(f64),
    /// It was added into the leaves of another tree.
    Merged {
        /// The tree that contains it now.
        into: TreeId,
        /// The weight of that tree.
        weight: f64,
    },
    /// A constant, now in the intercept or in the leaves of another tree.
    Constant,
    /// Gone.
    Dropped,
}

/// A pruned model, with what is known and proved about it.
#[derive(Clone, Debug)]
pub struct Pruned<M = ModelFile> {
    /// The model file; the original's own bytes if nothing changed.
    pub file: M,
    /// How the run ended.
    pub outcome: Outcome,
    /// The sizes of the original and of this model.
    pub size: [Size; 2],
    /// No model that the moves allow has fewer trees than this; proved.
    pub lower_bound: usize,
    /// No single column can be dropped: without any one of them, no weights of the others keep what
    /// the claim says. Found by the solver in floating point; proved only where the size reaches
    /// the lower bound.
    pub irreducible: bool,
    /// The model is large and there was no time limit, so the run ended after a fixed amount of
    /// work and has not tried everything.
    pub cut_short: bool,
    /// The band of the claim, as a score; zero where the claim is about scores.
    pub band: f64,
    /// For a claim about scores: how far they may be from the original's.
    pub within: Option<f64>,
    /// The inputs that the claim is about.
    pub domain: Domain,
    /// How often the oracle was asked.
    pub oracle_calls: u64,
    /// How many inputs the solver knew.
    pub points: usize,
    /// The time spent, by task.
    pub seconds: Seconds,
    /// What became of each tree of the original.
    pub fates: Vec<Fate>,
    /// The evidence for the lower bound, for a certificate.
    pub evidence: Evidence,
    /// Which boundaries are relevant, if the run examined them.
    pub relevant: Option<Relevant>,
}

impl<M> Pruned<M> {
    /// The same result with the file that `make` returns.
    pub fn map_file<N>(self, make: impl FnOnce(M) -> N) -> Pruned<N> {
        Pruned {
            file: make(self.file),
            outcome: self.outcome,
            size: self.size,
            lower_bound: self.lower_bound,
            irreducible: self.irreducible,
            cut_short: self.cut_short,
            band: self.band,
            within: self.within,
            domain: self.domain,
            oracle_calls: self.oracle_calls,
            points: self.points,
            seconds: self.seconds,
            fates: self.fates,
            evidence: self.evidence,
            relevant: self.relevant,
        }
    }
}

/// Seconds spent, by task.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Seconds {
    /// Folding trees.
    pub fold: f64,
    /// Solving linear programs.
    pub lp: f64,
    /// Asking the oracle.
    pub oracle: f64,
}
