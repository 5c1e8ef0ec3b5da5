//! Many rows: which path takes them.

use crate::error::PredictError;
use crate::model::Model;
use crate::path::Path;
use crate::rows::{Float, Rows};

/// The sums of each row.
pub(crate) fn sums<T: Float>(
    model: &Model,
    path: Path,
    rows: Rows<'_, T>,
    scores: &mut [f64],
) -> Result<(), PredictError> {
    match path {
        Path::Scalar => model.scalar_sums(&rows, scores),
    }
}
