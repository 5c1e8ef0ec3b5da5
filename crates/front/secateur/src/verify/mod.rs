//! The pipeline of `verify`: one question about two models, answered for every input of a domain.
//! On request with a certificate, which is checked before it is handed out; everything within one
//! budget.
//!
//! # Where to read
//! [`Question`] says what is asked. Each question has a file of its own, `decisions` and `scores`:
//! it asks the search, and says what was found. What all questions share is here (the models as
//! they are compared, the search's settings, the check of the proof, the checkpoint) and in `words`
//! and `page` (the report). `labels` has the category labels, `reading` the numbers of an input.

mod decisions;
mod labels;
mod page;
mod reading;
mod score_page;
mod scores;
mod words;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use secateur_checker::aligned;
use secateur_formats::{ModelFile, threshold_cut};
use secateur_model::{Accepted, ClassLabels, Domain, Ensemble};
pub use secateur_oracle::{
    Band, CompareError, Counterexample, Progress, ScorePoint, StopReason, Undecided, Verdict as Answer,
};
use secateur_oracle::{Crew, Layout, Options, SearchBudget};
use secateur_prune::{CertifyError, have_checked};

use crate::budget::Budget;
use crate::checkpoint::Checkpoint;
use crate::error::Error;
use crate::prune::threads;
pub use decisions::DecisionsFound;
pub(crate) use decisions::{ROUNDING_NOTE, both_accept, rounding_words, rows_json};
pub(crate) use labels::{of_row as row_labels, value_words, values_words};
pub use scores::{ScoreOutcome, ScoresFound};
pub(crate) use scores::{probability as score_probability, upper};
use words::Findings;
pub use words::VerifyReport;
pub(crate) use words::{json_number, row_json, used_columns};

/// What is asked about two models.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Question {
    /// Do they decide alike?
    Decisions {
        /// How near to the first model's decision boundary the claim reaches.
        band: Band,
        /// Decide by comparing the probability of class 1 with this number, instead of the
        /// libraries' own rules. Works for models of two classes whose probability is a logistic
        /// function of one score. `None` means the libraries' own rules.
        threshold: Option<f64>,
    },
    /// How far can their scores be apart?
    ///
    /// A score is the number that the library decides on or predicts from: its raw score, divided
    /// by the number of trees if the library averages. If one of two binary classifiers has a score
    /// for each class and the other a single score, the scores of the second class are compared.
    Scores {
        /// Ask whether all differences are within this limit, a finite number of at least zero;
        /// `None` measures the greatest.
        within: Option<f64>,
        /// If one library reads doubles and the other rounds them to f32: compare the models on
        /// every double, and not only on the values that both read alike. There is no certificate
        /// for that.
        doubles: bool,
    },
}

impl Question {
    /// Do the models decide alike, wherever the first model's own decision is certain?
    pub const DECISIONS: Self = Self::Decisions { band: Band::Auto, threshold: None };
    /// How far can the models' scores be apart?
    pub const SCORES: Self = Self::Scores { within: None, doubles: false };
}

/// The choices of a caller of [`verify`].
#[derive(Clone, Debug)]
pub struct VerifyOptions {
    /// What is asked.
    pub question: Question,
    /// The inputs that the question is about; columns are numbered as in the first model.
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
    /// Measuring how far scores are apart stays in this process.
    pub crew: Option<Crew>,
    /// Keep checkpoints in this file, and continue from the one that it holds; about scores only
    /// for questions about a limit. Checkpoints are not trusted: the independent checker verifies
    /// the whole proof before anything is called proved. The file is removed when the answer is
    /// known.
    pub checkpoint: Option<PathBuf>,
}

impl Default for VerifyOptions {
    fn default() -> Self {
        Self {
            question: Question::DECISIONS,
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

/// The answer to a question about two models.
#[derive(Debug)]
pub struct Verification {
    /// What was found; there is one variant for each [`Question`].
    pub found: Found,
    /// The inputs that the answer is about.
    pub domain: Domain,
    /// The values that both libraries accept.
    pub accepted: Accepted,
    /// How columns were matched, in words.
    pub matching: &'static str,
    /// Boxes that the search visited.
    pub nodes: u64,
    /// How long it took, from the start of the budget's clock.
    pub seconds: f64,
    /// The proof that the independent checker accepted. `None` if none was wanted, if nothing was
    /// proved, or if the time was too short for the check; then the answer was found by the search
    /// and has not been checked.
    pub certificate: Option<Vec<u8>>,
    /// The models as they were compared, if that differs from their files: with labels of their
    /// own, and the second with its columns in the order of the first.
    compared: [Option<Ensemble>; 2],
}

/// What was found, for each [`Question`].
#[derive(Clone, Debug)]
pub enum Found {
    /// About decisions.
    Decisions(DecisionsFound),
    /// About scores.
    Scores(ScoresFound),
}

/// Is the answer known?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conclusion {
    /// The answer is proved.
    Proved,
    /// An input refutes what was asked.
    Refuted,
    /// Neither.
    Open,
}

impl Verification {
    /// Has the independent checker accepted the proof?
    pub fn checked(&self) -> bool {
        self.certificate.is_some()
    }

    /// Is the answer known?
    pub fn conclusion(&self) -> Conclusion {
        self.findings().conclusion()
    }

    /// The answer in one word, for scripts.
    pub fn outcome(&self) -> &'static str {
        self.findings().outcome()
    }

    /// Why there is no answer, or why the search ended early, in words.
    pub fn reason(&self) -> Option<&'static str> {
        self.findings().reason()
    }

    /// The input that the answer shows, in the codes of the first model.
    pub fn row(&self) -> Option<&[f64]> {
        self.findings().row()
    }

    /// What was found about decisions, if the question was about them.
    pub fn decisions(&self) -> Option<&DecisionsFound> {
        match &self.found {
            Found::Decisions(found) => Some(found),
            Found::Scores(_) => None,
        }
    }

    /// What was found about scores, if the question was about them.
    pub fn scores(&self) -> Option<&ScoresFound> {
        match &self.found {
            Found::Scores(found) => Some(found),
            Found::Decisions(_) => None,
        }
    }

    fn findings(&self) -> &dyn Findings {
        match &self.found {
            Found::Decisions(found) => found,
            Found::Scores(found) => found,
        }
    }
}

/// Answers a question about two models of any supported formats, for every input of a domain: a
/// proof, or an input that refutes it. By default: do they decide alike?
///
/// Columns are matched by name if both models have names, otherwise by order. `rows` are starting
/// points of the search, one row of the first model's features after the other, and may be empty; a
/// counterexample about decisions is moved as near to one of them as possible. `progress` tells
/// another thread how far the search has come.
///
/// ```
/// use secateur::{Budget, demo, ModelFile, Question, Conclusion, verify, VerifyOptions};
/// let model = ModelFile::parse(demo::MODEL)?;
/// let options = VerifyOptions { certificate: true, ..VerifyOptions::default() };
/// let same = verify(&model, &model, &[], &options, &Budget::default(), &Default::default())?;
/// assert_eq!(same.conclusion(), Conclusion::Proved);
/// assert!(same.checked());
///
/// let options = VerifyOptions { question: Question::SCORES, ..VerifyOptions::default() };
/// let apart = verify(&model, &model, &[], &options, &Budget::default(), &Default::default())?;
/// // Both models are the same, but the bound allows for the rounding of each sum.
/// assert!(apart.scores().unwrap().at_most.unwrap() < 1e-12);
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
    if let Question::Scores { within: Some(within), .. } = options.question
        && !(within >= 0.0 && within.is_finite())
    {
        return Err(Error::ScoreLimit { within });
    }
    let with_labels = |file: &ModelFile, labels: &Option<ClassLabels>| {
        labels.as_ref().and_then(|labels| file.ensemble().with_classes(labels.clone()))
    };
    let mut labelled = with_labels(first, &options.labels[0]);
    let mut other = with_labels(second, &options.labels[1]);
    if let Question::Decisions { threshold: Some(threshold), .. } = options.question {
        let cuts = [threshold_cut(first, threshold)?, threshold_cut(second, threshold)?];
        labelled = labelled.as_ref().unwrap_or(first.ensemble()).cut_at(cuts[0]);
        other = other.as_ref().unwrap_or(second.ensemble()).cut_at(cuts[1]);
    }
    let ours = labelled.as_ref().unwrap_or(first.ensemble()).within(&options.domain);
    let ours = ours.map_err(CompareError::from)?;
    let ours = ours.as_ref();
    let (aligned, matching) = align(ours, other.as_ref().unwrap_or(second.ensemble()));
    other = aligned.or(other);
    let theirs = other.as_ref().unwrap_or(second.ensemble());
    let mut answer = Call { models: [ours, theirs], rows, options, budget, progress }.answer(matching)?;
    if let Found::Scores(found) = &mut answer.found {
        found.probability = found.at_most.and_then(|most| score_probability([first, second], most));
    }
    answer.compared = [labelled, other];
    Ok(answer)
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
    let call = Call { models: [ours, &theirs], rows: &[], options, budget, progress };
    let mut answer = call.answer("by order")?;
    answer.compared = [Some(ours.clone()), Some(theirs)];
    Ok(answer)
}

/// A call of [`verify`], with the two models as they are compared.
#[derive(Clone, Copy)]
struct Call<'a> {
    models: [&'a Ensemble; 2],
    rows: &'a [f64],
    options: &'a VerifyOptions,
    budget: &'a Budget,
    progress: &'a Arc<Progress>,
}

/// What a question's own file returns.
struct Answered {
    found: Found,
    domain: Domain,
    accepted: Accepted,
    nodes: u64,
    certificate: Option<Vec<u8>>,
}

impl<'a> Call<'a> {
    fn answer(&self, matching: &'static str) -> Result<Verification, Error> {
        let answered = match self.options.question {
            Question::Decisions { band, threshold } => decisions::answer(self, band, threshold),
            Question::Scores { within, doubles } => scores::answer(self, within, doubles),
        };
        let Answered { found, domain, accepted, nodes, certificate } = answered?;
        let seconds = self.budget.elapsed().as_secs_f64();
        let compared = [None, None];
        Ok(Verification { found, domain, accepted, matching, nodes, seconds, certificate, compared })
    }

    /// Begins the search: opens the checkpoint, and sets time aside for the certificate.
    fn search(self) -> Result<Search<'a>, Error> {
        let checkpoint = self.options.checkpoint.as_deref().map(Checkpoint::open).transpose()?;
        let certifies = self.options.certificate || checkpoint.is_some();
        Ok(Search { call: self, checkpoint, certifies, deadline: self.budget.search_deadline(certifies) })
    }

    /// The budget of a search that ends at this deadline.
    fn until(&self, deadline: Option<Instant>) -> SearchBudget {
        SearchBudget { deadline, cancel: self.budget.cancel(), ..SearchBudget::unlimited() }
    }
}

/// The search of a call.
struct Search<'a> {
    call: Call<'a>,
    checkpoint: Option<Checkpoint>,
    /// Is a proof written down?
    certifies: bool,
    deadline: Option<Instant>,
}

impl Search<'_> {
    /// The settings of a search over this layout.
    fn settings(&self, layout: &Layout) -> Options {
        let Call { models, rows, options, progress, .. } = self.call;
        let width = models[0].features().len().max(1);
        Options {
            budget: self.call.until(self.deadline),
            threads: threads(options.threads),
            seed: options.seed,
            starts: rows.chunks_exact(width).filter_map(|row| layout.cells_of(row)).collect(),
            progress: progress.clone(),
            crew: match &self.checkpoint {
                Some(checkpoint) => Some(checkpoint.crew(options.crew.clone())),
                None => options.crew.clone(),
            },
            ..Options::unlimited()
        }
    }

    /// The caller's error for a failed search, which is about the checkpoint if the search may have
    /// continued from one.
    fn failed(&self, error: impl Into<Error>) -> Error {
        match &self.checkpoint {
            Some(checkpoint) => checkpoint.failed(error.into()),
            None => error.into(),
        }
    }

    /// Has the checker verify a proof; `None` if the time is too short.
    fn checked(&self, proof: Option<Vec<u8>>) -> Result<Option<Vec<u8>>, Error> {
        let Some(bytes) = proof else { return Ok(None) };
        let [ours, theirs] = self.call.models;
        match self.call.budget.finishing(|stop| have_checked(ours, theirs, &bytes, stop)) {
            Ok(_) => Ok(Some(bytes)),
            Err(CertifyError::Interrupted) => Ok(None),
            Err(error) => Err(self.failed(error)),
        }
    }

    /// Ends the checkpoint of a search with this answer. `stopped` says why the search ended early.
    /// Returns the reason why the answer does not count, if it does not: a proof that begins with a
    /// checkpoint counts only after its check.
    fn close(
        &self,
        conclusion: Conclusion,
        stopped: Option<StopReason>,
        checked: bool,
    ) -> Result<Option<StopReason>, Error> {
        let Some(checkpoint) = &self.checkpoint else { return Ok(None) };
        if let Some(reason) = stopped {
            return checkpoint.stopped(reason).map(|()| None);
        }
        if conclusion == Conclusion::Proved && !checked {
            let cancelled = self.call.budget.is_cancelled();
            return Ok(Some(if cancelled { StopReason::Cancelled } else { StopReason::Time }));
        }
        checkpoint.done();
        Ok(None)
    }
}

/// The second model with its columns in the order of the first, if both have names; and how columns
/// were matched.
pub(crate) fn align(first: &Ensemble, second: &Ensemble) -> (Option<Ensemble>, &'static str) {
    let named = first.features().has_names() && second.features().has_names();
    match aligned(first, second) {
        Some(reordered) => (Some(reordered), "by name"),
        None if named => (None, "by order (the models name them differently)"),
        None => (None, "by order (one of the models has no feature names)"),
    }
}
