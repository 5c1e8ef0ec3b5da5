//! The answer of `verify`, as what the HTML page is made from.

use secateur_model::{Ensemble, FeatureId, Scope};
use secateur_oracle::{Counterexample, Verdict};
use secateur_report as page;

use super::{Report, domain_words, undecided, used_columns};
use crate::report::{Pair, certificate, classes, value_words};

impl Report<'_> {
    pub(super) fn page(&self, pair: &Pair<'_>) -> page::Report {
        let (outcome, example, open) = match self.verdict {
            Verdict::Identical => (page::Outcome::Identical, None, Vec::new()),
            Verdict::Different(example) => (page::Outcome::Different, Some(example), Vec::new()),
            Verdict::Undecided(why) => (page::Outcome::Undecided, None, vec![sentence(undecided(why))]),
        };
        page::Report {
            outcome,
            version: concat!("secateur ", env!("CARGO_PKG_VERSION")).to_owned(),
            models: pair.models(),
            claim: page::Claim {
                band: self.band,
                probability: self.probability(self.band),
                inputs: domain_words(self.domain, self.scope),
                missing_left_out: self.scope == Scope::NoMissing,
                matching: Some(self.matching.to_owned()),
                classes: classes(self.models[0]),
            },
            counterexample: example.map(|example| self.example_page(example)),
            run: page::Run { seconds: self.seconds, boxes: Some(self.nodes), ..page::Run::default() },
            certificate: self.certificate.as_deref().map(certificate),
            undecided: open,
            notes: self.first.notes(),
            ..page::Report::default()
        }
    }

    fn example_page(&self, example: &Counterexample) -> page::Counterexample {
        let first: &Ensemble = self.models[0];
        let used = used_columns(self.models);
        let value = |index: usize| page::Value {
            feature: first.features().name(FeatureId::new(index)).into_owned(),
            value: value_words(first, FeatureId::new(index), example.row[index]),
        };
        page::Counterexample {
            values: (0..example.row.len()).filter(|&index| used[index]).map(value).collect(),
            unused: used.iter().filter(|used| !**used).count(),
            classes: [0, 1]
                .map(|model| self.models[model].classes().text(example.classes[model]).into_owned()),
            scores: example.scores.clone(),
            in_libraries: example.in_libraries,
            near: self.nearest.map(|(row, changed)| page::Near { row: row + 1, changed }),
        }
    }
}

fn sentence(words: &str) -> String {
    let mut letters = words.chars();
    letters
        .next()
        .map_or_else(String::new, |first| first.to_uppercase().chain(letters).chain(['.']).collect())
}
