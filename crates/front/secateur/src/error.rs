//! Why a call gives no result.

use std::path::PathBuf;

use secateur_formats::ThresholdError;
use secateur_model::PredictError;
use secateur_oracle::{CheckpointError, CompareError};
use secateur_prune::{CertifyError, PruneError};
use thiserror::Error;

/// Why a call gives no result. An error that says "secateur itself failed" is a bug of secateur,
/// found before anything was handed out.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// The model cannot be pruned.
    #[error(transparent)]
    Prune(#[from] PruneError),
    /// A packed model cannot be pruned.
    #[error("a packed model cannot be pruned: prune the model that it was packed from, and pack that")]
    Packed,
    /// The two models cannot be compared.
    #[error(transparent)]
    Compare(#[from] CompareError),
    /// A limit that differences of scores cannot have, such as a negative number.
    #[error("{within} is no limit for differences of scores; give a finite number from zero up")]
    ScoreLimit {
        /// The given number.
        within: f64,
    },
    /// A certificate was asked for together with a comparison on every double.
    #[error(
        "a certificate is about inputs that both libraries read alike: there is none for every double where one of them \
         rounds to f32"
    )]
    DoublesCertificate,
    /// A comparison on every double was asked for, but a model has splits that are not comparisons
    /// with a threshold.
    #[error(
        "one of the models rounds its inputs to f32 and has splits that are no comparisons (categories, equality): it can be \
         compared on the values that both libraries read alike, not on every double"
    )]
    DoublesCategories,
    /// A question cannot be asked of this model.
    #[error(transparent)]
    Ask(#[from] crate::ask::Refused),
    /// The model's probabilities cannot be compared with this threshold.
    #[error(transparent)]
    Threshold(#[from] ThresholdError),
    /// The models have their classes in different orders.
    #[error(
        "the models have the same classes in different orders, so that a threshold for the second class is one for each of them"
    )]
    ThresholdClasses,
    /// A threshold was given although scores are to be kept; a threshold applies to decisions.
    #[error(
        "a threshold is about decisions, and where scores are kept, decisions at every threshold nearly are; give one of them"
    )]
    ThresholdAndScores,
    /// The library would refuse these rows.
    #[error(transparent)]
    Predict(#[from] PredictError),
    /// The result has no certificate that the checker accepts.
    #[error("nothing was written: {0}")]
    Certify(#[from] CertifyError),
    /// The pruned model could not be written to memory.
    #[error("the pruned model cannot be written: {0}")]
    Write(#[from] std::io::Error),
    /// A file that is to hold checkpoints cannot be used.
    #[error("{}: no checkpoints can be kept there: {error}", path.display())]
    CheckpointFile {
        /// The file.
        path: PathBuf,
        /// Why not.
        error: std::io::Error,
    },
    /// The checkpoint belongs to another search.
    #[error("{}: {error}; remove it, or give another file", path.display())]
    Checkpoint {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        error: CheckpointError,
    },
    /// A proof that continues from a checkpoint is not valid.
    #[error(
        "{}: the proof that this checkpoint begins, or says that there is, is none; nothing is known from it. Remove it and begin anew",
        path.display()
    )]
    CheckpointProof {
        /// The file.
        path: PathBuf,
    },
    /// Checkpoints were asked for in a search that has no certificate.
    #[error("checkpoints of a search for scores go with a limit (within), and not with every double")]
    CheckpointScores,
    /// The written bytes of the pruned model read back as another model.
    #[error(
        "secateur itself failed: the pruned model does not read back as what was proved. Nothing was written. \
         This is a bug: please report it with the model"
    )]
    ReadBack,
    /// One of the caller's rows, covered by the claim, is decided differently.
    #[error(
        "secateur itself failed: the pruned model decides row {row} of the table otherwise, or its scores there are too far apart, against its proof. \
         Nothing was written. This is a bug: please report it with the model and that row"
    )]
    RowChanged {
        /// The row's number, from 1.
        row: usize,
    },
}
