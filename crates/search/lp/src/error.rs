//! Errors in a program or an edit, with their place.

use crate::growing::LARGEST;

/// Why a program or an edit is not given to a solver.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A cost is not a number, is infinite, or is too large.
    #[error("column {column} costs {value}: expected a number of magnitude at most {LARGEST:e}")]
    Cost {
        /// The column.
        column: usize,
        /// Its cost.
        value: f64,
    },
    /// A cost is below zero in a program that allows only costs of at least zero.
    #[error("unknown {column} costs {value}: expected at least zero")]
    NegativeCost {
        /// The unknown.
        column: usize,
        /// Its cost.
        value: f64,
    },
    /// A coefficient is not a number, is infinite, or is too large.
    #[error(
        "row {row} has the coefficient {value} for column {column}: expected a magnitude of at most {LARGEST:e}"
    )]
    Coefficient {
        /// The row, in the order added.
        row: usize,
        /// The column.
        column: usize,
        /// The coefficient.
        value: f64,
    },
    /// The bound of a row is not a number, is infinite, or is too large.
    #[error("row {row} has the bound {value}: expected a number of magnitude at most {LARGEST:e}")]
    RowBound {
        /// The row, in the order added.
        row: usize,
        /// Its bound.
        value: f64,
    },
    /// A row does not have one coefficient for each unknown.
    #[error("row {row} has {coefficients} coefficients for {columns} unknowns")]
    RowLength {
        /// The row, in the order added.
        row: usize,
        /// How many coefficients it has.
        coefficients: usize,
        /// How many unknowns there are.
        columns: usize,
    },
    /// A new bound names a row that the program does not have.
    #[error("row {row} cannot have another bound: the program has {rows}")]
    RowIndex {
        /// The row named.
        row: usize,
        /// How many rows the program has.
        rows: usize,
    },
    /// A hold names a column that the program does not have.
    #[error("column {column} cannot be held: the program has {columns}")]
    HeldColumn {
        /// The column named.
        column: usize,
        /// How many columns the problem has.
        columns: usize,
    },
    /// The new costs are not one for each column.
    #[error("{costs} costs for {columns} columns")]
    Costs {
        /// How many costs were given.
        costs: usize,
        /// How many columns there are.
        columns: usize,
    },
    /// Points have different lengths, or there are not as many equality vectors as points.
    #[error("point {point} does not have as many entries as the others")]
    Ragged {
        /// The first point that differs.
        point: usize,
    },
    /// An entry of a point is not a number, or is infinite.
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
