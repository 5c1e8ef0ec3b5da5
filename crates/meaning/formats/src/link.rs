//! How scores become probabilities, for every format.

use secateur_model::{Decision, Softmax, Value};

use crate::{Framework, ModelFile};

/// How a library turns the scores of a model into probabilities.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Link {
    /// Unknown, or there are no probabilities.
    None,
    /// One score; XGBoost's sigmoid in f32.
    Logistic32,
    /// One score; `1 / (1 + exp(-scale * score))` in f64.
    Logistic64 {
        /// The factor on the score.
        scale: f64,
    },
    /// XGBoost's softmax, in f32.
    Softmax32,
    /// A softmax in f64.
    Softmax64,
    /// AdaBoost's: a softmax in f64 of the scores divided by a number; a single score s means -s
    /// and s.
    DividedSoftmax64 {
        /// The divisor of the scores.
        divisor: f64,
    },
    /// `1 / (1 + exp(-scale * score))` for each score: of a class, or of a label if a row may get
    /// several.
    Each {
        /// The factor on the scores.
        scale: f64,
    },
    /// The averaged scores themselves.
    Identity,
}

impl Link {
    /// How this model's library computes probabilities.
    pub fn of(file: &ModelFile) -> Self {
        if let ModelFile::Packed(packed) = file {
            return packed.link();
        }
        let ensemble = file.ensemble();
        match (file, ensemble.decision()) {
            (ModelFile::CatBoost(file), Decision::Scores(Value::Above { .. })) => return file.link(),
            (_, Decision::Scores(_)) => return Self::None,
            _ => {}
        }
        match (file.logistic_scale(), ensemble.decision()) {
            (Some(_), _) if ensemble.group_count() != 1 => Self::None,
            (Some(_), _) if file.framework() == Framework::XgBoost => Self::Logistic32,
            (Some(scale), _) => Self::Logistic64 { scale },
            (None, Decision::ArgmaxSoftmax(Softmax::XgBoost)) => Self::Softmax32,
            (None, Decision::ArgmaxSoftmax(Softmax::LightGbm)) => Self::Softmax64,
            (None, Decision::ArgmaxSigmoid { scale }) => Self::Each { scale: *scale },
            (None, Decision::Argmax) if file.averages_probabilities() => Self::Identity,
            (None, decision) => Self::of_scores(file, decision, ensemble.group_count()),
        }
    }

    /// For models whose own rule alone determines it: a softmax has the same first argmax as its
    /// scores.
    fn of_scores(file: &ModelFile, decision: &Decision, groups: usize) -> Self {
        match (file, decision) {
            (ModelFile::Sklearn(file), Decision::Argmax) if file.is_gradient_boosting() => Self::Softmax64,
            (ModelFile::Sklearn(file), _) if file.is_adaboost() => {
                Self::DividedSoftmax64 { divisor: if groups == 1 { 2.0 } else { groups as f64 - 1.0 } }
            }
            (ModelFile::CatBoost(file), Decision::Argmax) => file.link(),
            _ => Self::None,
        }
    }
}
