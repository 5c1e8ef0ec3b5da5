//! The pipeline of `prune`: prune, write, read back, certify, check, within one budget.
//!
//! A caller gets exactly the model that was proved: it is read back from the bytes that are handed
//! out, the certificate is about that model, and the independent checker has accepted it. At the
//! end both models decide the caller's rows once more. If one of these steps fails, nothing is
//! handed out.

mod at_cut;
mod forest;
mod offers;
mod options;
mod page;
mod score_rows;
mod shift;
pub mod unproved;
mod words;

use std::borrow::Cow;
use std::time::{Duration, Instant};

use secateur_formats::{Edit, ModelFile};
use secateur_model::{ClassId, Cut, Ensemble};
use secateur_oracle::{Cancel, Claimed, CompareError, Judgement, Options, SearchBudget, has_inputs};
pub use secateur_prune::{
    Certificate, CertifyError, Choice, Claim, Effort, Fate, Moves, Objective, Outcome, Pass, PruneError,
    Pruned, Size, Status, Unit, Watch,
};
use secateur_prune::{Config, certify, prune_model};

use crate::budget::{Budget, watch_while};
use crate::domain::OutsideRows;
use crate::error::Error;
use crate::packed_size::PackedSize;
use crate::page::History;
pub use crate::rows::RowsSeen;
use crate::rows::rows_seen;
use at_cut::AtCut;
pub use offers::{Way, offers, trial_words};
pub(crate) use offers::{smaller_claims, try_ways};
pub(crate) use options::threads;
pub use options::{PruneOptions, keep_scores};
pub use score_rows::ScoreRows;
pub use shift::ProbabilityShift;
pub use words::PruneReport;

/// The most rows of the caller that are used: the first ones.
pub const MOST_ROWS: usize = 100_000;
/// How often the status is read if the run is recorded.
const RECORD: Duration = Duration::from_millis(2);

/// A pruned model, and what is proved about it.
#[derive(Debug)]
pub struct Pruning {
    /// The model and the facts that the search found. Its `file` is what a library reads from
    /// [`bytes`](Self::bytes).
    pub pruned: Pruned,
    /// The file, in the format and dialect of the original. `None` for a scikit-learn object in
    /// memory, which has no file.
    pub bytes: Option<Vec<u8>>,
    /// The proof that the independent checker accepted. `None` if it was not wanted, or if the
    /// budget was too short for it: then the search has proved the model, but the proof has not
    /// been checked.
    pub certificate: Option<Certificate>,
    /// Counts of both models' decisions on the caller's rows; `None` without rows, and if scores
    /// are kept.
    pub rows: Option<RowsSeen>,
    /// How far scores move on the caller's rows, if scores are kept; `None` without rows.
    pub score_rows: Option<ScoreRows>,
    /// How far the probabilities move on the caller's rows: measured, not claimed. `None` without
    /// rows, for a model without probabilities, and if the budget ended first.
    pub probability_shift: Option<ProbabilityShift>,
    /// Rows of the caller that lie outside of the domain: nothing is claimed about them, and the
    /// search does not use them.
    pub outside: Option<OutsideRows>,
    /// Was an early end requested?
    pub interrupted: bool,
    /// Did the limit of [`Budget::standard`] end the search?
    pub met_standard_limit: bool,
    /// The size and speed of the packed original, if pruning removed little: that is what helps such
    /// a model. `None` also for a model that cannot be packed.
    pub pack: Option<PackedSize>,
    /// Where the time went.
    pub seconds: Seconds,
    history: Option<History>,
}

impl Pruning {
    /// The pruned model.
    pub fn file(&self) -> &ModelFile {
        &self.pruned.file
    }

    /// Has the independent checker accepted the proof?
    pub fn checked(&self) -> bool {
        self.certificate.is_some()
    }

    /// Does the model still have all its trees, with unchanged numbers?
    pub fn unchanged(&self) -> bool {
        use secateur_prune::Fate;
        self.pruned.size[0] == self.pruned.size[1]
            && self.pruned.fates.iter().all(|fate| matches!(fate, Fate::Kept))
    }

    /// Is it proved that no model within the allowed moves has fewer trees?
    pub fn minimal(&self) -> bool {
        self.pruned.size[1].trees <= self.pruned.lower_bound
    }
}

/// Where the time went, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Seconds {
    /// Reading the model and the rows; filled in by the caller who reads them.
    pub read: f64,
    /// Folding.
    pub fold: f64,
    /// The linear programs.
    pub lp: f64,
    /// The oracle's questions.
    pub oracle: f64,
    /// The certificate and its check.
    pub certificate: f64,
    /// Writing the model, to bytes and by the caller to its file.
    pub write: f64,
    /// Everything, from the start of the budget's clock.
    pub total: f64,
}

/// Prunes `original` to a smaller model that decides the same on every input of the domain, or
/// keeps its scores up to a distance ([`PruneOptions::claim`]): pruned, written, read back,
/// certified and checked within `budget`.
///
/// `rows` are starting points for the search, one row of the model's features after the other, and
/// may be empty: the claim is about every input either way. Rows that the library refuses or that
/// lie outside of the domain are ignored, and at most [`MOST_ROWS`] are used. `watch` tells another
/// thread how far the call has come.
///
/// The same input, options and seed give the same bytes, as long as no time limit cuts the search
/// short.
pub fn prune(
    original: &ModelFile,
    rows: &[f64],
    options: &PruneOptions,
    budget: &Budget,
    watch: &Watch,
) -> Result<Pruning, Error> {
    let mut pruning = prune_only(original, rows, options, budget, watch)?;
    if pruning.has_little() && !pruning.interrupted {
        pruning.pack = PackedSize::measure(original, options.labels.as_ref(), rows).ok();
        pruning.seconds.total = budget.elapsed().as_secs_f64();
    }
    Ok(pruning)
}

/// As [`prune`], without advice if little can be removed.
fn prune_only(
    original: &ModelFile,
    rows: &[f64],
    options: &PruneOptions,
    budget: &Budget,
    watch: &Watch,
) -> Result<Pruning, Error> {
    if matches!(original, ModelFile::Packed(_)) {
        return Err(Error::Packed);
    }
    budget.watched(|| prune_watched(original, rows, options, budget, watch))
}

fn prune_watched(
    original: &ModelFile,
    rows: &[f64],
    options: &PruneOptions,
    budget: &Budget,
    watch: &Watch,
) -> Result<Pruning, Error> {
    let narrowed = original.ensemble().within(&options.domain).map_err(PruneError::from)?;
    has_inputs(narrowed.domain()).map_err(PruneError::from)?;
    let outside = OutsideRows::find(&narrowed, rows);
    let usable = usable_rows(&narrowed, rows);
    let classes: Vec<ClassId> = usable.iter().filter_map(|&row| options.classes.get(row)).copied().collect();
    let rows = chosen_rows(&narrowed, rows, &usable);
    let config = options.config(budget);
    let cut = options.cut(original)?;
    let trees = original.ensemble().trees().len();
    let mut history = options.record.then(|| History::start(trees));
    let found = recorded(watch, history.as_mut(), || search(original, cut, &rows, &config, watch))?;
    watch.update(|status| {
        status.pass = Pass::Certify;
        status.candidate = None;
    });
    let mut seconds = Seconds {
        fold: found.seconds.fold,
        lp: found.seconds.lp,
        oracle: found.seconds.oracle,
        ..Seconds::default()
    };
    let road = Finish { original, options, config: &config, cut, budget, watch };
    let Finished { pruned, bytes, certificate } = road.finish(found, &mut seconds)?;
    let models = [original, &pruned.file];
    let probability_shift = match budget.is_over() {
        true => None,
        false => ProbabilityShift::measure(models, &rows, &classes),
    };
    let score_rows = ScoreRows::compare(models, &rows, options.claim)?;
    let rows = compare_rows(models.map(|model| at_cut(model, cut)), pruned.band, &rows, options.claim)?;
    seconds.total = budget.elapsed().as_secs_f64();
    let interrupted = budget.is_cancelled();
    Ok(Pruning {
        pruned,
        bytes,
        certificate,
        rows,
        score_rows,
        probability_shift,
        outside,
        interrupted,
        met_standard_limit: budget.has_met_standard(),
        pack: None,
        seconds,
        history,
    })
}

/// The positions of the usable rows: those that the library accepts and that lie in the model's
/// domain.
pub fn accepted_rows(model: &Ensemble, rows: &[f64]) -> Vec<usize> {
    let rows = rows.chunks_exact(model.features().len().max(1)).enumerate();
    rows.filter(|(_, row)| model.accepts(row)).map(|(at, _)| at).collect()
}

/// The positions of the usable rows among the first [`MOST_ROWS`].
fn usable_rows(model: &Ensemble, rows: &[f64]) -> Vec<usize> {
    let width = model.features().len().max(1);
    accepted_rows(model, &rows[..rows.len().min(MOST_ROWS * width)])
}

/// The values of the rows at these positions.
fn chosen_rows(model: &Ensemble, rows: &[f64], chosen: &[usize]) -> Vec<f64> {
    let width = model.features().len().max(1);
    chosen.iter().flat_map(|&row| &rows[row * width..][..width]).copied().collect()
}

/// The search, at the caller's cut if there is one.
fn search(
    original: &ModelFile,
    cut: Option<Cut>,
    rows: &[f64],
    config: &Config,
    watch: &Watch,
) -> Result<Pruned, PruneError> {
    match cut.and_then(|cut| AtCut::new(original.clone(), cut)) {
        Some(model) => Ok(prune_model(&model, rows, config, watch)?.map_file(|found| found.file)),
        None => secateur_prune::prune(original, rows, config, watch),
    }
}

/// The model whose decisions are compared: at the caller's cut if there is one.
fn at_cut(model: &ModelFile, cut: Option<Cut>) -> Cow<'_, Ensemble> {
    let ensemble = model.ensemble();
    cut.and_then(|cut| ensemble.cut_at(cut)).map_or(Cow::Borrowed(ensemble), Cow::Owned)
}

/// Runs the search, and records its status over time if that is wanted.
fn recorded<T>(watch: &Watch, history: Option<&mut History>, search: impl FnOnce() -> T) -> T {
    let Some(history) = history else { return search() };
    watch_while(RECORD, search, || history.note(&watch.status()))
}

/// The last part of the pipeline, from the search's answer to what is handed out.
struct Finish<'a> {
    original: &'a ModelFile,
    options: &'a PruneOptions,
    config: &'a Config,
    cut: Option<Cut>,
    budget: &'a Budget,
    watch: &'a Watch,
}

struct Finished {
    pruned: Pruned,
    bytes: Option<Vec<u8>>,
    certificate: Option<Certificate>,
}

/// The result of proving a model.
enum Proof {
    /// The model is proved; with the certificate that the checker accepted, if one was wanted.
    Found(Option<Box<Certificate>>),
    /// The model is not proved to decide as the original does.
    NotProved,
    /// The budget ended first.
    Stopped,
}

impl Finish<'_> {
    fn finish(&self, found: Pruned, seconds: &mut Seconds) -> Result<Finished, Error> {
        // A forest whose probabilities are scaled back to their old sum is another file, so it
        // needs a proof of its own. If that proof fails, the file that the search proved is handed
        // out.
        let averaged = match self.config.claim {
            Claim::Decisions { .. } => forest::averaged(self.original, &found),
            // If scores are kept, their scale is kept too.
            Claim::Scores { .. } => None,
        };
        if let Some(averaged) = averaged {
            let (pruned, bytes) = self.written(averaged, seconds)?;
            match self.proof(&pruned, seconds)? {
                Proof::Found(certificate) => {
                    return Ok(Finished { pruned, bytes, certificate: certificate.map(|boxed| *boxed) });
                }
                Proof::Stopped => {
                    let (pruned, bytes) = self.written(found, seconds)?;
                    return Ok(Finished { pruned, bytes, certificate: None });
                }
                Proof::NotProved => {}
            }
        }
        let (pruned, bytes) = self.written(found, seconds)?;
        if !self.options.self_check {
            // The search has proved exactly this model.
            return Ok(Finished { pruned, bytes, certificate: None });
        }
        match self.proof(&pruned, seconds)? {
            Proof::Found(certificate) => {
                Ok(Finished { pruned, bytes, certificate: certificate.map(|boxed| *boxed) })
            }
            Proof::Stopped => Ok(Finished { pruned, bytes, certificate: None }),
            Proof::NotProved => Err(CertifyError::NotProved.into()),
        }
    }

    /// The bytes that will be written, and the model that a library will read from them.
    fn written(&self, mut pruned: Pruned, seconds: &mut Seconds) -> Result<(Pruned, Option<Vec<u8>>), Error> {
        let started = Instant::now();
        // An unchanged model keeps its own file, except for trees that its library never uses:
        // these are removed even then.
        if pruned.file.unused_trees() > 0 {
            let edited = pruned.file.edit(&Edit::unchanged(pruned.file.ensemble()));
            if let Some(edited) = edited.ok().filter(|edited| edited.ensemble() == pruned.file.ensemble()) {
                pruned.file = edited;
            }
        }
        let mut bytes = Vec::new();
        match pruned.file.write(&mut bytes) {
            // A live scikit-learn estimator has no file; editing has built its model anew from its
            // parts.
            Err(error) if error.kind() == std::io::ErrorKind::Unsupported => return Ok((pruned, None)),
            written => written?,
        }
        let read = ModelFile::parse(&bytes).ok().filter(|file| file.ensemble() == pruned.file.ensemble());
        pruned.file = read.ok_or(Error::ReadBack)?;
        seconds.write += started.elapsed().as_secs_f64();
        Ok((pruned, Some(bytes)))
    }

    /// A proof that the model decides as the original does; with a certificate, one that the
    /// checker accepts.
    fn proof(&self, pruned: &Pruned, seconds: &mut Seconds) -> Result<Proof, Error> {
        if self.budget.is_over() {
            return Ok(Proof::Stopped);
        }
        let started = Instant::now();
        let original = at_cut(self.original, self.cut);
        let original = original.within(&self.config.domain).map_err(PruneError::from)?;
        let theirs = at_cut(&pruned.file, self.cut);
        let theirs = theirs.as_ref();
        let proof = self.budget.finishing(|stop| {
            if !self.options.self_check {
                return self.compared(&original, theirs, stop);
            }
            let search = Options {
                budget: SearchBudget { cancel: stop.clone(), ..SearchBudget::unlimited() },
                threads: self.config.threads,
                progress: self.watch.search.clone(),
                crew: self.options.crew.clone(),
                ..Options::unlimited()
            };
            // A certificate about scores says nothing of lower bounds.
            let evidence = self.config.claim.band().map(|_| &pruned.evidence);
            match certify(&original, theirs, self.config.claim, evidence, &search) {
                Ok(certificate) => Ok(Proof::Found(Some(Box::new(certificate)))),
                Err(CertifyError::Interrupted) => Ok(Proof::Stopped),
                Err(CertifyError::NotProved) => Ok(Proof::NotProved),
                Err(error) => Err(error.into()),
            }
        });
        seconds.certificate += started.elapsed().as_secs_f64();
        proof
    }

    fn compared(&self, original: &Ensemble, pruned: &Ensemble, stop: &Cancel) -> Result<Proof, Error> {
        let options = Options {
            budget: SearchBudget { cancel: stop.clone(), ..SearchBudget::unlimited() },
            threads: self.config.threads,
            seed: self.config.seed,
            progress: self.watch.search.clone(),
            ..Options::unlimited()
        };
        let claimed = match Claimed::new(original, pruned, self.config.claim, &options.budget) {
            Err(CompareError::Stopped(_)) => return Ok(Proof::Stopped),
            claimed => claimed?,
        };
        Ok(match claimed.judge(&options).0 {
            Judgement::Proved => Proof::Found(None),
            _ if stop.is_cancelled() => Proof::Stopped,
            _ => Proof::NotProved,
        })
    }
}

/// Decides the caller's rows with both models. A difference that the claim excludes would be a bug
/// of secateur.
fn compare_rows(
    models: [Cow<'_, Ensemble>; 2],
    score: f64,
    rows: &[f64],
    claim: Claim,
) -> Result<Option<RowsSeen>, Error> {
    let Some(band) = claim.band().filter(|_| !rows.is_empty()) else { return Ok(None) };
    let models = [models[0].as_ref(), models[1].as_ref()];
    let seen = rows_seen(models, &|class| class, rows, band, score)?;
    match seen.excluded {
        Some(row) => Err(Error::RowChanged { row: row + 1 }),
        None => Ok(Some(seen)),
    }
}
