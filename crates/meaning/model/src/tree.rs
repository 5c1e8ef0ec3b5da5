//! One tree: splits, leaves, and the walk from the root to a leaf.

use crate::ids::{FeatureId, GroupId, LeafId, NodeId};

/// The comparison that a split makes with its feature's value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Test<'a> {
    /// Left iff value < threshold.
    Less {
        /// The number that the value is compared with.
        threshold: f64,
    },
    /// Left iff value <= threshold.
    LessOrEqual {
        /// The number that the value is compared with.
        threshold: f64,
    },
    /// As `LessOrEqual`, but zero (as the input domain reads it) goes to a side of its own:
    /// LightGBM's `zero_as_missing`.
    LessOrEqualButZero {
        /// The number that every other value is compared with.
        threshold: f64,
        /// Does zero go left?
        zero_left: bool,
    },
    /// Left iff value == this value (ONNX `BRANCH_EQ`).
    Equal {
        /// The number that the value is compared with.
        value: f64,
    },
    /// Left iff being a member of the set equals `members_left`. A value that is not a category is
    /// not a member.
    Member {
        /// Category codes, ascending.
        set: &'a [u32],
        /// Do the members go left and all others right, or the other way round?
        members_left: bool,
    },
}

/// A test on one feature, and where missing values go.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Split<'a> {
    /// The column.
    pub feature: FeatureId,
    /// The comparison.
    pub test: Test<'a>,
    /// Does a missing value go left?
    pub missing_left: bool,
}

/// A node of a tree.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Node<'a> {
    /// An inner node.
    Split {
        /// Its test.
        split: Split<'a>,
        /// The child for values that pass the test.
        left: NodeId,
        /// The child for the others.
        right: NodeId,
    },
    /// A leaf.
    Leaf(LeafId),
    /// A slot in the file that no path reaches.
    Unused,
}

/// What the leaves of a tree hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// One number, added to one sum.
    Group(GroupId),
    /// One number for each sum.
    All,
}

/// A tree. Node ids are those of the file it was read from; the root is node 0.
#[derive(Clone, Debug, PartialEq)]
pub struct Tree {
    nodes: Vec<Packed>,
    /// Leaf values, `width` for each leaf.
    values: Vec<f64>,
    width: u32,
    sets: Vec<Box<[u32]>>,
    output: Output,
    weight: f64,
}

impl Tree {
    /// How many node slots there are, unused ones included.
    pub fn node_count(&self) -> usize {
        self.nodes.len()
    }

    /// How many leaves there are.
    pub fn leaf_count(&self) -> usize {
        self.values.len() / self.width as usize
    }

    /// Is it a single leaf of zeros? Formats with one tree of each class in every round fill rounds
    /// up with such trees.
    pub fn is_empty(&self) -> bool {
        matches!(self.node(NodeId(0)), Node::Leaf(_)) && self.values.iter().all(|&value| value == 0.0)
    }

    /// What the leaves hold.
    pub fn output(&self) -> Output {
        self.output
    }

    /// The factor on every leaf value: the tree weights of AdaBoost and dart, the learning rate of
    /// gradient boosting, otherwise 1. The library rounds the product before it adds.
    pub fn weight(&self) -> f64 {
        self.weight
    }

    /// The stored values of a leaf, before the weight: one, or one for each group.
    pub fn leaf(&self, leaf: LeafId) -> &[f64] {
        let width = self.width as usize;
        &self.values[leaf.index() * width..][..width]
    }

    /// The stored values of all leaves, one after the other.
    pub fn leaf_values(&self) -> &[f64] {
        &self.values
    }

    /// A node.
    pub fn node(&self, node: NodeId) -> Node<'_> {
        self.unpack(&self.nodes[node.index()])
    }

    /// Every node in the order of the file.
    pub fn nodes(&self) -> impl Iterator<Item = (NodeId, Node<'_>)> {
        self.nodes.iter().enumerate().map(|(index, packed)| (NodeId::new(index), self.unpack(packed)))
    }

    /// Every split in the order of the file.
    pub fn splits(&self) -> impl Iterator<Item = Split<'_>> {
        self.nodes.iter().filter_map(|packed| match self.unpack(packed) {
            Node::Split { split, .. } => Some(split),
            _ => None,
        })
    }

    /// The leaf that a path reaches when `left` answers each split.
    pub fn walk(&self, mut left: impl FnMut(Split<'_>) -> bool) -> LeafId {
        let mut at = NodeId(0);
        loop {
            match self.node(at) {
                Node::Split { split, left: yes, right: no } => at = if left(split) { yes } else { no },
                Node::Leaf(leaf) => return leaf,
                Node::Unused => unreachable!("the builder lets no path reach an unused slot"),
            }
        }
    }

    /// The same tree with other leaf values.
    pub fn with_leaf_values(&self, values: Vec<f64>) -> Option<Self> {
        (values.len() == self.values.len()).then(|| Self { values, ..self.clone() })
    }

    /// The same tree with another weight.
    #[must_use]
    pub fn with_weight(self, weight: f64) -> Self {
        Self { weight, ..self }
    }

    /// The same tree with every feature replaced.
    pub(crate) fn with_features(&self, new: impl Fn(FeatureId) -> FeatureId) -> Self {
        let mut tree = self.clone();
        for packed in &mut tree.nodes {
            if !matches!(packed.kind, Kind::Leaf | Kind::Unused) {
                packed.feature = new(FeatureId(packed.feature)).0;
            }
        }
        tree
    }

    /// The same tree with another threshold in every comparison; `None` if `new` gives none for
    /// some split.
    pub(crate) fn with_thresholds(&self, new: impl Fn(Test<'_>) -> Option<f64>) -> Option<Self> {
        let mut tree = self.clone();
        for (index, packed) in self.nodes.iter().enumerate() {
            if let Node::Split { split, .. } = self.unpack(packed) {
                tree.nodes[index].payload = new(split.test)?.to_bits();
            }
        }
        Some(tree)
    }

    /// The same tree with other splits: if `left` returns a set of codes for a split, these go left
    /// and all others right.
    pub(crate) fn with_sets(&self, left: impl Fn(Split<'_>) -> Option<Vec<u32>>) -> Self {
        let mut tree = self.clone();
        tree.sets.clear();
        for (index, packed) in self.nodes.iter().enumerate() {
            let Node::Split { split, .. } = self.unpack(packed) else { continue };
            let new = &mut tree.nodes[index];
            match (left(split), split.test) {
                (Some(set), _) => {
                    tree.sets.push(set.into());
                    (new.kind, new.flags) = (Kind::Member, packed.flags & MISSING_LEFT | SIDE);
                }
                (None, Test::Member { set, .. }) => tree.sets.push(set.into()),
                (None, _) => continue,
            }
            new.payload = tree.sets.len() as u64 - 1;
        }
        tree
    }

    fn unpack(&self, packed: &Packed) -> Node<'_> {
        let number = f64::from_bits(packed.payload);
        let test = match packed.kind {
            Kind::Leaf => return Node::Leaf(LeafId(packed.left)),
            Kind::Unused => return Node::Unused,
            Kind::Less => Test::Less { threshold: number },
            Kind::LessOrEqual => Test::LessOrEqual { threshold: number },
            Kind::ButZero => {
                Test::LessOrEqualButZero { threshold: number, zero_left: packed.flags & SIDE != 0 }
            }
            Kind::Equal => Test::Equal { value: number },
            Kind::Member => Test::Member {
                set: &self.sets[packed.payload as usize],
                members_left: packed.flags & SIDE != 0,
            },
        };
        Node::Split {
            split: Split {
                feature: FeatureId(packed.feature),
                test,
                missing_left: packed.flags & MISSING_LEFT != 0,
            },
            left: NodeId(packed.left),
            right: NodeId(packed.right),
        }
    }
}

/// A tree under construction: nodes are pushed in the order of their ids. Nothing is checked here;
/// the ensemble's builder checks the finished tree.
#[derive(Clone, Debug, Default)]
pub struct TreeBuilder {
    nodes: Vec<Packed>,
    values: Vec<f64>,
    sets: Vec<Box<[u32]>>,
    /// The number of values of the first leaf; every leaf must have as many.
    width: Option<usize>,
    uneven_leaf: Option<NodeId>,
}

impl TreeBuilder {
    /// An empty tree.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty tree with room for this many nodes.
    pub fn with_capacity(nodes: usize) -> Self {
        Self {
            nodes: Vec::with_capacity(nodes),
            values: Vec::with_capacity(nodes / 2 + 1),
            ..Self::default()
        }
    }

    /// Appends a split whose children have, or will get, the ids `left` and `right`.
    pub fn split(&mut self, split: Split<'_>, left: NodeId, right: NodeId) -> &mut Self {
        let mut flags = if split.missing_left { MISSING_LEFT } else { 0 };
        let (kind, payload, side) = match split.test {
            Test::Less { threshold } => (Kind::Less, threshold.to_bits(), false),
            Test::LessOrEqual { threshold } => (Kind::LessOrEqual, threshold.to_bits(), false),
            Test::LessOrEqualButZero { threshold, zero_left } => {
                (Kind::ButZero, threshold.to_bits(), zero_left)
            }
            Test::Equal { value } => (Kind::Equal, value.to_bits(), false),
            Test::Member { set, members_left } => {
                self.sets.push(set.into());
                (Kind::Member, self.sets.len() as u64 - 1, members_left)
            }
        };
        if side {
            flags |= SIDE;
        }
        self.push(Packed { payload, feature: split.feature.0, left: left.0, right: right.0, kind, flags })
    }

    /// Appends a leaf.
    pub fn leaf(&mut self, values: &[f64]) -> &mut Self {
        if *self.width.get_or_insert(values.len()) != values.len() {
            self.uneven_leaf.get_or_insert(NodeId::new(self.nodes.len()));
        }
        let index = self.values.len() / self.width.unwrap_or(1).max(1);
        self.values.extend_from_slice(values);
        self.push(Packed { payload: 0, feature: 0, left: index as u32, right: 0, kind: Kind::Leaf, flags: 0 })
    }

    /// Turns negative zeros in leaves into zeros.
    pub fn add_zero_to_leaves(&mut self) {
        self.values.iter_mut().for_each(|value| *value += 0.0);
    }

    /// Appends a slot that no path may reach.
    pub fn unused(&mut self) -> &mut Self {
        self.push(Packed { payload: 0, feature: 0, left: 0, right: 0, kind: Kind::Unused, flags: 0 })
    }

    pub(crate) fn uneven_leaf(&self) -> Option<NodeId> {
        self.uneven_leaf
    }

    pub(crate) fn width(&self) -> usize {
        self.width.unwrap_or(0)
    }

    pub(crate) fn finish(self, output: Output, weight: f64) -> Tree {
        Tree {
            nodes: self.nodes,
            values: self.values,
            width: self.width.unwrap_or(1).max(1) as u32,
            sets: self.sets,
            output,
            weight,
        }
    }

    fn push(&mut self, packed: Packed) -> &mut Self {
        self.nodes.push(packed);
        self
    }
}

const MISSING_LEFT: u8 = 1;
/// `zero_left` or `members_left`, depending on the kind.
const SIDE: u8 = 2;

/// A node takes 24 bytes, because files of 100 MB hold millions of nodes.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Packed {
    /// A threshold's bits, or the position of a category set.
    payload: u64,
    feature: u32,
    /// Left child, or the leaf's number.
    left: u32,
    right: u32,
    kind: Kind,
    flags: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Less,
    LessOrEqual,
    ButZero,
    Equal,
    Member,
    Leaf,
    Unused,
}
