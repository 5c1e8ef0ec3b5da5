//! What is reported about a band: a claim about exact sums never promises what the library returns.

use serde_json::Value;

use crate::support::{FLOWERS, Folder};

/// A one-against-all model with scores that saturate: whatever the exact scores are, LightGBM
/// returns class 0.
const SATURATED: &str = include_str!("../../../../../testdata/models/lightgbm/saturated_ova.txt");

/// The text without its line breaks.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn band_zero_promises_exact_sums_and_not_decisions() {
    let folder = Folder::new();
    folder.file("model.txt", FLOWERS);
    let prune = folder.run("prune model.txt -o out.txt --certificate proof --report page.html --band 0");
    assert!(flat(prune.ok()).contains("secateur-check model.txt out.txt proof --band 0"), "{}", prune.stdout);
    let bare = folder.run("prune model.txt -o bare.txt --band 0");
    assert!(flat(bare.ok()).contains("secateur verify model.txt bare.txt --band 0"), "{}", bare.stdout);
    let verify = folder.run("verify model.txt out.txt --band 0 --report compared.html");
    for text in [flat(prune.ok()), flat(verify.ok())] {
        assert!(text.contains("exact sums"), "{text}");
        assert!(text.contains("where a library's rounding decides, its classes can differ"), "{text}");
        assert!(text.contains("rounding"), "{text}");
        assert!(!text.contains("decision unchanged") && !text.starts_with("identical: proved"), "{text}");
    }
    for page in ["page.html", "compared.html"] {
        let page = folder.read(page).replace('\u{2019}', "'");
        assert!(page.contains("computed without rounding"), "{page}");
        assert!(page.contains("Where a library's rounding decides, its classes can differ."), "{page}");
        assert!(page.contains("what the library returns where its rounding decides"), "{page}");
    }
    let auto = folder.run("prune model.txt -o out.txt --json");
    assert_eq!(json(auto.ok())["band"]["exact"], false);
    let exact = folder.run("verify model.txt out.txt --band 0 --json");
    assert_eq!(json(exact.ok())["band"]["exact"], true);
}

#[test]
fn saturation_is_named_and_the_advice_works() {
    let folder = Folder::new();
    folder.file("model.txt", SATURATED);
    let run = folder.run("prune model.txt -o out.txt");
    for words in ["for all scores beyond 27.69", "may go up to 64.0", "a sigmoid of at most 0.312 (now 1.3)"]
    {
        assert!(run.refused().contains(words), "{}", run.stderr);
    }
    assert!(!run.stderr.contains("overflow") && !run.stderr.contains("use band 0"), "{}", run.stderr);
    folder.run("verify model.txt model.txt").refused();
    // Band 0 is possible, and the output says that it does not cover what the library returns.
    folder.file("rows.csv", "a,b\n1,1\n0,0\n0,1\n");
    let run = folder.run("prune model.txt -o out.txt --band 0 --data rows.csv");
    assert!(flat(run.ok()).contains("no band covers the library's rounding"), "{}", run.stdout);
    assert!(flat(&run.stdout).contains("otherwise than the exact sums"), "{}", run.stdout);
    let data = json(folder.run("prune model.txt -o out.txt --band 0 --data rows.csv --json").ok());
    // The library always returns class 0; the exact sums give class 1 or 2 for the first and the
    // last row.
    assert_eq!(data["data"]["rounded"], 2, "{data}");
    assert_eq!(data["data"]["in_band"], Value::Null);
    folder.file("smaller.txt", SATURATED.replace("sigmoid:1.3", "sigmoid:0.312"));
    folder.run("prune smaller.txt -o out.txt").ok();
}

#[test]
fn rows_inside_the_band_are_counted() {
    let folder = Folder::new();
    folder.file("model.txt", FLOWERS);
    folder.file("rows.csv", "length,width,colour\n1,0,red\n9,9,red\n3,3,blue\n");
    let wide = json(folder.run("prune model.txt -o out.txt --band 1e3 --data rows.csv --json").ok());
    assert_eq!(wide["data"]["in_band"], 3);
    let narrow = json(folder.run("verify model.txt model.txt --data rows.csv --json").ok());
    assert_eq!((&narrow["data"]["rows"], &narrow["data"]["in_band"]), (&Value::from(3), &Value::from(0)));
    assert_eq!(
        (&narrow["data"]["rounded"], &narrow["data"]["changed_in_band"]),
        (&Value::from(0), &Value::from(0))
    );
}
