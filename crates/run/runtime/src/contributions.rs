//! What each column contributes to a row's raw scores: SHAP values by the covers of the trees, as
//! the libraries' own "path-dependent TreeSHAP" defines them.
//!
//! A leaf with value `v` is reached through conditions on `d` different columns. For column `i` let
//! `o_i` be 1 if the row meets all conditions on it, else 0, and `z_i` the product of the cover
//! ratios of these steps. The leaf gives column `i`
//!
//! ```text
//! v * (o_i - z_i) * (the integral from 0 to 1 over t of the product over j != i of (z_j (1 - t) + o_j t))
//! ```
//!
//! which is the Shapley value, because `t^k (1 - t)^(d - 1 - k)` integrates to `k! (d - 1 - k)! / d!`.
//! The integrand is a polynomial of degree `d - 1`, so Gauss-Legendre quadrature with `(d + 1) / 2`
//! points is exact. At each point the product along a path needs one multiplication a step, and the
//! sums of a subtree's leaves one addition a node: the time for a tree is its nodes times the points.
//! All factors are nonnegative, so nothing cancels in the products.
//!
//! A column that is asked about again on the same path changes its own factor. Each step therefore
//! adds the new term of its column for the leaves below it and takes back the term of the step
//! before.

use alloc::vec;
use alloc::vec::Vec;

use crate::error::PredictError;
use crate::file::{Category, File, Kind, LEAF, Tests};
use crate::meaning::Number;
use crate::model::Model;
use crate::rows::{AnyRows, Float, Rows};
use crate::scalar;

/// Points of the quadrature that are computed side by side.
const LANES: usize = 4;
/// More different columns on one path than this are refused, and longer paths.
const MOST_COLUMNS: usize = 128;
const MOST_DEPTH: usize = 4096;
/// No step before this one asks about its column.
const NONE: u32 = u32::MAX;

type Lane = [f64; LANES];

/// The tables that contributions are computed with, made from a model's covers.
#[derive(Clone, Debug)]
pub struct Contributions {
    trees: Vec<Explained>,
    /// The test column of each test, and where that column's tests begin.
    tests: usize,
    /// The sums that the contributions start from, one for each output: the expected score.
    expected: Vec<f64>,
    error: Vec<f64>,
}

#[derive(Clone, Debug)]
struct Explained {
    /// Nodes in preorder.
    nodes: Vec<Step>,
    /// For each group of points, a table for each node.
    points: Vec<Vec<Factors>>,
    /// The leaves' values times what the tree's sum is multiplied by, one for each output that the
    /// tree adds to, by leaf in preorder.
    leaves: Vec<f64>,
    /// The output that it adds to; `None` for all.
    output: Option<usize>,
}

/// A node, as the step that leads to it from its parent.
#[derive(Clone, Copy, Debug)]
struct Step {
    parent: u32,
    /// The test of the parent, the column that it asks about, and whether this is the left child.
    test: u32,
    column: u32,
    is_left: bool,
    /// The node that the step before about this column leads to.
    before: u32,
    /// The position among the leaves, or [`NONE`].
    leaf: u32,
}

/// For the three states of a step (the row left the path at an earlier step about this column; it
/// leaves it here; it stays): the factor of the product, and what a leaf's product is multiplied by
/// to give the column's term.
#[derive(Clone, Copy, Debug)]
struct Factors {
    product: [Lane; 3],
    term: [Lane; 3],
}

const LEFT_BEFORE: u8 = 0;
const LEAVES: u8 = 1;
const STAYS: u8 = 2;

impl Model {
    /// Does the file say how much data reached each node, as [`Contributions`] need it?
    pub fn has_covers(&self) -> bool {
        self.file.covers.is_some()
    }
}

impl Contributions {
    /// Prepares the tables. Refuses a model whose file has no covers.
    pub fn new(model: &Model) -> Result<Self, PredictError> {
        let file = &model.file;
        let covers = file.covers.as_deref().ok_or(PredictError::NoCovers)?;
        let outputs = file.intercepts.len();
        let divisor = match file.sums.average {
            Some((divisor, true)) => divisor,
            _ => 1.0,
        };
        let scale = file.sums.scale.unwrap_or(1.0);
        let mut columns = Vec::new();
        for column in &file.columns {
            columns.extend(core::iter::repeat_n(column.feature, column.tests.len()));
        }
        let mut expected: Vec<f64> = file.intercepts.iter().map(|intercept| intercept / divisor).collect();
        // What the bounds are made of: for each output the sum of the largest leaves of its trees, once
        // plain and once times the number of terms that its columns get.
        let (mut largest, mut terms) = (vec![0.0f64; outputs], vec![0.0f64; outputs]);
        let mut steps = 0usize;
        let mut depth = 0usize;
        let mut trees = Vec::with_capacity(file.trees.len());
        for tree in &file.trees {
            let width = if tree.group.is_some() { 1 } else { outputs };
            let nodes = &file.nodes[tree.nodes.clone()];
            let covers = &covers[tree.nodes.clone()];
            let shape = Shape::of(nodes, &columns).ok_or(PredictError::TooDeep)?;
            let factor = tree.weight * scale / divisor;
            let count = shape.steps.iter().filter(|step| step.leaf != NONE).count();
            let values = &file.leaves[tree.values..][..count * width];
            let leaves: Vec<f64> = values.iter().map(|value| value * factor).collect();
            let ratios = shape.ratios(covers);
            let points = quadrature(shape.most_columns.div_ceil(2).max(1));
            let points = points.chunks(LANES).map(|points| shape.factors(&ratios, points)).collect();
            let share = shape.shares(&ratios);
            for (at, step) in shape.steps.iter().enumerate().filter(|(_, step)| step.leaf != NONE) {
                for (index, value) in leaves[step.leaf as usize * width..][..width].iter().enumerate() {
                    expected[tree.group.map_or(index, |group| group as usize)] += share[at] * value;
                }
            }
            for index in 0..width {
                let output = tree.group.map_or(index, |group| group as usize);
                let most =
                    leaves.iter().skip(index).step_by(width).fold(0.0, |most, v| f64::max(most, v.abs()));
                largest[output] += most;
                terms[output] += most * (4 * shape.columns * shape.most_repeated.max(1)) as f64;
            }
            steps += nodes.len();
            depth = depth.max(shape.depth);
            let output = tree.group.map(|group| group as usize);
            trees.push(Explained { nodes: shape.steps, points, leaves, output });
        }
        // Each product has at most `depth` factors, of which each is right to sixteen units; its sums
        // have at most as many terms as all trees have nodes. The library's own sum rounds once a tree.
        let unit = f64::EPSILON;
        let own = match file.sums.number {
            Number::F32 => f64::from(f32::EPSILON),
            Number::F64 => f64::EPSILON,
        };
        let rounds = (file.trees.len() + 4) as f64;
        let error = (0..outputs)
            .map(|output| {
                let all = largest[output] + (file.intercepts[output] / divisor).abs();
                let computed = unit * (16 * depth + steps + file.features as usize + 64) as f64;
                (computed * (terms[output] + 2.0 * all) + own * rounds * all) * 1.01
            })
            .collect();
        Ok(Self { trees, tests: columns.len(), expected, error })
    }

    /// For each output a bound on the distance of a row's raw score from the sum of its
    /// contributions, the last one (the expected score) included.
    pub fn error(&self) -> &[f64] {
        &self.error
    }

    /// The contributions of rows, one row after the other: for each output a number for each column,
    /// and then the expected score. `model` is the one that the tables were made of.
    pub fn of<T: Float>(
        &self,
        model: &Model,
        rows: Rows<'_, T>,
        out: &mut [f64],
    ) -> Result<(), PredictError> {
        let file = &model.file;
        let (width, outputs) = (file.features as usize, self.expected.len());
        if rows.width() != width {
            return Err(PredictError::Width { found: rows.width(), expected: width });
        }
        let each = outputs * (width + 1);
        let expected = rows.count().saturating_mul(each);
        if out.len() != expected {
            return Err(PredictError::Output { found: out.len(), expected });
        }
        let rows = T::any(rows);
        let most = self.trees.iter().map(|tree| tree.nodes.len()).max().unwrap_or(0);
        let mut work = Work {
            left: vec![false; self.tests],
            state: vec![STAYS; most],
            met: vec![true; most],
            product: vec![[0.0; LANES]; most],
            below: vec![[0.0; LANES]; most],
            found: vec![[0.0; LANES]; outputs * width],
        };
        for (row, out) in out.chunks_mut(each.max(1)).enumerate() {
            scalar::check(file, &rows, row)?;
            work.answer(file, &rows, row);
            work.found.fill([0.0; LANES]);
            self.trees.iter().for_each(|tree| work.explain(tree, outputs, width));
            for (output, out) in out.chunks_mut(width + 1).enumerate() {
                let found = &work.found[output * width..][..width];
                for (to, lanes) in out.iter_mut().zip(found) {
                    *to = (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
                }
                out[width] = self.expected[output];
            }
        }
        Ok(())
    }
}

/// What is computed for one row.
struct Work {
    /// For each test, whether the row goes left.
    left: Vec<bool>,
    /// By node: the state of the step that leads to it; whether the row meets all conditions on this
    /// column so far.
    state: Vec<u8>,
    met: Vec<bool>,
    /// By node: the product along the path, and the sum of the leaves below, each times its product.
    product: Vec<Lane>,
    below: Vec<Lane>,
    /// By output and column.
    found: Vec<Lane>,
}

impl Work {
    /// Answers all tests for a row that the library accepts.
    fn answer(&mut self, file: &File, rows: &AnyRows<'_>, row: usize) {
        let mut rest = &mut self.left[..];
        for column in &file.columns {
            let (left, others) = rest.split_at_mut(column.tests.len());
            rest = others;
            let feature = column.feature as usize;
            let value = rows.value(row, feature);
            let value = file.domain.read(value).unwrap_or(value);
            if value.is_nan() {
                left.fill(column.missing_left);
                continue;
            }
            match (&column.tests, column.kind) {
                (Tests::Numbers(_), Kind::ButZero { zero_left }) if value == 0.0 => left.fill(zero_left),
                (Tests::Numbers(numbers), Kind::Less) => {
                    left.iter_mut().zip(numbers).for_each(|(left, number)| *left = value < *number);
                }
                (Tests::Numbers(numbers), Kind::Equal) => {
                    left.iter_mut().zip(numbers).for_each(|(left, number)| *left = value == *number);
                }
                (Tests::Numbers(numbers), _) => {
                    left.iter_mut().zip(numbers).for_each(|(left, number)| *left = value <= *number);
                }
                (Tests::Sets(sets), kind) => {
                    let known = file.categories.binary_search_by_key(&column.feature, |known| known.feature);
                    let category: Option<&Category> = known.ok().map(|at| &file.categories[at]);
                    let code = category.and_then(|category| category.rule.code(value));
                    if code.is_none() && category.is_some_and(|category| category.unseen_is_missing) {
                        left.fill(column.missing_left);
                        continue;
                    }
                    let members_left = kind == Kind::Member { members_left: true };
                    for (left, set) in left.iter_mut().zip(sets) {
                        let member = code.is_some_and(|code| set.binary_search(&code).is_ok());
                        *left = member == members_left;
                    }
                }
            }
        }
    }

    /// Adds the terms of a tree.
    fn explain(&mut self, tree: &Explained, outputs: usize, width: usize) {
        let count = tree.nodes.len();
        for (at, step) in tree.nodes.iter().enumerate().skip(1) {
            let takes = self.left[step.test as usize] == step.is_left;
            let before = step.before == NONE || self.met[step.before as usize];
            self.met[at] = takes && before;
            self.state[at] = match (before, takes) {
                (false, _) => LEFT_BEFORE,
                (true, false) => LEAVES,
                (true, true) => STAYS,
            };
        }
        let (values, range) = match tree.output {
            Some(output) => (1, output..output + 1),
            None => (outputs, 0..outputs),
        };
        for factors in &tree.points {
            self.product[0] = [1.0; LANES];
            for (at, (step, factors)) in tree.nodes.iter().zip(factors).enumerate().skip(1) {
                self.product[at] =
                    times(self.product[step.parent as usize], factors.product[self.state[at] as usize]);
            }
            for (index, output) in range.clone().enumerate() {
                let found = &mut self.found[output * width..][..width];
                self.below[..count].fill([0.0; LANES]);
                for (at, (step, factors)) in tree.nodes.iter().zip(factors).enumerate().skip(1).rev() {
                    if step.leaf != NONE {
                        let value = tree.leaves[step.leaf as usize * values + index];
                        self.below[at] = times(self.product[at], [value; LANES]);
                    }
                    let below = self.below[at];
                    add(&mut self.below[step.parent as usize], below);
                    add(
                        &mut found[step.column as usize],
                        times(below, factors.term[self.state[at] as usize]),
                    );
                }
            }
        }
    }
}

#[inline]
fn times(a: Lane, b: Lane) -> Lane {
    [a[0] * b[0], a[1] * b[1], a[2] * b[2], a[3] * b[3]]
}

#[inline]
fn add(to: &mut Lane, what: Lane) {
    to.iter_mut().zip(what).for_each(|(to, what)| *to += what);
}

/// A tree's steps and what is counted of them.
struct Shape {
    steps: Vec<Step>,
    depth: usize,
    /// Different columns in the tree, and the most on one path.
    columns: usize,
    most_columns: usize,
    /// The most steps about one column on one path.
    most_repeated: usize,
}

impl Shape {
    /// `nodes` are in preorder; `columns` has the table column of each test. `None` if a path is too
    /// long.
    fn of(nodes: &[u32], columns: &[u32]) -> Option<Self> {
        let root = Step { parent: 0, test: 0, column: 0, is_left: true, before: NONE, leaf: NONE };
        let mut steps: Vec<Step> = Vec::with_capacity(nodes.len());
        // The splits whose right child has not been seen, and the number of columns on each path.
        let mut waiting: Vec<u32> = Vec::new();
        let mut on_path: Vec<(usize, usize, usize)> = Vec::with_capacity(nodes.len());
        let mut shape = Self { steps: Vec::new(), depth: 0, columns: 0, most_columns: 0, most_repeated: 0 };
        let mut leaves = 0;
        let mut parent_is_left: Option<(u32, bool)> = None;
        let mut used: Vec<u32> = Vec::new();
        for (at, &node) in nodes.iter().enumerate() {
            let mut step = root;
            let mut path = (0, 0, 0);
            if let Some((parent, is_left)) = parent_is_left {
                let test = nodes[parent as usize];
                let column = columns[test as usize];
                let mut before = parent;
                let mut repeated = 1;
                // The nearest step about the same column. Only paths are walked, no whole trees.
                let mut found = NONE;
                while before != 0 {
                    let above: Step = steps[before as usize];
                    if above.column == column {
                        if found == NONE {
                            found = before;
                        }
                        repeated += 1;
                    }
                    before = above.parent;
                }
                step = Step { parent, test, column, is_left, before: found, leaf: NONE };
                let (depth, columns, most) = on_path[parent as usize];
                path = (depth + 1, columns + usize::from(found == NONE), most.max(repeated));
                used.push(column);
            }
            if node == LEAF {
                step.leaf = leaves;
                leaves += 1;
                parent_is_left = waiting.pop().map(|split| (split, false));
            } else {
                waiting.push(at as u32);
                parent_is_left = Some((at as u32, true));
            }
            if path.0 > MOST_DEPTH || path.1 > MOST_COLUMNS {
                return None;
            }
            shape.depth = shape.depth.max(path.0);
            shape.most_columns = shape.most_columns.max(path.1);
            shape.most_repeated = shape.most_repeated.max(path.2);
            steps.push(step);
            on_path.push(path);
        }
        used.sort_unstable();
        used.dedup();
        shape.columns = used.len();
        shape.steps = steps;
        Some(shape)
    }

    /// For each node the product of the cover ratios of the steps about its column, up to it.
    fn ratios(&self, covers: &[f64]) -> Vec<f64> {
        let mut ratios = vec![1.0; self.steps.len()];
        for (at, step) in self.steps.iter().enumerate().skip(1) {
            let before = if step.before == NONE { 1.0 } else { ratios[step.before as usize] };
            ratios[at] = before * (covers[at] / covers[step.parent as usize]);
        }
        ratios
    }

    /// For each node the product of all cover ratios on its path.
    fn shares(&self, ratios: &[f64]) -> Vec<f64> {
        let mut shares = vec![1.0; self.steps.len()];
        for (at, step) in self.steps.iter().enumerate().skip(1) {
            let before = if step.before == NONE { 1.0 } else { ratios[step.before as usize] };
            // A node without cover has none below it, whatever its own ratio is.
            let ratio = if before == 0.0 { 0.0 } else { ratios[at] / before };
            shares[at] = shares[step.parent as usize] * ratio;
        }
        shares
    }

    /// The factors of each step at these points, each with its weight.
    fn factors(&self, ratios: &[f64], points: &[[f64; 3]]) -> Vec<Factors> {
        let zero = Factors { product: [[0.0; LANES]; 3], term: [[0.0; LANES]; 3] };
        let mut all = vec![zero; self.steps.len()];
        for (at, step) in self.steps.iter().enumerate().skip(1) {
            let before = if step.before == NONE { 1.0 } else { ratios[step.before as usize] };
            let ratio = ratios[at];
            // `t`, `1 - t` and the weight. Lanes without a point keep zeros.
            for (lane, &[t, rest, weight]) in points.iter().enumerate() {
                let (stays, stayed) = (ratio * rest + t, before * rest + t);
                let again = if before > 0.0 { ratio / before } else { 0.0 };
                // `(o - z) / (z (1 - t) + o t)` for o = 0 and o = 1.
                let gone = -1.0 / rest;
                let (here, there) = ((1.0 - ratio) / stays, (1.0 - before) / stayed);
                let factors = &mut all[at];
                factors.product[LEFT_BEFORE as usize][lane] = again;
                factors.product[LEAVES as usize][lane] = ratio * rest / stayed;
                factors.product[STAYS as usize][lane] = stays / stayed;
                // Both steps have the same term if the row had left before.
                factors.term[LEFT_BEFORE as usize][lane] = 0.0;
                factors.term[LEAVES as usize][lane] = weight * (gone - there);
                factors.term[STAYS as usize][lane] = weight * (here - there);
            }
        }
        all
    }
}

/// The points and weights of Gauss-Legendre quadrature from 0 to 1: `t`, `1 - t`, weight. Exact for
/// polynomials of degree below `2 * count`.
fn quadrature(count: usize) -> Vec<[f64; 3]> {
    let n = count as f64;
    let mut points = vec![[0.0; 3]; count];
    for index in 0..count.div_ceil(2) {
        // Newton's method from the usual estimate of the root of the Legendre polynomial.
        let mut x = cosine(core::f64::consts::PI * (index as f64 + 0.75) / (n + 0.5));
        let mut slope = 1.0;
        for _ in 0..100 {
            let (mut value, mut before) = (1.0, 0.0);
            for degree in 0..count {
                let d = degree as f64;
                (value, before) = (((2.0 * d + 1.0) * x * value - d * before) / (d + 1.0), value);
            }
            slope = n * (x * value - before) / (x * x - 1.0);
            let step = value / slope;
            x -= step;
            if step.abs() <= 1e-16 {
                break;
            }
        }
        let weight = 1.0 / ((1.0 - x * x) * slope * slope);
        let (high, low) = ((1.0 + x) / 2.0, (1.0 - x) / 2.0);
        points[index] = [low, high, weight];
        points[count - 1 - index] = [high, low, weight];
    }
    points
}

/// The cosine of an angle from 0 to pi/2, near enough as a start for Newton's method; without
/// `std` there is no other.
fn cosine(angle: f64) -> f64 {
    let square = angle * angle;
    let mut term = 1.0;
    let mut sum = 1.0;
    for step in 1..12 {
        let step = f64::from(2 * step);
        term *= -square / (step * (step - 1.0));
        sum += term;
    }
    sum
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::*;
    use crate::file::File;
    use crate::tests::{Random, left, model};

    /// Covers that halve at random, so that some are zero at leaves.
    fn with_covers(random: &mut Random, mut file: File) -> File {
        let mut covers = vec![0.0; file.nodes.len()];
        for tree in &file.trees {
            let nodes = &file.nodes[tree.nodes.clone()];
            let mut open = vec![1000.0];
            for (at, &node) in nodes.iter().enumerate() {
                let own: f64 = open.pop().unwrap();
                covers[tree.nodes.start + at] = own;
                if node != LEAF {
                    // A leaf may have no cover; a split may not.
                    let part = 0.125 + 0.75 * random.below(7) as f64 / 8.0;
                    let is_leaf = nodes[at + 1] == LEAF;
                    let left = if is_leaf && random.below(8) == 0 { 0.0 } else { own * part };
                    open.push(own - left);
                    open.push(left);
                }
            }
        }
        file.covers = Some(covers);
        file
    }

    /// The expected score of a row of which only the columns in `known` are known, by the covers.
    fn expected(file: &File, row: &[f64], known: u32) -> Vec<f64> {
        let divisor = match file.sums.average {
            Some((divisor, true)) => divisor,
            _ => 1.0,
        };
        let scale = file.sums.scale.unwrap_or(1.0);
        let mut sums = file.intercepts.clone();
        let outputs = sums.len();
        let mut columns = Vec::new();
        for column in &file.columns {
            columns.extend(core::iter::repeat_n(column.feature, column.tests.len()));
        }
        let covers = file.covers.as_ref().unwrap();
        for tree in &file.trees {
            let nodes = &file.nodes[tree.nodes.clone()];
            let covers = &covers[tree.nodes.clone()];
            let width = if tree.group.is_some() { 1 } else { outputs };
            // The share of each node, in preorder; the right child follows the left subtree.
            let mut open = vec![(1.0, 0usize)];
            let mut leaf = 0;
            for (at, &node) in nodes.iter().enumerate() {
                let (share, _) = open.pop().unwrap();
                if node == LEAF {
                    for index in 0..width {
                        let output = tree.group.map_or(index, |group| group as usize);
                        sums[output] +=
                            share * tree.weight * scale * file.leaves[tree.values + leaf * width + index];
                    }
                    leaf += 1;
                } else {
                    let mut end = 1;
                    let mut right = at + 1;
                    while end > 0 {
                        if nodes[right] == LEAF {
                            end -= 1
                        } else {
                            end += 1
                        }
                        right += 1;
                    }
                    let [l, r] = if known >> columns[node as usize] & 1 == 1 {
                        if left(file, node as usize, row) { [1.0, 0.0] } else { [0.0, 1.0] }
                    } else {
                        [covers[at + 1] / covers[at], covers[right] / covers[at]]
                    };
                    open.push((share * r, right));
                    open.push((share * l, at + 1));
                }
            }
        }
        sums.iter().map(|sum| sum / divisor).collect()
    }

    /// Shapley's formula over all subsets of the columns.
    fn shapley(file: &File, row: &[f64], column: usize) -> Vec<f64> {
        let features = file.features as usize;
        let factorial = |n: usize| (1..=n).map(|k| k as f64).product::<f64>();
        let mut sums = vec![0.0; file.intercepts.len()];
        for known in (0..1u32 << features).filter(|known| known >> column & 1 == 0) {
            let size = known.count_ones() as usize;
            let weight = factorial(size) * factorial(features - 1 - size) / factorial(features);
            let (without, with) = (expected(file, row, known), expected(file, row, known | 1 << column));
            for (sum, (with, without)) in sums.iter_mut().zip(with.into_iter().zip(without)) {
                *sum += weight * (with - without);
            }
        }
        sums
    }

    #[test]
    fn contributions_are_shapley_values_and_add_up() {
        let mut random = Random(77);
        let mut looked_at = 0;
        for round in 0..if cfg!(miri) { 3 } else { 60 } {
            let file = model(&mut random, 1 + round % 6, 1 + round % 5, 6);
            let file = with_covers(&mut random, file);
            let features = file.features as usize;
            if features == 0 || features > 7 {
                continue;
            }
            let model = Model::of(file.clone()).unwrap();
            let tables = Contributions::new(&model).unwrap();
            let outputs = file.intercepts.len();
            let factor = file.sums.scale.unwrap_or(1.0).abs().max(1.0);
            let weights = file.trees.iter().map(|tree| tree.weight.abs()).fold(1.0, f64::max);
            let leaves: f64 = file.leaves.iter().map(|leaf| leaf.abs()).sum();
            let size = 10.0 + factor * weights * leaves;
            for _ in 0..if cfg!(miri) { 1 } else { 6 } {
                let row: Vec<f64> = (0..features).map(|_| f64::from(random.below(9) as u32) - 4.0).collect();
                let rows = Rows::row_major(&row, features).unwrap();
                let mut out = vec![0.0; outputs * (features + 1)];
                if tables.of(&model, rows, &mut out).is_err() {
                    continue;
                }
                let mut scores = vec![0.0; outputs];
                model.raw_scores(rows, &mut scores).unwrap();
                for column in 0..features {
                    for (output, value) in shapley(&file, &row, column).into_iter().enumerate() {
                        let found = out[output * (features + 1) + column];
                        assert!((found - value).abs() <= 1e-12 * size, "{found} {value} {size}");
                    }
                }
                for output in 0..outputs {
                    let own = &out[output * (features + 1)..][..features + 1];
                    let sum: f64 = own.iter().sum();
                    let bound = tables.error()[output];
                    assert!((sum - scores[output]).abs() <= bound, "{sum} {} {bound}", scores[output]);
                    assert!(bound < 1e-4 * size, "{bound} {size}");
                    assert!((own[features] - expected(&file, &row, 0)[output]).abs() <= 1e-12 * size);
                }
                looked_at += 1;
            }
        }
        assert!(cfg!(miri) || looked_at > 100, "{looked_at}");
    }

    #[test]
    fn a_model_without_covers_is_refused() {
        let file = model(&mut Random(3), 3, 2, 4);
        let model = Model::of(file).unwrap();
        assert_eq!(Contributions::new(&model).unwrap_err(), PredictError::NoCovers);
    }

    #[test]
    fn the_quadrature_is_exact_for_polynomials() {
        for count in [1, 2, 3, 4, 7, 16, 64] {
            let points = quadrature(count);
            for degree in 0..2 * count {
                let sum: f64 = points.iter().map(|[t, _, weight]| weight * t.powi(degree as i32)).sum();
                let exact = 1.0 / (degree as f64 + 1.0);
                assert!((sum - exact).abs() < 1e-14, "{count} points, degree {degree}: {sum} {exact}");
            }
        }
    }
}
