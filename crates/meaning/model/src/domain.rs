//! The inputs that a claim covers: the values of each column, and the combinations of columns.
//!
//! A domain is a set of input rows that its user vouches for. It is a product: a [`Column`] limits
//! one column, a [`Group`] lists the tuples that several columns can hold together, and every other
//! column may hold any value that the library accepts (without missing values if `missing` is off).
//! No column is in two of these parts, so a row is in the domain if each part of it is, and each
//! part may be checked on its own. In addition a domain may have [`Where`]s, which keep only the
//! rows on which another model's score is on one side of a bound.
//!
//! Values are those of the given row, before a library rounds them. A missing value is NaN. A
//! number that a library treats as missing, such as an unknown category or a zero, is still a
//! number here.
//!
//! A domain is kept in a normal form, so two of them are equal exactly if they state the same in
//! the same way: limits that exclude nothing are left out, lists are sorted, and a column with a
//! list of values has no other limit.

use std::collections::BTreeMap;

use crate::ensemble::{Ensemble, Features};
use crate::feature::NumberType;
use crate::ids::FeatureId;

mod column;
mod error;
mod scored;
mod words;

pub use error::DomainError;
pub use scored::{Side, Where};

/// The most values that the tuples of one group may have in all.
const MOST_VALUES: usize = 1 << 24;

/// A set of inputs.
#[derive(Clone, Debug, PartialEq)]
pub struct Domain {
    missing: bool,
    columns: BTreeMap<FeatureId, Column>,
    groups: Vec<Group>,
    wheres: Vec<Where>,
}

/// The reason why a row is outside of a domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outside {
    /// The value of this column, or the values of the group that it is in.
    Column(FeatureId),
    /// The score of another model: the position of the [`Where`].
    Score(usize),
}

/// The values that one column can hold.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// May the column be missing?
    pub missing: bool,
    /// The least value.
    pub min: Option<f64>,
    /// The greatest value.
    pub max: Option<f64>,
    /// Only whole numbers?
    pub whole: bool,
    /// Only values that an f32 can hold, as a float32 table sends them?
    pub f32_only: bool,
    /// If given, only these values.
    pub values: Option<Vec<f64>>,
}

/// Columns whose values depend on each other; a table may have a single column.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// The columns.
    pub columns: Vec<FeatureId>,
    /// The tuples that they can hold.
    pub kind: GroupKind,
}

/// The tuples that the columns of a group can hold.
#[derive(Clone, Debug)]
pub enum GroupKind {
    /// One column is 1, the others are 0.
    OneHot {
        /// All of them may be 0 as well.
        none: bool,
    },
    /// Every column is 0 or 1, and if one is 1 the next is too.
    Ordered,
    /// These rows, NaN for a missing value.
    Table(Vec<Vec<f64>>),
}

impl PartialEq for GroupKind {
    /// A missing value equals a missing value.
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::OneHot { none }, Self::OneHot { none: there }) => none == there,
            (Self::Ordered, Self::Ordered) => true,
            (Self::Table(rows), Self::Table(there)) => {
                rows.len() == there.len() && rows.iter().zip(there).all(|(row, there)| same_row(row, there))
            }
            _ => false,
        }
    }
}

/// Equal numbers, or missing in both.
fn same_row(a: &[f64], b: &[f64]) -> bool {
    let same = |(a, b): (&f64, &f64)| a == b || a.is_nan() && b.is_nan();
    a.len() == b.len() && a.iter().zip(b).all(same)
}

impl Default for Domain {
    fn default() -> Self {
        Self::everything()
    }
}

impl Default for Column {
    fn default() -> Self {
        Self { missing: true, min: None, max: None, whole: false, f32_only: false, values: None }
    }
}

impl Domain {
    /// Every input that the models accept.
    pub fn everything() -> Self {
        Self { missing: true, columns: BTreeMap::new(), groups: Vec::new(), wheres: Vec::new() }
    }

    /// Every such input without a missing value in any column.
    pub fn no_missing() -> Self {
        Self { missing: false, ..Self::everything() }
    }

    /// A domain of these parts, in its normal form. `missing` applies to columns that are not among
    /// them.
    pub fn new(
        missing: bool,
        columns: impl IntoIterator<Item = (FeatureId, Column)>,
        groups: Vec<Group>,
    ) -> Result<Self, DomainError> {
        let mut domain = Self { missing, ..Self::everything() };
        for (feature, column) in columns {
            let column = column.normal(feature)?;
            if domain.columns.insert(feature, column).is_some() {
                return Err(DomainError::ColumnTwice { column: feature });
            }
        }
        let mut owner: BTreeMap<FeatureId, usize> = BTreeMap::new();
        for (index, group) in groups.into_iter().enumerate() {
            let group = group.normal(index)?;
            for &column in &group.columns {
                if let Some(first) = owner.insert(column, index) {
                    return Err(DomainError::GroupsOverlap { column, first, second: index });
                }
                if domain.columns.contains_key(&column) {
                    return Err(DomainError::ColumnAndGroup { column, group: index });
                }
            }
            domain.groups.push(group);
        }
        let plain = Column { missing, ..Column::default() };
        domain.columns.retain(|_, column| *column != plain);
        Ok(domain)
    }

    /// Keeps the inputs that satisfy these conditions too. Of two conditions on the same score,
    /// model and side only the stricter one is kept.
    pub fn with_wheres(mut self, wheres: Vec<Where>) -> Self {
        for new in wheres {
            match self.wheres.iter_mut().find(|own| own.key() == new.key()) {
                Some(own) if new.is_within(own) => *own = new,
                Some(_) => {}
                None => self.wheres.push(new),
            }
        }
        self.wheres.sort_by_key(Where::key);
        self
    }

    /// The same without the scores of other models.
    pub fn without_wheres(&self) -> Self {
        Self { wheres: Vec::new(), ..self.clone() }
    }

    /// Does it leave nothing out?
    pub fn is_everything(&self) -> bool {
        self.missing && self.columns.is_empty() && self.groups.is_empty() && self.wheres.is_empty()
    }

    /// Does it leave out missing values, and nothing else?
    pub fn is_no_missing(&self) -> bool {
        *self == Self::no_missing()
    }

    /// May columns without limits of their own be missing?
    pub fn missing(&self) -> bool {
        self.missing
    }

    /// The columns with limits of their own, ascending.
    pub fn columns(&self) -> impl Iterator<Item = (FeatureId, &Column)> {
        self.columns.iter().map(|(&feature, column)| (feature, column))
    }

    /// The groups, in the order in which they were given.
    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// The conditions on scores of other models, in the order of the models' digests.
    pub fn wheres(&self) -> &[Where] {
        &self.wheres
    }

    /// Does the row satisfy the conditions on scores of other models? Its columns are not checked.
    pub fn scores_hold(&self, row: &[f64]) -> bool {
        self.wheres.iter().all(|own| own.holds(row))
    }

    /// The known models whose scores the domain refers to.
    pub fn scorers(&self) -> impl Iterator<Item = &Ensemble> {
        self.wheres.iter().filter_map(Where::model)
    }

    /// The limits of a column, `None` for one without.
    pub fn column(&self, feature: FeatureId) -> Option<&Column> {
        self.columns.get(&feature)
    }

    /// The position of the group that a column is in.
    pub fn group_of(&self, feature: FeatureId) -> Option<usize> {
        self.groups.iter().position(|group| group.columns.contains(&feature))
    }

    /// May this column be missing?
    pub fn may_be_missing(&self, feature: FeatureId) -> bool {
        if let Some(group) = self.group_of(feature) {
            return self.groups[group].may_be_missing(feature);
        }
        self.column(feature).map_or(self.missing, |column| column.missing)
    }

    /// May any of the first `features` columns be missing?
    pub(crate) fn any_may_be_missing(&self, features: usize) -> bool {
        let named = self.columns.len() + self.groups.iter().map(|group| group.columns.len()).sum::<usize>();
        self.columns.values().any(|column| column.missing)
            || self.groups.iter().any(|group| group.columns.iter().any(|&own| group.may_be_missing(own)))
            || self.missing && named < features
    }

    /// Is this row in the domain?
    pub fn contains(&self, row: &[f64]) -> bool {
        self.outside(row).is_none()
    }

    /// The first part of the domain that a row violates.
    pub fn outside(&self, row: &[f64]) -> Option<Outside> {
        if let Some(column) = self.first_column_outside(row) {
            return Some(Outside::Column(column));
        }
        self.wheres.iter().position(|own| !own.holds(row)).map(Outside::Score)
    }

    /// The first column whose limits a row violates; conditions on scores are not checked.
    fn first_column_outside(&self, row: &[f64]) -> Option<FeatureId> {
        if !self.missing {
            let missing = row.iter().enumerate().filter(|(_, value)| value.is_nan());
            let left_out = |&feature: &FeatureId| !self.may_be_missing(feature);
            if let Some(found) = missing.map(|(at, _)| FeatureId::new(at)).find(left_out) {
                return Some(found);
            }
        }
        let outside = |(&feature, column): (&FeatureId, &Column)| {
            row.get(feature.index()).is_none_or(|&value| !column.contains(value)).then_some(feature)
        };
        if let Some(found) = self.columns.iter().find_map(outside) {
            return Some(found);
        }
        let holds = |group: &&Group| {
            let own: Option<Vec<f64>> =
                group.columns.iter().map(|column| row.get(column.index()).copied()).collect();
            own.is_some_and(|own| group.contains(&own))
        };
        self.groups.iter().find(|group| !holds(group)).map(|group| group.columns[0])
    }

    /// The same domain for models that accept no missing values: missing values are not restricted
    /// then.
    pub fn without_missing_values(&self) -> Self {
        let open = |column: &Column| Column { missing: true, ..column.clone() };
        let columns: BTreeMap<FeatureId, Column> =
            self.columns.iter().map(|(&feature, column)| (feature, open(column))).collect();
        let columns = columns.into_iter().filter(|(_, column)| *column != Column::default()).collect();
        Self { missing: true, columns, groups: self.groups.clone(), wheres: self.wheres.clone() }
    }

    /// The domain over reordered columns. If columns moved, the scoring models have to be given
    /// again: the old ones have their columns in the old order, and reordering changes their
    /// digests.
    pub(crate) fn renumbered(&self, new: impl Fn(FeatureId) -> FeatureId) -> Self {
        let columns = self.columns.iter().map(|(&old, column)| (new(old), column.clone()));
        let groups = self.groups.iter().map(|group| Group {
            columns: group.columns.iter().map(|&old| new(old)).collect(),
            kind: group.kind.clone(),
        });
        let product = Self::new(self.missing, columns, groups.collect());
        let product = product.expect("only the numbers of the columns change");
        let wheres = self.wheres.iter().map(|own| {
            let columns = own.model().map_or(0, |model| model.features().len());
            let moved = (0..columns).map(FeatureId::new).any(|column| new(column) != column);
            if moved { own.without_model() } else { own.clone() }
        });
        product.with_wheres(wheres.collect())
    }

    /// The inputs whose limited columns hold only values that an f32 can hold; `None` if there are
    /// none.
    pub(crate) fn of_f32(&self) -> Option<Self> {
        let columns =
            self.columns.iter().map(|(&f, column)| (f, Column { f32_only: true, ..column.clone() }));
        let groups = self.groups.iter().map(|group| match &group.kind {
            GroupKind::Table(rows) => {
                let fits = |value: &f64| value.is_nan() || is_f32(*value);
                let rows = rows.iter().filter(|row| row.iter().all(fits)).cloned().collect();
                Group { columns: group.columns.clone(), kind: GroupKind::Table(rows) }
            }
            _ => group.clone(),
        });
        let product = Self::new(self.missing, columns, groups.collect()).ok()?;
        Some(product.with_wheres(self.wheres.clone()))
    }

    /// Does this column hold only values that an f32 can hold?
    fn holds_f32_only(&self, feature: FeatureId) -> bool {
        let fits = |value: f64| value.is_nan() || is_f32(value);
        if let Some(group) = self.group_of(feature) {
            let group = &self.groups[group];
            let at = group.columns.iter().position(|&own| own == feature);
            return group.rows().iter().all(|row| at.is_some_and(|at| fits(row[at])));
        }
        self.column(feature).is_some_and(|column| {
            column.f32_only || column.values.as_ref().is_some_and(|values| values.iter().all(|&v| fits(v)))
        })
    }

    /// Does the domain fit a model's columns, and does the library accept some input of every part
    /// of it?
    pub fn fits(&self, model: &Ensemble) -> Result<(), DomainError> {
        let features = model.features();
        for (&feature, column) in &self.columns {
            known(feature, features)?;
            let limited = column.min.is_some() || column.max.is_some() || column.whole || column.f32_only;
            if limited && features.categories(feature).is_some() {
                return Err(DomainError::Categories { column: feature });
            }
            let accepted = match &column.values {
                Some(values) => values.iter().any(|&value| accepts(model, feature, value)),
                None => !limited || column.pick(model.intake(), None, None).is_some(),
            };
            if !accepted {
                return Err(DomainError::NotAccepted { column: feature });
            }
        }
        for (index, group) in self.groups.iter().enumerate() {
            group.columns.iter().try_for_each(|&column| known(column, features))?;
            let accepted = |row: &Vec<f64>| {
                group.columns.iter().zip(row).all(|(&column, &value)| accepts(model, column, value))
            };
            if !group.rows().iter().any(accepted) {
                return Err(DomainError::GroupNotAccepted { group: index });
            }
        }
        self.wheres.iter().try_for_each(|own| self.where_fits(own, model))
    }

    /// Does the scoring model read the columns as this model does? Otherwise a row would mean
    /// different inputs to the two.
    fn where_fits(&self, own: &Where, model: &Ensemble) -> Result<(), DomainError> {
        let (Some(scorer), Some(name)) = (own.model(), own.name().map(str::to_owned)) else {
            return Err(DomainError::WhereUnknown { digest: own.digest() });
        };
        let (features, theirs) = (model.features(), scorer.features());
        if features.len() != theirs.len() {
            let (columns, found) = (features.len(), theirs.len());
            return Err(DomainError::WhereColumns { name, columns, found });
        }
        if features.unplaced_labels().is_some() || theirs.unplaced_labels().is_some() {
            return Err(DomainError::WhereUnplaced { name });
        }
        let mixed = model.intake().number != scorer.intake().number;
        for column in (0..features.len()).map(FeatureId::new) {
            let alike = match (features.categories(column), theirs.categories(column)) {
                (Some(ours), None) => ours.labels.is_none(),
                (ours, theirs) => ours == theirs,
            };
            if !alike {
                return Err(DomainError::WhereCategories { name, column });
            }
            if mixed && !self.holds_f32_only(column) {
                return Err(DomainError::WhereNumber { name, column });
            }
        }
        Ok(())
    }
}

fn known(column: FeatureId, features: &Features) -> Result<(), DomainError> {
    if column.index() < features.len() {
        Ok(())
    } else {
        Err(DomainError::UnknownColumn { column, columns: features.len() })
    }
}

/// Does the library accept this value in this column, whether or not the domain does?
fn accepts(model: &Ensemble, feature: FeatureId, value: f64) -> bool {
    if value.is_nan() {
        return model.accepts_missing() && model.features().accepts_missing(feature);
    }
    let categories = model.features().categories(feature);
    let as_read = |read: f64| categories.is_none_or(|categories| categories.accepts(read));
    model.intake().read(value).is_some_and(as_read)
}

fn is_f32(value: f64) -> bool {
    NumberType::F32.round(value) == value
}

impl Group {
    /// The tuples that the columns can hold, in the order of the columns.
    pub fn rows(&self) -> Vec<Vec<f64>> {
        let width = self.columns.len();
        let row =
            |is_one: &dyn Fn(usize) -> bool| (0..width).map(|at| f64::from(u8::from(is_one(at)))).collect();
        match &self.kind {
            GroupKind::OneHot { none } => {
                let mut rows: Vec<Vec<f64>> = (0..width).map(|one| row(&|at| at == one)).collect();
                if *none {
                    rows.push(row(&|_| false));
                }
                rows
            }
            GroupKind::Ordered => (0..=width).map(|ones| row(&|at| at >= width - ones)).collect(),
            GroupKind::Table(rows) => rows.clone(),
        }
    }

    /// Is this tuple one of the group's?
    pub fn contains(&self, tuple: &[f64]) -> bool {
        let flags = tuple.iter().all(|&value| value == 0.0 || value == 1.0);
        match &self.kind {
            GroupKind::OneHot { none } => {
                let ones = tuple.iter().filter(|&&value| value == 1.0).count();
                flags && (ones == 1 || ones == 0 && *none)
            }
            GroupKind::Ordered => flags && tuple.is_sorted(),
            GroupKind::Table(rows) => rows.iter().any(|row| same_row(row, tuple)),
        }
    }

    fn may_be_missing(&self, feature: FeatureId) -> bool {
        let (GroupKind::Table(rows), Some(at)) =
            (&self.kind, self.columns.iter().position(|&column| column == feature))
        else {
            return false;
        };
        rows.iter().any(|row| row[at].is_nan())
    }

    fn normal(self, group: usize) -> Result<Self, DomainError> {
        let width = self.columns.len();
        // A table of one column can say that the column is always missing; limits cannot.
        let table = matches!(self.kind, GroupKind::Table(_));
        if width < if table { 1 } else { 2 } {
            return Err(DomainError::GroupTooSmall { group, columns: width });
        }
        let mut sorted = self.columns.clone();
        sorted.sort_unstable();
        if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(DomainError::GroupTwice { group, column: pair[0] });
        }
        let count = match &self.kind {
            GroupKind::Table(rows) => rows.len(),
            _ => width + 1,
        };
        if count.saturating_mul(width) > MOST_VALUES {
            return Err(DomainError::GroupTooLarge { group, rows: count, columns: width });
        }
        Ok(match self.kind {
            GroupKind::OneHot { none } => Self { columns: sorted, kind: GroupKind::OneHot { none } },
            GroupKind::Ordered => self,
            GroupKind::Table(rows) => {
                let mut order: Vec<usize> = (0..width).collect();
                order.sort_by_key(|&at| self.columns[at]);
                let mut sorted_rows = Vec::with_capacity(rows.len());
                for (row, values) in rows.into_iter().enumerate() {
                    if values.len() != width {
                        return Err(DomainError::RowWidth {
                            group,
                            row,
                            found: values.len(),
                            columns: width,
                        });
                    }
                    if values.iter().any(|value| value.is_infinite()) {
                        return Err(DomainError::RowNotFinite { group, row });
                    }
                    let plain = |&at: &usize| {
                        if values[at].is_nan() { f64::NAN } else { values[at] + 0.0 }
                    };
                    sorted_rows.push(order.iter().map(plain).collect::<Vec<f64>>());
                }
                sorted_rows.sort_by(|a, b| {
                    let pairs = a.iter().zip(b).map(|(a, b)| a.total_cmp(b));
                    pairs.fold(std::cmp::Ordering::Equal, std::cmp::Ordering::then)
                });
                sorted_rows.dedup_by(|a, b| same_row(a, b));
                if sorted_rows.is_empty() {
                    return Err(DomainError::NoRows { group });
                }
                Self { columns: sorted, kind: GroupKind::Table(sorted_rows) }
            }
        })
    }
}
