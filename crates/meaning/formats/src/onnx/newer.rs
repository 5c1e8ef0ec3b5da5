//! `TreeEnsemble`, the operator of `ai.onnx.ml` 5: converts its attributes to the table of the
//! older operators and back.
//!
//! Inner nodes and leaves are numbered separately, and trees share the two lists. onnxruntime
//! executes them as follows:
//! - Each leaf has one target and one weight. There are no base values and no labels; a target that
//!   no reached leaf has is 0.
//! - A tree of one leaf is a node whose branches both lead to this leaf.
//! - A node may not be reached twice in one tree; trees may share nodes, and all trees may share
//!   leaves.
//! - Floats have the type of the input, float or double, and so have sums and values.
//! - A test for a set of numbers (`BRANCH_MEMBER`) counts numbers between whole ones as members or
//!   not, depending on which numbers are in the set (2.5 is a member of 1, 2 and 33, but not of 1,
//!   2 and 3): refused.

use std::collections::BTreeMap;

use secateur_model::NumberType;

use super::attribute::{Attribute, INT, INTS, TENSOR, UINT8, attributes, element_type, little_endian};
use super::graph::unsupported;
use super::model::Shape;
use super::table::{AGGREGATES, Aggregate, Floats, Mode, Regressor, TRANSFORMS, Table};
use super::wire::{Message, put_bytes, put_integer};
use crate::error::{FormatError, Place, Problem};

/// The modes by their numbers; the test for a set of numbers has the next number.
const MODES: [Mode; 6] =
    [Mode::LessOrEqual, Mode::Less, Mode::GreaterOrEqual, Mode::Greater, Mode::Equal, Mode::NotEqual];
const MEMBER: u8 = MODES.len() as u8;

/// The attributes as they are in the file.
#[derive(Default)]
struct Lists {
    aggregate: i64,
    transform: i64,
    targets: i64,
    roots: Vec<u32>,
    features: Vec<i32>,
    modes: Vec<u8>,
    splits: Vec<f64>,
    true_ids: Vec<u32>,
    true_leafs: Vec<u8>,
    false_ids: Vec<u32>,
    false_leafs: Vec<u8>,
    tracks: Vec<i32>,
    hit_rates: Option<usize>,
    leaf_targets: Vec<u32>,
    leaf_weights: Vec<f64>,
}

/// Reads the attributes of a node whose ensemble compares in `number`.
pub(super) fn read(node: Message<'_>, number: NumberType) -> Result<Table, FormatError> {
    let lists = Lists::read(node, number)?;
    lists.check()?;
    let mut table = Table {
        values: Floats { tensor: Some(number), present: true, ..Floats::default() },
        weights: Floats { tensor: Some(number), present: true, ..Floats::default() },
        regressor: Some(lists.regressor()?),
        ..Table::default()
    };
    // Trees that share nodes get a copy of each. The number of copies is limited, so that a small
    // file does not take much memory. Without sharing a node makes at most three rows, itself and
    // two leaves.
    let most = 4 * lists.modes.len() + 2 * lists.roots.len() + 1024;
    let mut seen = vec![None; lists.modes.len()];
    for (tree, &root) in lists.roots.iter().enumerate() {
        lists.tree(tree as u32, root as usize, &mut seen, &mut table)?;
        if table.modes.len() > most {
            let advice = "give every tree nodes of its own";
            let place = Place::Field("tree_roots".to_owned());
            return Err(unsupported(place, "many trees that share their nodes", advice));
        }
    }
    Ok(table)
}

/// An entry that is still to be placed in a tree's list of rows.
enum Pending {
    Leaf(usize),
    Node(usize),
}

impl Lists {
    fn read(node: Message<'_>, number: NumberType) -> Result<Self, FormatError> {
        let mut lists = Self { aggregate: 1, ..Self::default() };
        let mut seen: Vec<&str> = Vec::new();
        for attribute in attributes(node) {
            let attribute = attribute?;
            if seen.contains(&attribute.name) {
                let key = attribute.name.to_owned();
                return Err(FormatError::new(attribute.place(), Problem::DuplicateKey { key }));
            }
            seen.push(attribute.name);
            lists.read_attribute(&attribute, number)?;
        }
        Ok(lists)
    }

    fn read_attribute(&mut self, attribute: &Attribute<'_>, number: NumberType) -> Result<(), FormatError> {
        match attribute.name {
            "aggregate_function" => self.aggregate = attribute.int()?,
            "post_transform" => self.transform = attribute.int()?,
            "n_targets" => self.targets = attribute.int()?,
            "tree_roots" => self.roots = attribute.ints()?,
            "nodes_featureids" => self.features = attribute.ints()?,
            "nodes_modes" => self.modes = attribute.bytes()?,
            "nodes_splits" => self.splits = attribute.tensor(number)?,
            "nodes_truenodeids" => self.true_ids = attribute.ints()?,
            "nodes_trueleafs" => self.true_leafs = attribute.ints()?,
            "nodes_falsenodeids" => self.false_ids = attribute.ints()?,
            "nodes_falseleafs" => self.false_leafs = attribute.ints()?,
            "nodes_missing_value_tracks_true" => self.tracks = attribute.ints()?,
            "nodes_hitrates" if number == NumberType::F64 => {
                let advice = "remove them: onnxruntime loads no such file, and they say nothing about values";
                return Err(unsupported(attribute.place(), "an ensemble of doubles with hit rates", advice));
            }
            // They do not affect values, and an edit does not keep them.
            "nodes_hitrates" => self.hit_rates = Some(attribute.tensor(number)?.len()),
            // The numbers of set tests, which are refused.
            "membership_values" => {}
            "leaf_targetids" => self.leaf_targets = attribute.ints()?,
            "leaf_weights" => self.leaf_weights = attribute.tensor(number)?,
            _ => {
                let what = format!("the attribute {:?}", attribute.name);
                let advice = "it is not one of TreeEnsemble, and onnxruntime refuses it too";
                return Err(unsupported(attribute.place(), &what, advice));
            }
        }
        Ok(())
    }

    fn check(&self) -> Result<(), FormatError> {
        let (nodes, leaves) = (self.modes.len(), self.leaf_weights.len());
        let hit_rates = self.hit_rates.unwrap_or(nodes);
        let tracks = if self.tracks.is_empty() { nodes } else { self.tracks.len() };
        let lengths = [
            ("nodes_featureids", self.features.len(), nodes),
            ("nodes_splits", self.splits.len(), nodes),
            ("nodes_truenodeids", self.true_ids.len(), nodes),
            ("nodes_trueleafs", self.true_leafs.len(), nodes),
            ("nodes_falsenodeids", self.false_ids.len(), nodes),
            ("nodes_falseleafs", self.false_leafs.len(), nodes),
            ("nodes_missing_value_tracks_true", tracks, nodes),
            ("nodes_hitrates", hit_rates, nodes),
            ("leaf_targetids", self.leaf_targets.len(), leaves),
        ];
        for (name, found, expected) in lengths {
            if found != expected {
                let problem = Problem::Length { expected, found };
                return Err(FormatError::new(Place::Field(name.to_owned()), problem));
            }
        }
        let value = |name: &str, index: usize, found: String, expected: &'static str| {
            let place = Place::Field(format!("{name}[{index}]"));
            Err(FormatError::new(place, Problem::Value { found, expected }))
        };
        let out = |index: u32, count: usize| index as usize >= count;
        if let Some(at) = self.roots.iter().position(|&root| out(root, nodes)) {
            return value("tree_roots", at, self.roots[at].to_string(), "the number of a node");
        }
        if let Some(at) = self.modes.iter().position(|&mode| mode >= MEMBER) {
            if self.modes[at] > MEMBER {
                return value("nodes_modes", at, self.modes[at].to_string(), "a mode of ONNX, 0 to 6");
            }
            let what = "a test for a set of numbers (BRANCH_MEMBER)";
            let advice = "which numbers between whole ones onnxruntime takes for members depends on the set; write a test \
                          for equality (BRANCH_EQ) for each number";
            return Err(unsupported(Place::Field(format!("nodes_modes[{at}]")), what, advice));
        }
        let branches = [
            ("nodes_truenodeids", &self.true_ids, &self.true_leafs),
            ("nodes_falsenodeids", &self.false_ids, &self.false_leafs),
        ];
        for (name, ids, leafs) in branches {
            let count = |at: usize| if leafs[at] == 0 { nodes } else { leaves };
            if let Some(at) = (0..nodes).find(|&at| out(ids[at], count(at))) {
                return value(name, at, ids[at].to_string(), "the number of a node or leaf");
            }
        }
        Ok(())
    }

    fn regressor(&self) -> Result<Regressor, FormatError> {
        let wrong = |name: &str, found: i64, expected: &'static str| {
            let problem = Problem::Value { found: found.to_string(), expected };
            FormatError::new(Place::Field(name.to_owned()), problem)
        };
        let at = |number: i64| usize::try_from(number).unwrap_or(usize::MAX);
        let &(_, aggregate) = AGGREGATES.get(at(self.aggregate)).ok_or_else(|| {
            wrong("aggregate_function", self.aggregate, "an aggregate function of ONNX, 0 to 3")
        })?;
        let &transform = TRANSFORMS
            .get(at(self.transform))
            .ok_or_else(|| wrong("post_transform", self.transform, "a transform of ONNX, 0 to 4"))?;
        let targets = u32::try_from(self.targets).ok().filter(|targets| (1..=1 << 16).contains(targets));
        let targets =
            targets.ok_or_else(|| wrong("n_targets", self.targets, "a number of targets from 1 to 65536"))?;
        let transformed = (self.transform != 0).then_some(transform);
        Ok(Regressor { targets, aggregate, transformed, newer: true })
    }

    /// Appends a tree to the table: a node before those that it leads to, the true branch first.
    /// `seen` has the last tree that reached each node.
    fn tree(
        &self,
        tree: u32,
        root: usize,
        seen: &mut [Option<u32>],
        table: &mut Table,
    ) -> Result<(), FormatError> {
        let start = table.modes.len();
        let mut pending: Vec<(Pending, Option<(usize, bool)>)> = vec![(self.root(root), None)];
        while let Some((next, parent)) = pending.pop() {
            let row = table.modes.len();
            let place = (row - start) as i32;
            match parent {
                Some((parent, true)) => table.true_ids[parent] = place,
                Some((parent, false)) => table.false_ids[parent] = place,
                None => {}
            }
            table.tree_ids.push(tree);
            table.node_ids.push(place as u32);
            table.true_ids.push(0);
            table.false_ids.push(0);
            let (feature, mode, value, tracks) = match next {
                Pending::Leaf(leaf) => {
                    table.class_tree_ids.push(tree);
                    table.class_node_ids.push(place as u32);
                    table.class_ids.push(self.leaf_targets[leaf]);
                    table.weights.values.push(self.leaf_weights[leaf]);
                    (0, Mode::Leaf, 0.0, 0)
                }
                Pending::Node(index) => {
                    if seen[index].replace(tree) == Some(tree) {
                        let what =
                            format!("node {index}, to which two others of tree {tree} lead, or it itself");
                        let advice = "every node may have one parent; onnxruntime refuses it too";
                        return Err(unsupported(Place::Field("nodes_truenodeids".to_owned()), &what, advice));
                    }
                    pending.push((self.branch(index, false), Some((row, false))));
                    pending.push((self.branch(index, true), Some((row, true))));
                    let tracks = self.tracks.get(index).copied().unwrap_or(0);
                    let mode = MODES[usize::from(self.modes[index])];
                    (self.features[index], mode, self.splits[index], tracks)
                }
            };
            table.features.push(feature);
            table.modes.push(mode);
            table.values.values.push(value);
            if !self.tracks.is_empty() {
                table.tracks.push(tracks);
            }
        }
        Ok(())
    }

    fn branch(&self, index: usize, yes: bool) -> Pending {
        let (ids, leafs) =
            if yes { (&self.true_ids, &self.true_leafs) } else { (&self.false_ids, &self.false_leafs) };
        match leafs[index] {
            0 => Pending::Node(ids[index] as usize),
            _ => Pending::Leaf(ids[index] as usize),
        }
    }

    fn root(&self, root: usize) -> Pending {
        match (self.branch(root, true), self.branch(root, false)) {
            (Pending::Leaf(yes), Pending::Leaf(no)) if yes == no => Pending::Leaf(yes),
            _ => Pending::Node(root),
        }
    }
}

/// The node with the trees of this table: other fields unchanged, attributes newly written.
pub(super) fn write(table: &Table, bytes: &[u8], node: Message<'_>) -> Result<Vec<u8>, FormatError> {
    let mut out = Vec::new();
    for field in node.fields() {
        let field = field?;
        if field.number != 5 {
            out.extend(&bytes[field.range]);
        }
    }
    let regressor = table.regressor.expect("a TreeEnsemble has targets");
    let lists = Lists::of(table)?;
    let number = table.values.number();
    // If trees were combined into one, its value is also the sum.
    let average = regressor.aggregate == Aggregate::Average;
    put_int(&mut out, "aggregate_function", if average { 0 } else { 1 });
    put_int(&mut out, "n_targets", regressor.targets.into());
    let transform = regressor.transformed.and_then(|name| TRANSFORMS.iter().position(|&known| known == name));
    put_int(&mut out, "post_transform", transform.unwrap_or(0) as i64);
    put_ints(&mut out, "tree_roots", &lists.roots);
    put_ints(&mut out, "nodes_featureids", &lists.features);
    put_tensor(&mut out, "nodes_modes", UINT8, lists.modes.len(), &lists.modes);
    let put_floats = |out: &mut Vec<u8>, name: &str, values: &[f64]| {
        put_tensor(out, name, element_type(number), values.len(), &little_endian(values, number));
    };
    put_floats(&mut out, "nodes_splits", &lists.splits);
    put_ints(&mut out, "nodes_truenodeids", &lists.true_ids);
    put_ints(&mut out, "nodes_trueleafs", &lists.true_leafs);
    put_ints(&mut out, "nodes_falsenodeids", &lists.false_ids);
    put_ints(&mut out, "nodes_falseleafs", &lists.false_leafs);
    if lists.tracks.iter().any(|&tracks| tracks != 0) {
        put_ints(&mut out, "nodes_missing_value_tracks_true", &lists.tracks);
    }
    put_ints(&mut out, "leaf_targetids", &lists.leaf_targets);
    put_floats(&mut out, "leaf_weights", &lists.leaf_weights);
    Ok(out)
}

fn put_attribute(out: &mut Vec<u8>, name: &str, kind: i64, fill: impl FnOnce(&mut Vec<u8>)) {
    let mut body = Vec::new();
    put_bytes(&mut body, 1, name.as_bytes());
    fill(&mut body);
    put_integer(&mut body, 20, kind);
    put_bytes(out, 5, &body);
}

fn put_int(out: &mut Vec<u8>, name: &str, value: i64) {
    put_attribute(out, name, INT, |body| put_integer(body, 3, value));
}

fn put_ints<T: Copy + Into<i64>>(out: &mut Vec<u8>, name: &str, values: &[T]) {
    put_attribute(out, name, INTS, |body| {
        values.iter().for_each(|&value| put_integer(body, 8, value.into()));
    });
}

fn put_tensor(out: &mut Vec<u8>, name: &str, element: i64, size: usize, raw: &[u8]) {
    put_attribute(out, name, TENSOR, |body| {
        let mut tensor = Vec::new();
        put_integer(&mut tensor, 1, size as i64);
        put_integer(&mut tensor, 2, element);
        put_bytes(&mut tensor, 8, name.as_bytes());
        put_bytes(&mut tensor, 9, raw);
        put_bytes(body, 5, &tensor);
    });
}

/// The weights of a tree's leaves: for each position of a leaf, targets and weights.
type LeafWeights = BTreeMap<usize, Vec<(u32, f64)>>;

impl Lists {
    /// The lists of a table's trees.
    fn of(table: &Table) -> Result<Self, FormatError> {
        let shape = Shape::new(table)?;
        let mut weights: Vec<LeafWeights> = vec![LeafWeights::new(); shape.runs.len()];
        for entry in 0..table.class_ids.len() {
            let (tree, position) = shape.leaf_of(table, entry).expect("weights of leaves that are there");
            let target = (table.class_ids[entry], table.weights.values[entry]);
            weights[tree].entry(position).or_default().push(target);
        }
        let mut lists = Self::default();
        // A tree whose leaves have several targets becomes one tree for each target.
        let mut trees: Vec<(usize, LeafWeights)> = Vec::new();
        for (tree, weights) in weights.into_iter().enumerate() {
            let mut targets: Vec<u32> = weights.values().flatten().map(|&(target, _)| target).collect();
            targets.sort_unstable();
            targets.dedup();
            if weights.values().all(|weights| weights.len() <= 1) {
                trees.push((tree, weights));
                continue;
            }
            for target in targets {
                let own = |(&position, weights): (&usize, &Vec<(u32, f64)>)| {
                    let weight = weights.iter().find(|&&(other, _)| other == target);
                    (position, vec![(target, weight.map_or(0.0, |&(_, weight)| weight))])
                };
                trees.push((tree, weights.iter().map(own).collect()));
            }
        }
        // Trees of one leaf come first, so that node and leaf have the same number: older releases
        // of onnxruntime use the leaf with the root's own number.
        lists.roots = vec![0; trees.len()];
        let is_leaf = |tree: usize| table.modes[shape.runs[tree].start] == Mode::Leaf;
        for leaves in [true, false] {
            for (at, (tree, weights)) in
                trees.iter().enumerate().filter(|(_, tree)| is_leaf(tree.0) == leaves)
            {
                let root = match leaves {
                    true => lists.add_single_leaf(weights.get(&0)),
                    false => lists.add_tree(table, &shape, *tree, weights)?,
                };
                lists.roots[at] = root;
            }
        }
        Ok(lists)
    }

    fn add_leaf(&mut self, weights: Option<&Vec<(u32, f64)>>) -> u32 {
        // A leaf without a weight adds nothing.
        let (target, weight) = weights.and_then(|weights| weights.first().copied()).unwrap_or((0, 0.0));
        self.leaf_targets.push(target);
        self.leaf_weights.push(weight);
        self.leaf_weights.len() as u32 - 1
    }

    fn add_node(&mut self, feature: i32, mode: u8, split: f64, tracks: i32) -> usize {
        self.features.push(feature);
        self.modes.push(mode);
        self.splits.push(split);
        self.tracks.push(tracks);
        self.true_ids.push(0);
        self.true_leafs.push(0);
        self.false_ids.push(0);
        self.false_leafs.push(0);
        self.modes.len() - 1
    }

    fn set_branch(&mut self, node: usize, yes: bool, (id, leaf): (u32, bool)) {
        let (ids, leafs) = match yes {
            true => (&mut self.true_ids, &mut self.true_leafs),
            false => (&mut self.false_ids, &mut self.false_leafs),
        };
        (ids[node], leafs[node]) = (id, leaf.into());
    }

    fn add_single_leaf(&mut self, weights: Option<&Vec<(u32, f64)>>) -> u32 {
        let leaf = self.add_leaf(weights);
        let node = self.add_node(0, 0, 0.0, 0);
        [true, false].into_iter().for_each(|yes| self.set_branch(node, yes, (leaf, true)));
        node as u32
    }

    fn add_tree(
        &mut self,
        table: &Table,
        shape: &Shape,
        tree: usize,
        weights: &LeafWeights,
    ) -> Result<u32, FormatError> {
        let run = shape.runs[tree].clone();
        let child =
            |row: usize, id: i32| shape.child(table, tree, row, id).map(|node| run.start + node.index());
        let root = self.modes.len();
        let mut pending: Vec<(usize, Option<(usize, bool)>)> = vec![(run.start, None)];
        while let Some((row, parent)) = pending.pop() {
            let placed = if table.modes[row] == Mode::Leaf {
                (self.add_leaf(weights.get(&(row - run.start))), true)
            } else {
                let mode = MODES.iter().position(|&mode| mode == table.modes[row]).expect("no leaf") as u8;
                let split = table.values.values[row];
                let tracks = table.tracks.get(row).copied().unwrap_or(0);
                let node = self.add_node(table.features[row], mode, split, tracks);
                // A branch that tests for categories share is written once for each test.
                pending.push((child(row, table.true_ids[row])?, Some((node, true))));
                pending.push((child(row, table.false_ids[row])?, Some((node, false))));
                (node as u32, false)
            };
            if let Some((parent, yes)) = parent {
                self.set_branch(parent, yes, placed);
            }
        }
        // Older releases of onnxruntime read a root whose branches have the same number as a leaf.
        // If one branch is a node and the other a leaf with the same number, the leaf is therefore
        // listed a second time.
        if self.true_ids[root] == self.false_ids[root] {
            let yes = self.true_leafs[root] != 0;
            let leaf = if yes { self.true_ids[root] } else { self.false_ids[root] } as usize;
            let again = self.add_leaf(Some(&vec![(self.leaf_targets[leaf], self.leaf_weights[leaf])]));
            self.set_branch(root, yes, (again, true));
        }
        Ok(root as u32)
    }
}
