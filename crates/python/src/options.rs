//! Options that several functions share, from Python's words. The package has checked them before; what is
//! still wrong here is a `ValueError`.

use std::time::Duration;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use secateur::{Band, Budget, Choice, Domain, DomainFile, LinearSolver, ModelFile};

use crate::model::Model;

/// `None` is the smallest certain band, zero exact arithmetic.
pub(crate) fn band(score: Option<f64>) -> Band {
    match score {
        None => Band::Auto,
        Some(0.0) => Band::Exact,
        Some(score) => Band::Score(score),
    }
}

/// A domain as the package gives it: a JSON text, and the models that a `where` in it names by position.
pub(crate) type GivenDomain = (String, Vec<Py<Model>>);

/// The domain that the package gives, over the columns of a model; without one, with or without missing values.
pub(crate) fn domain(given: Option<&GivenDomain>, missing: bool, model: &Model) -> PyResult<Domain> {
    match given {
        Some((text, models)) => {
            let file = domain_file(text)?;
            let models: Vec<&ModelFile> = models.iter().map(|model| &*model.get().file).collect();
            let found = secateur::resolve_domain_with(&file, &model.file, &models);
            found.map_err(|error| PyValueError::new_err(error.to_string()))
        }
        None if missing => Ok(Domain::everything()),
        None => Ok(Domain::no_missing()),
    }
}

/// The domain that a JSON text describes.
pub(crate) fn domain_file(text: &str) -> PyResult<DomainFile> {
    let told = |error: &dyn std::fmt::Display| PyValueError::new_err(error.to_string());
    let value = serde_json::from_str(text).map_err(|error| told(&error))?;
    DomainFile::from_json(&value).map_err(|error| told(&error))
}

/// The budget of a call that starts now. Ctrl-C throws the result away, so nothing is left to be finished after it.
pub(crate) fn budget(time_limit: Option<f64>) -> PyResult<Budget> {
    Ok(unhurried_budget(time_limit)?.with_grace(Duration::ZERO))
}

/// The budget of a call that prunes: the standard one unless a time is given, and infinite time is no limit. Its result is
/// there after Ctrl-C too.
pub(crate) fn pruning_budget(time_limit: Option<f64>) -> PyResult<Budget> {
    match time_limit {
        None => Ok(Budget::standard()),
        Some(f64::INFINITY) => Ok(Budget::unlimited()),
        limit => unhurried_budget(limit),
    }
}

/// The budget of a call that starts now and whose result is there after Ctrl-C too.
fn unhurried_budget(time_limit: Option<f64>) -> PyResult<Budget> {
    let limit = time_limit.map(|seconds| {
        Duration::try_from_secs_f64(seconds)
            .map_err(|_| PyValueError::new_err(format!("time_limit must not be {seconds}")))
    });
    Ok(Budget::maybe(limit.transpose()?))
}

/// The solver of that name, if it was built in.
pub(crate) fn solver(name: &str) -> PyResult<LinearSolver> {
    let found = LinearSolver::all().find(|solver| solver.name() == name);
    found.ok_or_else(|| PyValueError::new_err(format!("solver {name:?}: this build does not have it")))
}

/// The value that a word stands for.
pub(crate) fn choice<T: Choice>(option: &str, word: &str) -> PyResult<T> {
    T::from_name(word).ok_or_else(|| PyValueError::new_err(format!("{option} must not be {word:?}")))
}

/// The words of a choice.
pub(crate) fn names<T: Choice>(py: Python<'_>) -> PyResult<Bound<'_, PyTuple>> {
    PyTuple::new(py, T::ALL.iter().map(|(name, _, _)| *name))
}

/// The size of a model's file, where it is still there.
pub(crate) fn file_size(path: &str) -> Option<u64> {
    std::fs::metadata(path).ok().map(|file| file.len())
}
