//! An emitted file with quantised leaves computes another model: the original's trees, with the
//! file's numbers in their leaves. This module works out which.
//!
//! # The program
//! The program adds whole numbers of 32 bits: an intercept, and for each tree the number of the
//! leaf times the factor of the tree. A score is the sum times a power of two, the unit. It is
//! shown here that no product and no sum leaves 32 bits: nothing negative is added, so partial sums
//! lie between the intercept and the intercept plus the largest leaf of every tree.
//!
//! So the program computes without rounding. The same sums are exact in doubles too, as multiples
//! of the unit below 2^31 units, so the model that is returned adds doubles. It has no average,
//! which is contained in its leaves.
//!
//! # The class
//! With two classes the program compares a sum with a whole number: the least sum on the side of
//! class 1, by the original's threshold. With several classes it takes the first of the largest
//! sums, even if the original's library compares rounded probabilities.

use secateur_formats::Link;
use secateur_model::{Accumulation, Decision, Ensemble, EnsembleBuilder, Exact, NumberType, Output};

use super::read::{SourceFile, signed};
use super::same::{Read, same};
use crate::Difference;

/// No sum is larger in magnitude, so that no sum reaches the next larger number.
pub const LARGEST_SUM: i64 = (1 << 31) - 2;
/// Allowed exponents of the unit; with others the numbers could leave the range of doubles.
const EXPONENTS: std::ops::RangeInclusive<i64> = -900..=900;

/// The function that a file with quantised leaves computes.
#[derive(Clone, Debug)]
pub struct Quantised {
    /// The model: its scores are the file's sums times the unit, without any rounding.
    pub model: Ensemble,
    /// The unit of the sums.
    pub unit: f64,
}

/// Compares the questions of an emitted file with those of the model that it should be, and reads
/// what its leaves add.
pub fn quantised(original: &Ensemble, link: Link, file: &SourceFile) -> Result<Quantised, Difference> {
    let original = original.for_every_input();
    let original = original.as_ref();
    let read = Read::new(original, file)?;
    read.parts(true)?;
    read.probabilities(link)?;
    read.columns()?;
    read.window()?;
    let exponent = exponent(&read)?;
    let unit = Exact::new(1.into(), exponent).to_f64();
    let groups = original.group_count();
    let mut largest: Vec<i64> = read.signed("intercept")?.iter().map(|&start| i64::from(start)).collect();
    same(largest.len() == groups, "the intercepts")?;
    let starts = largest.clone();
    let factors = if read.has("trees") { read.integers("factor")? } else { &[] };
    let trees = original.trees();
    same(factors.len() == trees.len(), "the factors of the trees")?;
    // For every tree and each of its leaves, as the model numbers them: what the leaf adds, in
    // units.
    let mut values: Vec<Vec<i64>> = trees.iter().map(|tree| vec![0; tree.leaf_values().len()]).collect();
    read.trees(&mut |tree, leaf, place| {
        let width = original.trees()[tree].leaf(leaf).len();
        for (output, value) in added(&read, original, tree, place)?.into_iter().enumerate() {
            let product = i64::from(value) * i64::from(factors[tree]);
            if product > i64::from(i32::MAX) {
                return Err(Difference::Overflow { tree: Some(tree) });
            }
            values[tree][leaf.index() * width + output] = product;
        }
        Ok(true)
    })?;
    for (tree, values) in trees.iter().zip(&values) {
        match tree.output() {
            Output::Group(group) => largest[group.index()] += values.iter().max().copied().unwrap_or(0),
            Output::All => {
                for (group, sum) in largest.iter_mut().enumerate() {
                    *sum += values.iter().skip(group).step_by(groups).max().copied().unwrap_or(0);
                }
            }
        }
    }
    if starts.iter().any(|&start| start < -LARGEST_SUM) || largest.iter().any(|&sum| sum > LARGEST_SUM) {
        return Err(Difference::Overflow { tree: None });
    }
    limit(&read, original, exponent)?;
    let in_units = |count: i64| count as f64 * unit;
    let model = rebuilt(original, starts.into_iter().map(in_units).collect(), |tree| {
        values[tree].iter().map(|&count| in_units(count)).collect()
    });
    let model = model.ok_or(Difference::Part("the trees"))?;
    Ok(Quantised { model, unit })
}

/// How far the scores of a quantised model can be from those that the original's library computes,
/// on every input. The bound follows from the leaves of each tree by itself and is rounded up.
/// `None` if a sum of the original may leave the range of its type.
///
/// For each tree the differences of corresponding leaves lie between two numbers. Whatever leaves
/// an input reaches, the difference of the exact scores is the sum of one such difference for each
/// tree and that of the intercepts. The library's rounding is added; the quantised model has none.
pub fn bound_by_trees(original: &Ensemble, quantised: &Ensemble) -> Option<f64> {
    let rounding = original.rounding()?;
    let exact = |value: f64| Exact::from_f64(value);
    // Everything is multiplied by the divisor of the original's sums, so that no division is
    // needed.
    let divisor = exact(original.accumulation().divisor())?;
    let mut bound = 0.0f64;
    for group in 0..original.group_count() {
        let difference = |ours: f64, weight: f64, theirs: f64| {
            Some(&(&exact(theirs)? * &divisor) - &(&exact(weight)? * &exact(ours)?))
        };
        let start = difference(original.intercepts()[group], 1.0, quantised.intercepts()[group])?;
        let (mut low, mut high) = (start.clone(), start);
        for (ours, theirs) in original.trees().iter().zip(quantised.trees()) {
            let (first, width) = match ours.output() {
                Output::Group(own) if own.index() == group => (0, 1),
                Output::Group(_) => continue,
                Output::All => (group, original.group_count()),
            };
            let pairs = ours.leaf_values().iter().zip(theirs.leaf_values()).skip(first).step_by(width);
            let differences: Option<Vec<Exact>> =
                pairs.map(|(&a, &b)| difference(a, ours.weight(), b)).collect();
            let differences = differences?;
            low += differences.iter().min()?;
            high += differences.iter().max()?;
        }
        let largest = if -low.clone() > high { -low } else { high };
        let all = &largest + &(&exact(rounding.scores[group])? * &divisor);
        let quotient = all.to_f64_up() / original.accumulation().divisor();
        bound = bound.max(if quotient == 0.0 { 0.0 } else { quotient.next_up() });
    }
    bound.is_finite().then_some(bound)
}

/// The exponent of the unit, which is a power of two.
fn exponent(read: &Read<'_>) -> Result<i64, Difference> {
    let what = "the units of the sums";
    let unit = read.float(read.token("unit")?, NumberType::F64).and_then(Exact::from_f64);
    let unit = unit.filter(|unit| unit.mantissa() == 1.into()).ok_or(Difference::Part(what))?;
    same(EXPONENTS.contains(&unit.exponent()), what)?;
    Ok(unit.exponent())
}

/// The numbers of the leaf at this place, before the factor is applied; as many as the model's leaf
/// has.
fn added(read: &Read<'_>, model: &Ensemble, tree: usize, place: usize) -> Result<Vec<u32>, Difference> {
    if !read.has("every") {
        return Ok(vec![read.table_at("leaf", place)?]);
    }
    let width = model.group_count();
    let all: Vec<u32> =
        (0..width).map(|output| read.table_at("leaf", place * width + output)).collect::<Result<_, _>>()?;
    match model.trees()[tree].output() {
        Output::All => Ok(all),
        Output::Group(group) => {
            let others = all.iter().enumerate().filter(|&(output, _)| output != group.index());
            let silent = others.clone().all(|(_, &value)| value == 0);
            if silent { Ok(vec![all[group.index()]]) } else { Err(Difference::Tree { tree, what: "output" }) }
        }
    }
}

/// With two classes: is the whole number that decides the least sum of class 1?
fn limit(read: &Read<'_>, model: &Ensemble, exponent: i64) -> Result<(), Difference> {
    let Decision::Threshold { group, threshold, strict } = *model.decision() else { return Ok(()) };
    let what = "the decision rules";
    same(read.count("group")? == group.index(), what)?;
    let limit = signed(read.token("limit")?).ok_or(Difference::Part(what))?;
    let threshold = Exact::from_f64(threshold).ok_or(Difference::Part(what))?;
    let is_one = |sum: i64| {
        let score = Exact::new(sum.into(), exponent);
        score > threshold || !strict && score == threshold
    };
    // No sum reaches either end of the range of 32-bit numbers, so a limit at an end means never or
    // always.
    let limit = i64::from(limit);
    let end = i64::from(i32::MAX);
    same((limit == end || is_one(limit)) && (limit == -end || !is_one(limit - 1)), what)
}

/// The model with other intercepts and leaves, added as doubles without an average.
fn rebuilt(
    original: &Ensemble,
    intercepts: Vec<f64>,
    leaves: impl Fn(usize) -> Vec<f64>,
) -> Option<Ensemble> {
    let accumulation = Accumulation::in_order(NumberType::F64);
    let decision = match *original.decision() {
        rule @ (Decision::Threshold { .. } | Decision::Scores(_)) => rule,
        _ => Decision::Argmax,
    };
    let (features, classes) = (original.features().clone(), original.classes().clone());
    let domain = *original.intake();
    let mut builder =
        EnsembleBuilder::new(features, domain, classes, intercepts, accumulation, decision).ok()?;
    for (index, tree) in original.trees().iter().enumerate() {
        let tree = tree.with_leaf_values(leaves(index))?.with_weight(1.0);
        builder.finished_tree(tree).ok()?;
    }
    Some(builder.build())
}
