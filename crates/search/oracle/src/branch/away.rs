//! Sends boxes to other threads and machines, and receives them.

use std::collections::VecDeque;

use secateur_model::CellId;

use super::{Region, Rest, Search};
use crate::certify::Collected;
use crate::jobs::{Answer, OpenBox, Question, Setup};
use crate::lens::Lens;
use crate::record::Record;
use crate::stop::{Cancel, Progress, SearchBudget, StopReason};

/// About how many bytes of steps one answer may have.
const MOST_BYTES: usize = 1 << 19;
/// Work on small boxes in one job, in entries of tables and sums: about one to three seconds.
const MOST_WORK: u64 = 1 << 29;
/// Bytes that the boxes of one job may take.
const MEMORY: u64 = 1 << 26;

impl Search<'_> {
    pub(crate) fn sizes(&self) -> &[u32] {
        &self.sizes
    }

    pub(crate) fn record(&self) -> Option<&dyn Record> {
        self.record
    }

    /// The setup with which others visit the boxes of this search.
    pub(crate) fn setup(&self, question: Question) -> Setup {
        Setup {
            question,
            combined: self.lenses[self.rows..].iter().map(|lens| lens.multipliers.clone()).collect(),
            weighed: self.weighed,
            small_boxes: self.small_boxes,
            wanted: self.wanted,
            record: self.record.is_some(),
        }
    }

    /// The boxes that are left, in the order of their paths, and the solutions found.
    #[expect(clippy::type_complexity, reason = "the two parts of a rest")]
    pub(crate) fn open(&self, rest: Rest) -> (VecDeque<OpenBox>, Vec<(Vec<bool>, Vec<CellId>)>) {
        // The top of the stack comes first in order.
        (rest.stack.into_iter().rev().map(OpenBox::from).collect(), rest.found)
    }

    /// The reverse of [`open`](Self::open); the closed part of the space counts as done.
    pub(crate) fn rest(&self, open: Vec<OpenBox>, found: Vec<(Vec<bool>, Vec<CellId>)>) -> Rest {
        let left: u64 = open.iter().map(|open| Progress::of_depth(open.path.len())).sum();
        self.progress.add(0, Progress::of_depth(0).saturating_sub(left));
        Rest { stack: open.into_iter().rev().map(|open| self.region(open)).collect(), found }
    }

    /// Counts boxes that others have visited, and the share that they closed.
    pub(crate) fn count(&self, nodes: u64, closed: u64) {
        self.report(&mut nodes.clone(), &mut closed.clone());
    }

    /// Do all of these cells solve the system, and does the caller accept them?
    pub(crate) fn confirms(&self, found: &[(Vec<bool>, Vec<CellId>)]) -> bool {
        found.iter().all(|(_, cells)| self.system.holds(cells) && (self.accept)(cells))
    }

    /// Visits boxes, given in the order of their paths, until about `limit` are visited. With
    /// `steps`, the answer has the steps; the record never gets them. If `cancel` was used, the
    /// answer is incomplete and must be discarded.
    pub(crate) fn work(&self, boxes: Vec<OpenBox>, limit: u64, steps: bool, cancel: &Cancel) -> Answer {
        let mut stack: Vec<Region> = boxes.into_iter().rev().map(|open| self.region(open)).collect();
        let mut scratch = self.scratch();
        scratch.collected = steps.then(Collected::default);
        scratch.most = Some((MOST_BYTES, MOST_WORK));
        let (nodes, closed) = (self.nodes(), self.progress.closed());
        let mut budget =
            SearchBudget { memory: Some(MEMORY), cancel: cancel.clone(), ..SearchBudget::unlimited() };
        if let Err(StopReason::Memory) = self.dive(&mut stack, &mut scratch, &budget, limit, &|_| false)
            && self.nodes() == nodes
        {
            // A single box needs more memory than that, so visit one without this limit.
            budget.memory = None;
            let _ = self.dive(&mut stack, &mut scratch, &budget, 1, &|_| false);
        }
        Answer {
            nodes: self.nodes() - nodes,
            closed: self.progress.closed().saturating_sub(closed),
            found: scratch.found,
            open: stack.into_iter().rev().map(OpenBox::from).collect(),
            noted: None,
            stretches: scratch.collected.map(Collected::into_stretches).unwrap_or_default(),
        }
    }

    fn region(&self, open: OpenBox) -> Region {
        let view = |lens: &Lens| {
            let mut view = lens.root();
            for (axis, &(low, high)) in open.ranges.iter().enumerate() {
                if (low, high) != (0, self.sizes[axis]) {
                    lens.restrict(&mut view, axis, low, high);
                }
            }
            view
        };
        let views = self.lenses.iter().map(view).collect();
        Region { views, ranges: open.ranges, small: open.small, path: open.path }
    }
}

impl From<Region> for OpenBox {
    fn from(region: Region) -> Self {
        Self { ranges: region.ranges, small: region.small, path: region.path }
    }
}
