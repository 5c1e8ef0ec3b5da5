//! Rows of a caller: floats of either type, in any order in memory.

use crate::error::PredictError;
use crate::file::{Domain, File, Rule};
use crate::meaning::Number;
use crate::plan::refuses_infinities;

/// A float that rows may hold: `f32` or `f64`.
pub trait Float: Copy + Send + Sync + sealed::Sealed {
    /// The value, which an f64 always holds.
    fn widen(self) -> f64;
}

mod sealed {
    use super::Rows;
    use crate::error::PredictError;
    use crate::model::Model;
    use crate::path::Path;

    /// The work for one type, compiled here: with the optimisation of this crate, and once.
    pub trait Sealed: Sized {
        fn sums(
            model: &Model,
            path: Path,
            rows: Rows<'_, Self>,
            scores: &mut [f64],
        ) -> Result<(), PredictError>;
    }

    impl Sealed for f32 {
        fn sums(
            model: &Model,
            path: Path,
            rows: Rows<'_, Self>,
            scores: &mut [f64],
        ) -> Result<(), PredictError> {
            crate::batch::sums(model, path, rows, scores)
        }
    }

    impl Sealed for f64 {
        fn sums(
            model: &Model,
            path: Path,
            rows: Rows<'_, Self>,
            scores: &mut [f64],
        ) -> Result<(), PredictError> {
            crate::batch::sums(model, path, rows, scores)
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

/// A table in memory: value (row, column) stands at `row * row_stride + column * column_stride`.
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

    /// Any order, with the distances between neighbours counted in values.
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

    /// These rows and no others.
    pub(crate) fn part(&self, rows: core::ops::Range<usize>) -> Self {
        let start = (rows.start * self.row_stride).min(self.values.len());
        Self { values: &self.values[start..], count: rows.len(), ..*self }
    }

    #[inline]
    pub(crate) fn value(&self, row: usize, column: usize) -> T {
        self.values[row * self.row_stride + column * self.column_stride]
    }

    /// The values of one column in turn.
    #[inline]
    pub(crate) fn column(&self, column: usize) -> impl Iterator<Item = T> + '_ {
        let start = (column * self.column_stride).min(self.values.len());
        self.values[start..].iter().step_by(self.row_stride.max(1)).take(self.count).copied()
    }
}

impl Domain {
    /// The value as the library's comparisons see it, or `None` where the library refuses it.
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
    /// As [`Domain::read`], for a column: some categorical ones refuse infinities, some missing values.
    #[inline]
    pub(crate) fn read_value(&self, feature: usize, value: f64) -> Option<f64> {
        let value = self.domain.read(value)?;
        if !value.is_finite() && self.refuses(feature, value) { None } else { Some(value) }
    }

    #[cold]
    fn refuses(&self, feature: usize, value: f64) -> bool {
        let found = self.categories.binary_search_by_key(&(feature as u32), |known| known.feature);
        found.is_ok_and(|at| match &self.categories[at].rule {
            // CatBoost takes text and whole numbers, and no missing values.
            Rule::Hashed => value.is_nan(),
            rule => value.is_infinite() && refuses_infinities(rule),
        })
    }
}
