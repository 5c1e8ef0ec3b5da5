//! The input space as a finite grid of cells.
//!
//! A split uses one feature, and its answer changes only at a threshold. For each feature, finitely
//! many cells therefore distinguish all inputs that any split distinguishes:
//! - numeric: intervals `(b, b']` between boundaries. A boundary is the largest input that a split
//!   still sends to its lower side. It is an input itself, so no cell is empty, even if there is no
//!   float between two thresholds, if a threshold is not of the input type, or if the library reads
//!   a whole window of values as zero;
//! - categorical: categories that no split distinguishes share a cell. So do all values that are in
//!   no set, and all values that are not categories if those count as missing and there is no cell
//!   of missing values. If models disagree on what a category is (one truncates, one wants whole
//!   numbers, one compares with thresholds), the axis is numeric, with boundaries around the values
//!   of each category;
//! - missing values, if they are accepted, are the last cell.
//!
//! If the models' inputs are limited by a [`Domain`], cells hold only inputs of the domain:
//! - a numeric column with limits loses the cells without an allowed value (and their boundaries,
//!   since no input of the domain crosses them);
//! - a group of columns is one axis. Its cells are classes of allowed tuples that no split of any
//!   of the models distinguishes, in the order of the first tuple of each. A categorical column
//!   with a list of values is also such an axis, with one column; a missing value may be among its
//!   tuples.
//!
//! If the domain has conditions on scores of other models ([`Where`](crate::Where)), the splits of
//! those models make boundaries too. All inputs of a cell then have the same score, and a cell is
//! either completely in the domain or completely outside ([`Grid::scores_hold`]). Cells outside
//! stay in the grid.
//!
//! Every cell has a witness: an input value, or a tuple, that lies in it and in the domain, except
//! that conditions on scores are not considered.
//!
//! Invariants: boundaries ascend strictly and the last is below the largest input; only features
//! that some split uses have an axis, or are in a group with one that has;
//! `cell_of(witness(cell)) == cell`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use thiserror::Error;

use crate::accepted::Accepted;
use crate::domain::{Column, Domain, DomainError};
use crate::ensemble::Ensemble;
use crate::feature::{Categories, CategoryRule, Intake, NumberType};
use crate::ids::{CellId, FeatureId};
use crate::tree::{Split, Test};

mod axis_maker;
mod cell_set;
mod nearest;

use axis_maker::{AxisMaker, short_value};
pub use cell_set::CellSet;
pub use nearest::{CellValues, gap};

/// Why models have no common grid.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
#[expect(missing_docs, reason = "each message says what its fields are")]
pub enum GridError {
    #[error("the models have {first} and {second} features")]
    FeatureCount { first: usize, second: usize },
    #[error(
        "the steps of the pipelines before their last ones are not the same, so the same input does not reach both models; \
         to compare the models alone, save and give the last steps"
    )]
    Steps,
    #[error("the domain does not fit both models: {0}")]
    Domain(#[from] DomainError),
}

/// The cells of every feature that some split uses.
#[derive(Clone, Debug)]
pub struct Grid {
    accepted: Accepted,
    feature_count: usize,
    axes: Vec<Axis>,
    by_feature: BTreeMap<FeatureId, usize>,
    /// Columns of matched labels that no split uses: they too accept only their labels.
    labels_only: BTreeMap<FeatureId, Categories>,
    /// Columns that are never missing in an input that all the libraries accept.
    never_missing: BTreeSet<FeatureId>,
    /// The inputs that claims about the models cover.
    domain: Arc<Domain>,
    /// Values of columns without an axis whose value the domain does not allow to be zero.
    elsewhere: Vec<(FeatureId, f64)>,
}

/// The cells of one feature, or of a group of features.
#[derive(Clone, Debug)]
pub struct Axis {
    feature: FeatureId,
    kind: Kind,
    missing: bool,
}

#[derive(Clone, Debug)]
enum Kind {
    /// Cell i holds the values in `(bounds[i-1], bounds[i]]`; the last has no upper boundary. A
    /// column with limits has a stored witness for each cell.
    Numeric { bounds: Vec<f64>, witnesses: Option<Vec<f64>> },
    /// Classes of tuples.
    Tuples(Tuples),
    Categorical {
        categories: Categories,
        /// The cell of each category that some set contains; all others are in cell `rest`.
        cells: BTreeMap<u32, u32>,
        count: u32,
        rest: Option<u32>,
        /// The cell of values that are not categories, if they count as missing and there is no
        /// missing cell.
        unseen: Option<u32>,
        witnesses: Vec<f64>,
    },
}

/// The cells of a group of columns.
#[derive(Clone, Debug)]
struct Tuples {
    columns: Vec<FeatureId>,
    /// Each column's own cells; `None` for a column that no split uses.
    parts: Vec<Option<Axis>>,
    /// The group's cell of the tuples that lie in these cells of the columns, in the order of the
    /// columns.
    cells: BTreeMap<Vec<u32>, u32>,
    /// The first tuple of each cell.
    witnesses: Vec<Vec<f64>>,
}

impl Grid {
    /// The inputs that one or more models with the same columns all accept, and that the models
    /// whose scores their domain refers to accept as well.
    pub fn common_intake(ensembles: &[&Ensemble]) -> Result<Accepted, GridError> {
        let first = ensembles[0];
        let mut intake = *first.intake();
        let mut mixed = false;
        for other in &ensembles[1..] {
            if other.features().len() != first.features().len() {
                return Err(GridError::FeatureCount {
                    first: first.features().len(),
                    second: other.features().len(),
                });
            }
            if other.features().steps() != first.features().steps() {
                return Err(GridError::Steps);
            }
            mixed |= other.intake().number != first.intake().number;
            narrow(&mut intake, other.intake());
        }
        for scorer in ensembles.iter().flat_map(|model| model.domain().scorers()) {
            if scorer.features().steps() != first.features().steps() {
                return Err(GridError::Steps);
            }
            mixed |= scorer.intake().number != first.intake().number;
            narrow(&mut intake, scorer.intake());
        }
        Ok(Accepted { values: intake, mixed })
    }

    /// The common grid of one or more models with the same columns, over the inputs that all of
    /// them accept and that their claims cover.
    pub fn new(ensembles: &[&Ensemble]) -> Result<Self, GridError> {
        let accepted = Self::common_intake(ensembles)?;
        let intake = accepted.values;
        let domain = common_domain(ensembles, accepted.mixed)?;
        let first = ensembles[0];
        let mut makers: BTreeMap<FeatureId, AxisMaker> = BTreeMap::new();
        for ensemble in ensembles.iter().copied().chain(domain.scorers()) {
            for split in ensemble.trees().iter().flat_map(|tree| tree.splits()) {
                makers.entry(split.feature).or_default().add(ensemble, &intake, split);
            }
        }
        // Columns in which some model's library refuses missing values, whether or not a split uses
        // them.
        let never_missing: BTreeSet<FeatureId> = ensembles
            .iter()
            .flat_map(|model| model.features().categories.iter())
            .filter(|(_, categories)| !categories.accepts_missing())
            .map(|(&feature, _)| feature)
            .collect();
        let mut axes: Vec<Axis> = Vec::with_capacity(makers.len());
        let mut parts: BTreeMap<FeatureId, Axis> = BTreeMap::new();
        for (feature, maker) in makers {
            let missing =
                intake.missing && domain.may_be_missing(feature) && !never_missing.contains(&feature);
            let axis = maker.finish(feature, &Intake { missing, ..intake });
            if domain.group_of(feature).is_some() {
                parts.insert(feature, axis);
                continue;
            }
            axes.push(match domain.column(feature) {
                Some(column) => {
                    axis.limited(column, &intake).ok_or(DomainError::NotAccepted { column: feature })?
                }
                None => axis,
            });
        }
        let mut elsewhere: Vec<(FeatureId, f64)> = Vec::new();
        for (index, group) in domain.groups().iter().enumerate() {
            let own: Vec<Option<Axis>> = group.columns.iter().map(|column| parts.remove(column)).collect();
            let looked_at = own.iter().any(Option::is_some);
            let refused = |row: &Vec<f64>| {
                group
                    .columns
                    .iter()
                    .zip(row)
                    .any(|(column, value)| value.is_nan() && never_missing.contains(column))
            };
            let rows = group.rows().into_iter().filter(|row| !refused(row)).collect();
            let tuples = Tuples::new(group.columns.clone(), own, rows, &intake)
                .ok_or(DomainError::GroupNotAccepted { group: index })?;
            if looked_at {
                axes.push(Axis {
                    feature: tuples.first_column(),
                    kind: Kind::Tuples(tuples),
                    missing: false,
                });
            } else {
                elsewhere.extend(tuples.columns.iter().copied().zip(tuples.witnesses[0].iter().copied()));
            }
        }
        axes.sort_by_key(|axis| axis.feature);
        let mut by_feature = BTreeMap::new();
        for (index, axis) in axes.iter().enumerate() {
            by_feature.extend(axis.columns().iter().map(|&column| (column, index)));
        }
        for (feature, column) in domain.columns().filter(|(feature, _)| !by_feature.contains_key(feature)) {
            let accepted = |&value: &f64| ensembles.iter().all(|model| model.read(feature, value).is_some());
            let value = match &column.values {
                Some(values) => values.iter().copied().find(accepted),
                None => column.pick(&intake, None, None).filter(accepted),
            };
            elsewhere.push((feature, value.ok_or(DomainError::NotAccepted { column: feature })?));
        }
        let joined = |categories: &Categories| matches!(categories.rule, CategoryRule::Joined { .. });
        let labels_only: BTreeMap<FeatureId, Categories> = first
            .features()
            .categories
            .iter()
            .filter(|(_, categories)| joined(categories))
            .map(|(&feature, categories)| (feature, categories.clone()))
            .collect();
        // Scoring models read codes, but the codes of joined labels are not theirs.
        let limited = |feature: &FeatureId| {
            !domain.wheres().is_empty()
                || domain.group_of(*feature).is_some()
                || domain.column(*feature).is_some_and(|column| column.values.is_some())
        };
        if let Some(&column) = labels_only.keys().find(|feature| limited(feature)) {
            return Err(DomainError::JoinedLabels { column }.into());
        }
        let feature_count = first.features().len();
        Ok(Self { accepted, feature_count, axes, by_feature, labels_only, never_missing, domain, elsewhere })
    }

    /// The inputs that all the models accept.
    pub fn intake(&self) -> &Intake {
        &self.accepted.values
    }

    /// The same, with whether the models read different number types.
    pub fn accepted(&self) -> &Accepted {
        &self.accepted
    }

    /// One axis for each feature that some split uses, in the order of the features.
    pub fn axes(&self) -> &[Axis] {
        &self.axes
    }

    /// The position of a feature's axis; `None` if no split uses it.
    pub fn axis_of(&self, feature: FeatureId) -> Option<usize> {
        self.by_feature.get(&feature).copied()
    }

    /// The decimal logarithm of the number of cells of the whole space.
    pub fn log10_cells(&self) -> f64 {
        self.axes.iter().map(|axis| (axis.len() as f64).log10()).sum()
    }

    /// The number of distinct boundaries that splits make: thresholds, and distinctions of
    /// categories.
    pub fn boundary_count(&self) -> usize {
        self.axes.iter().map(|axis| axis.len() - 1 - usize::from(axis.missing)).sum()
    }

    /// A full input row in the given cells (one for each axis). Unused features are zero, or a
    /// label if they accept nothing else.
    pub fn witness(&self, cells: &[CellId]) -> Vec<f64> {
        let mut row = vec![0.0; self.feature_count];
        for (feature, categories) in &self.labels_only {
            row[feature.index()] = categories.value(0).unwrap_or(f64::NAN);
        }
        for &(feature, value) in &self.elsewhere {
            row[feature.index()] = value;
        }
        for (axis, &cell) in self.axes.iter().zip(cells) {
            axis.for_each_value(cell, self.intake(), |feature, value| row[feature.index()] = value);
        }
        row
    }

    /// The inputs that claims about the models cover.
    pub fn domain(&self) -> &Domain {
        &self.domain
    }

    /// Do these cells satisfy the domain's conditions on scores of other models? True if it has
    /// none.
    pub fn scores_hold(&self, cells: &[CellId]) -> bool {
        self.domain.wheres().is_empty() || self.domain.scores_hold(&self.witness(cells))
    }

    /// The cells of an input row, or `None` if it is outside the domain.
    pub fn cells_of(&self, row: &[f64]) -> Option<Vec<CellId>> {
        let is_label = |(feature, categories): (&FeatureId, &Categories)| {
            let value = row[feature.index()];
            value.is_nan() || categories.accepts(value)
        };
        if self.never_missing.iter().any(|feature| row[feature.index()].is_nan()) {
            return None;
        }
        if !self.labels_only.iter().all(is_label) || !self.domain.contains(row) {
            return None;
        }
        let cell = |axis: &Axis| match &axis.kind {
            Kind::Tuples(tuples) => {
                let values = tuples.columns.iter().map(|column| self.intake().read(row[column.index()]));
                tuples.cell_of(&values.collect::<Option<Vec<f64>>>()?)
            }
            _ => axis.cell_of(self.intake().read(row[axis.feature.index()])?),
        };
        self.axes.iter().map(cell).collect()
    }
}

impl Axis {
    /// The feature; the first one if the axis has several.
    pub fn feature(&self) -> FeatureId {
        self.feature
    }

    /// All features of the axis; one, unless it is a group.
    pub fn columns(&self) -> &[FeatureId] {
        match &self.kind {
            Kind::Tuples(tuples) => &tuples.columns,
            _ => std::slice::from_ref(&self.feature),
        }
    }

    /// How many cells there are.
    pub fn len(&self) -> usize {
        let values = match &self.kind {
            Kind::Numeric { bounds, .. } => bounds.len() + 1,
            Kind::Tuples(tuples) => tuples.witnesses.len(),
            Kind::Categorical { count, .. } => *count as usize,
        };
        values + usize::from(self.missing)
    }

    /// There is always at least one cell.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Are the cells (except the missing one) in the order of the values?
    pub fn is_numeric(&self) -> bool {
        matches!(self.kind, Kind::Numeric { .. })
    }

    /// The cell of missing values.
    pub fn missing_cell(&self) -> Option<CellId> {
        self.missing.then(|| CellId::new(self.len() - 1))
    }

    /// The boundaries of a numeric axis: cell i holds the values in `(bounds[i-1], bounds[i]]`.
    pub fn bounds(&self) -> Option<&[f64]> {
        match &self.kind {
            Kind::Numeric { bounds, .. } => Some(bounds),
            Kind::Categorical { .. } | Kind::Tuples(_) => None,
        }
    }

    /// The cell of an input value as the domain reads it; `None` for a missing value if none are
    /// accepted, and for a value that the library does not accept as a category. Only for a single
    /// column.
    pub fn cell_of(&self, value: f64) -> Option<CellId> {
        if let Kind::Tuples(tuples) = &self.kind {
            return tuples.cell_of(&[value]);
        }
        if value.is_nan() {
            return self.missing_cell();
        }
        match &self.kind {
            Kind::Tuples(_) => unreachable!("looked at above"),
            Kind::Numeric { bounds, .. } => Some(CellId::new(bounds.partition_point(|&bound| bound < value))),
            Kind::Categorical { categories, .. } if !categories.accepts(value) => None,
            Kind::Categorical { categories, cells, rest, unseen, .. } => match categories.code(value) {
                None if categories.unseen_is_missing => self.missing_cell().or(unseen.map(CellId)),
                code => code.and_then(|code| cells.get(&code).copied()).or(*rest).map(CellId),
            },
        }
    }

    /// Calls `each` with a value of the domain that lies in a cell, for each column.
    pub fn for_each_value(&self, cell: CellId, intake: &Intake, mut each: impl FnMut(FeatureId, f64)) {
        match &self.kind {
            Kind::Tuples(tuples) => {
                let values = tuples.columns.iter().zip(&tuples.witnesses[cell.index()]);
                values.for_each(|(&column, &value)| each(column, value));
            }
            _ => each(self.feature, self.witness(cell, intake)),
        }
    }

    /// A value of the domain that lies in a cell, short to write if there is a choice. For a group,
    /// the value of its first column.
    pub fn witness(&self, cell: CellId, intake: &Intake) -> f64 {
        if self.missing_cell() == Some(cell) {
            return f64::NAN;
        }
        match &self.kind {
            Kind::Tuples(tuples) => tuples.witnesses[cell.index()][0],
            Kind::Numeric { witnesses: Some(witnesses), .. } => witnesses[cell.index()],
            Kind::Numeric { bounds, witnesses: None } => {
                let low = cell.index().checked_sub(1).map(|below| bounds[below]);
                short_value(low, bounds.get(cell.index()).copied(), intake)
            }
            Kind::Categorical { witnesses, .. } => witnesses[cell.index()],
        }
    }

    /// A number that every split on this feature sends to the same side as all values of the cell.
    /// The cell must not be the missing one. Numbers ascend along a numeric axis.
    pub fn representative(&self, cell: CellId, feature: FeatureId, intake: &Intake) -> f64 {
        let index = cell.index();
        match &self.kind {
            Kind::Numeric { witnesses: Some(witnesses), .. } => witnesses[index],
            // The upper end decides for the whole cell; the last cell ends with the largest input.
            Kind::Numeric { bounds, witnesses: None } => bounds.get(index).copied().unwrap_or(intake.max()),
            Kind::Categorical { witnesses, .. } => witnesses[index],
            Kind::Tuples(tuples) => {
                let at = tuples.columns.iter().position(|&column| column == feature);
                tuples.witnesses[index][at.expect("the feature is one of the axis")]
            }
        }
    }

    /// The cells whose values a split of `ensemble` sends left.
    pub fn left_cells(&self, ensemble: &Ensemble, split: Split<'_>, intake: &Intake) -> CellSet {
        let read = |index: usize| {
            let value = self.representative(CellId::new(index), split.feature, intake);
            // A tuple may contain a missing value.
            let read = if value.is_nan() { Some(value) } else { ensemble.intake().read(value) };
            read.expect("a cell's values are in every model's domain")
        };
        let numbers = self.len() - usize::from(self.missing);
        let missing = if self.missing && split.missing_left { numbers..numbers + 1 } else { 0..0 };
        // Every model reads larger values as values that are not smaller, so a comparison holds for
        // a range of cells.
        let first = |reached: &dyn Fn(f64) -> bool| partition_point(numbers, |index| !reached(read(index)));
        let ranges = match split.test {
            _ if !self.is_numeric() => None,
            Test::Less { threshold } => Some(vec![(0, first(&|value| value >= threshold))]),
            Test::LessOrEqual { threshold } => Some(vec![(0, first(&|value| value > threshold))]),
            Test::LessOrEqualButZero { threshold, zero_left } => {
                let below = first(&|value| value > threshold);
                let (zero, behind) = (first(&|value| value >= 0.0), first(&|value| value > 0.0));
                let at_zero = if zero_left { (zero, behind) } else { (zero, zero) };
                Some(vec![(0, below.min(zero)), at_zero, (behind.min(below), below)])
            }
            Test::Equal { value: other } => {
                Some(vec![(first(&|value| value >= other), first(&|value| value > other))])
            }
            Test::Member { .. } => None,
        };
        match ranges {
            Some(mut ranges) => {
                ranges.push((missing.start, missing.end));
                CellSet::from_ranges(self.len(), &ranges)
            }
            None => CellSet::from_fn(self.len(), |cell| {
                if self.missing_cell() == Some(cell) {
                    return split.missing_left;
                }
                ensemble.goes_left(split, read(cell.index()))
            }),
        }
    }
}

impl Axis {
    /// The axis of a column with these limits: cells without an allowed value are removed. `None`
    /// if none is left.
    fn limited(self, column: &Column, intake: &Intake) -> Option<Self> {
        let Column { min, max, whole, f32_only, values, .. } = column;
        if values.is_none() && min.is_none() && max.is_none() && !whole && !f32_only {
            return Some(self);
        }
        match (&self.kind, values) {
            (Kind::Numeric { bounds, .. }, _) => {
                let (mut kept, mut witnesses) = (Vec::new(), Vec::new());
                for index in 0..=bounds.len() {
                    let low = index.checked_sub(1).map(|below| bounds[below]);
                    let high = bounds.get(index).copied();
                    if let Some(value) = column.pick(intake, low, high) {
                        witnesses.push(value);
                        kept.push(high);
                    }
                }
                // A cell includes the removed cells below it; the last one has no upper boundary.
                kept.pop()?;
                let bounds = kept.into_iter().flatten().collect();
                Some(Self { kind: Kind::Numeric { bounds, witnesses: Some(witnesses) }, ..self })
            }
            (_, Some(values)) => {
                let missing = self.missing.then_some(f64::NAN);
                let rows = values.iter().copied().chain(missing).map(|value| vec![value]).collect();
                let feature = self.feature;
                let tuples = Tuples::new(vec![feature], vec![Some(self)], rows, intake)?;
                Some(Self { feature, kind: Kind::Tuples(tuples), missing: false })
            }
            _ => Some(self),
        }
    }
}

impl Tuples {
    /// The classes of these tuples; `None` if the models accept none of them.
    fn new(
        columns: Vec<FeatureId>,
        parts: Vec<Option<Axis>>,
        rows: Vec<Vec<f64>>,
        intake: &Intake,
    ) -> Option<Self> {
        let mut tuples = Self { columns, parts, cells: BTreeMap::new(), witnesses: Vec::new() };
        for row in rows {
            let read: Option<Vec<f64>> = row.iter().map(|&value| intake.read(value)).collect();
            let Some(key) = read.and_then(|read| tuples.key(&read)) else { continue };
            let next = tuples.witnesses.len() as u32;
            tuples.cells.entry(key).or_insert_with(|| {
                tuples.witnesses.push(row);
                next
            });
        }
        (!tuples.witnesses.is_empty()).then_some(tuples)
    }

    /// The cells of a tuple's values, as the domain reads them, in the columns that splits use;
    /// `None` if a library does not accept one of them.
    fn key(&self, values: &[f64]) -> Option<Vec<u32>> {
        let used = self.parts.iter().zip(values).filter_map(|(part, &value)| Some((part.as_ref()?, value)));
        used.map(|(part, value)| part.cell_of(value).map(|cell| cell.0)).collect()
    }

    fn cell_of(&self, values: &[f64]) -> Option<CellId> {
        self.cells.get(&self.key(values)?).copied().map(CellId)
    }

    fn first_column(&self) -> FeatureId {
        self.columns.iter().min().copied().expect("a group has columns")
    }
}

/// Restricts a domain to the values that another model reads too.
fn narrow(intake: &mut Intake, other: &Intake) {
    if other.number == NumberType::F32 {
        intake.number = NumberType::F32;
    }
    intake.missing &= other.missing;
    intake.infinities &= other.infinities;
    if intake.zero_window != other.zero_window {
        // The window is then a property of one model's reading, not of the inputs.
        intake.zero_window = None;
    }
}

/// The inputs that claims about all of the models cover: those of the one with a limited domain, or
/// those that all of them have.
fn common_domain(ensembles: &[&Ensemble], mixed: bool) -> Result<Arc<Domain>, GridError> {
    let limited = ensembles.iter().find(|model| !model.domain().is_everything());
    let Some(limited) = limited else { return Ok(ensembles[0].domain.clone()) };
    let fits = |model: &&Ensemble| {
        let own = model.domain();
        own.is_everything()
            || own == limited.domain()
            || own == &limited.domain().without_missing_values()
            || &own.without_missing_values() == limited.domain()
    };
    if !ensembles.iter().all(fits) {
        return Err(DomainError::TwoDomains.into());
    }
    // Models that read different number types have the values of the smaller type in common.
    if mixed {
        return limited.domain().of_f32().map(Arc::new).ok_or(DomainError::NoCommonValue.into());
    }
    Ok(limited.domain.clone())
}

/// The first position in `0..count` for which `before` is false; it is true for all positions
/// before one.
fn partition_point(count: usize, before: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = low + (high - low) / 2;
        if before(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}
