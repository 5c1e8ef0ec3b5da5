//! The interface through which a search hands over its proof, step by step, while it is found.
//!
//! A search splits boxes until each is closed. A box is known by its path from the whole space:
//! false for the child that is visited first. Each box has any number of `Narrow` steps and then
//! one of the other steps. With one thread, boxes come in the order of their paths; with several
//! threads, only the steps of each box are in order.

use crate::certify::{Kept, Stretch};

/// A receiver of the steps of a proof.
pub trait Record: Send + Sync + std::fmt::Debug {
    /// The multipliers of each lens. This is called before any step that names a lens.
    fn lenses(&self, multipliers: &[Vec<u64>]);

    /// One step of the proof, for the box with this path.
    fn step(&self, path: &[bool], step: ProofStep);

    /// Steps of consecutive boxes that were made elsewhere. This is called only if
    /// [`flush`](Self::flush) has returned true.
    fn stretch(&self, stretch: Stretch) {
        let _ = stretch;
    }

    /// Writes all steps received so far, so that stretches can follow them; `false` if the record
    /// takes no stretches.
    fn flush(&self) -> bool {
        false
    }

    /// The proof up to now, if it is kept for checkpoints.
    fn kept(&self) -> Option<Kept> {
        None
    }

    /// The whole proof is one step: meeting in the middle, with these axes in the first half, finds
    /// no solution.
    fn meet(&self, first: &[usize]);
}

/// One step of a proof that a system has no solution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProofStep {
    /// The lens closes everything outside `low..high` on this axis.
    Narrow {
        /// The axis.
        axis: usize,
        /// The first cell that is left.
        low: u32,
        /// One past the last cell that is left.
        high: u32,
        /// The lens that closes both the part below and the part above.
        lens: usize,
    },
    /// The upper bound of the lens is below its bound: no solution in this box.
    Close {
        /// The lens.
        lens: usize,
    },
    /// The box is split after a cell.
    Split {
        /// The axis.
        axis: usize,
        /// The last cell of the lower side.
        cell: u32,
        /// Whether the lower side is the child that is visited first.
        low_first: bool,
    },
    /// At most two axes are open; each cell of the box was checked, and none satisfies every row.
    Cells,
    /// No cell of the box is a solution: for every choice on some fixed axes, the sums that remain
    /// in this row and the last one were joined from two halves.
    Join {
        /// The row that is joined with the last one.
        row: usize,
        /// The fixed axes, ascending.
        fixed: Vec<usize>,
    },
}
