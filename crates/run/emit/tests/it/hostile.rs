//! Hostile source: for any change to an emitted file, the checker's reader ends with a file or a
//! short error, comparing the file with a model does not panic, and a file read as quantised keeps
//! its promises. `fuzz/fuzz_targets/source.rs` does the same with coverage feedback.

use crate::common;
use fastrand::Rng;
use secateur_emit::{Form, LeafBits, Style};
use secateur_formats::Link;
use secateur_model::{Ensemble, Predictor};
use secateur_source::{SourceFile, bound_by_trees, quantised, same_source};
use secateur_testkit::{Shape, ensemble};

const NUMBERS: [&str; 16] = [
    "0",
    "1",
    "-1",
    "2",
    "255",
    "256",
    "65535",
    "65536",
    "2147483647",
    "-2147483647",
    "4294967295",
    "0x1p+0",
    "0x1p-900",
    "0x1p+900",
    "NAN",
    "-INFINITY",
];

/// Applies one change to a file: to a number, a line, a piece taken from another file, a part or a
/// byte.
fn changed(rng: &mut Rng, text: &str, other: &str) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let at = rng.usize(0..lines.len());
    match rng.u32(0..8) {
        0..=2 => {
            // Replaces numbers in tables, mostly by small ones, so that many files can still be
            // read.
            let tables: Vec<usize> = (0..lines.len()).filter(|&at| lines[at].ends_with(',')).collect();
            for _ in 0..rng.usize(1..4) {
                let at = tables[rng.usize(0..tables.len())];
                let mut words: Vec<&str> = lines[at].trim_end_matches(',').split(", ").collect();
                let word = rng.usize(0..words.len());
                let small = rng.u8(..).to_string();
                let whole = words[word].bytes().all(|byte| byte.is_ascii_digit());
                words[word] = match rng.u32(0..4) {
                    0..=2 if whole => &small,
                    _ => NUMBERS[rng.usize(0..NUMBERS.len())],
                };
                lines[at] = words.join(", ") + ",";
            }
        }
        3 => {
            lines.remove(at);
        }
        4 => lines.insert(at, lines[rng.usize(0..lines.len())].clone()),
        5 => {
            let from: Vec<&str> = other.lines().collect();
            let start = rng.usize(0..from.len());
            let end = (start + rng.usize(1..6)).min(from.len());
            let until = (at + rng.usize(0..6)).min(lines.len());
            lines.splice(at..until, from[start..end].iter().map(|&line| line.to_owned()));
        }
        6 => {
            // Names other parts than those that the tables were made for.
            let all = secateur_source::PARTS.iter().chain(&secateur_source::RULES);
            let part = all.clone().nth(rng.usize(0..all.count())).unwrap();
            let parts = &mut lines[2];
            *parts = if parts.contains(part) { parts.replace(part, "") } else { format!("{parts} {part}") };
        }
        _ => {
            let line = &mut lines[at];
            if !line.is_empty() {
                let place = rng.usize(0..line.len());
                line.replace_range(place..=place, &char::from(rng.u8(32..127)).to_string());
            }
        }
    }
    lines.join("\n") + "\n"
}

fn look(model: &Ensemble, link: Link, rows: &[f64], text: &str) -> bool {
    let Ok(file) = SourceFile::parse(text.as_bytes()) else { return false };
    let same = same_source(model, link, &file).is_ok();
    if let Ok(read) = quantised(model, link, &file) {
        assert!(!same, "a file is the model itself, or its leaves are quantised");
        // A file that can be read computes without overflow and within its bound.
        let bound = bound_by_trees(model, &read.model).expect("sums that stay within their type");
        let scores = Predictor::new(&read.model).raw_scores(rows).unwrap();
        assert!(scores.iter().all(|score| (score / read.unit).abs() < 2f64.powi(31)));
        assert!(bound >= 0.0);
    }
    true
}

#[test]
fn hostile_source_breaks_no_promise() {
    let cases =
        std::env::var("SECATEUR_FUZZ_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(6000);
    let mut rng = Rng::with_seed(41);
    let mut models = Vec::new();
    while models.len() < 8 {
        let shape = Shape { weighted: false, ..Shape::random(&mut rng) };
        let model = ensemble(&mut rng, &shape);
        if model.scale().is_none() && model.rounding().is_some() {
            models.push(model);
        }
    }
    let written: Vec<Vec<String>> = models
        .iter()
        .enumerate()
        .map(|(turn, model)| {
            let styles = [
                (Form::C, None),
                (Form::Rust, None),
                (Form::C, Some(LeafBits::Eight)),
                (Form::Rust, Some(LeafBits::Sixteen)),
            ];
            let style = |(form, leaves)| Style { leaves, ..common::by_turns(model, turn, form, "model") };
            styles.into_iter().map(|one| common::written(model, style(one), &[]).unwrap()).collect()
        })
        .collect();
    let rows: Vec<Vec<f64>> = models.iter().map(secateur_emit::cover_rows).collect();
    let mut read = 0;
    for case in 0..cases {
        let at = case % models.len();
        let text = &written[at][rng.usize(0..4)];
        let other = &written[rng.usize(0..models.len())][rng.usize(0..4)];
        let mut hostile = changed(&mut rng, text, other);
        while rng.u32(0..3) == 0 {
            hostile = changed(&mut rng, &hostile, other);
        }
        read += usize::from(look(&models[at], common::link(&models[at], at), &rows[at], &hostile));
    }
    assert!(
        read * 50 > cases,
        "only {read} of {cases} hostile files were readable: the changes are too coarse"
    );
}
