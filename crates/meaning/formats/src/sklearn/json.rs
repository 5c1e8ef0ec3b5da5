//! JSON as a flat list: the values of a text one after the other, in its order; texts stay in the
//! original text.
//!
//! A schema holds a hundred nodes for each tree of a model, of which a reader uses only a few. A
//! value therefore takes 16 bytes and no allocation of its own, and a key of an object is found by
//! walking over its keys. The syntax and its errors are serde_json's; duplicate keys in an object
//! are refused.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, Serializer};
use serde_json::de::Read;

use crate::error::Problem;

/// The deepest nesting of JSON; the parser itself refuses deeper text.
const DEPTH_LIMIT: usize = 128;

/// Up to this many keys of an object are compared with each other; in larger objects they are
/// looked up.
const FEW_KEYS: usize = 32;

/// A parsed text of less than 4 GiB.
#[derive(Debug)]
pub(crate) struct Json {
    text: String,
    /// The texts that had escapes, decoded.
    decoded: String,
    items: Vec<Item>,
}

/// A value, or a key of an object.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Item {
    Null,
    Truth(bool),
    Unsigned(u64),
    Signed(i64),
    Float(f64),
    /// Its position in the text.
    Text {
        start: u32,
        length: u32,
    },
    /// Its position in the decoded texts.
    Decoded {
        start: u32,
        length: u32,
    },
    /// Its values follow it and end before item `end`.
    List {
        end: u32,
    },
    /// Its keys follow it in the same way, each followed by its value.
    Object {
        end: u32,
    },
}

impl Item {
    /// The bytes of a text; nothing for other values.
    fn text_length(self) -> usize {
        match self {
            Self::Text { length, .. } | Self::Decoded { length, .. } => length as usize,
            _ => 0,
        }
    }
}

impl Json {
    /// Reads a text.
    pub(crate) fn parse(bytes: Cow<'_, [u8]>) -> Result<Self, Problem> {
        if u32::try_from(bytes.len()).is_err() {
            let what = "JSON of 4 GiB or more".to_owned();
            return Err(Problem::Unsupported { what, advice: "save the model with fewer trees" });
        }
        let text = match String::from_utf8(bytes.into_owned()) {
            Ok(text) => text,
            Err(error) => return Err(not_unicode(error.as_bytes())),
        };
        let mut builder = Builder::new(&text);
        let mut deserializer = serde_json::Deserializer::from_str(&text);
        builder.read(&mut deserializer)?;
        let Builder { decoded, items, .. } = builder;
        Ok(Self { decoded, items, text })
    }

    /// The value of the whole text.
    pub(crate) fn root(&self) -> Element<'_> {
        Element { json: self, at: 0 }
    }
}

/// The reason why bytes that are not Unicode text are not JSON.
fn not_unicode(bytes: &[u8]) -> Problem {
    let read = Builder::new("").read(&mut serde_json::Deserializer::from_slice(bytes));
    read.err().unwrap_or_else(|| Problem::Syntax { expected: "JSON", found: "other bytes".to_owned() })
}

/// A value of a text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Element<'a> {
    json: &'a Json,
    at: usize,
}

impl<'a> Element<'a> {
    fn item(self) -> Item {
        self.json.items[self.at]
    }

    /// The index after the items of this value.
    fn end(self) -> usize {
        match self.item() {
            Item::List { end } | Item::Object { end } => end as usize,
            _ => self.at + 1,
        }
    }

    /// The value or key at this index, if there is one.
    fn from(json: &'a Json, at: usize) -> Option<Self> {
        (at < json.items.len()).then_some(Self { json, at })
    }

    /// The next value or key of the text: the first one inside this one, if there is one.
    pub(crate) fn into_next(self) -> Option<Self> {
        Self::from(self.json, self.at + 1)
    }

    /// The next value or key of the text that is not inside this one.
    pub(crate) fn next(self) -> Option<Self> {
        Self::from(self.json, self.end())
    }

    /// A text.
    pub(crate) fn as_str(self) -> Option<&'a str> {
        let (text, start, length) = match self.item() {
            Item::Text { start, length } => (&self.json.text, start, length),
            Item::Decoded { start, length } => (&self.json.decoded, start, length),
            _ => return None,
        };
        text.get(start as usize..start as usize + length as usize)
    }

    /// A whole number that is not negative.
    pub(crate) fn as_u64(self) -> Option<u64> {
        match self.item() {
            Item::Unsigned(number) => Some(number),
            _ => None,
        }
    }

    /// Is this an object?
    pub(crate) fn is_object(self) -> bool {
        matches!(self.item(), Item::Object { .. })
    }

    /// The values of a list.
    pub(crate) fn elements(self) -> Option<impl Iterator<Item = Self>> {
        matches!(self.item(), Item::List { .. }).then(|| self.inside())
    }

    /// Keys and values of an object; nothing for other values.
    pub(crate) fn entries(self) -> impl Iterator<Item = (&'a str, Self)> {
        let mut inside = self.is_object().then(|| self.inside()).into_iter().flatten();
        std::iter::from_fn(move || Some((inside.next()?.as_str()?, inside.next()?)))
    }

    /// The values of a list; keys and values of an object in turn.
    fn inside(self) -> impl Iterator<Item = Self> {
        let (mut at, end) = (self.at + 1, self.end());
        std::iter::from_fn(move || {
            let element = (at < end).then_some(Self { json: self.json, at })?;
            at = element.end();
            Some(element)
        })
    }

    /// The value of a key of an object.
    pub(crate) fn get(self, key: &str) -> Option<Self> {
        if !self.is_object() {
            return None;
        }
        let (mut at, end) = (self.at + 1, self.end());
        while at + 1 < end {
            let (own, value) = (Self { json: self.json, at }, Self { json: self.json, at: at + 1 });
            // Most other keys already differ in length.
            if own.text_length() == key.len() && own.as_str() == Some(key) {
                return Some(value);
            }
            at = value.end();
        }
        None
    }

    fn text_length(self) -> usize {
        self.item().text_length()
    }

    /// All objects from here on, including inside ones, starting with this one if it is one.
    pub(crate) fn objects(self) -> impl Iterator<Item = Self> {
        (self.at..self.end()).map(move |at| Self { at, ..self }).filter(|element| element.is_object())
    }

    /// Are the values equal, regardless of the order of keys, and except for everything under this
    /// key? The recursion is limited by the depth that the parser allows.
    pub(crate) fn equals_but_for(self, other: Self, key: Option<&str>) -> bool {
        self.stands_as(other) || self.equals_in_any_order(other, key)
    }

    fn equals_in_any_order(self, other: Self, key: Option<&str>) -> bool {
        match (self.item(), other.item()) {
            (Item::List { .. }, Item::List { .. }) => {
                let (mut own, mut others) = (self.inside(), other.inside());
                loop {
                    match (own.next(), others.next()) {
                        (None, None) => return true,
                        (Some(one), Some(other)) if one.equals_in_any_order(other, key) => {}
                        _ => return false,
                    }
                }
            }
            (Item::Object { .. }, Item::Object { .. }) => self.object_equals_but_for(other, key),
            (Item::Text { .. } | Item::Decoded { .. }, Item::Text { .. } | Item::Decoded { .. }) => {
                self.as_str() == other.as_str()
            }
            (own, other) => own == other,
        }
    }

    /// Are the items the same, one by one? Equal values nearly always are.
    fn stands_as(self, other: Self) -> bool {
        let length = self.end() - self.at;
        let same = |offset: usize| {
            let (own, others) =
                (Self { at: self.at + offset, ..self }, Self { at: other.at + offset, ..other });
            match (own.item(), others.item()) {
                (Item::Text { .. } | Item::Decoded { .. }, Item::Text { .. } | Item::Decoded { .. }) => {
                    own.text_length() == others.text_length() && own.as_str() == others.as_str()
                }
                (Item::List { end }, Item::List { end: other_end })
                | (Item::Object { end }, Item::Object { end: other_end }) => {
                    end as usize - self.at == other_end as usize - other.at
                }
                (own, others) => own == others,
            }
        };
        other.end() - other.at == length && (0..length).all(same)
    }

    fn object_equals_but_for(self, other: Self, key: Option<&str>) -> bool {
        let same =
            |name: &str, one: Self, other: Self| key == Some(name) || one.equals_in_any_order(other, key);
        // The keys nearly always have the same order.
        let (mut own, mut others) = (self.entries(), other.entries());
        loop {
            match (own.next(), others.next()) {
                (None, None) => return true,
                (Some((name, one)), Some((other_name, other))) if name == other_name => {
                    if !same(name, one, other) {
                        return false;
                    }
                }
                (Some(_), Some(_)) => break,
                _ => return false,
            }
        }
        let others: HashMap<&str, Self> = other.entries().collect();
        self.entries().count() == others.len()
            && self.entries().all(|(name, one)| others.get(name).is_some_and(|&other| same(name, one, other)))
    }

    /// A value's beginning, for messages.
    pub(crate) fn brief(self) -> String {
        match self.item() {
            Item::List { .. } => "a list".to_owned(),
            Item::Object { .. } => "an object".to_owned(),
            _ => serde_json::to_string(&self).unwrap_or_default().chars().take(60).collect(),
        }
    }
}

impl Serialize for Element<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.item() {
            Item::Null => serializer.serialize_unit(),
            Item::Truth(value) => serializer.serialize_bool(value),
            Item::Unsigned(number) => serializer.serialize_u64(number),
            Item::Signed(number) => serializer.serialize_i64(number),
            Item::Float(number) => serializer.serialize_f64(number),
            Item::Text { .. } | Item::Decoded { .. } => {
                serializer.serialize_str(self.as_str().unwrap_or_default())
            }
            Item::List { .. } => serializer.collect_seq(self.inside()),
            Item::Object { .. } => serializer.collect_map(self.entries()),
        }
    }
}

/// The list under construction.
struct Builder<'t> {
    text: &'t str,
    decoded: String,
    items: Vec<Item>,
    /// A key that occurs twice.
    repeated: Option<String>,
}

impl<'t> Builder<'t> {
    fn new(text: &'t str) -> Self {
        Self { text, decoded: String::new(), items: Vec::new(), repeated: None }
    }

    fn read<'de, R: Read<'de>>(
        &mut self,
        deserializer: &mut serde_json::Deserializer<R>,
    ) -> Result<(), Problem> {
        let read = AnyValue(self).deserialize(&mut *deserializer).and_then(|()| deserializer.end());
        read.map_err(|error| {
            let text = error.to_string();
            match self.repeated.take() {
                Some(key) => Problem::DuplicateKey { key },
                None if text.contains("recursion limit") => Problem::TooDeep { limit: DEPTH_LIMIT },
                None => Problem::Syntax { expected: "JSON", found: text },
            }
        })
    }

    /// Adds a part of the text. Positions and counts fit their types, because the text has fewer
    /// bytes.
    fn add_text(&mut self, part: &str) {
        let start = part.as_ptr().addr().wrapping_sub(self.text.as_ptr().addr());
        let place = start..start.wrapping_add(part.len());
        let here = self.text.get(place).is_some_and(|found| std::ptr::eq(found, part));
        if here {
            self.items.push(Item::Text { start: start as u32, length: part.len() as u32 });
        } else {
            self.add_decoded(part);
        }
    }

    fn add_decoded(&mut self, text: &str) {
        self.items.push(Item::Decoded { start: self.decoded.len() as u32, length: text.len() as u32 });
        self.decoded.push_str(text);
    }

    /// The text or key here, if it is one.
    fn text_at(&self, at: usize) -> &str {
        match self.items[at] {
            Item::Text { start, length } => &self.text[start as usize..][..length as usize],
            Item::Decoded { start, length } => &self.decoded[start as usize..][..length as usize],
            _ => "",
        }
    }

    /// Does the last item, a key, already occur in the object that begins at `start` and has
    /// `others` other keys?
    fn is_repeated(&self, start: usize, others: usize, seen: &mut HashSet<String>) -> bool {
        let last = self.items.len() - 1;
        let key = self.text_at(last);
        if others < FEW_KEYS {
            return self
                .keys(start)
                .any(|at| self.items[at].text_length() == key.len() && self.text_at(at) == key);
        }
        if others == FEW_KEYS {
            seen.extend(self.keys(start).map(|at| self.text_at(at).to_owned()));
        }
        !seen.insert(key.to_owned())
    }

    /// The keys of the object that begins at `start`, except the last item.
    fn keys(&self, start: usize) -> impl Iterator<Item = usize> {
        let mut next = start + 1;
        std::iter::from_fn(move || {
            let at = next;
            next = match *self.items.get(at + 1)? {
                Item::List { end } | Item::Object { end } => end as usize,
                _ => at + 2,
            };
            Some(at)
        })
    }
}

/// Reads any value.
struct AnyValue<'b, 't>(&'b mut Builder<'t>);

impl AnyValue<'_, '_> {
    fn add<E>(self, item: Item) -> Result<(), E> {
        self.0.items.push(item);
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for AnyValue<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for AnyValue<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        self.add(Item::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<(), E> {
        self.add(Item::Truth(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<(), E> {
        self.add(Item::Unsigned(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<(), E> {
        self.add(Item::Signed(value))
    }

    fn visit_f64<E>(self, value: f64) -> Result<(), E> {
        self.add(Item::Float(value))
    }

    fn visit_borrowed_str<E>(self, value: &'de str) -> Result<(), E> {
        self.0.add_text(value);
        Ok(())
    }

    fn visit_str<E>(self, value: &str) -> Result<(), E> {
        self.0.add_decoded(value);
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<(), A::Error> {
        let builder = self.0;
        let start = builder.items.len();
        builder.items.push(Item::Null);
        while access.next_element_seed(AnyValue(builder))?.is_some() {}
        builder.items[start] = Item::List { end: builder.items.len() as u32 };
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<(), A::Error> {
        let builder = self.0;
        let start = builder.items.len();
        builder.items.push(Item::Null);
        let mut seen = HashSet::new();
        let mut others = 0;
        while access.next_key_seed(Key(builder))?.is_some() {
            if builder.is_repeated(start, others, &mut seen) {
                builder.repeated = Some(builder.text_at(builder.items.len() - 1).to_owned());
                return Err(A::Error::custom("a key stands twice"));
            }
            others += 1;
            access.next_value_seed(AnyValue(builder))?;
        }
        builder.items[start] = Item::Object { end: builder.items.len() as u32 };
        Ok(())
    }
}

/// Reads a key.
struct Key<'b, 't>(&'b mut Builder<'t>);

impl<'de> DeserializeSeed<'de> for Key<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_str(AnyValue(self.0))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn value(element: Element<'_>) -> Value {
        serde_json::to_value(element).unwrap()
    }

    fn parsed(text: &str) -> Json {
        Json::parse(Cow::Borrowed(text.as_bytes())).unwrap()
    }

    #[test]
    fn a_text_is_what_serde_json_takes_it_for() {
        let many: Vec<String> = (0..80).map(|key| format!(r#""{key}": [{key}]"#)).collect();
        let many = format!("{{{}}}", many.join(","));
        let cases = [
            "null",
            " true ",
            "[]",
            "{}",
            "-0",
            "-0.0",
            "18446744073709551615",
            "18446744073709551616",
            "-9223372036854775808",
            "[1, -2, 2.5e300, 0.1, \"a\", [[]], {}]",
            r#"{"a": {"b": [1, {"c": null}], "\u00e4\n": "tab\t", "": ""}, "d": [true, false]}"#,
            r#""ä\ud83d\ude00z""#,
            &many,
        ];
        for text in cases {
            let expected: Value = serde_json::from_str(text).unwrap();
            let json = parsed(text);
            assert_eq!(value(json.root()), expected, "{text}");
            assert_eq!(json.root().end(), json.items.len(), "{text}");
            for (key, expected) in expected.as_object().into_iter().flatten() {
                assert_eq!(value(json.root().get(key).unwrap()), *expected);
            }
            assert!(json.root().get("no such key").is_none());
        }
    }

    #[test]
    fn what_serde_json_refuses_is_refused_with_its_words() {
        let deep = format!("{}{}", "[".repeat(128), "]".repeat(128));
        let cases: [&[u8]; 13] = [
            b"",
            b"{",
            b"[1,]",
            b"{\"a\" 1}",
            b"{1: 2}",
            b"{} {}",
            b"01",
            b"1e999",
            b"\"\\x\"",
            b"\"\\ud800\"",
            b"[\"a\nb\"]",
            b"{\"a\": \"\xff\"}",
            b"[\xff]",
        ];
        for bytes in cases {
            let expected = serde_json::from_slice::<Value>(bytes).unwrap_err().to_string();
            match Json::parse(Cow::Borrowed(bytes)).unwrap_err() {
                Problem::Syntax { found, .. } => assert_eq!(found, expected),
                other => panic!("{other:?}"),
            }
        }
        let problem = Json::parse(Cow::Borrowed(deep.as_bytes())).unwrap_err();
        assert!(matches!(problem, Problem::TooDeep { limit: DEPTH_LIMIT }), "{problem:?}");
    }

    #[test]
    fn a_key_that_stands_twice_is_refused_wherever_it_stands() {
        for count in [1, 2, FEW_KEYS, FEW_KEYS + 1, FEW_KEYS + 2, 100] {
            for first in [0, count / 2, count - 1] {
                let mut keys: Vec<String> =
                    (0..count).map(|key| format!(r#""k{key}": {{"k": 0}}"#)).collect();
                // A key written with an escape is the same key.
                keys.push(format!(r#""\u006b{first}": 1"#));
                let text = format!("[{{{}}}]", keys.join(", "));
                let problem = Json::parse(Cow::Borrowed(text.as_bytes())).unwrap_err();
                let key = format!("k{first}");
                assert!(matches!(&problem, Problem::DuplicateKey { key: found } if *found == key), "{text}");
            }
        }
    }

    #[test]
    fn values_are_equal_as_far_as_they_should() {
        let cases = [
            ("[1, 2]", "[1, 2]", true),
            ("[1, 2]", "[1]", false),
            ("[1]", "[1.0]", false),
            ("[]", "{}", false),
            ("[[1], 2]", "[[1, 2]]", false),
            (r#"{"a": {"b": 1}, "c": 2}"#, r#"{"a": {"b": 1, "c": 2}}"#, false),
            (r#""a""#, r#""\u0061""#, true),
            (r#"{"a": 1, "b": [2]}"#, r#"{"b": [2], "a": 1}"#, true),
            (r#"{"a": 1, "b": 2}"#, r#"{"a": 1, "c": 2}"#, false),
            (r#"{"a": 1, "b": 2}"#, r#"{"a": 1}"#, false),
            (r#"{"b": 1}"#, r#"{"a": 1, "b": 1}"#, false),
            (r#"{"a": 1, "b": 2}"#, r#"{"b": 2, "a": 3}"#, false),
        ];
        for (one, other, equal) in cases {
            let (one, other) = (parsed(one), parsed(other));
            assert_eq!(one.root().equals_but_for(other.root(), None), equal);
            assert_eq!(other.root().equals_but_for(one.root(), None), equal);
            assert_eq!(value(one.root()) == value(other.root()), equal);
        }
        let (one, other) =
            (parsed(r#"[{"id": 1, "a": {"id": 2}}]"#), parsed(r#"[{"a": {"id": 5}, "id": 1}]"#));
        assert!(!one.root().equals_but_for(other.root(), None));
        assert!(one.root().equals_but_for(other.root(), Some("id")));
        let without = parsed(r#"[{"id": 1, "a": {}}]"#);
        assert!(!one.root().equals_but_for(without.root(), Some("id")));
    }
}
