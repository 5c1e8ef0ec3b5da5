//! Predictions for many rows: chooses the path for them, and shares them among threads.

#[cfg(feature = "std")]
use core::ops::Range;

use crate::error::PredictError;
use crate::kernel::{self, Instructions};
use crate::model::Model;
use crate::path::Path;
use crate::portable::Portable;
use crate::rows::AnyRows;
#[cfg(feature = "std")]
use crate::rows::Float;
#[cfg(feature = "std")]
use crate::sliced::Mask;
use crate::sliced::ROWS;
#[cfg(feature = "std")]
use crate::sparse::SparseRows;

/// The smallest number of rows for which a block is faster than the rows one by one.
///
/// A block does most of its work for 512 rows at once, with fewer rows at nearly the same cost; the
/// rest is about as much for a row as that row costs alone. Both costs follow from the model, in
/// nanoseconds of one machine; only their ratio matters.
fn worth_a_block(model: &Model, path: Path) -> usize {
    /// If all trees are walked, rows side by side pay off early.
    const WALKED: usize = 6;
    let sliced = model.sliced();
    if entered(path, &mut |instructions| kernel::walks_all(instructions, sliced)) == Some(true) {
        return WALKED;
    }
    // What masks cost beside those of one register.
    let masks = match path {
        Path::Avx512 => 1.0,
        Path::Avx2 => 3.5,
        _ => 7.0,
    };
    // In a block, a row still costs about a third of what it costs alone.
    let block = 1.2 * masks * sliced.cost();
    (block / one_row(model, path)).clamp(2.0, 128.0) as usize
}

/// The cost of a row that comes alone.
fn one_row(model: &Model, path: Path) -> f64 {
    #[cfg(target_arch = "x86_64")]
    if let Some(cost) = crate::x86::single_cost(path, model) {
        return cost;
    }
    let _ = path;
    10.0 * model.plan.roots.len() as f64 + 5.0 * model.plan.features.len() as f64
}

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
    // One row needs no layout for blocks.
    if path == Path::Scalar || count < 2 || model.plan.columns > MOST_COLUMNS {
        return one_by_one(model, path, &rows, 0, scores);
    }
    // The rows after the last full block, if they are few.
    let rest = if count % ROWS < worth_a_block(model, path) { count % ROWS } else { 0 };
    let (blocks, few) = scores.split_at_mut((count - rest) * model.outputs());
    if rest < count {
        in_blocks(model, path, rows.part(0..count - rest), blocks)?;
    }
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
    let done = entered(path, &mut |instructions| {
        model.pool.with(|scratch| kernel::sums(instructions, model, sliced, rows, scratch, scores))
    });
    done.unwrap_or_else(|| model.scalar_sums(&rows, scores))
}

/// Calls `work` with the instructions of a path; `None` if it has none for blocks.
fn entered<R>(path: Path, work: &mut dyn FnMut(&dyn Instructions) -> R) -> Option<R> {
    #[cfg(target_arch = "x86_64")]
    if let Some(done) = crate::x86::enter(path, &mut *work) {
        return Some(done);
    }
    #[cfg(target_arch = "aarch64")]
    if let Some(done) = crate::arm::enter(path, &mut *work) {
        return Some(done);
    }
    let _ = path;
    if HAS_PORTABLE { Some(work(&Portable)) } else { None }
}

/// The sums of sparse rows.
#[cfg(feature = "std")]
pub(crate) fn sparse_sums<T: Float>(
    model: &Model,
    path: Path,
    rows: &SparseRows<'_, T>,
    scores: &mut [f64],
) -> Result<(), PredictError> {
    if !path.is_available() {
        return Err(PredictError::NoSuchPath);
    }
    let blocks = path != Path::Scalar && rows.count() > 1 && model.plan.columns <= MOST_COLUMNS;
    if blocks && rows.count() >= worth_a_block(model, path) {
        let sliced = model.sliced();
        let features = rows.features(model);
        let done = entered(path, &mut |instructions| {
            let takes = kernel::takes_sparse(instructions, model, sliced);
            if takes {
                let read = |part, masks: &mut [Mask]| rows.masks(model, sliced, &features, part, masks);
                model.pool.with(|scratch| {
                    kernel::sparse_sums(instructions, model, sliced, &read, scratch, scores);
                });
            }
            takes
        });
        if done == Some(true) {
            return Ok(());
        }
    }
    rows.in_full(|rows, range| {
        let outputs = model.outputs();
        let scores = &mut scores[range.start * outputs..range.end * outputs];
        sums(model, path, T::any(rows), scores).map_err(|error| at(error, range.start))
    })
}

/// Shares rows among threads: `work` computes the sums of a range of rows. Every thread takes whole
/// blocks; the bits do not depend on the number of threads.
#[cfg(feature = "std")]
pub(crate) fn by_threads(
    count: usize,
    outputs: usize,
    threads: usize,
    scores: &mut [f64],
    work: impl Fn(Range<usize>, &mut [f64]) -> Result<(), PredictError> + Sync,
) -> Result<(), PredictError> {
    let blocks = count.div_ceil(ROWS);
    let threads = threads.clamp(1, blocks.max(1));
    if threads == 1 {
        return work(0..count, scores);
    }
    let share = blocks.div_ceil(threads) * ROWS;
    let parts = scores.chunks_mut(share * outputs).enumerate();
    let work = |(index, scores): (usize, &mut [f64])| {
        let first = index * share;
        work(first..count.min(first + share), scores).map_err(|error| at(error, first))
    };
    std::thread::scope(|scope| {
        let handles: alloc::vec::Vec<_> = parts.map(|part| scope.spawn(|| work(part))).collect();
        // Returns the first error in the order of the rows.
        handles.into_iter().try_for_each(|handle| match handle.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        })
    })
}
