//! `secateur verify-many`: a line for each pair, even if others fail.

use serde_json::Value;

use crate::support::{FLOWERS, Folder, LABELS, THREE_CLASSES, UNNAMED};

/// A folder with models of three kinds and a list of five pairs: alike, different, unreadable, not
/// comparable, alike.
fn folder() -> Folder {
    let folder = Folder::new();
    folder.file("a.txt", FLOWERS);
    folder.file("b.txt", FLOWERS.replace("leaf_value=-0.5 0.25 0.7", "leaf_value=-0.5 0.25 -0.7"));
    folder.file("u.json", UNNAMED);
    folder.file("three.txt", THREE_CLASSES);
    folder.file("labels.skops", LABELS);
    folder.file("bad.txt", "no model");
    folder.file(
        "pairs.csv",
        "note,first,second\none,a.txt,a.txt\ntwo,a.txt,b.txt\nthree,bad.txt,a.txt\nfour,a.txt,three.txt\nfive,labels.skops,labels.skops\n",
    );
    folder
}

fn lines(text: &str) -> Vec<Value> {
    let mut lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    lines.sort_by_key(|line| line["index"].as_u64());
    lines
}

fn outcomes(lines: &[Value]) -> Vec<&str> {
    lines.iter().map(|line| line["outcome"].as_str().unwrap()).collect()
}

#[test]
fn every_pair_has_its_line_and_the_worst_one_the_exit_code() {
    let folder = folder();
    let run = folder.run("verify-many pairs.csv --json");
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    assert!(run.stderr.contains("5 pairs: 2 proved, 1 refuted, 0 undecided, 2 failed"), "{}", run.stderr);
    let found = lines(&run.stdout);
    assert_eq!(outcomes(&found), ["identical", "different", "failed", "failed", "identical"]);
    assert_eq!(found[1]["answer"]["counterexample"]["in_libraries"], true);
    assert!(found[2]["message"].as_str().unwrap().starts_with("bad.txt: "), "{}", found[2]);
    assert_eq!(found[2]["models"], Value::Null);
    let alone: Value = serde_json::from_str(&folder.run("verify a.txt b.txt --json").stdout).unwrap();
    assert_eq!(found[1]["answer"]["counterexample"], alone["counterexample"]);
    // The same as a table.
    let run = folder.run("verify-many pairs.csv -q --threads 1");
    let mut rows = csv::Reader::from_reader(run.stdout.as_bytes());
    assert_eq!(rows.headers().unwrap(), vec!["index", "first", "second", "outcome", "seconds", "message"]);
    let rows: Vec<csv::StringRecord> = rows.records().map(Result::unwrap).collect();
    assert_eq!(&rows[1][3], "different");
    assert_eq!((rows.len(), run.stderr.as_str()), (5, ""));
}

#[test]
fn the_exit_code_says_what_is_known_of_all() {
    let folder = folder();
    for (pairs, code) in [("", 0), ("a.txt,a.txt\n", 0), ("a.txt,a.txt\nbad.txt,a.txt\n", 2)] {
        folder.file("some.csv", format!("first,second\n{pairs}"));
        assert_eq!(folder.run("verify-many some.csv").code, Some(code), "{pairs}");
    }
    folder.file("some.csv", "first,second\na.txt,b.txt\n");
    assert_eq!(folder.run("verify-many some.csv --time-limit 0s").code, Some(3));
    assert_eq!(folder.run("verify-many some.csv --scores --within 100").code, Some(0));
    assert_eq!(folder.run("verify-many some.csv --scores --within 0").code, Some(1));
}

#[test]
fn a_run_goes_on_where_it_was_ended() {
    let folder = folder();
    folder.run("verify-many pairs.csv --results known.jsonl --json");
    let known = folder.read("known.jsonl");
    assert_eq!(known.lines().count(), 5);
    // The first lines are kept, and the last one was cut off.
    let kept: Vec<&str> = known.lines().filter(|line| !line.contains("\"index\":4")).collect();
    folder.file("known.jsonl", format!("{}\n{{\"index\":4,\"mod", kept.join("\n")));
    let run = folder.run("verify-many pairs.csv --results known.jsonl --json");
    assert_eq!(outcomes(&lines(&run.stdout)), ["identical", "different", "failed", "failed", "identical"]);
    // Three pairs are asked again: the two that failed, and the one whose line was lost.
    assert_eq!(folder.read("known.jsonl").lines().count(), 4 + 3);
    // Pairs are asked again if the question is another, or if a model has changed under its name.
    folder.run("verify-many pairs.csv --results known.jsonl --band 0");
    assert_eq!(folder.read("known.jsonl").lines().count(), 7 + 5);
    folder.file("b.txt", FLOWERS);
    let run = folder.run("verify-many pairs.csv --results known.jsonl --json");
    assert_eq!(lines(&run.stdout)[1]["outcome"], "identical");
}

#[test]
fn what_is_no_list_or_no_file_of_results_is_refused() {
    let folder = folder();
    folder.file("other.csv", "a,b\n1,2\n");
    assert!(folder.run("verify-many other.csv").refused().contains("no column `first`"));
    assert!(folder.run("verify-many nothing.csv").refused().contains("nothing.csv"));
    folder.file("uneven.csv", "first,second\na.txt\n");
    assert!(folder.run("verify-many uneven.csv").refused().contains("uneven.csv"));
    let run = folder.run("verify-many pairs.csv --results a.txt");
    assert!(run.refused().contains("line 1: this is not a result"), "{}", run.stderr);
    assert_eq!(folder.read("a.txt"), FLOWERS);
}
