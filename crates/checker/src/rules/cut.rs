//! Rule `cut`: of some columns one has positive weight.
//!
//! Premise: at least one term; terms i with a point, its winner y_i (the original leads there by more than the band, exactly),
//! another class c_i, and a multiplier m_i > 0. With `lead_i` the lead of y_i over c_i as a function of sums, let
//! `t_j = sum of m_i * lead_i(C_j at point i)` for each column j, without the constant of the lead. What is not
//! a column cannot be positive: the sum of `m_i` times the constants of the leads is at most 0, and
//! - intercept scaled: its own combination is at most 0;
//! - intercept free: the multipliers of every sum add up to 0;
//! - intercept counted: they do, or the constant is one of the items of S.
//!
//! Conclusion: in every model of the family some column of `S = {j : t_j > 0}` has positive weight, or, where the
//! constant is in S, it is not zero.
//! Why: the model's lead is positive in every term, and there is one, so the sum of m_i times its leads is positive; it equals
//! `sum of w_j * t_j` plus what is at most 0 (a constant that is in S and zero adds nothing). With all weights in S
//! zero every term of that sum would be at most 0.
//! Refuses: `cut.empty`, `cut.point`, `cut.classes`, `cut.lead`, `cut.multiplier`, `cut.intercept`; `limit.cuts`.
//! Specification: section 7.3.

use num_bigint::{BigInt, BigUint, Sign};
use num_traits::{Signed, Zero};
use secateur_certificate::{CutTerm, Intercept};
use secateur_model::{ClassId, Exact};

use crate::bounds::{Bounds, are_classes};
use crate::pair::{Lead, leaves};
use crate::verdict::Reason;

pub(crate) fn cut(bounds: &mut Bounds<'_>, terms: &[CutTerm]) -> Result<(), Reason> {
    if terms.is_empty() {
        return Err(Reason::CutEmpty);
    }
    for term in terms {
        let (winner, other) = (ClassId(term.winner), ClassId(term.other));
        bounds.point(term.point).ok_or(Reason::CutPoint)?;
        if !are_classes(bounds.pair.original, winner, other) {
            return Err(Reason::CutClasses);
        }
        if term.multiplier == BigUint::ZERO {
            return Err(Reason::CutMultiplier);
        }
        if bounds.winner_at(term.point) != Some(winner) {
            return Err(Reason::CutLead);
        }
    }
    let model = bounds.pair.original;
    let columns = bounds.columns.as_ref().ok_or(Reason::OrderUnexpected)?;
    let mut totals = vec![BigInt::zero(); columns.trees.len()];
    // How often each sum counts, and the constants of the leads.
    let mut sums = vec![BigInt::zero(); model.group_count()];
    let mut constant = Exact::zero();
    for term in terms {
        let row = bounds.point(term.point).ok_or(Reason::CutPoint)?;
        let leaves = leaves(model, row).ok_or(Reason::CutPoint)?;
        let lead = Lead::of(model, ClassId(term.winner), ClassId(term.other));
        let multiplier = BigInt::from_biguint(Sign::Plus, term.multiplier.clone());
        for (total, trees) in totals.iter_mut().zip(&columns.trees) {
            let value: BigInt = trees
                .iter()
                .map(|&tree| columns.tree_value(model, tree, leaves[tree as usize], &lead.terms))
                .sum();
            *total += value * &multiplier;
        }
        for &(sum, factor) in &lead.terms {
            sums[sum] += &multiplier * factor;
        }
        constant = &constant + &(&lead.constant * &Exact::new(multiplier, 0));
    }
    let balanced = sums.iter().all(BigInt::is_zero);
    let intercept_is_harmless = match columns.intercept {
        // A counted constant joins the cut below.
        Intercept::None | Intercept::Counted => true,
        Intercept::Scaled => {
            let combined: BigInt =
                sums.iter().zip(&columns.intercepts).map(|(count, value)| count * value).sum();
            !combined.is_positive()
        }
        Intercept::Free => balanced,
    };
    if constant.signum() > 0 || !intercept_is_harmless {
        return Err(Reason::CutIntercept);
    }
    let words = columns.items().div_ceil(64);
    if (bounds.cuts.len() + 1).saturating_mul(words * 8 + 24) > bounds.limits.cut_bytes {
        return Err(Reason::LimitCuts);
    }
    let mut set = vec![0u64; words];
    let positive =
        totals.iter().enumerate().filter(|(_, total)| total.is_positive()).map(|(column, _)| column);
    let constant = (columns.intercept == Intercept::Counted && !balanced).then_some(columns.trees.len());
    for item in positive.chain(constant) {
        set[item / 64] |= 1 << (item % 64);
    }
    bounds.cuts.push(set);
    Ok(())
}
