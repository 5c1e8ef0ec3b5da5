//! Measures the oracle on model files; `python -m bench oracle` calls it.
//!
//! - `measure proof ORIGINAL OTHER` proves that two models decide alike (exact arithmetic, all
//!   pairs of classes, one thread), first with all layers and then by the search over boxes alone.
//! - `measure wall MODEL THREADS SECONDS` splits the space by the sign of a binary model's score,
//!   with the search over boxes alone: rows `score >= 1e-9` and `-score >= 1e-9`, which no input
//!   satisfies.
//! - `measure compare ORIGINAL OTHER BAND SECONDS` asks whether two models decide alike above a
//!   band (0: in exact arithmetic), once, on one thread.
//!
//! With `splits` as the last argument, `wall` and `compare` split small boxes down to cells instead
//! of joining two halves. Each command prints one line of JSON. Times include all work after the
//! files are read.

use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use secateur_formats::ModelFile;
use secateur_model::Exact;
use secateur_oracle::{Band, Comparison, Layout, Options, Row, SearchBudget, System, solve};

/// A proof is repeated until this much time is spent; the fastest run counts.
const REPEAT_SECONDS: f64 = 1.0;
/// Shorter runs are timed in elapsed time: the system counts processor time in ticks, and the
/// fastest of many short runs is one that nothing interrupted.
const SHORT_SECONDS: f64 = 0.05;
/// The most seconds of a search over boxes alone.
const BOXES_SECONDS: f64 = 20.0;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match words[..] {
        ["proof", original, other] => proof(original, other),
        ["wall", model, threads, seconds] => wall(model, threads, seconds, true),
        ["wall", model, threads, seconds, "splits"] => wall(model, threads, seconds, false),
        ["compare", original, other, band, seconds] => compare(original, other, band, seconds, true),
        ["compare", original, other, band, seconds, "splits"] => {
            compare(original, other, band, seconds, false)
        }
        _ => Err("usage: measure proof ORIGINAL OTHER | measure wall MODEL THREADS SECONDS [splits] | \
                  measure compare ORIGINAL OTHER BAND SECONDS [splits]"
            .into()),
    };
    match result {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

type Failure = Box<dyn std::error::Error>;

fn proof(original: &str, other: &str) -> Result<String, Failure> {
    let (original, other) = (ModelFile::read(Path::new(original))?, ModelFile::read(Path::new(other))?);
    let comparison = Comparison::new(original.ensemble(), other.ensemble(), Band::Exact)?;
    let cells = log10_cells(comparison.layout());
    let run = |shortcuts: bool, seconds: Option<f64>| {
        let budget = seconds.map_or(SearchBudget::unlimited(), SearchBudget::seconds);
        let options = Options { shortcuts, budget, ..Options::unlimited() };
        let (started, cpu) = (Instant::now(), cpu_seconds());
        let comparison = Comparison::new(original.ensemble(), other.ensemble(), Band::Exact)
            .expect("it worked a moment ago");
        let compared = comparison.run(&options);
        let wall = started.elapsed().as_secs_f64();
        let cpu = cpu_seconds().zip(cpu).map_or(wall, |(end, start)| end - start);
        (if wall < SHORT_SECONDS { wall } else { cpu }, compared)
    };
    let fastest = |shortcuts: bool, seconds: Option<f64>| {
        let started = Instant::now();
        let (mut time, compared) = run(shortcuts, seconds);
        while started.elapsed().as_secs_f64() < REPEAT_SECONDS {
            time = run(shortcuts, seconds).0.min(time);
        }
        let verdict = format!("{:?}", compared.verdict);
        let word = verdict.split('(').next().unwrap_or_default().to_lowercase();
        let nodes = compared.nodes;
        format!(r#"{{"verdict":"{word}","seconds":{time},"nodes":{nodes}}}"#)
    };
    let (all, boxes) = (fastest(true, None), fastest(false, Some(BOXES_SECONDS)));
    Ok(format!(r#"{{"log10_cells":{cells},"all":{all},"boxes":{boxes}}}"#))
}

fn wall(model: &str, threads: &str, seconds: &str, small_boxes: bool) -> Result<String, Failure> {
    let file = ModelFile::read(Path::new(model))?;
    let (threads, seconds) = (threads.parse()?, seconds.parse()?);
    let started = Instant::now();
    let layout = Layout::new(&[file.ensemble()])?;
    let bound = Exact::from_f64(1e-9).expect("finite");
    let row = |sign| Row { terms: vec![(layout.sum_of(0, 0), sign)], bound: bound.clone(), strict: false };
    let system = System::new(&layout, &[row(1), row(-1)]);
    let budget = SearchBudget::seconds(seconds);
    let options = Options { budget, threads, shortcuts: false, small_boxes, ..Options::unlimited() };
    let solved = solve(&system, &options, &|_| true);
    let (time, nodes) = (started.elapsed().as_secs_f64(), solved.nodes);
    let answer = format!("{:?}", solved.answer).to_lowercase();
    let (cells, share) = (log10_cells(&layout), options.progress.share());
    Ok(format!(
        r#"{{"log10_cells":{cells},"answer":"{answer}","nodes":{nodes},"seconds":{time},"share":{share}}}"#
    ))
}

fn compare(
    original: &str,
    other: &str,
    band: &str,
    seconds: &str,
    small_boxes: bool,
) -> Result<String, Failure> {
    let (original, other) = (ModelFile::read(Path::new(original))?, ModelFile::read(Path::new(other))?);
    let band = match band.parse()? {
        0.0 => Band::Exact,
        band => Band::Score(band),
    };
    let budget = SearchBudget::seconds(seconds.parse()?);
    let comparison = Comparison::new(original.ensemble(), other.ensemble(), band)?;
    let options = Options { budget, small_boxes, ..Options::unlimited() };
    let (started, cpu) = (Instant::now(), cpu_seconds());
    let compared = comparison.run(&options);
    let time = started.elapsed().as_secs_f64();
    let cpu = cpu_seconds().zip(cpu).map_or(time, |(end, start)| end - start);
    let verdict = format!("{:?}", compared.verdict);
    let word = verdict.split('(').next().unwrap_or_default().to_lowercase();
    let (cells, nodes) = (log10_cells(comparison.layout()), compared.nodes);
    Ok(format!(
        r#"{{"log10_cells":{cells},"verdict":"{word}","nodes":{nodes},"seconds":{time},"cpu":{cpu}}}"#
    ))
}

/// The decimal logarithm of the number of cells that the search covers.
fn log10_cells(layout: &Layout) -> f64 {
    layout.axis_sizes().iter().map(|&size| f64::from(size).log10()).sum()
}

/// The processor time of this thread, if the system reports it: on a machine with other work,
/// elapsed time says little.
fn cpu_seconds() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(text.split_whitespace().next()?.parse::<f64>().ok()? / 1e9)
}
