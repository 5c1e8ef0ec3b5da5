//! The proof of one problem while its steps arrive: lenses, the current box, and the sides still
//! open.

use crate::boxes::{Mark, State};
use crate::lens::Lens;
use crate::pieces::Pieces;
use crate::problem::{Range, Row};
use crate::refusal::Refusal;
use crate::rows::Rows;
use crate::rules;

/// One step of a proof. `docs/spec/kernel.md` says what each needs and what follows from it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the comment of each step says what its fields are")]
pub enum Step {
    /// Adds a lens: one multiplier for each row. Lenses come before the first box.
    Lens(Vec<u64>),
    /// No cell solves the problem, by meeting in the middle. The numbers are the axes of the first
    /// half.
    Meet(Vec<u32>),
    /// The lens closes everything outside of cells `low..high` on this axis, and the box is
    /// narrowed to them.
    Narrow { lens: u32, axis: u32, low: u32, high: u32 },
    /// The box is split after a cell. The steps of one side follow, then those of the other.
    Split { axis: u32, cell: u32, low_first: bool },
    /// The lens closes the box.
    Close(u32),
    /// Every cell of the box fails a row, or is excused.
    Cells,
    /// The rest of the box is joined from two halves, by this row and the last one, for every
    /// choice of cells on the fixed axes.
    Join { row: u32, fixed: Vec<u32> },
}

/// The state of a proof after a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// There are boxes left.
    Open,
    /// No cell solves the problem, except those that were excused and those in boxes that the
    /// caller vouches for ([`Proof::assume`]).
    Proved,
}

/// Says whether a cell that satisfies every row is excused: whether the claim that the problem
/// comes from holds there nevertheless. The kernel asks about one cell at a time.
pub type Excuse<'a> = Box<dyn FnMut(&[u32]) -> bool + 'a>;

/// The proof of one problem.
pub struct Proof<'a> {
    pub(crate) pieces: &'a Pieces<'a>,
    pub(crate) rows: Rows,
    pub(crate) state: State,
    pub(crate) excuse: Excuse<'a>,
    stop: &'a dyn Fn() -> bool,
    pub(crate) lenses: Vec<Lens>,
    /// For each row a lens that consists of that row alone.
    row_lenses: Vec<Option<u32>>,
    /// How many lenses the steps may name; the kernel made those after them for itself.
    named: Option<u32>,
    /// Splits whose second side is still open, and splits whose second side is being proved.
    open: Vec<Divided>,
}

/// A split on the way to the current box.
struct Divided {
    mark: Mark,
    axis: u32,
    /// The side that has not begun yet.
    second: Option<Range>,
}

impl<'a> Proof<'a> {
    /// Begins the proof that no cell satisfies all the rows. `stop` is asked during long steps;
    /// when it says true, they end with [`Refusal::Stopped`].
    pub fn new(
        pieces: &'a Pieces<'a>,
        rows: &[Row],
        excuse: Excuse<'a>,
        stop: &'a dyn Fn() -> bool,
    ) -> Result<Self, Refusal> {
        let mut terms = rows.iter().flat_map(|row| &row.terms);
        if rows.is_empty() || terms.any(|(sum, _)| *sum >= pieces.forest.sums()) {
            return Err(Refusal::RowSum);
        }
        Ok(Self {
            pieces,
            rows: Rows::new(pieces, rows),
            state: State::whole(pieces),
            excuse,
            stop,
            lenses: Vec::new(),
            row_lenses: vec![None; rows.len()],
            named: None,
            open: Vec::new(),
        })
    }

    /// Checks one step.
    pub fn step(&mut self, step: &Step) -> Result<Progress, Refusal> {
        match step {
            // All lenses come before the first box, so that they keep their numbers.
            Step::Lens(_) if self.named.is_some() => return Err(Refusal::LensLate),
            Step::Lens(multipliers) => return self.add_lens(multipliers),
            Step::Meet(first) if self.named.is_none() && self.lenses.is_empty() => {
                return rules::meet::meet(self, first).map(|()| Progress::Proved);
            }
            _ => {}
        }
        self.named.get_or_insert(self.lenses.len() as u32);
        match *step {
            Step::Narrow { lens, axis, low, high } => {
                return rules::boxes::narrow(self, lens, axis, (low, high)).map(|()| Progress::Open);
            }
            Step::Split { axis, cell, low_first } => {
                return rules::boxes::split(self, axis, cell, low_first).map(|()| Progress::Open);
            }
            Step::Close(lens) => rules::boxes::close(self, lens)?,
            Step::Cells => rules::cells::cells(self)?,
            Step::Join { row, ref fixed } => rules::join::join(self, row, fixed)?,
            Step::Lens(_) | Step::Meet(_) => return Err(Refusal::Order),
        }
        Ok(self.next_box())
    }

    /// Leaves out the current box, because the caller vouches that it has no solution. The finished
    /// proof then says nothing about its cells.
    pub fn assume(&mut self) -> Progress {
        self.named.get_or_insert(self.lenses.len() as u32);
        self.next_box()
    }

    /// An error if the caller has ended the check.
    pub(crate) fn go_on(&self) -> Result<(), Refusal> {
        if (self.stop)() { Err(Refusal::Stopped) } else { Ok(()) }
    }

    fn add_lens(&mut self, multipliers: &[u64]) -> Result<Progress, Refusal> {
        if multipliers.len() != self.rows.count {
            return Err(Refusal::LensRows { multipliers: multipliers.len(), rows: self.rows.count });
        }
        // A lens is a table over all leaves; for large models a single one takes a while.
        self.go_on()?;
        let leaves: usize = self.pieces.pieces.iter().map(|piece| piece.leaves).sum();
        let (lenses, limit) = (self.lenses.len() + 1, self.pieces.limits.lens_bytes);
        let bytes = lenses.saturating_mul(Lens::bytes(leaves));
        if bytes > limit {
            return Err(Refusal::LimitLenses { lenses, bytes, limit });
        }
        let index = self.push_lens(multipliers);
        // A combination of one row alone, with the multiplier one, holds and fails exactly as the
        // row does.
        let mut used = (0..multipliers.len()).filter(|&row| multipliers[row] > 0);
        if let (Some(row), None) = (used.next(), used.next())
            && multipliers[row] == 1
        {
            self.row_lenses[row].get_or_insert(index);
        }
        Ok(Progress::Open)
    }

    fn push_lens(&mut self, multipliers: &[u64]) -> u32 {
        self.lenses.push(Lens::new(self.pieces, &self.rows, multipliers));
        self.lenses.len() as u32 - 1
    }

    /// A lens for each row.
    pub(crate) fn row_lenses(&mut self) -> Vec<u32> {
        let rows = 0..self.rows.count;
        rows.map(|row| match self.row_lenses[row] {
            Some(lens) => lens,
            None => {
                let only: Vec<u64> = (0..self.rows.count).map(|other| u64::from(other == row)).collect();
                let lens = self.push_lens(&only);
                *self.row_lenses[row].insert(lens)
            }
        })
        .collect()
    }

    /// Refuses a lens that the steps may not name.
    pub(crate) fn known(&self, lens: u32) -> Result<(), Refusal> {
        let lenses = self.named.unwrap_or(0);
        if lens < lenses { Ok(()) } else { Err(Refusal::LensUnknown { lens, lenses }) }
    }

    /// The cells of the box on an axis.
    pub(crate) fn range(&self, axis: u32) -> Result<Range, Refusal> {
        let axes = self.state.ranges.len();
        self.state.ranges.get(axis as usize).copied().ok_or(Refusal::BoxAxis { axis, axes })
    }

    pub(crate) fn restrict(&mut self, axis: u32, low: u32, high: u32) {
        self.state.restrict(self.pieces, axis as usize, low, high);
    }

    /// The upper bound of a lens over the box, and what a solution would have to reach.
    pub(crate) fn upper(&mut self, lens: u32) -> (i128, i128) {
        let lens = &mut self.lenses[lens as usize];
        (self.state.upper(self.pieces, lens), lens.bound)
    }

    /// The same over the part of the box in cells `low..high` of an axis.
    pub(crate) fn upper_of_part(&mut self, lens: u32, axis: u32, low: u32, high: u32) -> (i128, i128) {
        let lens = &mut self.lenses[lens as usize];
        (self.state.upper_of_part(self.pieces, lens, (axis as usize, low, high)), lens.bound)
    }

    /// Continues with one side of the box and keeps the other for later.
    pub(crate) fn divide(&mut self, axis: u32, first: Range, second: Range) {
        let mark = self.state.mark();
        self.open.push(Divided { mark, axis, second: Some(second) });
        self.restrict(axis, first.0, first.1);
    }

    /// The current box is proved: continues with the next open side.
    fn next_box(&mut self) -> Progress {
        while let Some(divided) = self.open.last_mut() {
            let (mark, axis) = (divided.mark, divided.axis);
            if let Some((low, high)) = divided.second.take() {
                self.state.undo(mark);
                self.restrict(axis, low, high);
                return Progress::Open;
            }
            self.open.pop();
        }
        Progress::Proved
    }
}
