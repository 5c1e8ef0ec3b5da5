//! Several trees as one: its leaves are the joint leaves, the non-empty intersections of one leaf
//! of each tree.
//!
//! The walk keeps a set of cells for each axis and goes through the trees in turn. A split that has
//! cells of this space on both sides becomes a split of the joint tree; a split that has all of
//! them on one side is skipped. Each side of a split keeps the cells of its axis that are left
//! there. The cells of a split further down are among them, so a box of ranges meets a leaf if and
//! only if, for every split on the way to the leaf, the cells of the side taken meet the box's
//! range on its axis: a joint leaf is the product of the last such set of each axis.

use crate::problem::{Node, Range, Tree, common, others};
use crate::refusal::Refusal;
use crate::wide::Int;

/// A joint tree. Every split stands before the splits below it.
pub(crate) struct Joint {
    root: Child,
    splits: Vec<Split>,
    ranges: Vec<Range>,
    pub(crate) leaves: usize,
}

#[derive(Clone, Copy)]
enum Child {
    Leaf(u32),
    Split(u32),
}

#[derive(Clone, Copy)]
struct Split {
    axis: u32,
    sides: [Branch; 2],
}

/// One side of a split: where it leads, and the cells of the split's axis that lead there.
#[derive(Clone, Copy)]
struct Branch {
    child: Child,
    cells: Cells,
}

/// A slice of the list of ranges.
#[derive(Clone, Copy)]
struct Cells {
    first: u32,
    end: u32,
}

/// What a leaf of a tree adds to each sum that it names.
pub(crate) type Added = [(u32, Int)];

enum Task {
    /// Continue below one side of a split, or at the root. The trees before this one are at leaves.
    Visit {
        from: Option<(usize, usize)>,
        tree: usize,
    },
    /// A side has begun: trees whose next split has only one side in this space move past it.
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
        node: u32,
    },
}

impl Joint {
    /// The joint tree of `trees` over axes of these sizes. `leaf` receives what each tree adds, one
    /// joint leaf after the other. More than `limit` joint leaves are refused.
    pub(crate) fn new<'t>(
        trees: &[&'t Tree],
        sizes: &[u32],
        limit: usize,
        mut leaf: impl FnMut(&[&'t Added]),
    ) -> Result<Self, Refusal> {
        let mut joint = Self { root: Child::Leaf(0), splits: Vec::new(), ranges: Vec::new(), leaves: 0 };
        let mut space: Vec<Cells> = sizes.iter().map(|&size| joint.keep([(0, size)])).collect();
        let mut at: Vec<u32> = trees.iter().map(|tree| joint.passed(tree, 0, &space)).collect();
        // The tasks that are still to do, the next one last. Every change is followed by the task
        // that undoes it.
        let mut to_do = vec![Task::Visit { from: None, tree: 0 }];
        let mut reached = Vec::with_capacity(trees.len());
        while let Some(task) = to_do.pop() {
            match task {
                Task::Narrow { axis, cells } => space[axis] = cells,
                Task::Go { tree, node } => at[tree] = node,
                Task::Begin { axis, tree } => {
                    for later in tree..trees.len() {
                        let looks_there = split(trees[later], at[later]).is_some_and(|own| own.axis == axis);
                        let node = at[later];
                        if later == tree || looks_there {
                            at[later] = joint.passed(trees[later], node, &space);
                        }
                        if at[later] != node {
                            // This is undone when the side is complete, which is after its visit.
                            let below = to_do.len() - 1;
                            to_do.insert(below, Task::Go { tree: later, node });
                        }
                    }
                }
                Task::Visit { from, tree } => {
                    let mut rest = tree..trees.len();
                    let Some((tree, own)) = rest.find_map(|tree| Some((tree, split(trees[tree], at[tree])?)))
                    else {
                        if joint.leaves >= limit {
                            return Err(Refusal::LimitOverlay { bytes: false, limit });
                        }
                        reached.clear();
                        reached.extend(trees.iter().zip(&at).map(|(tree, &node)| added(tree, node)));
                        leaf(&reached);
                        joint.lead(from, Child::Leaf(joint.leaves as u32));
                        joint.leaves += 1;
                        continue;
                    };
                    let axis = own.axis;
                    let whole = space[axis];
                    let yes = common(joint.ranges_of(whole), own.cells.iter().copied());
                    let no = common(joint.ranges_of(whole), others(own.cells, sizes[axis]));
                    let cells = [joint.keep(yes), joint.keep(no)];
                    let index = joint.splits.len();
                    joint.lead(from, Child::Split(index as u32));
                    let sides = cells.map(|cells| Branch { child: Child::Leaf(0), cells });
                    joint.splits.push(Split { axis: axis as u32, sides });
                    to_do.push(Task::Narrow { axis, cells: whole });
                    to_do.push(Task::Go { tree, node: at[tree] });
                    for (side, node) in [(1, own.no), (0, own.yes)] {
                        to_do.push(Task::Visit { from: Some((index, side)), tree });
                        to_do.push(Task::Begin { axis, tree });
                        to_do.push(Task::Go { tree, node });
                        to_do.push(Task::Narrow { axis, cells: cells[side] });
                    }
                }
            }
        }
        Ok(joint)
    }

    /// The node that a tree reaches by splits that have all cells of the space on one side.
    fn passed(&self, tree: &Tree, mut at: u32, space: &[Cells]) -> u32 {
        while let Some(own) = split(tree, at) {
            match one_side(self.ranges_of(space[own.axis]), own.cells) {
                Some(true) => at = own.yes,
                Some(false) => at = own.no,
                None => break,
            }
        }
        at
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

    /// About how many bytes the joint tree takes.
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

    /// The largest value of the leaves that a box meets. The walk leaves out every subtree whose
    /// largest value is no larger than the one found so far.
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
                    // The better side is visited next.
                    sides.sort_by_key(|side| side.map(|child| value(child, values, tops)));
                    open.extend(sides.into_iter().flatten());
                }
            }
        }
        best
    }

    /// A leaf that a box meets, and whether it is the only one.
    pub(crate) fn leaf_of(&self, space: &[Range]) -> (usize, bool) {
        let (mut at, mut only) = (self.root, true);
        loop {
            match at {
                Child::Leaf(leaf) => return (leaf as usize, only),
                Child::Split(index) => {
                    let [yes, no] = self.met(index, space);
                    only &= yes.is_none() || no.is_none();
                    at = yes.or(no).expect("the sides of a split hold all cells that lead to it");
                }
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

    /// Calls `each` with every leaf, unless the tree is a single leaf, and the cells of the last
    /// split on the way to it.
    pub(crate) fn for_each_leaf(&self, mut each: impl FnMut(usize, &[Range])) {
        for side in self.splits.iter().flat_map(|split| &split.sides) {
            if let Child::Leaf(leaf) = side.child {
                each(leaf as usize, self.ranges_of(side.cells));
            }
        }
    }

    /// Calls `each` with every side of every split: the axis, the cells that lead to the other
    /// side, and the leaves of this side, whose numbers follow each other.
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

/// A split of one tree.
struct OwnSplit<'t> {
    axis: usize,
    cells: &'t [Range],
    yes: u32,
    no: u32,
}

/// The split at a node; none at a leaf.
fn split(tree: &Tree, node: u32) -> Option<OwnSplit<'_>> {
    match &tree.nodes[node as usize] {
        Node::Split { axis, cells, yes, no } => {
            Some(OwnSplit { axis: *axis as usize, cells, yes: *yes, no: *no })
        }
        Node::Leaf(_) => None,
    }
}

fn added(tree: &Tree, node: u32) -> &Added {
    match &tree.nodes[node as usize] {
        Node::Leaf(values) => values,
        Node::Split { .. } => unreachable!("asked for where there is no split"),
    }
}

/// The side to which a split sends all of these cells; `None` if it sends some to each.
fn one_side(space: &[Range], cells: &[Range]) -> Option<bool> {
    let mut sides = space.iter().map(|&(from, to)| {
        let next = cells.get(cells.partition_point(|range| range.1 <= from));
        match next {
            Some(&(low, high)) if low <= from => (high >= to).then_some(true),
            Some(&(low, _)) => (low >= to).then_some(false),
            None => Some(false),
        }
    });
    let first = sides.next()??;
    sides.all(|side| side == Some(first)).then_some(first)
}

fn value(child: Child, values: &[i128], tops: &[i128]) -> i128 {
    match child {
        Child::Leaf(leaf) => values[leaf as usize],
        Child::Split(index) => tops[index as usize],
    }
}
