//! Two models over one table of labels: what is matched, what is refused, and that the rewritten
//! models decide every label as their own lists do.

use fastrand::Rng;
use secateur_model::{
    Accumulation, Categories, CategoryRule, ClassLabels, Decision, Domain, DomainError, Ensemble,
    EnsembleBuilder, FeatureId, Features, Grid, GridError, GroupId, Intake, InterceptPosition, Label,
    LabelError, LabelMatch, NodeId, NumberType, Order, Output, Side, Split, Test, TreeBuilder, Where,
};

/// The library of a model.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Library {
    LightGbm,
    XgBoost,
    Histogram,
}

use Library::{Histogram, LightGbm, XgBoost};

fn categories(library: Library, labels: Option<Vec<Label>>) -> Categories {
    let listed = || (0..labels.as_ref().map_or(0, Vec::len)).map(|code| code as f64).collect();
    let (rule, unseen_is_missing) = match library {
        LightGbm => (CategoryRule::Truncate, false),
        XgBoost => (CategoryRule::TruncateNonNegative, false),
        Histogram => (CategoryRule::Listed(listed()), true),
    };
    Categories { rule, unseen_is_missing, labels }
}

/// Stumps on one categorical column, each with a set of codes and a side for missing values. The
/// stumps that send the input left add 1, 2, 4, ..., so that the score tells all sides apart.
fn model(library: Library, categories: Categories, stumps: &[(&[u32], bool)]) -> Ensemble {
    let mut features = Features::named(vec!["colour".to_owned()]);
    features.set_categories(FeatureId(0), categories);
    build(library, features, stumps)
}

fn build(library: Library, features: Features, stumps: &[(&[u32], bool)]) -> Ensemble {
    let number = if library == XgBoost { NumberType::F32 } else { NumberType::F64 };
    let zero_window = (library == LightGbm).then_some(f64::from(1e-35f32));
    let intake = Intake { number, missing: true, infinities: library != XgBoost, zero_window };
    let accumulation =
        Accumulation { number, intercept: InterceptPosition::First, order: Order::File, average: None };
    let decision = Decision::Threshold { group: GroupId(0), threshold: 0.5, strict: true };
    let classes = ClassLabels::Unnamed(2);
    let mut builder =
        EnsembleBuilder::new(features, intake, classes, vec![0.0], accumulation, decision).unwrap();
    for (&(set, missing_left), weight) in stumps.iter().zip(0..) {
        let test = Test::Member { set, members_left: library != XgBoost };
        let missing_left = missing_left && library != LightGbm;
        let mut tree = TreeBuilder::new();
        tree.split(Split { feature: FeatureId(0), test, missing_left }, NodeId(1), NodeId(2));
        tree.leaf(&[f64::from(1u32 << weight)]).leaf(&[0.0]);
        builder.tree(tree, Output::Group(GroupId(0)), 1.0).unwrap();
    }
    builder.build()
}

fn score(model: &Ensemble, value: f64) -> f64 {
    let read = model.intake().read(value).unwrap();
    model.exact_sums(model.leaves(&[read]))[0].to_f64()
}

fn texts(labels: &[&str]) -> Option<Vec<Label>> {
    Some(labels.iter().map(|&label| Label::text(label)).collect())
}

/// The library's score of a label, from the rules in words; `None` if it refuses the label.
fn sent(library: Library, model: &Ensemble, label: &str) -> Option<f64> {
    let known = model.features().categories(FeatureId(0)).unwrap().labels.as_ref().unwrap();
    match known.iter().position(|other| *other == Label::text(label)) {
        Some(code) => Some(score(model, code as f64)),
        None if library == XgBoost => None,
        None => Some(score(model, f64::NAN)),
    }
}

#[test]
fn every_label_is_decided_as_its_own_list_says() {
    let names = ["ash", "beech", "cedar", "elm", "fir"];
    let (mut joined, mut refused) = (0, 0);
    for seed in 0..3000 {
        let mut rng = Rng::with_seed(seed);
        let libraries = [(); 2].map(|()| [LightGbm, XgBoost, Histogram][rng.usize(..3)]);
        let models = libraries.map(|library| {
            let mut list = names.to_vec();
            rng.shuffle(&mut list);
            list.truncate(rng.usize(1..=names.len()));
            // Codes beyond the list are included: a file may contain them, but no label stands for
            // them.
            let most = list.len() as u32 + if library == Histogram { 0 } else { 2 };
            let sets: Vec<Vec<u32>> = (0..3).map(|_| (0..most).filter(|_| rng.bool()).collect()).collect();
            let stumps: Vec<(&[u32], bool)> = sets.iter().map(|set| (&set[..], rng.bool())).collect();
            model(library, categories(library, texts(&list)), &stumps)
        });
        let matched = match LabelMatch::new(&models[0], &models[1]) {
            Ok(matched) => matched,
            Err(LabelError::NothingInCommon { .. }) => {
                let in_both = |label: &&&str| (0..2).all(|m| sent(libraries[m], &models[m], label).is_some());
                let known = |label: &&&str| {
                    models.iter().any(|model| {
                        let categories = model.features().categories(FeatureId(0)).unwrap();
                        categories.labels.as_ref().unwrap().contains(&Label::text(**label))
                    })
                };
                assert!(!names.iter().filter(in_both).any(|label| known(&label)), "seed {seed}");
                refused += 1;
                continue;
            }
            Err(error) => panic!("seed {seed}: {error}"),
        };
        if matched.joined().count() == 0 {
            continue;
        }
        joined += 1;
        for scope in [Domain::everything(), Domain::no_missing()] {
            let [first, second] = matched.models().map(|model| model.within(&scope).unwrap().into_owned());
            let grid = Grid::new(&[&first, &second]).unwrap();
            let axis = &grid.axes()[0];
            // The scores of each cell, and the label that its witness stands for.
            let mut cells: Vec<[f64; 2]> = Vec::new();
            for cell in (0..axis.len()).map(secateur_model::CellId::new) {
                let witness = grid.witness(&[cell])[0];
                assert_eq!(grid.cells_of(&[witness]).unwrap(), [cell], "seed {seed}");
                let scores = [score(&first, witness), score(&second, witness)];
                let splits =
                    |m: &Ensemble| -> f64 {
                        let left = |s| axis.left_cells(m, s, grid.intake()).contains(cell);
                        m.trees()
                            .iter()
                            .zip(0..)
                            .map(|(tree, bit)| {
                                if left(tree.splits().next().unwrap()) { f64::from(1u32 << bit) } else { 0.0 }
                            })
                            .sum()
                    };
                assert_eq!(scores, [splits(&first), splits(&second)], "seed {seed}: a cell and its witness");
                let label = matched.label(FeatureId(0), witness).map(|label| label.to_string());
                let expected = match (&label, witness.is_nan()) {
                    (Some(label), _) => {
                        (0..2).map(|m| sent(libraries[m], &models[m], label).unwrap()).collect()
                    }
                    (None, true) => models.iter().map(|model| score(model, f64::NAN)).collect::<Vec<_>>(),
                    (None, false) => {
                        assert!(matched.is_unknown(FeatureId(0), witness), "seed {seed}: {witness}");
                        (0..2).map(|m| sent(libraries[m], &models[m], "no such label").unwrap()).collect()
                    }
                };
                assert_eq!(scores.to_vec(), expected, "seed {seed}: {label:?} {witness}");
                cells.push(scores);
            }
            // No label that both accept is left out.
            for label in names.iter().chain(&["no such label"]) {
                let answers: Vec<Option<f64>> =
                    (0..2).map(|m| sent(libraries[m], &models[m], label)).collect();
                if let [Some(a), Some(b)] = answers[..] {
                    assert!(cells.contains(&[a, b]), "seed {seed}, {scope:?}: {label} is in no cell");
                }
            }
            assert_eq!(grid.cells_of(&[0.5]), None, "seed {seed}: no label");
        }
    }
    assert!(joined > 2000 && refused > 20, "{joined} {refused}");
}

#[test]
fn the_same_list_of_the_same_library_is_left_alone() {
    for library in [LightGbm, XgBoost, Histogram] {
        let first = model(library, categories(library, texts(&["a", "b"])), &[(&[0], false)]);
        let second = model(library, categories(library, texts(&["a", "b"])), &[(&[1], true)]);
        let matched = LabelMatch::new(&first, &second).unwrap();
        assert_eq!(matched.models(), [&first, &second]);
        assert_eq!(matched.by_label().collect::<Vec<_>>(), [FeatureId(0)]);
        assert_eq!((matched.joined().count(), matched.by_code().count()), (0, 0));
    }
}

#[test]
fn labels_on_one_side_are_compared_by_code() {
    let first = model(LightGbm, categories(LightGbm, texts(&["a", "b"])), &[(&[0], false)]);
    let second = model(LightGbm, categories(LightGbm, None), &[(&[0], false)]);
    for models in [[&first, &second], [&second, &first]] {
        let matched = LabelMatch::new(models[0], models[1]).unwrap();
        assert_eq!(matched.models(), models);
        assert_eq!(matched.by_code().collect::<Vec<_>>(), [FeatureId(0)]);
        assert_eq!(matched.by_label().count(), 0);
        assert_eq!(matched.label(FeatureId(0), 1.0).unwrap().to_string(), "b");
    }
}

#[test]
fn labels_have_types() {
    let stumps: &[(&[u32], bool)] = &[(&[0], false)];
    let with = |labels: Vec<Label>| model(LightGbm, categories(LightGbm, Some(labels)), stumps);
    // (label that is sent, first score, second score) for every label of the two lists.
    let told = |first: &Ensemble, second: &Ensemble| -> Vec<(String, f64, f64)> {
        let matched = LabelMatch::new(first, second).unwrap();
        let [a, b] = matched.models();
        let CategoryRule::Joined { values, .. } = &a.features().categories(FeatureId(0)).unwrap().rule else {
            panic!("lists that differ are joined")
        };
        let label = |value: f64| format!("{:?}", matched.label(FeatureId(0), value).unwrap());
        values.iter().map(|&value| (label(value), score(a, value), score(b, value))).collect()
    };
    let integers = with(vec![Label::Integer(1), Label::Integer(2)]);
    let floats = with(vec![Label::Float(2.0), Label::Float(1.0)]);
    // Numbers are equal by value.
    let expected = [("Integer(1)".to_owned(), 1.0, 0.0), ("Integer(2)".to_owned(), 0.0, 1.0)];
    assert_eq!(told(&integers, &floats), expected);
    // Text is not a number.
    let digits = with(vec![Label::text("1"), Label::text("2")]);
    let unknown = 0.0;
    assert_eq!(told(&integers, &digits)[0], ("Integer(1)".to_owned(), 1.0, unknown));
    assert_eq!(told(&integers, &digits)[2], ("Text(\"1\")".to_owned(), unknown, 1.0));
    // Truth values match among themselves, and text is not a truth value.
    let truth = with(vec![Label::Boolean(true), Label::Boolean(false)]);
    let turned = with(vec![Label::Boolean(false), Label::Boolean(true)]);
    let expected = [("Boolean(true)".to_owned(), 1.0, 0.0), ("Boolean(false)".to_owned(), 0.0, 1.0)];
    assert_eq!(told(&truth, &turned), expected);
    assert_eq!(told(&truth, &digits)[0], ("Boolean(true)".to_owned(), 1.0, unknown));
    // Whether 1 is true depends on the table.
    let bits = with(vec![Label::Integer(1), Label::Integer(0)]);
    let error = LabelMatch::new(&truth, &bits).unwrap_err();
    assert!(matches!(error, LabelError::NothingInCommon { .. }), "{error}");
}

#[test]
fn what_cannot_be_matched_is_refused() {
    let stumps: &[(&[u32], bool)] = &[(&[0], false)];
    let with = |library, labels: Vec<Label>| model(library, categories(library, Some(labels)), stumps);
    let plain = with(LightGbm, vec![Label::text("a"), Label::text("b")]);
    let error = |first: &Ensemble, second: &Ensemble| LabelMatch::new(first, second).unwrap_err();
    let column = "colour".to_owned();
    let mixed = with(LightGbm, vec![Label::text("a"), Label::Integer(1)]);
    assert_eq!(error(&plain, &mixed), LabelError::MixedTypes { column: column.clone() });
    assert!(LabelMatch::new(&mixed, &mixed).is_ok());
    let twice = with(LightGbm, vec![Label::Integer(1), Label::Float(1.0)]);
    let label = "1.0".to_owned();
    assert_eq!(error(&twice, &plain), LabelError::Repeated { column: column.clone(), label });
    let label = "a\u{fffd}".to_owned();
    let damaged = with(XgBoost, vec![Label::Unreadable(label.clone())]);
    assert_eq!(error(&plain, &damaged), LabelError::Unreadable { column: column.clone(), label });
    let large = with(LightGbm, vec![Label::Integer((1 << 53) + 1)]);
    assert!(matches!(error(&large, &plain), LabelError::Unreadable { .. }));
    let others = [vec![Label::text("a")], vec![Label::text("z")]].map(|labels| with(XgBoost, labels));
    assert_eq!(error(&others[0], &others[1]), LabelError::NothingInCommon { column });
}

#[test]
fn lists_without_columns_have_to_be_the_same() {
    let unplaced = |lists: Option<Vec<Vec<Label>>>| {
        let mut features = Features::named(vec!["colour".to_owned(), "size".to_owned()]);
        features.set_categories(FeatureId(0), categories(LightGbm, None));
        if let Some(lists) = lists {
            features.set_unplaced_labels(lists);
        }
        build(LightGbm, features, &[(&[0], false)])
    };
    let lists = |first: &str| vec![vec![Label::text(first)], vec![Label::text("b")]];
    let [first, other, without] = [Some(lists("a")), Some(lists("z")), None].map(unplaced);
    assert!(!LabelMatch::new(&first, &first).unwrap().unplaced_by_code());
    assert_eq!(LabelMatch::new(&first, &other).unwrap_err(), LabelError::Unplaced);
    assert!(LabelMatch::new(&first, &without).unwrap().unplaced_by_code());
    // If the columns are in another order, it is unknown which list belongs to which column.
    let names = Features::named(vec!["size".to_owned(), "colour".to_owned()]);
    let moved = first.with_column_order(&names).unwrap();
    assert_eq!(LabelMatch::new(&moved, &moved).unwrap_err(), LabelError::Unplaced);
    let own = first.features().clone();
    assert!(LabelMatch::new(&first, &first.with_column_order(&own).unwrap()).is_ok());
}

/// A CatBoost model with a test for equality for each hash of its list; labels that are not equal
/// add 1, 2, 4, ...
fn hashed(hashes: &[u32]) -> Ensemble {
    let labels = Some(hashes.iter().map(|&hash| Label::Hash(hash)).collect());
    let categories = Categories { rule: CategoryRule::Hashed, unseen_is_missing: false, labels };
    let mut features = Features::named(vec!["colour".to_owned()]);
    features.set_categories(FeatureId(0), categories);
    let sets: Vec<Vec<u32>> = (0..hashes.len() as u32).map(|code| vec![code]).collect();
    let stumps: Vec<(&[u32], bool)> = sets.iter().map(|set| (&set[..], true)).collect();
    // Here XGBoost's sets behave like CatBoost's tests: equal values go right.
    build(XgBoost, features, &stumps)
}

#[test]
fn a_missing_category_is_no_input_of_catboost() {
    let row = |value: f64| [value];
    let [first, other] = [hashed(&[10, 20]), hashed(&[20, 30])];
    assert!(first.intake().missing, "numbers may be missing");
    assert_eq!(first.read(FeatureId(0), f64::NAN), None);
    assert!(!first.accepts(&row(f64::NAN)) && first.accepts(&row(-1.0)));
    assert!(secateur_model::Predictor::new(&first).raw_scores(&row(f64::NAN)).is_err());
    for models in [[&first, &first], [&first, &other]] {
        let matched = LabelMatch::new(models[0], models[1]).unwrap();
        let grid = Grid::new(&matched.models()).unwrap();
        let axis = &grid.axes()[0];
        assert_eq!(axis.missing_cell(), None);
        assert_eq!(grid.cells_of(&row(f64::NAN)), None);
        for cell in (0..axis.len()).map(secateur_model::CellId::new) {
            let witness = grid.witness(&[cell]);
            assert!(!witness[0].is_nan(), "{matched:?}");
            assert!(matched.models().iter().all(|model| model.accepts(&witness)));
        }
    }
    // A missing value is refused by the library even if no split of the other model uses the
    // column.
    let number = build(XgBoost, Features::named(vec!["colour".to_owned()]), &[]);
    let unused = hashed(&[]);
    for pair in [[&unused, &first], [&first, &unused]] {
        let matched = LabelMatch::new(pair[0], pair[1]).unwrap();
        let grid = Grid::new(&matched.models()).unwrap();
        assert_eq!(grid.cells_of(&row(f64::NAN)), None);
    }
    let grid = Grid::new(&[&number, &unused]).unwrap();
    assert_eq!(grid.cells_of(&row(f64::NAN)), None);
    assert!(Grid::new(&[&number]).unwrap().cells_of(&row(f64::NAN)).is_some());
}

#[test]
fn hashes_are_matched_with_hashes_and_others_go_where_every_test_fails() {
    let lists: [&[u32]; 4] = [&[10, 20, 30], &[30, 40], &[10, 20, 30], &[]];
    for (ours, theirs) in [(0, 1), (1, 0), (0, 2), (1, 3), (3, 1)] {
        let models = [hashed(lists[ours]), hashed(lists[theirs])];
        let matched = LabelMatch::new(&models[0], &models[1]).unwrap();
        let same = lists[ours] == lists[theirs];
        assert_eq!(matched.joined().count(), usize::from(!same));
        let [first, second] = matched.models();
        let grid = Grid::new(&[first, second]).unwrap();
        let axis = &grid.axes()[0];
        let mut seen = std::collections::BTreeSet::new();
        for cell in (0..axis.len()).map(secateur_model::CellId::new) {
            let witness = grid.witness(&[cell])[0];
            let hash = match matched.label(FeatureId(0), witness).as_deref() {
                Some(Label::Hash(hash)) => Some(*hash),
                None => None,
                other => panic!("{other:?}"),
            };
            seen.insert(hash);
            for (model, list) in [(first, lists[ours]), (second, lists[theirs])] {
                let all = (1u32 << list.len()) - 1;
                let own = list.iter().position(|other| Some(*other) == hash);
                let expected = own.map_or(all, |code| all & !(1 << code));
                assert_eq!(score(model, witness), f64::from(expected), "{hash:?} by {list:?}");
            }
        }
        let mut expected: std::collections::BTreeSet<Option<u32>> =
            lists[ours].iter().chain(lists[theirs]).map(|&hash| Some(hash)).collect();
        expected.insert(None);
        assert_eq!(seen, expected, "every hash of either list, and any other");
    }
    let text = model(LightGbm, categories(LightGbm, texts(&["ash"])), &[(&[0], false)]);
    let refused = LabelMatch::new(&hashed(&[10]), &text).unwrap_err();
    assert!(matches!(refused, LabelError::NothingInCommon { .. }), "{refused}");
}

#[test]
fn a_model_that_scores_codes_cannot_choose_among_joined_labels() {
    let first = model(LightGbm, categories(LightGbm, texts(&["ash", "beech"])), &[(&[0], false)]);
    let second = model(LightGbm, categories(LightGbm, texts(&["beech", "ash"])), &[(&[1], false)]);
    let own = Where::of_digest([0; 32], 0, Side::AtLeast, 1.0).unwrap().with_model(first.clone(), "it");
    let domain = Domain::everything().with_wheres(vec![own.unwrap()]);
    // The second model's codes are not those that the third reads.
    assert!(matches!(second.within(&domain), Err(DomainError::WhereCategories { .. })));
    // Nor are they the codes of the list that both models share, even if the second model was not
    // asked.
    let narrowed = first.within(&domain).unwrap();
    let matched = LabelMatch::new(&narrowed, &second).unwrap();
    assert_eq!(matched.joined().count(), 1);
    let refused = Grid::new(&matched.models()).unwrap_err();
    assert_eq!(refused, GridError::Domain(DomainError::JoinedLabels { column: FeatureId(0) }));
}
