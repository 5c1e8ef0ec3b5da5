//! A linear program whose answers a journal may know.
//!
//! A solver keeps its basis between two solves, so a solve that is left out would change the answers that come after it. Therefore nothing is left out, it is put off: what is
//! done to the program waits, and is done when an answer is needed that the journal does not have. What was tried and taken back by then is never done.
//!
//! Weights from a journal are hints, as those of a solver are. That there are none comes with the rows that show it, which are added up again.

use std::collections::HashMap;
use std::sync::Arc;

use secateur_certificate::FileDigest;
use secateur_lp::{Growing, Limits, LinearSolver, Saved, Sign, Solution, Status};
use secateur_oracle::Out;

use crate::journal::{Journal, Key, Program};

/// Sums of floats that should be zero are, up to this share of their parts.
const ZERO: f64 = 1e-6;

/// A program, with a journal or without.
pub(super) enum Solver {
    Alone(Box<dyn Growing>),
    Recalling(Box<Recalling>),
}

/// What a program goes back to.
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

/// Something that is done to a program.
#[derive(Clone, Debug)]
enum Act {
    Row(Vec<f64>, f64),
    Bound(usize, f64),
    Hold(usize),
    Save(u64),
    Restore(u64),
    Solve,
}

/// A program that does nothing before it has to.
pub(super) struct Recalling {
    program: Box<dyn Growing>,
    journal: Arc<Journal>,
    /// A digest of all that was done, in its order.
    history: Key,
    /// What is not done yet.
    waiting: Vec<Act>,
    saved: HashMap<u64, Saved>,
    marks: u64,
    signs: Vec<Sign>,
    held: Vec<bool>,
    /// All rows with their bounds as they are now, to add up what shows that there is no answer.
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

    /// Rows and bounds stay; all else that came after the mark is taken back.
    fn restore(&mut self, number: u64, held: Vec<bool>) {
        self.act(Act::Restore(number));
        self.held = held;
        let mark = self.waiting.iter().position(|act| matches!(act, Act::Save(own) if *own == number));
        let behind = self.waiting.split_off(mark.unwrap_or(0));
        self.waiting.extend(behind.into_iter().filter(|act| match act {
            Act::Row(..) | Act::Bound(..) => true,
            // Where the mark was never made there is nothing to go back to.
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

    /// Does what waits; the answer of the last solve.
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
                // A limit that ends this one ends those behind it too.
                Act::Solve => last = self.program.solve(limits),
            }
        }
        last
    }

    /// An answer of the journal, where it could be one: weights are hints, and that there are none is added up.
    fn believed(&self, known: Program) -> Option<Status> {
        match known {
            Program::Optimal(values) => (values.len() == self.signs.len())
                .then_some(Status::Optimal(Solution { objective: 0.0, values })),
            Program::Infeasible(rows) => self.contradicts(&rows).then_some(Status::Infeasible),
        }
    }

    /// Can no point meet the sum of these rows, with these multipliers?
    fn contradicts(&self, rows: &[(usize, f64)]) -> bool {
        // What is above zero beyond rounding, and what is zero up to it.
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
