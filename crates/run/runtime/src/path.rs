//! The instruction sets that can compute the scores.

use alloc::vec::Vec;
use core::fmt;

/// A way to compute the scores. All give the same bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Path {
    /// 512 rows at a time with AVX-512 (F, BW, DQ, VL).
    Avx512,
    /// 512 rows at a time with AVX2.
    Avx2,
    /// 512 rows at a time with SSE4.2.
    Sse42,
    /// 512 rows at a time with NEON.
    Neon,
    /// 512 rows at a time, on every processor. Without the feature `std`, which small programs
    /// leave out, only on processors without wider instructions.
    Portable,
    /// One row at a time, on every processor.
    Scalar,
}

impl Path {
    /// All paths, the fastest first.
    pub const ALL: [Self; 6] =
        [Self::Avx512, Self::Avx2, Self::Sse42, Self::Neon, Self::Portable, Self::Scalar];

    /// The fastest path of this processor.
    pub fn best() -> Self {
        Self::ALL.into_iter().find(|path| path.is_available()).unwrap_or(Self::Scalar)
    }

    /// The paths that this processor has, the fastest first.
    pub fn available() -> Vec<Self> {
        Self::ALL.into_iter().filter(|path| path.is_available()).collect()
    }

    /// Does this processor have the instructions?
    pub fn is_available(self) -> bool {
        match self {
            Self::Portable => crate::batch::HAS_PORTABLE,
            Self::Scalar => true,
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => crate::x86::has_avx512(),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => crate::x86::has_avx2(),
            #[cfg(target_arch = "x86_64")]
            Self::Sse42 => crate::x86::has_sse42(),
            #[cfg(not(target_arch = "x86_64"))]
            Self::Avx512 | Self::Avx2 | Self::Sse42 => false,
            // Every 64-bit ARM processor has it.
            Self::Neon => cfg!(target_arch = "aarch64"),
        }
    }

    /// Its name: `avx512`, `avx2`, `sse42`, `neon`, `portable` or `scalar`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Avx512 => "avx512",
            Self::Avx2 => "avx2",
            Self::Sse42 => "sse42",
            Self::Neon => "neon",
            Self::Portable => "portable",
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
