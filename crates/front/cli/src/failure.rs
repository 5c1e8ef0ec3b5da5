//! How a run ends: an exit code, and one plain message if something failed.
//!
//! A panic is a bug of secateur or of a table library. It is recorded instead of printed: [`guard`]
//! turns a panic in a library's decoder into an error about the file, [`report`] turns any other
//! into a message that asks for a bug report.

use std::any::Any;
use std::cell::RefCell;
use std::io;
use std::panic::{self, AssertUnwindSafe};

use anyhow::{Result, anyhow};

use crate::interrupt;
use crate::output::complain;

/// Bad usage or bad input.
pub(crate) const BAD_INPUT: u8 = 2;

/// How a command that did not fail ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// Done, or proved.
    Done,
    /// A counterexample was found.
    Refuted,
    /// Neither proved nor refuted within the budget, or only a part of what was asked for.
    Undecided,
    /// Some of several inputs were bad; the results of all others were printed.
    Failed,
    /// Ended by a signal, with a result.
    Interrupted,
}

thread_local! {
    static PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Runs the command and reports how it ended, with the exit code.
pub(crate) fn report(run: impl FnOnce() -> Result<Ending>) -> u8 {
    panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(|place| format!(" ({}:{})", place.file(), place.line()));
        let text = format!("{}{}", words(panic.payload()), place.unwrap_or_default());
        PANIC.with_borrow_mut(|last| *last = Some(text));
    }));
    match panic::catch_unwind(AssertUnwindSafe(run)) {
        Ok(Ok(Ending::Done)) => 0,
        Ok(Ok(Ending::Refuted)) => 1,
        Ok(Ok(Ending::Failed)) => BAD_INPUT,
        Ok(Ok(Ending::Undecided)) => 3,
        Ok(Ok(Ending::Interrupted)) => interrupt::exit_code(),
        // The reader of our output has seen enough (`| head`).
        Ok(Err(error)) if is_broken_pipe(&error) => 0,
        Ok(Err(error)) => {
            complain(&format!("error: {error:#}"));
            BAD_INPUT
        }
        Err(_) => {
            complain(&format!(
                "error: secateur itself failed: {}\nNo file was written. This is a bug: please report it with \
                 the command and, if you can, the files.",
                last_panic()
            ));
            BAD_INPUT
        }
    }
}

/// Runs a library's decoder on untrusted bytes; a panic in it becomes an error.
pub(crate) fn guard<T>(decode: impl FnOnce() -> T) -> Result<T> {
    panic::catch_unwind(AssertUnwindSafe(decode)).map_err(|_| anyhow!("{}", last_panic()))
}

fn last_panic() -> String {
    PANIC.with_borrow_mut(Option::take).unwrap_or_else(|| "an unknown fault".to_owned())
}

fn words(payload: &dyn Any) -> String {
    match (payload.downcast_ref::<&str>(), payload.downcast_ref::<String>()) {
        (Some(text), _) => (*text).to_owned(),
        (_, Some(text)) => text.clone(),
        _ => "an unknown fault".to_owned(),
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_in_a_decoder_is_an_error() {
        assert!(guard(|| -> u8 { panic!("bad page") }).is_err());
        assert_eq!(guard(|| 3).unwrap(), 3);
    }
}
