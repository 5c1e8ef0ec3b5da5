//! The wire format of protobuf: a message is a sequence of fields, each a number, a wire type and a
//! value.
//!
//! Only the four wire types that ONNX uses are supported. Nothing is copied: messages are slices of
//! the file that remember where they begin, so that errors can name the byte and edits can splice.

use std::ops::Range;

use crate::error::{FormatError, Place, Problem};

/// A part of the file that holds fields.
#[derive(Clone, Copy, Debug)]
pub(super) struct Message<'a> {
    bytes: &'a [u8],
    /// Where `bytes` begins in the file.
    start: usize,
}

/// A field of a message.
#[derive(Clone, Debug)]
pub(super) struct Field<'a> {
    pub(super) number: u64,
    pub(super) value: Value<'a>,
    /// The whole field in the file, its key included.
    pub(super) range: Range<usize>,
}

/// A field's value, by its wire type.
#[derive(Clone, Copy, Debug)]
pub(super) enum Value<'a> {
    Varint(u64),
    Fixed64([u8; 8]),
    Bytes(Message<'a>),
    Fixed32([u8; 4]),
}

impl<'a> Message<'a> {
    /// A whole file.
    pub(super) fn file(bytes: &'a [u8]) -> Self {
        Self { bytes, start: 0 }
    }

    /// The message in this part of a file, whose range comes from a field.
    pub(super) fn within(file: &'a [u8], range: Range<usize>) -> Self {
        Self { bytes: &file[range.clone()], start: range.start }
    }

    pub(super) fn bytes(self) -> &'a [u8] {
        self.bytes
    }

    /// The place of this message in the file.
    pub(super) fn range(self) -> Range<usize> {
        self.start..self.start + self.bytes.len()
    }

    pub(super) fn text(self) -> Result<&'a str, FormatError> {
        std::str::from_utf8(self.bytes)
            .map_err(|error| syntax(self.start + error.valid_up_to(), "UTF-8 text", "other bytes"))
    }

    /// The fields in the order of the file; ends after the first error.
    pub(super) fn fields(self) -> Fields<'a> {
        Fields { message: self, at: 0 }
    }

    /// The numbers of a packed list of varints.
    pub(super) fn packed_varints(self) -> impl Iterator<Item = Result<u64, FormatError>> + 'a {
        let mut at = 0;
        std::iter::from_fn(move || {
            (at < self.bytes.len()).then(|| {
                let value = varint(self, &mut at, "a packed number");
                if value.is_err() {
                    at = self.bytes.len();
                }
                value
            })
        })
    }
}

impl<'a> Field<'a> {
    pub(super) fn message(&self) -> Result<Message<'a>, FormatError> {
        match self.value {
            Value::Bytes(message) => Ok(message),
            _ => Err(self.wrong_type("a length and bytes")),
        }
    }

    pub(super) fn text(&self) -> Result<&'a str, FormatError> {
        self.message()?.text()
    }

    pub(super) fn integer(&self) -> Result<i64, FormatError> {
        match self.value {
            Value::Varint(value) => Ok(value as i64),
            _ => Err(self.wrong_type("a varint")),
        }
    }

    pub(super) fn wrong_type(&self, expected: &'static str) -> FormatError {
        let found = match self.value {
            Value::Varint(_) => "a varint",
            Value::Fixed64(_) => "eight fixed bytes",
            Value::Bytes(_) => "a length and bytes",
            Value::Fixed32(_) => "four fixed bytes",
        };
        syntax(self.range.start, expected, found)
    }
}

/// Walks through a message.
pub(super) struct Fields<'a> {
    message: Message<'a>,
    at: usize,
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<Field<'a>, FormatError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.at >= self.message.bytes.len() {
            return None;
        }
        let field = self.read();
        if field.is_err() {
            self.at = self.message.bytes.len();
        }
        Some(field)
    }
}

impl<'a> Fields<'a> {
    fn read(&mut self) -> Result<Field<'a>, FormatError> {
        let begin = self.message.start + self.at;
        let key = varint(self.message, &mut self.at, "a field's key")?;
        let value = match key & 7 {
            0 => Value::Varint(varint(self.message, &mut self.at, "a number")?),
            1 => Value::Fixed64(self.fixed()?),
            2 => {
                let declared = varint(self.message, &mut self.at, "a length")?;
                let left = self.message.bytes.len() - self.at;
                let length =
                    usize::try_from(declared).ok().filter(|&length| length <= left).ok_or_else(|| {
                        let bytes = left as u64;
                        FormatError::new(
                            Place::Byte(begin as u64),
                            Problem::DeclaredTooMany { what: "bytes", declared, bytes },
                        )
                    })?;
                let start = self.message.start + self.at;
                let bytes = &self.message.bytes[self.at..][..length];
                self.at += length;
                Value::Bytes(Message { bytes, start })
            }
            5 => Value::Fixed32(self.fixed()?),
            other => {
                return Err(syntax(begin, "wire type 0, 1, 2 or 5", &format!("wire type {other}")));
            }
        };
        let number = key >> 3;
        if number == 0 {
            return Err(syntax(begin, "a field number from 1 on", "field number 0"));
        }
        Ok(Field { number, value, range: begin..self.message.start + self.at })
    }

    fn fixed<const N: usize>(&mut self) -> Result<[u8; N], FormatError> {
        match self.message.bytes[self.at..].first_chunk() {
            Some(&bytes) => {
                self.at += N;
                Ok(bytes)
            }
            None => Err(truncated(self.message.range().end, "a number")),
        }
    }
}

fn varint(message: Message<'_>, at: &mut usize, inside: &'static str) -> Result<u64, FormatError> {
    let begin = message.start + *at;
    let mut value = 0u64;
    for shift in (0..70).step_by(7) {
        let Some(&byte) = message.bytes.get(*at) else {
            return Err(truncated(message.range().end, inside));
        };
        *at += 1;
        // The tenth byte has room only for the last of the 64 bits.
        if shift == 63 && byte > 1 {
            break;
        }
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok(value);
        }
    }
    Err(syntax(begin, "a number of at most 64 bits", "a longer one"))
}

fn truncated(byte: usize, inside: &'static str) -> FormatError {
    FormatError::new(Place::Byte(byte as u64), Problem::Truncated { inside })
}

fn syntax(byte: usize, expected: &'static str, found: &str) -> FormatError {
    FormatError::new(Place::Byte(byte as u64), Problem::Syntax { expected, found: found.to_owned() })
}

/// Appends a varint.
pub(super) fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a field that holds a varint.
pub(super) fn put_integer(out: &mut Vec<u8>, number: u64, value: i64) {
    put_varint(out, number << 3);
    put_varint(out, value as u64);
}

/// Appends a field that holds an f32.
pub(super) fn put_float(out: &mut Vec<u8>, number: u64, value: f32) {
    put_varint(out, number << 3 | 5);
    out.extend(value.to_le_bytes());
}

/// Appends a field that holds bytes: text, a packed list or a message.
pub(super) fn put_bytes(out: &mut Vec<u8>, number: u64, bytes: &[u8]) {
    put_varint(out, number << 3 | 2);
    put_varint(out, bytes.len() as u64);
    out.extend(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_survive_the_round_trip() {
        for value in [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX, i64::MIN as u64] {
            let mut bytes = Vec::new();
            put_varint(&mut bytes, value);
            let mut at = 0;
            assert_eq!(varint(Message::file(&bytes), &mut at, "a number").unwrap(), value);
            assert_eq!(at, bytes.len());
        }
    }

    #[test]
    fn broken_fields_are_refused_at_their_byte() {
        let cases: [(&[u8], &str); 8] = [
            (b"\x08", "byte 1: the file ends here, inside a number"),
            (b"\x80", "byte 1: the file ends here, inside a field's key"),
            (b"\x0d\0\0\0", "byte 4: the file ends here, inside a number"),
            (b"\x0a\x05abc", "byte 0: 5 bytes are declared, but only 3 bytes of the file are left"),
            (b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "are declared, but only 0 bytes"),
            (
                b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02",
                "byte 1: a number of at most 64 bits expected, found a longer one",
            ),
            (b"\x0b", "byte 0: wire type 0, 1, 2 or 5 expected, found wire type 3"),
            (b"\x00\x00", "byte 0: a field number from 1 on expected"),
        ];
        for (bytes, words) in cases {
            let error = Message::file(bytes).fields().find_map(Result::err).expect("an error");
            assert!(error.to_string().contains(words), "{error}");
        }
    }
}
