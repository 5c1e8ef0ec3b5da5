//! The commands that come with the package. They are the same code as the binaries.

use std::ffi::OsString;

use pyo3::prelude::*;

/// Runs `secateur` with these arguments, the first of which is its name; the exit code. Ctrl-C ends the process.
#[pyfunction]
pub(crate) fn run_secateur(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| secateur_cli::run(arguments))
}

/// Runs `secateur-check` with these arguments, the first of which is its name; the exit code.
#[pyfunction]
pub(crate) fn run_secateur_check(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| secateur_checker::command::run(arguments))
}
