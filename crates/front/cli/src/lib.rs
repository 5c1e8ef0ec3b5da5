//! The `secateur` command line: makes models smaller that decide the same, shows the contents of a
//! model file, predicts bit for bit, and tells whether two models decide alike.
//!
//! Each command has a file (`advise`, `inspect`, `predict`, `prune`, `verify`, `verify-many`, `domain`,
//! `pack`, `demo`, and `shell` for completions and manual pages). `table` reads CSV, Parquet and Arrow
//! files, `output` writes a file whole or not at all. Results go to stdout; notes, progress and
//! errors go to stderr.
//!
//! # Exit codes
//! - 0: done, or proved.
//! - 1: refuted, with a counterexample.
//! - 2: bad usage, bad input, or an output that cannot be written. No file is written then, except
//!   for those that the message names (if stdout failed after they were written).
//! - 3: undecided within the budget. For `prune`, the time limit came first, and the file holds the
//!   best model that was proved by then.
//! - 130: interrupted by Ctrl-C, 143: by SIGTERM, 129: by SIGHUP. `prune` writes the best model
//!   that was proved by then.
//!
//! # `prune --json`
//! - `outcome`: `proved`, `budget_reached`, `already_minimal`; `unproved` with `--method`.
//! - `unchanged`: the model has not changed.
//! - `interrupted`.
//! - `met_standard_limit`: no time limit was given, and the standard one of five minutes ended the
//!   search.
//! - `checked`: has the independent checker accepted the proof?
//! - `trees`: `before` and `after`; `empty`, the trees of the latter that are a single leaf of
//!   zero; and `unused`, the additional trees of the original after the best round of early
//!   stopping.
//! - `leaves`, `bytes`: each `before` and `after`.
//! - `lower_bound`: no model within the allowed moves has fewer trees; null with `--within`, when
//!   no bound is claimed.
//! - `minimal`: the bound is met.
//! - `irreducible`: no single tree can be removed; found by the LP solver and not proved.
//! - `dialect`: of the file that is written, in words.
//! - `scope`: `all`, `no_missing` if missing values are left out, or `domain`; for models that read
//!   different number types `f32`, `f32_no_missing` or `f32_domain`.
//! - `domain`: null for all inputs, or `missing`, `columns`, `groups`, `where` as in a domain file,
//!   and `cells_log10`.
//! - `rows_outside_domain`: null, or the number of `rows` and the `first` of them.
//! - `band`: `score`, `probability`, and `exact` (the claim is about exact sums); null with
//!   `--within`.
//! - `threshold`: null for the library's own decisions, or the `probability` that is the threshold
//!   and the `score` there with its `gap`.
//! - `within`: how far scores may be from the original's, or null.
//! - `score_shift`: with `--within` and rows, the number of `rows` and the `largest` change of a
//!   score on them.
//! - `oracle_calls`, `points`.
//! - `seconds`: `read`, `fold` (folding trees), `points` (choosing inputs, trying weights on them and
//!   making models), `lp` (the linear programs), `oracle`, `bounds` (looking for what must stay),
//!   `certificate` (with its check), `write`, `rows` (choosing and deciding the rows of `--data`),
//!   `pack` (measuring the packed original), and `total`, which the others add up to but for
//!   milliseconds.
//! - `output`, `certificate`: a path each; the latter may be null.
//! - `data`: null, or the number of `rows`; of the `measured` rows the number `in_band`, those that
//!   are `rounded` (the library decides them differently from the exact sums), and
//!   `changed_in_band`.
//! - `probability_shift`: null, or how far probabilities move on the `rows`: `largest`, `mean` and,
//!   with two classes and a `--target`, the `auc` `before` and `after` (otherwise null). Measured,
//!   not proved.
//! - `pack`: null, or where pruning removed less than a tenth of the trees: the packed model's
//!   `bytes`, `row_seconds` (the time of one row alone, measured on this machine) and
//!   `batch_row_seconds` (of a row among many); both are null if there was no row to measure with.
//! - `fates`: for each tree of the original its `fate` (`kept`, `scaled`, `rewritten`, `merged`,
//!   `constant`, `dropped`), with `weight` and `into` if they apply.
//! - `relevant_thresholds`: null if they were not examined, or `count` and `total`.
//!
//! With `--method`:
//! - `method`, `rows`.
//! - `members`: `before`, `after`, `chosen`; null for `rows` and `boxes`.
//! - `fidelity`: the share of rows that are decided as before.
//! - `accuracy`: null if no classes are given.
//! - `oracle`: for `rows` and `boxes` the oracle's findings against the model, as `verify --json`
//!   prints them; otherwise null.
//!
//! # `advise --json`
//! - `dialect`, `trees`, `bytes`: of the model.
//! - `advice`: the command that helps most: `prune`, `prune_less` (with a smaller claim), `pack`,
//!   `neither`.
//! - `pack`: null, or `bytes`, `row_seconds`, `batch_row_seconds` as for `prune`, and the `command`.
//! - `pack_refused`: why the model cannot be packed, or null.
//! - `trials[]`: `way` (`decisions`, `no_missing`, `like_the_rows`, `band`, `within`), `option` (of
//!   Python's `prune`), `band`, `within`, `trees` (that are left, or null), `refused` (why there is
//!   no answer, or null), `minimal` (no fewer trees can do, proved), `ended` (the search came to its
//!   end within the trial's time), `seconds`, `command`.
//! - `seconds`.
//!
//! # `verify --json`
//! - `outcome`: `identical`, `different`, `undecided`.
//! - `reason`: why it is undecided, or null.
//! - `threshold`: null, or the probability at which the models decide.
//! - `band`, `data`, `scope`, `domain`, `rows_outside_domain`: as for `prune`.
//! - `inputs`: the inputs of the claim, in words.
//! - `labels`: how category labels were matched: the columns `by_label` and `by_code`; `unplaced`
//!   means by code, because a file does not name the columns of its labels.
//! - `counterexample`: null, or `input` (by feature, with null for missing), `labels` (of its
//!   values that stand for a label), `classes`, `scores`, `in_libraries`, `nearest_row` (`row`
//!   counted from 1, `index` from 0, `columns_changed`).
//! - `certificate`: a path, or null.
//! - `checked`: has the independent checker accepted it?
//! - `nodes`, `seconds`.
//!
//! With `--scores`:
//! - `outcome`: `measured`, `within`, `exceeds`, `undecided`.
//! - `scores`: `within` (the limit or null), `at_most`, `rounding` (the part of `at_most` that
//!   comes from both libraries' rounding), `at_least` with `input`, `labels`, `output` and
//!   `of_input` (both scores there), `ended` (the exact difference is known, to four digits of the
//!   bound or to a thousandth of its rounding), `probability`.
//! - `reason`, `scope`, `inputs`, `domain`, `labels`, `certificate`, `checked`, `nodes`, `seconds`:
//!   as above.
//!
//! # `ask --json`
//! One object for each question:
//! - `question`: `range`, `moves`, `keeps`, `idle`, `monotone`, `decides`, `robust`, `explain`,
//!   `counterfactual`.
//! - `outcome`: `proved`, `refuted`, `open`; `reason`: why it is open, or why a search ended early, or
//!   null; `ended`: the search ended by itself.
//! - `sentence`: the answer in words, with its inputs.
//! - `scores`: for a range, of each `output` the proved bounds `at_least` and `at_most`, and the
//!   `lowest` and `highest` score found, each with its `row`, a position in `rows`; `probability`:
//!   what the bounds mean for a logistic model, or null.
//! - `moved`: for moves, `at_most` (proved), `at_least` (the two rows show it), `output`,
//!   `keeps_above` (whose score is farther than this from the threshold keeps the decision, or null).
//! - `idle`: for idle, each column that some split looks at (or the `columns` that the domain ties
//!   together), with its `outcome` and the two `rows` that refute it. The answer's own `columns` are those
//!   that never change a decision, and its proof is about all of them together.
//! - `bits`: for monotone, was it proved of the library's own numbers? Otherwise of exact sums, from
//!   which `rounding` is how far a score can be.
//! - `columns`, `output`, `classes`: what the question is about.
//! - `rows`: the rows that show it, each with `input`, `labels`, `scores`, `class`.
//! - `cases`: for robust, explain and counterfactual, of each row that is asked about: `row` (its
//!   position, from 0), `outcome`, `class`, `rows` (itself, and the nearest one found of another class),
//!   `radius` (null, or `at_least`, proved, `at_most` and `exact`), `because` (null, or `kept`: the
//!   `columns` of a reason and `between` which numbers they may be; `free`: how many others there are;
//!   `minimal`; `at_least`: no reason has fewer), `nearest` (null, or `distance`, null where no input is
//!   decided otherwise, `proved`, `weights`), `reason`, `inside` (a domain that is decided as the row is;
//!   for counterfactual what may change), `certificate`, `checked`.
//! - `threshold`, `scope`, `inputs`, `domain`, `certificate`, `checked`, `nodes`, `seconds`: as for
//!   `verify`.
//!
//! # `diff --json`
//! - `outcome`: `proved`, or `open` if a bound is not proved or its certificate was not checked.
//! - `sentence`: the answer in words, with its inputs.
//! - `rows`: null without a table, or `count` (rows that both libraries accept), `refused`, `changed`
//!   (decided otherwise) and its `share` (both null for regressors and rankers), `moved` (rows whose
//!   scores differ), `largest_move`, `mean_move`, `first` (the first changed rows, or those that move
//!   farthest) and `outside_domain` (as `rows_outside_domain` of `prune`).
//! - A row has its `index` (from 0, null for a row that the search found), `input`, `labels`,
//!   `classes` and `scores` of both models, `lead` of the first model's class, `moved`, and `trees`:
//!   those that differ most there, each with its position `tree`, both `values` and the `columns` on
//!   the row's way through it.
//! - `scores`: as for `verify --scores`; `reason`: why its search ended early, or null.
//! - `keeps`: null for regressors and rankers, or `above` (proved: a class that leads by more than this
//!   keeps the decision), `by` (`decisions`: a certificate about decisions, `scores`: it follows from
//!   the largest move), `all` (every decision stays that is no artefact of rounding), `shown` (the
//!   changed row with the largest lead that was found), `ended` (`above` is known to a hundredth),
//!   `reason`.
//! - `trees`: how many there are `before` and `after`, and the positions that `changed`.
//! - `certificates`: the paths of those for `scores` and `decisions`, each null if it is not written.
//! - `threshold`, `scope`, `inputs`, `domain`, `labels`, `checked`, `nodes`, `seconds`: as for `verify`.
//!
//! # `verify-many --json`
//! One object on a line for each pair:
//! - `index`: its position in the list, from 0.
//! - `first`, `second`: the paths.
//! - `models`: their digests, null if one could not be read.
//! - `outcome`: as for `verify`, or `failed`.
//! - `message`: why it failed or is undecided, or null.
//! - `answer`: the object that `verify --json` prints, or null.
//!
//! A line of the `--results` file also has the `question`: the options that the answer depends on.
//! The exit code is 1 if some pair is refuted, otherwise 2 if some pair failed, otherwise 3 if some
//! pair is undecided, otherwise 0.
//!
//! # `domain --json`
//! `domain` (`missing`, `columns`, `groups`, `where` as in a domain file), `support` (a sentence
//! for each part), `rows`.
//!
//! # `pack --json`
//! - `outcome`: `same_bits`; with `--prune` `same_decisions`.
//! - `bytes`: `before` and `after`; for a model as source (`-o model.c`) also `tables`, the size of
//!   its tables after compilation.
//! - `within`: null.
//! - `certificate`: a path, or null.
//! - `checked`.
//! - `cover`: `rows`; `paths`, the instruction sets that gave the library's bits on them. A model
//!   as source has `test` instead (`rows`, or null without `--test`).
//! - With `--prune` also `trees` and `band`.
//!
//! `self-test --json`: `passed`, `rows`, `paths` (each with `path` and `same_bits`).
//!
//! # `inspect --json`
//! One object whose keys do not change:
//! - `file`, `bytes`: the path as given, the size of the file.
//! - `framework`, `dialect`: `xgboost`, `lightgbm`, `catboost`, `scikit-learn` or `onnx`; version
//!   and encoding in words.
//! - `trees`, `leaves`, `depth`, `splits`, `distinct_splits`: counts; `depth` is that of the
//!   deepest leaf.
//! - `features`: `count`, `named` (by the file), `used` (by some split), `columns`.
//! - `features.columns[]`: `index`, `name`, `type` (`f32`, `f64`, `categorical`), `splits`,
//!   `categories` and `labels` (or null); without names in the file only columns that some split
//!   uses.
//! - `classes`: `count`, `named` (by the file), `labels`.
//! - `input`: `number` (`f32`, `f64`), `missing`, `infinities`, `zero_window` (or null),
//!   `zero_branch`, `unseen_categories` (`left_out`, `missing`, `mixed` or null).
//! - `scores`: `count`, `number`, `intercepts`, `intercept` (`first`, `last`), `order` (`file`,
//!   `any`), `average` (null, or `divisor` and `in_raw_scores`), `scale` (null, or the factor that
//!   sums are multiplied by before the intercept is added).
//! - `decision`: `rule` (`threshold`, `argmax`, `argmax_softmax`, `argmax_sigmoid`), `score`,
//!   `threshold`, `strict`, `scale` (null if the rule has none), `words`.
//! - `band`: `score`, `probability` (`[low, high]`), each null if there is none; `rounding`: a
//!   bound for each score, or null.
//! - `log10_cells`: decimal logarithm of the number of grid cells, or null.
//! - `domain`: the contents of the `--domain` file, as for `prune`, or null.
//! - `notes`: sentences about how the library executes this file.

mod advise;
mod arguments;
mod ask;
mod demo;
mod diff;
mod domain;
mod failure;
mod inspect;
mod interrupt;
mod model;
mod output;
mod pack;
mod predict;
mod predictions;
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

/// Runs `secateur-check` with these arguments, the first of which is the program's name, and
/// returns the exit code. If stdout is a terminal, the text is wrapped to its width.
pub fn check(arguments: impl IntoIterator<Item = std::ffi::OsString>) -> u8 {
    secateur_check::run_fitted(arguments, &terminal::fit_stdout)
}

/// Runs one command as its own process would, messages included, and returns the exit code. The
/// first argument is the name of the program. Ctrl-C ends the whole process.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let arguments = match Arguments::try_parse_from(arguments) {
        Ok(arguments) => arguments,
        Err(error) => {
            // Help is an error of this kind too. A failure to print it is ignored: nobody is
            // reading.
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
        Command::Advise(command) => return advise::run(command, verbosity),
        Command::Prune(command) => return prune::run(command, verbosity),
        Command::Verify(command) => return verify::run(command, verbosity),
        Command::Ask(command) => return ask::run(command, verbosity),
        Command::Diff(command) => return diff::run(command, verbosity),
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
