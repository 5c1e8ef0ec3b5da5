//! Writes a tree from scratch: the arrays of a tree object for a tree of the model, without
//! training statistics.

use secateur_model::{Node, NodeId, Test, Tree};

use super::tree::Field;
use super::write::{Elements, Encoding};
use crate::edit::leaves_below;

/// Writes the new value of a field, if the pattern has that field.
pub(super) type Put<'p> = dyn FnMut(Field, &dyn Fn(Elements, &mut Vec<u8>)) + 'p;

/// The arrays of a tree. Every right child comes directly after its left sibling.
#[derive(Debug)]
pub(super) struct FreshTree {
    left: Vec<i64>,
    right: Vec<i64>,
    parents: Vec<i64>,
    split_indices: Vec<i64>,
    split_conditions: Vec<f32>,
    default_left: Vec<i64>,
    split_type: Vec<i64>,
    categories: Vec<i64>,
    category_nodes: Vec<i64>,
    category_segments: Vec<i64>,
    category_sizes: Vec<i64>,
    base_weights: Vec<f32>,
    leaf_weights: Vec<f32>,
    /// The number of leaves below each node; written as the sums of Hessians.
    below: Vec<f32>,
}

/// The library's mark for a node without a parent: in trees with vector leaves, and in others.
const NO_PARENT: [i64; 2] = [2_147_483_647, -1];

impl FreshTree {
    /// A tree with a single leaf with these values.
    pub(super) fn constant(values: &[f32], vector_leaves: bool, leaf_weights: bool) -> Self {
        let mut fresh = Self::empty(1, values.len(), vector_leaves);
        fresh.set_leaf(0, values, vector_leaves, leaf_weights);
        fresh
    }

    /// The tree with these leaf values, or the property of it that the format cannot hold.
    pub(super) fn lay_out(
        tree: &Tree,
        leaves: &[f32],
        vector_leaves: bool,
        leaf_weights: bool,
    ) -> Result<Self, &'static str> {
        let width = leaves.len() / tree.leaf_count();
        let nodes = tree.nodes().filter(|(_, node)| *node != Node::Unused).count();
        let mut fresh = Self::empty(nodes, width, vector_leaves);
        let below = leaves_below(tree);
        // Breadth first: for each position in the new tree, the node of the old one.
        let mut order = vec![NodeId(0)];
        let mut place = 0;
        while let Some(&node) = order.get(place) {
            fresh.below[place] = below[node.index()] as f32;
            match tree.node(node) {
                Node::Leaf(leaf) => {
                    let values = &leaves[leaf.index() * width..][..width];
                    fresh.set_leaf(place, values, vector_leaves, leaf_weights);
                }
                Node::Split { split, left, right } => {
                    let mut missing_left = split.missing_left;
                    let mut children = [left, right];
                    match split.test {
                        Test::Less { threshold } => {
                            if f64::from(threshold as f32) != threshold {
                                return Err("a threshold that is no f32");
                            }
                            fresh.split_conditions[place] = threshold as f32;
                        }
                        Test::Member { set, members_left } => {
                            if set.is_empty() {
                                return Err("an empty set of categories");
                            }
                            // In this format members go right.
                            if members_left {
                                children.reverse();
                                missing_left = !missing_left;
                            }
                            fresh.split_type[place] = 1;
                            fresh.category_nodes.push(place as i64);
                            fresh.category_segments.push(fresh.categories.len() as i64);
                            fresh.category_sizes.push(set.len() as i64);
                            fresh.categories.extend(set.iter().map(|&code| i64::from(code)));
                        }
                        _ => return Err("a test other than `<` and categories"),
                    }
                    fresh.split_indices[place] = i64::from(split.feature.0);
                    fresh.default_left[place] = i64::from(missing_left);
                    let first = order.len();
                    (fresh.left[place], fresh.right[place]) = (first as i64, first as i64 + 1);
                    fresh.parents[first] = place as i64;
                    fresh.parents[first + 1] = place as i64;
                    order.extend(children);
                }
                Node::Unused => unreachable!("the builder lets no path reach an unused slot"),
            }
            place += 1;
        }
        Ok(fresh)
    }

    fn empty(nodes: usize, width: usize, vector_leaves: bool) -> Self {
        let mut parents = vec![0; nodes];
        parents[0] = NO_PARENT[usize::from(vector_leaves)];
        Self {
            left: vec![-1; nodes],
            right: vec![-1; nodes],
            parents,
            split_indices: vec![0; nodes],
            split_conditions: vec![0.0; nodes],
            default_left: vec![0; nodes],
            split_type: vec![0; nodes],
            categories: Vec::new(),
            category_nodes: Vec::new(),
            category_segments: Vec::new(),
            category_sizes: Vec::new(),
            base_weights: vec![0.0; nodes * width],
            leaf_weights: Vec::new(),
            below: vec![1.0; nodes],
        }
    }

    fn set_leaf(&mut self, place: usize, values: &[f32], vector_leaves: bool, leaf_weights: bool) {
        match (vector_leaves, leaf_weights) {
            (false, _) => self.split_conditions[place] = values[0],
            (true, true) => {
                self.right[place] = (self.leaf_weights.len() / values.len()) as i64;
                self.leaf_weights.extend_from_slice(values);
            }
            (true, false) => {
                self.base_weights[place * values.len()..][..values.len()].copy_from_slice(values);
            }
        }
    }

    /// Writes every field through `put`.
    pub(super) fn write(&self, encoding: Encoding, put: &mut Put<'_>) {
        let integers = [
            (Field::LeftChildren, &self.left),
            (Field::RightChildren, &self.right),
            (Field::Parents, &self.parents),
            (Field::SplitIndices, &self.split_indices),
            (Field::DefaultLeft, &self.default_left),
            (Field::SplitType, &self.split_type),
            (Field::Categories, &self.categories),
            (Field::CategoriesNodes, &self.category_nodes),
            (Field::CategoriesSegments, &self.category_segments),
            (Field::CategoriesSizes, &self.category_sizes),
        ];
        for (field, values) in integers {
            put(field, &|style, out| encoding.integers(values, style, out));
        }
        let nothing = vec![0.0; self.left.len()];
        let floats = [
            (Field::SplitConditions, &self.split_conditions),
            (Field::BaseWeights, &self.base_weights),
            (Field::LeafWeights, &self.leaf_weights),
            (Field::LossChanges, &nothing),
            (Field::SumHessian, &self.below),
        ];
        for (field, values) in floats {
            put(field, &|style, out| encoding.floats(values, style, out));
        }
        let nodes = self.left.len().to_string();
        put(Field::NumNodes, &|_, out| encoding.plain_string(&nodes, out));
        put(Field::NumDeleted, &|_, out| encoding.plain_string("0", out));
    }
}
