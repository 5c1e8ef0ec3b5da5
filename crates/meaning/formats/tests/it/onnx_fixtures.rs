//! ONNX models as the converters write them, compared with the bits that onnxruntime returned for
//! them.

use std::path::Path;

use secateur_formats::{Edit, ModelFile, TreeEdit};
use secateur_model::{Ensemble, Exact, NumberType, Output, Predictor, TreeId};
use secateur_testkit::{all_of, committed, doubles, words};

/// Every model of the folder with its name.
fn fixtures() -> Vec<(String, Vec<u8>)> {
    let name = |path: &Path| path.file_stem().expect("a name").to_string_lossy().into_owned();
    all_of("models/onnx", &["onnx"], 15).iter().map(|path| (name(path), committed(path))).collect()
}

struct Expected {
    row: Vec<f64>,
    scores: Vec<u64>,
    label: String,
}

fn expected(name: &str) -> Vec<Expected> {
    let text = String::from_utf8(committed(format!("models/onnx/{name}.expected"))).expect("text");
    text.lines()
        .map(|line| {
            let parts: Vec<&str> = line.split(" | ").collect();
            Expected { row: doubles(parts[0]), scores: words(parts[1]), label: parts[2].to_owned() }
        })
        .collect()
}

#[test]
fn scores_and_labels_are_those_of_onnxruntime() {
    for (name, bytes) in fixtures() {
        let file = ModelFile::parse(&bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
        let ensemble = file.ensemble();
        let predictor = Predictor::new(ensemble);
        let rows = expected(&name);
        assert_eq!(rows.len(), 50, "{name}");
        for (index, Expected { row, scores, label }) in rows.into_iter().enumerate() {
            let ours = predictor.raw_scores(&row).expect("accepted");
            // onnxruntime outputs f64 sums rounded to f32.
            let shown = |score: f64| f64::from(score as f32).to_bits();
            assert_eq!(ours.into_iter().map(shown).collect::<Vec<_>>(), scores, "{name}, row {index}");
            let class = predictor.classes(&row).expect("accepted")[0];
            assert_eq!(ensemble.classes().text(class), label, "{name}, row {index}");
        }
    }
}

#[test]
fn an_unchanged_file_is_written_byte_for_byte() {
    for (name, bytes) in fixtures() {
        assert!(ModelFile::parse(&bytes).expect("a model").to_bytes() == bytes, "{name}");
    }
}

#[test]
fn an_edit_that_keeps_every_tree_changes_only_ids() {
    for (name, bytes) in fixtures() {
        let file = ModelFile::parse(&bytes).expect("a model");
        let edited = file.edit(&Edit::unchanged(file.ensemble())).expect("an edit");
        assert_eq!(edited.ensemble(), file.ensemble(), "{name}");
        // Converters number trees and nodes from zero, as edits do.
        if !name.starts_with("every") && !name.starts_with("weights") {
            assert!(edited.to_bytes() == bytes, "{name}");
        }
    }
}

/// The exact sums of a row over some trees, each with a factor, without the intercepts.
fn sums(ensemble: &Ensemble, row: &[f64], trees: impl IntoIterator<Item = (TreeId, f64)>) -> Vec<Exact> {
    let leaves: Vec<_> = ensemble.leaves(row).collect();
    let exact = |value| Exact::from_f64(value).expect("finite");
    let mut sums: Vec<Exact> = ensemble.intercepts().iter().map(|_| exact(0.0)).collect();
    for (id, factor) in trees {
        let tree = ensemble.tree(id);
        let first = match tree.output() {
            Output::Group(group) => group.index(),
            Output::All => 0,
        };
        for (sum, &value) in sums[first..].iter_mut().zip(tree.leaf(leaves[id.index()])) {
            *sum += &exact(factor * value);
        }
    }
    sums
}

#[test]
fn an_edited_file_reads_back_as_its_own_ensemble_and_sums_what_was_asked_for() {
    for (name, bytes) in fixtures() {
        let file = ModelFile::parse(&bytes).expect("a model");
        let original = file.ensemble();
        let kept: Vec<(TreeId, f64)> = (0..original.trees().len())
            .step_by(2)
            .map(|index| (TreeId::new(index), if index % 4 == 0 { 1.0 } else { 0.5 }))
            .collect();
        let steps = kept.iter().map(|&(tree, factor)| match factor {
            1.0 => TreeEdit::Keep(tree),
            _ => TreeEdit::Scale { tree, factor },
        });
        let edit = Edit { trees: steps.collect(), intercepts: None };
        let edited = file.edit(&edit).unwrap_or_else(|error| panic!("{name}: {error}"));
        let again = ModelFile::parse(&edited.to_bytes()).expect("a model");
        let found = again.ensemble();
        assert_eq!(found, edited.ensemble(), "{name}");
        assert_eq!(found.decision(), original.decision(), "{name}");
        assert_eq!(found.intercepts(), original.intercepts(), "{name}");
        for Expected { row, .. } in expected(&name) {
            let row: Vec<f64> =
                row.iter().map(|&value| original.intake().read(value).expect("accepted")).collect();
            let all = (0..found.trees().len()).map(|index| (TreeId::new(index), 1.0));
            assert_eq!(sums(found, &row, all), sums(original, &row, kept.iter().copied()), "{name}");
        }
    }
}

#[test]
fn a_tree_that_is_replaced_by_itself_adds_the_same() {
    for (name, bytes) in fixtures() {
        let file = ModelFile::parse(&bytes).expect("a model");
        let original = file.ensemble();
        let trees = original.trees().iter().enumerate();
        let trees =
            trees.map(|(index, tree)| TreeEdit::Replace { tree: TreeId::new(index), with: tree.clone() });
        let edited = file.edit(&Edit { trees: trees.collect(), intercepts: None }).expect("an edit");
        let again = ModelFile::parse(&edited.to_bytes()).expect("a model");
        assert_eq!(again.ensemble(), edited.ensemble(), "{name}");
        let (before, after) = (Predictor::new(original), Predictor::new(again.ensemble()));
        for Expected { row, .. } in expected(&name) {
            assert_eq!(after.raw_scores(&row).unwrap(), before.raw_scores(&row).unwrap(), "{name}");
            assert_eq!(after.classes(&row).unwrap(), before.classes(&row).unwrap(), "{name}");
        }
    }
}

#[test]
fn a_file_without_its_trees_still_decides_by_the_same_rule() {
    for (name, bytes) in fixtures() {
        let file = ModelFile::parse(&bytes).expect("a model");
        let edited = file.edit(&Edit { trees: Vec::new(), intercepts: None });
        let edited = edited.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(edited.ensemble().decision(), file.ensemble().decision(), "{name}");
        assert_eq!(edited.ensemble().intercepts(), file.ensemble().intercepts(), "{name}");
        for Expected { row, .. } in expected(&name) {
            let scores = Predictor::new(edited.ensemble()).raw_scores(&row).expect("accepted");
            assert_eq!(scores, file.ensemble().intercepts(), "{name}");
        }
    }
}

#[test]
fn the_double_form_adds_up_in_f64() {
    let number = |name: &str| {
        let bytes = committed(format!("models/onnx/{name}"));
        ModelFile::parse(&bytes).expect("a model").ensemble().accumulation().number
    };
    assert_eq!(number("forest.onnx"), NumberType::F32);
    assert_eq!(number("forest_double.onnx"), NumberType::F64);
    assert_eq!(number("every_mode_double.onnx"), NumberType::F64);
}
