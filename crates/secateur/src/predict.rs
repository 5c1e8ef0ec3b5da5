//! The road of `predict`: the bits of the model's own library.

use secateur_formats::ModelFile;
use secateur_model::{ClassId, PredictError, Predictor};

/// The class of each row, as the model's own library decides. `rows` holds one row of the model's features after the
/// other.
///
/// ```
/// let model = secateur::ModelFile::parse(secateur::demo::MODEL)?;
/// let row = vec![0.0; model.ensemble().features().len()];
/// let classes = secateur::predict(&model, &row)?;
/// println!("class {}", model.ensemble().classes().text(classes[0]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn predict(model: &ModelFile, rows: &[f64]) -> Result<Vec<ClassId>, PredictError> {
    Predictor::new(model.ensemble()).classes(rows)
}

/// What a regressor's or ranker's own `predict` gives for each row, one number for each output, row after row. `None`
/// for a classifier, and where the last bits of the prediction are not fixed by the file and the input (it ends in
/// `exp`, for example): only [`raw_scores`] are told then.
pub fn values(model: &ModelFile, rows: &[f64]) -> Result<Option<Vec<f64>>, PredictError> {
    Predictor::new(model.ensemble()).values(rows)
}

/// The raw scores of each row, one row after the other, with the very bits of the model's own library.
pub fn raw_scores(model: &ModelFile, rows: &[f64]) -> Result<Vec<f64>, PredictError> {
    Predictor::new(model.ensemble()).raw_scores(rows)
}
