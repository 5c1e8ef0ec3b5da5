//! The pipeline of `verify --scores`: how far can the scores of two models be apart on the inputs
//! of a domain? Answers with bounds from both sides on the greatest difference, or says whether it
//! is within a limit.

use std::path::PathBuf;
use std::sync::Arc;

use secateur_formats::{DomainFile, ModelFile};
use secateur_model::{
    Accepted, ClassId, ClassLabels, Decision, Domain, Ensemble, FeatureId, Grid, LabelMatch, NumberType,
};
use secateur_oracle::{
    CompareError, Crew, Limit, Options, Progress, ScoreComparison, ScorePoint, SearchBudget, StopReason,
};
use secateur_prune::{CertifyError, have_checked};
use serde_json::{Map, Value, json};

use super::{align, labels, words};
use crate::budget::Budget;
use crate::checkpoint::Checkpoint;
use crate::domain::{begin, inputs_words};
use crate::error::Error;
use crate::prune::threads;
use crate::text::{counted, entry, number, plain, printable};

/// The choices of a caller of [`verify_scores`].
#[derive(Clone, Debug, Default)]
pub struct ScoreOptions {
    /// Ask whether all differences are within this limit, a finite number of at least zero; `None`
    /// measures the greatest.
    pub within: Option<f64>,
    /// The inputs that the question is about.
    pub domain: Domain,
    /// If one library reads doubles and the other rounds them to f32: compare the models on every
    /// double, and not only on the values that both read alike. There is no certificate for that.
    pub doubles: bool,
    /// Threads of the search; `None` for all cores.
    pub threads: Option<usize>,
    /// The seed of random choices.
    pub seed: u64,
    /// Write the proof to a certificate, and have the independent checker verify it: that all
    /// differences are within the limit or, without a limit, within the measured bound.
    pub certificate: bool,
    /// Class labels of the two models that their files do not contain, but a live object returns. A
    /// certificate is about the files and does not include them.
    pub labels: [Option<ClassLabels>; 2],
    /// Workers that help with questions about a limit that take long, instead of threads of this
    /// process. Measuring stays in this process.
    pub crew: Option<Crew>,
    /// Keep checkpoints in this file, as for
    /// [`VerifyOptions::checkpoint`](crate::VerifyOptions::checkpoint); only for questions about a
    /// limit.
    pub checkpoint: Option<PathBuf>,
}

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

impl ScoreOutcome {
    /// The outcome in one word, for scripts.
    pub fn name(self) -> &'static str {
        match self {
            Self::Within => "within",
            Self::Exceeds => "exceeds",
            Self::Measured => "measured",
            Self::Undecided => "undecided",
        }
    }
}

/// The result of comparing the scores of two models.
#[derive(Debug)]
pub struct ScoreVerification {
    /// The answer.
    pub outcome: ScoreOutcome,
    /// The limit that was asked about.
    pub within: Option<f64>,
    /// A bound on the distance of scores on all inputs of the domain, including the rounding of
    /// both libraries: proved by the search, and by [`certificate`](Self::certificate) if there is
    /// one. `None` if nothing was proved.
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
    /// The inputs that the answer is about.
    pub domain: Domain,
    /// The values that both libraries accept.
    pub accepted: Accepted,
    /// The index of the library that rounds the doubles that the other reads, if every double is
    /// meant ([`ScoreOptions::doubles`]) and this makes a difference.
    pub rounds: Option<usize>,
    /// How columns were matched, in words.
    pub matching: &'static str,
    /// Which sum of the first model is compared with which sum of the second, output by output;
    /// empty if the models could not be laid out in time.
    pub outputs: Vec<[usize; 2]>,
    /// Boxes that the search visited.
    pub nodes: u64,
    /// How long it took, from the start of the budget's clock.
    pub seconds: f64,
    /// The proof, accepted by the independent checker, that no difference is larger than `at_most`.
    /// `None` if none was wanted, if nothing was proved, or if the time was too short for the
    /// check; then the answer was found by the search and has not been checked.
    pub certificate: Option<Vec<u8>>,
    compared: [Option<Ensemble>; 2],
}

impl ScoreVerification {
    /// Has the independent checker accepted the proof?
    pub fn checked(&self) -> bool {
        self.certificate.is_some()
    }
}

/// Bounds how far the scores of two models can be apart on the inputs of the domain: a proved upper
/// bound, and an input that shows a distance as a lower bound. With a limit: says whether all
/// differences are within it.
///
/// A score is the number that the library decides on or predicts from: its raw score, divided by
/// the number of trees if the library averages. If one of two binary classifiers has a score for
/// each class and the other a single score, the scores of the second class are compared. Columns
/// are matched by name if both models have names, otherwise by order. `rows` are starting points of
/// the search and may be empty.
///
/// ```
/// use secateur::{Budget, ModelFile, ScoreOptions, demo, verify_scores};
/// let model = ModelFile::parse(demo::MODEL)?;
/// let found = verify_scores(&model, &model, &[], &ScoreOptions::default(), &Budget::default(), &Default::default())?;
/// // Both models are the same, but the bound allows for the rounding of each sum.
/// assert!(found.at_most.unwrap() < 1e-12);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn verify_scores(
    first: &ModelFile,
    second: &ModelFile,
    rows: &[f64],
    options: &ScoreOptions,
    budget: &Budget,
    progress: &Arc<Progress>,
) -> Result<ScoreVerification, Error> {
    if let Some(within) = options.within.filter(|within| !(*within >= 0.0 && within.is_finite())) {
        return Err(Error::ScoreLimit { within });
    }
    let with_labels = |file: &ModelFile, labels: &Option<ClassLabels>| {
        labels.as_ref().and_then(|labels| file.ensemble().with_classes(labels.clone()))
    };
    let labelled = with_labels(first, &options.labels[0]);
    let mut other = with_labels(second, &options.labels[1]);
    let ours = labelled.as_ref().unwrap_or(first.ensemble()).within(&options.domain);
    let ours = ours.map_err(CompareError::from)?;
    let ours = ours.as_ref();
    let (aligned, matching) = align(ours, other.as_ref().unwrap_or(second.ensemble()));
    other = aligned.or(other);
    let theirs = other.as_ref().unwrap_or(second.ensemble());
    let mixed = options.doubles && ours.intake().number != theirs.intake().number;
    if mixed && !ours.domain().wheres().is_empty() {
        return Err(CompareError::ScoresWhere.into());
    }
    let read = match mixed {
        true => Some(every_double([ours, theirs], options.certificate)?),
        false => None,
    };
    let [ours, theirs] = read.as_ref().map_or([ours, theirs], |[ours, theirs]| [ours, theirs]);
    if options.checkpoint.is_some() && (options.within.is_none() || mixed) {
        return Err(Error::CheckpointScores);
    }
    let checkpoint = options.checkpoint.as_deref().map(Checkpoint::open).transpose()?;
    let certifies = options.certificate || checkpoint.is_some();
    let deadline = budget.search_deadline(certifies);
    let limits = SearchBudget { deadline, cancel: budget.cancel(), ..SearchBudget::unlimited() };
    let laid_out = match ScoreComparison::new(ours, theirs, &limits) {
        Ok(comparison) => Ok(comparison),
        Err(CompareError::Stopped(reason)) => Err(reason),
        Err(error) => return Err(error.into()),
    };
    let mut found = ScoreVerification {
        outcome: ScoreOutcome::Measured,
        within: options.within,
        at_most: None,
        rounding: None,
        at_least: None,
        ended: false,
        reason: None,
        probability: None,
        domain: ours.domain().clone(),
        rounds: mixed.then(|| usize::from(first.ensemble().intake().number == NumberType::F64)),
        accepted: Grid::common_intake(&[ours, theirs]).map_err(CompareError::from)?,
        matching,
        outputs: Vec::new(),
        nodes: 0,
        seconds: 0.0,
        certificate: None,
        compared: [None, None],
    };
    match laid_out {
        Ok(comparison) => {
            let failed = |error: Error| match &checkpoint {
                Some(checkpoint) => checkpoint.failed(error),
                None => error,
            };
            let road = (options, checkpoint.as_ref());
            let proof =
                search(&comparison, rows, road, limits, budget, progress, &mut found).map_err(failed)?;
            if let Some(bytes) = proof {
                found.certificate = match budget.finishing(|stop| have_checked(ours, theirs, &bytes, stop)) {
                    Ok(_) => Some(bytes),
                    Err(CertifyError::Interrupted) => None,
                    Err(error) => return Err(failed(error.into())),
                };
            }
            if let Some(checkpoint) = &checkpoint {
                if found.outcome == ScoreOutcome::Within && found.certificate.is_none() {
                    // A proof that begins with a checkpoint counts only after its check.
                    (found.outcome, found.at_most) = (ScoreOutcome::Undecided, None);
                    found.reason = Some(stopped(StopReason::Time));
                } else if found.outcome != ScoreOutcome::Undecided {
                    checkpoint.done();
                }
            }
        }
        Err(reason) => {
            found.outcome = ScoreOutcome::Undecided;
            found.reason = Some(stopped(reason));
        }
    }
    // A double that one library reads as an infinity and refuses is no example.
    let refused = |point: &ScorePoint| [first, second].iter().any(|file| !takes(file.ensemble(), &point.row));
    if mixed && found.at_least.as_ref().is_some_and(refused) {
        found.at_least = None;
        if found.outcome == ScoreOutcome::Exceeds {
            found.outcome = ScoreOutcome::Undecided;
            found.reason = Some("the input that was found is too large for one of the libraries");
        }
    }
    found.probability = found.at_most.and_then(|most| probability([first, second], most));
    found.compared = [labelled, other];
    found.seconds = budget.elapsed().as_secs_f64();
    Ok(found)
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

/// Asks the question and records the answer; returns the bytes of its proof if one is wanted.
fn search(
    comparison: &ScoreComparison<'_>,
    rows: &[f64],
    (options, checkpoint): (&ScoreOptions, Option<&Checkpoint>),
    limits: SearchBudget,
    budget: &Budget,
    progress: &Arc<Progress>,
    found: &mut ScoreVerification,
) -> Result<Option<Vec<u8>>, Error> {
    let width = comparison.labels().models()[0].features().len().max(1);
    let settings = Options {
        budget: limits,
        threads: threads(options.threads),
        seed: options.seed,
        starts: rows.chunks_exact(width).filter_map(|row| comparison.layout().cells_of(row)).collect(),
        progress: progress.clone(),
        crew: match checkpoint {
            Some(checkpoint) => Some(checkpoint.crew(options.crew.clone())),
            None => options.crew.clone(),
        },
        ..Options::unlimited()
    };
    found.domain = comparison.domain();
    found.outputs = comparison.outputs();
    match options.within {
        None => {
            let measured = comparison.measure(&settings);
            found.at_most = Some(measured.at_most);
            found.rounding = Some(measured.rounding);
            found.at_least = Some(measured.at_least);
            found.ended = measured.ended;
            found.reason = measured.stopped.map(stopped);
            found.nodes = measured.nodes;
            if options.certificate {
                // The search knows the answer; its last questions are asked again to write the
                // proof, in the time that was reserved for it.
                let mut settings = settings;
                settings.budget.deadline = budget.deadline();
                let (_, nodes, proof) = comparison.certify(measured.at_most, &settings, Vec::new())?;
                found.nodes += nodes;
                return Ok(proof.map(|proof| proof.finish(true)).transpose()?);
            }
            Ok(None)
        }
        Some(within) => {
            if checkpoint.is_none() && first_look(comparison, within, &settings, options.certificate, found) {
                return Ok(None);
            }
            let (limit, nodes, proof) = if options.certificate || checkpoint.is_some() {
                comparison.certify(within, &settings, Vec::new())?
            } else {
                let (limit, nodes) = comparison.within(within, &settings);
                (limit, nodes, None)
            };
            found.nodes += nodes;
            match limit {
                Limit::Within => {
                    found.outcome = ScoreOutcome::Within;
                    // The bound of the first look may be the smaller one; a certificate is about
                    // the limit.
                    found.at_most = match proof.is_some() {
                        true => Some(within),
                        false => Some(found.at_most.map_or(within, |most| most.min(within))),
                    };
                }
                Limit::Exceeded(point) => {
                    found.outcome = ScoreOutcome::Exceeds;
                    found.at_least = Some(*point);
                }
                Limit::Stopped(reason) => {
                    if let Some(checkpoint) = checkpoint {
                        checkpoint.stopped(reason)?;
                    }
                    found.outcome = ScoreOutcome::Undecided;
                    found.reason = Some(stopped(reason));
                }
                Limit::OrderOfAddition(_) => {
                    found.outcome = ScoreOutcome::Undecided;
                    found.reason = Some(
                        "the last bits of a model's scores vary (order of addition, processor), and for some inputs \
                         they may be what exceeds the limit; a slightly larger limit has an answer",
                    );
                }
            }
            Ok(proof.map(|proof| proof.finish(true)).transpose()?)
        }
    }
}

/// The boxes that are visited before a question about a limit is asked.
const FIRST_BOXES: u64 = 1 << 12;

/// Measures for a moment, which answers most questions about conversions: their trees are the same,
/// and only rounding differs. Returns whether the question is settled. A limit below the bound on
/// rounding is not searched for, because every cell would have to be visited.
fn first_look(
    comparison: &ScoreComparison<'_>,
    within: f64,
    settings: &Options,
    certificate: bool,
    found: &mut ScoreVerification,
) -> bool {
    if comparison.has_few_cells() {
        return false;
    }
    let mut short = settings.clone();
    short.budget.nodes = Some(FIRST_BOXES);
    short.crew = None;
    let measured = comparison.measure(&short);
    found.at_most = Some(measured.at_most);
    found.rounding = Some(measured.rounding);
    found.nodes = measured.nodes;
    let exceeds = measured.at_least.distance > within;
    found.at_least = Some(measured.at_least);
    if exceeds {
        found.outcome = ScoreOutcome::Exceeds;
        return true;
    }
    if within < measured.rounding {
        found.outcome = ScoreOutcome::Undecided;
        found.reason = Some(
            "the limit is below the proved bound on the two libraries' rounding, so no search can prove it",
        );
        return true;
    }
    if measured.at_most <= within && !certificate {
        found.outcome = ScoreOutcome::Within;
        found.ended = measured.ended;
        return true;
    }
    false
}

fn stopped(reason: StopReason) -> &'static str {
    match reason {
        StopReason::Time => "the time limit was reached",
        StopReason::Workers => super::words::NO_WORKERS,
        _ => "the budget was used up",
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

/// The report of a run of [`verify_scores`], as words or as JSON.
#[derive(Clone, Copy, Debug)]
pub struct ScoreReport<'a> {
    /// The first model.
    pub first: &'a ModelFile,
    /// The second.
    pub second: &'a ModelFile,
    /// The result.
    pub answer: &'a ScoreVerification,
    /// Where the certificate was written.
    pub certificate: Option<&'a str>,
}

impl ScoreReport<'_> {
    pub(super) fn models(&self) -> [&Ensemble; 2] {
        let [first, second] = &self.answer.compared;
        [first.as_ref().unwrap_or(self.first.ensemble()), second.as_ref().unwrap_or(self.second.ensemble())]
    }

    pub(super) fn labels(&self) -> LabelMatch<'_> {
        let [first, second] = self.models();
        LabelMatch::new(first, second).expect("models that were compared can be matched")
    }

    pub(super) fn inputs(&self, labels: &LabelMatch<'_>) -> String {
        let words = inputs_words(&self.answer.accepted, &self.answer.domain, self.models()[0]);
        let rounds = match self.answer.rounds {
            Some(model) => format!("; the {} library rounds them to f32", ["first", "second"][model]),
            None => String::new(),
        };
        words + &rounds + &labels::domain(labels, self.models()[0].features())
    }

    /// Says which scores are compared, if the models have different numbers of them.
    fn single_words(&self) -> Option<String> {
        let [first, second] = self.models();
        if first.group_count() == second.group_count() {
            return None;
        }
        let (two, one) = if first.group_count() == 2 { ("first", "second") } else { ("second", "first") };
        let class = first.classes().text(ClassId(1));
        Some(format!(
            "those of class {}: the {two} model has a score for each class, the {one} one for this class alone",
            printable(&class)
        ))
    }

    /// One JSON object; its keys are part of the interface (`secateur verify --scores --json`).
    pub fn json(&self) -> Value {
        let answer = self.answer;
        let labels = self.labels();
        let features = self.models()[0].features();
        let input = answer.at_least.as_ref().map(|point| {
            let values = point.row.iter().enumerate();
            let named = values.map(|(index, &value)| {
                (features.name(FeatureId::new(index)).into_owned(), words::json_number(value))
            });
            Value::Object(named.collect::<Map<String, Value>>())
        });
        let domain = match answer.domain.is_everything() {
            true => Value::Null,
            false => DomainFile::of(&answer.domain, features).to_json(),
        };
        json!({
            "outcome": answer.outcome.name(),
            "reason": answer.reason,
            "scores": {
                "within": answer.within,
                "at_most": answer.at_most,
                "rounding": answer.rounding,
                "at_least": answer.at_least.as_ref().map(|point| point.distance),
                "input": input,
                "labels": answer.at_least.as_ref().map(|point| labels::of_row(&labels, features, &point.row)),
                "output": answer.at_least.as_ref().map(|point| point.output),
                "of_input": answer.at_least.as_ref().map(|point| point.scores),
                "ended": answer.ended,
                "probability": answer.probability,
            },
            "scope": answer.accepted.scope(&answer.domain),
            "inputs": self.inputs(&labels),
            "domain": domain,
            "labels": labels::json(&labels, features),
            "certificate": self.certificate,
            "checked": answer.checked(),
            "nodes": answer.nodes,
            "seconds": answer.seconds,
        })
    }

    /// Is it proved that the exact scores are equal, so that only rounding is left? Several outputs
    /// have bounds of their own on rounding, which are not kept apart here.
    fn is_rounding_alone(&self) -> bool {
        let bounds = self.answer.at_most.zip(self.answer.rounding);
        let within = bounds.is_some_and(|(most, rounding)| rounding > 0.0 && most <= rounding);
        within && self.answer.outputs.len() == 1 && !self.answer.checked()
    }

    /// The answer for people, one line for each fact; with `verbose`, every column of the input.
    pub fn words(&self, verbose: bool) -> String {
        let answer = self.answer;
        let inputs = begin(&answer.accepted, &answer.domain);
        let mut text = match (answer.outcome, answer.within, answer.at_most) {
            (ScoreOutcome::Within, Some(within), _) => format!("within {}: proved\n", plain(within)),
            (ScoreOutcome::Exceeds, Some(within), _) => format!("exceeds {}\n", plain(within)),
            (ScoreOutcome::Measured, _, Some(most)) if answer.ended => {
                format!("scores at most {} apart: proved\n", upper(most))
            }
            (ScoreOutcome::Measured, _, Some(most)) => {
                format!("scores at most {} apart: proved, but not the least such bound\n", upper(most))
            }
            _ => format!("undecided: {}\n", answer.reason.unwrap_or("the budget was used up")),
        };
        let rounding_alone = self.is_rounding_alone();
        let mut line = |key: &str, value: &str| text += &(entry(key, value) + "\n");
        let averaged = match self.models().iter().any(|model| model.accumulation().average.is_some()) {
            true => ", averaged where the library averages",
            false => "",
        };
        let by = match answer.checked() {
            true => "checked by the independent checker",
            false => "by the search, without a certificate",
        };
        line(
            "claim",
            &format!(
                "{inputs}the distance of the two libraries' raw scores{averaged}, their rounding included; {by}"
            ),
        );
        if rounding_alone && let Some(most) = answer.at_most {
            let words = "the exact scores are the same on every input: the libraries' differ by rounding alone, at most";
            line("differ", &format!("{words} {}", upper(most)));
        }
        if let (ScoreOutcome::Undecided, Some(most)) = (answer.outcome, answer.at_most) {
            let suggested = upper(most);
            line("proved", &format!("at most {suggested} apart; --within {suggested} is proved"));
        }
        if let (Some(most), Some(probability)) = (answer.at_most, answer.probability) {
            let meaning = format!(
                "scores {} apart give probabilities at most {} apart, before the libraries round those",
                upper(most),
                upper(probability)
            );
            line("probability", &meaning);
        }
        // If the scores are equal everywhere, no input is worth showing.
        let shown = answer.at_least.as_ref().filter(|point| point.distance > 0.0);
        if let Some(point) = shown {
            let output = match self.models()[0].group_count() {
                1 => String::new(),
                _ => format!(" (output {})", point.output),
            };
            line("shown", &format!("{} apart on the input below{output}", plain(point.distance)));
        }
        if let Some(rounding) = answer.rounding.filter(|&rounding| rounding > 0.0) {
            line("rounding", &format!("{} of the bound, for both libraries together", upper(rounding)));
        }
        if let (ScoreOutcome::Measured, Some(reason)) = (answer.outcome, answer.reason) {
            line("stopped", reason);
        }
        let labels = self.labels();
        line("inputs", &self.inputs(&labels));
        line("columns", answer.matching);
        if let Some(words) = labels::words(&labels, self.models()[0].features()) {
            line("labels", &words);
        }
        if let Some(point) = shown {
            self.point_words(&labels, point, verbose, &mut line);
        }
        if let Some(words) = self.single_words() {
            line("outputs", &words);
        }
        if let Some(certificate) = self.certificate {
            line("certificate", certificate);
        }
        line("boxes", &counted(answer.nodes, "box", "boxes"));
        line("time", &format!("{:.3} s", answer.seconds));
        text
    }

    fn point_words(
        &self,
        labels: &LabelMatch<'_>,
        point: &ScorePoint,
        verbose: bool,
        line: &mut dyn FnMut(&str, &str),
    ) {
        for (model, key) in ["first says", "second says"].into_iter().enumerate() {
            line(key, &number(point.scores[model], self.models()[model].accumulation().number));
        }
        let features = self.models()[0].features();
        let used = words::used_columns(self.models());
        if let Some(words) = words::missing_words(&point.row, &used) {
            line("missing", words);
        }
        let mut unused = 0;
        for (index, &value) in point.row.iter().enumerate() {
            if !used[index] && !verbose {
                unused += 1;
                continue;
            }
            let name = features.name(FeatureId::new(index));
            let value =
                labels::value_words(labels, FeatureId::new(index), value, self.answer.accepted.values.number);
            line(&printable(&name), &value);
        }
        if unused > 0 {
            line("others", &format!("{} that no split looks at", counted(unused, "column", "columns")));
        }
    }
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
