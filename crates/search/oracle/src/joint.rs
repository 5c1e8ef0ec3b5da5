//! Several trees laid over each other, as one tree.
//!
//! A leaf of the joint tree is a non-empty intersection of leaves, one of each tree. The walk
//! splits a box of cells by the first tree, each leaf's part of it by the second, and so on. A tree
//! whose split sends the whole box to one side is followed at once, so two trees with the same
//! splits are walked side by side, in as many steps as either has nodes.
//!
//! Along the path to a node, each axis is narrowed to a set of cells. Each node keeps the set of
//! the axis that its parent splits, as ranges of cells. A box meets a leaf exactly if it meets the
//! set of every node on the path, because later sets of an axis are part of earlier ones.

use num_bigint::BigInt;
use secateur_model::{CellId, CellSet, LeafId, Node, NodeId, Tree};

use crate::stop::{SearchBudget, StopReason};

/// Nodes between two checks of the clock.
const BATCH: usize = 1024;

/// A tree over cells. Nodes are in depth-first order: each after its parent, and the left child
/// first.
#[derive(Clone, Debug)]
pub(crate) struct Joint {
    nodes: Vec<JointNode>,
    /// The sets of all nodes, as ranges of cells.
    ranges: Vec<(u32, u32)>,
    leaves: usize,
}

#[derive(Clone, Copy, Debug)]
struct JointNode {
    /// The axis that its parent splits; 0 for the root.
    axis: u32,
    /// Where the cells of that axis that lead to this node are stored in `ranges`.
    set: (u32, u32),
    /// For a split: the index of the second child (the first child is the next node). For a leaf:
    /// its number.
    target: u32,
    leaf: bool,
}

/// A node of a [`Joint`], as its users see it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Branching {
    /// The axis, and the two children.
    Split { axis: usize, children: [usize; 2] },
    /// The number of the leaf, counted in the order of the nodes.
    Leaf(usize),
}

/// One tree, as the walk needs it.
pub(crate) trait Overlaid {
    fn tree(&self) -> &Tree;

    /// The axis of a split, and the cells that go left.
    fn side(&self, node: NodeId) -> (usize, &CellSet);

    /// Adds the values of a leaf to the sums, or subtracts them.
    fn add(&self, leaf: LeafId, sums: &mut [BigInt], sign: Sign);
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sign {
    Plus,
    Minus,
}

/// A joint tree and the values of its leaves; `None` if it would have too many leaves.
pub(crate) type Laid = Option<(Joint, Vec<BigInt>)>;

impl Joint {
    /// Lays trees over each other. `sizes` are the numbers of cells of the axes; `limit` is the
    /// largest number of leaves.
    pub(crate) fn new<L: Overlaid>(
        layers: &[&L],
        sizes: &[u32],
        sums: usize,
        limit: usize,
        budget: &SearchBudget,
    ) -> Result<Laid, StopReason> {
        Walk::new(layers, sizes, sums).run(limit, budget)
    }

    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(crate) fn leaf_count(&self) -> usize {
        self.leaves
    }

    pub(crate) fn part(&self, node: usize) -> Branching {
        let own = &self.nodes[node];
        if own.leaf {
            return Branching::Leaf(own.target as usize);
        }
        let children = [node + 1, own.target as usize];
        Branching::Split { axis: self.nodes[children[0]].axis as usize, children }
    }

    /// The axis that a node's parent splits, and the cells of that axis that lead to the node, as
    /// ascending ranges.
    pub(crate) fn set(&self, node: usize) -> (usize, &[(u32, u32)]) {
        let own = &self.nodes[node];
        (own.axis as usize, &self.ranges[own.set.0 as usize..own.set.1 as usize])
    }

    /// Does a range of cells, of the axis that a node's parent splits, meet the node?
    pub(crate) fn meets(&self, node: usize, (low, high): (u32, u32)) -> bool {
        let (_, set) = self.set(node);
        // Find the first range that ends after `low`.
        let first = if set.len() <= 2 {
            set.iter().find(|range| range.1 > low)
        } else {
            set.get(set.partition_point(|range| range.1 <= low))
        };
        first.is_some_and(|range| range.0 < high)
    }

    /// The node of the leaf that holds these cells.
    pub(crate) fn leaf_node(&self, cells: &[CellId]) -> usize {
        let mut at = 0;
        while let Branching::Split { axis, children: [first, second] } = self.part(at) {
            let cell = cells[axis].0;
            at = if self.meets(first, (cell, cell + 1)) { first } else { second };
        }
        at
    }

    /// For each node, the range of leaf numbers below it.
    pub(crate) fn leaves_below(&self) -> Vec<(u32, u32)> {
        let mut below = vec![(0, 0); self.nodes.len()];
        for node in (0..self.nodes.len()).rev() {
            below[node] = match self.part(node) {
                Branching::Leaf(leaf) => (leaf as u32, leaf as u32 + 1),
                Branching::Split { children: [first, second], .. } => (below[first].0, below[second].1),
            };
        }
        below
    }
}

/// A split on the path to the current node.
struct Frame {
    node: usize,
    layer: usize,
    axis: usize,
    /// Where the set of the axis before the split is stored.
    before: (u32, u32),
    /// The second side, its set and its child; `None` once the walk has entered it.
    second: Option<((u32, u32), NodeId)>,
    /// The length of the trail before the split.
    mark: usize,
}

struct Walk<'a, L> {
    layers: &'a [&'a L],
    joint: Joint,
    /// For each axis, where its present set is stored in `ranges`.
    sets: Vec<(u32, u32)>,
    /// The node that each tree has reached.
    at: Vec<NodeId>,
    /// The nodes that trees have left, so that the steps can be undone.
    trail: Vec<(usize, NodeId)>,
    /// The sums of the leaves that trees have reached.
    sums: Vec<BigInt>,
    values: Vec<BigInt>,
    frames: Vec<Frame>,
}

impl<'a, L: Overlaid> Walk<'a, L> {
    fn new(layers: &'a [&'a L], sizes: &[u32], sums: usize) -> Self {
        let whole = |(axis, _): (usize, &u32)| (axis as u32, axis as u32 + 1);
        let ranges = sizes.iter().map(|&size| (0, size)).collect();
        Self {
            layers,
            joint: Joint { nodes: Vec::new(), ranges, leaves: 0 },
            sets: sizes.iter().enumerate().map(whole).collect(),
            at: vec![NodeId(0); layers.len()],
            trail: Vec::new(),
            sums: vec![BigInt::ZERO; sums],
            values: Vec::new(),
            frames: Vec::new(),
        }
    }

    fn run(mut self, limit: usize, budget: &SearchBudget) -> Result<Laid, StopReason> {
        for layer in 0..self.layers.len() {
            self.arrive(layer);
            self.follow(layer);
        }
        // The first tree that may not be at a leaf, and the axis that leads to the next node.
        let (mut layer, mut axis) = (0, 0);
        loop {
            if self.joint.nodes.len().is_multiple_of(BATCH)
                && let Some(reason) = budget.over()
            {
                return Err(reason);
            }
            let node = self.joint.nodes.len();
            let set = self.sets.get(axis).copied().unwrap_or_default();
            while layer < self.at.len() && self.is_leaf(layer) {
                layer += 1;
            }
            let leaf = layer == self.at.len();
            self.joint.nodes.push(JointNode {
                axis: axis as u32,
                set,
                target: self.joint.leaves as u32,
                leaf,
            });
            if leaf {
                self.joint.leaves += 1;
                if self.joint.leaves > limit {
                    return Ok(None);
                }
                self.values.extend_from_slice(&self.sums);
                match self.next_side() {
                    Some(next) => (layer, axis) = next,
                    None => break,
                }
            } else {
                axis = self.split(node, layer);
            }
        }
        Ok(Some((self.joint, self.values)))
    }

    fn is_leaf(&self, layer: usize) -> bool {
        matches!(self.layers[layer].tree().node(self.at[layer]), Node::Leaf(_))
    }

    /// Splits the box at a tree's node and enters the left side; returns the axis.
    fn split(&mut self, node: usize, layer: usize) -> usize {
        let at = self.at[layer];
        let Node::Split { left, right, .. } = self.layers[layer].tree().node(at) else {
            unreachable!("a tree that has not come to a leaf stands at a split")
        };
        let (axis, set) = self.layers[layer].side(at);
        let before = self.sets[axis];
        let [yes, no] = [true, false].map(|wanted| self.joint.part_of(before, set, wanted));
        let mark = self.trail.len();
        self.frames.push(Frame { node, layer, axis, before, second: Some((no, right)), mark });
        self.narrow(layer, axis, yes, left);
        axis
    }

    /// Enters the next second side that the walk has not entered; returns its first tree and its
    /// axis.
    fn next_side(&mut self) -> Option<(usize, usize)> {
        loop {
            let frame = self.frames.last_mut()?;
            let (mark, layer, axis, node) = (frame.mark, frame.layer, frame.axis, frame.node);
            let second = frame.second.take();
            if second.is_none() {
                let before = frame.before;
                self.frames.pop();
                self.sets[axis] = before;
            }
            while self.trail.len() > mark {
                let (layer, old) = self.trail.pop().expect("longer than the mark");
                self.leave(layer);
                self.at[layer] = old;
            }
            if let Some((set, right)) = second {
                self.joint.nodes[node].target = self.joint.nodes.len() as u32;
                self.narrow(layer, axis, set, right);
                return Some((layer, axis));
            }
        }
    }

    /// Narrows an axis because one tree enters a child, and follows trees for which only one side
    /// is left.
    fn narrow(&mut self, layer: usize, axis: usize, set: (u32, u32), child: NodeId) {
        self.sets[axis] = set;
        self.go(layer, child);
        self.follow(layer);
        // Trees before this one are at a leaf.
        for other in layer + 1..self.layers.len() {
            if let Node::Split { .. } = self.layers[other].tree().node(self.at[other])
                && self.layers[other].side(self.at[other]).0 == axis
            {
                self.follow(other);
            }
        }
    }

    /// Follows a tree as long as its split sends the whole box to one side.
    fn follow(&mut self, layer: usize) {
        while let Node::Split { left, right, .. } = self.layers[layer].tree().node(self.at[layer]) {
            let (axis, set) = self.layers[layer].side(self.at[layer]);
            match self.joint.only_side(self.sets[axis], set) {
                Some(true) => self.go(layer, left),
                Some(false) => self.go(layer, right),
                None => return,
            }
        }
    }

    fn go(&mut self, layer: usize, child: NodeId) {
        self.trail.push((layer, self.at[layer]));
        self.at[layer] = child;
        self.arrive(layer);
    }

    /// Adds the values of the leaf at which a tree is, if it is at one.
    fn arrive(&mut self, layer: usize) {
        if let Node::Leaf(leaf) = self.layers[layer].tree().node(self.at[layer]) {
            self.layers[layer].add(leaf, &mut self.sums, Sign::Plus);
        }
    }

    fn leave(&mut self, layer: usize) {
        if let Node::Leaf(leaf) = self.layers[layer].tree().node(self.at[layer]) {
            self.layers[layer].add(leaf, &mut self.sums, Sign::Minus);
        }
    }
}

impl Joint {
    /// Appends the part of a set of cells that is in `set` (outside of it if `wanted` is false) to
    /// the ranges; returns where it is stored.
    fn part_of(&mut self, from: (u32, u32), set: &CellSet, wanted: bool) -> (u32, u32) {
        let start = self.ranges.len() as u32;
        let changes = set.changes();
        for index in from.0..from.1 {
            let (mut low, high) = self.ranges[index as usize];
            let mut next = changes.partition_point(|&change| change <= low);
            let mut inside = set.contains(CellId(low));
            while low < high {
                let end = changes.get(next).map_or(high, |&change| change.min(high));
                if inside == wanted {
                    self.ranges.push((low, end));
                }
                (low, inside, next) = (end, !inside, next + 1);
            }
        }
        (start, self.ranges.len() as u32)
    }

    /// The side of a split that holds all of a set of cells: true for the left one, `None` if
    /// neither does.
    fn only_side(&self, of: (u32, u32), set: &CellSet) -> Option<bool> {
        let changes = set.changes();
        let mut only = None;
        for &(low, high) in &self.ranges[of.0 as usize..of.1 as usize] {
            let next = changes.partition_point(|&change| change <= low);
            if changes.get(next).is_some_and(|&change| change < high) {
                return None;
            }
            let side = set.contains(CellId(low));
            if only.is_some_and(|only| only != side) {
                return None;
            }
            only = Some(side);
        }
        only
    }
}
