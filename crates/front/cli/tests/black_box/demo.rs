//! `secateur demo` works in any folder and overwrites none of the user's files.

use std::fs;

use crate::support::Folder;

const FILES: [&str; 4] = ["loans-pruned.txt", "loans.cert", "loans.csv", "loans.txt"];

#[test]
fn the_demo_runs_twice_and_names_every_file_it_wrote() {
    let folder = Folder::new();
    let first = folder.run("demo");
    for words in [
        "$ secateur prune",
        "proved: 60 -> ",
        "200 rows: none inside the band",
        "not kept        probabilities",
        "$ secateur-check",
        "valid",
    ] {
        assert!(first.ok().contains(words), "{words}");
    }
    assert!(first.stdout.lines().count() <= 50, "more than a screenful");
    for name in FILES {
        assert!(first.ok().contains(&format!("\n  secateur-demo/{name}\n")), "{name}");
        assert!(folder.path().join("secateur-demo").join(name).is_file());
    }
    // The README states how many trees are left; that number must be the demo's.
    let readme = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../README.md")).unwrap();
    let told = readme.split("60 trees become ").nth(1).expect("the README tells what the demo does");
    let told: u64 = told.split(',').next().unwrap().parse().unwrap();
    assert!(first.ok().contains(&format!("proved: 60 -> {told} trees")), "README: {told}\n{}", first.ok());
    assert_eq!(folder.names(), ["secateur-demo"]);
    let inspected = folder.run("inspect secateur-demo/loans-pruned.txt --json");
    let inspected: serde_json::Value = serde_json::from_str(inspected.ok()).unwrap();
    assert!(inspected["trees"].as_u64().unwrap() <= 20, "{}", inspected["trees"]);
    assert!(folder.run("demo").ok().contains("loans.txt is there already"));
}

#[test]
fn the_demo_goes_where_it_is_told() {
    let folder = Folder::new();
    folder.run("demo --dir some/where").ok();
    let mut names: Vec<_> = fs::read_dir(folder.path().join("some/where"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    names.sort();
    assert_eq!(names, FILES);
}

#[test]
fn a_file_in_the_way_is_not_overwritten() {
    let folder = Folder::new();
    folder.file("loans.txt", "mine");
    let run = folder.run("demo --dir .");
    assert!(run.refused().contains("loans.txt: another file is in the way"), "{}", run.stderr);
    assert_eq!(folder.read("loans.txt"), "mine");
    folder.file("file", "");
    assert!(folder.run("demo --dir file").refused().contains("the folder cannot be made"));
}
