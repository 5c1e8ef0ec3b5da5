//! `ask`: what can one model do?

use std::sync::Arc;

use numpy::{PyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use secateur::ask::{Options, Report, Rules};

use crate::model::{Model, row_major};
use crate::options::GivenDomain;
use crate::{error, interrupt, options};

/// The questions of a text of rules, in TOML, each as JSON; and the file of the domain that they name.
#[pyfunction]
pub(crate) fn rules_from_toml(text: &str) -> PyResult<(Vec<String>, Option<String>)> {
    let told = |error: secateur::ask::RulesError| error::option(error.to_string());
    let (rules, domain) = Rules::tables(text).map_err(told)?;
    Ok((rules.iter().map(ToString::to_string).collect(), domain))
}

/// Answers a question about a model: the JSON of a rule. `rows` are those that it is about, or start points.
#[pyfunction]
#[pyo3(signature = (
    model, question, rows=None, *, threshold=None, time_limit=None, threads=None, seed=0, missing=true, domain=None,
    certificate=None
))]
#[expect(clippy::too_many_arguments, reason = "each is an option of the package's function")]
pub(crate) fn ask<'py>(
    py: Python<'py>,
    model: &Model,
    question: &str,
    rows: Option<PyReadonlyArray2<'py, f64>>,
    threshold: Option<f64>,
    time_limit: Option<f64>,
    threads: Option<usize>,
    seed: u64,
    missing: bool,
    domain: Option<GivenDomain>,
    certificate: Option<String>,
) -> PyResult<Bound<'py, PyDict>> {
    let told = |error: &dyn std::fmt::Display| error::option(error.to_string());
    let rule: serde_json::Value = serde_json::from_str(question).map_err(|error| told(&error))?;
    let question = Rules::question(&rule).map_err(|error| told(&error))?;
    let budget = options::budget(time_limit)?;
    let settings = Options {
        domain: options::domain(domain.as_ref(), missing, model)?,
        threshold,
        threads,
        seed,
        labels: model.labels(),
    };
    let data = rows.map(|rows| row_major(&rows).1).unwrap_or_default();
    let progress = Arc::default();
    let cancel = budget.cancel();
    let found = interrupt::interruptible(
        py,
        &cancel,
        |_| Ok(()),
        || secateur::ask::ask(&model.file, &question, &data, &settings, &budget, &progress),
    )?
    .map_err(error::from_road)?;
    let certificate = certificate.as_deref().filter(|_| found.checked());
    let said = Report { model: &model.file, answer: &found, certificate };
    let answer = PyDict::new(py);
    answer.set_item("json", said.json().to_string())?;
    answer.set_item("words", said.words(false))?;
    answer.set_item("certificate", found.certificate.as_ref().map(|bytes| PyBytes::new(py, bytes)))?;
    let rows = found.rows.iter().map(|row| PyArray1::from_slice(py, &row.values));
    answer.set_item("rows", PyList::new(py, rows)?)?;
    let proof = |own: &secateur::ask::Case| own.certificate.as_ref().map(|bytes| PyBytes::new(py, bytes));
    answer.set_item("proofs", PyList::new(py, found.cases.iter().map(proof))?)?;
    let mut of_cases = Vec::with_capacity(found.cases.len());
    for own in &found.cases {
        of_cases.push(PyList::new(py, own.rows.iter().map(|row| PyArray1::from_slice(py, &row.values)))?);
    }
    answer.set_item("case_rows", PyList::new(py, of_cases)?)?;
    Ok(answer)
}
