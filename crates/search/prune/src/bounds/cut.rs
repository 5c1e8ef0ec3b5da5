//! Cuts: sets of columns of which one must stay, each shown by a few inputs.
//!
//! Problem: a candidate has weights w >= 0 on columns. Its lead at demand i is
//! `sum_j w_j a_ij + (its intercept's part)` and must be positive. Take multipliers y_i > 0 on some
//! demands such that the intercept's parts, multiplied and added up, cannot be positive. The leads,
//! multiplied and added up, are positive, so some column with `sum_i y_i a_ij > 0` must have a
//! positive weight. These columns are the cut.
//!
//! The intercept's part depends on what is allowed for it. If the intercept is free, the signed
//! multipliers of each group must add up to zero. If it is the original's times a weight of at
//! least zero, its combination must be at most zero, and so must the combination of the decision
//! rule's threshold. If there is no intercept, only the threshold counts. A demand whose winner
//! wins ties also holds for a lead of zero, so at least one demand must be of the other kind.
//!
//! Multipliers come from a solver in floating point, are rounded to integers and then checked:
//! whether a cut holds is computed in exact arithmetic from the model and the inputs, and nothing
//! else counts. Sometimes the best margin of the kept columns is zero, because trees mirror each
//! other or these inputs do not tell them apart. Then sums that are zero up to rounding are made
//! zero exactly (see `exact_multipliers`).

use std::collections::HashMap;
use std::rc::Rc;

use num_bigint::{BigInt, BigUint};
use num_traits::{Signed, Zero};
use secateur_lp::{Limits, Multipliers, Separated, Separation, Solving, round_multipliers};
use secateur_model::{Ensemble, Exact, LeafId};
use secateur_oracle::Lead;

use crate::bounds::exact_multipliers::balanced;
use crate::candidate::column::Intercept;
use crate::passes::relevant::Pair;
use crate::points::point::{Points, certain_winner, column_lead, intercept_of};
use crate::search::weight_program::Weights;

/// A margin that survives every rounding; no larger one is searched for.
const ENOUGH: f64 = 1e-6;
/// Where no margin is positive, all sums are shifted by this share of a column's largest entry.
const SHIFT: f64 = 1e-3;
/// A sum whose magnitude is at most this share of its largest entry is meant to be zero.
const ZERO: f64 = 1e-7;

/// One of these columns must stay, as these demands show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnCut {
    /// The indices of the demands, each with its multiplier.
    pub demands: Vec<(usize, BigUint)>,
    /// The indices of the columns, ascending.
    pub columns: Vec<usize>,
}

/// How a search for a cut ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Separating {
    /// With a cut that holds and that the kept columns do not meet.
    Cut(ColumnCut),
    /// There is no cut: these weights of the kept columns meet the demands of all points, as far as
    /// floating point tells.
    Solved(Weights),
    /// No cut was found.
    None,
    /// A limit was reached.
    Stopped,
}

impl ColumnCut {
    /// Does the cut hold? Everything is computed again, in exact arithmetic.
    pub fn holds(&self, points: &Points<'_>, intercept: Intercept) -> bool {
        let mut demands = ExactDemands::new(points.model());
        let known = |column: &usize| *column < points.columns().len();
        self.columns.iter().all(known)
            && demands
                .combine(points, &self.demands, intercept)
                .is_some_and(|positive| positive.iter().all(|column| self.columns.contains(column)))
    }
}

impl ColumnCut {
    /// Does the cut contain none of the kept columns?
    fn spares(&self, kept: &[bool]) -> bool {
        !self.columns.iter().any(|&column| kept[column])
    }
}

/// Finds cuts over the points of a run.
#[derive(Debug)]
pub struct Cutter {
    intercept: Intercept,
    exact: ExactDemands,
    /// One solver for sums with a margin, one for shifted sums.
    separations: [Option<Known>; 2],
    /// By how much the entries of each column are shifted.
    shifts: Vec<f64>,
}

/// A solver, and the demands it was given.
#[derive(Debug)]
struct Known {
    separation: Separation,
    /// How many of the demands were considered.
    seen: usize,
    /// For each demand that the solver has, its index among all demands.
    demands: Vec<usize>,
}

impl Cutter {
    /// A cutter for the points of this model.
    pub fn new(model: &Ensemble, intercept: Intercept) -> Self {
        Self { intercept, exact: ExactDemands::new(model), separations: [None, None], shifts: Vec::new() }
    }

    /// What is allowed for the intercept.
    pub fn intercept(&self) -> Intercept {
        self.intercept
    }

    /// The cut of these multipliers, whichever columns it has. `None` if the intercept alone could
    /// meet the demands.
    pub fn cut(&mut self, points: &Points<'_>, demands: Vec<(usize, BigUint)>) -> Option<ColumnCut> {
        let columns = self.exact.combine(points, &demands, self.intercept)?;
        Some(ColumnCut { demands, columns })
    }

    /// The cut of two inputs that are decided differently: what is equal for both cancels.
    pub fn pair(&mut self, points: &mut Points<'_>, pair: &Pair) -> Option<ColumnCut> {
        let mut demands = Vec::with_capacity(2);
        for (row, other) in pair.rows.iter().zip([pair.classes[1], pair.classes[0]]) {
            let point = points.place(row)?;
            let index = points.demands_of(point).find(|&index| points.demands()[index].other == other)?;
            demands.push((index, BigUint::from(1u32)));
        }
        self.cut(points, demands)
    }

    /// Shows that the kept columns alone do not suffice, if these points show it.
    pub fn separate(&mut self, points: &Points<'_>, kept: &[bool], limits: &Limits<'_>) -> Separating {
        if points.demands().is_empty() {
            return Separating::None;
        }
        let with_margin = match self.find(points, kept, false, limits) {
            Found::Multipliers(found) => self.rounded(points, &found),
            Found::Solved(weights) => return Separating::Solved(weights),
            Found::Nothing => None,
            Found::Stopped => return Separating::Stopped,
        };
        let cut = match with_margin.filter(|cut| cut.spares(kept)) {
            Some(cut) => Some(cut),
            None => match self.find(points, kept, true, limits) {
                Found::Multipliers(found) => self.without_margin(points, kept, &found),
                // Those would be weights for shifted sums only.
                Found::Solved(_) | Found::Nothing => None,
                Found::Stopped => return Separating::Stopped,
            },
        };
        cut.filter(|cut| cut.spares(kept)).map_or(Separating::None, Separating::Cut)
    }

    /// Looks for multipliers of demands for which no kept column has a positive sum, as found in
    /// floating point; not proved.
    fn find(&mut self, points: &Points<'_>, kept: &[bool], shifted: bool, limits: &Limits<'_>) -> Found {
        if !self.update(points, shifted) {
            return Found::Nothing;
        }
        let Some(known) = &mut self.separations[usize::from(shifted)] else { return Found::Nothing };
        let mut columns: Vec<usize> = (0..kept.len()).filter(|&column| kept[column]).collect();
        columns.extend(kept.len()..kept.len() + constants(points, 0, self.intercept).len());
        let enough = if shifted { SHIFT * (1.0 - ZERO) } else { ENOUGH };
        match known.separation.find(&columns, enough, limits) {
            Separated::Found(mut found) if !shifted || found.margin > SHIFT * (1.0 - 100.0 * ZERO) => {
                found.points.iter_mut().for_each(|point| *point = known.demands[*point]);
                Found::Multipliers(found)
            }
            Separated::Solved(Solving { mut columns, free }) => {
                // After the columns come the threshold and the original's own intercept.
                let behind = columns.split_off(kept.len());
                let scale = (self.intercept == Intercept::Scaled).then(|| behind[1]);
                Found::Solved(Weights { columns, groups: free, scale })
            }
            Separated::TimeLimit | Separated::Interrupted => Found::Stopped,
            _ => Found::Nothing,
        }
    }

    /// The cut of multipliers that have a margin: they are rounded so that the equations of a free
    /// intercept hold exactly.
    fn rounded(&mut self, points: &Points<'_>, found: &Multipliers) -> Option<ColumnCut> {
        let equalities: Vec<Vec<i64>> =
            found.points.iter().map(|&demand| equality(points, demand, self.intercept)).collect();
        let equalities: Vec<&[i64]> = equalities.iter().map(Vec::as_slice).collect();
        let integers = round_multipliers(&found.weights, &equalities)?;
        let demands = found.points.iter().copied().zip(integers.into_iter().map(BigUint::from));
        self.cut(points, demands.filter(|(_, integer)| !integer.is_zero()).collect())
    }

    /// The cut of multipliers without a margin: sums that are nearly zero are made exactly zero.
    fn without_margin(
        &mut self,
        points: &Points<'_>,
        kept: &[bool],
        found: &Multipliers,
    ) -> Option<ColumnCut> {
        let demands: Vec<Rc<ExactDemand>> =
            found.points.iter().map(|&demand| self.exact.demand(points, demand)).collect::<Option<_>>()?;
        let nearly_zero = |entries: &dyn Fn(usize) -> f64| {
            let terms = found.points.iter().zip(&found.weights);
            let sums = terms.fold((0.0, 0.0), |(sum, most), (&point, weight)| {
                (sum + weight * entries(point), f64::max(most, entries(point).abs()))
            });
            sums.0.abs() <= ZERO * sums.1
        };
        let mut equations: Vec<Vec<BigInt>> = Vec::new();
        for column in (0..kept.len()).filter(|&column| kept[column]) {
            if nearly_zero(&|point| points.demands()[point].columns[column]) {
                equations.push(demands.iter().map(|demand| demand.columns[column].clone()).collect());
            }
        }
        if self.intercept == Intercept::Free {
            let signs: Vec<Vec<i64>> =
                found.points.iter().map(|&demand| equality(points, demand, self.intercept)).collect();
            for group in 0..points.model().group_count() {
                equations.push(signs.iter().map(|signs| BigInt::from(signs[group])).collect());
            }
        }
        for constant in 0..constants(points, 0, self.intercept).len() {
            if nearly_zero(&|point| constants(points, point, self.intercept)[constant]) {
                let parts = || demands.iter().map(|demand| &demand.constants[constant]);
                let exponent = parts().filter(|part| !part.is_zero()).map(Exact::exponent).min().unwrap_or(0);
                equations.push(parts().map(|part| part.scaled(exponent)).collect::<Option<_>>()?);
            }
        }
        let integers = balanced(&found.weights, equations)?;
        let demands = found.points.iter().copied().zip(integers);
        self.cut(points, demands.filter(|(_, integer)| !integer.is_zero()).collect())
    }

    /// Gives the solver the new demands; false if it refuses one.
    fn update(&mut self, points: &Points<'_>, shifted: bool) -> bool {
        let count = points.demands().len();
        let intercept = self.intercept;
        let entries = |index: usize| {
            let constants = constants(points, index, intercept);
            points.demands()[index].columns.iter().copied().chain(constants).collect::<Vec<f64>>()
        };
        if shifted && self.shifts.is_empty() {
            let mut ranges: Vec<(f64, f64)> = Vec::new();
            for entries in (0..count).map(entries) {
                ranges.resize(entries.len(), (0.0, 0.0));
                for (range, entry) in ranges.iter_mut().zip(entries) {
                    *range = (range.0.min(entry), range.1.max(entry));
                }
            }
            self.shifts = ranges.into_iter().map(shift_of).collect();
        }
        let shifts = &self.shifts;
        let entries = |demand: usize| {
            let mut entries = entries(demand);
            if shifted {
                entries.iter_mut().zip(shifts).for_each(|(entry, shift)| *entry -= shift);
            }
            entries
        };
        let slot = &mut self.separations[usize::from(shifted)];
        let from = slot.as_ref().map_or(0, |known| known.seen);
        let fresh: Vec<usize> = (from..count).filter(|&demand| is_untied(points, demand)).collect();
        match slot {
            None => {
                let rows: Vec<Vec<f64>> = fresh.iter().map(|&demand| entries(demand)).collect();
                let equalities: Vec<Vec<i64>> =
                    fresh.iter().map(|&demand| equality(points, demand, intercept)).collect();
                let separation = Separation::new(&rows, &equalities).ok();
                *slot = separation.map(|separation| Known { separation, seen: count, demands: fresh });
            }
            Some(known) => {
                for demand in fresh {
                    let equality = equality(points, demand, intercept);
                    if known.separation.add_point(&entries(demand), &equality).is_err() {
                        return false;
                    }
                    known.demands.push(demand);
                }
                known.seen = count;
            }
        }
        slot.is_some()
    }
}

/// Is the point of this demand decided without a tie?
fn is_untied(points: &Points<'_>, demand: usize) -> bool {
    let point = points.demands()[demand].point;
    points.demands_of(point).all(|demand| points.demands()[demand].lead > 0.0)
}

/// The solver's answer.
enum Found {
    /// Multipliers of demands.
    Multipliers(Multipliers),
    /// Weights of columns.
    Solved(Weights),
    /// Neither.
    Nothing,
    /// A limit was reached.
    Stopped,
}

/// How much to subtract from a column's entries so that this is [`SHIFT`] times the largest
/// magnitude of the shifted entries.
fn shift_of((least, most): (f64, f64)) -> f64 {
    let below = SHIFT * -least / (1.0 - SHIFT);
    if below - least >= most - below { below } else { SHIFT * most / (1.0 + SHIFT) }
}

/// Parts of a demand that the solver treats like kept columns: the threshold and the original's own
/// intercept, depending on what is allowed for the intercept.
fn constants(points: &Points<'_>, demand: usize, intercept: Intercept) -> Vec<f64> {
    let demand = &points.demands()[demand];
    let threshold = || Lead::of(points.model(), demand.winner, demand.other).constant.to_f64();
    match intercept {
        Intercept::Free => Vec::new(),
        Intercept::None => vec![threshold()],
        Intercept::Scaled => vec![threshold(), demand.intercept - threshold()],
    }
}

/// How often each group's intercept counts in a demand; empty if the intercept is not free.
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

/// Demands in exact arithmetic, each computed once. Column entries are integers in units of
/// 2^exponent.
#[derive(Debug)]
struct ExactDemands {
    exponent: i64,
    known: HashMap<usize, Option<Rc<ExactDemand>>>,
}

#[derive(Debug)]
struct ExactDemand {
    columns: Vec<BigInt>,
    /// What the threshold adds, and what the original's own intercept adds.
    constants: [Exact; 2],
    groups: Vec<(usize, i64)>,
    /// A lead of zero does not meet the demand.
    strict: bool,
}

impl ExactDemands {
    fn new(model: &Ensemble) -> Self {
        let exponent = |value: f64| {
            let value = Exact::finite(value);
            (!value.is_zero()).then_some(value.exponent())
        };
        let of_tree = |tree: &secateur_model::Tree| {
            let leaves = tree.leaf_values().iter().filter_map(|&value| exponent(value)).min()?;
            Some(leaves + exponent(tree.weight())?)
        };
        let exponent = model.trees().iter().filter_map(of_tree).min().unwrap_or(0);
        Self { exponent, known: HashMap::new() }
    }

    /// The columns whose combined entries are positive. `None` if the original does not meet the
    /// demands, or if the intercept alone could meet them.
    fn combine(
        &mut self,
        points: &Points<'_>,
        demands: &[(usize, BigUint)],
        intercept: Intercept,
    ) -> Option<Vec<usize>> {
        let mut sums = vec![BigInt::zero(); points.columns().len()];
        let mut constants = [Exact::zero(), Exact::zero()];
        let mut groups = vec![BigInt::zero(); points.model().group_count()];
        let mut strict = false;
        for (index, multiplier) in demands.iter().filter(|(_, multiplier)| !multiplier.is_zero()) {
            let demand = self.demand(points, *index)?;
            let multiplier = BigInt::from(multiplier.clone());
            for (sum, value) in sums.iter_mut().zip(&demand.columns) {
                if !value.is_zero() {
                    *sum += value * &multiplier;
                }
            }
            for &(group, sign) in &demand.groups {
                groups[group] += &multiplier * sign;
            }
            let multiplier = Exact::new(multiplier, 0);
            for (sum, constant) in constants.iter_mut().zip(&demand.constants) {
                *sum += &(constant * &multiplier);
            }
            strict |= demand.strict;
        }
        let held = match intercept {
            Intercept::Free => groups.iter().all(BigInt::is_zero),
            Intercept::None => constants[0].signum() <= 0,
            Intercept::Scaled => constants.iter().all(|constant| constant.signum() <= 0),
        };
        (strict && held).then(|| (0..sums.len()).filter(|&column| sums[column].is_positive()).collect())
    }

    fn demand(&mut self, points: &Points<'_>, index: usize) -> Option<Rc<ExactDemand>> {
        let exponent = self.exponent;
        self.known.entry(index).or_insert_with(|| exact_demand(points, index, exponent).map(Rc::new)).clone()
    }
}

/// Computes a demand from its input alone, without the numbers that the solver had.
fn exact_demand(points: &Points<'_>, index: usize, exponent: i64) -> Option<ExactDemand> {
    let model = points.model();
    let demand = points.demands().get(index)?;
    let row = points.rows().get(demand.point)?;
    let read: Vec<f64> = row.iter().map(|&value| model.intake().read(value)).collect::<Option<_>>()?;
    let leaves: Vec<LeafId> = model.leaves(&read).collect();
    let sums = model.exact_sums(leaves.iter().copied());
    // Decisions by a tie are not used: the lead must be above zero.
    let winner = certain_winner(model, &sums, Some(points.band().unwrap_or(0.0)))?;
    if winner != demand.winner || winner == demand.other {
        return None;
    }
    let lead = Lead::of(model, winner, demand.other);
    let columns = points
        .columns()
        .iter()
        .map(|column| column_lead(model, &leaves, column, &lead).scaled(exponent))
        .collect::<Option<_>>()?;
    let own = &intercept_of(model, &lead) - &lead.constant;
    Some(ExactDemand {
        columns,
        constants: [lead.constant, own],
        strict: !lead.wins_ties,
        groups: lead.terms,
    })
}
