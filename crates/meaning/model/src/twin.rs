//! A model read twice: what does changing some columns do?
//!
//! A question such as "how far can `sex` alone move the score?" is about two rows of one model that
//! differ in some columns only, the *moved* ones. [`Ensemble::twins`] turns it into a question about
//! two models over the same columns, as every other part of the project knows it: each moved column
//! gets a copy, which comes after all other columns, and the *twin* reads the copies where the model
//! reads the moved columns. So one row of the pair stands for two rows of the model
//! ([`twin_rows`]): they share all columns but the moved ones.
//!
//! The domain holds for both rows. Limits of a moved column are those of its copy, too; a group of
//! the domain is moved as a whole or not at all, because a row with a part of a one-hot group does
//! not exist; and a condition on the score of another model is demanded of both rows.
//!
//! With [`Pairing::Free`] the two rows hold any two values in a moved column, equal ones and missing
//! ones too. With [`Pairing::Steps`] there is one moved column, and its two values are those of
//! neighbouring cells of the model's own grid, the lower one first: what holds for all neighbours,
//! and is passed on from one to the next, holds for all ascending pairs.

use std::sync::Arc;

use thiserror::Error;

use crate::domain::{Column, Domain, DomainError, Group, GroupKind};
use crate::ensemble::{Ensemble, Features};
use crate::feature::Intake;
use crate::grid::{Grid, GridError};
use crate::ids::{CellId, FeatureId};

/// Which two values a moved column holds in the two rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pairing {
    /// Any two values.
    Free,
    /// One value of each of two neighbouring cells, the lower one first; missing values are not
    /// among them.
    Steps,
}

/// Why a model has no twin for these columns.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
#[expect(missing_docs, reason = "each message says what its fields are")]
pub enum TwinError {
    #[error("no column is named that could change")]
    NoColumn,
    #[error("the columns that change are not in ascending order, each once")]
    NotAscending,
    #[error("column {column} does not exist: the model has {columns} columns, counted from 0")]
    UnknownColumn { column: FeatureId, columns: usize },
    #[error(
        "column {column} is in group {number} of the domain, whose columns change together or not at all",
        number = group + 1
    )]
    PartOfGroup { column: FeatureId, group: usize },
    #[error("an order is asked for, and {columns} columns change; only a single one has an order")]
    SeveralColumns { columns: usize },
    #[error("column {column} holds categories, which have no order")]
    NoOrder { column: FeatureId },
    #[error(
        "the domain asks for the score of another model: that a score never falls is passed on from one value to the next, \
         and a value between two inputs of this domain need not be in it"
    )]
    StepsWhere,
    #[error("the model would have more columns than can be counted")]
    TooManyColumns,
    #[error(transparent)]
    Domain(#[from] DomainError),
    #[error(transparent)]
    Grid(#[from] GridError),
}

/// The two rows of the model for which one row of a pair of twins stands.
pub fn twin_rows(row: &[f64], moved: &[FeatureId]) -> [Vec<f64>; 2] {
    let width = row.len() - moved.len();
    let first = row[..width].to_vec();
    let mut second = first.clone();
    for (&column, &value) in moved.iter().zip(&row[width..]) {
        second[column.index()] = value;
    }
    [first, second]
}

impl Ensemble {
    /// This model and its twin, over this model's columns and a copy of each moved one. `moved`
    /// ascends.
    pub fn twins(&self, moved: &[FeatureId], pairing: Pairing) -> Result<[Self; 2], TwinError> {
        let width = self.features.len();
        let first = *moved.first().ok_or(TwinError::NoColumn)?;
        if !moved.windows(2).all(|pair| pair[0] < pair[1]) {
            return Err(TwinError::NotAscending);
        }
        if let Some(&column) = moved.iter().find(|column| column.index() >= width) {
            return Err(TwinError::UnknownColumn { column, columns: width });
        }
        for (index, group) in self.domain.groups().iter().enumerate() {
            let inside = |column: &&FeatureId| group.columns.contains(column);
            let held = moved.iter().filter(inside).count();
            let whole = held == 0 || held == group.columns.len() && pairing == Pairing::Free;
            if !whole {
                let column = *moved.iter().find(inside).expect("some moved column is in the group");
                return Err(TwinError::PartOfGroup { column, group: index });
            }
        }
        let domain = match pairing {
            Pairing::Free => copied(&self.domain, width, moved)?,
            Pairing::Steps => stepped(self, first, moved.len())?,
        };
        let features = self.features.with_copies(moved).ok_or(TwinError::TooManyColumns)?;
        let intake = Intake { missing: self.missing_accepted, ..self.intake };
        let model = Self { features, intake, domain: Arc::new(Domain::everything()), ..self.clone() };
        let twin = model.reading_copies(width, moved);
        let within = |model: Self| model.within(&domain).map(|model| model.into_owned());
        Ok([within(model)?, within(twin)?])
    }

    /// The same model, reading the copies of the moved columns where it read these.
    fn reading_copies(&self, width: usize, moved: &[FeatureId]) -> Self {
        let copy = |column| copy_of(column, width, moved);
        Self { trees: self.trees.iter().map(|tree| tree.with_features(copy)).collect(), ..self.clone() }
    }

    /// This model and its twin, as models whose scores a domain asks for: neither reads the other's
    /// columns.
    pub(crate) fn scoring_twins(&self, moved: &[FeatureId]) -> Option<[Self; 2]> {
        let (width, features) = (self.features.len(), self.features.with_copies(moved)?);
        let model = Self { features, ..self.clone() };
        let twin = model.reading_copies(width, moved);
        Some([model, twin])
    }
}

/// The copy of a moved column; any other column is its own.
fn copy_of(column: FeatureId, width: usize, moved: &[FeatureId]) -> FeatureId {
    moved.binary_search(&column).map_or(column, |at| FeatureId::new(width + at))
}

/// The domain of both rows, where the moved columns are free of each other.
fn copied(domain: &Domain, width: usize, moved: &[FeatureId]) -> Result<Domain, TwinError> {
    let copy = |column| copy_of(column, width, moved);
    let is_moved = |column: &FeatureId| moved.binary_search(column).is_ok();
    let own: Vec<(FeatureId, Column)> = domain.columns().map(|(at, own)| (at, own.clone())).collect();
    let copies = own.clone().into_iter().filter(|(at, _)| is_moved(at)).map(|(at, own)| (copy(at), own));
    let groups = domain.groups().iter().cloned();
    let moved_groups = groups.clone().filter(|group| group.columns.iter().any(is_moved));
    let copied_groups =
        moved_groups.map(|group| Group { columns: group.columns.into_iter().map(copy).collect(), ..group });
    let product =
        Domain::new(domain.missing(), own.into_iter().chain(copies), groups.chain(copied_groups).collect());
    let mut wheres = Vec::with_capacity(2 * domain.wheres().len());
    for own in domain.wheres() {
        wheres.extend(own.twins(moved)?);
    }
    Ok(product?.with_wheres(wheres))
}

/// The domain of both rows, where the one moved column goes from a cell to the next.
fn stepped(model: &Ensemble, column: FeatureId, columns: usize) -> Result<Domain, TwinError> {
    if columns > 1 {
        return Err(TwinError::SeveralColumns { columns });
    }
    if model.features.categories(column).is_some() {
        return Err(TwinError::NoOrder { column });
    }
    let domain = &*model.domain;
    if !domain.wheres().is_empty() {
        return Err(TwinError::StepsWhere);
    }
    let width = model.features.len();
    let pairs: Vec<Vec<f64>> = match &ascending_values(model, column)?[..] {
        // No split reads the column, so any two values will do.
        [] => return copied(domain, width, &[column]),
        // Splits tell nothing but missing values apart, and these are not among the pairs.
        &[only] => vec![vec![only, only]],
        values => values.windows(2).map(<[f64]>::to_vec).collect(),
    };
    let others = domain.columns().filter(|(own, _)| *own != column);
    let others: Vec<(FeatureId, Column)> = others.map(|(own, limits)| (own, limits.clone())).collect();
    let pair = Group { columns: vec![column, FeatureId::new(width)], kind: GroupKind::Table(pairs) };
    let groups = domain.groups().iter().cloned().chain([pair]).collect();
    Ok(Domain::new(domain.missing(), others, groups)?)
}

/// One value of each cell of a numeric column of the model's own grid, ascending; none if no split
/// reads the column.
fn ascending_values(model: &Ensemble, column: FeatureId) -> Result<Vec<f64>, TwinError> {
    let grid = Grid::new(&[model])?;
    let Some(axis) = grid.axis_of(column).map(|axis| &grid.axes()[axis]) else { return Ok(Vec::new()) };
    if !axis.is_numeric() {
        return Err(TwinError::NoOrder { column });
    }
    let cells = (0..axis.len()).map(CellId::new).filter(|&cell| axis.missing_cell() != Some(cell));
    let values: Vec<f64> = cells.map(|cell| axis.witness(cell, grid.intake())).collect();
    // The grid says so; nothing may rest on it unseen.
    let read = |&value: &f64| model.read(column, value);
    let ascends =
        values.windows(2).all(|pair| read(&pair[0]).zip(read(&pair[1])).is_some_and(|(a, b)| a < b));
    if ascends { Ok(values) } else { Err(TwinError::NoOrder { column }) }
}

impl Features {
    /// These columns, and a copy of each moved one after all of them; `None` if they are too many.
    fn with_copies(&self, moved: &[FeatureId]) -> Option<Self> {
        let count = self.count.checked_add(u32::try_from(moved.len()).ok()?)?;
        let mut features = Self { count, ..self.clone() };
        for (at, &column) in moved.iter().enumerate() {
            if self.has_names() {
                features.names.push(format!("{} (changed)", self.name(column)));
            }
            if let Some(categories) = self.categories(column) {
                features.categories.insert(FeatureId::new(self.len() + at), categories.clone());
            }
        }
        Some(features)
    }
}
