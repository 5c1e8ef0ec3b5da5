//! The road of `check`: does a certificate prove that two models decide alike?

use std::io::Read;

use secateur_certificate::ReadError;
use secateur_checker::{Limits, Verdict, aligned};
use secateur_formats::ModelFile;

/// Checks a certificate as `secateur-check` does: every step, in exact arithmetic, without the search. Columns are
/// matched by name where both models have names, else by order. An error says that this is no certificate at all.
pub fn check(original: &ModelFile, pruned: &ModelFile, certificate: impl Read) -> Result<Verdict, ReadError> {
    check_until(original, pruned, certificate, &|| false)
}

/// As [`check`], and `stop` is asked now and then: when it says true, the check ends with [`Verdict::Incomplete`].
pub fn check_until(
    original: &ModelFile,
    pruned: &ModelFile,
    certificate: impl Read,
    stop: &dyn Fn() -> bool,
) -> Result<Verdict, ReadError> {
    let (ours, theirs) = (original.ensemble(), pruned.ensemble());
    let aligned = aligned(ours, theirs);
    let theirs = aligned.as_ref().unwrap_or(theirs);
    secateur_checker::check_until(ours, theirs, certificate, &Limits::default(), stop)
}
