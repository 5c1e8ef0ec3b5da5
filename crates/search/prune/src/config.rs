//! The choices that a user makes for a run.

use std::time::Instant;

use secateur_lp::{Start, simplex};
use secateur_model::Domain;
use secateur_oracle::{Cancel, Claim};

/// A choice that every interface offers under the same names.
pub trait Choice: Copy + PartialEq + Send + Sync + 'static {
    /// All choices: the name, the value, and its meaning in a few words.
    const ALL: &'static [(&'static str, Self, &'static str)];

    /// The name that users see.
    fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, choice, _)| *choice == self).map_or("", |(name, _, _)| name)
    }

    /// The choice with this name.
    fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(own, _, _)| *own == name).map(|(_, choice, _)| *choice)
    }
}

/// How much a run tries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// Fold and reweight (the paper's l1). Where every cell can be checked, also drop columns that
    /// are not needed.
    Fast,
    /// Also try to drop each column, until none can be dropped.
    Thorough,
    /// Also find the smallest size and prove it (the paper's l0).
    Minimum,
}

impl Choice for Effort {
    const ALL: &'static [(&'static str, Self, &'static str)] = &[
        ("fast", Self::Fast, "Fold the trees and choose new weights (the paper's l1)"),
        ("thorough", Self::Thorough, "Then drop tree after tree, until none can go"),
        ("minimum", Self::Minimum, "Then find the smallest size and prove it (the paper's l0)"),
    ];
}

/// What the run makes small.
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

/// What the run may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moves {
    /// Trees are merged, scaled and dropped, and the intercept is free.
    Leaves,
    /// Trees are scaled and dropped: weights of at least zero on the model's own trees, as in the
    /// paper.
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

/// The trees that share one weight.
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

/// The choices of one run.
#[derive(Clone, Debug)]
pub struct Config {
    /// How much the run tries.
    pub effort: Effort,
    /// What the run makes small.
    pub objective: Objective,
    /// What the run may change.
    pub moves: Moves,
    /// The trees that share one weight. `None` stands for rounds with [`Moves::Weights`] and for
    /// trees with [`Moves::Leaves`].
    pub unit: Option<Unit>,
    /// The solver of the linear programs for weights. The oracle proves every model, so the solver
    /// affects only the time and which model is found.
    pub solver: Start,
    /// What the pruned model keeps of the original.
    pub claim: Claim,
    /// The inputs that the claim is about.
    pub domain: Domain,
    /// The time at which the run ends, with the best model that is proved by then.
    pub deadline: Option<Instant>,
    /// A switch that ends the run early, with the best model that is proved by then.
    pub cancel: Cancel,
    /// Threads that the search may use.
    pub threads: usize,
    /// The seed of random choices: the same seed gives the same bytes.
    pub seed: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            effort: Effort::Thorough,
            objective: Objective::Trees,
            moves: Moves::Leaves,
            unit: None,
            solver: simplex,
            claim: Claim::default(),
            domain: Domain::everything(),
            deadline: None,
            cancel: Cancel::default(),
            threads: 1,
            seed: 0,
        }
    }
}
