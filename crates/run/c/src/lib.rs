//! The C interface of `secateur-runtime`; `include/secateur_runtime.h` documents it.
//!
//! Every function checks its pointers for null, makes slices of the pointers and sizes, calls the
//! runtime, and turns errors into codes with a message. Rust cannot check that pointers point to as
//! many values as the sizes say; the header requires it of the caller.
//!
//! Without the feature `std` the library is half as large: memory comes from `malloc`, there is one
//! thread, and a fault of the runtime itself ends the program (`small`).

#![cfg_attr(not(feature = "std"), no_std)]

extern crate alloc;

use alloc::borrow::ToOwned as _;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString as _};
use core::ffi::c_char;

use secateur_runtime::{Float, Model, Path, PredictError, Rows};

#[cfg(not(feature = "std"))]
mod small;

const OK: i32 = 0;
const BAD_ARGUMENT: i32 = 1;
const BAD_FILE: i32 = 2;
const BAD_INPUT: i32 = 3;
const FAILED: i32 = 4;

/// A failure: its code and its message.
type Failure = (i32, String);

fn null() -> Failure {
    (BAD_ARGUMENT, "a pointer is NULL".to_owned())
}

fn too_large() -> Failure {
    (BAD_ARGUMENT, "the sizes do not fit into memory".to_owned())
}

/// Checks that memory can hold this number of values: a slice has at most `isize::MAX` bytes.
fn checked<T>(count: Option<usize>) -> Result<usize, Failure> {
    count.filter(|&count| core::alloc::Layout::array::<T>(count).is_ok()).ok_or_else(too_large)
}

fn refused(error: PredictError) -> Failure {
    let code = match error {
        PredictError::Width { .. } | PredictError::Shape | PredictError::Output { .. } => BAD_ARGUMENT,
        _ => BAD_INPUT,
    };
    (code, error.to_string())
}

/// Turns a panic into a failure.
#[cfg(feature = "std")]
fn caught(work: impl FnOnce() -> Result<(), Failure>) -> Result<(), Failure> {
    std::panic::catch_unwind(core::panic::AssertUnwindSafe(work)).unwrap_or_else(|_| {
        Err((FAILED, "the runtime itself failed; please report this with the model".to_owned()))
    })
}

/// There is nothing to catch: a panic ends the program (`small`).
#[cfg(not(feature = "std"))]
fn caught(work: impl FnOnce() -> Result<(), Failure>) -> Result<(), Failure> {
    work()
}

/// Runs `work`, writes the message of its failure, and returns its code.
///
/// # Safety
/// `message` is null or points to `room` bytes that may be written.
unsafe fn ended(message: *mut c_char, room: usize, work: impl FnOnce() -> Result<(), Failure>) -> i32 {
    let (code, text) = match caught(work) {
        Ok(()) => (OK, String::new()),
        Err(failure) => failure,
    };
    if !message.is_null() && room > 0 {
        let length = text.len().min(room - 1);
        // SAFETY: the caller promises `room` bytes, and `length + 1` is at most `room`.
        unsafe {
            core::ptr::copy_nonoverlapping(text.as_ptr(), message.cast(), length);
            *message.add(length) = 0;
        }
    }
    code
}

/// Reads a packed model.
///
/// # Safety
/// As the header says: `bytes` points to `length` bytes, `model` to memory for a pointer, `message`
/// to `room` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn secateur_load(
    bytes: *const u8,
    length: usize,
    model: *mut *mut Model,
    message: *mut c_char,
    room: usize,
) -> i32 {
    let work = || {
        if bytes.is_null() || model.is_null() {
            return Err(null());
        }
        let length = checked::<u8>(Some(length))?;
        // SAFETY: not null, and as long as the caller says.
        let bytes = unsafe { core::slice::from_raw_parts(bytes, length) };
        let loaded = Model::load(bytes).map_err(|error| (BAD_FILE, error.to_string()))?;
        // SAFETY: not null, and the caller promises memory for a pointer.
        unsafe { *model = Box::into_raw(Box::new(loaded)) };
        Ok(())
    };
    // SAFETY: the caller promises that `message` is null or points to `room` bytes.
    unsafe { ended(message, room, work) }
}

/// Frees a model.
///
/// # Safety
/// `model` is null or comes from [`secateur_load`], and is not used afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn secateur_free(model: *mut Model) {
    if !model.is_null() {
        // SAFETY: it comes from `Box::into_raw`, and this is the last use.
        drop(unsafe { Box::from_raw(model) });
    }
}

/// The number of columns of a row.
///
/// # Safety
/// `model` is null or comes from [`secateur_load`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn secateur_features(model: *const Model) -> usize {
    // SAFETY: the caller promises that `model` is null or comes from `secateur_load`.
    unsafe { model.as_ref() }.map_or(0, Model::features)
}

/// The number of raw scores of a row.
///
/// # Safety
/// `model` is null or comes from [`secateur_load`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn secateur_outputs(model: *const Model) -> usize {
    // SAFETY: the caller promises that `model` is null or comes from `secateur_load`.
    unsafe { model.as_ref() }.map_or(0, Model::outputs)
}

/// The number of classes.
///
/// # Safety
/// `model` is null or comes from [`secateur_load`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn secateur_classes(model: *const Model) -> usize {
    // SAFETY: the caller promises that `model` is null or comes from `secateur_load`.
    unsafe { model.as_ref() }.map_or(0, |model| model.labels().len())
}

/// A table in the caller's memory.
struct Table<T> {
    rows: *const T,
    count: usize,
    row_stride: usize,
    column_stride: usize,
}

/// # Safety
/// `model` comes from [`secateur_load`] or is null, the table has the values that its strides reach
/// or is null, and `scores` has room for all scores or is null.
unsafe fn raw_scores<T: Float>(
    model: *const Model,
    table: &Table<T>,
    threads: usize,
    scores: *mut f64,
) -> Result<(), Failure> {
    // SAFETY: the caller promises that `model` is null or comes from `secateur_load`.
    let model = unsafe { model.as_ref() }.ok_or_else(null)?;
    let (count, width) = (table.count, model.features());
    if count == 0 {
        return Ok(());
    }
    if table.rows.is_null() || scores.is_null() {
        return Err(null());
    }
    let reach = |count: usize, stride: usize| count.saturating_sub(1).checked_mul(stride);
    let length = reach(count, table.row_stride)
        .zip(reach(width, table.column_stride))
        .and_then(|(rows, columns)| rows.checked_add(columns)?.checked_add(1));
    let length = checked::<T>(length)?;
    let outputs = checked::<f64>(count.checked_mul(model.outputs()))?;
    // SAFETY: not null, and the caller says that the table has the values that its strides reach.
    let values = unsafe { core::slice::from_raw_parts(table.rows, length) };
    // SAFETY: not null, and the caller says that there is room for all scores.
    let scores = unsafe { core::slice::from_raw_parts_mut(scores, outputs) };
    let rows = Rows::strided(values, count, width, table.row_stride, table.column_stride).map_err(refused)?;
    #[cfg(feature = "std")]
    return model.raw_scores_by_threads(Path::best(), rows, threads.max(1), scores).map_err(refused);
    // One thread computes the same bits as several.
    #[cfg(not(feature = "std"))]
    {
        let _ = threads;
        model.raw_scores_on(Path::best(), rows, scores).map_err(refused)
    }
}

/// Raw scores of rows of floats.
///
/// # Safety
/// Each pointer is as the header requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn secateur_raw_scores_f32(
    model: *const Model,
    rows: *const f32,
    count: usize,
    row_stride: usize,
    column_stride: usize,
    threads: usize,
    scores: *mut f64,
    message: *mut c_char,
    room: usize,
) -> i32 {
    let table = Table { rows, count, row_stride, column_stride };
    // SAFETY: the caller makes the promises that `raw_scores` and `ended` need.
    unsafe { ended(message, room, || raw_scores(model, &table, threads, scores)) }
}

/// Raw scores of rows of doubles.
///
/// # Safety
/// Each pointer is as the header requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn secateur_raw_scores_f64(
    model: *const Model,
    rows: *const f64,
    count: usize,
    row_stride: usize,
    column_stride: usize,
    threads: usize,
    scores: *mut f64,
    message: *mut c_char,
    room: usize,
) -> i32 {
    let table = Table { rows, count, row_stride, column_stride };
    // SAFETY: the caller makes the promises that `raw_scores` and `ended` need.
    unsafe { ended(message, room, || raw_scores(model, &table, threads, scores)) }
}

/// # Safety
/// `model` comes from [`secateur_load`] or is null, `scores` has the scores of `count` rows or is
/// null, and `out` has room for `width` numbers for each or is null.
unsafe fn from_scores<'a, T>(
    model: *const Model,
    scores: *const f64,
    count: usize,
    out: *mut T,
    width: impl Fn(&Model) -> usize,
) -> Result<(&'a Model, &'a [f64], &'a mut [T]), Failure> {
    // SAFETY: the caller promises that `model` is null or comes from `secateur_load`.
    let model = unsafe { model.as_ref() }.ok_or_else(null)?;
    if scores.is_null() || out.is_null() {
        return Err(null());
    }
    let length = checked::<f64>(count.checked_mul(model.outputs()))?;
    let wanted = checked::<T>(count.checked_mul(width(model)))?;
    // SAFETY: neither is null, and both are as long as the caller says.
    Ok(unsafe {
        (model, core::slice::from_raw_parts(scores, length), core::slice::from_raw_parts_mut(out, wanted))
    })
}

/// The class of each row.
///
/// # Safety
/// Each pointer is as the header requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn secateur_decide(
    model: *const Model,
    scores: *const f64,
    count: usize,
    classes: *mut u32,
    message: *mut c_char,
    room: usize,
) -> i32 {
    let work = || {
        if count == 0 {
            return Ok(());
        }
        // SAFETY: the caller makes the promises that `from_scores` needs.
        let (model, scores, classes) = unsafe { from_scores(model, scores, count, classes, |_| 1) }?;
        // Row by row, since memory for all rows at once might not be available.
        for (class, scores) in classes.iter_mut().zip(scores.chunks(model.outputs())) {
            let mut found = [0.0];
            model.classes_of(scores, &mut found).map_err(refused)?;
            *class = found[0] as u32;
        }
        Ok(())
    };
    // SAFETY: the caller promises that `message` is null or points to `room` bytes.
    unsafe { ended(message, room, work) }
}

/// # Safety
/// `model` comes from [`secateur_load`] or is null, `scores` has the scores of `count` rows or is
/// null, and `out` has room for `width` numbers for each or is null.
unsafe fn probabilities(
    model: *const Model,
    scores: *const f64,
    count: usize,
    out: *mut f64,
    width: impl Fn(&Model) -> usize,
) -> Result<(), Failure> {
    if count == 0 {
        return Ok(());
    }
    // SAFETY: the caller makes the promises that `from_scores` needs.
    let (model, scores, out) = unsafe { from_scores(model, scores, count, out, width) }?;
    // The caller has made room for the kind of model that the called function expects.
    if out.len() / count != model.class_count() {
        return Err(refused(PredictError::NoProbabilities));
    }
    model.probabilities_of(scores, out).map_err(refused)
}

/// The probability of each class of each row.
///
/// # Safety
/// Each pointer is as the header requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn secateur_probabilities(
    model: *const Model,
    scores: *const f64,
    count: usize,
    out: *mut f64,
    message: *mut c_char,
    room: usize,
) -> i32 {
    let width = |model: &Model| model.labels().len();
    // SAFETY: the caller makes the promises that `probabilities` and `ended` need.
    unsafe { ended(message, room, || probabilities(model, scores, count, out, width)) }
}

/// The probability of each label of each row, for models with which a row may get several labels.
///
/// # Safety
/// Each pointer is as the header requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn secateur_label_probabilities(
    model: *const Model,
    scores: *const f64,
    count: usize,
    out: *mut f64,
    message: *mut c_char,
    room: usize,
) -> i32 {
    // A model with classes has no labels, even if it has as many scores as classes.
    let width = |model: &Model| if model.labels().is_empty() { model.outputs() } else { 0 };
    // SAFETY: the caller makes the promises that `probabilities` and `ended` need.
    unsafe { ended(message, room, || probabilities(model, scores, count, out, width)) }
}

/// The values that a regressor's or ranker's own `predict` returns for each row.
///
/// # Safety
/// Each pointer is as the header requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn secateur_values(
    model: *const Model,
    scores: *const f64,
    count: usize,
    values: *mut f64,
    message: *mut c_char,
    room: usize,
) -> i32 {
    let work = || {
        if count == 0 {
            return Ok(());
        }
        // SAFETY: the caller makes the promises that `from_scores` needs.
        let (model, scores, out) = unsafe { from_scores(model, scores, count, values, Model::outputs) }?;
        model.values_of(scores, out).map_err(refused)
    };
    // SAFETY: the caller promises that `message` is null or points to `room` bytes.
    unsafe { ended(message, room, work) }
}

/// Does every path of this machine give the bits in the file?
///
/// # Safety
/// Each pointer is as the header requires.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn secateur_self_test(model: *const Model, message: *mut c_char, room: usize) -> i32 {
    let work = || {
        // SAFETY: the caller promises that `model` is null or comes from `secateur_load`.
        let model = unsafe { model.as_ref() }.ok_or_else(null)?;
        let test = model.self_test().map_err(refused)?;
        match test.paths.iter().find(|(_, fits)| !fits) {
            None => Ok(()),
            Some((path, _)) => {
                Err((FAILED, format!("the path {path} gives other bits than those in the file")))
            }
        }
    };
    // SAFETY: the caller promises that `message` is null or points to `room` bytes.
    unsafe { ended(message, room, work) }
}
