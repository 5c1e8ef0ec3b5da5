//! scikit-learn classifiers that live in memory: their parts are passed in as a dictionary with
//! arrays in `.npy` form, and the parts of an edited model are returned in the same way.

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyDict, PyList};

use secateur_formats::ModelFile;
use secateur_formats::sklearn::{CategoryList, CategoryValues, Estimator, File, Parts, TreeArrays, TreePart};
use secateur_model::{ClassLabels, Transform, TreeId, Value};

use crate::error::{self, ModelError};
use crate::model::{LabelList, Model};

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(sklearn_model, module)?)?;
    module.add_function(wrap_pyfunction!(sklearn_parts, module)?)
}

/// The parts that `secateur._sklearn` extracts.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Extracted {
    estimator: String,
    version: String,
    classes: LabelList,
    feature_count: u32,
    feature_names: Option<Vec<String>>,
    missing: bool,
    trees: Vec<Vec<PyBackedBytes>>,
    weights: Vec<f64>,
    learning_rate: f64,
    start: Option<Vec<f64>>,
    exponential_loss: bool,
    exponential_link: bool,
    baseline: Vec<f64>,
    columns: Vec<u32>,
    categories: Vec<(Categories, [u32; 8])>,
    max_samples: u64,
}

#[derive(FromPyObject)]
enum Categories {
    Numbers(Vec<f64>),
    Texts(Vec<String>),
}

/// The model of an estimator's parts.
#[pyfunction]
fn sklearn_model(py: Python<'_>, parts: Extracted) -> PyResult<Model> {
    let parts = convert(parts)?;
    let file = py.detach(|| File::from_parts(parts)).map_err(error::from_format)?;
    Ok(Model::new(ModelFile::Sklearn(Box::new(file))))
}

fn convert(from: Extracted) -> PyResult<Parts> {
    let isolation = from.estimator == "IsolationForest";
    let (kind, regressor) = match from.estimator.strip_suffix("Regressor") {
        Some(kind) => (kind, true),
        None if isolation => ("IsolationForest", true),
        None => (from.estimator.strip_suffix("Classifier").unwrap_or_default(), false),
    };
    let histogram = kind == "HistGradientBoosting";
    let regression = regressor.then_some(match from.exponential_link {
        _ if isolation => Value::NotFixed(Transform::PathLength),
        true => Value::NotFixed(Transform::Exp),
        false => Value::Score,
    });
    let estimator = match kind {
        "DecisionTree" | "ExtraTree" => Estimator::DecisionTree,
        "RandomForest" => Estimator::RandomForest,
        "IsolationForest" => Estimator::IsolationForest { max_samples: from.max_samples },
        "ExtraTrees" => Estimator::ExtraTrees,
        "AdaBoost" if !regressor => Estimator::AdaBoost { weights: from.weights },
        "GradientBoosting" => {
            // The live object was asked for its own start value.
            Estimator::GradientBoosting {
                learning_rate: from.learning_rate,
                start: from.start,
                start_errors: Vec::new(),
                exponential_loss: from.exponential_loss,
            }
        }
        "HistGradientBoosting" => {
            let categories = from.categories.into_iter().map(|(values, known)| {
                let values = match values {
                    Categories::Numbers(values) => CategoryValues::Numbers(values),
                    Categories::Texts(values) => CategoryValues::Texts(values),
                };
                CategoryList { values, known }
            });
            Estimator::HistGradientBoosting {
                baseline: from.baseline,
                columns: from.columns,
                categories: categories.collect(),
            }
        }
        _ => {
            let name = &from.estimator;
            return Err(ModelError::new_err(format!("{name} is not a model that is supported")));
        }
    };
    let trees = from.trees.iter().enumerate().map(|(index, arrays)| {
        let tree = TreeId::new(index);
        let arrays = match arrays.as_slice() {
            [nodes, values] if !histogram => TreeArrays::plain_from_npy(tree, nodes, values),
            [nodes, left, binned] if histogram => TreeArrays::histogram_from_npy(tree, nodes, left, binned),
            _ => return Err(ModelError::new_err(format!("tree {tree}: another number of arrays is needed"))),
        };
        Ok(TreePart { origin: tree.0, edited: false, arrays: arrays.map_err(error::from_format)? })
    });
    Ok(Parts {
        estimator,
        version: from.version,
        classes: if regressor { ClassLabels::Unnamed(0) } else { from.classes.into() },
        regression,
        feature_count: from.feature_count,
        feature_names: from.feature_names,
        missing: from.missing,
        trees: trees.collect::<PyResult<_>>()?,
    })
}

/// What to put into a copy of the estimator that a model came from: for each tree the position of the one
/// it stands for, its depth, and its arrays (`None` where they are as they were).
#[pyfunction]
fn sklearn_parts<'py>(py: Python<'py>, model: &Model) -> PyResult<Bound<'py, PyDict>> {
    let parts = match &*model.file {
        ModelFile::Sklearn(file) => file.memory_parts(),
        _ => None,
    };
    let parts = parts.ok_or_else(|| ModelError::new_err("this model did not come from a live estimator"))?;
    let trees = PyList::empty(py);
    for part in &parts.trees {
        let arrays = part
            .edited
            .then(|| part.arrays.to_npy().iter().map(|npy| PyBytes::new(py, npy)).collect::<Vec<_>>());
        trees.append((part.origin, part.arrays.depth(), arrays))?;
    }
    let dict = PyDict::new(py);
    dict.set_item("trees", trees)?;
    match &parts.estimator {
        Estimator::AdaBoost { weights } => dict.set_item("weights", weights)?,
        Estimator::GradientBoosting { learning_rate, start, .. } => {
            dict.set_item("learning_rate", learning_rate)?;
            dict.set_item("start_from_zero", start.is_none())?;
        }
        Estimator::HistGradientBoosting { baseline, .. } => dict.set_item("baseline", baseline)?,
        _ => {}
    }
    Ok(dict)
}
