//! Linear and mixed-integer programs: a problem type, back ends behind one trait.
//!
//! A [`Problem`] is plain data. [`BackEnd::start`] gives it to a [`Solver`], which can be edited (a row more,
//! a column fixed or released, other costs) and solved again, warm where the back end can. A [`Separation`]
//! finds the multipliers that show a system of inequalities to have no solution, which is how a caller turns
//! a solver's "infeasible" into a proof; [`round_multipliers`] makes them integers. A [`Growing`]
//! program has few unknowns and ever more rows; [`LinearSolver`] chooses its solver.
//! Why a simplex of our own there: on five models of 50 to 200 trees (2000 to 5800 inputs, so many rows and few
//! columns) it takes 0.2 to 1.1 s for all programs of a run where microlp, with lazy rows and warm, takes 0.4 to
//! 4.0 s, two to six times as long, for models of the same size.
//!
//! Everything a solver says here is a hint in floating point. The tolerances of all linear programs live in this
//! crate: [`FEASIBILITY`] for both back ends, and named constants in each simplex of our own. Whoever uses an answer
//! decides by exact arithmetic, never by a tolerance.

mod column_space;
mod dense;
mod error;
mod general;
mod growing;
#[cfg(feature = "highs")]
mod highs;
mod microlp;
mod multiplier_simplex;
mod multipliers;
mod packing;
mod problem;
mod rounding;
mod simplex;
mod status;

pub use error::Error;
pub use growing::{Growing, LinearSolver, Saved, Sign, Start};
pub use multipliers::{Multipliers, SMALLEST_MARGIN, Separated, Separation, Solving};
pub use packing::{Packing, largest_packing};
pub use problem::{Column, LARGEST, Problem, Row, Sense};
pub use rounding::round_multipliers;
pub use status::{Limits, Reason, Solution, Status};

use std::time::Duration;

/// How far a point may miss a bound or a row, as a share of the row's largest coefficient.
pub const FEASIBILITY: f64 = 1e-9;

/// How far an integer column may be from an integer.
pub const INTEGRALITY: f64 = 1e-6;

/// How long a back end runs before the limits are asked again.
///
/// This bounds how late a solve notices its switch, together with what the back end does not interrupt
/// (microlp looks at its clock every 1000 pivots). A solve longer than a slice goes on from the basis it
/// reached; among equally good points it may then end at another one than without the pause, so only solves
/// shorter than a slice are the same on every machine.
const SLICE: Duration = Duration::from_millis(500);

/// A problem that is solved again and again, with edits between.
pub trait Solver: Send {
    /// Solves the problem with all edits so far.
    fn solve(&mut self, limits: &Limits<'_>) -> Status;

    /// Adds a row. One that [`Problem::check`] would refuse makes every solve answer
    /// [`Reason::Invalid`], as do the other edits.
    fn add_row(&mut self, row: Row);

    /// Holds a column at a value until it is released. Outside the column's bounds there is no solution.
    fn fix(&mut self, column: usize, value: f64);

    /// Releases a column; its bounds hold again. Nothing changes if it was not fixed.
    fn unfix(&mut self, column: usize);

    /// Other costs, one per column. Cold with microlp, warm with HiGHS.
    fn set_costs(&mut self, costs: &[f64]);

    /// The best point of the last solve if it ended at a limit: integer problems only.
    fn incumbent(&self) -> Option<&Solution>;

    /// What the objective cannot be less than, by the last solve's word, if it ended at a limit.
    fn lower_bound(&self) -> Option<f64>;
}

/// The solvers there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum BackEnd {
    /// Pure Rust; always there.
    #[default]
    Microlp,
    /// HiGHS, in C++; with the feature `highs`.
    #[cfg(feature = "highs")]
    Highs,
}

impl BackEnd {
    /// All of them.
    pub fn all() -> &'static [BackEnd] {
        &[
            BackEnd::Microlp,
            #[cfg(feature = "highs")]
            BackEnd::Highs,
        ]
    }

    /// Takes over a problem. One that [`Problem::check`] refuses is answered by the first solve.
    pub fn start(self, problem: Problem) -> Box<dyn Solver> {
        match self {
            BackEnd::Microlp => Box::new(microlp::Microlp::new(problem)),
            #[cfg(feature = "highs")]
            BackEnd::Highs => Box::new(highs::Highs::new(problem)),
        }
    }
}
