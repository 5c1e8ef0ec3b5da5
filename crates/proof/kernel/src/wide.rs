//! Whole numbers of any size, with the few operations that the rules need.
//!
//! A number that fits into 128 bits is stored as such. Any other is stored in two's complement, in
//! words of 64 bits, the lowest first, without words that only repeat the sign. So every number has
//! only one form, and equal numbers are equal values.

/// A whole number of any size.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Int(Form);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Form {
    Small(i128),
    /// More than 128 bits.
    Large(Vec<u64>),
}

use Form::{Large, Small};

impl Int {
    /// Zero.
    pub const ZERO: Self = Self(Small(0));

    /// A number from its words in two's complement, the lowest first; an empty list is zero.
    pub fn from_words(mut words: Vec<u64>) -> Self {
        while let [.., below, top] = words[..]
            && top == sign_word(below)
        {
            words.pop();
        }
        match words[..] {
            [] => Self::ZERO,
            [low] => Self(Small(i128::from(low as i64))),
            [low, high] => Self(Small((u128::from(high) << 64 | u128::from(low)) as i128)),
            _ => Self(Large(words)),
        }
    }

    /// The words in two's complement, the lowest first.
    pub fn to_words(&self) -> Vec<u64> {
        self.words(self.width())
    }

    /// The words in two's complement: exactly `count` of them, which must be enough.
    fn words(&self, count: usize) -> Vec<u64> {
        let mut words = match &self.0 {
            Small(value) => vec![*value as u64, (*value >> 64) as u64],
            Large(words) => words.clone(),
        };
        words.resize(count, if self.is_negative() { u64::MAX } else { 0 });
        words
    }

    /// How many words hold the number and its sign.
    fn width(&self) -> usize {
        match &self.0 {
            Small(_) => 2,
            Large(words) => words.len(),
        }
    }

    /// Whether the number is below zero.
    pub fn is_negative(&self) -> bool {
        match &self.0 {
            Small(value) => *value < 0,
            Large(words) => words.last().is_some_and(|&top| top >> 63 == 1),
        }
    }

    /// Whether the number is above zero.
    pub fn is_positive(&self) -> bool {
        !self.is_negative() && *self != Self::ZERO
    }

    /// The sum of two numbers.
    pub fn plus(&self, other: &Self) -> Self {
        if let (Small(a), Small(b)) = (&self.0, &other.0)
            && let Some(sum) = a.checked_add(*b)
        {
            return Self(Small(sum));
        }
        let count = self.width().max(other.width()) + 1;
        let (mut words, mut carry) = (self.words(count), false);
        for (word, other) in words.iter_mut().zip(other.words(count)) {
            let (sum, first) = word.overflowing_add(other);
            let (sum, second) = sum.overflowing_add(u64::from(carry));
            (*word, carry) = (sum, first || second);
        }
        Self::from_words(words)
    }

    /// Whether the number is at least another one.
    pub fn is_at_least(&self, other: &Self) -> bool {
        !self.plus(&other.negated()).is_negative()
    }

    /// The largest of some magnitudes; zero if there are none.
    pub fn largest_magnitude<'a>(numbers: impl IntoIterator<Item = &'a Self>) -> Self {
        let larger = |a: Self, b: Self| if a.is_at_least(&b) { a } else { b };
        numbers.into_iter().map(Self::magnitude).fold(Self::ZERO, larger)
    }

    /// The number with the other sign.
    pub fn negated(&self) -> Self {
        if let Small(value) = self.0
            && let Some(value) = value.checked_neg()
        {
            return Self(Small(value));
        }
        // In two's complement the negative of a number is its complement plus one.
        let words = self.words(self.width() + 1).into_iter().map(|word| !word).collect();
        Self::from_words(words).plus(&Self::from(1))
    }

    /// The number without its sign.
    pub fn magnitude(&self) -> Self {
        if self.is_negative() { self.negated() } else { self.clone() }
    }

    /// The number times a word.
    pub fn times(&self, factor: u64) -> Self {
        if let Small(value) = self.0
            && let Some(product) = value.checked_mul(i128::from(factor))
        {
            return Self(Small(product));
        }
        // In two's complement, multiplication modulo a power of two is correct if the product fits.
        let mut carry = 0u128;
        let mut words = self.words(self.width() + 2);
        for word in &mut words {
            carry += u128::from(*word) * u128::from(factor);
            *word = carry as u64;
            carry >>= 64;
        }
        Self::from_words(words)
    }

    /// The number times a factor that may be negative.
    pub fn scaled(&self, factor: i64) -> Self {
        let product = self.times(factor.unsigned_abs());
        if factor < 0 { product.negated() } else { product }
    }

    /// The product of two numbers, the second at least zero.
    pub fn times_wide(&self, factor: &Self) -> Self {
        if let (Small(a), Small(b)) = (&self.0, &factor.0)
            && let Some(product) = a.checked_mul(*b)
        {
            return Self(Small(product));
        }
        let part = |(place, word)| Self::from_words([vec![0; place], self.times(word).to_words()].concat());
        factor.to_words().into_iter().enumerate().map(part).fold(Self::ZERO, |sum, part| sum.plus(&part))
    }

    /// The number divided by two to the power `shift`, rounded up.
    pub fn shifted_up(&self, shift: u64) -> Self {
        let floor = self.negated().shifted_down(shift);
        floor.negated()
    }

    /// The number divided by two to the power `shift`, rounded down.
    fn shifted_down(&self, shift: u64) -> Self {
        if let Small(value) = self.0 {
            return Self(Small(value >> shift.min(127)));
        }
        let (whole, bits) = ((shift / 64) as usize, shift % 64);
        let count = self.width();
        let mut words = self.words(whole.min(count) + count + 1);
        words.drain(..whole.min(count));
        words.truncate(count + 1);
        for at in 0..count {
            let next = u128::from(words[at + 1]) << 64 | u128::from(words[at]);
            words[at] = (next >> bits) as u64;
        }
        words.truncate(count);
        Self::from_words(words)
    }

    /// The number of bits without the sign; zero has none.
    pub fn bits(&self) -> u64 {
        match &self.0 {
            Small(value) => u64::from(128 - value.unsigned_abs().leading_zeros()),
            Large(_) => {
                let words = self.magnitude().to_words();
                let top = words.iter().rposition(|&word| word != 0).unwrap_or(0);
                (top as u64 + 1) * 64 - u64::from(words[top].leading_zeros())
            }
        }
    }

    /// The number, if it fits into 128 bits.
    pub fn to_i128(&self) -> Option<i128> {
        match self.0 {
            Small(value) => Some(value),
            Large(_) => None,
        }
    }
}

/// The word that repeats the sign of the word below it.
fn sign_word(below: u64) -> u64 {
    if below >> 63 == 1 { u64::MAX } else { 0 }
}

impl From<i128> for Int {
    fn from(value: i128) -> Self {
        Self(Small(value))
    }
}

#[cfg(test)]
mod tests {
    use super::Int;

    #[test]
    fn products_are_the_same_on_both_sides_of_128_bits() {
        let power = |bits: usize| Int::from_words([vec![0; bits / 64], vec![1 << (bits % 64), 0]].concat());
        let edges = [0, 1, 62, 63, 64, 65, 126, 127, 128, 130, 191, 192].map(power);
        let near: Vec<Int> =
            edges.iter().flat_map(|edge| [-1, 0, 1].map(|by| edge.plus(&Int::from(by)))).collect();
        for a in near.iter().flat_map(|a| [a.clone(), a.negated()]) {
            for b in near.iter().filter(|b| !b.is_negative()) {
                // The same product from two halves of each factor.
                let (a_more, b_more) = (a.plus(&power(100)), b.plus(&power(70)));
                let whole = a_more.times_wide(&b_more);
                let parts = [(&a, b), (&a, &power(70)), (&power(100), b), (&power(100), &power(70))];
                let sum = parts.iter().fold(Int::ZERO, |sum, (a, b)| sum.plus(&a.times_wide(b)));
                assert_eq!(whole, sum, "{a:?} {b:?}");
            }
            for bits in [1, 63, 64, 127, 128] {
                assert_eq!(a.times_wide(&power(bits)).shifted_up(bits as u64), a);
            }
        }
    }
}
