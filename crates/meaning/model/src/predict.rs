//! Batch prediction with exactly the library's bits.
//!
//! Trees are laid out anew for speed: 16 bytes a node, siblings side by side, every comparison
//! turned into `<=` on f64 (which holds every f32), every weight already multiplied into its leaf
//! with the library's rounding. Several rows descend a tree in turn, one step each, so that the
//! next node of one row is loaded from memory while the others compare; a row that has reached its
//! leaf stays there. The order of additions and the type of the sums are unchanged.

use std::collections::VecDeque;

use thiserror::Error;

use crate::decision::{Decision, Value};
use crate::ensemble::{Ensemble, InterceptPosition};
use crate::feature::NumberType;
use crate::ids::{ClassId, FeatureId, NodeId};
use crate::tree::{Node, Output, Split, Test};

/// A row that the library would refuse.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
#[expect(missing_docs, reason = "each message says what its fields are")]
pub enum PredictError {
    #[error("{found} values are not a whole number of rows of {width} features")]
    Width { found: usize, width: usize },
    #[error("row {row}, feature {feature}: the library does not accept {value} as an input of this model")]
    Refused { row: usize, feature: FeatureId, value: f64 },
}

/// A model prepared for prediction.
#[derive(Debug)]
pub struct Predictor<'a> {
    ensemble: &'a Ensemble,
    nodes: Vec<Flat>,
    /// For each node that is a leaf, where its values begin.
    leaves: Vec<u32>,
    roots: Vec<Root>,
    /// The numbers that each leaf adds: weight included, rounded.
    values: Vec<f64>,
    /// Tests that are not a plain comparison.
    specials: Vec<Split<'a>>,
}

/// The number of rows that descend a tree together; the values of one feature in all of them are
/// adjacent.
const LANES: usize = 8;
type Lanes = [f64; LANES];

/// The number of rows that go through all trees together, so that a tree is loaded once for all of
/// them.
const BLOCK: usize = 8 * LANES;

impl<'a> Predictor<'a> {
    /// Lays the trees out.
    pub fn new(ensemble: &'a Ensemble) -> Self {
        let mut predictor = Self {
            ensemble,
            nodes: Vec::new(),
            leaves: Vec::new(),
            roots: Vec::with_capacity(ensemble.trees().len()),
            values: Vec::new(),
            specials: Vec::new(),
        };
        for index in 0..ensemble.trees().len() {
            predictor.lay_out(index);
        }
        predictor
    }

    /// The raw scores of row-major `rows`: for each row one number for each sum, equal to the
    /// library's raw scores (f32 sums widened).
    pub fn raw_scores(&self, rows: &[f64]) -> Result<Vec<f64>, PredictError> {
        let mut scores = Vec::new();
        self.for_each(rows, |raw, _| scores.extend_from_slice(raw))?;
        Ok(scores)
    }

    /// The scores that the library decides on or predicts from: the raw scores, averaged if the
    /// library averages, even if its raw scores are not averaged.
    pub fn decided_scores(&self, rows: &[f64]) -> Result<Vec<f64>, PredictError> {
        let mut scores = Vec::new();
        self.for_each_decided(rows, |_, decided| scores.extend_from_slice(decided))?;
        Ok(scores)
    }

    /// The class of each of the row-major `rows`.
    pub fn classes(&self, rows: &[f64]) -> Result<Vec<ClassId>, PredictError> {
        let mut classes = Vec::new();
        self.for_each(rows, |_, class| classes.push(class))?;
        Ok(classes)
    }

    /// The numbers that a regressor's `predict` returns for row-major `rows`: for each row one
    /// number for each sum. `None` if the model is a classifier, and if the last bits are not fixed
    /// ([`Value::NotFixed`]).
    pub fn values(&self, rows: &[f64]) -> Result<Option<Vec<f64>>, PredictError> {
        let value = match *self.ensemble.decision() {
            Decision::Scores(value) if !matches!(value, Value::NotFixed(_)) => value,
            _ => return Ok(None),
        };
        let number = self.ensemble.accumulation().number;
        let mut values = Vec::new();
        self.for_each_decided(rows, |_, decided| {
            values.extend(decided.iter().map(|&score| match value {
                // The library multiplies by a sign that is zero for zero, which turns a negative
                // zero into zero.
                Value::SignedSquare if score == 0.0 => 0.0,
                Value::SignedSquare => number.round(score.abs() * score),
                Value::ScoreAsF32 => NumberType::F32.round(score),
                Value::Above { threshold } => f64::from(u8::from(score > threshold)),
                Value::Score | Value::NotFixed(_) => score,
            }));
        })?;
        Ok(Some(values))
    }

    /// Calls `visit` with the raw scores and the class of each row in turn.
    pub fn for_each(&self, rows: &[f64], mut visit: impl FnMut(&[f64], ClassId)) -> Result<(), PredictError> {
        let decision = self.ensemble.decision();
        self.for_each_decided(rows, |raw, decided| visit(raw, decision.class(decided)))
    }

    /// Calls `visit` with the raw scores of each row, and with those after averaging, on which the
    /// library decides.
    fn for_each_decided(
        &self,
        rows: &[f64],
        mut visit: impl FnMut(&[f64], &[f64]),
    ) -> Result<(), PredictError> {
        let width = self.ensemble.features().len();
        if width == 0 || !rows.len().is_multiple_of(width) {
            return Err(PredictError::Width { found: rows.len(), width });
        }
        let groups = self.ensemble.group_count();
        let groups_of_rows = (rows.len() / width).div_ceil(LANES).min(BLOCK / LANES);
        let mut values: Vec<Lanes> = vec![[0.0; LANES]; groups_of_rows * width];
        let mut scores = vec![0.0; BLOCK * groups];
        let mut decided = vec![0.0; groups];
        for (block, chunk) in rows.chunks(BLOCK * width).enumerate() {
            let count = chunk.len() / width;
            for (row, raw) in chunk.chunks(width).enumerate() {
                let values = &mut values[row / LANES * width..][..width];
                for (feature, (&raw, slot)) in raw.iter().zip(values).enumerate() {
                    let feature = FeatureId::new(feature);
                    let refused = || PredictError::Refused { row: block * BLOCK + row, feature, value: raw };
                    slot[row % LANES] = self.ensemble.read(feature, raw).ok_or_else(refused)?;
                }
            }
            let values = &values[..count.div_ceil(LANES) * width];
            match self.ensemble.accumulation().number {
                NumberType::F32 => self.add_up::<f32>(values, &mut scores[..count * groups]),
                NumberType::F64 => self.add_up::<f64>(values, &mut scores[..count * groups]),
            }
            for raw in scores[..count * groups].chunks_mut(groups) {
                decided.copy_from_slice(raw);
                if let Some(average) = self.ensemble.accumulation().average {
                    let number = self.ensemble.accumulation().number;
                    decided.iter_mut().for_each(|score| *score = number.round(*score / average.divisor));
                    if average.in_raw_scores {
                        raw.copy_from_slice(&decided);
                    }
                }
                visit(raw, &decided);
            }
        }
        Ok(())
    }

    /// The sums of as many rows as there are scores for; further lanes hold arbitrary values.
    fn add_up<T: Number>(&self, rows: &[Lanes], scores: &mut [f64]) {
        let width = self.ensemble.features().len();
        let groups = self.ensemble.group_count();
        let first = self.ensemble.accumulation().intercept == InterceptPosition::First;
        let intercepts = self.ensemble.intercepts();
        let mut sums = vec![T::from_f64(0.0); scores.len()];
        if first {
            for sum in sums.chunks_mut(groups) {
                sum.iter_mut().zip(intercepts).for_each(|(sum, &value)| *sum = T::from_f64(value));
            }
        }
        for root in &self.roots {
            for (rows, sums) in rows.chunks(width).zip(sums.chunks_mut(LANES * groups)) {
                let ends = if root.plain { self.plain_ends(root, rows) } else { self.ends(root, rows) };
                for (end, sum) in ends.into_iter().zip(sums.chunks_mut(groups)) {
                    let at = self.leaves[end as usize] as usize;
                    match root.output {
                        Output::Group(group) => {
                            let sum = &mut sum[group.index()];
                            *sum = sum.plus(T::from_f64(self.values[at]));
                        }
                        Output::All => {
                            for (sum, &value) in sum.iter_mut().zip(&self.values[at..]) {
                                *sum = sum.plus(T::from_f64(value));
                            }
                        }
                    }
                }
            }
        }
        if let Some(scale) = self.ensemble.scale() {
            // f64 holds the product of two f32, so this rounds once.
            sums.iter_mut().for_each(|sum| *sum = T::from_f64(sum.to_f64() * scale));
            if intercepts.iter().all(|&intercept| intercept == 0.0) {
                // Nothing is added then, and a product may be negative zero.
                scores.iter_mut().zip(sums).for_each(|(score, sum)| *score = sum.to_f64());
                return;
            }
        }
        for (score, (sum, &intercept)) in scores.iter_mut().zip(sums.iter().zip(intercepts.iter().cycle())) {
            *score = if first { sum.to_f64() } else { sum.plus(T::from_f64(intercept)).to_f64() };
        }
    }

    /// The leaf that each lane reaches in a tree of comparisons.
    fn plain_ends(&self, root: &Root, rows: &[Lanes]) -> [u32; LANES] {
        let mut ends = [root.first; LANES];
        for _ in 0..root.depth {
            let mut moved = false;
            for lane in 0..LANES {
                let node = &self.nodes[ends[lane] as usize];
                let value = rows[(node.word & FEATURE_MASK) as usize][lane];
                let missing_right = node.word & MISSING_RIGHT != 0;
                let right = (value > node.threshold) | (value.is_nan() & missing_right);
                let next = node.next + u32::from(right);
                moved |= next != ends[lane];
                ends[lane] = next;
            }
            if !moved {
                break;
            }
        }
        ends
    }

    /// The leaf that each lane reaches in any tree.
    fn ends(&self, root: &Root, rows: &[Lanes]) -> [u32; LANES] {
        std::array::from_fn(|lane| {
            let mut at = root.first;
            loop {
                let node = &self.nodes[at as usize];
                let index = (node.word & FEATURE_MASK) as usize;
                let right = if node.word & SPECIAL != 0 {
                    let split = self.specials[index];
                    !self.ensemble.goes_left(split, rows[split.feature.index()][lane])
                } else {
                    let value = rows[index][lane];
                    value > node.threshold || value.is_nan() && node.word & MISSING_RIGHT != 0
                };
                let next = node.next + u32::from(right);
                if next == at {
                    return at;
                }
                at = next;
            }
        })
    }

    fn lay_out(&mut self, index: usize) {
        let tree = &self.ensemble.trees()[index];
        let number = self.ensemble.accumulation().number;
        let first_value = self.values.len();
        let weight = self.ensemble.leaf_weight(tree);
        self.values.extend(tree.leaf_values().iter().map(|value| number.round(weight * value)));
        let leaf_width = tree.leaf_values().len() / tree.leaf_count();
        let mut root = Root { first: id(self.nodes.len()), depth: 0, plain: true, output: tree.output() };
        self.push_nodes(1);
        // Breadth first: (node of the tree, its place here, its depth).
        let mut open = VecDeque::from([(NodeId(0), root.first, 0)]);
        while let Some((node, place, depth)) = open.pop_front() {
            let (split, left, right) = match tree.node(node) {
                Node::Split { split, left, right } => (split, left, right),
                Node::Leaf(leaf) => {
                    self.leaves[place as usize] = id(first_value + leaf.index() * leaf_width);
                    self.nodes[place as usize] = Flat { next: place, ..Flat::LEAF };
                    root.depth = root.depth.max(depth);
                    continue;
                }
                Node::Unused => unreachable!("the builder lets no path reach an unused slot"),
            };
            let next = id(self.nodes.len());
            self.push_nodes(2);
            let missing = if split.missing_left { 0 } else { MISSING_RIGHT };
            let (threshold, word) = match as_less_or_equal(split.test) {
                Some(threshold) => (threshold, missing | split.feature.0),
                None => {
                    root.plain = false;
                    self.specials.push(split);
                    (0.0, SPECIAL | id(self.specials.len() - 1))
                }
            };
            self.nodes[place as usize] = Flat { threshold, word, next };
            open.push_back((left, next, depth + 1));
            open.push_back((right, next + 1, depth + 1));
        }
        self.roots.push(root);
    }

    fn push_nodes(&mut self, count: usize) {
        self.nodes.extend(std::iter::repeat_n(Flat::LEAF, count));
        self.leaves.extend(std::iter::repeat_n(0, count));
    }
}

/// A position in the layout.
fn id(index: usize) -> u32 {
    u32::try_from(index).expect("an ensemble has fewer than 2^32 nodes and values")
}

/// The threshold of the same test written with `<=`, if there is one.
fn as_less_or_equal(test: Test<'_>) -> Option<f64> {
    match test {
        Test::LessOrEqual { threshold } => Some(threshold),
        Test::Less { threshold } if threshold != f64::NEG_INFINITY => Some(threshold.next_down()),
        _ => None,
    }
}

/// A tree in the layout.
#[derive(Debug)]
struct Root {
    first: u32,
    /// Steps to the deepest leaf.
    depth: u32,
    /// Is every split a comparison?
    plain: bool,
    output: Output,
}

/// A node: right iff value > threshold, or the value is missing and missing values go right.
#[derive(Clone, Copy, Debug)]
struct Flat {
    threshold: f64,
    /// Flags in the top bits; below them the feature, or the index of a special test.
    word: u32,
    /// The left child, with the right child next to it; for a leaf the leaf itself.
    next: u32,
}

impl Flat {
    /// Nothing goes right at a leaf, so a further step stays on it.
    const LEAF: Self = Self { threshold: f64::INFINITY, word: 0, next: 0 };
}

const MISSING_RIGHT: u32 = 1 << 31;
const SPECIAL: u32 = 1 << 30;
const FEATURE_MASK: u32 = SPECIAL - 1;

/// The type of a running sum.
trait Number: Copy {
    fn from_f64(value: f64) -> Self;
    fn to_f64(self) -> f64;
    fn plus(self, other: Self) -> Self;
}

impl Number for f32 {
    fn from_f64(value: f64) -> Self {
        value as f32
    }
    fn to_f64(self) -> f64 {
        f64::from(self)
    }
    fn plus(self, other: Self) -> Self {
        self + other
    }
}

impl Number for f64 {
    fn from_f64(value: f64) -> Self {
        value
    }
    fn to_f64(self) -> f64 {
        self
    }
    fn plus(self, other: Self) -> Self {
        self + other
    }
}
