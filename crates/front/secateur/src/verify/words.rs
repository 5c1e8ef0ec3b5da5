//! The report of a comparison, for every interface: one JSON object, or words for people.

use secateur_formats::DomainFile;
use secateur_formats::ModelFile;
use secateur_model::{ClassLabels, Ensemble, FeatureId, LabelMatch};
use secateur_oracle::{Counterexample, StopReason, Undecided, Verdict};
use secateur_prune::RowsSeen;
use serde_json::{Map, Value, json};

use super::{Verification, labels, reading};
use crate::domain::{begin, inputs_words};
use crate::logistic;
use crate::places::Places;
use crate::text::{counted, entry, number, printable, rounded_up};

/// The report of a run of [`verify`](crate::verify), as words, as JSON, or as a page.
#[derive(Clone, Copy, Debug)]
pub struct VerifyReport<'a> {
    /// The first model.
    pub first: &'a ModelFile,
    /// The second.
    pub second: &'a ModelFile,
    /// The result.
    pub answer: &'a Verification,
    /// The paths of the files.
    pub places: Places<'a>,
}

impl VerifyReport<'_> {
    /// The two models as they were compared.
    pub(super) fn models(&self) -> [&Ensemble; 2] {
        let [first, second] = &self.answer.compared;
        [first.as_ref().unwrap_or(self.first.ensemble()), second.as_ref().unwrap_or(self.second.ensemble())]
    }

    /// How category labels of the two models were matched.
    pub(super) fn labels(&self) -> LabelMatch<'_> {
        let [first, second] = self.models();
        LabelMatch::new(first, second).expect("models that were compared can be matched")
    }

    /// The inputs that the claim is about.
    pub(super) fn inputs(&self, labels: &LabelMatch<'_>) -> String {
        let words = inputs_words(&self.answer.accepted, &self.answer.domain, self.models()[0]);
        words + &labels::domain(labels, self.models()[0].features())
    }

    /// The first model's probabilities at the ends of a band, for logistic models.
    pub(super) fn probability(&self, band: f64) -> Option<[f64; 2]> {
        match self.models()[0].cut() {
            Some(cut) => logistic::around(self.first, cut, band),
            None => logistic::probabilities(self.first, band),
        }
    }

    /// One JSON object; its keys are part of the interface (`secateur verify --json`).
    pub fn json(&self) -> Value {
        let (outcome, reason) = match &self.answer.verdict {
            Verdict::Identical => ("identical", None),
            Verdict::Different(_) => ("different", None),
            Verdict::Undecided(why) => ("undecided", Some(undecided(why))),
        };
        let labels = self.labels();
        let counterexample = match &self.answer.verdict {
            Verdict::Different(example) => self.example_json(&labels, example),
            _ => Value::Null,
        };
        json!({
            "outcome": outcome,
            "reason": reason,
            "threshold": self.answer.threshold,
            "band": {
                "score": self.answer.band,
                "probability": self.probability(self.answer.band),
                "exact": self.answer.exact,
            },
            "data": self.answer.seen.as_ref().map(rows_json),
            "proved_above": self.answer.proved_above,
            "scope": self.answer.accepted.scope(&self.answer.domain),
            "inputs": self.inputs(&labels),
            "domain": self.domain_json(),
            "rows_outside_domain": self.answer.outside.as_ref().map(|rows| rows.json(self.models()[0])),
            "labels": labels::json(&labels, self.models()[0].features()),
            "counterexample": counterexample,
            "certificate": self.places.certificate,
            "checked": self.answer.checked(),
            "nodes": self.answer.nodes,
            "seconds": self.answer.seconds,
        })
    }

    /// The domain of the claim; `null` for every input.
    fn domain_json(&self) -> Value {
        let domain = &self.answer.domain;
        if domain.is_everything() {
            return Value::Null;
        }
        let mut object = DomainFile::of(domain, self.models()[0].features()).to_json();
        object["cells_log10"] = json!(self.answer.cells_log10);
        object
    }

    fn example_json(&self, labels: &LabelMatch<'_>, example: &Counterexample) -> Value {
        let features = self.models()[0].features();
        let input: Map<String, Value> = example
            .row
            .iter()
            .enumerate()
            .map(|(index, &value)| (features.name(FeatureId::new(index)).into_owned(), json_number(value)))
            .collect();
        let label = |model: usize| json_label(self.models()[model].classes(), example.classes[model]);
        let scores =
            |model: usize| -> Vec<Value> { example.scores[model].iter().map(|&s| json_number(s)).collect() };
        json!({
            "input": input,
            "labels": labels::of_row(labels, features, &example.row),
            "classes": [label(0), label(1)],
            "scores": [scores(0), scores(1)],
            "in_libraries": example.in_libraries,
            "nearest_row": self.answer.nearest.map(|(row, columns)| json!({"row": row + 1, "index": row, "columns_changed": columns})),
        })
    }

    /// The answer for people, one line for each fact; with `verbose`, every column of a
    /// counterexample.
    pub fn words(&self, verbose: bool) -> String {
        let mut text = match &self.answer.verdict {
            Verdict::Identical if self.answer.exact => "identical in their exact sums: proved\n".to_owned(),
            Verdict::Identical => "identical: proved\n".to_owned(),
            Verdict::Different(_) => "different\n".to_owned(),
            Verdict::Undecided(why) => format!("undecided: {}\n", undecided(why)),
        };
        let mut line = |key: &str, value: &str| text += &(entry(key, value) + "\n");
        let mut inputs = begin(&self.answer.accepted, &self.answer.domain);
        if let Some(threshold) = self.answer.threshold {
            inputs += &format!("with the probability of the second class compared with {threshold}, ");
        }
        let claim = if self.answer.exact {
            format!("{inputs}the exact sums decide the same, ties by each library's rule; {ROUNDING_NOTE}")
        } else if self.answer.band == 0.0 {
            format!(
                "{inputs}as the libraries decide, wherever the first model's scores do not tie; its sums are exact"
            )
        } else {
            let who = if self.answer.threshold.is_some() {
                "however that rounds"
            } else {
                "as the libraries decide"
            };
            format!("{inputs}{who}, wherever {}", self.leads(self.answer.band))
        };
        line("claim", &claim);
        if self.answer.exact {
            line("rounding", &rounding_words(self.models()));
        }
        if let Some(seen) = &self.answer.seen {
            line("data", &seen.words(self.answer.exact));
        }
        if let Some(outside) = &self.answer.outside {
            line("outside", &outside.words(self.models()[0]));
        }
        if let Some(above) = self.answer.proved_above {
            line("proved", &format!("they decide alike wherever {}", self.leads(above)));
        }
        let labels = self.labels();
        line("inputs", &self.inputs(&labels));
        line("columns", self.answer.matching);
        if let Some(words) = labels::words(&labels, self.models()[0].features()) {
            line("labels", &words);
        }
        if let Verdict::Different(example) = &self.answer.verdict {
            self.example_words(&labels, example, verbose, &mut line);
        }
        if let Some(certificate) = self.places.certificate {
            line("certificate", certificate);
        }
        line("boxes", &counted(self.answer.nodes, "box", "boxes"));
        line("time", &format!("{:.3} s", self.answer.seconds));
        text
    }

    fn leads(&self, band: f64) -> String {
        let probability = self.probability(band);
        let interval = probability.map(|interval| format!(" (probability {})", logistic::words(interval)));
        let interval = interval.unwrap_or_default();
        format!("the first model's winner leads by more than {band:.3e}{interval}")
    }

    fn example_words(
        &self,
        labels: &LabelMatch<'_>,
        example: &Counterexample,
        verbose: bool,
        line: &mut dyn FnMut(&str, &str),
    ) {
        for (model, key) in ["first says", "second says"].into_iter().enumerate() {
            let number_type = self.models()[model].accumulation().number;
            let label = self.models()[model].classes().text(example.classes[model]);
            let scores: Vec<String> = example.scores[model].iter().map(|&s| number(s, number_type)).collect();
            line(key, &format!("{}, raw score {}", printable(&label), scores.join(", ")));
        }
        if !example.in_libraries {
            line(
                "note",
                "the libraries round to the same class here: the difference is one of exact arithmetic",
            );
        }
        if let Some((row, columns)) = self.answer.nearest {
            let what = match columns {
                0 => format!("the input is row {} of the table as it is", row + 1),
                _ => format!(
                    "the input is row {} of the table with {} changed",
                    row + 1,
                    counted(columns as u64, "column", "columns")
                ),
            };
            line("near", &what);
        }
        if let Some(why) = reading::between_thresholds(self.models(), &example.row) {
            line("why", &why);
        }
        let features = self.models()[0].features();
        let used: Vec<bool> = used_columns(self.models());
        if let Some(words) = missing_words(&example.row, &used) {
            line("missing", words);
        }
        let mut unused = 0;
        for (index, &value) in example.row.iter().enumerate() {
            if !used[index] && !verbose {
                unused += 1;
                continue;
            }
            let name = features.name(FeatureId::new(index));
            line(&printable(&name), &self.value_words(labels, FeatureId::new(index), value));
        }
        if unused > 0 {
            line("others", &format!("{} that no split looks at", counted(unused, "column", "columns")));
        }
    }
}

/// What to do about an input that has a missing value in a column that some split asks about.
pub(super) fn missing_words(row: &[f64], used: &[bool]) -> Option<&'static str> {
    let missing = row.iter().zip(used).any(|(value, &used)| used && value.is_nan());
    missing.then_some(
        "the input has missing values; if yours never have any, --no-missing (in Python missing=False) asks about \
         the others",
    )
}

pub(super) fn used_columns(models: [&Ensemble; 2]) -> Vec<bool> {
    let mut used = vec![false; models[0].features().len()];
    for split in models.iter().flat_map(|model| model.trees()).flat_map(|tree| tree.splits()) {
        used[split.feature.index()] = true;
    }
    used
}

/// The reason of a search that ended because its workers are gone.
pub(super) const NO_WORKERS: &str = "the workers that were to help are gone";

pub(super) fn undecided(why: &Undecided) -> &'static str {
    match why {
        Undecided::Stopped(StopReason::Time) => "the time limit was reached",
        Undecided::Stopped(StopReason::Workers) => NO_WORKERS,
        Undecided::Stopped(_) => "the budget was used up",
        Undecided::OrderOfAddition(_) => {
            "the last bits of the second model's scores or probabilities vary (order of addition, processor), and for some \
             inputs they may decide"
        }
    }
}

/// The limit of a claim about exact sums.
pub(crate) const ROUNDING_NOTE: &str = "where a library's rounding decides, its classes can differ";

/// How near to a tie the libraries' rounding may decide differently from the exact sums of two
/// models.
pub(crate) fn rounding_words(models: [&Ensemble; 2]) -> String {
    let margins = models.map(Ensemble::certain_margin);
    match margins {
        [Some(first), Some(second)] => format!(
            "may decide where the winner leads by at most {} in the first model and {} in the second; nowhere else",
            rounded_up(first),
            rounded_up(second)
        ),
        _ => {
            models.iter().find_map(|model| model.no_margin()).map_or_else(String::new, |why| why.to_string())
        }
    }
}

/// Counts on rows, for scripts.
pub(crate) fn rows_json(seen: &RowsSeen) -> Value {
    json!({
        "rows": seen.rows,
        "measured": seen.measured,
        "in_band": seen.in_band,
        "rounded": seen.rounded,
        "changed_in_band": seen.changed,
    })
}

/// Missing values are null; JSON has no infinities, so they are text.
pub(crate) fn json_number(value: f64) -> Value {
    if value.is_nan() {
        Value::Null
    } else if value.is_infinite() {
        json!(if value > 0.0 { "Infinity" } else { "-Infinity" })
    } else {
        json!(value)
    }
}

fn json_label(classes: &ClassLabels, class: secateur_model::ClassId) -> Value {
    match classes {
        ClassLabels::Unnamed(_) => json!(class.0),
        ClassLabels::Integers(labels) => json!(labels[class.index()]),
        ClassLabels::Floats(labels) => json!(labels[class.index()]),
        ClassLabels::Booleans(labels) => json!(labels[class.index()]),
        ClassLabels::Strings(labels) => json!(labels[class.index()]),
    }
}
