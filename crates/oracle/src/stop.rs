//! When to stop: budgets of time and nodes, and cancellation from outside.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A switch that ends a search from another thread (Ctrl-C).
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Asks every search that holds this switch to end.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Has it been asked?
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// What a search may spend.
#[derive(Clone, Debug)]
pub struct Budget {
    /// No later than this.
    pub deadline: Option<Instant>,
    /// No more boxes than this.
    pub nodes: Option<u64>,
    /// Not after this switch.
    pub cancel: Cancel,
}

impl Budget {
    /// No limit.
    pub fn unlimited() -> Self {
        Self { deadline: None, nodes: None, cancel: Cancel::default() }
    }

    /// A limit on time, from now.
    pub fn seconds(seconds: f64) -> Self {
        Self { deadline: Some(Instant::now() + Duration::from_secs_f64(seconds)), ..Self::unlimited() }
    }

    /// Why a search that has visited so many boxes must end, if it must.
    pub(crate) fn spent(&self, nodes: u64) -> Option<StopReason> {
        if self.cancel.is_cancelled() {
            return Some(StopReason::Cancelled);
        }
        if self.nodes.is_some_and(|limit| nodes >= limit) {
            return Some(StopReason::Nodes);
        }
        if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return Some(StopReason::Time);
        }
        None
    }
}

/// Why a search ended without an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StopReason {
    /// The time is up.
    Time,
    /// The number of boxes is used up.
    Nodes,
    /// Somebody asked.
    Cancelled,
}
