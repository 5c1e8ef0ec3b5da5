//! What a run ends with.

use secateur_formats::{EditError, ModelFile};
use secateur_model::{Domain, DomainError, TreeId};
use secateur_oracle::CompareError;
use thiserror::Error;

use crate::bounds::evidence::Evidence;
use crate::passes::relevant::Relevant;

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
    /// The domain does not fit the model.
    #[error("the domain does not fit the model: {0}")]
    Domain(#[from] DomainError),
    /// A regressor or ranker, or a model that gives a row several labels.
    #[error(
        "this model is a regressor or ranker, or gives a row several labels: it has no classes to choose from, so there are no decisions to \
         keep; prune --within EPS (prune(model, within=EPS)) keeps its scores up to EPS"
    )]
    NoClasses,
    /// No distance that scores could be kept within.
    #[error("{within} is no distance for scores; give a finite number from zero up")]
    Within {
        /// What was given.
        within: f64,
    },
    /// Nothing is known of smallest models that keep scores.
    #[error(
        "where scores are kept, no smallest size is proved: --effort minimum is for decisions; thorough tries to do without \
         each tree"
    )]
    WithinMinimum,
    /// The library itself does not give its scores more exactly.
    #[error(
        "the last bits of this model's scores are not fixed by its file (the order of addition, the processor), and they alone \
         may make scores {least:e} apart; give at least that, not {within:e}"
    )]
    WithinRounding {
        /// What was given.
        within: f64,
        /// What can be kept.
        least: f64,
    },
    /// The format cannot hold what pruning needs at the least.
    #[error(transparent)]
    Edit(#[from] EditError),
    /// A size that no choice of members has.
    #[error("{size} of {members} members cannot be kept; give a size from 1 to {members}")]
    Size {
        /// What was asked for.
        size: usize,
        /// What there is.
        members: usize,
    },
    /// Rows and their classes do not belong together.
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
        /// Its position.
        row: usize,
    },
}

/// Sizes of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Trees. Those of a single leaf of zero, which some formats need to fill a round, do not count.
    pub trees: usize,
    /// Leaves of these trees.
    pub leaves: usize,
}

/// What became of one tree of the original.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fate {
    /// As it was.
    Kept,
    /// Every leaf times this.
    Scaled(f64),
    /// Written anew: simplified, or with other trees or a constant in its leaves, all times this.
    Rewritten(f64),
    /// Added into the leaves of another tree, times this.
    Merged {
        /// The tree that holds it now.
        into: TreeId,
        /// The weight of that tree.
        weight: f64,
    },
    /// A constant, now in the intercept or in the leaves of another tree.
    Constant,
    /// Gone.
    Dropped,
}

/// A pruned model, with what is proved of it.
#[derive(Clone, Debug)]
pub struct Pruned<M = ModelFile> {
    /// The model file; the original's own bytes where nothing changed.
    pub file: M,
    /// What is known.
    pub outcome: Outcome,
    /// Before and after.
    pub size: [Size; 2],
    /// No fewer trees can do, within the moves.
    pub lower_bound: usize,
    /// No tree can go on its own: with each of them left out, no weights of the others decide the same (by
    /// the solver's word).
    pub irreducible: bool,
    /// The model is large and no time limit was given: a fixed amount of work was done, and not everything was tried.
    pub cut_short: bool,
    /// The band of the claim, as a score; zero where the claim is about scores.
    pub band: f64,
    /// Where the claim is about scores: how far they may be from the original's.
    pub within: Option<f64>,
    /// The inputs of the claim.
    pub domain: Domain,
    /// How often the oracle was asked.
    pub oracle_calls: u64,
    /// How many inputs were looked at by the solver.
    pub points: usize,
    /// Where the time went.
    pub seconds: Seconds,
    /// What became of each tree of the original.
    pub fates: Vec<Fate>,
    /// What the lower bound rests on, for a certificate.
    pub evidence: Evidence,
    /// Which thresholds matter, where that was looked at.
    pub relevant: Option<Relevant>,
    /// That the model is proved is the word of a [`Journal`](crate::Journal), in which an earlier run wrote it: it has to be proved anew before it counts.
    pub recalled: bool,
}

impl<M> Pruned<M> {
    /// The same with another file, which the caller makes of this one.
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
            recalled: self.recalled,
        }
    }
}

/// Time spent, by what it was spent on.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Seconds {
    /// Folding.
    pub fold: f64,
    /// The linear programs.
    pub lp: f64,
    /// The oracle, final proof included.
    pub oracle: f64,
}
