//! Rule `join`: a small box is examined by combining the sums of two halves.
//!
//! Premise: two rows (f, g), the one that the step names and the last one. A piece is *settled* if
//! only one of its joint leaves meets the box, or if all its joint leaves have the same f and the
//! same g. Neighbouring cells of the box on an axis are in one *class* if no unsettled piece tells
//! them apart: the same ones of its joint leaves that meet the box hold both cells. The axes that
//! the step does not fix fall into *parts*: two axes are in one part if an unsettled piece changes
//! along both, or if a chain of such pieces links them. The parts are divided between two halves.
//! For every choice of a class on each fixed axis, the sums (f, g) of each half are listed, over
//! all choices of a class on the half's axes. Every pair of one entry from each list that reaches
//! both bounds, together with what the other pieces add, describes a part of the box: the cells of
//! its classes. In that part every piece has only one joint leaf, and one of its cells passes rule
//! `cells`.
//!
//! Conclusion: the box holds no solution that is not excused.
//!
//! Why: cells of the same classes are in the same joint leaf of every unsettled piece, so f and g
//! are the same for all of them. When the fixed axes are chosen, every unsettled piece changes
//! along the axes of one part only, so a row is a sum of one number for each part and a constant. A
//! cell that solves the problem has an entry in each list, and the two entries together reach both
//! bounds, so the cell is in one of the pairs. All cells of a pair are in the same joint leaf of
//! every piece, so they reach the same leaf of every tree, and one of them that passes stands for
//! all.
//!
//! An entry is left out of a list only if it does not reach a bound even with the best of
//! everything else, so it is in no pair. Which axes are fixed, and how the parts are divided,
//! affects only the length of the lists, not soundness. Numbers may have been rounded up
//! (`lens.rs`), which can only add pairs.

use crate::boxes::lowest;
use crate::pieces::{Form, Touch, low_bits};
use crate::proof::Proof;
use crate::refusal::{JoinLimit, Refusal};
use crate::rules::cells::cell;
use crate::rules::{minus, plus};

/// A number for each of the two rows.
type Sums = (i64, i64);

/// An entry of a list: a sum, and the index of its choice of classes.
type Entry = (Sums, usize);

pub(crate) fn join(proof: &mut Proof<'_>, row: u32, fixed: &[u32]) -> Result<(), Refusal> {
    let (rows, axes) = (proof.rows.count, proof.state.ranges.len());
    if row as usize + 1 >= rows {
        return Err(Refusal::JoinRow { row, rows });
    }
    if let Some(&axis) = fixed.iter().find(|&&axis| axis as usize >= axes) {
        return Err(Refusal::JoinAxis { axis, axes });
    }
    let row_lenses = proof.row_lenses();
    let mut rest = Rest::of_box(proof, [row_lenses[row as usize], row_lenses[rows - 1]], fixed)?;
    let mut pairs = 0;
    loop {
        proof.go_on()?;
        for codes in rest.pairs(pairs, proof.pieces.limits.join_pairs)? {
            pairs += 1;
            passes(proof, &rest, codes, &row_lenses)?;
        }
        if !rest.next_choice() {
            return Ok(());
        }
    }
}

/// Examines the part of the box that these entries of the two lists describe: does one of its cells
/// stand for all of them, and does that cell pass rule `cells`?
fn passes(proof: &mut Proof<'_>, rest: &Rest, codes: [usize; 2], row_lenses: &[u32]) -> Result<(), Refusal> {
    let mark = proof.state.mark();
    for (axis, low, high) in rest.chosen(codes, &proof.state.ranges) {
        proof.restrict(axis as u32, low, high);
    }
    let pieces = proof.pieces;
    let alike = (0..pieces.pieces.len()).all(|piece| proof.state.leaf(pieces, piece).1);
    for axis in 0..proof.state.ranges.len() {
        let (low, high) = proof.state.ranges[axis];
        if high - low > 1 {
            proof.restrict(axis as u32, low, low + 1);
        }
    }
    let result = if alike {
        cell(proof, row_lenses)
    } else {
        let cell = proof.state.ranges.iter().map(|range| range.0).collect();
        Err(Refusal::CellsSolution { cell })
    };
    proof.state.undo(mark);
    result.map_err(|refusal| match refusal {
        Refusal::CellsSolution { cell } => Refusal::JoinSolution { cell, alike },
        other => other,
    })
}

/// The state of a join over a box. Open axes are named by their position in `axes`, and sets of
/// them are the bits of a word.
struct Rest {
    axes: Vec<OpenAxis>,
    /// The axes that are fixed.
    fixed: u64,
    parts: Vec<Part>,
    /// How far the settled pieces fall short of the bounds.
    needed: Sums,
}

/// An axis with more than one class.
struct OpenAxis {
    axis: usize,
    /// The first cell of each class.
    classes: Vec<u32>,
    /// The present class, if the axis is fixed.
    chosen: usize,
}

/// Open axes that pieces link when the fixed ones are left out. The part without axes is for pieces
/// that change along fixed axes only.
#[derive(Default)]
struct Part {
    own: u64,
    /// The fixed axes along which its pieces change.
    fixed: u64,
    /// The number of choices of a class on each of its own axes.
    count: usize,
    second_half: bool,
    /// What its pieces add for every choice on its axes. In the table own axes come before fixed
    /// ones, each group by position, and the first axis changes fastest.
    table: Vec<Sums>,
    /// For each choice on its fixed axes the largest value of each row alone.
    tops: Vec<Sums>,
}

/// An unsettled piece changes along an open axis.
struct Along<'a> {
    piece: usize,
    at: usize,
    touch: &'a Touch,
}

impl Rest {
    fn of_box(proof: &Proof<'_>, lenses: [u32; 2], fixed: &[u32]) -> Result<Self, Refusal> {
        let [f, g] = lenses.map(|lens| &proof.lenses[lens as usize]);
        let layout = proof.pieces;
        let mut needed = (f.narrow_bound, g.narrow_bound);
        let mut settled = Vec::with_capacity(layout.pieces.len());
        for piece in 0..layout.pieces.len() {
            let (leaf, only) = proof.state.leaf(layout, piece);
            settled.push(only || f.is_constant(piece) && g.is_constant(piece));
            if settled[piece] {
                needed = minus(needed, (f.narrow_values(piece)[leaf], g.narrow_values(piece)[leaf]));
            } else if let Form::Tree(joint) = &layout.pieces[piece].form {
                let limit = joint.leaves as u64 - 1;
                return Err(Refusal::LimitJoin { what: JoinLimit::Leaves, limit });
            }
        }
        let (axes, mut changes) = open_axes(proof, &settled)?;
        let is_fixed = |axis: &OpenAxis| fixed.contains(&(axis.axis as u32));
        let fixed = axes.iter().enumerate().fold(0, |set, (at, axis)| set | u64::from(is_fixed(axis)) << at);
        changes.sort_unstable_by_key(|along| (along.piece, along.at));
        let set_of = |changes: &[Along<'_>]| changes.iter().fold(0, |set, along| set | 1u64 << along.at);
        let mut pieces: Vec<(u64, &[Along<'_>])> =
            changes.chunk_by(|a, b| a.piece == b.piece).map(|own| (set_of(own), own)).collect();
        pieces.sort_unstable_by_key(|&(set, own)| (set.count_ones(), set, own[0].piece));
        let mut rest = Self { axes, fixed, parts: Vec::new(), needed };
        rest.make_parts(&pieces, proof.pieces.limits.join_sums)?;
        // The tables of all sets of axes along which pieces change, few axes first, then those of the
        // parts.
        let alike: Vec<_> = pieces.chunk_by(|a, b| a.0 == b.0).collect();
        let parts = rest.parts.iter().map(|part| part.own | part.fixed);
        let sets = alike.iter().map(|pieces| pieces[0].0).chain(parts);
        let mut tables: Vec<(u64, Vec<Sums>)> = sets.map(|set| (set, Vec::new())).collect();
        for (at, pieces) in alike.iter().enumerate() {
            proof.go_on()?;
            let (set, mut sums) = std::mem::take(&mut tables[at]);
            sums.resize(rest.choices(set) as usize, (0, 0));
            for (_, changes) in *pieces {
                let piece = changes[0].piece;
                let value = |leaf: usize| (f.narrow_values(piece)[leaf], g.narrow_values(piece)[leaf]);
                let mask = proof.state.mask(&layout.pieces[piece]);
                let along = rest.along(set, changes);
                fill(&value, &along, &mut mask.repeat(along.len() + 1), &mut sums);
            }
            // It is added to the next table that has all its axes, and so with that one to a part's:
            // few tables are added to a long one. (What changes along fixed axes only may be counted
            // in any part that has these.)
            let wider = tables[at + 1..].iter_mut().find(|(axes, _)| set & axes == set);
            let (axes, into) = wider.expect("a part has all axes of its pieces");
            into.resize(rest.choices(*axes) as usize, (0, 0));
            spread(&rest.steps(*axes, set), &sums, into);
        }
        for (index, (set, mut table)) in tables.drain(alike.len()..).enumerate() {
            table.resize(rest.choices(set) as usize, (0, 0));
            let part = &mut rest.parts[index];
            part.tops = table.chunks(part.count).map(top).collect();
            part.table = table;
        }
        Ok(rest)
    }

    /// How the entries of a table over `axes` and of one over `some` of them are laid out (`spread`).
    fn steps(&self, axes: u64, some: u64) -> Vec<(usize, usize, usize)> {
        let (mut into, mut from) = (1, 1);
        let step = |at: usize| {
            let (classes, shared) = (self.axes[at].classes.len(), some >> at & 1 == 1);
            let step = (classes, into, if shared { from } else { 0 });
            (into, from) = (into * classes, if shared { from * classes } else { from });
            step
        };
        self.ordered(axes).map(step).collect()
    }

    /// The axes of a set in the order of tables: own ones before fixed ones.
    fn ordered(&self, set: u64) -> impl Iterator<Item = usize> + use<> {
        bits(set & !self.fixed).chain(bits(set & self.fixed))
    }

    /// How many choices of a class there are on all these axes.
    fn choices(&self, set: u64) -> u64 {
        bits(set).fold(1, |count: u64, at| count.saturating_mul(self.axes[at].classes.len() as u64))
    }

    /// The axes along which a piece changes, in the order of tables, each with the run that holds
    /// each of its classes.
    fn along<'a>(&self, set: u64, changes: &[Along<'a>]) -> Vec<(&'a Touch, Vec<usize>)> {
        let runs = |at: usize| {
            let own = changes.iter().find(|along| along.at == at).expect("the set is of these changes");
            (own.touch, self.axes[at].classes.iter().map(|&cell| own.touch.run_of(cell)).collect())
        };
        self.ordered(set).map(runs).collect()
    }

    /// Makes the parts and divides them between the two halves, within the limit.
    fn make_parts(&mut self, pieces: &[(u64, &[Along<'_>])], limit: u64) -> Result<(), Refusal> {
        // The axes of all pieces for whose axes this holds; those of all that share an axis with a set.
        let all = |holds: &dyn Fn(u64) -> bool| {
            pieces.iter().filter(|(set, _)| holds(*set)).fold(0, |all, (set, _)| all | set)
        };
        let linked = |own: u64| all(&|set| set & own != 0);
        let mut rest = !self.fixed & low_bits(self.axes.len());
        while rest != 0 {
            let mut own = rest & rest.wrapping_neg();
            while linked(own) & rest & !own != 0 {
                own |= linked(own) & rest;
            }
            rest &= !own;
            self.parts.push(Part { own, fixed: linked(own) & self.fixed, ..Part::default() });
        }
        // The part for pieces that change along fixed axes only.
        self.parts.push(Part { fixed: all(&|set| set & !self.fixed == 0), ..Part::default() });
        let mut order: Vec<(u64, usize)> =
            self.parts.iter().enumerate().map(|(index, part)| (self.choices(part.own), index)).collect();
        order.sort_by_key(|&(count, _)| std::cmp::Reverse(count));
        let mut sums = [1u64; 2];
        for (count, index) in order {
            let part = &mut self.parts[index];
            (part.count, part.second_half) = (count as usize, sums[1] < sums[0]);
            let half = &mut sums[usize::from(part.second_half)];
            *half = half.saturating_mul(count);
        }
        // A part's own choices are counted in the sums of its half, and the choices on its fixed
        // axes in those of all fixed axes. So no table is longer than the work that is allowed.
        let work = self.choices(self.fixed).saturating_mul(sums[0].saturating_add(sums[1]));
        if work > limit {
            return Err(Refusal::LimitJoin { what: JoinLimit::Sums, limit });
        }
        Ok(())
    }

    /// Moves to the next choice on the fixed axes; `false` after the last one.
    fn next_choice(&mut self) -> bool {
        bits(self.fixed).any(|at| {
            let axis = &mut self.axes[at];
            axis.chosen = (axis.chosen + 1) % axis.classes.len();
            axis.chosen > 0
        })
    }

    /// The pairs of entries that reach both bounds at the present choice. Earlier choices had
    /// `before` pairs, and all choices together may have `most`.
    fn pairs(&self, before: usize, most: usize) -> Result<Vec<[usize; 2]>, Refusal> {
        // How much each row may lose, compared with the best of everything, before it misses its
        // bound.
        let best = self.parts.iter().map(|part| part.present(&self.axes).1);
        let spare = best.fold(minus((0, 0), self.needed), plus);
        if spare.0 < 0 || spare.1 < 0 {
            return Ok(Vec::new());
        }
        let mut sizes = [1; 2];
        let mut lists: [Vec<Entry>; 2] = [vec![((0, 0), 0)], vec![((0, 0), 0)]];
        for part in &self.parts {
            let half = usize::from(part.second_half);
            // A part with one choice loses nothing.
            if part.count == 1 {
                continue;
            }
            let (table, top) = part.present(&self.axes);
            let mut longer = Vec::with_capacity(table.len().max(lists[half].len()));
            for (index, &sums) in table.iter().enumerate() {
                let lost = minus(top, sums);
                let left = minus(spare, lost);
                if left.0 < 0 || left.1 < 0 {
                    continue;
                }
                for &(entry, code) in lists[half].iter() {
                    if entry.0 <= left.0 && entry.1 <= left.1 {
                        longer.push((plus(entry, lost), code + index * sizes[half]));
                    }
                }
            }
            if longer.is_empty() {
                return Ok(Vec::new());
            }
            sizes[half] *= part.count;
            lists[half] = longer;
        }
        let [first, second] = lists;
        let swapped = second.len() < first.len();
        let (mut short, long) = if swapped { (second, first) } else { (first, second) };
        // In the shorter list, entries that lose little of f come first. Among the entries that
        // lose little enough of f, the smallest loss of g tells whether any of them makes a pair.
        short.sort_unstable();
        let mut least_g = Vec::with_capacity(short.len());
        for &((_, g), _) in short.iter() {
            least_g.push(least_g.last().map_or(g, |&least: &i64| least.min(g)));
        }
        let mut pairs = Vec::new();
        for (entry, code) in long {
            let left = minus(spare, entry);
            let enough = short.partition_point(|(other, _)| other.0 <= left.0);
            if enough == 0 || least_g[enough - 1] > left.1 {
                continue;
            }
            for &(_, other) in short[..enough].iter().filter(|(other, _)| other.1 <= left.1) {
                if before + pairs.len() >= most {
                    return Err(Refusal::LimitJoin { what: JoinLimit::Pairs, limit: most as u64 });
                }
                pairs.push(if swapped { [code, other] } else { [other, code] });
            }
        }
        Ok(pairs)
    }

    /// For each open axis the cells of its present class in a box with these ranges. The entries of
    /// the two lists choose the class, or the axis is fixed.
    fn chosen(&self, mut codes: [usize; 2], ranges: &[(u32, u32)]) -> Vec<(usize, u32, u32)> {
        let mut classes: Vec<usize> = self.axes.iter().map(|axis| axis.chosen).collect();
        for part in &self.parts {
            let code = &mut codes[usize::from(part.second_half)];
            for at in bits(part.own) {
                let count = self.axes[at].classes.len();
                classes[at] = *code % count;
                *code /= count;
            }
        }
        let cells = |(axis, class): (&OpenAxis, usize)| {
            let behind = axis.classes.get(class + 1).copied().unwrap_or(ranges[axis.axis].1);
            (axis.axis, axis.classes[class], behind)
        };
        self.axes.iter().zip(classes).map(cells).collect()
    }
}

impl Part {
    /// The part of the table for the present choice on the fixed axes, and the largest value of
    /// each row in it.
    fn present(&self, axes: &[OpenAxis]) -> (&[Sums], Sums) {
        let (mut number, mut step) = (0, 1);
        for at in bits(self.fixed) {
            number += step * axes[at].chosen;
            step *= axes[at].classes.len();
        }
        (&self.table[number * self.count..][..self.count], self.tops[number])
    }
}

/// The axes with more than one class, and which piece changes along which.
fn open_axes<'a>(proof: &Proof<'a>, settled: &[bool]) -> Result<(Vec<OpenAxis>, Vec<Along<'a>>), Refusal> {
    let layout = proof.pieces;
    let (mut axes, mut changes): (Vec<OpenAxis>, Vec<Along<'a>>) = (Vec::new(), Vec::new());
    let mut classes = Vec::new();
    for (axis, &(low, high)) in proof.state.ranges.iter().enumerate() {
        if high - low < 2 {
            continue;
        }
        classes.clear();
        classes.push(low);
        for touch in layout.touches[axis].iter().filter(|touch| !settled[touch.piece]) {
            let known = classes.len();
            let (from, to) = touch.runs(low, high);
            let differ = |run: &usize| proof.state.differ(layout, touch, run - 1, *run);
            classes.extend((from + 1..to).filter(differ).map(|run| touch.starts[run]));
            if classes.len() > known {
                changes.push(Along { piece: touch.piece, at: axes.len(), touch });
            }
        }
        if classes.len() > 1 {
            classes.sort_unstable();
            classes.dedup();
            axes.push(OpenAxis { axis, classes: classes.clone(), chosen: 0 });
        }
    }
    // Each axis has at least two classes, so with more axes there are more sums than any limit
    // allows.
    if axes.len() > 64 {
        return Err(Refusal::LimitJoin { what: JoinLimit::Sums, limit: proof.pieces.limits.join_sums });
    }
    Ok((axes, changes))
}

/// Adds the values of one piece to a table over the axes along which it changes. The last of the
/// axes changes slowest, so each of its classes is a block of the table. The first of `masks` has
/// the joint leaves that are left, and one more for each axis is room to work; a piece without
/// masks changes along one axis, and its joint leaves are the runs.
fn fill(
    value: &impl Fn(usize) -> Sums,
    along: &[(&Touch, Vec<usize>)],
    masks: &mut [u64],
    into: &mut [Sums],
) {
    let (mask, below) = masks.split_at_mut(masks.len() / (along.len() + 1));
    if !mask.is_empty() && mask.iter().map(|word| word.count_ones()).sum::<u32>() == 1 {
        let sums = value(lowest(mask.iter().copied()));
        return into.iter_mut().for_each(|slot| *slot = plus(*slot, sums));
    }
    let ((touch, runs), faster) = along.split_last().expect("on one cell of every axis one leaf is left");
    let size = into.len() / runs.len();
    for (block, &run) in into.chunks_exact_mut(size).zip(runs) {
        let left = mask.iter().zip(touch.mask(run, mask.len())).map(|(own, of_run)| own & of_run);
        if faster.is_empty() {
            block[0] = plus(block[0], value(if mask.is_empty() { run } else { lowest(left) }));
        } else {
            below.iter_mut().zip(left).for_each(|(slot, left)| *slot = left);
            fill(value, faster, below, block);
        }
    }
}

/// Adds a table over some axes to one over these and others. The last axis changes slowest. `axes`
/// has for each axis its number of classes, and how far apart the entries of neighbouring classes
/// are in the larger table, and in the smaller one (0 where it does not have the axis).
fn spread(axes: &[(usize, usize, usize)], table: &[Sums], into: &mut [Sums]) {
    if table.len() == into.len() {
        return into.iter_mut().zip(table).for_each(|(slot, &sums)| *slot = plus(*slot, sums));
    }
    if let [sums] = table {
        return into.iter_mut().for_each(|slot| *slot = plus(*slot, *sums));
    }
    let (&(classes, size, own), faster) = axes.split_last().expect("tables without axes have one entry each");
    for class in 0..classes {
        let table = if own > 0 { &table[class * own..][..own] } else { table };
        spread(faster, table, &mut into[class * size..][..size]);
    }
}

/// The largest value of each row alone.
fn top(table: &[Sums]) -> Sums {
    table.iter().fold((i64::MIN, i64::MIN), |top, sums| (top.0.max(sums.0), top.1.max(sums.1)))
}

/// The positions of the bits of a word, ascending.
fn bits(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let at = (word != 0).then(|| word.trailing_zeros() as usize)?;
        word &= word - 1;
        Some(at)
    })
}
