//! The trees of both models over their common grid, laid over each other as the certificate's stacks say.
//!
//! A piece is a partition of all cells into joint leaves: non-empty intersections of one leaf of each tree
//! of its stack, with the exact sums of what those leaves add. Any partition of the trees into stacks is
//! sound: the sum over all pieces is the sum over all trees. What trees have in common cancels inside a joint
//! leaf; that is how folds, merged trees and equal structures are proved, without any rule of their own.
//!
//! Missing values: where some other cell of the axis is sent by every split of both models to the side that
//! missing values go to, any input with a missing value reaches the same leaves as one in that cell. The
//! missing cell, always the last, is then left out.

use std::collections::BTreeMap;

use num_bigint::BigInt;
use num_traits::{Signed, Zero};
use secateur_model::{CellId, CellSet, Ensemble, Exact, Grid, LeafId, Node, NodeId, Output, Tree};

use crate::pair::Pair;
use crate::reason::{ModelRole, Reason};
use crate::verdict::Limits;

/// Both models over their grid.
pub(crate) struct Layout<'a> {
    models: [&'a Ensemble; 2],
    pub(crate) grid: Grid,
    /// The number of cells of each axis that are looked at; a missing cell that behaves as another one is not.
    pub(crate) sizes: Vec<u32>,
    pub(crate) pieces: Vec<Piece>,
    /// For each axis the pieces that look at it.
    pub(crate) touches: Vec<Vec<Touch>>,
    /// All numbers are multiples of two to this power.
    pub(crate) exponent: i64,
    /// The constant part of each sum.
    pub(crate) constants: Vec<BigInt>,
    /// For each tree of each model: is it in a piece?
    placed: [Vec<bool>; 2],
    /// The number of 64-bit words in the state of a box.
    pub(crate) words: usize,
    rounding: Option<Rounding>,
    bytes: usize,
    limits: Limits,
}

/// What the pruned model's trees add to the bound on its rounding.
struct Rounding {
    steps: Vec<u64>,
    factor: u64,
    bits: u32,
}

/// A stack of trees.
pub(crate) struct Piece {
    pub(crate) leaves: usize,
    /// For each joint leaf one number for each sum.
    pub(crate) values: Vec<BigInt>,
    /// The position of its first word in the state of a box.
    pub(crate) place: usize,
    /// The number of 64-bit words of a leaf mask. It is 0 for a table: a piece of one axis at most, with a joint
    /// leaf for each run, whose state in a box is a range of runs.
    pub(crate) mask_words: usize,
}

/// How an axis matters to a piece.
pub(crate) struct Touch {
    pub(crate) piece: usize,
    /// The first cell of each run of cells that no split of the stack tells apart; the first is 0.
    pub(crate) starts: Vec<u32>,
    /// For each run the joint leaves that hold it; empty for tables.
    pub(crate) masks: Vec<u64>,
}

impl Touch {
    /// The runs that cells `low..high` lie in.
    pub(crate) fn runs(&self, low: u32, high: u32) -> (usize, usize) {
        let from = self.starts.partition_point(|&start| start <= low) - 1;
        let to = self.starts.partition_point(|&start| start < high);
        (from, to)
    }

    /// Word number `word` of the mask of leaves that meet the runs `from..to`, where a mask has `mask_words` words.
    pub(crate) fn leaves_of_runs(&self, from: usize, to: usize, word: usize, mask_words: usize) -> u64 {
        let masks = &self.masks[from * mask_words..to * mask_words];
        masks[word..].iter().step_by(mask_words).fold(0, |all, mask| all | mask)
    }
}

impl<'a> Layout<'a> {
    pub(crate) fn new(pair: &Pair<'a>, limits: Limits) -> Result<Self, Reason> {
        let models = [pair.original, pair.pruned];
        let grid = Grid::new(&models).map_err(|_| Reason::ClaimFeatures {
            original: pair.original.features().len(),
            pruned: pair.pruned.features().len(),
        })?;
        let sizes = searched_sizes(&grid, models);
        let rounding = pair.local.as_ref().map(|local| Rounding {
            steps: local.steps.clone(),
            factor: local.factor,
            bits: local.factor_bits,
        });
        let exponent = smallest_exponent(models) - rounding.as_ref().map_or(0, |own| i64::from(own.bits));
        let mut constants: Vec<BigInt> = models
            .iter()
            .flat_map(|model| model.intercepts())
            .map(|&value| integer(&finite(value), exponent))
            .collect();
        constants.resize(constants.len() + models[1].group_count(), BigInt::zero());
        let touches = grid.axes().iter().map(|_| Vec::new()).collect();
        let placed = models.map(|model| vec![false; model.trees().len()]);
        Ok(Self {
            models,
            grid,
            sizes,
            pieces: Vec::new(),
            touches,
            exponent,
            constants,
            placed,
            words: 0,
            rounding,
            bytes: 0,
            limits,
        })
    }

    /// The sums: those of the original, of the pruned model, and of the pruned model's rounding.
    pub(crate) fn sums(&self) -> usize {
        self.constants.len()
    }

    /// The position of a sum of the original (0) or of the pruned model (1), or of its rounding (2).
    pub(crate) fn sum_of(&self, which: usize, group: usize) -> usize {
        let (first, second) = (self.models[0].group_count(), self.models[1].group_count());
        [0, first, first + second][which] + group
    }

    /// Lays these trees over each other.
    pub(crate) fn stack(&mut self, trees: [&[u32]; 2]) -> Result<(), Reason> {
        if trees.iter().all(|list| list.is_empty()) {
            return Err(Reason::StackEmpty);
        }
        let mut layers = Vec::new();
        for (model, list) in trees.into_iter().enumerate() {
            for &tree in list {
                let trees = self.placed[model].len();
                let role = ModelRole::of(model);
                let Some(placed) = self.placed[model].get_mut(tree as usize) else {
                    return Err(Reason::StackTree { model: role, tree, trees });
                };
                if std::mem::replace(placed, true) {
                    return Err(Reason::StackTwice { model: role, tree });
                }
                layers.push(self.layer(model, tree as usize));
            }
        }
        self.add(&layers)
    }

    /// Trees that no stack named are pieces of their own.
    pub(crate) fn place_the_rest(&mut self) -> Result<(), Reason> {
        for model in 0..2 {
            for tree in 0..self.placed[model].len() {
                if !std::mem::replace(&mut self.placed[model][tree], true) {
                    let layer = self.layer(model, tree);
                    self.add(&[layer])?;
                }
            }
        }
        Ok(())
    }

    fn layer(&self, model: usize, index: usize) -> Layer<'a> {
        let ensemble = self.models[model];
        let tree = &ensemble.trees()[index];
        let side = |node| match node {
            Node::Split { split, .. } => {
                let axis = self.grid.axis_of(split.feature).expect("the grid has every split's feature");
                Some((axis, self.grid.axes()[axis].left_cells(ensemble, split, self.grid.domain())))
            }
            _ => None,
        };
        let weight = finite(tree.weight());
        let value = |&leaf: &f64| integer(&(&weight * &finite(leaf)), self.exponent);
        let group = match tree.output() {
            Output::Group(group) => group.index(),
            Output::All => 0,
        };
        let rounding = self.rounding.as_ref().filter(|_| model == 1);
        Layer {
            tree,
            sides: tree.nodes().map(|(_, node)| side(node)).collect(),
            values: tree.leaf_values().iter().map(value).collect(),
            sum: self.sum_of(model, group),
            rounding: rounding
                .map(|own| (self.sum_of(2, group), BigInt::from(own.steps[index]) * own.factor, own.bits)),
        }
    }

    fn add(&mut self, layers: &[Layer<'_>]) -> Result<(), Reason> {
        // For each axis the first cells of its runs: a run ends where some split changes its side.
        let mut starts: BTreeMap<usize, Vec<u32>> = BTreeMap::new();
        for (axis, cells) in layers.iter().flat_map(|layer| layer.sides.iter().flatten()) {
            let changes = |cell: &u32| cells.contains(CellId(*cell)) != cells.contains(CellId(cell - 1));
            starts.entry(*axis).or_insert_with(|| vec![0]).extend((1..self.sizes[*axis]).filter(changes));
        }
        for runs in starts.values_mut() {
            runs.sort_unstable();
            runs.dedup();
        }
        starts.retain(|_, runs| runs.len() > 1);
        let table = starts.len() <= 1;
        let limit = if layers.len() > 1 && !table { self.limits.overlay_leaves } else { usize::MAX };
        let runs: usize = starts.values().map(Vec::len).sum();
        let mut overlay = Overlay { layers, starts: &starts, sums: self.sums(), limit, leaves: Vec::new() };
        let words_of = |leaves: usize| if table { 0 } else { leaves.div_ceil(64) };
        if table {
            overlay.by_run()
        } else {
            overlay.by_leaf()?
        }
        let leaves = overlay.leaves;
        let mask_words = words_of(leaves.len());
        self.bytes += runs * mask_words * 8 + leaves.len() * (self.sums() + 1) * 40;
        if self.bytes > self.limits.overlay_bytes {
            let limit = self.limits.overlay_bytes;
            return Err(Reason::LimitOverlay { what: "bytes for masks and values", limit });
        }
        let piece = self.pieces.len();
        for (&axis, runs) in &starts {
            let mut masks = vec![0u64; runs.len() * mask_words];
            if !table {
                for (index, leaf) in leaves.iter().enumerate() {
                    for run in 0..runs.len() {
                        if leaf.runs.get(&axis).is_none_or(|own| own[run]) {
                            masks[run * mask_words + index / 64] |= 1 << (index % 64);
                        }
                    }
                }
            }
            self.touches[axis].push(Touch { piece, starts: runs.clone(), masks });
        }
        self.pieces.push(Piece {
            leaves: leaves.len(),
            values: leaves.into_iter().flat_map(|leaf| leaf.values).collect(),
            place: self.words,
            mask_words,
        });
        self.words += mask_words.max(1);
        Ok(())
    }
}

/// A tree with its splits as sets of cells and its leaves as integers.
struct Layer<'a> {
    tree: &'a Tree,
    /// For each node that is a split: the axis and the cells that go left.
    sides: Vec<Option<(usize, CellSet)>>,
    values: Vec<BigInt>,
    /// Its first sum.
    sum: usize,
    /// The first sum of its rounding, factor and shift.
    rounding: Option<(usize, BigInt, u32)>,
}

impl Layer<'_> {
    fn add_leaf(&self, leaf: LeafId, sums: &mut [BigInt]) {
        let width = self.values.len() / self.tree.leaf_count();
        let values = &self.values[leaf.index() * width..][..width];
        for (sum, value) in sums[self.sum..].iter_mut().zip(values) {
            *sum += value;
        }
        if let Some((first, factor, bits)) = &self.rounding {
            for (sum, value) in sums[*first..].iter_mut().zip(values) {
                // The exponent leaves room for the shift: nothing is cut off.
                *sum += (value.abs() * factor) >> *bits;
            }
        }
    }
}

/// A joint leaf: the runs of each axis that it holds, `None` for all.
#[derive(Clone)]
struct JointLeaf {
    runs: BTreeMap<usize, Vec<bool>>,
    values: Vec<BigInt>,
}

struct Overlay<'a> {
    layers: &'a [Layer<'a>],
    starts: &'a BTreeMap<usize, Vec<u32>>,
    sums: usize,
    limit: usize,
    leaves: Vec<JointLeaf>,
}

impl Overlay<'_> {
    fn root(&self) -> JointLeaf {
        JointLeaf { runs: BTreeMap::new(), values: vec![BigInt::zero(); self.sums] }
    }

    /// One axis at most: a joint leaf for each run.
    fn by_run(&mut self) {
        let whole = [0];
        let runs = self.starts.values().next().map_or(&whole[..], |runs| runs.as_slice());
        for &cell in runs {
            let mut leaf = self.root();
            for layer in self.layers {
                let mut at = NodeId(0);
                let reached = loop {
                    match layer.tree.node(at) {
                        Node::Leaf(reached) => break reached,
                        Node::Split { left, right, .. } => {
                            let (axis, cells) = layer.sides[at.index()].as_ref().expect("a split has a side");
                            // On an axis with one run every cell goes the same way.
                            let cell = if self.starts.contains_key(axis) { cell } else { 0 };
                            at = if cells.contains(CellId(cell)) { left } else { right };
                        }
                        Node::Unused => unreachable!("the builder lets no path reach an unused slot"),
                    }
                };
                layer.add_leaf(reached, &mut leaf.values);
            }
            self.leaves.push(leaf);
        }
    }

    /// All non-empty intersections of leaves, tree by tree.
    fn by_leaf(&mut self) -> Result<(), Reason> {
        let mut open = vec![(0, NodeId(0), self.root())];
        while let Some((depth, node, mut leaf)) = open.pop() {
            let layer = &self.layers[depth];
            match layer.tree.node(node) {
                Node::Unused => unreachable!("the builder lets no path reach an unused slot"),
                Node::Leaf(reached) => {
                    layer.add_leaf(reached, &mut leaf.values);
                    if depth + 1 < self.layers.len() {
                        open.push((depth + 1, NodeId(0), leaf));
                        continue;
                    }
                    if self.leaves.len() >= self.limit {
                        return Err(Reason::LimitOverlay { what: "joint leaves", limit: self.limit });
                    }
                    self.leaves.push(leaf);
                }
                Node::Split { left, right, .. } => {
                    let (axis, cells) = layer.sides[node.index()].as_ref().expect("a split has a side");
                    let Some(starts) = self.starts.get(axis) else {
                        let child = if cells.contains(CellId(0)) { left } else { right };
                        open.push((depth, child, leaf));
                        continue;
                    };
                    let own = leaf.runs.get(axis);
                    let side = |wanted: bool| -> Vec<bool> {
                        let kept = |(run, &start): (usize, &u32)| {
                            own.is_none_or(|own| own[run]) && cells.contains(CellId(start)) == wanted
                        };
                        starts.iter().enumerate().map(kept).collect()
                    };
                    let (yes, no) = (side(true), side(false));
                    match (yes.contains(&true), no.contains(&true)) {
                        (true, true) => {
                            let mut other = leaf.clone();
                            leaf.runs.insert(*axis, yes);
                            other.runs.insert(*axis, no);
                            open.push((depth, right, other));
                            open.push((depth, left, leaf));
                        }
                        // All that is left of the box goes one way.
                        (true, false) => open.push((depth, left, leaf)),
                        (false, _) => open.push((depth, right, leaf)),
                    }
                }
            }
        }
        Ok(())
    }
}

/// The cells of each axis that count: all, or all but the missing one where that is the twin of another.
fn searched_sizes(grid: &Grid, models: [&Ensemble; 2]) -> Vec<u32> {
    // For each axis the cells that every split so far sends where it sends missing values.
    let mut twins: Vec<Option<Vec<bool>>> = grid
        .axes()
        .iter()
        .map(|axis| axis.missing_cell().map(|missing| vec![true; missing.index()]))
        .collect();
    for model in models {
        for split in model.trees().iter().flat_map(|tree| tree.splits()) {
            let index = grid.axis_of(split.feature).expect("the grid has every split's feature");
            let axis = &grid.axes()[index];
            let (Some(missing), Some(twins)) = (axis.missing_cell(), &mut twins[index]) else { continue };
            let left = axis.left_cells(model, split, grid.domain());
            for (cell, twin) in twins.iter_mut().enumerate() {
                *twin &= left.contains(CellId::new(cell)) == left.contains(missing);
            }
        }
    }
    let has_twin = |twins: &Option<Vec<bool>>| twins.as_ref().is_some_and(|twins| twins.contains(&true));
    grid.axes()
        .iter()
        .zip(&twins)
        .map(|(axis, twins)| axis.len() as u32 - u32::from(has_twin(twins)))
        .collect()
}

/// The smallest power of two among all weights times leaves and intercepts.
fn smallest_exponent(models: [&Ensemble; 2]) -> i64 {
    let mut smallest = 0;
    let mut see = |value: &Exact| {
        if !value.is_zero() {
            smallest = smallest.min(value.exponent());
        }
    };
    for model in models {
        model.intercepts().iter().for_each(|&value| see(&finite(value)));
        for tree in model.trees() {
            let weight = finite(tree.weight());
            tree.leaf_values().iter().for_each(|&value| see(&(&weight * &finite(value))));
        }
    }
    smallest
}

pub(crate) fn finite(value: f64) -> Exact {
    Exact::from_f64(value).expect("the builder admits finite numbers only")
}

fn integer(value: &Exact, exponent: i64) -> BigInt {
    value.scaled(exponent).expect("the exponent is the smallest of all")
}
