//! Every committed XGBoost model, of every dialect and encoding, compared with its own library's
//! answers.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use secateur_formats::{Edit, ModelFile, TreeEdit};
use secateur_model::{
    Ensemble, EnsembleBuilder, NodeId, Output, Predictor, Split, Test, Tree, TreeBuilder, TreeId,
};
use secateur_testkit::{all_of, testdata};

fn folder() -> PathBuf {
    testdata("models/xgboost")
}

/// The library's answers for one model.
#[derive(Default)]
struct Expected {
    rows: Vec<f64>,
    margins: Vec<u32>,
    classes: Vec<u32>,
}

fn expected() -> BTreeMap<String, Expected> {
    let mut models: BTreeMap<String, Expected> = BTreeMap::new();
    for path in all_of("models/xgboost", &["tsv"], 1) {
        for line in fs::read_to_string(path).unwrap().lines() {
            let columns: Vec<&str> = line.split('\t').collect();
            let words = |text: &str| -> Vec<u32> {
                text.split(',').map(|word| u32::from_str_radix(word, 16).unwrap()).collect()
            };
            let model = models.entry(columns[0].to_owned()).or_default();
            model.rows.extend(words(columns[1]).into_iter().map(|bits| f64::from(f32::from_bits(bits))));
            model.margins.extend(words(columns[2]));
            model.classes.push(columns[3].parse().unwrap());
        }
    }
    models
}

/// Every model in both encodings, with its expected answers.
fn for_each_fixture(mut check: impl FnMut(&str, &[u8], &ModelFile, &Expected)) {
    let mut checked = 0;
    for (stem, expected) in &expected() {
        for encoding in ["json", "ubj"] {
            let name = format!("{stem}.{encoding}");
            let bytes = fs::read(folder().join(&name)).unwrap();
            let model = ModelFile::parse(&bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
            check(&name, &bytes, &model, expected);
            checked += 1;
        }
    }
    assert_eq!(checked, 194, "fixtures are missing");
}

fn margins(ensemble: &Ensemble, rows: &[f64]) -> Vec<u32> {
    let scores = Predictor::new(ensemble).raw_scores(rows).unwrap();
    scores.into_iter().map(|score| (score as f32).to_bits()).collect()
}

#[test]
fn margins_are_those_of_the_library_in_every_bit_and_classes_too() {
    for_each_fixture(|name, _, model, expected| {
        assert_eq!(margins(model.ensemble(), &expected.rows), expected.margins, "{name}");
        let classes = Predictor::new(model.ensemble()).classes(&expected.rows).unwrap();
        assert_eq!(classes.iter().map(|class| class.0).collect::<Vec<_>>(), expected.classes, "{name}");
    });
}

#[test]
fn what_is_read_and_written_is_the_same_file() {
    for_each_fixture(|name, bytes, model, _| {
        assert!(model.to_bytes() == bytes, "{name}");
    });
}

#[test]
fn an_edit_that_changes_nothing_writes_the_library_s_bytes() {
    let mut whole = 0;
    for_each_fixture(|name, bytes, model, expected| {
        let edited = model.edit(&Edit::unchanged(model.ensemble())).unwrap();
        assert_eq!(margins(edited.ensemble(), &expected.rows), expected.margins, "{name}");
        // Files of 1.7 always name a best round, and have no list of rounds.
        if !name.starts_with("1.7") && !name.contains("early") {
            assert!(edited.to_bytes() == bytes, "{name}");
            whole += 1;
        }
    });
    assert!(whole > 100);
}

/// The same model with the weights of its leaves folded in, made without a file.
fn folded(original: &Ensemble, edits: &[TreeEdit], intercepts: &[f64]) -> Ensemble {
    let mut builder = EnsembleBuilder::new(
        original.features().clone(),
        *original.intake(),
        original.classes().clone(),
        intercepts.to_vec(),
        *original.accumulation(),
        *original.decision(),
    )
    .unwrap();
    for edit in edits {
        let tree = original.tree(edit.source());
        match edit {
            TreeEdit::Keep(_) => builder.finished_tree(tree.clone()).unwrap(),
            TreeEdit::Scale { factor, .. } => {
                // Weights and leaves are f32 and the factors here have few bits, so the product is
                // exact.
                let scale = |leaf: &f64| f64::from((leaf * (tree.weight() * factor)) as f32);
                let leaves = tree.leaf_values().iter().map(scale).collect();
                let (tree, output) = rebuilt(&tree.with_leaf_values(leaves).unwrap());
                builder.tree(tree, output, 1.0).unwrap()
            }
            TreeEdit::Replace { with, .. } => builder.finished_tree(with.clone()).unwrap(),
        };
    }
    builder.build()
}

/// A tree taken apart, so that it can get another weight.
fn rebuilt(tree: &Tree) -> (TreeBuilder, Output) {
    let mut builder = TreeBuilder::new();
    for (_, node) in tree.nodes() {
        match node {
            secateur_model::Node::Split { split, left, right } => builder.split(split, left, right),
            secateur_model::Node::Leaf(leaf) => builder.leaf(tree.leaf(leaf)),
            secateur_model::Node::Unused => builder.unused(),
        };
    }
    (builder, tree.output())
}

#[test]
fn edited_files_read_back_as_the_model_that_was_meant() {
    for_each_fixture(|name, _, model, expected| {
        let original = model.ensemble();
        let trees = original.trees().len();
        let every_other: Vec<TreeEdit> =
            (0..trees).step_by(2).map(|tree| TreeEdit::Keep(TreeId::new(tree))).collect();
        let scaled: Vec<TreeEdit> = (0..trees)
            .filter(|tree| tree % 3 != 1)
            .map(|tree| match tree % 2 {
                0 => TreeEdit::Scale { tree: TreeId::new(tree), factor: 0.625 },
                _ => TreeEdit::Keep(TreeId::new(tree)),
            })
            .collect();
        let moved: Vec<f64> =
            (0..original.group_count()).map(|group| f64::from(0.1f32 * (group as f32 + 1.0))).collect();
        let same = vec![f64::from(-0.3f32); original.group_count()];
        let cases = [
            (every_other.clone(), None),
            (scaled.clone(), None),
            (scaled, Some(moved.clone())),
            (every_other, Some(same)),
            (Vec::new(), Some(moved)),
            (Vec::new(), None),
        ];
        for (trees, intercepts) in cases {
            let edit = Edit { trees, intercepts };
            let edited = model.edit(&edit).unwrap_or_else(|error| panic!("{name}: {error}"));
            let again = ModelFile::parse(&edited.to_bytes()).unwrap();
            assert_eq!(again.ensemble(), edited.ensemble(), "{name}");
            assert!(again.ensemble().trees().len() >= edit.trees.len().max(1), "{name}");
            assert_eq!(again.dialect(), model.dialect());
            if name.starts_with("1.7") {
                // That version ignores the trees after the last whole round.
                assert!(again.ensemble().trees().len().is_multiple_of(original.group_count()), "{name}");
            }
            assert!(!again.notes().iter().any(|note| note.contains("best round")), "{name}");
            let intercepts = edit.intercepts.as_deref().unwrap_or(original.intercepts());
            let meant = folded(original, &edit.trees, intercepts);
            let scores = |ensemble: &Ensemble| Predictor::new(ensemble).raw_scores(&expected.rows).unwrap();
            // Equal as numbers: a sum of zeros may change its sign.
            assert_eq!(scores(again.ensemble()), scores(&meant), "{name}, {edit:?}");
        }
    });
}

#[test]
fn a_new_tree_takes_the_place_of_another() {
    for_each_fixture(|name, _, model, expected| {
        let original = model.ensemble();
        let output = original.tree(TreeId(0)).output();
        let width = match output {
            Output::Group(_) => 1,
            Output::All => original.group_count(),
        };
        let leaf = |value: f32| vec![f64::from(value); width];
        let split = |feature, test, missing_left| Split { feature, test, missing_left };
        let mut tree = TreeBuilder::new();
        let third = secateur_model::FeatureId(2);
        let test = match original.features().categories(third) {
            Some(_) => Test::Member { set: &[1, 3], members_left: true },
            None => Test::Less { threshold: 2.5 },
        };
        // The children are far from each other and out of order; the file must have them side by
        // side.
        tree.split(split(third, test, true), NodeId(4), NodeId(1))
            .split(
                split(secateur_model::FeatureId(0), Test::Less { threshold: 0.25 }, false),
                NodeId(3),
                NodeId(5),
            )
            .unused()
            .leaf(&leaf(0.5))
            .leaf(&leaf(-0.1))
            .leaf(&leaf(0.7));
        let mut builder = EnsembleBuilder::new(
            original.features().clone(),
            *original.intake(),
            original.classes().clone(),
            original.intercepts().to_vec(),
            *original.accumulation(),
            *original.decision(),
        )
        .unwrap();
        builder.tree(tree, output, 1.0).unwrap();
        let new = builder.build();
        let mut edit = Edit::unchanged(original);
        edit.trees[0] = TreeEdit::Replace { tree: TreeId(0), with: new.tree(TreeId(0)).clone() };
        let edited = model.edit(&edit).unwrap_or_else(|error| panic!("{name}: {error}"));
        let meant = folded(original, &edit.trees, original.intercepts());
        assert_eq!(margins(edited.ensemble(), &expected.rows), margins(&meant, &expected.rows), "{name}");
        let alone = model.edit(&Edit { trees: edit.trees[..1].to_vec(), intercepts: None }).unwrap();
        let meant = folded(original, &edit.trees[..1], original.intercepts());
        assert_eq!(margins(alone.ensemble(), &expected.rows), margins(&meant, &expected.rows), "{name}");
    });
}

#[test]
fn a_best_round_is_said_and_forgotten_by_an_edit() {
    for encoding in ["json", "ubj"] {
        let bytes = fs::read(folder().join(format!("3.4.1-early.{encoding}"))).unwrap();
        let model = ModelFile::parse(&bytes).unwrap();
        assert!(model.notes().iter().any(|note| note.contains("best round")), "{:?}", model.notes());
        let edited = model.edit(&Edit::unchanged(model.ensemble())).unwrap().to_bytes();
        assert!(!edited.windows(4).any(|word| word == b"best"));
        assert!(edited.windows(12).any(|word| word == b"scikit_learn"));
        assert!(edited.len() < bytes.len() * 9 / 10, "the trees after the best round are still there");
    }
}

#[test]
fn columns_and_categories_have_the_file_s_names() {
    for encoding in ["json", "ubj"] {
        let bytes = fs::read(folder().join(format!("3.4.1-frame.{encoding}"))).unwrap();
        let model = ModelFile::parse(&bytes).unwrap();
        let features = model.ensemble().features();
        assert_eq!(features.name(secateur_model::FeatureId(2)), "colour");
        let categories = features.categories(secateur_model::FeatureId(2)).unwrap();
        assert_eq!(
            categories.labels.as_ref().unwrap(),
            &["b", "c", "d", "f", "g", "h"].map(secateur_model::Label::text)
        );
        assert!(features.categories(secateur_model::FeatureId(0)).is_none());
    }
}
