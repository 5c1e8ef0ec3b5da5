//! Which instructions do the work.

use alloc::vec::Vec;
use core::fmt;

/// A way to compute the scores. All give the same bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Path {
    /// One row at a time, on every processor.
    Scalar,
}

impl Path {
    /// All paths, the fastest first.
    pub const ALL: [Self; 1] = [Self::Scalar];

    /// The fastest path of this processor.
    pub fn best() -> Self {
        Self::Scalar
    }

    /// The paths that this processor has, the fastest first.
    pub fn available() -> Vec<Self> {
        Self::ALL.into_iter().filter(|path| path.is_available()).collect()
    }

    /// Has this processor the instructions?
    pub fn is_available(self) -> bool {
        true
    }

    /// Its name: `scalar`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Scalar => "scalar",
        }
    }

    /// The path of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|path| path.name() == name)
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
