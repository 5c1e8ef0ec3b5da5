//! The choices of a caller of `prune`.

use std::path::PathBuf;

use secateur_certificate::{self as certificate, BandClaim, Digest, FileDigest, Statement};
use secateur_formats::{ModelFile, threshold_cut};
use secateur_model::{ClassId, Cut, Domain, Ensemble};
use secateur_oracle::Crew;
use secateur_prune::{Claim, Config, Effort, LinearSolver, Moves, Objective, Unit};

use crate::budget::Budget;
use crate::error::Error;

/// How many times the bound on the library's rounding scores may move where they are kept.
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
    /// What is made small.
    pub objective: Objective,
    /// What may change.
    pub moves: Moves,
    /// What one weight belongs to; `None` for rounds with [`Moves::Weights`], trees with [`Moves::Leaves`].
    pub weight_per: Option<Unit>,
    /// Who solves the linear programs. What is proved does not depend on it.
    pub solver: LinearSolver,
    /// What the pruned model keeps: decisions, or scores up to a distance.
    pub claim: Claim,
    /// Decide by comparing the probability of class 1 with this, in place of the library's own rule: for models of two
    /// classes whose probability is a logistic function of one score. `None` is the library's own rule.
    pub threshold: Option<f64>,
    /// The class of each of the caller's rows, where it is known, and empty otherwise: it serves to measure how well the
    /// probabilities rank the rows ([`ProbabilityShift::auc`](crate::ProbabilityShift::auc)) and nothing else.
    pub classes: Vec<ClassId>,
    /// Which inputs the claim is about; columns are counted as the model counts them.
    pub domain: Domain,
    /// Threads of the search; `None` for all cores.
    pub threads: Option<usize>,
    /// Where random choices start: same seed, same bytes.
    pub seed: u64,
    /// Make a certificate and have the independent checker go over it. Without it the result is the search's word.
    pub self_check: bool,
    /// Keep what was known when, for a page about the run.
    pub record: bool,
    /// Who helps with the certificate where that takes long, in place of threads of this process. The questions of the search itself stay here.
    pub crew: Option<Crew>,
    /// Keep in this file what the run learns, and go on from what it holds. What it says is not believed: a model that is proved by its word alone is
    /// handed out only with a proof of its own. With it a time limit ends the run and does not steer it, so that runs that are ended and go on
    /// give what one run gives. The file is removed when the work is done.
    pub checkpoint: Option<PathBuf>,
}

impl Default for PruneOptions {
    fn default() -> Self {
        let Config { effort, objective, moves, unit, solver, claim, domain, seed, .. } = Config::default();
        Self {
            effort,
            objective,
            moves,
            weight_per: unit,
            solver,
            claim,
            threshold: None,
            classes: Vec::new(),
            domain,
            threads: None,
            seed,
            self_check: true,
            record: false,
            crew: None,
            checkpoint: None,
        }
    }
}

impl PruneOptions {
    /// The cut of this model's scores that the threshold stands for, where there is one.
    pub(super) fn cut(&self, model: &ModelFile) -> Result<Option<Cut>, Error> {
        let Some(threshold) = self.threshold else { return Ok(None) };
        match self.claim {
            Claim::Decisions { .. } => Ok(Some(threshold_cut(model, threshold)?)),
            Claim::Scores { .. } => Err(Error::ThresholdAndScores),
        }
    }

    /// A digest of all that a run depends on: what a checkpoint is about. `model` is the original within the domain, and `rows` are those that count.
    pub(super) fn run_digest(&self, model: &Ensemble, rows: &[f64]) -> Result<[u8; 32], Error> {
        let statement = Statement::Decisions { band: BandClaim::Exact, local_rounding: false, cuts: None };
        let own = Digest::of(model);
        let claim =
            certificate::Claim { original: own, pruned: own, statement, domain: model.inputs().clone() };
        let mut bytes = certificate::Writer::new(Vec::new(), &claim)?.finish(false)?;
        let Self { effort, objective, moves, weight_per, claim, threshold, seed, .. } = self;
        let chosen = (effort, objective, moves, weight_per, self.solver.name(), claim, threshold, seed);
        bytes.extend_from_slice(format!("{chosen:?}").as_bytes());
        bytes.extend(rows.iter().flat_map(|value| value.to_bits().to_le_bytes()));
        Ok(FileDigest::of(&bytes).0)
    }

    /// The search's settings within a budget.
    pub(super) fn config(&self, budget: &Budget) -> Config {
        Config {
            effort: self.effort,
            objective: self.objective,
            moves: self.moves,
            unit: self.weight_per,
            solver: self.solver,
            claim: self.claim,
            domain: self.domain.clone(),
            deadline: budget.search_deadline(self.self_check),
            cancel: budget.cancel(),
            threads: threads(self.threads),
            seed: self.seed,
            journal: None,
        }
    }
}

/// The claim that keeps every score up to what the library's own rounding may do to it: calibration, stacking, ranking and
/// every threshold go on as before. The scores of a model whose sums are exact are kept as they are.
///
/// ```
/// use secateur::{Claim, ModelFile, demo, keep_scores};
/// let Claim::Scores { within } = keep_scores(&ModelFile::parse(demo::MODEL)?) else { unreachable!() };
/// assert!(within < 1e-12);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn keep_scores(model: &ModelFile) -> Claim {
    // Both models round, and what is written is rounded too. Where sums may overflow there is no bound, and the call
    // says so whatever the distance.
    let rounding = model.ensemble().rounding().map_or(0.0, |rounding| rounding.largest());
    Claim::Scores { within: ROUNDINGS * rounding }
}

/// All cores unless given.
pub(crate) fn threads(wanted: Option<usize>) -> usize {
    wanted.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, |cores| cores.get())).max(1)
}
