//! What changed between two versions, as words and as JSON.

use secateur_formats::ModelFile;
use secateur_model::{Decision, Ensemble, FeatureId, LabelMatch, NumberType};
use serde_json::{Value, json};

use super::{Difference, Keeps, Reason, RowChange, RowsMoved, upper_number};
use crate::domain::inputs_words;
use crate::logistic;
use crate::places::Places;
use crate::text::{counted, entry, grouped, number, plain, printable};
use crate::verify::{
    Conclusion, VerifyReport, json_number, row_json, row_labels, used_columns, values_words,
};

/// How many columns of a row, and how many rows, are printed unless all are asked for.
const SHOWN: usize = 12;
const ROWS: usize = 3;

/// The result of [`diff`](super::diff), for people and for scripts.
#[derive(Clone, Copy, Debug)]
pub struct Report<'a> {
    /// The first version.
    pub first: &'a ModelFile,
    /// The second.
    pub second: &'a ModelFile,
    /// The result.
    pub difference: &'a Difference,
    /// Where the certificates were written: that of the largest move, and that of the safe lead.
    pub certificates: [Option<&'a str>; 2],
}

impl Report<'_> {
    fn models(&self) -> [&Ensemble; 2] {
        let [first, second] = &self.difference.shown;
        [first.as_ref().unwrap_or(self.first.ensemble()), second.as_ref().unwrap_or(self.second.ensemble())]
    }

    fn name(&self, column: FeatureId) -> String {
        printable(&self.models()[0].features().name(column)).into_owned()
    }

    /// The inputs of both bounds, in a few words.
    fn inputs(&self) -> &'static str {
        let scores = &self.difference.scores;
        match scores.accepted.in_short(&scores.domain) {
            "every input" => "every input that both libraries accept",
            inputs => inputs,
        }
    }

    /// `proved`, or what is known instead.
    fn how(&self) -> &'static str {
        if self.difference.scores.checked() {
            "proved"
        } else {
            "found by the search, not checked in the time given"
        }
    }

    /// What leads by a number, as the subject of a sentence.
    fn leader(&self, above: f64) -> String {
        let above = bound(above);
        match (self.models()[0].decision(), self.difference.threshold) {
            (Decision::Threshold { .. }, None) => {
                format!("a row whose raw score is farther than {above} from the threshold of the first model")
            }
            (_, Some(threshold)) => format!(
                "a row whose raw score is farther than {above} from the one of the probability {}",
                plain(threshold)
            ),
            _ => format!("a row whose class leads by more than {above} in the first model"),
        }
    }

    /// The answer in sentences, which name their inputs.
    pub fn sentence(&self) -> String {
        let found = self.difference;
        let mut parts = Vec::new();
        if let Some(rows) = &found.rows {
            parts.push(rows_sentence(rows));
        }
        parts.push(match found.moved().at_most {
            Some(0.0) => format!("no raw score moves at all on {} ({})", self.inputs(), self.how()),
            Some(most) => format!(
                "no raw score moves by more than {} on {} ({})",
                bound(most),
                self.inputs(),
                self.how()
            ),
            None => format!(
                "how far a raw score can move is open: {}",
                found.moved().reason.unwrap_or("the budget was used up")
            ),
        });
        if let Some(keeps) = &found.keeps {
            parts.push(match keeps.above {
                Some(0.0) => "no decision changes (proved)".to_owned(),
                Some(above) if keeps.all => format!(
                    "no decision changes, except where the first model's own rounding may decide, within {} of a tie (proved)",
                    bound(above)
                ),
                Some(above) => format!("{} keeps its decision (proved)", self.leader(above)),
                None => format!(
                    "no lead is known that keeps a decision: {}",
                    keeps.reason.unwrap_or("the budget was used up")
                ),
            });
        }
        parts.join("; ")
    }

    /// The answer for people; with `verbose`, every column of the rows and every tree.
    pub fn words(&self, verbose: bool) -> String {
        let found = self.difference;
        let [ours, theirs] = self.models();
        let labels = LabelMatch::new(ours, theirs).ok();
        let row = |change: &RowChange| self.row_words(change, labels.as_ref(), verbose);
        let known = match found.outcome() {
            Conclusion::Proved => "proved",
            _ => "open",
        };
        let mut lines = vec![format!("diff: {known}")];
        let mut line = |key: &str, value: &str| lines.push(entry(key, value));
        line("answer", &self.sentence());
        if let Some(rows) = &found.rows {
            line("scores", &rows.words());
            for change in rows.first.iter().take(if verbose { usize::MAX } else { ROWS }) {
                line(&format!("row {}", change.index.map_or(0, |index| index + 1)), &row(change));
            }
            if let Some(outside) = &rows.outside {
                line("outside", &outside.words(ours));
            }
        }
        line("trees", &self.trees_words(verbose));
        if let Some(point) = found.moved().at_least.as_ref().filter(|point| point.distance > 0.0) {
            let kinds = [ours, theirs].map(|model| model.accumulation().number);
            let scores =
                format!("{} -> {}", number(point.scores[0], kinds[0]), number(point.scores[1], kinds[1]));
            let output = if ours.group_count() == 1 { String::new() } else { format!(" {}", point.output) };
            let values = self.values(&point.row, labels.as_ref(), verbose);
            line(
                "moves",
                &format!("by {} here: raw score{output} {scores}: {values}", measured(point.distance)),
            );
        }
        if let Some(keeps) = &found.keeps {
            self.keeps_words(keeps, &row, &mut line);
        }
        if let (false, Some(reason)) = (found.moved().ended, found.moved().reason) {
            line("search", &format!("{reason}: the largest move may be smaller than its bound"));
        }
        let scores = &found.scores;
        line("inputs", &inputs_words(&scores.accepted, &scores.domain, ours));
        line("columns", scores.matching);
        for (place, what) in self.certificates.iter().zip(["largest move", "safe lead"]) {
            if let Some(place) = place {
                line(
                    "certificate",
                    &format!("{}: the {what}, accepted by the independent checker", printable(place)),
                );
            }
        }
        if verbose {
            line("boxes", &counted(found.nodes, "box", "boxes"));
            line("time", &format!("{:.3} s", found.seconds));
        }
        lines.join("\n") + "\n"
    }

    fn keeps_words(
        &self,
        keeps: &Keeps,
        row: &dyn Fn(&RowChange) -> String,
        line: &mut dyn FnMut(&str, &str),
    ) {
        if let Some(above) = keeps.above.filter(|_| !keeps.all) {
            let by = match keeps.by {
                Some(Reason::Decisions(_)) => "proved by a claim about decisions",
                _ => "it follows from the largest move",
            };
            let near = match (keeps.ended, keeps.reason) {
                (true, _) => String::new(),
                (false, Some(reason)) => format!("; a smaller lead may do: {reason}"),
                (false, None) => "; a smaller lead may do".to_owned(),
            };
            let probability = match (self.models()[0].cut(), self.difference.threshold) {
                (Some(cut), Some(_)) => logistic::around(self.first, cut, above),
                _ => logistic::probabilities(self.first, above),
            };
            let outside = probability.map_or_else(String::new, |interval| {
                format!(", so outside of the probabilities {}", logistic::words(interval))
            });
            line("keeps", &format!("above a lead of {}{outside}: {by}{near}", bound(above)));
        }
        if let Some(shown) = keeps.shown.as_ref().filter(|shown| shown.index.is_none()) {
            line("changes", &format!("with a lead of {}: {}", measured(shown.lead), row(shown)));
        }
    }

    fn trees_words(&self, verbose: bool) -> String {
        let trees = &self.difference.trees;
        let [before, after] = trees.count.map(|count| grouped(count as u64));
        let count = trees.changed.len() as u64;
        if count == 0 {
            return format!("all {before} are the same, position by position");
        }
        if !trees.is_local() {
            return format!("{before} and {after}: none is the same, position by position");
        }
        let most = if verbose { trees.changed.len() } else { SHOWN };
        let mut listed: Vec<String> = trees.changed.iter().take(most).map(ToString::to_string).collect();
        if trees.changed.len() > most {
            listed.push(format!("and {} more", trees.changed.len() - most));
        }
        let differ = if count == 1 { "differs" } else { "differ" };
        format!("{before} and {after}: {} {differ} ({})", grouped(count), listed.join(", "))
    }

    /// A row with both versions.
    fn row_words(&self, change: &RowChange, labels: Option<&LabelMatch<'_>>, verbose: bool) -> String {
        let models = self.models();
        let class = |side: usize| {
            change.classes[side].map(|class| printable(&models[side].classes().text(class)).into_owned())
        };
        let classes = match (class(0), class(1)) {
            (Some(before), Some(after)) => format!("class {before} -> {after}, "),
            _ => String::new(),
        };
        let scores = |side: usize| {
            let kind = models[side].accumulation().number;
            change.scores[side].iter().map(|&score| number(score, kind)).collect::<Vec<_>>().join(", ")
        };
        let trees: Vec<String> = change
            .trees
            .iter()
            .map(|tree| {
                let value = |value: Option<f64>| {
                    value.map_or_else(|| "none".to_owned(), |value| number(value, NumberType::F32))
                };
                let columns: Vec<String> = tree.columns.iter().map(|&column| self.name(column)).collect();
                format!(
                    "tree {}: {} -> {} by {}",
                    tree.tree,
                    value(tree.values[0]),
                    value(tree.values[1]),
                    if columns.is_empty() { "no column".to_owned() } else { columns.join(", ") }
                )
            })
            .collect();
        let trees = if trees.is_empty() { String::new() } else { format!("; {}", trees.join("; ")) };
        let values = self.values(&change.row, labels, verbose);
        format!("{classes}raw score {} -> {}{trees}: {values}", scores(0), scores(1))
    }

    fn values(&self, row: &[f64], labels: Option<&LabelMatch<'_>>, verbose: bool) -> String {
        let models = self.models();
        let used = used_columns(&models);
        let columns: Vec<FeatureId> =
            (0..row.len()).filter(|&at| verbose || used[at]).map(FeatureId::new).collect();
        let most = if verbose { columns.len() } else { SHOWN };
        let kind = match models.map(|model| model.intake().number) {
            [NumberType::F32, NumberType::F32] => NumberType::F32,
            _ => NumberType::F64,
        };
        values_words(labels, models[0].features(), row, &columns, most, kind)
    }

    /// The answer for scripts; `secateur diff --json` prints it.
    pub fn json(&self) -> Value {
        let found = self.difference;
        let [ours, theirs] = self.models();
        let labels = LabelMatch::new(ours, theirs).ok();
        let row = |change: &RowChange| self.row_json(change, labels.as_ref());
        let scores = VerifyReport {
            first: self.first,
            second: self.second,
            answer: &found.scores,
            places: Places::default(),
        };
        let scores = scores.json();
        let of_scores = |key: &str| scores.get(key).cloned().unwrap_or_default();
        let rows = found.rows.as_ref().map(|rows| {
            json!({
                "count": rows.count,
                "refused": rows.refused,
                "changed": rows.flipped,
                "share": rows.flipped.map(|flipped| flipped as f64 / rows.count as f64),
                "moved": rows.moved,
                "largest_move": json_number(rows.largest),
                "mean_move": json_number(rows.mean),
                "first": rows.first.iter().map(row).collect::<Vec<_>>(),
                "outside_domain": rows.outside.as_ref().map(|outside| outside.json(ours)),
            })
        });
        let keeps = found.keeps.as_ref().map(|keeps| {
            json!({
                "above": keeps.above,
                "by": keeps.by.as_ref().map(|by| match by {
                    Reason::Decisions(_) => "decisions",
                    Reason::Scores => "scores",
                }),
                "all": keeps.all,
                "shown": keeps.shown.as_ref().map(row),
                "ended": keeps.ended,
                "reason": keeps.reason,
            })
        });
        json!({
            "outcome": if found.outcome() == Conclusion::Proved { "proved" } else { "open" },
            "sentence": self.sentence(),
            "rows": rows,
            "scores": of_scores("scores"),
            "reason": of_scores("reason"),
            "keeps": keeps,
            "trees": {"before": found.trees.count[0], "after": found.trees.count[1], "changed": found.trees.changed},
            "threshold": found.threshold,
            "scope": of_scores("scope"),
            "inputs": of_scores("inputs"),
            "domain": of_scores("domain"),
            "labels": of_scores("labels"),
            "certificates": {"scores": self.certificates[0], "decisions": self.certificates[1]},
            "checked": found.scores.checked(),
            "nodes": found.nodes,
            "seconds": found.seconds,
        })
    }

    fn row_json(&self, change: &RowChange, labels: Option<&LabelMatch<'_>>) -> Value {
        let models = self.models();
        let features = models[0].features();
        let class =
            |side: usize| change.classes[side].map(|class| models[side].classes().text(class).into_owned());
        let scores =
            |side: usize| change.scores[side].iter().map(|&score| json_number(score)).collect::<Vec<_>>();
        let trees = change.trees.iter().map(|tree| {
            let columns = tree.columns.iter().map(|&column| features.name(column).into_owned());
            json!({"tree": tree.tree, "values": tree.values, "columns": columns.collect::<Vec<_>>()})
        });
        json!({
            "index": change.index,
            "input": row_json(features, &change.row),
            "labels": labels.map(|labels| row_labels(labels, features, &change.row)).unwrap_or_default(),
            "classes": [class(0), class(1)],
            "scores": [scores(0), scores(1)],
            "lead": change.classes[0].map(|_| json_number(change.lead)),
            "moved": json_number(change.moved),
            "trees": trees.collect::<Vec<_>>(),
        })
    }
}

/// A bound with four digits, rounded up.
fn bound(value: f64) -> String {
    plain(upper_number(value))
}

/// A number that was measured, with four digits.
fn measured(value: f64) -> String {
    plain(format!("{value:.3e}").parse().unwrap_or(value))
}

fn rows_sentence(rows: &RowsMoved) -> String {
    let all = counted(rows.count as u64, "row", "rows");
    match rows.flipped {
        Some(0) => format!("the second model decides {all} as the first does"),
        Some(flipped) => {
            format!("the second model decides {} of {all} otherwise", grouped(flipped as u64))
        }
        None => format!(
            "the scores of {} of {all} move, by {} at most",
            grouped(rows.moved as u64),
            measured(rows.largest)
        ),
    }
}

impl RowsMoved {
    fn words(&self) -> String {
        let share = self.flipped.filter(|&flipped| flipped > 0).map_or_else(String::new, |flipped| {
            format!("{:.2} % decided otherwise; ", 100.0 * flipped as f64 / self.count as f64)
        });
        let refused = match self.refused {
            0 => String::new(),
            refused => format!("; {} more that a library refuses", counted(refused as u64, "row", "rows")),
        };
        format!(
            "{share}the scores of {} of {} move, by {} on average and {} at most{refused}",
            grouped(self.moved as u64),
            counted(self.count as u64, "row", "rows"),
            measured(self.mean),
            measured(self.largest)
        )
    }
}
