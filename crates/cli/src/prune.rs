//! `secateur prune`: a smaller model that decides the same on every input, or on request one of a given
//! size that does not ([`unproved`]).
//!
//! The model that is written is the one that was proved: pruning works on files, so nothing is left to
//! rounding on the way out. Rows that the user gives are looked at once more at the end with both files.

mod certificate;
mod page;
mod report;
mod unproved;

use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, bail};
use secateur_formats::ModelFile;
use secateur_model::{ClassId, Ensemble, Predictor, Scope};
use secateur_oracle::{Band, exact_class};
use secateur_prune::{Config, LinearSolver, Outcome, Pruned, Status, Watch, certain_winner, prune};

use crate::arguments::{self, Prune, Talk};
use crate::failure::Ending;
use crate::model::Model;
use crate::output::Output;
use crate::progress::{Progress, percent};
use crate::report::{History, PageFile, Pair};
use crate::table::Table;
use crate::text::counted;
use crate::{interrupt, model, output};
use report::Report;

/// How often the progress is looked at.
const WATCH: Duration = Duration::from_millis(100);
/// The same where a report is to show the run over time.
const RECORD: Duration = Duration::from_millis(2);
/// Rows of the table that are used.
const MOST_ROWS: usize = 100_000;
/// What is left of the time for the certificate and its check: a few seconds, or this share where that is more,
/// but never more than the other.
const CERTIFICATE_TIME: Duration = Duration::from_secs(5);
const CERTIFICATE_SHARE: f64 = 0.15;
const MOST_CERTIFICATE_SHARE: f64 = 0.4;

/// Where the time went, in seconds.
#[derive(Clone, Copy, Debug, Default)]
struct Seconds {
    read: f64,
    certificate: f64,
    write: f64,
    total: f64,
}

pub(crate) fn run(command: &Prune, talk: Talk) -> Result<Ending> {
    let started = Instant::now();
    let solver = solver(command.solver)?;
    let original = model::read(&command.model)?;
    refuse_to_overwrite(command)?;
    let rows = read_rows(command, &original.file.ensemble().within(command.scope()), talk)?;
    // A place that cannot be written to is told before the work, not after it.
    let output = Output::open(Some(&command.output))?;
    let mut certificate = match &command.certificate {
        Some(path) => Some((path, Output::open(Some(path))?)),
        None => None,
    };
    let mut taken = vec![command.model.as_path(), &command.output];
    taken.extend(command.certificate.as_deref());
    taken.extend(command.data.as_deref());
    let page = PageFile::open(command.report.as_deref(), &taken)?;
    hint_at_extension(&command.output, &original.file, talk);
    if let Some(method) = command.method {
        return unproved::run(command, method, &original, rows, output, started);
    }
    let mut seconds = Seconds { read: started.elapsed().as_secs_f64(), ..Seconds::default() };
    let limit = command.time_limit.and_then(|limit| started.checked_add(limit.0));
    let config = config(command, solver, started);
    let watch = Watch::default();
    let mut history = page.as_ref().map(|_| History::start(original.file.ensemble().trees().len()));
    // Until the model is written, a first signal ends what is going on and nothing more.
    let listening = interrupt::listen(&config.cancel);
    let trees = original.file.ensemble().trees().len();
    let pruned = watched(&watch, &config, trees, history.as_mut(), talk, || {
        prune(&original.file, &rows.values, &config, &watch)
    });
    let pruned = pruned.map_err(|error| anyhow!("{}: {error}", command.model.display()))?;
    let checked = check(&original.file, &pruned, &rows, command.band.0)?;
    let (bytes, written) = read_back(&original, &pruned)?;
    let certifying = Instant::now();
    let proof = if checks(command) {
        certificate::make(&original.file, &written, &pruned.evidence, &config, limit, &watch)?
    } else {
        None
    };
    match (&proof, &mut certificate) {
        (Some(proof), Some((_, output))) => output.write(&proof.bytes)?,
        _ => certificate = None,
    }
    seconds.certificate = certifying.elapsed().as_secs_f64();
    let writing = Instant::now();
    write(output, &bytes)?;
    // The proof is nothing without the file that it is about, so it comes last.
    let certificate = match certificate {
        Some((path, output)) => output.finish().map(|()| Some(path.display().to_string()))?,
        None => None,
    };
    drop(listening);
    seconds.write = writing.elapsed().as_secs_f64();
    seconds.total = started.elapsed().as_secs_f64();
    let interrupted = config.cancel.is_cancelled();
    let report = Report {
        command,
        original: &original,
        pruned: &pruned,
        bytes: bytes.len() as u64,
        interrupted,
        checked,
        certificate,
        proof,
        seconds,
    };
    if let (Some(page), Some(history)) = (page, history) {
        let pair = Pair {
            paths: [&command.model, &command.output],
            files: [&original.file, &pruned.file],
            bytes: [original.bytes, report.bytes],
            rows: &rows.values,
        };
        page.write(&report.page(&pair, history))?;
    }
    output::print(&if command.json { report.json()? } else { report.words(talk) })?;
    if checks(command) && report.proof.is_none() {
        talk.note(
            "note: the time was too short for a certificate; the model is proved, but the checker has not seen it",
        );
        return Ok(if interrupted { Ending::Interrupted } else { Ending::Undecided });
    }
    Ok(match pruned.outcome {
        _ if interrupted => Ending::Interrupted,
        Outcome::Proved | Outcome::AlreadyMinimal => Ending::Done,
        Outcome::BudgetReached => Ending::Undecided,
    })
}

/// Is the proof to be written down and checked?
fn checks(command: &Prune) -> bool {
    command.certificate.is_some() || !command.no_self_check
}

/// The solver of that name, if it was built in.
fn solver(wanted: arguments::Solver) -> Result<LinearSolver> {
    let name = match wanted {
        arguments::Solver::Simplex => "simplex",
        arguments::Solver::Microlp => "microlp",
        arguments::Solver::Highs => "highs",
    };
    LinearSolver::all().find(|solver| solver.name() == name).ok_or_else(|| {
        anyhow!(
            "--solver {name}: this build does not have it; leave the option out, or build with \
             `cargo build --release -p secateur-cli --features {name}`"
        )
    })
}

/// The user's choices.
fn config(command: &Prune, solver: LinearSolver, started: Instant) -> Config {
    let all_cores = || std::thread::available_parallelism().map_or(1, |count| count.get());
    Config {
        effort: match command.effort {
            arguments::Effort::Fast => secateur_prune::Effort::Fast,
            arguments::Effort::Thorough => secateur_prune::Effort::Thorough,
            arguments::Effort::Minimum => secateur_prune::Effort::Minimum,
        },
        objective: match command.objective {
            arguments::Objective::Trees => secateur_prune::Objective::Trees,
            arguments::Objective::Leaves => secateur_prune::Objective::Leaves,
            arguments::Objective::Bytes => secateur_prune::Objective::Bytes,
        },
        moves: match command.moves {
            arguments::Moves::Leaves => secateur_prune::Moves::Leaves,
            arguments::Moves::Weights => secateur_prune::Moves::Weights,
        },
        unit: command.weight_per.map(|unit| match unit {
            arguments::Unit::Round => secateur_prune::Unit::Round,
            arguments::Unit::Tree => secateur_prune::Unit::Tree,
        }),
        solver,
        band: command.band.0,
        scope: command.scope(),
        deadline: command.time_limit.and_then(|limit| {
            let kept_back = if checks(command) { certificate_time(limit.0) } else { Duration::ZERO };
            started.checked_add(limit.0 - kept_back)
        }),
        threads: command.threads.unwrap_or_else(all_cores).max(1),
        seed: command.seed,
        ..Config::default()
    }
}

/// The part of a time limit that is kept for the certificate.
pub(crate) fn certificate_time(limit: Duration) -> Duration {
    let share = limit.mul_f64(CERTIFICATE_SHARE).max(CERTIFICATE_TIME);
    share.min(limit.mul_f64(MOST_CERTIFICATE_SHARE))
}

/// No file that is read may be written to: not the model, not the table.
fn refuse_to_overwrite(command: &Prune) -> Result<()> {
    let same = |a: &Path, b: &Path| match (a.canonicalize(), b.canonicalize()) {
        (Ok(a), Ok(b)) => a == b,
        _ => false,
    };
    let shown = command.output.display();
    if same(&command.output, &command.model) {
        bail!(
            "{shown}: this is the model itself, which the proof is about; write to another name, and replace the \
             original when you are done with it"
        );
    }
    if command.data.as_ref().is_some_and(|data| same(&command.output, data)) {
        bail!("{shown}: this is the table; write to another name");
    }
    if let Some(certificate) = &command.certificate
        && (certificate == &command.output || same(certificate, &command.model))
    {
        bail!("{}: the certificate needs a file of its own", certificate.display());
    }
    Ok(())
}

/// A file is loaded by its name in some libraries: say so where the name promises another format.
fn hint_at_extension(output: &Path, file: &ModelFile, talk: Talk) {
    let (dialect, own) = (file.dialect(), file.extension());
    let given = output.extension().map(|extension| extension.to_string_lossy().to_ascii_lowercase());
    if let Some(given) = given
        && given != own
        && ["ubj", "json", "txt", "skops", "onnx"].contains(&given.as_str())
    {
        let shown = output.display();
        talk.note(format!(
            "note: {shown} will hold what the model is, {dialect}, whatever its name says; .{own} would fit"
        ));
    }
}

/// The user's rows.
#[derive(Debug, Default)]
struct Rows {
    /// One after the other, those that the library accepts.
    values: Vec<f64>,
    /// Their classes, where they are asked for.
    classes: Vec<ClassId>,
}

fn read_rows(command: &Prune, ensemble: &Ensemble, talk: Talk) -> Result<Rows> {
    let Some(path) = &command.data else {
        if command.target.is_some() {
            bail!("--target goes with --data");
        }
        return Ok(Rows::default());
    };
    let mut table = Table::open(path, ensemble, command.target.as_deref())?;
    let (values, classes) = table.first_rows(MOST_ROWS, command.method.is_some())?;
    table.unseen_notes().for_each(|note| talk.note(note));
    let width = ensemble.features().len().max(1);
    let accepted = |row: &[f64]| row.iter().all(|&value| ensemble.domain().read(value).is_some());
    let count = values.len() / width;
    let kept: Vec<usize> =
        values.chunks_exact(width).enumerate().filter(|(_, row)| accepted(row)).map(|(at, _)| at).collect();
    if kept.len() < count {
        let left_out = counted((count - kept.len()) as u64, "row has", "rows have");
        let why = match ensemble.scope() {
            Scope::All => "values that the library does not accept as an input of this model",
            Scope::NoMissing => "missing values, or values that the library does not accept,",
        };
        talk.note(format!("note: {}: {left_out} {why} and are left out", path.display()));
    }
    if count == MOST_ROWS {
        talk.note(format!("note: {}: the first {MOST_ROWS} rows are used", path.display()));
    }
    if kept.len() == count {
        return Ok(Rows { values, classes });
    }
    Ok(Rows {
        values: kept.iter().flat_map(|&row| &values[row * width..][..width]).copied().collect(),
        classes: kept.iter().filter_map(|&row| classes.get(row).copied()).collect(),
    })
}

/// Runs the pruning and shows how far it has come.
fn watched<T: Send>(
    watch: &Watch,
    config: &Config,
    trees: usize,
    mut history: Option<&mut History>,
    talk: Talk,
    prune: impl FnOnce() -> T + Send,
) -> T {
    let (working, done) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        // The end of the work closes the channel, and so wakes the watcher at once.
        let worker = scope.spawn(move || {
            let _working = working;
            prune()
        });
        let mut progress = Progress::start(talk);
        let mut told = false;
        let step = if history.is_some() { RECORD } else { WATCH };
        while done.recv_timeout(step) == Err(RecvTimeoutError::Timeout) {
            if let Some(history) = &mut history {
                history.note(&watch.status());
            }
            told = told || tell_of_interrupt(config, talk, &mut progress);
            progress.line(|| status_words(&watch.status(), trees, watch.search.share(), config.deadline));
        }
        if !told {
            tell_of_interrupt(config, talk, &mut progress);
        }
        progress.finish();
        worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Says what Ctrl-C or another signal does, if one came.
fn tell_of_interrupt(config: &Config, talk: Talk, progress: &mut Progress) -> bool {
    if !config.cancel.is_cancelled() {
        return false;
    }
    progress.clear();
    talk.note("interrupted: the best model so far is being written (Ctrl-C again: nothing is)");
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

/// What the user's rows say at the end.
#[derive(Clone, Copy, Debug)]
struct Checked {
    rows: usize,
    /// Rows inside the band on which the libraries now decide otherwise.
    changed_in_band: usize,
}

/// Predicts the user's rows with both files. A difference that the claim excludes would be a fault of ours.
fn check(original: &ModelFile, pruned: &Pruned, rows: &Rows, band: Band) -> Result<Option<Checked>> {
    if rows.values.is_empty() {
        return Ok(None);
    }
    let [ours, theirs] = [original.ensemble(), pruned.file.ensemble()];
    let [before, after] = [ours, theirs].map(|model| Predictor::new(model).classes(&rows.values));
    let (before, after) = (before?, after?);
    let width = ours.features().len();
    let mut changed_in_band = 0;
    for (index, (before, after)) in before.iter().zip(&after).enumerate() {
        if before == after {
            continue;
        }
        let row = &rows.values[index * width..][..width];
        let excluded = match band {
            Band::Exact => exact_class(ours, row) != exact_class(theirs, row),
            _ => {
                let read: Vec<f64> = row.iter().filter_map(|&value| ours.domain().read(value)).collect();
                let sums = ours.exact_sums(ours.leaves(&read));
                certain_winner(ours, &sums, Some(pruned.band)).is_some()
            }
        };
        if excluded {
            bail!(
                "secateur itself failed: the pruned model decides row {} of the table otherwise, against its proof. \
                 No file was written. This is a bug: please report it with the model and that row",
                index + 1
            );
        }
        changed_in_band += 1;
    }
    Ok(Some(Checked { rows: before.len(), changed_in_band }))
}

/// What will be written, and the model that a library will find there.
fn read_back(original: &Model, pruned: &Pruned) -> Result<(Vec<u8>, ModelFile)> {
    let mut bytes = Vec::with_capacity(original.bytes as usize);
    pruned.file.write(&mut bytes)?;
    let written = ModelFile::parse(&bytes).ok().filter(|file| file.ensemble() == pruned.file.ensemble());
    match written {
        Some(written) => Ok((bytes, written)),
        None => bail!(
            "secateur itself failed: the pruned model does not read back as what was proved. No file was written. \
             This is a bug: please report it with the model"
        ),
    }
}

fn write(mut output: Output, bytes: &[u8]) -> Result<()> {
    output.write(bytes)?;
    output.finish()
}
