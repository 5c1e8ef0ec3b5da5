//! Writes down the proof that a pruned model keeps the claim, and has it checked.
//!
//! The passes trust the oracle; the user of a pruned model need not. The certificate is made from
//! the two models as they are, and the independent checker decides: a proof that it refuses is not
//! called a proof.

use std::io;

use secateur_certificate::ReadError;
use secateur_checker::{Limits, Proved, Reason, Scorer, Verdict as Checked, check_where};
use secateur_model::Ensemble;
use secateur_oracle::{Cancel, Claim, Claimed, CompareError, Options};
use thiserror::Error;

use crate::bounds::evidence::{Evidence, write_bounds};

/// A proof that the checker accepted.
#[derive(Clone, Debug)]
pub struct Certificate {
    /// The bytes of the certificate.
    pub bytes: Vec<u8>,
    /// What the checker found it to prove.
    pub proved: Proved,
    /// Boxes that the search visited.
    pub nodes: u64,
    /// Seconds that the search took, writing included.
    pub search_seconds: f64,
    /// Seconds that the check took.
    pub check_seconds: f64,
}

/// Why there is no certificate.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CertifyError {
    /// The models cannot be compared.
    #[error(transparent)]
    Compare(#[from] CompareError),
    /// The certificate could not be written.
    #[error("the certificate cannot be written: {0}")]
    Write(#[from] io::Error),
    /// The search ended without a proof.
    #[error("the written model is not proved to keep what was asked for of the original")]
    NotProved,
    /// The user cancelled it.
    #[error("the proof was interrupted")]
    Interrupted,
    /// The checker refuses the certificate.
    #[error("the checker refuses the certificate: {} This is a bug, please report it", reason.describe(*step))]
    Refused {
        /// The checker's reason.
        reason: Reason,
        /// The step that it refuses, if it is about one.
        step: Option<u64>,
    },
    /// The checker cannot read the certificate.
    #[error("the checker cannot read the certificate: {0}; this is a bug, please report it")]
    Unreadable(#[from] ReadError),
}

/// Proves that `pruned` keeps of `original` what is claimed, on every input in the scope of both
/// models ([`Ensemble::within`]), writes the proof and the evidence of the lower bounds as a
/// certificate, and has it checked. The only limit in the options' budget should be the cancel
/// switch.
pub fn certify(
    original: &Ensemble,
    pruned: &Ensemble,
    claim: Claim,
    evidence: Option<&Evidence>,
    options: &Options,
) -> Result<Certificate, CertifyError> {
    let started = std::time::Instant::now();
    let (budget, cancel) = (&options.budget, &options.budget.cancel);
    let claimed = match Claimed::new(original, pruned, claim, budget) {
        Err(CompareError::Stopped(_)) => return Err(CertifyError::Interrupted),
        claimed => claimed?,
    };
    let (_, nodes, writer) = claimed.certify(options, Vec::new())?;
    if cancel.is_cancelled() {
        return Err(CertifyError::Interrupted);
    }
    let mut writer = writer.ok_or(CertifyError::NotProved)?;
    if let Some(evidence) = evidence {
        write_bounds(evidence, &mut writer)?;
    }
    let bytes = writer.finish(true)?;
    let search_seconds = started.elapsed().as_secs_f64();
    let started = std::time::Instant::now();
    let proved = have_checked(original, pruned, &bytes, cancel)?;
    let check_seconds = started.elapsed().as_secs_f64();
    Ok(Certificate { bytes, proved, nodes, search_seconds, check_seconds })
}

/// Has the independent checker check a certificate. If `cancel` ends the check, the error is
/// [`CertifyError::Interrupted`].
pub fn have_checked(
    original: &Ensemble,
    pruned: &Ensemble,
    certificate: &[u8],
    cancel: &Cancel,
) -> Result<Proved, CertifyError> {
    let scorers = Scorer::of(original.domain());
    let stop = || cancel.is_cancelled();
    match check_where(original, pruned, &scorers, certificate, &Limits::default(), &stop)? {
        Checked::Valid(proved) => Ok(proved),
        Checked::Incomplete { reason, .. } if reason.is_stopped() => Err(CertifyError::Interrupted),
        Checked::Invalid { reason, step } | Checked::Incomplete { reason, step } => {
            Err(CertifyError::Refused { reason, step })
        }
    }
}
