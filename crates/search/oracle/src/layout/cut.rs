//! A layout cut to a box of its cells: what is left of every piece there. Laying the trees out again
//! over the box alone would give the same leaves, and takes many times as long.
//!
//! A cut layout may have one more sum, of a number for each cell of each axis (a distance): one piece
//! for each axis, after all others.

use num_bigint::BigInt;
use num_traits::Zero;

use super::{Layout, Piece, PieceAxis};
use crate::joint::{Branching, Joint};

/// The leaves of a piece that hold some cell of a box, ascending.
type Alive = Vec<usize>;

impl Layout {
    /// The layout of the cells in this box alone, counted from its first cell on. `costs` are the
    /// numbers of the cells of each axis in the additional sum, which is the last one. `None` if too
    /// many leaves of a piece are left for masks.
    pub(crate) fn cut(&self, ranges: &[(u32, u32)], costs: Option<&[Vec<BigInt>]>) -> Option<Self> {
        let (before, sums) = (self.sums(), self.sums() + usize::from(costs.is_some()));
        let mut constants = self.constants.clone();
        constants.resize(sums, BigInt::zero());
        let mut pieces = Vec::with_capacity(self.pieces.len());
        for piece in &self.pieces {
            let most = super::MOST_MASKED_OF_SCORES;
            let (alive, axes) = match &piece.tree {
                Some(tree) => piece.cut_tree(tree, ranges, most)?,
                None => piece.cut_masks(ranges),
            };
            let values = |leaf: &usize| &piece.values[leaf * before..][..before];
            if axes.is_empty() {
                for (sum, value) in constants.iter_mut().zip(values(&alive[0])) {
                    *sum += value;
                }
                continue;
            }
            let mut own = Vec::with_capacity(alive.len() * sums);
            for leaf in &alive {
                own.extend_from_slice(values(leaf));
                own.resize(own.len() + sums - before, BigInt::zero());
            }
            pieces.push(Piece {
                trees: piece.trees.clone(),
                leaf_count: alive.len(),
                values: own,
                axes,
                tree: None,
            });
        }
        for (axis, costs) in costs.into_iter().flatten().enumerate() {
            match costs.split_first() {
                Some((first, rest)) if rest.iter().all(|cost| cost == first) => constants[before] += first,
                _ => pieces.push(along(axis, costs, sums)),
            }
        }
        let mut offsets = self.offsets.clone();
        if costs.is_some() {
            offsets.push(sums);
        }
        Some(Self {
            grid: self.grid.clone(),
            pieces,
            window: Some(ranges.to_vec()),
            missing_as: self.missing_as.clone(),
            offsets,
            scorer_sums: self.scorer_sums.clone(),
            constants,
            exponent: self.exponent,
        })
    }
}

/// The piece of the numbers of an axis's cells: a leaf for each run of equal numbers.
fn along(axis: usize, costs: &[BigInt], sums: usize) -> Piece {
    let changes = |cell: &usize| *cell == 0 || costs[*cell] != costs[cell - 1];
    let starts: Vec<usize> = (0..costs.len()).filter(changes).collect();
    let words = starts.len().div_ceil(64);
    let mut masks = vec![0u64; starts.len() * words];
    let mut values = vec![BigInt::zero(); starts.len() * sums];
    for (run, &start) in starts.iter().enumerate() {
        masks[run * words + run / 64] |= 1 << (run % 64);
        values[run * sums + sums - 1].clone_from(&costs[start]);
    }
    let leaf_count = starts.len();
    let starts = starts.into_iter().map(|start| start as u32).collect();
    let axes = vec![PieceAxis { axis, starts, masks, words }];
    Piece { trees: [Vec::new(), Vec::new()], leaf_count, values, axes, tree: None }
}

impl PieceAxis {
    /// The axis over the cells of a range, with masks of zeros for `leaves` leaves; `None` if it has
    /// one run there.
    fn cut(&self, (low, high): (u32, u32), leaves: usize) -> Option<Self> {
        let (from, to) = (self.run_of(low), self.run_of(high - 1) + 1);
        let words = leaves.div_ceil(64);
        let starts = self.starts[from..to].iter().map(|start| start.saturating_sub(low)).collect();
        let masks = vec![0; (to - from) * words];
        (to - from > 1).then_some(Self { axis: self.axis, starts, masks, words })
    }
}

impl Piece {
    fn cut_masks(&self, ranges: &[(u32, u32)]) -> (Alive, Vec<PieceAxis>) {
        let words = self.leaf_count.div_ceil(64);
        let mut whole = vec![u64::MAX; words];
        let spare = words * 64 - self.leaf_count;
        whole.last_mut().into_iter().for_each(|word| *word >>= spare);
        for own in &self.axes {
            let (low, high) = ranges[own.axis];
            let runs = own.run_of(low)..own.run_of(high - 1) + 1;
            for (word, slot) in whole.iter_mut().enumerate() {
                *slot &= runs.clone().fold(0, |any, run| any | own.masks[run * words + word]);
            }
        }
        let mut alive = Vec::new();
        for (word, mut bits) in whole.into_iter().enumerate() {
            while bits != 0 {
                alive.push(word * 64 + bits.trailing_zeros() as usize);
                bits &= bits - 1;
            }
        }
        // Of one axis each run counts as a leaf, as it does in certificates.
        if alive.len() == 1 && self.axes.len() > 1 {
            return (alive, Vec::new());
        }
        let cut = |own: &PieceAxis| {
            let mut axis = own.cut(ranges[own.axis], alive.len())?;
            let first = own.run_of(ranges[own.axis].0);
            for run in 0..axis.starts.len() {
                let mask = &own.masks[(first + run) * words..][..words];
                let slot = &mut axis.masks[run * axis.words..][..axis.words];
                for (at, leaf) in alive.iter().enumerate() {
                    slot[at / 64] |= (mask[leaf / 64] >> (leaf % 64) & 1) << (at % 64);
                }
            }
            Some(axis)
        };
        let axes = self.axes.iter().filter_map(cut).collect();
        (alive, axes)
    }

    /// The same for a piece that has its tree, with at most `most` leaves.
    fn cut_tree(&self, tree: &Joint, ranges: &[(u32, u32)], most: usize) -> Option<(Alive, Vec<PieceAxis>)> {
        let (alive, nodes) = meeting(tree, ranges, most)?;
        if alive.len() == 1 && self.axes.len() > 1 {
            return Some((alive, Vec::new()));
        }
        let cut = |own: &PieceAxis| own.cut(ranges[own.axis], alive.len());
        let mut axes: Vec<PieceAxis> = self.axes.iter().filter_map(cut).collect();
        for own in &mut axes {
            let last = alive.len() % 64;
            for (place, word) in own.masks.iter_mut().enumerate() {
                let ends = last > 0 && place % own.words == own.words - 1;
                *word = if ends { (1 << last) - 1 } else { u64::MAX };
            }
        }
        let below = tree.leaves_below();
        for node in nodes {
            let (axis, set) = tree.set(node);
            let place = |leaf: u32| alive.partition_point(|&own| own < leaf as usize);
            let leaves = place(below[node].0)..place(below[node].1);
            let Ok(place) = axes.binary_search_by_key(&axis, |own| own.axis) else { continue };
            let own = &mut axes[place];
            let (low, high) = ranges[axis];
            let ends = own.starts[1..].iter().copied().chain([high - low]).collect::<Vec<_>>();
            for (run, end) in ends.into_iter().enumerate() {
                let cells = (low + own.starts[run], low + end);
                if !set.iter().any(|range| range.0 < cells.1 && cells.0 < range.1) {
                    for leaf in leaves.clone() {
                        own.masks[run * own.words + leaf / 64] &= !(1 << (leaf % 64));
                    }
                }
            }
        }
        Some((alive, axes))
    }
}

/// The leaves that a box meets, ascending, and the nodes but the root that it meets; `None` if there are
/// more than `most` leaves.
fn meeting(tree: &Joint, ranges: &[(u32, u32)], most: usize) -> Option<(Alive, Vec<usize>)> {
    let (mut alive, mut nodes, mut open) = (Vec::new(), Vec::new(), vec![0]);
    while let Some(node) = open.pop() {
        if node > 0 {
            nodes.push(node);
        }
        match tree.part(node) {
            Branching::Leaf(leaf) => alive.push(leaf),
            Branching::Split { axis, children } => {
                open.extend(children.into_iter().rev().filter(|&child| tree.meets(child, ranges[axis])));
            }
        }
        if alive.len() > most {
            return None;
        }
    }
    Some((alive, nodes))
}
