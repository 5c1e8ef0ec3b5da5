//! A piece that is too large for masks, as a lens uses it: the piece's tree, with the largest value
//! below each node.
//!
//! The largest value in a box is found by a walk that visits the better side first and skips nodes
//! that cannot beat the best leaf found. Nothing is stored for each box except its ranges.

use std::sync::Arc;

use secateur_model::CellId;

use crate::joint::{Branching, Joint};

/// A large piece as one lens uses it.
#[derive(Clone, Debug)]
pub(crate) struct LensTree {
    joint: Arc<Joint>,
    /// The largest value below each node.
    tops: Vec<i64>,
}

impl LensTree {
    /// The tree with these leaf values.
    pub(crate) fn new(joint: &Arc<Joint>, values: &[i64]) -> Self {
        let mut tops = vec![0; joint.len()];
        for node in (0..joint.len()).rev() {
            tops[node] = match joint.part(node) {
                Branching::Leaf(leaf) => values[leaf],
                Branching::Split { children: [first, second], .. } => tops[first].max(tops[second]),
            };
        }
        Self { joint: Arc::clone(joint), tops }
    }

    /// The largest value of all leaves.
    pub(crate) fn whole(&self) -> i64 {
        self.tops[0]
    }

    /// The value at one cell.
    pub(crate) fn at(&self, cells: &[CellId]) -> i64 {
        self.tops[self.joint.leaf_node(cells)]
    }

    /// The largest value in a box. It is known to be at most `most`, so the walk stops when it
    /// finds that value.
    pub(crate) fn top(&self, ranges: &[(u32, u32)], most: i64) -> i64 {
        let mut best = i64::MIN;
        let mut open = vec![0];
        while let Some(node) = open.pop() {
            if self.tops[node] <= best {
                continue;
            }
            match self.joint.part(node) {
                Branching::Leaf(_) => {
                    best = self.tops[node];
                    if best == most {
                        break;
                    }
                }
                Branching::Split { axis, children: [first, second] } => {
                    let better = if self.tops[second] > self.tops[first] { second } else { first };
                    // The better side is pushed last, so it is visited first.
                    for child in [first + second - better, better] {
                        if self.joint.meets(child, ranges[axis]) {
                            open.push(child);
                        }
                    }
                }
            }
        }
        best
    }

    /// Visits every leaf that a box meets, with the cells of one axis that lead to it (the box's
    /// cells of the axis if the tree does not split the axis on the path).
    fn visit(&self, ranges: &[(u32, u32)], axis: usize, mut leaf: impl FnMut(i64, &[(u32, u32)])) {
        let whole = [ranges[axis]];
        // A node, and the last node on its path that has a set of the axis.
        let mut open: Vec<(usize, Option<usize>)> = vec![(0, None)];
        while let Some((node, last)) = open.pop() {
            match self.joint.part(node) {
                Branching::Leaf(_) => {
                    let set = last.map_or(&whole[..], |last| self.joint.set(last).1);
                    leaf(self.tops[node], set);
                }
                Branching::Split { axis: own, children } => {
                    for child in children {
                        if self.joint.meets(child, ranges[own]) {
                            open.push((child, if own == axis { Some(child) } else { last }));
                        }
                    }
                }
            }
        }
    }

    /// For each cell of `low..high`, the largest value if an axis is narrowed to the cells up to
    /// this one, and to the cells from this one on. The slices begin with `low`. The box has
    /// `low..high` on that axis.
    pub(crate) fn narrowed(&self, ranges: &[(u32, u32)], axis: usize, up_to: &mut [i64], from: &mut [i64]) {
        let (low, high) = ranges[axis];
        up_to.fill(i64::MIN);
        from.fill(i64::MIN);
        self.visit(ranges, axis, |value, set| {
            // The first and the last cell of the box that lead to the leaf.
            let first = set[set.partition_point(|range| range.1 <= low)].0.max(low);
            let last = set[set.partition_point(|range| range.0 < high) - 1].1.min(high) - 1;
            let slot = &mut up_to[(first - low) as usize];
            *slot = value.max(*slot);
            let slot = &mut from[(last - low) as usize];
            *slot = value.max(*slot);
        });
        for cell in 1..up_to.len() {
            up_to[cell] = up_to[cell].max(up_to[cell - 1]);
        }
        for cell in (1..from.len()).rev() {
            from[cell - 1] = from[cell - 1].max(from[cell]);
        }
    }

    /// For each cell of `low..high`, the largest value if the axis is narrowed to that cell alone.
    pub(crate) fn of_cells(&self, ranges: &[(u32, u32)], axis: usize, tops: &mut [i64]) {
        let (low, high) = ranges[axis];
        tops.fill(i64::MIN);
        self.visit(ranges, axis, |value, set| {
            for &(from, to) in set {
                for cell in from.max(low)..to.min(high) {
                    let slot = &mut tops[(cell - low) as usize];
                    *slot = value.max(*slot);
                }
            }
        });
    }

    /// Adds, for each cell of an axis, the value there while the other axes stay at `cells`; stored
    /// as differences from the cell before.
    pub(crate) fn along(&self, cells: &[CellId], axis: usize, differences: &mut [i64]) {
        let whole = [(0, differences.len() as u32)];
        let mut open: Vec<(usize, Option<usize>)> = vec![(0, None)];
        while let Some((node, last)) = open.pop() {
            match self.joint.part(node) {
                Branching::Leaf(_) => {
                    let set = last.map_or(&whole[..], |last| self.joint.set(last).1);
                    for &(from, to) in set {
                        differences[from as usize] += self.tops[node];
                        if let Some(slot) = differences.get_mut(to as usize) {
                            *slot -= self.tops[node];
                        }
                    }
                }
                Branching::Split { axis: own, children } if own == axis => {
                    open.extend(children.map(|child| (child, Some(child))));
                }
                Branching::Split { axis: own, children: [first, second] } => {
                    let cell = cells[own].0;
                    let child = if self.joint.meets(first, (cell, cell + 1)) { first } else { second };
                    open.push((child, last));
                }
            }
        }
    }
}
