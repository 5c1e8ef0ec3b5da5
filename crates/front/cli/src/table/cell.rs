//! One cell: from the contents of the file to the number that the model reads.

use std::collections::HashMap;
use std::fmt;

use secateur_model::{Categories, CategoryRule, ClassId, ClassLabels, Ensemble, FeatureId, Label};
use thiserror::Error;

/// The contents of a cell in a file.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    not(feature = "parquet"),
    allow(dead_code, reason = "only tables in Parquet have columns of numbers")
)]
pub(super) enum Cell<'a> {
    Missing,
    Number(f64),
    /// A whole number, from a file that has such a type: an id may have more digits than a double.
    Whole(i128),
    Text(&'a str),
}

impl fmt::Display for Cell<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => Ok(()),
            Self::Number(number) => number.fmt(f),
            Self::Whole(number) => number.fmt(f),
            Self::Text(text) => text.fmt(f),
        }
    }
}

/// The most characters of a cell that are shown: a cell of a table can have megabytes.
const SHOWN: usize = 64;

impl Cell<'_> {
    /// The cell as a message shows it.
    pub(super) fn shown(&self) -> String {
        match self {
            Self::Text(text) => shortened(text),
            _ => self.to_string(),
        }
    }
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

/// A number for the model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Value {
    Known(f64),
    /// The cell is not a category that the model knows; this is the number by which the model reads
    /// such cells.
    Unseen(f64),
}

/// A cell that does not fit its column.
#[derive(Debug, Error)]
pub(super) enum BadCell {
    #[error("{text:?} is not a number; {advice}")]
    NotANumber { text: String, advice: &'static str },
    #[error("{text:?} is not a category that the model knows, and XGBoost takes no other in such a table")]
    UnknownLabel { text: String },
    #[error(
        "a category is missing or a number with a fraction, and CatBoost takes only text and whole numbers there; give \
         missing categories a text of their own, as in training"
    )]
    NoCategory,
    #[error("{text:?} is not a class of the model; the target must hold one of its classes in every row")]
    NotAClass { text: String },
}

/// How the cells of one feature's column are read.
#[derive(Debug)]
pub(super) enum Meaning {
    Number,
    /// For a table without a model: everything that is not a number counts as unseen.
    NumberOrText,
    /// Category codes: the file has no labels.
    Code,
    Label(Box<Labels>),
    /// Texts whose hashes the model knows (CatBoost): the code of each hash.
    Hash(HashMap<u32, f64>),
}

#[derive(Debug)]
pub(super) struct Labels {
    by_text: HashMap<String, f64>,
    /// Labels that are numbers, by their bits: `1` in the model is `1.0` in many tables. Empty if
    /// no label is a number; then numbers are codes.
    by_number: HashMap<u64, f64>,
    /// The value for a label that the model does not know; `None` if its library refuses such
    /// labels.
    unseen: Option<f64>,
}

impl Meaning {
    pub(super) fn of(ensemble: &Ensemble, feature: FeatureId) -> Self {
        let Some(categories) = ensemble.features().categories(feature) else { return Self::Number };
        match &categories.labels {
            Some(labels) if categories.rule == CategoryRule::Hashed => Self::Hash(hashes(labels)),
            Some(labels) => Self::Label(Box::new(Labels::new(categories, labels))),
            None => Self::Code,
        }
    }

    pub(super) fn read(&self, cell: Cell<'_>) -> Result<Value, BadCell> {
        match (self, cell) {
            (Self::Hash(codes), cell) => read_hashed(codes, cell),
            (_, Cell::Missing) => Ok(Value::Known(f64::NAN)),
            (Self::Label(labels), Cell::Text(text)) => labels.read(text),
            (Self::Label(labels), Cell::Number(number)) => labels.read_number(number),
            (Self::Label(labels), Cell::Whole(number)) => labels.read_number(number as f64),
            (_, Cell::Number(number)) => Ok(Value::Known(number)),
            (_, Cell::Whole(number)) => Ok(Value::Known(number as f64)),
            (Self::NumberOrText, Cell::Text(text)) => {
                Ok(number(text).map_or(Value::Unseen(f64::NAN), Value::Known))
            }
            (_, Cell::Text(text)) => number(text).map(Value::Known).ok_or_else(|| BadCell::NotANumber {
                text: shortened(text),
                advice: match self {
                    Self::Number => "leave the field empty where the value is missing, or name the text that says so with --na-values",
                    _ => "the model file has no labels for this column, so give its category codes",
                },
            }),
        }
    }
}

/// The code of each hash.
fn hashes(labels: &[Label]) -> HashMap<u32, f64> {
    let hash = |(code, label): (usize, &Label)| match label {
        Label::Hash(hash) => Some((*hash, code as f64)),
        _ => None,
    };
    labels.iter().enumerate().filter_map(hash).collect()
}

/// Reads a category as CatBoost does: text as it is, a whole number as its text.
fn read_hashed(codes: &HashMap<u32, f64>, cell: Cell<'_>) -> Result<Value, BadCell> {
    let text = match cell {
        Cell::Text(text) => text.to_owned(),
        Cell::Whole(number) => number.to_string(),
        Cell::Number(number) if number.fract() == 0.0 && number.abs() < 9e15 => (number as i64).to_string(),
        Cell::Number(_) | Cell::Missing => return Err(BadCell::NoCategory),
    };
    let known = codes.get(&secateur::model::category_hash(&text));
    Ok(known.map_or(Value::Unseen(-1.0), |&code| Value::Known(code)))
}

/// How the cells of the target column are read.
#[derive(Debug)]
pub(super) struct ClassNames(Labels);

impl ClassNames {
    pub(super) fn of(classes: &ClassLabels) -> Self {
        let names = (0..classes.len()).map(|class| (classes.text(ClassId::new(class)), class as f64));
        let mut labels = Labels { by_text: HashMap::new(), by_number: HashMap::new(), unseen: None };
        names.for_each(|(name, class)| labels.add(&name, class));
        Self(labels)
    }

    pub(super) fn read(&self, cell: Cell<'_>) -> Result<ClassId, BadCell> {
        let value = match cell {
            Cell::Missing => None,
            Cell::Text(text) => self.0.by_text.get(text).copied().or_else(|| self.by_number(number(text)?)),
            Cell::Number(number) => self.by_number(number),
            Cell::Whole(number) => self.by_number(number as f64),
        };
        value
            .map(|class| ClassId::new(class as usize))
            .ok_or_else(|| BadCell::NotAClass { text: cell.shown() })
    }

    fn by_number(&self, number: f64) -> Option<f64> {
        self.0.by_number.get(&bits(number)).copied()
    }
}

impl Labels {
    fn new(categories: &Categories, labels: &[Label]) -> Self {
        // XGBoost refuses unknown labels; the others treat them as missing values or as values in
        // no set.
        let refused = categories.rule == CategoryRule::TruncateNonNegative;
        let unseen = (!refused).then(|| categories.unseen_value().unwrap_or(f64::NAN));
        let mut all = Self { by_text: HashMap::new(), by_number: HashMap::new(), unseen };
        for (code, label) in labels.iter().enumerate() {
            let Some(value) = u32::try_from(code).ok().and_then(|code| categories.value(code)) else {
                continue;
            };
            all.add(&label.to_string(), value);
        }
        all
    }

    fn add(&mut self, label: &str, value: f64) {
        self.by_text.entry(label.to_owned()).or_insert(value);
        if let Some(number) = number(label).filter(|number| !number.is_nan()) {
            self.by_number.entry(bits(number)).or_insert(value);
        }
    }

    fn read(&self, text: &str) -> Result<Value, BadCell> {
        match (self.by_text.get(text), number(text)) {
            (Some(&value), _) => Ok(Value::Known(value)),
            (None, Some(number)) => self.read_number(number),
            (None, None) => self.unknown(text),
        }
    }

    fn read_number(&self, number: f64) -> Result<Value, BadCell> {
        if number.is_nan() || self.by_number.is_empty() {
            return Ok(Value::Known(number));
        }
        match self.by_number.get(&bits(number)) {
            Some(&value) => Ok(Value::Known(value)),
            None => self.unknown(&number.to_string()),
        }
    }

    fn unknown(&self, text: &str) -> Result<Value, BadCell> {
        self.unseen.map(Value::Unseen).ok_or_else(|| BadCell::UnknownLabel { text: shortened(text) })
    }
}

/// The bits of a number; the two zeros count as equal.
fn bits(number: f64) -> u64 {
    (number + 0.0).to_bits()
}

/// The number that a field's text stands for: a decimal, `inf`, a truth value, or NaN for `nan` and
/// for an empty field (missing).
pub(super) fn number(text: &str) -> Option<f64> {
    let text = text.trim_ascii();
    if text.is_empty() {
        return Some(f64::NAN);
    }
    text.parse().ok().or_else(|| {
        let is = |word: &str| text.eq_ignore_ascii_case(word);
        if is("true") {
            Some(1.0)
        } else if is("false") {
            Some(0.0)
        } else {
            None
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(labels: &[&str]) -> Labels {
        let categories = Categories { rule: CategoryRule::Truncate, unseen_is_missing: false, labels: None };
        Labels::new(&categories, &labels.iter().map(|&label| Label::text(label)).collect::<Vec<_>>())
    }

    #[test]
    fn fields_are_read_as_pandas_would() {
        for missing in ["", " ", "nan", "NaN", "NAN", "-nan"] {
            assert!(number(missing).unwrap().is_nan(), "{missing:?}");
        }
        let cases = [("1", 1.0), (" 1.5 ", 1.5), ("+2", 2.0), (".5", 0.5), ("1e400", f64::INFINITY)];
        let words = [("inf", f64::INFINITY), ("-Infinity", f64::NEG_INFINITY), ("True", 1.0), ("false", 0.0)];
        for (text, value) in cases.into_iter().chain(words) {
            assert_eq!(number(text), Some(value), "{text:?}");
        }
        assert_eq!(number("-0.0").unwrap().to_bits(), (-0.0f64).to_bits());
        for other in ["NA", "abc", "1,5", "0x10", "1_000", "--1", "1 2"] {
            assert_eq!(number(other), None, "{other:?}");
        }
    }

    #[test]
    fn classes_are_told_by_name_or_number() {
        let classes = ClassNames::of(&ClassLabels::Integers(vec![-1, 7]));
        for cell in [Cell::Text("7"), Cell::Text("7.0"), Cell::Number(7.0)] {
            assert_eq!(classes.read(cell).unwrap(), ClassId(1), "{cell}");
        }
        for cell in [Cell::Missing, Cell::Text(""), Cell::Text("1"), Cell::Number(f64::NAN)] {
            assert!(matches!(classes.read(cell), Err(BadCell::NotAClass { .. })), "{cell}");
        }
        let classes = ClassNames::of(&ClassLabels::Strings(vec!["no".into(), "yes".into()]));
        assert_eq!(classes.read(Cell::Text("yes")).unwrap(), ClassId(1));
        assert!(classes.read(Cell::Text("1")).is_err());
        let classes = ClassNames::of(&ClassLabels::Booleans(vec![false, true]));
        assert_eq!(classes.read(Cell::Text("True")).unwrap(), ClassId(1));
        assert_eq!(classes.read(Cell::Number(0.0)).unwrap(), ClassId(0));
    }

    #[test]
    fn text_labels_and_codes_are_both_taken() {
        let labels = labels(&["red", "green"]);
        assert_eq!(labels.read("green").unwrap(), Value::Known(1.0));
        assert_eq!(labels.read("1").unwrap(), Value::Known(1.0));
        assert_eq!(labels.read("mauve").unwrap(), Value::Unseen(-1.0));
        assert_eq!(labels.read_number(7.0).unwrap(), Value::Known(7.0));
    }

    #[test]
    fn xgboost_refuses_labels_that_it_does_not_know() {
        let rule = CategoryRule::TruncateNonNegative;
        let categories = Categories { rule, unseen_is_missing: false, labels: None };
        let labels = Labels::new(&categories, &[Label::text("red")]);
        assert_eq!(labels.read("red").unwrap(), Value::Known(0.0));
        assert!(matches!(labels.read("mauve"), Err(BadCell::UnknownLabel { .. })));
        let labels = Labels::new(&categories, &[Label::Integer(10)]);
        assert!(matches!(labels.read_number(11.0), Err(BadCell::UnknownLabel { .. })));
    }

    #[test]
    fn catboost_hashes_the_text_of_whatever_stands_there() {
        let labels = ["red", "7"].map(|text| Label::Hash(secateur::model::category_hash(text)));
        let meaning = Meaning::Hash(hashes(&labels));
        let read = |cell| meaning.read(cell).unwrap();
        assert_eq!(read(Cell::Text("red")), Value::Known(0.0));
        assert_eq!(read(Cell::Text("7")), Value::Known(1.0));
        assert_eq!(read(Cell::Number(7.0)), Value::Known(1.0));
        // The text `0` is not a code here: it is hashed like every other text.
        assert_eq!(read(Cell::Text("0")), Value::Unseen(-1.0));
        for cell in [Cell::Missing, Cell::Number(7.5), Cell::Number(f64::NAN)] {
            assert!(matches!(meaning.read(cell), Err(BadCell::NoCategory)), "{cell:?}");
        }
    }

    #[test]
    fn where_labels_are_numbers_numbers_are_labels() {
        let labels = labels(&["10", "20"]);
        assert_eq!(labels.read("20").unwrap(), Value::Known(1.0));
        assert_eq!(labels.read("20.0").unwrap(), Value::Known(1.0));
        assert_eq!(labels.read_number(10.0).unwrap(), Value::Known(0.0));
        assert_eq!(labels.read("1").unwrap(), Value::Unseen(-1.0));
        assert!(matches!(labels.read(""), Ok(Value::Known(value)) if value.is_nan()));
    }
}
