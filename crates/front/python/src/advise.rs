//! `advise`: what packing and pruning would give for a model.

use std::sync::Arc;
use std::time::Duration;

use numpy::PyReadonlyArray2;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use secateur::Cancel;

use crate::model::{Model, row_major};
use crate::{error, interrupt, options};

/// What was measured.
#[pyclass(frozen, module = "secateur")]
pub(crate) struct Advice {
    advice: secateur::Advice,
    path: Option<String>,
}

#[pymethods]
impl Advice {
    /// As a JSON text.
    fn json(&self) -> String {
        self.advice.json(self.path.as_deref()).to_string()
    }

    /// For people. `library` is a sentence about the model's own library.
    #[pyo3(signature = (library=None))]
    fn words(&self, library: Option<&str>) -> String {
        self.advice.words(self.path.as_deref(), library)
    }

    /// The packed file, which has not been tested.
    #[getter]
    fn packed<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        self.advice.pack.as_ref().ok().map(|size| PyBytes::new(py, &size.file))
    }
}

/// Measures what packing and pruning would give; see `secateur.advise`.
#[pyfunction]
#[pyo3(signature = (model, rows=None, *, time_limit=10.0, path=None))]
pub(crate) fn advise(
    py: Python<'_>,
    model: &Model,
    rows: Option<PyReadonlyArray2<'_, f64>>,
    time_limit: f64,
    path: Option<String>,
) -> PyResult<Advice> {
    let limit = Duration::try_from_secs_f64(time_limit)
        .map_err(|_| error::option(format!("time_limit must not be {time_limit}")))?;
    let data = rows.map(|rows| row_major(&rows).1).unwrap_or_default();
    let cancel = Cancel::default();
    let (file, labels) = (Arc::clone(&model.file), model.labels());
    let bytes = path.as_deref().and_then(options::file_size);
    let work = || secateur::advise(&file, bytes, (&data, labels.as_ref()), limit, &cancel);
    let advice = interrupt::interruptible(py, &cancel, |_| Ok(()), work)?;
    Ok(Advice { advice, path })
}
