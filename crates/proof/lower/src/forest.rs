//! The trees of both models over their common grid, with whole numbers at their leaves.
//!
//! The sums are, in this order: those of the original, those of the pruned model, the bounds on the
//! pruned model's rounding by input (zero unless the claim announces it), and those of the models
//! whose scores the claim's domain asks for. The trees are those of the original, of the pruned
//! model, and of the other models, each in the order of its file. Whole numbers count in units of
//! two to the power [`Lowered::unit`], the smallest power that any intercept, or product of weight
//! and leaf, needs; bounds on rounding count in a finer unit of their own.
//!
//! If the claim is about inputs near a row, there is one more sum, the last one: the distance, to which one
//! more tree for each axis adds. It counts in a unit of its own, and is in no row but its own.
//!
//! Missing values: if there is another cell on the axis that every split of every model sends to
//! the same side as missing values, then an input with a missing value reaches the same leaves as
//! one in that cell. In that case the missing cell, which is always the last one, is left out.

use num_bigint::BigInt;
use num_traits::{Signed, ToPrimitive, Zero};
use secateur_kernel::{Forest, Int, Node as Cell, Range, Tree as Over, common};
use secateur_model::{
    Accepted, CellId, Ensemble, Exact, FeatureId, Grid, GridError, Node, NodeId, Output, Tree,
};

use crate::inputs::looks_at_all;
use crate::pair::{Pair, Question};
use crate::refused::Refused;
use crate::treewise::first_out_of_order;

/// Two models and a claim, as problems about whole numbers.
pub struct Lowered<'a> {
    pub(crate) pair: &'a Pair<'a>,
    grid: Grid,
    forest: Forest,
    pub(crate) exponent: i64,
    /// The constant part of each sum.
    pub(crate) constants: Vec<BigInt>,
    /// How many trees the original and the pruned model have.
    trees: [usize; 2],
    /// The sum of distances, and the number below which it has to be.
    pub(crate) near: Option<(usize, BigInt)>,
}

/// The data needed to lower the trees of one model.
struct Lowering<'a> {
    grid: &'a Grid,
    /// For each axis the number of cells that count.
    sizes: &'a [u32],
    exponent: i64,
    model: &'a Ensemble,
    /// The model's first sum.
    sum: usize,
    /// The first sum of the bounds on its rounding, and the factor of each tree, if there are such
    /// bounds.
    rounding: Option<(usize, Vec<BigInt>)>,
}

impl<'a> Lowered<'a> {
    /// Lowers a pair of models. `stop` is asked after every tree; if it says yes, the answer is
    /// `None`.
    pub fn new(pair: &'a Pair<'a>, stop: &dyn Fn() -> bool) -> Result<Option<Self>, Refused> {
        let models = [pair.original, pair.pruned];
        let scorers: Vec<&Ensemble> = pair.original.domain().scorers().collect();
        let laid = if pair.lays_second() { 2 } else { 1 };
        let all: Vec<&Ensemble> = models[..laid].iter().chain(&scorers).copied().collect();
        let grid = Grid::new(&models).map_err(|error| match error {
            GridError::Domain(error) => Refused::ClaimDomain { error },
            GridError::Steps => Refused::ClaimSteps,
            _ => Refused::ClaimFeatures {
                original: pair.original.features().len(),
                pruned: pair.pruned.features().len(),
            },
        })?;
        looks_at_all(&grid, models)?;
        let sizes = counted_sizes(&grid, &all);
        let exponent = smallest_exponent(&all);
        let mut constants = Vec::new();
        let mut trees = Vec::new();
        for (index, model) in all.iter().enumerate() {
            let mut lowering = Lowering {
                grid: &grid,
                sizes: &sizes,
                exponent,
                model,
                sum: constants.len(),
                rounding: None,
            };
            let own = |value: &f64| integer(&Exact::finite(*value), exponent);
            constants.extend(model.intercepts().iter().map(own));
            if index == 1 && laid == 2 {
                // The bounds on this model's rounding follow its sums.
                let first = constants.len();
                let factor = |local: &secateur_model::LocalRounding| {
                    local.steps.iter().map(|&steps| BigInt::from(steps) * local.factor).collect()
                };
                lowering.rounding = pair.local().map(|local| (first, factor(local)));
                constants.resize(first + model.group_count(), BigInt::zero());
            }
            for index in 0..model.trees().len() {
                if stop() {
                    return Ok(None);
                }
                trees.push(lowering.tree(index));
            }
        }
        let near = match pair.near() {
            None => None,
            Some(near) => {
                let costs = near.costs(pair.original, &grid);
                let columns = pair.original.features().len();
                let costs = costs.ok_or(Refused::ClaimNear { columns })?;
                let sum = constants.len();
                constants.push(BigInt::zero());
                for (axis, cells) in costs.cells.iter().enumerate() {
                    let cells: Vec<Int> = cells.iter().map(|far| int(&costs.units(far))).collect();
                    trees.push(steps(axis as u32, &cells, sum as u32));
                }
                Some((sum, costs.units(&costs.least)))
            }
        };
        let forest = Forest::new(sizes, constants.len() as u32, trees);
        let forest = forest.expect("the builder of models has checked every index");
        let [first, second] = models.map(|model| model.trees().len());
        let trees = [first, if laid == 2 { second } else { 0 }];
        Ok(Some(Self { pair, grid, forest, exponent, constants, trees, near }))
    }

    /// The trees of all models over the cells of their common grid.
    pub fn forest(&self) -> &Forest {
        &self.forest
    }

    /// The numbers of all rows are multiples of two to this power, except in the rows that
    /// [`Lowered::rounding_bits`] is about.
    pub fn unit(&self) -> i64 {
        self.exponent
    }

    /// By how many bits the unit is smaller in the rows of a system with rounding by input.
    pub fn rounding_bits(&self) -> u32 {
        self.pair.local().map_or(0, |local| local.factor_bits)
    }

    /// The number of trees of the original and of the pruned model; the trees of the second follow
    /// those of the first.
    pub fn trees(&self) -> [usize; 2] {
        self.trees
    }

    /// The values that both libraries accept; the grid was made for these.
    pub fn accepted(&self) -> Accepted {
        *self.grid.accepted()
    }

    /// An input in this cell.
    pub fn input(&self, cell: &[u32]) -> Vec<f64> {
        self.grid.witness(&cells(cell))
    }

    /// One input value for each cell of an axis: the columns of the axis, each with its value.
    pub fn axis(&self, axis: usize) -> impl Iterator<Item = Vec<(FeatureId, f64)>> + '_ {
        let own = &self.grid.axes()[axis];
        (0..self.forest.axes()[axis]).map(|cell| {
            let mut values = Vec::new();
            own.for_each_value(CellId(cell), self.grid.intake(), |column, value| {
                values.push((column, value))
            });
            values
        })
    }

    /// Does the claim hold in this cell, although the cell satisfies every row? All inputs of a
    /// cell reach the same leaves of every tree, so with the order of the file the libraries
    /// compute the same bits for all of them. Hence one input is enough to excuse the whole cell:
    /// an input outside of the domain, or one on which the libraries' own arithmetic makes the same
    /// decision, or gives scores that are near enough.
    pub fn excused(&self, question: Question, cell: &[u32]) -> Result<(), Refused> {
        // The rows of the domain's models allow for rounding; here the scores that their libraries
        // really compute decide whether the cell belongs to the domain.
        if !self.grid.scores_hold(&cells(cell)) {
            return Ok(());
        }
        self.pair.holds_at(&self.input(cell), question)
    }

    /// The score of an output on an input that a certificate shows: on one, or on both inputs of a
    /// claim about moved columns.
    pub fn shown(&self, output: u32, values: &[f64]) -> Result<Vec<f64>, Refused> {
        self.pair.shown(output, values)
    }

    /// The index of a sum of the original (`which` is 0), of the pruned model (1), or of a bound on
    /// the pruned model's rounding (2).
    pub(crate) fn sum_of(&self, which: usize, group: usize) -> usize {
        let (first, second) = (self.pair.original.group_count(), self.pair.pruned.group_count());
        [0, first, first + second][which] + group
    }

    /// The index of a sum of one of the models whose scores the domain asks for.
    pub(crate) fn sum_of_scorer(&self, scorer: usize, group: usize) -> usize {
        let scorers = self.pair.original.domain().scorers();
        let before: usize = scorers.take(scorer).map(Ensemble::group_count).sum();
        let first = match self.pair.lays_second() {
            true => self.sum_of(2, self.pair.pruned.group_count()),
            false => self.pair.original.group_count(),
        };
        first + before + group
    }

    /// Refuses a claim about the numbers that a library computes, which holds for each tree by
    /// itself, if it does not; other claims are not its business. `None` if `stop` says yes.
    pub fn holds_treewise(&self, stop: &dyn Fn() -> bool) -> Option<Result<(), Refused>> {
        let Some((output, falls)) = self.pair.treewise() else { return Some(Ok(())) };
        let sums = [0, 1].map(|which| self.sum_of(which, output) as u32);
        let found = first_out_of_order(&self.forest, self.trees[0], sums, falls, stop)?;
        Some(found.map_err(|tree| Refused::TreewiseTree { tree, output, falls }))
    }
}

fn cells(cell: &[u32]) -> Vec<CellId> {
    cell.iter().map(|&cell| CellId(cell)).collect()
}

impl Lowering<'_> {
    /// A tree over the cells of the grid, with its nodes in preorder, left side first.
    fn tree(&self, index: usize) -> Over {
        let tree = &self.model.trees()[index];
        let mut nodes = Vec::new();
        // Nodes to visit, each with the branch that leads to it.
        let mut open: Vec<(NodeId, Option<(usize, bool)>)> = vec![(NodeId(0), None)];
        while let Some((node, from)) = open.pop() {
            let own = nodes.len();
            if let Some((parent, left)) = from
                && let Cell::Split { yes, no, .. } = &mut nodes[parent]
            {
                *(if left { yes } else { no }) = own as u32;
            }
            nodes.push(match tree.node(node) {
                Node::Split { split, left, right } => {
                    open.extend([(right, Some((own, false))), (left, Some((own, true)))]);
                    let axis = self.grid.axis_of(split.feature).expect("the grid has every split's feature");
                    let sent = self.grid.axes()[axis].left_cells(self.model, split, self.grid.intake());
                    let size = self.sizes[axis];
                    let counted = |(from, to): Range| (from < size).then_some((from, to.min(size)));
                    let cells = sent.ranges().filter_map(counted).collect();
                    Cell::Split { axis: axis as u32, cells, yes: 0, no: 0 }
                }
                Node::Leaf(leaf) => Cell::Leaf(self.added(index, tree, tree.leaf(leaf))),
                _ => unreachable!("no split leads to an unused node"),
            });
        }
        Over { nodes }
    }

    /// What a leaf adds to each sum.
    fn added(&self, index: usize, tree: &Tree, leaf: &[f64]) -> Vec<(u32, Int)> {
        let weight = Exact::finite(tree.weight());
        let group = match tree.output() {
            Output::Group(group) => group.index(),
            Output::All => 0,
        };
        let mut added = Vec::with_capacity(leaf.len());
        for (at, &value) in leaf.iter().enumerate() {
            let value = integer(&(&weight * &Exact::finite(value)), self.exponent);
            if let Some((first, factors)) = &self.rounding {
                added.push(((first + group + at) as u32, int(&(value.abs() * &factors[index]))));
            }
            added.push(((self.sum + group + at) as u32, int(&value)));
        }
        added
    }
}

/// A tree that adds a number for each cell of an axis to a sum. It splits only where the number changes, in
/// the middle of these places.
fn steps(axis: u32, cells: &[Int], sum: u32) -> Over {
    let starts: Vec<usize> = (0..cells.len()).filter(|&at| at == 0 || cells[at] != cells[at - 1]).collect();
    let mut nodes: Vec<Cell> = Vec::new();
    let mut open: Vec<(usize, usize, Option<usize>)> = vec![(0, starts.len(), None)];
    while let Some((from, to, parent)) = open.pop() {
        let own = nodes.len();
        // The left side follows its parent; the right side comes later.
        if let Some(Cell::Split { no, .. }) = parent.and_then(|parent| nodes.get_mut(parent)) {
            *no = own as u32;
        }
        if to - from == 1 {
            nodes.push(Cell::Leaf(vec![(sum, cells[starts[from]].clone())]));
            continue;
        }
        let middle = from.midpoint(to);
        let left = vec![(0, starts[middle] as u32)];
        nodes.push(Cell::Split { axis, cells: left, yes: own as u32 + 1, no: 0 });
        open.extend([(middle, to, Some(own)), (from, middle, None)]);
    }
    Over { nodes }
}

/// The number of cells of each axis that count: all of them, or all but the missing one if some
/// other cell always goes the same way.
fn counted_sizes(grid: &Grid, models: &[&Ensemble]) -> Vec<u32> {
    // For each axis the cells that every split so far sends to the same side as missing values.
    let mut twins: Vec<Vec<Range>> =
        grid.axes().iter().map(|axis| axis.missing_cell().iter().map(|cell| (0, cell.0)).collect()).collect();
    for model in models {
        for split in model.trees().iter().flat_map(|tree| tree.splits()) {
            let index = grid.axis_of(split.feature).expect("the grid has every split's feature");
            let axis = &grid.axes()[index];
            let Some(missing) = axis.missing_cell().filter(|_| !twins[index].is_empty()) else { continue };
            let left = axis.left_cells(model, split, grid.intake());
            twins[index] = if left.contains(missing) {
                common(&twins[index], left.ranges())
            } else {
                common(&twins[index], left.other_ranges())
            };
        }
    }
    let has_twin = |twins: &Vec<Range>| twins.iter().any(|(from, to)| from < to);
    let sizes = grid.axes().iter().zip(&twins);
    sizes.map(|(axis, twins)| axis.len() as u32 - u32::from(has_twin(twins))).collect()
}

/// The exponent of the largest power of two (at most 1) of which all intercepts and all products of
/// weight and leaf are multiples.
fn smallest_exponent(models: &[&Ensemble]) -> i64 {
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

fn integer(value: &Exact, exponent: i64) -> BigInt {
    value.scaled(exponent).expect("the exponent is the smallest of all")
}

/// A number in the kernel's representation.
pub(crate) fn int(value: &BigInt) -> Int {
    if let Some(small) = value.to_i128() {
        return Int::from(small);
    }
    let bytes = value.to_signed_bytes_le();
    let fill = if value.is_negative() { 0xff } else { 0 };
    let word = |chunk: &[u8]| {
        let mut word = [fill; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        u64::from_le_bytes(word)
    };
    Int::from_words(bytes.chunks(8).map(word).collect())
}
