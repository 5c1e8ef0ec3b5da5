//! `secateur verify --checkpoint`: a search that was ended can be resumed, and a file that is not a
//! checkpoint of it is refused. `prune` keeps none.

use crate::support::{FLOWERS, Folder, UNNAMED};

fn folder() -> Folder {
    let folder = Folder::new();
    folder.file("a.txt", FLOWERS);
    // Another model that decides alike: one leaf is a little farther from the boundary.
    folder.file("b.txt", FLOWERS.replace("leaf_value=-0.5 0.25 0.7", "leaf_value=-0.5 0.25 0.70001"));
    folder.file("u.json", UNNAMED);
    folder
}

#[test]
fn a_short_search_leaves_no_checkpoint_and_is_checked() {
    let folder = folder();
    let run = folder.run("verify a.txt b.txt --band 0.5 --checkpoint here.checkpoint --json");
    let json: serde_json::Value = serde_json::from_str(run.ok()).unwrap();
    assert_eq!((&json["outcome"], &json["checked"]), (&"identical".into(), &true.into()));
    let run = folder.run("verify a.txt b.txt --scores --within 0.1 --checkpoint here.checkpoint --json");
    let json: serde_json::Value = serde_json::from_str(run.ok()).unwrap();
    assert_eq!((&json["outcome"], &json["checked"]), (&"within".into(), &true.into()));
    assert_eq!(folder.names(), ["a.txt", "b.txt", "u.json"]);
}

#[test]
fn what_is_no_checkpoint_is_refused_and_stays() {
    let folder = folder();
    folder.file("notes", "my notes");
    let run = folder.run("verify a.txt b.txt --checkpoint notes");
    assert!(
        run.refused().contains("notes: this is no checkpoint of secateur; remove it, or give another file"),
        "{}",
        run.stderr
    );
    assert_eq!(folder.read("notes"), "my notes");
    folder.file("old", "secateur checkpoint 0.0.1\n");
    assert!(folder.run("verify a.txt b.txt --checkpoint old").refused().contains("another version"));
    assert!(folder.run("verify a.txt b.txt --checkpoint a.txt").refused().contains("another name"));
    let run = folder.run("verify a.txt b.txt --checkpoint nowhere/c");
    assert!(run.refused().contains("no checkpoints can be kept there"), "{}", run.stderr);
    let run = folder.run("verify a.txt b.txt --scores --checkpoint c");
    assert!(run.refused().contains("go with a limit"), "{}", run.stderr);
}

#[test]
fn prune_keeps_no_checkpoints_and_says_what_to_do() {
    let folder = folder();
    let run = folder.run("prune a.txt -o out.txt --checkpoint c");
    assert!(
        run.refused().contains("prune keeps no checkpoints. End a long run with --time-limit"),
        "{}",
        run.stderr
    );
    assert_eq!(folder.names(), ["a.txt", "b.txt", "u.json"]);
}
