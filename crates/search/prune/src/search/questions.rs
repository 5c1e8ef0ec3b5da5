//! Questions to the oracle: does this candidate decide as the original does, or keep its scores?

use std::time::Instant;

use secateur_model::{CellId, Ensemble};
use secateur_oracle::{Claimed, CompareError, Judgement, Layout, Options, SearchBudget, StopReason};

use crate::candidate::plan::Editable;
use crate::search::weight_program::Weights;
use crate::search::{Judged, STARTS, Search, size_of};

/// Counterexamples that one refusal may return, for each claimed of classes.
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
        let (judged, boxes) = self.compare(model, &starts, self.allowance.boxes(nodes, leaves));
        self.allowance.asked(leaves, boxes);
        self.seconds.oracle += started.elapsed().as_secs_f64();
        judged
    }

    /// The oracle's answer about a model, and the boxes that it visited.
    fn compare(&self, model: &Ensemble, starts: &[Vec<f64>], nodes: u64) -> (Judged, u64) {
        let claimed = match Claimed::new(self.problem.model, model, self.problem.config.claim, &self.budget())
        {
            Ok(claimed) => claimed,
            Err(CompareError::Stopped(reason)) => return (Judged::Stopped(reason), 0),
            // Sums that may overflow: such a model is not kept.
            Err(_) => return (Judged::Stopped(StopReason::Nodes), 0),
        };
        let starts = |layout: &Layout| starts.iter().filter_map(|row| layout.cells_of(row)).collect();
        let starts = claimed.layout().map_or_else(Vec::new, starts);
        let (judgement, nodes) = claimed.judge(&self.options(nodes, starts));
        let judged = match judgement {
            Judgement::Proved => Judged::Proved,
            Judgement::Refuted(rows) => Judged::Refuted(rows),
            Judgement::Stopped(reason) => Judged::Stopped(reason),
        };
        (judged, nodes)
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
