//! The input of a page: plain data, with texts exactly as they are in the files.

/// Everything that the page says about one run.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// How the run ended.
    pub outcome: Outcome,
    /// The program and its version, such as `secateur 0.2.0`.
    pub version: String,
    /// When the page was made, in words; empty if it is not stated.
    pub date: String,
    /// The original and the pruned model, or the two that were compared.
    pub models: [Model; 2],
    /// What is proved, or was asked.
    pub claim: Claim,
    /// No model within the allowed moves has fewer trees than this; `None` if nothing is known (a
    /// comparison).
    pub lower_bound: Option<usize>,
    /// Is it proved that no model within the allowed moves is smaller?
    pub minimal: bool,
    /// What became of each tree of the original, in its order; empty for a comparison.
    pub trees: Vec<TreeFate>,
    /// How much each tree of the original moves the score, before and after; empty for a
    /// comparison.
    pub spreads: Vec<Spread>,
    /// The columns that some split of the original uses; empty for a comparison.
    pub features: Vec<Feature>,
    /// Why trees must stay.
    pub evidence: Evidence,
    /// An input on which the models differ.
    pub counterexample: Option<Counterexample>,
    /// The comparison of scores, if scores were compared and not decisions.
    pub scores: Option<Scores>,
    /// How the run went.
    pub run: Run,
    /// The proof as a file.
    pub certificate: Option<Certificate>,
    /// Questions that were left open, one sentence each.
    pub undecided: Vec<String>,
    /// What the proof does not cover, one sentence each.
    pub not_certified: Vec<String>,
    /// Other facts that a reader should know, one sentence each.
    pub notes: Vec<String>,
    /// The settings of the run: flag and value.
    pub settings: Vec<(String, String)>,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Outcome {
    /// Pruned: smaller, and proved to decide the same.
    Reduced,
    /// Pruned: it is proved that no tree can be removed.
    AlreadyMinimal,
    /// Pruned: the budget ended, and this is the best model proved by then.
    BudgetReached,
    /// Compared: it is proved that the two decide alike.
    Identical,
    /// Compared: they differ.
    Different,
    /// Scores compared: it is proved that they are at most as far apart as was asked.
    Within,
    /// Scores compared: an input exceeds the limit.
    Exceeds,
    /// Scores compared without a limit: how far they can be apart.
    Measured,
    /// Compared: the answer is not known.
    #[default]
    Undecided,
}

impl Outcome {
    /// Was a model pruned (rather than two compared)?
    pub fn is_pruning(self) -> bool {
        matches!(self, Self::Reduced | Self::AlreadyMinimal | Self::BudgetReached)
    }
}

/// One of the two models.
#[derive(Clone, Debug, Default)]
pub struct Model {
    /// The path as given.
    pub file: String,
    /// `XGBoost 3.4, JSON`.
    pub framework: String,
    /// Trees.
    pub trees: usize,
    /// Leaves.
    pub leaves: usize,
    /// Distinct splits: combinations of column and threshold or category set.
    pub splits: usize,
    /// Columns that some split uses.
    pub features_used: usize,
    /// Bytes of the file.
    pub bytes: u64,
    /// Identifications of the file, such as its digest: a name and a value each.
    pub digests: Vec<(String, String)>,
    /// Measured prediction.
    pub timing: Option<Timing>,
    /// Are its scores f32 numbers? If so, they are printed as such.
    pub single_precision: bool,
}

/// Measured prediction of one model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timing {
    /// Seconds for each row.
    pub seconds_per_row: f64,
    /// Rows that were predicted.
    pub rows: u64,
}

/// What is proved, or was asked.
#[derive(Clone, Debug, Default)]
pub struct Claim {
    /// The first model's winner leads by more than this; 0 for exact arithmetic.
    pub band: f64,
    /// Is the claim about exact sums, and not about a library's rounded ones?
    pub exact: bool,
    /// What the smaller model does not keep, such as probabilities, in words.
    pub not_kept: Option<String>,
    /// Counts of the given rows inside the band, in words.
    pub rows: Option<String>,
    /// The probabilities at the ends of the band, for logistic models.
    pub probability: Option<[f64; 2]>,
    /// The probability of the second class at which decisions are made, if it is not the library's
    /// own rule.
    pub threshold: Option<f64>,
    /// The inputs of the claim, in words: `every f32 number, missing values, in every column`.
    pub inputs: String,
    /// The restriction of the claim, if it leaves out inputs that both models accept:
    /// `every input of the domain`.
    pub limited_to: Option<String>,
    /// How columns of the two models were matched, in words, if they had to be.
    pub matching: Option<String>,
    /// The classes' names, in the model's order.
    pub classes: Vec<String>,
}

/// What became of one tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TreeFate {
    /// In the pruned model, leaf for leaf.
    Kept,
    /// In the pruned model with other leaf values.
    Reweighted,
    /// Had the same splits as this tree; the two became one tree.
    Merged(usize),
    /// Its regions are unions of regions of this other tree, which took over its values.
    Absorbed(usize),
    /// Added the same number everywhere, which was moved into the intercept.
    Constant,
    /// None of its splits changes a decision anywhere.
    Irrelevant,
    /// The other trees, reweighted, decide the same without it.
    Eliminated,
}

/// How much a tree can move the score: its largest leaf minus its smallest, times its weight.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spread {
    /// In the original.
    pub before: f64,
    /// In the pruned model; 0 if the tree was removed.
    pub after: f64,
}

/// A column and the splits on it.
#[derive(Clone, Debug, Default)]
pub struct Feature {
    /// Its name.
    pub name: String,
    /// Its splits in ascending order.
    pub splits: Vec<Split>,
}

/// A split of the original: a place where some tree tells inputs apart.
#[derive(Clone, Debug)]
pub struct Split {
    /// Its test, such as `< 0.5` or `in {red, green}`.
    pub place: String,
    /// What became of it.
    pub fate: SplitFate,
}

/// What became of a split.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SplitFate {
    /// The pruned model still has it.
    Kept,
    /// The pruned model still has it, and a decision is known that depends on it.
    Relevant,
    /// The pruned model does not have it: crossing it changes no decision (this follows from the
    /// proof).
    Irrelevant,
}

/// Why trees must stay.
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    /// How many trees are proved indispensable.
    pub indispensable_trees: usize,
    /// How many splits are known to change a decision somewhere.
    pub relevant_splits: usize,
    /// Examples.
    pub examples: Vec<Indispensable>,
}

/// A tree or split that must stay, and inputs that show it.
#[derive(Clone, Debug)]
pub struct Indispensable {
    /// The tree of the original, if this is about a tree.
    pub tree: Option<usize>,
    /// The reason, in a sentence.
    pub reason: String,
    /// How many inputs the argument needs.
    pub rows_needed: usize,
    /// Some of them.
    pub rows: Vec<ExampleRow>,
}

/// An input and the original's decision there.
#[derive(Clone, Debug, Default)]
pub struct ExampleRow {
    /// The columns that are shown.
    pub values: Vec<Value>,
    /// The class that the original decides for.
    pub class: String,
    /// How far its winner leads.
    pub lead: f64,
}

/// A column and its value in a row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Value {
    /// The column.
    pub feature: String,
    /// The number or label, printed so that it parses back; `missing` for a missing value.
    pub value: String,
}

/// An input on which the models differ.
#[derive(Clone, Debug, Default)]
pub struct Counterexample {
    /// The columns that some split uses.
    pub values: Vec<Value>,
    /// How many columns no split uses.
    pub unused: usize,
    /// Each model's decision.
    pub classes: [String; 2],
    /// Each model's raw scores.
    pub scores: [Vec<f64>; 2],
    /// Do the libraries themselves differ, or only the results in exact arithmetic?
    pub in_libraries: bool,
    /// The row of the table that this input is near to.
    pub near: Option<Near>,
}

/// How far the scores of two models can be apart.
#[derive(Clone, Debug, Default)]
pub struct Scores {
    /// The limit that was asked about.
    pub within: Option<f64>,
    /// A proved bound on their distance on all inputs, rounding included; `None` if nothing is
    /// proved.
    pub at_most: Option<f64>,
    /// The part of that bound that comes from rounding.
    pub rounding: Option<f64>,
    /// Is the greatest distance of the exact scores known?
    pub ended: bool,
    /// The bound that `at_most` implies for probabilities.
    pub probability: Option<f64>,
    /// Which scores were compared, in words.
    pub what: String,
    /// An input whose scores are far apart.
    pub shown: Option<ScoreInput>,
}

/// An input and the scores of two models.
#[derive(Clone, Debug, Default)]
pub struct ScoreInput {
    /// The columns that some split uses.
    pub values: Vec<Value>,
    /// How many columns no split uses.
    pub unused: usize,
    /// The output that is compared, if there are several.
    pub output: Option<String>,
    /// Each model's score.
    pub scores: [f64; 2],
    /// How far apart they are, rounded down.
    pub distance: f64,
    /// The distances for inputs that differ in one column; columns with the largest change come
    /// first.
    pub along: Vec<Along>,
}

/// How far scores are apart as one column of an input takes different values.
#[derive(Clone, Debug, Default)]
pub struct Along {
    /// The column.
    pub feature: String,
    /// Distances, in the order of the column's values; a missing value comes last.
    pub distances: Vec<f64>,
    /// The index of the input's own value.
    pub here: usize,
    /// The column's value at the first and at the last index.
    pub ends: [String; 2],
}

/// A row of the user's table.
#[derive(Clone, Debug, Default)]
pub struct Near {
    /// The number of the row, from 1.
    pub row: usize,
    /// How many columns differ.
    pub changed: usize,
}

/// How a run went.
#[derive(Clone, Debug, Default)]
pub struct Run {
    /// Its duration in seconds.
    pub seconds: f64,
    /// Where the time went, in the order of the work.
    pub phases: Vec<Phase>,
    /// How often the oracle was asked; `None` for a comparison.
    pub oracle_calls: Option<u64>,
    /// Inputs that the solver used; `None` for a comparison.
    pub points: Option<u64>,
    /// Boxes that the search visited.
    pub boxes: Option<u64>,
    /// The sizes that were known, in order of time.
    pub history: Vec<Moment>,
}

/// A part of the work.
#[derive(Clone, Debug, Default)]
pub struct Phase {
    /// Its name.
    pub name: String,
    /// How long it took.
    pub seconds: f64,
}

/// What was known at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moment {
    /// Seconds since the start.
    pub seconds: f64,
    /// Inputs that the solver knew.
    pub points: u64,
    /// Trees of the best proved model.
    pub best: usize,
    /// Trees of the candidate that was being checked.
    pub candidate: Option<usize>,
    /// The proved lower bound on the number of trees.
    pub lower_bound: usize,
}

/// The proof as a file.
#[derive(Clone, Debug, Default)]
pub struct Certificate {
    /// The path as given.
    pub file: String,
    /// Its size.
    pub bytes: u64,
    /// Did the independent checker accept it in this run?
    pub checked: bool,
}
