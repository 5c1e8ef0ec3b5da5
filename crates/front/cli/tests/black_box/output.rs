//! Files are whole or absent; pipes, Ctrl-C and endless tables are handled.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use secateur_testkit::Limited;

use crate::support::{FLOWERS, Folder, Run, send, wait_for};

const HEADER: &str = "length,width,colour\n";
const ROW: &str = "1,0,red\n";

fn folder() -> Folder {
    let folder = Folder::new();
    folder.file("model.txt", FLOWERS);
    folder.file("table.csv", format!("{HEADER}{ROW}"));
    folder
}

#[test]
fn the_output_file_is_replaced_whole() {
    let folder = folder();
    let out = folder.file("out.csv", "something else");
    let run = folder.run("predict model.txt --data table.csv -o out.csv");
    assert_eq!((run.ok(), run.stderr.as_str()), ("", "out.csv: 1 row\n"));
    assert_eq!(folder.read("out.csv"), "class\n0\n");
    assert_eq!(folder.names(), ["model.txt", "out.csv", "table.csv"]);
    // An error leaves the existing file unchanged.
    folder.file("bad.csv", format!("{HEADER}{ROW}x,0,red\n"));
    folder.run("predict model.txt --data bad.csv --raw -o out.csv").refused();
    assert_eq!(fs::read_to_string(out).unwrap(), "class\n0\n");
    assert_eq!(folder.names(), ["bad.csv", "model.txt", "out.csv", "table.csv"]);
}

#[cfg(unix)]
#[test]
fn a_link_stays_a_link_and_permissions_stay() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = folder();
    let real = folder.file("real.csv", "");
    fs::set_permissions(&real, fs::Permissions::from_mode(0o600)).unwrap();
    symlink("real.csv", folder.path().join("link.csv")).unwrap();
    folder.run("predict model.txt --data table.csv -o link.csv").ok();
    assert!(folder.path().join("link.csv").is_symlink());
    assert_eq!(folder.read("real.csv"), "class\n0\n");
    assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o600);
}

#[cfg(unix)]
#[test]
fn a_named_pipe_is_written_to_and_not_replaced() {
    let folder = folder();
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).finished().status.success());
    let reader = thread::spawn({
        let pipe = pipe.clone();
        move || fs::read_to_string(pipe).unwrap()
    });
    folder.run("predict model.txt --data table.csv -o pipe").ok();
    assert_eq!(reader.join().unwrap(), "class\n0\n");
    assert!(!fs::metadata(pipe).unwrap().is_file());
}

#[test]
fn a_reader_that_has_seen_enough_ends_the_run_quietly() {
    let folder = folder();
    folder.file("table.csv", format!("{HEADER}{}", ROW.repeat(300_000)));
    let mut child = folder
        .command()
        .args(["predict", "model.txt", "--data", "table.csv", "--raw"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "score_0\n");
    let run = Run::end_of(child, "a reader that has seen enough");
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
}

/// Starts a run that reads its table from a pipe that stays open.
#[cfg(unix)]
fn open_ended(folder: &Folder, flags: &[&str]) -> Child {
    let mut child = folder
        .command()
        .args(["predict", "model.txt", "--data", "/dev/stdin"])
        .args(flags)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.as_mut().unwrap().write_all(HEADER.as_bytes()).unwrap();
    child
}

#[cfg(unix)]
#[test]
fn predictions_come_before_the_table_ends() {
    let folder = folder();
    let mut child = open_ended(&folder, &[]);
    let mut stdin = child.stdin.take().unwrap();
    // More rows than a chunk holds, but fewer than fill the pipe with answers.
    stdin.write_all(ROW.repeat(25_000).as_bytes()).unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    for expected in ["class\n", "0\n", "0\n"] {
        let mut line = String::new();
        out.read_line(&mut line).unwrap();
        assert_eq!(line, expected);
    }
    drop(stdin);
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();
    assert_eq!(rest.lines().count(), 25_000 - 2);
    assert_eq!(Run::end_of(child, "a table without end").code, Some(0));
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_with_130_and_leaves_no_file() {
    let folder = folder();
    let mut child = open_ended(&folder, &["-o", "out.csv"]);
    child.stdin.as_mut().unwrap().write_all(ROW.repeat(30_000).as_bytes()).unwrap();
    wait_for("a temporary file", || folder.names().iter().any(|name| name.ends_with(".tmp")));
    send("INT", &child);
    // The pipe stays open, so the run has to end by itself.
    let stdin = child.stdin.take();
    let run = Run::end_of(child, "a table without end, and Ctrl-C");
    drop(stdin);
    assert_eq!(run.code, Some(130), "{}", run.stderr);
    assert_eq!(folder.names(), ["model.txt", "table.csv"]);
}

#[cfg(unix)]
#[test]
fn a_long_run_tells_how_far_it_is() {
    let folder = folder();
    for (flags, told) in [(&["-o", "out.csv"][..], true), (&["-o", "out.csv", "-q"], false)] {
        let mut child = open_ended(&folder, flags);
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(ROW.repeat(30_000).as_bytes()).unwrap();
        thread::sleep(Duration::from_millis(1300));
        stdin.write_all(ROW.repeat(30_000).as_bytes()).unwrap();
        drop(stdin);
        let run = Run::end_of(child, "a slow table");
        run.ok();
        assert_eq!(
            run.stderr.lines().any(|line| line.contains(" rows, ") && line.ends_with(" s")),
            told,
            "{}",
            run.stderr
        );
    }
}
