//! `check`: does a certificate prove that two models decide alike?

use std::fs::File;
use std::io::{Cursor, Read};
use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::PyDict;

use secateur::{Cancel, Domain, ModelFile, check::CertificateError};

use crate::model::Model;
use crate::options::GivenDomain;
use crate::{error, interrupt, options};

/// Checks a certificate, from a path or from its content: `verdict`, `reason`, `message`, `step`, `claim`; with a
/// `domain` (a JSON text, and the models that it names by position) also that it covers that.
#[pyfunction]
#[pyo3(signature = (original, pruned, *, path=None, content=None, domain=None, scorers=Vec::new(), threshold=None))]
#[expect(clippy::too_many_arguments, reason = "each is an option of the package's function")]
pub(crate) fn check<'py>(
    py: Python<'py>,
    original: &Model,
    pruned: &Model,
    path: Option<PathBuf>,
    content: Option<Vec<u8>>,
    domain: Option<GivenDomain>,
    scorers: Vec<(String, Py<Model>)>,
    threshold: Option<f64>,
) -> PyResult<Bound<'py, PyDict>> {
    let mut source: Box<dyn Read + Send> = match (path, content) {
        (Some(path), None) => Box::new(File::open(path)?),
        (None, Some(content)) => Box::new(Cursor::new(content)),
        _ => return Err(error::option("give either a path or the content")),
    };
    let asked = domain.map(|given| options::domain(Some(&given), true, original)).transpose()?;
    let answer = PyDict::new(py);
    if matches!(&*pruned.file, ModelFile::Packed(_)) {
        let mut content = Vec::new();
        source.read_to_end(&mut content)?;
        if content.starts_with(secateur::pack::PACKING_MAGIC) {
            if threshold.is_some() {
                return Err(error::option(
                    "the certificate of a packed model is about its bits, and a threshold does not go with it",
                ));
            }
            let text = packing(py, original, pruned, &content, asked.as_ref());
            answer.update(py.import("json")?.call_method1("loads", (text,))?.cast()?)?;
            return Ok(answer);
        }
        source = Box::new(Cursor::new(content));
    }
    let cancel = Cancel::default();
    let stop = || cancel.is_cancelled();
    let scorers: Vec<(&str, &ModelFile)> =
        scorers.iter().map(|(name, model)| (name.as_str(), &*model.get().file)).collect();
    let work = || {
        secateur::check::check_scored(
            &original.file,
            &pruned.file,
            &scorers,
            asked.as_ref(),
            threshold,
            source,
            &stop,
        )
    };
    match interrupt::interruptible(py, &cancel, |_| Ok(()), work)? {
        Ok(verdict) => {
            let text = secateur::pack::verdict_json(&verdict, original.file.ensemble()).to_string();
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
    let checked = || match asked {
        Some(asked) => {
            secateur::pack::check_packing_covering(&original.file, &packed.file, asked, certificate)
        }
        None => secateur::pack::check_packing(&original.file, &packed.file, certificate),
    };
    py.detach(|| match checked() {
        Ok(check) => check.json(&original.file).to_string(),
        Err(error) => secateur::pack::malformed_packing(&error).to_string(),
    })
}
