//! Category labels in the answer of `verify`: how they were matched, and the labels of a row.

use secateur_model::{FeatureId, Features, Label, LabelMatch};
use serde_json::{Map, Value, json};

use crate::text::{number, printable};

/// How labels were matched, if there are any.
pub(super) fn words(labels: &LabelMatch<'_>, features: &Features) -> Option<String> {
    let list = |columns: &mut dyn Iterator<Item = FeatureId>| {
        columns.map(|feature| printable(&features.name(feature)).into_owned()).collect::<Vec<_>>().join(", ")
    };
    let (by_label, by_code) = (list(&mut labels.by_label()), list(&mut labels.by_code()));
    let mut parts = Vec::new();
    if !by_label.is_empty() {
        parts.push(format!("matched by label in {by_label}"));
    }
    if !by_code.is_empty() {
        parts.push(format!(
            "matched BY CODE in {by_code}: only one of the models has labels there, so the answer is about codes"
        ));
    }
    if labels.unplaced_by_code() {
        parts.push(
            "matched BY CODE: one of the files has labels without naming their columns, the other has none, so \
             the answer is about codes"
                .to_owned(),
        );
    }
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// The same for scripts.
pub(super) fn json(labels: &LabelMatch<'_>, features: &Features) -> Value {
    let names = |columns: &mut dyn Iterator<Item = FeatureId>| -> Vec<String> {
        columns.map(|feature| features.name(feature).into_owned()).collect()
    };
    json!({
        "by_label": names(&mut labels.by_label()),
        "by_code": names(&mut labels.by_code()),
        "unplaced": labels.unplaced_by_code(),
    })
}

/// The columns that accept only labels, as an addition to the description of the inputs.
pub(super) fn domain(labels: &LabelMatch<'_>, features: &Features) -> String {
    let names: Vec<String> =
        labels.joined().map(|feature| printable(&features.name(feature)).into_owned()).collect();
    if names.is_empty() { String::new() } else { format!("; in {}: category labels alone", names.join(", ")) }
}

/// The value of a column in a row, as people read it.
pub(crate) fn value_words(
    labels: &LabelMatch<'_>,
    feature: FeatureId,
    value: f64,
    kind: secateur_model::NumberType,
) -> String {
    match labels.label(feature, value) {
        Some(label) => printable(&label.to_string()).into_owned(),
        None if value.is_nan() => "missing".to_owned(),
        None if labels.is_unknown(feature, value) => "a label that neither model knows".to_owned(),
        None => number(value, kind),
    }
}

/// The values of these columns of a row, as people read them; at most `most` of them. Without
/// `labels` categories are shown by code.
pub(crate) fn values_words(
    labels: Option<&LabelMatch<'_>>,
    features: &Features,
    row: &[f64],
    columns: &[FeatureId],
    most: usize,
    kind: secateur_model::NumberType,
) -> String {
    let value = |&column: &FeatureId| {
        let value = row[column.index()];
        let text =
            labels.map_or_else(|| number(value, kind), |labels| value_words(labels, column, value, kind));
        format!("{} = {text}", printable(&features.name(column)))
    };
    let mut text: Vec<String> = columns.iter().take(most).map(value).collect();
    if columns.len() > most {
        text.push(format!("and {} more (-v shows them)", columns.len() - most));
    }
    text.join(", ")
}

/// The labels of a row by column, for values that stand for labels.
pub(crate) fn of_row(labels: &LabelMatch<'_>, features: &Features, row: &[f64]) -> Map<String, Value> {
    let label = |(index, &value): (usize, &f64)| {
        let feature = FeatureId::new(index);
        let label = labels.label(feature, value)?;
        let value = match &*label {
            Label::Text(text) | Label::Unreadable(text) => json!(text),
            Label::Hash(_) => json!(label.to_string()),
            Label::Integer(number) => json!(number),
            Label::Float(number) => json!(number),
            Label::Boolean(value) => json!(value),
        };
        Some((features.name(feature).into_owned(), value))
    };
    row.iter().enumerate().filter_map(label).collect()
}
