//! The loop of solver and oracle: the solver finds weights that fit the points, the writer makes a
//! model file of the weights, and the oracle proves that file or returns new points.
//!
//! A file counts as proved only if the oracle has compared the model that reads back from it with
//! the original. Everything else (solver, points, weights) only chooses which files are worth
//! asking about, so a mistake there cannot make a wrong answer.

pub(crate) mod allowance;
mod plans;
mod questions;
pub(crate) mod weight_program;

use std::time::{Duration, Instant};

use secateur_formats::{Edit, EditError};
use secateur_lp::Limits;
use secateur_model::Ensemble;
use secateur_oracle::{Band, Cells, Claim, CompareError, Outline, SearchBudget, StopReason};

use crate::candidate::column::{Column, Intercept};
use crate::candidate::fold::Folded;
use crate::candidate::plan::{Draft, Editable, Plan, Writer};
use crate::clock::{Clock, Task, Time};
use crate::config::{Config, Objective};
use crate::outcome::{PruneError, Size};
use crate::passes::minimum;
use crate::points::all_cells::Sweep;
use crate::points::point::Points;
use crate::search::allowance::Allowance;
use crate::search::weight_program::{Rows, Solved, Terms, WeightProgram, Weights};
use crate::watch::{Pass, Watch};

/// Boxes that one question may cost; a harder question stays open. This many boxes take about 1.5
/// seconds. The search does not split small boxes to the end, so one of its boxes does the work of
/// about fifty boxes of a search that only splits.
const MOST_NODES: u64 = 100_000;
/// Bytes of memory that one question may take.
const MOST_MEMORY: u64 = 1 << 30;
/// How many of the points nearest to failing, and of the inputs of recent refusals, the oracle's
/// local search starts from.
const STARTS: usize = 24;
/// Weights below this share of the largest weight count as zero.
const TINY: f64 = 1e-9;
/// The share of the allowed distance of scores that is reserved for the rounding of the numbers
/// written to the file.
const WRITTEN: f64 = 1e-4;
/// Turns of solver and oracle for one support (the columns whose weight is not zero).
const TURNS: usize = 200;
/// Turns for each column of a program that is known to have an answer: forests of stumps need
/// several counterexamples for each column.
const TURNS_PER_COLUMN: usize = 10;

/// A model that is proved to keep what the claim says.
#[derive(Clone, Debug)]
pub(crate) struct Candidate<M> {
    pub(crate) file: M,
    /// The edit that made it and the plan with its weights; `None` for the original as it is.
    pub(crate) made: Option<(Edit, Plan)>,
    pub(crate) size: Size,
    pub(crate) bytes: u64,
}

/// How a choice of columns is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Judge {
    /// By the oracle: the answer is a proof.
    Proof,
    /// By all cells, where all of them can be checked in floating point; otherwise by the oracle.
    /// The cells prove nothing.
    Cells,
    /// By the points alone. This proves nothing.
    Points,
    /// By an oracle that may visit this many boxes; a candidate that it does not refute in these is
    /// accepted. This proves nothing.
    Boxes(u64),
}

/// How the loop of solver and oracle ended for a choice of columns.
#[derive(Clone, Debug)]
pub(crate) enum Settled {
    /// A model with these weights is proved. It is the new best model if it is smaller than the
    /// best.
    Proved(Weights),
    /// A [`Judge`] that proves nothing accepts these weights.
    Holds(Weights),
    /// No weights meet all demands, as the solver found in floating point; not proved.
    Infeasible,
    /// Neither was shown.
    Open(Why),
}

/// Why a choice of columns is not settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// The run's time is over, or the user cancelled it.
    SearchBudget,
    /// The loop gave up: the proof is too hard, a limit of work or turns was reached, the file
    /// could not be written, or solver and file disagree in the last bits.
    Hard,
}

/// What a run has to solve. It does not change during the run.
#[derive(Clone)]
pub(crate) struct Problem<'a, M> {
    pub(crate) file: &'a M,
    /// The file's model, restricted to the domain of the run.
    pub(crate) model: &'a Ensemble,
    pub(crate) folded: &'a Folded,
    /// The cells of the original over its own grid. The missing cell of an axis is left out where
    /// every split sends it the same way as some other cell.
    pub(crate) space: Cells,
    pub(crate) config: &'a Config,
    pub(crate) watch: &'a Watch,
    /// The band of the claim, as a score; zero for exact arithmetic, and where scores are kept.
    pub(crate) band: f64,
    /// Every bound of a demand is at least this.
    floor: f64,
}

/// The problem, and all that the run knows about it.
#[derive(Clone)]
pub(crate) struct Search<'a, M> {
    pub(crate) problem: Problem<'a, M>,
    /// What may become of the intercept. A pass sets it to [`Intercept::None`] to find out what
    /// holds without a constant.
    pub(crate) intercept: Intercept,
    pub(crate) points: Points<'a>,
    pub(crate) best: Candidate<M>,
    /// The proved weights with the smallest support; `None` before any are proved. The folded model
    /// counts only where scores are kept.
    pub(crate) best_weights: Option<Weights>,
    /// Where the time goes, and how much there is.
    pub(crate) clock: Clock,
    pub(crate) time: Time,
    /// How long the oracle's last answer took.
    answered_in: Duration,
    pub(crate) oracle_calls: u64,
    /// Every cell is among the points.
    pub(crate) all_cells: bool,
    /// Tables of all cells, where the space is small enough to sweep.
    pub(crate) sweep: Option<Sweep>,
    /// Work that questions to the oracle may still cost.
    pub(crate) allowance: Allowance,
    /// Inputs of the last refusals; the oracle starts its local search from them.
    recent: Vec<Vec<f64>>,
}

enum Judged {
    Proved,
    /// The inputs on which the oracle refuted the candidate.
    Refuted(Vec<Vec<f64>>),
    Refused,
    Stopped(StopReason),
}

impl<'a, M: Editable> Search<'a, M> {
    /// A run without points, whose best model is the original. `model` is the file's model,
    /// restricted to the domain of the run.
    #[expect(
        clippy::too_many_arguments,
        reason = "each is a part of the run, and the fields have their names"
    )]
    pub(crate) fn new(
        file: &'a M,
        model: &'a Ensemble,
        folded: &'a Folded,
        columns: Vec<Column>,
        intercept: Intercept,
        config: &'a Config,
        time: Time,
        watch: &'a Watch,
    ) -> Result<Self, PruneError> {
        let divisor = model.accumulation().divisor();
        // Every comparison with the original uses this band, whatever the candidate.
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
        };
        let band = band.unwrap_or(0.0);
        Ok(Self {
            problem: Problem { file, model, folded, space, config, watch, band, floor },
            intercept,
            points,
            best,
            best_weights: None,
            clock: Clock::start(Task::Fold),
            time,
            answered_in: Duration::ZERO,
            oracle_calls: 0,
            all_cells: false,
            sweep: None,
            allowance: Allowance::for_questions(model, config.deadline),
            recent: Vec::new(),
        })
    }

    /// Is the run's time over, or was it cancelled?
    pub(crate) fn spent(&self) -> bool {
        is_spent(self.problem.config, self.deadline())
    }

    /// When the search has to end; `None` without a time limit.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.time.deadline(self.clock.bounds())
    }

    /// The decimal logarithm of the number of cells that the search visits.
    pub(crate) fn log10_cells(&self) -> f64 {
        self.problem.space.axis_sizes().iter().map(|&size| f64::from(size).log10()).sum()
    }

    /// The cost of each column.
    pub(crate) fn costs(&self) -> Vec<f64> {
        self.points.columns().iter().map(|column| column.cost).collect()
    }

    /// A linear program over the columns in `kept`.
    pub(crate) fn program(&self, costs: &[f64], kept: &[bool], rows: Rows) -> WeightProgram {
        let terms = Terms {
            intercept: self.intercept,
            groups: self.problem.model.group_count(),
            // Where trees are votes, a constant has to be written as one more tree of a single
            // leaf.
            intercept_cost: self.problem.file.votes_only().then_some(1.0),
            rows,
            floor: self.problem.floor,
            scores: self.keeps_scores(),
        };
        let config = self.problem.config;
        WeightProgram::new(config.solver, costs, kept, terms)
    }

    /// Is the claim about scores?
    pub(crate) fn keeps_scores(&self) -> bool {
        self.problem.config.claim.within().is_some()
    }

    /// The writer that turns plans into models.
    fn writer(&self) -> Writer<'_, M> {
        Writer {
            file: self.problem.file,
            folded: self.problem.folded,
            columns: self.points.columns(),
            keeps_scores: self.keeps_scores(),
        }
    }

    /// Can the run check every cell, among the points or by a sweep?
    pub(crate) fn sees_all(&self) -> bool {
        self.all_cells || self.sweep.is_some()
    }

    /// The total cost of the columns of the best model; infinite where the best is still the
    /// original.
    pub(crate) fn best_cost(&self) -> f64 {
        let Some((_, plan)) = &self.best.made else { return f64::INFINITY };
        let columns = self.points.columns().iter().zip(&plan.weights);
        columns.filter(|(_, weight)| **weight > 0.0).map(|(column, _)| column.cost).sum()
    }

    /// Lets solver and oracle take turns until the program's columns are settled.
    pub(crate) fn settle(&mut self, program: &mut WeightProgram, judge: Judge) -> Settled {
        self.settle_in(program, judge, TURNS)
    }

    /// As [`settle`](Self::settle), for a program with all columns: the original is among its
    /// answers, so it gets more turns.
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
            let config = self.problem.config;
            let stop = || config.cancel.is_cancelled();
            let limits = Limits { deadline: self.deadline(), stop: Some(&stop) };
            let task = self.clock.switch(Task::Lp);
            let solved = program.solve(self.points.demands(), &limits);
            self.clock.switch(task);
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
            // Candidates that the sweep refutes need not be written.
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
                    // All these points were known: rounding in the file broke a demand that the
                    // weights met.
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
            // The demand of this point that is nearest to failing.
            let margin = |demand: &usize| weights.margin(&self.points.demands()[*demand]);
            let nearest =
                self.points.demands_of(point).min_by(|a, b| margin(a).total_cmp(&margin(b)).then(a.cmp(b)));
            if let Some(demand) = nearest {
                any |= program.raise(self.points.demands(), demand);
            }
        }
        any
    }

    /// The run's limits, for passes that watch time and cancellation themselves.
    pub(crate) fn budget(&self) -> SearchBudget {
        SearchBudget {
            deadline: self.deadline(),
            nodes: None,
            memory: Some(MOST_MEMORY),
            cancel: self.problem.config.cancel.clone(),
        }
    }

    /// Asks the oracle to prove a plan that was not made by the linear program; true if it was
    /// proved.
    pub(crate) fn prove(&mut self, plan: &Plan) -> bool {
        let weights = Weights { columns: plan.weights.clone(), groups: Vec::new(), scale: None };
        let Ok(draft) = self.writer().draft(plan) else { return false };
        match self.ask(&draft.model, Vec::new(), MOST_NODES) {
            Judged::Proved => self.keep(&draft, plan, Some(&weights)).is_ok_and(|kept| kept),
            Judged::Refuted(rows) => {
                rows.iter().for_each(|row| {
                    self.points.add(row);
                });
                false
            }
            Judged::Refused | Judged::Stopped(_) => false,
        }
    }

    /// Writes the file of the folded model, without asking the oracle.
    pub(crate) fn write_folded(&self) -> Result<M, EditError> {
        let draft = self.writer().draft(&self.folded_plan())?;
        self.problem.file.edit(&draft.edit)
    }

    /// Writes the file with these weights, without asking the oracle.
    pub(crate) fn write(&self, weights: Weights) -> Result<M, EditError> {
        let draft = self.writer().draft(&self.plan(weights).0)?;
        self.problem.file.edit(&draft.edit)
    }

    /// Asks the oracle about a plan. A proved plan becomes the best if it is smaller than the best.
    fn judge(&mut self, plan: &Plan, weights: &Weights, nodes: u64) -> Judged {
        let Ok(draft) = self.writer().draft(plan) else { return Judged::Refused };
        let starts = self.nearest_points(weights);
        match self.ask(&draft.model, starts, nodes) {
            Judged::Proved => match self.keep(&draft, plan, Some(weights)) {
                Ok(true) => Judged::Proved,
                Ok(false) => Judged::Stopped(StopReason::Time),
                Err(_) => Judged::Refused,
            },
            judged => judged,
        }
    }

    /// Asks the oracle about the folded model, and keeps it if it is proved.
    pub(crate) fn judge_folded(&mut self) -> Result<(), EditError> {
        let plan = self.folded_plan();
        let draft = self.writer().draft(&plan)?;
        match self.ask(&draft.model, Vec::new(), MOST_NODES) {
            Judged::Proved => {
                // Where scores are kept, elimination starts from the folded model; where decisions
                // are kept, it starts from weights of the linear program.
                let weights = self.keeps_scores().then(|| self.weights_of_one());
                self.keep(&draft, &plan, weights.as_ref()).map(|_| ())
            }
            _ => Ok(()),
        }
    }

    /// Keeps a proved model: writes its file if it is smaller than the best, and notes its weights
    /// if they have the smallest support. False if too little time is left to certify the model.
    fn keep(&mut self, draft: &Draft, plan: &Plan, weights: Option<&Weights>) -> Result<bool, EditError> {
        let size = size_of(&draft.model);
        // The number of bytes is known only after the file is written.
        if self.problem.config.objective == Objective::Bytes
            || self.rank(size, 0) < self.rank(self.best.size, 0)
        {
            let file = self.problem.file.edit(&draft.edit)?;
            if *file.ensemble() != draft.model {
                return Err(EditError::ReadBack { reason: "another model was written".to_owned() });
            }
            let bytes = file.bytes().unwrap_or(0);
            if self.rank(size, bytes) < self.rank(self.best.size, self.best.bytes) {
                if !self.time.keep_back(self.answered_in) {
                    return Ok(false);
                }
                let made = Some((draft.edit.clone(), plan.clone()));
                self.best = Candidate { file, made, size, bytes };
                self.problem.watch.update(|status| status.best = Some(size.trees));
            }
        }
        if let Some(weights) = weights
            && self.best_weights.as_ref().is_none_or(|best| weights.support() <= best.support())
        {
            self.best_weights = Some(weights.clone());
        }
        Ok(true)
    }

    /// Lets a copy of this search use its time and its allowance, until the copy is
    /// [adopted](Self::adopt).
    pub(crate) fn lend_to(&self, copy: &mut Search<'_, M>) {
        (copy.allowance, copy.time, copy.clock) = (self.allowance, self.time, self.clock.clone());
        copy.oracle_calls = self.oracle_calls;
    }

    /// Takes what a copy of this search has found: its best model and weights if they are smaller,
    /// its points and what it cost.
    pub(crate) fn adopt(&mut self, copy: Self) {
        self.adopt_cost(&copy);
        for row in copy.points.rows() {
            self.points.add(row);
        }
        if self.rank(copy.best.size, copy.best.bytes) < self.rank(self.best.size, self.best.bytes) {
            self.best = copy.best;
            self.time = copy.time;
        }
        if let Some(weights) = copy.best_weights
            && self.best_weights.as_ref().is_none_or(|best| weights.support() < best.support())
        {
            self.best_weights = Some(weights);
        }
    }

    /// Counts what another search has cost to which time and allowance were [lent](Self::lend_to).
    pub(crate) fn adopt_cost(&mut self, other: &Search<'_, M>) {
        (self.allowance, self.clock) = (other.allowance, other.clock.clone());
        self.oracle_calls = other.oracle_calls;
    }

    /// The sizes by which two models are compared: first and second number.
    fn rank(&self, size: Size, bytes: u64) -> (u64, u64) {
        let (trees, leaves) = (size.trees as u64, size.leaves as u64);
        match self.problem.config.objective {
            Objective::Trees => (trees, leaves),
            Objective::Leaves => (leaves, trees),
            Objective::Bytes => (bytes, trees),
        }
    }

    /// Tells the watch which pass has begun.
    pub(crate) fn begin(&mut self, pass: Pass) {
        self.problem.watch.update(|status| status.pass = pass);
        self.clock.switch(match pass {
            Pass::Start | Pass::Fold | Pass::Certify => Task::Fold,
            Pass::RelevantSplits | Pass::Indispensable | Pass::Minimum => Task::Bounds,
            Pass::Reweight | Pass::Eliminate => Task::Points,
        });
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

/// How far a candidate's exact scores may be from the original's so that the libraries' scores stay
/// `within` of each other: each library rounds its score, and the file rounds the numbers that are
/// written. The result is zero or less where rounding may use up the whole distance.
pub(crate) fn free_distance(model: &Ensemble, within: f64) -> f64 {
    let rounding = model.rounding().map_or(f64::INFINITY, |rounding| rounding.largest());
    within * (1.0 - WRITTEN) - 2.0 * rounding
}

/// Is the time over, or was the run cancelled?
pub(crate) fn is_spent(config: &Config, deadline: Option<Instant>) -> bool {
    config.cancel.is_cancelled() || deadline.is_some_and(|deadline| Instant::now() >= deadline)
}

/// The size of a model. Empty trees, which add nothing and which some formats need to fill a round,
/// do not count.
pub(crate) fn size_of(model: &Ensemble) -> Size {
    let trees = || model.trees().iter().filter(|tree| !tree.is_empty());
    Size { trees: trees().count(), leaves: trees().map(|tree| tree.leaf_count()).sum() }
}

#[cfg(test)]
mod tests;
