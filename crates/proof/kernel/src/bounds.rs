//! Lower bounds on what a smaller model needs: cuts, covers and crossings.
//!
//! A *family* of models is given by items: columns (groups of trees, each with a weight of at least
//! zero) and, if the constants are counted, one more item for them. An item is *there* in a model
//! if its weight is positive, or if the constants are not all zero. Only the caller knows what the
//! terms of a cut mean; here it only matters that in every model of the family
//!
//! ```text
//! sum over columns of weight * term.columns + constants > 0
//! ```
//!
//! for each term.

use std::collections::BTreeMap;

use crate::Limits;
use crate::refusal::Refusal;
use crate::wide::Int;

/// One fact about every model of the family: a combination of its weights and constants is
/// positive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Term {
    /// What this fact is multiplied by; above zero.
    pub multiplier: Int,
    /// For each column the factor of its weight.
    pub columns: Vec<Int>,
    /// Factors of constants that are at least zero in every model: combined they must be at most
    /// zero.
    pub at_most: Vec<Int>,
    /// Factors of free constants: combined they must be zero, unless the constants are an item.
    pub balanced: Vec<Int>,
}

/// What is said of the family's constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Constraints {
    /// The number of columns.
    pub columns: usize,
    /// The number of factors in `at_most` of each term.
    pub at_most: usize,
    /// The number of factors in `balanced` of each term.
    pub balanced: usize,
    /// Whether the constants are an item, the last one.
    pub counted: bool,
}

/// The cuts of a family: at least one item of each cut is there in every model.
pub struct Cuts {
    family: Constraints,
    limits: Limits,
    /// Each cut as a set of items, in words of 64 bits.
    sets: Vec<Vec<u64>>,
}

impl Cuts {
    /// Starts without cuts.
    pub fn new(family: Constraints, limits: Limits) -> Self {
        Self { family, limits, sets: Vec::new() }
    }

    /// The number of items.
    pub fn items(&self) -> usize {
        self.family.columns + usize::from(self.family.counted)
    }

    /// Adds a cut: the columns whose combined factor is positive, and the constants if they are
    /// counted and do not cancel.
    ///
    /// Why one of these items is there in every model of the family: the terms are positive and
    /// there is one, so their sum, each times its positive multiplier, is positive. It equals the
    /// sum over columns of weight times combined factor, plus what the constants add: at most zero,
    /// or zero, or (counted) zero unless the constants are there. With all items of the cut absent
    /// every summand would be at most zero.
    pub fn add(&mut self, terms: &[Term]) -> Result<(), Refusal> {
        if terms.is_empty() {
            return Err(Refusal::CutEmpty);
        }
        let Constraints { columns, at_most, balanced, counted } = self.family;
        let fits = |term: &Term| {
            let shape = (term.columns.len(), term.at_most.len(), term.balanced.len());
            shape == (columns, at_most, balanced) && term.multiplier.is_positive()
        };
        if !terms.iter().all(fits) {
            return Err(Refusal::CutShape);
        }
        let combined = |which: usize, of: fn(&Term) -> &Vec<Int>| {
            let parts = terms.iter().map(|term| of(term)[which].times_wide(&term.multiplier));
            parts.fold(Int::ZERO, |sum, part| sum.plus(&part))
        };
        for which in 0..at_most {
            let left = combined(which, |term| &term.at_most);
            if left.is_positive() {
                return Err(Refusal::CutPositive { which, left });
            }
        }
        let mut free = (0..balanced).map(|which| (which, combined(which, |term| &term.balanced)));
        let unbalanced = free.find(|(_, left)| *left != Int::ZERO);
        if let (false, Some((which, left))) = (counted, &unbalanced) {
            return Err(Refusal::CutUnbalanced { which: *which, left: left.clone() });
        }
        let words = self.items().div_ceil(64);
        let (cuts, limit) = (self.sets.len() + 1, self.limits.cut_bytes);
        let bytes = cuts.saturating_mul(words * 8 + 24);
        if bytes > limit {
            return Err(Refusal::LimitCuts { cuts, bytes, limit });
        }
        let mut set = vec![0u64; words];
        let positive = (0..columns).filter(|&column| combined(column, |term| &term.columns).is_positive());
        for item in positive.chain(unbalanced.map(|_| columns)) {
            set[item / 64] |= 1 << (item % 64);
        }
        self.sets.push(set);
        Ok(())
    }
}

/// The proof that the items that are there cost at least a bound, in every model of a family.
///
/// It is a tree of cases. Each case says of some items that they are there (kept) or are not there.
/// In each case multipliers `u_c = numerator / denominator >= 0` of cuts are given. Only the cuts
/// without a kept item are considered. For every undecided item the `u_c` of those of its cuts add
/// up to at most its cost, and `cost of the kept items + up(sum of u_c) >= bound`.
///
/// Why this suffices: let T be the set of items that are there; T belongs to one case. Every cut
/// has an item in T, so a cut without a kept item has an undecided one in T. So the cost of T
/// without the kept items is at least the sum over these items of the `u_c` of their cuts, which is
/// at least the sum of all `u_c`. Costs are whole numbers, so that sum may be rounded up. Items
/// that are not there need no inequality, because they are not in T.
pub struct Cover {
    costs: Option<Vec<u64>>,
    bound: u64,
    /// For each item whether it is kept in the present case; `None` if it is undecided.
    decided: Vec<Option<bool>>,
    /// The items that were decided on the way to the present case.
    path: Vec<usize>,
}

impl Cover {
    /// Begins the proof of a bound. Without costs every item costs one.
    pub fn new(items: usize, costs: Option<Vec<u64>>, bound: u64) -> Result<Self, Refusal> {
        if let Some(costs) = costs.as_ref().filter(|costs| costs.len() != items) {
            return Err(Refusal::CoverCosts { costs: costs.len(), items });
        }
        Ok(Self { costs, bound, decided: vec![None; items], path: Vec::new() })
    }

    fn cost(&self, item: usize) -> u128 {
        self.costs.as_ref().map_or(1, |costs| costs[item].into())
    }

    /// Splits the present case in two. The case in which the item is kept comes first.
    pub fn branch(&mut self, item: u32) -> Result<(), Refusal> {
        let refused = Refusal::CoverItem { item, items: self.decided.len() };
        match self.decided.get_mut(item as usize) {
            Some(decided @ None) => *decided = Some(true),
            _ => return Err(refused),
        }
        self.path.push(item as usize);
        Ok(())
    }

    /// Shows the bound in the present case, by cuts and their numerators. Returns whether it was
    /// the last case.
    pub fn dual(&mut self, cuts: &Cuts, denominator: u64, terms: &[(u32, u64)]) -> Result<bool, Refusal> {
        if denominator == 0 {
            return Err(Refusal::CoverDual { item: None, load: 0, denominator, cost: 0 });
        }
        let kept = |item: &usize| self.decided[*item] == Some(true);
        let mut loads = vec![0u128; self.decided.len()];
        let mut total = 0u128;
        for &(cut, numerator) in terms {
            let set = cuts.sets.get(cut as usize).ok_or(Refusal::CoverCut { cut, cuts: cuts.sets.len() })?;
            let members = || (0..self.decided.len()).filter(|item| set[item / 64] >> (item % 64) & 1 == 1);
            if members().any(|item| kept(&item)) {
                continue;
            }
            members().for_each(|item| loads[item] += u128::from(numerator));
            total += u128::from(numerator);
        }
        let scale = u128::from(denominator);
        let exceeds =
            |&(item, &load): &(usize, &u128)| self.decided[item].is_none() && load > self.cost(item) * scale;
        if let Some((item, &load)) = loads.iter().enumerate().find(exceeds) {
            return Err(Refusal::CoverDual { item: Some(item), load, denominator, cost: self.cost(item) });
        }
        let kept_cost: u128 = (0..self.decided.len()).filter(kept).map(|item| self.cost(item)).sum();
        let reached = kept_cost + total.div_ceil(scale);
        if reached < u128::from(self.bound) {
            return Err(Refusal::CoverBound { reached, bound: self.bound });
        }
        // Continue with the second case of the last branch that has not had it yet.
        while let Some(&item) = self.path.last() {
            if self.decided[item] == Some(true) {
                self.decided[item] = Some(false);
                return Ok(false);
            }
            self.decided[item] = None;
            self.path.pop();
        }
        Ok(true)
    }
}

/// Disjoint intervals of each column that some split must separate.
///
/// A crossing says that every model of interest separates two inputs which differ in one column
/// alone, at the positions `low < high`. A split by one threshold sends to its lower side a set
/// that is closed downward, so a split that separates `a < b` separates no `c < d` with `b <= c`:
/// disjoint intervals need different splits.
#[derive(Default)]
pub struct Crossings(BTreeMap<u32, BTreeMap<u64, u64>>);

impl Crossings {
    /// Adds the interval from `low` up to, but not including, `high`. Refuses one that overlaps
    /// another.
    pub fn add(&mut self, column: u32, low: u64, high: u64) -> Result<(), Refusal> {
        let known = self.0.entry(column).or_default();
        let before = known.range(..=low).next_back().is_some_and(|(_, &end)| end > low);
        let after = known.range(low..).next().is_some_and(|(&start, _)| start < high);
        if low >= high || before || after {
            return Err(Refusal::CrossingOverlap);
        }
        known.insert(low, high);
        Ok(())
    }

    /// The number of crossings, which is the number of splits that every such model needs at least.
    pub fn count(&self) -> usize {
        self.0.values().map(BTreeMap::len).sum()
    }
}
