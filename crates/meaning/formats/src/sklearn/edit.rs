//! Edits: turns a classifier's parts into those of the edited classifier.
//!
//! - Forests: the leaves of a scaled tree are multiplied; an intercept is one more tree with a
//!   single leaf, placed first. A decision tree adds it to its leaves.
//! - AdaBoost: a tree is a vote, so only weights change; an intercept is a constant voter, placed
//!   first.
//! - Gradient boosting: as soon as a leaf or the start changes, the learning rate is folded into
//!   all values and becomes 1, the start becomes zero, and a round of single leaves holds the
//!   intercepts. For more than two classes this happens at every edit: the last bits of the priors'
//!   logarithms depend on the processor, and an edited model should not.
//! - Histogram-based boosting: leaves are multiplied, the baseline is replaced.
//!
//! If a round has a tree for each class, the trees of each class move up, and the shorter lists are
//! filled with leaves of zero. All of scikit-learn's classifiers except the last need at least one
//! tree.

use secateur_model::{Ensemble, FeatureId, Node, NodeId, Split, Test, Tree, TreeId};

use super::build::{has, other_vote};
use super::parts::{CategoryList, Estimator, HistogramNode, Parts, PlainNode, TreeArrays, TreePart};
use crate::edit::{Edit, TreeEdit, leaves_below};
use crate::error::EditError;

/// The parts after an edit that changes something. `ensemble` is the model of `parts`.
pub(crate) fn edited(parts: &Parts, ensemble: &Ensemble, edit: &Edit) -> Result<Parts, EditError> {
    let change = Change { parts, ensemble, edit };
    let (estimator, trees) = match &parts.estimator {
        Estimator::DecisionTree => (Estimator::DecisionTree, vec![change.single_tree()?]),
        Estimator::RandomForest | Estimator::ExtraTrees => (parts.estimator.clone(), change.forest()?),
        Estimator::AdaBoost { .. } => change.adaboost()?,
        Estimator::GradientBoosting { learning_rate, start, exponential_loss, .. } => {
            change.gradient_boosting(*learning_rate, start.as_deref(), *exponential_loss)?
        }
        Estimator::IsolationForest { .. } => return Err(EditError::ReadOnly { model: "IsolationForest" }),
        Estimator::HistGradientBoosting { baseline, columns, categories } => {
            let baseline = edit.intercepts.clone().unwrap_or_else(|| baseline.clone());
            let trees = change.trees(|tree, edit| change.histogram_tree(tree, edit, columns, categories))?;
            let trees = change.rounds(trees, &[]);
            let (columns, categories) = (columns.clone(), categories.clone());
            (Estimator::HistGradientBoosting { baseline, columns, categories }, trees)
        }
    };
    Ok(Parts { estimator, trees, ..parts.clone() })
}

struct Change<'a> {
    parts: &'a Parts,
    ensemble: &'a Ensemble,
    edit: &'a Edit,
}

impl Change<'_> {
    /// The trees that stay, each with its group.
    fn trees(
        &self,
        make: impl Fn(TreeId, &TreeEdit) -> Result<TreePart, EditError>,
    ) -> Result<Vec<(usize, TreePart)>, EditError> {
        let groups = self.ensemble.group_count();
        let trees = self.edit.trees.iter().map(|edit| {
            let tree = edit.source();
            Ok((tree.index() % groups, make(tree, edit)?))
        });
        trees.collect()
    }

    fn part(&self, tree: TreeId) -> &TreePart {
        &self.parts.trees[tree.index()]
    }

    fn new_intercepts(&self) -> Option<&[f64]> {
        let intercepts = self.edit.intercepts.as_deref()?;
        // Equal numbers change nothing, even if the signs of zeros differ.
        (intercepts != self.ensemble.intercepts()).then_some(intercepts)
    }

    fn single_tree(&self) -> Result<TreePart, EditError> {
        let shift = self.new_intercepts();
        let Some(edit) = self.edit.trees.first() else {
            let zeros = vec![0.0; self.ensemble.group_count()];
            return Ok(self.leaf(TreeId(0), shift.unwrap_or(&zeros)));
        };
        let mut part = self.plain_tree(edit.source(), edit)?;
        if let (Some(shift), TreeArrays::Plain { nodes, values, .. }) = (shift, &mut part.arrays) {
            for (node, values) in nodes.iter().zip(values.chunks_exact_mut(shift.len())) {
                if node.left_child == -1 {
                    values.iter_mut().zip(shift).for_each(|(value, shift)| *value += shift);
                }
            }
            part.edited = true;
        }
        Ok(part)
    }

    fn forest(&self) -> Result<Vec<TreePart>, EditError> {
        let trees = self.trees(|tree, edit| self.plain_tree(tree, edit))?;
        let mut trees: Vec<TreePart> = trees.into_iter().map(|(_, tree)| tree).collect();
        let zeros = vec![0.0; self.ensemble.group_count()];
        match self.new_intercepts() {
            Some(intercepts) => trees.insert(0, self.leaf(TreeId(0), intercepts)),
            None if trees.is_empty() => trees.push(self.leaf(TreeId(0), &zeros)),
            None => {}
        }
        Ok(trees)
    }

    fn adaboost(&self) -> Result<(Estimator, Vec<TreePart>), EditError> {
        let classes = self.parts.classes.len();
        let (mut weights, mut trees) = (Vec::new(), Vec::new());
        if let Some(intercepts) = self.new_intercepts() {
            let (class, weight) = as_vote(intercepts, classes).ok_or(EditError::NoIntercept {
                model: "AdaBoost, unless it is a weighted vote for one class,",
            })?;
            weights.push(weight);
            trees.push(self.leaf(TreeId(0), &fractions(class, classes)));
        }
        for edit in &self.edit.trees {
            let tree = edit.source();
            let source = self.ensemble.tree(tree);
            let (weight, part) = match edit {
                TreeEdit::Keep(_) => (source.weight(), self.part(tree).clone()),
                TreeEdit::Scale { factor, .. } => (source.weight() * factor, self.part(tree).clone()),
                TreeEdit::Replace { with, .. } => self.voting_tree(tree, with)?,
            };
            if !weight.is_finite() {
                return Err(EditError::LeafValue { tree, value: weight });
            }
            weights.push(weight);
            trees.push(part);
        }
        if trees.is_empty() {
            return Err(EditError::NoTrees { model: "AdaBoostClassifier" });
        }
        Ok((Estimator::AdaBoost { weights }, trees))
    }

    /// A tree whose leaves are all votes of one weight, and that weight.
    fn voting_tree(&self, tree: TreeId, with: &Tree) -> Result<(f64, TreePart), EditError> {
        let classes = self.parts.classes.len();
        let refused = EditError::TreeContent { tree, what: "leaves that are not votes of one weight" };
        let width = if classes == 2 { 1 } else { classes };
        let votes: Option<Vec<(usize, f64)>> =
            with.leaf_values().chunks_exact(width).map(|leaf| as_vote(leaf, classes)).collect();
        let votes = votes.ok_or(refused.clone())?;
        let weight = votes.first().map_or(0.0, |vote| vote.1);
        if votes.iter().any(|vote| vote.1 != weight) {
            return Err(refused);
        }
        let leaves: Vec<f64> = votes.iter().flat_map(|vote| fractions(vote.0, classes)).collect();
        let part = self.replaced_plain(tree, with, &leaves, classes)?;
        Ok((weight * with.weight(), part))
    }

    fn gradient_boosting(
        &self,
        learning_rate: f64,
        start: Option<&[f64]>,
        exponential_loss: bool,
    ) -> Result<(Estimator, Vec<TreePart>), EditError> {
        let pinned = match (self.new_intercepts(), start) {
            (Some(intercepts), _) => Some(intercepts),
            (None, Some(start)) if start.len() > 1 => Some(start),
            _ => None,
        };
        let kept = self.edit.trees.iter().all(|edit| matches!(edit, TreeEdit::Keep(_)));
        let fold = pinned.is_some() || !kept;
        let trees = self.trees(|tree, edit| match edit {
            TreeEdit::Keep(_) if fold => self.plain_tree(tree, &TreeEdit::Scale { tree, factor: 1.0 }),
            _ => self.plain_tree(tree, edit),
        })?;
        let first = pinned.unwrap_or(&[]);
        // A start of zeros needs no leaves.
        let first = if first.iter().all(|&value| value == 0.0) { &[] } else { first };
        let mut trees = self.rounds(trees, first);
        if trees.is_empty() {
            let groups = self.ensemble.group_count();
            trees.extend((0..groups).map(|group| self.leaf(TreeId::new(group), &[0.0])));
        }
        let start = if pinned.is_some() { None } else { start.map(<[f64]>::to_vec) };
        let learning_rate = if fold { 1.0 } else { learning_rate };
        // Only models of two classes keep their start, which is the same on every processor.
        let start_errors = Vec::new();
        Ok((Estimator::GradientBoosting { learning_rate, start, start_errors, exponential_loss }, trees))
    }

    /// Rounds with a tree for each group: a round of `first` leaves, then each group's trees in
    /// order.
    fn rounds(&self, trees: Vec<(usize, TreePart)>, first: &[f64]) -> Vec<TreePart> {
        let groups = self.ensemble.group_count();
        let mut columns = vec![Vec::new(); groups];
        for (group, value) in first.iter().enumerate() {
            columns[group].push(self.leaf(TreeId::new(group), &[*value]));
        }
        for (group, tree) in trees {
            columns[group].push(tree);
        }
        let rounds = columns.iter().map(Vec::len).max().unwrap_or(0);
        let mut columns: Vec<_> = columns.into_iter().map(Vec::into_iter).collect();
        let mut all = Vec::with_capacity(rounds * groups);
        for _ in 0..rounds {
            for (group, column) in columns.iter_mut().enumerate() {
                all.push(column.next().unwrap_or_else(|| self.leaf(TreeId::new(group), &[0.0])));
            }
        }
        all
    }

    fn plain_tree(&self, tree: TreeId, edit: &TreeEdit) -> Result<TreePart, EditError> {
        let Some(leaves) = edit.folded_leaves(self.ensemble)? else { return Ok(self.part(tree).clone()) };
        let width = leaves.len() / leaf_count(edit, self.ensemble);
        if let TreeEdit::Replace { with, .. } = edit {
            return self.replaced_plain(tree, with, &leaves, width);
        }
        let mut part = self.part(tree).clone();
        if let TreeArrays::Plain { nodes, values, .. } = &mut part.arrays {
            let slots = nodes.iter().zip(values.chunks_exact_mut(width));
            let slots = slots.filter(|(node, _)| node.left_child == -1);
            for ((_, slot), leaf) in slots.zip(leaves.chunks_exact(width)) {
                slot.copy_from_slice(leaf);
            }
        }
        part.edited = true;
        Ok(part)
    }

    /// A new tree with these values in its leaves.
    fn replaced_plain(
        &self,
        tree: TreeId,
        with: &Tree,
        leaves: &[f64],
        width: usize,
    ) -> Result<TreePart, EditError> {
        let old = match &self.part(tree).arrays {
            TreeArrays::Plain { nodes, .. } => nodes.as_slice(),
            TreeArrays::Histogram { .. } => &[],
        };
        let mut nodes = Vec::with_capacity(with.node_count());
        let mut values = Vec::with_capacity(with.node_count() * width);
        let below = leaves_below(with);
        for (id, node) in with.nodes() {
            let count = below[id.index()];
            let mut new = PlainNode {
                n_node_samples: i64::from(count),
                weighted_n_node_samples: f64::from(count),
                ..LEAF
            };
            match node {
                Node::Split { split, left, right } => {
                    new.left_child = i64::from(left.0);
                    new.right_child = i64::from(right.0);
                    new.feature = i64::from(split.feature.0);
                    new.threshold = number_test(tree, split)?;
                    new.missing_go_to_left = u8::from(split.missing_left);
                    values.extend(std::iter::repeat_n(0.0, width));
                }
                Node::Leaf(leaf) => values.extend_from_slice(&leaves[leaf.index() * width..][..width]),
                Node::Unused => return Err(EditError::TreeContent { tree, what: "unused nodes" }),
            }
            nodes.push(new);
        }
        // Training statistics are kept if every node is.
        let same = |(new, old): (&PlainNode, &PlainNode)| {
            (new.feature, new.left_child, new.right_child) == (old.feature, old.left_child, old.right_child)
        };
        if nodes.len() == old.len() && nodes.iter().zip(old).all(same) {
            for (new, old) in nodes.iter_mut().zip(old) {
                new.impurity = old.impurity;
                new.n_node_samples = old.n_node_samples;
                new.weighted_n_node_samples = old.weighted_n_node_samples;
            }
        }
        let origin = self.part(tree).origin;
        let outputs = self.parts.outputs() as u32;
        Ok(TreePart { origin, edited: true, arrays: TreeArrays::Plain { nodes, values, outputs } })
    }

    fn histogram_tree(
        &self,
        tree: TreeId,
        edit: &TreeEdit,
        columns: &[u32],
        categories: &[CategoryList],
    ) -> Result<TreePart, EditError> {
        let Some(leaves) = edit.folded_leaves(self.ensemble)? else { return Ok(self.part(tree).clone()) };
        let mut part = self.part(tree).clone();
        part.edited = true;
        if let TreeEdit::Replace { with, .. } = edit {
            part.arrays = replaced_histogram(tree, with, &leaves, columns, categories)?;
        } else if let TreeArrays::Histogram { nodes, .. } = &mut part.arrays {
            let slots = nodes.iter_mut().filter(|node| node.is_leaf != 0);
            slots.zip(leaves).for_each(|(node, leaf)| node.value = leaf);
        }
        Ok(part)
    }

    /// A tree of one leaf; other fields that its estimator needs come from a tree of the original.
    fn leaf(&self, like: TreeId, values: &[f64]) -> TreePart {
        // A histogram-based model may have no trees at all; then nothing is taken from them.
        let like = self.parts.trees.get(like.index());
        let histogram = matches!(self.parts.estimator, Estimator::HistGradientBoosting { .. });
        let arrays = if histogram {
            let node = HistogramNode { value: values[0], ..HISTOGRAM_LEAF };
            TreeArrays::Histogram { nodes: vec![node], left: Vec::new(), binned: Vec::new() }
        } else {
            let outputs = self.parts.outputs() as u32;
            TreeArrays::Plain { nodes: vec![LEAF], values: values.to_vec(), outputs }
        };
        TreePart { origin: like.map_or(0, |part| part.origin), edited: true, arrays }
    }
}

const LEAF: PlainNode = PlainNode {
    left_child: -1,
    right_child: -1,
    feature: -2,
    threshold: -2.0,
    impurity: 0.0,
    n_node_samples: 1,
    weighted_n_node_samples: 1.0,
    missing_go_to_left: 0,
};

const HISTOGRAM_LEAF: HistogramNode = HistogramNode {
    value: 0.0,
    count: 1,
    feature_idx: 0,
    num_threshold: 0.0,
    missing_go_to_left: 0,
    left: 0,
    right: 0,
    gain: 0.0,
    depth: 0,
    is_leaf: 1,
    bin_threshold: 0,
    is_categorical: 0,
    bitset_idx: 0,
};

fn leaf_count(edit: &TreeEdit, ensemble: &Ensemble) -> usize {
    match edit {
        TreeEdit::Replace { with, .. } => with.leaf_count(),
        other => ensemble.tree(other.source()).leaf_count(),
    }
}

/// The threshold of a test that can be written as `value <= threshold`.
fn number_test(tree: TreeId, split: Split<'_>) -> Result<f64, EditError> {
    match split.test {
        Test::LessOrEqual { threshold } => Ok(threshold),
        Test::Less { threshold } if threshold != f64::NEG_INFINITY => Ok(threshold.next_down()),
        Test::Member { .. } => Err(EditError::TreeContent { tree, what: "a test on categories here" }),
        _ => Err(EditError::TreeContent { tree, what: "a test other than value <= threshold" }),
    }
}

fn replaced_histogram(
    tree: TreeId,
    with: &Tree,
    leaves: &[f64],
    columns: &[u32],
    categories: &[CategoryList],
) -> Result<TreeArrays, EditError> {
    let (depths, below) = (depths(with), leaves_below(with));
    let (mut nodes, mut left_sets) = (Vec::with_capacity(with.node_count()), Vec::new());
    for (id, node) in with.nodes() {
        let (depth, count) = (depths[id.index()], below[id.index()]);
        let mut new = HistogramNode { depth, count, ..HISTOGRAM_LEAF };
        match node {
            Node::Split { split, left, right } => {
                let seen = seen_column(tree, split.feature, columns)?;
                (new.left, new.right, new.is_leaf) = (left.0, right.0, 0);
                new.feature_idx = seen as i64;
                new.missing_go_to_left = u8::from(split.missing_left);
                if let Test::Member { set, members_left } = split.test {
                    new.is_categorical = 1;
                    new.bitset_idx = left_sets.len() as u32;
                    let list = categories.get(seen);
                    let list =
                        list.ok_or(EditError::TreeContent { tree, what: "a test on categories here" })?;
                    left_sets.push(left_codes(tree, set, members_left, split.missing_left, list)?);
                } else {
                    new.num_threshold = number_test(tree, split)?;
                }
            }
            Node::Leaf(leaf) => new.value = leaves[leaf.index()],
            Node::Unused => return Err(EditError::TreeContent { tree, what: "unused nodes" }),
        }
        nodes.push(new);
    }
    // The codes are used as the bins too.
    let binned = left_sets.clone();
    Ok(TreeArrays::Histogram { nodes, left: left_sets, binned })
}

fn seen_column(tree: TreeId, feature: FeatureId, columns: &[u32]) -> Result<usize, EditError> {
    let seen = columns.iter().position(|&column| column == feature.0);
    seen.ok_or(EditError::TreeContent { tree, what: "a feature that the model does not have" })
}

/// The codes that go left.
fn left_codes(
    tree: TreeId,
    set: &[u32],
    members_left: bool,
    missing_left: bool,
    list: &CategoryList,
) -> Result<[u32; 8], EditError> {
    let mut bits = [0u32; 8];
    for code in 0..list.values.count() as u32 {
        let left = set.binary_search(&code).is_ok() == members_left;
        if left {
            bits[code as usize / 32] |= 1 << (code % 32);
        } else if missing_left && !has(&list.known, code) {
            return Err(EditError::TreeContent {
                tree,
                what: "a set without a category that counts as missing",
            });
        }
    }
    Ok(bits)
}

fn depths(tree: &Tree) -> Vec<u32> {
    let mut depths = vec![0; tree.node_count()];
    let mut open = vec![NodeId(0)];
    while let Some(id) = open.pop() {
        if let Node::Split { left, right, .. } = tree.node(id) {
            for child in [left, right] {
                depths[child.index()] = depths[id.index()] + 1;
                open.push(child);
            }
        }
    }
    depths
}

/// Class and weight of a vote that adds these numbers.
fn as_vote(values: &[f64], classes: usize) -> Option<(usize, f64)> {
    if let [value] = values {
        return Some((usize::from(*value > 0.0), value.abs()));
    }
    let winner = (0..classes).max_by(|&a, &b| values[a].total_cmp(&values[b]))?;
    let weight = values[winner];
    let other = other_vote(classes) * weight;
    let fits = |(class, &value): (usize, &f64)| class == winner || value == other;
    (weight >= 0.0 && values.iter().enumerate().all(fits)).then_some((winner, weight))
}

/// Class fractions that vote for a class.
fn fractions(class: usize, classes: usize) -> Vec<f64> {
    (0..classes).map(|index| f64::from(u8::from(index == class))).collect()
}

/// Does the edit change nothing?
pub(crate) fn is_unchanged(ensemble: &Ensemble, edit: &Edit) -> bool {
    let kept = edit.trees.iter().enumerate();
    edit.trees.len() == ensemble.trees().len()
        && kept.into_iter().all(|(index, edit)| *edit == TreeEdit::Keep(TreeId::new(index)))
        && edit.intercepts.as_deref().is_none_or(|intercepts| intercepts == ensemble.intercepts())
}
