//! The pipeline of `verify`: do two models decide alike on every input? On request with a
//! certificate, which is checked before it is handed out; everything within one budget.

mod labels;
mod page;
mod reading;
mod score_page;
mod scores;
mod words;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use secateur_checker::aligned;
use secateur_formats::{ModelFile, threshold_cut};
use secateur_model::{Accepted, ClassId, ClassLabels, Domain, Ensemble, FeatureId};
use secateur_oracle::{
    Band, CompareError, Crew, Options, Outline, Progress, SearchBudget, StopReason, Undecided, Verdict,
    has_inputs,
};
use secateur_prune::{CertifyError, RowsSeen, have_checked, rows_seen};

use crate::budget::Budget;
use crate::checkpoint::Checkpoint;
use crate::domain::OutsideRows;
use crate::error::Error;
use crate::prune::threads;
pub(crate) use labels::{of_row as row_labels, value_words};
pub use scores::{ScoreOptions, ScoreOutcome, ScoreReport, ScoreVerification, verify_scores};
pub(crate) use scores::{probability as score_probability, upper};
pub use words::VerifyReport;
pub(crate) use words::{ROUNDING_NOTE, json_number, rounding_words, rows_json};

/// The time that may be spent after the time limit on finding what is still known.
const AFTER_LIMIT: Duration = Duration::from_millis(200);

/// The choices of a caller of [`verify`].
#[derive(Clone, Debug)]
pub struct VerifyOptions {
    /// How near to the first model's decision boundary the claim reaches.
    pub band: Band,
    /// Decide by comparing the probability of class 1 with this number, instead of the libraries'
    /// own rules. Works for models of two classes whose probability is a logistic function of one
    /// score. `None` means the libraries' own rules.
    pub threshold: Option<f64>,
    /// The inputs that the claim is about; columns are numbered as in the first model.
    pub domain: Domain,
    /// Threads of the search; `None` for all cores.
    pub threads: Option<usize>,
    /// The seed of random choices.
    pub seed: u64,
    /// Write the proof to a certificate, and have the independent checker verify it.
    pub certificate: bool,
    /// Class labels of the two models that their files do not contain, but a live object returns.
    /// Classes are matched by them. A certificate is about the files and does not include them.
    pub labels: [Option<ClassLabels>; 2],
    /// Workers that help with questions that take long, instead of threads of this process.
    pub crew: Option<Crew>,
    /// Keep checkpoints in this file, and continue from the one that it holds. Checkpoints are not
    /// trusted: the independent checker verifies the whole proof before the models are called
    /// alike. The file is removed when the answer is known.
    pub checkpoint: Option<PathBuf>,
}

impl Default for VerifyOptions {
    fn default() -> Self {
        Self {
            band: Band::Auto,
            threshold: None,
            domain: Domain::everything(),
            threads: None,
            seed: 0,
            certificate: false,
            labels: [None, None],
            crew: None,
            checkpoint: None,
        }
    }
}

/// The result of comparing the decisions of two models.
#[derive(Debug)]
pub struct Verification {
    /// The answer.
    pub verdict: Verdict,
    /// The band of the claim, as a score.
    pub band: f64,
    /// The probability of class 1 at which the models decide, if it is not their libraries' own
    /// rule.
    pub threshold: Option<f64>,
    /// Is the claim about exact sums, and not about a library's rounded ones?
    pub exact: bool,
    /// Counts over the caller's rows that both models accept; `None` without such rows.
    pub seen: Option<RowsSeen>,
    /// The inputs of the claim.
    pub domain: Domain,
    /// The values that both libraries accept.
    pub accepted: Accepted,
    /// The decimal logarithm of the number of cells of that domain; `None` for every input.
    pub cells_log10: Option<f64>,
    /// Rows of the caller that lie outside of the domain; nothing is claimed about them.
    pub outside: Option<OutsideRows>,
    /// How columns were matched, in words.
    pub matching: &'static str,
    /// For an undecided comparison: the larger band for which the claim is proved.
    pub proved_above: Option<f64>,
    /// The caller's row that the counterexample is near to, and the number of columns in which they
    /// differ.
    pub nearest: Option<(usize, usize)>,
    /// Boxes that the search visited.
    pub nodes: u64,
    /// How long it took, from the start of the budget's clock.
    pub seconds: f64,
    /// The proof that the independent checker accepted, if one was wanted and the models decide
    /// alike. Also `None` if the time was too short for the check; then the answer was found by the
    /// search and has not been checked.
    pub certificate: Option<Vec<u8>>,
    /// The models as they were compared, if that differs from their files: with labels of their
    /// own, and the second with its columns in the order of the first.
    compared: [Option<Ensemble>; 2],
}

impl Verification {
    /// Has the independent checker accepted the proof?
    pub fn checked(&self) -> bool {
        self.certificate.is_some()
    }

    /// Why there is no answer, in words; `None` where there is one.
    pub fn reason(&self) -> Option<&'static str> {
        match &self.verdict {
            Verdict::Undecided(why) => Some(words::undecided(why)),
            _ => None,
        }
    }
}

/// Proves that two models of any supported formats decide alike on every input of the domain, or
/// finds an input on which they differ.
///
/// Columns are matched by name if both models have names, otherwise by order. `rows` are starting
/// points of the search, one row of the first model's features after the other, and may be empty; a
/// counterexample is moved as near to one of them as possible. `progress` tells another thread how
/// far the search has come.
///
/// ```
/// use secateur::{Answer, Budget, ModelFile, VerifyOptions, demo, verify};
/// let model = ModelFile::parse(demo::MODEL)?;
/// let options = VerifyOptions { certificate: true, ..VerifyOptions::default() };
/// let found = verify(&model, &model, &[], &options, &Budget::default(), &Default::default())?;
/// assert_eq!(found.verdict, Answer::Identical);
/// assert!(found.checked());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn verify(
    first: &ModelFile,
    second: &ModelFile,
    rows: &[f64],
    options: &VerifyOptions,
    budget: &Budget,
    progress: &Arc<Progress>,
) -> Result<Verification, Error> {
    let with_labels = |file: &ModelFile, labels: &Option<ClassLabels>| {
        labels.as_ref().and_then(|labels| file.ensemble().with_classes(labels.clone()))
    };
    let mut labelled = with_labels(first, &options.labels[0]);
    let mut other = with_labels(second, &options.labels[1]);
    if let Some(threshold) = options.threshold {
        let cuts = [threshold_cut(first, threshold)?, threshold_cut(second, threshold)?];
        labelled = labelled.as_ref().unwrap_or(first.ensemble()).cut_at(cuts[0]);
        other = other.as_ref().unwrap_or(second.ensemble()).cut_at(cuts[1]);
    }
    let ours = labelled.as_ref().unwrap_or(first.ensemble()).within(&options.domain);
    let ours = ours.map_err(CompareError::from)?;
    let ours = ours.as_ref();
    has_inputs(ours.domain()).map_err(CompareError::from)?;
    let (aligned, matching) = align(ours, other.as_ref().unwrap_or(second.ensemble()));
    other = aligned.or(other);
    let theirs = other.as_ref().unwrap_or(second.ensemble());
    let outline = Outline::new(ours, theirs, options.band)?;
    if options.threshold.is_some() && outline.class_in_second(ClassId(1)) != ClassId(1) {
        return Err(Error::ThresholdClasses);
    }
    let (band, domain, accepted) = (outline.band(), outline.domain(), *outline.accepted());
    let cells_log10 = if domain.is_everything() { None } else { outline.log10_cells() };
    let outside = OutsideRows::find(ours, rows);
    let seen = seen_rows(&outline, rows, options.band)?;
    let found = search(outline, [ours, theirs], rows, options, budget, progress)?;
    let Found { verdict, nodes, nearest, proved_above, certificate } = found;
    let seconds = budget.elapsed().as_secs_f64();
    Ok(Verification {
        verdict,
        band,
        threshold: options.threshold,
        exact: options.band == Band::Exact,
        seen,
        domain,
        accepted,
        cells_log10,
        outside,
        matching,
        proved_above,
        nearest,
        nodes,
        seconds,
        certificate,
        compared: [labelled, other],
    })
}

/// As [`verify`], for two models that need no matching: the second has the columns and classes of
/// the first, and no file.
pub(crate) fn verify_models(
    ours: &Ensemble,
    theirs: Ensemble,
    options: &VerifyOptions,
    budget: &Budget,
    progress: &Arc<Progress>,
) -> Result<Verification, Error> {
    let outline = Outline::new(ours, &theirs, options.band)?;
    let (band, domain, accepted) = (outline.band(), outline.domain(), *outline.accepted());
    let cells_log10 = if domain.is_everything() { None } else { outline.log10_cells() };
    let found = search(outline, [ours, &theirs], &[], options, budget, progress)?;
    Ok(Verification {
        verdict: found.verdict,
        band,
        threshold: None,
        exact: options.band == Band::Exact,
        seen: None,
        domain,
        accepted,
        cells_log10,
        outside: None,
        matching: "by order",
        proved_above: found.proved_above,
        nearest: None,
        nodes: found.nodes,
        seconds: budget.elapsed().as_secs_f64(),
        certificate: found.certificate,
        compared: [Some(ours.clone()), Some(theirs)],
    })
}

/// Evaluates the rows that both models accept.
fn seen_rows(outline: &Outline<'_>, rows: &[f64], band: Band) -> Result<Option<RowsSeen>, Error> {
    // The models with matched labels are used: a row holds the first model's codes, which the
    // second may not share.
    let models = outline.labels().models();
    let width = models[0].features().len().max(1);
    let is_label = |(at, &value): (usize, &f64)| {
        let categories = models[0].features().categories(FeatureId::new(at));
        value.is_nan() || categories.is_none_or(|categories| categories.accepts(value))
    };
    let accepted =
        |row: &&[f64]| row.iter().enumerate().all(is_label) && models.iter().all(|model| model.accepts(row));
    let rows: Vec<f64> = rows.chunks_exact(width).filter(accepted).flatten().copied().collect();
    if rows.is_empty() {
        return Ok(None);
    }
    Ok(Some(rows_seen(models, &|class| outline.class_in_second(class), &rows, band, outline.band())?))
}

/// What a search found.
struct Found {
    verdict: Verdict,
    nodes: u64,
    nearest: Option<(usize, usize)>,
    proved_above: Option<f64>,
    certificate: Option<Vec<u8>>,
}

impl Found {
    /// An answer that needed no search.
    fn at_once(verdict: Verdict) -> Self {
        Self { verdict, nodes: 0, nearest: None, proved_above: None, certificate: None }
    }
}

fn search(
    outline: Outline<'_>,
    [ours, theirs]: [&Ensemble; 2],
    rows: &[f64],
    options: &VerifyOptions,
    budget: &Budget,
    progress: &Arc<Progress>,
) -> Result<Found, Error> {
    // For a model and itself the answer is known without a search, unless a proof is to be written.
    if !options.certificate && outline.is_same_model() {
        return Ok(Found::at_once(Verdict::Identical));
    }
    let checkpoint = options.checkpoint.as_deref().map(Checkpoint::open).transpose()?;
    let certifies = options.certificate || checkpoint.is_some();
    let deadline = budget.search_deadline(certifies);
    let limited = |deadline| SearchBudget { deadline, cancel: budget.cancel(), ..SearchBudget::unlimited() };
    // Even with no time left, small models are laid out, so that the result can say what is known.
    let least = Instant::now() + AFTER_LIMIT;
    let comparison = match outline.lay_out(&limited(deadline.map(|deadline| deadline.max(least)))) {
        Ok(comparison) => comparison,
        Err(CompareError::Stopped(reason)) => {
            return Ok(Found::at_once(Verdict::Undecided(Undecided::Stopped(reason))));
        }
        Err(error) => return Err(error.into()),
    };
    let width = ours.features().len().max(1);
    let settings = Options {
        budget: limited(deadline),
        threads: threads(options.threads),
        seed: options.seed,
        starts: rows.chunks_exact(width).filter_map(|row| comparison.layout().cells_of(row)).collect(),
        progress: progress.clone(),
        crew: match &checkpoint {
            Some(checkpoint) => Some(checkpoint.crew(options.crew.clone())),
            None => options.crew.clone(),
        },
        ..Options::unlimited()
    };
    let failed = |error: Error| match &checkpoint {
        Some(checkpoint) => checkpoint.failed(error),
        None => error,
    };
    let (compared, proof) = if certifies {
        let (compared, writer) =
            comparison.certify(&settings, Vec::new()).map_err(|error| failed(error.into()))?;
        (compared, writer.map(|writer| writer.finish(true)).transpose()?)
    } else {
        (comparison.run(&settings), None)
    };
    let certificate = match proof {
        None => None,
        Some(bytes) => match budget.finishing(|stop| have_checked(ours, theirs, &bytes, stop)) {
            Ok(_) => Some(bytes),
            Err(CertifyError::Interrupted) => None,
            Err(error) => return Err(failed(error.into())),
        },
    };
    let (mut verdict, mut nearest) = (compared.verdict, None);
    if let Some(checkpoint) = &checkpoint {
        if let Verdict::Undecided(Undecided::Stopped(reason)) = verdict {
            checkpoint.stopped(reason)?;
        }
        if verdict == Verdict::Identical && certificate.is_none() {
            // A proof that begins with a checkpoint counts only after its check.
            let cancelled = budget.is_cancelled();
            let reason = if cancelled { StopReason::Cancelled } else { StopReason::Time };
            verdict = Verdict::Undecided(Undecided::Stopped(reason));
        } else if !matches!(verdict, Verdict::Undecided(Undecided::Stopped(_))) {
            checkpoint.done();
        }
    }
    if let Verdict::Different(example) = &mut verdict
        && let Some((near, row, distance)) = comparison.nearest(example, rows)
    {
        nearest = Some((row, distance));
        **example = near;
    }
    let proved_above = match verdict {
        // Finding what is known all the same may exceed the limit by AFTER_LIMIT.
        Verdict::Undecided(_) if !budget.is_cancelled() => {
            comparison.proved_above(&limited(deadline.map(|_| Instant::now() + AFTER_LIMIT)))
        }
        _ => None,
    };
    Ok(Found { verdict, nodes: compared.nodes, nearest, proved_above, certificate })
}

/// The second model with its columns in the order of the first, if both have names; and how columns
/// were matched.
fn align(first: &Ensemble, second: &Ensemble) -> (Option<Ensemble>, &'static str) {
    let named = first.features().has_names() && second.features().has_names();
    match aligned(first, second) {
        Some(reordered) => (Some(reordered), "by name"),
        None if named => (None, "by order (the models name them differently)"),
        None => (None, "by order (one of the models has no feature names)"),
    }
}
