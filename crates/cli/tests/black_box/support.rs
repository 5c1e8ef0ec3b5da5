//! Runs the binary in a new folder, as a user would.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Two numeric features and a categorical one with labels; binary. Scores are sums of f64.
pub(crate) const FLOWERS: &str = include_str!("models/flowers.txt");
/// Two features without names; binary logistic. Scores are sums of f32.
pub(crate) const UNNAMED: &str = include_str!("models/unnamed.json");
/// A numeric feature and a categorical one without labels; three classes.
pub(crate) const THREE_CLASSES: &str = include_str!("models/three-classes.txt");
/// scikit-learn gradient boosting on two features, with the classes `no` and `yes, please` (see
/// `models/make.py`). It accepts neither missing values nor infinities.
pub(crate) const LABELS: &[u8] = include_bytes!("models/labels.skops");

/// A new folder, removed when it is dropped.
pub(crate) struct Folder(tempfile::TempDir);

/// The exit code and output of a run.
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path().join(name);
        fs::write(&path, content).unwrap();
        path
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path().join(name)).unwrap()
    }

    /// The names in the folder, sorted.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.path()).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_secateur"));
        command.current_dir(self.path());
        command
    }

    /// Runs with these words as arguments.
    pub(crate) fn run(&self, words: &str) -> Run {
        Run::from(self.command().args(words.split_whitespace()).output().unwrap())
    }
}

impl From<Output> for Run {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Self { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }
}

impl Run {
    /// The stdout of a run that succeeded.
    #[track_caller]
    pub(crate) fn ok(&self) -> &str {
        assert_eq!(self.code, Some(0), "stderr: {}", self.stderr);
        assert!(!self.stderr.contains("error"), "{}", self.stderr);
        &self.stdout
    }

    /// The stderr of a run that was refused: code 2, one error, no panic, nothing on stdout.
    #[track_caller]
    pub(crate) fn refused(&self) -> &str {
        assert_eq!(self.code, Some(2), "stdout: {} stderr: {}", self.stdout, self.stderr);
        assert!(self.stderr.contains("error: "), "{}", self.stderr);
        assert!(!self.stderr.contains("panicked") && !self.stderr.contains("bug"), "{}", self.stderr);
        &self.stderr
    }
}
