//! Makes an axis: collects the distinctions that the splits on one feature make, and cuts its
//! values into cells.

use std::collections::BTreeMap;

use super::{Axis, Kind};
use crate::ensemble::Ensemble;
use crate::feature::{Categories, CategoryRule, Intake, NumberType};
use crate::ids::FeatureId;
use crate::tree::{Split, Test};

/// Collects the distinctions that the splits on one feature make.
#[derive(Default)]
pub(super) struct AxisMaker<'a> {
    bounds: Vec<f64>,
    sets: Vec<&'a [u32]>,
    /// How the models read categories, and their zero windows; different readings make the axis
    /// numeric.
    readings: Vec<(&'a Categories, Option<f64>)>,
    numeric: bool,
}

impl<'a> AxisMaker<'a> {
    pub(super) fn add(&mut self, ensemble: &'a Ensemble, intake: &Intake, split: Split<'a>) {
        let mut bound = |strict, threshold| self.bounds.extend(boundary(ensemble, intake, strict, threshold));
        match split.test {
            Test::Less { threshold } => bound(true, threshold),
            Test::LessOrEqual { threshold } => bound(false, threshold),
            Test::LessOrEqualButZero { threshold, .. } => {
                bound(false, threshold);
                bound(true, 0.0);
                bound(false, 0.0);
            }
            Test::Equal { value } => {
                bound(true, value);
                bound(false, value);
            }
            Test::Member { set, .. } => {
                let reading = ensemble.features().categories(split.feature).expect("checked by the builder");
                // No label is near zero without being zero, so windows do not matter here.
                let joined = matches!(reading.rule, CategoryRule::Joined { .. });
                let window = if joined { intake.zero_window } else { ensemble.intake().zero_window };
                let known = |(other, own): &(&Categories, Option<f64>)| {
                    other.rule == reading.rule
                        && other.unseen_is_missing == reading.unseen_is_missing
                        && *own == window
                };
                if !self.readings.iter().any(known) {
                    self.readings.push((reading, window));
                }
                self.sets.push(set);
                return;
            }
        }
        self.numeric = true;
    }

    /// Boundaries around the values of every category that some set contains, for every reading.
    fn category_bounds(&self, intake: &Intake) -> Vec<f64> {
        let mut codes: Vec<u32> = self.sets.iter().flat_map(|set| set.iter().copied()).collect();
        codes.sort_unstable();
        codes.dedup();
        let mut bounds = Vec::new();
        for (reading, window) in &self.readings {
            let first_bound = bounds.len();
            for &code in &codes {
                let Some(value) = reading.value(code) else { continue };
                // The values of a category are those from `first` up to, but not including, `end`.
                let (first, end) = match reading.rule {
                    CategoryRule::Truncate if code == 0 => (intake.number.next_up(-1.0), 1.0),
                    CategoryRule::Truncate | CategoryRule::TruncateNonNegative => (value, value + 1.0),
                    CategoryRule::Whole
                    | CategoryRule::Hashed
                    | CategoryRule::Listed(_)
                    | CategoryRule::Joined { .. } => {
                        (value, intake.number.next_up(intake.number.floor(value)))
                    }
                };
                bounds.extend([below(first, intake.number), below(end, intake.number)]);
            }
            // Listed values that no set contains are still known categories, while other values
            // count as missing.
            if let CategoryRule::Listed(values) = &reading.rule {
                bounds.extend(values.iter().flat_map(|&v| [below(v, intake.number), intake.number.floor(v)]));
            }
            for bound in &mut bounds[first_bound..] {
                *bound = around_window(*bound, *window, intake.number);
            }
        }
        bounds.retain(|&bound| bound >= -intake.max() && bound < intake.max());
        bounds
    }

    pub(super) fn finish(mut self, feature: FeatureId, intake: &Intake) -> Axis {
        let missing = intake.missing;
        let categories = match self.readings[..] {
            // Values that only some models read as zero need a cell, and so do unseen ones.
            [(only, window)]
                if !self.numeric && window == intake.zero_window && (missing || has_unseen(only, intake)) =>
            {
                only.clone()
            }
            _ => {
                self.bounds.extend(self.category_bounds(intake));
                self.bounds.iter_mut().for_each(|bound| *bound += 0.0);
                self.bounds.sort_by(f64::total_cmp);
                self.bounds.dedup();
                let kind = Kind::Numeric { bounds: self.bounds, witnesses: None };
                return Axis { feature, kind, missing };
            }
        };
        self.sets.sort();
        self.sets.dedup();
        // The sets that contain each code; codes in the same sets share a cell.
        let mut memberships: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for (index, set) in self.sets.iter().enumerate() {
            for &code in *set {
                memberships.entry(code).or_default().push(index as u32);
            }
        }
        // A code that no value reads as is in no cell.
        memberships.retain(|&code, _| categories.value(code).is_some());
        let outsider = outsider(&categories, &memberships);
        let mut cell_of_membership: BTreeMap<Vec<u32>, u32> = BTreeMap::new();
        let mut witnesses = Vec::new();
        let mut cells = BTreeMap::new();
        for (code, membership) in memberships {
            let cell = *cell_of_membership.entry(membership).or_insert_with(|| {
                witnesses.push(categories.value(code).expect("kept only codes with a value"));
                witnesses.len() as u32 - 1
            });
            cells.insert(code, cell);
        }
        let rest = outsider.map(|value| {
            witnesses.push(value);
            witnesses.len() as u32 - 1
        });
        // Unseen values that count as missing share the missing cell, if there is one.
        let unseen = match &categories.rule {
            _ if missing || !categories.unseen_is_missing => None,
            CategoryRule::Joined { unknown, .. } => *unknown,
            _ => Some(no_category(&categories, intake).expect("looked at above")),
        };
        let unseen = unseen.map(|value| {
            witnesses.push(value);
            witnesses.len() as u32 - 1
        });
        let count = witnesses.len() as u32;
        let kind = Kind::Categorical { categories, cells, count, rest, unseen, witnesses };
        Axis { feature, kind, missing }
    }
}

/// Is there a witness for values that are not categories?
fn has_unseen(categories: &Categories, intake: &Intake) -> bool {
    let joined = matches!(categories.rule, CategoryRule::Joined { .. });
    joined || !categories.unseen_is_missing || no_category(categories, intake).is_some()
}

/// An input that is not a category.
fn no_category(categories: &Categories, intake: &Intake) -> Option<f64> {
    let inputs = (1..=1u32 << 16).map(|number| -f64::from(number));
    inputs.filter(|&value| intake.read(value) == Some(value)).find(|&value| categories.code(value).is_none())
}

/// A value that is in no set; a real category if there is one.
fn outsider(categories: &Categories, members: &BTreeMap<u32, Vec<u32>>) -> Option<f64> {
    let known = match &categories.rule {
        CategoryRule::Listed(values) | CategoryRule::Joined { values, .. } => values.len(),
        _ => categories.labels.as_ref().map_or(0, Vec::len),
    };
    (0..known as u32)
        .find(|code| !members.contains_key(code))
        .and_then(|code| categories.value(code))
        .or(categories.unseen_value())
}

/// The largest input that a comparison with `threshold` sends to the lower side, `None` where that
/// is no input or every input.
fn boundary(ensemble: &Ensemble, intake: &Intake, strict: bool, threshold: f64) -> Option<f64> {
    let mut bound = intake.number.floor(threshold);
    if strict && bound == threshold {
        if bound == f64::NEG_INFINITY {
            return None;
        }
        bound = intake.number.next_down(bound);
    }
    bound = around_window(bound, ensemble.intake().zero_window, intake.number);
    // The two zeros are one input.
    let bound = bound + 0.0;
    let smallest = -intake.max();
    (bound >= smallest && bound < intake.max()).then_some(bound)
}

/// A model sees zero for its whole window: either all of it is on the lower side of a boundary or
/// none.
fn around_window(bound: f64, window: Option<f64>, number: NumberType) -> f64 {
    match window {
        Some(window) if bound.abs() <= window && bound >= 0.0 => number.floor(window),
        Some(window) if bound.abs() <= window => below(-window, number),
        _ => bound,
    }
}

/// The largest value of this type below `value`.
fn below(value: f64, number: NumberType) -> f64 {
    let floor = number.floor(value);
    if floor == value { number.next_down(floor) } else { floor }
}

/// A value in `(low, high]` of the domain with few digits.
pub(super) fn short_value(low: Option<f64>, high: Option<f64>, intake: &Intake) -> f64 {
    let inside = |value: f64| {
        low.is_none_or(|low| value > low)
            && high.is_none_or(|high| value <= high)
            && intake.read(value).is_some()
    };
    if inside(0.0) {
        return 0.0;
    }
    let middle = match (low, high) {
        (Some(low), Some(high)) if low.is_finite() => low / 2.0 + high / 2.0,
        (Some(low), None) if low.is_finite() => low + 1.0,
        (_, Some(high)) if high.is_finite() => high - 1.0,
        _ => 0.0,
    };
    (0..17)
        .filter_map(|digits| format!("{middle:.digits$e}").parse::<f64>().ok())
        .map(|value| intake.number.round(value))
        .find(|&value| inside(value))
        .or(high)
        .unwrap_or_else(|| intake.max())
}
