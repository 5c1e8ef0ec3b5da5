//! `secateur pack` and `secateur self-test`: the same bits, the certificate of both steps, and each
//! refusal.

use secateur_testkit::committed;

use crate::support::{FLOWERS, Folder, LABELS, THREE_CLASSES, UNNAMED};

const TABLE: &str = "length,width,colour\n1,0,red\n3,1,green\n3,2,blue\n,,\n3,nan,mauve\ninf,-INF,blue\n";

/// The checker's exit code for files of the folder.
fn check(folder: &Folder, names: &str) -> u8 {
    let files = names.split_whitespace().map(|name| folder.path().join(name).into_os_string());
    secateur_check::run(std::iter::once("secateur-check".into()).chain(files))
}

#[test]
fn a_packed_model_predicts_the_same_bits_and_is_certified() {
    let folder = Folder::new();
    folder.file("model.txt", FLOWERS);
    folder.file("table.csv", TABLE);
    let run = folder.run("pack model.txt -o model.spk --certificate model.cert");
    assert!(run.ok().contains("same bits on every input"), "{}", run.stdout);
    let scores = |model: &str| folder.run(&format!("predict {model} --data table.csv --raw")).ok().to_owned();
    assert_eq!(scores("model.spk"), scores("model.txt"));
    let classes = |model: &str| folder.run(&format!("predict {model} --data table.csv")).ok().to_owned();
    assert_eq!(classes("model.spk"), classes("model.txt"));
    assert_eq!(check(&folder, "model.txt model.spk model.cert"), 0);
    folder.run("self-test model.spk").ok();
    folder.run("verify model.txt model.spk").ok();
    assert!(folder.run("inspect model.spk").ok().contains("packed model"));
}

#[test]
fn scaled_models_and_those_of_several_labels_pack() {
    let folder = Folder::new();
    folder.file("table.csv", "a,b,c,d\n0.5,-1,0.25,1\n-2,,3,1e-3\n1e39,-inf,0,-0.0\n");
    let models = [
        ("scale_multiclass.cbm", "class,p_0,p_1,p_2\n"),
        ("several_labels.cbm", "value_0,value_1,value_2,p_0,p_1,p_2\n"),
        ("several_labels_threshold.json", "value_0,value_1,value_2,p_0,p_1,p_2\n"),
    ];
    for (name, header) in models {
        let model = committed(format!("models/catboost/{name}"));
        folder.file(name, &model);
        folder.run(&format!("pack {name} -o model.spk --certificate model.cert")).ok();
        for how in ["--raw", "", "--proba"] {
            let [ours, theirs] = ["model.spk", name]
                .map(|model| folder.run(&format!("predict {model} --data table.csv {how}")).ok().to_owned());
            assert_eq!(ours, theirs, "{name} {how}");
            assert!(how != "--proba" || ours.starts_with(header), "{name}: {ours}");
        }
        assert_eq!(check(&folder, &format!("{name} model.spk model.cert")), 0);
        folder.run("self-test model.spk").ok();
    }
    // For each label: it is given if its probability is above the threshold in the file.
    for (name, threshold) in [("several_labels.cbm", 0.5), ("several_labels_threshold.json", 0.3)] {
        let run = folder.run(&format!("predict {name} --data table.csv --proba"));
        for line in run.ok().lines().skip(1) {
            let numbers: Vec<f64> = line.split(',').map(|field| field.parse().unwrap()).collect();
            for label in 0..3 {
                assert_eq!(numbers[label] == 1.0, numbers[3 + label] > threshold, "{name}: {line}");
            }
        }
    }
}

#[test]
fn the_json_of_pack_and_self_test_has_its_keys() {
    let folder = Folder::new();
    folder.file("model.json", UNNAMED);
    let run = folder.run("pack model.json -o model.spk --json");
    let object: serde_json::Value = serde_json::from_str(run.ok()).unwrap();
    assert_eq!(object["outcome"], "same_bits");
    assert_eq!(object["bytes"]["before"], UNNAMED.len());
    assert_eq!(object["bytes"]["after"], std::fs::metadata(folder.path().join("model.spk")).unwrap().len());
    assert_eq!(
        (&object["within"], &object["certificate"]),
        (&serde_json::Value::Null, &serde_json::Value::Null)
    );
    assert!(object["cover"]["rows"].as_u64().unwrap() > 5, "{object}");
    let run = folder.run("self-test model.spk --json");
    let object: serde_json::Value = serde_json::from_str(run.ok()).unwrap();
    assert_eq!(object["passed"], true);
    assert!(object["paths"].as_array().unwrap().iter().any(|path| path["path"] == "scalar"), "{object}");
}

#[test]
fn one_certificate_covers_pruning_and_packing() {
    let folder = Folder::new();
    folder.run("demo --dir .").ok();
    let run = folder.run("pack loans.txt -o loans.spk --prune --certificate both.cert --json");
    let object: serde_json::Value = serde_json::from_str(run.ok()).unwrap();
    assert_eq!(object["outcome"], "same_decisions");
    assert!(object["trees"]["after"].as_u64() < object["trees"]["before"].as_u64(), "{object}");
    assert_eq!(check(&folder, "loans.txt loans.spk both.cert"), 0);
    // A packing of the original itself is another file, which this certificate does not cover.
    folder.run("pack loans.txt -o other.spk --certificate other.cert").ok();
    assert_eq!(check(&folder, "loans.txt other.spk both.cert"), 1);
    assert_eq!(check(&folder, "loans.txt loans.spk other.cert"), 1);
}

#[test]
fn what_cannot_be_packed_or_changed_is_refused() {
    let folder = Folder::new();
    folder.file("model.skops", LABELS);
    folder.file("other.txt", THREE_CLASSES);
    folder.run("pack model.skops -o model.spk --certificate model.cert").ok();
    folder.run("pack other.txt -o other.spk").ok();
    let refused = |words: &str, code: i32, text: &str| {
        let run = folder.run(words);
        assert_eq!(run.code, Some(code), "{words}: {}", run.stderr);
        assert!(run.stderr.contains(text), "{words}: {}", run.stderr);
    };
    refused("pack model.skops -o model.bin", 2, "ends with .spk");
    refused("prune model.spk -o smaller.spk", 2, "cannot be pruned");
    refused("self-test model.skops", 2, "not a packed model");
    assert_eq!(check(&folder, "model.skops other.spk model.cert"), 1);
    assert_eq!(check(&folder, "other.txt model.spk model.cert"), 1);
    // One byte of the file is changed, then one of the certificate.
    let mut bytes = std::fs::read(folder.path().join("model.spk")).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    folder.file("changed.spk", &bytes);
    refused("self-test changed.spk", 2, "checksum");
    refused("inspect changed.spk", 2, "checksum");
    let mut bytes = std::fs::read(folder.path().join("model.cert")).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    folder.file("changed.cert", &bytes);
    assert_eq!(check(&folder, "model.skops model.spk changed.cert"), 1);
}

#[test]
fn a_time_limit_ends_packing_and_testing_without_a_file() {
    let folder = Folder::new();
    folder.run("demo --dir .").ok();
    let run = folder.run("pack loans.txt -o loans.spk --certificate packed.cert --time-limit 0s");
    assert_eq!(run.code, Some(3), "{}", run.stderr);
    assert!(run.stderr.contains("the time limit was reached") && run.stdout.is_empty(), "{}", run.stderr);
    for name in ["loans.spk", "packed.cert"] {
        assert!(!folder.path().join(name).exists(), "{name} was written");
    }
    folder.run("pack loans.txt -o loans.spk --time-limit 1h").ok();
    let run = folder.run("self-test loans.spk --time-limit 0s");
    assert_eq!(run.code, Some(3), "{}", run.stderr);
    assert!(run.stderr.contains("the time limit was reached") && run.stdout.is_empty(), "{}", run.stderr);
    folder.run("self-test loans.spk --time-limit 1h").ok();
    // With --prune the search ends at the limit, and the model that it proved until then is packed.
    let run = folder.run("pack loans.txt -o pruned.spk --prune --time-limit 10s");
    assert!(run.stdout.contains("the same decisions on every input"), "{} {}", run.stdout, run.stderr);
}
