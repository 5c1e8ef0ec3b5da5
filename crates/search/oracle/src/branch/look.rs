//! Closes boxes without a bound: a small box by joining two halves, a box with at most two open
//! axes by checking each cell.

use secateur_model::CellId;

use super::{Region, Scratch, Search};
use crate::record::ProofStep;
use crate::small_box::{Judged, Looked};
use crate::stop::{SearchBudget, StopReason};

/// A box whose work is up to twice the limit is tried again when this fraction of its cells
/// (2^-0.2) is left; with up to four times the limit, the square of this fraction, and so on.
const PACE: f64 = 0.87;
impl Search<'_> {
    /// Closes the box as a small one if it is small; `false` if it has to be split.
    pub(super) fn look_as_small(&self, region: &mut Region, scratch: &mut Scratch) -> bool {
        if !self.joins || region.cells() > region.small {
            return false;
        }
        // The row that is nearest to closing the box leaves the fewest sums.
        let room = |row: &usize| self.room_of(region, *row);
        let nearest = (0..self.rows - 1).min_by(|a, b| room(a).total_cmp(&room(b)));
        let Some(row) = nearest else { return false };
        let mut judge = |ranges: &[(u32, u32)]| self.judge(ranges);
        let (lens, view) = (&self.lenses[row], &region.views[row]);
        match scratch.small_box.look(lens, view, &region.ranges, &mut judge) {
            Looked::Nothing => {
                self.step(region, &mut scratch.collected, || ProofStep::Join {
                    row,
                    fixed: scratch.small_box.fixed_axes(),
                });
                true
            }
            Looked::Solution(cells) if self.wanted == 1 => {
                scratch.found.push((region.path.clone(), cells));
                true
            }
            // If more solutions are wanted, the box is split until each cell is checked.
            Looked::Solution(_) | Looked::Unclear => {
                region.small = region.cells() * PACE;
                false
            }
            Looked::TooLarge(by) => {
                region.small = (0..=by).fold(region.cells(), |cells, _| cells * PACE);
                false
            }
        }
    }

    /// Judges a box that reaches the bounds of two rows, by its first cell. If all its cells reach
    /// the same leaves, that cell stands for all.
    fn judge(&self, ranges: &[(u32, u32)]) -> Judged {
        let cells: Vec<CellId> = ranges.iter().map(|range| CellId(range.0)).collect();
        if self.system.holds(&cells) && (self.accept)(&cells) {
            return Judged::Solution(cells);
        }
        let settled = self.system.layout().pieces().iter().all(|piece| piece.is_settled(ranges));
        if settled { Judged::Nothing } else { Judged::Unclear }
    }

    /// Checks each cell of a box with at most two open axes; an error if the time ends before the
    /// last one.
    pub(super) fn look_at_each(
        &self,
        region: &Region,
        scratch: &mut Scratch,
        budget: &SearchBudget,
    ) -> Result<(), StopReason> {
        let mut open: Vec<usize> =
            (0..self.sizes.len()).filter(|&axis| region.ranges[axis].1 - region.ranges[axis].0 > 1).collect();
        open.sort_by_key(|&axis| region.ranges[axis].1 - region.ranges[axis].0);
        match open[..] {
            [] => self.look_along(region, None, scratch, budget)?,
            [axis] => self.look_along(region, Some(axis), scratch, budget)?,
            [outer, inner] => {
                let (low, high) = region.ranges[outer];
                for cell in low..high {
                    let mut slice = scratch.copy_of(region);
                    self.narrow(&mut slice, outer, cell, cell + 1);
                    if self.closing(&slice).is_none() {
                        self.look_along(&slice, Some(inner), scratch, budget)?;
                    }
                    scratch.put_back(slice);
                    if scratch.found.len() >= self.wanted {
                        return Ok(());
                    }
                }
            }
            _ => unreachable!("called with at most two open axes"),
        }
        Ok(())
    }

    /// Checks each cell of a box with at most one open axis. There each cell determines the leaf of
    /// every piece, so upper bounds are values.
    fn look_along(
        &self,
        region: &Region,
        axis: Option<usize>,
        scratch: &mut Scratch,
        budget: &SearchBudget,
    ) -> Result<(), StopReason> {
        let mut cells: Vec<CellId> = region.ranges.iter().map(|range| CellId(range.0)).collect();
        let Some(axis) = axis else {
            self.look_at(cells, region, scratch);
            return Ok(());
        };
        let (low, high) = region.ranges[axis];
        let mut alive = vec![true; (high - low) as usize];
        for (lens, view) in self.lenses.iter().zip(&region.views) {
            lens.cell_losses(view, axis, low, high, &mut scratch.left);
            for (cell, alive) in (low..high).zip(&mut alive) {
                *alive &= view.upper - scratch.left[cell as usize] >= lens.bound;
            }
        }
        for (cell, _) in (low..high).zip(alive).filter(|(_, alive)| *alive) {
            if let Some(reason) = budget.over() {
                return Err(reason);
            }
            cells[axis] = CellId(cell);
            self.look_at(cells.clone(), region, scratch);
            if scratch.found.len() >= self.wanted {
                return Ok(());
            }
        }
        Ok(())
    }

    /// The final decision on one cell: exact, and by the caller's own check.
    fn look_at(&self, cells: Vec<CellId>, region: &Region, scratch: &mut Scratch) {
        let exact = self.lenses[..self.rows].iter().all(|lens| lens.exact);
        if (exact || self.system.holds(&cells)) && (self.accept)(&cells) {
            scratch.found.push((region.path.clone(), cells));
        }
    }
}
