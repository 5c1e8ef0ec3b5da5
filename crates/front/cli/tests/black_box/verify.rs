//! `secateur verify`: proofs, counterexamples and refusals.

use serde_json::Value;

use crate::support::{FLOWERS, Folder, LABELS, THREE_CLASSES, UNNAMED};

/// The flowers model with one leaf changed.
fn changed() -> String {
    let text = FLOWERS.replace("leaf_value=-0.5 0.25 0.7", "leaf_value=-0.5 0.25 -0.7");
    assert_ne!(text, FLOWERS);
    text
}

#[test]
fn a_model_is_proved_to_decide_as_itself() {
    let folder = Folder::new();
    folder.file("a.txt", FLOWERS);
    let run = folder.run("verify a.txt a.txt");
    assert!(run.ok().starts_with("identical: proved\n"), "{}", run.stdout);
    let json: Value = serde_json::from_str(folder.run("verify a.txt a.txt --json").ok()).unwrap();
    assert_eq!(json["outcome"], "identical");
    assert_eq!(json["nodes"], 0);
    assert_eq!(json["counterexample"], Value::Null);
    assert!(json["band"]["score"].as_f64().unwrap() > 0.0);
    assert_eq!(json["band"]["probability"].as_array().unwrap().len(), 2);
}

#[test]
fn a_proof_is_written_down_and_a_refutation_is_not() {
    let folder = Folder::new();
    folder.file("a.txt", FLOWERS);
    folder.file("b.txt", changed());
    let run = folder.run("verify a.txt a.txt --certificate proof --json");
    let json: Value = serde_json::from_str(run.ok()).unwrap();
    assert_eq!(json["certificate"], "proof");
    let bytes = std::fs::read(folder.path().join("proof")).unwrap();
    let model = secateur::ModelFile::parse(FLOWERS.as_bytes()).unwrap();
    let limits = secateur_checker::Limits::default();
    let verdict = secateur_checker::check(model.ensemble(), model.ensemble(), &bytes[..], &limits).unwrap();
    assert!(matches!(verdict, secateur_checker::Verdict::Valid(_)), "{verdict:?}");
    let words = folder.run("verify a.txt a.txt --certificate proof");
    assert!(words.ok().contains("certificate"), "{}", words.stdout);
    let run = folder.run("verify a.txt b.txt --certificate other --json");
    assert_eq!(run.code, Some(1));
    let json: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(json["certificate"], Value::Null);
    assert!(!folder.path().join("other").exists(), "a certificate of what is not so");
    let run = folder.run("verify a.txt a.txt --certificate a.txt");
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.contains("write to another name"), "{}", run.stderr);
}

#[test]
fn a_changed_leaf_is_shown_by_an_input_that_predict_confirms() {
    let folder = Folder::new();
    folder.file("a.txt", FLOWERS);
    folder.file("b.txt", changed());
    for band in ["auto", "0"] {
        let run = folder.run(&format!("verify a.txt b.txt --json --band {band}"));
        assert_eq!(run.code, Some(1), "{}", run.stderr);
        let json: Value = serde_json::from_str(&run.stdout).unwrap();
        assert_eq!(json["outcome"], "different");
        let example = &json["counterexample"];
        assert_ne!(example["classes"][0], example["classes"][1]);
        let names = ["length", "width", "colour"];
        let fields =
            names.map(|name| example["input"][name].as_f64().map_or(String::new(), |v| v.to_string()));
        folder.file("row.csv", format!("{}\n{}\n", names.join(","), fields.join(",")));
        for (model, index) in [("a.txt", 0), ("b.txt", 1)] {
            let raw = folder.run(&format!("predict {model} --data row.csv --raw"));
            let score: f64 = raw.ok().lines().nth(1).unwrap().parse().unwrap();
            assert_eq!(Some(score), example["scores"][index][0].as_f64());
            let class = folder.run(&format!("predict {model} --data row.csv"));
            assert_eq!(class.ok().lines().nth(1).unwrap(), example["classes"][index].to_string());
        }
    }
    let words = folder.run("verify a.txt b.txt");
    assert_eq!(words.code, Some(1));
    for part in ["different\n", "first says", "second says", "width", "colour"] {
        assert!(words.stdout.contains(part), "{}", words.stdout);
    }
}

#[test]
fn a_counterexample_comes_near_to_the_data() {
    let folder = Folder::new();
    folder.file("a.txt", FLOWERS);
    folder.file("b.txt", changed());
    // The models already differ on the second row.
    folder.file("rows.csv", "length,width,colour\n1,1,1\n7.25,3.5,1\n");
    let run = folder.run("verify a.txt b.txt --data rows.csv --json");
    let json: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(json["counterexample"]["nearest_row"]["row"], 2);
    assert_eq!(json["counterexample"]["nearest_row"]["index"], 1);
    assert_eq!(json["counterexample"]["nearest_row"]["columns_changed"], 0);
    assert_eq!(json["counterexample"]["input"]["length"], 7.25);
    let words = folder.run("verify a.txt b.txt --data rows.csv");
    assert!(words.stdout.contains("row 2 of the table as it is"), "{}", words.stdout);
}

#[test]
fn columns_are_matched_by_name() {
    let folder = Folder::new();
    folder.file("a.txt", FLOWERS);
    let swapped = FLOWERS
        .replace("feature_names=length width colour", "feature_names=width length colour")
        .replace("split_feature=0 1", "split_feature=1 0");
    folder.file("b.txt", swapped);
    let run = folder.run("verify a.txt b.txt");
    assert!(run.ok().contains("by name"), "{}", run.stdout);
}

#[test]
fn models_that_cannot_be_compared_are_refused() {
    let folder = Folder::new();
    folder.file("flowers.txt", FLOWERS);
    folder.file("three.txt", THREE_CLASSES);
    folder.file("unnamed.json", UNNAMED);
    folder.file("labels.skops", LABELS);
    let refused = |words: &str, part: &str| {
        let run = folder.run(words);
        assert!(run.refused().contains(part), "{words}: {}", run.stderr);
    };
    refused("verify flowers.txt three.txt", "classes");
    refused("verify flowers.txt unnamed.json", "features");
    refused("verify flowers.txt labels.skops", "features");
    refused("verify flowers.txt nothing.txt", "no such file");
    refused("verify flowers.txt flowers.txt --band -1", "band");
    refused("verify flowers.txt flowers.txt --band 1e-300", "band");
    refused("verify flowers.txt flowers.txt --time-limit soon", "30s");
    refused("verify flowers.txt flowers.txt --target x", "--data");
}

#[test]
fn what_is_undecided_is_proved_above_a_lead() {
    let folder = Folder::new();
    let near = FLOWERS.replace("leaf_value=-0.5 0.25 0.7", "leaf_value=-0.5 0.25 0.700001");
    assert_ne!(near, FLOWERS);
    folder.file("a.txt", FLOWERS);
    folder.file("b.txt", near);
    let run = folder.run("verify a.txt b.txt --json --time-limit 0s");
    assert_eq!(run.code, Some(3), "{}", run.stdout);
    let json: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(json["outcome"], "undecided");
    let above = json["proved_above"].as_f64().unwrap();
    assert!((5e-7..1.1e-6).contains(&above), "{above}");
    let words = folder.run("verify a.txt b.txt --time-limit 0s");
    assert!(words.stdout.contains("they decide alike wherever the first"), "{}", words.stdout);
    // For that band the claim is proved at once.
    let json: Value =
        serde_json::from_str(folder.run(&format!("verify a.txt b.txt --json --band {above}")).ok()).unwrap();
    assert_eq!((&json["outcome"], &json["proved_above"]), (&Value::from("identical"), &Value::Null));
}

#[test]
fn a_value_between_two_forms_of_a_threshold_is_told() {
    let folder = Folder::new();
    folder.file("model.txt", FLOWERS);
    folder.file("rounded.txt", FLOWERS.replace("threshold=2.5 1", "threshold=2.4999998 1"));
    let run = folder.run("verify model.txt rounded.txt");
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    let why = "a threshold of length is 2.5 in the first model and 2.4999998 in the second";
    assert!(run.stdout.replace("\n                  ", " ").contains(why), "{}", run.stdout);
}
