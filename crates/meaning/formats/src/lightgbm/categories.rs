//! Which columns are categorical, and their labels if the file was trained from a pandas table.

use secateur_model::{Categories, CategoryRule, FeatureId, Features, Label};

/// The use of each column, found while the trees are read.
pub(super) struct Columns<'a> {
    infos: &'a [&'a str],
    use_of: Vec<Use>,
}

#[derive(Clone, Copy, PartialEq)]
enum Use {
    /// No split tests it; the header says whether it was categorical in training.
    Untested {
        categorical: bool,
    },
    Numeric,
    Categorical,
}

impl<'a> Columns<'a> {
    /// From the header's `feature_infos`: `[low:high]` for numbers, `none` for constants, otherwise
    /// the codes.
    pub(super) fn new(infos: &'a [&'a str]) -> Self {
        let use_of = infos.iter().map(|info| Use::Untested { categorical: lists_codes(info) }).collect();
        Self { infos, use_of }
    }

    /// Notes that a split compares this feature. A feature out of range is left to the model's
    /// builder.
    pub(super) fn numeric(&mut self, feature: FeatureId) {
        // If both kinds of split occur, the builder refuses the second.
        if let Some(entry @ Use::Untested { .. }) = self.use_of.get_mut(feature.index()) {
            *entry = Use::Numeric;
        }
    }

    /// Notes that a split looks this feature up in a set.
    pub(super) fn categorical(&mut self, feature: FeatureId) {
        if let Some(entry @ Use::Untested { .. }) = self.use_of.get_mut(feature.index()) {
            *entry = Use::Categorical;
        }
    }

    /// The columns, and whether the file lists pandas categories that could not be assigned to
    /// columns.
    pub(super) fn features(self, names: &[&str], footer: &str) -> (Features, bool) {
        let mut features = Features::named(names.iter().map(|&name| name.to_owned()).collect());
        let categorical: Vec<usize> = (0..self.use_of.len())
            .filter(|&index| {
                matches!(self.use_of[index], Use::Categorical | Use::Untested { categorical: true })
            })
            .collect();
        let mut lists = pandas_categories(footer);
        // The lists belong to the table's columns of category type, in order; the file does not
        // name the columns. A column that was constant, or ordered, has a list without being
        // categorical here.
        let told_apart = lists.len() == categorical.len()
            && categorical.iter().zip(&lists).all(|(&index, list)| covers(list, self.infos[index]));
        let dropped = !told_apart && !lists.is_empty();
        if dropped {
            features.set_unplaced_labels(std::mem::take(&mut lists));
        }
        let mut lists = lists.into_iter();
        for index in categorical {
            let labels = lists.next();
            let categories = Categories { rule: CategoryRule::Truncate, unseen_is_missing: false, labels };
            features.set_categories(FeatureId::new(index), categories);
        }
        (features, dropped)
    }
}

fn lists_codes(info: &str) -> bool {
    !info.starts_with('[') && info != "none"
}

/// Does every code that training saw have a label?
fn covers(labels: &[Label], info: &str) -> bool {
    !lists_codes(info)
        || info.split(':').all(|code| code.parse::<i64>().is_ok_and(|code| code < labels.len() as i64))
}

/// The lists of the last line, `pandas_categorical:[[...], ...]`; none if the line is absent.
fn pandas_categories(footer: &str) -> Vec<Vec<Label>> {
    let last = footer.trim_end().rsplit('\n').next().unwrap_or_default();
    let Some(json) = last.strip_prefix("pandas_categorical:") else { return Vec::new() };
    match serde_json::from_str::<Option<Vec<Vec<serde_json::Value>>>>(json) {
        Ok(lists) => {
            lists.unwrap_or_default().into_iter().map(|list| list.iter().map(label).collect()).collect()
        }
        // Python writes and reads more than JSON, such as infinities: such labels exist, but they
        // cannot be matched.
        Err(_) => vec![vec![Label::Unreadable(json.to_owned())]],
    }
}

fn label(value: &serde_json::Value) -> Label {
    let number = |number: &serde_json::Number| match (number.as_i64(), number.is_f64(), number.as_f64()) {
        (Some(whole), ..) => Some(Label::Integer(whole)),
        (None, true, Some(float)) => Some(Label::Float(float)),
        _ => None,
    };
    let known = match value {
        serde_json::Value::String(text) => Some(Label::Text(text.clone())),
        serde_json::Value::Bool(value) => Some(Label::Boolean(*value)),
        serde_json::Value::Number(found) => number(found),
        _ => None,
    };
    known.unwrap_or_else(|| Label::Unreadable(value.to_string()))
}
