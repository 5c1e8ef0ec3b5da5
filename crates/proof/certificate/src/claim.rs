//! What a certificate claims.

use secateur_model::{Cut, Domain};

use crate::digest::Digest;

/// A claim about two models: a [`Statement`] that holds for every input of a domain.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// The original model.
    pub original: Digest,
    /// The pruned model, with its columns in the order of the original's.
    pub pruned: Digest,
    /// What the claim says of them.
    pub statement: Statement,
    /// The inputs that the claim covers, out of those that both models accept. Columns are counted
    /// as the original counts them.
    pub domain: Domain,
}

/// What a claim says of two models.
#[derive(Clone, Copy, Debug, PartialEq)]
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
}

impl Claim {
    /// The version of the format that a certificate of this claim has: the first one that can hold
    /// it.
    pub fn version(&self) -> u32 {
        let first = matches!(self.statement, Statement::Decisions { cuts: None, .. })
            && (self.domain.is_everything() || self.domain.is_no_missing());
        if first { 1 } else { 2 }
    }

    /// The band, if the claim is about decisions.
    pub fn band(&self) -> Option<BandClaim> {
        match self.statement {
            Statement::Decisions { band, .. } => Some(band),
            Statement::Scores { .. } => None,
        }
    }

    /// The cuts of the two models, if the claim is about decisions at cuts.
    pub fn cuts(&self) -> Option<[Cut; 2]> {
        match self.statement {
            Statement::Decisions { cuts, .. } => cuts,
            Statement::Scores { .. } => None,
        }
    }

    /// The greatest distance, if the claim is about scores.
    pub fn within(&self) -> Option<f64> {
        match self.statement {
            Statement::Decisions { .. } => None,
            Statement::Scores { within } => Some(within),
        }
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
