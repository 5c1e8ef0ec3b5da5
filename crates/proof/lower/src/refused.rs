//! Why two models and a claim cannot be turned into problems, or a step has a number that means
//! nothing. Every reason has a code that never changes, the numbers that decided, and a sentence
//! that names them.
//!
//! **To add a reason** add one entry to the list at the end of this file: a doc comment, a name,
//! the data in braces (leave them out if there is no data), the code, and the sentence. The
//! sentence is a format string; it may use the data by name, and may be followed by expressions of
//! the data. The compiler warns about data that the sentence does not name. Then add the code to
//! section 8 of the specification, and a case to the corpus of `secateur-checker`; a test there
//! fails without it.

use std::fmt;

use secateur_certificate::Digest;
use secateur_model::{DomainError, LabelError, TwinError};

/// One of the two models that a certificate is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelRole {
    /// The model that was pruned.
    Original,
    /// The model that pruning produced.
    Pruned,
}

impl ModelRole {
    /// The original is model 0, the pruned model is model 1.
    pub fn of(index: usize) -> Self {
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

/// Makes an enum of reasons: each has a name that never changes (its code), and a sentence with the
/// numbers that decided.
#[doc(hidden)]
#[macro_export]
macro_rules! reasons {
    ($(#[$of_all:meta])* $all:ident: $($(#[$doc:meta])* $name:ident $({ $($field:ident: $type:ty),* $(,)? })? = $code:literal,
        $sentence:literal $(, $argument:expr)*;)*) => {
        $(#[$of_all])*
        #[derive(Clone, Debug, PartialEq)]
        #[non_exhaustive]
        #[allow(missing_docs, reason = "the sentence of each reason says what its fields are")]
        pub enum $all {
            $($(#[$doc])* $name $({ $($field: $type),* })?,)*
        }

        impl $all {
            /// The codes of all these reasons.
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

/// How many values of an input a sentence shows at most.
const SHOWN: usize = 16;

/// An input as text.
pub fn input_words(values: &[f64]) -> String {
    let shown: Vec<String> = values.iter().take(SHOWN).map(|value| format!("{value:?}")).collect();
    let more = if values.len() > SHOWN { format!(", ... ({} in all)", values.len()) } else { String::new() };
    format!("({}{more})", shown.join(", "))
}

/// The first 16 digits of a digest.
fn short(digest: &Digest) -> String {
    digest.to_string()[..16].to_owned()
}

/// A class that leads, or the absence of one.
fn leader(class: &Option<u32>) -> String {
    class.map_or_else(|| "no class".to_owned(), |class| format!("class {class}"))
}

reasons! {
    /// Why two models and a claim cannot be turned into problems, or a step has a number that means
    /// nothing. Steps, trees, columns, classes and points are counted from 0.
    Refused:
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
    /// The band is not a finite number of at least zero, or it is below the rounding of the
    /// original.
    ClaimBand { band: f64, smallest: f64 } = "claim.band",
        "The band of the claim, {band:e}, is not a finite number of at least {smallest:e}, the lead above which \
         rounding cannot change what the original decides.";
    /// A sum of one of the models may overflow, or its probabilities saturate, so that no band
    /// makes its decision certain.
    ClaimNoCertainMargin { model: ModelRole } = "claim.no_certain_margin",
        "A sum of {model} may overflow, or its probabilities saturate, so that no band makes its decision certain.";
    /// Rounding by input is claimed for a model that has no such bound.
    ClaimLocalRounding { exact: bool } = "claim.local_rounding",
        "The claim announces rounding by input, and {}.",
        if *exact { "is about exact arithmetic, where nothing is rounded" }
        else { "the pruned model has no such bound" };
    /// The limit of a claim about scores is not a finite number of at least zero.
    ClaimWithin { within: f64 } = "claim.within",
        "The scores are claimed to be at most {within:e} apart, which is not a finite number of at least 0.";
    /// The models have different numbers of scores.
    ClaimScoreCount { original: usize, pruned: usize } = "claim.score_count",
        "The original has {original} scores and the pruned model has {pruned}, so that they cannot be compared.";
    /// A sum may overflow, so there is no bound on how far a score is from the exact one.
    ClaimOverflow { model: ModelRole } = "claim.overflow",
        "A sum of {model} may leave the range of its number type, so that its scores have no bound on their rounding.";
    /// The models divide their scores by numbers that are too different to compare exactly.
    ClaimDivisors { original: f64, pruned: f64 } = "claim.divisors",
        "The scores are divided by {original:e} and by {pruned:e}, which are too far apart to be brought to one scale.";
    /// The claim has a cut that does not fit a model.
    ClaimCut { model: ModelRole, cut: f64 } = "claim.cut",
        "The claim is about class 1 from a score of {cut:?} on, and {model} has no such cut: a cut is a finite score with a \
         gap of at least zero, no negative zeros, of a model that compares one score with a threshold.";
    /// The claim's domain does not fit the models.
    ClaimDomain { error: DomainError } = "claim.domain",
        "The domain of the claim does not fit the models: {error}.";
    /// The claim's domain asks for the score of a model that was not given.
    ClaimWhere { digest: Box<Digest> } = "claim.where",
        "The claim is about inputs on which another model has certain scores, and that model is not given; its digest is \
         {digest}.";
    /// The limits of a claim about the range of scores are not those of outputs of the model.
    ClaimRange { output: u32, outputs: usize, limit: Option<f64> } = "claim.range",
        "The claim is about output {output} of {outputs}{}: outputs are counted from 0 and ascend, and each limit is a finite \
         number and no negative zero.",
        limit.map_or_else(String::new, |limit| format!(" and the limit {limit:?}"));
    /// The classes that a claim allows are not some of the model's.
    ClaimClass { allowed: Vec<u32>, classes: usize } = "claim.class",
        "The claim allows {} of the {classes} classes, first {:?}: they have to be some of the model's and not all, ascending.",
        allowed.len(), allowed.first().copied().unwrap_or_default();
    /// A row, the other row or the weights of a claim about inputs near a row do not fit the model and the
    /// domain.
    ClaimNear { columns: usize } = "claim.near",
        "The claim is about inputs that are nearer to a row than another row is, and they do not fit: both rows have to be inputs \
         of the model and of the domain, with a value for each of the {columns} columns, missing in the same ones, and so the domain \
         has to say of each column that a split reads whether it is missing; weights are finite and not negative.";
    /// The moved columns do not fit the model and its domain.
    ClaimMoves { error: TwinError } = "claim.moves",
        "The claim is about columns that change, and they do not fit: {error}.";
    /// A claim about the numbers of a library whose order of addition is free.
    ClaimTreewise = "claim.treewise",
        "The claim is about the very numbers that the library computes, and its file does not fix the order of addition, or a sum \
         may leave the range of its number type.";
    /// A step uses rounding by input, and the claim does not announce it.
    SystemSlack { winner: u32, other: u32 } = "system.slack",
        "The system of classes {winner} and {other} uses rounding by input, which the claim does not announce.";
    /// A cell satisfies every row, and the decisions differ there, in exact arithmetic or in the
    /// libraries.
    CellsSolution { input: Vec<f64>, winner: u32 } = "cells.solution",
        "At the input {} the original decides class {winner}, and the pruned model does not.", input_words(input);
    /// A cell satisfies every row, and the order of addition, which the file does not fix, may
    /// decide.
    CellsOrder { input: Vec<f64>, winner: u32 } = "cells.order_of_addition",
        "At the input {} the original decides class {winner}, and what the pruned model decides depends on what its file \
         does not fix, such as the order of addition.", input_words(input);
    /// The scores in a cell are too far apart, or may be, depending on bits that the files do not
    /// fix.
    CellsScore { input: Vec<f64>, output: usize, apart: f64, within: f64 } = "cells.score",
        "At the input {} the scores of output {output} are {apart:e} apart, or may be so by an order of addition that a \
         file does not fix, and the claim says at most {within:e}.", input_words(input);
    /// The score of a cell is beyond its limit, or may be, by bits that the file does not fix.
    CellsRange { input: Vec<f64>, output: usize, score: f64, limit: f64, below: bool } = "cells.range",
        "At the input {} the score of output {output} is {score:e}, or may be by an order of addition that the file does not \
         fix, and the claim says at {} {limit:e}.", input_words(input), if *below { "least" } else { "most" };
    /// The library decides a class in a cell that the claim does not allow, or may.
    CellsClass { input: Vec<f64>, class: u32 } = "cells.class",
        "At the input {} the library decides class {class}, or may do so by an order of addition that the file does not fix, \
         and the claim does not allow it.", input_words(input);
    /// A score falls (rises) from a cell to the next.
    CellsFalls { input: Vec<f64>, output: usize, falls: bool } = "cells.falls",
        "At the input {}, of which the last value is the higher one of the moved column, the exact score of output {output} {}.",
        input_words(input), if *falls { "rises" } else { "falls" };
    /// A tree's own part of the score is out of order.
    TreewiseTree { tree: usize, output: usize, falls: bool } = "treewise.tree",
        "Tree {tree} adds {} to output {output} for some higher value of the moved column.",
        if *falls { "more" } else { "less" };
    /// An input that is to be shown is none of the claim's.
    ShownInput { values: usize, columns: usize, output: u32 } = "shown.input",
        "The input that is shown for output {output} has {values} values for {columns} columns, or the model or the claim \
         leaves it out, or there is no such output.";
    /// A point does not have one value for each column, or the original does not accept one of
    /// them.
    PointValues { values: usize, columns: usize, unaccepted: Option<(usize, f64)> } = "point.values",
        "The point is no input of the original: {}.",
        match unaccepted {
            Some((column, value)) => format!("it does not accept {value:?} in column {column}, or the claim leaves it \
                out (the point has {values} values for {columns} columns)"),
            None => format!("it has {values} values for {columns} columns"),
        };
    /// Columns are given twice, or some tree of the original is not in exactly one of them.
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
    /// A family without an intercept is claimed for an original that has one.
    ColumnsIntercept { sum: usize, intercept: f64 } = "columns.intercept",
        "The family has no intercept, and sum {sum} of the original starts from {intercept:?}, so that the original is not \
         in the family.";
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
    /// No such point, or no such numeric feature.
    CrossingPoint { point: u32, points: usize, column: u32 } = "crossing.point",
        "{}.",
        if (*point as usize) < *points { format!("The crossing at point {point} is of column {column}, which is not \
            numeric or does not exist") }
        else { format!("The crossing of column {column} names point {point}, and {points} points have been given, \
            counted from 0") };
    /// A crossing does not have two different values in ascending order, as the original reads
    /// them.
    CrossingValues { column: u32, low: f64, high: f64 } = "crossing.values",
        "The crossing of column {column} goes from {low:?} to {high:?}, which are not two ascending values that the \
         original accepts and tells apart.";
    /// The original does not decide the two inputs differently, by more than the band.
    CrossingDecision { point: u32, column: u32, below: Option<u32>, above: Option<u32> } = "crossing.decision",
        "The crossing of column {column} at point {point} needs two classes that lead by more than the band: {} does at \
         the lower value and {} at the higher.", leader(below), leader(above);
    /// A limit: too many points.
    LimitPoints { values: usize, limit: usize } = "limit.points",
        "The points have {values} values, more than {limit}, the limit of this checker.";
}
