//! How far a pruned model's probabilities move on the caller's rows. This is measured and never
//! claimed: a proof is about decisions.

use secateur_formats::ModelFile;
use secateur_model::ClassId;
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
    /// The mean over the rows of the largest change of any class.
    pub mean: f64,
    /// How well the probability of the second class ranks the rows, before and after: the area
    /// under the ROC curve. `None` unless the rows' classes are known and the rows have exactly
    /// two, both of which occur.
    pub auc: Option<[f64; 2]>,
}

impl ProbabilityShift {
    /// Measures two models with the same classes; `None` without rows, and if the scores do not
    /// become probabilities. `truth` is the class of each row, or empty.
    pub(crate) fn measure(models: [&ModelFile; 2], rows: &[f64], truth: &[ClassId]) -> Option<Self> {
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
        let known = models[0].ensemble().classes().len() == 2 && truth.len() == count;
        let second = |all: &[f64]| all.chunks_exact(2).map(|row| row[1]).collect::<Vec<f64>>();
        let ranked = |all: &[f64]| area_under_curve(&second(all), truth);
        (count > 0).then(|| Self {
            rows: count,
            largest: shifts().fold(0.0, f64::max),
            mean: shifts().sum::<f64>() / count as f64,
            auc: known.then(|| Some([ranked(&before)?, ranked(&after)?])).flatten(),
        })
    }

    pub(super) fn json(&self) -> Value {
        let auc = self.auc.map(|[before, after]| json!({"before": before, "after": after}));
        json!({"rows": self.rows, "largest": self.largest, "mean": self.mean, "auc": auc})
    }

    pub(super) fn words(&self) -> String {
        let auc = match self.auc {
            Some([before, after]) => format!(" (AUC {before:.4} -> {after:.4})"),
            None => String::new(),
        };
        format!(
            "on these rows they move by up to {}, by {} on average{auc}",
            decimals(self.largest),
            decimals(self.mean)
        )
    }
}

/// The chance that a row of class 1 gets a higher score than a row of class 0; a tie counts half.
/// `None` unless both classes occur.
fn area_under_curve(scores: &[f64], truth: &[ClassId]) -> Option<f64> {
    let mut order: Vec<(f64, bool)> =
        scores.iter().zip(truth).map(|(&score, &class)| (score, class == ClassId(1))).collect();
    order.sort_unstable_by(|(first, _), (second, _)| first.total_cmp(second));
    let (mut below, mut pairs) = (0.0, 0.0);
    for tied in order.chunk_by(|(first, _), (second, _)| first == second) {
        let positives = tied.iter().filter(|(_, positive)| *positive).count() as f64;
        let negatives = tied.len() as f64 - positives;
        pairs += positives * (below + negatives / 2.0);
        below += negatives;
    }
    let positives = order.len() as f64 - below;
    (below > 0.0 && positives > 0.0).then(|| pairs / (below * positives))
}

/// Three decimals, rounded up; powers of ten for numbers below 0.001.
fn decimals(probability: f64) -> String {
    if probability < 1e-3 {
        return rounded_up(probability);
    }
    format!("{:.3}", (probability * 1000.0).ceil() / 1000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_area_counts_pairs_and_half_of_the_ties() {
        let mut random = fastrand::Rng::with_seed(5);
        for _ in 0..200 {
            let rows = random.usize(1..30);
            let scores: Vec<f64> = (0..rows).map(|_| f64::from(random.u8(0..6)) / 5.0).collect();
            let truth: Vec<ClassId> = (0..rows).map(|_| ClassId(random.u32(0..2))).collect();
            let all = || scores.iter().zip(&truth);
            let (mut sum, mut pairs) = (0.0, 0.0);
            for (first, _) in all().filter(|(_, class)| class.0 == 1) {
                for (second, _) in all().filter(|(_, class)| class.0 == 0) {
                    sum += if first > second {
                        1.0
                    } else if first == second {
                        0.5
                    } else {
                        0.0
                    };
                    pairs += 1.0;
                }
            }
            let expected = (pairs > 0.0).then_some(sum / pairs);
            assert_eq!(area_under_curve(&scores, &truth), expected, "{scores:?} {truth:?}");
        }
    }
}
