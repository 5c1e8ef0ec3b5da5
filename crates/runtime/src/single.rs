//! Trees laid out for one row at a time: 64 trees are a block, and a byte of a vector for each finds its leaf.
//!
//! The leaves of a tree are numbered from left to right, and so are its splits: split s stands between leaf s and leaf s + 1, so that
//! its left side ends with leaf s. It takes the leaves from its first one to s away where it sends the row right, wherever it stands
//! in the tree, and the row's leaf is the first that nobody takes away (all splits on the row's path are heard, and
//! those elsewhere take away what others on the path did already, or what is behind the row's leaf). The splits are asked from left to
//! right: the leaf that is the first one so far is never behind s, so that a split takes it away iff it sends the row right and its
//! own first leaf is not behind it; the next one is s + 1.
//!
//! Split s of all 64 trees is tested at once: the bytes that they look at are picked out of the row by one instruction, a second one
//! compares them, a third one the leaves. The shape of a tree does not matter, only the number of its leaves. Trees with more leaves than
//! a byte counts are cut off below some levels; what is below is walked as on the scalar path, and so is a model with more byte
//! columns than such an instruction can pick from.

use alloc::vec::Vec;
use core::ops::Range;

use crate::plan::{ALL, Feature, Plan, Root, Values, Word};
use crate::scalar::Sum;
use crate::sliced::{Ranks, Table};

/// Trees of a block.
pub(crate) const TREES: usize = 64;

/// The leaves of a tree, at most, that is not cut off: a byte counts them.
const MOST_LEAVES: u32 = 256;

/// Levels of a tree that is cut off.
const LEVELS: u32 = 6;

/// Byte columns that a row may have here.
pub(crate) const MOST_COLUMNS: usize = 256;

/// The splits of 64 trees at the same place from the left.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(crate) struct Place {
    pub(crate) columns: [u8; TREES],
    pub(crate) ranks: [u8; TREES],
    /// The first leaf of each split's subtree.
    pub(crate) firsts: [u8; TREES],
}

/// The bytes of a row, and zeros behind them.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(crate) struct RowBytes(pub(crate) [[u8; 64]; 4]);

/// Trees whose leaves are all found before they are added up: a row goes through its blocks, and then through its trees.
pub(crate) const AT_ONCE: usize = 1024;

/// The leaf of each of these trees, at its lane.
#[repr(C, align(64))]
pub(crate) struct Leaves(pub(crate) [[u8; TREES]; AT_ONCE / TREES]);

/// Such trees, one after the other in the file. Their lanes are in the order of their sizes, so that blocks are no longer than they need to be.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    /// For each block its places in `Single::places`.
    pub(crate) blocks: Vec<Range<usize>>,
    trees: Range<usize>,
    /// Some tree is cut off.
    deeper: bool,
}

/// Where a tree stands.
#[derive(Clone, Copy, Debug)]
struct Seat {
    /// Where the values of its first leaf stand; in a part with a tree that is cut off, where its ends start in `Single::ends`.
    start: u32,
    /// Its lane, counted through the blocks of its part.
    lane: u32,
}

/// A column of bytes that a row writes with the rank of a number alone, and all that it takes in one place.
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
    /// Those of a feature.
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

/// Where a tree goes on behind its end: a node of `Single::rest`, or with this bit where a leaf's values start.
const IS_LEAF: u32 = 1 << 31;

/// A node of a tree that is cut off, below that. Those of one subtree stand together, so that most are found in one or two lines of the cache.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Rest {
    column: u8,
    rank: u8,
    /// How far behind it the left child stands, with the right one behind that; 0 for a leaf.
    next: u16,
    /// Of a leaf, where its values start.
    values: u32,
}

/// The layout.
#[derive(Clone, Debug)]
pub(crate) struct Single {
    /// Of f32 or of f64, as the model reads its inputs.
    pub(crate) readings32: Vec<Reading<f32>>,
    pub(crate) readings64: Vec<Reading<f64>>,
    /// The positions in `Plan::features` of those that are not read so.
    pub(crate) others: Vec<usize>,
    pub(crate) parts: Vec<Part>,
    pub(crate) places: Vec<Place>,
    /// For each tree.
    seats: Vec<Seat>,
    /// Of each tree of a part with one that is cut off, from left to right.
    ends: Vec<u32>,
    rest: Vec<Rest>,
}

/// What is left to do on the way through a tree from left to right.
#[derive(Clone, Copy)]
enum Task {
    /// A node at this depth, and what is below it.
    Visit(u32, u32),
    /// A split whose left side is done, and the first leaf of its subtree.
    Split(u32, u32),
}

impl Single {
    /// `None` for a model with too many columns or values, or with trees that are too large.
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
                // No library has both f32 and a window.
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
        // The largest first, and of the same size the first: a key has the tree in its lower half.
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
                            // The plan has the values of a tree in this order, one leaf behind the other.
                            start.get_or_insert(values);
                        }
                        leaves += 1;
                    }
                    Task::Split(at, first_leaf) => {
                        let place = &mut self.places[places.clone()][leaves as usize - 1];
                        let word = plan.nodes[at as usize].word;
                        // At most 256 columns and leaves, so that one is a byte.
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

    /// Lays out what is below a node, breadth first; the place of the node.
    fn subtree(&mut self, plan: &Plan, root: u32) -> Option<u32> {
        let start = self.rest.len();
        let mut nodes = alloc::vec![root];
        let mut done = 0;
        while let Some(&at) = nodes.get(done) {
            let node = plan.nodes[at as usize];
            let leaf = node.next == at;
            let next = if leaf { 0 } else { u16::try_from(nodes.len() - done).ok()? };
            let values = if leaf { plan.leaves[at as usize] } else { 0 };
            // Fewer than 256 columns, so that one is a byte.
            self.rest.push(Rest { column: node.word.column() as u8, rank: node.word.rank(), next, values });
            if !leaf {
                nodes.extend([node.next, node.next + 1]);
            }
            done += 1;
        }
        u32::try_from(start).ok()
    }

    /// Adds what the trees of a part give for a row to its sums.
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

    /// The same for a part with a tree that is cut off.
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

/// Adds a leaf whose values start there.
#[inline]
fn add_leaf<S: Sum>(root: &Root, values: &[S], at: usize, sums: &mut [S]) {
    if root.group == ALL {
        sums.iter_mut().zip(&values[at..]).for_each(|(sum, &value)| *sum = sum.plus(value));
    } else {
        let sum = &mut sums[root.group as usize];
        *sum = sum.plus(values[at]);
    }
}

/// Trees that are walked side by side: the next node of one is on its way from memory while others compare.
const LANES: usize = 8;

/// Walks each tree from where it stands to its leaf.
#[inline]
fn walk_on(rest: &[Rest], bytes: &RowBytes, found: &mut [u32]) {
    let bytes: &[u8; MOST_COLUMNS] = bytes.0.as_flattened().try_into().expect("four times 64 bytes");
    // Those that are not at a leaf, without a branch that nobody can predict.
    let mut open = [0u8; TREES];
    let mut count = 0;
    for (tree, &end) in found.iter().enumerate() {
        open[count] = tree as u8;
        count += usize::from(end & IS_LEAF == 0);
    }
    for trees in open[..count].chunks(LANES) {
        // Lanes without a tree walk with the first one.
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

/// The work on single rows, written once for every instruction set: it stands in a module that has `rank32`, `rank64` and `leaves`.
macro_rules! single_kernel {
    ($(#[$enable:meta])*) => {
        use crate::error::PredictError;
        use crate::model::Model;
        use crate::plan::Values;
        use crate::rows::{AnyRows, Float, Rows};
        use crate::scalar::{self, Sum};
        use crate::single::{AT_ONCE, Leaves, MOST_COLUMNS as COLUMNS, Single};

        /// The sums of rows, one after the other.
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

        /// Writes the bytes of a row that the library does not refuse.
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

        /// Writes the bytes that are the rank of a number.
        $(#[$enable])*
        #[inline(never)]
        fn rank<T: Float>(model: &Model, single: &Single, rows: &Rows<'_, T>, row: usize, bytes: &mut [u8; COLUMNS]) {
            // Nothing is nearer to zero than -1.
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
