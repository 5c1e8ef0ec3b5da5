//! Arithmetic between a graph's input and its ensemble, column by column: scalers, and sums and
//! products with constants.
//!
//! Every step that is accepted here is monotone: if x <= y, the step's result for x is at most that
//! for y, rounding included, and a missing value stays missing. A test of the ensemble,
//! `step(x) <= t`, is therefore a test of the input itself, `x <= u`, where u is the largest number
//! whose result is at most t. The model that is built uses these tests; the file keeps its own
//! numbers.

use std::collections::HashMap;

use secateur_model::NumberType;

use super::attribute::Attribute;
use super::graph::unsupported;
use super::table::{Mode, Table};
use crate::error::{FormatError, Place, Problem};

/// The arithmetic on every column before the ensemble.
#[derive(Clone, Debug, Default)]
pub(super) struct Scaling {
    /// In the order of the graph.
    pub(super) steps: Vec<Step>,
    /// The type of the graph's input, before the first step.
    pub(super) input: Option<NumberType>,
}

/// One operator.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) operation: Operation,
    /// The type of the result.
    pub(super) number: NumberType,
}

#[derive(Clone, Debug)]
pub(super) enum Operation {
    /// `ai.onnx.ml.Scaler`: (x - offset) * scale, in the input's type and then as f32.
    Scale {
        offset: Vec<f64>,
        scale: Vec<f64>,
        input: NumberType,
    },
    Subtract(Vec<f64>),
    Add(Vec<f64>),
    Multiply(Vec<f64>),
    Divide(Vec<f64>),
    /// A cast to the step's type.
    Round,
}

impl Step {
    /// Reads a `Scaler`.
    pub(super) fn scaler(
        attributes: &[Attribute<'_>],
        place: Place,
        input: NumberType,
    ) -> Result<Self, FormatError> {
        let list = |name: &str| {
            let found = attributes.iter().find(|attribute| attribute.name == name);
            found.map_or(Ok(Vec::new()), |attribute| attribute.floats())
        };
        let (offset, scale) = (list("offset")?, list("scale")?);
        if offset.is_empty() || offset.len() != scale.len() {
            let problem = Problem::Length { expected: offset.len(), found: scale.len() };
            return Err(FormatError::new(place, problem));
        }
        let step = Self { operation: Operation::Scale { offset, scale, input }, number: NumberType::F32 };
        step.checked(place)
    }

    /// Reads an operator with a constant; `None` for any other operator.
    pub(super) fn arithmetic(
        operator: &str,
        constant: Vec<f64>,
        place: Place,
        number: NumberType,
    ) -> Result<Option<Self>, FormatError> {
        let operation = match operator {
            "Sub" => Operation::Subtract(constant),
            "Add" => Operation::Add(constant),
            "Mul" => Operation::Multiply(constant),
            "Div" => Operation::Divide(constant),
            _ => return Ok(None),
        };
        Self { operation, number }.checked(place).map(Some)
    }

    /// The step, if it is monotone.
    fn checked(self, place: Place) -> Result<Self, FormatError> {
        let (shifts, factors): (&[f64], &[f64]) = match &self.operation {
            Operation::Scale { offset, scale, .. } => (offset, scale),
            Operation::Subtract(values) | Operation::Add(values) => (values, &[]),
            Operation::Multiply(values) | Operation::Divide(values) => (&[], values),
            Operation::Round => (&[], &[]),
        };
        if shifts.iter().all(|shift| shift.is_finite())
            && factors.iter().all(|factor| factor.is_finite() && *factor > 0.0)
        {
            return Ok(self);
        }
        let advice =
            "every factor must be above zero and every number finite, so that larger inputs stay larger";
        Err(unsupported(place, "a scaler that turns a column around or flattens it", advice))
    }

    /// The number of columns that it applies to; `None` for any number.
    pub(super) fn columns(&self) -> Option<usize> {
        let values = match &self.operation {
            Operation::Scale { scale: values, .. }
            | Operation::Subtract(values)
            | Operation::Add(values)
            | Operation::Multiply(values)
            | Operation::Divide(values) => values,
            Operation::Round => return None,
        };
        (values.len() != 1).then_some(values.len())
    }

    fn apply(&self, column: usize, x: f64) -> f64 {
        // A single number applies to all columns. A column beyond the list does not exist and was
        // refused.
        let of = |values: &[f64]| if values.len() == 1 { values[0] } else { values[column] };
        // A double has more than twice the digits of an f32, so rounding to it first and then to
        // f32 gives the same result as rounding once.
        self.number.round(match &self.operation {
            Operation::Scale { offset, scale, input } => input.round(input.round(x - of(offset)) * of(scale)),
            Operation::Subtract(values) => x - of(values),
            Operation::Add(values) => x + of(values),
            Operation::Multiply(values) => x * of(values),
            Operation::Divide(values) => x / of(values),
            Operation::Round => x,
        })
    }
}

/// The file's numbers for the tests of the model: by column, the bits of the input's threshold, and
/// whether the test is strict.
pub(super) type Originals = HashMap<(i32, u64, bool), f64>;

impl Scaling {
    pub(super) fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// The ensemble's value for an input.
    pub(super) fn apply(&self, column: usize, x: f64) -> f64 {
        self.steps.iter().fold(x, |x, step| step.apply(column, x))
    }

    /// Turns the thresholds of a table into those of the graph's input.
    pub(super) fn move_thresholds(&self, table: &mut Table) -> Result<Originals, FormatError> {
        let mut originals = Originals::new();
        let Some(input) = self.input.filter(|_| !self.is_empty()) else { return Ok(originals) };
        let columns = self.steps.iter().filter_map(Step::columns).min();
        for (row, mode) in table.modes.iter().enumerate() {
            let strict = match mode {
                Mode::Leaf => continue,
                Mode::LessOrEqual | Mode::Greater => false,
                Mode::Less | Mode::GreaterOrEqual => true,
                Mode::Equal | Mode::NotEqual => {
                    let what = "a test for equality behind a scaler";
                    let advice = "only tests of more and less can be read there";
                    return Err(unsupported(Place::Field(format!("nodes_modes[{row}]")), what, advice));
                }
            };
            let feature = table.features[row];
            let column = usize::try_from(feature).unwrap_or(usize::MAX);
            if columns.is_some_and(|columns| column >= columns) {
                let problem = Problem::Value {
                    found: format!("feature {feature}"),
                    expected: "a column of the scaler",
                };
                return Err(FormatError::new(Place::Field(format!("nodes_featureids[{row}]")), problem));
            }
            let original = table.values.values[row];
            let moved = match strict {
                false => self.last_at_most(input, column, original),
                true => self.first_at_least(input, column, original),
            };
            table.values.values[row] = moved;
            originals.insert((feature, moved.to_bits(), strict), original);
        }
        Ok(originals)
    }

    /// The largest input whose result is at most `t`.
    fn last_at_most(&self, input: NumberType, column: usize, t: f64) -> f64 {
        let found = last(input, |x| self.apply(column, x) <= t);
        plain_zero(found.unwrap_or(f64::NEG_INFINITY))
    }

    /// The smallest input whose result is at least `t`.
    fn first_at_least(&self, input: NumberType, column: usize, t: f64) -> f64 {
        let below = last(input, |x| self.apply(column, x) < t);
        plain_zero(below.map_or(f64::NEG_INFINITY, |x| number_at(input, index_of(input, x) + 1)))
    }
}

/// No test distinguishes the two zeros.
fn plain_zero(x: f64) -> f64 {
    if x == 0.0 { 0.0 } else { x }
}

/// The largest number of a type, infinities included, for which a test holds; the test must then
/// hold for all smaller ones too.
fn last(number: NumberType, test: impl Fn(f64) -> bool) -> Option<f64> {
    let (mut low, mut high) = (index_of(number, f64::NEG_INFINITY), index_of(number, f64::INFINITY));
    if !test(number_at(number, low)) {
        return None;
    }
    if test(number_at(number, high)) {
        return Some(number_at(number, high));
    }
    // Invariant: the test holds at `low` but not at `high`.
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        *(if test(number_at(number, middle)) { &mut low } else { &mut high }) = middle;
    }
    Some(number_at(number, low))
}

/// The position of a number among all numbers of its type, in ascending order.
fn index_of(number: NumberType, x: f64) -> i128 {
    let (bits, sign): (i128, bool) = match number {
        NumberType::F32 => (i128::from((x as f32).abs().to_bits()), x.is_sign_negative()),
        NumberType::F64 => (i128::from(x.abs().to_bits()), x.is_sign_negative()),
    };
    // -0.0 comes before 0.0.
    if sign { -1 - bits } else { bits }
}

fn number_at(number: NumberType, index: i128) -> f64 {
    let (bits, sign) = if index < 0 { (-1 - index, -1.0) } else { (index, 1.0) };
    match number {
        NumberType::F32 => sign * f64::from(f32::from_bits(bits as u32)),
        NumberType::F64 => sign * f64::from_bits(bits as u64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_about_the_input_are_those_of_the_ensemble() {
        let mut random = fastrand::Rng::with_seed(3);
        for case in 0..300 {
            let input = if random.bool() { NumberType::F32 } else { NumberType::F64 };
            let mut any =
                |low: i32, high: i32| input.round((random.f64() - 0.5) * 10f64.powi(random.i32(low..high)));
            let (shift, factor) = (any(-20, 20), any(-20, 20).abs().max(1e-30));
            let constants = |value: f64| vec![value];
            let steps = match case % 4 {
                0 => vec![
                    Step { operation: Operation::Subtract(constants(shift)), number: input },
                    Step { operation: Operation::Divide(constants(factor)), number: input },
                ],
                1 => vec![
                    Step { operation: Operation::Multiply(constants(factor)), number: input },
                    Step { operation: Operation::Add(constants(shift)), number: input },
                ],
                2 => vec![Step {
                    operation: Operation::Scale { offset: constants(shift), scale: constants(factor), input },
                    number: NumberType::F32,
                }],
                _ => vec![
                    Step { operation: Operation::Subtract(constants(shift)), number: input },
                    Step { operation: Operation::Round, number: NumberType::F32 },
                ],
            };
            let scaling = Scaling { steps, input: Some(input) };
            let t = scaling.apply(0, any(-5, 25));
            let (last, first) = (scaling.last_at_most(input, 0, t), scaling.first_at_least(input, 0, t));
            for near in [last, first, any(-3, 30), f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0] {
                let at = index_of(input, near);
                for index in at - 2..=at + 2 {
                    let x = number_at(input, index);
                    if x.is_nan() || index_of(input, x) != index {
                        continue;
                    }
                    let seen = scaling.apply(0, x);
                    assert_eq!(seen <= t, x <= last, "case {case}: {x:e} is seen as {seen:e}, {t:e}");
                    assert_eq!(seen < t, x < first, "case {case}: {x:e} is seen as {seen:e}, {t:e}");
                }
            }
        }
    }
}
