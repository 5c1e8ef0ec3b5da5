//! Deliberate faults: with the private feature `_broken` the oracle can be made to go wrong, so
//! that tests see the checker refuse the certificates that result. Without the feature there are no
//! faults.

#[cfg(feature = "_broken")]
mod switch {
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

    static PRESENT: AtomicU8 = AtomicU8::new(0);

    /// Calls `run` with a fault in all threads. Only one fault can be active at a time.
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

/// Should the box with this path be skipped?
pub(crate) fn skips_box(path: &[bool]) -> bool {
    #[cfg(feature = "_broken")]
    return path.len() == 1 && path[0] && switch::present(Fault::SkipBox);
    #[cfg(not(feature = "_broken"))]
    {
        let _ = path;
        false
    }
}

/// Should the last pair of classes be left out?
pub(crate) fn drops_last_pair() -> bool {
    #[cfg(feature = "_broken")]
    return switch::present(Fault::DropPair);
    #[cfg(not(feature = "_broken"))]
    false
}

/// How far bounds are wrong, for a lens of this range.
pub(crate) fn looseness(range: i64) -> i64 {
    #[cfg(feature = "_broken")]
    return if switch::present(Fault::LoosenBound) { range / 4 } else { 0 };
    #[cfg(not(feature = "_broken"))]
    {
        let _ = range;
        0
    }
}

/// Should missing values be treated like the first cell?
pub(crate) fn ignores_missing() -> bool {
    #[cfg(feature = "_broken")]
    return switch::present(Fault::IgnoreMissing);
    #[cfg(not(feature = "_broken"))]
    false
}

/// Should all choices but the first on the fixed axes of a small box be left out?
pub(crate) fn skips_choices() -> bool {
    #[cfg(feature = "_broken")]
    return switch::present(Fault::SkipChoices);
    #[cfg(not(feature = "_broken"))]
    false
}

/// Should the last class of cells of each axis of a small box be merged with the one before it?
pub(crate) fn merges_too_much() -> bool {
    #[cfg(feature = "_broken")]
    return switch::present(Fault::MergeTooMuch);
    #[cfg(not(feature = "_broken"))]
    false
}

/// How far two rows may fall short of the best sums of a small box.
pub(crate) fn spare_in_join(spare: (i64, i64)) -> (i64, i64) {
    #[cfg(feature = "_broken")]
    if switch::present(Fault::SpareTooLittle) {
        return (spare.0 / 2, spare.1 / 2);
    }
    spare
}
