//! `secateur pack -o model.c`: source that compiles and gives the library's bits, its certificate,
//! and each refusal.

use std::process::Command;

use secateur_testkit::Limited;

use crate::support::{FLOWERS, Folder, LABELS, THREE_CLASSES, UNNAMED};

/// The checker's exit code for files of the folder; flags and numbers are passed unchanged.
fn check(folder: &Folder, names: &str) -> u8 {
    let is_flag = |word: &str| word.starts_with("--") || word.parse::<f64>().is_ok();
    let files = names.split_whitespace().map(|word| match is_flag(word) {
        true => word.into(),
        false => folder.path().join(word).into_os_string(),
    });
    secateur_check::run(std::iter::once("secateur-check".into()).chain(files))
}

/// Compiles these files into a program and runs it.
fn compiled(folder: &Folder, words: &str) -> (i32, String) {
    let strict = "-std=c99 -pedantic -Wall -Wextra -Werror -Os";
    let output = Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()))
        .current_dir(folder.path())
        .args(strict.split(' ').chain(words.split(' ')).chain(["-lm", "-o", "program"]))
        .finished();
    assert!(output.status.success(), "{words}: {}", String::from_utf8_lossy(&output.stderr));
    let output = Command::new(folder.path().join("program")).finished();
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
        let run = folder
            .run(&format!("pack {model} -o keys.c --keys --leaves 8 --layout small --time-limit 1s --test keys_test.c --certificate keys.cert"));
        run.ok();
        let (code, told) = compiled(&folder, "keys.c keys_test.c");
        assert!(code == 0 && told.starts_with("0 of "), "{model}: {told}");
        assert_eq!(check(&folder, &format!("{model} keys.c keys.cert")), 0);
        assert_eq!(check(&folder, &format!("{model} keys.c keys.cert --threads 3")), 0);
        assert_eq!(check(&folder, &format!("{model} model.c keys.cert --threads 3")), 1);
        let run = folder
            .run(&format!("pack {model} -o fast.c --layout fast --test fast_test.c --certificate fast.cert"));
        assert!(run.ok().contains("same bits on every input"), "{}", run.stdout);
        let (code, told) = compiled(&folder, "fast.c fast_test.c");
        assert!(code == 0 && told.starts_with("0 of "), "{model}: {told}");
        assert_eq!(check(&folder, &format!("{model} fast.c fast.cert")), 0);
        // The certificate of one file does not cover another.
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

/// Names come from the files, so that one program can hold several models.
#[test]
fn two_models_link_into_one_program() {
    let folder = Folder::new();
    folder.file("model.txt", THREE_CLASSES);
    folder.file("flowers.txt", FLOWERS);
    folder.run("pack model.txt -o first.c").ok();
    folder.run("pack flowers.txt -o 2nd-model.v1.c").ok();
    let header = folder.read("2nd-model.v1.h");
    for line in [" * column 0: length", " * column 2: colour", "model_2nd_model_v1_class(const double *row);"]
    {
        assert!(header.contains(line), "{header}");
    }
    folder.file(
        "main.c",
        "#include <stdio.h>\n#include \"first.h\"\n#include \"2nd-model.v1.h\"\nint main(void)\n{\n    \
         const double row[first_FEATURES + model_2nd_model_v1_FEATURES] = {0};\n    \
         printf(\"%d %d\\n\", first_class(row), model_2nd_model_v1_class(row));\n    return 0;\n}\n",
    );
    let (_, told) = compiled(&folder, "first.c 2nd-model.v1.c main.c");
    assert_eq!(told.split_whitespace().count(), 2, "{told}");
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
    refused("pack model.json -o mine.c", "mine.h: the declarations of the packed model would go there");
    refused("pack model.json -o out.spk --name a", "--name is for a model as source");
    refused("pack model.json -o out.spk --test t.c", "--test is for a model as source");
    refused("pack model.json -o out.spk --keys", "--keys is for a model as source");
    refused(
        "pack model.json -o out.c --leaves exact --same-decisions",
        "--same-decisions goes with --leaves 16 or 8",
    );
    refused("pack model.json -o out.c --leaves 4", "leaves are exact, or have 16 or 8 bits");
    refused("pack model.json -o out.spk --layout small", "--layout is for a model as source");
    refused("pack model.json -o out.wasm --layout small", "--layout is for C and Rust");
    refused("pack model.json -o out.c --layout tiny", "a layout is compact, small or fast");
    refused("pack model.json -o out.spk --probabilities", "--probabilities is for a model as source");
    refused("pack model.json -o out.wasm --keys", "--keys is for C and Rust");
    refused("pack model.json -o out.c --test out.h", "each needs a file of its own");
    refused("pack model.json -o out.c --test out.c", "each needs a file of its own");
    refused("pack model.json -o out.c --certificate out.h", "each needs a file of its own");
    assert_eq!(std::fs::read(folder.path().join("mine.h")).unwrap(), b"int mine;\n");
    for name in ["out.c", "out.h", "mine.c"] {
        assert!(!folder.path().join(name).exists(), "{name} was written");
    }
    // A header that secateur wrote may be replaced.
    folder.run("pack model.json -o out.c").ok();
    folder.run("pack model.json -o out.c --name other").ok();
    let text = std::fs::read_to_string(folder.path().join("out.h")).unwrap();
    assert!(text.contains("other_raw"), "{text}");
    // A whole model as a header is also written by secateur, but it is not the header that belongs
    // beside a C file.
    folder.run("pack model.json -o whole.h").ok();
    let whole = std::fs::read(folder.path().join("whole.h")).unwrap();
    refused("pack model.json -o whole.c", "this file is something else; give OUT another name, or remove it");
    assert_eq!(std::fs::read(folder.path().join("whole.h")).unwrap(), whole);
    // Source with another kind of certificate, and a file that only has the name of source.
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
        .finished();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(Command::new(folder.path().join("main")).finished().status.success());
    assert_eq!(check(&folder, "model.txt flowers.rs model.cert"), 0);
    let run = folder.run("pack model.txt -o other.rs --name other");
    assert!(run.code == Some(2) && run.stderr.contains("--name is for C"), "{}", run.stderr);
}

/// Writes a WebAssembly module with its wrapper, page and test. The tests of `emit` and of the
/// Python package run such modules in engines.
#[test]
fn a_webassembly_module_is_written_with_what_goes_beside_it_and_is_certified() {
    let folder = Folder::new();
    folder.file("flowers.txt", FLOWERS);
    folder.file("three.txt", THREE_CLASSES);
    for model in ["flowers.txt", "three.txt"] {
        let run = folder.run(&format!("pack {model} -o model.wasm --test test.mjs --certificate model.cert"));
        assert!(run.ok().contains("same bits on every input"), "{}", run.stdout);
        assert_eq!(check(&folder, &format!("{model} model.wasm model.cert")), 0);
        for (file, text) in [
            ("model.js", "./model.wasm"),
            ("model.html", "<title>model</title>"),
            ("test.mjs", "./model.wasm"),
        ] {
            let written = std::fs::read_to_string(folder.path().join(file)).unwrap();
            assert!(written.contains(text), "{file}");
        }
        let run = folder.run(&format!(
            "pack {model} -o leaves.wasm --leaves 8 --test leaves.mjs --certificate leaves.cert --time-limit 5s"
        ));
        run.ok();
        assert_eq!(check(&folder, &format!("{model} leaves.wasm leaves.cert")), 0);
        assert_eq!(check(&folder, &format!("{model} leaves.wasm model.cert")), 1);
    }
    assert_eq!(check(&folder, "flowers.txt model.wasm model.cert"), 1);
    folder.run("demo --dir .").ok();
    folder.run("pack loans.txt -o loans.wasm --prune --certificate both.cert").ok();
    assert_eq!(check(&folder, "loans.txt loans.wasm both.cert"), 0);
    for (file, words, text) in [
        ("mine.js", "-o mine.wasm", "the JavaScript wrapper of the packed model would go there"),
        ("page.html", "-o page.wasm", "the page of the packed model would go there"),
        ("other.txt", "-o other.wasm --name other", "--name is for C"),
        ("other.txt", "-o other.wasm --test other.js", "each needs a file of its own"),
        ("other.txt", "-o other.wasm --certificate other.html", "each needs a file of its own"),
    ] {
        folder.file(file, "mine");
        let run = folder.run(&format!("pack three.txt {words}"));
        assert!(run.code == Some(2) && run.stderr.contains(text), "{words}: {}", run.stderr);
        assert_eq!(std::fs::read(folder.path().join(file)).unwrap(), b"mine");
        assert!(!folder.path().join("other.wasm").exists());
    }
}

/// Leaves of 8 and 16 bits: the program gives the sums that its test expects, the checker accepts
/// the certificate, and its claims can be asked for.
#[test]
fn quantised_leaves_compile_pass_their_test_and_are_certified() {
    let folder = Folder::new();
    folder.file("flowers.txt", FLOWERS);
    folder.file("three.txt", THREE_CLASSES);
    folder.file("labels.skops", LABELS);
    folder.file("unnamed.json", UNNAMED);
    for model in ["flowers.txt", "three.txt", "labels.skops", "unnamed.json"] {
        let mut bounds = Vec::new();
        for bits in [8, 16] {
            let run = folder.run(&format!(
                "pack {model} -o model.c --leaves {bits} --test test.c --certificate model.cert --json --time-limit 20s"
            ));
            let told: serde_json::Value = serde_json::from_str(run.ok()).unwrap();
            assert_eq!(told["outcome"], "scores_within", "{told}");
            let [most, least] = ["within", "at_least"].map(|key| told["leaves"][key].as_f64().unwrap());
            assert!(least <= most && most <= told["leaves"]["by_trees"].as_f64().unwrap(), "{told}");
            bounds.push(most);
            let (code, words) = compiled(&folder, "model.c test.c");
            assert!(code == 0 && words.starts_with("0 of "), "{model}: {words}");
            assert_eq!(check(&folder, &format!("{model} model.c model.cert")), 0);
            assert_eq!(check(&folder, &format!("{model} model.c model.cert --every-input")), 0);
            assert_eq!(check(&folder, &format!("{model} model.c model.cert --within {most:e}")), 0);
            let less = most * 0.999;
            assert_eq!(check(&folder, &format!("{model} model.c model.cert --within {less:e}")), 1);
            // It claims nothing about decisions.
            assert_eq!(check(&folder, &format!("{model} model.c model.cert --band 1e-3")), 1);
        }
        assert!(bounds[1] <= bounds[0], "{model}: {bounds:?}");
    }
}

#[test]
fn the_same_decisions_are_proved_or_an_input_is_shown_and_nothing_is_written() {
    let folder = Folder::new();
    folder.file("flowers.txt", FLOWERS);
    folder.file("three.txt", THREE_CLASSES);
    let (mut same, mut different) = (0, 0);
    for model in ["flowers.txt", "three.txt"] {
        for bits in [8, 16] {
            let run = folder.run(&format!(
                "pack {model} -o {bits}.c --leaves {bits} --same-decisions --certificate {bits}.cert --json --time-limit 60s"
            ));
            let told: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
            match run.code {
                Some(0) => {
                    same += 1;
                    assert_eq!(told["outcome"], "same_decisions");
                    assert_eq!(told["decisions"]["outcome"], "identical");
                    assert_eq!(check(&folder, &format!("{model} {bits}.c {bits}.cert --band 1e-3")), 0);
                    std::fs::remove_file(folder.path().join(format!("{bits}.c"))).unwrap();
                }
                code => {
                    different += 1;
                    assert_eq!(
                        (code, &told["outcome"]),
                        (Some(1), &serde_json::json!("different")),
                        "{told}"
                    );
                    assert!(told["decisions"]["counterexample"]["input"].is_object(), "{told}");
                    assert!(!folder.path().join(format!("{bits}.c")).exists());
                }
            }
        }
    }
    assert!(same > 0, "{same} models decide alike, {different} do not");
}

#[test]
fn leaves_go_with_source_and_have_16_or_8_bits() {
    let folder = Folder::new();
    folder.file("model.txt", FLOWERS);
    for (words, message) in [
        ("-o model.spk --leaves 8", "--leaves is for a model as source"),
        ("-o model.c --leaves 12", "leaves are exact, or have 16 or 8 bits"),
        ("-o model.c --same-decisions", "--leaves"),
        ("-o model.c --domain inputs.toml", "--leaves"),
    ] {
        let run = folder.run(&format!("pack model.txt {words}"));
        assert!(run.code == Some(2) && run.stderr.contains(message), "{words}: {}", run.stderr);
        assert!(!folder.path().join("model.c").exists());
    }
}

/// One certificate for pruning and quantising, and a bound for a domain.
#[test]
fn quantised_leaves_of_a_pruned_model_and_of_a_domain() {
    let folder = Folder::new();
    folder.file("model.txt", FLOWERS);
    let run =
        folder.run("pack model.txt -o model.h --prune --leaves 16 --certificate model.cert --time-limit 60s");
    assert!(run.ok().contains("from the pruned model's"), "{}", run.stdout);
    assert_eq!(check(&folder, "model.txt model.h model.cert"), 0);
    // The pruned model's scores differ, so nothing is claimed about the original's.
    assert_eq!(check(&folder, "model.txt model.h model.cert --within 1e9"), 1);
    let run = folder.run(
        "pack model.txt -o own.c --leaves 8 --no-missing --certificate own.cert --json --time-limit 20s",
    );
    let told: serde_json::Value = serde_json::from_str(run.ok()).unwrap();
    assert_eq!(check(&folder, "model.txt own.c own.cert"), 0);
    let everything = check(&folder, "model.txt own.c own.cert --every-input");
    // If the search found a smaller bound, it covers the domain only; otherwise the bound covers
    // every input.
    let searched = told["within"] != told["leaves"]["by_trees"];
    assert_eq!(
        (everything, &told["leaves"]["scope"]),
        (u8::from(searched), &serde_json::json!("no_missing"))
    );
}
