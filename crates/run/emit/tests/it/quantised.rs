//! Source with quantised leaves: the program gives the sums of the model that the checker reads
//! from it, their scores are within the bound around the library's, no class changes beyond the
//! bound, and no sum leaves its type.

use std::path::Path;
use std::process::Command;

use crate::common::{self, Judged, judged};
use fastrand::Rng;
use secateur_emit::{CoverRows, EmitError, Expected, Form, LeafBits, Style, cover_test, rust_cover_test};
use secateur_formats::Link;
use secateur_model::{Decision, Ensemble, Exact, Predictor};
use secateur_source::Difference;
use secateur_source::{Quantised, SourceFile, bound_by_trees, quantised, same_source};
use secateur_testkit::{Limited, Shape, ensemble, one_in, share};

const BITS: [LeafBits; 2] = [LeafBits::Eight, LeafBits::Sixteen];

fn style(form: Form, name: &str, bits: LeafBits) -> Style<'_> {
    Style { leaves: Some(bits), ..common::exact(form, name) }
}

/// Reads the source back.
fn read(model: &Ensemble, text: &str) -> Result<Quantised, Difference> {
    let file = SourceFile::parse(text.as_bytes()).expect("it is a file of ours");
    assert!(file.is_quantised());
    assert!(same_source(model, Link::None, &file).is_err(), "it is not the model itself");
    quantised(model, Link::None, &file)
}

/// Random models of every shape, and the committed ones of every library.
fn models(rng: &mut Rng, random: usize) -> Vec<(String, Ensemble)> {
    let mut models = Vec::new();
    while models.len() < random {
        let mut shape = Shape::random(rng);
        (shape.thresholds, shape.depth) = (rng.u32(1..=40), rng.u32(0..=5));
        let model = ensemble(rng, &shape);
        if model.rounding().is_some() && model.scale().is_none() {
            models.push((format!("random {}", models.len()), model));
        }
    }
    let committed = common::fixtures().into_iter().map(|(name, file)| (name, file.ensemble().clone()));
    models.extend(committed.filter(|(_, model)| model.rounding().is_some()));
    models
}

/// Compares the library's scores, divided exactly if the model averages, with those of the
/// quantised model.
fn compare(model: &Ensemble, other: &Quantised, bound: f64, rows: &Judged) {
    let exact = |value: f64| Exact::from_f64(value).expect("a finite score");
    let (width, groups) = (model.features().len().max(1), model.group_count());
    let predictor = Predictor::new(&other.model);
    let scores = predictor.raw_scores(&rows.rows).expect("the same rows");
    let average = model.accumulation().average;
    let gap = model.decision_gap();
    for (at, row) in rows.rows.chunks(width).enumerate() {
        let own: Vec<f64> = rows.scores[at * groups..][..groups]
            .iter()
            // If raw scores are sums, they are divided before anything is decided.
            .map(|&score| match average {
                Some(average) if !average.in_raw_scores => {
                    model.accumulation().number.round(score / average.divisor)
                }
                _ => score,
            })
            .collect();
        let theirs = &scores[at * groups..][..groups];
        for (ours, theirs) in own.iter().zip(theirs) {
            let distance = (&exact(*ours) - &exact(*theirs)).abs();
            assert!(distance <= exact(bound), "{ours} became {theirs}, beyond {bound} on {row:?}");
        }
        if !model.decision().is_classifier() {
            continue;
        }
        let class = predictor.classes(row).expect("the same row")[0];
        let certain = match *model.decision() {
            Decision::Threshold { group, threshold, .. } => (own[group.index()] - threshold).abs() > bound,
            _ => {
                let mut sorted = own.clone();
                sorted.sort_by(|a, b| b.total_cmp(a));
                gap.is_some_and(|gap| sorted.len() < 2 || sorted[0] - sorted[1] > 2.0 * bound + gap)
            }
        };
        assert!(
            !certain || class.0 == rows.classes[at],
            "a class changed beyond {bound}: {own:?}, {theirs:?}"
        );
    }
}

fn sums(other: &Quantised, rows: &[f64]) -> Vec<i32> {
    let scores = Predictor::new(&other.model).raw_scores(rows).expect("the same rows");
    scores
        .iter()
        .map(|score| {
            let sum = score / other.unit;
            assert!(sum.fract() == 0.0 && sum.abs() < 2f64.powi(31), "{sum} is no sum");
            sum as i32
        })
        .collect()
}

fn compiled(folder: &Path, words: &str) {
    let strict = "-std=c99 -pedantic -Wall -Wextra -Werror -Wconversion -Wno-sign-conversion";
    let words = strict.split(' ').chain(words.split(' '));
    let output = Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()))
        .current_dir(folder)
        .args(words)
        .finished();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let output = Command::new(folder.join("all")).finished();
    assert!(output.status.success(), "wrong sums: {}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn programs_give_the_sums_and_the_sums_are_within_the_bound() {
    let mut rng = Rng::with_seed(31);
    let folder = common::folder("quantised");
    let (mut main, mut calls) = (String::from("#include <stdio.h>\n"), String::new());
    for (index, (label, model)) in models(&mut rng, share(40)).iter().enumerate() {
        for (at, bits) in BITS.into_iter().enumerate() {
            let name = format!("m{index}_{at}");
            let style = Style {
                leaves: Some(bits),
                probabilities: None,
                ..common::by_turns(model, index, Form::Header, &name)
            };
            let text = common::written(model, style, &[]).unwrap();
            let other = read(model, &text).unwrap_or_else(|why| panic!("{label}: {why}"));
            let bound = bound_by_trees(model, &other.model).expect("sums that stay within their type");
            let rows = judged(model, &mut rng);
            compare(model, &other, bound, &rows);
            // All files are compared here; of them, only as many are compiled as a compiler handles
            // in a few seconds.
            if index % 3 != at {
                continue;
            }
            let sums = sums(&other, &rows.rows);
            let classes: Vec<u32> = match model.decision().is_classifier() && !rows.rows.is_empty() {
                true => {
                    let classes = Predictor::new(&other.model).classes(&rows.rows).unwrap();
                    classes.iter().map(|class| class.0).collect()
                }
                false => Vec::new(),
            };
            let cover = CoverRows { rows: &rows.rows, expected: Expected::Sums(&sums), classes: &classes };
            let test = cover_test(model, &name, &format!("{name}.h"), &cover).unwrap();
            std::fs::write(folder.join(format!("{name}.h")), text).unwrap();
            std::fs::write(folder.join(format!("{name}_test.h")), test).unwrap();
            main += &format!("#define {name}_NO_MAIN\n#include \"{name}_test.h\"\n");
            calls += &format!(
                "    if ({name}_test() != 0) {{ wrong++; printf(\"%s\\n\", \"{name} {label}\"); }}\n"
            );
        }
    }
    main += &format!("int main(void)\n{{\n    int wrong = 0;\n{calls}    return wrong != 0;\n}}\n");
    std::fs::write(folder.join("main.c"), main).unwrap();
    for level in common::levels(&folder) {
        compiled(&folder, &format!("{level} main.c -o all"));
    }
    // An overflow, or an index outside of its table, ends the program.
    compiled(&folder, "-O1 -fsanitize=undefined -fsanitize-undefined-trap-on-error main.c -o all");
}

#[test]
fn rust_gives_the_sums() {
    let mut rng = Rng::with_seed(32);
    let folder = common::folder("quantised-rust");
    for (label, model) in models(&mut rng, 4).iter().step_by(16) {
        let text = common::written(model, style(Form::Rust, "model", LeafBits::Eight), &[]).unwrap();
        let other = read(model, &text).unwrap();
        let rows = judged(model, &mut rng);
        let sums = sums(&other, &rows.rows);
        let classes = Predictor::new(&other.model).classes(&rows.rows);
        let classes: Vec<u32> = match model.decision().is_classifier() {
            true => classes.unwrap().iter().map(|class| class.0).collect(),
            false => Vec::new(),
        };
        let cover = CoverRows { rows: &rows.rows, expected: Expected::Sums(&sums), classes: &classes };
        std::fs::write(folder.join("model.rs"), text).unwrap();
        std::fs::write(folder.join("test.rs"), rust_cover_test(model, "model.rs", &cover)).unwrap();
        let output = Command::new("rustc")
            .current_dir(&folder)
            .args([
                "--edition",
                "2021",
                "-D",
                "warnings",
                "-C",
                "overflow-checks=on",
                "-o",
                "test",
                "test.rs",
            ])
            .finished();
        assert!(output.status.success(), "{label}: {}", String::from_utf8_lossy(&output.stderr));
        assert!(Command::new(folder.join("test")).finished().status.success(), "{label}");
    }
}

/// Sixteen bits are at least as near as eight, and eight are within a 255th of each tree's range.
#[test]
fn more_bits_are_nearer() {
    let mut rng = Rng::with_seed(33);
    for (label, model) in models(&mut rng, 30) {
        let bound = |bits| {
            let text = common::written(&model, style(Form::C, "model", bits), &[]).unwrap();
            bound_by_trees(&model, &read(&model, &text).unwrap().model).unwrap()
        };
        let [eight, sixteen] = BITS.map(bound);
        assert!(sixteen <= eight, "{label}: {sixteen} and {eight}");
        // One 255th of each tree's range; the library's own rounding is added below.
        let range = |tree: &secateur_model::Tree| {
            let weighted = tree.leaf_values().iter().map(|leaf| leaf * tree.weight());
            let [low, high] = weighted.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], leaf| {
                [low.min(leaf), high.max(leaf)]
            });
            high - low
        };
        let steps: f64 =
            model.trees().iter().map(range).sum::<f64>() / 255.0 / model.accumulation().divisor();
        // The unit itself is 2^-31 of the largest possible sum, and each tree and the intercept are
        // rounded to it.
        let reach: f64 = model.intercepts().iter().map(|start| start.abs()).fold(0.0, f64::max)
            + model
                .trees()
                .iter()
                .map(|tree| {
                    tree.leaf_values().iter().fold(0.0, |a: f64, b| a.max(b.abs())) * tree.weight().abs()
                })
                .sum::<f64>();
        let units = reach * (model.trees().len() + 2) as f64 * 2f64.powi(-29);
        let most = steps + 2.0 * model.rounding().unwrap().largest() + units;
        assert!(eight <= most, "{label}: {eight} is more than {most}");
    }
}

/// The name of the table that contains a byte of a file.
fn table_at(text: &str, at: usize) -> &str {
    let start = text[..at].rfind("static const ").map_or("", |start| &text[start..at]);
    start.split("model_").nth(1).and_then(|rest| rest.split('[').next()).unwrap_or("")
}

/// After a change of any digit, either the file is refused, or the checker reads another model.
#[test]
fn no_changed_number_goes_unseen() {
    let mut rng = Rng::with_seed(34);
    let (mut refused, mut seen) = (0, 0);
    for (index, (_, model)) in models(&mut rng, 6).into_iter().take(6).enumerate() {
        let text = common::written(&model, style(Form::C, "model", LeafBits::Eight), &[]).unwrap();
        let own = read(&model, &text).unwrap().model;
        let bytes = text.as_bytes();
        let comment = text.find(" */\n").unwrap();
        for at in (comment..bytes.len()).skip(index % one_in()).step_by(one_in()) {
            let digits = [bytes[at] ^ 1, b"0123456789-"[rng.usize(0..11)]];
            for other in digits.into_iter().filter(|&other| other != bytes[at]) {
                let mut changed = bytes.to_vec();
                changed[at] = other;
                let read = SourceFile::parse(&changed)
                    .ok()
                    .and_then(|file| quantised(&model, Link::None, &file).ok());
                match read {
                    None => refused += 1,
                    // A tree of zeros may have any factor, and two bins may have equivalent tests:
                    // whether a value equals a number that no input can be.
                    Some(read)
                        if read.model == own && ["factor", "node_test"].contains(&table_at(&text, at)) => {}
                    Some(read) => {
                        seen += 1;
                        assert_ne!(read.model, own, "byte {at}: {:?}", &text[at.saturating_sub(40)..at + 1]);
                    }
                }
            }
        }
    }
    assert!(refused > share(10_000) && seen > share(100), "{refused} refused, {seen} seen");
}

/// Sums that could overflow are refused, whatever the file claims.
#[test]
fn an_overflow_is_refused() {
    let (_, file) = common::fixtures().into_iter().find(|(name, _)| name.contains("3.4.1-logistic")).unwrap();
    let model = file.ensemble();
    let text = common::written(model, style(Form::C, "model", LeafBits::Sixteen), &[]).unwrap();
    let own = read(model, &text).unwrap();
    let with = |table: &str, number: &str| {
        let (before, rest) = text.split_once(&format!("model_{table}[")).unwrap();
        let (head, rest) = rest.split_once("{\n").unwrap();
        let (first, rest) = rest.split_once(',').unwrap();
        assert_ne!(first, number);
        let head = head.replace("uint16_t", "uint32_t");
        format!("{before}model_{table}[{head}{{\n{number},{rest}")
    };
    for start in ["2147483647", "-2147483647", "2000000000"] {
        assert_eq!(
            read(model, &with("intercept", start)).err(),
            Some(Difference::Overflow { tree: None }),
            "{start}"
        );
    }
    // A factor whose product with the tree's largest leaf does not fit into 32 bits.
    let wide = with("factor", "65535")
        .replace("static const uint16_t model_factor", "static const uint32_t model_factor");
    assert!(matches!(read(model, &wide), Err(Difference::Overflow { .. })));
    // The smallest and the largest sum of the unchanged file, computed from the leaves, fit into 32
    // bits.
    let starts = own.model.intercepts()[0] / own.unit;
    let most: f64 =
        own.model.trees().iter().map(|tree| tree.leaf_values().iter().fold(0.0, |a: f64, &b| a.max(b))).sum();
    assert!(starts >= -2f64.powi(31) && starts + most / own.unit < 2f64.powi(31));
}

#[test]
fn a_model_that_cannot_be_quantised_says_so() {
    let error = EmitError::NotQuantised("its scores are too large");
    assert!(error.to_string().contains("cannot be quantised"));
}
