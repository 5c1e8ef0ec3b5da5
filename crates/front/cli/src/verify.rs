//! `secateur verify`: do two models decide alike on every input? With `--scores`: how far can their
//! scores be apart?
//!
//! The pipelines are `secateur::verify` and `secateur::verify_scores`; this file has the flags, the
//! files and the progress display.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use anyhow::{Result, anyhow, bail};
use secateur::{
    Answer, Band, Budget, Domain, MOST_ROWS, Places, Progress, ScoreOptions, ScoreOutcome, ScoreReport,
    VerifyOptions, VerifyReport, verify, verify_scores,
};
use secateur_model::Ensemble;

use crate::arguments::{Verbosity, Verify};
use crate::failure::Ending;
use crate::output::{Output, PageFile, json_text};
use crate::table::{MOST_VALUES, Reading, Table};
use crate::terminal::fit_stdout;
use crate::{interrupt, model, output, progress};

/// How often the progress is polled.
const WATCH: Duration = Duration::from_millis(100);

pub(crate) fn run(command: &Verify, verbosity: Verbosity) -> Result<Ending> {
    let budget = Budget::maybe(command.time_limit.map(|limit| limit.0));
    let [first, second] = [model::read(&command.first)?, model::read(&command.second)?];
    let mut taken: Vec<(&Path, &str)> =
        vec![(&command.first, "the first model"), (&command.second, "the second model")];
    taken.extend(command.data.as_deref().map(|path| (path, "the table")));
    taken.extend(command.domain.as_deref().map(|path| (path, "the domain")));
    let out = match &command.certificate {
        Some(path) => {
            output::refuse_to_overwrite(path, &taken)?;
            taken.push((path, "the certificate"));
            Some((path, Output::open(Some(path))?))
        }
        None => None,
    };
    if let Some(path) = &command.checkpoint {
        output::refuse_to_overwrite(path, &taken)?;
        taken.push((path, "the checkpoint"));
    }
    let page = PageFile::open(command.report.as_deref(), &taken)?;
    let domain = command.domain(&first.file)?;
    let data = command.data.as_deref();
    let rows =
        read_rows(data, command.target.as_deref(), &command.reading, first.file.ensemble(), verbosity)?;
    let options = VerifyOptions {
        band: command.band.0,
        threshold: command.threshold,
        domain,
        threads: command.threads,
        seed: command.seed,
        certificate: command.certificate.is_some(),
        labels: [None, None],
        crew: None,
        checkpoint: command.checkpoint.clone(),
    };
    if command.scores {
        return run_scores(
            command,
            verbosity,
            [&first, &second],
            &rows,
            options.domain,
            &budget,
            (out, page),
        );
    }
    let shared = Arc::default();
    // With a checkpoint the first signal ends the search and keeps the checkpoint; without one
    // there is nothing to keep.
    let listening = command.checkpoint.as_ref().map(|_| interrupt::listen(&budget.cancel()));
    let answer =
        watched(&shared, verbosity, || verify(&first.file, &second.file, &rows, &options, &budget, &shared));
    drop(listening);
    let [one, two] = [&command.first, &command.second].map(|path| path.display().to_string());
    let answer = answer.map_err(|error| anyhow!("{one} and {two}: {error}"))?;
    // All files are complete before the first of them gets its final name.
    let mut files = Vec::new();
    let certificate = match (&answer.certificate, out) {
        (Some(proof), Some((path, mut out))) => {
            out.write(proof)?;
            out.complete()?;
            files.push((path.display().to_string(), out));
            Some(path.display().to_string())
        }
        _ => None,
    };
    let report = VerifyReport {
        first: &first.file,
        second: &second.file,
        answer: &answer,
        places: Places {
            original: Some(&one),
            original_bytes: Some(first.bytes),
            pruned: Some(&two),
            pruned_bytes: Some(second.bytes),
            certificate: certificate.as_deref(),
        },
    };
    if let (Some(page), Some(path)) = (page, &command.report) {
        files.push((path.display().to_string(), page.fill(&report.html(&rows))?));
    }
    let text = if command.json {
        json_text(&report.json())?
    } else {
        fit_stdout(&report.words(verbosity == Verbosity::Verbose))
    };
    let written = output::finish_all(files)?;
    output::print(&text).map_err(|error| output::after_writing(error, &written))?;
    if let (Some(outside), true, Some(path)) = (&answer.outside, command.json, &command.data) {
        verbosity.note(format!("note: {}: {}", path.display(), outside.words(first.file.ensemble())));
    }
    if answer.verdict == Answer::Identical && options.certificate && !answer.checked() {
        verbosity.note("note: the time was too short for the certificate's check, so it is not written");
        return Ok(Ending::Undecided);
    }
    if budget.is_cancelled() && matches!(answer.verdict, Answer::Undecided(_)) {
        return Ok(Ending::Interrupted);
    }
    Ok(match answer.verdict {
        Answer::Identical => Ending::Done,
        Answer::Different(_) => Ending::Refuted,
        Answer::Undecided(_) => Ending::Undecided,
    })
}

/// Answers how far the scores can be apart.
fn run_scores(
    command: &Verify,
    verbosity: Verbosity,
    [first, second]: [&model::Model; 2],
    rows: &[f64],
    domain: Domain,
    budget: &Budget,
    (out, page): (Option<(&PathBuf, Output)>, Option<PageFile>),
) -> Result<Ending> {
    let options = ScoreOptions {
        within: command.within,
        domain,
        doubles: command.doubles,
        threads: command.threads,
        seed: command.seed,
        certificate: command.certificate.is_some(),
        labels: [None, None],
        crew: None,
        checkpoint: command.checkpoint.clone(),
    };
    let shared = Arc::default();
    let listening = command.checkpoint.as_ref().map(|_| interrupt::listen(&budget.cancel()));
    let answer = watched(&shared, verbosity, || {
        verify_scores(&first.file, &second.file, rows, &options, budget, &shared)
    });
    drop(listening);
    let [one, two] = [&command.first, &command.second].map(|path| path.display().to_string());
    let answer = answer.map_err(|error| anyhow!("{one} and {two}: {error}"))?;
    let mut files = Vec::new();
    let mut certificate = None;
    if let (Some(proof), Some((path, mut out))) = (&answer.certificate, out) {
        out.write(proof)?;
        out.complete()?;
        files.push((path.display().to_string(), out));
        certificate = Some(path.display().to_string());
    }
    let certificate = certificate.as_deref();
    let report = ScoreReport { first: &first.file, second: &second.file, answer: &answer, certificate };
    if let (Some(page), Some(path)) = (page, &command.report) {
        let places = Places {
            original: Some(&one),
            original_bytes: Some(first.bytes),
            pruned: Some(&two),
            pruned_bytes: Some(second.bytes),
            certificate,
        };
        files.push((path.display().to_string(), page.fill(&report.html(rows, places))?));
    }
    let text = if command.json {
        json_text(&report.json())?
    } else {
        fit_stdout(&report.words(verbosity == Verbosity::Verbose))
    };
    let written = output::finish_all(files)?;
    output::print(&text).map_err(|error| output::after_writing(error, &written))?;
    let proved = matches!(answer.outcome, ScoreOutcome::Within | ScoreOutcome::Measured);
    if proved && options.certificate && !answer.checked() {
        verbosity
            .note("note: the time was too short for the certificate and its check, so it is not written");
        return Ok(Ending::Undecided);
    }
    if budget.is_cancelled() && answer.outcome == ScoreOutcome::Undecided {
        return Ok(Ending::Interrupted);
    }
    Ok(match answer.outcome {
        ScoreOutcome::Within | ScoreOutcome::Measured => Ending::Done,
        ScoreOutcome::Exceeds => Ending::Refuted,
        ScoreOutcome::Undecided => Ending::Undecided,
    })
}

/// Runs a search and shows its progress.
pub(crate) fn watched<T: Send>(
    shared: &Progress,
    verbosity: Verbosity,
    search: impl FnOnce() -> T + Send,
) -> T {
    std::thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel();
        // Sending fails only if the receiving thread has panicked.
        let searcher = scope.spawn(move || sender.send(search()).is_ok());
        let mut progress = progress::Progress::start(verbosity);
        let result = loop {
            match receiver.recv_timeout(WATCH) {
                Ok(result) => break Some(result),
                Err(RecvTimeoutError::Disconnected) => break None,
                Err(RecvTimeoutError::Timeout) => {
                    progress.count(shared.nodes(), "boxes", Some(shared.share()));
                }
            }
        };
        progress.finish();
        match (result, searcher.join()) {
            (Some(result), _) => result,
            (None, Err(panic)) => std::panic::resume_unwind(panic),
            (None, Ok(_)) => unreachable!("a search that ends sends its result"),
        }
    })
}

/// The rows of the table, row after row.
pub(crate) fn read_rows(
    data: Option<&Path>,
    target: Option<&str>,
    reading: &Reading,
    ensemble: &Ensemble,
    verbosity: Verbosity,
) -> Result<Vec<f64>> {
    let Some(path) = data else {
        if target.is_some() {
            bail!("--target goes with --data");
        }
        return Ok(Vec::new());
    };
    let mut table = Table::open(path, ensemble, target, reading)?;
    table.header_note().into_iter().for_each(|note| verbosity.note(note));
    let (mut all, mut chunk) = (Vec::new(), Vec::new());
    let mut count = 0;
    while count < MOST_ROWS && all.len() < MOST_VALUES {
        let rows = table.next_rows(&mut chunk)?;
        if rows == 0 {
            break;
        }
        all.extend_from_slice(&chunk);
        count += rows;
    }
    Ok(all)
}

/// `auto`, `0`, or a score.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BandArgument(pub(crate) Band);

impl std::str::FromStr for BandArgument {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is not a band: give auto, 0, or a positive number");
        if text == "auto" {
            return Ok(Self(Band::Auto));
        }
        match text.parse::<f64>().map_err(|_| wrong())? {
            0.0 => Ok(Self(Band::Exact)),
            score if score > 0.0 && score.is_finite() => Ok(Self(Band::Score(score))),
            _ => Err(wrong()),
        }
    }
}

/// `500ms`, `30s`, `10m`, `2h`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limit(pub(crate) Duration);

impl std::str::FromStr for Limit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || "try 30s, 10m, 2h".to_owned();
        let units = [("ms", 0.001), ("s", 1.0), ("m", 60.0), ("h", 3600.0)];
        let parts = units.iter().find_map(|(unit, seconds)| Some((text.strip_suffix(unit)?, seconds)));
        let (count, seconds) = parts.ok_or_else(wrong)?;
        let count: f64 = count.parse().map_err(|_| wrong())?;
        Duration::try_from_secs_f64(count * seconds).map(Self).map_err(|_| wrong())
    }
}

/// A time limit, or `none`, for commands that have a limit by default.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LimitOrNone(pub(crate) Option<Duration>);

impl LimitOrNone {
    /// The budget of a command that prunes: the standard one if no limit is given.
    pub(crate) fn budget(given: Option<Self>) -> Budget {
        given.map_or_else(Budget::standard, |limit| Budget::maybe(limit.0))
    }
}

impl std::str::FromStr for LimitOrNone {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "none" => Ok(Self(None)),
            _ => Ok(Self(Some(text.parse::<Limit>().map_err(|wrong| wrong + ", none")?.0))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_bands_are_read() {
        assert_eq!("30s".parse::<Limit>().unwrap().0, Duration::from_secs(30));
        assert_eq!("1.5m".parse::<Limit>().unwrap().0, Duration::from_secs(90));
        assert_eq!("2h".parse::<Limit>().unwrap().0, Duration::from_secs(7200));
        assert_eq!("250ms".parse::<Limit>().unwrap().0, Duration::from_millis(250));
        assert_eq!("1ms".parse::<Limit>().unwrap().0, Duration::from_millis(1));
        for zero in ["0s", "0ms", "0m", "0h", "0.0s"] {
            assert_eq!(zero.parse::<Limit>().unwrap().0, Duration::ZERO);
        }
        for wrong in ["", "s", "ms", "30", "-1s", "-1ms", "nans", "infh", "3 é", "1 ms"] {
            assert!(wrong.parse::<Limit>().is_err(), "{wrong}");
        }
        assert_eq!("2h".parse::<LimitOrNone>().unwrap().0, Some(Duration::from_secs(7200)));
        assert_eq!("none".parse::<LimitOrNone>().unwrap().0, None);
        assert!("None".parse::<LimitOrNone>().is_err());
        assert_eq!("auto".parse::<BandArgument>().unwrap().0, Band::Auto);
        assert_eq!("0".parse::<BandArgument>().unwrap().0, Band::Exact);
        assert_eq!("1e-3".parse::<BandArgument>().unwrap().0, Band::Score(1e-3));
        for wrong in ["", "-1", "nan", "inf", "some"] {
            assert!(wrong.parse::<BandArgument>().is_err(), "{wrong}");
        }
    }
}
