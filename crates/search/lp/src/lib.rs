//! Linear programs in floating point: their answers are hints.
//!
//! A [`Growing`] program has few unknowns and ever more rows, and [`simplex`] solves it. A
//! [`Separation`] finds the multipliers that show a system of inequalities to have no solution;
//! [`round_multipliers`] makes them integers, for which a caller can check it exactly.
//!
//! The simplex is our own because it is faster on these programs: on five models of 50 to 200 trees
//! (2000 to 5800 inputs, so there are many rows and few columns) it takes 0.2 to 1.1 s for all
//! programs of a run. microlp, a well-kept solver that warm starts and lazy rows made as fast as we
//! could, takes 0.4 to 4.0 s for models of the same size. In the tests microlp judges its answers.
//!
//! The tolerances of all linear programs are in this crate, as named constants in each simplex. A
//! caller who uses an answer decides by exact arithmetic, never by a tolerance.
//!
//! # Where to read
//! `status` (limits and answers) is what callers see. `growing` is for few unknowns and ever more
//! rows: `simplex` with `column_space` solves these. `multipliers` with `multiplier_simplex` shows
//! that a system has no solution, `set_packing` finds the largest packing of sets, `dense` has the
//! vectors and matrices of both simplex methods, and `rounding` turns multipliers into integers for
//! which equations hold exactly.

mod column_space;
mod dense;
mod error;
mod growing;
mod multiplier_simplex;
mod multipliers;
mod rounding;
mod set_packing;
mod simplex;
mod status;

pub use error::Error;
pub use growing::{Growing, LARGEST, Saved, Sign, Start, simplex};
pub use multipliers::{Multipliers, SMALLEST_MARGIN, Separated, Separation, Solving};
pub use rounding::round_multipliers;
pub use set_packing::{SetPacking, largest_set_packing};
pub use status::{Limits, Reason, Solution, Status};
