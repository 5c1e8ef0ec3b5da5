//! Tests of manipulated archives: each is refused with the place, and none does harm.

use std::collections::BTreeMap;

use secateur_model::TreeId;
use serde_json::{Value, json};

use super::archive::{self, Archive, Source};
use super::parts::{HistogramNode, PlainNode, TreeArrays};
use super::schema::{SCHEMA, Schema};
use super::{File, npy};
use crate::Document;

fn fixture(name: &str) -> Vec<u8> {
    secateur_testkit::committed(format!("models/sklearn/{name}.skops"))
}

/// An archive taken apart.
struct Opened {
    schema: Value,
    members: BTreeMap<String, Vec<u8>>,
}

impl Opened {
    fn new(bytes: &[u8]) -> Self {
        let archive = Archive::parse(bytes).unwrap();
        let names = archive.members().iter().map(|member| member.name().to_owned());
        let mut members: BTreeMap<_, _> =
            names.map(|name| (name.clone(), archive.read(&name).unwrap().into_owned())).collect();
        let schema = Schema::parse(members.remove(SCHEMA).unwrap().into(), 0, &|_, _| false).unwrap();
        let schema = serde_json::to_value(schema.element()).unwrap();
        Self { schema, members }
    }

    fn close(mut self, original: &[u8]) -> Vec<u8> {
        if !self.schema.is_null() {
            self.members.insert(SCHEMA.to_owned(), serde_json::to_vec(&self.schema).unwrap());
        }
        let archive = Archive::parse(original).unwrap();
        let like = &archive.members()[0];
        let new = |(name, content)| Source::New { like, name, content };
        archive::write(&archive, self.members.into_iter().map(new).collect()).unwrap()
    }

    /// The attributes of the model.
    fn fields(&mut self) -> &mut Value {
        &mut self.schema["content"]["content"]
    }

    /// The estimator of the first tree.
    fn first(&mut self) -> &mut Value {
        if self.fields().get("tree_").is_some() {
            return &mut self.schema;
        }
        let fields = self.fields();
        let list = if fields.get("_predictors").is_some() { "_predictors" } else { "estimators_" };
        let first = &mut fields[list]["content"][0];
        if first["__class__"] == "list" { &mut first["content"][0] } else { first }
    }

    /// The node with the arrays of the first tree.
    fn arrays(&mut self) -> &mut Value {
        let fields = &mut self.first()["content"]["content"];
        if fields.get("tree_").is_some() { &mut fields["tree_"]["content"]["content"] } else { fields }
    }

    fn member(&mut self, name: &str) -> &mut Vec<u8> {
        let file = self.arrays()[name]["file"].as_str().unwrap().to_owned();
        self.members.get_mut(&file).unwrap()
    }

    fn field_member(&mut self, name: &str) -> &mut Vec<u8> {
        let file = self.fields()[name]["file"].as_str().unwrap().to_owned();
        self.members.get_mut(&file).unwrap()
    }

    fn nodes(&mut self, change: impl FnOnce(&mut Vec<PlainNode>, &mut Vec<f64>)) {
        let (nodes, values) = (self.member("nodes").clone(), self.member("values").clone());
        let mut arrays = TreeArrays::plain_from_npy(TreeId(0), &nodes, &values).unwrap();
        if let TreeArrays::Plain { nodes, values, .. } = &mut arrays {
            change(nodes, values);
        }
        let npy = arrays.to_npy();
        *self.member("nodes") = npy[0].clone();
        *self.member("values") = npy[1].clone();
    }

    fn histogram_nodes(&mut self, change: impl FnOnce(&mut Vec<HistogramNode>)) {
        let read = |opened: &mut Self, name: &str| opened.member(name).clone();
        let nodes = read(self, "nodes");
        let (left, binned) = (read(self, "raw_left_cat_bitsets"), read(self, "binned_left_cat_bitsets"));
        let mut arrays = TreeArrays::histogram_from_npy(TreeId(0), &nodes, &left, &binned).unwrap();
        if let TreeArrays::Histogram { nodes, .. } = &mut arrays {
            change(nodes);
        }
        *self.member("nodes") = arrays.to_npy().swap_remove(0);
    }
}

/// A change to an archive, and the words that the refusal must contain: the place and the reason.
type Hazard = (&'static str, fn(&mut Opened), &'static [&'static str]);

fn set(node: &mut Value, content: &str) {
    node["content"] = content.into();
    node["__id__"] = 1.into();
}

const HAZARDS: &[Hazard] = &[
    ("tree", |o| o.nodes(|n, _| n[0].left_child = 999), &["tree 0, node 0", "child 999 does not exist"]),
    (
        "tree",
        |o| o.nodes(|n, _| n[0].right_child = -7),
        &["tree 0, node 0", "-7 is not the number of a child"],
    ),
    ("tree", |o| o.nodes(|n, _| n[0].left_child = 1 << 40), &["tree 0, node 0", "the number of a child"]),
    ("tree", |o| o.nodes(|n, _| n[0].left_child = 0), &["tree 0, node 0", "child 0 is reached twice"]),
    ("tree", |o| o.nodes(|n, _| n[0].left_child = n[0].right_child), &["tree 0, node 0", "reached twice"]),
    ("tree", |o| o.nodes(|n, _| n[0].left_child = -1), &["tree 0, node 1", "no path from the root"]),
    ("tree", |o| o.nodes(|n, _| n[0].feature = 99), &["tree 0, node 0", "feature 99 does not exist"]),
    ("tree", |o| o.nodes(|n, _| n[0].feature = -2), &["tree 0, node 0", "the number of a feature"]),
    ("tree", |o| o.nodes(|n, _| n[0].threshold = f64::NAN), &["tree 0, node 0", "threshold is NaN"]),
    ("tree", |o| o.nodes(|_, v| v.fill(f64::INFINITY)), &["tree 0", "leaf value inf"]),
    ("adaboost", |o| o.nodes(|_, v| v.fill(f64::NAN)), &["tree 0", "leaf value NaN"]),
    (
        "tree",
        |o| set(&mut o.arrays()["node_count"], "99"),
        &["tree 0, field node_count", "where 99 are needed"],
    ),
    (
        "tree",
        |o| *o.member("values") = npy::write_doubles(&[1, 1, 2], &[0.0; 2]),
        &[".npy", "shape [1, 1, 2]"],
    ),
    ("tree", |o| *o.member("nodes") = npy::write_doubles(&[2], &[0.0; 2]), &[".npy", "type <f8"]),
    ("tree", |o| *o.member("nodes") = npy::write("'<f4'", &[2], &[0; 8]), &[".npy", "type <f4"]),
    ("tree", |o| o.member("nodes").truncate(600), &[".npy", "values where"]),
    ("tree", |o| o.member("nodes").truncate(5), &[".npy", ".npy format"]),
    (
        "tree",
        |o| {
            o.members.clear();
        },
        &["archive member", ".npy", "missing"],
    ),
    ("tree", |o| o.schema = Value::Null, &["archive member schema.json", "missing"]),
    ("tree", |o| o.schema = json!([1]), &["a list is not a node"]),
    (
        "tree",
        |o| {
            o.fields().as_object_mut().unwrap().remove("tree_");
        },
        &["field tree_", "missing"],
    ),
    (
        "tree",
        |o| o.first()["content"]["content"]["tree_"]["__module__"] = "os".into(),
        &["field tree_", "os.Tree"],
    ),
    ("tree", |o| o.schema["__class__"] = "DecisionTreeRegressor".into(), &["30 values where 15 are needed"]),
    (
        "tree",
        |o| o.arrays()["nodes"]["__loader__"] = "CachedNode".into(),
        &["field tree_.nodes", "CachedNode"],
    ),
    ("tree", |o| o.arrays()["nodes"]["file"] = "../../etc/passwd".into(), &["etc/passwd", "missing"]),
    ("tree", |o| set(&mut o.fields()["_sklearn_version"], "\"1.2.2\""), &["_sklearn_version", "1.2.2"]),
    ("tree", |o| set(&mut o.fields()["n_features_in_"], "99999999999"), &["n_features_in_", "2^24"]),
    ("tree", |o| set(&mut o.fields()["n_features_in_"], "1"), &["does not exist (the model has 1)"]),
    ("tree", |o| set(&mut o.fields()["n_features_in_"], "[1]"), &["n_features_in_", "scalar"]),
    (
        "tree",
        |o| *o.field_member("classes_") = npy::write_doubles(&[3], &[0.0; 3]),
        &["tree 0, field values"],
    ),
    ("forest", |o| o.fields()["estimators_"]["content"] = json!([]), &["field estimators_", "empty list"]),
    ("forest", |o| o.first()["__class__"] = "DecisionTreeRegressor".into(), &["estimators_[0]", "Regressor"]),
    (
        "forest",
        |o| {
            let n = o.fields()["n_estimators"].clone();
            o.first()["__id__"] = n["__id__"].clone();
        },
        &["estimators_[0]", "skops would take for it"],
    ),
    (
        "adaboost",
        |o| *o.field_member("estimator_weights_") = npy::write_doubles(&[1], &[1.0]),
        &["field estimator_weights_", "1 values where 6 are needed"],
    ),
    (
        "adaboost",
        |o| *o.field_member("estimator_weights_") = npy::write_doubles(&[6], &[0.0; 6]),
        &["field estimator_weights_", "divided by its sum"],
    ),
    (
        "adaboost",
        |o| *o.field_member("estimator_weights_") = npy::write_doubles(&[6], &[f64::NAN; 6]),
        &["field estimator_weights_", "divided by its sum"],
    ),
    ("boosting", |o| set(&mut o.fields()["learning_rate"], "NaN"), &["field learning_rate", "finite number"]),
    (
        "boosting",
        |o| set(&mut o.fields()["init_"]["content"]["content"]["_strategy"], "\"uniform\""),
        &["field init_", "uniform", "not supported"],
    ),
    ("boosting", |o| o.fields()["_loss"]["__class__"] = "HuberLoss".into(), &["field _loss", "HuberLoss"]),
    (
        "boosting",
        |o| set(&mut o.fields()["estimators_"]["shape"]["content"][0], "4"),
        &["field estimators_", "3 values where 4 are needed"],
    ),
    (
        "boosting_three",
        |o| {
            o.fields()["estimators_"]["content"][1]["content"].as_array_mut().unwrap().pop();
        },
        &["field estimators_[1]", "2 values where 3 are needed"],
    ),
    ("histogram", |o| o.histogram_nodes(|n| n[0].feature_idx = 77), &["tree 0, node 0", "77"]),
    ("histogram", |o| o.histogram_nodes(|n| n[0].feature_idx = -1), &["tree 0, node 0", "-1"]),
    ("histogram", |o| o.histogram_nodes(|n| n[0].left = 5000), &["tree 0, node 0", "child 5000"]),
    ("histogram", |o| o.histogram_nodes(|n| n[0].left = 0), &["tree 0, node 0", "reached twice"]),
    ("histogram", |o| o.histogram_nodes(|n| n[0].num_threshold = f64::NAN), &["tree 0, node 0", "NaN"]),
    (
        "histogram",
        |o| o.histogram_nodes(|n| n[0].is_categorical = 1),
        &["tree 0, node 0", "numeric elsewhere"],
    ),
    ("histogram", |o| o.histogram_nodes(Vec::clear), &["tree 0", "no nodes"]),
    (
        "histogram",
        |o| o.histogram_nodes(|n| n.iter_mut().for_each(|n| n.value = f64::NAN)),
        &["tree 0", "NaN"],
    ),
    (
        "histogram",
        |o| *o.field_member("_baseline_prediction") = npy::write_doubles(&[1, 2], &[0.0; 2]),
        &["field _baseline_prediction", "2 values where 1 are needed"],
    ),
    (
        "histogram_categories",
        |o| {
            o.histogram_nodes(|n| {
                n.iter_mut().for_each(|n| {
                    if n.is_leaf == 0 {
                        (n.is_categorical, n.feature_idx, n.bitset_idx) = (1, 0, 70_000)
                    }
                })
            })
        },
        &["tree 0, node 0", "70000", "set of categories"],
    ),
    (
        "histogram_categories",
        |o| {
            let fields = &mut o.fields()["_preprocessor"]["content"]["content"];
            set(&mut fields["_transformer_to_input_indices"]["content"]["encoder"]["content"][0], "0");
        },
        &["field _preprocessor", "order of the input columns"],
    ),
    (
        "histogram_categories",
        |o| {
            let encoder =
                &mut o.fields()["_preprocessor"]["content"]["content"]["transformers_"]["content"][0];
            let lists = &mut encoder["content"][1]["content"]["content"]["categories_"]["content"];
            let file = lists[1]["file"].as_str().unwrap().to_owned();
            o.members.insert(file, npy::write_doubles(&[3], &[7.0, 0.1, -2.5]));
        },
        &["field _preprocessor", "ascending numbers"],
    ),
];

#[test]
fn every_hazard_is_refused_with_its_place() {
    for (number, (name, change, words)) in HAZARDS.iter().enumerate() {
        let original = fixture(name);
        let mut opened = Opened::new(&original);
        change(&mut opened);
        let message = match File::parse(&opened.close(&original)) {
            Ok(_) => panic!("hazard {number} ({words:?}) was read"),
            Err(error) => error.to_string(),
        };
        for word in *words {
            assert!(message.contains(word), "hazard {number}: {word:?} is not in {message:?}");
        }
    }
}

#[test]
fn an_archive_that_is_only_repacked_is_read() {
    for name in
        ["tree", "forest", "adaboost", "boosting", "boosting_three", "histogram", "histogram_categories"]
    {
        let original = fixture(name);
        let again = File::parse(&Opened::new(&original).close(&original)).unwrap();
        assert_eq!(again.ensemble(), File::parse(&original).unwrap().ensemble(), "{name}");
    }
}

/// The position of a member's entry in the directory.
fn directory_entry(bytes: &[u8], name: &str) -> usize {
    let at = bytes.windows(name.len()).rposition(|window| window == name.as_bytes()).unwrap();
    at - 46
}

#[test]
fn broken_archives_are_refused() {
    let good = fixture("tree");
    let entry = directory_entry(&good, SCHEMA);
    let patch = |at: usize, with: &[u8]| {
        let mut bytes = good.clone();
        bytes[at..at + with.len()].copy_from_slice(with);
        bytes
    };
    let mut twice = Opened::new(&good);
    twice.members.insert("schema.jsom".to_owned(), Vec::new());
    let mut twice = twice.close(&good);
    let renamed = twice.windows(11).rposition(|window| window == b"schema.jsom").unwrap();
    twice[renamed + 10] = b'n';
    let renamed = twice.windows(11).position(|window| window == b"schema.jsom").unwrap();
    twice[renamed + 10] = b'n';
    let cases: [(Vec<u8>, &[&str]); 9] = [
        (patch(entry + 8, &[1]), &["schema.json", "encrypted"]),
        (patch(entry + 10, &[14]), &["schema.json", "compression method 14"]),
        (patch(entry + 16, &[0; 4]), &["schema.json", "checksum"]),
        (patch(entry + 20, &[0xff; 4]), &["schema.json", "4 GiB"]),
        (patch(entry + 20, &[0xfe, 0xff, 0xff, 0x7f]), &["schema.json", "the file ends here"]),
        (patch(entry + 24, &[0xfe, 0xff, 0xff, 0x7f]), &["schema.json", "unpacked bytes are declared"]),
        (patch(entry + 24, &[9, 0, 0, 0]), &["schema.json", "where 9 are needed"]),
        (patch(entry + 42, &[3, 0, 0, 0]), &["byte 3", "zip record"]),
        (twice, &["byte", "\"schema.json\" stands here twice"]),
    ];
    for (bytes, words) in &cases {
        let message = File::parse(bytes).unwrap_err().to_string();
        for word in *words {
            assert!(message.contains(word), "{word:?} is not in {message:?}");
        }
    }
}

#[test]
fn a_member_that_unpacks_to_more_than_it_says_is_refused() {
    let good = fixture("forest");
    let bomb = miniz_oxide::deflate::compress_to_vec(&vec![0; 1 << 24], 9);
    let mut opened = Opened::new(&good);
    opened.members.insert("bomb.npy".to_owned(), bomb);
    let mut bytes = opened.close(&good);
    let entry = directory_entry(&bytes, "bomb.npy");
    bytes[entry + 10] = 8;
    let archive = Archive::parse(&bytes).unwrap();
    assert!(archive.read("bomb.npy").unwrap_err().to_string().contains("deflated data"));
    bytes[entry + 24..entry + 28].copy_from_slice(&(1u32 << 24).to_le_bytes());
    let message = Archive::parse(&bytes).unwrap_err().to_string();
    assert!(message.contains("unpacked bytes are declared"), "{message}");
}

#[test]
fn a_truncated_archive_is_refused_at_every_length() {
    let good = fixture("tree");
    for length in (0..good.len()).step_by(7) {
        assert!(File::parse(&good[..length]).is_err(), "{length} bytes were read");
    }
}

#[test]
fn no_changed_byte_does_harm() {
    // Most changes are caught by a checksum; those in the directory, and in data whose checksum is
    // right, must not panic.
    for name in ["tree", "histogram_categories"] {
        let good = fixture(name);
        let directory = good.len().saturating_sub(500)..good.len();
        for at in (0..good.len()).step_by(211).chain(directory) {
            for flip in [0x01, 0xff] {
                let mut bytes = good.clone();
                bytes[at] ^= flip;
                let _ = File::parse(&bytes);
            }
        }
    }
    // With right checksums: every byte of the arrays' headers and first records.
    let good = fixture("tree");
    let names: Vec<String> = Opened::new(&good).members.keys().cloned().collect();
    for name in names {
        for at in (0..Opened::new(&good).members[&name].len().min(400)).step_by(11) {
            let mut opened = Opened::new(&good);
            if let Some(content) = opened.members.get_mut(&name) {
                content[at] ^= 0x81;
            }
            let _ = File::parse(&opened.close(&good));
        }
    }
}
