//! `secateur diff`: what it says of two versions, its certificates, its exit codes and refusals.

use serde_json::Value;

use crate::support::{FLOWERS, Folder, LABELS, Run, THREE_CLASSES};

fn json(run: &Run) -> Value {
    serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {} {}", run.stdout, run.stderr))
}

/// The flowers, and a version in which a leaf of the second tree is larger by 0.75.
fn versions() -> Folder {
    let folder = Folder::new();
    folder.file("a.txt", FLOWERS);
    assert_eq!(FLOWERS.matches("leaf_value=0.1 -0.3").count(), 1);
    folder.file("b.txt", FLOWERS.replace("leaf_value=0.1 -0.3", "leaf_value=0.85 -0.3"));
    folder.file("t.csv", "length,width,colour\n1,1,0\n3,0,1\n4,3,0\n3,1,2\n,,\n");
    folder
}

fn check(folder: &Folder, certificate: &str) -> u8 {
    let words = ["a.txt", "b.txt", certificate].map(|name| folder.path().join(name).into_os_string());
    secateur_check::run(std::iter::once("secateur-check".into()).chain(words))
}

#[test]
fn a_changed_leaf_is_told_with_its_rows_and_bounds() {
    let folder = versions();
    let run = folder.run("diff a.txt b.txt --data t.csv --certificate d.cert");
    let stdout = run.ok().to_owned();
    assert!(stdout.starts_with("diff: proved\n"), "{stdout}");
    assert!(!stdout.contains("time  "), "{stdout}");
    let found = json(&folder.run("diff a.txt b.txt --data t.csv --json"));
    let most = found["scores"]["at_most"].as_f64().unwrap();
    assert!((0.75..0.75001).contains(&most), "{found}");
    assert_eq!(found["trees"]["changed"], serde_json::json!([1]));
    let rows = &found["rows"];
    assert_eq!(rows["count"], 5);
    // What `predict` says of each file.
    let predict = |model: &str| folder.run(&format!("predict {model} --data t.csv --raw")).ok().to_owned();
    let scores =
        |text: &str| -> Vec<f64> { text.lines().skip(1).map(|line| line.parse().unwrap()).collect() };
    let (before, after) = (scores(&predict("a.txt")), scores(&predict("b.txt")));
    let moved = before.iter().zip(&after).filter(|(a, b)| a != b).count();
    let changed: Vec<usize> = (0..5).filter(|&at| (before[at] > 0.0) != (after[at] > 0.0)).collect();
    assert!(!changed.is_empty() && changed.len() < moved, "{changed:?}");
    assert_eq!(rows["moved"], moved);
    assert_eq!(rows["changed"], changed.len());
    let listed: Vec<&Value> = rows["first"].as_array().unwrap().iter().map(|row| &row["index"]).collect();
    assert_eq!(
        listed,
        changed.iter().map(|&at| Value::from(at)).collect::<Vec<_>>().iter().collect::<Vec<_>>()
    );
    let above = found["keeps"]["above"].as_f64().unwrap();
    let shown = found["keeps"]["shown"]["lead"].as_f64().unwrap();
    assert!(0.0 < shown && shown <= above && above <= most * 1.001, "{found}");
    assert_eq!(check(&folder, "d-scores.cert"), 0);
    let own = folder.names().contains(&"d-decisions.cert".to_owned());
    assert_eq!(own, found["keeps"]["by"] == "decisions", "{found}");
    assert!(!own || check(&folder, "d-decisions.cert") == 0);
    assert!(folder.run("diff a.txt b.txt -v").ok().contains("\n  boxes "));
}

#[test]
fn the_same_model_moves_nothing() {
    let folder = versions();
    let stdout = folder.run("diff a.txt a.txt --data t.csv").ok().to_owned();
    assert!(
        stdout.contains("no raw score moves at all") && stdout.contains("no decision changes (proved)"),
        "{stdout}"
    );
    assert!(
        stdout.contains("as the first does") && stdout.contains("are the same, position by position"),
        "{stdout}"
    );
}

#[test]
fn decisions_that_rounding_alone_can_change_are_told_so() {
    let folder = versions();
    folder.file("b.txt", FLOWERS.replace("leaf_value=0.1 -0.3", "leaf_value=0.475 -0.3"));
    let found = json(&folder.run("diff a.txt b.txt --json"));
    assert_eq!(
        (&found["keeps"]["all"], &found["keeps"]["shown"]),
        (&Value::from(true), &Value::Null),
        "{found}"
    );
    assert!(found["sentence"].as_str().unwrap().contains("no decision changes, except where"), "{found}");
}

#[test]
fn the_domain_and_the_threshold_count() {
    let folder = versions();
    folder.file("in.toml", "missing = false\n[columns.length]\nmax = 2\n");
    let found = json(&folder.run("diff a.txt b.txt --data t.csv --domain in.toml --threshold 0.55 --json"));
    assert_eq!(
        (&found["scope"], &found["threshold"]),
        (&Value::from("domain"), &Value::from(0.55)),
        "{found}"
    );
    assert_eq!(found["rows"]["outside_domain"]["rows"], 4);
    assert!(found["sentence"].as_str().unwrap().contains("the probability 0.55"), "{found}");
}

#[test]
fn without_time_it_is_open_and_nothing_is_written() {
    let folder = versions();
    let run = folder.run("diff a.txt b.txt --data t.csv --time-limit 0s --certificate d.cert");
    assert_eq!(run.code, Some(3), "{} {}", run.stdout, run.stderr);
    assert!(
        run.stdout.starts_with("diff: open\n") && run.stdout.contains("the time limit was reached"),
        "{}",
        run.stdout
    );
    assert!(!folder.names().iter().any(|name| name.contains("cert")), "{:?}", folder.names());
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let folder = versions();
    folder.file("three.txt", THREE_CLASSES);
    folder.file("m.skops", LABELS);
    folder.run("diff a.txt three.txt").refused();
    folder.run("diff a.txt m.skops").refused();
    folder.run("diff a.txt none.txt").refused();
    folder.run("diff a.txt b.txt --target y").refused();
    assert!(folder.run("diff a.txt b.txt --time-limit soon").refused().contains("30s"));
    folder.file("d-scores.txt", FLOWERS);
    assert!(folder.run("diff d-scores.txt b.txt --certificate d.txt").refused().contains("the first model"));
}
