//! Turns the attributes into the model that onnxruntime executes.
//!
//! - A tree's root is the first of its nodes in the file.
//! - A node tests `x <= t`, `<`, `>=`, `>`, `==` or `!=`. The answer for NaN is no, except that it
//!   is yes for `!=` and if the node says that missing values track the true branch.
//! - Converters write a set of categories as a chain of `==` on one feature whose true branches are
//!   one shared node: this is read as one membership test. Any other shared node is refused.
//! - A regressor has a sum for each target and no labels; an average is divided by the number of
//!   trees. If the result is the smallest or the largest of the trees' values, the trees have been
//!   combined into one before (`overlay`), and the sum is that tree's value.
//! - Sums are in the type of the ensemble's input, f32 or f64, from zero, `base_values` last.
//! - Two labels and weights for one class id: label 1 iff the sum is above 0.5 if no weight in the
//!   file is negative, or above 0 otherwise. Two labels and two ids: label 1 iff the sum of class 1
//!   is above 0. Three or more labels: the first with the highest sum.
//!
//! onnxruntime treats a class that gets no weight from any tree specially (it is left out of the
//! argmax, and the base value is not added), so every class must be certain to get one.

use std::collections::{BTreeMap, BTreeSet};

use secateur_model::{
    Accumulation, Average, Categories, CategoryRule, ClassLabels, Decision, Ensemble, EnsembleBuilder,
    FeatureId, Features, GroupId, Intake, InterceptPosition, MAX_FEATURES, NodeId, NumberType, Order, Output,
    Split, Test, TreeBuilder, TreeId, Value,
};

use super::graph::{Operator, Site, unsupported};
use super::table::{Aggregate, Mode, Regressor, Table};
use crate::error::{FormatError, Place, Problem};

/// How weights become a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Two labels, weights for this class id only.
    OneScore { class: u32 },
    /// Two labels, weights for both ids.
    TwoScores,
    /// Three or more labels.
    ScorePerClass,
    /// A regressor: a value for each target, no labels.
    Targets,
}

impl Form {
    pub(super) fn of(table: &Table) -> Result<Self, FormatError> {
        if let Some(regressor) = &table.regressor {
            return Self::of_regressor(table, regressor);
        }
        let labels = table.label_count();
        let place = || Place::Field("class_ids".to_owned());
        if labels < 2 {
            let place = Place::Field("classlabels_int64s, classlabels_strings".to_owned());
            let found = format!("a list of {labels} labels");
            return Err(FormatError::new(place, Problem::Value { found, expected: "two labels or more" }));
        }
        if let Some(index) = table.class_ids.iter().position(|&class| class as usize >= labels) {
            let place = Place::Field(format!("class_ids[{index}]"));
            let found = format!("class {} of {labels}", table.class_ids[index]);
            return Err(FormatError::new(
                place,
                Problem::Value { found, expected: "the position of a label" },
            ));
        }
        match (labels, table.class_ids.first()) {
            (_, None) => Err(FormatError::new(place(), Problem::Missing)),
            (2, Some(&class)) if table.class_ids.iter().all(|&other| other == class) => {
                Ok(Self::OneScore { class })
            }
            (2, _) => Ok(Self::TwoScores),
            _ => Ok(Self::ScorePerClass),
        }
    }

    fn of_regressor(table: &Table, regressor: &Regressor) -> Result<Self, FormatError> {
        let targets = regressor.targets;
        if targets == 0 {
            return Err(FormatError::new(Place::Field("n_targets".to_owned()), Problem::Missing));
        }
        if let Some(index) = table.class_ids.iter().position(|&target| target >= targets) {
            let place = Place::Field(format!("target_ids[{index}]"));
            let found = format!("target {} of {targets}", table.class_ids[index]);
            return Err(FormatError::new(place, Problem::Value { found, expected: "a target" }));
        }
        // With one target onnxruntime applies none of the transforms except this one.
        let ignored = targets == 1 && regressor.transformed != Some("PROBIT");
        if let Some(transform) = regressor.transformed.filter(|_| !ignored) {
            let what = format!("a regressor with the transform {transform}");
            let advice = "the bits of what onnxruntime then shows depend on the processor; write NONE, and transform \
                          the values where they are used";
            return Err(unsupported(Place::Field("post_transform".to_owned()), &what, advice));
        }
        let shifted = table.base_values.values.iter().any(|&value| value != 0.0);
        if regressor.aggregate == Aggregate::Average && shifted {
            let what = "an average of trees with base values";
            let advice = "onnxruntime adds them after the division: put them into the leaves";
            return Err(unsupported(Place::Field("aggregate_function".to_owned()), what, advice));
        }
        Ok(Self::Targets)
    }

    /// The sum that a class's weights go to.
    pub(super) fn group(self, class: u32) -> GroupId {
        match self {
            Self::OneScore { .. } => GroupId(0),
            _ => GroupId(class),
        }
    }

    /// The class whose weights go to a sum.
    pub(super) fn class(self, group: GroupId) -> u32 {
        match self {
            Self::OneScore { class } => class,
            _ => group.0,
        }
    }

    pub(super) fn group_count(self, table: &Table) -> usize {
        match self {
            Self::OneScore { .. } => 1,
            Self::Targets => table.regressor.map_or(0, |regressor| regressor.targets as usize),
            _ => table.label_count(),
        }
    }

    /// Does onnxruntime add base values to the sums as ONNX specifies? With weights for class id 1
    /// it does not.
    pub(super) fn takes_base_values(self) -> bool {
        matches!(self, Self::OneScore { class: 0 } | Self::ScorePerClass | Self::Targets)
    }
}

impl Table {
    pub(super) fn label_count(&self) -> usize {
        self.integer_labels.len().max(self.text_labels.len())
    }

    /// Is some weight negative? Then onnxruntime compares with 0 instead of 0.5.
    pub(super) fn has_negative_weight(&self) -> bool {
        self.weights.values.iter().any(|&weight| weight < 0.0)
    }
}

/// The ensemble of a table.
pub(super) fn build(table: &Table, site: &Site) -> Result<Ensemble, FormatError> {
    let form = Form::of(table)?;
    let classes = labels(table, form)?;
    let shape = Shape::new(table)?;
    let groups = form.group_count(table);
    let intercepts = intercepts(table, form, groups)?;
    let decision = match form {
        Form::OneScore { .. } => {
            let threshold = if table.has_negative_weight() { 0.0 } else { 0.5 };
            Decision::Threshold { group: GroupId(0), threshold, strict: true }
        }
        Form::TwoScores => Decision::Threshold { group: GroupId(1), threshold: 0.0, strict: true },
        Form::ScorePerClass => Decision::Argmax,
        Form::Targets if site.number == NumberType::F64 && site.operator != Operator::Newer => {
            Decision::Scores(Value::ScoreAsF32)
        }
        Form::Targets => Decision::Scores(Value::Score),
    };
    let trees = shape.runs.len() as f64;
    let average = table.regressor.is_some_and(|regressor| regressor.aggregate == Aggregate::Average);
    // With several targets, a target for which no reached leaf has a weight gets 0, whatever its
    // base value.
    let base = |group: usize| table.base_values.values.get(group).is_some_and(|&value| value != 0.0);
    let at_once = |group: usize| match form {
        Form::ScorePerClass => !table.base_values.values.is_empty(),
        Form::Targets => groups == 1 || !base(group),
        _ => false,
    };
    let intake = Intake { number: site.input, missing: true, infinities: true, zero_window: None };
    let accumulation = Accumulation {
        number: site.number,
        intercept: InterceptPosition::Last,
        order: Order::Any,
        average: average.then_some(Average { divisor: trees, in_raw_scores: true }),
    };
    let features = features(table, &shape, site)?;
    let mut builder =
        EnsembleBuilder::new(features.clone(), intake, classes, intercepts, accumulation, decision)?;
    let weights = Weights::new(table, &shape, form)?;
    let mut certain: Vec<bool> = (0..groups).map(at_once).collect();
    for tree in 0..shape.runs.len() {
        let output = weights.output(tree);
        let nodes = shape.tree(table, &features, &weights, tree, output, groups)?;
        builder.tree(nodes, output, 1.0)?;
        weights.mark_certain(table, &shape, tree, &mut certain);
    }
    if let Some(group) = certain.iter().position(|&certain| !certain) {
        let class = form.class(GroupId::new(group));
        let kind = if form == Form::Targets { "target" } else { "class" };
        let what =
            format!("an ensemble in which no tree has a weight for {kind} {class} in all of its leaves");
        let advice = "onnxruntime has rules of its own for inputs without one; add zero weights";
        return Err(unsupported(Place::Field("class_ids".to_owned()), &what, advice));
    }
    Ok(builder.build())
}

fn labels(table: &Table, form: Form) -> Result<ClassLabels, FormatError> {
    match (&table.text_labels[..], &table.integer_labels[..]) {
        ([_, ..], [_, ..]) => Err(unsupported(
            Place::Field("classlabels_strings".to_owned()),
            "a model with labels of both kinds",
            "keep the integers or the strings",
        )),
        _ if form == Form::Targets => Ok(ClassLabels::Unnamed(0)),
        ([], _) if form == Form::TwoScores => Ok(ClassLabels::Integers(vec![0, 1])),
        ([], labels) => Ok(ClassLabels::Integers(labels.to_vec())),
        (labels, []) => Ok(ClassLabels::Strings(labels.to_vec())),
    }
}

fn intercepts(table: &Table, form: Form, groups: usize) -> Result<Vec<f64>, FormatError> {
    let values = &table.base_values.values;
    if values.is_empty() {
        return Ok(vec![0.0; groups]);
    }
    if form.takes_base_values() && values.len() == groups {
        return Ok(values.clone());
    }
    let what = format!("a list of {} base values for this model", values.len());
    let advice = "onnxruntime reads it in a way of its own; with two labels give one base value and weights \
                  for class id 0 only, with more labels one for each";
    Err(unsupported(Place::Field("base_values".to_owned()), &what, advice))
}

/// The columns: as many as the graph says, or up to the last one that a split uses. Columns that
/// are only compared for equality with whole numbers hold categories.
fn features(table: &Table, shape: &Shape, site: &Site) -> Result<Features, FormatError> {
    let mut used: BTreeMap<i32, bool> = BTreeMap::new();
    for (row, mode) in table.modes.iter().enumerate().filter(|&(_, &mode)| mode != Mode::Leaf) {
        let feature = table.features[row];
        if feature < 0 {
            let found = format!("feature {feature}");
            let problem = Problem::Value { found, expected: "the position of a column" };
            return Err(FormatError::new(shape.place(row), problem));
        }
        let value = table.values.values[row];
        let category = matches!(mode, Mode::Equal | Mode::NotEqual) && whole().code(value).is_some();
        *used.entry(feature).or_insert(true) &= category;
    }
    let named = used.last_key_value().map_or(1, |(&last, _)| last as u64 + 1);
    let count = site.columns.unwrap_or(named);
    let count =
        u32::try_from(count).ok().filter(|&count| count as usize <= MAX_FEATURES).ok_or_else(|| {
            let place = Place::Field("graph.input".to_owned());
            FormatError::new(
                place,
                Problem::Value { found: count.to_string(), expected: "a number of columns" },
            )
        })?;
    let mut features = Features::unnamed(count);
    for (&feature, _) in used.iter().filter(|&(_, &category)| category) {
        features.set_categories(FeatureId(feature as u32), whole());
    }
    Ok(features)
}

fn whole() -> Categories {
    Categories { rule: CategoryRule::Whole, unseen_is_missing: false, labels: None }
}

/// The positions of the trees and their nodes in the table.
pub(super) struct Shape {
    pub(super) runs: Vec<std::ops::Range<usize>>,
    /// For each tree id, its position.
    trees: BTreeMap<u32, usize>,
    /// The rows of each tree in the order of their node ids, if that is not the order of the file.
    sorted: Vec<Option<Vec<u32>>>,
}

impl Shape {
    pub(super) fn new(table: &Table) -> Result<Self, FormatError> {
        let runs = table.runs();
        let mut trees = BTreeMap::new();
        let mut sorted = Vec::with_capacity(runs.len());
        for (tree, run) in runs.iter().enumerate() {
            let place =
                |row: usize| Place::Node { tree: TreeId::new(tree), node: NodeId::new(row - run.start) };
            let id = table.tree_ids[run.start];
            if trees.insert(id, tree).is_some() {
                let what = format!("tree id {id} in two places of the list");
                return Err(unsupported(place(run.start), &what, "list the nodes of a tree together"));
            }
            let ids = &table.node_ids[run.clone()];
            if ids.is_sorted_by(|a, b| a < b) {
                sorted.push(None);
                continue;
            }
            let mut rows: Vec<u32> = (0..run.len() as u32).collect();
            rows.sort_by_key(|&row| ids[row as usize]);
            if let Some(pair) = rows.windows(2).find(|pair| ids[pair[0] as usize] == ids[pair[1] as usize]) {
                let key = format!("node id {}", ids[pair[0] as usize]);
                let problem = Problem::DuplicateKey { key };
                return Err(FormatError::new(place(run.start + pair[1] as usize), problem));
            }
            sorted.push(Some(rows));
        }
        Ok(Self { runs, trees, sorted })
    }

    pub(super) fn place(&self, row: usize) -> Place {
        let tree = self.runs.partition_point(|run| run.end <= row);
        Place::Node { tree: TreeId::new(tree), node: NodeId::new(row - self.runs[tree].start) }
    }

    /// The position in its tree of the node with this id.
    pub(super) fn position(&self, table: &Table, tree: usize, id: i64) -> Option<usize> {
        let id = u32::try_from(id).ok()?;
        let ids = &table.node_ids[self.runs[tree].clone()];
        match &self.sorted[tree] {
            None => ids.binary_search(&id).ok(),
            Some(rows) => {
                let found = rows.binary_search_by_key(&id, |&row| ids[row as usize]).ok()?;
                Some(rows[found] as usize)
            }
        }
    }

    /// The tree and the position in it of a weight's leaf.
    pub(super) fn leaf_of(&self, table: &Table, entry: usize) -> Option<(usize, usize)> {
        let tree = *self.trees.get(&table.class_tree_ids[entry])?;
        Some((tree, self.position(table, tree, table.class_node_ids[entry].into())?))
    }

    /// The position of a child, by its id, of the node in this row.
    pub(super) fn child(
        &self,
        table: &Table,
        tree: usize,
        row: usize,
        id: i32,
    ) -> Result<NodeId, FormatError> {
        match self.position(table, tree, id.into()) {
            Some(position) => Ok(NodeId::new(position)),
            None => {
                let found = format!("child {id}");
                let problem = Problem::Value { found, expected: "the id of a node of this tree" };
                Err(FormatError::new(self.place(row), problem))
            }
        }
    }

    fn tree(
        &self,
        table: &Table,
        features: &Features,
        weights: &Weights,
        tree: usize,
        output: Output,
        groups: usize,
    ) -> Result<TreeBuilder, FormatError> {
        let run = self.runs[tree].clone();
        let mut chains = Chains::new(self, table, features, tree)?;
        let mut nodes = TreeBuilder::with_capacity(run.len());
        let mut values = vec![0.0; if output == Output::All { groups } else { 1 }];
        for row in run.clone() {
            let position = row - run.start;
            let mode = table.modes[row];
            if chains.inner.contains(&position) {
                nodes.unused();
                continue;
            }
            if mode == Mode::Leaf {
                weights.leaf(tree, position, &mut values);
                nodes.leaf(&values);
                continue;
            }
            let yes = self.child(table, tree, row, table.true_ids[row])?;
            let no = self.child(table, tree, row, table.false_ids[row])?;
            let feature = FeatureId(table.features[row] as u32);
            let number = table.values.values[row];
            let tracks = table.tracks.get(row) == Some(&1);
            let chain = chains.heads.remove(&position);
            let (test, missing_left, left, right) = match mode {
                Mode::Equal | Mode::NotEqual if features.categories(feature).is_some() => {
                    let equal = mode == Mode::Equal;
                    let chain = chain.unwrap_or_else(|| Chain::single(number, tracks, no));
                    let test = Test::Member { set: &chain.set, members_left: equal };
                    let split = Split { feature, test, missing_left: chain.tracks || !equal };
                    nodes.split(split, yes, chain.exit);
                    continue;
                }
                Mode::LessOrEqual => (Test::LessOrEqual { threshold: number }, tracks, yes, no),
                Mode::Less => (Test::Less { threshold: number }, tracks, yes, no),
                Mode::Greater => (Test::LessOrEqual { threshold: number }, !tracks, no, yes),
                Mode::GreaterOrEqual => (Test::Less { threshold: number }, !tracks, no, yes),
                Mode::Equal => (Test::Equal { value: number }, tracks, yes, no),
                Mode::NotEqual | Mode::Leaf => (Test::Equal { value: number }, false, no, yes),
            };
            nodes.split(Split { feature, test, missing_left }, left, right);
        }
        Ok(nodes)
    }
}

/// Chains of equality tests that share their true branch, in one tree.
struct Chains {
    /// By the position of the first test.
    heads: BTreeMap<usize, Chain>,
    /// The positions of the others.
    inner: BTreeSet<usize>,
}

struct Chain {
    set: Vec<u32>,
    tracks: bool,
    exit: NodeId,
}

impl Chain {
    fn single(value: f64, tracks: bool, exit: NodeId) -> Self {
        let code = whole().code(value).expect("only codes are tested on a categorical feature");
        Self { set: vec![code], tracks, exit }
    }
}

impl Chains {
    fn new(shape: &Shape, table: &Table, features: &Features, tree: usize) -> Result<Self, FormatError> {
        let run = shape.runs[tree].clone();
        let mut chains = Self { heads: BTreeMap::new(), inner: BTreeSet::new() };
        let is_test = |row: usize| {
            table.modes[row] == Mode::Equal
                && features.categories(FeatureId(table.features[row] as u32)).is_some()
        };
        // The test to which a row's false branch leads, if it continues the row's chain.
        let next = |row: usize| -> Result<Option<usize>, FormatError> {
            let child = run.start + shape.child(table, tree, row, table.false_ids[row])?.index();
            let continues = is_test(child)
                && table.features[child] == table.features[row]
                && table.true_ids[child] == table.true_ids[row];
            Ok((continues && child != row).then_some(child))
        };
        if !run.clone().any(is_test) {
            return Ok(chains);
        }
        let mut previous: BTreeMap<usize, usize> = BTreeMap::new();
        for row in run.clone().filter(|&row| is_test(row)) {
            if let Some(child) = next(row)?
                && previous.insert(child, row).is_some()
            {
                let what = "a test that two others lead to";
                return Err(unsupported(shape.place(child), what, "every node may have one parent"));
            }
        }
        let starts: BTreeSet<usize> =
            previous.values().copied().filter(|row| !previous.contains_key(row)).collect();
        for start in starts {
            let tracks = |row: usize| table.tracks.get(row) == Some(&1);
            let mut chain = Chain { set: Vec::new(), tracks: tracks(start), exit: NodeId(0) };
            let mut row = start;
            loop {
                let code = whole().code(table.values.values[row]);
                chain.set.push(code.expect("only codes are tested on a categorical feature"));
                if tracks(row) != chain.tracks {
                    let what = "a chain of equality tests that send missing values to different branches";
                    let advice = "onnxruntime reads it as one test with the first one's branch";
                    return Err(unsupported(shape.place(row), what, advice));
                }
                // Each test follows at most one other, so a chain that has a start has an end.
                match next(row)? {
                    Some(child) => {
                        chains.inner.insert(child - run.start);
                        row = child;
                    }
                    None => break,
                }
            }
            chain.exit = shape.child(table, tree, row, table.false_ids[row])?;
            chain.set.sort_unstable();
            chain.set.dedup();
            chains.heads.insert(start - run.start, chain);
        }
        Ok(chains)
    }
}

/// The weights of every leaf.
pub(super) struct Weights {
    /// Tree, position of the leaf, sum, weight: ascending.
    entries: Vec<(u32, u32, GroupId, f64)>,
}

impl Weights {
    pub(super) fn new(table: &Table, shape: &Shape, form: Form) -> Result<Self, FormatError> {
        let mut entries = Vec::with_capacity(table.class_ids.len());
        for (index, &weight) in table.weights.values.iter().enumerate() {
            let Some((tree, position)) = shape.leaf_of(table, index) else {
                let place = Place::Field(format!("class_nodeids[{index}]"));
                let (tree, node) = (table.class_tree_ids[index], table.class_node_ids[index]);
                let found = format!("node {node} of tree {tree}");
                return Err(FormatError::new(
                    place,
                    Problem::Value { found, expected: "a node of the ensemble" },
                ));
            };
            // Old converters also write weights for inner nodes, which have no meaning.
            if table.modes[shape.runs[tree].start + position] == Mode::Leaf {
                entries.push((tree as u32, position as u32, form.group(table.class_ids[index]), weight));
            }
        }
        entries.sort_by_key(|&(tree, position, group, _)| (tree, position, group));
        if let Some(pair) = entries.windows(2).find(|pair| {
            let [a, b] = [pair[0], pair[1]].map(|(tree, position, group, _)| (tree, position, group));
            a == b
        }) {
            let place = Place::Node { tree: TreeId(pair[1].0), node: NodeId(pair[1].1) };
            let what = "a leaf with two weights for one class";
            return Err(unsupported(place, what, "add them up"));
        }
        Ok(Self { entries })
    }

    fn of_tree(&self, tree: usize) -> &[(u32, u32, GroupId, f64)] {
        let start = self.entries.partition_point(|entry| (entry.0 as usize) < tree);
        let end = self.entries.partition_point(|entry| entry.0 as usize <= tree);
        &self.entries[start..end]
    }

    fn output(&self, tree: usize) -> Output {
        let entries = self.of_tree(tree);
        match entries.first() {
            None => Output::Group(GroupId(0)),
            Some(first) if entries.iter().all(|entry| entry.2 == first.2) => Output::Group(first.2),
            Some(_) => Output::All,
        }
    }

    /// The values of a leaf. A class without a weight gets nothing, which is the same as zero,
    /// because no sum that began with zero is ever -0.0.
    fn leaf(&self, tree: usize, position: usize, values: &mut [f64]) {
        values.fill(0.0);
        for (group, weight) in self.of_leaf(tree, position) {
            let slot = if values.len() == 1 { 0 } else { group.index() };
            values[slot] = weight;
        }
    }

    /// The sums for which a leaf has weights, ascending, with these weights.
    pub(super) fn of_leaf(&self, tree: usize, position: usize) -> impl Iterator<Item = (GroupId, f64)> + '_ {
        let key = (tree as u32, position as u32);
        let start = self.entries.partition_point(|entry| (entry.0, entry.1) < key);
        let entries = self.entries[start..].iter().take_while(move |entry| (entry.0, entry.1) == key);
        entries.map(|&(_, _, group, weight)| (group, weight))
    }

    /// Marks the sums to which every leaf of a tree adds.
    fn mark_certain(&self, table: &Table, shape: &Shape, tree: usize, certain: &mut [bool]) {
        let leaves = table.modes[shape.runs[tree].clone()].iter().filter(|&&mode| mode == Mode::Leaf).count();
        let mut counts = vec![0; certain.len()];
        self.of_tree(tree).iter().for_each(|entry| counts[entry.2.index()] += 1);
        certain.iter_mut().zip(counts).for_each(|(certain, count)| *certain |= count == leaves);
    }
}
