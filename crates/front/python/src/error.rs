//! One Python exception for each kind of failure, all under `SecateurError`.

use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

use secateur::{
    Error,
    model::{EditError, FormatError, ReadError},
    predict::PredictError,
    prune::{CertifyError, PruneError},
    verify::CompareError,
};

create_exception!(secateur, SecateurError, PyException, "The base of all errors of this package.");
create_exception!(
    secateur,
    ModelError,
    SecateurError,
    "The model cannot be read: malformed, or of a kind that is not supported."
);
create_exception!(secateur, InputError, SecateurError, "The model's library would refuse these input rows.");
create_exception!(
    secateur,
    ComparisonError,
    SecateurError,
    "The two models cannot be compared: other columns, other classes, or a band that cannot be claimed."
);
create_exception!(secateur, EditingError, SecateurError, "The model's format cannot hold this change.");

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("SecateurError", py.get_type::<SecateurError>())?;
    module.add("ModelError", py.get_type::<ModelError>())?;
    module.add("InputError", py.get_type::<InputError>())?;
    module.add("ComparisonError", py.get_type::<ComparisonError>())?;
    module.add("EditingError", py.get_type::<EditingError>())
}

/// An option, a domain or a question that makes no sense: the package's own `OptionError`.
pub(crate) fn option(words: impl Into<String>) -> PyErr {
    Python::attach(|py| {
        let class = py.import("secateur._errors").and_then(|errors| errors.getattr("OptionError"));
        class.and_then(|class| class.call1((words.into(),))).map_or_else(|error| error, PyErr::from_value)
    })
}

pub(crate) fn from_format(error: FormatError) -> PyErr {
    ModelError::new_err(error.to_string())
}

pub(crate) fn from_read(error: ReadError, path: &std::path::Path) -> PyErr {
    match error {
        // With its number, Python turns the error into a FileNotFoundError or similar, which names
        // the file.
        ReadError::Io(error) => match error.raw_os_error() {
            Some(number) => {
                let text = error.to_string();
                let words = text.split(" (os error").next().unwrap_or_default().to_owned();
                pyo3::exceptions::PyOSError::new_err((number, words, path.display().to_string()))
            }
            None => error.into(),
        },
        other => ModelError::new_err(format!("{}: {other}", path.display())),
    }
}

pub(crate) fn from_predict(error: PredictError) -> PyErr {
    InputError::new_err(error.to_string())
}

pub(crate) fn from_compare(error: CompareError) -> PyErr {
    ComparisonError::new_err(error.to_string())
}

pub(crate) fn from_edit(error: EditError) -> PyErr {
    EditingError::new_err(error.to_string())
}

/// Converts an error of the facade.
pub(crate) fn from_road(error: Error) -> PyErr {
    match error {
        Error::Compare(error)
        | Error::Prune(PruneError::Compare(error))
        | Error::Certify(CertifyError::Compare(error)) => from_compare(error),
        Error::Prune(PruneError::Edit(error)) => from_edit(error),
        Error::Predict(error) => from_predict(error),
        Error::Ask(error) => option(error.to_string()),
        Error::DoublesCertificate | Error::DoublesCategories | Error::CheckpointScores => {
            ComparisonError::new_err(error.to_string())
        }
        Error::Write(error) | Error::Certify(CertifyError::Write(error)) => error.into(),
        other => SecateurError::new_err(other.to_string()),
    }
}
