//! Broken XGBoost files: each gives an error that names its place, in both encodings.

use secateur_formats::{FormatError, ModelFile};
use secateur_testkit::committed;

fn fixture(name: &str) -> Vec<u8> {
    committed(format!("models/xgboost/{name}"))
}

/// The error of a file that must not be read.
fn refusal(bytes: &[u8], what: &str) -> FormatError {
    match ModelFile::parse(bytes) {
        Ok(_) => panic!("{what} was read"),
        Err(error) => error,
    }
}

/// The text with the first `old` after `after` replaced.
fn replaced(text: &str, after: &str, old: &str, new: &str) -> String {
    let start = text.find(after).unwrap_or_else(|| panic!("{after} is not in the file"));
    let at = start + text[start..].find(old).unwrap_or_else(|| panic!("{old} does not follow {after}"));
    format!("{}{new}{}", &text[..at], &text[at + old.len()..])
}

/// A tree with three nodes whose fields are easy to break, in a model with these classes.
fn small(objective: &str, num_class: &str, tree_info: &str, tree: &str) -> String {
    format!(
        r#"{{"learner":{{"attributes":{{}},"feature_names":[],"feature_types":[],"gradient_booster":{{"model":{{"gbtree_model_param":{{"num_parallel_tree":"1","num_trees":"1"}},"iteration_indptr":[0,1],"tree_info":[{tree_info}],"trees":[{tree}]}},"name":"gbtree"}},"learner_model_param":{{"base_score":"[5E-1]","boost_from_average":"1","num_class":"{num_class}","num_feature":"2","num_target":"1"}},"objective":{{"name":"{objective}"}}}},"version":[3,4,1]}}"#
    )
}

const TREE: &str = r#"{"base_weights":[0E0,0E0,0E0],"categories":[],"categories_nodes":[],"categories_segments":[],"categories_sizes":[],"default_left":[1,0,0],"id":0,"left_children":[1,-1,-1],"loss_changes":[0E0,0E0,0E0],"parents":[2147483647,0,0],"right_children":[2,-1,-1],"split_conditions":[5E-1,-1E0,1E0],"split_indices":[1,0,0],"split_type":[0,0,0],"sum_hessian":[0E0,0E0,0E0],"tree_param":{"num_deleted":"0","num_feature":"2","num_nodes":"3","size_leaf_vector":"1"}}"#;

fn logistic(tree: &str) -> String {
    small("binary:logistic", "0", "0", tree)
}

#[test]
fn the_small_file_itself_is_read() {
    ModelFile::parse(logistic(TREE).as_bytes()).unwrap();
}

#[test]
fn broken_trees_are_refused_with_their_place() {
    // (field, old, new, what the message contains)
    let cases = [
        ("left_children", "[1,-1,-1]", "[3,-1,-1]", "tree 0, node 0: 2 is not the right child"),
        ("left_children", "[1,-1,-1]", "[1,-2,-1]", "tree 0, node 1: -2 is not a left child"),
        ("left_children", "[1,-1,-1]", "[1,-1]", "tree 0, field left_children: 2 values where 3 are needed"),
        ("left_children", "[1,-1,-1]", "[1,-1,-1,-1]", "field left_children: 4 values where 3"),
        ("left_children", "[1,-1,-1]", "[1.0,-1,-1]", "an integer expected, found `1.0`"),
        ("left_children", "[1,-1,-1]", "[4294967297,-1,-1]", "not in the range"),
        ("left_children", "[1,-1,-1]", "\"none\"", "an array expected"),
        ("right_children", "[2,-1,-1]", "[1,-1,-1]", "tree 0, node 0: 1 is not the right child"),
        ("right_children", "[2,-1,-1]", "[2,0,-1]", "tree 0, node 1: 0 is not the right child of a leaf"),
        ("split_conditions", "[5E-1", "[NaN", "tree 0, node 0: the threshold is NaN"),
        ("split_conditions", "[5E-1", "[1", "a point or an exponent expected, found `1`"),
        ("split_conditions", "1E0]", "Infinity]", "tree 0: leaf value inf"),
        ("split_conditions", "1E0]", "1e39]", "tree 0: leaf value inf"),
        ("split_conditions", "1E0]", "NaN]", "tree 0: leaf value NaN"),
        ("split_indices", "[1,0,0]", "[2,0,0]", "tree 0, node 0: feature 2 does not exist"),
        ("split_indices", "[1,0,0]", "[-1,0,0]", "tree 0, node 0: -1 is not the number of a feature"),
        ("split_indices", "[1,0,0]", "[1,0,2147483647]", "tree_param.num_deleted"),
        ("default_left", "[1,0,0]", "[2,0,0]", "tree 0, node 0: 2 is not 0 or 1"),
        ("split_type", "[0,0,0]", "[1,0,0]", "tree 0, node 0: 1 is not the split_type"),
        ("split_type", "[0,0,0]", "[7,0,0]", "tree 0, node 0: 7 is not 0 or 1"),
        ("\"id\"", "0", "1", "tree 0, field id: 1 is not the position"),
        ("\"id\"", "\"id\":0,", "", "tree 0, field id: the field is missing"),
        ("\"loss_changes", "\"loss_changes\":[0E0,0E0,0E0],", "", "field loss_changes: the field is missing"),
        ("sum_hessian", "[0E0,0E0,0E0]", "[0E0]", "field sum_hessian: 1 values where 3"),
        ("num_nodes", "\"3\"", "\"4\"", "field left_children: 3 values where 4"),
        ("num_nodes", "\"3\"", "\"-3\"", "tree_param.num_nodes: \"-3\" is not a number"),
        ("num_nodes", "\"3\"", "\"99999999999999999999\"", "is not a number"),
        ("num_nodes", "\"3\"", "3", "a string expected"),
        ("num_deleted", "\"0\"", "\"1\"", "tree_param.num_deleted: 1 is not the number of deleted nodes"),
        ("size_leaf_vector", "\"1\"", "\"3\"", "field base_weights: 3 values where 9"),
        ("tree_param", "\"size_leaf_vector\"", "\"num_nodes\"", "the key \"num_nodes\" stands here twice"),
        ("parents", "parents", "left_children", "the key \"left_children\" stands here twice"),
    ];
    for (after, old, new, words) in cases {
        let text = logistic(&replaced(TREE, after, old, new));
        // A deleted node also has its flag.
        let text = if new == "[1,0,2147483647]" {
            replaced(&text, "default_left", "[1,0,0]", "[1,0,1]")
        } else {
            text
        };
        let message = refusal(text.as_bytes(), words).to_string();
        assert!(message.contains(words), "{words}: {message}");
    }
}

#[test]
fn children_that_are_shared_missing_or_in_a_circle_are_refused() {
    let five = |left: &str, right: &str| {
        let tree = replaced(TREE, "num_nodes", "\"3\"", "\"5\"");
        let tree = tree
            .replace("[0E0,0E0,0E0]", "[0E0,0E0,0E0,0E0,0E0]")
            .replace("[2147483647,0,0]", "[2147483647,0,0,1,1]")
            .replace("[5E-1,-1E0,1E0]", "[5E-1,1E0,1E0,1E0,1E0]")
            .replace("[1,0,0]", "[1,0,0,0,0]")
            .replace("[0,0,0]", "[0,0,0,0,0]");
        logistic(&tree.replace("[1,-1,-1]", left).replace("[2,-1,-1]", right))
    };
    ModelFile::parse(five("[1,3,-1,-1,-1]", "[2,4,-1,-1,-1]").as_bytes()).unwrap();
    let cases = [
        ("[1,0,-1,-1,-1]", "[2,1,-1,-1,-1]", "tree 0, node 1: child 1 is reached twice"),
        ("[1,1,-1,-1,-1]", "[2,2,-1,-1,-1]", "tree 0, node 1: child 2 is reached twice"),
        ("[1,3,3,-1,-1]", "[2,4,4,-1,-1]", "node 2: child 4 is reached twice"),
        ("[1,4,-1,-1,-1]", "[2,5,-1,-1,-1]", "tree 0, node 1: child 5 does not exist"),
        ("[1,2147483647,-1,-1,-1]", "[2,-2147483648,-1,-1,-1]", "tree 0, node 1: -2147483648 is not"),
        ("[1,-1,-1,-1,-1]", "[2,-1,-1,-1,-1]", "tree 0, node 3: no path from the root reaches it"),
        ("[3,-1,-1,-1,-1]", "[4,-1,-1,-1,-1]", "no path from the root reaches it"),
    ];
    for (left, right, words) in cases {
        let message = refusal(five(left, right).as_bytes(), words).to_string();
        assert!(message.contains(words), "{words}: {message}");
    }
}

#[test]
fn broken_categories_are_refused() {
    let with = |nodes: &str, segments: &str, sizes: &str, categories: &str| {
        let tree = TREE
            .replace("\"categories\":[]", &format!("\"categories\":[{categories}]"))
            .replace("\"categories_nodes\":[]", &format!("\"categories_nodes\":[{nodes}]"))
            .replace("\"categories_segments\":[]", &format!("\"categories_segments\":[{segments}]"))
            .replace("\"categories_sizes\":[]", &format!("\"categories_sizes\":[{sizes}]"));
        logistic(&replaced(&tree, "split_type", "[0,0,0]", "[1,0,0]"))
    };
    ModelFile::parse(with("0", "0", "2", "3,1").as_bytes()).unwrap();
    let cases = [
        (with("0", "0", "3", "3,1"), "tree 0, node 0: 0+3 is not a segment"),
        (with("0", "-1", "1", "3,1"), "node 0: -1+1 is not a segment"),
        (with("0", "0", "0", "3,1"), "node 0: 0+0 is not a segment"),
        (with("0", "1", "9223372036854775807", "3,1"), "is not a segment"),
        (with("0", "0", "2", "-3,1"), "not in the range"),
        (with("1", "0", "2", "3,1"), "node 0: 1 is not the split_type of a node without categories"),
        (with("0,5", "0,1", "1,1", "3,1"), "categories_nodes: 5 is not"),
        (with("0,0", "0,1", "1,1", "3,1"), "categories_nodes: 0 is not"),
        (with("0", "0,0", "1", "3,1"), "field categories_segments: 2 values where 1"),
        (with("0", "", "1", "3,1"), "field categories_segments: 0 values where 1"),
    ];
    for (text, words) in cases {
        let message = refusal(text.as_bytes(), words).to_string();
        assert!(message.contains(words), "{words}: {message}");
    }
}

#[test]
fn broken_model_fields_are_refused_with_their_path() {
    let file = logistic(TREE);
    // (after, old, new, what the message contains)
    let cases = [
        ("tree_info", "[0]", "[1]", "tree 0, field tree_info: 1 is not a class"),
        ("tree_info", "[0]", "[-1]", "tree 0, field tree_info: -1 is not a class"),
        ("tree_info", "[0]", "[0,0]", "model.tree_info: 2 values where 1 are needed"),
        ("num_trees", "\"1\"", "\"2\"", "num_trees: 2 is not the number of trees"),
        ("num_trees", "\"1\"", "\"x\"", "num_trees: \"x\" is not a number"),
        ("iteration_indptr", "[0,1]", "[0,2]", "model.iteration_indptr"),
        ("iteration_indptr", "[0,1]", "[0,5,1]", "model.iteration_indptr"),
        ("iteration_indptr", "[0,1]", "[]", "model.iteration_indptr"),
        ("base_score", "[5E-1]", "[5E-1,5E-1]", "base_score: 2 values where 1 are needed"),
        ("base_score", "[5E-1]", "[]", "base_score: \"[]\" is not a number"),
        ("base_score", "[5E-1]", "[NaN]", "base_score"),
        ("base_score", "[5E-1]", "[1.5E0]", "is not a probability"),
        ("base_score", "[5E-1]", "half", "\"half\" is not a number"),
        ("num_class", "\"0\"", "\"3\"", "num_class: 3 is not 0"),
        ("num_feature\":\"2\",\"num_target", "\"2\"", "\"99999999\"", "num_feature: 99999999 is not"),
        ("num_feature\":\"2\",\"num_target", "\"2\"", "\"0\"", "feature 1 does not exist"),
        ("num_target", "\"1\"", "\"2\"", "2 labels for each row"),
        ("feature_names", "[]", "[\"a\"]", "learner.feature_names: 1 values where 2"),
        ("feature_types", "[]", "[\"q\",\"q\",\"q\"]", "learner.feature_types: 3 values where 2"),
        ("attributes", "{}", "{\"best_iteration\":\"1\"}", "best_iteration: \"1\" is not a round"),
        ("attributes", "{}", "{\"best_iteration\":\"-2\"}", "best_iteration: \"-2\" is not a round"),
        ("{\"attributes", "\"attributes\":{},", "", "learner.attributes: the field is missing"),
        ("version", "[3,4,1]", "[3,4]", "version: 2 values where 3"),
        ("version", "[3,4,1]", "[1,6,2]", "load it in XGBoost 1.7 or later"),
        ("\"version", ",\"version\":[3,4,1]", "", ""),
        ("binary:logistic", "binary:logistic", "reg:expectileerror", "supported are binary:logistic"),
        ("gbtree\"}", "gbtree", "gblinear", "only gbtree and dart"),
        (
            "},\"name\":\"gbtree",
            "\"name\"",
            "\"weight_drop\":[1.0,1.0],\"name\"",
            "weight_drop: 2 values where 1",
        ),
        ("},\"name\":\"gbtree", "\"name\"", "\"weight_drop\":[Infinity],\"name\"", "tree 0: weight inf"),
        ("\"version", "}", "} trailing", "the end of the file expected, found `trailing`"),
        ("{\"learner", "{", "{\"learner\":{},", "the key \"learner\" stands here twice"),
    ];
    for (after, old, new, words) in cases {
        let text = if words.is_empty() {
            // The library does not require a version, but the arithmetic depends on it.
            file.replace(old, new)
        } else if words.contains("trailing") {
            format!("{file} trailing")
        } else {
            replaced(&file, after, old, new)
        };
        let message = refusal(text.as_bytes(), words).to_string();
        assert!(message.contains(words.trim_start()), "{words}: {message}");
    }
}

#[test]
fn what_xgboost_does_not_load_is_refused_with_its_path() {
    let dart = String::from_utf8(fixture("3.2.0-dart.json")).unwrap();
    let weights = dart.find(",\"weight_drop\":[").unwrap();
    let end = weights + dart[weights..].find(']').unwrap() + 1;
    let without = format!("{}{}", &dart[..weights], &dart[end..]);
    let empty = format!("{},\"weight_drop\":[]{}", &dart[..weights], &dart[end..]);
    let field = "field learner.gradient_booster.weight_drop: the field is missing";
    let inner = replaced(&dart, "gbtree_model_param", "\"name\":\"gbtree\"", "\"name\":\"gblinear\"");
    let average = replaced(&logistic(TREE), "boost_from_average", "\"1\"", "\"yes\"");
    let weighted = |weight: &str| {
        let objective = format!("\"objective\":{{\"reg_loss_param\":{{\"scale_pos_weight\":\"{weight}\"}},");
        logistic(TREE).replace("\"objective\":{", &objective)
    };
    ModelFile::parse(weighted("2.5").as_bytes()).unwrap();
    let cases = [
        (without.as_str(), field),
        (&empty, field),
        (&inner, "field learner.gradient_booster.gbtree.name: \"gblinear\" is not \"gbtree\""),
        (&average, "learner_model_param.boost_from_average: \"yes\" is not a whole number"),
        (&weighted("x"), "reg_loss_param.scale_pos_weight: \"x\" is not a number"),
        (&format!(" {}", logistic(TREE)), "white space before its first brace"),
        (&format!("\n{}", logistic(TREE)), "white space before its first brace"),
    ];
    for (text, expected) in cases {
        let message = refusal(text.as_bytes(), expected).to_string();
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn classes_that_do_not_fit_together_are_refused() {
    let softprob = |count: &str, info: &str| small("multi:softprob", count, info, TREE);
    ModelFile::parse(softprob("3", "2").as_bytes()).unwrap();
    let cases = [
        (softprob("3", "3"), "tree 0, field tree_info: 3 is not a class"),
        (
            softprob("3", "0").replace("\"iteration_indptr\":[0,1],", ""),
            "model.trees: a list of 1 trees is not a whole number of rounds",
        ),
        (softprob("0", "0"), "num_class: 0 is not a number of classes"),
        (softprob("4000000000", "0"), "num_class: 4000000000 is not"),
        (
            softprob("3", "0").replace(
                "\"name\":\"multi:softprob\"",
                "\"name\":\"multi:softprob\",\"softmax_multiclass_param\":{\"num_class\":\"4\"}",
            ),
            "softmax_multiclass_param.num_class: 4 is not",
        ),
        (
            small("multi:softprob", "3", "", "").replace("\"num_trees\":\"1\"", "\"num_trees\":\"0\""),
            "without trees",
        ),
    ];
    for (text, words) in cases {
        let message = refusal(text.as_bytes(), words).to_string();
        assert!(message.contains(words), "{words}: {message}");
    }
}

#[test]
fn vector_leaves_must_exist() {
    for (name, field) in
        [("3.4.1-vector_leaf.json", "right_children"), ("3.1.3-vector_leaf.json", "base_weights")]
    {
        let text = String::from_utf8(fixture(name)).unwrap();
        ModelFile::parse(text.as_bytes()).unwrap();
        let broken = if field == "right_children" {
            replaced(&text, "\"right_children\"", "[2,4,6,0,", "[2,4,6,9,")
        } else {
            replaced(&text, "\"base_weights\"", "[", "[0E0,")
        };
        let message = refusal(broken.as_bytes(), name).to_string();
        assert!(message.starts_with("tree 0"), "{message}");
    }
}

#[test]
fn a_list_as_base_score_of_an_old_version_is_refused() {
    let text = logistic(TREE).replace("[3,4,1]", "[3,0,5]");
    let message = refusal(text.as_bytes(), "a list").to_string();
    assert!(message.contains("silently take 0.5"), "{message}");
}

#[test]
fn a_file_cut_anywhere_is_refused() {
    for name in ["3.4.1-frame.json", "3.4.1-frame.ubj", "1.7.6-dart.json", "1.7.6-dart.ubj"] {
        let bytes = fixture(name);
        for length in 0..bytes.len() {
            let error = refusal(&bytes[..length], name).to_string();
            assert!(!error.is_empty());
        }
    }
}

#[test]
fn a_changed_byte_never_panics_and_what_is_read_can_be_predicted_and_edited() {
    let mut read = 0;
    for name in ["3.4.1-frame.json", "3.4.1-frame.ubj", "2.1.4-vector_leaf.ubj", "3.4.1-dart.ubj"] {
        let original = fixture(name);
        for at in 0..original.len() {
            let mut bytes = original.clone();
            bytes[at] ^= 1 << (at % 8);
            let Ok(model) = ModelFile::parse(&bytes) else { continue };
            let ensemble = model.ensemble();
            let row = vec![0.5; ensemble.features().len()];
            secateur_model::Predictor::new(ensemble).raw_scores(&row).unwrap();
            let mut edit = secateur_formats::Edit::unchanged(ensemble);
            edit.trees.pop();
            model.edit(&edit).unwrap();
            read += 1;
        }
    }
    assert!(read > 1000, "only {read} of the changed files were read: nothing much was tried");
}

#[test]
fn declared_counts_are_held_against_the_file() {
    let original = fixture("3.4.1-softprob.ubj");
    let mut checked = 0;
    for at in 0..original.len() - 10 {
        // The count of an array or the length of a text.
        if original[at] != b'L' || original[at + 1..at + 7] != [0; 6] {
            continue;
        }
        for count in [[0x7f; 8], [0xff; 8], [0, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff]] {
            let mut bytes = original.clone();
            bytes[at + 1..at + 9].copy_from_slice(&count);
            refusal(&bytes, "a huge count");
            checked += 1;
        }
    }
    assert!(checked > 300);
}

#[test]
fn deep_nesting_is_refused() {
    let deep = format!("{{\"learner\":{}", "{\"a\":".repeat(100_000));
    let message = refusal(deep.as_bytes(), "deep nesting").to_string();
    assert!(message.contains("nested deeper than 64 levels"), "{message}");
    let mut deep = b"{L\0\0\0\0\0\0\0\x01a".to_vec();
    deep.extend([b'['; 100_000]);
    let message = refusal(&deep, "deep nesting").to_string();
    assert!(message.contains("nested deeper than 64 levels"), "{message}");
}

#[test]
fn unknown_fields_and_spaces_survive_an_edit() {
    let text =
        logistic(&TREE.replace("\"id\":0", "\"id\" : 0 , \"mine\" : {\"a\" : [1, null, \"\\u00e9\"]}"))
            .replace(
                "\"attributes\":{}",
                "\"attributes\":{ \"best_iteration\" : \"0\" , \"note\" : \"kept\" }",
            );
    let model = ModelFile::parse(text.as_bytes()).unwrap();
    assert_eq!(model.to_bytes(), text.as_bytes());
    let tree = secateur_model::TreeId(0);
    let trees = vec![secateur_formats::TreeEdit::Scale { tree, factor: 2.0 }];
    let edited = model.edit(&secateur_formats::Edit { trees, intercepts: None }).unwrap().to_bytes();
    let edited = String::from_utf8(edited).unwrap();
    assert!(edited.contains("\"mine\" : {\"a\" : [1, null, \"\\u00e9\"]}"), "{edited}");
    assert!(edited.contains("\"attributes\":{\"note\" : \"kept\"}"), "{edited}");
    assert!(edited.contains("\"split_conditions\":[5E-1,-2E0,2E0]"), "{edited}");
}

#[test]
fn the_order_of_labels_fits_them() {
    let json = String::from_utf8(fixture("3.4.1-frame.json")).unwrap();
    let cases = [
        (
            "sorted_idx",
            "[0,1,2,3,4,5]",
            "[1,0,2,3,4,5]",
            "cats.sorted_idx: the part of column 2 is not the codes",
        ),
        ("sorted_idx", "[0,1,2,3,4,5]", "[0,1,2,3,4,4]", "the part of column 2 is not"),
        ("sorted_idx", "[0,1,2,3,4,5]", "[0,1,2,3,4]", "the part of column 2 is not"),
        ("sorted_idx", "[0,1,2,3,4,5]", "[0,1,2,3,4,6]", "the part of column 2 is not"),
        ("sorted_idx", "[0,1,2,3,4,5]", "[0,1,2,3,4,-1]", "the part of column 2 is not"),
        ("sorted_idx", "[0,1,2,3,4,5]", "[0,1,2,3,4,5,6]", "sorted_idx: 7 values where 6 are needed"),
        ("sorted_idx", "[0,1,2,3,4,5]", "[]", "the part of column 2 is not"),
        ("feature_segments", "[0,0,0,6]", "[0,0,1,6]", "cats.feature_segments: entry 1 is not where"),
        ("feature_segments", "[0,0,0,6]", "[]", "cats.feature_segments: entry 0 is not where"),
        // The second label becomes equal to the first.
        ("\"enc\"", "[98,99,", "[98,98,", "the part of column 2 is not"),
    ];
    for (after, old, new, message) in cases {
        let error = refusal(replaced(&json, after, old, new).as_bytes(), new).to_string();
        assert!(error.contains(message), "{new}: {error}");
    }
    // Bytes are signed: a label that is not ASCII sorts before all others, even if it is cut inside
    // a character.
    let cut = replaced(&json, "\"enc\"", "104]", "-61]");
    refusal(cut.as_bytes(), "a label that is first but listed last");
    let first = replaced(&cut, "sorted_idx", "[0,1,2,3,4,5]", "[5,0,1,2,3,4]");
    ModelFile::parse(first.as_bytes()).unwrap();

    let mut ubj = fixture("3.4.1-frame.ubj");
    let at = ubj.windows(10).position(|window| window == b"sorted_idx").unwrap();
    let one = at + ubj[at..].windows(8).position(|window| window == [0, 0, 0, 1, 0, 0, 0, 2]).unwrap();
    ubj[one + 3] = 2;
    ubj[one + 7] = 1;
    let error = refusal(&ubj, "swapped codes").to_string();
    assert!(error.contains("the part of column 2 is not"), "{error}");
}

#[test]
fn dart_up_to_3_2_takes_minus_zero_for_zero() {
    for (version, minus) in [("3.1.3", false), ("3.2.0", false), ("3.3.0", true), ("3.4.1", true)] {
        let text = String::from_utf8(fixture(&format!("{version}-dart.json"))).unwrap();
        let at = text.find("\"left_children\":[").unwrap();
        let leaf =
            text[at..].split(['[', ']']).nth(1).unwrap().split(',').position(|child| child == "-1").unwrap();
        let at = at + text[at..].find("\"split_conditions\":[").unwrap() + "\"split_conditions\":[".len();
        let end = at + text[at..].find(']').unwrap();
        let mut values: Vec<&str> = text[at..end].split(',').collect();
        values[leaf] = "-0E0";
        let changed = format!("{}{}{}", &text[..at], values.join(","), &text[end..]);
        let file = ModelFile::parse(changed.as_bytes()).unwrap();
        let value = file.ensemble().trees()[0].leaf_values()[0];
        assert_eq!((value, value.is_sign_negative()), (0.0, minus), "{version}");
    }
}
