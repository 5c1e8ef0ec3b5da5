//! The answer of `verify --scores`, as the data that its HTML page is made from.

use secateur_model::{CellId, Ensemble, Exact, FeatureId, Grid, LabelMatch, Predictor};
use secateur_oracle::ScorePoint;
use secateur_prune::Editable;
use secateur_report as page;

use super::scores::{ScoreOutcome, ScoreReport};
use super::{labels, words};
use crate::domain::inputs_in_short;
use crate::page::{Pair, certificate, classes, now};
use crate::places::Places;
use crate::text::printable;

/// The most inputs whose scores are computed for all charts.
const LOOKS: usize = 20_000;
/// The most for the chart of one column.
const LOOKS_OF_COLUMN: usize = 400;

impl ScoreReport<'_> {
    /// An HTML page about the answer: what is proved, the input that shows how far scores are
    /// apart, and how that distance changes when one of its columns moves. `rows` are the caller's,
    /// and may be empty.
    pub fn html(&self, rows: &[f64], places: Places<'_>) -> String {
        let files = [self.first, self.second];
        let sizes = [places.original_bytes, places.pruned_bytes];
        let bytes = [0, 1].map(|at| sizes[at].or_else(|| files[at].bytes()).unwrap_or(0));
        let names = [places.original, places.pruned].map(|name| name.unwrap_or("a model in memory"));
        page::html(&self.page(&Pair { names, files, bytes, rows }))
    }

    fn page(&self, pair: &Pair<'_>) -> page::Report {
        let answer = self.answer;
        let labels = self.labels();
        let matching = match labels::words(&labels, self.models()[0].features()) {
            Some(words) => format!("{}; category labels {words}", answer.matching),
            None => answer.matching.to_owned(),
        };
        let averaged = self.models().iter().any(|model| model.accumulation().average.is_some());
        let what =
            if averaged { "the raw scores, averaged where a library averages," } else { "the raw scores" };
        page::Report {
            outcome: match answer.outcome {
                ScoreOutcome::Within => page::Outcome::Within,
                ScoreOutcome::Exceeds => page::Outcome::Exceeds,
                ScoreOutcome::Measured => page::Outcome::Measured,
                ScoreOutcome::Undecided => page::Outcome::Undecided,
            },
            version: concat!("secateur ", env!("CARGO_PKG_VERSION")).to_owned(),
            date: now(),
            models: pair.models(),
            claim: page::Claim {
                inputs: self.inputs(&labels),
                threshold: None,
                limited_to: inputs_in_short(&answer.accepted, &answer.domain).map(str::to_owned),
                matching: Some(matching),
                classes: classes(self.models()[0]),
                ..page::Claim::default()
            },
            scores: Some(page::Scores {
                within: answer.within,
                at_most: answer.at_most,
                rounding: answer.rounding,
                ended: answer.ended,
                probability: answer.probability,
                what: what.to_owned(),
                shown: answer.at_least.as_ref().map(|point| self.shown(&labels, point)),
            }),
            run: page::Run { seconds: answer.seconds, boxes: Some(answer.nodes), ..page::Run::default() },
            certificate: self.certificate.and_then(|path| {
                answer.certificate.as_ref().map(|bytes| certificate(path, bytes.len() as u64))
            }),
            undecided: answer.reason.map(sentence).into_iter().collect(),
            notes: self.first.notes(),
            ..page::Report::default()
        }
    }

    fn shown(&self, labels: &LabelMatch<'_>, point: &ScorePoint) -> page::ScoreInput {
        let first = self.models()[0];
        let used = words::used_columns(self.models());
        let value = |index: usize| page::Value {
            feature: first.features().name(FeatureId::new(index)).into_owned(),
            value: self.value(labels, FeatureId::new(index), point.row[index]),
        };
        page::ScoreInput {
            values: (0..point.row.len()).filter(|&index| used[index]).map(value).collect(),
            unused: used.iter().filter(|used| !**used).count(),
            output: (self.answer.outputs.len() > 1).then(|| format!("output {}", point.output)),
            scores: point.scores,
            distance: point.distance,
            along: self.along(labels, point).unwrap_or_default(),
        }
    }

    fn value(&self, labels: &LabelMatch<'_>, feature: FeatureId, value: f64) -> String {
        labels::value_words(labels, feature, value, self.answer.accepted.values.number)
    }

    /// How far the scores are apart when one column of the input moves; columns with the largest
    /// change come first.
    fn along(&self, labels: &LabelMatch<'_>, point: &ScorePoint) -> Option<Vec<page::Along>> {
        // The models as they were compared: within the domain, and reading doubles if every double
        // was meant.
        let read = |model: &Ensemble| match self.answer.rounds {
            Some(_) => model.reading_doubles(),
            None => Some(model.clone()),
        };
        let [ours, theirs] = labels.models();
        let (ours, theirs) = (read(ours)?, read(theirs)?);
        let ours = ours.within(&self.answer.domain).ok()?;
        let grid = Grid::new(&[&ours, &theirs]).ok()?;
        let predictors = [Predictor::new(&ours), Predictor::new(&theirs)];
        let groups = *self.answer.outputs.get(point.output)?;
        let distance = |cells: &[CellId]| {
            let row = grid.witness(cells);
            let [first, second] = [0, 1].map(|model: usize| {
                predictors[model]
                    .decided_scores(&row)
                    .ok()
                    .and_then(|scores| Exact::from_f64(scores[groups[model]]))
            });
            Some((&second? - &first?).abs().to_f64())
        };
        let own = grid.cells_of(&point.row)?;
        let most = (LOOKS / grid.axes().len().max(1)).clamp(2, LOOKS_OF_COLUMN);
        let mut all = Vec::new();
        for (index, axis) in grid.axes().iter().enumerate() {
            let step = axis.len().div_ceil(most);
            let (mut cells, here) = (own.clone(), own[index].index());
            // Every `step`-th cell, and the input's own.
            let places: Vec<usize> =
                (0..axis.len()).filter(|&place| place % step == 0 || place == here).collect();
            let mut distances = Vec::with_capacity(places.len());
            for &place in &places {
                cells[index] = CellId::new(place);
                distances.push(distance(&cells)?);
            }
            let end = |place: usize| {
                let feature = axis.columns()[0];
                let mut cells = own.clone();
                cells[index] = CellId::new(place);
                self.value(labels, feature, grid.witness(&cells)[feature.index()])
            };
            let names: Vec<String> = axis
                .columns()
                .iter()
                .take(3)
                .map(|&column| printable(&ours.features().name(column)).into_owned())
                .collect();
            all.push(page::Along {
                feature: names.join(", ") + if axis.columns().len() > 3 { ", ..." } else { "" },
                here: places.iter().position(|&place| place == here)?,
                ends: [end(0), end(axis.len() - 1)],
                distances,
            });
        }
        let range = |along: &page::Along| {
            let (low, high) = along
                .distances
                .iter()
                .fold((f64::INFINITY, 0.0f64), |(low, high), &at| (low.min(at), high.max(at)));
            high - low
        };
        all.sort_by(|a, b| range(b).total_cmp(&range(a)));
        Some(all)
    }
}

/// The words as a sentence of their own.
fn sentence(words: &str) -> String {
    let mut letters = words.chars();
    letters
        .next()
        .map_or_else(String::new, |first| first.to_uppercase().chain(letters).chain(['.']).collect())
}
