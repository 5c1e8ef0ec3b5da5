//! The workers of a Python executor, as the search uses them; and the work of such a worker.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use secateur::{
    Cancel,
    workers::{Crew, Reply, Workers, WorkersGone},
};

use crate::error::SecateurError;

/// Does a job of another process: its answer, or `None` where the models of the job are not known here and `subject` is not given.
#[pyfunction]
#[pyo3(signature = (job, subject=None))]
pub(crate) fn work<'py>(
    py: Python<'py>,
    job: &[u8],
    subject: Option<&[u8]>,
) -> PyResult<Option<Bound<'py, PyBytes>>> {
    let answer = py.detach(|| secateur::workers::work(subject, job));
    let answer = answer.map_err(|error| SecateurError::new_err(error.to_string()))?;
    Ok(answer.map(|bytes| PyBytes::new(py, &bytes)))
}

/// An object of the package that hands jobs to an executor (`_crew.Crew`).
pub(crate) struct Helpers {
    object: Py<PyAny>,
    /// The id of the models that the object was given last.
    told: Mutex<Option<[u8; 32]>>,
    /// The first exception: the workers cannot help any more, and the call ends with it.
    error: Mutex<Option<PyErr>>,
    cancel: Cancel,
}

impl std::fmt::Debug for Helpers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Helpers")
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Helpers {
    pub(crate) fn new(object: Py<PyAny>, cancel: Cancel) -> Arc<Self> {
        Arc::new(Self { object, told: Mutex::new(None), error: Mutex::new(None), cancel })
    }

    /// The crew that the search uses.
    pub(crate) fn crew(self: &Arc<Self>, py: Python<'_>) -> PyResult<Crew> {
        let seconds = |name: &str| -> PyResult<Duration> {
            Ok(Duration::from_secs_f64(self.object.getattr(py, name)?.extract(py)?))
        };
        let mut crew = Crew::new(self.clone());
        (crew.after, crew.patience) = (seconds("after")?, seconds("patience")?);
        Ok(crew)
    }

    /// The exception that ended the workers' help, if there was one.
    pub(crate) fn check(&self) -> PyResult<()> {
        lock(&self.error).take().map_or(Ok(()), Err)
    }

    fn call<T>(&self, call: impl FnOnce(Python<'_>) -> PyResult<T>) -> Result<T, WorkersGone> {
        Python::attach(call).map_err(|error| {
            lock(&self.error).get_or_insert(error);
            self.cancel.cancel();
            WorkersGone
        })
    }
}

impl Workers for Helpers {
    fn count(&self) -> usize {
        self.call(|py| self.object.call_method0(py, "count")?.extract(py)).unwrap_or(1)
    }

    fn send(
        &self,
        number: u64,
        id: &[u8; 32],
        subject: &Arc<Vec<u8>>,
        job: Vec<u8>,
    ) -> Result<(), WorkersGone> {
        self.call(|py| {
            let name = PyBytes::new(py, id);
            let mut told = lock(&self.told);
            if *told != Some(*id) {
                self.object.call_method1(py, "subject", (&name, PyBytes::new(py, subject)))?;
                *told = Some(*id);
            }
            drop(told);
            self.object.call_method1(py, "send", (number, name, PyBytes::new(py, &job)))?;
            Ok(())
        })
    }

    fn receive(&self, wait: Duration) -> Result<Option<(u64, Reply)>, WorkersGone> {
        self.call(|py| {
            let received = self.object.call_method1(py, "receive", (wait.as_secs_f64(),))?;
            let received: Option<(u64, Option<Vec<u8>>)> = received.extract(py)?;
            Ok(received.map(|(number, answer)| (number, answer.map_or(Reply::Lost, Reply::Done))))
        })
    }

    fn forget(&self) {
        // The result of the call does not matter.
        let _ = self.call(|py| self.object.call_method0(py, "forget"));
    }
}
