//! The numbers of a counterexample as both libraries read them back, and why two models that seem
//! equal differ there.

use secateur_model::{Ensemble, FeatureId, NumberType, Test};

use crate::text::{number, printable};

/// The type in which an input's numbers are printed: f32, which needs fewer digits, if both
/// libraries read f32. A library that reads f64 would read other bits from these digits.
pub(super) fn printed_as(models: [&Ensemble; 2]) -> NumberType {
    match models.map(|model| model.intake().number) {
        [NumberType::F32, NumberType::F32] => NumberType::F32,
        _ => NumberType::F64,
    }
}

/// Searches for a column whose value lies between a threshold of the first model and the
/// corresponding threshold of the second, which is the same number rounded to f32 or moved to the
/// next f32. Returns a sentence about the first such column.
pub(super) fn between_thresholds(models: [&Ensemble; 2], row: &[f64]) -> Option<String> {
    let features = models[0].features();
    row.iter().enumerate().find_map(|(index, &value)| {
        let feature = FeatureId::new(index);
        let [first, second] = models.map(|model| nearest_threshold(model, feature, value));
        let (first, second) = (first?, second?);
        let neighbours = first != second && (first as f32 - second as f32).abs() <= (first as f32).abs() * f32::EPSILON;
        let between = first.min(second) <= value && value <= first.max(second);
        (neighbours && between).then(|| {
            format!(
                "a threshold of {} is {} in the first model and {} in the second (rounded, or the next number), and the \
                 value does not lie on the same side of both",
                printable(&features.name(feature)),
                number(first, NumberType::F64),
                number(second, NumberType::F64)
            )
        })
    })
}

/// The threshold on a column that is nearest to a value.
fn nearest_threshold(model: &Ensemble, feature: FeatureId, value: f64) -> Option<f64> {
    let splits = model.trees().iter().flat_map(|tree| tree.splits()).filter(|split| split.feature == feature);
    let thresholds = splits.filter_map(|split| match split.test {
        Test::Less { threshold }
        | Test::LessOrEqual { threshold }
        | Test::LessOrEqualButZero { threshold, .. } => Some(threshold),
        _ => None,
    });
    thresholds.min_by(|a, b| (a - value).abs().total_cmp(&(b - value).abs()))
}
