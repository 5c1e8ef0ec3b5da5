//! The inputs that a claim is about, for models of every pair of number types: every output states
//! them in the same words, and nobody who asks for every input gets a claim about f32 numbers.
//!
//! `doubles.txt` (LightGBM, `x <= 0.1`) and `floats.json` (XGBoost, `x < 0.10000000149`) decide
//! alike on every f32 and differently at the double 0.1: LightGBM returns class 0; XGBoost rounds
//! the number up to f32 and returns class 1.

use std::process::Command;

use secateur_testkit::{Limited, testdata};
use serde_json::Value;

use crate::support::Folder;

const EXPLAINED: &str = "scope    every input that both libraries accept, of f32 numbers where one of them reads f32 and \
                         the other f64";
const MIXED: &str =
    "every f32 number (no others: one library reads f64 and another f32, and would see different numbers)";

fn check(folder: &Folder, words: &str) -> (i32, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_secateur-check"));
    let output = command.args(words.split_whitespace()).current_dir(folder.path()).finished();
    (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap())
}

/// A folder with models of every kind: the name, whether it reads doubles, and its group.
fn models() -> (Folder, Vec<(&'static str, bool, &'static str)>) {
    let folder = Folder::new();
    let data = testdata("");
    for name in [
        "inputs/doubles.txt",
        "inputs/floats.json",
        "inputs/mixed.cert",
        "models/catboost/binary.cbm",
        "models/onnx/forest.onnx",
        "models/onnx/forest_double.onnx",
        "models/sklearn/histogram.skops",
        "models/sklearn/forest.skops",
    ] {
        folder.file(name.rsplit('/').next().unwrap(), std::fs::read(data.join(name)).unwrap());
    }
    folder.run("pack doubles.txt -o doubles.spk").ok();
    folder.run("pack floats.json -o floats.spk").ok();
    // Models of the same group have the same columns.
    let models = vec![
        ("doubles.txt", true, "hand"),
        ("floats.json", false, "hand"),
        ("doubles.spk", true, "hand"),
        ("floats.spk", false, "hand"),
        ("binary.cbm", false, "catboost"),
        ("forest.onnx", false, "onnx"),
        ("forest_double.onnx", true, "onnx"),
        ("histogram.skops", true, "histogram"),
        ("forest.skops", false, "forest"),
    ];
    (folder, models)
}

/// How outputs describe the inputs of a claim about a pair: in one word, in a few words, and at the
/// beginning of the sentence.
fn expected(doubles: [bool; 2]) -> [&'static str; 3] {
    match doubles {
        [false, false] => ["all", "every input", "every f32 number, "],
        [true, true] => ["all", "every input", "every f64 number, "],
        _ => ["f32", "every input of f32 numbers", MIXED],
    }
}

#[test]
fn every_output_says_which_inputs_are_meant_for_every_pair_of_number_types() {
    let (folder, models) = models();
    let mut mixed = 0;
    for (first, second) in models.iter().flat_map(|first| models.iter().map(move |second| (first, second))) {
        if first.2 != second.2 {
            continue;
        }
        let [scope, short, inputs] = expected([first.1, second.1]);
        mixed += usize::from(scope == "f32");
        // A claim about decisions (with a band so wide that they are alike), and a claim about
        // scores.
        for asked in ["--band 1e9", "--scores --within 1e9"] {
            let pair = format!("{} {}", first.0, second.0);
            let words = format!("verify {pair} {asked}");
            let text = folder.run(&words).ok().split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(text.contains(&format!("inputs {inputs}")), "{words}: {text}");
            assert_eq!(text.contains("claim for every input of f32 numbers, "), scope == "f32", "{text}");
            let json: Value =
                serde_json::from_str(folder.run(&format!("{words} --json --certificate c")).ok()).unwrap();
            assert_eq!((&json["scope"], &json["checked"]), (&scope.into(), &true.into()), "{words}");
            assert!(json["inputs"].as_str().unwrap().starts_with(inputs), "{words}: {json}");

            let (code, text) = check(&folder, &format!("{pair} c"));
            let same = |more: &str| text.contains(&format!(" on {short}{more}"));
            assert!(code == 0 && same(", "), "{words}: {text}");
            assert!(text.contains(&format!("\ninputs: {inputs}")), "{words}: {text}");
            let checked: Value =
                serde_json::from_str(&check(&folder, &format!("{pair} c --json")).1).unwrap();
            assert_eq!(checked["claim"]["scope"], scope, "{words}");
            assert_eq!(checked["claim"]["inputs"], json["inputs"], "{words}");
            let (code, text) = check(&folder, "--explain c");
            assert!(code == 0 && text.contains(EXPLAINED), "{words}: {text}");

            let (code, text) = check(&folder, &format!("{pair} c --every-input"));
            assert_eq!(code, i32::from(scope == "f32"), "{words}: {text}");
            assert_eq!(text.contains("claim.scope_asked"), scope == "f32", "{words}: {text}");
            let page = format!("{words} --report page.html");
            folder.run(&page).ok();
            assert_eq!(
                folder.read("page.html").contains("every input of f32 numbers"),
                scope == "f32",
                "{page}"
            );
        }
    }
    assert_eq!(mixed, 10);
}

/// A certificate of a version that did not state its inputs, byte for byte.
#[test]
fn a_claim_about_f32_numbers_is_none_about_every_input_nor_about_a_domain_of_doubles() {
    let (folder, _) = models();
    let (code, text) = check(&folder, "doubles.txt floats.json mixed.cert");
    assert!(code == 0 && text.contains("decide alike on every input of f32 numbers, "), "{text}");
    let (code, text) = check(&folder, "doubles.txt floats.json mixed.cert --every-input");
    assert!(code == 1 && text.contains("one library reads f64 and the other f32"), "{text}");
    assert!(text.contains("ask for a --domain that says f32 = true of every column"), "{text}");
    for (domain, expected) in [
        ("[columns.c0]\nmin = 0.0\nmax = 1.0\n", 1),
        ("[columns.c0]\nvalues = [0.1, 0.5]\n", 1),
        ("[columns.c0]\nvalues = [0.25, 0.5]\n", 0),
        ("[columns.c0]\nmin = 0.0\nmax = 1.0\nf32 = true\n", 0),
        ("missing = false\n", 1),
    ] {
        folder.file("domain.toml", domain);
        let (code, text) = check(&folder, "doubles.txt floats.json mixed.cert --domain domain.toml");
        assert_eq!(code, expected, "{domain}: {text}");
        assert_eq!(text.contains("the claim is about f32 numbers alone"), expected == 1, "{domain}: {text}");
    }
    // A claim about a domain also covers only the f32 numbers in it.
    folder.file("domain.toml", "[columns.c0]\nmin = 0.0\nmax = 1.0\n");
    let words = "verify doubles.txt floats.json --domain domain.toml --certificate d --json";
    let json: Value = serde_json::from_str(folder.run(words).ok()).unwrap();
    assert_eq!((&json["outcome"], &json["scope"]), (&"identical".into(), &"f32_domain".into()));
    let (code, text) = check(&folder, "doubles.txt floats.json d");
    assert!(code == 0 && text.contains(" on every input of f32 numbers of the domain, "), "{text}");
    assert_eq!(check(&folder, "doubles.txt floats.json d --domain domain.toml").0, 1);
}
