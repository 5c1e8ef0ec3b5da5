//! Reads flatbuffers: the few features that a CatBoost file needs, with every offset checked.
//!
//! A buffer is a graph of tables and vectors that point to each other, so a small file may point to
//! one large vector a million times. The bytes copied out of a buffer are therefore counted, and
//! may not exceed its size.

use std::cell::Cell;

use crate::error::{FormatError, Place, Problem};

/// A buffer, and how much more may be copied out of it.
#[derive(Debug)]
pub(super) struct Buffer<'a> {
    bytes: &'a [u8],
    /// Where the buffer begins in the file, for messages.
    start: usize,
    left: Cell<usize>,
}

/// A table in a buffer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Table<'a> {
    buffer: &'a Buffer<'a>,
    at: usize,
    /// Where the list of field positions is, and its length in bytes.
    fields: usize,
    fields_size: usize,
    /// The bytes of the table itself.
    size: usize,
}

/// A number of fixed width.
pub(super) trait Scalar: Sized {
    const SIZE: usize;
    fn read(bytes: &[u8]) -> Self;
}

macro_rules! scalar {
    ($($kind:ty),*) => {$(
        impl Scalar for $kind {
            const SIZE: usize = size_of::<$kind>();
            fn read(bytes: &[u8]) -> Self {
                Self::from_le_bytes(bytes.try_into().expect("as many bytes as the type has"))
            }
        }
    )*};
}

scalar!(u8, i8, u16, u32, i32, f32, f64);

/// Two adjacent 16-bit numbers: the distances to a node's children.
impl Scalar for [u16; 2] {
    const SIZE: usize = 4;
    fn read(bytes: &[u8]) -> Self {
        [u16::read(&bytes[..2]), u16::read(&bytes[2..])]
    }
}

impl<'a> Buffer<'a> {
    /// A buffer that begins at the byte `start` of its file.
    pub(super) fn new(bytes: &'a [u8], start: usize) -> Self {
        Self { bytes, start, left: Cell::new(bytes.len()) }
    }

    /// The root table of the buffer.
    pub(super) fn root(&'a self) -> Result<Table<'a>, FormatError> {
        let at = self.offset(0)?;
        self.table(at)
    }

    fn fail<T>(&self, at: usize, problem: Problem) -> Result<T, FormatError> {
        Err(FormatError::new(Place::Byte((self.start + at) as u64), problem))
    }

    fn slice(&self, at: usize, length: usize) -> Result<&'a [u8], FormatError> {
        match at.checked_add(length).and_then(|end| self.bytes.get(at..end)) {
            Some(slice) => Ok(slice),
            None => {
                self.fail(at.min(self.bytes.len()), Problem::Truncated { inside: "the flatbuffers core" })
            }
        }
    }

    fn number<T: Scalar>(&self, at: usize) -> Result<T, FormatError> {
        self.slice(at, T::SIZE).map(T::read)
    }

    /// The position to which the offset at `at` points.
    fn offset(&self, at: usize) -> Result<usize, FormatError> {
        let offset: u32 = self.number(at)?;
        let target = at.checked_add(offset as usize).filter(|&target| target < self.bytes.len());
        match target {
            Some(target) if offset > 0 => Ok(target),
            _ => {
                let expected = "an offset into the file";
                self.fail(at, Problem::Value { found: offset.to_string(), expected })
            }
        }
    }

    fn table(&'a self, at: usize) -> Result<Table<'a>, FormatError> {
        let back: i32 = self.number(at)?;
        let fields = usize::try_from(at as i64 - i64::from(back)).ok();
        let Some(fields) = fields.filter(|&fields| fields < self.bytes.len()) else {
            let expected = "the distance to a table's field positions";
            return self.fail(at, Problem::Value { found: back.to_string(), expected });
        };
        let fields_size = usize::from(self.number::<u16>(fields)?);
        let size = usize::from(self.number::<u16>(fields + 2)?);
        if fields_size < 4 || fields_size % 2 == 1 || size < 4 {
            let found = format!("a table of {size} bytes with {fields_size} bytes of field positions");
            return self.fail(fields, Problem::Value { found, expected: "a flatbuffers table" });
        }
        self.slice(fields, fields_size)?;
        self.slice(at, size)?;
        Ok(Table { buffer: self, at, fields, fields_size, size })
    }

    /// The bytes of a vector of elements of this size.
    fn vector(&self, at: usize, size: usize) -> Result<&'a [u8], FormatError> {
        let count = self.number::<u32>(at)? as usize;
        let bytes = count.checked_mul(size);
        let left = self.bytes.len() - (at + 4);
        let Some(length) = bytes.filter(|&bytes| bytes <= left) else {
            let problem =
                Problem::DeclaredTooMany { what: "values", declared: count as u64, bytes: left as u64 };
            return self.fail(at, problem);
        };
        let Some(rest) = self.left.get().checked_sub(length) else {
            let found = "a vector that is used many times".to_owned();
            return self.fail(at, Problem::Value { found, expected: "a vector of its own" });
        };
        self.left.set(rest);
        self.slice(at + 4, length)
    }

    fn text(&self, at: usize) -> Result<&'a str, FormatError> {
        let bytes = self.vector(at, 1)?;
        std::str::from_utf8(bytes).or_else(|error| {
            let found = "other bytes".to_owned();
            self.fail(at + 4 + error.valid_up_to(), Problem::Syntax { expected: "UTF-8 text", found })
        })
    }
}

impl<'a> Table<'a> {
    /// The position of a field's value, if the table has the field.
    fn field(&self, slot: usize, size: usize) -> Result<Option<usize>, FormatError> {
        let entry = 4 + 2 * slot;
        if entry + 2 > self.fields_size {
            return Ok(None);
        }
        let offset = usize::from(self.buffer.number::<u16>(self.fields + entry)?);
        if offset == 0 {
            return Ok(None);
        }
        if offset < 4 || offset + size > self.size {
            let expected = "a position inside its table";
            return self
                .buffer
                .fail(self.fields + entry, Problem::Value { found: offset.to_string(), expected });
        }
        Ok(Some(self.at + offset))
    }

    /// The number of fields that the table's list of positions has room for.
    pub(super) fn slots(&self) -> usize {
        (self.fields_size - 4) / 2
    }

    /// Does the table have this field?
    pub(super) fn has(&self, slot: usize) -> Result<bool, FormatError> {
        Ok(self.field(slot, 1)?.is_some())
    }

    /// A number, or `default` if the field is absent.
    pub(super) fn number<T: Scalar>(&self, slot: usize, default: T) -> Result<T, FormatError> {
        match self.field(slot, T::SIZE)? {
            Some(at) => self.buffer.number(at),
            None => Ok(default),
        }
    }

    fn target(&self, slot: usize) -> Result<Option<usize>, FormatError> {
        self.field(slot, 4)?.map(|at| self.buffer.offset(at)).transpose()
    }

    /// A table.
    pub(super) fn table(&self, slot: usize) -> Result<Option<Table<'a>>, FormatError> {
        self.target(slot)?.map(|at| self.buffer.table(at)).transpose()
    }

    /// A text.
    pub(super) fn text(&self, slot: usize) -> Result<Option<&'a str>, FormatError> {
        self.target(slot)?.map(|at| self.buffer.text(at)).transpose()
    }

    /// A list of numbers; empty if the field is absent.
    pub(super) fn numbers<T: Scalar>(&self, slot: usize) -> Result<Vec<T>, FormatError> {
        let Some(at) = self.target(slot)? else { return Ok(Vec::new()) };
        Ok(self.buffer.vector(at, T::SIZE)?.chunks_exact(T::SIZE).map(T::read).collect())
    }

    /// The length of a list of anything that takes at least a byte each.
    pub(super) fn length(&self, slot: usize) -> Result<usize, FormatError> {
        match self.target(slot)? {
            Some(at) => Ok(self.buffer.number::<u32>(at)? as usize),
            None => Ok(0),
        }
    }

    /// A list of tables; empty if the field is absent.
    pub(super) fn tables(&self, slot: usize) -> Result<Vec<Table<'a>>, FormatError> {
        let Some(at) = self.target(slot)? else { return Ok(Vec::new()) };
        let count = self.buffer.vector(at, 4)?.len() / 4;
        (0..count).map(|index| self.buffer.table(self.buffer.offset(at + 4 + 4 * index)?)).collect()
    }

    /// A list of texts; empty if the field is absent.
    pub(super) fn texts(&self, slot: usize) -> Result<Vec<&'a str>, FormatError> {
        let Some(at) = self.target(slot)? else { return Ok(Vec::new()) };
        let count = self.buffer.vector(at, 4)?.len() / 4;
        (0..count).map(|index| self.buffer.text(self.buffer.offset(at + 4 + 4 * index)?)).collect()
    }
}
