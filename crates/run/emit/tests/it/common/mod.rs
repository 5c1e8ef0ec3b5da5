//! Shared by the tests of this crate: rows with the results of the exact predictor.
#![allow(dead_code, reason = "each test file uses some of it")]

use std::path::{Path, PathBuf};

use fastrand::Rng;
use secateur_emit::{EmitError, Form, NodeLayout, Style, emit};
use secateur_formats::Link;
use secateur_formats::packed::{File, Stamp};
use secateur_formats::{Framework, ModelFile};
use secateur_model::{Ensemble, Predictor};
use secateur_runtime::{Model, Rows};
use secateur_testkit::{is_whole, testdata};

/// Rows that reach every leaf and threshold, and hostile ones, with their scores and classes.
pub(crate) struct Judged {
    pub(crate) rows: Vec<f64>,
    pub(crate) scores: Vec<f64>,
    pub(crate) classes: Vec<u32>,
}

/// The rows of the runtime's cover, followed by hostile rows.
pub(crate) fn judged(model: &Ensemble, rng: &mut Rng) -> Judged {
    let stamp = Stamp { source: [0; 32], cover_rows: 0, cover_hash: 0 };
    let packed = File::pack_ensemble(model, (Framework::XgBoost, "a test"), Link::None, None, &stamp);
    let runtime = Model::load(&packed.expect("it can be packed")).expect("it loads");
    let mut rows = runtime.cover_rows();
    let width = model.features().len();
    let known = rows.clone();
    for _ in 0..40 {
        let row: Vec<f64> = (0..width).map(|_| hostile(rng, &known)).collect();
        if model.accepts(&row) {
            rows.extend(row);
        }
    }
    judge(model, rows)
}

pub(crate) fn judge(model: &Ensemble, rows: Vec<f64>) -> Judged {
    let predictor = Predictor::new(model);
    let scores = predictor.raw_scores(&rows).expect("the library accepts these rows");
    let classes = if model.decision().is_classifier() {
        predictor
            .classes(&rows)
            .expect("the library accepts these rows")
            .iter()
            .map(|class| class.0)
            .collect()
    } else {
        Vec::new()
    };
    Judged { rows, scores, classes }
}

/// The runtime's probabilities of rows, by this rule.
pub(crate) fn probabilities(model: &Ensemble, link: Link, rows: &[f64]) -> Vec<f64> {
    let stamp = Stamp { source: [0; 32], cover_rows: 0, cover_hash: 0 };
    let packed = File::pack_ensemble(model, (Framework::XgBoost, "a test"), link, None, &stamp);
    let runtime = Model::load(&packed.expect("it can be packed")).expect("it loads");
    let table = Rows::row_major(rows, model.features().len()).unwrap();
    let mut out = vec![0.0; rows.len() / model.features().len() * model.classes().len()];
    runtime.probabilities(table, &mut out).unwrap();
    out
}

fn hostile(rng: &mut Rng, known: &[f64]) -> f64 {
    let near = known.get(rng.usize(0..known.len().max(1))).copied().unwrap_or(0.0);
    match rng.u32(0..14) {
        0 => f64::NAN,
        1 => f64::INFINITY,
        2 => f64::NEG_INFINITY,
        3 => -0.0,
        4 => f64::from_bits(1),
        5 => f64::from(f32::from_bits(1)),
        6 => f64::from(f32::MAX),
        7 => -f64::from(f32::MAX),
        8 => 16_777_216.0,
        9 => 2_147_483_648.0,
        10 => -0.5,
        11 => near.next_up(),
        _ => near,
    }
}

/// A style with unchanged leaves.
pub(crate) fn exact(form: Form, name: &str) -> Style<'_> {
    Style { form, name, leaves: None, keys: false, nodes: NodeLayout::Compact, probabilities: None }
}

/// A style that depends on `turn`: with floats or keys, each layout of nodes, and a rule of
/// probabilities that fits the model.
pub(crate) fn by_turns<'a>(model: &Ensemble, turn: usize, form: Form, name: &'a str) -> Style<'a> {
    let nodes = [NodeLayout::Compact, NodeLayout::Small, NodeLayout::Fast][turn / 2 % 3];
    let probabilities = Some(link(model, turn)).filter(|&link| link != Link::None);
    Style { keys: turn.is_multiple_of(2), nodes, probabilities, ..exact(form, name) }
}

/// The layout of the trees in a file, by the parts that its head names.
pub(crate) fn layout_of(text: &str) -> &'static str {
    let parts =
        text.lines().find_map(|line| line.strip_prefix(" * parts: ")).expect("every file says its parts");
    let has = |part: &str| parts.split(' ').any(|word| word == part);
    ["words", "full", "small", "tests", "splits"]
        .into_iter()
        .find(|&layout| has(layout))
        .unwrap_or("leaves alone")
}

/// A rule of probabilities that fits the model's classes; it depends on `turn`.
pub(crate) fn link(model: &Ensemble, turn: usize) -> Link {
    let (classes, groups) = (model.classes().len(), model.group_count());
    if !model.decision().is_classifier() {
        return Link::None;
    }
    let divided = Link::DividedSoftmax64 { divisor: 3.0 };
    let rules = match (groups, classes) {
        (1, 2) => {
            vec![Link::Logistic32, Link::Logistic64 { scale: 1.0 }, divided, Link::Logistic64 { scale: 0.7 }]
        }
        _ if groups == classes => {
            vec![Link::Softmax32, Link::Softmax64, Link::Each { scale: 2.0 }, Link::Identity, divided]
        }
        _ => return Link::None,
    };
    rules[turn % rules.len()]
}

/// Emits source that is text.
pub(crate) fn written(model: &Ensemble, style: Style<'_>, notes: &[String]) -> Result<String, EmitError> {
    emit(model, style, notes).map(|emitted| String::from_utf8(emitted.bytes).expect("source is text"))
}

/// How much a C compiler is to optimise.
pub(crate) const LEVELS: [&str; 3] = ["-O0", "-Os", "-O3"];

/// The levels that the programs of this folder are compiled with: all of them, or one of them, by
/// turns, in a run of a share of the tests. Every program is also compiled with all traps on.
pub(crate) fn levels(folder: &Path) -> Vec<&'static str> {
    let turn = folder
        .file_name()
        .expect("it has a name")
        .as_encoded_bytes()
        .iter()
        .map(|&byte| usize::from(byte))
        .sum::<usize>();
    if is_whole() { LEVELS.to_vec() } else { vec![LEVELS[turn % LEVELS.len()]] }
}

/// An empty folder for one test.
pub(crate) fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// The committed models that can be packed and written as source: every library, several classes,
/// regressors, missing values, categories. Of XGBoost's many versions only the last one is used;
/// the readers' own tests cover the others.
pub(crate) fn fixtures() -> Vec<(String, ModelFile)> {
    let mut found = Vec::new();
    let mut open = vec![testdata("models")];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_dir() {
                open.push(entry);
                continue;
            }
            let name = entry.file_name().unwrap().to_string_lossy().into_owned();
            let ending =
                entry.extension().map(|ending| ending.to_string_lossy().into_owned()).unwrap_or_default();
            let model = matches!(ending.as_str(), "json" | "txt" | "skops" | "onnx" | "cbm");
            let xgboost = name.as_bytes()[0].is_ascii_digit();
            if !model || xgboost && !name.starts_with("3.4.1") {
                continue;
            }
            let Ok(file) = ModelFile::parse(&std::fs::read(&entry).unwrap()) else { continue };
            let stamp = Stamp { source: [0; 32], cover_rows: 0, cover_hash: 0 };
            if File::pack(&file, None, &stamp).is_ok() && file.ensemble().scale().is_none() {
                found.push((name, file));
            }
        }
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    found
}
