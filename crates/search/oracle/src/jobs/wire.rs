//! Numbers, lists and paths as bytes, and back. Reading trusts no length: a list can be no longer
//! than the bytes that are left.

use thiserror::Error;

/// The bytes are not of the expected form.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("the bytes are damaged or of another version")]
pub(crate) struct WireError;

/// Appends bytes.
#[derive(Debug, Default)]
pub(crate) struct Out(pub(crate) Vec<u8>);

impl Out {
    /// A byte.
    pub(crate) fn byte(&mut self, byte: u8) {
        self.0.push(byte);
    }

    /// A yes or no, as a byte.
    pub(crate) fn flag(&mut self, flag: bool) {
        self.byte(u8::from(flag));
    }

    /// A number, seven bits to a byte, the lowest first.
    pub(crate) fn number(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.byte(value as u8 | 0x80);
            value >>= 7;
        }
        self.byte(value as u8);
    }

    /// The bits of a float.
    pub(crate) fn float(&mut self, value: f64) {
        self.0.extend_from_slice(&value.to_bits().to_le_bytes());
    }

    /// Bytes without a length.
    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// A length, and the bytes.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.raw(bytes);
    }

    /// A length, and the entries.
    pub(crate) fn list<T>(&mut self, entries: &[T], mut each: impl FnMut(&mut Self, &T)) {
        self.number(entries.len() as u64);
        entries.iter().for_each(|entry| each(self, entry));
    }

    /// A flag, and the value if there is one.
    pub(crate) fn option<T>(&mut self, value: Option<T>, each: impl FnOnce(&mut Self, T)) {
        self.flag(value.is_some());
        if let Some(value) = value {
            each(self, value);
        }
    }

    /// The number of bits, and the bits, eight to a byte.
    pub(crate) fn path(&mut self, path: &[bool]) {
        self.number(path.len() as u64);
        for chunk in path.chunks(8) {
            self.byte(chunk.iter().rev().fold(0, |bits, &bit| bits << 1 | u8::from(bit)));
        }
    }
}

/// Takes values from the front of some bytes.
#[derive(Debug)]
pub(crate) struct In<'a>(&'a [u8]);

impl<'a> In<'a> {
    /// Reads these bytes.
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// The next `count` bytes.
    pub(crate) fn raw(&mut self, count: usize) -> Result<&'a [u8], WireError> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(WireError)?;
        self.0 = rest;
        Ok(taken)
    }

    /// The next `N` bytes.
    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], WireError> {
        self.raw(N)?.try_into().map_err(|_| WireError)
    }

    /// A byte.
    pub(crate) fn byte(&mut self) -> Result<u8, WireError> {
        Ok(self.array::<1>()?[0])
    }

    /// A yes or no.
    pub(crate) fn flag(&mut self) -> Result<bool, WireError> {
        match self.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(WireError),
        }
    }

    /// A number that [`Out::number`] wrote.
    pub(crate) fn number(&mut self) -> Result<u64, WireError> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if bits << shift >> shift != bits {
                return Err(WireError);
            }
            value |= bits << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(WireError)
    }

    /// A number that fits into 32 bits.
    pub(crate) fn small(&mut self) -> Result<u32, WireError> {
        self.number()?.try_into().map_err(|_| WireError)
    }

    /// The length of a list in which every entry takes at least one byte, so it is at most the
    /// number of bytes left.
    pub(crate) fn length(&mut self) -> Result<usize, WireError> {
        let length = usize::try_from(self.number()?).map_err(|_| WireError)?;
        if length > self.0.len() { Err(WireError) } else { Ok(length) }
    }

    /// The bits of a float.
    pub(crate) fn float(&mut self) -> Result<f64, WireError> {
        Ok(f64::from_bits(u64::from_le_bytes(self.array()?)))
    }

    /// A length, and the bytes.
    pub(crate) fn bytes(&mut self) -> Result<&'a [u8], WireError> {
        let length = self.length()?;
        self.raw(length)
    }

    /// A length, and the entries.
    pub(crate) fn list<T>(
        &mut self,
        mut each: impl FnMut(&mut Self) -> Result<T, WireError>,
    ) -> Result<Vec<T>, WireError> {
        let length = self.length()?;
        (0..length).map(|_| each(self)).collect()
    }

    /// A flag, and the value if it is set.
    pub(crate) fn option<T>(
        &mut self,
        each: impl FnOnce(&mut Self) -> Result<T, WireError>,
    ) -> Result<Option<T>, WireError> {
        if self.flag()? { each(self).map(Some) } else { Ok(None) }
    }

    /// A path that [`Out::path`] wrote.
    pub(crate) fn path(&mut self) -> Result<Vec<bool>, WireError> {
        let length = usize::try_from(self.number()?).map_err(|_| WireError)?;
        let packed = self.raw(length.div_ceil(8))?;
        Ok((0..length).map(|bit| packed[bit / 8] >> (bit % 8) & 1 == 1).collect())
    }

    /// Checks that nothing is left.
    pub(crate) fn end(&self) -> Result<(), WireError> {
        if self.0.is_empty() { Ok(()) } else { Err(WireError) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_reads_back_and_nothing_shorter_does() {
        let path: Vec<bool> = (0..19).map(|at| at % 3 == 0).collect();
        let mut out = Out::default();
        out.number(u64::MAX);
        out.float(-0.0);
        out.path(&path);
        out.list(&[1u64, 300, 7], |out, &value| out.number(value));
        out.option(Some(&b"text"[..]), |out, bytes| out.bytes(bytes));
        out.flag(false);
        let read = |bytes: &[u8]| -> Result<(), WireError> {
            let mut input = In::new(bytes);
            assert_eq!(input.number()?, u64::MAX);
            assert_eq!(input.float()?.to_bits(), (-0.0f64).to_bits());
            assert_eq!(input.path()?, path);
            assert_eq!(input.list(In::number)?, [1, 300, 7]);
            assert_eq!(input.option(In::bytes)?, Some(&b"text"[..]));
            assert!(!input.flag()?);
            input.end()
        };
        assert_eq!(read(&out.0), Ok(()));
        for cut in 0..out.0.len() {
            assert_eq!(read(&out.0[..cut]), Err(WireError), "cut at {cut}");
        }
        assert_eq!(read(&[&out.0[..], &[0]].concat()), Err(WireError));
        // A length beyond the bytes that are there allocates no memory.
        let mut long = Out::default();
        long.number(1 << 60);
        assert_eq!(In::new(&long.0).list(In::number), Err(WireError));
        assert_eq!(In::new(&long.0).path(), Err(WireError));
        assert_eq!(In::new(&[0xff; 10]).number(), Err(WireError));
    }
}
