//! The values of one column: membership, and choosing a value in a range.

use super::{Column, DomainError, is_f32};
use crate::feature::NumberType;
use crate::ids::FeatureId;

impl Column {
    /// Is this value, NaN for a missing one, among those of the column?
    pub fn contains(&self, value: f64) -> bool {
        if value.is_nan() {
            return self.missing;
        }
        self.min.is_none_or(|min| value >= min)
            && self.max.is_none_or(|max| value <= max)
            && (!self.whole || value.is_finite() && value.fract() == 0.0)
            && (!self.f32_only || is_f32(value))
            && self.values.as_ref().is_none_or(|values| values.contains(&value))
    }

    pub(super) fn normal(mut self, column: FeatureId) -> Result<Self, DomainError> {
        for limit in [&mut self.min, &mut self.max].into_iter().flatten() {
            if !limit.is_finite() {
                return Err(DomainError::NotFinite { column, value: *limit });
            }
            *limit += 0.0;
        }
        if let Some(mut values) = self.values.take() {
            if let Some(&value) = values.iter().find(|value| !value.is_finite()) {
                return Err(DomainError::NotFinite { column, value });
            }
            values.iter_mut().for_each(|value| *value += 0.0);
            values.retain(|&value| self.contains(value));
            values.sort_by(f64::total_cmp);
            values.dedup();
            if values.is_empty() {
                return Err(DomainError::NoValues { column });
            }
            return Ok(Self { missing: self.missing, values: Some(values), ..Self::default() });
        }
        if self.whole {
            self.min = self.min.map(|min| min.ceil() + 0.0);
            self.max = self.max.map(|max| max.floor() + 0.0);
        }
        let (low, high) = (self.min.unwrap_or(f64::NEG_INFINITY), self.max.unwrap_or(f64::INFINITY));
        if self.least_from(low).is_none_or(|least| least > high) {
            return Err(DomainError::EmptyRange { column, min: self.min, max: self.max });
        }
        Ok(self)
    }

    /// The least value of the column that is at least `low`; its greatest value is not considered.
    pub(super) fn least_from(&self, low: f64) -> Option<f64> {
        let low = self.min.map_or(low, |min| min.max(low));
        if let Some(values) = &self.values {
            return values.get(values.partition_point(|&value| value < low)).copied();
        }
        let mut least = low;
        if self.whole {
            least = least.max(-f64::MAX).ceil();
        }
        if self.f32_only {
            // Beyond 2^24 every f32 is whole, so a value that was made whole stays whole.
            let floor = NumberType::F32.floor(least);
            least = if floor == least { floor } else { NumberType::F32.next_up(floor) };
        }
        self.contains(least).then_some(least + 0.0)
    }

    /// The greatest value of the column that is at most `high`; its least value is not considered.
    fn greatest_to(&self, high: f64) -> Option<f64> {
        let high = self.max.map_or(high, |max| max.min(high));
        if let Some(values) = &self.values {
            return values[..values.partition_point(|&value| value <= high)].last().copied();
        }
        let mut greatest = high;
        if self.whole {
            greatest = greatest.min(f64::MAX).floor();
        }
        if self.f32_only {
            // A whole number stays whole, as above.
            greatest = NumberType::F32.floor(greatest);
        }
        self.contains(greatest).then_some(greatest + 0.0)
    }

    /// The least and the greatest value of the column that a domain reads as a number in
    /// `(low, high]`; `None` if the column has none.
    pub(crate) fn extent(
        &self,
        intake: &crate::feature::Intake,
        low: Option<f64>,
        high: Option<f64>,
    ) -> Option<(f64, f64)> {
        let above = first_read_above(intake, Some(high.unwrap_or(intake.max())));
        // No number is above infinity, where the library accepts that.
        let last = if high.is_none() && intake.infinities { above } else { number(order(above) - 1) };
        let least = self.least_from(first_read_above(intake, low))?;
        let greatest = self.greatest_to(last)?;
        (least <= greatest).then_some((least, greatest))
    }

    /// A value of the column that a domain reads as a number in `(low, high]`, short to write if
    /// there is a choice; `None` if the column has none.
    pub(crate) fn pick(
        &self,
        intake: &crate::feature::Intake,
        low: Option<f64>,
        high: Option<f64>,
    ) -> Option<f64> {
        let first = first_read_above(intake, low);
        let inside = |value: f64| {
            self.contains(value)
                && intake.read(value).is_some_and(|read| {
                    low.is_none_or(|low| read > low) && high.is_none_or(|high| read <= high)
                })
        };
        let least = self.least_from(first).filter(|&least| inside(least))?;
        if inside(0.0) {
            return Some(0.0);
        }
        let end = |limit: Option<f64>, own: Option<f64>, larger: bool| match (limit, own) {
            (Some(a), Some(b)) => Some(if larger { a.max(b) } else { a.min(b) }),
            (a, b) => a.or(b),
        };
        let (from, to) = (end(low, self.min, true), end(high, self.max, false));
        let middle = match (from, to) {
            (Some(from), Some(to)) => from / 2.0 + to / 2.0,
            (Some(from), None) => from + 1.0,
            (None, Some(to)) => to - 1.0,
            (None, None) => 0.0,
        };
        let short = (0..17).filter_map(|digits| format!("{middle:.digits$e}").parse::<f64>().ok());
        let near = [middle.round(), middle.floor(), middle.ceil()];
        Some(near.into_iter().chain(short).find(|&value| inside(value)).map_or(least, |value| value + 0.0))
    }
}

/// The least f64 that a domain reads as more than `bound`, or without a bound the least that it
/// accepts. If no number is read so, a number that is not accepted.
fn first_read_above(intake: &crate::feature::Intake, bound: Option<f64>) -> f64 {
    let above = |value: f64| match intake.read(value) {
        Some(read) => bound.is_none_or(|bound| read > bound),
        None => value > 0.0,
    };
    // A binary search over all numbers in their order: the number that a domain reads never falls
    // as the value grows, so there is one place where it first exceeds the bound.
    let (mut low, mut high) = (order(f64::NEG_INFINITY), order(f64::INFINITY));
    while low < high {
        let middle = low + (high - low) / 2;
        if above(number(middle)) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    number(low)
}

/// The position of a number that is not NaN among all of them, in ascending order.
fn order(value: f64) -> u64 {
    let bits = value.to_bits();
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

fn number(place: u64) -> f64 {
    f64::from_bits(if place >> 63 == 1 { place & !(1 << 63) } else { !place })
}
