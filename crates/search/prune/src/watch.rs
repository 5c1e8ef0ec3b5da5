//! How far a run has come, for showing its progress.

use std::sync::{Arc, Mutex};

use secateur_oracle::Progress;

/// The passes of a run, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pass {
    /// Nothing has begun.
    Start,
    /// Folding, which keeps every score: merges constants and equal structures and removes dead
    /// branches.
    Fold,
    /// Which splits change a decision for some input.
    RelevantSplits,
    /// Which columns no others can replace.
    Indispensable,
    /// One linear program for all weights.
    Reweight,
    /// Dropping column after column.
    Eliminate,
    /// Finding the smallest size.
    Minimum,
    /// Proving the file as it will be written.
    Certify,
}

impl Pass {
    /// The name that users see.
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

/// What a run knows at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// The pass that is running.
    pub pass: Pass,
    /// How often the oracle was asked.
    pub round: u64,
    /// Inputs that the solver knows.
    pub points: usize,
    /// Trees of the candidate that is being judged. Where candidates are judged by all cells: its
    /// columns.
    pub candidate: Option<usize>,
    /// Trees of the best model that is proved.
    pub best: Option<usize>,
    /// No model that the moves allow has fewer trees than this.
    pub lower_bound: usize,
}

/// The status of a run, for reading from another thread.
#[derive(Clone, Debug)]
pub struct Watch {
    status: Arc<Mutex<Status>>,
    /// The share of the space that the current proof has covered, and the boxes it visited.
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
