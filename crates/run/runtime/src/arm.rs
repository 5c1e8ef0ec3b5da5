//! Wider instructions of ARM: NEON, which every 64-bit processor has. As in `x86.rs`, two things
//! are unsafe: *entering* the instruction set ([`enter`]), and *reading arrays as vectors* and
//! back. The latter passes them by value, both types have the same size, and every bit pattern is a
//! value of either.
#![allow(unsafe_code, reason = "argued above, and at each place")]

use crate::kernel::Instructions;
use crate::path::Path;

/// Calls a function of an instruction set's module from a method of the module's type `Entered`.
macro_rules! entered {
    ($call:expr) => {
        // SAFETY: a value of this type exists, so that this processor has every feature that the
        // module is compiled for.
        unsafe { $call }
    };
}

/// Calls `work` with the instructions of the path `Neon`; `None` for other paths.
pub(crate) fn enter<R>(path: Path, work: impl FnOnce(&dyn Instructions) -> R) -> Option<R> {
    match path {
        // SAFETY: NEON is a part of every 64-bit ARM processor, and of every target that this is
        // compiled for.
        Path::Neon => Some(work(&unsafe { neon::Entered::new() })),
        _ => None,
    }
}

mod neon;
