//! `advise`: what would help a model, measured.

use serde_json::Value;

use crate::support::{Folder, LABELS, THREE_CLASSES, UNNAMED};

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_model_that_pruning_helps_is_told_so_and_the_command_works() {
    let folder = Folder::new();
    folder.run("demo --dir demo").ok();
    let run = folder.run("advise demo/loans.txt --data demo/loans.csv --time-limit 20s");
    let words = one_line(run.ok());
    assert!(words.contains("pack ") && words.contains("with every bit of the scores"), "{words}");
    assert!(words.contains("secateur pack demo/loans.txt -o model.spk"), "{words}");
    assert!(words.contains("advice prune it"), "{words}");
    // The commands can be copied.
    assert!(words.contains("secateur prune demo/loans.txt -o smaller.txt "), "{words}");
    folder.run("prune demo/loans.txt -o smaller.txt").ok();
    let object = json(folder.run("advise demo/loans.txt --json --time-limit 20s").ok());
    assert_eq!(object["advice"], "prune");
    assert_eq!(object["trials"][0]["way"], "decisions");
    let left = object["trials"][0]["trees"].as_u64().unwrap();
    assert!(left < object["trees"].as_u64().unwrap() / 2, "{object}");
    assert!(object["pack"]["row_seconds"].as_f64().unwrap() > 0.0);
    let packed = folder.run("pack demo/loans.txt -o model.spk --json");
    assert_eq!(json(packed.ok())["bytes"]["after"], object["pack"]["bytes"]);
    // Nothing was written but what the other commands wrote.
    assert_eq!(folder.names(), ["demo", "model.spk", "smaller.txt"]);
}

#[test]
fn a_model_that_pruning_does_not_help_is_told_to_pack() {
    let folder = Folder::new();
    folder.file("model.json", UNNAMED);
    let run = folder.run("advise model.json --time-limit 20s");
    assert!(one_line(run.ok()).contains("advice pack it"), "{}", run.stdout);
    assert!(one_line(run.ok()).contains("none can go (proved)"), "{}", run.stdout);
    // Several classes, a scikit-learn model with labels, and a packed model, which is not pruned.
    folder.file("three.txt", THREE_CLASSES);
    folder.file("labels.skops", LABELS);
    for model in ["three.txt", "labels.skops"] {
        folder.run(&format!("advise {model} --time-limit 20s")).ok();
    }
    folder.run("pack model.json -o model.spk").ok();
    let object = json(folder.run("advise model.spk --json").ok());
    assert!(object["trials"][0]["refused"].as_str().unwrap().contains("packed"), "{object}");
    // Without time there are no trials that end, but there is an answer.
    let object = json(folder.run("advise model.json --json --time-limit 0s").ok());
    assert!(object["pack"]["bytes"].as_u64().unwrap() > 0, "{object}");
}

#[test]
fn bad_input_is_refused() {
    let folder = Folder::new();
    folder.file("model.json", UNNAMED);
    assert!(folder.run("advise none.json").refused().contains("there is no such file"));
    assert!(folder.run("advise model.json --target y").refused().contains("--target goes with --data"));
    assert!(folder.run("advise model.json --data none.csv").refused().contains("none.csv"));
}
