//! The probabilities that a model's library computes from its scores, except for their last bits.
//! Those depend on more than the file and the input, for example on the machine's exponential
//! function.

use secateur_certificate::Digest;
use secateur_formats::Link;
use secateur_formats::ModelFile;
use secateur_formats::packed::{self, Stamp};
use secateur_runtime::{Model, Rows};

/// Computes the probabilities of a model's classes, or of its labels if a row may get several.
#[derive(Debug)]
pub struct Probabilities {
    runtime: Model,
    features: usize,
    classes: usize,
}

impl Probabilities {
    /// Is it known here how the model's library computes probabilities from its scores?
    pub fn are_known(model: &ModelFile) -> bool {
        Link::of(model) != Link::None
    }

    /// For this model; `None` if its library computes no probabilities, or it is not known how.
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

    /// The probability of each class or label, row after row; `None` if the rows do not have the
    /// model's columns.
    pub fn of(&self, rows: &[f64]) -> Option<Vec<f64>> {
        let mut found = vec![0.0; rows.len() / self.features.max(1) * self.classes];
        self.runtime.probabilities(Rows::row_major(rows, self.features).ok()?, &mut found).ok()?;
        Some(found)
    }
}
