//! What the scores of a model mean: their type, and how they become classes, probabilities or a regressor's values.

use alloc::string::String;
use alloc::vec::Vec;

/// The float type of inputs or sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Number {
    /// IEEE binary32.
    F32,
    /// IEEE binary64.
    F64,
}

/// How scores become probabilities.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Link {
    /// The file does not say.
    None,
    /// One score s: the probability of class 1 is `1 / (1 + exp(-s))` in f32, as XGBoost computes it.
    Logistic32,
    /// One score s: the probability of class 1 is `1 / (1 + exp(-scale * s))` in f64.
    Logistic64 {
        /// The factor on the score.
        scale: f64,
    },
    /// A softmax in f32, as XGBoost computes it.
    Softmax32,
    /// A softmax in f64.
    Softmax64,
    /// AdaBoost's: a softmax in f64 of the scores divided by a number; one score s stands for -s and s.
    DividedSoftmax64 {
        /// The divisor of the scores.
        divisor: f64,
    },
    /// `1 / (1 + exp(-scale * s))` for each score, not normalised: of a class, or of a label where a row may get several.
    Each {
        /// The factor on the scores.
        scale: f64,
    },
    /// The averaged scores are the probabilities.
    Identity,
}

/// The label of each class.
#[derive(Clone, Debug, PartialEq)]
pub enum Labels {
    /// Classes are 0, 1, ...
    Unnamed(usize),
    /// Whole numbers.
    Integers(Vec<i64>),
    /// Other numbers.
    Floats(Vec<f64>),
    /// Truth values.
    Booleans(Vec<bool>),
    /// Texts.
    Texts(Vec<String>),
}

impl Labels {
    /// The number of classes.
    pub fn len(&self) -> usize {
        match self {
            Self::Unnamed(count) => *count,
            Self::Integers(labels) => labels.len(),
            Self::Floats(labels) => labels.len(),
            Self::Booleans(labels) => labels.len(),
            Self::Texts(labels) => labels.len(),
        }
    }

    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// How scores become a class.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Decision {
    /// Class 1 iff the score of this group is above the threshold, or equal to it unless `strict`.
    Threshold {
        /// Which score.
        group: usize,
        /// What it is compared with.
        threshold: f64,
        /// Above, not equal.
        strict: bool,
    },
    /// The first of the largest scores.
    Argmax,
    /// The first of the largest probabilities of XGBoost's softmax.
    Softmax32,
    /// The first of the largest probabilities of LightGBM's softmax.
    Softmax64,
    /// The first of the largest `1 / (1 + exp(-scale * score))`.
    Sigmoid {
        /// The factor on the scores.
        scale: f64,
    },
    /// There are no classes: the scores are the answer, or what the library makes of them (regressors, rankers).
    Scores(Value),
}

/// What a regressor's `predict` makes of a score, which is averaged where the model averages.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Value {
    /// The score itself.
    Score,
    /// The score times its magnitude, in the type of the sums: the sign stays (LightGBM's `sqrt`).
    SignedSquare,
    /// The score rounded to f32.
    ScoreAsF32,
    /// `exp(score)` in the type of the sums.
    Exp,
    /// `1 / (1 + exp(-score))` in the type of the sums.
    Logistic,
    /// `log(1 + exp(score))` in the type of the sums.
    LogOnePlusExp,
    /// The scores of a row, which some versions of the library sort and others do not: nobody can say which.
    Sorted,
    /// 1 where the score is above this, else 0: which labels a row gets, of which it may get several (CatBoost).
    Above {
        /// What each score is compared with.
        threshold: f64,
    },
    /// Of two scores the first as it is, and `exp` of twice the second (CatBoost's `RMSEWithUncertainty`).
    MeanAndVariance,
    /// The score is a sum of path lengths. What `predict` and `score_samples` make of it depends on numbers that the file does not have
    /// (scikit-learn's isolation forests).
    PathLength,
}

impl Value {
    /// Has the prediction the library's bits on every machine? Where it ends in the exponential function, its last bits
    /// depend on the machine, there as here.
    pub fn is_exact(self) -> bool {
        matches!(self, Self::Score | Self::SignedSquare | Self::ScoreAsF32 | Self::Above { .. })
    }
}
