//! Labels of categories: the values that users write in a table for the codes in a model.

use std::fmt;

/// The label of one category. Labels of different types are different labels: the text `1` is not
/// the number 1, and neither is the truth value.
#[derive(Clone, Debug)]
pub enum Label {
    /// Text.
    Text(String),
    /// A whole number.
    Integer(i64),
    /// Another number.
    Float(f64),
    /// A truth value.
    Boolean(bool),
    /// Any text with this hash: CatBoost's files hold only the hash of a category's text.
    Hash(u32),
    /// A label that the reader cannot reproduce as the library sees it: bytes that are not text, or
    /// a value that is not a label. It equals itself and is never matched with anything else.
    Unreadable(String),
}

impl Label {
    /// A text label.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }
}

impl PartialEq for Label {
    /// Compares bit by bit, so that a list always equals itself.
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Text(a), Self::Text(b)) | (Self::Unreadable(a), Self::Unreadable(b)) => a == b,
            (Self::Integer(a), Self::Integer(b)) => a == b,
            (Self::Float(a), Self::Float(b)) => a.to_bits() == b.to_bits(),
            (Self::Boolean(a), Self::Boolean(b)) => a == b,
            (Self::Hash(a), Self::Hash(b)) => a == b,
            _ => false,
        }
    }
}

impl Eq for Label {}

impl fmt::Display for Label {
    /// As Python prints it; a hash as `#` and eight hexadecimal digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) | Self::Unreadable(text) => f.write_str(text),
            Self::Integer(number) => number.fmt(f),
            Self::Float(number) => write!(f, "{number:?}"),
            Self::Boolean(true) => f.write_str("True"),
            Self::Boolean(false) => f.write_str("False"),
            Self::Hash(hash) => write!(f, "#{hash:08x}"),
        }
    }
}

/// Lists of labels that a file holds without saying which columns they belong to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnplacedLabels {
    /// The lists in the order of the file: one for each column of labels in the library's table.
    pub lists: Vec<Vec<Label>>,
    /// Were the model's columns reordered since? Then the order of the lists has no meaning any
    /// more.
    pub moved: bool,
}
