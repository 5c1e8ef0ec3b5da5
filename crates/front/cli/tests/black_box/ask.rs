//! `secateur ask`: every question, every exit code, rules, refusals, and certificates that
//! `secateur-check MODEL CERTIFICATE` accepts.

use serde_json::Value;

use crate::support::{FLOWERS, Folder, LABELS, Run, THREE_CLASSES};

fn json(run: &Run) -> Value {
    serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {} {}", run.stdout, run.stderr))
}

/// The checker's own words about a certificate for one model.
fn check(folder: &Folder, words: &str) -> u8 {
    let words = words.split_whitespace().map(|word| match word.contains('.') {
        true => folder.path().join(word).into_os_string(),
        false => word.into(),
    });
    secateur_check::run(std::iter::once("secateur-check".into()).chain(words))
}

fn flowers() -> Folder {
    let folder = Folder::new();
    folder.file("m.txt", FLOWERS);
    folder
}

#[test]
fn the_range_is_between_scores_that_are_reached() {
    let folder = flowers();
    let words = folder.run("ask m.txt range --certificate r.cert");
    assert!(words.ok().starts_with("range: proved\n"), "{}", words.stdout);
    // Leaves -0.5, 0.25 and 0.7 beside 0.1 and -0.3.
    let number = |text: &str| text.parse::<f64>().unwrap();
    let found = json(&folder.run("ask m.txt range --json"));
    assert_eq!(found["scores"][0]["at_least"].as_f64().unwrap(), -0.5 + -0.3);
    assert_eq!(found["scores"][0]["at_most"].as_f64().unwrap(), number("0.7") + number("0.1"));
    assert_eq!(found["checked"], true);
    assert!(found["sentence"].as_str().unwrap().contains("(both are reached)"), "{found}");
    assert!(found["sentence"].as_str().unwrap().ends_with("on every input that the library accepts"));
    assert_eq!(found["rows"].as_array().unwrap().len(), 2);
    assert!(found["probability"][0].as_f64().unwrap() < found["probability"][1].as_f64().unwrap());
    assert_eq!(check(&folder, "m.txt r.cert"), 0);
    // A certificate about one model is no proof about two.
    assert_eq!(check(&folder, "m.txt m.txt r.cert"), 2);
    assert_eq!(check(&folder, "m.txt r.cert --within 1"), 1);
    assert!(folder.run("ask m.txt range --at-most 0.9 --at-least -0.9").ok().starts_with("range: proved\n"));
    let refuted = folder.run("ask m.txt range --at-most 0.5 --certificate no.cert");
    assert_eq!(refuted.code, Some(1), "{}", refuted.stderr);
    assert!(refuted.stdout.contains("not every raw score is at most 0.5"), "{}", refuted.stdout);
    assert!(!folder.names().contains(&"no.cert".to_owned()));
    assert_eq!(folder.run("ask m.txt range --at-most 0.5 --time-limit 0s").code, Some(3));
}

#[test]
fn what_a_column_moves_is_shown_by_two_rows() {
    let folder = flowers();
    let found = json(&folder.run("ask m.txt moves colour --json --certificate c.cert"));
    let most = found["moved"]["at_most"].as_f64().unwrap();
    let least = found["moved"]["at_least"].as_f64().unwrap();
    assert!(least <= 0.4 + 1e-12 && 0.4 - 1e-12 <= most && most - least < 1e-12, "{found}");
    assert_eq!(found["moved"]["keeps_above"], most);
    let rows = found["rows"].as_array().unwrap();
    for column in ["length", "width"] {
        assert_eq!(rows[0]["input"][column], rows[1]["input"][column]);
    }
    assert_ne!(rows[0]["input"]["colour"], rows[1]["input"]["colour"]);
    assert_eq!(check(&folder, "m.txt c.cert"), 0);
    let words = folder.run("ask m.txt moves colour");
    assert!(words.ok().contains("farther than 0.4") && words.stdout.contains("before"), "{}", words.stdout);
    assert!(folder.run("ask m.txt moves colour --at-most 0.41").ok().starts_with("moves: proved\n"));
    assert_eq!(folder.run("ask m.txt moves colour --at-most 0.3").code, Some(1));
    let keeps = folder.run("ask m.txt keeps colour");
    assert_eq!(keeps.code, Some(1), "{}", keeps.stdout);
    assert!(keeps.stdout.starts_with("keeps: refuted\n"));
    // Where the score is far from zero, the colour changes nothing.
    folder.file("far.toml", "missing = false\n[columns.length]\nmin = 3\n[columns.width]\nmin = 2\n");
    let keeps = folder.run("ask m.txt keeps colour --domain far.toml --certificate k.cert");
    assert!(keeps.ok().contains("on every input of the domain"), "{}", keeps.stdout);
    assert_eq!(check(&folder, "m.txt k.cert"), 0);
}

#[test]
fn a_score_that_never_falls_is_proved_bit_for_bit() {
    let folder = flowers();
    let up = json(&folder.run("ask m.txt monotone width up --json --certificate w.cert"));
    assert_eq!((&up["outcome"], &up["bits"]), (&Value::from("proved"), &Value::from(true)), "{up}");
    assert_eq!(check(&folder, "m.txt w.cert"), 0);
    let down = folder.run("ask m.txt monotone width down");
    assert_eq!(down.code, Some(1), "{}", down.stderr);
    assert!(down.stdout.contains("rises when width rises"), "{}", down.stdout);
    assert!(folder.run("ask m.txt monotone colour up").refused().contains("categories"));
    assert!(folder.run("ask m.txt monotone width sideways").refused().contains("up"));
    assert!(folder.run("ask m.txt monotone width").refused().contains("direction"));
    folder.file("three.txt", THREE_CLASSES);
    assert!(folder.run("ask three.txt monotone x up").refused().contains("say which one is meant"));
    let of = folder.run("ask three.txt monotone x up --of 0");
    assert!(matches!(of.code, Some(0 | 1)), "{}", of.stderr);
}

#[test]
fn classes_are_decided_always_or_a_row_shows_another() {
    let folder = Folder::new();
    folder.file("m.skops", LABELS);
    let found = json(&folder.run("ask m.skops decides no --json"));
    assert_eq!(found["outcome"], "refuted");
    assert_eq!(found["rows"][0]["class"], "yes, please");
    let mut command = folder.command();
    command.args(["ask", "m.skops", "decides", "--never", "yes, please", "--json"]);
    assert_eq!(json(&Run::of(command))["outcome"], "refuted");
    assert!(folder.run("ask m.skops decides maybe").refused().contains("has no class \"maybe\""));
    assert!(folder.run("ask m.skops decides").refused().contains("needs a class"));
    let folder = flowers();
    let open =
        json(&folder.run("ask m.txt decides 1 --when length>=3 --when width>=2 --when colour=0 --json"));
    assert_eq!(open["outcome"], "proved", "{open}");
    assert!(open["inputs"].as_str().unwrap().contains("length"), "{open}");
    assert_eq!(folder.run("ask m.txt decides 1 --when length>=3").code, Some(1));
    for (when, told) in [
        ("length", "no condition"),
        ("length>=x", "no condition"),
        ("breadth=1", "no column"),
        ("colour>=1", "categories"),
    ] {
        let run = folder.run(&format!("ask m.txt decides 1 --when {when}"));
        assert!(run.refused().contains(told), "{when}: {}", run.stderr);
    }
}

/// Two rows: length, width, colour.
const ROWS: &str = "length,width,colour\n1.0,0.5,0\n3.0,2.0,1\n";

#[test]
fn a_row_keeps_its_class_or_a_row_shows_that_it_does_not() {
    let folder = flowers();
    folder.file("t.csv", ROWS);
    // Of two rows there are two certificates, numbered like the rows.
    let found = json(&folder.run(
        "ask m.txt robust --data t.csv --within length=0.01 --within width=0.01 --json --certificate r.cert",
    ));
    assert_eq!(
        (&found["outcome"], &found["checked"]),
        (&Value::from("proved"), &Value::from(true)),
        "{found}"
    );
    assert_eq!(found["cases"].as_array().unwrap().len(), 2);
    for row in [1, 2] {
        assert_eq!(check(&folder, &format!("m.txt r-{row}.cert")), 0);
    }
    assert!(!folder.names().contains(&"r.cert".to_owned()));
    let far =
        json(&folder.run("ask m.txt robust --data t.csv --row 2 --within length=9 --within width=9 --json"));
    assert_eq!(far["outcome"], "refuted", "{far}");
    let rows = far["cases"][0]["rows"].as_array().unwrap();
    assert_ne!(rows[0]["class"], rows[1]["class"]);
    assert_eq!(rows[0]["input"]["colour"], rows[1]["input"]["colour"]);
    let share = "ask m.txt robust --data t.csv --within length=9 --within width=9 --share";
    let kept = folder.run(&format!("{share} 1"));
    assert_eq!(kept.code, Some(1), "{}", kept.stderr);
    assert!(folder.run(&format!("{share} 0")).ok().starts_with("robust: proved\n"));
    // Without a share all rows are meant.
    assert_eq!(folder.run(share.trim_end_matches(" --share")).code, kept.code);
    // The radius: nothing below it, and the row that is shown at it.
    let found = json(&folder.run(
        "ask m.txt robust --data t.csv --row 1 --unit length=1 --unit width=2 --json --certificate u.cert",
    ));
    let radius = &found["cases"][0]["radius"];
    assert_eq!(
        (&found["outcome"], &radius["exact"]),
        (&Value::from("proved"), &Value::from(true)),
        "{found}"
    );
    let [before, after] = [0, 1].map(|at| &found["cases"][0]["rows"][at]["input"]);
    let moved =
        |name: &str, unit: f64| (before[name].as_f64().unwrap() - after[name].as_f64().unwrap()).abs() / unit;
    let far = moved("length", 1.0).max(moved("width", 2.0));
    assert!(
        radius["at_least"].as_f64().unwrap() <= far && far <= radius["at_most"].as_f64().unwrap(),
        "{found}"
    );
    assert_eq!(check(&folder, "m.txt u.cert"), 0);
    let words = folder.run("ask m.txt robust --data t.csv --unit length=1");
    assert!(words.ok().contains("exact for 2 of 2 rows"), "{}", words.stdout);
}

#[test]
fn a_reason_and_the_nearest_other_input_of_a_row_are_proved() {
    let folder = flowers();
    folder.file("t.csv", ROWS);
    for row in [1, 2] {
        let run =
            format!("ask m.txt explain --data t.csv --row {row} --smallest --json --certificate e.cert");
        let found = json(&folder.run(&run));
        let because = &found["cases"][0]["because"];
        assert_eq!(
            (&found["outcome"], &because["minimal"]),
            (&Value::from("proved"), &Value::from(true)),
            "{found}"
        );
        assert_eq!(because["at_least"].as_u64().unwrap() as usize, because["kept"].as_array().unwrap().len());
        assert_eq!(check(&folder, "m.txt e.cert"), 0);
        let run = format!(
            "ask m.txt counterfactual --data t.csv --row {row} --weight colour=0.5 --json --certificate c.cert"
        );
        let found = json(&folder.run(&run));
        let nearest = &found["cases"][0]["nearest"];
        assert_eq!(
            (&found["outcome"], &nearest["proved"]),
            (&Value::from("proved"), &Value::from(true)),
            "{found}"
        );
        let rows = found["cases"][0]["rows"].as_array().unwrap();
        assert_ne!(rows[0]["class"], rows[1]["class"]);
        assert_eq!(check(&folder, "m.txt c.cert"), 0);
        // It covers no domain, since it is about the inputs near a row.
        assert_eq!(check(&folder, "m.txt c.cert --every-input"), 1);
    }
    let frozen = folder.run("ask m.txt counterfactual --data t.csv --row 2 --frozen length,width,colour");
    assert!(frozen.ok().contains("no change of row 2"), "{}", frozen.stdout);
    let up = json(&folder.run("ask m.txt counterfactual --data t.csv --row 1 --frozen colour --only-up length,width --count-changes --json"));
    if up["cases"][0]["rows"].as_array().unwrap().len() > 1 {
        let [before, after] = [0, 1].map(|at| &up["cases"][0]["rows"][at]["input"]);
        assert!(after["length"].as_f64() >= before["length"].as_f64() && before["colour"] == after["colour"]);
    }
    let words = folder.run("ask m.txt explain --data t.csv --row 2");
    assert!(words.ok().contains("row 2 has class"), "{}", words.stdout);
}

#[test]
fn idle_columns_are_proved_together_and_the_others_shown() {
    let folder = flowers();
    // Where the score is far from zero, the colour changes nothing, and the others still do.
    folder.file("far.toml", "missing = false\n[columns.length]\nmin = 3\n[columns.width]\nmin = 2\n");
    let run = folder.run("ask m.txt idle --domain far.toml --certificate i.cert");
    assert!(run.ok().starts_with("idle: proved\n"), "{}", run.stdout);
    assert!(run.stdout.contains("alone or together, never changes the decision"), "{}", run.stdout);
    assert_eq!(check(&folder, "m.txt i.cert"), 0);
    let found = json(&folder.run("ask m.txt idle --json"));
    assert_eq!(
        (&found["outcome"], &found["checked"]),
        (&Value::from("proved"), &Value::from(false)),
        "{found}"
    );
    assert_eq!(found["columns"], serde_json::json!([]));
    for unit in found["idle"].as_array().unwrap() {
        assert_eq!(unit["outcome"], "refuted");
        assert_ne!(unit["rows"][0]["class"], unit["rows"][1]["class"], "{unit}");
    }
    // Nothing to prove is no failure; no time is.
    assert_eq!(folder.run("ask m.txt idle --certificate none.cert").code, Some(0));
    assert!(!folder.names().contains(&"none.cert".to_owned()));
    let open = folder.run("ask m.txt idle --domain far.toml --time-limit 0s");
    assert_eq!(open.code, Some(3), "{}", open.stdout);
    assert!(open.stdout.contains("3 open: the time limit was reached"), "{}", open.stdout);
    assert!(folder.run("ask m.txt idle colour").refused().contains("every column"));
}

#[test]
fn rules_are_asked_in_their_order() {
    let folder = flowers();
    folder.file("in.toml", "missing = false\n");
    folder.file(
        "rules.toml",
        "domain = \"in.toml\"\n[[rule]]\nkind = \"monotone\"\ncolumn = \"width\"\ndirection = \"up\"\n\
         [[rule]]\nkind = \"moves\"\ncolumn = \"colour\"\nat_most = 0.5\n\
         [[rule]]\nkind = \"decides\"\nclasses = 1\nwhen = { length = { min = 3 }, width = { min = 2 } }\n",
    );
    let run = folder.run("ask m.txt rules.toml --certificate p.cert");
    let stdout = run.ok();
    let kinds: Vec<&str> = stdout.lines().filter(|line| line.ends_with(": proved")).collect();
    assert_eq!(kinds, ["monotone: proved", "moves: proved", "decides: proved"], "{stdout}");
    assert!(stdout.contains("without missing values"), "{stdout}");
    for number in 1..=3 {
        assert_eq!(check(&folder, &format!("m.txt p-{number}.cert")), 0);
    }
    folder.file("bad.toml", "[[rule]]\nkind = \"moves\"\ncolumn = \"colour\"\nat_most = 0.1\n");
    assert_eq!(folder.run("ask m.txt bad.toml").code, Some(1));
    folder.file("wrong.toml", "[[rule]]\nkind = \"stable\"\n");
    assert!(folder.run("ask m.txt wrong.toml").refused().contains("wrong.toml: rule 1: there is no kind"));
    assert!(folder.run("ask m.txt none.toml").refused().contains("none.toml: the file: it cannot be read"));
}

#[test]
fn what_cannot_be_asked_is_told() {
    let folder = flowers();
    folder.file("t.csv", ROWS);
    for (words, told) in [
        ("ask m.txt what", "there is no question \"what\""),
        ("ask m.txt range length", "range takes no \"length\""),
        ("ask m.txt moves", "moves needs a column"),
        ("ask m.txt moves breadth", "no column \"breadth\"; it has \"length\""),
        ("ask m.txt moves colour --at-most -1", "finite number from zero up"),
        ("ask m.txt moves colour --at-least 1", "--at-least does not go with moves"),
        ("ask m.txt range --at-most nan", "no limit of scores"),
        ("ask m.txt range --at-most 0 --at-least 1", "no score is between them"),
        ("ask m.txt range --threshold 0.5", "a threshold is about the class"),
        ("ask m.txt decides 0 1", "every class is allowed"),
        ("ask m.txt range --certificate m.txt", "this is the model"),
        ("ask none.txt range", "no such file"),
        ("ask m.txt robust --within length=1", "give a table with --data"),
        ("ask m.txt robust --data t.csv", "one of them"),
        ("ask m.txt robust --data t.csv --within length", "write COLUMN=NUMBER"),
        ("ask m.txt robust --data t.csv --within length=-1", "no change of column"),
        ("ask m.txt robust --data t.csv --within length=1 --within 0=2", "named twice"),
        ("ask m.txt robust --data t.csv --within length=1 --share 2", "no share of rows"),
        ("ask m.txt robust --data t.csv --row 0 --within length=1", "--row counts from 1"),
        ("ask m.txt robust --data t.csv --row 3 --within length=1", "no row 3: the table has 2"),
        ("ask m.txt explain --data t.csv", "about one row, and the table has 2"),
        ("ask m.txt explain --data t.csv --within length=1", "--within does not go with explain"),
        ("ask m.txt counterfactual --data t.csv --row 1 --only-up colour", "has no order of its own"),
        ("ask m.txt counterfactual --data t.csv --row 1 --weight length=-1", "no weight of column"),
        ("ask m.txt counterfactual --data t.csv --row 1 --to 5", "has no class"),
        ("ask m.txt range --threshold 0.5", "robust, explain and counterfactual"),
    ] {
        let run = folder.run(words);
        assert!(run.refused().contains(told), "{words}: {}", run.stderr);
    }
    folder.file("r.txt", FLOWERS.replace("objective=binary sigmoid:1", "objective=regression"));
    assert!(folder.run("ask r.txt decides 1").refused().contains("it decides no class"));
    for question in ["robust --within length=1", "explain --row 1", "counterfactual --row 1"] {
        let run = folder.run(&format!("ask r.txt {question} --data t.csv"));
        assert!(run.refused().contains("ask instead"), "{question}: {}", run.stderr);
    }
    assert!(folder.run("ask r.txt range").ok().starts_with("range: proved\n"));
}
