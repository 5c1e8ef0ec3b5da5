//! Rule `join`: what remains of a small box is put together from two halves.
//!
//! Premise: two rows (f, g), the one that the step names and the last. A piece is *settled* if one of its joint leaves
//! meets the box, or if all its joint leaves have the same f and the same g. Neighbouring cells of the box on an axis are in one *class* if
//! no unsettled piece tells them apart: of its joint leaves that meet the box, the same ones hold both. Without the axes that the step fixes,
//! the others fall into *parts*: axes are in one part if an unsettled piece changes along both, or a chain of such
//! pieces links them. The parts are shared out over two halves. For every choice of a class on each fixed axis,
//! the sums (f, g) of each half are listed, over all choices of a class on its axes. Every pair of one entry from
//! each list that reaches both bounds, with what the other pieces add, is a part of the box: its classes. Of every
//! piece one joint leaf meets that part, and one of its cells passes rule `cells`.
//! Conclusion: the box holds no input that refutes the claim.
//! Why: cells of the same classes are in the same joint leaf of every unsettled piece, so f and g are the same for
//! all of them. When the fixed axes are chosen, every unsettled piece changes along the axes of one part only, so
//! a row is a sum of one number for each part and a constant. A cell that solves the system has an entry in each
//! list, and the two reach both bounds: it is in one of the pairs. All cells of a pair are in the same joint leaf
//! of every piece, so they reach the same leaf of every tree, and one of them that passes stands for all. An entry
//! is left out of a list only if with the best of everything else it does not reach a bound, so it is in no pair.
//! Which axes are fixed and how the parts are shared out makes lists long or short, not right or wrong. Numbers
//! may have been rounded up (`lens.rs`), which makes pairs more and not fewer.
//! Refuses: `join.row`, `join.axis`, `join.solution`, `cells.order_of_addition`; `limit.join`. Specification:
//! section 6.9.

use secateur_model::CellId;

use crate::layout::{Form, Touch};
use crate::lens::Lens;
use crate::proof::Proof;
use crate::reason::Reason;
use crate::rules::cells::cell;
use crate::state::LeavesLeft;

/// A number for each of the two rows.
type Sums = (i64, i64);

/// An entry of a list: a sum, and which choice of classes it is.
type Entry = (Sums, usize);

pub(crate) fn join(proof: &mut Proof<'_>, row: u32, fixed: &[u32]) -> Result<(), Reason> {
    let (rows, axes) = (proof.system.rows, proof.layout.sizes.len());
    if row as usize + 1 >= rows {
        return Err(Reason::JoinRow { row, rows });
    }
    if let Some(&axis) = fixed.iter().find(|&&axis| axis as usize >= axes) {
        return Err(Reason::JoinAxis { axis, axes });
    }
    let row_lenses = proof.row_lenses();
    let lenses = [row_lenses[row as usize], row_lenses[proof.system.rows - 1]];
    let mut rest = Rest::of_box(proof, lenses, fixed)?;
    let mut pairs = 0;
    loop {
        proof.go_on()?;
        for codes in rest.pairs(pairs, proof.limits.join_pairs)? {
            pairs += 1;
            passes(proof, &rest, codes, &row_lenses)?;
        }
        if !rest.next_choice() {
            return Ok(());
        }
    }
}

/// The part of the box with these entries of the two lists: does one of its cells stand for all and pass rule
/// `cells`?
fn passes(proof: &mut Proof<'_>, rest: &Rest, codes: [usize; 2], row_lenses: &[u32]) -> Result<(), Reason> {
    let mark = proof.state.mark();
    for (axis, low, high) in rest.chosen(codes, &proof.state.ranges) {
        proof.restrict(axis as u32, low, high);
    }
    let settled = |piece: usize| proof.state.leaves_left(proof.layout, piece).only().is_some();
    let result = if (0..proof.layout.pieces.len()).all(settled) {
        for axis in 0..proof.state.ranges.len() {
            let (low, high) = proof.state.ranges[axis];
            if high - low > 1 {
                proof.restrict(axis as u32, low, low + 1);
            }
        }
        cell(proof, row_lenses).map_err(|reason| match reason {
            Reason::CellsSolution { input, winner } => Reason::JoinSolution { input, winner, alike: true },
            other => other,
        })
    } else {
        let cells: Vec<CellId> = proof.state.ranges.iter().map(|range| CellId(range.0)).collect();
        let input = proof.layout.grid.witness(&cells);
        Err(Reason::JoinSolution { input, winner: proof.winner.0, alike: false })
    };
    proof.state.undo(mark);
    result
}

/// What remains of a box.
struct Rest {
    axes: Vec<OpenAxis>,
    parts: Vec<Part>,
    /// What the bounds ask for beyond what the settled pieces add.
    needed: Sums,
    /// The sums of the two halves at the present choice, and room for the next ones.
    lists: [Vec<Entry>; 2],
    longer: Vec<Entry>,
}

/// An axis with more than one class.
struct OpenAxis {
    axis: usize,
    /// The first cell of each class.
    classes: Vec<u32>,
    fixed: bool,
    /// The class that is chosen, where the axis is fixed.
    chosen: usize,
}

/// Open axes that pieces link when the fixed ones are left out; or none, for pieces along fixed axes alone.
struct Part {
    /// Its own axes, then the fixed ones that its pieces change along, both by position in `Rest::axes`.
    own: Vec<usize>,
    fixed: Vec<usize>,
    /// Choices of a class on each of its own axes.
    count: usize,
    second_half: bool,
    /// What its pieces add for every choice on these axes, that of the first axis changing fastest.
    table: Vec<Sums>,
    /// For each choice on its fixed axes the best of each row alone.
    tops: Vec<Sums>,
}

/// A piece that is not settled, with the open axes along which it changes.
struct Unsettled<'a> {
    piece: usize,
    changes: Vec<Along<'a>>,
}

/// A piece that changes along an open axis.
struct Along<'a> {
    /// The position of the axis in `Rest::axes`.
    at: usize,
    touch: &'a Touch,
    /// The run of cells that each class of the axis is in, once the classes are known.
    runs: Vec<usize>,
}

/// What the pieces that change along the same open axes add, for every choice on these axes.
struct Table {
    part: usize,
    /// As in the part: own axes first.
    axes: Vec<usize>,
    sums: Vec<Sums>,
}

impl Rest {
    fn of_box(proof: &Proof<'_>, lenses: [u32; 2], fixed: &[u32]) -> Result<Self, Reason> {
        let [f, g] = [proof.lens(lenses[0])?, proof.lens(lenses[1])?];
        let layout = proof.layout;
        let mut needed = (f.narrow_bound, g.narrow_bound);
        let mut unsettled: Vec<Option<Unsettled<'_>>> = Vec::with_capacity(layout.pieces.len());
        for piece in 0..layout.pieces.len() {
            let left = proof.state.leaves_left(layout, piece);
            unsettled.push(if left.only().is_some() || f.is_constant(piece) && g.is_constant(piece) {
                let leaf = left.lowest();
                needed = minus(needed, (f.narrow_value(piece, leaf), g.narrow_value(piece, leaf)));
                None
            } else {
                if let Form::Tree(joint) = &layout.pieces[piece].form {
                    let what = "joint leaves of a piece that is not settled";
                    return Err(Reason::LimitJoin { what, limit: joint.leaves as u64 - 1 });
                }
                Some(Unsettled { piece, changes: Vec::new() })
            });
        }
        let mut axes: Vec<OpenAxis> = Vec::new();
        for (axis, &(low, high)) in proof.state.ranges.iter().enumerate() {
            if high - low < 2 {
                continue;
            }
            let mut classes = vec![low];
            for touch in &layout.touches[axis] {
                let Some(unsettled) = &mut unsettled[touch.piece] else { continue };
                let left = proof.state.leaves_left(layout, touch.piece);
                let known = classes.len();
                let (from, to) = touch.runs(low, high);
                classes.extend(
                    (from + 1..to)
                        .filter(|&run| left.differ(touch, run - 1, run))
                        .map(|run| touch.starts[run]),
                );
                if classes.len() > known {
                    unsettled.changes.push(Along { at: axes.len(), touch, runs: Vec::new() });
                }
            }
            classes.sort_unstable();
            classes.dedup();
            if classes.len() > 1 {
                axes.push(OpenAxis { axis, classes, fixed: fixed.contains(&(axis as u32)), chosen: 0 });
            }
        }
        let mut unsettled: Vec<Unsettled<'_>> = unsettled.into_iter().flatten().collect();
        for along in unsettled.iter_mut().flat_map(|piece| &mut piece.changes) {
            let run_of = |&cell: &u32| along.touch.runs(cell, cell + 1).0;
            along.runs = axes[along.at].classes.iter().map(run_of).collect();
        }
        let (parts, part_of) = parts(&axes, &unsettled);
        let mut rest = Self { axes, parts, needed, lists: [Vec::new(), Vec::new()], longer: Vec::new() };
        rest.share_out(proof.limits.join_sums)?;
        for table in rest.tables(proof, [f, g], &unsettled, &part_of)? {
            rest.add(&table.axes, &table.sums, table.part);
        }
        for part in &mut rest.parts {
            part.tops = part.table.chunks(part.count).map(top).collect();
        }
        Ok(rest)
    }

    /// The tables of all pieces, added up where the axes of one are among those of another.
    fn tables(
        &self,
        proof: &Proof<'_>,
        [f, g]: [&Lens; 2],
        unsettled: &[Unsettled<'_>],
        part_of: &[usize],
    ) -> Result<Vec<Table>, Reason> {
        let mut order: Vec<(Vec<usize>, usize)> = unsettled
            .iter()
            .enumerate()
            .map(|(index, piece)| (piece.changes.iter().map(|along| along.at).collect(), index))
            .collect();
        order.sort_unstable();
        let mut tables = Vec::new();
        for alike in order.chunk_by(|a, b| a.0 == b.0) {
            proof.go_on()?;
            let (changes, part) = (&alike[0].0, part_of[alike[0].1]);
            let axes: Vec<usize> = self.parts[part].axes().filter(|at| changes.contains(at)).collect();
            let mut sums = vec![(0, 0); axes.iter().map(|&at| self.axes[at].classes.len()).product()];
            for &(_, index) in alike {
                let Unsettled { piece, changes } = &unsettled[index];
                let along = |at: &usize| changes.iter().find(|along| along.at == *at);
                let along: Vec<&Along<'_>> = axes.iter().filter_map(along).collect();
                let fill = Fill { piece: *piece, f, g };
                fill.add(&along, proof.state.leaves_left(proof.layout, *piece), &mut sums);
            }
            tables.push(Table { part, axes, sums });
        }
        // A table with fewer axes goes into one that has them all, not into the whole part: that is less to add.
        tables.sort_by_key(|table| table.axes.len());
        for index in 0..tables.len() {
            let (small, large) = tables.split_at_mut(index + 1);
            let small = &mut small[index];
            let holds = |table: &&mut Table| small.axes.iter().all(|at| table.axes.contains(at));
            if let Some(table) = large.iter_mut().find(holds) {
                spread(&self.steps(&table.axes, &small.axes), &small.sums, &mut table.sums);
                small.sums.clear();
            }
        }
        tables.retain(|table| !table.sums.is_empty());
        Ok(tables)
    }

    /// Adds a table to that of its part.
    fn add(&mut self, axes: &[usize], sums: &[Sums], part: usize) {
        let all: Vec<usize> = self.parts[part].axes().collect();
        let steps = self.steps(&all, axes);
        spread(&steps, sums, &mut self.parts[part].table);
    }

    /// How a table over these axes and one over `some` of them are laid out.
    fn steps(&self, axes: &[usize], some: &[usize]) -> Vec<Step> {
        let (mut into, mut from) = (1, 1);
        let step = |&at: &usize| {
            let classes = self.axes[at].classes.len();
            let step = Step { classes, into, from: some.contains(&at).then_some(from) };
            into *= classes;
            from *= if step.from.is_some() { classes } else { 1 };
            step
        };
        axes.iter().map(step).collect()
    }

    /// Shares the parts out over the two halves, and makes room for their tables, within the limit.
    fn share_out(&mut self, limit: u64) -> Result<(), Reason> {
        let count = |axes: &[usize]| {
            axes.iter().fold(1u64, |count, &at| count.saturating_mul(self.axes[at].classes.len() as u64))
        };
        let mut order: Vec<(u64, usize)> =
            self.parts.iter().enumerate().map(|(index, part)| (count(&part.own), index)).collect();
        order.sort_by_key(|&(count, _)| std::cmp::Reverse(count));
        let mut sums = [1u64; 2];
        for &(count, index) in &order {
            let second_half = sums[1] < sums[0];
            let half = &mut sums[usize::from(second_half)];
            *half = half.saturating_mul(count);
            self.parts[index].second_half = second_half;
        }
        let all_fixed: Vec<usize> = (0..self.axes.len()).filter(|&at| self.axes[at].fixed).collect();
        let work = count(&all_fixed).saturating_mul(sums[0].saturating_add(sums[1]));
        if work > limit {
            return Err(Reason::LimitJoin { what: "sums", limit });
        }
        // A part's own choices are among the sums of its half, and its fixed axes among all of them: its table is
        // no longer than the work.
        let sizes: Vec<(u64, u64)> =
            self.parts.iter().map(|part| (count(&part.own), count(&part.fixed))).collect();
        for (part, (own, fixed)) in self.parts.iter_mut().zip(sizes) {
            part.count = own as usize;
            part.table = vec![(0, 0); (own * fixed) as usize];
        }
        Ok(())
    }

    /// On to the next choice on the fixed axes; `false` behind the last one.
    fn next_choice(&mut self) -> bool {
        for axis in self.axes.iter_mut().filter(|axis| axis.fixed) {
            axis.chosen += 1;
            if axis.chosen < axis.classes.len() {
                return true;
            }
            axis.chosen = 0;
        }
        false
    }

    /// The pairs of entries that reach both bounds at the present choice; there have been some before, and there may
    /// be at most so many.
    fn pairs(&mut self, before: usize, most: usize) -> Result<Vec<[usize; 2]>, Reason> {
        let best = self.parts.iter().fold((0, 0), |sum, part| plus(sum, part.present(&self.axes).1));
        if best.0 < self.needed.0 || best.1 < self.needed.1 {
            return Ok(Vec::new());
        }
        let Self { axes, parts, needed, lists, longer } = self;
        // What an entry must bring when everything that it leaves open gives its best.
        let mut missing = [minus(*needed, best); 2];
        let mut sizes = [1; 2];
        for list in lists.iter_mut() {
            list.clear();
            list.push(((0, 0), 0));
        }
        for part in parts.iter() {
            let half = usize::from(part.second_half);
            let (table, top) = part.present(axes);
            missing[half] = plus(missing[half], top);
            longer.clear();
            for (index, &sums) in table.iter().enumerate() {
                let least = minus(missing[half], sums);
                let enough = lists[half].iter().filter(|(entry, _)| entry.0 >= least.0 && entry.1 >= least.1);
                longer.extend(enough.map(|&(entry, code)| (plus(entry, sums), code + index * sizes[half])));
            }
            if longer.is_empty() {
                return Ok(Vec::new());
            }
            sizes[half] *= part.count;
            std::mem::swap(&mut lists[half], longer);
        }
        let [first, second] = lists;
        let swapped = second.len() < first.len();
        let (short, long) = if swapped { (second, first) } else { (first, second) };
        // Those of the shorter list that bring enough f come first; of them, the most of g decides.
        short.sort_unstable_by_key(|&((f, _), _)| std::cmp::Reverse(f));
        let mut most_g = Vec::with_capacity(short.len());
        for &((_, g), _) in short.iter() {
            most_g.push(most_g.last().map_or(g, |&most: &i64| most.max(g)));
        }
        let mut pairs = Vec::new();
        for &mut (entry, code) in long {
            let enough = short.partition_point(|(other, _)| other.0 + entry.0 >= needed.0);
            if enough == 0 || most_g[enough - 1] + entry.1 < needed.1 {
                continue;
            }
            let reaching = short[..enough].iter().filter(|(other, _)| other.1 + entry.1 >= needed.1);
            for &(_, other) in reaching {
                if before + pairs.len() >= most {
                    return Err(Reason::LimitJoin { what: "pairs to look at", limit: most as u64 });
                }
                pairs.push(if swapped { [code, other] } else { [other, code] });
            }
        }
        Ok(pairs)
    }

    /// For each open axis the cells of the class that is chosen, of a box of these ranges: by the entries of the two
    /// lists, or because the axis is fixed.
    fn chosen(&self, mut codes: [usize; 2], ranges: &[(u32, u32)]) -> Vec<(usize, u32, u32)> {
        let mut classes: Vec<usize> = self.axes.iter().map(|axis| axis.chosen).collect();
        for part in &self.parts {
            let code = &mut codes[usize::from(part.second_half)];
            for &at in &part.own {
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
    /// Its own axes, then the fixed ones.
    fn axes(&self) -> impl Iterator<Item = usize> {
        self.own.iter().chain(&self.fixed).copied()
    }

    /// The part of the table for the present choice on the fixed axes, and the best of each row in it.
    fn present(&self, axes: &[OpenAxis]) -> (&[Sums], Sums) {
        let number =
            self.fixed.iter().rev().fold(0, |number, &at| number * axes[at].classes.len() + axes[at].chosen);
        (&self.table[number * self.count..][..self.count], self.tops[number])
    }
}

/// The parts, and for each unsettled piece the part that it is in.
fn parts(axes: &[OpenAxis], unsettled: &[Unsettled<'_>]) -> (Vec<Part>, Vec<usize>) {
    // Axes of one part are linked up to the same first one.
    let mut link: Vec<usize> = (0..axes.len()).collect();
    fn first(link: &[usize], mut at: usize) -> usize {
        while link[at] != at {
            at = link[at];
        }
        at
    }
    let own_axes = |piece: &Unsettled<'_>| -> Vec<usize> {
        piece.changes.iter().map(|along| along.at).filter(|&at| !axes[at].fixed).collect()
    };
    for piece in unsettled {
        for pair in own_axes(piece).windows(2) {
            let (a, b) = (first(&link, pair[0]), first(&link, pair[1]));
            link[a.max(b)] = a.min(b);
        }
    }
    let empty = || Part {
        own: Vec::new(),
        fixed: Vec::new(),
        count: 1,
        second_half: false,
        table: Vec::new(),
        tops: Vec::new(),
    };
    let mut parts: Vec<Part> = Vec::new();
    // The number of the part of each axis, and of the one without axes.
    let mut number = vec![usize::MAX; axes.len()];
    for at in (0..axes.len()).filter(|&at| !axes[at].fixed) {
        let head = first(&link, at);
        if head == at {
            number[at] = parts.len();
            parts.push(empty());
        }
        number[at] = number[head];
        parts[number[at]].own.push(at);
    }
    let without_axes = parts.len();
    parts.push(empty());
    let part_of: Vec<usize> = unsettled
        .iter()
        .map(|piece| own_axes(piece).first().map_or(without_axes, |&at| number[at]))
        .collect();
    for (piece, &part) in unsettled.iter().zip(&part_of) {
        let fixed = piece.changes.iter().map(|along| along.at).filter(|&at| axes[at].fixed);
        parts[part].fixed.extend(fixed);
    }
    for part in &mut parts {
        part.fixed.sort_unstable();
        part.fixed.dedup();
    }
    (parts, part_of)
}

/// Adds what one piece contributes to a table over the axes along which it changes.
struct Fill<'a> {
    piece: usize,
    f: &'a Lens,
    g: &'a Lens,
}

impl Fill<'_> {
    /// The last of the axes changes slowest, so each of its classes is a block of the table. `left` are the joint
    /// leaves that are left.
    fn add(&self, along: &[&Along<'_>], left: LeavesLeft<'_>, table: &mut [Sums]) {
        if let Some(leaf) = left.only() {
            let value = (self.f.narrow_value(self.piece, leaf), self.g.narrow_value(self.piece, leaf));
            table.iter_mut().for_each(|slot| *slot = plus(*slot, value));
            return;
        }
        let (Along { touch, runs, .. }, faster) =
            along.split_last().expect("on one cell of every axis one leaf is left");
        let size = table.len() / runs.len();
        for (class, &run) in runs.iter().enumerate() {
            self.add(faster, left.on(touch, run).as_left(), &mut table[class * size..][..size]);
        }
    }
}

/// An axis of a table, and of a smaller one that is added to it.
struct Step {
    classes: usize,
    /// How far apart the entries of neighbouring classes are in the larger table, and in the smaller one where it
    /// has the axis.
    into: usize,
    from: Option<usize>,
}

/// Adds a table over some axes to one over these and others; the last axis changes slowest.
fn spread(axes: &[Step], table: &[Sums], into: &mut [Sums]) {
    if table.len() == into.len() {
        into.iter_mut().zip(table).for_each(|(slot, &sums)| *slot = plus(*slot, sums));
        return;
    }
    if let [sums] = table {
        into.iter_mut().for_each(|slot| *slot = plus(*slot, *sums));
        return;
    }
    let (axis, faster) = axes.split_last().expect("tables without axes have one entry each");
    for class in 0..axis.classes {
        let table = axis.from.map_or(table, |step| &table[class * step..][..step]);
        spread(faster, table, &mut into[class * axis.into..][..axis.into]);
    }
}

/// The best of each row alone.
fn top(table: &[Sums]) -> Sums {
    table.iter().fold((i64::MIN, i64::MIN), |top, sums| (top.0.max(sums.0), top.1.max(sums.1)))
}

fn plus(a: Sums, b: Sums) -> Sums {
    (a.0 + b.0, a.1 + b.1)
}

fn minus(a: Sums, b: Sums) -> Sums {
    (a.0 - b.0, a.1 - b.1)
}
