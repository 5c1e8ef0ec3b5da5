//! Certificates: written for a pair of models, and checked.

use std::fs::File;
use std::io::{Cursor, Read};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use secateur_certificate::ReadError;
use secateur_checker::{Limits, Verdict};
use secateur_formats::ModelFile;
use secateur_oracle::Cancel;
use secateur_prune::CertifyError;

use crate::model::Model;
use crate::{error, interrupt, options};

/// Why nothing smaller can do, as `prune` found it; for `certify`.
#[pyclass(frozen, module = "secateur._secateur")]
pub(crate) struct Evidence(pub(crate) secateur_prune::Evidence);

/// Proves that two models decide alike and gives the proof as a certificate that the checker accepts; `None` where
/// the time limit, in seconds, comes first.
#[pyfunction]
#[pyo3(signature = (original, pruned, *, evidence=None, band=None, time_limit=None, threads=None, missing=true))]
#[expect(clippy::too_many_arguments, reason = "each is an option of the package's function")]
pub(crate) fn certify<'py>(
    py: Python<'py>,
    original: &Model,
    pruned: &Model,
    evidence: Option<&Evidence>,
    band: Option<f64>,
    time_limit: Option<f64>,
    threads: Option<usize>,
    missing: bool,
) -> PyResult<Option<Bound<'py, PyBytes>>> {
    let deadline = options::deadline(Instant::now(), time_limit)?;
    let ours = original.file.ensemble().within(options::scope(missing));
    let (ours, theirs) = (ours.as_ref(), pruned.file.ensemble());
    let (band, threads) = (options::band(band), options::threads(threads));
    let (cancel, progress) = (Cancel::default(), Arc::default());
    let evidence = evidence.map(|evidence| &evidence.0);
    let look = |_: Python<'_>| {
        if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            cancel.cancel();
        }
        Ok(())
    };
    let work = || secateur_prune::certify(ours, theirs, evidence, band, threads, &cancel, &progress);
    match interrupt::interruptible(py, &cancel, look, work)? {
        Ok(certificate) => Ok(Some(PyBytes::new(py, &certificate.bytes))),
        // What the user ends is an exception by now, so this is the time limit.
        Err(CertifyError::Interrupted) => Ok(None),
        Err(error) => Err(error::from_certify(error)),
    }
}

/// Checks a certificate, from a path or from its content: `verdict`, `reason`, `message`, `step`, `claim`.
#[pyfunction]
#[pyo3(signature = (original, pruned, *, path=None, content=None))]
pub(crate) fn check<'py>(
    py: Python<'py>,
    original: &Model,
    pruned: &Model,
    path: Option<PathBuf>,
    content: Option<Vec<u8>>,
) -> PyResult<Bound<'py, PyDict>> {
    let source: Box<dyn Read + Send> = match (path, content) {
        (Some(path), None) => Box::new(File::open(path)?),
        (None, Some(content)) => Box::new(Cursor::new(content)),
        _ => return Err(PyValueError::new_err("give either a path or the content")),
    };
    let answer = PyDict::new(py);
    let cancel = Cancel::default();
    let work = || judge(&original.file, &pruned.file, source, &|| cancel.is_cancelled());
    match interrupt::interruptible(py, &cancel, |_| Ok(()), work)? {
        Ok(verdict) => {
            let text = secateur_checker::command::to_json(&verdict).to_string();
            answer.update(py.import("json")?.call_method1("loads", (text,))?.cast()?)?;
        }
        Err(ReadError::Io { source, .. }) => return Err(source.into()),
        Err(error) => {
            answer.set_item("verdict", "malformed")?;
            answer.set_item("reason", error.code())?;
            answer.set_item("message", error.to_string())?;
        }
    }
    Ok(answer)
}

fn judge(
    original: &ModelFile,
    pruned: &ModelFile,
    source: impl Read,
    stop: &dyn Fn() -> bool,
) -> Result<Verdict, ReadError> {
    let (ours, theirs) = (original.ensemble(), pruned.ensemble());
    let aligned = secateur_checker::aligned(ours, theirs);
    let theirs = aligned.as_ref().unwrap_or(theirs);
    secateur_checker::check_until(ours, theirs, source, &Limits::default(), stop)
}
