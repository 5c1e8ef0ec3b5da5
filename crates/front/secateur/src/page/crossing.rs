//! Pairs of inputs that show a split to be needed. The two inputs of a pair differ in one column
//! only, lie on either side of one split, and the original decides them for different classes, each
//! by more than the band.
//!
//! Every model that decides as the original does must tell the two inputs apart, so at least one of
//! the splits between them must stay; if only one tree has such a split, that tree must stay. Each
//! pair is evaluated in exact arithmetic. The pairs that the run itself found come first. Others
//! are found by trying rows near the decision boundary, which may miss some, so a split without a
//! pair may be needed too.

use std::collections::BTreeSet;

use secateur_model::{CellId, ClassId, Ensemble, FeatureId, Grid, Predictor, Tree, TreeId};
use secateur_oracle::Lead;
use secateur_prune::{Fate, Relevant, certain_winner};
use secateur_report as page;

use super::splits::Question;
use crate::text::number;

/// Rows that are examined.
const ROWS: usize = 600;
/// Rows nearest to the decision boundary, which are then varied.
const NEAREST: usize = 80;
/// The most pairs that are evaluated.
const EVALUATED: usize = 60_000;
/// Pairs that are shown.
const SHOWN: usize = 8;
/// Columns of a row that are shown.
const COLUMNS: usize = 60;

/// A pair of inputs, and the split and trees that it shows to be needed.
struct Pair {
    feature: FeatureId,
    rows: [Vec<f64>; 2],
    classes: [ClassId; 2],
    leads: [f64; 2],
    question: Question,
    /// The trees that tell the two apart.
    trees: Vec<TreeId>,
}

/// The pairs that were found, at most one for each boundary between two cells.
#[derive(Default)]
pub(super) struct Crossings {
    pairs: Vec<Pair>,
    found: BTreeSet<(FeatureId, Question)>,
}

impl Crossings {
    pub(super) fn find(ensemble: &Ensemble, rows: &[f64], band: f64, known: Option<&Relevant>) -> Self {
        let mut crossings = Self::default();
        let Ok(grid) = Grid::new(&[ensemble]) else { return crossings };
        let band = (band != 0.0).then_some(band);
        let mut done = BTreeSet::new();
        for (boundary, pair) in known.into_iter().flat_map(Relevant::pairs) {
            let Some(axis) = grid.axes().get(boundary.axis) else { continue };
            if let Some(crossed) = judged(ensemble, pair.rows.clone(), axis.feature(), band) {
                crossings.add(ensemble, crossed);
                done.insert((boundary.axis, boundary.below.index()));
            }
        }
        let near = nearest_rows(ensemble, rows);
        let mut left = EVALUATED;
        for (number, axis) in grid.axes().iter().enumerate().filter(|(_, axis)| axis.is_numeric()) {
            let feature = axis.feature();
            for below in 0..axis.bounds().map_or(0, |bounds| bounds.len()) {
                if done.contains(&(number, below)) {
                    continue;
                }
                let [low, high] =
                    [below, below + 1].map(|cell| axis.witness(CellId::new(cell), grid.intake()));
                for row in &near {
                    if left == 0 {
                        return crossings;
                    }
                    left -= 1;
                    if let Some(pair) = cross(ensemble, row, feature, [low, high], band) {
                        crossings.add(ensemble, pair);
                        break;
                    }
                }
            }
        }
        crossings
    }

    fn add(&mut self, ensemble: &Ensemble, (rows, classes, leads, feature): Crossed) {
        let values = [0, 1].map(|side: usize| ensemble.intake().read(rows[side][feature.index()]));
        let [Some(low), Some(high)] = values else { return };
        let mut trees = Vec::new();
        let mut questions = BTreeSet::new();
        for (index, tree) in ensemble.trees().iter().enumerate() {
            for split in tree.splits().filter(|split| split.feature == feature) {
                if ensemble.goes_left(split, low) != ensemble.goes_left(split, high) {
                    trees.push(TreeId::new(index));
                    questions.insert(Question::of(split));
                }
            }
        }
        trees.dedup();
        let Some(question) = questions.first() else { return };
        // If there are two splits between the same cells, either may be the needed one.
        if questions.len() == 1 {
            self.found.insert((feature, question.clone()));
        }
        self.pairs.push(Pair { feature, rows, classes, leads, question: question.clone(), trees });
    }

    /// Is a pair known for this split?
    pub(super) fn holds(&self, feature: FeatureId, question: &Question) -> bool {
        self.found.contains(&(feature, question.clone()))
    }

    /// The arguments for the page: first for trees that must stay, then for splits.
    pub(super) fn evidence(&self, ensemble: &Ensemble, fates: &[Fate]) -> page::Evidence {
        let alone: BTreeSet<TreeId> =
            self.pairs.iter().filter(|pair| pair.trees.len() == 1).map(|pair| pair.trees[0]).collect();
        let mut shown = BTreeSet::new();
        let mut examples = Vec::new();
        for pair in self.pairs.iter().filter(|pair| pair.trees.len() == 1) {
            if examples.len() < SHOWN && shown.insert(pair.trees[0]) && !gone(fates, pair.trees[0]) {
                examples.push(pair.argument(ensemble, Some(pair.trees[0])));
            }
        }
        let room = SHOWN.saturating_sub(examples.len()).min(SHOWN / 2);
        let others = self.pairs.iter().filter(|pair| pair.trees.len() > 1);
        examples.extend(others.take(room).map(|pair| pair.argument(ensemble, None)));
        page::Evidence { indispensable_trees: alone.len(), relevant_splits: self.found.len(), examples }
    }
}

fn gone(fates: &[Fate], tree: TreeId) -> bool {
    !matches!(fates.get(tree.index()), Some(Fate::Kept | Fate::Scaled(_) | Fate::Rewritten(_)))
}

impl Pair {
    fn argument(&self, ensemble: &Ensemble, tree: Option<TreeId>) -> page::Indispensable {
        let name = ensemble.features().name(self.feature);
        let place = self.question.words(ensemble, self.feature);
        let [first, second] = self.classes.map(|class| ensemble.classes().text(class).into_owned());
        let who = match tree {
            Some(tree) => format!("only tree {} splits there, so it must stay", tree.index()),
            None => format!("one of the {} trees that split there must stay", self.trees.len()),
        };
        page::Indispensable {
            tree: tree.map(TreeId::index),
            reason: format!(
                "Crossing {name} {place} turns {first} into {second} while all else stays as it is; {who}."
            ),
            rows_needed: 2,
            rows: [0, 1].map(|side| self.row(ensemble, side)).to_vec(),
        }
    }

    fn row(&self, ensemble: &Ensemble, side: usize) -> page::ExampleRow {
        let used: BTreeSet<FeatureId> =
            ensemble.trees().iter().flat_map(Tree::splits).map(|split| split.feature).collect();
        let value = |feature: FeatureId| page::Value {
            feature: ensemble.features().name(feature).into_owned(),
            value: value_words(ensemble, feature, self.rows[side][feature.index()]),
        };
        // The column that differs comes first.
        let others = used.iter().copied().filter(|&feature| feature != self.feature);
        let columns = std::iter::once(self.feature).chain(others).take(COLUMNS);
        page::ExampleRow {
            values: columns.map(value).collect(),
            class: ensemble.classes().text(self.classes[side]).into_owned(),
            lead: self.leads[side],
        }
    }
}

/// The value of a column, as people read it.
fn value_words(ensemble: &Ensemble, feature: FeatureId, value: f64) -> String {
    let label = ensemble.features().categories(feature).and_then(|categories| {
        let code = categories.code(value)?;
        categories.labels.as_ref()?.get(code as usize).map(|label| label.to_string())
    });
    match label {
        Some(label) => label,
        None if value.is_nan() => "missing".to_owned(),
        None => number(value, ensemble.intake().number),
    }
}

/// Two rows with their classes and leads, and the column in which they differ.
type Crossed = ([Vec<f64>; 2], [ClassId; 2], [f64; 2], FeatureId);

/// The row with each of two values in one column, if this changes a decision that is certain on
/// both sides.
fn cross(
    ensemble: &Ensemble,
    row: &[f64],
    feature: FeatureId,
    values: [f64; 2],
    band: Option<f64>,
) -> Option<Crossed> {
    let rows = values.map(|value| {
        let mut row = row.to_vec();
        row[feature.index()] = value;
        row
    });
    // The library's own arithmetic is fast and nearly always right; pairs that pass it are judged
    // exactly.
    let fast = Predictor::new(ensemble).classes(&rows.concat()).ok()?;
    if fast[0] == fast[1] { None } else { judged(ensemble, rows, feature, band) }
}

/// The two rows, if they differ in this column only and are decided differently, each by more than
/// the band.
fn judged(
    ensemble: &Ensemble,
    rows: [Vec<f64>; 2],
    feature: FeatureId,
    band: Option<f64>,
) -> Option<Crossed> {
    let same =
        |(index, (a, b)): (usize, (&f64, &f64))| index == feature.index() || a.to_bits() == b.to_bits();
    // Inputs outside of the claim show nothing.
    let counts = rows.iter().all(|row| ensemble.accepts(row));
    if !counts || !rows[0].iter().zip(&rows[1]).enumerate().all(same) {
        return None;
    }
    let certain = rows.each_ref().map(|row| {
        let read: Option<Vec<f64>> = row.iter().map(|&value| ensemble.intake().read(value)).collect();
        let sums = ensemble.exact_sums(ensemble.leaves(&read?));
        let winner = certain_winner(ensemble, &sums, band)?;
        let others = ensemble.classes().ids().filter(|&other| other != winner);
        let lead = others.map(|other| {
            let lead = Lead::of(ensemble, winner, other);
            lead.total(&sums).to_f64() / lead.divisor.to_f64()
        });
        Some((winner, lead.fold(f64::INFINITY, f64::min)))
    });
    let [(first, ahead), (second, behind)] = [certain[0]?, certain[1]?];
    (first != second).then_some((rows, [first, second], [ahead, behind], feature))
}

/// The rows whose two best classes are closest, by the library's scores.
fn nearest_rows(ensemble: &Ensemble, rows: &[f64]) -> Vec<Vec<f64>> {
    let width = ensemble.features().len().max(1);
    let mut all: Vec<Vec<f64>> = rows.chunks_exact(width).take(ROWS).map(<[f64]>::to_vec).collect();
    all.extend(invented_rows(ensemble, ROWS));
    let predictor = Predictor::new(ensemble);
    let mut judged: Vec<(f64, Vec<f64>)> = all
        .into_iter()
        .filter_map(|row| {
            let mut closeness = f64::INFINITY;
            predictor.for_each(&row, |scores, _| closeness = gap(scores)).ok()?;
            Some((closeness, row))
        })
        .collect();
    judged.sort_by(|a, b| a.0.total_cmp(&b.0));
    judged.truncate(NEAREST);
    judged.into_iter().map(|(_, row)| row).collect()
}

fn gap(scores: &[f64]) -> f64 {
    match scores {
        [score] => score.abs(),
        _ => {
            let mut sorted = scores.to_vec();
            sorted.sort_by(|a, b| b.total_cmp(a));
            sorted[0] - sorted[1]
        }
    }
}

/// Rows of cells chosen at random, always the same ones.
pub(super) fn invented_rows(ensemble: &Ensemble, count: usize) -> Vec<Vec<f64>> {
    let Ok(grid) = Grid::new(&[ensemble]) else { return Vec::new() };
    // Many columns make long rows; a few million values are enough.
    let count = count.min(4_000_000 / ensemble.features().len().max(1));
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below.max(1) as u64) as usize
    };
    (0..count)
        .map(|_| {
            let cells: Vec<CellId> = grid.axes().iter().map(|axis| CellId::new(random(axis.len()))).collect();
            grid.witness(&cells)
        })
        .collect()
}
