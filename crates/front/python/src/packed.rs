//! `Packed`: a packed model that is ready to run.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use numpy::{
    IntoPyArray, PyArray1, PyArray2, PyArray3, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2,
    PyUntypedArrayMethods,
};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};

use secateur_runtime::{
    Contributions, Decision, Float, Labels, Link, Model as Runtime, Number, Path, PredictError, Rows,
    SparseRows, Value,
};

use secateur::{Cancel, pack::PackingError};

use crate::model::Model;
use crate::{error, interrupt, options};

/// A packed model, run by `secateur-runtime`.
#[pyclass(frozen, module = "secateur")]
pub(crate) struct Packed {
    bytes: Vec<u8>,
    certificate: Option<Vec<u8>>,
    model: Runtime,
    /// Made when contributions are asked for the first time.
    contributions: OnceLock<Result<Contributions, PredictError>>,
}

/// Rows of either float type.
enum Table<'py> {
    Narrow(PyReadonlyArray2<'py, f32>),
    Wide(PyReadonlyArray2<'py, f64>),
    SparseNarrow(Sparse<'py, f32>),
    SparseWide(Sparse<'py, f64>),
}

/// Rows of which most values are absent: where each row starts, columns, values, the number of
/// columns, and what the library reads for an absent value.
struct Sparse<'py, T: numpy::Element> {
    starts: Vec<usize>,
    columns: PyReadonlyArray1<'py, u32>,
    values: PyReadonlyArray1<'py, T>,
    width: usize,
    absent: T,
}

impl<'py> Table<'py> {
    /// A NumPy array of two dimensions. Checking its type costs far less than a failed conversion.
    fn of(rows: &Bound<'py, PyAny>) -> PyResult<Self> {
        if let Ok(array) = rows.cast::<PyArray2<f64>>() {
            Ok(Self::Wide(array.readonly()))
        } else if let Ok(array) = rows.cast::<PyArray2<f32>>() {
            Ok(Self::Narrow(array.readonly()))
        } else if let Ok(parts) = rows.cast::<PyTuple>() {
            Self::of_sparse(parts)
        } else {
            Err(error::InputError::new_err("rows are a NumPy array of two dimensions, of float32 or float64"))
        }
    }
}

impl<'py> Table<'py> {
    /// The parts of a sparse table, as `_rows.py` gives them.
    fn of_sparse(parts: &Bound<'py, PyTuple>) -> PyResult<Self> {
        let (starts, columns, values, width, absent): (
            PyReadonlyArray1<'py, u64>,
            PyReadonlyArray1<'py, u32>,
            Bound<'py, PyAny>,
            usize,
            f64,
        ) = parts.extract()?;
        let starts: Vec<usize> = starts.as_slice()?.iter().map(|&start| start as usize).collect();
        Ok(match values.cast::<PyArray1<f64>>() {
            Ok(values) => {
                Self::SparseWide(Sparse { starts, columns, values: values.readonly(), width, absent })
            }
            Err(_) => Self::SparseNarrow(Sparse {
                starts,
                columns,
                values: values.extract()?,
                width,
                absent: absent as f32,
            }),
        })
    }
}

/// The result that is computed from the scores.
#[derive(Clone, Copy)]
enum Answer {
    Classes,
    Probabilities,
    Values,
}

/// How to compute: the path, and the number of threads.
#[derive(Clone, Copy)]
struct How {
    path: Path,
    threads: usize,
}

impl How {
    fn new(path: Option<&str>, threads: usize) -> PyResult<Self> {
        let path = match path {
            None => Path::best(),
            Some(name) => Path::from_name(name).ok_or_else(|| {
                error::InputError::new_err(format!("{name:?} is not a path of the runtime"))
            })?,
        };
        Ok(Self { path, threads })
    }
}

impl Packed {
    fn load(bytes: Vec<u8>, certificate: Option<Vec<u8>>) -> PyResult<Self> {
        let model = Runtime::load(&bytes).map_err(|error| error::ModelError::new_err(error.to_string()))?;
        Ok(Self { bytes, certificate, model, contributions: OnceLock::new() })
    }

    /// The scores of a table of either float type, in any contiguous order.
    fn scores(&self, py: Python<'_>, table: &Table<'_>, how: How) -> PyResult<(usize, Vec<f64>)> {
        match table {
            Table::Narrow(array) => self.scores_of(py, array, how),
            Table::Wide(array) => self.scores_of(py, array, how),
            Table::SparseNarrow(sparse) => self.scores_of_sparse(py, sparse, how),
            Table::SparseWide(sparse) => self.scores_of_sparse(py, sparse, how),
        }
    }

    fn scores_of_sparse<T: Float + numpy::Element>(
        &self,
        py: Python<'_>,
        sparse: &Sparse<'_, T>,
        how: How,
    ) -> PyResult<(usize, Vec<f64>)> {
        let (columns, values) = (sparse.columns.as_slice()?, sparse.values.as_slice()?);
        let (starts, width, absent) = (&sparse.starts, sparse.width, sparse.absent);
        py.detach(|| {
            let rows = SparseRows::new(starts, columns, values, width, absent)?;
            let mut scores = vec![0.0; rows.count() * self.model.outputs()];
            self.model.raw_scores_of_sparse(how.path, rows, how.threads, &mut scores)?;
            Ok((rows.count(), scores))
        })
        .map_err(from_predict)
    }

    fn scores_of<T: Float + numpy::Element>(
        &self,
        py: Python<'_>,
        array: &PyReadonlyArray2<'_, T>,
        how: How,
    ) -> PyResult<(usize, Vec<f64>)> {
        let (count, width) = (array.shape()[0], array.shape()[1]);
        let strides = array.strides();
        let step = |stride: isize| usize::try_from(stride).unwrap_or(0) / size_of::<T>();
        let (by_row, by_column) = (step(strides[0]), step(strides[1]));
        let values = array.as_slice()?;
        py.detach(|| {
            let rows = Rows::strided(values, count, width, by_row, by_column)?;
            let mut scores = vec![0.0; count * self.model.outputs()];
            self.model.raw_scores_by_threads(how.path, rows, how.threads, &mut scores)?;
            Ok((count, scores))
        })
        .map_err(from_predict)
    }

    fn tables(&self) -> PyResult<&Contributions> {
        let made = self.contributions.get_or_init(|| Contributions::new(&self.model));
        made.as_ref().map_err(|error| error::ModelError::new_err(error.to_string()))
    }

    fn contributions_of<T: Float + numpy::Element>(
        &self,
        py: Python<'_>,
        array: &PyReadonlyArray2<'_, T>,
    ) -> PyResult<(usize, Vec<f64>)> {
        let tables = self.tables()?;
        let (count, width) = (array.shape()[0], array.shape()[1]);
        let strides = array.strides();
        let step = |stride: isize| usize::try_from(stride).unwrap_or(0) / size_of::<T>();
        let (by_row, by_column) = (step(strides[0]), step(strides[1]));
        let values = array.as_slice()?;
        py.detach(|| {
            let rows = Rows::strided(values, count, width, by_row, by_column)?;
            let mut out = vec![0.0; count * self.model.outputs() * (self.model.features() + 1)];
            tables.of(&self.model, rows, &mut out)?;
            Ok((count, out))
        })
        .map_err(from_predict)
    }

    fn decided(
        &self,
        py: Python<'_>,
        table: &Table<'_>,
        how: How,
        what: Answer,
    ) -> PyResult<(usize, Vec<f64>)> {
        let (count, scores) = self.scores(py, table, how)?;
        let width = match what {
            Answer::Classes => 1,
            Answer::Probabilities => self.model.class_count(),
            Answer::Values => self.model.outputs(),
        };
        let mut out = vec![0.0; count * width];
        py.detach(|| match what {
            Answer::Classes => self.model.classes_of(&scores, &mut out),
            Answer::Probabilities => self.model.probabilities_of(&scores, &mut out),
            Answer::Values => self.model.values_of(&scores, &mut out),
        })
        .map_err(from_predict)?;
        Ok((count, out))
    }
}

fn from_predict(error: PredictError) -> PyErr {
    match error {
        PredictError::ValuesVary | PredictError::ValuesUnknown => {
            error::ModelError::new_err(error.to_string())
        }
        _ => error::InputError::new_err(error.to_string()),
    }
}

#[pymethods]
impl Packed {
    /// Packs a model, with the labels of the object that it came from. `progress` is called with a dictionary that has the share
    /// of the work that is done.
    #[staticmethod]
    #[pyo3(signature = (model, *, contributions=false, time_limit=None, progress=None))]
    fn pack(
        py: Python<'_>,
        model: &Model,
        contributions: bool,
        time_limit: Option<f64>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let labels = model.labels();
        let budget = options::budget(time_limit)?;
        let (cancel, deadline) = (budget.cancel(), budget.deadline());
        let is_over = || deadline.is_some_and(|deadline| Instant::now() >= deadline);
        // The bits of the share that is done.
        let done = AtomicU64::new(0);
        let mut watch = |share: f64| {
            done.store(share.to_bits(), Ordering::Relaxed);
            !cancel.is_cancelled() && !is_over()
        };
        let look = |py: Python<'_>| {
            let Some(progress) = &progress else { return Ok(()) };
            let status = PyDict::new(py);
            status.set_item("share", f64::from_bits(done.load(Ordering::Relaxed)))?;
            progress.call1(py, (status,)).map(|_| ())
        };
        let work = || match contributions {
            true => secateur::pack::pack_with_covers(&model.file, labels.as_ref(), &mut watch),
            false => secateur::pack::pack_watched(&model.file, labels.as_ref(), &mut watch),
        };
        let packing = interrupt::interruptible(py, &cancel, look, work)?;
        let packing = packing.map_err(|error| match error {
            PackingError::Stopped if is_over() => error::SecateurError::new_err(
                "the time limit was reached before the packed model was tested; give it more time",
            ),
            error => error::SecateurError::new_err(error.to_string()),
        })?;
        Self::load(packing.bytes, Some(packing.certificate))
    }

    /// The same packed model with the covers of the model that it was made of, for contributions. Its certificate is about other
    /// bytes, so it has none.
    fn covered(&self, model: &Model) -> PyResult<Self> {
        let bytes =
            secateur_formats::packed::File::with_covers(&model.file, &self.bytes).ok_or_else(|| {
                let dialect = model.file.dialect();
                error::ModelError::new_err(PackingError::NoCovers { dialect }.to_string())
            })?;
        Self::load(bytes, None)
    }

    /// Reads a packed model from the bytes of its file.
    #[staticmethod]
    #[pyo3(signature = (data, certificate=None))]
    fn parse(data: &[u8], certificate: Option<&[u8]>) -> PyResult<Self> {
        Self::load(data.to_vec(), certificate.map(<[u8]>::to_vec))
    }

    /// The bytes of the file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.bytes)
    }

    /// The certificate, where the model was packed here.
    #[getter]
    fn certificate<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        self.certificate.as_ref().map(|bytes| PyBytes::new(py, bytes))
    }

    /// The raw scores of each row.
    #[pyo3(signature = (rows, threads=1, path=None))]
    fn raw_scores<'py>(
        &self,
        py: Python<'py>,
        rows: &Bound<'py, PyAny>,
        threads: usize,
        path: Option<&str>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let (count, scores) = self.scores(py, &Table::of(rows)?, How::new(path, threads)?)?;
        scores.into_pyarray(py).reshape([count, self.model.outputs()])
    }

    /// The contributions of each row: a line for each output, a number for each column and the expected score.
    fn contributions<'py>(
        &self,
        py: Python<'py>,
        rows: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyArray3<f64>>> {
        let (count, out) = match Table::of(rows)? {
            Table::Narrow(array) => self.contributions_of(py, &array)?,
            Table::Wide(array) => self.contributions_of(py, &array)?,
            Table::SparseNarrow(_) | Table::SparseWide(_) => {
                return Err(error::InputError::new_err("contributions are computed from dense rows"));
            }
        };
        out.into_pyarray(py).reshape([count, self.model.outputs(), self.model.features() + 1])
    }

    /// Has the file covers?
    #[getter]
    fn has_covers(&self) -> bool {
        self.model.has_covers()
    }

    /// For each output a bound on the distance of the raw score from the sum of a row's contributions.
    #[getter]
    fn contributions_error(&self) -> PyResult<Vec<f64>> {
        Ok(self.tables()?.error().to_vec())
    }

    /// The position of each row's class.
    #[pyo3(signature = (rows, threads=1, path=None))]
    fn class_indices<'py>(
        &self,
        py: Python<'py>,
        rows: &Bound<'py, PyAny>,
        threads: usize,
        path: Option<&str>,
    ) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let (_, classes) = self.decided(py, &Table::of(rows)?, How::new(path, threads)?, Answer::Classes)?;
        Ok(classes.into_iter().map(|class| class as i64).collect::<Vec<_>>().into_pyarray(py))
    }

    /// The probability of each class for each row; of each label, where a row may get several.
    #[pyo3(signature = (rows, threads=1, path=None))]
    fn probabilities<'py>(
        &self,
        py: Python<'py>,
        rows: &Bound<'py, PyAny>,
        threads: usize,
        path: Option<&str>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let (count, out) =
            self.decided(py, &Table::of(rows)?, How::new(path, threads)?, Answer::Probabilities)?;
        out.into_pyarray(py).reshape([count, self.model.class_count()])
    }

    /// What a regressor's or ranker's own `predict` gives for each row; 1 for each label that a row gets, where it may get several.
    #[pyo3(signature = (rows, threads=1, path=None))]
    fn values<'py>(
        &self,
        py: Python<'py>,
        rows: &Bound<'py, PyAny>,
        threads: usize,
        path: Option<&str>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let (count, out) = self.decided(py, &Table::of(rows)?, How::new(path, threads)?, Answer::Values)?;
        out.into_pyarray(py).reshape([count, self.model.outputs()])
    }

    /// Does the model choose a class, unlike regressors, rankers and models that give a row several labels?
    #[getter]
    fn is_classifier(&self) -> bool {
        !matches!(self.model.decision(), Decision::Scores(_))
    }

    /// May a row get several labels?
    #[getter]
    fn gives_several_labels(&self) -> bool {
        matches!(self.model.decision(), Decision::Scores(Value::Above { .. }))
    }

    /// Are a regressor's predictions f32?
    #[getter]
    fn narrow_values(&self) -> bool {
        self.narrow_scores() || self.model.decision() == Decision::Scores(Value::ScoreAsF32)
    }

    /// For each path of this machine whether it gives the scores in the file on the cover's rows.
    fn self_test(&self, py: Python<'_>) -> PyResult<Vec<(&'static str, bool)>> {
        let cancel = Cancel::default();
        let mut watch = |_: f64| !cancel.is_cancelled();
        let work = || match self.model.cover_rows_watched(&mut watch) {
            Some(rows) => self.model.self_test_on(&rows, &mut watch),
            None => Ok(None),
        };
        let test = interrupt::interruptible(py, &cancel, |_| Ok(()), work)?;
        let Some(test) = test.map_err(from_predict)? else { return Ok(Vec::new()) };
        Ok(test.paths.into_iter().map(|(path, fits)| (path.name(), fits)).collect())
    }

    /// The rows of the cover.
    fn cover_rows<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let rows = py.detach(|| self.model.cover_rows());
        let width = self.model.features().max(1);
        let count = rows.len() / width;
        rows.into_pyarray(py).reshape([count, width])
    }

    /// The names of the input columns, where the source has any.
    #[getter]
    fn feature_names(&self) -> Option<Vec<String>> {
        self.model.feature_names().map(<[String]>::to_vec)
    }

    /// The labels of the categories of a column, by code.
    fn category_labels(&self) -> std::collections::BTreeMap<usize, Vec<String>> {
        let labels = |feature| Some((feature, self.model.category_labels(feature)?));
        (0..self.model.features()).filter_map(labels).collect()
    }

    /// The columns of categories, and for each whether these are texts, and not numbers.
    fn text_categories(&self) -> std::collections::BTreeMap<usize, bool> {
        let texts = |feature| Some((feature, self.model.has_text_categories(feature)?));
        (0..self.model.features()).filter_map(texts).collect()
    }

    /// The number of input columns.
    #[getter]
    fn feature_count(&self) -> usize {
        self.model.features()
    }

    /// The number of raw scores of a row.
    #[getter]
    fn outputs(&self) -> usize {
        self.model.outputs()
    }

    /// The number of trees.
    #[getter]
    fn tree_count(&self) -> usize {
        self.model.trees()
    }

    /// The labels of the classes.
    #[getter]
    fn classes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self.model.labels() {
            Labels::Unnamed(count) => (0..*count).collect::<Vec<_>>().into_pyobject(py),
            Labels::Integers(labels) => labels.into_pyobject(py),
            Labels::Floats(labels) => labels.into_pyobject(py),
            Labels::Booleans(labels) => labels.into_pyobject(py),
            Labels::Texts(labels) => labels.into_pyobject(py),
        }
    }

    /// Library, version and encoding of the source in a few words.
    #[getter]
    fn source(&self) -> &str {
        self.model.dialect()
    }

    /// The library of the source.
    #[getter]
    fn framework(&self) -> &str {
        self.model.framework()
    }

    /// Are the raw scores f32?
    #[getter]
    fn narrow_scores(&self) -> bool {
        self.model.number() == Number::F32
    }

    /// Are the probabilities f32?
    #[getter]
    fn narrow_probabilities(&self) -> bool {
        matches!(self.model.link(), Link::Logistic32 | Link::Softmax32)
    }

    /// Has the model probabilities?
    #[getter]
    fn has_probabilities(&self) -> bool {
        self.model.link() != Link::None
    }
}
