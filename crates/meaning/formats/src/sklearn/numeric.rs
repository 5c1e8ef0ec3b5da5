//! Numbers that scikit-learn computes from stored numbers, computed here in the same steps as NumPy
//! and SciPy.

/// NumPy's sum of a contiguous array: eight partial sums in blocks of 128, blocks in pairs.
pub(crate) fn pairwise_sum(values: &[f64]) -> f64 {
    const BLOCK: usize = 128;
    let n = values.len();
    if n < 8 {
        return values.iter().sum::<f64>() + 0.0;
    }
    if n > BLOCK {
        let half = n / 2 - n / 2 % 8;
        return pairwise_sum(&values[..half]) + pairwise_sum(&values[half..]);
    }
    let mut lanes: [f64; 8] = std::array::from_fn(|lane| values[lane]);
    let whole = n - n % 8;
    for eight in values[8..whole].chunks_exact(8) {
        lanes.iter_mut().zip(eight).for_each(|(lane, value)| *lane += value);
    }
    let [a, b, c, d, e, f, g, h] = lanes;
    values[whole..].iter().fold(((a + b) + (c + d)) + ((e + f) + (g + h)), |sum, value| sum + value)
}

/// The score from which gradient boosting starts for two classes: the logit of the second class's
/// prior, as SciPy computes it.
pub(crate) fn logit(p: f64) -> f64 {
    let p = clip(p);
    if (0.3..=0.65).contains(&p) {
        // Near one half the quotient would lose digits.
        let s = 2.0 * (p - 0.5);
        s.ln_1p() - (-s).ln_1p()
    } else {
        (p / (1.0 - p)).ln()
    }
}

/// The scores from which gradient boosting starts for more classes: the logarithm of each prior
/// over the geometric mean of all.
///
/// On some processors NumPy's own logarithm and exponential may differ from these in the last bits:
/// see [`multinomial_logit_errors`].
pub(crate) fn multinomial_logit(priors: &[f64]) -> Vec<f64> {
    let priors: Vec<f64> = priors.iter().map(|&p| clip(p)).collect();
    let logs: Vec<f64> = priors.iter().map(|p| p.ln()).collect();
    let mean = (pairwise_sum(&logs) / logs.len() as f64).exp();
    priors.iter().map(|p| (p / mean).ln()).collect()
}

/// A bound on the distance of the library's scores from those of [`multinomial_logit`], for every
/// processor.
///
/// NumPy's vector code for logarithms and exponentials is accurate to four units in the last place,
/// the C library's to one, so each of the two steps adds a relative error of five units (`EPSILON`)
/// to the difference. With n classes and A the mean magnitude of the logarithms of the priors:
/// - the logarithms differ by 5 A in the mean, their sum in any order and the division by (n + 1)
///   A;
/// - the mean's exponential and the quotient's roundings add 5 + 1, relative, so absolute in the
///   logarithm;
/// - the logarithm itself adds 5 times its magnitude.
///
/// Twice this bound leaves room for second-order terms and for the arithmetic here.
pub(crate) fn multinomial_logit_errors(priors: &[f64]) -> Vec<f64> {
    let count = priors.len() as f64;
    let mean = priors.iter().map(|&p| clip(p).ln().abs()).sum::<f64>() / count;
    let scores = multinomial_logit(priors);
    scores.iter().map(|score| 2.0 * f64::EPSILON * ((count + 6.0) * mean + 6.0 + 5.0 * score.abs())).collect()
}

fn clip(p: f64) -> f64 {
    p.clamp(f64::EPSILON, 1.0 - f64::EPSILON)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pseudorandom numbers from zero to below one.
    fn numbers() -> impl FnMut() -> f64 {
        let mut state = 1u64;
        move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 * (f64::EPSILON / 2.0)
        }
    }

    /// The start as another processor may compute it: every logarithm and exponential is off by up
    /// to four units in the last place.
    fn elsewhere(priors: &[f64], next: &mut impl FnMut() -> f64) -> Vec<f64> {
        let mut off = |value: f64| value * (1.0 + (next() * 9.0 - 4.5).round() * f64::EPSILON);
        let priors: Vec<f64> = priors.iter().map(|&p| clip(p)).collect();
        let logs: Vec<f64> = priors.iter().map(|p| off(p.ln())).collect();
        let mean = off((logs.iter().rev().sum::<f64>() / logs.len() as f64).exp());
        priors.iter().map(|p| off((p / mean).ln())).collect()
    }

    #[test]
    fn the_error_of_a_start_covers_other_logarithms() {
        let mut next = numbers();
        let mut largest = 0.0f64;
        for case in 0..3000 {
            let raw: Vec<f64> = (0..3 + case % 37).map(|_| next().powi(case % 20)).collect();
            let total: f64 = raw.iter().sum();
            let priors: Vec<f64> = raw.iter().map(|value| value / total).collect();
            let (here, there) = (multinomial_logit(&priors), elsewhere(&priors, &mut next));
            for ((here, there), error) in here.iter().zip(there).zip(multinomial_logit_errors(&priors)) {
                assert!((here - there).abs() <= error, "{here} and {there}, {error}");
                largest = largest.max((here - there).abs() / error);
            }
        }
        assert!(largest > 0.1, "{largest}: too loose to mean anything");
    }
}
