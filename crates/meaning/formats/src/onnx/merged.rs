//! Tests for equality that onnxruntime merges into one test although they differ.
//!
//! If a node tests whether a column equals a whole number from 1 to 32 (to 64 in a double
//! ensemble), and its false branch leads to another such test of the same column, onnxruntime
//! compares the two true branches: the modes, columns and thresholds of the nodes, and the first
//! weight of each leaf. If they are equal, it evaluates both tests at once and follows the first
//! node's branches. It does not compare the targets or classes of the weights, weights after the
//! first, or the side of missing values; and a missing value that only the second node sends to its
//! true branch goes to the false one. (If the first node sends missing values to its true branch,
//! both are left as they are.) Files for which this makes a difference are refused.

use std::collections::{BTreeMap, BTreeSet};

use secateur_model::NumberType;

use super::graph::unsupported;
use super::model::Shape;
use super::table::{Mode, Table};
use crate::error::FormatError;

/// The targets and weights of a leaf, by tree and position.
type Leaves = BTreeMap<(usize, usize), Vec<(u32, f64)>>;

/// Refuses a table that onnxruntime would execute differently.
pub(super) fn check(table: &Table, number: NumberType) -> Result<(), FormatError> {
    let Some((_, row)) = find(table, number)? else { return Ok(()) };
    let what = "two tests for equality that onnxruntime makes one test of, although they are not one";
    let advice = "it does not compare the targets or classes of the branches, nor where missing values go; give the \
                  values of the branches' leaves different last bits, or the tests another order";
    Err(unsupported(Shape::new(table)?.place(row), what, advice))
}

/// The first tree that onnxruntime would execute differently, and the row of the first of its
/// merged tests.
pub(super) fn find(table: &Table, number: NumberType) -> Result<Option<(usize, usize)>, FormatError> {
    if !table.modes.contains(&Mode::Equal) {
        return Ok(None);
    }
    let shape = Shape::new(table)?;
    let mut leaves = Leaves::new();
    for entry in 0..table.class_ids.len() {
        // A weight without a leaf is refused when the model is built.
        if let Some(leaf) = shape.leaf_of(table, entry) {
            let weight = (table.class_ids[entry], table.weights.values[entry]);
            leaves.entry(leaf).or_default().push(weight);
        }
    }
    let bits = match number {
        NumberType::F32 => 32.0,
        NumberType::F64 => 64.0,
    };
    let joins = |row: usize| {
        let value = table.values.values[row];
        table.modes[row] == Mode::Equal && (1.0..=bits).contains(&value) && value.fract() == 0.0
    };
    for tree in 0..shape.runs.len() {
        let pair = Pair { table, shape: &shape, leaves: &leaves, tree };
        for first in shape.runs[tree].clone().filter(|&row| joins(row) && !pair.tracks(row)) {
            let second = pair.child(first, false)?;
            if !joins(second) || table.features[second] != table.features[first] {
                continue;
            }
            let branches = pair.branches(first, second)?;
            let differ = branches == Branches::SeemEqual || pair.tracks(second);
            if branches != Branches::Differ && differ {
                return Ok(Some((tree, first)));
            }
        }
    }
    Ok(None)
}

/// How two branches compare.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Branches {
    Equal,
    /// Equal as far as onnxruntime compares them.
    SeemEqual,
    Differ,
}

struct Pair<'a> {
    table: &'a Table,
    shape: &'a Shape,
    leaves: &'a Leaves,
    tree: usize,
}

impl Pair<'_> {
    fn tracks(&self, row: usize) -> bool {
        self.table.tracks.get(row) == Some(&1)
    }

    fn child(&self, row: usize, yes: bool) -> Result<usize, FormatError> {
        let id = if yes { self.table.true_ids[row] } else { self.table.false_ids[row] };
        let node = self.shape.child(self.table, self.tree, row, id)?;
        Ok(self.shape.runs[self.tree].start + node.index())
    }

    /// The true branches of two nodes.
    fn branches(&self, first: usize, second: usize) -> Result<Branches, FormatError> {
        let table = self.table;
        let start = self.shape.runs[self.tree].start;
        let leaf = |row: usize| self.leaves.get(&(self.tree, row - start)).map_or(&[][..], Vec::as_slice);
        let mut found = Branches::Equal;
        let mut pending = vec![(self.child(first, true)?, self.child(second, true)?)];
        // Nodes that lead back to themselves are refused elsewhere; here they must not cause an
        // endless loop.
        let mut seen = BTreeSet::new();
        while let Some((a, b)) = pending.pop() {
            if a == b || !seen.insert((a, b)) {
                continue;
            }
            let same = table.modes[a] == table.modes[b]
                && table.features[a] == table.features[b]
                && table.values.values[a] == table.values.values[b];
            if !same {
                return Ok(Branches::Differ);
            }
            if table.modes[a] != Mode::Leaf {
                if self.tracks(a) != self.tracks(b) {
                    found = Branches::SeemEqual;
                }
                pending.push((self.child(a, true)?, self.child(b, true)?));
                pending.push((self.child(a, false)?, self.child(b, false)?));
                continue;
            }
            let (ours, theirs) = (leaf(a), leaf(b));
            if ours.first().map(|first| first.1) != theirs.first().map(|first| first.1) {
                return Ok(Branches::Differ);
            }
            if ours != theirs {
                found = Branches::SeemEqual;
            }
        }
        Ok(found)
    }
}
