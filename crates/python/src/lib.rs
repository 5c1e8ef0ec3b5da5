//! The extension module `secateur._secateur`: conversion between Python and the Rust crates, nothing else.

mod certificate;
mod command;
mod compare;
mod error;
mod interrupt;
mod model;
mod options;
mod prune;
mod sklearn;

use pyo3::prelude::*;

#[pymodule]
fn _secateur(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<model::Model>()?;
    module.add_class::<certificate::Evidence>()?;
    module.add_function(wrap_pyfunction!(compare::compare, module)?)?;
    module.add_function(wrap_pyfunction!(prune::prune, module)?)?;
    module.add_function(wrap_pyfunction!(prune::rows_seen, module)?)?;
    module.add_function(wrap_pyfunction!(certificate::certify, module)?)?;
    module.add_function(wrap_pyfunction!(certificate::check, module)?)?;
    module.add_function(wrap_pyfunction!(command::run_secateur, module)?)?;
    module.add_function(wrap_pyfunction!(command::run_secateur_check, module)?)?;
    sklearn::register(module)?;
    error::register(module)
}
