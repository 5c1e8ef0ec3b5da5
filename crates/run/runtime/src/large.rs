//! Trees with too many leaves for masks: the rows of a block walk through them, eight side by side.
//!
//! A feature of a deep forest has thousands of thresholds, and would need dozens of byte columns.
//! Here a column is two bytes wide and counts 65,535 thresholds. What a walk reads shall stay in the
//! nearest cache:
//!
//! - The columns of eight rows stand together.
//! - A node has eight bytes. Two leaves below one split are stored once for each pair of values in
//!   their tree: the leaves of a forest that was grown to the end have few different values.
//! - If all trees are walked, several blocks pass a tree before the next one.
//!
//! First all rows take the same number of steps, and nobody asks which ones have arrived: a row
//! stays at its leaf, since a leaf's child is the leaf itself. The others form a list, which becomes
//! shorter every few steps. Neither has a branch that a processor would have to predict.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::ops::Range;

use crate::error::PredictError;
use crate::file::File;
use crate::kernel::{self, Instructions};
use crate::model::Model;
use crate::plan::{ALL, CHUNK, Feature, Plan, Root, Values};
use crate::read::{self, Output, Tile};
use crate::rows::AnyRows;
use crate::scalar::{Sum, answers, ends, ranks, starts};
use crate::sliced::{ROWS, Wide};

/// Thresholds that one column can count.
const WIDE: usize = u16::MAX as usize;

/// Rows that walk side by side, so that one waits for its next node from memory while others
/// compare.
const ABREAST: usize = 8;

/// Half a column of eight rows. A node names the first of the two halves; so a processor that
/// multiplies an index by eight finds it in one instruction.
pub(crate) type Half = [u16; ABREAST / 2];

/// The halves of a column.
const HALVES: usize = 2;

/// Blocks that pass a tree before the next tree.
const BLOCKS: usize = 4;

/// Steps that all rows take before those that have not arrived form a list.
const FIRST_STEPS: u32 = 14;

/// Steps between two shortenings of the list.
const STEPS: usize = 4;

/// No number is above this rank, so that a row stays at its leaf; no split has it.
const AT_LEAF: u16 = u16::MAX;

/// A node. A row goes right iff its number in the column is above the rank. The left child is at
/// `next`, counted from the tree's first node, and the right one follows it.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(8))]
struct Node {
    half: u16,
    rank: u16,
    next: u32,
}

/// A tree.
#[derive(Clone, Debug)]
struct Tree {
    nodes: Range<usize>,
    depth: u32,
}

/// The layout of trees that are walked.
#[derive(Clone, Debug)]
pub(crate) struct Large {
    nodes: Vec<Node>,
    /// For each node that is a leaf, where its values start in `Plan::values`; if leaves are
    /// counted, its class.
    leaves: Vec<u32>,
    trees: Vec<Tree>,
    /// For each feature of the plan, its first column: the columns of its variants come first, then
    /// one for each test with a column of its own.
    firsts: Vec<usize>,
    /// The number of columns of a row.
    columns: usize,
    /// Whether the sums are the numbers of leaves of each class; see [`counts`].
    counted: bool,
}

/// Are sums the same if the leaves of each class are only counted? This holds if every leaf adds 1
/// to one sum and +0.0 to the others, and if all sums start at +0.0: `x + 0.0` is x for each number
/// of leaves x, and f32 and f64 have all numbers of leaves below 65,536.
fn counts(file: &File, plan: &Plan) -> bool {
    let groups = file.intercepts.len();
    let one_each = |values: &mut dyn Iterator<Item = f64>| {
        let (mut ones, mut zeros) = (0, 0);
        values.for_each(|value| {
            ones += usize::from(value == 1.0);
            zeros += usize::from(value.to_bits() == 0);
        });
        ones == 1 && zeros + 1 == groups
    };
    plan.roots.len() <= WIDE
        && plan.roots.iter().all(|root| root.group == ALL)
        && file.intercepts.iter().all(|intercept| intercept.to_bits() == 0)
        && match &plan.values {
            Values::F32(all) => all.chunks(groups).all(|of| one_each(&mut of.iter().map(|&v| f64::from(v)))),
            Values::F64(all) => all.chunks(groups).all(|of| one_each(&mut of.iter().copied())),
        }
}

impl Large {
    /// `None` for a model with too many columns.
    pub(crate) fn new(file: &File, plan: &Plan) -> Option<Self> {
        // For each byte column: the column that counts its thresholds, and how many thresholds that
        // column counts before them.
        let mut places = alloc::vec![(0u16, 0usize); plan.columns];
        let mut firsts = Vec::with_capacity(plan.features.len());
        let mut columns = 0;
        let half = |column: usize| u16::try_from(column * HALVES).ok();
        for feature in &plan.features {
            firsts.push(columns);
            for variant in &feature.variants {
                for chunk in 0..feature.chunks() {
                    let before = chunk * CHUNK;
                    // A column holds whole byte columns: 65,535 is 255 times 257.
                    places[variant.column as usize + chunk] = (half(columns + before / WIDE)?, before % WIDE);
                }
                columns += wide_columns(feature);
            }
            for special in &feature.specials {
                places[special.column as usize] = (half(columns)?, 0);
                columns += 1;
            }
        }
        let mut large = Self {
            nodes: Vec::new(),
            leaves: Vec::new(),
            trees: Vec::with_capacity(plan.roots.len()),
            firsts,
            columns: columns.max(1),
            counted: counts(file, plan),
        };
        for root in &plan.roots {
            let start = large.nodes.len();
            large.add(plan, root, file.intercepts.len(), &places);
            large.trees.push(Tree { nodes: start..large.nodes.len(), depth: root.depth });
        }
        Some(large)
    }

    /// Lays out a tree in breadth-first order.
    fn add(&mut self, plan: &Plan, root: &Root, groups: usize, places: &[(u16, usize)]) {
        let first = self.nodes.len();
        let of_tree = self.leaves_of(plan, root, groups);
        let is_leaf = |at: u32| plan.nodes[at as usize].next == at;
        // Where pairs of leaves are that are laid out already.
        let mut pairs: BTreeMap<[u32; 2], u32> = BTreeMap::new();
        // Splits without children so far: the node of the plan, and its index here.
        let mut splits: Vec<(u32, usize)> = Vec::new();
        let put = |large: &mut Self, splits: &mut Vec<(u32, usize)>, at: u32| {
            let place = large.nodes.len();
            if is_leaf(at) {
                large.nodes.push(Node { half: 0, rank: AT_LEAF, next: (place - first) as u32 });
                large.leaves.push(of_tree[(at - root.node) as usize]);
                return;
            }
            let word = plan.nodes[at as usize].word;
            let (half, before) = places[word.column()];
            // Both are below 65,535, and so is their sum: the thresholds of a byte column stay
            // within its column.
            let rank = (before + usize::from(word.rank())) as u16;
            large.nodes.push(Node { half, rank, next: 0 });
            large.leaves.push(0);
            splits.push((at, place));
        };
        put(self, &mut splits, root.node);
        let mut done = 0;
        while let Some(&(at, place)) = splits.get(done) {
            done += 1;
            let child = plan.nodes[at as usize].next;
            let mut next = (self.nodes.len() - first) as u32;
            let pair = [child, child + 1].map(|at| of_tree[(at - root.node) as usize]);
            let known = if is_leaf(child) && is_leaf(child + 1) { pairs.get(&pair) } else { None };
            if let Some(&known) = known {
                next = known;
            } else {
                if is_leaf(child) && is_leaf(child + 1) {
                    pairs.insert(pair, next);
                }
                put(self, &mut splits, child);
                put(self, &mut splits, child + 1);
            }
            self.nodes[place].next = next;
        }
    }

    /// For each node of a tree that is a leaf, what is stored in `leaves`: leaves with the same bits
    /// get the same number.
    fn leaves_of(&self, plan: &Plan, root: &Root, groups: usize) -> Vec<u32> {
        let nodes = root.node as usize..(root.node + 2 * root.leaves - 1) as usize;
        let width = if root.group == ALL { groups } else { 1 };
        let bits = |start: u32, at: usize| match &plan.values {
            Values::F32(values) => u64::from(values[start as usize + at].to_bits()),
            Values::F64(values) => values[start as usize + at].to_bits(),
        };
        let of_plan = &plan.leaves[nodes.clone()];
        if self.counted {
            // The bits of +0.0 are zero.
            let class = |&start: &u32| (0..width).position(|at| bits(start, at) != 0).unwrap_or(0) as u32;
            return of_plan.iter().map(class).collect();
        }
        let mut known: BTreeMap<Vec<u64>, u32> = BTreeMap::new();
        let mut of_tree = Vec::with_capacity(nodes.len());
        for (at, &start) in nodes.zip(of_plan) {
            let leaf = plan.nodes[at].next as usize == at;
            of_tree.push(if leaf {
                *known.entry((0..width).map(|at| bits(start, at)).collect()).or_insert(start)
            } else {
                0
            });
        }
        of_tree
    }

    /// The memory that the columns of a block of this many rows need.
    pub(crate) fn room(&self, rows: usize) -> usize {
        self.columns * HALVES * rows.div_ceil(ABREAST)
    }

    /// Writes the columns of one variant of a feature for a block: `variant` is its position among
    /// the feature's, and `ranks` are the numbers of thresholds that its values are above.
    pub(crate) fn write(
        &self,
        feature: usize,
        wide: usize,
        variant: usize,
        ranks: &Wide,
        columns: &mut [Half],
    ) {
        let row = self.columns * HALVES;
        for chunk in 0..wide {
            let first = (self.firsts[feature] + variant * wide + chunk) * HALVES;
            let before = (chunk * WIDE) as u32;
            for (to, ranks) in columns.chunks_exact_mut(row).zip(ranks.0.as_chunks::<ABREAST>().0) {
                let number = |at: usize| ranks[at].saturating_sub(before).min(WIDE as u32) as u16;
                to[first] = core::array::from_fn(number);
                to[first + 1] = core::array::from_fn(|at| number(at + ABREAST / 2));
            }
        }
    }

    /// Writes all columns of a feature for the value of one row of a block.
    pub(crate) fn write_row(
        &self,
        file: &File,
        feature: &Feature,
        index: usize,
        value: f64,
        columns: &mut [Half],
        row: usize,
    ) {
        let near = &mut columns.as_flattened_mut()[row / ABREAST * self.columns * ABREAST + row % ABREAST..];
        let wide = wide_columns(feature);
        let ranks = ranks(feature, value, |value| feature.rank(value)).flat_map(|(_, rank)| {
            (0..wide).map(move |chunk| rank.saturating_sub(chunk * WIDE).min(WIDE) as u16)
        });
        let answers = answers(file, feature, value).map(|(_, right)| u16::from(right));
        for (column, number) in (self.firsts[index]..).zip(ranks.chain(answers)) {
            near[column * ABREAST] = number;
        }
    }

    /// Walks the rows of a block through a tree: where each of them arrives among `leaves`.
    #[inline(never)]
    fn walk(&self, tree: usize, columns: &[Half], rows: usize, found: &mut Found) {
        let tree = &self.trees[tree];
        let nodes = &self.nodes[tree.nodes.clone()];
        let row_size = self.columns * HALVES;
        let steps = tree.depth.min(FIRST_STEPS);
        let Found { at: found, list } = found;
        let mut open = 0;
        let eights = columns.chunks_exact(row_size).zip(found.as_chunks_mut::<ABREAST>().0);
        for (eight, (near, found)) in eights.take(rows.div_ceil(ABREAST)).enumerate() {
            let mut at = [0u32; ABREAST];
            for _ in 0..steps {
                for (lane, at) in at.iter_mut().enumerate() {
                    let node = nodes[*at as usize];
                    let number = near[usize::from(node.half) + lane / 4][lane % 4];
                    *at = node.next + u32::from(number > node.rank);
                }
            }
            *found = at;
            if tree.depth > steps {
                for (lane, at) in at.into_iter().enumerate() {
                    list[open] = ((eight * ABREAST + lane) as u64) << 32 | u64::from(at);
                    open += usize::from(nodes[at as usize].rank != AT_LEAF);
                }
            }
        }
        let columns = columns.as_flattened();
        while open > 0 {
            // The last lanes may have no row of their own; they repeat the walk of the last row.
            let last = list[open - 1];
            list[open..open + ABREAST].fill(last);
            let mut kept = 0;
            for first in (0..open).step_by(ABREAST) {
                let mut at = [0u32; ABREAST];
                let mut near = [0usize; ABREAST];
                let mut rows = [0usize; ABREAST];
                for (lane, &entry) in list[first..first + ABREAST].iter().enumerate() {
                    at[lane] = entry as u32;
                    rows[lane] = (entry >> 32) as usize % ROWS;
                    near[lane] = rows[lane] / ABREAST * row_size * 4 + (rows[lane] % ABREAST);
                }
                for _ in 0..STEPS {
                    for (at, &near) in at.iter_mut().zip(&near) {
                        let node = nodes[*at as usize];
                        let number = columns[near + usize::from(node.half) * 4];
                        *at = node.next + u32::from(number > node.rank);
                    }
                }
                for lane in 0..ABREAST {
                    found[rows[lane]] = at[lane];
                    list[kept] = (rows[lane] as u64) << 32 | u64::from(at[lane]);
                    let counts = first + lane < open && nodes[at[lane] as usize].rank != AT_LEAF;
                    kept += usize::from(counts);
                }
            }
            open = kept;
        }
    }
}

/// Where the rows of a block arrive in a tree, and memory for walking there.
pub(crate) struct Found {
    /// The node, counted from the tree's first one.
    at: [u32; ROWS],
    /// Rows that have not arrived: the row in the upper half, its node in the lower one.
    list: [u64; ROWS + ABREAST],
}

impl Found {
    pub(crate) fn new() -> Self {
        Self { at: [0; ROWS], list: [0; ROWS + ABREAST] }
    }
}

impl Large {
    /// Are all trees walked as soon as one is? Leaves that are only counted have no values here.
    pub(crate) fn walks_all(&self) -> bool {
        self.counted
    }

    /// Walks the rows of a block through a tree, and returns where the values of each row's leaf
    /// start (if leaves are counted, its class).
    pub(crate) fn leaves<'a>(
        &'a self,
        tree: usize,
        columns: &[Half],
        rows: usize,
        found: &'a mut Found,
    ) -> impl Iterator<Item = usize> + 'a {
        self.walk(tree, columns, rows, found);
        let leaves = &self.leaves[self.trees[tree].nodes.clone()];
        found.at[..rows].iter().map(|&at| leaves[at as usize] as usize)
    }
}

/// The sums of all rows, for a model all of whose trees are walked.
pub(crate) fn sums(
    instructions: &dyn Instructions,
    model: &Model,
    large: &Large,
    rows: &AnyRows<'_>,
    tile: &mut Tile,
    scores: &mut [f64],
) -> Result<(), PredictError> {
    match &model.plan.values {
        Values::F32(values) => sums_of(instructions, model, large, values, rows, tile, scores),
        Values::F64(values) => sums_of(instructions, model, large, values, rows, tile, scores),
    }
}

fn sums_of<S: Sum>(
    instructions: &dyn Instructions,
    model: &Model,
    large: &Large,
    values: &[S],
    rows: &AnyRows<'_>,
    tile: &mut Tile,
    scores: &mut [f64],
) -> Result<(), PredictError> {
    let groups = model.outputs();
    let most = rows.count().min(BLOCKS * ROWS);
    // The sums of a row stand together. If leaves are counted, numbers replace the sums until all
    // trees are done.
    let mut sums = alloc::vec![S::default(); if large.counted { 0 } else { most * groups }];
    let mut counts = alloc::vec![0u16; if large.counted { most * groups } else { 0 }];
    let room = |first: usize| alloc::vec![Half::default(); large.room(ROWS.min(most - first))];
    let mut columns: Vec<Vec<Half>> = (0..most).step_by(ROWS).map(room).collect();
    let mut found = Found::new();
    for (part, scores) in scores.chunks_mut(BLOCKS * ROWS * groups).enumerate() {
        let first = part * BLOCKS * ROWS;
        let count = scores.len() / groups;
        let block = |block: usize| block * ROWS..count.min((block + 1) * ROWS);
        let blocks = count.div_ceil(ROWS);
        let rows = rows.part(first..first + count);
        kernel::check(model, &rows, first)?;
        for (at, columns) in columns[..blocks].iter_mut().enumerate() {
            let mut out = Output { large: Some((large, columns)), bytes: &mut [], masks: None };
            read::read(instructions, model, &rows.part(block(at)), tile, &mut out);
        }
        counts.fill(0);
        for sums in sums.chunks_exact_mut(groups) {
            starts(&model.file, sums);
        }
        for (tree, root) in model.plan.roots.iter().enumerate() {
            for (at, columns) in columns[..blocks].iter().enumerate() {
                let rows = block(at);
                let leaves = large.leaves(tree, columns, rows.len(), &mut found);
                let range = rows.start * groups..rows.end * groups;
                if large.counted {
                    count_leaves(groups, &mut counts[range], leaves);
                } else {
                    add_leaves(root, groups, values, &mut sums[range], leaves);
                }
            }
        }
        if large.counted && groups == 2 {
            // Only the second class was counted: every tree has one leaf for each row.
            let trees = model.plan.roots.len() as u16;
            counts.as_chunks_mut::<2>().0.iter_mut().for_each(|[first, second]| *first = trees - *second);
        }
        if large.counted {
            let sums = counts.chunks_exact(groups).zip(scores.chunks_exact_mut(groups));
            let mut of_row = alloc::vec![S::default(); groups];
            for (counts, scores) in sums {
                of_row.iter_mut().zip(counts).for_each(|(sum, &count)| *sum = S::from_f64(f64::from(count)));
                ends(&model.file, &of_row, scores);
            }
        } else {
            let sums = sums.chunks_exact(groups).zip(scores.chunks_exact_mut(groups));
            sums.for_each(|(sums, scores)| ends(&model.file, sums, scores));
        }
    }
    Ok(())
}

/// Counts a leaf for each row; of two classes only the second.
#[inline]
fn count_leaves(groups: usize, counts: &mut [u16], classes: impl Iterator<Item = usize>) {
    if groups == 2 {
        let rows = counts.as_chunks_mut::<2>().0.iter_mut().zip(classes);
        rows.for_each(|(row, class)| row[1] += class as u16);
    } else {
        counts.chunks_exact_mut(groups).zip(classes).for_each(|(row, class)| row[class] += 1);
    }
}

/// Adds the values of a leaf for each row.
#[inline]
fn add_leaves<S: Sum>(
    root: &Root,
    groups: usize,
    values: &[S],
    sums: &mut [S],
    leaves: impl Iterator<Item = usize>,
) {
    if root.group != ALL {
        let rows = sums.chunks_exact_mut(groups).zip(leaves);
        let group = root.group as usize;
        rows.for_each(|(row, at)| row[group] = row[group].plus(values[at]));
    } else if groups == 2 {
        for ([first, second], at) in sums.as_chunks_mut::<2>().0.iter_mut().zip(leaves) {
            *first = first.plus(values[at]);
            *second = second.plus(values[at + 1]);
        }
    } else {
        for (row, at) in sums.chunks_exact_mut(groups).zip(leaves) {
            row.iter_mut().zip(&values[at..at + groups]).for_each(|(sum, &value)| *sum = sum.plus(value));
        }
    }
}

/// The number of columns of each variant of a feature.
pub(crate) fn wide_columns(feature: &Feature) -> usize {
    feature.thresholds.len().div_ceil(WIDE)
}
