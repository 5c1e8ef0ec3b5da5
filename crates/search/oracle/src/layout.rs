//! The trees of one or two models over their common grid, grouped into pieces.
//!
//! A piece is one tree or several laid over each other: a partition of the cells into leaves, each
//! with one exact number for every sum of every model. Trees are laid over each other if that makes
//! bounds tighter at no cost:
//! - all trees that use only one feature, feature by feature (a sum of step functions is a step
//!   function);
//! - trees of the same structure, within a model and across models: what the two models have in
//!   common then cancels inside each leaf, before any maximum is taken. Structures are compared on
//!   the grid, where `<` and `<=`, float widths and leaf orders no longer matter;
//! - trees of two models at the same position that differ a little (by a rounded threshold, for
//!   example), as long as the overlay stays small.
//!
//! If the models' domain limits the scores of other models, each tree of those models is a piece of
//! its own: certificates do not name these trees, so nothing is laid over them.
//!
//! If every split treats missing values as it treats some other cell of the feature (XGBoost
//! trained without missing values sends them all to one side), the search leaves the missing cell
//! out.
//!
//! Numbers are integers: every sum's leaf values are multiples of `2^exponent`, so nothing is
//! rounded.

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::sync::Arc;

use num_bigint::BigInt;
use num_traits::Zero;
use secateur_model::{CellId, CellSet, Ensemble, Exact, Grid, GridError, LocalRounding, Where};
use thiserror::Error;

use crate::fault;
use crate::joint::{Branching, Joint};
use crate::masks::fill_masks;
use crate::stop::{SearchBudget, StopReason};
use crate::system::{Row, System};

mod cut;
mod layer;

use layer::{Layer, LayerRounding, stacks};

/// Which trees of two models may be laid over each other.
#[derive(Clone, Copy)]
struct Overlay {
    /// The result has at most this many times the leaves of the larger one.
    growth: usize,
    /// Pieces with at most this many leaves have a mask of leaves for each run of cells, one bit for
    /// each leaf of each run; larger pieces keep their tree.
    most_masked: usize,
    /// The second model is the first one's twin: trees at the same position are two readings of one
    /// tree, which differ in the axes that they read.
    twins: bool,
}

const OVERLAY: Overlay = Overlay { growth: 3, most_masked: 1024, twins: false };
/// The same where scores are compared. How a converted tree differs shows only in the overlay of the
/// two trees, and that has many small leaves if every threshold has moved a little.
const OVERLAY_OF_SCORES: Overlay = Overlay { growth: 64, most_masked: MOST_MASKED_OF_SCORES, twins: false };
/// The most leaves of a piece with masks where scores are compared.
pub(crate) const MOST_MASKED_OF_SCORES: usize = 4096;
/// If the pieces have more leaves than this in total, a box takes long: the clock is checked for
/// each box, and local search runs before boxes are visited.
const MANY_LEAVES: usize = 10_000;

/// Why models could not be laid out.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum LayoutError {
    /// They have no common grid.
    #[error(transparent)]
    Grid(#[from] GridError),
    /// The budget ended first.
    #[error("the budget ended before the models were laid out")]
    Stopped(StopReason),
}

/// One or two models over a common grid.
#[derive(Clone, Debug)]
pub struct Layout {
    grid: Arc<Grid>,
    pieces: Vec<Piece>,
    /// For each axis, the cells that count, if not all do ([`Layout::cut`]): the first and one past
    /// the last. Cells are counted from the first of them on.
    window: Option<Vec<(u32, u32)>>,
    /// For each axis, the cell that every split treats like missing values, if there is one.
    missing_as: Vec<Option<CellId>>,
    /// For each model, the position of its first sum; the last entry is the number of all sums.
    offsets: Vec<usize>,
    /// For each score that the domain limits, the position of its model's first sum.
    scorer_sums: Vec<usize>,
    /// The constant part of each sum.
    constants: Vec<BigInt>,
    /// All numbers are multiples of 2 to this power.
    exponent: i64,
}

/// The grid of a model with the cells that the search visits, without the trees over it.
#[derive(Clone, Debug)]
pub struct Cells {
    grid: Grid,
    sizes: Vec<u32>,
}

impl Cells {
    /// The cells of one model.
    pub fn of(model: &Ensemble) -> Self {
        let grid = Grid::new(&[model]).expect("one model has the columns that it has");
        let models = std::iter::once(model).chain(model.domain().scorers());
        let splits = models.flat_map(|model| {
            let splits = model.trees().iter().flat_map(|tree| tree.splits());
            splits.map(|split| {
                let axis = grid.axis_of(split.feature).expect("the grid has every split's feature");
                (axis, grid.axes()[axis].left_cells(model, split, grid.intake()))
            })
        });
        let sizes = searched_sizes(&grid, &equals_of_missing(&grid, splits));
        Self { grid, sizes }
    }

    /// The grid.
    pub fn grid(&self) -> &Grid {
        &self.grid
    }

    /// How many cells of each axis the search visits: the missing cell is left out if every split
    /// treats it like another cell.
    pub fn axis_sizes(&self) -> &[u32] {
        &self.sizes
    }
}

/// A partition of the cells with exact values.
#[derive(Clone, Debug)]
pub struct Piece {
    /// The trees that are laid over each other, of the first and of the second model, ascending;
    /// none for a tree of a model that only the domain names.
    pub(crate) trees: [Vec<u32>; 2],
    /// The number of leaves.
    pub(crate) leaf_count: usize,
    /// For each leaf, one number for each sum.
    pub(crate) values: Vec<BigInt>,
    /// The axes that the piece depends on, ascending.
    pub(crate) axes: Vec<PieceAxis>,
    /// The leaves as a tree, if there are too many of them for masks.
    pub(crate) tree: Option<Arc<Joint>>,
}

/// How a piece depends on one axis.
#[derive(Clone, Debug)]
pub(crate) struct PieceAxis {
    pub(crate) axis: usize,
    /// The first cell of each run (of cells that no leaf tells apart); the first run starts at 0.
    pub(crate) starts: Vec<u32>,
    /// For each run, the leaves that hold it, as bits in `words` words; empty if the piece has a
    /// tree.
    pub(crate) masks: Vec<u64>,
    pub(crate) words: usize,
}

impl Layout {
    /// Lays out one or two models with the same columns.
    pub fn new(models: &[&Ensemble]) -> Result<Self, GridError> {
        match Self::within(models, &SearchBudget::unlimited()) {
            Ok(layout) => Ok(layout),
            Err(LayoutError::Grid(error)) => Err(error),
            Err(LayoutError::Stopped(_)) => unreachable!("nothing ends a budget without limits"),
        }
    }

    /// The same, unless the budget ends first.
    pub fn within(models: &[&Ensemble], budget: &SearchBudget) -> Result<Self, LayoutError> {
        Self::build(models, None, budget, OVERLAY)
    }

    /// Two models whose scores are compared: trees at the same position are laid over each other
    /// even if that makes many leaves.
    pub(crate) fn of_scores(models: &[&Ensemble; 2], budget: &SearchBudget) -> Result<Self, LayoutError> {
        Self::build(models, None, budget, OVERLAY_OF_SCORES)
    }

    /// A model and its twin: each tree is laid over its own other reading.
    pub(crate) fn of_twins(models: &[&Ensemble; 2], budget: &SearchBudget) -> Result<Self, LayoutError> {
        Self::build(models, None, budget, Overlay { twins: true, ..OVERLAY_OF_SCORES })
    }

    /// The same with masks only for pieces of at most `leaves` leaves, to test both ways against
    /// each other.
    #[cfg(test)]
    pub(crate) fn masked_up_to(models: &[&Ensemble], leaves: usize) -> Self {
        let overlay = Overlay { most_masked: leaves, ..OVERLAY };
        Self::build(models, None, &SearchBudget::unlimited(), overlay).expect("the models have a common grid")
    }

    /// Two models, with an additional sum for each sum of the second: the part of its rounding
    /// bound that depends on the input, see [`Layout::rounding_of`].
    pub(crate) fn with_rounding(
        first: &Ensemble,
        second: &Ensemble,
        rounding: &LocalRounding,
        budget: &SearchBudget,
    ) -> Result<Self, LayoutError> {
        Self::build(&[first, second], Some(rounding), budget, OVERLAY)
    }

    fn build(
        models: &[&Ensemble],
        rounding: Option<&LocalRounding>,
        budget: &SearchBudget,
        overlay: Overlay,
    ) -> Result<Self, LayoutError> {
        let go_on = || budget.over().map_or(Ok(()), |reason| Err(LayoutError::Stopped(reason)));
        go_on()?;
        let grid = Grid::new(models)?;
        let mut offsets = vec![0];
        for model in models {
            offsets.push(offsets.last().expect("starts with one") + model.group_count());
        }
        let scorers: Vec<&Ensemble> = grid.domain().scorers().collect();
        let mut exponent = smallest_exponent(models.iter().chain(&scorers).copied());
        if let (Some(rounding), Some(second)) = (rounding, models.last()) {
            offsets.push(offsets.last().expect("starts with one") + second.group_count());
            exponent -= i64::from(rounding.factor_bits);
        }
        let mut scorer_sums = Vec::with_capacity(scorers.len());
        for scorer in &scorers {
            scorer_sums.push(*offsets.last().expect("starts with one"));
            offsets.push(offsets.last().expect("starts with one") + scorer.group_count());
        }
        let mut layers: Vec<Vec<Layer<'_>>> = Vec::new();
        for (own, (model, &offset)) in models.iter().zip(&offsets).enumerate() {
            let mut list = Vec::with_capacity(model.trees().len());
            for (index, tree) in model.trees().iter().enumerate() {
                go_on()?;
                let place = Some((own, index as u32));
                list.push(Layer { place, ..Layer::new(model, tree, &grid, offset, exponent) });
            }
            layers.push(list);
        }
        if let (Some(rounding), Some(second)) = (rounding, models.last()) {
            let layers = layers.last_mut().expect("one list of layers for each model");
            for (layer, steps) in layers.iter_mut().zip(&rounding.steps) {
                layer.rounding = Some(LayerRounding {
                    sum: layer.sum + second.group_count(),
                    factor: BigInt::from(steps * rounding.factor),
                    shift: rounding.factor_bits,
                });
            }
        }
        let mut of_scorers: Vec<Layer<'_>> = Vec::new();
        for (scorer, &first) in scorers.iter().zip(&scorer_sums) {
            for tree in scorer.trees() {
                go_on()?;
                of_scorers.push(Layer::new(scorer, tree, &grid, first, exponent));
            }
        }
        let all = layers.iter().flatten().chain(&of_scorers);
        let splits = all.flat_map(|layer| layer.splits.iter().flatten());
        let missing_as = equals_of_missing(&grid, splits.map(|(axis, set)| (*axis, set)));
        go_on()?;
        let sums = *offsets.last().expect("starts with one");
        let sizes = searched_sizes(&grid, &missing_as);
        let all = layers.iter_mut().flatten().chain(&mut of_scorers);
        all.for_each(|layer| layer.leave_out_undivided(&sizes));
        let mut maker = PieceMaker { sizes: &sizes, sums, overlay, budget, pieces: Vec::new() };
        for stack in stacks(&layers, overlay.twins) {
            maker.add(&stack).map_err(LayoutError::Stopped)?;
        }
        for layer in &of_scorers {
            maker.add(&[layer]).map_err(LayoutError::Stopped)?;
        }
        let pieces = maker.pieces;
        let mut constants = vec![BigInt::zero(); sums];
        let firsts = offsets[..models.len()].iter().chain(&scorer_sums);
        for (model, &first) in models.iter().chain(&scorers).zip(firsts) {
            for (slot, &value) in constants[first..].iter_mut().zip(model.intercepts()) {
                *slot = scaled(&Exact::finite(value), exponent);
            }
        }
        let grid = Arc::new(grid);
        Ok(Self { grid, pieces, window: None, missing_as, offsets, scorer_sums, constants, exponent })
    }

    /// The common grid.
    pub fn grid(&self) -> &Grid {
        &self.grid
    }

    /// The pieces.
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// The position of one model's sum among the sums of all models.
    pub fn sum_of(&self, model: usize, group: usize) -> usize {
        self.offsets[model] + group
    }

    /// The position of the sum that holds the rounding of one of the second model's sums, before
    /// averaging.
    pub(crate) fn rounding_of(&self, group: usize) -> usize {
        self.offsets[2] + group
    }

    /// The rows that every input of the domain satisfies: one for each score of another model that
    /// the domain limits, with room for rounding. A cell that satisfies them may still be outside
    /// of the domain ([`Grid::scores_hold`]).
    pub fn domain_rows(&self) -> Vec<Row> {
        let row = |(own, &first): (&Where, &usize)| {
            let bound = own.needed().expect("a grid is made for domains whose models are known").clone();
            Row { terms: vec![(first + own.output() as usize, own.sign())], bound, strict: false }
        };
        self.grid.domain().wheres().iter().zip(&self.scorer_sums).map(row).collect()
    }

    /// The system of one row on the inputs of the domain.
    pub(crate) fn system(&self, row: Row) -> System<'_> {
        let mut rows = self.domain_rows();
        rows.push(row);
        System::new(self, &rows)
    }

    pub(crate) fn sums(&self) -> usize {
        *self.offsets.last().expect("never empty")
    }

    pub(crate) fn constants(&self) -> &[BigInt] {
        &self.constants
    }

    pub(crate) fn exponent(&self) -> i64 {
        self.exponent
    }

    /// Does every piece depend on at most one axis?
    pub fn is_univariate(&self) -> bool {
        self.pieces.iter().all(|piece| piece.axes.len() <= 1)
    }

    /// The cells of an input row, as the search counts cells; `None` outside the domain.
    pub fn cells_of(&self, row: &[f64]) -> Option<Vec<CellId>> {
        let mut cells = self.grid.cells_of(row)?;
        for (cell, (axis, missing_as)) in cells.iter_mut().zip(self.grid.axes().iter().zip(&self.missing_as))
        {
            if let Some(other) = missing_as
                && axis.missing_cell() == Some(*cell)
            {
                *cell = *other;
            }
        }
        Some(cells)
    }

    /// Do the pieces have more than `MANY_LEAVES` leaves, so that visiting all of them takes long?
    pub(crate) fn is_large(&self) -> bool {
        self.pieces.iter().map(Piece::leaf_count).sum::<usize>() > MANY_LEAVES
    }

    /// How many cells of each axis the search visits.
    pub fn axis_sizes(&self) -> Vec<u32> {
        match &self.window {
            Some(window) => window.iter().map(|(low, high)| high - low).collect(),
            None => searched_sizes(&self.grid, &self.missing_as),
        }
    }
}

impl Piece {
    /// Does one leaf hold all cells of a box? In a piece with one axis each run counts as a leaf,
    /// as it does in certificates.
    pub(crate) fn is_settled(&self, ranges: &[(u32, u32)]) -> bool {
        let runs = |axis: &PieceAxis| {
            let (low, high) = ranges[axis.axis];
            axis.run_of(low)..=axis.run_of(high - 1)
        };
        if let [axis] = &self.axes[..] {
            return runs(axis).count() == 1;
        }
        // Without masks this is unknown; `false` makes the caller split further.
        if self.tree.is_some() {
            return self.axes.is_empty();
        }
        let words = self.leaf_count.div_ceil(64);
        let mut leaves = 0;
        for word in 0..words {
            let meeting = self
                .axes
                .iter()
                .map(|axis| runs(axis).fold(0, |any, run| any | axis.masks[run * words + word]));
            leaves += meeting.fold(u64::MAX, |all, mask| all & mask).count_ones();
        }
        self.axes.is_empty() || leaves == 1
    }

    /// The trees of the first and of the second model that are laid over each other in this piece,
    /// ascending.
    pub fn trees(&self) -> [&[u32]; 2] {
        self.trees.each_ref().map(Vec::as_slice)
    }

    /// The number of leaves.
    pub fn leaf_count(&self) -> usize {
        self.leaf_count
    }

    /// The leaf that holds these cells.
    pub(crate) fn leaf_of(&self, cells: &[CellId]) -> usize {
        if let Some(tree) = &self.tree {
            return match tree.part(tree.leaf_node(cells)) {
                Branching::Leaf(leaf) => leaf,
                Branching::Split { .. } => unreachable!("a walk ends at a leaf"),
            };
        }
        let words = self.leaf_count.div_ceil(64);
        for word in 0..words {
            let mut mask = u64::MAX;
            for axis in &self.axes {
                let run = axis.run_of(cells[axis.axis].0);
                mask &= axis.masks[run * words + word];
            }
            if self.leaf_count < (word + 1) * 64 {
                mask &= (1 << (self.leaf_count % 64)) - 1;
            }
            if mask != 0 {
                return word * 64 + mask.trailing_zeros() as usize;
            }
        }
        unreachable!("the leaves of a piece cover all cells")
    }
}

impl PieceAxis {
    /// The run that holds a cell.
    pub(crate) fn run_of(&self, cell: u32) -> usize {
        self.starts.partition_point(|&start| start <= cell) - 1
    }
}

fn searched_sizes(grid: &Grid, missing_as: &[Option<CellId>]) -> Vec<u32> {
    let without = |(axis, other): (&secateur_model::Axis, &Option<CellId>)| {
        axis.len() as u32 - u32::from(other.is_some())
    };
    grid.axes().iter().zip(missing_as).map(without).collect()
}

/// For each axis, the first cell that every split sends to the same side as missing values.
fn equals_of_missing<S: Borrow<CellSet>>(
    grid: &Grid,
    splits: impl Iterator<Item = (usize, S)>,
) -> Vec<Option<CellId>> {
    let missing: Vec<Option<CellId>> = grid.axes().iter().map(|axis| axis.missing_cell()).collect();
    if fault::ignores_missing() {
        return missing.iter().map(|cell| cell.filter(|cell| cell.0 > 0).map(|_| CellId(0))).collect();
    }
    // The cells that all splits so far treat like missing values, as ranges.
    let mut alike: Vec<Vec<(u32, u32)>> =
        missing.iter().map(|cell| cell.iter().map(|cell| (0, cell.0)).collect()).collect();
    let mut next = Vec::new();
    for (axis, set) in splits {
        let (Some(missing), set) = (missing[axis], set.borrow()) else { continue };
        next.clear();
        if set.contains(missing) {
            intersect(&alike[axis], set.ranges(), &mut next);
        } else {
            intersect(&alike[axis], set.other_ranges(), &mut next);
        }
        std::mem::swap(&mut alike[axis], &mut next);
    }
    let first = |ranges: Vec<(u32, u32)>| ranges.first().map(|range| CellId(range.0));
    alike.into_iter().map(first).collect()
}

/// The common cells of two ascending lists of ranges.
fn intersect(first: &[(u32, u32)], second: impl Iterator<Item = (u32, u32)>, common: &mut Vec<(u32, u32)>) {
    let mut at = 0;
    for (low, high) in second {
        while first.get(at).is_some_and(|range| range.1 <= low) {
            at += 1;
        }
        for range in first[at..].iter().take_while(|range| range.0 < high) {
            common.push((range.0.max(low), range.1.min(high)));
        }
    }
}

struct PieceMaker<'a> {
    /// How many cells of each axis the search visits.
    sizes: &'a [u32],
    sums: usize,
    overlay: Overlay,
    budget: &'a SearchBudget,
    pieces: Vec<Piece>,
}

impl PieceMaker<'_> {
    /// Adds the overlay of these trees, or each tree on its own if the overlay is too large.
    fn add(&mut self, stack: &[&Layer<'_>]) -> Result<(), StopReason> {
        let univariate = stack.iter().all(|layer| layer.axes.len() <= 1);
        let largest = stack.iter().map(|layer| layer.tree.leaf_count()).max().unwrap_or(1);
        let limit = if univariate || stack.len() == 1 { usize::MAX } else { largest * self.overlay.growth };
        match Joint::new(stack, self.sizes, self.sums, limit, self.budget)? {
            Some((tree, values)) => {
                let piece = self.piece(stack, tree, values);
                self.pieces.push(piece);
                Ok(())
            }
            None => stack.iter().try_for_each(|layer| self.add(&[layer])),
        }
    }

    fn piece(&self, stack: &[&Layer<'_>], tree: Joint, values: Vec<BigInt>) -> Piece {
        // For each axis, the first cells of its runs. A new run starts where some split changes its
        // side.
        let mut starts: BTreeMap<usize, Vec<u32>> = BTreeMap::new();
        for (axis, set) in stack.iter().flat_map(|layer| layer.splits.iter().flatten()) {
            let size = self.sizes[*axis];
            let changes = set.changes().iter().copied().filter(|&cell| cell < size);
            starts.entry(*axis).or_insert_with(|| vec![0]).extend(changes);
        }
        for starts in starts.values_mut() {
            starts.sort_unstable();
            starts.dedup();
        }
        starts.retain(|_, starts| starts.len() > 1);
        let leaf_count = tree.leaf_count();
        let words = leaf_count.div_ceil(64);
        let axis = |(axis, starts)| PieceAxis { axis, starts, masks: Vec::new(), words };
        let mut axes: Vec<PieceAxis> = starts.into_iter().map(axis).collect();
        let tree = if leaf_count > self.overlay.most_masked {
            Some(Arc::new(tree))
        } else {
            axes.iter_mut().for_each(|axis| axis.masks = vec![u64::MAX; axis.starts.len() * words]);
            fill_masks(&mut axes, &tree);
            None
        };
        let mut trees = [Vec::new(), Vec::new()];
        for (model, tree) in stack.iter().filter_map(|layer| layer.place) {
            trees[model].push(tree);
        }
        trees.iter_mut().for_each(|list| list.sort_unstable());
        Piece { trees, axes, leaf_count, values, tree }
    }
}

fn scaled(value: &Exact, exponent: i64) -> BigInt {
    value.scaled(exponent).expect("the exponent is the smallest of all")
}

/// An exponent, at most 0, such that all products of weight and leaf, and all intercepts, are
/// multiples of 2 to its power.
fn smallest_exponent<'a>(models: impl Iterator<Item = &'a Ensemble>) -> i64 {
    let mut smallest = 0;
    let mut see = |value: &Exact| {
        if !value.is_zero() {
            smallest = smallest.min(value.exponent());
        }
    };
    for model in models {
        model.intercepts().iter().for_each(|&value| see(&Exact::finite(value)));
        for tree in model.trees() {
            let weight = Exact::finite(tree.weight());
            tree.leaf_values().iter().for_each(|&value| see(&(&weight * &Exact::finite(value))));
        }
    }
    smallest
}
