//! What a certificate says about smaller models: points, columns, cuts, covers and crossings.
//!
//! Columns are groups of trees of the original. The models that a cover bound is about are
//! `G(x) = sum over columns of w_j * C_j(x) + intercept` with all `w_j >= 0`, where `C_j` is the exact sum of the
//! column's trees and the intercept is none, the original's times a weight of at least zero, or free; they
//! decide by the original's rule with the original's divisor, and wherever the original's exact lead of its
//! winner over every other class exceeds the band, their own exact lead of that class is positive over every
//! other. A counted intercept is a free one that is an **item** of its own behind the columns: it has to be
//! paid for unless it is zero, as in files that can hold a constant only as one more tree.
//!
//! Every tree of the original is in one column, and without an intercept the original has none either: so the
//! original, all weights 1, is in every family, and no bound is about a family that holds nothing.

use std::collections::BTreeMap;

use num_bigint::BigInt;
use secateur_certificate::{Intercept, Step};
use secateur_model::{ClassId, Ensemble, Exact, FeatureId, LeafId, Output, Outside};

use crate::pair::{Pair, leaves, others};
use crate::reason::Reason;
use crate::rules;
use crate::rules::cover::Cover;
use crate::verdict::{ColumnBound, Limits};

pub(crate) struct Bounds<'a> {
    pub(crate) pair: &'a Pair<'a>,
    pub(crate) limits: Limits,
    pub(crate) columns: Option<Columns>,
    /// For each cut the items of which one is there (a column with positive weight, or the counted
    /// constant unless it is zero), as bits.
    pub(crate) cuts: Vec<Vec<u64>>,
    /// Crossings of each feature: from the lower value to the higher one, by their order.
    pub(crate) crossings: BTreeMap<u32, BTreeMap<u64, u64>>,
    points: Vec<f64>,
    /// For each point the class that leads by more than the band, once it has been asked for.
    winners: Vec<Option<Option<ClassId>>>,
    cover: Option<Cover>,
    best_count: Option<ColumnBound>,
    best_cost: Option<ColumnBound>,
}

pub(crate) struct Columns {
    pub(crate) intercept: Intercept,
    pub(crate) trees: Vec<Vec<u32>>,
    /// For each tree the leaf values with its weight, as integers of one scale.
    values: Vec<Vec<BigInt>>,
    /// The intercepts at the same scale.
    pub(crate) intercepts: Vec<BigInt>,
}

impl Columns {
    /// What cuts and covers count: the columns, and behind them the constant where it is counted.
    pub(crate) fn items(&self) -> usize {
        self.trees.len() + usize::from(self.intercept == Intercept::Counted)
    }

    /// What a tree adds to a combination of sums at one of its leaves.
    pub(crate) fn tree_value(
        &self,
        model: &Ensemble,
        tree: u32,
        leaf: LeafId,
        terms: &[(usize, i64)],
    ) -> BigInt {
        let own = &model.trees()[tree as usize];
        let values = &self.values[tree as usize];
        match own.output() {
            Output::Group(group) => {
                let factor: i64 = terms.iter().filter(|(sum, _)| *sum == group.index()).map(|(_, f)| f).sum();
                &values[leaf.index()] * factor
            }
            Output::All => {
                let width = values.len() / own.leaf_count();
                terms.iter().map(|&(sum, factor)| &values[leaf.index() * width + sum] * factor).sum()
            }
        }
    }
}

impl<'a> Bounds<'a> {
    pub(crate) fn new(pair: &'a Pair<'a>, limits: Limits) -> Self {
        Self {
            pair,
            limits,
            columns: None,
            cuts: Vec::new(),
            crossings: BTreeMap::new(),
            points: Vec::new(),
            winners: Vec::new(),
            cover: None,
            best_count: None,
            best_cost: None,
        }
    }

    /// Is a cover's proof going on?
    pub(crate) fn is_open(&self) -> bool {
        self.cover.is_some()
    }

    /// Checks one step.
    pub(crate) fn step(&mut self, step: Step) -> Result<(), Reason> {
        if let Some(cover) = &mut self.cover {
            let found = step.kind();
            let done = match step {
                Step::Branch { column } => cover.branch(column),
                Step::Dual { denominator, terms } => cover.dual(&self.cuts, denominator, &terms),
                _ => Err(Reason::OrderUnexpected { found, place: "inside a cover that is not done" }),
            }?;
            if done && let Some(cover) = self.cover.take() {
                self.conclude(&cover);
            }
            return Ok(());
        }
        match step {
            Step::Point { values } => self.add_point(&values),
            Step::Columns { intercept, columns } => self.set_columns(intercept, columns),
            Step::Cut { terms } => rules::cut::cut(self, &terms),
            Step::Cover { costs, bound } => {
                let place = "before the columns are given";
                let columns =
                    self.columns.as_ref().ok_or(Reason::OrderUnexpected { found: "Cover", place })?;
                self.cover = Some(Cover::new(columns.items(), costs, bound)?);
                Ok(())
            }
            Step::Crossing { point, feature, low, high } => {
                rules::crossing::crossing(self, point, feature, low, high)
            }
            other => {
                let place = "between the proofs of two systems";
                Err(Reason::OrderUnexpected { found: other.kind(), place })
            }
        }
    }

    /// The bounds that were proved: on columns, on their cost, on threshold splits.
    pub(crate) fn proved(&self) -> (Option<ColumnBound>, Option<ColumnBound>, Option<u64>) {
        let crossings: usize = self.crossings.values().map(BTreeMap::len).sum();
        (self.best_count, self.best_cost, (crossings > 0).then_some(crossings as u64))
    }

    pub(crate) fn point(&self, point: u32) -> Option<&[f64]> {
        let width = self.pair.read.features().len();
        let first = (point as usize).checked_mul(width)?;
        self.points.get(first..first + width)
    }

    /// The number of points so far.
    pub(crate) fn point_count(&self) -> usize {
        self.winners.len()
    }

    /// The class by which the original leads at this point by more than the band.
    pub(crate) fn winner_at(&mut self, point: u32) -> Option<ClassId> {
        if let Some(Some(known)) = self.winners.get(point as usize) {
            return *known;
        }
        let found = self.winner_of(self.point(point)?);
        self.winners[point as usize] = Some(found);
        found
    }

    /// The class by which the original leads on this row by more than the band.
    pub(crate) fn winner_of(&self, row: &[f64]) -> Option<ClassId> {
        let classes = 0..self.pair.read.classes().len() as u32;
        classes.map(ClassId).find(|&class| self.pair.original_leads(row, class))
    }

    fn add_point(&mut self, values: &[f64]) -> Result<(), Reason> {
        let model = self.pair.read;
        if values.is_empty() || leaves(model, values).is_none() {
            let mut each = values.iter().copied().enumerate();
            let columns = model.features().len();
            let unaccepted = each.find(|&(at, value)| model.read(FeatureId::new(at), value).is_none());
            let outside = || match model.inputs().outside(values)? {
                Outside::Column(at) => Some((at.index(), values[at.index()])),
                Outside::Score(_) => None,
            };
            let unaccepted = unaccepted.or_else(|| (values.len() == columns).then(outside).flatten());
            return Err(Reason::PointValues { values: values.len(), columns, unaccepted });
        }
        let (values_then, limit) = (self.points.len() + values.len(), self.limits.point_values);
        if values_then > limit {
            return Err(Reason::LimitPoints { values: values_then, limit });
        }
        self.points.extend_from_slice(values);
        self.winners.push(None);
        Ok(())
    }

    fn set_columns(&mut self, intercept: Intercept, trees: Vec<Vec<u32>>) -> Result<(), Reason> {
        let model = self.pair.read;
        let count = model.trees().len();
        if self.columns.is_some() {
            return Err(Reason::ColumnsTree { tree: None, times: 2, trees: count });
        }
        let mut times = vec![0usize; count];
        for &tree in trees.iter().flatten() {
            let Some(times) = times.get_mut(tree as usize) else {
                return Err(Reason::ColumnsTree { tree: Some(tree), times: 1, trees: count });
            };
            *times += 1;
        }
        if let Some((tree, &times)) = times.iter().enumerate().find(|&(_, &times)| times != 1) {
            return Err(Reason::ColumnsTree { tree: Some(tree as u32), times, trees: count });
        }
        let mut intercepts = model.intercepts().iter().copied().enumerate();
        let start = intercepts.find(|&(_, value)| value != 0.0);
        if let (Intercept::None, Some((sum, value))) = (intercept, start) {
            return Err(Reason::ColumnsIntercept { sum, intercept: value });
        }
        let mut exponent = 0;
        let mut see = |value: &Exact| {
            if !value.is_zero() {
                exponent = exponent.min(value.exponent());
            }
        };
        let weighted: Vec<Vec<Exact>> = model
            .trees()
            .iter()
            .map(|tree| {
                let weight = Exact::finite(tree.weight());
                tree.leaf_values().iter().map(|&value| &weight * &Exact::finite(value)).collect()
            })
            .collect();
        weighted.iter().flatten().for_each(&mut see);
        model.intercepts().iter().for_each(|&value| see(&Exact::finite(value)));
        let integer = |value: &Exact| value.scaled(exponent).expect("the exponent is the smallest of all");
        let values = weighted.iter().map(|tree| tree.iter().map(integer).collect()).collect();
        let intercepts = model.intercepts().iter().map(|&value| integer(&Exact::finite(value))).collect();
        self.columns = Some(Columns { intercept, trees, values, intercepts });
        Ok(())
    }

    fn conclude(&mut self, cover: &Cover) {
        let Some(columns) = &self.columns else { return };
        let reached = !cover.has_costs() && self.pair.pruned.trees().len() as u64 <= cover.bound();
        let new = ColumnBound {
            bound: cover.bound(),
            columns: columns.trees.len() as u64,
            intercept: columns.intercept,
            reached,
        };
        let best = if cover.has_costs() { &mut self.best_cost } else { &mut self.best_count };
        if best.is_none_or(|old| old.bound < new.bound) {
            *best = Some(new);
        }
    }
}

/// Is this an ordered pair of different classes?
pub(crate) fn are_classes(model: &Ensemble, winner: ClassId, other: ClassId) -> bool {
    winner.index() < model.classes().len() && others(model, winner).any(|class| class == other)
}
