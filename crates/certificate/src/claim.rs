//! What a certificate claims.

use secateur_model::Domain;

use crate::digest::Digest;

/// The claim: for every input of the domain on which the original's winner leads by more than the band, the
/// library loading the pruned model decides as the library loading the original.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// The original model.
    pub original: Digest,
    /// The pruned model, with its columns in the order of the original's.
    pub pruned: Digest,
    /// How near to the original's decision boundary the claim reaches.
    pub band: BandClaim,
    /// For which inputs, of those that both models accept; columns are counted as the original counts them.
    pub domain: Domain,
    /// Systems may use the pruned model's rounding by input ([`Slack::Local`](crate::Slack)).
    pub local_rounding: bool,
}

impl Claim {
    /// The version of the format that a certificate of this claim is written in: the first that can hold it.
    pub fn version(&self) -> u32 {
        if self.domain.is_everything() || self.domain.is_no_missing() { 1 } else { 2 }
    }
}

/// The band of a claim.
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
