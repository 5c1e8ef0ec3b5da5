//! Trees laid out for many rows at once: 512 rows form a block, and a bit per row becomes a
//! [`Mask`] for a block.
//!
//! Every test of the model is evaluated once for a block, even if many nodes share it; its mask has
//! a bit for each row that goes right. A tree then finds the leaf of all rows with operations on
//! masks:
//!
//! - *Perfect*: a tree of small depth is filled up to a perfect one (added nodes send every row
//!   left). The path of a row is its leaf's number in binary. Bit d of the path is the answer of
//!   one of the 2^d nodes of level d, which the bits before it choose: this takes 2^d - 1
//!   selections between masks.
//! - *Level*: if all splits of a level have the same test, as in CatBoost's trees, the answers of
//!   the levels are the bits of the leaf's number.
//! - *Reach*: in any other tree each node passes the rows that reach it to its children. Bit p of
//!   the leaf's number is the union of the rows in leaves whose number has that bit.
//! - *Walk*: a tree with too many leaves for masks is walked node by node, for several rows side by
//!   side (`large`).
//!
//! The value of a leaf is looked up by the leaf's number. For each row the values are added in the
//! order of the file.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ops::Range;

use crate::file::Kind;
use crate::meaning::Number;
use crate::plan::{ALL, CHUNK, Feature, Plan, Root, Values, Word, at_most};

/// The number of rows of a block.
pub(crate) const ROWS: usize = 512;

/// A bit for each row of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, align(64))]
pub(crate) struct Mask(pub(crate) [u64; 8]);

impl Mask {
    pub(crate) const NONE: Self = Self([0; 8]);
    pub(crate) const ALL: Self = Self([u64::MAX; 8]);
}

/// A byte for each row of a block.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(crate) struct Bytes(pub(crate) [[u8; 64]; 8]);

/// An f32 for each row of a block.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(crate) struct Floats32(pub(crate) [[f32; 16]; 32]);

/// An f64 for each row of a block.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(crate) struct Floats64(pub(crate) [[f64; 8]; 64]);

/// A count for each row of a block.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(crate) struct Wide(pub(crate) [u32; ROWS]);

/// How the leaf of each row is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Filled up to this depth; the tests are in the order of the levels.
    Perfect(u8),
    /// This depth, and one test for all splits of a level.
    Level(u8),
    /// This number of splits, parents before children, and one leaf more.
    Reach(u16),
    /// Walked node by node.
    Walk,
}

/// The largest depth of a perfect tree: 256 leaves.
pub(crate) const DEEPEST: u32 = 8;

/// A tree with more leaves is walked, unless all splits of a level have the same test.
const MOST_LEAVES: u32 = 4096;

/// The largest number of bits of a leaf's number: CatBoost's trees have at most 16 levels.
pub(crate) const PLANES: usize = 16;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Tree {
    pub(crate) shape: Shape,
    /// Bits of a leaf's number in this tree.
    pub(crate) planes: u8,
    pub(crate) group: u32,
    /// Where its tests start in `Sliced::tests`, and its children in `Sliced::children`.
    pub(crate) tests: usize,
    pub(crate) children: usize,
    /// Where its values start in `Sliced::values`: 2^planes for each sum that it adds to.
    pub(crate) values: usize,
}

impl Tree {
    /// Is the tree walked if masks are worth their cost for up to this many splits? Masks cost an
    /// operation for each split, a walk costs a step for each level.
    pub(crate) fn is_walked(&self, most_splits: u16) -> bool {
        match self.shape {
            Shape::Perfect(_) | Shape::Level(_) => false,
            Shape::Reach(splits) => splits > most_splits,
            Shape::Walk => true,
        }
    }
}

/// The tests of a variant of a feature, by their indices in `Sliced::words`.
#[derive(Clone, Debug)]
pub(crate) struct Direct {
    pub(crate) tests: Range<usize>,
    pub(crate) missing_left: bool,
}

/// The layout of a model for blocks of rows.
#[derive(Clone, Debug)]
pub(crate) struct Sliced {
    /// The different tests; the one that sends every row left comes first.
    pub(crate) words: Vec<Word>,
    /// The tests of each tree, as indices into `words`.
    pub(crate) tests: Vec<u32>,
    /// For each split of a *reach* tree, the left and the right slot that its rows are passed to.
    pub(crate) children: Vec<[u16; 2]>,
    pub(crate) trees: Vec<Tree>,
    pub(crate) values: Values,
    /// For each feature of the plan, its tests in `words`.
    pub(crate) of_feature: Vec<Range<usize>>,
    /// For each feature, its variants, if all its tests compare with numbers and have no side for
    /// zero; otherwise none.
    pub(crate) direct: Vec<Vec<Direct>>,
    /// The number with which each of these tests compares: it sends x right iff not x <= number.
    /// The first ones are for x of type f32, whatever the type of the model's inputs is.
    pub(crate) numbers32: Vec<f32>,
    pub(crate) numbers64: Vec<f64>,
    /// Slots that the largest tree needs.
    pub(crate) slots: usize,
    /// The number of tests of the largest tree.
    pub(crate) most_tests: usize,
}

impl Sliced {
    pub(crate) fn new(plan: &Plan, groups: usize) -> Self {
        let used = plan.nodes.iter().map(|node| node.word).filter(|&word| word != Word::NEVER);
        let mut keys: Vec<u64> = used.map(|word| u64::from(word.0)).collect();
        keys.sort_unstable();
        keys.dedup();
        let words =
            core::iter::once(Word::NEVER).chain(keys.into_iter().map(|key| Word(key as u32))).collect();
        let mut sliced = Self {
            words,
            tests: Vec::new(),
            children: Vec::new(),
            trees: Vec::with_capacity(plan.roots.len()),
            values: match &plan.values {
                Values::F32(_) => Values::F32(Vec::new()),
                Values::F64(_) => Values::F64(Vec::new()),
            },
            of_feature: Vec::with_capacity(plan.features.len()),
            direct: Vec::with_capacity(plan.features.len()),
            numbers32: Vec::new(),
            numbers64: Vec::new(),
            slots: 0,
            most_tests: 0,
        };
        plan.features.iter().for_each(|feature| sliced.add_tests(feature));
        for index in 0..plan.roots.len() {
            sliced.add(plan, groups, index);
        }
        sliced
    }

    /// Finds the tests of a feature, and the numbers with which they compare.
    fn add_tests(&mut self, feature: &Feature) {
        // The words are in the order of their columns, and the columns of a feature stand together.
        let from = |column: usize| from_to(&self.words, 0, column).end;
        let ends = feature.variants.iter().map(|variant| variant.column as usize + feature.chunks());
        let ends = ends.chain(feature.specials.iter().map(|special| special.column as usize + 1));
        let start = self.of_feature.last().map_or(1, |before| before.end);
        let all = start..ends.max().map_or(start, from);
        let compares = feature.specials.is_empty()
            && feature.variants.iter().all(|variant| variant.zero_left.is_none())
            && !feature.thresholds.first().is_some_and(|first| first.is_nan());
        let mut direct = Vec::new();
        for variant in feature.variants.iter().filter(|_| compares) {
            let column = variant.column as usize;
            let tests = from_to(&self.words, column, column + feature.chunks());
            direct.push(Direct { tests, missing_left: variant.missing_left });
        }
        self.numbers64.resize(all.end, 0.0);
        for variant in feature.variants.iter().filter(|_| compares) {
            let column = variant.column as usize;
            for at in from_to(&self.words, column, column + feature.chunks()) {
                let word = self.words[at];
                self.numbers64[at] =
                    feature.thresholds[(word.column() - column) * CHUNK + usize::from(word.rank())];
            }
        }
        // An f32 is at most a number iff it is at most the largest f32 that is at most the number.
        let floors = &self.numbers64[self.numbers32.len()..];
        let floor = |&number: &f64| at_most(Kind::LessOrEqual, number, Number::F32) as f32;
        self.numbers32.extend(floors.iter().map(floor));
        self.of_feature.push(all);
        self.direct.push(direct);
    }

    fn add(&mut self, plan: &Plan, groups: usize, index: usize) {
        let root = plan.roots[index];
        let planes = root.leaves.next_power_of_two().trailing_zeros();
        let width = if root.group == ALL { groups } else { 1 };
        let mut tree = Tree {
            shape: Shape::Walk,
            planes: 0,
            group: root.group,
            tests: self.tests.len(),
            children: self.children.len(),
            values: match &self.values {
                Values::F32(values) => values.len(),
                Values::F64(values) => values.len(),
            },
        };
        // The leaf of each number, as the index of a node of the plan.
        let mut leaves: Vec<u32> = Vec::new();
        if let Some((words, level)) = levels(plan, &root) {
            tree.shape = Shape::Level(root.depth as u8);
            tree.planes = root.depth as u8;
            for word in words {
                let place = self.place(word);
                self.tests.push(place);
            }
            leaves = level;
        } else if root.depth <= DEEPEST && 1 << root.depth <= 4 * root.leaves {
            tree.shape = Shape::Perfect(root.depth as u8);
            tree.planes = root.depth as u8;
            let mut level = alloc::vec![root.node];
            for _ in 0..root.depth {
                let mut next = Vec::with_capacity(2 * level.len());
                for &at in &level {
                    let node = plan.nodes[at as usize];
                    let leaf = node.next == at;
                    self.tests.push(self.place(node.word));
                    next.extend(if leaf { [at, at] } else { [node.next, node.next + 1] });
                }
                level = next;
            }
            leaves = level;
        } else if root.leaves <= MOST_LEAVES {
            tree.shape = Shape::Reach((root.leaves - 1) as u16);
            tree.planes = planes as u8;
            let splits = root.leaves as u16 - 1;
            // In breadth-first order as in the plan: the slot of a split is its index among the
            // splits.
            let nodes = root.node..root.node + 2 * root.leaves - 1;
            let mut slots = Vec::with_capacity(nodes.len());
            let mut next_split = 0;
            for at in nodes.clone() {
                if plan.nodes[at as usize].next == at {
                    slots.push(splits + leaves.len() as u16);
                    leaves.push(at);
                } else {
                    slots.push(next_split);
                    next_split += 1;
                }
            }
            for at in nodes {
                let node = plan.nodes[at as usize];
                if node.next != at {
                    self.tests.push(self.place(node.word));
                    let child = (node.next - root.node) as usize;
                    self.children.push([slots[child], slots[child + 1]]);
                }
            }
            self.slots = self.slots.max(2 * root.leaves as usize);
        }
        self.most_tests = self.most_tests.max(self.tests.len() - tree.tests);
        if tree.shape != Shape::Walk {
            let size = 1usize << tree.planes;
            for sum in 0..width {
                let of = |&leaf: &u32| plan.leaves[leaf as usize] as usize + sum;
                match (&plan.values, &mut self.values) {
                    (Values::F32(from), Values::F32(to)) => {
                        to.extend(leaves.iter().map(|leaf| from[of(leaf)]));
                        to.extend(core::iter::repeat_n(0.0, size - leaves.len()));
                    }
                    (Values::F64(from), Values::F64(to)) => {
                        to.extend(leaves.iter().map(|leaf| from[of(leaf)]));
                        to.extend(core::iter::repeat_n(0.0, size - leaves.len()));
                    }
                    _ => {}
                }
            }
        }
        self.trees.push(tree);
    }

    /// What a block costs for any number of rows, in nanoseconds of one machine with masks of one
    /// register.
    pub(crate) fn cost(&self) -> f64 {
        let of_tree = |tree: &Tree| match tree.shape {
            Shape::Perfect(depth) => 0.8 * f64::from((1 << depth) - 1),
            Shape::Level(depth) => 0.8 * f64::from(depth),
            Shape::Reach(splits) => 1.7 * f64::from(splits),
            Shape::Walk => 0.0,
        };
        self.trees.iter().map(of_tree).sum::<f64>() + 0.7 * self.words.len() as f64
    }

    /// The index of a word in `words`.
    fn place(&self, word: Word) -> u32 {
        if word == Word::NEVER {
            return 0;
        }
        self.words[1..].binary_search_by_key(&word.0, |known| known.0).map_or(0, |at| at as u32 + 1)
    }
}

/// The words of a range of columns; the first word has none.
fn from_to(words: &[Word], column: usize, end: usize) -> Range<usize> {
    let from = |column: usize| 1 + words[1..].partition_point(|word| word.column() < column);
    from(column)..from(end)
}

/// The test of each level and the leaves of a tree that has one test for all splits of a level, and
/// all leaves on the last level.
fn levels(plan: &Plan, root: &Root) -> Option<(Vec<Word>, Vec<u32>)> {
    if root.depth as usize > PLANES || root.leaves != 1 << root.depth {
        return None;
    }
    let mut words = Vec::with_capacity(root.depth as usize);
    let mut level = alloc::vec![root.node];
    for _ in 0..root.depth {
        let word = plan.nodes[level[0] as usize].word;
        if level.iter().any(|&at| plan.nodes[at as usize].word != word) {
            return None;
        }
        words.push(word);
        let children = |&at: &u32| [plan.nodes[at as usize].next, plan.nodes[at as usize].next + 1];
        level = level.iter().flat_map(children).collect();
    }
    Some((words, level))
}

/// The thresholds of a feature as a table of two levels: sixteen pivots, and sixteen numbers for
/// each. Unused places hold infinity; no value is above it, so that they never count.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(crate) struct Table<T> {
    pub(crate) pivots: [T; 16],
    pub(crate) all: [[T; 16]; 16],
    /// Whether there are at most sixteen thresholds: then the first sixteen numbers are all.
    pub(crate) few: bool,
}

impl<T: Copy> Table<T> {
    fn new(thresholds: &[f64], number: impl Fn(f64) -> T) -> Box<Self> {
        let most = number(f64::INFINITY);
        let mut table =
            Box::new(Self { pivots: [most; 16], all: [[most; 16]; 16], few: thresholds.len() <= 16 });
        table.all.as_flattened_mut().iter_mut().zip(thresholds).for_each(|(to, &from)| *to = number(from));
        for row in 0..16 {
            table.pivots[row] = table.all[row][15];
        }
        table
    }
}

/// Thresholds as a search tree with sixteen numbers a node. The last level is all thresholds; a
/// level above has the last number of each node of the level below it. Unused places hold infinity,
/// and at least the last place of each level is unused: no value is above it, so that every search
/// stays within a level.
#[derive(Clone, Debug)]
pub(crate) struct Search<T> {
    pub(crate) levels: Vec<Vec<[T; 16]>>,
    /// Thresholds that are below every number.
    pub(crate) below: u32,
}

impl<T: Copy> Search<T> {
    fn new(thresholds: &[f64], number: impl Fn(f64) -> T) -> Self {
        let below = usize::from(thresholds.first().is_some_and(|first| first.is_nan()));
        let most = number(f64::INFINITY);
        let mut level: Vec<T> = thresholds[below..].iter().map(|&threshold| number(threshold)).collect();
        let mut levels: Vec<Vec<[T; 16]>> = Vec::new();
        loop {
            level.resize((level.len() + 1).next_multiple_of(16), most);
            let nodes: Vec<[T; 16]> = level.as_chunks().0.to_vec();
            // The last node ends with infinity, which the next level adds by itself.
            level = nodes[..nodes.len() - 1].iter().map(|node| node[15]).collect();
            levels.push(nodes);
            if level.is_empty() {
                break;
            }
        }
        levels.reverse();
        Self { levels, below: below as u32 }
    }
}

/// How to find the number of thresholds that a value is above.
#[derive(Clone, Debug)]
pub(crate) enum Ranks {
    /// In a table of f32.
    Two32(Box<Table<f32>>),
    /// In a table of f64.
    Two64(Box<Table<f64>>),
    /// In a search tree, if there are more thresholds than fit into a table, or one that is below
    /// every number.
    Many32(Search<f32>),
    Many64(Search<f64>),
}

impl Ranks {
    pub(crate) fn new(thresholds: &[f64], wide: bool) -> Self {
        let many = thresholds.len() > 255 || thresholds.first().is_some_and(|first| first.is_nan());
        match (wide, many) {
            (true, true) => Self::Many64(Search::new(thresholds, |number| number)),
            (false, true) => Self::Many32(Search::new(thresholds, |number| number as f32)),
            (true, false) => Self::Two64(Table::new(thresholds, |number| number)),
            (false, false) => Self::Two32(Table::new(thresholds, |number| number as f32)),
        }
    }
}
