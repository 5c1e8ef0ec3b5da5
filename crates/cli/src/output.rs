//! Where results go: stdout, or a file that is written whole or not at all.
//!
//! A file is written under a temporary name in the same folder and renamed when it is complete. Ctrl-C
//! removes the temporary file first; an error or a panic removes it on the way out.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::{Context, Result, anyhow, bail};
use tempfile::NamedTempFile;

const STDOUT: &str = "stdout cannot be written";

/// The exit code of an interrupted run.
const INTERRUPTED: i32 = 130;

/// The temporary file that Ctrl-C has to remove. Held while it is made or renamed, so that the handler
/// sees it either not yet, or whole.
static TEMPORARY: Mutex<Option<PathBuf>> = Mutex::new(None);

fn temporary() -> MutexGuard<'static, Option<PathBuf>> {
    TEMPORARY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes Ctrl-C end the process with code 130 and without a half-written file.
pub(crate) fn clean_up_on_interrupt() -> Result<()> {
    ctrlc::set_handler(|| {
        let path = temporary();
        if let Some(path) = &*path {
            let _ = fs::remove_file(path);
        }
        process::exit(INTERRUPTED);
    })
    .context("cannot listen for Ctrl-C")
}

/// A place for results.
pub(crate) enum Output {
    Stdout(BufWriter<io::Stdout>),
    /// What is no regular file (a pipe, `/dev/null`) cannot be replaced, only written to.
    Stream(BufWriter<File>, PathBuf),
    File(BufWriter<NamedTempFile>, PathBuf),
}

impl Output {
    /// Opens a file, or stdout.
    pub(crate) fn open(path: Option<&Path>) -> Result<Self> {
        let Some(path) = path else { return Ok(Self::Stdout(BufWriter::new(io::stdout()))) };
        let shown = path.display();
        let path = match fs::metadata(path) {
            Ok(kind) if kind.is_dir() => bail!("{shown}: this is a folder; give a file name to write to"),
            Ok(kind) if !kind.is_file() => {
                let file = File::options().write(true).open(path);
                let file = file.map_err(|error| cannot_write(path, &error))?;
                return Ok(Self::Stream(BufWriter::new(file), path.to_owned()));
            }
            // A link stays a link: the file behind it is replaced.
            Ok(_) => fs::canonicalize(path).map_err(|error| cannot_write(path, &error))?,
            Err(_) => path.to_owned(),
        };
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        if !folder.is_dir() {
            bail!("{shown}: there is no folder {}; make it first", folder.display());
        }
        let mut registered = temporary();
        let file = new_temporary(&path, folder).map_err(|error| cannot_write(&path, &error))?;
        *registered = Some(file.path().to_owned());
        Ok(Self::File(BufWriter::new(file), path))
    }

    /// Flushes, and gives a file its name.
    pub(crate) fn finish(self) -> Result<()> {
        match self {
            Self::Stdout(mut out) => out.flush().context(STDOUT),
            Self::Stream(mut out, path) => out.flush().map_err(|error| cannot_write(&path, &error)),
            Self::File(out, path) => {
                let file = out.into_inner().map_err(|error| cannot_write(&path, error.error()))?;
                let mut registered = temporary();
                file.persist(&path).map_err(|error| cannot_write(&path, &error.error))?;
                *registered = None;
                Ok(())
            }
        }
    }

    /// Writes, with the file's name in the error. Errors of stdout are handed on as they are, so that
    /// a closed pipe can be told from a full disk.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        match self {
            Self::Stdout(out) => out.write_all(bytes).context(STDOUT),
            Self::Stream(out, path) => out.write_all(bytes).map_err(|error| cannot_write(path, &error)),
            Self::File(out, path) => out.write_all(bytes).map_err(|error| cannot_write(path, &error)),
        }
    }
}

fn new_temporary(path: &Path, folder: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".secateur-").suffix(".tmp");
    // The file's own permissions where it exists, else those of any new file.
    let existing = fs::metadata(path).map(|file| file.permissions()).ok();
    #[cfg(unix)]
    let permissions = {
        use std::os::unix::fs::PermissionsExt;
        Some(existing.unwrap_or_else(|| fs::Permissions::from_mode(0o666)))
    };
    #[cfg(not(unix))]
    let permissions = existing;
    if let Some(permissions) = permissions {
        builder.permissions(permissions);
    }
    builder.tempfile_in(folder)
}

fn cannot_write(path: &Path, error: &io::Error) -> anyhow::Error {
    anyhow!("{}: cannot be written: {error}", path.display())
}

/// Prints to stdout and flushes, so that a closed pipe is an error and not a panic.
pub(crate) fn print(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).context(STDOUT)
}

/// Prints a line to stderr; where stderr is gone there is nobody to tell.
pub(crate) fn complain(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}
