//! A lens: a combination of rows with multipliers of at least zero, in integers of 128 bits.
//!
//! Every solution satisfies `sum over pieces of lambda.value >= lambda.bound`. If values and bound
//! are too wide, they are divided by a power of two and rounded **up**. If the sum of rounded
//! values, one from each piece, is then below the rounded bound, the exact sum is below the exact
//! bound: with s the shift,
//!
//! ```text
//! sum of v <= 2^s * sum of up(v / 2^s) <= 2^s * (up(b / 2^s) - 1) < b
//! ```
//!
//! So because of rounding a valid step may be refused, but no invalid one is accepted.

use std::cmp::Reverse;

use crate::joint::Joint;
use crate::pieces::{Form, Pieces};
use crate::problem::Range;
use crate::rows::Rows;
use crate::wide::Int;

/// Sums of all pieces, and the bound, stay within this many bits.
const BITS: u64 = 120;

/// The same for the numbers of rule `join`, which adds up many of them: differences of such sums
/// fit into 64 bits.
const NARROW_BITS: u64 = 60;

/// With at most this many leaves left, reading each is faster than looking for the best first.
const FEW: u32 = 8;

pub(crate) struct Lens {
    pub(crate) bound: i128,
    /// Values and bound were divided by two to this power.
    pub(crate) shift: u64,
    /// Where the leaves of each piece begin in `values` and `order`.
    first: Vec<usize>,
    values: Vec<i128>,
    /// The bound and the values again, divided by a larger power of two and rounded up in the same
    /// way.
    pub(crate) narrow_bound: i64,
    narrow: Vec<i64>,
    /// The joint leaves of each piece, largest value first.
    order: Vec<u32>,
    /// Whether all joint leaves of the piece have the same value.
    constant: Vec<bool>,
    /// For pieces with a joint tree: the largest value below each of its splits.
    tops: Vec<Vec<i128>>,
    /// For each piece the largest value in the current box, if it has been computed, and the
    /// version of the piece's state for which it was computed.
    pub(crate) seen: Vec<(i128, u64)>,
}

impl Lens {
    pub(crate) fn new(pieces: &Pieces<'_>, rows: &Rows, multipliers: &[u64]) -> Self {
        let combine = |values: &[Int]| -> Int {
            let used = values.iter().zip(multipliers).filter(|(_, factor)| **factor != 0);
            used.fold(Int::ZERO, |sum, (value, &factor)| sum.plus(&value.times(factor)))
        };
        let bound = combine(&rows.bounds);
        let combined: Vec<Vec<Int>> =
            rows.values.iter().map(|piece| piece.chunks(rows.count).map(combine).collect()).collect();
        let widest =
            combined.iter().map(Int::largest_magnitude).fold(Int::ZERO, |sum, value| sum.plus(&value));
        let bits = widest.bits().max(bound.bits());
        let shift = bits.saturating_sub(BITS);
        let up = |value: &Int| value.shifted_up(shift).to_i128().expect("at most 121 bits are left");
        let further = (bits - shift).saturating_sub(NARROW_BITS);
        let narrow = |value: i128| divided_up(value, further);
        let bound = up(&bound);
        let mut lens = Self {
            bound,
            shift,
            first: vec![0],
            values: Vec::new(),
            narrow_bound: narrow(bound),
            narrow: Vec::new(),
            order: Vec::new(),
            constant: Vec::new(),
            tops: Vec::new(),
            seen: vec![(0, u64::MAX); pieces.pieces.len()],
        };
        for (combined, piece) in combined.iter().zip(&pieces.pieces) {
            let values: Vec<i128> = combined.iter().map(up).collect();
            lens.tops.push(match &piece.form {
                Form::Tree(joint) => joint.tops(&values),
                Form::Table | Form::Masks(_) => Vec::new(),
            });
            let mut order: Vec<u32> = (0..values.len() as u32).collect();
            order.sort_by_key(|&leaf| (Reverse(values[leaf as usize]), leaf));
            lens.constant.push(values.iter().all(|value| *value == values[0]));
            lens.narrow.extend(values.iter().map(|&value| narrow(value)));
            lens.values.extend(values);
            lens.order.extend(order);
            lens.first.push(lens.values.len());
        }
        lens
    }

    /// The values of a piece's joint leaves whose sums are compared with `narrow_bound`.
    pub(crate) fn narrow_values(&self, piece: usize) -> &[i64] {
        &self.narrow[self.first[piece]..self.first[piece + 1]]
    }

    /// Do all joint leaves of a piece have the same value?
    pub(crate) fn is_constant(&self, piece: usize) -> bool {
        self.constant[piece]
    }

    fn of_piece(&self, piece: usize) -> (&[i128], &[u32]) {
        let own = self.first[piece]..self.first[piece + 1];
        (&self.values[own.clone()], &self.order[own])
    }

    /// The largest value of a piece's leaves in this mask, which holds at least one.
    pub(crate) fn top_of_mask(&self, piece: usize, mask: &[u64]) -> i128 {
        let (values, order) = self.of_piece(piece);
        let count: u32 = mask.iter().map(|word| word.count_ones()).sum();
        if count > FEW {
            let inside = |leaf: u32| mask[leaf as usize / 64] >> (leaf % 64) & 1 == 1;
            let best = order.iter().find(|&&leaf| inside(leaf)).expect("every box meets some leaf");
            return values[*best as usize];
        }
        let mut top = i128::MIN;
        for (word, &bits) in mask.iter().enumerate() {
            let mut bits = bits;
            while bits != 0 {
                top = top.max(values[word * 64 + bits.trailing_zeros() as usize]);
                bits &= bits - 1;
            }
        }
        top
    }

    /// The largest value of a table's runs `from..to`, which is not an empty range.
    pub(crate) fn top_of_runs(&self, piece: usize, from: usize, to: usize) -> i128 {
        let (values, order) = self.of_piece(piece);
        // In a long range one of the largest values is found soon by trying them in order; a short
        // range is read completely.
        if (to - from).saturating_mul(to - from) > values.len() {
            let best = order.iter().find(|&&leaf| (from..to).contains(&(leaf as usize)));
            return values[*best.expect("the range is not empty") as usize];
        }
        values[from..to].iter().copied().max().expect("the range is not empty")
    }

    /// The largest value of a piece's leaves that a box meets.
    pub(crate) fn top_of_tree(&self, piece: usize, joint: &Joint, space: &[Range]) -> i128 {
        joint.top(space, self.of_piece(piece).0, &self.tops[piece])
    }

    /// About how many bytes a lens takes for this many joint leaves.
    pub(crate) fn bytes(leaves: usize) -> usize {
        leaves * (size_of::<i128>() + size_of::<i64>() + size_of::<u32>())
    }
}

/// A number divided by two to a power and rounded up; the result has at most 61 bits.
fn divided_up(value: i128, power: u64) -> i64 {
    i64::try_from(-(-value >> power)).expect("at most 61 bits are left")
}

#[cfg(test)]
mod tests {
    use super::divided_up;

    #[test]
    fn division_rounds_up_on_both_sides_of_zero() {
        assert_eq!([8, 9, 15, 16].map(|value| divided_up(value, 3)), [1, 2, 2, 2]);
        assert_eq!([-8, -9, -15, -16].map(|value| divided_up(value, 3)), [-1, -1, -1, -2]);
        assert_eq!(divided_up(-7, 0), -7);
    }
}
