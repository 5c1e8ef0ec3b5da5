//! Rule `narrow`: a lens shows that all solutions of a box lie in a part of it.
//!
//! Premise: cells `low..high` are some of the box's cells on the axis, but not all; the part below them and
//! the part above them, where there is one, are each closed by the lens (rule `close`).
//! Conclusion: a solution in the box lies in the part with cells `low..high`; the box is replaced by it.
//! Why: the three parts make up the box.
//! Refuses: `box.axis`, `box.range`, `lens.unknown`, `narrow.bound_not_met`. Specification: section 6.5.

use crate::proof::Proof;
use crate::reason::Reason;

pub(crate) fn narrow(proof: &mut Proof<'_>, axis: u32, low: u32, high: u32, lens: u32) -> Result<(), Reason> {
    let (old_low, old_high) = proof.range(axis)?;
    let inside = old_low <= low && low < high && high <= old_high;
    if !inside || (low, high) == (old_low, old_high) {
        return Err(Reason::BoxRange { axis, low, high, box_low: old_low, box_high: old_high });
    }
    for (from, to) in [(old_low, low), (high, old_high)] {
        if from < to {
            let (upper, bound) = proof.upper_of_part(lens, axis, from, to)?;
            if upper >= bound {
                let unit = proof.unit(lens);
                return Err(Reason::NarrowBound {
                    lens,
                    axis,
                    low: from,
                    high: to,
                    reached: upper,
                    bound,
                    unit,
                });
            }
        }
    }
    proof.restrict(axis, low, high);
    Ok(())
}
