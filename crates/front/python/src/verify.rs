//! `verify`: do two models decide alike on every input?

use std::path::PathBuf;
use std::sync::Arc;

use numpy::{PyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use secateur::{
    Places, Question, VerifyOptions, VerifyReport,
    verify::{Answer, DecisionsFound, Found, StopReason, Undecided},
};

use crate::crew::Helpers;
use crate::model::{Model, row_major};
use crate::options::GivenDomain;
use crate::{error, interrupt, options};

/// Answers a question about two models for every input: whether they decide alike or, with `scores`, how far their
/// scores can be apart. `rows` are starting points. `band` is `None` for the smallest certain one, zero for exact
/// arithmetic. Without `missing`, inputs with missing values are left out; `domain` says which inputs can occur: a JSON
/// text, and the models that it refers to by position. With `certify` the proof is written down and checked, and
/// `certificate` is the path that it will have. Columns are matched by name if both models have names, and a row is in
/// the order of the first.
#[pyfunction]
#[pyo3(signature = (
    first, second, rows=None, *, band=None, threshold=None, scores=false, within=None, doubles=false, time_limit=None, threads=None, seed=0, missing=true, domain=None, certify=false,
    certificate=None, paths=(None, None), report=false, crew=None, checkpoint=None
))]
#[expect(clippy::too_many_arguments, reason = "each is an option of the package's function")]
pub(crate) fn verify<'py>(
    py: Python<'py>,
    first: &Model,
    second: &Model,
    rows: Option<PyReadonlyArray2<'py, f64>>,
    band: Option<f64>,
    threshold: Option<f64>,
    scores: bool,
    within: Option<f64>,
    doubles: bool,
    time_limit: Option<f64>,
    threads: Option<usize>,
    seed: u64,
    missing: bool,
    domain: Option<GivenDomain>,
    certify: bool,
    certificate: Option<String>,
    paths: (Option<String>, Option<String>),
    report: bool,
    crew: Option<Py<PyAny>>,
    checkpoint: Option<PathBuf>,
) -> PyResult<Bound<'py, PyDict>> {
    let budget = options::budget(time_limit)?;
    let helpers = crew.map(|object| Helpers::new(object, budget.cancel()));
    let crew = helpers.as_ref().map(|helpers| helpers.crew(py)).transpose()?;
    let settings = VerifyOptions {
        question: match scores {
            true => Question::Scores { within, doubles },
            false => Question::Decisions { band: options::band(band), threshold },
        },
        domain: options::domain(domain.as_ref(), missing, first)?,
        threads,
        seed,
        certificate: certify,
        // A certificate is about the files, which do not contain the labels of live objects.
        labels: if certify { [None, None] } else { [first.labels(), second.labels()] },
        crew,
        checkpoint,
    };
    let data = rows.map(|rows| row_major(&rows).1).unwrap_or_default();
    let progress = Arc::default();
    let cancel = budget.cancel();
    let found = interrupt::interruptible(
        py,
        &cancel,
        |_| Ok(()),
        || secateur::verify(&first.file, &second.file, &data, &settings, &budget, &progress),
    )?
    .map_err(error::from_road);
    if let Some(helpers) = &helpers {
        helpers.check()?;
    }
    let found = found?;
    let places = Places {
        original: paths.0.as_deref(),
        original_bytes: paths.0.as_deref().and_then(options::file_size),
        pruned: paths.1.as_deref(),
        pruned_bytes: paths.1.as_deref().and_then(options::file_size),
        certificate: certificate.as_deref().filter(|_| found.checked()),
    };
    let said = VerifyReport { first: &first.file, second: &second.file, answer: &found, places };

    let answer = PyDict::new(py);
    answer.set_item("json", said.json().to_string())?;
    answer.set_item("words", said.words(false))?;
    answer.set_item("html", report.then(|| said.html(&data)))?;
    answer.set_item("certificate", found.certificate.as_ref().map(|bytes| PyBytes::new(py, bytes)))?;
    answer.set_item("row", found.row().map(|row| PyArray1::from_slice(py, row)))?;
    answer.set_item("reason", found.reason())?;
    match &found.found {
        Found::Decisions(DecisionsFound { verdict: Answer::Different(example), .. }) => {
            answer.set_item("classes", example.classes.map(|class| class.0).to_vec())?;
            answer.set_item("scores", example.scores.to_vec())?;
        }
        Found::Decisions(DecisionsFound { verdict: Answer::Undecided(why), .. }) => {
            if matches!(why, Undecided::Stopped(StopReason::Cancelled)) {
                answer.set_item("reason", "it was interrupted")?;
            }
        }
        Found::Decisions(_) => {}
        Found::Scores(found) => {
            answer.set_item("scores", found.at_least.as_ref().map(|point| point.scores))?;
        }
    }
    Ok(answer)
}
