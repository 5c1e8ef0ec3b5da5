//! Linear programs with few unknowns and ever more rows, and their solvers.
//!
//! Problem: minimise `c.x` subject to `a_i.x >= b_i` for all rows i, where `c >= 0` and each
//! unknown is nonnegative, free (then its cost does not count) or held at zero. Rows come as they
//! are found, so a [`Growing`] keeps what it can between two solves.
//!
//! Solvers: our own simplex ([`LinearSolver::Simplex`]) works in the space of the unknowns and only
//! prices rows; a general back end ([`LinearSolver::General`]) gets the program row by row. In both
//! cases an answer is computed in floating point and is a hint. No solver says "infeasible" only
//! because it found no answer, and the caller can add up the rows that show it
//! ([`Growing::contradiction`]).

use crate::column_space::ColumnSpace;
use crate::error::Error;
use crate::general::General;
use crate::problem::is_number;
use crate::simplex::State;
use crate::status::{Limits, Reason, Status};
use crate::{BackEnd, Solver};

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

    /// Saves which unknowns are held at zero, and the basis if there is one, for
    /// [`Growing::restore`].
    fn save(&self) -> Saved;

    /// Returns to a saved state. Rows and bounds stay as they are now.
    fn restore(&mut self, saved: Saved);

    /// Solves the program as it is now. The answer is [`Status::Optimal`], [`Status::Infeasible`],
    /// a limit, or [`Status::Unknown`].
    fn solve(&mut self, limits: &Limits<'_>) -> Status;

    /// Why the last solve said infeasible: rows whose sum, with these positive multipliers, no
    /// point can meet. This is a hint, as the answer was; a general back end has to solve another
    /// program for it.
    fn contradiction(&mut self, limits: &Limits<'_>) -> Option<Vec<(usize, f64)>>;
}

/// A state for [`Growing::restore`] to return to.
#[derive(Clone, Debug)]
pub struct Saved {
    pub(crate) signs: Vec<Sign>,
    pub(crate) basis: Option<State>,
}

/// Starts a program without rows, from costs and signs of its unknowns.
pub type Start = fn(&[f64], &[Sign]) -> Box<dyn Growing>;

/// The solver of growing programs.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub enum LinearSolver {
    /// Our own simplex, made for these programs.
    #[default]
    Simplex,
    /// A solver for any program.
    General(BackEnd),
    /// A solver that the caller provides.
    Custom(Start),
}

impl LinearSolver {
    /// All built-in solvers.
    pub fn all() -> impl Iterator<Item = Self> {
        std::iter::once(Self::Simplex).chain(BackEnd::all().iter().copied().map(Self::General))
    }

    /// Its name in options.
    pub fn name(self) -> &'static str {
        match self {
            Self::Simplex => "simplex",
            Self::General(BackEnd::Microlp) => "microlp",
            #[cfg(feature = "highs")]
            Self::General(BackEnd::Highs) => "highs",
            Self::Custom(_) => "custom",
        }
    }

    /// A program without rows.
    pub fn start(self, costs: &[f64], signs: &[Sign]) -> Box<dyn Growing> {
        match self {
            Self::Simplex => Box::new(ColumnSpace::new(costs, signs)),
            Self::General(back_end) => {
                let start = move |problem| -> Box<dyn Solver> { back_end.start(problem) };
                Box::new(General::new(Box::new(start), costs, signs))
            }
            Self::Custom(start) => start(costs, signs),
        }
    }
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
        self.accept(column < self.unknowns, Error::FixedColumn { column, columns: self.unknowns });
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

/// The point, with values that violate their sign only by rounding set to zero.
pub(crate) fn clean(mut values: Vec<f64>, signs: &[Sign]) -> Vec<f64> {
    for (value, sign) in values.iter_mut().zip(signs) {
        match sign {
            Sign::Nonnegative => *value = value.max(0.0),
            Sign::Free => {}
            Sign::Held => *value = 0.0,
        }
    }
    values
}
