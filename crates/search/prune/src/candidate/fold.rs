//! Fold: a model with fewer and smaller trees that keeps every score of the original, exactly.
//!
//! Steps, each of which keeps the sum of all trees as a function of the cells:
//! 1. Branches that no input reaches are removed, and splits whose two sides are the same.
//! 2. A tree of one leaf becomes a constant.
//! 3. Trees of the same structure are added, leaf by leaf.
//! 4. A tree that is constant on every leaf of another tree is added into that tree.
//! 5. Splits whose sides became equal by adding are removed.
//!
//! Values are products of a weight and a leaf. These are dyadic, so their sums are exact. Only
//! trees with the same output are added. Where a format's trees are votes (AdaBoost), a sum must
//! again be a vote of one weight; then only trees of the same structure are added, and constants
//! stay trees.
//!
//! Not covered: trees that could be added at the price of more leaves.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use secateur_model::{
    Accumulation, Ensemble, EnsembleBuilder, Exact, LeafId, Node, NodeId, NumberType, Output, Tree,
    TreeBuilder, TreeId,
};

use crate::candidate::reach::{CutId, Cuts, Region};
use crate::config::Moves;

/// What a format cannot write.
#[derive(Clone, Debug, Default)]
pub(crate) struct Limits {
    /// Trees are votes of one weight.
    pub(crate) votes: bool,
    /// Trees that cannot be written anew: they stay as they are or are dropped.
    pub(crate) frozen: BTreeSet<TreeId>,
}

/// A folded model: the sums of the terms and the constants are the model's sums.
#[derive(Clone, Debug)]
pub(crate) struct Folded {
    pub(crate) terms: Vec<Term>,
    /// For each group, what constant trees add.
    pub(crate) constants: Vec<Exact>,
    /// The trees that are now constants.
    pub(crate) constant_trees: Vec<TreeId>,
}

/// One tree of a folded model.
#[derive(Clone, Debug)]
pub(crate) struct Term {
    /// The tree of the original whose place it takes.
    pub(crate) host: TreeId,
    /// The original's trees whose sum it is, ascending.
    pub(crate) sources: Vec<TreeId>,
    /// Its structure, with all leaves zero and weight one.
    pub(crate) tree: Tree,
    /// What each leaf adds: as many numbers as a leaf has values.
    pub(crate) values: Vec<Exact>,
    /// The term is the host exactly as the file has it.
    pub(crate) plain: bool,
}

/// A tree whose nodes are in the order of a walk that goes left first, so every node comes after
/// its parent.
#[derive(Clone, Debug)]
struct Simple {
    nodes: Vec<FoldedNode>,
    /// The values of each leaf.
    values: Vec<Vec<Exact>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum FoldedNode {
    Split { cut: CutId, yes: usize, no: usize },
    Leaf(usize),
}

/// The model as the moves allow: folded, or with its trees as they are if only weights may change.
/// `None` if it was stopped.
pub(crate) fn fold_for(
    moves: Moves,
    model: &Ensemble,
    limits: &Limits,
    stop: &dyn Fn() -> bool,
) -> Option<Folded> {
    let folded = match moves {
        Moves::Leaves => fold(model, limits, stop),
        Moves::Weights => unfolded(model, stop),
    };
    folded.filter(|_| !stop())
}

/// Folds a model. `None` if `stop` returns true before all trees are folded.
pub(crate) fn fold(model: &Ensemble, limits: &Limits, stop: &dyn Fn() -> bool) -> Option<Folded> {
    let mut folder = Folder { model, limits, cuts: Cuts::new(model), splits: Vec::new() };
    let mut constants = vec![Exact::zero(); model.group_count()];
    let mut constant_trees = Vec::new();
    let mut drafts: Vec<Draft> = Vec::new();
    for index in 0..model.trees().len() {
        if stop() {
            return None;
        }
        let id = TreeId::new(index);
        let tree = model.tree(id);
        let simple = folder.simplify(id, !limits.frozen.contains(&id));
        let constant = simple.values.len() == 1 || simple.values.iter().all(|v| *v == simple.values[0]);
        if constant && !limits.votes {
            add_constant(&mut constants, tree.output(), &simple.values[0]);
            constant_trees.push(id);
            continue;
        }
        let plain = simple.values.len() == tree.leaf_count();
        drafts.push(Draft { host: id, output: tree.output(), sources: vec![id], simple, plain });
    }
    folder.add_equal_structures(&mut drafts);
    if !limits.votes {
        folder.absorb(&mut drafts, stop);
    }
    for draft in &mut drafts {
        if draft.sources.len() > 1 {
            draft.plain = false;
            draft.simple = collapse(&draft.simple);
        }
    }
    drafts.retain(|draft| {
        // A vote of weight zero adds nothing; any other constant stays a vote.
        let zero = draft.simple.values.iter().flatten().all(Exact::is_zero);
        let gone = if limits.votes { zero } else { draft.simple.values.len() == 1 };
        if gone {
            add_constant(&mut constants, draft.output, &draft.simple.values[0]);
            constant_trees.extend(&draft.sources);
        }
        !gone
    });
    constant_trees.sort();
    Some(Folded { terms: folder.terms(drafts), constants, constant_trees })
}

/// The model without folding: every tree is a term of its own. `None` if `stop` returns true before
/// that is done.
pub(crate) fn unfolded(model: &Ensemble, stop: &dyn Fn() -> bool) -> Option<Folded> {
    let limits = Limits::default();
    let mut folder = Folder { model, limits: &limits, cuts: Cuts::new(model), splits: Vec::new() };
    let draft = |index: usize| {
        let host = TreeId::new(index);
        let simple = (!stop()).then(|| folder.simplify(host, false))?;
        Some(Draft { host, output: model.tree(host).output(), sources: vec![host], simple, plain: true })
    };
    let drafts: Vec<Draft> = (0..model.trees().len()).map(draft).collect::<Option<_>>()?;
    let constants = vec![Exact::zero(); model.group_count()];
    Some(Folded { terms: folder.terms(drafts), constants, constant_trees: Vec::new() })
}

/// A term before its tree is built.
#[derive(Clone, Debug)]
struct Draft {
    host: TreeId,
    output: Output,
    sources: Vec<TreeId>,
    simple: Simple,
    plain: bool,
}

fn add_constant(constants: &mut [Exact], output: Output, values: &[Exact]) {
    match output {
        Output::Group(group) => constants[group.index()] += &values[0],
        Output::All => constants.iter_mut().zip(values).for_each(|(sum, value)| *sum += value),
    }
}

struct Folder<'a> {
    model: &'a Ensemble,
    limits: &'a Limits,
    cuts: Cuts<'a>,
    /// For each cut, a split that makes it: the tree and the node.
    splits: Vec<(TreeId, NodeId)>,
}

/// A step of a walk that keeps the regions up to date.
enum Step {
    Enter(usize),
    Restrict { axis: usize, region: Region },
    Combine { cut: CutId },
}

impl Folder<'_> {
    /// A tree without the parts that no input reaches; unchanged if it must not be simplified.
    fn simplify(&mut self, id: TreeId, may: bool) -> Simple {
        let tree = self.model.tree(id);
        let mut regions = self.cuts.everything();
        let mut arena = Arena::default();
        let mut done: Vec<usize> = Vec::new();
        let mut steps = vec![Step::Enter(0)];
        while let Some(step) = steps.pop() {
            let node = match step {
                Step::Restrict { axis, region } => {
                    regions[axis] = region;
                    continue;
                }
                Step::Combine { cut } => {
                    let no = done.pop().expect("both sides are done");
                    let yes = done.pop().expect("both sides are done");
                    done.push(if yes == no && may { yes } else { arena.split(cut, yes, no) });
                    continue;
                }
                Step::Enter(node) => NodeId::new(node),
            };
            match tree.node(node) {
                Node::Leaf(leaf) => done.push(arena.leaf(weighted(tree, leaf))),
                Node::Split { split, left, right } => {
                    let cut = self.cuts.of(split);
                    if cut == self.splits.len() {
                        self.splits.push((id, node));
                    }
                    let axis = self.cuts.axis(cut);
                    let old = regions[axis].clone();
                    match self.cuts.divide(&old, cut) {
                        [Some(yes), Some(no)] => {
                            steps.push(Step::Combine { cut });
                            steps.push(Step::Restrict { axis, region: old });
                            steps.push(Step::Enter(right.index()));
                            steps.push(Step::Restrict { axis, region: no });
                            steps.push(Step::Enter(left.index()));
                            regions[axis] = yes;
                        }
                        _ if !may => {
                            steps.push(Step::Combine { cut });
                            steps.push(Step::Enter(right.index()));
                            steps.push(Step::Enter(left.index()));
                        }
                        [Some(_), None] => steps.push(Step::Enter(left.index())),
                        _ => steps.push(Step::Enter(right.index())),
                    }
                }
                Node::Unused => unreachable!("the builder lets no path reach an unused slot"),
            }
        }
        arena.expand(done.pop().expect("a walk ends with its root"))
    }

    /// Adds trees of the same structure and output into the last of them. The library adds trees in
    /// order, so a value that comes late enlarges fewer of its partial sums; the library's rounding
    /// then stays within the original's, and the proof needs no search.
    fn add_equal_structures(&self, drafts: &mut Vec<Draft>) {
        // There can be several hosts of one structure, if their votes do not add up to votes.
        let mut last: BTreeMap<(Option<u32>, Vec<FoldedNode>), Vec<usize>> = BTreeMap::new();
        let mut kept: Vec<Draft> = Vec::new();
        for draft in drafts.drain(..).rev() {
            let group = match draft.output {
                Output::Group(group) => Some(group.0),
                Output::All => None,
            };
            let hosts = last.entry((group, draft.simple.nodes.clone())).or_default();
            let frozen = |draft: &Draft| self.limits.frozen.contains(&draft.host);
            let mut sums = None;
            let host = hosts.iter().copied().find(|&host| {
                let host: &Draft = &kept[host];
                let added = host.simple.values.iter().zip(&draft.simple.values).map(|(a, b)| plus(a, b));
                let added: Vec<Vec<Exact>> = added.collect();
                let fits = !frozen(host) && (!self.limits.votes || vote_weight(&added).is_some());
                if fits {
                    sums = Some(added);
                }
                fits
            });
            match (host, sums) {
                (Some(host), Some(sums)) => {
                    kept[host].simple.values = sums;
                    kept[host].sources.extend(draft.sources);
                }
                _ => {
                    hosts.push(kept.len());
                    kept.push(draft);
                }
            }
        }
        kept.reverse();
        *drafts = kept;
    }

    /// Adds every tree that is constant on the leaves of another tree into that tree.
    fn absorb(&self, drafts: &mut Vec<Draft>, stop: &dyn Fn() -> bool) {
        let cuts_of: Vec<BTreeSet<CutId>> = drafts.iter().map(|draft| draft.simple.cuts()).collect();
        let mut with_cut: BTreeMap<CutId, Vec<usize>> = BTreeMap::new();
        for (index, cuts) in cuts_of.iter().enumerate() {
            cuts.iter().for_each(|&cut| with_cut.entry(cut).or_default().push(index));
        }
        // Small trees first: a tree that has taken in another can later be taken in itself, with
        // all that it contains.
        let mut order: Vec<usize> = (0..drafts.len()).collect();
        order.sort_by_key(|&index| (drafts[index].simple.values.len(), index));
        let mut gone = vec![false; drafts.len()];
        for &small in &order {
            if stop() {
                break;
            }
            let rarest = cuts_of[small].iter().map(|cut| &with_cut[cut]).min_by_key(|list| list.len());
            let hosts = rarest.into_iter().flatten().copied().filter(|&host| {
                host != small
                    && !stop()
                    && !gone[host]
                    && drafts[host].output == drafts[small].output
                    && drafts[host].simple.values.len() >= drafts[small].simple.values.len()
                    && !self.limits.frozen.contains(&drafts[host].host)
                    && cuts_of[small].is_subset(&cuts_of[host])
            });
            let found = hosts
                .into_iter()
                .find_map(|host| Some((host, self.leaf_map(&drafts[host].simple, &drafts[small].simple)?)));
            if let Some((host, map)) = found {
                gone[small] = true;
                let Draft { simple, sources, .. } = drafts[small].clone();
                for (own, &leaf) in drafts[host].simple.values.iter_mut().zip(&map) {
                    *own = plus(own, &simple.values[leaf]);
                }
                drafts[host].sources.extend(sources);
            }
        }
        let mut index = 0;
        drafts.retain(|_| {
            index += 1;
            !gone[index - 1]
        });
        drafts.iter_mut().for_each(|draft| draft.sources.sort());
    }

    /// For each leaf of `fine`, the leaf of `coarse` that contains all of it; `None` if some leaf
    /// of `fine` reaches several.
    fn leaf_map(&self, fine: &Simple, coarse: &Simple) -> Option<Vec<usize>> {
        let mut map = vec![0; fine.values.len()];
        let mut regions = self.cuts.everything();
        let mut steps = vec![Step::Enter(0)];
        while let Some(step) = steps.pop() {
            match step {
                Step::Restrict { axis, region } => regions[axis] = region,
                Step::Combine { .. } => {}
                Step::Enter(node) => match fine.nodes[node] {
                    FoldedNode::Leaf(leaf) => map[leaf] = self.only_leaf(coarse, &regions)?,
                    FoldedNode::Split { cut, yes, no } => {
                        let axis = self.cuts.axis(cut);
                        let old = regions[axis].clone();
                        let [left, right] = self.cuts.divide(&old, cut);
                        let (left, right) = (left?, right?);
                        steps.push(Step::Restrict { axis, region: old });
                        steps.push(Step::Enter(no));
                        steps.push(Step::Restrict { axis, region: right });
                        steps.push(Step::Enter(yes));
                        regions[axis] = left;
                    }
                },
            }
        }
        Some(map)
    }

    fn only_leaf(&self, tree: &Simple, regions: &[Region]) -> Option<usize> {
        let mut at = 0;
        loop {
            match tree.nodes[at] {
                FoldedNode::Leaf(leaf) => return Some(leaf),
                FoldedNode::Split { cut, yes, no } => {
                    at = match self.cuts.divide(&regions[self.cuts.axis(cut)], cut) {
                        [Some(_), None] => yes,
                        [None, Some(_)] => no,
                        _ => return None,
                    }
                }
            }
        }
    }

    /// Builds the trees of all terms.
    fn terms(&self, drafts: Vec<Draft>) -> Vec<Term> {
        let model = self.model;
        let mut builder = EnsembleBuilder::new(
            model.features().clone(),
            *model.intake(),
            model.classes().clone(),
            vec![0.0; model.group_count()],
            Accumulation { number: NumberType::F64, ..*model.accumulation() },
            *model.decision(),
        )
        .expect("taken from an ensemble");
        for draft in &drafts {
            let mut tree = TreeBuilder::with_capacity(draft.simple.nodes.len());
            for part in &draft.simple.nodes {
                match *part {
                    FoldedNode::Leaf(leaf) => {
                        tree.leaf(&vec![0.0; draft.simple.values[leaf].len()]);
                    }
                    FoldedNode::Split { cut, yes, no } => {
                        let (tree_of, node) = self.splits[cut];
                        let Node::Split { split, .. } = model.tree(tree_of).node(node) else {
                            unreachable!("cuts come from splits")
                        };
                        tree.split(split, NodeId::new(yes), NodeId::new(no));
                    }
                }
            }
            builder.tree(tree, draft.output, 1.0).expect("made of splits of the model");
        }
        let built = builder.build();
        drafts
            .into_iter()
            .zip(built.trees())
            .map(|(draft, tree)| Term {
                host: draft.host,
                sources: draft.sources,
                tree: tree.clone(),
                values: draft.simple.values.into_iter().flatten().collect(),
                plain: draft.plain,
            })
            .collect()
    }
}

impl Simple {
    fn cuts(&self) -> BTreeSet<CutId> {
        let cut = |part: &FoldedNode| match part {
            FoldedNode::Split { cut, .. } => Some(*cut),
            FoldedNode::Leaf(_) => None,
        };
        self.nodes.iter().filter_map(cut).collect()
    }
}

/// The same function, without splits whose two sides are equal.
fn collapse(simple: &Simple) -> Simple {
    let mut arena = Arena::default();
    let mut ids = vec![0; simple.nodes.len()];
    // Children come after their parents, so reverse order visits children first.
    for (index, part) in simple.nodes.iter().enumerate().rev() {
        ids[index] = match *part {
            FoldedNode::Leaf(leaf) => arena.leaf(simple.values[leaf].clone()),
            FoldedNode::Split { yes, no, .. } if ids[yes] == ids[no] => ids[yes],
            FoldedNode::Split { cut, yes, no } => arena.split(cut, ids[yes], ids[no]),
        };
    }
    arena.expand(ids[0])
}

/// Nodes stored by content: equal subtrees have equal ids.
#[derive(Default)]
struct Arena {
    nodes: Vec<FoldedNode>,
    values: Vec<Vec<Exact>>,
    leaves: BTreeMap<Vec<Exact>, usize>,
    splits: HashMap<(CutId, usize, usize), usize>,
}

impl Arena {
    fn leaf(&mut self, values: Vec<Exact>) -> usize {
        let next = self.nodes.len();
        let id = *self.leaves.entry(values.clone()).or_insert(next);
        if id == next {
            self.nodes.push(FoldedNode::Leaf(self.values.len()));
            self.values.push(values);
        }
        id
    }

    fn split(&mut self, cut: CutId, yes: usize, no: usize) -> usize {
        let next = self.nodes.len();
        let id = *self.splits.entry((cut, yes, no)).or_insert(next);
        if id == next {
            self.nodes.push(FoldedNode::Split { cut, yes, no });
        }
        id
    }

    /// The tree of a node, left sides first.
    fn expand(&self, root: usize) -> Simple {
        let mut simple = Simple { nodes: Vec::new(), values: Vec::new() };
        // A node to place next, and the split whose right side it is, if any.
        let mut open: Vec<(usize, Option<usize>)> = vec![(root, None)];
        while let Some((node, parent)) = open.pop() {
            let place = simple.nodes.len();
            if let Some(parent) = parent
                && let FoldedNode::Split { no, .. } = &mut simple.nodes[parent]
            {
                *no = place;
            }
            match self.nodes[node] {
                FoldedNode::Leaf(values) => {
                    simple.nodes.push(FoldedNode::Leaf(simple.values.len()));
                    simple.values.push(self.values[values].clone());
                }
                FoldedNode::Split { cut, yes, no } => {
                    simple.nodes.push(FoldedNode::Split { cut, yes: place + 1, no: 0 });
                    open.push((no, Some(place)));
                    open.push((yes, None));
                }
            }
        }
        simple
    }
}

fn weighted(tree: &Tree, leaf: LeafId) -> Vec<Exact> {
    let weight = Exact::finite(tree.weight());
    tree.leaf(leaf).iter().map(|&value| &weight * &Exact::finite(value)).collect()
}

fn plus(a: &[Exact], b: &[Exact]) -> Vec<Exact> {
    a.iter().zip(b).map(|(a, b)| a + b).collect()
}

/// The common weight of leaves that are all votes, or `None`. A vote of one number has the weight
/// as its magnitude; a vote of several has the highest number for one class and one lower number
/// for all others. All leaves must have the same numbers.
pub(crate) fn vote_weight(leaves: &[Vec<Exact>]) -> Option<Exact> {
    let vote = |leaf: &Vec<Exact>| -> Option<[Exact; 2]> {
        if let [value] = &leaf[..] {
            return Some([value.abs(), Exact::zero()]);
        }
        let highest = leaf.iter().max()?;
        let lowest = leaf.iter().min()?;
        let winners = leaf.iter().filter(|&value| value == highest).count();
        let losers = leaf.iter().filter(|&value| value == lowest).count();
        let votes = highest == lowest || winners == 1 && losers == leaf.len() - 1;
        votes.then(|| [highest.clone(), lowest.clone()])
    };
    let first = vote(leaves.first()?)?;
    let same = leaves.iter().all(|leaf| vote(leaf).is_some_and(|other| other == first));
    (same && first[0].signum() >= 0).then(|| first[0].clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use fastrand::Rng;
    use secateur_model::Grid;
    use secateur_testkit::{Shape, ensemble, every_row, mutate};

    fn folded_sums(model: &Ensemble, folded: &Folded, row: &[f64]) -> Vec<Exact> {
        let mut sums: Vec<Exact> =
            model.intercepts().iter().map(|&value| Exact::from_f64(value).unwrap()).collect();
        sums.iter_mut().zip(&folded.constants).for_each(|(sum, constant)| *sum += constant);
        for term in &folded.terms {
            let leaf = term.tree.walk(|split| model.goes_left(split, row[split.feature.index()]));
            let width = term.values.len() / term.tree.leaf_count();
            let values = &term.values[leaf.index() * width..][..width];
            add_constant(&mut sums, term.tree.output(), values);
        }
        sums
    }

    #[test]
    fn every_score_stays_on_every_cell_of_random_models() {
        let (mut merged, mut constant, mut shrunk) = (0, 0, 0);
        for seed in 0..400 {
            let mut rng = Rng::with_seed(seed);
            let mut shape = Shape::random(&mut rng);
            shape.trees += 4;
            let mut model = ensemble(&mut rng, &shape);
            // Duplicating and dropping trees gives folding something to merge.
            for _ in 0..rng.u32(0..4) {
                model = mutate(&mut rng, &model);
            }
            let grid = Grid::new(&[&model]).unwrap();
            if grid.log10_cells() > 3.0 {
                continue;
            }
            let frozen = (0..model.trees().len()).filter(|_| rng.u32(0..8) == 0).map(TreeId::new).collect();
            let limits = Limits { votes: rng.u32(0..4) == 0, frozen };
            let folded = fold(&model, &limits, &|| false).unwrap();
            for row in every_row(&grid) {
                let read: Vec<f64> = row.iter().map(|&value| model.intake().read(value).unwrap()).collect();
                let expected = model.exact_sums(model.leaves(&read));
                assert_eq!(folded_sums(&model, &folded, &read), expected, "seed {seed}, {row:?}");
            }
            let mut sources: Vec<TreeId> =
                folded.terms.iter().flat_map(|term| term.sources.iter().copied()).collect();
            sources.extend(&folded.constant_trees);
            sources.sort();
            let all: Vec<TreeId> = (0..model.trees().len()).map(TreeId::new).collect();
            assert_eq!(sources, all, "seed {seed}: every tree is somewhere, once");
            for term in &folded.terms {
                let host = model.tree(term.host);
                assert!(term.tree.leaf_count() <= host.leaf_count(), "seed {seed}");
                assert!(term.plain || !limits.frozen.contains(&term.host), "seed {seed}");
                assert!(!term.plain || term.sources == [term.host], "seed {seed}");
                // Votes are added only to votes of the same structure, into the last of them.
                assert!(
                    !limits.votes || term.sources.iter().all(|&source| source <= term.host),
                    "seed {seed}"
                );
                merged += usize::from(term.sources.len() > 1);
                shrunk += usize::from(term.tree.leaf_count() < host.leaf_count());
            }
            constant += folded.constant_trees.len();
            let same = unfolded(&model, &|| false).unwrap();
            let row = every_row(&grid).next().unwrap();
            let read: Vec<f64> = row.iter().map(|&value| model.intake().read(value).unwrap()).collect();
            assert_eq!(folded_sums(&model, &same, &read), model.exact_sums(model.leaves(&read)));
            assert_eq!(same.terms.len(), model.trees().len());
        }
        assert!(merged > 50 && constant > 50 && shrunk > 50, "{merged} {constant} {shrunk}");
    }
}
