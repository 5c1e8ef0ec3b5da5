//! Edits: writes trees of any shape as CatBoost's symmetric or asymmetric trees.
//!
//! All trees of a file are of one kind. A symmetric tree has the same test at all nodes of a level,
//! so a pruned or folded tree can be written as one only with all its tests in every branch: with k
//! different tests it has 2^k leaves. The kind that makes the smaller file is computed and written;
//! if both are equal, the symmetric one, which CatBoost evaluates faster. Borders that no tree uses
//! any more are removed, as CatBoost itself does.

use std::collections::BTreeMap;

use secateur_model::{Ensemble, Node, NodeId, Split, Test, Tree, TreeId};

use super::core::{Core, CoreNode, CoreTest, CoreTree, Shape};
use crate::edit::{Edit, TreeEdit};
use crate::error::EditError;

/// CatBoost's own limit on the depth of symmetric trees.
const DEEPEST: usize = 16;

/// A test in a form that trees can share: column, the bits of a border or the code of a category,
/// and which of the two it is.
type Question = (u32, u32, bool);

/// A tree that is to be written.
struct Draft<'a> {
    id: TreeId,
    tree: Tree,
    /// The training rows in each leaf, if the leaves are still those of training.
    weights: Option<&'a [f64]>,
    /// Its tests, each once, in the order of a symmetric tree.
    questions: Vec<Question>,
}

/// The content of the edited file.
pub(super) fn edited(core: &Core, original: &Ensemble, edit: &Edit) -> Result<Core, EditError> {
    let known = known_questions(core);
    let mut drafts = Vec::with_capacity(edit.trees.len());
    for edit in &edit.trees {
        let id = edit.source();
        let leaves = match edit {
            // The edited file has no scale, so its leaves hold what they add to a score.
            TreeEdit::Keep(tree) if core.scale != 1.0 => {
                TreeEdit::Scale { tree: *tree, factor: 1.0 }.folded_leaves(original)?
            }
            edit => edit.folded_leaves(original)?,
        };
        let (tree, kept) = match edit {
            TreeEdit::Keep(_) | TreeEdit::Scale { .. } => (original.tree(id), true),
            TreeEdit::Replace { with, .. } => (with, false),
        };
        let tree = match leaves {
            Some(leaves) => tree.with_leaf_values(leaves).expect("as many values as before"),
            None => tree.clone(),
        };
        let weights = Some(core.trees[id.index()].weights.as_slice()).filter(|_| kept);
        let questions = questions(id, &tree, &known)?;
        drafts.push(Draft { id, tree, weights, questions });
    }
    let bias = edit.intercepts.clone().unwrap_or_else(|| core.bias.clone());
    let symmetric = is_symmetric_smaller(core.dimension, &drafts);
    let mut new = Core { symmetric, trees: Vec::new(), scale: 1.0, bias, ..without_trees(core) };
    let numbers = keep_borders(&mut new, &drafts, &known);
    for draft in &drafts {
        let tree = if symmetric { draft.symmetric(&numbers) } else { draft.nodes(&numbers)? };
        new.trees.push(tree);
    }
    if new.trees.is_empty() {
        // CatBoost loads a model without trees but then refuses to predict.
        let values = vec![0.0; core.dimension];
        new.trees.push(CoreTree { shape: Shape::Symmetric(Vec::new()), values, weights: vec![1.0] });
        new.symmetric = true;
    }
    Ok(new)
}

fn without_trees(core: &Core) -> Core {
    Core {
        trees: Vec::new(),
        floats: core.floats.clone(),
        categories: core.categories.clone(),
        one_hots: core.one_hots.clone(),
        bias: Vec::new(),
        info: core.info.clone(),
        ..*core
    }
}

/// The tests that the file's features allow, with the side of missing values.
fn known_questions(core: &Core) -> BTreeMap<Question, bool> {
    let question = |test: CoreTest| match test {
        CoreTest::Above { feature, border, missing_is_above } => {
            ((feature.0, border.to_bits(), false), missing_is_above)
        }
        CoreTest::Is { feature, code } => ((feature.0, code, true), false),
    };
    core.tests().into_iter().map(question).collect()
}

/// The test of a split, if the file's features have it; "yes" goes right.
fn question(split: Split<'_>, known: &BTreeMap<Question, bool>) -> Option<Question> {
    let question = match split.test {
        Test::LessOrEqual { threshold } => {
            let border = threshold as f32;
            let exact = f64::from(border).to_bits() == threshold.to_bits();
            exact.then_some((split.feature.0, border.to_bits(), false))?
        }
        Test::Member { set: &[code], members_left: false } => (split.feature.0, code, true),
        _ => return None,
    };
    let missing_right = known.get(&question)?;
    (*missing_right != split.missing_left).then_some(question)
}

/// The different tests of a tree, those near the leaves first.
fn questions(id: TreeId, tree: &Tree, known: &BTreeMap<Question, bool>) -> Result<Vec<Question>, EditError> {
    let mut found = Vec::new();
    let mut seen = std::collections::BTreeSet::new();
    let mut open = vec![NodeId(0)];
    let mut next = 0;
    while let Some(&node) = open.get(next) {
        next += 1;
        if let Node::Split { split, left, right } = tree.node(node) {
            let what = "a question that the model did not ask before";
            let question = question(split, known).ok_or(EditError::TreeContent { tree: id, what })?;
            if seen.insert(question) {
                found.push(question);
            }
            open.extend([left, right]);
        }
    }
    found.reverse();
    Ok(found)
}

/// Which kind of trees takes fewer bytes in a binary file?
fn is_symmetric_smaller(dimension: usize, drafts: &[Draft<'_>]) -> bool {
    // The sizes of a leaf (values and weight) and of a node (test, steps and leaf number).
    let leaf_size = 8 * (dimension as u64 + 1);
    let (mut symmetric, mut nodes) = (0u64, 0u64);
    for draft in drafts {
        let depth = draft.questions.len();
        if depth > DEEPEST {
            return false;
        }
        symmetric += 4 * depth as u64 + (leaf_size << depth);
        let leaves = draft.tree.leaf_count() as u64;
        nodes += 12 * (2 * leaves - 1) + leaf_size * leaves;
    }
    symmetric <= nodes
}

/// Removes the borders that no tree uses, and gives every test its number among the remaining ones.
fn keep_borders(
    core: &mut Core,
    drafts: &[Draft<'_>],
    known: &BTreeMap<Question, bool>,
) -> BTreeMap<Question, u32> {
    let mut used: BTreeMap<Question, bool> =
        known.iter().map(|(&question, _)| (question, question.2)).collect();
    for question in drafts.iter().flat_map(|draft| &draft.questions) {
        used.insert(*question, true);
    }
    for float in &mut core.floats {
        let flat = float.flat as u32;
        float.borders.retain(|border| used[&(flat, border.to_bits(), false)]);
        float.borders.dedup_by_key(|border| border.to_bits());
    }
    let tests = core.tests().into_iter().zip(0..);
    tests
        .map(|(test, number)| match test {
            CoreTest::Above { feature, border, .. } => ((feature.0, border.to_bits(), false), number),
            CoreTest::Is { feature, code } => ((feature.0, code, true), number),
        })
        .collect()
}

impl Draft<'_> {
    /// The tree as a symmetric one, with every test on every path.
    fn symmetric(&self, numbers: &BTreeMap<Question, u32>) -> CoreTree {
        let mut tree = CoreTree {
            shape: Shape::Symmetric(self.questions.iter().map(|question| numbers[question]).collect()),
            values: Vec::new(),
            weights: Vec::new(),
        };
        let mut weighed = vec![false; self.tree.leaf_count()];
        for answers in 0..1usize << self.questions.len() {
            let leaf = self.tree.walk(|split| {
                let own = as_question(split);
                let bit = self.questions.iter().position(|question| *question == own);
                answers >> bit.expect("every question is listed") & 1 == 0
            });
            tree.values.extend_from_slice(self.tree.leaf(leaf));
            let weight = match self.weights.and_then(|weights| weights.get(leaf.index())) {
                // The rows of a leaf that became several are all counted in the first of them.
                Some(&weight) if !std::mem::replace(&mut weighed[leaf.index()], true) => weight,
                Some(_) => 0.0,
                None => 1.0,
            };
            tree.weights.push(weight);
        }
        tree
    }

    /// The tree as nodes, each before those below it.
    fn nodes(&self, numbers: &BTreeMap<Question, u32>) -> Result<CoreTree, EditError> {
        let mut nodes = Vec::with_capacity(self.tree.node_count());
        let (mut values, mut weights) = (Vec::new(), Vec::new());
        let mut leaves = 0;
        let mut open = vec![(NodeId(0), None)];
        while let Some((node, parent)) = open.pop() {
            let number = nodes.len() as u32;
            if let Some((parent, side)) = parent
                && let CoreNode::Split { no, yes, .. } = &mut nodes[parent]
            {
                if number as usize - parent > usize::from(u16::MAX) {
                    let what = "a tree of more than 65,535 nodes";
                    return Err(EditError::TreeContent { tree: self.id, what });
                }
                *(if side { yes } else { no }) = number;
            }
            match self.tree.node(node) {
                Node::Leaf(leaf) => {
                    values.extend_from_slice(self.tree.leaf(leaf));
                    let weight = self.weights.and_then(|weights| weights.get(leaf.index()));
                    weights.push(weight.copied().unwrap_or(1.0));
                    nodes.push(CoreNode::Leaf(leaves));
                    leaves += 1;
                }
                Node::Split { split, left, right } => {
                    let parent = nodes.len();
                    nodes.push(CoreNode::Split { test: numbers[&as_question(split)], no: 0, yes: 0 });
                    open.push((right, Some((parent, true))));
                    open.push((left, Some((parent, false))));
                }
                Node::Unused => unreachable!("the builder lets no path reach an unused slot"),
            }
        }
        Ok(CoreTree { shape: Shape::Nodes(nodes), values, weights })
    }
}

/// The test of a split that is known to have one.
fn as_question(split: Split<'_>) -> Question {
    match split.test {
        Test::LessOrEqual { threshold } => (split.feature.0, (threshold as f32).to_bits(), false),
        Test::Member { set, .. } => (split.feature.0, set[0], true),
        _ => unreachable!("`questions` lets no other split through"),
    }
}
