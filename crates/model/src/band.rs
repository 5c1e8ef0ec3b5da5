//! How far a library's rounded scores can be from the exact ones, over all inputs.
//!
//! For a sum `s_i = fl(s_{i-1} + c_i)` the error of one addition is at most `u * |s_{i-1} + c_i|`, and
//! zero when both are multiples of `2^q` and their sum is at most `2^(q+p)` (p bits of mantissa): then it
//! is representable. Where the order is the file's, each partial sum is bounded by the smallest and
//! largest leaves of the trees so far. Where it is not, any bracketing of n terms errs by at most
//! `(n-1)u / (1-(n-1)u)` times the sum of magnitudes. Everything below is rounded outward.

use crate::decision::Decision;
use crate::ensemble::{Ensemble, InterceptPosition, Order};
use crate::exact::Exact;
use crate::feature::NumberType;
use crate::tree::{Output, Tree};

/// Bounds on the library's rounding.
#[derive(Clone, Debug, PartialEq)]
pub struct Rounding {
    /// For each group: the largest distance between the score that the library decides on and the exact
    /// one (both after averaging).
    pub scores: Vec<f64>,
}

impl Rounding {
    /// The largest of the bounds.
    pub fn largest(&self) -> f64 {
        self.scores.iter().copied().fold(0.0, f64::max)
    }
}

impl Ensemble {
    /// The rounding bound of each group, or `None` where a sum may overflow its type.
    pub fn rounding(&self) -> Option<Rounding> {
        let scores = (0..self.group_count()).map(|group| self.group_rounding(group));
        Some(Rounding { scores: scores.collect::<Option<_>>()? })
    }

    /// The `auto` band: a margin above which the library's decision is certain to be that of exact
    /// arithmetic. The margin is the distance to the threshold, or the lead over the second class, in
    /// scores after averaging. `None` where no margin is enough.
    pub fn certain_margin(&self) -> Option<f64> {
        let rounding = self.rounding()?;
        let gap = match self.decision {
            Decision::ArgmaxSigmoid { scale } => {
                sigmoid_gap(scale, self.largest_score()?, rounding.largest())?
            }
            _ => self.decision.certain_gap(),
        };
        let slack = match self.decision {
            Decision::Threshold { group, .. } => rounding.scores[group.index()],
            _ => up(rounding.largest() * 2.0),
        };
        Some(add_up(slack, gap))
    }

    /// No exact score (after averaging) is larger in magnitude.
    fn largest_score(&self) -> Option<f64> {
        let number = self.accumulation.number;
        let divisor = self.accumulation.average.map_or(1.0, |average| average.divisor);
        let of_group = |group: usize| {
            let terms = self.trees.iter().filter_map(|tree| Term::of_tree(tree, group, number));
            let total = terms.fold(self.intercepts[group].abs(), |total, term| {
                add_up(total, add_up(term.magnitude(), term.product_error))
            });
            up(total / divisor)
        };
        let largest = (0..self.group_count()).map(of_group).fold(0.0, f64::max);
        largest.is_finite().then_some(largest)
    }

    fn group_rounding(&self, group: usize) -> Option<f64> {
        let number = self.accumulation.number;
        let terms: Vec<Term> =
            self.trees.iter().filter_map(|tree| Term::of_tree(tree, group, number)).collect();
        let intercept = Term::constant(self.intercepts[group]);
        let products = terms.iter().fold(0.0, |total, term| add_up(total, term.product_error));
        let sum = match self.accumulation.order {
            Order::File => {
                let ordered: Vec<&Term> = match self.accumulation.intercept {
                    InterceptPosition::First => std::iter::once(&intercept).chain(&terms).collect(),
                    InterceptPosition::Last => terms.iter().chain([&intercept]).collect(),
                };
                in_order(&ordered, number)?
            }
            Order::Any => in_any_order(&terms, &intercept, number)?,
        };
        let error = add_up(products, sum.error);
        let Some(average) = self.accumulation.average else { return Some(error) };
        let largest = add_up(sum.largest, error);
        let quotient = up(largest / average.divisor);
        let rounding = add_up(up(quotient * number.unit_roundoff()), number.smallest_positive());
        Some(add_up(up(error / average.divisor), rounding))
    }
}

/// The gap between two scores above which the higher one has the higher sigmoid in f64, where no score
/// is beyond `largest` in magnitude; `None` where the sigmoid saturates.
///
/// With `z = scale * score` the computed `1 / (1 + exp(-z))` is the true one up to a factor `1 + eta`,
/// `|eta| <= u (|z| + 5)` (one rounding of z, an `exp` good to one unit in the last place, one sum, one
/// division). The logarithm of the true one has slope `1 / (1 + e^z)`, so a gap of `2 |eta| (1 + e^z)` in z
/// is enough; three instead of two covers the second order and the float arithmetic here.
fn sigmoid_gap(scale: f64, largest: f64, rounding: f64) -> Option<f64> {
    let z = up(up(largest + rounding) * scale);
    if z > 36.0 {
        return None;
    }
    Some(3.0 * (f64::EPSILON / 2.0) * (z + 5.0) * (1.0 + z.exp()) / scale)
}

/// What one tree can add to one group, as the library rounds it.
struct Term {
    low: f64,
    high: f64,
    /// Every value is a multiple of 2^quantum.
    quantum: i64,
    /// The largest rounding of weight times leaf.
    product_error: f64,
}

impl Term {
    fn constant(value: f64) -> Self {
        Self { low: value, high: value, quantum: quantum(value), product_error: 0.0 }
    }

    fn of_tree(tree: &Tree, group: usize, number: NumberType) -> Option<Self> {
        let (offset, step) = match tree.output() {
            Output::Group(g) if g.index() == group => (0, 1),
            Output::Group(_) => return None,
            Output::All => (group, tree.leaf_values().len() / tree.leaf_count()),
        };
        let mut term =
            Self { low: f64::INFINITY, high: f64::NEG_INFINITY, quantum: i64::MAX, product_error: 0.0 };
        for &leaf in tree.leaf_values().iter().skip(offset).step_by(step) {
            let value = number.round(tree.weight() * leaf);
            term.low = term.low.min(value);
            term.high = term.high.max(value);
            term.quantum = term.quantum.min(quantum(value));
            if tree.weight() != 1.0 {
                let error = product_error(tree.weight(), leaf, value);
                term.product_error = term.product_error.max(error);
            }
        }
        Some(term)
    }

    fn magnitude(&self) -> f64 {
        self.low.abs().max(self.high.abs())
    }
}

/// |weight * leaf - rounded|, rounded up; infinite where the product overflowed.
fn product_error(weight: f64, leaf: f64, rounded: f64) -> f64 {
    match (Exact::from_f64(weight), Exact::from_f64(leaf), Exact::from_f64(rounded)) {
        (Some(weight), Some(leaf), Some(rounded)) => (&(&weight * &leaf) - &rounded).abs().to_f64_up(),
        _ => f64::INFINITY,
    }
}

/// The exponent of the lowest set bit.
fn quantum(value: f64) -> i64 {
    match Exact::from_f64(value) {
        Some(exact) if !exact.is_zero() => exact.exponent(),
        _ => i64::MAX,
    }
}

struct Bound {
    error: f64,
    /// No exact sum is larger in magnitude.
    largest: f64,
}

fn in_order(terms: &[&Term], number: NumberType) -> Option<Bound> {
    let unit = number.unit_roundoff();
    let (mut low, mut high, mut error) = (0.0f64, 0.0f64, 0.0f64);
    let mut grain = i64::MAX;
    for term in terms {
        low = down(low + term.low);
        high = up(high + term.high);
        grain = grain.min(term.quantum);
        let largest = add_up(low.abs().max(high.abs()), error);
        if largest.is_nan() || largest >= number.max() {
            return None;
        }
        if !fits(largest, grain, number) {
            error = add_up(error, up(unit * largest));
        }
    }
    Some(Bound { error, largest: low.abs().max(high.abs()) })
}

fn in_any_order(terms: &[Term], intercept: &Term, number: NumberType) -> Option<Bound> {
    let all = terms.iter().chain([intercept]);
    let largest = all.clone().fold(0.0, |total, term| add_up(total, term.magnitude()));
    let grain = all.map(|term| term.quantum).min().unwrap_or(i64::MAX);
    // Sums that start from zero in several threads add at most one exact term each.
    let steps = up(terms.len() as f64 * number.unit_roundoff());
    if steps >= 0.5 {
        return None;
    }
    let factor = up(steps / down(1.0 - steps));
    let error = if fits(largest, grain, number) { 0.0 } else { up(factor * largest) };
    (add_up(largest, error) < number.max()).then_some(Bound { error, largest })
}

/// Is every multiple of 2^grain up to `largest` in magnitude a value of this type?
fn fits(largest: f64, grain: i64, number: NumberType) -> bool {
    let bits = match number {
        NumberType::F32 => 24,
        NumberType::F64 => 53,
    };
    if grain == i64::MAX {
        return true;
    }
    let top = grain + bits;
    top > 1023 || top >= -1022 && largest <= f64::from_bits(((top + 1023) as u64) << 52)
}

fn up(value: f64) -> f64 {
    value.next_up()
}

fn down(value: f64) -> f64 {
    value.next_down()
}

/// a + b, rounded up; exact where one of them is zero.
fn add_up(a: f64, b: f64) -> f64 {
    if a == 0.0 {
        b
    } else if b == 0.0 {
        a
    } else {
        up(a + b)
    }
}
