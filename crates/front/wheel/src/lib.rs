//! The extension module `secateur._secateur` as pip installs it: the binding of `secateur-python`,
//! and the commands `secateur` and `secateur-check` that come with the package, which are the same
//! code as the binaries.
//!
//! The commands are added here so that the binding itself does not depend on the command line.

use std::ffi::OsString;

use pyo3::prelude::*;

#[pymodule]
fn _secateur(module: &Bound<'_, PyModule>) -> PyResult<()> {
    secateur_python::register(module)?;
    module.add_function(wrap_pyfunction!(run_secateur, module)?)?;
    module.add_function(wrap_pyfunction!(run_secateur_check, module)?)?;
    Ok(())
}

/// Runs `secateur` with these arguments, the first of which is the program's name, and returns the
/// exit code. Ctrl-C ends the process.
#[pyfunction]
fn run_secateur(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| secateur_cli::run(arguments))
}

/// Runs `secateur-check` with these arguments, the first of which is the program's name, and
/// returns the exit code.
#[pyfunction]
fn run_secateur_check(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| secateur_cli::check(arguments))
}
