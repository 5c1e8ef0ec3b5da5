//! From scores to a class, by each library's own rule.

use crate::ids::{ClassId, GroupId};

/// The rule that turns a row's scores (after averaging) into a class.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Decision {
    /// Two classes, one score: class 1 iff `score > threshold` (`>=` unless `strict`).
    ///
    /// Libraries that decide on a rounded probability (`p > 0.5`) have a threshold just above zero:
    /// the largest score whose probability still rounds to one half.
    Threshold {
        /// The sum that decides.
        group: GroupId,
        /// The number that it is compared with.
        threshold: f64,
        /// `>` rather than `>=`.
        strict: bool,
    },
    /// The first class with the highest score.
    Argmax,
    /// The first class with the highest probability of a softmax; scores that differ by a few units
    /// in the last place may get equal probabilities, and then the lower class wins.
    ArgmaxSoftmax(Softmax),
    /// The first class with the highest `1 / (1 + exp(-scale * score))`, each rounded to f64: all
    /// scores above about 37 / scale give 1, and then the lowest class wins (LightGBM's
    /// one-against-all).
    ArgmaxSigmoid {
        /// The file's `sigmoid` parameter.
        scale: f64,
    },
    /// No classes: the answer is the scores, or values that the library computes from them
    /// (regressors, rankers).
    Scores(Value),
}

/// How `predict` turns a score (after averaging) into a value if the model has no classes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// The score itself.
    Score,
    /// The score times its magnitude, in the type of the sums: the sign stays (LightGBM's `sqrt`).
    SignedSquare,
    /// The f64 score rounded to f32 (onnxruntime's ensembles of doubles).
    ScoreAsF32,
    /// 1 if the score is above the threshold, otherwise 0: whether a row gets this label. It may
    /// get several (CatBoost).
    Above {
        /// The threshold.
        threshold: f64,
    },
    /// A value whose last bits are not fixed by the file and the input; only the score is available
    /// here.
    NotFixed(Transform),
}

/// The functions that a library applies to scores if the file and the input do not fix the last
/// bits of the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transform {
    /// `exp(score)`, by the platform's or NumPy's own function.
    Exp,
    /// `1 / (1 + exp(-score))`.
    Logistic,
    /// `log(1 + exp(score))`.
    LogOnePlusExp,
    /// The scores of a row, which some versions sort in ascending order (XGBoost's quantiles).
    Sorted,
    /// The first score as it is, and `exp` of twice the second (CatBoost's `RMSEWithUncertainty`).
    MeanAndVariance,
    /// `-(2 ** -(score / expected))` for a sum of path lengths, where `expected` is the path length
    /// in a random tree (scikit-learn's isolation forests).
    PathLength,
}

/// The library whose softmax is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Softmax {
    /// XGBoost: the largest score is subtracted and `exp` taken in f32; the sum is computed in f64
    /// and rounded to f32; the division is in f32.
    XgBoost,
    /// LightGBM: the same steps, all in f64.
    LightGbm,
}

/// A threshold that replaces the library's own: class 1 for this score or more.
///
/// Users decide like this who compare a probability with a number of their own. The score at which
/// the probability crosses that number depends on the last bits of an exponential function, so a
/// cut has a gap: a decision counts as certain only if the score is more than the gap away from the
/// cut, and then all such functions agree.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cut {
    /// Class 1 is decided for this score, after averaging, or more.
    pub score: f64,
    /// Decisions are certain for scores that are farther than this from the cut.
    pub gap: f64,
}

impl Cut {
    pub(crate) fn is_canonical(&self) -> bool {
        let canonical = |value: f64| value.is_finite() && (value != 0.0 || value.is_sign_positive());
        canonical(self.score) && canonical(self.gap) && self.gap >= 0.0
    }
}

impl Decision {
    /// The class for these scores, which must be exactly those of the library's arithmetic.
    pub fn class(&self, scores: &[f64]) -> ClassId {
        match *self {
            Self::Threshold { group, threshold, strict } => {
                let score = scores[group.index()];
                ClassId(u32::from(score > threshold || !strict && score == threshold))
            }
            Self::Argmax => first_argmax(scores.iter().copied()),
            Self::ArgmaxSoftmax(Softmax::XgBoost) => first_argmax(softmax_f32(scores).map(f64::from)),
            Self::ArgmaxSoftmax(Softmax::LightGbm) => first_argmax(softmax_f64(scores)),
            Self::ArgmaxSigmoid { scale } => {
                first_argmax(scores.iter().map(|score| 1.0 / (1.0 + (-scale * score).exp())))
            }
            // There are no classes, and no caller asks a model without classes for one.
            Self::Scores(_) => ClassId(0),
        }
    }

    /// Is this the rule of a classifier? Claims about decisions are only made for classifiers: for
    /// a model without classes they would be empty.
    pub fn is_classifier(&self) -> bool {
        !matches!(self, Self::Scores(_))
    }

    /// A gap between two scores above which the higher one certainly wins, however the
    /// probabilities are rounded. For sigmoids the gap depends on the range of the scores and is
    /// not given here.
    ///
    /// Softmax divides `exp(-gap)` and `exp(0) = 1` by the same denominator. Two quotients round to
    /// different floats if they differ by more than one spacing, relatively 2^-23 in f32 (2^-52 in
    /// f64). An `exp` that errs by one unit in the last place below 1 costs another 2^-24 (2^-53),
    /// so 1.5 * 2^-23 (1.5 * 2^-52) is enough; it is doubled here for an `exp` of half that
    /// quality.
    pub(crate) fn certain_gap(&self) -> f64 {
        match self {
            Self::Threshold { .. } | Self::Argmax | Self::ArgmaxSigmoid { .. } | Self::Scores(_) => 0.0,
            Self::ArgmaxSoftmax(Softmax::XgBoost) => 3.0 * f64::from(f32::EPSILON),
            Self::ArgmaxSoftmax(Softmax::LightGbm) => 3.0 * f64::EPSILON,
        }
    }
}

fn first_argmax(values: impl Iterator<Item = f64>) -> ClassId {
    let mut best = (ClassId(0), f64::NEG_INFINITY);
    for (index, value) in values.enumerate() {
        if value > best.1 {
            best = (ClassId::new(index), value);
        }
    }
    best.0
}

fn softmax_f32(scores: &[f64]) -> impl Iterator<Item = f32> {
    let largest = scores.iter().map(|&s| s as f32).fold(f32::NEG_INFINITY, f32::max);
    let exps: Vec<f32> = scores.iter().map(|&s| (s as f32 - largest).exp()).collect();
    let total = exps.iter().map(|&e| f64::from(e)).sum::<f64>() as f32;
    exps.into_iter().map(move |e| e / total)
}

fn softmax_f64(scores: &[f64]) -> impl Iterator<Item = f64> {
    let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let exps: Vec<f64> = scores.iter().map(|&s| (s - largest).exp()).collect();
    let total: f64 = exps.iter().sum();
    exps.into_iter().map(move |e| e / total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_know_their_side() {
        let rule = |strict| Decision::Threshold { group: GroupId(0), threshold: 0.5, strict };
        assert_eq!(rule(true).class(&[0.5]), ClassId(0));
        assert_eq!(rule(false).class(&[0.5]), ClassId(1));
        assert_eq!(rule(true).class(&[0.5f64.next_up()]), ClassId(1));
        assert_eq!(rule(false).class(&[0.5f64.next_down()]), ClassId(0));
    }

    #[test]
    fn ties_go_to_the_lower_class() {
        assert_eq!(Decision::Argmax.class(&[1.0, 2.0, 2.0]), ClassId(1));
        assert_eq!(Decision::ArgmaxSigmoid { scale: 1.0 }.class(&[38.0, 50.0]), ClassId(0));
        assert_eq!(Decision::ArgmaxSigmoid { scale: 1.0 }.class(&[30.0, 31.0]), ClassId(1));
    }

    #[test]
    fn softmax_collapses_the_last_bits_but_not_the_certain_gap() {
        let rule = Decision::ArgmaxSoftmax(Softmax::XgBoost);
        let gap = rule.certain_gap();
        let mut collapsed = 0;
        for step in 0..2000 {
            let high = f64::from(0.01f32 + step as f32 * 1e-4);
            let near = f64::from((high as f32).next_down());
            collapsed += u32::from(rule.class(&[near, high]) == ClassId(0));
            let far = f64::from(((high - gap) as f32).next_down());
            assert_eq!(rule.class(&[far, high]), ClassId(1), "{far} against {high}");
        }
        assert!(collapsed > 0, "no pair of neighbours collapsed: the rule is not the library's");
    }
}
