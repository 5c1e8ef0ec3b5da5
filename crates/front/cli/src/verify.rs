//! `secateur verify`: do two models decide alike on every input? With `--scores`: how far can their
//! scores be apart?
//!
//! The pipeline is `secateur::verify`; this file has the flags, the files and the progress display.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, anyhow, bail};
use secateur::internal::watch_while;
use secateur::{
    Band, Budget, Conclusion, Places, Progress, VerifyOptions, VerifyReport, prune::MOST_ROWS, verify,
};
use secateur_model::Ensemble;

use crate::arguments::{Verbosity, Verify};
use crate::failure::Ending;
use crate::output::{Files, json_text};
use crate::progress::WATCH;
use crate::table::{MOST_VALUES, Reading, Table};
use crate::terminal::fit_stdout;
use crate::{interrupt, model, progress};

pub(crate) fn run(command: &Verify, verbosity: Verbosity) -> Result<Ending> {
    let budget = Budget::maybe(command.time_limit.map(|limit| limit.0));
    let [first, second] = [model::read(&command.first)?, model::read(&command.second)?];
    let mut files = Files::reading([
        (Some(&*command.first), "the first model"),
        (Some(&*command.second), "the second model"),
        (command.data.as_deref(), "the table"),
        (command.inputs.domain.as_deref(), "the domain"),
    ]);
    let certificate = files.open(command.certificate.as_deref(), "the certificate")?;
    files.take(command.checkpoint.as_deref(), "the checkpoint")?;
    let page = files.open(command.report.as_deref(), "the report")?;
    let domain = command.inputs.domain(&first.file)?;
    let data = command.data.as_deref();
    let rows = read_rows(
        data,
        command.target.as_deref(),
        &command.reading,
        first.file.ensemble(),
        Most::Starts,
        verbosity,
    )?;
    let options = VerifyOptions {
        question: command.asked.question(),
        domain,
        threads: command.threads,
        seed: command.seed,
        certificate: command.certificate.is_some(),
        checkpoint: command.checkpoint.clone(),
        ..VerifyOptions::default()
    };
    let shared = Arc::default();
    // With a checkpoint the first signal ends the search and keeps the checkpoint; without one
    // there is nothing to keep.
    let listening = command.checkpoint.as_ref().map(|_| interrupt::listen(&budget.cancel()));
    let answer =
        watched(&shared, verbosity, || verify(&first.file, &second.file, &rows, &options, &budget, &shared));
    drop(listening);
    let [one, two] = [&command.first, &command.second].map(|path| path.display().to_string());
    let answer = answer.map_err(|error| anyhow!("{one} and {two}: {error}"))?;
    let certificate = files.fill(certificate, answer.certificate.as_deref())?;
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
    if page.is_some() {
        files.fill(page, Some(report.html(&rows).as_bytes()))?;
    }
    let text = if command.json {
        json_text(&report.json())?
    } else {
        fit_stdout(&report.words(verbosity == Verbosity::Verbose))
    };
    files.finish(&text)?;
    let outside = answer.decisions().and_then(|found| found.outside.as_ref());
    if let (Some(outside), true, Some(path)) = (outside, command.json, &command.data) {
        verbosity.note(format!("note: {}: {}", path.display(), outside.words(first.file.ensemble())));
    }
    if answer.conclusion() == Conclusion::Proved && options.certificate && !answer.checked() {
        verbosity.note("note: the time was too short for the certificate's check, so it is not written");
        return Ok(Ending::Undecided);
    }
    Ok(match answer.conclusion() {
        Conclusion::Proved => Ending::Done,
        Conclusion::Refuted => Ending::Refuted,
        Conclusion::Open if budget.is_cancelled() => Ending::Interrupted,
        Conclusion::Open => Ending::Undecided,
    })
}

/// Runs a search and shows its progress.
pub(crate) fn watched<T>(shared: &Progress, verbosity: Verbosity, search: impl FnOnce() -> T) -> T {
    let mut progress = progress::Progress::start(verbosity);
    let result = watch_while(WATCH, search, || progress.count(shared.nodes(), "boxes", Some(shared.share())));
    progress.finish();
    result
}

/// Which rows of a table are read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Most {
    /// As many as a search starts from.
    Starts,
    /// All of them.
    Every,
}

/// The rows of the table, row after row.
pub(crate) fn read_rows(
    data: Option<&Path>,
    target: Option<&str>,
    reading: &Reading,
    ensemble: &Ensemble,
    most: Most,
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
    while most == Most::Every || count < MOST_ROWS && all.len() < MOST_VALUES {
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

/// `500ms`, `30s`, `5m30s`, `2h`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limit(pub(crate) Duration);

impl std::str::FromStr for Limit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || "try 30s, 10m, 5m30s, 2h".to_owned();
        // The longer name first, of which the other is the beginning.
        let units = [("ms", 0.001), ("s", 1.0), ("m", 60.0), ("h", 3600.0)];
        let (mut rest, mut total, mut before) = (text, 0.0, f64::INFINITY);
        while before == f64::INFINITY || !rest.is_empty() {
            let end =
                rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.').ok_or_else(wrong)?;
            let count: f64 = rest[..end].parse().map_err(|_| wrong())?;
            let unit = units.iter().find_map(|(unit, size)| Some((rest[end..].strip_prefix(unit)?, *size)));
            let (after, size) = unit.filter(|&(_, size)| size < before).ok_or_else(wrong)?;
            (rest, total, before) = (after, total + count * size, size);
        }
        Duration::try_from_secs_f64(total).map(Self).map_err(|_| wrong())
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
        assert_eq!("5m30s".parse::<Limit>().unwrap().0, Duration::from_secs(330));
        assert_eq!("1h30m15s500ms".parse::<Limit>().unwrap().0, Duration::from_millis(5_415_500));
        for zero in ["0s", "0ms", "0m", "0h", "0.0s"] {
            assert_eq!(zero.parse::<Limit>().unwrap().0, Duration::ZERO);
        }
        for wrong in
            ["30s5m", "5s5s", "5m30", "", "s", "ms", "30", "-1s", "-1ms", "nans", "infh", "3 é", "1 ms"]
        {
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
