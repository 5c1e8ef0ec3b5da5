//! How far a library's rounded scores can be from the exact ones, over all inputs.
//!
//! For a sum `s_i = fl(s_{i-1} + c_i)` the error of one addition is at most `u * |s_{i-1} + c_i|`.
//! It is zero if both terms are multiples of `2^q` and their sum is at most `2^(q+p)` (p bits of
//! mantissa), because the sum is then representable. If the order is the file's, each partial sum
//! is bounded by the smallest and largest leaves of the trees up to it. If the order is free, any
//! bracketing of n terms errs by at most `(n-1)u / (1-(n-1)u)` times the sum of magnitudes. An
//! intercept that is known only up to an error ([`Ensemble::intercept_errors`]) is an interval, and
//! its error is part of every bound, because the exact score uses the stored intercept. Everything
//! below is rounded outward.

use std::fmt;

use crate::decision::Decision;
use crate::ensemble::{Ensemble, InterceptPosition, Order};
use crate::exact::Exact;
use crate::feature::NumberType;
use crate::ids::LeafId;
use crate::tree::{Output, Tree};

/// Bounds on the distance between the library's rounded scores and the exact ones.
#[derive(Clone, Debug, PartialEq)]
pub struct Rounding {
    /// For each group: the largest distance between the score that the library decides on and the
    /// exact one (both after averaging).
    pub scores: Vec<f64>,
}

/// A bound on the library's rounding that depends on the input: at most `fixed[group] + factor *
/// (sum over the trees of steps * |weight * leaf|) / divisor` for the score of a group. It comes
/// near to [`Rounding`] only for inputs that reach the largest leaves everywhere.
#[derive(Clone, Debug, PartialEq)]
pub struct LocalRounding {
    /// For each tree, the greatest number of additions that its leaf takes part in.
    pub steps: Vec<u64>,
    /// The factor, times `2^factor_bits`: the unit roundoff, rounded up a little.
    pub factor: u64,
    /// The factor is stored times two to this power.
    pub factor_bits: u32,
    /// For each group, the part of the bound that does not depend on the input.
    pub fixed: Vec<f64>,
    /// The gap between two scores, or to the threshold, that the decision rule itself needs.
    pub gap: f64,
}

/// Why no lead of a winner, however large, makes a library's decision certain.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NoMargin {
    /// A sum may leave the range of its number type; beyond it infinities decide.
    Overflow(NumberType),
    /// One-against-all probabilities of different scores round to the same number: to 1 for high
    /// scores, to 0 for very low ones.
    Saturation {
        /// The magnitude of a score from which this happens.
        from: f64,
        /// No score is beyond this magnitude.
        reached: f64,
        /// The file's `sigmoid` parameter.
        scale: f64,
    },
}

/// Up to this `sigmoid * score` probabilities are far enough apart for a small band.
const COMFORTABLE: f64 = 20.0;

impl fmt::Display for NoMargin {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Overflow(number) => {
                let number = if number == NumberType::F32 { "f32" } else { "f64" };
                write!(
                    out,
                    "no lead makes the library's decision certain: the sums of this model's leaves may leave the \
                     range of {number}, and infinities decide then. Band 0 is a claim about the exact sums alone; a \
                     claim about the library's decisions needs smaller leaves"
                )
            }
            Self::Saturation { from, reached, scale } => write!(
                out,
                "no lead makes the library's decision certain: its one-against-all probabilities round to the same \
                 number for all scores beyond {from:.4}, this model's scores may go up to {reached:.4}, and of the \
                 classes that saturate the library returns the lowest. Band 0 is a claim about the exact scores \
                 alone and says nothing of the library's decisions there. For a claim about those, train with smaller \
                 leaves, or write a sigmoid of at most {:.3} (now {scale}) into the file's objective line, so that the \
                 library decides on scores that it can tell apart; that changes its probabilities, and its decisions \
                 where they saturate",
                COMFORTABLE / reached
            ),
        }
    }
}

/// The factor of a [`LocalRounding`] is the unit roundoff times LOCAL_FACTOR / 256.
const LOCAL_FACTOR: u64 = 257;

impl Rounding {
    /// The largest of the bounds.
    pub fn largest(&self) -> f64 {
        self.scores.iter().copied().fold(0.0, f64::max)
    }
}

impl Ensemble {
    /// The rounding bound of each group; `None` if a sum may overflow its type.
    pub fn rounding(&self) -> Option<Rounding> {
        let scores =
            (0..self.group_count()).map(|group| self.group_rounding(group, AdditionError::UnitRoundoff));
        Some(Rounding { scores: scores.collect::<Option<_>>()? })
    }

    /// A tighter rounding bound of each group, for claims about scores; never above
    /// [`Ensemble::rounding`]. `None` if a sum may overflow its type.
    ///
    /// An addition whose exact result is at most m in magnitude errs by at most half of the
    /// distance between neighbours of the type at m; this can be as small as half of `u * m`. In a
    /// free order and bracketing, the k-th smallest partial sum (by its number of terms) has at
    /// most k + 1 terms (a partial sum of s terms contains s - 2 others, all smaller). Its
    /// magnitude is therefore at most that of the k + 1 largest terms of one sign, plus the errors
    /// of the additions before it.
    pub fn score_rounding(&self) -> Option<Rounding> {
        let loose = self.rounding()?;
        let tight = (0..self.group_count()).zip(loose.scores).map(|(group, loose)| {
            let tight = self.group_rounding(group, AdditionError::HalfUlp)?;
            Some(tight.min(loose))
        });
        Some(Rounding { scores: tight.collect::<Option<_>>()? })
    }

    /// The `auto` band: a margin above which the library's decision certainly equals that of exact
    /// arithmetic. The margin is the distance to the threshold, or the lead over the second class,
    /// in scores after averaging. `None` if no margin is enough.
    pub fn certain_margin(&self) -> Option<f64> {
        let rounding = self.rounding()?;
        let gap = self.gap(&rounding)?;
        let slack = match self.decision {
            Decision::Threshold { group, .. } => rounding.scores[group.index()],
            _ => up(rounding.largest() * 2.0),
        };
        Some(add_up(slack, gap))
    }

    /// The gap between two scores, or to the threshold, that the decision rule itself needs; `None`
    /// if no gap is enough.
    pub fn decision_gap(&self) -> Option<f64> {
        self.gap(&self.rounding()?)
    }

    fn gap(&self, rounding: &Rounding) -> Option<f64> {
        match self.decision {
            Decision::ArgmaxSigmoid { scale } => {
                let [low, high] = self.score_range()?;
                sigmoid_gap(scale, [low, high], rounding.largest())
            }
            _ => Some(self.cut.map_or(self.decision.certain_gap(), |(_, cut)| cut.gap)),
        }
    }

    /// Why there is no [`Ensemble::certain_margin`]; `None` if there is one.
    pub fn no_margin(&self) -> Option<NoMargin> {
        if self.certain_margin().is_some() {
            return None;
        }
        let overflow = NoMargin::Overflow(self.accumulation.number);
        let (Decision::ArgmaxSigmoid { scale }, Some(_), Some([low, high])) =
            (self.decision, self.rounding(), self.score_range())
        else {
            return Some(overflow);
        };
        let (most, reached) = if scale * high > HIGHEST { (HIGHEST, high) } else { (-LOWEST, -low) };
        Some(NoMargin::Saturation { from: most / scale, reached, scale })
    }

    /// The rounding bound that depends on the input; `None` if a sum may overflow its type or has
    /// too many terms.
    ///
    /// A term that takes part in d additions errs by at most `(1+u)^d - 1 <= d u / (1 - d u)` of
    /// its magnitude. In the file's order later terms take part in fewer of them; in any other
    /// order each may take part in all.
    pub fn local_rounding(&self) -> Option<LocalRounding> {
        let rounding = self.rounding()?;
        let gap = self.gap(&rounding)?;
        let number = self.accumulation.number;
        let divisor = self.accumulation.divisor();
        let unit = number.unit_roundoff();
        let mut steps = vec![0; self.trees.len()];
        let mut fixed = Vec::new();
        for group in 0..self.group_count() {
            let terms: Vec<(usize, Term)> = self
                .trees
                .iter()
                .enumerate()
                .filter_map(|(index, tree)| {
                    Some((index, Term::of_tree(tree, group, number, self.leaf_weight(tree))?))
                })
                .collect();
            let count = terms.len();
            // Multiplying the sum by a scale is one more rounding for every leaf.
            let scaling = usize::from(self.scale.is_some());
            // 1 / (1 - steps * unit) <= 257 / 256, with some room.
            if (count + scaling) as f64 * unit > 1.0 / 260.0 {
                return None;
            }
            let intercept = add_up(self.intercepts[group].abs(), self.intercept_errors[group]);
            let mut largest = intercept;
            let mut products = 0.0;
            for (position, (index, term)) in terms.iter().enumerate() {
                let own = match self.accumulation.order {
                    // An intercept that comes last is one more addition.
                    Order::File => (count + 1 - position).min(count),
                    Order::Any => count,
                };
                steps[*index] = steps[*index].max((own + scaling) as u64);
                largest = add_up(largest, add_up(term.magnitude(), term.product_error));
                products = add_up(products, term.product_error);
            }
            let factor = up(unit * LOCAL_FACTOR as f64 / 256.0);
            let all = up(factor * (count + scaling) as f64);
            // The intercept may take part in every addition, and products are rounded before they
            // are added.
            let fixed_sum = add_up(up(all * add_up(intercept, products)), products);
            let mut fixed_sum = add_up(fixed_sum, self.intercept_errors[group]);
            if scaling > 0 {
                // A product near zero may be rounded by more than the unit roundoff times its
                // magnitude.
                fixed_sum = add_up(fixed_sum, 2.0 * number.smallest_positive());
            }
            let mut own = up(fixed_sum / divisor);
            if self.accumulation.average.is_some() {
                let quotient = up(up(largest * up(1.0 + all)) / divisor);
                own = add_up(own, add_up(up(quotient * unit), number.smallest_positive()));
            }
            fixed.push(own);
        }
        let unit_bits = match number {
            NumberType::F32 => 24,
            NumberType::F64 => 53,
        };
        Some(LocalRounding { steps, factor: LOCAL_FACTOR, factor_bits: unit_bits + 8, fixed, gap })
    }

    /// A margin above which the decision for the input that reaches these leaves is certain, in any
    /// order of addition; `gap` is [`Ensemble::decision_gap`]. `None` if no margin is enough.
    pub fn certain_margin_at(&self, leaves: &[LeafId], gap: f64) -> Option<f64> {
        let of_group = |group: usize| self.group_rounding_at(group, leaves);
        let slack = match self.decision {
            Decision::Threshold { group, .. } => of_group(group.index())?,
            _ => {
                let all: Option<Vec<f64>> = (0..self.group_count()).map(of_group).collect();
                up(all?.into_iter().fold(0.0, f64::max) * 2.0)
            }
        };
        Some(add_up(slack, gap))
    }

    /// The largest distance between the library's score of a group and the exact one, both after
    /// averaging, for an input that reaches these leaves, in any order of addition. Only for models
    /// whose sums cannot leave their type, which are those with a bound over all inputs
    /// ([`Ensemble::rounding`]). `None` if there are too many trees.
    pub fn rounding_at(&self, group: usize, leaves: &[LeafId]) -> Option<f64> {
        self.group_rounding_at(group, leaves)
    }

    /// In any order and bracketing the k-th smallest partial sum has at most k + 1 terms, so its
    /// magnitude is at most that of the k + 1 largest terms of one sign.
    fn group_rounding_at(&self, group: usize, leaves: &[LeafId]) -> Option<f64> {
        let number = self.accumulation.number;
        let unit = number.unit_roundoff();
        let mut signed = [Vec::new(), Vec::new()];
        let mut products = 0.0;
        let mut add = |value: f64| signed[usize::from(value < 0.0)].push(value.abs());
        let (intercept, uncertain) = (self.intercepts[group], self.intercept_errors[group]);
        match (down(intercept - uncertain), up(intercept + uncertain)) {
            // The intercept is then added after the scale, see below.
            _ if self.scale.is_some() => {}
            _ if uncertain == 0.0 => add(intercept),
            // The intercept with its largest magnitude; with both signs if its sign is not known.
            (low, high) if low < 0.0 && high > 0.0 => {
                add(low);
                add(high);
            }
            (low, high) => add(if high <= 0.0 { low } else { high }),
        }
        for (tree, &leaf) in self.trees.iter().zip(leaves) {
            let leaf = match tree.output() {
                Output::Group(own) if own.index() == group => tree.leaf(leaf)[0],
                Output::Group(_) => continue,
                Output::All => tree.leaf(leaf)[group],
            };
            let weight = self.leaf_weight(tree);
            let value = number.round(weight * leaf);
            add(value);
            if weight != 1.0 {
                products = add_up(products, product_error(weight, leaf, value));
            }
        }
        let count = signed[0].len() + signed[1].len();
        let steps = up(count as f64 * unit);
        if steps >= 0.5 {
            return None;
        }
        signed.iter_mut().for_each(|values| values.sort_by(|a, b| b.total_cmp(a)));
        let (mut sums, mut total) = ([0.0f64; 2], 0.0);
        for position in 0..count {
            for (sum, values) in sums.iter_mut().zip(&signed) {
                *sum = add_up(*sum, values.get(position).copied().unwrap_or(0.0));
            }
            if position > 0 {
                total = add_up(total, sums[0].max(sums[1]));
            }
        }
        let error = add_up(up(up(total * unit) / down(1.0 - steps)), products);
        if let Some(scale) = self.scale {
            let bound = Bound { error, largest: sums[0].max(sums[1]) };
            return Some(add_up(bound.scaled(scale, intercept, uncertain, number)?.error, uncertain));
        }
        let error = add_up(error, uncertain);
        let Some(average) = self.accumulation.average else { return Some(error) };
        let quotient = up(add_up(sums[0].max(sums[1]), error) / average.divisor);
        let rounding = add_up(up(quotient * unit), number.smallest_positive());
        Some(add_up(up(error / average.divisor), rounding))
    }

    /// Bounds between which all exact scores (after averaging) lie.
    fn score_range(&self) -> Option<[f64; 2]> {
        let number = self.accumulation.number;
        let divisor = self.accumulation.divisor();
        // The highest sum of the leaves of a group, each with this sign.
        let highest = |group: usize, sign: f64| {
            let terms =
                self.trees.iter().filter_map(|tree| Term::of_tree(tree, group, number, tree.weight()));
            let total = terms.fold(sign * self.intercepts[group], |total, term| {
                let own = if sign > 0.0 { term.high } else { -term.low };
                up(total + add_up(own, term.product_error))
            });
            up(total / divisor)
        };
        let over_groups = |sign: f64| {
            (0..self.group_count()).map(|group| highest(group, sign)).fold(f64::NEG_INFINITY, f64::max)
        };
        let [low, high] = [-over_groups(-1.0), over_groups(1.0)];
        (low.is_finite() && high.is_finite()).then_some([low, high])
    }

    fn group_rounding(&self, group: usize, addition: AdditionError) -> Option<f64> {
        let number = self.accumulation.number;
        let terms: Vec<Term> = self
            .trees
            .iter()
            .filter_map(|tree| Term::of_tree(tree, group, number, self.leaf_weight(tree)))
            .collect();
        let intercept = Term::intercept(self.intercepts[group], self.intercept_errors[group]);
        let products = terms.iter().fold(0.0, |total, term| add_up(total, term.product_error));
        let sum = match self.accumulation.order {
            Order::File if self.scale.is_some() => {
                let scale = self.scale.unwrap_or(1.0);
                let sum = in_order(&terms.iter().collect::<Vec<_>>(), number, addition)?;
                sum.scaled(scale, self.intercepts[group], self.intercept_errors[group], number)?
            }
            Order::File => {
                let ordered: Vec<&Term> = match self.accumulation.intercept {
                    InterceptPosition::First => std::iter::once(&intercept).chain(&terms).collect(),
                    InterceptPosition::Last => terms.iter().chain([&intercept]).collect(),
                };
                in_order(&ordered, number, addition)?
            }
            Order::Any => match addition {
                AdditionError::UnitRoundoff => in_any_order(&terms, &intercept, number)?,
                AdditionError::HalfUlp => in_any_bracketing(&terms, &intercept, number)?,
            },
        };
        let error = add_up(add_up(products, sum.error), self.intercept_errors[group]);
        let Some(average) = self.accumulation.average else { return Some(error) };
        let largest = add_up(sum.largest, error);
        let quotient = up(largest / average.divisor);
        let rounding = add_up(up(quotient * number.unit_roundoff()), number.smallest_positive());
        Some(add_up(up(error / average.divisor), rounding))
    }
}

/// The sigmoid rounds to 1 for a `scale * score` of 36.7 and more.
const HIGHEST: f64 = 36.0;
/// Below about -708 the sigmoid is not a normal number any more, and soon zero.
const LOWEST: f64 = -700.0;

/// The gap between two scores above which the higher one has the higher sigmoid in f64, for scores
/// in `range`; `None` if the sigmoid saturates.
///
/// With `z = scale * score` the computed `1 / (1 + exp(-z))` is the true one up to a factor
/// `1 + eta`, `|eta| <= u (|z| + 5)` (one rounding of z, an `exp` good to one unit in the last
/// place, one sum, one division). The logarithm of the true one has slope `1 / (1 + e^z)`, which
/// falls with z, so a gap of `2 |eta| (1 + e^z)` in z is enough for the highest z and the largest
/// eta there are; three instead of two covers the second order and the float arithmetic here. Low
/// scores cost nothing but their magnitude in eta.
fn sigmoid_gap(scale: f64, range: [f64; 2], rounding: f64) -> Option<f64> {
    let high = up(up(range[1] + rounding) * scale);
    let low = down(down(range[0] - rounding) * scale);
    if high > HIGHEST || low < LOWEST {
        return None;
    }
    let magnitude = high.abs().max(low.abs());
    Some(3.0 * (f64::EPSILON / 2.0) * (magnitude + 5.0) * (1.0 + high.exp()) / scale)
}

/// The values that one tree can add to one group, as the library rounds them.
struct Term {
    low: f64,
    high: f64,
    /// Every value is a multiple of 2^quantum.
    quantum: i64,
    /// The largest rounding of weight times leaf.
    product_error: f64,
}

impl Term {
    fn intercept(value: f64, error: f64) -> Self {
        if error == 0.0 {
            return Self { low: value, high: value, quantum: quantum(value), product_error: 0.0 };
        }
        // The library's intercept is some number near the value; nothing is known about its last
        // bits.
        let quantum = i64::from(f64::MIN_EXP - f64::MANTISSA_DIGITS as i32);
        Self { low: down(value - error), high: up(value + error), quantum, product_error: 0.0 }
    }

    fn of_tree(tree: &Tree, group: usize, number: NumberType, weight: f64) -> Option<Self> {
        let (offset, step) = match tree.output() {
            Output::Group(g) if g.index() == group => (0, 1),
            Output::Group(_) => return None,
            Output::All => (group, tree.leaf_values().len() / tree.leaf_count()),
        };
        let mut term =
            Self { low: f64::INFINITY, high: f64::NEG_INFINITY, quantum: i64::MAX, product_error: 0.0 };
        for &leaf in tree.leaf_values().iter().skip(offset).step_by(step) {
            let value = number.round(weight * leaf);
            term.low = term.low.min(value);
            term.high = term.high.max(value);
            term.quantum = term.quantum.min(quantum(value));
            if weight != 1.0 {
                let error = product_error(weight, leaf, value);
                term.product_error = term.product_error.max(error);
            }
        }
        Some(term)
    }

    fn magnitude(&self) -> f64 {
        self.low.abs().max(self.high.abs())
    }
}

/// |weight * leaf - rounded|, rounded up; infinite if the product overflowed.
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

impl Bound {
    /// The bound of the sum times a scale, plus an intercept that is known up to an error, each
    /// step rounded.
    fn scaled(&self, scale: f64, intercept: f64, uncertain: f64, number: NumberType) -> Option<Self> {
        let (scale, unit) = (scale.abs(), number.unit_roundoff());
        let product = up(scale * add_up(self.largest, self.error));
        let rounding = add_up(up(unit * product), number.smallest_positive());
        let error = add_up(up(scale * self.error), rounding);
        let largest = add_up(up(scale * self.largest), add_up(intercept.abs(), uncertain));
        let rounded = add_up(largest, error);
        let error = add_up(error, up(unit * rounded));
        (add_up(product, rounding) < number.max() && add_up(rounded, error) < number.max())
            .then_some(Self { error, largest })
    }
}

/// How the error of one addition is bounded.
#[derive(Clone, Copy)]
enum AdditionError {
    /// The unit roundoff times the magnitude; bands of decisions use this bound.
    UnitRoundoff,
    /// Half of the distance between neighbours of the type.
    HalfUlp,
}

impl AdditionError {
    /// The largest error of an addition whose exact result is at most this in magnitude.
    fn of(self, largest: f64, number: NumberType) -> f64 {
        match self {
            Self::UnitRoundoff => up(number.unit_roundoff() * largest),
            Self::HalfUlp => half_ulp(largest, number),
        }
    }
}

/// Half of the distance between neighbours of a type just above 2^e, where 2^e is the largest power
/// of two up to `largest`: rounding changes no number up to `largest` in magnitude by more.
fn half_ulp(largest: f64, number: NumberType) -> f64 {
    if largest < f64::MIN_POSITIVE {
        return number.smallest_positive();
    }
    let exponent = (largest.to_bits() >> 52 & 0x7ff) as i64 - 1023;
    let bits = match number {
        NumberType::F32 => 24,
        NumberType::F64 => 53,
    };
    // Near zero the numbers of the type are evenly spaced, so sums are exact there; a slightly
    // larger bound does no harm.
    let power = (exponent - bits).max(-1022);
    f64::from_bits(((power + 1023) as u64) << 52)
}

/// The bound of any bracketing of these terms, see [`Ensemble::score_rounding`].
fn in_any_bracketing(terms: &[Term], intercept: &Term, number: NumberType) -> Option<Bound> {
    let all = || terms.iter().chain([intercept]);
    let grain = all().map(|term| term.quantum).min().unwrap_or(i64::MAX);
    let magnitudes = |of: fn(&Term) -> f64| {
        let mut values: Vec<f64> = all().map(of).collect();
        values.sort_by(|a, b| b.total_cmp(a));
        values
    };
    let positive = magnitudes(|term| term.high.max(0.0));
    let negative = magnitudes(|term| (-term.low).max(0.0));
    let (mut above, mut below, mut error) = (0.0, 0.0, 0.0);
    for (position, (positive, negative)) in positive.into_iter().zip(negative).enumerate() {
        (above, below) = (add_up(above, positive), add_up(below, negative));
        if position > 0 {
            let largest = add_up(f64::max(above, below), error);
            if largest.is_nan() || largest >= number.max() {
                return None;
            }
            error = add_up(error, half_ulp(largest, number));
        }
    }
    let largest = f64::max(above, below);
    let error = if fits(largest, grain, number) { 0.0 } else { error };
    (add_up(largest, error) < number.max()).then_some(Bound { error, largest })
}

fn in_order(terms: &[&Term], number: NumberType, addition: AdditionError) -> Option<Bound> {
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
            error = add_up(error, addition.of(largest, number));
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

/// a + b, rounded up; exact if one of them is zero.
fn add_up(a: f64, b: f64) -> f64 {
    if a == 0.0 {
        b
    } else if b == 0.0 {
        a
    } else {
        up(a + b)
    }
}
