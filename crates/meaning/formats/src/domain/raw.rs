//! Values that TOML and JSON have in common, and places in them.

use std::fmt;

use serde_json::Value;

use super::DomainFileError;

/// Whole numbers up to this magnitude are exact as floats.
const EXACT: i64 = 1 << 53;

/// A value of either format.
#[derive(Clone, Debug)]
pub(super) enum Raw {
    Flag(bool),
    Whole(i64),
    Number(f64),
    Text(String),
    List(Vec<Raw>),
    Table(Vec<(String, Raw)>),
    /// JSON's null.
    Nothing,
    /// A date, which neither a domain nor JSON has.
    Date,
}

/// The place of a value: keys and positions, counted from 1.
#[derive(Clone, Debug, Default)]
pub(super) struct Place(String);

impl Place {
    pub(super) fn root() -> Self {
        Self::default()
    }

    pub(super) fn key(&self, key: &str) -> Self {
        let plain = !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
        let key = if plain { key.to_owned() } else { format!("{key:?}") };
        Self(if self.0.is_empty() { key } else { format!("{}.{key}", self.0) })
    }

    pub(super) fn index(&self, index: usize) -> Self {
        Self(format!("{}[{}]", self.0, index + 1))
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_empty() { "the file" } else { &self.0 })
    }
}

impl Raw {
    pub(super) fn from_toml(value: toml::Value) -> Self {
        match value {
            toml::Value::Boolean(flag) => Self::Flag(flag),
            toml::Value::Integer(number) => Self::Whole(number),
            toml::Value::Float(number) => Self::Number(number),
            toml::Value::String(text) => Self::Text(text),
            toml::Value::Array(list) => Self::List(list.into_iter().map(Self::from_toml).collect()),
            toml::Value::Table(table) => {
                Self::Table(table.into_iter().map(|(key, value)| (key, Self::from_toml(value))).collect())
            }
            toml::Value::Datetime(_) => Self::Date,
        }
    }

    pub(super) fn from_json(value: &Value) -> Self {
        match value {
            Value::Null => Self::Nothing,
            Value::Bool(flag) => Self::Flag(*flag),
            Value::Number(number) => match number.as_i64() {
                Some(whole) => Self::Whole(whole),
                None => Self::Number(number.as_f64().unwrap_or(f64::NAN)),
            },
            Value::String(text) => Self::Text(text.clone()),
            Value::Array(list) => Self::List(list.iter().map(Self::from_json).collect()),
            Value::Object(table) => {
                Self::Table(table.iter().map(|(key, value)| (key.clone(), Self::from_json(value))).collect())
            }
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Flag(_) => "a truth value",
            Self::Whole(_) | Self::Number(_) => "a number",
            Self::Text(_) => "a text",
            Self::List(_) => "a list",
            Self::Table(_) => "a table",
            Self::Nothing => "nothing (null)",
            Self::Date => "a date",
        }
    }

    fn is_no(&self, expected: &'static str, place: &Place) -> DomainFileError {
        DomainFileError::Type { place: place.to_string(), expected, found: self.name() }
    }

    pub(super) fn table(self, place: &Place) -> Result<Vec<(String, Raw)>, DomainFileError> {
        match self {
            Self::Table(table) => Ok(table),
            other => Err(other.is_no("a table", place)),
        }
    }

    pub(super) fn list(self, place: &Place) -> Result<Vec<Raw>, DomainFileError> {
        match self {
            Self::List(list) => Ok(list),
            other => Err(other.is_no("a list", place)),
        }
    }

    pub(super) fn flag(self, place: &Place) -> Result<bool, DomainFileError> {
        match self {
            Self::Flag(flag) => Ok(flag),
            other => Err(other.is_no("true or false", place)),
        }
    }

    pub(super) fn text(self, place: &Place) -> Result<String, DomainFileError> {
        match self {
            Self::Text(text) => Ok(text),
            other => Err(other.is_no("a text", place)),
        }
    }

    /// A number that is a count or an index.
    pub(super) fn count(self, place: &Place) -> Result<u32, DomainFileError> {
        match self {
            Self::Whole(value) => u32::try_from(value)
                .map_err(|_| DomainFileError::Count { place: place.to_string(), value: value.to_string() }),
            other => Err(other.is_no("a whole number", place)),
        }
    }

    /// The name of a column, or its number.
    pub(super) fn column(self, place: &Place) -> Result<String, DomainFileError> {
        match self {
            Self::Whole(number) => Ok(number.to_string()),
            Self::Text(text) => Ok(text),
            other => Err(other.is_no("the name of a column", place)),
        }
    }

    /// A finite number.
    pub(super) fn number(self, place: &Place) -> Result<f64, DomainFileError> {
        match self {
            Self::Whole(value)
                if value.unsigned_abs() > EXACT as u64 && (value as f64) as i128 != value.into() =>
            {
                Err(DomainFileError::TooLarge { place: place.to_string(), value })
            }
            Self::Whole(value) => Ok(value as f64),
            Self::Number(value) if value.is_finite() => Ok(value),
            Self::Number(_) => {
                let found = "an infinite number or nan";
                Err(DomainFileError::Type { place: place.to_string(), expected: "a finite number", found })
            }
            other => Err(other.is_no("a number", place)),
        }
    }

    /// A finite number, or NaN for a missing value.
    pub(super) fn number_or_missing(self, place: &Place) -> Result<f64, DomainFileError> {
        match self {
            Self::Nothing => Ok(f64::NAN),
            Self::Number(value) if value.is_nan() => Ok(f64::NAN),
            other => other.number(place),
        }
    }
}
