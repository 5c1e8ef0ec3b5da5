//! Checkpoints in a file: written under another name first, so that nobody ever sees half of one, and removed when the answer is known.

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
    /// The search goes on from one.
    resumed: bool,
}

impl Checkpoint {
    /// Checkpoints go to this file; the search goes on from what it holds.
    pub(crate) fn open(path: &Path) -> Result<Self, Error> {
        let failed = |error: io::Error| Error::CheckpointFile { path: path.to_owned(), error };
        let old = match fs::read(path) {
            Ok(bytes) => Some(bytes),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                // Told before the work begins: the folder must be there, and writable.
                write(path, &[]).and_then(|()| fs::remove_file(path)).map_err(failed)?;
                None
            }
            Err(error) => return Err(failed(error)),
        };
        let resumed = old.is_some();
        let keeper = Arc::new(Keeper::new(Box::new(InFile(path.to_owned())), old));
        Ok(Self { path: path.to_owned(), keeper, resumed })
    }

    /// The crew of a search, which keeps these checkpoints.
    pub(crate) fn crew(&self, crew: Option<Crew>) -> Crew {
        match crew {
            Some(mut crew) => {
                crew.keeper = Some(self.keeper.clone());
                crew
            }
            None => Crew::keeping(self.keeper.clone()),
        }
    }

    /// What a failure of a search means that may have gone on from a checkpoint.
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

    /// An error where a search ended because its checkpoint is not one of this search.
    pub(crate) fn stopped(&self, reason: StopReason) -> Result<(), Error> {
        match reason {
            StopReason::Checkpoint => {
                Err(Error::Checkpoint { path: self.path.clone(), error: CheckpointError::Foreign })
            }
            _ => Ok(()),
        }
    }

    /// The answer is known.
    pub(crate) fn done(&self) {
        // There may be none, and one that stays is refused or right.
        let _ = fs::remove_file(&self.path);
    }
}

/// A file that is replaced by each checkpoint.
#[derive(Debug)]
struct InFile(PathBuf);

impl Keep for InFile {
    fn keep(&self, checkpoint: &[u8]) {
        // The one before stays where this one cannot be written.
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
