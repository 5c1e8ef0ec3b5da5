//! Compiles emitted C with the machine's own compiler, at several levels and with every warning as
//! an error. The program gives the exact predictor's bits on rows that reach every leaf and
//! threshold, on hostile rows, and on the libraries' own rows.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use crate::common::{self, Judged, judged};
use fastrand::Rng;
use secateur_emit::{
    CoverRows, Expected, Form, LeafBits, NodeLayout, Style, cover_rows, cover_test, declarations,
};
use secateur_formats::Link;
use secateur_model::{
    Accumulation, ClassLabels, Decision, Ensemble, EnsembleBuilder, FeatureId, Features, GroupId, Intake,
    InterceptPosition, NodeId, NumberType, Order, Output, Split, Test, TreeBuilder,
};
use secateur_source::{PROBABILITIES, SourceFile, quantised, same_source};
use secateur_testkit::{Limited, Shape, ensemble};

/// Undefined behaviour, and an index outside of its table, end the program.
const TRAPS: &str = "-O1 -fsanitize=undefined -fsanitize-undefined-trap-on-error";

fn cc(folder: &Path, words: &[&str]) -> std::process::Output {
    let strict = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror"];
    Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()))
        .current_dir(folder)
        .args(strict)
        .args(words)
        .finished()
}

fn compile(folder: &Path, words: &[&str]) {
    let output = cc(folder, words);
    assert!(
        output.status.success(),
        "{words:?} in {}: {}",
        folder.display(),
        String::from_utf8_lossy(&output.stderr)
    );
}

fn run(folder: &Path, program: &str) -> (i32, String) {
    let output = Command::new(folder.join(program)).finished();
    (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&output.stdout).into_owned())
}

fn test_of(model: &Ensemble, name: &str, header: &str, judged: &Judged) -> String {
    let cover = CoverRows {
        rows: &judged.rows,
        expected: Expected::Scores(&judged.scores),
        classes: &judged.classes,
    };
    cover_test(model, name, header, &cover).unwrap()
}

/// Writes one program of many models, each a header with its cover test; the program prints the
/// models with wrong bits. The models take turns in how they are written, beginning with `turn`.
fn program_of_all(
    folder: &Path,
    models: &[(String, Ensemble)],
    turn: usize,
    rng: &mut Rng,
) -> Vec<&'static str> {
    program_of(folder, models, rng, &|model, index, name| {
        common::by_turns(model, turn + index, Form::Header, name)
    })
}

/// The style in which a model is written, by its index and name.
type Written<'a> = &'a dyn for<'b> Fn(&Ensemble, usize, &'b str) -> Style<'b>;

/// Does the same with a style that the caller chooses for each model.
fn program_of(
    folder: &Path,
    models: &[(String, Ensemble)],
    rng: &mut Rng,
    written: Written<'_>,
) -> Vec<&'static str> {
    let mut layouts = Vec::new();
    let mut main = String::from("#include <stdio.h>\n");
    let mut calls = String::new();
    for (index, (label, model)) in models.iter().enumerate() {
        let name = format!("m{index}");
        let text = common::written(model, written(model, index, &name), &[]).unwrap();
        layouts.push(common::layout_of(&text));
        std::fs::write(folder.join(format!("{name}.h")), text).unwrap();
        let test = test_of(model, &name, &format!("{name}.h"), &judged(model, rng));
        std::fs::write(folder.join(format!("{name}_test.h")), test).unwrap();
        writeln!(main, "#define {name}_NO_MAIN\n#include \"{name}_test.h\"").unwrap();
        let label = label.replace(['"', '\\'], "_");
        writeln!(
            calls,
            "    if (m{index}_test() != 0) {{ wrong++; printf(\"%s\\n\", \"{name} {label}\"); }}"
        )
        .unwrap();
    }
    write!(main, "int main(void)\n{{\n    int wrong = 0;\n{calls}    return wrong;\n}}\n").unwrap();
    std::fs::write(folder.join("main.c"), main).unwrap();
    for level in common::levels(folder) {
        // The compiler must not complain about a class function that is never called: it is inline.
        compile(folder, &[level, "main.c", "-o", "all", "-lm"]);
        assert_eq!(run(folder, "all"), (0, String::new()), "{level}");
    }
    let words: Vec<&str> = TRAPS.split(' ').chain(["main.c", "-o", "all", "-lm"]).collect();
    compile(folder, &words);
    assert_eq!(run(folder, "all"), (0, String::new()), "{TRAPS}");
    layouts
}

#[test]
fn random_models_have_the_exact_bits() {
    let mut rng = Rng::with_seed(11);
    let mut models = Vec::new();
    while models.len() < 60 {
        let mut shape = Shape::random(&mut rng);
        shape.thresholds = rng.u32(1..=40);
        shape.depth = rng.u32(0..=5);
        let model = ensemble(&mut rng, &shape);
        if model.scale().is_none() {
            models.push((format!("random {}", models.len()), model));
        }
    }
    let layouts = program_of_all(&common::folder("random-models"), &models, 0, &mut rng);
    assert!(["full", "small", "tests"].iter().all(|layout| layouts.contains(layout)), "{layouts:?}");
}

#[test]
fn trees_laid_out_for_speed_have_the_exact_bits() {
    fn fast(name: &str) -> Style<'_> {
        Style { nodes: NodeLayout::Fast, ..common::exact(Form::Header, name) }
    }
    let mut rng = Rng::with_seed(17);
    let (mut models, mut wanted) = (Vec::new(), BTreeMap::from([("words", 24), ("full", 24), ("tests", 8)]));
    // For models laid out as words: how many more are wanted with this number of first levels
    // without leaves.
    let mut sure = BTreeMap::from([("1", 3), ("2", 3), ("3", 3), ("4", 3)]);
    while wanted.values().chain(sure.values()).any(|&more| more > 0) {
        let mut shape = Shape::random(&mut rng);
        (shape.coarse, shape.weighted) = (false, false);
        (shape.thresholds, shape.depth, shape.trees) = (rng.u32(1..=60), rng.u32(1..=9), rng.u32(1..=9));
        let model = ensemble(&mut rng, &shape);
        let text = common::written(&model, fast("model"), &[]).unwrap();
        let layout = common::layout_of(&text);
        let levels = text.lines().find_map(|line| line.strip_prefix("#define model_SURE "));
        let rare = levels.and_then(|levels| sure.get_mut(levels)).filter(|more| **more > 0);
        let more = wanted.get_mut(layout).filter(|more| **more > 0);
        if rare.is_some() || more.is_some() {
            rare.into_iter().for_each(|rare| *rare -= 1);
            more.into_iter().for_each(|more| *more -= 1);
            models.push((format!("{layout} {}", models.len()), model));
        }
    }
    program_of(&common::folder("fast-models"), &models, &mut rng, &|_, _, name| fast(name));
}

#[test]
fn every_value_that_is_no_number_is_missing() {
    let folder = common::folder("missing-values");
    let mut rng = Rng::with_seed(18);
    let (mut main, mut calls) = (String::from("#include <stdio.h>\n#include <string.h>\n"), String::new());
    let mut wanted = BTreeMap::from([("words float", 6), ("full float", 6), ("full double", 6)]);
    while wanted.values().any(|&more| more > 0) {
        let mut shape = Shape::random(&mut rng);
        (shape.coarse, shape.weighted) = (false, false);
        (shape.thresholds, shape.depth, shape.trees) = (rng.u32(1..=20), rng.u32(1..=6), rng.u32(1..=9));
        let model = ensemble(&mut rng, &shape);
        let (number, columns) = (model.intake().number, model.features().len());
        let (float, whole) = match number {
            NumberType::F32 => ("float", "uint32_t"),
            NumberType::F64 => ("double", "uint64_t"),
        };
        let sum = if model.accumulation().number == NumberType::F32 { "float" } else { "double" };
        let name = format!("m{}", wanted.values().sum::<i32>());
        let style = Style { nodes: NodeLayout::Fast, ..common::exact(Form::Header, &name) };
        let text = common::written(&model, style, &[]).unwrap();
        let Some(more @ 1..) = wanted.get_mut(format!("{} {float}", common::layout_of(&text)).as_str())
        else {
            continue;
        };
        *more -= 1;
        std::fs::write(folder.join(format!("{name}.h")), text).unwrap();
        // The bits of infinity, and of NaNs: with the highest bit of the fraction, with the lowest
        // one, and with all.
        let (infinity, above) = match number {
            NumberType::F32 => (0x7f80_0000, [1 << 22, 1, (1 << 23) - 1]),
            NumberType::F64 => (0x7ff0_0000_0000_0000u64, [1 << 51, 1, (1 << 52) - 1]),
        };
        let sign = 1u64 << if number == NumberType::F32 { 31 } else { 63 };
        let bits = above.iter().flat_map(|more| [infinity + more, sign + infinity + more]);
        let bits: Vec<String> = bits.map(|bits| format!("{bits}u")).collect();
        writeln!(
            main,
            "#include \"{name}.h\"\nstatic int {name}_test(void)\n{{\n    static const {whole} bits[] = {{{}}};\n    \
             {float} row[{columns}] = {{0}};\n    int column, at, wrong = 0;\n    \
             for (column = 0; column < {columns}; column++) {{\n        \
             {sum} first[{name}_OUTPUTS] = {{0}}, scores[{name}_OUTPUTS] = {{0}};\n        \
             for (at = 0; at < 6; at++) {{\n            memcpy(&row[column], &bits[at], sizeof bits[at]);\n            \
             {name}_raw(row, at == 0 ? first : scores);\n            \
             wrong += at > 0 && memcmp(first, scores, sizeof first) != 0;\n        }}\n        \
             if (column % 2 == 0) row[column] = ({float})(column - 2);\n    }}\n    return wrong;\n}}",
            bits.join(", ")
        )
        .unwrap();
        writeln!(calls, "    if ({name}_test() != 0) {{ wrong++; puts(\"{name}\"); }}").unwrap();
    }
    write!(main, "int main(void)\n{{\n    int wrong = 0;\n{calls}    return wrong;\n}}\n").unwrap();
    std::fs::write(folder.join("main.c"), main).unwrap();
    for level in common::levels(&folder) {
        compile(&folder, &[level, "main.c", "-o", "all", "-lm"]);
        assert_eq!(run(&folder, "all"), (0, String::new()), "{level}");
    }
}

/// Trees that split two columns at hundreds of thresholds, with both sides for missing values and
/// zeros.
fn many_thresholds(rng: &mut Rng, number: NumberType, zeros: bool) -> Ensemble {
    let intake = Intake { number, missing: true, infinities: true, zero_window: None };
    let accumulation =
        Accumulation { number, intercept: InterceptPosition::First, order: Order::File, average: None };
    let decision = Decision::Threshold { group: GroupId(0), threshold: 0.25, strict: true };
    let features = Features::unnamed(2);
    let classes = ClassLabels::Unnamed(2);
    let mut builder =
        EnsembleBuilder::new(features, intake, classes, vec![0.5], accumulation, decision).unwrap();
    for _ in 0..6 {
        // A chain: each split has a leaf on its left and the next split on its right.
        let mut tree = TreeBuilder::new();
        let length = 200;
        for at in 0..length {
            let threshold = number.round(f64::from(rng.i32(-900..900)) / 16.0 + f64::from(at) / 8.0);
            let test = match rng.u32(0..3) {
                0 => Test::Less { threshold },
                1 if zeros => Test::LessOrEqualButZero { threshold, zero_left: rng.bool() },
                _ => Test::LessOrEqual { threshold },
            };
            let split = Split { feature: FeatureId(rng.u32(0..2)), test, missing_left: rng.bool() };
            tree.split(split, NodeId(2 * at + 1), NodeId(2 * at + 2));
            tree.leaf(&[number.round(f64::from(rng.i32(-99_999..99_999)) / 7.0)]);
        }
        tree.leaf(&[1.0]);
        builder.tree(tree, Output::Group(GroupId(0)), 1.0).unwrap();
    }
    builder.build()
}

#[test]
fn columns_with_more_thresholds_than_a_byte_counts_have_the_exact_bits() {
    let mut rng = Rng::with_seed(12);
    let mut models = Vec::new();
    for number in [NumberType::F32, NumberType::F64] {
        for zeros in [false, true] {
            let model = many_thresholds(&mut rng, number, zeros);
            let text = common::written(&model, common::exact(Form::C, "model"), &[]).unwrap();
            assert!(text.contains("chunks") && text.contains("zeros") == zeros, "{text}");
            let file = SourceFile::parse(text.as_bytes()).unwrap();
            assert_eq!(same_source(&model, Link::None, &file), Ok(()));
            models.push((format!("{number:?}, zeros {zeros}"), model));
        }
    }
    let mut layouts = Vec::new();
    for turn in 0..6 {
        layouts.extend(program_of_all(&common::folder(&format!("chunks-{turn}")), &models, turn, &mut rng));
    }
    assert!(layouts.contains(&"words") && layouts.contains(&"tests"), "{layouts:?}");
}

#[test]
fn every_committed_model_has_the_exact_bits() {
    let mut rng = Rng::with_seed(13);
    let models: Vec<(String, Ensemble)> =
        common::fixtures().into_iter().map(|(name, file)| (name, file.ensemble().clone())).collect();
    let layouts = program_of_all(&common::folder("committed-models"), &models, 1, &mut rng);
    assert!(["full", "words", "small", "tests"].iter().all(|layout| layouts.contains(layout)), "{layouts:?}");
}

#[test]
fn a_file_with_its_header_and_test_compiles_and_a_changed_number_is_found() {
    let models = common::fixtures();
    let (_, file) = models.iter().find(|(name, _)| name.contains("3.4.1-logistic")).unwrap();
    let model = file.ensemble();
    let folder = common::folder("one-model");
    let text = common::written(model, common::exact(Form::C, "house"), &[]).unwrap();
    std::fs::write(
        folder.join("house.h"),
        declarations(model, common::exact(Form::C, "house"), &[]).unwrap(),
    )
    .unwrap();
    // The rows that users get.
    let rows = common::judge(model, cover_rows(model));
    std::fs::write(folder.join("test.c"), test_of(model, "house", "house.h", &rows)).unwrap();
    std::fs::write(folder.join("house.c"), &text).unwrap();
    for level in common::LEVELS {
        compile(&folder, &[level, "-c", "house.c"]);
        compile(&folder, &[level, "test.c", "house.o", "-o", "test"]);
        let (code, told) = run(&folder, "test");
        assert!(code == 0 && told.starts_with("0 of "), "{level}: {told}");
    }
    // C++ accepts the declarations, and the model that is a header.
    std::fs::write(
        folder.join("all.h"),
        common::written(
            model,
            Style { nodes: NodeLayout::Fast, ..common::exact(Form::Header, "other") },
            &[],
        )
        .unwrap(),
    )
    .unwrap();
    std::fs::write(
        folder.join("service.cc"),
        "#include \"house.h\"\n#include \"all.h\"\nint main() {\n    float row[house_FEATURES] = {}, a[1], b[1];\n    \
         house_raw(row, a);\n    other_raw(row, b);\n    return a[0] != b[0] || house_class(row) != other_class(row);\n}\n",
    )
    .unwrap();
    let path = std::env::var_os("PATH").unwrap_or_default();
    if std::env::split_paths(&path).any(|folder| folder.join("c++").exists()) {
        let output = Command::new("c++")
            .current_dir(&folder)
            .args(["-std=c++17", "-Wall", "-Wextra", "-Werror", "service.cc", "house.o", "-o", "service"])
            .finished();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(run(&folder, "service").0, 0);
    }
    // The text itself refuses compiler options that could change the bits.
    for flag in ["-ffast-math", "-ffinite-math-only"] {
        let output = cc(&folder, &[flag, "-c", "house.c"]);
        assert!(!output.status.success(), "{flag}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("this model needs"), "{flag}");
    }
    // Changes a number of each of these tables in turn.
    let lines: Vec<&str> = text.lines().collect();
    for table in
        ["house_threshold[", "house_leaf[", "house_node_test[", "house_node_skip[", "house_intercept["]
    {
        let start = lines.iter().position(|line| line.contains(table) && line.ends_with('{')).unwrap();
        let mut changed: Vec<String> = lines.iter().map(|&line| line.to_owned()).collect();
        let first = lines[start + 1].split(',').next().unwrap();
        let other = match first.strip_suffix('f') {
            Some(_) => "0x1.23456p+5f".to_owned(),
            None => (first.parse::<u32>().unwrap() ^ 1).to_string(),
        };
        changed[start + 1] = lines[start + 1].replacen(first, &other, 1);
        std::fs::write(folder.join("house.c"), changed.join("\n") + "\n").unwrap();
        compile(&folder, &["-O1", "test.c", "house.c", "-o", "broken"]);
        let (code, told) = run(&folder, "broken");
        assert!(code == 1 && !told.starts_with("0 of "), "{table}: {told}");
    }
}

/// With more bins than a byte counts, the nodes are in tables of their own.
#[test]
fn wide_models_have_the_exact_bits() {
    let mut rng = Rng::with_seed(16);
    let intake = Intake::everything(NumberType::F32);
    let accumulation = Accumulation::in_order(NumberType::F32);
    let decision = Decision::Threshold { group: GroupId(0), threshold: 0.0, strict: true };
    let (features, classes) = (Features::unnamed(260), ClassLabels::Unnamed(2));
    let mut builder =
        EnsembleBuilder::new(features, intake, classes, vec![0.5], accumulation, decision).unwrap();
    for tree in 0..260 {
        let mut built = TreeBuilder::new();
        let test = Test::Less { threshold: f64::from(rng.i32(-9..9)) };
        let split = Split { feature: FeatureId(tree), test, missing_left: rng.bool() };
        built.split(split, NodeId(1), NodeId(2));
        for leaf in 1..3 {
            built.leaf(&[f64::from(leaf) / 8.0 * f64::from(tree)]);
        }
        builder.tree(built, Output::Group(GroupId(0)), 1.0).unwrap();
    }
    let model = builder.build();
    let text = common::written(&model, common::exact(Form::C, "model"), &[]).unwrap();
    assert!(text.contains("model_node_rank[260]"), "{text}");
    program_of_all(&common::folder("wide-models"), &[("wide".to_owned(), model)], 1, &mut rng);
}

/// The probabilities of every rule are compared with those of the runtime.
#[test]
fn probabilities_are_those_of_the_runtime() {
    let mut rng = Rng::with_seed(17);
    let folder = common::folder("probabilities");
    let (mut main, mut calls) = (String::from("#include <math.h>\n#include <stdio.h>\n"), String::new());
    let mut seen = std::collections::BTreeSet::new();
    let mut turn = 0;
    while turn < 60 {
        let shape = Shape { weighted: false, depth: 3, ..Shape::random(&mut rng) };
        let model = ensemble(&mut rng, &shape);
        let link = common::link(&model, turn);
        if link == Link::None {
            continue;
        }
        let name = format!("m{turn}");
        let leaves = turn.is_multiple_of(5).then_some(LeafBits::Sixteen);
        let style = Style { leaves, ..common::by_turns(&model, turn, Form::Header, &name) };
        let Ok(text) = common::written(&model, style, &[]) else { continue };
        seen.extend(PROBABILITIES.into_iter().filter(|part| text.lines().nth(2).unwrap().contains(part)));
        let rows: Vec<f64> = judged(&model, &mut rng)
            .rows
            .chunks(model.features().len())
            .take(20)
            .flatten()
            .copied()
            .collect();
        // With quantised leaves the scores belong to another model, which has the same rule.
        let file = SourceFile::parse(text.as_bytes()).unwrap();
        let scored = match leaves {
            None => {
                assert_eq!(same_source(&model, link, &file), Ok(()), "{text}");
                model.clone()
            }
            Some(_) => quantised(&model, link, &file).unwrap().model,
        };
        let expected = common::probabilities(&scored, link, &rows);
        let classes = model.classes().len();
        let input = if model.intake().number == NumberType::F32 { "float" } else { "double" };
        let own = if text.contains(&format!("_probabilities(const {input} *row, float")) {
            "float"
        } else {
            "double"
        };
        let list = |values: &[f64]| {
            let one = |value: &f64| match value {
                value if value.is_nan() => "NAN".to_owned(),
                value if value.is_infinite() => format!("{}INFINITY", if *value > 0.0 { "" } else { "-" }),
                value => format!("({input}){value:e}"),
            };
            values.iter().map(one).collect::<Vec<_>>().join(", ")
        };
        let exact: Vec<String> = expected.iter().map(|value| format!("{value:e}")).collect();
        std::fs::write(folder.join(format!("{name}.h")), text).unwrap();
        let (rows, exact) = (list(&rows), exact.join(", "));
        let allowed = if own == "float" { "1e-6" } else { "1e-13" };
        writeln!(main, "#include \"{name}.h\"\nstatic const {input} {name}_rows[] = {{{rows}}};\nstatic const double {name}_exact[] = {{{exact}}};").unwrap();
        writeln!(
            calls,
            "    for (at = 0; at < sizeof {name}_exact / sizeof(double) / {classes}; at++) {{\n        {own} found[{name}_CLASSES];\n        \
             {name}_probabilities({name}_rows + at * {name}_FEATURES, found);\n        for (k = 0; k < {classes}; k++) {{\n            \
             if (!(fabs(found[k] - {name}_exact[at * {classes} + k]) <= {allowed})) {{ wrong = 1; printf(\"{name} %d %g %g\\n\", (int)at, (double)found[k], {name}_exact[at * {classes} + k]); }}\n        }}\n    }}"
        )
        .unwrap();
        turn += 1;
    }
    assert_eq!(seen.len(), PROBABILITIES.len(), "{seen:?}");
    write!(
        main,
        "int main(void)\n{{\n    unsigned long at, k;\n    int wrong = 0;\n{calls}    return wrong;\n}}\n"
    )
    .unwrap();
    std::fs::write(folder.join("main.c"), main).unwrap();
    for level in common::levels(&folder) {
        compile(&folder, &[level, "main.c", "-o", "all", "-lm"]);
        assert_eq!(run(&folder, "all"), (0, String::new()), "{level}");
    }
}

/// Compares the leaves that the rows of the cover test reach with those of the runtime's cover.
#[test]
fn the_rows_of_the_test_reach_every_leaf_that_can_be_reached_and_both_sides_of_every_threshold() {
    let mut rng = Rng::with_seed(15);
    let mut models: Vec<Ensemble> =
        common::fixtures().into_iter().map(|(_, file)| file.ensemble().clone()).collect();
    for _ in 0..200 {
        let shape = Shape { weighted: false, ..Shape::random(&mut rng) };
        models.push(ensemble(&mut rng, &shape));
    }
    let (mut missed, mut all) = (0, 0);
    for model in &models {
        let width = model.features().len();
        let rows = cover_rows(model);
        assert!(rows.chunks(width).all(|row| model.accepts(row)), "a row that the library refuses");
        let leaves = |rows: &[f64]| {
            let mut reached = std::collections::BTreeSet::new();
            for row in rows.chunks(width) {
                let read: Vec<f64> =
                    (0..width).map(|at| model.read(FeatureId::new(at), row[at]).unwrap()).collect();
                reached.extend(model.leaves(&read).enumerate());
            }
            reached
        };
        // The runtime's cover, with random rows, serves for comparison.
        let (ours, theirs) = (leaves(&rows), leaves(&judged(model, &mut rng).rows));
        missed += theirs.difference(&ours).count();
        all += theirs.union(&ours).count();
    }
    assert!(missed * 200 < all, "{missed} of {all} leaves are missed");
}
