//! Completion scripts and manual pages name every command and option.

use std::fs;

use crate::support::Folder;

/// The options that `secateur COMMAND --help` lists.
fn options(folder: &Folder, command: &str) -> Vec<String> {
    let help = folder.run(&format!("{command} --help")).ok().to_owned();
    let words =
        help.lines().filter(|line| line.trim_start().starts_with('-')).flat_map(str::split_whitespace);
    words.filter(|word| word.starts_with("--")).map(|word| word.trim_end_matches(',').to_owned()).collect()
}

#[test]
fn every_shell_gets_a_script_with_every_option() {
    let folder = Folder::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let run = folder.run(&format!("completions {shell}"));
        let script = run.ok();
        for option in options(&folder, "prune") {
            let name = option.trim_start_matches('-');
            assert!(script.contains(name), "{shell}: {option}");
        }
    }
    assert!(folder.run("completions tcsh").stderr.contains("bash"));
}

#[test]
fn every_command_has_a_manual_page() {
    let folder = Folder::new();
    let run = folder.run("man --dir pages/man1");
    assert!(run.ok().is_empty() && run.stderr.contains("a page for each command"), "{}", run.stderr);
    for command in ["prune", "verify", "predict", "inspect", "domain", "pack", "demo"] {
        let page =
            fs::read_to_string(folder.path().join(format!("pages/man1/secateur-{command}.1"))).unwrap();
        for option in options(&folder, command) {
            assert!(page.contains(&option.replace('-', "\\-")), "{command}: {option}");
        }
    }
    folder.file("taken", "");
    assert!(folder.run("man --dir taken").refused().contains("taken: the folder cannot be made"));
}
