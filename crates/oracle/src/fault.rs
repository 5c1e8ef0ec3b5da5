//! Faults on purpose, for the tests of the checker: a build with debug assertions can be told to search wrongly, so that tests see
//! the checker refuse what the search then certifies. A release has none of this: there every question below is answered "no fault".
//!
//! A test in Rust calls [`with_fault`]; one that starts a command or imports the Python package sets the environment variable
//! `SECATEUR_TEST_FAULT` to the name of a fault before that. `tests/faults.rs` compiles this file by itself, with and without debug
//! assertions, and looks at the code that comes out; so it uses nothing but the standard library.

#[cfg(debug_assertions)]
mod switch {
    use std::sync::Once;
    use std::sync::atomic::{AtomicU8, Ordering};

    /// What goes wrong.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[repr(u8)]
    pub enum Fault {
        /// A box is taken for closed without any bound.
        SkipBox = 1,
        /// The last pair of classes is left out.
        DropPair,
        /// Bounds are taken to be lower than they are.
        LoosenBound,
        /// Missing values are taken to share the fate of the first cell.
        IgnoreMissing,
        /// In a small box only the first choice on the fixed axes is looked at.
        SkipChoices,
        /// In a small box cells are taken for the same that are not.
        MergeTooMuch,
        /// In a small box less is taken to be to spare than there is.
        SpareTooLittle,
    }

    const ALL: [Fault; 7] = [
        Fault::SkipBox,
        Fault::DropPair,
        Fault::LoosenBound,
        Fault::IgnoreMissing,
        Fault::SkipChoices,
        Fault::MergeTooMuch,
        Fault::SpareTooLittle,
    ];

    static PRESENT: AtomicU8 = AtomicU8::new(0);
    static FROM_OUTSIDE: Once = Once::new();

    /// The environment is read before the first question, and before the first fault of a test.
    fn read_environment() {
        FROM_OUTSIDE.call_once(|| {
            let Some(name) = std::env::var_os("SECATEUR_TEST_FAULT") else { return };
            let fault = ALL.into_iter().find(|fault| name == format!("{fault:?}").as_str());
            let fault = fault.unwrap_or_else(|| panic!("SECATEUR_TEST_FAULT: {name:?} is none of {ALL:?}"));
            PRESENT.store(fault as u8, Ordering::SeqCst);
        });
    }

    /// Runs with a fault, in all threads; not for two at a time.
    pub fn with_fault<T>(fault: Fault, run: impl FnOnce() -> T) -> T {
        read_environment();
        let before = PRESENT.swap(fault as u8, Ordering::SeqCst);
        let result = run();
        PRESENT.store(before, Ordering::SeqCst);
        result
    }

    pub(super) fn present(fault: Fault) -> bool {
        read_environment();
        PRESENT.load(Ordering::Relaxed) == fault as u8
    }
}

#[cfg(debug_assertions)]
pub use switch::{Fault, with_fault};

/// Is the box at this path to be skipped?
pub(crate) fn skips_box(path: &[bool]) -> bool {
    #[cfg(debug_assertions)]
    return path.len() == 1 && path[0] && switch::present(Fault::SkipBox);
    #[cfg(not(debug_assertions))]
    {
        let _ = path;
        false
    }
}

/// Is the last pair of classes to be left out?
pub(crate) fn drops_last_pair() -> bool {
    #[cfg(debug_assertions)]
    return switch::present(Fault::DropPair);
    #[cfg(not(debug_assertions))]
    false
}

/// By how much bounds are off, for a lens of this range.
pub(crate) fn looseness(range: i64) -> i64 {
    #[cfg(debug_assertions)]
    return if switch::present(Fault::LoosenBound) { range / 4 } else { 0 };
    #[cfg(not(debug_assertions))]
    {
        let _ = range;
        0
    }
}

/// Are missing values to be mistaken for the first cell?
pub(crate) fn ignores_missing() -> bool {
    #[cfg(debug_assertions)]
    return switch::present(Fault::IgnoreMissing);
    #[cfg(not(debug_assertions))]
    false
}

/// Are all choices on the fixed axes of a small box but the first to be left out?
pub(crate) fn skips_choices() -> bool {
    #[cfg(debug_assertions)]
    return switch::present(Fault::SkipChoices);
    #[cfg(not(debug_assertions))]
    false
}

/// Is the last class of cells of each axis of a small box to be taken for the one before it?
pub(crate) fn merges_too_much() -> bool {
    #[cfg(debug_assertions)]
    return switch::present(Fault::MergeTooMuch);
    #[cfg(not(debug_assertions))]
    false
}

/// What two rows may fall short of the best of a small box.
pub(crate) fn spare_in_join(spare: (i64, i64)) -> (i64, i64) {
    #[cfg(debug_assertions)]
    if switch::present(Fault::SpareTooLittle) {
        return (spare.0 / 2, spare.1 / 2);
    }
    spare
}
