//! Rule `meet`: a problem of two rows over pieces of one axis each is decided without boxes.
//!
//! Premise: the problem has two rows (f, g), and every piece depends on one axis at most. The axes
//! are divided between two halves: those that the step lists, and all others. Each half's sums (f,
//! g) over all choices of one cell for each axis are listed, without those that cannot reach a
//! bound even with the best of everything else, and without those that are no better in both rows
//! than another one. No pair of one entry from each list reaches both bounds.
//!
//! Conclusion: the problem has no solution.
//!
//! Why: a solution chooses one cell on each axis, and its two half sums add up to at least both
//! bounds. None of them was left out because it cannot reach a bound, since it does. If one was
//! left out because another one is no worse in both rows, that other one reaches the bounds as
//! well, and following such replacements leads to one that is in the list. So some pair of entries
//! would reach both bounds. Any way to divide the axes is sound; the step's choice only makes the
//! lists short.

use std::collections::BTreeMap;

use crate::pieces::Form;
use crate::proof::Proof;
use crate::refusal::Refusal;
use crate::rules::{minus, plus};
use crate::wide::Int;

/// `widest` stays below this, and every number here is a sum of fewer than eight numbers whose
/// magnitude is at most `widest`.
const WIDEST: i128 = 1 << 123;
/// A sum does not fit into 128 bits.
const TOO_WIDE: Refusal = Refusal::LimitMeet { entries: None };

type Sums = (i128, i128);

pub(crate) fn meet(proof: &Proof<'_>, first: &[u32]) -> Result<(), Refusal> {
    let (rows, pieces) = (&proof.rows, proof.pieces);
    if rows.count != 2 {
        return Err(Refusal::MeetShape { rows: rows.count, piece: None });
    }
    // No sum of one entry from each piece, with the bounds, is larger than `widest`.
    let mut widest = 0i128;
    for values in rows.values.iter().chain([&rows.bounds]) {
        let largest = Int::largest_magnitude(values).to_i128();
        let sum = largest.and_then(|largest| widest.checked_add(largest));
        widest = sum.filter(|&sum| sum < WIDEST).ok_or(TOO_WIDE)?;
    }
    let narrow = |value: &Int| value.to_i128().ok_or(TOO_WIDE);
    let mut bounds = (narrow(&rows.bounds[0])?, narrow(&rows.bounds[1])?);
    // For each axis that a piece depends on, a table with an entry for each of its cells.
    let mut tables: BTreeMap<usize, Vec<Sums>> = BTreeMap::new();
    let mut without_axis = vec![true; pieces.pieces.len()];
    let entry = |piece: usize, leaf: usize| {
        let values = &rows.values[piece][leaf * 2..];
        Ok((narrow(&values[0])?, narrow(&values[1])?))
    };
    for (axis, touches) in pieces.touches.iter().enumerate() {
        for touch in touches {
            if !matches!(pieces.pieces[touch.piece].form, Form::Table) {
                return Err(Refusal::MeetShape { rows: rows.count, piece: Some(touch.piece) });
            }
            without_axis[touch.piece] = false;
            let (size, limit) = (pieces.forest.axes()[axis], pieces.limits.meet_entries);
            if size as usize > limit {
                return Err(Refusal::LimitMeet { entries: Some(limit) });
            }
            let table = tables.entry(axis).or_insert_with(|| vec![(0, 0); size as usize]);
            for (cell, slot) in (0..size).zip(table) {
                *slot = plus(*slot, entry(touch.piece, touch.run_of(cell))?);
            }
        }
    }
    for piece in (0..pieces.pieces.len()).filter(|&piece| without_axis[piece]) {
        bounds = minus(bounds, entry(piece, 0)?);
    }
    let mut halves = [Vec::new(), Vec::new()];
    for &axis in first {
        if axis as usize >= pieces.forest.axes().len() {
            return Err(Refusal::MeetAxis { axis, axes: pieces.forest.axes().len() });
        }
        halves[0].extend(tables.remove(&(axis as usize)));
    }
    halves[1].extend(tables.into_values());
    for half in &mut halves {
        // Long tables come first, so that the list grows late.
        half.sort_by_key(|table| std::cmp::Reverse(table.len()));
        half.iter_mut().for_each(keep_best);
    }
    let tops = halves.each_ref().map(|half| half.iter().map(|table| top(table)).fold((0, 0), plus));
    let limit = proof.pieces.limits.meet_entries;
    let lists = [
        combine(&halves[0], minus(bounds, plus(tops[0], tops[1])), limit, proof)?,
        combine(&halves[1], minus(bounds, plus(tops[0], tops[1])), limit, proof)?,
    ];
    // In both lists f falls and g rises. The entries of the second list with enough f are a prefix
    // that only shrinks, and the last entry of this prefix has the most g.
    let mut enough = lists[1].len();
    for &entry in &lists[0] {
        while enough > 0 && entry.0 + lists[1][enough - 1].0 < bounds.0 {
            enough -= 1;
        }
        if enough > 0 && entry.1 + lists[1][enough - 1].1 >= bounds.1 {
            return Err(Refusal::MeetSolution { reached: plus(entry, lists[1][enough - 1]), bounds });
        }
    }
    Ok(())
}

/// All useful sums of a half, by falling f and rising g. `missing` is the bounds minus the best of
/// everything: an entry that falls short of the best by more than minus `missing` cannot reach a
/// bound.
fn combine(half: &[Vec<Sums>], missing: Sums, limit: usize, proof: &Proof<'_>) -> Result<Vec<Sums>, Refusal> {
    let mut list = vec![(0, 0)];
    let mut best = (0, 0);
    for table in half {
        best = plus(best, top(table));
        // What the tables so far have to contribute if all others contribute their best.
        let needed = plus(missing, best);
        if list.len().saturating_mul(table.len()) > limit {
            return Err(Refusal::LimitMeet { entries: Some(limit) });
        }
        let mut longer = Vec::new();
        for &value in table {
            proof.go_on()?;
            let sums = list.iter().map(|&sums| plus(sums, value));
            longer.extend(sums.filter(|sums| sums.0 >= needed.0 && sums.1 >= needed.1));
        }
        keep_best(&mut longer);
        list = longer;
    }
    Ok(list)
}

/// Removes entries that are no better than another one, and sorts the rest by falling f and rising
/// g.
fn keep_best(table: &mut Vec<Sums>) {
    table.sort_unstable_by(|a, b| b.cmp(a));
    let mut most = None;
    table.retain(|&(_, g)| {
        let better = most.is_none_or(|most| g > most);
        most = most.max(Some(g));
        better
    });
}

/// The largest value of each row alone.
fn top(table: &[Sums]) -> Sums {
    let of = |pick: fn(&Sums) -> i128| table.iter().map(pick).max().unwrap_or(0);
    (of(|sums| sums.0), of(|sums| sums.1))
}
