//! Where the time of a run goes, and how much of its end belongs to the certificate.

use std::time::{Duration, Instant};

use crate::outcome::Seconds;

/// What a run is doing. Exactly one task runs at any time, so the tasks' times add up to all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Task {
    /// Folding trees.
    Fold,
    /// Choosing inputs, trying weights on all cells, and making models of weights.
    Points,
    /// Solving linear programs for weights.
    Lp,
    /// Asking the oracle.
    Oracle,
    /// Looking for what must stay: relevant boundaries, cuts and covers.
    Bounds,
}

/// A stopwatch with one hand for each task.
#[derive(Clone, Debug)]
pub(crate) struct Clock {
    task: Task,
    since: Instant,
    seconds: Seconds,
}

impl Clock {
    /// A clock whose time goes to `task` until [`switch`](Self::switch) is called.
    pub(crate) fn start(task: Task) -> Self {
        Self { task, since: Instant::now(), seconds: Seconds::default() }
    }

    /// Begins another task, and returns the one that ran until now.
    pub(crate) fn switch(&mut self, task: Task) -> Task {
        let now = Instant::now();
        *self.of(self.task) += (now - self.since).as_secs_f64();
        self.since = now;
        std::mem::replace(&mut self.task, task)
    }

    /// The time of each task until now.
    pub(crate) fn read(&mut self) -> Seconds {
        self.switch(self.task);
        self.seconds
    }

    /// The time that went into bounds until now.
    pub(crate) fn bounds(&self) -> Duration {
        let running = if self.task == Task::Bounds { self.since.elapsed() } else { Duration::ZERO };
        Duration::from_secs_f64(self.seconds.bounds) + running
    }

    fn of(&mut self, task: Task) -> &mut f64 {
        let seconds = &mut self.seconds;
        match task {
            Task::Fold => &mut seconds.fold,
            Task::Points => &mut seconds.points,
            Task::Lp => &mut seconds.lp,
            Task::Oracle => &mut seconds.oracle,
            Task::Bounds => &mut seconds.bounds,
        }
    }
}

/// A certificate and its check are expected to take at most this many times as long as the search's
/// own proof of the model took: the search is done once more, with its steps written, and then
/// checked; a forest may need it for a second file.
const TIMES_THE_PROOF: u32 = 6;
/// A certificate also has the cuts and the proof of their bound. To check them takes about this share
/// of the time that it took to find them, or less.
const SHARE_OF_BOUNDS: f64 = 0.05;
/// This share of the whole time is kept back in any case: for writing and reading files and for a
/// machine that is suddenly busy.
const LEAST_SHARE: f64 = 0.03;
const LEAST: Duration = Duration::from_millis(200);
/// No more than this share of the time is kept back.
const MOST_SHARE: f64 = 0.4;

/// The time that a run has: until when it may search, and what it keeps back for the certificate of
/// its best model.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Time {
    /// When everything has to be done.
    end: Option<Instant>,
    /// The least and the most that is kept back; zero if nobody asks for a certificate.
    least: Duration,
    most: Duration,
    /// What is kept back for the best model.
    kept_back: Duration,
}

impl Time {
    /// The time from `now` to `end`; `None` if there is no limit.
    pub(crate) fn between(now: Instant, end: Option<Instant>, certifies: bool) -> Self {
        let all = end.map_or(Duration::ZERO, |end| end.saturating_duration_since(now));
        let most = if certifies { all.mul_f64(MOST_SHARE) } else { Duration::ZERO };
        let least = all.mul_f64(LEAST_SHARE).max(LEAST).min(most);
        Self { end, least, most, kept_back: least }
    }

    /// The same time for another run, beside the best model of this one: what is kept back is enough
    /// for either.
    pub(crate) fn for_another_run(self) -> Self {
        Self { least: self.kept_back, ..self }
    }

    /// When the search has to end, if so much of its time went into bounds and all that is left may
    /// do so, too.
    pub(crate) fn deadline(&self, bounds: Duration) -> Option<Instant> {
        self.deadline_at(Instant::now(), bounds)
    }

    fn deadline_at(&self, now: Instant, bounds: Duration) -> Option<Instant> {
        let left = self.end?.saturating_duration_since(now).saturating_sub(self.kept_back);
        if self.most.is_zero() {
            return self.end;
        }
        let left = left.saturating_sub(bounds.mul_f64(SHARE_OF_BOUNDS));
        now.checked_add(left.div_f64(1.0 + SHARE_OF_BOUNDS))
    }

    /// Keeps back what the certificate of a model takes whose proof took this long. False if there
    /// is no longer that much time: then the model must not become the best one, because nobody
    /// could check it in time.
    pub(crate) fn keep_back(&mut self, proof: Duration) -> bool {
        let Some(end) = self.end else { return true };
        let wanted = proof.saturating_mul(TIMES_THE_PROOF).saturating_add(self.least).min(self.most);
        if Instant::now() + wanted > end {
            return false;
        }
        self.kept_back = wanted;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_times_of_all_tasks_add_up_to_all_of_the_time() {
        let mut clock = Clock::start(Task::Fold);
        let started = clock.since;
        for task in [Task::Points, Task::Lp, Task::Oracle, Task::Bounds, Task::Points] {
            std::thread::sleep(Duration::from_millis(2));
            clock.switch(task);
        }
        let Seconds { fold, points, lp, oracle, bounds } = clock.read();
        let all = (clock.since - started).as_secs_f64();
        let named = [fold, points, lp, oracle, bounds];
        assert!(named.iter().all(|&seconds| seconds >= 0.002), "{named:?}");
        assert!((named.iter().sum::<f64>() - all).abs() < 1e-9, "{named:?} {all}");
    }

    #[test]
    fn what_is_kept_back_follows_from_what_the_proof_took() {
        let now = Instant::now();
        let end = now + Duration::from_secs(1000);
        let left =
            |time: &Time| (end - time.deadline_at(now, Duration::ZERO).expect("there is a limit")).as_secs();
        let mut time = Time::between(now, Some(end), true);
        assert_eq!(left(&time), 30 + 970 / 21);
        assert!(time.keep_back(Duration::from_secs(10)));
        assert_eq!(left(&time), 90 + 910 / 21);
        // However dear a proof is, more than half of the time is for the search.
        assert!(time.keep_back(Duration::from_secs(10_000)));
        assert_eq!(left(&time), 400 + 600 / 21);
        // What was spent on bounds counts, too.
        let bounds = Duration::from_secs(420);
        let early = end - time.deadline_at(now, bounds).expect("there is a limit");
        assert_eq!(early.as_secs(), 448);
        // A cheaper model gives time back.
        assert!(time.keep_back(Duration::ZERO));
        assert_eq!(left(&time), 30 + 970 / 21);
        // Nothing is kept back for a certificate that nobody wants, and nothing ends without a limit.
        let mut unchecked = Time::between(now, Some(end), false);
        assert!(
            unchecked.keep_back(Duration::from_secs(10)) && unchecked.deadline(Duration::ZERO) == Some(end)
        );
        let mut unlimited = Time::between(now, None, true);
        assert!(unlimited.keep_back(Duration::from_secs(10)) && unlimited.deadline(Duration::ZERO).is_none());
        // A model that could not be checked in time is not taken.
        let mut late = Time::between(now, Some(end), true);
        late.end = Some(now + Duration::from_secs(80));
        assert!(!late.keep_back(Duration::from_secs(10)));
    }
}
