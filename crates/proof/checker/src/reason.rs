//! Why a certificate is not accepted: for every reason a code that never changes, the numbers that
//! decided, and a sentence that names them.
//!
//! A reason comes from one of three places: the claim or a number in a step cannot be lowered
//! ([`Refused`], in `secateur-lower`), the kernel refuses a step (`secateur_kernel::Refusal`, put
//! into words here), or the steps are not those that the claim needs. Every reason has its code in
//! section 8 of the specification, and a case in `tests/it/corpus.rs`.

use std::fmt;

use secateur_certificate::{Claim, Statement};
use secateur_lower::{Refused, input_words, reasons};
use secateur_model::Cut;

/// Why a certificate is not accepted.
#[derive(Clone, Debug, PartialEq)]
pub enum Reason {
    /// The two models and the claim cannot be turned into problems, or a step has a number that
    /// means nothing.
    Lowering(Refused),
    /// The steps do not prove the claim, or it is not the claim that was asked for.
    Unproved(Unproved),
}

impl Reason {
    /// The codes of all reasons.
    pub fn codes() -> impl Iterator<Item = &'static str> {
        Refused::CODES.iter().chain(Unproved::CODES).copied()
    }

    /// A short name that stays the same from version to version.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Lowering(reason) => reason.code(),
            Self::Unproved(reason) => reason.code(),
        }
    }

    /// What is wrong, as a sentence with the numbers that decided. Its wording may change.
    pub fn message(&self) -> String {
        match self {
            Self::Lowering(reason) => reason.message(),
            Self::Unproved(reason) => reason.message(),
        }
    }

    /// Whether nothing is wrong as far as the certificate was checked.
    pub fn is_incomplete(&self) -> bool {
        self.code() == "incomplete.declared" || self.code().starts_with("limit.")
    }

    /// Whether the check ended because its caller asked for that.
    pub fn is_stopped(&self) -> bool {
        matches!(self, Self::Unproved(Unproved::Stopped))
    }

    /// The sentence, followed in parentheses by the code and the step (no step if the claim itself
    /// is refused).
    pub fn describe(&self, step: Option<u64>) -> String {
        let place = step.map_or_else(|| "the claim".to_owned(), |step| format!("step {step}"));
        format!("{} ({} at {place})", self.message(), self.code())
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message())
    }
}

impl From<Refused> for Reason {
    fn from(reason: Refused) -> Self {
        Self::Lowering(reason)
    }
}

impl From<Unproved> for Reason {
    fn from(reason: Unproved) -> Self {
        Self::Unproved(reason)
    }
}

/// The cuts of a claim about decisions.
fn threshold_words(cuts: &Option<[Cut; 2]>) -> String {
    match cuts.map(|cuts| cuts.map(|cut| cut.score)) {
        None => "by the libraries' own rules".to_owned(),
        Some([first, second]) if first == second => format!("at a threshold (scores from {first:?} on)"),
        Some([first, second]) => format!("at a threshold (scores from {first:?} and {second:?} on)"),
    }
}

/// What a claim is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimKind {
    /// The decisions of two models.
    Decisions,
    /// The scores of two models.
    Scores,
    /// One model.
    OneModel,
}

impl ClaimKind {
    /// What this claim is about.
    pub fn of(claim: &Claim) -> Self {
        match claim.statement {
            Statement::Decisions { .. } => Self::Decisions,
            Statement::Scores { .. } => Self::Scores,
            Statement::Range { .. } | Statement::Class { .. } | Statement::Moves { .. } => Self::OneModel,
        }
    }
}

impl fmt::Display for ClaimKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Decisions => "decisions",
            Self::Scores => "how far scores are apart",
            Self::OneModel => "one model",
        })
    }
}

/// On which side of the original's scores.
fn side(below: bool) -> &'static str {
    if below { "below" } else { "above" }
}

reasons! {
    /// Why steps do not prove a claim, with the numbers that decided. Steps, trees, axes, cells,
    /// classes, lenses and cuts are counted from 0; `low..high` leaves `high` out.
    Unproved:
    /// The band of the claim is larger than the one that was asked for.
    ClaimBandAsked { claimed: Option<f64>, asked: f64 } = "claim.band_asked",
        "{}",
        match claimed {
            Some(claimed) if *asked == 0.0 => format!(
                "The certificate is about what the libraries decide for leads above {claimed:e}, and a claim about exact \
                 sums, ties included, was asked for (a band of 0)."
            ),
            Some(claimed) => format!(
                "The certificate proves its claim for leads above {claimed:e}, and a band of at most {asked:e} was asked for."
            ),
            None => format!(
                "The certificate is about exact sums (a band of 0), and a claim about what the libraries decide for leads \
                 above {asked:e} was asked for."
            ),
        };
    /// A claim about decisions was asked for and this one is about scores, or the reverse.
    ClaimKindAsked { found: ClaimKind, asked: ClaimKind } = "claim.kind_asked",
        "The certificate is about {found}, and a claim about {asked} was asked for.";
    /// The claim is about decisions at another threshold than was asked for.
    ClaimThresholdAsked { claimed: Option<[Cut; 2]>, asked: Option<[Cut; 2]> } = "claim.threshold_asked",
        "The certificate is about decisions {}, and a claim about decisions {} was asked for.",
        threshold_words(claimed), threshold_words(asked);
    /// The scores of the claim may be farther apart than what was asked for.
    ClaimWithinAsked { claimed: f64, asked: f64 } = "claim.within_asked",
        "The certificate proves that scores are at most {claimed:e} apart, and at most {asked:e} was asked for.";
    /// The claim leaves out inputs, although one about every input was asked for.
    ClaimScopeAsked { inputs: String } = "claim.scope_asked",
        "A claim about every input was asked for, and this one is about fewer: {inputs}.";
    /// The claim's domain does not hold the one that was asked for.
    ClaimDomainAsked { why: String } = "claim.domain_asked",
        "A claim about a domain was asked for that is not within the one of this claim: {why}.";
    /// A step of this kind has no place here.
    OrderUnexpected { found: &'static str, place: &'static str } = "order.unexpected",
        "A step of the kind {found} has no place {place}.";
    /// A stack names a tree that does not exist.
    StackTree { model: secateur_lower::ModelRole, tree: u32, trees: usize } = "stack.tree",
        "A stack names tree {tree} of {model}, which has {trees} trees, counted from 0.";
    /// A tree is in two stacks.
    StackTwice { model: secateur_lower::ModelRole, tree: u32 } = "stack.twice",
        "Tree {tree} of {model} is in two stacks.";
    /// A stack has no trees.
    StackEmpty = "stack.empty",
        "The stack names no tree of either model.";
    /// The system is not that of the next pair of classes.
    SystemPair { winner: u32, other: u32, expected: Option<(u32, u32)> } = "system.pair",
        "The system is that of classes {winner} and {other}, and {}.",
        match expected {
            Some((winner, other)) => format!("the one of {winner} and {other} comes next"),
            None => "all systems have been there".to_owned(),
        };
    /// The system is not that of the next output, or not of its next side.
    SystemOutput { output: u32, below: bool, expected: Option<(usize, bool)> } = "system.output",
        "The system is that of scores {} the original's of output {output}, and {}.", side(*below),
        match expected {
            Some((output, below)) => format!("the one of scores {} those of output {output} comes next", side(*below)),
            None => "all systems have been there".to_owned(),
        };
    /// The system is not that of the next class that is not allowed.
    SystemClass { class: u32, expected: Option<u32> } = "system.class",
        "The system is that of class {class}, and {}.",
        match expected {
            Some(class) => format!("the one of class {class} comes next"),
            None => "all systems have been there".to_owned(),
        };
    /// A lens does not have one multiplier for each row.
    LensRows { multipliers: usize, rows: usize } = "lens.rows",
        "The lens has {multipliers} multipliers, and the system has {rows} rows.";
    /// No such lens.
    LensUnknown { lens: u32, lenses: u32 } = "lens.unknown",
        "The step names lens {lens}, and the system has {lenses} lenses, counted from 0.";
    /// No such axis.
    BoxAxis { axis: u32, axes: usize } = "box.axis",
        "The step names axis {axis}, and the grid has {axes} axes, counted from 0.";
    /// A range does not leave a part of the box that is smaller than the box and not empty.
    BoxRange { axis: u32, low: u32, high: u32, box_low: u32, box_high: u32 } = "box.range",
        "Cells {low}..{high} of axis {axis} are not a part of the box's cells {box_low}..{box_high}, non-empty and less \
         than all of them.";
    /// The lens does not close the part that is cut off.
    NarrowBound { lens: u32, axis: u32, low: u32, high: u32, reached: i128, bound: i128, unit: i64 } =
        "narrow.bound_not_met",
        "Lens {lens} does not close cells {low}..{high} of axis {axis}: the sum of the pieces' largest values there, \
         {reached}, is not below the bound {bound} (in units of 2^{unit}).";
    /// The lens does not close the box.
    CloseBound { lens: u32, reached: i128, bound: i128, unit: i64 } = "close.bound_not_met",
        "Lens {lens} does not close the box: the sum of the pieces' largest values, {reached}, is not below the bound \
         {bound} (in units of 2^{unit}).";
    /// A join of a row that does not exist, or of the last one with itself.
    JoinRow { row: u32, rows: usize } = "join.row",
        "A join of row {row} with the last one needs a row before it, and the system has {rows} rows, counted from 0.";
    /// A fixed axis that does not exist.
    JoinAxis { axis: u32, axes: usize } = "join.axis",
        "The join fixes axis {axis}, and the grid has {axes} axes, counted from 0.";
    /// Two halves of a box meet in a part where not all cells are alike, or where a cell satisfies
    /// every row and in exact arithmetic or in the library the decision differs.
    JoinSolution { input: Vec<f64>, winner: u32, alike: bool } = "join.solution",
        "The two halves of the box meet at the input {}: {}.", input_words(input),
        if *alike { format!("the original decides class {winner} there, and the pruned model does not") }
        else { format!("it reaches the bounds of two rows for class {winner}, and does not stand for all of its part") };
    /// Meeting in the middle needs two rows and trees of one feature each.
    MeetShape { rows: usize, piece: Option<usize> } = "meet.shape",
        "Meeting in the middle needs two rows and pieces that look at one axis at most; {}.",
        match piece {
            Some(piece) => format!("piece {piece} of this system of {rows} rows looks at more"),
            None => format!("this system has {rows} rows"),
        };
    /// No such axis.
    MeetAxis { axis: u32, axes: usize } = "meet.axis",
        "The first half names axis {axis}, and the grid has {axes} axes, counted from 0.";
    /// The two halves meet, so there is a solution.
    MeetSolution { reached: (i128, i128), bounds: (i128, i128), unit: i64 } = "meet.solution",
        "The two halves meet: together they reach {} where the first row asks for {}, and {} where the second asks for \
         {} (in units of 2^{unit}).", reached.0, bounds.0, reached.1, bounds.1;
    /// A cut has no terms, so it says nothing.
    CutEmpty = "cut.empty",
        "The cut has no terms.";
    /// The intercept could satisfy the cut by itself.
    CutIntercept { part: String, left: String } = "cut.intercept",
        "The cut leaves {left} times {part}, so that constants could satisfy it without any column.";
    /// A cover does not have one cost for each column.
    CoverCosts { costs: usize, items: usize } = "cover.costs",
        "The cover has {costs} costs for {items} items.";
    /// There is no such column, or it is decided already.
    CoverColumn { column: u32, items: usize } = "cover.column",
        "The case cannot be split by item {column}: {}.",
        if (*column as usize) < *items { "it is decided already".to_owned() }
        else { format!("there are {items}, counted from 0") };
    /// No such cut.
    CoverCut { cut: u32, cuts: usize } = "cover.cut",
        "The step names cut {cut}, and {cuts} cuts have been given, counted from 0.";
    /// The multipliers of a column's cuts exceed its cost.
    CoverDual { item: Option<usize>, load: u128, denominator: u64, cost: u128 } = "cover.dual",
        "{}.",
        match item {
            Some(item) => format!("The multipliers of the cuts of item {item} add up to {load}/{denominator}, more than its \
                cost {cost}"),
            None => format!("The denominator of the multipliers is {denominator}"),
        };
    /// The multipliers give less than the bound.
    CoverBound { reached: u128, bound: u64 } = "cover.bound_not_met",
        "In this case the kept items and the multipliers give {reached}, less than the bound {bound}.";
    /// Two crossings of one feature overlap.
    CrossingOverlap { column: u32, low: f64, high: f64 } = "crossing.overlap",
        "The crossing of column {column} from {low:?} to {high:?} overlaps another one of that column.";
    /// A system or a case has not been proved.
    EndMissing { proved: u64, systems: u64, cover_open: bool } = "end.missing",
        "The certificate ends with {proved} of {systems} systems proved{}.",
        if *cover_open { " and a cover that is not done" } else { "" };
    /// The certificate itself says that it is not complete.
    Declared { proved: u64, systems: u64 } = "incomplete.declared",
        "The certificate says itself that it is not complete: {proved} of {systems} systems are proved.";
    /// A limit: too many joint leaves.
    LimitOverlay { what: &'static str, limit: usize } = "limit.overlay",
        "The stacks of trees need more than {limit} {what}, the limit of this checker.";
    /// A limit: too many lenses.
    LimitLenses { lenses: usize, bytes: usize, limit: usize } = "limit.lenses",
        "The {lenses} lenses of the system take {bytes} bytes, more than {limit}, the limit of this checker.";
    /// A limit: too many cells.
    LimitCells { cells: u64, limit: u64 } = "limit.cells",
        "The box has {cells} cells or more, and this checker looks at {limit} in one step at most.";
    /// A limit: a join has too many sums or parts, or one of its pieces is too large.
    LimitJoin { what: &'static str, limit: u64 } = "limit.join",
        "The join takes more than {limit} {what}, the limit of this checker.";
    /// A limit: too many entries, or numbers too wide, for meeting in the middle.
    LimitMeet { entries: Option<usize> } = "limit.meet",
        "Meeting in the middle takes {}, the limit of this checker.",
        match entries {
            Some(entries) => format!("more than {entries} sums for one axis"),
            None => "numbers of more than 123 bits".to_owned(),
        };
    /// A limit: too many cuts.
    LimitCuts { cuts: usize, bytes: usize, limit: usize } = "limit.cuts",
        "The {cuts} cuts take {bytes} bytes, more than {limit}, the limit of this checker.";
    /// A limit: the caller ended the check before it was complete.
    Stopped = "limit.stopped",
        "The check was ended before it was done; nothing is wrong with the certificate as far as it was read.";
}
