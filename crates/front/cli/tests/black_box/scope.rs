//! `--no-missing`: what is claimed, and that every output says so.

use secateur::ModelFile;
use secateur_checker::{Limits, Verdict, check};
use secateur_model::Domain;
use serde_json::Value;

use crate::prune::stumps;
use crate::support::{Folder, LABELS};

/// Two stumps on `a` and two on `b`; of each pair, one sends missing values to the other side. `a`
/// decides, and `b` does only if `a` is missing.
fn model() -> String {
    let text =
        stumps(&[(0, 2.0, -1.0, 1.0), (0, 2.0, -1.0, 1.0), (1, 5.0, -0.25, 0.25), (1, 5.0, -0.25, 0.25)]);
    let (mut parts, mut left) = (text.split("decision_type=2"), false);
    let first = parts.next().unwrap().to_owned();
    parts.fold(first, |text, part| {
        left = !left;
        format!("{text}decision_type={}{part}", if left { 10 } else { 8 })
    })
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn more_goes_where_no_value_is_missing_and_every_output_says_so() {
    let folder = Folder::new();
    folder.file("model.txt", model());
    let whole = json(folder.run("prune model.txt -o whole.txt --json").ok());
    assert_eq!(
        (&whole["scope"], &whole["trees"]["after"]),
        (&Value::from("all"), &Value::from(3)),
        "{whole}"
    );
    let options = "--no-missing --certificate proof --report page.html";
    let narrow = json(folder.run(&format!("prune model.txt -o pruned.txt --json {options}")).ok());
    assert_eq!((&narrow["scope"], &narrow["minimal"]), (&Value::from("no_missing"), &Value::from(true)));
    assert_eq!(narrow["trees"]["after"], 1);
    let words = folder.run("prune model.txt -o pruned.txt --no-missing");
    for part in [
        "proved: 4 -> 1 tree, every decision but exact ties unchanged for every input without missing values; scores and probabilities change\n",
        "claim           for every input without missing values, the library decides the same",
        "infinities, in every column; no missing values\n",
        "secateur verify model.txt pruned.txt --no-missing\n",
    ] {
        assert!(words.ok().contains(part), "{part:?} is not in\n{}", words.stdout);
    }
    let page = folder.read("page.html");
    assert!(page.contains("On every input without missing values ("), "the page claims more than was proved");
    assert!(page.contains("Not claimed"));
    let [original, pruned] =
        ["model.txt", "pruned.txt"].map(|name| ModelFile::read(&folder.path().join(name)).unwrap());
    let proof = std::fs::read(folder.path().join("proof")).unwrap();
    let verdict = check(original.ensemble(), pruned.ensemble(), &proof[..], &Limits::default()).unwrap();
    let Verdict::Valid(proved) = verdict else { panic!("{verdict:?}") };
    assert_eq!(proved.claim.domain, Domain::no_missing());

    // The same pair is different if missing values count, and the counterexample has one.
    let run = folder.run("verify model.txt pruned.txt --json");
    assert_eq!(run.code, Some(1));
    let different = json(&run.stdout);
    assert_eq!(
        (&different["scope"], &different["outcome"]),
        (&Value::from("all"), &Value::from("different"))
    );
    assert_eq!(different["counterexample"]["input"]["a"], Value::Null);
    let same = json(folder.run("verify model.txt pruned.txt --json --no-missing --certificate again").ok());
    assert_eq!((&same["scope"], &same["outcome"]), (&Value::from("no_missing"), &Value::from("identical")));
    assert!(same["inputs"].as_str().unwrap().ends_with("; no missing values"), "{same}");
    let words = folder.run("verify model.txt pruned.txt --no-missing --report page.html");
    assert!(words.ok().contains("claim           for every input without missing values, "));
    assert!(folder.read("page.html").contains("On every input without missing values ("));
}

#[test]
fn a_counterexample_within_the_scope_has_no_missing_value() {
    let folder = Folder::new();
    folder.file("model.txt", model());
    folder.file("other.txt", model().replace("leaf_value=-1.0 1.0", "leaf_value=1.0 -1.0"));
    folder.file("table.csv", "a,b\n,1\n1,\n,\n");
    for data in ["", "--data table.csv"] {
        let run = folder.run(&format!("verify model.txt other.txt --json --no-missing {data}"));
        assert_eq!(run.code, Some(1), "{}", run.stderr);
        let input = json(&run.stdout)["counterexample"]["input"].clone();
        assert!(input["a"].is_number() && input["b"].is_number(), "{input}");
    }
}

#[test]
fn rows_with_missing_values_are_left_out_of_the_start_points() {
    let folder = Folder::new();
    folder.file("model.txt", model());
    folder.file("table.csv", "a,b\n1,1\n,1\n3,\n3,6\n");
    let run = folder.run("prune model.txt -o pruned.txt --no-missing --data table.csv --json");
    let object = json(run.ok());
    assert_eq!((&object["data"]["rows"], &object["trees"]["after"]), (&Value::from(2), &Value::from(1)));
    assert!(run.stderr.contains("2 rows are outside of the domain (row 2 by a, row 3 by b)"));
    // No row is left, which is the same as no table.
    folder.file("table.csv", "a,b\n,1\n");
    let object = json(folder.run("prune model.txt -o pruned.txt --no-missing --data table.csv --json").ok());
    assert_eq!((&object["data"], &object["trees"]["after"]), (&Value::Null, &Value::from(1)));
    let run = folder.run("prune model.txt -o other.txt --data table.csv --json");
    assert_eq!(json(run.ok())["data"]["rows"], 1);
}

#[test]
fn where_the_library_takes_no_missing_values_the_option_changes_nothing() {
    let folder = Folder::new();
    folder.file("model.skops", LABELS);
    let plain = json(folder.run("prune model.skops -o plain.skops --certificate plain --json").ok());
    let narrow =
        json(folder.run("prune model.skops -o narrow.skops --certificate narrow --no-missing --json").ok());
    assert_eq!((&plain["scope"], &narrow["scope"]), (&Value::from("all"), &Value::from("all")));
    let read = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
    assert!(read("plain.skops") == read("narrow.skops") && read("plain") == read("narrow"));
    let method = "--method ic --size 1 --data table.csv --target t --accept-unproved";
    let run = folder.run(&format!("prune model.skops -o other.skops --no-missing {method}"));
    assert!(run.refused().contains("--no-missing"), "{}", run.stderr);
}
