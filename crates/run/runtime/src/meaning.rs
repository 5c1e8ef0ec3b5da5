//! The meaning of a model's scores: their type, and how they become classes, probabilities or a
//! regressor's values.

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
    /// One score s: the probability of class 1 is `1 / (1 + exp(-s))` in f32, as XGBoost computes
    /// it.
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
    /// As AdaBoost computes it: a softmax in f64 of the scores divided by a number; a single score
    /// s stands for the two scores -s and s.
    DividedSoftmax64 {
        /// The divisor of the scores.
        divisor: f64,
    },
    /// `1 / (1 + exp(-scale * s))` for each score, not normalised. A score belongs to a class, or
    /// to a label if a row may get several.
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
    /// Class 1 iff this score is above the threshold, or equal to it unless `strict`.
    Threshold {
        /// The index of the score.
        group: usize,
        /// What it is compared with.
        threshold: f64,
        /// Whether a score equal to the threshold is class 0.
        strict: bool,
    },
    /// The class with the largest score, the first of them if several are equal.
    Argmax,
    /// The class with the largest probability of XGBoost's softmax, the first of them if several
    /// are equal.
    Softmax32,
    /// The class with the largest probability of LightGBM's softmax, the first of them if several
    /// are equal.
    Softmax64,
    /// The class with the largest `1 / (1 + exp(-scale * score))`, the first of them if several are
    /// equal.
    Sigmoid {
        /// The factor on the scores.
        scale: f64,
    },
    /// There are no classes (regressors, rankers, several labels for a row): the answer is the
    /// score or a value that the library computes from it.
    Scores(Value),
}

/// What a regressor's `predict` returns for a score. A score is divided first if the model
/// averages.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Value {
    /// The score itself.
    Score,
    /// The score times its magnitude, in the type of the sums, so that the sign stays (LightGBM's
    /// `sqrt`).
    SignedSquare,
    /// The score rounded to f32.
    ScoreAsF32,
    /// `exp(score)` in the type of the sums.
    Exp,
    /// `1 / (1 + exp(-score))` in the type of the sums.
    Logistic,
    /// `log(1 + exp(score))` in the type of the sums.
    LogOnePlusExp,
    /// Some versions of the library sort the scores of a row and others do not, so that the values
    /// are unknown.
    Sorted,
    /// 1 if the score is above the threshold, else 0: the labels that a row gets, if it may get
    /// several (CatBoost).
    Above {
        /// What each score is compared with.
        threshold: f64,
    },
    /// The first of two scores unchanged, and `exp` of twice the second (CatBoost's
    /// `RMSEWithUncertainty`).
    MeanAndVariance,
    /// The score is a sum of path lengths. The results of `predict` and `score_samples` also depend
    /// on numbers that the file does not have (scikit-learn's isolation forests).
    PathLength,
}

impl Value {
    /// Does the prediction have the library's bits on every machine? If it ends in the exponential
    /// function, its last bits depend on the machine, in the library as here.
    pub fn is_exact(self) -> bool {
        matches!(self, Self::Score | Self::SignedSquare | Self::ScoreAsF32 | Self::Above { .. })
    }
}
