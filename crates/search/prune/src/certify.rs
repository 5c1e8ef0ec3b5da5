//! Writes down the proof that a pruned model keeps the claim, and has it checked.
//!
//! The passes trust the oracle; the user of a pruned model need not. The certificate is made from
//! the two models as they are, and the independent checker decides: a proof that it refuses is not
//! called a proof.

use std::io;
use std::sync::Arc;

use secateur_certificate::{ReadError, Writer};
use secateur_checker::{Limits, Proved, Reason, Scorer, Verdict as Checked, check_where};
use secateur_model::Ensemble;
use secateur_oracle::{
    Band, Cancel, CompareError, Limit, Options, Outline, Progress, ScoreComparison, SearchBudget, Verdict,
};
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

/// Proves that `pruned` decides as `original` does on every input in the scope of both models
/// ([`Ensemble::within`]), writes the proof and the evidence of the lower bounds as a certificate,
/// and has it checked.
pub fn certify(
    original: &Ensemble,
    pruned: &Ensemble,
    evidence: Option<&Evidence>,
    band: Band,
    threads: usize,
    cancel: &Cancel,
    progress: &Arc<Progress>,
) -> Result<Certificate, CertifyError> {
    certify_with(original, pruned, evidence, band, &settings(threads, cancel, progress))
}

fn settings(threads: usize, cancel: &Cancel, progress: &Arc<Progress>) -> Options {
    let budget = SearchBudget { cancel: cancel.clone(), ..SearchBudget::unlimited() };
    Options { budget, threads, progress: progress.clone(), ..Options::unlimited() }
}

/// As [`certify`], with options of the caller's choice, such as threads or workers. The only limit
/// in their budget should be the cancel switch.
pub fn certify_with(
    original: &Ensemble,
    pruned: &Ensemble,
    evidence: Option<&Evidence>,
    band: Band,
    options: &Options,
) -> Result<Certificate, CertifyError> {
    let started = std::time::Instant::now();
    let (budget, cancel) = (&options.budget, &options.budget.cancel);
    let outline = Outline::new(original, pruned, band)?;
    let (mut writer, nodes) = if outline.is_same_model() {
        // A model decides as itself; the checker needs no steps for that.
        (Writer::new(Vec::new(), &outline.claim_of_same_model())?, 0)
    } else {
        let comparison = match outline.lay_out(budget) {
            Err(CompareError::Stopped(_)) => return Err(CertifyError::Interrupted),
            comparison => comparison?,
        };
        let (compared, writer) = comparison.certify(options, Vec::new())?;
        let Some(writer) = writer.filter(|_| compared.verdict == Verdict::Identical) else {
            return Err(if cancel.is_cancelled() {
                CertifyError::Interrupted
            } else {
                CertifyError::NotProved
            });
        };
        (writer, compared.nodes)
    };
    if cancel.is_cancelled() {
        return Err(CertifyError::Interrupted);
    }
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

/// Proves that no score of `pruned` is farther than `within` from that of `original`, on every
/// input in the scope of both models, writes the proof as a certificate and has it checked.
pub fn certify_scores(
    original: &Ensemble,
    pruned: &Ensemble,
    within: f64,
    threads: usize,
    cancel: &Cancel,
    progress: &Arc<Progress>,
) -> Result<Certificate, CertifyError> {
    certify_scores_with(original, pruned, within, &settings(threads, cancel, progress))
}

/// As [`certify_scores`], with options of the caller's choice, as in [`certify_with`].
pub fn certify_scores_with(
    original: &Ensemble,
    pruned: &Ensemble,
    within: f64,
    options: &Options,
) -> Result<Certificate, CertifyError> {
    let started = std::time::Instant::now();
    let (budget, cancel) = (&options.budget, &options.budget.cancel);
    let comparison = match ScoreComparison::new(original, pruned, budget) {
        Err(CompareError::Stopped(_)) => return Err(CertifyError::Interrupted),
        comparison => comparison?,
    };
    let (limit, nodes, writer) = comparison.certify(within, options, Vec::new())?;
    let Some(writer) = writer.filter(|_| limit == Limit::Within && !cancel.is_cancelled()) else {
        return Err(if cancel.is_cancelled() { CertifyError::Interrupted } else { CertifyError::NotProved });
    };
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
