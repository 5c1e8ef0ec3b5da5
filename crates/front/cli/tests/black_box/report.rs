//! `--report` of `prune` and `verify`: a page beside the result, with the same numbers.

use std::collections::HashMap;

use serde_json::Value;

use crate::prune::compressible;
use crate::support::{FLOWERS, Folder, LABELS, Run, THREE_CLASSES, UNNAMED};

/// The unrounded numbers of a page, by their keys.
fn numbers(page: &str) -> HashMap<String, f64> {
    let parts = page.split("<data data-key=\"").skip(1);
    parts
        .map(|part| {
            let (key, rest) = part.split_once("\" value=\"").unwrap();
            (key.to_owned(), rest.split_once('"').unwrap().0.parse().unwrap())
        })
        .collect()
}

/// A run with a report: its JSON result and the page.
fn reported(folder: &Folder, words: &str, code: i32) -> (Value, String) {
    let run = folder.run(&format!("{words} --json --report page.html"));
    assert_eq!(run.code, Some(code), "{}", run.stderr);
    (serde_json::from_str(&run.stdout).unwrap(), folder.read("page.html"))
}

#[test]
fn the_page_of_prune_has_the_numbers_of_its_json() {
    let folder = Folder::new();
    for (name, content) in [
        ("compressible.txt", compressible().into_bytes()),
        ("flowers.txt", FLOWERS.into()),
        ("unnamed.json", UNNAMED.into()),
        ("three.txt", THREE_CLASSES.into()),
        ("labels.skops", LABELS.into()),
    ] {
        folder.file(name, content);
        let (json, page) = reported(&folder, &format!("prune {name} -o out"), 0);
        let numbers = numbers(&page);
        for size in ["trees", "leaves", "bytes"] {
            for side in ["before", "after"] {
                assert_eq!(
                    Some(numbers[&format!("{size}.{side}")]),
                    json[size][side].as_f64(),
                    "{name} {size} {side}"
                );
            }
        }
        for key in ["lower_bound", "oracle_calls", "points"] {
            assert_eq!(Some(numbers[key]), json[key].as_f64(), "{name} {key}");
        }
        assert_eq!(Some(numbers["band.score"]), json["band"]["score"].as_f64());
        assert_eq!(Some(numbers["seconds.total"]), json["seconds"]["total"].as_f64());
        assert!(numbers["prediction.before"] > 0.0 && numbers["prediction.after"] > 0.0);
        let fates: f64 =
            numbers.iter().filter(|(key, _)| key.starts_with("fates.")).map(|(_, count)| count).sum();
        assert_eq!(Some(fates as usize), json["fates"].as_array().map(Vec::len), "{name}");
    }
}

#[test]
fn the_page_of_prune_tells_which_splits_matter_and_shows_it() {
    let folder = Folder::new();
    folder.file("model.txt", compressible());
    let (_, page) = reported(&folder, "prune model.txt -o out.txt", 0);
    let numbers = numbers(&page);
    // Two of four splits matter; crossing either is shown to change a class.
    assert_eq!((numbers["splits.before"], numbers["splits.after"]), (4.0, 2.0));
    assert_eq!(
        (numbers["splits.irrelevant"], numbers["splits.kept"], numbers["relevant_splits"]),
        (2.0, 2.0, 2.0)
    );
    assert!(page.contains("Crossing a ≤ 2 turns 0 into 1"), "{page}");
    assert!(page.contains("≤ 7") && page.contains("2 trees decide as 6 did"));
}

#[test]
fn the_page_of_verify_shows_the_input_that_differs() {
    let folder = Folder::new();
    folder.file("a.txt", FLOWERS);
    folder.file("b.txt", FLOWERS.replace("leaf_value=-0.5 0.25 0.7", "leaf_value=-0.5 0.25 -0.7"));
    folder.file("rows.csv", "length,width,colour\n1,1,1\n7.25,3.5,1\n");
    let (json, page) = reported(&folder, "verify a.txt b.txt --data rows.csv", 1);
    let numbers = numbers(&page);
    for model in 0..2 {
        let score = json["counterexample"]["scores"][model][0].as_f64();
        assert_eq!(Some(numbers[&format!("counterexample.scores.{model}.0")]), score);
    }
    assert!(page.contains("row 2 of the table, as it is") && page.contains("<dt>length</dt><dd>7.25</dd>"));
    assert_eq!(Some(numbers["nodes"]), json["nodes"].as_f64());
    let (_, page) = reported(&folder, "verify a.txt a.txt", 0);
    assert!(page.contains("Both models decide alike"));
}

#[test]
fn names_and_labels_of_a_file_stay_text() {
    let folder = Folder::new();
    let evil = "<script>alert(1)</script>";
    let model = compressible().replace("feature_names=a b", &format!("feature_names={evil} b"));
    folder.file("model.txt", model);
    let (_, page) = reported(&folder, "prune model.txt -o out.txt", 0);
    assert!(!page.contains("<script"), "a name got in as markup");
    assert!(page.contains("&lt;script&gt;alert(1)"));
}

#[test]
fn a_report_needs_a_file_of_its_own_and_leaves_no_half_of_one() {
    let folder = Folder::new();
    folder.file("model.txt", compressible());
    let refused = |run: &Run| assert!(run.refused().contains("write to another name"), "{}", run.stderr);
    refused(&folder.run("prune model.txt -o out.txt --report model.txt"));
    refused(&folder.run("prune model.txt -o out.txt --report out.txt"));
    refused(&folder.run("verify model.txt model.txt --report model.txt"));
    folder.run("prune model.txt -o out.txt --report missing/page.html").refused();
    assert_eq!(folder.names(), ["model.txt"]);
    assert_eq!(folder.read("model.txt"), compressible());
}

#[test]
fn a_page_says_what_is_kept_where_that_is_no_decision_of_the_library() {
    let folder = Folder::new();
    folder.file("model.txt", compressible());
    let (json, page) = reported(&folder, "prune model.txt -o out.txt --threshold 0.7", 0);
    assert_eq!(numbers(&page)["threshold.probability"], 0.7);
    assert!(page.contains("decides for the same side of the probability 0.7 (of the class 1)"), "{page}");
    assert_eq!(Some(numbers(&page)["trees.after"]), json["trees"]["after"].as_f64());
    // A page about kept scores says nothing about classes.
    let (json, page) = reported(&folder, "prune model.txt -o out.txt --within 0.25", 0);
    let all = numbers(&page);
    assert_eq!((all["scores.within"], all["scores.at_most"]), (0.25, 0.25));
    assert_eq!(Some(all["trees.after"]), json["trees"]["after"].as_f64());
    assert!(all["trees.after"] < all["trees.before"] && !all.contains_key("band.score"));
    let count = all["trees.after"];
    assert!(page.contains(&format!("{count} trees keep every score of")), "{page}");
    assert!(page.contains("are at most 0.25 apart, their rounding included"), "{page}");
    assert!(!page.contains("decides for the same class"), "{page}");
    let (_, page) = reported(&folder, "prune model.txt -o out.txt --keep scores", 0);
    assert!(numbers(&page)["scores.within"] < 1e-10);
}
