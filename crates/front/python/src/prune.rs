//! `prune`: a smaller model that decides as this one does on every input, certified and checked.

use std::time::{Duration, Instant};

use numpy::PyReadonlyArray2;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use secateur::{Claim, Places, PruneOptions, PruneReport, Watch, prune::Status};
use secateur_model::ClassId;

use crate::crew::Helpers;
use crate::model::{Model, row_major};
use crate::options::GivenDomain;
use crate::{error, interrupt, options};

/// Progress is reported at least this often.
const STILL_THERE: Duration = Duration::from_millis(900);

/// Prunes a model, and certifies and checks the result unless `self_check` is off. `rows` are start points,
/// `progress` is called with a dictionary whenever there is news. `path` is the model's own, and `certificate` the one
/// that its certificate will be written to; both are only told of. `domain` says which inputs can occur: a JSON text, and the models that it names by position. With `report` the result has an HTML page. `classes`
/// are those of the rows, or none.
#[pyfunction]
#[pyo3(signature = (
    model, rows=None, *, effort="thorough", objective="trees", moves="leaves", weight_per=None, band=None, within=None, keep_scores=false, threshold=None,
    time_limit=None, threads=None, seed=0, progress=None, missing=true, domain=None,
    self_check=true, path=None, certificate=None, report=false, classes=Vec::new(), crew=None
))]
#[expect(clippy::too_many_arguments, reason = "each is an option of the package's function")]
pub(crate) fn prune<'py>(
    py: Python<'py>,
    model: &Model,
    rows: Option<PyReadonlyArray2<'py, f64>>,
    effort: &str,
    objective: &str,
    moves: &str,
    weight_per: Option<&str>,
    band: Option<f64>,
    within: Option<f64>,
    keep_scores: bool,
    threshold: Option<f64>,
    time_limit: Option<f64>,
    threads: Option<usize>,
    seed: u64,
    progress: Option<Py<PyAny>>,
    missing: bool,
    domain: Option<GivenDomain>,
    self_check: bool,
    path: Option<String>,
    certificate: Option<String>,
    report: bool,
    classes: Vec<u32>,
    crew: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let budget = options::pruning_budget(time_limit)?;
    let helpers = crew.map(|object| Helpers::new(object, budget.cancel()));
    let crew = helpers.as_ref().map(|helpers| helpers.crew(py)).transpose()?;
    let settings = PruneOptions {
        effort: options::choice("effort", effort)?,
        objective: options::choice("objective", objective)?,
        moves: options::choice("moves", moves)?,
        weight_per: weight_per.map(|word| options::choice("weight_per", word)).transpose()?,
        claim: match within {
            Some(within) => Claim::Scores { within },
            None if keep_scores => secateur::prune::keep_scores(&model.file),
            None => Claim::Decisions { band: options::band(band) },
        },
        threshold,
        classes: classes.into_iter().map(ClassId).collect(),
        labels: model.labels(),
        domain: options::domain(domain.as_ref(), missing, model)?,
        threads,
        seed,
        self_check,
        record: report,
        crew,
    };
    let data = rows.map(|rows| row_major(&rows).1).unwrap_or_default();
    let watch = Watch::default();
    let mut last = None;
    let mut told = Instant::now();
    let look = |py: Python<'_>| {
        let Some(progress) = &progress else { return Ok(()) };
        let now = (watch.status(), watch.search.nodes());
        // The caller sees that the run is alive, even if there is no news.
        if last != Some(now) || told.elapsed() >= STILL_THERE {
            (last, told) = (Some(now), Instant::now());
            progress.call1(py, (status(py, &now.0, &watch)?,))?;
        }
        Ok(())
    };
    let pruning = interrupt::stoppable(py, &budget.cancel(), look, || {
        secateur::prune(&model.file, &data, &settings, &budget, &watch)
    })?
    .map_err(error::from_road);
    if let Some(helpers) = &helpers {
        helpers.check()?;
    }
    let pruning = pruning?;
    let said = PruneReport {
        original: &model.file,
        options: &settings,
        pruning: &pruning,
        places: Places {
            original: path.as_deref(),
            original_bytes: path.as_deref().and_then(options::file_size),
            certificate: certificate.as_deref().filter(|_| pruning.checked()),
            ..Places::default()
        },
    };

    let answer = PyDict::new(py);
    answer.set_item("json", said.json().to_string())?;
    answer.set_item("words", said.words(false))?;
    answer.set_item("claim", said.claim_words())?;
    let exact = settings.claim.band() == Some(secateur::Band::Exact);
    answer.set_item("data", pruning.rows.as_ref().map(|seen| seen.words(exact)))?;
    answer.set_item("html", report.then(|| said.html(&data)))?;
    let proof = pruning.certificate.as_ref();
    answer.set_item("certificate", proof.map(|proof| PyBytes::new(py, &proof.bytes)))?;
    answer.set_item("model", model.edited(pruning.pruned.file))?;
    Ok(answer)
}

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
