//! Trees with their splits as cell sets, and the choice of trees that are laid over each other.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use num_bigint::BigInt;
use num_traits::Signed;
use secateur_model::{CellSet, Ensemble, Exact, Grid, LeafId, Node, NodeId, Output, Tree};

use super::scaled;
use crate::joint::{Overlaid, Sign};

/// A tree of a model, with its splits as cell sets.
pub(super) struct Layer<'a> {
    pub(super) tree: &'a Tree,
    /// Which of the two compared models it belongs to, and its index there; `None` for a tree of a
    /// model that only the domain names.
    pub(super) place: Option<(usize, u32)>,
    /// The position of the first sum that it adds to.
    pub(super) sum: usize,
    /// For each leaf, what it adds to its sums, weight included.
    pub(super) values: Vec<BigInt>,
    /// For each node that is a split: the axis, and the cells that go left.
    pub(super) splits: Vec<Option<(usize, CellSet)>>,
    /// The axes of its splits, ascending.
    pub(super) axes: Vec<usize>,
    pub(super) rounding: Option<LayerRounding>,
}

/// The part of its model's rounding bound that a tree adds: its magnitude times `factor / 2^shift`.
pub(super) struct LayerRounding {
    pub(super) sum: usize,
    pub(super) factor: BigInt,
    pub(super) shift: u32,
}

impl<'a> Layer<'a> {
    pub(super) fn new(model: &Ensemble, tree: &'a Tree, grid: &Grid, offset: usize, exponent: i64) -> Self {
        let splits: Vec<Option<(usize, CellSet)>> = tree
            .nodes()
            .map(|(_, node)| match node {
                Node::Split { split, .. } => {
                    let axis = grid.axis_of(split.feature).expect("the grid has every split's feature");
                    Some((axis, grid.axes()[axis].left_cells(model, split, grid.intake())))
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
        let weight = Exact::finite(tree.weight());
        let values =
            tree.leaf_values().iter().map(|&value| scaled(&(&weight * &Exact::finite(value)), exponent));
        Self { tree, place: None, sum, values: values.collect(), splits, axes, rounding: None }
    }

    /// Leaves out axes for which every split has all cells on one side. A tree may have such splits
    /// if no input of the domain crosses them. A tree that depends on only one other axis is then
    /// stacked with the other trees of that axis, so that each axis has at most one piece of its
    /// own.
    pub(super) fn leave_out_undivided(&mut self, sizes: &[u32]) {
        let splits = &self.splits;
        let divides = |&axis: &usize| {
            let sets = splits.iter().flatten().filter(|(own, _)| *own == axis);
            sets.into_iter().any(|(_, set)| set.changes().iter().any(|&cell| cell < sizes[axis]))
        };
        self.axes.retain(divides);
    }

    fn leaf(&self, leaf: LeafId) -> &[BigInt] {
        let width = self.values.len() / self.tree.leaf_count();
        &self.values[leaf.index() * width..][..width]
    }

    /// The splits of the tree, to compare it with other trees regardless of their leaves.
    fn structure<'s>(&'s self, names: &mut HashMap<&'s (usize, CellSet), u32>) -> Structure {
        let name = |split: &'s (usize, CellSet)| {
            let next = names.len() as u32;
            (split.0 as u32, *names.entry(split).or_insert(next))
        };
        let mut splits: Structure = self.splits.iter().flatten().map(name).collect();
        splits.sort_unstable();
        splits
    }
}

impl Overlaid for Layer<'_> {
    fn tree(&self) -> &Tree {
        self.tree
    }

    fn side(&self, node: NodeId) -> (usize, &CellSet) {
        let (axis, set) = self.splits[node.index()].as_ref().expect("a split has its cells");
        (*axis, set)
    }

    fn add(&self, leaf: LeafId, sums: &mut [BigInt], sign: Sign) {
        let change = |slot: &mut BigInt, value: &BigInt| match sign {
            Sign::Plus => *slot += value,
            Sign::Minus => *slot -= value,
        };
        for (slot, value) in sums[self.sum..].iter_mut().zip(self.leaf(leaf)) {
            change(slot, value);
        }
        if let Some(rounding) = &self.rounding {
            for (slot, value) in sums[rounding.sum..].iter_mut().zip(self.leaf(leaf)) {
                // The scale is fine enough that the shift cuts nothing off.
                change(slot, &((value.abs() * &rounding.factor) >> rounding.shift));
            }
        }
    }
}

/// The splits of a tree, each as its axis and a number that stands for its cells, sorted.
type Structure = Vec<(u32, u32)>;

/// Chooses the trees that are laid over each other; `twins` says that the second model is the first
/// one's twin.
pub(super) fn stacks<'a, 'b>(layers: &'b [Vec<Layer<'a>>], twins: bool) -> Vec<Vec<&'b Layer<'a>>> {
    let mut univariate: BTreeMap<Option<usize>, Vec<&Layer<'_>>> = BTreeMap::new();
    let mut rest: Vec<(Structure, Vec<&Layer<'_>>)> = Vec::new();
    let mut by_structure: HashMap<Structure, usize> = HashMap::new();
    let mut names = HashMap::new();
    // The stacks of each model's trees by position, to find partners that are nearly equal.
    let mut stack_of: Vec<BTreeMap<usize, usize>> = Vec::new();
    for model in layers {
        let mut own = BTreeMap::new();
        for (position, layer) in model.iter().enumerate() {
            if layer.axes.len() <= 1 {
                univariate.entry(layer.axes.first().copied()).or_default().push(layer);
                continue;
            }
            let structure = layer.structure(&mut names);
            let index = *by_structure.entry(structure.clone()).or_insert_with(|| {
                rest.push((structure, Vec::new()));
                rest.len() - 1
            });
            rest[index].1.push(layer);
            own.insert(position, index);
        }
        stack_of.push(own);
    }
    // A tree of the second model without an equal in the first joins the one at the same position,
    // if that one has no equal either and the two split the same axes equally often, or are twins.
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
            if twins || nearly_equal(&rest[index].0, &rest[partner].0) {
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

/// Do two trees split the same axes equally often? Then their overlay is worth trying.
fn nearly_equal(a: &Structure, b: &Structure) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.0 == b.0)
}
