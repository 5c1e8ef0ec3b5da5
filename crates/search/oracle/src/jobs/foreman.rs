//! Deals the boxes of a search out to workers, and puts their answers together.
//!
//! Boxes are dealt out in the order of their paths. A job ends after a number of boxes, so that
//! hard parts come back in pieces and are dealt out again: no worker waits while another has hours
//! of work. A job that is lost, or has had no answer for long, is sent again; the first answer
//! counts. Boxes that are lost three times are visited here.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use secateur_certificate::FileDigest;
use secateur_model::CellId;

use crate::branch::{ALONE, Rest, Search, Searched, finish};
use crate::jobs::threads::with_threads;
use crate::jobs::{Answer, Asked, Crew, Job, OpenBox, Reply, Saved, Setup, Subject, Workers};
use crate::record::Record;
use crate::stop::{Cancel, SearchBudget, StopReason};

/// How long a job should take: SHORT while there are too few boxes to keep all workers busy, LONG
/// otherwise.
const SHORT: Duration = Duration::from_millis(100);
const LONG: Duration = Duration::from_millis(1500);
/// The fewest and the most boxes that a job may visit.
const FEWEST: u64 = 256;
const MOST: u64 = 1 << 24;
/// How many boxes one job may start with.
const MOST_OPEN: usize = 256;
/// After this many losses the boxes of a task are visited here.
const LOSSES: u32 = 3;
/// How long to wait for an answer before checking the clock.
const LOOK: Duration = Duration::from_millis(50);

/// A new job number. Numbers are not used again, so that a late answer is not taken for the answer
/// to another job.
fn new_number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Boxes that somebody is visiting.
struct Task {
    boxes: Vec<OpenBox>,
    limit: u64,
    sent: Instant,
    losses: u32,
}

/// The state of a search whose boxes are dealt out.
struct Foreman<'a, 'b> {
    search: &'a Search<'b>,
    workers: &'a dyn Workers,
    /// Whether the workers are threads of this process.
    here: bool,
    crew: &'a Crew,
    asked: &'a Asked,
    subject: Arc<Subject>,
    setup: Setup,
    sizes: Vec<u32>,
    /// Boxes to deal out, in the order of their paths.
    queue: VecDeque<OpenBox>,
    tasks: BTreeMap<u64, Task>,
    /// For each job without an answer, its task and the digest of its bytes.
    jobs: HashMap<u64, (u64, [u8; 32])>,
    found: Vec<(Vec<bool>, Vec<CellId>)>,
    /// About how many boxes one worker visits in a second.
    pace: f64,
}

impl Search<'_> {
    /// Visits all boxes that are left, with the help of others if that takes long. The error holds
    /// the boxes that are left if this question cannot be given to others.
    pub(crate) fn run_with_crew(
        &self,
        mut rest: Rest,
        budget: &SearchBudget,
        crew: &Crew,
        threads: usize,
    ) -> Result<Searched, Rest> {
        let (started, before) = (Instant::now(), self.nodes());
        loop {
            if let Some(ended) = self.begin(&mut rest, budget, ALONE) {
                return Ok(ended);
            }
            if started.elapsed() >= crew.after {
                break;
            }
        }
        let Some(asked) = &crew.asked else { return Err(rest) };
        if self.record().is_some_and(|record| !record.flush()) {
            return Err(rest);
        }
        let Some(subject) = asked.about.subject() else { return Err(rest) };
        let pace = (self.nodes() - before) as f64 / started.elapsed().as_secs_f64().max(1e-3);
        let (queue, found) = self.open(rest);
        let run = |workers: &dyn Workers| {
            let foreman = Foreman {
                search: self,
                workers,
                here: crew.workers.is_none(),
                crew,
                asked,
                subject,
                setup: self.setup(asked.question),
                sizes: self.sizes().to_vec(),
                queue,
                tasks: BTreeMap::new(),
                jobs: HashMap::new(),
                found,
                pace: pace.max(100.0),
            };
            foreman.run(budget)
        };
        Ok(match &crew.workers {
            Some(workers) => run(workers.as_ref()),
            None => with_threads(self, threads, run),
        })
    }
}

impl Foreman<'_, '_> {
    fn run(mut self, budget: &SearchBudget) -> Searched {
        let stopped = self.deal(budget).err();
        self.workers.forget();
        if stopped.is_some() && self.found.is_empty() {
            self.save();
        }
        match stopped {
            Some(reason) if self.found.is_empty() => Searched::Stopped(reason),
            _ => finish(self.found, self.setup.wanted),
        }
    }

    fn deal(&mut self, budget: &SearchBudget) -> Result<(), StopReason> {
        loop {
            if let Some(reason) = budget.spent(self.search.nodes()) {
                return Err(reason);
            }
            self.give_away()?;
            if self.tasks.is_empty() {
                return Ok(());
            }
            let received = self.workers.receive(LOOK).map_err(|_| StopReason::Workers)?;
            if let Some((job, reply)) = received {
                self.take(job, reply)?;
            }
            self.ask_again_where_late()?;
            if self.crew.keeper.as_ref().is_some_and(|keeper| keeper.is_due()) {
                self.save();
            }
        }
    }

    /// Keeps a checkpoint, if that is wanted. Boxes that somebody is visiting count as open.
    fn save(&self) {
        let Some(keeper) = &self.crew.keeper else { return };
        let Some(proof) = self.search.record().and_then(Record::kept) else { return };
        let tasks = self.tasks.values().flat_map(|task| &task.boxes);
        let mut open: Vec<OpenBox> = self.queue.iter().chain(tasks).cloned().collect();
        open.sort_by(|a, b| a.path.cmp(&b.path));
        let saved = Saved {
            subject: self.subject.id,
            question: self.asked.before,
            setup: self.setup.clone(),
            nodes: self.asked.nodes + self.search.nodes(),
            open,
            found: self.found.clone(),
            noted: self.asked.noted.lock().unwrap_or_else(PoisonError::into_inner).clone(),
            proof,
        };
        keeper.save(&saved, &self.sizes);
    }

    /// Are there enough solutions before this path? Then it need not be searched.
    fn is_beyond(&self, path: &[bool]) -> bool {
        self.found.iter().filter(|(other, _)| other.as_slice() <= path).count() >= self.setup.wanted
    }

    fn give_away(&mut self) -> Result<(), StopReason> {
        let workers = self.workers.count().max(1);
        while self.tasks.len() < 2 * workers {
            while self.queue.front().is_some_and(|open| self.is_beyond(&open.path)) {
                self.queue.pop_front();
            }
            if self.queue.is_empty() {
                return Ok(());
            }
            // Many small boxes are sent together, as long as all workers have enough to do.
            let count = (self.queue.len() / (2 * workers)).clamp(1, MOST_OPEN);
            let enough = self.queue.len() >= 2 * workers;
            let time = if enough { LONG } else { SHORT };
            let limit = (self.pace * time.as_secs_f64()) as u64;
            let boxes: Vec<OpenBox> = self.queue.drain(..count.min(self.queue.len())).collect();
            let task = new_number();
            let limit = limit.clamp(FEWEST, MOST);
            self.tasks.insert(task, Task { boxes, limit, sent: Instant::now(), losses: 0 });
            self.send(task)?;
        }
        Ok(())
    }

    fn send(&mut self, task: u64) -> Result<(), StopReason> {
        let number = new_number();
        let own = self.tasks.get_mut(&task).expect("only tasks that are open are sent");
        own.sent = Instant::now();
        let job = Job {
            subject: self.subject.id,
            setup: self.setup.clone(),
            limit: own.limit,
            boxes: own.boxes.clone(),
        };
        let job = job.encode(&self.sizes);
        self.jobs.insert(number, (task, FileDigest::of(&job).0));
        let sent = self.workers.send(number, &self.subject.id, &self.subject.bytes, job);
        sent.map_err(|_| StopReason::Workers)
    }

    fn take(&mut self, job: u64, reply: Reply) -> Result<(), StopReason> {
        let Some((number, digest)) = self.jobs.remove(&job) else { return Ok(()) };
        // Another job of the same task was answered first.
        let Some(task) = self.tasks.get_mut(&number) else { return Ok(()) };
        let answer = match reply {
            Reply::Done(bytes) => Answer::decode(&bytes, &digest, &self.sizes).ok(),
            Reply::Lost => None,
        };
        let answer = answer.filter(|answer| self.search.confirms(&answer.found));
        let Some(answer) = answer else {
            task.losses += 1;
            if task.losses < LOSSES {
                return self.send(number);
            }
            let Some(task) = self.tasks.remove(&number) else { return Ok(()) };
            let answer = self.search.work(task.boxes, ALONE, self.setup.record, &Cancel::default());
            self.apply(answer, false);
            return Ok(());
        };
        let seconds = task.sent.elapsed().as_secs_f64();
        if answer.nodes >= FEWEST {
            // Adapt slowly, because some boxes take longer than others.
            let pace = answer.nodes as f64 / seconds.max(1e-3);
            self.pace = (self.pace * 0.7 + pace * 0.3).max(10.0);
        }
        self.tasks.remove(&number);
        self.apply(answer, !self.here);
        Ok(())
    }

    /// Adds the results of a job to those of the search.
    fn apply(&mut self, answer: Answer, elsewhere: bool) {
        if elsewhere {
            self.search.count(answer.nodes, answer.closed);
        }
        if let Some(row) = answer.noted {
            let mut noted = self.asked.noted.lock().unwrap_or_else(PoisonError::into_inner);
            noted.get_or_insert(row);
        }
        if let Some(record) = self.search.record() {
            answer.stretches.into_iter().for_each(|stretch| record.stretch(stretch));
        }
        if !answer.found.is_empty() {
            self.found.extend(answer.found);
            self.found.sort();
            // Drop tasks whose boxes all come after enough solutions.
            let mut tasks = std::mem::take(&mut self.tasks);
            tasks.retain(|_, task| task.boxes.iter().any(|open| !self.is_beyond(&open.path)));
            self.tasks = tasks;
        }
        // Insert the open boxes in the order of paths.
        let mut open = answer.open;
        while let Some(last) = open.pop() {
            let place = self.queue.partition_point(|other| other.path < last.path);
            self.queue.insert(place, last);
        }
    }

    fn ask_again_where_late(&mut self) -> Result<(), StopReason> {
        let late = |task: &Task| task.sent.elapsed() > self.crew.patience;
        let late: Vec<u64> =
            self.tasks.iter().filter(|(_, task)| late(task)).map(|(number, _)| *number).collect();
        late.into_iter().try_for_each(|task| self.send(task))
    }
}
