//! Multipliers that make the root bound small.
//!
//! `phi(lambda) = sum over pieces of max over leaves of lambda.value - lambda.bound` is convex and
//! homogeneous; a lambda with `phi < 0` proves at once that the system has no solution. That
//! happens if one model is a multiple of the other: [`proportional`] tries ratios taken from the
//! pieces. [`best`] takes a few subgradient steps in floating point. Multipliers found here are
//! only hints: the lens computes its bound exactly.

use num_traits::ToPrimitive;

use crate::lens::Lens;
use crate::stop::SearchBudget;
use crate::system::System;

/// Multipliers are rounded to this many bits.
const BITS: i32 = 40;
/// A measured ratio is also tried rounded to this many bits: the intended ratio is often a short
/// number.
const SHORT_BITS: i32 = 12;
/// Two models are nearly proportional if some combination leaves less than this share of a model's
/// range.
const NEARLY: f64 = 1e-3;

/// The values of all pieces in floating point, each row divided by its range.
struct Normalised {
    rows: usize,
    pieces: Vec<Vec<f64>>,
    bounds: Vec<f64>,
}

impl Normalised {
    fn phi(&self, lambda: &[f64]) -> f64 {
        let dot = |values: &[f64]| values.iter().zip(lambda).map(|(v, l)| v * l).sum::<f64>();
        let top = |piece: &Vec<f64>| piece.chunks(self.rows).map(dot).fold(f64::NEG_INFINITY, f64::max);
        self.pieces.iter().map(top).sum::<f64>() - dot(&self.bounds)
    }

    /// A subgradient of phi at lambda.
    fn gradient(&self, lambda: &[f64]) -> Vec<f64> {
        let mut gradient: Vec<f64> = self.bounds.iter().map(|b| -b).collect();
        for piece in &self.pieces {
            let dot = |values: &[f64]| values.iter().zip(lambda).map(|(v, l)| v * l).sum::<f64>();
            let top = piece.chunks(self.rows).max_by(|a, b| dot(a).total_cmp(&dot(b)));
            for (slot, value) in gradient.iter_mut().zip(top.into_iter().flatten()) {
                *slot += value;
            }
        }
        gradient
    }
}

/// Multipliers that prove at the root that the system has no solution, because one model is a
/// multiple of the other. The ratio of the last row to each other row is taken from the piece with
/// the widest last row.
pub(crate) fn proportional(system: &System<'_>) -> Option<Vec<u64>> {
    let count = system.row_count();
    let (pieces, _) = in_f64(system);
    (0..count.saturating_sub(1)).find_map(|row| {
        let (a, b) = ratio(&pieces, count, row)?;
        let mut lambda = vec![0; count];
        lambda[row] = a;
        lambda[count - 1] = b;
        let lens = Lens::new(system, &lambda);
        (!lens.alive(&lens.root())).then_some(lambda)
    })
}

/// Multipliers under which almost nothing is left of either model, because one is almost a multiple
/// of the other: a conversion, a reordered or rounded copy. The search then bounds the remainder,
/// which the rows alone do not show. A ratio close to a short number is probably meant to be that
/// number, so both are tried.
pub(crate) fn nearly_proportional(system: &System<'_>) -> Option<Vec<u64>> {
    let count = system.row_count();
    let (pieces, _) = in_f64(system);
    let mut top: Option<(f64, Vec<u64>)> = None;
    for row in 0..count.saturating_sub(1) {
        let Some((a, b)) = ratio(&pieces, count, row) else { continue };
        let short = short_ratio(a as f64 / b as f64);
        for (a, b) in [Some((a, b)), short].into_iter().flatten() {
            let mut lambda = vec![0; count];
            lambda[row] = a;
            lambda[count - 1] = b;
            let share = left_over(&pieces, count, &lambda) / (b as f64 * range(&pieces, count, count - 1));
            if share < NEARLY && top.as_ref().is_none_or(|(least, _)| share < *least) {
                top = Some((share, lambda));
            }
        }
    }
    top.map(|(_, lambda)| lambda)
}

/// The upper bound over the whole space minus the bound that it must stay below to prove that the
/// system has no solution, in f64.
pub(crate) fn excess(system: &System<'_>, lambda: &[u64]) -> f64 {
    let (pieces, bounds) = in_f64(system);
    let dot = |values: &[f64]| values.iter().zip(lambda).map(|(&v, &l)| v * l as f64).sum::<f64>();
    let top = |piece: &Vec<f64>| piece.chunks(lambda.len()).map(dot).fold(f64::NEG_INFINITY, f64::max);
    pieces.iter().map(top).sum::<f64>() - dot(&bounds)
}

/// The multipliers with the smallest root bound found within the budget; `None` if they use only
/// one row.
pub(crate) fn best(system: &System<'_>, budget: &SearchBudget) -> Option<Vec<u64>> {
    let count = system.row_count();
    if count < 2 {
        return None;
    }
    let (pieces, bounds) = in_f64(system);
    let scales: Vec<f64> = (0..count).map(|row| range(&pieces, count, row).max(f64::MIN_POSITIVE)).collect();
    let normalised = Normalised {
        rows: count,
        pieces: pieces
            .into_iter()
            .map(|piece| {
                piece.chunks(count).flat_map(|leaf| leaf.iter().zip(&scales).map(|(v, s)| v / s)).collect()
            })
            .collect(),
        bounds: bounds.iter().zip(&scales).map(|(b, s)| b / s).collect(),
    };
    let mut lambda = vec![1.0 / count as f64; count];
    let mut top = (normalised.phi(&lambda), lambda.clone());
    for step in 0..200 {
        if budget.over().is_some() {
            break;
        }
        let gradient = normalised.gradient(&lambda);
        let length = gradient.iter().map(|g| g * g).sum::<f64>().sqrt();
        if length == 0.0 {
            break;
        }
        let size = 0.5 / (1.0 + step as f64);
        lambda.iter_mut().zip(&gradient).for_each(|(l, g)| *l = (*l - size * g / length).max(0.0));
        let total: f64 = lambda.iter().sum();
        if total == 0.0 {
            break;
        }
        lambda.iter_mut().for_each(|l| *l /= total);
        let phi = normalised.phi(&lambda);
        if phi < top.0 {
            top = (phi, lambda.clone());
        }
    }
    // Undo the division of each row by its range, and round to integers.
    let raw: Vec<f64> = top.1.iter().zip(&scales).map(|(l, s)| l / s).collect();
    let largest = raw.iter().copied().fold(0.0, f64::max);
    let integers: Vec<u64> =
        raw.iter().map(|r| (r / largest * f64::powi(2.0, BITS)).round() as u64).collect();
    (integers.iter().filter(|&&i| i > 0).count() > 1).then_some(integers)
}

/// The values of each piece, and the bounds, rounded to f64.
fn in_f64(system: &System<'_>) -> (Vec<Vec<f64>>, Vec<f64>) {
    let to_f64 = |value: &num_bigint::BigInt| value.to_f64().unwrap_or(f64::MAX);
    let pieces = (0..system.layout().pieces().len())
        .map(|piece| system.piece_values(piece).iter().map(to_f64).collect())
        .collect();
    (pieces, system.bounds().iter().map(to_f64).collect())
}

/// The largest minus the smallest value of one row in each piece, summed over all pieces.
fn range(pieces: &[Vec<f64>], rows: usize, row: usize) -> f64 {
    pieces.iter().map(|piece| spread(piece, rows, row)).sum()
}

fn spread(piece: &[f64], rows: usize, row: usize) -> f64 {
    let values = piece.iter().skip(row).step_by(rows);
    let (low, high) =
        values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &v| (low.min(v), high.max(v)));
    high - low
}

/// The sum over all pieces of the ranges of a combination of rows.
fn left_over(pieces: &[Vec<f64>], rows: usize, lambda: &[u64]) -> f64 {
    let dot = |leaf: &[f64]| leaf.iter().zip(lambda).map(|(&value, &l)| value * l as f64).sum::<f64>();
    pieces.iter().map(|piece| spread(&piece.chunks(rows).map(dot).collect::<Vec<_>>(), 1, 0)).sum()
}

/// The quotient as a ratio of integers of few bits; `None` if it is too large or too small.
fn short_ratio(quotient: f64) -> Option<(u64, u64)> {
    let shift = SHORT_BITS - quotient.log2().floor() as i32;
    (0..=62).contains(&shift).then(|| ((quotient * f64::powi(2.0, shift)).round() as u64, 1 << shift))
}

/// Integers in the ratio of the last row's spread to that of `row`, in the piece where the last row
/// is widest.
fn ratio(pieces: &[Vec<f64>], rows: usize, row: usize) -> Option<(u64, u64)> {
    let widest =
        pieces.iter().max_by(|a, b| spread(a, rows, rows - 1).total_cmp(&spread(b, rows, rows - 1)))?;
    let (own, last) = (spread(widest, rows, row), spread(widest, rows, rows - 1));
    if !(own > 0.0 && last > 0.0) {
        return None;
    }
    // lambda_row * own == lambda_last * last; the larger multiplier has all bits of an f64.
    let quotient = last / own;
    let shift = 52 - quotient.log2().floor() as i32;
    if !(0..=62).contains(&shift) {
        return None;
    }
    let (mut a, mut b) = ((quotient * f64::powi(2.0, shift)) as u64, 1u64 << shift);
    let common = a.trailing_zeros().min(b.trailing_zeros());
    a >>= common;
    b >>= common;
    (a > 0).then_some((a, b))
}
