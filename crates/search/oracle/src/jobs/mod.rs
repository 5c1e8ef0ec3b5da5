//! Work that others can do: boxes of a search, visited on another thread or another machine.
//!
//! The work on a box depends only on the system, the lenses, the box and its path ([`OpenBox`]):
//! the same boxes are visited and the same steps proved, no matter who visits them and how they are
//! dealt out. So a [`Job`] is some open boxes of one question about a [`Subject`], and its
//! [`Answer`] has the steps that were proved, the solutions that were found, and the boxes that are
//! still open. Both are pure functions of their inputs: a lost job is sent again, and a second
//! answer to a job is ignored. The proof is put together in the order of paths, so the certificate
//! has the same bytes as that of one thread.
//!
//! The models are sent once to each worker ([`work`] keeps those of the last jobs); apart from
//! them, a job is a few kilobytes. They travel in the canonical encoding that their digests are
//! computed from, and only if decoding it gives back the very same models. An answer names its job
//! by digest, and the process that asked checks every solution again.
//!
//! A question with a limit on boxes is not dealt out, because the place where it ends would depend
//! on which worker is faster. Such are the questions of the passes of `prune`, and measuring scores.
//!
//! # Where to read
//! `foreman` deals boxes out and puts answers together; `worker` visits the boxes of a job. `wire`
//! and `model` have the bytes, `subject` is two models and what is asked about them, `threads` are
//! workers in this process, and `keeper` keeps checkpoints. [`Workers`] is what an executor has to
//! offer; the Python package offers one of `concurrent.futures`.

mod foreman;
mod keeper;
mod model;
mod subject;
mod threads;
pub(crate) mod wire;
mod worker;

use std::fmt;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use secateur_model::{CellId, Ensemble};

use crate::certify::Stretch;
pub(crate) use keeper::Saved;
pub use keeper::{CheckpointError, Keep, Keeper};
pub(crate) use subject::Subject;
use wire::{In, Out, WireError};
pub use worker::{JobError, work};
pub(crate) use worker::{Task, serve_question};

/// Takes jobs and returns answers: the workers of an executor, for example.
pub trait Workers: Send + Sync + fmt::Debug {
    /// About how many jobs run at the same time.
    fn count(&self) -> usize;

    /// Hands a job over. Its answer comes later, under `number`. `subject` holds the models of the
    /// job, for workers that do not have them yet; `id` is its digest.
    fn send(
        &self,
        number: u64,
        id: &[u8; 32],
        subject: &Arc<Vec<u8>>,
        job: Vec<u8>,
    ) -> Result<(), WorkersGone>;

    /// The next answer to any job; `None` if none arrives within this time.
    fn receive(&self, wait: Duration) -> Result<Option<(u64, Reply)>, WorkersGone>;

    /// Answers to all jobs sent so far are no longer needed.
    fn forget(&self);
}

/// The outcome of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The result of [`work`].
    Done(Vec<u8>),
    /// Its worker is gone or failed.
    Lost,
}

/// There are no workers any more. The implementation of [`Workers`] knows why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkersGone;

/// Who helps with a search, and when.
#[derive(Clone, Debug)]
pub struct Crew {
    /// The workers that take jobs; `None` for threads of this process.
    pub workers: Option<Arc<dyn Workers>>,
    /// Keeps checkpoints of a search that records its proof.
    pub keeper: Option<Arc<Keeper>>,
    /// A question that is answered within this time is not given to others.
    pub after: Duration,
    /// A job without an answer after this time is sent again.
    pub patience: Duration,
    pub(crate) asked: Option<Asked>,
    /// The checkpoint that the search resumes from.
    pub(crate) saved: Option<Arc<Saved>>,
}

impl Crew {
    /// These workers. They get questions that take longer than a second, and a job without an
    /// answer is sent again after a minute.
    pub fn new(workers: Arc<dyn Workers>) -> Self {
        Self { workers: Some(workers), after: Duration::from_secs(1), ..Self::nobody() }
    }

    /// Threads of this process, and checkpoints.
    pub fn keeping(keeper: Arc<Keeper>) -> Self {
        Self { keeper: Some(keeper), ..Self::nobody() }
    }

    fn nobody() -> Self {
        Self {
            workers: None,
            keeper: None,
            after: Duration::ZERO,
            patience: Duration::from_secs(60),
            asked: None,
            saved: None,
        }
    }

    /// The checkpoint to resume from, if it is in the middle of the question with this index.
    pub(crate) fn saved_at(&self, question: u64) -> Option<&Saved> {
        self.saved.as_deref().filter(|saved| saved.question == question)
    }

    /// Does the checkpoint have the proof of the question with this index?
    pub(crate) fn is_proved(&self, question: u64) -> bool {
        self.saved.as_ref().is_some_and(|saved| question < saved.question)
    }
}

/// The question that a search is about, as workers know it.
#[derive(Clone)]
pub(crate) struct Asked {
    pub(crate) about: Arc<About>,
    pub(crate) question: Question,
    /// How many questions were asked before it, and the boxes that they took (`nodes`).
    pub(crate) before: u64,
    pub(crate) nodes: u64,
    /// An input that was noted as open ([`crate::compare::Undecided::OrderOfAddition`]).
    pub(crate) noted: Arc<Mutex<Option<Vec<f64>>>>,
}

impl fmt::Debug for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Asked({:?})", self.question)
    }
}

/// A subject that is encoded when it is first needed, because most questions never leave the
/// machine. It holds the models until then.
pub(crate) struct About {
    models: [Ensemble; 2],
    /// What is compared: decisions with this band (the inner `None` means exact arithmetic), or
    /// scores (the outer `None`).
    band: Option<Option<f64>>,
    subject: OnceLock<Option<Arc<Subject>>>,
}

impl About {
    pub(crate) fn decisions(models: [&Ensemble; 2], band: Option<f64>) -> Arc<Self> {
        Arc::new(Self { models: models.map(Ensemble::clone), band: Some(band), subject: OnceLock::new() })
    }

    pub(crate) fn scores(models: [&Ensemble; 2]) -> Arc<Self> {
        Arc::new(Self { models: models.map(Ensemble::clone), band: None, subject: OnceLock::new() })
    }

    /// The bytes to send; `None` if the models would not arrive unchanged.
    pub(crate) fn subject(&self) -> Option<Arc<Subject>> {
        let models = [&self.models[0], &self.models[1]];
        let make = || match self.band {
            Some(band) => Subject::decisions(models, band),
            None => Subject::scores(models),
        };
        self.subject.get_or_init(|| make().map(Arc::new)).clone()
    }
}

/// Which system of its subject a job is about.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Question {
    /// The first model says `winner`, and the second does not put it above `other`.
    Pair { winner: u32, other: u32, by_input: bool },
    /// The scores of this output are farther apart than the limit.
    Score { output: u32, below: bool, within: f64 },
}

/// A box that is still to be visited, with everything that the search needs to know of it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct OpenBox {
    /// The range of cells on each axis.
    pub(crate) ranges: Vec<(u32, u32)>,
    /// The box is not tried as a small box while it has more cells than this.
    pub(crate) small: f64,
    /// The path from the whole space to this box: false for the child that was visited first.
    pub(crate) path: Vec<bool>,
}

/// How the boxes of a question are visited, the same for all of its jobs.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Setup {
    pub(crate) question: Question,
    /// The multipliers of the lenses that combine rows.
    pub(crate) combined: Vec<Vec<u64>>,
    /// Branching weighs only this many of the lenses, the first ones.
    pub(crate) weighed: usize,
    pub(crate) small_boxes: bool,
    pub(crate) wanted: usize,
    /// Whether the answer should have the steps.
    pub(crate) record: bool,
}

/// Some boxes, and a limit on how many to visit.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Job {
    pub(crate) subject: [u8; 32],
    pub(crate) setup: Setup,
    /// About how many boxes to visit; the boxes left then are part of the answer.
    pub(crate) limit: u64,
    pub(crate) boxes: Vec<OpenBox>,
}

/// The result of a job.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Answer {
    /// Boxes visited.
    pub(crate) nodes: u64,
    /// The share of the space that these boxes closed, as [`crate::Progress`] counts it.
    pub(crate) closed: u64,
    /// Solutions, with the paths of their boxes.
    pub(crate) found: Vec<(Vec<bool>, Vec<CellId>)>,
    /// The boxes that are left, in the order of their paths.
    pub(crate) open: Vec<OpenBox>,
    /// An input that stays undecided.
    pub(crate) noted: Option<Vec<f64>>,
    /// The steps that were proved.
    pub(crate) stretches: Vec<Stretch>,
}

/// The first bytes of a job and of an answer. Bytes of another version are refused.
const JOB: &[u8] = concat!("secateur job ", env!("CARGO_PKG_VERSION"), "\n").as_bytes();
const ANSWER: &[u8] = concat!("secateur answer ", env!("CARGO_PKG_VERSION"), "\n").as_bytes();

impl OpenBox {
    pub(crate) fn encode(&self, out: &mut Out, sizes: &[u32]) {
        let narrowed: Vec<(usize, (u32, u32))> = (self.ranges.iter().copied().enumerate())
            .filter(|&(axis, range)| range != (0, sizes[axis]))
            .collect();
        let mut last = 0;
        out.list(&narrowed, |out, &(axis, (low, high))| {
            out.number((axis - last) as u64);
            out.number(low.into());
            out.number((high - low).into());
            last = axis;
        });
        out.float(self.small);
        out.path(&self.path);
    }

    /// Checks the ranges against the axes, so that callers may rely on them.
    pub(crate) fn decode(input: &mut In<'_>, sizes: &[u32]) -> Result<Self, WireError> {
        let mut ranges: Vec<(u32, u32)> = sizes.iter().map(|&size| (0, size)).collect();
        let mut axis = 0usize;
        input.list(|input| {
            axis = axis.saturating_add(usize::try_from(input.number()?).map_err(|_| WireError)?);
            let (low, length) = (input.small()?, input.small()?);
            let range = ranges.get_mut(axis).ok_or(WireError)?;
            let high = low.checked_add(length).filter(|&high| length > 0 && high <= range.1);
            *range = (low, high.ok_or(WireError)?);
            Ok(())
        })?;
        let small = input.float()?;
        Ok(Self { ranges, small, path: input.path()? })
    }
}

impl Setup {
    fn encode(&self, out: &mut Out) {
        match self.question {
            Question::Pair { winner, other, by_input } => {
                out.byte(0);
                out.number(winner.into());
                out.number(other.into());
                out.flag(by_input);
            }
            Question::Score { output, below, within } => {
                out.byte(1);
                out.number(output.into());
                out.flag(below);
                out.float(within);
            }
        }
        out.list(&self.combined, |out, lens| out.list(lens, |out, &multiplier| out.number(multiplier)));
        out.number(self.weighed as u64);
        out.flag(self.small_boxes);
        out.number(self.wanted as u64);
        out.flag(self.record);
    }

    fn decode(input: &mut In<'_>) -> Result<Self, WireError> {
        let question = match input.byte()? {
            0 => Question::Pair { winner: input.small()?, other: input.small()?, by_input: input.flag()? },
            1 => Question::Score { output: input.small()?, below: input.flag()?, within: input.float()? },
            _ => return Err(WireError),
        };
        Ok(Self {
            question,
            combined: input.list(|input| input.list(In::number))?,
            weighed: input.small()? as usize,
            small_boxes: input.flag()?,
            wanted: input.small()? as usize,
            record: input.flag()?,
        })
    }
}

impl Job {
    pub(crate) fn encode(&self, sizes: &[u32]) -> Vec<u8> {
        let mut out = Out::default();
        out.raw(JOB);
        out.raw(&self.subject);
        self.setup.encode(&mut out);
        out.number(self.limit);
        out.list(&self.boxes, |out, open| open.encode(out, sizes));
        out.0
    }

    pub(crate) fn decode(bytes: &[u8], sizes: &[u32]) -> Result<Self, WireError> {
        let (mut job, mut input) = Self::begin(bytes)?;
        job.boxes = input.list(|input| OpenBox::decode(input, sizes))?;
        input.end()?;
        Ok(job)
    }

    /// Reads everything but the boxes, which cannot be read before the axes are known; the rest of
    /// the input holds them.
    fn begin(bytes: &[u8]) -> Result<(Self, In<'_>), WireError> {
        let mut input = In::new(bytes);
        if input.raw(JOB.len())? != JOB {
            return Err(WireError);
        }
        let job = Self {
            subject: input.array()?,
            setup: Setup::decode(&mut input)?,
            limit: input.number()?,
            boxes: Vec::new(),
        };
        Ok((job, input))
    }
}

impl Answer {
    /// `job` is the digest of the job's bytes. It ties the answer to that job, under any number.
    pub(crate) fn encode(&self, job: &[u8; 32], sizes: &[u32]) -> Vec<u8> {
        let mut out = Out::default();
        out.raw(ANSWER);
        out.raw(job);
        out.number(self.nodes);
        out.number(self.closed);
        out.list(&self.found, |out, (path, cells)| {
            out.path(path);
            out.list(cells, |out, cell| out.number(cell.0.into()));
        });
        out.list(&self.open, |out, open| open.encode(out, sizes));
        out.option(self.noted.as_ref(), |out, row| out.list(row, |out, &value| out.float(value)));
        out.list(&self.stretches, |out, stretch| stretch.encode(out));
        out.0
    }

    /// The answer to this job.
    pub(crate) fn decode(bytes: &[u8], job: &[u8; 32], sizes: &[u32]) -> Result<Self, WireError> {
        let mut input = In::new(bytes);
        if input.raw(ANSWER.len())? != ANSWER || input.raw(job.len())? != job {
            return Err(WireError);
        }
        let answer = Self {
            nodes: input.number()?,
            closed: input.number()?,
            found: input.list(|input| {
                let path = input.path()?;
                let cells = input.list(|input| Ok(CellId(input.small()?)))?;
                let inside =
                    cells.len() == sizes.len() && cells.iter().zip(sizes).all(|(cell, &size)| cell.0 < size);
                if inside { Ok((path, cells)) } else { Err(WireError) }
            })?,
            open: input.list(|input| OpenBox::decode(input, sizes))?,
            noted: input.option(|input| input.list(In::float))?,
            stretches: input.list(Stretch::decode)?,
        };
        input.end()?;
        Ok(answer)
    }
}
