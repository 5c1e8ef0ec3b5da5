//! The pipeline of `pack --leaves`: source with quantised leaves, a proved and checked bound on how
//! far its scores can be from the library's and, on request, a proof that no decision changes.
//!
//! The checker reads the written source back as a model of its own
//! ([`secateur_source::quantised`]). Every question that can be asked about two models can
//! therefore be asked about this model and the original: how far their scores can be apart, and
//! whether they decide alike. Everything that is finally claimed is proved in the certificate, and
//! the checker has accepted it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use secateur_certificate::{Digest, FileDigest, PackingRecord, PruningStep, QuantisedStep};
use secateur_checker::Scorer;
use secateur_emit::{CoverRows, Emitted, Expected, Form, LeafBits, cover_rows_watched, emit};
use secateur_formats::{DomainFile, Link, ModelFile, packed};
use secateur_model::{Decision, Domain, Ensemble, FeatureId, Predictor};
use secateur_oracle::{
    CompareError, Limit, Measured, Options, Progress, ScoreComparison, ScorePoint, SearchBudget, has_inputs,
};
use secateur_source::{Packed, PackingVerdict, Quantised, SourceFile, bound_by_trees, quantised};
use serde_json::{Value, json};

use super::PackingError;
use super::source::{SourceOptions, SourcePacking, made_test, style_notes, written_beside};
use crate::budget::Budget;
use crate::domain::{accepted, begin};
use crate::error::Error;
use crate::prune::threads;
use crate::text::{entry, number, plain, printable};
use crate::verify::{VerifyOptions, VerifyReport, row_json, upper, used_columns, verify_models};
use crate::{Conclusion, Places, Pruning, Verification};

/// The share of the remaining time that the search for a smaller bound may take. Its last proof is
/// two thirds of its work; this proof is repeated once for the certificate and once more by the
/// check.
const MEASURING: f64 = 0.38;

/// How leaves are quantised, and what is to be proved about the result.
#[derive(Clone, Debug)]
pub struct LeafOptions {
    /// How many bits a leaf has.
    pub bits: LeafBits,
    /// The inputs that the bound, and a proof about decisions, are about.
    pub domain: Domain,
    /// Ask for a proof that no decision changes.
    pub same_decisions: bool,
    /// Threads of the search; `None` for all cores.
    pub threads: Option<usize>,
    /// The seed of random choices.
    pub seed: u64,
}

impl LeafOptions {
    /// Leaves with this number of bits, for every input, computed on all cores.
    pub fn new(bits: LeafBits) -> Self {
        Self { bits, domain: Domain::everything(), same_decisions: false, threads: None, seed: 0 }
    }
}

/// A model as source with quantised leaves.
#[derive(Debug)]
pub struct QuantisedPacking {
    /// The source, with a certificate of everything that is claimed here.
    pub source: SourcePacking,
    /// How many bits a leaf has.
    pub bits: LeafBits,
    /// A proved bound, accepted by the checker: on every input of the domain the scores of the
    /// source are at most this far from the library's, including the library's rounding.
    pub within: f64,
    /// The bound that follows from the leaves of each tree on its own; it holds on every input.
    pub by_trees: f64,
    /// An input whose scores are this far apart; `None` if the models could not be laid out in
    /// time.
    pub at_least: Option<ScorePoint>,
    /// Is the greatest difference known to four digits?
    pub ended: bool,
    /// The inputs of the bound.
    pub domain: Domain,
    /// Whether decisions change, if that was asked; the certificate proves it if this is
    /// `Answer::Identical`.
    pub decisions: Option<Verification>,
    /// The factor that turns a sum of the source into a score.
    pub unit: f64,
    /// Is the quantised model a pruned one? Then all statements here are about the pruned model.
    pruned: bool,
}

/// Writes a model as source whose leaves are small whole numbers, and proves how far this moves its
/// scores.
///
/// If a proof about decisions is asked for and an input is found that is decided differently, the
/// result says so, and the source is handed out all the same: the caller decides what to do with
/// it. Its certificate then claims nothing about decisions.
///
/// ```
/// use secateur::{Budget, ModelFile, pack::{LeafBits, LeafOptions, SourceForm, SourceOptions, pack_quantised}};
/// use std::time::Duration;
///
/// let model = ModelFile::parse(secateur::demo::MODEL)?;
/// let options = SourceOptions::new(SourceForm::C, "loans.c", "loans");
/// let budget = Budget::limit(Duration::from_secs(2));
/// let packed =
///     pack_quantised(&model, None, &options, &LeafOptions::new(LeafBits::Eight), &budget, &Default::default(), &mut |_| true)?;
/// assert!(String::from_utf8(packed.source.bytes)?.contains("void loans_raw(const double *row, int32_t *scores)"));
/// assert!(packed.within <= packed.by_trees && packed.within >= packed.at_least.as_ref().unwrap().distance);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn pack_quantised(
    original: &ModelFile,
    pruning: Option<&Pruning>,
    options: &SourceOptions<'_>,
    leaves: &LeafOptions,
    budget: &Budget,
    progress: &Arc<Progress>,
    watch: &mut dyn FnMut(f64) -> bool,
) -> Result<QuantisedPacking, PackingError> {
    let step = pruning.map(|pruning| {
        let step = pruning.bytes.as_ref().zip(pruning.certificate.as_ref());
        let step = step.map(|(model, certificate)| PruningStep {
            model: model.clone(),
            certificate: certificate.bytes.clone(),
        });
        step.ok_or(PackingError::NotCertified)
    });
    let step = step.transpose()?;
    let model = pruning.map_or(original, |pruning| &pruning.pruned.file);
    let ensemble = model.ensemble();
    packed::refuse(ensemble, options.labels)?;
    if !watch(0.0) {
        return Err(PackingError::Stopped);
    }
    let style = options.style(model, Some(leaves.bits));
    let Emitted { bytes, table_bytes } = emit(ensemble, style, &style_notes(model, options))?;
    let file = SourceFile::parse(&bytes).map_err(PackingError::fault)?;
    let read = quantised(ensemble, Link::of(model), &file).map_err(PackingError::fault)?;
    let by_trees = bound_by_trees(ensemble, &read.model)
        .ok_or_else(|| Error::from(CompareError::ScoreOverflow { model: "first" }))?;
    let ours = ensemble.within(&leaves.domain).map_err(|error| Error::from(CompareError::from(error)))?;
    has_inputs(ours.domain()).map_err(|error| Error::from(CompareError::from(error)))?;
    let found = measured(&ours, &read.model, leaves, budget, progress)?;
    let decisions = match leaves.same_decisions {
        true => {
            let asked = VerifyOptions {
                domain: leaves.domain.clone(),
                threads: leaves.threads,
                seed: leaves.seed,
                certificate: true,
                ..VerifyOptions::default()
            };
            Some(verify_models(&ours, read.model.clone(), &asked, budget, progress)?)
        }
        false => None,
    };
    let mut scorers = pruning.map_or_else(Vec::new, |pruning| Scorer::of(&pruning.pruned.domain));
    scorers.extend(Scorer::of(&leaves.domain));
    let mut record = PackingRecord {
        original: Digest::of(original.ensemble()),
        packed: FileDigest::of(&bytes),
        pruning: step,
        quantised: None,
    };
    let mut accepted = |scores: Option<(f64, Vec<u8>)>| {
        let (within, scores) = scores.map_or((by_trees, None), |(within, proof)| (within, Some(proof)));
        let proved = decisions.as_ref().and_then(|answer| answer.certificate.clone());
        record.quantised = Some(QuantisedStep { within, scores, decisions: proved });
        is_accepted(original, &bytes, &scorers, &record, (budget, leaves.threads))
            .map(|yes| yes.map(|yes| (within, yes)))
    };
    let searched =
        found.as_ref().and_then(|found| found.proof.clone()).filter(|(within, _)| *within < by_trees);
    // If the time is too short to check the search's proof, the bound from the leaves of each tree
    // is used, which needs no such proof.
    let certified = match searched {
        Some(proof) => accepted(Some(proof))?,
        None => None,
    };
    let certified = match certified {
        Some(certified) => Some(certified),
        None => accepted(None)?,
    };
    let (within, certificate) = certified.ok_or(PackingError::Stopped)?;
    let (test, test_rows) = tested(ensemble, &read, options, watch)?;
    let beside = written_beside(model, options, style, &bytes)?;
    Ok(QuantisedPacking {
        source: SourcePacking { bytes, beside, certificate, test, test_rows, table_bytes },
        bits: leaves.bits,
        within,
        by_trees,
        at_least: found.as_ref().map(|found| found.measured.at_least.clone()),
        ended: found.as_ref().is_some_and(|found| found.measured.ended && within < by_trees),
        domain: ours.domain().clone(),
        decisions,
        unit: read.unit,
        pruned: pruning.is_some(),
    })
}

/// The result of the search about scores.
struct Searched {
    measured: Measured,
    /// The bound and its certificate.
    proof: Option<(f64, Vec<u8>)>,
}

/// Measures how far scores can be apart, as far as the time allows; `None` if the models cannot be
/// laid out.
fn measured(
    ours: &Ensemble,
    theirs: &Ensemble,
    leaves: &LeafOptions,
    budget: &Budget,
    progress: &Arc<Progress>,
) -> Result<Option<Searched>, PackingError> {
    // If decisions are asked about too, they get half of the remaining time.
    let parts = if leaves.same_decisions { 2 } else { 1 };
    let now = Instant::now();
    let left = budget.deadline().map(|end| end.saturating_duration_since(now) / parts);
    let until = |share: f64| left.map(|left: Duration| now + left.mul_f64(share));
    let limited =
        |share| SearchBudget { deadline: until(share), cancel: budget.cancel(), ..SearchBudget::unlimited() };
    let comparison = match ScoreComparison::new(ours, theirs, &limited(MEASURING)) {
        Ok(comparison) => comparison,
        // The bound from the leaves of each tree holds without a search.
        Err(CompareError::Stopped(_) | CompareError::ScoreScale) => {
            return Ok(None);
        }
        Err(error) => return Err(Error::from(error).into()),
    };
    let mut settings = Options {
        budget: limited(MEASURING),
        threads: threads(leaves.threads),
        seed: leaves.seed,
        progress: progress.clone(),
        ..Options::unlimited()
    };
    let measured = comparison.measure(&settings);
    // The search knows the answer; its last questions are asked again to write the proof.
    settings.budget = limited(1.0);
    let within = measured.at_most;
    let proof = match comparison.certify(within, &settings, Vec::new()) {
        Ok((Limit::Within, _, Some(writer))) => {
            Some((within, writer.finish(true).map_err(PackingError::fault)?))
        }
        Ok(_) => None,
        Err(error) => return Err(PackingError::fault(error)),
    };
    Ok(Some(Searched { measured, proof }))
}

/// The bytes of a record that the checker accepts; `None` if the time is too short for the check.
fn is_accepted(
    original: &ModelFile,
    source: &[u8],
    scorers: &[Scorer<'_>],
    record: &PackingRecord,
    (budget, wanted): (&Budget, Option<usize>),
) -> Result<Option<Vec<u8>>, PackingError> {
    let bytes = record.to_bytes();
    let claims = record.quantised.as_ref();
    let check = |stop: &(dyn Fn() -> bool + Sync)| {
        let packed = Packed::Source(source);
        secateur_source::check_packing(original, packed, scorers, &bytes, stop, threads(wanted))
    };
    // A claim without a search proof is checked without a time limit, because its check is short;
    // that bound is then always available.
    let verdict = match claims.is_some_and(|claims| claims.scores.is_some()) {
        true => budget.finishing(|stop| check(&|| stop.is_cancelled())),
        false => check(&|| false),
    };
    match verdict {
        Ok(PackingVerdict::Valid(_)) => Ok(Some(bytes)),
        Ok(PackingVerdict::Incomplete(_)) => Ok(None),
        Ok(PackingVerdict::Invalid(reason)) => Err(PackingError::fault(reason.message())),
        Err(error) => Err(PackingError::fault(error)),
    }
}

/// The cover test, if one was asked for.
fn tested(
    model: &Ensemble,
    read: &Quantised,
    options: &SourceOptions<'_>,
    watch: &mut dyn FnMut(f64) -> bool,
) -> Result<(Option<String>, usize), PackingError> {
    if !options.test {
        return Ok((None, 0));
    }
    let rows = cover_rows_watched(model, watch).ok_or(PackingError::Stopped)?;
    let predictor = Predictor::new(&read.model);
    let scores = predictor.raw_scores(&rows).map_err(PackingError::fault)?;
    let sums: Vec<i32> = scores.iter().map(|score| (score / read.unit) as i32).collect();
    let classes: Vec<u32> = match model.decision().is_classifier() && !rows.is_empty() {
        true => {
            let classes = predictor.classes(&rows).map_err(PackingError::fault)?;
            classes.iter().map(|class| class.0).collect()
        }
        false => Vec::new(),
    };
    // A WebAssembly module returns scores instead of sums, and decides like the model that the
    // checker read from it.
    let (model, expected) = match options.form {
        Form::Wasm => (&read.model, Expected::Scores(&scores)),
        _ => (model, Expected::Sums(&sums)),
    };
    let test = made_test(model, options, &CoverRows { rows: &rows, expected, classes: &classes })?;
    Ok((Some(test), rows.len() / model.features().len().max(1)))
}

impl QuantisedPacking {
    /// The source decides a row as the library does if the library's score is farther than this
    /// from the threshold or, with several classes, if the largest score leads by more than this.
    /// `None` for a model without classes, and if the library's rounded probabilities may tie at
    /// any lead.
    pub fn certain_beyond(&self, model: &Ensemble) -> Option<f64> {
        match model.decision() {
            Decision::Scores(_) => None,
            Decision::Threshold { .. } => Some(self.within),
            _ => Some((2.0 * self.within + model.decision_gap()?).next_up()),
        }
    }

    /// Was an input found whose decision changes?
    pub fn is_different(&self) -> bool {
        self.decisions.as_ref().is_some_and(|answer| answer.conclusion() == Conclusion::Refuted)
    }

    /// Is there a proof, accepted by the checker, that no decision changes?
    pub fn is_same(&self) -> bool {
        self.decisions.as_ref().is_some_and(Verification::checked)
    }

    /// The outcome in one word, for scripts.
    pub fn outcome(&self) -> &'static str {
        match &self.decisions {
            _ if self.is_different() => "different",
            _ if self.is_same() => "same_decisions",
            Some(_) => "undecided",
            None if self.pruned => "scores_within_of_pruned",
            None => "scores_within",
        }
    }

    fn report<'a>(&'a self, model: &'a ModelFile) -> Option<VerifyReport<'a>> {
        let answer = self.decisions.as_ref()?;
        Some(VerifyReport { first: model, second: model, answer, places: Places::default() })
    }

    /// The JSON object that `secateur pack --leaves --json` prints. `model` is the one that was
    /// quantised, `before` the size of its file, `certificate` the path that the certificate is
    /// written to, if any.
    pub fn json(&self, model: &ModelFile, before: Option<u64>, certificate: Option<&str>) -> Value {
        let ensemble = model.ensemble();
        let features = ensemble.features();
        let input = self.at_least.as_ref().map(|point| row_json(features, &point.row));
        let domain = match self.domain.is_everything() {
            true => Value::Null,
            false => DomainFile::of(&self.domain, features).to_json(),
        };
        let mut object = self.source.json(before, certificate);
        object["outcome"] = json!(self.outcome());
        object["within"] = json!(self.within);
        object["leaves"] = json!({
            "bits": bits(self.bits),
            "unit": self.unit,
            "within": self.within,
            "by_trees": self.by_trees,
            "at_least": self.at_least.as_ref().map(|point| point.distance),
            "input": input,
            "output": self.at_least.as_ref().map(|point| point.output),
            "of_input": self.at_least.as_ref().map(|point| point.scores),
            "ended": self.ended,
            "certain_beyond": self.certain_beyond(ensemble),
            "scope": accepted(ensemble, &self.domain).scope(&self.domain),
            "domain": domain,
            "of_pruned": self.pruned,
        });
        object["decisions"] = self.report(model).map_or(Value::Null, |report| report.json());
        object
    }

    /// The same in words; with `verbose`, every column of an input.
    pub fn words(&self, model: &ModelFile, before: Option<u64>, verbose: bool) -> String {
        let ensemble = model.ensemble();
        let (size, _) = self.source.size_words(before);
        let whose = if self.pruned { "the pruned model's" } else { "the library's" };
        let mut text = format!(
            "{size}leaves of {} bits: scores at most {} from {whose}: proved, and checked\n",
            bits(self.bits),
            upper(self.within)
        );
        let mut line = |key: &str, value: &str| text += &(entry(key, value) + "\n");
        let inputs = begin(&accepted(ensemble, &self.domain), &self.domain);
        line(
            "claim",
            &format!(
                "{inputs}the distance of the source's scores, its sums times {}, from the raw scores of the library, averaged where it averages, its \
                 rounding included; no sum leaves its 32 bits",
                plain(self.unit)
            ),
        );
        match (ensemble.decision(), self.certain_beyond(ensemble)) {
            (Decision::Threshold { .. }, Some(beyond)) => line(
                "classes",
                &format!(
                    "the same wherever the library's score is more than {} from its threshold",
                    upper(beyond)
                ),
            ),
            (_, Some(beyond)) => line(
                "classes",
                &format!(
                    "the same wherever the library's largest score leads by more than {}",
                    upper(beyond)
                ),
            ),
            _ => {}
        }
        if let Some(report) = self.report(model) {
            match report.answer.conclusion() {
                Conclusion::Proved if self.is_same() => {
                    line("decisions", "the same, proved and checked: see the claim below");
                    text +=
                        &report.words(verbose).replacen("identical: proved", "the same decisions: proved", 1);
                }
                _ => text += &report.words(verbose),
            }
        } else if let Some(point) = self.at_least.as_ref().filter(|point| point.distance > 0.0) {
            let of = match ensemble.group_count() {
                1 => String::new(),
                _ => format!(" (output {})", point.output),
            };
            line("shown", &format!("{} apart on the input below{of}", plain(point.distance)));
            line("library", &number(point.scores[0], ensemble.accumulation().number));
            line("source", &number(point.scores[1], secateur_model::NumberType::F64));
            let looked_at: Vec<bool> = used_columns(&[ensemble]);
            for (index, &value) in
                point.row.iter().enumerate().filter(|(index, _)| verbose || looked_at[*index])
            {
                let name = ensemble.features().name(FeatureId::new(index));
                line(&printable(&name), &number(value, ensemble.intake().number));
            }
        }
        if self.source.test.is_some() {
            text +=
                &format!("the test has {} rows that reach every leaf and threshold\n", self.source.test_rows);
        }
        text
    }
}

fn bits(bits: LeafBits) -> u32 {
    match bits {
        LeafBits::Eight => 8,
        _ => 16,
    }
}
