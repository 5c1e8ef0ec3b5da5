//! Depth-first branch and bound over boxes of cells.
//!
//! A box is a range of cells on each axis. It is closed if the upper bound of some lens falls below
//! that lens's bound. It is narrowed if one row shows that a solution can lie only in part of an
//! axis. Otherwise it is split in two, where the two sides are likely to need the fewest boxes
//! (strong branching over all splits; several rows are weighed, because often one row closes the
//! left side and another row the right one). If at most two axes are still open, the cells are
//! checked one by one. Before that, a box in which little remains is closed at once
//! (`small_box.rs`). Whether that is tried depends only on the box and its path.
//!
//! Boxes are visited in the order of their paths, also by several threads: of all solutions the
//! first one in that order is the answer, so the answer does not depend on the number of threads.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use secateur_model::CellId;

use crate::certify::Collected;
use crate::fault;
use crate::lens::{Lens, View};
use crate::pause;
use crate::record::{ProofStep, Record};
use crate::small_box::SmallBox;
use crate::solve::Options;
use crate::stop::{Progress, SearchBudget, StopReason};
use crate::system::System;

mod away;
mod look;

/// How the search over boxes ended.
pub(crate) enum Searched {
    /// These cells satisfy the system; there may be more.
    Found(Vec<Vec<CellId>>),
    /// No cell satisfies the system.
    Nothing,
    /// The budget ended first.
    Stopped(StopReason),
}

/// Boxes that one thread visits alone before others may help.
pub(crate) const ALONE: u64 = 2_000;
/// Finished boxes that a thread keeps, to use their memory again.
const SPARE: usize = 256;
/// Boxes between two checks of the clock and of other threads; only one for layouts with many
/// leaves.
const BATCH: u64 = 256;
/// Work on small boxes (entries of tables and sums) between two checks of the clock.
const WORK_BATCH: u64 = 1 << 21;
/// If two axes are open, cells are checked one by one if the smaller axis has at most this many.
const NARROW: u32 = 16;
/// How many rows branching weighs: those nearest to closing the box.
const ROWS: usize = 3;
/// Boxes with more cells than this (2^40) are never tried as small boxes.
const SMALL: f64 = 1.099511627776e12;

/// A search over all boxes of a system.
pub(crate) struct Search<'a> {
    system: &'a System<'a>,
    lenses: Vec<Lens>,
    /// The number of rows. The first lenses are the single rows.
    rows: usize,
    /// Branching weighs only this many of the lenses, the first ones.
    weighed: usize,
    sizes: Vec<u32>,
    /// Decides whether a cell that satisfies the rows counts as a solution.
    accept: &'a (dyn Fn(&[CellId]) -> bool + Sync),
    /// Whether small boxes are closed by joining two halves, which takes two rows.
    joins: bool,
    /// The option to join, as the caller set it, for any number of rows.
    small_boxes: bool,
    wanted: usize,
    progress: &'a Progress,
    record: Option<&'a dyn Record>,
    nodes: AtomicU64,
    /// Boxes between two checks of the clock.
    batch: u64,
}

/// The boxes that a search still has to visit, and the solutions found.
pub(crate) struct Rest {
    /// Open boxes; the last one is visited next.
    stack: Vec<Region>,
    found: Vec<(Vec<bool>, Vec<CellId>)>,
}

impl Rest {
    /// Solutions so far.
    pub(crate) fn found(&self) -> impl Iterator<Item = &[CellId]> {
        self.found.iter().map(|(_, cells)| cells.as_slice())
    }
}

/// A box and each lens's view of it.
#[derive(Clone)]
struct Region {
    ranges: Vec<(u32, u32)>,
    views: Vec<View>,
    /// The box is not tried as a small box while it has more cells than this.
    small: f64,
    /// The path from the whole space to this box: false for the child that was visited first.
    path: Vec<bool>,
}

/// A thread's working memory, so that nothing is allocated for each box.
struct Scratch {
    left: Vec<i64>,
    right: Vec<i64>,
    left_over: Vec<(f64, f64)>,
    rows: Vec<(f64, usize)>,
    spare: Vec<Region>,
    small_box: SmallBox,
    found: Vec<(Vec<bool>, Vec<CellId>)>,
    /// If set, steps are collected here instead of being sent to the record.
    collected: Option<Collected>,
    /// A job ends when it has made this many bytes of steps, or done this much work on small boxes.
    most: Option<(usize, u64)>,
    /// Work on small boxes so far.
    work: u64,
}

enum Step {
    Closed,
    Stopped(StopReason),
    Split { axis: usize, cell: u32 },
}

impl<'a> Search<'a> {
    pub(crate) fn new(
        system: &'a System<'a>,
        lenses: Vec<Lens>,
        weighed: usize,
        accept: &'a (dyn Fn(&[CellId]) -> bool + Sync),
        options: &'a Options,
        record: Option<&'a dyn Record>,
    ) -> Self {
        let sizes = system.layout().axis_sizes();
        let rows = system.row_count();
        let joins = options.small_boxes && lenses.iter().any(Lens::has_companion);
        Self {
            system,
            lenses,
            rows,
            weighed,
            sizes,
            accept,
            joins,
            small_boxes: options.small_boxes,
            wanted: options.wanted,
            progress: &options.progress,
            record,
            nodes: AtomicU64::new(0),
            batch: if system.layout().is_large() { 1 } else { BATCH },
        }
    }

    /// The boxes visited so far.
    pub(crate) fn nodes(&self) -> u64 {
        self.nodes.load(Ordering::Relaxed)
    }

    /// All lenses, those of the single rows first.
    pub(crate) fn lenses(&self) -> &[Lens] {
        &self.lenses
    }

    /// The lenses of the single rows.
    pub(crate) fn rows(&self) -> &[Lens] {
        &self.lenses[..self.rows]
    }

    /// The start of a search: the whole space is open.
    pub(crate) fn start(&self) -> Rest {
        let root = Region {
            ranges: self.sizes.iter().map(|&size| (0, size)).collect(),
            views: self.lenses.iter().map(Lens::root).collect(),
            small: SMALL,
            path: Vec::new(),
        };
        Rest { stack: vec![root], found: Vec::new() }
    }

    /// Adds a lens for the boxes that are left. Branching does not weigh it.
    pub(crate) fn add_lens(&mut self, lens: Lens, rest: &mut Rest) {
        for region in &mut rest.stack {
            let mut view = lens.root();
            for (axis, &(low, high)) in region.ranges.iter().enumerate() {
                lens.restrict(&mut view, axis, low, high);
            }
            region.views.push(view);
        }
        self.lenses.push(lens);
    }

    /// Visits about `limit` boxes on this thread; `None` if that does not end the search.
    pub(crate) fn begin(&self, rest: &mut Rest, budget: &SearchBudget, limit: u64) -> Option<Searched> {
        let mut scratch = self.scratch();
        scratch.found = std::mem::take(&mut rest.found);
        let ended = self.dive(&mut rest.stack, &mut scratch, budget, limit, &|_| false);
        match ended {
            Err(reason) if scratch.found.is_empty() => Some(Searched::Stopped(reason)),
            Ok(()) if !rest.stack.is_empty() && scratch.found.len() < self.wanted => {
                rest.found = scratch.found;
                None
            }
            _ => Some(finish(scratch.found, self.wanted)),
        }
    }

    /// Visits all boxes that are left.
    pub(crate) fn run(&self, mut rest: Rest, budget: &SearchBudget, threads: usize) -> Searched {
        let alone = if threads > 1 { ALONE } else { u64::MAX };
        match self.begin(&mut rest, budget, alone) {
            Some(ended) => ended,
            None => self.run_parallel(rest, budget, threads),
        }
    }

    /// Several threads take boxes from a common queue, in the order of their paths. After a number
    /// of boxes each returns those that it has not finished.
    fn run_parallel(&self, Rest { stack, found }: Rest, budget: &SearchBudget, threads: usize) -> Searched {
        struct Shared {
            queue: VecDeque<Region>,
            working: usize,
            found: Vec<(Vec<bool>, Vec<CellId>)>,
            stopped: Option<StopReason>,
        }
        // The top of the stack comes first in order.
        let queue: VecDeque<Region> = stack.into_iter().rev().collect();
        let shared = Mutex::new(Shared { queue, working: 0, found, stopped: None });
        let wake = std::sync::Condvar::new();
        let lock = || shared.lock().expect("no thread panics while it holds the lock");
        // Are there enough solutions before this path? Then it need not be searched.
        let beyond = |found: &[(Vec<bool>, Vec<CellId>)], path: &[bool]| {
            found.iter().filter(|(other, _)| other.as_slice() <= path).count() >= self.wanted
        };
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    let mut scratch = self.scratch();
                    loop {
                        let mut guard = lock();
                        let region = loop {
                            if guard.stopped.is_some() {
                                return;
                            }
                            match guard.queue.pop_front() {
                                Some(region) if beyond(&guard.found, &region.path) => {}
                                Some(region) => break region,
                                None if guard.working == 0 => {
                                    wake.notify_all();
                                    return;
                                }
                                None => {
                                    guard =
                                        wake.wait(guard).expect("no thread panics while it holds the lock")
                                }
                            }
                        };
                        guard.working += 1;
                        drop(guard);
                        let mut stack = vec![region];
                        let skip = |path: &[bool]| beyond(&lock().found, path);
                        let ended = self.dive(&mut stack, &mut scratch, budget, ALONE, &skip);
                        let mut guard = lock();
                        guard.working -= 1;
                        guard.found.append(&mut scratch.found);
                        guard.found.sort();
                        if let Err(reason) = ended {
                            guard.stopped.get_or_insert(reason);
                        }
                        // Return unfinished boxes to the front. The top of the stack is first in
                        // order and ends up first.
                        for region in stack {
                            guard.queue.push_front(region);
                        }
                        drop(guard);
                        wake.notify_all();
                    }
                });
            }
        });
        let shared = shared.into_inner().expect("no thread panics while it holds the lock");
        match shared.stopped {
            Some(reason) if shared.found.is_empty() => Searched::Stopped(reason),
            _ => finish(shared.found, self.wanted),
        }
    }

    fn scratch(&self) -> Scratch {
        let longest = self.sizes.iter().copied().max().unwrap_or(1) as usize + 1;
        Scratch {
            left: vec![0; longest],
            right: vec![0; longest],
            left_over: vec![(1.0, 1.0); longest],
            rows: Vec::new(),
            spare: Vec::new(),
            small_box: SmallBox::new(&self.sizes),
            found: Vec::new(),
            collected: None,
            most: None,
            work: 0,
        }
    }

    /// Works on a stack of boxes until it is empty, `limit` boxes are visited, or enough is found.
    fn dive(
        &self,
        stack: &mut Vec<Region>,
        scratch: &mut Scratch,
        budget: &SearchBudget,
        limit: u64,
        skip: &dyn Fn(&[bool]) -> bool,
    ) -> Result<(), StopReason> {
        let mut visited = 0;
        // Boxes and closed space since the last report.
        let (mut fresh, mut closed) = (0, 0);
        while let Some(mut region) = stack.pop() {
            if visited % self.batch == 0 {
                self.report(&mut fresh, &mut closed);
                if let Some(reason) = budget.spent(self.nodes()).or_else(|| pause::begins_batch(budget)) {
                    stack.push(region);
                    return Err(reason);
                }
                let kept = (stack.len() + scratch.spare.len() + 1) * region.bytes();
                if budget.memory.is_some_and(|most| kept as u64 > most) {
                    stack.push(region);
                    return Err(StopReason::Memory);
                }
                if visited >= limit {
                    stack.push(region);
                    return Ok(());
                }
                if skip(&region.path) {
                    scratch.put_back(region);
                    continue;
                }
            }
            if scratch.is_full() {
                self.report(&mut fresh, &mut closed);
                stack.push(region);
                return Ok(());
            }
            if scratch.small_box.done > WORK_BATCH {
                scratch.work += scratch.small_box.done;
                scratch.small_box.done = 0;
                self.report(&mut fresh, &mut closed);
                if let Some(reason) = budget.spent(self.nodes()) {
                    stack.push(region);
                    return Err(reason);
                }
            }
            fresh += 1;
            visited += 1;
            match self.visit(&mut region, scratch, budget) {
                Step::Stopped(reason) => {
                    self.report(&mut fresh, &mut closed);
                    stack.push(region);
                    return Err(reason);
                }
                Step::Closed => {
                    closed += Progress::of_depth(region.path.len());
                    scratch.put_back(region);
                }
                Step::Split { axis, cell } => {
                    let mut second = scratch.copy_of(&region);
                    let (low, high) = region.ranges[axis];
                    self.narrow(&mut region, axis, low, cell + 1);
                    self.narrow(&mut second, axis, cell + 1, high);
                    // Visit the side with more room first: if there are solutions, they are found
                    // sooner.
                    let low_first = self.room(&second) <= self.room(&region);
                    self.step(&region, &mut scratch.collected, || ProofStep::Split { axis, cell, low_first });
                    if !low_first {
                        std::mem::swap(&mut region, &mut second);
                    }
                    region.path.push(false);
                    second.path.push(true);
                    stack.push(second);
                    stack.push(region);
                }
            }
            if scratch.found.len() >= self.wanted {
                break;
            }
        }
        self.report(&mut fresh, &mut closed);
        Ok(())
    }

    fn report(&self, fresh: &mut u64, closed: &mut u64) {
        self.nodes.fetch_add(*fresh, Ordering::Relaxed);
        self.progress.add(std::mem::take(fresh), std::mem::take(closed));
    }

    /// Closes or narrows a box; if neither settles it, chooses where to split.
    fn visit(&self, region: &mut Region, scratch: &mut Scratch, budget: &SearchBudget) -> Step {
        let grown = self.growth();
        loop {
            if let Some(lens) = self.closing(region) {
                self.step(region, &mut scratch.collected, || ProofStep::Close { lens });
                return Step::Closed;
            }
            self.choose_rows(region, scratch);
            let mut best: Option<(f64, usize, u32)> = None;
            let mut open = 0;
            let mut narrowed = false;
            for axis in 0..self.sizes.len() {
                let (low, high) = region.ranges[axis];
                if high - low < 2 {
                    continue;
                }
                open += 1;
                if self.batch == 1
                    && let Some(reason) = budget.over()
                {
                    return Step::Stopped(reason);
                }
                if self.weigh(region, axis, scratch) {
                    // Narrow the other axes first; a split is chosen only when no axis can be
                    // narrowed.
                    narrowed = true;
                    if self.closing(region).is_some() {
                        break;
                    }
                    continue;
                }
                if narrowed {
                    continue;
                }
                for (cell, left_over) in (low..high - 1).zip(&scratch.left_over[low as usize..]) {
                    let cost = grown(left_over.0) + grown(left_over.1);
                    if best.is_none_or(|(least, ..)| cost < least) {
                        best = Some((cost, axis, cell));
                    }
                }
            }
            if narrowed {
                continue;
            }
            if open <= 1 || open == 2 && self.smaller_open(region) <= NARROW {
                if let Err(reason) = self.look_at_each(region, scratch, budget) {
                    return Step::Stopped(reason);
                }
                self.step(region, &mut scratch.collected, || ProofStep::Cells);
                return Step::Closed;
            }
            if self.look_as_small(region, scratch) {
                return Step::Closed;
            }
            return match best {
                Some((cost, axis, cell)) if cost < 2.0 => Step::Split { axis, cell },
                _ => self.middle_of_widest(region),
            };
        }
    }

    /// How the number of boxes that a side needs depends on the part of the slack that it leaves: a
    /// power, which is higher if more of the space has to be searched before a bound closes it. A
    /// single row closes large boxes or none, and a side that keeps nearly all of its slack costs
    /// nearly as much as the box itself: the twelfth power takes eight times fewer boxes than the
    /// third.
    fn growth(&self) -> fn(f64) -> f64 {
        // Written as products, because a general power function would be called for every cell of
        // every axis.
        match (self.rows, self.joins) {
            (1, _) => |part| {
                let third = part * part * part;
                third * third * (third * third)
            },
            (_, true) => |part| part * part * (part * part) * part,
            (_, false) => |part| part * part * part,
        }
    }

    /// Chooses the few rows that are nearest to closing the box.
    fn choose_rows(&self, region: &Region, scratch: &mut Scratch) {
        scratch.rows.clear();
        scratch.rows.extend((0..self.weighed).map(|row| (self.room_of(region, row), row)));
        scratch.rows.sort_by(|a, b| a.0.total_cmp(&b.0));
        scratch.rows.truncate(ROWS);
    }

    /// For each split of an axis, the work left on both sides: the part of a row's slack (its upper
    /// bound minus its bound) that remains, multiplied over the chosen rows, since each of them may
    /// close the side. If a row shows that one side holds no solution, the box is narrowed instead,
    /// and the result is true.
    fn weigh(&self, region: &mut Region, axis: usize, scratch: &mut Scratch) -> bool {
        let (low, high) = region.ranges[axis];
        scratch.left_over[low as usize..high as usize].fill((1.0, 1.0));
        for &(_, row) in &scratch.rows {
            let (lens, view) = (&self.lenses[row], &region.views[row]);
            let (left, right) = (&mut scratch.left, &mut scratch.right);
            lens.profile(view, axis, low, high, left, right);
            let slack = view.upper - lens.bound;
            // The left losses fall as the cell index rises; the right losses grow.
            let mut new_low = low;
            while new_low < high - 1 && left[new_low as usize] > slack {
                new_low += 1;
            }
            let mut new_high = high;
            while new_high - 1 > new_low && right[new_high as usize - 2] > slack {
                new_high -= 1;
            }
            if (new_low, new_high) != (low, high) {
                self.narrow(region, axis, new_low, new_high);
                self.step(region, &mut scratch.collected, || ProofStep::Narrow {
                    axis,
                    low: new_low,
                    high: new_high,
                    lens: row,
                });
                return true;
            }
            let scale = 1.0 / (slack as f64 + 1.0);
            for cell in low as usize..high as usize - 1 {
                let left_over = &mut scratch.left_over[cell];
                left_over.0 *= 1.0 - left[cell] as f64 * scale;
                left_over.1 *= 1.0 - right[cell] as f64 * scale;
            }
        }
        false
    }

    /// The index of a lens which shows that the box holds no solution.
    fn closing(&self, region: &Region) -> Option<usize> {
        if fault::skips_box(&region.path) {
            return Some(0);
        }
        self.lenses.iter().zip(&region.views).position(|(lens, view)| !lens.alive(view))
    }

    fn step(&self, region: &Region, collected: &mut Option<Collected>, step: impl FnOnce() -> ProofStep) {
        if let Some(collected) = collected {
            collected.step(&region.path, step());
        } else if let Some(record) = self.record {
            record.step(&region.path, step());
        }
    }

    /// How far a row's bound is from closing the box, relative to its range.
    fn room_of(&self, region: &Region, row: usize) -> f64 {
        let lens = &self.lenses[row];
        (region.views[row].upper - lens.bound) as f64 / lens.range.max(1) as f64
    }

    /// How far the box is from being closed by the row nearest to closing it.
    fn room(&self, region: &Region) -> f64 {
        (0..self.rows).map(|row| self.room_of(region, row)).fold(f64::INFINITY, f64::min)
    }

    fn narrow(&self, region: &mut Region, axis: usize, low: u32, high: u32) {
        region.ranges[axis] = (low, high);
        for (lens, view) in self.lenses.iter().zip(&mut region.views) {
            lens.restrict(view, axis, low, high);
        }
    }

    fn smaller_open(&self, region: &Region) -> u32 {
        region.ranges.iter().map(|(low, high)| high - low).filter(|&size| size > 1).min().unwrap_or(1)
    }

    fn middle_of_widest(&self, region: &Region) -> Step {
        let axis = (0..self.sizes.len())
            .max_by_key(|&axis| region.ranges[axis].1 - region.ranges[axis].0)
            .expect("some axis is open");
        let (low, high) = region.ranges[axis];
        Step::Split { axis, cell: low + (high - low) / 2 - 1 }
    }
}

impl Region {
    /// How many cells the box has, rounded.
    fn cells(&self) -> f64 {
        self.ranges.iter().map(|(low, high)| f64::from(high - low)).product()
    }

    /// About how many bytes a box takes.
    fn bytes(&self) -> usize {
        self.ranges.len() * 8 + self.views.iter().map(View::bytes).sum::<usize>() + self.path.capacity()
    }
}

impl Scratch {
    /// Has a job made as many steps as one answer may hold, or done as much work as one job may?
    fn is_full(&self) -> bool {
        let bytes = || self.collected.as_ref().map_or(0, Collected::bytes);
        self.most.is_some_and(|(most, work)| bytes() >= most || self.work >= work)
    }

    /// Keeps a finished box, to use its memory again. With several threads, one may split more
    /// boxes than it closes and another the reverse; without a limit, the second would keep ever
    /// more.
    fn put_back(&mut self, region: Region) {
        if self.spare.len() < SPARE {
            self.spare.push(region);
        }
    }

    fn copy_of(&mut self, region: &Region) -> Region {
        match self.spare.pop() {
            Some(mut copy) => {
                copy.ranges.copy_from_slice(&region.ranges);
                for (copy, view) in copy.views.iter_mut().zip(&region.views) {
                    copy.copy_from(view);
                }
                copy.small = region.small;
                copy.path.clear();
                copy.path.extend_from_slice(&region.path);
                copy
            }
            None => region.clone(),
        }
    }
}

pub(crate) fn finish(mut found: Vec<(Vec<bool>, Vec<CellId>)>, wanted: usize) -> Searched {
    found.sort();
    found.truncate(wanted);
    if found.is_empty() {
        Searched::Nothing
    } else {
        Searched::Found(found.into_iter().map(|(_, cells)| cells).collect())
    }
}
