//! Claims about one model: the range of its scores, its class, and whether a score never falls when
//! a column rises (specification, version 2, section 2.4).
//!
//! A library's score is within the model's rounding r of the exact one. So a score above a limit U
//! has `S / d > U - r`, and one below L has `-S / d > -L - r`. A library that decides class c puts
//! no class y above it by more than the rounding of decisions, so every lead of c is at least minus
//! that. Each is a system; none of them has a second model. If the claim is about inputs near a row, one
//! more row says that the distance is less than that of the other row.
//!
//! That a score never falls is claimed of the exact sums of two rows (`model::twin`): the system asks
//! for a pair of neighbouring values where the exact sum falls. For the numbers that the library
//! computes there is no system, but a comparison of each tree with its twin (`treewise.rs`).

use secateur_certificate::OutputRange;
use secateur_model::{ClassId, Ensemble, Exact, Near, Predictor};

use crate::pair::{Lead, leaves, others};
use crate::refused::{ModelRole, Refused};
use crate::scores::range;

/// The numbers of a claim about the range of scores.
pub(crate) struct Range {
    /// Each limit, in the order of its systems.
    sides: Vec<Limit>,
    divisor: Exact,
}

/// One limit of one output.
struct Limit {
    output: usize,
    below: bool,
    limit: Exact,
    rounding: Exact,
}

impl Range {
    pub(crate) fn new(model: &Ensemble, outputs: &[OutputRange]) -> Result<Self, Refused> {
        let count = model.group_count();
        let rounding =
            model.score_rounding().filter(|found| found.scores.iter().all(|bound| bound.is_finite()));
        let mut sides = Vec::new();
        for (at, own) in outputs.iter().enumerate() {
            let refused =
                |limit: Option<f64>| Refused::ClaimRange { output: own.output, outputs: count, limit };
            let ascends = at == 0 || outputs[at - 1].output < own.output;
            let output = own.output as usize;
            if !ascends || output >= count || own.at_least.is_none() && own.at_most.is_none() {
                return Err(refused(own.at_most.or(own.at_least)));
            }
            for (below, limit) in [(false, own.at_most), (true, own.at_least)] {
                let Some(limit) = limit else { continue };
                let negative_zero = limit == 0.0 && limit.is_sign_negative();
                let exact = Exact::from_f64(limit).filter(|_| !negative_zero);
                let exact = exact.ok_or_else(|| refused(Some(limit)))?;
                let overflow = Refused::ClaimOverflow { model: ModelRole::Original };
                let rounding = rounding.as_ref().ok_or(overflow)?.scores[output];
                sides.push(Limit { output, below, limit: exact, rounding: Exact::finite(rounding) });
            }
        }
        if sides.is_empty() {
            return Err(Refused::ClaimRange { output: 0, outputs: count, limit: None });
        }
        Ok(Self { sides, divisor: Exact::finite(model.accumulation().divisor()) })
    }

    /// Each limit: its output, and whether the score may not be below it (above it otherwise).
    pub(crate) fn sides(&self) -> impl ExactSizeIterator<Item = (usize, bool)> + '_ {
        self.sides.iter().map(|own| (own.output, own.below))
    }

    fn side(&self, output: usize, below: bool) -> &Limit {
        let found = self.sides.iter().find(|own| (own.output, own.below) == (output, below));
        found.expect("a claim about the range has a system for each of its limits")
    }

    /// Where the library's score is beyond the limit, the exact sum (its negative where the score is
    /// below) exceeds this bound.
    pub(crate) fn bound(&self, output: usize, below: bool) -> Exact {
        let own = self.side(output, below);
        let zero = Exact::zero();
        let limit = if below { &zero - &own.limit } else { own.limit.clone() };
        &(&limit - &own.rounding) * &self.divisor
    }

    /// Is the score of this input within the limit, as the library computes it?
    pub(crate) fn holds(
        &self,
        model: &Ensemble,
        predictor: &Predictor<'_>,
        row: &[f64],
        output: usize,
        below: bool,
    ) -> Result<(), Refused> {
        let own = self.side(output, below);
        let limit = own.limit.to_f64();
        let refused = |score: f64| Refused::CellsRange { input: row.to_vec(), output, score, limit, below };
        let [low, high] = range(model, predictor, row, output).ok_or_else(|| refused(f64::NAN))?;
        let most = &own.limit * &self.divisor;
        let within = if below { low >= most } else { high <= most };
        let worst = if below { low } else { high };
        if within { Ok(()) } else { Err(refused(worst.to_f64() / self.divisor.to_f64())) }
    }
}

/// The numbers of a claim about the class.
pub(crate) struct Classes {
    allowed: Vec<ClassId>,
    /// The classes that are not allowed, ascending: one system each.
    forbidden: Vec<ClassId>,
    /// The library's rounding over all inputs.
    slack: Exact,
    /// The inputs that the claim is about, if only those near a row are meant.
    near: Option<Near>,
}

impl Classes {
    pub(crate) fn new(model: &Ensemble, allowed: &[ClassId], near: Option<&Near>) -> Result<Self, Refused> {
        let is_classifier = model.decision().is_classifier();
        let classes = if is_classifier { model.classes().len() } else { 0 };
        let ascends = allowed.windows(2).all(|pair| pair[0] < pair[1]);
        let known = allowed.iter().all(|class| class.index() < classes);
        if !ascends || !known || allowed.is_empty() || allowed.len() == classes {
            return Err(Refused::ClaimClass {
                allowed: allowed.iter().map(|class| class.0).collect(),
                classes,
            });
        }
        let overflow = Refused::ClaimNoCertainMargin { model: ModelRole::Original };
        let slack = model.certain_margin().and_then(Exact::from_f64).ok_or(overflow)?;
        let forbidden = model.classes().ids().filter(|class| !allowed.contains(class)).collect();
        Ok(Self { allowed: allowed.to_vec(), forbidden, slack, near: near.cloned() })
    }

    pub(crate) fn near(&self) -> Option<&Near> {
        self.near.as_ref()
    }

    pub(crate) fn forbidden(&self) -> &[ClassId] {
        &self.forbidden
    }

    /// Where the library decides the class, its lead over each other class is at least this, times
    /// the divisor.
    pub(crate) fn least(&self, lead: &Lead) -> Exact {
        &(&Exact::zero() - &lead.constant) - &(&self.slack * &lead.divisor)
    }

    /// Does the library not decide this class on this row? Where its file fixes every bit, the class
    /// that it decides has to be an allowed one; otherwise some class has to be ahead of this one by
    /// more than the rounding of the leaves.
    pub(crate) fn holds(
        &self,
        model: &Ensemble,
        predictor: &Predictor<'_>,
        row: &[f64],
        class: ClassId,
    ) -> Result<(), Refused> {
        let holds = match model.decisions_vary() {
            false => predictor.classes(row).is_ok_and(|decided| self.allowed.contains(&decided[0])),
            true => loses_certainly(model, row, class),
        };
        if holds { Ok(()) } else { Err(Refused::CellsClass { input: row.to_vec(), class: class.0 }) }
    }
}

/// Is some other class ahead by more than the rounding that is possible with the leaves of this row,
/// in any order of addition that the file allows?
fn loses_certainly(model: &Ensemble, row: &[f64], class: ClassId) -> bool {
    let Some(leaves) = leaves(model, row) else { return false };
    let margin = model.decision_gap().and_then(|gap| model.certain_margin_at(&leaves, gap));
    let Some(margin) = margin.and_then(Exact::from_f64) else { return false };
    let sums = model.exact_sums(leaves);
    others(model, class).any(|other| {
        let lead = Lead::of(model, other, class);
        lead.total(&sums) > &margin * &lead.divisor
    })
}
