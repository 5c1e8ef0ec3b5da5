//! Long work without the GIL that Ctrl-C ends, and that a caller can watch.

use std::time::Duration;

use pyo3::prelude::*;
use secateur_oracle::Cancel;

/// How often running work is looked at.
const LOOK: Duration = Duration::from_millis(50);

/// Runs `work` without the GIL. Now and then `look` is called with it, after a look for signals; an exception
/// from either cancels the work, and is raised when the work has ended.
pub(crate) fn interruptible<T: Send>(
    py: Python<'_>,
    cancel: &Cancel,
    mut look: impl FnMut(Python<'_>) -> PyResult<()> + Send,
    work: impl FnOnce() -> T + Send,
) -> PyResult<T> {
    py.detach(|| {
        std::thread::scope(|scope| {
            let waiting = std::thread::current();
            let worker = scope.spawn(move || {
                let result = work();
                waiting.unpark();
                result
            });
            let mut interrupted = Ok(());
            while !worker.is_finished() {
                std::thread::park_timeout(LOOK);
                if interrupted.is_ok() {
                    interrupted = Python::attach(|py| py.check_signals().and_then(|()| look(py)));
                    if interrupted.is_err() {
                        cancel.cancel();
                    }
                }
            }
            // A panic is a bug of ours; Python shows it as one.
            let result = worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            interrupted.map(|()| result)
        })
    })
}
