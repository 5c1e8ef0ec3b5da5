//! The loop of solver and oracle: weights from the points, a file from the weights, a proof or new points
//! from the file.
//!
//! What leaves the loop as proved is a file as it reads back, judged by the oracle against the original.
//! Everything else (solver, points, weights) only chooses which files are worth asking about, so nothing
//! there can make a wrong answer.

pub(crate) mod allowance;
mod plans;
mod questions;
mod recall;
mod recalling;
pub(crate) mod weight_program;

use std::time::Instant;

use secateur_formats::{Edit, EditError};
use secateur_lp::Limits;
use secateur_model::Ensemble;
use secateur_oracle::{Band, Cells, CompareError, Outline, SearchBudget, StopReason};

use crate::candidate::column::{Column, Intercept};
use crate::candidate::fold::Folded;
use crate::candidate::plan::{Draft, Editable, Plan, Writer};
use crate::config::{Claim, Config, Objective};
use crate::outcome::{PruneError, Seconds, Size};
use crate::passes::minimum;
use crate::points::all_cells::Sweep;
use crate::points::point::Points;
use crate::search::allowance::Allowance;
use crate::search::weight_program::{Rows, Solved, Terms, WeightProgram, Weights};
use crate::watch::{Pass, Watch};

/// Boxes that one question may cost; a harder one stays open. They take about a second and a half: small boxes are
/// not split to the end, so one of these does the work of about fifty of a search that only splits.
const MOST_NODES: u64 = 100_000;
/// Bytes that one question may take.
const MOST_MEMORY: u64 = 1 << 30;
/// Points that the oracle starts its local search from.
const STARTS: usize = 24;
/// Weights below this share of the largest are zero.
const TINY: f64 = 1e-9;
/// The share of an allowed distance of scores that is left for what files round.
const WRITTEN: f64 = 1e-4;
/// Turns of solver and oracle for one support.
const TURNS: usize = 200;
/// Turns for a program that is known to have an answer, for each of its columns: forests of stumps need several
/// counterexamples for each column.
const TURNS_PER_COLUMN: usize = 10;

/// A model that is proved.
#[derive(Clone, Debug)]
pub(crate) struct Candidate<M> {
    pub(crate) file: M,
    /// How it was made, and with which weights; `None` for the original as it is.
    pub(crate) made: Option<(Edit, Plan)>,
    pub(crate) size: Size,
    pub(crate) bytes: u64,
    /// That it is proved is the word of a journal.
    pub(crate) recalled: bool,
}

/// Who judges a support.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Judge {
    /// The oracle's: a proof.
    Proof,
    /// That of all cells, where they can be looked at; else the oracle's.
    Cells,
    /// That of the points alone. Proves nothing.
    Points,
    /// That of an oracle which may visit so many boxes; what it does not refute holds. Proves nothing.
    Boxes(u64),
}

/// What became of a support.
#[derive(Clone, Debug)]
pub(crate) enum Settled {
    /// A model with these weights is proved (it is the best one if it is the smallest so far).
    Proved(Weights),
    /// These weights do by a judge that proves nothing ([`Judge`]).
    Holds(Weights),
    /// No weights meet all demands, by a float's word.
    Infeasible,
    /// Neither.
    Open(Why),
}

/// Why a support is not settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// The budget of the run is spent.
    SearchBudget,
    /// The proof is too hard, or solver and file disagree in the last bits.
    Hard,
}

/// What a run is about. Nothing of it changes while the run goes on.
pub(crate) struct Problem<'a, M> {
    pub(crate) file: &'a M,
    /// The file's model, within the domain of the run.
    pub(crate) model: &'a Ensemble,
    pub(crate) folded: &'a Folded,
    /// The original over its own grid; missing values are left out where they share another cell's fate.
    pub(crate) space: Cells,
    pub(crate) config: &'a Config,
    pub(crate) watch: &'a Watch,
    /// The band of the claim, as a score; zero for exact arithmetic, and where scores are kept.
    pub(crate) band: f64,
    /// Bounds of demands are at least this.
    floor: f64,
}

/// The problem, and all that a run knows about it by now.
pub(crate) struct Search<'a, M> {
    pub(crate) problem: Problem<'a, M>,
    /// What may become of the intercept; a pass may ask what would be without one.
    pub(crate) intercept: Intercept,
    pub(crate) points: Points<'a>,
    pub(crate) best: Candidate<M>,
    /// The weights of the best model that was found by weighing columns.
    pub(crate) best_weights: Option<Weights>,
    pub(crate) seconds: Seconds,
    pub(crate) oracle_calls: u64,
    /// Every cell is among the points.
    pub(crate) all_cells: bool,
    /// All cells of a space that is small enough to be swept.
    pub(crate) sweep: Option<Sweep>,
    /// Work that is left for questions.
    pub(crate) allowance: Allowance,
    /// Inputs of the last refusals, from which the oracle starts.
    recent: Vec<Vec<f64>>,
    /// The last answer of the oracle is one of the journal.
    recalled: bool,
    /// The best model of the journal.
    saved: Option<Candidate<M>>,
}

enum Judged {
    Proved,
    /// With the inputs that refute it.
    Refuted(Vec<Vec<f64>>),
    Refused,
    Stopped(StopReason),
}

impl<'a, M: Editable> Search<'a, M> {
    /// A run without points, whose best model is the original.
    ///
    /// `model` is the file's, within the scope of the run.
    pub(crate) fn new(
        file: &'a M,
        model: &'a Ensemble,
        folded: &'a Folded,
        columns: Vec<Column>,
        intercept: Intercept,
        config: &'a Config,
        watch: &'a Watch,
    ) -> Result<Self, PruneError> {
        let divisor = model.accumulation().divisor();
        // The band of the claim is that of every comparison with the original.
        let (points, band, floor) = match config.claim {
            Claim::Decisions { band } => {
                let band = claimed_band(model, band)?;
                let floor = 2.0 * band.unwrap_or(0.0) * divisor;
                (Points::new(model, band, columns), band, floor)
            }
            Claim::Scores { within } => {
                let slack = free_distance(model, within) * divisor;
                let constants = intercept != Intercept::None;
                (Points::of_scores(model, slack, constants, columns), None, f64::NEG_INFINITY)
            }
        };
        let space = Cells::of(model);
        let best = Candidate {
            file: file.clone(),
            made: None,
            size: size_of(model),
            bytes: file.bytes().unwrap_or(0),
            recalled: false,
        };
        let band = band.unwrap_or(0.0);
        let mut search = Self {
            problem: Problem { file, model, folded, space, config, watch, band, floor },
            intercept,
            points,
            best,
            best_weights: None,
            seconds: Seconds::default(),
            oracle_calls: 0,
            all_cells: false,
            sweep: None,
            allowance: Allowance::for_questions(model, config),
            recent: Vec::new(),
            recalled: false,
            saved: None,
        };
        search.saved = search.saved_best();
        Ok(search)
    }

    /// Is the budget of the run spent?
    pub(crate) fn spent(&self) -> bool {
        spent(self.problem.config)
    }

    /// The decimal logarithm of the number of cells that tell inputs apart.
    pub(crate) fn log10_cells(&self) -> f64 {
        self.problem.space.axis_sizes().iter().map(|&size| f64::from(size).log10()).sum()
    }

    /// What a column costs.
    pub(crate) fn costs(&self) -> Vec<f64> {
        self.points.columns().iter().map(|column| column.cost).collect()
    }

    /// A linear program over those columns that are kept.
    pub(crate) fn program(&self, costs: &[f64], kept: &[bool], rows: Rows) -> WeightProgram {
        let terms = Terms {
            intercept: self.intercept,
            groups: self.problem.model.group_count(),
            // A vote for nothing but a constant is a tree of one leaf.
            intercept_cost: self.problem.file.votes_only().then_some(1.0),
            rows,
            floor: self.problem.floor,
            scores: self.keeps_scores(),
        };
        let config = self.problem.config;
        WeightProgram::new(config.solver, costs, kept, terms, config.journal.clone())
    }

    /// Is the claim about scores?
    pub(crate) fn keeps_scores(&self) -> bool {
        self.problem.config.claim.within().is_some()
    }

    /// Who writes plans as models.
    fn writer(&self) -> Writer<'_, M> {
        Writer {
            file: self.problem.file,
            folded: self.problem.folded,
            columns: self.points.columns(),
            keeps_scores: self.keeps_scores(),
        }
    }

    /// Can all cells be looked at?
    pub(crate) fn sees_all(&self) -> bool {
        self.all_cells || self.sweep.is_some()
    }

    /// What the columns of the best model cost, where it was found by weighing columns.
    pub(crate) fn best_cost(&self) -> f64 {
        let Some((_, plan)) = &self.best.made else { return f64::INFINITY };
        let columns = self.points.columns().iter().zip(&plan.weights);
        columns.filter(|(_, weight)| **weight > 0.0).map(|(column, _)| column.cost).sum()
    }

    /// Solver and oracle take turns until the program's columns are settled.
    pub(crate) fn settle(&mut self, program: &mut WeightProgram, judge: Judge) -> Settled {
        self.settle_in(program, judge, TURNS)
    }

    /// As [`settle`](Self::settle), for a program of all columns: the original is among its answers, so more turns are
    /// worth their time.
    pub(crate) fn settle_all(&mut self, program: &mut WeightProgram, judge: Judge) -> Settled {
        let turns = TURNS.max(TURNS_PER_COLUMN * self.points.columns().len());
        self.settle_in(program, judge, turns)
    }

    fn settle_in(&mut self, program: &mut WeightProgram, judge: Judge, turns: usize) -> Settled {
        for _ in 0..turns {
            if self.spent() {
                return Settled::Open(Why::SearchBudget);
            }
            if self.allowance.is_over() {
                return Settled::Open(Why::Hard);
            }
            let started = Instant::now();
            let config = self.problem.config;
            let stop = || config.cancel.is_cancelled();
            let limits = Limits { deadline: config.deadline, stop: Some(&stop) };
            let solved = program.solve(self.points.demands(), &limits);
            self.seconds.lp += started.elapsed().as_secs_f64();
            let weights = match solved {
                Solved::Weights(weights) => weights,
                Solved::Infeasible => return Settled::Infeasible,
                Solved::Open if self.spent() => return Settled::Open(Why::SearchBudget),
                Solved::Open => return Settled::Open(Why::Hard),
            };
            let (plan, weights) = self.plan(weights);
            if judge == Judge::Points {
                return Settled::Holds(weights);
            }
            // What a sweep refutes need not be written.
            if self.sweep.as_ref().is_some_and(|sweep| sweep.refute(&mut self.points, &weights) > 0) {
                continue;
            }
            if judge == Judge::Cells && self.sees_all() {
                let (candidate, points) = (weights.support(), self.points.rows().len());
                self.problem
                    .watch
                    .update(|status| (status.candidate, status.points) = (Some(candidate), points));
                return Settled::Holds(weights);
            }
            let boxes = if let Judge::Boxes(boxes) = judge { boxes } else { MOST_NODES };
            match self.judge(&plan, &weights, boxes) {
                Judged::Proved => return Settled::Proved(weights),
                Judged::Stopped(StopReason::Nodes) if matches!(judge, Judge::Boxes(_)) => {
                    return Settled::Holds(weights);
                }
                Judged::Refuted(rows) => {
                    let fresh: usize = rows.iter().map(|row| self.points.add(row)).sum();
                    self.recent.extend(rows.iter().take(4).cloned());
                    let excess = self.recent.len().saturating_sub(STARTS);
                    self.recent.drain(..excess);
                    // A known point: the file did not keep what the weights promised.
                    if fresh == 0 && !self.raise(program, &rows, &weights) {
                        return Settled::Open(Why::Hard);
                    }
                }
                Judged::Refused => return Settled::Open(Why::Hard),
                Judged::Stopped(StopReason::Time | StopReason::Cancelled) => {
                    return Settled::Open(Why::SearchBudget);
                }
                Judged::Stopped(_) => return Settled::Open(Why::Hard),
            }
        }
        Settled::Open(Why::Hard)
    }

    fn raise(&mut self, program: &mut WeightProgram, rows: &[Vec<f64>], weights: &Weights) -> bool {
        let mut any = false;
        for row in rows {
            let Some(point) = self.points.place(row) else { continue };
            // The demand that is nearest to failing.
            let margin = |demand: &usize| weights.margin(&self.points.demands()[*demand]);
            let nearest =
                self.points.demands_of(point).min_by(|a, b| margin(a).total_cmp(&margin(b)).then(a.cmp(b)));
            if let Some(demand) = nearest {
                any |= program.raise(self.points.demands(), demand);
            }
        }
        any
    }

    /// The budget of the run, for whoever looks at it by themselves.
    pub(crate) fn budget(&self) -> SearchBudget {
        SearchBudget {
            deadline: self.problem.config.deadline,
            nodes: None,
            memory: Some(MOST_MEMORY),
            cancel: self.problem.config.cancel.clone(),
        }
    }

    /// Has a plan that was made otherwise proved; true if it was.
    pub(crate) fn prove(&mut self, plan: &Plan) -> bool {
        let weights = Weights { columns: plan.weights.clone(), groups: Vec::new(), scale: None };
        let Ok(draft) = self.writer().draft(plan) else { return false };
        match self.ask(&draft.model, Vec::new(), MOST_NODES) {
            Judged::Proved => self.keep(&draft, plan, Some(&weights)).is_ok(),
            Judged::Refuted(rows) => {
                rows.iter().for_each(|row| {
                    self.points.add(row);
                });
                false
            }
            Judged::Refused | Judged::Stopped(_) => false,
        }
    }

    /// The file of the folded model, which nobody has judged.
    pub(crate) fn write_folded(&self) -> Result<M, EditError> {
        let draft = self.writer().draft(&self.folded_plan())?;
        self.problem.file.edit(&draft.edit)
    }

    /// The file with these weights, which nobody has judged.
    pub(crate) fn write(&self, weights: Weights) -> Result<M, EditError> {
        let draft = self.writer().draft(&self.plan(weights).0)?;
        self.problem.file.edit(&draft.edit)
    }

    /// Has a plan judged; a proved one that is the smallest so far is kept.
    fn judge(&mut self, plan: &Plan, weights: &Weights, nodes: u64) -> Judged {
        let Ok(draft) = self.writer().draft(plan) else { return Judged::Refused };
        let starts = self.nearest_points(weights);
        match self.ask(&draft.model, starts, nodes) {
            Judged::Proved if self.keep(&draft, plan, Some(weights)).is_err() => Judged::Refused,
            judged => judged,
        }
    }

    /// Has the folded model proved and keeps it.
    pub(crate) fn judge_folded(&mut self) -> Result<(), EditError> {
        let plan = self.folded_plan();
        let draft = self.writer().draft(&plan)?;
        match self.ask(&draft.model, Vec::new(), MOST_NODES) {
            Judged::Proved => {
                // Elimination begins here where scores are kept; decisions have other weights to begin with.
                let weights = self.keeps_scores().then(|| self.weights_of_one());
                self.keep(&draft, &plan, weights.as_ref())
            }
            _ => Ok(()),
        }
    }

    /// Writes a proved model and keeps it, if it is smaller than the best.
    fn keep(&mut self, draft: &Draft, plan: &Plan, weights: Option<&Weights>) -> Result<(), EditError> {
        let size = size_of(&draft.model);
        // Bytes are not known before the file is.
        if self.problem.config.objective == Objective::Bytes
            || self.rank(size, 0) < self.rank(self.best.size, 0)
        {
            let file = self.problem.file.edit(&draft.edit)?;
            if *file.ensemble() != draft.model {
                return Err(EditError::ReadBack { reason: "another model was written".to_owned() });
            }
            let bytes = file.bytes().unwrap_or(0);
            if self.rank(size, bytes) < self.rank(self.best.size, self.best.bytes) {
                let made = Some((draft.edit.clone(), plan.clone()));
                self.best = Candidate { file, made, size, bytes, recalled: self.recalled };
                self.problem.watch.update(|status| status.best = Some(size.trees));
                self.save_best();
            }
        }
        if let Some(weights) = weights
            && self.best_weights.as_ref().is_none_or(|best| weights.support() <= best.support())
        {
            self.best_weights = Some(weights.clone());
        }
        Ok(())
    }

    /// What is compared first and second between two models.
    fn rank(&self, size: Size, bytes: u64) -> (u64, u64) {
        let (trees, leaves) = (size.trees as u64, size.leaves as u64);
        match self.problem.config.objective {
            Objective::Trees => (trees, leaves),
            Objective::Leaves => (leaves, trees),
            Objective::Bytes => (bytes, trees),
        }
    }

    /// Says which pass has begun.
    pub(crate) fn begin(&self, pass: Pass) {
        self.problem.watch.update(|status| status.pass = pass);
    }
}

impl<'a, M: Editable> minimum::Settle<'a> for Search<'a, M> {
    fn settle(&mut self, kept: &[bool]) -> minimum::Settled {
        let costs = self.costs();
        let mut program = self.program(&costs, kept, Rows::Lead);
        match self.settle(&mut program, Judge::Proof) {
            Settled::Proved(_) => minimum::Settled::Proved,
            Settled::Infeasible => minimum::Settled::Infeasible,
            Settled::Holds(_) | Settled::Open(_) => minimum::Settled::Open,
        }
    }

    fn points(&self) -> &Points<'a> {
        &self.points
    }
}

/// The band of every claim about a model, as a score; `None` for exact arithmetic.
pub(crate) fn claimed_band(model: &Ensemble, band: Band) -> Result<Option<f64>, CompareError> {
    let outline = Outline::new(model, model, band)?;
    Ok((band != Band::Exact).then(|| outline.band()))
}

/// How far a candidate's exact scores may be from the original's where the libraries' may be this far: both round, and what is
/// written is rounded too. Zero or less where rounding may take all of it.
pub(crate) fn free_distance(model: &Ensemble, within: f64) -> f64 {
    let rounding = model.rounding().map_or(f64::INFINITY, |rounding| rounding.largest());
    within * (1.0 - WRITTEN) - 2.0 * rounding
}

/// Is the budget spent?
pub(crate) fn spent(config: &Config) -> bool {
    config.cancel.is_cancelled() || config.deadline.is_some_and(|deadline| Instant::now() >= deadline)
}

/// The size of a model. Trees that add nothing, which some formats need to fill a round, do not count.
pub(crate) fn size_of(model: &Ensemble) -> Size {
    let trees = || model.trees().iter().filter(|tree| !tree.is_empty());
    Size { trees: trees().count(), leaves: trees().map(|tree| tree.leaf_count()).sum() }
}

#[cfg(test)]
mod tests;
