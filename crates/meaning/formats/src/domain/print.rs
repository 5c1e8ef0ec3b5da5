//! A domain file as text and as JSON.

use std::fmt::Write;

use secateur_model::GroupKind;
use serde_json::{Map, Value, json};

use super::scored::NamedWhere;
use super::{DomainFile, Entry, Limits, NamedGroup};

impl DomainFile {
    /// The text of a file that reads back as this.
    pub fn to_toml(&self) -> String {
        let mut text = String::new();
        if let Some(missing) = self.missing {
            line(&mut text, "missing", &missing.to_string());
        }
        for (name, limits) in &self.columns {
            blank(&mut text);
            writeln!(text, "[columns.{}]", key(name)).expect("text takes everything");
            limits.print(&mut text);
        }
        for group in &self.groups {
            blank(&mut text);
            text.push_str("[[groups]]\n");
            group.print(&mut text);
        }
        for own in &self.wheres {
            blank(&mut text);
            text.push_str("[[where]]\n");
            own.print(&mut text);
        }
        text
    }

    /// The same as JSON: `{"missing", "columns": {...}, "groups": [...], "where": [...]}`.
    pub fn to_json(&self) -> Value {
        let columns: Map<String, Value> =
            self.columns.iter().map(|(name, limits)| (name.clone(), limits.to_json())).collect();
        let groups: Vec<Value> = self.groups.iter().map(NamedGroup::to_json).collect();
        json!({
            "missing": self.missing.unwrap_or(true),
            "columns": columns,
            "groups": groups,
            "where": self.wheres.iter().map(NamedWhere::to_json).collect::<Vec<_>>(),
        })
    }
}

impl Limits {
    fn print(&self, text: &mut String) {
        if let Some(missing) = self.missing {
            line(text, "missing", &missing.to_string());
        }
        if let Some(min) = self.min {
            line(text, "min", &number(min));
        }
        if let Some(max) = self.max {
            line(text, "max", &number(max));
        }
        if self.whole {
            line(text, "whole", "true");
        }
        if self.f32_only {
            line(text, "f32", "true");
        }
        if let Some(values) = &self.values {
            let entry = |entry: &Entry| match entry {
                Entry::Number(value) => number(*value),
                Entry::Label(label) => quoted(label),
            };
            line(text, "values", &format!("[{}]", joined(values.iter().map(entry))));
        }
    }

    fn to_json(&self) -> Value {
        let mut object = Map::new();
        let mut set = |key: &str, value: Option<Value>| {
            if let Some(value) = value {
                object.insert(key.to_owned(), value);
            }
        };
        set("missing", self.missing.map(Value::from));
        set("min", self.min.map(Value::from));
        set("max", self.max.map(Value::from));
        set("whole", self.whole.then_some(Value::Bool(true)));
        set("f32", self.f32_only.then_some(Value::Bool(true)));
        let entry = |entry: &Entry| match entry {
            Entry::Number(value) => Value::from(*value),
            Entry::Label(label) => Value::from(label.clone()),
        };
        set("values", self.values.as_ref().map(|values| values.iter().map(entry).collect()));
        Value::Object(object)
    }
}

impl NamedGroup {
    fn kind(&self) -> &'static str {
        match self.kind {
            GroupKind::OneHot { .. } => "one-hot",
            GroupKind::Ordered => "ordered",
            GroupKind::Table(_) => "table",
        }
    }

    fn print(&self, text: &mut String) {
        line(text, "kind", &quoted(self.kind()));
        line(text, "columns", &format!("[{}]", joined(self.columns.iter().map(|name| quoted(name)))));
        match &self.kind {
            GroupKind::OneHot { none } => line(text, "none", &none.to_string()),
            GroupKind::Ordered => {}
            GroupKind::Table(rows) => {
                text.push_str("rows = [\n");
                for row in rows {
                    writeln!(text, "    [{}],", joined(row.iter().map(|&value| number(value))))
                        .expect("text takes everything");
                }
                text.push_str("]\n");
            }
        }
    }

    fn to_json(&self) -> Value {
        let mut object = json!({"kind": self.kind(), "columns": self.columns});
        match &self.kind {
            GroupKind::OneHot { none } => object["none"] = Value::Bool(*none),
            GroupKind::Ordered => {}
            GroupKind::Table(rows) => {
                // JSON has no NaN: `null` is a missing value.
                object["rows"] =
                    rows.iter().map(|row| row.iter().copied().map(Value::from).collect::<Value>()).collect();
            }
        }
        object
    }
}

pub(super) fn line(text: &mut String, key: &str, value: &str) {
    writeln!(text, "{key} = {value}").expect("text takes everything");
}

fn blank(text: &mut String) {
    if !text.is_empty() {
        text.push('\n');
    }
}

fn joined(entries: impl Iterator<Item = String>) -> String {
    entries.collect::<Vec<_>>().join(", ")
}

/// A number that parses back to the same bits.
pub(super) fn number(value: f64) -> String {
    if value.is_nan() {
        "nan".to_owned()
    } else if value.fract() == 0.0 && value.abs() < 1e15 {
        format!("{value:.0}")
    } else {
        format!("{value:?}")
    }
}

/// A key, quoted if necessary.
fn key(name: &str) -> String {
    let plain = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    if plain { name.to_owned() } else { quoted(name) }
}

pub(super) fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            '\r' => quoted.push_str("\\r"),
            other if other.is_control() => {
                write!(quoted, "\\u{:04X}", other as u32).expect("text takes everything");
            }
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}
