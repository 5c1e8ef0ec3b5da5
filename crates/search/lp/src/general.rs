//! Solves a growing program with a back end for general linear programs.
//!
//! New rows and unknowns held at zero are edits of the running solver. A changed bound or numerical
//! trouble starts a new solver. Back ends do not say why a program is infeasible, so the
//! multipliers that show it are the solution of another program: of all y >= 0 of sum one (rows
//! divided by their norms) with `y.A <= 0` at nonnegative unknowns and `y.A = 0` at free ones, one
//! with the largest `y.b`, which must be positive.

use crate::Solver;
use crate::growing::{Checks, Growing, Saved, Sign, clean};
use crate::problem::{Column, Problem, Row};
use crate::status::{Limits, Reason, Solution, Status};

/// Multipliers add up to one; a multiplier of at most this is treated as rounding.
const NONE: f64 = 1e-12;

type StartSolver = Box<dyn Fn(Problem) -> Box<dyn Solver> + Send>;

/// A program and, once it has been solved, its solver.
pub(crate) struct General {
    start: StartSolver,
    problem: Problem,
    signs: Vec<Sign>,
    checks: Checks,
    solver: Option<Box<dyn Solver>>,
    infeasible: bool,
}

impl General {
    pub(crate) fn new(start: StartSolver, costs: &[f64], signs: &[Sign]) -> Self {
        let column = |(&cost, sign): (&f64, &Sign)| match sign {
            Sign::Free => Column::real(0.0, f64::NEG_INFINITY, f64::INFINITY),
            Sign::Nonnegative | Sign::Held => Column::real(cost, 0.0, f64::INFINITY),
        };
        let columns = costs.iter().zip(signs).map(column).collect();
        Self {
            start,
            problem: Problem { columns, rows: Vec::new() },
            signs: signs.to_vec(),
            checks: Checks::new(costs, signs),
            solver: None,
            infeasible: false,
        }
    }

    fn solver(&mut self) -> &mut dyn Solver {
        let (start, problem, signs) = (&self.start, &self.problem, &self.signs);
        let started = || {
            let mut solver = start(problem.clone());
            let held = |unknown: &usize| signs[*unknown] == Sign::Held;
            (0..signs.len()).filter(held).for_each(|unknown| solver.fix(unknown, 0.0));
            solver
        };
        self.solver.get_or_insert_with(started).as_mut()
    }

    fn set_sign(&mut self, unknown: usize, sign: Sign) {
        if self.signs[unknown] == sign {
            return;
        }
        self.signs[unknown] = sign;
        if let Some(solver) = &mut self.solver {
            match sign {
                Sign::Held => solver.fix(unknown, 0.0),
                Sign::Nonnegative | Sign::Free => solver.unfix(unknown),
            }
        }
    }
}

impl Growing for General {
    fn add_row(&mut self, coefficients: &[f64], bound: f64) {
        if self.checks.row(coefficients, bound) {
            let terms = coefficients.iter().copied().enumerate().filter(|(_, value)| *value != 0.0);
            let row = Row::at_least(terms.collect(), bound);
            if let Some(solver) = &mut self.solver {
                solver.add_row(row.clone());
            }
            self.problem.row(row);
        }
    }

    fn set_bound(&mut self, row: usize, bound: f64) {
        if self.checks.bound(row, bound) {
            self.problem.rows[row].bound = bound;
            self.solver = None;
        }
    }

    fn hold(&mut self, unknown: usize) {
        if self.checks.unknown(unknown) {
            self.set_sign(unknown, Sign::Held);
        }
    }

    fn save(&self) -> Saved {
        Saved { signs: self.signs.clone(), basis: None }
    }

    fn restore(&mut self, saved: Saved) {
        for (unknown, sign) in saved.signs.into_iter().enumerate() {
            self.set_sign(unknown, sign);
        }
    }

    fn solve(&mut self, limits: &Limits<'_>) -> Status {
        self.infeasible = false;
        if let Some(status) = self.checks.refusal(limits) {
            return status;
        }
        let warm = self.solver.is_some();
        let mut status = self.solver().solve(limits);
        if warm && matches!(status, Status::Unknown(_)) {
            self.solver = None;
            status = self.solver().solve(limits);
        }
        self.infeasible = status == Status::Infeasible;
        match status {
            Status::Optimal(Solution { objective, values }) => {
                Status::Optimal(Solution { objective, values: clean(values, &self.signs) })
            }
            // Costs are at least zero, so the objective cannot fall without end.
            Status::Unbounded => Status::Unknown(Reason::Unexpected),
            other => other,
        }
    }

    fn contradiction(&mut self, limits: &Limits<'_>) -> Option<Vec<(usize, f64)>> {
        if !self.infeasible {
            return None;
        }
        let mut problem = Problem::new();
        let mut sums: Vec<Vec<(usize, f64)>> = vec![Vec::new(); self.signs.len()];
        let mut norms = Vec::with_capacity(self.problem.rows.len());
        for row in &self.problem.rows {
            let squares: f64 = row.terms.iter().map(|(_, value)| value * value).sum();
            let norm = if squares > 0.0 { squares.sqrt() } else { 1.0 };
            let multiplier = problem.column(Column::real(-row.bound / norm, 0.0, 1.0));
            row.terms.iter().for_each(|&(unknown, value)| sums[unknown].push((multiplier, value / norm)));
            norms.push(norm);
        }
        problem.row(Row::equal((0..norms.len()).map(|multiplier| (multiplier, 1.0)).collect(), 1.0));
        for (terms, sign) in sums.into_iter().zip(&self.signs) {
            match sign {
                Sign::Nonnegative => problem.row(Row::at_most(terms, 0.0)),
                Sign::Free => problem.row(Row::equal(terms, 0.0)),
                Sign::Held => {}
            }
        }
        match (self.start)(problem).solve(limits) {
            Status::Optimal(solution) if solution.objective < 0.0 => {
                let multipliers = solution.values.iter().zip(&norms).enumerate();
                let some = multipliers.filter(|(_, (value, _))| **value > NONE);
                Some(some.map(|(row, (value, norm))| (row, value / norm)).collect())
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A solver for tests that gives fixed answers.
    struct Told(Status);

    impl Solver for Told {
        fn solve(&mut self, _: &Limits<'_>) -> Status {
            self.0.clone()
        }
        fn add_row(&mut self, _: Row) {}
        fn fix(&mut self, _: usize, _: f64) {}
        fn unfix(&mut self, _: usize) {}
        fn set_costs(&mut self, _: &[f64]) {}
        fn incumbent(&self) -> Option<&Solution> {
            None
        }
        fn lower_bound(&self) -> Option<f64> {
            None
        }
    }

    #[test]
    fn what_is_no_answer_stays_none() {
        let reasons = [Reason::Numerical, Reason::UnboundedOrInfeasible, Reason::Failed, Reason::Unexpected];
        let unknown = reasons.map(Status::Unknown);
        for status in unknown.into_iter().chain([Status::TimeLimit, Status::Interrupted]) {
            let told = status.clone();
            let start = move |_| -> Box<dyn Solver> { Box::new(Told(told.clone())) };
            let mut program = General::new(Box::new(start), &[1.0], &[Sign::Nonnegative]);
            for _ in 0..2 {
                program.add_row(&[1.0], 1.0);
                assert_eq!(program.solve(&Limits::none()), status);
                assert_eq!(program.contradiction(&Limits::none()), None);
            }
        }
    }

    #[test]
    fn costs_of_zero_and_more_have_no_end_below() {
        let start = |_| -> Box<dyn Solver> { Box::new(Told(Status::Unbounded)) };
        let mut program = General::new(Box::new(start), &[1.0], &[Sign::Nonnegative]);
        assert_eq!(program.solve(&Limits::none()), Status::Unknown(Reason::Unexpected));
    }
}
