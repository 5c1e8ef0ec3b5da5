//! An answer as words and as JSON.

use secateur_formats::{DomainFile, ModelFile, logistic_probability};
use secateur_model::{Decision, Ensemble, FeatureId, LabelMatch, NumberType};
use serde_json::{Value, json};

use super::{Answer, Question, Row};
use crate::domain::inputs_words;
use crate::text::{entry, number, plain, printable};
use crate::verify::{Conclusion, json_number, row_json, row_labels, used_columns, values_words};

/// How many columns of a row are printed unless all are asked for.
const SHOWN: usize = 12;

/// The answer to a question, for people and for scripts.
#[derive(Clone, Copy, Debug)]
pub struct Report<'a> {
    /// The model.
    pub model: &'a ModelFile,
    /// The answer.
    pub answer: &'a Answer,
    /// Where the certificate was written.
    pub certificate: Option<&'a str>,
}

impl Report<'_> {
    pub(super) fn ensemble(&self) -> &Ensemble {
        self.answer.compared.as_ref().unwrap_or(self.model.ensemble())
    }

    pub(super) fn name(&self, column: FeatureId) -> String {
        printable(&self.ensemble().features().name(column)).into_owned()
    }

    fn moved_names(&self) -> String {
        self.answer.columns.iter().map(|&column| self.name(column)).collect::<Vec<_>>().join(", ")
    }

    fn classes(&self) -> Vec<String> {
        let classes = self.ensemble().classes();
        self.answer.allowed.iter().map(|&class| printable(&classes.text(class)).into_owned()).collect()
    }

    /// Scores as the library's type prints them.
    fn score(&self, value: f64) -> String {
        number(value, self.ensemble().accumulation().number)
    }

    /// A bound; one that the library cannot print in its own type stays exact.
    fn bound(&self, value: f64) -> String {
        match self.ensemble().accumulation().number {
            NumberType::F32 if f64::from(value as f32) == value => number(value, NumberType::F32),
            _ => number(value, NumberType::F64),
        }
    }

    /// `raw score`, or the one of several that is meant.
    fn score_name(&self, output: usize) -> String {
        let model = self.ensemble();
        let outputs = model.group_count();
        if outputs == 1 {
            return "the raw score".to_owned();
        }
        let by_class = model.decision().is_classifier() && model.classes().len() == outputs;
        match by_class {
            true => {
                let class = secateur_model::ClassId::new(output);
                format!("the raw score of class {}", printable(&model.classes().text(class)))
            }
            false => format!("raw score {output}"),
        }
    }

    /// The answer as one sentence, which names its inputs.
    pub fn sentence(&self) -> String {
        let answer = self.answer;
        let inputs = answer.accepted.in_short(&answer.domain);
        let inputs = match inputs {
            "every input" => "every input that the library accepts",
            inputs => inputs,
        };
        // What rows are among that refute it.
        let among = inputs.replacen("every input", "the inputs", 1);
        let why = answer.reason.unwrap_or("the budget was used up");
        let undecided = |what: &str| {
            format!("no row among {among} was found that refutes it, and {what} is not proved: {why}")
        };
        let names = self.moved_names();
        match (&answer.question, answer.outcome) {
            (Question::Range { at_least: None, at_most: None }, Conclusion::Proved) => {
                let one = |own: &super::Bounds| {
                    let reached = |row: usize| answer.rows[row].scores[own.output];
                    let both = reached(own.lowest) == own.at_least && reached(own.highest) == own.at_most;
                    let (low, high) = (self.bound(own.at_least), self.bound(own.at_most));
                    let tight = if both { " (both are reached)" } else { "" };
                    format!("{} is between {low} and {high}{tight}", self.score_name(own.output))
                };
                let parts: Vec<String> = answer.scores.iter().map(one).collect();
                format!("{}, on {inputs}", parts.join("; "))
            }
            (Question::Range { at_least: None, at_most: None }, _) => {
                format!("no bound of the raw score was found on {inputs}: {why}")
            }
            (Question::Range { at_least, at_most }, outcome) => {
                let limits = match (at_least, at_most) {
                    (Some(low), Some(high)) => format!("between {} and {}", plain(*low), plain(*high)),
                    (Some(low), None) => format!("at least {}", plain(*low)),
                    (None, high) => format!("at most {}", plain(high.unwrap_or(f64::INFINITY))),
                };
                match outcome {
                    Conclusion::Proved => format!("every raw score is {limits}, on {inputs}"),
                    Conclusion::Refuted => {
                        format!("not every raw score is {limits}: a row among {among} shows it")
                    }
                    Conclusion::Open => undecided("that every raw score is so"),
                }
            }
            (Question::Moves { at_most: None, .. }, Conclusion::Proved) => {
                let (most, least) = self.moved();
                let keeps = answer.moved.as_ref().and_then(|moved| moved.keeps_above).map_or_else(
                    String::new,
                    |above| {
                        let threshold = self.threshold_words();
                        format!(
                            "; whose raw score is farther than {} from {threshold} keeps the decision",
                            self.bound(above)
                        )
                    },
                );
                format!(
                    "changing {names} alone moves {} by at most {most}, on {inputs}; two rows move it by {least}{keeps}",
                    if self.ensemble().group_count() == 1 { "the raw score" } else { "each raw score" }
                )
            }
            (Question::Moves { at_most, .. }, outcome) => {
                let limit = plain(at_most.unwrap_or_default());
                match outcome {
                    Conclusion::Proved => {
                        format!("changing {names} alone moves no raw score by more than {limit}, on {inputs}")
                    }
                    Conclusion::Refuted => {
                        format!(
                            "changing {names} alone moves a raw score by {}, which is more than {limit}: two rows among {among} show it",
                            self.moved().1
                        )
                    }
                    Conclusion::Open => undecided(&format!(
                        "that changing {names} alone moves no raw score by more than {limit}"
                    )),
                }
            }
            (Question::Keeps { .. }, Conclusion::Proved) => {
                let band = answer.rounding.unwrap_or_default();
                let rounding = if band > 0.0 {
                    format!(", wherever the winner leads by more than {}, its rounding", plain(band))
                } else {
                    String::new()
                };
                format!("changing {names} alone never changes the decision, on {inputs}{rounding}")
            }
            (Question::Keeps { .. }, Conclusion::Refuted) => {
                format!("changing {names} alone changes the decision: two rows among {among} show it")
            }
            (Question::Keeps { .. }, Conclusion::Open) => {
                undecided(&format!("that changing {names} alone changes no decision"))
            }
            (Question::Idle, outcome) => self.idle_sentence(outcome, inputs, why),
            (Question::Monotone { down, .. }, outcome) => {
                let never = if *down { "rises" } else { "falls" };
                let score = self.score_name(answer.output);
                let claim = format!(
                    "{score} never {never} when {names} rises and all else stays ({names} not missing)"
                );
                match outcome {
                    Conclusion::Proved if answer.bits => {
                        format!("{claim}, on {inputs}, bit for bit: each tree keeps the order")
                    }
                    Conclusion::Proved => {
                        let most = 2.0 * answer.rounding.unwrap_or_default();
                        let off = if most > 0.0 {
                            format!(
                                "; the library's own rounding can still move it the other way, by at most {}",
                                plain(most)
                            )
                        } else {
                            String::new()
                        };
                        format!("{claim}, on {inputs}, in exact arithmetic{off}")
                    }
                    Conclusion::Refuted => format!(
                        "{score} {never} when {names} rises and all else stays: two rows among {among} show it"
                    ),
                    Conclusion::Open => undecided(&format!("that {claim}")),
                }
            }
            (Question::Decides { .. }, outcome) => {
                let classes = self.classes().join(" or ");
                match outcome {
                    Conclusion::Proved => format!("the model always decides {classes}, on {inputs}"),
                    Conclusion::Refuted => {
                        format!("the model does not always decide {classes}: a row among {among} shows it")
                    }
                    Conclusion::Open => undecided(&format!("that the model always decides {classes}")),
                }
            }
            (Question::Robust { .. }, _) => self.robust(),
            (Question::Explain { .. }, _) => self.explained(),
            (Question::Counterfactual { .. }, _) => self.nearest(),
        }
    }

    /// Which columns never change a decision.
    fn idle_sentence(&self, outcome: Conclusion, inputs: &str, why: &str) -> String {
        let answer = self.answer;
        let count = |outcome: Conclusion| answer.idle.iter().filter(|unit| unit.outcome == outcome).count();
        let names = self.moved_names();
        let stays = match (answer.columns.len(), outcome) {
            (0, _) => None,
            (1, _) => Some(format!("changing {names} alone never changes the decision")),
            (_, Conclusion::Proved) => {
                Some(format!("changing {names}, alone or together, never changes the decision"))
            }
            _ => Some(format!("changing any one of {names} alone never changes the decision")),
        };
        let rounding = match answer.rounding.filter(|&band| band > 0.0 && stays.is_some()) {
            Some(band) => format!(", wherever the winner leads by more than {}, its rounding", plain(band)),
            None => String::new(),
        };
        let stays = stays.unwrap_or_else(|| "no column was found that never changes the decision".to_owned());
        let matter = match count(Conclusion::Refuted) {
            0 => String::new(),
            1 => "; one column that splits look at changes some decision".to_owned(),
            matter => format!("; {matter} columns that splits look at change some decision, each alone"),
        };
        let open = match outcome {
            Conclusion::Proved => String::new(),
            _ => format!("; {} open: {why}", count(Conclusion::Open)),
        };
        format!("{stays}, on {inputs}{rounding}{matter}{open}")
    }

    fn moved(&self) -> (String, String) {
        let told = |value: Option<f64>| {
            value.map_or_else(|| "an unknown distance".to_owned(), |value| self.bound(value))
        };
        let moved = self.answer.moved.as_ref();
        (told(moved.and_then(|own| own.at_most)), told(moved.and_then(|own| own.at_least)))
    }

    fn threshold_words(&self) -> String {
        match *self.ensemble().decision() {
            Decision::Threshold { threshold, .. } => {
                format!("the threshold {}", number(threshold, NumberType::F64))
            }
            _ => "the threshold".to_owned(),
        }
    }

    /// The probabilities that a range of one raw score means, before a library rounds them.
    fn probability(&self) -> Option<[f64; 2]> {
        let own = self.answer.scores.first().filter(|_| self.answer.scores.len() == 1)?;
        let of = |score: f64| logistic_probability(self.model, score);
        Some([of(own.at_least)?, of(own.at_most)?])
    }

    /// The answer for people; with `verbose`, every column of the rows.
    pub fn words(&self, verbose: bool) -> String {
        let answer = self.answer;
        let known = match answer.outcome {
            Conclusion::Proved if answer.is_unchecked() => {
                "proved by the search, and not checked in the time given"
            }
            Conclusion::Proved => "proved",
            outcome => outcome_name(outcome),
        };
        let mut lines = vec![format!("{}: {known}", answer.question.name())];
        lines.push(entry("answer", &self.sentence()));
        let names = self.row_names();
        let labels = LabelMatch::new(self.model.ensemble(), self.model.ensemble()).ok();
        for (row, name) in answer.rows.iter().zip(names) {
            lines.push(entry(&name, &self.row_words(row, labels.as_ref(), verbose)));
        }
        for unit in answer.idle.iter().filter(|unit| unit.outcome != Conclusion::Proved) {
            let names: Vec<String> = unit.columns.iter().map(|&column| self.name(column)).collect();
            let told = match &unit.rows[..] {
                [before, after] => {
                    let score = |row: &Row| {
                        let scores: Vec<String> = row.scores.iter().map(|&score| self.score(score)).collect();
                        scores.join(", ")
                    };
                    format!(
                        "{} changes a decision: raw score {} -> {}",
                        names.join(", "),
                        score(before),
                        score(after)
                    )
                }
                _ => format!("{}: open", names.join(", ")),
            };
            lines.push(entry("column", &told));
        }
        if let Some([low, high]) = self.probability() {
            let words =
                format!("between {low:.6} and {high:.6} for these scores, before the library rounds it");
            lines.push(entry("probability", &words));
        }
        if !answer.ended && answer.outcome == Conclusion::Proved && answer.cases.is_empty() {
            let why = answer.reason.unwrap_or("the budget was used up");
            lines.push(entry("search", &format!("{why}: the bounds hold, and nearer ones may")));
        }
        if let Some(threshold) = answer.threshold {
            lines.push(entry("decisions", &format!("class 1 from a probability of {} on", plain(threshold))));
        }
        lines.push(entry("inputs", &inputs_words(&answer.accepted, &answer.domain, self.ensemble())));
        if let Some(place) = self.certificate {
            let place = match answer.cases.len() {
                0 | 1 => printable(place).into_owned(),
                _ => {
                    let first = super::suffixed(std::path::Path::new(place), 1);
                    format!("one for each proved row, {} for row 1", printable(&first.to_string_lossy()))
                }
            };
            lines.push(entry("certificate", &format!("{place}, accepted by the independent checker")));
        }
        lines.join("\n") + "\n"
    }

    fn row_names(&self) -> Vec<String> {
        let answer = self.answer;
        let pair = || vec!["before".to_owned(), "after".to_owned()];
        match &answer.question {
            Question::Range { at_least: None, at_most: None } if answer.scores.len() == 1 => {
                vec!["lowest".to_owned(), "highest".to_owned()]
            }
            Question::Range { at_least: None, at_most: None } => {
                let of = |own: &super::Bounds| {
                    [format!("lowest {}", own.output), format!("highest {}", own.output)]
                };
                answer.scores.iter().flat_map(of).collect()
            }
            Question::Moves { .. } | Question::Keeps { .. } | Question::Monotone { .. } => pair(),
            Question::Robust { .. } | Question::Explain { .. } | Question::Counterfactual { .. } => pair(),
            Question::Range { .. } | Question::Decides { .. } => vec!["row".to_owned()],
            Question::Idle => Vec::new(),
        }
    }

    fn row_words(&self, row: &Row, labels: Option<&LabelMatch<'_>>, verbose: bool) -> String {
        let model = self.ensemble();
        let kind = model.intake().number;
        let used = used_columns(&[model]);
        let moved = &self.answer.columns;
        let others = (0..row.values.len()).map(FeatureId::new).filter(|column| !moved.contains(column));
        let others = others.filter(|column| verbose || used[column.index()]);
        let columns: Vec<FeatureId> = moved.iter().copied().chain(others).collect();
        let most = if verbose { columns.len() } else { SHOWN.max(moved.len()) };
        let text = values_words(labels, model.features(), &row.values, &columns, most, kind);
        let scores: Vec<String> = row.scores.iter().map(|&score| self.score(score)).collect();
        let class = row
            .class
            .map_or_else(String::new, |class| format!(", class {}", printable(&model.classes().text(class))));
        format!("raw score {}{class}: {text}", scores.join(", "))
    }

    /// The answer for scripts; `secateur ask --json` prints it.
    pub fn json(&self) -> Value {
        let answer = self.answer;
        let features = self.ensemble().features();
        let name = |column: &FeatureId| features.name(*column).into_owned();
        let rows: Vec<Value> = answer.rows.iter().map(|row| self.row_json(row)).collect();
        let bounds = |own: &super::Bounds| {
            json!({
                "output": own.output,
                "at_least": own.at_least,
                "at_most": own.at_most,
                "lowest": {"row": own.lowest, "score": answer.rows[own.lowest].scores[own.output]},
                "highest": {"row": own.highest, "score": answer.rows[own.highest].scores[own.output]},
            })
        };
        let idle = |unit: &super::Idle| {
            json!({
                "columns": unit.columns.iter().map(name).collect::<Vec<_>>(),
                "outcome": outcome_name(unit.outcome),
                "rows": unit.rows.iter().map(|row| self.row_json(row)).collect::<Vec<_>>(),
            })
        };
        let domain = match answer.domain.is_everything() {
            true => Value::Null,
            false => DomainFile::of(&answer.domain, features).to_json(),
        };
        json!({
            "question": answer.question.name(),
            "outcome": outcome_name(answer.outcome),
            "sentence": self.sentence(),
            "reason": answer.reason,
            "scores": answer.scores.iter().map(bounds).collect::<Vec<_>>(),
            "probability": self.probability(),
            "moved": answer.moved.as_ref().map(|moved| json!({
                "at_most": moved.at_most,
                "at_least": moved.at_least,
                "output": moved.output,
                "keeps_above": moved.keeps_above,
            })),
            "idle": answer.idle.iter().map(idle).collect::<Vec<_>>(),
            "bits": matches!(answer.question, Question::Monotone { .. }).then_some(answer.bits),
            "rounding": answer.rounding,
            "columns": answer.columns.iter().map(name).collect::<Vec<_>>(),
            "output": matches!(answer.question, Question::Monotone { .. }).then_some(answer.output),
            "classes": self.classes(),
            "rows": rows,
            "cases": self.cases_json(),
            "ended": answer.ended,
            "threshold": answer.threshold,
            "scope": answer.accepted.scope(&answer.domain),
            "inputs": inputs_words(&answer.accepted, &answer.domain, self.ensemble()),
            "domain": domain,
            "certificate": self.certificate,
            "checked": answer.checked(),
            "nodes": answer.nodes,
            "seconds": answer.seconds,
        })
    }

    pub(super) fn row_json(&self, row: &Row) -> Value {
        let model = self.ensemble();
        let features = model.features();
        let own = self.model.ensemble();
        let labels = LabelMatch::new(own, own).ok().map(|labels| row_labels(&labels, features, &row.values));
        json!({
            "input": row_json(features, &row.values),
            "labels": labels.unwrap_or_default(),
            "scores": row.scores.iter().map(|&score| json_number(score)).collect::<Vec<_>>(),
            "class": row.class.map(|class| model.classes().text(class).into_owned()),
        })
    }
}

/// The outcome in one word, for scripts.
pub(super) fn outcome_name(outcome: Conclusion) -> &'static str {
    match outcome {
        Conclusion::Proved => "proved",
        Conclusion::Refuted => "refuted",
        Conclusion::Open => "open",
    }
}
