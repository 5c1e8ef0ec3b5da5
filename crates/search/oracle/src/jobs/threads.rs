//! Threads of this process as workers, for searches that keep checkpoints: a checkpoint is made of
//! whole jobs.

use std::fmt;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use secateur_certificate::FileDigest;

use crate::branch::Search;
use crate::jobs::{Job, Reply, Workers, WorkersGone};
use crate::stop::Cancel;

struct Threads {
    count: usize,
    jobs: Mutex<Sender<(u64, Vec<u8>)>>,
    answers: Mutex<Receiver<(u64, Reply)>>,
    /// Tells the threads to abandon their jobs.
    over: Cancel,
}

impl fmt::Debug for Threads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} threads", self.count)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Calls `run` with `count` threads that visit boxes of a search.
pub(super) fn with_threads<T>(search: &Search<'_>, count: usize, run: impl FnOnce(&dyn Workers) -> T) -> T {
    let (jobs, waiting) = mpsc::channel::<(u64, Vec<u8>)>();
    let (done, answers) = mpsc::channel();
    let waiting = Mutex::new(waiting);
    let over = Cancel::default();
    std::thread::scope(|scope| {
        for _ in 0..count.max(1) {
            let (waiting, done, over) = (&waiting, done.clone(), over.clone());
            scope.spawn(move || {
                loop {
                    // The lock is held while this thread waits, so the others wait for the lock.
                    let Ok((number, job)) = lock(waiting).recv() else { return };
                    let reply = match Job::decode(&job, search.sizes()) {
                        Ok(read) => {
                            let answer = search.work(read.boxes, read.limit, read.setup.record, &over);
                            Reply::Done(answer.encode(&FileDigest::of(&job).0, search.sizes()))
                        }
                        Err(_) => Reply::Lost,
                    };
                    if over.is_cancelled() || done.send((number, reply)).is_err() {
                        return;
                    }
                }
            });
        }
        let threads =
            Threads { count: count.max(1), jobs: Mutex::new(jobs), answers: Mutex::new(answers), over };
        // When `threads` is dropped after this, the channel closes and the threads end.
        run(&threads)
    })
}

impl Workers for Threads {
    fn count(&self) -> usize {
        self.count
    }

    fn send(&self, number: u64, _: &[u8; 32], _: &Arc<Vec<u8>>, job: Vec<u8>) -> Result<(), WorkersGone> {
        lock(&self.jobs).send((number, job)).map_err(|_| WorkersGone)
    }

    fn receive(&self, wait: Duration) -> Result<Option<(u64, Reply)>, WorkersGone> {
        match lock(&self.answers).recv_timeout(wait) {
            Ok(answer) => Ok(Some(answer)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(WorkersGone),
        }
    }

    fn forget(&self) {
        self.over.cancel();
    }
}
