//! The report of an answer, for every interface: one JSON object, or words for people.

use secateur_formats::{DomainFile, ModelFile};
use secateur_model::{Ensemble, FeatureId, Features, LabelMatch};
use secateur_oracle::StopReason;
use secateur_report as page;
use serde_json::{Map, Value, json};

use super::{Conclusion, Verification, labels, reading};
use crate::domain::{begin, inputs_words};
use crate::places::Places;
use crate::text::{counted, entry, printable};

/// Adds a line to the words: a key and what there is to say.
pub(super) type Line<'a> = &'a mut dyn FnMut(&str, &str);

/// What the answer to one kind of question says of itself.
pub(super) trait Findings {
    /// Is the answer known?
    fn conclusion(&self) -> Conclusion;

    /// The answer in one word, for scripts.
    fn outcome(&self) -> &'static str;

    /// Why there is no answer, or why the search ended early.
    fn reason(&self) -> Option<&'static str>;

    /// The input that the answer shows, in the codes of the first model.
    fn row(&self) -> Option<&[f64]>;

    /// The decimal logarithm of the number of cells of a domain, if the JSON object states it.
    fn cells_json(&self) -> Option<Value> {
        None
    }

    /// An addition to the description of the inputs.
    fn inputs_note(&self) -> String {
        String::new()
    }

    /// The facts that stand first in the JSON object.
    fn facts(&self, report: &VerifyReport<'_>, object: &mut Map<String, Value>);

    /// The facts about an input, for the JSON object.
    fn example_facts(
        &self,
        _report: &VerifyReport<'_>,
        _matched: &LabelMatch<'_>,
        _object: &mut Map<String, Value>,
    ) {
    }

    /// The first line for people.
    fn headline(&self) -> String;

    /// What was asked and what is known. `inputs` is the beginning of a sentence about a claim that
    /// leaves some inputs out.
    fn claim(&self, report: &VerifyReport<'_>, inputs: String, line: Line<'_>);

    /// The input that the answer shows; with `verbose`, every column of it.
    fn example(&self, report: &VerifyReport<'_>, matched: &LabelMatch<'_>, verbose: bool, line: Line<'_>);

    /// The data of an HTML page.
    fn page(&self, report: &VerifyReport<'_>, matched: &LabelMatch<'_>, page: &mut page::Report);
}

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
    pub(crate) fn labels(&self) -> LabelMatch<'_> {
        let [first, second] = self.models();
        LabelMatch::new(first, second).expect("models that were compared can be matched")
    }

    /// How category labels were matched, if there are any, in words.
    pub(crate) fn labels_words(&self) -> Option<String> {
        labels::words(&self.labels(), self.models()[0].features())
    }

    /// The inputs that the claim is about.
    pub(crate) fn inputs(&self, labels: &LabelMatch<'_>) -> String {
        let words = inputs_words(&self.answer.accepted, &self.answer.domain, self.models()[0]);
        words + &self.answer.findings().inputs_note() + &labels::domain(labels, self.models()[0].features())
    }

    /// One JSON object; its keys are part of the interface (`secateur verify --json`).
    pub fn json(&self) -> Value {
        let (answer, found) = (self.answer, self.answer.findings());
        let (labels, features) = (self.labels(), self.models()[0].features());
        let mut object = Map::new();
        object.insert("outcome".to_owned(), json!(found.outcome()));
        object.insert("reason".to_owned(), json!(found.reason()));
        found.facts(self, &mut object);
        object.insert("scope".to_owned(), json!(answer.accepted.scope(&answer.domain)));
        object.insert("inputs".to_owned(), json!(self.inputs(&labels)));
        object.insert("domain".to_owned(), self.domain_json());
        object.insert("labels".to_owned(), labels::json(&labels, features));
        found.example_facts(self, &labels, &mut object);
        object.insert("certificate".to_owned(), json!(self.places.certificate));
        object.insert("checked".to_owned(), json!(answer.checked()));
        object.insert("nodes".to_owned(), json!(answer.nodes));
        object.insert("seconds".to_owned(), json!(answer.seconds));
        Value::Object(object)
    }

    /// The domain of the claim; `null` for every input.
    fn domain_json(&self) -> Value {
        let domain = &self.answer.domain;
        if domain.is_everything() {
            return Value::Null;
        }
        let mut object = DomainFile::of(domain, self.models()[0].features()).to_json();
        if let Some(cells) = self.answer.findings().cells_json() {
            object["cells_log10"] = cells;
        }
        object
    }

    /// The answer for people, one line for each fact; with `verbose`, every column of an input.
    pub fn words(&self, verbose: bool) -> String {
        let (answer, found) = (self.answer, self.answer.findings());
        let mut text = found.headline() + "\n";
        let mut line = |key: &str, value: &str| text += &(entry(key, value) + "\n");
        found.claim(self, begin(&answer.accepted, &answer.domain), &mut line);
        let labels = self.labels();
        line("inputs", &self.inputs(&labels));
        line("columns", answer.matching);
        if let Some(words) = self.labels_words() {
            line("labels", &words);
        }
        found.example(self, &labels, verbose, &mut line);
        if let Some(certificate) = self.places.certificate {
            line("certificate", certificate);
        }
        line("boxes", &counted(answer.nodes, "box", "boxes"));
        line("time", &format!("{:.3} s", answer.seconds));
        text
    }

    /// The values of an input, one line for each column; without `verbose`, only of columns that
    /// some split uses.
    pub(super) fn row_words(&self, labels: &LabelMatch<'_>, row: &[f64], verbose: bool, line: Line<'_>) {
        let features = self.models()[0].features();
        let used = used_columns(&self.models());
        if row.iter().zip(&used).any(|(value, &used)| used && value.is_nan()) {
            line(
                "missing",
                "the input has missing values; if yours never have any, --no-missing (in Python missing=False) asks \
                 about the others",
            );
        }
        let mut unused = 0;
        for (index, &value) in row.iter().enumerate() {
            if !used[index] && !verbose {
                unused += 1;
                continue;
            }
            let feature = FeatureId::new(index);
            line(&printable(&features.name(feature)), &self.value_words(labels, feature, value));
        }
        if unused > 0 {
            line("others", &format!("{} that no split looks at", counted(unused, "column", "columns")));
        }
    }

    /// The values of an input for a page, of columns that some split uses; and how many others
    /// there are.
    pub(super) fn row_page(&self, labels: &LabelMatch<'_>, row: &[f64]) -> (Vec<page::Value>, usize) {
        let features = self.models()[0].features();
        let used = used_columns(&self.models());
        let value = |index: usize| page::Value {
            feature: features.name(FeatureId::new(index)).into_owned(),
            value: self.value_words(labels, FeatureId::new(index), row[index]),
        };
        let values = (0..row.len()).filter(|&index| used[index]).map(value).collect();
        (values, used.iter().filter(|used| !**used).count())
    }

    /// The value of a column in a row, as people read it.
    pub(super) fn value_words(&self, labels: &LabelMatch<'_>, feature: FeatureId, value: f64) -> String {
        labels::value_words(labels, feature, value, reading::printed_as(self.models()))
    }
}

/// For each column: does some split of these models use it?
pub(crate) fn used_columns(models: &[&Ensemble]) -> Vec<bool> {
    let mut used = vec![false; models[0].features().len()];
    for split in models.iter().flat_map(|model| model.trees()).flat_map(|tree| tree.splits()) {
        used[split.feature.index()] = true;
    }
    used
}

/// Why a search ended before it had an answer.
pub(super) fn stopped(reason: StopReason) -> &'static str {
    match reason {
        StopReason::Time => "the time limit was reached",
        StopReason::Workers => "the workers that were to help are gone",
        _ => "the budget was used up",
    }
}

/// The values of a row by column, for scripts.
pub(crate) fn row_json(features: &Features, row: &[f64]) -> Value {
    let values = row.iter().enumerate();
    let named =
        values.map(|(index, &value)| (features.name(FeatureId::new(index)).into_owned(), json_number(value)));
    Value::Object(named.collect())
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
