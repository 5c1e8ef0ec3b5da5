//! Linear and mixed-integer programs: a problem type, and back ends that share one trait.
//!
//! A [`Problem`] is plain data. [`BackEnd::start`] gives it to a [`Solver`], which can be edited (a
//! row added, a column fixed or released, costs replaced) and solved again, warm if the back end
//! can. A [`Separation`] finds the multipliers that show a system of inequalities to have no
//! solution, with which a caller turns a solver's "infeasible" into a proof; [`round_multipliers`]
//! makes them integers. A [`Growing`] program has few unknowns and ever more rows; [`LinearSolver`]
//! chooses its solver.
//!
//! Growing programs have a simplex of our own, because it is faster: on five models of 50 to 200
//! trees (2000 to 5800 inputs, so there are many rows and few columns) it takes 0.2 to 1.1 s for
//! all programs of a run. microlp, warm and with lazy rows, takes 0.4 to 4.0 s, two to six times as
//! long, for models of the same size.
//!
//! All answers of solvers are hints in floating point. The tolerances of all linear programs are in
//! this crate: [`FEASIBILITY`] for both back ends, and named constants in each simplex of our own.
//! A caller who uses an answer decides by exact arithmetic, never by a tolerance.
//!
//! # Where to read
//! `problem` (and how its rows are scaled) and `status` (limits and answers) are what callers see.
//! `growing` is for few unknowns and ever more rows: `simplex` with `column_space` is our own
//! solver for these, `general` solves them with a back end, `microlp` or, with the feature `highs`,
//! `highs`.
//!
//! `multipliers` with `multiplier_simplex` shows that a system has no solution, `set_packing` finds the
//! largest packing of sets, `dense` has the vectors and matrices of both simplex methods, and
//! `rounding` turns multipliers into integers for which equations hold exactly.

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
mod problem;
mod rounding;
mod set_packing;
mod simplex;
mod status;

pub use error::Error;
pub use growing::{Growing, LinearSolver, Saved, Sign, Start};
pub use multipliers::{Multipliers, SMALLEST_MARGIN, Separated, Separation, Solving};
pub use problem::{Column, LARGEST, Problem, Row, Sense};
pub use rounding::round_multipliers;
pub use set_packing::{SetPacking, largest_set_packing};
pub use status::{Limits, Reason, Solution, Status};

use std::time::Duration;

/// How far a point may miss a bound or a row, as a share of the row's largest coefficient.
pub const FEASIBILITY: f64 = 1e-9;

/// How far an integer column may be from an integer.
pub const INTEGRALITY: f64 = 1e-6;

/// How long a back end runs before the limits are checked again.
///
/// Together with what the back end does not interrupt (microlp checks its clock every 1000 pivots),
/// this bounds how late a solve notices its switch. A solve longer than a slice continues from the
/// basis it reached. Among equally good points it may then end at another one than without the
/// pause, so only solves shorter than a slice are the same on every machine.
const SLICE: Duration = Duration::from_millis(500);

/// A problem that is solved repeatedly, with edits between the solves.
pub trait Solver: Send {
    /// Solves the problem with all edits so far.
    fn solve(&mut self, limits: &Limits<'_>) -> Status;

    /// Adds a row. If [`Problem::check`] would refuse it, every later solve answers
    /// [`Reason::Invalid`]. The same holds for the other edits.
    fn add_row(&mut self, row: Row);

    /// Fixes a column at a value until it is released. A value outside the column's bounds makes
    /// the problem infeasible.
    fn fix(&mut self, column: usize, value: f64);

    /// Releases a column; its bounds hold again. Nothing changes if it was not fixed.
    fn unfix(&mut self, column: usize);

    /// Replaces the costs, one for each column. The next solve is cold with microlp and warm with
    /// HiGHS.
    fn set_costs(&mut self, costs: &[f64]);

    /// The best point found by the last solve if it ended at a limit; only for integer problems.
    fn incumbent(&self) -> Option<&Solution>;

    /// A lower bound of the objective if the last solve ended at a limit: found by the solver, not
    /// proved.
    fn lower_bound(&self) -> Option<f64>;
}

/// The general back ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum BackEnd {
    /// Pure Rust, always available.
    #[default]
    Microlp,
    /// HiGHS, in C++; with the feature `highs`.
    #[cfg(feature = "highs")]
    Highs,
}

impl BackEnd {
    /// All back ends of this build.
    pub fn all() -> &'static [BackEnd] {
        &[
            BackEnd::Microlp,
            #[cfg(feature = "highs")]
            BackEnd::Highs,
        ]
    }

    /// Starts a solver for a problem. If [`Problem::check`] refuses the problem, the first solve
    /// says so.
    pub fn start(self, problem: Problem) -> Box<dyn Solver> {
        match self {
            BackEnd::Microlp => Box::new(microlp::Microlp::new(problem)),
            #[cfg(feature = "highs")]
            BackEnd::Highs => Box::new(highs::Highs::new(problem)),
        }
    }
}
