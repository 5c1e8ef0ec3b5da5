//! Options that several functions share, from Python's words. The package has checked them before; what is
//! still wrong here is a `ValueError`.

use std::time::{Duration, Instant};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use secateur_oracle::Band;
use secateur_prune::Scope;

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

/// When a run that starts now has to end.
pub(crate) fn deadline(started: Instant, time_limit: Option<f64>) -> PyResult<Option<Instant>> {
    let Some(seconds) = time_limit else { return Ok(None) };
    let limit = Duration::try_from_secs_f64(seconds)
        .map_err(|_| PyValueError::new_err(format!("time_limit must not be {seconds}")))?;
    // A limit beyond the clock is none.
    Ok(started.checked_add(limit))
}

/// All cores unless given.
pub(crate) fn threads(wanted: Option<usize>) -> usize {
    wanted.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, |cores| cores.get())).max(1)
}

/// The value that a word stands for.
pub(crate) fn choice<T: Copy>(option: &str, word: &str, values: &[(&str, T)]) -> PyResult<T> {
    let found = values.iter().find(|(name, _)| *name == word).map(|(_, value)| *value);
    found.ok_or_else(|| PyValueError::new_err(format!("{option} must not be {word:?}")))
}
