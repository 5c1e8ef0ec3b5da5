//! Rows of which most values are absent.
//!
//! The masks of all tests start as they are for the absent value; then each value that is present
//! changes its row's bit in the tests whose answer it changes. The tests of a feature are in the
//! order of their numbers, so that these are neighbours. A model for which this is not possible gets
//! a few rows at a time with all their values.

use alloc::vec::Vec;
use core::ops::Range;

use crate::error::PredictError;
use crate::model::Model;
use crate::rows::{Float, Rows};
use crate::sliced::{Direct, Mask, ROWS, Sliced};

/// Values that a part of a table has at most, if a model gets all values.
const MOST_VALUES: usize = 1 << 20;

/// A sparse table, row by row: the values of row r are `values[starts[r]..starts[r + 1]]`, in the
/// columns of the same places. All others are absent.
#[derive(Clone, Copy, Debug)]
pub struct SparseRows<'a, T> {
    starts: &'a [usize],
    columns: &'a [u32],
    values: &'a [T],
    width: usize,
    absent: T,
}

impl<'a, T: Float> SparseRows<'a, T> {
    /// The columns of each row must ascend. `absent` is what the library reads where a row has no
    /// value: zero or NaN.
    pub fn new(
        starts: &'a [usize],
        columns: &'a [u32],
        values: &'a [T],
        width: usize,
        absent: T,
    ) -> Result<Self, PredictError> {
        let fits = columns.len() == values.len()
            && starts.is_sorted()
            && starts.last().is_some_and(|&end| end <= values.len());
        let ascends = |of: &[usize]| columns[of[0]..of[1]].is_sorted_by(|a, b| a < b);
        let within = |of: &[usize]| columns[of[0]..of[1]].last().is_none_or(|&last| (last as usize) < width);
        if !fits || !starts.windows(2).all(|of| ascends(of) && within(of)) {
            return Err(PredictError::Shape);
        }
        Ok(Self { starts, columns, values, width, absent })
    }

    /// The number of rows.
    pub fn count(&self) -> usize {
        self.starts.len() - 1
    }

    /// The number of columns.
    pub fn width(&self) -> usize {
        self.width
    }

    /// A range of these rows.
    pub(crate) fn part(&self, rows: Range<usize>) -> Self {
        Self { starts: &self.starts[rows.start..=rows.end], ..*self }
    }

    fn row(&self, row: usize) -> impl Iterator<Item = (usize, T)> + '_ {
        let at = self.starts[row]..self.starts[row + 1];
        self.columns[at.clone()].iter().map(|&column| column as usize).zip(self.values[at].iter().copied())
    }

    /// Calls `work` with all values of some rows at a time, and with the range of these rows.
    pub(crate) fn in_full(
        &self,
        mut work: impl FnMut(Rows<'_, T>, Range<usize>) -> Result<(), PredictError>,
    ) -> Result<(), PredictError> {
        let most = (MOST_VALUES / self.width.max(1)).clamp(1, 4 * ROWS).min(self.count());
        let mut values = alloc::vec![self.absent; most * self.width];
        for first in (0..self.count()).step_by(most.max(1)) {
            let rows = first..self.count().min(first + most);
            let values = &mut values[..rows.len() * self.width];
            values.fill(self.absent);
            for (row, values) in rows.clone().zip(values.chunks_exact_mut(self.width.max(1))) {
                self.row(row).for_each(|(column, value)| values[column] = value);
            }
            work(Rows::strided(values, rows.len(), self.width, self.width, 1)?, rows)?;
        }
        Ok(())
    }

    /// For each column, the position of its feature in the plan; `NO_FEATURE` if no test asks for
    /// it.
    pub(crate) fn features(&self, model: &Model) -> Vec<u32> {
        let mut features = alloc::vec![NO_FEATURE; self.width];
        for (at, feature) in model.plan.features.iter().enumerate() {
            features[feature.index] = at as u32;
        }
        features
    }

    /// Makes the masks of all tests for a block of rows.
    pub(crate) fn masks(
        &self,
        model: &Model,
        sliced: &Sliced,
        features: &[u32],
        rows: Range<usize>,
        masks: &mut [Mask],
    ) {
        let absent = model.file.domain.read(self.absent.widen());
        let above = |of: &Direct, value: Option<f64>| match value {
            // A missing value goes to its side in all tests.
            Some(value) if value.is_nan() => {
                if of.missing_left {
                    0
                } else {
                    of.tests.len()
                }
            }
            Some(value) => sliced.numbers64[of.tests.clone()].partition_point(|&number| value > number),
            None => 0,
        };
        for of in sliced.direct.iter().flatten() {
            let (right, left) = masks[of.tests.clone()].split_at_mut(above(of, absent));
            right.fill(Mask::ALL);
            left.fill(Mask::NONE);
        }
        for (at, row) in rows.enumerate() {
            for (column, value) in self.row(row) {
                let Some(variants) = sliced.direct.get(features[column] as usize) else { continue };
                let value = model.file.domain.read(value.widen());
                for of in variants {
                    let (now, then) = (above(of, value), above(of, absent));
                    let changed = of.tests.start + now.min(then)..of.tests.start + now.max(then);
                    masks[changed].iter_mut().for_each(|mask| mask.0[at / 64] ^= 1 << (at % 64));
                }
            }
        }
    }
}

/// See [`SparseRows::features`].
const NO_FEATURE: u32 = u32::MAX;
