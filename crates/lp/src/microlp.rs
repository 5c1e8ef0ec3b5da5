//! The back end in pure Rust: microlp, with its edits and failures behind [`Solver`].
//!
//! microlp's edits consume a solution and solve at once, and a failed edit loses it. So the last solution is
//! kept ([`Live`]) and a copy is edited: first the releases, then the fixes, then the rows. After the releases
//! every edit only tightens, so an infeasible step on the way means that the whole is infeasible; before that
//! it means nothing. Whatever fails on the warm path is solved again from scratch, and only that answer counts.
//!
//! Invariants:
//! - microlp's `InternalError`, a panic and a limit never become [`Status::Infeasible`].
//! - Each call into microlp has a time limit of at most one slice. microlp looks at its clock every 1000
//!   pivots and at each phase, and fails a phase that does not progress in 10,000 pivots, so every call ends;
//!   the deadline is overrun by at most a slice (edits keep the limit of the solve they build on) and 1000 pivots.
//! - Numbers were checked by [`Model`]: microlp's own assertions on indices and duplicates cannot fire.
//!
//! Not covered: changed costs are a cold start, microlp has no call for them.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};

use microlp::{
    ComparisonOp, Error as Failure, OptimizationDirection, ResumeOptions, SolutionStatus, SolveOptions,
    SolveOutcome, TerminationReason, Variable,
};

use crate::error::Error;
use crate::problem::{Model, Problem, Row, Sense};
use crate::status::{Limits, Reason, Solution, Status};
use crate::{FEASIBILITY, INTEGRALITY, SLICE, Solver};

/// More new rows than this are solved from scratch: each is a solve of its own when added.
const WARM_ROWS: usize = 64;

/// A problem in microlp's hands.
pub(crate) struct Microlp {
    model: Result<Model, Error>,
    live: Option<Live>,
    incumbent: Option<Solution>,
    lower_bound: Option<f64>,
}

/// The last optimal solution and what it is a solution of.
struct Live {
    solution: microlp::Solution,
    variables: Vec<Variable>,
    rows: usize,
    /// What is fixed in it.
    fixed: BTreeMap<usize, f64>,
    /// Those of the fixed columns that were built in as bounds and cannot be released.
    built_in: BTreeSet<usize>,
}

/// How a chain of calls ended without a solution.
enum End {
    /// microlp has the answer.
    Failure(Failure),
    /// A limit was reached.
    Spent(Status),
    /// It panicked.
    Panicked,
}

impl Microlp {
    pub(crate) fn new(problem: Problem) -> Self {
        Self { model: Model::new(problem), live: None, incumbent: None, lower_bound: None }
    }

    /// Applies an edit; an invalid one is remembered for the next solve.
    fn edit(&mut self, edit: impl FnOnce(&mut Model) -> Result<(), Error>) {
        if let Ok(model) = &mut self.model
            && let Err(error) = edit(model)
        {
            self.model = Err(error);
        }
    }
}

impl Solver for Microlp {
    fn solve(&mut self, limits: &Limits<'_>) -> Status {
        self.incumbent = None;
        self.lower_bound = None;
        let model = match &self.model {
            Ok(model) => model,
            Err(error) => return Status::Unknown(Reason::Invalid(*error)),
        };
        if let Some(status) = limits.spent() {
            return status;
        }
        if model.is_plainly_infeasible() {
            return Status::Infeasible;
        }
        let mut search = Search { model, limits, incumbent: None, lower_bound: None };
        let ended = match self.live.as_ref().and_then(|live| search.warm(live)) {
            Some(ended) => ended,
            None => search.cold(),
        };
        (self.incumbent, self.lower_bound) = (search.incumbent, search.lower_bound);
        match ended {
            Ok(live) => {
                let Some(solution) = read(model, &live.solution, &live.variables) else {
                    return Status::Unknown(Reason::Unexpected);
                };
                self.live = Some(live);
                Status::Optimal(solution)
            }
            Err(End::Spent(status)) => status,
            Err(End::Panicked) => Status::Unknown(Reason::Failed),
            Err(End::Failure(Failure::Infeasible)) => Status::Infeasible,
            Err(End::Failure(Failure::Unbounded)) => Status::Unbounded,
            Err(End::Failure(Failure::InternalError(_))) => Status::Unknown(Reason::Numerical),
            Err(End::Failure(_)) => Status::Unknown(Reason::Unexpected),
        }
    }

    fn add_row(&mut self, row: Row) {
        self.edit(|model| model.add_row(row));
    }

    fn fix(&mut self, column: usize, value: f64) {
        self.edit(|model| model.fix(column, value));
    }

    fn unfix(&mut self, column: usize) {
        self.edit(|model| model.unfix(column));
    }

    fn set_costs(&mut self, costs: &[f64]) {
        self.live = None;
        self.edit(|model| model.set_costs(costs));
    }

    fn incumbent(&self) -> Option<&Solution> {
        self.incumbent.as_ref()
    }

    fn lower_bound(&self) -> Option<f64> {
        self.lower_bound
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
    /// From the last solution; nothing if that led nowhere and a cold start may know more.
    fn warm(&mut self, live: &Live) -> Option<Result<Live, End>> {
        let Live { solution, variables, rows, fixed, built_in } = live;
        let added = &self.model.problem.rows[*rows..];
        if added.len() > WARM_ROWS {
            return None;
        }
        let current = &self.model.fixed;
        let released: Vec<usize> = (fixed.iter())
            .filter(|&(column, value)| current.get(column) != Some(value))
            .map(|(&column, _)| column)
            .collect();
        if released.iter().any(|column| built_in.contains(column)) {
            return None;
        }
        let held = current.iter().filter(|&(column, value)| fixed.get(column) != Some(value));
        let mut solution = solution.clone();
        for column in released {
            let edited = self.run(variables, || Ok(solution.unfix_var(variables[column])?.0));
            match edited {
                Ok(edited) => solution = edited,
                Err(End::Spent(status)) => return Some(Err(End::Spent(status))),
                Err(_) => return None,
            }
        }
        // Only tighter from here on.
        let tighter = |search: &mut Self, mut solution: microlp::Solution| {
            for (&column, &value) in held {
                solution = search.run(variables, || solution.fix_var(variables[column], value))?;
            }
            for row in added {
                solution = search.run(variables, || {
                    solution.add_constraint(terms(row, variables), comparison(row.sense), row.bound)
                })?;
            }
            Ok(solution)
        };
        match tighter(self, solution) {
            Ok(solution) => Some(Ok(Live {
                solution,
                variables: variables.clone(),
                rows: self.model.problem.rows.len(),
                fixed: current.clone(),
                built_in: built_in.clone(),
            })),
            Err(end @ (End::Spent(_) | End::Failure(Failure::Infeasible))) => Some(Err(end)),
            Err(_) => None,
        }
    }

    /// From scratch.
    fn cold(&mut self) -> Result<Live, End> {
        let Problem { columns, rows } = &self.model.problem;
        let mut problem = microlp::Problem::new(OptimizationDirection::Minimize);
        let fixed = &self.model.fixed;
        let variables: Vec<Variable> = (columns.iter().enumerate())
            .map(|(index, column)| {
                let (lower, upper) = match fixed.get(&index) {
                    Some(&value) => (value, value),
                    None => (column.lower, column.upper),
                };
                if column.integer {
                    // The bounds were checked to fit.
                    problem.add_integer_var(column.cost, (lower.ceil() as i32, upper.floor() as i32))
                } else {
                    problem.add_var(column.cost, (lower, upper))
                }
            })
            .collect();
        for row in rows {
            problem.add_constraint(terms(row, &variables), comparison(row.sense), row.bound);
        }
        let mut options = SolveOptions::default();
        options.int_tol = INTEGRALITY;
        options.tolerances.feasibility = FEASIBILITY;
        options.time_limit = Some(self.limits.slice(SLICE));
        let solution = self.run(&variables, || problem.solve_with(options))?;
        let built_in = fixed.keys().copied().collect();
        Ok(Live { solution, variables, rows: rows.len(), fixed: fixed.clone(), built_in })
    }

    /// Makes one call and resumes it, slice by slice, until it has an optimum or the limits are spent.
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

/// A call that may panic. The solver is inside and lost with it: nothing broken is seen afterwards.
fn guarded(call: impl FnOnce() -> Result<SolveOutcome, Failure>) -> Result<SolveOutcome, End> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(outcome) => outcome.map_err(End::Failure),
        Err(_) => Err(End::Panicked),
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

/// The values, integers rounded; nothing if one is no number.
fn read(model: &Model, solution: &microlp::Solution, variables: &[Variable]) -> Option<Solution> {
    let values: Vec<f64> = (model.problem.columns.iter().zip(variables))
        .map(|(column, &variable)| {
            let value = solution.var_value(variable);
            if column.integer { value.round() } else { value }
        })
        .collect();
    let objective = model.objective(&values);
    (objective.is_finite() && values.iter().all(|value| value.is_finite()))
        .then_some(Solution { objective, values })
}
