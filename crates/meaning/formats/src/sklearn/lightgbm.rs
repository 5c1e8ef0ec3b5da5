//! LightGBM's models in skops archives: a booster, whose text is in the schema, and the classifier,
//! regressor or ranker that contains it.
//!
//! Besides the text, only those fields are read that `predict` of LightGBM 4 uses: the labels, the
//! round after which it stops (`best_iteration`), the categories of pandas, and parameters that are
//! not training parameters. `docs/guide` and the Python package's table of settings describe the
//! same for live objects.

use std::sync::Arc;

use secateur_model::{ClassLabels, TreeId};
use serde_json::Value;

use super::archive::Archive;
use super::rewrite;
use super::schema::{Fields, Node};
use super::skops::Reader;
use super::{Opened, open};
use crate::error::{EditError, FormatError, Problem};
use crate::lightgbm::File;
use crate::{Document, Edit, EditableDocument, ModelFile, TreeEdit};

/// The attribute of a classifier, regressor or ranker that holds its booster.
pub(super) const BOOSTER: &str = "_Booster";
/// The attribute of a booster that holds its text.
pub(super) const TEXT: &str = "_handle";
const MODULE: &str = "lightgbm.sklearn";
/// Parameters of `predict` that change no score, or that the method takes from its own arguments.
const HARMLESS: [&str; 6] = [
    "pred_early_stop_freq",
    "pred_early_stop_margin",
    "predict_disable_shape_check",
    "predict_raw_score",
    "predict_leaf_index",
    "predict_contrib",
];
const SEVERAL: [&str; 6] = ["multiclass", "softmax", "multiclassova", "multiclass_ova", "ova", "ovr"];

/// The archive that holds a LightGBM model.
#[derive(Clone, Debug)]
pub(crate) struct Holder {
    opened: Opened,
    class: &'static str,
}

/// The content of an archive with a LightGBM model.
pub(super) struct Held {
    class: &'static str,
    text: String,
    /// The number of rounds that `predict` uses; `None` for all.
    rounds: Option<usize>,
    /// A classifier's labels, and whether it treats the scores as those of several classes.
    labels: Option<(ClassLabels, bool)>,
}

/// The LightGBM model at this node; `None` for a node of another library.
pub(super) fn read<'a>(reader: Reader<'a>, model: &Node<'a>) -> Result<Option<Held>, FormatError> {
    let class = match model.class()? {
        (MODULE, "LGBMClassifier") => "LGBMClassifier",
        (MODULE, "LGBMRegressor") => "LGBMRegressor",
        (MODULE, "LGBMRanker") => "LGBMRanker",
        ("lightgbm.basic", "Booster") => "Booster",
        _ => return Ok(None),
    };
    let fields = model.attributes()?;
    let booster = if class == "Booster" {
        model.clone()
    } else {
        let booster = fields.required(BOOSTER)?;
        if booster.is_none()? {
            return Err(
                booster.value_error(format!("the booster of an {class} that is not fitted"), "a fitted one")
            );
        }
        super::skops::expect_class(&booster, &[("lightgbm.basic", "Booster")], "LightGBM's booster")?;
        check_parameters(&fields)?;
        booster
    };
    let own = booster.attributes()?;
    let text = own.required(TEXT)?;
    let text = text.text()?.ok_or_else(|| text.value_error("this", "the text of a booster"))?;
    if let Some(lists) = own.optional("pandas_categorical")? {
        check_categories(reader, &lists, &text)?;
    }
    let best = own.required("best_iteration")?;
    let best = reader.number(&best)?;
    let rounds = (best >= 1.0).then_some(best as usize);
    let labels = if class == "LGBMClassifier" { Some(labels(reader, &fields)?) } else { None };
    Ok(Some(Held { class, text, rounds, labels }))
}

/// Checks the parameters of the object that its `predict` passes to the library.
fn check_parameters(fields: &Fields<'_>) -> Result<(), FormatError> {
    let Some(others) = fields.optional("_other_params")? else { return Ok(()) };
    let others = others.fields()?;
    for name in others.names() {
        let value = others.required(name)?;
        let off = value.is_none()? || value.scalar().is_ok_and(|value| is_off(&value));
        let known = !name.starts_with("pred") || HARMLESS.contains(&name) || name == "pred_early_stop" && off;
        if !known || name == "validate_features" {
            let what = format!("a model with the parameter {name}, which changes what its predict does,");
            let advice = "take it out with set_params on a copy, or save the booster_ alone";
            return Err(value.error(Problem::Unsupported { what, advice }));
        }
    }
    Ok(())
}

/// Is a flag off, as LightGBM reads it?
fn is_off(value: &Value) -> bool {
    match value {
        Value::Bool(value) => !value,
        Value::String(text) => matches!(text.to_lowercase().as_str(), "false" | "-"),
        _ => false,
    }
}

/// The labels that a classifier's `predict` returns, and whether it treats the scores as those of
/// several classes.
fn labels<'a>(reader: Reader<'a>, fields: &Fields<'a>) -> Result<(ClassLabels, bool), FormatError> {
    let encoder = fields.required("_le")?;
    let class = ("sklearn.preprocessing._label", "LabelEncoder");
    super::skops::expect_class(&encoder, &[class], "the encoder of the labels")?;
    let labels = reader.class_labels(&encoder.attributes()?)?;
    let count = fields.required("_n_classes")?;
    if reader.number(&count)? != labels.len() as f64 {
        return Err(count.value_error("this", "the number of labels, without which predict fails"));
    }
    let objective = fields.required("_objective")?;
    let Some(name) = objective.text()? else {
        let what = "an LGBMClassifier whose objective is a function".to_owned();
        let advice = "its predict returns raw scores and no labels; save the booster_ alone";
        return Err(objective.error(Problem::Unsupported { what, advice }));
    };
    let several = labels.len() > 2 || SEVERAL.contains(&name.as_str());
    Ok((labels, several))
}

/// Checks that the object's own categories, which the loaded booster uses, equal those of its text,
/// which are read here.
fn check_categories<'a>(reader: Reader<'a>, lists: &Node<'a>, text: &str) -> Result<(), FormatError> {
    let line = text.trim_end().lines().next_back().unwrap_or_default();
    let listed = line.strip_prefix("pandas_categorical:").and_then(|json| serde_json::from_str(json).ok());
    let listed = match listed.unwrap_or(Value::Null) {
        Value::Array(lists) => lists,
        _ => Vec::new(),
    };
    let own = if lists.is_none()? { Vec::new() } else { lists.items()? };
    let same = |own: &Node<'a>, listed: &Value| -> Result<bool, FormatError> {
        let (own, Some(listed)) = (own.items()?, listed.as_array()) else { return Ok(false) };
        let mut pairs = own.iter().zip(listed);
        Ok(own.len() == listed.len()
            && pairs.try_fold(true, |so_far, (own, listed)| {
                Ok::<_, FormatError>(so_far && same_label(reader, own, listed)?)
            })?)
    };
    let mut pairs = own.iter().zip(&listed);
    let all =
        pairs.try_fold(true, |so_far, (own, listed)| Ok::<_, FormatError>(so_far && same(own, listed)?))?;
    if all && own.len() == listed.len() {
        return Ok(());
    }
    Err(lists.value_error("this", "the categories that the booster's text lists"))
}

fn same_label<'a>(reader: Reader<'a>, own: &Node<'a>, listed: &Value) -> Result<bool, FormatError> {
    if own.is_numpy()? {
        return Ok(listed.as_f64() == Some(reader.number(own)?));
    }
    Ok(own.scalar()? == *listed)
}

impl Held {
    /// The file: the model of the text, with the labels and the rounds of the object that contains
    /// it.
    pub(super) fn into_file(self, opened: Opened) -> Result<File, FormatError> {
        let mut file = File::parse(self.text.as_bytes())?;
        let error = |found: String, expected| -> Result<File, FormatError> {
            Err(opened.schema.root()?.value_error(found, expected))
        };
        let (groups, trees) = (file.ensemble().group_count(), file.ensemble().trees().len());
        let used = self.rounds.map_or(trees, |rounds| rounds.saturating_mul(groups)).min(trees);
        if used < trees {
            let keep = (0..used).map(|tree| TreeEdit::Keep(TreeId::new(tree))).collect();
            let edited = file.edit(&Edit { trees: keep, intercepts: None });
            let Ok(cut) = edited else {
                return error("this".to_owned(), "a booster that can end at its best round");
            };
            file = cut;
        }
        let classifier = file.ensemble().decision().is_classifier();
        if self.class != "Booster" && classifier != self.labels.is_some() {
            return error(format!("the objective of this {}", self.class), "one of that kind of model");
        }
        let labels = match self.labels {
            Some((labels, several)) => {
                if several != (groups > 1) || labels.len() != file.ensemble().classes().len() {
                    return error(
                        format!("{} labels", labels.len()),
                        "what goes with the trees, without which predict fails",
                    );
                }
                Some(labels)
            }
            None => None,
        };
        let (steps, holder) = (opened.steps.clone(), Holder { opened, class: self.class });
        Ok(file.held(Arc::new(holder), labels, steps, trees - used))
    }
}

impl Holder {
    /// The bytes of the archive.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.opened.bytes
    }

    /// The class of the object, and where it is.
    pub(crate) fn describe(&self) -> String {
        format!("{} in {}", self.class, self.opened.describe())
    }

    /// A note for users about a pipeline's steps.
    pub(crate) fn note(&self) -> Option<String> {
        self.opened.note()
    }

    /// The same archive with another text.
    pub(crate) fn with_text(&self, text: &str) -> Result<File, EditError> {
        let read_back = |reason: String| EditError::ReadBack { reason };
        let archive = Archive::parse(&self.opened.bytes).map_err(|error| read_back(error.to_string()))?;
        let schema = self.opened.schema.element();
        let bytes = rewrite::with_booster(&archive, schema, self.opened.step, text)?;
        match open(bytes).map_err(|error| read_back(error.to_string()))? {
            ModelFile::LightGbm(file) => Ok(*file),
            _ => Err(read_back("a model of another library was written".to_owned())),
        }
    }
}
