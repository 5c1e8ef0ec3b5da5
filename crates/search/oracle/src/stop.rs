//! When a search stops: budgets of time and boxes, and cancellation from outside; and how far it
//! has come.

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

    /// Was [`cancel`](Self::cancel) called?
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// The limits of one search: its part of the budget of a whole call (`secateur::Budget`).
#[derive(Clone, Debug)]
pub struct SearchBudget {
    /// The search ends at this time.
    pub deadline: Option<Instant>,
    /// The most boxes it may visit.
    pub nodes: Option<u64>,
    /// The most bytes that the boxes it keeps may take.
    pub memory: Option<u64>,
    /// A switch that ends it.
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

    /// The same limits with half of the time that is left, so that the other half is left for other
    /// work.
    pub fn half(&self) -> Self {
        let now = Instant::now();
        let half = |deadline: Instant| now + deadline.saturating_duration_since(now) / 2;
        Self { deadline: self.deadline.map(half), ..self.clone() }
    }

    /// Why work that visits no boxes must end; `None` if it may continue.
    pub fn over(&self) -> Option<StopReason> {
        if self.cancel.is_cancelled() {
            return Some(StopReason::Cancelled);
        }
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline).then_some(StopReason::Time)
    }

    /// Why a search that has visited this many boxes must end; `None` if it may continue.
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
    /// Somebody used the switch.
    Cancelled,
    /// The workers of the search are gone.
    Workers,
    /// The checkpoint is about another search.
    Checkpoint,
}

/// How far a search has come; another thread may read it.
#[derive(Debug, Default)]
pub struct Progress {
    nodes: AtomicU64,
    /// The closed share of the space, in units of 1/`WHOLE`.
    closed: AtomicU64,
    question: AtomicU64,
    questions: AtomicU64,
}

/// The share of the whole space. Each split on the path to a box halves the share.
const WHOLE: u64 = 1 << 52;

impl Progress {
    /// Boxes visited by all questions so far.
    pub fn nodes(&self) -> u64 {
        self.nodes.load(Ordering::Relaxed)
    }

    /// The share of the work that is proved, from 0 to 1: the questions (pairs of classes) before
    /// the present one, and the closed boxes of the present one, where each split halves the share
    /// of its box.
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

    /// The share of the present question that is closed, in units of 1/`WHOLE`.
    pub(crate) fn closed(&self) -> u64 {
        self.closed.load(Ordering::Relaxed)
    }

    /// The share of a box at this depth, in units of 1/`WHOLE`.
    pub(crate) fn of_depth(depth: usize) -> u64 {
        WHOLE.checked_shr(depth as u32).unwrap_or(0)
    }
}
