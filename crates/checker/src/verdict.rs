//! What the checker says: a verdict, what a valid certificate proves, and the limits that a checker has.

use secateur_certificate::{Claim, Intercept};
use secateur_model::Accepted;

use crate::reason::Reason;

/// The answer to "does this certificate prove its claim for these two models?".
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "there is one verdict for each check")]
pub enum Verdict {
    /// Yes.
    Valid(Proved),
    /// No: a step is wrong or missing.
    Invalid {
        /// What is wrong, with the numbers that decided.
        reason: Reason,
        /// The step, counted from 0; none where the claim itself is refused.
        step: Option<u64>,
    },
    /// Not known: the certificate says that it is not complete, or a limit of the checker was reached.
    Incomplete {
        /// What is missing, or which limit was reached.
        reason: Reason,
        /// The step, counted from 0.
        step: Option<u64>,
    },
}

/// What a valid certificate proves.
#[derive(Clone, Debug, PartialEq)]
pub struct Proved {
    /// The claim.
    pub claim: Claim,
    /// What both libraries take, as the cells of the proof were laid out for it: the inputs of the claim are those of its
    /// domain among these.
    pub accepted: Accepted,
    /// How category labels were matched.
    pub labels: MatchedLabels,
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

/// The columns with category labels, and how they were matched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MatchedLabels {
    /// Both models have labels: the claim is about labels.
    pub by_label: Vec<String>,
    /// Only one of the models has labels: the claim is about codes.
    pub by_code: Vec<String>,
    /// One of the models has labels for columns that its file does not name, the other has none at all: the claim
    /// is about codes there.
    pub unplaced: bool,
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

/// What the checker will spend on one certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Joint leaves of one stack of several trees.
    pub overlay_leaves: usize,
    /// Joint leaves of one stack up to which it has masks of leaves; larger ones keep their joint tree. Both ways
    /// give the same verdicts.
    pub masked_leaves: usize,
    /// Bytes of leaf masks and tables over all stacks.
    pub overlay_bytes: usize,
    /// Bytes of all lenses of one system.
    pub lens_bytes: usize,
    /// Cells of one `Cells` step.
    pub cells: u64,
    /// The work of one `Join` step: choices on the fixed axes times sums in both lists.
    pub join_sums: u64,
    /// Cells that one `Join` step looks at one by one.
    pub join_pairs: usize,
    /// Entries of a half in a meeting in the middle.
    pub meet_entries: usize,
    /// Values in the table of points.
    pub point_values: usize,
    /// Bytes of all cuts.
    pub cut_bytes: usize,
    /// Steps of the largest part that one of several threads checks for the others. Every number gives the same verdicts.
    pub part_steps: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            overlay_leaves: 1 << 20,
            masked_leaves: 1 << 10,
            overlay_bytes: 1 << 30,
            lens_bytes: 1 << 29,
            cells: 1 << 24,
            join_sums: 1 << 20,
            join_pairs: 1 << 12,
            meet_entries: 1 << 23,
            point_values: 1 << 24,
            cut_bytes: 1 << 28,
            part_steps: 1 << 13,
        }
    }
}
