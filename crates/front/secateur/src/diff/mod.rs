//! What changed between two versions of a model? The rows of a table that are decided otherwise, how
//! far a score can move on any input, and how far a class has to lead to be safe from the change.
//!
//! The rows are counted with the arithmetic of both libraries. The two bounds are claims of
//! [`verify`](crate::verify) about every input of a domain, each with a certificate that the
//! independent checker has accepted. This file asks for them; it proves nothing itself.
//!
//! ```
//! use secateur::diff::{Options, diff};
//! use secateur::{Budget, Conclusion, ModelFile, demo};
//!
//! let model = ModelFile::parse(demo::MODEL)?;
//! let found = diff(&model, &model, &[], &Options::default(), &Budget::default(), &Default::default())?;
//! assert_eq!(found.outcome(), Conclusion::Proved);
//! assert!(found.trees.changed.is_empty());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod rows;
mod words;

use std::sync::Arc;
use std::time::Instant;

use secateur_formats::{ModelFile, threshold_cut};
use secateur_model::{ClassId, ClassLabels, Decision, Domain, Ensemble, LabelMatch, Predictor};
use secateur_oracle::{CompareError, Progress, Verdict};

use crate::budget::Budget;
use crate::error::Error;
use crate::verify::{
    Band, Conclusion, Found, Question, ScoreOutcome, ScoresFound, Verification, VerifyOptions, align, verify,
};
pub use rows::{RowChange, RowsMoved, TreeChange, Trees};
pub use words::Report;

/// The share of the remaining time that the largest move of a score gets, and then each question
/// about decisions.
const SCORES_SHARE: f64 = 0.5;
const QUESTION_SHARE: f64 = 0.25;
/// How much larger a bound on scores is asked for if the proof of the smallest is not ready in time.
const LARGER: f64 = 1.15;
/// The search for the smallest safe lead ends when it is known to one part in NEAR, or after
/// MOST_QUESTIONS.
const NEAR: f64 = 100.0;
const MOST_QUESTIONS: usize = 20;

/// The choices of a caller of [`diff`].
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The inputs that the bounds are about; columns are numbered as in the first model.
    pub domain: Domain,
    /// Decide by comparing the probability of class 1 with this number, instead of the libraries' own
    /// rules.
    pub threshold: Option<f64>,
    /// Threads of the search; `None` for all cores.
    pub threads: Option<usize>,
    /// The seed of random choices.
    pub seed: u64,
    /// Class labels of the two models that their files do not contain, but a live object returns. The
    /// caller has seen to it that they are in the same order; they are shown, and nothing else.
    pub labels: [Option<ClassLabels>; 2],
}

/// What changed between two versions of a model.
#[derive(Debug)]
pub struct Difference {
    /// What the caller's rows show; `None` without rows.
    pub rows: Option<RowsMoved>,
    /// Which trees differ, position by position.
    pub trees: Trees,
    /// How far scores move: the answer of [`verify`] to [`Question::SCORES`].
    pub scores: Verification,
    /// Which lead keeps a decision; `None` for regressors and rankers.
    pub keeps: Option<Keeps>,
    /// The probability of class 1 at which the models decide, if it is not their libraries' own rule.
    pub threshold: Option<f64>,
    /// Boxes that the search visited.
    pub nodes: u64,
    /// How long it took, from the start of the budget's clock.
    pub seconds: f64,
    /// The models as they are shown: with labels of their own, and the second with the columns of the
    /// first.
    shown: [Option<Ensemble>; 2],
}

/// The lead of the first model's winner above which the second model decides the same. A lead is the
/// distance of the raw score from the threshold, or the difference of two scores.
#[derive(Clone, Debug, Default)]
pub struct Keeps {
    /// Proved: where the first library's own scores have a lead larger than this, both libraries
    /// decide the same.
    pub above: Option<f64>,
    /// What proves it.
    pub by: Option<Reason>,
    /// All decisions are proved to stay that are no artefact of the first library's rounding.
    pub all: bool,
    /// A row of this lead is decided otherwise: no smaller bound than its lead can hold.
    pub shown: Option<RowChange>,
    /// The smallest bound is known, to about a hundredth of it.
    pub ended: bool,
    /// Why there is no bound, or why it may not be the smallest.
    pub reason: Option<&'static str>,
}

/// What proves the bound of [`Keeps`].
#[derive(Clone, Debug)]
pub enum Reason {
    /// The certificate of a claim about decisions with this band, which the checker accepted.
    Decisions(Vec<u8>),
    /// It follows from the largest move of a score.
    Scores,
}

impl Difference {
    /// Is everything proved, and accepted by the checker, that is to be?
    pub fn outcome(&self) -> Conclusion {
        let keeps = self.keeps.as_ref().is_none_or(|keeps| keeps.above.is_some());
        let scores = self.scores.conclusion() == Conclusion::Proved && self.scores.checked();
        if scores && keeps { Conclusion::Proved } else { Conclusion::Open }
    }

    /// The proofs of the largest move and, if it has one of its own, of the safe lead.
    pub fn certificates(&self) -> [Option<&[u8]>; 2] {
        let decisions = match self.keeps.as_ref().and_then(|keeps| keeps.by.as_ref()) {
            Some(Reason::Decisions(bytes)) => Some(&**bytes),
            _ => None,
        };
        [self.scores.certificate.as_deref(), decisions]
    }

    fn moved(&self) -> &ScoresFound {
        self.scores.scores().expect("the question was about scores")
    }
}

/// Compares two versions of a model within a budget. `rows` are counted, and are starting points of
/// the search: one row of the first model's features after the other. `progress` tells another
/// thread how far the search has come.
pub fn diff(
    first: &ModelFile,
    second: &ModelFile,
    rows: &[f64],
    options: &Options,
    budget: &Budget,
    progress: &Arc<Progress>,
) -> Result<Difference, Error> {
    let calls = Calls { files: [first, second], options, budget, progress };
    let scores = calls.measured(rows)?;
    let found = scores.scores().expect("the question was about scores");

    let cut = |file: &ModelFile| -> Result<Option<Ensemble>, Error> {
        Ok(match options.threshold {
            Some(threshold) => file.ensemble().cut_at(threshold_cut(file, threshold)?),
            None => None,
        })
    };
    let cuts = [cut(first)?, cut(second)?];
    let ours = cuts[0].as_ref().unwrap_or(first.ensemble()).within(&options.domain);
    let ours = ours.map_err(CompareError::from)?;
    let theirs = cuts[1].as_ref().unwrap_or(second.ensemble());
    let (aligned, _) = align(&ours, theirs);
    let theirs = aligned.as_ref().unwrap_or(theirs);
    let labels = LabelMatch::new(&ours, theirs).map_err(CompareError::from)?;
    let outputs = match (found.outputs.is_empty(), ours.group_count() == theirs.group_count()) {
        (true, true) => (0..ours.group_count()).map(|output| [output; 2]).collect(),
        _ => found.outputs.clone(),
    };
    let pair = rows::Pair { models: labels.models(), outputs };
    let trees = pair.trees();
    let moved = pair.rows(rows, &trees)?;
    let classifiers = [&*ours, theirs].iter().all(|model| model.decision().is_classifier());
    let mut nodes = scores.nodes;
    let keeps = match classifiers {
        true => Some(keeps(&calls, &pair, &trees, found, scores.checked(), moved.as_ref(), &mut nodes)?),
        false => None,
    };
    let named = |model: &Ensemble, side: usize| {
        options.labels[side].as_ref().and_then(|labels| model.with_classes(labels.clone()))
    };
    let shown = [named(&ours, 0).or(Some(ours.into_owned())), named(theirs, 1).or(Some(theirs.clone()))];
    Ok(Difference {
        rows: moved,
        trees,
        scores,
        keeps,
        threshold: options.threshold,
        nodes,
        seconds: budget.elapsed().as_secs_f64(),
        shown,
    })
}

/// What all questions of a call share.
struct Calls<'a> {
    files: [&'a ModelFile; 2],
    options: &'a Options,
    budget: &'a Budget,
    progress: &'a Arc<Progress>,
}

impl Calls<'_> {
    /// The largest move of a score. If its proof was not ready in time, a somewhat larger bound takes
    /// its place, whose proof is much smaller.
    fn measured(&self, rows: &[f64]) -> Result<Verification, Error> {
        let mut scores = self.ask(Question::SCORES, rows, SCORES_SHARE)?;
        let Found::Scores(found) = &mut scores.found else { return Ok(scores) };
        let (Some(most), None) = (found.at_most, &scores.certificate) else { return Ok(scores) };
        let within = Some(upper_number(most * LARGER));
        let larger = self.ask(Question::Scores { within, doubles: false }, &[], SCORES_SHARE)?;
        scores.nodes += larger.nodes;
        if let (Some(proof), Some(proved)) = (&larger.certificate, larger.scores()) {
            (found.at_most, found.probability, found.ended) = (proved.at_most, proved.probability, false);
            scores.certificate = Some(proof.clone());
        }
        Ok(scores)
    }

    /// Asks `verify`, with a certificate, within this share of the time that is left.
    fn ask(&self, question: Question, rows: &[f64], share: f64) -> Result<Verification, Error> {
        let left = self.budget.deadline().map(|end| end.saturating_duration_since(Instant::now()));
        let part = Budget::maybe(left.map(|left| left.mul_f64(share))).with_cancel(self.budget.cancel());
        let options = VerifyOptions {
            question,
            domain: self.options.domain.clone(),
            threads: self.options.threads,
            seed: self.options.seed,
            certificate: true,
            ..VerifyOptions::default()
        };
        verify(self.files[0], self.files[1], rows, &options, &part, self.progress)
    }
}

/// Looks for the smallest lead above which no decision changes: from above by proofs, from below by
/// rows that are decided otherwise.
fn keeps(
    calls: &Calls<'_>,
    pair: &rows::Pair<'_>,
    trees: &Trees,
    scores: &ScoresFound,
    checked: bool,
    moved: Option<&RowsMoved>,
    nodes: &mut u64,
) -> Result<Keeps, Error> {
    let mut found = Keeps { shown: moved.and_then(|moved| moved.safest().cloned()), ..Keeps::default() };
    let most = scores.at_most.filter(|_| checked && scores.outcome == ScoreOutcome::Measured);
    if let Some(most) = most.and_then(|most| follows(pair.models, calls.options.threshold, most)) {
        (found.above, found.by) = (Some(most), Some(Reason::Scores));
    }
    let Some(smallest) = pair.models[0].certain_margin() else {
        found.reason = Some("no margin covers the rounding of the first model");
        return Ok(found);
    };
    if found.above == Some(0.0) {
        (found.all, found.ended) = (true, true);
        return Ok(found);
    }
    let start: Vec<f64> = found.shown.as_ref().map(|shown| shown.row.clone()).unwrap_or_default();
    // The band that is proved, a lead in exact sums. The library's own scores are off by the first
    // model's rounding, which `smallest` bounds.
    let mut proved = found.above;
    let mut floor = found.shown.as_ref().map_or(0.0, |shown| shown.lead).max(0.0);
    // Where scores move by this much at most, a lead of one or two such moves is safe.
    let moves = scores.at_most.map(|most| upper_number(most * pair.lead_of_a_move()));
    let mut hint = moves.or(Some(smallest));
    for asked in 0..MOST_QUESTIONS {
        let next = match proved {
            Some(above) if above <= smallest || above - floor <= above / NEAR => None,
            // Unless a row is decided otherwise, all decisions may be the same.
            Some(_) if floor < smallest => Some(smallest),
            Some(above) => Some(upper_number(f64::midpoint(floor, above))).filter(|&band| band < above),
            None if asked < MOST_QUESTIONS / 2 => hint.take().or(Some(upper_number(2.0 * floor))),
            None => None,
        };
        let Some(band) = next.map(|band| band.max(smallest)).filter(|band| band.is_finite()) else {
            found.ended = proved.is_some();
            break;
        };
        let question = Question::Decisions { band: Band::Score(band), threshold: calls.options.threshold };
        let answer = calls.ask(question, &start, QUESTION_SHARE)?;
        *nodes += answer.nodes;
        let decisions = answer.decisions().expect("the question was about decisions");
        match &decisions.verdict {
            Verdict::Identical => {
                let Some(bytes) = answer.certificate else {
                    found.reason = Some("the time was too short for the certificate's check");
                    break;
                };
                proved = Some(band);
                found.all = band <= smallest;
                let above = upper_number(band + smallest);
                if found.above.is_none_or(|known| above < known) {
                    (found.above, found.by) = (Some(above), Some(Reason::Decisions(bytes)));
                }
            }
            Verdict::Different(example) => {
                let change = pair.change(&example.row, None, trees)?;
                floor = floor.max(band).max(change.lead);
                if found.shown.as_ref().is_none_or(|shown| shown.lead < change.lead) {
                    found.shown = Some(change);
                }
            }
            Verdict::Undecided(_) => {
                floor = floor.max(band);
                found.reason = answer.reason();
                // A bound that needs no search is worth a question.
                hint = decisions.proved_above;
            }
        }
        if calls.budget.is_cancelled() || calls.budget.is_over() {
            break;
        }
    }
    if found.above.is_none() && found.reason.is_none() {
        found.reason = Some("no lead was found that keeps every decision");
    }
    found.ended &= found.reason.is_none();
    Ok(found)
}

/// The lead that keeps a decision where no score moves by more than `most`, if that follows from the
/// models' rules alone: both compare one score with the same number, and a score that moves by less
/// than its distance from that number stays on its side; or both take the first of the highest
/// scores.
fn follows(models: [&Ensemble; 2], threshold: Option<f64>, most: f64) -> Option<f64> {
    let [first, second] = models.map(Ensemble::decision);
    let same_scores = models[0].group_count() == models[1].group_count();
    let same_classes = models[0].classes() == models[1].classes();
    if threshold.is_some() || !same_classes || !same_scores || first != second {
        return None;
    }
    match first {
        Decision::Threshold { .. } => Some(most),
        Decision::Argmax => Some(2.0 * most),
        _ => None,
    }
}

/// The next number with four digits that is at least `value`.
fn upper_number(value: f64) -> f64 {
    let text = format!("{value:.3e}");
    let shown: f64 = text.parse().unwrap_or(value);
    let Some((digits, exponent)) = text.split_once('e').filter(|_| shown < value) else { return shown };
    let next = digits.replace('.', "").parse::<u32>().unwrap_or_default() + 1;
    let power = exponent.parse::<i32>().unwrap_or_default() - 3;
    format!("{next}e{power}").parse().unwrap_or(value)
}

/// The lead of a class: the distance of the score that decides from its threshold, or from the score
/// to the next one.
fn lead(model: &Ensemble, scores: &[f64], class: ClassId) -> f64 {
    match *model.decision() {
        Decision::Threshold { group, threshold, .. } => (scores[group.index()] - threshold).abs(),
        _ => {
            let others = scores.iter().enumerate().filter(|&(at, _)| at != class.index());
            scores[class.index()] - others.map(|(_, &score)| score).fold(f64::NEG_INFINITY, f64::max)
        }
    }
}

/// The scores and the class of a row, as the library computes them.
fn computed(model: &Ensemble, row: &[f64]) -> Result<(Vec<f64>, Option<ClassId>), Error> {
    let predictor = Predictor::new(model);
    let scores = predictor.decided_scores(row)?;
    let class = model.decision().is_classifier();
    Ok((scores, if class { predictor.classes(row)?.first().copied() } else { None }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_rounded_up_to_four_digits() {
        let cases = [
            (0.500_01, 0.5001),
            (0.5, 0.5),
            (0.0, 0.0),
            (9.9995, 10.0),
            (12_345.0, 12_350.0),
            (3.0e-14, 3e-14),
        ];
        for (value, rounded) in cases {
            assert_eq!(upper_number(value), rounded, "{value}");
        }
        for value in [1.234_567_8e-7, 9.999_51e3, 1e-300, 123.4567, 0.99999, 7.3e-2] {
            let shown = upper_number(value);
            assert!(value <= shown && shown <= value * 1.001_001, "{value} is shown as {shown}");
        }
    }
}
