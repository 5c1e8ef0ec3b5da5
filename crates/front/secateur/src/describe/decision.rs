//! The decision rule as data and in plain words.

use secateur_model::{ClassId, Decision, Ensemble, Softmax, Transform, Value};
use serde::Serialize;

use crate::text::{number, printable};

#[derive(Serialize)]
pub(super) struct DecisionFacts {
    pub(super) rule: &'static str,
    /// The score that is compared, if the rule is a threshold.
    score: Option<usize>,
    threshold: Option<f64>,
    strict: Option<bool>,
    /// The factor that the score is multiplied by inside a sigmoid.
    scale: Option<f64>,
    pub(super) words: String,
}

impl DecisionFacts {
    pub(super) fn is_threshold(&self) -> bool {
        self.threshold.is_some()
    }

    /// `logistic` is the factor of the model's logistic function, if it has one.
    pub(super) fn of(ensemble: &Ensemble, logistic: Option<f64>) -> Self {
        let words = words(ensemble, logistic);
        let none = Self { rule: "argmax", score: None, threshold: None, strict: None, scale: None, words };
        match *ensemble.decision() {
            Decision::Threshold { group, threshold, strict } => Self {
                rule: "threshold",
                score: Some(group.index()),
                threshold: Some(threshold),
                strict: Some(strict),
                scale: logistic,
                ..none
            },
            Decision::Argmax => none,
            Decision::ArgmaxSoftmax(_) => Self { rule: "argmax_softmax", ..none },
            Decision::ArgmaxSigmoid { scale } => Self { rule: "argmax_sigmoid", scale: Some(scale), ..none },
            Decision::Scores(Value::Above { .. }) => Self { rule: "labels", ..none },
            Decision::Scores(_) => Self { rule: "scores", ..none },
        }
    }
}

fn words(ensemble: &Ensemble, logistic: Option<f64>) -> String {
    const TIES: &str = "of equal ones the first";
    match *ensemble.decision() {
        Decision::Threshold { group, threshold, strict } => {
            let class = |class| printable(&ensemble.classes().text(ClassId(class))).into_owned();
            let score = match ensemble.group_count() {
                1 => "the score".to_owned(),
                _ => format!("score_{group}"),
            };
            let compared = if strict { "above" } else { "at least" };
            let limit = number(threshold, ensemble.accumulation().number);
            // The threshold in scores is far from zero if the library compares the probability
            // itself.
            let why = if logistic.is_some() && strict && (0.0..1e-6).contains(&threshold) && threshold > 0.0 {
                " (the probability rounds to more than one half)"
            } else {
                ""
            };
            format!("class {} if {score} is {compared} {limit}{why}, else class {}", class(1), class(0))
        }
        Decision::Argmax => format!("the class with the highest score, {TIES}"),
        Decision::ArgmaxSoftmax(softmax) => {
            let (number, gap) = match softmax {
                Softmax::XgBoost => ("f32", "2e-7"),
                Softmax::LightGbm => ("f64", "4e-16"),
            };
            format!(
                "the class with the highest probability, {TIES} (softmax in {number}: scores less than about {gap} \
                 apart can get equal probabilities)"
            )
        }
        Decision::ArgmaxSigmoid { scale } => {
            let from = 37.0 / scale;
            format!(
                "the class with the highest probability, {TIES} (a sigmoid for each score: all scores from \
                 about {from:.0} on get probability 1)"
            )
        }
        Decision::Scores(value) => {
            let scores = match ensemble.group_count() {
                1 => "the score".to_owned(),
                count => format!("{count} scores"),
            };
            let average = match ensemble.accumulation().average {
                Some(average) if !average.in_raw_scores => " (the average)",
                _ => "",
            };
            let scores = format!("{scores}{average}");
            match value {
                Value::Score => format!("nothing: the prediction is {scores}"),
                Value::ScoreAsF32 => format!("nothing: the prediction is {scores}, rounded to f32"),
                Value::SignedSquare => format!("nothing: the prediction is {scores} times its magnitude"),
                Value::Above { threshold } => {
                    format!("for each score a label of its own: 1 if the score is above {threshold}, else 0")
                }
                Value::NotFixed(transform) => format!(
                    "nothing: the prediction is {}, whose last bits depend on more than the file and the input; \
                     claims and predictions here are about the raw score",
                    transform_words(transform, &scores)
                ),
            }
        }
    }
}

/// The function that a library applies to scores, in words.
pub fn transform_words(transform: Transform, scores: &str) -> String {
    match transform {
        Transform::Exp => format!("exp of {scores}"),
        Transform::Logistic => format!("the logistic function of {scores}"),
        Transform::LogOnePlusExp => format!("log(1 + exp) of {scores}"),
        Transform::Sorted => format!("{scores}, which some versions sort"),
        Transform::MeanAndVariance => "the first score as it is and exp of twice the second".to_owned(),
        Transform::PathLength => {
            format!(
                "made of minus two to the power of minus {scores}, a sum of path lengths, over the expected one"
            )
        }
    }
}
