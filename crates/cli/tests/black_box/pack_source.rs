//! `secateur pack -o model.c`: source that compiles and gives the library's bits, its certificate, and each refusal.

use std::process::Command;

use crate::support::{FLOWERS, Folder, LABELS, THREE_CLASSES, UNNAMED};

/// The exit code of the checker for files of the folder.
fn check(folder: &Folder, names: &str) -> u8 {
    let files = names.split_whitespace().map(|name| folder.path().join(name).into_os_string());
    secateur_checker::command::run(std::iter::once("secateur-check".into()).chain(files))
}

/// Compiles these files to a program and runs it.
fn compiled(folder: &Folder, words: &str) -> (i32, String) {
    let strict = "-std=c99 -pedantic -Wall -Wextra -Werror -Os";
    let output = Command::new("cc")
        .current_dir(folder.path())
        .args(strict.split(' ').chain(words.split(' ')).chain(["-lm", "-o", "program"]))
        .output()
        .expect("a C compiler");
    assert!(output.status.success(), "{words}: {}", String::from_utf8_lossy(&output.stderr));
    let output = Command::new(folder.path().join("program")).output().unwrap();
    (output.status.code().unwrap_or(-1), String::from_utf8(output.stdout).unwrap())
}

#[test]
fn source_compiles_and_passes_its_test_and_is_certified() {
    let folder = Folder::new();
    folder.file("flowers.txt", FLOWERS);
    folder.file("three.txt", THREE_CLASSES);
    folder.file("labels.skops", LABELS);
    folder.file("unnamed.json", UNNAMED);
    for model in ["flowers.txt", "three.txt", "labels.skops", "unnamed.json"] {
        let run = folder
            .run(&format!("pack {model} -o model.c --test test.c --certificate model.cert --name flower"));
        assert!(run.ok().contains("same bits on every input"), "{}", run.stdout);
        let (code, told) = compiled(&folder, "model.c test.c");
        assert!(code == 0 && told.starts_with("0 of "), "{model}: {told}");
        assert_eq!(check(&folder, &format!("{model} model.c model.cert")), 0);
        let run = folder.run(&format!("pack {model} -o all.h --test all_test.c --certificate all.cert"));
        run.ok();
        let (code, told) = compiled(&folder, "all_test.c");
        assert!(code == 0 && told.starts_with("0 of "), "{model}: {told}");
        assert_eq!(check(&folder, &format!("{model} all.h all.cert")), 0);
        // The certificate of one file is not about another.
        assert_eq!(check(&folder, &format!("{model} model.c all.cert")), 1);
    }
    assert_eq!(check(&folder, "three.txt all.h all.cert"), 1);
}

#[test]
fn the_scores_of_a_row_are_those_of_predict() {
    let folder = Folder::new();
    folder.file("model.txt", THREE_CLASSES);
    folder.run("pack model.txt -o model.c").ok();
    let header = std::fs::read_to_string(folder.path().join("model.h")).unwrap();
    let features: usize = header
        .lines()
        .find_map(|line| line.strip_prefix("#define model_FEATURES "))
        .and_then(|count| count.parse().ok())
        .unwrap();
    let row: Vec<String> = (0..features).map(|column| format!("{}.5", column)).collect();
    let names: Vec<String> = (0..features).map(|column| format!("c{column}")).collect();
    folder.file("table.csv", format!("{}\n{}\n", names.join(","), row.join(",")));
    folder.file(
        "main.c",
        format!(
            "#include <stdio.h>\n#include \"model.h\"\nint main(void)\n{{\n    const double row[] = {{{}}};\n    \
             double scores[model_OUTPUTS];\n    int k;\n    model_raw(row, scores);\n    for (k = 0; k < model_OUTPUTS; k++) \
             printf(\"%.17g\\n\", scores[k]);\n    printf(\"%d\\n\", model_class(row));\n    return 0;\n}}\n",
            row.join(", ")
        ),
    );
    let (_, told) = compiled(&folder, "model.c main.c");
    let numbers: Vec<f64> = told.lines().map(|line| line.parse().unwrap()).collect();
    let raw = folder.run("predict model.txt --data table.csv --raw");
    let expected: Vec<f64> =
        raw.ok().lines().nth(1).unwrap().split(',').map(|score| score.parse().unwrap()).collect();
    assert_eq!(numbers[..expected.len()], expected[..]);
    let best = (0..expected.len()).max_by(|&a, &b| expected[a].total_cmp(&expected[b])).unwrap();
    assert_eq!(numbers[expected.len()], best as f64);
}

#[test]
fn a_pruned_model_as_source_has_one_certificate_for_both_steps() {
    let folder = Folder::new();
    folder.run("demo --dir .").ok();
    let run = folder.run("pack loans.txt -o loans.c --prune --certificate both.cert --json");
    let object: serde_json::Value = serde_json::from_str(run.ok()).unwrap();
    assert_eq!(object["outcome"], "same_decisions");
    assert!(object["bytes"]["tables"].as_u64().unwrap() > 0, "{object}");
    assert_eq!(check(&folder, "loans.txt loans.c both.cert"), 0);
    folder.run("pack loans.txt -o other.c --certificate other.cert").ok();
    assert_eq!(check(&folder, "loans.txt other.c both.cert"), 1);
    assert_eq!(check(&folder, "loans.txt loans.c other.cert"), 1);
}

#[test]
fn what_cannot_be_written_is_refused_and_the_users_files_stay() {
    let folder = Folder::new();
    folder.file("model.json", UNNAMED);
    folder.file("mine.h", "int mine;\n");
    let refused = |words: &str, text: &str| {
        let run = folder.run(words);
        assert_eq!(run.code, Some(2), "{words}: {}", run.stderr);
        assert!(run.stderr.contains(text), "{words}: {}", run.stderr);
    };
    refused("pack model.json -o out.bin", "ends with .spk");
    for name in ["while", "1st", "a-b", "_x", "class", "a*/"] {
        refused(
            &format!("pack model.json -o out.c --name {name}"),
            "cannot be the start of functions' names",
        );
    }
    refused("pack model.json -o mine.c", "not one that secateur wrote");
    refused("pack model.json -o out.spk --name a", "--name is for a model as source");
    refused("pack model.json -o out.spk --test t.c", "--test is for a model as source");
    refused("pack model.json -o out.c --test out.h", "each needs a file of its own");
    refused("pack model.json -o out.c --test out.c", "each needs a file of its own");
    refused("pack model.json -o out.c --certificate out.h", "each needs a file of its own");
    assert_eq!(std::fs::read(folder.path().join("mine.h")).unwrap(), b"int mine;\n");
    for name in ["out.c", "out.h", "mine.c"] {
        assert!(!folder.path().join(name).exists(), "{name} was written");
    }
    // A header that we wrote is ours to replace.
    folder.run("pack model.json -o out.c").ok();
    folder.run("pack model.json -o out.c --name other").ok();
    let text = std::fs::read_to_string(folder.path().join("out.h")).unwrap();
    assert!(text.contains("other_raw"), "{text}");
    // Source and the certificate of another kind, and a file that only has the name of source.
    folder.run("pack model.json -o out.c --certificate out.cert").ok();
    assert_eq!(check(&folder, "model.json mine.h out.cert"), 1);
    folder.run("verify model.json model.json --certificate pair.cert").ok();
    assert_eq!(check(&folder, "model.json out.c pair.cert"), 2);
}

#[test]
fn a_rust_module_compiles_and_passes_its_test_and_is_certified() {
    let folder = Folder::new();
    folder.file("model.txt", THREE_CLASSES);
    folder.run("pack model.txt -o flowers.rs --test main.rs --certificate model.cert").ok();
    let output = Command::new("rustc")
        .current_dir(folder.path())
        .args(["--edition", "2021", "-D", "warnings", "main.rs", "-o", "main"])
        .output()
        .expect("rustc");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(Command::new(folder.path().join("main")).output().unwrap().status.success());
    assert_eq!(check(&folder, "model.txt flowers.rs model.cert"), 0);
    let run = folder.run("pack model.txt -o other.rs --name other");
    assert!(run.code == Some(2) && run.stderr.contains("--name is for C"), "{}", run.stderr);
}
