//! Regressors, and `secateur verify --scores`: bounds from both sides, limits, exit codes and
//! refusals.

use serde_json::Value;

use crate::support::{FLOWERS, Folder, THREE_CLASSES};

/// The flowers model as a regressor.
fn regressor() -> String {
    let text = FLOWERS.replace("objective=binary sigmoid:1", "objective=regression");
    assert_ne!(text, FLOWERS);
    text
}

/// The same with one leaf changed by a quarter.
fn moved() -> String {
    let text = regressor().replace("leaf_value=-0.5 0.25 0.7", "leaf_value=-0.5 0.5 0.7");
    assert_ne!(text, regressor());
    text
}

#[test]
fn a_regressor_is_inspected_and_predicts_values() {
    let folder = Folder::new();
    folder.file("r.txt", regressor());
    folder.file("exp.txt", regressor().replace("objective=regression", "objective=poisson"));
    let json: Value = serde_json::from_str(folder.run("inspect r.txt --json").ok()).unwrap();
    assert_eq!(json["decision"]["rule"], "scores");
    assert_eq!(json["classes"]["count"], 0);
    assert_eq!(json["band"]["score"], Value::Null);
    assert!(folder.run("inspect r.txt").ok().contains("none: a regressor or ranker"));
    let names = json["features"]["columns"].as_array().unwrap();
    let header: Vec<&str> = names.iter().map(|column| column["name"].as_str().unwrap()).collect();
    folder.file("t.csv", format!("{}\n{}\n", header.join(","), vec!["1"; header.len()].join(",")));
    let values = folder.run("predict r.txt --data t.csv").ok().to_owned();
    let raw = folder.run("predict r.txt --data t.csv --raw").ok().to_owned();
    assert!(values.starts_with("value\n") && raw.starts_with("score_0\n"), "{values}{raw}");
    assert_eq!(values.lines().nth(1), raw.lines().nth(1));
    // The last bits of a value that ends in exp are not fixed: the raw score is printed, with a
    // note.
    let run = folder.run("predict exp.txt --data t.csv");
    assert!(
        run.ok().starts_with("score_0\n") && run.stderr.contains("these are raw scores"),
        "{}",
        run.stderr
    );
}

#[test]
fn the_greatest_difference_is_told_from_both_sides() {
    let folder = Folder::new();
    folder.file("a.txt", regressor());
    folder.file("b.txt", moved());
    let json: Value = serde_json::from_str(folder.run("verify a.txt b.txt --scores --json").ok()).unwrap();
    assert_eq!(json["outcome"], "measured");
    let (most, least) =
        (json["scores"]["at_most"].as_f64().unwrap(), json["scores"]["at_least"].as_f64().unwrap());
    assert!(least <= 0.25 + 1e-12 && 0.25 - 1e-12 <= most && most - least < 1e-12, "{least} {most}");
    assert_eq!(json["scores"]["ended"], true);
    assert_eq!(json["scores"]["probability"], Value::Null);
    let words = folder.run("verify a.txt b.txt --scores");
    assert!(words.ok().starts_with("scores at most 2.5"), "{}", words.stdout);
    assert!(words.stdout.contains("without a certificate"), "{}", words.stdout);
    assert!(folder.run("verify a.txt b.txt --scores --within 0.26").ok().starts_with("within 0.26: proved"));
    let exceeds = folder.run("verify a.txt b.txt --scores --within 0.2");
    assert_eq!(exceeds.code, Some(1), "{}", exceeds.stderr);
    assert!(exceeds.stdout.starts_with("exceeds 0.2\n"), "{}", exceeds.stdout);
    assert_eq!(folder.run("verify a.txt b.txt --scores --within 0.2 --time-limit 0s").code, Some(3));
}

/// The checker's exit code for files of the folder.
fn check(folder: &Folder, names: &str, options: &[&str]) -> u8 {
    let files = names.split_whitespace().map(|name| folder.path().join(name).into_os_string());
    let words = std::iter::once("secateur-check".into()).chain(files).chain(options.iter().map(Into::into));
    secateur_check::run(words)
}

#[test]
fn a_limit_is_certified_and_checked() {
    let folder = Folder::new();
    folder.file("a.txt", regressor());
    folder.file("b.txt", moved());
    let run = folder.run("verify a.txt b.txt --scores --within 0.26 --certificate p.cert");
    assert!(run.ok().contains("independent"), "{}", run.stdout);
    assert!(run.stdout.contains("p.cert"), "{}", run.stdout);
    assert_eq!(check(&folder, "a.txt b.txt p.cert", &["--within=0.26"]), 0);
    assert_eq!(check(&folder, "a.txt b.txt p.cert", &["--within=0.25"]), 1);
    assert_eq!(check(&folder, "a.txt b.txt p.cert", &["--band=1"]), 1);
    assert_eq!(check(&folder, "a.txt a.txt p.cert", &[]), 1);
    // Without a limit, the bound that the search found is proved.
    let run = folder.run("verify a.txt b.txt --scores --json --certificate q.cert");
    let json: Value = serde_json::from_str(run.ok()).unwrap();
    assert_eq!((&json["checked"], &json["certificate"]), (&true.into(), &"q.cert".into()));
    let most = json["scores"]["at_most"].as_f64().unwrap();
    assert_eq!(check(&folder, "a.txt b.txt q.cert", &[&format!("--within={most:e}")]), 0);
    // A limit that does not hold has no certificate.
    let run = folder.run("verify a.txt b.txt --scores --within 0.2 --certificate r.cert");
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    assert!(!folder.path().join("r.cert").exists());
    // Nor is there a certificate if the time was too short for a proof.
    let run = folder.run("verify a.txt b.txt --scores --certificate s.cert --time-limit 0s");
    assert_eq!(run.code, Some(3), "{}", run.stdout);
    assert!(!folder.path().join("s.cert").exists());
    assert_eq!(folder.run("verify a.txt b.txt --scores --certificate a.txt").code, Some(2));
}

#[test]
fn a_regressor_is_pruned_within_a_distance() {
    let folder = Folder::new();
    folder.file("a.txt", regressor());
    folder.file("c.txt", FLOWERS);
    let run = folder.run("prune a.txt -o out.txt --within 100 --certificate out.cert");
    assert!(run.ok().contains("no score moved by more than 100"), "{}", run.stdout);
    assert!(run.stdout.contains("not claimed, where scores are kept"), "{}", run.stdout);
    assert_eq!(check(&folder, "a.txt out.txt out.cert", &["--within=100"]), 0);
    assert_eq!(check(&folder, "a.txt out.txt out.cert", &["--within=99"]), 1);
    let json: Value =
        serde_json::from_str(folder.run("prune c.txt -o small.txt --within 0.01 --json").ok()).unwrap();
    assert_eq!(
        (&json["within"], &json["band"], &json["lower_bound"]),
        (&0.01.into(), &Value::Null, &Value::Null)
    );
    assert_eq!(json["checked"], true);
    folder.run("verify c.txt small.txt --scores --within 0.01").ok();
    for (words, said) in [
        ("prune a.txt -o x.txt", "prune --within"),
        ("prune a.txt -o x.txt --within -1", "no distance"),
        ("prune a.txt -o x.txt --within nan", "no distance"),
        ("prune a.txt -o x.txt --within 1 --effort minimum", "no smallest size"),
    ] {
        let message = folder.run(words).refused().to_owned();
        assert!(message.contains(said), "{words}: {message}");
    }
    for words in ["prune a.txt -o x.txt --within 1 --band 0", "prune a.txt -o x.txt --within 1 --method ic"] {
        assert_eq!(folder.run(words).code, Some(2), "{words}");
    }
}

#[test]
fn classifiers_say_what_it_means_as_a_probability() {
    let folder = Folder::new();
    folder.file("a.txt", FLOWERS);
    folder.file("b.txt", FLOWERS.replace("leaf_value=-0.5 0.25 0.7", "leaf_value=-0.5 0.5 0.7"));
    let json: Value = serde_json::from_str(folder.run("verify a.txt b.txt --scores --json").ok()).unwrap();
    let probability = json["scores"]["probability"].as_f64().unwrap();
    assert!((probability - (0.25f64 / 4.0).tanh()).abs() < 1e-9, "{probability}");
}

#[test]
fn what_is_about_decisions_does_not_go_with_scores() {
    let folder = Folder::new();
    folder.file("a.txt", regressor());
    folder.file("c.txt", FLOWERS);
    folder.file("three.json", THREE_CLASSES);
    for words in [
        "verify a.txt a.txt --scores --band 0",
        "verify a.txt a.txt --doubles",
        "verify a.txt a.txt --scores --doubles --certificate c.cert",
        "verify a.txt a.txt --within 1",
        "verify a.txt a.txt --scores --within much",
    ] {
        assert_eq!(folder.run(words).code, Some(2), "{words}");
    }
    for (words, said) in [
        ("verify a.txt a.txt", "verify --scores"),
        ("verify a.txt c.txt", "a regressor or ranker"),
        ("verify a.txt a.txt --scores --within -1", "no limit for differences"),
        ("verify a.txt a.txt --scores --within nan", "no limit for differences"),
    ] {
        let message = folder.run(words).refused().to_owned();
        assert!(message.contains(said), "{words}: {message}");
    }
    assert_eq!(folder.run("verify a.txt three.json --scores").code, Some(2));
    // A regressor and a classifier with the same trees have the same scores.
    assert!(folder.run("verify a.txt c.txt --scores --within 1e-9").ok().starts_with("within"));
}

#[test]
fn a_page_about_scores_has_the_numbers_of_the_answer() {
    let folder = Folder::new();
    folder.file("a.txt", regressor());
    folder.file("b.txt", moved());
    let json: Value =
        serde_json::from_str(folder.run("verify a.txt b.txt --scores --report p.html --json").ok()).unwrap();
    let page = std::fs::read_to_string(folder.path().join("p.html")).unwrap();
    for (key, value) in [("at_most", &json["scores"]["at_most"]), ("at_least", &json["scores"]["at_least"])] {
        let shown = format!("data-key=\"scores.{key}\" value=\"{:?}\"", value.as_f64().unwrap());
        assert!(page.contains(&shown), "{shown}: {page}");
    }
    assert!(page.contains("Where the two scores part") && page.contains("When one column moves"));
    // If an input exceeds the limit, the page says so and shows it.
    assert_eq!(folder.run("verify a.txt b.txt --scores --within 0.1 --report q.html").code, Some(1));
    let page = std::fs::read_to_string(folder.path().join("q.html")).unwrap();
    assert!(page.contains("Exceeded") && page.contains("data-key=\"scores.within\" value=\"0.1\""));
}

#[test]
fn doubles_change_nothing_where_both_libraries_read_them() {
    let folder = Folder::new();
    folder.file("a.txt", regressor());
    folder.file("b.txt", moved());
    let run = folder.run("verify a.txt b.txt --scores --doubles");
    assert!(run.ok().contains("every f64 number") && !run.stdout.contains("rounds them"), "{}", run.stdout);
}
