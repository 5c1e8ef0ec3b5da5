//! Rule `cells`: the cells of a box are examined one by one.
//!
//! Premise: every cell of the box fails a row exactly, or is excused.
//! Conclusion: the box holds no solution that is not excused.
//! Why: these are all its cells.

use crate::proof::Proof;
use crate::refusal::Refusal;

pub(crate) fn cells(proof: &mut Proof<'_>) -> Result<(), Refusal> {
    let sizes = proof.state.ranges.iter().map(|(low, high)| u64::from(high - low));
    let cells = sizes.fold(1u64, |count, size| count.saturating_mul(size));
    let limit = proof.pieces.limits.cells;
    if cells > limit {
        return Err(Refusal::LimitCells { cells, limit });
    }
    let length = |axis: &usize| proof.state.ranges[*axis].1 - proof.state.ranges[*axis].0;
    let mut open: Vec<usize> = (0..proof.state.ranges.len()).filter(|axis| length(axis) > 1).collect();
    // The longest axis comes last, because most of its cells fail a row before the box is narrowed
    // to them.
    open.sort_by_key(length);
    let row_lenses = proof.row_lenses();
    each(proof, &open, &row_lenses)
}

fn each(proof: &mut Proof<'_>, open: &[usize], row_lenses: &[u32]) -> Result<(), Refusal> {
    let Some((&axis, rest)) = open.split_first() else { return cell(proof, row_lenses) };
    let (low, high) = proof.state.ranges[axis];
    for at in low..high {
        proof.go_on()?;
        // Most parts fail a row as a whole.
        let mut fails = |&lens: &u32| {
            let (upper, bound) = proof.upper_of_part(lens, axis as u32, at, at + 1);
            upper < bound
        };
        if row_lenses.iter().any(&mut fails) {
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

/// A box of one cell. The lenses may have rounded, so the rows are added up exactly.
pub(super) fn cell(proof: &mut Proof<'_>, row_lenses: &[u32]) -> Result<(), Refusal> {
    let mut fails = |&lens: &u32| {
        let (upper, bound) = proof.upper(lens);
        upper < bound
    };
    if row_lenses.iter().any(&mut fails) {
        return Ok(());
    }
    let leaves = (0..proof.pieces.pieces.len()).map(|piece| proof.state.leaf(proof.pieces, piece).0);
    if !proof.rows.hold(&leaves.collect::<Vec<_>>()) {
        return Ok(());
    }
    let cell: Vec<u32> = proof.state.ranges.iter().map(|range| range.0).collect();
    if (proof.excuse)(&cell) { Ok(()) } else { Err(Refusal::CellsSolution { cell }) }
}
