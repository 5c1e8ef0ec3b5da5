//! The Python binding: conversion between Python and the facade `secateur`, nothing else.
//! `secateur-wheel` builds the extension module `secateur._secateur` from it.
//!
//! # Where to read
//! One file for each exposed type or function. `options` converts options that several of them
//! share, `error` makes the exceptions, `interrupt` runs long work without the GIL, and `crew` lets
//! a Python executor visit boxes.

mod advise;
mod ask;
mod check;
mod crew;
mod diff;
mod domain;
mod error;
mod interrupt;
mod model;
mod options;
mod packed;
mod prune;
mod sklearn;
mod source;
mod unproved;
mod verify;

use pyo3::prelude::*;

/// Adds everything to the extension module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("EFFORTS", options::names::<secateur::Effort>(module.py())?)?;
    module.add("OBJECTIVES", options::names::<secateur::prune::Objective>(module.py())?)?;
    module.add("MOVES", options::names::<secateur::prune::Moves>(module.py())?)?;
    module.add("UNITS", options::names::<secateur::prune::Unit>(module.py())?)?;
    module.add_class::<model::Model>()?;
    module.add_class::<packed::Packed>()?;
    module.add_function(wrap_pyfunction!(verify::verify, module)?)?;
    module.add_function(wrap_pyfunction!(ask::ask, module)?)?;
    module.add_function(wrap_pyfunction!(diff::diff, module)?)?;
    module.add_function(wrap_pyfunction!(ask::rules_from_toml, module)?)?;
    module.add_function(wrap_pyfunction!(prune::prune, module)?)?;
    module.add_class::<advise::Advice>()?;
    module.add_function(wrap_pyfunction!(advise::advise, module)?)?;
    module.add_function(wrap_pyfunction!(unproved::prune_to_size, module)?)?;
    module.add_function(wrap_pyfunction!(unproved::prune_without_proof, module)?)?;
    module.add_function(wrap_pyfunction!(check::check, module)?)?;
    module.add_function(wrap_pyfunction!(crew::work, module)?)?;
    module.add_function(wrap_pyfunction!(source::source, module)?)?;
    module.add_function(wrap_pyfunction!(source::quantised_source, module)?)?;
    module.add_function(wrap_pyfunction!(source::check_source, module)?)?;
    module.add_function(wrap_pyfunction!(source::beside_source, module)?)?;
    module.add_function(wrap_pyfunction!(domain::domain_from_toml, module)?)?;
    module.add_function(wrap_pyfunction!(domain::domain_to_toml, module)?)?;
    module.add_function(wrap_pyfunction!(domain::domain_words, module)?)?;
    module.add_function(wrap_pyfunction!(domain::propose_domain, module)?)?;
    sklearn::register(module)?;
    error::register(module)
}
