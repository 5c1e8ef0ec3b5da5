//! The linear program: weights of columns and intercepts that meet every demand of the points.
//!
//! ```text
//! minimise    sum of cost * weight
//! subject to  (what columns and intercepts add to the lead at the point) >= bound
//!             for every demand
//! ```
//!
//! Where decisions are kept, demands are strict inequalities of a cone: any positive bounds allow
//! the same supports. With the original's own leads as bounds, the original is a solution; the
//! paper uses bounds of one. All answers come from floating point and are hints: they decide
//! nothing.

use secateur_lp::{Growing, Limits, Saved, Sign, Start, Status};

use crate::candidate::column::Intercept;
use crate::points::point::Demand;

/// The bound that the lead must reach at a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rows {
    /// The original's own lead.
    Lead,
    /// One, as in the paper.
    One,
}

/// A solution of the program.
#[derive(Clone, Debug, PartialEq)]
pub struct Weights {
    /// The weight of each column.
    pub columns: Vec<f64>,
    /// The intercept of each group, where the intercept is free; otherwise empty.
    pub groups: Vec<f64>,
    /// The factor of the original's intercept, where the intercept is scaled.
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

    /// How far a demand is from failing; negative if it fails.
    pub(crate) fn margin(&self, demand: &Demand) -> f64 {
        let lead = self.lead(demand);
        // Only demands on scores have a slack. For decisions, any lead above zero meets the demand.
        if demand.slack > 0.0 { lead - demand.lead + demand.slack } else { lead }
    }

    /// How many columns have a positive weight.
    pub(crate) fn support(&self) -> usize {
        self.columns.iter().filter(|&&weight| weight > 0.0).count()
    }
}

/// The solver's answer.
#[derive(Clone, Debug)]
pub(crate) enum Solved {
    /// Weights that meet all demands, as far as floating point tells.
    Weights(Weights),
    /// No weights do, as the solver found in floating point; not proved.
    Infeasible,
    /// The solver has no answer, or a limit was reached.
    Open,
}

/// What a program may choose, and the bounds of its rows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms {
    pub(crate) intercept: Intercept,
    /// How many sums the model has.
    pub(crate) groups: usize,
    /// The cost of a free intercept, where it takes a tree of its own.
    pub(crate) intercept_cost: Option<f64>,
    pub(crate) rows: Rows,
    /// Every bound is at least this.
    pub(crate) floor: f64,
    /// Scores are kept, so the constant of every sum matters. For decisions between several sums,
    /// only their differences matter.
    pub(crate) scores: bool,
}

/// The largest factor by which a demand is raised.
const MOST_RAISED: f64 = 4096.0;
/// Where scores are kept, a demand raised by factor f is tightened by f times this share of its
/// slack.
const RAISED_SHARE: f64 = 1.0 / 4096.0;

/// A linear program that gains a row for each new demand.
pub(crate) struct WeightProgram {
    program: Box<dyn Growing>,
    terms: Terms,
    /// The columns that have an unknown, ascending, out of `total`.
    columns: Vec<usize>,
    total: usize,
    /// The unknowns of each group's intercept with their signs: one, or a positive and a negative
    /// one; none for the group whose intercept is fixed at zero.
    groups: Vec<Vec<(usize, f64)>>,
    scale: Option<usize>,
    unknowns: usize,
    /// The factor by which each demand's bound was raised.
    raised: Vec<f64>,
}

impl WeightProgram {
    /// A program without demands over the columns in `kept`.
    pub(crate) fn new(start: Start, costs: &[f64], kept: &[bool], terms: Terms) -> Self {
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
                        // Only differences between sums count, so the intercept of one group can be
                        // fixed at zero.
                        None if group == 0 && terms.groups > 1 && !terms.scores => Vec::new(),
                        None => vec![(unknown(0.0, Sign::Free), 1.0)],
                    });
                }
            }
        }
        let program = start(&prices, &signs);
        let unknowns = prices.len();
        Self { program, terms, columns, total: costs.len(), groups, scale, unknowns, raised: Vec::new() }
    }

    /// Holds a column at zero.
    pub(crate) fn drop_column(&mut self, column: usize) {
        if let Ok(unknown) = self.columns.binary_search(&column) {
            self.program.hold(unknown);
        }
    }

    /// Saves the basis and which columns are dropped, for [`WeightProgram::restore`].
    pub(crate) fn save(&self) -> Saved {
        self.program.save()
    }

    /// Restores a saved basis and its dropped columns; demands stay.
    pub(crate) fn restore(&mut self, saved: Saved) {
        self.program.restore(saved);
    }

    /// Asks for more than a demand needs, because rounding in the written model broke it; false
    /// where it has been raised as far as is allowed.
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

    /// Solves for weights of the smallest cost that meet all demands.
    pub(crate) fn solve(&mut self, demands: &[Demand], limits: &Limits<'_>) -> Solved {
        // Without unknowns there is nothing to choose: a model without trees and intercept is no
        // candidate.
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

    /// The weights that the unknowns stand for; `None` where a value is negative or not finite.
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
