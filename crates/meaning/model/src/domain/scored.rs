//! Conditions on the score of another model, which has to be at least, or at most, a bound: the
//! `where` of a domain.
//!
//! The score is the raw score of that model's own library, in its own arithmetic. If the file fixes
//! every bit of it, an input is in the domain exactly if the library's number reaches the bound. If
//! the last bits depend on more than the file (a free order of addition, an intercept that depends
//! on the processor), every input whose score *may* reach the bound is in the domain: a claim then
//! covers more inputs, never fewer. An input that the library refuses has no score and is not in
//! the domain.
//!
//! Searches and proofs use [`Where::needed`], a bound that the exact sum of every such input
//! reaches: the bound on the score minus the largest effect of rounding. Some inputs outside of the
//! domain may reach it too, so [`Where::holds`] decides.
//!
//! Invariant of a condition with a model: the model's sums cannot overflow, and some choice of
//! leaves reaches `needed`.

use std::fmt;
use std::sync::Arc;

use crate::decision::{Decision, Transform, Value};
use crate::domain::DomainError;
use crate::ensemble::{Ensemble, InterceptPosition};
use crate::exact::Exact;
use crate::ids::{FeatureId, LeafId};
use crate::tree::Output;
use crate::twin::TwinError;

/// The side of the bound on which a score has to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// The bound or more.
    AtLeast,
    /// The bound or less.
    AtMost,
}

/// The inputs on which one score of a model is on one side of a bound.
///
/// A certificate names the model only by its digest, so a `Where` that was read from one has no
/// model until a caller [gives it](Where::with_model). Until then it holds for no input, and no
/// model can be restricted to it.
#[derive(Clone, Debug)]
pub struct Where {
    digest: [u8; 32],
    output: u32,
    side: Side,
    bound: f64,
    scorer: Option<Arc<Scorer>>,
}

/// A model with the number that follows from it and the bound.
struct Scorer {
    model: Ensemble,
    name: String,
    /// A number that the exact sum, times the side's sign, reaches on every input of the domain.
    needed: Exact,
}

impl fmt::Debug for Scorer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} trees", self.name, self.model.trees().len())
    }
}

impl PartialEq for Where {
    /// The digest stands for the model; its name does not matter.
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key() && self.bound == other.bound
    }
}

impl Where {
    /// The inputs on which a score of the model with this digest is on this side of a bound,
    /// without the model itself.
    pub fn of_digest(digest: [u8; 32], output: u32, side: Side, bound: f64) -> Result<Self, DomainError> {
        if !bound.is_finite() {
            return Err(DomainError::WhereBound { bound });
        }
        Ok(Self { digest, output, side, bound: bound + 0.0, scorer: None })
    }

    /// The same with its model, whose columns are in the order of the domain's. `name` is used in
    /// messages.
    pub fn with_model(&self, model: Ensemble, name: &str) -> Result<Self, DomainError> {
        let refused = |what: &dyn Fn(String) -> DomainError| what(name.to_owned());
        let group = self.output as usize;
        if group >= model.group_count() {
            let (output, outputs) = (self.output, model.group_count());
            return Err(refused(&|name| DomainError::WhereOutput { name, output, outputs }));
        }
        let overflow = || refused(&|name| DomainError::WhereOverflow { name });
        let rounding = model.rounding().ok_or_else(overflow)?.scores[group];
        let rounding = Exact::from_f64(rounding).ok_or_else(overflow)?;
        let average = model.accumulation().average;
        let divisor = Exact::finite(model.accumulation().divisor());
        let scale = match average {
            Some(average) if !average.in_raw_scores => Exact::from(1),
            _ => divisor.clone(),
        };
        // The rounding bound is for the averaged score; times the divisor it is at least the bound
        // for the sum.
        let bound = &(&Exact::finite(self.bound) * &scale) * &Exact::from(self.sign());
        let needed = &bound - &(&rounding * &divisor);
        if highest(&model, group, self.sign()) < needed {
            let (side, bound) = (self.side, self.bound);
            return Err(refused(&|name| DomainError::WhereNothing { name, side, bound }));
        }
        let model = model.for_every_input().into_owned();
        let scorer = Some(Arc::new(Scorer { model, name: name.to_owned(), needed }));
        Ok(Self { scorer, ..self.clone() })
    }

    /// The same without its model.
    pub(super) fn without_model(&self) -> Self {
        Self { scorer: None, ..self.clone() }
    }

    /// The digest that stands for the model in certificates.
    pub fn digest(&self) -> [u8; 32] {
        self.digest
    }

    /// The index of the model's raw score.
    pub fn output(&self) -> u32 {
        self.output
    }

    /// The side of the bound on which the score has to be.
    pub fn side(&self) -> Side {
        self.side
    }

    /// The bound, on the scale of the library's raw scores.
    pub fn bound(&self) -> f64 {
        self.bound
    }

    /// The model, if it is known.
    pub fn model(&self) -> Option<&Ensemble> {
        self.scorer.as_ref().map(|scorer| &scorer.model)
    }

    /// The model's name in messages.
    pub fn name(&self) -> Option<&str> {
        self.scorer.as_ref().map(|scorer| scorer.name.as_str())
    }

    /// Is the score a sum of path lengths, which its library does not output directly?
    pub fn is_path_length(&self) -> bool {
        let is =
            |model: &Ensemble| *model.decision() == Decision::Scores(Value::NotFixed(Transform::PathLength));
        self.model().is_some_and(is)
    }

    /// 1 if the sum has to be large, -1 if it has to be small.
    pub fn sign(&self) -> i64 {
        match self.side {
            Side::AtLeast => 1,
            Side::AtMost => -1,
        }
    }

    /// A number that [`sign`](Self::sign) times the model's exact sum, before any division, reaches
    /// on every input of the domain; `None` without a model.
    pub fn needed(&self) -> Option<&Exact> {
        self.scorer.as_ref().map(|scorer| &scorer.needed)
    }

    /// Does the condition hold for this row? Without a model it holds for none.
    pub fn holds(&self, row: &[f64]) -> bool {
        let Some(scorer) = &self.scorer else { return false };
        let model = &scorer.model;
        if row.len() != model.features().len() {
            return false;
        }
        let values = row.iter().enumerate();
        let read: Option<Vec<f64>> =
            values.map(|(index, &value)| model.read(FeatureId::new(index), value)).collect();
        let Some(read) = read else { return false };
        let leaves: Vec<LeafId> = model.leaves(&read).collect();
        if model.scores_vary() {
            let sum = &model.exact_sums(leaves)[self.output as usize];
            return sum * &Exact::from(self.sign()) >= scorer.needed;
        }
        let score = raw_score(model, &leaves, self.output as usize);
        match self.side {
            Side::AtLeast => score >= self.bound,
            Side::AtMost => score <= self.bound,
        }
    }

    /// The condition on both rows of a pair of twins ([`Ensemble::twins`]): on the row as it is, and
    /// on the one with the moved columns changed. A digest with all bits turned keeps the two apart.
    pub(crate) fn twins(&self, moved: &[FeatureId]) -> Result<[Self; 2], TwinError> {
        let digest = self.digest;
        let scorer = self.scorer.as_ref().ok_or(DomainError::WhereUnknown { digest })?;
        let models = scorer.model.scoring_twins(moved).ok_or(TwinError::TooManyColumns)?;
        let [first, second] = models.map(|model| {
            let (name, needed) = (scorer.name.clone(), scorer.needed.clone());
            Some(Arc::new(Scorer { model, name, needed }))
        });
        let turned = digest.map(|byte| !byte);
        Ok([Self { scorer: first, ..self.clone() }, Self { digest: turned, scorer: second, ..self.clone() }])
    }

    /// Everything that identifies the condition, except the bound.
    pub(super) fn key(&self) -> ([u8; 32], u32, Side) {
        (self.digest, self.output, self.side)
    }

    /// Does it hold only for inputs for which another condition with the same key holds?
    pub fn is_within(&self, other: &Self) -> bool {
        self.key() == other.key()
            && match self.side {
                Side::AtLeast => self.bound >= other.bound,
                Side::AtMost => self.bound <= other.bound,
            }
    }
}

/// The library's raw score of the input that reaches these leaves, if the file fixes it.
fn raw_score(model: &Ensemble, leaves: &[LeafId], group: usize) -> f64 {
    let accumulation = model.accumulation();
    let number = accumulation.number;
    let intercept = number.round(model.intercepts()[group]);
    let first = accumulation.intercept == InterceptPosition::First;
    let mut sum = if first { intercept } else { 0.0 };
    for (tree, &leaf) in model.trees().iter().zip(leaves) {
        let value = match tree.output() {
            Output::Group(own) if own.index() == group => tree.leaf(leaf)[0],
            Output::Group(_) => continue,
            Output::All => tree.leaf(leaf)[group],
        };
        // An f64 sum of two f32 values rounds to the f32 that an f32 addition gives.
        sum = number.round(sum + number.round(model.leaf_weight(tree) * value));
    }
    if let Some(scale) = model.scale() {
        sum = number.round(sum * scale);
    }
    if !first {
        sum = number.round(sum + intercept);
    }
    match accumulation.average {
        Some(average) if average.in_raw_scores => number.round(sum / average.divisor),
        _ => sum,
    }
}

/// An upper bound on the exact sums of this group, times the sign.
fn highest(model: &Ensemble, group: usize, sign: i64) -> Exact {
    let mut total = Exact::finite(model.intercepts()[group]);
    total = &total * &Exact::from(sign);
    for tree in model.trees() {
        let (offset, step) = match tree.output() {
            Output::Group(own) if own.index() == group => (0, 1),
            Output::Group(_) => continue,
            Output::All => (group, tree.leaf_values().len() / tree.leaf_count()),
        };
        let sign = sign as f64 * tree.weight().signum();
        let values = tree.leaf_values().iter().skip(offset).step_by(step);
        let best = values.map(|value| sign * value).fold(f64::NEG_INFINITY, f64::max);
        total = &total + &(&Exact::finite(best) * &Exact::finite(tree.weight().abs()));
    }
    total
}
