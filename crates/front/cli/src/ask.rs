//! `secateur ask`: what can one model do?
//!
//! The answers are those of `secateur::ask`; this file has the flags, the files and the progress
//! display.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Result, anyhow, bail};
pub(crate) use secateur::ask::suffixed;
use secateur::ask::{Changes, Condition, Options, Question, Report, Rules, ask};
use secateur::{Budget, Conclusion};

use crate::arguments::{Ask, Inputs, Verbosity};
use crate::failure::Ending;
use crate::output::{Files, Output, json_text, refuse_to_overwrite};
use crate::terminal::fit_stdout;
use crate::verify::{Most, read_rows, watched};
use crate::{interrupt, model};

pub(crate) fn run(command: &Ask, verbosity: Verbosity) -> Result<Ending> {
    let read = model::read(&command.model)?;
    let rules = rules(command)?;
    let places: Vec<Option<PathBuf>> = match &command.certificate {
        Some(path) if rules.of_file => {
            (1..=rules.questions.len()).map(|at| Some(suffixed(path, at))).collect()
        }
        path => vec![path.clone(); rules.questions.len()],
    };
    let inputs = match (&command.inputs, rules.domain) {
        (own @ (Inputs { domain: Some(_), .. } | Inputs { no_missing: true, .. }), _) | (own, None) => {
            own.domain(&read.file)?
        }
        (_, domain) => Inputs { domain, no_missing: false }.domain(&read.file)?,
    };
    let data = command.data.as_deref();
    let about_rows = rules.questions.iter().any(Question::is_about_rows);
    if about_rows && data.is_none() {
        bail!("the question is about rows: give a table with --data");
    }
    let most = if about_rows { Most::Every } else { Most::Starts };
    let ensemble = read.file.ensemble();
    let rows = read_rows(data, command.target.as_deref(), &command.reading, ensemble, most, verbosity)?;
    let options = Options {
        domain: inputs,
        threshold: command.threshold,
        threads: command.threads,
        seed: command.seed,
        labels: None,
    };
    let mut ending = Ending::Done;
    for (question, place) in rules.questions.iter().zip(&places) {
        let inputs = [
            (Some(&*command.model), "the model"),
            (data, "the table"),
            (command.inputs.domain.as_deref(), "the domain"),
        ];
        let mut files = Files::reading(inputs);
        let inputs: Vec<(&Path, &str)> =
            inputs.iter().filter_map(|(path, what)| Some(((*path)?, *what))).collect();
        // Of several rows each has a file of its own, which is opened when it is known which are proved.
        let width = read.file.ensemble().features().len().max(1);
        let one = question.row().is_some() || rows.len() <= width;
        let several = question.is_about_rows() && !one;
        let certificate = files.open(place.as_deref().filter(|_| !several), "the certificate")?;
        let budget = Budget::maybe(command.time_limit.map(|limit| limit.0));
        let shared = Arc::default();
        // The first signal ends the search with what is known.
        let listening = interrupt::listen(&budget.cancel());
        let answer =
            watched(&shared, verbosity, || ask(&read.file, question, &rows, &options, &budget, &shared));
        drop(listening);
        let answer = answer.map_err(|error| anyhow!("{}: {error}", command.model.display()))?;
        let mut certificate = files.fill(certificate, answer.certificate.as_deref())?;
        if several && let Some(place) = place {
            for case in &answer.cases {
                let Some(bytes) = &case.certificate else { continue };
                let path = suffixed(place, case.at + 1);
                refuse_to_overwrite(&path, &inputs)?;
                let mut output = Output::open(Some(&path))?;
                output.write(bytes)?;
                output.finish()?;
                certificate = Some(place.display().to_string());
            }
        }
        let report = Report { model: &read.file, answer: &answer, certificate: certificate.as_deref() };
        let text = match command.json {
            true => json_text(&report.json())?,
            false => fit_stdout(&report.words(verbosity == Verbosity::Verbose)),
        };
        files.finish(&text)?;
        if place.is_some() && answer.is_unchecked() {
            verbosity
                .note("note: the time was too short for the certificate and its check, so it is not written");
        }
        if budget.is_cancelled() {
            return Ok(Ending::Interrupted);
        }
        ending = match (ending, answer.outcome) {
            (Ending::Refuted, _) | (_, Conclusion::Refuted) => Ending::Refuted,
            (_, Conclusion::Proved) if place.is_some() && answer.is_unchecked() => Ending::Undecided,
            (ending, Conclusion::Proved) => ending,
            (_, Conclusion::Open) => Ending::Undecided,
        };
    }
    Ok(ending)
}

/// The questions of a command.
struct Asked {
    questions: Vec<Question>,
    domain: Option<PathBuf>,
    /// They come from a file of rules.
    of_file: bool,
}

/// What the words of the command ask.
fn rules(command: &Ask) -> Result<Asked> {
    let words = &command.words;
    let mut when = Condition::default();
    for text in &command.when {
        when.and(text).map_err(|error| anyhow!("--when {error}"))?;
    }
    let name = command.question.as_str();
    let given = [
        ("--at-most", command.at_most.is_some(), ["range", "moves"].contains(&name)),
        ("--at-least", command.at_least.is_some(), name == "range"),
        ("--of", command.of.is_some(), name == "monotone"),
        ("--never", !command.never.is_empty(), name == "decides"),
        ("--when", !command.when.is_empty(), name == "decides"),
        ("--row", command.row.is_some(), ["robust", "explain", "counterfactual"].contains(&name)),
        ("--to", command.to.is_some(), name == "counterfactual"),
        ("--frozen", !command.frozen.is_empty(), name == "counterfactual"),
        ("--only-up", !command.only_up.is_empty(), name == "counterfactual"),
        ("--only-down", !command.only_down.is_empty(), name == "counterfactual"),
        ("--weight", !command.weight.is_empty(), name == "counterfactual"),
        ("--count-changes", command.count_changes, name == "counterfactual"),
        ("--within", !command.within.is_empty(), name == "robust"),
        ("--unit", !command.unit.is_empty(), name == "robust"),
        ("--share", command.share.is_some(), name == "robust"),
        ("--smallest", command.smallest, name == "explain"),
        ("--exact-values", command.exact_values, name == "explain"),
    ];
    if let Some((flag, ..)) = given.iter().find(|(_, given, fits)| *given && !*fits) {
        bail!("{flag} does not go with {name}");
    }
    let needs = |what: &str| match words.is_empty() {
        true => Err(anyhow!("{name} needs {what}: secateur ask MODEL {name} {}", what_words(name))),
        false => Ok(()),
    };
    let nothing = || words.first().map_or(Ok(()), |word| Err(anyhow!("{name} takes no {word:?}")));
    let row = match command.row {
        Some(0) => bail!("--row counts from 1"),
        row => row.map(|row| row - 1),
    };
    let question = match name {
        "range" => {
            nothing()?;
            Question::Range { at_least: command.at_least, at_most: command.at_most }
        }
        "moves" => {
            needs("a column")?;
            Question::Moves { columns: words.clone(), at_most: command.at_most }
        }
        "keeps" => {
            needs("a column")?;
            Question::Keeps { columns: words.clone() }
        }
        "idle" => {
            if let Some(word) = words.first() {
                bail!("idle takes no {word:?}: it asks about every column");
            }
            Question::Idle
        }
        "monotone" => {
            let [column, direction] = &words[..] else {
                bail!("monotone needs a column and a direction: secateur ask MODEL monotone COLUMN up|down");
            };
            let down = match direction.as_str() {
                "up" => false,
                "down" => true,
                other => {
                    bail!("{other:?} is no direction: up (the score never falls) or down (it never rises)")
                }
            };
            Question::Monotone { column: column.clone(), down, of: command.of.clone() }
        }
        "decides" => {
            if words.is_empty() && command.never.is_empty() {
                needs("a class, or --never CLASS")?;
            }
            let when = (!when.is_empty()).then_some(when);
            Question::Decides { classes: words.clone(), never: command.never.clone(), when }
        }
        "robust" => {
            nothing()?;
            let within = amounts(&command.within, "--within")?;
            let units = amounts(&command.unit, "--unit")?;
            Question::Robust { row, within, units, share: command.share }
        }
        "explain" => {
            nothing()?;
            Question::Explain { row, smallest: command.smallest, widen: !command.exact_values }
        }
        "counterfactual" => {
            nothing()?;
            let changes = Changes {
                to: command.to.clone(),
                frozen: command.frozen.clone(),
                only_up: command.only_up.clone(),
                only_down: command.only_down.clone(),
                weights: amounts(&command.weight, "--weight")?,
                count: command.count_changes,
            };
            Question::Counterfactual { row, changes }
        }
        file => {
            let path = Path::new(file);
            let is_file = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("toml"));
            if !is_file {
                bail!(
                    "there is no question {file:?}: range, moves, keeps, idle, monotone, decides, robust, explain, counterfactual, or a file of rules (.toml)"
                );
            }
            if let Some(word) = words.first() {
                bail!("{word:?}: a file of rules says what its questions are about");
            }
            let rules = Rules::read(path).map_err(|error| anyhow!("{file}: {error}"))?;
            return Ok(Asked { questions: rules.questions, domain: rules.domain, of_file: true });
        }
    };
    Ok(Asked { questions: vec![question], domain: None, of_file: false })
}

fn what_words(name: &str) -> &'static str {
    if name == "decides" { "CLASS..." } else { "COLUMN..." }
}

/// `COLUMN=NUMBER`, each.
fn amounts(given: &[String], flag: &str) -> Result<Vec<(String, f64)>> {
    let one = |text: &String| {
        let wrong = || anyhow!("{flag} {text:?}: write COLUMN=NUMBER");
        let (column, number) = text.rsplit_once('=').ok_or_else(wrong)?;
        let number = number.trim().parse().map_err(|_| wrong())?;
        Ok((column.trim().to_owned(), number))
    };
    given.iter().map(one).collect()
}
