//! The rows of the cover test. Every inner node of every tree gets a row on each side of its test,
//! as near to the threshold as a number can be, and one with a missing value, so that every leaf
//! that can be reached is reached.
//!
//! Each row differs from the one before in few values, so that a test of thousands of rows fits on
//! small machines.

use std::collections::BTreeMap;

use secateur_model::{Ensemble, FeatureId, Node, NodeId, NumberType, Split, Test, Tree};

/// Inner nodes that get rows. In larger models only every n-th node does, so that there are at most
/// this many.
const MOST_NODES: usize = 1 << 16;

/// The rows of a model's cover test, one after the other.
pub fn cover_rows(model: &Ensemble) -> Vec<f64> {
    let width = model.features().len();
    let mut maker = Maker { model, row: Vec::new(), rows: Vec::new() };
    for feature in 0..width {
        // Zero is accepted in every column of numbers; categories with listed labels may accept
        // others only.
        let candidates = [0.0, 1.0, f64::NAN, f64::INFINITY];
        let value =
            candidates.into_iter().find(|&value| model.read(FeatureId::new(feature), value).is_some());
        maker.row.push(value.unwrap_or(0.0));
    }
    if width == 0 || !model.accepts(&maker.row) {
        return Vec::new();
    }
    maker.rows.extend_from_slice(&maker.row);
    let nodes: usize = model.trees().iter().map(|tree| tree.splits().count()).sum();
    let stride = nodes.div_ceil(MOST_NODES).max(1);
    let mut seen = 0;
    for tree in model.trees() {
        maker.tree(tree, stride, &mut seen);
    }
    maker.odd_values();
    maker.rows
}

struct Maker<'a> {
    model: &'a Ensemble,
    row: Vec<f64>,
    rows: Vec<f64>,
}

impl<'a> Maker<'a> {
    fn tree(&mut self, tree: &'a Tree, stride: usize, seen: &mut usize) {
        // Nodes, each with the tests above it and the sides that were taken.
        let mut open: Vec<(NodeId, Vec<(Split<'a>, bool)>)> = vec![(NodeId(0), Vec::new())];
        while let Some((node, path)) = open.pop() {
            let Node::Split { split, left, right } = tree.node(node) else { continue };
            if seen.is_multiple_of(stride) {
                self.node(&path, split);
            }
            *seen += 1;
            for (side, child) in [(false, right), (true, left)] {
                let mut longer = path.clone();
                longer.push((split, side));
                open.push((child, longer));
            }
        }
    }

    /// Adds a row on each side of a test, and one with a missing value.
    fn node(&mut self, path: &[(Split<'a>, bool)], split: Split<'a>) {
        for side in [true, false] {
            let mut longer = path.to_vec();
            longer.push((split, side));
            if self.walk(&longer, Some(split)) {
                self.rows.extend_from_slice(&self.row);
            }
        }
        let at = split.feature.index();
        let before = self.row[at];
        if self.model.read(split.feature, f64::NAN).is_some() && self.walk(path, None) {
            self.row[at] = f64::NAN;
            self.rows.extend_from_slice(&self.row);
            self.row[at] = before;
        }
    }

    /// Changes the row so that it follows a path, with a value as near to the test `near` as
    /// possible. If no value is found, returns false and leaves the row unchanged.
    fn walk(&mut self, path: &[(Split<'a>, bool)], near: Option<Split<'a>>) -> bool {
        let mut changes: BTreeMap<usize, f64> = BTreeMap::new();
        for (split, _) in path {
            let at = split.feature.index();
            let fits = |value: f64| {
                let Some(read) = self.model.read(split.feature, value) else { return false };
                let own = path.iter().filter(|(other, _)| other.feature == split.feature);
                own.clone().all(|&(other, side)| self.model.goes_left(other, read) == side)
            };
            let is_near = near.is_some_and(|near| near.feature == split.feature);
            if changes.contains_key(&at) || !is_near && fits(self.row[at]) {
                continue;
            }
            let first = near.filter(|_| is_near).into_iter();
            let own = path
                .iter()
                .rev()
                .filter(|(other, _)| other.feature == split.feature)
                .map(|(other, _)| *other);
            let found =
                first.chain(own).flat_map(|question| self.candidates(question)).find(|&value| fits(value));
            match found {
                Some(value) => changes.insert(at, value),
                None => return false,
            };
        }
        changes.into_iter().for_each(|(at, value)| self.row[at] = value);
        true
    }

    /// Values at which a test changes its answer.
    fn candidates(&self, split: Split<'_>) -> Vec<f64> {
        let number = self.model.domain().number;
        match split.test {
            Test::Less { threshold }
            | Test::LessOrEqual { threshold }
            | Test::LessOrEqualButZero { threshold, .. }
            | Test::Equal { value: threshold } => {
                let mut values = around(number, threshold);
                values.extend([0.0, f64::NAN]);
                values
            }
            Test::Member { set, .. } => {
                let Some(categories) = self.model.features().categories(split.feature) else {
                    return Vec::new();
                };
                let last = set.last().map_or(0, |&last| last.saturating_add(1));
                let outside = (0..=last).find(|code| set.binary_search(code).is_err());
                let ends = [set.first(), set.last()].into_iter().flatten().copied();
                let mut values: Vec<f64> =
                    ends.chain(outside).filter_map(|code| categories.value(code)).collect();
                values.extend([-1.0, 1e9, f64::NAN]);
                values
            }
        }
    }

    /// Adds rows with values that programs often treat wrongly, in every column that some split
    /// tests.
    fn odd_values(&mut self) {
        let mut used: Vec<FeatureId> =
            self.model.trees().iter().flat_map(|tree| tree.splits()).map(|split| split.feature).collect();
        used.sort_by_key(|feature| feature.index());
        used.dedup();
        let largest = self.model.domain().number.max();
        for feature in used {
            let before = self.row[feature.index()];
            let mut values =
                vec![0.0, -0.0, -0.5, 0.5, f64::INFINITY, f64::NEG_INFINITY, largest, -largest, f64::NAN];
            values.extend(self.model.domain().zero_window.into_iter().flat_map(|window| {
                let number = self.model.domain().number;
                [around(number, window), around(number, -window)].concat()
            }));
            for value in values {
                if self.model.read(feature, value).is_some() {
                    self.row[feature.index()] = value;
                    self.rows.extend_from_slice(&self.row);
                }
            }
            self.row[feature.index()] = before;
        }
    }
}

/// The largest number of this type that is not above a number, followed by its neighbours.
fn around(number: NumberType, value: f64) -> Vec<f64> {
    let floor = number.floor(value);
    vec![floor, number.next_up(floor), number.next_down(floor)]
}
