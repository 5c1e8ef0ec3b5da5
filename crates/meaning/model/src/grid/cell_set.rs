//! Sets of cells of one axis.

use crate::ids::CellId;

/// A set of cells of one axis, stored as the cells at which membership changes. A split by a
/// threshold has one or two of these, however many cells the axis has.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CellSet {
    len: u32,
    /// Is the first cell in the set?
    first: bool,
    /// Cells that differ from the one before them, ascending.
    changes: Vec<u32>,
}

impl CellSet {
    pub(super) fn from_fn(len: usize, mut contains: impl FnMut(CellId) -> bool) -> Self {
        let first = len > 0 && contains(CellId(0));
        let mut set = Self { len: len as u32, first, changes: Vec::new() };
        let mut last = first;
        for cell in 1..len as u32 {
            if contains(CellId(cell)) != last {
                last = !last;
                set.changes.push(cell);
            }
        }
        set
    }

    /// The cells of `ranges`, which ascend and lie within the axis; they may be empty or adjacent.
    pub(super) fn from_ranges(len: usize, ranges: &[(usize, usize)]) -> Self {
        let mut changes: Vec<u32> = Vec::with_capacity(2 * ranges.len());
        for &(from, to) in ranges.iter().filter(|(from, to)| from < to) {
            if changes.last() == Some(&(from as u32)) {
                changes.pop();
            } else {
                changes.push(from as u32);
            }
            changes.push(to as u32);
        }
        let first = changes.first() == Some(&0);
        changes.retain(|&cell| cell > 0 && cell < len as u32);
        Self { len: len as u32, first, changes }
    }

    /// How many cells the axis has, in the set or not.
    pub fn axis_len(&self) -> usize {
        self.len as usize
    }

    /// Is this cell in the set?
    pub fn contains(&self, cell: CellId) -> bool {
        assert!(cell.0 < self.len, "a cell of the axis");
        (self.changes.partition_point(|&change| change <= cell.0) % 2 == 0) == self.first
    }

    /// How many cells are in the set.
    pub fn count(&self) -> usize {
        self.ranges().map(|(from, to)| (to - from) as usize).sum()
    }

    /// The cells in the set, ascending.
    pub fn iter(&self) -> impl Iterator<Item = CellId> + '_ {
        self.ranges().flat_map(|(from, to)| (from..to).map(CellId))
    }

    /// The cells whose membership differs from that of the cell before them, ascending.
    pub fn changes(&self) -> &[u32] {
        &self.changes
    }

    /// The set as ranges of cells `from..to`, ascending; none is empty and no two are adjacent.
    pub fn ranges(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.ranges_where(true)
    }

    /// The cells that are not in the set, as ranges in the same way.
    pub fn other_ranges(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.ranges_where(false)
    }

    fn ranges_where(&self, inside: bool) -> impl Iterator<Item = (u32, u32)> + '_ {
        // Position 0 stands for the first cell, position i for the i-th change.
        let at = move |position: usize| match position {
            0 => 0,
            _ => self.changes.get(position - 1).copied().unwrap_or(self.len),
        };
        let from = usize::from(self.first != inside);
        (from..=self.changes.len()).step_by(2).map(move |position| (at(position), at(position + 1)))
    }
}
