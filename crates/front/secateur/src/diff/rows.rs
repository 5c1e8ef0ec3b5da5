//! The rows of a table with both versions of a model, and the trees in which the versions differ.

use secateur_model::{ClassId, Decision, Ensemble, FeatureId, Output, Predictor, Tree};
use secateur_oracle::Outline;

use super::{computed, lead};
use crate::domain::OutsideRows;
use crate::error::Error;
use crate::verify::{Band, both_accept};

/// How many changed rows are listed, and how many trees of each.
const LISTED: usize = 10;
const TREES: usize = 3;

/// What both versions compute for the rows of a table that both libraries accept.
#[derive(Clone, Debug)]
pub struct RowsMoved {
    /// How many rows both libraries accept.
    pub count: usize,
    /// Rows that one of the libraries refuses; they are not counted.
    pub refused: usize,
    /// Of the counted rows, those that the second version decides otherwise; `None` for regressors and
    /// rankers.
    pub flipped: Option<usize>,
    /// Rows whose scores differ.
    pub moved: usize,
    /// The largest move of a score.
    pub largest: f64,
    /// The mean over the rows of the largest move of the row's scores.
    pub mean: f64,
    /// The first rows that are decided otherwise; of regressors and rankers, those that move farthest.
    pub first: Vec<RowChange>,
    /// Rows outside of the domain: they are counted, but the bounds say nothing about them.
    pub outside: Option<OutsideRows>,
    /// The changed row whose class led by most.
    farthest: Option<RowChange>,
}

impl RowsMoved {
    /// Of the rows in the domain that are decided otherwise, the one whose class led by most.
    pub(super) fn safest(&self) -> Option<&RowChange> {
        self.farthest.as_ref()
    }
}

/// A row with both versions.
#[derive(Clone, Debug)]
pub struct RowChange {
    /// Its position in the table, counted from 0; `None` for a row that the search found.
    pub index: Option<usize>,
    /// One value for each column, in the codes of the first model.
    pub row: Vec<f64>,
    /// The scores of each version.
    pub scores: [Vec<f64>; 2],
    /// The class of each version.
    pub classes: [Option<ClassId>; 2],
    /// How far the first version's class leads; zero for regressors and rankers.
    pub lead: f64,
    /// The largest move of one of its scores.
    pub moved: f64,
    /// The trees that differ most there, if only some of the versions' trees differ.
    pub trees: Vec<TreeChange>,
}

/// A tree that gives a row another value.
#[derive(Clone, Debug, PartialEq)]
pub struct TreeChange {
    /// The position of the tree in both files, counted from 0.
    pub tree: usize,
    /// What it adds to a score in each version; `None` where the version has no such tree.
    pub values: [Option<f64>; 2],
    /// The columns that the row meets on its way through the tree, in either version.
    pub columns: Vec<FeatureId>,
}

/// The trees of both versions, compared position by position.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trees {
    /// How many trees each version has.
    pub count: [usize; 2],
    /// The positions at which the trees differ, those of trees that only one version has included.
    pub changed: Vec<usize>,
}

impl Trees {
    /// Are some trees the same, so that it says something which ones differ?
    pub fn is_local(&self) -> bool {
        self.changed.len() < self.count[0].max(self.count[1])
    }
}

/// Two versions over the same columns and category codes.
pub(super) struct Pair<'a> {
    pub(super) models: [&'a Ensemble; 2],
    /// Which score of the first is compared with which of the second.
    pub(super) outputs: Vec<[usize; 2]>,
}

impl Pair<'_> {
    /// Compares the trees by position.
    pub(super) fn trees(&self) -> Trees {
        let [ours, theirs] = self.models.map(Ensemble::trees);
        let differ = |&at: &usize| ours.get(at) != theirs.get(at);
        let changed = (0..ours.len().max(theirs.len())).filter(differ).collect();
        Trees { count: [ours.len(), theirs.len()], changed }
    }

    /// How many moves of a score a lead has to be larger than.
    pub(super) fn lead_of_a_move(&self) -> f64 {
        match self.models.map(Ensemble::decision) {
            [Decision::Threshold { threshold, .. }, Decision::Threshold { threshold: other, .. }]
                if threshold == other =>
            {
                1.0
            }
            _ => 2.0,
        }
    }

    /// What both versions compute for these rows; `None` if there is none that both accept.
    pub(super) fn rows(&self, rows: &[f64], trees: &Trees) -> Result<Option<RowsMoved>, Error> {
        let [ours, theirs] = self.models;
        let width = ours.features().len().max(1);
        let every = ours.for_every_input();
        let free = [&*every, theirs];
        let accepted = |row: &&[f64]| both_accept(free, row);
        let kept: Vec<(usize, &[f64])> =
            rows.chunks_exact(width).enumerate().filter(|(_, row)| accepted(row)).collect();
        if kept.is_empty() {
            return Ok(None);
        }
        let flat: Vec<f64> = kept.iter().flat_map(|(_, row)| row.iter().copied()).collect();
        let predictors = free.map(Predictor::new);
        let scores = [predictors[0].decided_scores(&flat)?, predictors[1].decided_scores(&flat)?];
        let widths = free.map(Ensemble::group_count);
        let outline = match free.iter().all(|model| model.decision().is_classifier()) {
            true => Some(Outline::new(free[0], free[1], Band::Exact)?),
            false => None,
        };
        let classes = match &outline {
            Some(_) => Some([predictors[0].classes(&flat)?, predictors[1].classes(&flat)?]),
            None => None,
        };
        let mut found = RowsMoved {
            count: kept.len(),
            refused: rows.len() / width - kept.len(),
            flipped: classes.as_ref().map(|_| 0),
            moved: 0,
            largest: 0.0,
            mean: 0.0,
            first: Vec::new(),
            outside: OutsideRows::find(ours, rows),
            farthest: None,
        };
        let mut farthest: Vec<(f64, usize)> = Vec::new();
        let mut total = 0.0;
        for (at, &(index, row)) in kept.iter().enumerate() {
            let own = [0, 1].map(|side: usize| &scores[side][at * widths[side]..][..widths[side]]);
            let moved = self.moved(own);
            found.moved += usize::from(moved > 0.0);
            found.largest = found.largest.max(moved);
            total += moved;
            let flips = match (&classes, &outline) {
                (Some([before, after]), Some(outline)) => outline.class_in_second(before[at]) != after[at],
                _ => false,
            };
            if !flips {
                farthest.push((moved, at));
                continue;
            }
            *found.flipped.get_or_insert(0) += 1;
            let class = classes.as_ref().map(|[before, _]| before[at]);
            let led = class.map_or(0.0, |class| lead(free[0], own[0], class));
            let further = found.farthest.as_ref().is_none_or(|known| known.lead < led);
            if further && ours.domain().contains(row) {
                found.farthest = Some(self.change(row, Some(index), trees)?);
            }
            if found.first.len() < LISTED {
                found.first.push(self.change(row, Some(index), trees)?);
            }
        }
        found.mean = total / kept.len() as f64;
        if outline.is_none() {
            farthest.retain(|&(moved, _)| moved > 0.0);
            farthest.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            for &(_, at) in farthest.iter().take(LISTED) {
                let (index, row) = kept[at];
                found.first.push(self.change(row, Some(index), trees)?);
            }
        }
        Ok(Some(found))
    }

    /// The largest move of a row's scores.
    fn moved(&self, scores: [&[f64]; 2]) -> f64 {
        let apart = |&[one, other]: &[usize; 2]| (scores[0][one] - scores[1][other]).abs();
        self.outputs.iter().map(apart).fold(0.0, f64::max)
    }

    /// A row with both versions.
    pub(super) fn change(
        &self,
        row: &[f64],
        index: Option<usize>,
        trees: &Trees,
    ) -> Result<RowChange, Error> {
        let every = self.models[0].for_every_input();
        let (before, was) = computed(&every, row)?;
        let (after, is) = computed(self.models[1], row)?;
        let led = was.map_or(0.0, |class| lead(&every, &before, class));
        let moved = self.moved([&before, &after]);
        let trees = if trees.is_local() { self.changed_trees(row, trees) } else { Vec::new() };
        let row = row.to_vec();
        Ok(RowChange { index, row, scores: [before, after], classes: [was, is], lead: led, moved, trees })
    }

    /// The trees that give this row another value, those that change it most first.
    fn changed_trees(&self, row: &[f64], trees: &Trees) -> Vec<TreeChange> {
        let reached = |tree: usize| {
            let mut columns = Vec::new();
            let values = self
                .models
                .map(|model| model.trees().get(tree).map(|tree| value(model, tree, row, &mut columns)));
            columns.sort_unstable();
            columns.dedup();
            // Of leaves with several values, the one that changes most.
            let of =
                |side: usize, at: usize| values[side].as_ref().map(|own| own.get(at).copied().unwrap_or(0.0));
            let apart = |at: usize| (of(0, at).unwrap_or(0.0) - of(1, at).unwrap_or(0.0)).abs();
            let width = values.iter().flatten().map(Vec::len).max().unwrap_or(0);
            let at = (0..width).max_by(|&a, &b| apart(a).total_cmp(&apart(b)).then(b.cmp(&a)))?;
            let change = TreeChange { tree, values: [of(0, at), of(1, at)], columns };
            (apart(at) > 0.0).then_some((apart(at), change))
        };
        let mut changes: Vec<(f64, TreeChange)> =
            trees.changed.iter().filter_map(|&tree| reached(tree)).collect();
        changes.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.tree.cmp(&b.1.tree)));
        changes.into_iter().take(TREES).map(|(_, change)| change).collect()
    }
}

/// What a tree adds for a row: one number, or one for each score. Notes the columns on its way.
fn value(model: &Ensemble, tree: &Tree, row: &[f64], columns: &mut Vec<FeatureId>) -> Vec<f64> {
    let leaf = tree.walk(|split| {
        columns.push(split.feature);
        let value = model.intake().read(row[split.feature.index()]).unwrap_or(f64::NAN);
        model.goes_left(split, value)
    });
    let weighted = |value: &f64| value * tree.weight();
    match tree.output() {
        Output::Group(_) => tree.leaf(leaf).iter().take(1).map(weighted).collect(),
        Output::All => tree.leaf(leaf).iter().map(weighted).collect(),
    }
}
