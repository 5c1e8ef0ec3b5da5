//! The largest difference of one output in one direction, found by asking one target after another
//! between the known lower and upper bounds.

use num_bigint::BigInt;
use num_traits::{One, Signed, Zero};
use secateur_model::{CellId, Exact};

use crate::climb::ascend;
use crate::layout::Layout;
use crate::lens::Lens;
use crate::solve::{Answer, Options, Solved, solve};
use crate::system::{Row, System};

/// If the gap between the two bounds is at most the upper one divided by this, the next question
/// tries to close it at once.
const NEAR: i64 = 1_000;
/// A question that took fewer boxes counts as if it had taken this many.
const FEWEST: u64 = 1 << 9;
/// A question may take at most this many times the boxes of the last proof. The boxes of a proof
/// grow exponentially as its target falls. So a target that turns out to be too low is postponed,
/// and one at half the distance to the upper bound is asked first: it takes about the square root
/// of that number.
const MOST_GROWTH: u64 = 6;
/// After more than this many postponed targets in a row, questions may take more boxes.
const EASIEST: u32 = 2;
/// How the next step depends on the cost of a proof. An entry `(a, b)` means: after a proof that
/// took up to a/4 times the boxes of the one before, the next step is b/4 times its step. This aims
/// at about three times the boxes.
const STEPS: [(u64, u32); 5] = [(5, 12), (8, 6), (16, 4), (32, 3), (u64::MAX, 2)];
/// Local search starts at this many of the given cells, those with the largest differences, and at
/// as many random cells.
const CLIMBS: usize = 16;
/// The same for pieces with many leaves, where evaluating an axis takes long.
const CLIMBS_IF_LARGE: usize = 4;

/// The known bounds of the greatest value of one combination of sums (of the difference of one output
/// in one direction, for example), in integers.
pub(crate) struct Extreme<'a> {
    pub(crate) output: usize,
    layout: &'a Layout,
    terms: Vec<(usize, i64)>,
    /// A system whose one row gives the difference at a cell: the sum over the pieces minus the
    /// bound, which holds the constant part.
    system: System<'a>,
    /// The largest difference found, and its cell.
    pub(crate) low: BigInt,
    pub(crate) cells: Vec<CellId>,
    /// The upper bound: no cell has a larger difference.
    pub(crate) high: BigInt,
    /// The row as local search evaluates it; `None` until local search has run.
    pub(crate) lens: Option<Lens>,
    /// A question about the integer just above the lower bound had a solution or was postponed, and
    /// no other question has been answered since.
    crept: bool,
    /// How far below the upper bound the next target is.
    step: BigInt,
    /// The boxes of the last proof, or more if questions near it were postponed.
    boxes: u64,
    /// Questions postponed since then.
    put_off: u32,
}

impl<'a> Extreme<'a> {
    pub(crate) fn new(
        layout: &'a Layout,
        output: usize,
        terms: Vec<(usize, i64)>,
        starts: &[Vec<CellId>],
    ) -> Self {
        let row = Row { terms: terms.clone(), bound: Exact::zero(), strict: false };
        let system = System::new(layout, &[row]);
        let largest = (0..layout.pieces().len())
            .map(|piece| system.piece_values(piece).iter().max().cloned().unwrap_or_else(BigInt::zero));
        let high = largest.sum::<BigInt>() - &system.bounds()[0];
        let valued = starts.iter().map(|start| (value(&system, start), start));
        let (low, cells) = valued.max_by(|a, b| a.0.cmp(&b.0)).expect("there is a first cell");
        Self {
            output,
            layout,
            terms,
            low,
            cells: cells.clone(),
            high,
            system,
            lens: None,
            crept: false,
            step: BigInt::zero(),
            boxes: FEWEST,
            put_off: 0,
        }
    }

    pub(crate) fn is_settled(&self) -> bool {
        self.low >= self.high
    }

    /// Local search from the best of these cells and from random ones. Returns the cells where it
    /// ended.
    pub(crate) fn climb(&mut self, starts: &[Vec<CellId>], options: &Options) -> Vec<Vec<CellId>> {
        let lens = self.lens.insert(Lens::of_row(&self.system, 0));
        let sizes = self.layout.axis_sizes();
        let mut rng = fastrand::Rng::with_seed(options.seed);
        let count = if self.layout.is_large() { CLIMBS_IF_LARGE } else { CLIMBS };
        let mut best: Vec<(i64, usize)> =
            starts.iter().enumerate().map(|(index, start)| (lens.at(start), index)).collect();
        best.sort_by_key(|&(value, index)| (std::cmp::Reverse(value), index));
        let mut begin: Vec<Vec<CellId>> =
            best.iter().take(count).map(|&(_, index)| starts[index].clone()).collect();
        begin.extend(
            (0..count).map(|_| sizes.iter().map(|&size| CellId(rng.u32(0..size))).collect::<Vec<_>>()),
        );
        let climb = |cells: Vec<CellId>| ascend(lens, &sizes, cells, &mut rng, &options.budget);
        let ends: Vec<Vec<CellId>> = begin.into_iter().map(climb).collect();
        ends.iter().filter(|cells| self.layout.grid().scores_hold(cells)).for_each(|cells| self.keep(cells));
        ends
    }

    /// Stores a cell whose difference is larger than the largest one known.
    fn keep(&mut self, cells: &[CellId]) {
        let value = value(&self.system, cells);
        if value > self.low {
            self.low = value;
            self.cells = cells.to_vec();
        }
    }

    /// Asks for a difference between the two bounds and moves one of them, or postpones the
    /// question if it takes too many boxes.
    pub(crate) fn ask(&mut self, options: &Options, asked: u64) -> Solved {
        let layout = self.layout;
        let gap = &self.high - &self.low;
        self.step = match self.step.is_zero() {
            true => (&gap + 1u32) >> 1,
            false => self.step.clone().min(gap.clone()),
        };
        let near = &gap * NEAR <= self.high.abs();
        // Try to close the gap at once if it is small or about one step.
        let last = near || &self.step * 5u32 >= &gap * 4u32;
        let target = match last && !self.crept {
            true => &self.low + 1u32,
            false => &self.high - &self.step.clone().min(&gap >> 1),
        };
        // Every target is above the lower bound.
        let target = target.max(&self.low + 1u32);
        let creeps = target == &self.low + 1u32;
        let bound = Exact::new(target.clone(), layout.exponent());
        let system = layout.system(Row { terms: self.terms.clone(), bound, strict: false });
        // A question that may be postponed is not given to workers.
        let mut options = Options { crew: None, ..options.clone() };
        // Each question's solution is improved with another order of axes.
        options.seed = options.seed.wrapping_add(asked);
        let effort = self.boxes.saturating_mul(MOST_GROWTH);
        options.budget.nodes = Some(options.budget.nodes.map_or(effort, |most| most.min(effort)));
        // Local search has run already, and with a single row the other layers have nothing to do.
        options.starts.clear();
        options.shortcuts = false;
        let solved = solve(&system, &options, &|cells| layout.grid().scores_hold(cells));
        match &solved.answer {
            Answer::Proof => {
                let (made, boxes) = (&self.high - &target, solved.nodes.max(FEWEST));
                let growth = boxes.saturating_mul(4) / self.boxes;
                let quarters =
                    STEPS.iter().find(|(most, _)| growth <= *most).map_or(1, |(_, quarters)| *quarters);
                self.step = ((made * quarters) >> 2u32).max(BigInt::one());
                self.high = target - 1u32;
                self.crept = false;
                self.boxes = boxes;
                self.put_off = 0;
            }
            Answer::Witnesses(found) => {
                self.crept = creeps;
                let mut rng = fastrand::Rng::with_seed(options.seed);
                let sizes = layout.axis_sizes();
                for cells in found {
                    self.keep(cells);
                    let Some(lens) = &self.lens else { continue };
                    let higher = ascend(lens, &sizes, cells.clone(), &mut rng, &options.budget);
                    if layout.grid().scores_hold(&higher) {
                        self.keep(&higher);
                    }
                }
            }
            Answer::Undecided(_) => {
                // Questions just above the lower bound are the hardest.
                self.crept |= creeps;
                self.step = ((&self.high - &target) >> 1u32).max(BigInt::one());
                self.put_off += 1;
                if self.put_off > EASIEST {
                    self.put_off = 0;
                    self.boxes = self.boxes.saturating_mul(MOST_GROWTH);
                }
            }
        }
        solved
    }
}

/// The difference at a cell, in integers.
fn value(system: &System<'_>, cells: &[CellId]) -> BigInt {
    let pieces = system.layout().pieces().iter().enumerate();
    let sum: BigInt = pieces.map(|(index, piece)| &system.piece_values(index)[piece.leaf_of(cells)]).sum();
    sum - &system.bounds()[0]
}
