//! The judge of our solvers: microlp, a well-kept one, which gets each program whole.

use microlp::{Error, Problem, SolveOptions};

/// The smallest cost of a point; `None` if no point meets the rows.
pub(crate) fn smallest_cost(problem: &Problem) -> Option<f64> {
    let mut options = SolveOptions::default();
    options.tolerances.feasibility = 1e-9;
    match problem.solve_with(options) {
        Ok(outcome) => Some(outcome.into_solution().expect("no limit was set").objective()),
        Err(Error::Infeasible) => None,
        Err(other) => panic!("{other}"),
    }
}
