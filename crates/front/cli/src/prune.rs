//! `secateur prune`: makes a smaller model that decides the same on every input, or on request one
//! of a given size that does not (`--method`).
//!
//! The pipeline from the model to the checked result is `secateur::prune`; this file has the flags,
//! the files and the progress display.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use clap::ValueEnum;
use secateur::prune::unproved::{Order, Scrutiny, prune_to_size, prune_without_proof};
use secateur::{
    Budget, Cancel, Claim, ModelFile, Places, PruneOptions, PruneReport, Pruning, Watch, prune,
    prune::{MOST_ROWS, Outcome, Status, accepted_rows, offers, trial_words},
};
use secateur_model::{ClassId, Ensemble};

use crate::arguments::{Keep, Method, Prune, Verbosity};
use crate::failure::Ending;
use crate::model::Model;
use crate::output::{Files, Opened, json_text};
use crate::progress::{Progress, WATCH, percent};
use crate::table::{MOST_VALUES, Reading, Table, Target};
use crate::terminal::fit_stdout;
use crate::verify::LimitOrNone;
use crate::{interrupt, model, output};
use secateur::internal::{text::counted, watch_while};

/// After a run, trials of what would make the model smaller get as much time as the run took,
/// within these limits.
const SHORTEST_TRIALS: Duration = Duration::from_secs(1);
const LONGEST_TRIALS: Duration = Duration::from_secs(10);
pub(crate) fn run(command: &Prune, verbosity: Verbosity) -> Result<Ending> {
    let budget = LimitOrNone::budget(command.time_limit);
    refuse_mixed_claims(command)?;
    let unproved = command.method.map(|method| unproved(command, method)).transpose()?;
    let original = model::read(&command.model)?;
    let model = "the model itself, which the proof is about (replace it when you are done with it)";
    let mut files = Files::reading([
        (Some(&*command.model), model),
        (command.data.as_deref(), "the table"),
        (command.inputs.domain.as_deref(), "the domain"),
    ]);
    let output = files.open(Some(&command.output), "the pruned model, and each needs a file of its own")?;
    let certificate = "the certificate, and each needs a file of its own";
    let certificate = files.open(command.certificate.as_deref(), certificate)?;
    let page = files.open(command.report.as_deref(), "the report")?;
    let domain = command.inputs.domain(&original.file)?;
    let rows = read_rows(command, original.file.ensemble(), verbosity)?;
    hint_at_extension(&command.output, &original.file, verbosity);
    if let Some(way) = unproved {
        let options = options(command, domain, &original.file);
        return without_proof(command, way, &original, &rows, (files, output), &options, &budget);
    }
    let read = budget.elapsed().as_secs_f64();
    let mut options = options(command, domain, &original.file);
    options.classes = rows.classes;
    let trees = original.file.ensemble().trees().len();
    let watch = Watch::default();
    // Until the model is written, the first signal only ends the search.
    let listening = interrupt::listen(&budget.cancel());
    let pruning = watched(&watch, &budget, options.self_check, trees, verbosity, || {
        prune(&original.file, &rows.values, &options, &budget, &watch)
    });
    let mut pruning = pruning.map_err(|error| anyhow!("{}: {error}", command.model.display()))?;
    pruning.seconds.read = read;
    let writing = Instant::now();
    let bytes = pruning.bytes.as_deref().context("a model that was read from a file has bytes")?;
    // The certificate is useless without the model file, so it is written after the model.
    files.fill(output, Some(bytes))?;
    let proof = pruning.certificate.as_ref().map(|proof| &*proof.bytes);
    let certificate = files.fill(certificate, proof)?;
    pruning.seconds.write += writing.elapsed().as_secs_f64();
    pruning.seconds.total = budget.elapsed().as_secs_f64();
    let [from, to] = [&command.model, &command.output].map(|path| path.display().to_string());
    let report = PruneReport {
        original: &original.file,
        options: &options,
        pruning: &pruning,
        places: Places {
            original: Some(&from),
            original_bytes: Some(original.bytes),
            pruned: Some(&to),
            certificate: certificate.as_deref(),
            ..Places::default()
        },
    };
    let text = if command.json {
        json_text(&report.json())?
    } else {
        fit_stdout(&report.words(verbosity == Verbosity::Verbose))
    };
    if page.is_some() {
        files.fill(page, Some(report.html(&rows.values).as_bytes()))?;
    }
    // The signals are listened for until the files have their names.
    let written = files.finish("")?;
    drop(listening);
    output::print(&text).map_err(|error| output::after_writing(error, &written))?;
    if !command.json && verbosity != Verbosity::Quiet && pruning.has_little() {
        let told = show_offers(&original, &rows.values, &options, &pruning, &budget, verbosity);
        told.map_err(|error| output::after_writing(error, &written))?;
    }
    if let (Some(outside), true, Some(path)) = (&pruning.outside, command.json, &command.data) {
        verbosity.note(format!("note: {}: {}", path.display(), outside.words(original.file.ensemble())));
    }
    if options.self_check && !pruning.checked() {
        verbosity.note(
            "note: the time was too short for a certificate; the model is proved, but the checker has not seen it",
        );
        return Ok(if pruning.interrupted { Ending::Interrupted } else { Ending::Undecided });
    }
    Ok(match pruning.pruned.outcome {
        _ if pruning.interrupted => Ending::Interrupted,
        Outcome::Proved | Outcome::AlreadyMinimal => Ending::Done,
        Outcome::BudgetReached => Ending::Undecided,
    })
}

/// If little can be removed, measures and shows what would make the model smaller. The files are
/// already written, so the user may press Ctrl-C at any time.
fn show_offers(
    original: &Model,
    rows: &[f64],
    options: &PruneOptions,
    pruning: &Pruning,
    budget: &Budget,
    verbosity: Verbosity,
) -> Result<()> {
    if pruning.interrupted {
        return Ok(());
    }
    let mut limit = budget.elapsed().clamp(SHORTEST_TRIALS, LONGEST_TRIALS);
    if pruning.pruned.outcome == Outcome::BudgetReached {
        limit = Duration::ZERO;
    }
    if let Some(deadline) = budget.deadline() {
        limit = limit.min(deadline.saturating_duration_since(Instant::now()));
    }
    let mut progress = Progress::start(verbosity);
    let trees = pruning.pruned.size[1].trees;
    let found = watch_while(
        WATCH,
        || offers(&original.file, rows, options, limit, &Cancel::default()),
        || progress.line(|| "measuring what would make it smaller".to_owned()),
    );
    progress.finish();
    output::tell(&trial_words(&found, &original.file, trees))
}

/// `--method`: one of the paper's baselines, or the paper's pruner with a weakened oracle.
fn without_proof(
    command: &Prune,
    way: Way,
    original: &Model,
    rows: &Rows,
    (mut files, output): (Files<'_>, Option<Opened>),
    options: &PruneOptions,
    budget: &Budget,
) -> Result<Ending> {
    let read = budget.elapsed();
    let pruned = match way {
        Way::Searched(scrutiny) => {
            let Rows { values, classes } = rows;
            let listening = interrupt::listen(&budget.cancel());
            let watch = Watch::default();
            let pruned =
                prune_without_proof(&original.file, values, classes, scrutiny, options, budget, &watch);
            drop(listening);
            pruned
        }
        Way::ToSize(order, size) => {
            if let (true, Some(data)) = (rows.classes.is_empty(), &command.data) {
                bail!("{}: --method chooses trees by labelled rows, and the table has none", data.display());
            }
            prune_to_size(&original.file, &rows.values, &rows.classes, order, size)
        }
    };
    let pruned = pruned.map_err(|error| anyhow!("{}: {error}", command.model.display()))?;
    let bytes = pruned.bytes.as_deref().context("a model that was read from a file has bytes")?;
    files.fill(output, Some(bytes))?;
    let to = command.output.display().to_string();
    let places = Places { original_bytes: Some(original.bytes), pruned: Some(&to), ..Places::default() };
    let text = if command.json {
        json_text(&pruned.json(places, read.as_secs_f64()))?
    } else {
        fit_stdout(&pruned.words(places))
    };
    files.finish(&text)?;
    Ok(Ending::Done)
}

/// A way to prune without a proof.
enum Way {
    /// The pruner, with a weakened oracle.
    Searched(Scrutiny),
    /// One of the paper's baselines: the order in which trees are chosen, and how many.
    ToSize(Order, usize),
}

/// The way that `--method` asks for, with its options.
fn unproved(command: &Prune, method: Method) -> Result<Way> {
    let order = match method {
        Method::Rows | Method::Boxes => return searched(command, method).map(Way::Searched),
        Method::Ic => Order::Contribution,
        Method::Imd => Order::MarginDiversity,
        Method::Drep => Order::Diversity,
    };
    let name = method_name(method);
    let Some(size) = command.size else {
        bail!("--method {name} needs --size K: how many trees it keeps");
    };
    if command.target.is_none() {
        bail!("--method {name} needs --target NAME: the column with the classes");
    }
    for (given, flag) in [
        (command.boxes.is_some(), "--boxes"),
        (command.time_limit.is_some(), "--time-limit"),
        (command.inputs.no_missing, "--no-missing"),
        (command.inputs.domain.is_some(), "--domain"),
    ] {
        if given {
            bail!("{flag} cannot be used with --method {name}");
        }
    }
    Ok(Way::ToSize(order, size))
}

/// The scrutiny that `--method rows` and `--method boxes` ask for.
fn searched(command: &Prune, method: Method) -> Result<Scrutiny> {
    let scrutiny = if method == Method::Boxes {
        let boxes = command.boxes.filter(|&boxes| boxes > 0);
        Scrutiny::Boxes(boxes.context("--method boxes needs --boxes N, with N from 1 up")?)
    } else {
        Scrutiny::Rows
    };
    if command.boxes.is_some() && method != Method::Boxes {
        bail!("--boxes goes with --method boxes");
    }
    if command.size.is_some() {
        bail!("--size goes with --method ic, imd and drep; other methods find their own size");
    }
    if command.effort == secateur::Effort::Minimum {
        bail!("--method {} proves no smallest size: --effort fast or thorough", method_name(method));
    }
    Ok(scrutiny)
}

fn method_name(method: Method) -> String {
    method.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}

/// The user's options. A certificate that is to be written is always checked.
fn options(command: &Prune, domain: secateur::Domain, model: &ModelFile) -> PruneOptions {
    PruneOptions {
        effort: command.effort,
        objective: command.objective,
        moves: command.moves,
        weight_per: command.weight_per,
        claim: match command.within {
            Some(within) => Claim::Scores { within },
            None if command.keep == Keep::Scores => secateur::prune::keep_scores(model),
            None => Claim::Decisions { band: command.band.0 },
        },
        threshold: command.threshold,
        classes: Vec::new(),
        labels: None,
        domain,
        threads: command.threads,
        seed: command.seed,
        self_check: command.certificate.is_some() || !command.no_self_check,
        record: command.report.is_some(),
        crew: None,
    }
}

/// Refuses options about decisions if scores are to be kept.
fn refuse_mixed_claims(command: &Prune) -> Result<()> {
    let band = command.band.0 != secateur::Band::Auto;
    let given = [
        (band, "--band"),
        (command.threshold.is_some(), "--threshold"),
        (command.method.is_some(), "--method"),
    ];
    match given.iter().find(|(given, _)| *given && command.keep == Keep::Scores) {
        Some((_, name)) => bail!("{name} is about decisions and does not go with --keep scores"),
        None => Ok(()),
    }
}

/// Some libraries detect a file's format by its name: prints a note if the name promises another
/// format.
fn hint_at_extension(output: &Path, file: &ModelFile, verbosity: Verbosity) {
    let (dialect, own) = (file.dialect(), file.extension());
    let given = output.extension().map(|extension| extension.to_string_lossy().to_ascii_lowercase());
    if let Some(given) = given
        && given != own
        && ["ubj", "json", "txt", "skops", "onnx"].contains(&given.as_str())
    {
        let shown = output.display();
        verbosity.note(format!(
            "note: {shown} will hold what the model is, {dialect}, whatever its name says; .{own} would fit"
        ));
    }
}

/// The user's rows.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    /// The rows that the library accepts, one after the other.
    pub(crate) values: Vec<f64>,
    /// Their classes, if the table has them.
    classes: Vec<ClassId>,
}

fn read_rows(command: &Prune, ensemble: &Ensemble, verbosity: Verbosity) -> Result<Rows> {
    let Some(path) = &command.data else {
        if command.target.is_some() {
            bail!("--target goes with --data");
        }
        return Ok(Rows::default());
    };
    let wanted = if command.method.is_some() { Target::Classes } else { Target::ClassesIfAll };
    rows_of(path, command.target.as_deref(), &command.reading, wanted, ensemble, verbosity)
}

/// The first rows of a table that the library accepts.
pub(crate) fn rows_of(
    path: &Path,
    target: Option<&str>,
    reading: &Reading,
    wanted: Target,
    ensemble: &Ensemble,
    verbosity: Verbosity,
) -> Result<Rows> {
    let mut table = Table::open(path, ensemble, target, reading)?;
    table.header_note().into_iter().for_each(|note| verbosity.note(note));
    let (values, classes) = table.first_rows(MOST_ROWS, wanted)?;
    table.unseen_notes().for_each(|note| verbosity.note(note));
    let width = ensemble.features().len().max(1);
    let count = values.len() / width;
    let kept = accepted_rows(ensemble, &values);
    if kept.len() < count {
        let left_out = counted((count - kept.len()) as u64, "row has", "rows have");
        let why = "values that the library does not accept as an input of this model";
        verbosity.note(format!("note: {}: {left_out} {why} and are left out", path.display()));
    }
    if count == MOST_ROWS || values.len() >= MOST_VALUES {
        verbosity.note(format!("note: {}: the first {count} rows are used", path.display()));
    }
    if kept.len() == count {
        return Ok(Rows { values, classes });
    }
    Ok(Rows {
        values: kept.iter().flat_map(|&row| &values[row * width..][..width]).copied().collect(),
        classes: kept.iter().filter_map(|&row| classes.get(row).copied()).collect(),
    })
}

/// Runs the whole pipeline and shows its progress.
fn watched<T>(
    watch: &Watch,
    budget: &Budget,
    certifies: bool,
    trees: usize,
    verbosity: Verbosity,
    prune: impl FnOnce() -> T,
) -> T {
    let mut progress = Progress::start(verbosity);
    let mut told = false;
    let deadline = budget.search_deadline(certifies);
    let result = watch_while(WATCH, prune, || {
        told = told || tell_of_interrupt(budget, verbosity, &mut progress);
        progress.line(|| status_words(&watch.status(), trees, watch.search.share(), deadline));
    });
    if !told {
        tell_of_interrupt(budget, verbosity, &mut progress);
    }
    progress.finish();
    result
}

/// Prints how the command reacts to a signal, if one came.
fn tell_of_interrupt(budget: &Budget, verbosity: Verbosity, progress: &mut Progress) -> bool {
    if !budget.is_cancelled() {
        return false;
    }
    progress.clear();
    verbosity.note("interrupted: the best model so far is being written (Ctrl-C again: nothing is)");
    true
}

/// `eliminate: 41/60 trees (try 40, min 12), round 12, 340 points, 63%, 26 s left`.
fn status_words(status: &Status, trees: usize, share: f64, deadline: Option<Instant>) -> String {
    let mut text = format!("{}: {}/{trees} trees", status.pass.name(), status.best.unwrap_or(trees));
    let candidate = status.candidate.map(|candidate| format!("try {candidate}"));
    let least = (status.lower_bound > 0).then(|| format!("min {}", status.lower_bound));
    let both: Vec<String> = candidate.into_iter().chain(least).collect();
    if !both.is_empty() {
        text += &format!(" ({})", both.join(", "));
    }
    text += &format!(", round {}, {}", status.round, counted(status.points as u64, "point", "points"));
    text += &format!(", {}", percent(share));
    if let Some(deadline) = deadline {
        let left = deadline.saturating_duration_since(Instant::now());
        text += &format!(", {:.0} s left", left.as_secs_f64());
    }
    text
}
