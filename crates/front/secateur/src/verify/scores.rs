//! The question about scores: how far can the scores of two models be apart on the inputs of a
//! domain? The answer has bounds from both sides on the greatest difference, or says whether it is
//! within a limit.

use secateur_formats::ModelFile;
use secateur_model::{ClassId, Decision, Ensemble, Grid, LabelMatch, NumberType};
use secateur_oracle::{CompareError, Limit, Options, ScoreComparison, ScorePoint, StopReason};
use secateur_report as page;
use serde_json::{Map, Value, json};

use super::words::{Findings, Line, row_json, stopped};
use super::{Answered, Call, Conclusion, Found, Search, VerifyReport, labels, score_page};
use crate::error::Error;
use crate::text::{number, plain, printable};

/// The answer about scores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScoreOutcome {
    /// Proved: all differences are within the limit.
    Within,
    /// Refuted: an input exceeds the limit.
    Exceeds,
    /// No limit was given: both bounds are reported, whether or not they meet.
    Measured,
    /// The limit is neither proved nor refuted.
    Undecided,
}

/// What was found about the scores of two models.
#[derive(Clone, Debug)]
pub struct ScoresFound {
    /// The answer.
    pub outcome: ScoreOutcome,
    /// The limit that was asked about.
    pub within: Option<f64>,
    /// A bound on the distance of scores on all inputs of the domain, including the rounding of
    /// both libraries: proved by the search, and by
    /// [`Verification::certificate`](crate::Verification::certificate) if there is one. `None` if
    /// nothing was proved.
    pub at_most: Option<f64>,
    /// The part of `at_most` that comes from the rounding of both libraries, if it was measured.
    pub rounding: Option<f64>,
    /// An input whose scores, computed as the libraries do, are this far apart.
    pub at_least: Option<ScorePoint>,
    /// Is the greatest difference of the exact scores known, to four digits of `at_most` or to a
    /// thousandth of `rounding`? Then only rounding separates the two bounds.
    pub ended: bool,
    /// Why there is no answer, or why the search ended early.
    pub reason: Option<&'static str>,
    /// For logistic and softmax models: if no score differs by more than `at_most`, no exact
    /// probability differs by more than this. Rounding in a library's exponential function and
    /// float type is not included.
    pub probability: Option<f64>,
    /// The index of the library that rounds the doubles that the other reads, if every double is
    /// meant and this makes a difference.
    pub rounds: Option<usize>,
    /// Which sum of the first model is compared with which sum of the second, output by output;
    /// empty if the models could not be laid out in time.
    pub outputs: Vec<[usize; 2]>,
}

/// Answers the question.
pub(super) fn answer(call: &Call<'_>, within: Option<f64>, doubles: bool) -> Result<Answered, Error> {
    let given = call.models;
    let mixed = doubles && given[0].intake().number != given[1].intake().number;
    if mixed && !given[0].domain().wheres().is_empty() {
        return Err(CompareError::ScoresWhere.into());
    }
    let read = match mixed {
        true => Some(every_double(given, call.options.certificate)?),
        false => None,
    };
    let models = read.as_ref().map_or(given, |[ours, theirs]| [ours, theirs]);
    if call.options.checkpoint.is_some() && (within.is_none() || mixed) {
        return Err(Error::CheckpointScores);
    }
    let search = Call { models, ..*call }.search()?;
    let laid_out = match ScoreComparison::new(models[0], models[1], &call.until(search.deadline)) {
        Ok(comparison) => Ok(comparison),
        Err(CompareError::Stopped(reason)) => Err(reason),
        Err(error) => return Err(error.into()),
    };
    let mut found = ScoresFound {
        outcome: ScoreOutcome::Measured,
        within,
        at_most: None,
        rounding: None,
        at_least: None,
        ended: false,
        reason: None,
        probability: None,
        rounds: mixed.then(|| usize::from(given[0].intake().number == NumberType::F64)),
        outputs: Vec::new(),
    };
    let accepted = Grid::common_intake(&models).map_err(CompareError::from)?;
    let (mut domain, mut nodes, mut certificate) = (models[0].domain().clone(), 0, None);
    match laid_out {
        Ok(comparison) => {
            domain = comparison.domain();
            found.outputs = comparison.outputs();
            (nodes, certificate) = match within {
                None => measure(&search, &comparison, &mut found)?,
                Some(within) => ask(&search, &comparison, within, &mut found)?,
            };
        }
        Err(reason) => found.is_open(stopped(reason)),
    }
    // A double that one library reads as an infinity and refuses is no example.
    let refused = |point: &ScorePoint| given.iter().any(|model| !takes(model, &point.row));
    if mixed && found.at_least.as_ref().is_some_and(refused) {
        found.at_least = None;
        if found.outcome == ScoreOutcome::Exceeds {
            found.is_open("the input that was found is too large for one of the libraries");
        }
    }
    Ok(Answered { found: Found::Scores(found), domain, accepted, nodes, certificate })
}

/// The two models, changed to read doubles.
fn every_double(models: [&Ensemble; 2], certificate: bool) -> Result<[Ensemble; 2], Error> {
    if certificate {
        return Err(Error::DoublesCertificate);
    }
    match models.map(Ensemble::reading_doubles) {
        [Some(ours), Some(theirs)] => Ok([ours, theirs]),
        _ => Err(Error::DoublesCategories),
    }
}

/// Does a library accept these numbers, whatever their columns?
fn takes(model: &Ensemble, row: &[f64]) -> bool {
    row.iter().all(|&value| value.is_nan() || model.intake().read(value).is_some())
}

/// The number of boxes that the search visited, and the proof that the checker accepted.
type Searched = (u64, Option<Vec<u8>>);

/// Measures how far the scores can be apart.
fn measure(
    search: &Search<'_>,
    comparison: &ScoreComparison<'_>,
    found: &mut ScoresFound,
) -> Result<Searched, Error> {
    let mut settings = search.settings(comparison.layout());
    let measured = comparison.measure(&settings);
    found.at_most = Some(measured.at_most);
    found.rounding = Some(measured.rounding);
    found.at_least = Some(measured.at_least);
    found.ended = measured.ended;
    found.reason = measured.stopped.map(stopped);
    if !search.certifies {
        return Ok((measured.nodes, None));
    }
    // The search knows the answer; its last questions are asked again to write the proof, in the
    // time that was reserved for it.
    settings.budget.deadline = search.call.budget.deadline();
    let (_, nodes, proof) = comparison.certify(measured.at_most, &settings, Vec::new())?;
    let proof = proof.map(|proof| proof.finish(true)).transpose()?;
    Ok((measured.nodes + nodes, search.checked(proof)?))
}

/// Asks whether all differences are within a limit.
fn ask(
    search: &Search<'_>,
    comparison: &ScoreComparison<'_>,
    within: f64,
    found: &mut ScoresFound,
) -> Result<Searched, Error> {
    let settings = search.settings(comparison.layout());
    let first_nodes = match &search.checkpoint {
        None => match first_look(comparison, within, &settings, search.certifies, found) {
            (nodes, true) => return Ok((nodes, None)),
            (nodes, false) => nodes,
        },
        Some(_) => 0,
    };
    let (limit, nodes, proof) = if search.certifies {
        comparison.certify(within, &settings, Vec::new()).map_err(|error| search.failed(error))?
    } else {
        let (limit, nodes) = comparison.within(within, &settings);
        (limit, nodes, None)
    };
    let mut early: Option<StopReason> = None;
    match limit {
        Limit::Within => {
            found.outcome = ScoreOutcome::Within;
            // The bound of the first look may be the smaller one; a certificate is about the limit.
            found.at_most = match search.certifies {
                true => Some(within),
                false => Some(found.at_most.map_or(within, |most| most.min(within))),
            };
        }
        Limit::Exceeded(point) => {
            found.outcome = ScoreOutcome::Exceeds;
            found.at_least = Some(*point);
        }
        Limit::Stopped(reason) => {
            early = Some(reason);
            found.is_open(stopped(reason));
        }
        Limit::OrderOfAddition(_) => found.is_open(
            "the last bits of a model's scores vary (order of addition, processor), and for some inputs \
             they may be what exceeds the limit; a slightly larger limit has an answer",
        ),
    }
    let proof = proof.map(|proof| proof.finish(true)).transpose()?;
    let certificate = search.checked(proof)?;
    if let Some(reason) = search.close(found.conclusion(), early, certificate.is_some())? {
        found.at_most = None;
        found.is_open(stopped(reason));
    }
    Ok((first_nodes + nodes, certificate))
}

/// The boxes that are visited before a question about a limit is asked.
const FIRST_BOXES: u64 = 1 << 12;

/// Measures for a moment, which answers most questions about conversions: their trees are the same,
/// and only rounding differs. Returns the boxes visited, and whether the question is settled. A
/// limit below the bound on rounding is not searched for, because every cell would have to be
/// visited.
fn first_look(
    comparison: &ScoreComparison<'_>,
    within: f64,
    settings: &Options,
    certifies: bool,
    found: &mut ScoresFound,
) -> (u64, bool) {
    if comparison.has_few_cells() {
        return (0, false);
    }
    let mut short = settings.clone();
    short.budget.nodes = Some(FIRST_BOXES);
    short.crew = None;
    let measured = comparison.measure(&short);
    found.at_most = Some(measured.at_most);
    found.rounding = Some(measured.rounding);
    let exceeds = measured.at_least.distance > within;
    found.at_least = Some(measured.at_least);
    let settled = if exceeds {
        found.outcome = ScoreOutcome::Exceeds;
        true
    } else if within < measured.rounding {
        found.is_open(
            "the limit is below the proved bound on the two libraries' rounding, so no search can prove it",
        );
        true
    } else if measured.at_most <= within && !certifies {
        found.outcome = ScoreOutcome::Within;
        found.ended = measured.ended;
        true
    } else {
        false
    };
    (measured.nodes, settled)
}

impl ScoresFound {
    /// Is it proved that the exact scores are equal, so that only rounding is left? Several outputs
    /// have bounds of their own on rounding, which are not kept apart here.
    fn is_rounding_alone(&self) -> bool {
        let bounds = self.at_most.zip(self.rounding);
        let within = bounds.is_some_and(|(most, rounding)| rounding > 0.0 && most <= rounding);
        within && self.outputs.len() == 1
    }

    fn is_open(&mut self, reason: &'static str) {
        self.outcome = ScoreOutcome::Undecided;
        self.reason = Some(reason);
    }

    /// The input to show: if the scores are equal everywhere, no input is worth it.
    fn shown(&self) -> Option<&ScorePoint> {
        self.at_least.as_ref().filter(|point| point.distance > 0.0)
    }
}

/// Does the library of one of the models average?
fn averages(report: &VerifyReport<'_>) -> bool {
    report.models().iter().any(|model| model.accumulation().average.is_some())
}

impl Findings for ScoresFound {
    fn conclusion(&self) -> Conclusion {
        match self.outcome {
            ScoreOutcome::Within | ScoreOutcome::Measured => Conclusion::Proved,
            ScoreOutcome::Exceeds => Conclusion::Refuted,
            ScoreOutcome::Undecided => Conclusion::Open,
        }
    }

    fn outcome(&self) -> &'static str {
        match self.outcome {
            ScoreOutcome::Within => "within",
            ScoreOutcome::Exceeds => "exceeds",
            ScoreOutcome::Measured => "measured",
            ScoreOutcome::Undecided => "undecided",
        }
    }

    fn reason(&self) -> Option<&'static str> {
        self.reason
    }

    fn row(&self) -> Option<&[f64]> {
        self.at_least.as_ref().map(|point| &*point.row)
    }

    fn inputs_note(&self) -> String {
        match self.rounds {
            Some(model) => format!("; the {} library rounds them to f32", ["first", "second"][model]),
            None => String::new(),
        }
    }

    fn facts(&self, report: &VerifyReport<'_>, object: &mut Map<String, Value>) {
        let features = report.models()[0].features();
        let shown = self.at_least.as_ref();
        let scores = json!({
            "within": self.within,
            "at_most": self.at_most,
            "rounding": self.rounding,
            "at_least": shown.map(|point| point.distance),
            "input": shown.map(|point| row_json(features, &point.row)),
            "labels": shown.map(|point| labels::of_row(&report.labels(), features, &point.row)),
            "output": shown.map(|point| point.output),
            "of_input": shown.map(|point| point.scores),
            "ended": self.ended,
            "probability": self.probability,
        });
        object.insert("scores".to_owned(), scores);
    }

    fn headline(&self) -> String {
        match (self.outcome, self.within, self.at_most) {
            (ScoreOutcome::Within, Some(within), _) => format!("within {}: proved", plain(within)),
            (ScoreOutcome::Exceeds, Some(within), _) => format!("exceeds {}", plain(within)),
            (ScoreOutcome::Measured, _, Some(most)) if self.ended => {
                format!("scores at most {} apart: proved", upper(most))
            }
            (ScoreOutcome::Measured, _, Some(most)) => {
                format!("scores at most {} apart: proved, but not the least such bound", upper(most))
            }
            _ => format!("undecided: {}", self.reason.unwrap_or("the budget was used up")),
        }
    }

    fn claim(&self, report: &VerifyReport<'_>, inputs: String, line: Line<'_>) {
        let averaged = if averages(report) { ", averaged where the library averages" } else { "" };
        let by = match report.answer.checked() {
            true => "checked by the independent checker",
            false => "by the search, without a certificate",
        };
        line(
            "claim",
            &format!(
                "{inputs}the distance of the two libraries' raw scores{averaged}, their rounding included; {by}"
            ),
        );
        if self.is_rounding_alone()
            && let Some(most) = self.at_most
        {
            let words = "the exact scores are the same on every input: the libraries' differ by rounding alone, at most";
            line("differ", &format!("{words} {}", upper(most)));
        }
        if let (ScoreOutcome::Undecided, Some(most)) = (self.outcome, self.at_most) {
            let suggested = upper(most);
            line("proved", &format!("at most {suggested} apart; --within {suggested} is proved"));
        }
        if let (Some(most), Some(probability)) = (self.at_most, self.probability) {
            let meaning = format!(
                "scores {} apart give probabilities at most {} apart, before the libraries round those",
                upper(most),
                upper(probability)
            );
            line("probability", &meaning);
        }
        if let Some(point) = self.shown() {
            let output = match report.models()[0].group_count() {
                1 => String::new(),
                _ => format!(" (output {})", point.output),
            };
            line("shown", &format!("{} apart on the input below{output}", plain(point.distance)));
        }
        if let Some(rounding) = self.rounding.filter(|&rounding| rounding > 0.0) {
            line("rounding", &format!("{} of the bound, for both libraries together", upper(rounding)));
        }
        if let (ScoreOutcome::Measured, Some(reason)) = (self.outcome, self.reason) {
            line("stopped", reason);
        }
    }

    fn example(&self, report: &VerifyReport<'_>, matched: &LabelMatch<'_>, verbose: bool, line: Line<'_>) {
        let models = report.models();
        if let Some(point) = self.shown() {
            for (model, key) in ["first says", "second says"].into_iter().enumerate() {
                line(key, &number(point.scores[model], models[model].accumulation().number));
            }
            report.row_words(matched, &point.row, verbose, line);
        }
        // Which scores are compared, if the models have different numbers of them.
        let [first, second] = models;
        if first.group_count() != second.group_count() {
            let (two, one) = if first.group_count() == 2 { ("first", "second") } else { ("second", "first") };
            let class = first.classes().text(ClassId(1));
            let words = format!(
                "those of class {}: the {two} model has a score for each class, the {one} one for this class alone",
                printable(&class)
            );
            line("outputs", &words);
        }
    }

    fn page(&self, report: &VerifyReport<'_>, matched: &LabelMatch<'_>, page: &mut page::Report) {
        page.outcome = match self.outcome {
            ScoreOutcome::Within => page::Outcome::Within,
            ScoreOutcome::Exceeds => page::Outcome::Exceeds,
            ScoreOutcome::Measured => page::Outcome::Measured,
            ScoreOutcome::Undecided => page::Outcome::Undecided,
        };
        let averaged = if averages(report) { ", averaged where a library averages," } else { "" };
        page.scores = Some(page::Scores {
            within: self.within,
            at_most: self.at_most,
            rounding: self.rounding,
            ended: self.ended,
            probability: self.probability,
            what: format!("the raw scores{averaged}"),
            shown: self.at_least.as_ref().map(|point| score_page::shown(report, self, matched, point)),
        });
    }
}

/// The largest difference of probabilities that a difference `most` of scores allows. The logistic
/// function is steepest at zero: scores `d` apart give probabilities at most `tanh(scale * d / 4)`
/// apart. In a softmax the log-odds of a class against the others change by at most twice as much
/// as the scores.
pub(crate) fn probability(files: [&ModelFile; 2], most: f64) -> Option<f64> {
    let scales = files.map(ModelFile::logistic_scale);
    let softmax = files.map(|file| matches!(file.ensemble().decision(), Decision::ArgmaxSoftmax(_)));
    let difference = match (scales, softmax) {
        ([Some(ours), Some(theirs)], _) if ours == theirs => (ours * most / 4.0).tanh(),
        (_, [true, true]) => (most / 2.0).tanh(),
        _ => return None,
    };
    // `tanh` here errs by a few units in the last place. How a library rounds its probabilities is
    // unknown, so it is not included.
    Some((difference * (1.0 + 1e-12) + 1e-15).min(1.0))
}

/// A bound with four digits, rounded up.
pub(crate) fn upper(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let text = format!("{value:.3e}");
    match text.parse::<f64>() {
        // The factor 1.001 adds at least one unit of the fourth digit.
        Ok(shown) if shown < value => format!("{:.3e}", value * 1.001),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_shown_rounded_up() {
        for value in [1.0, 0.1, 1.2345678e-7, 9.99951e3, 1.0e-300, 123.4567, 0.99999] {
            let shown: f64 = upper(value).parse().unwrap();
            assert!(shown >= value && shown <= value * 1.002, "{value} is shown as {shown}");
        }
        assert_eq!(upper(0.0), "0");
    }

    #[test]
    fn a_bound_on_probabilities_is_one() {
        let logistic = |score: f64| 1.0 / (1.0 + (-score).exp());
        for d in [1e-9, 1e-3, 0.1, 2.0, 50.0] {
            let bound = (d / 4.0f64).tanh() * (1.0 + 1e-12) + 1e-15;
            for step in -400..400 {
                let score = f64::from(step) / 20.0;
                assert!((logistic(score + d) - logistic(score)).abs() <= bound, "{d} at {score}");
            }
            assert!(
                logistic(d / 2.0) - logistic(-d / 2.0) >= bound * 0.999_999 - 1e-14,
                "{d}: not the least"
            );
        }
    }
}
