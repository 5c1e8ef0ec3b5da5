//! Scores along one axis: what the model returns in every cell of a feature while all other
//! features stay the same.
//!
//! Only trees that split the axis change along it, and only at their own splits. So a whole profile
//! takes about as many steps as there are reachable leaves in those trees. Numbers are f64 and
//! serve as hints; whatever is claimed from them is computed again, exactly.

use secateur_model::{CellId, Decision, Ensemble, Grid, LeafId, Node, Output};

/// The trees of a model over the cells of a grid.
pub(crate) struct Profiles<'a> {
    grid: &'a Grid,
    /// How many scores decide: one (positive for class 1) if there is a threshold, otherwise one
    /// for each class.
    width: usize,
    start: Vec<f64>,
    trees: Vec<CellTree>,
    /// For each axis, the trees that split it.
    by_axis: Vec<Vec<u32>>,
}

struct CellTree {
    nodes: Vec<CellNode>,
    /// `width` numbers for each leaf, already multiplied by the tree's weight.
    values: Vec<f64>,
}

enum CellNode {
    Split(CellSplit),
    /// The index of the leaf's first value.
    Leaf(usize),
}

struct CellSplit {
    axis: u32,
    left: u32,
    right: u32,
    sides: Sides,
}

/// Which cells of an axis go left. The side changes at each cell of `side_changes`.
struct Sides {
    first_left: bool,
    side_changes: Vec<u32>,
}

impl Sides {
    fn left(&self, cell: CellId) -> bool {
        let side_changes = self.side_changes.iter().take_while(|&&change| change <= cell.0).count();
        (side_changes % 2 == 0) == self.first_left
    }
}

/// A step on the path to a node: an axis, and which of its cells stay on the path.
pub(crate) struct Passage<'a> {
    pub(crate) axis: usize,
    sides: &'a Sides,
    left: bool,
}

impl Passage<'_> {
    pub(crate) fn admits(&self, cell: CellId) -> bool {
        self.sides.left(cell) == self.left
    }
}

/// The cells, of the first `cells` along one axis, that all these passages admit. A tree may split
/// an axis on every level, so cells are counted where sides change, not tested one by one.
pub(crate) fn admitted_by_all<'a>(
    passages: impl Iterator<Item = &'a Passage<'a>>,
    cells: usize,
) -> Vec<CellId> {
    let mut count = 0;
    // By how many more passages each cell is admitted than the cell before it.
    let mut more = vec![0i64; cells];
    for passage in passages {
        count += 1;
        let mut admits = passage.sides.first_left == passage.left;
        more[0] += i64::from(admits);
        for &change in passage.sides.side_changes.iter().filter(|&&change| (change as usize) < cells) {
            admits = !admits;
            more[change as usize] += if admits { 1 } else { -1 };
        }
    }
    let mut admitting = 0;
    let admitted = |cell: &CellId| {
        admitting += more[cell.index()];
        admitting == count
    };
    (0..cells).map(CellId::new).filter(admitted).collect()
}

impl<'a> Profiles<'a> {
    /// Lays out the trees; the grid must be the model's.
    pub(crate) fn new(model: &Ensemble, grid: &'a Grid) -> Self {
        let divisor = model.accumulation().divisor();
        let (width, decides, start) = match *model.decision() {
            Decision::Threshold { group, threshold, .. } => {
                (1, Some(group.index()), vec![model.intercepts()[group.index()] - threshold * divisor])
            }
            _ => (model.group_count(), None, model.intercepts().to_vec()),
        };
        let mut trees = Vec::with_capacity(model.trees().len());
        let mut by_axis = vec![Vec::new(); grid.axes().len()];
        for (index, tree) in model.trees().iter().enumerate() {
            let mut values = vec![0.0; tree.leaf_count() * width];
            for (leaf, slots) in values.chunks_mut(width).enumerate() {
                let own = tree.leaf(LeafId::new(leaf));
                for (slot, class) in slots.iter_mut().zip(0..) {
                    let group = decides.unwrap_or(class);
                    *slot = tree.weight()
                        * match tree.output() {
                            Output::Group(of) if of.index() == group => own[0],
                            Output::Group(_) => 0.0,
                            Output::All => own[group],
                        };
                }
            }
            let nodes = tree
                .nodes()
                .map(|(_, node)| match node {
                    Node::Split { split, left, right } => {
                        let axis = grid.axis_of(split.feature).expect("the grid has every split's feature");
                        let set = grid.axes()[axis].left_cells(model, split, grid.intake());
                        let sides = Sides {
                            first_left: set.contains(CellId(0)),
                            side_changes: set.changes().to_vec(),
                        };
                        by_axis[axis].push(index as u32);
                        CellNode::Split(CellSplit { axis: axis as u32, left: left.0, right: right.0, sides })
                    }
                    Node::Leaf(leaf) => CellNode::Leaf(leaf.index() * width),
                    Node::Unused => CellNode::Leaf(0),
                })
                .collect();
            trees.push(CellTree { nodes, values });
        }
        by_axis.iter_mut().for_each(Vec::dedup);
        Self { grid, width, start, trees, by_axis }
    }

    pub(crate) fn grid(&self) -> &'a Grid {
        self.grid
    }

    /// How many scores a cell has.
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// How many cells an axis has, including the missing one.
    pub(crate) fn axis_len(&self, axis: usize) -> usize {
        self.grid.axes()[axis].len()
    }

    /// About how much work it takes to make a profile along an axis, in visits of leaves.
    pub(crate) fn work(&self, axis: usize) -> u64 {
        const WAY: u64 = 32;
        (self.axis_len(axis) * self.width) as u64 + WAY * self.by_axis[axis].len() as u64
    }

    pub(crate) fn random_cells(&self, rng: &mut fastrand::Rng) -> Vec<CellId> {
        self.grid.axes().iter().map(|axis| CellId(rng.u32(0..axis.len() as u32))).collect()
    }

    /// The scores in one cell of the space.
    pub(crate) fn scores(&self, cells: &[CellId]) -> Vec<f64> {
        let mut scores = self.start.clone();
        for tree in &self.trees {
            let mut at = 0;
            let leaf = loop {
                match &tree.nodes[at] {
                    CellNode::Split(split) => {
                        let left = split.sides.left(cells[split.axis as usize]);
                        at = if left { split.left } else { split.right } as usize;
                    }
                    CellNode::Leaf(first) => break *first,
                }
            };
            for (score, value) in scores.iter_mut().zip(&tree.values[leaf..]) {
                *score += value;
            }
        }
        scores
    }

    /// What the trees that split `axis` add in each of its cells, `width` numbers for each cell.
    pub(crate) fn profile(&self, cells: &[CellId], axis: usize, out: &mut Vec<f64>) {
        let (width, len) = (self.width, self.axis_len(axis));
        out.clear();
        out.resize((len + 1) * width, 0.0);
        let mut open: Vec<(u32, u32, u32)> = Vec::new();
        for &tree in &self.by_axis[axis] {
            let tree = &self.trees[tree as usize];
            open.push((0, 0, len as u32));
            while let Some((at, low, high)) = open.pop() {
                match &tree.nodes[at as usize] {
                    CellNode::Leaf(first) => {
                        // Only differences between neighbouring cells; they are summed up below.
                        for (slot, value) in tree.values[*first..][..width].iter().enumerate() {
                            out[low as usize * width + slot] += value;
                            out[high as usize * width + slot] -= value;
                        }
                    }
                    CellNode::Split(split) if split.axis as usize == axis => {
                        let (mut from, mut left) = (low, split.sides.left(CellId(low)));
                        for &change in
                            split.sides.side_changes.iter().filter(|&&change| change > low && change < high)
                        {
                            open.push((if left { split.left } else { split.right }, from, change));
                            (from, left) = (change, !left);
                        }
                        open.push((if left { split.left } else { split.right }, from, high));
                    }
                    CellNode::Split(split) => {
                        let left = split.sides.left(cells[split.axis as usize]);
                        open.push((if left { split.left } else { split.right }, low, high));
                    }
                }
            }
        }
        for slot in width..len * width {
            out[slot] += out[slot - width];
        }
        out.truncate(len * width);
    }

    /// The class that these scores decide for, and its lead over the second.
    pub(crate) fn top(&self, scores: &[f64]) -> (usize, f64) {
        if self.width == 1 {
            return (usize::from(scores[0] > 0.0), scores[0].abs());
        }
        let mut first = 0;
        for class in 1..self.width {
            if scores[class] > scores[first] {
                first = class;
            }
        }
        let others = scores.iter().enumerate().filter(|(class, _)| *class != first);
        (first, others.fold(f64::INFINITY, |least, (_, score)| least.min(scores[first] - score)))
    }

    /// For each node whose side changes between `cell - 1` and `cell` of an axis: the path to it.
    pub(crate) fn ways_to(&self, axis: usize, cell: u32) -> Vec<Vec<Passage<'_>>> {
        let mut ways = Vec::new();
        for &tree in &self.by_axis[axis] {
            let tree = &self.trees[tree as usize];
            let mut parents: Vec<Option<(usize, bool)>> = vec![None; tree.nodes.len()];
            for (index, node) in tree.nodes.iter().enumerate() {
                if let CellNode::Split(split) = node {
                    parents[split.left as usize] = Some((index, true));
                    parents[split.right as usize] = Some((index, false));
                }
            }
            for (index, node) in tree.nodes.iter().enumerate() {
                let CellNode::Split(split) = node else { continue };
                if split.axis as usize != axis || split.sides.side_changes.binary_search(&cell).is_err() {
                    continue;
                }
                let mut way = Vec::new();
                let mut at = index;
                while let Some((parent, left)) = parents[at] {
                    if let CellNode::Split(split) = &tree.nodes[parent] {
                        way.push(Passage { axis: split.axis as usize, sides: &split.sides, left });
                    }
                    at = parent;
                }
                ways.push(way);
            }
        }
        ways
    }
}

#[cfg(test)]
mod tests {
    use secateur_testkit::{Shape, all_cells, ensemble};

    use super::*;

    #[test]
    fn admitted_cells_are_those_that_every_passage_admits() {
        let mut rng = fastrand::Rng::with_seed(8);
        for _ in 0..500 {
            let cells = rng.usize(1..9);
            let sides: Vec<Sides> = (0..rng.usize(0..4))
                .map(|_| {
                    let side_changes = (1..cells as u32).filter(|_| rng.bool()).collect();
                    Sides { first_left: rng.bool(), side_changes }
                })
                .collect();
            let passages: Vec<Passage<'_>> =
                sides.iter().map(|sides| Passage { axis: 0, sides, left: rng.bool() }).collect();
            let expected: Vec<CellId> = (0..cells)
                .map(CellId::new)
                .filter(|&cell| passages.iter().all(|passage| passage.admits(cell)))
                .collect();
            assert_eq!(admitted_by_all(passages.iter(), cells), expected);
        }
    }

    #[test]
    fn a_profile_is_the_scores_of_each_cell() {
        let mut rng = fastrand::Rng::with_seed(7);
        for _ in 0..200 {
            let shape = Shape::random(&mut rng);
            let model = ensemble(&mut rng, &shape);
            let grid = Grid::new(&[&model]).unwrap();
            let profiles = Profiles::new(&model, &grid);
            let mut out = Vec::new();
            for cells in all_cells(&grid).step_by(7).take(20) {
                let scores = profiles.scores(&cells);
                let sums = model.exact_sums(model.leaves(&grid.witness(&cells)));
                if profiles.width() > 1 {
                    for (score, sum) in scores.iter().zip(&sums) {
                        assert!((score - sum.to_f64()).abs() <= 1e-9 * (1.0 + score.abs()));
                    }
                }
                for axis in 0..grid.axes().len() {
                    profiles.profile(&cells, axis, &mut out);
                    let width = profiles.width();
                    let own = cells[axis].index();
                    for cell in 0..profiles.axis_len(axis) {
                        let mut moved = cells.clone();
                        moved[axis] = CellId::new(cell);
                        for (slot, expected) in profiles.scores(&moved).iter().enumerate() {
                            let found = scores[slot] + out[cell * width + slot] - out[own * width + slot];
                            assert!(
                                (found - expected).abs() <= 1e-9 * (1.0 + found.abs()),
                                "{found} {expected}"
                            );
                        }
                    }
                }
            }
        }
    }
}
