//! Rules: questions in a file, so that they can be asked again of each new version of a model.
//!
//! ```toml
//! domain = "inputs.toml"                 # optional; relative to this file
//!
//! [[rule]]
//! kind = "monotone"
//! column = "income"
//! direction = "up"
//!
//! [[rule]]
//! kind = "moves"
//! column = "sex"
//! at_most = 0.5
//!
//! [[rule]]
//! kind = "decides"
//! never = "reject"
//! when = { late = { values = [0] }, income = { min = 40000 } }
//!
//! [[rule]]
//! kind = "robust"                        # about the rows of the table that comes with the question
//! within = { age = 1, income = 500 }
//! share = 0.95
//! ```

use std::path::{Path, PathBuf};

use secateur_formats::did_you_mean;
use serde_json::{Map, Value};
use thiserror::Error;

use super::{Changes, Condition, Question};

/// Why a file of rules cannot be read, with the place.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{place}: {what}")]
pub struct RulesError {
    place: String,
    what: String,
}

/// The rules of a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rules {
    /// The domain's file, if the rules name one.
    pub domain: Option<PathBuf>,
    /// The questions, in their order.
    pub questions: Vec<Question>,
}

impl Rules {
    /// Reads a file; the path of the domain in it is relative to its folder.
    pub fn read(path: &Path) -> Result<Self, RulesError> {
        let text = std::fs::read_to_string(path);
        let text = text.map_err(|error| wrong("the file", &format!("it cannot be read: {error}")))?;
        let mut rules = Self::parse(&text)?;
        if let (Some(domain), Some(folder)) = (&mut rules.domain, path.parent()) {
            *domain = folder.join(&*domain);
        }
        Ok(rules)
    }

    /// Reads the text of a file.
    pub fn parse(text: &str) -> Result<Self, RulesError> {
        let (rules, domain) = Self::tables(text)?;
        let questions = rules
            .iter()
            .enumerate()
            .map(|(at, rule)| question(&format!("rule {}", at + 1), rule))
            .collect::<Result<_, _>>()?;
        Ok(Self { domain: domain.map(PathBuf::from), questions })
    }

    /// The rules of a text, each as a table, and the file of the domain that it names.
    pub fn tables(text: &str) -> Result<(Vec<Value>, Option<String>), RulesError> {
        let table: toml::Table =
            text.parse().map_err(|error: toml::de::Error| wrong("this is no TOML", error.message()))?;
        let value = serde_json::to_value(table).map_err(|error| wrong("the file", &error.to_string()))?;
        let file = Keys::of("the file", &value, &["domain", "rule"])?;
        let rules = match file.get("rule") {
            Some(Value::Array(rules)) if !rules.is_empty() => rules.clone(),
            Some(Value::Array(_)) | None => return Err(wrong("the file", "it has no [[rule]]")),
            Some(_) => return Err(wrong("rule", "write each rule as [[rule]]")),
        };
        Ok((rules, file.text("domain")?))
    }

    /// The question of a single rule, as a table.
    pub fn question(rule: &Value) -> Result<Question, RulesError> {
        question("the rule", rule)
    }
}

/// The kinds of rules.
const KINDS: [&str; 9] =
    ["range", "moves", "keeps", "idle", "monotone", "decides", "robust", "explain", "counterfactual"];

fn question(place: &str, rule: &Value) -> Result<Question, RulesError> {
    let kind = Keys::of(place, rule, &[])?.text("kind")?;
    let kind = kind.ok_or_else(|| wrong(place, &format!("\"kind\" is needed: {}", KINDS.join(", "))))?;
    let keys = |known: &[&str]| Keys::of(place, rule, &[&["kind"], known].concat());
    Ok(match kind.as_str() {
        "range" => {
            let keys = keys(&["at_least", "at_most"])?;
            Question::Range { at_least: keys.number("at_least")?, at_most: keys.number("at_most")? }
        }
        "moves" => {
            let keys = keys(&["column", "columns", "at_most"])?;
            Question::Moves { columns: keys.columns()?, at_most: keys.number("at_most")? }
        }
        "keeps" => Question::Keeps { columns: keys(&["column", "columns"])?.columns()? },
        "idle" => {
            keys(&[])?;
            Question::Idle
        }
        "monotone" => {
            let keys = keys(&["column", "direction", "of"])?;
            let down = match keys.text("direction")?.as_deref() {
                Some("up") => false,
                Some("down") => true,
                _ => return Err(wrong(place, "\"direction\" is needed: \"up\" or \"down\"")),
            };
            let [column] = &keys.columns()?[..] else { return Err(wrong(place, "one column is needed")) };
            Question::Monotone { column: column.clone(), down, of: keys.name("of")? }
        }
        "decides" => {
            let keys = keys(&["class", "classes", "never", "when"])?;
            let classes = [keys.names("class")?, keys.names("classes")?].concat();
            let never = keys.names("never")?;
            if classes.is_empty() == never.is_empty() {
                return Err(wrong(
                    place,
                    "give the classes that are decided (\"classes\"), or those that never are (\"never\")",
                ));
            }
            let when = match keys.get("when") {
                None => None,
                Some(Value::Object(columns)) => Some(Condition::new(columns.clone())),
                Some(_) => return Err(wrong(place, "\"when\" is a table of columns with their limits")),
            };
            Question::Decides { classes, never, when }
        }
        "robust" => {
            let keys = keys(&["row", "within", "units", "share"])?;
            let (within, units) = (keys.numbers("within")?, keys.numbers("units")?);
            Question::Robust { row: keys.row()?, within, units, share: keys.number("share")? }
        }
        "explain" => {
            let keys = keys(&["row", "smallest", "widen"])?;
            let smallest = keys.flag("smallest")?.unwrap_or(false);
            Question::Explain { row: keys.row()?, smallest, widen: keys.flag("widen")?.unwrap_or(true) }
        }
        "counterfactual" => {
            let keys = keys(&["row", "to", "frozen", "only_up", "only_down", "weights", "count"])?;
            let changes = Changes {
                to: keys.name("to")?,
                frozen: keys.names("frozen")?,
                only_up: keys.names("only_up")?,
                only_down: keys.names("only_down")?,
                weights: keys.numbers("weights")?,
                count: keys.flag("count")?.unwrap_or(false),
            };
            Question::Counterfactual { row: keys.row()?, changes }
        }
        other => {
            let (known, meant) = (KINDS.join(", "), did_you_mean(other, KINDS));
            return Err(wrong(place, &format!("there is no kind {other:?}; known are {known}{meant}")));
        }
    })
}

/// A table with its place in the file.
struct Keys<'a> {
    place: &'a str,
    table: &'a Map<String, Value>,
}

impl<'a> Keys<'a> {
    /// A table that has these keys and no others; any where none are given.
    fn of(place: &'a str, value: &'a Value, known: &[&str]) -> Result<Self, RulesError> {
        let table = value.as_object().ok_or_else(|| wrong(place, "a table is expected"))?;
        let unknown = table.keys().find(|key| !known.is_empty() && !known.contains(&key.as_str()));
        match unknown {
            Some(key) => {
                let (meant, known) = (did_you_mean(key, known), known.join(", "));
                Err(wrong(place, &format!("unknown key {key:?}; known are {known}{meant}")))
            }
            None => Ok(Self { place, table }),
        }
    }

    fn get(&self, key: &str) -> Option<&'a Value> {
        self.table.get(key)
    }

    fn text(&self, key: &str) -> Result<Option<String>, RulesError> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(wrong(self.place, &format!("{key:?} is a text"))),
        }
    }

    fn number(&self, key: &str) -> Result<Option<f64>, RulesError> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let number = value.as_f64().filter(|number| number.is_finite());
        number.map(Some).ok_or_else(|| wrong(self.place, &format!("{key:?} is a finite number")))
    }

    fn flag(&self, key: &str) -> Result<Option<bool>, RulesError> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(*flag)),
            Some(_) => Err(wrong(self.place, &format!("{key:?} is true or false"))),
        }
    }

    /// The position of a row, which is counted from 1.
    fn row(&self) -> Result<Option<usize>, RulesError> {
        let Some(value) = self.get("row") else { return Ok(None) };
        let number = value.as_u64().and_then(|number| usize::try_from(number).ok()).filter(|row| *row > 0);
        let row =
            number.ok_or_else(|| wrong(self.place, "\"row\" is the number of a row, counted from 1"))?;
        Ok(Some(row - 1))
    }

    /// Columns, each with a number.
    fn numbers(&self, key: &str) -> Result<Vec<(String, f64)>, RulesError> {
        let told = || wrong(self.place, &format!("{key:?} is a table of columns, each with a number"));
        match self.get(key) {
            None => Ok(Vec::new()),
            Some(Value::Object(table)) => {
                let one = |(name, value): (&String, &Value)| Some((name.clone(), value.as_f64()?));
                table.iter().map(|entry| one(entry).ok_or_else(told)).collect()
            }
            Some(_) => Err(told()),
        }
    }

    /// A column or class: a text, or a number that stands for one.
    fn name(&self, key: &str) -> Result<Option<String>, RulesError> {
        self.get(key).map(|value| self.one_name(key, value)).transpose()
    }

    fn one_name(&self, key: &str, value: &Value) -> Result<String, RulesError> {
        match value {
            Value::String(text) => Ok(text.clone()),
            Value::Number(number) => Ok(number.to_string()),
            Value::Bool(flag) => Ok(flag.to_string()),
            _ => Err(wrong(self.place, &format!("{key:?} is a name or a number"))),
        }
    }

    fn names(&self, key: &str) -> Result<Vec<String>, RulesError> {
        match self.get(key) {
            None => Ok(Vec::new()),
            Some(Value::Array(list)) => list.iter().map(|value| self.one_name(key, value)).collect(),
            Some(value) => Ok(vec![self.one_name(key, value)?]),
        }
    }

    fn columns(&self) -> Result<Vec<String>, RulesError> {
        let columns = [self.names("column")?, self.names("columns")?].concat();
        if columns.is_empty() { Err(wrong(self.place, "\"column\" is needed")) } else { Ok(columns) }
    }
}

fn wrong(place: &str, what: &str) -> RulesError {
    RulesError { place: place.to_owned(), what: what.trim().to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_read() {
        let text = r#"
            domain = "inputs.toml"
            [[rule]]
            kind = "range"
            at_most = 10
            [[rule]]
            kind = "monotone"
            column = "income"
            direction = "down"
            [[rule]]
            kind = "moves"
            columns = ["a", 2]
            [[rule]]
            kind = "keeps"
            column = "sex"
            [[rule]]
            kind = "decides"
            never = "reject"
            when = { late = { values = [0] } }
        "#;
        let rules = Rules::parse(text).unwrap();
        assert_eq!(rules.domain, Some("inputs.toml".into()));
        let names: Vec<&str> = rules.questions.iter().map(Question::name).collect();
        assert_eq!(names, ["range", "monotone", "moves", "keeps", "decides"]);
        assert_eq!(rules.questions[0], Question::Range { at_least: None, at_most: Some(10.0) });
        let columns = vec!["a".to_owned(), "2".to_owned()];
        assert_eq!(rules.questions[2], Question::Moves { columns, at_most: None });
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        let told = |text: &str| Rules::parse(text).unwrap_err().to_string();
        assert!(told("kind = ").starts_with("this is no TOML: "));
        assert_eq!(told(""), "the file: it has no [[rule]]");
        assert!(told("rules = 1").contains("unknown key \"rules\""));
        for (rule, part) in [
            ("column = 'a'", "rule 1: \"kind\" is needed"),
            ("kind = 'stable'", "there is no kind \"stable\""),
            ("kind = 'robust'\nwithin = 1", "\"within\" is a table of columns"),
            ("kind = 'robust'\nwithin = { a = 'b' }", "\"within\" is a table of columns"),
            ("kind = 'robust'\nrow = 0", "counted from 1"),
            ("kind = 'explain'\nsmallest = 1", "\"smallest\" is true or false"),
            ("kind = 'monotone'\ncolumn = 'a'", "\"direction\" is needed"),
            ("kind = 'moves'", "\"column\" is needed"),
            ("kind = 'moves'\ncolumn = 'a'\nat_most = 'x'", "\"at_most\" is a finite number"),
            ("kind = 'moves'\ncolumn = 'a'\nwithin = 1", "unknown key \"within\""),
            ("kind = 'decides'", "give the classes"),
            ("kind = 'decides'\nnever = 'a'\nclasses = 'b'", "give the classes"),
            ("kind = 'decides'\nnever = 'a'\nwhen = 3", "\"when\" is a table"),
        ] {
            let text = told(&format!("[[rule]]\n{rule}\n"));
            assert!(text.contains(part), "{rule}: {text}");
        }
    }
}
