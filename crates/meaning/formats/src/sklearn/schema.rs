//! `schema.json` of a skops archive: a tree of nodes, each with the class it stands for, the loader
//! that skops would use, and its content. Nothing is executed: a node is read only if its class is
//! known.
//!
//! skops loads a node once for each `__id__`: a later node with the same id is ignored, whatever it
//! contains. A node that is read must therefore be equal to all others with its id, except for the
//! ids inside, whose nodes must be equal in turn; and an edited node needs an id of its own. (Nodes
//! that are not read may differ: a shared random state is saved anew each time. A dtype is saved
//! anew, too, and is read: members with the same bytes are the same dtype.)

use std::borrow::Cow;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::fmt;

use serde_json::Value;

use crate::error::{FormatError, Place, Problem};
use crate::json::tape::{Element, Json};

/// The archive member that holds the schema.
pub(crate) const SCHEMA: &str = "schema.json";

/// The key under which a node has its id.
pub(crate) const ID: &str = "__id__";

/// A schema may hold FREE_VALUES values for any size of its archive, and one more for every
/// BYTES_PER_VALUE bytes of it.
const FREE_VALUES: usize = 20_000;
const BYTES_PER_VALUE: usize = 2;

/// A parsed schema.
#[derive(Debug)]
pub(crate) struct Schema {
    json: Json<'static>,
    /// Ids of nodes that differ, or that contain such ids.
    ambiguous: HashSet<u64>,
}

impl Schema {
    /// Reads JSON without repeated keys, from an archive of this many bytes.
    ///
    /// A value may take far more memory than its text, and a deflated text may be much longer than
    /// the archive, so values are counted before parsing: there is at most one more than there are
    /// commas and opening brackets. `same_member` compares two members of the archive.
    pub(crate) fn parse(
        bytes: Cow<'_, [u8]>,
        archive: usize,
        same_member: &dyn Fn(&str, &str) -> bool,
    ) -> Result<Self, FormatError> {
        let fail = |problem| FormatError::new(Place::Entry(SCHEMA.to_owned()), problem);
        let values = most_values(&bytes);
        if values > FREE_VALUES + archive / BYTES_PER_VALUE {
            let (declared, bytes) = (values as u64, archive as u64);
            return Err(fail(Problem::DeclaredTooMany { what: "JSON values", declared, bytes }));
        }
        let json = Json::parse(Cow::Owned(bytes.into_owned()), true).map_err(|error| {
            fail(match error.problem {
                Problem::Syntax { .. } | Problem::Truncated { .. } | Problem::Value { .. } => {
                    Problem::Syntax { expected: "JSON", found: error.to_string() }
                }
                other => other,
            })
        })?;
        let ambiguous = ambiguous_ids(json.root(), same_member);
        Ok(Self { json, ambiguous })
    }

    /// The whole schema.
    pub(crate) fn element(&self) -> Element<'_> {
        self.json.root()
    }

    /// The node of the whole model.
    pub(crate) fn root(&self) -> Result<Node<'_>, FormatError> {
        Node::at(self.element(), String::new(), &self.ambiguous)
    }
}

/// The number of commas and opening brackets, counted in bytes as far as these suffice, which takes
/// few instructions.
fn most_values(bytes: &[u8]) -> usize {
    let in_part =
        |part: &[u8]| part.iter().map(|byte| u8::from(matches!(byte, b',' | b'[' | b'{'))).sum::<u8>();
    bytes.chunks(usize::from(u8::MAX)).map(|part| usize::from(in_part(part))).sum()
}

fn ambiguous_ids(root: Element<'_>, same_member: &dyn Fn(&str, &str) -> bool) -> HashSet<u64> {
    let variants = variants(root);
    let mut ambiguous = HashSet::new();
    let mut holders: HashMap<u64, Vec<u64>> = HashMap::new();
    for (&id, (first, others)) in variants.iter().filter(|(_, (_, others))| !others.is_empty()) {
        let differs = |other: &Element<'_>| {
            !first.equals_but_for(*other, Some(ID)) && !is_same_dtype(*first, *other, same_member)
        };
        if others.iter().any(differs) {
            ambiguous.insert(id);
        }
        for node in [first].into_iter().chain(others) {
            for inner in node.objects().filter_map(id_of) {
                holders.entry(inner).or_default().push(id);
            }
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

/// Are both nodes the same dtype? skops saves a dtype as an empty array, made anew each time that the
/// dtype occurs, so that its node names another member with the same bytes. (Two steps of a pipeline
/// that learned a dtype share one.)
fn is_same_dtype(one: Element<'_>, other: Element<'_>, same_member: &dyn Fn(&str, &str) -> bool) -> bool {
    let text = |element: Element<'_>, key: &str| element.get(key)?.as_str().map(str::to_owned);
    let equal = |one: Element<'_>, other: Element<'_>, keys: &[&str]| {
        one.entries().count() == keys.len() + 2
            && other.entries().count() == keys.len() + 2
            && keys.iter().all(|key| text(one, key).is_some_and(|text_of| Some(text_of) == text(other, key)))
    };
    let class = ["__class__", "__module__", "__loader__"];
    let array = ["__class__", "__module__", "__loader__", "type"];
    let (Some(first), Some(second)) = (one.get("content"), other.get("content")) else { return false };
    text(one, "__loader__").as_deref() == Some("DTypeNode")
        && equal(one, other, &class)
        && text(first, "__loader__").as_deref() == Some("NdArrayNode")
        && equal(first, second, &array)
        && text(first, "file").zip(text(second, "file")).is_some_and(|(one, other)| same_member(&one, &other))
}

/// For each id the first node with it, and the nodes with it that are not equal to the first.
fn variants(root: Element<'_>) -> HashMap<u64, (Element<'_>, Vec<Element<'_>>)> {
    let mut variants: HashMap<u64, (Element<'_>, Vec<Element<'_>>)> = HashMap::new();
    let mut next = Some(root);
    while let Some(element) = next {
        next = element.into_next();
        let Some(id) = id_of(element) else { continue };
        match variants.entry(id) {
            Entry::Occupied(mut seen) => {
                let (first, others) = seen.get_mut();
                if first.equals_but_for(element, None) {
                    // Its inside has been examined already.
                    next = element.next();
                } else {
                    others.push(element);
                }
            }
            Entry::Vacant(place) => {
                place.insert((element, Vec::new()));
            }
        }
    }
    variants
}

/// The id of a node.
pub(crate) fn id_of(node: Element<'_>) -> Option<u64> {
    node.get(ID)?.as_u64()
}

/// A node of the schema, and how it was reached.
#[derive(Clone, Debug)]
pub(crate) struct Node<'a> {
    map: Element<'a>,
    path: String,
    ambiguous: &'a HashSet<u64>,
}

impl<'a> Node<'a> {
    fn at(map: Element<'a>, path: String, ambiguous: &'a HashSet<u64>) -> Result<Self, FormatError> {
        if map.is_object() {
            return Ok(Self { map, path, ambiguous });
        }
        let problem = Problem::Value { found: map.brief(), expected: "a node of a skops schema" };
        Err(FormatError::new(Place::Field(path), problem))
    }

    /// An error at this node.
    pub(crate) fn error(&self, problem: Problem) -> FormatError {
        let path = if self.path.is_empty() { SCHEMA } else { &self.path };
        FormatError::new(Place::Field(path.to_owned()), problem)
    }

    /// An error about the content of this node.
    pub(crate) fn value_error(&self, found: impl fmt::Display, expected: &'static str) -> FormatError {
        self.error(Problem::Value { found: found.to_string(), expected })
    }

    /// The element of the schema for this node.
    pub(crate) fn element(&self) -> Element<'a> {
        self.map
    }

    /// Checks that a node inside this one, which is not read, is one that skops takes as it is.
    pub(crate) fn check_loader(&self, inside: Element<'a>) -> Result<(), FormatError> {
        Self::at(inside, self.path.clone(), self.ambiguous)?.loader().map(|_| ())
    }

    fn text_field(&self, key: &str) -> Result<&'a str, FormatError> {
        let Some(value) = self.map.get(key) else {
            return Err(self.value_error(format!("a node without {key}"), "a node of a skops schema"));
        };
        value.as_str().ok_or_else(|| self.value_error(value.brief(), "text"))
    }

    /// The version of skops that wrote the file.
    pub(crate) fn skops_version(&self) -> &'a str {
        self.map.get("_skops_version").and_then(Element::as_str).unwrap_or("of unknown version")
    }

    /// Module and class that this node stands for.
    pub(crate) fn class(&self) -> Result<(&'a str, &'a str), FormatError> {
        Ok((self.text_field("__module__")?, self.text_field("__class__")?))
    }

    /// The loader of a node whose content is about to be read.
    fn loader(&self) -> Result<&'a str, FormatError> {
        if !self.ambiguous.is_empty()
            && let Some(id) = id_of(self.map)
            && self.ambiguous.contains(&id)
        {
            let expected =
                "equal to the other objects that share its number, one of which skops would take for it";
            return Err(self.value_error("this object", expected));
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

    fn content(&self) -> Result<Element<'a>, FormatError> {
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
        let map = self.content()?;
        if !map.is_object() {
            return Err(self.value_error(map.brief(), "the items of a dictionary"));
        }
        Ok(Fields { map, path: self.path.clone(), ambiguous: self.ambiguous })
    }

    /// The items of a list, a tuple, or an array of objects.
    pub(crate) fn items(&self) -> Result<Vec<Node<'a>>, FormatError> {
        let known = match self.loader()? {
            "ListNode" => self.class()? == ("builtins", "list"),
            "TupleNode" => self.class()? == ("builtins", "tuple"),
            "NdArrayNode" => self.is_object_array()?,
            _ => false,
        };
        match self.content().ok().and_then(Element::elements) {
            Some(items) if known => items
                .enumerate()
                .map(|(index, item)| Self::at(item, format!("{}[{index}]", self.path), self.ambiguous))
                .collect(),
            _ => {
                let (module, name) = self.class()?;
                Err(self.value_error(format!("{module}.{name}"), "a list"))
            }
        }
    }

    /// Is this an array of Python objects, whose items are in the schema?
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

    /// The archive member of an array or of a NumPy scalar.
    pub(crate) fn member(&self) -> Result<&'a str, FormatError> {
        let array = self.loader()? == "NdArrayNode" && self.class()?.0 == "numpy";
        if array && self.text_field("type")? == "numpy" {
            return self.text_field("file");
        }
        let (module, name) = self.class()?;
        Err(self.value_error(format!("{module}.{name}"), "an array"))
    }

    /// Is this a NumPy scalar, stored as an array?
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

    /// A whole number of at least zero.
    pub(crate) fn count(&self) -> Result<usize, FormatError> {
        let value = self.scalar()?;
        let count = value.as_u64().and_then(|count| usize::try_from(count).ok());
        count.ok_or_else(|| self.value_error(brief(&value), "a count"))
    }

    /// A text; `None` for any other scalar or object.
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
    map: Element<'a>,
    path: String,
    ambiguous: &'a HashSet<u64>,
}

impl<'a> Fields<'a> {
    /// The names of all of them.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        self.map.entries().map(|(name, _)| name)
    }

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
            let message = Schema::parse(Cow::Borrowed(text.as_bytes()), text.len(), &|_, _| false)
                .unwrap_err()
                .to_string();
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
        let twice =
            Schema::parse(list(node(7, "1"), node(7, "1")).into_bytes().into(), 0, &|_, _| false).unwrap();
        assert_eq!(twice.root().unwrap().items().unwrap()[1].count().unwrap(), 1);
        let other =
            Schema::parse(list(node(7, "1"), node(7, "2")).into_bytes().into(), 0, &|_, _| false).unwrap();
        let message = other.root().unwrap().items().unwrap()[1].count().unwrap_err().to_string();
        assert!(message.contains("this object") && !message.contains('7'), "{message}");
    }

    #[test]
    fn a_schema_that_a_small_archive_blows_up_is_refused_before_it_is_parsed() {
        let text = format!("[{}0]", "0,".repeat(100_000));
        let message =
            Schema::parse(Cow::Borrowed(text.as_bytes()), 1_000, &|_, _| false).unwrap_err().to_string();
        assert!(message.contains("schema.json") && message.contains("100001 JSON values"), "{message}");
        assert!(Schema::parse(Cow::Borrowed(text.as_bytes()), text.len() * 2, &|_, _| false).is_ok());
    }
}
