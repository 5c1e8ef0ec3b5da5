//! Edits: a new table with the rows of the trees that stay and their new weights.
//!
//! onnxruntime derives three things from the weights, which an edit must not change:
//! - the class ids in use (with two labels they choose the rule),
//! - whether any weight is negative (with one id this chooses between 0.5 and 0); base values do
//!   not count,
//! - that every class is certain to get a weight.
//!
//! If the remaining trees do not ensure this, a tree that adds nothing is appended.

use secateur_model::{Ensemble, FeatureId, GroupId, Node, NodeId, NumberType, Output, Test, Tree, TreeId};

use super::model::{Form, Shape};
use super::scaling::{Originals, Scaling};
use super::table::{Aggregate, Floats, Mode, Table};
use crate::error::EditError;
use crate::{Edit, TreeEdit};

/// The smallest negative weight that no processor flushes to zero.
const NEGATIVE: f64 = -(f32::MIN_POSITIVE as f64);

/// The table after an edit.
pub(super) fn changed(
    table: &Table,
    shape: &Shape,
    form: Form,
    ensemble: &Ensemble,
    edit: &Edit,
    scaled: Scaled<'_>,
) -> Result<Table, EditError> {
    let mut change = Change {
        scaled,
        old: table,
        shape,
        form,
        ensemble,
        new: table.without_trees(),
        certain: vec![false; ensemble.group_count()],
    };
    let entries = change.entries_by_tree();
    let negative = table.has_negative_weight();
    for step in &edit.trees {
        let tree = step.source();
        let before = change.new.weights.values.len();
        let leaves = step.folded_leaves_as(ensemble, table.weights.number())?;
        match (step, leaves) {
            (TreeEdit::Replace { with, .. }, Some(leaves)) => change.fresh_tree(tree, with, &leaves)?,
            (_, leaves) => change.same_tree(tree, &entries[tree.index()], leaves.as_deref()),
        }
        let turns = || change.new.weights.values[before..].iter().any(|&weight| weight < 0.0);
        if matches!(form, Form::OneScore { .. }) && !negative && turns() {
            let what = "a negative weight: onnxruntime would then decide at 0 and no more at 0.5";
            return Err(EditError::TreeContent { tree, what });
        }
    }
    if let Some(intercepts) = &edit.intercepts {
        change.set_intercepts(intercepts, negative)?;
    }
    change.keep_certain();
    if matches!(form, Form::OneScore { .. }) && negative && !change.new.has_negative_weight() {
        change.never_negative_tree();
    }
    Ok(change.new)
}

impl Table {
    /// Everything but the trees.
    fn without_trees(&self) -> Self {
        let empty = |column: &Floats| Floats { values: Vec::new(), ..*column };
        Self {
            values: empty(&self.values),
            hit_rates: empty(&self.hit_rates),
            weights: empty(&self.weights),
            base_values: self.base_values.clone(),
            regressor: self.regressor,
            ..Self::default()
        }
    }
}

/// The arithmetic between the model's thresholds and the file's.
#[derive(Clone, Copy)]
pub(super) struct Scaled<'a> {
    pub(super) scaling: &'a Scaling,
    pub(super) originals: &'a Originals,
}

struct Change<'a> {
    scaled: Scaled<'a>,
    old: &'a Table,
    shape: &'a Shape,
    form: Form,
    ensemble: &'a Ensemble,
    new: Table,
    /// The sums to which every leaf of some tree adds.
    certain: Vec<bool>,
}

/// A node that is not in the file yet.
struct Row {
    feature: i32,
    mode: Mode,
    value: f64,
    yes: usize,
    no: usize,
    tracks: bool,
}

impl Row {
    const LEAF: Self = Self { feature: 0, mode: Mode::Leaf, value: 0.0, yes: 0, no: 0, tracks: false };
}

impl Change<'_> {
    /// For each tree the positions of its weights in the file.
    fn entries_by_tree(&self) -> Vec<Vec<u32>> {
        let mut entries = vec![Vec::new(); self.shape.runs.len()];
        for entry in 0..self.old.class_ids.len() {
            let (tree, _) = self.shape.leaf_of(self.old, entry).expect("checked when the file was read");
            entries[tree].push(entry as u32);
        }
        entries
    }

    fn next_tree(&self) -> u32 {
        self.new.tree_ids.last().map_or(0, |&last| last + 1)
    }

    /// Copies a tree. Its nodes are numbered by their position, so that no id exceeds what
    /// onnxruntime accepts when other trees are removed.
    fn same_tree(&mut self, tree: TreeId, entries: &[u32], leaves: Option<&[f64]>) {
        let (old, id) = (self.old, self.next_tree());
        let run = self.shape.runs[tree.index()].clone();
        let renumbered = |child: i32| {
            let position = self.shape.position(old, tree.index(), child.into());
            position.expect("checked when the file was read") as i32
        };
        for row in run.clone() {
            let leaf = old.modes[row] == Mode::Leaf;
            let child = |child: i32| if leaf { child } else { renumbered(child) };
            self.new.tree_ids.push(id);
            self.new.node_ids.push((row - run.start) as u32);
            self.new.features.push(old.features[row]);
            self.new.modes.push(old.modes[row]);
            self.new.values.values.push(old.values.values[row]);
            self.new.true_ids.push(child(old.true_ids[row]));
            self.new.false_ids.push(child(old.false_ids[row]));
        }
        if old.hit_rates.present {
            self.new.hit_rates.values.extend(&old.hit_rates.values[run.clone()]);
        }
        self.extend_tracks(old.tracks.get(run.clone()).unwrap_or_default(), run.len());
        let mut counts = vec![0; self.certain.len()];
        for &entry in entries {
            let entry = entry as usize;
            let (_, position) = self.shape.leaf_of(old, entry).expect("checked when the file was read");
            let group = self.form.group(old.class_ids[entry]);
            let mut weight = old.weights.values[entry];
            if let Node::Leaf(leaf) = self.ensemble.tree(tree).node(NodeId::new(position)) {
                counts[group.index()] += 1;
                if let Some(leaves) = leaves {
                    let tree = self.ensemble.tree(tree);
                    let width = tree.leaf(leaf).len();
                    let slot = if tree.output() == Output::All { group.index() } else { 0 };
                    weight = leaves[leaf.index() * width + slot];
                }
            }
            self.push_weight(id, position, old.class_ids[entry], weight);
        }
        let leaf_count = self.ensemble.tree(tree).leaf_count();
        self.certain.iter_mut().zip(counts).for_each(|(certain, count)| *certain |= count == leaf_count);
    }

    /// Writes a new tree.
    fn fresh_tree(&mut self, place: TreeId, tree: &Tree, leaves: &[f64]) -> Result<(), EditError> {
        let mut positions = vec![0; tree.node_count()];
        let used = tree.nodes().filter(|(_, node)| *node != Node::Unused);
        used.enumerate().for_each(|(position, (node, _))| positions[node.index()] = position);
        let count = tree.nodes().filter(|(_, node)| *node != Node::Unused).count();
        let mut rows = Vec::with_capacity(count);
        // The later tests of chains come after all other nodes.
        let mut chained = Vec::new();
        let id = self.next_tree();
        for (_, node) in tree.nodes() {
            let (split, left, right) = match node {
                Node::Unused => continue,
                Node::Leaf(leaf) => {
                    let width = leaves.len() / tree.leaf_count();
                    let values = &leaves[leaf.index() * width..][..width];
                    let position = rows.len();
                    match tree.output() {
                        Output::Group(group) => {
                            self.push_weight(id, position, self.form.class(group), values[0]);
                            self.certain[group.index()] = true;
                        }
                        Output::All if self.is_newer() && self.is_average() => {
                            // A copy for each target would change the number of trees.
                            return Err(content(place, "values for several targets in a leaf of an average"));
                        }
                        Output::All => {
                            for (group, &value) in values.iter().enumerate() {
                                let class = self.form.class(GroupId::new(group));
                                self.push_weight(id, position, class, value);
                                self.certain[group] = true;
                            }
                        }
                    }
                    rows.push(Row::LEAF);
                    continue;
                }
                Node::Split { split, left, right } => (split, left, right),
            };
            let (left, right) = (positions[left.index()], positions[right.index()]);
            let feature = split.feature.0 as i32;
            let row = |mode, value, yes, no, tracks| Row { feature, mode, value, yes, no, tracks };
            let (mode, value) = match split.test {
                Test::LessOrEqual { threshold } => {
                    (Mode::LessOrEqual, self.threshold(place, feature, threshold, false)?)
                }
                Test::Less { threshold } => (Mode::Less, self.threshold(place, feature, threshold, true)?),
                Test::Equal { value } if self.old.values.number().round(value) == value => {
                    (Mode::Equal, value)
                }
                Test::Member { set: &[first, ref others @ ..], members_left } => {
                    let (yes, no) = if members_left { (left, right) } else { (right, left) };
                    let tracks = split.missing_left == members_left;
                    let next = if others.is_empty() { no } else { count + chained.len() };
                    let head = row(Mode::Equal, first.into(), yes, next, tracks);
                    rows.push(head);
                    for (index, &code) in others.iter().enumerate() {
                        let behind = count + chained.len() + 1;
                        let next = if index + 1 == others.len() { no } else { behind };
                        chained.push(row(Mode::Equal, code.into(), yes, next, tracks));
                    }
                    continue;
                }
                Test::Member { .. } => return Err(content(place, "a split on no category")),
                Test::Equal { .. } => return Err(content(place, "a test for a number of another type")),
                Test::LessOrEqualButZero { .. } => {
                    return Err(content(place, "a split that sends zero to a side of its own"));
                }
            };
            rows.push(row(mode, value, left, right, split.missing_left));
        }
        rows.append(&mut chained);
        self.push_rows(id, &rows);
        Ok(())
    }

    /// A threshold in the file's type that gives the same answer for every input.
    fn threshold(&self, tree: TreeId, feature: i32, threshold: f64, strict: bool) -> Result<f64, EditError> {
        let number = self.old.values.number();
        if !self.scaled.scaling.is_empty() {
            // A threshold that the file already has; otherwise the scaled threshold, which is
            // equivalent if the file's type holds it.
            let known = self.scaled.originals.get(&(feature, threshold.to_bits(), strict)).copied();
            let stored = known.unwrap_or_else(|| self.scaled.scaling.apply(feature as usize, threshold));
            return match number.round(stored) == stored {
                true => Ok(stored),
                false => {
                    Err(content(tree, "a threshold that the file's type does not hold behind the scaler"))
                }
            };
        }
        let stored = match number.round(threshold) {
            same if same == threshold => same,
            // For every x of the type: x <= t iff x <= the next value below t; x < t iff x < the
            // next value above t.
            _ if self.ensemble.intake().number == NumberType::F32 => match strict {
                false => number.floor(threshold),
                true => -number.floor(-threshold),
            },
            _ => return Err(content(tree, "a threshold that is not an f32")),
        };
        Ok(stored)
    }

    fn push_rows(&mut self, id: u32, rows: &[Row]) {
        for (position, row) in rows.iter().enumerate() {
            self.new.tree_ids.push(id);
            self.new.node_ids.push(position as u32);
            self.new.features.push(row.feature);
            self.new.modes.push(row.mode);
            self.new.values.values.push(row.value);
            self.new.true_ids.push(row.yes as i32);
            self.new.false_ids.push(row.no as i32);
        }
        if self.old.hit_rates.present {
            self.new.hit_rates.values.resize(self.new.tree_ids.len(), 1.0);
        }
        let tracks: Vec<i32> = rows.iter().map(|row| row.tracks.into()).collect();
        let tracks = if tracks.contains(&1) { &tracks[..] } else { &[] };
        self.extend_tracks(tracks, rows.len());
    }

    /// Appends to a column that exists only if some row needs it or the file had it.
    fn extend_tracks(&mut self, tracks: &[i32], rows: usize) {
        if self.old.tracks.is_empty() && self.new.tracks.is_empty() && tracks.is_empty() {
            return;
        }
        let before = self.new.tree_ids.len() - rows;
        self.new.tracks.resize(before, 0);
        self.new.tracks.extend(tracks);
        self.new.tracks.resize(before + rows, 0);
    }

    fn push_weight(&mut self, tree: u32, position: usize, class: u32, weight: f64) {
        self.new.class_tree_ids.push(tree);
        self.new.class_node_ids.push(position as u32);
        self.new.class_ids.push(class);
        self.new.weights.values.push(weight);
    }

    fn set_intercepts(&mut self, intercepts: &[f64], negative: bool) -> Result<(), EditError> {
        let takes = self.form.takes_base_values() && !self.is_newer();
        if self.is_average() && intercepts.iter().any(|&value| value != 0.0) {
            return Err(EditError::NoIntercept { model: "an average of trees" });
        }
        let column =
            if takes && self.old.base_values.present { &self.old.base_values } else { &self.old.weights };
        let number = column.number();
        let rounded: Vec<f64> = intercepts.iter().map(|&value| number.round(value)).collect();
        if let Some((_, &value)) = rounded.iter().zip(intercepts).find(|(rounded, _)| !rounded.is_finite()) {
            return Err(EditError::InterceptValue { value });
        }
        let zero = rounded.iter().all(|&value| value == 0.0);
        if takes {
            if !zero || self.old.base_values.present {
                self.new.base_values = Floats { values: rounded, tensor: column.tensor, present: true };
            }
            return Ok(());
        }
        if zero {
            return Ok(());
        }
        if matches!(self.form, Form::OneScore { .. }) && !negative && rounded[0] < 0.0 {
            return Err(EditError::NoIntercept {
                model: "weights for class id 1 that are all positive, if it is below zero",
            });
        }
        self.constant_tree(&rounded);
        Ok(())
    }

    /// Is the node a `TreeEnsemble`?
    fn is_newer(&self) -> bool {
        self.old.regressor.is_some_and(|regressor| regressor.newer)
    }

    fn is_average(&self) -> bool {
        self.old.regressor.is_some_and(|regressor| regressor.aggregate == Aggregate::Average)
    }

    /// Appends a tree of one leaf.
    fn constant_tree(&mut self, values: &[f64]) {
        let id = self.next_tree();
        self.push_rows(id, &[Row::LEAF]);
        for (group, &value) in values.iter().enumerate() {
            self.push_weight(id, 0, self.form.class(GroupId::new(group)), value);
            self.certain[group] = true;
        }
    }

    /// Ensures that every class is certain to get a weight, and that there is a tree.
    fn keep_certain(&mut self) {
        if self.form == Form::ScorePerClass && !self.certain.iter().all(|&certain| certain) {
            let base = &mut self.new.base_values;
            if base.values.is_empty() {
                *base = Floats {
                    values: vec![0.0; self.certain.len()],
                    tensor: self.old.weights.tensor,
                    present: true,
                };
            }
            self.certain.fill(true);
        }
        // With several targets, a target without a weight is 0 and loses its base value, if it has
        // one.
        let base = |target: usize| self.new.base_values.values.get(target).is_some_and(|&value| value != 0.0);
        let mut all = self.certain.iter().enumerate();
        let certain = match self.form {
            Form::Targets => all.all(|(target, &certain)| certain || !base(target)),
            _ => all.all(|(_, &certain)| certain),
        };
        if !certain || self.new.tree_ids.is_empty() {
            self.constant_tree(&vec![0.0; self.certain.len()]);
        }
    }

    /// Appends a tree with a negative weight that no input reaches: nothing is below -inf.
    fn never_negative_tree(&mut self) {
        let id = self.next_tree();
        let class = self.form.class(GroupId(0));
        let feature = FeatureId(0).0 as i32;
        let split = Row { feature, mode: Mode::Less, value: f64::NEG_INFINITY, yes: 1, no: 2, tracks: false };
        self.push_rows(id, &[split, Row::LEAF, Row::LEAF]);
        self.push_weight(id, 1, class, NEGATIVE);
        self.push_weight(id, 2, class, 0.0);
    }
}

fn content(tree: TreeId, what: &'static str) -> EditError {
    EditError::TreeContent { tree, what }
}
