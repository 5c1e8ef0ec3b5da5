//! Cuts: sets of columns of which one must stay, each shown by a few inputs.
//!
//! Problem: a candidate has weights w >= 0 on columns and a lead at demand i of
//! `sum_j w_j a_ij + (its intercept's part)`, which must be positive. Take multipliers y_i > 0 on some
//! demands such that the intercept's part of the combination cannot be positive. Then some column with
//! `sum_i y_i a_ij > 0` must have a positive weight. These columns are the cut.
//!
//! The intercept's part: if it is free, each group's signed multipliers add up to zero; if it is the
//! original's times a weight that is not negative, or the original's alone, its combination is at most zero.
//! A demand whose winner wins ties holds also for a lead of zero, so one demand at least must be of the
//! other kind.
//!
//! Multipliers come from a solver in floating point, are rounded to integers and then checked: whether a
//! cut holds is computed in exact arithmetic from the model and the inputs, and nothing else counts.

use std::collections::HashMap;
use std::rc::Rc;

use num_bigint::BigInt;
use num_traits::{Signed, Zero};
use secateur_lp::{Limits, Separated, Separation, round_multipliers};
use secateur_model::{Ensemble, Exact, LeafId};
use secateur_oracle::Lead;

use crate::column::Intercept;
use crate::point::{Points, certain_winner, column_lead, intercept_of};
use crate::relevant::Pair;

/// A margin that survives every rounding; a larger one is not looked for.
const ENOUGH: f64 = 1e-6;

/// One of these columns must stay, by these demands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The demands, each with its multiplier.
    pub demands: Vec<(usize, u64)>,
    /// The columns, ascending.
    pub columns: Vec<usize>,
}

/// What a search for a cut ended with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Separating {
    /// A cut that holds, and that the kept columns do not meet.
    Cut(Cut),
    /// None was found: the kept columns may do, as far as these points tell.
    None,
    /// A limit was reached.
    Stopped,
}

impl Cut {
    /// Does it hold? Everything is computed anew, in exact arithmetic.
    pub fn holds(&self, points: &Points<'_>, intercept: Intercept) -> bool {
        let mut demands = ExactDemands::new(points.model());
        let known = |column: &usize| *column < points.columns().len();
        self.columns.iter().all(known)
            && demands
                .combine(points, &self.demands, intercept)
                .is_some_and(|positive| positive.iter().all(|column| self.columns.contains(column)))
    }
}

/// Finds cuts over the points of a run.
#[derive(Debug)]
pub struct Cutter {
    intercept: Intercept,
    exact: ExactDemands,
    separation: Option<Separation>,
    /// Demands that the separation knows.
    known: usize,
}

impl Cutter {
    /// A cutter for points of this model.
    pub fn new(model: &Ensemble, intercept: Intercept) -> Self {
        Self { intercept, exact: ExactDemands::new(model), separation: None, known: 0 }
    }

    /// What may become of the intercept.
    pub fn intercept(&self) -> Intercept {
        self.intercept
    }

    /// The cut of these multipliers, whatever columns it has; `None` where the intercept may stand in.
    pub fn cut(&mut self, points: &Points<'_>, demands: Vec<(usize, u64)>) -> Option<Cut> {
        let columns = self.exact.combine(points, &demands, self.intercept)?;
        Some(Cut { demands, columns })
    }

    /// The cut of two inputs that are decided differently: what does not change between them cancels.
    pub fn pair(&mut self, points: &mut Points<'_>, pair: &Pair) -> Option<Cut> {
        let mut demands = Vec::with_capacity(2);
        for (row, other) in pair.rows.iter().zip([pair.classes[1], pair.classes[0]]) {
            let point = points.place(row)?;
            let index = points.demands_of(point).find(|&index| points.demands()[index].other == other)?;
            demands.push((index, 1));
        }
        self.cut(points, demands)
    }

    /// Shows that the kept columns cannot do alone, where these points show it.
    pub fn separate(&mut self, points: &Points<'_>, kept: &[bool], limits: &Limits<'_>) -> Separating {
        if points.demands().is_empty() || !self.update(points) {
            return Separating::None;
        }
        let Some(separation) = &mut self.separation else { return Separating::None };
        let mut columns: Vec<usize> = (0..kept.len()).filter(|&column| kept[column]).collect();
        if self.intercept != Intercept::Free {
            columns.push(kept.len());
        }
        let found = match separation.find(&columns, ENOUGH, limits) {
            Separated::Found(found) => found,
            Separated::TimeLimit | Separated::Interrupted => return Separating::Stopped,
            Separated::NotFound | Separated::Unknown(_) => return Separating::None,
        };
        let equalities: Vec<Vec<i64>> =
            found.points.iter().map(|&demand| equality(points, demand, self.intercept)).collect();
        let equalities: Vec<&[i64]> = equalities.iter().map(Vec::as_slice).collect();
        let Some(integers) = round_multipliers(&found.weights, &equalities) else { return Separating::None };
        let demands =
            found.points.iter().copied().zip(integers).filter(|(_, integer)| *integer > 0).collect();
        match self.cut(points, demands) {
            Some(cut) if !cut.columns.iter().any(|&column| kept[column]) => Separating::Cut(cut),
            _ => Separating::None,
        }
    }

    /// Tells the solver of new demands; false where it refuses one.
    fn update(&mut self, points: &Points<'_>) -> bool {
        let entries = |demand: usize| {
            let demand = &points.demands()[demand];
            let own = (self.intercept != Intercept::Free).then_some(demand.intercept);
            demand.columns.iter().copied().chain(own).collect::<Vec<f64>>()
        };
        let count = points.demands().len();
        match &mut self.separation {
            None => {
                let rows: Vec<Vec<f64>> = (0..count).map(entries).collect();
                let equalities: Vec<Vec<i64>> =
                    (0..count).map(|demand| equality(points, demand, self.intercept)).collect();
                self.separation = Separation::new(&rows, &equalities).ok();
            }
            Some(separation) => {
                for demand in self.known..count {
                    let equality = equality(points, demand, self.intercept);
                    if separation.add_point(&entries(demand), &equality).is_err() {
                        return false;
                    }
                }
            }
        }
        self.known = count;
        self.separation.is_some()
    }
}

/// How often each group's intercept counts in a demand, where it is free.
fn equality(points: &Points<'_>, demand: usize, intercept: Intercept) -> Vec<i64> {
    if intercept != Intercept::Free {
        return Vec::new();
    }
    let mut signs = vec![0; points.model().group_count()];
    for &(group, sign) in &points.demands()[demand].groups {
        signs[group] += sign;
    }
    signs
}

/// Demands in exact arithmetic, each computed once: integers at the model's own scale.
#[derive(Debug)]
struct ExactDemands {
    exponent: i64,
    known: HashMap<usize, Option<Rc<ExactDemand>>>,
}

#[derive(Debug)]
struct ExactDemand {
    columns: Vec<BigInt>,
    intercept: Exact,
    groups: Vec<(usize, i64)>,
    /// A lead of zero is not enough.
    strict: bool,
}

impl ExactDemands {
    fn new(model: &Ensemble) -> Self {
        let exponent = |value: f64| {
            let value = Exact::from_f64(value).expect("the builder admits finite values only");
            (!value.is_zero()).then_some(value.exponent())
        };
        let of_tree = |tree: &secateur_model::Tree| {
            let leaves = tree.leaf_values().iter().filter_map(|&value| exponent(value)).min()?;
            Some(leaves + exponent(tree.weight())?)
        };
        let exponent = model.trees().iter().filter_map(of_tree).min().unwrap_or(0);
        Self { exponent, known: HashMap::new() }
    }

    /// The columns whose combination is positive; `None` where the demands do not hold for the original,
    /// or the intercept may stand in for any column.
    fn combine(
        &mut self,
        points: &Points<'_>,
        demands: &[(usize, u64)],
        intercept: Intercept,
    ) -> Option<Vec<usize>> {
        let mut sums = vec![BigInt::zero(); points.columns().len()];
        let mut constant = Exact::zero();
        let mut groups = vec![0i128; points.model().group_count()];
        let mut strict = false;
        for &(index, multiplier) in demands.iter().filter(|(_, multiplier)| *multiplier > 0) {
            let demand = self.demand(points, index)?;
            for (sum, value) in sums.iter_mut().zip(&demand.columns) {
                if !value.is_zero() {
                    *sum += value * multiplier;
                }
            }
            constant += &(&demand.intercept * &Exact::new(BigInt::from(multiplier), 0));
            for &(group, sign) in &demand.groups {
                groups[group] = groups[group].checked_add(i128::from(multiplier) * i128::from(sign))?;
            }
            strict |= demand.strict;
        }
        let held = match intercept {
            Intercept::Free => groups.iter().all(|&sum| sum == 0),
            Intercept::None | Intercept::Scaled => constant.signum() <= 0,
        };
        (strict && held).then(|| (0..sums.len()).filter(|&column| sums[column].is_positive()).collect())
    }

    fn demand(&mut self, points: &Points<'_>, index: usize) -> Option<Rc<ExactDemand>> {
        let exponent = self.exponent;
        self.known.entry(index).or_insert_with(|| exact_demand(points, index, exponent).map(Rc::new)).clone()
    }
}

/// A demand from the input alone: what the solver was told is not used.
fn exact_demand(points: &Points<'_>, index: usize, exponent: i64) -> Option<ExactDemand> {
    let model = points.model();
    let demand = points.demands().get(index)?;
    let row = points.rows().get(demand.point)?;
    let read: Vec<f64> = row.iter().map(|&value| model.domain().read(value)).collect::<Option<_>>()?;
    let leaves: Vec<LeafId> = model.leaves(&read).collect();
    let sums = model.exact_sums(leaves.iter().copied());
    let winner = certain_winner(model, &sums, points.band())?;
    if winner != demand.winner || winner == demand.other {
        return None;
    }
    let lead = Lead::of(model, winner, demand.other);
    let columns = points
        .columns()
        .iter()
        .map(|column| column_lead(model, &leaves, column, &lead).scaled(exponent))
        .collect::<Option<_>>()?;
    let intercept = intercept_of(model, &lead);
    Some(ExactDemand { columns, intercept, strict: !lead.wins_ties, groups: lead.terms })
}
