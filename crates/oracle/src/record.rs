//! The interface through which a search hands over its proof, step by step, while it is found.
//!
//! A search splits boxes until each is closed. A box is known by its path from the whole space: false for
//! the child that is visited first. For each box there come any number of `Narrow` steps, then one of the
//! others. With one thread boxes come in the order of their paths; with several, each box's own steps do.

use crate::certify::{Kept, Stretch};

/// A receiver of the steps of a proof.
pub trait Record: Send + Sync + std::fmt::Debug {
    /// The multipliers of each lens. This call comes before any step that names a lens.
    fn lenses(&self, multipliers: &[Vec<u64>]);

    /// One step.
    fn step(&self, path: &[bool], step: ProofStep);

    /// Steps of boxes that follow each other, made elsewhere. Only a record that says so in [`flush`](Self::flush) gets them.
    fn stretch(&self, stretch: Stretch) {
        let _ = stretch;
    }

    /// Takes what came so far as written, so that stretches can follow it; `false` where no stretches are taken.
    fn flush(&self) -> bool {
        false
    }

    /// The proof so far, where it is kept for checkpoints.
    fn kept(&self) -> Option<Kept> {
        None
    }

    /// The whole proof: meeting in the middle with these axes in the first half finds nothing.
    fn meet(&self, first: &[usize]);
}

/// One step of a proof that a system has no solution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProofStep {
    /// What lies outside `low..high` on this axis is closed by the lens.
    Narrow {
        /// The axis.
        axis: usize,
        /// First cell that is left.
        low: u32,
        /// The cell behind the last one that is left.
        high: u32,
        /// The lens that closes both the part below and the part above.
        lens: usize,
    },
    /// The upper bound of the lens is below its bound: no solution in this box.
    Close {
        /// The lens.
        lens: usize,
    },
    /// The box is split behind a cell.
    Split {
        /// The axis.
        axis: usize,
        /// The last cell of the lower side.
        cell: u32,
        /// The lower side is the child that is visited first.
        low_first: bool,
    },
    /// At most two axes are open, and no cell of the box satisfies every row: each was looked at.
    Cells,
    /// No cell of the box is a solution: with some axes fixed, what remains of this row and of the last one was
    /// joined from two halves, for every choice on the fixed axes.
    Join {
        /// The row that is joined with the last one.
        row: usize,
        /// The fixed axes, ascending.
        fixed: Vec<usize>,
    },
}
