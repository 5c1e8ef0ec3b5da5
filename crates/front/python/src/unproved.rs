//! `prune_to_size` and `prune_without_proof`: models that may decide differently from the original.

use numpy::PyReadonlyArray2;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use secateur::prune::unproved::{Order, Scrutiny, Unproved};
use secateur::{Claim, Places, PruneOptions, Watch, model::ClassId};

use crate::model::{Model, row_major};
use crate::options::GivenDomain;
use crate::{error, interrupt, options};

/// Keeps `size` trees or rounds of trees, chosen on rows with known classes. Decisions change.
#[pyfunction]
#[pyo3(signature = (model, rows, classes, *, method, size))]
pub(crate) fn prune_to_size<'py>(
    py: Python<'py>,
    model: &Model,
    rows: PyReadonlyArray2<'py, f64>,
    classes: Vec<u32>,
    method: &str,
    size: usize,
) -> PyResult<Bound<'py, PyDict>> {
    let order = options::choice::<Order>("method", method)?;
    let (_, data) = row_major(&rows);
    let classes: Vec<ClassId> = classes.into_iter().map(ClassId).collect();
    let pruned = py
        .detach(|| secateur::prune::unproved::prune_to_size(&model.file, &data, &classes, order, size))
        .map_err(error::from_road)?;
    told(py, model, pruned)
}

/// The paper's pruner without its oracle, or with one that may visit `boxes` boxes for each question. Decisions may change;
/// what the oracle finds against the model in the end is told.
#[pyfunction]
#[pyo3(signature = (
    model, rows, classes, *, boxes=None, effort="thorough", objective="trees", moves="leaves", weight_per=None, band=None,
    time_limit=None, threads=None, seed=0, missing=true, domain=None
))]
#[expect(clippy::too_many_arguments, reason = "each is an option of the package's function")]
pub(crate) fn prune_without_proof<'py>(
    py: Python<'py>,
    model: &Model,
    rows: PyReadonlyArray2<'py, f64>,
    classes: Vec<u32>,
    boxes: Option<u64>,
    effort: &str,
    objective: &str,
    moves: &str,
    weight_per: Option<&str>,
    band: Option<f64>,
    time_limit: Option<f64>,
    threads: Option<usize>,
    seed: u64,
    missing: bool,
    domain: Option<GivenDomain>,
) -> PyResult<Bound<'py, PyDict>> {
    let budget = options::budget(time_limit)?;
    let settings = PruneOptions {
        effort: options::choice("effort", effort)?,
        objective: options::choice("objective", objective)?,
        moves: options::choice("moves", moves)?,
        weight_per: weight_per.map(|word| options::choice("weight_per", word)).transpose()?,
        claim: Claim::Decisions { band: options::band(band) },
        threshold: None,
        classes: Vec::new(),
        labels: None,
        domain: options::domain(domain.as_ref(), missing, model)?,
        threads,
        seed,
        self_check: false,
        record: false,
        crew: None,
    };
    let scrutiny = boxes.map_or(Scrutiny::Rows, Scrutiny::Boxes);
    let (_, data) = row_major(&rows);
    let classes: Vec<ClassId> = classes.into_iter().map(ClassId).collect();
    let watch = Watch::default();
    let pruned = interrupt::interruptible(
        py,
        &budget.cancel(),
        |_| Ok(()),
        || {
            secateur::prune::unproved::prune_without_proof(
                &model.file,
                &data,
                &classes,
                scrutiny,
                &settings,
                &budget,
                &watch,
            )
        },
    )?
    .map_err(error::from_road)?;
    told(py, model, pruned)
}

/// A model without a proof, with the report about it.
fn told<'py>(py: Python<'py>, model: &Model, pruned: Unproved) -> PyResult<Bound<'py, PyDict>> {
    let places = Places::default();
    let answer = PyDict::new(py);
    answer.set_item("json", pruned.json(places, 0.0).to_string())?;
    answer.set_item("words", pruned.words(places))?;
    answer.set_item("model", model.edited(pruned.file))?;
    Ok(answer)
}
