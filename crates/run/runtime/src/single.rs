//! Trees laid out for one row at a time: 64 trees form a block, and one byte of a vector per tree
//! finds that tree's leaf.
//!
//! The leaves of a tree are numbered from left to right, and so are its splits: split s stands
//! between leaf s and leaf s + 1, so that leaf s is the last one of its left side. A split that
//! sends the row right removes all leaves of its left side: those from the first leaf of its
//! subtree up to s. This is done for every split, whether the row passes it or not. The row's leaf
//! is the first leaf that no split removes:
//!
//! - A leaf further left is removed by the split on the row's path at which the two part.
//! - The row's own leaf is never removed: a split on the path removes only a side that the row does
//!   not enter, and a split elsewhere has other leaves below it.
//!
//! The splits are evaluated from left to right, and one byte holds the first leaf that is left so
//! far. Before split s this leaf is at most s. The split therefore removes it iff it sends the row
//! right and the first leaf of its own subtree is not larger; then it removes everything up to s,
//! and the first leaf that is left is s + 1.
//!
//! Split s of all 64 trees is evaluated at once: one instruction picks the bytes that the splits
//! test out of the row, a second one compares them with the ranks, a third one compares the leaves.
//! The shape of a tree does not matter, only its number of leaves. A tree with more leaves than a
//! byte can count is cut off below its upper levels; the nodes below are walked as on the scalar
//! path. A model with more byte columns than such an instruction can pick from has no layout of
//! this kind, and its rows are walked on the scalar path.

use alloc::vec::Vec;
use core::ops::Range;

use crate::plan::{ALL, Feature, Plan, Root, Values, Word};
use crate::scalar::Sum;
use crate::sliced::{Ranks, Table};

/// The number of trees of a block.
pub(crate) const TREES: usize = 64;

/// The largest number of leaves of a tree that is not cut off: a byte holds their numbers.
const MOST_LEAVES: u32 = 256;

/// Levels that are kept of a tree that is cut off.
const LEVELS: u32 = 6;

/// Byte columns that a row may have here.
pub(crate) const MOST_COLUMNS: usize = 256;

/// The splits of 64 trees that have the same number, counted from the left.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(crate) struct Place {
    pub(crate) columns: [u8; TREES],
    pub(crate) ranks: [u8; TREES],
    /// The first leaf of each split's subtree.
    pub(crate) firsts: [u8; TREES],
}

/// The bytes of a row, followed by zeros.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(crate) struct RowBytes(pub(crate) [[u8; 64]; 4]);

/// Trees whose leaves are all found before any of them is added up: a row passes all blocks of such
/// a part first, then all its trees in the order of the file.
pub(crate) const AT_ONCE: usize = 1024;

/// The leaf of each tree of a part, at the tree's lane.
#[repr(C, align(64))]
pub(crate) struct Leaves(pub(crate) [[u8; TREES]; AT_ONCE / TREES]);

/// At most [`AT_ONCE`] trees that follow one another in the file. Their lanes are in the order of
/// their sizes, so that no block is longer than it has to be.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    /// For each block, the range of its places in `Single::places`.
    pub(crate) blocks: Vec<Range<usize>>,
    trees: Range<usize>,
    /// Whether some tree is cut off.
    deeper: bool,
}

/// Where a tree's values and its lane are.
#[derive(Clone, Copy, Debug)]
struct Seat {
    /// Where the values of its first leaf start; in a part with a tree that is cut off, where its
    /// entries in `Single::ends` start.
    start: u32,
    /// Its lane, counted over all blocks of its part.
    lane: u32,
}

/// A byte column that depends only on the rank of a number, with all that is needed to write it.
#[derive(Clone, Debug)]
pub(crate) struct Reading<T> {
    /// The column of the caller's table.
    pub(crate) feature: usize,
    pub(crate) column: u8,
    /// What is written for a missing value.
    pub(crate) missing: u8,
    pub(crate) table: Table<T>,
}

impl<T: Clone> Reading<T> {
    /// The readings of a feature: one for each of its variants.
    fn of<'a>(feature: &'a Feature, table: &'a Table<T>) -> impl Iterator<Item = Self> + 'a {
        feature.variants.iter().map(|variant| Self {
            feature: feature.index,
            // At most 256 columns, and at most 255 thresholds in one.
            column: variant.column as u8,
            missing: if variant.missing_left { 0 } else { feature.thresholds.len() as u8 },
            table: table.clone(),
        })
    }
}

/// An entry of `Single::ends`, where a tree continues below the end that was found: the index of a
/// node in `Single::rest`, or, with this bit set, where the values of a leaf start.
const IS_LEAF: u32 = 1 << 31;

/// A node below the kept levels of a tree that is cut off. Nodes of one subtree stand together, so
/// that most of them share one or two cache lines.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Rest {
    column: u8,
    rank: u8,
    /// The distance to the left child, which the right child follows; 0 for a leaf.
    next: u16,
    /// For a leaf, where its values start.
    values: u32,
}

/// The layout of a model for single rows.
#[derive(Clone, Debug)]
pub(crate) struct Single {
    /// Readings of f32 or of f64: only the type in which the model reads its inputs has any.
    pub(crate) readings32: Vec<Reading<f32>>,
    pub(crate) readings64: Vec<Reading<f64>>,
    /// The positions in `Plan::features` of the features without readings.
    pub(crate) others: Vec<usize>,
    pub(crate) parts: Vec<Part>,
    pub(crate) places: Vec<Place>,
    /// One for each tree.
    seats: Vec<Seat>,
    /// The ends of each tree from left to right, in parts with a tree that is cut off.
    ends: Vec<u32>,
    rest: Vec<Rest>,
}

/// What remains to be done when a tree is visited from left to right.
#[derive(Clone, Copy)]
enum Task {
    /// Visit the node with this index at this depth, and everything below it.
    Visit(u32, u32),
    /// Lay out a split whose left side is done; the second number is the first leaf of its subtree.
    Split(u32, u32),
}

impl Single {
    /// `None` if the model has too many columns or values, or trees that are too large.
    pub(crate) fn new(plan: &Plan, ranks: &[Ranks], zero_window: Option<f64>) -> Option<Self> {
        let values = match &plan.values {
            Values::F32(values) => values.len(),
            Values::F64(values) => values.len(),
        };
        if plan.columns > MOST_COLUMNS || values >= IS_LEAF as usize || plan.nodes.len() >= IS_LEAF as usize {
            return None;
        }
        let mut single = Self {
            readings32: Vec::new(),
            readings64: Vec::new(),
            others: Vec::new(),
            parts: Vec::new(),
            places: Vec::new(),
            seats: Vec::with_capacity(plan.roots.len()),
            ends: Vec::new(),
            rest: Vec::new(),
        };
        single.add_readings(plan, ranks, zero_window);
        for first in (0..plan.roots.len()).step_by(AT_ONCE) {
            single.add(plan, first..plan.roots.len().min(first + AT_ONCE))?;
        }
        Some(single)
    }

    fn add_readings(&mut self, plan: &Plan, ranks: &[Ranks], zero_window: Option<f64>) {
        for (index, (feature, ranks)) in plan.features.iter().zip(ranks).enumerate() {
            match ranks {
                // No library has both f32 inputs and a zero window.
                Ranks::Two32(table) if feature.plain && zero_window.is_none() => {
                    self.readings32.extend(Reading::of(feature, table));
                }
                Ranks::Two64(table) if feature.plain => self.readings64.extend(Reading::of(feature, table)),
                _ => self.others.push(index),
            }
        }
    }

    fn add(&mut self, plan: &Plan, trees: Range<usize>) -> Option<()> {
        let roots = &plan.roots[trees.clone()];
        let deeper = roots.iter().any(|root| root.leaves > MOST_LEAVES);
        let size = |root: &Root| if root.leaves > MOST_LEAVES { 1 << LEVELS } else { root.leaves };
        // The largest trees first, equal ones in the order of the file: the lower half of a key is
        // the tree.
        let keys = roots.iter().enumerate().map(|(tree, root)| u64::from(!size(root)) << 32 | tree as u64);
        let mut by_size: Vec<u64> = keys.collect();
        by_size.sort_unstable();
        let by_size: Vec<usize> = by_size.into_iter().map(|key| key as u32 as usize).collect();
        let mut lanes = alloc::vec![0; roots.len()];
        by_size.iter().enumerate().for_each(|(lane, &tree)| lanes[tree] = lane);
        let never = Place { columns: [0; TREES], ranks: [Word::NEVER.rank(); TREES], firsts: [0; TREES] };
        let mut blocks = Vec::new();
        for block in by_size.chunks(TREES) {
            let first = self.places.len();
            self.places.resize(first + size(&roots[block[0]]) as usize - 1, never);
            blocks.push(first..self.places.len());
        }
        let mut tasks = Vec::new();
        for (&lane, root) in lanes.iter().zip(roots) {
            let places = &blocks[lane / TREES];
            let levels = if root.leaves > MOST_LEAVES { LEVELS } else { u32::MAX };
            let mut start = None;
            let mut leaves = 0;
            tasks.push(Task::Visit(root.node, 0));
            while let Some(task) = tasks.pop() {
                match task {
                    Task::Visit(at, depth) => {
                        let node = plan.nodes[at as usize];
                        let leaf = node.next == at;
                        if !leaf && depth < levels {
                            tasks.push(Task::Visit(node.next + 1, depth + 1));
                            tasks.push(Task::Split(at, leaves));
                            tasks.push(Task::Visit(node.next, depth + 1));
                            continue;
                        }
                        let values = plan.leaves[at as usize];
                        if deeper {
                            start.get_or_insert(self.ends.len() as u32);
                            let end = if leaf { IS_LEAF | values } else { self.subtree(plan, at)? };
                            self.ends.push(end);
                        } else {
                            // The plan stores the values of a tree's leaves in this order, without
                            // gaps.
                            start.get_or_insert(values);
                        }
                        leaves += 1;
                    }
                    Task::Split(at, first_leaf) => {
                        let place = &mut self.places[places.clone()][leaves as usize - 1];
                        let word = plan.nodes[at as usize].word;
                        // There are at most 256 columns and 256 leaves, so that their numbers fit
                        // into a byte.
                        place.columns[lane % TREES] = word.column() as u8;
                        place.ranks[lane % TREES] = word.rank();
                        place.firsts[lane % TREES] = first_leaf as u8;
                    }
                }
            }
            self.seats.push(Seat { start: start?, lane: lane as u32 });
        }
        self.parts.push(Part { blocks, trees, deeper });
        Some(())
    }

    /// What a row costs, in nanoseconds of the machine of `Sliced::cost`.
    pub(crate) fn cost(&self, plan: &Plan) -> f64 {
        let cut_off = plan.roots.iter().filter(|root| root.leaves > MOST_LEAVES).count();
        90.0 + 1.3 * self.places.len() as f64 + 6.0 * cut_off as f64
    }

    /// Lays out the nodes below a node in breadth-first order; returns the index of the node
    /// itself.
    fn subtree(&mut self, plan: &Plan, root: u32) -> Option<u32> {
        let start = self.rest.len();
        let mut nodes = alloc::vec![root];
        let mut done = 0;
        while let Some(&at) = nodes.get(done) {
            let node = plan.nodes[at as usize];
            let leaf = node.next == at;
            let next = if leaf { 0 } else { u16::try_from(nodes.len() - done).ok()? };
            let values = if leaf { plan.leaves[at as usize] } else { 0 };
            // There are at most 256 columns, so that their numbers fit into a byte.
            self.rest.push(Rest { column: node.word.column() as u8, rank: node.word.rank(), next, values });
            if !leaf {
                nodes.extend([node.next, node.next + 1]);
            }
            done += 1;
        }
        u32::try_from(start).ok()
    }

    /// Adds the leaves of a part's trees to the sums of a row.
    #[inline(never)]
    pub(crate) fn add_up<S: Sum>(
        &self,
        plan: &Plan,
        part: &Part,
        values: &[S],
        leaves: &Leaves,
        bytes: &RowBytes,
        sums: &mut [S],
    ) {
        let leaves: &[u8; AT_ONCE] =
            leaves.0.as_flattened().try_into().expect("as many blocks as trees need");
        let seats = &self.seats[part.trees.clone()];
        let leaf = |seat: &Seat| usize::from(leaves[seat.lane as usize % AT_ONCE]);
        if part.deeper {
            return self.add_deeper(plan, part, values, leaves, bytes, sums);
        }
        if let [sum] = sums {
            let add = |sum: S, seat: &Seat| sum.plus(values[seat.start as usize + leaf(seat)]);
            let (fours, rest) = seats.as_chunks::<4>();
            *sum = fours.iter().fold(*sum, |sum, four| four.iter().fold(sum, add));
            *sum = rest.iter().fold(*sum, add);
            return;
        }
        for (root, seat) in plan.roots[part.trees.clone()].iter().zip(seats) {
            let width = if root.group == ALL { sums.len() } else { 1 };
            add_leaf(root, values, seat.start as usize + width * leaf(seat), sums);
        }
    }

    /// Does the same for a part with a tree that is cut off.
    #[inline(never)]
    fn add_deeper<S: Sum>(
        &self,
        plan: &Plan,
        part: &Part,
        values: &[S],
        leaves: &[u8; AT_ONCE],
        bytes: &RowBytes,
        sums: &mut [S],
    ) {
        let roots = plan.roots[part.trees.clone()].chunks(TREES);
        for (roots, seats) in roots.zip(self.seats[part.trees.clone()].chunks(TREES)) {
            let mut found = [0u32; TREES];
            for (found, seat) in found.iter_mut().zip(seats) {
                *found = self.ends[seat.start as usize + usize::from(leaves[seat.lane as usize % AT_ONCE])];
            }
            walk_on(&self.rest, bytes, &mut found[..seats.len()]);
            for (root, &at) in roots.iter().zip(&found) {
                add_leaf(root, values, (at & !IS_LEAF) as usize, sums);
            }
        }
    }
}

/// Adds the leaf whose values start at `at`.
#[inline]
fn add_leaf<S: Sum>(root: &Root, values: &[S], at: usize, sums: &mut [S]) {
    if root.group == ALL {
        sums.iter_mut().zip(&values[at..]).for_each(|(sum, &value)| *sum = sum.plus(value));
    } else {
        let sum = &mut sums[root.group as usize];
        *sum = sum.plus(values[at]);
    }
}

/// Trees that are walked side by side, so that one waits for its next node from memory while others
/// compare.
const LANES: usize = 8;

/// Walks each tree from the end that was found to its leaf.
#[inline]
fn walk_on(rest: &[Rest], bytes: &RowBytes, found: &mut [u32]) {
    let bytes: &[u8; MOST_COLUMNS] = bytes.0.as_flattened().try_into().expect("four times 64 bytes");
    // Collects the trees that are not at a leaf yet, without a branch: it could not be predicted.
    let mut open = [0u8; TREES];
    let mut count = 0;
    for (tree, &end) in found.iter().enumerate() {
        open[count] = tree as u8;
        count += usize::from(end & IS_LEAF == 0);
    }
    for trees in open[..count].chunks(LANES) {
        // Lanes without a tree repeat the walk of the first one.
        let mut at = [found[usize::from(trees[0])]; LANES];
        at.iter_mut().zip(trees).for_each(|(at, &tree)| *at = found[usize::from(tree)]);
        loop {
            let mut moved = 0;
            for at in &mut at {
                *at = step(rest, bytes, *at);
            }
            for at in &mut at {
                let next = step(rest, bytes, *at);
                moved |= next ^ *at;
                *at = next;
            }
            if moved == 0 {
                break;
            }
        }
        for (&tree, &at) in trees.iter().zip(&at) {
            found[usize::from(tree)] = IS_LEAF | rest[at as usize].values;
        }
    }
}

#[inline]
fn step(rest: &[Rest], bytes: &[u8; MOST_COLUMNS], at: u32) -> u32 {
    let node = rest[at as usize];
    at + u32::from(node.next) + u32::from(bytes[usize::from(node.column)] > node.rank)
}

/// Evaluates single rows; written once for every instruction set. The module that calls this macro
/// must have the functions `rank32`, `rank64` and `leaves`.
macro_rules! single_kernel {
    ($(#[$enable:meta])*) => {
        use crate::error::PredictError;
        use crate::model::Model;
        use crate::plan::Values;
        use crate::rows::{AnyRows, Float, Rows};
        use crate::scalar::{self, Sum};
        use crate::single::{AT_ONCE, Leaves, MOST_COLUMNS as COLUMNS, Single};

        /// The sums of the rows, one row after the other.
        $(#[$enable])*
        pub(super) fn sums(
            model: &Model,
            single: &Single,
            rows: &AnyRows<'_>,
            scores: &mut [f64],
        ) -> Result<(), PredictError> {
            let (file, plan) = (&model.file, &model.plan);
            let mut row_bytes = RowBytes([[0; 64]; 4]);
            for (row, scores) in scores.chunks_mut(model.outputs()).enumerate() {
                scalar::check(file, rows, row)?;
                read(model, single, rows, row, &mut row_bytes);
                match &plan.values {
                    Values::F32(values) => trees(model, single, values, &row_bytes, scores),
                    Values::F64(values) => trees(model, single, values, &row_bytes, scores),
                }
            }
            Ok(())
        }

        /// Writes the bytes of a row; `scalar::check` has accepted it.
        $(#[$enable])*
        #[inline]
        fn read(model: &Model, single: &Single, rows: &AnyRows<'_>, row: usize, bytes: &mut RowBytes) {
            let bytes: &mut [u8; COLUMNS] = bytes.0.as_flattened_mut().try_into().expect("four times 64 bytes");
            match rows {
                AnyRows::F32(rows) => rank(model, single, rows, row, bytes),
                AnyRows::F64(rows) => rank(model, single, rows, row, bytes),
            }
            for &index in &single.others {
                scalar::write_row(&model.file, &model.plan.features[index], rows, row, bytes);
            }
        }

        /// Writes the bytes that are ranks of numbers.
        $(#[$enable])*
        #[inline(never)]
        fn rank<T: Float>(model: &Model, single: &Single, rows: &Rows<'_, T>, row: usize, bytes: &mut [u8; COLUMNS]) {
            // No magnitude is at most -1, so that without a window nothing becomes zero.
            let window = model.file.domain.zero_window.unwrap_or(-1.0);
            for reading in &single.readings32 {
                let value = rows.value(row, reading.feature).widen() as f32;
                let byte = if value.is_nan() { reading.missing } else { rank32(&reading.table, value) };
                bytes[usize::from(reading.column)] = byte;
            }
            for reading in &single.readings64 {
                let value = rows.value(row, reading.feature).widen();
                let value = if value.abs() <= window { 0.0 } else { value };
                let byte = if value.is_nan() { reading.missing } else { rank64(&reading.table, value) };
                bytes[usize::from(reading.column)] = byte;
            }
        }

        $(#[$enable])*
        #[inline]
        fn trees<S: Sum>(model: &Model, single: &Single, values: &[S], row: &RowBytes, scores: &mut [f64]) {
            scalar::summed(&model.file, scores, |sums| {
                let mut found = Leaves([[0; TREES]; AT_ONCE / TREES]);
                for part in &single.parts {
                    for (places, found) in part.blocks.chunks(2).zip(found.0.as_chunks_mut::<2>().0) {
                        let places = |block: usize| places.get(block).map_or(&[][..], |at| &single.places[at.clone()]);
                        *found = leaves([places(0), places(1)], row, model.plan.columns);
                    }
                    single.add_up(&model.plan, part, values, &found, row, sums);
                }
            });
        }
    };
}

pub(crate) use single_kernel;
