//! JSON, read where it stands: one scanner for all formats, and the values of a text as a list
//! ([`tape`]).
//!
//! XGBoost's reader walks over a document with the scanner and builds no values; the readers of
//! CatBoost and scikit-learn use the list. Every error names the byte.

pub(crate) mod tape;

use std::borrow::Cow;
use std::collections::HashSet;

use crate::error::{FormatError, Place, Problem};

/// How numbers may be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Numbers {
    /// As in the JSON standard.
    Standard,
    /// As XGBoost reads them: `NaN`, `Infinity`, zeros at the front and a point at the end are
    /// allowed.
    XgBoost,
}

/// A position in a text.
pub(crate) struct Scanner<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) at: usize,
    depth: usize,
    /// The deepest nesting that is accepted.
    deepest: usize,
    numbers: Numbers,
}

impl<'a> Scanner<'a> {
    pub(crate) fn new(bytes: &'a [u8], numbers: Numbers, deepest: usize) -> Self {
        Self { bytes, at: 0, depth: 0, deepest, numbers }
    }

    pub(crate) fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// The next byte that is not white space.
    pub(crate) fn next(&mut self) -> Option<u8> {
        loop {
            match self.peek() {
                Some(b' ' | b'\n' | b'\r' | b'\t') => self.at += 1,
                other => return other,
            }
        }
    }

    /// The error for what is found here instead.
    pub(crate) fn expected<T>(&self, expected: &'static str) -> Result<T, FormatError> {
        let rest = &self.bytes[self.at.min(self.bytes.len())..];
        if rest.is_empty() {
            return fail(self.at, Problem::Truncated { inside: "the JSON text" });
        }
        let length = rest.iter().position(|b| b",]}\n".contains(b)).unwrap_or(rest.len()).clamp(1, 24);
        let found = format!("`{}`", String::from_utf8_lossy(&rest[..length]));
        fail(self.at, Problem::Syntax { expected, found })
    }

    pub(crate) fn take(&mut self, byte: u8, expected: &'static str) -> Result<(), FormatError> {
        if self.next() != Some(byte) {
            return self.expected(expected);
        }
        self.at += 1;
        Ok(())
    }

    /// After an element: true if another one follows, false after the closing bracket.
    fn another(&mut self, close: u8, expected: &'static str) -> Result<bool, FormatError> {
        match self.next() {
            Some(b',') => self.at += 1,
            Some(byte) if byte == close => {
                self.at += 1;
                return Ok(false);
            }
            _ => return self.expected(expected),
        }
        Ok(true)
    }

    /// Enters one more level of nesting.
    fn enter(&mut self, at: usize) -> Result<(), FormatError> {
        self.depth += 1;
        if self.depth > self.deepest { fail(at, Problem::TooDeep { limit: self.deepest }) } else { Ok(()) }
    }

    /// Calls `each` before every element of an array, which does not count as a level of nesting:
    /// the elements hold no others.
    #[inline]
    pub(crate) fn flat(
        &mut self,
        mut each: impl FnMut(&mut Self) -> Result<(), FormatError>,
    ) -> Result<(), FormatError> {
        self.take(b'[', "an array")?;
        if self.next() == Some(b']') {
            self.at += 1;
            return Ok(());
        }
        loop {
            self.next();
            each(self)?;
            if !self.another(b']', "`,` or `]`")? {
                return Ok(());
            }
        }
    }

    /// Calls `each` before every element of an array.
    pub(crate) fn array(
        &mut self,
        each: impl FnMut(&mut Self) -> Result<(), FormatError>,
    ) -> Result<(), FormatError> {
        self.next();
        self.enter(self.at)?;
        self.flat(each)?;
        self.depth -= 1;
        Ok(())
    }

    /// Calls `each` before every value of an object, with its key and where that begins. Keys that
    /// stand twice are refused.
    pub(crate) fn object(
        &mut self,
        mut each: impl FnMut(&mut Self, Cow<'a, str>, usize) -> Result<(), FormatError>,
    ) -> Result<(), FormatError> {
        self.take(b'{', "an object")?;
        self.enter(self.at)?;
        let mut keys = Keys::default();
        let mut more = self.next() != Some(b'}');
        self.at += usize::from(!more);
        while more {
            self.take(b'"', "a key in quotes")?;
            let at = self.at - 1;
            let key = self.rest_of_string()?;
            keys.add(key.clone(), at)?;
            self.take(b':', "`:`")?;
            each(self, key, at)?;
            more = self.another(b'}', "`,` or `}`")?;
        }
        self.depth -= 1;
        Ok(())
    }

    pub(crate) fn string(&mut self) -> Result<Cow<'a, str>, FormatError> {
        self.take(b'"', "a string")?;
        self.rest_of_string()
    }

    /// Checks that only the end of the text follows.
    pub(crate) fn end(&mut self) -> Result<(), FormatError> {
        match self.next() {
            None => Ok(()),
            Some(_) => self.expected("the end of the file"),
        }
    }

    fn digits(&mut self) -> usize {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        self.at - start
    }

    pub(crate) fn word(&mut self, word: &'static str) -> bool {
        let found = self.bytes[self.at..].starts_with(word.as_bytes());
        self.at += if found { word.len() } else { 0 };
        found
    }

    /// Skips a number; true if it has a point or an exponent, or is no finite number.
    pub(crate) fn number(&mut self) -> Result<bool, FormatError> {
        let start = self.at;
        let strict = self.numbers == Numbers::Standard;
        let restart = |json: &mut Self| {
            if json.peek().is_some() {
                json.at = start;
            }
            json.expected("a number")
        };
        if !strict && self.word("NaN") {
            return Ok(true);
        }
        self.at += usize::from(self.peek() == Some(b'-'));
        if !strict && self.word("Infinity") {
            return Ok(true);
        }
        let zero = self.peek() == Some(b'0');
        let digits = self.digits();
        if digits == 0 || strict && zero && digits > 1 {
            return restart(self);
        }
        let mut float = false;
        if self.peek() == Some(b'.') {
            float = true;
            self.at += 1;
            if self.digits() == 0 && strict {
                return restart(self);
            }
        }
        if let Some(b'e' | b'E') = self.peek() {
            float = true;
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            if self.digits() == 0 {
                return restart(self);
            }
        }
        Ok(float)
    }

    /// The text after an opening quote, up to and including the closing one.
    fn rest_of_string(&mut self) -> Result<Cow<'a, str>, FormatError> {
        let start = self.at;
        let mut decoded: Option<Vec<u8>> = None;
        loop {
            let from = self.at;
            while self.peek().is_some_and(|byte| byte != b'"' && byte != b'\\' && byte >= 0x20) {
                self.at += 1;
            }
            let piece = &self.bytes[from..self.at];
            if let Some(decoded) = &mut decoded {
                decoded.extend_from_slice(piece);
            }
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => {
                    let text = decoded.get_or_insert_with(|| piece.to_vec());
                    self.at += 1;
                    let mut buffer = [0; 4];
                    text.extend_from_slice(self.escape()?.encode_utf8(&mut buffer).as_bytes());
                }
                Some(_) => return self.expected("a character that may stand in a string"),
                None => return fail(self.at, Problem::Truncated { inside: "a string" }),
            }
        }
        let raw = &self.bytes[start..self.at];
        self.at += 1;
        let text = match decoded {
            Some(decoded) => String::from_utf8(decoded).ok().map(Cow::Owned),
            None => std::str::from_utf8(raw).ok().map(Cow::Borrowed),
        };
        match text {
            Some(text) => Ok(text),
            None => {
                let found = String::from_utf8_lossy(&raw[..raw.len().min(24)]).into_owned();
                fail(start, Problem::Syntax { expected: "text in UTF-8", found })
            }
        }
    }

    fn escape(&mut self) -> Result<char, FormatError> {
        let at = self.at;
        let kind = self.peek();
        self.at += 1;
        Ok(match kind {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                let mut units = vec![self.hex()?];
                if (0xd800..0xdc00).contains(&units[0]) && self.word("\\u") {
                    units.push(self.hex()?);
                }
                match char::decode_utf16(units).collect::<Result<Vec<_>, _>>().as_deref() {
                    Ok([character]) => *character,
                    _ => {
                        self.at = at;
                        return self.expected("a character");
                    }
                }
            }
            _ => {
                self.at = at.min(self.bytes.len());
                return self.expected("an escape");
            }
        })
    }

    fn hex(&mut self) -> Result<u16, FormatError> {
        let digits = self.bytes.get(self.at..self.at + 4).and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.filter(|text| text.bytes().all(|byte| byte.is_ascii_hexdigit())) {
            Some(text) => {
                self.at += 4;
                Ok(u16::from_str_radix(text, 16).expect("four hexadecimal digits"))
            }
            None => self.expected("four hexadecimal digits"),
        }
    }
}

/// An error at a byte.
pub(crate) fn fail<T>(at: usize, problem: Problem) -> Result<T, FormatError> {
    Err(FormatError::new(Place::Byte(at as u64), problem))
}

/// The keys of one object that were read until now.
#[derive(Default)]
pub(crate) struct Keys<'a> {
    few: Vec<Cow<'a, str>>,
    many: HashSet<Cow<'a, str>>,
}

impl<'a> Keys<'a> {
    /// Up to this number of keys, walking over the list is faster than hashing.
    const FEW: usize = 24;

    pub(crate) fn add(&mut self, key: Cow<'a, str>, at: usize) -> Result<(), FormatError> {
        if self.few.contains(&key) || self.many.contains(&key) {
            return fail(at, Problem::DuplicateKey { key: key.into_owned() });
        }
        if self.few.len() < Self::FEW {
            self.few.push(key);
        } else {
            self.many.insert(key);
        }
        Ok(())
    }
}
