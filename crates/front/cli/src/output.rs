//! Writes results to stdout, or to a file that is written whole or not at all.
//!
//! A file is written under a temporary name in the same folder and renamed when it is complete. On
//! an error or a panic, temporary files are removed as the stack unwinds; [`crate::interrupt`] does
//! the same for signals.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::terminal::{fit_stderr, fit_stdout};
use anyhow::{Context, Result, anyhow, bail};
use tempfile::NamedTempFile;

const STDOUT: &str = "stdout cannot be written";

/// The temporary files that a signal has to remove. The lock is held while a file is made or
/// renamed, so that the signal handler sees each file either not at all or whole.
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

/// A destination for results.
pub(crate) enum Output {
    Stdout(BufWriter<io::Stdout>),
    /// Anything but a regular file (a pipe, `/dev/null`) cannot be replaced, only written to.
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
            // A link stays a link: the file that it points to is replaced.
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

    /// Flushes everything that was written to the operating system, so that a full disk is noticed
    /// before any file gets its final name.
    pub(crate) fn complete(&mut self) -> Result<()> {
        match self {
            Self::Stdout(out) => out.flush().context(STDOUT),
            Self::Stream(out, path) => out.flush().map_err(|error| cannot_write(path, &error)),
            Self::File(out, path) => out.flush().map_err(|error| cannot_write(path, &error)),
        }
    }

    /// Flushes, and gives the file its final name.
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

    /// Writes bytes; an error names the file. Errors of stdout are passed on unchanged, so that a
    /// closed pipe can be told from a full disk.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        match self {
            Self::Stdout(out) => out.write_all(bytes).context(STDOUT),
            Self::Stream(out, path) => out.write_all(bytes).map_err(|error| cannot_write(path, &error)),
            Self::File(out, path) => out.write_all(bytes).map_err(|error| cannot_write(path, &error)),
        }
    }
}

/// The files that a command reads and writes. A file is opened before the work begins, so that a
/// place that cannot be written to is reported at once; it is filled after the work, and all files
/// get their final names together, in the order in which they were filled.
#[derive(Default)]
pub(crate) struct Files<'a> {
    /// The files in use, each with a description.
    taken: Vec<(&'a Path, &'a str)>,
    complete: Vec<(String, Output)>,
}

/// A file that is open and empty.
pub(crate) struct Opened(String, Output);

impl<'a> Files<'a> {
    /// The files that the command reads.
    pub(crate) fn reading(files: impl IntoIterator<Item = (Option<&'a Path>, &'a str)>) -> Self {
        let taken = files.into_iter().filter_map(|(path, what)| Some((path?, what))).collect();
        Self { taken, complete: Vec::new() }
    }

    /// Refuses a path that is in use, and counts it as in use from now on.
    pub(crate) fn take(&mut self, path: Option<&'a Path>, what: &'a str) -> Result<()> {
        let Some(path) = path else { return Ok(()) };
        refuse_to_overwrite(path, &self.taken)?;
        self.taken.push((path, what));
        Ok(())
    }

    /// Opens a file for writing.
    pub(crate) fn open(&mut self, path: Option<&'a Path>, what: &'a str) -> Result<Option<Opened>> {
        self.take(path, what)?;
        path.map(|path| Ok(Opened(path.display().to_string(), Output::open(Some(path))?))).transpose()
    }

    /// Writes the whole content of a file, if there are both; returns its name.
    pub(crate) fn fill(&mut self, file: Option<Opened>, content: Option<&[u8]>) -> Result<Option<String>> {
        let (Some(Opened(name, mut output)), Some(content)) = (file, content) else { return Ok(None) };
        output.write(content)?;
        output.complete()?;
        self.complete.push((name.clone(), output));
        Ok(Some(name))
    }

    /// Gives the complete files their final names, one after the other, and prints the text. If one
    /// of these steps fails, the message names the files that have their names.
    pub(crate) fn finish(self, text: &str) -> Result<Vec<String>> {
        let mut written = Vec::new();
        for (name, output) in self.complete {
            output.finish().map_err(|error| after_writing(error, &written))?;
            written.push(name);
        }
        print(text).map_err(|error| after_writing(error, &written))?;
        Ok(written)
    }
}

/// Adds to an error that these files had already got their final names.
pub(crate) fn after_writing(error: anyhow::Error, written: &[String]) -> anyhow::Error {
    match written {
        [] => error,
        [one] => error.context(format!("{one} is written and complete, but then")),
        many => error.context(format!("{} are written and complete, but then", many.join(" and "))),
    }
}

/// Refuses to write to a file that is also read, or written for another purpose, however its path
/// is spelled. Each of `others` comes with a description.
pub(crate) fn refuse_to_overwrite(target: &Path, others: &[(&Path, &str)]) -> Result<()> {
    // A pipe or a device cannot be overwritten.
    if fs::metadata(target).is_ok_and(|kind| !kind.is_file()) {
        return Ok(());
    }
    for (other, what) in others {
        if place_of(target) == place_of(other) {
            bail!("{}: this is {what}; write to another name", target.display());
        }
    }
    Ok(())
}

/// A path without links and dots; for a file that does not exist yet, based on its folder.
fn place_of(path: &Path) -> PathBuf {
    if let Ok(place) = path.canonicalize() {
        return place;
    }
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    match (folder.canonicalize(), path.file_name()) {
        (Ok(folder), Some(name)) => folder.join(name),
        _ => path.to_owned(),
    }
}

fn new_temporary(path: &Path, folder: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".secateur-").suffix(".tmp");
    // The permissions of the existing file, or those of any new file.
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

/// Prints prose, wrapped if stdout is a terminal.
pub(crate) fn tell(text: &str) -> Result<()> {
    print(&fit_stdout(text))
}

/// A JSON object as text, as the commands print it.
pub(crate) fn json_text(object: &serde_json::Value) -> Result<String> {
    Ok(serde_json::to_string_pretty(object).context("cannot be written as JSON")? + "\n")
}

/// Prints a line to stderr; a failure is ignored, since it could not be reported anywhere.
pub(crate) fn complain(line: &str) {
    let _ = writeln!(io::stderr(), "{}", fit_stderr(line));
}
