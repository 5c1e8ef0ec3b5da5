//! Checkpoints of `verify` in a file. Each is first written under another name, so that
//! nobody ever sees half of one; the file is removed when the answer is known.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use secateur_oracle::{CheckpointError, Crew, Keep, Keeper, StopReason};
use secateur_prune::CertifyError;

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
