//! `check`: does a certificate prove that two models decide alike?

use std::fs::File;
use std::io::{Cursor, Read};
use std::path::PathBuf;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use secateur::{Cancel, CertificateError, Domain, ModelFile};

use crate::model::Model;
use crate::{interrupt, options};

/// Checks a certificate, from a path or from its content: `verdict`, `reason`, `message`, `step`, `claim`; with a
/// `domain`, a JSON text, also that it covers that.
#[pyfunction]
#[pyo3(signature = (original, pruned, *, path=None, content=None, domain=None))]
pub(crate) fn check<'py>(
    py: Python<'py>,
    original: &Model,
    pruned: &Model,
    path: Option<PathBuf>,
    content: Option<Vec<u8>>,
    domain: Option<&str>,
) -> PyResult<Bound<'py, PyDict>> {
    let mut source: Box<dyn Read + Send> = match (path, content) {
        (Some(path), None) => Box::new(File::open(path)?),
        (None, Some(content)) => Box::new(Cursor::new(content)),
        _ => return Err(PyValueError::new_err("give either a path or the content")),
    };
    let asked = domain.map(|text| options::domain(Some(text), true, original)).transpose()?;
    let answer = PyDict::new(py);
    if matches!(&*pruned.file, ModelFile::Packed(_)) {
        let mut content = Vec::new();
        source.read_to_end(&mut content)?;
        if content.starts_with(secateur::PACKING_MAGIC) {
            let text = packing(py, original, pruned, &content, asked.as_ref());
            answer.update(py.import("json")?.call_method1("loads", (text,))?.cast()?)?;
            return Ok(answer);
        }
        source = Box::new(Cursor::new(content));
    }
    let cancel = Cancel::default();
    let work = || secateur::check_until(&original.file, &pruned.file, source, &|| cancel.is_cancelled());
    match interrupt::interruptible(py, &cancel, |_| Ok(()), work)? {
        Ok(verdict) => {
            let verdict = match asked {
                Some(asked) => secateur_checker::command::covering(verdict, &asked, original.file.ensemble()),
                None => verdict,
            };
            let text = secateur_checker::command::to_json(&verdict, original.file.ensemble()).to_string();
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

/// The answer about a packed model, as JSON.
fn packing(
    py: Python<'_>,
    original: &Model,
    packed: &Model,
    certificate: &[u8],
    asked: Option<&Domain>,
) -> String {
    py.detach(|| match secateur::check_packing(&original.file, &packed.file, certificate) {
        Ok(check) => match asked {
            Some(asked) => check.covering(asked, &original.file),
            None => check,
        }
        .json(&original.file)
        .to_string(),
        Err(error) => secateur::malformed_packing(&error).to_string(),
    })
}
