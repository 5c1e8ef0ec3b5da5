//! Measures what certificates cost; `python -m bench prune` and `python -m bench certificates` call it.
//!
//! - `certificate_cost search ORIGINAL PRUNED BAND` proves that two models decide alike, without
//!   keeping the proof.
//! - `certificate_cost write ORIGINAL PRUNED BAND FILE` does the same and writes the proof to a
//!   file.
//! - `certificate_cost check ORIGINAL PRUNED FILE` has a certificate checked.
//!
//! BAND is `auto`, `0` (exact arithmetic) or a score. The last word `no_missing` leaves out missing
//! values. The first word `splits` makes the search split small boxes to the end instead of joining
//! them from two halves. Apart from writing, the two searches are the same: one thread, the same
//! boxes in the same order. Each command prints one line of JSON. Times are seconds of this
//! process's only thread, without reading the models; short runs are repeated, and the fastest
//! counts.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use secateur_checker::{Limits, Verdict as Checked, aligned, check};
use secateur_formats::ModelFile;
use secateur_model::{Domain, Ensemble};
use secateur_oracle::{Band, Comparison, Options, Verdict};

/// Short runs are repeated until this many seconds are spent.
const REPEAT_SECONDS: f64 = 0.3;
/// Runs of fewer seconds are timed by wall clock, because the system counts processor time in
/// ticks.
const SHORT_SECONDS: f64 = 0.02;

type Failure = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (small_boxes, words) = match words.split_first() {
        Some((&"splits", rest)) => (false, rest),
        _ => (true, &words[..]),
    };
    let options = Options { small_boxes, ..Options::unlimited() };
    let search =
        |original, pruned, band, scope, file| search([original, pruned], band, scope, file, &options);
    let result =
        match words[..] {
            ["search", original, pruned, band] => search(original, pruned, band, Domain::everything(), None),
            ["search", original, pruned, band, "no_missing"] => {
                search(original, pruned, band, Domain::no_missing(), None)
            }
            ["write", original, pruned, band, file] => {
                search(original, pruned, band, Domain::everything(), Some(file))
            }
            ["write", original, pruned, band, file, "no_missing"] => {
                search(original, pruned, band, Domain::no_missing(), Some(file))
            }
            ["check", original, pruned, file] => judge(original, pruned, file),
            _ => Err("usage: certificate_cost search|write|check ORIGINAL PRUNED [BAND] [FILE] [no_missing]"
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

fn models(original: &str, pruned: &str) -> Result<[Ensemble; 2], Failure> {
    let original = ModelFile::read(Path::new(original))?.ensemble().clone();
    let pruned = ModelFile::read(Path::new(pruned))?.ensemble().clone();
    let pruned = aligned(&original, &pruned).unwrap_or(pruned);
    Ok([original, pruned])
}

fn search(
    [original, pruned]: [&str; 2],
    band: &str,
    scope: Domain,
    file: Option<&str>,
    options: &Options,
) -> Result<String, Failure> {
    let [original, pruned] = models(original, pruned)?;
    let original = original.within(&scope).expect("the domain fits every model");
    let band = match band {
        "auto" => Band::Auto,
        "0" => Band::Exact,
        score => Band::Score(score.parse()?),
    };
    let (seconds, (nodes, steps, raw)) = fastest(|| {
        let comparison = Comparison::new(&original, &pruned, band)?;
        let Some(file) = file else {
            let compared = comparison.run(options);
            return proved(&compared.verdict).map(|()| (compared.nodes, 0, 0));
        };
        let out = BufWriter::new(File::create(file)?);
        let (compared, writer) = comparison.certify(options, out)?;
        proved(&compared.verdict)?;
        let writer = writer.ok_or("no certificate")?;
        let (steps, raw) = (writer.steps(), writer.bytes());
        writer.finish(true)?.into_inner().map_err(|error| error.into_error())?;
        Ok((compared.nodes, steps, raw))
    })?;
    let peak = peak_bytes();
    Ok(format!(
        r#"{{"seconds":{seconds},"nodes":{nodes},"steps":{steps},"uncompressed":{raw},"peak":{peak}}}"#
    ))
}

fn proved(verdict: &Verdict) -> Result<(), Failure> {
    if *verdict == Verdict::Identical { Ok(()) } else { Err(format!("not proved: {verdict:?}").into()) }
}

fn judge(original: &str, pruned: &str, file: &str) -> Result<String, Failure> {
    let [original, pruned] = models(original, pruned)?;
    let (seconds, steps) =
        fastest(|| match check(&original, &pruned, File::open(file)?, &Limits::default())? {
            Checked::Valid(proved) => Ok(proved.steps),
            other => Err(format!("{other:?}").into()),
        })?;
    let bytes = std::fs::metadata(file)?.len();
    let peak = peak_bytes();
    Ok(format!(r#"{{"seconds":{seconds},"steps":{steps},"bytes":{bytes},"peak":{peak}}}"#))
}

/// The time of the fastest run in seconds, and the last run's result.
fn fastest<T>(mut run: impl FnMut() -> Result<T, Failure>) -> Result<(f64, T), Failure> {
    let begun = Instant::now();
    let mut best = f64::INFINITY;
    loop {
        let (started, cpu) = (Instant::now(), cpu_seconds());
        let result = run()?;
        let wall = started.elapsed().as_secs_f64();
        let cpu = cpu_seconds().zip(cpu).map_or(wall, |(end, start)| end - start);
        best = best.min(if wall < SHORT_SECONDS { wall } else { cpu });
        if begun.elapsed().as_secs_f64() >= REPEAT_SECONDS {
            return Ok((best, result));
        }
    }
}

/// The processor time of this thread in seconds, if the system reports it.
fn cpu_seconds() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(text.split_whitespace().next()?.parse::<f64>().ok()? / 1e9)
}

/// The most memory in bytes that this process ever held; 0 if the system does not report it.
fn peak_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0) * 1024
}
