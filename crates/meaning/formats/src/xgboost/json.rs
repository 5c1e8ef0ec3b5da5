//! XGBoost's JSON, read as the library reads it: `NaN` and `Infinity` are numbers; a float must
//! have a point or an exponent, an integer must not. Floats are parsed from their text directly to
//! f32.

use std::borrow::Cow;

use super::source::{Element, EndPosition, Entry, MAX_DEPTH, Source, narrow};
use crate::error::FormatError;
use crate::json::{Numbers, Scanner};

/// A reader of a whole document.
pub(super) fn json(bytes: &[u8]) -> Scanner<'_> {
    Scanner::new(bytes, Numbers::XgBoost, MAX_DEPTH)
}

fn float_token<'a>(scan: &mut Scanner<'a>) -> Result<&'a [u8], FormatError> {
    let start = scan.at;
    if !scan.number()? {
        scan.at = start;
        return scan.expected("a number with a point or an exponent");
    }
    Ok(&scan.bytes[start..scan.at])
}

fn float(scan: &mut Scanner<'_>) -> Result<f32, FormatError> {
    let at = scan.at;
    let token = float_token(scan)?;
    // Rust's own grammar also has "NaN", "Infinity" and "-Infinity".
    match std::str::from_utf8(token).ok().and_then(|text| text.parse().ok()) {
        Some(value) => Ok(value),
        None => {
            scan.at = at;
            scan.expected("a number")
        }
    }
}

fn whole(scan: &mut Scanner<'_>) -> Result<i64, FormatError> {
    let start = scan.at;
    let negative = scan.peek() == Some(b'-');
    scan.at += usize::from(negative);
    let mut value: i64 = 0;
    let first = scan.at;
    while let Some(digit @ b'0'..=b'9') = scan.peek() {
        let digit = i64::from(digit - b'0');
        match value.checked_mul(10).and_then(|value| value.checked_sub(digit)) {
            Some(next) => value = next,
            None => {
                scan.at = start;
                return scan.expected("a 64-bit integer");
            }
        }
        scan.at += 1;
    }
    let ended = !matches!(scan.peek(), Some(b'.' | b'e' | b'E'));
    match if negative { Some(value) } else { value.checked_neg() } {
        Some(value) if ended && scan.at > first => Ok(value),
        _ => {
            if scan.peek().is_some() {
                scan.at = start;
            }
            scan.expected("an integer")
        }
    }
}

impl EndPosition for Scanner<'_> {
    fn end_position(&self) -> usize {
        self.at
    }
}

impl<'a> Source<'a> for Scanner<'a> {
    fn position(&mut self) -> usize {
        self.next();
        self.at
    }

    fn seek(&mut self, position: usize) {
        self.at = position;
    }

    fn object(&mut self, visit: &mut Entry<'_, Self>) -> Result<(), FormatError> {
        Scanner::object(self, |scan, key, at| visit(scan, &key, at))
    }

    fn array(&mut self, visit: &mut Element<'_, Self>) -> Result<(), FormatError> {
        Scanner::array(self, visit)
    }

    fn string(&mut self) -> Result<Cow<'a, str>, FormatError> {
        Scanner::string(self)
    }

    fn integer(&mut self) -> Result<i64, FormatError> {
        self.next();
        whole(self)
    }

    fn integers<T: TryFrom<i64>>(&mut self, out: &mut Vec<T>) -> Result<(), FormatError> {
        self.flat(|scan| {
            let at = scan.at;
            out.push(narrow(whole(scan)?, at)?);
            Ok(())
        })
    }

    fn floats(&mut self, out: &mut Vec<f32>) -> Result<(), FormatError> {
        self.flat(|scan| {
            out.push(float(scan)?);
            Ok(())
        })
    }

    fn count_floats(&mut self) -> Result<usize, FormatError> {
        let mut count = 0;
        self.flat(|scan| {
            float_token(scan)?;
            count += 1;
            Ok(())
        })?;
        Ok(count)
    }

    fn skip(&mut self) -> Result<(), FormatError> {
        match self.next() {
            Some(b'{') => Scanner::object(self, |scan, _, _| scan.skip()),
            Some(b'[') => Scanner::array(self, |scan| scan.skip()),
            Some(b'"') => Scanner::string(self).map(|_| ()),
            Some(b'-' | b'0'..=b'9' | b'N' | b'I') => self.number().map(|_| ()),
            _ if self.word("true") || self.word("false") || self.word("null") => Ok(()),
            _ => self.expected("a value"),
        }
    }

    fn end(&mut self) -> Result<(), FormatError> {
        Scanner::end(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn floats(text: &str) -> Result<Vec<f32>, FormatError> {
        let mut out = Vec::new();
        json(text.as_bytes()).floats(&mut out).map(|()| out)
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
            assert!(json(text.as_bytes()).integers(&mut out).is_err(), "{text}");
        }
        assert!(json(b"[-9223372036854775808,9223372036854775807]").integers::<i64>(&mut vec![]).is_ok());
    }

    #[test]
    fn strings_lose_their_escapes() {
        let read = |text: &'static str| json(text.as_bytes()).string().map(Cow::into_owned);
        assert_eq!(read(r#""plain \u00e9""#).unwrap(), "plain é");
        assert_eq!(read(r#""\"\\\/\b\f\n\r\t\u0041\ud83d\ude00""#).unwrap(), "\"\\/\u{8}\u{c}\n\r\tA😀");
        for text in [r#""\ud83d""#, r#""\x""#, r#""\u00g0""#, "\"a\nb\"", "\"open", r#""\"#, r#""\u1"#] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn nesting_and_repeated_keys_are_refused() {
        let deep = "[".repeat(100_000);
        let message = json(deep.as_bytes()).skip().unwrap_err().to_string();
        assert!(message.contains("nested deeper"), "{message}");
        let message = json(br#"{"a":1, "a":2}"#).skip().unwrap_err().to_string();
        assert_eq!(message, r#"byte 8: the key "a" stands here twice"#);
        let many: Vec<String> = (0..1000).map(|key| format!("\"{key}\":0")).collect();
        assert!(json(format!("{{{}}}", many.join(",")).as_bytes()).skip().is_ok());
        let twice = format!("{{{},\"999\":1}}", many.join(","));
        assert!(json(twice.as_bytes()).skip().is_err());
    }
}
