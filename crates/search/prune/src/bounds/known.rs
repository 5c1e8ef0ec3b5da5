//! What a run knows apart from its best model: cuts, relevant boundaries, and the lower bound that
//! follows.

use std::time::{Duration, Instant};

use num_bigint::BigUint;
use secateur_oracle::SearchBudget;

use crate::bounds::cover::{CoverProof, cheapest_cover, check_cover};
use crate::bounds::cut::{ColumnCut, Cutter, Separating};
use crate::bounds::evidence::{Bound, Evidence};
use crate::candidate::column::Intercept;
use crate::candidate::plan::Editable;
use crate::passes::minimum::sets;
use crate::passes::relevant::Relevant;
use crate::passes::smallest::{constant, counts_constant};
use crate::search::weight_program::Rows;
use crate::search::{Judge, Search, Settled};

/// The least time that a bound gets, even after the run's time is over.
const COVER: Duration = Duration::from_millis(50);

/// What is known apart from the best model.
#[derive(Default)]
pub(crate) struct Known {
    pub(crate) irreducible: bool,
    /// The cuts. Where a constant takes a tree of its own, it may be among their columns, with the
    /// index [`constant`].
    pub(crate) cuts: Vec<ColumnCut>,
    pub(crate) relevant: Option<Relevant>,
    /// The proof of the bound from the search for the smallest columns. It refers to the cuts known
    /// then, which are the first in `cuts`.
    pub(crate) minimal: Option<CoverProof>,
}

impl Known {
    /// For each column, whether it is a cut by itself.
    pub(crate) fn indispensable(&self, columns: usize) -> Vec<bool> {
        let mut alone = vec![false; columns];
        for cut in &self.cuts {
            if let [column] = cut.columns[..]
                && column < columns
            {
                alone[column] = true;
            }
        }
        alone
    }
}

/// No model that the moves allow has fewer trees than this: the cost of the cheapest cover of all
/// cuts, or a bound on it.
pub(crate) fn lower_bound<M: Editable>(search: &Search<'_, M>, known: &Known) -> usize {
    cover_bound(search, known).map_or(0, |(bound, _)| bound as usize)
}

/// A bound on the cost of all covers of the cuts, with its proof.
pub(crate) fn cover_bound<M: Editable>(search: &Search<'_, M>, known: &Known) -> Option<(u64, CoverProof)> {
    let costs = tree_costs(search, known);
    let sets = sets(&known.cuts);
    let proved = known.minimal.as_ref().and_then(|proof| Some((check_cover(&sets, &costs, proof)?, proof)));
    if let Some((bound, proof)) = proved
        && bound >= search.best.size.trees as u64
    {
        return Some((bound, proof.clone()));
    }
    // The search gives some bound at once and a better one with a little more time.
    let least = Instant::now() + COVER;
    let deadline = search.deadline().map(|deadline| deadline.max(least));
    let cover = cheapest_cover(&sets, &costs, &SearchBudget { deadline, ..search.budget() })?;
    match proved {
        Some((bound, proof)) if bound > cover.bound => Some((bound, proof.clone())),
        _ => Some((cover.bound, cover.proof)),
    }
}

/// The costs of the evidence's columns in trees: those of each column, one for the trees in no
/// column, and one for the constant if a cut contains it.
fn tree_costs<M: Editable>(search: &Search<'_, M>, known: &Known) -> Vec<u64> {
    let mut costs: Vec<u64> =
        search.points.columns().iter().map(|column| column.terms.len() as u64).collect();
    costs.resize(constant(search) + usize::from(has_constant(search, known)), 1);
    costs
}

/// Does a cut contain the constant?
fn has_constant<M: Editable>(search: &Search<'_, M>, known: &Known) -> bool {
    let constant = constant(search);
    known.cuts.iter().any(|cut| cut.columns.last() == Some(&constant))
}

/// Looks for a cut with the constant, which is one more tree where trees are votes. If as many
/// columns must stay as the lower bound counts, they are the only set of that size. Either they
/// suffice without a constant, or a cut that holds without a constant, and that they do not meet,
/// shows that they do not. In the second case a column of the cut stays too, or a constant. No
/// column contains a constant: a vote plus a constant is no vote, so folding keeps them apart.
pub(crate) fn without_constant<M: Editable>(search: &mut Search<'_, M>, known: &mut Known) {
    let Some(must) = only_columns(search, known) else { return };
    search.intercept = Intercept::None;
    let mut program = search.program(&search.costs(), &must, Rows::Lead);
    if !matches!(search.settle(&mut program, Judge::Proof), Settled::Proved(_)) {
        let stop = || search.spent();
        let limits = secateur_lp::Limits { deadline: search.deadline(), stop: Some(&stop) };
        let mut cutter = Cutter::new(search.problem.model, Intercept::None);
        if let Separating::Cut(cut) = cutter.separate(&search.points, &must, &limits) {
            known.cuts.push(or_constant(search, cut));
        }
    }
    search.intercept = Intercept::Free;
}

/// Does the same with inputs at opposite ends of every axis (see `constant_needed`), without a
/// solver.
pub(crate) fn with_opposite_corners<M: Editable>(
    search: &mut Search<'_, M>,
    known: &mut Known,
    opposite_corners: &[Vec<f64>],
) {
    let Some(must) = only_columns(search, known) else { return };
    let mut demands = Vec::new();
    for row in opposite_corners {
        let Some(point) = search.points.place(row) else { return };
        demands.extend(search.points.demands_of(point).map(|demand| (demand, BigUint::from(1u32))));
    }
    let cut = Cutter::new(search.problem.model, Intercept::None).cut(&search.points, demands);
    let cut = cut.filter(|cut| !cut.columns.iter().any(|&column| must[column]));
    known.cuts.extend(cut.map(|cut| or_constant(search, cut)));
}

/// A cut that holds without a constant, extended by the constant so that it always holds.
fn or_constant<M: Editable>(search: &Search<'_, M>, mut cut: ColumnCut) -> ColumnCut {
    cut.columns.push(constant(search));
    cut
}

/// The columns that must stay, if trees are votes and no other set is as small as the bound.
fn only_columns<M: Editable>(search: &Search<'_, M>, known: &Known) -> Option<Vec<bool>> {
    if !counts_constant(search) {
        return None;
    }
    let must = known.indispensable(search.points.columns().len());
    let count = must.iter().filter(|&&must| must).count();
    (count > 0 && lower_bound(search, known) == count).then_some(must)
}

/// The evidence that the bounds rest on.
pub(crate) fn evidence<M: Editable>(
    search: &Search<'_, M>,
    known: &Known,
    bound: Option<(u64, CoverProof)>,
) -> Evidence {
    let intercept = match has_constant(search, known) {
        true => secateur_certificate::Intercept::Counted,
        false => search.intercept.into(),
    };
    let mut evidence = Evidence::new(&search.points, intercept);
    if let Some((least, proof)) = bound.filter(|(least, _)| *least > 0) {
        let bound = Bound { costs: tree_costs(search, known), least, proof };
        evidence = evidence.with_bound(&search.points, &known.cuts, bound);
    }
    if let Some(relevant) = &known.relevant {
        evidence = evidence.with_relevant(&search.points, search.problem.space.grid(), relevant);
    }
    evidence
}
