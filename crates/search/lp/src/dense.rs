//! Dense vectors and square matrices, stored row by row: the operations in which both simplex
//! methods spend their time.
//!
//! Every function uses the widest instructions that the processor has and gives the same bits with
//! all of them: sums are kept in [`LANES`] lanes that are added in one order, and products are not
//! fused with sums.

use pulp::Arch;

/// The number of partial sums of a dot product.
const LANES: usize = 8;
/// A matrix is singular if the largest pivot of some column is below this.
const SINGULAR: f64 = 1e-13;

/// The dot product of two vectors of one length.
pub(crate) fn dot(left: &[f64], right: &[f64]) -> f64 {
    Arch::new().dispatch(
        #[inline(always)]
        || product(left, right),
    )
}

/// The dot product of each row of a matrix with a vector.
pub(crate) fn times(matrix: &[f64], vector: &[f64], into: &mut Vec<f64>) {
    into.clear();
    into.resize(matrix.len() / vector.len().max(1), 0.0);
    Arch::new().dispatch(
        #[inline(always)]
        || {
            for (result, row) in into.iter_mut().zip(matrix.chunks_exact(vector.len().max(1))) {
                *result = product(row, vector);
            }
        },
    );
}

/// Adds a multiple of one vector to another.
pub(crate) fn add_multiple(target: &mut [f64], factor: f64, of: &[f64]) {
    Arch::new().dispatch(
        #[inline(always)]
        || subtract(target, -factor, of),
    );
}

/// One step of an elimination: divides the row at `position` by the pivot, and subtracts `factors`
/// times that row from the other rows.
pub(crate) fn eliminate(matrix: &mut [f64], count: usize, position: usize, pivot: f64, factors: &[f64]) {
    Arch::new().dispatch(
        #[inline(always)]
        || step(matrix, count, position, pivot, |row, _| factors[row]),
    );
}

/// The inverse of a square matrix, by elimination with the largest pivot of each column; `None` if
/// the matrix is singular.
pub(crate) fn invert(mut matrix: Vec<f64>, count: usize) -> Option<Vec<f64>> {
    let inverted = Arch::new().dispatch(
        #[inline(always)]
        || {
            let mut swaps = vec![0; count];
            for column in 0..count {
                let size = |row: &usize| matrix[row * count + column].abs();
                let best = (column..count).max_by(|left, right| size(left).total_cmp(&size(right)))?;
                swaps[column] = best;
                if best != column {
                    let (upper, lower) = matrix.split_at_mut(best * count);
                    upper[column * count..][..count].swap_with_slice(&mut lower[..count]);
                }
                let pivot = matrix[column * count + column];
                if pivot.abs() < SINGULAR || pivot.is_nan() {
                    return None;
                }
                // The pivot's column becomes a column of the inverse.
                matrix[column * count + column] = 1.0;
                step(&mut matrix, count, column, pivot, |_, row| std::mem::take(&mut row[column]));
            }
            // The columns of the inverse have to be swapped where rows were swapped.
            for row in matrix.chunks_exact_mut(count) {
                for column in (0..count).rev() {
                    row.swap(column, swaps[column]);
                }
            }
            Some(())
        },
    );
    inverted.map(|()| matrix)
}

#[inline(always)]
fn step(
    matrix: &mut [f64],
    count: usize,
    position: usize,
    pivot: f64,
    mut factor: impl FnMut(usize, &mut [f64]) -> f64,
) {
    let (before, rest) = matrix.split_at_mut(position * count);
    let (own, after) = rest.split_at_mut(count);
    own.iter_mut().for_each(|value| *value /= pivot);
    let own = &*own;
    let others = before.chunks_exact_mut(count).enumerate();
    let behind = after.chunks_exact_mut(count).enumerate().map(|(row, values)| (position + 1 + row, values));
    for (row, values) in others.chain(behind) {
        let factor = factor(row, values);
        if factor != 0.0 {
            subtract(values, factor, own);
        }
    }
}

#[inline(always)]
fn subtract(target: &mut [f64], factor: f64, of: &[f64]) {
    for (value, own) in target.iter_mut().zip(of) {
        *value -= factor * own;
    }
}

#[inline(always)]
fn product(left: &[f64], right: &[f64]) -> f64 {
    let mut lanes = [0.0; LANES];
    let (heads, tails) = (left.chunks_exact(LANES), right.chunks_exact(LANES));
    let rest = heads.remainder().iter().zip(tails.remainder());
    let mut sum = 0.0;
    for (one, other) in rest {
        sum += one * other;
    }
    for (one, other) in heads.zip(tails) {
        for lane in 0..LANES {
            lanes[lane] += one[lane] * other[lane];
        }
    }
    for lane in lanes {
        sum += lane;
    }
    sum
}

#[cfg(test)]
mod tests {
    use fastrand::Rng;

    use super::*;

    fn random(rng: &mut Rng, count: usize) -> Vec<f64> {
        (0..count).map(|_| rng.f64() * 2.0 - 1.0).collect()
    }

    #[test]
    fn wide_instructions_give_the_bits_of_plain_ones() {
        let mut rng = Rng::with_seed(7);
        for count in 0..40 {
            let (left, right) = (random(&mut rng, count), random(&mut rng, count));
            assert_eq!(dot(&left, &right).to_bits(), product(&left, &right).to_bits());
            let matrix = random(&mut rng, count * 5);
            let mut products = Vec::new();
            times(&matrix, &left, &mut products);
            let plain: Vec<f64> = matrix.chunks_exact(count.max(1)).map(|row| product(row, &left)).collect();
            assert_eq!(products, plain);
            let (mut wide, mut plain) = (left.clone(), left);
            add_multiple(&mut wide, 0.3, &right);
            plain.iter_mut().zip(&right).for_each(|(value, own)| *value -= -0.3 * own);
            assert_eq!(wide, plain);
        }
    }

    #[test]
    fn an_inverse_times_its_matrix_is_one() {
        let mut rng = Rng::with_seed(8);
        for count in 1..30 {
            let mut matrix = random(&mut rng, count * count);
            // Zeros on the diagonal, so that pivots have to be found elsewhere.
            (0..count).for_each(|row| matrix[row * count + row] = 0.0);
            matrix[(count - 1) * count] = 3.0;
            let Some(inverse) = invert(matrix.clone(), count) else { panic!("{matrix:?}") };
            for (row, column) in (0..count * count).map(|at| (at / count, at % count)) {
                let terms = (0..count).map(|at| inverse[row * count + at] * matrix[at * count + column]);
                assert!((terms.sum::<f64>() - f64::from(row == column)).abs() < 1e-9);
            }
        }
        assert_eq!(invert(vec![1.0, 2.0, 2.0, 4.0], 2), None);
        assert_eq!(invert(vec![f64::NAN], 1), None);
    }

    #[test]
    fn a_step_makes_a_unit_vector_of_the_column() {
        let mut rng = Rng::with_seed(9);
        let mut matrix = random(&mut rng, 36);
        let column: Vec<f64> = matrix.chunks_exact(6).map(|row| row[2]).collect();
        eliminate(&mut matrix, 6, 4, column[4], &column);
        for (row, values) in matrix.chunks_exact(6).enumerate() {
            assert!((values[2] - f64::from(row == 4)).abs() < 1e-15);
        }
    }
}
