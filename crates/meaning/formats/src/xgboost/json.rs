//! XGBoost's JSON, read as the library reads it: `NaN` and `Infinity` are numbers; a float must
//! have a point or an exponent, an integer must not. Floats are parsed from their text directly to
//! f32.

use std::borrow::Cow;

use super::source::{Element, EndPosition, Entry, Keys, Source, deeper, fail, narrow};
use crate::error::{FormatError, Problem};

pub(super) struct Json<'a> {
    bytes: &'a [u8],
    at: usize,
    depth: usize,
}

impl<'a> Json<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, depth: 0 }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// The next byte that is not white space.
    fn next(&mut self) -> Option<u8> {
        loop {
            match self.peek() {
                Some(b' ' | b'\n' | b'\r' | b'\t') => self.at += 1,
                other => return other,
            }
        }
    }

    /// The error for what is found here instead.
    fn expected<T>(&self, expected: &'static str) -> Result<T, FormatError> {
        let rest = &self.bytes[self.at.min(self.bytes.len())..];
        if rest.is_empty() {
            return fail(self.at, Problem::Truncated { inside: "the JSON text" });
        }
        let length = rest.iter().position(|b| b",]}\n".contains(b)).unwrap_or(rest.len()).clamp(1, 24);
        let found = format!("`{}`", String::from_utf8_lossy(&rest[..length]));
        fail(self.at, Problem::Syntax { expected, found })
    }

    fn take(&mut self, byte: u8, expected: &'static str) -> Result<(), FormatError> {
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

    /// Calls `each` before every element. Unlike [`Source::array`] it has no dynamic dispatch,
    /// because arrays of numbers are most of a file.
    #[inline]
    fn elements(
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

    fn digits(&mut self) -> usize {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        self.at - start
    }

    fn word(&mut self, word: &'static str) -> bool {
        let found = self.bytes[self.at..].starts_with(word.as_bytes());
        self.at += if found { word.len() } else { 0 };
        found
    }

    /// Skips a number; true if it is a float.
    fn number(&mut self) -> Result<bool, FormatError> {
        let start = self.at;
        let restart = |json: &mut Self, expected| {
            if json.peek().is_some() {
                json.at = start;
            }
            json.expected(expected)
        };
        if self.word("NaN") {
            return Ok(true);
        }
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        if self.word("Infinity") {
            return Ok(true);
        }
        if self.digits() == 0 {
            return restart(self, "a number");
        }
        let mut float = false;
        if self.peek() == Some(b'.') {
            float = true;
            self.at += 1;
            self.digits();
        }
        if let Some(b'e' | b'E') = self.peek() {
            float = true;
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            if self.digits() == 0 {
                return restart(self, "a number");
            }
        }
        Ok(float)
    }

    fn float_token(&mut self) -> Result<&'a [u8], FormatError> {
        let start = self.at;
        if !self.number()? {
            self.at = start;
            return self.expected("a number with a point or an exponent");
        }
        Ok(&self.bytes[start..self.at])
    }

    fn float(&mut self) -> Result<f32, FormatError> {
        let at = self.at;
        let token = self.float_token()?;
        // Rust's own grammar also has "NaN", "Infinity" and "-Infinity".
        match std::str::from_utf8(token).ok().and_then(|text| text.parse().ok()) {
            Some(value) => Ok(value),
            None => {
                self.at = at;
                self.expected("a number")
            }
        }
    }

    fn whole(&mut self) -> Result<i64, FormatError> {
        let start = self.at;
        let negative = self.peek() == Some(b'-');
        self.at += usize::from(negative);
        let mut value: i64 = 0;
        let first = self.at;
        while let Some(digit @ b'0'..=b'9') = self.peek() {
            let digit = i64::from(digit - b'0');
            match value.checked_mul(10).and_then(|value| value.checked_sub(digit)) {
                Some(next) => value = next,
                None => {
                    self.at = start;
                    return self.expected("a 64-bit integer");
                }
            }
            self.at += 1;
        }
        let ended = !matches!(self.peek(), Some(b'.' | b'e' | b'E'));
        match if negative { Some(value) } else { value.checked_neg() } {
            Some(value) if ended && self.at > first => Ok(value),
            _ => {
                if self.peek().is_some() {
                    self.at = start;
                }
                self.expected("an integer")
            }
        }
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

impl EndPosition for Json<'_> {
    fn end_position(&self) -> usize {
        self.at
    }
}

impl<'a> Source<'a> for Json<'a> {
    fn position(&mut self) -> usize {
        self.next();
        self.at
    }

    fn seek(&mut self, position: usize) {
        self.at = position;
    }

    fn object(&mut self, visit: &mut Entry<'_, Self>) -> Result<(), FormatError> {
        self.take(b'{', "an object")?;
        deeper(&mut self.depth, self.at)?;
        let mut keys = Keys::default();
        let mut more = self.next() != Some(b'}');
        self.at += usize::from(!more);
        while more {
            self.take(b'"', "a key in quotes")?;
            let at = self.at - 1;
            let key = self.rest_of_string()?;
            keys.add(key.clone(), at)?;
            self.take(b':', "`:`")?;
            visit(self, &key, at)?;
            more = self.another(b'}', "`,` or `}`")?;
        }
        self.depth -= 1;
        Ok(())
    }

    fn array(&mut self, visit: &mut Element<'_, Self>) -> Result<(), FormatError> {
        let at = self.position();
        deeper(&mut self.depth, at)?;
        self.elements(visit)?;
        self.depth -= 1;
        Ok(())
    }

    fn string(&mut self) -> Result<Cow<'a, str>, FormatError> {
        self.take(b'"', "a string")?;
        self.rest_of_string()
    }

    fn integer(&mut self) -> Result<i64, FormatError> {
        self.next();
        self.whole()
    }

    fn integers<T: TryFrom<i64>>(&mut self, out: &mut Vec<T>) -> Result<(), FormatError> {
        self.elements(|json| {
            let at = json.at;
            out.push(narrow(json.whole()?, at)?);
            Ok(())
        })
    }

    fn floats(&mut self, out: &mut Vec<f32>) -> Result<(), FormatError> {
        self.elements(|json| {
            out.push(json.float()?);
            Ok(())
        })
    }

    fn count_floats(&mut self) -> Result<usize, FormatError> {
        let mut count = 0;
        self.elements(|json| {
            json.float_token()?;
            count += 1;
            Ok(())
        })?;
        Ok(count)
    }

    fn skip(&mut self) -> Result<(), FormatError> {
        match self.next() {
            Some(b'{') => self.object(&mut |json, _, _| json.skip()),
            Some(b'[') => self.array(&mut |json| json.skip()),
            Some(b'"') => self.string().map(|_| ()),
            Some(b'-' | b'0'..=b'9' | b'N' | b'I') => self.number().map(|_| ()),
            _ if self.word("true") || self.word("false") || self.word("null") => Ok(()),
            _ => self.expected("a value"),
        }
    }

    fn end(&mut self) -> Result<(), FormatError> {
        match self.next() {
            None => Ok(()),
            Some(_) => self.expected("the end of the file"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn floats(text: &str) -> Result<Vec<f32>, FormatError> {
        let mut out = Vec::new();
        Json::new(text.as_bytes()).floats(&mut out).map(|()| out)
    }

    #[test]
    fn floats_are_those_of_the_library() {
        let read = floats("[ 1.0,-1.25E-1 ,01.5,1.,1e39,Infinity,-Infinity, 1E-45,-0E0]").unwrap();
        let expected =
            [1.0, -0.125, 1.5, 1.0, f32::INFINITY, f32::INFINITY, f32::NEG_INFINITY, f32::from_bits(1), -0.0];
        assert_eq!(read.iter().map(|v| v.to_bits()).collect::<Vec<_>>(), expected.map(f32::to_bits));
        assert!(floats("[NaN]").unwrap()[0].is_nan());
        // Parsing through f64 would round this to even, and down.
        assert_eq!(floats("[1.00000005960464477540]").unwrap()[0], 1.0f32.next_up());
    }

    #[test]
    fn what_the_library_refuses_is_refused() {
        for text in ["[1]", "[.5]", "[+1.0]", "[1.0", "[1.0,]", "[1.0 2.0]", "[1e]", "[-]", "[nan]", "[true]"]
        {
            assert!(floats(text).is_err(), "{text}");
        }
        let mut out = Vec::<i32>::new();
        for text in ["[1.0]", "[1e3]", "[2147483648]", "[99999999999999999999]", "[--1]", "[-]"] {
            assert!(Json::new(text.as_bytes()).integers(&mut out).is_err(), "{text}");
        }
        assert!(
            Json::new(b"[-9223372036854775808,9223372036854775807]").integers::<i64>(&mut vec![]).is_ok()
        );
    }

    #[test]
    fn strings_lose_their_escapes() {
        let read = |text: &'static str| Json::new(text.as_bytes()).string().map(Cow::into_owned);
        assert_eq!(read(r#""plain \u00e9""#).unwrap(), "plain é");
        assert_eq!(read(r#""\"\\\/\b\f\n\r\t\u0041\ud83d\ude00""#).unwrap(), "\"\\/\u{8}\u{c}\n\r\tA😀");
        for text in [r#""\ud83d""#, r#""\x""#, r#""\u00g0""#, "\"a\nb\"", "\"open", r#""\"#, r#""\u1"#] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn nesting_and_repeated_keys_are_refused() {
        let deep = "[".repeat(100_000);
        let message = Json::new(deep.as_bytes()).skip().unwrap_err().to_string();
        assert!(message.contains("nested deeper"), "{message}");
        let message = Json::new(br#"{"a":1, "a":2}"#).skip().unwrap_err().to_string();
        assert_eq!(message, r#"byte 8: the key "a" stands here twice"#);
        let many: Vec<String> = (0..1000).map(|key| format!("\"{key}\":0")).collect();
        assert!(Json::new(format!("{{{}}}", many.join(",")).as_bytes()).skip().is_ok());
        let twice = format!("{{{},\"999\":1}}", many.join(","));
        assert!(Json::new(twice.as_bytes()).skip().is_err());
    }
}
