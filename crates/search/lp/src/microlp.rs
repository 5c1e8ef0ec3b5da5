//! The back end in pure Rust: makes a [`Solver`] of microlp, and handles its edits and failures.
//!
//! microlp's edits consume a solution and solve at once, and a failed edit loses the solution. So
//! the last solutions are kept ([`Live`]), each with more columns fixed than the one before, and a
//! copy of the last one that still applies is edited. A release returns to a solution from before
//! the fix, which is several times faster than microlp's own release.
//!
//! Rows are lazy: a problem with many more rows than columns starts with some of them, and rows
//! that its solution violates are added until there are none. Few rows decide such a problem, and
//! both a cold start and an edit cost time in proportion to the rows present.
//!
//! So every edit of a solution only tightens it. An infeasible step on the way means that the whole
//! problem is infeasible, and a solution that meets the omitted rows solves the whole problem.
//! After any other failure (numerical, or unbounded because rows are missing) the problem is solved
//! from scratch with all rows, and that answer counts.
//!
//! Invariants:
//! - microlp's `InternalError`, a panic and a limit never become [`Status::Infeasible`].
//! - Each call into microlp has a time limit of at most one slice. microlp checks its clock every
//!   1000 pivots and at each phase, and fails a phase without progress in 10,000 pivots, so every
//!   call ends. A deadline is overrun by at most a slice (edits keep the limit of the solve they
//!   build on) and 1000 pivots.
//! - Numbers were checked by [`Model`]: microlp's own assertions on indices and duplicates cannot
//!   fail.
//!
//! Not covered: changed costs need a cold start, because microlp has no call for them. Integer
//! problems start with all rows.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use microlp::{
    ComparisonOp, Error as Failure, OptimizationDirection, ResumeOptions, SolutionStatus, SolveOptions,
    SolveOutcome, TerminationReason, Variable,
};

use crate::problem::{Model, Problem, Row, Sense, Stated};
use crate::status::{Limits, Reason, Solution, Status};
use crate::{FEASIBILITY, INTEGRALITY, SLICE, Solver};

/// With more edits than this the problem is solved from scratch: each edit is a solve of its own
/// that takes about a tenth of the time of a cold start.
const WARM_EDITS: usize = 8;

/// How many solutions are kept.
const KEPT: usize = 4;

/// A problem that microlp solves.
pub(crate) struct Microlp {
    stated: Stated,
    /// Kept solutions. Each fixes at least the columns that the one before fixes.
    live: Vec<Live>,
    incumbent: Option<Solution>,
    lower_bound: Option<f64>,
}

/// An optimal solution, and the part of the problem that it solves.
#[derive(Clone)]
struct Live {
    solution: microlp::Solution,
    variables: Vec<Variable>,
    /// Which of the model's rows this solution takes into account; rows beyond the end of the list
    /// are omitted.
    rows: Vec<bool>,
    fixed: BTreeMap<usize, f64>,
}

/// How a sequence of calls ended without a solution.
enum End {
    /// microlp ended with this error; an infeasible problem is one of its errors.
    Failure(Failure),
    /// A limit was reached.
    Spent(Status),
    /// It panicked.
    Panicked,
}

impl Microlp {
    pub(crate) fn new(problem: Problem) -> Self {
        Self { stated: Stated::new(problem), live: Vec::new(), incumbent: None, lower_bound: None }
    }
}

impl Solver for Microlp {
    fn solve(&mut self, limits: &Limits<'_>) -> Status {
        self.incumbent = None;
        self.lower_bound = None;
        let model = match self.stated.model(limits) {
            Ok(model) => model,
            Err(status) => return status,
        };
        let applies =
            |live: &Live| live.fixed.iter().all(|(column, value)| model.fixed.get(column) == Some(value));
        while self.live.last().is_some_and(|live| !applies(live)) {
            self.live.pop();
        }
        let mut search = Search { model, limits, incumbent: None, lower_bound: None };
        let ended = search.solve(self.live.last());
        (self.incumbent, self.lower_bound) = (search.incumbent, search.lower_bound);
        match ended {
            Ok(live) => {
                let Some(solution) = read(model, &live.solution, &live.variables) else {
                    return Status::Unknown(Reason::Unexpected);
                };
                if self.live.last().is_some_and(|last| last.fixed == live.fixed) {
                    self.live.pop();
                }
                if self.live.len() == KEPT {
                    self.live.remove(0);
                }
                self.live.push(live);
                Status::Optimal(solution)
            }
            Err(end) => status(end),
        }
    }

    fn add_row(&mut self, row: Row) {
        self.stated.edit(|model| model.add_row(row));
    }

    fn fix(&mut self, column: usize, value: f64) {
        self.stated.edit(|model| model.fix(column, value));
    }

    fn unfix(&mut self, column: usize) {
        self.stated.edit(|model| model.unfix(column));
    }

    fn set_costs(&mut self, costs: &[f64]) {
        self.live.clear();
        self.stated.edit(|model| model.set_costs(costs));
    }

    fn incumbent(&self) -> Option<&Solution> {
        self.incumbent.as_ref()
    }

    fn lower_bound(&self) -> Option<f64> {
        self.lower_bound
    }
}

/// Translates microlp's answer into a status.
fn status(end: End) -> Status {
    match end {
        End::Spent(status) => status,
        End::Panicked => Status::Unknown(Reason::Failed),
        End::Failure(Failure::Infeasible) => Status::Infeasible,
        End::Failure(Failure::Unbounded) => Status::Unbounded,
        End::Failure(Failure::InternalError(_)) => Status::Unknown(Reason::Numerical),
        End::Failure(_) => Status::Unknown(Reason::Unexpected),
    }
}

/// One solve.
struct Search<'a> {
    model: &'a Model,
    limits: &'a Limits<'a>,
    incumbent: Option<Solution>,
    lower_bound: Option<f64>,
}

impl Search<'_> {
    /// Solves with few rows, from the last solution if there is one. If that fails, solves from
    /// scratch with all rows.
    fn solve(&mut self, last: Option<&Live>) -> Result<Live, End> {
        let all = vec![true; self.model.problem.rows.len()];
        match self.solve_lazily(last) {
            Ok(live) => Ok(live),
            Err(end @ (End::Spent(_) | End::Failure(Failure::Infeasible))) => Err(end),
            Err(_) => self.cold(all),
        }
    }

    fn solve_lazily(&mut self, last: Option<&Live>) -> Result<Live, End> {
        let mut live = match last {
            Some(last) => self.held(last)?,
            None => self.cold(self.first_rows())?,
        };
        loop {
            let violated = self.violated(&live);
            if violated.is_empty() {
                return Ok(live);
            }
            if let Some(status) = self.limits.spent() {
                return Err(End::Spent(status));
            }
            live.rows.resize(self.model.problem.rows.len(), false);
            if violated.len() <= WARM_EDITS {
                live = self.with_row(live, violated[0].1)?;
            } else {
                let columns = self.model.problem.columns.len();
                for &(_, row) in violated.iter().take(columns.max(WARM_EDITS)) {
                    live.rows[row] = true;
                }
                live = self.cold(live.rows)?;
            }
        }
    }

    /// The rows to start with: all of them; or, if there are many, the equalities and some of the
    /// others, evenly spread.
    fn first_rows(&self) -> Vec<bool> {
        let Problem { columns, rows } = &self.model.problem;
        let enough = columns.len() + WARM_EDITS;
        if rows.len() <= 2 * enough || columns.iter().any(|column| column.integer) {
            return vec![true; rows.len()];
        }
        let stride = rows.len() / enough;
        let first = |(index, row): (usize, &Row)| index % stride == 0 || row.sense == Sense::Equal;
        rows.iter().enumerate().map(first).collect()
    }

    /// The omitted rows that a solution violates, the worst first.
    fn violated(&self, live: &Live) -> Vec<(f64, usize)> {
        let values: Vec<f64> =
            live.variables.iter().map(|&variable| live.solution.var_value(variable)).collect();
        let mut violated: Vec<(f64, usize)> = (self.model.problem.rows.iter().enumerate())
            .filter(|&(index, _)| !live.rows.get(index).is_some_and(|&present| present))
            .map(|(index, row)| (violation(row, &values), index))
            .filter(|&(violation, _)| violation > FEASIBILITY)
            .collect();
        violated.sort_by(|left, right| right.0.total_cmp(&left.0).then(left.1.cmp(&right.1)));
        violated
    }

    /// Fixes, in a kept solution, the columns that the model has fixed since.
    fn held(&mut self, last: &Live) -> Result<Live, End> {
        let new: Vec<(usize, f64)> = (self.model.fixed.iter())
            .filter(|(column, _)| !last.fixed.contains_key(column))
            .map(|(&column, &value)| (column, value))
            .collect();
        if new.len() > WARM_EDITS {
            return self.cold(last.rows.clone());
        }
        let Live { mut solution, variables, rows, fixed: _ } = last.clone();
        for (column, value) in new {
            solution = self.run(&variables, || solution.fix_var(variables[column], value))?;
        }
        Ok(Live { solution, variables, rows, fixed: self.model.fixed.clone() })
    }

    fn with_row(&mut self, live: Live, index: usize) -> Result<Live, End> {
        let Live { solution, variables, mut rows, fixed } = live;
        let row = &self.model.problem.rows[index];
        let (terms, sense) = (terms(row, &variables), comparison(row.sense));
        let solution = self.run(&variables, || solution.add_constraint(terms, sense, row.bound))?;
        rows[index] = true;
        Ok(Live { solution, variables, rows, fixed })
    }

    /// Solves from scratch, with the marked rows.
    fn cold(&mut self, present: Vec<bool>) -> Result<Live, End> {
        let Model { problem: Problem { columns, rows }, fixed } = self.model;
        let mut problem = microlp::Problem::new(OptimizationDirection::Minimize);
        let variables: Vec<Variable> = (columns.iter().enumerate())
            .map(|(index, column)| {
                let (lower, upper) = match fixed.get(&index) {
                    Some(&value) => (value, value),
                    None => (column.lower, column.upper),
                };
                if column.integer {
                    // The model has checked that the bounds fit.
                    problem.add_integer_var(column.cost, (lower.ceil() as i32, upper.floor() as i32))
                } else {
                    problem.add_var(column.cost, (lower, upper))
                }
            })
            .collect();
        for (row, _) in rows.iter().zip(&present).filter(|&(_, &present)| present) {
            problem.add_constraint(terms(row, &variables), comparison(row.sense), row.bound);
        }
        let mut options = SolveOptions::default();
        options.int_tol = INTEGRALITY;
        options.tolerances.feasibility = FEASIBILITY;
        options.time_limit = Some(self.limits.slice(SLICE));
        let solution = self.run(&variables, || problem.solve_with(options))?;
        Ok(Live { solution, variables, rows: present, fixed: fixed.clone() })
    }

    /// Makes one call and resumes it, slice by slice, until it has an optimum or the limits are
    /// spent.
    fn run(
        &mut self,
        variables: &[Variable],
        call: impl FnOnce() -> Result<SolveOutcome, Failure>,
    ) -> Result<microlp::Solution, End> {
        let mut outcome = guarded(call)?;
        loop {
            if let TerminationReason::ProvenOptimal = outcome.termination_reason() {
                return outcome.into_solution().map_err(|_| End::Panicked);
            }
            if let Some(status) = self.limits.spent() {
                self.lower_bound = outcome.stats().best_bound;
                self.incumbent = outcome
                    .solution()
                    .filter(|solution| solution.status() == SolutionStatus::Feasible)
                    .and_then(|solution| read(self.model, solution, variables));
                return Err(End::Spent(status));
            }
            let mut options = ResumeOptions::default();
            options.time_limit = Some(self.limits.slice(SLICE));
            outcome = guarded(|| outcome.resume_with(options))?;
        }
    }
}

/// Makes a call that may panic. The call owns the solver, which is lost in a panic, so that no
/// broken state is used afterwards.
fn guarded(call: impl FnOnce() -> Result<SolveOutcome, Failure>) -> Result<SolveOutcome, End> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(outcome) => outcome.map_err(End::Failure),
        Err(_) => Err(End::Panicked),
    }
}

fn violation(row: &Row, values: &[f64]) -> f64 {
    let sum: f64 = row.terms.iter().map(|&(column, coefficient)| coefficient * values[column]).sum();
    match row.sense {
        Sense::AtLeast => row.bound - sum,
        Sense::AtMost => sum - row.bound,
        Sense::Equal => (sum - row.bound).abs(),
    }
}

fn comparison(sense: Sense) -> ComparisonOp {
    match sense {
        Sense::AtLeast => ComparisonOp::Ge,
        Sense::AtMost => ComparisonOp::Le,
        Sense::Equal => ComparisonOp::Eq,
    }
}

fn terms(row: &Row, variables: &[Variable]) -> Vec<(Variable, f64)> {
    row.terms.iter().map(|&(column, coefficient)| (variables[column], coefficient)).collect()
}

fn read(model: &Model, solution: &microlp::Solution, variables: &[Variable]) -> Option<Solution> {
    model.solution(variables.iter().map(|&variable| solution.var_value(variable)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_never_an_answer() {
        let failed = |failure| status(End::Failure(failure));
        assert_eq!(failed(Failure::InternalError(String::new())), Status::Unknown(Reason::Numerical));
        assert_eq!(failed(Failure::InvalidOptions(String::new())), Status::Unknown(Reason::Unexpected));
        assert_eq!(failed(Failure::InvalidOperation(String::new())), Status::Unknown(Reason::Unexpected));
        assert_eq!(status(End::Panicked), Status::Unknown(Reason::Failed));
        assert_eq!(failed(Failure::Infeasible), Status::Infeasible);
        assert_eq!(failed(Failure::Unbounded), Status::Unbounded);
    }

    #[test]
    fn a_panic_inside_ends_there() {
        assert!(matches!(guarded(|| panic!("on purpose")), Err(End::Panicked)));
    }
}
