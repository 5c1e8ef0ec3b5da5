//! What a page is made from: plain data, with texts as they are in the files.

/// Everything that the page says about one run.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// How the run ended.
    pub outcome: Outcome,
    /// `secateur 0.2.0`.
    pub version: String,
    /// When the page was made, in words; empty where that is not told.
    pub date: String,
    /// The original and the pruned model, or the two that were compared.
    pub models: [Model; 2],
    /// What is proved, or was asked.
    pub claim: Claim,
    /// Nobody can do with fewer trees; `None` where nothing is known (a comparison).
    pub lower_bound: Option<usize>,
    /// Is the size after the smallest there is, proved?
    pub minimal: bool,
    /// What became of each tree of the original, in its order; empty for a comparison.
    pub trees: Vec<TreeFate>,
    /// How much each tree of the original moves the score, before and after; empty for a comparison.
    pub spreads: Vec<Spread>,
    /// The columns that some split of the original looks at; empty for a comparison.
    pub features: Vec<Feature>,
    /// Why trees must stay.
    pub evidence: Evidence,
    /// An input on which the models differ.
    pub counterexample: Option<Counterexample>,
    /// What is known of the scores, where these were compared and not the decisions.
    pub scores: Option<Scores>,
    /// How the run went.
    pub run: Run,
    /// The proof as a file.
    pub certificate: Option<Certificate>,
    /// What was left open, one sentence each.
    pub undecided: Vec<String>,
    /// What the proof does not say, one sentence each.
    pub not_certified: Vec<String>,
    /// What a reader should know besides, one sentence each.
    pub notes: Vec<String>,
    /// The choices of the run: flag and value.
    pub settings: Vec<(String, String)>,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Outcome {
    /// Pruned: smaller, and proved to decide the same.
    Reduced,
    /// Pruned: nothing can go, proved.
    AlreadyMinimal,
    /// Pruned: the budget ended; the best model proved by then.
    BudgetReached,
    /// Compared: they decide alike, proved.
    Identical,
    /// Compared: they differ.
    Different,
    /// Scores compared: at most as far apart as was asked, proved.
    Within,
    /// Scores compared: an input exceeds the limit.
    Exceeds,
    /// Scores compared without a limit: how far they can be apart.
    Measured,
    /// Compared: not known.
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
    /// Distinct splits: column and place.
    pub splits: usize,
    /// Columns that some split looks at.
    pub features_used: usize,
    /// Bytes of the file.
    pub bytes: u64,
    /// What the file is known by, such as its digest: a name and a value each.
    pub digests: Vec<(String, String)>,
    /// Measured prediction.
    pub timing: Option<Timing>,
    /// Are its scores f32 numbers? They are then printed as such.
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
    /// The claim is about exact sums, and not about what a library's rounding makes of them.
    pub exact: bool,
    /// What the given rows say of the band, in words.
    pub rows: Option<String>,
    /// The probabilities inside the band, for logistic models.
    pub probability: Option<[f64; 2]>,
    /// The probability of the second class that decisions are looked at with, in place of the library's own rule.
    pub threshold: Option<f64>,
    /// Which inputs, in words: `every f32 number, missing values, in every column`.
    pub inputs: String,
    /// What the claim is limited to, where it leaves out inputs that both models accept: `every input of the domain`.
    pub limited_to: Option<String>,
    /// How columns of the two models were matched, in words, where that was a question.
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
    /// Had the splits of this tree, and became one with it.
    Merged(usize),
    /// Its regions are unions of regions of this tree, which took over its values.
    Absorbed(usize),
    /// Added the same number everywhere; went into the intercept.
    Constant,
    /// None of its splits changes a decision anywhere.
    Irrelevant,
    /// The other trees, reweighted, decide the same without it.
    Eliminated,
}

/// How much a tree moves the score: its largest leaf less its smallest, weight included.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spread {
    /// In the original.
    pub before: f64,
    /// In the pruned model; 0 where the tree is gone.
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

/// A place where some tree of the original tells inputs apart.
#[derive(Clone, Debug)]
pub struct Split {
    /// `< 0.5`, `in {red, green}`.
    pub place: String,
    /// What became of it.
    pub fate: SplitFate,
}

/// What became of a split.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SplitFate {
    /// In the pruned model.
    Kept,
    /// In the pruned model, and a decision is known that depends on it.
    Relevant,
    /// Not in the pruned model: crossing it changes no decision (this follows from the proof).
    Irrelevant,
}

/// Why trees must stay.
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    /// How many trees are proved indispensable.
    pub indispensable_trees: usize,
    /// How many splits change a decision somewhere.
    pub relevant_splits: usize,
    /// Examples.
    pub examples: Vec<Indispensable>,
}

/// A tree or split that must stay, and inputs that show it.
#[derive(Clone, Debug)]
pub struct Indispensable {
    /// The tree of the original, where it is about one.
    pub tree: Option<usize>,
    /// Why, in a sentence.
    pub reason: String,
    /// How many inputs the argument needs.
    pub rows_needed: usize,
    /// Some of them.
    pub rows: Vec<ExampleRow>,
}

/// An input and what the original says there.
#[derive(Clone, Debug, Default)]
pub struct ExampleRow {
    /// The columns that matter.
    pub values: Vec<Value>,
    /// The class that the original decides for.
    pub class: String,
    /// By how much its winner leads.
    pub lead: f64,
}

/// A column's name and what stands in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Value {
    /// The column.
    pub feature: String,
    /// The number or label, printed so that it parses back; `missing`.
    pub value: String,
}

/// An input on which the models differ.
#[derive(Clone, Debug, Default)]
pub struct Counterexample {
    /// The columns that some split looks at.
    pub values: Vec<Value>,
    /// How many columns no split looks at.
    pub unused: usize,
    /// What each model decides.
    pub classes: [String; 2],
    /// Each model's raw scores.
    pub scores: [Vec<f64>; 2],
    /// Do the libraries themselves differ, or only exact arithmetic?
    pub in_libraries: bool,
    /// The row of the table that it is near to.
    pub near: Option<Near>,
}

/// How far the scores of two models can be apart.
#[derive(Clone, Debug, Default)]
pub struct Scores {
    /// The limit that was asked about.
    pub within: Option<f64>,
    /// They are nowhere farther apart, rounding included; `None` where nothing is proved.
    pub at_most: Option<f64>,
    /// What rounding has added to that.
    pub rounding: Option<f64>,
    /// The greatest distance of the exact scores is known.
    pub ended: bool,
    /// What `at_most` means for probabilities.
    pub probability: Option<f64>,
    /// Which scores, in words.
    pub what: String,
    /// An input whose scores are far apart.
    pub shown: Option<ScoreInput>,
}

/// An input and the scores of two models.
#[derive(Clone, Debug, Default)]
pub struct ScoreInput {
    /// The columns that some split looks at.
    pub values: Vec<Value>,
    /// How many columns no split looks at.
    pub unused: usize,
    /// Which output, where there are several.
    pub output: Option<String>,
    /// What each model says.
    pub scores: [f64; 2],
    /// How far that is apart, rounded down.
    pub distance: f64,
    /// The same for inputs that differ in one column, those first where it matters most.
    pub along: Vec<Along>,
}

/// How far scores are apart as one column of an input goes through its values.
#[derive(Clone, Debug, Default)]
pub struct Along {
    /// The column.
    pub feature: String,
    /// Distances, in the order of the column's values; a missing value comes last.
    pub distances: Vec<f64>,
    /// The place of the input's own value.
    pub here: usize,
    /// A value of the first and of the last place.
    pub ends: [String; 2],
}

/// A row of the user's table.
#[derive(Clone, Debug, Default)]
pub struct Near {
    /// The number of the row, from 1.
    pub row: usize,
    /// The columns that differ, where they are known by name.
    pub changed: usize,
}

/// How a run went.
#[derive(Clone, Debug, Default)]
pub struct Run {
    /// From start to end.
    pub seconds: f64,
    /// Where the time went, in the order of the work.
    pub phases: Vec<Phase>,
    /// How often the oracle was asked; `None` for a comparison.
    pub oracle_calls: Option<u64>,
    /// Inputs that the solver looked at; `None` for a comparison.
    pub points: Option<u64>,
    /// Boxes that the search looked at.
    pub boxes: Option<u64>,
    /// What was known when, in order of time.
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
    /// Trees of the candidate that was being judged.
    pub candidate: Option<usize>,
    /// Nobody can do with fewer.
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
