//! Turns a file into tables that are fast to evaluate: thresholds become ranks in columns of bytes,
//! trees become nodes whose children stand side by side.
//!
//! # Ranks
//! Every comparison of a feature is written as "right iff not x <= u", with u of the input's type,
//! and the different u of a feature are sorted. The rank of a value is the number of u that it is
//! above; comparison i of the feature sends the value right iff its rank is above i. A missing
//! value gets the smallest or the largest rank, by the side that the test sends it to, and so does
//! a zero if the test has a side for zero. Each combination of such sides is a *variant* of the
//! feature, with columns of its own. A column is a byte, so that a variant with more than 255
//! thresholds has several columns, each of which counts 255 of them. A test for equality or for
//! membership has a column of its own, which is 0 for left and 1 for right.

use alloc::vec::Vec;

use crate::error::LoadError;
use crate::file::{File, Kind, LEAF, Rule, Tests, Tree};
use crate::meaning::Number;

/// Thresholds that one byte column can count.
pub(crate) const CHUNK: usize = 255;

/// A feature that some split tests.
#[derive(Clone, Debug)]
pub(crate) struct Feature {
    pub(crate) index: usize,
    /// In ascending order, without repetitions. A NaN stands for "below every number" and comes
    /// first.
    pub(crate) thresholds: Vec<f64>,
    pub(crate) variants: Vec<Variant>,
    pub(crate) specials: Vec<Special>,
    /// Whether there are only comparisons without a side for zero, and no more thresholds than one
    /// column counts.
    pub(crate) plain: bool,
    /// The position in `File::categories`, if the feature is categorical.
    pub(crate) category: Option<usize>,
    /// If all tests are sets with codes below 64: the bytes of all their columns for each code, then
    /// for a category that is in no set, then for a missing value. Otherwise empty.
    pub(crate) of_codes: Vec<u8>,
    /// The same for each test: a bit for each of these entries, eight in a byte.
    pub(crate) sets: Vec<[u8; 16]>,
}

/// The entries of `Feature::of_codes` after the codes.
pub(crate) const NO_CODE: u8 = 64;
pub(crate) const MISSING_CODE: u8 = 65;

impl Feature {
    /// The entry of `of_codes` for a value that the library accepts.
    #[inline]
    pub(crate) fn entry(&self, file: &File, value: f64) -> u8 {
        let Some(category) = self.category.map(|at| &file.categories[at]) else { return NO_CODE };
        let code = if value.is_nan() { None } else { category.rule.code(value) };
        match code {
            None if value.is_nan() || category.unseen_is_missing => MISSING_CODE,
            Some(code) if code < 64 => code as u8,
            _ => NO_CODE,
        }
    }

    /// The bytes of `of_codes`, one entry after the other.
    fn bytes_of_codes(&self) -> Vec<u8> {
        let few = self.specials.iter().all(|special| matches!(special.question, Question::Few { .. }));
        if !few || self.category.is_none() || !self.variants.is_empty() {
            return Vec::new();
        }
        let byte = |entry: u8, special: &Special| {
            let code = (entry < NO_CODE).then_some(u32::from(entry));
            let missing = entry == MISSING_CODE;
            // The answer of a set depends on the code alone.
            let left = if missing { special.missing_left } else { special.question.left(0.0, code) };
            u8::from(!left)
        };
        (0..=MISSING_CODE).flat_map(|entry| self.specials.iter().map(move |of| byte(entry, of))).collect()
    }

    /// The number of thresholds that a number is above; it must not be NaN. Every number is above
    /// the NaN that may come first.
    #[inline]
    pub(crate) fn rank(&self, value: f64) -> usize {
        let below = usize::from(self.thresholds.first().is_some_and(|first| first.is_nan()));
        below + self.thresholds[below..].partition_point(|u| value > *u)
    }

    /// Byte columns of each variant.
    pub(crate) fn chunks(&self) -> usize {
        self.thresholds.len().div_ceil(CHUNK)
    }
}

/// Where missing values and zeros go, and which column is the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Variant {
    pub(crate) missing_left: bool,
    /// Where zero goes, if tests of this variant have a side for it.
    pub(crate) zero_left: Option<bool>,
    pub(crate) column: u32,
}

/// A test that has a column of its own.
#[derive(Clone, Debug)]
pub(crate) struct Special {
    pub(crate) question: Question,
    pub(crate) missing_left: bool,
    pub(crate) column: u32,
}

#[derive(Clone, Debug)]
pub(crate) enum Question {
    Equal(f64),
    /// A set of codes that are all below 64, as bits.
    Few {
        bits: u64,
        members_left: bool,
    },
    /// A bit for each code from 0 on; `more` lists the members beyond these words.
    Member {
        bits: Vec<u64>,
        more: Vec<u32>,
        members_left: bool,
    },
}

impl Question {
    /// Does the value, which must not be NaN, go left? `code` is its category.
    pub(crate) fn left(&self, value: f64, code: Option<u32>) -> bool {
        match self {
            Self::Equal(number) => value == *number,
            Self::Few { bits, members_left } => {
                let member = code.is_some_and(|code| code < 64 && bits >> code & 1 == 1);
                member == *members_left
            }
            Self::Member { bits, more, members_left } => {
                let member = code.is_some_and(|code| match bits.get(code as usize / 64) {
                    Some(word) => word >> (code % 64) & 1 == 1,
                    None => more.binary_search(&code).is_ok(),
                });
                member == *members_left
            }
        }
    }
}

/// A test: the byte column in the upper 24 bits, the rank in the lower 8. The test sends a row
/// right iff the row's byte is above the rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Word(pub(crate) u32);

impl Word {
    /// A test that sends every row left: no byte is above 255.
    pub(crate) const NEVER: Self = Self(255);

    pub(crate) fn column(self) -> usize {
        (self.0 >> 8) as usize
    }

    pub(crate) fn rank(self) -> u8 {
        self.0 as u8
    }
}

/// A node as rows are walked: the left child is at `next`, the right one follows it; a leaf's
/// `next` is the leaf itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Node {
    pub(crate) word: Word,
    pub(crate) next: u32,
}

/// A tree as rows are walked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Root {
    pub(crate) node: u32,
    /// Steps to the deepest leaf.
    pub(crate) depth: u32,
    pub(crate) leaves: u32,
    /// The sum that it adds to, or `ALL`.
    pub(crate) group: u32,
}

/// A tree that adds to every sum.
pub(crate) const ALL: u32 = u32::MAX;

/// The values of the leaves, multiplied by the tree's weight and rounded as the library does.
#[derive(Clone, Debug)]
pub(crate) enum Values {
    F32(Vec<f32>),
    F64(Vec<f64>),
}

/// The tables of a model.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) features: Vec<Feature>,
    /// The number of byte columns.
    pub(crate) columns: usize,
    /// The word of each test of the file.
    pub(crate) words: Vec<Word>,
    pub(crate) nodes: Vec<Node>,
    /// For each node that is a leaf, where its values start.
    pub(crate) leaves: Vec<u32>,
    pub(crate) roots: Vec<Root>,
    pub(crate) values: Values,
}

impl Plan {
    pub(crate) fn new(file: &File) -> Result<Self, LoadError> {
        let (features, words, columns) = features(file)?;
        let mut plan = Self {
            features,
            columns,
            words,
            nodes: Vec::with_capacity(file.nodes.len()),
            leaves: Vec::with_capacity(file.nodes.len()),
            roots: Vec::with_capacity(file.trees.len()),
            values: values(file),
        };
        let mut room = Room::default();
        for tree in &file.trees {
            plan.lay_out(file, tree, &mut room);
        }
        Ok(plan)
    }

    /// Lays out a tree in breadth-first order, so that the upper levels are close together.
    fn lay_out(&mut self, file: &File, tree: &Tree, room: &mut Room) {
        let groups = file.intercepts.len();
        let preorder = &file.nodes[tree.nodes.clone()];
        let leaf_width = if tree.group.is_some() { 1 } else { groups };
        let Room { right, open, level, next_level } = room;
        right.clear();
        right.resize(preorder.len(), 0);
        let mut leaf = 0;
        for (at, &node) in preorder.iter().enumerate() {
            if node != LEAF {
                open.push(at);
                continue;
            }
            right[at] = leaf;
            leaf += 1;
            // The node after a leaf is the right child of the last split that still lacks one.
            if let Some(parent) = open.pop() {
                right[parent] = at as u32 + 1;
            }
        }
        let first = self.nodes.len();
        let mut root = Root { node: first as u32, depth: 0, leaves: leaf, group: tree.group.unwrap_or(ALL) };
        level.push(0);
        let mut place = first;
        let mut depth = 0;
        while !level.is_empty() {
            let mut child = place + level.len();
            for &at in &*level {
                let node = preorder[at as usize];
                if node == LEAF {
                    root.depth = depth;
                    self.nodes.push(Node { word: Word::NEVER, next: place as u32 });
                    self.leaves.push((tree.values + right[at as usize] as usize * leaf_width) as u32);
                } else {
                    self.nodes.push(Node { word: self.words[node as usize], next: child as u32 });
                    self.leaves.push(0);
                    next_level.extend([at + 1, right[at as usize]]);
                    child += 2;
                }
                place += 1;
            }
            level.clear();
            core::mem::swap(level, next_level);
            depth += 1;
        }
        self.roots.push(root);
    }
}

/// Memory for laying out a tree, reused for the next one.
#[derive(Default)]
struct Room {
    /// The right child of each split, and the index of each leaf among the tree's leaves.
    right: Vec<u32>,
    /// Splits that still lack their right child; empty between trees.
    open: Vec<usize>,
    /// Nodes of the current level and of the next one; empty between trees.
    level: Vec<u32>,
    next_level: Vec<u32>,
}

fn values(file: &File) -> Values {
    let mut all = Vec::with_capacity(file.leaves.len());
    for (index, tree) in file.trees.iter().enumerate() {
        let end = file.trees.get(index + 1).map_or(file.leaves.len(), |next| next.values);
        all.extend(file.leaves[tree.values..end].iter().map(|leaf| tree.weight * leaf));
    }
    match file.sums.number {
        // The product of two f32 is exact in f64, so that this rounds once.
        Number::F32 => Values::F32(all.into_iter().map(|value| value as f32).collect()),
        Number::F64 => Values::F64(all),
    }
}

/// The features with their columns, the word of each test, and the number of columns.
fn features(file: &File) -> Result<(Vec<Feature>, Vec<Word>, usize), LoadError> {
    let mut features: Vec<Feature> = Vec::new();
    for column in &file.columns {
        if features.last().is_none_or(|last| last.index != column.feature as usize) {
            let category = file.categories.binary_search_by_key(&column.feature, |known| known.feature).ok();
            features.push(Feature {
                index: column.feature as usize,
                thresholds: Vec::new(),
                variants: Vec::new(),
                specials: Vec::new(),
                plain: false,
                category,
                of_codes: Vec::new(),
                sets: Vec::new(),
            });
        }
        if let (Some(feature), Tests::Numbers(numbers)) = (features.last_mut(), &column.tests)
            && column.kind != Kind::Equal
        {
            feature.thresholds.extend(numbers.iter().map(|&t| at_most(column.kind, t, file.domain.number)));
        }
    }
    for feature in &mut features {
        // Sorted as integers of the same order: then the program contains only one sorting routine,
        // that of u64.
        let mut keys: Vec<u64> = feature.thresholds.iter().map(|&threshold| key(threshold)).collect();
        keys.sort_unstable();
        keys.dedup();
        feature.thresholds = keys.into_iter().map(threshold).collect();
    }
    let mut columns = 0usize;
    let mut words = Vec::new();
    let mut at = 0;
    for column in &file.columns {
        while features[at].index != column.feature as usize {
            at += 1;
        }
        let feature = &mut features[at];
        match &column.tests {
            Tests::Numbers(numbers) if column.kind != Kind::Equal => {
                let zero_left = match column.kind {
                    Kind::ButZero { zero_left } => Some(zero_left),
                    _ => None,
                };
                let missing_left = column.missing_left;
                let same =
                    |known: &&Variant| known.missing_left == missing_left && known.zero_left == zero_left;
                let first = match feature.variants.iter().find(same) {
                    Some(known) => known.column as usize,
                    None => {
                        let first = columns;
                        feature.variants.push(Variant { missing_left, zero_left, column: first as u32 });
                        columns += feature.chunks();
                        first
                    }
                };
                for &t in numbers {
                    let u = at_most(column.kind, t, file.domain.number);
                    let rank =
                        feature.thresholds.binary_search_by(|known| order(known, &u)).unwrap_or_else(|at| at);
                    words.push(word(first + rank / CHUNK, rank % CHUNK)?);
                }
            }
            Tests::Numbers(numbers) => {
                for &number in numbers {
                    let special = Special {
                        question: Question::Equal(number),
                        missing_left: column.missing_left,
                        column: columns as u32,
                    };
                    feature.specials.push(special);
                    words.push(word(columns, 0)?);
                    columns += 1;
                }
            }
            Tests::Sets(sets) => {
                let members_left = column.kind == Kind::Member { members_left: true };
                for set in sets {
                    let question = member(set, members_left);
                    let special =
                        Special { question, missing_left: column.missing_left, column: columns as u32 };
                    feature.specials.push(special);
                    words.push(word(columns, 0)?);
                    columns += 1;
                }
            }
        }
    }
    for feature in &mut features {
        let sides = feature.variants.iter().all(|variant| variant.zero_left.is_none());
        feature.plain = sides && feature.specials.is_empty() && feature.chunks() == 1;
        feature.of_codes = feature.bytes_of_codes();
        feature.sets =
            alloc::vec![[0; 16]; if feature.of_codes.is_empty() { 0 } else { feature.specials.len() }];
        for (entry, bytes) in feature.of_codes.chunks_exact(feature.specials.len().max(1)).enumerate() {
            feature
                .sets
                .iter_mut()
                .zip(bytes)
                .for_each(|(set, right)| set[entry / 8] |= right << (entry % 8));
        }
    }
    Ok((features, words, columns))
}

fn word(column: usize, rank: usize) -> Result<Word, LoadError> {
    if column >= 1 << 24 {
        return Err(LoadError::TooLarge("2^24 columns of thresholds and more"));
    }
    Ok(Word((column as u32) << 8 | rank as u32))
}

/// Codes below this may be kept as bits; larger ones are searched for in a list.
const DENSE: u32 = 4096;

fn member(set: &[u32], members_left: bool) -> Question {
    if set.last().is_none_or(|&last| last < 64) {
        let bits = set.iter().fold(0, |bits, code| bits | 1 << code);
        return Question::Few { bits, members_left };
    }
    let dense = set.iter().take_while(|&&code| code < DENSE).count();
    let words = if dense < set.len() {
        DENSE as usize / 64
    } else {
        set.last().map_or(0, |&last| last as usize / 64 + 1)
    };
    // A few scattered codes do not justify the memory for the bits.
    let (dense, words) = if words > 4 * set.len() + 4 { (0, 0) } else { (dense, words) };
    let mut bits = alloc::vec![0u64; words];
    set[..dense].iter().for_each(|&code| bits[code as usize / 64] |= 1 << (code % 64));
    Question::Member { bits, more: set[dense..].to_vec(), members_left }
}

/// The u with which "left iff x <= u" replaces the test, for x of the input's type; NaN if nothing
/// goes left.
pub(crate) fn at_most(kind: Kind, t: f64, number: Number) -> f64 {
    let floor = match number {
        Number::F64 => t,
        Number::F32 => {
            let near = t as f32;
            f64::from(if f64::from(near) > t { near.next_down() } else { near })
        }
    };
    if kind != Kind::Less || floor < t {
        return floor;
    }
    if t == f64::NEG_INFINITY {
        return f64::NAN;
    }
    match number {
        Number::F64 => t.next_down(),
        Number::F32 => f64::from((floor as f32).next_down()),
    }
}

/// An integer for each threshold, in the order of [`order`].
fn key(threshold: f64) -> u64 {
    const SIGN: u64 = 1 << 63;
    if threshold.is_nan() {
        return 0;
    }
    // Adding zero turns -0.0 into 0.0.
    let bits = (threshold + 0.0).to_bits();
    if bits & SIGN == 0 { bits | SIGN } else { !bits }
}

/// The threshold of a key.
fn threshold(key: u64) -> f64 {
    match key {
        0 => f64::NAN,
        _ if key >> 63 == 1 => f64::from_bits(key & (u64::MAX >> 1)),
        _ => f64::from_bits(!key),
    }
}

/// Compares by value, NaN first. (-0.0 and 0.0 are one threshold.)
fn order(a: &f64, b: &f64) -> core::cmp::Ordering {
    match (a.is_nan(), b.is_nan()) {
        (true, true) => core::cmp::Ordering::Equal,
        (true, false) => core::cmp::Ordering::Less,
        (false, true) => core::cmp::Ordering::Greater,
        (false, false) => a.partial_cmp(b).unwrap_or(core::cmp::Ordering::Equal),
    }
}

/// The codes that any set of this feature contains; the cover uses them.
pub(crate) fn named_codes(file: &File, feature: u32) -> Vec<u64> {
    let sets = file.columns.iter().filter(|column| column.feature == feature).filter_map(|column| {
        match &column.tests {
            Tests::Sets(sets) => Some(sets),
            Tests::Numbers(_) => None,
        }
    });
    let mut codes: Vec<u64> = sets.flatten().flatten().map(|&code| u64::from(code)).collect();
    codes.sort_unstable();
    codes.dedup();
    codes
}

/// Does a rule refuse infinities?
pub(crate) fn refuses_infinities(rule: &Rule) -> bool {
    matches!(rule, Rule::Listed(_))
}
