//! Does the grid have a cell for every input of the claim's domain?
//!
//! `model::Grid` builds the cells of a domain for the search and for the checker alike. If it went
//! wrong so that some input of the domain lay in no cell, a proof would leave that input out. So
//! the checker tests this with code of its own: it lists values of each limited column, and the
//! tuples of each group, and demands for each a cell whose witness takes the same side at every
//! split of both models.
//!
//! A list is enough for a column with a range: between two neighbouring numbers at which some split
//! changes its side, all values take the same sides. So the least allowed value from each such
//! number on stands for all values up to the next one. Listing more numbers than needed does no
//! harm: each is an input and has to have its cell.

use std::collections::BTreeMap;

use secateur_model::{
    CategoryRule, Column, DomainError, Ensemble, FeatureId, Grid, GroupKind, NumberType, Split, Test,
};

use crate::refused::Refused;

/// The values of one column, classified by the sides that they take at all splits.
struct Sides<'a> {
    feature: FeatureId,
    models: Vec<Questions<'a>>,
    /// A number for each distinct list of sides.
    classes: BTreeMap<Vec<usize>, usize>,
}

/// What the splits of one model ask about one column.
struct Questions<'a> {
    model: &'a Ensemble,
    /// The thresholds of the tests `<` and of the tests `<=`, both ascending. How many of these
    /// tests a value fails determines its side at all of them.
    less: Vec<f64>,
    less_or_equal: Vec<f64>,
    /// Some test treats zero as a case of its own.
    zero: bool,
    others: Vec<Split<'a>>,
}

impl<'a> Questions<'a> {
    fn new(model: &'a Ensemble, feature: FeatureId) -> Self {
        let mut own =
            Self { model, less: Vec::new(), less_or_equal: Vec::new(), zero: false, others: Vec::new() };
        let splits = model.trees().iter().flat_map(|tree| tree.splits());
        for split in splits.filter(|split| split.feature == feature) {
            match split.test {
                Test::Less { threshold } => own.less.push(threshold),
                Test::LessOrEqual { threshold } => own.less_or_equal.push(threshold),
                Test::LessOrEqualButZero { threshold, .. } => {
                    own.less_or_equal.push(threshold);
                    own.zero = true;
                }
                Test::Equal { .. } | Test::Member { .. } if own.others.contains(&split) => {}
                Test::Equal { .. } | Test::Member { .. } => own.others.push(split),
            }
        }
        for list in [&mut own.less, &mut own.less_or_equal] {
            list.sort_by(f64::total_cmp);
            list.dedup();
        }
        own
    }

    /// Describes the sides that a value takes: values with the same `ways` take the same side at
    /// every split. `None` if the model does not accept the value.
    fn ways(&self, feature: FeatureId, value: f64, ways: &mut Vec<usize>) -> Option<()> {
        let value = self.model.read(feature, value)?;
        // Missing values are described separately. Only without any threshold may they share a
        // description with other values: with a category that the model does not know, or with all
        // values of a column that no split reads.
        let behind = |list: &[f64], behind: &dyn Fn(f64) -> bool| match value.is_nan() {
            _ if list.is_empty() => 0,
            true => usize::MAX,
            false => list.partition_point(|&threshold| behind(threshold)),
        };
        ways.push(behind(&self.less, &|threshold| threshold <= value));
        ways.push(behind(&self.less_or_equal, &|threshold| threshold < value));
        ways.push(usize::from(self.zero && value == 0.0));
        ways.extend(self.others.iter().map(|&split| usize::from(self.model.goes_left(split, value))));
        Some(())
    }
}

impl<'a> Sides<'a> {
    fn new(models: &[&'a Ensemble], feature: FeatureId) -> Self {
        let models = models.iter().map(|model| Questions::new(model, feature)).collect();
        Self { feature, models, classes: BTreeMap::new() }
    }

    /// The class of a value: one number for each distinct combination of sides. `None` if a model
    /// does not accept the value.
    fn class(&mut self, value: f64) -> Option<usize> {
        let mut ways = Vec::new();
        for own in &self.models {
            own.ways(self.feature, value, &mut ways)?;
        }
        let next = self.classes.len();
        Some(*self.classes.entry(ways).or_insert(next))
    }
}

/// Refuses a grid that has no cell for some input of the models' domain, which is the same for
/// both. Models whose scores the domain asks for distinguish cells just as the two models do.
pub(crate) fn looks_at_all(grid: &Grid, models: [&Ensemble; 2]) -> Result<(), Refused> {
    let domain = models[0].domain();
    let models: Vec<&Ensemble> = models.into_iter().chain(domain.scorers()).collect();
    // If the models read different number types, only the values that all of them read exactly
    // count.
    let mixed = models.iter().any(|model| model.intake().number != models[0].intake().number);
    let in_common = |value: f64| !mixed || value.is_nan() || NumberType::F32.round(value) == value;
    for (feature, column) in domain.columns() {
        let limited = column.min.is_some() || column.max.is_some() || column.whole || column.f32_only;
        if !limited && column.values.is_none() || grid.axis_of(feature).is_none() {
            continue;
        }
        let mut sides = Sides::new(&models, feature);
        let values = match &column.values {
            Some(values) => values.clone(),
            None => behind(&sides, column, mixed),
        };
        let known = witnesses(grid, &mut [&mut sides]);
        for value in values.into_iter().filter(|&value| column.contains(value) && in_common(value)) {
            if let Some(class) = sides.class(value)
                && !known.contains_key(&vec![class])
            {
                return Err(Refused::ClaimDomain { error: DomainError::NotAccepted { column: feature } });
            }
        }
    }
    for (index, group) in domain.groups().iter().enumerate() {
        if group.columns.iter().all(|&column| grid.axis_of(column).is_none()) {
            continue;
        }
        let mut sides: Vec<Sides<'_>> =
            group.columns.iter().map(|&column| Sides::new(&models, column)).collect();
        let known = witnesses(grid, &mut sides.iter_mut().collect::<Vec<_>>());
        for tuple in tuples(&group.kind, group.columns.len()) {
            let classes: Option<Vec<usize>> =
                sides.iter_mut().zip(&tuple).map(|(own, &value)| own.class(value)).collect();
            let here = tuple.iter().all(|&value| in_common(value));
            if classes.is_some_and(|classes| here && !known.contains_key(&classes)) {
                return Err(Refused::ClaimDomain { error: DomainError::GroupNotAccepted { group: index } });
            }
        }
    }
    Ok(())
}

/// The classes of the witnesses of all cells of the axis of these columns.
fn witnesses(grid: &Grid, sides: &mut [&mut Sides<'_>]) -> BTreeMap<Vec<usize>, ()> {
    let Some(axis) = sides.iter().find_map(|own| grid.axis_of(own.feature)) else { return BTreeMap::new() };
    let mut cells = vec![secateur_model::CellId(0); grid.axes().len()];
    let mut known = BTreeMap::new();
    for cell in 0..grid.axes()[axis].len() {
        cells[axis] = secateur_model::CellId::new(cell);
        let row = grid.witness(&cells);
        let classes: Option<Vec<usize>> =
            sides.iter_mut().map(|own| own.class(row[own.feature.index()])).collect();
        known.extend(classes.map(|classes| (classes, ())));
    }
    known
}

/// The rows that the columns of a group can hold, computed from the definition of its kind.
fn tuples(kind: &GroupKind, width: usize) -> Vec<Vec<f64>> {
    match kind {
        GroupKind::Table(rows) => rows.clone(),
        GroupKind::OneHot { none } => {
            let mut rows = vec![vec![0.0; width]; width + usize::from(*none)];
            (0..width).for_each(|at| rows[at][at] = 1.0);
            rows
        }
        GroupKind::Ordered => {
            let mut rows = vec![vec![0.0; width]; width + 1];
            for first in 0..width {
                rows[first][first..].fill(1.0);
            }
            rows
        }
    }
}

/// The least value of a column, and the least one from each number on at which a split may change
/// its side.
fn behind(sides: &Sides<'_>, column: &Column, mixed: bool) -> Vec<f64> {
    let mut changes: Vec<f64> = vec![0.0, -f64::MAX, f64::NEG_INFINITY, -f64::from(f32::MAX)];
    changes.extend(column.min);
    for own in &sides.models {
        changes.extend(own.less.iter().chain(&own.less_or_equal));
        for split in &own.others {
            match split.test {
                Test::Equal { value } => changes.push(value),
                Test::Member { set, .. } => {
                    let Some(categories) = own.model.features().categories(split.feature) else { continue };
                    let values = set.iter().filter_map(|&code| categories.value(code));
                    changes.extend(values.flat_map(|value| [value - 1.0, value, value + 1.0]));
                    if let CategoryRule::Listed(values) = &categories.rule {
                        changes.extend(values);
                    }
                }
                _ => {}
            }
        }
        changes.extend(own.model.intake().zero_window.into_iter().flat_map(|window| [-window, window]));
    }
    let mut starts = Vec::with_capacity(changes.len() * 8);
    for change in changes {
        starts.extend([change, change.next_up(), change.next_down()]);
        // The numbers that a library rounds to the f32 `next` begin half way between `next` and the
        // f32 before it. Three neighbouring f32 values are tried, from the one at or below the
        // change on.
        let single = NumberType::F32;
        let mut next = single.floor(change);
        for _ in 0..3 {
            let half = single.next_down(next) / 2.0 + next / 2.0;
            starts.extend([next, half, half.next_up()]);
            next = single.next_up(next);
        }
    }
    let mut values: Vec<f64> = starts.into_iter().filter_map(|start| least(column, start, mixed)).collect();
    values.sort_by(f64::total_cmp);
    values.dedup();
    values
}

/// The least value of a column that is at least `start`.
fn least(column: &Column, start: f64, mixed: bool) -> Option<f64> {
    let mut value = column.min.map_or(start, |min| start.max(min));
    if column.whole {
        value = value.max(-f64::MAX).ceil();
    }
    if column.f32_only || mixed {
        let below = NumberType::F32.floor(value);
        value = if below < value { NumberType::F32.next_up(below) } else { below };
    }
    column.contains(value).then_some(value)
}

#[cfg(test)]
mod tests {
    use secateur_model::Domain;
    use secateur_testkit::{Shape, ensemble};

    use super::*;

    /// A grid that was made for fewer inputs than the claim covers lacks cells for some of them.
    #[test]
    fn a_grid_that_leaves_inputs_out_is_refused() {
        let mut rng = fastrand::Rng::with_seed(3);
        let mut refused = 0;
        for _ in 0..300 {
            let shape = Shape::random(&mut rng);
            let model = ensemble(&mut rng, &shape);
            let of = |column: Column| Domain::new(true, [(FeatureId::new(0), column)], Vec::new()).unwrap();
            let wide = of(Column { min: Some(-1e6), ..Column::default() });
            let narrow = of(Column { values: Some(vec![0.0]), ..Column::default() });
            let (Ok(wide), Ok(narrow)) = (model.within(&wide), model.within(&narrow)) else { continue };
            let grid = |model: &Ensemble| Grid::new(&[model, model]);
            let (Ok(whole), Ok(part)) = (grid(&wide), grid(&narrow)) else { continue };
            assert!(looks_at_all(&whole, [&wide, &wide]).is_ok());
            assert!(looks_at_all(&part, [&narrow, &narrow]).is_ok());
            refused += usize::from(looks_at_all(&part, [&wide, &wide]).is_err());
        }
        assert!(refused > 50, "{refused}");
    }
}
