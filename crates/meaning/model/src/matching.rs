//! Matches the category codes of two models over one table of labels.
//!
//! Users send labels; the library turns each into a code by the list in its own file. A code
//! therefore has to be compared with the code that the *same label* has in the other model, not
//! with the same number. The libraries treat labels as follows (lightgbm 4.7, xgboost 3.2 and
//! scikit-learn 1.9, observed on live models; the Python tests repeat the observations):
//!
//! - LightGBM passes the table's categories to pandas, which looks them up in the list of the file.
//!   Text equals text only. Numbers are equal by value (1 is 1.0). A label that is not in the list
//!   becomes a missing value. How truth values are matched with a list of numbers, and numbers with
//!   a list of truth values, depends on the table's other labels (`[0, 1] == [False, True]` in
//!   Python, and otherwise nothing is equal), so no claim covers such inputs.
//! - XGBoost (files with stored categories, version 3.1 and later) matches text with text and whole
//!   numbers with whole numbers. It is meant to refuse a label that is not in the list; 3.2.0 does
//!   so only for labels that sort after all known ones, and takes any other for the next known one.
//!   No claim covers such inputs.
//! - HistGradientBoosting's encoder matches text with text (numbers are an error there) and numbers
//!   with numbers by value. A label that is not in the list becomes a missing value.
//! - CatBoost hashes the text that it is sent and looks the hash up. An unknown hash fails every
//!   test for equality; the readers here send missing values the same way. Hashes are matched with
//!   hashes, because a file does not tell which text another library's label would be.
//!
//! If the two lists are the same and the two libraries too, nothing is done: codes already stand
//! for the same labels, and the claim covers every number, as for models without labels. Otherwise
//! the column is *joined*: both models are rewritten to one list of labels, each with a side in
//! every split, and the inputs of the column are exactly these labels, one value for every label
//! that neither model knows (if both libraries accept such labels), and missing values. Labels that
//! only one library accepts are left out.
//!
//! If only one of the models has labels, only codes can be compared; [`LabelMatch::by_code`] lists
//! these columns, so that every output can say so. Models that cannot be matched at all are refused
//! ([`LabelError`]).

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use thiserror::Error;

use crate::ensemble::Ensemble;
use crate::feature::{Categories, CategoryRule};
use crate::ids::FeatureId;
use crate::label::Label;
use crate::tree::{Split, Test};

/// Why the labels of two models cannot be matched.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
#[expect(missing_docs, reason = "each message says what its fields are")]
pub enum LabelError {
    #[error("column {column}: the models have no category label in common that both libraries accept")]
    NothingInCommon { column: String },
    #[error(
        "column {column}: the models' category labels differ, and a list mixes labels of several types, so how the \
         library matches them depends on the rest of the table"
    )]
    MixedTypes { column: String },
    #[error("column {column}: the models' category labels differ, and a list has the label {label} twice")]
    Repeated { column: String, label: String },
    #[error("column {column}: the models' category labels differ, and {label} cannot be matched safely")]
    Unreadable { column: String, label: String },
    #[error(
        "both models have category labels, the lists differ, and a file does not say which of its columns they belong \
         to (LightGBM with ordered or constant categories)"
    )]
    Unplaced,
}

/// Two models whose category codes stand for the same labels.
#[derive(Clone, Debug)]
pub struct LabelMatch<'a> {
    models: [Cow<'a, Ensemble>; 2],
    /// The labels of joined columns, by code.
    joined: BTreeMap<FeatureId, Vec<Label>>,
    by_label: BTreeSet<FeatureId>,
    by_code: BTreeSet<FeatureId>,
    unplaced_by_code: bool,
}

impl<'a> LabelMatch<'a> {
    /// Matches the labels of two models whose columns are in the same order.
    pub fn new(first: &'a Ensemble, second: &'a Ensemble) -> Result<Self, LabelError> {
        let mut found = Self {
            models: [Cow::Borrowed(first), Cow::Borrowed(second)],
            joined: BTreeMap::new(),
            by_label: BTreeSet::new(),
            by_code: BTreeSet::new(),
            unplaced_by_code: false,
        };
        if first.features().len() != second.features().len() {
            // The models cannot be compared at all; other code reports that.
            return Ok(found);
        }
        let models = [first, second];
        let unplaced = unplaced(models)?;
        found.unplaced_by_code = unplaced == Unplaced::OneSided;
        let columns: BTreeSet<FeatureId> =
            models.iter().flat_map(|model| model.features.categories.keys().copied()).collect();
        let mut joins = BTreeMap::new();
        for feature in columns {
            let categories = models.map(|model| model.features().categories(feature));
            let has = categories.map(|known| known.is_some_and(|known| known.labels.is_some()));
            match (has, categories) {
                ([false, false], _) => {}
                (_, [Some(ours), Some(theirs)]) if has == [true, true] && same(ours, theirs) => {
                    found.by_label.insert(feature);
                }
                (_, [Some(ours), Some(theirs)]) if [ours, theirs].iter().all(|own| own.has_labels()) => {
                    let join = Join::new(models, [ours, theirs], feature)?;
                    found.by_label.insert(feature);
                    found.joined.insert(feature, join.labels.clone());
                    joins.insert(feature, join);
                }
                _ if unplaced == Unplaced::Same => {
                    found.by_label.insert(feature);
                }
                _ if models.iter().any(|model| looks_at(model, feature)) => {
                    found.by_code.insert(feature);
                }
                _ => {}
            }
        }
        if !joins.is_empty() {
            found.models = [0, 1].map(|side| Cow::Owned(rewritten(models[side], &joins, side)));
        }
        Ok(found)
    }

    /// The two models as they are compared: over the same codes.
    pub fn models(&self) -> [&Ensemble; 2] {
        [&self.models[0], &self.models[1]]
    }

    /// The same, owned.
    pub fn into_models(self) -> [Cow<'a, Ensemble>; 2] {
        self.models
    }

    /// The columns that are matched by label.
    pub fn by_label(&self) -> impl Iterator<Item = FeatureId> + '_ {
        self.by_label.iter().copied()
    }

    /// The columns for which only one of the models has labels, and that some split uses: they are
    /// compared by code.
    pub fn by_code(&self) -> impl Iterator<Item = FeatureId> + '_ {
        self.by_code.iter().copied()
    }

    /// Does one model have labels whose columns its file does not name, and the other no labels?
    /// Then columns are compared by code.
    pub fn unplaced_by_code(&self) -> bool {
        self.unplaced_by_code
    }

    /// The columns whose lists or libraries differ: they accept the labels of both lists and
    /// nothing else.
    pub fn joined(&self) -> impl Iterator<Item = FeatureId> + '_ {
        self.joined.keys().copied()
    }

    /// Does a value of a compared row stand for a label that neither model knows?
    pub fn is_unknown(&self, feature: FeatureId, value: f64) -> bool {
        match self.models[0].features().categories(feature).map(|categories| &categories.rule) {
            Some(CategoryRule::Joined { unknown, .. }) => *unknown == Some(value),
            _ => false,
        }
    }

    /// The label that a value of a compared row stands for; `None` if it stands for none.
    pub fn label(&self, feature: FeatureId, value: f64) -> Option<Cow<'_, Label>> {
        let categories = self.models().map(|model| model.features().categories(feature));
        if let Some(labels) = self.joined.get(&feature) {
            return labels.get(categories[0]?.code(value)? as usize).map(Cow::Borrowed);
        }
        categories.into_iter().flatten().find_map(|known| {
            let label = known.labels.as_ref()?.get(known.code(value)? as usize)?;
            Some(Cow::Owned(label.clone()))
        })
    }
}

impl Categories {
    /// Do users send a label rather than a code? In a list of numbers the numbers are the labels.
    fn has_labels(&self) -> bool {
        self.labels.is_some() || matches!(self.rule, CategoryRule::Listed(_))
    }

    /// The label of every code.
    fn all_labels(&self) -> Vec<Label> {
        match (&self.labels, &self.rule) {
            (Some(labels), _) => labels.clone(),
            (None, CategoryRule::Listed(values)) => values.iter().map(|&value| Label::Float(value)).collect(),
            (None, _) => Vec::new(),
        }
    }
}

/// The same list, read by the same library.
fn same(ours: &Categories, theirs: &Categories) -> bool {
    std::mem::discriminant(&ours.rule) == std::mem::discriminant(&theirs.rule) && ours.labels == theirs.labels
}

fn looks_at(model: &Ensemble, feature: FeatureId) -> bool {
    model.trees().iter().flat_map(|tree| tree.splits()).any(|split| split.feature == feature)
}

/// How lists whose columns are unknown can be matched.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unplaced {
    /// There are none.
    None,
    /// Both models have the same lists in the same order, so they turn a table into the same codes,
    /// to whichever columns the lists belong.
    Same,
    /// The other model has no labels at all.
    OneSided,
}

fn unplaced(models: [&Ensemble; 2]) -> Result<Unplaced, LabelError> {
    let all = models.map(|model| {
        let features = model.features();
        match &features.unplaced {
            Some(unplaced) => (unplaced.lists.clone(), unplaced.moved),
            None => {
                let placed = features.categories.values().filter_map(|known| known.labels.clone());
                (placed.collect::<Vec<_>>(), false)
            }
        }
    });
    if models.iter().all(|model| model.features().unplaced.is_none()) {
        return Ok(Unplaced::None);
    }
    if all.iter().any(|(lists, _)| lists.is_empty()) {
        return Ok(Unplaced::OneSided);
    }
    // Other libraries do not assign lists to a table's columns in this way.
    let pandas = models.iter().all(|model| {
        let features = model.features();
        features.categories.values().all(|known| known.rule == CategoryRule::Truncate)
    });
    if pandas && all[0] == all[1] && !all[0].1 { Ok(Unplaced::Same) } else { Err(LabelError::Unplaced) }
}

/// A label as it is sent; equal numbers are the same label.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Sent {
    Text(String),
    Whole(i64),
    /// The bits of a number that is not whole.
    Float(u64),
    Boolean(bool),
    Hash(u32),
}

impl Sent {
    fn is_number(&self) -> bool {
        matches!(self, Self::Whole(_) | Self::Float(_))
    }

    fn number(&self) -> Option<f64> {
        match self {
            Self::Whole(number) => Some(*number as f64),
            Self::Float(bits) => Some(f64::from_bits(*bits)),
            _ => None,
        }
    }
}

/// Whole numbers up to this size are exact in f64. Beyond it, pandas may round before it compares.
const EXACT: i64 = 1 << 53;

fn sent(label: &Label) -> Option<Sent> {
    match label {
        Label::Text(text) => Some(Sent::Text(text.clone())),
        Label::Integer(number) => Some(Sent::Whole(*number)).filter(|_| number.abs() <= EXACT),
        Label::Float(number) if number.is_nan() => None,
        Label::Float(number) if number.fract() == 0.0 && number.abs() <= EXACT as f64 => {
            Some(Sent::Whole(*number as i64))
        }
        Label::Float(number) => Some(Sent::Float(number.to_bits())),
        Label::Boolean(value) => Some(Sent::Boolean(*value)),
        Label::Hash(hash) => Some(Sent::Hash(*hash)),
        Label::Unreadable(_) => None,
    }
}

/// The result of looking a label up in a library.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Taken {
    Code(u32),
    /// It takes the path of missing values.
    Unknown,
    Refused,
}

/// One model's list, with its library's way of looking labels up.
struct Encoder<'a> {
    rule: &'a CategoryRule,
    codes: BTreeMap<Sent, u32>,
    labels: Vec<(Sent, Label)>,
}

impl<'a> Encoder<'a> {
    fn new(categories: &'a Categories, column: &str) -> Result<Self, LabelError> {
        let mut codes = BTreeMap::new();
        let mut labels = Vec::new();
        for (label, code) in categories.all_labels().into_iter().zip(0..) {
            let name = || (column.to_owned(), label.to_string());
            let Some(sent) = sent(&label) else {
                let (column, label) = name();
                return Err(LabelError::Unreadable { column, label });
            };
            if codes.insert(sent.clone(), code).is_some() {
                let (column, label) = name();
                return Err(LabelError::Repeated { column, label });
            }
            labels.push((sent, label));
        }
        let all = |is: fn(&Sent) -> bool| labels.iter().all(|(sent, _)| is(sent));
        let plain = all(Sent::is_number)
            || all(|sent| matches!(sent, Sent::Text(_)))
            || all(|sent| matches!(sent, Sent::Boolean(_)))
            || all(|sent| matches!(sent, Sent::Hash(_)));
        if !plain {
            return Err(LabelError::MixedTypes { column: column.to_owned() });
        }
        Ok(Self { rule: &categories.rule, codes, labels })
    }

    fn take(&self, sent: &Sent) -> Taken {
        let text = matches!(self.labels.first(), Some((Sent::Text(_), _)));
        let like = self.labels.first().is_some_and(|(own, _)| own.is_number() == sent.is_number());
        match (self.codes.get(sent), self.rule) {
            (Some(&code), _) => Taken::Code(code),
            (None, CategoryRule::Hashed) if matches!(sent, Sent::Hash(_)) => Taken::Unknown,
            (None, _) if matches!(sent, Sent::Hash(_)) => Taken::Refused,
            // Text is never equal to anything else; numbers and truth values may be.
            (None, CategoryRule::Truncate) if text || like || matches!(sent, Sent::Text(_)) => Taken::Unknown,
            (None, CategoryRule::Listed(_)) if text && matches!(sent, Sent::Text(_)) => Taken::Unknown,
            (None, CategoryRule::Listed(_)) if !text && sent.is_number() => Taken::Unknown,
            (None, _) => Taken::Refused,
        }
    }

    /// Does the library accept labels that it does not know?
    fn takes_unknown(&self) -> bool {
        matches!(self.rule, CategoryRule::Truncate | CategoryRule::Listed(_) | CategoryRule::Hashed)
    }
}

/// One column of two models over a common list of labels.
struct Join {
    categories: Categories,
    labels: Vec<Label>,
    /// The result of looking each label up in each of the models.
    taken: Vec<[Taken; 2]>,
}

impl Join {
    fn new(models: [&Ensemble; 2], own: [&Categories; 2], feature: FeatureId) -> Result<Self, LabelError> {
        let column = models[0].features().name(feature).into_owned();
        let encoders = [Encoder::new(own[0], &column)?, Encoder::new(own[1], &column)?];
        let both = encoders.iter().flat_map(|encoder| encoder.labels.iter());
        let (mut labels, mut taken, mut values) = (Vec::new(), Vec::new(), Vec::new());
        let mut seen = BTreeSet::new();
        let mut next = first_free(models[0], own[0], feature);
        for (sent, label) in both {
            let pair = encoders.each_ref().map(|encoder| encoder.take(sent));
            let known = pair.iter().any(|taken| matches!(taken, Taken::Code(_)));
            if pair.contains(&Taken::Refused) || !known || !seen.insert(pair) {
                continue;
            }
            // The number that the first model's own rows hold for this label, or a number that it
            // does not know.
            let value = match (pair[0], own[0].labels.is_some()) {
                (Taken::Code(code), _) => own[0].value(code).filter(|value| !values.contains(value)),
                (_, false) => sent.number(),
                (_, true) => None,
            };
            let value = value.unwrap_or_else(|| {
                next += 1.0;
                next - 1.0
            });
            values.push(value);
            labels.push(label.clone());
            taken.push(pair);
        }
        if labels.is_empty() {
            return Err(LabelError::NothingInCommon { column });
        }
        let readable = |&value: &f64| models.iter().all(|model| model.intake().read(value) == Some(value));
        let mut distinct = values.clone();
        distinct.sort_by(f64::total_cmp);
        distinct.dedup();
        if let Some(at) = values.iter().position(|value| !readable(value)) {
            return Err(LabelError::Unreadable { column, label: labels[at].to_string() });
        }
        if distinct.len() != values.len() {
            return Err(LabelError::Unreadable { column, label: "one of the labels".to_owned() });
        }
        let unknown = encoders.iter().all(Encoder::takes_unknown).then(|| {
            let mut value = -1.0;
            while values.contains(&value) {
                value -= 1.0;
            }
            value
        });
        let missing = own.iter().all(|categories| categories.accepts_missing());
        let rule = CategoryRule::Joined { values, unknown, missing };
        Ok(Self { categories: Categories { rule, unseen_is_missing: true, labels: None }, labels, taken })
    }

    /// The codes of the labels that a split of the model on this side sends left.
    fn left(&self, model: &Ensemble, split: Split<'_>, side: usize) -> Vec<u32> {
        let categories = &model.features.categories[&split.feature];
        let goes_left = |taken: &[Taken; 2]| match taken[side] {
            Taken::Code(code) => match categories.value(code) {
                Some(value) => model.goes_left(split, value),
                None => split.missing_left,
            },
            Taken::Unknown | Taken::Refused => split.missing_left,
        };
        let codes = self.taken.iter().zip(0..).filter(|(taken, _)| goes_left(taken));
        codes.map(|(_, code)| code).collect()
    }
}

/// A number from which the model has no codes in this column.
fn first_free(model: &Ensemble, categories: &Categories, feature: FeatureId) -> f64 {
    let labels = categories.labels.as_ref().map_or(0, Vec::len);
    let splits = model.trees().iter().flat_map(|tree| tree.splits()).filter(|s| s.feature == feature);
    let named = splits.filter_map(|split| match split.test {
        Test::Member { set, .. } => set.last().copied(),
        _ => None,
    });
    let past = named.max().map_or(0.0, |code| f64::from(code) + 1.0);
    past.max(labels as f64)
}

/// The model with its joined columns rewritten to their common labels.
fn rewritten(model: &Ensemble, joins: &BTreeMap<FeatureId, Join>, side: usize) -> Ensemble {
    let new_set = |split: Split<'_>| joins.get(&split.feature).map(|join| join.left(model, split, side));
    let trees = model.trees.iter().map(|tree| tree.with_sets(new_set)).collect();
    let mut features = model.features.clone();
    for (&feature, join) in joins {
        features.categories.insert(feature, join.categories.clone());
    }
    Ensemble { features, trees, ..model.clone() }
}
