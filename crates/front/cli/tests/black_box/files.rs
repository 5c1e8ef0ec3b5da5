//! No command writes to a file that it reads, whatever its name; and what a failed run reports
//! about files is true.

use std::fs::File;
use std::os::unix::fs::symlink;
use std::process::Stdio;

use crate::support::{FLOWERS, Folder, Run};

const TABLE: &str = "length,width,colour\n1,0,red\n";

fn folder() -> Folder {
    let folder = Folder::new();
    folder.file("model.txt", FLOWERS);
    folder.file("table.csv", TABLE);
    std::fs::create_dir(folder.path().join("sub")).unwrap();
    symlink("model.txt", folder.path().join("link.txt")).unwrap();
    symlink("table.csv", folder.path().join("link.csv")).unwrap();
    symlink(".", folder.path().join("here")).unwrap();
    folder
}

#[test]
fn predict_does_not_overwrite_its_model_or_its_table() {
    let folder = folder();
    let names = folder.names();
    for (name, what) in [
        ("model.txt", "the model itself"),
        ("./model.txt", "the model itself"),
        ("sub/../model.txt", "the model itself"),
        ("link.txt", "the model itself"),
        ("here/model.txt", "the model itself"),
        ("table.csv", "the table itself"),
        ("link.csv", "the table itself"),
    ] {
        let run = folder.run(&format!("predict model.txt --data table.csv -o {name}"));
        assert!(run.refused().contains(&format!("{name}: this is {what}")), "{}", run.stderr);
    }
    // A file that is read through a link is still the same file.
    let run = folder.run("predict link.txt --data link.csv -o table.csv");
    assert!(run.refused().contains("the table itself"), "{}", run.stderr);
    assert_eq!((folder.read("model.txt").as_str(), folder.read("table.csv").as_str()), (FLOWERS, TABLE));
    assert_eq!(folder.names(), names);
    folder.run("predict model.txt --data table.csv -o classes.csv").ok();
}

#[test]
fn no_two_files_of_a_run_are_the_same() {
    let folder = folder();
    let names = folder.names();
    for words in [
        "prune model.txt -o out.txt --certificate ./out.txt",
        "prune model.txt -o out.txt --certificate here/out.txt",
        "prune model.txt -o out.txt --certificate link.txt",
        "prune model.txt -o out.txt --data table.csv --certificate table.csv",
        "prune model.txt -o out.txt --report sub/../out.txt",
        "prune model.txt -o out.txt --certificate proof --report ./proof",
        "prune model.txt -o link.csv --data table.csv",
        "verify model.txt model.txt --certificate link.txt",
        "verify model.txt model.txt --data table.csv --certificate table.csv",
        "verify model.txt model.txt --certificate proof --report here/proof",
        "verify model.txt model.txt --report link.txt",
    ] {
        let run = folder.run(words);
        assert!(run.refused().contains("write to another name"), "{words}: {}", run.stderr);
        assert_eq!(folder.names(), names, "{words}");
    }
    assert_eq!((folder.read("model.txt").as_str(), folder.read("table.csv").as_str()), (FLOWERS, TABLE));
}

/// Runs a command whose standard output is full.
#[cfg(target_os = "linux")]
fn with_full_stdout(folder: &Folder, words: &str) -> Run {
    let full = File::options().write(true).open("/dev/full").unwrap();
    let child = folder.command().args(words.split_whitespace()).stdout(full).stderr(Stdio::piped()).spawn();
    Run::end_of(child.unwrap(), words)
}

#[cfg(target_os = "linux")]
#[test]
fn where_a_file_cannot_be_completed_none_is_written() {
    let folder = folder();
    let names = folder.names();
    for words in [
        "prune model.txt -o out.txt --certificate /dev/full",
        "prune model.txt -o out.txt --certificate proof --report /dev/full",
        "prune model.txt -o /dev/full --certificate proof --report page.html",
        "verify model.txt model.txt --certificate proof --report /dev/full",
        "predict model.txt --data table.csv -o /dev/full",
    ] {
        let run = folder.run(words);
        assert!(run.refused().contains("/dev/full: cannot be written"), "{words}: {}", run.stderr);
        assert!(!run.stderr.contains("written and complete"), "{words}: {}", run.stderr);
        assert_eq!(folder.names(), names, "{words}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn files_that_may_not_grow_leave_nothing() {
    let folder = folder();
    let names = folder.names();
    // The shell's limit is in blocks of 512 or 1024 bytes. The page is larger than 8 of either, the
    // model is not.
    let command = format!(
        "trap '' XFSZ; ulimit -f 8; exec {} prune model.txt -o out.txt --certificate proof --report page.html",
        env!("CARGO_BIN_EXE_secateur")
    );
    let mut shell = std::process::Command::new("sh");
    shell.current_dir(folder.path()).args(["-c", &command]);
    let run = Run::of(shell);
    assert!(run.refused().contains("page.html: cannot be written"), "{}", run.stderr);
    assert_eq!(folder.names(), names);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_stdout_comes_after_the_files_and_the_message_names_them() {
    let folder = folder();
    let run = with_full_stdout(&folder, "prune model.txt -o out.txt --certificate proof");
    let message = run.refused();
    assert!(message.contains("out.txt and proof are written and complete, but then: stdout"), "{message}");
    let checked = folder.run("verify model.txt out.txt");
    assert!(checked.ok().starts_with("identical"), "{}", checked.stdout);
    assert!(folder.names().contains(&"proof".to_owned()));
    let run = with_full_stdout(&folder, "verify model.txt out.txt");
    assert!(run.refused().starts_with("error: stdout cannot be written"), "{}", run.stderr);
}
