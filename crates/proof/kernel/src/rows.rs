//! The rows of a problem over the joint leaves of the pieces.

use crate::pieces::Pieces;
use crate::problem::Row;
use crate::wide::Int;

pub(crate) struct Rows {
    pub(crate) count: usize,
    /// For each piece: for each joint leaf one number for each row.
    pub(crate) values: Vec<Vec<Int>>,
    /// What the sum over all pieces must reach.
    pub(crate) bounds: Vec<Int>,
}

impl Rows {
    pub(crate) fn new(pieces: &Pieces<'_>, rows: &[Row]) -> Self {
        let combine = |row: &Row, sums: &[Int]| {
            let terms = row.terms.iter().map(|&(sum, factor)| sums[sum as usize].scaled(factor));
            terms.fold(Int::ZERO, |total, value| total.plus(&value))
        };
        let sums = pieces.forest.sums() as usize;
        let values = pieces.pieces.iter().map(|piece| {
            let leaves = (0..piece.leaves).map(|leaf| &piece.values[leaf * sums..][..sums]);
            leaves.flat_map(|leaf| rows.iter().map(|row| combine(row, leaf))).collect()
        });
        Self {
            count: rows.len(),
            values: values.collect(),
            bounds: rows.iter().map(|row| row.bound.clone()).collect(),
        }
    }

    /// Do these joint leaves, one for each piece, satisfy every row?
    pub(crate) fn hold(&self, leaves: &[usize]) -> bool {
        (0..self.count).all(|row| {
            let values =
                self.values.iter().zip(leaves).map(|(values, leaf)| &values[leaf * self.count + row]);
            values.fold(Int::ZERO, |total, value| total.plus(value)).is_at_least(&self.bounds[row])
        })
    }
}
