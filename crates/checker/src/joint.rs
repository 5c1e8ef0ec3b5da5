//! Several trees as one: its leaves are the joint leaves, non-empty intersections of one leaf of each tree.
//!
//! The walk keeps a box, a set of cells for each axis, and goes through the trees in turn. A split that has cells
//! of the box on both sides becomes a split of the joint tree; one that has them all on one side is passed. With
//! each side of a split stand the cells of its axis that are left there. Those of a split further down are among
//! them, so a box of ranges meets a leaf if and only if on the way to it each side's cells meet the range of its
//! axis: a joint leaf is the product of the last such set of each axis.

use secateur_model::{CellSet, LeafId, Node, NodeId, Tree};

use crate::reason::Reason;

/// Cells `from..to`.
pub(crate) type Range = (u32, u32);

/// One of the trees: what the walk asks.
pub(crate) struct Side<'a> {
    pub(crate) tree: &'a Tree,
    /// For each node that is a split: the axis and the cells that go left.
    pub(crate) left: Vec<Option<(usize, CellSet)>>,
}

/// A joint tree. Each split stands behind the one that leads to it.
pub(crate) struct Joint {
    root: Child,
    splits: Vec<Split>,
    ranges: Vec<Range>,
    pub(crate) leaves: usize,
}

#[derive(Clone, Copy)]
pub(crate) enum Child {
    Leaf(u32),
    Split(u32),
}

#[derive(Clone, Copy)]
struct Split {
    axis: u32,
    sides: [Branch; 2],
}

/// One side of a split: where it leads, and with which cells of the split's axis.
#[derive(Clone, Copy)]
struct Branch {
    child: Child,
    cells: Cells,
}

/// A place in a list of ranges.
#[derive(Clone, Copy)]
struct Cells {
    first: u32,
    end: u32,
}

impl Joint {
    /// The joint tree over so many cells of each axis; `leaf` is told the leaf of each tree, joint leaf by joint
    /// leaf. Refuses more than `limit` joint leaves.
    pub(crate) fn new(
        trees: &[&Side<'_>],
        sizes: &[u32],
        limit: usize,
        mut leaf: impl FnMut(&[LeafId]),
    ) -> Result<Self, Reason> {
        let mut joint = Self { root: Child::Leaf(0), splits: Vec::new(), ranges: Vec::new(), leaves: 0 };
        let mut space: Vec<Cells> = Vec::with_capacity(sizes.len());
        for &size in sizes {
            space.push(joint.keep([(0, size)]));
        }
        let mut at = vec![NodeId(0); trees.len()];
        // What is still to do, the next last. Everything that changes is followed, further down, by what undoes it.
        let mut to_do = vec![Task::Visit { from: None, tree: 0 }];
        let mut reached = Vec::with_capacity(trees.len());
        for tree in 0..trees.len() {
            at[tree] = joint.passed(trees[tree], at[tree], &space);
        }
        while let Some(task) = to_do.pop() {
            let (from, tree) = match task {
                Task::Narrow { axis, cells } => {
                    space[axis] = cells;
                    continue;
                }
                Task::Go { tree, node } => {
                    at[tree] = node;
                    continue;
                }
                // A side is begun: trees whose next split now has one side only move on.
                Task::Begin { axis, tree } => {
                    for later in tree..trees.len() {
                        let looks_there =
                            trees[later].split(at[later]).is_some_and(|split| split.axis == axis);
                        if later == tree || looks_there {
                            let node = joint.passed(trees[later], at[later], &space);
                            if node != at[later] {
                                let before = std::mem::replace(&mut at[later], node);
                                // Undone when the side is done, which is behind the visit of it.
                                let visit = to_do.pop().expect("a side that is begun is visited");
                                to_do.push(Task::Go { tree: later, node: before });
                                to_do.push(visit);
                            }
                        }
                    }
                    continue;
                }
                Task::Visit { from, tree } => (from, tree),
            };
            let next = (tree..trees.len()).find(|&tree| trees[tree].split(at[tree]).is_some());
            let Some(tree) = next else {
                if joint.leaves >= limit {
                    return Err(Reason::LimitOverlay { what: "joint leaves", limit });
                }
                reached.clear();
                reached.extend(trees.iter().zip(&at).map(|(tree, &node)| tree.leaf(node)));
                leaf(&reached);
                joint.lead(from, Child::Leaf(joint.leaves as u32));
                joint.leaves += 1;
                continue;
            };
            let split = trees[tree].split(at[tree]).expect("found above");
            let axis = split.axis;
            let whole = space[axis];
            let cells = [true, false].map(|left| joint.part(whole, split.left, left));
            let index = joint.splits.len();
            joint.lead(from, Child::Split(index as u32));
            let sides = cells.map(|cells| Branch { child: Child::Leaf(0), cells });
            joint.splits.push(Split { axis: axis as u32, sides });
            to_do.push(Task::Narrow { axis, cells: whole });
            to_do.push(Task::Go { tree, node: at[tree] });
            for (side, node) in [(1, split.no), (0, split.yes)] {
                to_do.push(Task::Visit { from: Some((index, side)), tree });
                to_do.push(Task::Begin { axis, tree });
                to_do.push(Task::Go { tree, node });
                to_do.push(Task::Narrow { axis, cells: cells[side] });
            }
        }
        Ok(joint)
    }

    /// The node that a tree comes to by splits that have all cells of the box on one side.
    fn passed(&self, tree: &Side<'_>, mut at: NodeId, space: &[Cells]) -> NodeId {
        while let Some(split) = tree.split(at) {
            match self.one_side(space[split.axis], split.left) {
                Some(true) => at = split.yes,
                Some(false) => at = split.no,
                None => break,
            }
        }
        at
    }

    fn one_side(&self, cells: Cells, left: &CellSet) -> Option<bool> {
        let ranges = self.ranges_of(cells);
        let side = left.contains(secateur_model::CellId(ranges[0].0));
        let same = |&(from, to): &Range| {
            let changes = left.changes();
            // Within the range the side changes nowhere, and it begins on that side.
            changes.get(changes.partition_point(|&change| change <= from)).is_none_or(|&change| change >= to)
                && left.contains(secateur_model::CellId(from)) == side
        };
        ranges.iter().all(same).then_some(side)
    }

    /// The cells of a list that a split sends left, or right.
    fn part(&mut self, cells: Cells, left: &CellSet, wanted: bool) -> Cells {
        let own = cells.first as usize..cells.end as usize;
        let part = if wanted {
            common(&self.ranges[own], left.ranges())
        } else {
            common(&self.ranges[own], left.other_ranges())
        };
        self.keep(part)
    }

    fn keep(&mut self, ranges: impl IntoIterator<Item = Range>) -> Cells {
        let first = self.ranges.len() as u32;
        self.ranges.extend(ranges);
        Cells { first, end: self.ranges.len() as u32 }
    }

    fn ranges_of(&self, cells: Cells) -> &[Range] {
        &self.ranges[cells.first as usize..cells.end as usize]
    }

    fn lead(&mut self, from: Option<(usize, usize)>, child: Child) {
        match from {
            None => self.root = child,
            Some((split, side)) => self.splits[split].sides[side].child = child,
        }
    }

    /// The memory that it takes, about.
    pub(crate) fn bytes(&self) -> usize {
        self.splits.len() * size_of::<Split>() + self.ranges.len() * size_of::<Range>()
    }

    /// The largest value below each split, for these values of the leaves.
    pub(crate) fn tops(&self, values: &[i128]) -> Vec<i128> {
        let mut tops = vec![i128::MIN; self.splits.len()];
        for index in (0..self.splits.len()).rev() {
            let [yes, no] = self.splits[index].sides.map(|side| value(side.child, values, &tops));
            tops[index] = yes.max(no);
        }
        tops
    }

    /// The largest value of the leaves that a box meets: a walk that leaves out what is no better than what was
    /// found.
    pub(crate) fn top(&self, space: &[Range], values: &[i128], tops: &[i128]) -> i128 {
        let mut best = i128::MIN;
        let mut open = vec![self.root];
        while let Some(child) = open.pop() {
            let most = value(child, values, tops);
            match child {
                _ if most <= best => {}
                Child::Leaf(_) => best = most,
                Child::Split(index) => {
                    let mut sides = self.met(index, space);
                    // The better side is the next.
                    sides.sort_by_key(|side| side.map(|child| value(child, values, tops)));
                    open.extend(sides.into_iter().flatten());
                }
            }
        }
        best
    }

    /// The leaf of a box of one cell; of a larger box, one that it meets.
    pub(crate) fn leaf_of(&self, space: &[Range]) -> usize {
        let mut at = self.root;
        loop {
            match at {
                Child::Leaf(leaf) => return leaf as usize,
                Child::Split(index) => {
                    let [yes, no] = self.met(index, space);
                    at = yes.or(no).expect("the sides of a split hold all cells that lead to it");
                }
            }
        }
    }

    /// The leaf that a box lies in; `None` where it meets several.
    pub(crate) fn only_leaf(&self, space: &[Range]) -> Option<usize> {
        let mut at = self.root;
        loop {
            match at {
                Child::Leaf(leaf) => return Some(leaf as usize),
                Child::Split(index) => match self.met(index, space) {
                    [Some(_), Some(_)] => return None,
                    [yes, no] => at = yes.or(no)?,
                },
            }
        }
    }

    /// The sides of a split that a box meets.
    fn met(&self, split: u32, space: &[Range]) -> [Option<Child>; 2] {
        let split = &self.splits[split as usize];
        let (low, high) = space[split.axis as usize];
        split.sides.map(|side| {
            let ranges = self.ranges_of(side.cells);
            let next = ranges.get(ranges.partition_point(|&(_, to)| to <= low));
            next.is_some_and(|&(from, _)| from < high).then_some(side.child)
        })
    }

    /// Calls `each` with every leaf but a single one, and the cells of the last split on the way to it.
    pub(crate) fn for_each_leaf(&self, mut each: impl FnMut(usize, &[Range])) {
        for side in self.splits.iter().flat_map(|split| &split.sides) {
            if let Child::Leaf(leaf) = side.child {
                each(leaf as usize, self.ranges_of(side.cells));
            }
        }
    }

    /// Calls `each` with every side of every split: the axis, the cells that lead to the other side, and the
    /// leaves of this one, which stand one behind the other.
    pub(crate) fn for_each_side(&self, mut each: impl FnMut(usize, &[Range], std::ops::Range<usize>)) {
        let mut below = vec![(0, 0); self.splits.len()];
        let leaves = |child: Child, below: &[(usize, usize)]| match child {
            Child::Leaf(leaf) => (leaf as usize, leaf as usize + 1),
            Child::Split(index) => below[index as usize],
        };
        for index in (0..self.splits.len()).rev() {
            let Split { axis, sides } = self.splits[index];
            let [yes, no] = sides.map(|side| leaves(side.child, &below));
            each(axis as usize, self.ranges_of(sides[1].cells), yes.0..yes.1);
            each(axis as usize, self.ranges_of(sides[0].cells), no.0..no.1);
            below[index] = (yes.0, no.1);
        }
    }
}

enum Task {
    /// Goes on below a side of a split, or at the root; trees before this one have come to leaves.
    Visit {
        from: Option<(usize, usize)>,
        tree: usize,
    },
    Begin {
        axis: usize,
        tree: usize,
    },
    Narrow {
        axis: usize,
        cells: Cells,
    },
    Go {
        tree: usize,
        node: NodeId,
    },
}

/// A split of one tree.
struct OwnSplit<'a> {
    axis: usize,
    left: &'a CellSet,
    yes: NodeId,
    no: NodeId,
}

impl Side<'_> {
    /// The split at a node; none at a leaf.
    fn split(&self, node: NodeId) -> Option<OwnSplit<'_>> {
        let Node::Split { left: yes, right: no, .. } = self.tree.node(node) else { return None };
        let (axis, left) = self.left[node.index()].as_ref().expect("a split has its cells");
        Some(OwnSplit { axis: *axis, left, yes, no })
    }

    fn leaf(&self, node: NodeId) -> LeafId {
        let Node::Leaf(leaf) = self.tree.node(node) else {
            unreachable!("asked for where there is no split")
        };
        leaf
    }
}

fn value(child: Child, values: &[i128], tops: &[i128]) -> i128 {
    match child {
        Child::Leaf(leaf) => values[leaf as usize],
        Child::Split(index) => tops[index as usize],
    }
}

/// The cells that two ascending lists of ranges have in common, in the same way.
pub(crate) fn common(ours: &[Range], theirs: impl Iterator<Item = Range>) -> Vec<Range> {
    let mut common = Vec::new();
    let mut first = 0;
    for (from, to) in theirs {
        first += ours[first..].partition_point(|range| range.1 <= from);
        let met = ours[first..].iter().take_while(|range| range.0 < to);
        common.extend(met.map(|range| (range.0.max(from), range.1.min(to))));
    }
    common
}
