//! Multipliers: margins compared with a linear program, rounded integers checked by exact sums.

use std::time::Instant;

use microlp::{ComparisonOp, OptimizationDirection, Problem, Variable};
use secateur_lp::{Error, Limits, Multipliers, Reason, Separated, Separation, Solving, round_multipliers};

use crate::reference::smallest_cost;

type Points = (Vec<Vec<f64>>, Vec<Vec<i64>>);

/// Points with small integer entries, mostly positive in one draw of three, and the intercept of
/// two classes, of more classes, or none.
fn random_points(random: &mut fastrand::Rng, points: usize, columns: usize, classes: usize) -> Points {
    let shift = if random.u32(0..3) == 0 { 3 } else { 0 };
    let entries = (0..points)
        .map(|_| (0..columns).map(|_| f64::from((random.i32(-4..=3) + shift) * random.i32(1..=2))).collect())
        .collect();
    let equality = |random: &mut fastrand::Rng| match classes {
        0 => vec![],
        2 => vec![if random.bool() { 1 } else { -1 }],
        _ => {
            let (right, other) = (random.usize(0..classes), random.usize(0..classes - 1));
            let other = if other >= right { other + 1 } else { other };
            (0..classes).map(|class| i64::from(class == right) - i64::from(class == other)).collect()
        }
    };
    (entries, (0..points).map(|_| equality(random)).collect())
}

/// The equations, each with one number for each point.
fn transposed(equalities: &[Vec<i64>]) -> Vec<Vec<i64>> {
    let equations = equalities.first().map_or(0, Vec::len);
    (0..equations).map(|equation| equalities.iter().map(|vector| vector[equation]).collect()).collect()
}

/// The largest margin, from a linear program over all points; `None` if no weights meet the
/// equations.
fn largest_margin((entries, equalities): &Points, kept: &[usize]) -> Option<f64> {
    let mut problem = Problem::new(OptimizationDirection::Minimize);
    let weights: Vec<Variable> = entries.iter().map(|_| problem.add_var(0.0, (0.0, 1.0))).collect();
    let margin = problem.add_var(-1.0, (-1.0, 1.0));
    for &column in kept {
        let scale = entries.iter().fold(0.0_f64, |scale, point| scale.max(point[column].abs()));
        if scale > 0.0 {
            let terms = weights.iter().zip(entries).map(|(&weight, point)| (weight, point[column] / scale));
            let terms: Vec<_> = terms.chain([(margin, 1.0)]).collect();
            problem.add_constraint(terms, ComparisonOp::Le, 0.0);
        }
    }
    let sum: Vec<_> = weights.iter().map(|&weight| (weight, 1.0)).collect();
    problem.add_constraint(sum, ComparisonOp::Eq, 1.0);
    for vector in transposed(equalities) {
        let terms: Vec<_> =
            weights.iter().zip(&vector).map(|(&weight, &value)| (weight, value as f64)).collect();
        problem.add_constraint(terms, ComparisonOp::Eq, 0.0);
    }
    smallest_cost(&problem).map(|cost| -cost)
}

/// Rounds the weights and checks them in integers: every kept sum is at most zero, every equation
/// is zero, and not all weights are zero.
fn assert_exact((entries, equalities): &Points, kept: &[usize], found: &Multipliers) {
    assert!(found.weights.iter().all(|&weight| weight > 0.0));
    let vectors: Vec<&[i64]> = found.points.iter().map(|&point| &equalities[point][..]).collect();
    let integers = round_multipliers(&found.weights, &vectors).expect("integers");
    assert!(integers.iter().any(|&integer| integer > 0));
    let weighted = |entry: &dyn Fn(usize) -> i128| -> i128 {
        found.points.iter().zip(&integers).map(|(&point, &integer)| i128::from(integer) * entry(point)).sum()
    };
    for &column in kept {
        assert!(weighted(&|point| entries[point][column] as i128) <= 0, "column {column}");
    }
    for vector in transposed(equalities) {
        assert_eq!(weighted(&|point| i128::from(vector[point])), 0);
    }
}

/// Checks that the weights of kept columns are not negative and have a positive sum at every point.
fn assert_solves((entries, equalities): &Points, kept: &[usize], solving: &Solving) {
    for (column, &weight) in solving.columns.iter().enumerate() {
        assert!(weight >= 0.0 && (weight == 0.0 || kept.contains(&column)), "column {column}: {weight}");
    }
    for (entries, equality) in entries.iter().zip(equalities) {
        let columns: f64 = entries.iter().zip(&solving.columns).map(|(entry, weight)| entry * weight).sum();
        let free: f64 =
            equality.iter().zip(&solving.free).map(|(&value, weight)| value as f64 * weight).sum();
        assert!(columns + free > 0.0, "{columns} and {free}");
    }
}

/// Judges an answer by the largest margin that a linear program finds, and counts the answers of
/// each kind: multipliers, weights, neither.
fn assert_right(points: &Points, kept: &[usize], answer: &Separated, counts: &mut [usize; 3]) {
    let largest = largest_margin(points, kept);
    match answer {
        Separated::Found(multipliers) => {
            assert!(largest.is_some_and(|largest| largest > 0.0), "{multipliers:?}, not {largest:?}");
            assert_exact(points, kept, multipliers);
            counts[0] += 1;
        }
        Separated::Solved(solving) => {
            assert!(largest.is_none_or(|largest| largest < 1e-6), "{largest:?}");
            assert_solves(points, kept, solving);
            counts[1] += 1;
        }
        // The best sums are zero.
        Separated::NotFound => {
            assert!(largest.is_some_and(|largest| largest.abs() < 1e-6), "{largest:?}");
            counts[2] += 1;
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_margin_is_the_largest_and_the_integers_hold_exactly() {
    let mut random = fastrand::Rng::with_seed(21);
    let mut counts = [0; 3];
    for case in 0..400 {
        let columns = random.usize(1..9);
        let count = random.usize(1..40);
        let classes = [0, 2, 2, 3, 5][case % 5];
        let points = random_points(&mut random, count, columns, classes);
        let mut separation = Separation::new(&points.0, &points.1).unwrap();
        // Ask for several sets of columns from one start.
        for _ in 0..4 {
            let kept: Vec<usize> = (0..columns).filter(|_| random.f64() < 0.8).collect();
            let largest = largest_margin(&points, &kept);
            let answer = separation.find(&kept, f64::INFINITY, &Limits::none());
            assert_right(&points, &kept, &answer, &mut counts);
            if let (Separated::Found(multipliers), Some(largest)) = (&answer, largest) {
                assert!((multipliers.margin - largest).abs() < 1e-6, "{multipliers:?}, not {largest}");
            }
            let enough = separation.find(&kept, 1e-4, &Limits::none());
            assert_eq!(matches!(enough, Separated::Found(_)), largest.is_some_and(|largest| largest > 1e-6));
            if let Separated::Found(multipliers) = enough {
                assert!(multipliers.margin > 0.9e-4);
                assert_exact(&points, &kept, &multipliers);
            }
        }
    }
    assert!(counts[0] > 400 && counts[1] > 400 && counts[2] > 0, "{counts:?}");
}

#[test]
fn points_added_later_count_as_if_they_had_always_been_there() {
    let mut random = fastrand::Rng::with_seed(22);
    for _ in 0..60 {
        let points = random_points(&mut random, 30, 5, 2);
        let kept = [0, 1, 3, 4];
        let mut early = Separation::new(&points.0[..8], &points.1[..8]).unwrap();
        early.find(&kept, f64::INFINITY, &Limits::none());
        for (entries, equality) in points.0.iter().zip(&points.1).skip(8) {
            early.add_point(entries, equality).unwrap();
        }
        assert_eq!(early.points(), 30);
        let largest = largest_margin(&points, &kept).filter(|&largest| largest > 1e-6);
        match early.find(&kept, f64::INFINITY, &Limits::none()) {
            Separated::Found(multipliers) => assert_exact(&points, &kept, &multipliers),
            Separated::Solved(solving) => {
                assert_eq!(largest, None);
                assert_solves(&points, &kept, &solving);
            }
            Separated::NotFound => assert_eq!(largest, None),
            other => panic!("{other:?}"),
        }
    }
}

/// Columns that are multiples of each other at first, until later points tell some of them apart.
#[test]
fn columns_of_one_kind_answer_as_columns_do() {
    let mut random = fastrand::Rng::with_seed(23);
    let mut counts = [0; 3];
    for case in 0..200 {
        let (mut entries, equalities) = random_points(&mut random, 24, 4, [0, 2, 3][case % 3]);
        for (index, entries) in entries.iter_mut().enumerate() {
            let multiples = [4.0 * entries[0], 8.0 * entries[2], 2.0 * entries[0]];
            entries.extend(multiples);
            if index > 12 && case % 2 == 0 {
                entries[4] += 1.0;
            }
        }
        let mut separation = Separation::new(&entries[..8], &equalities[..8]).unwrap();
        for (entries, equality) in entries.iter().zip(&equalities).skip(8) {
            separation.find(&[0, 1], 1e-4, &Limits::none());
            separation.add_point(entries, equality).unwrap();
        }
        assert_eq!(separation.points(), 24);
        let points = (entries, equalities);
        for _ in 0..4 {
            let kept: Vec<usize> = (0..7).filter(|_| random.f64() < 0.6).collect();
            let answer = separation.find(&kept, f64::INFINITY, &Limits::none());
            assert_right(&points, &kept, &answer, &mut counts);
        }
    }
    assert!(counts[0] > 100 && counts[1] > 100, "{counts:?}");
}

#[test]
fn a_column_of_zeros_does_not_matter_and_a_mirror_image_does() {
    let equalities = vec![vec![1], vec![-1]];
    let mut zeros = Separation::new(&[vec![-1.0, 0.0], vec![-2.0, 0.0]], &equalities).unwrap();
    assert!(matches!(zeros.find(&[0, 1], 1e-4, &Limits::none()), Separated::Found(_)));
    assert!(matches!(zeros.find(&[1], 1e-4, &Limits::none()), Separated::Found(_)));
    assert!(matches!(zeros.find(&[], 1e-4, &Limits::none()), Separated::Found(_)));
    zeros.add_point(&[-1.0, 5.0], &[1]).unwrap();
    assert!(matches!(zeros.find(&[1], 1e-4, &Limits::none()), Separated::NotFound));
    zeros.add_point(&[-1.0, -6.0], &[-1]).unwrap();
    assert!(matches!(zeros.find(&[0, 1], 1e-4, &Limits::none()), Separated::Found(_)));
    let equalities = vec![vec![1], vec![-1], vec![1]];
    let mut mirror =
        Separation::new(&[vec![-1.0, 1.0], vec![-2.0, 2.0], vec![3.0, -3.0]], &equalities).unwrap();
    assert_eq!(mirror.find(&[0, 1], 1e-4, &Limits::none()), Separated::NotFound);
}

/// Three columns that cancel each other up to rounding, at points and their mirror images: the best
/// sums are zero, regardless of the signs of their last bits.
#[test]
fn what_is_positive_by_rounding_alone_solves_nothing() {
    let mut random = fastrand::Rng::with_seed(24);
    for case in 0..2_000 {
        let factor = 0.3 + random.f64();
        let mut entries: Vec<Vec<f64>> = Vec::new();
        for _ in 0..random.usize(1..4) {
            let (one, other, stretch) = (random.f64() - 0.5, random.f64() - 0.5, 0.2 + random.f64());
            for stretch in [1.0, -stretch] {
                let (one, other) = (stretch * one, stretch * other);
                entries.push(vec![one, other, -factor * (one + other)]);
            }
        }
        let equalities = vec![vec![]; entries.len()];
        let mut separation = Separation::new(&entries, &equalities).unwrap();
        let answer = separation.find(&[0, 1, 2], 1e-4, &Limits::none());
        assert!(!matches!(answer, Separated::Solved(_)), "{case}: {answer:?}");
    }
}

#[test]
fn one_class_alone_is_never_separated() {
    let mut separation = Separation::new(&[vec![-1.0], vec![-2.0]], &[vec![1], vec![1]]).unwrap();
    assert!(matches!(separation.find(&[0], 1e-4, &Limits::none()), Separated::Solved(_)));
    assert!(matches!(separation.find(&[], 1e-4, &Limits::none()), Separated::Solved(_)));
    let mut nothing = Separation::new(&[], &[]).unwrap();
    assert_eq!(nothing.find(&[], 1e-4, &Limits::none()), Separated::NotFound);
}

#[test]
fn bad_points_and_columns_are_refused_and_limits_hold() {
    let ragged = Separation::new(&[vec![1.0], vec![1.0, 2.0]], &[vec![1], vec![-1]]);
    assert_eq!(ragged.unwrap_err(), Error::Ragged { point: 1 });
    assert_eq!(Separation::new(&[vec![1.0]], &[]).unwrap_err(), Error::Ragged { point: 0 });
    assert!(matches!(
        Separation::new(&[vec![f64::NAN]], &[vec![1]]),
        Err(Error::Entry { point: 0, column: 0, .. })
    ));
    let mut fine = Separation::new(&[vec![-1.0], vec![-2.0]], &[vec![1], vec![-1]]).unwrap();
    assert_eq!(fine.add_point(&[1.0, 2.0], &[1]), Err(Error::Ragged { point: 2 }));
    let unknown = Separated::Unknown(Reason::Invalid(Error::HeldColumn { column: 7, columns: 1 }));
    assert_eq!(fine.find(&[7], 1e-4, &Limits::none()), unknown);
    assert_eq!(fine.find(&[0], 1e-4, &Limits::until(Instant::now())), Separated::TimeLimit);
    assert_eq!(fine.find(&[0], 1e-4, &Limits::none().or_when(&|| true)), Separated::Interrupted);
    assert!(matches!(fine.find(&[0], 1e-4, &Limits::none()), Separated::Found(_)));
}

#[test]
fn rounding_repairs_the_equations_exactly_or_refuses() {
    let third = 1.0 / 3.0;
    let integers = round_multipliers(&[third, third, 2.0 * third], &[&[1], &[1], &[-1]]).unwrap();
    assert_eq!(integers[0] + integers[1], integers[2]);
    // A cycle of classes; the weights differ by a little more than rounding.
    let cycle =
        round_multipliers(&[0.3, 0.3 + 1e-9, 0.3 - 1e-9], &[&[1, -1, 0], &[0, 1, -1], &[-1, 0, 1]]).unwrap();
    assert_eq!((cycle[0], cycle[1]), (cycle[1], cycle[2]));
    // The correction is a fraction here, so all integers are multiplied by its denominator.
    let fraction = round_multipliers(&[0.6, 0.4], &[&[2], &[-3]]).unwrap();
    assert_eq!(2 * fraction[0], 3 * fraction[1]);
    // Noise is removed.
    assert_eq!(round_multipliers(&[0.5, 0.5, 1e-14], &[&[1], &[-1], &[1]]).unwrap()[2], 0);
    assert_eq!(round_multipliers(&[1.0, 1.0], &[&[1], &[1]]), None);
    assert_eq!(round_multipliers(&[0.0], &[&[]]), None);
    assert_eq!(round_multipliers(&[f64::NAN], &[&[]]), None);
    assert_eq!(round_multipliers(&[1.0], &[]), None);
    assert_eq!(round_multipliers(&[1.0, 1.0], &[&[1], &[1, 2]]), None);
    assert_eq!(round_multipliers(&[1.0, 1.0], &[&[i64::MAX, 3], &[i64::MIN, 5]]), None);
}
