//! `secateur verify`: do two models decide alike on every input?

mod certificate;
mod page;

use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use secateur_formats::ModelFile;
use secateur_model::{ClassLabels, Ensemble, FeatureId, InputDomain, NumberType, Scope};
use secateur_oracle::{
    Band, Budget, CompareError, Compared, Counterexample, Options, Outline, StopReason, Undecided, Verdict,
};
use serde_json::{Map, Value, json};

use crate::arguments::{Talk, Verify};
use crate::failure::Ending;
use crate::progress::Progress;
use crate::prune::certificate_time;
use crate::report::{PageFile, Pair};
use crate::table::Table;
use crate::text::{counted, entry, number, printable};
use crate::{logistic, model, output};

/// How often the progress is looked at.
const WATCH: Duration = Duration::from_millis(100);
/// What may be spent, after a time limit is reached, on saying what is known.
const AFTER_LIMIT: Duration = Duration::from_millis(200);
/// Rows of the table that are used as starts.
const MOST_ROWS: usize = 100_000;

pub(crate) fn run(command: &Verify, talk: Talk) -> Result<Ending> {
    let started = Instant::now();
    let [first, second] = [model::read(&command.first)?, model::read(&command.second)?];
    let mut taken = vec![command.first.as_path(), &command.second];
    taken.extend(command.certificate.as_deref());
    taken.extend(command.data.as_deref());
    let page = PageFile::open(command.report.as_deref(), &taken)?;
    let out = certificate::open(command.certificate.as_deref(), &[&command.first, &command.second])?;
    let bytes = [first.bytes, second.bytes];
    let [first, second] = [first.file, second.file];
    let ours = first.ensemble().within(command.scope());
    let ours = ours.as_ref();
    let (theirs, matching) = align(ours, second.ensemble());
    let theirs = theirs.as_ref().unwrap_or(second.ensemble());
    let refused = |error| anyhow!("{} and {}: {error}", command.first.display(), command.second.display());
    let outline = Outline::new(ours, theirs, command.band.0).map_err(refused)?;
    let data = read_rows(command, ours)?;
    let width = ours.features().len();
    let threads =
        command.threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, |n| n.get()));
    let deadline = command.time_limit.and_then(|limit| started.checked_add(limit.0));
    let searched = command.time_limit.and_then(|limit| {
        let checks = if out.is_some() { certificate_time(limit.0) } else { Duration::ZERO };
        started.checked_add(limit.0.saturating_sub(checks))
    });
    let mut options = Options {
        budget: Budget { deadline: searched, ..Budget::unlimited() },
        threads: threads.max(1),
        seed: command.seed,
        ..Options::unlimited()
    };
    // A model and itself: there is nothing to lay out, unless the proof is to be written down.
    let nothing_to_prove = out.is_none() && outline.is_same_model();
    let laid_out = if nothing_to_prove {
        Ok(None)
    } else {
        // With no time left, small models are still laid out for what is said at the end.
        let least = Instant::now() + AFTER_LIMIT;
        let deadline = options.budget.deadline.map(|deadline| deadline.max(least));
        let budget = Budget { deadline, ..options.budget.clone() };
        match watched(&options, talk, || outline.clone().lay_out(&budget)) {
            Ok(comparison) => Ok(Some(comparison)),
            Err(CompareError::Stopped(reason)) => Err(reason),
            Err(error) => return Err(refused(error)),
        }
    };
    let (compared, proof) = match &laid_out {
        Ok(Some(comparison)) => {
            let cells = |row| comparison.atlas().cells_of(row);
            options.starts = data.chunks_exact(width.max(1)).filter_map(cells).collect();
            watched(&options, talk, || certificate::compare(comparison, &options, out))
                .context("the certificate cannot be written")?
        }
        Ok(None) => (Compared { verdict: Verdict::Identical, nodes: 0 }, None),
        Err(reason) => {
            let verdict = Verdict::Undecided(Undecided::Stopped(*reason));
            (Compared { verdict, nodes: 0 }, None)
        }
    };
    let comparison = laid_out.as_ref().ok().and_then(Option::as_ref);
    let certificate = match (&command.certificate, proof) {
        (Some(path), Some(proof)) => {
            let checked = certificate::check(proof, [ours, theirs], deadline)
                .with_context(|| format!("{}: not written", path.display()))?;
            checked.then(|| path.display().to_string())
        }
        _ => None,
    };
    let mut nearest = None;
    let verdict = match compared.verdict {
        Verdict::Different(example) => {
            let near = comparison.and_then(|comparison| comparison.nearest(&example, &data));
            nearest = near.as_ref().map(|(_, row, distance)| (*row, *distance));
            Verdict::Different(near.map_or(example, |(example, ..)| Box::new(example)))
        }
        other => other,
    };
    let proved_above = match verdict {
        // What is known all the same may take a little more than the limit, not much.
        Verdict::Undecided(_) => {
            let deadline = command.time_limit.map(|_| Instant::now() + AFTER_LIMIT);
            comparison.and_then(|it| it.proved_above(&Budget { deadline, ..Budget::unlimited() }))
        }
        _ => None,
    };
    let report = Report {
        first: &first,
        models: [ours, theirs],
        domain: outline.domain(),
        scope: outline.scope(),
        matching,
        band: outline.band(),
        verdict: &verdict,
        certificate,
        proved_above,
        nearest,
        nodes: compared.nodes,
        seconds: started.elapsed().as_secs_f64(),
    };
    if let Some(page) = page {
        let pair =
            Pair { paths: [&command.first, &command.second], files: [&first, &second], bytes, rows: &data };
        page.write(&report.page(&pair))?;
    }
    output::print(&if command.json {
        serde_json::to_string_pretty(&report.json()).context("cannot be written as JSON")? + "\n"
    } else {
        report.words(talk)
    })?;
    if verdict == Verdict::Identical && command.certificate.is_some() && report.certificate.is_none() {
        talk.note("note: the time was too short for the certificate's check, so it is not written");
        return Ok(Ending::Undecided);
    }
    Ok(match verdict {
        Verdict::Identical => Ending::Done,
        Verdict::Different(_) => Ending::Refuted,
        Verdict::Undecided(_) => Ending::Undecided,
    })
}

/// Runs a search and shows how far it has come.
fn watched<T: Send>(options: &Options, talk: Talk, search: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel();
        // Nobody is left to listen only where this thread panicked.
        let searcher = scope.spawn(move || sender.send(search()).is_ok());
        let mut progress = Progress::start(talk);
        let result = loop {
            match receiver.recv_timeout(WATCH) {
                Ok(result) => break Some(result),
                Err(RecvTimeoutError::Disconnected) => break None,
                Err(RecvTimeoutError::Timeout) => {
                    progress.count(options.progress.nodes(), "boxes", Some(options.progress.share()));
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

/// The second model with its columns in the order of the first, where names tell; and how columns were
/// matched.
fn align(first: &Ensemble, second: &Ensemble) -> (Option<Ensemble>, &'static str) {
    let (ours, theirs) = (first.features(), second.features());
    if !ours.has_names() || !theirs.has_names() {
        return (None, "by order (one of the models has no feature names)");
    }
    match second.with_column_order(ours) {
        Some(reordered) => (Some(reordered), "by name"),
        None => (None, "by order (the models name them differently)"),
    }
}

/// The rows of the table, one after the other.
fn read_rows(command: &Verify, ensemble: &Ensemble) -> Result<Vec<f64>> {
    let Some(path) = &command.data else {
        if command.target.is_some() {
            bail!("--target goes with --data");
        }
        return Ok(Vec::new());
    };
    let mut table = Table::open(path, ensemble, command.target.as_deref())?;
    let (mut all, mut chunk) = (Vec::new(), Vec::new());
    let mut count = 0;
    while count < MOST_ROWS {
        let rows = table.next_rows(&mut chunk)?;
        if rows == 0 {
            break;
        }
        all.extend_from_slice(&chunk);
        count += rows;
    }
    Ok(all)
}

struct Report<'a> {
    first: &'a ModelFile,
    models: [&'a Ensemble; 2],
    domain: &'a InputDomain,
    scope: Scope,
    matching: &'static str,
    band: f64,
    verdict: &'a Verdict,
    /// The path of the certificate that was written.
    certificate: Option<String>,
    /// For an undecided comparison: the claim is proved for this band.
    proved_above: Option<f64>,
    /// Row of the table that the counterexample is near to, and in how many columns it differs.
    nearest: Option<(usize, usize)>,
    nodes: u64,
    seconds: f64,
}

impl Report<'_> {
    /// The probabilities of the first model inside a band, for logistic models.
    fn probability(&self, band: f64) -> Option<[f64; 2]> {
        let secateur_model::Decision::Threshold { threshold, .. } = *self.models[0].decision() else {
            return None;
        };
        Some(logistic::interval(self.first.logistic_scale()?, threshold, band))
    }

    fn json(&self) -> Value {
        let (outcome, reason) = match self.verdict {
            Verdict::Identical => ("identical", None),
            Verdict::Different(_) => ("different", None),
            Verdict::Undecided(why) => ("undecided", Some(undecided(why))),
        };
        let counterexample = match self.verdict {
            Verdict::Different(example) => self.example_json(example),
            _ => Value::Null,
        };
        json!({
            "outcome": outcome,
            "reason": reason,
            "band": {"score": self.band, "probability": self.probability(self.band)},
            "proved_above": self.proved_above,
            "scope": self.scope.name(),
            "domain": domain_words(self.domain, self.scope),
            "counterexample": counterexample,
            "certificate": self.certificate,
            "nodes": self.nodes,
            "seconds": self.seconds,
        })
    }

    fn example_json(&self, example: &Counterexample) -> Value {
        let features = self.models[0].features();
        let input: Map<String, Value> = example
            .row
            .iter()
            .enumerate()
            .map(|(index, &value)| (features.name(FeatureId::new(index)).into_owned(), json_number(value)))
            .collect();
        let label = |model: usize| json_label(self.models[model].classes(), example.classes[model]);
        let scores =
            |model: usize| -> Vec<Value> { example.scores[model].iter().map(|&s| json_number(s)).collect() };
        json!({
            "input": input,
            "classes": [label(0), label(1)],
            "scores": [scores(0), scores(1)],
            "in_libraries": example.in_libraries,
            "nearest_row": self.nearest.map(|(row, columns)| json!({"row": row, "columns_changed": columns})),
        })
    }

    fn words(&self, talk: Talk) -> String {
        let mut text = match self.verdict {
            Verdict::Identical => "identical: proved\n".to_owned(),
            Verdict::Different(_) => "different\n".to_owned(),
            Verdict::Undecided(why) => format!("undecided: {}\n", undecided(why)),
        };
        let mut line = |key: &str, value: &str| text += &(entry(key, value) + "\n");
        let inputs = match self.scope {
            Scope::All => "",
            Scope::NoMissing => "for every input without missing values, ",
        };
        let claim = if self.band == 0.0 {
            format!("{inputs}in exact arithmetic, ties by each library's rule")
        } else {
            format!("{inputs}as the libraries decide, wherever {}", self.leads(self.band))
        };
        line("claim", &claim);
        if let Some(above) = self.proved_above {
            line("proved", &format!("they decide alike wherever {}", self.leads(above)));
        }
        line("inputs", &domain_words(self.domain, self.scope));
        line("columns", self.matching);
        if let Verdict::Different(example) = self.verdict {
            self.example_words(example, talk, &mut line);
        }
        if let Some(certificate) = &self.certificate {
            line("certificate", certificate);
        }
        line("boxes", &counted(self.nodes, "box", "boxes"));
        line("time", &format!("{:.3} s", self.seconds));
        text
    }

    fn leads(&self, band: f64) -> String {
        let probability = self.probability(band);
        let interval = probability.map(|interval| format!(" (probability {})", logistic::words(interval)));
        let interval = interval.unwrap_or_default();
        format!("the first model's winner leads by more than {band:.3e}{interval}")
    }

    fn example_words(&self, example: &Counterexample, talk: Talk, line: &mut dyn FnMut(&str, &str)) {
        for (model, key) in ["first says", "second says"].into_iter().enumerate() {
            let number_type = self.models[model].accumulation().number;
            let label = self.models[model].classes().text(example.classes[model]);
            let scores: Vec<String> = example.scores[model].iter().map(|&s| number(s, number_type)).collect();
            line(key, &format!("{}, raw score {}", printable(&label), scores.join(", ")));
        }
        if !example.in_libraries {
            line(
                "note",
                "the libraries round to the same class here: the difference is one of exact arithmetic",
            );
        }
        if let Some((row, columns)) = self.nearest {
            let what = match columns {
                0 => format!("the input is row {} of the table as it is", row + 1),
                _ => format!(
                    "the input is row {} of the table with {} changed",
                    row + 1,
                    counted(columns as u64, "column", "columns")
                ),
            };
            line("near", &what);
        }
        let features = self.models[0].features();
        let used: Vec<bool> = used_columns(self.models);
        let mut unused = 0;
        for (index, &value) in example.row.iter().enumerate() {
            if !used[index] && talk != Talk::Verbose {
                unused += 1;
                continue;
            }
            let name = features.name(FeatureId::new(index));
            let label = self.models[0].features().categories(FeatureId::new(index)).and_then(|categories| {
                let code = categories.code(value)?;
                categories.labels.as_ref()?.get(code as usize).cloned()
            });
            let shown = match label {
                Some(label) => printable(&label).into_owned(),
                None if value.is_nan() => "missing".to_owned(),
                None => number(value, self.domain.number),
            };
            line(&printable(&name), &shown);
        }
        if unused > 0 {
            line("others", &format!("{} that no split looks at", counted(unused, "column", "columns")));
        }
    }
}

fn used_columns(models: [&Ensemble; 2]) -> Vec<bool> {
    let mut used = vec![false; models[0].features().len()];
    for split in models.iter().flat_map(|model| model.trees()).flat_map(|tree| tree.splits()) {
        used[split.feature.index()] = true;
    }
    used
}

fn undecided(why: &Undecided) -> &'static str {
    match why {
        Undecided::Stopped(StopReason::Time) => "the time limit was reached",
        Undecided::Stopped(_) => "the budget was used up",
        Undecided::OrderOfAddition(_) => {
            "the last bits of the second model's scores vary (order of addition, processor), and for some inputs they \
             may decide"
        }
    }
}

/// Which inputs the claim is about.
pub(crate) fn domain_words(domain: &InputDomain, scope: Scope) -> String {
    let number = match domain.number {
        NumberType::F32 => "every f32 number",
        NumberType::F64 => "every f64 number",
    };
    let infinities = if domain.infinities { ", infinities" } else { "" };
    let missing = if domain.missing { ", missing values" } else { "" };
    let left_out = if scope == Scope::NoMissing { "; no missing values" } else { "" };
    format!("{number}{infinities}{missing}, in every column{left_out}")
}

/// Missing values are null; JSON has no infinities, so they are text.
fn json_number(value: f64) -> Value {
    if value.is_nan() {
        Value::Null
    } else if value.is_infinite() {
        json!(if value > 0.0 { "Infinity" } else { "-Infinity" })
    } else {
        json!(value)
    }
}

fn json_label(classes: &ClassLabels, class: secateur_model::ClassId) -> Value {
    match classes {
        ClassLabels::Unnamed(_) => json!(class.0),
        ClassLabels::Integers(labels) => json!(labels[class.index()]),
        ClassLabels::Floats(labels) => json!(labels[class.index()]),
        ClassLabels::Booleans(labels) => json!(labels[class.index()]),
        ClassLabels::Strings(labels) => json!(labels[class.index()]),
    }
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
        let wrong = || format!("{text:?} is not a time: give 500ms, 30s, 10m or 2h");
        let units = [("ms", 0.001), ("s", 1.0), ("m", 60.0), ("h", 3600.0)];
        let parts = units.iter().find_map(|(unit, seconds)| Some((text.strip_suffix(unit)?, seconds)));
        let (count, seconds) = parts.ok_or_else(wrong)?;
        let count: f64 = count.parse().map_err(|_| wrong())?;
        Duration::try_from_secs_f64(count * seconds).map(Self).map_err(|_| wrong())
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
        assert_eq!("auto".parse::<BandArgument>().unwrap().0, Band::Auto);
        assert_eq!("0".parse::<BandArgument>().unwrap().0, Band::Exact);
        assert_eq!("1e-3".parse::<BandArgument>().unwrap().0, Band::Score(1e-3));
        for wrong in ["", "-1", "nan", "inf", "some"] {
            assert!(wrong.parse::<BandArgument>().is_err(), "{wrong}");
        }
    }
}
