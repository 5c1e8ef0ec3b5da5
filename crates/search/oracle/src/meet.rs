//! Two rows over pieces of one feature each: solved without branching, by meeting in the middle.
//!
//! Each axis is a table of pairs (f, g), one for each run of cells. The axes are shared out over
//! two halves; each half lists the sums of all combinations, except those that
//! - cannot reach a bound even with the best of everything else, or
//! - are no better than another one in both rows (which can replace them).
//!
//! In both lists f falls and g rises. For each entry of the first list, the entries of the second
//! with enough f are a prefix, whose last entry has the best g. As f falls in the first list, the
//! prefix shrinks, so one pass decides. Everything is exact; if numbers are too wide for that, the
//! caller searches boxes instead.

use std::time::Instant;

use num_traits::ToPrimitive;
use secateur_model::CellId;

use crate::stop::SearchBudget;
use crate::system::System;

/// No half may list more combinations than this, before the useless ones are dropped.
const MOST: usize = 8_000_000;
/// About how many combinations are listed and sorted in a second: with little time left, a half may
/// list fewer.
const PER_SECOND: f64 = 4e6;
/// Combinations of a list between two checks of the clock.
const POLL: usize = 1 << 10;
/// Numbers have at most this many bits, to leave room for sums in 128 bits.
const BITS: u64 = 120;

/// A sum of table entries, and the code of these entries (mixed radix over the axes of its half).
#[derive(Clone, Copy)]
struct Partial {
    f: i128,
    g: i128,
    code: u64,
}

/// The runs of one axis, with their values in the two rows.
struct Table {
    axis: usize,
    /// First cell of each run.
    starts: Vec<u32>,
    entries: Vec<(i128, i128)>,
}

impl Table {
    fn best(&self) -> (i128, i128) {
        let top = |pick: fn(&(i128, i128)) -> i128| self.entries.iter().map(pick).max().unwrap_or(0);
        (top(|entry| entry.0), top(|entry| entry.1))
    }
}

/// The result of meeting in the middle.
pub(crate) enum Met {
    /// A cell that satisfies the system.
    Solution(Vec<CellId>),
    /// There is no solution; holds the axes of the first half, ascending.
    Nothing(Vec<usize>),
}

/// A solution, or a proof that there is none; `None` if the method does not apply, or the budget is
/// too small for it.
pub(crate) fn solve(system: &System<'_>, budget: &SearchBudget) -> Option<Met> {
    let layout = system.layout();
    // The method needs one table for each axis, but trees of models that only limit the domain are
    // pieces of their own.
    let chosen = !layout.grid().domain().wheres().is_empty();
    if system.row_count() != 2 || !layout.is_univariate() || chosen {
        return None;
    }
    let wide = |value: &num_bigint::BigInt| (value.bits() < BITS).then(|| value.to_i128()).flatten();
    let mut bounds = (wide(&system.bounds()[0])?, wide(&system.bounds()[1])?);
    let mut tables = Vec::new();
    for (index, piece) in layout.pieces().iter().enumerate() {
        let values: Vec<i128> = system.piece_values(index).iter().map(wide).collect::<Option<_>>()?;
        let Some(axis) = piece.axes.first() else {
            bounds = (bounds.0.checked_sub(values[0])?, bounds.1.checked_sub(values[1])?);
            continue;
        };
        let mut cells = vec![CellId(0); layout.grid().axes().len()];
        let entries = axis.starts.iter().map(|&start| {
            cells[axis.axis] = CellId(start);
            let leaf = piece.leaf_of(&cells);
            (values[leaf * 2], values[leaf * 2 + 1])
        });
        tables.push(Table { axis: axis.axis, entries: entries.collect(), starts: axis.starts.clone() });
    }
    // The sum of all tables together must fit as well.
    let total = tables.iter().flat_map(|table| &table.entries).try_fold(0i128, |total, entry| {
        total.checked_add(entry.0.checked_abs()?)?.checked_add(entry.1.checked_abs()?)
    })?;
    total.checked_add(bounds.0.checked_abs()?)?.checked_add(bounds.1.checked_abs()?)?;
    // Take large axes first, and always add to the smaller half.
    tables.sort_by_key(|table| std::cmp::Reverse(table.entries.len()));
    let mut halves = [Vec::new(), Vec::new()];
    let mut sizes = [1f64; 2];
    for table in tables {
        let smaller = usize::from(sizes[1] < sizes[0]);
        sizes[smaller] *= table.entries.len() as f64;
        halves[smaller].push(table);
    }
    let best = halves
        .each_ref()
        .map(|half| half.iter().map(Table::best).fold((0, 0), |sum, top| (sum.0 + top.0, sum.1 + top.1)));
    // Each half holds two lists at a time: the new one, and the one that it is made from.
    let entries = budget.memory.map_or(MOST, |bytes| (bytes / 4) as usize / size_of::<Partial>()).min(MOST);
    let left = budget.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
    let entries = left.map_or(entries, |left| entries.min((left.as_secs_f64() * PER_SECOND) as usize));
    let first = combine(&halves[0], bounds, best[0], best[1], entries, budget)?;
    let second = combine(&halves[1], bounds, best[1], best[0], entries, budget)?;
    let Some((a, b)) = meet(&first, &second, bounds) else {
        let mut axes: Vec<usize> = halves[0].iter().map(|table| table.axis).collect();
        axes.sort_unstable();
        return Some(Met::Nothing(axes));
    };
    Some(Met::Solution({
        let mut cells = vec![CellId(0); layout.grid().axes().len()];
        for (half, partial) in halves.iter().zip([a, b]) {
            let mut code = partial.code;
            for table in half {
                let radix = table.entries.len() as u64;
                cells[table.axis] = CellId(table.starts[(code % radix) as usize]);
                code /= radix;
            }
        }
        cells
    }))
}

/// All useful sums of one half, by falling f and rising g; `None` if there are too many, or the
/// time is over.
fn combine(
    half: &[Table],
    bounds: (i128, i128),
    mut own_best: (i128, i128),
    other_best: (i128, i128),
    most: usize,
    budget: &SearchBudget,
) -> Option<Vec<Partial>> {
    let mut list = vec![Partial { f: 0, g: 0, code: 0 }];
    let mut radix = 1u64;
    for table in half {
        let top = table.best();
        own_best = (own_best.0 - top.0, own_best.1 - top.1);
        let needed = (bounds.0 - own_best.0 - other_best.0, bounds.1 - own_best.1 - other_best.1);
        if list.len().checked_mul(table.entries.len())? > most {
            return None;
        }
        let mut next = Vec::with_capacity(list.len() * table.entries.len());
        for (at, partial) in list.iter().enumerate() {
            if at.is_multiple_of(POLL) && budget.over().is_some() {
                return None;
            }
            for (digit, entry) in table.entries.iter().enumerate() {
                let (f, g) = (partial.f + entry.0, partial.g + entry.1);
                if f >= needed.0 && g >= needed.1 {
                    next.push(Partial { f, g, code: partial.code + radix * digit as u64 });
                }
            }
        }
        radix = radix.checked_mul(table.entries.len() as u64)?;
        next.sort_unstable_by(|a, b| b.f.cmp(&a.f).then(b.g.cmp(&a.g)).then(a.code.cmp(&b.code)));
        let mut best = None;
        next.retain(|partial| {
            let better = best.is_none_or(|best| partial.g > best);
            if better {
                best = Some(partial.g);
            }
            better
        });
        list = next;
    }
    Some(list)
}

/// A pair of partial sums that reaches both bounds. In both lists f falls and g rises.
fn meet(first: &[Partial], second: &[Partial], bounds: (i128, i128)) -> Option<(Partial, Partial)> {
    // Entries of the second list with enough f are a prefix. It shrinks as f falls in the first
    // list, and its last entry has the best g.
    let mut enough = second.len();
    for partial in first {
        while enough > 0 && partial.f + second[enough - 1].f < bounds.0 {
            enough -= 1;
        }
        let last = second[..enough].last()?;
        if partial.g + last.g >= bounds.1 {
            return Some((*partial, *last));
        }
    }
    None
}
