//! The pipeline of `check`: does a certificate prove that two models decide alike?

use std::borrow::Cow;
use std::io::Read;

pub use secateur_certificate::{Digest, ReadError as CertificateError};
use secateur_checker::{Asked, Limits, Scorer, aligned, check_where};
pub use secateur_checker::{Proved, Reason, Verdict};
use secateur_formats::ModelFile;
use secateur_model::{Domain, Ensemble};
use secateur_source::at_threshold;

/// Checks a certificate as `secateur-check` does: every step, in exact arithmetic, without the
/// search. Columns are matched by name if both models have names, otherwise by order. An error
/// means that the bytes are not a certificate at all.
pub fn check(
    original: &ModelFile,
    pruned: &ModelFile,
    certificate: impl Read,
) -> Result<Verdict, CertificateError> {
    check_until(original, pruned, certificate, &|| false)
}

/// As [`check`], but calls `stop` now and then; if it returns true, the check ends with
/// [`Verdict::Incomplete`].
pub fn check_until(
    original: &ModelFile,
    pruned: &ModelFile,
    certificate: impl Read,
    stop: &dyn Fn() -> bool,
) -> Result<Verdict, CertificateError> {
    let verdict = checked(original, pruned, &[], certificate, stop)?;
    Ok(at_threshold(verdict, None, [original, pruned]))
}

/// As [`check_until`], for a certificate whose claim may refer to scores of other models. The
/// certificate names these models by their digests, and each of them has to be among `scorers` (the
/// strings are their names in messages) or among the models of the domain `asked`. A valid
/// certificate is refused if it does not cover that domain, or if it is about other decisions than
/// those at `threshold`, a probability of class 1 (`None` means the libraries' own decisions).
pub fn check_scored(
    original: &ModelFile,
    pruned: &ModelFile,
    scorers: &[(&str, &ModelFile)],
    asked: Option<&Domain>,
    threshold: Option<f64>,
    certificate: impl Read,
    stop: &dyn Fn() -> bool,
) -> Result<Verdict, CertificateError> {
    let ours = original.ensemble();
    let in_order: Vec<(&str, Cow<'_, Ensemble>)> = scorers
        .iter()
        .map(|&(name, file)| {
            let model = file.ensemble();
            (name, aligned(ours, model).map_or(Cow::Borrowed(model), Cow::Owned))
        })
        .collect();
    let mut known: Vec<Scorer<'_>> = in_order.iter().map(|(name, model)| Scorer { model, name }).collect();
    known.extend(asked.into_iter().flat_map(Scorer::of));
    let verdict =
        at_threshold(checked(original, pruned, &known, certificate, stop)?, threshold, [original, pruned]);
    Ok(verdict.asked_for(&Asked { domain: asked, ..Asked::default() }, ours))
}

fn checked(
    original: &ModelFile,
    pruned: &ModelFile,
    scorers: &[Scorer<'_>],
    certificate: impl Read,
    stop: &dyn Fn() -> bool,
) -> Result<Verdict, CertificateError> {
    let (ours, theirs) = (original.ensemble(), pruned.ensemble());
    let aligned = aligned(ours, theirs);
    let theirs = aligned.as_ref().unwrap_or(theirs);
    check_where(ours, theirs, scorers, certificate, &Limits::default(), stop)
}
