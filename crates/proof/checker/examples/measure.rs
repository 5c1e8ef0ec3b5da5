//! Measures what a certificate costs: `measure ORIGINAL PRUNED BAND [THREADS]`, or `measure
//! ORIGINAL perturb:SIZE BAND [THREADS]` for a copy of the original whose leaves are changed by up
//! to that share.
//!
//! Prints one line of JSON: boxes, seconds of the search alone, of the search with its certificate,
//! and of the check; steps and bytes.

use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use secateur_checker::{Limits, Verdict, aligned, check};
use secateur_formats::ModelFile;
use secateur_model::{Ensemble, EnsembleBuilder};
use secateur_oracle::{Band, Comparison, Options, SearchBudget};

/// A search ends here.
const SECONDS: f64 = 120.0;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match words[..] {
        [original, pruned, band] => measure(original, pruned, band, 1),
        [original, pruned, band, threads] => measure(original, pruned, band, threads.parse().unwrap_or(1)),
        _ => Err("usage: measure ORIGINAL PRUNED|perturb:SIZE BAND [THREADS]".into()),
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

fn measure(original: &str, pruned: &str, band: &str, threads: usize) -> Result<String, Failure> {
    let original = ModelFile::read(Path::new(original))?;
    let original = original.ensemble();
    let pruned = match pruned.strip_prefix("perturb:") {
        Some(size) => perturbed(original, size.parse()?)?,
        None => {
            let file = ModelFile::read(Path::new(pruned))?;
            aligned(original, file.ensemble()).unwrap_or_else(|| file.ensemble().clone())
        }
    };
    let band = match band {
        "auto" => Band::Auto,
        "0" => Band::Exact,
        score => Band::Score(score.parse()?),
    };
    let comparison = Comparison::new(original, &pruned, band)?;
    let options = Options { budget: SearchBudget::seconds(SECONDS), threads, ..Options::unlimited() };
    let started = Instant::now();
    let compared = comparison.run(&options);
    let search = started.elapsed().as_secs_f64();
    let options = Options { budget: SearchBudget::seconds(SECONDS), ..options };
    let started = Instant::now();
    let (again, certificate) = comparison.certify(&options, Vec::new())?;
    let Some(certificate) = certificate else {
        return Ok(format!("{{\"verdict\": \"{:?}\", \"nodes\": {}}}", again.verdict, compared.nodes));
    };
    let (steps, plain) = (certificate.steps(), certificate.bytes());
    let bytes = certificate.finish(true)?;
    let written = started.elapsed().as_secs_f64();
    let started = Instant::now();
    let verdict = check(original, &pruned, &bytes[..], &Limits::default())?;
    let checked = started.elapsed().as_secs_f64();
    let valid = matches!(verdict, Verdict::Valid(_));
    Ok(format!(
        "{{\"valid\": {valid}, \"nodes\": {}, \"steps\": {steps}, \"plain_bytes\": {plain}, \"bytes\": {}, \
         \"search_s\": {search:.3}, \"certify_s\": {written:.3}, \"check_s\": {checked:.3}}}",
        compared.nodes,
        bytes.len()
    ))
}

/// A copy whose leaves are changed a little, each by its own share.
fn perturbed(model: &Ensemble, size: f64) -> Result<Ensemble, Failure> {
    let mut rng = fastrand::Rng::with_seed(0);
    let mut builder = EnsembleBuilder::new(
        model.features().clone(),
        *model.intake(),
        model.classes().clone(),
        model.intercepts().to_vec(),
        *model.accumulation(),
        *model.decision(),
    )?;
    for tree in model.trees() {
        let number = model.accumulation().number;
        let mut change = |&value: &f64| number.round(value * (1.0 + size * (2.0 * rng.f64() - 1.0)));
        let values = tree.leaf_values().iter().map(&mut change).collect();
        builder.finished_tree(tree.with_leaf_values(values).ok_or("as many values as before")?)?;
    }
    Ok(builder.build())
}
