//! Options that several functions share, converted from Python. The package has checked them
//! before; remaining errors become a `ValueError`.

use std::time::Duration;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use secateur::{Band, Budget, Domain, DomainFile, ModelFile, prune::Choice};

use crate::model::Model;

/// `None` means the smallest certain band, zero means exact arithmetic.
pub(crate) fn band(score: Option<f64>) -> Band {
    match score {
        None => Band::Auto,
        Some(0.0) => Band::Exact,
        Some(score) => Band::Score(score),
    }
}

/// A domain as the package gives it: a JSON text, and the models that a `where` in it refers to by
/// position.
pub(crate) type GivenDomain = (String, Vec<Py<Model>>);

/// The domain that the package gives, over the columns of a model; if it gives none, every input,
/// with or without missing values.
pub(crate) fn domain(given: Option<&GivenDomain>, missing: bool, model: &Model) -> PyResult<Domain> {
    match given {
        Some((text, models)) => {
            let file = domain_file(text)?;
            let models: Vec<&ModelFile> = models.iter().map(|model| &*model.get().file).collect();
            let found = secateur::domain::resolve_domain_with(&file, &model.file, &models);
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

/// The budget of a call that starts now. Ctrl-C throws its result away, so no time is needed to
/// finish it.
pub(crate) fn budget(time_limit: Option<f64>) -> PyResult<Budget> {
    Ok(unhurried_budget(time_limit)?.with_grace(Duration::ZERO))
}

/// The budget of a call that prunes: the standard one unless a time is given; an infinite time
/// means no limit. After Ctrl-C the call still returns a result.
pub(crate) fn pruning_budget(time_limit: Option<f64>) -> PyResult<Budget> {
    match time_limit {
        None => Ok(Budget::standard()),
        Some(f64::INFINITY) => Ok(Budget::unlimited()),
        limit => unhurried_budget(limit),
    }
}

/// The budget of a call that starts now and still returns a result after Ctrl-C.
fn unhurried_budget(time_limit: Option<f64>) -> PyResult<Budget> {
    let limit = time_limit.map(|seconds| {
        Duration::try_from_secs_f64(seconds)
            .map_err(|_| PyValueError::new_err(format!("time_limit must not be {seconds}")))
    });
    Ok(Budget::maybe(limit.transpose()?))
}

/// The value that a word stands for.
pub(crate) fn choice<T: Choice>(option: &str, word: &str) -> PyResult<T> {
    T::from_name(word).ok_or_else(|| PyValueError::new_err(format!("{option} must not be {word:?}")))
}

/// The names of a choice.
pub(crate) fn names<T: Choice>(py: Python<'_>) -> PyResult<Bound<'_, PyTuple>> {
    PyTuple::new(py, T::ALL.iter().map(|(name, _, _)| *name))
}

/// The size of a model's file, if the file still exists.
pub(crate) fn file_size(path: &str) -> Option<u64> {
    std::fs::metadata(path).ok().map(|file| file.len())
}
