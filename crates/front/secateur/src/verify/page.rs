//! The answer of `verify`, as the data that its HTML page is made from.

use secateur_prune::Editable;
use secateur_report as page;

use super::VerifyReport;
use crate::domain::inputs_in_short;
use crate::page::{Pair, certificate, classes, now};

impl VerifyReport<'_> {
    /// An HTML page about the answer: what is proved, and the input that the answer shows. `rows`
    /// are the caller's, and may be empty.
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
        let labels = self.labels();
        let matching = match self.labels_words() {
            Some(words) => format!("{}; category labels {words}", answer.matching),
            None => answer.matching.to_owned(),
        };
        let mut page = page::Report {
            version: concat!("secateur ", env!("CARGO_PKG_VERSION")).to_owned(),
            date: now(),
            models: pair.models(),
            claim: page::Claim {
                inputs: self.inputs(&labels),
                limited_to: inputs_in_short(&answer.accepted, &answer.domain).map(str::to_owned),
                matching: Some(matching),
                classes: classes(self.models()[0]),
                ..page::Claim::default()
            },
            run: page::Run { seconds: answer.seconds, boxes: Some(answer.nodes), ..page::Run::default() },
            certificate: self.places.certificate.and_then(|path| {
                answer.certificate.as_ref().map(|bytes| certificate(path, bytes.len() as u64))
            }),
            undecided: answer.reason().map(sentence).into_iter().collect(),
            notes: self.first.notes(),
            ..page::Report::default()
        };
        answer.findings().page(self, &labels, &mut page);
        page
    }
}

fn sentence(words: &str) -> String {
    let mut letters = words.chars();
    letters
        .next()
        .map_or_else(String::new, |first| first.to_uppercase().chain(letters).chain(['.']).collect())
}
