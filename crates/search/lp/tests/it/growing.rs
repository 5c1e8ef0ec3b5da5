//! The solver of growing programs: random programs compared with a solver that gets each program
//! whole, held unknowns, bounds and limits.

use std::cell::Cell;
use std::time::{Duration, Instant};

use fastrand::Rng;
use microlp::{ComparisonOp, OptimizationDirection, Problem, Variable};
use secateur_lp::{Error, Growing, Limits, Reason, Sign, Solution, Status, simplex};

use crate::reference::smallest_cost;

/// The program that the solver should have at this point.
#[derive(Clone)]
struct Expected {
    costs: Vec<f64>,
    signs: Vec<Sign>,
    rows: Vec<(Vec<f64>, f64)>,
}

impl Expected {
    fn start(&self) -> Box<dyn Growing> {
        let mut program = simplex(&self.costs, &self.signs);
        for (row, bound) in &self.rows {
            program.add_row(row, *bound);
        }
        program
    }

    /// The smallest cost, from a solver that gets the whole program.
    fn reference(&self) -> Option<f64> {
        let mut problem = Problem::new(OptimizationDirection::Minimize);
        let unknown = |(&cost, sign): (&f64, &Sign)| match sign {
            Sign::Nonnegative => problem.add_var(cost, (0.0, f64::INFINITY)),
            Sign::Free => problem.add_var(0.0, (f64::NEG_INFINITY, f64::INFINITY)),
            Sign::Held => problem.add_var(cost, (0.0, 0.0)),
        };
        let unknowns: Vec<Variable> = self.costs.iter().zip(&self.signs).map(unknown).collect();
        for (row, bound) in &self.rows {
            let terms: Vec<_> = unknowns.iter().copied().zip(row.iter().copied()).collect();
            problem.add_constraint(terms, ComparisonOp::Ge, *bound);
        }
        smallest_cost(&problem)
    }

    /// Checks that this is a point of the program, up to rounding, with the objective that it
    /// states.
    fn check_point(&self, solution: &Solution) {
        assert_eq!(solution.values.len(), self.signs.len());
        for (row, bound) in &self.rows {
            let value: f64 = row.iter().zip(&solution.values).map(|(a, x)| a * x).sum();
            assert!(value >= bound - 1e-6, "{value} is less than {bound}");
        }
        for (value, sign) in solution.values.iter().zip(&self.signs) {
            match sign {
                Sign::Nonnegative => assert!(*value >= 0.0),
                Sign::Free => {}
                Sign::Held => assert_eq!(*value, 0.0),
            }
        }
        let paid = |(&cost, sign): (&f64, &Sign)| if *sign == Sign::Free { 0.0 } else { cost };
        let prices = self.costs.iter().zip(&self.signs).map(paid);
        let cost: f64 = prices.zip(&solution.values).map(|(price, value)| price * value).sum();
        assert!((cost - solution.objective).abs() <= 1e-6 * (1.0 + cost.abs()));
    }
}

#[test]
fn random_programs_that_grow_have_the_answers_of_programs_given_whole() {
    let (mut optimal, mut infeasible) = (0, 0);
    for seed in 0..200 {
        let mut rng = Rng::with_seed(seed);
        let count = rng.usize(1..12);
        let mut expected = Expected {
            costs: (0..count).map(|_| rng.f64() + 0.1).collect(),
            signs: vec![Sign::Nonnegative; count],
            rows: Vec::new(),
        };
        if rng.bool() {
            expected.signs[rng.usize(0..count)] = Sign::Free;
        }
        let mut program = expected.start();
        // A hidden point makes about half of the programs feasible.
        let hidden: Vec<f64> = (0..count).map(|_| rng.f64()).collect();
        let fair = rng.bool();
        let mut saved = None;
        for round in 0..5 {
            for _ in 0..rng.usize(1..10) {
                let row: Vec<f64> = (0..count).map(|_| f64::from(rng.i32(-3..=3)) * 0.5).collect();
                let value: f64 = row.iter().zip(&hidden).map(|(a, x)| a * x).sum();
                let row: Vec<f64> = if fair && value < 0.0 { row.iter().map(|a| -a).collect() } else { row };
                let bound = if fair { value.abs() } else { rng.f64() };
                program.add_row(&row, bound);
                expected.rows.push((row, bound));
            }
            match round {
                1 => {
                    saved = Some((program.save(), expected.signs.clone()));
                    for _ in 0..rng.usize(1..3) {
                        let unknown = rng.usize(0..count);
                        program.hold(unknown);
                        expected.signs[unknown] = Sign::Held;
                    }
                }
                2 => {
                    let row = rng.usize(0..expected.rows.len());
                    expected.rows[row].1 *= 0.5;
                    program.set_bound(row, expected.rows[row].1);
                }
                3 => {
                    if let Some((state, signs)) = saved.take() {
                        program.restore(state);
                        expected.signs = signs;
                    }
                }
                _ => {}
            }
            let reference = expected.reference();
            match (program.solve(&Limits::none()), reference) {
                (Status::Optimal(found), Some(best)) => {
                    optimal += 1;
                    expected.check_point(&found);
                    // The simplex breaks ties by changing costs by up to 1e-4 of themselves.
                    let near = 1e-2 * best.abs() + 1e-2;
                    assert!((found.objective - best).abs() < near, "{seed}: {found:?} {best:?}");
                }
                (Status::Infeasible, None) => {
                    infeasible += 1;
                }
                (found, other) => panic!("{seed}, round {round}: {found:?} but {other:?}"),
            }
        }
    }
    assert!(optimal > 150 && infeasible > 150, "{optimal} {infeasible}");
}

#[test]
fn what_has_few_parts_is_answered_too() {
    let mut empty = simplex(&[], &[]);
    let point = Solution { objective: 0.0, values: vec![] };
    assert_eq!(empty.solve(&Limits::none()), Status::Optimal(point.clone()));
    empty.add_row(&[], -1.0);
    assert_eq!(empty.solve(&Limits::none()), Status::Optimal(point));
    empty.add_row(&[], 1.0);
    assert_eq!(empty.solve(&Limits::none()), Status::Infeasible);
    let mut one = simplex(&[2.0, 0.0], &[Sign::Nonnegative, Sign::Free]);
    let origin = Solution { objective: 0.0, values: vec![0.0, 0.0] };
    assert_eq!(one.solve(&Limits::none()), Status::Optimal(origin.clone()));
    one.add_row(&[0.0, 0.0], 0.0);
    assert_eq!(one.solve(&Limits::none()), Status::Optimal(origin));
    one.add_row(&[0.0, 0.0], 0.5);
    assert_eq!(one.solve(&Limits::none()), Status::Infeasible);
}

#[test]
fn an_unknown_that_must_be_held_and_cannot_be_is_infeasible() {
    let mut program = simplex(&[1.0, 3.0], &[Sign::Nonnegative; 2]);
    program.add_row(&[1.0, 1.0], 1.0);
    let optimal = |status: Status| match status {
        Status::Optimal(solution) => solution.values,
        other => panic!("{other:?}"),
    };
    let near = |found: Vec<f64>, wanted: [f64; 2]| {
        assert!(found.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-6), "{found:?}");
    };
    near(optimal(program.solve(&Limits::none())), [1.0, 0.0]);
    let both = program.save();
    program.hold(0);
    near(optimal(program.solve(&Limits::none())), [0.0, 1.0]);
    let second = program.save();
    program.hold(1);
    assert_eq!(program.solve(&Limits::none()), Status::Infeasible);
    program.restore(second);
    program.set_bound(0, 2.0);
    near(optimal(program.solve(&Limits::none())), [0.0, 2.0]);
    program.restore(both);
    near(optimal(program.solve(&Limits::none())), [2.0, 0.0]);
}

#[test]
fn what_is_no_program_is_unknown_and_never_infeasible() {
    type Edit = fn(&mut dyn Growing);
    let edits: [(Edit, Error); 6] = [
        (|program| program.add_row(&[1.0], 1.0), Error::RowLength { row: 1, coefficients: 1, columns: 2 }),
        (
            |program| program.add_row(&[1.0, f64::INFINITY], 1.0),
            Error::Coefficient { row: 1, column: 1, value: f64::INFINITY },
        ),
        (
            |program| program.add_row(&[1.0, 1.0], f64::INFINITY),
            Error::RowBound { row: 1, value: f64::INFINITY },
        ),
        (|program| program.set_bound(0, 1e16), Error::RowBound { row: 0, value: 1e16 }),
        (|program| program.set_bound(1, 1.0), Error::RowIndex { row: 1, rows: 1 }),
        (|program| program.hold(2), Error::HeldColumn { column: 2, columns: 2 }),
    ];
    for (edit, error) in &edits {
        let mut program = simplex(&[1.0, 1.0], &[Sign::Nonnegative; 2]);
        program.add_row(&[-1.0, 0.0], 1.0);
        edit(program.as_mut());
        let answer = Status::Unknown(Reason::Invalid(*error));
        assert_eq!(program.solve(&Limits::none()), answer);
        program.add_row(&[1.0, 0.0], 1.0);
        assert_eq!(program.solve(&Limits::none()), answer, "the first reason stays");
    }
    let costs: [(&[f64], Error); 3] = [
        (&[1.0, -1.0], Error::NegativeCost { column: 1, value: -1.0 }),
        (&[f64::INFINITY, 1.0], Error::Cost { column: 0, value: f64::INFINITY }),
        (&[1.0], Error::Costs { costs: 1, columns: 2 }),
    ];
    for (costs, error) in costs {
        let mut program = simplex(costs, &[Sign::Nonnegative; 2]);
        program.add_row(&[-1.0, -1.0], 1.0);
        assert_eq!(program.solve(&Limits::none()), Status::Unknown(Reason::Invalid(error)));
    }
    let mut program = simplex(&[1.0], &[Sign::Nonnegative]);
    program.add_row(&[f64::NAN], 1.0);
    assert!(matches!(program.solve(&Limits::none()), Status::Unknown(Reason::Invalid(_))));
}

/// Many dense rows, feasible or not.
fn large(rng: &mut Rng, count: usize, rows: usize, feasible: bool) -> Expected {
    let hidden: Vec<f64> = (0..count).map(|_| rng.f64()).collect();
    let row = |rng: &mut Rng| {
        let row: Vec<f64> = (0..count).map(|_| rng.f64() - 0.5).collect();
        let value: f64 = row.iter().zip(&hidden).map(|(a, x)| a * x).sum();
        if feasible && value < 0.0 {
            (row.iter().map(|a| -a).collect(), -value)
        } else {
            (row, if feasible { value } else { 1.0 })
        }
    };
    let rows = (0..rows).map(|_| row(rng)).collect();
    Expected { costs: vec![1.0; count], signs: vec![Sign::Nonnegative; count], rows }
}

#[test]
fn limits_end_a_solve_and_say_nothing_of_the_program() {
    let mut rng = Rng::with_seed(4);
    for feasible in [true, false] {
        let mut program = large(&mut rng, 40, 400, feasible).start();
        assert_eq!(program.solve(&Limits::until(Instant::now())), Status::TimeLimit);
        assert_eq!(program.solve(&Limits::none().or_when(&|| true)), Status::Interrupted);
        // Afterwards the program is unchanged.
        let answer = program.solve(&Limits::none());
        let fits = if feasible { matches!(answer, Status::Optimal(_)) } else { answer == Status::Infeasible };
        assert!(fits, "{answer:?}");
    }
}

#[test]
fn a_switch_that_was_on_for_a_moment_is_an_interruption() {
    let mut rng = Rng::with_seed(5);
    // The solver asks several times; once it has seen the switch on, it must not continue as if it
    // had only failed.
    let mut program = large(&mut rng, 60, 800, true).start();
    let asked = Cell::new(0);
    let second = || {
        asked.set(asked.get() + 1);
        asked.get() == 3
    };
    assert_eq!(program.solve(&Limits::none().or_when(&second)), Status::Interrupted);
}

#[test]
fn a_deadline_is_kept_up_to_a_slice() {
    let mut rng = Rng::with_seed(6);
    let mut program = large(&mut rng, 150, 4000, true).start();
    let started = Instant::now();
    let status = program.solve(&Limits::within(Duration::from_millis(20)));
    assert!(matches!(status, Status::TimeLimit | Status::Optimal(_)), "{status:?}");
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
}
