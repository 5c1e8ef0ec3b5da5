//! Finds integer multipliers near given weights for which integer equations hold exactly, however
//! large the multipliers get.
//!
//! Problem: positive weights y and integer equations `sum_i e_ki y_i = 0` that hold up to rounding
//! are given. Find positive integers, nearly proportional to y, for which they hold exactly.
//!
//! Idea: the equations are solved for the heaviest unknowns, as many as the equations have rank
//! (elimination without fractions). All other unknowns keep their rounded weights. Everything is
//! multiplied by the common denominator, so the numbers grow with the rank: this is for the few
//! cases where rounding alone fails.

use num_bigint::{BigInt, BigUint};
use num_traits::{One, Signed, Zero};

/// Weights are multiplied by two to the power BITS before they are rounded.
const BITS: i32 = 40;
/// Weights below this share of the largest weight are noise.
const NOISE: f64 = 1e-9;
/// The most unknowns.
const MOST: usize = 96;

/// Integers nearly proportional to the weights that meet every equation; an equation has one
/// coefficient for each weight. `None` if there are none near the weights.
pub(crate) fn balanced(weights: &[f64], mut equations: Vec<Vec<BigInt>>) -> Option<Vec<BigUint>> {
    let largest = weights.iter().copied().fold(0.0, f64::max);
    if weights.len() > MOST || !(largest > 0.0 && largest.is_finite()) {
        return None;
    }
    let share = |weight: f64| weight / largest;
    let mut order: Vec<usize> = (0..weights.len()).filter(|&at| share(weights[at]) > NOISE).collect();
    order.sort_by(|&a, &b| weights[b].total_cmp(&weights[a]).then(a.cmp(&b)));
    // Gauss-Jordan elimination without fractions: after each step all pivots are equal, and every
    // division is exact.
    let mut pivots: Vec<(usize, usize)> = Vec::new();
    let mut last = BigInt::one();
    for &column in &order {
        let used = |row: usize| pivots.iter().any(|&(other, _)| other == row);
        let Some(row) = (0..equations.len()).find(|&row| !used(row) && !equations[row][column].is_zero())
        else {
            continue;
        };
        let pivot_row = equations[row].clone();
        let pivot = pivot_row[column].clone();
        for (other, values) in equations.iter_mut().enumerate() {
            if other == row {
                continue;
            }
            let factor = values[column].clone();
            for &at in &order {
                values[at] = (&pivot * &values[at] - &factor * &pivot_row[at]) / &last;
            }
        }
        last = pivot;
        pivots.push((row, column));
    }
    let sign = if last.is_negative() { -BigInt::one() } else { BigInt::one() };
    let mut integers = vec![BigInt::zero(); weights.len()];
    let solved = |at: &usize| pivots.iter().any(|&(_, column)| column == *at);
    for &at in order.iter().filter(|at| !solved(at)) {
        integers[at] = BigInt::from((share(weights[at]) * f64::from(BITS).exp2()).round() as u64);
    }
    let corrections: Vec<(usize, BigInt)> = pivots
        .iter()
        .map(|&(row, column)| {
            let sum: BigInt =
                order.iter().filter(|at| !solved(at)).map(|&at| &equations[row][at] * &integers[at]).sum();
            (column, -sum * &sign)
        })
        .collect();
    integers.iter_mut().for_each(|integer| *integer *= &last.abs());
    for (column, value) in corrections {
        integers[column] = value;
    }
    let common = integers.iter().fold(BigInt::zero(), |common, integer| gcd(common, integer.clone()));
    if common.is_zero() {
        return None;
    }
    integers.into_iter().map(|integer| (integer / &common).to_biguint()).collect()
}

/// The greatest common divisor of the numbers' magnitudes.
fn gcd(mut a: BigInt, mut b: BigInt) -> BigInt {
    while !b.is_zero() {
        (a, b) = (b.clone(), a % b);
    }
    a.abs()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equations_hold_exactly_and_weights_stay_near() {
        let mut rng = fastrand::Rng::with_seed(9);
        let mut solved = 0;
        for _ in 0..200 {
            let unknowns = rng.usize(2..9);
            let weights: Vec<f64> = (0..unknowns).map(|_| 0.1 + rng.f64()).collect();
            // The weights meet these equations up to rounding: the last coefficient balances the
            // others.
            let equations: Vec<Vec<BigInt>> = (0..rng.usize(1..unknowns))
                .map(|_| {
                    let mut row: Vec<i64> = (1..unknowns).map(|_| rng.i64(-1 << 40..1 << 40)).collect();
                    let sum: f64 = row.iter().zip(&weights).map(|(&e, w)| e as f64 * w).sum();
                    row.push((-sum / weights[unknowns - 1]).round() as i64);
                    row.into_iter().map(BigInt::from).collect()
                })
                .collect();
            let Some(found) = balanced(&weights, equations.clone()) else { continue };
            solved += 1;
            for row in &equations {
                let sum: BigInt = row.iter().zip(&found).map(|(e, n)| e * BigInt::from(n.clone())).sum();
                assert!(sum.is_zero());
            }
            let scaled = |n: &BigUint| {
                secateur_model::Exact::new(BigInt::from(n.clone()), -(n.bits() as i64)).to_f64()
                    * (n.bits() as f64).exp2()
            };
            let ratios: Vec<f64> = found.iter().zip(&weights).map(|(n, w)| scaled(n) / w).collect();
            assert!(ratios.iter().all(|ratio| (ratio / ratios[0] - 1.0).abs() < 1e-6), "{ratios:?}");
        }
        assert!(solved > 150, "{solved}");
    }

    #[test]
    fn equations_without_a_positive_solution_are_refused() {
        let rows = vec![vec![BigInt::from(1), BigInt::from(1)]];
        assert_eq!(balanced(&[0.5, 0.5], rows), None);
        let rows = vec![vec![BigInt::from(1), BigInt::from(-1)], vec![BigInt::from(1), BigInt::from(-2)]];
        assert_eq!(balanced(&[0.5, 0.5], rows), None);
    }
}
