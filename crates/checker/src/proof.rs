//! The proof of one system while its steps come in: lenses, the current box, and the sides still open.

use secateur_certificate::{Slack, Step};

use crate::Stop;
use crate::layout::Layout;
use crate::lens::{Lens, View};
use crate::pair::{Pair, Question};
use crate::reason::Reason;
use crate::rules;
use crate::shares::Share;
use crate::state::{Mark, State};
use crate::system::System;
use crate::verdict::Limits;

pub(crate) struct Proof<'a> {
    pub(crate) pair: &'a Pair<'a>,
    pub(crate) layout: &'a Layout<'a>,
    pub(crate) system: System,
    pub(crate) question: Question,
    pub(crate) state: State,
    pub(crate) limits: Limits,
    stop: Stop<'a>,
    share: Share<'a>,
    /// The next step is the first of its box.
    fresh: bool,
    /// Boxes of a part that another thread checks, which are still to come.
    left_out: u64,
    /// The splits on the way to the part that this thread is in; inside of it nothing is left out.
    part: Option<usize>,
    lenses: Vec<(Lens, View)>,
    /// For each row a lens that is that row alone.
    rows: Vec<Option<u32>>,
    /// Lenses that the certificate may name; those behind them are the checker's own.
    named: Option<u32>,
    /// Splits whose second side is still open, and those whose second side is being worked on.
    open: Vec<Divided>,
}

/// A split on the way to the current box.
struct Divided {
    mark: Mark,
    axis: usize,
    /// The side that is not yet begun.
    second: Option<(u32, u32)>,
}

/// What a step leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// There are boxes left.
    Open,
    /// The system has no solution.
    Proved,
}

impl<'a> Proof<'a> {
    pub(crate) fn new(
        pair: &'a Pair<'a>,
        layout: &'a Layout<'a>,
        question: Question,
        slack: Slack,
        limits: Limits,
        (stop, share): (Stop<'a>, Share<'a>),
    ) -> Result<Self, Reason> {
        let system = System::new(pair, layout, question, slack)?;
        let rows = vec![None; system.rows];
        let state = State::whole(layout);
        Ok(Self {
            pair,
            layout,
            system,
            question,
            state,
            limits,
            stop,
            share,
            fresh: true,
            left_out: 0,
            part: None,
            lenses: Vec::new(),
            rows,
            named: None,
            open: Vec::new(),
        })
    }

    /// Checks one step, whose number this is.
    pub(crate) fn step(&mut self, step: &Step, at: u64) -> Result<Progress, Reason> {
        match step {
            Step::Lens { multipliers } => {
                // The table comes before the first box, so that lenses keep their numbers.
                if self.named.is_some() {
                    let place = "behind the first box of a system";
                    return Err(Reason::OrderUnexpected { found: step.kind(), place });
                }
                self.add_lens(multipliers)?;
                return Ok(Progress::Open);
            }
            Step::Meet { first } if self.named.is_none() && self.lenses.is_empty() => {
                rules::meet::meet(self, first)?;
                return Ok(Progress::Proved);
            }
            _ => {}
        }
        self.named.get_or_insert(self.lenses.len() as u32);
        if std::mem::replace(&mut self.fresh, false)
            && self.part.is_none()
            && let Some(others) = self.share.leaves_out(at)
        {
            self.part = (!others).then_some(self.open.len());
            self.left_out = u64::from(others);
        }
        if self.left_out > 0 {
            return self.leave_out(step);
        }
        match *step {
            Step::Narrow { axis, low, high, lens } => {
                self.known(lens)?;
                rules::narrow::narrow(self, axis, low, high, lens)?;
                Ok(Progress::Open)
            }
            Step::Split { axis, cell, low_first } => {
                rules::split::split(self, axis, cell, low_first)?;
                self.fresh = true;
                Ok(Progress::Open)
            }
            Step::Close { lens } => {
                self.known(lens)?;
                rules::close::close(self, lens)?;
                Ok(self.next_box())
            }
            Step::Cells => {
                rules::cells::cells(self)?;
                Ok(self.next_box())
            }
            Step::Join { row, ref fixed } => {
                rules::join::join(self, row, fixed)?;
                Ok(self.next_box())
            }
            _ => {
                let place = "inside the proof of a system, at this point";
                Err(Reason::OrderUnexpected { found: step.kind(), place })
            }
        }
    }

    /// A step of a part that another thread checks: it only counts how many boxes are still to come.
    fn leave_out(&mut self, step: &Step) -> Result<Progress, Reason> {
        match step {
            Step::Narrow { .. } => {}
            Step::Split { .. } => self.left_out += 1,
            Step::Close { .. } | Step::Cells | Step::Join { .. } => {
                self.left_out -= 1;
                if self.left_out == 0 {
                    return Ok(self.next_box());
                }
            }
            _ => {
                let place = "inside the proof of a system, at this point";
                return Err(Reason::OrderUnexpected { found: step.kind(), place });
            }
        }
        Ok(Progress::Open)
    }

    /// Goes on, unless whoever asked for the check has ended it.
    pub(crate) fn go_on(&self) -> Result<(), Reason> {
        if (self.stop)() { Err(Reason::Stopped) } else { Ok(()) }
    }

    fn add_lens(&mut self, multipliers: &[u64]) -> Result<u32, Reason> {
        if multipliers.len() != self.system.rows {
            return Err(Reason::LensRows { multipliers: multipliers.len(), rows: self.system.rows });
        }
        // A table over all leaves: for large models a single one takes a while.
        self.go_on()?;
        let leaves: usize = self.layout.pieces.iter().map(|piece| piece.leaves).sum();
        let (lenses, limit) = (self.lenses.len() + 1, self.limits.lens_bytes);
        let bytes = lenses.saturating_mul(Lens::bytes(leaves));
        if bytes > limit {
            return Err(Reason::LimitLenses { lenses, bytes, limit });
        }
        let index = self.lenses.len() as u32;
        let lens = Lens::new(self.layout, &self.system, multipliers);
        let view = lens.view(self.layout);
        self.lenses.push((lens, view));
        // A single row with a positive multiplier holds and fails as the row does.
        let mut used = (0..multipliers.len()).filter(|&row| multipliers[row] > 0);
        if let (Some(row), None) = (used.next(), used.next())
            && multipliers[row] == 1
        {
            self.rows[row].get_or_insert(index);
        }
        Ok(index)
    }

    fn known(&self, lens: u32) -> Result<(), Reason> {
        let lenses = self.named.unwrap_or(0);
        if lens < lenses { Ok(()) } else { Err(Reason::LensUnknown { lens, lenses }) }
    }

    /// The power of two that the numbers of a lens are multiples of, for messages.
    pub(crate) fn unit(&self, lens: u32) -> i64 {
        self.layout.exponent + self.lenses.get(lens as usize).map_or(0, |(lens, _)| lens.shift as i64)
    }

    pub(crate) fn lens(&self, lens: u32) -> Result<&Lens, Reason> {
        let lenses = self.lenses.len() as u32;
        self.lenses.get(lens as usize).map(|(lens, _)| lens).ok_or(Reason::LensUnknown { lens, lenses })
    }

    /// A lens for each row.
    pub(crate) fn row_lenses(&mut self) -> Vec<u32> {
        let count = self.system.rows;
        (0..count)
            .map(|row| match self.rows[row] {
                Some(lens) => lens,
                None => {
                    let multipliers: Vec<u64> = (0..count).map(|other| u64::from(other == row)).collect();
                    let lens = Lens::new(self.layout, &self.system, &multipliers);
                    let view = lens.view(self.layout);
                    self.lenses.push((lens, view));
                    *self.rows[row].insert(self.lenses.len() as u32 - 1)
                }
            })
            .collect()
    }

    /// The cells of the box on an axis.
    pub(crate) fn range(&self, axis: u32) -> Result<(u32, u32), Reason> {
        let axes = self.state.ranges.len();
        self.state.ranges.get(axis as usize).copied().ok_or(Reason::BoxAxis { axis, axes })
    }

    pub(crate) fn restrict(&mut self, axis: u32, low: u32, high: u32) {
        self.state.restrict(self.layout, axis as usize, low, high);
    }

    /// The upper bound of a lens over the box, and what a solution would have to reach.
    pub(crate) fn upper(&mut self, lens: u32) -> Result<(i128, i128), Reason> {
        let lenses = self.lenses.len() as u32;
        let (lens, view) = self.lenses.get_mut(lens as usize).ok_or(Reason::LensUnknown { lens, lenses })?;
        Ok((self.state.upper(self.layout, lens, view), lens.bound))
    }

    /// The same over the part of the box in cells `low..high` of an axis.
    pub(crate) fn upper_of_part(
        &mut self,
        lens: u32,
        axis: u32,
        low: u32,
        high: u32,
    ) -> Result<(i128, i128), Reason> {
        let lenses = self.lenses.len() as u32;
        let (lens, view) = self.lenses.get_mut(lens as usize).ok_or(Reason::LensUnknown { lens, lenses })?;
        let whole = self.state.upper(self.layout, lens, view);
        let part = (axis as usize, low, high);
        Ok((self.state.upper_of_part(self.layout, lens, view, whole, part), lens.bound))
    }

    /// Goes on with one side of the box and keeps the other.
    pub(crate) fn divide(&mut self, axis: u32, first: (u32, u32), second: (u32, u32)) {
        let mark = self.state.mark();
        self.open.push(Divided { mark, axis: axis as usize, second: Some(second) });
        self.restrict(axis, first.0, first.1);
    }

    /// The box is done: on to the next side that is open.
    fn next_box(&mut self) -> Progress {
        self.fresh = true;
        while let Some(divided) = self.open.last_mut() {
            let (mark, axis) = (divided.mark, divided.axis);
            if let Some((low, high)) = divided.second.take() {
                self.state.undo(mark);
                self.restrict(axis as u32, low, high);
                // The second side of a split inside of the part has more splits on its way.
                self.part = self.part.filter(|&splits| self.open.len() > splits);
                return Progress::Open;
            }
            self.open.pop();
        }
        Progress::Proved
    }
}
