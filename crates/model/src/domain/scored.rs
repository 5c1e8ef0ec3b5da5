//! Inputs on which another model scores at least, or at most, so much: the `where` of a domain.
//!
//! The score is the raw score of that model's own library, in its own arithmetic: where the file fixes every bit, an
//! input is in the domain if the library's number reaches the bound, and if it does not, it is not. Where the last bits
//! depend on more than the file (a free order of addition, an intercept that depends on the processor), every input
//! whose score *may* reach the bound is in: a claim then is about more inputs, never about fewer. An input that the library
//! refuses has no score and is not in the domain.
//!
//! Searches and proofs use [`Where::needed`], a bound on the exact sum that every such input reaches: the bound of the
//! scores less what rounding can do. Some inputs outside of the domain may reach it too, so [`Where::holds`] has the
//! last word.
//!
//! Invariant of one with a model: its sums cannot overflow, and some choice of leaves reaches `needed`.

use std::fmt;
use std::sync::Arc;

use crate::decision::{Decision, Transform, Value};
use crate::domain::DomainError;
use crate::ensemble::{Ensemble, InterceptPosition};
use crate::exact::Exact;
use crate::ids::{FeatureId, LeafId};
use crate::tree::Output;

/// Which side of the bound a score has to be on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// The bound or more.
    AtLeast,
    /// The bound or less.
    AtMost,
}

/// Inputs on which one score of a model is on one side of a bound.
///
/// A certificate names the model by its digest only, so a `Where` that was read from one has no model until somebody
/// [gives it](Where::with_model); until then nothing is in it and no model can be looked at for it.
#[derive(Clone, Debug)]
pub struct Where {
    digest: [u8; 32],
    output: u32,
    side: Side,
    bound: f64,
    scorer: Option<Arc<Scorer>>,
}

/// A model with what follows from it and a bound.
struct Scorer {
    model: Ensemble,
    name: String,
    /// What the exact sum, times the side's sign, reaches for every input of the domain.
    needed: Exact,
}

impl fmt::Debug for Scorer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} trees", self.name, self.model.trees().len())
    }
}

impl PartialEq for Where {
    /// The digest stands for the model; its name says nothing.
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key() && self.bound == other.bound
    }
}

impl Where {
    /// Inputs on which this score of a model, whose digest is given, is on this side of a bound, without the model.
    pub fn of_digest(digest: [u8; 32], output: u32, side: Side, bound: f64) -> Result<Self, DomainError> {
        if !bound.is_finite() {
            return Err(DomainError::WhereBound { bound });
        }
        Ok(Self { digest, output, side, bound: bound + 0.0, scorer: None })
    }

    /// The same with its model, whose columns are in the order of those that the domain counts. `name` is for messages.
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
        // The rounding is that of the averaged score, which times the divisor is at least that of the sum.
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

    /// What stands for the model in certificates.
    pub fn digest(&self) -> [u8; 32] {
        self.digest
    }

    /// Which of the model's raw scores is meant.
    pub fn output(&self) -> u32 {
        self.output
    }

    /// Which side of the bound the score has to be on.
    pub fn side(&self) -> Side {
        self.side
    }

    /// The bound, on the scale of the library's raw scores.
    pub fn bound(&self) -> f64 {
        self.bound
    }

    /// The model, where it is known.
    pub fn model(&self) -> Option<&Ensemble> {
        self.scorer.as_ref().map(|scorer| &scorer.model)
    }

    /// What the model is called in messages.
    pub fn name(&self) -> Option<&str> {
        self.scorer.as_ref().map(|scorer| scorer.name.as_str())
    }

    /// Is the score a sum of path lengths, which its library does not show as it is?
    pub fn is_path_length(&self) -> bool {
        let is =
            |model: &Ensemble| *model.decision() == Decision::Scores(Value::NotFixed(Transform::PathLength));
        self.model().is_some_and(is)
    }

    /// 1 where the sum has to be large, -1 where it has to be small.
    pub fn sign(&self) -> i64 {
        match self.side {
            Side::AtLeast => 1,
            Side::AtMost => -1,
        }
    }

    /// A number that [`sign`](Self::sign) times the model's exact sum, before any division, reaches on every input of the
    /// domain; `None` without a model.
    pub fn needed(&self) -> Option<&Exact> {
        self.scorer.as_ref().map(|scorer| &scorer.needed)
    }

    /// Is this row among them? Without a model none is.
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

    /// What tells it from others, but for the bound.
    pub(super) fn key(&self) -> ([u8; 32], u32, Side) {
        (self.digest, self.output, self.side)
    }

    /// Does it hold for fewer inputs than another with the same key, or for the same?
    pub fn is_within(&self, other: &Self) -> bool {
        self.key() == other.key()
            && match self.side {
                Side::AtLeast => self.bound >= other.bound,
                Side::AtMost => self.bound <= other.bound,
            }
    }
}

/// The library's raw score of the input that reaches these leaves, where the file fixes it.
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

/// No exact sum of this group, times the sign, is larger.
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
