//! What the checker answers: a verdict, what a valid certificate proves, and the limits of a check.

use secateur_certificate::{Claim, Intercept};
use secateur_lower::MatchedLabels;
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
    /// Not known: the certificate says that it is not complete, or a limit of the checker was
    /// reached.
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
    /// The values that both libraries accept, for which the cells of the proof were laid out. The
    /// claim is about those of its domain's inputs that consist of such values.
    pub accepted: Accepted,
    /// How category labels were matched.
    pub labels: MatchedLabels,
    /// The number of systems that were shown to be empty.
    pub systems: u64,
    /// The number of steps.
    pub steps: u64,
    /// A lower bound on the columns that a model of the family needs, if one was proved.
    pub columns: Option<ColumnBound>,
    /// A lower bound on the total cost of those columns, if costs were given.
    pub cost: Option<ColumnBound>,
    /// A lower bound on the number of threshold splits of any ensemble that decides alike, if one
    /// was proved.
    pub thresholds: Option<u64>,
    /// What the library computes on inputs that the certificate shows: for each output the least and
    /// the greatest number.
    pub shown: Vec<Shown>,
}

/// The score of an output on one input; or on two, where the claim is about moved columns.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    /// The output.
    pub output: usize,
    /// One value for each column, and then for each moved column its second value.
    pub values: Vec<f64>,
    /// The score, averaged where the library averages and before any link function, on each input.
    /// Where its file does not fix the order of addition, it is the one of the order of the file.
    pub scores: Vec<f64>,
}

impl Shown {
    /// The score; of two, how far the second is above the first.
    pub fn number(&self) -> f64 {
        match self.scores[..] {
            [first, second] => second - first,
            _ => self.scores[0],
        }
    }
}

/// A lower bound over models that are built from columns of the original.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColumnBound {
    /// The bound: a number of columns, or their total cost.
    pub bound: u64,
    /// How many columns there are.
    pub columns: u64,
    /// How the models may change the intercept.
    pub intercept: Intercept,
    /// The pruned model has no more trees than the bound says. This is set only if every column
    /// costs one, and so does a constant if constants are counted.
    pub reached: bool,
}

/// What the checker will spend on one certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// What the kernel may spend.
    pub kernel: secateur_kernel::Limits,
    /// How many values the table of points may have.
    pub point_values: usize,
    /// The largest number of steps of a part that one of several threads checks for the others. It
    /// does not change verdicts.
    pub part_steps: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { kernel: secateur_kernel::Limits::default(), point_values: 1 << 24, part_steps: 1 << 13 }
    }
}
