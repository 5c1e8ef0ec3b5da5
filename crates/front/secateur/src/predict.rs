//! The pipeline of `predict`: predictions with exactly the bits of the model's own library.
//!
//! The exact predictor handles few rows, since it needs no preparation. For many rows the model is
//! packed in memory and run by the kernels of `secateur-runtime`, with the same bits and several
//! times as fast. A model that cannot be packed stays with the exact predictor.

use secateur_formats::Link;
use secateur_formats::packed::{File, Stamp};
use secateur_formats::{Framework, ModelFile};
pub use secateur_model::PredictError;
use secateur_model::{ClassId, Ensemble, Predictor};
use secateur_runtime::{Model, Path, Rows};

pub use crate::logistic::probabilities;
pub use crate::probabilities::Probabilities;

/// The class of each row, as the model's own library decides. `rows` holds the rows one after the
/// other, each with all features of the model.
///
/// ```
/// let model = secateur::ModelFile::parse(secateur::demo::MODEL)?;
/// let row = vec![0.0; model.ensemble().features().len()];
/// let classes = secateur::predict(&model, &row)?;
/// println!("class {}", model.ensemble().classes().text(classes[0]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn predict(model: &ModelFile, rows: &[f64]) -> Result<Vec<ClassId>, PredictError> {
    Scorer::new(model.ensemble()).classes(rows)
}

/// The numbers that a regressor's or ranker's own `predict` returns, one for each output, row after
/// row. `None` for a classifier, and if the file and the input do not fix the last bits of the
/// prediction (for example because it ends in `exp`): then only [`raw_scores`] are available.
pub fn values(model: &ModelFile, rows: &[f64]) -> Result<Option<Vec<f64>>, PredictError> {
    Scorer::new(model.ensemble()).values(rows)
}

/// The raw scores of each row, row after row, with exactly the bits of the model's own library.
pub fn raw_scores(model: &ModelFile, rows: &[f64]) -> Result<Vec<f64>, PredictError> {
    Scorer::new(model.ensemble()).raw_scores(rows)
}

/// The model is packed from this many rows times trees, for which the exact predictor would take
/// some tenths of a second.
const WORTH_PACKING: usize = 1 << 24;

/// A model prepared to predict any number of rows, with the bits of its own library.
#[derive(Debug)]
pub struct Scorer<'a> {
    ensemble: &'a Ensemble,
    exact: Predictor<'a>,
    packed: Packed,
    /// Rows times trees predicted until now, and the number of them from which the model is packed.
    work: usize,
    worth: usize,
}

#[derive(Debug)]
enum Packed {
    NotYet,
    Ready(Box<Model>),
    /// The packed format cannot hold this model.
    Impossible,
}

impl<'a> Scorer<'a> {
    /// Prepares a model.
    pub fn new(ensemble: &'a Ensemble) -> Self {
        Self::packing_from(ensemble, WORTH_PACKING)
    }

    /// As [`new`](Self::new), but packs from `worth` rows times trees; 0 packs at once. The bits do
    /// not depend on it.
    pub fn packing_from(ensemble: &'a Ensemble, worth: usize) -> Self {
        Self { ensemble, exact: Predictor::new(ensemble), packed: Packed::NotYet, work: 0, worth }
    }

    /// The raw scores of each row, one row after the other.
    pub fn raw_scores(&mut self, rows: &[f64]) -> Result<Vec<f64>, PredictError> {
        match self.fast_scores(rows) {
            Some(scores) => Ok(scores),
            None => self.exact.raw_scores(rows),
        }
    }

    /// The class of each row. For a model without classes this is 0.
    pub fn classes(&mut self, rows: &[f64]) -> Result<Vec<ClassId>, PredictError> {
        let Some(mut scores) = self.fast_scores(rows) else { return self.exact.classes(rows) };
        self.average(&mut scores);
        let decision = self.ensemble.decision();
        Ok(scores.chunks(self.ensemble.group_count()).map(|scores| decision.class(scores)).collect())
    }

    /// A regressor's values, as [`values`] returns them.
    pub fn values(&mut self, rows: &[f64]) -> Result<Option<Vec<f64>>, PredictError> {
        // Values that are not fixed cost no prediction.
        if self.exact.values(&[])?.is_none() {
            return self.exact.values(rows);
        }
        let Some(scores) = self.fast_scores(rows) else { return self.exact.values(rows) };
        let mut values = vec![0.0; scores.len()];
        match &self.packed {
            Packed::Ready(model) if model.values_of(&scores, &mut values).is_ok() => Ok(Some(values)),
            _ => self.exact.values(rows),
        }
    }

    /// Turns raw scores into the scores that the decision compares.
    fn average(&self, scores: &mut [f64]) {
        let accumulation = self.ensemble.accumulation();
        if let Some(average) = accumulation.average.filter(|average| !average.in_raw_scores) {
            let number = accumulation.number;
            scores.iter_mut().for_each(|score| *score = number.round(*score / average.divisor));
        }
    }

    /// The raw scores, computed by the kernels; `None` if the exact predictor has to do it: for too
    /// few rows, a model that cannot be packed, or rows that the library refuses (the exact
    /// predictor reports which).
    fn fast_scores(&mut self, rows: &[f64]) -> Option<Vec<f64>> {
        let width = self.ensemble.features().len();
        let count = rows.len().checked_div(width)?;
        self.work = self.work.saturating_add(count.saturating_mul(self.ensemble.trees().len()));
        if self.work < self.worth {
            return None;
        }
        if let Packed::NotYet = self.packed {
            self.packed = packed(self.ensemble).map_or(Packed::Impossible, Packed::Ready);
        }
        let Packed::Ready(model) = &self.packed else { return None };
        let mut scores = vec![0.0; count * model.outputs()];
        let table = Rows::row_major(rows, width).ok()?;
        model.raw_scores_on(Path::best(), table, &mut scores).ok()?;
        Some(scores)
    }
}

/// The model in the runtime's tables. The stamp and source in its header do not affect the scores.
fn packed(ensemble: &Ensemble) -> Option<Box<Model>> {
    let stamp = Stamp { source: [0; 32], cover_rows: 0, cover_hash: 0 };
    let source = (Framework::XgBoost, "");
    let bytes = File::pack_ensemble(ensemble, source, Link::None, None, &stamp).ok()?;
    Model::load(&bytes).ok().map(Box::new)
}

#[cfg(test)]
mod tests {
    use secateur_model::Steps;
    use secateur_testkit::{Shape, ensemble};

    use super::*;

    /// A small random number generator, so that every run gets the same numbers.
    fn next(state: &mut u64) -> usize {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*state >> 33) as usize
    }

    #[test]
    fn packed_or_not_the_bits_classes_values_and_refusals_are_the_same() {
        let (mut ready, mut impossible, mut refused, mut scaled) = (0, 0, 0, 0);
        for seed in 0..400 {
            let mut rng = fastrand::Rng::with_seed(seed);
            let shape = Shape::any(&mut rng);
            let mut model = ensemble(&mut rng, &shape);
            if seed % 20 == 0 {
                model = model.behind(Steps { names: Vec::new(), content: vec![1] }.into());
            }
            scaled += u32::from(model.scale().is_some());
            let width = model.features().len();
            let mut state = seed;
            let special = [f64::NAN, f64::INFINITY, 0.0, -0.0, 1e39];
            let rows: Vec<f64> = (0..700 * width)
                .map(|at| match next(&mut state) % 40 {
                    // If the library refuses some values, most models would refuse some row; so
                    // those are rare here.
                    0 if at > 600 * width || seed % 2 == 0 => special[next(&mut state) % special.len()],
                    _ => (next(&mut state) % 33) as f64 / 4.0 - 4.0,
                })
                .collect();
            let exact = Predictor::new(&model);
            let mut scorer = Scorer::packing_from(&model, 0);
            let bits = |scores: Result<Vec<f64>, PredictError>| {
                scores.map(|scores| scores.iter().map(|score| score.to_bits()).collect::<Vec<_>>())
            };
            // NaN is not equal to itself, so errors are compared by their words.
            let words = |error: PredictError| error.to_string();
            let found = bits(scorer.raw_scores(&rows)).map_err(words);
            assert_eq!(found, bits(exact.raw_scores(&rows)).map_err(words), "seed {seed}");
            refused += u32::from(found.is_err());
            let found = scorer.classes(&rows).map_err(words);
            assert_eq!(found, exact.classes(&rows).map_err(words), "seed {seed}");
            assert_eq!(
                scorer.values(&rows).map_err(words),
                exact.values(&rows).map_err(words),
                "seed {seed}"
            );
            ready += u32::from(matches!(scorer.packed, Packed::Ready(_)));
            impossible += u32::from(matches!(scorer.packed, Packed::Impossible));
        }
        assert!(ready > 200 && impossible == 20 && refused > 20, "{ready} {impossible} {refused}");
        assert!(scaled > 5, "{scaled} models with a scale: too few for a test");
    }

    #[test]
    fn few_rows_are_not_worth_packing() {
        let model = ModelFile::parse(crate::demo::MODEL).unwrap();
        let rows = vec![0.0; model.ensemble().features().len() * 10];
        let mut scorer = Scorer::new(model.ensemble());
        scorer.raw_scores(&rows).unwrap();
        assert!(matches!(scorer.packed, Packed::NotYet));
    }
}
