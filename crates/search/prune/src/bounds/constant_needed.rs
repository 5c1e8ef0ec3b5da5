//! Finds inputs at opposite ends of the axes which show that votes need a constant.
//!
//! If every step goes from a number to its negative, it votes for one class at one end of its axis
//! and for the other class at the other end. Take two inputs that are at opposite ends of every
//! axis. Without a constant, their scores add up to zero whatever the weights are, so no weights
//! decide both inputs for a class that needs a score beyond zero. A model that decides both for
//! such a class has a constant, which is a tree of its own.
//!
//! A class that wins ties can have a score of zero at both ends, so one of the inputs is moved
//! inward, past one relevant boundary of an axis whose step there is against the class. Then both
//! scores add up to that step, which has the wrong sign. The step must be there, as the pair of
//! inputs beside it shows, so no weights decide both inputs for the class.
//!
//! Problem: find a corner whose score lies between two bounds. The scores at opposite corners
//! always have the same sum, so the corner's score must be near half of it, and the steps from end
//! to end must nearly cancel. The ends of axes with large steps are chosen one by one so that the
//! steps cancel; the rest are combined in all ways (see `axis_sums`). Nothing is claimed here: the
//! caller has the inputs checked.

use secateur_model::CellId;

use crate::passes::axis_sums::Sums;
use crate::passes::relevant::{Boundary, Relevant};

/// How many axes, those with the smallest steps, are combined in all ways: first the smaller number
/// is tried, then the larger.
const IN_ALL_WAYS: [usize; 2] = [16, 32];

/// The lead of class 1: a constant, plus one number for each cell of each axis.
pub(crate) struct Leads<'a> {
    pub(crate) constant: i128,
    pub(crate) tables: &'a [Vec<i128>],
    /// The number of numeric cells of each axis; the missing cell comes after them.
    pub(crate) numeric: &'a [usize],
    /// Class 1 is decided where the lead is at least `positive`, class 0 where it is at most minus
    /// `negative`.
    pub(crate) positive: i128,
    pub(crate) negative: i128,
    /// Does class 1 win ties? Otherwise class 0 does.
    pub(crate) first_wins_ties: bool,
}

/// Two inputs that no votes without a constant decide for the same class.
pub(crate) struct OppositeCorners {
    pub(crate) cells: [Vec<CellId>; 2],
    /// If the class wins ties: the boundary that one of the inputs was moved past.
    pub(crate) beyond: Option<Boundary>,
}

impl Leads<'_> {
    /// Looks for two such inputs.
    pub(crate) fn opposite_corners(&self, relevant: &Relevant) -> Option<OppositeCorners> {
        if self.numeric.contains(&0) {
            return None;
        }
        let ends: Vec<[usize; 2]> = self.numeric.iter().map(|&count| [0, count - 1]).collect();
        let for_first = self.both(&ends) > 0;
        if for_first != self.first_wins_ties {
            return Some(OppositeCorners { cells: self.search(&ends, None, for_first)?, beyond: None });
        }
        let mut inner = self.inner(relevant, for_first);
        inner.sort_by_key(|(axis, [cell, end], _)| {
            let far = if *end == 0 { self.numeric[*axis] - 1 } else { 0 };
            (self.tables[*axis][*cell] - self.tables[*axis][far]).unsigned_abs()
        });
        inner.into_iter().find_map(|(axis, cells, boundary)| {
            let mut ends = ends.clone();
            ends[axis] = cells;
            let cells = self.search(&ends, Some(axis), for_first)?;
            Some(OppositeCorners { cells, beyond: Some(boundary) })
        })
    }

    /// The axes whose outermost relevant step, seen from one end, is against the class. Each comes
    /// with the cell just past that step, the cell of the opposite end, and the step's boundary.
    fn inner(&self, relevant: &Relevant, for_first: bool) -> Vec<(usize, [usize; 2], Boundary)> {
        let mut found = Vec::new();
        for axis in 0..self.tables.len() {
            let table = &self.tables[axis];
            let own = || relevant.pairs().map(|(boundary, _)| boundary).filter(|own| own.axis == axis);
            let (Some(low), Some(high)) = (own().next(), own().last()) else { continue };
            let rises =
                |boundary: Boundary| table[boundary.below.index() + 1] > table[boundary.below.index()];
            if rises(low) != for_first {
                found.push((axis, [low.below.index() + 1, self.numeric[axis] - 1], low));
            }
            if rises(high) == for_first {
                found.push((axis, [high.below.index(), 0], high));
            }
        }
        found
    }

    /// The sum of the leads at the two inputs.
    fn both(&self, ends: &[[usize; 2]]) -> i128 {
        let values = ends.iter().zip(self.tables).map(|([a, b], table)| table[*a] + table[*b]);
        2 * self.constant + values.sum::<i128>()
    }

    /// Chooses for each axis which of its two cells each input has, so that both inputs are decided
    /// for one class. The axis `fixed` keeps its order of cells.
    fn search(&self, ends: &[[usize; 2]], fixed: Option<usize>, for_first: bool) -> Option<[Vec<CellId>; 2]> {
        let both = self.both(ends);
        let (low, high) = if for_first {
            (self.positive, both - self.positive)
        } else {
            (both + self.negative, -self.negative)
        };
        if low > high {
            return None;
        }
        let value = |axis: usize, side: usize| self.tables[axis][ends[axis][side]];
        let height = |axis: usize| value(axis, 1) - value(axis, 0);
        let mut order: Vec<usize> =
            (0..ends.len()).filter(|&axis| Some(axis) != fixed && height(axis) != 0).collect();
        order.sort_by_key(|&axis| std::cmp::Reverse(height(axis).unsigned_abs()));
        let mut tried = usize::MAX;
        for most in IN_ALL_WAYS {
            let (large, small) = order.split_at(order.len().saturating_sub(most));
            if large.len() == tried {
                break;
            }
            tried = large.len();
            let mut sides = vec![0; ends.len()];
            let mut open = fixed.map_or(0, |axis| -height(axis));
            for &axis in large {
                sides[axis] = usize::from((open > 0) != (height(axis) > 0));
                open += if sides[axis] == 1 { height(axis) } else { -height(axis) };
            }
            let rest = (0..ends.len()).filter(|axis| !small.contains(axis));
            let rest = self.constant + rest.map(|axis| value(axis, sides[axis])).sum::<i128>();
            let lists: Vec<Vec<i128>> =
                small.iter().map(|&axis| vec![value(axis, 0), value(axis, 1)]).collect();
            let found = Sums::new(&lists)?.first_from(low - rest);
            if let Some(found) = found.filter(|found| found.sum + rest <= high) {
                small.iter().zip(found.positions).for_each(|(&axis, position)| sides[axis] = position);
                let input = |other: usize| {
                    let sides = sides.iter().zip(ends);
                    sides.map(|(side, ends)| CellId::new(ends[side ^ other])).collect()
                };
                return Some([input(0), input(1)]);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use fastrand::Rng;
    use secateur_model::ClassId;

    use super::*;
    use crate::passes::relevant::{Pair, Relevance};

    /// Random votes on a few axes: the value in each cell of each axis.
    fn tables(rng: &mut Rng) -> Vec<Vec<i128>> {
        let axis = |rng: &mut Rng| {
            let steps: Vec<i128> = (0..rng.usize(1..4))
                .map(|_| i128::from(rng.i32(1..20)) * if rng.bool() { 1 } else { -1 })
                .collect();
            let first = -steps.iter().sum::<i128>();
            let mut values = vec![first];
            steps.iter().for_each(|step| values.push(values[values.len() - 1] + 2 * step));
            values
        };
        (0..rng.usize(1..6)).map(|_| axis(rng)).collect()
    }

    fn all_relevant(tables: &[Vec<i128>]) -> Relevant {
        let pair = Pair { rows: [Vec::new(), Vec::new()], classes: [ClassId(0), ClassId(1)] };
        let axes = tables.iter().enumerate();
        let boundaries = axes.flat_map(|(axis, table)| {
            (0..table.len() - 1).map(move |below| Boundary { axis, below: CellId::new(below) })
        });
        Relevant { boundaries: boundaries.map(|at| (at, Relevance::Relevant(pair.clone()))).collect() }
    }

    #[test]
    fn inputs_are_decided_alike_at_opposite_ends_and_found_where_they_are() {
        let mut rng = Rng::with_seed(21);
        let (mut plain, mut beyond, mut none) = (0, 0, 0);
        for _ in 0..3000 {
            let tables = tables(&mut rng);
            let numeric: Vec<usize> = tables.iter().map(Vec::len).collect();
            let first_wins_ties = rng.bool();
            let (positive, negative) = (i128::from(!first_wins_ties), i128::from(first_wins_ties));
            let constant = i128::from(rng.i32(-15..16));
            let leads =
                Leads { constant, tables: &tables, numeric: &numeric, positive, negative, first_wins_ties };
            let lead = |cells: &[CellId]| {
                constant + cells.iter().zip(&tables).map(|(cell, table)| table[cell.index()]).sum::<i128>()
            };
            let found = leads.opposite_corners(&all_relevant(&tables));
            let Some(found) = found else {
                none += 1;
                // Votes cancel at opposite ends, so the two leads add up to twice the constant.
                if (constant > 0) != first_wins_ties {
                    for code in 0..1usize << tables.len() {
                        let corner = |flip: usize| -> Vec<CellId> {
                            let end = |axis: usize| ((code >> axis & 1) ^ flip) * (numeric[axis] - 1);
                            (0..tables.len()).map(end).map(CellId::new).collect()
                        };
                        let [a, b] = [lead(&corner(0)), lead(&corner(1))];
                        assert!(if constant > 0 { a.min(b) < positive } else { a.max(b) > -negative });
                    }
                }
                continue;
            };
            let [a, b] = [lead(&found.cells[0]), lead(&found.cells[1])];
            let for_first = a >= positive && b >= positive;
            assert!(for_first || a <= -negative && b <= -negative, "{a} {b}");
            // Apart from the constant, nothing is left over, or a step against the class.
            let left = a + b - 2 * constant;
            match found.beyond {
                None => {
                    plain += 1;
                    assert_eq!(left, 0);
                    assert!(for_first != first_wins_ties);
                }
                Some(boundary) => {
                    beyond += 1;
                    let table = &tables[boundary.axis];
                    let step = table[boundary.below.index() + 1] - table[boundary.below.index()];
                    assert_eq!(left, if for_first { -step.abs() } else { step.abs() });
                }
            }
        }
        assert!(plain > 500 && beyond > 300 && none > 300, "{plain} {beyond} {none}");
    }
}
