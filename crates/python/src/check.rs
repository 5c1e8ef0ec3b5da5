//! `check`: does a certificate prove that two models decide alike?

use std::fs::File;
use std::io::{Cursor, Read};
use std::path::PathBuf;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use secateur::{Cancel, CertificateError};

use crate::interrupt;
use crate::model::Model;

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
    let work = || secateur::check_until(&original.file, &pruned.file, source, &|| cancel.is_cancelled());
    match interrupt::interruptible(py, &cancel, |_| Ok(()), work)? {
        Ok(verdict) => {
            let text = secateur_checker::command::to_json(&verdict).to_string();
            answer.update(py.import("json")?.call_method1("loads", (text,))?.cast()?)?;
        }
        Err(CertificateError::Io { source, .. }) => return Err(source.into()),
        Err(error) => {
            answer.set_item("verdict", "malformed")?;
            answer.set_item("reason", error.code())?;
            answer.set_item("message", error.to_string())?;
        }
    }
    Ok(answer)
}
