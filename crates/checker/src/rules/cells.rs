//! Rule `cells`: the cells of a box are looked at one by one.
//!
//! Premise: every cell of the box
//! - fails a row, in exact arithmetic; or
//! - is outside of the claim's domain: another model whose score the domain asks for does not score so much on the
//!   cell's witness, in its own library's arithmetic; or
//! - (claims with a band) is decided as the original decides it by the library loading the pruned model: its
//!   own arithmetic on the cell's witness gives that class; where the last bits of its scores are not fixed by
//!   the file (a free order of addition, an intercept that depends on the processor), every lead exceeds what
//!   they can do to the very leaves that the cell reaches; or
//! - (claims about scores) has scores that are not too far apart: computed by the libraries' own arithmetic on the
//!   cell's witness, or, of a model whose last bits are not fixed, as far apart as those can make them for the very
//!   leaves that the cell reaches.
//!
//! Conclusion: the box holds no input that refutes the claim.
//! Why: all inputs of a cell reach the same leaves of every tree, hence give the same bits, in the order of
//! the file. A cell that satisfies the original's rows is decided y by the original's library, since the
//! band is at least its rounding.
//! Refuses: `cells.solution`, `cells.order_of_addition`, `cells.score`; `limit.cells`. Specification: section 6.7.

use secateur_model::CellId;

use crate::proof::Proof;
use crate::reason::Reason;

pub(crate) fn cells(proof: &mut Proof<'_>) -> Result<(), Reason> {
    let sizes = proof.state.ranges.iter().map(|(low, high)| u64::from(high - low));
    let count = sizes.fold(1u64, |count, size| count.saturating_mul(size));
    if count > proof.limits.cells {
        return Err(Reason::LimitCells { cells: count, limit: proof.limits.cells });
    }
    let mut open: Vec<usize> = (0..proof.state.ranges.len())
        .filter(|&axis| proof.state.ranges[axis].1 - proof.state.ranges[axis].0 > 1)
        .collect();
    // The longest axis last: it is looked along without narrowing to each of its cells.
    open.sort_by_key(|&axis| proof.state.ranges[axis].1 - proof.state.ranges[axis].0);
    let row_lenses = proof.row_lenses();
    each(proof, &open, &row_lenses)
}

fn each(proof: &mut Proof<'_>, open: &[usize], row_lenses: &[u32]) -> Result<(), Reason> {
    let Some((&axis, rest)) = open.split_first() else { return cell(proof, row_lenses) };
    let (low, high) = proof.state.ranges[axis];
    for at in low..high {
        proof.go_on()?;
        // Most parts fail a row as a whole.
        if fails(proof, row_lenses, axis, at)? {
            continue;
        }
        let mark = proof.state.mark();
        proof.restrict(axis as u32, at, at + 1);
        let result = each(proof, rest, row_lenses);
        proof.state.undo(mark);
        result?;
    }
    Ok(())
}

fn fails(proof: &mut Proof<'_>, row_lenses: &[u32], axis: usize, cell: u32) -> Result<bool, Reason> {
    for &lens in row_lenses {
        let (upper, bound) = proof.upper_of_part(lens, axis as u32, cell, cell + 1)?;
        if upper < bound {
            return Ok(true);
        }
    }
    Ok(false)
}

/// A box of one cell: the lenses may have rounded, so the rows are added up exactly.
pub(super) fn cell(proof: &mut Proof<'_>, row_lenses: &[u32]) -> Result<(), Reason> {
    for &lens in row_lenses {
        let (upper, bound) = proof.upper(lens)?;
        if upper < bound {
            return Ok(());
        }
    }
    if !proof.system.holds(&proof.state.leaves(proof.layout)) {
        return Ok(());
    }
    let cells: Vec<CellId> = proof.state.ranges.iter().map(|range| CellId(range.0)).collect();
    let input = proof.layout.grid.witness(&cells);
    // The rows of other models leave room for their rounding; what their libraries compute has the last word.
    if !proof.layout.grid.inputs().scores_hold(&input) {
        return Ok(());
    }
    proof.pair.holds_at(&input, proof.question)
}
