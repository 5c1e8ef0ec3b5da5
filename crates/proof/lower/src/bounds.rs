//! Lower bounds on smaller models, in whole numbers: points, columns, cuts and crossings of a
//! certificate.
//!
//! Columns are groups of trees of the original. A bound on columns is about a family of models
//! `G(x) = sum over columns of w_j * C_j(x) + intercept` with all `w_j >= 0`. Here `C_j` is the
//! exact sum of the column's trees, and the intercept is absent, or the original's times a weight
//! of at least zero, or free. The models of the family decide by the original's rule with the
//! original's divisor; and wherever the original's exact lead of its winner over every other class
//! exceeds the band, their own exact lead of that class over every other is positive. A counted
//! intercept is a free one that is an **item** of its own after the columns: unless it is zero, it
//! has a cost, as in file formats that can hold a constant only as one more tree.
//!
//! Every tree of the original is in exactly one column, and a family without an intercept is
//! allowed only if the original has none. So the original, with all weights 1, is in every family,
//! and no bound is about an empty family.
//!
//! A term of a cut is a point, the winner y there (the original leads by more than the band,
//! exactly) and another class c. In every model of the family the lead of y over c is positive at
//! the point. That lead is the sum over columns of the weight times the lead of `C_j`, plus
//! constants: the threshold's, which counts once (in `at_most`, with the factor one); the
//! original's intercepts times their weight (also in `at_most`, if the intercept is scaled); or the
//! free intercepts (`balanced`).

use num_bigint::{BigInt, BigUint, Sign};
use secateur_certificate::{CutTerm, Intercept};
use secateur_kernel::{Constraints, Term};
use secateur_model::{
    Categories, ClassId, Ensemble, Exact, FeatureId, Grid, LeafId, NumberType, Output, Outside,
};

use crate::forest::int;
use crate::pair::{Lead, Pair, leaves, others};
use crate::refused::Refused;

/// The points and columns of a certificate, from which its cuts and crossings are lowered.
pub struct LoweredBounds<'a> {
    pair: &'a Pair<'a>,
    /// The models read different number types, so that only f32 numbers are inputs of the claim.
    mixed: bool,
    columns: Option<Columns>,
    points: Vec<f64>,
    /// For each point the class that leads by more than the band, computed on first use.
    winners: Vec<Option<Option<ClassId>>>,
}

struct Columns {
    intercept: Intercept,
    trees: Vec<Vec<u32>>,
    /// For each tree the leaf values times the tree's weight, as integers of one scale.
    values: Vec<Vec<BigInt>>,
    /// The intercepts at the same scale.
    intercepts: Vec<BigInt>,
}

/// Two inputs that differ in one column only and are decided differently. Their values in that
/// column are given as positions among all numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Crossing {
    /// The column.
    pub column: u32,
    /// The position of the lower value.
    pub low: u64,
    /// The position of the higher value.
    pub high: u64,
    /// Both values, as the original reads them.
    pub values: [f64; 2],
}

impl Columns {
    /// What a tree adds to a combination of sums at one of its leaves.
    fn tree_value(&self, model: &Ensemble, tree: u32, leaf: LeafId, terms: &[(usize, i64)]) -> BigInt {
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

impl<'a> LoweredBounds<'a> {
    /// Starts without points and columns.
    pub fn new(pair: &'a Pair<'a>) -> Self {
        let mixed = Grid::common_intake(&pair.models()).map_or(true, |accepted| accepted.mixed);
        Self { pair, mixed, columns: None, points: Vec::new(), winners: Vec::new() }
    }

    /// The first value of a row that the original reads, but that makes the row no input of the
    /// claim: the pruned model refuses it, it is the number of no label of a joined column, or no
    /// f32 where the models read different number types. A bound from such a row would be about
    /// models that decide more than the claim says.
    fn beyond_the_claim(&self, row: &[f64]) -> Option<usize> {
        let model = self.pair.pruned;
        row.iter().enumerate().position(|(at, &value)| {
            let feature = FeatureId::new(at);
            let label = |own: &Categories| value.is_nan() || own.accepts(value);
            let single = value.is_nan() || NumberType::F32.round(value) == value;
            model.read(feature, value).is_none()
                || !model.features().categories(feature).is_none_or(label)
                || self.mixed && !single
        })
    }

    /// The constraints of the family, for the kernel; none before the columns are given.
    pub fn family(&self) -> Option<Constraints> {
        let columns = self.columns.as_ref()?;
        let sums = self.pair.read.group_count();
        let (scaled, counted) = match columns.intercept {
            Intercept::None => (0, false),
            Intercept::Scaled => (1, false),
            Intercept::Free => (0, false),
            Intercept::Counted => (0, true),
        };
        let free = matches!(columns.intercept, Intercept::Free | Intercept::Counted);
        let balanced = if free { sums } else { 0 };
        Some(Constraints { columns: columns.trees.len(), at_most: 1 + scaled, balanced, counted })
    }

    /// How many columns there are, and how the models of the family may change the intercept.
    pub fn columns(&self) -> Option<(usize, Intercept)> {
        self.columns.as_ref().map(|columns| (columns.trees.len(), columns.intercept))
    }

    /// How many values all points have together.
    pub fn values(&self) -> usize {
        self.points.len()
    }

    fn point(&self, point: u32) -> Option<&[f64]> {
        let width = self.pair.read.features().len();
        let first = (point as usize).checked_mul(width)?;
        self.points.get(first..first + width)
    }

    /// The number of points so far.
    fn point_count(&self) -> usize {
        self.winners.len()
    }

    /// The class by which the original leads at this point by more than the band.
    fn winner_at(&mut self, point: u32) -> Option<ClassId> {
        if let Some(Some(known)) = self.winners.get(point as usize) {
            return *known;
        }
        let found = self.winner_of(self.point(point)?);
        self.winners[point as usize] = Some(found);
        found
    }

    /// The class by which the original leads on this row by more than the band; none if the row is
    /// no input of the claim.
    fn winner_of(&self, row: &[f64]) -> Option<ClassId> {
        if self.beyond_the_claim(row).is_some() {
            return None;
        }
        let classes = 0..self.pair.read.classes().len() as u32;
        classes.map(ClassId).find(|&class| self.pair.original_leads(row, class))
    }

    /// Adds a point. All points together may have `limit` values.
    pub fn add_point(&mut self, values: &[f64], limit: usize) -> Result<(), Refused> {
        let model = self.pair.read;
        let is_read = !values.is_empty() && leaves(model, values).is_some();
        let beyond = if is_read { self.beyond_the_claim(values) } else { None };
        if !is_read || beyond.is_some() {
            let mut each = values.iter().copied().enumerate();
            let columns = model.features().len();
            let unaccepted = each.find(|&(at, value)| model.read(FeatureId::new(at), value).is_none());
            let outside = || match model.domain().outside(values)? {
                Outside::Column(at) => Some((at.index(), values[at.index()])),
                Outside::Score(_) => None,
            };
            let unaccepted = unaccepted.or_else(|| (values.len() == columns).then(outside).flatten());
            let unaccepted = unaccepted.or_else(|| beyond.map(|at| (at, values[at])));
            return Err(Refused::PointValues { values: values.len(), columns, unaccepted });
        }
        let values_then = self.points.len() + values.len();
        if values_then > limit {
            return Err(Refused::LimitPoints { values: values_then, limit });
        }
        self.points.extend_from_slice(values);
        self.winners.push(None);
        Ok(())
    }

    /// Sets the columns, which is allowed once.
    pub fn set_columns(&mut self, intercept: Intercept, trees: Vec<Vec<u32>>) -> Result<(), Refused> {
        let model = self.pair.read;
        let count = model.trees().len();
        if self.columns.is_some() {
            return Err(Refused::ColumnsTree { tree: None, times: 2, trees: count });
        }
        let mut times = vec![0usize; count];
        for &tree in trees.iter().flatten() {
            let Some(times) = times.get_mut(tree as usize) else {
                return Err(Refused::ColumnsTree { tree: Some(tree), times: 1, trees: count });
            };
            *times += 1;
        }
        if let Some((tree, &times)) = times.iter().enumerate().find(|&(_, &times)| times != 1) {
            return Err(Refused::ColumnsTree { tree: Some(tree as u32), times, trees: count });
        }
        let mut intercepts = model.intercepts().iter().copied().enumerate();
        let start = intercepts.find(|&(_, value)| value != 0.0);
        if let (Intercept::None, Some((sum, value))) = (intercept, start) {
            return Err(Refused::ColumnsIntercept { sum, intercept: value });
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

    /// Refuses a term of a cut that states nothing true: the winner has to lead at the point.
    pub fn look_at(&mut self, term: &CutTerm) -> Result<(), Refused> {
        let model = self.pair.read;
        let (winner, other) = (ClassId(term.winner), ClassId(term.other));
        if self.point(term.point).is_none() {
            return Err(Refused::CutPoint { point: term.point, points: self.point_count() });
        }
        if !are_classes(model, winner, other) {
            let classes = model.classes().len();
            return Err(Refused::CutClasses { winner: term.winner, other: term.other, classes });
        }
        if term.multiplier == BigUint::ZERO {
            return Err(Refused::CutMultiplier { point: term.point });
        }
        let leads = self.winner_at(term.point);
        if leads != Some(winner) {
            let leads = leads.map(|class| class.0);
            return Err(Refused::CutLead { point: term.point, winner: term.winner, leads });
        }
        Ok(())
    }

    /// A term of a cut, in whole numbers; none before the columns are given.
    pub fn term(&mut self, term: &CutTerm) -> Result<Option<Term>, Refused> {
        self.look_at(term)?;
        let model = self.pair.read;
        let (winner, other) = (ClassId(term.winner), ClassId(term.other));
        let leaves = self.point(term.point).and_then(|row| leaves(model, row));
        let (Some(columns), Some(leaves)) = (&self.columns, leaves) else { return Ok(None) };
        let lead = Lead::of(model, winner, other);
        let of_column = |trees: &Vec<u32>| {
            let values =
                trees.iter().map(|&tree| columns.tree_value(model, tree, leaves[tree as usize], &lead.terms));
            int(&values.sum::<BigInt>())
        };
        // How often each sum counts in the lead.
        let mut counts = vec![0i64; model.group_count()];
        lead.terms.iter().for_each(|&(sum, factor)| counts[sum] += factor);
        // All leads of a model have the same constant except for its sign, so one scale serves all
        // terms.
        let mut at_most =
            vec![int(&lead.constant.scaled(lead.constant.exponent().min(0)).expect("its own scale"))];
        let mut balanced = Vec::new();
        match columns.intercept {
            Intercept::None => {}
            Intercept::Scaled => {
                let start: BigInt =
                    counts.iter().zip(&columns.intercepts).map(|(count, value)| value * count).sum();
                at_most.push(int(&start));
            }
            Intercept::Free | Intercept::Counted => {
                balanced.extend(counts.iter().map(|&count| int(&BigInt::from(count))));
            }
        }
        let multiplier = int(&BigInt::from_biguint(Sign::Plus, term.multiplier.clone()));
        let columns = columns.trees.iter().map(of_column).collect();
        Ok(Some(Term { multiplier, columns, at_most, balanced }))
    }

    /// A crossing: the point with the column set to `low` and to `high`. The original decides these
    /// two inputs differently, each by more than the band. So every ensemble that decides them as
    /// the original does has a split on the column that separates them.
    pub fn crossing(&mut self, point: u32, column: u32, low: f64, high: f64) -> Result<Crossing, Refused> {
        let model = self.pair.read;
        let no_place = Refused::CrossingPoint { point, points: self.point_count(), column };
        let Some(row) = self.point(point) else { return Err(no_place) };
        if column as usize >= row.len() || model.features().categories(FeatureId(column)).is_some() {
            return Err(no_place);
        }
        // The rows hold the values as given, since the claim's domain is about those.
        let read = [low, high].map(|value| model.intake().read(value));
        let [Some(below), Some(above)] = read else {
            return Err(Refused::CrossingValues { column, low, high });
        };
        if below.is_nan() || above.is_nan() || below >= above {
            return Err(Refused::CrossingValues { column, low, high });
        }
        let mut row = row.to_vec();
        let mut winner_with = |value: f64| {
            row[column as usize] = value;
            self.winner_of(&row)
        };
        let winners = [winner_with(low), winner_with(high)];
        if winners.contains(&None) || winners[0] == winners[1] {
            let [below, above] = winners.map(|class| class.map(|class| class.0));
            return Err(Refused::CrossingDecision { point, column, below, above });
        }
        Ok(Crossing { column, low: position(below), high: position(above), values: [below, above] })
    }
}

/// A number's position: positions are ordered as the numbers are, and both zeros have the same one.
fn position(value: f64) -> u64 {
    let bits = (value + 0.0).to_bits();
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

/// Is this an ordered pair of different classes?
fn are_classes(model: &Ensemble, winner: ClassId, other: ClassId) -> bool {
    winner.index() < model.classes().len() && others(model, winner).any(|class| class == other)
}
