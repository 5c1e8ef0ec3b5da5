//! Rule `crossing`: a threshold split lies between two values.
//!
//! Premise: two inputs that differ in one numeric feature only, at `low < high` as the original reads them; the
//! original decides them differently, each by more than the band. The half-open intervals `low..high` of all
//! crossings of a feature are disjoint.
//! Conclusion: an ensemble of trees whose splits on these features each compare the value with one threshold,
//! and that decides as the original on these inputs, has at least one split for each crossing.
//! Why: some tree sends the two inputs to different leaves, so a split on that feature sends them to different
//! sides. What a threshold split sends to its lower side is closed downward: with `a` on that side and `b`
//! not, no value from b on is. So a split that separates `a < b` does not separate `c < d` with `b <= c`, and
//! different crossings have different splits.
//! Refuses: `crossing.point`, `crossing.values`, `crossing.decision`, `crossing.overlap`. Specification: section 7.5.

use secateur_model::FeatureId;

use crate::bounds::Bounds;
use crate::reason::Reason;

pub(crate) fn crossing(
    bounds: &mut Bounds<'_>,
    point: u32,
    feature: u32,
    low: f64,
    high: f64,
) -> Result<(), Reason> {
    let model = bounds.pair.read;
    let no_place = Reason::CrossingPoint { point, points: bounds.point_count(), column: feature };
    let Some(row) = bounds.point(point) else { return Err(no_place) };
    if feature as usize >= row.len() || model.features().categories(FeatureId(feature)).is_some() {
        return Err(no_place);
    }
    let no_values = Reason::CrossingValues { column: feature, low, high };
    // The rows hold the values as they are given: those are what the claim's domain is about.
    let given = (low, high);
    let (Some(low), Some(high)) = (model.domain().read(low), model.domain().read(high)) else {
        return Err(no_values);
    };
    if low.is_nan() || high.is_nan() || low >= high {
        return Err(no_values);
    }
    let mut row = row.to_vec();
    let mut winner_with = |value: f64| {
        row[feature as usize] = value;
        bounds.winner_of(&row)
    };
    let (below, above) = (winner_with(given.0), winner_with(given.1));
    if below.is_none() || above.is_none() || below == above {
        let [below, above] = [below, above].map(|class| class.map(|class| class.0));
        return Err(Reason::CrossingDecision { point, column: feature, below, above });
    }
    let overlap = Reason::CrossingOverlap { column: feature, low, high };
    let known = bounds.crossings.entry(feature).or_default();
    let (low, high) = (position(low), position(high));
    let before = known.range(..=low).next_back().is_some_and(|(_, &end)| end > low);
    let after = known.range(low..).next().is_some_and(|(&start, _)| start < high);
    if before || after {
        return Err(overlap);
    }
    known.insert(low, high);
    Ok(())
}

/// Orders as the numbers do; the two zeros are one.
fn position(value: f64) -> u64 {
    let bits = (value + 0.0).to_bits();
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}
