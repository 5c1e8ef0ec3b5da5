//! A search that waits on purpose, for tests of limits, signals and checkpoints. Such a test needs
//! a search that has certainly begun and has certainly not ended, on fast and slow machines alike.
//! So a build with debug assertions can be told to visit some boxes and then to wait until it is
//! asked to end. A release has none of this.
//!
//! The environment variable is `SECATEUR_TEST_PAUSE=COUNT` or `COUNT:FILE`. Each batch of boxes
//! that is begun counts as one, and so does each search, however small; another value of the
//! variable begins a new count. When COUNT is reached, FILE is created, which tells the test that
//! the search is waiting. From then on every search
//!
//! - with a deadline waits for it or for its switch;
//! - without a deadline waits for its switch, until one was thrown or some deadline has passed:
//!   later work, such as the certificate of the best model so far, is not to be held up.

#[cfg(not(debug_assertions))]
use crate::stop::{SearchBudget, StopReason};

/// A batch of boxes is about to be visited; why the search must end, if it must after the wait.
#[cfg(not(debug_assertions))]
pub(crate) fn begins_batch(_: &SearchBudget) -> Option<StopReason> {
    None
}

#[cfg(debug_assertions)]
pub(crate) use hook::begins_batch;

#[cfg(debug_assertions)]
mod hook {
    use std::sync::{Mutex, PoisonError};
    use std::time::Duration;

    use crate::stop::{SearchBudget, StopReason};

    /// What has happened since the variable has its present text.
    struct Count {
        text: String,
        begun: u64,
        released: bool,
    }

    static COUNT: Mutex<Count> = Mutex::new(Count { text: String::new(), begun: 0, released: false });

    fn with_count<T>(act: impl FnOnce(&mut Count) -> T) -> T {
        act(&mut COUNT.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// A batch of boxes is about to be visited; why the search must end, if it must after the wait.
    pub(crate) fn begins_batch(budget: &SearchBudget) -> Option<StopReason> {
        let text = std::env::var("SECATEUR_TEST_PAUSE").ok()?;
        let (after, file) =
            text.split_once(':').map_or((&text[..], None), |(after, file)| (after, Some(file)));
        let after: u64 =
            after.parse().unwrap_or_else(|_| panic!("SECATEUR_TEST_PAUSE: {after:?} is not a number"));
        let begun = with_count(|count| {
            if count.text != text {
                *count = Count { text: text.clone(), begun: 0, released: false };
            }
            count.begun += 1;
            count.begun
        });
        if begun < after {
            return None;
        }
        if begun == after.max(1)
            && let Some(file) = file
        {
            std::fs::write(file, "").unwrap_or_else(|error| panic!("SECATEUR_TEST_PAUSE: {file}: {error}"));
        }
        loop {
            if let Some(reason) = budget.over() {
                with_count(|count| count.released = true);
                return Some(reason);
            }
            if budget.deadline.is_none() && with_count(|count| count.released) {
                return None;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}
