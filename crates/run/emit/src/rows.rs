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

/// Splits above nodes that are visited between two calls of `watch`: some milliseconds of work.
const WATCHED: usize = 1 << 18;

/// The rows of a model's cover test, one after the other.
pub fn cover_rows(model: &Ensemble) -> Vec<f64> {
    cover_rows_watched(model, &mut |_| true).unwrap_or_default()
}

/// As [`cover_rows`]. `watch` is called now and then with the share of the work that is done, from
/// 0 to 1; if it answers no, there are no rows.
pub fn cover_rows_watched(model: &Ensemble, watch: &mut dyn FnMut(f64) -> bool) -> Option<Vec<f64>> {
    let width = model.features().len();
    let mut maker = Maker { model, row: Vec::new(), rows: Vec::new(), above: BTreeMap::new(), work: 0 };
    for feature in 0..width {
        // Zero is accepted in every column of numbers; categories with listed labels may accept
        // others only.
        let candidates = [0.0, 1.0, f64::NAN, f64::INFINITY];
        let value =
            candidates.into_iter().find(|&value| model.read(FeatureId::new(feature), value).is_some());
        maker.row.push(value.unwrap_or(0.0));
    }
    if width == 0 || !model.accepts(&maker.row) {
        return Some(Vec::new());
    }
    maker.rows.extend_from_slice(&maker.row);
    let nodes: usize = model.trees().iter().map(|tree| tree.splits().count()).sum();
    let stride = nodes.div_ceil(MOST_NODES).max(1);
    let mut seen = 0;
    for tree in model.trees() {
        maker.tree(tree, stride, &mut seen, &mut |seen| watch(seen as f64 / nodes as f64))?;
    }
    maker.odd_values();
    Some(maker.rows)
}

struct Maker<'a> {
    model: &'a Ensemble,
    row: Vec<f64>,
    rows: Vec<f64>,
    /// The splits on the path to the current node with the sides that were taken, for each feature
    /// in the order of the path.
    above: BTreeMap<usize, Vec<Turn<'a>>>,
    /// Splits that were visited since the last call of `watch`.
    work: usize,
}

/// A split on a path, and the side that was taken.
type Turn<'a> = (Split<'a>, bool);

impl<'a> Maker<'a> {
    /// `watch` is called now and then with the number of nodes that were seen.
    fn tree(
        &mut self,
        tree: &'a Tree,
        stride: usize,
        seen: &mut usize,
        watch: &mut dyn FnMut(usize) -> bool,
    ) -> Option<()> {
        // Nodes with the length of the path to their parent, and the parent's split with the side
        // that was taken.
        let mut open: Vec<(NodeId, usize, Option<Turn<'a>>)> = vec![(NodeId(0), 0, None)];
        let mut path: Vec<Split<'a>> = Vec::new();
        self.above.clear();
        while let Some((node, length, step)) = open.pop() {
            for split in path.drain(length..) {
                self.leave(split);
            }
            if let Some((split, side)) = step {
                path.push(split);
                self.enter(split, side);
            }
            let Node::Split { split, left, right } = tree.node(node) else { continue };
            if seen.is_multiple_of(stride) {
                self.node(split);
                self.work += path.len();
                if self.work > WATCHED {
                    self.work = 0;
                    watch(*seen).then_some(())?;
                }
            }
            *seen += 1;
            for (side, child) in [(false, right), (true, left)] {
                open.push((child, path.len(), Some((split, side))));
            }
        }
        Some(())
    }

    fn enter(&mut self, split: Split<'a>, side: bool) {
        self.above.entry(split.feature.index()).or_default().push((split, side));
    }

    fn leave(&mut self, split: Split<'a>) {
        self.above.entry(split.feature.index()).or_default().pop();
    }

    /// Adds a row on each side of a test, and one with a missing value.
    fn node(&mut self, split: Split<'a>) {
        for side in [true, false] {
            self.enter(split, side);
            if self.walk(Some(split)) {
                self.rows.extend_from_slice(&self.row);
            }
            self.leave(split);
        }
        let at = split.feature.index();
        let before = self.row[at];
        if self.model.read(split.feature, f64::NAN).is_some() && self.walk(None) {
            self.row[at] = f64::NAN;
            self.rows.extend_from_slice(&self.row);
            self.row[at] = before;
        }
    }

    /// Changes the row so that it follows the path, with a value as near to the test `near` as
    /// possible. If no value is found, returns false and leaves the row unchanged.
    fn walk(&mut self, near: Option<Split<'a>>) -> bool {
        let mut changes: Vec<(usize, f64)> = Vec::new();
        for (&at, own) in &self.above {
            let Some(&(last, _)) = own.last() else { continue };
            let fits = |value: f64| {
                let Some(read) = self.model.read(last.feature, value) else { return false };
                own.iter().rev().all(|&(other, side)| self.model.goes_left(other, read) == side)
            };
            let is_near = near.is_some_and(|near| near.feature == last.feature);
            if !is_near && fits(self.row[at]) {
                continue;
            }
            let first = near.filter(|_| is_near).into_iter();
            let found = first
                .chain(deciding(own))
                .flat_map(|question| self.candidates(question))
                .find(|&value| fits(value));
            match found {
                Some(value) => changes.push((at, value)),
                None => return false,
            };
        }
        changes.into_iter().for_each(|(at, value)| self.row[at] = value);
        true
    }

    /// Values at which a test changes its answer.
    fn candidates(&self, split: Split<'_>) -> Vec<f64> {
        let number = self.model.intake().number;
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
        let largest = self.model.intake().number.max();
        for feature in used {
            let before = self.row[feature.index()];
            let mut values =
                vec![0.0, -0.0, -0.5, 0.5, f64::INFINITY, f64::NEG_INFINITY, largest, -largest, f64::NAN];
            values.extend(self.model.intake().zero_window.into_iter().flat_map(|window| {
                let number = self.model.intake().number;
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

/// The tests of one feature on a path around which some value passes all of them, if any does.
/// Comparisons leave an interval, and the two tests at its ends suffice: on a path with thousands of
/// tests, all others would be tried in vain.
fn deciding<'a>(own: &[Turn<'a>]) -> Vec<Split<'a>> {
    let threshold = |&(split, _): &Turn<'a>| match split.test {
        Test::Less { threshold }
        | Test::LessOrEqual { threshold }
        | Test::LessOrEqualButZero { threshold, .. } => Some(threshold),
        Test::Equal { .. } | Test::Member { .. } => None,
    };
    if own.iter().any(|step| threshold(step).is_none()) {
        return own.iter().rev().map(|&(split, _)| split).collect();
    }
    let by_threshold = |a: &&Turn<'a>, b: &&Turn<'a>| {
        f64::total_cmp(&threshold(a).unwrap_or_default(), &threshold(b).unwrap_or_default())
    };
    let upper = own.iter().filter(|(_, left)| *left).min_by(by_threshold);
    let lower = own.iter().filter(|(_, left)| !*left).max_by(by_threshold);
    upper.into_iter().chain(lower).map(|&(split, _)| split).collect()
}

/// The largest number of this type that is not above a number, followed by its neighbours.
fn around(number: NumberType, value: f64) -> Vec<f64> {
    let floor = number.floor(value);
    vec![floor, number.next_up(floor), number.next_down(floor)]
}
