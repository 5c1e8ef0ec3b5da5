//! Compiles emitted Rust with rustc, with every warning as an error. The program gives the exact
//! predictor's bits on rows that reach every leaf and threshold and on hostile rows; it needs only
//! `core`; and the checker reads it back as the model and as no other.

use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use crate::common::{self, judged};
use fastrand::Rng;
use secateur_certificate::Digest;
use secateur_emit::{CoverRows, Expected, Form, rust_cover_test};
use secateur_formats::Link;
use secateur_model::Ensemble;
use secateur_source::{SourceFile, same_source};
use secateur_testkit::{Limited, Shape, ensemble, one_in, share};

fn rustc(folder: &Path, words: &[&str]) {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc)
        .current_dir(folder)
        .args(["--edition", "2021", "-D", "warnings", "-F", "unsafe_code"])
        .args(words)
        .finished();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Does the checker accept this text for the model?
fn accepted(model: &Ensemble, link: Link, text: &[u8]) -> bool {
    SourceFile::parse(text)
        .is_ok_and(|file| file.source() == Digest::of(model) && same_source(model, link, &file).is_ok())
}

fn random_models(rng: &mut Rng, count: usize) -> Vec<Ensemble> {
    let mut models = Vec::new();
    while models.len() < count {
        let mut shape = Shape { weighted: false, ..Shape::random(rng) };
        shape.thresholds = rng.u32(1..=40);
        models.push(ensemble(rng, &shape));
    }
    models
}

#[test]
fn random_and_committed_models_have_the_exact_bits() {
    let mut rng = Rng::with_seed(21);
    let mut models = random_models(&mut rng, 40);
    // One committed model of each kind.
    let committed = common::fixtures().into_iter().filter(|(name, _)| {
        [
            "logistic",
            "categorical",
            "softprob",
            "vector_leaf",
            "zero_as_missing",
            "every_mode",
            "forest.skops",
            "histogram",
        ]
        .iter()
        .any(|part| name.contains(part))
    });
    models.extend(committed.map(|(_, file)| file.ensemble().clone()));
    assert!(models.len() > 48, "{}", models.len());
    let folder = common::folder("rust-models");
    let (mut main, mut library) = (String::new(), String::from("#![no_std]\n"));
    let (mut calls, mut layouts) = (String::new(), Vec::new());
    for (index, model) in models.iter().enumerate() {
        let style = common::by_turns(model, index, Form::Rust, "model");
        let text = common::written(model, style, &[]).unwrap();
        assert!(accepted(model, common::link(model, index), text.as_bytes()), "{text}");
        layouts.push(common::layout_of(&text));
        std::fs::write(folder.join(format!("m{index}.rs")), text).unwrap();
        let judged = judged(model, &mut rng);
        let cover = CoverRows {
            rows: &judged.rows,
            expected: Expected::Scores(&judged.scores),
            classes: &judged.classes,
        };
        let test = rust_cover_test(model, &format!("m{index}.rs"), &cover);
        std::fs::write(folder.join(format!("t{index}.rs")), test).unwrap();
        writeln!(main, "#[allow(dead_code)]\n#[path = \"t{index}.rs\"]\nmod t{index};").unwrap();
        writeln!(library, "pub mod m{index};").unwrap();
        writeln!(calls, "    if t{index}::test() != 0 {{ println!(\"model {index}\"); wrong += 1; }}")
            .unwrap();
    }
    assert!(["full", "words", "small", "tests"].iter().all(|layout| layouts.contains(layout)), "{layouts:?}");
    write!(main, "fn main() {{\n    let mut wrong = 0;\n{calls}    std::process::exit(wrong);\n}}\n")
        .unwrap();
    std::fs::write(folder.join("main.rs"), main).unwrap();
    std::fs::write(folder.join("lib.rs"), library).unwrap();
    rustc(&folder, &["lib.rs", "--crate-type", "lib", "--crate-name", "models", "--emit", "metadata"]);
    for level in ["opt-level=1", "opt-level=3"] {
        rustc(&folder, &["main.rs", "-C", level, "-o", "all"]);
        let output = Command::new(folder.join("all")).finished();
        assert!(output.status.success(), "{level}: {}", String::from_utf8_lossy(&output.stdout));
    }
}

#[test]
fn every_changed_byte_is_refused() {
    let mut rng = Rng::with_seed(22);
    let mut tried = 0;
    for (index, model) in random_models(&mut rng, 12).into_iter().enumerate() {
        let style = common::by_turns(&model, index, Form::Rust, "model");
        let text = common::written(&model, style, &[]).unwrap().into_bytes();
        let link = common::link(&model, index);
        assert!(accepted(&model, link, &text));
        for at in (0..text.len()).skip(index % one_in()).step_by(one_in()) {
            for other in [text[at] ^ 1, b"0123456789"[rng.usize(0..10)], b" \n/"[rng.usize(0..3)]] {
                // The writer may choose where the lines of a table end.
                let ends =
                    [text[at], other].iter().all(u8::is_ascii_whitespace) && at > 0 && text[at - 1] == b',';
                if other == text[at] || ends {
                    continue;
                }
                let mut changed = text.clone();
                changed[at] = other;
                tried += 1;
                assert!(
                    !accepted(&model, link, &changed),
                    "byte {at} {:?} -> {:?} in {}",
                    text[at] as char,
                    other as char,
                    String::from_utf8_lossy(&text[at.saturating_sub(60)..(at + 60).min(text.len())])
                );
            }
        }
    }
    assert!(tried > share(50_000), "{tried}");
}
