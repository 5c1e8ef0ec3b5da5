//! Progress on stderr, after the first second: a live line on a terminal, plain lines otherwise.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use crate::arguments::Verbosity;
use crate::terminal::cut_stderr;
use secateur::internal::text::grouped;

/// How often running work is polled.
pub(crate) const WATCH: Duration = Duration::from_millis(100);
const SILENT: Duration = Duration::from_secs(1);
const LIVE: Duration = Duration::from_millis(200);
const PLAIN: Duration = Duration::from_secs(10);

/// Shows a count of rows or boxes at intervals.
pub(crate) struct Progress {
    start: Instant,
    /// When the next line is due; `None` if none is wanted.
    next: Option<Instant>,
    live: bool,
    shown: bool,
}

impl Progress {
    pub(crate) fn start(verbosity: Verbosity) -> Self {
        let start = Instant::now();
        let next = (verbosity != Verbosity::Quiet).then(|| start + SILENT);
        Self { start, next, live: io::stderr().is_terminal(), shown: false }
    }

    /// Shows the count if a line is due. `part` is the share of the whole that is done, from 0 to
    /// 1.
    pub(crate) fn count(&mut self, count: u64, what: &str, part: Option<f64>) {
        self.line(|| {
            let part = part.map(|part| format!(", {}", percent(part))).unwrap_or_default();
            format!("{} {what}{part}", grouped(count))
        });
    }

    /// Shows a line if one is due, with the elapsed time.
    pub(crate) fn line(&mut self, words: impl FnOnce() -> String) {
        let now = Instant::now();
        if self.next.is_none_or(|next| now < next) {
            return;
        }
        self.next = Some(now + if self.live { LIVE } else { PLAIN });
        self.shown = true;
        let line = format!("{}, {:.0} s", words(), self.start.elapsed().as_secs_f64());
        let mut err = io::stderr().lock();
        // A failure is ignored, since it could not be reported anywhere.
        let _ = if self.live { write!(err, "\r{}\x1b[K", cut_stderr(line)) } else { writeln!(err, "{line}") };
        let _ = err.flush();
    }

    /// Removes the live line, so that other text can be printed.
    pub(crate) fn clear(&mut self) {
        if self.live && self.shown {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }

    /// Removes the live line for good and returns the time taken.
    pub(crate) fn finish(&mut self) -> Duration {
        self.next = None;
        self.clear();
        self.start.elapsed()
    }
}

/// A share from 0 to 1 as a percentage.
pub(crate) fn percent(share: f64) -> String {
    format!("{:.0}%", share.clamp(0.0, 1.0) * 100.0)
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.next.is_some() {
            self.finish();
        }
    }
}
