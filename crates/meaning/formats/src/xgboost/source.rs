//! The common interface of the readers of the two encodings: a walk over a document that reads
//! values in place, without building a tree of them in memory.

use std::borrow::Cow;

use crate::error::{FormatError, Problem};
pub(super) use crate::json::{Keys, fail};

/// The bytes of one value in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) start: usize,
    pub(super) end: usize,
}

impl Span {
    pub(super) fn of(self, bytes: &[u8]) -> &[u8] {
        &bytes[self.start..self.end]
    }
}

/// The deepest nesting that is accepted; no model file is nested as deeply.
pub(super) const MAX_DEPTH: usize = 64;

/// Called with a key and the position where it begins, before the value is read.
pub(super) type Entry<'v, S> = dyn FnMut(&mut S, &str, usize) -> Result<(), FormatError> + 'v;

/// Called before each element is read.
pub(super) type Element<'v, S> = dyn FnMut(&mut S) -> Result<(), FormatError> + 'v;

/// A reader positioned before a value. Each method reads one value of the kind it names, or fails
/// and names the place.
pub(super) trait Source<'a>: Sized {
    /// The position where the next value begins.
    fn position(&mut self) -> usize;
    /// Moves to the value that begins at this position.
    fn seek(&mut self, position: usize);
    /// An object, without duplicate keys.
    fn object(&mut self, visit: &mut Entry<'_, Self>) -> Result<(), FormatError>;
    /// An array of anything.
    fn array(&mut self, visit: &mut Element<'_, Self>) -> Result<(), FormatError>;
    fn string(&mut self) -> Result<Cow<'a, str>, FormatError>;
    fn integer(&mut self) -> Result<i64, FormatError>;
    /// An array of integers, appended to `out`.
    fn integers<T: TryFrom<i64>>(&mut self, out: &mut Vec<T>) -> Result<(), FormatError>;
    /// An array of floats, appended to `out`.
    fn floats(&mut self, out: &mut Vec<f32>) -> Result<(), FormatError>;
    /// An array of floats; only its length is returned.
    fn count_floats(&mut self) -> Result<usize, FormatError>;
    /// Any value, checked and skipped.
    fn skip(&mut self) -> Result<(), FormatError>;
    /// Checks that only the end of the file follows.
    fn end(&mut self) -> Result<(), FormatError>;

    /// Reads a value with `take` and returns the bytes that it was read from.
    fn span<T>(
        &mut self,
        take: impl FnOnce(&mut Self) -> Result<T, FormatError>,
    ) -> Result<(Span, T), FormatError>
    where
        Self: EndPosition,
    {
        let start = self.position();
        let value = take(self)?;
        Ok((Span { start, end: self.end_position() }, value))
    }
}

/// The position after the last value that was read.
pub(super) trait EndPosition {
    fn end_position(&self) -> usize;
}

/// Enters one more level of nesting.
pub(super) fn deeper(depth: &mut usize, at: usize) -> Result<(), FormatError> {
    *depth += 1;
    if *depth > MAX_DEPTH { fail(at, Problem::TooDeep { limit: MAX_DEPTH }) } else { Ok(()) }
}

/// An integer of the field's type.
pub(super) fn narrow<T: TryFrom<i64>>(value: i64, at: usize) -> Result<T, FormatError> {
    T::try_from(value).or_else(|_| {
        fail(at, Problem::Value { found: value.to_string(), expected: "in the range of this field" })
    })
}
