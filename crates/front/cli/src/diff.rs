//! `secateur diff`: what changed between two versions of a model?
//!
//! The answer is that of `secateur::diff`; this file has the flags, the files and the progress
//! display.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, anyhow};
use secateur::diff::{Options, Report, diff};
use secateur::{Budget, Conclusion};

use crate::arguments::{Diff, Verbosity};
use crate::ask::suffixed;
use crate::failure::Ending;
use crate::output::{Files, json_text};
use crate::terminal::fit_stdout;
use crate::verify::{Most, read_rows, watched};
use crate::{interrupt, model};

/// The time limit if none is given.
const LIMIT: Duration = Duration::from_secs(60);

pub(crate) fn run(command: &Diff, verbosity: Verbosity) -> Result<Ending> {
    let limit = command.time_limit.map_or(Some(LIMIT), |limit| limit.0);
    let budget = Budget::maybe(limit);
    let [first, second] = [model::read(&command.first)?, model::read(&command.second)?];
    let mut files = Files::reading([
        (Some(&*command.first), "the first model"),
        (Some(&*command.second), "the second model"),
        (command.data.as_deref(), "the table"),
        (command.inputs.domain.as_deref(), "the domain"),
    ]);
    let places =
        ["scores", "decisions"].map(|name| command.certificate.as_ref().map(|path| suffixed(path, name)));
    let scores = files.open(places[0].as_deref(), "the certificate of the largest move")?;
    let decisions = files.open(places[1].as_deref(), "the certificate of the safe lead")?;
    let data = command.data.as_deref();
    let rows = read_rows(
        data,
        command.target.as_deref(),
        &command.reading,
        first.file.ensemble(),
        Most::Starts,
        verbosity,
    )?;
    let options = Options {
        domain: command.inputs.domain(&first.file)?,
        threshold: command.threshold,
        threads: command.threads,
        seed: command.seed,
        ..Options::default()
    };
    let shared = Arc::default();
    // The first signal ends the search with what is known.
    let listening = interrupt::listen(&budget.cancel());
    let found =
        watched(&shared, verbosity, || diff(&first.file, &second.file, &rows, &options, &budget, &shared));
    drop(listening);
    let [one, two] = [&command.first, &command.second].map(|path| path.display().to_string());
    let found = found.map_err(|error| anyhow!("{one} and {two}: {error}"))?;
    let proofs = found.certificates();
    let written = [files.fill(scores, proofs[0])?, files.fill(decisions, proofs[1])?];
    let certificates = [written[0].as_deref(), written[1].as_deref()];
    let report = Report { first: &first.file, second: &second.file, difference: &found, certificates };
    let text = match command.json {
        true => json_text(&report.json())?,
        false => fit_stdout(&report.words(verbosity == Verbosity::Verbose)),
    };
    files.finish(&text)?;
    Ok(match found.outcome() {
        _ if budget.is_cancelled() => Ending::Interrupted,
        Conclusion::Proved => Ending::Done,
        _ => Ending::Undecided,
    })
}
