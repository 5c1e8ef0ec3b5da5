//! Ctrl-C and the signals that other programs send instead: SIGTERM (a shutdown, a stopped
//! container, `timeout`) and SIGHUP (a closed terminal).
//!
//! A command that has nothing to show yet ends at once. A command that can end early with a result
//! asks to be notified of the first signal instead ([`listen`]), and only a second signal ends it.
//! Either way no temporary file is left, and the exit code is 128 plus the number of the signal, as
//! in a shell: 130 for Ctrl-C, 143 for SIGTERM, 129 for SIGHUP. A signal that is ignored when the
//! command starts (`nohup`, a background job) stays ignored.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::{Context, Result};
use secateur::Cancel;

use crate::output;

/// The exit code of a run that a signal ended: that of Ctrl-C until another signal arrives.
static CODE: AtomicU8 = AtomicU8::new(130);

/// The switch that the first signal sets. It is removed once a signal has set it: a switch that is
/// set does not show that there was a signal, because a time limit may set it too.
static LISTENER: Mutex<Option<Cancel>> = Mutex::new(None);

fn listener() -> MutexGuard<'static, Option<Cancel>> {
    LISTENER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The exit code of a run that a signal ended early, with a result.
pub(crate) fn exit_code() -> u8 {
    CODE.load(Ordering::Relaxed)
}

/// As long as this value exists, the first signal only sets a [`Cancel`].
pub(crate) struct Listening(());

/// Lets the first signal set `cancel`, for work that then ends with a result.
pub(crate) fn listen(cancel: &Cancel) -> Listening {
    *listener() = Some(cancel.clone());
    Listening(())
}

impl Drop for Listening {
    fn drop(&mut self) {
        *listener() = None;
    }
}

/// Handles a signal.
fn interrupted(code: u8) {
    if let Some(cancel) = listener().take() {
        CODE.store(code, Ordering::Relaxed);
        return cancel.cancel();
    }
    output::leave(code)
}

/// Makes signals end the process without leaving a half-written file.
#[cfg(unix)]
pub(crate) fn start() -> Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let heard = [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|&signal| !is_ignored(signal));
    let mut signals = signal_hook::iterator::Signals::new(heard).context("cannot listen for signals")?;
    let listen = move || signals.forever().for_each(|signal| interrupted(128 + signal as u8));
    let thread = std::thread::Builder::new().name("signals".to_owned());
    thread.spawn(listen).context("cannot listen for signals")?;
    Ok(())
}

/// Does this process ignore a signal? Only Linux tells without unsafe code; elsewhere the answer is
/// no.
#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

/// The same for systems that have only Ctrl-C.
#[cfg(not(unix))]
pub(crate) fn start() -> Result<()> {
    ctrlc::set_handler(|| interrupted(130)).context("cannot listen for Ctrl-C")
}
