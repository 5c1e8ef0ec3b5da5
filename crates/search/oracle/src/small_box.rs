//! Decides a small box exactly without splitting it, by joining the sums of two halves.
//!
//! The question is whether some cell of the box reaches the bounds of two rows. Inside the box
//! - cells that no unsettled piece tells apart count as one class ([`Remains`]);
//! - a few axes are *fixed*: every choice of one class on each of them is tried in turn. They are
//!   chosen so that the other axes fall into small *parts*, with no piece that depends on axes of
//!   two parts;
//! - for each choice, a row is a sum of one number from each part. The parts are shared out over
//!   two halves, the sums of each half are listed, and the lists are joined: the shorter one is
//!   sorted by the first row, so that for each entry of the other list the entries that bring
//!   enough in the first row are a prefix. The prefix's best entry in the second row decides.
//!
//! An entry is stored as its shortfall: how far it is below the best that its parts can bring. The
//! best of all parts, together with the settled pieces, exceeds each bound by the row's *spare*.
//! While the lists grow, entries whose shortfall exceeds the spare are dropped. If no pair of
//! entries reaches both bounds, the box holds no solution. A few pairs that do are judged one by
//! one: they may fail another row, or the caller may not accept them. A pair stands for a box of
//! its own, the classes that it chooses.
//!
//! The *work* of a box is the number of choices times the number of sums in both lists. It bounds
//! time and memory, and it decides whether the box is small enough. It depends only on the box.

use secateur_model::CellId;

use crate::fault;
use crate::lens::{Lens, MOST_AXES, Remains, View};

/// A box with more work than this is split instead.
pub(crate) const MOST_WORK: u64 = 1 << 12;
/// At most this many pairs that reach both bounds are judged one by one.
const MOST_PAIRS: usize = 32;
/// For at most this many pairs of entries, trying all of them is faster than sorting.
const FEW_PAIRS: usize = 32;

/// The result for a box.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Looked {
    /// No cell of the box is a solution.
    Nothing,
    /// This cell is one.
    Solution(Vec<CellId>),
    /// Not known: some pairs reach both bounds, and not all of them could be ruled out.
    Unclear,
    /// Not known: the work of the box is at least 2 to this power times the limit.
    TooLarge(u32),
}

/// The judgement on a box that reaches the bounds of two rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Judged {
    /// This cell of the box is a solution.
    Solution(Vec<CellId>),
    /// No cell of the box is one.
    Nothing,
    /// Neither is known.
    Unclear,
}

/// Judges a box that reaches the bounds of two rows. Each of the two rows has the same value in all
/// its cells.
pub(crate) type Judge<'a> = dyn FnMut(&[(u32, u32)]) -> Judged + 'a;

/// The working memory for small boxes, used again for each box.
pub(crate) struct SmallBox {
    remains: Remains,
    /// For each open axis, by position, the axes that share a piece with it, as bits.
    neighbours: Vec<u64>,
    /// The number of classes of each open axis.
    counts: Vec<u64>,
    /// The positions of the fixed axes, as bits.
    fixed: u64,
    parts: Vec<Component>,
    table: Vec<Sums>,
    lists: [Vec<Sums>; 2],
    next: Vec<Sums>,
    /// The chosen class of each open axis.
    choice: Vec<usize>,
    /// The work done since the caller last reset it: table entries made and sums listed. The caller
    /// checks the clock by it.
    pub(crate) done: u64,
}

/// A number for each of the two rows.
type Sums = (i64, i64);

/// Axes that are connected by pieces when the fixed axes are left out.
#[derive(Default)]
struct Component {
    axes: u64,
    /// The fixed axes that its pieces depend on.
    touched: u64,
    /// The number of choices of a class on each of its axes.
    count: usize,
    /// The number of choices of a class on each fixed axis that it touches.
    choices: usize,
    /// Whether it belongs to the second half.
    second: bool,
    /// The sums of its pieces: for each choice on the touched axes, for each choice on its own
    /// axes. In both, the axis of the lowest position changes fastest.
    sums: Vec<Sums>,
    /// For each choice on the touched axes, the best sum in each row.
    tops: Vec<Sums>,
}

impl Component {
    /// The index of a choice of classes among the choices on the touched axes.
    fn number(&self, choice: &[usize], counts: &[u64]) -> usize {
        let mut number = 0;
        for axis in bits(self.touched).rev() {
            number = number * counts[axis] as usize + choice[axis];
        }
        number
    }

    fn sums_at(&self, number: usize) -> &[Sums] {
        &self.sums[number * self.count..][..self.count]
    }
}

impl SmallBox {
    /// For a space with axes of these sizes.
    pub(crate) fn new(sizes: &[u32]) -> Self {
        Self {
            remains: Remains::new(sizes),
            neighbours: Vec::new(),
            counts: Vec::new(),
            fixed: 0,
            parts: Vec::new(),
            table: Vec::new(),
            lists: [Vec::new(), Vec::new()],
            next: Vec::new(),
            choice: Vec::new(),
            done: 0,
        }
    }

    /// Does the box hold a solution? The lens is that of a row with a companion.
    pub(crate) fn look(
        &mut self,
        lens: &Lens,
        view: &View,
        ranges: &[(u32, u32)],
        judge: &mut Judge<'_>,
    ) -> Looked {
        let small = self.remains.collect(lens, view, ranges);
        if !small {
            // More than `MOST_AXES` axes are open, each with at least two classes. One half gets at
            // least half of the axes that are not fixed, so the work is at least 2^(MOST_AXES / 2).
            return Looked::TooLarge((MOST_AXES as u32) / 2 - MOST_WORK.ilog2());
        }
        let work = self.arrange();
        if work > MOST_WORK {
            return Looked::TooLarge(work.ilog2() - MOST_WORK.ilog2());
        }
        self.done += work;
        self.tabulate(lens, view);
        self.join(lens.pair_bounds(), ranges, judge)
    }

    /// The fixed axes of the last box, ascending.
    pub(crate) fn fixed_axes(&self) -> Vec<usize> {
        let mut axes: Vec<usize> = bits(self.fixed).map(|position| self.remains.axes()[position]).collect();
        axes.sort_unstable();
        axes
    }

    /// Chooses the fixed axes and makes the parts and the halves; returns the work.
    fn arrange(&mut self) -> u64 {
        let open = self.remains.axes().len();
        self.counts.clear();
        self.counts.extend((0..open).map(|position| self.remains.classes(position).len() as u64));
        self.neighbours.clear();
        self.neighbours.resize(open, 0);
        let mut fixed_only = false;
        for &(_, set) in &self.remains.pieces {
            bits(set).for_each(|axis| self.neighbours[axis] |= set);
        }
        let plan = Plan { neighbours: &self.neighbours, counts: &self.counts };
        let (work, fixed) = plan.best_fixed();
        self.fixed = fixed;
        let mut used = 0;
        plan.each_part(fixed, |axes, count| {
            if used == self.parts.len() {
                self.parts.push(Component::default());
            }
            let part = &mut self.parts[used];
            (part.axes, part.count, part.touched) = (axes, count as usize, 0);
            used += 1;
        });
        for &(_, set) in &self.remains.pieces {
            match self.parts[..used].iter_mut().find(|part| part.axes & set != 0) {
                Some(part) => part.touched |= set & fixed,
                None => fixed_only = true,
            }
        }
        self.parts.truncate(used);
        // Pieces that depend on fixed axes only make a part without axes of its own.
        if fixed_only {
            self.parts.push(Component { touched: fixed, count: 1, ..Component::default() });
        }
        self.parts.sort_by_key(|part| std::cmp::Reverse(part.count));
        let mut halves = Halves::new();
        for part in &mut self.parts {
            part.second = halves.add(part.count as u64);
            part.choices = plan.product(part.touched) as usize;
        }
        work
    }

    /// Fills the parts' tables.
    fn tabulate(&mut self, lens: &Lens, view: &View) {
        for part in &mut self.parts {
            part.sums.clear();
            part.sums.resize(part.count * part.choices, (0, 0));
        }
        let mut pieces = std::mem::take(&mut self.remains.pieces);
        pieces.sort_unstable_by_key(|&(piece, set)| (set, piece));
        let fixed = self.fixed;
        for alike in pieces.chunk_by(|a, b| a.1 == b.1) {
            let set = alike[0].1;
            let own = set & !fixed;
            let order = || bits(own).chain(bits(set & fixed));
            let part =
                self.parts.iter_mut().find(|part| part.axes & own == own && (own != 0 || part.axes == 0));
            let part = part.expect("every piece is in a part");
            self.done += (alike.len() as u64 + 1) * part.sums.len() as u64;
            if set == part.axes | part.touched {
                for &(piece, _) in alike {
                    self.remains.tabulate(lens, view, piece, order(), &mut part.sums);
                }
                continue;
            }
            let size: u64 = bits(set).map(|axis| self.counts[axis]).product();
            self.table.clear();
            self.table.resize(size as usize, (0, 0));
            for &(piece, _) in alike {
                self.remains.tabulate(lens, view, piece, order(), &mut self.table);
            }
            spread(&self.table, set, &mut part.sums, [part.axes, part.touched], &self.counts);
        }
        self.remains.pieces = pieces;
        for part in &mut self.parts {
            part.tops.clear();
            part.tops.extend(part.sums.chunks(part.count).map(|sums| {
                sums.iter().fold((i64::MIN, i64::MIN), |top, sum| (top.0.max(sum.0), top.1.max(sum.1)))
            }));
        }
    }

    /// Tries every choice on the fixed axes.
    fn join(&mut self, bounds: Sums, ranges: &[(u32, u32)], judge: &mut Judge<'_>) -> Looked {
        let settled = self.remains.settled;
        let mut judged = 0;
        self.choice.clear();
        self.choice.resize(self.counts.len(), 0);
        loop {
            let mut spare = (settled.0 - bounds.0, settled.1 - bounds.1);
            for part in &self.parts {
                let top = part.tops[part.number(&self.choice, &self.counts)];
                spare = (spare.0 + top.0, spare.1 + top.1);
            }
            spare = fault::spare_in_join(spare);
            if spare.0 >= 0 && spare.1 >= 0 && self.reaches(spare) {
                let mut pairs = self.pairs(spare);
                while let Some(pair) = pairs.next(ranges) {
                    match judge(&pair) {
                        Judged::Solution(cells) => return Looked::Solution(cells),
                        Judged::Nothing if judged < MOST_PAIRS => judged += 1,
                        Judged::Nothing | Judged::Unclear => return Looked::Unclear,
                    }
                }
            }
            if !self.next_choice() {
                return Looked::Nothing;
            }
        }
    }

    /// Advances to the next choice on the fixed axes; `false` after the last one.
    fn next_choice(&mut self) -> bool {
        if fault::skips_choices() {
            return false;
        }
        for axis in bits(self.fixed) {
            self.choice[axis] += 1;
            if (self.choice[axis] as u64) < self.counts[axis] {
                return true;
            }
            self.choice[axis] = 0;
        }
        false
    }

    /// Is there a pair of entries whose shortfalls together stay within the spare?
    fn reaches(&mut self, spare: Sums) -> bool {
        for list in &mut self.lists {
            list.clear();
            list.push((0, 0));
        }
        for part in &self.parts {
            let list = &mut self.lists[usize::from(part.second)];
            let number = part.number(&self.choice, &self.counts);
            let top = part.tops[number];
            self.next.clear();
            for sums in part.sums_at(number) {
                let short = (top.0 - sums.0, top.1 - sums.1);
                let left = (spare.0 - short.0, spare.1 - short.1);
                if left.0 < 0 || left.1 < 0 {
                    continue;
                }
                for entry in list.iter().filter(|entry| entry.0 <= left.0 && entry.1 <= left.1) {
                    self.next.push((entry.0 + short.0, entry.1 + short.1));
                }
            }
            std::mem::swap(list, &mut self.next);
            if list.is_empty() {
                return false;
            }
        }
        let [first, second] = &mut self.lists;
        if first.len() * second.len() <= FEW_PAIRS {
            let fits = |a: &Sums, b: &Sums| a.0 + b.0 <= spare.0 && a.1 + b.1 <= spare.1;
            return first.iter().any(|a| second.iter().any(|b| fits(a, b)));
        }
        // Sort the shorter list by its shortfall in the first row. Then an entry can decide only if
        // its shortfall in the second row is smaller than that of all entries before it.
        let (short, long) = if first.len() < second.len() { (first, second) } else { (second, first) };
        short.sort_unstable();
        let mut least = i64::MAX;
        short.retain(|entry| {
            let better = entry.1 < least;
            least = least.min(entry.1);
            better
        });
        long.iter().any(|entry| {
            let fitting = short.partition_point(|other| other.0 <= spare.0 - entry.0);
            fitting > 0 && short[fitting - 1].1 <= spare.1 - entry.1
        })
    }

    /// All pairs of entries that fit, for the present choice.
    fn pairs(&self, spare: Sums) -> Pairs<'_> {
        let mut lists = [vec![((0, 0), 0)], vec![((0, 0), 0)]];
        let mut sizes = [1, 1];
        for part in &self.parts {
            let number = part.number(&self.choice, &self.counts);
            let top = part.tops[number];
            let list = &mut lists[usize::from(part.second)];
            let size = &mut sizes[usize::from(part.second)];
            let mut next = Vec::new();
            for (index, sums) in part.sums_at(number).iter().enumerate() {
                let short = (top.0 - sums.0, top.1 - sums.1);
                for &(entry, code) in list.iter() {
                    let sum: Sums = (entry.0 + short.0, entry.1 + short.1);
                    if sum.0 <= spare.0 && sum.1 <= spare.1 {
                        next.push((sum, code + index * *size));
                    }
                }
            }
            *size *= part.count;
            *list = next;
        }
        Pairs { small_box: self, lists, spare, at: (0, 0) }
    }

    /// The part of the box for the present choice and these entries of the two lists.
    fn chosen(&self, mut codes: [usize; 2], ranges: &[(u32, u32)]) -> Vec<(u32, u32)> {
        let mut classes = self.choice.clone();
        for part in &self.parts {
            let code = &mut codes[usize::from(part.second)];
            for axis in bits(part.axes) {
                classes[axis] = *code % self.counts[axis] as usize;
                *code /= self.counts[axis] as usize;
            }
        }
        let mut chosen = ranges.to_vec();
        for (position, (&axis, &class)) in self.remains.axes().iter().zip(&classes).enumerate() {
            let starts = self.remains.classes(position);
            chosen[axis] = (starts[class], starts.get(class + 1).copied().unwrap_or(ranges[axis].1));
        }
        chosen
    }
}

/// An entry of a list, and the code of its choice of classes.
type Entry = (Sums, usize);

/// The pairs of entries that fit, one after the other.
struct Pairs<'a> {
    small_box: &'a SmallBox,
    lists: [Vec<Entry>; 2],
    spare: Sums,
    at: (usize, usize),
}

impl Pairs<'_> {
    fn next(&mut self, ranges: &[(u32, u32)]) -> Option<Vec<(u32, u32)>> {
        let [first, second] = &self.lists;
        while self.at.0 < first.len() {
            let (a, own) = first[self.at.0];
            while self.at.1 < second.len() {
                let (b, other) = second[self.at.1];
                self.at.1 += 1;
                if a.0 + b.0 <= self.spare.0 && a.1 + b.1 <= self.spare.1 {
                    return Some(self.small_box.chosen([own, other], ranges));
                }
            }
            self.at = (self.at.0 + 1, 0);
        }
        None
    }
}

/// The open axes, for deciding which of them to fix.
struct Plan<'a> {
    neighbours: &'a [u64],
    counts: &'a [u64],
}

impl Plan<'_> {
    /// The number of choices of a class on each of these axes.
    fn product(&self, axes: u64) -> u64 {
        bits(axes).fold(1, |product: u64, axis| product.saturating_mul(self.counts[axis]))
    }

    /// The axes within `rest` that are connected with the lowest one.
    fn part(&self, rest: u64) -> u64 {
        let mut part = rest & rest.wrapping_neg();
        let mut fresh = part;
        while fresh != 0 {
            let axis = fresh.trailing_zeros() as usize;
            fresh &= fresh - 1;
            let more = self.neighbours[axis] & rest & !part;
            part |= more;
            fresh |= more;
        }
        part
    }

    fn each_part(&self, fixed: u64, mut visit: impl FnMut(u64, u64)) {
        let mut rest = low_bits(self.counts.len()) & !fixed;
        while rest != 0 {
            let part = self.part(rest);
            rest &= !part;
            visit(part, self.product(part));
        }
    }

    /// The work with these axes fixed: the number of choices on them times the sums in both lists.
    fn work(&self, fixed: u64) -> u64 {
        let mut counts = [1u64; MOST_AXES];
        let mut parts = 0;
        self.each_part(fixed, |_, count| {
            counts[parts] = count;
            parts += 1;
        });
        counts[..parts].sort_unstable_by(|a, b| b.cmp(a));
        let mut halves = Halves::new();
        for &count in &counts[..parts] {
            halves.add(count);
        }
        self.product(fixed).saturating_mul(halves.sums())
    }

    /// The axes to fix, added one by one as long as that reduces the work; with the work.
    fn best_fixed(&self) -> (u64, u64) {
        let mut fixed = 0;
        let mut least = self.work(0);
        loop {
            let mut better = None;
            // Only an axis that shares pieces with at least two others can separate them.
            let candidates = bits(low_bits(self.counts.len()) & !fixed)
                .filter(|&axis| (self.neighbours[axis] & !fixed).count_ones() > 2);
            for axis in candidates {
                let work = self.work(fixed | 1 << axis);
                if work < least {
                    (least, better) = (work, Some(axis));
                }
            }
            match better {
                Some(axis) => fixed |= 1 << axis,
                None => return (least, fixed),
            }
        }
    }
}

/// Two halves with about the same number of sums. Parts come in descending size, and each goes to
/// the half with fewer sums.
struct Halves([u64; 2]);

impl Halves {
    fn new() -> Self {
        Self([1, 1])
    }

    /// Adds a part; returns whether it goes to the second half.
    fn add(&mut self, count: u64) -> bool {
        let second = self.0[1] < self.0[0];
        let half = &mut self.0[usize::from(second)];
        *half = half.saturating_mul(count);
        second
    }

    fn sums(&self) -> u64 {
        self.0[0].saturating_add(self.0[1])
    }
}

/// Adds a table over the axes of `set` to one over two groups of axes, of which the first group
/// changes faster. Within each group the axis of the lowest position changes fastest, in both
/// tables.
fn spread(table: &[Sums], set: u64, into: &mut [Sums], groups: [u64; 2], counts: &[u64]) {
    let mut axes = [(0usize, 0usize); MOST_AXES];
    let mut used = 0;
    let mut stride = 1;
    for axis in bits(groups[0]).chain(bits(groups[1])) {
        let count = counts[axis] as usize;
        let own = if set >> axis & 1 == 1 { stride } else { 0 };
        if own > 0 {
            stride *= count;
        }
        axes[used] = (count, own);
        used += 1;
    }
    let ((inner, step), outer) = (axes[0], &axes[1..used]);
    let mut at = [0usize; MOST_AXES];
    let mut source = 0;
    for block in into.chunks_mut(inner) {
        for (index, slot) in block.iter_mut().enumerate() {
            let (own, other) = table[source + index * step];
            *slot = (slot.0 + own, slot.1 + other);
        }
        for (at, &(count, step)) in at.iter_mut().zip(outer) {
            *at += 1;
            source += step;
            if *at < count {
                break;
            }
            source -= step * count;
            *at = 0;
        }
    }
}

fn low_bits(count: usize) -> u64 {
    if count >= 64 { u64::MAX } else { (1 << count) - 1 }
}

/// The positions of the set bits of a word, ascending.
fn bits(word: u64) -> Bits {
    Bits(word)
}

struct Bits(u64);

impl Iterator for Bits {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let at = (self.0 != 0).then(|| self.0.trailing_zeros() as usize)?;
        self.0 &= self.0 - 1;
        Some(at)
    }
}

impl DoubleEndedIterator for Bits {
    fn next_back(&mut self) -> Option<usize> {
        let at = (self.0 != 0).then(|| 63 - self.0.leading_zeros() as usize)?;
        self.0 ^= 1 << at;
        Some(at)
    }
}

#[cfg(test)]
mod tests;
