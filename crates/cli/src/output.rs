//! Where results go: stdout, or a file that is written whole or not at all.
//!
//! A file is written under a temporary name in the same folder and renamed when it is complete. An error or a panic
//! removes temporary files on the way out; how Ctrl-C and its kin do is in [`crate::interrupt`].

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::{Context, Result, anyhow, bail};
use tempfile::NamedTempFile;

const STDOUT: &str = "stdout cannot be written";

/// The temporary files that a signal has to remove. Held while one is made or renamed, so that whoever removes
/// them sees each either not yet, or whole.
static TEMPORARY: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn temporary() -> MutexGuard<'static, Vec<PathBuf>> {
    TEMPORARY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes all temporary files and ends the process. No file is made or renamed meanwhile.
pub(crate) fn leave(code: u8) -> ! {
    let registered = temporary();
    for path in &*registered {
        let _ = fs::remove_file(path);
    }
    process::exit(code.into())
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
        registered.push(file.path().to_owned());
        Ok(Self::File(BufWriter::new(file), path))
    }

    /// Opens a file that is none of those that are read or written already; `what` says what it is for.
    pub(crate) fn open_apart(path: &Path, taken: &[&Path], what: &str) -> Result<Self> {
        let same = |other: &&Path| match (other.canonicalize(), path.canonicalize()) {
            (Ok(a), Ok(b)) => a == b,
            _ => *other == path,
        };
        if taken.iter().any(same) {
            bail!("{}: the {what} needs a file of its own", path.display());
        }
        Self::open(Some(path))
    }

    /// Flushes, and gives a file its name.
    pub(crate) fn finish(self) -> Result<()> {
        match self {
            Self::Stdout(mut out) => out.flush().context(STDOUT),
            Self::Stream(mut out, path) => out.flush().map_err(|error| cannot_write(&path, &error)),
            Self::File(out, path) => {
                let file = out.into_inner().map_err(|error| cannot_write(&path, error.error()))?;
                let mut registered = temporary();
                let name = file.path().to_owned();
                file.persist(&path).map_err(|error| cannot_write(&path, &error.error))?;
                registered.retain(|other| *other != name);
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

/// The page of `--report`, on its way into its file.
pub(crate) struct PageFile(Output);

impl PageFile {
    /// A place for the page, told before the work begins where it cannot be written to.
    pub(crate) fn open(path: Option<&Path>, taken: &[&Path]) -> Result<Option<Self>> {
        path.map(|path| Output::open_apart(path, taken, "report").map(Self)).transpose()
    }

    /// Writes the page.
    pub(crate) fn write(mut self, html: &str) -> Result<()> {
        self.0.write(html.as_bytes())?;
        self.0.finish()
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

/// A JSON object as it is printed.
pub(crate) fn json_text(object: &serde_json::Value) -> Result<String> {
    Ok(serde_json::to_string_pretty(object).context("cannot be written as JSON")? + "\n")
}

/// Prints a line to stderr; where stderr is gone there is nobody to tell.
pub(crate) fn complain(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}
