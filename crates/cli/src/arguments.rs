//! Flags and their help.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::output::complain;

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

Exit codes: 0 done, 2 bad usage or bad input, 130 interrupted.";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Inspect(Inspect),
    Predict(Predict),
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
