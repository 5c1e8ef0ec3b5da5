//! The rows of a caller: floats of either type, in any order in memory.

use crate::error::PredictError;
use crate::file::{Domain, File, Rule};
use crate::meaning::Number;
use crate::plan::refuses_infinities;

/// A float that rows may hold: `f32` or `f64`.
pub trait Float: Copy + Send + Sync + sealed::Sealed {
    /// The value as f64, which represents every value of either type exactly.
    fn widen(self) -> f64;
}

mod sealed {
    use super::{AnyRows, Rows};

    /// Converts rows of this type to rows of either type.
    pub trait Sealed: Sized {
        fn any(rows: Rows<'_, Self>) -> AnyRows<'_>;
    }

    impl Sealed for f32 {
        fn any(rows: Rows<'_, Self>) -> AnyRows<'_> {
            AnyRows::F32(rows)
        }
    }

    impl Sealed for f64 {
        fn any(rows: Rows<'_, Self>) -> AnyRows<'_> {
            AnyRows::F64(rows)
        }
    }
}

impl Float for f32 {
    #[inline]
    fn widen(self) -> f64 {
        f64::from(self)
    }
}

impl Float for f64 {
    #[inline]
    fn widen(self) -> f64 {
        self
    }
}

/// A table in memory: value (row, column) is at `row * row_stride + column * column_stride`.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a, T> {
    values: &'a [T],
    count: usize,
    width: usize,
    row_stride: usize,
    column_stride: usize,
}

impl<'a, T: Float> Rows<'a, T> {
    /// One row after the other, each of `width` values.
    pub fn row_major(values: &'a [T], width: usize) -> Result<Self, PredictError> {
        if width == 0 || !values.len().is_multiple_of(width) {
            return Err(PredictError::Shape);
        }
        Self::strided(values, values.len() / width, width, width, 1)
    }

    /// One column after the other, each of `count` values.
    pub fn column_major(values: &'a [T], count: usize, width: usize) -> Result<Self, PredictError> {
        Self::strided(values, count, width, 1, count)
    }

    /// Any order; strides are distances between neighbours, counted in values.
    pub fn strided(
        values: &'a [T],
        count: usize,
        width: usize,
        row_stride: usize,
        column_stride: usize,
    ) -> Result<Self, PredictError> {
        let last = |count: usize, stride: usize| count.saturating_sub(1).checked_mul(stride);
        let fits = count == 0
            || width == 0
            || last(count, row_stride)
                .zip(last(width, column_stride))
                .and_then(|(rows, columns)| rows.checked_add(columns))
                .is_some_and(|last| last < values.len());
        if !fits {
            return Err(PredictError::Shape);
        }
        Ok(Self { values, count, width, row_stride, column_stride })
    }

    /// The number of rows.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The number of columns.
    pub fn width(&self) -> usize {
        self.width
    }

    /// A range of these rows.
    pub(crate) fn part(&self, rows: core::ops::Range<usize>) -> Self {
        let start = (rows.start * self.row_stride).min(self.values.len());
        Self { values: &self.values[start..], count: rows.len(), ..*self }
    }

    #[inline]
    pub(crate) fn value(&self, row: usize, column: usize) -> T {
        self.values[row * self.row_stride + column * self.column_stride]
    }

    /// A row, if its values stand one after the other.
    #[cfg(target_arch = "x86_64")]
    #[inline]
    pub(crate) fn row(&self, row: usize) -> Option<&'a [T]> {
        if self.column_stride == 1 { Some(&self.values[row * self.row_stride..][..self.width]) } else { None }
    }

    /// All values, if they stand row by row without gaps.
    fn whole(&self) -> Option<&'a [T]> {
        let dense = self.column_stride == 1 && self.row_stride == self.width;
        if dense { self.values.get(..self.count * self.width) } else { None }
    }

    /// The values of one column, from the first row to the last.
    #[inline]
    fn column(&self, column: usize) -> impl Iterator<Item = T> + '_ {
        let start = (column * self.column_stride).min(self.values.len());
        self.values[start..].iter().step_by(self.row_stride.max(1)).take(self.count).copied()
    }
}

/// Rows of either type. Code that works on them is compiled once, and only reading distinguishes
/// the types.
#[derive(Clone, Copy, Debug)]
pub enum AnyRows<'a> {
    F32(Rows<'a, f32>),
    F64(Rows<'a, f64>),
}

/// Does the same with rows of either type.
macro_rules! either {
    ($any:expr, $rows:ident => $work:expr) => {
        match $any {
            AnyRows::F32($rows) => $work,
            AnyRows::F64($rows) => $work,
        }
    };
}

impl AnyRows<'_> {
    pub(crate) fn count(&self) -> usize {
        either!(self, rows => rows.count)
    }

    pub(crate) fn width(&self) -> usize {
        either!(self, rows => rows.width)
    }

    /// A range of these rows.
    pub(crate) fn part(&self, range: core::ops::Range<usize>) -> Self {
        match self {
            Self::F32(rows) => Self::F32(rows.part(range)),
            Self::F64(rows) => Self::F64(rows.part(range)),
        }
    }

    #[inline]
    pub(crate) fn value(&self, row: usize, column: usize) -> f64 {
        either!(self, rows => rows.value(row, column).widen())
    }

    /// Writes the values of one column to the beginning of `to`, as f32.
    pub(crate) fn read32(&self, column: usize, to: &mut [f32]) {
        either!(self, rows => to.iter_mut().zip(rows.column(column)).for_each(|(to, value)| *to = value.widen() as f32));
    }

    /// Writes the values of one column to the beginning of `to`.
    pub(crate) fn read64(&self, column: usize, to: &mut [f64]) {
        either!(self, rows => to.iter_mut().zip(rows.column(column)).for_each(|(to, value)| *to = value.widen()));
    }

    /// Is it known that no value is missing or infinite? If `narrow`, after rounding to f32.
    pub(crate) fn is_plain(&self, narrow: bool) -> bool {
        let odd = |value: f64| !(if narrow { f64::from(value as f32) } else { value }).is_finite();
        // As in `any_odd`, and one value after the other.
        let any = |found: bool, value: f64| found | odd(value);
        either!(self, rows => {
            rows.whole().is_some_and(|all| !all.iter().fold(false, |found, value| any(found, value.widen())))
        })
    }

    /// Is any value of this column missing or infinite? If `narrow`, after rounding to f32.
    pub(crate) fn any_odd(&self, column: usize, narrow: bool) -> bool {
        let odd = |value: f64| !(if narrow { f64::from(value as f32) } else { value }).is_finite();
        // No branch ends the loop early, so that several values are tested at once.
        either!(self, rows => rows.column(column).fold(false, |found, value| found | odd(value.widen())))
    }
}

impl Domain {
    /// The value as the library's comparisons read it, or `None` if the library refuses it.
    #[inline]
    pub(crate) fn read(&self, value: f64) -> Option<f64> {
        if value.is_nan() {
            return if self.missing { Some(value) } else { None };
        }
        let value = match self.number {
            Number::F32 => f64::from(value as f32),
            Number::F64 => value,
        };
        if value.is_infinite() && !self.infinities {
            return None;
        }
        match self.zero_window {
            Some(window) if value.abs() <= window => Some(0.0),
            _ => Some(value),
        }
    }
}

impl File {
    /// As [`Domain::read`], for one column: some categorical columns also refuse infinities, some
    /// missing values.
    #[inline]
    pub(crate) fn read_value(&self, feature: usize, value: f64) -> Option<f64> {
        let value = self.domain.read(value)?;
        if !value.is_finite() && self.refuses(feature, value) { None } else { Some(value) }
    }

    #[cold]
    fn refuses(&self, feature: usize, value: f64) -> bool {
        let found = self.categories.binary_search_by_key(&(feature as u32), |known| known.feature);
        found.is_ok_and(|at| match &self.categories[at].rule {
            // CatBoost accepts texts and whole numbers here, but no missing values.
            Rule::Hashed => value.is_nan(),
            rule => value.is_infinite() && refuses_infinities(rule),
        })
    }
}
