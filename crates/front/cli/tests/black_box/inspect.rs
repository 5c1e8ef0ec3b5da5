//! `secateur inspect`: its report, in words and as JSON.

use crate::support::{FLOWERS, Folder, THREE_CLASSES, UNNAMED};
use serde_json::{Value, json};

fn inspected(model: &str) -> Value {
    let folder = Folder::new();
    folder.file("model", model);
    serde_json::from_str(folder.run("inspect model --json").ok()).unwrap()
}

#[test]
fn the_report_says_what_the_file_is() {
    let folder = Folder::new();
    folder.file("flowers.txt", FLOWERS);
    let report = folder.run("inspect flowers.txt");
    let text = report.ok().split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [
        "flowers.txt format LightGBM",
        "trees 2",
        "leaves 5",
        "depth 2",
        "splits 3 distinct of 3",
        "classes 2: 0, 1 (the file has no labels)",
        "accepts f64 numbers, missing values, infinities",
        "numbers of magnitude up to 1.0000000180025095e-35 are read as zero",
        "an unseen category is in no set of a split",
        "scores 1 sum in f64, added in the order of the file, from zero",
        "decides class 1 if the score is above 1.6653345369377348e-16 (the probability rounds to more than \
         one half), else class 0",
        "of the threshold (probabilities from 0.4999",
        "), rounding may decide; nowhere else",
        "3 features, 3 used by splits",
        "0 length 1 split f64",
        "2 colour 1 split 3 categories: red, green, blue",
    ] {
        assert!(text.contains(words), "{words:?} is not in:\n{}", report.stdout);
    }
    assert_eq!(report.stderr, "");
}

#[test]
fn the_decision_of_an_xgboost_model_is_told_in_its_own_number_type() {
    let folder = Folder::new();
    folder.file("model.json", UNNAMED);
    let report = folder.run("inspect model.json");
    let text = report.ok().split_whitespace().collect::<Vec<_>>().join(" ");
    let rule = "class 1 if the score is above 8.940697e-8 (the probability rounds to more than one half), else \
                class 0";
    assert!(text.contains(rule), "{}", report.stdout);
    assert!(text.contains("numbers rounded to f32"), "{}", report.stdout);
    assert!(text.contains("2 features, 2 used by splits; the file has no names"), "{}", report.stdout);
}

/// The keys are a contract, because scripts rely on them. They are listed in the crate's docs.
#[test]
fn the_json_has_the_documented_keys() {
    let mut facts = inspected(FLOWERS);
    let bytes = FLOWERS.len();
    let notes = facts["notes"].take();
    assert!(notes.as_array().is_some_and(|notes| notes.iter().all(Value::is_string)));
    assert!(facts["dialect"].take().as_str().is_some_and(|dialect| dialect.contains("LightGBM")));
    let words = facts["decision"]["words"].take();
    assert!(words.as_str().is_some_and(|words| words.starts_with("class 1 if the score")));
    let band = facts["band"]["score"].take().as_f64().unwrap();
    assert!(band > 0.0 && band < 1e-12, "{band}");
    assert_eq!(facts["band"]["rounding"].take(), json!([band]));
    let [low, high] = [0, 1].map(|end| facts["band"]["probability"][end].take().as_f64().unwrap());
    assert!(low < 0.5 && 0.5 < high && high - low < 1e-12, "{low} {high}");
    // Cells: two of length, two of width, two of colour (in the set or not), and each column may be
    // missing: 3 * 3 * 3.
    let cells = facts["log10_cells"].take().as_f64().unwrap();
    assert!((cells - 27f64.log10()).abs() < 1e-9, "{cells}");
    let column = |index: usize, name: &str| json!({"index": index, "name": name, "type": "f64", "splits": 1, "categories": null, "labels": null});
    let expected = json!({
        "file": "model",
        "bytes": bytes,
        "framework": "lightgbm",
        "dialect": null,
        "trees": 2,
        "empty_trees": 0,
        "leaves": 5,
        "depth": 2,
        "splits": 3,
        "distinct_splits": 3,
        "features": {
            "count": 3,
            "named": true,
            "used": 3,
            "columns": [
                column(0, "length"),
                column(1, "width"),
                {"index": 2, "name": "colour", "type": "categorical", "splits": 1, "categories": 3,
                 "labels": ["red", "green", "blue"]},
            ],
        },
        "classes": {"count": 2, "named": false, "labels": ["0", "1"]},
        "input": {
            "number": "f64",
            "missing": true,
            "infinities": true,
            "zero_window": f64::from(1e-35f32),
            "zero_branch": false,
            "unseen_categories": "left_out",
        },
        "scores": {
            "count": 1,
            "number": "f64",
            "intercepts": [0.0],
            "intercept": "first",
            "order": "file",
            "average": null,
            "scale": null,
        },
        "decision": {
            "rule": "threshold",
            "score": 0,
            "threshold": 1.5 * f64::EPSILON / 2.0,
            "strict": true,
            "scale": 1.0,
            "words": null,
        },
        "band": {"score": null, "probability": [null, null], "rounding": null},
        "log10_cells": null,
        "domain": null,
        "notes": null,
    });
    assert_eq!(facts, expected);
}

#[test]
fn every_class_and_an_argmax_rule_are_told() {
    let facts = inspected(THREE_CLASSES);
    assert_eq!(facts["classes"]["labels"], json!(["0", "1", "2"]));
    assert_eq!(facts["decision"]["rule"], "argmax_softmax");
    assert_eq!(facts["decision"]["threshold"], Value::Null);
    assert_eq!(facts["band"]["probability"], Value::Null);
    assert_eq!(facts["scores"]["count"], 3);
    // Without labels, the file only has the codes that its splits name.
    assert_eq!(facts["features"]["columns"][1]["type"], "categorical");
    assert_eq!(facts["features"]["columns"][1]["labels"], Value::Null);
}

#[test]
fn long_feature_lists_are_shortened_unless_verbose() {
    let names: Vec<String> = (0..50).map(|index| format!("column{index}")).collect();
    let infos = vec!["[0:1]"; 50].join(" ");
    let model = FLOWERS
        .replace("length width colour", &format!("length width colour {}", names[3..].join(" ")))
        .replace("max_feature_idx=2", "max_feature_idx=49")
        .replace(
            "feature_infos=[0:10] [0:10] 0:1:2",
            &format!("feature_infos=[0:10] [0:10] 0:1:2 {}", &infos[18..]),
        );
    let folder = Folder::new();
    folder.file("model.txt", model);
    let short = folder.run("inspect model.txt");
    assert!(short.ok().contains("... 30 more; -v lists them all"), "{}", short.stdout);
    assert!(!short.stdout.contains("column49"));
    let long = folder.run("inspect -v model.txt");
    assert!(long.ok().contains("column49") && !long.stdout.contains("more;"), "{}", long.stdout);
}

#[test]
fn names_cannot_send_codes_to_the_terminal() {
    let folder = Folder::new();
    folder.file("model.txt", FLOWERS.replace("\"green\"", "\"gre\\u001b[31men\""));
    let report = folder.run("inspect model.txt");
    assert!(!report.ok().contains('\u{1b}'), "{:?}", report.stdout);
}
