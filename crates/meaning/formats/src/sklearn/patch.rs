//! A schema that is being edited: changed values are new, everything else refers to the text that
//! was read.

use std::collections::HashSet;

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value;

use crate::json::tape::Element;

/// A value of the edited schema.
#[derive(Clone, Debug)]
pub(crate) enum Patch<'a> {
    /// Unchanged, as in the file.
    Same(Element<'a>),
    /// A new value, which is not edited again.
    New(Value),
    /// A list in which something may have changed.
    List(Vec<Patch<'a>>),
    /// An object in which something may have changed.
    Object(Vec<(&'a str, Patch<'a>)>),
}

impl<'a> Patch<'a> {
    /// The value of a key, for changing; `None` if there is none.
    pub(crate) fn get_mut(&mut self, key: &str) -> Option<&mut Self> {
        self.entries_mut()?.iter_mut().find(|(own, _)| *own == key).map(|(_, value)| value)
    }

    /// An item of a list, for changing; `None` if there is none.
    pub(crate) fn item_mut(&mut self, index: usize) -> Option<&mut Self> {
        if let Self::Same(element) = self {
            *self = Self::List(element.elements()?.map(Self::Same).collect());
        }
        match self {
            Self::List(items) => items.get_mut(index),
            _ => None,
        }
    }

    /// Sets the value of a key, at its place if it exists, otherwise at the end; `None` if this is
    /// not an object.
    pub(crate) fn insert(&mut self, key: &'static str, value: Self) -> Option<()> {
        match self.get_mut(key) {
            Some(old) => *old = value,
            None => self.entries_mut()?.push((key, value)),
        }
        Some(())
    }

    fn entries_mut(&mut self) -> Option<&mut Vec<(&'a str, Self)>> {
        if let Self::Same(element) = self
            && element.is_object()
        {
            *self = Self::Object(element.entries().map(|(key, value)| (key, Self::Same(value))).collect());
        }
        match self {
            Self::Object(entries) => Some(entries),
            _ => None,
        }
    }

    /// Adds the archive members that nodes in here refer to.
    pub(crate) fn add_members<'p>(&'p self, members: &mut HashSet<&'p str>) {
        match self {
            Self::Same(element) => members.extend(element.objects().filter_map(member_of)),
            Self::New(value) => members.extend(value.get("file").and_then(Value::as_str)),
            Self::List(items) => items.iter().for_each(|item| item.add_members(members)),
            Self::Object(entries) => {
                for (key, value) in entries {
                    match value {
                        Self::Same(file) if *key == "file" => members.extend(file.as_str()),
                        value => value.add_members(members),
                    }
                }
            }
        }
    }
}

/// The archive member that a node of the file refers to.
pub(crate) fn member_of(node: Element<'_>) -> Option<&str> {
    node.get("file")?.as_str()
}

impl Serialize for Patch<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Same(element) => element.serialize(serializer),
            Self::New(value) => value.serialize(serializer),
            Self::List(items) => serializer.collect_seq(items),
            Self::Object(entries) => {
                let mut map = serializer.serialize_map(Some(entries.len()))?;
                for (key, value) in entries {
                    map.serialize_entry(key, value)?;
                }
                map.end()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use serde_json::json;

    use super::*;
    use crate::json::tape::Json;

    #[test]
    fn what_is_set_stands_in_its_place_and_all_else_as_it_was() {
        let text = r#"{"b":{"file":"1.npy","x":[1,{"file":"2.npy"},-2.5]},"a":"\u00e4","c":[]}"#;
        let json = Json::parse(Cow::Borrowed(text.as_bytes()), true).unwrap();
        let mut patch = Patch::Same(json.root());
        let written = |patch: &Patch<'_>| serde_json::to_string(patch).unwrap();
        let unescaped = text.replace(r"\u00e4", "ä");
        assert_eq!(written(&patch), unescaped);
        assert!(patch.get_mut("no such key").is_none());
        assert_eq!(written(&patch), unescaped);
        patch.insert("a", Patch::New(json!({"file": "3.npy"}))).unwrap();
        patch.insert("d", Patch::New(true.into())).unwrap();
        *patch.get_mut("b").unwrap().get_mut("x").unwrap().item_mut(0).unwrap() = Patch::New(7.into());
        assert_eq!(
            written(&patch),
            r#"{"b":{"file":"1.npy","x":[7,{"file":"2.npy"},-2.5]},"a":{"file":"3.npy"},"c":[],"d":true}"#
        );
        let mut members = HashSet::new();
        patch.add_members(&mut members);
        assert_eq!(members, HashSet::from(["1.npy", "2.npy", "3.npy"]));
        assert!(patch.get_mut("c").unwrap().insert("key", Patch::New(1.into())).is_none());
        assert!(patch.get_mut("c").unwrap().item_mut(0).is_none());
    }
}
