//! Turns scores into classes, probabilities and values, by each library's own rule.

use crate::error::PredictError;
#[cfg(any(feature = "std", feature = "libm"))]
use crate::exponential::{exp, exp32, ln_1p, ln_1p32};
use crate::meaning::{Decision, Link, Number, Value};

/// The index of the largest value, the first one if several are equal.
pub(crate) fn first_argmax(values: impl Iterator<Item = f64>) -> usize {
    let mut best = (0, f64::NEG_INFINITY);
    for (index, value) in values.enumerate() {
        if value > best.1 {
            best = (index, value);
        }
    }
    best.0
}

/// The class of these scores, which are divided already if the model averages.
pub(crate) fn class(decision: Decision, scores: &[f64]) -> Result<usize, PredictError> {
    Ok(match decision {
        Decision::Threshold { group, threshold, strict } => {
            let score = scores[group];
            usize::from(score > threshold || !strict && score == threshold)
        }
        Decision::Argmax => first_argmax(scores.iter().copied()),
        Decision::Scores(_) => return Err(PredictError::NoClasses),
        #[cfg(any(feature = "std", feature = "libm"))]
        Decision::Softmax32 => first_argmax(softmax::softmax32(scores).map(f64::from)),
        #[cfg(any(feature = "std", feature = "libm"))]
        Decision::Softmax64 => first_argmax(softmax::softmax64(scores)),
        #[cfg(any(feature = "std", feature = "libm"))]
        Decision::Sigmoid { scale } => {
            first_argmax(scores.iter().map(|score| 1.0 / (1.0 + exp(-scale * score))))
        }
        #[cfg(not(any(feature = "std", feature = "libm")))]
        _ => return Err(PredictError::NeedsStd),
    })
}

/// Replaces each score by what a regressor's `predict` returns. The scores are divided already if
/// the model averages.
pub(crate) fn values(decision: Decision, number: Number, scores: &mut [f64]) -> Result<(), PredictError> {
    let Decision::Scores(value) = decision else { return Err(PredictError::NoValues) };
    let each = |scores: &mut [f64], f: &dyn Fn(f64) -> f64| {
        scores.iter_mut().for_each(|score| *score = f(*score));
    };
    match value {
        Value::Score => {}
        // The library multiplies by a sign that is 0 for zeros, so that -0.0 becomes 0.0.
        Value::SignedSquare => each(scores, &|score| match number {
            _ if score == 0.0 => 0.0,
            // The product of two f32 is exact in f64, so that this rounds once.
            Number::F32 => f64::from((score.abs() * score) as f32),
            Number::F64 => score.abs() * score,
        }),
        Value::ScoreAsF32 => each(scores, &|score| f64::from(score as f32)),
        Value::Above { threshold } => each(scores, &|score| f64::from(u8::from(score > threshold))),
        Value::Sorted => return Err(PredictError::ValuesVary),
        Value::PathLength => return Err(PredictError::ValuesUnknown),
        #[cfg(any(feature = "std", feature = "libm"))]
        Value::Exp => each(scores, &|score| match number {
            Number::F32 => f64::from(exp32(score as f32)),
            Number::F64 => exp(score),
        }),
        #[cfg(any(feature = "std", feature = "libm"))]
        Value::Logistic => each(scores, &|score| match number {
            Number::F32 => f64::from(softmax::logistic32(score as f32)),
            Number::F64 => 1.0 / (1.0 + exp(-score)),
        }),
        #[cfg(any(feature = "std", feature = "libm"))]
        Value::LogOnePlusExp => each(scores, &|score| match number {
            Number::F32 => f64::from(ln_1p32(exp32(score as f32))),
            Number::F64 => ln_1p(exp(score)),
        }),
        #[cfg(any(feature = "std", feature = "libm"))]
        Value::MeanAndVariance => scores.iter_mut().skip(1).step_by(2).for_each(|score| {
            *score = match number {
                Number::F32 => f64::from(exp32(2.0 * *score as f32)),
                Number::F64 => exp(2.0 * *score),
            };
        }),
        #[cfg(not(any(feature = "std", feature = "libm")))]
        _ => return Err(PredictError::NeedsStd),
    }
    Ok(())
}

/// The probability of each class.
#[cfg(any(feature = "std", feature = "libm"))]
pub(crate) fn probabilities(link: Link, scores: &[f64], out: &mut [f64]) -> Result<(), PredictError> {
    let logistic = |scale: f64, score: f64| 1.0 / (1.0 + exp(-scale * score));
    match link {
        Link::None => return Err(PredictError::NoProbabilities),
        Link::Logistic32 => {
            let one = softmax::logistic32(scores[0] as f32);
            out.copy_from_slice(&[f64::from(1.0 - one), f64::from(one)]);
        }
        Link::Logistic64 { scale } => {
            let one = logistic(scale, scores[0]);
            out.copy_from_slice(&[1.0 - one, one]);
        }
        Link::Softmax32 => {
            out.iter_mut().zip(softmax::softmax32(scores)).for_each(|(out, p)| *out = f64::from(p));
        }
        Link::Softmax64 => out.iter_mut().zip(softmax::softmax64(scores)).for_each(|(out, p)| *out = p),
        Link::DividedSoftmax64 { divisor } => {
            let both = [-scores[0], scores[0]];
            let scores = if scores.len() == 1 { &both } else { scores };
            let divided: alloc::vec::Vec<f64> = scores.iter().map(|score| score / divisor).collect();
            out.iter_mut().zip(softmax::softmax64(&divided)).for_each(|(out, p)| *out = p);
        }
        Link::Each { scale } => {
            out.iter_mut().zip(scores).for_each(|(out, &score)| *out = logistic(scale, score));
        }
        Link::Identity => out.copy_from_slice(scores),
    }
    Ok(())
}

/// Without the exponential function, probabilities exist only if they are averages.
#[cfg(not(any(feature = "std", feature = "libm")))]
pub(crate) fn probabilities(link: Link, scores: &[f64], out: &mut [f64]) -> Result<(), PredictError> {
    match link {
        Link::None => Err(PredictError::NoProbabilities),
        Link::Identity => {
            out.copy_from_slice(scores);
            Ok(())
        }
        _ => Err(PredictError::NeedsStd),
    }
}

#[cfg(any(feature = "std", feature = "libm"))]
mod softmax {
    use alloc::vec::Vec;

    use crate::exponential::{exp, exp32};

    /// XGBoost's own expression, each step in f32.
    pub(super) fn logistic32(score: f32) -> f32 {
        1.0 / (exp32((-score).min(88.7)) + 1.0 + 1e-16)
    }

    /// XGBoost's softmax: the largest score is subtracted and `exp` computed in f32, their sum is
    /// computed in f64 and rounded to f32, and the division is in f32.
    pub(super) fn softmax32(scores: &[f64]) -> impl Iterator<Item = f32> {
        let largest = scores.iter().map(|&s| s as f32).fold(f32::NEG_INFINITY, f32::max);
        let exps: Vec<f32> = scores.iter().map(|&s| exp32(s as f32 - largest)).collect();
        let total = exps.iter().map(|&e| f64::from(e)).sum::<f64>() as f32;
        exps.into_iter().map(move |e| e / total)
    }

    /// The same steps, all in f64.
    pub(super) fn softmax64(scores: &[f64]) -> impl Iterator<Item = f64> {
        let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let exps: Vec<f64> = scores.iter().map(|&s| exp(s - largest)).collect();
        let total: f64 = exps.iter().sum();
        exps.into_iter().map(move |e| e / total)
    }
}
