//! What a model is: its file, and the ensemble that is read from it.

pub use secateur_formats::catboost::category_hash;
pub use secateur_formats::{EditError, FormatError, ModelFile, ReadError};
pub use secateur_model::{Accepted, ClassId, ClassLabels, Ensemble, FeatureId, Intake};
