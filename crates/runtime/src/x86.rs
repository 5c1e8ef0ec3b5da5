//! Wider instructions of x86: SSE4.2, AVX2 and AVX-512. The one place with unsafe code: this file and those of its folder.
//!
//! Unsafe are two things here, and no more:
//! - *Entering* an instruction set: the functions below are called only where `Path::is_available` has found it on
//!   this processor ([`enter`]).
//! - *Reading arrays as vectors* and back (`vectors`): both have the same size, every bit pattern is a value of either, and they are
//!   passed by value, so that no address is involved.
//!
//! Everything else is safe code, with indices checked.
#![allow(unsafe_code, reason = "argued above, and at each place")]

use crate::error::PredictError;
use crate::kernel::Instructions;
use crate::model::Model;
use crate::path::Path;
use crate::rows::AnyRows;

/// Calls a function of the module of an instruction set from a method of its type `Entered`.
macro_rules! entered {
    ($call:expr) => {
        // SAFETY: a value of this type exists, so that this processor has every feature that the module is compiled for.
        unsafe { $call }
    };
}

/// Works with a path that this processor has; `None` for a path that it has not, or that is none of ours.
pub(crate) fn enter<R>(path: Path, work: impl FnOnce(&dyn Instructions) -> R) -> Option<R> {
    match path {
        // SAFETY: the condition says that this processor has every feature that `avx512` is compiled for.
        Path::Avx512 if has_avx512() => Some(work(&unsafe { avx512::Entered::new() })),
        // SAFETY: the condition says that this processor has every feature that `avx2` is compiled for.
        Path::Avx2 if has_avx2() => Some(work(&unsafe { avx2::Entered::new() })),
        // SAFETY: the condition says that this processor has every feature that `sse42` is compiled for.
        Path::Sse42 if has_sse42() => Some(work(&unsafe { sse42::Entered::new() })),
        _ => None,
    }
}

/// The sums of rows, one at a time: `None` where the path or the model has no layout for it.
pub(crate) fn enter_single(
    path: Path,
    model: &Model,
    rows: &AnyRows<'_>,
    scores: &mut [f64],
) -> Option<Result<(), PredictError>> {
    match path {
        Path::Avx512 if has_vbmi() => {
            let single = model.single()?;
            // SAFETY: the condition says that this processor has every feature that `vbmi::sums` is compiled for.
            Some(unsafe { vbmi::sums(model, single, rows, scores) })
        }
        // AVX-512 without VBMI has nothing better.
        Path::Avx512 | Path::Avx2 if has_avx2() && model.plan.columns <= avx2_single::MOST_COLUMNS => {
            let single = model.single()?;
            // SAFETY: the condition says that this processor has every feature that `avx2_single::sums` is compiled for.
            Some(unsafe { avx2_single::sums(model, single, rows, scores) })
        }
        _ => None,
    }
}

/// Has this processor what `sse42` is compiled for?
pub(crate) fn has_sse42() -> bool {
    processor::has(processor::SSE42)
}

/// Has this processor what `avx2` is compiled for?
pub(crate) fn has_avx2() -> bool {
    processor::has(processor::AVX2)
}

/// Has this processor what `avx512` is compiled for?
pub(crate) fn has_avx512() -> bool {
    processor::has(processor::AVX512)
}

/// Has this processor what `vbmi` is compiled for?
fn has_vbmi() -> bool {
    processor::has(processor::VBMI)
}

mod avx2;
mod avx2_single;
mod avx512;
mod processor;
mod sse42;
mod vbmi;
