//! The information of a file beside its trees: the classes, the threshold and the training
//! parameters; together they decide what the scores mean.

use secateur_model::{ClassLabels, Decision, GroupId, Transform, Value as Answer};
use serde_json::Value;

use crate::Link;
use crate::error::{FormatError, Place, Problem};

/// Losses of models that give a row any number of labels.
const SEVERAL_LABELS: [&str; 2] = ["MultiLogloss", "MultiCrossEntropy"];

/// Losses of models that choose one class.
const CLASSIFIERS: [&str; 5] = ["Logloss", "CrossEntropy", "Focal", "MultiClass", "MultiClassOneVsAll"];

/// The parts of the file's information that predictions depend on.
#[derive(Clone, Debug, Default)]
pub(super) struct Info {
    /// The losses of training that the file names: in its parameters, or beside them in a sum of
    /// models.
    losses: Vec<String>,
    /// The loss among the training parameters only.
    trained_for: Option<String>,
    /// The version that wrote the file.
    pub(super) version: Option<String>,
    class_params: Option<Value>,
    /// The probability above which class 1 is chosen.
    threshold: Option<f64>,
}

impl Info {
    /// Reads one entry. In `.cbm` files values are texts, which may hold JSON; in JSON files they
    /// are JSON.
    pub(super) fn take(&mut self, key: &str, value: &Value) -> Result<(), FormatError> {
        let parsed = || match value {
            Value::String(text) => serde_json::from_str(text).ok(),
            other => Some(other.clone()),
        };
        let wrong = |expected| {
            let place = Place::Field(key.to_owned());
            FormatError::new(place, Problem::Value { found: value.to_string(), expected })
        };
        match key {
            "class_params" => {
                let known = parsed().filter(Value::is_object);
                self.class_params = Some(known.ok_or_else(|| wrong("a description of classes"))?);
            }
            "binclass_probability_threshold" => {
                let number = parsed().and_then(|value| value.as_f64()).filter(|t| *t > 0.0 && *t < 1.0);
                self.threshold = Some(number.ok_or_else(|| wrong("a probability between 0 and 1"))?);
            }
            "params" | "loss_function" => {
                let loss = parsed().and_then(|value| {
                    let loss = if key == "params" { value.get("loss_function")? } else { &value };
                    Some(loss.get("type")?.as_str()?.to_owned())
                });
                if key == "params" {
                    self.trained_for.clone_from(&loss);
                }
                self.losses.extend(loss);
            }
            "catboost_version_info" => {
                let version = value.as_str().and_then(|text| {
                    let (_, rest) = text.split_once("CatBoost release ")?;
                    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
                    Some(rest[..end].trim_end_matches('.').to_owned())
                });
                self.version = version.filter(|version| !version.is_empty());
            }
            _ => {}
        }
        Ok(())
    }

    /// Is the probability of class 1 `1 / (1 + exp(-score))`?
    pub(super) fn is_logistic(&self) -> bool {
        !self.losses.is_empty() && self.losses.iter().all(|loss| loss == "Logloss" || loss == "CrossEntropy")
    }

    /// How the scores of a model with several scores become probabilities, if the file says how it
    /// was trained.
    pub(super) fn link(&self) -> Link {
        let all = |names: &[&str]| {
            !self.losses.is_empty() && self.losses.iter().all(|loss| names.contains(&loss.as_str()))
        };
        if all(&["MultiClass"]) {
            Link::Softmax64
        } else if all(&["MultiClassOneVsAll"]) || all(&SEVERAL_LABELS) {
            Link::Each { scale: 1.0 }
        } else {
            Link::None
        }
    }

    /// The meaning of the `dimension` scores: the classes and the rule that chooses one, or no
    /// classes.
    pub(super) fn decision(&self, dimension: usize) -> Result<(ClassLabels, Decision), FormatError> {
        // As CatBoost computes it: a score is above this exactly if its probability is above the
        // threshold. Zero for one half.
        let threshold = -(1.0 / self.threshold.unwrap_or(0.5) - 1.0).ln() + 0.0;
        let without_classes = |value| Ok((ClassLabels::Unnamed(0), Decision::Scores(value)));
        if self.losses.iter().any(|loss| SEVERAL_LABELS.contains(&loss.as_str())) {
            return without_classes(Answer::Above { threshold });
        }
        let Some(params) = &self.class_params else {
            if let Some(loss) = self.losses.iter().find(|loss| CLASSIFIERS.contains(&loss.as_str())) {
                let what = format!("a CatBoost classifier without its class labels ({loss})");
                let advice =
                    "CatBoost itself cannot choose a class with it: save the model as it was trained";
                return Err(FormatError::new(Place::File, Problem::Unsupported { what, advice }));
            }
            return without_classes(self.value());
        };
        let classes = if dimension == 1 { 2 } else { dimension };
        let labels = labels(params, classes)?;
        let decision = match dimension {
            1 => Decision::Threshold { group: GroupId(0), threshold, strict: true },
            _ => Decision::Argmax,
        };
        Ok((labels, decision))
    }

    /// How a regressor's `predict` transforms the scores; it depends on the loss among the training
    /// parameters. A sum of models has none, and then the prediction is the score.
    fn value(&self) -> Answer {
        match self.trained_for.as_deref() {
            Some(loss) if loss.starts_with("Poisson") || loss.starts_with("Tweedie") => {
                Answer::NotFixed(Transform::Exp)
            }
            Some("RMSEWithUncertainty") => Answer::NotFixed(Transform::MeanAndVariance),
            _ => Answer::Score,
        }
    }
}

/// The label of each score's class (of both classes if there is one score): an entry of
/// `class_names` if there are any, otherwise a number.
fn labels(params: &Value, classes: usize) -> Result<ClassLabels, FormatError> {
    let wrong = |found: String, expected| {
        let place = Place::Field("class_params".to_owned());
        FormatError::new(place, Problem::Value { found, expected })
    };
    let list = |key: &str| params.get(key).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let (names, numbers) = (list("class_names"), list("class_to_label"));
    let kind = params.get("class_label_type").and_then(Value::as_str).unwrap_or("Integer");
    let chosen: Option<Vec<Value>> = match (names, numbers) {
        ([], numbers) => Some(numbers.to_vec()),
        (names, []) => Some(names.to_vec()),
        (names, numbers) => numbers
            .iter()
            .map(|number| {
                let index = number.as_f64().filter(|n| n.fract() == 0.0 && *n >= 0.0)? as usize;
                names.get(index).cloned()
            })
            .collect(),
    };
    let chosen = chosen.ok_or_else(|| wrong(params.to_string(), "labels that are in the list"))?;
    if chosen.len() != classes {
        let found = format!("{} labels", chosen.len());
        return Err(wrong(found, "as many labels as the model has classes"));
    }
    let all = |expected: &'static str| wrong(format!("{chosen:?}"), expected);
    let labels = match kind {
        "Integer" => {
            let whole = |value: &Value| {
                let float = || value.as_f64().filter(|v| v.fract() == 0.0 && v.abs() < 9e15);
                value.as_i64().or_else(|| float().map(|v| v as i64))
            };
            let whole = chosen.iter().map(whole).collect::<Option<Vec<_>>>();
            ClassLabels::Integers(whole.ok_or_else(|| all("whole numbers"))?)
        }
        "Float" => {
            let numbers = chosen.iter().map(Value::as_f64).collect::<Option<Vec<_>>>();
            ClassLabels::Floats(numbers.ok_or_else(|| all("numbers"))?)
        }
        "Boolean" => {
            let flag = |value: &Value| match value {
                Value::Bool(flag) => Some(*flag),
                other => other.as_i64().filter(|n| (0..2).contains(n)).map(|n| n == 1),
            };
            let flags = chosen.iter().map(flag).collect::<Option<Vec<_>>>();
            ClassLabels::Booleans(flags.ok_or_else(|| all("truth values"))?)
        }
        "String" => {
            let texts =
                chosen.iter().map(|value| Some(value.as_str()?.to_owned())).collect::<Option<Vec<_>>>();
            ClassLabels::Strings(texts.ok_or_else(|| all("texts"))?)
        }
        other => return Err(wrong(other.to_owned(), "a known type of labels")),
    };
    let text = |index: usize| labels.text(secateur_model::ClassId::new(index)).into_owned();
    let mut texts: Vec<String> = (0..labels.len()).map(text).collect();
    texts.sort();
    if texts.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(all("different labels"));
    }
    Ok(labels)
}
