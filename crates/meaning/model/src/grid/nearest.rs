//! Which values the cells of an axis hold, and which of them are nearest to those of a row.
//!
//! The values are those of a given row, before a library rounds them, and those of the domain alone.
//! There are finitely many of them, so the distance from a row to the values of a cell is that of some
//! value: it is reached.

use super::{Grid, Kind};
use crate::domain::Column;
use crate::ensemble::Features;
use crate::exact::Exact;
use crate::ids::{CellId, FeatureId};

/// The values that the cells of one axis hold.
#[derive(Clone, Debug)]
pub struct CellValues {
    columns: Vec<FeatureId>,
    cells: Cells,
}

#[derive(Clone, Debug)]
enum Cells {
    /// For each cell but the missing one, the least and the greatest value.
    Numbers { extents: Vec<(f64, f64)>, missing: bool },
    /// Each tuple with its cell, and how many cells there are.
    Tuples(Vec<(CellId, Vec<f64>)>, usize),
    /// One value for each cell, and the columns' own axis, which knows the cell of every other value.
    Categories(Vec<f64>),
}

/// How far a value of a column is from that of a row: the difference of two numbers, 1 for another
/// category, and `None` (infinitely far) where just one of the two is missing, or is infinite and the other
/// is not.
pub fn gap(features: &Features, row: &[f64], column: FeatureId, value: f64) -> Option<Exact> {
    let own = row[column.index()];
    if own == value || own.is_nan() && value.is_nan() {
        return Some(Exact::zero());
    }
    match (Exact::from_f64(own), Exact::from_f64(value)) {
        (Some(_), Some(_)) if features.categories(column).is_some() => Some(Exact::from(1)),
        (Some(own), Some(value)) => Some((&own - &value).abs()),
        _ => None,
    }
}

impl Grid {
    /// The values that the cells of an axis hold.
    pub fn cell_values(&self, axis: usize, features: &Features) -> CellValues {
        let own = &self.axes[axis];
        let columns = own.columns().to_vec();
        let domain = self.domain();
        let is_category = features.categories(own.feature).is_some();
        let cells = match &own.kind {
            Kind::Numeric { bounds, .. } if !is_category => {
                let plain = Column::default();
                let column = domain.column(own.feature).unwrap_or(&plain);
                let extent = |cell: usize| {
                    let low = cell.checked_sub(1).map(|below| bounds[below]);
                    let extent = column.extent(self.intake(), low, bounds.get(cell).copied());
                    extent.expect("every cell has a value of the domain")
                };
                Cells::Numbers { extents: (0..=bounds.len()).map(extent).collect(), missing: own.missing }
            }
            Kind::Tuples(tuples) => {
                let rows = match domain.group_of(own.feature) {
                    Some(group) => domain.groups()[group].rows(),
                    None => {
                        let column = domain.column(own.feature).cloned().unwrap_or_default();
                        let missing = column.missing.then_some(f64::NAN);
                        let values = column.values.into_iter().flatten();
                        values.chain(missing).map(|value| vec![value]).collect()
                    }
                };
                let cell = |row: Vec<f64>| {
                    let read: Option<Vec<f64>> = row.iter().map(|&value| self.intake().read(value)).collect();
                    Some((tuples.cell_of(&read?)?, row))
                };
                Cells::Tuples(rows.into_iter().filter_map(cell).collect(), tuples.witnesses.len())
            }
            Kind::Numeric { .. } | Kind::Categorical { .. } => {
                let cells = (0..own.len()).map(CellId::new);
                Cells::Categories(cells.map(|cell| own.witness(cell, self.intake())).collect())
            }
        };
        CellValues { columns, cells }
    }
}

impl CellValues {
    /// The columns of the axis.
    pub fn columns(&self) -> &[FeatureId] {
        &self.columns
    }

    /// The least and the greatest number of each cell but the missing one, where the column holds
    /// numbers, which are no categories, and no other column goes with it.
    pub fn extents(&self) -> Option<&[(f64, f64)]> {
        match &self.cells {
            Cells::Numbers { extents, .. } => Some(extents),
            _ => None,
        }
    }

    /// For each cell, values of the columns in it that are nearest to the row, and how far they are: the
    /// greatest of the distances of the columns, since the columns of a group change together. `None` is
    /// infinitely far. `home` is the cell of the row, if it is in the domain, and `measure` gives the
    /// distance of a value of a column, which may not fall as the gap to the row's value grows.
    pub fn nearest(
        &self,
        row: &[f64],
        home: Option<CellId>,
        measure: &dyn Fn(FeatureId, f64) -> Option<Exact>,
    ) -> Vec<(Vec<f64>, Option<Exact>)> {
        let first = self.columns[0];
        let own = row[first.index()];
        let single = |value: f64| (vec![value], measure(first, value));
        match &self.cells {
            Cells::Numbers { extents, missing } => {
                let clamped = |&(least, greatest): &(f64, f64)| {
                    single(if own.is_nan() { least } else { own.clamp(least, greatest) })
                };
                let missing = missing.then(|| single(f64::NAN));
                extents.iter().map(clamped).chain(missing).collect()
            }
            Cells::Categories(values) => {
                let of_cell = |(cell, &value): (usize, &f64)| {
                    single(if home == Some(CellId::new(cell)) { own } else { value })
                };
                values.iter().enumerate().map(of_cell).collect()
            }
            Cells::Tuples(tuples, count) => {
                let mut nearest: Vec<Option<(Vec<f64>, Option<Exact>)>> = vec![None; *count];
                for (cell, tuple) in tuples {
                    let far: Option<Vec<Exact>> = self
                        .columns
                        .iter()
                        .zip(tuple)
                        .map(|(&column, &value)| measure(column, value))
                        .collect();
                    let far = far.map(|far| far.into_iter().max().unwrap_or_else(Exact::zero));
                    let slot = &mut nearest[cell.index()];
                    let better = match slot {
                        None => true,
                        Some((_, Some(known))) => far.as_ref().is_some_and(|far| far < known),
                        Some((_, None)) => far.is_some(),
                    };
                    if better {
                        *slot = Some((tuple.clone(), far));
                    }
                }
                nearest.into_iter().map(|slot| slot.expect("every cell has a tuple")).collect()
            }
        }
    }
}
