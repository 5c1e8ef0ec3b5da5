//! Why a certificate is not accepted: for every reason a code that never changes, the numbers that decided, and a
//! sentence that names them.
//!
//! **To add a reason** add one entry to the list at the end of this file: a doc comment, a name, the data in braces
//! (none where there is nothing to tell), the code, and the sentence. The sentence is a format string; it may use
//! the data by name, and expressions of them behind it. The compiler warns about data that the sentence does not
//! name. Then add the code to section 8 of the specification, and a case to `tests/it/corpus.rs`, which asks for one.

use std::fmt;

use secateur_certificate::Digest;
use secateur_model::{Cut, DomainError, LabelError};

/// One of the two models that a certificate is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelRole {
    /// The model that was pruned.
    Original,
    /// What came out.
    Pruned,
}

impl ModelRole {
    /// The original is model 0, the pruned model is model 1.
    pub(crate) fn of(index: usize) -> Self {
        if index == 0 { Self::Original } else { Self::Pruned }
    }
}

impl fmt::Display for ModelRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Original => "the original",
            Self::Pruned => "the pruned model",
        })
    }
}

macro_rules! reasons {
    ($($(#[$doc:meta])* $name:ident $({ $($field:ident: $type:ty),* $(,)? })? = $code:literal,
        $sentence:literal $(, $argument:expr)*;)*) => {
        /// Why a certificate is not accepted, with the numbers that decided. Steps, trees, columns, axes, cells,
        /// classes, lenses, points and cuts are counted from 0; `low..high` leaves `high` out.
        #[derive(Clone, Debug, PartialEq)]
        #[non_exhaustive]
        #[allow(missing_docs, reason = "the sentence of each reason says what its fields are")]
        pub enum Reason {
            $($(#[$doc])* $name $({ $($field: $type),* })?,)*
        }

        impl Reason {
            /// The codes of all reasons.
            pub const CODES: &[&str] = &[$($code,)*];

            /// A short name that stays the same from version to version.
            pub fn code(&self) -> &'static str {
                match self {
                    $(Self::$name { .. } => $code,)*
                }
            }

            /// What is wrong, as a sentence with the numbers that decided. Its wording may change.
            pub fn message(&self) -> String {
                match self {
                    $(Self::$name $({ $($field),* })? => format!($sentence $(, $argument)*),)*
                }
            }
        }
    };
}

impl Reason {
    /// Is nothing wrong as far as is known?
    pub fn is_incomplete(&self) -> bool {
        self.code() == "incomplete.declared" || self.code().starts_with("limit.")
    }

    /// The sentence, and behind it in parentheses the code and the step (none: the claim itself is refused).
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

/// How many values of an input a sentence shows.
const SHOWN: usize = 16;

/// An input as text.
fn row(values: &[f64]) -> String {
    let shown: Vec<String> = values.iter().take(SHOWN).map(|value| format!("{value:?}")).collect();
    let more = if values.len() > SHOWN { format!(", ... ({} in all)", values.len()) } else { String::new() };
    format!("({}{more})", shown.join(", "))
}

/// The first 16 digits of a digest.
fn short(digest: &Digest) -> String {
    digest.to_string()[..16].to_owned()
}

/// Where a claim about decisions cuts scores.
fn threshold_words(cuts: &Option<[Cut; 2]>) -> String {
    match cuts.map(|cuts| cuts.map(|cut| cut.score)) {
        None => "by the libraries' own rules".to_owned(),
        Some([first, second]) if first == second => format!("at a threshold (scores from {first:?} on)"),
        Some([first, second]) => format!("at a threshold (scores from {first:?} and {second:?} on)"),
    }
}

/// A class that leads, or the absence of one.
fn leader(class: &Option<u32>) -> String {
    class.map_or_else(|| "no class".to_owned(), |class| format!("class {class}"))
}

/// On which side of the original's scores.
fn side(below: bool) -> &'static str {
    if below { "below" } else { "above" }
}

reasons! {
    /// The certificate is for another original.
    DigestOriginal { claimed: Box<Digest>, found: Box<Digest> } = "digest.original",
        "The certificate is about another original: its digest begins with {}, that of the given one with {}.",
        short(claimed), short(found);
    /// The certificate is for another pruned model.
    DigestPruned { claimed: Box<Digest>, found: Box<Digest> } = "digest.pruned",
        "The certificate is about another pruned model: its digest begins with {}, that of the given one with {}.",
        short(claimed), short(found);
    /// The models have different numbers of columns.
    ClaimFeatures { original: usize, pruned: usize } = "claim.features",
        "The original has {original} columns and the pruned model has {pruned}.";
    /// The models are the last steps of pipelines whose earlier steps differ.
    ClaimSteps = "claim.steps",
        "The steps of the pipelines before their last ones are not the same, so the same input does not reach both models.";
    /// The models' category labels differ and cannot be matched.
    ClaimLabels { error: LabelError } = "claim.labels",
        "Category labels cannot be matched: {error}.";
    /// The models have different classes.
    ClaimClasses { original: usize, pruned: usize } = "claim.classes",
        "The {original} classes of the original and the {pruned} of the pruned model cannot be paired one to one by \
         their labels{}.",
        if *original == 0 || *pruned == 0 { " (a model without classes decides nothing)" } else { "" };
    /// The band is no finite number of at least zero, or below the rounding of the original.
    ClaimBand { band: f64, smallest: f64 } = "claim.band",
        "The band of the claim, {band:e}, is not a finite number of at least {smallest:e}, the lead above which \
         rounding cannot change what the original decides.";
    /// A sum of one of the models may overflow, or its probabilities saturate, so that no band makes its decision certain.
    ClaimNoCertainMargin { model: ModelRole } = "claim.no_certain_margin",
        "A sum of {model} may overflow, or its probabilities saturate, so that no band makes its decision certain.";
    /// Rounding by input is claimed where there is no such bound.
    ClaimLocalRounding { exact: bool } = "claim.local_rounding",
        "The claim announces rounding by input, and {}.",
        if *exact { "is about exact arithmetic, where nothing is rounded" }
        else { "the pruned model has no such bound" };
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
    /// The limit of a claim about scores is no finite number of at least zero.
    ClaimWithin { within: f64 } = "claim.within",
        "The scores are claimed to be at most {within:e} apart, which is not a finite number of at least 0.";
    /// The models have different numbers of scores.
    ClaimScoreCount { original: usize, pruned: usize } = "claim.score_count",
        "The original has {original} scores and the pruned model has {pruned}, so that they cannot be compared.";
    /// A sum may overflow, so that no score is near to the exact one.
    ClaimOverflow { model: ModelRole } = "claim.overflow",
        "A sum of {model} may leave the range of its number type, so that its scores have no bound on their rounding.";
    /// Scores that are divided by numbers too different to compare.
    ClaimDivisors { original: f64, pruned: f64 } = "claim.divisors",
        "The scores are divided by {original:e} and by {pruned:e}, which are too far apart to be brought to one scale.";
    /// A claim about decisions was asked for, and this one is about scores, or the other way round.
    ClaimKindAsked { about_scores: bool } = "claim.kind_asked",
        "The certificate is about {}, and a claim about {} was asked for.",
        if *about_scores { "how far scores are apart" } else { "decisions" },
        if *about_scores { "decisions" } else { "scores" };
    /// A cut that a model cannot be looked at with.
    ClaimCut { model: ModelRole, cut: f64 } = "claim.cut",
        "The claim is about class 1 from a score of {cut:?} on, and {model} has no such cut: a cut is a finite score with a \
         gap of at least zero, no negative zeros, of a model that compares one score with a threshold.";
    /// The claim is about decisions at another threshold than was asked for.
    ClaimThresholdAsked { claimed: Option<[Cut; 2]>, asked: Option<[Cut; 2]> } = "claim.threshold_asked",
        "The certificate is about decisions {}, and a claim about decisions {} was asked for.",
        threshold_words(claimed), threshold_words(asked);
    /// The scores of the claim may be farther apart than what was asked for.
    ClaimWithinAsked { claimed: f64, asked: f64 } = "claim.within_asked",
        "The certificate proves that scores are at most {claimed:e} apart, and at most {asked:e} was asked for.";
    /// The claim's domain does not fit the models.
    ClaimDomain { error: DomainError } = "claim.domain",
        "The domain of the claim does not fit the models: {error}.";
    /// The claim's domain asks for the score of a model that was not given.
    ClaimWhere { digest: Box<Digest> } = "claim.where",
        "The claim is about inputs on which another model has certain scores, and that model is not given; its digest is \
         {digest}.";
    /// The claim leaves out inputs, and one about every input was asked for.
    ClaimScopeAsked { inputs: String } = "claim.scope_asked",
        "A claim about every input was asked for, and this one is about fewer: {inputs}.";
    /// The claim's domain does not hold the one that was asked for.
    ClaimDomainAsked { why: String } = "claim.domain_asked",
        "A claim about a domain was asked for that is not within the one of this claim: {why}.";
    /// A step of this kind has no place here.
    OrderUnexpected { found: &'static str, place: &'static str } = "order.unexpected",
        "A step of the kind {found} has no place {place}.";
    /// A stack names a tree that does not exist.
    StackTree { model: ModelRole, tree: u32, trees: usize } = "stack.tree",
        "A stack names tree {tree} of {model}, which has {trees} trees, counted from 0.";
    /// A tree is in two stacks.
    StackTwice { model: ModelRole, tree: u32 } = "stack.twice",
        "Tree {tree} of {model} is in two stacks.";
    /// A stack has no trees.
    StackEmpty = "stack.empty",
        "The stack names no tree of either model.";
    /// Not the next pair of classes.
    SystemPair { winner: u32, other: u32, expected: Option<(u32, u32)> } = "system.pair",
        "The system is that of classes {winner} and {other}, and {}.",
        match expected {
            Some((winner, other)) => format!("the one of {winner} and {other} comes next"),
            None => "all systems have been there".to_owned(),
        };
    /// Rounding by input where the claim does not announce it.
    SystemSlack { winner: u32, other: u32 } = "system.slack",
        "The system of classes {winner} and {other} uses rounding by input, which the claim does not announce.";
    /// Not the next output, or not its next side.
    SystemOutput { output: u32, below: bool, expected: Option<(usize, bool)> } = "system.output",
        "The system is that of scores {} the original's of output {output}, and {}.", side(*below),
        match expected {
            Some((output, below)) => format!("the one of scores {} those of output {output} comes next", side(*below)),
            None => "all systems have been there".to_owned(),
        };
    /// A lens that has not one multiplier for each row.
    LensRows { multipliers: usize, rows: usize } = "lens.rows",
        "The lens has {multipliers} multipliers, and the system has {rows} rows.";
    /// No such lens.
    LensUnknown { lens: u32, lenses: u32 } = "lens.unknown",
        "The step names lens {lens}, and the system has {lenses} lenses, counted from 0.";
    /// No such axis.
    BoxAxis { axis: u32, axes: usize } = "box.axis",
        "The step names axis {axis}, and the grid has {axes} axes, counted from 0.";
    /// A range that does not leave a part of the box, and less than all of it.
    BoxRange { axis: u32, low: u32, high: u32, box_low: u32, box_high: u32 } = "box.range",
        "Cells {low}..{high} of axis {axis} are not a part of the box's cells {box_low}..{box_high}, non-empty and less \
         than all of them.";
    /// The part that is cut off is not closed by the lens.
    NarrowBound { lens: u32, axis: u32, low: u32, high: u32, reached: i128, bound: i128, unit: i64 } =
        "narrow.bound_not_met",
        "Lens {lens} does not close cells {low}..{high} of axis {axis}: the sum of the pieces' largest values there, \
         {reached}, is not below the bound {bound} (in units of 2^{unit}).";
    /// The box is not closed by the lens.
    CloseBound { lens: u32, reached: i128, bound: i128, unit: i64 } = "close.bound_not_met",
        "Lens {lens} does not close the box: the sum of the pieces' largest values, {reached}, is not below the bound \
         {bound} (in units of 2^{unit}).";
    /// A cell satisfies every row, and in exact arithmetic or in the library the decision differs.
    CellsSolution { input: Vec<f64>, winner: u32 } = "cells.solution",
        "At the input {} the original decides class {winner}, and the pruned model does not.", row(input);
    /// A cell satisfies every row, and what the file does not fix (the order of addition) may decide.
    CellsOrder { input: Vec<f64>, winner: u32 } = "cells.order_of_addition",
        "At the input {} the original decides class {winner}, and what the pruned model decides depends on what its file \
         does not fix, such as the order of addition.", row(input);
    /// A cell's scores are too far apart, or may be by what the files do not fix.
    CellsScore { input: Vec<f64>, output: usize, apart: f64, within: f64 } = "cells.score",
        "At the input {} the scores of output {output} are {apart:e} apart, or may be so by an order of addition that a \
         file does not fix, and the claim says at most {within:e}.", row(input);
    /// A join of a row that does not exist, or of the last one with itself.
    JoinRow { row: u32, rows: usize } = "join.row",
        "A join of row {row} with the last one needs a row before it, and the system has {rows} rows, counted from 0.";
    /// A fixed axis that does not exist.
    JoinAxis { axis: u32, axes: usize } = "join.axis",
        "The join fixes axis {axis}, and the grid has {axes} axes, counted from 0.";
    /// Two halves of a box meet in a part where not all cells are alike, or where a cell satisfies every row and in
    /// exact arithmetic or in the library the decision differs.
    JoinSolution { input: Vec<f64>, winner: u32, alike: bool } = "join.solution",
        "The two halves of the box meet at the input {}: {}.", row(input),
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
    /// The two halves meet: there is a solution.
    MeetSolution { reached: (i128, i128), bounds: (i128, i128), unit: i64 } = "meet.solution",
        "The two halves meet: together they reach {} where the first row asks for {}, and {} where the second asks for \
         {} (in units of 2^{unit}).", reached.0, bounds.0, reached.1, bounds.1;
    /// A point has not one value for each column, or a value that the original does not accept.
    PointValues { values: usize, columns: usize, unaccepted: Option<(usize, f64)> } = "point.values",
        "The point is no input of the original: {}.",
        match unaccepted {
            Some((column, value)) => format!("it does not accept {value:?} in column {column}, or the claim leaves it \
                out (the point has {values} values for {columns} columns)"),
            None => format!("it has {values} values for {columns} columns"),
        };
    /// Columns are given twice, or not every tree of the original is in exactly one of them.
    ColumnsTree { tree: Option<u32>, times: usize, trees: usize } = "columns.tree",
        "{}.",
        match tree {
            None => format!("The columns of the original's {trees} trees are given {times} times"),
            Some(tree) if *tree as usize >= *trees => {
                format!("A column names tree {tree} of the original, which has {trees} trees, counted from 0")
            }
            Some(tree) => format!("Tree {tree} is in {times} columns; each of the original's {trees} trees, counted \
                from 0, belongs in exactly one"),
        };
    /// A family without an intercept, of an original that has one.
    ColumnsIntercept { sum: usize, intercept: f64 } = "columns.intercept",
        "The family has no intercept, and sum {sum} of the original starts from {intercept:?}, so that the original is not \
         in the family.";
    /// A cut without terms says nothing.
    CutEmpty = "cut.empty",
        "The cut has no terms.";
    /// No such point.
    CutPoint { point: u32, points: usize } = "cut.point",
        "The cut names point {point}, and {points} points have been given, counted from 0.";
    /// No such pair of classes.
    CutClasses { winner: u32, other: u32, classes: usize } = "cut.classes",
        "Classes {winner} and {other} are no pair of two different ones of the {classes} classes, counted from 0.";
    /// The original does not lead by more than the band at this point.
    CutLead { point: u32, winner: u32, leads: Option<u32> } = "cut.lead",
        "The cut says that class {winner} leads by more than the band at point {point}, where {} does.", leader(leads);
    /// A multiplier of zero.
    CutMultiplier { point: u32 } = "cut.multiplier",
        "The multiplier of point {point} is 0.";
    /// The intercept could satisfy the cut by itself.
    CutIntercept { part: String, left: String } = "cut.intercept",
        "The cut leaves {left} times {part}, so that constants could satisfy it without any column.";
    /// Not one cost for each column.
    CoverCosts { costs: usize, items: usize } = "cover.costs",
        "The cover has {costs} costs for {items} items.";
    /// No such column, or one that is decided already.
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
    /// No such point, or no such numeric feature.
    CrossingPoint { point: u32, points: usize, column: u32 } = "crossing.point",
        "{}.",
        if (*point as usize) < *points { format!("The crossing at point {point} is of column {column}, which is not \
            numeric or does not exist") }
        else { format!("The crossing of column {column} names point {point}, and {points} points have been given, \
            counted from 0") };
    /// Not two different values in ascending order, as the original reads them.
    CrossingValues { column: u32, low: f64, high: f64 } = "crossing.values",
        "The crossing of column {column} goes from {low:?} to {high:?}, which are not two ascending values that the \
         original accepts and tells apart.";
    /// The original does not decide the two inputs differently, by more than the band.
    CrossingDecision { point: u32, column: u32, below: Option<u32>, above: Option<u32> } = "crossing.decision",
        "The crossing of column {column} at point {point} needs two classes that lead by more than the band: {} does at \
         the lower value and {} at the higher.", leader(below), leader(above);
    /// Two crossings of one feature overlap.
    CrossingOverlap { column: u32, low: f64, high: f64 } = "crossing.overlap",
        "The crossing of column {column} from {low:?} to {high:?} overlaps another one of that column.";
    /// A system or a case is not proved.
    EndMissing { proved: u64, systems: u64, cover_open: bool } = "end.missing",
        "The certificate ends with {proved} of {systems} systems proved{}.",
        if *cover_open { " and a cover that is not done" } else { "" };
    /// The certificate says itself that it is not complete.
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
    /// A limit: too many sums or parts to look at in a join, or a piece that is too large for one.
    LimitJoin { what: &'static str, limit: u64 } = "limit.join",
        "The join takes more than {limit} {what}, the limit of this checker.";
    /// A limit: too many entries, or numbers too wide, for meeting in the middle.
    LimitMeet { entries: Option<usize> } = "limit.meet",
        "Meeting in the middle takes {}, the limit of this checker.",
        match entries {
            Some(entries) => format!("more than {entries} sums for one axis"),
            None => "numbers of more than 123 bits".to_owned(),
        };
    /// A limit: too many points.
    LimitPoints { values: usize, limit: usize } = "limit.points",
        "The points have {values} values, more than {limit}, the limit of this checker.";
    /// A limit: too many cuts.
    LimitCuts { cuts: usize, bytes: usize, limit: usize } = "limit.cuts",
        "The {cuts} cuts take {bytes} bytes, more than {limit}, the limit of this checker.";
    /// A limit: whoever asked for the check has ended it before it was done.
    Stopped = "limit.stopped",
        "The check was ended before it was done; nothing is wrong with the certificate as far as it was read.";
}
