//! Flags and help of `ask`.

use std::path::PathBuf;

use clap::Args;

use super::Inputs;
use crate::table::Reading;
use crate::verify::Limit;

/// Ask what one model can do: its range, what a column moves, monotone columns, classes; proved
#[derive(Debug, Args)]
#[command(after_help = "\
Questions:
  range                      between which numbers are the raw scores?
  moves COLUMN...            how far can changing these alone move a score?
  keeps COLUMN...            can changing these alone change the decision?
  idle                       which columns never change a decision?
  monotone COLUMN up|down    does the score never fall (never rise) when it rises?
  decides CLASS...           are only these classes decided?
  RULES.toml                 the questions of a file, in their order

Every answer is about every input that the library accepts, or with --domain every such input that the domain says can occur, and says so. \
Proved means that the independent checker accepted the proof; what is refuted is shown by rows, with the scores that the model's own library computes \
for them. The exit code is 0 where everything is proved, 1 where something is refuted, and 3 where something is open.

Examples:
  secateur ask model.json range
  secateur ask model.json moves sex --domain inputs.toml
  secateur ask model.json monotone income up --certificate income.cert
  secateur ask model.json decides --never 1 --when late=0 --when 'income>=40000'
  secateur ask model.json rules.toml --json")]
pub(crate) struct Ask {
    /// The model file
    pub(crate) model: PathBuf,

    /// The question, or a file of rules
    pub(crate) question: String,

    /// What the question is about: columns, a direction, classes
    pub(crate) words: Vec<String>,

    /// For range and moves: is no score above this, or moved farther?
    #[arg(long, value_name = "SCORE", allow_negative_numbers = true)]
    pub(crate) at_most: Option<f64>,

    /// For range: is no score below this?
    #[arg(long, value_name = "SCORE", allow_negative_numbers = true)]
    pub(crate) at_least: Option<f64>,

    /// For monotone: the class, or the number of the output, whose score is meant
    #[arg(long, value_name = "CLASS")]
    pub(crate) of: Option<String>,

    /// For decides: a class that is never decided; may be given several times
    #[arg(long, value_name = "CLASS", allow_hyphen_values = true)]
    pub(crate) never: Vec<String>,

    /// For decides: ask about inputs with this alone: COLUMN=VALUE, 'COLUMN>=NUMBER' or 'COLUMN<=NUMBER'; may be given several times
    #[arg(long, value_name = "CONDITION")]
    pub(crate) when: Vec<String>,

    /// For keeps, idle and decides: decide by comparing the probability of the second class with P, instead of the library's own rule
    #[arg(long, value_name = "P")]
    pub(crate) threshold: Option<f64>,

    #[command(flatten)]
    pub(crate) inputs: Inputs,

    /// Stop with each question after this time: 500ms, 30s, 10m, 2h
    #[arg(long, value_name = "TIME")]
    pub(crate) time_limit: Option<Limit>,

    /// The number of threads that search; all cores unless given
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,

    /// The seed of random choices
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,

    /// Start the search from the rows of this table
    #[arg(short, long, value_name = "TABLE")]
    pub(crate) data: Option<PathBuf>,

    /// A column of the table that is not an input of the model
    #[arg(long, value_name = "NAME")]
    pub(crate) target: Option<String>,

    #[command(flatten)]
    pub(crate) reading: Reading,

    /// Write the proof to this file, for `secateur-check MODEL FILE`. With rules, the proof of rule 2 goes to FILE with `-2` before its ending
    #[arg(long, value_name = "FILE")]
    pub(crate) certificate: Option<PathBuf>,

    /// Print one JSON object for each question
    #[arg(long)]
    pub(crate) json: bool,
}
