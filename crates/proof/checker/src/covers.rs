//! Does a claim's domain hold every input of another? What `secateur-check --domain` asks.
//!
//! Both domains are products of single columns and groups of columns; no column is in two of these
//! parts. A product that is not empty lies in another exactly if each part of the other holds the
//! projection of the first onto the part's columns. The projection of a product onto some columns
//! is the product of the projections of its parts, so it can be listed if it is finite and small.
//! If it is not, the answer is "not comparable", which is a refusal.
//!
//! Written from the specification (section 2 of `certificate-v2.md`); it shares no code with the
//! search.

use std::collections::BTreeMap;

use secateur_model::{Column, Domain, FeatureId, NumberType};

/// The largest number of tuples that is listed.
const MOST_TUPLES: usize = 1 << 16;
/// Whole numbers up to this magnitude are f32 values.
const WHOLE_F32: f64 = 16_777_216.0;

/// Checks that every input of `asked` is one of `claimed`. With `mixed` (the claim is about models
/// that read different number types) only f32 numbers count. An error says in words why not, or why
/// this cannot be told.
pub(crate) fn covers(claimed: &Domain, mixed: bool, asked: &Domain, columns: usize) -> Result<(), String> {
    let note = if mixed {
        "; one model reads f64 and the other f32, so that the claim is about f32 numbers alone (in a domain: f32 = true, or \
         a list of values that are)"
    } else {
        ""
    };
    for feature in (0..columns).map(FeatureId::new).filter(|&feature| claimed.group_of(feature).is_none()) {
        let plain = Column { missing: claimed.missing(), ..Column::default() };
        let part = claimed.column(feature).unwrap_or(&plain).clone();
        let part = Column { f32_only: part.f32_only || mixed, ..part };
        let held = match asked.group_of(feature) {
            Some(group) => {
                let group = &asked.groups()[group];
                let at = group.columns.iter().position(|&own| own == feature).unwrap_or(0);
                group.rows().iter().all(|row| part.contains(row[at]))
            }
            None => {
                let plain = Column { missing: asked.missing(), ..Column::default() };
                column_covers(&part, asked.column(feature).unwrap_or(&plain))
            }
        };
        if !held {
            return Err(format!("column {feature} can hold what the claim leaves out{note}"));
        }
    }
    for (index, group) in claimed.groups().iter().enumerate() {
        let number = index + 1;
        let tuples = projection(asked, &group.columns).ok_or_else(|| {
            format!("its values in the columns of the claim's group {number} cannot be listed")
        })?;
        let counts = |&value: &f64| !mixed || value.is_nan() || NumberType::F32.round(value) == value;
        if !tuples.iter().all(|tuple| group.contains(tuple) && tuple.iter().all(counts)) {
            return Err(format!("it has tuples that are not in the claim's group {number}{note}"));
        }
    }
    // A claim where a model scores at least some bound also covers the inputs where it scores at
    // least a larger one. There is no other way to tell here that a condition on scores lets all
    // asked inputs in.
    for own in claimed.wheres() {
        if !asked.wheres().iter().any(|there| there.is_within(own)) {
            return Err(format!("the claim is only about inputs where {}", own.words()));
        }
    }
    Ok(())
}

/// Does a column's set hold all values of another's?
fn column_covers(claimed: &Column, asked: &Column) -> bool {
    if asked.missing && !claimed.missing {
        return false;
    }
    if let Some(values) = listed(asked) {
        return values.iter().all(|&value| claimed.contains(value));
    }
    let low = claimed.min.is_none_or(|min| asked.min.is_some_and(|own| own >= min));
    let high = claimed.max.is_none_or(|max| asked.max.is_some_and(|own| own <= max));
    let within = |limit: Option<f64>| limit.is_some_and(|limit| limit.abs() <= WHOLE_F32);
    let small_whole = asked.whole && within(asked.min) && within(asked.max);
    low && high
        && (!claimed.whole || asked.whole)
        && (!claimed.f32_only || asked.f32_only || small_whole)
        && claimed.values.is_none()
}

/// The numbers of a column, if they are few.
fn listed(column: &Column) -> Option<Vec<f64>> {
    if let Some(values) = &column.values {
        return Some(values.clone());
    }
    let (min, max) = (column.min?, column.max?);
    let few = column.whole && max - min < MOST_TUPLES as f64 && min.abs().max(max.abs()) <= WHOLE_F32;
    few.then(|| (0..=(max - min) as usize).map(|step| min + step as f64).collect())
}

/// The rows that a domain allows in these columns, in their order; `None` if the list is not short.
fn projection(domain: &Domain, columns: &[FeatureId]) -> Option<Vec<Vec<f64>>> {
    let mut tuples: Vec<BTreeMap<FeatureId, f64>> = vec![BTreeMap::new()];
    let mut done: Vec<FeatureId> = Vec::new();
    for &feature in columns {
        if done.contains(&feature) {
            continue;
        }
        // One part of the product: its columns and the rows that they hold.
        let (own, rows) = match domain.group_of(feature) {
            Some(group) => {
                let group = &domain.groups()[group];
                (group.columns.clone(), group.rows())
            }
            None => {
                let column = domain.column(feature)?;
                let mut values: Vec<Vec<f64>> =
                    listed(column)?.into_iter().map(|value| vec![value]).collect();
                if column.missing {
                    values.push(vec![f64::NAN]);
                }
                (vec![feature], values)
            }
        };
        done.extend(&own);
        if tuples.len().saturating_mul(rows.len()) > MOST_TUPLES {
            return None;
        }
        let mut next = Vec::with_capacity(tuples.len() * rows.len());
        for tuple in &tuples {
            for row in &rows {
                let mut longer = tuple.clone();
                longer.extend(own.iter().copied().zip(row.iter().copied()));
                next.push(longer);
            }
        }
        tuples = next;
    }
    Some(tuples.iter().map(|tuple| columns.iter().map(|column| tuple[column]).collect()).collect())
}
