//! The scores of the two libraries on an input, in their own arithmetic.

use std::sync::Mutex;

use secateur_model::{CellId, Exact, FeatureId, LeafId, Predictor};

use super::{ScoreComparison, ScorePoint, divisor, exact, quotient_up};
use crate::stop::SearchBudget;

/// Evaluates inputs as the libraries do.
pub(super) struct Judge<'a> {
    comparison: &'a ScoreComparison<'a>,
    predictors: [Predictor<'a>; 2],
}

impl<'a> Judge<'a> {
    pub(super) fn new(comparison: &'a ScoreComparison<'a>) -> Self {
        Self { comparison, predictors: comparison.labels.models().map(Predictor::new) }
    }

    fn scores(&self, row: &[f64]) -> [Vec<f64>; 2] {
        [0, 1].map(|model: usize| {
            self.predictors[model].decided_scores(row).expect("a witness is in the domain of both models")
        })
    }

    pub(super) fn point(&self, cells: &[CellId], output: usize) -> ScorePoint {
        let row = self.comparison.layout.grid().witness(cells);
        let scores = self.scores(&row);
        let [ours, theirs] = self.comparison.outputs[output].groups;
        let scores = [scores[0][ours], scores[1][theirs]];
        let distance = (&exact(scores[1]) - &exact(scores[0])).abs().to_f64_down();
        ScorePoint { row, output, scores, distance }
    }

    /// Are the scores of a cell farther apart than the limit? If only last bits that vary could
    /// make a difference, its input is noted in `open`.
    pub(super) fn exceeds(
        &self,
        cells: &[CellId],
        output: usize,
        limit: f64,
        open: &Mutex<Option<Vec<f64>>>,
    ) -> bool {
        if !self.comparison.holds(cells) {
            return false;
        }
        let most = exact(limit);
        let point = self.point(cells, output);
        let beyond = (&exact(point.scores[1]) - &exact(point.scores[0])).abs() > most;
        let varies = self.comparison.labels.models().iter().any(|model| model.scores_vary());
        if !beyond && varies && self.may_exceed(&point.row, output, &most) {
            open.lock().expect("no thread panics while it holds the lock").get_or_insert(point.row);
        }
        beyond
    }

    /// May the scores of this input be farther apart than the limit, because of last bits that the
    /// files do not fix?
    fn may_exceed(&self, row: &[f64], output: usize, most: &Exact) -> bool {
        let models = self.comparison.labels.models();
        let both = &divisor(models[0]) * &divisor(models[1]);
        self.apart_at_most(row, output).is_none_or(|apart| apart > most * &both)
    }

    /// A bound on the distance of an input's scores, times both divisors, for all values of the
    /// last bits that the files do not fix; the exact distance if the files fix all bits. `None` if
    /// no bound is known.
    fn apart_at_most(&self, row: &[f64], output: usize) -> Option<Exact> {
        let models = self.comparison.labels.models();
        let mut rounding = Exact::zero();
        // Each score times both divisors.
        let scores = [0, 1].map(|model: usize| {
            let (own, other) = (divisor(models[model]), divisor(models[1 - model]));
            let group = self.comparison.outputs[output].groups[model];
            if !models[model].scores_vary() {
                let score = self.predictors[model].decided_scores(row).ok()?;
                return Some(&(&Exact::from_f64(score[group])? * &own) * &other);
            }
            let read: Option<Vec<f64>> = row
                .iter()
                .enumerate()
                .map(|(at, &value)| models[model].read(FeatureId::new(at), value))
                .collect();
            let leaves: Vec<LeafId> = models[model].leaves(&read?).collect();
            let error = Exact::from_f64(models[model].rounding_at(group, &leaves)?)?;
            rounding = &rounding + &(&(&error * &own) * &other);
            Some(&models[model].exact_sums(leaves)[group] * &other)
        });
        let [Some(first), Some(second)] = scores else { return None };
        Some(&(&second - &first).abs() + &rounding)
    }

    /// Evaluates all cells and returns a distance that no two scores exceed. Stores the input with
    /// the most distant scores in `best`. `None` if the time ends first, or if no bound is known
    /// for some cell.
    pub(super) fn look_at_all(&self, best: &mut ScorePoint, budget: &SearchBudget) -> Option<f64> {
        let models = self.comparison.labels.models();
        let varies = models.iter().any(|model| model.scores_vary());
        let sizes = self.comparison.layout.axis_sizes();
        let mut cells = vec![CellId(0); sizes.len()];
        let (mut farthest, mut highest) = (Exact::zero(), 0.0);
        loop {
            if budget.over().is_some() {
                return None;
            }
            if self.comparison.holds(&cells) {
                let row = self.comparison.layout.grid().witness(&cells);
                let scores = self.scores(&row);
                for output in 0..self.comparison.outputs.len() {
                    let [ours, theirs] = self.comparison.outputs[output].groups;
                    let scores = [scores[0][ours], scores[1][theirs]];
                    // A difference that rounds to less than another is smaller, so it needs no
                    // exact comparison.
                    let near = (scores[1] - scores[0]).abs();
                    if near >= highest {
                        highest = near;
                        let point = self.point(&cells, output);
                        if point.distance > best.distance {
                            *best = point;
                        }
                        if !varies {
                            farthest = farthest.max((&exact(scores[1]) - &exact(scores[0])).abs());
                        }
                    }
                    if varies {
                        farthest = farthest.max(self.apart_at_most(&row, output)?);
                    }
                }
            }
            // Advance to the next cell: increment the first axis that is not at its end, and reset
            // those before it.
            let Some(axis) = (0..sizes.len()).find(|&axis| cells[axis].0 + 1 < sizes[axis]) else { break };
            cells[..axis].fill(CellId(0));
            cells[axis].0 += 1;
        }
        if !varies {
            // Adding zero turns a negative zero into the positive one that a claim needs.
            return Some(farthest.to_f64_up() + 0.0);
        }
        Some(quotient_up(&farthest, &(&divisor(models[0]) * &divisor(models[1]))))
    }

    /// Stores the input of a cell in `best` if its scores are farther apart than those stored
    /// there.
    pub(super) fn see(&self, cells: &[CellId], best: &mut Option<ScorePoint>) {
        for output in 0..self.comparison.outputs.len() {
            let point = self.point(cells, output);
            if best.as_ref().is_none_or(|best| point.distance > best.distance) {
                *best = Some(point);
            }
        }
    }
}
