//! `schema.json` of a skops archive: a tree of nodes, each with the class it stands for, the loader that
//! skops would use, and its content. Nothing is executed: a node is read only where its class is known.
//!
//! skops loads a node once for each `__id__`: a later node of the same id is ignored, whatever it says.
//! Nodes of one id must therefore be equal here, and an edited node needs an id of its own.

use std::cell::RefCell;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use crate::error::{FormatError, Place, Problem};

/// The archive member that holds the schema.
pub(crate) const SCHEMA: &str = "schema.json";

/// How deep JSON may be nested; deeper text is refused by the parser itself.
const DEPTH_LIMIT: usize = 128;

/// Reads the schema: JSON without repeated keys, whose nodes of one id are equal.
pub(crate) fn parse(bytes: &[u8]) -> Result<Value, FormatError> {
    let fail = |problem| FormatError::new(Place::Entry(SCHEMA.to_owned()), problem);
    let repeated = RefCell::new(None);
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let parsed = Strict { repeated: &repeated }.deserialize(&mut deserializer);
    let parsed = parsed.and_then(|value| deserializer.end().map(|()| value));
    let value = parsed.map_err(|error| {
        let text = error.to_string();
        fail(match repeated.take() {
            Some(key) => Problem::DuplicateKey { key },
            None if text.contains("recursion limit") => Problem::TooDeep { limit: DEPTH_LIMIT },
            None => Problem::Syntax { expected: "JSON", found: text },
        })
    })?;
    check_ids(&value).map_err(fail)?;
    Ok(value)
}

/// Nodes that share an id are equal.
fn check_ids(root: &Value) -> Result<(), Problem> {
    let mut first: HashMap<u64, &Value> = HashMap::new();
    let mut open = vec![root];
    while let Some(value) = open.pop() {
        match value {
            Value::Array(items) => open.extend(items),
            Value::Object(map) => {
                if let Some(id) = map.get("__id__").and_then(Value::as_u64).filter(|&id| id != 0) {
                    match first.entry(id) {
                        // Equal to one whose inside is checked.
                        Entry::Occupied(seen) if *seen.get() == value => continue,
                        Entry::Occupied(_) => {
                            let found = format!("the second node with __id__ {id}");
                            return Err(Problem::Value { found, expected: "equal to the first" });
                        }
                        Entry::Vacant(place) => {
                            place.insert(value);
                        }
                    }
                }
                open.extend(map.values());
            }
            _ => {}
        }
    }
    Ok(())
}

/// A node of the schema, and how it was reached.
#[derive(Clone, Debug)]
pub(crate) struct Node<'a> {
    map: &'a Map<String, Value>,
    path: String,
}

impl<'a> Node<'a> {
    /// The node of the whole model.
    pub(crate) fn root(schema: &'a Value) -> Result<Self, FormatError> {
        Self::at(schema, String::new())
    }

    fn at(value: &'a Value, path: String) -> Result<Self, FormatError> {
        match value {
            Value::Object(map) => Ok(Self { map, path }),
            other => Err(FormatError::new(
                Place::Field(path),
                Problem::Value { found: brief(other), expected: "a node of a skops schema" },
            )),
        }
    }

    /// An error at this node.
    pub(crate) fn error(&self, problem: Problem) -> FormatError {
        let path = if self.path.is_empty() { SCHEMA } else { &self.path };
        FormatError::new(Place::Field(path.to_owned()), problem)
    }

    /// What is wrong with the content of this node.
    pub(crate) fn value_error(&self, found: impl fmt::Display, expected: &'static str) -> FormatError {
        self.error(Problem::Value { found: found.to_string(), expected })
    }

    fn text_field(&self, key: &str) -> Result<&'a str, FormatError> {
        match self.map.get(key) {
            Some(Value::String(text)) => Ok(text),
            Some(other) => Err(self.value_error(brief(other), "text")),
            None => Err(self.value_error(format!("a node without {key}"), "a node of a skops schema")),
        }
    }

    /// The version of skops that wrote the file.
    pub(crate) fn skops_version(&self) -> &'a str {
        self.map.get("_skops_version").and_then(Value::as_str).unwrap_or("of unknown version")
    }

    /// Module and class that this node stands for.
    pub(crate) fn class(&self) -> Result<(&'a str, &'a str), FormatError> {
        Ok((self.text_field("__module__")?, self.text_field("__class__")?))
    }

    fn loader(&self) -> Result<&'a str, FormatError> {
        let loader = self.text_field("__loader__")?;
        if loader == "CachedNode" {
            let what = "a node that refers to another one (CachedNode)".to_owned();
            return Err(self.error(Problem::Unsupported { what, advice: "save the model with skops 0.16" }));
        }
        Ok(loader)
    }

    fn is(&self, loader: &str, class: (&str, &str)) -> Result<bool, FormatError> {
        Ok(self.loader()? == loader && self.class()? == class)
    }

    fn expect(&self, loader: &str, class: (&str, &str), expected: &'static str) -> Result<(), FormatError> {
        if self.is(loader, class)? {
            return Ok(());
        }
        let (module, name) = self.class()?;
        Err(self.value_error(format!("{module}.{name}"), expected))
    }

    fn content(&self) -> Result<&'a Value, FormatError> {
        self.map.get("content").ok_or_else(|| self.error(Problem::Missing))
    }

    /// The attributes of an object.
    pub(crate) fn attributes(&self) -> Result<Fields<'a>, FormatError> {
        if !matches!(self.loader()?, "ObjectNode" | "TreeNode") {
            let (module, name) = self.class()?;
            return Err(self.value_error(format!("{module}.{name}"), "an object"));
        }
        Self::at(self.content()?, self.path.clone())?.fields()
    }

    /// The items of a dictionary.
    pub(crate) fn fields(&self) -> Result<Fields<'a>, FormatError> {
        self.expect("DictNode", ("builtins", "dict"), "a dictionary")?;
        match self.content()? {
            Value::Object(map) => Ok(Fields { map, path: self.path.clone() }),
            other => Err(self.value_error(brief(other), "the items of a dictionary")),
        }
    }

    /// The items of a list, a tuple, or an array of objects.
    pub(crate) fn items(&self) -> Result<Vec<Node<'a>>, FormatError> {
        let known = match self.loader()? {
            "ListNode" => self.class()? == ("builtins", "list"),
            "TupleNode" => self.class()? == ("builtins", "tuple"),
            "NdArrayNode" => self.is_object_array()?,
            _ => false,
        };
        match self.content() {
            Ok(Value::Array(items)) if known => items
                .iter()
                .enumerate()
                .map(|(index, item)| Self::at(item, format!("{}[{index}]", self.path)))
                .collect(),
            _ => {
                let (module, name) = self.class()?;
                Err(self.value_error(format!("{module}.{name}"), "a list"))
            }
        }
    }

    /// Is this an array of Python objects, whose items stand in the schema?
    pub(crate) fn is_object_array(&self) -> Result<bool, FormatError> {
        Ok(self.is("NdArrayNode", ("numpy", "ndarray"))? && self.text_field("type")? == "json")
    }

    /// The shape of an array of Python objects.
    pub(crate) fn shape(&self) -> Result<Vec<usize>, FormatError> {
        let shape = self.map.get("shape").ok_or_else(|| self.error(Problem::Missing))?;
        let sizes = Self::at(shape, format!("{}.shape", self.path))?.items()?;
        sizes.iter().map(Self::count).collect()
    }

    /// The archive member of an array (or of a scalar of NumPy's).
    pub(crate) fn member(&self) -> Result<&'a str, FormatError> {
        let array = self.loader()? == "NdArrayNode" && self.class()?.0 == "numpy";
        if array && self.text_field("type")? == "numpy" {
            return self.text_field("file");
        }
        let (module, name) = self.class()?;
        Err(self.value_error(format!("{module}.{name}"), "an array"))
    }

    /// Is this a scalar of NumPy's, stored as an array?
    pub(crate) fn is_numpy(&self) -> Result<bool, FormatError> {
        Ok(self.loader()? == "NdArrayNode")
    }

    /// The text of a JSON scalar.
    fn json_text(&self) -> Result<&'a str, FormatError> {
        if self.loader()? != "JsonNode" {
            let (module, name) = self.class()?;
            return Err(self.value_error(format!("{module}.{name}"), "a number, text, truth value or None"));
        }
        self.text_field("content")
    }

    /// A scalar: a number, text, truth value or null. Python's NaN reads as null.
    pub(crate) fn scalar(&self) -> Result<Value, FormatError> {
        let text = self.json_text()?;
        match serde_json::from_str(text) {
            Ok(value @ (Value::Array(_) | Value::Object(_))) => {
                Err(self.value_error(brief(&value), "a scalar"))
            }
            Ok(value) => Ok(value),
            Err(_) if text == "NaN" => Ok(Value::Null),
            Err(_) => Err(self.value_error(text, "a JSON scalar")),
        }
    }

    /// A whole number that is a count.
    pub(crate) fn count(&self) -> Result<usize, FormatError> {
        let value = self.scalar()?;
        let count = value.as_u64().and_then(|count| usize::try_from(count).ok());
        count.ok_or_else(|| self.value_error(brief(&value), "a count"))
    }

    /// Text, `None` for any other scalar or object.
    pub(crate) fn text(&self) -> Result<Option<String>, FormatError> {
        if self.loader()? != "JsonNode" {
            return Ok(None);
        }
        Ok(self.scalar()?.as_str().map(str::to_owned))
    }

    /// Is this Python's None?
    pub(crate) fn is_none(&self) -> Result<bool, FormatError> {
        Ok(self.loader()? == "JsonNode" && self.json_text()? == "null")
    }
}

/// Named nodes: an object's attributes or a dictionary's items.
#[derive(Clone, Debug)]
pub(crate) struct Fields<'a> {
    map: &'a Map<String, Value>,
    path: String,
}

impl<'a> Fields<'a> {
    /// A field that may be absent.
    pub(crate) fn optional(&self, name: &str) -> Result<Option<Node<'a>>, FormatError> {
        let path = || if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) };
        self.map.get(name).map(|value| Node::at(value, path())).transpose()
    }

    /// A field that must be there.
    pub(crate) fn required(&self, name: &str) -> Result<Node<'a>, FormatError> {
        self.optional(name)?.ok_or_else(|| {
            let path = if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) };
            FormatError::new(Place::Field(path), Problem::Missing)
        })
    }
}

/// A value's beginning, for messages.
fn brief(value: &Value) -> String {
    match value {
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
        other => other.to_string().chars().take(60).collect(),
    }
}

/// Deserializes a [`Value`] and refuses repeated keys.
#[derive(Clone, Copy)]
struct Strict<'r> {
    repeated: &'r RefCell<Option<String>>,
}

impl<'de> DeserializeSeed<'de> for Strict<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element_seed(self)? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = access.next_key::<String>()? {
            if map.contains_key(&key) {
                self.repeated.replace(Some(key));
                return Err(A::Error::custom("a key stands twice"));
            }
            map.insert(key, access.next_value_seed(self)?);
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_skops_would_read_otherwise_is_refused() {
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        let cases = [
            (r#"{"a": 1, "b": {"c": 1, "c": 2}}"#, "\"c\" stands here twice"),
            (deep.as_str(), "nested deeper"),
            (r#"{"a": "#, "JSON expected"),
            (r#"{} {}"#, "JSON expected"),
            (r#"[{"__id__": 7, "content": "1"}, {"__id__": 7, "content": "2"}]"#, "__id__ 7"),
        ];
        for (text, words) in cases {
            let message = parse(text.as_bytes()).unwrap_err().to_string();
            assert!(message.contains(words) && message.contains("schema.json"), "{message}");
        }
        assert!(parse(br#"[{"__id__": 7, "content": "1"}, {"__id__": 7, "content": "1"}]"#).is_ok());
    }
}
