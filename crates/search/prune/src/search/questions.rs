//! Questions to the oracle: does this candidate decide as the original does, or keep its scores?

use std::time::Instant;

use secateur_model::{CellId, Ensemble};
use secateur_oracle::{
    Band, CompareError, Limit, Options, Outline, ScoreComparison, SearchBudget, StopReason, Undecided,
    Verdict,
};

use crate::candidate::plan::Editable;
use crate::config::Claim;
use crate::search::weight_program::Weights;
use crate::search::{Judged, STARTS, Search, size_of};

/// Counterexamples that one refusal may return, for each pair of classes.
const WANTED: usize = 24;

impl<'a, M: Editable> Search<'a, M> {
    pub(super) fn ask(&mut self, model: &Ensemble, starts: Vec<Vec<f64>>, nodes: u64) -> Judged {
        let started = Instant::now();
        self.oracle_calls += 1;
        let candidate = size_of(model).trees;
        let (calls, points) = (self.oracle_calls, self.points.rows().len());
        self.problem.watch.update(|status| {
            status.round = calls;
            status.points = points;
            status.candidate = Some(candidate);
        });
        let leaves = (size_of(self.problem.model).leaves + size_of(model).leaves) as u64;
        let (judged, boxes) = self.recall_or_compare(model, &starts, self.allowance.boxes(nodes, leaves));
        self.allowance.asked(leaves, boxes);
        self.seconds.oracle += started.elapsed().as_secs_f64();
        judged
    }

    /// The oracle's answer about a model, and the boxes that it visited.
    pub(super) fn compare(&self, model: &Ensemble, starts: &[Vec<f64>], nodes: u64) -> (Judged, u64) {
        match self.problem.config.claim {
            Claim::Decisions { band } => self.compare_decisions(model, band, starts, nodes),
            Claim::Scores { within } => self.compare_scores(model, within, starts, nodes),
        }
    }

    /// The limits of a question, and the cells that its local search starts from.
    fn options(&self, nodes: u64, starts: Vec<Vec<CellId>>) -> Options {
        Options {
            budget: SearchBudget { nodes: Some(nodes), ..self.budget() },
            threads: self.problem.config.threads,
            wanted: WANTED,
            seed: self.problem.config.seed.wrapping_add(self.oracle_calls),
            starts,
            progress: self.problem.watch.search.clone(),
            ..Options::unlimited()
        }
    }

    fn compare_scores(
        &self,
        model: &Ensemble,
        within: f64,
        starts: &[Vec<f64>],
        nodes: u64,
    ) -> (Judged, u64) {
        let comparison = match ScoreComparison::new(self.problem.model, model, &self.budget()) {
            Ok(comparison) => comparison,
            Err(CompareError::Stopped(reason)) => return (Judged::Stopped(reason), 0),
            // Sums that may overflow: such a model is not kept.
            Err(_) => return (Judged::Stopped(StopReason::Nodes), 0),
        };
        let starts = starts.iter().filter_map(|row| comparison.layout().cells_of(row)).collect();
        let (limit, nodes, rows) = comparison.within_for_many(within, &self.options(nodes, starts));
        let judged = match limit {
            Limit::Within => Judged::Proved,
            Limit::Exceeded(_) => Judged::Refuted(rows),
            Limit::OrderOfAddition(row) => Judged::Refuted(vec![row]),
            Limit::Stopped(reason) => Judged::Stopped(reason),
        };
        (judged, nodes)
    }

    fn compare_decisions(
        &self,
        model: &Ensemble,
        band: Band,
        starts: &[Vec<f64>],
        nodes: u64,
    ) -> (Judged, u64) {
        let outline = match Outline::new(self.problem.model, model, band) {
            Ok(outline) => outline,
            // Sums that may overflow: such a model is not kept.
            Err(_) => return (Judged::Stopped(StopReason::Nodes), 0),
        };
        if outline.is_same_model() {
            return (Judged::Proved, 0);
        }
        let comparison = match outline.lay_out(&self.budget()) {
            Ok(comparison) => comparison,
            Err(CompareError::Stopped(reason)) => return (Judged::Stopped(reason), 0),
            Err(_) => return (Judged::Stopped(StopReason::Nodes), 0),
        };
        let starts = starts.iter().filter_map(|row| comparison.layout().cells_of(row)).collect();
        let (compared, rows) = comparison.run_for_many(&self.options(nodes, starts));
        let judged = match compared.verdict {
            Verdict::Identical => Judged::Proved,
            Verdict::Different(_) => Judged::Refuted(rows),
            Verdict::Undecided(Undecided::OrderOfAddition(row)) => Judged::Refuted(vec![row]),
            Verdict::Undecided(Undecided::Stopped(reason)) => Judged::Stopped(reason),
        };
        (judged, compared.nodes)
    }

    /// The points where the weights are nearest to failing a demand, and the inputs of the last
    /// refusals.
    pub(super) fn nearest_points(&self, weights: &Weights) -> Vec<Vec<f64>> {
        let demands = self.points.demands().iter();
        let mut near: Vec<(f64, usize)> =
            demands.map(|demand| (weights.margin(demand), demand.point)).collect();
        near.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        near.dedup_by_key(|(_, point)| *point);
        let near = near.iter().take(STARTS).map(|&(_, point)| self.points.rows()[point].clone());
        self.recent.iter().cloned().chain(near).collect()
    }
}
