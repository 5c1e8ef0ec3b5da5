//! Turns a model whose library rounds its inputs to f32 into an equivalent model that reads
//! doubles.
//!
//! Rounding to nearest is monotone, so `f32(x) <= t` holds for all doubles x up to a largest one,
//! and for none above it: comparing rounded inputs with a threshold is the same as comparing the
//! inputs themselves with another threshold. With all thresholds moved in this way the model gives
//! the same scores, in every bit, on every double that the library accepts.

use crate::ensemble::Ensemble;
use crate::feature::NumberType;
use crate::tree::Test;

impl Ensemble {
    /// The same model, reading f64. If it reads f32, every double takes the path that its f32
    /// rounding takes in this model. `None` if some split is not a comparison (categories,
    /// equality), or if numbers near zero are read as zero.
    ///
    /// A library that refuses infinities also refuses doubles that round to one, but the model
    /// returned here accepts them. A statement about all of its inputs therefore holds for the
    /// library, but not the other way round.
    pub fn reading_doubles(&self) -> Option<Self> {
        if self.intake.number == NumberType::F64 {
            return Some(self.clone());
        }
        if self.intake.zero_window.is_some() {
            return None;
        }
        let moved = |test: Test<'_>| match test {
            Test::LessOrEqual { threshold } => Some(last_at_most(threshold)),
            // `f32(x) < t` means that f32(x) is at most the largest f32 below t.
            Test::Less { threshold } if threshold == f64::NEG_INFINITY => Some(threshold),
            Test::Less { threshold } => {
                let below = NumberType::F32.floor(threshold);
                let below = if below < threshold { below } else { NumberType::F32.next_down(below) };
                Some(last_at_most(below).next_up())
            }
            Test::LessOrEqualButZero { .. } | Test::Equal { .. } | Test::Member { .. } => None,
        };
        let trees = self.trees.iter().map(|tree| tree.with_thresholds(moved)).collect::<Option<_>>()?;
        let mut model = Self { trees, ..self.clone() };
        model.intake.number = NumberType::F64;
        Some(model)
    }
}

/// The largest double that is at most `threshold` when it is rounded to f32.
fn last_at_most(threshold: f64) -> f64 {
    let single = NumberType::F32.floor(threshold);
    if single == f64::INFINITY {
        return single;
    }
    // The point halfway between two f32 neighbours is an f64, and it rounds to the even one of
    // them. For this rule the neighbour above the largest f32 is 2^128, and the one below the
    // smallest -2^128: their halfway points round to infinity.
    let (low, high) = match (single, NumberType::F32.next_up(single)) {
        (f64::NEG_INFINITY, high) => (-TOO_LARGE, high),
        (low, f64::INFINITY) => (low, TOO_LARGE),
        both => both,
    };
    let middle = (low + high) / 2.0;
    if NumberType::F32.round(middle) <= single { middle } else { middle.next_down() }
}

/// 2^128, the first power of two that is not an f32.
const TOO_LARGE: f64 = 340_282_366_920_938_463_463_374_607_431_768_211_456.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_double_is_the_last() {
        let singles = [0.0f32, -0.0, 0.1, -0.1, 1.0, 1.0 + f32::EPSILON, -7.5, 3e38, 1e-40, -1e-45];
        let edges = [f32::MAX, f32::MIN, f32::MIN_POSITIVE, f32::NEG_INFINITY];
        for single in singles.into_iter().chain(edges) {
            let single = f64::from(single);
            for threshold in [single, single.next_up(), single.next_down()] {
                let last = last_at_most(threshold);
                assert!(f64::from(last as f32) <= threshold, "{threshold:e}: {last:e}");
                let after = last.next_up();
                assert!(f64::from(after as f32) > threshold, "{threshold:e}: {after:e}");
            }
        }
        assert_eq!(last_at_most(f64::INFINITY), f64::INFINITY);
    }
}
