//! `prune_to_size`: the paper's baselines, whose models decide otherwise than the original.

use numpy::PyReadonlyArray2;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use secateur::unproved::Order;
use secateur::{ClassId, Places};

use crate::model::{Model, row_major};
use crate::{error, options};

const METHODS: [(&str, Order); 3] =
    [("ic", Order::Contribution), ("imd", Order::MarginDiversity), ("drep", Order::Diversity)];

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
    let order = options::choice("method", method, &METHODS)?;
    let (_, data) = row_major(&rows);
    let classes: Vec<ClassId> = classes.into_iter().map(ClassId).collect();
    let pruned = py
        .detach(|| secateur::unproved::prune_to_size(&model.file, &data, &classes, order, size))
        .map_err(error::from_road)?;
    let places = Places::default();
    let answer = PyDict::new(py);
    answer.set_item("json", pruned.json(places, 0.0).to_string())?;
    answer.set_item("words", pruned.words(places))?;
    answer.set_item("model", model.edited(pruned.file))?;
    Ok(answer)
}
