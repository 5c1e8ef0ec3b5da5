//! A search that goes wrong on purpose (`crates/search/oracle/src/fault.rs`): the command writes nothing
//! of what that search called proved. The checker has no such switch.

use crate::support::{Folder, Run};

/// A model on which this fault makes the search keep too few trees.
const MODEL: &str = include_str!("../../../../../testdata/models/lightgbm/rf_multiclass.txt");

fn broken(folder: &Folder, words: &str) -> Run {
    let mut command = folder.command();
    command.env("SECATEUR_TEST_FAULT", "IgnoreMissing").args(words.split(' '));
    Run::of(command)
}

#[test]
fn nothing_that_a_broken_search_calls_proved_is_written() {
    let folder = Folder::new();
    folder.file("model.txt", MODEL);
    for flags in ["", " --certificate proof.cert"] {
        let run = broken(&folder, &format!("prune model.txt -q -o out.txt{flags}"));
        assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{}", run.stderr);
        assert!(
            run.stderr.contains("nothing was written: the checker refuses the certificate"),
            "{}",
            run.stderr
        );
    }
    assert_eq!(folder.names(), ["model.txt"], "nothing beside the model");
    // Without the check the wrong model would get out: the test above tests something.
    assert_eq!(broken(&folder, "prune model.txt -q -o out.txt --no-self-check").code, Some(0));
    assert_eq!(folder.run("verify model.txt out.txt").code, Some(1));
}

/// The program that looks for faults has none of the hooks that tests use: neither their names nor
/// what they switch. The command that searches has them, so this test would find them.
#[cfg(target_os = "linux")]
#[test]
fn the_checker_has_no_hooks() {
    for (program, expected) in
        [(env!("CARGO_BIN_EXE_secateur"), true), (env!("CARGO_BIN_EXE_secateur-check"), false)]
    {
        let code = std::fs::read(program).unwrap();
        for name in ["SECATEUR_TEST_FAULT", "SECATEUR_TEST_PAUSE"] {
            assert_eq!(
                code.windows(name.len()).any(|bytes| bytes == name.as_bytes()),
                expected,
                "{name} in {program}"
            );
        }
    }
}
