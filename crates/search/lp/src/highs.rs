//! The back end in C++: HiGHS, with the feature `highs`.
//!
//! A HiGHS model is a raw pointer that may not change threads, so each problem has a thread of its
//! own that owns the model. Requests go in and reports come out over channels, and this crate stays
//! free of unsafe code. A model keeps its basis between runs, which is the warm start.
//!
//! Invariants:
//! - Statuses map one to one; any status that [`status`] does not list as an answer is unknown.
//! - The interface used here has no switch to end a HiGHS run, only a time limit, so HiGHS runs in
//!   slices. A linear problem continues from its basis. An integer problem starts over, so its
//!   slices double: no more than half of the time is lost, and its switch may be noticed as late as
//!   the time already spent.
//! - A panic or an error in the thread ends the thread; the next solve builds the problem again.
//! - HiGHS counts a model's running time over all runs; [`Owner::spent`] counts the same time
//!   outside.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use highs::{Col, HighsModelStatus, HighsSolutionStatus, RowProblem, Sense as Direction};

use crate::problem::{Column, Model, Problem, Row, Sense, Stated};
use crate::status::{Limits, Reason, Solution, Status};
use crate::{FEASIBILITY, INTEGRALITY, SLICE, Solver};

/// A problem that HiGHS solves.
pub(crate) struct Highs {
    stated: Stated,
    owner: Option<Remote>,
    incumbent: Option<Solution>,
    lower_bound: Option<f64>,
}

/// The thread that owns the model, and the state of the problem that was sent to it.
struct Remote {
    requests: Sender<Request>,
    reports: Receiver<Report>,
    rows: usize,
    fixed: BTreeMap<usize, f64>,
    costs: Vec<f64>,
}

enum Request {
    Row(Row),
    Bounds(usize, f64, f64),
    Cost(usize, f64),
    Run(Duration),
}

struct Report {
    status: HighsModelStatus,
    /// A point within the tolerances, optimal or not.
    values: Option<Vec<f64>>,
    lower_bound: Option<f64>,
}

impl Highs {
    pub(crate) fn new(problem: Problem) -> Self {
        Self { stated: Stated::new(problem), owner: None, incumbent: None, lower_bound: None }
    }
}

impl Solver for Highs {
    fn solve(&mut self, limits: &Limits<'_>) -> Status {
        self.incumbent = None;
        self.lower_bound = None;
        let model = match self.stated.model(limits) {
            Ok(model) => model,
            Err(status) => return status,
        };
        let mut owner = match self.owner.take().and_then(|owner| owner.updated(model)) {
            Some(owner) => owner,
            None => Remote::new(model),
        };
        let integer = model.problem.columns.iter().any(|column| column.integer);
        let mut longest = SLICE;
        loop {
            // If the thread has ended, its model is lost; the next solve builds it again.
            let Some(report) = owner.run(limits.slice(longest)) else {
                return Status::Unknown(Reason::Failed);
            };
            let point = report.values.and_then(|values| model.solution(values));
            if report.status == HighsModelStatus::ReachedTimeLimit {
                if let Some(status) = limits.spent() {
                    (self.incumbent, self.lower_bound) = (point.filter(|_| integer), report.lower_bound);
                    self.owner = Some(owner);
                    return status;
                }
                if integer {
                    longest *= 2;
                }
                continue;
            }
            self.owner = Some(owner);
            return status(report.status, point);
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
        self.stated.edit(|model| model.set_costs(costs));
    }

    fn incumbent(&self) -> Option<&Solution> {
        self.incumbent.as_ref()
    }

    fn lower_bound(&self) -> Option<f64> {
        self.lower_bound
    }
}

/// Translates HiGHS's status into ours.
fn status(status: HighsModelStatus, point: Option<Solution>) -> Status {
    match (status, point) {
        (HighsModelStatus::Optimal, Some(solution)) => Status::Optimal(solution),
        (HighsModelStatus::Infeasible, _) => Status::Infeasible,
        (HighsModelStatus::Unbounded, _) => Status::Unbounded,
        (HighsModelStatus::UnboundedOrInfeasible, _) => Status::Unknown(Reason::UnboundedOrInfeasible),
        (HighsModelStatus::Unknown, _) => Status::Unknown(Reason::Numerical),
        (
            HighsModelStatus::LoadError
            | HighsModelStatus::ModelError
            | HighsModelStatus::PresolveError
            | HighsModelStatus::SolveError
            | HighsModelStatus::PostsolveError,
            _,
        ) => Status::Unknown(Reason::Failed),
        _ => Status::Unknown(Reason::Unexpected),
    }
}

impl Remote {
    fn new(model: &Model) -> Self {
        let (requests, inbox) = channel();
        let (outbox, reports) = channel();
        let Problem { columns, rows } = &model.problem;
        let (problem, fixed) = (model.problem.clone(), model.fixed.clone());
        // The thread ends when the requests do; nobody waits for it.
        std::thread::spawn(move || Owner::new(&problem, &fixed).map(|owner| owner.serve(inbox, outbox)));
        Self {
            requests,
            reports,
            rows: rows.len(),
            fixed: model.fixed.clone(),
            costs: columns.iter().map(|column| column.cost).collect(),
        }
    }

    /// Sends the changes to the thread; `None` if the thread has ended.
    fn updated(mut self, model: &Model) -> Option<Self> {
        let Problem { columns, rows } = &model.problem;
        for row in &rows[self.rows..] {
            self.requests.send(Request::Row(row.clone())).ok()?;
        }
        self.rows = rows.len();
        let touched: Vec<usize> = self.fixed.keys().chain(model.fixed.keys()).copied().collect();
        for column in touched {
            if self.fixed.get(&column) != model.fixed.get(&column) {
                let (lower, upper) = bounds(&columns[column], model.fixed.get(&column));
                self.requests.send(Request::Bounds(column, lower, upper)).ok()?;
            }
        }
        self.fixed.clone_from(&model.fixed);
        for (column, (cost, told)) in columns.iter().zip(&mut self.costs).enumerate() {
            if cost.cost != *told {
                *told = cost.cost;
                self.requests.send(Request::Cost(column, cost.cost)).ok()?;
            }
        }
        Some(self)
    }

    fn run(&mut self, time: Duration) -> Option<Report> {
        self.requests.send(Request::Run(time)).ok()?;
        self.reports.recv().ok()
    }
}

fn bounds(column: &Column, fixed: Option<&f64>) -> (f64, f64) {
    fixed.map_or((column.lower, column.upper), |&value| (value, value))
}

fn range(sense: Sense, bound: f64) -> std::ops::RangeInclusive<f64> {
    match sense {
        Sense::AtLeast => bound..=f64::INFINITY,
        Sense::AtMost => f64::NEG_INFINITY..=bound,
        Sense::Equal => bound..=bound,
    }
}

/// The model, its columns and its running time; it stays on the model's thread.
struct Owner {
    model: highs::Model,
    columns: Vec<Col>,
    spent: Duration,
}

impl Owner {
    fn new(problem: &Problem, fixed: &BTreeMap<usize, f64>) -> Option<Self> {
        let mut stated = RowProblem::new();
        let columns: Vec<Col> = (problem.columns.iter().enumerate())
            .map(|(index, column)| {
                let (lower, upper) = bounds(column, fixed.get(&index));
                stated.add_column_with_integrality(column.cost, lower..=upper, column.integer)
            })
            .collect();
        for row in &problem.rows {
            let terms: Vec<(Col, f64)> =
                row.terms.iter().map(|&(index, value)| (columns[index], value)).collect();
            stated.add_row(range(row.sense, row.bound), terms);
        }
        let mut model = stated.try_optimise(Direction::Minimise).ok()?;
        model.make_quiet();
        for (option, value) in [
            ("primal_feasibility_tolerance", FEASIBILITY),
            ("dual_feasibility_tolerance", FEASIBILITY),
            ("mip_feasibility_tolerance", INTEGRALITY),
            ("mip_rel_gap", 0.0),
            ("mip_abs_gap", 0.0),
            // HiGHS drops coefficients below this. Its default, 1e-9, is too close to coefficients
            // that occur.
            ("small_matrix_value", 1e-12),
        ] {
            model.try_set_option(option, value).ok()?;
        }
        // One thread and a fixed seed: the same answer every time.
        model.try_set_option("threads", 1).ok()?;
        Some(Self { model, columns, spent: Duration::ZERO })
    }

    fn serve(mut self, inbox: Receiver<Request>, outbox: Sender<Report>) -> Option<()> {
        for request in inbox {
            match request {
                Request::Row(row) => {
                    let terms = row.terms.iter().map(|&(index, value)| (self.columns[index], value));
                    self.model.try_add_row(range(row.sense, row.bound), terms).ok()?;
                }
                Request::Bounds(column, lower, upper) => {
                    self.model.change_column_bounds(self.columns[column], lower..=upper);
                }
                Request::Cost(column, cost) => self.model.change_column_cost(self.columns[column], cost),
                Request::Run(time) => {
                    let (owner, report) = self.run(time)?;
                    self = owner;
                    outbox.send(report).ok()?;
                }
            }
        }
        Some(())
    }

    fn run(mut self, time: Duration) -> Option<(Self, Report)> {
        self.model.try_set_option("time_limit", (self.spent + time).as_secs_f64()).ok()?;
        let started = Instant::now();
        let solved = self.model.try_solve().ok()?;
        self.spent += started.elapsed();
        let feasible = solved.primal_solution_status() == HighsSolutionStatus::Feasible;
        let report = Report {
            status: solved.status(),
            values: feasible.then(|| solved.get_solution().columns().to_vec()),
            lower_bound: solved.double_info_value(c"mip_dual_bound").ok().filter(|bound| bound.is_finite()),
        };
        Some((Self { model: solved.into(), ..self }, report))
    }
}
