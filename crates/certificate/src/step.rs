//! The steps of a certificate. What each needs and concludes is specified in
//! `docs/spec/certificate-v1.md`; here is only their shape.

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
    /// Begins the proof that one output's score is nowhere too far on one side of the original's
    /// (claims about scores only).
    ScoreSystem {
        /// The output, as both models count them.
        output: u32,
        /// The pruned model's score is below the original's; else above it.
        below: bool,
    },
    /// Adds a lens to the system's table: one multiplier for each row.
    Lens {
        /// The multipliers.
        multipliers: Vec<u64>,
    },
    /// What lies outside `low..high` on this axis is closed by the lens; the box is narrowed.
    Narrow {
        /// The axis.
        axis: u32,
        /// First cell that is left.
        low: u32,
        /// The cell behind the last one that is left.
        high: u32,
        /// The lens.
        lens: u32,
    },
    /// The lens closes the box.
    Close {
        /// The lens.
        lens: u32,
    },
    /// The box is split behind a cell.
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
    /// No cell of the box is a solution: for every choice on the fixed axes, what remains of two
    /// rows is joined from two halves.
    Join {
        /// The row that is joined with the last one.
        row: u32,
        /// The fixed axes, ascending.
        fixed: Vec<u32>,
    },
    /// The system is empty by meeting in the middle; the axes of the first half.
    Meet {
        /// Axes, ascending.
        first: Vec<u32>,
    },
    /// Adds an input to the table of points.
    Point {
        /// One value for each column; NaN is missing.
        values: Vec<f64>,
    },
    /// The columns that bounds are about. Comes once, before any cut.
    Columns {
        /// What may happen to the intercept.
        intercept: Intercept,
        /// The trees of the original in each column.
        columns: Vec<Vec<u32>>,
    },
    /// Adds a cut: of the columns that the checker works out from these terms, one has positive
    /// weight.
    Cut {
        /// The terms.
        terms: Vec<CutTerm>,
    },
    /// Begins the proof that the columns of positive weight cost at least this much.
    Cover {
        /// The cost of each column; 1 each where there are none.
        costs: Option<Vec<u64>>,
        /// The lower bound.
        bound: u64,
    },
    /// Two cases: the column has positive weight (its steps come first), or not.
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
    /// Two inputs that differ in one numeric feature and are decided differently.
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
        /// Every system is there.
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
    /// A bound that knows the input.
    Local,
}

/// What may happen to the intercept in the models that a bound is about.
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
    /// How often the lead counts.
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
