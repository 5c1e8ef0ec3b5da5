//! Limits on a solve, and its possible answers.

use std::time::{Duration, Instant};

use crate::error::Error;

/// The limits on a solve.
#[derive(Clone, Copy, Default)]
pub struct Limits<'a> {
    /// The solve ends at this time.
    pub deadline: Option<Instant>,
    /// A switch that is checked now and then; the solve ends when it is true.
    pub stop: Option<&'a dyn Fn() -> bool>,
}

impl<'a> Limits<'a> {
    /// No limit.
    pub fn none() -> Self {
        Self::default()
    }

    /// A limit on time.
    pub fn until(deadline: Instant) -> Self {
        Self { deadline: Some(deadline), stop: None }
    }

    /// A limit on time from now.
    pub fn within(time: Duration) -> Self {
        Self { deadline: Instant::now().checked_add(time), stop: None }
    }

    /// The same limits, with a switch that ends the solve too.
    pub fn or_when(self, stop: &'a dyn Fn() -> bool) -> Self {
        Self { stop: Some(stop), ..self }
    }

    /// The status of a solve that must end now; `None` if it may continue.
    pub fn spent(&self) -> Option<Status> {
        if self.stop.is_some_and(|stop| stop()) {
            Some(Status::Interrupted)
        } else if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            Some(Status::TimeLimit)
        } else {
            None
        }
    }
}

impl std::fmt::Debug for Limits<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Limits")
            .field("deadline", &self.deadline)
            .field("stop", &self.stop.is_some())
            .finish()
    }
}

/// A point that meets the rows up to the solver's tolerance. It is a hint: recompute the numbers
/// that matter.
#[derive(Clone, Debug, PartialEq)]
pub struct Solution {
    /// The sum of cost times value.
    pub objective: f64,
    /// One value per column.
    pub values: Vec<f64>,
}

/// The result of a solve.
#[derive(Clone, Debug, PartialEq)]
pub enum Status {
    /// The best point, up to the solver's tolerance.
    Optimal(Solution),
    /// No point meets the rows, as was computed in floating point: a claim needs multipliers that
    /// hold in exact arithmetic.
    Infeasible,
    /// The deadline came first.
    TimeLimit,
    /// The switch came first.
    Interrupted,
    /// No answer: nothing is known about the program.
    Unknown(Reason),
}

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Reason {
    /// The program or an edit was refused before any solve.
    Invalid(Error),
    /// The solver had numerical trouble.
    Numerical,
    /// The solver gave an answer that it should not give: values that are not numbers.
    Unexpected,
}
