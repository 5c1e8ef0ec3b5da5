//! Flags and their help.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::output::complain;
use crate::verify::{BandArgument, Limit};

/// Exact pruning of tree ensembles: what a model file holds and what it predicts, bit for bit.
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
  secateur inspect model.json                      what is in this file?
  secateur predict model.json --data table.csv     what does it predict?
  secateur verify model.txt model.onnx             do these two decide alike on every input?

Exit codes: 0 done or proved, 1 refuted, 2 bad usage or bad input, 3 undecided, 130 interrupted.";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
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
own decision is no artefact of its rounding; 0 compares both in exact arithmetic, ties included.

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

    /// Stop after this time, undecided: 30s, 10m, 2h
    #[arg(long, value_name = "TIME")]
    pub(crate) time_limit: Option<Limit>,

    /// Threads of the search; all cores unless given
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,

    /// Where random choices start
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,

    /// Rows to start from; a counterexample is brought as near to one of them as it can be
    #[arg(short, long, value_name = "TABLE")]
    pub(crate) data: Option<PathBuf>,

    /// A column of the table that is no input
    #[arg(long, value_name = "NAME")]
    pub(crate) target: Option<String>,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Show every command at work on an embedded model and table
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
