//! Numbers that scikit-learn computes from what is stored, with the same steps as NumPy and SciPy take.

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

/// The score that gradient boosting starts from for two classes: the logit of the prior of the second, as
/// SciPy computes it.
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

/// The scores that gradient boosting starts from for more classes: the logarithm of each prior over the
/// geometric mean of all.
///
/// NumPy's own logarithm and exponential may differ from these in the last bit on some processors.
pub(crate) fn multinomial_logit(priors: &[f64]) -> Vec<f64> {
    let priors: Vec<f64> = priors.iter().map(|&p| clip(p)).collect();
    let logs: Vec<f64> = priors.iter().map(|p| p.ln()).collect();
    let mean = (pairwise_sum(&logs) / logs.len() as f64).exp();
    priors.iter().map(|p| (p / mean).ln()).collect()
}

fn clip(p: f64) -> f64 {
    p.clamp(f64::EPSILON, 1.0 - f64::EPSILON)
}
