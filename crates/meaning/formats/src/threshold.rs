//! Turns a threshold for probabilities into a cut of scores.
//!
//! Users who compare `predict_proba[:, 1]` with a number P of their own decide at another threshold
//! than the library does. The probability is a logistic function of the score,
//! `1 / (1 + exp(-k s))`, so they decide at the score `ln(P / (1 - P)) / k`. The exact place
//! depends on how the library, the platform's `exp` and the caller's comparison (`>` or `>=`, in
//! f32 or f64) round. The cut therefore has a gap that is wide enough for all of these: at scores
//! more than the gap away from the cut, the probability is on the same side of P for each of them.

use secateur_model::{Cut, Decision};
use thiserror::Error;

use crate::Link;
use crate::ModelFile;

/// A bound on the relative distance of a library's probability from the logistic function, in units
/// of its type's machine epsilon. An `exp` that errs by two units in the last place, one addition
/// and one division make less than four units; rounding the caller's P to the type makes a half;
/// the rest is spare. The argument of `exp` may be rounded too; this error is multiplied by the
/// size of the argument, which is therefore added.
const UNITS: f64 = 16.0;

/// Why there is no cut of scores for a threshold.
#[derive(Clone, Copy, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum ThresholdError {
    /// The threshold is not a probability with room for both classes.
    #[error("{threshold} is no threshold for a probability; give a number between 0 and 1, both excluded")]
    Range {
        /// The given number.
        threshold: f64,
    },
    /// The threshold is so near to 0 or 1 that the library's probabilities cannot resolve it.
    #[error(
        "{threshold} is so near to 0 or 1 that the library's probabilities cannot tell scores apart there; give a \
         threshold farther from the end"
    )]
    TooNear {
        /// The given number.
        threshold: f64,
    },
    /// The model has more than two classes, or none.
    #[error("a threshold is for models of two classes, and this one has {classes}")]
    Classes {
        /// How many it has.
        classes: usize,
    },
    /// The probability is not a logistic function of one score.
    #[error(
        "a threshold of your own is for models whose probability is a logistic function of one score (boosted trees with two \
         classes), and this one's is not; --keep scores (keep=\"scores\") keeps its probabilities as they are"
    )]
    NotLogistic,
}

/// The cut of a model's scores at which its probability of class 1 crosses `threshold`.
pub fn threshold_cut(file: &ModelFile, threshold: f64) -> Result<Cut, ThresholdError> {
    let (score, least) = crossing(file, threshold)?;
    // The logarithms themselves err by a few units in the last place.
    let own = 16.0 * f64::EPSILON * (1.0 + score.abs());
    let cut = Cut { score: score + 0.0, gap: least * (1.0 + 1e-6) + own };
    let finite = cut.score.is_finite() && cut.gap.is_finite();
    if finite { Ok(cut) } else { Err(ThresholdError::TooNear { threshold }) }
}

/// Is a decision that is certain at this cut, which another machine may have computed, certain at
/// the threshold? Machines may disagree about the last bits of a logarithm, so cuts are not
/// compared for equality.
pub fn cut_covers(file: &ModelFile, cut: Cut, threshold: f64) -> Result<bool, ThresholdError> {
    let (score, least) = crossing(file, threshold)?;
    Ok(cut.score - cut.gap <= score - least && score + least <= cut.score + cut.gap)
}

/// The score at which the probability crosses the threshold, and the distance from it beyond which
/// all ways of computing agree; both up to the last bits of a logarithm.
fn crossing(file: &ModelFile, threshold: f64) -> Result<(f64, f64), ThresholdError> {
    if !(threshold > 0.0 && threshold < 1.0) {
        return Err(ThresholdError::Range { threshold });
    }
    let model = file.ensemble();
    let decides_at_threshold = matches!(model.library_decision(), Decision::Threshold { .. });
    let classes = model.classes().len();
    if classes != 2 {
        return Err(ThresholdError::Classes { classes });
    }
    let (scale, epsilon) =
        logistic(file).filter(|_| decides_at_threshold).ok_or(ThresholdError::NotLogistic)?;
    let too_near = || ThresholdError::TooNear { threshold };
    let argument = |probability: f64| (probability / (1.0 - probability)).ln();
    let score = |probability: f64| argument(probability) / scale;
    let error = (UNITS + argument(threshold).abs()) * epsilon;
    let [low, middle, high] = [1.0 - error, 1.0, 1.0 + error].map(|factor| threshold * factor);
    if !(low > f64::from(f32::MIN_POSITIVE) && high < 1.0) {
        return Err(too_near());
    }
    let [low, middle, high] = [low, middle, high].map(score);
    Ok((middle, (high - middle).max(middle - low)))
}

/// The probability of class 1 that a model of two classes gives to a score, except for rounding;
/// `None` if it is not a logistic function of one score.
pub fn logistic_probability(file: &ModelFile, score: f64) -> Option<f64> {
    let (scale, _) = logistic(file)?;
    Some(1.0 / (1.0 + (-scale * score).exp()))
}

/// The factor on the score in the logistic function, and the machine epsilon of the type it is
/// computed in.
fn logistic(file: &ModelFile) -> Option<(f64, f64)> {
    let (scale, epsilon) = match Link::of(file) {
        Link::Logistic32 => (1.0, f64::from(f32::EPSILON)),
        Link::Logistic64 { scale } => (scale, f64::EPSILON),
        // A softmax of -s / d and s / d.
        Link::DividedSoftmax64 { divisor } if file.ensemble().group_count() == 1 => {
            (2.0 / divisor, f64::EPSILON)
        }
        _ => return None,
    };
    // A negative factor would swap the sides; no library writes one.
    (scale > 0.0 && scale.is_finite()).then_some((scale, epsilon))
}
