//! The values of a JSON text as a flat list, one after the other, in its order; texts and numbers
//! stay in the original text.
//!
//! A model has a hundred values for each tree, of which a reader uses only a few. A value therefore
//! takes 16 bytes and no allocation of its own, and a key of an object is found by walking over its
//! keys. Numbers keep their text, so that each library's own rule can read it, and values can be
//! copied as they were written.

use std::borrow::Cow;
use std::collections::HashMap;

use serde::ser::{Serialize, Serializer};

use super::{Numbers, Scanner, fail};
use crate::error::{FormatError, Place, Problem};

/// The deepest nesting of JSON.
const DEEPEST: usize = 127;

/// A parsed text of less than 4 GiB.
#[derive(Debug)]
pub(crate) struct Json<'t> {
    text: Cow<'t, str>,
    /// The texts that had escapes, decoded.
    decoded: Vec<Box<str>>,
    items: Vec<Item>,
}

/// A value, or a key of an object.
#[derive(Clone, Copy, Debug)]
struct Item {
    kind: Kind,
    /// Where it begins in the text.
    start: u32,
    /// The length of its text.
    length: u32,
    /// For lists and objects: the index after the items inside. For decoded texts: which of them.
    end: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Null,
    Truth(bool),
    Number,
    Text,
    /// A text that had escapes.
    Decoded,
    /// Its values follow it.
    List,
    /// Its keys follow it, each followed by its value.
    Object,
}

/// A number as a general reader of JSON understands it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Number {
    Unsigned(u64),
    Signed(i64),
    Float(f64),
}

impl Number {
    fn of(text: &str) -> Self {
        let whole = !text.contains(['.', 'e', 'E']) && text != "-0";
        if let Some(number) = whole.then(|| text.parse().ok()).flatten() {
            return Self::Unsigned(number);
        }
        if let Some(number) = whole.then(|| text.parse().ok()).flatten() {
            return Self::Signed(number);
        }
        Self::Float(text.parse().expect("Rust reads the numbers of JSON"))
    }
}

impl<'t> Json<'t> {
    /// Reads a whole text, strictly; keys that stand twice in an object are refused. With `doubles`
    /// every number has to fit into an f64.
    pub(crate) fn parse(bytes: Cow<'t, [u8]>, doubles: bool) -> Result<Self, FormatError> {
        if u32::try_from(bytes.len()).is_err() {
            let what = "JSON of 4 GiB or more".to_owned();
            let problem = Problem::Unsupported { what, advice: "save the model with fewer trees" };
            return Err(FormatError::new(Place::File, problem));
        }
        let other_bytes = |error: std::str::Utf8Error| {
            let found = "other bytes".to_owned();
            let place = Place::Byte(error.valid_up_to() as u64);
            FormatError::new(place, Problem::Syntax { expected: "UTF-8 text", found })
        };
        let text = match bytes {
            Cow::Borrowed(bytes) => Cow::Borrowed(std::str::from_utf8(bytes).map_err(other_bytes)?),
            Cow::Owned(bytes) => {
                Cow::Owned(String::from_utf8(bytes).map_err(|error| other_bytes(error.utf8_error()))?)
            }
        };
        let mut list = List { decoded: Vec::new(), items: Vec::new(), doubles };
        let mut scan = Scanner::new(text.as_bytes(), Numbers::Standard, DEEPEST);
        list.value(&mut scan)?;
        scan.end()?;
        let List { decoded, items, .. } = list;
        Ok(Self { decoded, items, text })
    }

    /// The value of the whole text.
    pub(crate) fn root(&self) -> Element<'_> {
        Element { json: self, at: 0 }
    }

    /// The texts of all numbers, the last one first.
    pub(crate) fn numbers_backwards(&self) -> impl Iterator<Item = &str> {
        (0..self.items.len()).rev().filter_map(|at| Element { json: self, at }.as_number())
    }
}

/// The list under construction. Positions and counts fit their types, because the text has fewer
/// bytes.
struct List {
    decoded: Vec<Box<str>>,
    items: Vec<Item>,
    doubles: bool,
}

impl List {
    fn value(&mut self, scan: &mut Scanner<'_>) -> Result<(), FormatError> {
        let first = scan.next();
        let (start, at) = (scan.at, self.items.len());
        let kind = match first {
            Some(b'"') => {
                let text = scan.string()?;
                self.text(start, scan.at - start, text);
                return Ok(());
            }
            Some(b'{') => {
                self.add(Kind::Object, start);
                scan.object(|scan, key, start| {
                    // The scanner stands at the colon's end; the key's own text is not needed.
                    self.text(start, key.len() + 2, key);
                    self.value(scan)
                })?;
                Kind::Object
            }
            Some(b'[') => {
                self.add(Kind::List, start);
                scan.array(|scan| self.value(scan))?;
                Kind::List
            }
            Some(b'-' | b'0'..=b'9') => {
                let float = scan.number()?;
                let text = &scan.bytes[start..scan.at];
                // Up to 18 digits fit into every type.
                let risky = self.doubles && (float || text.len() > 18);
                let value = std::str::from_utf8(text).ok().and_then(|text| text.parse::<f64>().ok());
                if risky && !value.is_some_and(f64::is_finite) {
                    let found = String::from_utf8_lossy(text).into_owned();
                    return fail(start, Problem::Value { found, expected: "a number that f64 holds" });
                }
                self.add(Kind::Number, start);
                Kind::Number
            }
            _ => {
                let words =
                    [("null", Kind::Null), ("true", Kind::Truth(true)), ("false", Kind::Truth(false))];
                let Some((_, kind)) = words.into_iter().find(|(word, _)| scan.word(word)) else {
                    return scan.expected("a JSON value");
                };
                self.add(kind, start);
                kind
            }
        };
        let end = self.items.len() as u32;
        self.items[at] = Item { kind, start: start as u32, length: (scan.at - start) as u32, end };
        Ok(())
    }

    fn add(&mut self, kind: Kind, start: usize) {
        self.items.push(Item { kind, start: start as u32, length: 0, end: 0 });
    }

    /// Adds a text that begins at `start`, with its quotes.
    fn text(&mut self, start: usize, length: usize, text: Cow<'_, str>) {
        let kind = if matches!(text, Cow::Borrowed(_)) { Kind::Text } else { Kind::Decoded };
        let end = self.decoded.len() as u32;
        if let Cow::Owned(text) = text {
            self.decoded.push(text.into());
        }
        self.items.push(Item { kind, start: start as u32, length: length as u32, end });
    }
}

/// A value of a text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Element<'a> {
    json: &'a Json<'a>,
    at: usize,
}

impl<'a> Element<'a> {
    fn item(self) -> Item {
        self.json.items[self.at]
    }

    /// The index after the items of this value.
    fn end(self) -> usize {
        match self.item() {
            Item { kind: Kind::List | Kind::Object, end, .. } => end as usize,
            _ => self.at + 1,
        }
    }

    /// The value or key at this index, if there is one.
    fn from(json: &'a Json<'a>, at: usize) -> Option<Self> {
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
        let Item { kind, start, length, end } = self.item();
        match kind {
            Kind::Text => self.json.text.get(start as usize + 1..(start + length) as usize - 1),
            Kind::Decoded => Some(&self.json.decoded[end as usize]),
            _ => None,
        }
    }

    /// The value as it is written.
    pub(crate) fn raw(self) -> &'a str {
        let Item { start, length, .. } = self.item();
        &self.json.text[start as usize..][..length as usize]
    }

    /// A number as it is written.
    pub(crate) fn as_number(self) -> Option<&'a str> {
        (self.item().kind == Kind::Number).then(|| self.raw())
    }

    /// A whole number that is not negative.
    pub(crate) fn as_u64(self) -> Option<u64> {
        self.as_number()?.parse().ok()
    }

    pub(crate) fn as_bool(self) -> Option<bool> {
        match self.item().kind {
            Kind::Truth(value) => Some(value),
            _ => None,
        }
    }

    pub(crate) fn is_null(self) -> bool {
        self.item().kind == Kind::Null
    }

    /// Is this an object?
    pub(crate) fn is_object(self) -> bool {
        self.item().kind == Kind::Object
    }

    /// Is this a list or an object in which nothing is?
    pub(crate) fn is_empty(self) -> bool {
        matches!(self.item().kind, Kind::List | Kind::Object) && self.end() == self.at + 1
    }

    /// The values of a list.
    pub(crate) fn elements(self) -> Option<impl Iterator<Item = Self>> {
        (self.item().kind == Kind::List).then(|| self.inside())
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
            if own.as_str() == Some(key) {
                return Some(value);
            }
            at = value.end();
        }
        None
    }

    /// All objects from here on, including inside ones, starting with this one if it is one.
    pub(crate) fn objects(self) -> impl Iterator<Item = Self> {
        (self.at..self.end()).map(move |at| Self { at, ..self }).filter(|element| element.is_object())
    }

    /// Are these the same text, number or word?
    fn same_scalar(self, other: Self) -> bool {
        match (self.as_str(), other.as_str(), self.as_number(), other.as_number()) {
            (Some(own), Some(other), ..) => own == other,
            (_, _, Some(own), Some(other)) => own == other || Number::of(own) == Number::of(other),
            _ => self.item().kind == other.item().kind,
        }
    }

    /// Are the values equal, regardless of the order of keys, and except for everything under this
    /// key? The recursion is limited by the depth that the parser allows.
    pub(crate) fn equals_but_for(self, other: Self, key: Option<&str>) -> bool {
        self.stands_as(other) || self.equals_in_any_order(other, key)
    }

    fn equals_in_any_order(self, other: Self, key: Option<&str>) -> bool {
        match (self.item().kind, other.item().kind) {
            (Kind::List, Kind::List) => {
                let (mut own, mut others) = (self.inside(), other.inside());
                loop {
                    match (own.next(), others.next()) {
                        (None, None) => return true,
                        (Some(one), Some(other)) if one.equals_in_any_order(other, key) => {}
                        _ => return false,
                    }
                }
            }
            (Kind::Object, Kind::Object) => self.object_equals_but_for(other, key),
            _ => self.same_scalar(other),
        }
    }

    /// Are the items the same, one by one? Equal values nearly always are.
    fn stands_as(self, other: Self) -> bool {
        let length = self.end() - self.at;
        let same = |offset: usize| {
            let (own, others) =
                (Self { at: self.at + offset, ..self }, Self { at: other.at + offset, ..other });
            match (own.item().kind, others.item().kind) {
                (Kind::List, Kind::List) | (Kind::Object, Kind::Object) => {
                    own.end() - self.at == others.end() - other.at
                }
                _ => own.same_scalar(others),
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
        match self.item().kind {
            Kind::List => "a list".to_owned(),
            Kind::Object => "an object".to_owned(),
            _ => serde_json::to_string(&self).unwrap_or_default().chars().take(60).collect(),
        }
    }
}

impl Serialize for Element<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.item().kind {
            Kind::Null => serializer.serialize_unit(),
            Kind::Truth(value) => serializer.serialize_bool(value),
            Kind::Number => match Number::of(self.raw()) {
                Number::Unsigned(number) => serializer.serialize_u64(number),
                Number::Signed(number) => serializer.serialize_i64(number),
                Number::Float(number) => serializer.serialize_f64(number),
            },
            Kind::Text | Kind::Decoded => serializer.serialize_str(self.as_str().unwrap_or_default()),
            Kind::List => serializer.collect_seq(self.inside()),
            Kind::Object => serializer.collect_map(self.entries()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn value(element: Element<'_>) -> Value {
        serde_json::to_value(element).unwrap()
    }

    fn parsed(text: &str) -> Json<'_> {
        Json::parse(Cow::Borrowed(text.as_bytes()), true).unwrap()
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
    fn what_serde_json_refuses_is_refused() {
        let deep = format!("{}{}", "[".repeat(128), "]".repeat(128));
        let cases: [&[u8]; 21] = [
            b"",
            b"{",
            b"[1,]",
            b"{\"a\" 1}",
            b"{1: 2}",
            b"{} {}",
            b"01",
            b"-",
            b"-01",
            b"1.",
            b".5",
            b"1e",
            b"NaN",
            b"Infinity",
            b"1e999",
            b"\"\\x\"",
            b"\"\\ud800\"",
            b"[\"a\nb\"]",
            b"{\"a\": \"\xff\"}",
            b"[\xff]",
            deep.as_bytes(),
        ];
        for bytes in cases {
            assert!(serde_json::from_slice::<Value>(bytes).is_err());
            let refused = Json::parse(Cow::Borrowed(bytes), true).unwrap_err();
            assert!(matches!(refused.place, Place::Byte(_)), "{refused}");
        }
        let refused = Json::parse(Cow::Borrowed(deep.as_bytes()), true).unwrap_err().problem;
        assert!(matches!(refused, Problem::TooDeep { limit: DEEPEST }), "{refused:?}");
        // Up to that depth both read it.
        assert_eq!(
            value(parsed(&deep[1..255]).root()),
            serde_json::from_str::<Value>(&deep[1..255]).unwrap()
        );
        // A library's own rule may judge numbers beyond f64.
        let beyond = Json::parse(Cow::Borrowed(b"1e999"), false).unwrap();
        assert_eq!(beyond.root().as_number(), Some("1e999"));
    }

    #[test]
    fn values_can_be_copied_as_they_are_written() {
        let json = parsed(r#" {"a" : [ 1.50, "\u0061", -0 ] , "b":{ } } "#);
        let list: Vec<&str> = json.root().get("a").unwrap().elements().unwrap().map(Element::raw).collect();
        assert_eq!(list, ["1.50", r#""\u0061""#, "-0"]);
        assert_eq!(json.root().get("b").unwrap().raw(), "{ }");
        assert!(json.root().get("b").unwrap().is_empty() && !json.root().is_empty());
        assert_eq!(json.numbers_backwards().collect::<Vec<_>>(), ["-0", "1.50"]);
    }

    #[test]
    fn a_key_that_stands_twice_is_refused_wherever_it_stands() {
        for count in [1, 2, 23, 24, 25, 26, 100] {
            for first in [0, count / 2, count - 1] {
                let mut keys: Vec<String> =
                    (0..count).map(|key| format!(r#""k{key}": {{"k": 0}}"#)).collect();
                // A key written with an escape is the same key.
                keys.push(format!(r#""\u006b{first}": 1"#));
                let text = format!("[{{{}}}]", keys.join(", "));
                let problem = Json::parse(Cow::Borrowed(text.as_bytes()), true).unwrap_err().problem;
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
