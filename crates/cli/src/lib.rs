//! The `secateur` command line: smaller models that decide the same, what is in a model file, what it
//! predicts, bit for bit, and whether two models decide alike.
//!
//! One file for each command (`inspect`, `predict`, `prune`, `verify`, `verify-many`, `domain`, `pack`, `demo`, and `shell` for completions and manual pages); `table` reads CSV and Parquet files,
//! `output` writes a file whole or not at all. Results go to stdout; notes, progress and errors to stderr.
//!
//! # Exit codes
//! 0: done, or proved. 1: refuted, with a counterexample. 2: bad usage, bad input, or an output that cannot be
//! written; no file is written then, except where the message names those that are (stdout failed after them). 3: undecided in the
//! budget; for `prune`, the time limit came first, and the file holds the best model that was proved by then.
//! 130: interrupted by Ctrl-C, 143 by SIGTERM, 129 by SIGHUP; `prune` writes the best model that was proved by then.
//!
//! # `prune --json`
//! `outcome` (`proved`, `budget_reached`, `already_minimal`; `unproved` with `--method`), `unchanged` (the model is what it was), `interrupted`, `met_standard_limit` (nobody gave
//! a time limit, and the one of five minutes ended the search),
//! `checked` (has the independent checker accepted the proof?),
//! `trees` (`before` and `after`; of the latter `empty`, and `unused`: how many more the original has behind the best round of early
//! stopping), `leaves` and `bytes` (each `before` and `after`), `lower_bound` (no fewer trees can do, within
//! the moves; null with `--within`, where no bound is claimed), `minimal` (the bound is met), `irreducible` (no tree can go on its own, by the solver's word),
//! `dialect` (of the file that is written, in words),
//! `scope` (`all`, `no_missing` where missing values are left out, or `domain`; of models that read different number types `f32`, `f32_no_missing` or `f32_domain`), `domain` (null for all, or `missing`, `columns`,
//! `groups`, `where` as in a domain file, and `cells_log10`), `rows_outside_domain` (null, or `rows` and the `first` of them), `band` (`score`, `probability`, `exact`: the claim is
//! about exact sums; null with `--within`), `threshold` (null for the library's own decisions, or `probability`: what it is compared with, and
//! the `score` there with its `gap`), `within` (how far scores may be from the original's, or null), `score_shift` (with `--within` and
//! rows: how far scores move on the `rows`, at the `largest`), `oracle_calls`, `points`, `seconds` (`read`, `fold`, `lp`, `oracle`, `certificate`, `write`, `total`),
//! `output`, `certificate` (a path, or null), `data` (null, or `rows`; of the `measured` ones `in_band` and `rounded`,
//! which the library decides otherwise than the exact sums; `changed_in_band`), `probability_shift` (null, or how far probabilities
//! move on the `rows`: `largest`, `mean`, and with two classes and a `--target` the `auc` `before` and `after`, else null; measured, not proved), `fates` (for
//! each tree of the original `fate`: `kept`, `scaled`, `rewritten`, `merged`, `constant`, `dropped`; `weight`
//! and `into` where they apply), `relevant_thresholds` (null where not looked at, or `count` and `total`).
//! With `--method`: `method`, `members` (`before`, `after`, `chosen`; null for `rows` and `boxes`), `fidelity` (the share of rows decided
//! as before), `accuracy` (null where no classes are given), `rows`, `oracle` (for `rows` and `boxes` what the oracle finds against the model, as `verify --json` prints it; else null).
//!
//! # `verify --json`
//! `outcome` (`identical`, `different`, `undecided`), `reason` (why undecided, or null), `threshold` (null, or the probability that decides), `band` and `data` (as for
//! `prune`), `scope`, `domain` and `rows_outside_domain` (as for `prune`), `inputs` (in words), `labels` (how category labels were matched:
//! the columns `by_label` and `by_code`; `unplaced`: by code, as a file does not name the columns of its
//! labels), `counterexample` (null, or `input` by feature with null for missing, `labels` of those of its
//! values that stand for one, `classes`, `scores`, `in_libraries`, `nearest_row`: `row` counted from 1, `index` from 0, `columns_changed`), `certificate` (a path,
//! or null), `checked` (has the independent checker accepted it?), `nodes`, `seconds`.
//! With `--scores`: `outcome` (`measured`, `within`, `exceeds`, `undecided`), `reason`, `scores` (`within`: the limit or null;
//! `at_most`, `rounding`: what it has of both libraries' rounding; `at_least`, `input`, `labels`, `output` and `of_input`: both
//! scores there; `ended`: the exact difference is known to four digits of the bound or to a thousandth of its rounding; `probability`), and `scope`, `inputs`, `domain`, `labels`, `certificate`, `checked`, `nodes`, `seconds` as above.
//!
//! # `verify-many --json`
//! One object in a line for each pair: `index` (its place in the list, from 0), `first` and `second` (the paths), `models` (their digests, null
//! where one could not be read), `outcome` (as of `verify`, or `failed`), `message` (why it failed or is undecided, or null), `answer` (what `verify --json`
//! prints, or null). A line of `--results` has also the `question`: the options that the answer depends on. The exit code is 1 where some pair is
//! refuted, else 2 where some pair failed, else 3 where some pair is undecided, else 0.
//!
//! # `domain --json`
//! `domain` (`missing`, `columns`, `groups`, `where` as in a domain file), `support` (a sentence for each part), `rows`.
//!
//! # `pack --json`
//! `outcome` (`same_bits`; with `--prune` `same_decisions`), `bytes` (`before`, `after`), `within` (null), `certificate` (a
//! path, or null), `checked`, `cover` (`rows`; `paths`, the instruction sets that gave the library's bits on them); with
//! `--prune` also `trees` and `band`. Of a model as source (`-o model.c`) `bytes` also has `tables`, the size of its tables
//! once compiled, and `test` (`rows`, or null without `--test`) takes the place of `cover`. `self-test --json`: `passed`, `rows`, `paths` (each `path` and `same_bits`).
//!
//! # `inspect --json`
//! One object; its keys stay:
//!
//! | key | holds |
//! |---|---|
//! | `file`, `bytes` | the path as given, the size of the file |
//! | `framework`, `dialect` | `xgboost`, `lightgbm`, `scikit-learn` or `onnx`; version and encoding in words |
//! | `trees`, `leaves`, `depth`, `splits`, `distinct_splits` | counts; `depth` is that of the deepest leaf |
//! | `features` | `count`, `named` (by the file), `used` (by some split), `columns` |
//! | `features.columns[]` | `index`, `name`, `type` (`f32`, `f64`, `categorical`), `splits`, `categories` and `labels` (or null); without names in the file only columns that some split uses |
//! | `classes` | `count`, `named` (by the file), `labels` |
//! | `input` | `number` (`f32`, `f64`), `missing`, `infinities`, `zero_window` (or null), `zero_branch`, `unseen_categories` (`left_out`, `missing`, `mixed` or null) |
//! | `scores` | `count`, `number`, `intercepts`, `intercept` (`first`, `last`), `order` (`file`, `any`), `average` (null, or `divisor` and `in_raw_scores`), `scale` (null, or what sums are multiplied by before the intercept is added) |
//! | `decision` | `rule` (`threshold`, `argmax`, `argmax_softmax`, `argmax_sigmoid`), `score`, `threshold`, `strict`, `scale` (null where the rule has none), `words` |
//! | `band` | `score`, `probability` (`[low, high]`), each null where there is none; `rounding`: a bound for each score, or null |
//! | `log10_cells` | decimal logarithm of the number of grid cells, or null |
//! | `domain` | what `--domain` says, as for `prune`, or null |
//! | `notes` | sentences about how the library executes this file |

mod arguments;
mod demo;
mod domain;
mod failure;
mod inspect;
mod interrupt;
mod model;
mod output;
mod pack;
mod predict;
mod progress;
mod prune;
mod shell;
mod table;
mod terminal;
mod verify;
mod verify_many;

use std::ffi::OsString;

use arguments::{Arguments, Command};
use clap::Parser;
use failure::Ending;

/// Runs `secateur-check` with these arguments, the first of which is its name; the exit code. What it says is wrapped where
/// stdout is a terminal.
pub fn check(arguments: impl IntoIterator<Item = std::ffi::OsString>) -> u8 {
    secateur_checker::command::run_fitted(arguments, &terminal::fit_stdout)
}

/// Runs one command as its process would, messages and all; the exit code. The first argument is the name of
/// the program. Ctrl-C ends the whole process.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let arguments = match Arguments::try_parse_from(arguments) {
        Ok(arguments) => arguments,
        Err(error) => {
            // Help is an error of this kind too. Where nobody reads, there is nothing to be done.
            let _ = error.print();
            return u8::try_from(error.exit_code()).unwrap_or(failure::BAD_INPUT);
        }
    };
    failure::report(|| {
        interrupt::start()?;
        run_command(&arguments)
    })
}

fn run_command(arguments: &Arguments) -> anyhow::Result<Ending> {
    let verbosity = arguments.verbosity();
    match &arguments.command {
        Command::Prune(command) => return prune::run(command, verbosity),
        Command::Verify(command) => return verify::run(command, verbosity),
        Command::VerifyMany(command) => return verify_many::run(command, verbosity),
        Command::Inspect(command) => inspect::run(command, verbosity)?,
        Command::Predict(command) => predict::run(command, verbosity)?,
        Command::Domain(command) => domain::run(command, verbosity)?,
        Command::Pack(command) => return pack::run(command, verbosity),
        Command::SelfTest(command) => return pack::self_test(command, verbosity),
        Command::Demo(command) => demo::run(command, verbosity)?,
        Command::Completions(command) => command.run()?,
        Command::Man(command) => command.run(verbosity)?,
    }
    Ok(Ending::Done)
}
