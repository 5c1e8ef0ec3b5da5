//! XGBoost's UBJSON, as far as the library reads it: big-endian, lengths and keys as 64-bit
//! integers, typed arrays whose elements have no tags of their own.

use std::borrow::Cow;

use super::source::{Element, EndPosition, Entry, Keys, Source, deeper, fail, narrow};
use crate::error::{FormatError, Problem};

pub(super) struct Ubj<'a> {
    bytes: &'a [u8],
    at: usize,
    depth: usize,
}

/// The head of an array.
struct ArrayHead {
    /// The tag of every element.
    tag: Option<u8>,
    /// The number of elements that follow; without a count a `]` ends the array.
    count: Option<usize>,
}

/// The number of bytes of a number after its tag.
fn width(tag: u8) -> Option<usize> {
    match tag {
        b'i' | b'U' | b'C' => Some(1),
        b'I' => Some(2),
        b'l' | b'd' => Some(4),
        b'L' | b'D' => Some(8),
        _ => None,
    }
}

fn is_integer(tag: u8) -> bool {
    b"iUIlL".contains(&tag)
}

/// The value of an integer's bytes.
fn whole(tag: u8, bytes: &[u8]) -> i64 {
    match (tag, bytes) {
        (b'U', &[byte]) => i64::from(byte),
        (_, &[byte]) => i64::from(byte as i8),
        (_, &[a, b]) => i64::from(i16::from_be_bytes([a, b])),
        (_, &[a, b, c, d]) => i64::from(i32::from_be_bytes([a, b, c, d])),
        (_, &[a, b, c, d, e, f, g, h]) => i64::from_be_bytes([a, b, c, d, e, f, g, h]),
        _ => unreachable!("integers have 1, 2, 4 or 8 bytes"),
    }
}

fn single(bytes: &[u8]) -> f32 {
    f32::from_be_bytes(bytes.try_into().expect("the caller takes four bytes"))
}

impl<'a> Ubj<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, depth: 0 }
    }

    fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    fn take(&mut self, count: usize, inside: &'static str) -> Result<&'a [u8], FormatError> {
        if count > self.left() {
            return fail(self.at, Problem::Truncated { inside });
        }
        let taken = &self.bytes[self.at..self.at + count];
        self.at += count;
        Ok(taken)
    }

    fn tag(&mut self) -> Result<u8, FormatError> {
        Ok(self.take(1, "a value")?[0])
    }

    /// The error for the byte that was read last.
    fn unexpected<T>(&self, expected: &'static str) -> Result<T, FormatError> {
        let at = self.at.saturating_sub(1);
        let found = self.bytes.get(at).map(|byte| format!("`{}`", byte.escape_ascii())).unwrap_or_default();
        fail(at, Problem::Syntax { expected, found })
    }

    /// A count of items that take at least `size` bytes each.
    fn count(&mut self, what: &'static str, size: usize) -> Result<usize, FormatError> {
        if self.tag()? != b'L' {
            return self.unexpected("a length (`L` and 8 bytes)");
        }
        let at = self.at;
        let declared = whole(b'L', self.take(8, "a length")?);
        let bytes = self.left();
        match usize::try_from(declared) {
            Ok(count) if count.checked_mul(size).is_some_and(|needed| needed <= bytes) => Ok(count),
            Ok(_) => {
                let (declared, bytes) = (declared as u64, bytes as u64);
                fail(at, Problem::DeclaredTooMany { what, declared, bytes })
            }
            Err(_) => fail(at, Problem::Value { found: declared.to_string(), expected: "a length" }),
        }
    }

    fn text(&mut self) -> Result<Cow<'a, str>, FormatError> {
        let length = self.count("bytes of text", 1)?;
        let at = self.at;
        let bytes = self.take(length, "text")?;
        match std::str::from_utf8(bytes) {
            Ok(text) => Ok(Cow::Borrowed(text)),
            Err(_) => {
                let found = String::from_utf8_lossy(&bytes[..bytes.len().min(24)]).into_owned();
                fail(at, Problem::Syntax { expected: "text in UTF-8", found })
            }
        }
    }

    fn array_head(&mut self) -> Result<ArrayHead, FormatError> {
        if self.tag()? != b'[' {
            return self.unexpected("an array");
        }
        let mut tag = None;
        if self.bytes.get(self.at) == Some(&b'$') {
            self.at += 1;
            let element = self.tag()?;
            // Types without bytes would let a few bytes declare any number of elements.
            if width(element).is_none() {
                return self.unexpected("a number type for the elements");
            }
            tag = Some(element);
            if self.bytes.get(self.at) != Some(&b'#') {
                self.at += 1;
                return self.unexpected("`#` and the number of elements");
            }
        }
        let mut count = None;
        if self.bytes.get(self.at) == Some(&b'#') {
            self.at += 1;
            count = Some(self.count("elements", tag.and_then(width).unwrap_or(1))?);
        }
        Ok(ArrayHead { tag, count })
    }

    /// Is there another element, in an array without an element type?
    fn another(&mut self, count: &mut Option<usize>) -> bool {
        match count {
            Some(0) => false,
            Some(count) => {
                *count -= 1;
                true
            }
            None if self.bytes.get(self.at) == Some(&b']') => {
                self.at += 1;
                false
            }
            None => true,
        }
    }

    /// The bytes of each number of an array, with its tag.
    #[inline]
    fn numbers(
        &mut self,
        wanted: impl Fn(u8) -> bool,
        expected: &'static str,
        mut each: impl FnMut(u8, &[u8], usize) -> Result<(), FormatError>,
    ) -> Result<(), FormatError> {
        let mut head = self.array_head()?;
        if let (Some(tag), Some(count)) = (head.tag, head.count) {
            if !wanted(tag) {
                // An array of another type is harmless if it is empty.
                return if count == 0 { Ok(()) } else { self.unexpected(expected) };
            }
            let at = self.at;
            let size = width(tag).unwrap_or(1);
            let bytes = self.take(count * size, "an array")?;
            // One loop for each type, so that the type is known where an element is decoded.
            macro_rules! each_of {
                ($tag:literal, $size:literal) => {
                    for (index, element) in bytes.chunks_exact($size).enumerate() {
                        each($tag, element, at + index * $size)?;
                    }
                };
            }
            match tag {
                b'l' => each_of!(b'l', 4),
                b'd' => each_of!(b'd', 4),
                b'U' => each_of!(b'U', 1),
                _ => {
                    for (index, element) in bytes.chunks_exact(size).enumerate() {
                        each(tag, element, at + index * size)?;
                    }
                }
            }
            return Ok(());
        }
        while self.another(&mut head.count) {
            let tag = self.tag()?;
            match width(tag) {
                Some(size) if wanted(tag) => {
                    let at = self.at;
                    each(tag, self.take(size, "a number")?, at)?;
                }
                _ => return self.unexpected(expected),
            }
        }
        Ok(())
    }
}

impl EndPosition for Ubj<'_> {
    fn end_position(&self) -> usize {
        self.at
    }
}

impl<'a> Source<'a> for Ubj<'a> {
    fn position(&mut self) -> usize {
        self.at
    }

    fn seek(&mut self, position: usize) {
        self.at = position;
    }

    fn object(&mut self, visit: &mut Entry<'_, Self>) -> Result<(), FormatError> {
        if self.tag()? != b'{' {
            return self.unexpected("an object");
        }
        deeper(&mut self.depth, self.at)?;
        let mut keys = Keys::default();
        while self.bytes.get(self.at) != Some(&b'}') {
            let at = self.at;
            let key = self.text()?;
            keys.add(key.clone(), at)?;
            visit(self, &key, at)?;
        }
        self.at += 1;
        self.depth -= 1;
        Ok(())
    }

    fn array(&mut self, visit: &mut Element<'_, Self>) -> Result<(), FormatError> {
        let mut head = self.array_head()?;
        if head.tag.is_some() && head.count != Some(0) {
            return self.unexpected("an array of tagged values");
        }
        deeper(&mut self.depth, self.at)?;
        while self.another(&mut head.count) {
            visit(self)?;
        }
        self.depth -= 1;
        Ok(())
    }

    fn string(&mut self) -> Result<Cow<'a, str>, FormatError> {
        if self.tag()? != b'S' {
            return self.unexpected("a string");
        }
        self.text()
    }

    fn integer(&mut self) -> Result<i64, FormatError> {
        let tag = self.tag()?;
        match width(tag) {
            Some(size) if is_integer(tag) => Ok(whole(tag, self.take(size, "an integer")?)),
            _ => self.unexpected("an integer"),
        }
    }

    fn integers<T: TryFrom<i64>>(&mut self, out: &mut Vec<T>) -> Result<(), FormatError> {
        self.numbers(is_integer, "integers", |tag, bytes, at| {
            out.push(narrow(whole(tag, bytes), at)?);
            Ok(())
        })
    }

    fn floats(&mut self, out: &mut Vec<f32>) -> Result<(), FormatError> {
        self.numbers(
            |tag| tag == b'd',
            "32-bit floats",
            |_, bytes, _| {
                out.push(single(bytes));
                Ok(())
            },
        )
    }

    fn count_floats(&mut self) -> Result<usize, FormatError> {
        let start = self.at;
        let head = self.array_head()?;
        if let (Some(b'd'), Some(count)) = (head.tag, head.count) {
            self.take(count * 4, "an array")?;
            return Ok(count);
        }
        self.at = start;
        let mut count = 0;
        self.numbers(
            |tag| tag == b'd',
            "32-bit floats",
            |_, _, _| {
                count += 1;
                Ok(())
            },
        )?;
        Ok(count)
    }

    fn skip(&mut self) -> Result<(), FormatError> {
        let start = self.at;
        match self.tag()? {
            b'Z' | b'T' | b'F' => Ok(()),
            b'S' => self.text().map(|_| ()),
            b'{' => {
                self.at = start;
                self.object(&mut |ubj, _, _| ubj.skip())
            }
            b'[' => {
                self.at = start;
                let head = self.array_head()?;
                if let (Some(size), Some(count)) = (head.tag.and_then(width), head.count) {
                    return self.take(count * size, "an array").map(|_| ());
                }
                self.at = start;
                self.array(&mut |ubj| ubj.skip())
            }
            tag => match width(tag) {
                Some(size) => self.take(size, "a number").map(|_| ()),
                None => self.unexpected("a value"),
            },
        }
    }

    fn end(&mut self) -> Result<(), FormatError> {
        if self.left() == 0 {
            return Ok(());
        }
        self.at += 1;
        self.unexpected("the end of the file")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn long(value: i64) -> Vec<u8> {
        let mut bytes = vec![b'L'];
        bytes.extend(value.to_be_bytes());
        bytes
    }

    #[test]
    fn typed_and_tagged_arrays_read_alike() {
        let typed = [b"[$d#".as_slice(), &long(2), &1.5f32.to_be_bytes(), &(-2.0f32).to_be_bytes()].concat();
        let counted =
            [b"[#".as_slice(), &long(2), b"d", &1.5f32.to_be_bytes(), b"d", &(-2.0f32).to_be_bytes()]
                .concat();
        let open = [b"[d".as_slice(), &1.5f32.to_be_bytes(), b"d", &(-2.0f32).to_be_bytes(), b"]"].concat();
        for bytes in [typed, counted, open] {
            let mut out = Vec::new();
            let mut ubj = Ubj::new(&bytes);
            ubj.floats(&mut out).unwrap();
            ubj.end().unwrap();
            assert_eq!(out, [1.5, -2.0]);
            assert_eq!(Ubj::new(&bytes).count_floats().unwrap(), 2);
            Ubj::new(&bytes).skip().unwrap();
        }
        let mixed = [b"[i\xffU\xffI\x01\x00".as_slice(), &long(7), b"]"].concat();
        let mut out = Vec::<i32>::new();
        Ubj::new(&mixed).integers(&mut out).unwrap();
        assert_eq!(out, [-1, 255, 256, 7]);
    }

    #[test]
    fn what_is_declared_must_be_there() {
        let cases: [(Vec<u8>, &str); 6] = [
            ([b"[$d#".as_slice(), &long(1 << 60)].concat(), "are declared"),
            ([b"[#".as_slice(), &long(9), b"i\x01"].concat(), "are declared"),
            ([b"[$d#".as_slice(), &long(-1)].concat(), "-1 is not a length"),
            ([b"[$Z#".as_slice(), &long(5)].concat(), "a number type"),
            (b"[$d".to_vec(), "`#`"),
            ([b"S".as_slice(), &long(4), b"abc"].concat(), "are declared"),
        ];
        for (bytes, words) in cases {
            let message = Ubj::new(&bytes).skip().unwrap_err().to_string();
            assert!(message.contains(words), "{message}");
        }
        let deep = [b'['; 100_000];
        assert!(Ubj::new(&deep).skip().unwrap_err().to_string().contains("nested deeper"));
    }
}
