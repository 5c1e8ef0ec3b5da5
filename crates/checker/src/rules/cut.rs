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
use crate::reason::Reason;

const NO_COLUMNS: Reason = Reason::OrderUnexpected { found: "Cut", place: "before the columns are given" };

pub(crate) fn cut(bounds: &mut Bounds<'_>, terms: &[CutTerm]) -> Result<(), Reason> {
    if terms.is_empty() {
        return Err(Reason::CutEmpty);
    }
    for term in terms {
        let (winner, other) = (ClassId(term.winner), ClassId(term.other));
        if bounds.point(term.point).is_none() {
            return Err(no_point(bounds, term.point));
        }
        if !are_classes(bounds.pair.read, winner, other) {
            let classes = bounds.pair.read.classes().len();
            return Err(Reason::CutClasses { winner: term.winner, other: term.other, classes });
        }
        if term.multiplier == BigUint::ZERO {
            return Err(Reason::CutMultiplier { point: term.point });
        }
        let leads = bounds.winner_at(term.point);
        if leads != Some(winner) {
            let leads = leads.map(|class| class.0);
            return Err(Reason::CutLead { point: term.point, winner: term.winner, leads });
        }
    }
    let model = bounds.pair.read;
    let columns = bounds.columns.as_ref().ok_or(NO_COLUMNS)?;
    let mut totals = vec![BigInt::zero(); columns.trees.len()];
    // How often each sum counts, and the constants of the leads.
    let mut sums = vec![BigInt::zero(); model.group_count()];
    let mut constant = Exact::zero();
    for term in terms {
        let leaves = bounds.point(term.point).and_then(|row| leaves(model, row));
        let leaves = leaves.ok_or_else(|| no_point(bounds, term.point))?;
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
    if constant.signum() > 0 {
        let left = format!("{:e}", constant.to_f64());
        return Err(Reason::CutIntercept { part: "the unit of the thresholds".to_owned(), left });
    }
    match columns.intercept {
        // A counted constant joins the cut below.
        Intercept::None | Intercept::Counted => {}
        Intercept::Scaled => {
            let combined: BigInt =
                sums.iter().zip(&columns.intercepts).map(|(count, value)| count * value).sum();
            if combined.is_positive() {
                let (part, left) = ("the unit of the scaled intercept".to_owned(), combined.to_string());
                return Err(Reason::CutIntercept { part, left });
            }
        }
        Intercept::Free => {
            if let Some((sum, left)) = sums.iter().enumerate().find(|(_, left)| !left.is_zero()) {
                let part = format!("the constant of sum {sum}");
                return Err(Reason::CutIntercept { part, left: left.to_string() });
            }
        }
    }
    let words = columns.items().div_ceil(64);
    let (cuts, limit) = (bounds.cuts.len() + 1, bounds.limits.cut_bytes);
    let bytes = cuts.saturating_mul(words * 8 + 24);
    if bytes > limit {
        return Err(Reason::LimitCuts { cuts, bytes, limit });
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

fn no_point(bounds: &Bounds<'_>, point: u32) -> Reason {
    Reason::CutPoint { point, points: bounds.point_count() }
}
