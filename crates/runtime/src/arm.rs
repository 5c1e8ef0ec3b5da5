//! Wider instructions of ARM: NEON, which every processor of 64 bits has. As in `x86.rs`, unsafe is here and in the folder alone, and is two
//! things: *entering* the instruction set ([`enter`]), and *reading arrays as vectors* and back, by value, where both have the same size and
//! every bit pattern is a value of either.
#![allow(unsafe_code, reason = "argued above, and at each place")]

use crate::kernel::Instructions;
use crate::path::Path;

/// Calls a function of the module of an instruction set from a method of its type `Entered`.
macro_rules! entered {
    ($call:expr) => {
        // SAFETY: a value of this type exists, so that this processor has every feature that the module is compiled for.
        unsafe { $call }
    };
}

/// Works with the path that is ours; `None` for others.
pub(crate) fn enter<R>(path: Path, work: impl FnOnce(&dyn Instructions) -> R) -> Option<R> {
    match path {
        // SAFETY: NEON is a part of every ARM processor of 64 bits, and of every target that this is compiled for.
        Path::Neon => Some(work(&unsafe { neon::Entered::new() })),
        _ => None,
    }
}

mod neon;
