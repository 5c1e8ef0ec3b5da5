//! The linear program: weights of columns and intercepts that meet every demand of the points.
//!
//! minimise   sum of cost * weight
//! subject to (what columns and intercepts add to the lead at the point) >= bound   for every demand
//!
//! Demands are strict inequalities of a cone, so any positive bounds ask for the same supports; bounds of
//! the original's own leads have the original as a solution, bounds of one are the paper's. Only demands
//! that a solution violates become rows. All answers are hints: floats decide nothing.

use std::time::Instant;

use secateur_lp::{BackEnd, Column as Unknown, Limits, Problem, Row, Solver, Status};

use crate::column::Intercept;
use crate::point::Demand;

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
pub(crate) struct Weights {
    /// For each column.
    pub(crate) columns: Vec<f64>,
    /// For each group, where the intercept is free; else empty.
    pub(crate) groups: Vec<f64>,
    /// The original's intercept counts this often, where it is scaled.
    pub(crate) scale: Option<f64>,
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

/// Rows that are added after one solve.
const MOST_ROWS: usize = 40;
/// A demand is violated by more than this share of its largest term.
const VIOLATED: f64 = 4e-9;

/// A linear program that grows with the points.
pub(crate) struct Master {
    solver: Box<dyn Solver>,
    back_end: BackEnd,
    problem: Problem,
    columns: usize,
    /// The unknowns of each group's intercept: one, or a positive and a negative one; none for a group
    /// that others are measured against.
    groups: Vec<Vec<(usize, f64)>>,
    scale: Option<usize>,
    rows: Rows,
    /// Bounds are at least this.
    floor: f64,
    /// Demands that are rows.
    active: Vec<bool>,
    /// For each demand what its bound is multiplied by.
    raised: Vec<f64>,
    /// Columns that are held at zero.
    gone: Vec<bool>,
}

impl Master {
    /// A program without rows. `intercept_cost` is what a free intercept costs where it takes a tree.
    pub(crate) fn new(
        back_end: BackEnd,
        costs: &[f64],
        intercept: Intercept,
        groups: usize,
        intercept_cost: Option<f64>,
        rows: Rows,
        floor: f64,
    ) -> Self {
        let mut problem = Problem::new();
        let free = |cost: f64, low: f64| Unknown::real(cost, low, f64::INFINITY);
        for &cost in costs {
            problem.column(free(cost, 0.0));
        }
        let mut own = Vec::new();
        let mut scale = None;
        match intercept {
            Intercept::None => {}
            Intercept::Scaled => scale = Some(problem.column(free(0.0, 0.0))),
            Intercept::Free => {
                for group in 0..groups {
                    own.push(match intercept_cost {
                        Some(cost) => {
                            vec![(problem.column(free(cost, 0.0)), 1.0), (problem.column(free(cost, 0.0)), -1.0)]
                        }
                        // Only differences of scores count, so one of several intercepts is zero.
                        None if group == 0 && groups > 1 => Vec::new(),
                        None => vec![(problem.column(free(0.0, f64::NEG_INFINITY)), 1.0)],
                    });
                }
            }
        }
        Self {
            solver: back_end.start(problem.clone()),
            back_end,
            problem,
            columns: costs.len(),
            groups: own,
            scale,
            rows,
            floor,
            active: Vec::new(),
            raised: Vec::new(),
            gone: vec![false; costs.len()],
        }
    }

    /// Other costs of the columns.
    pub(crate) fn set_costs(&mut self, costs: &[f64]) {
        for (column, &cost) in self.problem.columns.iter_mut().zip(costs) {
            column.cost = cost;
        }
        let all: Vec<f64> = self.problem.columns.iter().map(|column| column.cost).collect();
        self.solver.set_costs(&all);
    }

    /// Holds a column at zero.
    pub(crate) fn drop_column(&mut self, column: usize) {
        if !self.gone[column] {
            self.gone[column] = true;
            self.solver.fix(column, 0.0);
        }
    }

    /// Releases a column.
    pub(crate) fn restore_column(&mut self, column: usize) {
        if self.gone[column] {
            self.gone[column] = false;
            self.solver.unfix(column);
        }
    }

    /// The demands that are rows now.
    pub(crate) fn active(&self) -> impl Iterator<Item = usize> + '_ {
        self.active.iter().enumerate().filter(|(_, active)| **active).map(|(index, _)| index)
    }

    /// Asks more of a demand, because the written model did not keep what the weights promised; false
    /// where that has been done too often.
    pub(crate) fn raise(&mut self, demand: usize) -> bool {
        self.grow(demand + 1);
        self.raised[demand] *= 4.0;
        self.active[demand] = false;
        self.raised[demand] <= 4096.0
    }

    /// Weights that meet all demands, with the costs as small as they can be.
    pub(crate) fn solve(&mut self, demands: &[Demand], limits: &Limits<'_>) -> Solved {
        self.grow(demands.len());
        let mut retried = false;
        loop {
            match self.solver.solve(limits) {
                Status::Optimal(solution) => {
                    let weights = self.weights(&solution.values);
                    let violated = self.violated(demands, &weights);
                    if violated.is_empty() {
                        return Solved::Weights(weights);
                    }
                    for demand in violated {
                        self.add(demand, &demands[demand]);
                    }
                }
                Status::Infeasible => return Solved::Infeasible,
                Status::Unknown(_) | Status::Unbounded if !retried => {
                    retried = true;
                    self.restart();
                }
                _ => return Solved::Open,
            }
        }
    }

    fn grow(&mut self, demands: usize) {
        if self.active.len() < demands {
            self.active.resize(demands, false);
            self.raised.resize(demands, 1.0);
        }
    }

    fn bound(&self, index: usize, demand: &Demand) -> f64 {
        let bound = match self.rows {
            Rows::Lead => demand.lead.max(self.floor),
            Rows::One => 1.0,
        };
        bound * self.raised[index]
    }

    fn add(&mut self, index: usize, demand: &Demand) {
        let mut terms: Vec<(usize, f64)> = demand.columns.iter().copied().enumerate().collect();
        if !self.groups.is_empty() {
            for &(group, sign) in &demand.groups {
                terms.extend(self.groups[group].iter().map(|&(unknown, own)| (unknown, own * sign as f64)));
            }
        }
        if let Some(scale) = self.scale {
            terms.push((scale, demand.intercept));
        }
        let row = Row::at_least(terms, self.bound(index, demand));
        self.problem.row(row.clone());
        self.solver.add_row(row);
        self.active[index] = true;
    }

    /// Starts over, cold.
    fn restart(&mut self) {
        self.solver = self.back_end.start(self.problem.clone());
        for (column, _) in self.gone.iter().enumerate().filter(|(_, gone)| **gone) {
            self.solver.fix(column, 0.0);
        }
    }

    fn weights(&self, values: &[f64]) -> Weights {
        let groups = self.groups.iter().map(|unknowns| {
            unknowns.iter().map(|&(unknown, sign)| values[unknown] * sign).sum()
        });
        Weights {
            columns: values[..self.columns].iter().map(|value| value.max(0.0)).collect(),
            groups: groups.collect(),
            scale: self.scale.map(|unknown| values[unknown].max(0.0)),
        }
    }

    /// The demands that are most violated, most violated first.
    fn violated(&self, demands: &[Demand], weights: &Weights) -> Vec<usize> {
        let mut violated: Vec<(f64, usize)> = Vec::new();
        for (index, demand) in demands.iter().enumerate().filter(|(index, _)| !self.active[*index]) {
            let missing = self.bound(index, demand) - weights.lead(demand);
            if missing <= 0.0 {
                continue;
            }
            let largest = demand.columns.iter().zip(&weights.columns);
            let largest = largest.map(|(value, weight)| (value * weight).abs()).fold(0.0, f64::max);
            let norm = demand.columns.iter().map(|value| value * value).sum::<f64>().sqrt();
            if missing > VIOLATED * largest.max(norm) {
                violated.push((missing / norm.max(f64::MIN_POSITIVE), index));
            }
        }
        violated.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        violated.truncate(MOST_ROWS.max(self.columns / 4));
        violated.into_iter().map(|(_, index)| index).collect()
    }
}

/// Limits of a solve: a deadline and a switch.
pub(crate) fn limits<'a>(deadline: Option<Instant>, stop: &'a dyn Fn() -> bool) -> Limits<'a> {
    Limits { deadline, stop: Some(stop) }
}
