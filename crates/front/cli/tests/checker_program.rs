//! Tests `secateur-check` as a program: its exit codes, its output, and what its options demand, on
//! the corpus in `testdata/certificates` (`corpus.rs` describes how its files are made).

use std::fs;
use std::process::Command;

use secateur_testkit::{Limited, testdata};

#[test]
fn the_program_ends_with_the_codes_of_its_contract() {
    let folder = testdata("certificates");
    let table = fs::read_to_string(folder.join("expected.tsv")).unwrap();
    let run = |words: &[&str]| {
        let output =
            Command::new(env!("CARGO_BIN_EXE_secateur-check")).args(words).current_dir(&folder).finished();
        let text = String::from_utf8(output.stdout).unwrap();
        (output.status.code().unwrap(), text, String::from_utf8(output.stderr).unwrap())
    };
    for line in table.lines().skip(1) {
        let fields: Vec<&str> = line.split('\t').collect();
        let [file, first, second, verdict, reason, step, message] = fields[..] else { panic!("{line}") };
        let (first, second) = (format!("models/{first}"), format!("models/{second}"));
        // A certificate about a threshold is accepted only if that threshold is given.
        let given: &[&str] = match file {
            "accept/threshold" => &["--threshold", "0.6"],
            _ => &["--where", "models/stumps.json"],
        };
        // The program takes one model for a certificate about one.
        let (_, _, errors) = run(&[&first, &second, file]);
        let about_one = errors.contains("this certificate is about one model; give MODEL CERTIFICATE");
        if about_one && first != second {
            continue;
        }
        let models: &[&str] = if about_one { &[&first] } else { &[&first, &second] };
        let asked = |more: &[&str]| run(&[models, &[file, given[0], given[1]], more].concat());
        let (code, text, errors) = asked(&["--json"]);
        let expected = match verdict {
            "valid" => 0,
            "invalid" => 1,
            "incomplete" => 3,
            _ => 2,
        };
        assert_eq!(code, expected, "{line}: {text}{errors}");
        if expected == 2 {
            assert!(text.is_empty() && errors.contains(reason), "{line}: {errors}");
            continue;
        }
        // The answer does not depend on the number of threads.
        let several = asked(&["--json", "--threads", "3"]);
        assert_eq!((several.0, &several.1), (code, &text), "{line}: {}", several.2);
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(json["verdict"], verdict, "{line}");
        assert_eq!(json["reason"].as_str().unwrap_or("-"), reason, "{line}");
        assert_eq!(json["message"].as_str().unwrap_or("-"), message, "{line}");
        if verdict != "valid" {
            let (_, text, _) = asked(&[]);
            let place = if step == "-" { "the claim".to_owned() } else { format!("step {step}") };
            assert_eq!(text, format!("{verdict}: {message} ({reason} at {place})\n"));
        }
        assert_eq!(json["step"].as_u64().map_or("-".to_owned(), |step| step.to_string()), step, "{line}");
        assert_eq!(json["claim"].is_object(), verdict == "valid", "{line}");
    }
    let (code, text, _) = run(&["models/stumps.json", "models/first_stump.json", "accept/bounds", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(code, 0);
    assert_eq!(json["claim"]["columns"]["bound"], 1);
    assert_eq!(json["claim"]["columns"]["reached"], true);
    assert_eq!(json["claim"]["cost"]["bound"], 7);
    assert_eq!(json["claim"]["threshold_splits"], 1);
    let binary = ["models/binary.json", "models/binary_scaled.json", "accept/binary"];
    let with = |extra: &'static str| run(&[&binary[..], &[extra]].concat());
    assert_eq!(with("--band=0.001").0, 0);
    let (code, text, _) = with("--band=0.0005");
    assert_eq!(code, 1);
    assert_eq!(
        text,
        "invalid: The certificate proves its claim for leads above 1e-3, and a band of at most 5e-4 was asked for. \
         (claim.band_asked at the claim)\n"
    );
    assert_eq!(with("--band=0").0, 1);
    assert!(with("--band=0.001").1.starts_with("valid"));
    // A claim about exact sums is not a claim about decisions, however wide the band; and a claim
    // about decisions is not one about ties.
    let exact = ["models/binary.json", "models/binary.json", "accept/itself"];
    let (code, text, _) = run(&exact);
    assert!(
        code == 0 && text.contains("where a library's rounding decides, its classes can differ"),
        "{text}"
    );
    assert_eq!(run(&[&exact[..], &["--band=0"]].concat()).0, 0);
    assert_eq!(run(&[&exact[..], &["--band=100"]].concat()).0, 1);
    let untied = ["models/stumps.json", "models/first_stump.json", "accept/bounds"];
    assert_eq!(run(&[&untied[..], &["--band=0"]].concat()).0, 1);
    let (code, text, _) = run(&[&untied[..], &["--band=1e-300"]].concat());
    assert!(code == 0 && text.contains("wherever the original's scores do not tie"), "{text}");
    let (code, text, _) = with("--every-input");
    assert!(code == 0 && text.starts_with("valid: the two models decide alike on every input, "), "{text}");
    let narrow = ["models/first_stump.json", "models/missing_left.json", "accept/no_missing"];
    let (code, text, _) = run(&narrow);
    assert!(code == 0 && text.contains("decide alike on every input without missing values, "), "{text}");
    let (code, text, _) = run(&[&narrow[..], &["--json"]].concat());
    assert!(code == 0 && text.contains("\"scope\": \"no_missing\""), "{text}");
    let (code, text, _) = run(&[&narrow[..], &["--every-input"]].concat());
    assert_eq!(code, 1);
    assert_eq!(
        text,
        "invalid: A claim about every input was asked for, and this one is about fewer: no missing values. \
         (claim.scope_asked at the claim)\n"
    );
    let near = ["models/binary.json", "models/binary_scaled.json", "accept/scores"];
    let (code, text, _) = run(&near);
    assert_eq!(code, 0);
    assert_eq!(
        text,
        "valid: the raw scores of the two libraries, averaged where they average, are at most 8.75e-3 apart on every \
         input, the rounding of both included\n\
         inputs: every f32 number, infinities, missing values, in every column\n"
    );
    let (_, text, _) = run(&[&near[..], &["--json"]].concat());
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json["claim"]["about"], "scores");
    assert_eq!(json["claim"]["within"], 0.00875);
    assert!(json["claim"]["band"].is_null(), "{text}");
    assert_eq!(run(&[&near[..], &["--within=0.01"]].concat()).0, 0);
    let (code, text, _) = run(&[&near[..], &["--within", "0.005"]].concat());
    assert_eq!(code, 1);
    assert_eq!(
        text,
        "invalid: The certificate proves that scores are at most 8.75e-3 apart, and at most 5e-3 was asked for. \
         (claim.within_asked at the claim)\n"
    );
    let (code, text, _) = run(&[&near[..], &["--band=1"]].concat());
    assert!(code == 1 && text.contains("a claim about decisions was asked for"), "{text}");
    let (code, text, _) = with("--within=1");
    assert!(code == 1 && text.contains("a claim about how far scores are apart was asked for"), "{text}");
    assert_eq!(run(&[&near[..], &["--within=1", "--band=1"]].concat()).0, 2);
    assert_eq!(with("--within=-1").0, 2);
    let (code, text, _) = run(&["--explain", "accept/scores"]);
    assert!(code == 0 && text.contains("scores   at most 8.75e-3 apart\n"), "{text}");
    assert!(text.contains("system: the pruned model's score of output 0 is too far above"), "{text}");
    let asked = ["models/stumps.json", "models/first_stump.json", "accept/threshold"];
    let (code, text, _) = run(&[&asked[..], &["--threshold=0.6"]].concat());
    assert!(
        code == 0 && text.contains("decisions: at a threshold and not by the libraries' own rules"),
        "{text}"
    );
    let (_, text, _) = run(&[&asked[..], &["--threshold=0.6", "--json"]].concat());
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    let score = json["claim"]["cuts"][1]["score"].as_f64().unwrap();
    assert!((score - 0.405_465_1).abs() < 1e-6, "{text}");
    for other in [&["--threshold", "0.61"][..], &["--threshold=0.5"], &[]] {
        let (code, text, _) = run(&[&asked[..], other].concat());
        assert!(code == 1 && text.contains("claim.threshold_asked"), "{other:?}: {text}");
    }
    let (code, text, _) = with("--threshold=0.6");
    assert!(code == 1 && text.contains("is about decisions by the libraries' own rules"), "{text}");
    let (code, text, _) = run(&[&near[..], &["--threshold=0.6"]].concat());
    assert!(code == 1 && text.contains("claim.kind_asked"), "{text}");
    for wrong in ["--threshold=1", "--threshold=0", "--threshold=nan", "--threshold=half", "--threshold"] {
        assert_eq!(with(wrong).0, 2, "{wrong}");
    }
    let (_, text, _) = run(&["--explain=0", "accept/threshold"]);
    assert!(text.contains("cuts     class 1 from 0.405"), "{text}");
    let within = ["models/stumps.json", "models/second_stump.json", "accept/domain"];
    let (code, text, _) = run(&within);
    assert!(code == 0 && text.contains("decide alike on every input of the domain, "), "{text}");
    assert!(
        text.contains("; of those: f2: at least 0, whole, not missing; f0, f1 together take one of 2 rows\n"),
        "{text}"
    );
    let (_, text, _) = run(&[&within[..], &["--json"]].concat());
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json["claim"]["scope"], "domain");
    assert_eq!(json["claim"]["domain"]["groups"][0]["kind"], "table", "{text}");
    assert_eq!(run(&[&within[..], &["--every-input"]].concat()).0, 1);
    let scratch = std::env::temp_dir().join(format!("secateur-domains-{}", std::process::id()));
    let asked = |toml: &str| {
        fs::write(&scratch, toml).unwrap();
        run(&[&within[..], &["--domain", scratch.to_str().unwrap()]].concat())
    };
    let rows = |rows: &str| {
        format!(
            "[[groups]]\nkind = \"table\"\ncolumns = [0, 1]\nrows = [{rows}]\n[columns.2]\nvalues = [0, 7]\nmissing = false\n"
        )
    };
    assert_eq!(asked(&rows("[0, 0]")).0, 0, "a smaller domain is covered");
    assert_eq!(asked(&rows("[0, 0], [1, 1]")).0, 0, "the same one too");
    let (code, text, _) = asked(&rows("[0, 0], [1, 0]"));
    assert_eq!(code, 1);
    assert_eq!(
        text,
        "invalid: A claim about a domain was asked for that is not within the one of this claim: it has tuples that are not \
         in the claim's group 1. (claim.domain_asked at the claim)\n"
    );
    let (code, text, _) = asked("[columns.2]\nvalues = [0]\nmissing = false\n");
    assert!(code == 1 && text.contains("cannot be listed"), "{text}");
    assert_eq!(asked("").0, 1);
    let (code, _, errors) = asked("[columns.no]\nmin = 1\n");
    assert!(code == 2 && errors.contains("columns.no: the model has no column \"no\""), "{errors}");
    // A claim about scores of another model: that model has to be given, by itself or in the domain
    // that is asked for.
    let scored = ["models/stumps.json", "models/second_stump.json", "accept/where"];
    let (code, text, _) = run(&scored);
    assert!(code == 1 && text.contains("that model is not given") && text.contains("claim.where"), "{text}");
    let (code, text, _) = run(&[&scored[..], &["--where=models/binary.json"]].concat());
    assert!(code == 1 && text.contains("claim.where"), "another model is not it: {text}");
    let (code, text, _) = run(&[&scored[..], &["--where=models/stumps.json"]].concat());
    assert!(code == 0 && text.contains("; of those: the raw score of models/stumps.json (digest "), "{text}");
    assert!(text.contains(") is at least 2\n"), "{text}");
    let asked = |bound: f64| {
        let model = folder.join("models/stumps.json");
        let toml = format!("[[where]]\nmodel = {:?}\nat_least = {bound:?}\n", model.to_str().unwrap());
        fs::write(&scratch, toml).unwrap();
        run(&[&scored[..], &["--domain", scratch.to_str().unwrap()]].concat())
    };
    assert_eq!(asked(2.0).0, 0);
    assert_eq!(asked(2.5).0, 0, "a higher score is asked for, which fewer inputs have");
    let (code, text, _) = asked(1.5);
    assert!(code == 1 && text.contains("the claim is only about inputs where the raw score of"), "{text}");
    assert_eq!(run(&[&scored[..], &["--where=models/stumps.json", "--every-input"]].concat()).0, 1);
    let (code, text, _) = run(&["--explain=0", "accept/where"]);
    assert!(code == 0 && text.contains("raw score 0 of the model with digest"), "{text}");
    assert_eq!(with("--where").0, 2);
    assert_eq!(with("--where=nothing.json").0, 2);
    fs::remove_file(&scratch).unwrap();
    let (_, text, _) = run(&["--explain", "accept/no_missing"]);
    assert!(text.contains("; of those: no missing values"), "{text}");
    assert_eq!(with("--wrong").0, 2);
    assert_eq!(with("--band=much").0, 2);
    assert_eq!(run(&["a", "b"]).0, 2);
    assert_eq!(run(&["a", "b", "c"]).0, 2);
    let (code, text, _) = run(&["--help"]);
    assert!(code == 0 && text.lines().all(|line| line.len() <= 80), "{text}");
    let (code, text, _) = run(&["--explain=3", "accept/binary"]);
    assert_eq!((code, text.lines().count()), (0, 8), "{text}");
    let (code, text, _) = run(&["--explain", "accept/bounds"]);
    assert!(code == 0 && text.contains("crossing: point 0") && text.ends_with("complete\n"), "{text}");
    assert_eq!(run(&["--explain", "malformed/half"]).0, 2);
    for wrong in ["0", "-1", "many", "100000"] {
        let (code, _, errors) = run(&["models/a", "models/b", "c", "--threads", wrong]);
        assert!(code == 2 && errors.contains("--threads"), "{wrong}: {errors}");
    }
}
