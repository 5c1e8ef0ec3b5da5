//! The committed scikit-learn models give the same scores and classes as scikit-learn.

use std::path::PathBuf;

use secateur_formats::{Edit, ModelFile, TreeEdit};
use secateur_model::{Ensemble, Output, Predictor, TreeId};
use secateur_testkit::testdata;

const MODELS: [&str; 9] = [
    "tree",
    "forest",
    "extra_trees",
    "adaboost",
    "adaboost_three",
    "boosting",
    "boosting_three",
    "histogram",
    "histogram_categories",
];

fn path(name: &str) -> PathBuf {
    testdata("models/sklearn").join(name)
}

fn model(name: &str) -> ModelFile {
    ModelFile::read(&path(&format!("{name}.skops"))).unwrap()
}

struct Expected {
    row: Vec<f64>,
    raw: Vec<u64>,
    class: String,
}

fn expected(name: &str) -> Vec<Expected> {
    let text = std::fs::read_to_string(path(&format!("{name}.expected.jsonl"))).unwrap();
    let read = |line: &str| {
        let value: serde_json::Value = serde_json::from_str(line).unwrap();
        let bits = |key: &str| -> Vec<u64> {
            let items = value[key].as_array().unwrap().iter();
            items.map(|item| u64::from_str_radix(item.as_str().unwrap(), 16).unwrap()).collect()
        };
        Expected {
            row: bits("row").into_iter().map(f64::from_bits).collect(),
            raw: bits("raw"),
            class: value["class"].as_str().unwrap().to_owned(),
        }
    };
    text.lines().map(read).collect()
}

#[test]
fn every_model_gives_the_bits_of_the_library() {
    for name in MODELS {
        let file = model(name);
        let predictor = Predictor::new(file.ensemble());
        let expected = expected(name);
        assert_eq!(expected.len(), 50);
        for (index, case) in expected.iter().enumerate() {
            let raw = predictor.raw_scores(&case.row).unwrap();
            let raw: Vec<u64> = raw.iter().map(|score| score.to_bits()).collect();
            assert_eq!(raw, case.raw, "{name}, row {index}: {:?}", case.row);
            let class = predictor.classes(&case.row).unwrap()[0];
            assert_eq!(file.ensemble().classes().text(class), case.class, "{name}, row {index}");
        }
    }
}

/// Isolation forests: the sums of the library; they can only be read.
#[test]
fn isolation_forests_give_the_path_lengths_of_the_library() {
    for (name, samples) in [("isolation", 20.0), ("isolation_columns", 20.0)] {
        let file = model(name);
        let predictor = Predictor::new(file.ensemble());
        for (index, case) in expected(name).iter().enumerate() {
            let raw = predictor.raw_scores(&case.row).unwrap();
            assert_eq!(raw[0].to_bits(), case.raw[0], "{name}, row {index}: {:?}", case.row);
        }
        assert!(!file.ensemble().decision().is_classifier() && file.ensemble().scores_vary());
        let one: f64 =
            2.0 * (f64::ln(samples - 1.0) + 0.577_215_664_901_532_9) - 2.0 * (samples - 1.0) / samples;
        assert_eq!(file.expected_path_lengths(), Some(4.0 * one));
        assert_eq!(file.to_bytes(), std::fs::read(path(&format!("{name}.skops"))).unwrap());
        let edit = Edit { trees: vec![TreeEdit::Keep(TreeId(0))], intercepts: None };
        let told = file.edit(&edit).unwrap_err().to_string();
        assert!(told.contains("IsolationForest is only read"), "{told}");
    }
    assert_eq!(model("forest").expected_path_lengths(), None);
}

#[test]
fn a_model_that_is_written_unchanged_has_the_same_bytes() {
    for name in MODELS {
        let bytes = std::fs::read(path(&format!("{name}.skops"))).unwrap();
        let file = ModelFile::parse(&bytes).unwrap();
        assert!(file.to_bytes() == bytes, "{name}");
        let edited = file.edit(&Edit::unchanged(file.ensemble())).unwrap();
        assert!(edited.to_bytes() == bytes, "{name}, edited");
    }
}

#[test]
fn a_tree_that_takes_its_own_place_predicts_the_same() {
    for name in MODELS {
        let file = model(name);
        let replace = |index: usize| {
            let tree = TreeId::new(index);
            TreeEdit::Replace { tree, with: file.ensemble().tree(tree).clone() }
        };
        let trees = (0..file.ensemble().trees().len()).map(replace).collect();
        let edited = file.edit(&Edit { trees, intercepts: None }).unwrap();
        let again = ModelFile::parse(&edited.to_bytes()).unwrap();
        assert_eq!(edited.ensemble(), again.ensemble(), "{name}");
        let (before, after) = (Predictor::new(file.ensemble()), Predictor::new(again.ensemble()));
        for case in expected(name) {
            assert_eq!(before.classes(&case.row).unwrap(), after.classes(&case.row).unwrap(), "{name}");
            let scores = |predictor: &Predictor<'_>| predictor.raw_scores(&case.row).unwrap();
            assert_eq!(scores(&before), scores(&after), "{name}, {:?}", case.row);
        }
    }
}

/// Edits of every kind: trees removed or scaled, intercepts moved, all of these at once, and only
/// intercepts left.
fn edits(name: &str, ensemble: &Ensemble) -> Vec<Edit> {
    let trees = ensemble.trees().len();
    let scale = |index| TreeEdit::Scale { tree: TreeId::new(index), factor: 1.5 + index as f64 };
    let keep = |index| TreeEdit::Keep(TreeId::new(index));
    let moved: Vec<f64> = match name {
        // Voters of three classes can only hold votes.
        "adaboost_three" => vec![-0.125, -0.125, 0.25],
        _ => ensemble.intercepts().iter().map(|value| value + 0.1).collect(),
    };
    vec![
        Edit { trees: (0..trees).step_by(2).map(keep).collect(), intercepts: None },
        Edit { trees: (0..trees).map(scale).collect(), intercepts: None },
        Edit { trees: (0..trees).map(keep).collect(), intercepts: Some(moved.clone()) },
        Edit {
            trees: (0..trees).map(|i| if i % 2 == 0 { keep(i) } else { scale(i) }).collect(),
            intercepts: Some(moved.clone()),
        },
        Edit { trees: Vec::new(), intercepts: Some(moved) },
    ]
}

#[test]
fn an_edited_model_is_what_reading_it_again_gives() {
    for name in MODELS {
        let file = model(name);
        for (number, edit) in edits(name, file.ensemble()).iter().enumerate() {
            let edited = file.edit(edit).unwrap_or_else(|error| panic!("{name}, edit {number}: {error}"));
            let again = ModelFile::parse(&edited.to_bytes()).unwrap();
            assert_eq!(edited.ensemble(), again.ensemble(), "{name}, edit {number}");
            assert!(edited.to_bytes() == again.to_bytes(), "{name}, edit {number}");
            assert_eq!(file.draft(edit).as_ref(), Ok(edited.ensemble()), "{name}, draft {number}");
        }
    }
}

/// The sums of a row, before any division, up to rounding.
fn sums(ensemble: &Ensemble, row: &[f64], intercepts: &[f64], factor: impl Fn(usize) -> f64) -> Vec<f64> {
    let row: Vec<f64> = row.iter().map(|&value| ensemble.intake().read(value).unwrap()).collect();
    let mut sums = intercepts.to_vec();
    for (index, (tree, leaf)) in ensemble.trees().iter().zip(ensemble.leaves(&row)).enumerate() {
        let scale = factor(index) * tree.weight();
        match tree.output() {
            Output::Group(group) => sums[group.index()] += scale * tree.leaf(leaf)[0],
            Output::All => sums.iter_mut().zip(tree.leaf(leaf)).for_each(|(sum, leaf)| *sum += scale * leaf),
        }
    }
    sums
}

#[test]
fn an_edited_model_has_the_sums_that_the_edit_asks_for() {
    for name in MODELS {
        let file = model(name);
        for (number, edit) in edits(name, file.ensemble()).iter().enumerate() {
            let edited = file.edit(edit).unwrap();
            let intercepts = edit.intercepts.as_deref().unwrap_or(file.ensemble().intercepts());
            let factor = |index: usize| match edit.trees.iter().find(|e| e.source().index() == index) {
                None => 0.0,
                Some(TreeEdit::Scale { factor, .. }) => *factor,
                Some(_) => 1.0,
            };
            for case in expected(name) {
                let wanted = sums(file.ensemble(), &case.row, intercepts, factor);
                let found = sums(edited.ensemble(), &case.row, edited.ensemble().intercepts(), |_| 1.0);
                for (wanted, found) in wanted.iter().zip(&found) {
                    assert!((wanted - found).abs() < 1e-12, "{name}, edit {number}: {found} for {wanted}");
                }
            }
        }
    }
}

#[test]
fn a_vote_cannot_be_replaced_by_other_leaves() {
    for name in ["adaboost", "adaboost_three"] {
        let file = model(name);
        let tree = file.ensemble().tree(TreeId(0));
        let mut leaves = tree.leaf_values().to_vec();
        leaves[0] *= 3.0;
        let with = tree.with_leaf_values(leaves).unwrap();
        let edit = Edit { trees: vec![TreeEdit::Replace { tree: TreeId(0), with }], intercepts: None };
        let message = file.edit(&edit).unwrap_err().to_string();
        assert!(message.contains("votes"), "{message}");
    }
}

#[test]
fn a_start_that_depends_on_the_processor_has_an_error() {
    for name in MODELS {
        let file = model(name);
        let errors = file.ensemble().intercept_errors();
        if name != "boosting_three" {
            assert!(errors.iter().all(|&error| error == 0.0), "{name}");
            continue;
        }
        // A few units in the last place of numbers near one.
        assert!(errors.iter().all(|error| (4.0..200.0).contains(&(error / f64::EPSILON))), "{errors:?}");
        let margin = file.ensemble().certain_margin().unwrap();
        assert!(errors.iter().all(|&error| margin > 2.0 * error));
        // An edited file holds the scores themselves.
        let trees =
            (0..file.ensemble().trees().len()).map(|tree| TreeEdit::Keep(TreeId::new(tree))).collect();
        let mut intercepts = file.ensemble().intercepts().to_vec();
        intercepts[0] += 0.5;
        let edited = file.edit(&Edit { trees, intercepts: Some(intercepts) }).unwrap();
        assert!(edited.ensemble().intercept_errors().iter().all(|&error| error == 0.0));
    }
}
