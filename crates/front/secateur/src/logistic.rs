//! The probabilities that a logistic model gives to scores within a margin of its threshold.

use secateur_formats::{ModelFile, logistic_probability};
use secateur_model::{Cut, Decision};

/// The probabilities that a logistic model gives within `band` of its threshold; `None` for other
/// models.
pub fn probabilities(file: &ModelFile, band: f64) -> Option<[f64; 2]> {
    let Decision::Threshold { threshold, .. } = *file.ensemble().decision() else { return None };
    Some(interval(file.logistic_scale()?, threshold, band))
}

/// The probabilities that a model gives to scores whose distance from a cut is at most `band` plus
/// the cut's gap, rounded outward. If the library's probability lies outside of them, the score is
/// farther than `band` from the cut, however the library rounds. `None` for models that are not
/// logistic.
pub(crate) fn around(file: &ModelFile, cut: Cut, band: f64) -> Option<[f64; 2]> {
    let slack = 8.0 * f64::EPSILON;
    let margin = band + cut.gap;
    let low = logistic_probability(file, cut.score - margin)? - slack;
    let high = logistic_probability(file, cut.score + margin)? + slack;
    Some([low.max(0.0), high.min(1.0)])
}

/// The probabilities that scores within `margin` of `threshold` can have, rounded outward.
pub(crate) fn interval(scale: f64, threshold: f64, margin: f64) -> [f64; 2] {
    let probability = |score: f64| 1.0 / (1.0 + (-scale * score).exp());
    // Each step errs by one or two units in the last place; allowing a few more costs nothing.
    let slack = 8.0 * f64::EPSILON;
    let low = probability(threshold - margin) - slack;
    let high = probability(threshold + margin) + slack;
    [low.max(0.0), high.min(1.0)]
}

/// Both ends, with enough digits to tell them apart.
pub(crate) fn words(ends: [f64; 2]) -> String {
    let [low, high] = shown(ends);
    format!("{low} to {high}")
}

/// The probabilities that an interval leaves out, with the same digits: `below 0.499 or above 0.501`.
pub(crate) fn outside(ends: [f64; 2]) -> String {
    let [low, high] = shown(ends);
    format!("below {low} or above {high}")
}

fn shown([low, high]: [f64; 2]) -> [String; 2] {
    let digits = (-(high - low).log10()).clamp(1.0, 16.0).ceil() as usize + 1;
    let unit = 10f64.powi(digits as i32);
    [(low * unit).floor(), (high * unit).ceil()].map(|end| format!("{:.digits$}", end / unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_holds_every_probability_of_the_band() {
        let [low, high] = interval(1.0, 0.0, 1e-6);
        assert!(low < 0.499_999_75 && low > 0.499_999_749 && high > 0.500_000_25 && high < 0.500_000_251);
        let [low, high] = interval(1.0, 0.0, 1000.0);
        assert_eq!((low, high), (0.0, 1.0));
    }

    #[test]
    fn words_tell_the_ends_apart() {
        assert_eq!(words([0.499_999_75, 0.500_000_25]), "0.49999975 to 0.50000025");
        assert_eq!(words([0.2, 0.8]), "0.20 to 0.80");
        assert_eq!(outside([0.2, 0.8]), "below 0.20 or above 0.80");
    }
}
