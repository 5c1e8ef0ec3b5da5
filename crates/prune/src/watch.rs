//! How far a run has come, for whoever shows it.

use std::sync::{Arc, Mutex};

use secateur_oracle::Progress;

/// The passes of a run, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pass {
    /// Nothing has begun.
    Start,
    /// Scores stay: constants, equal structures, dead branches.
    Fold,
    /// Which splits change a decision somewhere.
    RelevantSplits,
    /// Which trees no other can stand in for.
    Indispensable,
    /// One linear program for all weights.
    Reweight,
    /// Tree by tree.
    Eliminate,
    /// The smallest size.
    Minimum,
    /// The file as it will be written.
    Certify,
}

impl Pass {
    /// Its name, for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Fold => "fold",
            Self::RelevantSplits => "relevant splits",
            Self::Indispensable => "indispensable trees",
            Self::Reweight => "reweight",
            Self::Eliminate => "eliminate",
            Self::Minimum => "minimum",
            Self::Certify => "certify",
        }
    }
}

/// What a run knows right now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// What it is doing.
    pub pass: Pass,
    /// How often solver and oracle have taken turns.
    pub round: u64,
    /// Inputs that the solver knows.
    pub points: usize,
    /// Trees of the candidate that is being judged.
    pub candidate: Option<usize>,
    /// Trees of the best model that is proved.
    pub best: Option<usize>,
    /// No fewer trees can do.
    pub lower_bound: usize,
}

/// A run's status, to be looked at from another thread.
#[derive(Clone, Debug)]
pub struct Watch {
    status: Arc<Mutex<Status>>,
    /// The share of the space that the current proof has covered, and its boxes.
    pub search: Arc<Progress>,
}

impl Default for Watch {
    fn default() -> Self {
        let status =
            Status { pass: Pass::Start, round: 0, points: 0, candidate: None, best: None, lower_bound: 0 };
        Self { status: Arc::new(Mutex::new(status)), search: Arc::default() }
    }
}

impl Watch {
    /// The status now.
    pub fn status(&self) -> Status {
        *self.status.lock().expect("no thread panics while it holds the lock")
    }

    /// Changes the status.
    pub fn update(&self, change: impl FnOnce(&mut Status)) {
        change(&mut self.status.lock().expect("no thread panics while it holds the lock"));
    }
}
