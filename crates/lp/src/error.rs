//! What is wrong with a problem or an edit, and where.

use crate::problem::LARGEST;

/// A problem or an edit that no back end is given.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A cost is no number, infinite or too large.
    #[error("column {column} costs {value}: expected a number of magnitude at most {LARGEST:e}")]
    Cost {
        /// The column.
        column: usize,
        /// Its cost.
        value: f64,
    },
    /// A cost below zero where a program's costs are at least that.
    #[error("unknown {column} costs {value}: expected at least zero")]
    NegativeCost {
        /// The unknown.
        column: usize,
        /// Its cost.
        value: f64,
    },
    /// A bound of a column is no number, infinite on the wrong side or too large.
    #[error(
        "column {column} has the bound {value}: expected a magnitude of at most {LARGEST:e}, or infinite on its open side"
    )]
    ColumnBound {
        /// The column.
        column: usize,
        /// Its bound.
        value: f64,
    },
    /// An integer column needs two finite bounds that fit in 32 bits.
    #[error("integer column {column} has the bound {value}: expected one between -2^31 and 2^31 - 1")]
    IntegerBound {
        /// The column.
        column: usize,
        /// Its bound.
        value: f64,
    },
    /// A coefficient is no number, infinite or too large.
    #[error(
        "row {row} has the coefficient {value} for column {column}: expected a magnitude of at most {LARGEST:e}"
    )]
    Coefficient {
        /// The row, in the order added.
        row: usize,
        /// The column.
        column: usize,
        /// The coefficient, summed over the column's terms.
        value: f64,
    },
    /// The bound of a row is no number, infinite or too large.
    #[error("row {row} has the bound {value}: expected a number of magnitude at most {LARGEST:e}")]
    RowBound {
        /// The row, in the order added.
        row: usize,
        /// Its bound.
        value: f64,
    },
    /// A row names a column that the problem does not have.
    #[error("row {row} names column {column}: the problem has {columns}")]
    RowColumn {
        /// The row, in the order added.
        row: usize,
        /// The column named.
        column: usize,
        /// How many there are.
        columns: usize,
    },
    /// A row does not have one coefficient for each unknown.
    #[error("row {row} has {coefficients} coefficients for {columns} unknowns")]
    RowLength {
        /// The row, in the order added.
        row: usize,
        /// How many it has.
        coefficients: usize,
        /// How many unknowns there are.
        columns: usize,
    },
    /// A new bound names a row that the program does not have.
    #[error("row {row} cannot have another bound: the program has {rows}")]
    RowIndex {
        /// The row named.
        row: usize,
        /// How many there are.
        rows: usize,
    },
    /// A fix names a column that the problem does not have.
    #[error("column {column} cannot be fixed or released: the problem has {columns}")]
    FixedColumn {
        /// The column named.
        column: usize,
        /// How many there are.
        columns: usize,
    },
    /// A column is fixed at no number, or one that is infinite or too large.
    #[error("column {column} cannot be fixed at {value}: expected a number of magnitude at most {LARGEST:e}")]
    FixedValue {
        /// The column.
        column: usize,
        /// The value.
        value: f64,
    },
    /// New costs, but not one for each column.
    #[error("{costs} costs for {columns} columns")]
    Costs {
        /// How many costs were given.
        costs: usize,
        /// How many columns there are.
        columns: usize,
    },
    /// Points of different lengths, or fewer equality rows than points.
    #[error("point {point} does not have as many entries as the others")]
    Ragged {
        /// The first point that differs.
        point: usize,
    },
    /// An entry of a point is no number or infinite.
    #[error("point {point} has the entry {value} for column {column}")]
    Entry {
        /// The point.
        point: usize,
        /// The column.
        column: usize,
        /// The entry.
        value: f64,
    },
}
