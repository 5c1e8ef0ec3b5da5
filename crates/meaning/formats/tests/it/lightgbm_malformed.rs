//! Broken LightGBM files: each is refused with a message that names the place, never with a panic.

use std::panic::catch_unwind;

use secateur_formats::{Edit, EditError, ModelFile, TreeEdit};
use secateur_model::{
    Accumulation, ClassLabels, Decision, EnsembleBuilder, FeatureId, GroupId, Intake, NodeId, NumberType,
    Output, Split, Test, Tree, TreeBuilder, TreeId,
};

/// Two trees: one numeric, one with two category sets.
const MODEL: &str = "\
tree
version=v4
num_class=1
num_tree_per_iteration=1
label_index=0
max_feature_idx=1
objective=binary sigmoid:1
feature_names=height town
feature_infos=[0:9] 0:1:2:33

Tree=0
num_leaves=3
num_cat=0
split_feature=0 0
split_gain=5 4
threshold=1.5 -2.5
decision_type=2 8
left_child=1 -1
right_child=-2 -3
leaf_value=0.25 -0.5 1
leaf_count=10 20 30
shrinkage=1


Tree=1
num_leaves=3
num_cat=2
split_feature=1 1
threshold=0 1
decision_type=1 9
left_child=1 -1
right_child=-2 -3
leaf_value=2 3 4
cat_boundaries=0 1 3
cat_threshold=5 0 2
shrinkage=0.1


end of trees

parameters:
[boosting: gbdt]
end of parameters

pandas_categorical:null
";

fn message(text: &str) -> String {
    match ModelFile::parse(text.as_bytes()) {
        Ok(_) => "it was read".to_owned(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn the_model_itself_is_read() {
    let file = ModelFile::parse(MODEL.as_bytes()).unwrap();
    assert_eq!(file.ensemble().trees().len(), 2);
    assert_eq!(file.dialect(), "LightGBM text, v4");
    assert_eq!(file.to_bytes(), MODEL.as_bytes());
}

#[test]
fn every_broken_line_is_refused_at_its_place() {
    // The text that is replaced (once, at its first place), its replacement, and what the message
    // must contain.
    let cases: &[(&str, &str, &str)] = &[
        // Structure of a tree.
        ("left_child=1 -1", "left_child=7 -1", "tree 0, node 0: 7 is not a child in this tree"),
        ("left_child=1 -1", "left_child=1 -4", "tree 0, node 1: -4 is not a child in this tree"),
        ("left_child=1 -1", "left_child=1 -2147483648", "tree 0, node 1: -2147483648 is not a child"),
        (
            "left_child=1 -1",
            "left_child=1 99999999999",
            "tree 0, field left_child: \"99999999999\" is not a whole number",
        ),
        ("left_child=1 -1", "left_child=0 -1", "tree 0, node 0: child 0 is reached twice"),
        ("left_child=1 -1", "left_child=1 1", "tree 0, node 1: child 1 is reached twice"),
        ("left_child=1 -1", "left_child=1 -2", "tree 0, node 1: child 3 is reached twice"),
        ("right_child=-2 -3", "right_child=1 -3", "tree 0, node 0: child 1 is reached twice"),
        ("left_child=1 -1", "left_child=-1 -1", "tree 0, node 1: no path from the root reaches it"),
        ("right_child=-2 -3\n", "", "tree 0, field right_child: the field is missing"),
        // Lengths.
        (
            "leaf_value=0.25 -0.5 1",
            "leaf_value=0.25 -0.5",
            "tree 0, field leaf_value: 2 values where 3 are needed",
        ),
        (
            "threshold=1.5 -2.5",
            "threshold=1.5 -2.5 3",
            "tree 0, field threshold: 3 values where 2 are needed",
        ),
        ("decision_type=2 8", "decision_type=2", "tree 0, field decision_type: 1 values where 2 are needed"),
        ("split_feature=0 0", "split_feature=", "tree 0, field split_feature: 0 values where 2 are needed"),
        (
            "num_leaves=3",
            "num_leaves=2000000000",
            "tree 0, field leaf_value: 3 values where 2000000000 are needed",
        ),
        ("num_leaves=3", "num_leaves=99999999999999999999", "tree 0, field num_leaves"),
        ("num_leaves=3", "num_leaves=0", "tree 0, field num_leaves: \"0\" is not a positive number"),
        ("num_leaves=3", "num_leaves=-3", "tree 0, field num_leaves: \"-3\" is not a positive number"),
        ("num_leaves=3", "num_leaves=1", "tree 0, field leaf_value: 3 values where 1 are needed"),
        ("num_leaves=3\n", "", "tree 0, field num_leaves: the field is missing"),
        ("num_cat=0\n", "", "tree 0, field num_cat: the field is missing"),
        // Numbers.
        ("threshold=1.5 -2.5", "threshold=nan -2.5", "tree 0, node 0: the threshold is NaN"),
        ("threshold=1.5 -2.5", "threshold=0x1p3 -2.5", "tree 0, field threshold: \"0x1p3\" is not a number"),
        ("leaf_value=0.25", "leaf_value=nan", "tree 0: leaf value NaN is not a finite"),
        ("leaf_value=0.25", "leaf_value=1e400", "tree 0: leaf value inf is not a finite"),
        ("leaf_value=0.25", "leaf_value=abc", "tree 0, field leaf_value: \"abc\" is not a number"),
        ("split_feature=0 0", "split_feature=2 0", "tree 0, node 0: feature 2 does not exist"),
        ("split_feature=0 0", "split_feature=-1 0", "tree 0, field split_feature: \"-1\" is not"),
        ("split_feature=0 0", "split_feature=1 0", "node 0: feature 1 is"),
        ("decision_type=2 8", "decision_type=2 12", "tree 0, node 1: 12 is not a decision_type"),
        ("decision_type=2 8", "decision_type=2 -8", "tree 0, field decision_type: \"-8\" is not"),
        (
            "decision_type=2 8",
            "decision_type=2 1",
            "tree 0, node 1: -2.5 is not the number of a category set",
        ),
        // Category sets.
        ("threshold=0 1\n", "threshold=0 2\n", "tree 1, node 1: 2 is not the number of a category set"),
        (
            "threshold=0 1\n",
            "threshold=0 0\n",
            "tree 1, node 1: 0 is not the number of a category set of this split",
        ),
        ("threshold=0 1\n", "threshold=0.5 1\n", "tree 1, node 0: 0.5 is not the number of a category set"),
        ("threshold=0 1\n", "threshold=-1 1\n", "tree 1, node 0: -1 is not the number of a category set"),
        ("threshold=0 1\n", "threshold=nan 1\n", "tree 1, node 0: NaN is not the number of a category set"),
        ("num_cat=2", "num_cat=0", "tree 1, node 0: 0 is not the number of a category set"),
        ("num_cat=2", "num_cat=2000000000", "field cat_boundaries: 3 values where 2000000001 are needed"),
        ("cat_boundaries=0 1 3", "cat_boundaries=0 3 1", "tree 1, field cat_boundaries"),
        ("cat_boundaries=0 1 3", "cat_boundaries=1 1 3", "tree 1, field cat_boundaries"),
        (
            "cat_boundaries=0 1 3",
            "cat_boundaries=0 1 9",
            "tree 1, field cat_threshold: 3 values where 9 are needed",
        ),
        ("cat_boundaries=0 1 3\n", "", "tree 1, field cat_boundaries: the field is missing"),
        ("cat_threshold=5 0 2", "cat_threshold=5 0 4294967296", "tree 1, field cat_threshold"),
        // Lines.
        ("shrinkage=1\n", "num_cat=0\n", "line 22: the key \"num_cat\" stands here twice"),
        ("leaf_count=10 20 30", "leaf_count", "line 21: key=value expected, found \"leaf_count\""),
        ("num_class=1\n", "num_class=1\nnum_class=1\n", "line 4: the key \"num_class\" stands here twice"),
        ("\n\n\nTree=1", "\nTree=1", "line 23: an empty line between two trees expected"),
        ("\n\n\nTree=1", "\n\n\nnonsense\nTree=1", "line 25: a tree or the line \"end of trees\" expected"),
        (
            "end of trees\n",
            "",
            "line 40: a tree or the line \"end of trees\" expected, found \"parameters:\"",
        ),
        // Header.
        ("num_class=1\n", "", "field num_class: the field is missing"),
        ("num_class=1\n", "num_class=0\n", "field num_class: \"0\" is not a positive number"),
        ("num_class=1\n", "num_class=-1\n", "field num_class: \"-1\" is not a positive number"),
        ("num_class=1\n", "num_class=3\n", "field num_tree_per_iteration: 1 for 3 in num_class"),
        ("num_tree_per_iteration=1", "num_tree_per_iteration=4000000000", "field num_tree_per_iteration"),
        ("label_index=0\n", "", "field label_index: the field is missing"),
        ("max_feature_idx=1", "max_feature_idx=5", "field feature_names: 2 values where 6 are needed"),
        (
            "max_feature_idx=1",
            "max_feature_idx=2147483647",
            "field feature_names: 2 values where 2147483648 are needed",
        ),
        (
            "max_feature_idx=1",
            "max_feature_idx=-1",
            "field max_feature_idx: \"-1\" is not a number from 0 on",
        ),
        (
            "feature_infos=[0:9] 0:1:2:33",
            "feature_infos=none",
            "field feature_infos: 1 values where 2 are needed",
        ),
        ("feature_names=height town\n", "", "field feature_names: the field is missing"),
        // Objectives.
        (
            "objective=binary sigmoid:1\n",
            "",
            "a model without an objective line is not supported; the line says",
        ),
        ("binary sigmoid:1", "mine", "the objective \"mine\" is not supported; supported are binary"),
        ("binary sigmoid:1", "huber sqrt", "goes with the objective regression only"),
        ("binary sigmoid:1", "custom", "the objective \"custom\" is not supported"),
        ("binary sigmoid:1", "binary", "field objective: a sigmoid of \"\" is not a positive number"),
        ("binary sigmoid:1", "binary sigmoid:0", "a sigmoid of \"0\" is not a positive number"),
        ("binary sigmoid:1", "binary sigmoid:-1", "a sigmoid of \"-1\" is not a positive number"),
        ("binary sigmoid:1", "binary sigmoid:nan", "a sigmoid of \"nan\" is not a positive number"),
        ("binary sigmoid:1", "binary sigmoid:1 sigmoid:2", "the key \"sigmoid\" stands here twice"),
        (
            "binary sigmoid:1",
            "multiclass num_class:3",
            "field objective: \"multiclass num_class:3\" is not in agreement",
        ),
        ("shrinkage=1\n", "is_linear=1\nshrinkage=1\n", "tree 0, field is_linear: a tree with linear models"),
    ];
    for (from, to, expected) in cases {
        assert!(MODEL.contains(from), "{from:?} is not in the model");
        let found = message(&MODEL.replacen(from, to, 1));
        assert!(found.contains(expected), "{from:?} -> {to:?}:\n  expected {expected}\n  found    {found}");
    }
}

#[test]
fn sizes_that_are_not_those_of_the_blocks_are_refused() {
    let at = |sizes: &str| MODEL.replacen("\n\nTree=0", &format!("\ntree_sizes={sizes}\n\nTree=0"), 1);
    let start = MODEL.find("Tree=0").unwrap();
    let middle = MODEL.find("Tree=1").unwrap();
    let end = MODEL.find("end of trees").unwrap();
    let (first, second) = (middle - start, end - middle);
    assert_eq!(message(&at(&format!("{first} {second}"))), "it was read");
    let stale = message(&at(&format!("{} {second}", first - 1)));
    assert!(
        stale.starts_with("tree 0, field tree_sizes: ") && stale.contains(&format!("{first} bytes")),
        "{stale}"
    );
    assert!(message(&at(&format!("{first} x"))).starts_with("tree 1, field tree_sizes: "));
    assert!(message(&at(&format!("{first}"))).contains("field tree_sizes: 1 values where 2 are needed"));
    assert!(
        message(&at(&format!("{first} {second} 9")))
            .contains("field tree_sizes: 3 values where 2 are needed")
    );
}

#[test]
fn a_nul_byte_anywhere_is_refused_at_its_line() {
    for place in ["Tree=1", "feature_names=height", "num_leaves=3", "pandas_categorical:null"] {
        let at = MODEL.find(place).unwrap() + place.len();
        let text = format!("{}\0{}", &MODEL[..at], &MODEL[at..]);
        let line = MODEL[..at].matches('\n').count() + 1;
        let expected = format!("line {line}: text without NUL bytes expected, found a NUL byte");
        assert_eq!(message(&text), expected, "{place}");
    }
}

#[test]
fn windows_line_ends_are_refused() {
    let found = message(&MODEL.replace('\n', "\r\n"));
    assert!(found.starts_with("line 1: a line feed alone"), "{found}");
}

#[test]
fn a_line_that_the_library_would_not_reach_is_refused() {
    // Tree 0 has eleven lines; LightGBM reads 22.
    let with = |count: usize| {
        let lines: String = (0..count).map(|n| format!("later_{n}=1\n")).collect();
        message(&MODEL.replacen("shrinkage=1\n", &format!("{lines}shrinkage=1\n"), 1))
    };
    assert_eq!(with(11), "it was read");
    assert!(with(12).contains("22 lines that LightGBM reads"), "{}", with(12));
}

#[test]
fn a_number_of_trees_that_is_no_whole_number_of_rounds_is_refused() {
    let three = MODEL.replacen("=binary sigmoid:1", "=multiclass num_class:3", 1);
    let three = three.replacen("num_class=1", "num_class=3", 1);
    let three = three.replacen("num_tree_per_iteration=1", "num_tree_per_iteration=3", 1);
    assert!(message(&three).contains("2 trees is not a whole number of rounds"), "{}", message(&three));
    let none =
        [&MODEL[..MODEL.find("Tree=0").unwrap()], &MODEL[MODEL.find("end of trees").unwrap()..]].concat();
    assert!(message(&none).contains("a model without trees"), "{}", message(&none));
    let many =
        none.replace("=1\n", "=2000000000\n").replace("binary sigmoid:1", "multiclass num_class:2000000000");
    assert!(ModelFile::parse(many.as_bytes()).is_err());
}

#[test]
fn a_file_cut_anywhere_before_the_end_of_its_trees_is_refused() {
    let end = MODEL.find("end of trees").unwrap() + "end of trees".len();
    for length in 0..end {
        assert!(ModelFile::parse(&MODEL.as_bytes()[..length]).is_err(), "cut at byte {length}");
    }
    let cut = message(&MODEL[..MODEL.find("Tree=1").unwrap()]);
    assert!(cut.contains("the file ends here, inside the trees"), "{cut}");
}

#[test]
fn no_single_byte_makes_the_reader_panic() {
    for position in 0..MODEL.len() {
        for byte in [b'0', b'9', b'-', b' ', b'\n', b'=', b'e', 0xff] {
            let mut bytes = MODEL.as_bytes().to_vec();
            bytes[position] = byte;
            let outcome = catch_unwind(|| ModelFile::parse(&bytes).is_ok());
            assert!(outcome.is_ok(), "byte {position} = {byte:#x}");
        }
    }
}

#[test]
fn what_is_no_text_is_refused_at_its_byte() {
    let mut bytes = MODEL.as_bytes().to_vec();
    bytes[100] = 0xff;
    assert!(ModelFile::parse(&bytes).unwrap_err().to_string().starts_with("byte 100: "));
}

#[test]
fn a_missing_decision_type_means_zeros_as_in_the_library() {
    let file = ModelFile::parse(MODEL.replacen("decision_type=2 8\n", "", 1).as_bytes()).unwrap();
    let splits: Vec<Split<'_>> = file.ensemble().tree(TreeId(0)).splits().collect();
    // NaN is read as zero, so it goes to the side of the threshold where zero is.
    assert_eq!(splits.iter().map(|split| split.missing_left).collect::<Vec<_>>(), [true, false]);
}

/// A tree with one split.
fn stump(test: Test<'_>, missing_left: bool) -> Tree {
    let mut features = secateur_model::Features::unnamed(2);
    let categories = secateur_model::Categories {
        rule: secateur_model::CategoryRule::Truncate,
        unseen_is_missing: false,
        labels: None,
    };
    features.set_categories(FeatureId(1), categories);
    let intake = Intake::everything(NumberType::F64);
    let accumulation = Accumulation::in_order(NumberType::F64);
    let decision = Decision::Threshold { group: GroupId(0), threshold: 0.0, strict: true };
    let mut builder =
        EnsembleBuilder::new(features, intake, ClassLabels::Unnamed(2), vec![0.0], accumulation, decision)
            .unwrap();
    let feature = FeatureId(u32::from(matches!(test, Test::Member { .. })));
    let mut tree = TreeBuilder::new();
    tree.split(Split { feature, test, missing_left }, NodeId(1), NodeId(2)).leaf(&[-1.0]).leaf(&[1.0]);
    builder.tree(tree, Output::Group(GroupId(0)), 1.0).unwrap();
    builder.build().tree(TreeId(0)).clone()
}

#[test]
fn a_new_tree_keeps_its_meaning_or_is_refused() {
    let file = ModelFile::parse(MODEL.as_bytes()).unwrap();
    let replace = |with: Tree| {
        file.edit(&Edit { trees: vec![TreeEdit::Replace { tree: TreeId(0), with }], intercepts: None })
    };
    let values =
        [f64::NAN, 0.0, -0.0, 1e-36, -1e-34, -3.0, 0.4, 7.0, 33.0, -0.5, f64::INFINITY, f64::NEG_INFINITY];
    let set = [0, 7, 33];
    let mut tests = vec![];
    for threshold in [0.5, -0.5, 0.0, f64::INFINITY, f64::NEG_INFINITY] {
        tests.push(Test::LessOrEqual { threshold });
        tests.extend([true, false].map(|zero_left| Test::LessOrEqualButZero { threshold, zero_left }));
    }
    tests.extend([true, false].map(|members_left| Test::Member { set: &set, members_left }));
    tests.push(Test::Member { set: &[], members_left: true });
    let (mut written, mut refused) = (0, 0);
    for test in tests {
        for missing_left in [true, false] {
            let tree = stump(test, missing_left);
            let result = match replace(tree.clone()) {
                Ok(result) => result,
                Err(EditError::TreeContent { .. }) => {
                    refused += 1;
                    continue;
                }
                Err(error) => panic!("{test:?}: {error}"),
            };
            written += 1;
            let ensemble = result.ensemble();
            for value in values {
                let value = ensemble.intake().read(value).unwrap();
                let leaf = |tree: &Tree| {
                    let leaf = tree.walk(|split| ensemble.goes_left(split, value));
                    tree.leaf(leaf)[0]
                };
                assert_eq!(
                    leaf(ensemble.tree(TreeId(0))),
                    leaf(&tree),
                    "{test:?}, missing left {missing_left}: {value}"
                );
            }
        }
    }
    // Refused are: zero on one side of the threshold with NaN on the other (once for each
    // threshold), and NaN among a set's members (once for each set).
    assert_eq!((written, refused), (28, 8));
    for test in [Test::Less { threshold: 1.0 }, Test::Equal { value: 1.0 }] {
        assert!(matches!(replace(stump(test, false)), Err(EditError::TreeContent { .. })), "{test:?}");
    }
    let far = Test::Member { set: &[1 << 24], members_left: true };
    assert!(matches!(replace(stump(far, false)), Err(EditError::TreeContent { .. })));
}

#[test]
fn a_leaf_that_overflows_is_not_written() {
    let file = ModelFile::parse(MODEL.as_bytes()).unwrap();
    let edit = Edit { trees: vec![TreeEdit::Scale { tree: TreeId(1), factor: 1e308 }], intercepts: None };
    assert!(matches!(file.edit(&edit), Err(EditError::LeafValue { tree: TreeId(1), .. })));
}
