//! One budget for a whole call: the search, the certificate and its check share one time limit and
//! one cancel switch.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use secateur_oracle::Cancel;

/// The part of a time limit that is reserved for the certificate and its check: the larger of
/// CERTIFICATE_TIME and CERTIFICATE_SHARE of the limit, but never more than MOST_CERTIFICATE_SHARE
/// of it.
const CERTIFICATE_TIME: Duration = Duration::from_secs(5);
const CERTIFICATE_SHARE: f64 = 0.15;
const MOST_CERTIFICATE_SHARE: f64 = 0.4;
/// How long the certificate may take after an early end was requested. Programs that send SIGTERM
/// wait a few seconds before they kill the process (`docker stop` waits ten), and the model must be
/// written by then.
const GRACE: Duration = Duration::from_secs(5);
/// The time limit of a call whose caller gave none: about as long as a person is willing to wait.
const STANDARD: Duration = Duration::from_secs(300);
/// How often the cancel switch is polled.
const LOOK: Duration = Duration::from_millis(20);

/// What one call may spend. The clock starts when the budget is made, so a budget that is made
/// before the model is read counts the reading too.
///
/// ```
/// use std::time::Duration;
/// let budget = secateur::Budget::limit(Duration::from_secs(60));
/// let cancel = budget.cancel(); // another thread may call `cancel.cancel()`
/// assert!(!cancel.is_cancelled());
/// ```
#[derive(Clone, Debug)]
pub struct Budget {
    started: Instant,
    limit: Option<Duration>,
    cancel: Cancel,
    grace: Duration,
    /// The standard limit, and whether it has ended the search; `None` if this budget does not use
    /// the standard limit.
    standard: Option<(Duration, Arc<AtomicBool>)>,
}

impl Default for Budget {
    fn default() -> Self {
        Self::unlimited()
    }
}

impl Budget {
    /// No limit: the call ends when its work is done, or when it is cancelled.
    pub fn unlimited() -> Self {
        Self { started: Instant::now(), limit: None, cancel: Cancel::default(), grace: GRACE, standard: None }
    }

    /// This much time from now on.
    pub fn limit(limit: Duration) -> Self {
        Self { limit: Some(limit), ..Self::unlimited() }
    }

    /// Five minutes, for callers who gave no limit. It differs from [`limit`](Self::limit) in one
    /// point: until the time is up the work does not depend on the clock, so that the same call
    /// gives the same bytes on every machine that is fast enough.
    pub fn standard() -> Self {
        Self::standard_of(STANDARD)
    }

    fn standard_of(limit: Duration) -> Self {
        let grace = certificate_time(limit);
        Self { standard: Some((limit, Arc::default())), grace, ..Self::unlimited() }
    }

    /// A budget with this limit, or without one for `None`.
    pub fn maybe(limit: Option<Duration>) -> Self {
        Self { limit, ..Self::unlimited() }
    }

    /// Sets how long the certificate may take after an early end; five seconds unless changed. Use
    /// zero if the result of a cancelled call is thrown away.
    pub fn with_grace(self, grace: Duration) -> Self {
        Self { grace, ..self }
    }

    /// Uses this cancel switch instead of the budget's own.
    pub fn with_cancel(self, cancel: Cancel) -> Self {
        Self { cancel, ..self }
    }

    /// The switch that ends the call early; the call then returns the best result found until then.
    pub fn cancel(&self) -> Cancel {
        self.cancel.clone()
    }

    /// Has an early end been requested?
    pub fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled() && !self.has_met_standard()
    }

    /// Has the limit of [`standard`](Self::standard) ended the work?
    pub fn has_met_standard(&self) -> bool {
        self.standard.as_ref().is_some_and(|(_, met)| met.load(Ordering::Acquire))
    }

    /// How long the clock has been running.
    pub fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// When the whole call has to end. A limit beyond the range of the clock counts as no limit.
    pub fn deadline(&self) -> Option<Instant> {
        self.started.checked_add(self.limit?)
    }

    /// When the search has to end, so that time is left for the certificate if there is to be one.
    pub fn search_deadline(&self, certifies: bool) -> Option<Instant> {
        let limit = self.limit?;
        let kept_back = if certifies { certificate_time(limit) } else { Duration::ZERO };
        self.started.checked_add(limit - kept_back)
    }

    /// Has the whole time passed, without a request for an early end?
    pub(crate) fn is_over(&self) -> bool {
        !self.is_cancelled() && self.deadline().is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// Runs a call and ends its search shortly before the standard limit, if this budget uses it.
    pub(crate) fn watched<T>(&self, work: impl FnOnce() -> T) -> T {
        let Some((limit, met)) = &self.standard else { return work() };
        let end = *limit - certificate_time(*limit);
        watch_while(LOOK, work, || {
            if self.elapsed() >= end && !self.cancel.is_cancelled() {
                met.store(true, Ordering::Release);
                self.cancel.cancel();
            }
        })
    }

    /// Runs the last part of a call, the certificate and its check, with a switch of its own: it is
    /// cancelled at the deadline, or when the grace period after an early end is over.
    pub(crate) fn finishing<T>(&self, work: impl FnOnce(&Cancel) -> T) -> T {
        let stop = Cancel::default();
        let mut deadline = self.deadline();
        let mut asked = false;
        let mut check = || {
            if !asked && self.cancel.is_cancelled() {
                asked = true;
                deadline = Some(Instant::now() + self.grace);
            }
            if is_past(deadline) {
                stop.cancel();
            }
        };
        check();
        watch_while(LOOK, || work(&stop), check)
    }
}

fn is_past(deadline: Option<Instant>) -> bool {
    deadline.is_some_and(|deadline| Instant::now() >= deadline)
}

/// Runs `work`, and meanwhile calls `tick` again and again in another thread.
pub fn watch_while<T>(every: Duration, work: impl FnOnce() -> T, mut tick: impl FnMut() + Send) -> T {
    let (working, done) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            // The end of the work closes the channel.
            while done.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                tick();
            }
        });
        let _working = working;
        work()
    })
}

/// The part of a time limit that is reserved for the certificate.
fn certificate_time(limit: Duration) -> Duration {
    let share = limit.mul_f64(CERTIFICATE_SHARE).max(CERTIFICATE_TIME);
    share.min(limit.mul_f64(MOST_CERTIFICATE_SHARE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_kept_for_the_certificate() {
        let kept = |seconds: u64| certificate_time(Duration::from_secs(seconds)).as_secs_f64();
        assert_eq!(kept(5), 2.0);
        assert_eq!(kept(20), 5.0);
        assert_eq!(kept(100), 15.0);
    }

    #[test]
    fn the_standard_limit_ends_the_search_and_is_no_interruption() {
        let budget = Budget::standard_of(Duration::from_millis(200));
        assert!(budget.deadline().is_none() && budget.search_deadline(true).is_none());
        let cancel = budget.cancel();
        let ended = budget.watched(|| {
            let started = Instant::now();
            while !cancel.is_cancelled() && started.elapsed() < Duration::from_secs(60) {
                std::thread::sleep(Duration::from_millis(5));
            }
            cancel.is_cancelled()
        });
        assert!(ended && budget.has_met_standard() && !budget.is_cancelled());
        // At first there is time for the certificate, then there is none.
        assert!(!budget.finishing(|stop| stop.is_cancelled()));
        // Work that ends earlier is not disturbed, and Ctrl-C counts as an interruption.
        let budget = Budget::standard();
        assert_eq!(budget.watched(|| 7), 7);
        assert!(!budget.has_met_standard());
        budget.cancel().cancel();
        assert!(budget.watched(|| budget.is_cancelled()) && !budget.has_met_standard());
    }

    #[test]
    fn an_early_end_reaches_the_last_part() {
        let budget = Budget::unlimited().with_grace(Duration::ZERO);
        budget.cancel().cancel();
        let stopped = budget.finishing(|stop| {
            let started = Instant::now();
            while !stop.is_cancelled() && started.elapsed() < Duration::from_secs(60) {
                std::thread::sleep(Duration::from_millis(5));
            }
            stop.is_cancelled()
        });
        assert!(stopped);
    }

    #[test]
    fn the_deadline_reaches_the_last_part() {
        let budget = Budget::limit(Duration::from_millis(30));
        let stopped = budget.finishing(|stop| {
            let started = Instant::now();
            while !stop.is_cancelled() && started.elapsed() < Duration::from_secs(60) {
                std::thread::sleep(Duration::from_millis(5));
            }
            stop.is_cancelled()
        });
        assert!(stopped);
    }
}
