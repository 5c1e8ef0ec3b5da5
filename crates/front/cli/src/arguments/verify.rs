//! Flags and help of `verify` and `verify-many`.

use std::path::PathBuf;

use clap::Args;
use secateur::Question;

use super::Inputs;
use crate::table::Reading;
use crate::verify::{BandArgument, Limit};

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

    #[command(flatten)]
    pub(crate) asked: Asked,

    #[command(flatten)]
    pub(crate) inputs: Inputs,

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
    #[arg(long, value_name = "FILE", conflicts_with = "doubles")]
    pub(crate) certificate: Option<PathBuf>,

    /// Keep checkpoints in this file, and go on from the one that it holds: of a search that was stopped, killed or ran out of time. The proof is
    /// checked as a whole at the end, and the file is removed when the answer is known. With --scores it takes --within
    #[arg(long, value_name = "FILE", conflicts_with = "doubles")]
    pub(crate) checkpoint: Option<PathBuf>,

    /// Write the answer to this file, as one HTML page
    #[arg(long, value_name = "FILE.html", conflicts_with = "threshold")]
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

    #[command(flatten)]
    pub(crate) asked: Asked,

    #[command(flatten)]
    pub(crate) inputs: Inputs,

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

/// The options that say what is asked about two models.
#[derive(Debug, Args)]
pub(crate) struct Asked {
    /// How near to the first model's decision boundary the claim reaches: auto, 0, or a score
    #[arg(long, value_name = "BAND", default_value = "auto", allow_negative_numbers = true)]
    pub(crate) band: BandArgument,

    /// Decide by comparing the probability of the second class with P, instead of the library's own rule: the claim is
    /// about that. For boosted trees with two classes
    #[arg(long, value_name = "P", conflicts_with = "scores")]
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
    #[arg(long, requires = "scores")]
    pub(crate) doubles: bool,
}

impl Asked {
    pub(crate) fn question(&self) -> Question {
        let &Self { threshold, within, doubles, .. } = self;
        match self.scores {
            true => Question::Scores { within, doubles },
            false => Question::Decisions { band: self.band.0, threshold },
        }
    }
}
