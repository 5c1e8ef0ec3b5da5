//! Flags and help of `diff`.

use std::path::PathBuf;

use clap::Args;

use super::Inputs;
use crate::table::Reading;
use crate::verify::LimitOrNone;

/// Say what changed between two versions of a model: rows, the largest move of a score, the safe lead; proved
#[derive(Debug, Args)]
#[command(after_help = "\
It says three things: which rows of a table the second version decides otherwise; how far a raw score can move on any input; and above which \
lead in the first version no decision changes. The last two are about every input that both libraries accept, or with --domain about every such \
input that the domain says can occur, and the independent checker has accepted their proofs. A lead is the distance of the raw score from the \
threshold or, of several scores, the distance to the next one. Of regressors and rankers the scores are compared.

The exit code is 0 where both bounds are proved, and 3 where one of them is open or only one certificate was checked in time. That something changed \
is no failure: `secateur verify` asks whether two models are the same, and with --scores --within whether no score moves farther than a limit.

Examples:
  secateur diff old.json new.json --data table.csv
  secateur diff old.txt new.txt --data table.csv --threshold 0.2
  secateur diff old.json new.json --domain inputs.toml --certificate d.cert
  secateur diff old.json new.json --json")]
pub(crate) struct Diff {
    /// The model file of the first version
    pub(crate) first: PathBuf,

    /// The model file of the second version
    pub(crate) second: PathBuf,

    /// Count the rows of this table that the second version decides otherwise, and start the search from them
    #[arg(short, long, value_name = "TABLE")]
    pub(crate) data: Option<PathBuf>,

    /// A column of the table that is not an input of the models
    #[arg(long, value_name = "NAME")]
    pub(crate) target: Option<String>,

    #[command(flatten)]
    pub(crate) reading: Reading,

    /// Decide by comparing the probability of the second class with P, instead of the library's own rule
    #[arg(long, value_name = "P")]
    pub(crate) threshold: Option<f64>,

    #[command(flatten)]
    pub(crate) inputs: Inputs,

    /// Stop after this time, with the bounds that are proved then: 500ms, 30s, 10m, 2h, none; 60s unless given
    #[arg(long, value_name = "TIME")]
    pub(crate) time_limit: Option<LimitOrNone>,

    /// The number of threads that search; all cores unless given
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,

    /// The seed of random choices
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,

    /// Write the proofs for secateur-check: that of the largest move to FILE with `-scores` before its ending, that of the safe lead to FILE with
    /// `-decisions`
    #[arg(long, value_name = "FILE")]
    pub(crate) certificate: Option<PathBuf>,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}
