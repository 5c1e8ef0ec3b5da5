//! What the checker says: a verdict, and reasons that stay the same from version to version.

use secateur_certificate::{BandClaim, Claim, Intercept};

/// The answer to "does this certificate prove its claim for these two models?".
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// Yes.
    Valid(Proved),
    /// No: a step is wrong or missing.
    Invalid {
        /// What is wrong.
        reason: Reason,
        /// The step, counted from 0; none where the claim itself is refused.
        step: Option<u64>,
    },
    /// Not known: the certificate says that it is not complete, or a limit of the checker was reached.
    Incomplete {
        /// What is missing.
        reason: Reason,
        /// The step, counted from 0.
        step: Option<u64>,
    },
}

/// What a valid certificate proves.
#[derive(Clone, Debug, PartialEq)]
pub struct Proved {
    /// The claim of identical decisions.
    pub claim: Claim,
    /// The number of systems that were shown to be empty.
    pub systems: u64,
    /// The number of steps.
    pub steps: u64,
    /// A lower bound on the columns that a model of the family needs, where one was proved.
    pub columns: Option<ColumnBound>,
    /// A lower bound on the total cost of those columns, where costs were given.
    pub cost: Option<ColumnBound>,
    /// A lower bound on the threshold splits of any ensemble that decides alike, where one was proved.
    pub thresholds: Option<u64>,
}

/// A lower bound over models that are built from columns of the original.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColumnBound {
    /// At least so many, or so much.
    pub bound: u64,
    /// How many columns there are.
    pub columns: u64,
    /// What the models may do with the intercept.
    pub intercept: Intercept,
    /// The pruned model has no more trees than the bound (only where every column counts as one, and so does
    /// a constant where it is counted).
    pub reached: bool,
}

impl Proved {
    /// The band of the claim.
    pub fn band(&self) -> BandClaim {
        self.claim.band
    }
}

/// What the checker will spend on one certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Joint leaves of one stack of several trees.
    pub overlay_leaves: usize,
    /// Bytes of leaf masks and tables over all stacks.
    pub overlay_bytes: usize,
    /// Bytes of all lenses of one system.
    pub lens_bytes: usize,
    /// Cells of one `Cells` step.
    pub cells: u64,
    /// Entries of a half in a meeting in the middle.
    pub meet_entries: usize,
    /// Values in the table of points.
    pub point_values: usize,
    /// Bytes of all cuts.
    pub cut_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            overlay_leaves: 1 << 16,
            overlay_bytes: 1 << 30,
            lens_bytes: 1 << 29,
            cells: 1 << 24,
            meet_entries: 1 << 23,
            point_values: 1 << 24,
            cut_bytes: 1 << 28,
        }
    }
}

macro_rules! reasons {
    ($($(#[$doc:meta])* $name:ident = $code:literal,)*) => {
        /// Why a certificate is not accepted.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Reason {
            $($(#[$doc])* $name,)*
        }

        impl Reason {
            /// Every reason.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// A short name that stays.
            pub fn code(self) -> &'static str {
                match self {
                    $(Self::$name => $code,)*
                }
            }
        }
    };
}

reasons! {
    /// The certificate is for another original.
    DigestOriginal = "digest.original",
    /// The certificate is for another pruned model.
    DigestPruned = "digest.pruned",
    /// The models have different numbers of columns.
    ClaimFeatures = "claim.features",
    /// The models have different classes.
    ClaimClasses = "claim.classes",
    /// The band is no finite number of at least zero, or below the rounding of the original.
    ClaimBand = "claim.band",
    /// A sum of one of the models may overflow, so that no band makes its decision certain.
    ClaimNoCertainMargin = "claim.no_certain_margin",
    /// Rounding by input is claimed where there is no such bound.
    ClaimLocalRounding = "claim.local_rounding",
    /// The band of the claim is larger than the one that was asked for.
    ClaimBandAsked = "claim.band_asked",
    /// The claim leaves out inputs, and one about every input was asked for.
    ClaimScopeAsked = "claim.scope_asked",
    /// A step of this kind has no place here.
    OrderUnexpected = "order.unexpected",
    /// A stack names a tree that does not exist.
    StackTree = "stack.tree",
    /// A tree is in two stacks.
    StackTwice = "stack.twice",
    /// A stack has no trees.
    StackEmpty = "stack.empty",
    /// Not the next pair of classes.
    SystemPair = "system.pair",
    /// Rounding by input where the claim does not announce it.
    SystemSlack = "system.slack",
    /// A lens that has not one multiplier for each row.
    LensRows = "lens.rows",
    /// No such lens.
    LensUnknown = "lens.unknown",
    /// No such axis.
    BoxAxis = "box.axis",
    /// A range that does not leave a part of the box, and less than all of it.
    BoxRange = "box.range",
    /// The part that is cut off is not closed by the lens.
    NarrowBound = "narrow.bound_not_met",
    /// The box is not closed by the lens.
    CloseBound = "close.bound_not_met",
    /// A cell satisfies every row, and in exact arithmetic or in the library the decision differs.
    CellsSolution = "cells.solution",
    /// A cell satisfies every row, and what the file does not fix (the order of addition) may decide.
    CellsOrder = "cells.order_of_addition",
    /// Meeting in the middle needs two rows and trees of one feature each.
    MeetShape = "meet.shape",
    /// No such axis.
    MeetAxis = "meet.axis",
    /// The two halves meet: there is a solution.
    MeetSolution = "meet.solution",
    /// A point has not one value for each column, or a value that the original does not accept.
    PointValues = "point.values",
    /// Columns are given twice, or not every tree of the original is in exactly one of them.
    ColumnsTree = "columns.tree",
    /// A family without an intercept, of an original that has one.
    ColumnsIntercept = "columns.intercept",
    /// A cut without terms says nothing.
    CutEmpty = "cut.empty",
    /// No such point.
    CutPoint = "cut.point",
    /// No such pair of classes.
    CutClasses = "cut.classes",
    /// The original does not lead by more than the band at this point.
    CutLead = "cut.lead",
    /// A multiplier of zero.
    CutMultiplier = "cut.multiplier",
    /// The intercept could satisfy the cut by itself.
    CutIntercept = "cut.intercept",
    /// Not one cost for each column.
    CoverCosts = "cover.costs",
    /// No such column, or one that is decided already.
    CoverColumn = "cover.column",
    /// No such cut.
    CoverCut = "cover.cut",
    /// The multipliers of a column's cuts exceed its cost.
    CoverDual = "cover.dual",
    /// The multipliers give less than the bound.
    CoverBound = "cover.bound_not_met",
    /// No such point, or no such numeric feature.
    CrossingPoint = "crossing.point",
    /// Not two different values in ascending order, as the original reads them.
    CrossingValues = "crossing.values",
    /// The original does not decide the two inputs differently, by more than the band.
    CrossingDecision = "crossing.decision",
    /// Two crossings of one feature overlap.
    CrossingOverlap = "crossing.overlap",
    /// A system or a case is not proved.
    EndMissing = "end.missing",
    /// The certificate says itself that it is not complete.
    Declared = "incomplete.declared",
    /// A limit: too many joint leaves.
    LimitOverlay = "limit.overlay",
    /// A limit: too many lenses.
    LimitLenses = "limit.lenses",
    /// A limit: too many cells.
    LimitCells = "limit.cells",
    /// A limit: too many entries, or numbers too wide, for meeting in the middle.
    LimitMeet = "limit.meet",
    /// A limit: too many points.
    LimitPoints = "limit.points",
    /// A limit: too many cuts.
    LimitCuts = "limit.cuts",
}

impl Reason {
    /// Is nothing wrong as far as is known?
    pub fn is_incomplete(self) -> bool {
        self == Self::Declared || self.code().starts_with("limit.")
    }
}
