//! Batch prediction with the library's own bits.
//!
//! Trees are laid out anew for speed: 16 bytes a node, siblings side by side, every comparison turned
//! into `<=` on f64 (which holds every f32), every weight already multiplied into its leaf with the
//! library's rounding. The order of additions and the type of the sums are untouched.

use std::collections::VecDeque;

use thiserror::Error;

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

/// A model made ready for prediction.
#[derive(Debug)]
pub struct Predictor<'a> {
    ensemble: &'a Ensemble,
    nodes: Vec<Flat>,
    /// First node of each tree, and where its values go.
    roots: Vec<(u32, Output)>,
    /// What each leaf adds, weight included, rounded.
    values: Vec<f64>,
    /// Tests that are not a plain comparison.
    specials: Vec<Special<'a>>,
}

/// Rows that go through all trees together, so that a tree is loaded once for all of them.
const BLOCK: usize = 64;

impl<'a> Predictor<'a> {
    /// Lays the model out.
    pub fn new(ensemble: &'a Ensemble) -> Self {
        let mut predictor = Self {
            ensemble,
            nodes: Vec::new(),
            roots: Vec::with_capacity(ensemble.trees().len()),
            values: Vec::new(),
            specials: Vec::new(),
        };
        for index in 0..ensemble.trees().len() {
            predictor.lay_out(index);
        }
        predictor
    }

    /// The raw scores of row-major `rows`: for each row one number for each sum, as the library's raw
    /// scores (f32 sums widened).
    pub fn raw_scores(&self, rows: &[f64]) -> Result<Vec<f64>, PredictError> {
        let mut scores = Vec::new();
        self.for_each(rows, |raw, _| scores.extend_from_slice(raw))?;
        Ok(scores)
    }

    /// The class of each of the row-major `rows`.
    pub fn classes(&self, rows: &[f64]) -> Result<Vec<ClassId>, PredictError> {
        let mut classes = Vec::new();
        self.for_each(rows, |_, class| classes.push(class))?;
        Ok(classes)
    }

    /// Calls `visit` with the raw scores and the class of each row in turn.
    pub fn for_each(&self, rows: &[f64], mut visit: impl FnMut(&[f64], ClassId)) -> Result<(), PredictError> {
        let width = self.ensemble.features().len();
        if width == 0 || !rows.len().is_multiple_of(width) {
            return Err(PredictError::Width { found: rows.len(), width });
        }
        let groups = self.ensemble.group_count();
        let mut values = vec![0.0; BLOCK * width];
        let mut scores = vec![0.0; BLOCK * groups];
        let mut decided = vec![0.0; groups];
        for (block, chunk) in rows.chunks(BLOCK * width).enumerate() {
            for (index, (&raw, slot)) in chunk.iter().zip(&mut values).enumerate() {
                *slot = self.ensemble.domain().read(raw).ok_or(PredictError::Refused {
                    row: block * BLOCK + index / width,
                    feature: FeatureId::new(index % width),
                    value: raw,
                })?;
            }
            let count = chunk.len() / width;
            match self.ensemble.accumulation().number {
                NumberType::F32 => self.add_up::<f32>(&values[..chunk.len()], &mut scores[..count * groups]),
                NumberType::F64 => self.add_up::<f64>(&values[..chunk.len()], &mut scores[..count * groups]),
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
                visit(raw, self.ensemble.decision().class(&decided));
            }
        }
        Ok(())
    }

    fn add_up<T: Number>(&self, rows: &[f64], scores: &mut [f64]) {
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
        for &(root, output) in &self.roots {
            for (row, sum) in rows.chunks(width).zip(sums.chunks_mut(groups)) {
                let at = self.leaf(root, row);
                match output {
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
        for (score, (sum, &intercept)) in scores.iter_mut().zip(sums.iter().zip(intercepts.iter().cycle())) {
            *score = if first { sum.to_f64() } else { sum.plus(T::from_f64(intercept)).to_f64() };
        }
    }

    /// Where the values of the leaf that this row reaches begin.
    #[expect(clippy::neg_cmp_op_on_partial_ord, reason = "a NaN must fail this comparison and go right")]
    fn leaf(&self, root: u32, row: &[f64]) -> usize {
        let mut at = root as usize;
        loop {
            let node = &self.nodes[at];
            let right = match node.word >> FEATURE_BITS {
                MISSING_RIGHT => !(row[(node.word & FEATURE_MASK) as usize] <= node.threshold),
                MISSING_LEFT => row[(node.word & FEATURE_MASK) as usize] > node.threshold,
                LEAF => return node.next as usize,
                _ => {
                    let special = &self.specials[(node.word & FEATURE_MASK) as usize];
                    !self.ensemble.goes_left(special.0, row[special.0.feature.index()])
                }
            };
            at = node.next as usize + usize::from(right);
        }
    }

    fn lay_out(&mut self, index: usize) {
        let tree = &self.ensemble.trees()[index];
        let number = self.ensemble.accumulation().number;
        let first_value = self.values.len();
        let weight = tree.weight();
        self.values.extend(tree.leaf_values().iter().map(|value| number.round(weight * value)));
        let leaf_width = tree.leaf_values().len() / tree.leaf_count();
        let root = self.nodes.len();
        self.roots.push((u32::try_from(root).expect("fewer than 2^32 nodes"), tree.output()));
        self.nodes.push(Flat::EMPTY);
        // Breadth first: (node of the tree, its place here).
        let mut open = VecDeque::from([(NodeId(0), root)]);
        while let Some((node, place)) = open.pop_front() {
            let (split, left, right) = match tree.node(node) {
                Node::Split { split, left, right } => (split, left, right),
                Node::Leaf(leaf) => {
                    let next = (first_value + leaf.index() * leaf_width) as u32;
                    self.nodes[place] = Flat { threshold: 0.0, word: LEAF << FEATURE_BITS, next };
                    continue;
                }
                Node::Unused => unreachable!("the builder lets no path reach an unused slot"),
            };
            let next = self.nodes.len();
            self.nodes.extend([Flat::EMPTY; 2]);
            let kind = if split.missing_left { MISSING_LEFT } else { MISSING_RIGHT };
            let (threshold, word) = match as_less_or_equal(split.test) {
                Some(threshold) => (threshold, kind << FEATURE_BITS | split.feature.0),
                None => {
                    self.specials.push(Special(split));
                    (0.0, SPECIAL << FEATURE_BITS | (self.specials.len() - 1) as u32)
                }
            };
            self.nodes[place] = Flat { threshold, word, next: next as u32 };
            open.push_back((left, next));
            open.push_back((right, next + 1));
        }
    }
}

/// The threshold of the same test written with `<=`, where there is one.
fn as_less_or_equal(test: Test<'_>) -> Option<f64> {
    match test {
        Test::LessOrEqual { threshold } => Some(threshold),
        Test::Less { threshold } if threshold != f64::NEG_INFINITY => Some(threshold.next_down()),
        _ => None,
    }
}

#[derive(Clone, Copy, Debug)]
struct Flat {
    threshold: f64,
    /// Kind in the top bits; below it the feature, or the position of a special test.
    word: u32,
    /// The left child, with the right one behind it; for a leaf, where its values begin.
    next: u32,
}

impl Flat {
    const EMPTY: Self = Self { threshold: 0.0, word: 0, next: 0 };
}

#[derive(Debug)]
struct Special<'a>(Split<'a>);

const FEATURE_BITS: u32 = 30;
const FEATURE_MASK: u32 = (1 << FEATURE_BITS) - 1;
const MISSING_RIGHT: u32 = 0;
const MISSING_LEFT: u32 = 1;
const LEAF: u32 = 2;
const SPECIAL: u32 = 3;

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
