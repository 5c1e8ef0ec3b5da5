//! How far a pruned model's scores are from the original's on the caller's rows, if scores are
//! kept.

use secateur_formats::ModelFile;
use secateur_model::{Exact, Predictor};
use secateur_prune::Claim;
use serde_json::{Value, json};

use crate::error::Error;
use crate::text::{counted, rounded_up};

/// How far scores move on some rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScoreRows {
    /// How many rows there are.
    pub rows: usize,
    /// The largest difference of a score, with both computed as the library does.
    pub largest: f64,
}

impl ScoreRows {
    /// Computes the scores of both models; `None` without rows, and if decisions are kept. A
    /// difference that the claim excludes would be a bug of secateur.
    pub(super) fn compare(
        models: [&ModelFile; 2],
        rows: &[f64],
        claim: Claim,
    ) -> Result<Option<Self>, Error> {
        let Some(within) = claim.within().filter(|_| !rows.is_empty()) else { return Ok(None) };
        let [before, after] = models.map(|model| Predictor::new(model.ensemble()).decided_scores(rows));
        let (before, after) = (before?, after?);
        let outputs = models[0].ensemble().group_count().max(1);
        let exact = |value: f64| Exact::from_f64(value);
        let most = exact(within);
        let mut largest = 0.0f64;
        for (at, (&a, &b)) in before.iter().zip(&after).enumerate() {
            let distance = exact(a).zip(exact(b)).map(|(a, b)| (&b - &a).abs());
            if distance.is_none() || distance > most {
                return Err(Error::RowChanged { row: at / outputs + 1 });
            }
            largest = largest.max(distance.map_or(0.0, |distance| distance.to_f64_up()));
        }
        Ok(Some(Self { rows: before.len() / outputs, largest }))
    }

    pub(super) fn json(&self) -> Value {
        json!({"rows": self.rows, "largest": self.largest})
    }

    /// As a sentence.
    pub fn words(&self) -> String {
        let rows = counted(self.rows as u64, "row", "rows");
        match self.largest == 0.0 {
            true => format!("{rows}: every score as it was"),
            false => format!("{rows}: no score moves by more than {}", rounded_up(self.largest)),
        }
    }
}
