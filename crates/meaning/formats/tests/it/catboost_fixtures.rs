//! Tests on the committed CatBoost models: the library's bits and classes, unchanged writing, and
//! edits that are read back.
//!
//! `CATBOOST_FIXTURES` names another folder of such models, with more rows:
//! `testdata/models/catboost/make.py FOLDER COUNT`.

use std::path::{Path, PathBuf};

use secateur_formats::{Edit, ModelFile, TreeEdit};
use secateur_model::{ClassLabels, Ensemble, LeafId, Node, Predictor, Tree, TreeId};
use secateur_testkit::{all_of, bits, doubles};

struct Fixture {
    name: String,
    bytes: Vec<u8>,
    file: ModelFile,
    rows: Vec<f64>,
    scores: Vec<f64>,
    classes: Vec<u32>,
    /// The values that `predict` returns, if there are no classes and their bits are fixed.
    values: Vec<f64>,
}

fn fixtures() -> Vec<Fixture> {
    // A folder that is not relative is used as it is.
    let folder = std::env::var_os("CATBOOST_FIXTURES").map_or("models/catboost".into(), PathBuf::from);
    all_of(folder, &["cbm", "json"], 60).iter().map(|path| read(path)).collect()
}

fn read(path: &Path) -> Fixture {
    let name = path.file_name().unwrap().to_str().unwrap().to_owned();
    let bytes = std::fs::read(path).unwrap();
    let file = ModelFile::parse(&bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
    let mut fixture =
        Fixture { name, bytes, file, rows: vec![], scores: vec![], classes: vec![], values: vec![] };
    let mut rows = path.as_os_str().to_owned();
    rows.push(".rows");
    for line in std::fs::read_to_string(rows).unwrap().lines() {
        let parts: Vec<&str> = line.split('|').collect();
        fixture.rows.extend(doubles(parts[0]));
        fixture.scores.extend(doubles(parts[1]));
        match parts[2].strip_prefix('=') {
            None => fixture.classes.push(parts[2].parse().unwrap()),
            Some("") => {}
            Some(values) => fixture.values.extend(doubles(values)),
        }
    }
    fixture
}

fn raw_scores(ensemble: &Ensemble, rows: &[f64]) -> Vec<f64> {
    Predictor::new(ensemble).raw_scores(rows).unwrap()
}

#[test]
fn scores_and_classes_are_those_of_the_library() {
    let mut rows = 0;
    for fixture in fixtures() {
        let ensemble = fixture.file.ensemble();
        let (ours, width) = (raw_scores(ensemble, &fixture.rows), ensemble.features().len());
        let wrong = bits(&ours).iter().zip(bits(&fixture.scores)).position(|(ours, theirs)| *ours != theirs);
        if let Some(at) = wrong {
            let row = at / ensemble.group_count();
            panic!(
                "{}, row {row}: {:?} where CatBoost has {:?}, input {:?}",
                fixture.name,
                ours[at],
                fixture.scores[at],
                &fixture.rows[row * width..][..width]
            );
        }
        assert_eq!(ours.len(), fixture.scores.len(), "{}", fixture.name);
        if ensemble.decision().is_classifier() {
            let classes = Predictor::new(ensemble).classes(&fixture.rows).unwrap();
            let classes = classes.iter().map(|class| class.0);
            assert!(classes.eq(fixture.classes.iter().copied()), "{}", fixture.name);
        } else {
            assert!(fixture.classes.is_empty(), "{}", fixture.name);
            let values = Predictor::new(ensemble).values(&fixture.rows).unwrap().unwrap_or_default();
            assert_eq!(bits(&values), bits(&fixture.values), "{}", fixture.name);
        }
        rows += fixture.rows.len() / width;
    }
    assert!(rows >= 5000, "{rows}");
}

#[test]
fn an_unchanged_file_is_written_as_it_was() {
    for fixture in fixtures() {
        assert_eq!(fixture.file.to_bytes(), fixture.bytes, "{}", fixture.name);
    }
}

#[test]
fn dialects_and_labels_are_told() {
    let named = |name: &str| fixtures().into_iter().find(|fixture| fixture.name == name).unwrap();
    let classes = |name: &str| named(name).file.ensemble().classes().clone();
    assert_eq!(named("binary.cbm").file.dialect(), "CatBoost 1.2.10, binary, symmetric trees");
    assert_eq!(named("lossguide.json").file.dialect(), "CatBoost 1.2.10, JSON, asymmetric trees");
    assert_eq!(classes("binary.cbm"), ClassLabels::Integers(vec![0, 1]));
    assert_eq!(classes("cross_entropy.json"), ClassLabels::Integers(vec![0, 1]));
    assert_eq!(classes("texts.cbm"), ClassLabels::Strings(vec!["no".to_owned(), "yes".to_owned()]));
    assert_eq!(classes("floats.json"), ClassLabels::Floats(vec![0.5, 1.5]));
    assert_eq!(classes("booleans.cbm"), ClassLabels::Booleans(vec![false, true]));
    assert_eq!(classes("multiclass_count.cbm"), ClassLabels::Integers(vec![0, 2, 4]));
    let absent = ["d", "b", "a"].map(str::to_owned).to_vec();
    assert_eq!(classes("multiclass_absent.json"), ClassLabels::Strings(absent));
    assert_eq!(named("categories.cbm").file.ensemble().features().name(secateur_model::FeatureId(1)), "word");
    assert!(!named("binary.cbm").file.ensemble().features().has_names());
}

/// Edits a file, and checks that reading the written bytes gives the same as the returned file.
fn edited(fixture: &Fixture, edit: &Edit) -> ModelFile {
    let file = fixture.file.edit(edit).unwrap_or_else(|error| panic!("{}: {error}", fixture.name));
    let again = ModelFile::parse(&file.to_bytes()).unwrap();
    assert_eq!(again.ensemble(), file.ensemble(), "{}", fixture.name);
    assert_eq!(fixture.file.draft(edit).unwrap(), *file.ensemble(), "{}: as a draft", fixture.name);
    assert_eq!(again.extension(), fixture.file.extension(), "{}", fixture.name);
    let (new, old) = (file.ensemble(), fixture.file.ensemble());
    assert_eq!(
        (new.classes(), new.features(), new.decision()),
        (old.classes(), old.features(), old.decision())
    );
    file
}

#[test]
fn trees_written_anew_score_the_same_bits() {
    for fixture in fixtures() {
        let ensemble = fixture.file.ensemble();
        let trees = (0..ensemble.trees().len()).map(TreeId::new);
        let trees = trees.map(|tree| TreeEdit::Replace { tree, with: ensemble.tree(tree).clone() }).collect();
        let file = edited(&fixture, &Edit { trees, intercepts: None });
        let scores = raw_scores(file.ensemble(), &fixture.rows);
        if ensemble.scale().is_some() {
            // The scale is multiplied into the leaves, and each product is rounded.
            assert_eq!(file.ensemble().scale(), None, "{}", fixture.name);
            let near = |(ours, theirs): (&f64, &f64)| (ours - theirs).abs() <= 1e-14 * (1.0 + theirs.abs());
            assert!(scores.iter().zip(&fixture.scores).all(near), "{}", fixture.name);
        } else {
            assert_eq!(bits(&scores), bits(&fixture.scores), "{}", fixture.name);
        }
        // Nothing is written that the library does not write, and nothing twice.
        let binary = fixture.name.ends_with(".cbm");
        let most = if binary { fixture.bytes.len() + 64 } else { fixture.bytes.len() * 5 / 4 + 200 };
        assert!(file.to_bytes().len() <= most, "{}: {}, {most}", fixture.name, file.to_bytes().len());
    }
}

#[test]
fn trees_go_and_leaves_are_scaled() {
    for fixture in fixtures() {
        let ensemble = fixture.file.ensemble();
        let count = ensemble.trees().len();
        let trees = (0..count).step_by(2).map(TreeId::new);
        let trees: Vec<TreeEdit> =
            trees
                .map(|tree| {
                    if tree.0 % 4 == 0 { TreeEdit::Keep(tree) } else { TreeEdit::Scale { tree, factor: 0.7 } }
                })
                .collect();
        let intercepts: Vec<f64> =
            (0..ensemble.group_count()).map(|group| 0.25 * group as f64 - 0.3).collect();
        let edit = Edit { trees: trees.clone(), intercepts: Some(intercepts.clone()) };
        let file = edited(&fixture, &edit);
        assert_eq!(file.ensemble().trees().len(), trees.len(), "{}", fixture.name);
        let (width, groups) = (ensemble.features().len(), ensemble.group_count());
        for (row, scores) in fixture
            .rows
            .chunks(width)
            .zip(raw_scores(file.ensemble(), &fixture.rows).chunks(groups))
            .take(200)
        {
            let read: Vec<f64> = row.iter().map(|&value| ensemble.intake().read(value).unwrap()).collect();
            let leaves: Vec<LeafId> = ensemble.leaves(&read).collect();
            let mut sums = vec![0.0; groups];
            for edit in &trees {
                let tree = edit.source();
                let factor = if tree.0 % 4 == 0 { 1.0 } else { 0.7 } * ensemble.tree(tree).weight();
                let leaf = ensemble.tree(tree).leaf(leaves[tree.index()]);
                sums.iter_mut().zip(leaf).for_each(|(sum, value)| *sum += factor * value);
            }
            sums.iter_mut().zip(&intercepts).for_each(|(sum, value)| *sum += value);
            let exact = fixture.name.ends_with("cbm") && ensemble.scale().is_none();
            let slack = if exact { 0.0 } else { 1e-15 * (1.0 + sums[0].abs()) };
            for (ours, expected) in scores.iter().zip(&sums) {
                assert!((ours - expected).abs() <= slack * 100.0, "{}: {ours} for {expected}", fixture.name);
            }
        }
    }
}

/// A tree without its first split: the branch for "no" replaces it.
fn without_root(tree: &Tree) -> Option<Tree> {
    use secateur_model::{
        Accumulation, Decision, EnsembleBuilder, Features, GroupId, Intake, InterceptPosition, NodeId,
        NumberType, Order, TreeBuilder,
    };
    let Node::Split { left, .. } = tree.node(NodeId(0)) else { return None };
    let mut new = TreeBuilder::new();
    let mut order = vec![left];
    let mut next = 0;
    while let Some(&node) = order.get(next) {
        next += 1;
        match tree.node(node) {
            Node::Split { split, left, right } => {
                let first = order.len() as u32;
                order.extend([left, right]);
                new.split(split, NodeId(first), NodeId(first + 1));
            }
            Node::Leaf(leaf) => {
                new.leaf(tree.leaf(leaf));
            }
            Node::Unused => return None,
        }
    }
    let groups = tree.leaf(LeafId(0)).len();
    let features = tree.splits().map(|split| split.feature.0 + 1).max().unwrap_or(1);
    let mut builder = EnsembleBuilder::new(
        {
            let mut all = Features::unnamed(features);
            for split in
                tree.splits().filter(|split| matches!(split.test, secateur_model::Test::Member { .. }))
            {
                let rule = secateur_model::CategoryRule::Hashed;
                let categories = secateur_model::Categories { rule, unseen_is_missing: false, labels: None };
                all.set_categories(split.feature, categories);
            }
            all
        },
        Intake::everything(NumberType::F32),
        ClassLabels::Unnamed(if groups == 1 { 2 } else { groups as u32 }),
        vec![0.0; groups],
        Accumulation {
            number: NumberType::F64,
            intercept: InterceptPosition::Last,
            order: Order::File,
            average: None,
        },
        match groups {
            1 => Decision::Threshold { group: GroupId(0), threshold: 0.0, strict: true },
            _ => Decision::Argmax,
        },
    )
    .unwrap();
    builder.tree(new, tree.output(), 1.0).unwrap();
    Some(builder.build().trees()[0].clone())
}

#[test]
fn other_trees_take_the_place_of_old_ones_in_the_smaller_form() {
    let (mut symmetric, mut asymmetric) = (0, 0);
    for fixture in fixtures() {
        let ensemble = fixture.file.ensemble();
        let replaced = |index: usize| {
            let tree = TreeId::new(index);
            match without_root(ensemble.tree(tree)) {
                Some(with) => TreeEdit::Replace { tree, with },
                None => TreeEdit::Keep(tree),
            }
        };
        let trees: Vec<TreeEdit> = (0..ensemble.trees().len()).map(replaced).collect();
        let file = edited(&fixture, &Edit { trees: trees.clone(), intercepts: None });
        match file.dialect().contains("asymmetric") {
            true => asymmetric += 1,
            false => symmetric += 1,
        }
        let (width, groups) = (ensemble.features().len(), ensemble.group_count());
        let ours = raw_scores(file.ensemble(), &fixture.rows);
        for (row, scores) in fixture.rows.chunks(width).zip(ours.chunks(groups)).take(200) {
            let read: Vec<f64> = row.iter().map(|&value| ensemble.intake().read(value).unwrap()).collect();
            let mut sums = vec![0.0; groups];
            for edit in &trees {
                let tree = match edit {
                    TreeEdit::Replace { with, .. } => with,
                    other => ensemble.tree(other.source()),
                };
                let leaf = tree.walk(|split| ensemble.goes_left(split, read[split.feature.index()]));
                sums.iter_mut().zip(tree.leaf(leaf)).for_each(|(sum, value)| *sum += tree.weight() * value);
            }
            sums.iter_mut().zip(ensemble.intercepts()).for_each(|(sum, value)| *sum += value);
            for (ours, expected) in scores.iter().zip(&sums) {
                let slack = if fixture.name.ends_with("json") { 1e-13 } else { 0.0 };
                assert!((ours - expected).abs() <= slack, "{}: {ours} for {expected}", fixture.name);
            }
        }
    }
    assert!(symmetric > 20 && asymmetric > 1, "{symmetric} symmetric, {asymmetric} asymmetric");
}

#[test]
fn a_file_without_trees_keeps_one_that_says_nothing() {
    for fixture in fixtures() {
        let groups = fixture.file.ensemble().group_count();
        let intercepts: Vec<f64> = (0..groups).map(|group| group as f64 + 0.5).collect();
        let file = edited(&fixture, &Edit { trees: Vec::new(), intercepts: Some(intercepts.clone()) });
        assert_eq!(file.ensemble().trees().len(), 1, "{}", fixture.name);
        let width = fixture.file.ensemble().features().len();
        assert_eq!(raw_scores(file.ensemble(), &fixture.rows[..width]), intercepts, "{}", fixture.name);
    }
}
