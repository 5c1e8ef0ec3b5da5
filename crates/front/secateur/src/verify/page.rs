//! The answer of `verify`, as the data that its HTML page is made from.

use secateur_model::{Ensemble, FeatureId, LabelMatch};
use secateur_oracle::{Counterexample, Verdict};
use secateur_prune::Editable;
use secateur_report as page;

use super::words::{undecided, used_columns};
use super::{VerifyReport, labels};
use crate::domain::inputs_in_short;
use crate::page::{Pair, certificate, classes, now};

impl VerifyReport<'_> {
    /// An HTML page about the answer. `rows` are the caller's, and may be empty.
    pub fn html(&self, rows: &[f64]) -> String {
        let files = [self.first, self.second];
        let sizes = [self.places.original_bytes, self.places.pruned_bytes];
        let bytes = [0, 1].map(|at| sizes[at].or_else(|| files[at].bytes()).unwrap_or(0));
        let names =
            [self.places.original, self.places.pruned].map(|name| name.unwrap_or("a model in memory"));
        page::html(&self.page(&Pair { names, files, bytes, rows }))
    }

    fn page(&self, pair: &Pair<'_>) -> page::Report {
        let answer = self.answer;
        let (outcome, example, open) = match &answer.verdict {
            Verdict::Identical => (page::Outcome::Identical, None, Vec::new()),
            Verdict::Different(example) => (page::Outcome::Different, Some(example), Vec::new()),
            Verdict::Undecided(why) => (page::Outcome::Undecided, None, vec![sentence(undecided(why))]),
        };
        let labels = self.labels();
        let matching = match labels::words(&labels, self.models()[0].features()) {
            Some(words) => format!("{}; category labels {words}", answer.matching),
            None => answer.matching.to_owned(),
        };
        page::Report {
            outcome,
            version: concat!("secateur ", env!("CARGO_PKG_VERSION")).to_owned(),
            date: now(),
            models: pair.models(),
            claim: page::Claim {
                band: answer.band,
                exact: answer.exact,
                not_kept: None,
                rows: answer.seen.as_ref().map(|seen| seen.words(answer.exact)),
                probability: self.probability(answer.band),
                inputs: self.inputs(&labels),
                threshold: None,
                limited_to: inputs_in_short(&answer.accepted, &answer.domain).map(str::to_owned),
                matching: Some(matching),
                classes: classes(self.models()[0]),
            },
            counterexample: example.map(|example| self.example_page(&labels, example)),
            run: page::Run { seconds: answer.seconds, boxes: Some(answer.nodes), ..page::Run::default() },
            certificate: self.places.certificate.and_then(|path| {
                answer.certificate.as_ref().map(|bytes| certificate(path, bytes.len() as u64))
            }),
            undecided: open,
            notes: self.first.notes(),
            ..page::Report::default()
        }
    }

    fn example_page(&self, labels: &LabelMatch<'_>, example: &Counterexample) -> page::Counterexample {
        let first: &Ensemble = self.models()[0];
        let used = used_columns(self.models());
        let value = |index: usize| page::Value {
            feature: first.features().name(FeatureId::new(index)).into_owned(),
            value: self.value_words(labels, FeatureId::new(index), example.row[index]),
        };
        page::Counterexample {
            values: (0..example.row.len()).filter(|&index| used[index]).map(value).collect(),
            unused: used.iter().filter(|used| !**used).count(),
            classes: [0, 1]
                .map(|model| self.models()[model].classes().text(example.classes[model]).into_owned()),
            scores: example.scores.clone(),
            in_libraries: example.in_libraries,
            near: self.answer.nearest.map(|(row, changed)| page::Near { row: row + 1, changed }),
        }
    }
}

fn sentence(words: &str) -> String {
    let mut letters = words.chars();
    letters
        .next()
        .map_or_else(String::new, |first| first.to_uppercase().chain(letters).chain(['.']).collect())
}
