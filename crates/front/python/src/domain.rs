//! Domain files, for the package's `Domain`: text to JSON and back, and words.

use numpy::PyReadonlyArray2;
use pyo3::prelude::*;

use secateur::DomainFile;

use crate::error;
use crate::model::row_major;
use crate::options::domain_file;

/// The JSON text of a domain that is written in TOML.
#[pyfunction]
pub(crate) fn domain_from_toml(text: &str) -> PyResult<String> {
    let file = DomainFile::parse(text).map_err(|error| error::option(error.to_string()))?;
    Ok(file.to_json().to_string())
}

/// The TOML text of a domain that is given as JSON.
#[pyfunction]
pub(crate) fn domain_to_toml(text: &str) -> PyResult<String> {
    Ok(domain_file(text)?.to_toml())
}

/// A domain that is given as JSON, in words, one part each; what contradicts itself is refused.
#[pyfunction]
pub(crate) fn domain_words(text: &str) -> PyResult<Vec<String>> {
    domain_file(text)?.words().map_err(|error| error::option(error.to_string()))
}

/// The domain that rows suggest, as JSON, and what supports each part of it.
#[pyfunction]
pub(crate) fn propose_domain(
    names: Vec<String>,
    named: bool,
    rows: PyReadonlyArray2<'_, f64>,
) -> PyResult<(String, Vec<String>)> {
    let (_, values) = row_major(&rows);
    let proposal =
        secateur::propose(&names, named, &values).map_err(|error| error::option(error.to_string()))?;
    Ok((proposal.domain.to_json().to_string(), proposal.support))
}
