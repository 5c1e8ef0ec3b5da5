//! Deliberate faults: a build with debug assertions can be made to go wrong, so that tests see the
//! checker refuse the certificates that result. A release has no faults.
//!
//! A test in Rust calls [`with_fault`]. A test that starts a command or imports the Python package
//! sets the environment variable `SECATEUR_TEST_FAULT` to the name of a fault. `tests/faults.rs`
//! compiles this file on its own, with and without debug assertions, and looks at the machine code;
//! therefore it uses nothing but the standard library.

#[cfg(debug_assertions)]
mod switch {
    use std::sync::Once;
    use std::sync::atomic::{AtomicU8, Ordering};

    /// The fault to commit.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[repr(u8)]
    pub enum Fault {
        /// Treats a box as closed without any bound.
        SkipBox = 1,
        /// Leaves out the last pair of classes.
        DropPair,
        /// Treats bounds as lower than they are.
        LoosenBound,
        /// Treats missing values like the first cell.
        IgnoreMissing,
        /// Tries only the first choice on the fixed axes of a small box.
        SkipChoices,
        /// Treats cells of a small box as one class although they differ.
        MergeTooMuch,
        /// Treats the spare of a small box as smaller than it is.
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

    /// Calls `run` with a fault in all threads. Only one fault can be active at a time.
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

/// Should the box with this path be skipped?
pub(crate) fn skips_box(path: &[bool]) -> bool {
    #[cfg(debug_assertions)]
    return path.len() == 1 && path[0] && switch::present(Fault::SkipBox);
    #[cfg(not(debug_assertions))]
    {
        let _ = path;
        false
    }
}

/// Should the last pair of classes be left out?
pub(crate) fn drops_last_pair() -> bool {
    #[cfg(debug_assertions)]
    return switch::present(Fault::DropPair);
    #[cfg(not(debug_assertions))]
    false
}

/// How far bounds are wrong, for a lens of this range.
pub(crate) fn looseness(range: i64) -> i64 {
    #[cfg(debug_assertions)]
    return if switch::present(Fault::LoosenBound) { range / 4 } else { 0 };
    #[cfg(not(debug_assertions))]
    {
        let _ = range;
        0
    }
}

/// Should missing values be treated like the first cell?
pub(crate) fn ignores_missing() -> bool {
    #[cfg(debug_assertions)]
    return switch::present(Fault::IgnoreMissing);
    #[cfg(not(debug_assertions))]
    false
}

/// Should all choices but the first on the fixed axes of a small box be left out?
pub(crate) fn skips_choices() -> bool {
    #[cfg(debug_assertions)]
    return switch::present(Fault::SkipChoices);
    #[cfg(not(debug_assertions))]
    false
}

/// Should the last class of cells of each axis of a small box be merged with the one before it?
pub(crate) fn merges_too_much() -> bool {
    #[cfg(debug_assertions)]
    return switch::present(Fault::MergeTooMuch);
    #[cfg(not(debug_assertions))]
    false
}

/// How far two rows may fall short of the best sums of a small box.
pub(crate) fn spare_in_join(spare: (i64, i64)) -> (i64, i64) {
    #[cfg(debug_assertions)]
    if switch::present(Fault::SpareTooLittle) {
        return (spare.0 / 2, spare.1 / 2);
    }
    spare
}
