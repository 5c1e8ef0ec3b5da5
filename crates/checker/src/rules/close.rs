//! Rule `close`: a lens shows that a box holds no solution.
//!
//! Premise: multipliers lambda >= 0 such that over the joint leaves that meet the box,
//! `sum over pieces of max lambda.value < lambda.bound`, exactly.
//! Conclusion: no cell of the box solves the system.
//! Why: at a cell each piece adds the value of one leaf that meets the box, so the combination of rows is at
//! most the left side; a solution would make it at least the right side, row by row, since lambda >= 0.
//! Refuses: `lens.unknown`, `close.bound_not_met`. Specification: section 6.4.

use crate::proof::Proof;
use crate::reason::Reason;

pub(crate) fn close(proof: &mut Proof<'_>, lens: u32) -> Result<(), Reason> {
    let (upper, bound) = proof.upper(lens)?;
    if upper < bound {
        return Ok(());
    }
    Err(Reason::CloseBound { lens, reached: upper, bound, unit: proof.unit(lens) })
}
