//! JSON that keeps the text of its numbers and values, so that it can be read by another rule or
//! copied.

use std::collections::HashSet;

use crate::error::{FormatError, Place, Problem};

/// Levels of nesting; CatBoost's trees are at most 16 deep.
const DEEPEST: usize = 128;

/// A value, borrowed from its text.
#[derive(Debug)]
pub(super) enum Json<'a> {
    Null,
    Bool(bool),
    /// The number as it is written.
    Number(&'a str),
    Text(String),
    List(Vec<Json<'a>>),
    Object(Vec<Entry<'a>>),
}

/// One entry of an object.
#[derive(Debug)]
pub(super) struct Entry<'a> {
    pub(super) key: String,
    pub(super) value: Json<'a>,
    /// The text of the value.
    pub(super) raw: &'a str,
}

impl<'a> Json<'a> {
    /// Reads a whole text, strictly.
    pub(super) fn parse(bytes: &'a [u8]) -> Result<Self, FormatError> {
        let text = std::str::from_utf8(bytes).map_err(|error| {
            let found = "other bytes".to_owned();
            let place = Place::Byte(error.valid_up_to() as u64);
            FormatError::new(place, Problem::Syntax { expected: "UTF-8 text", found })
        })?;
        let mut reader = Reader { text, at: 0 };
        let value = reader.value(0)?;
        reader.blank();
        if reader.at < text.len() {
            // CatBoost ignores bytes after the end, but they may have been meant as part of the
            // model.
            return reader.expected("the end of the file");
        }
        Ok(value)
    }

    /// The entry of an object.
    pub(super) fn get(&self, key: &str) -> Option<&Self> {
        match self {
            Self::Object(entries) => entries.iter().find(|entry| entry.key == key).map(|entry| &entry.value),
            _ => None,
        }
    }

    /// The elements of a list.
    pub(super) fn list(&self) -> Option<&[Self]> {
        match self {
            Self::List(values) => Some(values),
            _ => None,
        }
    }

    /// The entries of an object.
    pub(super) fn entries(&self) -> Option<&[Entry<'a>]> {
        match self {
            Self::Object(entries) => Some(entries),
            _ => None,
        }
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn blank(&mut self) {
        self.at = self.text.len() - self.rest().trim_start_matches([' ', '\n', '\r', '\t']).len();
    }

    fn fail<T>(&self, problem: Problem) -> Result<T, FormatError> {
        Err(FormatError::new(Place::Byte(self.at as u64), problem))
    }

    fn expected<T>(&self, expected: &'static str) -> Result<T, FormatError> {
        match self.rest().chars().next() {
            Some(found) => self.fail(Problem::Syntax { expected, found: format!("{found:?}") }),
            None => self.fail(Problem::Truncated { inside: "the JSON text" }),
        }
    }

    fn peek(&mut self) -> Option<u8> {
        self.blank();
        self.text.as_bytes().get(self.at).copied()
    }

    fn take(&mut self, byte: u8, expected: &'static str) -> Result<(), FormatError> {
        if self.peek() != Some(byte) {
            return self.expected(expected);
        }
        self.at += 1;
        Ok(())
    }

    fn value(&mut self, depth: usize) -> Result<Json<'a>, FormatError> {
        if depth > DEEPEST {
            return self.fail(Problem::TooDeep { limit: DEEPEST });
        }
        match self.peek() {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.list(depth),
            Some(b'"') => self.string().map(Json::Text),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => {
                let words = [("null", Json::Null), ("true", Json::Bool(true)), ("false", Json::Bool(false))];
                for (word, value) in words {
                    if self.rest().starts_with(word) {
                        self.at += word.len();
                        return Ok(value);
                    }
                }
                self.expected("a JSON value")
            }
        }
    }

    fn object(&mut self, depth: usize) -> Result<Json<'a>, FormatError> {
        self.at += 1;
        let mut entries: Vec<Entry<'a>> = Vec::new();
        let mut seen = HashSet::new();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(Json::Object(entries));
        }
        loop {
            if self.peek() != Some(b'"') {
                return self.expected("a key");
            }
            let key = self.string()?;
            if !seen.insert(key.clone()) {
                return self.fail(Problem::DuplicateKey { key });
            }
            self.take(b':', "`:`")?;
            self.blank();
            let start = self.at;
            let value = self.value(depth + 1)?;
            entries.push(Entry { key, value, raw: &self.text[start..self.at] });
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => {
                    self.at += 1;
                    return Ok(Json::Object(entries));
                }
                _ => return self.expected("`,` or `}`"),
            }
        }
    }

    fn list(&mut self, depth: usize) -> Result<Json<'a>, FormatError> {
        self.at += 1;
        let mut values = Vec::new();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(Json::List(values));
        }
        loop {
            values.push(self.value(depth + 1)?);
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => {
                    self.at += 1;
                    return Ok(Json::List(values));
                }
                _ => return self.expected("`,` or `]`"),
            }
        }
    }

    fn string(&mut self) -> Result<String, FormatError> {
        let start = self.at;
        let bytes = self.text.as_bytes();
        let mut end = start + 1;
        loop {
            match bytes.get(end) {
                Some(b'"') => break,
                Some(b'\\') => end += 2,
                Some(_) => end += 1,
                None => {
                    self.at = bytes.len();
                    return self.expected("the end of a text");
                }
            }
        }
        // Escapes follow the JSON standard.
        match serde_json::from_str(&self.text[start..=end]) {
            Ok(text) => {
                self.at = end + 1;
                Ok(text)
            }
            Err(_) => self.expected("a text"),
        }
    }

    fn number(&mut self) -> Result<Json<'a>, FormatError> {
        let bytes = self.text.as_bytes();
        let start = self.at;
        let digits = |at: &mut usize| {
            let from = *at;
            while bytes.get(*at).is_some_and(u8::is_ascii_digit) {
                *at += 1;
            }
            *at > from
        };
        let mut at = start + usize::from(bytes[start] == b'-');
        let leading_zero = bytes.get(at) == Some(&b'0') && bytes.get(at + 1).is_some_and(u8::is_ascii_digit);
        let mut good = digits(&mut at) && !leading_zero;
        if bytes.get(at) == Some(&b'.') {
            at += 1;
            good &= digits(&mut at);
        }
        if matches!(bytes.get(at), Some(b'e' | b'E')) {
            at += 1;
            at += usize::from(matches!(bytes.get(at), Some(b'+' | b'-')));
            good &= digits(&mut at);
        }
        if !good {
            return self.expected("a number");
        }
        self.at = at;
        Ok(Json::Number(&self.text[start..at]))
    }
}
