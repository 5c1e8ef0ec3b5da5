//! When to stop: budgets of time and nodes, and cancellation from outside; and how far a search has come.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
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

/// What one search may spend: its part of what a whole call may (`secateur::Budget`).
#[derive(Clone, Debug)]
pub struct SearchBudget {
    /// No later than this.
    pub deadline: Option<Instant>,
    /// No more boxes than this.
    pub nodes: Option<u64>,
    /// No more bytes than this for what the search keeps.
    pub memory: Option<u64>,
    /// Not after this switch.
    pub cancel: Cancel,
}

impl SearchBudget {
    /// No limit.
    pub fn unlimited() -> Self {
        Self { deadline: None, nodes: None, memory: None, cancel: Cancel::default() }
    }

    /// A limit on time, from now.
    pub fn seconds(seconds: f64) -> Self {
        Self { deadline: Some(Instant::now() + Duration::from_secs_f64(seconds)), ..Self::unlimited() }
    }

    /// Why work that visits no boxes must end, if it must.
    pub(crate) fn over(&self) -> Option<StopReason> {
        if self.cancel.is_cancelled() {
            return Some(StopReason::Cancelled);
        }
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline).then_some(StopReason::Time)
    }

    /// Why a search that has visited so many boxes must end, if it must.
    pub(crate) fn spent(&self, nodes: u64) -> Option<StopReason> {
        if self.cancel.is_cancelled() {
            return Some(StopReason::Cancelled);
        }
        if self.nodes.is_some_and(|limit| nodes >= limit) {
            return Some(StopReason::Nodes);
        }
        self.over()
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
    /// The memory is used up.
    Memory,
    /// Somebody asked.
    Cancelled,
    /// The workers that were to help are gone.
    Workers,
    /// The checkpoint is not one of this search.
    Checkpoint,
}

/// How far a search has come, for whoever watches from another thread.
#[derive(Debug, Default)]
pub struct Progress {
    nodes: AtomicU64,
    /// The share of the space that is closed, of `WHOLE`.
    closed: AtomicU64,
    question: AtomicU64,
    questions: AtomicU64,
}

/// The whole space: halved with every split on the way to a box.
const WHOLE: u64 = 1 << 52;

impl Progress {
    /// Boxes visited by all questions so far.
    pub fn nodes(&self) -> u64 {
        self.nodes.load(Ordering::Relaxed)
    }

    /// The share of the work that is proved, from 0 to 1: of all questions (pairs of classes), and of the
    /// boxes of the present one, where each split halves what it splits.
    pub fn share(&self) -> f64 {
        let questions = self.questions.load(Ordering::Relaxed).max(1) as f64;
        let closed = self.closed.load(Ordering::Relaxed) as f64 / WHOLE as f64;
        ((self.question.load(Ordering::Relaxed) as f64 + closed) / questions).min(1.0)
    }

    pub(crate) fn begin(&self, question: u64, questions: u64) {
        self.closed.store(0, Ordering::Relaxed);
        self.question.store(question, Ordering::Relaxed);
        self.questions.store(questions, Ordering::Relaxed);
    }

    pub(crate) fn add(&self, nodes: u64, closed: u64) {
        self.nodes.fetch_add(nodes, Ordering::Relaxed);
        self.closed.fetch_add(closed, Ordering::Relaxed);
    }

    /// The share of the present question that is closed.
    pub(crate) fn closed(&self) -> u64 {
        self.closed.load(Ordering::Relaxed)
    }

    /// The share of a box at this depth.
    pub(crate) fn of_depth(depth: usize) -> u64 {
        WHOLE.checked_shr(depth as u32).unwrap_or(0)
    }
}
