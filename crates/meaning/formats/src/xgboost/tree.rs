//! One tree of the file: its parallel arrays, and the model's tree that is built from them.

use std::collections::BTreeSet;

use secateur_model::{FeatureId, NodeId, Split, Test, TreeBuilder, TreeId};

use super::source::{EndPosition, Source, Span};
use crate::error::{FormatError, Place, Problem};

/// A field of a tree that this crate knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    BaseWeights,
    Categories,
    CategoriesNodes,
    CategoriesSegments,
    CategoriesSizes,
    DefaultLeft,
    Id,
    LeafWeights,
    LeftChildren,
    LossChanges,
    NumDeleted,
    NumNodes,
    Parents,
    RightChildren,
    SizeLeafVector,
    SplitConditions,
    SplitIndices,
    SplitType,
    SumHessian,
}

impl Field {
    const COUNT: usize = Self::SumHessian as usize + 1;

    fn name(self) -> &'static str {
        match self {
            Self::BaseWeights => "base_weights",
            Self::Categories => "categories",
            Self::CategoriesNodes => "categories_nodes",
            Self::CategoriesSegments => "categories_segments",
            Self::CategoriesSizes => "categories_sizes",
            Self::DefaultLeft => "default_left",
            Self::Id => "id",
            Self::LeafWeights => "leaf_weights",
            Self::LeftChildren => "left_children",
            Self::LossChanges => "loss_changes",
            Self::NumDeleted => "tree_param.num_deleted",
            Self::NumNodes => "tree_param.num_nodes",
            Self::Parents => "parents",
            Self::RightChildren => "right_children",
            Self::SizeLeafVector => "tree_param.size_leaf_vector",
            Self::SplitConditions => "split_conditions",
            Self::SplitIndices => "split_indices",
            Self::SplitType => "split_type",
            Self::SumHessian => "sum_hessian",
        }
    }
}

/// The arrays of one tree and their positions. One value is reused for all trees of a file.
#[derive(Debug, Default)]
pub(super) struct TreeFields {
    index: usize,
    spans: [Option<Span>; Field::COUNT],
    /// The lengths of arrays that hold only statistics.
    base_weight_count: usize,
    loss_change_count: usize,
    hessian_count: usize,
    left: Vec<i32>,
    right: Vec<i32>,
    split_indices: Vec<i64>,
    split_conditions: Vec<f32>,
    default_left: Vec<u8>,
    split_type: Vec<u8>,
    categories: Vec<u32>,
    category_nodes: Vec<i64>,
    category_segments: Vec<i64>,
    category_sizes: Vec<i64>,
    /// Filled only if it holds the leaf vectors: in trees with vector leaves up to version 3.1.
    base_weights: Vec<f32>,
    leaf_weights: Vec<f32>,
    nodes: usize,
    deleted: usize,
    parents: Vec<i32>,
    /// The number of values in a leaf if there are several.
    vector: Option<usize>,
}

/// What the library writes as the feature of a deleted node, together with `default_left`.
const DELETED: i64 = 2_147_483_647;

impl TreeFields {
    /// The position of a field, if the tree has it.
    pub(super) fn span(&self, field: Field) -> Option<Span> {
        self.spans[field as usize]
    }

    /// The number of values in a leaf if there are several.
    pub(super) fn vector(&self) -> Option<usize> {
        self.vector
    }

    /// Are the leaf vectors in an array of their own?
    pub(super) fn has_leaf_weights(&self) -> bool {
        self.span(Field::LeafWeights).is_some()
    }

    /// The nodes that are leaves, ascending: the order of the model's leaf ids.
    fn leaves(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.nodes).filter(|&node| self.left[node] == -1 && !self.is_deleted(node))
    }

    /// The field that holds the leaves, with other values (in the order of the model's leaf ids).
    pub(super) fn with_leaves(&self, leaves: &[f32]) -> (Field, Vec<f32>) {
        let width = self.vector.unwrap_or(1);
        let (field, mut values) = match (self.vector, self.has_leaf_weights()) {
            (None, _) => (Field::SplitConditions, self.split_conditions.clone()),
            (Some(_), true) => (Field::LeafWeights, self.leaf_weights.clone()),
            (Some(_), false) => (Field::BaseWeights, self.base_weights.clone()),
        };
        for (node, leaf) in self.leaves().zip(leaves.chunks_exact(width)) {
            let place = if field == Field::LeafWeights { self.right[node] as usize } else { node };
            values[place * width..][..width].copy_from_slice(leaf);
        }
        (field, values)
    }

    /// Reads the tree object at the source's position, the `index`th of the file.
    pub(super) fn read<'a, S: Source<'a> + EndPosition>(
        &mut self,
        source: &mut S,
        index: usize,
    ) -> Result<Span, FormatError> {
        self.clear(index);
        let (span, ()) = source.span(|source| {
            source.object(&mut |source, key, _| match key {
                "base_weights" => {
                    self.base_weight_count = self.take(Field::BaseWeights, source, S::count_floats)?;
                    Ok(())
                }
                "categories" => self.integers(Field::Categories, source, |fields| &mut fields.categories),
                "categories_nodes" => {
                    self.integers(Field::CategoriesNodes, source, |fields| &mut fields.category_nodes)
                }
                "categories_segments" => {
                    self.integers(Field::CategoriesSegments, source, |fields| &mut fields.category_segments)
                }
                "categories_sizes" => {
                    self.integers(Field::CategoriesSizes, source, |fields| &mut fields.category_sizes)
                }
                "default_left" => {
                    self.integers(Field::DefaultLeft, source, |fields| &mut fields.default_left)
                }
                "id" => {
                    let id = self.take(Field::Id, source, S::integer)?;
                    self.check(Field::Id, id == index as i64, id, "the position of the tree in the list")
                }
                "leaf_weights" => {
                    let mut values = std::mem::take(&mut self.leaf_weights);
                    self.take(Field::LeafWeights, source, |source| source.floats(&mut values))?;
                    self.leaf_weights = values;
                    Ok(())
                }
                "left_children" => self.integers(Field::LeftChildren, source, |fields| &mut fields.left),
                "loss_changes" => {
                    self.loss_change_count = self.take(Field::LossChanges, source, S::count_floats)?;
                    Ok(())
                }
                "parents" => self.integers(Field::Parents, source, |fields| &mut fields.parents),
                "right_children" => self.integers(Field::RightChildren, source, |fields| &mut fields.right),
                "split_conditions" => {
                    let mut values = std::mem::take(&mut self.split_conditions);
                    self.take(Field::SplitConditions, source, |source| source.floats(&mut values))?;
                    self.split_conditions = values;
                    Ok(())
                }
                "split_indices" => {
                    self.integers(Field::SplitIndices, source, |fields| &mut fields.split_indices)
                }
                "split_type" => self.integers(Field::SplitType, source, |fields| &mut fields.split_type),
                "sum_hessian" => {
                    self.hessian_count = self.take(Field::SumHessian, source, S::count_floats)?;
                    Ok(())
                }
                "tree_param" => self.read_parameters(source),
                _ => source.skip(),
            })
        })?;
        if self.vector.is_some()
            && !self.has_leaf_weights()
            && let Some(weights) = self.span(Field::BaseWeights)
        {
            source.seek(weights.start);
            source.floats(&mut self.base_weights)?;
            source.seek(span.end);
        }
        self.check_lengths()?;
        Ok(span)
    }

    /// The tree for the model; features that splits test for categories are added to `categorical`.
    pub(super) fn builder(&self, categorical: &mut BTreeSet<u32>) -> Result<TreeBuilder, FormatError> {
        let mut tree = TreeBuilder::with_capacity(self.nodes);
        let mut category_sets = self.category_nodes.iter().zip(0..).peekable();
        let mut categories_used = 0;
        let mut deleted = 0;
        let mut set = Vec::new();
        let mut values = Vec::new();
        for node in 0..self.nodes {
            let listed = category_sets.next_if(|(at, _)| **at == node as i64).map(|(_, position)| position);
            if self.is_deleted(node) {
                deleted += 1;
                tree.unused();
                continue;
            }
            if self.left[node] == -1 {
                self.leaf_values(node, &mut values)?;
                tree.leaf(&values);
                continue;
            }
            let (left, right) = self.children(node)?;
            let feature = self.split_indices[node];
            let expected = "the number of a feature";
            let feature = u32::try_from(feature).or_else(|_| self.at_node(node, feature, expected))?;
            let missing_left = match self.default_left[node] {
                0 => false,
                1 => true,
                other => return self.at_node(node, other, "0 or 1 (default_left)"),
            };
            let test = match (self.split_type.get(node).copied().unwrap_or(0), listed) {
                (0, None) => Test::Less { threshold: f64::from(self.split_conditions[node]) },
                (1, Some(position)) => {
                    categories_used = self.category_set(node, position, categories_used, &mut set)?;
                    categorical.insert(feature);
                    Test::Member { set: &set, members_left: false }
                }
                (0, Some(_)) => return self.at_node(node, 0, "the split_type of a node that has categories"),
                (1, None) => return self.at_node(node, 1, "the split_type of a node without categories"),
                (other, _) => return self.at_node(node, other, "0 or 1 (split_type)"),
            };
            tree.split(Split { feature: FeatureId(feature), test, missing_left }, left, right);
        }
        if let Some((node, _)) = category_sets.next() {
            let expected = "the next node of the tree, in ascending order";
            return self.fail(Field::CategoriesNodes, Problem::Value { found: node.to_string(), expected });
        }
        self.check(Field::NumDeleted, deleted == self.deleted, self.deleted, "the number of deleted nodes")?;
        Ok(tree)
    }

    fn clear(&mut self, index: usize) {
        self.index = index;
        self.spans = Default::default();
        self.vector = None;
        self.parents.clear();
        self.left.clear();
        self.right.clear();
        self.split_indices.clear();
        self.split_conditions.clear();
        self.default_left.clear();
        self.split_type.clear();
        self.categories.clear();
        self.category_nodes.clear();
        self.category_segments.clear();
        self.category_sizes.clear();
        self.base_weights.clear();
        self.leaf_weights.clear();
    }

    fn take<'a, S: Source<'a> + EndPosition, T>(
        &mut self,
        field: Field,
        source: &mut S,
        take: impl FnOnce(&mut S) -> Result<T, FormatError>,
    ) -> Result<T, FormatError> {
        let (span, value) = source.span(take)?;
        self.spans[field as usize] = Some(span);
        Ok(value)
    }

    fn integers<'a, S: Source<'a> + EndPosition, T: TryFrom<i64>>(
        &mut self,
        field: Field,
        source: &mut S,
        target: impl Fn(&mut Self) -> &mut Vec<T>,
    ) -> Result<(), FormatError> {
        let mut values = std::mem::take(target(self));
        self.take(field, source, |source| source.integers(&mut values))?;
        *target(self) = values;
        Ok(())
    }

    fn read_parameters<'a, S: Source<'a> + EndPosition>(
        &mut self,
        source: &mut S,
    ) -> Result<(), FormatError> {
        source.object(&mut |source, key, _| {
            let field = match key {
                "num_deleted" => Field::NumDeleted,
                "num_nodes" => Field::NumNodes,
                "size_leaf_vector" => Field::SizeLeafVector,
                _ => return source.skip(),
            };
            let text = self.take(field, source, S::string)?;
            let Ok(value) = text.parse::<u32>() else {
                let found = format!("{text:?}");
                return self.fail(field, Problem::Value { found, expected: "a number" });
            };
            let value = value as usize;
            match field {
                Field::NumDeleted => self.deleted = value,
                Field::NumNodes => self.nodes = value,
                _ => self.vector = Some(value).filter(|&value| value > 1),
            }
            Ok(())
        })
    }

    fn check_lengths(&self) -> Result<(), FormatError> {
        let always = [Field::NumNodes, Field::NumDeleted, Field::SizeLeafVector, Field::Id];
        if let Some(&field) = always.iter().find(|&&field| self.span(field).is_none()) {
            return self.fail(field, Problem::Missing);
        }
        let vector = self.vector.unwrap_or(1);
        let all = self.nodes.saturating_mul(vector);
        // (field, its length, the length it must have, may it be missing)
        let vector_leaves = self.vector.is_some();
        let lengths = [
            (Field::LeftChildren, self.left.len(), self.nodes, false),
            (Field::RightChildren, self.right.len(), self.nodes, false),
            (Field::Parents, self.parents.len(), self.nodes, false),
            (Field::SplitIndices, self.split_indices.len(), self.nodes, false),
            (Field::SplitConditions, self.split_conditions.len(), self.nodes, false),
            (Field::DefaultLeft, self.default_left.len(), self.nodes, false),
            (Field::SplitType, self.split_type.len(), self.nodes, true),
            (Field::BaseWeights, self.base_weight_count, all, false),
            (Field::LossChanges, self.loss_change_count, self.nodes, vector_leaves),
            (Field::SumHessian, self.hessian_count, self.nodes, vector_leaves),
            (Field::CategoriesSegments, self.category_segments.len(), self.category_nodes.len(), true),
            (Field::CategoriesSizes, self.category_sizes.len(), self.category_nodes.len(), true),
        ];
        for (field, found, expected, optional) in lengths {
            match self.span(field) {
                None if !optional => return self.fail(field, Problem::Missing),
                Some(_) if found != expected => {
                    return self.fail(field, Problem::Length { expected, found });
                }
                _ => {}
            }
        }
        let nodes = self.category_nodes.len();
        if nodes > 0 && (self.category_segments.len() != nodes || self.category_sizes.len() != nodes) {
            return self.fail(Field::CategoriesSegments, Problem::Missing);
        }
        Ok(())
    }

    fn is_deleted(&self, node: usize) -> bool {
        node > 0 && self.split_indices[node] == DELETED && self.default_left[node] == 1
    }

    fn children(&self, node: usize) -> Result<(NodeId, NodeId), FormatError> {
        let (left, right) = (self.left[node], self.right[node]);
        let Ok(id) = u32::try_from(left) else {
            return self.at_node(node, left, "a left child (a node, or -1 in a leaf)");
        };
        // The library goes to `left + 1` when it predicts one row, and to `right_children` for
        // several.
        if i64::from(right) != i64::from(left) + 1 {
            let expected = "the right child: it must stand behind the left one, or the library \
                            would answer differently for one row and for several";
            return self.at_node(node, right, expected);
        }
        Ok((NodeId(id), NodeId(id + 1)))
    }

    fn leaf_values(&self, node: usize, values: &mut Vec<f64>) -> Result<(), FormatError> {
        values.clear();
        let right = self.right[node];
        let Some(vector) = self.vector else {
            if right != -1 {
                return self.at_node(node, right, "the right child of a leaf, which is -1");
            }
            values.push(f64::from(self.split_conditions[node]));
            return Ok(());
        };
        let found = if self.has_leaf_weights() {
            let start = usize::try_from(right).ok().and_then(|leaf| leaf.checked_mul(vector));
            start.and_then(|start| self.leaf_weights.get(start..)?.get(..vector))
        } else {
            self.base_weights.get(node * vector..)
        };
        let Some(found) = found else {
            return self.at_node(node, right, "the number of a leaf in leaf_weights");
        };
        values.extend(found[..vector].iter().map(|&value| f64::from(value)));
        Ok(())
    }

    /// The categories of a node, and where they end in the list. They must begin after those of
    /// earlier nodes: a list that nodes share could be copied without limit.
    fn category_set(
        &self,
        node: usize,
        position: usize,
        used: usize,
        set: &mut Vec<u32>,
    ) -> Result<usize, FormatError> {
        let (start, size) = (self.category_segments[position], self.category_sizes[position]);
        let range = usize::try_from(start).ok().zip(usize::try_from(size).ok());
        let listed = range.filter(|&(start, size)| start >= used && size > 0).and_then(|(start, size)| {
            Some((start.checked_add(size)?, self.categories.get(start..)?.get(..size)?))
        });
        let Some((end, listed)) = listed else {
            let expected = "a segment of the list of categories behind those of earlier nodes";
            return self.at_node(node, format!("{start}+{size}"), expected);
        };
        set.clear();
        set.extend_from_slice(listed);
        set.sort_unstable();
        set.dedup();
        Ok(end)
    }

    fn check(
        &self,
        field: Field,
        holds: bool,
        found: impl ToString,
        expected: &'static str,
    ) -> Result<(), FormatError> {
        if holds { Ok(()) } else { self.fail(field, Problem::Value { found: found.to_string(), expected }) }
    }

    fn fail<T>(&self, field: Field, problem: Problem) -> Result<T, FormatError> {
        let place = Place::TreeField { tree: TreeId::new(self.index), field: field.name() };
        Err(FormatError::new(place, problem))
    }

    fn at_node<T>(
        &self,
        node: usize,
        found: impl ToString,
        expected: &'static str,
    ) -> Result<T, FormatError> {
        let place = Place::Node { tree: TreeId::new(self.index), node: NodeId::new(node) };
        Err(FormatError::new(place, Problem::Value { found: found.to_string(), expected }))
    }
}
