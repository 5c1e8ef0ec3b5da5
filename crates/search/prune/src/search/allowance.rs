//! How much work a run without a time limit does on a large model.
//!
//! A default random forest has hundreds of thousands of leaves; asking the oracle for each of its
//! trees whether it can be removed would take days. A user who sets a time limit has said how long
//! to try. Without one, a large model gets a fixed amount of work, so that the run ends by itself.
//! Work is counted in visits of leaves and not in seconds, so the same run does the same work on
//! every machine, busy or not.

use std::time::Instant;

use secateur_model::Ensemble;

/// Models with more leaves than this are large.
const LARGE: usize = 10_000;
/// Visits of leaves that questions to the oracle may cost on a large model.
const FOR_QUESTIONS: u64 = 2_000_000_000;
/// Visits of leaves that the search for relevant boundaries may cost on a large model.
const FOR_THRESHOLDS: u64 = 500_000_000;
/// The cost of a question apart from its boxes, and the cost of each box, in visits for each leaf
/// of both models.
const QUESTION: u64 = 800;
const BOX: u64 = 20;

/// The work that is left, in visits of leaves. `None` where the work is not limited here: there is
/// a time limit, or the model is small.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allowance(Option<u64>);

impl Allowance {
    /// The allowance for questions to the oracle about a model.
    pub(crate) fn for_questions(model: &Ensemble, deadline: Option<Instant>) -> Self {
        Self(is_large(model, deadline).then_some(FOR_QUESTIONS))
    }

    /// The allowance for the search for relevant boundaries of a model.
    pub(crate) fn for_thresholds(model: &Ensemble, deadline: Option<Instant>) -> Self {
        Self(is_large(model, deadline).then_some(FOR_THRESHOLDS))
    }

    /// Is the allowance used up?
    pub(crate) fn is_over(self) -> bool {
        self.0 == Some(0)
    }

    pub(crate) fn spend(&mut self, visits: u64) {
        self.0 = self.0.map(|left| left.saturating_sub(visits));
    }

    /// How many of the `wanted` boxes a question may visit, where both models together have
    /// `leaves` leaves; at least one.
    pub(crate) fn boxes(self, wanted: u64, leaves: u64) -> u64 {
        self.0.map_or(wanted, |left| wanted.min(left / (BOX * leaves.max(1))).max(1))
    }

    /// Takes off the work of a question that visited `boxes` boxes of two models with `leaves`
    /// leaves together.
    pub(crate) fn asked(&mut self, leaves: u64, boxes: u64) {
        self.spend(leaves.saturating_mul(QUESTION + BOX.saturating_mul(boxes)));
    }
}

fn is_large(model: &Ensemble, deadline: Option<Instant>) -> bool {
    deadline.is_none() && model.trees().iter().map(|tree| tree.leaf_count()).sum::<usize>() > LARGE
}
