//! The choices of a caller of `prune`.

use secateur_formats::{ModelFile, threshold_cut};
use secateur_model::{ClassId, ClassLabels, Cut, Domain};
use secateur_oracle::Crew;
use secateur_prune::{Claim, Config, Effort, Moves, Objective, Unit};

use crate::budget::Budget;
use crate::error::Error;

/// If scores are kept, they may move by this many times the bound on the library's rounding.
const ROUNDINGS: f64 = 4.0;

/// The choices of a caller of [`prune`](crate::prune).
///
/// ```
/// use secateur::{Effort, PruneOptions};
/// let options = PruneOptions { effort: Effort::Minimum, seed: 7, ..PruneOptions::default() };
/// assert!(options.self_check);
/// ```
#[derive(Clone, Debug)]
pub struct PruneOptions {
    /// How far to go.
    pub effort: Effort,
    /// What is minimised.
    pub objective: Objective,
    /// What may change.
    pub moves: Moves,
    /// What shares one weight; `None` means rounds with [`Moves::Weights`], trees with
    /// [`Moves::Leaves`].
    pub weight_per: Option<Unit>,
    /// What the pruned model keeps: decisions, or scores up to a distance.
    pub claim: Claim,
    /// Decide by comparing the probability of class 1 with this number, instead of the library's
    /// own rule. Works for models of two classes whose probability is a logistic function of one
    /// score. `None` means the library's own rule.
    pub threshold: Option<f64>,
    /// The class of each of the caller's rows if it is known, otherwise empty. Only used to measure
    /// how well the probabilities rank the rows
    /// ([`ProbabilityShift::auc`](crate::prune::ProbabilityShift::auc)).
    pub classes: Vec<ClassId>,
    /// Class labels that a live object returns and its file does not have. They only count for the
    /// size of the packed model ([`Pruning::pack`](crate::Pruning::pack)).
    pub labels: Option<ClassLabels>,
    /// The inputs that the claim is about; columns are numbered as in the model.
    pub domain: Domain,
    /// Threads of the search; `None` for all cores.
    pub threads: Option<usize>,
    /// The seed of random choices: the same seed gives the same bytes.
    pub seed: u64,
    /// Make a certificate and have the independent checker verify it. Without it the result is
    /// proved by the search alone and has not been checked.
    pub self_check: bool,
    /// Record the status over time, for a page about the run.
    pub record: bool,
    /// Workers that help with the certificate if that takes long, instead of threads of this
    /// process. The search itself stays in this process.
    pub crew: Option<Crew>,
}

impl Default for PruneOptions {
    fn default() -> Self {
        let Config { effort, objective, moves, unit, claim, domain, seed, .. } = Config::default();
        Self {
            effort,
            objective,
            moves,
            weight_per: unit,
            claim,
            threshold: None,
            classes: Vec::new(),
            labels: None,
            domain,
            threads: None,
            seed,
            self_check: true,
            record: false,
            crew: None,
        }
    }
}

impl PruneOptions {
    /// The cut of this model's scores that corresponds to the threshold, if there is one.
    pub(super) fn cut(&self, model: &ModelFile) -> Result<Option<Cut>, Error> {
        let Some(threshold) = self.threshold else { return Ok(None) };
        match self.claim {
            Claim::Decisions { .. } => Ok(Some(threshold_cut(model, threshold)?)),
            Claim::Scores { .. } => Err(Error::ThresholdAndScores),
        }
    }

    /// The search's settings for a budget.
    pub(super) fn config(&self, budget: &Budget) -> Config {
        Config {
            effort: self.effort,
            objective: self.objective,
            moves: self.moves,
            unit: self.weight_per,
            claim: self.claim,
            domain: self.domain.clone(),
            deadline: budget.search_deadline(self.self_check),
            cancel: budget.cancel(),
            threads: threads(self.threads),
            seed: self.seed,
            ..Config::default()
        }
    }
}

/// The claim that keeps every score except for changes as small as the library's own rounding, so
/// that calibration, stacking, ranking and every threshold work as before. If the sums of a model
/// are exact, its scores do not change at all.
///
/// ```
/// use secateur::{Claim, demo, ModelFile, prune::keep_scores};
/// let Claim::Scores { within } = keep_scores(&ModelFile::parse(demo::MODEL)?) else { unreachable!() };
/// assert!(within < 1e-12);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn keep_scores(model: &ModelFile) -> Claim {
    // The factor allows for the rounding of both models and of the written numbers. If sums may
    // overflow there is no bound, and the call then fails whatever the distance.
    let rounding = model.ensemble().rounding().map_or(0.0, |rounding| rounding.largest());
    Claim::Scores { within: ROUNDINGS * rounding }
}

/// The number of threads: all cores unless given.
pub(crate) fn threads(wanted: Option<usize>) -> usize {
    wanted.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, |cores| cores.get())).max(1)
}
