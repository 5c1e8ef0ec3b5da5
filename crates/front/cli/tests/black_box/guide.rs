//! Runs every command of the command-line guide, of the pages about questions and about versions, and
//! of the tutorial, and compares every output that they show.

use std::env;
use std::path::Path;
use std::process::Command;

use secateur_testkit::Limited;

use crate::support::Folder;

const GUIDE: &str = include_str!("../../../../../docs/guide/command-line.md");
const ASK: &str = include_str!("../../../../../docs/guide/ask.md");
const DIFF: &str = include_str!("../../../../../docs/guide/diff.md");
const TUTORIAL: &str = include_str!("../../../../../docs/tutorial.md");

#[test]
fn the_guide_tells_the_truth() {
    tells_the_truth(GUIDE, 13);
}

#[test]
fn the_page_of_questions_tells_the_truth() {
    tells_the_truth(ASK, 9);
}

#[test]
fn the_page_of_versions_tells_the_truth() {
    tells_the_truth(DIFF, 6);
}

#[test]
fn the_tutorial_tells_the_truth() {
    tells_the_truth(TUTORIAL, 10);
}

fn tells_the_truth(page: &str, least: usize) {
    let folder = Folder::new();
    let mut commands = 0;
    for (kind, lines) in blocks(page) {
        for (command, shown) in steps(kind, &lines) {
            commands += 1;
            let output = run(&folder, command);
            // The output of a command is not compared if the guide shows none.
            if !shown.is_empty() {
                assert_eq!(output.trim_end(), shown.join("\n"), "{command}");
            }
        }
    }
    assert!(commands >= least, "only {commands} commands were found on the page");
}

/// The fenced blocks, each with its language.
fn blocks(text: &str) -> Vec<(&str, Vec<&str>)> {
    let mut blocks = Vec::new();
    let mut open: Option<(&str, Vec<&str>)> = None;
    for line in text.lines() {
        match (line.strip_prefix("```"), &mut open) {
            (Some(kind), None) => open = Some((kind, Vec::new())),
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (None, Some((_, lines))) => lines.push(line),
            (None, None) => {}
        }
    }
    blocks
}

/// The commands of a block, each with the output that the page shows.
fn steps<'a>(kind: &str, lines: &[&'a str]) -> Vec<(&'a str, Vec<&'a str>)> {
    let mut steps: Vec<(&str, Vec<&str>)> = Vec::new();
    for line in lines {
        match (kind, line.strip_prefix("$ ")) {
            ("sh", _) => steps.push((line, Vec::new())),
            ("console", Some(command)) => steps.push((command, Vec::new())),
            ("console", None) => steps.last_mut().expect("output follows a command").1.push(line),
            _ => panic!("a block of {kind:?} cannot be run"),
        }
    }
    steps
}

/// The output of a command, with both streams as on a terminal. It must not fail unless it shows an
/// error.
fn run(folder: &Folder, command: &str) -> String {
    let binary = Path::new(env!("CARGO_BIN_EXE_secateur")).parent().unwrap();
    let path = env::join_paths(
        [binary.to_owned()].into_iter().chain(env::split_paths(&env::var_os("PATH").unwrap_or_default())),
    );
    let output = Command::new("sh")
        .args(["-c", &format!("exec 2>&1; {command}")])
        .current_dir(folder.path())
        .env("PATH", path.unwrap())
        .finished();
    let text = String::from_utf8(output.stdout).unwrap();
    let failed = output.status.code() != Some(0);
    assert_eq!(failed, text.contains("error: "), "{command}\n{text}");
    text
}
