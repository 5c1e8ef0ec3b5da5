//! The steps of a certificate. `docs/spec/certificate-v1.md` specifies what each step needs and
//! what follows from it; this file has only their shape.

use num_bigint::BigUint;

/// One step.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// These trees are laid over each other. Trees that no stack names stand alone.
    Stack {
        /// Trees of the original, ascending.
        original: Vec<u32>,
        /// Trees of the pruned model, ascending.
        pruned: Vec<u32>,
    },
    /// Begins the proof that the system of one pair of classes has no solution.
    System {
        /// The class that the original decides.
        winner: u32,
        /// The class that the pruned model might put above it (both as the original counts
        /// classes).
        other: u32,
        /// How the pruned model's rounding enters its row.
        slack: Slack,
    },
    /// Begins the proof that one output's score is never too far on one side of the original's, or of
    /// its limit (only in claims about scores, and about the range and moved columns of one model).
    ScoreSystem {
        /// The output, as both models count them.
        output: u32,
        /// The pruned model's score is below the original's (the score is below its limit, or falls);
        /// otherwise above it.
        below: bool,
    },
    /// Begins the proof that a model never decides this class (only in claims about the class of one
    /// model).
    ClassSystem {
        /// The class.
        class: u32,
    },
    /// The score of an output on one input, or how far it moves between two, which the checker
    /// computes (only in claims about the range and about moved columns of one model).
    Shown {
        /// The output.
        output: u32,
        /// One value for each column, and then for each moved column its second value; NaN is
        /// missing.
        values: Vec<f64>,
    },
    /// Adds a lens to the system's table: one multiplier for each row.
    Lens {
        /// The multipliers.
        multipliers: Vec<u64>,
    },
    /// The lens closes everything outside of `low..high` on this axis, and the box is narrowed to
    /// the rest.
    Narrow {
        /// The axis.
        axis: u32,
        /// First cell that is left.
        low: u32,
        /// The cell after the last one that is left.
        high: u32,
        /// The lens.
        lens: u32,
    },
    /// The lens closes the box.
    Close {
        /// The lens.
        lens: u32,
    },
    /// The box is split after a cell.
    Split {
        /// The axis.
        axis: u32,
        /// The last cell of the lower side.
        cell: u32,
        /// The steps of the lower side come first.
        low_first: bool,
    },
    /// Every cell of the box fails a row, or is decided alike by both libraries.
    Cells,
    /// No cell of the box is a solution: for every choice of cells on the fixed axes, two halves of
    /// the other axes are joined, by the sums of two rows.
    Join {
        /// The row that is joined with the last one.
        row: u32,
        /// The fixed axes, ascending.
        fixed: Vec<u32>,
    },
    /// Meeting in the middle shows that the system has no solution; these are the axes of the first
    /// half.
    Meet {
        /// Axes, ascending.
        first: Vec<u32>,
    },
    /// Adds an input to the table of points.
    Point {
        /// One value for each column; NaN is missing.
        values: Vec<f64>,
    },
    /// The columns that bounds are about. This step comes once, before any cut.
    Columns {
        /// How the models may change the intercept.
        intercept: Intercept,
        /// The trees of the original in each column.
        columns: Vec<Vec<u32>>,
    },
    /// Adds a cut: the checker computes a set of columns from these terms, at least one of which
    /// has positive weight.
    Cut {
        /// The terms.
        terms: Vec<CutTerm>,
    },
    /// Begins the proof that the columns of positive weight cost at least this much.
    Cover {
        /// The cost of each column; without costs each column costs 1.
        costs: Option<Vec<u64>>,
        /// The lower bound.
        bound: u64,
    },
    /// Two cases: the column has positive weight (the steps of this case come first), or it has
    /// not.
    Branch {
        /// The column.
        column: u32,
    },
    /// In this case the bound follows from these multipliers of cuts.
    Dual {
        /// Every numerator is divided by this.
        denominator: u64,
        /// Cuts and their numerators.
        terms: Vec<CoverTerm>,
    },
    /// Two inputs that differ in one numeric feature only and are decided differently.
    Crossing {
        /// The point that has all other values.
        point: u32,
        /// The feature.
        feature: u32,
        /// The lower value.
        low: f64,
        /// The higher value.
        high: f64,
    },
    /// The end.
    End {
        /// The number of steps before this one.
        steps: u64,
        /// Every system has been proved.
        complete: bool,
    },
}

impl Step {
    /// The name of this kind of step in the specification.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Stack { .. } => "Stack",
            Self::System { .. } => "System",
            Self::ScoreSystem { .. } => "ScoreSystem",
            Self::ClassSystem { .. } => "ClassSystem",
            Self::Shown { .. } => "Shown",
            Self::Lens { .. } => "Lens",
            Self::Narrow { .. } => "Narrow",
            Self::Close { .. } => "Close",
            Self::Split { .. } => "Split",
            Self::Cells => "Cells",
            Self::Join { .. } => "Join",
            Self::Meet { .. } => "Meet",
            Self::Point { .. } => "Point",
            Self::Columns { .. } => "Columns",
            Self::Cut { .. } => "Cut",
            Self::Cover { .. } => "Cover",
            Self::Branch { .. } => "Branch",
            Self::Dual { .. } => "Dual",
            Self::Crossing { .. } => "Crossing",
            Self::End { .. } => "End",
        }
    }
}

/// How the pruned model's rounding enters its row of a system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slack {
    /// One bound for all inputs.
    Global,
    /// A bound that depends on the input.
    Local,
}

/// How the models that a bound is about may change the intercept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Intercept {
    /// There is none: all sums start from zero.
    None,
    /// The original's, times a weight of at least zero.
    Scaled,
    /// Any constants.
    Free,
    /// Any constants; unless all are zero, they count as one more column, the last.
    Counted,
}

/// One term of a cut: the lead of a class over another at a point, with a positive multiplier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CutTerm {
    /// The point, by its position in the table.
    pub point: u32,
    /// The class that the original decides there.
    pub winner: u32,
    /// Another class.
    pub other: u32,
    /// The factor by which the lead is multiplied.
    pub multiplier: BigUint,
}

/// One term of a dual bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoverTerm {
    /// The cut, by its position.
    pub cut: u32,
    /// Its multiplier, to be divided by the step's denominator.
    pub numerator: u64,
}
