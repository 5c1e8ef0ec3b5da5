//! A model as source, and the check of its certificate.

use pyo3::prelude::*;
use pyo3::types::{PyAny, PyBytes};

use secateur::{Cancel, SourceForm, SourceOptions};

use crate::model::Model;
use crate::{error, interrupt};

/// The parts of a model as source: the source, the header beside it, the certificate, the test.
type Files<'py> = (String, Option<String>, Bound<'py, PyBytes>, Option<String>);

/// Writes a model as C or Rust. `header` is what a test includes; no test is made without it.
#[pyfunction]
#[pyo3(signature = (model, ending, name, header=None))]
pub(crate) fn source<'py>(
    py: Python<'py>,
    model: &Model,
    ending: &str,
    name: &str,
    header: Option<&str>,
) -> PyResult<Files<'py>> {
    let form = match ending {
        "c" => SourceForm::C,
        "h" => SourceForm::Header,
        "rs" => SourceForm::Rust,
        _ => return Err(error::InputError::new_err(format!("{ending:?} is no ending of source"))),
    };
    let labels = model.labels();
    let options = SourceOptions { form, name, labels: labels.as_ref(), test: header };
    let cancel = Cancel::default();
    let mut watch = |_: f64| !cancel.is_cancelled();
    let packing = interrupt::interruptible(
        py,
        &cancel,
        |_| Ok(()),
        || secateur::pack_source(&model.file, &options, &mut watch),
    )?;
    let packing = packing.map_err(|error| error::SecateurError::new_err(error.to_string()))?;
    let certificate = PyBytes::new(py, &packing.certificate);
    Ok((packing.text, packing.header, certificate, packing.test))
}

/// The answer about a model as source, as `secateur-check --json` has it.
#[pyfunction]
pub(crate) fn check_source<'py>(
    py: Python<'py>,
    original: &Model,
    source: &[u8],
    certificate: &[u8],
) -> PyResult<Bound<'py, PyAny>> {
    let text = py.detach(|| match secateur::check_source(&original.file, source, certificate) {
        Ok(check) => check.json(&original.file).to_string(),
        Err(error) => secateur::malformed_packing(&error).to_string(),
    });
    py.import("json")?.call_method1("loads", (text,))
}

/// How the header beside source starts, by which one of ours is told from a user's.
#[pyfunction]
pub(crate) fn declarations_start() -> &'static str {
    secateur::DECLARATIONS_START
}
