//! Why a proof is not accepted.

/// Why a proof is not accepted, with the numbers that decided. Everything is counted from 0;
/// `low..high` leaves `high` out.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the comment of each refusal says what its fields are")]
pub enum Refusal {
    /// There is no row, or a row names a sum that does not exist.
    RowSum,
    /// A stack without trees.
    StackEmpty,
    /// A stack names a tree that does not exist.
    StackTree { tree: u32 },
    /// A tree is in two stacks.
    StackTwice { tree: u32 },
    /// A lens comes after the first box.
    LensLate,
    /// A step is not allowed at this place.
    Order,
    /// A lens does not have one multiplier for each row.
    LensRows { multipliers: usize, rows: usize },
    /// A step names a lens that does not exist.
    LensUnknown { lens: u32, lenses: u32 },
    /// A step names an axis that does not exist.
    BoxAxis { axis: u32, axes: usize },
    /// A range is not a part of the box that is smaller than the box and not empty.
    BoxRange { axis: u32, low: u32, high: u32, box_low: u32, box_high: u32 },
    /// The lens does not close the part that is cut off. Both numbers count units of `2^shift`.
    NarrowBound { lens: u32, axis: u32, low: u32, high: u32, reached: i128, bound: i128, shift: u64 },
    /// The lens does not close the box. Both numbers count units of `2^shift`.
    CloseBound { lens: u32, reached: i128, bound: i128, shift: u64 },
    /// Every row holds in this cell, and it is not excused.
    CellsSolution { cell: Vec<u32> },
    /// A join of a row that does not exist, or of the last row with itself.
    JoinRow { row: u32, rows: usize },
    /// A join fixes an axis that does not exist.
    JoinAxis { axis: u32, axes: usize },
    /// Two halves of a box meet in a part with this cell. If `alike`, the cell stands for the part,
    /// every row holds in it, and it is not excused; otherwise not all cells of the part are alike.
    JoinSolution { cell: Vec<u32>, alike: bool },
    /// Meeting in the middle needs two rows and pieces that depend on one axis at most.
    MeetShape { rows: usize, piece: Option<usize> },
    /// The first half names an axis that does not exist.
    MeetAxis { axis: u32, axes: usize },
    /// The two halves meet: together they reach both bounds.
    MeetSolution { reached: (i128, i128), bounds: (i128, i128) },
    /// The proof ends with open boxes.
    Open,
    /// A cut without terms.
    CutEmpty,
    /// The terms of a cut do not have one number for each column and constraint.
    CutShape,
    /// A combination of constants in a cut that must be at most zero is positive.
    CutPositive { which: usize, left: crate::Int },
    /// A combination of constants in a cut that must be zero is not.
    CutUnbalanced { which: usize, left: crate::Int },
    /// A cover does not have one cost for each item.
    CoverCosts { costs: usize, items: usize },
    /// A case is split by an item that does not exist or is already decided.
    CoverItem { item: u32, items: usize },
    /// A cut that does not exist.
    CoverCut { cut: u32, cuts: usize },
    /// The multipliers of an item's cuts exceed its cost; without an item: the denominator is zero.
    CoverDual { item: Option<usize>, load: u128, denominator: u64, cost: u128 },
    /// The multipliers give less than the bound.
    CoverBound { reached: u128, bound: u64 },
    /// Two crossings of one column overlap.
    CrossingOverlap,
    /// A limit: too many joint leaves, or too many bytes for them.
    LimitOverlay { bytes: bool, limit: usize },
    /// A limit: too many bytes for lenses.
    LimitLenses { lenses: usize, bytes: usize, limit: usize },
    /// A limit: too many cells.
    LimitCells { cells: u64, limit: u64 },
    /// A limit of a join.
    LimitJoin { what: JoinLimit, limit: u64 },
    /// A limit: too many sums for one axis; without a number: numbers that are too wide.
    LimitMeet { entries: Option<usize> },
    /// A limit: too many bytes for cuts.
    LimitCuts { cuts: usize, bytes: usize, limit: usize },
    /// The caller ended the check.
    Stopped,
}

/// Which limit a join would exceed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinLimit {
    /// The sums of both halves, for all choices on the fixed axes.
    Sums,
    /// The pairs of sums that are examined.
    Pairs,
    /// The joint leaves of a piece that is not settled.
    Leaves,
}
