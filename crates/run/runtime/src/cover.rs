//! The cover of a model: rows that reach every leaf of every tree, every threshold with its
//! neighbours, missing values, zeros, infinities and categories. An error in a kernel shows on one
//! of them.
//!
//! The rows follow from the file alone. The file contains the hash of their scores, computed by the
//! exact predictor when the model was packed; a self-test computes it again on the user's machine,
//! on every path.
//!
//! There are two kinds of covers. Files with the mark [`AIMED`] have the second one: few rows for
//! all leaves (module `aimed`), and for a comparison the last value on its left side and the first
//! one on its right side. Older files have the first one: a row for every leaf, and one more value
//! for a comparison. Its rows must never change, since the hash of their scores is in those files.

mod aimed;
#[cfg(all(test, feature = "std"))]
mod tests;

use alloc::vec::Vec;

use crate::bytes::Checksum;
use crate::file::{Column, File, Kind, LEAF, Tests};
use crate::meaning::Number;
use crate::plan::{named_codes, refuses_infinities};

/// This bit of the number of rows in a file's head says that the cover is the second one.
pub const AIMED: u32 = 1 << 31;

/// Rows times trees of a cover are at most about this number; if a model has more leaves, only some
/// of them get a row.
const MOST: usize = 1 << 28;

/// The largest number of values in all rows together; a model with very many columns gets fewer
/// rows.
const MOST_VALUES: usize = 1 << 26;

/// If all features together have more interesting values than this, one row takes an interesting
/// value for every feature.
const MOST_ALONE: usize = 1 << 13;

/// The hash of the scores of all rows, one row after the other.
pub fn hash_of_scores(scores: &[f64]) -> u64 {
    let mut sum = Checksum::new();
    scores.iter().for_each(|score| sum.word(score.to_bits()));
    sum.finish()
}

/// The rows of the cover, one row after the other. `watch` is called from time to time with the
/// share of the work that is done, from 0 to 1; if it returns false, this ends without rows.
pub(crate) fn rows(file: &File, watch: &mut dyn FnMut(f64) -> bool) -> Option<Vec<f64>> {
    rows_and_visits(file, watch).map(|(rows, _)| rows)
}

/// The rows, and the number of nodes that the search for them visited (counted for the second cover
/// only).
pub(crate) fn rows_and_visits(file: &File, watch: &mut dyn FnMut(f64) -> bool) -> Option<(Vec<f64>, usize)> {
    let aimed = file.cover_rows & AIMED != 0;
    let mut maker =
        Maker { file, aimed, values: Vec::new(), state: 1, rows: Vec::new(), columns: Vec::new() };
    for column in 0..file.columns.len() {
        maker.columns.extend((0..file.columns[column].tests.len()).map(|test| (column as u32, test as u32)));
    }
    let mut used: Vec<u32> = file.columns.iter().map(|column| column.feature).collect();
    used.dedup();
    maker.values = used.into_iter().map(|feature| (feature, maker.interesting(feature))).collect();
    if file.features == 0 {
        return Some((Vec::new(), 0));
    }
    let first = maker.random_row();
    maker.push(first);
    maker.every_value();
    if aimed {
        let visits = aimed::leaves(&mut maker, watch)?;
        return Some((maker.rows, visits));
    }
    let leaves = file.nodes.len();
    let stride = (leaves.saturating_mul(file.trees.len()) / 2 / MOST).max(1);
    let mut seen = 0;
    for tree in &file.trees {
        maker.leaves(&file.nodes[tree.nodes.clone()], stride, &mut seen, watch)?;
    }
    Some((maker.rows, 0))
}

struct Maker<'a> {
    file: &'a File,
    /// Is this the second cover?
    aimed: bool,
    /// The interesting values of each feature that some split tests; all other features are always
    /// 0.
    values: Vec<(u32, Vec<f64>)>,
    state: u64,
    rows: Vec<f64>,
    /// The column of each test, and the test's index in that column.
    columns: Vec<(u32, u32)>,
}

impl Maker<'_> {
    fn random(&mut self, below: usize) -> usize {
        self.state =
            self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.state >> 33) as usize) % below.max(1)
    }

    fn random_row(&mut self) -> Vec<f64> {
        let mut row = alloc::vec![0.0; self.file.features as usize];
        for feature in 0..self.values.len() {
            let at = self.random(self.values[feature].1.len());
            row[self.values[feature].0 as usize] = self.values[feature].1[at];
        }
        row
    }

    /// Adds rows with every interesting value of every feature. If there are few in all, each value
    /// gets a row of its own with random values of the other features. Otherwise there are as many
    /// rows as the feature with most values needs, and every feature passes through its own values
    /// from a random one on.
    fn every_value(&mut self) {
        let all: usize = self.values.iter().map(|(_, values)| values.len()).sum();
        if all <= MOST_ALONE {
            for feature in 0..self.values.len() {
                for at in 0..self.values[feature].1.len() {
                    if self.is_full() {
                        return;
                    }
                    let mut row = self.random_row();
                    row[self.values[feature].0 as usize] = self.values[feature].1[at];
                    self.push(row);
                }
            }
            return;
        }
        let most = self.values.iter().map(|(_, values)| values.len()).max().unwrap_or(0);
        let starts: Vec<usize> = (0..self.values.len()).map(|_| self.random(most)).collect();
        for step in 0..most {
            let mut row = alloc::vec![0.0; self.file.features as usize];
            for ((feature, values), start) in self.values.iter().zip(&starts) {
                row[*feature as usize] = values[(start + step) % values.len()];
            }
            self.push(row);
        }
    }

    /// Is there no room for another row? The second cover also ends where its scores would take too
    /// long to compute.
    fn is_full(&self) -> bool {
        let width = self.file.features as usize;
        let most = if self.aimed {
            (MOST / self.file.trees.len().max(1)).saturating_mul(width)
        } else {
            MOST_VALUES
        };
        self.rows.len() + width > most.min(MOST_VALUES)
    }

    fn push(&mut self, row: Vec<f64>) {
        if !self.is_full() {
            self.rows.extend(row);
        }
    }

    fn up(&self, value: f64) -> f64 {
        match self.file.domain.number {
            Number::F32 => f64::from((value as f32).next_up()),
            Number::F64 => value.next_up(),
        }
    }

    fn down(&self, value: f64) -> f64 {
        -self.up(-value)
    }

    /// The interesting values of a feature: values that the library accepts and between which some
    /// test changes its answer.
    fn interesting(&self, feature: u32) -> Vec<f64> {
        let mut values: Vec<f64> = Vec::new();
        let mut push = |value: f64| {
            if self.file.read_value(feature as usize, value).is_some() {
                values.push(value);
            }
        };
        [0.0, -0.0, f64::NAN, 1.0].into_iter().for_each(&mut push);
        let of_feature = self.columns_of(feature);
        if !of_feature.is_empty() {
            let largest = if self.file.domain.number == Number::F32 { f64::from(f32::MAX) } else { f64::MAX };
            [f64::INFINITY, f64::NEG_INFINITY, largest, -largest].into_iter().for_each(&mut push);
            if let Some(window) = self.file.domain.zero_window {
                [window, -window, self.up(window), -self.up(window)].into_iter().for_each(&mut push);
            }
        }
        for column in of_feature {
            if let Tests::Numbers(numbers) = &column.tests {
                for &number in numbers {
                    let near = match self.file.domain.number {
                        Number::F32 => f64::from(number as f32),
                        Number::F64 => number,
                    };
                    let around = [near, self.down(near), self.up(near)];
                    let skipped = match column.kind {
                        _ if !self.aimed => None,
                        Kind::Less => Some(if near < number { 1 } else { 2 }),
                        Kind::LessOrEqual | Kind::ButZero { .. } => Some(if near <= number { 1 } else { 2 }),
                        Kind::Equal | Kind::Member { .. } => None,
                    };
                    let kept = around.into_iter().enumerate().filter(|(at, _)| Some(*at) != skipped);
                    kept.for_each(|(_, value)| push(value));
                }
            }
        }
        if let Ok(at) = self.file.categories.binary_search_by_key(&feature, |known| known.feature) {
            let rule = &self.file.categories[at].rule;
            let codes = named_codes(self.file, feature);
            // Each code had 32 bits before `named_codes` widened it.
            for code in codes.into_iter().map(|code| code as u32) {
                for code in [Some(code), code.checked_add(1)].into_iter().flatten() {
                    rule.value(code).into_iter().for_each(&mut push);
                }
            }
            [-1.0, -0.5, 0.5, 1e9].into_iter().filter(|_| !refuses_infinities(rule)).for_each(&mut push);
        }
        if values.is_empty() {
            values.push(0.0);
        }
        if self.aimed {
            values.sort_by(f64::total_cmp);
            values.dedup_by_key(|value| value.to_bits());
        }
        values
    }

    /// The test columns of a feature. `File::columns` is in the order of features.
    fn columns_of(&self, feature: u32) -> &[Column] {
        let first = self.file.columns.partition_point(|column| column.feature < feature);
        let behind = self.file.columns.partition_point(|column| column.feature <= feature);
        &self.file.columns[first..behind]
    }

    /// Adds a row in each leaf that some row reaches, or in every `stride`-th leaf.
    fn leaves(
        &mut self,
        nodes: &[u32],
        stride: usize,
        seen: &mut usize,
        watch: &mut dyn FnMut(f64) -> bool,
    ) -> Option<()> {
        // The splits above the current node, each with whether the left side was taken.
        let mut path: Vec<(u32, bool)> = Vec::new();
        for &node in nodes {
            if node != LEAF {
                path.push((node, true));
                continue;
            }
            if seen.is_multiple_of(stride) {
                if !watch(*seen as f64 / self.file.nodes.len() as f64) {
                    return None;
                }
                self.leaf(&path);
            }
            *seen += 1;
            // Continues on the right side of the last split whose left side was taken.
            while path.pop_if(|(_, left)| !*left).is_some() {}
            if let Some((_, left)) = path.last_mut() {
                *left = false;
            }
        }
        Some(())
    }

    fn leaf(&mut self, path: &[(u32, bool)]) {
        let mut row = self.random_row();
        for (position, &(test, _)) in path.iter().enumerate() {
            let feature = self.column(test).feature;
            // Each feature is handled once.
            if path[..position].iter().any(|&(other, _)| self.column(other).feature == feature) {
                continue;
            }
            let fits = |value: f64| {
                path.iter().all(|&(test, left)| {
                    self.column(test).feature != feature || self.left(test, value) == left
                })
            };
            if fits(row[feature as usize]) {
                continue;
            }
            match self.fitting(path, feature, &fits) {
                Some(value) => row[feature as usize] = value,
                None => return,
            }
        }
        self.push(row);
    }

    fn column(&self, test: u32) -> &Column {
        &self.file.columns[self.columns[test as usize].0 as usize]
    }

    /// A value of the feature that follows the path. The thresholds on the path and their
    /// neighbours are tried first.
    fn fitting(&self, path: &[(u32, bool)], feature: u32, fits: &dyn Fn(f64) -> bool) -> Option<f64> {
        let accepted = |value: f64| self.file.read_value(feature as usize, value).is_some() && fits(value);
        for &(test, _) in path {
            let (column, at) = self.columns[test as usize];
            let column = &self.file.columns[column as usize];
            if column.feature != feature {
                continue;
            }
            if let Tests::Numbers(numbers) = &column.tests {
                let number = match self.file.domain.number {
                    Number::F32 => f64::from(numbers[at as usize] as f32),
                    Number::F64 => numbers[at as usize],
                };
                let near = [number, self.down(number), self.up(number)];
                if let Some(value) = near.into_iter().find(|&value| accepted(value)) {
                    return Some(value);
                }
            }
        }
        let at = self.values.binary_search_by_key(&feature, |known| known.0).ok()?;
        self.values[at].1.iter().copied().take(1 << 12).find(|&value| accepted(value))
    }

    /// Does a test send a value left? The value is as the caller gives it.
    fn left(&self, test: u32, value: f64) -> bool {
        let (column, at) = self.columns[test as usize];
        let column = &self.file.columns[column as usize];
        let Some(value) = self.file.read_value(column.feature as usize, value) else { return false };
        if value.is_nan() {
            return column.missing_left;
        }
        match (&column.tests, column.kind) {
            (Tests::Numbers(numbers), Kind::Less) => value < numbers[at as usize],
            (Tests::Numbers(numbers), Kind::Equal) => value == numbers[at as usize],
            (Tests::Numbers(_), Kind::ButZero { zero_left }) if value == 0.0 => zero_left,
            (Tests::Numbers(numbers), _) => value <= numbers[at as usize],
            (Tests::Sets(sets), kind) => {
                let found = self.file.categories.binary_search_by_key(&column.feature, |known| known.feature);
                let Ok(category) = found else { return false };
                let category = &self.file.categories[category];
                match category.rule.code(value) {
                    None if category.unseen_is_missing => column.missing_left,
                    code => {
                        let member = code.is_some_and(|code| sets[at as usize].binary_search(&code).is_ok());
                        (kind == Kind::Member { members_left: true }) == member
                    }
                }
            }
        }
    }
}
