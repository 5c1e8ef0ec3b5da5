//! What a certificate claims.

use secateur_model::{ClassId, Cut, Domain, FeatureId, Near};

use crate::digest::Digest;

/// A claim about two models, or about one: a [`Statement`] that holds for every input of a domain.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// The original model.
    pub original: Digest,
    /// The pruned model, with its columns in the order of the original's; the original itself where
    /// the claim is about one model.
    pub pruned: Digest,
    /// What the claim says of them.
    pub statement: Statement,
    /// The inputs that the claim covers, out of those that both models accept. Columns are counted
    /// as the original counts them.
    pub domain: Domain,
}

/// What a claim says of two models, or of one.
#[derive(Clone, Debug, PartialEq)]
pub enum Statement {
    /// Wherever the original's winner leads by more than the band, the library loading the pruned
    /// model decides as the library loading the original: by the libraries' own rules, or at cuts.
    Decisions {
        /// How near to the original's decision boundary the claim reaches.
        band: BandClaim,
        /// Systems may use the pruned model's rounding by input ([`Slack::Local`](crate::Slack)).
        local_rounding: bool,
        /// The cuts of the two models, if decisions are made at cuts instead of by the libraries'
        /// own rules: class 1 if and only if the score that decides is at least the cut's. Only
        /// scores farther from a cut than its gap count as decided.
        cuts: Option<[Cut; 2]>,
    },
    /// Every score of the library loading the pruned model is within this distance of the score of
    /// the same output of the library loading the original: scores before any link function,
    /// averaged if the library averages.
    Scores {
        /// The greatest distance, a finite number of at least zero.
        within: f64,
    },
    /// One model: the scores that its library computes are within limits.
    Range {
        /// The limits, ascending by output; at least one.
        outputs: Vec<OutputRange>,
    },
    /// One model: its library decides one of these classes.
    Class {
        /// The classes, ascending; at least one, and not all that there are.
        allowed: Vec<ClassId>,
        /// The cut, if the decision is made at a cut instead of by the library's own rule.
        cut: Option<Cut>,
        /// Only inputs that are nearer to a row than another row is, if the claim is about these.
        near: Option<Box<Near>>,
    },
    /// One model on two inputs that differ in these columns only.
    Moves {
        /// The columns, ascending; at least one.
        columns: Vec<FeatureId>,
        /// What is claimed of the two inputs.
        effect: Effect,
    },
}

/// Limits of one score.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OutputRange {
    /// The output.
    pub output: u32,
    /// The score is at least this.
    pub at_least: Option<f64>,
    /// The score is at most this.
    pub at_most: Option<f64>,
}

/// What moving columns does to a model's result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Effect {
    /// No score of the two inputs is farther apart than this, as the library computes it.
    Apart {
        /// The greatest distance, a finite number of at least zero.
        within: f64,
    },
    /// Where the winner on one input leads by more than the band, the library decides it on both.
    Decides {
        /// How near to the decision boundary the claim reaches.
        band: BandClaim,
        /// Systems may use rounding by input ([`Slack::Local`](crate::Slack)).
        local_rounding: bool,
    },
    /// A score never falls when the one column, a number that is not missing, rises.
    Rises {
        /// The output.
        output: u32,
        /// It never rises, instead.
        falls: bool,
        /// The claim is about the numbers that the library computes, and holds because it holds for
        /// each tree; otherwise it is about the exact sums.
        bits: bool,
    },
}

impl Claim {
    /// The version of the format that a certificate of this claim has: the first one that can hold
    /// it.
    pub fn version(&self) -> u32 {
        let first = matches!(self.statement, Statement::Decisions { cuts: None, .. })
            && (self.domain.is_everything() || self.domain.is_no_missing());
        if first { 1 } else { 2 }
    }

    /// Is the claim about one model? Then `original` and `pruned` are the same.
    pub fn is_about_one_model(&self) -> bool {
        !matches!(self.statement, Statement::Decisions { .. } | Statement::Scores { .. })
    }

    /// The band, if the claim is about the decisions of two models.
    pub fn band(&self) -> Option<BandClaim> {
        match self.statement {
            Statement::Decisions { band, .. } => Some(band),
            _ => None,
        }
    }

    /// The cuts of the two models, if the claim is about decisions at cuts; the one model's cut twice
    /// where there is one.
    pub fn cuts(&self) -> Option<[Cut; 2]> {
        match self.statement {
            Statement::Decisions { cuts, .. } => cuts,
            Statement::Class { cut, .. } => cut.map(|cut| [cut, cut]),
            _ => None,
        }
    }

    /// The greatest distance, if the claim is about the scores of two models.
    pub fn within(&self) -> Option<f64> {
        match self.statement {
            Statement::Scores { within } => Some(within),
            _ => None,
        }
    }

    /// The inputs near a row that the claim is about, if it is about these alone.
    pub fn near(&self) -> Option<&Near> {
        match &self.statement {
            Statement::Class { near, .. } => near.as_deref(),
            _ => None,
        }
    }

    /// Has the claim a system for an output and a side?
    pub(crate) fn has_score_systems(&self) -> bool {
        matches!(self.statement, Statement::Scores { .. } | Statement::Range { .. } | Statement::Moves { .. })
    }
}

/// The band of a claim about decisions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum BandClaim {
    /// Exact arithmetic on both sides, ties by each model's rule.
    Exact,
    /// The lead, in scores after averaging, above which the claim holds.
    Score(f64),
}

impl BandClaim {
    /// The band as a score; zero for exact arithmetic.
    pub fn score(self) -> f64 {
        match self {
            Self::Exact => 0.0,
            Self::Score(score) => score,
        }
    }
}
