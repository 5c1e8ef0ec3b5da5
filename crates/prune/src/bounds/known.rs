//! What a run knows beside its best model: cuts, thresholds that matter, and the lower bound that follows from them.

use std::time::{Duration, Instant};

use num_bigint::BigUint;
use secateur_oracle::SearchBudget;

use crate::bounds::cover::{CoverProof, cheapest_cover, check_cover};
use crate::bounds::cut::{Cut, Cutter, Separating};
use crate::bounds::evidence::{Bound, Evidence};
use crate::candidate::column::Intercept;
use crate::candidate::plan::Editable;
use crate::passes::minimum::sets;
use crate::passes::relevant::Relevant;
use crate::passes::smallest::{constant, counts_constant};
use crate::search::weight_program::Rows;
use crate::search::{Judge, Search, Settled};

/// What a bound may take when the time of the run is over.
const COVER: Duration = Duration::from_millis(50);

/// What is known beside the best model.
#[derive(Default)]
pub(crate) struct Known {
    pub(crate) irreducible: bool,
    /// Where a constant takes a tree of its own, it may be in cuts too, by the number [`constant`].
    pub(crate) cuts: Vec<Cut>,
    pub(crate) relevant: Option<Relevant>,
    /// Why no cover of the first cuts costs less than the smallest columns that were found, where that is proved.
    pub(crate) minimal: Option<CoverProof>,
}

impl Known {
    /// The columns that are a cut alone.
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

/// No fewer trees can do: the cheapest cover of all cuts.
pub(crate) fn lower_bound<M: Editable>(search: &Search<'_, M>, known: &Known) -> usize {
    cover_bound(search, known).map_or(0, |(bound, _)| bound as usize)
}

/// No cover of all cuts costs less than this, and why.
pub(crate) fn cover_bound<M: Editable>(search: &Search<'_, M>, known: &Known) -> Option<(u64, CoverProof)> {
    let costs = tree_costs(search, known);
    let sets = sets(&known.cuts);
    let proved = known.minimal.as_ref().and_then(|proof| Some((check_cover(&sets, &costs, proof)?, proof)));
    if let Some((bound, proof)) = proved
        && bound >= search.best.size.trees as u64
    {
        return Some((bound, proof.clone()));
    }
    // Whatever cuts there are give some bound at once, and a better one with a little time.
    let least = Instant::now() + COVER;
    let deadline = search.problem.config.deadline.map(|deadline| deadline.max(least));
    let cover = cheapest_cover(&sets, &costs, &SearchBudget { deadline, ..search.budget() })?;
    match proved {
        Some((bound, proof)) if bound > cover.bound => Some((bound, proof.clone())),
        _ => Some((cover.bound, cover.proof)),
    }
}

/// What the columns of the evidence cost: the trees of each, one for trees in none of them, and one for the constant where a
/// cut has it.
fn tree_costs<M: Editable>(search: &Search<'_, M>, known: &Known) -> Vec<u64> {
    let mut costs: Vec<u64> =
        search.points.columns().iter().map(|column| column.terms.len() as u64).collect();
    costs.resize(constant(search) + usize::from(has_constant(search, known)), 1);
    costs
}

/// Is the constant in a cut?
fn has_constant<M: Editable>(search: &Search<'_, M>, known: &Known) -> bool {
    let constant = constant(search);
    known.cuts.iter().any(|cut| cut.columns.last() == Some(&constant))
}

/// Where trees are votes, a constant is one more tree. If so many columns must stay as the bound has, they
/// are the only set of that size: either they can do without a constant, or a cut that they do not meet,
/// with no constant to help, shows that they cannot: one of its own columns stays too, or a constant. No
/// column holds a constant itself: a vote plus a constant is no vote, so folding keeps them apart.
pub(crate) fn without_constant<M: Editable>(search: &mut Search<'_, M>, known: &mut Known) {
    let Some(must) = only_columns(search, known) else { return };
    search.intercept = Intercept::None;
    let mut program = search.program(&search.costs(), &must, Rows::Lead);
    if !matches!(search.settle(&mut program, Judge::Proof), Settled::Proved(_)) {
        let stop = || search.spent();
        let limits = secateur_lp::Limits { deadline: search.problem.config.deadline, stop: Some(&stop) };
        let mut cutter = Cutter::new(search.problem.model, Intercept::None);
        if let Separating::Cut(cut) = cutter.separate(&search.points, &must, &limits) {
            known.cuts.push(or_constant(search, cut));
        }
    }
    search.intercept = Intercept::Free;
}

/// The same from inputs at opposite ends of every axis (see `constant_needed`), without a solver.
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

/// A cut that holds without a constant, with the constant among its columns.
fn or_constant<M: Editable>(search: &Search<'_, M>, mut cut: Cut) -> Cut {
    cut.columns.push(constant(search));
    cut
}

/// The columns that must stay, where trees are votes and no other set is as small as the bound.
fn only_columns<M: Editable>(search: &Search<'_, M>, known: &Known) -> Option<Vec<bool>> {
    if !counts_constant(search) {
        return None;
    }
    let must = known.indispensable(search.points.columns().len());
    let count = must.iter().filter(|&&must| must).count();
    (count > 0 && lower_bound(search, known) == count).then_some(must)
}

/// What the bounds rest on.
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
