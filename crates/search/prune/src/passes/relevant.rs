//! Finds relevant boundaries: each with two inputs that differ across it alone and are decided
//! differently.
//!
//! A boundary lies between two neighbouring cells of a numeric axis. It is relevant if two inputs
//! that differ only in these two cells are decided differently, both with a lead above the band.
//! Any model that decides both inputs as the original does must tell the two values of that feature
//! apart. Witnesses of cells are fixed values, so the gaps between neighbouring witnesses are
//! disjoint. Hence an ensemble whose nodes compare with one threshold each needs a node of its own
//! for each relevant boundary.
//!
//! Pairs are found by walks that evaluate all cells along an axis, which shows every change of
//! class on that line. For each boundary that is left, the search then climbs towards a pair: it
//! chooses a path to a node that draws the boundary, and sets the other axes so that zero comes to
//! lie between the scores on its two sides. Every pair is checked exactly. Finding none proves
//! nothing here; models of one feature per tree are settled in `stumps`.

use std::collections::BTreeSet;

use fastrand::Rng;
use secateur_model::{CellId, ClassId, Ensemble, Grid, Split};
use secateur_oracle::SearchBudget;

use crate::points::boundary_walks::{band_of_sums, is_over, step, tops_along};
use crate::points::point::certain_winner;
use crate::points::profile::{Profiles, admitted_by_all};
use crate::search::allowance::Allowance;

/// Walks in a row without a new pair before climbing begins.
const IDLE_WALKS: usize = 12;
/// Climbs for one boundary before the next boundary's turn; each boundary has several turns.
const CLIMBS: usize = 6;
/// Turns of each boundary without a pair.
const TURNS: usize = 8;
/// Rounds over all axes in one climb.
const ROUNDS: usize = 5;

/// The place between a cell of a numeric axis and the next cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Boundary {
    /// The index of the grid's axis.
    pub axis: usize,
    /// The cell below it.
    pub below: CellId,
}

/// Two inputs that differ in one feature and are decided differently, each with a lead above the
/// band.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    /// The inputs: below and above the boundary.
    pub rows: [Vec<f64>; 2],
    /// Their classes.
    pub classes: [ClassId; 2],
}

/// What is known about a boundary.
#[derive(Clone, Debug, PartialEq)]
pub enum Relevance {
    /// This pair of inputs shows that a decision depends on it.
    Relevant(Pair),
    /// No decision depends on it; proved.
    Irrelevant,
    /// No pair was found, and nothing is proved.
    Unknown,
}

/// The boundaries of a model, with what is known about each.
#[derive(Clone, Debug)]
pub struct Relevant {
    /// Sorted by axis, then by cell.
    pub boundaries: Vec<(Boundary, Relevance)>,
}

impl Relevant {
    /// How many boundaries are relevant.
    pub fn count(&self) -> usize {
        self.pairs().count()
    }

    /// How many boundaries there are.
    pub fn total(&self) -> usize {
        self.boundaries.len()
    }

    /// The relevant boundaries, each with its pair.
    pub fn pairs(&self) -> impl Iterator<Item = (Boundary, &Pair)> {
        self.boundaries.iter().filter_map(|(boundary, known)| match known {
            Relevance::Relevant(pair) => Some((*boundary, pair)),
            _ => None,
        })
    }
}

/// Every boundary between two cells of a numeric axis. The missing cell has no boundaries.
pub(crate) fn boundaries(grid: &Grid) -> impl Iterator<Item = Boundary> + '_ {
    grid.axes().iter().enumerate().flat_map(|(axis, cells)| {
        let count = cells.bounds().map_or(0, <[f64]>::len);
        (0..count).map(move |below| Boundary { axis, below: CellId::new(below) })
    })
}

/// The boundaries at which some split of the model on a numeric feature changes sides.
fn drawn_by(model: &Ensemble, grid: &Grid) -> BTreeSet<Boundary> {
    let mut drawn = BTreeSet::new();
    let of_numbers = |split: &Split<'_>| model.features().categories(split.feature).is_none();
    for split in model.trees().iter().flat_map(|tree| tree.splits()).filter(of_numbers) {
        let Some(axis) = grid.axis_of(split.feature) else { continue };
        let left = grid.axes()[axis].left_cells(model, split, grid.intake());
        drawn.extend(left.changes().iter().map(|&cell| Boundary { axis, below: CellId(cell - 1) }));
    }
    drawn
}

/// The pair of inputs on both sides of a boundary that agree with `cells` on all other axes, if
/// they are decided differently; checked exactly.
pub(crate) fn pair_at(
    model: &Ensemble,
    grid: &Grid,
    band: Option<f64>,
    boundary: Boundary,
    cells: &[CellId],
) -> Option<Pair> {
    let mut cells = cells.to_vec();
    let mut side = |cell: CellId| {
        cells[boundary.axis] = cell;
        if !grid.scores_hold(&cells) {
            return None;
        }
        let row = grid.witness(&cells);
        let read: Option<Vec<f64>> = row.iter().map(|&value| model.intake().read(value)).collect();
        let sums = model.exact_sums(model.leaves(&read?));
        Some((row, certain_winner(model, &sums, band)?))
    };
    let (below, first) = side(boundary.below)?;
    let (above, second) = side(CellId(boundary.below.0 + 1))?;
    (first != second).then_some(Pair { rows: [below, above], classes: [first, second] })
}

/// Looks for a pair at every boundary until the budget is spent. No boundary is called irrelevant.
pub fn relevant_boundaries(
    model: &Ensemble,
    grid: &Grid,
    band: Option<f64>,
    starts: &[&[f64]],
    rng: &mut Rng,
    budget: &SearchBudget,
) -> Relevant {
    let all: Vec<Boundary> = boundaries(grid).collect();
    let mut first_of_axis = vec![0; grid.axes().len()];
    for (index, boundary) in all.iter().enumerate().rev() {
        first_of_axis[boundary.axis] = index;
    }
    let mut hunt = Hunt {
        model,
        band,
        sums_band: band_of_sums(model, band),
        profiles: Profiles::new(model, grid),
        first_of_axis,
        nodes: model.trees().iter().map(|tree| tree.node_count() as u64).sum(),
        left: all.len(),
        found: vec![None; all.len()],
        line: Vec::new(),
        allowance: Allowance::for_thresholds(model, budget.deadline),
    };
    hunt.walk(starts, rng, budget);
    for _ in 0..TURNS {
        for (index, &boundary) in all.iter().enumerate() {
            if is_over(budget) || hunt.allowance.is_over() {
                break;
            }
            if hunt.found[index].is_none() {
                hunt.climb(index, boundary, rng, budget);
            }
        }
    }
    let known = |pair: Option<Pair>| pair.map_or(Relevance::Unknown, Relevance::Relevant);
    let mut boundaries: Vec<(Boundary, Relevance)> =
        all.into_iter().zip(hunt.found.into_iter().map(known)).collect();
    if !model.domain().wheres().is_empty() {
        // Models whose scores choose the inputs draw boundaries too; this model does not change
        // there.
        let own = drawn_by(model, grid);
        boundaries.retain(|(boundary, _)| own.contains(boundary));
    }
    Relevant { boundaries }
}

struct Hunt<'a> {
    model: &'a Ensemble,
    band: Option<f64>,
    sums_band: f64,
    profiles: Profiles<'a>,
    /// For each axis, the index of its first boundary.
    first_of_axis: Vec<usize>,
    /// The number of nodes of all trees.
    nodes: u64,
    /// How many boundaries have no pair.
    left: usize,
    found: Vec<Option<Pair>>,
    line: Vec<f64>,
    /// Work that may still be spent.
    allowance: Allowance,
}

impl Hunt<'_> {
    /// Walks near the decision boundary and keeps the pairs that its lines show.
    fn walk(&mut self, starts: &[&[f64]], rng: &mut Rng, budget: &SearchBudget) {
        let grid = self.profiles.grid();
        let mut order: Vec<usize> = (0..grid.axes().len()).collect();
        let mut starts = starts.iter().filter_map(|row| grid.cells_of(row));
        let mut idle = 0;
        while self.left > 0 && idle < IDLE_WALKS && !is_over(budget) && !self.allowance.is_over() {
            let before = self.left;
            let mut cells = starts.next().unwrap_or_else(|| self.profiles.random_cells(rng));
            let mut scores = self.profiles.scores(&cells);
            for _ in 0..2 {
                rng.shuffle(&mut order);
                for &axis in &order {
                    if is_over(budget) {
                        return;
                    }
                    self.look(&mut scores, &mut cells, axis);
                }
            }
            idle = if self.left < before { 0 } else { idle + 1 };
        }
    }

    /// Keeps the pairs of one line, and moves to the cell of that line with the smallest lead.
    fn look(&mut self, scores: &mut [f64], cells: &mut [CellId], axis: usize) {
        let mut line = std::mem::take(&mut self.line);
        let tops = tops_along(&self.profiles, scores, cells, axis, &mut line);
        self.keep(cells, axis, &tops);
        if let Some(nearest) = (0..tops.len()).min_by(|&a, &b| tops[a].1.total_cmp(&tops[b].1)) {
            step(&self.profiles, scores, cells, axis, nearest, &line);
        }
        self.line = line;
    }

    fn keep(&mut self, cells: &[CellId], axis: usize, tops: &[(usize, f64)]) {
        self.allowance.spend(self.profiles.work(axis));
        // Leads just at the band, and ties, are decided by the exact check.
        let count = self.profiles.grid().axes()[axis].bounds().map_or(0, <[f64]>::len);
        for below in 0..count {
            let (low, high) = (tops[below], tops[below + 1]);
            if low.0 == high.0 || low.1 < self.sums_band || high.1 < self.sums_band {
                continue;
            }
            self.try_pair(
                self.first_of_axis[axis] + below,
                Boundary { axis, below: CellId::new(below) },
                cells,
            );
        }
    }

    fn try_pair(&mut self, index: usize, boundary: Boundary, cells: &[CellId]) {
        if self.found[index].is_none() {
            // Exact sums on both sides cost about a hundred times as much as a step in floating
            // point.
            self.allowance.spend(200 * self.model.trees().len() as u64);
            self.found[index] = pair_at(self.model, self.profiles.grid(), self.band, boundary, cells);
            self.left -= usize::from(self.found[index].is_some());
        }
    }

    /// Climbs towards a pair for one boundary.
    fn climb(&mut self, index: usize, boundary: Boundary, rng: &mut Rng, budget: &SearchBudget) {
        for _ in 0..CLIMBS {
            // Finding a start visits the nodes of all trees that split the axis.
            self.allowance.spend(self.nodes / 2);
            let Some(mut cells) = self.start_at(boundary, rng) else { return };
            let width = self.profiles.width();
            cells[boundary.axis] = boundary.below;
            let low = self.profiles.scores(&cells);
            cells[boundary.axis] = CellId(boundary.below.0 + 1);
            let high = self.profiles.scores(&cells);
            let mut scores = [low, high];
            let mut height = self.height(&scores[0], &scores[1]);
            let mut order: Vec<usize> = (0..cells.len()).filter(|&axis| axis != boundary.axis).collect();
            let mut lines = [Vec::new(), Vec::new()];
            for _ in 0..ROUNDS {
                let before = height;
                rng.shuffle(&mut order);
                for &axis in &order {
                    if height > 0.0 {
                        break;
                    }
                    if is_over(budget) {
                        return;
                    }
                    let own = cells[axis].index();
                    for side in 0..2 {
                        cells[boundary.axis] = CellId(boundary.below.0 + side as u32);
                        let tops = tops_along(&self.profiles, &scores[side], &cells, axis, &mut lines[side]);
                        self.keep(&cells, axis, &tops);
                    }
                    let mut best = (height, own);
                    let mut here = [vec![0.0; width], vec![0.0; width]];
                    for cell in 0..self.profiles.axis_len(axis) {
                        for side in 0..2 {
                            for slot in 0..width {
                                here[side][slot] = scores[side][slot] + lines[side][cell * width + slot]
                                    - lines[side][own * width + slot];
                            }
                        }
                        let there = self.height(&here[0], &here[1]);
                        if there > best.0 {
                            best = (there, cell);
                        }
                    }
                    height = best.0;
                    for side in 0..2 {
                        cells[axis] = CellId::new(own);
                        step(&self.profiles, &mut scores[side], &mut cells, axis, best.1, &lines[side]);
                    }
                }
                if height > 0.0 || height <= before {
                    break;
                }
            }
            if height > 0.0 {
                self.try_pair(index, boundary, &cells);
            }
            if self.found[index].is_some() {
                return;
            }
        }
    }

    /// A random cell from which a node that draws the boundary is reached on both sides of it.
    fn start_at(&self, boundary: Boundary, rng: &mut Rng) -> Option<Vec<CellId>> {
        let above = CellId(boundary.below.0 + 1);
        let mut ways = self.profiles.ways_to(boundary.axis, above.0);
        ways.retain(|way| {
            way.iter().all(|passage| {
                passage.axis != boundary.axis || passage.admits(boundary.below) && passage.admits(above)
            })
        });
        let way = rng.choice(ways)?;
        let mut cells = self.profiles.random_cells(rng);
        let mut axes: Vec<usize> = way.iter().map(|passage| passage.axis).collect();
        axes.sort_unstable();
        axes.dedup();
        for axis in axes {
            let passages = way.iter().filter(|passage| passage.axis == axis);
            let admitted = admitted_by_all(passages, self.profiles.axis_len(axis));
            cells[axis] = *rng.choice(&admitted)?;
        }
        Some(cells)
    }

    /// Above zero if the two sides are decided differently, beyond the band. Otherwise the negative
    /// distance from that, in units of how much the scores change across the boundary.
    fn height(&self, low: &[f64], high: &[f64]) -> f64 {
        let change: f64 = low.iter().zip(high).map(|(a, b)| (a - b).abs()).sum();
        if change == 0.0 {
            return f64::NEG_INFINITY;
        }
        let least = if let ([low], [high]) = (low, high) {
            f64::max(low.min(-high), (-low).min(*high))
        } else {
            let (mine, other) = (best_two(low), best_two(high));
            let mut best = f64::NEG_INFINITY;
            for (a, lead_a) in mine {
                for (b, lead_b) in other {
                    if a != b {
                        best = best.max(lead_a.min(lead_b));
                    }
                }
            }
            best
        };
        (least - self.sums_band) / change
    }
}

/// The two classes with the highest scores, with their leads over the best other class (negative
/// for the second).
fn best_two(scores: &[f64]) -> [(usize, f64); 2] {
    let (mut first, mut second) = if scores[1] > scores[0] { (1, 0) } else { (0, 1) };
    for class in 2..scores.len() {
        if scores[class] > scores[first] {
            (first, second) = (class, first);
        } else if scores[class] > scores[second] {
            second = class;
        }
    }
    let lead = scores[first] - scores[second];
    [(first, lead), (second, -lead)]
}
