//! Linear programs with few unknowns and ever more rows, and their solvers.
//!
//! Problem: minimise `c.x` subject to `a_i.x >= b_i` for all rows i, where `c >= 0` and each
//! unknown is nonnegative, free (then its cost does not count) or held at zero. Rows come as they
//! are found, so a [`Growing`] keeps what it can between two solves.
//!
//! The solver is our own simplex ([`simplex`]), which works in the space of the unknowns and only
//! prices rows. An answer is computed in floating point and is a hint. The simplex does not say
//! "infeasible" only because it found no answer: it adds up the rows that show it.

use crate::column_space::ColumnSpace;
use crate::error::Error;
use crate::simplex::State;
use crate::status::{Limits, Reason, Status};

/// The values that an unknown may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// At least zero.
    Nonnegative,
    /// Any number.
    Free,
    /// Zero at present.
    Held,
}

/// A program that grows between its solves.
///
/// Wrong input (a NaN, an infinity, a row of another length) makes every later solve answer
/// [`Reason::Invalid`].
pub trait Growing: Send {
    /// Adds a row, with one coefficient for each unknown.
    fn add_row(&mut self, coefficients: &[f64], bound: f64);

    /// Changes the bound of a row; rows are counted in the order in which they were added.
    fn set_bound(&mut self, row: usize, bound: f64);

    /// Holds an unknown at zero. Only [`Growing::restore`] releases it.
    fn hold(&mut self, unknown: usize);

    /// Saves which unknowns are held at zero, and the basis, for
    /// [`Growing::restore`].
    fn save(&self) -> Saved;

    /// Returns to a saved state. Rows and bounds stay as they are now.
    fn restore(&mut self, saved: Saved);

    /// Solves the program as it is now. The answer is [`Status::Optimal`], [`Status::Infeasible`],
    /// a limit, or [`Status::Unknown`].
    fn solve(&mut self, limits: &Limits<'_>) -> Status;
}

/// A state for [`Growing::restore`] to return to.
#[derive(Clone, Debug)]
pub struct Saved {
    pub(crate) signs: Vec<Sign>,
    pub(crate) basis: State,
}

/// Starts a program without rows, from costs and signs of its unknowns. Tests give solvers of their
/// own, which lie.
pub type Start = fn(&[f64], &[Sign]) -> Box<dyn Growing>;

/// A program without rows, which our own simplex solves.
pub fn simplex(costs: &[f64], signs: &[Sign]) -> Box<dyn Growing> {
    Box::new(ColumnSpace::new(costs, signs))
}

/// The largest magnitude of a number in a program.
pub const LARGEST: f64 = 1e15;

/// Is it a number that a solver may get?
fn is_number(value: f64) -> bool {
    value.abs() <= LARGEST
}

/// Checks input before a solver sees it, and keeps the first error.
#[derive(Debug)]
pub(crate) struct Checks {
    unknowns: usize,
    rows: usize,
    refused: Option<Error>,
}

impl Checks {
    pub(crate) fn new(costs: &[f64], signs: &[Sign]) -> Self {
        let mut checks = Self { unknowns: signs.len(), rows: 0, refused: None };
        if costs.len() != signs.len() {
            checks.refused = Some(Error::Costs { costs: costs.len(), columns: signs.len() });
        }
        let priced = costs.iter().zip(signs).enumerate().filter(|(_, (_, sign))| **sign != Sign::Free);
        for (column, (&value, _)) in priced {
            checks.accept(is_number(value), Error::Cost { column, value });
            checks.accept(value >= 0.0, Error::NegativeCost { column, value });
        }
        checks
    }

    /// Checks a row, and counts it if it may be added.
    pub(crate) fn row(&mut self, coefficients: &[f64], bound: f64) -> bool {
        let (row, columns) = (self.rows, self.unknowns);
        let fits = coefficients.len() == columns;
        self.accept(fits, Error::RowLength { row, coefficients: coefficients.len(), columns });
        self.accept(is_number(bound), Error::RowBound { row, value: bound });
        if let Some((column, &value)) = coefficients.iter().enumerate().find(|(_, value)| !is_number(**value))
        {
            self.accept(false, Error::Coefficient { row, column, value });
        }
        self.rows += 1;
        self.refused.is_none()
    }

    pub(crate) fn bound(&mut self, row: usize, bound: f64) -> bool {
        self.accept(row < self.rows, Error::RowIndex { row, rows: self.rows });
        self.accept(is_number(bound), Error::RowBound { row, value: bound });
        self.refused.is_none()
    }

    pub(crate) fn unknown(&mut self, column: usize) -> bool {
        self.accept(column < self.unknowns, Error::HeldColumn { column, columns: self.unknowns });
        self.refused.is_none()
    }

    /// Has all input been accepted?
    pub(crate) fn passed(&self) -> bool {
        self.refused.is_none()
    }

    /// The answer to a solve that cannot begin, because of bad input or a limit.
    pub(crate) fn refusal(&self, limits: &Limits<'_>) -> Option<Status> {
        match self.refused {
            Some(error) => Some(Status::Unknown(Reason::Invalid(error))),
            None => limits.spent(),
        }
    }

    fn accept(&mut self, fine: bool, otherwise: Error) {
        if !fine && self.refused.is_none() {
            self.refused = Some(otherwise);
        }
    }
}
