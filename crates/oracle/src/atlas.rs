//! The trees of one or two models over their common grid, cut into pieces.
//!
//! A piece is one tree or several laid over each other: a partition of the cells into leaves, each with
//! one exact number for every sum of every model. Trees are laid over each other where that makes bounds
//! tighter at no cost:
//! - all trees that look at one feature only, feature by feature (a sum of steps is a step function);
//! - trees of the same structure, within a model and across models: what the two models have in common
//!   then cancels inside each leaf, before any maximum is taken. Structures are compared after the grid
//!   has made `<` and `<=`, float widths and leaf orders irrelevant;
//! - trees of two models that stand at the same place and differ a little (a rounded threshold), as long
//!   as the overlay stays small.
//!
//! Where every split treats missing values as it treats some other cell of the feature (XGBoost trained
//! without missing values sends them all to one side), the search leaves the missing cell out.
//!
//! Numbers are integers: every sum's leaf values are multiples of `2^exponent`, so nothing is rounded.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use num_bigint::BigInt;
use num_traits::{Signed, Zero};
use secateur_model::{
    CellId, CellSet, Ensemble, Exact, Grid, GridError, LeafId, LocalRounding, Node, NodeId, Output, Tree,
};

use crate::fault;

/// Trees of a model pair may be laid over each other when the result has at most this many times the
/// leaves of the larger one.
const OVERLAY_GROWTH: usize = 3;

/// One or two models over a common grid.
#[derive(Clone, Debug)]
pub struct Atlas {
    grid: Grid,
    pieces: Vec<Piece>,
    /// For each axis the cell that missing values share the fate of.
    missing_as: Vec<Option<CellId>>,
    /// For each model the position of its first sum; then the number of all sums.
    offsets: Vec<usize>,
    /// The constant part of each sum.
    constants: Vec<BigInt>,
    /// All numbers are multiples of two to this power.
    exponent: i64,
}

/// A partition of the cells with exact values.
#[derive(Clone, Debug)]
pub struct Piece {
    /// The trees that are laid over each other, of the first and of the second model, ascending.
    pub(crate) trees: [Vec<u32>; 2],
    /// How many leaves.
    pub(crate) leaf_count: usize,
    /// For each leaf one number for each sum.
    pub(crate) values: Vec<BigInt>,
    /// The axes that matter, ascending.
    pub(crate) axes: Vec<PieceAxis>,
}

/// How one axis matters to a piece.
#[derive(Clone, Debug)]
pub(crate) struct PieceAxis {
    pub(crate) axis: usize,
    /// First cell of each run of cells that no leaf tells apart; the first is 0.
    pub(crate) starts: Vec<u32>,
    /// For each run the leaves that hold it, as bits, `words` for each run.
    pub(crate) masks: Vec<u64>,
    pub(crate) words: usize,
}

impl Atlas {
    /// Lays out one or two models with the same columns.
    pub fn new(models: &[&Ensemble]) -> Result<Self, GridError> {
        Self::build(models, None)
    }

    /// Two models, with a sum more for each group of the second: the part of its rounding bound that
    /// depends on the input, see [`Atlas::rounding_of`].
    pub(crate) fn with_rounding(
        first: &Ensemble,
        second: &Ensemble,
        rounding: &LocalRounding,
    ) -> Result<Self, GridError> {
        Self::build(&[first, second], Some(rounding))
    }

    fn build(models: &[&Ensemble], rounding: Option<&LocalRounding>) -> Result<Self, GridError> {
        let grid = Grid::new(models)?;
        let mut offsets = vec![0];
        for model in models {
            offsets.push(offsets.last().expect("starts with one") + model.group_count());
        }
        let mut exponent = smallest_exponent(models);
        if let (Some(rounding), Some(second)) = (rounding, models.last()) {
            offsets.push(offsets.last().expect("starts with one") + second.group_count());
            exponent -= i64::from(rounding.factor_bits);
        }
        let mut layers: Vec<Vec<Layer<'_>>> = models
            .iter()
            .zip(&offsets)
            .enumerate()
            .map(|(own, (model, &offset))| {
                let layer = |(index, tree): (usize, _)| Layer {
                    place: (own, index as u32),
                    ..Layer::new(model, tree, &grid, offset, exponent)
                };
                model.trees().iter().enumerate().map(layer).collect()
            })
            .collect();
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
        let missing_as: Vec<Option<CellId>> =
            (0..grid.axes().len()).map(|axis| equal_of_missing(&grid, &layers, axis)).collect();
        let sums = *offsets.last().expect("starts with one");
        let sizes = searched_sizes(&grid, &missing_as);
        let mut maker = PieceMaker { sizes: &sizes, sums, pieces: Vec::new() };
        for stack in stacks(&layers) {
            maker.add(&stack);
        }
        let pieces = maker.pieces;
        let mut constants: Vec<BigInt> = models
            .iter()
            .flat_map(|model| model.intercepts())
            .map(|&value| scaled(&exact(value), exponent))
            .collect();
        constants.resize(sums, BigInt::zero());
        Ok(Self { grid, pieces, missing_as, offsets, constants, exponent })
    }

    /// The common grid.
    pub fn grid(&self) -> &Grid {
        &self.grid
    }

    /// The pieces.
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// The position of a model's sum among all sums.
    pub fn sum_of(&self, model: usize, group: usize) -> usize {
        self.offsets[model] + group
    }

    /// The position of the sum that holds the rounding of the second model's group, before averaging.
    pub(crate) fn rounding_of(&self, group: usize) -> usize {
        self.offsets[2] + group
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

    /// Does every piece look at one axis at most?
    pub fn is_univariate(&self) -> bool {
        self.pieces.iter().all(|piece| piece.axes.len() <= 1)
    }

    /// The cells of an input row as the search counts them, `None` outside the domain.
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

    /// How many cells of each axis the search looks at.
    pub fn axis_sizes(&self) -> Vec<u32> {
        searched_sizes(&self.grid, &self.missing_as)
    }
}

impl Piece {
    /// The trees of the first and of the second model that are laid over each other here, ascending.
    pub fn trees(&self) -> [&[u32]; 2] {
        self.trees.each_ref().map(Vec::as_slice)
    }

    /// The number of leaves.
    pub fn leaf_count(&self) -> usize {
        self.leaf_count
    }

    /// The leaf that holds these cells.
    pub(crate) fn leaf_of(&self, cells: &[CellId]) -> usize {
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

/// The cell of an axis that every split sends where it sends missing values.
fn equal_of_missing(grid: &Grid, layers: &[Vec<Layer<'_>>], axis: usize) -> Option<CellId> {
    let missing = grid.axes()[axis].missing_cell()?;
    let sets: Vec<&CellSet> = layers
        .iter()
        .flatten()
        .flat_map(|layer| layer.splits.iter().flatten())
        .filter(|(own, _)| *own == axis)
        .map(|(_, set)| set)
        .collect();
    if fault::ignores_missing() {
        return (missing.0 > 0).then_some(CellId(0));
    }
    (0..missing.0)
        .map(CellId)
        .find(|&cell| sets.iter().all(|set| set.contains(cell) == set.contains(missing)))
}

/// A tree of a model, its splits turned into cell sets.
struct Layer<'a> {
    tree: &'a Tree,
    /// Its model and its position there.
    place: (usize, u32),
    /// Its first sum.
    sum: usize,
    /// For each leaf what it adds to its sums, weight included.
    values: Vec<BigInt>,
    /// For each node that is a split: axis and the cells that go left.
    splits: Vec<Option<(usize, CellSet)>>,
    /// The axes of its splits, ascending.
    axes: Vec<usize>,
    rounding: Option<LayerRounding>,
}

/// What a tree adds to the bound on its model's rounding: its magnitude, times `factor / 2^shift`.
struct LayerRounding {
    sum: usize,
    factor: BigInt,
    shift: u32,
}

impl<'a> Layer<'a> {
    fn new(model: &Ensemble, tree: &'a Tree, grid: &Grid, offset: usize, exponent: i64) -> Self {
        let splits: Vec<Option<(usize, CellSet)>> = tree
            .nodes()
            .map(|(_, node)| match node {
                Node::Split { split, .. } => {
                    let axis = grid.axis_of(split.feature).expect("the grid has every split's feature");
                    Some((axis, grid.axes()[axis].left_cells(model, split, grid.domain())))
                }
                _ => None,
            })
            .collect();
        let mut axes: Vec<usize> = splits.iter().flatten().map(|(axis, _)| *axis).collect();
        axes.sort_unstable();
        axes.dedup();
        let sum = match tree.output() {
            Output::Group(group) => offset + group.index(),
            Output::All => offset,
        };
        let weight = exact(tree.weight());
        let values = tree.leaf_values().iter().map(|&value| scaled(&(&weight * &exact(value)), exponent));
        Self { tree, place: (0, 0), sum, values: values.collect(), splits, axes, rounding: None }
    }

    fn leaf(&self, leaf: LeafId) -> &[BigInt] {
        let width = self.values.len() / self.tree.leaf_count();
        &self.values[leaf.index() * width..][..width]
    }

    /// Equal for trees that partition the cells by the same splits, whatever their leaves hold.
    fn structure(&self) -> Structure<'_> {
        let mut splits: Structure<'_> =
            self.splits.iter().flatten().map(|(axis, set)| (*axis, set)).collect();
        splits.sort_by(|a, b| a.0.cmp(&b.0).then_with(|| a.1.iter().cmp(b.1.iter())));
        splits
    }
}

/// The splits of a tree, sorted.
type Structure<'a> = Vec<(usize, &'a CellSet)>;

/// Which trees are laid over each other.
fn stacks<'a, 'b>(layers: &'b [Vec<Layer<'a>>]) -> Vec<Vec<&'b Layer<'a>>> {
    let mut univariate: BTreeMap<Option<usize>, Vec<&Layer<'_>>> = BTreeMap::new();
    let mut rest: Vec<(Structure<'_>, Vec<&Layer<'_>>)> = Vec::new();
    let mut by_structure: HashMap<Structure<'_>, usize> = HashMap::new();
    // The stacks of the first model's trees by position, for partners that are nearly the same.
    let mut stack_of: Vec<BTreeMap<usize, usize>> = Vec::new();
    for model in layers {
        let mut own = BTreeMap::new();
        for (position, layer) in model.iter().enumerate() {
            if layer.axes.len() <= 1 {
                univariate.entry(layer.axes.first().copied()).or_default().push(layer);
                continue;
            }
            let structure = layer.structure();
            let index = *by_structure.entry(structure.clone()).or_insert_with(|| {
                rest.push((structure, Vec::new()));
                rest.len() - 1
            });
            rest[index].1.push(layer);
            own.insert(position, index);
        }
        stack_of.push(own);
    }
    // A tree of the second model without an equal in the first joins the one at its place, where that has
    // no equal either and the two share most of their splits.
    let mut merged = vec![false; rest.len()];
    let mut joins = Vec::new();
    if let [first, second] = &stack_of[..] {
        let taken: BTreeSet<usize> = second.values().copied().collect();
        let firsts: BTreeSet<usize> = first.values().copied().collect();
        for (position, &index) in second {
            let Some(&partner) = first.get(position) else { continue };
            if firsts.contains(&index) || taken.contains(&partner) || merged[index] || merged[partner] {
                continue;
            }
            if nearly_equal(&rest[index].0, &rest[partner].0) {
                merged[index] = true;
                merged[partner] = true;
                joins.push((partner, index));
            }
        }
    }
    let mut stacks: Vec<Vec<&Layer<'_>>> = univariate.into_values().collect();
    for (partner, index) in joins {
        stacks.push(rest[partner].1.iter().chain(&rest[index].1).copied().collect());
    }
    stacks.extend(rest.into_iter().zip(merged).filter(|(_, merged)| !merged).map(|((_, stack), _)| stack));
    stacks
}

/// Do two trees look at the same axes equally often? Then their overlay is worth trying.
fn nearly_equal(a: &[(usize, &CellSet)], b: &[(usize, &CellSet)]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.0 == b.0)
}

struct PieceMaker<'a> {
    /// How many cells of each axis count.
    sizes: &'a [u32],
    sums: usize,
    pieces: Vec<Piece>,
}

/// A leaf of an overlay: the cells of each axis that it holds, `None` for all.
struct OverlayLeaf {
    cells: BTreeMap<usize, Vec<bool>>,
    values: Vec<BigInt>,
}

impl PieceMaker<'_> {
    /// Adds the overlay of these trees, or each on its own where the overlay is too large.
    fn add(&mut self, stack: &[&Layer<'_>]) {
        let univariate = stack.iter().all(|layer| layer.axes.len() <= 1);
        let largest = stack.iter().map(|layer| layer.tree.leaf_count()).max().unwrap_or(1);
        let limit = if univariate || stack.len() == 1 { usize::MAX } else { largest * OVERLAY_GROWTH };
        match self.overlay(stack, limit) {
            Some(leaves) => {
                let piece = self.piece(stack, leaves);
                self.pieces.push(piece);
            }
            None => stack.iter().for_each(|layer| self.add(&[layer])),
        }
    }

    /// All leaves of the overlay, or `None` beyond `limit`.
    fn overlay(&self, stack: &[&Layer<'_>], limit: usize) -> Option<Vec<OverlayLeaf>> {
        struct Open {
            depth: usize,
            node: NodeId,
            leaf: OverlayLeaf,
        }
        let root = OverlayLeaf { cells: BTreeMap::new(), values: vec![BigInt::zero(); self.sums] };
        let mut open = vec![Open { depth: 0, node: NodeId(0), leaf: root }];
        let mut leaves = Vec::new();
        while let Some(Open { depth, node, mut leaf }) = open.pop() {
            let layer = stack[depth];
            match layer.tree.node(node) {
                Node::Leaf(id) => {
                    for (slot, value) in leaf.values[layer.sum..].iter_mut().zip(layer.leaf(id)) {
                        *slot += value;
                    }
                    if let Some(rounding) = &layer.rounding {
                        for (slot, value) in leaf.values[rounding.sum..].iter_mut().zip(layer.leaf(id)) {
                            // The scale is fine enough for the shift to cut off nothing.
                            *slot += (value.abs() * &rounding.factor) >> rounding.shift;
                        }
                    }
                    if depth + 1 < stack.len() {
                        open.push(Open { depth: depth + 1, node: NodeId(0), leaf });
                    } else {
                        leaves.push(leaf);
                        if leaves.len() > limit {
                            return None;
                        }
                    }
                }
                Node::Split { left, right, .. } => {
                    let (axis, set) = layer.splits[node.index()].as_ref().expect("a split has its cells");
                    let size = self.sizes[*axis] as usize;
                    let all = vec![true; size];
                    let cells = leaf.cells.get(axis).unwrap_or(&all);
                    let side = |want: bool| -> Vec<bool> {
                        (0..size).map(|cell| cells[cell] && set.contains(CellId::new(cell)) == want).collect()
                    };
                    let (yes, no) = (side(true), side(false));
                    let any = |side: &[bool]| side.contains(&true);
                    match (any(&yes), any(&no)) {
                        (true, false) => open.push(Open { depth, node: left, leaf }),
                        (false, _) => open.push(Open { depth, node: right, leaf }),
                        (true, true) => {
                            let mut other =
                                OverlayLeaf { cells: leaf.cells.clone(), values: leaf.values.clone() };
                            leaf.cells.insert(*axis, yes);
                            other.cells.insert(*axis, no);
                            open.push(Open { depth, node: right, leaf: other });
                            open.push(Open { depth, node: left, leaf });
                        }
                    }
                }
                Node::Unused => unreachable!("the builder lets no path reach an unused slot"),
            }
        }
        Some(leaves)
    }

    fn piece(&self, stack: &[&Layer<'_>], leaves: Vec<OverlayLeaf>) -> Piece {
        let words = leaves.len().div_ceil(64);
        let mut used: Vec<usize> = stack.iter().flat_map(|layer| layer.axes.iter().copied()).collect();
        used.sort_unstable();
        used.dedup();
        let axes = used.into_iter().filter_map(|axis| {
            let size = self.sizes[axis] as usize;
            // A run ends where some split's side changes.
            let mut starts = vec![0u32];
            for (_, set) in
                stack.iter().flat_map(|layer| layer.splits.iter().flatten()).filter(|(a, _)| *a == axis)
            {
                let changes =
                    |&cell: &usize| set.contains(CellId::new(cell)) != set.contains(CellId::new(cell - 1));
                starts.extend((1..size).filter(changes).map(|cell| cell as u32));
            }
            starts.sort_unstable();
            starts.dedup();
            let mut masks = vec![0u64; starts.len() * words];
            for (run, &start) in starts.iter().enumerate() {
                for (index, leaf) in leaves.iter().enumerate() {
                    if leaf.cells.get(&axis).is_none_or(|cells| cells[start as usize]) {
                        masks[run * words + index / 64] |= 1 << (index % 64);
                    }
                }
            }
            (starts.len() > 1).then_some(PieceAxis { axis, starts, masks, words })
        });
        let mut trees = [Vec::new(), Vec::new()];
        for layer in stack {
            trees[layer.place.0].push(layer.place.1);
        }
        trees.iter_mut().for_each(|list| list.sort_unstable());
        Piece {
            trees,
            axes: axes.collect(),
            leaf_count: leaves.len(),
            values: leaves.into_iter().flat_map(|leaf| leaf.values).collect(),
        }
    }
}

fn exact(value: f64) -> Exact {
    Exact::from_f64(value).expect("the builder admits finite values only")
}

fn scaled(value: &Exact, exponent: i64) -> BigInt {
    value.scaled(exponent).expect("the exponent is the smallest of all")
}

/// The smallest power of two that all products of weight and leaf, and all intercepts, are multiples of.
fn smallest_exponent(models: &[&Ensemble]) -> i64 {
    let mut smallest = 0;
    let mut see = |value: &Exact| {
        if !value.is_zero() {
            smallest = smallest.min(value.exponent());
        }
    };
    for model in models {
        model.intercepts().iter().for_each(|&value| see(&exact(value)));
        for tree in model.trees() {
            let weight = exact(tree.weight());
            tree.leaf_values().iter().for_each(|&value| see(&(&weight * &exact(value))));
        }
    }
    smallest
}
