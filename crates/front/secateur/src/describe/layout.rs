//! Lays the facts out for a terminal; the text is readable without colour.

use std::fmt::Write;

use super::facts::{ColumnFacts, Facts, FeatureFacts};
use crate::logistic;
use crate::text::{counted, entry, grouped, printable};

/// How many features and classes, and how many labels, are listed by default.
const SHOWN: usize = 20;
const SHOWN_LABELS: usize = 6;

pub(super) fn lay_out(facts: &Facts, all: bool) -> String {
    let mut text = format!("{}\n", printable(facts.file.as_deref().unwrap_or("a model in memory")));
    let mut line = |key: &str, value: &str| {
        text.push_str(&entry(key, &printable(value)));
        text.push('\n');
    };
    line("format", &facts.dialect);
    if let Some(bytes) = facts.bytes {
        line("size", &counted(bytes, "byte", "bytes"));
    }
    let empty = match facts.empty_trees {
        0 => String::new(),
        empty => format!(", {} of them empty (a leaf of zero that fills a round up)", grouped(empty as u64)),
    };
    line("trees", &(grouped(facts.trees as u64) + &empty));
    line("leaves", &grouped(facts.leaves as u64));
    line("depth", &grouped(facts.depth as u64));
    let distinct =
        format!("{} distinct of {}", grouped(facts.distinct_splits as u64), grouped(facts.splits as u64));
    line("splits", &distinct);
    facts.domain_words.iter().for_each(|words| line("domain", words));
    if let Some(cells) = facts.log10_cells {
        line("grid", &format!("10^{cells:.1} cells on which nothing changes"));
    }
    line("classes", &classes(facts, all));
    line("accepts", &accepts(facts));
    line("scores", &scores(facts));
    line("decides", &facts.decision.words);
    match facts.classes.count {
        0 => line("rounding", &rounding(facts)),
        _ => line("band", &band(facts)),
    }
    for note in &facts.notes {
        line("note", note);
    }
    features(&mut text, &facts.features, all);
    text
}

fn classes(facts: &Facts, all: bool) -> String {
    let classes = &facts.classes;
    if classes.count == 0 {
        return match facts.decision.rule {
            "labels" => "none is chosen: a row may get several labels",
            _ => "none: a regressor or ranker",
        }
        .to_owned();
    }
    let origin = if classes.named { "" } else { " (the file has no labels)" };
    format!("{}: {}{origin}", classes.count, shortened(&classes.labels, if all { usize::MAX } else { SHOWN }))
}

fn shortened(labels: &[String], most: usize) -> String {
    let mut text = labels.iter().take(most).map(String::as_str).collect::<Vec<_>>().join(", ");
    if labels.len() > most {
        let _ = write!(text, ", ... {} more", labels.len() - most);
    }
    text
}

fn accepts(facts: &Facts) -> String {
    let input = &facts.input;
    let mut text = match input.number {
        "f32" => "numbers rounded to f32".to_owned(),
        _ => "f64 numbers".to_owned(),
    };
    text.push_str(match (input.missing, input.infinities) {
        (true, true) => ", missing values, infinities",
        (true, false) => " but no infinities, missing values",
        (false, true) => ", infinities, no missing values",
        (false, false) => ", no infinities, no missing values",
    });
    if let Some(window) = input.zero_window {
        let _ = write!(text, "; numbers of magnitude up to {window:e} are read as zero");
    }
    if input.zero_branch {
        text.push_str("; zero takes a branch of its own in some splits");
    }
    match input.unseen_categories {
        Some("missing") => text.push_str("; an unseen category is a missing value"),
        Some("left_out") => text.push_str("; an unseen category is in no set of a split"),
        Some(_) => text.push_str("; an unseen category is in no set of a split, or missing, by the column"),
        None => {}
    }
    text
}

fn scores(facts: &Facts) -> String {
    let scores = &facts.scores;
    let mut text = format!("{} in {}", counted(scores.count as u64, "sum", "sums"), scores.number);
    text.push_str(match scores.order {
        "file" => ", added in the order of the file",
        _ => ", added in an order that threads may change",
    });
    let intercepts: Vec<String> =
        scores.intercepts.iter().take(SHOWN_LABELS).map(|&value| number(value, scores.number)).collect();
    let more = if scores.intercepts.len() > SHOWN_LABELS { ", ..." } else { "" };
    if scores.intercepts.iter().all(|&value| value == 0.0) {
        text.push_str(", from zero");
        if let Some(scale) = scores.scale {
            let _ = write!(text, ", multiplied by {}", number(scale, scores.number));
        }
    } else if let Some(scale) = scores.scale {
        let _ = write!(
            text,
            ", multiplied by {}, with {}{more} added last",
            number(scale, scores.number),
            intercepts.join(", ")
        );
    } else if scores.intercept == "first" {
        let _ = write!(text, ", from {}{more}", intercepts.join(", "));
    } else {
        let _ = write!(text, ", with {}{more} added last", intercepts.join(", "));
    }
    if let Some(average) = &scores.average {
        let raw = if average.in_raw_scores { "" } else { " for the decision only, not in raw scores" };
        let _ = write!(text, ", then divided by {}{raw}", average.divisor);
    }
    text
}

fn number(value: f64, kind: &str) -> String {
    let kind = if kind == "f32" { secateur_model::NumberType::F32 } else { secateur_model::NumberType::F64 };
    crate::text::number(value, kind)
}

/// How far a regressor's scores may be from the exact sums.
fn rounding(facts: &Facts) -> String {
    match &facts.band.rounding {
        None => "a sum may overflow its number type".to_owned(),
        Some(bounds) => match bounds.iter().copied().fold(0.0, f64::max) {
            0.0 => "none: the sums are exact".to_owned(),
            largest => format!("scores are within {largest:.2e} of exact sums on every input"),
        },
    }
}

fn band(facts: &Facts) -> String {
    let Some(score) = facts.band.score else {
        return match facts.band.rounding {
            None => "none: a sum may overflow its number type".to_owned(),
            Some(_) => {
                "none: the probabilities of high scores round to the same number, and the lowest class wins"
                    .to_owned()
            }
        };
    };
    if score == 0.0 {
        return "0: the sums are exact, every decision is that of exact arithmetic".to_owned();
    }
    let probability = match facts.band.probability {
        Some(interval) => format!(" (probabilities from {})", logistic::words(interval)),
        None => String::new(),
    };
    let scores = if facts.decision.is_threshold() {
        format!("the score is within {score:.2e} of the threshold{probability}")
    } else {
        format!("the two highest scores are within {score:.2e} of each other")
    };
    format!("where {scores}, rounding may decide; nowhere else")
}

fn features(text: &mut String, features: &FeatureFacts, all: bool) {
    let named = if features.named { "" } else { "; the file has no names" };
    let count = counted(features.count as u64, "feature", "features");
    let _ = writeln!(text, "\n{count}, {} used by splits{named}", grouped(features.used as u64));
    let most = if all { usize::MAX } else { SHOWN };
    let shown = &features.columns[..features.columns.len().min(most)];
    let index_width = shown.last().map_or(1, |column| column.index.to_string().len());
    let name_width = shown.iter().map(|column| printable(&column.name).chars().count()).max().unwrap_or(0);
    for column in shown {
        let _ = writeln!(
            text,
            "  {:>index_width$}  {:<name_width$}  {}",
            column.index,
            printable(&column.name),
            describe(column, all).trim_end()
        );
    }
    let rest = features.columns.len() - shown.len();
    if rest > 0 {
        let _ = writeln!(text, "  ... {} more; -v lists them all", grouped(rest as u64));
    }
}

fn describe(column: &ColumnFacts, all: bool) -> String {
    let kind = match (column.categories, &column.labels) {
        (Some(count), Some(_)) => counted(count as u64, "category", "categories"),
        (Some(0), None) => "categorical".to_owned(),
        (Some(count), None) => format!("categorical, codes up to {}", count - 1),
        (None, _) => column.kind.to_owned(),
    };
    let splits = match column.splits {
        0 => "unused".to_owned(),
        count => counted(count as u64, "split", "splits"),
    };
    let labels = match &column.labels {
        Some(labels) => {
            let list = shortened(labels, if all { usize::MAX } else { SHOWN_LABELS });
            format!(": {}", printable(&list))
        }
        None => String::new(),
    };
    format!("{splits:>12}  {kind}{labels}")
}
