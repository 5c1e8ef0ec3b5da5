//! Sums of products of floats, without rounding and without allocating in the usual case.
//!
//! Scores are sums of many products `weight * leaf`. If a product is a whole number of [`UNIT`]s
//! and the sum fits in 128 bits, it is added as such an integer; otherwise it is added to an
//! [`Exact`]. The sum of both is the result, whichever of them each product was added to.

use num_bigint::BigInt;

use crate::exact::Exact;

/// The exponent of the unit: far below the last bit of any usual score, with enough room above for
/// large ones.
const UNIT: i32 = -90;

/// A sum of products of floats, exactly.
#[derive(Clone, Debug, Default)]
pub struct ExactSum {
    /// In units.
    whole: i128,
    rest: Option<Exact>,
}

impl ExactSum {
    /// Zero.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds `first * second`; both must be finite.
    pub fn add(&mut self, first: f64, second: f64) {
        let sum = units(first, second).and_then(|units| self.whole.checked_add(units));
        match sum {
            Some(sum) => self.whole = sum,
            None => {
                let exact = |value| Exact::finite(value);
                *self.rest.get_or_insert_with(Exact::zero) += &(&exact(first) * &exact(second));
            }
        }
    }

    /// The sum.
    pub fn total(&self) -> Exact {
        let whole = Exact::new(BigInt::from(self.whole), i64::from(UNIT));
        self.rest.as_ref().map_or(whole.clone(), |rest| &whole + rest)
    }

    /// The nearest f64, ties toward the even neighbour.
    pub fn to_f64(&self) -> f64 {
        match &self.rest {
            // The conversion rounds to nearest, and no result is small enough to be rounded again.
            None => self.whole as f64 * 2f64.powi(UNIT),
            Some(_) => self.total().to_f64(),
        }
    }
}

/// A product as a whole number of units, if it is one and fits.
fn units(first: f64, second: f64) -> Option<i128> {
    let ((first, low), (second, high)) = (parts(first), parts(second));
    let product = i128::from(first) * i128::from(second);
    if product == 0 {
        return Some(0);
    }
    let shift = u32::try_from(low + high - UNIT).ok()?;
    // One bit is for the sign.
    (shift + 1 < product.unsigned_abs().leading_zeros()).then(|| product << shift)
}

/// A finite float as an odd number (or zero) times a power of two.
fn parts(value: f64) -> (i64, i32) {
    let bits = value.to_bits();
    let fraction = (bits & ((1 << 52) - 1)) as i64;
    let biased = ((bits >> 52) & 0x7ff) as i32;
    let (mantissa, exponent) =
        if biased == 0 { (fraction, -1074) } else { (fraction | 1 << 52, biased - 1075) };
    if mantissa == 0 {
        return (0, 0);
    }
    let zeros = mantissa.trailing_zeros();
    let mantissa = mantissa >> zeros;
    (if value.is_sign_negative() { -mantissa } else { mantissa }, exponent + zeros as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_those_of_exact_numbers() {
        let mut rng = fastrand::Rng::with_seed(5);
        let edges = [0.0, -0.0, 1.0, -1.0, 0.1, f64::MAX, f64::MIN_POSITIVE, 5e-324, -1e-30, 1e19, 3e30];
        for round in 0..2000 {
            let (mut sum, mut expected) = (ExactSum::new(), Exact::zero());
            for _ in 0..rng.usize(0..20) {
                let mut number = || match rng.u32(0..8) {
                    0 if round % 2 == 1 => *rng.choice(&edges).unwrap(),
                    1 => f64::from(rng.i32(-4..5)),
                    2 => f64::from(rng.f32()) * 1e-3,
                    3 if round % 4 == 3 => loop {
                        let any = f64::from_bits(rng.u64(..));
                        if any.is_finite() {
                            break any;
                        }
                    },
                    _ => rng.f64() - 0.5,
                };
                let (first, second) = (number(), number());
                sum.add(first, second);
                expected += &(&Exact::from_f64(first).unwrap() * &Exact::from_f64(second).unwrap());
                assert_eq!(sum.total(), expected);
                assert_eq!(sum.to_f64(), expected.to_f64());
            }
        }
    }

    #[test]
    fn a_sum_that_is_full_goes_on_beside() {
        let mut sum = ExactSum::new();
        let large = 2f64.powi(35);
        for _ in 0..20 {
            sum.add(large, 1.0);
        }
        assert_eq!(sum.total(), Exact::from_f64(large * 20.0).unwrap());
        assert!(sum.rest.is_some());
    }
}
