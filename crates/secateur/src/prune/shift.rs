//! How far a pruned model's probabilities move on the caller's rows. This is measured and never claimed: a proof is
//! about decisions.

use secateur_formats::ModelFile;
use serde_json::{Value, json};

use crate::probabilities::Probabilities;
use crate::text::rounded_up;

/// How far the probabilities of two models are apart on some rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProbabilityShift {
    /// How many rows there are.
    pub rows: usize,
    /// The largest difference of a class's probability.
    pub largest: f64,
    /// The mean over the rows, each counted by its class that moves most.
    pub mean: f64,
}

impl ProbabilityShift {
    /// Of two models with the same classes; `None` without rows, and where scores do not become probabilities.
    pub(crate) fn measure(models: [&ModelFile; 2], rows: &[f64]) -> Option<Self> {
        if rows.is_empty() {
            return None;
        }
        let [before, after] = models.map(Probabilities::new);
        let classes = before.as_ref()?.classes();
        let (before, after) = (before?.of(rows)?, after?.of(rows)?);
        let count = before.len() / classes;
        let shift = |(before, after): (&[f64], &[f64])| {
            before.iter().zip(after).map(|(before, after)| (before - after).abs()).fold(0.0, f64::max)
        };
        let shifts = || before.chunks_exact(classes).zip(after.chunks_exact(classes)).map(shift);
        (count > 0).then(|| Self {
            rows: count,
            largest: shifts().fold(0.0, f64::max),
            mean: shifts().sum::<f64>() / count as f64,
        })
    }

    pub(super) fn json(&self) -> Value {
        json!({"rows": self.rows, "largest": self.largest, "mean": self.mean})
    }

    pub(super) fn words(&self) -> String {
        format!(
            "on these rows they move by up to {}, by {} on average",
            decimals(self.largest),
            decimals(self.mean)
        )
    }
}

/// Three decimals, rounded up; powers of ten where these would say nothing.
fn decimals(probability: f64) -> String {
    if probability < 1e-3 {
        return rounded_up(probability);
    }
    format!("{:.3}", (probability * 1000.0).ceil() / 1000.0)
}
