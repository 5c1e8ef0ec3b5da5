//! Runs the binary in a new folder, as a user would.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output};
use std::time::{Duration, Instant};

use secateur_testkit::{Limited, end_of};

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
        own_signals();
        let mut command = Command::new(env!("CARGO_BIN_EXE_secateur"));
        command.current_dir(self.path());
        command
    }

    /// Runs with these words as arguments.
    pub(crate) fn run(&self, words: &str) -> Run {
        let mut command = self.command();
        command.args(words.split_whitespace());
        Run::of(command)
    }
}

impl From<Output> for Run {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Self { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }
}

impl Run {
    /// Runs this command to its end.
    #[track_caller]
    pub(crate) fn of(mut command: Command) -> Self {
        command.finished().into()
    }

    /// The end of a command that was started; `what` is said of one that does not come to it.
    #[track_caller]
    pub(crate) fn end_of(child: Child, what: &str) -> Self {
        end_of(child, what).into()
    }

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

/// A test that a script started in the background ignores Ctrl-C, and its child processes would
/// inherit that. If a process handles a signal itself, its children get the default again. So the
/// tests handle Ctrl-C, by ending, as they would anyway.
pub(crate) fn own_signals() {
    #[cfg(unix)]
    {
        use std::sync::atomic::AtomicBool;
        use std::sync::{Arc, Once};
        static HANDLED: Once = Once::new();
        HANDLED.call_once(|| {
            for signal in
                [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM, signal_hook::consts::SIGHUP]
            {
                let always = Arc::new(AtomicBool::new(true));
                signal_hook::flag::register_conditional_shutdown(signal, 128 + signal, always).unwrap();
            }
        });
    }
}

/// Sends a signal, as the command `kill` names it.
#[cfg(unix)]
pub(crate) fn send(signal: &str, child: &Child) {
    let sent = Command::new("kill").args([&format!("-{signal}"), &child.id().to_string()]).finished();
    assert!(sent.status.success(), "{}", String::from_utf8_lossy(&sent.stderr));
}

/// Waits until something has happened, but not for ever.
pub(crate) fn wait_for(what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < Duration::from_secs(120), "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}
