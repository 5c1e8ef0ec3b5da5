//! Pages of every kind of outcome: numbers, escaping, size.

mod samples;

use std::collections::HashMap;

use secateur_report::{Report, html};

/// The unrounded numbers of a page by their keys, and the text shown for each.
fn data(page: &str) -> HashMap<String, (String, String)> {
    let mut found = HashMap::new();
    for part in page.split("<data data-key=\"").skip(1) {
        let (key, rest) = part.split_once("\" value=\"").expect("a key is followed by a value");
        let (value, rest) = rest.split_once("\">").expect("a value is followed by text");
        let (text, _) = rest.split_once("</data>").expect("the element ends");
        let before = found.insert(key.to_owned(), (value.to_owned(), text.to_owned()));
        assert!(before.is_none_or(|(old, _)| old == value), "{key} has two values");
    }
    found
}

fn number(page: &HashMap<String, (String, String)>, key: &str) -> f64 {
    let (value, _) = page.get(key).unwrap_or_else(|| panic!("no {key}"));
    value.parse().unwrap_or_else(|_| panic!("{key}: {value}"))
}

#[test]
fn the_numbers_of_the_page_are_those_of_the_report() {
    for (name, report) in samples::all() {
        let page = data(&html(&report));
        let sides = if report.outcome.is_pruning() { ["before", "after"] } else { ["first", "second"] };
        for (model, side) in report.models.iter().zip(sides) {
            assert_eq!(number(&page, &format!("trees.{side}")), model.trees as f64, "{name}");
            assert_eq!(number(&page, &format!("leaves.{side}")), model.leaves as f64, "{name}");
            assert_eq!(number(&page, &format!("splits.{side}")), model.splits as f64, "{name}");
            assert_eq!(number(&page, &format!("features.{side}")), model.features_used as f64, "{name}");
            assert_eq!(number(&page, &format!("bytes.{side}")), model.bytes as f64, "{name}");
            let timing = model.timing.expect("the samples are timed");
            assert_eq!(number(&page, &format!("prediction.{side}")), timing.seconds_per_row, "{name}");
        }
        if report.scores.is_none() {
            assert_eq!(number(&page, "band.score"), report.claim.band, "{name}");
        }
        if let Some([low, high]) = report.claim.probability {
            assert_eq!(number(&page, "band.probability.0"), low);
            assert_eq!(number(&page, "band.probability.1"), high);
        }
        assert_eq!(number(&page, "seconds.total"), report.run.seconds, "{name}");
        if let Some(bound) = report.lower_bound {
            assert_eq!(number(&page, "lower_bound"), bound as f64, "{name}");
        }
        if let Some(calls) = report.run.oracle_calls {
            assert_eq!(number(&page, "oracle_calls"), calls as f64, "{name}");
        }
        if let Some(points) = report.run.points {
            assert_eq!(number(&page, "points"), points as f64, "{name}");
        }
        if let Some(example) = &report.counterexample {
            for (model, scores) in example.scores.iter().enumerate() {
                for (class, &score) in scores.iter().enumerate() {
                    let shown = number(&page, &format!("counterexample.scores.{model}.{class}"));
                    assert!(shown == score || shown.is_nan() && score.is_nan(), "{name}");
                }
            }
        }
        if let Some(scores) = &report.scores {
            for (key, value) in
                [("within", scores.within), ("at_most", scores.at_most), ("rounding", scores.rounding)]
            {
                assert_eq!(value.is_some(), page.contains_key(&format!("scores.{key}")), "{name}: {key}");
                if let Some(value) = value {
                    assert_eq!(number(&page, &format!("scores.{key}")), value, "{name}");
                }
            }
            let shown = scores.shown.as_ref().expect("the samples show an input");
            assert_eq!(number(&page, "scores.at_least"), shown.distance, "{name}");
            assert_eq!(number(&page, "scores.of_input.1"), shown.scores[1], "{name}");
        }
        let fates: f64 =
            page.keys().filter(|key| key.starts_with("fates.")).map(|key| number(&page, key)).sum();
        assert_eq!(fates, report.trees.len() as f64, "{name}");
    }
}

#[test]
fn counts_are_shown_as_they_are() {
    for (name, report) in samples::all() {
        let page = data(&html(&report));
        for key in ["trees.before", "trees.after", "leaves.before", "oracle_calls", "points", "lower_bound"] {
            if let Some((value, text)) = page.get(key) {
                assert_eq!(&text.replace(',', ""), value, "{name}: {key}");
            }
        }
    }
}

#[test]
fn no_text_of_a_report_becomes_markup() {
    let page = html(&samples::hostile()) + &html(&samples::hostile_scores());
    for wrong in ["<script", "<img", "onerror=alert(1)>\u{202e}", "\u{202e}"] {
        assert!(!page.contains(wrong), "{wrong}");
    }
    // The contents of the file are still readable, as text.
    assert!(page.contains("&lt;script&gt;"));
    // All tags are the page's own: each starts with a known name.
    for tag in page.split('<').skip(1).map(|part| part.split(['>', ' ', '/']).next().unwrap_or_default()) {
        let known = "!doctype html head meta title style body main header section article h1 h2 h3 p span svg path line \
                     desc dl div dt dd data i b ul li details summary table thead tbody tr th td strong code pre";
        assert!(tag.is_empty() || known.split_whitespace().any(|name| name == tag), "<{tag}");
    }
}

#[test]
fn the_page_loads_and_runs_nothing() {
    for (name, report) in samples::all() {
        let page = html(&report);
        for wrong in ["http://", "https://", "<script", "<link", "<iframe", "url(", "@import", "src="] {
            assert!(!page.replace("&gt;&lt;img src=x", "").contains(wrong), "{name}: {wrong}");
        }
    }
}

#[test]
fn the_page_stays_small_whatever_the_model() {
    let page = html(&samples::huge());
    assert!(page.len() < 1_000_000, "{}", page.len());
    assert!(page.contains("and 9,980 more") && page.contains("more columns"));
}

#[test]
fn an_empty_report_is_a_page_too() {
    let page = html(&Report::default());
    assert!(page.contains("Undecided") && page.ends_with("</html>\n"));
}

#[test]
fn each_outcome_says_what_is_proved_and_no_more() {
    let page = html(&samples::reduced());
    assert!(page.contains("17 trees decide as 200 did"));
    assert!(page.contains("leads by more than 4.3e−13"));
    let mut exact = samples::reduced();
    (exact.claim.exact, exact.claim.band) = (true, 0.0);
    exact.claim.rows = Some("9 rows: 2 so close that rounding may decide".to_owned());
    let page = html(&exact);
    assert!(page.contains("The exact sums of 17 trees decide as those of 200 did"));
    assert!(!page.contains("trees decide as 200 did") && page.contains("its classes can differ"));
    assert!(page.contains("9 rows: 2 so close that rounding may decide"));
    let page = html(&samples::minimal());
    assert!(page.contains("None of the 50 trees can go") && page.contains("Why no tree can go"));
    let page = html(&samples::budget());
    assert!(page.contains("fewer may do") && page.contains("not reached") && page.contains("What is open"));
    assert!(!page.contains("no fewer can do"));
    let page = html(&samples::counterexample());
    assert!(page.contains("do not decide alike") && page.contains("row 4,211 of the table"));
    let mut report = samples::counterexample();
    if let Some(example) = &mut report.counterexample {
        example.in_libraries = false;
    }
    assert!(html(&report).contains("one of exact arithmetic"));
    let mut report = samples::reduced();
    report.models[1].trees = report.models[0].trees;
    assert!(html(&report).contains("with fewer leaves decide as before"));
    report.models[1].leaves = report.models[0].leaves;
    assert!(html(&report).contains("No smaller model was found"));
    let page = html(&samples::classes());
    assert!(page.contains("26: A, B") && page.contains("and 14 more"));
    let mut report = samples::identical();
    report.claim.exact = true;
    let page = html(&report);
    assert!(page.contains("The exact sums of both models decide alike") && page.contains("without rounding"));
    assert!(page.contains("Where a library’s rounding decides, its classes can differ."));
    report.claim.exact = false;
    let page = html(&report);
    assert!(page.contains("Both models decide alike") && !page.contains("without rounding"));
}

#[test]
fn a_claim_without_missing_values_says_so() {
    for (name, mut report) in samples::all() {
        let whole = html(&report);
        assert!(!whole.contains("without missing values") && !whole.contains("Not claimed"), "{name}");
        report.claim.limited_to = Some("every input without missing values".to_owned());
        let narrow = html(&report);
        assert!(narrow.contains("On every input without missing values ("), "{name}");
        assert!(narrow.contains("other inputs than those without missing values"), "{name}");
    }
}

#[test]
fn the_page_of_scores_says_what_is_proved_and_draws_where_they_part() {
    let page = html(&samples::scores());
    // The bound is never shown smaller than it is.
    assert!(page.contains("The scores are at most 0.25004 apart"), "{page}");
    assert!(page.contains("every f32 number") && page.contains("Where the two scores part"));
    assert_eq!(page.matches("id=\"along-").count(), 4, "two pictures, each with a title and a description");
    assert!(!page.contains("Band") && !page.contains("decides"));
    let page = html(&samples::limit());
    assert!(page.contains("Exceeded") && page.contains("The scores can be more than 0.125 apart"));
    assert!(page.contains("is false"));
}
