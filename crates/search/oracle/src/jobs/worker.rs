//! A worker: visits the boxes of jobs, and keeps the models of recent jobs for the next ones.

use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Mutex, MutexGuard, PoisonError};

use secateur_certificate::FileDigest;
use secateur_model::CellId;
use thiserror::Error;

use crate::branch::Search;
use crate::jobs::subject::{Arrived, Laid};
use crate::jobs::wire::WireError;
use crate::jobs::{Job, Setup};
use crate::lens::Lens;
use crate::solve::Options;
use crate::stop::Cancel;
use crate::system::System;

/// How many subjects are kept while no job uses them.
const KEPT: usize = 4;

/// Why a job has no answer.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum JobError {
    /// The bytes are not a job of this version.
    #[error("this is no job of this version of secateur ({})", env!("CARGO_PKG_VERSION"))]
    Job,
    /// The models are damaged, of another version, or not those of the job.
    #[error("the models of the job are damaged or of another version of secateur than {}", env!("CARGO_PKG_VERSION"))]
    Subject,
    /// The worker failed.
    #[error("the worker failed; this is a bug, please report it")]
    Failed,
}

impl From<WireError> for JobError {
    fn from(WireError: WireError) -> Self {
        Self::Job
    }
}

/// Does a job and returns its answer; `None` if the models of the job are not known here and
/// `subject` is not given. The same job always has the same answer.
pub fn work(subject: Option<&[u8]>, job: &[u8]) -> Result<Option<Vec<u8>>, JobError> {
    let (head, _) = Job::begin(job)?;
    let server = match (take(&head.subject), subject) {
        (Some(server), _) => server,
        (None, None) => return Ok(None),
        (None, Some(bytes)) => {
            if FileDigest::of(bytes).0 != head.subject {
                return Err(JobError::Subject);
            }
            let arrived = Arrived::decode(bytes).map_err(|WireError| JobError::Subject)?;
            Server::start(head.subject, arrived)?
        }
    };
    let (sender, receiver) = mpsc::channel();
    server.tasks.send(Task { job: job.to_vec(), reply: sender }).map_err(|_| JobError::Failed)?;
    let answer = receiver.recv().map_err(|_| JobError::Failed)??;
    put_back(server);
    Ok(Some(answer))
}

/// A job, and the channel for its answer.
pub(crate) struct Task {
    job: Vec<u8>,
    reply: Sender<Result<Vec<u8>, JobError>>,
}

impl Task {
    fn answer(self, answer: Result<Vec<u8>, JobError>) {
        // The caller may be gone; then nobody needs the answer.
        let _ = self.reply.send(answer);
    }

    /// Refuses this job, which is not for the models of this server; returns the next one.
    pub(crate) fn refuse(self, tasks: &Receiver<Self>) -> Option<Self> {
        self.answer(Err(JobError::Job));
        tasks.recv().ok()
    }
}

/// A thread that holds two models, laid out, and the lenses of the last question. It ends when this
/// value is dropped.
struct Server {
    subject: [u8; 32],
    tasks: Sender<Task>,
}

/// Servers without work, the most recently used last.
static IDLE: Mutex<Vec<Server>> = Mutex::new(Vec::new());

fn idle() -> MutexGuard<'static, Vec<Server>> {
    IDLE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn take(subject: &[u8; 32]) -> Option<Server> {
    let mut idle = idle();
    let place = idle.iter().rposition(|server| server.subject == *subject)?;
    Some(idle.remove(place))
}

fn put_back(server: Server) {
    let mut idle = idle();
    idle.push(server);
    if idle.len() > KEPT {
        idle.remove(0);
    }
}

impl Server {
    fn start(subject: [u8; 32], arrived: Arrived) -> Result<Self, JobError> {
        let (tasks, receiver) = mpsc::channel();
        let thread = std::thread::Builder::new().name("secateur worker".to_owned());
        thread.spawn(move || serve(&arrived, &receiver)).map_err(|_| JobError::Failed)?;
        Ok(Self { subject, tasks })
    }
}

fn serve(arrived: &Arrived, tasks: &Receiver<Task>) {
    let Ok(laid) = arrived.lay_out() else { return };
    let mut next = tasks.recv().ok();
    while let Some(task) = next.take() {
        let setup = Job::begin(&task.job).map(|(job, _)| job.setup);
        next = match (setup, &laid) {
            (Ok(setup), Laid::Decisions(comparison)) => comparison.serve(&setup, task, tasks),
            (Ok(setup), Laid::Scores(comparison)) => comparison.serve(&setup, task, tasks),
            (Err(WireError), _) => task.refuse(tasks),
        };
    }
}

/// Answers all jobs with this setup. Returns the first task that has another setup; `None` when no
/// more tasks come.
pub(crate) fn serve_question(
    system: &System<'_>,
    accept: &(dyn Fn(&[CellId]) -> bool + Sync),
    noted: &Mutex<Option<Vec<f64>>>,
    setup: &Setup,
    mut task: Task,
    tasks: &Receiver<Task>,
) -> Option<Task> {
    let rows = system.row_count();
    let fits = setup.combined.iter().all(|lens| lens.len() == rows)
        && (rows..=rows + setup.combined.len()).contains(&setup.weighed);
    let mut lenses: Vec<Lens> = (0..rows).map(|row| Lens::of_row(system, row)).collect();
    if fits {
        lenses.extend(setup.combined.iter().map(|multipliers| Lens::new(system, multipliers)));
    }
    let options = Options { wanted: setup.wanted, small_boxes: setup.small_boxes, ..Options::unlimited() };
    let search = Search::new(system, lenses, setup.weighed, accept, &options, None);
    let sizes = system.layout().axis_sizes();
    loop {
        let same = Job::begin(&task.job).is_ok_and(|(job, _)| job.setup == *setup);
        if !same {
            return Some(task);
        }
        let answer = match Job::decode(&task.job, &sizes) {
            Ok(job) if fits => {
                let mut answer = search.work(job.boxes, job.limit, setup.record, &Cancel::default());
                answer.noted = noted.lock().unwrap_or_else(PoisonError::into_inner).take();
                Ok(answer.encode(&FileDigest::of(&task.job).0, &sizes))
            }
            _ => Err(JobError::Job),
        };
        task.answer(answer);
        task = tasks.recv().ok()?;
    }
}
