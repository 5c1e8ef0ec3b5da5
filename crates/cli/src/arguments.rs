//! Flags and their help.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use secateur_model::Scope;

use crate::output::complain;
use crate::verify::{BandArgument, Limit};

/// Exact pruning of tree ensembles: smaller models that decide the same on every input, proved.
///
/// Reads XGBoost (.json, .ubj), LightGBM (.txt), scikit-learn (.skops) and ONNX (.onnx) classifiers.
#[derive(Debug, Parser)]
#[command(name = "secateur", version, arg_required_else_help = true, after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,

    /// Say less: no notes and no progress, errors only
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    quiet: bool,

    /// Say more: whole lists, and what was done
    #[arg(short, long, global = true)]
    verbose: bool,
}

const EXAMPLES: &str = "\
Examples:
  secateur demo                                    see it work on a small model of its own
  secateur prune model.json -o pruned.json         make it smaller, every decision unchanged
  secateur inspect model.json                      what is in this file?
  secateur predict model.json --data table.csv     what does it predict?
  secateur verify model.txt model.onnx             do these two decide alike on every input?

Exit codes: 0 done or proved, 1 refuted, 2 bad usage or bad input, 3 undecided, 130 interrupted.";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Prune(Prune),
    Inspect(Inspect),
    Predict(Predict),
    Verify(Verify),
    Demo(Demo),
}

/// Say what a model file is: trees, features, accepted inputs, decision rule, rounding
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  secateur inspect model.txt
  secateur inspect model.txt -v          list every feature
  secateur inspect model.txt --json      for scripts")]
pub(crate) struct Inspect {
    /// The model file
    pub(crate) model: PathBuf,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Predict classes or raw scores with the very bits of the model's own library
#[derive(Debug, Args)]
#[command(after_help = "\
The table is CSV or Parquet with a header. Columns are matched by name, in any order; where the model
has no names, or no name matches, by order. An empty field, a null and `nan` are missing values; `inf` and
`-inf` are numbers; `true` and `false` are 1 and 0. Categories are given by their labels where the model
has labels, else by their codes.

Examples:
  secateur predict model.json --data table.csv
  secateur predict model.json --data table.parquet --target label -o classes.csv
  secateur predict model.json --data table.csv --raw | head")]
pub(crate) struct Predict {
    /// The model file
    pub(crate) model: PathBuf,

    /// The table, CSV or Parquet with a header
    #[arg(short, long, value_name = "TABLE")]
    pub(crate) data: PathBuf,

    /// Print the library's raw scores (score_0, score_1, ...) in place of classes
    #[arg(long)]
    pub(crate) raw: bool,

    /// Write to this file, whole or not at all, in place of stdout
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// A column of the table that is no input
    #[arg(long, value_name = "NAME")]
    pub(crate) target: Option<String>,
}

/// Prove that two models decide alike on every input, or show one on which they differ
#[derive(Debug, Args)]
#[command(after_help = "\
The models may be of any two formats. Exit code 0: proved; 1: they differ; 3: undecided in the time given.

The claim: wherever the first model's winner leads by more than the band, the library loading the second
model decides as the library loading the first. The band `auto` is the smallest for which the first model's
own decision is no artefact of its rounding; 0 compares both in exact arithmetic, ties included. It is about
every input that both libraries accept; with --no-missing, about every one without missing values.

Examples:
  secateur verify model.json converted.onnx
  secateur verify old.txt new.txt --data table.csv      start from real rows
  secateur verify old.txt new.txt --time-limit 10m --json")]
pub(crate) struct Verify {
    /// The first model file
    pub(crate) first: PathBuf,

    /// The second model file
    pub(crate) second: PathBuf,

    /// How near to the first model's decision boundary the claim reaches: auto, 0, or a score
    #[arg(long, value_name = "BAND", default_value = "auto", allow_negative_numbers = true)]
    pub(crate) band: BandArgument,

    /// Leave missing values out: the claim is about every input without one, in any column
    #[arg(long)]
    pub(crate) no_missing: bool,

    /// Stop after this time, undecided: 30s, 10m, 2h
    #[arg(long, value_name = "TIME")]
    pub(crate) time_limit: Option<Limit>,

    /// Threads of the search; all cores unless given
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,

    /// Where random choices start
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,

    /// Rows to start from; a counterexample is brought as near to one of them as it can be. With --no-missing
    /// rows with missing values do not count
    #[arg(short, long, value_name = "TABLE")]
    pub(crate) data: Option<PathBuf>,

    /// A column of the table that is no input
    #[arg(long, value_name = "NAME")]
    pub(crate) target: Option<String>,

    /// Write the proof to this file, for secateur-check; it is checked before it gets its name
    #[arg(long, value_name = "FILE")]
    pub(crate) certificate: Option<PathBuf>,

    /// Write the answer to this file, as one HTML page
    #[arg(long, value_name = "FILE.html")]
    pub(crate) report: Option<PathBuf>,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Write a smaller model that decides the same on every input, proved
#[derive(Debug, Args)]
#[command(after_help = "\
The pruned model has MODEL's own format and dialect; its library loads it as any other. What is proved is
the file as written: wherever the original's winner leads by more than the band, the library loading OUT
decides as the library loading MODEL, on every input that it accepts; with --no-missing, on every one without
missing values, and often more can go then. OUT is written whole or not at all.

Exit code 0: done; 3: the time limit came first, and OUT holds the best model that was proved by then;
130: the same for Ctrl-C. What is not proved is never written, unless --method asks for it.

Examples:
  secateur prune model.json -o pruned.json
  secateur prune model.txt -o pruned.txt --data table.csv --target label     start from real rows
  secateur prune model.txt -o pruned.txt --effort minimum --time-limit 10m
  secateur prune forest.skops -o pruned.skops --no-missing                   no input will have a NaN
  secateur prune model.txt -o small.txt --method ic --size 20 --data table.csv --target label \\
      --accept-unproved                                                      decisions change!")]
pub(crate) struct Prune {
    /// The model file
    pub(crate) model: PathBuf,

    /// Write the pruned model to this file, whole or not at all
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: PathBuf,

    /// Rows to start from, CSV or Parquet; both models are compared on them at the end. The guarantee is
    /// for every input, with or without them. With --no-missing rows with missing values do not count
    #[arg(short, long, value_name = "TABLE")]
    pub(crate) data: Option<PathBuf>,

    /// A column of the table that is no input
    #[arg(long, value_name = "NAME")]
    pub(crate) target: Option<String>,

    /// How far to go
    #[arg(long, value_enum, default_value = "thorough")]
    pub(crate) effort: Effort,

    /// What is made small
    #[arg(long, value_enum, default_value = "trees")]
    pub(crate) objective: Objective,

    /// What may change
    #[arg(long, value_enum, default_value = "leaves")]
    pub(crate) moves: Moves,

    /// What one weight belongs to; round with --moves weights, tree otherwise
    #[arg(long, value_enum, value_name = "UNIT")]
    pub(crate) weight_per: Option<Unit>,

    /// How near to the original's decision boundary the claim reaches: auto, 0, or a score
    #[arg(long, value_name = "BAND", default_value = "auto", allow_negative_numbers = true)]
    pub(crate) band: BandArgument,

    /// Leave missing values out: the claim is about every input without one, in any column
    #[arg(long)]
    pub(crate) no_missing: bool,

    /// End after this time with the best model that is proved by then: 30s, 10m, 2h
    #[arg(long, value_name = "TIME")]
    pub(crate) time_limit: Option<Limit>,

    /// Threads of the search; all cores unless given
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,

    /// Where random choices start: same seed, same file
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,

    /// Who solves the linear programs; what is proved does not depend on it
    #[arg(long, value_enum, default_value = "simplex")]
    pub(crate) solver: Solver,

    /// Write the proof to this file, for secateur-check
    #[arg(long, value_name = "FILE")]
    pub(crate) certificate: Option<PathBuf>,

    /// Do not have the independent checker go over the proof
    #[arg(long)]
    pub(crate) no_self_check: bool,

    /// Write what happened to this file, as one HTML page
    #[arg(long, value_name = "FILE.html")]
    pub(crate) report: Option<PathBuf>,

    /// Prune to a given size by one of the paper's baselines: DECISIONS CHANGE, nothing is proved
    #[arg(long, value_enum, requires_all = ["size", "data", "target", "accept_unproved"],
          conflicts_with_all = ["certificate", "report", "time_limit", "no_missing"])]
    pub(crate) method: Option<Method>,

    /// How many trees (with trees for each class: rounds) --method keeps
    #[arg(long, value_name = "K", requires = "method")]
    pub(crate) size: Option<usize>,

    /// Accept a model that decides otherwise than the original
    #[arg(long, requires = "method")]
    pub(crate) accept_unproved: bool,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// The scope that `--no-missing` stands for.
fn scope(no_missing: bool) -> Scope {
    if no_missing { Scope::NoMissing } else { Scope::All }
}

impl Verify {
    pub(crate) fn scope(&self) -> Scope {
        scope(self.no_missing)
    }
}

impl Prune {
    pub(crate) fn scope(&self) -> Scope {
        scope(self.no_missing)
    }
}

/// How far `prune` goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Effort {
    /// Fold and reweight (the paper's l1)
    Fast,
    /// Eliminate tree by tree too, until none can go
    Thorough,
    /// Prove the smallest size (the paper's l0)
    Minimum,
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
    /// Trees are merged, scaled and dropped; the intercept is free
    Leaves,
    /// Only the paper's: nonnegative weights on the trees as they are
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
}
