//! Integers of any size that are fast while they are small: the mantissas of exact numbers.
//!
//! A product of two floats has 106 bits, and sums of many products of similar size a few more, so
//! nearly every mantissa fits in an i128; the others are big integers. Each integer has only one
//! form: it is big only if an i128 cannot hold it.

use std::ops::{Add, Mul, Neg};

use num_bigint::BigInt;
use num_traits::ToPrimitive;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Mantissa {
    Small(i128),
    /// Beyond the range of i128.
    Big(BigInt),
}

use Mantissa::{Big, Small};

impl Mantissa {
    pub(crate) fn is_zero(&self) -> bool {
        *self == Small(0)
    }

    pub(crate) fn is_negative(&self) -> bool {
        match self {
            Small(value) => *value < 0,
            Big(value) => value.sign() == num_bigint::Sign::Minus,
        }
    }

    /// The number of bits, without leading zeros and sign.
    pub(crate) fn bits(&self) -> u64 {
        match self {
            Small(value) => u64::from(128 - value.unsigned_abs().leading_zeros()),
            Big(value) => value.bits(),
        }
    }

    /// Factors the integer into an odd integer and a power of two; `None` for zero.
    pub(crate) fn odd(self) -> Option<(Self, u64)> {
        match self {
            Small(0) => None,
            Small(value) => {
                let zeros = value.trailing_zeros();
                Some((Small(value >> zeros), u64::from(zeros)))
            }
            Big(value) => {
                let zeros = value.trailing_zeros()?;
                Some((if zeros == 0 { Big(value) } else { Self::from(value >> zeros) }, zeros))
            }
        }
    }

    /// The integer times a power of two.
    pub(crate) fn shifted(&self, by: u64) -> Self {
        match self {
            Small(0) => Small(0),
            // One bit is left for the sign.
            Small(value) if by < u64::from(value.unsigned_abs().leading_zeros()) => Small(value << by),
            _ => Self::from(self.to_big() << by),
        }
    }

    /// The magnitude divided by `2^by`, rounded down, if that fits.
    pub(crate) fn magnitude_over(&self, by: u64) -> Option<u64> {
        match self {
            Small(_) if by >= 128 => Some(0),
            Small(value) => u64::try_from(value.unsigned_abs() >> by).ok(),
            Big(value) => (value.magnitude() >> by).to_u64(),
        }
    }

    pub(crate) fn to_big(&self) -> BigInt {
        match self {
            Small(value) => BigInt::from(*value),
            Big(value) => value.clone(),
        }
    }
}

impl Add for &Mantissa {
    type Output = Mantissa;
    fn add(self, other: &Mantissa) -> Mantissa {
        if let (Small(left), Small(right)) = (self, other)
            && let Some(sum) = left.checked_add(*right)
        {
            return Small(sum);
        }
        Mantissa::from(self.to_big() + other.to_big())
    }
}

impl Mul for &Mantissa {
    type Output = Mantissa;
    fn mul(self, other: &Mantissa) -> Mantissa {
        if let (Small(left), Small(right)) = (self, other)
            && let Some(product) = left.checked_mul(*right)
        {
            return Small(product);
        }
        Mantissa::from(self.to_big() * other.to_big())
    }
}

impl Neg for Mantissa {
    type Output = Mantissa;
    fn neg(self) -> Mantissa {
        match self {
            Small(value) => value.checked_neg().map_or_else(|| Big(-BigInt::from(value)), Small),
            Big(value) => Mantissa::from(-value),
        }
    }
}

impl From<BigInt> for Mantissa {
    fn from(value: BigInt) -> Self {
        value.to_i128().map_or(Big(value), Small)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Integers around every power of two up to 2^300, including the ends of the i128 range.
    fn integers() -> impl Strategy<Value = BigInt> {
        (0..300u32, -3..=3i64, any::<bool>(), any::<u64>()).prop_map(|(power, near, negative, noise)| {
            let value = (BigInt::from(1) << power) + near + (BigInt::from(noise) << (power / 2));
            if negative { -value } else { value }
        })
    }

    #[test]
    fn the_ends_of_the_small_range_have_one_form() {
        let least = Mantissa::from(BigInt::from(i128::MIN));
        assert_eq!(least, Small(i128::MIN));
        assert_eq!(-least.clone(), Big(-BigInt::from(i128::MIN)));
        assert_eq!(-(-least.clone()), least);
        assert_eq!(&(&Small(i128::MAX) + &Small(1)) + &Small(-1), Small(i128::MAX));
        assert_eq!(least.shifted(0), least);
        assert_eq!(Small(-1).shifted(127), least);
        assert_eq!(Small(1).shifted(126), Small(1 << 126));
        assert_eq!(Small(1).shifted(127), Big(BigInt::from(1) << 127));
    }

    proptest! {
        #[test]
        fn agrees_with_big_integers(a in integers(), b in integers(), by in 0..200u64) {
            let (x, y) = (Mantissa::from(a.clone()), Mantissa::from(b.clone()));
            prop_assert_eq!(&x + &y, Mantissa::from(&a + &b));
            prop_assert_eq!(&x * &y, Mantissa::from(&a * &b));
            prop_assert_eq!(-x.clone(), Mantissa::from(-&a));
            prop_assert_eq!(x.shifted(by), Mantissa::from(&a << by));
            prop_assert_eq!(x.bits(), a.bits());
            prop_assert_eq!(x.is_negative(), a < BigInt::from(0));
            prop_assert_eq!(x.magnitude_over(by), (a.magnitude() >> by).to_u64());
            match x.odd() {
                None => prop_assert_eq!(a, BigInt::from(0)),
                Some((odd, zeros)) => {
                    prop_assert_eq!(Some(zeros), a.trailing_zeros());
                    prop_assert_eq!(odd, Mantissa::from(a >> zeros));
                }
            }
        }
    }
}
