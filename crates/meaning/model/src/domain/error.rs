//! Errors in a domain, with their places.

use std::fmt;

use super::Side;
use crate::ids::FeatureId;

/// Why a domain is refused. Groups are counted from 0 here and from 1 in messages.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
#[expect(missing_docs, reason = "each message says what its fields are")]
pub enum DomainError {
    UnknownColumn { column: FeatureId, columns: usize },
    ColumnTwice { column: FeatureId },
    NotFinite { column: FeatureId, value: f64 },
    EmptyRange { column: FeatureId, min: Option<f64>, max: Option<f64> },
    NoValues { column: FeatureId },
    Categories { column: FeatureId },
    NotAccepted { column: FeatureId },
    JoinedLabels { column: FeatureId },
    ColumnAndGroup { column: FeatureId, group: usize },
    GroupTooSmall { group: usize, columns: usize },
    GroupTwice { group: usize, column: FeatureId },
    GroupTooLarge { group: usize, rows: usize, columns: usize },
    GroupsOverlap { column: FeatureId, first: usize, second: usize },
    GroupNotAccepted { group: usize },
    RowWidth { group: usize, row: usize, found: usize, columns: usize },
    RowNotFinite { group: usize, row: usize },
    NoRows { group: usize },
    TwoDomains,
    NoCommonValue,
    NoInput,
    WhereBound { bound: f64 },
    WhereUnknown { digest: [u8; 32] },
    WhereColumns { name: String, columns: usize, found: usize },
    WhereOutput { name: String, output: u32, outputs: usize },
    WhereOverflow { name: String },
    WhereNothing { name: String, side: Side, bound: f64 },
    WhereCategories { name: String, column: FeatureId },
    WhereUnplaced { name: String },
    WhereNumber { name: String, column: FeatureId },
}

impl DomainError {
    /// The message, with the names of columns as `name` gives them.
    pub fn message(&self, name: &dyn Fn(FeatureId) -> String) -> String {
        let limit = |limit: &Option<f64>, which: &str| match limit {
            Some(value) => format!("{which} {value}"),
            None => format!("no {which}"),
        };
        match self {
            Self::UnknownColumn { column, columns } => {
                format!("column {column} does not exist: the model has {columns} columns, counted from 0")
            }
            Self::ColumnTwice { column } => format!("{} is limited twice", name(*column)),
            Self::NotFinite { column, value } => {
                format!("{}: {value} is not a finite number", name(*column))
            }
            Self::EmptyRange { column, min, max } => format!(
                "{}: no value fits its limits ({}, {})",
                name(*column),
                limit(min, "min"),
                limit(max, "max")
            ),
            Self::NoValues { column } => {
                format!("{}: none of its values is within its limits", name(*column))
            }
            Self::Categories { column } => format!(
                "{} holds categories: list those that can occur in `values`, other limits do not fit it",
                name(*column)
            ),
            Self::NotAccepted { column } => {
                format!("{}: the model accepts none of the values that it can hold", name(*column))
            }
            Self::JoinedLabels { column } => format!(
                "{}: the two models list different category labels for it, so its codes cannot be limited",
                name(*column)
            ),
            Self::ColumnAndGroup { column, group } => format!(
                "{} has limits of its own and is in group {}: a column can be in one of them only",
                name(*column),
                group + 1
            ),
            Self::GroupTooSmall { group, columns } => {
                format!("group {} has {columns} columns: a group needs at least two", group + 1)
            }
            Self::GroupTwice { group, column } => {
                format!("group {} names {} twice", group + 1, name(*column))
            }
            Self::GroupTooLarge { group, rows, columns } => {
                format!("group {} is too large: {rows} rows of {columns} columns", group + 1)
            }
            Self::GroupsOverlap { column, first, second } => format!(
                "{} is in group {} and in group {}: groups cannot overlap",
                name(*column),
                first + 1,
                second + 1
            ),
            Self::GroupNotAccepted { group } => {
                format!("group {}: the model accepts none of its rows", group + 1)
            }
            Self::RowWidth { group, row, found, columns } => format!(
                "group {}: row {} has {found} values for {columns} columns",
                group + 1,
                row + 1
            ),
            Self::RowNotFinite { group, row } => {
                format!("group {}: row {} has a value that is not finite", group + 1, row + 1)
            }
            Self::NoRows { group } => format!("group {} has no row that can occur", group + 1),
            Self::NoCommonValue => {
                "the models read different float types, and some column can hold no value that both read alike \
                 (one that an f32 can hold)"
                    .to_owned()
            }
            Self::NoInput => "no input has all the scores that it asks for".to_owned(),
            Self::WhereBound { bound } => format!("a score cannot be compared with {bound}"),
            Self::WhereUnknown { digest } => {
                let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
                format!(
                    "it has the score of a model that is not given; its digest is {digest}, and its file is needed"
                )
            }
            Self::WhereColumns { name: model, columns, found } => {
                format!("{model} has {found} columns, and the model it is to choose inputs for has {columns}")
            }
            Self::WhereOutput { name: model, output, outputs } => {
                format!("{model} has no score {output}: it has {outputs}, counted from 0")
            }
            Self::WhereOverflow { name: model } => {
                format!("a sum of {model} may overflow, and then no bound holds for its scores")
            }
            Self::WhereNothing { name: model, side, bound } => format!(
                "no input at all has a score of {model} that is {} {bound}",
                match side {
                    Side::AtLeast => "at least",
                    Side::AtMost => "at most",
                }
            ),
            Self::WhereCategories { name: model, column } => format!(
                "{}: {model} reads its categories in another way, so its codes mean something else there",
                name(*column)
            ),
            Self::WhereUnplaced { name: model } => format!(
                "a file does not say which columns its category labels belong to, so {model} cannot be put beside it"
            ),
            Self::WhereNumber { name: model, column } => format!(
                "{}: of this model and {model} one reads float32 numbers and the other float64, so they would see different \
                 values; limit every column to what a float32 can hold (f32 = true)",
                name(*column)
            ),
            Self::TwoDomains => "the models are looked at for different domains".to_owned(),
        }
    }
}

impl fmt::Display for DomainError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message(&|column| format!("column {column}")))
    }
}

impl std::error::Error for DomainError {}
