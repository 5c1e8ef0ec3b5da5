//! Rule `split`: a box is done when both its sides are.
//!
//! Premise: the cell is one of the box's on the axis, and not the last; the steps that follow close the one
//! side, then those behind them the other.
//! Conclusion: no cell of the box solves the system.
//! Why: the two sides make up the box. The checker itself keeps the list of sides that are still open, and a
//! system is proved only when it is empty.
//! Refuses: `box.axis`, `box.range`. Specification: section 6.6.

use crate::proof::Proof;
use crate::reason::Reason;

pub(crate) fn split(proof: &mut Proof<'_>, axis: u32, cell: u32, low_first: bool) -> Result<(), Reason> {
    let (low, high) = proof.range(axis)?;
    if !(low <= cell && cell < high - 1) {
        let behind = cell.saturating_add(1);
        return Err(Reason::BoxRange { axis, low, high: behind, box_low: low, box_high: high });
    }
    let (lower, upper) = ((low, cell + 1), (cell + 1, high));
    if low_first {
        proof.divide(axis, lower, upper)
    } else {
        proof.divide(axis, upper, lower)
    }
    Ok(())
}
