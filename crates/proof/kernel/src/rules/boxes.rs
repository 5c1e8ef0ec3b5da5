//! Rules `close`, `narrow` and `split`.
//!
//! **Close.** Premise: multipliers lambda >= 0 such that, over the joint leaves that meet the box,
//! `sum over pieces of max lambda.value < lambda.bound`, exactly. Conclusion: no cell of the box
//! solves the problem. Why: at a cell each piece adds the value of one leaf that meets the box, so
//! the combination of rows is at most the left side. At a solution it would be at least the right
//! side, since every row holds there and lambda >= 0.
//!
//! **Narrow.** Premise: cells `low..high` are some of the box's cells on the axis, but not all; the
//! lens closes the part below them and the part above them, each if it has cells. Conclusion: a
//! solution in the box lies in the part with cells `low..high`, which replaces the box. Why: the
//! three parts make up the box.
//!
//! **Split.** Premise: the cell is one of the box's cells on the axis, and not the last; the steps
//! that follow close one side, and those after them the other. Conclusion: no cell of the box
//! solves the problem. Why: the two sides make up the box. The kernel itself keeps the list of open
//! sides, and a problem is proved only when that list is empty.

use crate::problem::Range;
use crate::proof::Proof;
use crate::refusal::Refusal;

pub(crate) fn close(proof: &mut Proof<'_>, lens: u32) -> Result<(), Refusal> {
    proof.known(lens)?;
    let (reached, bound) = proof.upper(lens);
    if reached < bound {
        return Ok(());
    }
    Err(Refusal::CloseBound { lens, reached, bound, shift: proof.lenses[lens as usize].shift })
}

pub(crate) fn narrow(proof: &mut Proof<'_>, lens: u32, axis: u32, part: Range) -> Result<(), Refusal> {
    let (low, high) = part;
    proof.known(lens)?;
    let (box_low, box_high) = proof.range(axis)?;
    let inside = box_low <= low && low < high && high <= box_high;
    if !inside || (low, high) == (box_low, box_high) {
        return Err(Refusal::BoxRange { axis, low, high, box_low, box_high });
    }
    for (low, high) in [(box_low, low), (high, box_high)] {
        if low < high {
            let (reached, bound) = proof.upper_of_part(lens, axis, low, high);
            if reached >= bound {
                let shift = proof.lenses[lens as usize].shift;
                return Err(Refusal::NarrowBound { lens, axis, low, high, reached, bound, shift });
            }
        }
    }
    proof.restrict(axis, low, high);
    Ok(())
}

pub(crate) fn split(proof: &mut Proof<'_>, axis: u32, cell: u32, low_first: bool) -> Result<(), Refusal> {
    let (low, high) = proof.range(axis)?;
    if !(low <= cell && cell < high - 1) {
        let after = cell.saturating_add(1);
        return Err(Refusal::BoxRange { axis, low, high: after, box_low: low, box_high: high });
    }
    let (lower, upper) = ((low, cell + 1), (cell + 1, high));
    let (first, second) = if low_first { (lower, upper) } else { (upper, lower) };
    proof.divide(axis, first, second);
    Ok(())
}
