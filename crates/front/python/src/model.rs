//! `Model`: a model file of any supported format.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray2};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use secateur_formats::{Edit, ModelFile, TreeEdit};
use secateur_model::{CategoryRule, ClassLabels, FeatureId, Label, NumberType, Test, TreeId};

use crate::error;

/// A model as its own library executes it.
#[pyclass(frozen, module = "secateur")]
pub(crate) struct Model {
    pub(crate) file: Arc<ModelFile>,
    labels: Option<Arc<Labels>>,
}

/// The class labels that a live object returns. They belong to the object: the model's file, and
/// therefore its digest in certificates, does not contain them.
struct Labels {
    /// A NumPy array of the type that the object's `predict` returns.
    array: Py<PyAny>,
    classes: ClassLabels,
}

/// Class labels as Python values, all of one kind.
#[derive(FromPyObject)]
pub(crate) enum LabelList {
    Booleans(Vec<bool>),
    Integers(Vec<i64>),
    Floats(Vec<f64>),
    Strings(Vec<String>),
}

impl From<LabelList> for ClassLabels {
    fn from(list: LabelList) -> Self {
        match list {
            LabelList::Booleans(labels) => Self::Booleans(labels),
            LabelList::Integers(labels) => Self::Integers(labels),
            LabelList::Floats(labels) => Self::Floats(labels),
            LabelList::Strings(labels) => Self::Strings(labels),
        }
    }
}

impl Model {
    /// A model without labels of its own.
    pub(crate) fn new(file: ModelFile) -> Self {
        Self { file: Arc::new(file), labels: None }
    }

    /// An edit of this model, which returns the same labels.
    pub(crate) fn edited(&self, file: ModelFile) -> Self {
        Self { file: Arc::new(file), labels: self.labels.clone() }
    }

    /// The labels that the object returns, if it has its own; used in comparisons. Certificates are
    /// about `self.file.ensemble()`.
    pub(crate) fn labels(&self) -> Option<ClassLabels> {
        self.labels.as_ref().map(|labels| labels.classes.clone())
    }
}

#[pymethods]
impl Model {
    /// Reads a model file.
    #[staticmethod]
    fn read(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let file = py.detach(|| ModelFile::read(&path)).map_err(|e| error::from_read(e, &path))?;
        Ok(Self::new(file))
    }

    /// Reads a model from the bytes of its file.
    #[staticmethod]
    fn parse(py: Python<'_>, data: &[u8]) -> PyResult<Self> {
        let file = py.detach(|| ModelFile::parse(data)).map_err(error::from_format)?;
        Ok(Self::new(file))
    }

    /// The same model with the labels that a live object returns: a NumPy array, one label for each class.
    fn with_labels(&self, py: Python<'_>, labels: Py<PyAny>) -> PyResult<Self> {
        let list: LabelList = labels.bind(py).call_method0("tolist")?.extract()?;
        let classes = ClassLabels::from(list);
        let count = self.file.ensemble().classes().len();
        if classes.len() != count {
            return Err(error::ModelError::new_err(format!(
                "the object has {} class labels, and its trees decide among {count} classes",
                classes.len()
            )));
        }
        Ok(Self { file: self.file.clone(), labels: Some(Arc::new(Labels { array: labels, classes })) })
    }

    /// The same model, whose columns messages and domains call by these names, where its file has no names.
    fn shown_with(&self, names: Vec<String>) -> Self {
        let mut file = ModelFile::clone(&self.file);
        file.show_names(names);
        Self { file: Arc::new(file), labels: self.labels.clone() }
    }

    /// The bytes of the model's file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        // A live scikit-learn estimator has no file.
        let mut bytes = Vec::new();
        py.detach(|| self.file.write(&mut bytes)).map_err(|e| error::EditingError::new_err(e.to_string()))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Writes the model's file, whole or not at all.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let bytes = self.to_bytes(py)?;
        py.import("secateur._files")?.call_method1("write", (path.into_os_string(), bytes))?;
        Ok(())
    }

    /// How pickle takes the model along: the bytes of its file, and the labels of a live object.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let (py, this) = (slf.py(), slf.get());
        let Ok(bytes) = this.to_bytes(py) else {
            return Err(pyo3::exceptions::PyTypeError::new_err(
                "a model that was read from a live scikit-learn object has no file and cannot be pickled; pickle the object",
            ));
        };
        let labels = this.labels.as_ref().map(|labels| labels.array.clone_ref(py));
        let restore = py.get_type::<Self>().getattr("_restore")?;
        (restore, (bytes, labels)).into_bound_py_any(py)
    }

    /// A model from what [`__reduce__`](Self::__reduce__) gave.
    #[staticmethod]
    fn _restore(py: Python<'_>, data: &[u8], labels: Option<Py<PyAny>>) -> PyResult<Self> {
        let model = Self::parse(py, data)?;
        match labels {
            Some(labels) => model.with_labels(py, labels),
            None => Ok(model),
        }
    }

    /// The raw scores of each row, exactly as the library's. Rows may be an array or nested lists of numbers, a pandas or
    /// polars frame (columns by name where it has them all), or a SciPy matrix.
    fn raw_scores<'py>(
        slf: &Bound<'py, Self>,
        rows: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let (py, this) = (slf.py(), slf.get());
        let (count, values) = row_major(&given_rows(slf, rows)?);
        let groups = this.file.ensemble().group_count();
        let scores = py.detach(|| secateur::raw_scores(&this.file, &values));
        scores.map_err(error::from_predict)?.into_pyarray(py).reshape([count, groups])
    }

    /// The position of each row's class in `classes`. A regressor or ranker has none.
    fn class_indices<'py>(
        slf: &Bound<'py, Self>,
        rows: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let (py, this) = (slf.py(), slf.get());
        if !this.file.ensemble().decision().is_classifier() {
            return Err(error::ModelError::new_err(
                "a regressor or ranker has no classes, and where a row may get several labels none is chosen; ask for raw_scores",
            ));
        }
        let (_, values) = row_major(&given_rows(slf, rows)?);
        let classes = py.detach(|| secateur::predict(&this.file, &values));
        let classes = classes.map_err(error::from_predict)?;
        Ok(classes.into_iter().map(|class| i64::from(class.0)).collect::<Vec<_>>().into_pyarray(py))
    }

    /// The class label of each row, as the library's `predict`; for a regressor or ranker its prediction, one column
    /// for each output where there are several.
    fn predict<'py>(slf: &Bound<'py, Self>, rows: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let (py, this) = (slf.py(), slf.get());
        if !this.file.ensemble().decision().is_classifier() {
            return this.predict_values(py, &given_rows(slf, rows)?);
        }
        let labels = match &this.labels {
            Some(labels) => labels.array.bind(py).clone(),
            None => py.import("numpy")?.call_method1("asarray", (this.classes(py)?,))?,
        };
        labels.call_method1("take", (Self::class_indices(slf, rows)?,))
    }

    /// The probability of each class of a classifier (of each label, where a row may get several), as the library's `predict_proba` up to
    /// the last bits, which depend on the machine where an exponential function makes them.
    fn predict_proba<'py>(
        slf: &Bound<'py, Self>,
        rows: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let (py, this) = (slf.py(), slf.get());
        let (count, values) = row_major(&given_rows(slf, rows)?);
        let found = py.detach(|| {
            // The library's own reading refuses rows that it does not accept.
            secateur::raw_scores(&this.file, &values)?;
            let known = secateur::predict::Probabilities::new(&this.file);
            Ok::<_, secateur_model::PredictError>(
                known.and_then(|known| Some((known.classes(), known.of(&values)?))),
            )
        });
        let found = found.map_err(error::from_predict)?.ok_or_else(|| {
            error::ModelError::new_err(
                "this model's library makes no probabilities of classes of its scores, as far as is known here; ask for raw_scores",
            )
        });
        let (classes, found) = found?;
        found.into_pyarray(py).reshape([count, classes])
    }

    /// The model with only some trees, `(position, factor)` each (a factor of `None` leaves the tree as
    /// it is), and with other intercepts.
    #[pyo3(signature = (trees, intercepts=None))]
    fn edit(&self, trees: Vec<(u32, Option<f64>)>, intercepts: Option<Vec<f64>>) -> PyResult<Self> {
        let trees = trees
            .into_iter()
            .map(|(tree, factor)| match factor {
                None => TreeEdit::Keep(TreeId(tree)),
                Some(factor) => TreeEdit::Scale { tree: TreeId(tree), factor },
            })
            .collect();
        let file = self.file.edit(&Edit { trees, intercepts }).map_err(error::from_edit)?;
        Ok(self.edited(file))
    }

    /// Framework, version and encoding in a few words.
    #[getter]
    fn dialect(&self) -> String {
        self.file.dialect()
    }

    /// What the name of its file ends with.
    #[getter]
    fn extension(&self) -> &'static str {
        self.file.extension()
    }

    /// What stands for the model in certificates, in hexadecimal digits.
    #[getter]
    fn digest(&self) -> String {
        secateur::check::Digest::of(self.file.ensemble()).to_string()
    }

    /// Raises where a caller's rows are not the model's: it is the last step of a pipeline.
    fn check_rows(&self) -> PyResult<()> {
        match self.file.ensemble().features().steps() {
            Some(steps) => {
                Err(error::InputError::new_err(secateur::internal::text::rows_of_a_pipeline(steps)))
            }
            None => Ok(()),
        }
    }

    /// What to know about how this file is executed.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.file.notes()
    }

    /// Whether the model has classes; a regressor or ranker has none.
    #[getter]
    fn is_classifier(&self) -> bool {
        self.file.ensemble().decision().is_classifier()
    }

    /// The number of trees.
    #[getter]
    fn tree_count(&self) -> usize {
        self.file.ensemble().trees().len()
    }

    /// The number of leaves of all trees.
    #[getter]
    fn leaf_count(&self) -> usize {
        self.file.ensemble().trees().iter().map(|tree| tree.leaf_count()).sum()
    }

    /// The names of the input columns.
    #[getter]
    fn feature_names(&self) -> Vec<String> {
        let features = self.file.ensemble().features();
        (0..features.len()).map(|index| features.name(FeatureId::new(index)).into_owned()).collect()
    }

    /// The labels of the categories of each categorical feature whose labels the model knows, by code.
    fn category_labels(&self) -> BTreeMap<u32, Vec<String>> {
        let features = self.file.ensemble().features();
        let text = |labels: &Vec<Label>| labels.iter().map(|label| label.to_string()).collect();
        let labels = |index| features.categories(FeatureId::new(index))?.labels.as_ref().map(text);
        (0..features.len()).filter_map(|index| Some((index as u32, labels(index)?))).collect()
    }

    /// The columns whose categories the model knows by a hash of their text (CatBoost). Their labels in
    /// `category_labels` are hashes: `#` and eight hexadecimal digits.
    fn hashed_columns(&self) -> Vec<u32> {
        let features = self.file.ensemble().features();
        let hashed = |index: &usize| {
            let categories = features.categories(FeatureId::new(*index));
            categories.is_some_and(|categories| categories.rule == CategoryRule::Hashed)
        };
        (0..features.len()).filter(hashed).map(|index| index as u32).collect()
    }

    /// The columns of categories, and for each whether these are texts (or hashes of texts), and not numbers.
    fn text_categories(&self) -> BTreeMap<u32, bool> {
        let features = self.file.ensemble().features();
        let texts = |index| {
            let categories = features.categories(FeatureId::new(index))?;
            let numbers =
                |label: &Label| matches!(label, Label::Integer(_) | Label::Float(_) | Label::Boolean(_));
            let labelled = categories.labels.as_ref().is_some_and(|labels| !labels.iter().all(numbers));
            Some(labelled || categories.rule == CategoryRule::Hashed)
        };
        (0..features.len()).filter_map(|index| Some((index as u32, texts(index)?))).collect()
    }

    /// The hash by which CatBoost knows the category of this text, as `category_labels` shows it.
    #[staticmethod]
    fn category_hash(text: &str) -> String {
        Label::Hash(secateur_formats::catboost::category_hash(text)).to_string()
    }

    /// Whether the feature names are the model's own, not made up.
    #[getter]
    fn has_feature_names(&self) -> bool {
        self.file.ensemble().features().has_names()
    }

    /// What `secateur inspect` prints with `--json` and with `-v`; `path` and `size` are those of the file.
    #[pyo3(signature = (path=None, size=None))]
    fn describe(&self, py: Python<'_>, path: Option<PathBuf>, size: Option<u64>) -> [String; 2] {
        let place = path.map(|path| path.display().to_string()).zip(size);
        py.detach(|| {
            let facts = secateur::describe(&self.file, place);
            [facts.json().to_string(), facts.words(true)]
        })
    }

    /// The class labels.
    #[getter]
    fn classes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        if let Some(labels) = &self.labels {
            return labels.array.bind(py).call_method0("tolist");
        }
        match self.file.ensemble().classes() {
            ClassLabels::Unnamed(count) => (0..*count).collect::<Vec<_>>().into_pyobject(py),
            ClassLabels::Integers(labels) => labels.into_pyobject(py),
            ClassLabels::Floats(labels) => labels.into_pyobject(py),
            ClassLabels::Booleans(labels) => labels.into_pyobject(py),
            ClassLabels::Strings(labels) => labels.into_pyobject(py),
        }
    }

    /// Whether the classes have labels, in the file or from the object; where they have none they are 0, 1, ...
    #[getter]
    fn has_labels(&self) -> bool {
        self.labels.is_some() || self.file_has_labels()
    }

    /// Whether the file itself has class labels, which then are part of its digest in certificates.
    #[getter]
    fn file_has_labels(&self) -> bool {
        !matches!(self.file.ensemble().classes(), ClassLabels::Unnamed(_))
    }

    /// The intercept of each raw score.
    #[getter]
    fn intercepts(&self) -> Vec<f64> {
        self.file.ensemble().intercepts().to_vec()
    }

    /// Which inputs the library accepts: `number`, `missing`, `infinities`, `zero_window`.
    #[getter]
    fn domain<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let domain = self.file.ensemble().intake();
        let dict = PyDict::new(py);
        dict.set_item("number", if domain.number == NumberType::F32 { "f32" } else { "f64" })?;
        dict.set_item("missing", domain.missing)?;
        dict.set_item("infinities", domain.infinities)?;
        dict.set_item("zero_window", domain.zero_window)?;
        Ok(dict)
    }

    /// For each feature that some split uses: the numbers it is compared with, or the category codes that
    /// sets name, ascending; and whether it is categorical.
    fn split_values(&self) -> BTreeMap<u32, (bool, Vec<f64>)> {
        let mut all: BTreeMap<u32, (bool, Vec<f64>)> = BTreeMap::new();
        for split in self.file.ensemble().trees().iter().flat_map(|tree| tree.splits()) {
            let (categorical, values) = all.entry(split.feature.0).or_default();
            match split.test {
                Test::Less { threshold: value }
                | Test::LessOrEqual { threshold: value }
                | Test::LessOrEqualButZero { threshold: value, .. }
                | Test::Equal { value } => values.push(value),
                Test::Member { set, .. } => {
                    *categorical = true;
                    values.extend(set.iter().map(|&code| f64::from(code)));
                }
            }
        }
        for (_, values) in all.values_mut() {
            values.sort_by(f64::total_cmp);
            values.dedup();
        }
        all
    }

    fn __repr__(&self) -> String {
        format!("<secateur.Model {}: {} trees>", self.file.dialect(), self.tree_count())
    }
}

impl Model {
    /// The values that a regressor's `predict` returns, in the number type of its sums.
    fn predict_values<'py>(
        &self,
        py: Python<'py>,
        rows: &PyReadonlyArray2<'py, f64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (count, values) = row_major(rows);
        let ensemble = self.file.ensemble();
        let found = py.detach(|| secateur::values(&self.file, &values)).map_err(error::from_predict)?;
        let Some(found) = found else {
            return Err(error::ModelError::new_err(
                "the last bits of this model's predictions depend on more than the model and the input (they end in exp, \
                 for example, or the versions of the library differ); ask for raw_scores, whose bits are fixed",
            ));
        };
        let number = ensemble.accumulation().number;
        let shape = [count, ensemble.group_count()];
        let array = match number {
            NumberType::F64 => found.into_pyarray(py).reshape(shape)?.into_any(),
            NumberType::F32 => {
                let narrow: Vec<f32> = found.into_iter().map(|value| value as f32).collect();
                narrow.into_pyarray(py).reshape(shape)?.into_any()
            }
        };
        if ensemble.group_count() == 1 { array.call_method0("ravel") } else { Ok(array) }
    }
}

/// Reads a table of any kind as numbers: an array of doubles unchanged, everything else as the
/// package reads it.
fn given_rows<'py>(
    model: &Bound<'py, Model>,
    rows: &Bound<'py, PyAny>,
) -> PyResult<PyReadonlyArray2<'py, f64>> {
    model.borrow().check_rows()?;
    let read = model.py().import("secateur._rows")?.call_method1("to_predict", (rows, model))?;
    read.extract()
}

/// The number of rows, and their values one row after the other.
pub(crate) fn row_major(rows: &PyReadonlyArray2<'_, f64>) -> (usize, Vec<f64>) {
    let array = rows.as_array();
    (array.nrows(), array.iter().copied().collect())
}
