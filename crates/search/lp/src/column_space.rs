//! Makes a [`Growing`] of the simplex in the space of the unknowns.
//!
//! A solve without an answer is repeated once from the first basis; if that gives no
//! answer either, the status is unknown.

use std::cell::RefCell;

use crate::growing::{Checks, Growing, Saved, Sign};
use crate::simplex::{Ended, Simplex};
use crate::status::{Limits, Reason, Solution, Status};

/// A program that our own simplex solves.
pub(crate) struct ColumnSpace {
    simplex: Simplex,
    /// The costs as stated; the simplex works with slightly different ones.
    costs: Vec<f64>,
    checks: Checks,
}

impl ColumnSpace {
    pub(crate) fn new(costs: &[f64], signs: &[Sign]) -> Self {
        let checks = Checks::new(costs, signs);
        let (costs, signs) = if checks.passed() { (costs, signs) } else { (&[][..], &[][..]) };
        let paid = |(&cost, &sign): (&f64, &Sign)| if sign == Sign::Free { 0.0 } else { cost };
        Self {
            simplex: Simplex::new(costs, signs),
            costs: costs.iter().zip(signs).map(paid).collect(),
            checks,
        }
    }
}

impl Growing for ColumnSpace {
    fn add_row(&mut self, coefficients: &[f64], bound: f64) {
        if self.checks.row(coefficients, bound) {
            self.simplex.add_row(coefficients.iter().copied(), bound);
        }
    }

    fn set_bound(&mut self, row: usize, bound: f64) {
        if self.checks.bound(row, bound) {
            self.simplex.set_bound(row, bound);
        }
    }

    fn hold(&mut self, unknown: usize) {
        if self.checks.unknown(unknown) {
            self.simplex.hold(unknown);
        }
    }

    fn save(&self) -> Saved {
        let (basis, signs) = self.simplex.save();
        Saved { signs, basis }
    }

    fn restore(&mut self, Saved { signs, basis }: Saved) {
        self.simplex.restore((basis, signs));
    }

    fn solve(&mut self, limits: &Limits<'_>) -> Status {
        if let Some(status) = self.checks.refusal(limits) {
            return status;
        }
        // A switch may be on for only a moment, so its answer is kept.
        let spent: RefCell<Option<Status>> = RefCell::new(None);
        let stop = || {
            let mut spent = spent.borrow_mut();
            *spent = spent.take().or_else(|| limits.spent());
            spent.is_some()
        };
        let mut ended = self.simplex.solve(&stop);
        if ended == Ended::Unknown && !stop() {
            self.simplex.reset();
            ended = self.simplex.solve(&stop);
        }
        match ended {
            Ended::Optimal(values) => {
                let objective: f64 = self.costs.iter().zip(&values).map(|(cost, value)| cost * value).sum();
                if objective.is_finite() && values.iter().all(|value| value.is_finite()) {
                    Status::Optimal(Solution { objective, values })
                } else {
                    Status::Unknown(Reason::Unexpected)
                }
            }
            Ended::Infeasible(_) => Status::Infeasible,
            Ended::Unknown => spent.into_inner().unwrap_or(Status::Unknown(Reason::Numerical)),
        }
    }
}
