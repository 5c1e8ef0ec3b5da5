//! `secateur prune`: its files, its output, and its refusals.

use std::fs;

use secateur::ModelFile;
use secateur_checker::{Limits, Verdict, check};
use serde_json::Value;

use crate::support::{FLOWERS, Folder, LABELS, Run, THREE_CLASSES, UNNAMED};

/// A LightGBM model of stumps on two columns, each given as feature, threshold, and two leaves.
pub(crate) fn stumps(stumps: &[(usize, f64, f64, f64)]) -> String {
    let mut text =
        "tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nlabel_index=0\nmax_feature_idx=1\n\
                    objective=binary sigmoid:1\nfeature_names=a b\nfeature_infos=[0:10] [0:10]\n\n"
            .to_owned();
    for (index, (feature, threshold, left, right)) in stumps.iter().enumerate() {
        text += &format!(
            "Tree={index}\nnum_leaves=2\nnum_cat=0\nsplit_feature={feature}\nsplit_gain=1\nthreshold={threshold:?}\n\
             decision_type=2\nleft_child=-1\nright_child=-2\nleaf_value={left:?} {right:?}\nleaf_weight=1 1\n\
             leaf_count=1 1\ninternal_value=0\ninternal_weight=1\ninternal_count=1\nis_linear=0\nshrinkage=1\n\n\n"
        );
    }
    text + "end of trees\n\nfeature_importances:\n\nparameters:\n[boosting: gbdt]\nend of parameters\n"
}

/// Six stumps with only two splits that matter: on `a` at 2, and on `b` at 5 for larger `a`.
pub(crate) fn compressible() -> String {
    stumps(&[
        (0, 2.0, -1.0, 0.25),
        (0, 2.0, -1.0, 0.25),
        (1, 5.0, -0.75, 0.5),
        (1, 5.0, -0.25, 0.25),
        (1, 7.0, 0.0625, 0.125),
        (0, 9.0, 0.0, 0.03125),
    ])
}

/// A model that takes a long time to prune: trees of sixteen leaves with random splits on six
/// columns.
#[cfg(unix)]
fn large(trees: usize) -> String {
    let mut state = 1u64;
    let mut draw = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let join = |words: Vec<String>| words.join(" ");
    let mut text = "tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nlabel_index=0\nmax_feature_idx=5\n\
                    objective=binary sigmoid:1\nfeature_names=a b c d e f\nfeature_infos=[0:1] [0:1] [0:1] [0:1] \
                    [0:1] [0:1]\n\n"
        .to_owned();
    for index in 0..trees {
        let features = join((0..15).map(|_| draw(6).to_string()).collect());
        let thresholds = join((0..15).map(|_| format!("{:?}", draw(1000) as f64 / 1000.0)).collect());
        let leaves = join((0..16).map(|_| format!("{:?}", draw(2001) as f64 / 1000.0 - 1.0)).collect());
        let ones = |count: usize| join(vec!["1".to_owned(); count]);
        // Node n has the children 2n+1 and 2n+2; nodes from 15 are leaves.
        let child = |node: i64| if node < 15 { node } else { -(node - 15) - 1 };
        let left = join((0..15).map(|node| child(2 * node + 1).to_string()).collect());
        let right = join((0..15).map(|node| child(2 * node + 2).to_string()).collect());
        text += &format!(
            "Tree={index}\nnum_leaves=16\nnum_cat=0\nsplit_feature={features}\nsplit_gain={gain}\nthreshold={thresholds}\n\
             decision_type={kind}\nleft_child={left}\nright_child={right}\nleaf_value={leaves}\nleaf_weight={leaf_ones}\n\
             leaf_count={leaf_ones}\ninternal_value={gain}\ninternal_weight={gain}\ninternal_count={gain}\n\
             is_linear=0\nshrinkage=1\n\n\n",
            gain = ones(15),
            leaf_ones = ones(16),
            kind = join(vec!["2".to_owned(); 15]),
        );
    }
    text + "end of trees\n\nfeature_importances:\n\nparameters:\n[boosting: gbdt]\nend of parameters\n"
}

fn json(run: &Run) -> Value {
    serde_json::from_str(run.ok()).unwrap()
}

#[track_caller]
fn says(run: &Run, words: &[&str]) {
    let message = run.refused();
    for word in words {
        assert!(message.contains(word), "{word:?} is not in {message:?}");
    }
}

#[test]
fn a_compressible_model_becomes_smaller_and_verify_agrees() {
    let folder = Folder::new();
    folder.file("model.txt", compressible());
    let words = folder.run("prune model.txt -o pruned.txt");
    assert!(
        words.ok().starts_with(
            "proved: 6 -> 2 trees, every decision but exact ties unchanged; scores and probabilities change\n"
        ),
        "{}",
        words.stdout
    );
    for part in [
        "trees           6 -> 2",
        "smallest        proved",
        "the original's scores",
        "written         pruned.txt",
        "secateur verify model.txt pruned.txt",
    ] {
        assert!(words.stdout.contains(part), "{part:?} is not in\n{}", words.stdout);
    }
    assert!(folder.run("verify model.txt pruned.txt").ok().starts_with("identical: proved\n"));
    let inspected: Value = serde_json::from_str(folder.run("inspect pruned.txt --json").ok()).unwrap();
    assert_eq!(inspected["trees"], 2);
    assert_eq!(folder.names(), ["model.txt", "pruned.txt"]);
}

#[test]
fn the_json_object_has_every_key_of_the_interface() {
    let folder = Folder::new();
    folder.file("model.txt", compressible());
    let object = json(&folder.run("prune model.txt -o pruned.txt --json"));
    assert_eq!(object["outcome"], "proved");
    for (key, before, after) in [("trees", 6, 2), ("leaves", 12, 4)] {
        assert_eq!(
            (object[key]["before"].as_u64(), object[key]["after"].as_u64()),
            (Some(before), Some(after))
        );
    }
    let size = |name: &str| fs::metadata(folder.path().join(name)).unwrap().len();
    assert_eq!(object["bytes"]["before"], size("model.txt"));
    assert_eq!(object["bytes"]["after"], size("pruned.txt"));
    assert_eq!((&object["lower_bound"], &object["minimal"]), (&Value::from(2), &Value::from(true)));
    let band = object["band"]["score"].as_f64().unwrap();
    // These leaves add up without rounding in the library.
    assert_eq!(band, 0.0);
    let probability: Vec<f64> =
        object["band"]["probability"].as_array().unwrap().iter().map(|p| p.as_f64().unwrap()).collect();
    assert!(probability.len() == 2 && probability[0] < 0.5 && probability[1] > 0.5);
    assert!(object["oracle_calls"].is_u64() && object["points"].is_u64());
    let parts = ["read", "fold", "points", "lp", "oracle", "bounds", "certificate", "write", "rows", "pack"];
    let seconds = |part: &str| object["seconds"][part].as_f64().unwrap();
    assert!(parts.iter().all(|part| seconds(part) >= 0.0), "{}", object["seconds"]);
    let named: f64 = parts.iter().map(|part| seconds(part)).sum();
    assert!(named <= seconds("total"), "{}", object["seconds"]);
    assert_eq!(object["seconds"].as_object().unwrap().len(), parts.len() + 1);
    assert_eq!(object["certificate"], Value::Null);
    assert_eq!(object["interrupted"], false);
    let mut keys: Vec<&str> = object.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    for key in ["band", "bytes", "certificate", "leaves", "lower_bound", "minimal", "oracle_calls", "outcome"]
    {
        assert!(keys.contains(&key), "{key}");
    }
    // There are no probabilities for models of more than two classes.
    folder.file("three.txt", THREE_CLASSES);
    let object = json(&folder.run("prune three.txt -o pruned3.txt --json"));
    assert_eq!(object["band"]["probability"], Value::Null);
    let object = json(&folder.run("prune model.txt -o pruned.txt --json --band 0"));
    assert_eq!(object["band"]["score"], 0.0);
}

#[test]
fn nothing_to_prune_is_an_answer_with_a_reason() {
    let folder = Folder::new();
    for (name, content) in [("flowers.txt", FLOWERS.as_bytes()), ("labels.skops", LABELS)] {
        folder.file(name, content);
        let object = json(&folder.run(&format!("prune {name} -o out-{name} --json")));
        let trees = object["trees"]["before"].as_u64().unwrap();
        if object["outcome"] == "already_minimal" {
            assert_eq!(object["trees"]["after"], trees);
            assert_eq!(object["lower_bound"], trees);
        }
        assert!(folder.run(&format!("verify {name} out-{name}")).ok().starts_with("identical"));
    }
    let words = folder.run("prune flowers.txt -o out.txt");
    assert!(
        words.ok().starts_with("unchanged: every one of the 2 trees is needed (proved)\n"),
        "{}",
        words.stdout
    );
    // Nothing changed, so the file equals the original, byte for byte.
    assert_eq!(folder.read("out.txt"), FLOWERS);
}

#[test]
fn every_choice_of_options_gives_a_model_that_verify_accepts() {
    let folder = Folder::new();
    folder.file("model.txt", compressible());
    folder.file("unnamed.json", UNNAMED);
    folder.file("three.txt", THREE_CLASSES);
    for model in ["model.txt", "unnamed.json", "three.txt"] {
        for flags in [
            "--effort fast",
            "--effort minimum",
            "--objective leaves",
            "--objective bytes --effort minimum",
            "--moves weights",
            "--moves weights --effort minimum --weight-per tree",
            "--moves leaves --weight-per round",
            "--band 0",
            "--band 0.001",
            "--threads 2 --seed 7 --time-limit 1m",
        ] {
            let out = format!("out-{model}");
            let run = folder.run(&format!("prune {model} -o {out} --json {flags}"));
            let object: Value = serde_json::from_str(run.ok()).unwrap();
            assert!(object["trees"]["after"].as_u64() <= object["trees"]["before"].as_u64(), "{flags}");
            let band = if flags.contains("--band") { flags } else { "" };
            let verified = folder.run(&format!("verify {model} {out} {band}"));
            assert!(verified.ok().starts_with("identical"), "{model} {flags}: {}", verified.stdout);
        }
    }
}

#[test]
fn an_option_that_is_gone_says_so() {
    let folder = Folder::new();
    folder.file("model.txt", compressible());
    let run = folder.run("prune model.txt -o out.txt --solver highs");
    says(&run, &["--solver", "secateur's own: leave the option out"]);
    assert_eq!(run.code, Some(2));
    assert_eq!(folder.names(), ["model.txt"]);
}

#[test]
fn a_certificate_is_written_beside_the_model() {
    let folder = Folder::new();
    folder.file("model.txt", compressible());
    let run = folder.run("prune model.txt -o out.txt --certificate out.certificate --json");
    assert_eq!(json(&run)["certificate"], "out.certificate");
    assert_eq!(folder.names(), ["model.txt", "out.certificate", "out.txt"]);
    let model = |name: &str| ModelFile::read(&folder.path().join(name)).unwrap();
    let certificate = fs::read(folder.path().join("out.certificate")).unwrap();
    let (original, pruned) = (model("model.txt"), model("out.txt"));
    let verdict =
        check(original.ensemble(), pruned.ensemble(), &certificate[..], &Limits::default()).unwrap();
    assert!(matches!(verdict, Verdict::Valid(_)), "{verdict:?}");
    let words = folder.run("prune model.txt -o out.txt --certificate out.certificate");
    assert!(words.ok().contains("secateur-check model.txt out.txt out.certificate"), "{}", words.stdout);
    // If the certificate cannot be written, the run says so and writes no model either.
    says(&folder.run("prune model.txt -o new.txt --certificate no/out.certificate"), &["no/out.certificate"]);
    assert!(!folder.names().contains(&"new.txt".to_owned()));
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let folder = Folder::new();
    folder.file("model.txt", compressible());
    for out in ["one.txt", "two.txt"] {
        folder.run(&format!("prune model.txt -o {out} --seed 3")).ok();
    }
    assert_eq!(folder.read("one.txt"), folder.read("two.txt"));
}

#[test]
fn rows_are_compared_at_the_end() {
    let folder = Folder::new();
    folder.file("model.txt", compressible());
    folder.file("rows.csv", "b,a,class\n1,1,0\n9,9,1\n,3,0\n");
    let run = folder.run("prune model.txt -o pruned.txt --data rows.csv --target class");
    assert!(
        run.ok()
            .contains("data            3 rows: none inside the band; every class the same with both files\n"),
        "{}",
        run.stdout
    );
    let run = folder.run("prune model.txt -o pruned.txt --data rows.csv --target class --json");
    assert_eq!(json(&run)["data"]["rows"], 3);
    // This library accepts no missing values: the row is left out.
    folder.file("labels.skops", LABELS);
    folder.file("labelled.csv", "a,b\n1,2\n,3\n");
    let run = folder.run("prune labels.skops -o out.skops --data labelled.csv --json");
    assert!(run.stderr.contains("1 row has values that the library does not accept"), "{}", run.stderr);
    assert_eq!(json(&run)["data"]["rows"], 1);
}

#[test]
fn no_file_that_is_read_is_written_to() {
    let folder = Folder::new();
    folder.file("model.txt", compressible());
    folder.file("rows.csv", "a,b\n1,1\n");
    fs::create_dir(folder.path().join("sub")).unwrap();
    says(&folder.run("prune model.txt -o model.txt"), &["model.txt", "the model itself", "another name"]);
    says(&folder.run("prune model.txt -o sub/../model.txt"), &["the model itself"]);
    says(&folder.run("prune model.txt -o rows.csv --data rows.csv"), &["the table"]);
    says(&folder.run("prune model.txt -o out.txt --certificate out.txt"), &["a file of its own"]);
    assert_eq!(folder.read("model.txt"), compressible());
    assert_eq!(folder.names(), ["model.txt", "rows.csv", "sub"]);
}

#[cfg(unix)]
#[test]
fn a_link_to_the_model_is_the_model() {
    let folder = Folder::new();
    folder.file("model.txt", compressible());
    std::os::unix::fs::symlink("model.txt", folder.path().join("link.txt")).unwrap();
    says(&folder.run("prune model.txt -o link.txt"), &["the model itself"]);
}

#[test]
fn what_cannot_be_pruned_or_written_is_refused_and_leaves_no_file() {
    let folder = Folder::new();
    folder.file("model.txt", compressible());
    folder
        .file("regression.txt", compressible().replace("objective=binary sigmoid:1", "objective=regression"));
    folder.file("custom.txt", compressible().replace("objective=binary sigmoid:1", "objective=mine"));
    let ranked = UNNAMED.replace("binary:logistic", "rank:pairwise");
    assert_ne!(ranked, UNNAMED);
    folder.file("ranked.json", ranked);
    folder.file("flowers.txt", FLOWERS);
    folder.file("wrong.csv", "a,c\n1,2\n");
    folder.file("more.csv", "p,q,r\n1,2,3\n");
    folder.file("words.csv", "a,b\n1,much\n");
    let before = folder.names();
    says(&folder.run("prune regression.txt -o out.txt"), &["regression.txt", "no classes", "--within EPS"]);
    says(&folder.run("prune custom.txt -o out.txt"), &["custom.txt", "the objective \"mine\""]);
    says(&folder.run("prune ranked.json -o out.json"), &["ranked.json", "a regressor or ranker"]);
    says(&folder.run("prune nothing.txt -o out.txt"), &["nothing.txt", "no such file"]);
    says(&folder.run("prune model.txt -o no/out.txt"), &["no/out.txt", "make it first"]);
    says(&folder.run("prune model.txt -o ."), &["this is a folder"]);
    says(&folder.run("prune model.txt -o out.txt --data wrong.csv"), &["wrong.csv", "no column: \"b\""]);
    says(&folder.run("prune model.txt -o out.txt --data more.csv"), &["3 columns", "--target NAME"]);
    says(&folder.run("prune model.txt -o out.txt --data words.csv"), &["row 1 (line 2)", "\"much\""]);
    says(&folder.run("prune model.txt -o out.txt --target a"), &["--target goes with --data"]);
    says(&folder.run("prune flowers.txt -o out.txt --band 1e-300"), &["flowers.txt", "band"]);
    for words in [
        "prune model.txt",
        "prune -o out.txt",
        "prune model.txt -o out.txt --effort most",
        "prune model.txt -o out.txt --time-limit soon",
        "prune model.txt -o out.txt --size 3",
        "prune model.txt -o out.txt --accept-unproved",
    ] {
        assert_eq!(folder.run(words).code, Some(2), "{words}");
    }
    assert_eq!(folder.names(), before);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_told() {
    let folder = Folder::new();
    folder.file("model.txt", compressible());
    says(&folder.run("prune model.txt -o /dev/full"), &["/dev/full: cannot be written"]);
}

#[test]
fn a_name_that_promises_another_format_is_pointed_out() {
    let folder = Folder::new();
    folder.file("model.txt", compressible());
    let run = folder.run("prune model.txt -o pruned.onnx");
    run.ok();
    assert!(run.stderr.contains("pruned.onnx will hold what the model is, LightGBM"), "{}", run.stderr);
    assert_eq!(folder.run("prune model.txt -o pruned.onnx -q").stderr, "");
    assert_eq!(folder.run("prune model.txt -o pruned.model").stderr, "");
}

#[test]
fn odd_models_get_a_clear_answer() {
    let folder = Folder::new();
    // A single tree that decides.
    folder.file("one.txt", stumps(&[(0, 2.0, -1.0, 1.0)]));
    let run = folder.run("prune one.txt -o out.txt");
    assert!(run.ok().starts_with("unchanged: its one tree is needed (proved)\n"), "{}", run.stdout);
    // Trees with the same leaves everywhere: only one class.
    folder.file("constant.txt", stumps(&[(0, 2.0, 1.0, 1.0), (1, 3.0, 0.5, 0.5), (1, 3.0, 0.5, 0.25)]));
    let object = json(&folder.run("prune constant.txt -o out.txt --json"));
    assert!(object["trees"]["after"].as_u64().unwrap() <= 1, "{object}");
    assert!(folder.run("verify constant.txt out.txt").ok().starts_with("identical"));
    // No tree makes a difference: the model always decides for one class, whatever its scores.
    folder.file("one-class.txt", stumps(&[(0, 2.0, 1.0, 2.0), (1, 3.0, 0.5, 0.75)]));
    let object = json(&folder.run("prune one-class.txt -o out.txt --json"));
    assert!(object["trees"]["after"].as_u64().unwrap() <= 1, "{object}");
    assert!(folder.run("verify one-class.txt out.txt").ok().starts_with("identical"));
}

#[test]
fn a_time_limit_of_nothing_still_writes_a_proved_model() {
    let folder = Folder::new();
    folder.file("model.txt", compressible());
    let run = folder.run("prune model.txt -o out.txt --time-limit 0s --json");
    assert!(matches!(run.code, Some(0 | 3)), "{:?} {}", run.code, run.stderr);
    let object: Value = serde_json::from_str(&run.stdout).unwrap();
    // Without time for the certificate the checker has not checked the model, and the exit code
    // says so.
    let open = object["outcome"] == "budget_reached" || object["checked"] == false;
    assert_eq!(run.code == Some(3), open, "{object}");
    assert!(folder.run("verify model.txt out.txt").ok().starts_with("identical"));
}

#[test]
fn baselines_need_consent_and_say_what_they_are() {
    let folder = Folder::new();
    folder.file("model.txt", compressible());
    folder.file("rows.csv", "a,b,class\n1,1,0\n3,3,0\n9,9,1\n3,8,1\n1,8,0\n");
    let base = "prune model.txt -o out.txt --data rows.csv --target class --method";
    for method in ["ic", "imd", "drep"] {
        let run = folder.run(&format!("{base} {method} --size 3 --accept-unproved --json"));
        let object = json(&run);
        assert_eq!(object["outcome"], "unproved");
        assert_eq!(object["method"], method);
        assert_eq!(object["trees"]["after"], 3);
        assert_eq!(object["certificate"], Value::Null);
        assert_eq!(object["minimal"], false);
        let fidelity = object["fidelity"].as_f64().unwrap();
        assert!((0.0..=1.0).contains(&fidelity));
        let words = folder.run(&format!("{base} {method} --size 1 --accept-unproved"));
        assert!(words.ok().starts_with("NOT PROVED: 6 -> 1 tree, decisions change\n"), "{}", words.stdout);
    }
    folder.run("inspect out.txt").ok();
    fs::remove_file(folder.path().join("out.txt")).unwrap();
    for (flags, part) in [
        ("ic --size 3", "--accept-unproved"),
        ("ic --accept-unproved", "--size"),
        ("best --size 3 --accept-unproved", "[possible values: ic, imd, drep, rows, boxes]"),
        ("ic --size 0 --accept-unproved", "from 1 to 6"),
        ("ic --size 7 --accept-unproved", "from 1 to 6"),
        ("ic --size 3 --accept-unproved --certificate c", "cannot be used with"),
    ] {
        says(&folder.run(&format!("{base} {flags}")), &[part]);
    }
    let rest = "--method ic --size 3 --accept-unproved";
    says(&folder.run(&format!("prune model.txt -o out.txt {rest}")), &["--data"]);
    says(&folder.run(&format!("prune model.txt -o out.txt --data rows.csv {rest}")), &["--target"]);
    folder.file("strange.csv", "a,b,class\n1,1,0\n3,3,maybe\n");
    let run = folder.run(&format!("prune model.txt -o out.txt --data strange.csv --target class {rest}"));
    says(&run, &["strange.csv: row 2 (line 3), column \"class\"", "\"maybe\" is not a class of the model"]);
    folder.file("empty.csv", "a,b,class\n");
    let run = folder.run(&format!("prune model.txt -o out.txt --data empty.csv --target class {rest}"));
    says(&run, &["labelled rows"]);
    assert!(!folder.names().contains(&"out.txt".to_owned()));
}

#[test]
fn the_pruner_without_its_whole_oracle_says_so_and_what_the_oracle_finds() {
    let folder = Folder::new();
    folder.file("model.txt", stumps(&[(0, 2.0, -1.0, 1.0), (1, 3.0, -1.5, 0.5), (0, 5.0, -0.25, 0.75)]));
    folder.file("rows.csv", "a,b,class\n1,1,0\n9,9,1\n");
    let base = "prune model.txt -o out.txt --data rows.csv --accept-unproved --method";
    // One tree is enough for these two rows, but not for all inputs.
    let object = json(&folder.run(&format!("{base} rows --json --target class")));
    assert_eq!((&object["outcome"], &object["method"]), (&"unproved".into(), &"rows".into()));
    assert_eq!((&object["checked"], &object["certificate"]), (&false.into(), &Value::Null));
    assert_eq!((&object["fidelity"], &object["accuracy"]["after"]), (&1.0.into(), &1.0.into()));
    assert!(object["trees"]["after"].as_u64().unwrap() < 3, "{object}");
    assert_eq!(object["oracle"]["outcome"], "different");
    assert!(object["oracle"]["counterexample"]["input"].is_object(), "{object}");
    assert_eq!(folder.run("verify model.txt out.txt").code, Some(1));
    let words = folder.run(&format!("{base} rows"));
    let text = words.ok();
    assert!(text.starts_with("NOT PROVED: 3 -> 1 tree, decisions may change\n"), "{text}");
    assert!(text.contains("finds an input that was"), "{text}");
    // An oracle with enough boxes refutes that model.
    let object = json(&folder.run(&format!("{base} boxes --boxes 100000 --json")));
    assert_eq!((&object["outcome"], &object["checked"]), (&"unproved".into(), &false.into()));
    assert_eq!((&object["accuracy"], &object["oracle"]["outcome"]), (&Value::Null, &"identical".into()));
    for (flags, part) in [
        ("rows --size 3", "--size goes with --method ic, imd and drep"),
        ("rows --boxes 3", "--boxes goes with --method boxes"),
        ("boxes", "--method boxes needs --boxes N"),
        ("boxes --boxes 0", "--method boxes needs --boxes N"),
        ("rows --effort minimum", "proves no smallest size"),
        ("rows --certificate c", "cannot be used with"),
        ("rows --within 0.5", "cannot be used with"),
        ("ic --size 1 --target class --boxes 5", "--boxes cannot be used with --method ic"),
    ] {
        says(&folder.run(&format!("{base} {flags}")), &[part]);
    }
    let without = folder.run("prune model.txt -o out.txt --method rows --data rows.csv");
    says(&without, &["--accept-unproved"]);
}

/// A command whose search waits after some boxes (`crates/search/oracle/src/pause.rs`), on fast and on
/// slow machines alike.
#[cfg(all(unix, debug_assertions))]
fn paused(folder: &Folder, words: &str) -> std::process::Child {
    use std::process::Stdio;
    let mut command = folder.command();
    command.env("SECATEUR_TEST_PAUSE", "3:paused").args(words.split(' '));
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

#[cfg(all(unix, debug_assertions))]
#[test]
fn ctrl_c_writes_the_best_proved_model_and_ends_with_130() {
    use crate::support::{send, wait_for};

    let folder = Folder::new();
    folder.file("model.txt", large(40));
    let child = paused(&folder, "prune model.txt -o out.txt --json --effort minimum");
    wait_for("the search", || folder.names().contains(&"paused".to_owned()));
    send("INT", &child);
    let run = Run::end_of(child, "prune, and Ctrl-C");
    assert_eq!(run.code, Some(130), "{} {}", run.stdout, run.stderr);
    assert!(run.stderr.contains("interrupted: the best model so far is being written"), "{}", run.stderr);
    let object: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((&object["interrupted"], &object["outcome"]), (&true.into(), &"budget_reached".into()));
    assert_eq!(folder.names(), ["model.txt", "out.txt", "paused"]);
    assert!(folder.run("verify model.txt out.txt").ok().starts_with("identical"));
}

#[cfg(all(unix, debug_assertions))]
#[test]
fn a_time_limit_is_held_and_progress_is_told() {
    let folder = Folder::new();
    folder.file("model.txt", large(40));
    let run = Run::end_of(
        paused(&folder, "prune model.txt -o out.txt --time-limit 2s --effort minimum"),
        "prune with a limit of 2 s",
    );
    // The search waited, and only the limit ends that. What follows may still prove that every tree is
    // needed.
    assert!(folder.names().contains(&"paused".to_owned()));
    let began = [
        (3, "the time is up: 40 -> "),
        (3, "unchanged: nothing smaller than 40 trees was found within the time limit"),
        (0, "unchanged: every one of the 40 trees is needed (proved)"),
    ];
    let as_said = |&(code, words): &(i32, &str)| run.code == Some(code) && run.stdout.starts_with(words);
    assert!(began.iter().any(as_said), "{:?} {} {}", run.code, run.stdout, run.stderr);
    let told = run.stderr.lines().any(|line| line.contains("/40 trees") && line.contains(" s left, "));
    assert!(told, "{}", run.stderr);
    assert!(folder.run("verify model.txt out.txt").ok().starts_with("identical"));
}

#[test]
fn what_is_not_kept_is_said_and_measured() {
    let folder = Folder::new();
    folder.file("model.txt", compressible());
    let run = folder.run("prune model.txt -o pruned.txt");
    assert!(
        run.ok().contains("not kept        probabilities: --data TABLE measures how far they move"),
        "{}",
        run.stdout
    );
    let features = json(&folder.run("inspect model.txt --json"))["features"]["count"].as_u64().unwrap();
    let rows: String = (0..50)
        .map(|row| vec![format!("{}", f64::from(row) / 10.0); features as usize].join(",") + "\n")
        .collect();
    folder.file("rows.csv", rows);
    let object = json(&folder.run("prune model.txt -o pruned.txt --data rows.csv --json"));
    let shift = &object["probability_shift"];
    assert_eq!(shift["rows"], 50, "{object}");
    let (largest, mean) = (shift["largest"].as_f64().unwrap(), shift["mean"].as_f64().unwrap());
    assert!(0.0 < mean && mean <= largest && largest < 1.0, "{shift}");
    assert!(shift["auc"].is_null(), "{shift}");
}

#[test]
fn how_well_probabilities_rank_is_measured_where_the_table_has_the_classes() {
    let folder = Folder::new();
    // The first tree decides; the second ranks the rows within each side.
    folder.file("model.txt", stumps(&[(0, 2.0, -1.0, 1.0), (1, 3.0, -0.5, 0.5)]));
    let table = |classes: [&str; 4]| {
        let rows = ["1,1", "1,4", "3,1", "3,4"].into_iter().zip(classes);
        rows.fold("a,b,y\n".to_owned(), |text, (row, class)| text + row + "," + class + "\n")
    };
    folder.file("rows.csv", table(["0", "1", "0", "1"]));
    let prune = "prune model.txt -o out.txt --data rows.csv --target y";
    let run = folder.run(prune);
    // The ranked classes are 0 1 0 1: three of four pairs are in order; with the first tree alone
    // two of the four are ties.
    let words = run.ok().split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("(AUC 0.7500 -> 0.5000)"), "{words}");
    let object = json(&folder.run(&format!("{prune} --json")));
    assert_eq!(object["probability_shift"]["auc"], serde_json::json!({"before": 0.75, "after": 0.5}));
    // A target with other values is ignored, as before.
    folder.file("rows.csv", table(["0", "1", "maybe", "1"]));
    let object = json(&folder.run(&format!("{prune} --json")));
    assert!(object["probability_shift"]["auc"].is_null(), "{object}");
    assert_eq!(object["probability_shift"]["rows"], 4, "{object}");
}

#[test]
fn decisions_at_a_threshold_are_kept_and_checked() {
    let folder = Folder::new();
    // Scores are -1.5, -0.5, 0.5 and 1.5: at one half the first tree decides, at 0.7 (a score of
    // 0.85) both trees do.
    folder.file("model.txt", stumps(&[(0, 2.0, -1.0, 1.0), (1, 3.0, -0.5, 0.5)]));
    let half = json(&folder.run("prune model.txt -o half.txt --json"));
    assert_eq!((&half["trees"]["after"], &half["threshold"]), (&Value::from(1), &Value::Null), "{half}");
    let run = folder.run("prune model.txt -o out.txt --threshold 0.7 --certificate c");
    assert!(
        run.ok().starts_with("unchanged: every one of the 2 trees is needed (proved)\n"),
        "{}",
        run.stdout
    );
    assert!(run.stdout.contains("secateur-check model.txt out.txt c --threshold 0.7"), "{}", run.stdout);
    // At 0.9 (a score of 2.2) no input is above the threshold, and no tree is needed.
    let run = folder.run("prune model.txt -o none.txt --threshold 0.9");
    let words = run.ok().split_whitespace().collect::<Vec<_>>().join(" ");
    for part in ["at the threshold 0.9", "is on the same side of 0.9 (> or >=", "predict among them"] {
        assert!(words.contains(part), "{part}: {words}");
    }
    let object = json(&folder.run("prune model.txt -o none.txt --threshold 0.9 --json"));
    assert!(object["trees"]["after"].as_u64().unwrap() <= 1, "{object}");
    assert_eq!(object["threshold"]["probability"], 0.9);
    assert!((object["threshold"]["score"].as_f64().unwrap() - 9f64.ln()).abs() < 1e-12, "{object}");
    assert!(folder.run("verify model.txt none.txt --threshold 0.9").ok().starts_with("identical"));
    assert!(folder.run("verify model.txt half.txt").ok().starts_with("identical"));
    // Decisions kept at one threshold need not be kept at another.
    for (other, threshold) in [("none.txt", ""), ("half.txt", "--threshold 0.7")] {
        let run = folder.run(&format!("verify model.txt {other} {threshold}"));
        assert_eq!(run.code, Some(1), "{} {}", run.stdout, run.stderr);
    }
    for (words, why) in [
        ("--threshold 1.5", "1.5 is no threshold for a probability"),
        ("--threshold 0.3 --within 0.1", "cannot be used with"),
        ("--threshold 0.3 --keep scores", "--threshold is about decisions"),
    ] {
        let run = folder.run(&format!("prune model.txt -o no.txt {words}"));
        assert!(run.refused().contains(why), "{words}: {}", run.stderr);
    }
    folder.file("three.txt", THREE_CLASSES);
    let run = folder.run("prune three.txt -o no.txt --threshold 0.3");
    assert!(run.refused().contains("for models of two classes, and this one has 3"), "{}", run.stderr);
    assert!(!folder.names().contains(&"no.txt".to_owned()));
}

#[test]
fn scores_are_kept_up_to_rounding() {
    let folder = Folder::new();
    // The last two trees have the same split and become one; the scores stay.
    folder.file("model.txt", stumps(&[(0, 2.0, -1.0, 1.0), (1, 3.0, -0.5, 0.5), (1, 3.0, -0.25, 0.75)]));
    let object = json(&folder.run("prune model.txt -o out.txt --keep scores --json"));
    assert_eq!(
        (&object["trees"]["after"], &object["checked"]),
        (&Value::from(2), &Value::from(true)),
        "{object}"
    );
    assert!(object["within"].as_f64().unwrap() < 1e-12, "{object}");
    assert!(folder.run("verify model.txt out.txt --scores --within 1e-12").ok().contains("1e-12"));
    for words in ["--within 0.1", "--band 0.1", "--threshold 0.3"] {
        folder.run(&format!("prune model.txt -o no.txt --keep scores {words}")).refused();
    }
}

#[test]
fn where_nothing_can_go_it_is_measured_what_would_help() {
    let folder = Folder::new();
    // Three trees vote, and any two of them may outvote the third. On the rows, which have a single
    // one each, no such vote occurs.
    let trees = [0, 1, 2].map(|feature| (feature, 0.5, -1.0, 1.0 + 0.01 * feature as f64));
    let three =
        stumps(&trees).replace("max_feature_idx=1", "max_feature_idx=2").replace("=a b\n", "=a b c\n");
    folder.file("model.txt", three.replace("[0:10] [0:10]", "[0:10] [0:10] [0:10]"));
    let rows = (0..60).map(|row| ["1,0,0,0\n", "0,1,0,1\n", "0,0,1,0\n"][row % 3]);
    folder.file("rows.csv", "a,b,c,y\n".to_owned() + &rows.collect::<String>());
    let run = folder.run("prune model.txt -o out.txt --data rows.csv --target y --no-missing");
    assert!(run.ok().starts_with("unchanged"), "{}", run.stdout);
    let words = |run: &Run| run.ok().split_whitespace().collect::<Vec<_>>().join(" ");
    // A domain was given, so no other is tried; a band is.
    let pack = "pack `secateur pack model.txt -o model.spk`: ";
    assert!(words(&run).contains(pack), "{}", run.stdout);
    assert!(words(&run).contains("would not --band 0.2: in short trials no tree less"), "{}", run.stdout);
    assert!(!run.stdout.contains("your rows"), "{}", run.stdout);
    let run = folder.run("prune model.txt -o out.txt --data rows.csv --target y");
    assert!(
        words(&run).contains("would help --domain FILE: 3 -> 1 tree, if every input is like your rows"),
        "{}",
        run.stdout
    );
    assert!(words(&run).contains("would not --no-missing and --band 0.2: in short"), "{}", run.stdout);
    // Scripts and users who want it quiet get only what they asked for.
    for flags in ["--json", "-q"] {
        let run = folder.run(&format!("prune model.txt -o out.txt --data rows.csv --target y {flags}"));
        assert!(!run.ok().contains("would"), "{}", run.stdout);
    }
    // What packing gives is part of the result.
    let object = json(&folder.run("prune model.txt -o out.txt --json"));
    folder.run("pack model.txt -o model.spk").ok();
    let size = folder.path().join("model.spk").metadata().unwrap().len();
    assert_eq!(object["pack"]["bytes"], size, "{object}");
    assert!(object["pack"]["row_seconds"].as_f64().unwrap() > 0.0, "{object}");
    // If every score is to be kept, there is nothing to try.
    let run = folder.run("prune model.txt -o out.txt --keep scores");
    assert!(words(&run).contains(pack) && !run.stdout.contains("would not"), "{}", run.stdout);
}
