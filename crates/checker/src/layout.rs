//! The trees of both models over their common grid, laid over each other as the certificate's stacks say.
//!
//! A piece is a partition of all cells into joint leaves: non-empty intersections of one leaf of each tree
//! of its stack, with the exact sums of what those leaves add. Any partition of the trees into stacks is
//! sound: the sum over all pieces is the sum over all trees. What trees have in common cancels inside a joint
//! leaf; that is how folds, merged trees and equal structures are proved, without any rule of their own.
//!
//! Where the claim's domain asks for scores of other models, their trees are pieces too, each by itself, with sums of
//! their own: no certificate names them.
//!
//! Missing values: where some other cell of the axis is sent by every split of all models to the side that
//! missing values go to, any input with a missing value reaches the same leaves as one in that cell. The
//! missing cell, always the last, is then left out.

use std::collections::BTreeMap;

use num_bigint::BigInt;
use num_traits::{Signed, Zero};
use secateur_model::{Ensemble, Exact, Grid, GridError, LeafId, Node, Output};

use crate::Stop;
use crate::inputs::looks_at_all;
use crate::joint::{Joint, Range, Side, common};
use crate::pair::Pair;
use crate::reason::{ModelRole, Reason};
use crate::verdict::Limits;

/// Both models over their grid.
pub(crate) struct Layout<'a> {
    models: [&'a Ensemble; 2],
    /// The models whose scores the claim's domain asks for, in its order.
    scorers: Vec<&'a Ensemble>,
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
    pub(crate) form: Form,
}

/// How the joint leaves that a box meets are found.
pub(crate) enum Form {
    /// One axis at most, a joint leaf for each run: the state is the range of runs, in one word.
    Table,
    /// The state is the set of leaves, in so many words.
    Masks(usize),
    /// There is no state but the box: its ranges say where to go.
    Tree(Joint),
}

impl Form {
    /// The words of its state.
    fn words(&self) -> usize {
        match self {
            Self::Table => 1,
            Self::Masks(words) => *words,
            Self::Tree(_) => 0,
        }
    }
}

/// How an axis matters to a piece.
pub(crate) struct Touch {
    pub(crate) piece: usize,
    /// The first cell of each run of cells that no split of the stack tells apart; the first is 0.
    pub(crate) starts: Vec<u32>,
    /// For each run the joint leaves that hold it; empty for tables and trees.
    pub(crate) masks: Vec<u64>,
}

impl Touch {
    /// The runs that cells `low..high` lie in.
    pub(crate) fn runs(&self, low: u32, high: u32) -> (usize, usize) {
        let from = self.run_of(low);
        let to = self.starts.partition_point(|&start| start < high);
        (from, to)
    }

    /// The run that a cell lies in.
    pub(crate) fn run_of(&self, cell: u32) -> usize {
        self.starts.partition_point(|&start| start <= cell) - 1
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
        let scorers: Vec<&Ensemble> = pair.original.inputs().scorers().collect();
        let all: Vec<&Ensemble> = models.iter().chain(&scorers).copied().collect();
        let grid = Grid::new(&models).map_err(|error| match error {
            GridError::Domain(error) => Reason::ClaimDomain { error },
            GridError::Steps => Reason::ClaimSteps,
            _ => Reason::ClaimFeatures {
                original: pair.original.features().len(),
                pruned: pair.pruned.features().len(),
            },
        })?;
        looks_at_all(&grid, models)?;
        let sizes = searched_sizes(&grid, &all);
        let rounding = pair.local().map(|local| Rounding {
            steps: local.steps.clone(),
            factor: local.factor,
            bits: local.factor_bits,
        });
        let exponent = smallest_exponent(&all) - rounding.as_ref().map_or(0, |own| i64::from(own.bits));
        let mut constants: Vec<BigInt> = models
            .iter()
            .flat_map(|model| model.intercepts())
            .map(|&value| integer(&Exact::finite(value), exponent))
            .collect();
        constants.resize(constants.len() + models[1].group_count(), BigInt::zero());
        let of_scorers = scorers.iter().flat_map(|model| model.intercepts());
        constants.extend(of_scorers.map(|&value| integer(&Exact::finite(value), exponent)));
        let touches = grid.axes().iter().map(|_| Vec::new()).collect();
        let placed = models.map(|model| vec![false; model.trees().len()]);
        Ok(Self {
            models,
            scorers,
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

    /// The sums: those of the original, of the pruned model, of the pruned model's rounding, and of the models whose scores
    /// the domain asks for.
    pub(crate) fn sums(&self) -> usize {
        self.constants.len()
    }

    /// The position of a sum of the original (0) or of the pruned model (1), or of its rounding (2).
    pub(crate) fn sum_of(&self, which: usize, group: usize) -> usize {
        let (first, second) = (self.models[0].group_count(), self.models[1].group_count());
        [0, first, first + second][which] + group
    }

    /// The position of a sum of one of the models whose scores the domain asks for.
    pub(crate) fn sum_of_scorer(&self, scorer: usize, group: usize) -> usize {
        let before: usize = self.scorers[..scorer].iter().map(|model| model.group_count()).sum();
        self.sum_of(2, self.models[1].group_count()) + before + group
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
                layers.push(self.layer_of(model, tree as usize));
            }
        }
        self.add(&layers)
    }

    /// Trees that no stack named are pieces of their own.
    pub(crate) fn place_the_rest(&mut self, stop: Stop<'_>) -> Result<(), Reason> {
        for model in 0..2 {
            for tree in 0..self.placed[model].len() {
                if !std::mem::replace(&mut self.placed[model][tree], true) {
                    if stop() {
                        return Err(Reason::Stopped);
                    }
                    let layer = self.layer_of(model, tree);
                    self.add(&[layer])?;
                }
            }
        }
        for scorer in 0..self.scorers.len() {
            let model = self.scorers[scorer];
            for tree in 0..model.trees().len() {
                if stop() {
                    return Err(Reason::Stopped);
                }
                let layer = self.layer(model, tree, self.sum_of_scorer(scorer, 0));
                self.add(&[layer])?;
            }
        }
        Ok(())
    }

    /// A tree of the original (0) or of the pruned model (1).
    fn layer_of(&self, model: usize, index: usize) -> Layer<'a> {
        let mut layer = self.layer(self.models[model], index, self.sum_of(model, 0));
        if let Some(own) = self.rounding.as_ref().filter(|_| model == 1) {
            let group = layer.sum - self.sum_of(1, 0);
            let factor = BigInt::from(own.steps[index]) * own.factor;
            layer.rounding = Some((self.sum_of(2, group), factor, own.bits));
        }
        layer
    }

    /// A tree of a model whose first sum is given.
    fn layer(&self, ensemble: &'a Ensemble, index: usize, first_sum: usize) -> Layer<'a> {
        let tree = &ensemble.trees()[index];
        let side = |node| match node {
            Node::Split { split, .. } => {
                let axis = self.grid.axis_of(split.feature).expect("the grid has every split's feature");
                Some((axis, self.grid.axes()[axis].left_cells(ensemble, split, self.grid.domain())))
            }
            _ => None,
        };
        let weight = Exact::finite(tree.weight());
        let value = |&leaf: &f64| integer(&(&weight * &Exact::finite(leaf)), self.exponent);
        let group = match tree.output() {
            Output::Group(group) => group.index(),
            Output::All => 0,
        };
        Layer {
            side: Side { tree, left: tree.nodes().map(|(_, node)| side(node)).collect() },
            values: tree.leaf_values().iter().map(value).collect(),
            sum: first_sum + group,
            rounding: None,
        }
    }

    fn add(&mut self, layers: &[Layer<'_>]) -> Result<(), Reason> {
        // For each axis the first cells of its runs: a run ends where some split changes its side.
        let mut starts: BTreeMap<usize, Vec<u32>> = BTreeMap::new();
        for (axis, cells) in layers.iter().flat_map(|layer| layer.side.left.iter().flatten()) {
            let size = self.sizes[*axis];
            let changes = cells.changes().iter().copied().filter(|&cell| cell < size);
            starts.entry(*axis).or_insert_with(|| vec![0]).extend(changes);
        }
        for runs in starts.values_mut() {
            runs.sort_unstable();
            runs.dedup();
        }
        starts.retain(|_, runs| runs.len() > 1);
        let table = starts.len() <= 1;
        let sums = self.sums();
        // Memory that is refused below is not taken first.
        let room = self.limits.overlay_bytes.saturating_sub(self.bytes) / ((sums + 1) * 40);
        let overlay = self.limits.overlay_leaves.min(room);
        let limit = if layers.len() > 1 && !table { overlay } else { usize::MAX };
        let sides: Vec<&Side<'_>> = layers.iter().map(|layer| &layer.side).collect();
        let mut values: Vec<BigInt> = Vec::new();
        let joint = Joint::new(&sides, &self.sizes, limit, |reached| {
            let first = values.len();
            values.resize(first + sums, BigInt::zero());
            for (layer, &leaf) in layers.iter().zip(reached) {
                layer.add_leaf(leaf, &mut values[first..]);
            }
        })?;
        let piece = self.pieces.len();
        let mut touches: Vec<(usize, Touch)> = starts
            .into_iter()
            .map(|(axis, starts)| (axis, Touch { piece, starts, masks: Vec::new() }))
            .collect();
        let (mut leaves, mut bytes) = (joint.leaves, 0);
        let form = if table {
            values = by_run(&joint, touches.first().map(|(_, touch)| touch), &values, sums);
            leaves = values.len() / sums;
            Form::Table
        } else if leaves > self.limits.masked_leaves {
            bytes += joint.bytes();
            Form::Tree(joint)
        } else {
            let words = leaves.div_ceil(64);
            fill_masks(&joint, &mut touches, words);
            Form::Masks(words)
        };
        bytes += touches.iter().map(|(_, touch)| touch.masks.len() * 8).sum::<usize>();
        self.bytes += bytes + leaves * (sums + 1) * 40;
        if self.bytes > self.limits.overlay_bytes {
            let limit = self.limits.overlay_bytes;
            return Err(Reason::LimitOverlay { what: "bytes for masks and values", limit });
        }
        for (axis, touch) in touches {
            self.touches[axis].push(touch);
        }
        let words = form.words();
        self.pieces.push(Piece { leaves, values, place: self.words, form });
        self.words += words;
        Ok(())
    }
}

/// The values of each run of the one axis that matters (all in one run where none does), from those of the leaves.
fn by_run(joint: &Joint, touch: Option<&Touch>, values: &[BigInt], sums: usize) -> Vec<BigInt> {
    let Some(touch) = touch else { return values.to_vec() };
    let mut by_run = vec![0; touch.starts.len()];
    joint.for_each_leaf(|leaf, ranges| {
        for &(from, to) in ranges {
            let (first, end) = touch.runs(from, to);
            by_run[first..end].fill(leaf);
        }
    });
    by_run.into_iter().flat_map(|leaf| values[leaf * sums..][..sums].iter().cloned()).collect()
}

/// For each run of each axis the leaves that hold it: all but those on the other side of a split that sends the
/// run's cells one way.
fn fill_masks(joint: &Joint, touches: &mut [(usize, Touch)], words: usize) {
    let place: BTreeMap<usize, usize> =
        touches.iter().enumerate().map(|(place, (axis, _))| (*axis, place)).collect();
    let all = |word: usize| match joint.leaves - word * 64 {
        64.. => u64::MAX,
        rest => (1 << rest) - 1,
    };
    for (_, touch) in touches.iter_mut() {
        touch.masks = (0..touch.starts.len()).flat_map(|_| (0..words).map(all)).collect();
    }
    joint.for_each_side(|axis, others, leaves| {
        let touch = &mut touches[place[&axis]].1;
        for &(from, to) in others {
            let (first, end) = touch.runs(from, to);
            for run in first..end {
                let mask = &mut touch.masks[run * words..][..words];
                for (word, bits) in
                    mask.iter_mut().enumerate().take(leaves.end.div_ceil(64)).skip(leaves.start / 64)
                {
                    // The leaves of this word that are not taken away: those before and those behind the range.
                    let below = |leaf: usize| match leaf.saturating_sub(word * 64) {
                        64.. => u64::MAX,
                        count => (1 << count) - 1,
                    };
                    *bits &= below(leaves.start) | !below(leaves.end);
                }
            }
        }
    });
}

/// A tree with its splits as sets of cells and its leaves as integers.
struct Layer<'a> {
    side: Side<'a>,
    values: Vec<BigInt>,
    /// Its first sum.
    sum: usize,
    /// The first sum of its rounding, factor and shift.
    rounding: Option<(usize, BigInt, u32)>,
}

impl Layer<'_> {
    fn add_leaf(&self, leaf: LeafId, sums: &mut [BigInt]) {
        let width = self.values.len() / self.side.tree.leaf_count();
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

/// The cells of each axis that count: all, or all but the missing one where that is the twin of another.
fn searched_sizes(grid: &Grid, models: &[&Ensemble]) -> Vec<u32> {
    // For each axis the cells that every split so far sends where it sends missing values.
    let mut twins: Vec<Vec<Range>> =
        grid.axes().iter().map(|axis| axis.missing_cell().iter().map(|cell| (0, cell.0)).collect()).collect();
    for model in models {
        for split in model.trees().iter().flat_map(|tree| tree.splits()) {
            let index = grid.axis_of(split.feature).expect("the grid has every split's feature");
            let axis = &grid.axes()[index];
            let Some(missing) = axis.missing_cell().filter(|_| !twins[index].is_empty()) else { continue };
            let left = axis.left_cells(model, split, grid.domain());
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

/// The smallest power of two among all weights times leaves and intercepts.
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
