//! One suite for every back end: statuses, edits against rebuilds, random problems against enumeration.

use secateur_lp::{BackEnd, Column, Error, Limits, Problem, Reason, Row, Solution, Status};

/// Runs a test once per back end.
fn each(test: impl Fn(BackEnd)) {
    for &back_end in BackEnd::all() {
        test(back_end);
    }
}

fn solve(back_end: BackEnd, problem: &Problem) -> Status {
    back_end.start(problem.clone()).solve(&Limits::none())
}

fn optimal(status: Status) -> Solution {
    match status {
        Status::Optimal(solution) => solution,
        other => panic!("expected an optimum, got {other:?}"),
    }
}

fn assert_close(left: f64, right: f64) {
    assert!((left - right).abs() <= 1e-6 * (1.0 + left.abs().max(right.abs())), "{left} is not {right}");
}

/// Two columns that cost 1 and 2, their sum at least 4, the first at most 3.
fn small() -> Problem {
    Problem {
        columns: vec![Column::real(1.0, 0.0, 3.0), Column::real(2.0, 0.0, f64::INFINITY)],
        rows: vec![Row::at_least(vec![(0, 1.0), (1, 1.0)], 4.0)],
    }
}

#[test]
fn an_optimum_comes_with_its_point() {
    each(|back_end| {
        let solution = optimal(solve(back_end, &small()));
        assert_close(solution.objective, 5.0);
        assert_close(solution.values[0], 3.0);
        assert_close(solution.values[1], 1.0);
    });
}

#[test]
fn rows_that_exclude_each_other_are_infeasible() {
    each(|back_end| {
        let mut problem = small();
        problem.row(Row::at_most(vec![(0, 1.0), (1, 1.0)], 3.0));
        assert_eq!(solve(back_end, &problem), Status::Infeasible);
    });
}

#[test]
fn an_objective_that_falls_without_end_is_unbounded() {
    each(|back_end| {
        let mut problem = small();
        problem.columns[1].cost = -1.0;
        assert_eq!(solve(back_end, &problem), Status::Unbounded);
    });
}

#[test]
fn a_fix_holds_until_it_is_released() {
    each(|back_end| {
        let mut solver = back_end.start(small());
        assert_close(optimal(solver.solve(&Limits::none())).objective, 5.0);
        solver.fix(0, 0.0);
        assert_close(optimal(solver.solve(&Limits::none())).objective, 8.0);
        solver.fix(0, 1.0);
        assert_close(optimal(solver.solve(&Limits::none())).objective, 7.0);
        solver.fix(1, 1.0);
        assert_eq!(solver.solve(&Limits::none()), Status::Infeasible);
        solver.unfix(0);
        assert_close(optimal(solver.solve(&Limits::none())).objective, 5.0);
        solver.fix(1, -1.0);
        assert_eq!(solver.solve(&Limits::none()), Status::Infeasible, "outside the bounds");
        solver.unfix(1);
        solver.unfix(1);
        assert_close(optimal(solver.solve(&Limits::none())).objective, 5.0);
    });
}

#[test]
fn invalid_edits_are_answered_as_unknown_with_their_place() {
    let edits: [(fn(&mut dyn secateur_lp::Solver), Error); 4] = [
        (
            |solver| solver.add_row(Row::at_least(vec![(2, 1.0)], 0.0)),
            Error::RowColumn { row: 1, column: 2, columns: 2 },
        ),
        (|solver| solver.fix(5, 0.0), Error::FixedColumn { column: 5, columns: 2 }),
        (|solver| solver.fix(0, f64::INFINITY), Error::FixedValue { column: 0, value: f64::INFINITY }),
        (|solver| solver.set_costs(&[1.0]), Error::Costs { costs: 1, columns: 2 }),
    ];
    each(|back_end| {
        for (edit, error) in &edits {
            let mut solver = back_end.start(small());
            edit(solver.as_mut());
            assert_eq!(solver.solve(&Limits::none()), Status::Unknown(Reason::Invalid(*error)));
        }
    });
}
