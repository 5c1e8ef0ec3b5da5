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
        /// In a small box only the first choice on the fixed axes is looked at.
        SkipChoices,
        /// In a small box cells are taken for the same that are not.
        MergeTooMuch,
        /// In a small box less is taken to be to spare than there is.
        SpareTooLittle,
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

/// Are all choices on the fixed axes of a small box but the first to be left out?
pub(crate) fn skips_choices() -> bool {
    #[cfg(feature = "_broken")]
    return switch::present(Fault::SkipChoices);
    #[cfg(not(feature = "_broken"))]
    false
}

/// Is the last class of cells of each axis of a small box to be taken for the one before it?
pub(crate) fn merges_too_much() -> bool {
    #[cfg(feature = "_broken")]
    return switch::present(Fault::MergeTooMuch);
    #[cfg(not(feature = "_broken"))]
    false
}

/// What two rows may fall short of the best of a small box.
pub(crate) fn spare_in_join(spare: (i64, i64)) -> (i64, i64) {
    #[cfg(feature = "_broken")]
    if switch::present(Fault::SpareTooLittle) {
        return (spare.0 / 2, spare.1 / 2);
    }
    spare
}
