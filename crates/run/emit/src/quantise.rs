//! Leaves as small whole numbers, with a factor for each tree and one unit, a power of two, for all
//! sums.
//!
//! The smallest leaf of a tree becomes zero and the largest about 255 (or 65535); the value of the
//! smallest leaf is added to the intercept. A tree thus uses its whole numbers for the range of its
//! own leaves, however far from zero that range is. The unit is as fine as sums of 32 bits and
//! factors of 16 bits allow. Everything here is computed in doubles and promises nothing about
//! scores: the checker computes exactly, from the written file, how far they move.

use secateur_model::{Decision, Ensemble, Exact, Output, Tree};
use secateur_source::LARGEST_SUM;

use crate::EmitError;

/// The size of quantised leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LeafBits {
    /// A byte for each leaf.
    Eight,
    /// Two bytes for each leaf.
    Sixteen,
}

impl LeafBits {
    /// The largest whole number of a leaf.
    fn largest(self) -> f64 {
        match self {
            Self::Eight => 255.0,
            Self::Sixteen => 65535.0,
        }
    }
}

/// The largest factor of a tree.
const LARGEST_FACTOR: f64 = 65535.0;
/// The number of factors that are tried for each tree.
const FACTORS: u32 = 24;
/// Exponents of the unit; the checker accepts a slightly wider range.
const EXPONENTS: std::ops::RangeInclusive<i32> = -800..=800;

/// A model's leaves as whole numbers.
pub(crate) struct Quantisation {
    pub(crate) unit: f64,
    /// The values from which sums start.
    pub(crate) starts: Vec<i32>,
    pub(crate) factors: Vec<u32>,
    /// For each tree the numbers of its leaves, in the model's order; a leaf of a tree that adds to
    /// all scores has a number for each score.
    pub(crate) leaves: Vec<Vec<u32>>,
    /// For two classes: the smallest sum for which class 1 is chosen.
    pub(crate) limit: Option<i32>,
}

impl Quantisation {
    pub(crate) fn new(model: &Ensemble, bits: LeafBits) -> Result<Self, EmitError> {
        let trees: Vec<Spread> = model.trees().iter().map(|tree| Spread::of(model, tree)).collect();
        let groups = model.group_count();
        let divisor = model.accumulation().divisor();
        let mut least: Vec<f64> = model.intercepts().iter().map(|start| start / divisor).collect();
        let mut largest = least.clone();
        for tree in &trees {
            for (&(group, low), &high) in tree.low.iter().zip(&tree.high) {
                least[group] += low;
                largest[group] += high;
            }
        }
        let reach = least.iter().chain(&largest).fold(0.0f64, |reach, sum| reach.max(sum.abs()));
        let widest = trees.iter().fold(0.0f64, |widest, tree| widest.max(tree.range));
        if !reach.is_finite() || !widest.is_finite() {
            return Err(EmitError::NotQuantised("its scores leave the range of doubles"));
        }
        let finest = (reach / LARGEST_SUM as f64).max(widest / (bits.largest() * LARGEST_FACTOR));
        let mut exponent = if finest > 0.0 { finest.log2().ceil() as i32 } else { 0 };
        exponent = exponent.max(*EXPONENTS.start());
        while EXPONENTS.contains(&exponent) {
            let unit = f64::exp2(f64::from(exponent));
            if let Some(found) = Self::in_units(model, &trees, (unit, exponent), groups, bits) {
                return Ok(found);
            }
            exponent += 1;
        }
        Err(EmitError::NotQuantised("its scores are too large"))
    }

    /// Quantises with this unit; `None` if a number does not fit.
    fn in_units(
        model: &Ensemble,
        trees: &[Spread],
        (unit, exponent): (f64, i32),
        groups: usize,
        bits: LeafBits,
    ) -> Option<Self> {
        let mut factors = Vec::with_capacity(trees.len());
        let mut leaves = Vec::with_capacity(trees.len());
        let divisor = model.accumulation().divisor();
        let mut starts: Vec<f64> = model.intercepts().iter().map(|start| start / divisor / unit).collect();
        // For each score: the largest sum of products, and the smallest and the largest error that
        // all trees together can make, in units.
        let mut most = vec![0.0f64; groups];
        let mut errors = vec![[0.0f64; 2]; groups];
        for (tree, spread) in model.trees().iter().zip(trees) {
            let least = (spread.range / unit / bits.largest()).ceil().max(1.0);
            if least > LARGEST_FACTOR {
                return None;
            }
            // A slightly larger factor may be closer to the leaves, above all if a tree has few of
            // them.
            let tries = (0..FACTORS).map(|more| least + f64::from(more));
            let tried = tries.filter(|&factor| factor <= LARGEST_FACTOR).map(|factor| {
                let numbers = Numbers::new(tree, spread, divisor, unit, factor, bits);
                (numbers.widest(), factor, numbers)
            });
            let (_, factor, numbers) = tried.min_by(|a, b| a.0.total_cmp(&b.0))?;
            for (column, &(group, low)) in spread.low.iter().enumerate() {
                // Each product has to fit by itself, too, even if the sum starts far below zero.
                if numbers.most[column] > LARGEST_SUM as f64 {
                    return None;
                }
                starts[group] += low / unit;
                most[group] += numbers.most[column];
                let error = numbers.errors[column];
                errors[group] = [errors[group][0] + error[0], errors[group][1] + error[1]];
            }
            let own = numbers.own;
            factors.push(factor as u32);
            leaves.push(own);
        }
        // The starting values move so that the errors are centred around zero.
        let starts: Vec<f64> = starts
            .iter()
            .zip(&errors)
            .map(|(start, error)| (start - (error[0] + error[1]) / 2.0).round())
            .collect();
        let largest = LARGEST_SUM as f64;
        let fits =
            starts.iter().zip(&most).all(|(start, most)| *start >= -largest && start + most <= largest);
        fits.then(|| Self {
            unit,
            starts: starts.iter().map(|&start| start as i32).collect(),
            factors,
            leaves,
            limit: limit(model, i64::from(exponent)),
        })
    }
}

/// The leaves of a tree as whole numbers, for a given factor.
struct Numbers {
    own: Vec<u32>,
    /// For each score that the tree adds to: the largest product, and the smallest and the largest
    /// error of a product, in units.
    most: Vec<f64>,
    errors: Vec<[f64; 2]>,
}

impl Numbers {
    fn new(tree: &Tree, spread: &Spread, divisor: f64, unit: f64, factor: f64, bits: LeafBits) -> Self {
        let width = spread.low.len();
        let mut numbers = Self {
            own: vec![0; tree.leaf_values().len()],
            most: vec![0.0; width],
            errors: vec![[f64::INFINITY, f64::NEG_INFINITY]; width],
        };
        for leaf in 0..numbers.own.len() {
            let column = leaf % width;
            let exact = (value(tree, divisor, leaf) - spread.low[column].1) / unit;
            let number = (exact / factor).round().clamp(0.0, bits.largest());
            numbers.own[leaf] = number as u32;
            let added = number * factor;
            numbers.most[column] = numbers.most[column].max(added);
            let error = &mut numbers.errors[column];
            *error = [error[0].min(added - exact), error[1].max(added - exact)];
        }
        numbers
    }

    /// The largest difference between the errors of one score.
    fn widest(&self) -> f64 {
        self.errors.iter().fold(0.0, |widest, error| widest.max(error[1] - error[0]))
    }
}

/// The range of values that a tree adds, for each score that it adds to.
struct Spread {
    /// The index of the score, and the smallest value that the tree adds to it.
    low: Vec<(usize, f64)>,
    high: Vec<f64>,
    /// The width of the widest range.
    range: f64,
}

impl Spread {
    fn of(model: &Ensemble, tree: &Tree) -> Self {
        let groups: Vec<usize> = match tree.output() {
            Output::Group(group) => vec![group.index()],
            Output::All => (0..model.group_count()).collect(),
        };
        let divisor = model.accumulation().divisor();
        let width = groups.len();
        let mut spread = Self { low: Vec::new(), high: Vec::new(), range: 0.0 };
        for (column, group) in groups.into_iter().enumerate() {
            let values = (column..tree.leaf_values().len()).step_by(width);
            let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
            for leaf in values {
                let value = value(tree, divisor, leaf);
                (low, high) = (low.min(value), high.max(value));
            }
            spread.range = spread.range.max(high - low);
            spread.low.push((group, low));
            spread.high.push(high);
        }
        spread
    }
}

/// The value that a leaf adds to its score.
fn value(tree: &Tree, divisor: f64, leaf: usize) -> f64 {
    tree.weight() * tree.leaf_values()[leaf] / divisor
}

/// The smallest sum for which class 1 of two is chosen. No sum reaches either end of the 32-bit
/// range.
fn limit(model: &Ensemble, exponent: i64) -> Option<i32> {
    let Decision::Threshold { threshold, strict, .. } = *model.decision() else { return None };
    let threshold = Exact::from_f64(threshold)?;
    let is_one = |sum: i64| {
        let score = Exact::new(sum.into(), exponent);
        score > threshold || !strict && score == threshold
    };
    // Finds the first number from -(2^31 - 1) on whose score chooses class 1.
    let (mut low, mut high) = (-i64::from(i32::MAX), i64::from(i32::MAX));
    while low < high {
        let middle = low + (high - low) / 2;
        if is_one(middle) { high = middle } else { low = middle + 1 }
    }
    i32::try_from(low).ok()
}
