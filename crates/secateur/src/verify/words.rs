//! What a comparison says, in every interface: one JSON object, or words for people.

use secateur_formats::ModelFile;
use secateur_model::{ClassLabels, Ensemble, FeatureId, InputDomain, NumberType, Scope};
use secateur_oracle::{Counterexample, StopReason, Undecided, Verdict};
use serde_json::{Map, Value, json};

use super::Verification;
use crate::logistic;
use crate::places::Places;
use crate::text::{counted, entry, number, printable};

/// What a run of [`verify`](crate::verify) says: as words, as JSON, or as a page.
#[derive(Clone, Copy, Debug)]
pub struct VerifyReport<'a> {
    /// The first model.
    pub first: &'a ModelFile,
    /// The second.
    pub second: &'a ModelFile,
    /// What came of it.
    pub answer: &'a Verification,
    /// Where the files are.
    pub places: Places<'a>,
}

impl VerifyReport<'_> {
    /// The two models as they were compared.
    pub(super) fn models(&self) -> [&Ensemble; 2] {
        let [first, second] = &self.answer.compared;
        [first.as_ref().unwrap_or(self.first.ensemble()), second.as_ref().unwrap_or(self.second.ensemble())]
    }

    /// The probabilities of the first model inside a band, for logistic models.
    pub(super) fn probability(&self, band: f64) -> Option<[f64; 2]> {
        logistic::probabilities(self.first, band)
    }

    /// One JSON object; its keys are part of the interface (`secateur verify --json`).
    pub fn json(&self) -> Value {
        let (outcome, reason) = match &self.answer.verdict {
            Verdict::Identical => ("identical", None),
            Verdict::Different(_) => ("different", None),
            Verdict::Undecided(why) => ("undecided", Some(undecided(why))),
        };
        let counterexample = match &self.answer.verdict {
            Verdict::Different(example) => self.example_json(example),
            _ => Value::Null,
        };
        json!({
            "outcome": outcome,
            "reason": reason,
            "band": {"score": self.answer.band, "probability": self.probability(self.answer.band)},
            "proved_above": self.answer.proved_above,
            "scope": self.answer.scope.name(),
            "domain": domain_words(&self.answer.domain, self.answer.scope),
            "counterexample": counterexample,
            "certificate": self.places.certificate,
            "checked": self.answer.checked(),
            "nodes": self.answer.nodes,
            "seconds": self.answer.seconds,
        })
    }

    fn example_json(&self, example: &Counterexample) -> Value {
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
            "classes": [label(0), label(1)],
            "scores": [scores(0), scores(1)],
            "in_libraries": example.in_libraries,
            "nearest_row": self.answer.nearest.map(|(row, columns)| json!({"row": row, "columns_changed": columns})),
        })
    }

    /// The answer for people, a line for each fact; `verbose` with every column of a counterexample.
    pub fn words(&self, verbose: bool) -> String {
        let mut text = match &self.answer.verdict {
            Verdict::Identical => "identical: proved\n".to_owned(),
            Verdict::Different(_) => "different\n".to_owned(),
            Verdict::Undecided(why) => format!("undecided: {}\n", undecided(why)),
        };
        let mut line = |key: &str, value: &str| text += &(entry(key, value) + "\n");
        let inputs = match self.answer.scope {
            Scope::All => "",
            Scope::NoMissing => "for every input without missing values, ",
        };
        let claim = if self.answer.band == 0.0 {
            format!("{inputs}in exact arithmetic, ties by each library's rule")
        } else {
            format!("{inputs}as the libraries decide, wherever {}", self.leads(self.answer.band))
        };
        line("claim", &claim);
        if let Some(above) = self.answer.proved_above {
            line("proved", &format!("they decide alike wherever {}", self.leads(above)));
        }
        line("inputs", &domain_words(&self.answer.domain, self.answer.scope));
        line("columns", self.answer.matching);
        if let Verdict::Different(example) = &self.answer.verdict {
            self.example_words(example, verbose, &mut line);
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

    fn example_words(&self, example: &Counterexample, verbose: bool, line: &mut dyn FnMut(&str, &str)) {
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
        let features = self.models()[0].features();
        let used: Vec<bool> = used_columns(self.models());
        let mut unused = 0;
        for (index, &value) in example.row.iter().enumerate() {
            if !used[index] && !verbose {
                unused += 1;
                continue;
            }
            let name = features.name(FeatureId::new(index));
            let label =
                self.models()[0].features().categories(FeatureId::new(index)).and_then(|categories| {
                    let code = categories.code(value)?;
                    categories.labels.as_ref()?.get(code as usize).cloned()
                });
            let shown = match label {
                Some(label) => printable(&label).into_owned(),
                None if value.is_nan() => "missing".to_owned(),
                None => number(value, self.answer.domain.number),
            };
            line(&printable(&name), &shown);
        }
        if unused > 0 {
            line("others", &format!("{} that no split looks at", counted(unused, "column", "columns")));
        }
    }
}

pub(super) fn used_columns(models: [&Ensemble; 2]) -> Vec<bool> {
    let mut used = vec![false; models[0].features().len()];
    for split in models.iter().flat_map(|model| model.trees()).flat_map(|tree| tree.splits()) {
        used[split.feature.index()] = true;
    }
    used
}

pub(super) fn undecided(why: &Undecided) -> &'static str {
    match why {
        Undecided::Stopped(StopReason::Time) => "the time limit was reached",
        Undecided::Stopped(_) => "the budget was used up",
        Undecided::OrderOfAddition(_) => {
            "the last bits of the second model's scores vary (order of addition, processor), and for some inputs they \
             may decide"
        }
    }
}

/// Which inputs the claim is about.
pub(crate) fn domain_words(domain: &InputDomain, scope: Scope) -> String {
    let number = match domain.number {
        NumberType::F32 => "every f32 number",
        NumberType::F64 => "every f64 number",
    };
    let infinities = if domain.infinities { ", infinities" } else { "" };
    let missing = if domain.missing { ", missing values" } else { "" };
    let left_out = if scope == Scope::NoMissing { "; no missing values" } else { "" };
    format!("{number}{infinities}{missing}, in every column{left_out}")
}

/// Missing values are null; JSON has no infinities, so they are text.
fn json_number(value: f64) -> Value {
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
