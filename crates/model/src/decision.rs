//! From scores to a class, by each library's own rule.

use crate::ids::{ClassId, GroupId};

/// The rule that turns a row's scores (after averaging) into a class.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Decision {
    /// Two classes, one score: class 1 iff `score > threshold` (`>=` unless `strict`).
    ///
    /// Libraries that decide on a rounded probability (`p > 0.5`) have a threshold just above zero: the
    /// largest score whose probability still rounds to one half.
    Threshold {
        /// The sum that decides.
        group: GroupId,
        /// What it is compared with.
        threshold: f64,
        /// `>` rather than `>=`.
        strict: bool,
    },
    /// The first class of the highest score.
    Argmax,
    /// The first class of the highest probability of a softmax; scores a few units apart in the last
    /// place may get equal probabilities, and then the lower class wins.
    ArgmaxSoftmax(Softmax),
    /// The first class of the highest `1 / (1 + exp(-scale * score))`, each rounded to f64: scores from
    /// about 37 on all give 1, and then the lowest class wins (LightGBM's one-against-all).
    ArgmaxSigmoid {
        /// The file's `sigmoid` parameter.
        scale: f64,
    },
    /// No classes: the scores are the answer, or what the library makes of them (regressors, rankers).
    Scores(Value),
}

/// What `predict` makes of a score (after averaging) where there are no classes to choose from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// The score itself.
    Score,
    /// The score times its magnitude, in the type of the sums: the sign stays (LightGBM's `sqrt`).
    SignedSquare,
    /// The f64 score rounded to f32 (onnxruntime's ensembles of doubles).
    ScoreAsF32,
    /// 1 where the score is above this, else 0: which labels a row gets, of which it may get several (CatBoost).
    Above {
        /// What each score is compared with.
        threshold: f64,
    },
    /// Something whose last bits are not fixed by the file and the input: only the score is told here.
    NotFixed(Transform),
}

/// What a library computes from scores where the file and the input do not fix the last bits of the result.
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
    /// `-(2 ** -(score / expected))` for a sum of path lengths, where the expected one is that of a random tree
    /// (scikit-learn's isolation forests).
    PathLength,
}

/// Which library's softmax.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Softmax {
    /// XGBoost: the largest is subtracted and `exp` taken in f32, the f64 sum rounded to f32, divided in f32.
    XgBoost,
    /// LightGBM: the same steps, all in f64.
    LightGbm,
}

/// Another threshold than the library's own: class 1 from this score on.
///
/// People who compare a probability with a number of their own decide like this. Where the probability crosses that
/// number depends on the last bits of an exponential function, so a cut has a gap: a decision counts as certain only
/// where the score is more than the gap away from the cut, and then every such function agrees.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cut {
    /// The score, after averaging, from which on class 1 is decided.
    pub score: f64,
    /// How far from it decisions are certain.
    pub gap: f64,
}

impl Cut {
    pub(crate) fn is_canonical(&self) -> bool {
        let canonical = |value: f64| value.is_finite() && (value != 0.0 || value.is_sign_positive());
        canonical(self.score) && canonical(self.gap) && self.gap >= 0.0
    }
}

impl Decision {
    /// The class for these scores, which are exactly what the library's arithmetic gives.
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
            // There are no classes, and nobody asks a model without classes for one.
            Self::Scores(_) => ClassId(0),
        }
    }

    /// Is this the rule of a classifier? Claims about decisions are about classifiers only: of a model without
    /// classes nothing would have to be shown.
    pub fn is_classifier(&self) -> bool {
        !matches!(self, Self::Scores(_))
    }

    /// A gap between two scores above which the higher one certainly wins, whatever the probabilities'
    /// rounding does. For sigmoids it depends on the range of the scores and is not told here.
    ///
    /// Softmax divides `exp(-gap)` and `exp(0) = 1` by the same denominator. Two quotients round to
    /// different floats if they differ by more than one spacing, relatively 2^-23 in f32 (2^-52 in f64).
    /// An `exp` that errs by one unit in the last place below 1 costs another 2^-24 (2^-53), so 1.5 * 2^-23
    /// (1.5 * 2^-52) is enough; it is doubled here for an `exp` of half that quality.
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
