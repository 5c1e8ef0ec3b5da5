//! A system of additive tree inequalities: is there a cell where every row reaches its bound?
//!
//! Row k asks `sum over pieces of value[k] >= bound[k]`. Rows are integer combinations of the sums
//! of a [`Layout`]. Since all numbers are integers at one scale, a strict row is the same row with
//! a bound one higher, and nothing is ever rounded.

use num_bigint::BigInt;
use num_traits::Zero;
use secateur_model::{CellId, Exact};

use crate::layout::Layout;

/// One inequality over the sums of a layout: `sum of coefficient * sum  >=  bound`, or `>` where
/// strict.
#[derive(Clone, Debug)]
pub struct Row {
    /// The sums that count, each with its coefficient.
    pub terms: Vec<(usize, i64)>,
    /// The bound that the combination must reach.
    pub bound: Exact,
    /// Whether the combination must exceed the bound, not only reach it.
    pub strict: bool,
}

/// Rows over the pieces of a layout.
#[derive(Clone, Debug)]
pub struct System<'a> {
    layout: &'a Layout,
    rows: usize,
    /// For each piece, for each leaf, one integer for each row.
    values: Vec<Vec<BigInt>>,
    /// The bound that the sum over all pieces must reach, for each row.
    bounds: Vec<BigInt>,
    /// Multipliers whose combination of rows is about the difference of two models.
    difference: Option<Vec<u64>>,
}

impl<'a> System<'a> {
    /// The system of these rows.
    pub fn new(layout: &'a Layout, rows: &[Row]) -> Self {
        let sums = layout.sums();
        let combine = |row: &Row, values: &[BigInt]| -> BigInt {
            row.terms.iter().map(|&(sum, factor)| &values[sum] * factor).sum()
        };
        let values = layout
            .pieces()
            .iter()
            .map(|piece| {
                piece.values.chunks(sums).flat_map(|leaf| rows.iter().map(|row| combine(row, leaf))).collect()
            })
            .collect();
        let bounds = rows
            .iter()
            .map(|row| {
                let bound = integer_bound(&row.bound, layout.exponent(), row.strict);
                bound - combine(row, layout.constants())
            })
            .collect();
        Self { layout, rows: rows.len(), values, bounds, difference: None }
    }

    /// The same system, with multipliers whose combination of rows is about the difference of two
    /// models: what they have in common cancels in it.
    pub(crate) fn with_difference(self, multipliers: Option<Vec<u64>>) -> Self {
        Self { difference: multipliers, ..self }
    }

    /// The multipliers of the row about the difference of two models, if there is one.
    pub(crate) fn difference(&self) -> Option<&[u64]> {
        self.difference.as_deref()
    }

    /// The system of one row, the sum of these multiples of the rows. Every cell that satisfies
    /// this system also satisfies that one.
    pub(crate) fn combined(&self, multipliers: &[u64]) -> Self {
        let combine = |values: &[BigInt]| -> BigInt {
            values.iter().zip(multipliers).map(|(value, &multiplier)| value * multiplier).sum()
        };
        Self {
            layout: self.layout,
            rows: 1,
            values: self
                .values
                .iter()
                .map(|leaves| leaves.chunks(self.rows).map(combine).collect())
                .collect(),
            bounds: vec![combine(&self.bounds)],
            difference: None,
        }
    }

    /// The layout that the rows are over.
    pub fn layout(&self) -> &'a Layout {
        self.layout
    }

    /// The number of rows.
    pub fn row_count(&self) -> usize {
        self.rows
    }

    pub(crate) fn bounds(&self) -> &[BigInt] {
        &self.bounds
    }

    /// The values of one piece: for each leaf, one for each row.
    pub(crate) fn piece_values(&self, piece: usize) -> &[BigInt] {
        &self.values[piece]
    }

    /// Does this cell, as [`Layout::cells_of`] counts them, satisfy every row? Computed exactly.
    pub fn holds(&self, cells: &[CellId]) -> bool {
        let mut sums = vec![BigInt::zero(); self.rows];
        for (piece, values) in self.layout.pieces().iter().zip(&self.values) {
            let leaf = piece.leaf_of(cells);
            for (sum, value) in sums.iter_mut().zip(&values[leaf * self.rows..]) {
                *sum += value;
            }
        }
        sums.iter().zip(&self.bounds).all(|(sum, bound)| sum >= bound)
    }
}

/// The smallest integer `n` such that `n * 2^exponent >= bound` (`> bound` where strict).
fn integer_bound(bound: &Exact, exponent: i64, strict: bool) -> BigInt {
    if let Some(integer) = bound.scaled(exponent) {
        return if strict { integer + 1 } else { integer };
    }
    // The bound is finer than the scale, so round up: a shift rounds toward minus infinity, for a
    // negative BigInt too, and one is added.
    let shift = (exponent - bound.exponent()) as u64;
    (bound.mantissa() >> shift) + 1
}
