//! `prune`: a smaller model that decides as this one does on every input.

use std::time::Instant;

use numpy::PyReadonlyArray2;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use secateur_oracle::Cancel;
use secateur_prune::{Config, Effort, Fate, Moves, Objective, Outcome, Status, Watch};

use crate::certificate::Evidence;
use crate::model::{Model, row_major};
use crate::{error, interrupt, options};

/// Prunes a model. `rows` are start points, `progress` is called with a dictionary whenever there is news.
#[pyfunction]
#[pyo3(signature = (
    model, rows=None, *, effort="thorough", objective="trees", moves="leaves", band=None, time_limit=None,
    threads=None, seed=0, progress=None, missing=true
))]
#[expect(clippy::too_many_arguments, reason = "each is an option of the package's function")]
pub(crate) fn prune<'py>(
    py: Python<'py>,
    model: &Model,
    rows: Option<PyReadonlyArray2<'py, f64>>,
    effort: &str,
    objective: &str,
    moves: &str,
    band: Option<f64>,
    time_limit: Option<f64>,
    threads: Option<usize>,
    seed: u64,
    progress: Option<Py<PyAny>>,
    missing: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let started = Instant::now();
    let cancel = Cancel::default();
    let config = Config {
        effort: options::choice("effort", effort, &EFFORTS)?,
        objective: options::choice("objective", objective, &OBJECTIVES)?,
        moves: options::choice("moves", moves, &MOVES)?,
        band: options::band(band),
        scope: options::scope(missing),
        deadline: options::deadline(started, time_limit)?,
        cancel: cancel.clone(),
        threads: options::threads(threads),
        seed,
        ..Config::default()
    };
    let data = rows.map(|rows| row_major(&rows).1).unwrap_or_default();
    let watch = Watch::default();
    let mut last = None;
    let look = |py: Python<'_>| {
        let Some(progress) = &progress else { return Ok(()) };
        let now = (watch.status(), watch.search.nodes());
        if last != Some(now) {
            last = Some(now);
            progress.call1(py, (status(py, &now.0, &watch)?,))?;
        }
        Ok(())
    };
    let pruned = interrupt::interruptible(py, &cancel, look, || {
        secateur_prune::prune(&model.file, &data, &config, &watch)
    })?
    .map_err(error::from_prune)?;

    let answer = PyDict::new(py);
    let outcome = match pruned.outcome {
        Outcome::Proved => "proved",
        Outcome::BudgetReached => "budget_reached",
        Outcome::AlreadyMinimal => "already_minimal",
    };
    answer.set_item("outcome", outcome)?;
    answer.set_item("trees", pruned.size.map(|size| size.trees))?;
    answer.set_item("leaves", pruned.size.map(|size| size.leaves))?;
    answer.set_item("lower_bound", pruned.lower_bound)?;
    answer.set_item("irreducible", pruned.irreducible)?;
    answer.set_item("fates", pruned.fates.iter().map(fate).collect::<Vec<_>>())?;
    answer.set_item("scope", pruned.scope.name())?;
    answer.set_item("band", pruned.band)?;
    answer.set_item("probability", secateur_cli::probabilities(&model.file, pruned.band))?;
    answer.set_item("oracle_calls", pruned.oracle_calls)?;
    answer.set_item("points", pruned.points)?;
    answer.set_item("evidence", Evidence(pruned.evidence))?;
    answer.set_item("model", model.edited(pruned.file))?;
    let seconds = PyDict::new(py);
    seconds.set_item("fold", pruned.seconds.fold)?;
    seconds.set_item("lp", pruned.seconds.lp)?;
    seconds.set_item("oracle", pruned.seconds.oracle)?;
    seconds.set_item("total", started.elapsed().as_secs_f64())?;
    answer.set_item("seconds", seconds)?;
    Ok(answer)
}

/// What two models do on rows that both accept, where the band is as in `prune` and `score` what it came to.
#[pyfunction]
#[pyo3(signature = (first, second, rows, band, score, *, missing=true))]
pub(crate) fn rows_seen<'py>(
    py: Python<'py>,
    first: &Model,
    second: &Model,
    rows: PyReadonlyArray2<'py, f64>,
    band: Option<f64>,
    score: f64,
    missing: bool,
) -> PyResult<Option<Bound<'py, PyDict>>> {
    let models = [first.file.ensemble(), second.file.ensemble()];
    let (width, data) = (models[0].features().len().max(1), row_major(&rows).1);
    let scoped = models.map(|model| model.within(options::scope(missing)));
    let accepted = |row: &&[f64]| scoped.iter().all(|model| model.accepts(row));
    let accepted: Vec<f64> = data.chunks_exact(width).filter(accepted).flatten().copied().collect();
    if accepted.is_empty() {
        return Ok(None);
    }
    let band = options::band(band);
    let seen = py
        .detach(|| secateur_prune::rows_seen(models, &|class| class, &accepted, band, score))
        .map_err(|error| PyValueError::new_err(error.to_string()))?;
    if let Some(row) = seen.excluded {
        let message = format!(
            "secateur itself failed: row {row} is decided otherwise, against the proof; please report it"
        );
        return Err(PyRuntimeError::new_err(message));
    }
    let dict = PyDict::new(py);
    dict.set_item("rows", seen.rows)?;
    dict.set_item("measured", seen.measured)?;
    dict.set_item("in_band", seen.in_band)?;
    dict.set_item("rounded", seen.rounded)?;
    dict.set_item("changed_in_band", seen.changed)?;
    dict.set_item("words", seen.words(band == secateur_oracle::Band::Exact))?;
    Ok(Some(dict))
}

/// What became of a tree in a word, and what it is multiplied by now.
fn fate(fate: &Fate) -> (&'static str, f64) {
    match *fate {
        Fate::Kept => ("kept", 1.0),
        Fate::Scaled(weight) => ("scaled", weight),
        Fate::Rewritten(weight) => ("rewritten", weight),
        Fate::Merged { weight, .. } => ("merged", weight),
        Fate::Constant => ("constant", 0.0),
        Fate::Dropped => ("dropped", 0.0),
    }
}

const EFFORTS: [(&str, Effort); 3] =
    [("fast", Effort::Fast), ("thorough", Effort::Thorough), ("minimum", Effort::Minimum)];
const OBJECTIVES: [(&str, Objective); 3] =
    [("trees", Objective::Trees), ("leaves", Objective::Leaves), ("bytes", Objective::Bytes)];
const MOVES: [(&str, Moves); 2] = [("leaves", Moves::Leaves), ("weights", Moves::Weights)];

fn status<'py>(py: Python<'py>, status: &Status, watch: &Watch) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("pass", status.pass.name())?;
    dict.set_item("round", status.round)?;
    dict.set_item("points", status.points)?;
    dict.set_item("candidate", status.candidate)?;
    dict.set_item("best", status.best)?;
    dict.set_item("lower_bound", status.lower_bound)?;
    dict.set_item("boxes", watch.search.nodes())?;
    dict.set_item("share", watch.search.share())?;
    Ok(dict)
}
