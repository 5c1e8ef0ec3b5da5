//! The input that shows how far scores are apart, as an HTML page shows it: its values, and how that
//! distance changes when one of its columns moves.

use secateur_model::{CellId, Ensemble, Exact, Grid, LabelMatch, Predictor};
use secateur_oracle::ScorePoint;
use secateur_report as page;

use super::VerifyReport;
use super::scores::ScoresFound;
use crate::text::printable;

/// The most inputs whose scores are computed for all charts.
const LOOKS: usize = 20_000;
/// The most for the chart of one column.
const LOOKS_OF_COLUMN: usize = 400;

/// The input, and how the distance of its scores changes.
pub(super) fn shown(
    report: &VerifyReport<'_>,
    found: &ScoresFound,
    labels: &LabelMatch<'_>,
    point: &ScorePoint,
) -> page::ScoreInput {
    let (values, unused) = report.row_page(labels, &point.row);
    page::ScoreInput {
        values,
        unused,
        output: (found.outputs.len() > 1).then(|| format!("output {}", point.output)),
        scores: point.scores,
        distance: point.distance,
        along: along(report, found, labels, point).unwrap_or_default(),
    }
}

/// How far the scores are apart when one column of the input moves; columns with the largest
/// change come first.
fn along(
    report: &VerifyReport<'_>,
    found: &ScoresFound,
    labels: &LabelMatch<'_>,
    point: &ScorePoint,
) -> Option<Vec<page::Along>> {
    // The models as they were compared: within the domain, and reading doubles if every double
    // was meant.
    let read = |model: &Ensemble| match found.rounds {
        Some(_) => model.reading_doubles(),
        None => Some(model.clone()),
    };
    let [ours, theirs] = labels.models();
    let (ours, theirs) = (read(ours)?, read(theirs)?);
    let ours = ours.within(&report.answer.domain).ok()?;
    let grid = Grid::new(&[&ours, &theirs]).ok()?;
    let predictors = [Predictor::new(&ours), Predictor::new(&theirs)];
    let groups = *found.outputs.get(point.output)?;
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
            report.value_words(labels, feature, grid.witness(&cells)[feature.index()])
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
