//! Predictions for many rows: chooses the path for them, and shares them among threads.

use crate::error::PredictError;
use crate::kernel::{self, Instructions};
use crate::model::Model;
use crate::path::Path;
use crate::portable::Portable;
use crate::rows::AnyRows;
use crate::sliced::ROWS;

/// A block costs the same for any number of rows: fewer rows than this are faster one by one.
const WORTH_A_BLOCK: usize = 128;

/// Whether the portable path is compiled in. Without `std` it is left out on processors whose wider
/// instructions replace it, to keep the library small.
pub(crate) const HAS_PORTABLE: bool =
    cfg!(any(feature = "std", not(any(target_arch = "x86_64", target_arch = "aarch64"))));

/// With more columns than this a block would take tens of megabytes, so that rows are walked one by
/// one.
const MOST_COLUMNS: usize = 1 << 15;

/// The sums of each row.
pub(crate) fn sums(
    model: &Model,
    path: Path,
    rows: AnyRows<'_>,
    scores: &mut [f64],
) -> Result<(), PredictError> {
    if !path.is_available() {
        return Err(PredictError::NoSuchPath);
    }
    let count = rows.count();
    if path == Path::Scalar || count < WORTH_A_BLOCK || model.plan.columns > MOST_COLUMNS {
        return one_by_one(model, path, &rows, 0, scores);
    }
    // The rows after the last full block, if they are few.
    let rest = if count % ROWS < WORTH_A_BLOCK { count % ROWS } else { 0 };
    let (blocks, few) = scores.split_at_mut((count - rest) * model.outputs());
    in_blocks(model, path, rows.part(0..count - rest), blocks)?;
    one_by_one(model, path, &rows.part(count - rest..count), count - rest, few)
}

fn one_by_one(
    model: &Model,
    path: Path,
    rows: &AnyRows<'_>,
    first: usize,
    scores: &mut [f64],
) -> Result<(), PredictError> {
    #[cfg(target_arch = "x86_64")]
    if let Some(done) = crate::x86::enter_single(path, model, rows, scores) {
        return done.map_err(|error| at(error, first));
    }
    let _ = path;
    model.scalar_sums(rows, scores).map_err(|error| at(error, first))
}

/// Counts the row of an error from the caller's first row.
fn at(error: PredictError, first: usize) -> PredictError {
    match error {
        PredictError::Refused { row, feature, value } => {
            PredictError::Refused { row: first + row, feature, value }
        }
        other => other,
    }
}

fn in_blocks(model: &Model, path: Path, rows: AnyRows<'_>, scores: &mut [f64]) -> Result<(), PredictError> {
    let sliced = model.sliced();
    let mut work = |instructions: &dyn Instructions| kernel::sums(instructions, model, sliced, rows, scores);
    #[cfg(target_arch = "x86_64")]
    if let Some(done) = crate::x86::enter(path, &mut work) {
        return done;
    }
    #[cfg(target_arch = "aarch64")]
    if let Some(done) = crate::arm::enter(path, &mut work) {
        return done;
    }
    let _ = path;
    if HAS_PORTABLE { work(&Portable) } else { model.scalar_sums(&rows, scores) }
}

/// The sums of each row, by several threads. Every thread takes whole blocks; the bits do not
/// depend on the number of threads.
#[cfg(feature = "std")]
pub(crate) fn sums_by_threads(
    model: &Model,
    path: Path,
    rows: AnyRows<'_>,
    threads: usize,
    scores: &mut [f64],
) -> Result<(), PredictError> {
    let blocks = rows.count().div_ceil(ROWS);
    let threads = threads.clamp(1, blocks.max(1));
    if threads == 1 {
        return sums(model, path, rows, scores);
    }
    let share = blocks.div_ceil(threads) * ROWS;
    let parts = scores.chunks_mut(share * model.outputs()).enumerate();
    let work = |(index, scores): (usize, &mut [f64])| {
        let first = index * share;
        let end = rows.count().min(first + share);
        sums(model, path, rows.part(first..end), scores).map_err(|error| at(error, first))
    };
    std::thread::scope(|scope| {
        let handles: alloc::vec::Vec<_> = parts.map(|part| scope.spawn(move || work(part))).collect();
        // Returns the first error in the order of the rows.
        handles.into_iter().try_for_each(|handle| match handle.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        })
    })
}
