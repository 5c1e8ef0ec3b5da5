//! Ctrl-C, and what other programs send in its place: SIGTERM (a shutdown, a container that is stopped, `timeout`) and
//! SIGHUP (a terminal that is closed).
//!
//! A command that has nothing to show yet ends at once. One that can end early with a result asks to be told of the
//! first signal instead ([`listen`]), and only a second one ends it. Either way no temporary file stays, and the exit
//! code is 128 and the number of the signal, as a shell gives it: 130 for Ctrl-C, 143 for SIGTERM, 129 for SIGHUP.
//! A signal that is ignored when the command starts (`nohup`, a job in the background) stays ignored.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::{Context, Result};
use secateur::Cancel;

use crate::output;

/// The exit code of a run that a signal ended: Ctrl-C's until another one comes.
static CODE: AtomicU8 = AtomicU8::new(130);

/// Who is to be told of a first signal. Nobody any more once told: the switch itself may have been used by a time limit.
static LISTENER: Mutex<Option<Cancel>> = Mutex::new(None);

fn listener() -> MutexGuard<'static, Option<Cancel>> {
    LISTENER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The exit code of a run that a signal ended early, with a result.
pub(crate) fn exit_code() -> u8 {
    CODE.load(Ordering::Relaxed)
}

/// As long as this lives, a first signal ends nothing but switches a [`Cancel`].
pub(crate) struct Listening(());

/// Has a first signal switch `cancel`, for work that then ends with a result.
pub(crate) fn listen(cancel: &Cancel) -> Listening {
    *listener() = Some(cancel.clone());
    Listening(())
}

impl Drop for Listening {
    fn drop(&mut self) {
        *listener() = None;
    }
}

/// A signal has come.
fn interrupted(code: u8) {
    if let Some(cancel) = listener().take() {
        CODE.store(code, Ordering::Relaxed);
        return cancel.cancel();
    }
    output::leave(code)
}

/// Sees to it that signals end the process without a half-written file.
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

/// Does this process ignore a signal? Only Linux says so without code that is not safe; elsewhere it counts as heard.
#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

/// The same where there is nothing but Ctrl-C.
#[cfg(not(unix))]
pub(crate) fn start() -> Result<()> {
    ctrlc::set_handler(|| interrupted(130)).context("cannot listen for Ctrl-C")
}
