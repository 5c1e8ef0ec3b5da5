//! Wider instructions of x86: SSE4.2, AVX2 and AVX-512. In this crate only this file and its
//! folder, `arm.rs` and its folder, and `exponential.rs` contain unsafe code.
//!
//! Three things here are unsafe, and nothing else:
//! - *Entering* an instruction set: the functions below are called only if this processor was found
//!   to have the instruction set ([`enter`], [`enter_single`]).
//! - *Reading arrays as vectors* and back (`vectors`): both types have the same size, every bit
//!   pattern is a value of either, and they are passed by value, so that no address is involved.
//! - *Seeing a mask as words of 16 bits or as bytes* ([`words16`], [`bytes8`]), since a comparison
//!   gives the bits of sixteen or eight rows.
//!
//! Everything else is safe code, with indices checked.
#![allow(unsafe_code, reason = "argued above, and at each place")]

use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};

use crate::error::PredictError;
use crate::kernel::Instructions;
use crate::model::Model;
use crate::path::Path;
use crate::rows::AnyRows;
use crate::sliced::Mask;

/// Calls a function of an instruction set's module from a method of the module's type `Entered`.
macro_rules! entered {
    ($call:expr) => {
        // SAFETY: a value of this type exists, so that this processor has every feature that the
        // module is compiled for.
        unsafe { $call }
    };
}

/// Calls `work` with the instructions of a path. `None` if this processor does not have them, or if
/// the path does not belong to x86.
pub(crate) fn enter<R>(path: Path, work: impl FnOnce(&dyn Instructions) -> R) -> Option<R> {
    match path {
        // SAFETY: the condition says that this processor has every feature that `avx512` is
        // compiled for.
        Path::Avx512 if has_avx512() => Some(work(&unsafe { avx512::Entered::new() })),
        // SAFETY: the condition says that this processor has every feature that `avx2` is compiled
        // for.
        Path::Avx2 if has_avx2() => Some(work(&unsafe { avx2::Entered::new() })),
        // SAFETY: the condition says that this processor has every feature that `sse42` is compiled
        // for.
        Path::Sse42 if has_sse42() => Some(work(&unsafe { sse42::Entered::new() })),
        _ => None,
    }
}

/// The sums of rows, one row at a time. `None` if the path or the model has no layout for this.
pub(crate) fn enter_single(
    path: Path,
    model: &Model,
    rows: &AnyRows<'_>,
    scores: &mut [f64],
) -> Option<Result<(), PredictError>> {
    match path {
        Path::Avx512 if has_vbmi() => {
            let single = model.single()?;
            // SAFETY: the condition says that this processor has every feature that `vbmi::sums` is
            // compiled for.
            Some(unsafe { vbmi::sums(model, single, rows, scores) })
        }
        // AVX-512 without VBMI has nothing faster for single rows than AVX2.
        Path::Avx512 | Path::Avx2 if has_avx2() && model.plan.columns <= avx2_single::MOST_COLUMNS => {
            let single = model.single()?;
            // SAFETY: the condition says that this processor has every feature that
            // `avx2_single::sums` is compiled for.
            Some(unsafe { avx2_single::sums(model, single, rows, scores) })
        }
        _ => None,
    }
}

/// What a row costs alone (see `Single::cost`). `None` if the path or the model has no layout for
/// this.
pub(crate) fn single_cost(path: Path, model: &Model) -> Option<f64> {
    match path {
        Path::Avx512 if has_vbmi() => Some(model.single()?.cost(&model.plan)),
        // Its registers are half as wide.
        Path::Avx512 | Path::Avx2 if model.plan.columns <= avx2_single::MOST_COLUMNS => {
            Some(2.0 * model.single()?.cost(&model.plan))
        }
        _ => None,
    }
}

/// Does this processor have all that `sse42` is compiled for?
pub(crate) fn has_sse42() -> bool {
    processor::has(processor::SSE42)
}

/// Does this processor have all that `avx2` is compiled for?
pub(crate) fn has_avx2() -> bool {
    processor::has(processor::AVX2)
}

/// Does this processor have all that `avx512` is compiled for?
pub(crate) fn has_avx512() -> bool {
    processor::has(processor::AVX512)
}

/// Does this processor have all that `vbmi` is compiled for?
fn has_vbmi() -> bool {
    processor::has(processor::VBMI)
}

/// A mask as words of 16 bits, in the order of the rows.
fn words16(mask: &mut Mask) -> &mut [u16; 32] {
    // SAFETY: both types have the same size, a mask has the larger alignment, every bit pattern is
    // a value of either, and the reference to the mask is not used while the other one lives.
    unsafe { &mut *core::ptr::from_mut(&mut mask.0).cast() }
}

/// A mask as bytes, in the order of the rows.
fn bytes8(mask: &mut Mask) -> &mut [u8; 64] {
    // SAFETY: as for `words16`.
    unsafe { &mut *core::ptr::from_mut(&mut mask.0).cast() }
}

/// Asks the processor to bring the line of memory with this place into its nearest cache.
#[inline]
fn prefetch<T>(place: Option<&T>) {
    if let Some(place) = place {
        // SAFETY: every 64-bit x86 processor has the instruction, and it changes no memory.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(core::ptr::from_ref(place).cast()) };
    }
}

mod avx2;
mod avx2_single;
mod avx512;
mod processor;
mod sse42;
mod vbmi;
