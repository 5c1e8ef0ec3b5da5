//! Flags and their help.

mod ask;
mod diff;
mod pack;
mod prune;
mod verify;

use std::path::PathBuf;

use anyhow::{Result, anyhow};
use clap::{Args, Parser, Subcommand};
use secateur::{DomainFile, ModelFile, domain::resolve_domain};

use crate::output::complain;
use crate::shell::{Completions, Man};
use crate::table::Reading;
use crate::verify::Limit;
pub(crate) use ask::Ask;
pub(crate) use diff::Diff;
pub(crate) use pack::{Pack, SelfTest};
pub(crate) use prune::{Keep, Method, Prune};
pub(crate) use verify::{Verify, VerifyMany};

/// Fast, small, sure: make tree ensembles faster or smaller, and prove that they still decide the same.
///
/// Three doors: `pack` makes any model fast and small and keeps every bit of its scores. `prune` removes trees and keeps every
/// decision, proved; it helps stumps, shallow trees, columns of few values and one-hot columns, and few models of deep trees.
/// `verify` proves that two models decide the same, or shows an input on which they do not. `advise` measures which of them
/// helps your model.
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

// In the texts below a paragraph is one line of any length: clap wraps it to the terminal's width.
// Lines of examples stay within 80 columns, because wrapping would break them.
const EXAMPLES: &str = "\
Examples:
  secateur demo                                  show it on a small model
  secateur advise model.json                     what would help this model?
  secateur pack model.json -o model.spk          fast: the same bits, sooner
  secateur prune model.json -o pruned.json       small: fewer trees
  secateur verify model.txt model.onnx           sure: do they decide alike?
  secateur inspect model.json                    what is in this file?
  secateur predict model.json --data table.csv   what does it predict?
  secateur verify-many pairs.csv                 which of many pairs do?
  secateur ask model.json range                  what can this model do?
  secateur diff old.json new.json                what changed?
  secateur domain table.csv -o inputs.toml       which inputs can occur?

Exit codes: 0 done or proved; 1 refuted; 2 bad usage or bad input; 3 undecided; 130 interrupted (143 by SIGTERM, 129 by SIGHUP).";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Advise(Advise),
    Pack(Pack),
    Prune(Prune),
    Verify(Verify),
    Inspect(Inspect),
    Predict(Predict),
    VerifyMany(VerifyMany),
    Ask(Box<Ask>),
    Diff(Diff),
    Domain(Domain),
    SelfTest(SelfTest),
    Demo(Demo),
    Completions(Completions),
    Man(Man),
}

/// Measure what packing, pruning and smaller claims would give for a model, and say which command to copy
#[derive(Debug, Args)]
#[command(after_help = "\
It packs the model and measures one row alone and many together, then tries to prune it: with every decision kept, then with \
smaller claims (no missing values; inputs like the rows of --data; decisions that are close; scores up to a hundredth of \
their spread). Each trial is short, so that all of it takes about ten seconds: a longer run of `secateur prune` may find \
less. Nothing is written.

Examples:
  secateur advise model.json
  secateur advise model.txt --data table.csv --target label
  secateur advise forest.skops --time-limit 1m --json")]
pub(crate) struct Advise {
    /// The model file
    pub(crate) model: PathBuf,

    /// Measure on the rows of this table (CSV, Parquet or Arrow), and try a domain that they suggest
    #[arg(short, long, value_name = "TABLE")]
    pub(crate) data: Option<PathBuf>,

    /// A column of the table that is not an input of the model
    #[arg(long, value_name = "NAME")]
    pub(crate) target: Option<String>,

    #[command(flatten)]
    pub(crate) reading: Reading,

    /// The time for all trials together: 500ms, 30s, 10m; 10s unless given
    #[arg(long, value_name = "TIME")]
    pub(crate) time_limit: Option<Limit>,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
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
The table is CSV (also .csv.gz, and with semicolons or tabs), Parquet or Arrow. Its columns are matched with the model's by name, in any order; \
where the model has no names, or no name matches, they are matched by position. An empty field, a null and `nan` are \
missing values; `inf` and `-inf` are numbers; `true` and `false` are 1 and 0. Categories are given by their labels \
where the model has labels, and by their codes otherwise.

Examples:
  secateur predict model.json --data table.csv
  secateur predict model.json --data table.parquet --target y -o classes.csv
  secateur predict model.json --data table.csv --raw | head
  secateur predict model.json --data - -o scores.arrow < table.csv
  secateur predict model.json --data table.csv --proba
  secateur predict model.json --data table.csv --id customer")]
pub(crate) struct Predict {
    /// The model file
    pub(crate) model: PathBuf,

    /// The table, CSV, Parquet or Arrow; `-` is CSV or Arrow from stdin
    #[arg(short, long, value_name = "TABLE")]
    pub(crate) data: PathBuf,

    /// Print the library's raw scores (score_0, score_1, ...) in place of classes or values
    #[arg(long)]
    pub(crate) raw: bool,

    /// Print the class, and the probability of each class (p_0, p_1, ... in the order of the classes; of labels, where a row
    /// may get several), which are the library's up to their last bits
    #[arg(long, conflicts_with = "raw")]
    pub(crate) proba: bool,

    /// Write to this file, whole or not at all, instead of stdout: .csv, .csv.gz, .parquet or .arrow, as its name
    /// says
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

/// The options that say which inputs a claim is about.
#[derive(Debug, Args)]
pub(crate) struct Inputs {
    /// Claim only what is in this domain: a TOML file that says which inputs can occur (see the guide, domains)
    #[arg(long, value_name = "FILE")]
    pub(crate) domain: Option<PathBuf>,

    /// Leave missing values out: the short form of a domain with `missing = false`
    #[arg(long, conflicts_with = "domain")]
    pub(crate) no_missing: bool,
}

impl Inputs {
    pub(crate) fn domain(&self, model: &ModelFile) -> Result<secateur::Domain> {
        domain(self.domain.as_ref(), self.no_missing, model)
    }
}

/// The domain in a file, or the one that `--no-missing` stands for, over the columns of a model.
fn domain(file: Option<&PathBuf>, no_missing: bool, model: &ModelFile) -> Result<secateur::Domain> {
    let Some(path) = file else {
        return Ok(if no_missing { secateur::Domain::no_missing() } else { secateur::Domain::everything() });
    };
    let found = DomainFile::read(path).and_then(|file| resolve_domain(&file, model));
    found.map_err(|error| anyhow!("{}: {error}", path.display()))
}

impl Inspect {
    pub(crate) fn domain(&self, model: &ModelFile) -> Result<secateur::Domain> {
        domain(self.domain.as_ref(), false, model)
    }
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
    /// The table, CSV, Parquet or Arrow
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

/// How much is printed on stderr.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verbosity {
    Quiet,
    Normal,
    Verbose,
}

impl Arguments {
    pub(crate) fn verbosity(&self) -> Verbosity {
        match (self.quiet, self.verbose) {
            (true, _) => Verbosity::Quiet,
            (false, true) => Verbosity::Verbose,
            (false, false) => Verbosity::Normal,
        }
    }
}

impl Verbosity {
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

    /// Checks the help of every command at 80 columns: no line is longer, and a line ends inside a
    /// sentence only if the next word does not fit.
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

    /// Does the second line continue the first one's paragraph? Lines that are items of their own
    /// (an option, a row of a table, an example) do not.
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
