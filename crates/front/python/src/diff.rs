//! `diff`: what changed between two versions of a model?

use std::sync::Arc;

use numpy::{PyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use secateur::diff::{Options, Report};

use crate::model::{Model, row_major};
use crate::options::GivenDomain;
use crate::{error, interrupt, options};

/// Compares two versions. `rows` are counted, and are starting points of the search. `certificates` are the paths that
/// the two proofs will have.
#[pyfunction]
#[pyo3(signature = (
    first, second, rows=None, *, threshold=None, time_limit=None, threads=None, seed=0, missing=true, domain=None,
    certificates=(None, None)
))]
#[expect(clippy::too_many_arguments, reason = "each is an option of the package's function")]
pub(crate) fn diff<'py>(
    py: Python<'py>,
    first: &Model,
    second: &Model,
    rows: Option<PyReadonlyArray2<'py, f64>>,
    threshold: Option<f64>,
    time_limit: Option<f64>,
    threads: Option<usize>,
    seed: u64,
    missing: bool,
    domain: Option<GivenDomain>,
    certificates: (Option<String>, Option<String>),
) -> PyResult<Bound<'py, PyDict>> {
    let budget = options::budget(time_limit)?;
    let settings = Options {
        domain: options::domain(domain.as_ref(), missing, first)?,
        threshold,
        threads,
        seed,
        labels: [first.labels(), second.labels()],
    };
    let data = rows.map(|rows| row_major(&rows).1).unwrap_or_default();
    let progress = Arc::default();
    let cancel = budget.cancel();
    let found = interrupt::interruptible(
        py,
        &cancel,
        |_| Ok(()),
        || secateur::diff::diff(&first.file, &second.file, &data, &settings, &budget, &progress),
    )?
    .map_err(error::from_road)?;
    let proofs = found.certificates();
    let place = |at: usize, path: &Option<String>| proofs[at].and(path.clone());
    let places = [place(0, &certificates.0), place(1, &certificates.1)];
    let said = Report {
        first: &first.file,
        second: &second.file,
        difference: &found,
        certificates: [places[0].as_deref(), places[1].as_deref()],
    };
    let answer = PyDict::new(py);
    answer.set_item("json", said.json().to_string())?;
    answer.set_item("words", said.words(false))?;
    answer.set_item(
        "certificates",
        PyList::new(py, proofs.map(|proof| proof.map(|bytes| PyBytes::new(py, bytes))))?,
    )?;
    let rows =
        found.rows.iter().flat_map(|rows| &rows.first).map(|change| PyArray1::from_slice(py, &change.row));
    answer.set_item("rows", PyList::new(py, rows)?)?;
    let moved = found.scores.row().map(|row| PyArray1::from_slice(py, row));
    answer.set_item("moved", moved)?;
    let shown = found.keeps.as_ref().and_then(|keeps| keeps.shown.as_ref());
    answer.set_item("shown", shown.map(|change| PyArray1::from_slice(py, &change.row)))?;
    Ok(answer)
}
