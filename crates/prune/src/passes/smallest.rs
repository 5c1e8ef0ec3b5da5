//! The smallest set of columns from the best so far, with the constant among them where it takes a tree of its own.
//!
//! Where trees are votes, a constant is one more tree. It then counts as one more column behind the others: a cut of the columns
//! that holds whatever the constant is does not have it, and a cut that holds for no constant but zero does.

use secateur_lp::Limits;
use secateur_oracle::SearchBudget;

use crate::bounds::cut::{Cut, Cutter, Separating};
use crate::bounds::evidence::trees_in_no_column;
use crate::bounds::known::Known;
use crate::candidate::column::Intercept;
use crate::candidate::fold::Folded;
use crate::candidate::plan::Editable;
use crate::config::Objective;
use crate::passes::minimum::{Separate, Settle, Settled, minimum};
use crate::points::point::Points;
use crate::search::Search;
use crate::watch::Pass;

/// The smallest set of columns, from the best so far; with the constant among them where it takes a tree of its own.
pub(crate) fn smallest<M: Editable>(
    search: &mut Search<'_, M>,
    cutter: &mut Cutter,
    known: &mut Known,
    rounds: Option<usize>,
    budget: &SearchBudget,
) {
    search.begin(Pass::Minimum);
    let objective = search.problem.config.objective;
    let columns = search.points.columns().iter();
    let mut costs: Vec<u64> =
        columns.map(|column| whole_cost(search.problem.folded, &column.terms, objective)).collect();
    let start = kept(search);
    // First the constant is free, so cuts that have it say nothing.
    let (cuts, with_constant): (Vec<Cut>, Vec<Cut>) = std::mem::take(&mut known.cuts)
        .into_iter()
        .partition(|cut| cut.columns.iter().all(|&column| column < costs.len()));
    let mut found = minimum(search, cutter, &costs, start, cuts, rounds, budget);
    if counts_constant(search) {
        // Most of the work is done: what is left are sets of columns that do without a constant.
        let constant = constant(search);
        let mut start = kept(search);
        let columns = search.points.columns().iter().zip(&start).filter(|(_, kept)| **kept);
        let trees: usize = columns.map(|(column, _)| column.terms.len()).sum();
        start.resize(constant + 1, false);
        start[constant] = search.best.size.trees > trees;
        // Nothing of what is between the columns and the constant is in a cut.
        costs.resize(constant + 1, 1);
        costs[constant] = constant_cost(objective);
        let mut cutter = CountingCutter {
            constant,
            free: cutter,
            without: Cutter::new(search.problem.model, Intercept::None),
        };
        let before = found;
        // What was known before keeps its number, for the proof speaks of it.
        let cuts = before.cuts.iter().cloned().chain(with_constant).collect();
        found = minimum(&mut Counting { search, constant }, &mut cutter, &costs, start, cuts, rounds, budget);
        if found.bound < before.bound {
            (found.bound, found.proof) = (before.bound, before.proof);
        }
    }
    known.irreducible |= found.is_proved();
    known.cuts = found.cuts;
    known.minimal = Some(found.proof);
}

/// The columns of the best model so far.
fn kept<M: Editable>(search: &Search<'_, M>) -> Vec<bool> {
    match &search.best_weights {
        Some(weights) => weights.columns.iter().map(|&weight| weight > 0.0).collect(),
        None => vec![true; search.points.columns().len()],
    }
}

/// Does a constant take a tree of its own?
pub(crate) fn counts_constant<M: Editable>(search: &Search<'_, M>) -> bool {
    search.problem.file.votes_only() && search.intercept == Intercept::Free
}

/// The constant's number among the columns of cuts: it stands behind all of the evidence's columns.
pub(crate) fn constant<M: Editable>(search: &Search<'_, M>) -> usize {
    search.points.columns().len() + usize::from(!trees_in_no_column(&search.points).is_empty())
}

/// Settles columns of which one is the constant.
struct Counting<'e, 'a, M> {
    search: &'e mut Search<'a, M>,
    constant: usize,
}

impl<'a, M: Editable> Settle<'a> for Counting<'_, 'a, M> {
    fn settle(&mut self, kept: &[bool]) -> Settled {
        if !kept[self.constant] {
            self.search.intercept = Intercept::None;
        }
        let settled = Settle::settle(self.search, &kept[..self.search.points.columns().len()]);
        self.search.intercept = Intercept::Free;
        settled
    }

    fn points(&self) -> &Points<'a> {
        &self.search.points
    }
}

/// Finds cuts among columns of which one is the constant.
struct CountingCutter<'c> {
    constant: usize,
    free: &'c mut Cutter,
    without: Cutter,
}

impl Separate for CountingCutter<'_> {
    fn separate(&mut self, points: &Points<'_>, kept: &[bool], limits: &Limits<'_>) -> Separating {
        let columns = &kept[..points.columns().len()];
        if kept[self.constant] {
            return self.free.separate(points, columns, limits);
        }
        match self.without.separate(points, columns, limits) {
            Separating::Cut(mut cut) => {
                cut.columns.push(self.constant);
                Separating::Cut(cut)
            }
            other => other,
        }
    }
}

/// What columns cost, as a whole number.
pub(crate) fn whole_cost(folded: &Folded, terms: &[usize], objective: Objective) -> u64 {
    let trees = terms.iter().map(|&term| &folded.terms[term].tree);
    match objective {
        Objective::Trees => terms.len() as u64,
        Objective::Leaves => trees.map(|tree| tree.leaf_count() as u64).sum(),
        // Every tree has a frame beside its nodes.
        Objective::Bytes => trees.map(|tree| tree.node_count() as u64 + 4).sum(),
    }
}

/// What a tree costs that is a constant, as a whole number.
fn constant_cost(objective: Objective) -> u64 {
    match objective {
        Objective::Trees | Objective::Leaves => 1,
        Objective::Bytes => 5,
    }
}
