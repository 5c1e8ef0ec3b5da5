//! Rounds multipliers to integers for which small integer equations hold exactly.
//!
//! Problem: positive weights y_i and integer vectors e_i with `sum_i y_i e_i = 0` up to rounding.
//! Find integers n_i >= 0, nearly proportional to y, with `sum_i n_i e_i = 0`.
//!
//! Idea: round y, then correct the remainder with the heaviest weights whose vectors are
//! independent. These span all vectors, so the correction exists. It is rational in general, and
//! all n are multiplied by its denominator. For a binary intercept (+1 and -1) and for differences
//! of unit vectors the denominator is one.
//!
//! Not covered: a correction that would make a weight negative. A correction has the size of the
//! rounding error, and the corrected weights are the heaviest, so this needs weights of very
//! different sizes; the answer is then `None`.

/// The weights are multiplied by 2 to this power before they are rounded.
const BITS: i32 = 40;

/// Weights below this share of the largest are noise of the solver and become zero.
const NOISE: f64 = 1e-10;

/// Integers nearly proportional to the weights for which `sum n_i e_i` is exactly zero; `None` if
/// there are no such integers near the weights, or if all would be zero.
///
/// `equalities` has one vector e_i per weight, all of the same length.
pub fn round_multipliers(weights: &[f64], equalities: &[&[i64]]) -> Option<Vec<u64>> {
    let largest = weights.iter().fold(0.0_f64, |largest, weight| largest.max(*weight));
    if weights.len() != equalities.len() || !(largest > 0.0 && largest.is_finite()) {
        return None;
    }
    let rounded = |&weight: &f64| {
        let share = weight / largest;
        if share > NOISE { (share * f64::from(BITS).exp2()).round() as i128 } else { 0 }
    };
    let mut integers: Vec<i128> = weights.iter().map(rounded).collect();
    let equations = equalities.first().map_or(0, |equality| equality.len());
    if equalities.iter().any(|equality| equality.len() != equations) {
        return None;
    }

    let basis = heaviest_basis(&integers, equalities)?;
    let remainder = remainder_of(&integers, equalities)?;
    let columns: Vec<&[i64]> = basis.iter().map(|&index| equalities[index]).collect();
    let (corrections, denominator) = solve(&columns, &remainder)?;
    for integer in &mut integers {
        *integer = integer.checked_mul(denominator)?;
    }
    for (&index, correction) in basis.iter().zip(corrections) {
        integers[index] = integers[index].checked_sub(correction)?;
    }
    let integers: Option<Vec<u64>> =
        integers.into_iter().map(|integer| u64::try_from(integer).ok()).collect();
    integers.filter(|integers| integers.iter().any(|&integer| integer > 0))
}

/// The sum of the vectors, each times its integer.
fn remainder_of(integers: &[i128], equalities: &[&[i64]]) -> Option<Vec<i128>> {
    let mut remainder = vec![0_i128; equalities.first().map_or(0, |equality| equality.len())];
    for (&integer, equality) in integers.iter().zip(equalities) {
        for (sum, &entry) in remainder.iter_mut().zip(*equality) {
            *sum = sum.checked_add(integer.checked_mul(i128::from(entry))?)?;
        }
    }
    Some(remainder)
}

/// Indices of independent vectors that span all vectors of positive weight, heavy weights first.
fn heaviest_basis(integers: &[i128], equalities: &[&[i64]]) -> Option<Vec<usize>> {
    let mut order: Vec<usize> = (0..integers.len()).filter(|&index| integers[index] > 0).collect();
    order.sort_by_key(|&index| (std::cmp::Reverse(integers[index]), index));
    let mut basis = Vec::new();
    // The vectors found so far, each with its pivot: the entry at which all later vectors are zero.
    let mut reduced: Vec<(usize, Vec<i128>)> = Vec::new();
    for index in order {
        let mut vector: Vec<i128> = equalities[index].iter().map(|&entry| i128::from(entry)).collect();
        for (pivot, other) in &reduced {
            eliminate(&mut vector, other, *pivot)?;
        }
        if let Some(pivot) = vector.iter().position(|&entry| entry != 0) {
            reduced.push((pivot, vector));
            basis.push(index);
            if basis.len() == equalities[index].len() {
                break;
            }
        }
    }
    Some(basis)
}

/// The x with `sum_k x_k column_k = target`, as numerators over one positive denominator. The
/// columns must be independent and span the target.
fn solve(columns: &[&[i64]], target: &[i128]) -> Option<(Vec<i128>, i128)> {
    let width = columns.len();
    let mut rows: Vec<Vec<i128>> = (target.iter().enumerate())
        .map(|(equation, &value)| {
            columns.iter().map(|column| i128::from(column[equation])).chain([value]).collect()
        })
        .collect();
    for pivot in 0..width {
        let found = (pivot..rows.len()).find(|&row| rows[row][pivot] != 0)?;
        rows.swap(pivot, found);
        let pivot_row = rows[pivot].clone();
        for (index, row) in rows.iter_mut().enumerate() {
            if index != pivot {
                eliminate(row, &pivot_row, pivot)?;
            }
        }
    }
    let reduced = |pivot: usize| {
        let (divisor, value) = (rows[pivot][pivot], rows[pivot][width]);
        let common = gcd(divisor, value) * divisor.signum();
        (value / common, divisor / common)
    };
    let fractions: Vec<(i128, i128)> = (0..width).map(reduced).collect();
    let denominator = fractions
        .iter()
        .try_fold(1_i128, |least, &(_, divisor)| (least / gcd(least, divisor)).checked_mul(divisor))?;
    let numerators: Option<Vec<i128>> =
        (fractions.iter()).map(|&(value, divisor)| value.checked_mul(denominator / divisor)).collect();
    Some((numerators?, denominator))
}

/// Makes an entry of a vector zero by subtracting a multiple of another vector. The vector is first
/// scaled by the smallest factor that keeps it integer.
fn eliminate(vector: &mut [i128], other: &[i128], pivot: usize) -> Option<()> {
    let common = gcd(vector[pivot], other[pivot]);
    if vector[pivot] == 0 {
        return Some(());
    }
    let (ours, theirs) = (other[pivot] / common, vector[pivot] / common);
    for (entry, &taken) in vector.iter_mut().zip(other) {
        *entry = entry.checked_mul(ours)?.checked_sub(taken.checked_mul(theirs)?)?;
    }
    let content = vector.iter().fold(0, |content, &entry| gcd(content, entry));
    if content > 1 {
        vector.iter_mut().for_each(|entry| *entry /= content);
    }
    Some(())
}

/// The greatest common divisor, which is not negative; zero only if both numbers are zero.
fn gcd(left: i128, right: i128) -> i128 {
    let (mut left, mut right) = (left.unsigned_abs(), right.unsigned_abs());
    while right != 0 {
        (left, right) = (right, left % right);
    }
    // This fits unless the value is 2^127, the magnitude of the smallest i128. A wrong result is
    // then found by the caller, who has to check the integers exactly.
    i128::try_from(left).unwrap_or(i128::MAX)
}
