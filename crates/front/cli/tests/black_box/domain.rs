//! `--domain` and `secateur domain`: what is claimed, that every output says so, and what is
//! refused.

use serde_json::Value;

use crate::prune::stumps;
use crate::support::Folder;

/// Two stumps that disagree wherever the columns do: `a` decides.
fn model() -> String {
    stumps(&[(0, 0.5, -1.0, 1.0), (1, 0.5, -0.75, 0.75), (0, 0.5, -0.5, 0.5)])
}

const EQUAL: &str = "[[groups]]\nkind = \"table\"\ncolumns = [\"a\", \"b\"]\nrows = [[0, 0], [1, 1]]\n";

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn a_claim_about_a_domain_is_said_everywhere() {
    let folder = Folder::new();
    folder.file("model.txt", model());
    folder.file("other.txt", stumps(&[(1, 0.5, -1.0, 1.0)]));
    folder.file("inputs.toml", EQUAL);
    // The models differ on some inputs, but not on those in the domain.
    assert_eq!(folder.run("verify model.txt other.txt --json").code, Some(1));
    let same =
        json(folder.run("verify model.txt other.txt --domain inputs.toml --json --certificate proof").ok());
    assert_eq!((&same["outcome"], &same["scope"]), (&Value::from("identical"), &Value::from("domain")));
    assert_eq!(same["domain"]["groups"][0]["rows"][1][0], 1.0, "{same}");
    assert!(same["domain"]["cells_log10"].as_f64().unwrap() < 0.31, "{same}");
    let words = folder.run("verify model.txt other.txt --domain inputs.toml");
    for part in [
        "claim for every input of the domain, as the libraries decide",
        "in every column; of those: a, b together take one of 2 rows",
    ] {
        // Line breaks do not matter.
        let told = words.ok().split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(told.contains(part), "{part:?} is not in\n{told}");
    }
    let pruned = json(
        folder
            .run("prune model.txt -o small.txt --domain inputs.toml --certificate small.cert --report page.html --json")
            .ok(),
    );
    assert_eq!(
        (&pruned["trees"]["after"], &pruned["minimal"]),
        (&Value::from(1), &Value::from(true)),
        "{pruned}"
    );
    assert_eq!((&pruned["checked"], &pruned["scope"]), (&Value::from(true), &Value::from("domain")));
    assert!(folder.read("page.html").contains("On every input of the domain ("), "the page claims more");
    assert!(folder.read("page.html").contains("a, b together take one of 2 rows"));
    let words = folder.run("prune model.txt -o small.txt --domain inputs.toml");
    assert!(words.ok().contains("unchanged for every input of the domain\n"), "{}", words.stdout);
    let facts = json(folder.run("inspect model.txt --domain inputs.toml --json").ok());
    assert_eq!(facts["domain"]["groups"][0]["kind"], "table");
    assert!(facts["log10_cells"].as_f64().unwrap() < 0.31, "{facts}");
    assert!(folder.run("inspect model.txt --domain inputs.toml").ok().contains("domain"));
}

#[test]
fn counterexamples_and_start_points_are_in_the_domain() {
    let folder = Folder::new();
    folder.file("model.txt", model());
    folder.file("other.txt", stumps(&[(0, 0.5, 1.0, -1.0)]));
    folder.file("inputs.toml", format!("{EQUAL}\n"));
    folder.file("table.csv", "a,b\n0,0\n0,1\n1,1\n7,7\n");
    let run = folder.run("verify model.txt other.txt --domain inputs.toml --data table.csv --json");
    assert_eq!(run.code, Some(1));
    let object = json(&run.stdout);
    let input = &object["counterexample"]["input"];
    assert_eq!(input["a"], input["b"], "{input}");
    assert_eq!(object["rows_outside_domain"]["rows"], 2, "{object}");
    assert_eq!(object["rows_outside_domain"]["first"][0]["row"], 1);
    assert!(
        run.stderr.contains("2 rows are outside of the domain (row 2 by a, row 4 by a)"),
        "{}",
        run.stderr
    );
    let run = folder.run("prune model.txt -o small.txt --domain inputs.toml --data table.csv");
    assert!(run.ok().contains("2 rows are outside of the domain"), "{}", run.stdout);
    assert!(run.stdout.contains("data            2 rows"), "{}", run.stdout);
}

/// A domain of inputs on which another model's score is at least 3: `a` and `b` are both high.
#[test]
fn scores_of_another_model_choose_the_inputs() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path().join("inputs")).unwrap();
    folder.file("model.txt", model());
    folder.file("other.txt", stumps(&[(1, 0.5, -1.0, 1.0)]));
    folder.file("inputs/score.txt", stumps(&[(0, 0.5, 0.0, 1.0), (1, 0.5, 0.0, 2.0)]));
    folder.file("inputs/high.toml", "[[where]]\nmodel = \"score.txt\"\nat_least = 3\n");
    folder.file("inputs/some.toml", "[[where]]\nmodel = \"score.txt\"\nat_least = 2\n");
    folder.file("table.csv", "a,b\n0,0\n1,1\n");
    let same = json(
        folder.run("verify model.txt other.txt --domain inputs/high.toml --json --certificate proof").ok(),
    );
    assert_eq!((&same["outcome"], &same["scope"]), (&Value::from("identical"), &Value::from("domain")));
    let own = &same["domain"]["where"][0];
    assert_eq!((&own["model"], &own["at_least"]), (&Value::from("score.txt"), &Value::from(3.0)), "{same}");
    assert_eq!(own["digest"].as_str().unwrap().len(), 64);
    let words = folder.run("verify model.txt other.txt --domain inputs/high.toml");
    let told = words.ok().split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("of those: the raw score of score.txt (digest"), "{told}");
    let run = folder.run("verify model.txt other.txt --domain inputs/some.toml --data table.csv --json");
    assert_eq!(run.code, Some(1), "{}", run.stdout);
    let object = json(&run.stdout);
    let input = &object["counterexample"]["input"];
    assert!(input["b"].as_f64().unwrap() > 0.5 && input["a"].as_f64().unwrap() <= 0.5, "{input}");
    assert_eq!(object["rows_outside_domain"]["rows"], 1, "{object}");
    assert_eq!(object["rows_outside_domain"]["first"][0]["where"], 0);
    assert!(run.stderr.contains("1 row is outside of the domain (row 1 by its score)"), "{}", run.stderr);
    let pruned = json(
        folder
            .run("prune model.txt -o small.txt --domain inputs/high.toml --certificate small.cert --report page.html --json")
            .ok(),
    );
    assert_eq!(
        (&pruned["checked"], &pruned["scope"]),
        (&Value::from(true), &Value::from("domain")),
        "{pruned}"
    );
    assert!(pruned["trees"]["after"].as_u64().unwrap() <= 1, "{pruned}");
    assert!(folder.read("page.html").contains("the raw score of score.txt"));
    assert!(folder.run("inspect model.txt --domain inputs/high.toml").ok().contains("score.txt"));
    let facts = json(folder.run("inspect model.txt --domain inputs/high.toml --json").ok());
    assert_eq!(facts["domain"]["where"][0]["at_least"], 3.0);
    // Scores, too, are compared only on those inputs, and never farther apart than on all.
    let all = json(folder.run("verify model.txt other.txt --scores --json").ok());
    let high = json(folder.run("verify model.txt other.txt --scores --domain inputs/high.toml --json").ok());
    let at_most = |found: &Value| found["scores"]["at_most"].as_f64().unwrap();
    assert!(at_most(&high) <= at_most(&all), "{high} {all}");
    folder.file("inputs/none.toml", "[[where]]\nmodel = \"score.txt\"\nat_least = 4\n");
    let run = folder.run("prune model.txt -o small.txt --domain inputs/none.toml");
    let told = "inputs/none.toml: where[1]: no input at all has a score of score.txt that is at least 4";
    assert!(run.refused().contains(told), "{}", run.stderr);
    folder.file("inputs/lost.toml", "[[where]]\nmodel = \"lost.txt\"\nat_least = 4\n");
    let run = folder.run("prune model.txt -o small.txt --domain inputs/lost.toml");
    assert!(run.refused().contains("inputs/lost.toml: where[1]: lost.txt: "), "{}", run.stderr);
}

#[test]
fn what_is_wrong_with_a_domain_is_told_with_the_file_and_the_place() {
    let folder = Folder::new();
    folder.file("model.txt", model());
    folder.file("inputs.toml", "[columns.c]\nmin = 1\n");
    for command in ["prune model.txt -o small.txt", "verify model.txt model.txt", "inspect model.txt"] {
        let run = folder.run(&format!("{command} --domain inputs.toml"));
        let told = run.refused();
        assert!(told.contains("inputs.toml: columns.c: the model has no column \"c\""), "{told}");
        let run = folder.run(&format!("{command} --domain nothing.toml"));
        assert!(run.refused().contains("nothing.toml: the file cannot be read"), "{}", run.stderr);
    }
    folder.file("inputs.toml", EQUAL);
    let run = folder.run("prune model.txt -o small.txt --domain inputs.toml --no-missing");
    assert!(run.refused().contains("--no-missing"), "{}", run.stderr);
    let run = folder.run("prune model.txt -o inputs.toml --domain inputs.toml");
    assert!(run.refused().contains("the domain"), "{}", run.stderr);
}

#[test]
fn a_table_suggests_a_domain_that_can_be_used() {
    let folder = Folder::new();
    folder.file("model.txt", model());
    let rows: String = (0..40).map(|row| format!("{},{},x\n", row % 2, (row + 1) % 2)).collect();
    folder.file("table.csv", format!("a,b,y\n{rows}"));
    let run = folder.run("domain table.csv --target y -o inputs.toml");
    assert!(run.ok().contains("a, b: exactly one is 1 in 40 of 40 rows\n"), "{}", run.stdout);
    assert!(run.stderr.contains("vouches that no other inputs occur"), "{}", run.stderr);
    assert!(folder.read("inputs.toml").contains("kind = \"one-hot\"\ncolumns = [\"a\", \"b\"]\n"));
    assert_eq!(folder.run("domain table.csv --target y").ok(), &folder.read("inputs.toml"));
    let object = json(folder.run("domain table.csv --target y --json").ok());
    assert_eq!((&object["rows"], &object["domain"]["missing"]), (&Value::from(40), &Value::from(false)));
    let pruned =
        json(folder.run("prune model.txt -o small.txt --domain inputs.toml --data table.csv --json").ok());
    assert_eq!(
        (&pruned["trees"]["after"], &pruned["data"]["rows"]),
        (&Value::from(1), &Value::from(40)),
        "{pruned}"
    );
    folder.file("empty.csv", "a,b\n");
    assert!(folder.run("domain empty.csv").refused().contains("the table has no rows"));
    assert!(folder.run("domain table.csv -o table.csv --target y").refused().contains("the table"));
}

#[test]
fn columns_of_text_are_left_out_of_a_proposal() {
    let folder = Folder::new();
    folder.file("table.csv", "age,colour\n3,red\n5,\n4,blue\n");
    let run = folder.run("domain table.csv");
    assert!(run.ok().contains("[columns.age]") && !run.stdout.contains("colour"), "{}", run.stdout);
    let note = "column \"colour\" holds text (the first is \"red\") and is left out: all of its values stay possible";
    assert!(run.stderr.contains(note), "{}", run.stderr);
    folder.file("texts.csv", "colour\nred\n");
    assert!(folder.run("domain texts.csv").refused().contains("every column holds text"));
}
