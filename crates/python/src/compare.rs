//! `compare`: do two models decide alike on every input?

use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use numpy::PyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use secateur_oracle::{Band, Budget, Cancel, Comparison, Options, StopReason, Undecided, Verdict};

use crate::error;
use crate::model::Model;

/// How often a running search looks for Ctrl-C.
const SIGNAL_CHECK: Duration = Duration::from_millis(50);

/// Proves that two models decide alike, or finds an input on which they do not. `band` is `None` for the
/// smallest certain one, zero for exact arithmetic.
#[pyfunction]
#[pyo3(signature = (first, second, band=None, time_limit=None, threads=1, seed=0))]
pub(crate) fn compare<'py>(
    py: Python<'py>,
    first: &Model,
    second: &Model,
    band: Option<f64>,
    time_limit: Option<f64>,
    threads: usize,
    seed: u64,
) -> PyResult<Bound<'py, PyDict>> {
    let started = Instant::now();
    let deadline = match time_limit {
        Some(seconds) => {
            let limit = Duration::try_from_secs_f64(seconds)
                .map_err(|_| PyValueError::new_err(format!("time_limit must not be {seconds}")))?;
            started.checked_add(limit)
        }
        None => None,
    };
    let band = match band {
        None => Band::Auto,
        Some(0.0) => Band::Exact,
        Some(score) => Band::Score(score),
    };
    let (ours, theirs) = (first.file.ensemble(), second.file.ensemble());
    let comparison = py.detach(|| Comparison::new(ours, theirs, band)).map_err(error::from_compare)?;
    let cancel = Cancel::default();
    let budget = Budget { deadline, cancel: cancel.clone(), ..Budget::unlimited() };
    let options = Options { budget, threads: threads.max(1), seed, ..Options::unlimited() };
    let compared = interruptible(py, &cancel, || comparison.run(&options))?;

    let answer = PyDict::new(py);
    answer.set_item("band", comparison.band())?;
    answer.set_item("nodes", compared.nodes)?;
    answer.set_item("seconds", started.elapsed().as_secs_f64())?;
    match compared.verdict {
        Verdict::Identical => answer.set_item("outcome", "identical")?,
        Verdict::Different(example) => {
            answer.set_item("outcome", "different")?;
            answer.set_item("row", PyArray1::from_vec(py, example.row))?;
            answer.set_item("classes", example.classes.map(|class| class.0).to_vec())?;
            answer.set_item("scores", example.scores.to_vec())?;
            answer.set_item("in_libraries", example.in_libraries)?;
        }
        Verdict::Undecided(why) => {
            answer.set_item("outcome", "undecided")?;
            let reason = match why {
                Undecided::Stopped(StopReason::Time) => "the time limit was reached",
                Undecided::Stopped(StopReason::Cancelled) => "it was interrupted",
                Undecided::Stopped(_) => "the budget was used up",
                Undecided::OrderOfAddition(row) => {
                    answer.set_item("row", PyArray1::from_vec(py, row))?;
                    "the last bits of the second model's scores vary (order of addition, processor), and on this row \
                     they may decide"
                }
            };
            answer.set_item("reason", reason)?;
        }
    }
    Ok(answer)
}

/// Runs `work` without the GIL and looks for signals now and then; one that raises cancels the work.
fn interruptible<T: Send>(py: Python<'_>, cancel: &Cancel, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    py.detach(|| {
        std::thread::scope(|scope| {
            let (sender, receiver) = mpsc::channel();
            // Nobody is left to listen only where this thread panicked.
            scope.spawn(move || sender.send(work()).is_ok());
            let mut interrupted = Ok(());
            let result = loop {
                match receiver.recv_timeout(SIGNAL_CHECK) {
                    Ok(result) => break result,
                    Err(RecvTimeoutError::Disconnected) => unreachable!("the search does not panic"),
                    Err(RecvTimeoutError::Timeout) if interrupted.is_ok() => {
                        interrupted = Python::attach(|py| py.check_signals());
                        if interrupted.is_err() {
                            cancel.cancel();
                        }
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                }
            };
            interrupted.map(|()| result)
        })
    })
}
