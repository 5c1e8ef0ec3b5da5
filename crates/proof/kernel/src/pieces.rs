//! Lays the trees over each other as the proof's stacks demand.
//!
//! A piece is a partition of all cells into joint leaves: the non-empty intersections of one leaf
//! of each tree of its stack, with the exact sums of what these leaves add. Any partition of the
//! trees into stacks is sound: the sum over all pieces is the sum over all trees. What trees have
//! in common cancels inside a joint leaf.

use std::collections::BTreeMap;

use crate::Limits;
use crate::joint::Joint;
use crate::problem::{Forest, Node, Range, Tree};
use crate::refusal::Refusal;
use crate::wide::Int;

/// The pieces of a forest. They serve all problems about it.
pub struct Pieces<'a> {
    pub(crate) forest: &'a Forest,
    pub(crate) pieces: Vec<Piece>,
    /// For each axis the pieces that depend on it.
    pub(crate) touches: Vec<Vec<Touch>>,
    /// For each tree: is it in a piece?
    placed: Vec<bool>,
    /// The number of 64-bit words in the state of a box.
    pub(crate) words: usize,
    bytes: usize,
    pub(crate) limits: Limits,
}

/// A stack of trees.
pub(crate) struct Piece {
    pub(crate) leaves: usize,
    /// For each joint leaf one number for each sum.
    pub(crate) values: Vec<Int>,
    /// The position of its first word in the state of a box.
    pub(crate) place: usize,
    pub(crate) form: Form,
}

/// How the joint leaves that a box meets are found.
pub(crate) enum Form {
    /// The piece depends on at most one axis and has one joint leaf for each run. The state is the
    /// range of runs, in two words.
    Table,
    /// The state is the set of leaves, in this number of words.
    Masks(usize),
    /// The box is the whole state: its ranges lead through the joint tree.
    Tree(Joint),
}

/// How an axis divides a piece.
pub(crate) struct Touch {
    pub(crate) piece: usize,
    /// The first cell of each run of cells that no split of the stack tells apart; the first is 0.
    pub(crate) starts: Vec<u32>,
    /// For each run the joint leaves that hold it; empty for tables and trees.
    pub(crate) masks: Vec<u64>,
}

impl Touch {
    /// The runs in which the cells `low..high` lie.
    pub(crate) fn runs(&self, low: u32, high: u32) -> (usize, usize) {
        (self.run_of(low), self.starts.partition_point(|&start| start < high))
    }

    /// The run in which a cell lies.
    pub(crate) fn run_of(&self, cell: u32) -> usize {
        self.starts.partition_point(|&start| start <= cell) - 1
    }

    /// The mask of the leaves that hold a run, where a mask has `words` words.
    pub(crate) fn mask(&self, run: usize, words: usize) -> &[u64] {
        &self.masks[run * words..][..words]
    }

    /// One word of the mask of the leaves that meet the runs `from..to`, where a mask has `words`
    /// words.
    pub(crate) fn leaves_of_runs(&self, from: usize, to: usize, word: usize, words: usize) -> u64 {
        let masks = &self.masks[from * words..to * words];
        masks[word..].iter().step_by(words).fold(0, |all, mask| all | mask)
    }
}

impl<'a> Pieces<'a> {
    /// Starts without pieces.
    pub fn new(forest: &'a Forest, limits: Limits) -> Self {
        Self {
            forest,
            pieces: Vec::new(),
            touches: forest.axes().iter().map(|_| Vec::new()).collect(),
            placed: vec![false; forest.trees().len()],
            words: 0,
            bytes: 0,
            limits,
        }
    }

    /// Lays these trees over each other, as one piece.
    pub fn stack(&mut self, trees: &[u32]) -> Result<(), Refusal> {
        if trees.is_empty() {
            return Err(Refusal::StackEmpty);
        }
        for &tree in trees {
            match self.placed.get_mut(tree as usize) {
                None => return Err(Refusal::StackTree { tree }),
                Some(placed) if *placed => return Err(Refusal::StackTwice { tree }),
                Some(placed) => *placed = true,
            }
        }
        let forest = self.forest;
        self.add(&trees.iter().map(|&tree| &forest.trees()[tree as usize]).collect::<Vec<_>>())
    }

    /// Makes every tree that no stack named a piece of its own.
    pub fn place_the_rest(&mut self, stop: &dyn Fn() -> bool) -> Result<(), Refusal> {
        for tree in 0..self.placed.len() {
            if !self.placed[tree] {
                if stop() {
                    return Err(Refusal::Stopped);
                }
                self.stack(&[tree as u32])?;
            }
        }
        Ok(())
    }

    fn add(&mut self, trees: &[&Tree]) -> Result<(), Refusal> {
        // For each axis the first cells of its runs: a run ends where some split changes its side.
        let mut starts: BTreeMap<usize, Vec<u32>> = BTreeMap::new();
        for node in trees.iter().flat_map(|tree| &tree.nodes) {
            if let Node::Split { axis, cells, .. } = node {
                let size = self.forest.axes()[*axis as usize];
                let changes = cells.iter().flat_map(|&(from, to)| [from, to]).filter(|&cell| cell < size);
                starts.entry(*axis as usize).or_insert_with(|| vec![0]).extend(changes);
            }
        }
        for runs in starts.values_mut() {
            runs.sort_unstable();
            runs.dedup();
        }
        starts.retain(|_, runs| runs.len() > 1);
        let table = starts.len() <= 1;
        let sums = self.forest.sums() as usize;
        // Limits the number of leaves first, so that no memory is taken that would be refused below
        // (not even for one leaf, where a file names billions of sums).
        let room = self.limits.overlay_bytes.saturating_sub(self.bytes) / ((sums + 1) * VALUE_BYTES);
        let overlay = self.limits.overlay_leaves.min(room);
        let limit = if trees.len() > 1 && !table { overlay } else { room };
        let too_many_bytes = Refusal::LimitOverlay { bytes: true, limit: self.limits.overlay_bytes };
        let mut values: Vec<Int> = Vec::new();
        let joint = Joint::new(trees, self.forest.axes(), limit, |reached| {
            let first = values.len();
            values.resize(first + sums, Int::ZERO);
            for (sum, value) in reached.iter().copied().flatten() {
                let slot = &mut values[first + *sum as usize];
                *slot = slot.plus(value);
            }
        })
        .map_err(|refusal| if limit == room { too_many_bytes.clone() } else { refusal })?;
        let piece = self.pieces.len();
        let mut touches: Vec<(usize, Touch)> = starts
            .into_iter()
            .map(|(axis, starts)| (axis, Touch { piece, starts, masks: Vec::new() }))
            .collect();
        let (mut leaves, mut bytes) = (joint.leaves, 0);
        let (form, words) = if table {
            values = by_run(&joint, touches.first().map(|(_, touch)| touch), &values, sums);
            leaves = touches.first().map_or(1, |(_, touch)| touch.starts.len());
            (Form::Table, 2)
        } else if leaves > self.limits.masked_leaves {
            bytes += joint.bytes();
            (Form::Tree(joint), 0)
        } else {
            let words = leaves.div_ceil(64);
            fill_masks(&joint, &mut touches, words);
            (Form::Masks(words), words)
        };
        bytes += touches.iter().map(|(_, touch)| touch.masks.len() * 8).sum::<usize>();
        self.bytes += bytes + leaves * (sums + 1) * VALUE_BYTES;
        if self.bytes > self.limits.overlay_bytes {
            return Err(too_many_bytes);
        }
        for (axis, touch) in touches {
            self.touches[axis].push(touch);
        }
        self.pieces.push(Piece { leaves, values, place: self.words, form });
        self.words += words;
        Ok(())
    }
}

/// About how many bytes one number of a joint leaf takes.
const VALUE_BYTES: usize = 40;

/// The values of each run of the one axis that matters, taken from those of the leaves. If no axis
/// matters, a single run holds all cells.
fn by_run(joint: &Joint, touch: Option<&Touch>, values: &[Int], sums: usize) -> Vec<Int> {
    let Some(touch) = touch else { return values.to_vec() };
    let mut by_run = vec![0; touch.starts.len()];
    joint.for_each_leaf(|leaf, ranges| {
        for &(from, to) in ranges {
            let (first, end) = touch.runs(from, to);
            by_run[first..end].fill(leaf);
        }
    });
    by_run.into_iter().flat_map(|leaf| values[leaf * sums..][..sums].iter().cloned()).collect()
}

/// For each run of each axis, finds the leaves that hold it: all except those on the other side of
/// a split that sends the run's cells one way.
fn fill_masks(joint: &Joint, touches: &mut [(usize, Touch)], words: usize) {
    let place: BTreeMap<usize, usize> =
        touches.iter().enumerate().map(|(place, (axis, _))| (*axis, place)).collect();
    for (_, touch) in touches.iter_mut() {
        let all = (0..words).map(|word| low_bits(joint.leaves - word * 64));
        touch.masks = (0..touch.starts.len()).flat_map(|_| all.clone()).collect();
    }
    joint.for_each_side(|axis, others: &[Range], leaves| {
        let touch = &mut touches[place[&axis]].1;
        for &(from, to) in others {
            let (first, end) = touch.runs(from, to);
            for mask in touch.masks[first * words..end * words].chunks_mut(words) {
                let words = leaves.start / 64..leaves.end.div_ceil(64);
                for (word, bits) in words.clone().zip(&mut mask[words]) {
                    // The leaves of this word outside of the range: those before it and those after
                    // it.
                    let below = |leaf: usize| low_bits(leaf.saturating_sub(word * 64));
                    *bits &= below(leaves.start) | !below(leaves.end);
                }
            }
        }
    });
}

/// A word whose lowest `count` bits are set.
pub(crate) fn low_bits(count: usize) -> u64 {
    if count >= 64 { u64::MAX } else { (1 << count) - 1 }
}
