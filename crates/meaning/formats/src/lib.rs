//! Model files of XGBoost, LightGBM, CatBoost, scikit-learn and ONNX: read, written back, and
//! edited.
//!
//! Each library has a module that states its comparison, missing-value and float rules, keeps the
//! file's document (unknown fields included), and turns it into a [`secateur_model::Ensemble`]. A
//! file that is read and written unchanged predicts the same bits; an edit changes only what it
//! must and stays in the dialect of the file.
//!
//! Files are untrusted: reading always ends with a model or with a [`FormatError`] that names the
//! place, in memory proportional to the file.
//!
//! # Where to read
//! The head of each library's folder states its rules: `xgboost`, `lightgbm`, `catboost`,
//! `sklearn`, `onnx`, and `packed` for `.spk` files, which cannot be edited. `detect` recognises a
//! file by its first bytes, `edit` is what pruning may ask a file to change, `error` names places,
//! `domain` reads domain files, and `threshold` turns a probability into a cut of scores.

pub mod catboost;
mod detect;
mod domain;
mod edit;
mod error;
mod json;
pub mod lightgbm;
mod link;
pub mod onnx;
pub mod packed;
mod similar;
pub mod sklearn;
mod threshold;
pub mod xgboost;

use std::io;
use std::path::Path;

use secateur_model::Ensemble;

pub use detect::Format;
pub use domain::{DigestOf, DomainFile, DomainFileError};
pub use edit::{Edit, TreeEdit};
pub use error::{EditError, FormatError, Place, Problem};
pub use link::Link;
pub use similar::did_you_mean;
pub use threshold::{ThresholdError, cut_covers, logistic_probability, threshold_cut};

/// A file that can be read, described and written back. Formats that cannot be edited implement
/// only this.
pub(crate) trait Document: Sized {
    /// Reads a whole file.
    fn parse(bytes: &[u8]) -> Result<Self, FormatError>;
    /// Reads a whole file whose bytes the document may keep.
    fn parse_owned(bytes: Vec<u8>) -> Result<Self, FormatError> {
        Self::parse(&bytes)
    }
    /// The model.
    fn ensemble(&self) -> &Ensemble;
    /// The model, to change what is no part of the file.
    fn ensemble_mut(&mut self) -> &mut Ensemble;
    /// The library that executes the file.
    fn framework(&self) -> Framework;
    /// Framework, version and encoding in a few words: `XGBoost 3.4.1, UBJSON`.
    fn dialect(&self) -> String;
    /// The ending of names of such files, by which some libraries choose a reader.
    fn extension(&self) -> &'static str;
    /// What a user should know about how this file is executed, a sentence each.
    fn notes(&self) -> Vec<String>;
    /// The factor `a` if the library turns a score into the probability `1 / (1 + exp(-a * score))`
    /// of class 1 and decides by it; `None` for every other model.
    fn logistic_scale(&self) -> Option<f64>;
    /// The file's bytes.
    fn write(&self, out: &mut dyn io::Write) -> io::Result<()>;
    /// Trees in the file that the library does not use. See [`ModelFile::unused_trees`].
    fn unused_trees(&self) -> usize {
        0
    }
}

/// A document that can also be changed.
pub(crate) trait EditableDocument: Document {
    /// Are trees votes? See [`ModelFile::votes_only`].
    fn votes_only(&self) -> bool {
        false
    }
    /// Are probabilities an average of leaves? See [`ModelFile::averages_probabilities`].
    fn averages_probabilities(&self) -> bool {
        false
    }
    /// The document with other trees and intercepts, in the same dialect. `edit` has been checked.
    fn edit(&self, edit: &Edit) -> Result<Self, EditError>;
    /// The model of the edited document, computed without the document where that is cheaper.
    fn draft(&self, edit: &Edit) -> Result<Ensemble, EditError> {
        self.edit(edit).map(|edited| edited.ensemble().clone())
    }
}

/// The libraries whose files are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Framework {
    /// XGBoost.
    XgBoost,
    /// LightGBM.
    LightGbm,
    /// CatBoost.
    CatBoost,
    /// scikit-learn.
    Sklearn,
    /// ONNX Runtime.
    Onnx,
}

impl Framework {
    /// Its name in options and results: `xgboost`, `lightgbm`, `catboost`, `scikit-learn`, `onnx`.
    pub fn name(self) -> &'static str {
        match self {
            Self::XgBoost => "xgboost",
            Self::LightGbm => "lightgbm",
            Self::CatBoost => "catboost",
            Self::Sklearn => "scikit-learn",
            Self::Onnx => "onnx",
        }
    }

    /// The library of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::XgBoost, Self::LightGbm, Self::CatBoost, Self::Sklearn, Self::Onnx]
            .into_iter()
            .find(|known| known.name() == name)
    }
}

/// A model file of any supported format.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ModelFile {
    /// XGBoost JSON or UBJSON.
    XgBoost(Box<xgboost::File>),
    /// LightGBM text.
    LightGbm(Box<lightgbm::File>),
    /// CatBoost binary or JSON.
    CatBoost(Box<catboost::File>),
    /// A scikit-learn classifier.
    Sklearn(Box<sklearn::File>),
    /// ONNX.
    Onnx(Box<onnx::File>),
    /// A packed model of any of them; read-only.
    Packed(Box<packed::File>),
}

macro_rules! each {
    ($file:expr, $document:ident => $result:expr) => {
        match $file {
            ModelFile::XgBoost($document) => $result,
            ModelFile::LightGbm($document) => $result,
            ModelFile::CatBoost($document) => $result,
            ModelFile::Sklearn($document) => $result,
            ModelFile::Onnx($document) => $result,
            ModelFile::Packed($document) => $result,
        }
    };
}

impl ModelFile {
    /// Reads a model file; the format is detected from its content.
    pub fn read(path: &Path) -> Result<Self, ReadError> {
        let bytes = std::fs::read(path).map_err(ReadError::Io)?;
        Ok(Self::parse_owned(bytes)?)
    }

    /// Reads a model from the bytes of its file.
    pub fn parse(bytes: &[u8]) -> Result<Self, FormatError> {
        Self::parse_owned(bytes.to_vec())
    }

    /// As [`parse`](Self::parse), for bytes that the document may keep.
    pub fn parse_owned(bytes: Vec<u8>) -> Result<Self, FormatError> {
        Ok(match detect::detect(&bytes)? {
            Format::XgBoostJson | Format::XgBoostUbj => {
                Self::XgBoost(Box::new(Document::parse_owned(bytes)?))
            }
            Format::LightGbm => Self::LightGbm(Box::new(Document::parse_owned(bytes)?)),
            Format::CatBoostBinary | Format::CatBoostJson => {
                Self::CatBoost(Box::new(Document::parse_owned(bytes)?))
            }
            Format::Skops => sklearn::open(bytes)?,
            Format::Onnx => Self::Onnx(Box::new(Document::parse_owned(bytes)?)),
            Format::Packed => Self::Packed(Box::new(Document::parse_owned(bytes)?)),
        })
    }

    /// The model.
    pub fn ensemble(&self) -> &Ensemble {
        each!(self, document => document.ensemble())
    }

    /// Has messages call the columns by these names. See [`Ensemble::show_names`].
    pub fn show_names(&mut self, names: Vec<String>) -> bool {
        each!(self, document => document.ensemble_mut().show_names(names))
    }

    /// The library that executes the file.
    pub fn framework(&self) -> Framework {
        each!(self, document => document.framework())
    }

    /// Framework, version and encoding in a few words.
    pub fn dialect(&self) -> String {
        each!(self, document => document.dialect())
    }

    /// The usual ending of the names of such files, without a dot: some libraries choose a reader
    /// by it.
    pub fn extension(&self) -> &'static str {
        each!(self, document => document.extension())
    }

    /// For an isolation forest, the expected sum of path lengths over its trees; `None` for any
    /// other model.
    pub fn expected_path_lengths(&self) -> Option<f64> {
        match self {
            Self::Sklearn(file) => file.expected_path_lengths(),
            _ => None,
        }
    }

    /// The factor `a` if the library turns a score into the probability `1 / (1 + exp(-a * score))`
    /// of class 1 and decides by it; `None` for every other model.
    pub fn logistic_scale(&self) -> Option<f64> {
        each!(self, document => document.logistic_scale())
    }

    /// What a user should know about how this file is executed, a sentence each.
    pub fn notes(&self) -> Vec<String> {
        each!(self, document => document.notes())
    }

    /// Writes the file.
    pub fn write(&self, out: &mut dyn io::Write) -> io::Result<()> {
        each!(self, document => document.write(out))
    }

    /// The bytes of a model that was read from a file. A scikit-learn model that lives in memory
    /// has none; [`write`](Self::write) then returns an error.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.write(&mut bytes).expect("a model that was read from a file is written to memory");
        bytes
    }

    /// How many trees in the file the library does not use: those after the best round of early
    /// stopping (XGBoost). Every edit leaves them out.
    pub fn unused_trees(&self) -> usize {
        each!(self, document => document.unused_trees())
    }

    /// How much of the training data reached each node of each tree, by the file; `None` if the file
    /// does not say so (ONNX), or if it is not read (CatBoost, scikit-learn). XGBoost sums second
    /// derivatives, LightGBM counts rows.
    pub fn covers(&self) -> Option<Vec<Vec<f64>>> {
        match self {
            Self::XgBoost(file) => file.covers(),
            Self::LightGbm(file) => file.covers(),
            _ => None,
        }
    }

    /// Are trees votes? Then an edit may change a tree's weight and structure, but all its leaves
    /// stay votes of one weight, and an intercept is a vote, too.
    pub fn votes_only(&self) -> bool {
        each!(self, document => document.votes_only())
    }

    /// Are the model's probabilities the average of its trees' leaves, with no later step that
    /// normalises them to a sum of one? This holds for scikit-learn's forests and single trees.
    pub fn averages_probabilities(&self) -> bool {
        each!(self, document => document.averages_probabilities())
    }

    /// The same file with other trees and intercepts.
    pub fn edit(&self, edit: &Edit) -> Result<Self, EditError> {
        edit.check(self.ensemble())?;
        Ok(match self {
            Self::XgBoost(document) => Self::XgBoost(Box::new(document.edit(edit)?)),
            Self::LightGbm(document) => Self::LightGbm(Box::new(document.edit(edit)?)),
            Self::CatBoost(document) => Self::CatBoost(Box::new(document.edit(edit)?)),
            Self::Sklearn(document) => Self::Sklearn(Box::new(document.edit(edit)?)),
            Self::Onnx(document) => Self::Onnx(Box::new(document.edit(edit)?)),
            Self::Packed(document) => Self::Packed(Box::new(document.edit(edit)?)),
        })
    }

    /// The model that [`edit`](Self::edit) would give, with less work if the format allows it.
    pub fn draft(&self, edit: &Edit) -> Result<Ensemble, EditError> {
        edit.check(self.ensemble())?;
        each!(self, document => document.draft(edit))
    }
}

/// Why a path gave no model.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The file could not be read at all.
    #[error("{0}")]
    Io(#[source] io::Error),
    /// The file was read but is not a supported model.
    #[error(transparent)]
    Format(#[from] FormatError),
}
