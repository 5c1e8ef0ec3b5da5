//! ONNX regressors that no converter writes, compared with the bits that onnxruntime returned for
//! them: `TreeEnsemble`, and the smallest or largest of the trees' values.

use secateur_formats::{Edit, ModelFile, TreeEdit};
use secateur_model::{Predictor, TreeId};
use secateur_testkit::{committed, doubles, words};

/// Every model of the folder with its name.
fn fixtures() -> Vec<(String, Vec<u8>)> {
    let names =
        ["newer_float", "newer_double", "newer_average", "newer_largest", "smallest", "largest_double"];
    names.map(|name| (name.to_owned(), committed(format!("models/onnx_values/{name}.onnx")))).to_vec()
}

/// Rows and the bits of their values.
fn expected(name: &str) -> Vec<(Vec<f64>, Vec<u64>)> {
    let text = String::from_utf8(committed(format!("models/onnx_values/{name}.expected"))).expect("text");
    let line = |line: &str| {
        let (row, values) = line.split_once(" | ").expect("two parts");
        (doubles(row), words(values))
    };
    text.lines().map(line).collect()
}

fn values(file: &ModelFile, row: &[f64]) -> Vec<f64> {
    Predictor::new(file.ensemble()).raw_scores(row).expect("accepted")
}

#[test]
fn values_are_those_of_onnxruntime() {
    for (name, bytes) in fixtures() {
        let file = ModelFile::parse(&bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
        let rows = expected(&name);
        assert_eq!(rows.len(), 50, "{name}");
        for (index, (row, bits)) in rows.into_iter().enumerate() {
            // onnxruntime outputs f64 sums rounded to f32, except those of a `TreeEnsemble`.
            let shown = |value: f64| match name.starts_with("newer") {
                true => value.to_bits(),
                false => f64::from(value as f32).to_bits(),
            };
            let ours: Vec<u64> = values(&file, &row).into_iter().map(shown).collect();
            assert_eq!(ours, bits, "{name}, row {index}");
        }
    }
}

#[test]
fn an_unchanged_file_is_written_byte_for_byte() {
    for (name, bytes) in fixtures() {
        let file = ModelFile::parse(&bytes).expect("a model");
        assert!(file.to_bytes() == bytes, "{name}");
        let edited = file.edit(&Edit::unchanged(file.ensemble())).expect("an edit");
        assert!(edited.to_bytes() == bytes, "{name}");
    }
}

/// Unchanged trees and newly written trees give the same values, in every arrangement of the file.
#[test]
fn edited_files_read_back_as_what_was_asked_for() {
    for (name, bytes) in fixtures() {
        let file = ModelFile::parse(&bytes).expect("a model");
        let original = file.ensemble();
        let trees = || (0..original.trees().len()).map(TreeId::new);
        let replaced = |tree: TreeId| TreeEdit::Replace { tree, with: original.tree(tree).clone() };
        let doubled: Vec<TreeEdit> = trees().map(|tree| TreeEdit::Scale { tree, factor: 2.0 }).collect();
        let edit = |trees: Vec<TreeEdit>| {
            let edited = file.edit(&Edit { trees, intercepts: None });
            let edited = edited.unwrap_or_else(|error| panic!("{name}: {error}"));
            let again = ModelFile::parse(&edited.to_bytes()).expect("a model");
            assert_eq!(again.ensemble(), edited.ensemble(), "{name}");
            again
        };
        let twice = edit(doubled);
        for (row, _) in expected(&name) {
            let base = original.intercepts().iter();
            let wanted = values(&file, &row).into_iter().zip(base);
            let found = values(&twice, &row);
            // Base values stay; if numbers are rounded, the last bits may differ.
            for ((before, base), after) in wanted.zip(&found) {
                assert!((2.0 * (before - base) + base - after).abs() < 1e-5, "{name}");
            }
        }
        let empty = edit(Vec::new());
        for (row, _) in expected(&name) {
            assert_eq!(values(&empty, &row), original.intercepts(), "{name}");
        }
        if name == "newer_average" {
            let error = file.edit(&Edit { trees: trees().map(replaced).collect(), intercepts: None });
            let error = error.expect_err("several targets in one leaf of an average").to_string();
            assert!(error.contains("several targets in a leaf of an average"), "{error}");
            continue;
        }
        let anew = edit(trees().map(replaced).collect());
        for (row, _) in expected(&name) {
            assert_eq!(values(&anew, &row), values(&file, &row), "{name}");
        }
    }
}

#[test]
fn a_file_cut_anywhere_is_refused() {
    for (_, bytes) in fixtures() {
        for length in 0..bytes.len() {
            ModelFile::parse(&bytes[..length]).expect_err("cut");
        }
    }
}

#[test]
fn a_file_with_any_byte_changed_is_read_or_refused_but_never_panics() {
    for (_, bytes) in fixtures() {
        for index in 0..bytes.len() {
            for value in [0, 1, 0x7f, 0xff] {
                let mut changed = bytes.clone();
                changed[index] = value;
                if let Ok(file) = ModelFile::parse(&changed) {
                    let scale = |tree| TreeEdit::Scale { tree: TreeId::new(tree), factor: 0.5 };
                    let trees = (0..file.ensemble().trees().len()).map(scale).collect();
                    let _ = file.edit(&Edit { trees, intercepts: None });
                }
            }
        }
    }
}
