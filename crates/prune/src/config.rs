//! What a user may choose.

use std::sync::Arc;
use std::time::Instant;

use secateur_lp::LinearSolver;
use secateur_model::Domain;
use secateur_oracle::{Band, Cancel};

use crate::journal::Journal;

/// A choice that users have in every interface, under the same names.
pub trait Choice: Copy + PartialEq + Send + Sync + 'static {
    /// All of them: the name, the choice, and what it means in a few words.
    const ALL: &'static [(&'static str, Self, &'static str)];

    /// What users call it.
    fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, choice, _)| *choice == self).map_or("", |(name, _, _)| name)
    }

    /// The choice of this name.
    fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(own, _, _)| *own == name).map(|(_, choice, _)| *choice)
    }
}

/// How far to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// Fold and reweight (the paper's l1); where every cell is looked at, also leave out what can go.
    Fast,
    /// Eliminate tree by tree too, until none can go.
    Thorough,
    /// The smallest size, proved (the paper's l0).
    Minimum,
}

impl Choice for Effort {
    const ALL: &'static [(&'static str, Self, &'static str)] = &[
        ("fast", Self::Fast, "Fold the trees and choose new weights (the paper's l1)"),
        ("thorough", Self::Thorough, "Then drop tree after tree, until none can go"),
        ("minimum", Self::Minimum, "Then find the smallest size and prove it (the paper's l0)"),
    ];
}

/// What is made small.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Objective {
    /// The number of trees.
    Trees,
    /// The number of leaves.
    Leaves,
    /// The size of the file.
    Bytes,
}

impl Choice for Objective {
    const ALL: &'static [(&'static str, Self, &'static str)] = &[
        ("trees", Self::Trees, "The number of trees"),
        ("leaves", Self::Leaves, "The number of leaves"),
        ("bytes", Self::Bytes, "The size of the file"),
    ];
}

/// What may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moves {
    /// Trees are merged, scaled and dropped, the intercept is free.
    Leaves,
    /// Trees are scaled and dropped: nonnegative weights on the model's own trees, as in the paper.
    Weights,
}

impl Choice for Moves {
    const ALL: &'static [(&'static str, Self, &'static str)] = &[
        ("leaves", Self::Leaves, "Trees are merged, scaled and dropped, and the intercept is free"),
        (
            "weights",
            Self::Weights,
            "Trees get weights of at least zero and stay as they are, as in the paper",
        ),
    ];
}

/// What one weight belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// All trees of a boosting round, as in the paper.
    Round,
    /// One tree.
    Tree,
}

impl Choice for Unit {
    const ALL: &'static [(&'static str, Self, &'static str)] = &[
        ("round", Self::Round, "All trees of a boosting round, one for each class"),
        ("tree", Self::Tree, "Each tree"),
    ];
}

/// What a pruned model keeps of the original, on every input of the domain.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Claim {
    /// What it decides.
    Decisions {
        /// How near to the decision boundary the claim reaches.
        band: Band,
    },
    /// Its scores, the library's rounding included.
    Scores {
        /// How far the score of an output may be from the original's, a finite number of at least zero.
        within: f64,
    },
}

impl Default for Claim {
    fn default() -> Self {
        Self::Decisions { band: Band::Auto }
    }
}

impl Claim {
    /// The band of a claim about decisions.
    pub fn band(self) -> Option<Band> {
        match self {
            Self::Decisions { band } => Some(band),
            Self::Scores { .. } => None,
        }
    }

    /// The greatest distance of a claim about scores.
    pub fn within(self) -> Option<f64> {
        match self {
            Self::Decisions { .. } => None,
            Self::Scores { within } => Some(within),
        }
    }
}

/// The choices of one run.
#[derive(Clone, Debug)]
pub struct Config {
    /// How far to go.
    pub effort: Effort,
    /// What is made small.
    pub objective: Objective,
    /// What may change.
    pub moves: Moves,
    /// What one weight belongs to; `None` for rounds with [`Moves::Weights`], trees with [`Moves::Leaves`].
    pub unit: Option<Unit>,
    /// Who solves the linear programs for weights. Every model is proved without a solver's word, so this
    /// changes time and luck only.
    pub solver: LinearSolver,
    /// What the pruned model keeps.
    pub claim: Claim,
    /// Which inputs the claim is about.
    pub domain: Domain,
    /// When to end with the best that is proved by then.
    pub deadline: Option<Instant>,
    /// A switch to end early, with the best that is proved by then.
    pub cancel: Cancel,
    /// Threads of the search.
    pub threads: usize,
    /// Where random choices start: same seed, same bytes.
    pub seed: u64,
    /// What an earlier run of the same kind learned, and where this one keeps what it learns. It goes without a deadline, which would steer the run:
    /// the switch ends it.
    pub journal: Option<Arc<Journal>>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            effort: Effort::Thorough,
            objective: Objective::Trees,
            moves: Moves::Leaves,
            unit: None,
            solver: LinearSolver::default(),
            claim: Claim::default(),
            domain: Domain::everything(),
            deadline: None,
            cancel: Cancel::default(),
            threads: 1,
            seed: 0,
            journal: None,
        }
    }
}
