//! Reads bytes and bits of a file, every read checked, and computes the checksum over them.

use alloc::string::String;
use alloc::vec::Vec;

use crate::error::LoadError;

/// The checksum of a file and of scores. Every step is a bijection of the state and of the word, so
/// that a change within a single word of eight bytes always changes the result.
pub(crate) struct Checksum {
    state: u64,
}

impl Checksum {
    pub(crate) fn new() -> Self {
        Self { state: 0x5345_4341_5445_5552 }
    }

    pub(crate) fn word(&mut self, word: u64) {
        let mixed = (self.state ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.state = mixed ^ (mixed >> 29);
    }

    pub(crate) fn finish(&self) -> u64 {
        self.state
    }

    /// The checksum of bytes: of words of eight bytes, little-endian, the last one filled with
    /// zeros, and then of the length.
    pub(crate) fn of(bytes: &[u8]) -> u64 {
        let mut sum = Self::new();
        for part in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..part.len()].copy_from_slice(part);
            sum.word(u64::from_le_bytes(word));
        }
        sum.word(bytes.len() as u64);
        sum.finish()
    }
}

/// Reads from the front; every read can fail and none reaches beyond the end.
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The number of bytes that have not been read.
    pub(crate) fn left(&self) -> usize {
        self.rest.len()
    }

    pub(crate) fn take(&mut self, count: usize) -> Result<&'a [u8], LoadError> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(LoadError::Truncated)?;
        self.rest = rest;
        Ok(taken)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], LoadError> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    pub(crate) fn byte(&mut self) -> Result<u8, LoadError> {
        Ok(self.array::<1>()?[0])
    }

    pub(crate) fn flag(&mut self) -> Result<bool, LoadError> {
        match self.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(LoadError::Invalid("a flag is neither 0 nor 1")),
        }
    }

    pub(crate) fn u64(&mut self) -> Result<u64, LoadError> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    pub(crate) fn f64(&mut self) -> Result<f64, LoadError> {
        Ok(f64::from_bits(self.u64()?))
    }

    /// A number in groups of seven bits, the lowest group first.
    pub(crate) fn varint(&mut self) -> Result<u64, LoadError> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let part = u64::from(byte & 0x7f);
            if part << shift >> shift != part || (byte == 0 && shift > 0) {
                return Err(LoadError::Invalid("a number is not written in its shortest form"));
            }
            value |= part << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(LoadError::Invalid("a number has more than 64 bits"))
    }

    /// A varint that fits into 32 bits.
    pub(crate) fn u32(&mut self) -> Result<u32, LoadError> {
        u32::try_from(self.varint()?).map_err(|_| LoadError::Invalid("a number has more than 32 bits"))
    }

    /// The number of items that follow, of at least `size` bytes each. A number for which there are
    /// too few bytes is an error.
    pub(crate) fn count(&mut self, size: usize) -> Result<usize, LoadError> {
        let count = usize::try_from(self.varint()?).map_err(|_| LoadError::Truncated)?;
        if count.checked_mul(size).is_none_or(|bytes| bytes > self.rest.len()) {
            return Err(LoadError::Truncated);
        }
        Ok(count)
    }

    /// Checks a declared number of items of at least four bits each: a number for which there are
    /// too few bits is an error.
    pub(crate) fn bounded(&self, count: usize) -> Result<usize, LoadError> {
        if count / 2 > self.rest.len() { Err(LoadError::Truncated) } else { Ok(count) }
    }

    pub(crate) fn text(&mut self) -> Result<String, LoadError> {
        let length = self.count(1)?;
        let text = core::str::from_utf8(self.take(length)?);
        Ok(String::from(text.map_err(|_| LoadError::Invalid("a text is not UTF-8"))?))
    }

    pub(crate) fn texts(&mut self, count: usize) -> Result<Vec<String>, LoadError> {
        (0..count).map(|_| self.text()).collect()
    }

    pub(crate) fn floats(&mut self) -> Result<Vec<f64>, LoadError> {
        let count = self.count(8)?;
        (0..count).map(|_| self.f64()).collect()
    }

    /// Starts a section of bits at the next byte.
    pub(crate) fn bits(&mut self) -> Bits<'a, '_> {
        Bits { section: self.rest, at: 0, reader: self, word: 0, left: 0 }
    }
}

/// A section of bits, the lowest bit of each byte first.
pub(crate) struct Bits<'a, 'r> {
    reader: &'r mut Reader<'a>,
    /// The bytes from the start of the section to the end of the file; `at` counts those that were
    /// read into `word`, which has `left` unused bits.
    section: &'a [u8],
    at: usize,
    word: u64,
    left: u32,
}

impl Bits<'_, '_> {
    /// The next `count` bits, at most 64.
    #[inline]
    pub(crate) fn take(&mut self, count: u32) -> Result<u64, LoadError> {
        if count > 32 {
            let low = self.take(32)?;
            return Ok(low | self.take(count - 32)? << 32);
        }
        if self.left < count {
            self.refill(count)?;
        }
        let value = self.word & ((1 << count) - 1);
        self.word >>= count;
        self.left -= count;
        Ok(value)
    }

    /// Reads four bytes if there are that many, otherwise one by one. The word must have fewer than
    /// 32 bits.
    fn refill(&mut self, count: u32) -> Result<(), LoadError> {
        let rest = &self.section[self.at..];
        if let Some(four) = rest.first_chunk() {
            self.word |= u64::from(u32::from_le_bytes(*four)) << self.left;
            self.left += 32;
            self.at += 4;
            return Ok(());
        }
        let mut rest = rest.iter();
        while self.left < count {
            self.word |= u64::from(*rest.next().ok_or(LoadError::Truncated)?) << self.left;
            self.left += 8;
            self.at += 1;
        }
        Ok(())
    }

    /// Ends the section with the current byte, whose remaining bits must be zero. Whole bytes that
    /// were read ahead are returned to the reader.
    pub(crate) fn finish(self) -> Result<(), LoadError> {
        self.reader.rest = &self.section[self.at - (self.left / 8) as usize..];
        if self.word & ((1 << (self.left % 8)) - 1) != 0 {
            Err(LoadError::Invalid("a section of bits ends with bits that are set"))
        } else {
            Ok(())
        }
    }
}

/// The number of bits that hold all numbers below `count`. It is at least four, so that the size of
/// a file bounds the size of its content.
pub(crate) fn width(count: usize) -> u32 {
    (usize::BITS - count.saturating_sub(1).leading_zeros()).max(4)
}
