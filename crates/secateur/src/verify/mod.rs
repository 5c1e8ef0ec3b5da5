//! `--certificate FILE`: the proof in a file of its own, checked before it gets its name.

use std::io;
use std::path::Path;
use std::time::Instant;

use anyhow::{Result, anyhow, bail};
use secateur_checker::{Limits, Reason, Verdict as Checked};
use secateur_model::Ensemble;
use secateur_oracle::{Compared, Comparison, Options};

use crate::output::Output;

/// A place for the certificate, told before the work begins where it cannot be written to.
pub(super) fn open(path: Option<&Path>, taken: &[&Path]) -> Result<Option<Output>> {
    let Some(path) = path else { return Ok(None) };
    let same = |other: &&Path| match (other.canonicalize(), path.canonicalize()) {
        (Ok(a), Ok(b)) => a == b,
        _ => *other == path,
    };
    if taken.iter().any(same) {
        bail!("{}: the certificate needs a file of its own", path.display());
    }
    Output::open(Some(path)).map(Some)
}

/// Compares, and completes the certificate where the claim is proved; the file is not yet named.
pub(super) fn compare(
    comparison: &Comparison<'_>,
    options: &Options,
    out: Option<Output>,
) -> io::Result<(Compared, Option<Output>)> {
    let Some(out) = out else { return Ok((comparison.run(options), None)) };
    let (compared, certificate) = comparison.certify(options, out)?;
    Ok((compared, certificate.map(|writer| writer.finish(true)).transpose()?))
}

/// Checks the certificate as `secateur-check` would, and gives it its name; false, and no file, where the time ends
/// before the check does.
pub(super) fn check(mut out: Output, models: [&Ensemble; 2], deadline: Option<Instant>) -> Result<bool> {
    if let Some(file) = out.read_back()? {
        let wrong = |what: &str| {
            anyhow!(
                "the certificate does not pass its own check ({what}). This is a bug: please report it with the files."
            )
        };
        let late = || deadline.is_some_and(|deadline| Instant::now() >= deadline);
        match secateur_checker::check_until(models[0], models[1], file, &Limits::default(), &late) {
            Ok(Checked::Valid(_)) => {}
            Ok(Checked::Incomplete { reason: Reason::Stopped, .. }) => return Ok(false),
            Ok(Checked::Invalid { reason, step }) => return Err(wrong(&reason.describe(step))),
            // Nothing is wrong with it, only too large for the limits that every checker has.
            Ok(Checked::Incomplete { reason, step }) => {
                bail!(
                    "the proof is too large for a certificate: {}; leave --certificate out",
                    reason.describe(step)
                )
            }
            Err(error) => return Err(wrong(error.code())),
        }
    }
    out.finish().map(|()| true)
}
