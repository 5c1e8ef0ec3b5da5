//! Runs long work without the GIL; Ctrl-C ends it, and a caller can watch it.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use secateur::Cancel;

/// How often running work is polled.
const LOOK: Duration = Duration::from_millis(50);

/// As [`interruptible`], for work that returns a result even when it is cancelled: the first Ctrl-C
/// cancels it and its result is returned. A second Ctrl-C is raised.
pub(crate) fn stoppable<T: Send>(
    py: Python<'_>,
    cancel: &Cancel,
    look: impl FnMut(Python<'_>) -> PyResult<()> + Send,
    work: impl FnOnce() -> T + Send,
) -> PyResult<T> {
    watched(py, cancel, true, look, work)
}

/// Runs `work` without the GIL. Now and then checks for signals and then calls `look` with the GIL;
/// an exception from either cancels the work, and is raised when the work has ended.
pub(crate) fn interruptible<T: Send>(
    py: Python<'_>,
    cancel: &Cancel,
    look: impl FnMut(Python<'_>) -> PyResult<()> + Send,
    work: impl FnOnce() -> T + Send,
) -> PyResult<T> {
    watched(py, cancel, false, look, work)
}

fn watched<T: Send>(
    py: Python<'_>,
    cancel: &Cancel,
    mut forgive: bool,
    mut look: impl FnMut(Python<'_>) -> PyResult<()> + Send,
    work: impl FnOnce() -> T + Send,
) -> PyResult<T> {
    py.detach(|| {
        std::thread::scope(|scope| {
            let (sender, receiver) = mpsc::channel();
            let worker = scope.spawn(move || {
                // Sending fails only if the receiving thread has panicked.
                let _ = sender.send(work());
            });
            let mut interrupted = Ok(());
            let result = loop {
                match receiver.recv_timeout(LOOK) {
                    Ok(result) => break result,
                    Err(RecvTimeoutError::Timeout) if interrupted.is_ok() => {
                        interrupted = Python::attach(|py| {
                            let signalled = match py.check_signals() {
                                Err(error) if forgive && error.is_instance_of::<PyKeyboardInterrupt>(py) => {
                                    forgive = false;
                                    cancel.cancel();
                                    Ok(())
                                }
                                other => other,
                            };
                            signalled.and_then(|()| look(py))
                        });
                        if interrupted.is_err() {
                            cancel.cancel();
                        }
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                    // A panic is a bug of secateur; Python shows it as one.
                    Err(RecvTimeoutError::Disconnected) => match worker.join() {
                        Err(panic) => std::panic::resume_unwind(panic),
                        Ok(()) => unreachable!("a worker that ends well has sent its result"),
                    },
                }
            };
            interrupted.map(|()| result)
        })
    })
}
