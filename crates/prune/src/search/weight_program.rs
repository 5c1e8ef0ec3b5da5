//! The linear program: weights of columns and intercepts that meet every demand of the points.
//!
//! minimise   sum of cost * weight
//! subject to (what columns and intercepts add to the lead at the point) >= bound   for every demand
//!
//! Demands are strict inequalities of a cone, so any positive bounds ask for the same supports; bounds of
//! the original's own leads have the original as a solution, bounds of one are the paper's. All answers are
//! hints: floats decide nothing.

use std::sync::Arc;

use secateur_lp::{Limits, LinearSolver, Sign, Status};

use crate::candidate::column::Intercept;
use crate::journal::Journal;
use crate::points::point::Demand;
use crate::search::recalling::{Mark, Solver};

/// What the lead must reach at a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rows {
    /// The original's own lead.
    Lead,
    /// One, as in the paper.
    One,
}

/// A solution.
#[derive(Clone, Debug, PartialEq)]
pub struct Weights {
    /// For each column.
    pub columns: Vec<f64>,
    /// For each group, where the intercept is free; else empty.
    pub groups: Vec<f64>,
    /// The original's intercept counts this often, where it is scaled.
    pub scale: Option<f64>,
}

impl Weights {
    /// The lead that the weights give at a demand's point.
    pub(crate) fn lead(&self, demand: &Demand) -> f64 {
        let trees: f64 = demand.columns.iter().zip(&self.columns).map(|(value, weight)| value * weight).sum();
        let free: f64 = if self.groups.is_empty() {
            0.0
        } else {
            demand.groups.iter().map(|&(group, sign)| self.groups[group] * sign as f64).sum()
        };
        trees + free + self.scale.map_or(0.0, |scale| scale * demand.intercept)
    }

    /// How far a demand is from failing.
    pub(crate) fn margin(&self, demand: &Demand) -> f64 {
        let lead = self.lead(demand);
        // Where scores are kept; else every lead above zero does.
        if demand.slack > 0.0 { lead - demand.lead + demand.slack } else { lead }
    }

    /// How many columns have a weight.
    pub(crate) fn support(&self) -> usize {
        self.columns.iter().filter(|&&weight| weight > 0.0).count()
    }
}

/// What a solve says.
#[derive(Clone, Debug)]
pub(crate) enum Solved {
    /// Weights that meet all demands, as far as floats tell.
    Weights(Weights),
    /// There are none, by a float's word.
    Infeasible,
    /// No answer.
    Open,
}

/// What is free to choose about a program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms {
    pub(crate) intercept: Intercept,
    /// Sums of the model.
    pub(crate) groups: usize,
    /// What a free intercept costs where it takes a tree.
    pub(crate) intercept_cost: Option<f64>,
    pub(crate) rows: Rows,
    /// Bounds are at least this.
    pub(crate) floor: f64,
    /// Scores are kept, so that the constant of every sum counts; where decisions are, only differences of scores do.
    pub(crate) scores: bool,
}

/// A demand is raised up to this factor.
const MOST_RAISED: f64 = 4096.0;
/// Where scores are kept, a factor of one takes this share of what is allowed.
const RAISED_SHARE: f64 = 1.0 / 4096.0;

/// A linear program that grows with the points.
pub(crate) struct WeightProgram {
    program: Solver,
    terms: Terms,
    /// The columns that have an unknown, ascending, of `total`.
    columns: Vec<usize>,
    total: usize,
    /// The unknowns of each group's intercept: one, or a positive and a negative one; none for a group
    /// that others are measured against.
    groups: Vec<Vec<(usize, f64)>>,
    scale: Option<usize>,
    unknowns: usize,
    /// For each demand what its bound is multiplied by.
    raised: Vec<f64>,
}

impl WeightProgram {
    /// A program without demands over those columns that are kept, whose answers the journal may know.
    pub(crate) fn new(
        solver: LinearSolver,
        costs: &[f64],
        kept: &[bool],
        terms: Terms,
        journal: Option<Arc<Journal>>,
    ) -> Self {
        let columns: Vec<usize> = (0..costs.len()).filter(|&column| kept[column]).collect();
        let mut prices: Vec<f64> = columns.iter().map(|&column| costs[column]).collect();
        let mut signs = vec![Sign::Nonnegative; columns.len()];
        let mut unknown = |cost: f64, sign: Sign| {
            prices.push(cost);
            signs.push(sign);
            prices.len() - 1
        };
        let mut groups = Vec::new();
        let mut scale = None;
        match terms.intercept {
            Intercept::None => {}
            Intercept::Scaled => scale = Some(unknown(0.0, Sign::Nonnegative)),
            Intercept::Free => {
                for group in 0..terms.groups {
                    groups.push(match terms.intercept_cost {
                        Some(cost) => vec![
                            (unknown(cost, Sign::Nonnegative), 1.0),
                            (unknown(cost, Sign::Nonnegative), -1.0),
                        ],
                        // Only differences of scores count, so one of several intercepts is zero.
                        None if group == 0 && terms.groups > 1 && !terms.scores => Vec::new(),
                        None => vec![(unknown(0.0, Sign::Free), 1.0)],
                    });
                }
            }
        }
        let program = Solver::start(solver, &prices, &signs, journal);
        let unknowns = prices.len();
        Self { program, terms, columns, total: costs.len(), groups, scale, unknowns, raised: Vec::new() }
    }

    /// Holds a column at zero.
    pub(crate) fn drop_column(&mut self, column: usize) {
        if let Ok(unknown) = self.columns.binary_search(&column) {
            self.program.hold(unknown);
        }
    }

    /// What [`WeightProgram::restore`] comes back to: the basis and the columns that are dropped.
    pub(crate) fn save(&mut self) -> Mark {
        self.program.save()
    }

    /// Back to a saved basis and its columns; demands stay.
    pub(crate) fn restore(&mut self, mark: Mark) {
        self.program.restore(mark);
    }

    /// Asks more of a demand, because the written model did not keep what the weights promised; false
    /// where that has been done too often.
    pub(crate) fn raise(&mut self, demands: &[Demand], index: usize) -> bool {
        if index >= self.raised.len() || self.raised[index] >= MOST_RAISED {
            return false;
        }
        self.raised[index] *= 4.0;
        let (demand, raised) = (&demands[index], self.raised[index]);
        let bound = match demand.slack > 0.0 {
            true => self.bound(demand) + demand.slack * (raised * RAISED_SHARE).min(1.0),
            false => self.bound(demand) * raised,
        };
        self.program.set_bound(index, bound);
        true
    }

    /// Weights that meet all demands, with the costs as small as they can be.
    pub(crate) fn solve(&mut self, demands: &[Demand], limits: &Limits<'_>) -> Solved {
        // Nothing to choose is nothing to solve: a model without trees and intercept is no candidate.
        if self.unknowns == 0 {
            return Solved::Open;
        }
        for demand in &demands[self.raised.len()..] {
            self.program.add_row(&self.coefficients(demand), self.bound(demand));
            self.raised.push(1.0);
        }
        match self.program.solve(limits) {
            Status::Optimal(solution) => self.weights(&solution.values).map_or(Solved::Open, Solved::Weights),
            Status::Infeasible => Solved::Infeasible,
            _ => Solved::Open,
        }
    }

    fn bound(&self, demand: &Demand) -> f64 {
        match self.terms.rows {
            Rows::Lead => (demand.lead - demand.slack).max(self.terms.floor),
            Rows::One => 1.0,
        }
    }

    fn coefficients(&self, demand: &Demand) -> Vec<f64> {
        let mut coefficients: Vec<f64> = self.columns.iter().map(|&column| demand.columns[column]).collect();
        coefficients.resize(self.unknowns, 0.0);
        if !self.groups.is_empty() {
            for &(group, sign) in &demand.groups {
                for &(unknown, own) in &self.groups[group] {
                    coefficients[unknown] += own * sign as f64;
                }
            }
        }
        if let Some(scale) = self.scale {
            coefficients[scale] = demand.intercept;
        }
        coefficients
    }

    /// What the unknowns stand for; nothing where they are no weights.
    fn weights(&self, values: &[f64]) -> Option<Weights> {
        let (weights, _) = values.split_at_checked(self.columns.len())?;
        let fine =
            weights.iter().all(|&weight| weight >= 0.0) && values.iter().all(|value| value.is_finite());
        if values.len() != self.unknowns || !fine {
            return None;
        }
        let mut columns = vec![0.0; self.total];
        for (&column, &weight) in self.columns.iter().zip(weights) {
            columns[column] = weight;
        }
        let intercept = |unknowns: &Vec<(usize, f64)>| {
            unknowns.iter().map(|&(unknown, sign)| values[unknown] * sign).sum()
        };
        Some(Weights {
            columns,
            groups: self.groups.iter().map(intercept).collect(),
            scale: self.scale.map(|unknown| values[unknown]),
        })
    }
}
