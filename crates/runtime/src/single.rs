//! Trees laid out for one row at a time: 64 trees are a block, and what is one bit for a tree is a bit of a word for a block.
//!
//! The first levels of all trees of a block are filled up to perfect trees (a leaf above the last level sends the row left from
//! there on). Every node at the same place of the 64 trees is tested at once: the bytes that the nodes look at are picked out of the row
//! by one instruction, a second one compares them. The path of each tree is then chosen as for a block of rows
//! (`sliced`), with trees in place of rows. What is deeper than these levels is walked as on the scalar path, and so is a model with more
//! byte columns than such an instruction can pick from.

use alloc::vec::Vec;

use crate::plan::{ALL, Plan, Values, Word};
use crate::scalar::Sum;

/// Trees of a block.
pub(crate) const TREES: usize = 64;

/// Levels that are tested at once, at most: with one more the cost doubles, and few trees go on.
pub(crate) const LEVELS: usize = 6;

/// Nodes of a perfect tree of that many levels.
pub(crate) const PLACES: usize = (1 << LEVELS) - 1;

/// Byte columns that a row may have here.
pub(crate) const MOST_COLUMNS: usize = 256;

/// The nodes of 64 trees at the same place.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(crate) struct Place {
    pub(crate) columns: [u8; TREES],
    pub(crate) ranks: [u8; TREES],
}

/// The bytes of a row, and zeros behind them.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(crate) struct RowBytes(pub(crate) [[u8; 64]; 4]);

/// A block of trees.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block {
    /// Levels that are tested at once.
    pub(crate) levels: u8,
    /// Where its places start in `Single::places`: level by level.
    pub(crate) places: usize,
    /// Where its ends start in `Single::ends`: 2^levels for each tree.
    ends: usize,
    /// The first of its trees, and how many there are.
    first: usize,
    count: usize,
    /// Some tree goes on below these levels.
    deeper: bool,
}

/// Where a tree goes on below the levels that were tested at once: a node of `Single::rest`, or with this bit where a leaf's values start.
const IS_LEAF: u32 = 1 << 31;

/// A node below these levels. Those of one subtree stand together, so that most are found in one or two lines of the cache.
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
    pub(crate) blocks: Vec<Block>,
    pub(crate) places: Vec<Place>,
    ends: Vec<u32>,
    rest: Vec<Rest>,
}

impl Single {
    /// `None` for a model with too many columns or values, or with trees that are too large.
    pub(crate) fn new(plan: &Plan) -> Option<Self> {
        let values = match &plan.values {
            Values::F32(values) => values.len(),
            Values::F64(values) => values.len(),
        };
        if plan.columns > MOST_COLUMNS || values >= IS_LEAF as usize || plan.nodes.len() >= IS_LEAF as usize {
            return None;
        }
        let mut single = Self { blocks: Vec::new(), places: Vec::new(), ends: Vec::new(), rest: Vec::new() };
        for first in (0..plan.roots.len()).step_by(TREES) {
            single.add(plan, first, plan.roots.len().min(first + TREES))?;
        }
        Some(single)
    }

    fn add(&mut self, plan: &Plan, first: usize, end: usize) -> Option<()> {
        let roots = &plan.roots[first..end];
        let deepest = roots.iter().map(|root| root.depth as usize).max().unwrap_or(0);
        let levels = deepest.min(LEVELS);
        let block = Block {
            levels: levels as u8,
            places: self.places.len(),
            ends: self.ends.len(),
            first,
            count: roots.len(),
            deeper: deepest > levels,
        };
        let never = Place { columns: [0; TREES], ranks: [Word::NEVER.rank(); TREES] };
        self.places.resize(block.places + (1 << levels) - 1, never);
        for (tree, root) in roots.iter().enumerate() {
            let mut level = alloc::vec![root.node];
            let mut place = block.places;
            for _ in 0..levels {
                let mut next = Vec::with_capacity(2 * level.len());
                for &at in &level {
                    let node = plan.nodes[at as usize];
                    if node.next == at {
                        next.extend([at, at]);
                    } else {
                        // Fewer than 256 columns, so that one is a byte.
                        self.places[place].columns[tree] = node.word.column() as u8;
                        self.places[place].ranks[tree] = node.word.rank();
                        next.extend([node.next, node.next + 1]);
                    }
                    place += 1;
                }
                level = next;
            }
            for at in level {
                let end = if plan.nodes[at as usize].next == at {
                    IS_LEAF | plan.leaves[at as usize]
                } else {
                    self.subtree(plan, at)?
                };
                self.ends.push(end);
            }
        }
        self.blocks.push(block);
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

    /// Adds what the trees of a block give for a row to its sums: `paths` has the path of each tree through the levels that were tested
    /// at once, in binary, the first level on top.
    #[inline]
    pub(crate) fn add_up<S: Sum>(
        &self,
        plan: &Plan,
        block: &Block,
        values: &[S],
        paths: &[u8; TREES],
        bytes: &RowBytes,
        sums: &mut [S],
    ) {
        let width = 1usize << block.levels;
        let ends = &self.ends[block.ends..][..block.count * width];
        let end = |(&path, ends): (&u8, &[u32])| ends[usize::from(path) & (width - 1)];
        let all = paths.iter().zip(ends.chunks_exact(width)).map(end);
        if !block.deeper
            && let [sum] = sums
        {
            *sum = all.fold(*sum, |sum, end| sum.plus(values[(end & !IS_LEAF) as usize]));
            return;
        }
        let mut found = [0u32; TREES];
        found.iter_mut().zip(all).for_each(|(found, end)| *found = end);
        if block.deeper {
            walk_on(&self.rest, bytes, &mut found[..block.count]);
        }
        let found = found[..block.count].iter().map(|&end| (end & !IS_LEAF) as usize);
        if let [sum] = sums {
            *sum = found.fold(*sum, |sum, at| sum.plus(values[at]));
            return;
        }
        for (root, at) in plan.roots[block.first..].iter().zip(found) {
            if root.group == ALL {
                sums.iter_mut().zip(&values[at..]).for_each(|(sum, &value)| *sum = sum.plus(value));
            } else {
                let sum = &mut sums[root.group as usize];
                *sum = sum.plus(values[at]);
            }
        }
    }
}

/// For each level which trees go right there. `masks` has the trees that would go right at each place, level by level; at every
/// level the answers of the levels before choose one of its places.
#[inline]
pub(crate) fn chosen(masks: &[u64; PLACES], levels: u8) -> [u64; LEVELS] {
    // Half of the places, by one answer: the upper half where it is right.
    #[inline]
    fn half<const N: usize, const H: usize>(of: [u64; N], bit: u64) -> [u64; H] {
        core::array::from_fn(|at| of[at] ^ (bit & (of[at] ^ of[H + at])))
    }
    #[inline]
    fn level<const N: usize>(masks: &[u64; PLACES]) -> [u64; N] {
        core::array::from_fn(|at| masks[N - 1 + at])
    }
    let first = masks[0];
    let [second] = half(level::<2>(masks), first);
    let [third] = half(half::<4, 2>(level(masks), first), second);
    if levels <= 3 {
        return [first, second, third, 0, 0, 0];
    }
    let [fourth] = half(half::<4, 2>(half::<8, 4>(level(masks), first), second), third);
    let [fifth] = half(half::<4, 2>(half::<8, 4>(half::<16, 8>(level(masks), first), second), third), fourth);
    if levels <= 5 {
        return [first, second, third, fourth, fifth, 0];
    }
    let sixth = half::<16, 8>(half::<32, 16>(level(masks), first), second);
    let [sixth] = half(half::<4, 2>(half::<8, 4>(sixth, third), fourth), fifth);
    [first, second, third, fourth, fifth, sixth]
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

/// The work on single rows, written once for every instruction set: it stands in a module that has `rank` and `paths`.
macro_rules! single_kernel {
    ($(#[$enable:meta])*) => {
        use crate::error::PredictError;
        use crate::model::Model;
        use crate::plan::Values;
        use crate::rows::AnyRows;
        use crate::scalar::{self, Sum};
        use crate::single::Single;

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
                let bytes = row_bytes.0.as_flattened_mut();
                let rank = |index: usize, value| rank(&model.ranks[index], value);
                scalar::bytes_with(file, plan, rows, row, bytes, rank)?;
                match &plan.values {
                    Values::F32(values) => trees(model, single, values, &row_bytes, scores),
                    Values::F64(values) => trees(model, single, values, &row_bytes, scores),
                }
            }
            Ok(())
        }

        $(#[$enable])*
        #[inline]
        fn trees<S: Sum>(model: &Model, single: &Single, values: &[S], row: &RowBytes, scores: &mut [f64]) {
            scalar::summed(&model.file, scores, |sums| {
                for block in &single.blocks {
                    let places = &single.places[block.places..][..(1 << block.levels) - 1];
                    let paths = paths(block, places, row, model.plan.columns);
                    single.add_up(&model.plan, block, values, &paths, row, sums);
                }
            });
        }
    };
}

pub(crate) use single_kernel;
