//! Tests on the committed LightGBM models: the library's bits and classes, unchanged writing, and
//! edits that are read back.

use std::path::Path;

use secateur_formats::{Edit, ModelFile, TreeEdit};
use secateur_model::{Ensemble, Label, Predictor, TreeId};
use secateur_testkit::{all_of, bits, doubles, testdata};

struct Fixture {
    name: String,
    bytes: Vec<u8>,
    file: ModelFile,
    rows: Vec<f64>,
    scores: Vec<f64>,
    classes: Vec<u32>,
}

fn fixtures() -> Vec<Fixture> {
    all_of("models/lightgbm", &["txt"], 30).iter().map(|path| read(path)).collect()
}

fn read(path: &Path) -> Fixture {
    let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
    let bytes = std::fs::read(path).unwrap();
    let file = ModelFile::parse(&bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
    let mut fixture = Fixture { name, bytes, file, rows: vec![], scores: vec![], classes: vec![] };
    for line in std::fs::read_to_string(path.with_extension("rows")).unwrap().lines() {
        let parts: Vec<&str> = line.split('|').collect();
        fixture.rows.extend(doubles(parts[0]));
        fixture.scores.extend(doubles(parts[1]));
        fixture.classes.push(parts[2].parse().unwrap());
    }
    fixture
}

fn raw_scores(ensemble: &Ensemble, rows: &[f64]) -> Vec<u64> {
    bits(&Predictor::new(ensemble).raw_scores(rows).unwrap())
}

/// Edits a file, and checks that reading the written bytes gives the same as the returned file.
fn edited(fixture: &Fixture, edit: &Edit) -> ModelFile {
    let file = fixture.file.edit(edit).unwrap_or_else(|error| panic!("{}: {error}", fixture.name));
    let again = ModelFile::parse(&file.to_bytes()).unwrap();
    assert_eq!(again.ensemble(), file.ensemble(), "{}", fixture.name);
    assert_eq!(again.dialect(), fixture.file.dialect());
    let count = |bytes: &[u8], word: &str| String::from_utf8_lossy(bytes).matches(word).count();
    for word in [
        "\ntree_sizes=",
        "\naverage_output",
        "\nfeature_importances:",
        "\nparameters:",
        "\npandas_categorical:",
    ] {
        assert_eq!(count(&file.to_bytes(), word), count(&fixture.bytes, word), "{}: {word:?}", fixture.name);
    }
    file
}

/// The sums of a row over the leaves it reaches, in order, with other values for each tree.
fn sums(ensemble: &Ensemble, row: &[f64], start: &[f64], value: impl Fn(TreeId, f64) -> f64) -> Vec<f64> {
    let row: Vec<f64> = row.iter().map(|&value| ensemble.intake().read(value).unwrap()).collect();
    let mut sums = start.to_vec();
    let groups = sums.len();
    for (index, leaf) in ensemble.leaves(&row).enumerate() {
        let tree = TreeId::new(index);
        sums[index % groups] += value(tree, ensemble.tree(tree).leaf(leaf)[0]);
    }
    sums
}

fn all_sums(fixture: &Fixture, start: &[f64], value: impl Fn(TreeId, f64) -> f64) -> Vec<u64> {
    let ensemble = fixture.file.ensemble();
    let rows = fixture.rows.chunks(ensemble.features().len());
    rows.flat_map(|row| bits(&sums(ensemble, row, start, &value))).collect()
}

#[test]
fn every_fixture_gives_the_bits_and_classes_of_the_library() {
    for fixture in fixtures() {
        let ensemble = fixture.file.ensemble();
        assert_eq!(raw_scores(ensemble, &fixture.rows), bits(&fixture.scores), "{}", fixture.name);
        let classes = Predictor::new(ensemble).classes(&fixture.rows).unwrap();
        let classes: Vec<u32> = classes.into_iter().map(|class| class.0).collect();
        assert_eq!(classes, fixture.classes, "{}", fixture.name);
    }
}

#[test]
fn an_unchanged_file_is_written_byte_for_byte() {
    for fixture in fixtures() {
        assert_eq!(fixture.file.to_bytes(), fixture.bytes, "{}", fixture.name);
        let unchanged = edited(&fixture, &Edit::unchanged(fixture.file.ensemble()));
        assert_eq!(unchanged.to_bytes(), fixture.bytes, "{}", fixture.name);
    }
}

#[test]
fn whole_rounds_go_and_the_others_are_renumbered() {
    for fixture in fixtures() {
        let ensemble = fixture.file.ensemble();
        let groups = ensemble.group_count();
        let stays = |tree: TreeId| (tree.index() / groups).is_multiple_of(2);
        let trees = (0..ensemble.trees().len()).map(TreeId::new).filter(|&tree| stays(tree));
        let edit = Edit { trees: trees.map(TreeEdit::Keep).collect(), intercepts: None };
        let file = edited(&fixture, &edit);
        assert_eq!(file.ensemble().trees().len(), edit.trees.len(), "{}", fixture.name);
        if let Some(average) = file.ensemble().accumulation().average {
            assert_eq!(average.divisor, (edit.trees.len() / groups) as f64);
        }
        let expected =
            all_sums(&fixture, &vec![0.0; groups], |tree, value| if stays(tree) { value } else { 0.0 });
        assert_eq!(raw_scores(file.ensemble(), &fixture.rows), expected, "{}", fixture.name);
    }
}

#[test]
fn a_tree_that_leaves_its_round_is_replaced_by_a_leaf_of_zero() {
    for fixture in fixtures() {
        let ensemble = fixture.file.ensemble();
        let groups = ensemble.group_count();
        let stays = |tree: TreeId| tree.index().is_multiple_of(2);
        let trees = (0..ensemble.trees().len()).map(TreeId::new).filter(|&tree| stays(tree));
        let edit = Edit { trees: trees.map(TreeEdit::Keep).collect(), intercepts: None };
        let file = edited(&fixture, &edit);
        assert_eq!(file.ensemble().trees().len() % groups, 0);
        if groups > 1 {
            assert_eq!(file.ensemble().trees().len(), ensemble.trees().len());
        }
        let expected =
            all_sums(&fixture, &vec![0.0; groups], |tree, value| if stays(tree) { value } else { 0.0 });
        assert_eq!(raw_scores(file.ensemble(), &fixture.rows), expected, "{}", fixture.name);
    }
}

#[test]
fn factors_are_folded_into_leaves_and_intercepts_come_first() {
    for fixture in fixtures() {
        let ensemble = fixture.file.ensemble();
        let groups = ensemble.group_count();
        let factor = |tree: TreeId| 0.1 + 0.7 * tree.index() as f64;
        let trees = (0..ensemble.trees().len()).map(TreeId::new);
        let trees = trees.map(|tree| TreeEdit::Scale { tree, factor: factor(tree) }).collect();
        let intercepts: Vec<f64> = (0..groups).map(|group| 0.1 - group as f64).collect();
        let file = edited(&fixture, &Edit { trees, intercepts: Some(intercepts.clone()) });
        assert_eq!(file.ensemble().trees().len(), ensemble.trees().len() + groups);
        let expected = all_sums(&fixture, &intercepts, |tree, value| factor(tree) * value);
        assert_eq!(raw_scores(file.ensemble(), &fixture.rows), expected, "{}", fixture.name);
    }
}

#[test]
fn a_tree_written_anew_predicts_as_the_one_it_was_made_from() {
    for fixture in fixtures() {
        let ensemble = fixture.file.ensemble();
        let replace = |tree: TreeId| TreeEdit::Replace { tree, with: ensemble.tree(tree).clone() };
        let trees = (0..ensemble.trees().len()).map(|index| replace(TreeId::new(index))).collect();
        let file = edited(&fixture, &Edit { trees, intercepts: None });
        assert_ne!(file.to_bytes(), fixture.bytes);
        assert_eq!(raw_scores(file.ensemble(), &fixture.rows), bits(&fixture.scores), "{}", fixture.name);
    }
}

#[test]
fn a_model_without_trees_is_written_with_a_round_of_zeros() {
    for fixture in fixtures() {
        let groups = fixture.file.ensemble().group_count();
        let file = edited(&fixture, &Edit { trees: vec![], intercepts: None });
        assert_eq!(file.ensemble().trees().len(), groups, "{}", fixture.name);
        assert!(raw_scores(file.ensemble(), &fixture.rows).iter().all(|&score| score == 0));
        let file = edited(&fixture, &Edit { trees: vec![], intercepts: Some(vec![0.25; groups]) });
        assert_eq!(file.ensemble().trees().len(), groups, "{}", fixture.name);
    }
}

#[test]
fn pandas_categories_become_labels() {
    let fixture = read(&testdata("models/lightgbm/pandas.txt"));
    let features = fixture.file.ensemble().features();
    let labels = |index| {
        features
            .categories(secateur_model::FeatureId(index))
            .map(|categories| categories.labels.clone().unwrap())
    };
    assert_eq!(labels(0), None);
    assert_eq!(labels(1).unwrap(), ["Basel = BS", "Bern", "Genf", "Zug, ZG"].map(Label::text));
    assert_eq!(labels(3).unwrap(), [1, 3, 20].map(Label::Integer));
}
