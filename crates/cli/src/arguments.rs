//! Flags and their help.

use std::path::PathBuf;

use anyhow::{Result, anyhow};
use clap::{Args, Parser, Subcommand, ValueEnum};
use secateur::{DomainFile, ModelFile, resolve_domain};

use crate::output::complain;
use crate::shell::{Completions, Man};
use crate::table::Reading;
use crate::verify::{BandArgument, Limit, LimitOrNone};

/// Exact pruning of tree ensembles: smaller models that decide the same on every input, proved.
///
/// Reads XGBoost (.json, .ubj), LightGBM (.txt), CatBoost (.cbm, .json), scikit-learn (.skops) and
/// ONNX (.onnx) classifiers, and packed models (.spk) of them.
#[derive(Debug, Parser)]
#[command(name = "secateur", version, arg_required_else_help = true, after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,

    /// Say less: print errors, and neither notes nor progress
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    quiet: bool,

    /// Say more: print whole lists, and what was done
    #[arg(short, long, global = true)]
    verbose: bool,
}

// In the texts below a paragraph is one line, however long: clap wraps it to the terminal's width. Lines of
// examples stay within 80 columns, since wrapping would tear them.
const EXAMPLES: &str = "\
Examples:
  secateur demo                                  show it on a small model
  secateur prune model.json -o pruned.json       fewer trees, same decisions
  secateur inspect model.json                    what is in this file?
  secateur predict model.json --data table.csv   what does it predict?
  secateur verify model.txt model.onnx           do they decide alike?
  secateur verify-many pairs.csv                 which of many pairs do?
  secateur domain table.csv -o inputs.toml       which inputs can occur?
  secateur pack model.json -o model.spk          small and fast, same bits

Exit codes: 0 done or proved; 1 refuted; 2 bad usage or bad input; 3 undecided; 130 interrupted (143 by SIGTERM, 129 by SIGHUP).";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Prune(Prune),
    Inspect(Inspect),
    Predict(Predict),
    Verify(Verify),
    VerifyMany(VerifyMany),
    Domain(Domain),
    Pack(Pack),
    SelfTest(SelfTest),
    Demo(Demo),
    Completions(Completions),
    Man(Man),
}

/// Say what a model file is: its trees, features, accepted inputs, decision rule and rounding
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  secateur inspect model.txt
  secateur inspect model.txt -v          list every feature
  secateur inspect model.txt --domain inputs.toml
  secateur inspect model.txt --json      for scripts")]
pub(crate) struct Inspect {
    /// The model file
    pub(crate) model: PathBuf,

    /// Say what this domain, a TOML file, leaves of the inputs
    #[arg(long, value_name = "FILE")]
    pub(crate) domain: Option<PathBuf>,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Predict classes, values or raw scores with the very bits of the model's own library
#[derive(Debug, Args)]
#[command(after_help = "\
The table is CSV (also .csv.gz, and with semicolons or tabs) or Parquet. Its columns are matched with the model's by name, in any order; \
where the model has no names, or no name matches, they are matched by position. An empty field, a null and `nan` are \
missing values; `inf` and `-inf` are numbers; `true` and `false` are 1 and 0. Categories are given by their labels \
where the model has labels, and by their codes otherwise.

Examples:
  secateur predict model.json --data table.csv
  secateur predict model.json --data table.parquet --target y -o classes.csv
  secateur predict model.json --data table.csv --raw | head
  secateur predict model.json --data table.csv --proba
  secateur predict model.json --data table.csv --id customer")]
pub(crate) struct Predict {
    /// The model file
    pub(crate) model: PathBuf,

    /// The table, CSV or Parquet
    #[arg(short, long, value_name = "TABLE")]
    pub(crate) data: PathBuf,

    /// Print the library's raw scores (score_0, score_1, ...) in place of classes or values
    #[arg(long)]
    pub(crate) raw: bool,

    /// Print the class, and the probability of each class (p_0, p_1, ... in the order of the classes), which are the
    /// library's up to their last bits
    #[arg(long, conflicts_with = "raw")]
    pub(crate) proba: bool,

    /// Write to this file, whole or not at all, in place of stdout
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// A column of the table that is not an input of the model
    #[arg(long, value_name = "NAME")]
    pub(crate) target: Option<String>,

    /// Print this column of the table in front of each prediction, as it stands; may be given several times
    #[arg(long, value_name = "NAME")]
    pub(crate) id: Vec<String>,

    #[command(flatten)]
    pub(crate) reading: Reading,
}

/// Prove that two models decide alike on every input, or show one on which they differ
#[derive(Debug, Args)]
#[command(after_help = "\
The models may be of any two formats. The exit code is 0 where they are proved to decide alike, 1 where they differ, \
and 3 where that is undecided in the time given.

The claim: wherever the first model's winner leads by more than the band, the library loading the second model decides \
as the library loading the first. The band `auto` is the smallest for which the first model's own decision is no \
artefact of its rounding; 0 compares both models in exact arithmetic, ties included. The claim is about every input that \
both libraries accept; with --domain, about every such input that the domain says can occur; with --no-missing, about \
every such input without missing values.

With --scores the question is how far the scores can be apart: at most so far, proved, and at least so far, shown by an input. \
The exit code is 0 then; with --within it is 0 where no difference exceeds the limit, 1 where one does, and 3 where that is open. \
A certificate proves the limit, or without --within the bound that was found.

Examples:
  secateur verify model.json converted.onnx
  secateur verify model.json converted.onnx --scores --within 1e-5
  secateur verify old.txt new.txt --data table.csv   start from real rows
  secateur verify old.txt new.txt --domain inputs.toml
  secateur verify old.txt new.txt --time-limit 10m --json")]
pub(crate) struct Verify {
    /// The first model file
    pub(crate) first: PathBuf,

    /// The second model file
    pub(crate) second: PathBuf,

    /// How near to the first model's decision boundary the claim reaches: auto, 0, or a score
    #[arg(long, value_name = "BAND", default_value = "auto", allow_negative_numbers = true)]
    pub(crate) band: BandArgument,

    /// Decide by comparing the probability of the second class with P, in place of the library's own rule: the claim is
    /// about that. For boosted trees with two classes
    #[arg(long, value_name = "P", conflicts_with_all = ["scores", "report"])]
    pub(crate) threshold: Option<f64>,

    /// Compare the scores and not the decisions: how far can they be apart, on every input? For classifiers,
    /// regressors and rankers
    #[arg(long, conflicts_with = "band")]
    pub(crate) scores: bool,

    /// With --scores: are they this near to each other everywhere? The search ends when that is known
    #[arg(long, value_name = "EPS", requires = "scores", allow_negative_numbers = true)]
    pub(crate) within: Option<f64>,

    /// With --scores: compare on every double, also where one library reads doubles and the other rounds them to f32 first.
    /// Without this, on the values that both read alike
    #[arg(long, requires = "scores", conflicts_with = "certificate")]
    pub(crate) doubles: bool,

    /// Claim only what is in this domain: a TOML file that says which inputs can occur (see the guide, domains)
    #[arg(long, value_name = "FILE")]
    pub(crate) domain: Option<PathBuf>,

    /// Leave missing values out: the short form of a domain with `missing = false`
    #[arg(long, conflicts_with = "domain")]
    pub(crate) no_missing: bool,

    /// Stop after this time, undecided: 500ms, 30s, 10m, 2h
    #[arg(long, value_name = "TIME")]
    pub(crate) time_limit: Option<Limit>,

    /// The number of threads that search; all cores unless given
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,

    /// The seed of random choices
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,

    /// Start from the rows of this table, and bring a counterexample as near to one of them as it can be. With
    /// --no-missing, rows with missing values do not count
    #[arg(short, long, value_name = "TABLE")]
    pub(crate) data: Option<PathBuf>,

    /// A column of the table that is not an input of the model
    #[arg(long, value_name = "NAME")]
    pub(crate) target: Option<String>,

    #[command(flatten)]
    pub(crate) reading: Reading,

    /// Write the proof to this file, for secateur-check; it is checked before it gets its name
    #[arg(long, value_name = "FILE")]
    pub(crate) certificate: Option<PathBuf>,

    /// Keep checkpoints in this file, and go on from the one that it holds: of a search that was stopped, killed or ran out of time. The proof is
    /// checked as a whole at the end, and the file is removed when the answer is known. With --scores it takes --within
    #[arg(long, value_name = "FILE", conflicts_with = "doubles")]
    pub(crate) checkpoint: Option<PathBuf>,

    /// Write the answer to this file, as one HTML page
    #[arg(long, value_name = "FILE.html")]
    pub(crate) report: Option<PathBuf>,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Compare many pairs of models from a list, and print a table of what is known of each
#[derive(Debug, Args)]
#[command(after_help = "\
The list is a CSV file with the columns `first` and `second`: the paths of two model files in each line, seen from the current \
folder. The table is CSV too, a line for each pair as soon as it is known: its place in the list from 0, the two paths, the outcome as \
of `verify`, or `failed` where a file could not be read or the two could not be compared, the seconds, and why where there is no answer. \
A pair that fails does not stop the others. With --json each line is a JSON object that has the answer of `verify --json` in it.

With --results FILE every result is also added to FILE as a line of JSON. A run that was ended goes on where it was: \
pairs whose models and question FILE has a proof or a counterexample of are not asked again.

The exit code is 1 where some pair is refuted; else 2 where some pair failed; else 3 where some pair is undecided; else 0.

Examples:
  secateur verify-many pairs.csv
  secateur verify-many pairs.csv --time-limit 60s --results known.jsonl
  secateur verify-many pairs.csv --scores --within 1e-5 --json")]
pub(crate) struct VerifyMany {
    /// The list of pairs, a CSV file with the columns first and second
    #[arg(value_name = "LIST.csv")]
    pub(crate) list: PathBuf,

    /// Add each result to this file, and do not ask again what it has an answer to
    #[arg(long, value_name = "FILE")]
    pub(crate) results: Option<PathBuf>,

    /// How near to the first model's decision boundary the claim reaches: auto, 0, or a score
    #[arg(long, value_name = "BAND", default_value = "auto", allow_negative_numbers = true)]
    pub(crate) band: BandArgument,

    /// Decide by comparing the probability of the second class with P, in place of the library's own rule
    #[arg(long, value_name = "P", conflicts_with = "scores")]
    pub(crate) threshold: Option<f64>,

    /// Compare the scores and not the decisions: how far can they be apart, on every input?
    #[arg(long, conflicts_with = "band")]
    pub(crate) scores: bool,

    /// With --scores: are they this near to each other everywhere?
    #[arg(long, value_name = "EPS", requires = "scores", allow_negative_numbers = true)]
    pub(crate) within: Option<f64>,

    /// With --scores: compare on every double, also where one library rounds them to f32 first
    #[arg(long, requires = "scores")]
    pub(crate) doubles: bool,

    /// Claim only what is in this domain: a TOML file that says which inputs can occur
    #[arg(long, value_name = "FILE")]
    pub(crate) domain: Option<PathBuf>,

    /// Leave missing values out: the short form of a domain with `missing = false`
    #[arg(long, conflicts_with = "domain")]
    pub(crate) no_missing: bool,

    /// Stop with each pair after this time, undecided: 500ms, 30s, 10m, 2h
    #[arg(long, value_name = "TIME")]
    pub(crate) time_limit: Option<Limit>,

    /// The number of pairs that are compared at the same time, each with one thread; all cores unless given
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,

    /// The seed of random choices
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,

    /// Print one JSON object for each pair
    #[arg(long)]
    pub(crate) json: bool,
}

/// Write the model as a small packed file (.spk) that predicts fast, or as C or Rust source, with the library's own bits
#[derive(Debug, Args)]
#[command(after_help = "\
A packed file is the same model: every question, every number bit for bit, added in the library's type and order. Before \
it is written, the independent checker compares it with the model node by node, and every instruction set of this \
machine predicts rows that reach every leaf and threshold, with the library's bits. `predict`, `inspect` and `verify` \
read packed files; the Python package and the C library secateur_runtime run them.

OUT.c is the same model as C99, for firmware and services without our library: tables and one fixed page of code, no \
allocation, no dependencies but the C library's expf or exp where a softmax decides between classes. The declarations go to OUT.h beside it. \
OUT.h alone is a header that has everything in itself. `NAME_raw(row, scores)` gives the library's raw scores, `NAME_class(row)` the position \
of the class; missing values are NaN. OUT.rs is a Rust module with the functions `raw` and `class`, without unsafe code, for which `core` is enough. The source is read back and compared with the model before it is written.

Examples:
  secateur pack model.json -o model.spk
  secateur pack model.txt -o model.spk --certificate model.cert
  secateur-check model.txt model.spk model.cert

  As C, with a test to run on the target:
    secateur pack model.json -o model.c --test model_test.c

  Prune first, with one certificate for both steps:
    secateur pack model.json -o model.spk --prune --certificate model.cert")]
pub(crate) struct Pack {
    /// The model file
    pub(crate) model: PathBuf,

    /// Write the packed model to this file, whole or not at all; its ending says what is made: .spk, .c (and .h beside it), .h or .rs
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: PathBuf,

    /// What the names of the functions in C start with [default: model]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,

    /// Write a program to this file, in the language of OUT, that tests it on the machine that it runs on: rows that reach every leaf
    /// and threshold, with the bits expected
    #[arg(long, value_name = "FILE")]
    pub(crate) test: Option<PathBuf>,

    /// Prune the model first: the packed file then decides as MODEL does, with other scores
    #[arg(long)]
    pub(crate) prune: bool,

    /// Give up after this time (500ms, 30s, 10m, 2h) and write nothing. With --prune: end the search by then, and pack
    /// the best model proved; 5m unless given, none for no limit
    #[arg(long, value_name = "TIME")]
    pub(crate) time_limit: Option<LimitOrNone>,

    /// Write the certificate to this file, for secateur-check
    #[arg(long, value_name = "FILE")]
    pub(crate) certificate: Option<PathBuf>,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Run a packed model on rows that reach every leaf and threshold, with every instruction set of this machine
#[derive(Debug, Args)]
#[command(after_help = "\
The hash of the exact predictor's scores is in the file. The exit code is 0 where every instruction set gives these \
bits, 1 where one does not, and 3 where the time limit came first.

Examples:
  secateur self-test model.spk")]
pub(crate) struct SelfTest {
    /// The packed model
    #[arg(value_name = "FILE.spk")]
    pub(crate) file: PathBuf,

    /// Give up after this time (500ms, 30s, 10m, 2h)
    #[arg(long, value_name = "TIME")]
    pub(crate) time_limit: Option<Limit>,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

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

    /// Start from the rows of this table (CSV or Parquet), and compare both models on them at the end. The guarantee is
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
    #[arg(long, value_enum, default_value = "thorough")]
    pub(crate) effort: Effort,

    /// What is made as small as possible
    #[arg(long, value_enum, default_value = "trees")]
    pub(crate) objective: Objective,

    /// What may change in the model
    #[arg(long, value_enum, default_value = "leaves")]
    pub(crate) moves: Moves,

    /// What gets a weight of its own. The default is round with --moves weights, and tree otherwise
    #[arg(long, value_enum, value_name = "UNIT")]
    pub(crate) weight_per: Option<Unit>,

    /// How near to the original's decision boundary the claim reaches: auto, 0, or a score
    #[arg(long, value_name = "BAND", default_value = "auto", allow_negative_numbers = true)]
    pub(crate) band: BandArgument,

    /// Decide by comparing the probability of the second class with P, in place of the library's own rule: the claim is
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

    /// Claim only what is in this domain: a TOML file that says which inputs can occur (see the guide, domains)
    #[arg(long, value_name = "FILE")]
    pub(crate) domain: Option<PathBuf>,

    /// Leave missing values out: the short form of a domain with `missing = false`
    #[arg(long, conflicts_with = "domain")]
    pub(crate) no_missing: bool,

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

    /// The solver of the linear programs. What is proved does not depend on it
    #[arg(long, value_enum, default_value = "simplex")]
    pub(crate) solver: Solver,

    /// Write the proof to this file, for secateur-check
    #[arg(long, value_name = "FILE")]
    pub(crate) certificate: Option<PathBuf>,

    /// Do not let the independent checker go over the proof
    #[arg(long)]
    pub(crate) no_self_check: bool,

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

/// The domain of a file, or what `--no-missing` stands for, over the columns of a model.
fn domain(file: Option<&PathBuf>, no_missing: bool, model: &ModelFile) -> Result<secateur::Domain> {
    let Some(path) = file else {
        return Ok(if no_missing { secateur::Domain::no_missing() } else { secateur::Domain::everything() });
    };
    let found = DomainFile::read(path).and_then(|file| resolve_domain(&file, model));
    found.map_err(|error| anyhow!("{}: {error}", path.display()))
}

impl Verify {
    pub(crate) fn domain(&self, first: &ModelFile) -> Result<secateur::Domain> {
        domain(self.domain.as_ref(), self.no_missing, first)
    }
}

impl VerifyMany {
    pub(crate) fn domain(&self, first: &ModelFile) -> Result<secateur::Domain> {
        domain(self.domain.as_ref(), self.no_missing, first)
    }
}

impl Prune {
    pub(crate) fn domain(&self, model: &ModelFile) -> Result<secateur::Domain> {
        domain(self.domain.as_ref(), self.no_missing, model)
    }
}

impl Inspect {
    pub(crate) fn domain(&self, model: &ModelFile) -> Result<secateur::Domain> {
        domain(self.domain.as_ref(), false, model)
    }
}

/// How far `prune` goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Effort {
    /// Fold the trees and choose new weights (the paper's l1)
    Fast,
    /// Then drop tree after tree, until none can go
    Thorough,
    /// Then find the smallest size and prove it (the paper's l0)
    Minimum,
}

/// What `prune` keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Keep {
    /// Decisions: far more can go, and scores and probabilities change
    Decisions,
    /// Every score, up to the library's own rounding: for calibration, stacking, ranking, every threshold
    Scores,
}

/// What `prune` makes small.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Objective {
    Trees,
    Leaves,
    Bytes,
}

/// What `prune` may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Moves {
    /// Trees are merged, scaled and dropped, and the intercept is free
    Leaves,
    /// Trees get weights of at least zero and stay as they are, as in the paper
    Weights,
}

/// What one weight belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Unit {
    /// All trees of a boosting round, one for each class
    Round,
    /// Each tree
    Tree,
}

/// Who solves linear programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Solver {
    /// Our own, made for these programs and the fastest on them
    Simplex,
    /// A general one in Rust
    Microlp,
    /// A general one in C++, only where it was built in (cargo feature `highs`)
    Highs,
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

/// Propose a domain from a table: which inputs can occur, as prune and verify take it with --domain
#[derive(Debug, Args)]
#[command(after_help = "\
It looks for ranges, whole numbers, few values, missing values, and for columns that go together: one-hot encoded ones, \
and those of which each implies the next. A table only suggests a domain: read the file, mend it, and use it if you vouch \
that no other inputs occur. Nothing applies it by itself.

Examples:
  secateur domain table.csv --target y -o inputs.toml
  secateur prune model.json -o small.json --domain inputs.toml")]
pub(crate) struct Domain {
    /// The table, CSV or Parquet
    pub(crate) table: PathBuf,

    /// Write the domain to this file, whole or not at all, in place of stdout
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// A column of the table that is not an input
    #[arg(long, value_name = "NAME")]
    pub(crate) target: Option<String>,

    #[command(flatten)]
    pub(crate) reading: Reading,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Show the main job on an embedded model and table, start to finish
#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// The folder for the demo's files
    #[arg(long, value_name = "DIR", default_value = "secateur-demo")]
    pub(crate) dir: PathBuf,
}

/// How much to say on stderr.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Talk {
    Quiet,
    Normal,
    Verbose,
}

impl Arguments {
    pub(crate) fn talk(&self) -> Talk {
        match (self.quiet, self.verbose) {
            (true, _) => Talk::Quiet,
            (false, true) => Talk::Verbose,
            (false, false) => Talk::Normal,
        }
    }
}

impl Talk {
    /// Prints a line on stderr, unless quiet.
    pub(crate) fn note(self, line: impl AsRef<str>) {
        if self != Self::Quiet {
            complain(line.as_ref());
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_flags_are_consistent() {
        use clap::CommandFactory;
        super::Arguments::command().debug_assert();
    }

    /// The help of every command at 80 columns: no line is longer, and a line ends inside a sentence only where the
    /// next word does not fit.
    #[test]
    fn help_is_wrapped_and_not_torn_at_80_columns() {
        use clap::CommandFactory;
        let mut program = super::Arguments::command().term_width(80);
        program.build();
        let names: Vec<String> =
            program.get_subcommands().map(|command| command.get_name().to_owned()).collect();
        assert!(names.iter().any(|name| name == "prune"), "{names:?}");
        let mut texts =
            vec![program.render_help().to_string(), program.clone().render_long_help().to_string()];
        for name in names {
            let command = program.find_subcommand_mut(&name).expect("a name that the program lists");
            let mut command = command.clone().term_width(80);
            texts.push(command.render_help().to_string());
            texts.push(command.render_long_help().to_string());
        }
        let mut wrapped = 0;
        for text in &texts {
            let lines: Vec<&str> = text.lines().collect();
            for line in &lines {
                assert!(line.chars().count() <= 80, "a long line: {line:?}");
            }
            for pair in lines.windows(2) {
                let [line, next] = [pair[0], pair[1]];
                let example = line.trim_start().starts_with("secateur ") && !line.ends_with('\\');
                let begins = |word| next.trim_start().starts_with(word);
                let ends = next.trim().is_empty() || begins("secateur") || begins("cc ");
                assert!(!example || ends, "a torn example: {line:?}, {next:?}");
                if !goes_on(line, next) {
                    continue;
                }
                wrapped += 1;
                let word = next.split_whitespace().next().expect("the line is not empty");
                let joined = line.chars().count() + 1 + word.chars().count();
                assert!(
                    joined > 80,
                    "torn: {line:?} has room for {word:?}, which begins the next line\n{text}"
                );
            }
        }
        assert!(wrapped > 40, "{wrapped}: nothing was looked at");
    }

    /// Is the second line more of the first one's paragraph? Lines that are items of their own (an option, a row of a
    /// table, an example) are not.
    fn goes_on(line: &str, next: &str) -> bool {
        let words = |text: &str| text.trim_start().to_owned();
        let item = |text: &str| {
            let text = words(text);
            text.starts_with(['-', '<', '[', '"'])
                || text.starts_with("secateur ")
                || text.starts_with("cc ")
                || text.ends_with(':')
        };
        let indent = |text: &str| text.len() - words(text).len();
        let row = words(next).contains("  ");
        // An option on a line of its own, with its help below.
        let heading = item(line) && !words(line).contains("  ");
        !line.trim().is_empty()
            && !next.trim().is_empty()
            && !item(next)
            && !row
            && !line.ends_with([':', '\\'])
            && indent(next) >= indent(line)
            && !heading
    }
}
