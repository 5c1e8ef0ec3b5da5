//! `compare`: do two models decide alike on every input?

use std::time::{Duration, Instant};

use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use secateur_model::{FeatureId, Label};
use secateur_oracle::{
    Budget, Cancel, CompareError, Compared, Options, Outline, StopReason, Undecided, Verdict,
};

use crate::model::Model;
use crate::{error, interrupt, options};

/// What may be spent, after a time limit is reached, on saying what is known.
const AFTER_LIMIT: Duration = Duration::from_millis(200);

/// Proves that two models decide alike, or finds an input on which they do not. `band` is `None` for the
/// smallest certain one, zero for exact arithmetic; without `missing`, inputs with missing values are left
/// out. Columns are matched by name where both models have names, and a row is in the order of the first.
#[pyfunction]
#[pyo3(signature = (first, second, band=None, time_limit=None, threads=None, seed=0, *, missing=true))]
#[expect(clippy::too_many_arguments, reason = "each is an option of the package's function")]
pub(crate) fn compare<'py>(
    py: Python<'py>,
    first: &Model,
    second: &Model,
    band: Option<f64>,
    time_limit: Option<f64>,
    threads: Option<usize>,
    seed: u64,
    missing: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let started = Instant::now();
    let deadline = options::deadline(started, time_limit)?;
    let band = options::band(band);
    // Classes are matched by the labels that live objects return.
    let (ours, theirs) = (first.labelled(), second.labelled());
    let ours = ours.within(options::scope(missing));
    let (ours, theirs) = (ours.as_ref(), theirs.as_ref());
    // As on the command line: by name where both have names, else by order.
    let named = ours.features().has_names() && theirs.features().has_names();
    let reordered = if named { theirs.with_column_order(ours.features()) } else { None };
    let theirs = reordered.as_ref().unwrap_or(theirs);
    let outline = py.detach(|| Outline::new(ours, theirs, band)).map_err(error::from_compare)?;
    let cancel = Cancel::default();
    let budget = Budget { deadline, cancel: cancel.clone(), ..Budget::unlimited() };
    let settings = Options { budget, threads: options::threads(threads), seed, ..Options::unlimited() };
    let (compared, proved_above) = interrupt::interruptible(
        py,
        &cancel,
        |_| Ok(()),
        || {
            let without_search = |verdict| Ok((Compared { verdict, nodes: 0 }, None));
            // A model and itself: there is nothing to lay out.
            if outline.is_same_model() {
                return without_search(Verdict::Identical);
            }
            // With no time left, small models are still laid out for what is said at the end.
            let least = Instant::now() + AFTER_LIMIT;
            let layout = Budget { deadline: deadline.map(|d| d.max(least)), ..settings.budget.clone() };
            let comparison = match outline.clone().lay_out(&layout) {
                Ok(comparison) => comparison,
                Err(CompareError::Stopped(reason)) => {
                    return without_search(Verdict::Undecided(Undecided::Stopped(reason)));
                }
                Err(error) => return Err(error),
            };
            let compared = comparison.run(&settings);
            let undecided = matches!(compared.verdict, Verdict::Undecided(_)) && !cancel.is_cancelled();
            // What is known all the same may take a little more than the limit, not much.
            let after = Budget {
                deadline: deadline.map(|_| Instant::now() + AFTER_LIMIT),
                ..settings.budget.clone()
            };
            let above = if undecided { comparison.proved_above(&after) } else { None };
            Ok((compared, above))
        },
    )?
    .map_err(error::from_compare)?;

    let answer = PyDict::new(py);
    answer.set_item("scope", outline.scope().name())?;
    let labels = outline.labels();
    let names = |columns: &mut dyn Iterator<Item = FeatureId>| -> Vec<String> {
        columns.map(|feature| ours.features().name(feature).into_owned()).collect()
    };
    answer.set_item("by_label", names(&mut labels.by_label()))?;
    answer.set_item("by_code", names(&mut labels.by_code()))?;
    answer.set_item("unplaced", labels.unplaced_by_code())?;
    answer.set_item("band", outline.band())?;
    answer.set_item("proved_above", proved_above)?;
    answer.set_item("nodes", compared.nodes)?;
    answer.set_item("seconds", started.elapsed().as_secs_f64())?;
    match compared.verdict {
        Verdict::Identical => answer.set_item("outcome", "identical")?,
        Verdict::Different(example) => {
            answer.set_item("outcome", "different")?;
            let found = PyDict::new(py);
            for (index, &value) in example.row.iter().enumerate() {
                let Some(label) = labels.label(FeatureId::new(index), value) else { continue };
                let name = ours.features().name(FeatureId::new(index));
                match &*label {
                    Label::Text(text) | Label::Unreadable(text) => found.set_item(name, text)?,
                    Label::Integer(number) => found.set_item(name, number)?,
                    Label::Float(number) => found.set_item(name, number)?,
                    Label::Boolean(value) => found.set_item(name, value)?,
                }
            }
            answer.set_item("labels", found)?;
            answer.set_item("row", PyArray1::from_vec(py, example.row))?;
            answer.set_item("classes", example.classes.map(|class| class.0).to_vec())?;
            answer.set_item("scores", example.scores.to_vec())?;
            answer.set_item("in_libraries", example.in_libraries)?;
        }
        Verdict::Undecided(why) => {
            answer.set_item("outcome", "undecided")?;
            let reason = match why {
                Undecided::Stopped(StopReason::Time) => "the time limit was reached",
                Undecided::Stopped(StopReason::Cancelled) => "it was interrupted",
                Undecided::Stopped(_) => "the budget was used up",
                Undecided::OrderOfAddition(row) => {
                    answer.set_item("row", PyArray1::from_vec(py, row))?;
                    "the last bits of the second model's scores vary (order of addition, processor), and on this row \
                     they may decide"
                }
            };
            answer.set_item("reason", reason)?;
        }
    }
    Ok(answer)
}
