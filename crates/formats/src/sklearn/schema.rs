//! `schema.json` of a skops archive: a tree of nodes, each with the class it stands for, the loader that
//! skops would use, and its content. Nothing is executed: a node is read only where its class is known.
//!
//! skops loads a node once for each `__id__`: a later node of the same id is ignored, whatever it says.
//! A node that is read must therefore be equal to all others of its id but for the ids inside, whose nodes
//! must be so in turn; and an edited node needs an id of its own. (Nodes that nobody reads may differ: a
//! shared random state is taken apart anew each time.)

use std::cell::RefCell;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::map::Entry as MapEntry;
use serde_json::{Map, Value};

use crate::error::{FormatError, Place, Problem};

/// The archive member that holds the schema.
pub(crate) const SCHEMA: &str = "schema.json";

/// How deep JSON may be nested; deeper text is refused by the parser itself.
const DEPTH_LIMIT: usize = 128;

/// A schema may hold so many values whatever the size of its archive, and one more for so many bytes of it.
const FREE_VALUES: usize = 20_000;
const BYTES_PER_VALUE: usize = 2;

/// A parsed schema.
#[derive(Debug)]
pub(crate) struct Schema {
    pub(crate) value: Value,
    /// Ids that stand on nodes that differ, or hold such ids.
    ambiguous: HashSet<u64>,
}

impl Schema {
    /// Reads JSON without repeated keys, of an archive of so many bytes.
    ///
    /// A value takes far more memory than its text, and a deflated text may be much longer than the
    /// archive, so values are counted first: no more than there are commas and opening brackets, and one.
    pub(crate) fn parse(bytes: &[u8], archive: usize) -> Result<Self, FormatError> {
        let values = bytes.iter().filter(|byte| matches!(byte, b',' | b'[' | b'{')).count();
        if values > FREE_VALUES + archive / BYTES_PER_VALUE {
            let (declared, bytes) = (values as u64, archive as u64);
            let problem = Problem::DeclaredTooMany { what: "JSON values", declared, bytes };
            return Err(FormatError::new(Place::Entry(SCHEMA.to_owned()), problem));
        }
        let repeated = RefCell::new(None);
        let mut deserializer = serde_json::Deserializer::from_slice(bytes);
        let parsed = Strict { repeated: &repeated }.deserialize(&mut deserializer);
        let parsed = parsed.and_then(|value| deserializer.end().map(|()| value));
        let value = parsed.map_err(|error| {
            let text = error.to_string();
            let problem = match repeated.take() {
                Some(key) => Problem::DuplicateKey { key },
                None if text.contains("recursion limit") => Problem::TooDeep { limit: DEPTH_LIMIT },
                None => Problem::Syntax { expected: "JSON", found: text },
            };
            FormatError::new(Place::Entry(SCHEMA.to_owned()), problem)
        })?;
        let ambiguous = ambiguous_ids(&value);
        Ok(Self { value, ambiguous })
    }

    /// The node of the whole model.
    pub(crate) fn root(&self) -> Result<Node<'_>, FormatError> {
        Node::at(&self.value, String::new(), &self.ambiguous)
    }
}

fn ambiguous_ids(root: &Value) -> HashSet<u64> {
    let variants = variants(root);
    let mut ambiguous = HashSet::new();
    let mut holders: HashMap<u64, Vec<u64>> = HashMap::new();
    for (&id, nodes) in variants.iter().filter(|(_, nodes)| nodes.len() > 1) {
        if nodes.iter().any(|node| !equal_but_for_ids(nodes[0], node)) {
            ambiguous.insert(id);
        }
        for node in nodes {
            for_each_object(node, |inner| {
                if let Some(inner) = inner.get("__id__").and_then(Value::as_u64) {
                    holders.entry(inner).or_default().push(id);
                }
            });
        }
    }
    let mut open: Vec<u64> = ambiguous.iter().copied().collect();
    while let Some(id) = open.pop() {
        for &holder in holders.get(&id).into_iter().flatten() {
            if ambiguous.insert(holder) {
                open.push(holder);
            }
        }
    }
    ambiguous
}

/// For each id the nodes that have it, without those that are equal to the first.
fn variants(root: &Value) -> HashMap<u64, Vec<&Value>> {
    let mut variants: HashMap<u64, Vec<&Value>> = HashMap::new();
    let mut open = vec![root];
    while let Some(value) = open.pop() {
        match value {
            Value::Array(items) => open.extend(items),
            Value::Object(map) => {
                if let Some(id) = map.get("__id__").and_then(Value::as_u64) {
                    match variants.entry(id) {
                        // Its inside has been looked through.
                        Entry::Occupied(seen) if seen.get()[0] == value => continue,
                        Entry::Occupied(mut seen) => seen.get_mut().push(value),
                        Entry::Vacant(place) => {
                            place.insert(vec![value]);
                        }
                    }
                }
                open.extend(map.values());
            }
            _ => {}
        }
    }
    variants
}

/// Recursion ends with the depth that the parser allows.
fn equal_but_for_ids(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal_but_for_ids(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            let same = |(key, value): (&String, &Value)| {
                b.get(key).is_some_and(|other| key == "__id__" || equal_but_for_ids(value, other))
            };
            a.len() == b.len() && a.iter().all(same)
        }
        _ => a == b,
    }
}

/// Calls `visit` with every object of the schema.
pub(crate) fn for_each_object<'v>(schema: &'v Value, mut visit: impl FnMut(&'v Map<String, Value>)) {
    let mut open = vec![schema];
    while let Some(value) = open.pop() {
        match value {
            Value::Array(items) => open.extend(items),
            Value::Object(map) => {
                visit(map);
                open.extend(map.values());
            }
            _ => {}
        }
    }
}

/// A node of the schema, and how it was reached.
#[derive(Clone, Debug)]
pub(crate) struct Node<'a> {
    map: &'a Map<String, Value>,
    path: String,
    ambiguous: &'a HashSet<u64>,
}

impl<'a> Node<'a> {
    fn at(value: &'a Value, path: String, ambiguous: &'a HashSet<u64>) -> Result<Self, FormatError> {
        match value {
            Value::Object(map) => Ok(Self { map, path, ambiguous }),
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

    /// The loader of a node whose content is about to be read.
    fn loader(&self) -> Result<&'a str, FormatError> {
        if let Some(id) = self.map.get("__id__").and_then(Value::as_u64)
            && self.ambiguous.contains(&id)
        {
            let expected = "equal to the others of this id, which skops would take for it";
            return Err(self.value_error(format!("the node with __id__ {id}"), expected));
        }
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
        Self::at(self.content()?, self.path.clone(), self.ambiguous)?.fields()
    }

    /// The items of a dictionary.
    pub(crate) fn fields(&self) -> Result<Fields<'a>, FormatError> {
        self.expect("DictNode", ("builtins", "dict"), "a dictionary")?;
        match self.content()? {
            Value::Object(map) => Ok(Fields { map, path: self.path.clone(), ambiguous: self.ambiguous }),
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
                .map(|(index, item)| Self::at(item, format!("{}[{index}]", self.path), self.ambiguous))
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
        self.loader()?;
        let shape = self.map.get("shape").ok_or_else(|| self.error(Problem::Missing))?;
        let sizes = Self::at(shape, format!("{}.shape", self.path), self.ambiguous)?.items()?;
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
    ambiguous: &'a HashSet<u64>,
}

impl<'a> Fields<'a> {
    /// A field that may be absent.
    pub(crate) fn optional(&self, name: &str) -> Result<Option<Node<'a>>, FormatError> {
        let path = || if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) };
        self.map.get(name).map(|value| Node::at(value, path(), self.ambiguous)).transpose()
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
            match map.entry(key) {
                MapEntry::Occupied(entry) => {
                    self.repeated.replace(Some(entry.key().clone()));
                    return Err(A::Error::custom("a key stands twice"));
                }
                MapEntry::Vacant(entry) => {
                    entry.insert(access.next_value_seed(self)?);
                }
            }
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
        ];
        for (text, words) in cases {
            let message = Schema::parse(text.as_bytes(), text.len()).unwrap_err().to_string();
            assert!(message.contains(words) && message.contains("schema.json"), "{message}");
        }
        let node = |id: u32, content: &str| {
            format!(
                r#"{{"__class__": "str", "__module__": "builtins", "__loader__": "JsonNode", "content": "{content}", "__id__": {id}}}"#
            )
        };
        let list = |a: String, b: String| {
            format!(
                r#"{{"__class__": "list", "__module__": "builtins", "__loader__": "ListNode", "content": [{a}, {b}]}}"#
            )
        };
        let twice = Schema::parse(list(node(7, "1"), node(7, "1")).as_bytes(), 0).unwrap();
        assert_eq!(twice.root().unwrap().items().unwrap()[1].count().unwrap(), 1);
        let other = Schema::parse(list(node(7, "1"), node(7, "2")).as_bytes(), 0).unwrap();
        let message = other.root().unwrap().items().unwrap()[1].count().unwrap_err().to_string();
        assert!(message.contains("__id__ 7"), "{message}");
    }

    #[test]
    fn a_schema_that_a_small_archive_blows_up_is_refused_before_it_is_parsed() {
        let text = format!("[{}0]", "0,".repeat(100_000));
        let message = Schema::parse(text.as_bytes(), 1_000).unwrap_err().to_string();
        assert!(message.contains("schema.json") && message.contains("100001 JSON values"), "{message}");
        assert!(Schema::parse(text.as_bytes(), text.len() * 2).is_ok());
    }
}
