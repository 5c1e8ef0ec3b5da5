//! Reads an emitted file: the lines of its language's template, byte by byte, with the numbers and
//! tables in them.
//!
//! This is the checker's own reader; the writer is `secateur-emit`. It accepts one spelling of each
//! number and only the lines of the template, so a compiler sees nothing in the file that the
//! reader has not checked.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use secateur_certificate::Digest;
use secateur_model::NumberType;

use super::text::{
    self, Entries, Head, Language, Line, Piece, first_line, is_name, part, table_end, table_start, unsigned,
};
use super::wasm;

/// Why a file is not one that `secateur-emit` writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// The line, counted from 1; 0 in a file that has none.
    pub line: usize,
    /// What is wrong there.
    pub what: String,
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => f.write_str(&self.what),
            line => write!(f, "line {line}: {}", self.what),
        }
    }
}

/// A table of numbers.
#[derive(Clone, Debug)]
pub(super) enum Table {
    Integers(Vec<u32>),
    Signed(Vec<i32>),
    Floats(Vec<f64>),
}

/// An emitted file.
#[derive(Clone, Debug)]
pub struct SourceFile {
    pub(super) head: Head,
    pub(super) source: Digest,
    pub(super) numbers: BTreeMap<&'static str, String>,
    pub(super) tables: BTreeMap<&'static str, Table>,
}

impl SourceFile {
    /// Does this start as an emitted file does?
    pub fn is_one(bytes: &[u8]) -> bool {
        let text = |language| bytes.starts_with(first_line(language).as_bytes());
        bytes.starts_with(wasm::MAGIC) || Language::TEXTS.into_iter().any(text)
    }

    /// Reads a file.
    pub fn parse(bytes: &[u8]) -> Result<Self, Unreadable> {
        if bytes.starts_with(wasm::MAGIC) {
            return wasm::parse(bytes);
        }
        let text = match std::str::from_utf8(bytes) {
            Ok(text) if text.is_ascii() => text,
            _ => {
                return Err(Unreadable { line: 1, what: "the file has bytes that are not ASCII".to_owned() });
            }
        };
        let Some(text) = text.strip_suffix('\n') else {
            return Err(Unreadable { line: 1, what: "the file does not end with a line".to_owned() });
        };
        let mut lines = Lines { lines: text.split('\n'), at: 0 };
        let (head, source) = head(&mut lines, &Language::TEXTS)?;
        let mut file = Self { head, source, numbers: BTreeMap::new(), tables: BTreeMap::new() };
        for line in text::lines(&file.head) {
            match line {
                Line::Text(pieces) => file.text_line(&pieces, &mut lines)?,
                Line::Table { name, entries } => file.table(name, entries, &mut lines)?,
            }
        }
        match lines.next() {
            Err(_) => Ok(file),
            Ok(_) => Err(lines.wrong("nothing should follow the last line of the template")),
        }
    }

    fn text_line(&mut self, pieces: &[Piece], lines: &mut Lines<'_>) -> Result<(), Unreadable> {
        let mut rest = lines.next()?;
        for piece in pieces {
            match piece {
                Piece::Text(text) => {
                    rest = rest.strip_prefix(text.as_str()).ok_or_else(|| {
                        lines.wrong(
                            "the line is not that of the template, which has the code of every such file",
                        )
                    })?;
                }
                Piece::Number(name) => {
                    let is_part =
                        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'+' | b'-');
                    let end = rest.bytes().position(|byte| !is_part(byte)).unwrap_or(rest.len());
                    let (token, behind) = rest.split_at(end);
                    if *self.numbers.entry(name).or_insert_with(|| token.to_owned()) != token {
                        return Err(lines.wrong("the number is not the one that was there before"));
                    }
                    rest = behind;
                }
            }
        }
        if rest.is_empty() {
            Ok(())
        } else {
            Err(lines.wrong("the line goes on behind that of the template"))
        }
    }

    fn table(
        &mut self,
        name: &'static str,
        entries: Entries,
        lines: &mut Lines<'_>,
    ) -> Result<(), Unreadable> {
        let language = self.head.language;
        let first = lines.next()?;
        let count = count_of(first).ok_or_else(|| lines.wrong("a table should start here"))?;
        let kinds = match entries {
            Entries::Float(number) => vec![(language.float(number), 0)],
            Entries::Key(number) => vec![(language.key(number), 0)],
            Entries::Signed => vec![(language.signed(), 0)],
            Entries::Unsigned => unsigned(language).to_vec(),
            Entries::Half => unsigned(language)[1..2].to_vec(),
            Entries::Word => unsigned(language)[2..].to_vec(),
        };
        let kind = kinds.into_iter().find(|(kind, _)| table_start(&self.head, name, kind, count) == first);
        let Some((_, most)) = kind else {
            return Err(lines.wrong(&format!("the table {name} should start here")));
        };
        let mut table = match entries {
            Entries::Float(_) | Entries::Key(_) => Table::Floats(Vec::new()),
            Entries::Signed => Table::Signed(Vec::new()),
            Entries::Unsigned | Entries::Half | Entries::Word => Table::Integers(Vec::new()),
        };
        let mut found = 0;
        loop {
            let line = lines.next()?;
            if line == table_end(language) {
                break;
            }
            let Some(line) = line.strip_suffix(',') else {
                return Err(lines.wrong("a line of a table ends with a comma"));
            };
            for token in line.split(", ") {
                let read = match (&mut table, entries) {
                    (Table::Floats(values), Entries::Float(number)) => {
                        float(language, token, number).map(|value| values.push(value))
                    }
                    (Table::Floats(values), Entries::Key(number)) => {
                        key(language, token, number).map(|value| values.push(value))
                    }
                    (Table::Signed(values), _) => signed(token).map(|value| values.push(value)),
                    (Table::Integers(values), _) => {
                        let value = integer(token).filter(|&value| u64::from(value) <= most);
                        value.map(|value| values.push(value))
                    }
                    (Table::Floats(_), _) => None,
                };
                read.ok_or_else(|| lines.wrong(&format!("{token:?} is not a number of this table")))?;
                found += 1;
            }
        }
        if count == 0 || found != count {
            return Err(lines.wrong(&format!("the table {name} has not as many numbers as it says")));
        }
        self.tables.insert(name, table);
        Ok(())
    }
}

struct Lines<'a> {
    lines: std::str::Split<'a, char>,
    at: usize,
}

impl<'a> Lines<'a> {
    fn next(&mut self) -> Result<&'a str, Unreadable> {
        self.at += 1;
        let line = self.lines.next();
        line.ok_or_else(|| self.wrong("the file ends too early"))
    }

    fn wrong(&self, what: &str) -> Unreadable {
        // The message quotes words of the file, which may be as long as the file.
        Unreadable { line: self.at, what: what.chars().take(200).collect() }
    }
}

/// Reads a text that consists of a head comment only, in one of these languages.
pub(super) fn commented(text: &str, languages: &[Language]) -> Result<(Head, Digest), Unreadable> {
    let mut lines = Lines { lines: text.split('\n'), at: 0 };
    let read = head(&mut lines, languages)?;
    match (lines.next(), lines.next()) {
        (Ok(""), Err(_)) => Ok(read),
        _ => Err(lines.wrong("nothing should follow the comment")),
    }
}

/// The comment at the head: name, parts and source, then lines that only people read.
fn head(lines: &mut Lines<'_>, languages: &[Language]) -> Result<(Head, Digest), Unreadable> {
    let first = lines.next()?;
    let language = languages.iter().copied().find(|&language| first == first_line(language));
    let language = language.ok_or_else(|| lines.wrong("this is not a file that secateur emits"))?;
    let field = |lines: &mut Lines<'_>, prefix: &str| {
        let line = lines.next()?;
        line.strip_prefix(prefix)
            .map(str::to_owned)
            .ok_or_else(|| lines.wrong(&format!("{prefix:?} should stand here")))
    };
    let name = field(lines, " * name: ")?;
    // In Rust and WebAssembly the module carries the name, so the name in the file is fixed.
    if !is_name(&name) || language != Language::C && name != "model" {
        return Err(lines.wrong("this cannot be the name of functions"));
    }
    let listed = field(lines, " * parts: ")?;
    let mut parts = BTreeSet::new();
    for word in listed.split(' ') {
        let known = part(word).ok_or_else(|| lines.wrong(&format!("{word:?} is no part of a model")))?;
        parts.insert(known);
    }
    let source = field(lines, " * source: ")?;
    let source = digest(&source).ok_or_else(|| lines.wrong("this is not the digest of a model"))?;
    loop {
        let line = lines.next()?;
        if line == " */" {
            return Ok((Head { language, name, parts }, source));
        }
        // Free text for people must not end the comment, continue a line or make a trigraph.
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b" _.,:;()=+-<>%'".contains(&byte);
        if !line.strip_prefix(" * ").is_some_and(|note| note.bytes().all(allowed)) {
            return Err(lines.wrong("this is not a line of the comment at the head"));
        }
    }
}

fn digest(text: &str) -> Option<Digest> {
    let mut digest = [0; 32];
    if text.len() != 64 || text.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return None;
    }
    for (byte, at) in digest.iter_mut().zip((0..64).step_by(2)) {
        *byte = u8::from_str_radix(text.get(at..at + 2)?, 16).ok()?;
    }
    Some(Digest(digest))
}

/// The number in brackets in the first line of a table.
fn count_of(line: &str) -> Option<usize> {
    let inside = line.split_once('[')?.1.split_once(']')?.0;
    // In Rust the type stands before the number.
    let count = inside.rsplit_once(' ').map_or(inside, |(_, count)| count);
    integer(count).map(|count| count as usize)
}

/// A decimal number in its only spelling: with a leading zero it would be octal in C.
pub(super) fn integer(token: &str) -> Option<u32> {
    let canonical =
        token.bytes().all(|byte| byte.is_ascii_digit()) && (token == "0" || !token.starts_with('0'));
    if canonical { token.parse().ok() } else { None }
}

/// A number with a sign in its only spelling, from -(2^31 - 1) to 2^31 - 1. The next lower number
/// has no literal in C.
pub(super) fn signed(token: &str) -> Option<i32> {
    let (digits, sign) = match token.strip_prefix('-') {
        Some("0") => return None,
        Some(digits) => (digits, -1),
        None => (token, 1),
    };
    let size = i32::try_from(integer(digits)?).ok()?;
    Some(sign * size)
}

/// The float of this type that has this key. A key is the bits of the float with the sign bit set,
/// or with all bits inverted if the float is negative, so that keys are ordered as the numbers are.
/// The program gives -0.0 the same key as 0.0, and missing values the largest of all keys. A
/// threshold that no number is less than or equal to has the key 0.
pub(super) fn key(language: Language, token: &str, number: NumberType) -> Option<f64> {
    let digits = match language {
        Language::C => token.strip_suffix('u')?,
        Language::Rust | Language::Wasm => token,
    };
    let key: u64 = digits.parse().ok().filter(|key: &u64| key.to_string() == digits)?;
    if key == 0 {
        return Some(f64::NAN);
    }
    let value = match number {
        NumberType::F32 => {
            let (key, sign) = (u32::try_from(key).ok()?, 1 << 31);
            f64::from(f32::from_bits(if key & sign != 0 { key ^ sign } else { !key }))
        }
        NumberType::F64 => {
            let sign = 1 << 63;
            f64::from_bits(if key & sign != 0 { key ^ sign } else { !key })
        }
    };
    (!value.is_nan() && value.to_bits() != (-0.0f64).to_bits()).then_some(value)
}

/// A float of this type, in its one spelling.
pub(super) fn float(language: Language, token: &str, number: NumberType) -> Option<f64> {
    match language {
        Language::C => c_float(token, number),
        Language::Rust | Language::Wasm => rust_float(token, number),
    }
}

/// A float of this type in Rust: the shortest decimals that read back as it. The standard library
/// reads decimals as the compiler does, with a single rounding to the nearest.
fn rust_float(token: &str, number: NumberType) -> Option<f64> {
    let (value, spelled) = match number {
        NumberType::F32 => {
            let value = match token {
                "f32::NAN" => f32::NAN,
                "f32::INFINITY" => f32::INFINITY,
                "f32::NEG_INFINITY" => f32::NEG_INFINITY,
                _ => token.parse::<f32>().ok().filter(|value| value.is_finite())?,
            };
            (f64::from(value), format!("{value:?}"))
        }
        NumberType::F64 => {
            let value = match token {
                "f64::NAN" => f64::NAN,
                "f64::INFINITY" => f64::INFINITY,
                "f64::NEG_INFINITY" => f64::NEG_INFINITY,
                _ => token.parse::<f64>().ok().filter(|value| value.is_finite())?,
            };
            (value, format!("{value:?}"))
        }
    };
    (!value.is_finite() || spelled == token).then_some(value)
}

/// A float of this type in C: hexadecimal digits that are its bits, without any rounding.
fn c_float(token: &str, number: NumberType) -> Option<f64> {
    let value = match token {
        "NAN" => return Some(f64::NAN),
        "INFINITY" => return Some(f64::INFINITY),
        "-INFINITY" => return Some(f64::NEG_INFINITY),
        _ => {
            let digits = match number {
                NumberType::F32 => token.strip_suffix('f')?,
                NumberType::F64 => token,
            };
            hexadecimal(digits)?
        }
    };
    (number.round(value).to_bits() == value.to_bits()).then_some(value)
}

/// `0x1.8p+0` and the like, with a sign: `0x1`, digits of the fraction without zeros at the end, and
/// an exponent with a sign. Zero and the subnormal doubles start with `0x0`.
fn hexadecimal(token: &str) -> Option<f64> {
    let (sign, rest) = match token.strip_prefix('-') {
        Some(rest) => (1u64, rest),
        None => (0, token),
    };
    let (normal, rest) = match rest.strip_prefix("0x1") {
        Some(rest) => (true, rest),
        None => (false, rest.strip_prefix("0x0")?),
    };
    let (fraction, exponent) = rest.split_once('p')?;
    let digits = match fraction.strip_prefix('.') {
        Some("") => return None,
        Some(digits) => digits,
        None if fraction.is_empty() => "",
        None => return None,
    };
    let spelled = digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    if digits.len() > 13 || !spelled || digits.ends_with('0') {
        return None;
    }
    let mut bits = 0u64;
    for digit in digits.bytes() {
        bits = bits << 4 | u64::from((digit as char).to_digit(16)?);
    }
    bits <<= 52 - 4 * digits.len();
    let (down, size) = match (exponent.strip_prefix('+'), exponent.strip_prefix('-')) {
        (Some(size), _) => (false, size),
        (_, Some(size)) => (true, size),
        _ => return None,
    };
    let size = i64::from(integer(size)?);
    if down && size == 0 {
        return None;
    }
    let exponent = if down { -size } else { size };
    let biased = match normal {
        true if (-1022..=1023).contains(&exponent) => (exponent + 1023) as u64,
        false if bits == 0 && exponent == 0 && !down => 0,
        false if bits != 0 && exponent == -1022 => 0,
        _ => return None,
    };
    Some(f64::from_bits(sign << 63 | biased << 52 | bits))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimal_floats_have_one_spelling() {
        let read = |token| rust_float(token, NumberType::F64);
        assert_eq!(
            [read("1.0"), read("-0.75"), read("5e-324"), read("0.1")],
            [Some(1.0), Some(-0.75), Some(5e-324), Some(0.1)]
        );
        assert_eq!(read("-0.0").map(f64::to_bits), Some(1 << 63));
        assert_eq!(rust_float("0.1", NumberType::F32), Some(f64::from(0.1f32)));
        assert_eq!(read("f64::INFINITY"), Some(f64::INFINITY));
        for token in [
            "", "1", "1.", "+1.0", "01.0", "1.00", "0.10", "1e400", "inf", "NaN", "nan", "f32::NAN", "1_0.0",
            "1.0f64", "1.0 ", "1E5",
        ] {
            assert_eq!(read(token), None, "{token}");
        }
        assert_eq!(rust_float("0.10000000149011612", NumberType::F32), None);
    }

    #[test]
    fn keys_are_in_the_order_of_numbers_and_have_one_spelling() {
        let mut before = None;
        for value in [f32::NEG_INFINITY, -1.5, -f32::from_bits(1), 0.0, f32::from_bits(1), 1.0, f32::INFINITY]
        {
            let bits = value.to_bits();
            let number = if bits >> 31 == 1 { !bits } else { bits | 1 << 31 };
            assert!(before.is_none_or(|before| before < number), "{value}");
            before = Some(number);
            assert_eq!(key(Language::C, &format!("{number}u"), NumberType::F32), Some(f64::from(value)));
            assert_eq!(key(Language::Rust, &number.to_string(), NumberType::F32), Some(f64::from(value)));
        }
        assert!(key(Language::C, "0u", NumberType::F64).is_some_and(f64::is_nan));
        assert_eq!(key(Language::Rust, "9223372036854775808", NumberType::F64), Some(0.0));
        // NaN has no key, and minus zero has that of zero.
        for token in
            ["4294967295", "4286578689", "2147483647", "8388606", "01", "+1", "-1", "1u", "", "4294967296"]
        {
            assert_eq!(key(Language::Rust, token, NumberType::F32), None, "{token}");
        }
        assert_eq!(key(Language::C, "2147483648", NumberType::F32), None);
    }

    #[test]
    fn hexadecimal_floats_have_one_spelling() {
        let read = |token| c_float(token, NumberType::F64);
        assert_eq!(read("0x1p+0"), Some(1.0));
        assert_eq!(read("-0x1.8p-1"), Some(-0.75));
        assert_eq!(read("0x0p+0").map(f64::to_bits), Some(0));
        assert_eq!(read("-0x0p+0").map(f64::to_bits), Some(1 << 63));
        assert_eq!(read("0x0.0000000000001p-1022"), Some(5e-324));
        assert_eq!(read("0x1.fffffffffffffp+1023"), Some(f64::MAX));
        assert_eq!(c_float("0x1.99999ap-4f", NumberType::F32), Some(f64::from(0.1f32)));
        for token in [
            "",
            "1",
            "1.5",
            "0x1p0",
            "0x1.p+0",
            "0x1.80p+0",
            "0x1P+0",
            "0X1p+0",
            "0x1p+00",
            "0x1p-0",
            "0x1p+1024",
            "0x2p+0",
            "0x1p-1023",
            "0x0p+1",
            "0x0.8p+0",
            "+0x1p+0",
            "0x1.8p+0 ",
            "--0x1p+0",
            "0x1.00000000000001p+0",
            "nan",
            "0x1p+0f",
            "0x1.Ap+0",
            "0x1p--1",
            "0x1p+-1",
        ] {
            assert_eq!(read(token), None, "{token}");
        }
        // Only the suffix of the type is accepted, and only numbers that the type holds without
        // rounding.
        assert_eq!(c_float("0x1p+0", NumberType::F32), None);
        assert_eq!(c_float("0x1.999999999999ap-4f", NumberType::F32), None);
        assert_eq!(c_float("0x1p+200f", NumberType::F32), None);
        assert_eq!(
            [integer("0"), integer("10"), integer("010"), integer("")],
            [Some(0), Some(10), None, None]
        );
    }
}
