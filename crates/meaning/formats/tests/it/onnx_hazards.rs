//! Small hand-made ONNX files: the meaning of each node mode, and malformed files, each of which is
//! refused with an error that names the place.

use secateur_formats::{Edit, ModelFile, TreeEdit};
use secateur_model::{Predictor, TreeId};

/// A file of one stump on column 1 of 2, with weights for class id 0, whose parts tests change.
struct Sample {
    opset: u64,
    operator: &'static str,
    ints: Vec<(&'static str, Vec<i64>)>,
    floats: Vec<(&'static str, Vec<f32>)>,
    modes: Vec<&'static str>,
    packed: bool,
    /// The element types that the graph declares for its outputs, label and scores.
    output_types: [u64; 2],
    ir_version: u64,
}

fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn number(out: &mut Vec<u8>, field: u64, value: u64) {
    varint(out, field << 3);
    varint(out, value);
}

fn bytes(out: &mut Vec<u8>, field: u64, content: &[u8]) {
    varint(out, field << 3 | 2);
    varint(out, content.len() as u64);
    out.extend(content);
}

fn message(fill: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::new();
    fill(&mut out);
    out
}

fn set<T: Clone>(columns: &mut Vec<(&'static str, Vec<T>)>, name: &'static str, values: &[T]) {
    match columns.iter_mut().find(|(other, _)| *other == name) {
        Some((_, list)) => *list = values.to_vec(),
        None => columns.push((name, values.to_vec())),
    }
}

impl Sample {
    fn new() -> Self {
        Self {
            opset: 3,
            operator: "TreeEnsembleClassifier",
            ints: vec![
                ("nodes_treeids", vec![0, 0, 0]),
                ("nodes_nodeids", vec![0, 1, 2]),
                ("nodes_featureids", vec![1, 0, 0]),
                ("nodes_truenodeids", vec![1, 0, 0]),
                ("nodes_falsenodeids", vec![2, 0, 0]),
                ("class_treeids", vec![0, 0]),
                ("class_nodeids", vec![1, 2]),
                ("class_ids", vec![0, 0]),
                ("classlabels_int64s", vec![0, 1]),
            ],
            floats: vec![("nodes_values", vec![0.5, 0.0, 0.0]), ("class_weights", vec![0.25, 0.75])],
            modes: vec!["BRANCH_LEQ", "LEAF", "LEAF"],
            packed: false,
            output_types: [7, 1],
            ir_version: 9,
        }
    }

    fn with(mut self, name: &'static str, values: &[i64]) -> Self {
        set(&mut self.ints, name, values);
        self
    }

    fn with_floats(mut self, name: &'static str, values: &[f32]) -> Self {
        set(&mut self.floats, name, values);
        self
    }

    fn with_modes(mut self, modes: &[&'static str]) -> Self {
        self.modes = modes.to_vec();
        self
    }

    fn attribute(&self, name: &str, kind: u64, fill: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
        message(|attribute| {
            bytes(attribute, 1, name.as_bytes());
            fill(attribute);
            number(attribute, 20, kind);
        })
    }

    fn node(&self) -> Vec<u8> {
        message(|node| {
            bytes(node, 1, b"X");
            bytes(node, 2, b"L");
            bytes(node, 2, b"S");
            bytes(node, 4, self.operator.as_bytes());
            bytes(node, 7, b"ai.onnx.ml");
            for (name, values) in &self.ints {
                let attribute = self.attribute(name, 7, |out| {
                    if self.packed {
                        let list =
                            message(|list| values.iter().for_each(|&value| varint(list, value as u64)));
                        bytes(out, 8, &list);
                    } else {
                        values.iter().for_each(|&value| number(out, 8, value as u64));
                    }
                });
                bytes(node, 5, &attribute);
            }
            for (name, values) in &self.floats {
                let attribute = self.attribute(name, 6, |out| {
                    if self.packed {
                        let list: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
                        bytes(out, 7, &list);
                    } else {
                        for value in values {
                            varint(out, 7 << 3 | 5);
                            out.extend(value.to_le_bytes());
                        }
                    }
                });
                bytes(node, 5, &attribute);
            }
            let modes = self.attribute("nodes_modes", 8, |out| {
                self.modes.iter().for_each(|mode| bytes(out, 9, mode.as_bytes()));
            });
            bytes(node, 5, &modes);
        })
    }

    fn graph(&self) -> Vec<u8> {
        let port = |name: &str, element: u64, columns: u64| {
            message(|port| {
                bytes(port, 1, name.as_bytes());
                let size = message(|size| number(size, 1, columns));
                let shape = message(|shape| {
                    bytes(shape, 1, b"");
                    bytes(shape, 1, &size);
                });
                let tensor = message(|tensor| {
                    number(tensor, 1, element);
                    bytes(tensor, 2, &shape);
                });
                bytes(port, 2, &message(|kind| bytes(kind, 1, &tensor)));
            })
        };
        message(|graph| {
            bytes(graph, 1, &self.node());
            bytes(graph, 11, &port("X", 1, 2));
            bytes(graph, 12, &port("L", self.output_types[0], 1));
            bytes(graph, 12, &port("S", self.output_types[1], 2));
            // A field that no reader knows.
            bytes(graph, 77, b"kept");
        })
    }

    fn file(&self) -> Vec<u8> {
        message(|file| {
            number(file, 1, self.ir_version);
            bytes(file, 7, &self.graph());
            let set = message(|set| {
                bytes(set, 1, b"ai.onnx.ml");
                number(set, 2, self.opset);
            });
            bytes(file, 8, &set);
        })
    }
}

#[test]
fn the_sample_itself_is_read_and_edited_packed_or_not() {
    let plain = ModelFile::parse(&Sample::new().file()).expect("a model");
    let packed = ModelFile::parse(&Sample { packed: true, ..Sample::new() }.file()).expect("a model");
    assert_eq!(plain.ensemble(), packed.ensemble());
    for file in [plain, packed] {
        let edited = file.edit(&Edit::unchanged(file.ensemble())).expect("an edit");
        assert!(edited.to_bytes() == file.to_bytes(), "the form is not kept");
    }
}

#[test]
fn every_mode_sends_values_where_onnxruntime_does() {
    // Which of four values (below, at and above the threshold, and NaN) take the true branch,
    // without and with `missing_value_tracks_true`, as observed in onnxruntime 1.31.1.
    let cases = [
        ("BRANCH_LEQ", [1, 1, 0, 0], [1, 1, 0, 1]),
        ("BRANCH_LT", [1, 0, 0, 0], [1, 0, 0, 1]),
        ("BRANCH_GTE", [0, 1, 1, 0], [0, 1, 1, 1]),
        ("BRANCH_GT", [0, 0, 1, 0], [0, 0, 1, 1]),
        ("BRANCH_EQ", [0, 1, 0, 0], [0, 1, 0, 1]),
        ("BRANCH_NEQ", [1, 0, 1, 1], [1, 0, 1, 1]),
    ];
    for (mode, plain, tracking) in cases {
        // A whole number makes the column categorical if the test is for equality.
        for threshold in [1.0f32, 1.5] {
            for (tracks, expected) in [(0, plain), (1, tracking)] {
                let sample = Sample::new()
                    .with("nodes_missing_value_tracks_true", &[tracks, 0, 0])
                    .with_floats("nodes_values", &[threshold, 0.0, 0.0])
                    .with_floats("class_weights", &[1.0, 0.0])
                    .with_modes(&[mode, "LEAF", "LEAF"]);
                let file = ModelFile::parse(&sample.file()).expect("a model");
                let threshold = f64::from(threshold);
                let rows = [threshold - 1.0, threshold, threshold + 1.0, f64::NAN].map(|value| [0.0, value]);
                let scores =
                    Predictor::new(file.ensemble()).raw_scores(rows.as_flattened()).expect("accepted");
                assert_eq!(scores, expected.map(f64::from), "{mode} {threshold}, tracks {tracks}");
            }
        }
    }
}

/// Trees with the ids 5 and 3.
fn two_stumps() -> Sample {
    Sample::new()
        .with("nodes_treeids", &[5, 5, 5, 3, 3, 3])
        .with("nodes_nodeids", &[0, 1, 2, 0, 1, 2])
        .with("nodes_featureids", &[0; 6])
        .with("nodes_truenodeids", &[1, 0, 0, 1, 0, 0])
        .with("nodes_falsenodeids", &[2, 0, 0, 2, 0, 0])
        .with("class_treeids", &[5, 5, 3, 3])
        .with("class_nodeids", &[1, 2, 1, 2])
        .with("class_ids", &[0; 4])
        .with_floats("nodes_values", &[0.5; 6])
        .with_floats("class_weights", &[1.0; 4])
        .with_modes(&["BRANCH_LEQ", "LEAF", "LEAF", "BRANCH_LT", "LEAF", "LEAF"])
}

/// Two tests for equality with one true branch.
fn chain(tracks: &[i64]) -> Sample {
    Sample::new()
        .with("nodes_treeids", &[0; 4])
        .with("nodes_nodeids", &[0, 1, 2, 3])
        .with("nodes_featureids", &[1, 1, 0, 0])
        .with("nodes_truenodeids", &[2, 2, 0, 0])
        .with("nodes_falsenodeids", &[1, 3, 0, 0])
        .with("class_nodeids", &[2, 3])
        .with("nodes_missing_value_tracks_true", tracks)
        .with_floats("nodes_values", &[3.0, 4.0, 0.0, 0.0])
        .with_modes(&["BRANCH_EQ", "BRANCH_EQ", "LEAF", "LEAF"])
}

#[test]
fn malformed_files_are_refused_at_their_place() {
    ModelFile::parse(&two_stumps().file()).expect("a model");
    ModelFile::parse(&chain(&[1, 1, 0, 0]).file()).expect("a model");
    let stump = Sample::new;
    let cases: Vec<(Sample, &str)> = vec![
        (
            stump().with("nodes_falsenodeids", &[9, 0, 0]),
            "tree 0, node 0: child 9 is not the id of a node of this tree",
        ),
        (stump().with("nodes_truenodeids", &[-1, 0, 0]), "tree 0, node 0: child -1 is not the id"),
        (stump().with("nodes_truenodeids", &[0, 0, 0]), "tree 0, node 0: child 0 is reached twice"),
        (stump().with("nodes_truenodeids", &[2, 0, 0]), "tree 0, node 0: child 2 is reached twice"),
        (
            stump().with("nodes_nodeids", &[0, 1, 1]),
            "tree 0, node 2: the key \"node id 1\" stands here twice",
        ),
        (stump().with("nodes_nodeids", &[0, 1]), "field nodes_nodeids: 2 values where 3 are needed"),
        (stump().with("nodes_featureids", &[1, 0, 0, 0]), "nodes_featureids: 4 values where 3 are needed"),
        (stump().with("class_treeids", &[0]), "field class_treeids: 1 values where 2 are needed"),
        (stump().with_floats("class_weights", &[1.0]), "field class_weights: 1 values where 2 are needed"),
        (stump().with_modes(&["BRANCH_LEQ", "LEAF"]), "field nodes_modes: 2 values where 3 are needed"),
        (stump().with("nodes_missing_value_tracks_true", &[1]), "tracks_true: 1 values where 3 are needed"),
        (stump().with_modes(&["BRANCH_XX", "LEAF", "LEAF"]), "nodes_modes[0]: BRANCH_XX is not a mode"),
        (stump().with("nodes_featureids", &[2, 0, 0]), "tree 0, node 0: feature 2 does not exist"),
        (stump().with("nodes_featureids", &[-2, 0, 0]), "tree 0, node 0: feature -2 is not the position"),
        (
            stump().with("class_ids", &[0, 2]),
            "field class_ids[1]: class 2 of 2 is not the position of a label",
        ),
        (stump().with("class_ids", &[0, -1]), "field class_ids[1]: -1 is not a number of the size"),
        (stump().with("class_nodeids", &[1, 7]), "class_nodeids[1]: node 7 of tree 0 is not a node"),
        (stump().with("class_nodeids", &[1, 1]), "tree 0, node 1: a leaf with two weights for one class"),
        (stump().with("classlabels_int64s", &[4]), "a list of 1 labels is not two labels or more"),
        (stump().with_floats("nodes_values", &[f32::NAN, 0.0, 0.0]), "tree 0, node 0: the threshold is NaN"),
        (stump().with_floats("class_weights", &[f32::NAN, 0.0]), "tree 0: leaf value NaN is not a finite"),
        (
            stump().with_floats("class_weights", &[f32::INFINITY, 0.0]),
            "tree 0: leaf value inf is not a finite",
        ),
        (stump().with_floats("base_values", &[f32::NAN]), "intercept 0 is NaN"),
        (stump().with("nodes_treeids", &[1 << 40, 0, 0]), "nodes_treeids[0]: 1099511627776 is not a number"),
        (two_stumps().with("nodes_treeids", &[5, 5, 3, 3, 3, 5]), "tree 2, node 0: tree id 5 in two places"),
        (
            two_stumps().with("nodes_truenodeids", &[1, 0, 0, 0, 0, 0]),
            "tree 1, node 0: child 0 is reached twice",
        ),
        (chain(&[1, 0, 0, 0]), "tree 0, node 1: a chain of equality tests that send missing values"),
        (chain(&[]).with("nodes_falsenodeids", &[1, 0, 0, 0]), "child 0 is reached twice"),
        (
            chain(&[]).with_floats("nodes_values", &[3.5, 4.0, 0.0, 0.0]),
            "tree 0, node 1: child 2 is reached twice",
        ),
        (stump().with("aggregate_function", &[1]), "field aggregate_function: the attribute"),
        (stump().with("base_values_as_tensor", &[1]), "field base_values_as_tensor: attribute type 7"),
        (
            Sample { opset: 5, ..stump() },
            "field opset_import: TreeEnsembleClassifier in operator set 5 of ai.onnx.ml",
        ),
        (Sample { operator: "LinearClassifier", ..stump() }, "node[0] (LinearClassifier): a class output"),
    ];
    for (sample, words) in cases {
        let message = ModelFile::parse(&sample.file()).expect_err(words).to_string();
        assert!(message.contains(words), "{message}\nis not\n{words}");
    }
}

#[test]
fn output_types_and_versions_that_onnxruntime_does_not_load_are_refused() {
    let typed = |output_types| Sample { output_types, ..Sample::new() }.file();
    // The type of the label may be left open.
    for types in [[7, 1], [0, 1]] {
        ModelFile::parse(&typed(types)).unwrap_or_else(|error| panic!("{types:?}: {error}"));
    }
    let cases = [
        (typed([7, 11]), "field graph.output \"S\": an output of type double that holds type float"),
        (typed([8, 1]), "field graph.output \"L\": an output of type string that holds type int64"),
        (typed([1, 1]), "field graph.output \"L\": an output of type float that holds type int64"),
        (Sample { ir_version: 14, ..Sample::new() }.file(), "field ir_version: version 14 of ONNX"),
    ];
    for (file, expected) in cases {
        let message = ModelFile::parse(&file).unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn a_file_cut_anywhere_is_refused() {
    let whole = Sample::new().file();
    for length in 0..whole.len() {
        ModelFile::parse(&whole[..length]).expect_err("cut");
    }
}

#[test]
fn a_file_with_any_byte_changed_is_read_or_refused_but_never_panics() {
    let whole = Sample { packed: true, ..Sample::new() }.file();
    for index in 0..whole.len() {
        for value in [0, 1, 0x7f, 0x80, 0xff] {
            let mut changed = whole.clone();
            changed[index] = value;
            if let Ok(file) = ModelFile::parse(&changed) {
                file.edit(&Edit::unchanged(file.ensemble())).expect("what was read can be written");
            }
        }
    }
}

#[test]
fn duplicates_are_refused() {
    let sample = Sample::new();
    let mut twice = sample.file();
    bytes(&mut twice, 7, &sample.graph());
    let message = ModelFile::parse(&twice).expect_err("two graphs").to_string();
    assert!(message.contains("the key \"graph\" stands here twice"), "{message}");
    let mut sample = Sample::new();
    sample.ints.push(("class_ids", vec![0, 0]));
    let message = ModelFile::parse(&sample.file()).expect_err("two lists").to_string();
    assert!(message.contains("the key \"class_ids\" stands here twice"), "{message}");
}

#[test]
fn fields_that_no_reader_knows_survive_an_edit() {
    let file = ModelFile::parse(&Sample::new().file()).expect("a model");
    let tree = TreeId(0);
    let trees = vec![TreeEdit::Scale { tree, factor: 0.5 }];
    let edited = file.edit(&Edit { trees, intercepts: Some(vec![0.125]) }).expect("an edit");
    assert!(edited.to_bytes().windows(4).any(|window| window == b"kept"));
    assert_eq!(edited.ensemble().intercepts(), [0.125]);
    assert_eq!(edited.ensemble().tree(tree).leaf_values(), [0.125, 0.375]);
}

/// Two tests for equality in a row, each with a leaf of its own: onnxruntime merges them if the
/// leaves' first weights are equal, and compares neither their classes nor the sides of missing
/// values.
#[test]
fn tests_that_onnxruntime_wrongly_makes_one_are_refused() {
    let two = |values: [f32; 2], classes: &[i64], weights: &[f32], tracks: &[i64]| {
        Sample::new()
            .with("nodes_treeids", &[0; 5])
            .with("nodes_nodeids", &[0, 1, 2, 3, 4])
            .with("nodes_featureids", &[1, 0, 1, 0, 0])
            .with("nodes_truenodeids", &[1, 0, 3, 0, 0])
            .with("nodes_falsenodeids", &[2, 0, 4, 0, 0])
            .with("nodes_missing_value_tracks_true", tracks)
            .with("class_treeids", &vec![0; classes.len()])
            .with("class_nodeids", if classes.len() == 3 { &[1, 3, 4] } else { &[1, 1, 3, 3, 4] })
            .with("class_ids", classes)
            .with("classlabels_int64s", &[0, 1, 2])
            .with_floats("base_values", &[0.0; 3])
            .with_floats("nodes_values", &[values[0], 0.0, values[1], 0.0, 0.0])
            .with_floats("class_weights", weights)
            .with_modes(&["BRANCH_EQ", "LEAF", "BRANCH_EQ", "LEAF", "LEAF"])
            .file()
    };
    let refused = |bytes: Vec<u8>| match ModelFile::parse(&bytes) {
        Ok(_) => false,
        Err(error) => {
            assert!(error.to_string().contains("onnxruntime makes one test of"), "{error}");
            true
        }
    };
    const EQUAL: [f32; 3] = [5.0, 5.0, 7.0];
    // Leaves of different classes are refused; but not with other weights, with numbers that
    // onnxruntime does not merge, or if missing values follow the first test.
    assert!(refused(two([1.0, 2.0], &[0, 1, 2], &EQUAL, &[0; 5])));
    assert!(refused(two([32.0, 1.0], &[0, 1, 2], &EQUAL, &[0; 5])));
    assert!(!refused(two([1.0, 2.0], &[0, 1, 2], &[5.0, 5.5, 7.0], &[0; 5])));
    assert!(!refused(two([0.0, 2.0], &[0, 1, 2], &EQUAL, &[0; 5])));
    assert!(!refused(two([1.0, 33.0], &[0, 1, 2], &EQUAL, &[0; 5])));
    assert!(!refused(two([1.5, 2.0], &[0, 1, 2], &EQUAL, &[0; 5])));
    assert!(!refused(two([1.0, 2.0], &[0, 1, 2], &EQUAL, &[1, 0, 0, 0, 0])));
    // One class, but missing values that only the second test sends to its true branch.
    assert!(!refused(two([1.0, 2.0], &[0, 0, 0], &EQUAL, &[0; 5])));
    assert!(refused(two([1.0, 2.0], &[0, 0, 0], &EQUAL, &[0, 0, 1, 0, 0])));
    // The first weights are equal but the second are not.
    assert!(refused(two([1.0, 2.0], &[0, 1, 0, 1, 2], &[5.0, 1.0, 5.0, 2.0, 7.0], &[0; 5])));
    assert!(!refused(two([1.0, 2.0], &[0, 1, 0, 1, 2], &[4.0, 1.0, 5.0, 1.0, 7.0], &[0; 5])));
}
