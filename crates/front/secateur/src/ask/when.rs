//! A condition that narrows a domain: the `when` of a rule.

use secateur_formats::{DomainFile, DomainFileError};
use secateur_model::{Column, Domain, Ensemble, FeatureId, Group, GroupKind};
use serde_json::{Map, Value, json};

use super::Refused;

/// Limits of columns, as the `columns` of a domain file has them, in JSON: `{"late": {"values": [0]},
/// "income": {"min": 40000}}`. A column that is named is not missing unless the limits say so.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Condition(Map<String, Value>);

impl Condition {
    /// The condition of these limits.
    pub fn new(columns: Map<String, Value>) -> Self {
        Self(columns)
    }

    /// Adds a condition as people write it: `late=0`, `income>=40000`, `age<=65`, `region=north`.
    pub fn and(&mut self, text: &str) -> Result<(), String> {
        let wrong =
            || format!("{text:?} is no condition: write COLUMN=VALUE, COLUMN>=NUMBER or COLUMN<=NUMBER");
        let at = text.find(['<', '>', '=']).ok_or_else(wrong)?;
        let (column, rest) = text.split_at(at);
        let (key, value) = if let Some(value) = rest.strip_prefix(">=") {
            ("min", value)
        } else if let Some(value) = rest.strip_prefix("<=") {
            ("max", value)
        } else {
            ("values", rest.strip_prefix('=').ok_or_else(wrong)?)
        };
        let (column, value) = (column.trim(), value.trim());
        let number = value.parse::<f64>().ok().filter(|number| number.is_finite());
        let value = match (key, number) {
            ("values", Some(number)) => json!([number]),
            ("values", None) if !value.is_empty() => json!([value]),
            (_, Some(number)) => json!(number),
            _ => return Err(wrong()),
        };
        if column.is_empty() {
            return Err(wrong());
        }
        let limits = self.0.entry(column).or_insert_with(|| json!({}));
        let limits = limits.as_object_mut().ok_or_else(wrong)?;
        if limits.insert(key.to_owned(), value).is_some() {
            return Err(format!("{text:?}: this side of {column:?} has a limit already"));
        }
        Ok(())
    }

    /// Is there none?
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The inputs of a domain on which the condition holds.
    pub(super) fn within(&self, model: &Ensemble, domain: &Domain) -> Result<Domain, Refused> {
        let file = DomainFile::from_json(&json!({"missing": false, "columns": self.0}))?;
        let unused = |_: &Ensemble| [0; 32];
        let own = file.resolve(model, &unused)?;
        // A limit that says nothing beyond `missing = false` is not listed.
        let named: Vec<FeatureId> = self.columns(model)?;
        let mut columns: Vec<(FeatureId, Column)> =
            domain.columns().map(|(column, limits)| (column, limits.clone())).collect();
        let mut groups: Vec<Group> = domain.groups().to_vec();
        for column in named {
            let plain = Column { missing: false, ..Column::default() };
            let limits = own.column(column).unwrap_or(&plain);
            if let Some(group) = domain.group_of(column) {
                let group = &mut groups[group];
                let at = group.columns.iter().position(|&own| own == column).unwrap_or(0);
                let mut rows = group.rows();
                rows.retain(|row| limits.contains(row[at]));
                *group = tabled(group, rows);
                continue;
            }
            let missing = domain.may_be_missing(column);
            let known = columns.iter().position(|(own, _)| *own == column);
            let before =
                known.map_or(Column { missing, ..Column::default() }, |at| columns.swap_remove(at).1);
            columns.push((column, both(&before, limits)));
        }
        let product = Domain::new(domain.missing(), columns, groups)?;
        Ok(product.with_wheres(domain.wheres().to_vec()))
    }

    fn columns(&self, model: &Ensemble) -> Result<Vec<FeatureId>, DomainFileError> {
        // A column with a limit of its own is listed, whatever the condition says of it.
        let find = |name: &String| {
            let named = json!({"missing": true, "columns": {name: {"missing": false}}});
            let unused = |_: &Ensemble| [0; 32];
            let found = DomainFile::from_json(&named)?.resolve(model, &unused)?;
            Ok(found.columns().map(|(column, _)| column).next())
        };
        Ok(self
            .0
            .keys()
            .map(find)
            .collect::<Result<Vec<_>, DomainFileError>>()?
            .into_iter()
            .flatten()
            .collect())
    }
}

/// A group that holds these of its rows.
pub(super) fn tabled(group: &Group, rows: Vec<Vec<f64>>) -> Group {
    // The columns of a table ascend.
    let mut order: Vec<usize> = (0..group.columns.len()).collect();
    order.sort_by_key(|&at| group.columns[at]);
    let columns = order.iter().map(|&at| group.columns[at]).collect();
    let rows = rows.into_iter().map(|row| order.iter().map(|&at| row[at]).collect()).collect();
    Group { columns, kind: GroupKind::Table(rows) }
}

/// The values that meet both limits.
fn both(first: &Column, second: &Column) -> Column {
    let least = |a: Option<f64>, b: Option<f64>, pick: fn(f64, f64) -> f64| match (a, b) {
        (Some(a), Some(b)) => Some(pick(a, b)),
        (a, b) => a.or(b),
    };
    let listed = first.values.as_ref().or(second.values.as_ref());
    let missing = first.missing && second.missing;
    if let Some(values) = listed {
        let kept = values.iter().copied().filter(|&value| first.contains(value) && second.contains(value));
        return Column { missing, values: Some(kept.collect()), ..Column::default() };
    }
    Column {
        missing,
        min: least(first.min, second.min, f64::max),
        max: least(first.max, second.max, f64::min),
        whole: first.whole || second.whole,
        f32_only: first.f32_only || second.f32_only,
        values: None,
    }
}
