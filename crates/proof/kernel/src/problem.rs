//! The kernel's problems: trees over cells, and rows that a cell would have to satisfy.

use crate::wide::Int;

/// Cells `from..to` of one axis; `to` is not one of them.
pub type Range = (u32, u32);

/// Trees over a grid of cells.
#[derive(Clone, Debug)]
pub struct Forest {
    axes: Vec<u32>,
    sums: u32,
    trees: Vec<Tree>,
}

/// A tree over cells. Node 0 is its root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    /// Its nodes; every split stands before the nodes that it leads to.
    pub nodes: Vec<Node>,
}

/// A node of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    /// Sends each cell of an axis one of two ways.
    Split {
        /// The axis.
        axis: u32,
        /// The cells that go to `yes`: ascending ranges, none empty and no two touching.
        cells: Vec<Range>,
        /// The node for these cells.
        yes: u32,
        /// The node for all other cells.
        no: u32,
    },
    /// Adds numbers to sums; a sum that is not named gets nothing.
    Leaf(Vec<(u32, Int)>),
}

/// Demands that a combination of sums is at least its bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The sums, each with its factor.
    pub terms: Vec<(u32, i64)>,
    /// What the combination must reach.
    pub bound: Int,
}

/// Why something is not a problem: where, and what is wrong there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// The tree, if the mistake is in a tree.
    pub tree: Option<usize>,
    /// What is wrong.
    pub what: &'static str,
}

impl Forest {
    /// Trees over a grid with these numbers of cells, which add to this many sums.
    pub fn new(axes: Vec<u32>, sums: u32, trees: Vec<Tree>) -> Result<Self, Malformed> {
        if axes.contains(&0) {
            return Err(Malformed { tree: None, what: "an axis has no cells" });
        }
        let forest = Self { axes, sums, trees };
        for (index, tree) in forest.trees.iter().enumerate() {
            forest.look_at(tree).map_err(|what| Malformed { tree: Some(index), what })?;
        }
        Ok(forest)
    }

    fn look_at(&self, tree: &Tree) -> Result<(), &'static str> {
        let mut parents = vec![false; tree.nodes.len()];
        *parents.first_mut().ok_or("a tree has no nodes")? = true;
        for (at, node) in tree.nodes.iter().enumerate() {
            match node {
                Node::Split { axis, cells, yes, no } => {
                    let size = *self.axes.get(*axis as usize).ok_or("a split names no axis")?;
                    let ascend = cells.windows(2).all(|pair| pair[0].1 < pair[1].0);
                    let inside = cells.last().is_none_or(|range| range.1 <= size);
                    if !ascend || !inside || cells.iter().any(|(from, to)| from >= to) {
                        return Err("the cells of a split are no ascending ranges of its axis");
                    }
                    for child in [*yes as usize, *no as usize] {
                        let known = parents.get_mut(child).filter(|_| child > at);
                        let known = known.ok_or("a split leads to no node after it")?;
                        if std::mem::replace(known, true) {
                            return Err("two splits lead to one node");
                        }
                    }
                }
                Node::Leaf(values) if values.iter().any(|(sum, _)| *sum >= self.sums) => {
                    return Err("a leaf names no sum");
                }
                Node::Leaf(_) => {}
            }
        }
        if parents.contains(&false) { Err("no split leads to a node") } else { Ok(()) }
    }

    /// The number of cells of each axis.
    pub fn axes(&self) -> &[u32] {
        &self.axes
    }

    /// The number of sums.
    pub fn sums(&self) -> u32 {
        self.sums
    }

    /// The trees.
    pub fn trees(&self) -> &[Tree] {
        &self.trees
    }
}

/// The cells that two ascending lists of ranges have in common, in the same form.
pub fn common(ours: &[Range], theirs: impl Iterator<Item = Range>) -> Vec<Range> {
    let mut common = Vec::new();
    let mut first = 0;
    for (from, to) in theirs {
        first += ours[first..].partition_point(|range| range.1 <= from);
        let met = ours[first..].iter().take_while(|range| range.0 < to);
        common.extend(met.map(|range| (range.0.max(from), range.1.min(to))));
    }
    common
}

/// The cells of an axis that are not in an ascending list of ranges, in the same form.
pub fn others(ranges: &[Range], size: u32) -> impl Iterator<Item = Range> + '_ {
    let starts = std::iter::once(0).chain(ranges.iter().map(|range| range.1));
    let ends = ranges.iter().map(|range| range.0).chain([size]);
    starts.zip(ends).filter(|(from, to)| from < to)
}
