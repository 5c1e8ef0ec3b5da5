//! Faults on purpose: with the private feature `_broken` the oracle can be told to go wrong, so that tests see
//! the checker refuse what it then certifies. Without the feature every question here is answered "no fault".

#[cfg(feature = "_broken")]
mod switch {
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
    }

    static PRESENT: AtomicU8 = AtomicU8::new(0);

    /// Runs with a fault, in all threads; not for two at a time.
    pub fn with_fault<T>(fault: Fault, run: impl FnOnce() -> T) -> T {
        PRESENT.store(fault as u8, Ordering::SeqCst);
        let result = run();
        PRESENT.store(0, Ordering::SeqCst);
        result
    }

    pub(crate) fn present(fault: Fault) -> bool {
        PRESENT.load(Ordering::Relaxed) == fault as u8
    }
}

#[cfg(feature = "_broken")]
pub use switch::{Fault, with_fault};

/// Is the box at this path to be skipped?
pub(crate) fn skips_box(path: &[bool]) -> bool {
    #[cfg(feature = "_broken")]
    return path.len() == 1 && path[0] && switch::present(Fault::SkipBox);
    #[cfg(not(feature = "_broken"))]
    {
        let _ = path;
        false
    }
}

/// Is the last pair of classes to be left out?
pub(crate) fn drops_last_pair() -> bool {
    #[cfg(feature = "_broken")]
    return switch::present(Fault::DropPair);
    #[cfg(not(feature = "_broken"))]
    false
}

/// By how much bounds are off, for a lens of this range.
pub(crate) fn looseness(range: i64) -> i64 {
    #[cfg(feature = "_broken")]
    return if switch::present(Fault::LoosenBound) { range / 4 } else { 0 };
    #[cfg(not(feature = "_broken"))]
    {
        let _ = range;
        0
    }
}

/// Are missing values to be mistaken for the first cell?
pub(crate) fn ignores_missing() -> bool {
    #[cfg(feature = "_broken")]
    return switch::present(Fault::IgnoreMissing);
    #[cfg(not(feature = "_broken"))]
    false
}
