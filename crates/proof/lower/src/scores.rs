//! A claim about scores: its numbers, its rows, and when a single cell satisfies the claim
//! (specification, version 2, sections 2.2 and 6.7).
//!
//! The score of an output is the library's sum, divided if the library averages, before any link
//! function. In exact arithmetic it is `S / d` for the exact sum S and the divisor d, and the
//! library's own score differs from that by at most the model's rounding r (`model::band`). So if
//! the library's scores of A and of B are more than eps apart, then
//!
//! ```text
//! |S_B / d_B - S_A / d_A| > eps - r_A - r_B
//! ```
//!
//! If both models are the same and the file fixes every bit of the result, both scores have the
//! same bits, so both roundings count as zero. For each output there are two systems of one row,
//! one for each sign. Rows are over integers, so both sides are multiplied by `d_A d_B 2^-q`, where
//! `2^q` is the larger power of two that divides both divisors.

use num_traits::ToPrimitive;
use secateur_model::{ClassId, Decision, Ensemble, Exact, Predictor};

use crate::pair::{leaves, match_classes};
use crate::refused::{ModelRole, Refused};

/// The numbers of a claim about scores.
pub(crate) struct Scores {
    pub(crate) within: Exact,
    /// The factors of the original's and of the pruned model's sum in a row.
    pub(crate) factors: [i64; 2],
    /// By what a row multiplies a difference of scores.
    unit: Exact,
    /// For each output the sums of the original and of the pruned model that are compared.
    groups: Vec<[usize; 2]>,
    /// For each output how far rounding can move the two libraries' scores apart.
    roundings: Vec<Exact>,
    /// Exchanging the two models gives the same claim, so one side of each output is enough.
    symmetric: bool,
}

impl Scores {
    /// The models have matched labels; `same` says that they are one model, by their digests.
    pub(crate) fn new([original, pruned]: [&Ensemble; 2], same: bool, within: f64) -> Result<Self, Refused> {
        let limit = Exact::from_f64(within).filter(|_| !within.is_sign_negative());
        let limit = limit.ok_or(Refused::ClaimWithin { within })?;
        let groups = matched_groups(original, pruned)?;
        // The score of a class belongs to its label, so both models must list their labels in the
        // same order.
        if original.decision().is_classifier() && pruned.decision().is_classifier() {
            let classes = match_classes(original, pruned);
            let in_order =
                |classes: &Vec<ClassId>| classes.iter().enumerate().all(|(at, class)| class.index() == at);
            if !classes.as_ref().is_some_and(in_order) {
                let (original, pruned) = (original.classes().len(), pruned.classes().len());
                return Err(Refused::ClaimClasses { original, pruned });
            }
        }
        let rounding = |model: &Ensemble, role: ModelRole| {
            let found =
                model.score_rounding().filter(|found| found.scores.iter().all(|bound| bound.is_finite()));
            found.ok_or(Refused::ClaimOverflow { model: role })
        };
        let ours = rounding(original, ModelRole::Original)?;
        let theirs = rounding(pruned, ModelRole::Pruned)?;
        let same_bits = same && !original.scores_vary();
        let together = |&[a, b]: &[usize; 2]| match same_bits {
            true => Exact::zero(),
            false => &Exact::finite(ours.scores[a]) + &Exact::finite(theirs.scores[b]),
        };
        let roundings = groups.iter().map(together).collect();
        let divisors = [original, pruned].map(divisor);
        let scale = divisors[0].exponent().min(divisors[1].exponent());
        let integer = |divisor: &Exact| divisor.scaled(scale).and_then(|value| value.to_i64());
        let (Some(of_original), Some(of_pruned)) = (integer(&divisors[1]), integer(&divisors[0])) else {
            return Err(Refused::ClaimDivisors {
                original: divisors[0].to_f64(),
                pruned: divisors[1].to_f64(),
            });
        };
        let power = Exact::new(1.into(), -scale);
        let unit = &(&divisors[0] * &divisors[1]) * &power;
        let factors = [of_original, of_pruned];
        Ok(Self { within: limit, factors, unit, groups, roundings, symmetric: false })
    }

    /// The scores of a model and of its twin, each with its own rounding. Whatever values two rows
    /// hold in the moved columns, the same values exchanged are another pair of rows.
    pub(crate) fn of_twins(models: [&Ensemble; 2], within: f64) -> Result<Self, Refused> {
        Ok(Self { symmetric: true, ..Self::new(models, false, within)? })
    }

    pub(crate) fn is_symmetric(&self) -> bool {
        self.symmetric
    }

    pub(crate) fn outputs(&self) -> usize {
        self.roundings.len()
    }

    /// The sums of the original and of the pruned model that an output compares.
    pub(crate) fn groups(&self, output: usize) -> [usize; 2] {
        self.groups[output]
    }

    /// If the libraries' scores of this output may be too far apart, the combination of its sums
    /// exceeds this bound.
    pub(crate) fn bound(&self, output: usize) -> Exact {
        &(&self.within - &self.roundings[output]) * &self.unit
    }

    /// Is the pruned model's score of an output not too far above (or below) the original's on this
    /// input, as the libraries compute them?
    pub(crate) fn holds(
        &self,
        models: [&Ensemble; 2],
        predictors: &[Predictor<'_>; 2],
        row: &[f64],
        output: usize,
        below: bool,
    ) -> Result<(), Refused> {
        let of = |model: usize| range(models[model], &predictors[model], row, self.groups[output][model]);
        let within = self.within.to_f64();
        let unknown = || Refused::CellsScore { input: row.to_vec(), output, apart: f64::INFINITY, within };
        let (original, pruned) = (of(0).ok_or_else(unknown)?, of(1).ok_or_else(unknown)?);
        // The largest possible score_B - score_A, times both divisors; score_A - score_B if
        // `below`.
        let divisors = models.map(divisor);
        let apart = match below {
            false => &(&pruned[1] * &divisors[0]) - &(&original[0] * &divisors[1]),
            true => &(&original[1] * &divisors[1]) - &(&pruned[0] * &divisors[0]),
        };
        let both = &divisors[0] * &divisors[1];
        if apart <= &self.within * &both {
            return Ok(());
        }
        let apart = apart.to_f64() / both.to_f64();
        Err(Refused::CellsScore { input: row.to_vec(), output, apart, within })
    }
}

/// Which sums are compared: those with the same index. The exception is a binary classifier with
/// two scores (it takes the higher one) beside a binary classifier with a single score and a
/// threshold: then the second score is compared with the single one, since both belong to the
/// second class.
fn matched_groups(original: &Ensemble, pruned: &Ensemble) -> Result<Vec<[usize; 2]>, Refused> {
    let threshold = |model: &Ensemble| matches!(model.decision(), Decision::Threshold { .. });
    let higher_of_two = |model: &Ensemble| matches!(model.decision(), Decision::Argmax);
    match (original.group_count(), pruned.group_count()) {
        (a, b) if a == b => Ok((0..a).map(|group| [group, group]).collect()),
        (2, 1) if higher_of_two(original) && threshold(pruned) => Ok(vec![[1, 0]]),
        (1, 2) if threshold(original) && higher_of_two(pruned) => Ok(vec![[0, 1]]),
        (original, pruned) => Err(Refused::ClaimScoreCount { original, pruned }),
    }
}

/// The interval in which a library's score of an input lies, times the divisor: a single number if
/// the file fixes its bits, otherwise the rounding that the leaves of this input allow.
pub(crate) fn range(
    model: &Ensemble,
    predictor: &Predictor<'_>,
    row: &[f64],
    output: usize,
) -> Option<[Exact; 2]> {
    let divisor = divisor(model);
    if !model.scores_vary() {
        let score = Exact::from_f64(*predictor.decided_scores(row).ok()?.get(output)?)?;
        let score = &score * &divisor;
        return Some([score.clone(), score]);
    }
    let leaves = leaves(model, row)?;
    let rounding = &Exact::from_f64(model.rounding_at(output, &leaves)?)? * &divisor;
    let sum = model.exact_sums(leaves).swap_remove(output);
    Some([&sum - &rounding, &sum + &rounding])
}

/// What a model's sums are divided by.
fn divisor(model: &Ensemble) -> Exact {
    Exact::finite(model.accumulation().divisor())
}
