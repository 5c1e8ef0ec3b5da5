//! Checkpoints of `verify` and `prune` in a file. Each is first written under another name, so that
//! nobody ever sees half of one; the file is removed when the answer is known.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use secateur_certificate::Digest;
use secateur_model::Ensemble;
use secateur_oracle::{CheckpointError, Crew, Keep, Keeper, StopReason};
use secateur_prune::{Certificate, CertifyError, Journal};

use crate::error::Error;

/// The checkpoints of one call.
pub(crate) struct Checkpoint {
    path: PathBuf,
    keeper: Arc<Keeper>,
    /// Does the search continue from an earlier checkpoint?
    resumed: bool,
}

impl Checkpoint {
    /// Keeps checkpoints in this file; if it already holds one, the search continues from it.
    pub(crate) fn open(path: &Path) -> Result<Self, Error> {
        let old = old_bytes(path)?;
        let resumed = old.is_some();
        let keeper = Arc::new(Keeper::new(Box::new(InFile(path.to_owned())), old));
        Ok(Self { path: path.to_owned(), keeper, resumed })
    }

    /// The crew of a search, set up to keep these checkpoints.
    pub(crate) fn crew(&self, crew: Option<Crew>) -> Crew {
        match crew {
            Some(mut crew) => {
                crew.keeper = Some(self.keeper.clone());
                crew
            }
            None => Crew::keeping(self.keeper.clone()),
        }
    }

    /// Turns a failed search into the caller's error, which is about the checkpoint if the search
    /// may have continued from one.
    pub(crate) fn failed(&self, error: Error) -> Error {
        let path = || self.path.clone();
        match error {
            Error::Write(error) => match error.get_ref().and_then(|inner| inner.downcast_ref()) {
                Some(&error) => Error::Checkpoint { path: path(), error },
                None if self.resumed => Error::CheckpointProof { path: path() },
                None => Error::Write(error),
            },
            Error::Certify(CertifyError::Refused { .. } | CertifyError::Unreadable(_)) if self.resumed => {
                Error::CheckpointProof { path: path() }
            }
            other => other,
        }
    }

    /// Returns an error if the search ended because its checkpoint belongs to another search.
    pub(crate) fn stopped(&self, reason: StopReason) -> Result<(), Error> {
        match reason {
            StopReason::Checkpoint => {
                Err(Error::Checkpoint { path: self.path.clone(), error: CheckpointError::Foreign })
            }
            _ => Ok(()),
        }
    }

    /// Removes the file, since the answer is known.
    pub(crate) fn done(&self) {
        remove(&self.path);
    }
}

/// A file with the answers that a call of `prune` has found so far.
pub(crate) struct PruneCheckpoint {
    path: PathBuf,
    pub(crate) journal: Arc<Journal>,
}

impl PruneCheckpoint {
    /// Keeps in this file what the run with the digest `run` learns; the run continues from what
    /// the file already holds.
    pub(crate) fn open(path: &Path, run: [u8; 32]) -> Result<Self, Error> {
        let old = old_bytes(path)?;
        let journal = Journal::open(Box::new(InFile(path.to_owned())), run, old.as_deref());
        let journal = journal.map_err(|error| Error::Checkpoint { path: path.to_owned(), error })?;
        Ok(Self { path: path.to_owned(), journal: Arc::new(journal) })
    }

    /// Makes the certificate of a model; the proof search keeps its checkpoints in this file too.
    pub(crate) fn certify(
        &self,
        model: &Ensemble,
        crew: Option<Crew>,
        certify: impl Fn(Option<Crew>) -> Result<Certificate, CertifyError>,
    ) -> Result<Result<Certificate, CertifyError>, Error> {
        let (keeper, goes_on) = self.journal.proof_keeper(Digest::of(model).0);
        let keeping = match crew.clone() {
            Some(mut crew) => {
                crew.keeper = Some(keeper);
                crew
            }
            None => Crew::keeping(keeper),
        };
        let certified = certify(Some(keeping));
        match &certified {
            Err(CertifyError::Write(error)) => match error.get_ref().and_then(|inner| inner.downcast_ref()) {
                // This search cannot keep checkpoints: it runs without them, from the beginning.
                Some(CheckpointError::Impossible) => Ok(certify(crew)),
                Some(&error) => Err(Error::Checkpoint { path: self.path.clone(), error }),
                None => Ok(certified),
            },
            Err(CertifyError::NotProved | CertifyError::Refused { .. } | CertifyError::Unreadable(_))
                if goes_on =>
            {
                Err(self.refused())
            }
            _ => Ok(certified),
        }
    }

    /// The error for a proof that begins in this file, or a model that the file calls proved, if
    /// the proof is not valid.
    pub(crate) fn refused(&self) -> Error {
        Error::CheckpointProof { path: self.path.clone() }
    }

    /// Ends the call: removes the file if nothing is left to do, otherwise writes what is pending.
    pub(crate) fn close(&self, done: bool) {
        if done {
            remove(&self.path);
        } else {
            self.journal.flush();
        }
    }
}

/// The contents of a file, if it exists. A place that cannot be written is reported before the work
/// begins.
fn old_bytes(path: &Path) -> Result<Option<Vec<u8>>, Error> {
    let failed = |error: io::Error| Error::CheckpointFile { path: path.to_owned(), error };
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            write(path, &[]).and_then(|()| fs::remove_file(path)).map_err(failed)?;
            Ok(None)
        }
        Err(error) => Err(failed(error)),
    }
}

fn remove(path: &Path) {
    // There may be no file; one that cannot be removed is either refused by the next run or
    // correct.
    let _ = fs::remove_file(path);
}

/// A file that is replaced by each checkpoint.
#[derive(Debug)]
struct InFile(PathBuf);

impl Keep for InFile {
    fn keep(&self, checkpoint: &[u8]) {
        // If this one cannot be written, the previous one stays.
        let _ = write(&self.0, checkpoint);
    }
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}.tmp", std::process::id()));
    let temporary = PathBuf::from(name);
    let written = fs::write(&temporary, bytes).and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written
}
