//! Flags and help of `prune`.

use std::convert::Infallible;
use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use secateur::{
    Effort,
    prune::{Choice, Moves, Objective, Unit},
};

use super::Inputs;
use crate::table::Reading;
use crate::verify::{BandArgument, LimitOrNone};

/// Write a smaller model that decides the same on every input, or keeps its scores up to a distance, proved
#[derive(Debug, Args)]
#[command(after_help = "\
The pruned model has MODEL's own format and dialect, and its library loads it as any other. What is proved is about the \
file as written: wherever the original's winner leads by more than the band, the library loading OUT decides as the \
library loading MODEL, on every input that it accepts. With --no-missing the claim is about every input without missing \
values; more trees can often go then. OUT is written whole or not at all.

What is kept are decisions: scores and probabilities change, and --data TABLE measures by how much. Where these are used \
(ranking, calibration, soft voting, stacking), --keep scores keeps them up to the library's rounding, --within EPS up to \
EPS, and `secateur pack` keeps every bit. Where you compare probabilities with a number of your own, --threshold keeps those \
decisions, and only those.

The exit code is 0 when the work is done, and 3 when the time limit came first: OUT then holds the best model that was \
proved by that time. After Ctrl-C it is 130 (143 after SIGTERM, 129 after SIGHUP), with the same file. What is not \
proved is never written, unless --method asks for it.

Examples:
  secateur prune model.json -o pruned.json
  secateur prune model.txt -o pruned.txt --effort minimum --time-limit 10m

  Start from real rows:
    secateur prune model.txt -o pruned.txt --data table.csv --target label

  Keep scores up to 0.05, of a regressor for example:
    secateur prune model.json -o pruned.json --within 0.05

  You decide at a probability of 0.3, and not at 0.5:
    secateur prune model.json -o pruned.json --threshold 0.3

  No input will have a missing value:
    secateur prune forest.skops -o pruned.skops --no-missing

  A baseline of the paper, which changes decisions:
    secateur prune model.txt -o small.txt --method ic --size 20 \\
        --data table.csv --target label --accept-unproved

  The paper's pruner on the rows of a table alone, which may change decisions:
    secateur prune model.txt -o small.txt --method rows \\
        --data table.csv --target label --accept-unproved")]
pub(crate) struct Prune {
    /// The model file
    pub(crate) model: PathBuf,

    /// Write the pruned model to this file, whole or not at all
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: PathBuf,

    /// Start from the rows of this table (CSV, Parquet or Arrow), and compare both models on them at the end. The guarantee is
    /// about every input, with or without rows. With --no-missing, rows with missing values do not count
    #[arg(short, long, value_name = "TABLE")]
    pub(crate) data: Option<PathBuf>,

    /// A column of the table that is not an input of the model. Where it holds the rows' classes and these are two, the
    /// area under the ROC curve (AUC) is measured before and after
    #[arg(long, value_name = "NAME")]
    pub(crate) target: Option<String>,

    #[command(flatten)]
    pub(crate) reading: Reading,

    /// How far to go for a smaller model
    #[arg(long, value_parser = choice::<Effort>(), default_value = "thorough")]
    pub(crate) effort: Effort,

    /// What is made as small as possible
    #[arg(long, value_parser = choice::<Objective>(), default_value = "trees")]
    pub(crate) objective: Objective,

    /// What may change in the model
    #[arg(long, value_parser = choice::<Moves>(), default_value = "leaves")]
    pub(crate) moves: Moves,

    /// What gets a weight of its own. The default is round with --moves weights, and tree otherwise
    #[arg(long, value_parser = choice::<Unit>(), value_name = "UNIT")]
    pub(crate) weight_per: Option<Unit>,

    /// How near to the original's decision boundary the claim reaches: auto, 0, or a score
    #[arg(long, value_name = "BAND", default_value = "auto", allow_negative_numbers = true)]
    pub(crate) band: BandArgument,

    /// Decide by comparing the probability of the second class with P, instead of the library's own rule: the claim is
    /// about that. For boosted trees with two classes
    #[arg(long, value_name = "P", conflicts_with_all = ["within", "method"])]
    pub(crate) threshold: Option<f64>,

    /// What the pruned model keeps
    #[arg(long, value_enum, default_value = "decisions", conflicts_with_all = ["within"])]
    pub(crate) keep: Keep,

    /// Keep scores and not only decisions: none may move by more than EPS, rounding included. For regressors, rankers
    /// and classifiers; 0 allows what gives the same bits
    #[arg(long, value_name = "EPS", allow_negative_numbers = true, conflicts_with_all = ["band", "method"])]
    pub(crate) within: Option<f64>,

    #[command(flatten)]
    pub(crate) inputs: Inputs,

    /// End after this time with the best model that is proved by then: 500ms, 30s, 10m, 2h, or none for no limit. Without
    /// it a fixed amount of work is done, the same on every machine, for at most 5m: seconds for small models, a minute or
    /// two for large ones
    #[arg(long, value_name = "TIME")]
    pub(crate) time_limit: Option<LimitOrNone>,

    /// The number of threads that search; all cores unless given
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,

    /// The seed of random choices: the same seed gives the same file
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,

    /// Write the proof to this file, for secateur-check
    #[arg(long, value_name = "FILE")]
    pub(crate) certificate: Option<PathBuf>,

    /// Do not let the independent checker go over the proof
    #[arg(long)]
    pub(crate) no_self_check: bool,

    #[arg(long, hide = true, value_parser = no_checkpoints)]
    pub(crate) checkpoint: Option<Infallible>,

    #[arg(long, hide = true, value_parser = no_solvers)]
    pub(crate) solver: Option<Infallible>,

    /// Write a report of the run to this file, as one HTML page
    #[arg(long, value_name = "FILE.html")]
    pub(crate) report: Option<PathBuf>,

    /// Prune without a proof, by one of the paper's baselines (with --size) or by its pruner without the whole oracle:
    /// DECISIONS CHANGE, and nothing is proved
    #[arg(long, value_enum, requires_all = ["data", "accept_unproved"], conflicts_with_all = ["certificate", "report"])]
    pub(crate) method: Option<Method>,

    /// How many trees ic, imd and drep keep, or rounds where there is a tree for each class
    #[arg(long, value_name = "K", requires = "method")]
    pub(crate) size: Option<usize>,

    /// How many boxes the oracle may visit for each question with --method boxes
    #[arg(long, value_name = "N", requires = "method")]
    pub(crate) boxes: Option<u64>,

    /// Accept a model that decides otherwise than the original
    #[arg(long, requires = "method")]
    pub(crate) accept_unproved: bool,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Refuses `--checkpoint`, and says what to do instead.
fn no_checkpoints(_: &str) -> Result<Infallible, &'static str> {
    Err(
        "prune keeps no checkpoints. End a long run with --time-limit or Ctrl-C: it writes the best model that is \
         proved by then. A later run can prune that model; verify its result against the first model",
    )
}

/// Refuses `--solver`, which chose between three solvers up to version 0.2.
fn no_solvers(_: &str) -> Result<Infallible, &'static str> {
    Err("there is one solver of the linear programs, secateur's own: leave the option out")
}

/// What `prune` keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Keep {
    /// Decisions: far more can go, and scores and probabilities change
    Decisions,
    /// Every score, up to the library's own rounding: for calibration, stacking, ranking, every threshold
    Scores,
}

/// Pruning that proves nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Method {
    /// Individual contribution (Lu et al. 2010)
    Ic,
    /// Individual margin and diversity (Guo et al. 2018)
    Imd,
    /// Diversity regularised (Li et al. 2012)
    Drep,
    /// The paper's pruner on the rows of --data alone, without its oracle
    Rows,
    /// The paper's pruner with an oracle that gives up after --boxes boxes; what it does not refute is taken
    Boxes,
}

/// Parses a choice by its name; the help lists the names and their meanings.
fn choice<T: Choice>() -> impl TypedValueParser<Value = T> {
    let values = T::ALL.iter().map(|(name, _, help)| PossibleValue::new(*name).help(*help));
    PossibleValuesParser::new(values)
        .map(|name| T::from_name(&name).expect("clap admits nothing but the names of choices"))
}
