//! The probabilities that a model's library makes of its scores, up to their last bits: these depend on more than the
//! file and the input, on the machine's exponential function for example.

use secateur_certificate::Digest;
use secateur_formats::ModelFile;
use secateur_formats::packed::{self, Link, Stamp};
use secateur_runtime::{Model, Rows};

/// Computes the probabilities of a model's classes, or of its labels where a row may get several.
#[derive(Debug)]
pub struct Probabilities {
    runtime: Model,
    features: usize,
    classes: usize,
}

impl Probabilities {
    /// Does the model's library make probabilities of its scores, as far as is known here?
    pub fn are_known(model: &ModelFile) -> bool {
        Link::of(model) != Link::None
    }

    /// Of this model; `None` where its library makes none, as far as is known here.
    pub fn new(model: &ModelFile) -> Option<Self> {
        if !Self::are_known(model) {
            return None;
        }
        let ensemble = model.ensemble();
        let stamp = Stamp { source: Digest::of(ensemble).0, cover_rows: 0, cover_hash: 0 };
        let runtime = Model::load(&packed::File::pack(model, None, &stamp).ok()?).ok()?;
        let (features, classes) = (ensemble.features().len(), runtime.class_count());
        (classes > 0).then_some(Self { runtime, features, classes })
    }

    /// How many classes or labels there are.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// The probability of each class or label of each of these rows, one row after the other; `None` where the rows do not have the
    /// model's columns.
    pub fn of(&self, rows: &[f64]) -> Option<Vec<f64>> {
        let mut found = vec![0.0; rows.len() / self.features.max(1) * self.classes];
        self.runtime.probabilities(Rows::row_major(rows, self.features).ok()?, &mut found).ok()?;
        Some(found)
    }
}
