//! Category labels in `verify`: they are matched by label, reported in every output, and refused if
//! they cannot be matched.

use secateur::ModelFile;
use secateur_checker::{Limits, Verdict, check};
use serde_json::{Value, json};

use crate::support::{FLOWERS, Folder};

/// The flowers model with this list of labels, and this set of codes in its split on the colour.
fn flowers(labels: &str, set: u32) -> String {
    let text = FLOWERS
        .replace(r#"[["red", "green", "blue"]]"#, labels)
        .replace("cat_threshold=5", &format!("cat_threshold={set}"));
    assert!(text.contains(labels) && text.contains(&format!("cat_threshold={set}")));
    text
}

#[test]
fn the_same_codes_for_other_labels_are_different() {
    let folder = Folder::new();
    folder.file("a.txt", FLOWERS);
    folder.file("b.txt", flowers(r#"[["green", "red", "blue"]]"#, 5));
    let run = folder.run("verify a.txt b.txt");
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    assert!(run.stdout.starts_with("different\n"), "{}", run.stdout);
    assert!(run.stdout.contains("matched by label in colour"), "{}", run.stdout);
    assert!(run.stdout.contains("in colour: category"), "{}", run.stdout);
    let shown = run.stdout.lines().find(|line| line.trim_start().starts_with("colour")).unwrap();
    assert!(shown.ends_with("red") || shown.ends_with("green"), "{shown}");
    let json: Value = serde_json::from_str(&folder.run("verify a.txt b.txt --json").stdout).unwrap();
    assert_eq!(json["labels"], json!({"by_label": ["colour"], "by_code": [], "unplaced": false}));
    let example = &json["counterexample"];
    let code = example["input"]["colour"].as_f64().unwrap();
    let label = ["red", "green", "blue"][code as usize];
    assert_eq!(example["labels"], json!({ "colour": label }));
}

#[test]
fn rows_of_a_table_are_counted_by_label() {
    let folder = Folder::new();
    folder.file("a.txt", FLOWERS);
    folder.file("b.txt", flowers(r#"[["green", "red", "blue"]]"#, 6));
    let mut table = String::from("length,width,colour\n");
    for colour in ["red", "green", "blue", ""] {
        for numbers in ["0,0", "9,0", "0,9", "9,9"] {
            table += &format!("{numbers},{colour}\n");
        }
    }
    folder.file("rows.csv", table);
    let run = folder.run("verify a.txt b.txt --data rows.csv --json");
    let json: Value = serde_json::from_str(run.ok()).unwrap();
    assert_eq!(json["data"]["rows"], 16, "{json}");
    assert_eq!(json["data"]["changed_in_band"], 0, "{json}");
}

#[test]
fn other_codes_for_the_same_labels_are_identical() {
    let folder = Folder::new();
    folder.file("a.txt", FLOWERS);
    let recoded = flowers(r#"[["green", "red", "blue"]]"#, 6);
    folder.file("b.txt", &recoded);
    let run = folder.run("verify a.txt b.txt --certificate proof --report page.html");
    assert!(run.ok().contains("matched by label in colour"), "{}", run.stdout);
    assert!(folder.read("page.html").contains("matched by label in colour"));
    let models = [FLOWERS, &recoded].map(|text| ModelFile::parse(text.as_bytes()).unwrap());
    let proof = std::fs::read(folder.path().join("proof")).unwrap();
    let judge = |pruned: &ModelFile| {
        check(models[0].ensemble(), pruned.ensemble(), &proof[..], &Limits::default()).unwrap()
    };
    let Verdict::Valid(proved) = judge(&models[1]) else { panic!("{:?}", judge(&models[1])) };
    assert_eq!(proved.labels.by_label, ["colour"]);
    // A model with other labels is another model.
    let other = ModelFile::parse(flowers(r#"[["green", "blue", "red"]]"#, 6).as_bytes()).unwrap();
    let Verdict::Invalid { reason, .. } = judge(&other) else { panic!("{:?}", judge(&other)) };
    assert_eq!(reason.code(), "digest.pruned");
}

#[test]
fn labels_of_one_model_are_compared_by_code_and_loudly() {
    let folder = Folder::new();
    folder.file("a.txt", FLOWERS);
    folder.file("b.txt", flowers("[]", 5));
    let run = folder.run("verify a.txt b.txt");
    assert!(run.ok().contains("matched BY CODE in colour"), "{}", run.stdout);
    let json: Value = serde_json::from_str(folder.run("verify a.txt b.txt --json").ok()).unwrap();
    assert_eq!(json["labels"], json!({"by_label": [], "by_code": ["colour"], "unplaced": false}));
}

#[test]
fn lists_that_cannot_be_matched_are_refused() {
    let folder = Folder::new();
    folder.file("a.txt", FLOWERS);
    folder.file("mixed.txt", flowers(r#"[["green", "red", 3]]"#, 5));
    folder.file("more.txt", flowers(r#"[["green", "red", "blue"], ["s", "m"]]"#, 5));
    let run = folder.run("verify a.txt mixed.txt");
    assert!(run.refused().contains("column colour"), "{}", run.stderr);
    let run = folder.run("verify a.txt more.txt");
    assert!(run.refused().contains("does not say which of its columns"), "{}", run.stderr);
    assert!(folder.run("verify more.txt more.txt").ok().starts_with("identical"));
}
