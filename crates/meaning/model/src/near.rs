//! Inputs that are nearer to a row than another row is.
//!
//! The distance of an input is a sum over the columns: the weight of each column times the gap between the
//! input's value and the row's, or (where changes are counted) the weight of each column that differs. The
//! columns of a group of the domain change together and add the greatest of their distances. An input that
//! misses a value that the row has, or has one that the row misses, is infinitely far.
//!
//! Everything here is exact: a number of a row is a multiple of a power of two, and so is a weight.

use crate::domain::Domain;
use crate::ensemble::{Ensemble, Features};
use crate::exact::Exact;
use crate::grid::{Grid, gap};
use crate::ids::FeatureId;

/// The inputs that are nearer to a row than another row is.
#[derive(Clone, Debug)]
pub struct Near {
    /// The row, with a value for each column.
    pub row: Vec<f64>,
    /// The other row.
    pub than: Vec<f64>,
    /// The weight of each column.
    pub weights: Vec<f64>,
    /// Changes are counted, however large they are.
    pub counted: bool,
}

/// How far the cells of a grid are from the row, in whole units of two to the power [`Costs::exponent`].
#[derive(Clone, Debug)]
pub struct Costs {
    /// For each cell of each axis the distance of its nearest input, but at most [`Costs::least`].
    pub cells: Vec<Vec<Exact>>,
    /// The distance of the other row: nearer inputs are meant.
    pub least: Exact,
    /// All of these are multiples of two to this power.
    pub exponent: i64,
}

impl PartialEq for Near {
    /// A missing value equals a missing value.
    fn eq(&self, other: &Self) -> bool {
        let same = |(a, b): (&f64, &f64)| a == b || a.is_nan() && b.is_nan();
        let alike = |a: &[f64], b: &[f64]| a.len() == b.len() && a.iter().zip(b).all(same);
        let rows = alike(&self.row, &other.row) && alike(&self.than, &other.than);
        rows && alike(&self.weights, &other.weights) && self.counted == other.counted
    }
}

impl Near {
    /// Are there as many values as columns, and are the weights finite and not negative?
    pub fn fits(&self, columns: usize) -> bool {
        let lengths = [&self.row, &self.than, &self.weights].map(Vec::len);
        lengths == [columns; 3] && self.weights.iter().all(|weight| weight.is_finite() && *weight >= 0.0)
    }

    /// How far a value of a column is from the row's; `None` is infinitely far.
    pub fn of_value(&self, features: &Features, column: FeatureId, value: f64) -> Option<Exact> {
        let gap = gap(features, &self.row, column, value)?;
        let weight = Exact::finite(self.weights[column.index()]);
        Some(if self.counted && !gap.is_zero() { weight } else { &gap * &weight })
    }

    /// How far an input is from the row; `None` is infinitely far.
    pub fn of_input(&self, features: &Features, domain: &Domain, input: &[f64]) -> Option<Exact> {
        let mut total = Exact::zero();
        for column in (0..input.len()).map(FeatureId::new) {
            if domain.group_of(column).is_none() {
                total = &total + &self.of_value(features, column, input[column.index()])?;
            }
        }
        for group in domain.groups() {
            let own =
                group.columns.iter().map(|&column| self.of_value(features, column, input[column.index()]));
            let own: Vec<Exact> = own.collect::<Option<_>>()?;
            total = &total + &own.into_iter().max().unwrap_or_else(Exact::zero);
        }
        Some(total)
    }

    /// How far the cells of a model's grid are. `None` unless both rows are inputs of the model and of its
    /// domain, the other row is finitely far, and no axis has a cell of missing values: the domain has to
    /// say whether a column that some split reads is missing.
    pub fn costs(&self, model: &Ensemble, grid: &Grid) -> Option<Costs> {
        let features = model.features();
        let inputs = self.fits(features.len()) && model.accepts(&self.row) && model.accepts(&self.than);
        if !inputs || grid.axes().iter().any(|axis| axis.missing_cell().is_some()) {
            return None;
        }
        let home = grid.cells_of(&self.row)?;
        let least = self.of_input(features, grid.domain(), &self.than)?;
        let measure = |column, value| self.of_value(features, column, value);
        let capped = |far: Option<Exact>| far.filter(|far| *far < least).unwrap_or_else(|| least.clone());
        let of_axis = |(axis, &home)| -> Vec<Exact> {
            let nearest = grid.cell_values(axis, features).nearest(&self.row, Some(home), &measure);
            nearest.into_iter().map(|(_, far)| capped(far)).collect()
        };
        let cells: Vec<Vec<Exact>> = home.iter().enumerate().map(of_axis).collect();
        let all = cells.iter().flatten().chain([&least]);
        let exponent = all.filter(|far| !far.is_zero()).map(Exact::exponent).min().unwrap_or(0);
        Some(Costs { cells, least, exponent })
    }
}

impl Costs {
    /// A distance in whole units.
    pub fn units(&self, far: &Exact) -> num_bigint::BigInt {
        far.scaled(self.exponent).expect("the exponent is the smallest of all")
    }
}
