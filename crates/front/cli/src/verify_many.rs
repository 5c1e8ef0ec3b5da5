//! `secateur verify-many`: many pairs of models, from a list. Each pair gets its own line of
//! output, even if others fail, and a file of results lets a run resume where an earlier one was
//! ended.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;

use anyhow::{Context, Result, anyhow, bail};
use secateur::internal::FileDigest;
use secateur::{Band, Budget, Places, VerifyOptions, VerifyReport, check::Digest, verify};
use serde_json::{Value, json};

use crate::arguments::{Verbosity, VerifyMany};
use crate::failure::{Ending, guard};
use crate::{model, output};

/// Outcomes that do not change when a pair is asked again.
const FINAL: [&str; 5] = ["identical", "different", "within", "exceeds", "measured"];
/// Of these, the ones with a counterexample.
const REFUTED: [&str; 2] = ["different", "exceeds"];

/// A line of the list.
struct Pair {
    first: PathBuf,
    second: PathBuf,
}

/// The result of a pair.
struct Known {
    /// The digests of the models, if both could be read.
    models: Option<[String; 2]>,
    question: Value,
    outcome: String,
    /// The error, or why the pair is undecided.
    message: Option<String>,
    /// The object that `verify --json` prints.
    answer: Option<Value>,
    /// Was it taken from the file of results?
    kept: bool,
}

pub(crate) fn run(command: &VerifyMany, verbosity: Verbosity) -> Result<Ending> {
    let pairs = read_list(&command.list)?;
    let mut results = match &command.results {
        Some(path) => Some(Results::open(path)?),
        None => None,
    };
    let old = results.as_mut().map(|results| std::mem::take(&mut results.old)).unwrap_or_default();
    let cores = || thread::available_parallelism().map_or(1, usize::from);
    let threads = command.threads.unwrap_or_else(cores).clamp(1, pairs.len().max(1));
    let next = AtomicUsize::new(0);
    let mut endings = Vec::new();
    if !command.json {
        output::print("index,first,second,outcome,seconds,message\n")?;
    }
    thread::scope(|scope| -> Result<()> {
        let (sender, receiver) = mpsc::channel();
        for _ in 0..threads {
            let (sender, next, pairs, old) = (sender.clone(), &next, &pairs, &old);
            scope.spawn(move || {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(pair) = pairs.get(index) else { return };
                    if sender.send((index, ask_guarded(command, pair, old))).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        for (index, known) in receiver {
            let said = say(command, index, &pairs[index], &known, results.as_mut());
            endings.push(known.outcome);
            if let Err(error) = said {
                // Pairs that have not been started are skipped.
                next.store(pairs.len(), Ordering::Relaxed);
                return Err(error);
            }
        }
        Ok(())
    })?;
    let count = |wanted: &dyn Fn(&str) -> bool| endings.iter().filter(|outcome| wanted(outcome)).count();
    let refuted = count(&|outcome| REFUTED.contains(&outcome));
    let (failed, undecided) =
        (count(&|outcome| outcome == "failed"), count(&|outcome| outcome == "undecided"));
    let proved = endings.len() - refuted - failed - undecided;
    verbosity.note(format!(
        "{} pairs: {proved} proved, {refuted} refuted, {undecided} undecided, {failed} failed",
        endings.len()
    ));
    Ok(match (refuted, failed, undecided) {
        (1.., ..) => Ending::Refuted,
        (_, 1.., _) => Ending::Failed,
        (_, _, 1..) => Ending::Undecided,
        _ => Ending::Done,
    })
}

/// Reads the list: a CSV file with the columns `first` and `second`; other columns are ignored.
fn read_list(path: &Path) -> Result<Vec<Pair>> {
    let shown = path.display();
    let mut reader = csv::ReaderBuilder::new()
        .flexible(false)
        .trim(csv::Trim::All)
        .from_path(path)
        .map_err(|error| anyhow!("{shown}: the list cannot be read: {error}"))?;
    let header = reader.headers().map_err(|error| anyhow!("{shown}: {error}"))?.clone();
    let column = |name: &str| {
        let found = header.iter().position(|column| column.trim_start_matches('\u{feff}') == name);
        found.ok_or_else(|| anyhow!("{shown}: the list has no column `{name}`; its first line is the names of its columns, and `first` and `second` hold the paths of the models"))
    };
    let (first, second) = (column("first")?, column("second")?);
    let mut pairs = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|error| anyhow!("{shown}: {error}"))?;
        pairs.push(Pair { first: PathBuf::from(&record[first]), second: PathBuf::from(&record[second]) });
    }
    Ok(pairs)
}

/// Prints a result, and appends it to the file of results.
fn say(
    command: &VerifyMany,
    index: usize,
    pair: &Pair,
    known: &Known,
    results: Option<&mut Results>,
) -> Result<()> {
    let mut line = json!({
        "index": index,
        "first": pair.first.display().to_string(),
        "second": pair.second.display().to_string(),
        "models": known.models,
        "outcome": known.outcome,
        "message": known.message,
        "answer": known.answer,
    });
    if command.json {
        output::print(&format!("{line}\n"))?;
    } else {
        let seconds = known.answer.as_ref().and_then(|answer| answer["seconds"].as_f64());
        let seconds = seconds.map_or(String::new(), |seconds| format!("{seconds:.3}"));
        let mut row = csv::WriterBuilder::new().has_headers(false).from_writer(Vec::new());
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let message = known.message.clone().unwrap_or_default();
        let fields = [index.to_string(), text(&line["first"]), text(&line["second"]), known.outcome.clone()];
        row.write_record(fields.iter().chain([&seconds, &message]))?;
        output::print(&String::from_utf8_lossy(&row.into_inner()?))?;
    }
    match results {
        Some(results) if !known.kept => {
            line["question"] = known.question.clone();
            results.add(&line)
        }
        _ => Ok(()),
    }
}

/// Compares one pair; a panic in it does not end the others.
fn ask_guarded(command: &VerifyMany, pair: &Pair, old: &Old) -> Known {
    let failed = |message: String| Known {
        models: None,
        question: Value::Null,
        outcome: "failed".to_owned(),
        message: Some(message),
        answer: None,
        kept: false,
    };
    match guard(|| ask(command, pair, old)) {
        Ok(Ok(known)) => known,
        Ok(Err(error)) => failed(format!("{error:#}")),
        Err(panic) => failed(format!("secateur itself failed: {panic}. This is a bug: please report it")),
    }
}

fn ask(command: &VerifyMany, pair: &Pair, old: &Old) -> Result<Known> {
    let budget = Budget::maybe(command.time_limit.map(|limit| limit.0));
    let [first, second] = [model::read(&pair.first)?, model::read(&pair.second)?];
    let domain = command.inputs.domain(&first.file)?;
    let models = [&first, &second].map(|model| Digest::of(model.file.ensemble()).to_string());
    let question = question(command, &domain);
    if let Some((outcome, answer)) = old.get(&(models.clone(), question.to_string())) {
        let (outcome, answer) = (outcome.clone(), Some(answer.clone()));
        return Ok(Known { models: Some(models), question, outcome, message: None, answer, kept: true });
    }
    let progress = Arc::default();
    let [one, two] = [&pair.first, &pair.second].map(|path| path.display().to_string());
    let options = VerifyOptions {
        question: command.asked.question(),
        domain,
        threads: Some(1),
        seed: command.seed,
        ..VerifyOptions::default()
    };
    let answer = verify(&first.file, &second.file, &[], &options, &budget, &progress)?;
    let places = Places {
        original: Some(&one),
        original_bytes: Some(first.bytes),
        pruned: Some(&two),
        pruned_bytes: Some(second.bytes),
        certificate: None,
    };
    let answer = VerifyReport { first: &first.file, second: &second.file, answer: &answer, places }.json();
    let outcome = answer["outcome"].as_str().unwrap_or_default().to_owned();
    let message = answer["reason"].as_str().map(str::to_owned);
    Ok(Known { models: Some(models), question, outcome, message, answer: Some(answer), kept: false })
}

/// The question about a pair: everything that an answer depends on besides the two models.
fn question(command: &VerifyMany, domain: &secateur::Domain) -> Value {
    let asked = &command.asked;
    let band = match asked.band.0 {
        _ if asked.scores => Value::Null,
        Band::Auto => json!("auto"),
        Band::Exact => json!(0.0),
        Band::Score(score) => json!(score),
    };
    json!({
        "scores": asked.scores,
        "band": band,
        "threshold": asked.threshold,
        "within": asked.within,
        "doubles": asked.doubles,
        "missing": !command.inputs.no_missing,
        // The debug output includes the models that a `where` refers to, with their trees.
        "domain": command.inputs.domain.as_ref().map(|_| FileDigest::of(format!("{domain:?}").as_bytes()).to_string()),
    })
}

/// Answers of earlier runs, by the digests of the models and the question.
type Old = HashMap<([String; 2], String), (String, Value)>;

/// The file of results: one line of JSON for each.
struct Results {
    file: File,
    path: PathBuf,
    old: Old,
}

impl Results {
    fn open(path: &Path) -> Result<Self> {
        let shown = path.display();
        let mut old = Old::new();
        let mut whole = 0;
        if path.exists() {
            let text = std::fs::read(path).map_err(|error| anyhow!("{shown}: cannot be read: {error}"))?;
            // Bytes after the last line feed are an incomplete line of a run that was ended.
            whole = text.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
            for (number, line) in text[..whole].split_inclusive(|&byte| byte == b'\n').enumerate() {
                let Some((key, answer)) = entry(line) else {
                    bail!(
                        "{shown}, line {}: this is not a result of verify-many; give another file",
                        number + 1
                    );
                };
                if let Some(key) = key {
                    old.insert(key, answer);
                }
            }
        }
        let file = OpenOptions::new().create(true).append(true).open(path);
        let file = file.map_err(|error| anyhow!("{shown}: cannot be written: {error}"))?;
        if path.metadata().is_ok_and(|kind| kind.is_file()) {
            file.set_len(whole as u64).with_context(|| format!("{shown}: cannot be written"))?;
        }
        Ok(Self { file, path: path.to_owned(), old })
    }

    fn add(&mut self, line: &Value) -> Result<()> {
        let written = self.file.write_all(format!("{line}\n").as_bytes());
        written.with_context(|| format!("{}: cannot be written", self.path.display()))
    }
}

/// Reads one line of the file of results: its key if it holds a final answer, and the answer.
/// `None` if it is not a result.
#[expect(clippy::type_complexity, reason = "a pair of what the map above holds")]
fn entry(line: &[u8]) -> Option<(Option<([String; 2], String)>, (String, Value))> {
    let mut line: Value = serde_json::from_slice(line).ok()?;
    let (models, question) = (line.get("models")?.clone(), line.get("question")?.clone());
    let outcome = line.get("outcome")?.as_str()?.to_owned();
    let answer = line.get_mut("answer")?.take();
    let key = match models {
        Value::Array(models) if FINAL.contains(&outcome.as_str()) && answer.is_object() => {
            let [first, second] = models.try_into().ok()?;
            Some(([first.as_str()?.to_owned(), second.as_str()?.to_owned()], question.to_string()))
        }
        _ => None,
    };
    Some((key, (outcome, answer)))
}
