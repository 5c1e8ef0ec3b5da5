//! Why a call gives no result.

use std::path::PathBuf;

use secateur_formats::ThresholdError;
use secateur_model::PredictError;
use secateur_oracle::{CheckpointError, CompareError};
use secateur_prune::{CertifyError, PruneError};
use thiserror::Error;

/// Why a call gives no result. Where it says that secateur itself failed, it is a bug of secateur, found before
/// anything was handed out.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// The model cannot be pruned.
    #[error(transparent)]
    Prune(#[from] PruneError),
    /// A packed model cannot be changed.
    #[error("a packed model cannot be pruned: prune the model that it was packed from, and pack that")]
    Packed,
    /// The two models cannot be compared.
    #[error(transparent)]
    Compare(#[from] CompareError),
    /// No limit that differences of scores could be within.
    #[error("{within} is no limit for differences of scores; give a finite number from zero up")]
    ScoreLimit {
        /// What was given.
        within: f64,
    },
    /// Every double was asked about, and a certificate too.
    #[error(
        "a certificate is about inputs that both libraries read alike: there is none for every double where one of them \
         rounds to f32"
    )]
    DoublesCertificate,
    /// Every double was asked about, of a model whose splits are not comparisons alone.
    #[error(
        "one of the models rounds its inputs to f32 and has splits that are no comparisons (categories, equality): it can be \
         compared on the values that both libraries read alike, not on every double"
    )]
    DoublesCategories,
    /// No threshold that this model's probabilities could be compared with.
    #[error(transparent)]
    Threshold(#[from] ThresholdError),
    /// The models have their classes in different orders.
    #[error(
        "the models have the same classes in different orders, so that a threshold for the second class is one for each of them"
    )]
    ThresholdClasses,
    /// A threshold is about decisions.
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
    /// A checkpoint is not one of this search.
    #[error("{}: {error}; remove it, or give another file", path.display())]
    Checkpoint {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        error: CheckpointError,
    },
    /// A proof that goes on from a checkpoint is none.
    #[error(
        "{}: the proof that this checkpoint begins, or says that there is, is none; nothing is known from it. Remove it and begin anew",
        path.display()
    )]
    CheckpointProof {
        /// The file.
        path: PathBuf,
    },
    /// Checkpoints were asked for where a search has no certificate.
    #[error("checkpoints of a search for scores go with a limit (within), and not with every double")]
    CheckpointScores,
    /// The bytes of the pruned model are another model.
    #[error(
        "secateur itself failed: the pruned model does not read back as what was proved. Nothing was written. \
         This is a bug: please report it with the model"
    )]
    ReadBack,
    /// A row of the caller's that the claim is about is decided otherwise.
    #[error(
        "secateur itself failed: the pruned model decides row {row} of the table otherwise, or its scores there are too far apart, against its proof. \
         Nothing was written. This is a bug: please report it with the model and that row"
    )]
    RowChanged {
        /// Which, from one.
        row: usize,
    },
}
