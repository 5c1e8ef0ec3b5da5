//! A model as source, and the check of its certificate.

use pyo3::prelude::*;
use pyo3::types::{PyAny, PyBytes};

use secateur::{
    Cancel,
    pack::{LeafBits, LeafOptions, SourceForm, SourceLayout, SourceOptions, SourcePacking},
};

use crate::model::Model;
use crate::options::GivenDomain;
use crate::{error, interrupt, options};

/// The parts of a model as source: the source, the files beside it by their endings, the
/// certificate, the test.
type Files<'py> = (Bound<'py, PyBytes>, Vec<(&'static str, String)>, Bound<'py, PyBytes>, Option<String>);

fn files<'py>(py: Python<'py>, packing: SourcePacking) -> Files<'py> {
    let beside = packing.beside.into_iter().map(|beside| (beside.ending, beside.text)).collect();
    (PyBytes::new(py, &packing.bytes), beside, PyBytes::new(py, &packing.certificate), packing.test)
}

/// Writes a model as C, Rust or WebAssembly. `file` is the name of the file that it goes to, whose ending says which.
#[pyfunction]
#[pyo3(signature = (model, file, name, keys, layout, probabilities, test))]
#[allow(clippy::too_many_arguments, reason = "each is a keyword of the Python function")]
pub(crate) fn source<'py>(
    py: Python<'py>,
    model: &Model,
    file: &str,
    name: Option<String>,
    keys: bool,
    layout: &str,
    probabilities: bool,
    test: bool,
) -> PyResult<Files<'py>> {
    let name = &name.unwrap_or_else(|| SourceOptions::name_of(file));
    let labels = model.labels();
    let (form, layout) = (form(file)?, layout_of(layout)?);
    let labels = labels.as_ref();
    let options = SourceOptions { form, name, labels, file, keys, layout, probabilities, test };
    let cancel = Cancel::default();
    let mut watch = |_: f64| !cancel.is_cancelled();
    let packing = interrupt::interruptible(
        py,
        &cancel,
        |_| Ok(()),
        || secateur::pack::pack_source(&model.file, &options, &mut watch),
    )?;
    let packing = packing.map_err(|error| error::SecateurError::new_err(error.to_string()))?;
    Ok(files(py, packing))
}

fn layout_of(name: &str) -> PyResult<SourceLayout> {
    match name {
        "compact" => Ok(SourceLayout::Compact),
        "small" => Ok(SourceLayout::Small),
        "fast" => Ok(SourceLayout::Fast),
        _ => Err(error::InputError::new_err(format!("{name:?} is no layout"))),
    }
}

fn form(file: &str) -> PyResult<SourceForm> {
    let ending = file.rsplit_once('.').map_or("", |(_, ending)| ending);
    match ending.to_ascii_lowercase().as_str() {
        "c" => Ok(SourceForm::C),
        "h" => Ok(SourceForm::Header),
        "rs" => Ok(SourceForm::Rust),
        "wasm" => Ok(SourceForm::Wasm),
        _ => Err(error::InputError::new_err(format!("{ending:?} is no ending of source"))),
    }
}

/// The parts of a model as source with quantised leaves, the text that `secateur pack --json`
/// prints about it, and the same in words.
type QuantisedFiles<'py> = (Files<'py>, String, String);

/// Writes a model as C, Rust or WebAssembly with quantised leaves.
#[pyfunction]
#[pyo3(signature = (model, file, name, keys, layout, probabilities, test, bits, same_decisions, time_limit, missing, domain, threads))]
#[allow(clippy::too_many_arguments, reason = "each is a keyword of the Python function")]
pub(crate) fn quantised_source<'py>(
    py: Python<'py>,
    model: &Model,
    file: &str,
    name: Option<String>,
    keys: bool,
    layout: &str,
    probabilities: bool,
    test: bool,
    bits: u32,
    same_decisions: bool,
    time_limit: Option<f64>,
    missing: bool,
    domain: Option<GivenDomain>,
    threads: Option<usize>,
) -> PyResult<QuantisedFiles<'py>> {
    let name = &name.unwrap_or_else(|| SourceOptions::name_of(file));
    let bits = match bits {
        8 => LeafBits::Eight,
        16 => LeafBits::Sixteen,
        _ => return Err(error::InputError::new_err("leaves have 16 or 8 bits")),
    };
    let labels = model.labels();
    let (form, layout) = (form(file)?, layout_of(layout)?);
    let options =
        SourceOptions { form, name, labels: labels.as_ref(), file, keys, layout, probabilities, test };
    let mut leaves = LeafOptions::new(bits);
    leaves.domain = options::domain(domain.as_ref(), missing, model)?;
    (leaves.same_decisions, leaves.threads) = (same_decisions, threads);
    let budget = options::budget(time_limit)?;
    let (cancel, progress) = (budget.cancel(), Default::default());
    let mut watch = |_: f64| !cancel.is_cancelled();
    let work = || {
        secateur::pack::pack_quantised(&model.file, None, &options, &leaves, &budget, &progress, &mut watch)
    };
    let packed = interrupt::interruptible(py, &cancel, |_| Ok(()), work)?;
    let packed = packed.map_err(|error| error::SecateurError::new_err(error.to_string()))?;
    let (facts, words) = (packed.json(&model.file, None, None), packed.words(&model.file, None, false));
    Ok((files(py, packed.source), facts.to_string(), words))
}

/// The answer about a model as source, as `secateur-check --json` has it.
#[pyfunction]
pub(crate) fn check_source<'py>(
    py: Python<'py>,
    original: &Model,
    source: &[u8],
    certificate: &[u8],
) -> PyResult<Bound<'py, PyAny>> {
    let text = py.detach(|| match secateur::pack::check_source(&original.file, source, certificate) {
        Ok(check) => check.json(&original.file).to_string(),
        Err(error) => secateur::pack::malformed_packing(&error).to_string(),
    });
    py.import("json")?.call_method1("loads", (text,))
}

/// What goes beside source of this name: the ending of each file, what it is, and how each of ours starts, by which it is told from a user's.
#[pyfunction]
pub(crate) fn beside_source(file: &str) -> PyResult<Vec<(&'static str, &'static str, &'static str)>> {
    Ok(secateur::pack::beside(form(file)?).to_vec())
}
