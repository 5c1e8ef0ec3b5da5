//! One suite for every back end: statuses, edits compared with rebuilt problems, random problems
//! compared with enumeration.

use std::cell::Cell;
use std::time::{Duration, Instant};

use secateur_lp::{BackEnd, Column, Error, Limits, Problem, Reason, Row, Sense, Solution, Status};

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

/// Two columns that cost 1 and 2; their sum is at least 4, and the first is at most 3.
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
    type Edit = fn(&mut dyn secateur_lp::Solver);
    let edits: [(Edit, Error); 4] = [
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

#[test]
fn without_rows_or_columns_there_is_still_an_answer() {
    each(|back_end| {
        assert_eq!(
            solve(back_end, &Problem::new()),
            Status::Optimal(Solution { objective: 0.0, values: vec![] })
        );
        let only = |row| Problem { columns: vec![], rows: vec![row] };
        assert_eq!(solve(back_end, &only(Row::at_least(vec![], 1.0))), Status::Infeasible);
        assert!(matches!(solve(back_end, &only(Row::at_least(vec![], -1.0))), Status::Optimal(_)));
        let free = |cost| Problem { columns: vec![Column::real(cost, -2.0, 3.0)], rows: vec![] };
        assert_eq!(optimal(solve(back_end, &free(1.0))).values, [-2.0]);
        assert_eq!(optimal(solve(back_end, &free(-1.0))).values, [3.0]);
        let crossed = Problem { columns: vec![Column::real(0.0, 1.0, 0.0)], rows: vec![] };
        assert_eq!(solve(back_end, &crossed), Status::Infeasible);
        // A row whose terms cancel, so that it has no columns.
        let mut cancelled = free(1.0);
        cancelled.row(Row::equal(vec![(0, 1.0), (0, -1.0)], 1.0));
        assert_eq!(solve(back_end, &cancelled), Status::Infeasible);
    });
}

#[test]
fn a_degenerate_problem_ends() {
    // Beale's example, on which the textbook simplex cycles.
    let columns = [-0.75, 150.0, -0.02, 6.0].map(|cost| Column::real(cost, 0.0, f64::INFINITY));
    let rows = vec![
        Row::at_most(vec![(0, 0.25), (1, -60.0), (2, -0.04), (3, 9.0)], 0.0),
        Row::at_most(vec![(0, 0.5), (1, -90.0), (2, -0.02), (3, 3.0)], 0.0),
        Row::at_most(vec![(2, 1.0)], 1.0),
    ];
    let problem = Problem { columns: columns.to_vec(), rows };
    each(|back_end| assert_close(optimal(solve(back_end, &problem)).objective, -0.05));
}

#[test]
fn random_problems_agree_with_their_vertices() {
    let mut random = fastrand::Rng::with_seed(11);
    let (mut solved, mut infeasible) = (0, 0);
    for case in 0..300 {
        let columns = 1 + case % 3;
        // Every tenth problem has more rows than a back end starts with.
        let rows = if case % 10 == 0 { 40 } else { random.usize(0..6) };
        let stated = random_problem(&mut random, columns, rows);
        let expected = best_vertex(&stated);
        each(|back_end| match (solve(back_end, &stated), expected) {
            (Status::Optimal(solution), Some(objective)) => assert_close(solution.objective, objective),
            (Status::Infeasible, None) => {}
            (status, expected) => panic!("{case}: {status:?}, but the vertices say {expected:?}"),
        });
        if expected.is_some() { solved += 1 } else { infeasible += 1 }
    }
    assert!(solved > 100 && infeasible > 50, "{solved} and {infeasible}");
}

#[test]
fn edits_equal_a_rebuild() {
    let mut random = fastrand::Rng::with_seed(12);
    for case in 0..30 {
        let stated = random_problem(&mut random, 2 + case % 2, 3);
        let bounds = stated.columns.clone();
        each(|back_end| {
            let mut random = fastrand::Rng::with_seed(case as u64);
            let mut stated = stated.clone();
            let mut solver = back_end.start(stated.clone());
            for step in 0..25 {
                let column = random.usize(0..stated.columns.len());
                match random.usize(0..5) {
                    0 | 1 => {
                        let row = random_row(&mut random, stated.columns.len());
                        stated.row(row.clone());
                        solver.add_row(row);
                    }
                    2 => {
                        let value = f64::from(random.i32(0..=2));
                        (stated.columns[column].lower, stated.columns[column].upper) = (value, value);
                        if value > bounds[column].upper {
                            // The column cannot have this value, so state bounds that no vertex
                            // meets.
                            stated.columns[column].upper = value - 1.0;
                        }
                        solver.fix(column, value);
                    }
                    3 => {
                        let cost = stated.columns[column].cost;
                        stated.columns[column] = Column { cost, ..bounds[column] };
                        solver.unfix(column);
                    }
                    _ => {
                        stated.columns[column].cost = f64::from(random.i32(-3..=3));
                        let costs: Vec<f64> = stated.columns.iter().map(|column| column.cost).collect();
                        solver.set_costs(&costs);
                    }
                }
                match (solver.solve(&Limits::none()), best_vertex(&stated)) {
                    (Status::Optimal(solution), Some(objective)) => {
                        assert_close(solution.objective, objective)
                    }
                    (Status::Infeasible, None) => {}
                    (status, expected) => panic!("{case}.{step}: {status:?}, not {expected:?}"),
                }
            }
        });
    }
}

#[test]
fn the_scale_of_a_row_does_not_matter() {
    let mut random = fastrand::Rng::with_seed(13);
    for case in 0..200 {
        let stated = random_problem(&mut random, 3, 5);
        let expected = best_vertex(&stated);
        let mut skewed = stated.clone();
        for row in &mut skewed.rows {
            let factor = 10.0_f64.powi(random.i32(-7..=7));
            row.terms.iter_mut().for_each(|(_, coefficient)| *coefficient *= factor);
            row.bound *= factor;
        }
        each(|back_end| match (solve(back_end, &skewed), expected) {
            (Status::Optimal(solution), Some(objective)) => assert_close(solution.objective, objective),
            (Status::Infeasible, None) => {}
            (status, expected) => panic!("{case}: {status:?}, not {expected:?}"),
        });
    }
}

#[test]
fn random_integer_problems_agree_with_enumeration() {
    let mut random = fastrand::Rng::with_seed(14);
    for case in 0..60 {
        let columns = 2 + case % 9;
        let mut stated = Problem::new();
        for _ in 0..columns {
            stated.column(Column::binary(f64::from(random.i32(-5..=5))));
        }
        for _ in 0..random.usize(1..4) {
            stated.row(random_row(&mut random, columns));
        }
        let holds = |row: &Row, set: u32| {
            let sum: f64 =
                row.terms.iter().filter(|(column, _)| set >> column & 1 == 1).map(|term| term.1).sum();
            match row.sense {
                Sense::AtLeast => sum >= row.bound,
                Sense::AtMost => sum <= row.bound,
                Sense::Equal => sum == row.bound,
            }
        };
        let cost = |set: u32| -> f64 {
            (0..columns)
                .filter(|column| set >> column & 1 == 1)
                .map(|column| stated.columns[column].cost)
                .sum()
        };
        let expected = (0..1_u32 << columns)
            .filter(|&set| stated.rows.iter().all(|row| holds(row, set)))
            .map(cost)
            .reduce(f64::min);
        each(|back_end| match (solve(back_end, &stated), expected) {
            (Status::Optimal(solution), Some(objective)) => assert_eq!(solution.objective, objective),
            (Status::Infeasible, None) => {}
            (status, expected) => panic!("{case}: {status:?}, not {expected:?}"),
        });
    }
}

#[test]
fn a_deadline_and_a_switch_end_a_long_search() {
    let hard = market_split(5, 40);
    each(|back_end| {
        let mut solver = back_end.start(hard.clone());
        let past = Instant::now();
        assert_eq!(solver.solve(&Limits::until(past)), Status::TimeLimit);
        assert_eq!(solver.solve(&Limits::none().or_when(&|| true)), Status::Interrupted);

        let started = Instant::now();
        assert_eq!(solver.solve(&Limits::within(Duration::from_millis(300))), Status::TimeLimit);
        assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
        // With all columns zero and the slacks equal to the sums, every search has a point at once.
        let incumbent = solver.incumbent().expect("a point").clone();
        assert!(incumbent.objective > 0.0);
        assert!(solver.lower_bound().is_none_or(|bound| bound <= incumbent.objective));

        let calls = Cell::new(0);
        let stop = || calls.replace(calls.get() + 1) >= 1;
        assert_eq!(solver.solve(&Limits::none().or_when(&stop)), Status::Interrupted);
    });
}

/// Rows of random numbers, each of which the same set should split in half, up to a slack that
/// costs: hard for any branch and bound.
fn market_split(rows: usize, columns: usize) -> Problem {
    let mut random = fastrand::Rng::with_seed(15);
    let mut problem = Problem::new();
    for _ in 0..columns {
        problem.column(Column::binary(0.0));
    }
    for _ in 0..rows {
        let mut terms: Vec<(usize, f64)> =
            (0..columns).map(|column| (column, f64::from(random.i32(0..100)))).collect();
        let half = (terms.iter().map(|term| term.1).sum::<f64>() / 2.0).floor();
        terms.push((problem.column(Column::real(1.0, 0.0, f64::INFINITY)), 1.0));
        terms.push((problem.column(Column::real(1.0, 0.0, f64::INFINITY)), -1.0));
        problem.row(Row::equal(terms, half));
    }
    problem
}

/// Small integers throughout; all columns are between zero and at most three.
fn random_problem(random: &mut fastrand::Rng, columns: usize, rows: usize) -> Problem {
    let mut problem = Problem::new();
    for _ in 0..columns {
        let cost = f64::from(random.i32(-3..=3));
        problem.column(Column::real(cost, 0.0, f64::from(random.i32(1..=3))));
    }
    let many = rows > 10;
    for _ in 0..rows {
        let mut row = random_row(random, columns);
        if many {
            // With this many rows there are points only if each row allows much.
            row.bound += if row.sense == Sense::AtLeast { -4.0 } else { 4.0 };
            row.sense = if row.sense == Sense::Equal { Sense::AtMost } else { row.sense };
        }
        problem.row(row);
    }
    problem
}

fn random_row(random: &mut fastrand::Rng, columns: usize) -> Row {
    let terms = (0..columns).map(|column| (column, f64::from(random.i32(-3..=3)))).collect();
    let bound = f64::from(random.i32(-4..=4));
    match random.u32(0..7) {
        0 => Row::equal(terms, bound),
        1..=3 => Row::at_least(terms, bound - 2.0),
        _ => Row::at_most(terms, bound + 2.0),
    }
}

/// The least objective among the vertices, in integers: each choice of as many tight rows or bounds
/// as there are columns, solved by Cramer's rule. The columns are bounded, so a problem without
/// vertices has no point.
fn best_vertex(problem: &Problem) -> Option<f64> {
    let columns = problem.columns.len();
    let mut planes: Vec<(Vec<i128>, Sense, i128)> = Vec::new();
    for (index, column) in problem.columns.iter().enumerate() {
        let unit: Vec<i128> = (0..columns).map(|other| i128::from(other == index)).collect();
        planes.push((unit.clone(), Sense::AtLeast, column.lower as i128));
        planes.push((unit, Sense::AtMost, column.upper as i128));
    }
    for row in &problem.rows {
        let mut dense = vec![0; columns];
        row.terms.iter().for_each(|&(column, coefficient)| dense[column] += coefficient as i128);
        planes.push((dense, row.sense, row.bound as i128));
    }
    let mut best: Option<f64> = None;
    let mut chosen: Vec<usize> = (0..columns).collect();
    loop {
        let matrix: Vec<Vec<i128>> = chosen.iter().map(|&plane| planes[plane].0.clone()).collect();
        let divisor = determinant(&matrix);
        if divisor != 0 {
            let sign = divisor.signum();
            let point: Vec<i128> = (0..columns)
                .map(|column| {
                    let mut replaced = matrix.clone();
                    for (row, &plane) in replaced.iter_mut().zip(&chosen) {
                        row[column] = planes[plane].2;
                    }
                    determinant(&replaced) * sign
                })
                .collect();
            let holds = |(normal, sense, bound): &(Vec<i128>, Sense, i128)| {
                let sum: i128 = normal.iter().zip(&point).map(|(one, other)| one * other).sum();
                match sense {
                    Sense::AtLeast => sum >= bound * divisor.abs(),
                    Sense::AtMost => sum <= bound * divisor.abs(),
                    Sense::Equal => sum == bound * divisor.abs(),
                }
            };
            if planes.iter().all(holds) {
                let costs = problem.columns.iter().map(|column| column.cost as i128);
                let objective: i128 = costs.zip(&point).map(|(cost, value)| cost * value).sum();
                let objective = objective as f64 / divisor.abs() as f64;
                best = Some(best.map_or(objective, |best| best.min(objective)));
            }
        }
        // Advance to the next choice in order.
        let Some(at) = (0..columns).rev().find(|&at| chosen[at] < planes.len() - columns + at) else {
            return best;
        };
        chosen[at] += 1;
        for later in at + 1..columns {
            chosen[later] = chosen[later - 1] + 1;
        }
    }
}

fn determinant(matrix: &[Vec<i128>]) -> i128 {
    match matrix {
        [] => 1,
        [first, rest @ ..] => (0..first.len())
            .map(|column| {
                let minor: Vec<Vec<i128>> = (rest.iter())
                    .map(|row| {
                        row.iter().enumerate().filter(|&(at, _)| at != column).map(|(_, &v)| v).collect()
                    })
                    .collect();
                let sign = if column % 2 == 0 { 1 } else { -1 };
                sign * first[column] * determinant(&minor)
            })
            .sum(),
    }
}
