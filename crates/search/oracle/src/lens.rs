//! Upper bounds of one combination of rows, fast and exact.
//!
//! For multipliers `lambda >= 0` every solution satisfies
//! `sum over pieces of lambda.value >= lambda.bound`. So a box holds no solution if the sum of each
//! piece's largest reachable `lambda.value` stays below `lambda.bound`. Values are integers,
//! brought to 64 bits by dividing by a power of two and rounding **up**. The bound is rounded up
//! too: a solution's unrounded sum reaches the unrounded bound, so its rounded values still reach
//! the rounded bound. So there is no floating point and no tolerance. A lens from which nothing was
//! cut off is `exact`.
//!
//! Leaves of a piece are sorted by value, so the largest reachable one is the highest set bit of
//! the mask of reachable leaves. Pieces that are too large for masks are handled in `lens_tree`.

use num_bigint::BigInt;
use num_traits::{Signed, ToPrimitive, Zero};
use secateur_model::CellId;

use crate::fault;
use crate::layout::{MOST_MASKED_OF_SCORES, PieceAxis};
use crate::lens_tree::LensTree;
use crate::system::System;

mod remains;

pub(crate) use remains::{MOST_AXES, Remains};

/// Values keep at most this many bits, so that sums over all pieces stay far from overflow.
const VALUE_BITS: u64 = 61;
/// Up to this many entries, a table gives the run of each cell; beyond that it is searched for.
const MOST_LOOKED_UP: usize = 1 << 22;
/// On axes with at most this many runs, masks of more than one word are joined run by run; beyond
/// that, leaf by leaf.
const FEW_RUNS: usize = 4;
/// Words of the longest mask.
const MOST_WORDS: usize = MOST_MASKED_OF_SCORES.div_ceil(64);

/// A combination of rows, from which upper bounds of boxes are computed.
#[derive(Clone, Debug)]
pub(crate) struct Lens {
    /// The multiplier of each row.
    pub(crate) multipliers: Vec<u64>,
    /// A box may hold a solution while its upper bound is at least this.
    pub(crate) bound: i64,
    /// Whether nothing was rounded.
    pub(crate) exact: bool,
    /// The largest minus the smallest value of each piece, summed over all pieces: the scale of
    /// this lens.
    pub(crate) range: i64,
    /// The sum of the pieces whose leaves are all equal.
    constant: i64,
    pieces: Vec<LensPiece>,
    /// Leaf values of all pieces, ascending within each piece.
    values: Vec<i64>,
    /// For each axis, the pieces that depend on it: first those that matter to the bound, then the
    /// silent ones.
    by_axis: Vec<Vec<LensAxis>>,
    /// For each axis, how many of its pieces matter to the bound. A silent piece adds the same
    /// value at every leaf; it is kept only for the companion row.
    loud: Vec<usize>,
    /// A second row, bounded together with the only row of this lens.
    companion: Option<Companion>,
    /// Masks of all runs; their bits are in the order of the values.
    masks: Vec<u64>,
    starts: Vec<u32>,
    /// For each axis of each piece, the run of every cell; empty if that table would be too large.
    run_of: Vec<u32>,
    /// For each axis of each piece with more than 64 leaves, the first and the last run that hold
    /// each leaf.
    spans: Vec<(u16, u16)>,
    /// The pieces that have no masks.
    trees: Vec<LensTree>,
    /// For each axis, the trees that depend on it.
    trees_by_axis: Vec<Vec<u32>>,
    /// The number of cells of each axis.
    sizes: Vec<u32>,
}

/// A second row over the pieces of a lens, brought to 64 bits in the same way as the lens.
#[derive(Clone, Debug)]
struct Companion {
    bound: i64,
    /// The second row's sum over the pieces that the lens leaves out.
    constant: i64,
    /// For each leaf, in the order of the lens's `values`: its value in the lens and in the second
    /// row.
    pairs: Vec<(i64, i64)>,
}

#[derive(Clone, Debug)]
struct LensPiece {
    /// Where its values begin in `values`.
    values: u32,
    leaves: u32,
    /// Where its mask begins in a view.
    place: u32,
    words: u32,
    /// Its axes, each with the index of its entry in `by_axis`.
    axes: Vec<(usize, usize)>,
}

#[derive(Clone, Debug)]
struct LensAxis {
    piece: u32,
    /// Where its runs begin in `starts`, and how many there are.
    first_run: u32,
    runs: u32,
    /// Where its masks begin in `masks`.
    masks: u32,
    /// Where the runs of the axis's cells begin in `run_of`.
    cells: u32,
    /// Where the spans of its leaves begin in `spans`; `None` for one-word masks, and if the runs
    /// of some leaf do not follow each other.
    spans: Option<u32>,
}

/// A combination of rows brought to 64 bits: divided by a power of two and rounded up.
struct Rounded {
    bound: i64,
    /// Whether nothing was cut off.
    exact: bool,
    /// For each piece, the value of each leaf.
    values: Vec<Vec<i64>>,
}

impl Rounded {
    fn new(system: &System<'_>, multipliers: &[u64]) -> Self {
        let combine = |values: &[BigInt]| -> BigInt {
            values.iter().zip(multipliers).filter(|(_, m)| **m != 0).map(|(value, &m)| value * m).sum()
        };
        let pieces = system.layout().pieces().len();
        let combined: Vec<Vec<BigInt>> = (0..pieces)
            .map(|piece| system.piece_values(piece).chunks(system.row_count()).map(combine).collect())
            .collect();
        let bound = combine(system.bounds());
        let total: BigInt = combined.iter().filter_map(|values| values.iter().map(|v| v.abs()).max()).sum();
        let shift = total.bits().max(bound.bits()).saturating_sub(VALUE_BITS);
        let up = |value: &BigInt| -> i64 {
            let cut: BigInt = -(-value >> shift);
            cut.to_i64().expect("at most 62 bits are left")
        };
        let whole = |value: &BigInt| value.is_zero() || value.trailing_zeros().is_some_and(|z| z >= shift);
        Self {
            bound: up(&bound),
            exact: shift == 0 || combined.iter().flatten().chain([&bound]).all(whole),
            values: combined.iter().map(|values| values.iter().map(up).collect()).collect(),
        }
    }
}

/// A lens's view of a box.
#[derive(Clone, Debug)]
pub(crate) struct View {
    masks: Vec<u64>,
    /// The largest value of each piece: first the pieces with masks, then the others.
    maxima: Vec<i64>,
    /// The box itself if some piece has no masks; otherwise empty.
    ranges: Vec<(u32, u32)>,
    pub(crate) upper: i64,
}

impl View {
    pub(crate) fn bytes(&self) -> usize {
        (self.masks.len() + self.maxima.len() + self.ranges.len()) * 8
    }

    pub(crate) fn copy_from(&mut self, other: &View) {
        self.masks.copy_from_slice(&other.masks);
        self.maxima.copy_from_slice(&other.maxima);
        self.ranges.copy_from_slice(&other.ranges);
        self.upper = other.upper;
    }
}

impl Lens {
    /// The lens of a combination of rows, with one multiplier for each row.
    pub(crate) fn new(system: &System<'_>, multipliers: &[u64]) -> Self {
        Self::build(system, multipliers, None)
    }

    /// One row. Every row but the last has the last row as its companion, so that the remains of a
    /// small box can be checked in both rows. If some piece is too large for masks, no box counts
    /// as small.
    pub(crate) fn of_row(system: &System<'_>, row: usize) -> Self {
        let rows = system.row_count();
        let unit = |wanted: usize| -> Vec<u64> { (0..rows).map(|row| u64::from(row == wanted)).collect() };
        let masked = system.layout().pieces().iter().all(|piece| piece.tree.is_none());
        let companion = (row + 1 < rows && masked).then(|| Rounded::new(system, &unit(rows - 1)));
        Self::build(system, &unit(row), companion)
    }

    fn build(system: &System<'_>, multipliers: &[u64], companion: Option<Rounded>) -> Self {
        let layout = system.layout();
        let rounded = Rounded::new(system, multipliers);
        let sizes = layout.axis_sizes();
        let mut lens = Self {
            multipliers: multipliers.to_vec(),
            bound: rounded.bound,
            exact: rounded.exact,
            range: 0,
            constant: 0,
            pieces: Vec::new(),
            values: Vec::new(),
            by_axis: vec![Vec::new(); layout.grid().axes().len()],
            loud: Vec::new(),
            companion: companion.as_ref().map(|other| Companion {
                bound: other.bound,
                constant: 0,
                pairs: Vec::new(),
            }),
            masks: Vec::new(),
            starts: Vec::new(),
            run_of: Vec::new(),
            spans: Vec::new(),
            trees: Vec::new(),
            trees_by_axis: vec![Vec::new(); sizes.len()],
            sizes: sizes.clone(),
        };
        let varies = |values: &[i64]| values.iter().any(|value| *value != values[0]);
        let beside = |piece: usize| companion.as_ref().map(|other| other.values[piece].as_slice());
        let masked = || layout.pieces().iter().filter(|piece| piece.tree.is_none());
        let cells: usize = masked().flat_map(|piece| &piece.axes).map(|axis| sizes[axis.axis] as usize).sum();
        let looked_up = cells <= MOST_LOOKED_UP;
        let mut silent = Vec::new();
        for (piece, values) in rounded.values.iter().enumerate() {
            let axes = &layout.pieces()[piece].axes;
            if varies(values) {
                if let Some(tree) = &layout.pieces()[piece].tree {
                    lens.add_tree(axes, LensTree::new(tree, values), values);
                } else {
                    lens.add_piece(axes, looked_up, values, beside(piece));
                }
            } else if beside(piece).is_some_and(varies) {
                silent.push(piece);
            } else {
                lens.constant += values.first().unwrap_or(&0);
                if let (Some(own), Some(beside)) = (&mut lens.companion, beside(piece)) {
                    own.constant += beside.first().unwrap_or(&0);
                }
            }
        }
        lens.loud = lens.by_axis.iter().map(Vec::len).collect();
        for piece in silent {
            lens.add_piece(&layout.pieces()[piece].axes, looked_up, &rounded.values[piece], beside(piece));
        }
        lens
    }

    /// Adds a piece that has no masks.
    fn add_tree(&mut self, axes: &[PieceAxis], tree: LensTree, values: &[i64]) {
        let index = self.trees.len() as u32;
        axes.iter().for_each(|axis| self.trees_by_axis[axis.axis].push(index));
        self.trees.push(tree);
        let bounds = values.iter().max().zip(values.iter().min());
        self.range += bounds.map_or(0, |(high, low)| high - low);
    }

    /// Adds a piece with these axes, its leaf values, and its values in the companion row.
    fn add_piece(&mut self, axes: &[PieceAxis], looked_up: bool, values: &[i64], beside: Option<&[i64]>) {
        let mut order: Vec<u32> = (0..values.len() as u32).collect();
        order.sort_by_key(|&leaf| (values[leaf as usize], leaf));
        let in_order = |values: &[i64]| order.iter().map(|&leaf| values[leaf as usize]).collect::<Vec<_>>();
        let words = values.len().div_ceil(64);
        let index = self.pieces.len() as u32;
        let place = self.pieces.last().map_or(0, |last| last.place + last.words);
        self.pieces.push(LensPiece {
            values: self.values.len() as u32,
            leaves: values.len() as u32,
            place,
            words: words as u32,
            axes: axes.iter().map(|axis| (axis.axis, self.by_axis[axis.axis].len())).collect(),
        });
        let values = in_order(values);
        if let (Some(companion), Some(beside)) = (&mut self.companion, beside) {
            companion.pairs.extend(values.iter().copied().zip(in_order(beside)));
        }
        self.range += values[values.len() - 1] - values[0];
        self.values.extend(values);
        for axis in axes {
            self.by_axis[axis.axis].push(LensAxis {
                piece: index,
                first_run: self.starts.len() as u32,
                runs: axis.starts.len() as u32,
                masks: self.masks.len() as u32,
                cells: self.run_of.len() as u32,
                spans: None,
            });
            self.starts.extend(&axis.starts);
            if looked_up {
                self.run_of.extend((0..self.sizes[axis.axis]).map(|cell| axis.run_of(cell) as u32));
            }
            for run in axis.masks.chunks(axis.words) {
                let first = self.masks.len();
                self.masks.resize(first + words, 0);
                for (rank, &leaf) in order.iter().enumerate() {
                    let bit = run[leaf as usize / 64] >> (leaf % 64) & 1;
                    self.masks[first + rank / 64] |= bit << (rank % 64);
                }
            }
            if words > 1 {
                self.add_spans(axis.axis, order.len());
            }
        }
    }

    /// Adds the spans of the last piece's leaves along an axis; the masks of that axis are the last
    /// ones.
    fn add_spans(&mut self, axis: usize, leaves: usize) {
        let words = leaves.div_ceil(64);
        let entry = self.by_axis[axis].last().expect("was added just now");
        let masks = &self.masks[entry.masks as usize..];
        let holds = |run: usize, leaf: usize| masks[run * words + leaf / 64] >> (leaf % 64) & 1 == 1;
        let runs = entry.runs as usize;
        let span = |leaf: usize| {
            let first = (0..runs).find(|&run| holds(run, leaf))?;
            let last = (0..runs).rfind(|&run| holds(run, leaf))?;
            let whole = (first..=last).all(|run| holds(run, leaf));
            whole.then_some((u16::try_from(first).ok()?, u16::try_from(last).ok()?))
        };
        if let Some(spans) = (0..leaves).map(span).collect::<Option<Vec<_>>>() {
            let first = self.spans.len() as u32;
            self.by_axis[axis].last_mut().expect("was added just now").spans = Some(first);
            self.spans.extend(spans);
        }
    }

    /// Can the remains of a small box be checked in two rows?
    pub(crate) fn has_companion(&self) -> bool {
        self.companion.is_some()
    }

    /// The view of the whole space.
    pub(crate) fn root(&self) -> View {
        let mut masks = Vec::new();
        let mut maxima = Vec::new();
        for piece in &self.pieces {
            let mut left = piece.leaves as usize;
            for _ in 0..piece.words {
                masks.push(if left >= 64 { u64::MAX } else { (1 << left) - 1 });
                left = left.saturating_sub(64);
            }
            maxima.push(self.values[(piece.values + piece.leaves - 1) as usize]);
        }
        maxima.extend(self.trees.iter().map(LensTree::whole));
        let upper = self.constant + maxima.iter().sum::<i64>();
        let axes = if self.trees.is_empty() { 0 } else { self.sizes.len() };
        View { masks, maxima, ranges: self.sizes[..axes].iter().map(|&size| (0, size)).collect(), upper }
    }

    /// May the box of this view hold a solution?
    pub(crate) fn alive(&self, view: &View) -> bool {
        view.upper >= self.bound + fault::looseness(self.range)
    }

    /// Narrows the view to cells `low..high` of an axis.
    pub(crate) fn restrict(&self, view: &mut View, axis: usize, low: u32, high: u32) {
        if !self.trees.is_empty() && view.ranges[axis] != (low, high) {
            view.ranges[axis] = (low, high);
            for &tree in &self.trees_by_axis[axis] {
                let slot = &mut view.maxima[self.pieces.len() + tree as usize];
                let maximum = self.trees[tree as usize].top(&view.ranges, *slot);
                view.upper += maximum - *slot;
                *slot = maximum;
            }
        }
        for entry in &self.by_axis[axis] {
            let piece = &self.pieces[entry.piece as usize];
            let words = piece.words as usize;
            let mine = &mut view.masks[piece.place as usize..][..words];
            if one_leaf(mine) {
                continue;
            }
            let (from, to) = self.run_range(entry, low, high);
            if to - from == entry.runs as usize {
                continue;
            }
            let masks = &self.masks[entry.masks as usize..];
            if let [mine] = mine {
                let allowed = masks[from..to].iter().fold(0, |allowed, mask| allowed | mask);
                if *mine & !allowed != 0 {
                    *mine &= allowed;
                    let maximum = self.highest(piece, 0, *mine);
                    let slot = &mut view.maxima[entry.piece as usize];
                    view.upper += maximum - *slot;
                    *slot = maximum;
                }
                continue;
            }
            let mut changed = false;
            for (word, mine) in mine.iter_mut().enumerate() {
                let mut allowed = 0;
                for run in from..to {
                    allowed |= masks[run * words + word];
                }
                changed |= *mine & !allowed != 0;
                *mine &= allowed;
            }
            if changed {
                let maximum = self.top(piece, mine, None);
                let slot = &mut view.maxima[entry.piece as usize];
                view.upper += maximum - *slot;
                *slot = maximum;
            }
        }
    }

    /// For each cell `c` in `low..high-1`: how much the upper bound falls if the axis is narrowed
    /// to `low..=c` (`left[c]`) and to `c+1..high` (`right[c]`). Both slices are as long as the
    /// axis; entries outside `low..high` are not written.
    pub(crate) fn profile(
        &self,
        view: &View,
        axis: usize,
        low: u32,
        high: u32,
        left: &mut [i64],
        right: &mut [i64],
    ) {
        let (first, end) = (low as usize, high as usize);
        left[first..end].fill(0);
        right[first..end].fill(0);
        self.profile_trees(view, axis, low, high, left, right);
        // First collect differences between neighbouring cells, then add them up.
        for entry in &self.by_axis[axis][..self.loud[axis]] {
            let piece = &self.pieces[entry.piece as usize];
            let words = piece.words as usize;
            let mine = &view.masks[piece.place as usize..][..words];
            if one_leaf(mine) {
                continue;
            }
            let (from, to) = self.run_range(entry, low, high);
            if to - from < 2 {
                continue;
            }
            let starts = self.runs(entry);
            let masks = &self.masks[entry.masks as usize..];
            let maximum = view.maxima[entry.piece as usize];
            if words == 1 {
                let values = &self.values[piece.values as usize..][..piece.leaves as usize];
                let mine = mine[0];
                let loss_of = |allowed: u64| maximum - values[63 - (mine & allowed).leading_zeros() as usize];
                let mut allowed = 0;
                for run in from..to - 1 {
                    allowed |= masks[run];
                    let loss = loss_of(allowed);
                    if loss == 0 {
                        break;
                    }
                    left[(starts[run] as usize).max(first)] += loss;
                    left[starts[run + 1] as usize] -= loss;
                }
                allowed = 0;
                for run in (from + 1..to).rev() {
                    allowed |= masks[run];
                    let loss = loss_of(allowed);
                    if loss == 0 {
                        break;
                    }
                    right[starts[run] as usize - 1] += loss;
                    right[run_end(starts, run, end) - 1] -= loss;
                }
            } else if let Some(spans) = entry.spans.filter(|_| to - from > FEW_RUNS) {
                let spans = &self.spans[spans as usize..][..piece.leaves as usize];
                self.profile_spans(
                    piece,
                    mine,
                    spans,
                    starts,
                    (from, to),
                    maximum,
                    (first, end),
                    left,
                    right,
                );
            } else {
                self.profile_wide(piece, mine, masks, starts, (from, to), maximum, (first, end), left, right);
            }
        }
        let mut sum = 0;
        for slot in &mut left[first..end] {
            sum += *slot;
            *slot = sum;
        }
        sum = 0;
        for slot in &mut right[first..end] {
            sum += *slot;
            *slot = sum;
        }
    }

    /// [`profile`](Self::profile) of the pieces without masks, as differences from the cell before.
    fn profile_trees(
        &self,
        view: &View,
        axis: usize,
        low: u32,
        high: u32,
        left: &mut [i64],
        right: &mut [i64],
    ) {
        if self.trees_by_axis[axis].is_empty() || high - low < 2 {
            return;
        }
        let (first, cells) = (low as usize, (high - low) as usize);
        let (mut up_to, mut from) = (vec![0; cells], vec![0; cells]);
        for &tree in &self.trees_by_axis[axis] {
            let maximum = view.maxima[self.pieces.len() + tree as usize];
            self.trees[tree as usize].narrowed(&view.ranges, axis, &mut up_to, &mut from);
            let (mut last_left, mut last_right) = (0, 0);
            for cell in 0..cells - 1 {
                let (loss_left, loss_right) = (maximum - up_to[cell], maximum - from[cell + 1]);
                left[first + cell] += loss_left - last_left;
                right[first + cell] += loss_right - last_right;
                (last_left, last_right) = (loss_left, loss_right);
            }
            left[first + cells - 1] -= last_left;
            right[first + cells - 1] -= last_right;
        }
    }

    /// [`profile`](Self::profile) of one piece with more than 64 leaves, each of which holds
    /// neighbouring runs. Leaves are visited from the largest value down, until the loss of every
    /// prefix and suffix of the runs is known.
    #[expect(clippy::too_many_arguments, reason = "the innards of `profile`, split off for wide masks only")]
    fn profile_spans(
        &self,
        piece: &LensPiece,
        mine: &[u64],
        spans: &[(u16, u16)],
        starts: &[u32],
        (from, to): (usize, usize),
        maximum: i64,
        (first, end): (usize, usize),
        left: &mut [i64],
        right: &mut [i64],
    ) {
        // Known so far: the loss of every prefix that ends at run `lowest` or later, and of every
        // suffix that begins at run `highest` or earlier.
        let (mut lowest, mut highest) = (to - 1, from);
        for word in (0..mine.len()).rev() {
            let mut bits = mine[word];
            while bits != 0 {
                let leaf = word * 64 + 63 - bits.leading_zeros() as usize;
                bits &= !(1 << (leaf % 64));
                let begin = (spans[leaf].0 as usize).max(from);
                let last = (spans[leaf].1 as usize).min(to - 1);
                if begin >= lowest && last <= highest {
                    continue;
                }
                let loss = maximum - self.values[piece.values as usize + leaf];
                if begin < lowest {
                    left[(starts[begin] as usize).max(first)] += loss;
                    left[starts[lowest] as usize] -= loss;
                    lowest = begin;
                }
                if last > highest {
                    right[starts[highest + 1] as usize - 1] += loss;
                    right[run_end(starts, last, end) - 1] -= loss;
                    highest = last;
                }
                if lowest == from && highest == to - 1 {
                    return;
                }
            }
        }
    }

    /// [`profile`](Self::profile) of one piece with more than 64 leaves, run by run.
    #[expect(clippy::too_many_arguments, reason = "the innards of `profile`, split off for wide masks only")]
    fn profile_wide(
        &self,
        piece: &LensPiece,
        mine: &[u64],
        masks: &[u64],
        starts: &[u32],
        (from, to): (usize, usize),
        maximum: i64,
        (first, end): (usize, usize),
        left: &mut [i64],
        right: &mut [i64],
    ) {
        let words = mine.len();
        // On the stack, because this is called for every wide piece of every axis of every box.
        let mut room = [0; MOST_WORDS];
        let allowed = &mut room[..words];
        let widen = |allowed: &mut [u64], run: usize| {
            for (slot, mask) in allowed.iter_mut().zip(&masks[run * words..]) {
                *slot |= mask;
            }
            maximum - self.top(piece, mine, Some(allowed))
        };
        for run in from..to - 1 {
            let loss = widen(allowed, run);
            if loss == 0 {
                break;
            }
            left[(starts[run] as usize).max(first)] += loss;
            left[starts[run + 1] as usize] -= loss;
        }
        allowed.fill(0);
        for run in (from + 1..to).rev() {
            let loss = widen(allowed, run);
            if loss == 0 {
                break;
            }
            right[starts[run] as usize - 1] += loss;
            right[run_end(starts, run, end) - 1] -= loss;
        }
    }

    /// The value of the highest leaf in a mask, or in its intersection with another.
    fn top(&self, piece: &LensPiece, mask: &[u64], with: Option<&[u64]>) -> i64 {
        for word in (0..mask.len()).rev() {
            let bits = mask[word] & with.map_or(u64::MAX, |with| with[word]);
            if bits != 0 {
                return self.highest(piece, word, bits);
            }
        }
        unreachable!("the leaves of a piece cover every box")
    }

    /// For each cell of `low..high`: how much the upper bound falls if the axis is narrowed to that
    /// cell alone.
    pub(crate) fn cell_losses(&self, view: &View, axis: usize, low: u32, high: u32, losses: &mut [i64]) {
        let (first, end) = (low as usize, high as usize);
        losses[first..end].fill(0);
        let mut tops = vec![0; if self.trees.is_empty() { 0 } else { end - first }];
        for &tree in &self.trees_by_axis[axis] {
            let maximum = view.maxima[self.pieces.len() + tree as usize];
            self.trees[tree as usize].of_cells(&view.ranges, axis, &mut tops);
            let mut last = 0;
            for (loss, top) in losses[first..end].iter_mut().zip(&tops) {
                *loss += maximum - top - last;
                last = maximum - top;
            }
        }
        for entry in &self.by_axis[axis][..self.loud[axis]] {
            let (from, to) = self.run_range(entry, low, high);
            if to - from < 2 {
                continue;
            }
            let starts = self.runs(entry);
            let piece = &self.pieces[entry.piece as usize];
            let words = piece.words as usize;
            let mine = &view.masks[piece.place as usize..][..words];
            let maximum = view.maxima[entry.piece as usize];
            for run in from..to {
                let allowed = &self.masks[entry.masks as usize + run * words..][..words];
                let loss = maximum - self.top(piece, mine, Some(allowed));
                let begin = (starts[run] as usize).max(first);
                let stop = run_end(starts, run, end);
                if loss != 0 {
                    losses[begin] += loss;
                    if stop < end {
                        losses[stop] -= loss;
                    }
                }
            }
        }
        let mut sum = 0;
        for slot in &mut losses[first..end] {
            sum += *slot;
            *slot = sum;
        }
    }

    /// The sum at one cell.
    pub(crate) fn at(&self, cells: &[CellId]) -> i64 {
        let value = |piece: &LensPiece| -> i64 {
            let masks = (0..piece.words as usize).map(|word| (word, self.mask_at(piece, word, cells, None)));
            let (word, mask) = masks
                .into_iter()
                .find(|(_, mask)| *mask != 0)
                .expect("the leaves of a piece cover all cells");
            self.highest(piece, word, mask)
        };
        let trees = self.trees.iter().map(|tree| tree.at(cells));
        self.constant + self.pieces.iter().map(value).chain(trees).sum::<i64>()
    }

    /// For each cell of an axis: how much the sum at `cells` rises if the axis is set to that cell.
    pub(crate) fn rises(&self, cells: &[CellId], axis: usize, rises: &mut [i64]) {
        rises.fill(0);
        for &tree in &self.trees_by_axis[axis] {
            self.trees[tree as usize].along(cells, axis, rises);
        }
        for entry in &self.by_axis[axis][..self.loud[axis]] {
            let piece = &self.pieces[entry.piece as usize];
            let words = piece.words as usize;
            let starts = self.runs(entry);
            for word in 0..words {
                let rest = self.mask_at(piece, word, cells, Some(axis));
                for (run, &start) in starts.iter().enumerate() {
                    let mask = rest & self.masks[entry.masks as usize + run * words + word];
                    if mask != 0 {
                        let value = self.highest(piece, word, mask);
                        rises[start as usize] += value;
                        if let Some(&end) = starts.get(run + 1) {
                            rises[end as usize] -= value;
                        }
                    }
                }
            }
        }
        let mut sum = 0;
        for slot in rises.iter_mut() {
            sum += *slot;
            *slot = sum;
        }
        let now = rises[cells[axis].index()];
        rises.iter_mut().for_each(|slot| *slot -= now);
    }

    /// One word of the mask of a piece's leaves that hold `cells` on all its axes except `without`.
    fn mask_at(&self, piece: &LensPiece, word: usize, cells: &[CellId], without: Option<usize>) -> u64 {
        let mut mask = u64::MAX;
        for &(axis, entry) in piece.axes.iter().filter(|(axis, _)| without != Some(*axis)) {
            let entry = &self.by_axis[axis][entry];
            let run = self.run_at(entry, cells[axis].0);
            mask &= self.masks[entry.masks as usize + run * piece.words as usize + word];
        }
        mask
    }

    /// The value of the highest leaf in one word of a mask.
    fn highest(&self, piece: &LensPiece, word: usize, bits: u64) -> i64 {
        self.values[piece.values as usize + word * 64 + 63 - bits.leading_zeros() as usize]
    }

    fn runs(&self, entry: &LensAxis) -> &[u32] {
        &self.starts[entry.first_run as usize..][..entry.runs as usize]
    }

    /// The runs that meet the cells `low..high`.
    #[inline]
    fn run_range(&self, entry: &LensAxis, low: u32, high: u32) -> (usize, usize) {
        (self.run_at(entry, low), self.run_at(entry, high - 1) + 1)
    }

    /// The run that holds a cell.
    #[inline]
    fn run_at(&self, entry: &LensAxis, cell: u32) -> usize {
        if self.run_of.is_empty() {
            return self.runs(entry).partition_point(|&start| start <= cell) - 1;
        }
        self.run_of[entry.cells as usize + cell as usize] as usize
    }
}

/// Has a mask of one word only one leaf left? Then narrowing cannot change it.
fn one_leaf(mask: &[u64]) -> bool {
    matches!(mask, [one] if one.is_power_of_two())
}

/// The first cell after a run, but at most `end`.
fn run_end(starts: &[u32], run: usize, end: usize) -> usize {
    starts.get(run + 1).map_or(end, |&start| (start as usize).min(end))
}

#[cfg(test)]
mod tests;
