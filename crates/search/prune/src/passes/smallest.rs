//! The smallest set of columns, starting from the best known. A constant counts as a column if it
//! takes a tree of its own.
//!
//! Where trees are votes, a constant is one more tree. It then counts as one more column, after the
//! others. A cut that holds for every constant does not contain it; a cut that holds only without a
//! constant does.

use secateur_lp::Limits;
use secateur_oracle::SearchBudget;

use crate::bounds::cut::{ColumnCut, Cutter, Separating};
use crate::bounds::evidence::trees_in_no_column;
use crate::bounds::known::Known;
use crate::candidate::column::Intercept;
use crate::candidate::fold::Folded;
use crate::candidate::plan::Editable;
use crate::config::Objective;
use crate::passes::minimum::{Covers, Separate, Settle, Settled, minimum};
use crate::points::point::Points;
use crate::search::Search;
use crate::watch::Pass;

/// Looks for the smallest set of columns, starting from the best known.
pub(crate) fn smallest<M: Editable>(
    search: &mut Search<'_, M>,
    cutter: &mut Cutter,
    known: &mut Known,
    covers: Covers,
    budget: &SearchBudget,
) {
    search.begin(Pass::Minimum);
    let objective = search.problem.config.objective;
    let columns = search.points.columns().iter();
    let mut costs: Vec<u64> =
        columns.map(|column| whole_cost(search.problem.folded, &column.terms, objective)).collect();
    let start = kept(search);
    // In the first search the constant is free, so cuts that contain it are of no use.
    let (cuts, with_constant): (Vec<ColumnCut>, Vec<ColumnCut>) = std::mem::take(&mut known.cuts)
        .into_iter()
        .partition(|cut| cut.columns.iter().all(|&column| column < costs.len()));
    let mut found = minimum(search, cutter, &costs, start, cuts, covers, budget);
    if counts_constant(search) {
        // Most of the work is done: what is left to search are sets without the constant.
        let constant = constant(search);
        let mut start = kept(search);
        let columns = search.points.columns().iter().zip(&start).filter(|(_, kept)| **kept);
        let trees: usize = columns.map(|(column, _)| column.terms.len()).sum();
        start.resize(constant + 1, false);
        start[constant] = search.best.size.trees > trees;
        // If there is an index between the columns and the constant, it is in no cut.
        costs.resize(constant + 1, 1);
        costs[constant] = constant_cost(objective);
        let mut cutter = CountingCutter {
            constant,
            free: cutter,
            without: Cutter::new(search.problem.model, Intercept::None),
        };
        let before = found;
        // Earlier cuts keep their indices, because the proof of the bound refers to them.
        let cuts = before.cuts.iter().cloned().chain(with_constant).collect();
        found = minimum(&mut Counting { search, constant }, &mut cutter, &costs, start, cuts, covers, budget);
        if found.bound < before.bound {
            (found.bound, found.proof) = (before.bound, before.proof);
        }
    }
    known.irreducible |= found.is_proved();
    known.cuts = found.cuts;
    known.minimal = Some(found.proof);
}

/// The columns of the best model.
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

/// The constant's index among the columns of cuts: it comes after all of the evidence's columns.
pub(crate) fn constant<M: Editable>(search: &Search<'_, M>) -> usize {
    search.points.columns().len() + usize::from(!trees_in_no_column(&search.points).is_empty())
}

/// Settles sets of columns where the constant is one of the columns.
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

/// Finds cuts where the constant is one of the columns.
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

/// The cost of a column as a whole number.
pub(crate) fn whole_cost(folded: &Folded, terms: &[usize], objective: Objective) -> u64 {
    let trees = terms.iter().map(|&term| &folded.terms[term].tree);
    match objective {
        Objective::Trees => terms.len() as u64,
        Objective::Leaves => trees.map(|tree| tree.leaf_count() as u64).sum(),
        // Every tree has a frame in addition to its nodes.
        Objective::Bytes => trees.map(|tree| tree.node_count() as u64 + 4).sum(),
    }
}

/// The cost of a constant that is a tree, as a whole number.
fn constant_cost(objective: Objective) -> u64 {
    match objective {
        Objective::Trees | Objective::Leaves => 1,
        Objective::Bytes => 5,
    }
}
