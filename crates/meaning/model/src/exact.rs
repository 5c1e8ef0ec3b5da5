//! Numbers without rounding: dyadic rationals `mantissa * 2^exponent` of any size.
//!
//! Every finite float is such a number, and so are sums, differences and products of them. There is
//! no division: a comparison with an average multiplies the other side instead.

use std::cmp::Ordering;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Mul, Neg, Sub};

use num_bigint::BigInt;
use num_traits::{One, Zero};

use crate::mantissa::Mantissa;

/// A dyadic rational. The mantissa is odd, or the whole number is zero with exponent 0, so equal
/// values have equal fields.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Exact {
    mantissa: Mantissa,
    exponent: i64,
}

impl Exact {
    /// Zero.
    pub fn zero() -> Self {
        Self { mantissa: Mantissa::Small(0), exponent: 0 }
    }

    /// `mantissa * 2^exponent`.
    pub fn new(mantissa: BigInt, exponent: i64) -> Self {
        Self::normal(Mantissa::from(mantissa), exponent)
    }

    fn normal(mantissa: Mantissa, exponent: i64) -> Self {
        match mantissa.odd() {
            None => Self::zero(),
            Some((mantissa, zeros)) => Self { mantissa, exponent: exponent + zeros as i64 },
        }
    }

    /// The value of a finite float. All numbers of a model are finite:
    /// [`EnsembleBuilder`](crate::EnsembleBuilder) accepts no others.
    ///
    /// # Panics
    ///
    /// On NaN and infinities.
    pub fn finite(value: f64) -> Self {
        Self::from_f64(value).expect("only finite numbers come here")
    }

    /// The value of a float, or `None` for NaN and infinities.
    pub fn from_f64(value: f64) -> Option<Self> {
        if !value.is_finite() {
            return None;
        }
        let bits = value.to_bits();
        let fraction = bits & ((1 << 52) - 1);
        let biased = ((bits >> 52) & 0x7ff) as i64;
        let (mantissa, exponent) =
            if biased == 0 { (fraction, -1074) } else { (fraction | 1 << 52, biased - 1075) };
        let mantissa = i128::from(mantissa);
        let mantissa = Mantissa::Small(if value.is_sign_negative() { -mantissa } else { mantissa });
        Some(Self::normal(mantissa, exponent))
    }

    /// The odd mantissa (zero for zero).
    pub fn mantissa(&self) -> BigInt {
        self.mantissa.to_big()
    }

    /// The power of two that goes with [`mantissa`](Self::mantissa).
    pub fn exponent(&self) -> i64 {
        self.exponent
    }

    /// -1, 0 or 1.
    pub fn signum(&self) -> i32 {
        match () {
            () if self.mantissa.is_zero() => 0,
            () if self.mantissa.is_negative() => -1,
            () => 1,
        }
    }

    /// Is this zero?
    pub fn is_zero(&self) -> bool {
        self.mantissa.is_zero()
    }

    /// The absolute value.
    pub fn abs(&self) -> Self {
        if self.mantissa.is_negative() { -self.clone() } else { self.clone() }
    }

    /// The integer `self / 2^exponent`, or `None` if that is not an integer. To bring several
    /// numbers to one scale, use the smallest exponent among them.
    pub fn scaled(&self, exponent: i64) -> Option<BigInt> {
        if self.is_zero() {
            return Some(BigInt::zero());
        }
        let shift = u64::try_from(self.exponent.checked_sub(exponent)?).ok()?;
        Some(self.mantissa.shifted(shift).to_big())
    }

    /// The largest f64 that is at most this number (`-inf` below the finite range).
    pub fn to_f64_down(&self) -> f64 {
        let near = self.to_f64_toward_zero();
        if self.signum() < 0 && !self.is(near) { near.next_down() } else { near }
    }

    /// The smallest f64 that is at least this number (`inf` above the finite range).
    pub fn to_f64_up(&self) -> f64 {
        -(-self.clone()).to_f64_down()
    }

    /// The nearest f64 (ties toward the even neighbour), infinite beyond the finite range.
    pub fn to_f64(&self) -> f64 {
        let near = self.to_f64_toward_zero();
        if self.is(near) {
            return near;
        }
        let (down, up) = (self.to_f64_down(), self.to_f64_up());
        if down == up || up.is_infinite() && down.is_infinite() {
            return down;
        }
        // Beyond the largest finite float: rounding to nearest as IEEE 754 defines it for overflow.
        let limit = |value: f64| {
            Self::from_f64(value).unwrap_or_else(|| {
                let end = Self::new(BigInt::one(), 1024);
                if value > 0.0 { end } else { -end }
            })
        };
        let below = self - &limit(down);
        let above = &limit(up) - self;
        match below.cmp(&above) {
            Ordering::Less => down,
            Ordering::Greater => up,
            Ordering::Equal if down.to_bits() & 1 == 0 => down,
            Ordering::Equal => up,
        }
    }

    /// Is this the value of a float?
    fn is(&self, value: f64) -> bool {
        Self::from_f64(value).is_some_and(|value| value == *self)
    }

    /// Rounds toward zero; numbers beyond the largest finite float become that float.
    fn to_f64_toward_zero(&self) -> f64 {
        if self.is_zero() {
            return 0.0;
        }
        let bits = self.mantissa.bits() as i64;
        let top = self.exponent + bits - 1;
        if top > 1023 {
            return if self.signum() < 0 { f64::MIN } else { f64::MAX };
        }
        // The unit in the last place of the result.
        let unit = (top - 52).max(-1074);
        let shift = unit - self.exponent;
        let digits = match u64::try_from(shift) {
            Ok(shift) => self.mantissa.magnitude_over(shift),
            Err(_) => self.mantissa.magnitude_over(0).map(|digits| digits << -shift),
        };
        let digits = digits.expect("at most 53 bits are left");
        // digits * 2^unit, assembled from its bits.
        let value = if digits >> 52 == 0 {
            f64::from_bits(digits)
        } else {
            f64::from_bits((((unit + 1075) as u64) << 52) | (digits & ((1 << 52) - 1)))
        };
        if self.signum() < 0 { -value } else { value }
    }
}

impl From<i64> for Exact {
    fn from(value: i64) -> Self {
        Self::normal(Mantissa::Small(i128::from(value)), 0)
    }
}

impl Ord for Exact {
    fn cmp(&self, other: &Self) -> Ordering {
        let signs = self.signum().cmp(&other.signum());
        if signs != Ordering::Equal || self.is_zero() {
            return signs;
        }
        // Magnitudes that are far apart are compared by their top bit, without building a huge
        // shifted number.
        let top = |x: &Self| x.exponent + x.mantissa.bits() as i64;
        match top(self).cmp(&top(other)) {
            Ordering::Equal => (self - other).signum().cmp(&0),
            far if self.signum() > 0 => far,
            far => far.reverse(),
        }
    }
}

impl PartialOrd for Exact {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Add for &Exact {
    type Output = Exact;
    fn add(self, other: &Exact) -> Exact {
        if self.is_zero() {
            return other.clone();
        }
        if other.is_zero() {
            return self.clone();
        }
        let exponent = self.exponent.min(other.exponent);
        let left = self.mantissa.shifted((self.exponent - exponent) as u64);
        let right = other.mantissa.shifted((other.exponent - exponent) as u64);
        Exact::normal(&left + &right, exponent)
    }
}

impl Add for Exact {
    type Output = Exact;
    fn add(self, other: Exact) -> Exact {
        &self + &other
    }
}

impl AddAssign<&Exact> for Exact {
    fn add_assign(&mut self, other: &Exact) {
        *self = &*self + other;
    }
}

impl Sub for &Exact {
    type Output = Exact;
    fn sub(self, other: &Exact) -> Exact {
        self + &-other.clone()
    }
}

impl Sub for Exact {
    type Output = Exact;
    fn sub(self, other: Exact) -> Exact {
        &self - &other
    }
}

impl Neg for Exact {
    type Output = Exact;
    fn neg(self) -> Exact {
        Exact { mantissa: -self.mantissa, exponent: self.exponent }
    }
}

impl Mul for &Exact {
    type Output = Exact;
    fn mul(self, other: &Exact) -> Exact {
        Exact::normal(&self.mantissa * &other.mantissa, self.exponent + other.exponent)
    }
}

impl Sum for Exact {
    fn sum<I: Iterator<Item = Exact>>(terms: I) -> Exact {
        terms.fold(Exact::zero(), |total, term| &total + &term)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn exact(value: f64) -> Exact {
        Exact::from_f64(value).unwrap()
    }

    #[test]
    fn extremes_survive_the_round_trip() {
        for value in [0.0, 5e-324, -5e-324, f64::MIN_POSITIVE, f64::MAX, f64::MIN, 1.0, 0.1, -0.3] {
            let x = exact(value);
            assert_eq!((x.to_f64_down(), x.to_f64_up(), x.to_f64()), (value, value, value));
        }
        assert_eq!(Exact::from_f64(f64::NAN), None);
        assert_eq!(Exact::from_f64(f64::INFINITY), None);
        assert_eq!(exact(-0.0), Exact::zero());
    }

    #[test]
    fn directed_rounding_brackets_what_no_float_holds() {
        let third_bit = &exact(1.0) + &exact(5e-324);
        assert_eq!((third_bit.to_f64_down(), third_bit.to_f64_up()), (1.0, 1.0f64.next_up()));
        assert_eq!(third_bit.to_f64(), 1.0);
        let beyond = &exact(f64::MAX) + &exact(f64::MAX);
        assert_eq!((beyond.to_f64_down(), beyond.to_f64_up()), (f64::MAX, f64::INFINITY));
        assert_eq!(beyond.to_f64(), f64::INFINITY);
        let half_of_smallest = Exact::new(BigInt::one(), -1075);
        assert_eq!((half_of_smallest.to_f64_down(), half_of_smallest.to_f64_up()), (0.0, 5e-324));
        assert_eq!(half_of_smallest.to_f64(), 0.0);
    }

    #[test]
    fn ties_of_rounding_go_to_the_even_neighbour() {
        let half_ulp = exact(2f64.powi(-53));
        assert_eq!((&exact(1.0) + &half_ulp).to_f64(), 1.0);
        let odd = 1.0 + f64::EPSILON;
        assert_eq!((&exact(odd) + &half_ulp).to_f64(), 1.0 + 2.0 * f64::EPSILON);
    }

    #[test]
    fn scaling_gives_integers_only_where_they_are() {
        assert_eq!(exact(0.75).scaled(-2), Some(BigInt::from(3)));
        assert_eq!(exact(0.75).scaled(-4), Some(BigInt::from(12)));
        assert_eq!(exact(0.75).scaled(-1), None);
        assert_eq!(Exact::zero().scaled(100), Some(BigInt::zero()));
    }

    proptest! {
        #[test]
        fn one_operation_then_nearest_is_the_ieee_result(a in any::<f64>(), b in any::<f64>()) {
            prop_assume!(a.is_finite() && b.is_finite());
            let (x, y) = (exact(a), exact(b));
            prop_assert_eq!((&x + &y).to_f64(), a + b);
            prop_assert_eq!((&x - &y).to_f64(), a - b);
            prop_assert_eq!((&x * &y).to_f64(), a * b);
            prop_assert_eq!(x.cmp(&y), a.partial_cmp(&b).unwrap());
        }

        #[test]
        fn sums_do_not_depend_on_order(mut values in prop::collection::vec(-1e300..1e300f64, 0..12)) {
            let forward: Exact = values.iter().map(|&v| exact(v)).sum();
            values.reverse();
            prop_assert_eq!(forward, values.iter().map(|&v| exact(v)).sum());
        }
    }
}
