//! The choices of a caller of `prune`.

use secateur_model::Domain;
use secateur_prune::{Claim, Config, Effort, LinearSolver, Moves, Objective, Unit};

use crate::budget::Budget;

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
            domain,
            threads: None,
            seed,
            self_check: true,
            record: false,
        }
    }
}

impl PruneOptions {
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
        }
    }
}

/// All cores unless given.
pub(crate) fn threads(wanted: Option<usize>) -> usize {
    wanted.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, |cores| cores.get())).max(1)
}
