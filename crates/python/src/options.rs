//! Options that several functions share, from Python's words. The package has checked them before; what is
//! still wrong here is a `ValueError`.

use std::time::Duration;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use secateur::{Band, Budget, LinearSolver, Scope};

/// `None` is the smallest certain band, zero exact arithmetic.
pub(crate) fn band(score: Option<f64>) -> Band {
    match score {
        None => Band::Auto,
        Some(0.0) => Band::Exact,
        Some(score) => Band::Score(score),
    }
}

/// With or without missing values.
pub(crate) fn scope(missing: bool) -> Scope {
    if missing { Scope::All } else { Scope::NoMissing }
}

/// The budget of a call that starts now. Ctrl-C throws the result away, so nothing is left to be finished after it.
pub(crate) fn budget(time_limit: Option<f64>) -> PyResult<Budget> {
    let limit = time_limit.map(|seconds| {
        Duration::try_from_secs_f64(seconds)
            .map_err(|_| PyValueError::new_err(format!("time_limit must not be {seconds}")))
    });
    Ok(Budget::maybe(limit.transpose()?).with_grace(Duration::ZERO))
}

/// The solver of that name, if it was built in.
pub(crate) fn solver(name: &str) -> PyResult<LinearSolver> {
    let found = LinearSolver::all().find(|solver| solver.name() == name);
    found.ok_or_else(|| PyValueError::new_err(format!("solver {name:?}: this build does not have it")))
}

/// The value that a word stands for.
pub(crate) fn choice<T: Copy>(option: &str, word: &str, values: &[(&str, T)]) -> PyResult<T> {
    let found = values.iter().find(|(name, _)| *name == word).map(|(_, value)| *value);
    found.ok_or_else(|| PyValueError::new_err(format!("{option} must not be {word:?}")))
}

/// The size of a model's file, where it is still there.
pub(crate) fn file_size(path: &str) -> Option<u64> {
    std::fs::metadata(path).ok().map(|file| file.len())
}
