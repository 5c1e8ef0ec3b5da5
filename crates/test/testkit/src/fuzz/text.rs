//! Hostile changes to JSON and to lines of `key=value`.

use std::ops::Range;

use fastrand::Rng;

/// Numbers that break careless readers.
const NUMBERS: [&str; 28] = [
    "0",
    "-0",
    "1",
    "-1",
    "2",
    "0.0",
    "-0.0",
    "1e400",
    "-1e400",
    "1e-400",
    "nan",
    "NaN",
    "-nan",
    "inf",
    "-inf",
    "Infinity",
    "2147483647",
    "-2147483648",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "18446744073709551616",
    "1e39",
    "16777217",
    "0x10",
    "1.",
    "",
    "00000000000000000000000000000000001.5e0",
];

/// Makes one change.
pub(super) fn mutate(rng: &mut Rng, bytes: &mut Vec<u8>) {
    match rng.u32(0..16) {
        0..5 => number(rng, bytes),
        5 | 6 => line_or_element(rng, bytes),
        7..9 => key(rng, bytes),
        9 => nest(rng, bytes),
        10 => string(rng, bytes),
        11 => swap_numbers(rng, bytes),
        12 => array(rng, bytes),
        _ => {
            // Small numbers are indices, children or classes, so they are tried more often.
            if let Some(at) = token(rng, bytes) {
                let small = rng.i32(-2..12).to_string();
                bytes.splice(at, small.into_bytes());
            }
        }
    }
}

/// Replaces a number by a hostile one.
fn number(rng: &mut Rng, bytes: &mut Vec<u8>) {
    if let Some(at) = token(rng, bytes) {
        let text = *rng.choice(&NUMBERS).expect("not empty");
        bytes.splice(at, text.bytes());
    }
}

fn swap_numbers(rng: &mut Rng, bytes: &mut Vec<u8>) {
    if let (Some(from), Some(to)) = (token(rng, bytes), token(rng, bytes)) {
        let copy = bytes[from].to_vec();
        bytes.splice(to, copy);
    }
}

/// Removes, duplicates or moves the text between two separators.
fn line_or_element(rng: &mut Rng, bytes: &mut Vec<u8>) {
    let separator = *rng.choice(b"\n\n\n,, =:").expect("not empty");
    let Some(first) = find(rng, bytes, |byte| byte == separator) else { return };
    let length = bytes[first + 1..].iter().position(|&byte| byte == separator);
    let part = first..first + 1 + length.unwrap_or(bytes.len() - first - 1);
    let copy = bytes[part.clone()].to_vec();
    match rng.u32(0..3) {
        0 => drop(bytes.drain(part)),
        1 => drop(bytes.splice(part.end..part.end, copy)),
        _ => {
            bytes.drain(part);
            if let Some(to) = find(rng, bytes, |byte| byte == separator) {
                bytes.splice(to..to, copy);
            }
        }
    }
}

/// Duplicates, renames or removes a JSON key, or replaces its value.
fn key(rng: &mut Rng, bytes: &mut Vec<u8>) {
    let Some(colon) = find(rng, bytes, |byte| byte == b':') else { return };
    let Some(close) = bytes[..colon].iter().rposition(|&byte| byte == b'"') else { return };
    let Some(open) = bytes[..close].iter().rposition(|&byte| byte == b'"') else { return };
    let name = bytes[open..=close].to_vec();
    match rng.u32(0..4) {
        0 => {
            let value = *rng.choice(&["0", "[]", "{}", "null", "\"\"", "[0.5]"]).expect("not empty");
            bytes.splice(open..open, [&name[..], b":", value.as_bytes(), b","].concat());
        }
        1 => drop(bytes.splice(open..=close, *b"\"other\"")),
        2 => {
            // Removes the key and its value, as far as `value_end` finds the value's end.
            let end = value_end(bytes, colon + 1);
            bytes.drain(open..end);
            if bytes.get(open) == Some(&b',') {
                bytes.remove(open);
            }
        }
        _ => {
            let end = value_end(bytes, colon + 1);
            let value = *rng
                .choice(&["0", "[]", "{}", "null", "\"0\"", "true", "[[]]", "{\"a\":0}", "-1.5"])
                .expect("not empty");
            bytes.splice(colon + 1..end, value.bytes());
        }
    }
}

/// Where a JSON value ends: at the comma or closing bracket of the value around it.
fn value_end(bytes: &[u8], start: usize) -> usize {
    let (mut depth, mut quoted) = (0u32, false);
    for (at, &byte) in bytes.iter().enumerate().skip(start) {
        match byte {
            b'"' => quoted = !quoted,
            _ if quoted => {}
            b'[' | b'{' => depth += 1,
            b']' | b'}' if depth == 0 => return at,
            b']' | b'}' => depth -= 1,
            b',' if depth == 0 => return at,
            _ => {}
        }
    }
    bytes.len()
}

/// Replaces a number by a deeply nested value.
fn nest(rng: &mut Rng, bytes: &mut Vec<u8>) {
    let Some(at) = token(rng, bytes) else { return };
    let depth = 1usize << rng.u32(2..17);
    let (open, close) = *rng.choice(&[("[", "]"), ("{\"a\":", "}"), ("[{\"a\":", "}]")]).expect("not empty");
    let mut deep = open.repeat(depth);
    if rng.bool() {
        deep.push('0');
        deep.push_str(&close.repeat(depth));
    }
    bytes.splice(at, deep.into_bytes());
}

/// Replaces a quoted text by another one from the file, or by an odd one.
fn string(rng: &mut Rng, bytes: &mut Vec<u8>) {
    let quoted = |rng: &mut Rng, bytes: &[u8]| -> Option<Range<usize>> {
        let open = find(rng, bytes, |byte| byte == b'"')?;
        let length = bytes[open + 1..].iter().position(|&byte| byte == b'"')?;
        Some(open + 1..open + 1 + length)
    };
    let Some(to) = quoted(rng, bytes) else { return };
    let odd: [&[u8]; 6] = [b"\\ud800", b"\\u0000", b"\\", b"\xff\xfe", b"", b"\\n\\\"\xc3\xa9"];
    let text = match (rng.bool(), quoted(rng, bytes)) {
        (true, Some(from)) => bytes[from].to_vec(),
        _ => rng.choice(&odd).expect("not empty").to_vec(),
    };
    bytes.splice(to, text);
}

/// Empties a list, repeats its elements or removes some of them.
fn array(rng: &mut Rng, bytes: &mut Vec<u8>) {
    let Some(open) = find(rng, bytes, |byte| byte == b'[' || byte == b'=') else { return };
    let end = if bytes[open] == b'[' {
        value_end(bytes, open + 1)
    } else {
        bytes[open..].iter().position(|&byte| byte == b'\n').map_or(bytes.len(), |length| open + length)
    };
    let inside = open + 1..end;
    match rng.u32(0..3) {
        0 => drop(bytes.drain(inside)),
        1 => {
            let separator = if bytes[open] == b'[' { b"," } else { b" " };
            let copy = [&bytes[inside.clone()], separator].concat();
            bytes.splice(inside.start..inside.start, copy);
        }
        _ => {
            let end = inside.start + rng.usize(0..=inside.len());
            bytes.drain(inside.start..end);
        }
    }
}

/// The range of a random number in the text.
fn token(rng: &mut Rng, bytes: &[u8]) -> Option<Range<usize>> {
    let inside = |byte: u8| byte.is_ascii_digit() || b"+-.eE".contains(&byte);
    let at = find(rng, bytes, |byte| byte.is_ascii_digit())?;
    let start = bytes[..at].iter().rposition(|&byte| !inside(byte)).map_or(0, |before| before + 1);
    let end = bytes[at..].iter().position(|&byte| !inside(byte)).map_or(bytes.len(), |after| at + after);
    Some(start..end)
}

/// The first wanted byte after a random position, searching from the start if there is none.
pub(super) fn find(rng: &mut Rng, bytes: &[u8], wanted: impl Fn(u8) -> bool) -> Option<usize> {
    if bytes.is_empty() {
        return None;
    }
    let start = rng.usize(0..bytes.len());
    let position = bytes[start..].iter().position(|&byte| wanted(byte)).map(|at| start + at);
    position.or_else(|| bytes.iter().position(|&byte| wanted(byte)))
}
