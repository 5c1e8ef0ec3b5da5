//! A model as source, and the check of its certificate.

use pyo3::prelude::*;
use pyo3::types::{PyAny, PyBytes};

use secateur::{Cancel, LeafBits, LeafOptions, SourceForm, SourceOptions};

use crate::model::Model;
use crate::options::GivenDomain;
use crate::{error, interrupt, options};

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
    let form = form(ending)?;
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

fn form(ending: &str) -> PyResult<SourceForm> {
    match ending {
        "c" => Ok(SourceForm::C),
        "h" => Ok(SourceForm::Header),
        "rs" => Ok(SourceForm::Rust),
        _ => Err(error::InputError::new_err(format!("{ending:?} is no ending of source"))),
    }
}

/// The parts of a model as source with quantised leaves, what `secateur pack --json` prints of it, and the same in words.
type QuantisedFiles<'py> = (Files<'py>, String, String);

/// Writes a model as C or Rust with quantised leaves.
#[pyfunction]
#[pyo3(signature = (model, ending, name, header, bits, same_decisions, time_limit, missing, domain, threads))]
#[allow(clippy::too_many_arguments, reason = "each is a keyword of the Python function")]
pub(crate) fn quantised_source<'py>(
    py: Python<'py>,
    model: &Model,
    ending: &str,
    name: &str,
    header: Option<&str>,
    bits: u32,
    same_decisions: bool,
    time_limit: Option<f64>,
    missing: bool,
    domain: Option<GivenDomain>,
    threads: Option<usize>,
) -> PyResult<QuantisedFiles<'py>> {
    let bits = match bits {
        8 => LeafBits::Eight,
        16 => LeafBits::Sixteen,
        _ => return Err(error::InputError::new_err("leaves have 16 or 8 bits")),
    };
    let labels = model.labels();
    let options = SourceOptions { form: form(ending)?, name, labels: labels.as_ref(), test: header };
    let mut leaves = LeafOptions::new(bits);
    leaves.domain = options::domain(domain.as_ref(), missing, model)?;
    (leaves.same_decisions, leaves.threads) = (same_decisions, threads);
    let budget = options::budget(time_limit)?;
    let (cancel, progress) = (budget.cancel(), Default::default());
    let packed = interrupt::interruptible(
        py,
        &cancel,
        |_| Ok(()),
        || secateur::pack_quantised(&model.file, None, &options, &leaves, &budget, &progress, &mut |_| true),
    )?;
    let packed = packed.map_err(|error| error::SecateurError::new_err(error.to_string()))?;
    let (facts, words) = (packed.json(&model.file, None, None), packed.words(&model.file, None, false));
    let source = packed.source;
    let certificate = PyBytes::new(py, &source.certificate);
    Ok(((source.text, source.header, certificate, source.test), facts.to_string(), words))
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
