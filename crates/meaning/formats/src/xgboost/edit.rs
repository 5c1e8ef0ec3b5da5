//! Edits a file: the bytes of every changed value are newly written, all others are copied.
//!
//! The edit keeps these rules of the format: trees are numbered by position; `num_trees`,
//! `tree_info`, `iteration_indptr` and `weight_drop` agree; without `iteration_indptr` there are
//! only whole rounds; a best round is removed together with the trees after it; there is always a
//! tree, because a logistic model without one loses the logit of its intercept.

use secateur_model::{Ensemble, NumberType, Tree};

use super::fresh::FreshTree;
use super::json::json;
use super::model::Objective;
use super::source::Span;
use super::tree::{Field, TreeFields};
use super::ubj::Ubj;
use super::write::{Elements, Encoding, json_float};
use super::{File, Spans};
use crate::edit::{Edit, TreeEdit};
use crate::error::EditError;

/// One tree of the edited file.
struct NewTree {
    /// The tree of the file whose object is used as the pattern.
    pattern: usize,
    change: Change,
    group: u32,
    round: usize,
    weight: f32,
}

enum Change {
    /// Only the number of the tree changes.
    None,
    /// Other values in the leaves, in the order of the leaf ids.
    Leaves(Vec<f32>),
    /// The whole content of the tree.
    Tree(Box<FreshTree>),
}

/// The bytes of the edited file.
pub(super) fn edited_bytes(file: &File, edit: &Edit) -> Result<Vec<u8>, EditError> {
    let (base_score, constants) = new_intercepts(file, edit)?;
    let mut trees = constants;
    for tree_edit in &edit.trees {
        trees.push(new_tree(file, tree_edit)?);
    }
    if trees.is_empty() {
        let values = if file.header.vector_leaves { file.ensemble.group_count() } else { 1 };
        trees.push(constant_tree(file, 0, vec![0.0; values]));
    }
    // If rounds are derived, 1.7 predicts only with whole ones and later versions refuse others.
    if file.header.derived_round.is_some() && !file.header.vector_leaves {
        let last = trees.iter().map(|tree| tree.round).max().unwrap_or(0);
        while !trees.len().is_multiple_of(file.ensemble.group_count()) {
            let mut padding = constant_tree(file, 0, vec![0.0]);
            padding.round = last;
            trees.push(padding);
        }
    }
    let writer = Writer { file, fields: TreeFields::default(), out: Vec::with_capacity(file.bytes.len()) };
    Ok(writer.write(base_score.as_deref(), &trees))
}

fn new_tree(file: &File, edit: &TreeEdit) -> Result<NewTree, EditError> {
    let tree = edit.source();
    let index = tree.index();
    let folded = edit.folded_leaves(&file.ensemble)?;
    let weights = file.header.weights.as_ref();
    let (change, weight) = match (edit, folded) {
        (_, None) => (Change::None, weights.map_or(1.0, |weights| weights[index])),
        (TreeEdit::Replace { with, .. }, Some(leaves)) => {
            let fresh = fresh_tree(file, with, &leaves);
            let fresh = fresh.map_err(|what| EditError::TreeContent { tree, what })?;
            (Change::Tree(Box::new(fresh)), 1.0)
        }
        (_, Some(leaves)) => (Change::Leaves(leaves.into_iter().map(|leaf| leaf as f32).collect()), 1.0),
    };
    let round = file.header.rounds.partition_point(|&first| first <= index) - 1;
    Ok(NewTree { pattern: index, change, group: file.header.tree_info[index], round, weight })
}

fn fresh_tree(file: &File, tree: &Tree, leaves: &[f64]) -> Result<FreshTree, &'static str> {
    let leaves: Vec<f32> = leaves.iter().map(|&leaf| leaf as f32).collect();
    FreshTree::lay_out(tree, &leaves, file.header.vector_leaves, file.header.leaf_weights)
}

/// A tree with one leaf, at the beginning of the file.
fn constant_tree(file: &File, group: u32, values: Vec<f32>) -> NewTree {
    let fresh = FreshTree::constant(&values, file.header.vector_leaves, file.header.leaf_weights);
    NewTree { pattern: 0, change: Change::Tree(Box::new(fresh)), group, round: 0, weight: 1.0 }
}

/// The new text of `base_score` if it changes, and the trees that hold what it cannot hold.
fn new_intercepts(file: &File, edit: &Edit) -> Result<(Option<String>, Vec<NewTree>), EditError> {
    let Some(intercepts) = &edit.intercepts else { return Ok((None, Vec::new())) };
    let mut values = Vec::with_capacity(intercepts.len());
    for &value in intercepts {
        let rounded = NumberType::F32.round(value);
        if !rounded.is_finite() {
            return Err(EditError::InterceptValue { value });
        }
        values.push(rounded as f32);
    }
    if same_bits(&values, &file.ensemble) {
        return Ok((None, Vec::new()));
    }
    let vector = file.header.version.has_vector_base_score();
    let text = |values: &[f32]| {
        let numbers: Vec<String> = values.iter().map(|&value| json_float(value)).collect();
        if vector { format!("[{}]", numbers.join(",")) } else { numbers[0].clone() }
    };
    let linked = match file.header.objective {
        // Probability one half is exactly margin -0 on every platform, and the logarithm of one is
        // exactly margin 0.
        objective if objective.has_logit() => Some(0.5),
        Objective::LogLink => Some(1.0),
        _ => None,
    };
    let equal = values.iter().all(|value| value.to_bits() == values[0].to_bits());
    if linked.is_none() && (vector || equal) {
        return Ok((Some(text(&values)), Vec::new()));
    }
    // A margin cannot be met exactly through the logit or the logarithm, nor can one number stand
    // for several: sums start from zero, and trees add the intercepts.
    let base_score = text(&vec![linked.unwrap_or(0.0); if vector { values.len() } else { 1 }]);
    let constants = if values.iter().all(|&value| value == 0.0) {
        Vec::new()
    } else if file.header.vector_leaves {
        vec![constant_tree(file, 0, values)]
    } else {
        let groups = values.iter().zip(0..).filter(|(value, _)| **value != 0.0);
        groups.map(|(&value, group)| constant_tree(file, group, vec![value])).collect()
    };
    Ok((Some(base_score), constants))
}

fn same_bits(values: &[f32], ensemble: &Ensemble) -> bool {
    values.iter().zip(ensemble.intercepts()).all(|(new, old)| new.to_bits() == (*old as f32).to_bits())
}

/// Attributes about a best round.
const BEST: [&str; 3] = ["best_iteration", "best_score", "best_ntree_limit"];

struct Writer<'a> {
    file: &'a File,
    fields: TreeFields,
    out: Vec<u8>,
}

impl Writer<'_> {
    fn write(mut self, base_score: Option<&str>, trees: &[NewTree]) -> Vec<u8> {
        let Spans { attributes, tree_info, num_trees, .. } = self.file.layout;
        let bytes = &self.file.bytes;
        let encoding = self.file.encoding;
        // Each part that changes, with the function that writes its replacement.
        type Write<'w, 'a> = Box<dyn FnOnce(&mut Writer<'a>) + 'w>;
        let mut parts: Vec<(Span, Write<'_, '_>)> = Vec::new();
        if let Some(text) = base_score {
            let span = self.file.layout.base_score;
            parts.push((span, Box::new(|writer| encoding.plain_string(text, &mut writer.out))));
        }
        if self.file.layout.attribute_entries.iter().any(|(key, _)| BEST.contains(&key.as_str())) {
            parts.push((attributes, Box::new(Writer::attributes)));
        }
        let count = trees.len().to_string();
        parts.push((num_trees, Box::new(move |writer| encoding.plain_string(&count, &mut writer.out))));
        let groups: Vec<i64> = trees.iter().map(|tree| i64::from(tree.group)).collect();
        let style = Elements::like(bytes, tree_info);
        parts.push((tree_info, Box::new(move |w| encoding.integers(&groups, style, &mut w.out))));
        if let Some(span) = self.file.layout.iteration_indptr {
            let rounds = round_starts(trees);
            let style = Elements::like(bytes, span);
            parts.push((span, Box::new(move |w| encoding.integers(&rounds, style, &mut w.out))));
        }
        if let (Some(round), Some(span)) =
            (self.file.header.derived_round, self.file.layout.num_parallel_tree)
            && !trees.len().is_multiple_of(round)
        {
            parts.push((span, Box::new(|writer| encoding.plain_string("1", &mut writer.out))));
        }
        if let (Some(span), Some(_)) = (self.file.layout.weight_drop, &self.file.header.weights) {
            let weights: Vec<f32> = trees.iter().map(|tree| tree.weight).collect();
            let style = Elements::like(bytes, span);
            parts.push((span, Box::new(move |w| encoding.floats(&weights, style, &mut w.out))));
        }
        parts.push((self.file.layout.trees, Box::new(|writer| writer.trees(trees))));

        parts.sort_by_key(|(span, _)| span.start);
        let mut copied = 0;
        for (span, write) in parts {
            self.out.extend_from_slice(&bytes[copied..span.start]);
            write(&mut self);
            copied = span.end;
        }
        self.out.extend_from_slice(&bytes[copied..]);
        self.out
    }

    fn attributes(&mut self) {
        let kept = self.file.layout.attribute_entries.iter().filter(|(key, _)| !BEST.contains(&key.as_str()));
        self.out.push(b'{');
        for (position, (_, entry)) in kept.enumerate() {
            if position > 0 {
                self.file.encoding.separator(&mut self.out);
            }
            self.out.extend_from_slice(entry.of(&self.file.bytes));
        }
        self.out.push(b'}');
    }

    fn trees(&mut self, trees: &[NewTree]) {
        let encoding = self.file.encoding;
        encoding.array_start(trees.len(), &mut self.out);
        for (id, tree) in trees.iter().enumerate() {
            if id > 0 {
                encoding.separator(&mut self.out);
            }
            self.tree(id, tree);
        }
        encoding.array_end(&mut self.out);
    }

    fn tree(&mut self, id: usize, tree: &NewTree) {
        let bytes = &self.file.bytes;
        let encoding = self.file.encoding;
        let object = self.file.layout.tree_objects[tree.pattern];
        if matches!(tree.change, Change::None) && tree.pattern == id {
            self.out.extend_from_slice(object.of(bytes));
            return;
        }
        // The same bytes were read before, so this succeeds.
        let read = match encoding {
            Encoding::Json => self.fields.read(&mut at(json(bytes), object), tree.pattern),
            Encoding::Ubj => self.fields.read(&mut at(Ubj::new(bytes), object), tree.pattern),
        };
        read.expect("the tree was read when the file was");
        let fields = &self.fields;
        let mut parts: Vec<(Span, Vec<u8>)> = Vec::new();
        let mut put = |field: Field, write: &dyn Fn(Elements, &mut Vec<u8>)| {
            if let Some(span) = fields.span(field) {
                let mut part = Vec::new();
                write(Elements::like(bytes, span), &mut part);
                parts.push((span, part));
            }
        };
        put(Field::Id, &|_, out| encoding.integer(id as i64, out));
        match &tree.change {
            Change::None => {}
            Change::Leaves(leaves) => {
                let (field, values) = fields.with_leaves(leaves);
                put(field, &|style, out| encoding.floats(&values, style, out));
            }
            Change::Tree(fresh) => fresh.write(encoding, &mut put),
        }
        parts.sort_by_key(|(span, _)| span.start);
        let mut copied = object.start;
        for (span, part) in parts {
            self.out.extend_from_slice(&bytes[copied..span.start]);
            self.out.extend_from_slice(&part);
            copied = span.end;
        }
        self.out.extend_from_slice(&bytes[copied..object.end]);
    }
}

fn at<'a, S: super::source::Source<'a>>(mut source: S, object: Span) -> S {
    source.seek(object.start);
    source
}

/// The first tree of each round that still has one, and the number of trees.
fn round_starts(trees: &[NewTree]) -> Vec<i64> {
    let mut starts = Vec::new();
    let mut last = None;
    for (index, tree) in trees.iter().enumerate() {
        if last.replace(tree.round) != Some(tree.round) {
            starts.push(index as i64);
        }
    }
    starts.push(trees.len() as i64);
    starts
}
