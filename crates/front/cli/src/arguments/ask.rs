//! Flags and help of `ask`.

use std::path::PathBuf;

use clap::Args;

use super::Inputs;
use crate::table::Reading;
use crate::verify::Limit;

/// Ask what one model can do: its range, what a column moves, classes, the reason for a row; proved
#[derive(Debug, Args)]
#[command(after_help = "\
Questions:
  range                      between which numbers are the raw scores?
  moves COLUMN...            how far can changing these alone move a score?
  keeps COLUMN...            can changing these alone change the decision?
  idle                       which columns never change a decision?
  monotone COLUMN up|down    does the score never fall (never rise) when it rises?
  decides CLASS...           are only these classes decided?
  robust                     do rows of --data keep their class within --within, or how far?
  explain                    which columns of a row of --data are enough for its class?
  counterfactual             the nearest input to a row of --data that is decided otherwise
  RULES.toml                 the questions of a file, in their order

Every answer is about every input that the library accepts, or with --domain every such input that the domain says can occur, and says so. \
Proved means that the independent checker accepted the proof; what is refuted is shown by rows, with the scores that the model's own library computes \
for them. The exit code is 0 where everything is proved, 1 where something is refuted, and 3 where something is open.

Examples:
  secateur ask model.json range
  secateur ask model.json moves sex --domain inputs.toml
  secateur ask model.json monotone income up --certificate income.cert
  secateur ask model.json decides --never 1 --when late=0 --when 'income>=40000'
  secateur ask model.json robust --data t.csv --within age=1 --within income=500
  secateur ask model.json explain --data t.csv --row 17
  secateur ask model.json counterfactual --data t.csv --row 17 --frozen age,sex
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

    /// For robust, explain and counterfactual: the row of the table that is meant, counted from 1; robust takes all rows without it
    #[arg(long, value_name = "N")]
    pub(crate) row: Option<usize>,

    /// For robust: this column changes by at most so much, and columns that are not named stay; may be given several times
    #[arg(long, value_name = "COLUMN=CHANGE")]
    pub(crate) within: Vec<String>,

    /// For robust, instead of --within: so much of this column is one unit. The answer is how many units of each the columns may change by; may be given several times
    #[arg(long, value_name = "COLUMN=AMOUNT")]
    pub(crate) unit: Vec<String>,

    /// For robust: the share of rows that have to keep their class, such as 0.95; all of them unless given
    #[arg(long, value_name = "SHARE")]
    pub(crate) share: Option<f64>,

    /// For explain: look for a reason with the fewest columns, which can take longer
    #[arg(long)]
    pub(crate) smallest: bool,

    /// For explain: leave the columns of the reason at the row's values instead of saying how far they may change
    #[arg(long)]
    pub(crate) exact_values: bool,

    /// For counterfactual: the class that is looked for; any other than the row's without it
    #[arg(long, value_name = "CLASS", allow_hyphen_values = true)]
    pub(crate) to: Option<String>,

    /// For counterfactual: columns that stay as they are
    #[arg(long, value_name = "COLUMN", value_delimiter = ',')]
    pub(crate) frozen: Vec<String>,

    /// For counterfactual: columns that do not fall
    #[arg(long, value_name = "COLUMN", value_delimiter = ',')]
    pub(crate) only_up: Vec<String>,

    /// For counterfactual: columns that do not rise
    #[arg(long, value_name = "COLUMN", value_delimiter = ',')]
    pub(crate) only_down: Vec<String>,

    /// For counterfactual: what a change of this column by 1 adds to the distance; one over its range in the table unless given, 1 for a category
    #[arg(long, value_name = "COLUMN=WEIGHT")]
    pub(crate) weight: Vec<String>,

    /// For counterfactual: count the columns that change, instead of adding up how far they do
    #[arg(long)]
    pub(crate) count_changes: bool,

    /// For questions about classes: decide by comparing the probability of the second class with P, instead of the library's own rule
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

    /// The rows that robust, explain and counterfactual are about; other questions start the search from them
    #[arg(short, long, value_name = "TABLE")]
    pub(crate) data: Option<PathBuf>,

    /// A column of the table that is not an input of the model
    #[arg(long, value_name = "NAME")]
    pub(crate) target: Option<String>,

    #[command(flatten)]
    pub(crate) reading: Reading,

    /// Write the proof to this file, for `secateur-check MODEL FILE`. With rules, the proof of rule 2 goes to FILE with `-2` before its ending; of several rows, that of row 17 to FILE with `-17`
    #[arg(long, value_name = "FILE")]
    pub(crate) certificate: Option<PathBuf>,

    /// Print one JSON object for each question
    #[arg(long)]
    pub(crate) json: bool,
}
