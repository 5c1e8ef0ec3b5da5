//! Wider instructions of ARM: NEON, which every processor of 64 bits has. As in `x86.rs`, unsafe is here and in the folder alone, and is two
//! things: *entering* the instruction set ([`enter`]), and *reading arrays as vectors* and back, by value, where both have the same size and
//! every bit pattern is a value of either.
#![allow(unsafe_code, reason = "argued above, and at each place")]

use crate::error::PredictError;
use crate::model::Model;
use crate::path::Path;
use crate::rows::AnyRows;
use crate::sliced::Sliced;

/// The sums of all rows, on the path that is ours; `None` for others.
pub(crate) fn enter(
    path: Path,
    model: &Model,
    sliced: &Sliced,
    rows: AnyRows<'_>,
    scores: &mut [f64],
) -> Option<Result<(), PredictError>> {
    match path {
        // SAFETY: NEON is a part of every ARM processor of 64 bits, and of every target that this is compiled for.
        Path::Neon => Some(unsafe { neon::sums(model, sliced, rows, scores) }),
        _ => None,
    }
}

mod neon;
