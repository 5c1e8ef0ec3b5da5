//! Statements of a certificate about smaller models: points, columns, cuts, covers and crossings.
//! `secateur-lower` computes their numbers, and the kernel draws the conclusions.

use secateur_certificate::{Intercept, Step};
use secateur_kernel::{Cover, Crossings, Cuts, Refusal};
use secateur_lower::{LoweredBounds, Pair};

use crate::dump::Dump;
use crate::reason::{Reason, Unproved};
use crate::verdict::{ColumnBound, Limits};

pub(crate) struct Bounds<'a> {
    lowered: LoweredBounds<'a>,
    limits: Limits,
    /// The trees of the pruned model.
    trees: usize,
    cuts: Option<Cuts>,
    crossings: Crossings,
    cover: Option<Open>,
    best_count: Option<ColumnBound>,
    best_cost: Option<ColumnBound>,
}

/// A cover whose proof is not complete yet.
struct Open {
    cover: Cover,
    bound: u64,
    has_costs: bool,
}

impl<'a> Bounds<'a> {
    pub(crate) fn new(pair: &'a Pair<'a>, trees: usize, limits: Limits) -> Self {
        Self {
            lowered: LoweredBounds::new(pair),
            limits,
            trees,
            cuts: None,
            crossings: Crossings::default(),
            cover: None,
            best_count: None,
            best_cost: None,
        }
    }

    /// Has a cover begun whose proof is not complete yet?
    pub(crate) fn is_open(&self) -> bool {
        self.cover.is_some()
    }

    /// Checks one step.
    pub(crate) fn step(&mut self, step: Step, dump: Option<&mut Dump<'_>>) -> Result<(), Reason> {
        let found = step.kind();
        let unexpected = |place| Reason::from(Unproved::OrderUnexpected { found, place });
        if let (Some(Open { cover, .. }), Some(cuts)) = (&mut self.cover, &self.cuts) {
            let done = match step {
                Step::Branch { column } => {
                    if let Some(dump) = dump {
                        dump.bound(format_args!("branch {column}"));
                    }
                    cover.branch(column).map(|()| false)
                }
                Step::Dual { denominator, terms } => {
                    let terms: Vec<(u32, u64)> =
                        terms.iter().map(|term| (term.cut, term.numerator)).collect();
                    if let Some(dump) = dump {
                        dump.dual(denominator, &terms);
                    }
                    cover.dual(cuts, denominator, &terms)
                }
                _ => return Err(unexpected("inside a cover that is not done")),
            }
            .map_err(|refusal| Unproved::of_bounds(refusal, None))?;
            if done {
                self.conclude();
            }
            return Ok(());
        }
        match step {
            Step::Point { values } => Ok(self.lowered.add_point(&values, self.limits.point_values)?),
            Step::Columns { intercept, columns } => {
                self.lowered.set_columns(intercept, columns)?;
                let family = self.lowered.family();
                self.cuts = family.map(|family| Cuts::new(family, self.limits.kernel));
                if let (Some(dump), Some(family)) = (dump, family) {
                    dump.family(&family);
                }
                Ok(())
            }
            Step::Cut { terms } => {
                if terms.is_empty() {
                    return Err(Unproved::CutEmpty.into());
                }
                terms.iter().try_for_each(|term| self.lowered.look_at(term))?;
                let mut lowered = Vec::with_capacity(terms.len());
                for term in &terms {
                    lowered.extend(self.lowered.term(term)?);
                }
                let Some(cuts) = &mut self.cuts else {
                    return Err(unexpected("before the columns are given"));
                };
                if let Some(dump) = dump {
                    dump.cut(&lowered);
                }
                let intercept = self.lowered.columns().map(|(_, intercept)| intercept);
                Ok(cuts.add(&lowered).map_err(|refusal| Unproved::of_bounds(refusal, intercept))?)
            }
            Step::Cover { costs, bound } => {
                let Some(cuts) = &self.cuts else { return Err(unexpected("before the columns are given")) };
                if let Some(dump) = dump {
                    dump.cover(bound, costs.as_deref());
                }
                let has_costs = costs.is_some();
                let cover = Cover::new(cuts.items(), costs, bound);
                let cover = cover.map_err(|refusal| Unproved::of_bounds(refusal, None))?;
                self.cover = Some(Open { cover, bound, has_costs });
                Ok(())
            }
            Step::Crossing { point, feature, low, high } => {
                let own = self.lowered.crossing(point, feature, low, high)?;
                if let Some(dump) = dump {
                    dump.bound(format_args!("crossing {} {} {}", own.column, own.low, own.high));
                }
                let [low, high] = own.values;
                let overlap = |_| Unproved::CrossingOverlap { column: own.column, low, high };
                Ok(self.crossings.add(own.column, own.low, own.high).map_err(overlap)?)
            }
            _ => Err(unexpected("between the proofs of two systems")),
        }
    }

    /// The bounds that were proved: on columns, on their cost, on threshold splits.
    pub(crate) fn proved(&self) -> (Option<ColumnBound>, Option<ColumnBound>, Option<u64>) {
        let crossings = self.crossings.count();
        (self.best_count, self.best_cost, (crossings > 0).then_some(crossings as u64))
    }

    /// The cover's proof is complete.
    fn conclude(&mut self) {
        let (Some(Open { bound, has_costs, .. }), Some((columns, intercept))) =
            (self.cover.take(), self.lowered.columns())
        else {
            return;
        };
        let reached = !has_costs && self.trees as u64 <= bound;
        let new = ColumnBound { bound, columns: columns as u64, intercept, reached };
        let best = if has_costs { &mut self.best_cost } else { &mut self.best_count };
        if best.is_none_or(|old| old.bound < new.bound) {
            *best = Some(new);
        }
    }
}

impl Unproved {
    /// Puts into words why the kernel refuses a step about families with this intercept.
    fn of_bounds(refusal: Refusal, intercept: Option<Intercept>) -> Self {
        match refusal {
            Refusal::CutPositive { which, left } => {
                let part = match (which, intercept) {
                    (0, _) => "the unit of the thresholds".to_owned(),
                    _ => "the unit of the scaled intercept".to_owned(),
                };
                Self::CutIntercept { part, left: crate::dump::decimal(&left) }
            }
            Refusal::CutUnbalanced { which, left } => {
                let part = format!("the constant of sum {which}");
                Self::CutIntercept { part, left: crate::dump::decimal(&left) }
            }
            Refusal::CoverCosts { costs, items } => Self::CoverCosts { costs, items },
            Refusal::CoverItem { item, items } => Self::CoverColumn { column: item, items },
            Refusal::CoverCut { cut, cuts } => Self::CoverCut { cut, cuts },
            Refusal::CoverDual { item, load, denominator, cost } => {
                Self::CoverDual { item, load, denominator, cost }
            }
            Refusal::CoverBound { reached, bound } => Self::CoverBound { reached, bound },
            Refusal::LimitCuts { cuts, bytes, limit } => Self::LimitCuts { cuts, bytes, limit },
            _ => Self::CutEmpty,
        }
    }
}
