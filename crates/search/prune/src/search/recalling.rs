//! A linear program whose answers a journal may hold.
//!
//! A solver keeps its basis between two solves, so skipping a solve would change the answers of
//! later ones. Edits and solves are therefore queued, not skipped: they are applied, in order, only
//! when the journal lacks an answer. Edits undone before that are dropped.
//!
//! Weights from a journal are hints, as those of a solver are. An answer that no weights exist
//! comes with the rows that show it, and their sum is checked again.

use std::collections::HashMap;
use std::sync::Arc;

use secateur_certificate::FileDigest;
use secateur_lp::{Growing, Limits, LinearSolver, Saved, Sign, Solution, Status};
use secateur_oracle::Out;

use crate::journal::{Journal, Key, Program};

/// A sum of floats counts as zero up to this share of the sum of the magnitudes of its terms.
const ZERO: f64 = 1e-6;

/// A program, without a journal or with one.
pub(super) enum Solver {
    Alone(Box<dyn Growing>),
    Recalling(Box<Recalling>),
}

/// A saved state that a program can be restored to.
pub(crate) enum Mark {
    Alone(Saved),
    Recalling { number: u64, held: Vec<bool> },
}

impl Solver {
    pub(super) fn start(
        solver: LinearSolver,
        costs: &[f64],
        signs: &[Sign],
        journal: Option<Arc<Journal>>,
    ) -> Self {
        let program = solver.start(costs, signs);
        match journal {
            None => Self::Alone(program),
            Some(journal) => Self::Recalling(Box::new(Recalling::new(program, costs, signs, journal))),
        }
    }

    pub(super) fn add_row(&mut self, coefficients: &[f64], bound: f64) {
        match self {
            Self::Alone(program) => program.add_row(coefficients, bound),
            Self::Recalling(program) => program.act(Act::Row(coefficients.to_vec(), bound)),
        }
    }

    pub(super) fn set_bound(&mut self, row: usize, bound: f64) {
        match self {
            Self::Alone(program) => program.set_bound(row, bound),
            Self::Recalling(program) => program.act(Act::Bound(row, bound)),
        }
    }

    pub(super) fn hold(&mut self, unknown: usize) {
        match self {
            Self::Alone(program) => program.hold(unknown),
            Self::Recalling(program) => program.act(Act::Hold(unknown)),
        }
    }

    pub(super) fn save(&mut self) -> Mark {
        match self {
            Self::Alone(program) => Mark::Alone(program.save()),
            Self::Recalling(program) => program.save(),
        }
    }

    pub(super) fn restore(&mut self, mark: Mark) {
        match (self, mark) {
            (Self::Alone(program), Mark::Alone(saved)) => program.restore(saved),
            (Self::Recalling(program), Mark::Recalling { number, held }) => program.restore(number, held),
            _ => unreachable!("a mark belongs to the program that made it"),
        }
    }

    pub(super) fn solve(&mut self, limits: &Limits<'_>) -> Status {
        match self {
            Self::Alone(program) => program.solve(limits),
            Self::Recalling(program) => program.solve(limits),
        }
    }
}

/// The coefficients of a row, and its bound.
type Row = (Vec<f64>, f64);

/// An operation on a program.
#[derive(Clone, Debug)]
enum Act {
    Row(Vec<f64>, f64),
    Bound(usize, f64),
    Hold(usize),
    Save(u64),
    Restore(u64),
    Solve,
}

/// A program that queues operations until the journal lacks an answer.
pub(super) struct Recalling {
    program: Box<dyn Growing>,
    journal: Arc<Journal>,
    /// A digest of all operations, in order.
    history: Key,
    /// Operations that are not applied yet.
    waiting: Vec<Act>,
    saved: HashMap<u64, Saved>,
    marks: u64,
    signs: Vec<Sign>,
    held: Vec<bool>,
    /// All rows with their present bounds, for checking that a combination of them has no solution.
    rows: Vec<Row>,
}

impl Recalling {
    fn new(program: Box<dyn Growing>, costs: &[f64], signs: &[Sign], journal: Arc<Journal>) -> Self {
        let mut out = Out::default();
        out.list(costs, |out, &cost| out.float(cost));
        out.list(signs, |out, sign| out.byte(*sign as u8));
        Self {
            program,
            journal,
            history: FileDigest::of(&out.0).0,
            waiting: Vec::new(),
            saved: HashMap::new(),
            marks: 0,
            signs: signs.to_vec(),
            held: vec![false; signs.len()],
            rows: Vec::new(),
        }
    }

    fn act(&mut self, act: Act) {
        let mut out = Out::default();
        out.raw(&self.history);
        match &act {
            Act::Row(coefficients, bound) => {
                out.byte(0);
                out.list(coefficients, |out, &value| out.float(value));
                out.float(*bound);
                self.rows.push((coefficients.clone(), *bound));
            }
            Act::Bound(row, bound) => {
                out.byte(1);
                out.number(*row as u64);
                out.float(*bound);
                if let Some(own) = self.rows.get_mut(*row) {
                    own.1 = *bound;
                }
            }
            Act::Hold(unknown) => {
                out.byte(2);
                out.number(*unknown as u64);
                self.held[*unknown] = true;
            }
            Act::Save(number) => {
                out.byte(3);
                out.number(*number);
            }
            Act::Restore(number) => {
                out.byte(4);
                out.number(*number);
            }
            Act::Solve => out.byte(5),
        }
        self.history = FileDigest::of(&out.0).0;
        self.waiting.push(act);
    }

    fn save(&mut self) -> Mark {
        self.marks += 1;
        self.act(Act::Save(self.marks));
        Mark::Recalling { number: self.marks, held: self.held.clone() }
    }

    /// Undoes what came after the mark, except new rows and bounds.
    fn restore(&mut self, number: u64, held: Vec<bool>) {
        self.act(Act::Restore(number));
        self.held = held;
        let mark = self.waiting.iter().position(|act| matches!(act, Act::Save(own) if *own == number));
        let behind = self.waiting.split_off(mark.unwrap_or(0));
        self.waiting.extend(behind.into_iter().filter(|act| match act {
            Act::Row(..) | Act::Bound(..) => true,
            // A restore is needed only if its save was applied already.
            Act::Restore(own) => *own == number && mark.is_none(),
            Act::Hold(_) | Act::Save(_) | Act::Solve => false,
        }));
    }

    fn solve(&mut self, limits: &Limits<'_>) -> Status {
        self.act(Act::Solve);
        let key = self.history;
        let known = self.journal.program(&key).and_then(|known| self.believed(known));
        if let Some(status) = known {
            return status;
        }
        let status = self.catch_up(limits);
        match &status {
            Status::Optimal(solution) => {
                self.journal.note_program(key, Program::Optimal(solution.values.clone()));
            }
            Status::Infeasible => {
                let rows = self.program.contradiction(limits);
                rows.into_iter().for_each(|rows| self.journal.note_program(key, Program::Infeasible(rows)));
            }
            _ => {}
        }
        status
    }

    /// Applies the queued operations, and returns the answer of the last solve.
    fn catch_up(&mut self, limits: &Limits<'_>) -> Status {
        let mut last = Status::Infeasible;
        for act in std::mem::take(&mut self.waiting) {
            match act {
                Act::Row(coefficients, bound) => self.program.add_row(&coefficients, bound),
                Act::Bound(row, bound) => self.program.set_bound(row, bound),
                Act::Hold(unknown) => self.program.hold(unknown),
                Act::Save(number) => {
                    self.saved.insert(number, self.program.save());
                }
                Act::Restore(number) => {
                    let saved = self.saved.get(&number).expect("what is restored was saved before").clone();
                    self.program.restore(saved);
                }
                // A limit that ends this solve ends the later ones too.
                Act::Solve => last = self.program.solve(limits),
            }
        }
        last
    }

    /// The journal's answer as a status, if it can be right: weights are hints, and a contradiction
    /// is checked by adding up its rows.
    fn believed(&self, known: Program) -> Option<Status> {
        match known {
            Program::Optimal(values) => (values.len() == self.signs.len())
                .then_some(Status::Optimal(Solution { objective: 0.0, values })),
            Program::Infeasible(rows) => self.contradicts(&rows).then_some(Status::Infeasible),
        }
    }

    /// Do these rows, added up with these multipliers, have no solution?
    fn contradicts(&self, rows: &[(usize, f64)]) -> bool {
        // The sum and the sum of magnitudes, for telling a positive or zero sum from rounding.
        let sum = |part: &dyn Fn(&Row) -> f64| {
            let mut sums = (0.0, 0.0);
            for &(row, multiplier) in rows {
                let value = self.rows.get(row).map_or(f64::NAN, part) * multiplier;
                sums = (sums.0 + value, sums.1 + value.abs());
            }
            sums
        };
        let positive = rows.iter().all(|(_, multiplier)| *multiplier > 0.0);
        let (bound, parts) = sum(&|(_, bound)| *bound);
        let unknowns = (0..self.signs.len()).filter(|&unknown| !self.held[unknown]);
        positive && bound > ZERO * parts && {
            let mut unknowns = unknowns;
            unknowns.all(|unknown| {
                let (total, parts) = sum(&|(coefficients, _)| coefficients[unknown]);
                match self.signs[unknown] {
                    Sign::Nonnegative => total <= ZERO * parts,
                    Sign::Free => total.abs() <= ZERO * parts,
                    Sign::Held => true,
                }
            })
        }
    }
}
