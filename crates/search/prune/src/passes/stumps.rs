//! The closed form for models of one feature per tree.
//!
//! With two classes and trees that split on one feature each, the lead of class 1 is a constant
//! plus one step function per axis. A context is a choice of cells on all other axes; in each
//! context the lead is a number t plus the value of the step function.
//! - A boundary is relevant if some context t puts the two values beside it on two sides of the
//!   band. Then a step must stay there. Contexts are sums of one number from each other axis, so
//!   this is decided exactly (see `axis_sums`).
//! - Cells whose values no context tells apart may share one value u. It is chosen in the middle of
//!   the gap that the contexts leave: if t1 is the smallest context that must stay positive and t0
//!   the largest that must stay negative, any u with t0 + u < 0 < t1 + u is right.
//! - A step that stays needs a column of the right sign, since weights are at least zero: the
//!   values of runs of cells are chosen from a few candidates so that each step has one.
//!
//! The axes are treated one after the other, each with the values that the others have by then.
//! Runs are joined only if every lead beyond the band stays beyond it. Then as many steps are left
//! as there are relevant boundaries, and no model that keeps the decisions has fewer; the band
//! itself, missing values or the signs may prevent this. Only relevance is claimed here: the plan
//! is written to a file, and the oracle judges that file.
//!
//! Not covered: domains that ask for scores of other models, where contexts depend on each other;
//! more than two classes (see `class_changes`). Categorical axes and columns of several steps stay
//! as they are.

use fastrand::Rng;
use num_bigint::BigInt;
use num_traits::ToPrimitive;
use secateur_model::{CellId, ClassId, Ensemble, Exact, Grid, LeafId, Node, TreeId};
use secateur_oracle::{Lead, SearchBudget};

use crate::bounds::constant_needed::{Leads, OppositeCorners};
use crate::candidate::column::{Column, Intercept};
use crate::passes::axis_sums::Sums;
use crate::passes::relevant::{Boundary, Relevance, Relevant, pair_at, relevant_boundaries};
use crate::points::boundary_walks::is_over;
use crate::points::point::{column_lead, intercept_of};

/// Bits of the largest number; this leaves room for sums in 128 bits.
const BITS: i64 = 104;
/// A change of the constant below this share of the values that it comes from is rounding.
const LAST_BITS: f64 = 1e-12;

/// The result of the closed form.
#[derive(Clone, Debug)]
pub struct Closed {
    /// What is known about each boundary.
    pub relevant: Relevant,
    /// Weights and a constant that should keep the decisions, if they were found.
    pub plan: Option<StumpPlan>,
    /// Where trees are votes: inputs whose demands, each counted once, should show that votes need
    /// a constant.
    pub opposite_corners: Option<Vec<Vec<f64>>>,
}

/// A candidate: weights of the columns, and the constant added to the lead of class 1.
#[derive(Clone, Debug, PartialEq)]
pub struct StumpPlan {
    /// The weight of each column; zero for one that is dropped.
    pub weights: Vec<f64>,
    /// The constant of the lead of class 1 over class 0, with the threshold subtracted.
    pub constant: Exact,
    /// The constant is the original's own.
    pub keeps_constant: bool,
}

/// Solves a two-class model whose columns split on one feature each; `None` for any other model,
/// and where scores of other models choose the inputs. The search for pairs begins at the rows in
/// `starts`.
#[expect(clippy::too_many_arguments, reason = "a question with many parts, asked in one place")]
pub fn closed_form(
    model: &Ensemble,
    grid: &Grid,
    band: Option<f64>,
    columns: &[Column],
    intercept: Intercept,
    starts: &[&[f64]],
    rng: &mut Rng,
    budget: &SearchBudget,
) -> Option<Closed> {
    if !model.domain().wheres().is_empty() {
        return None;
    }
    let mut steps = Steps::new(model, grid, band, columns)?;
    let mut relevant = relevant_boundaries(model, grid, band, starts, rng, budget);
    steps.settle(&mut relevant, model, grid, band, budget);
    let opposite_corners = steps.opposite_corners(&relevant, grid);
    let plan = steps.plan(&relevant, columns, intercept, budget);
    Some(Closed { relevant, plan, opposite_corners })
}

/// One column, as a function of the cells of one axis.
struct StepColumn {
    axis: Option<usize>,
    /// One value for each cell of the axis; a single value for a constant column.
    values: Vec<i128>,
}

/// The lead of class 1 as a sum of step functions, in integer multiples of one unit.
struct Steps {
    exponent: i64,
    /// By how much sums may be off; zero if no number was rounded.
    slack: i128,
    columns: Vec<StepColumn>,
    /// For each axis, the sum of its columns in each cell.
    tables: Vec<Vec<i128>>,
    /// The number of numeric cells of each axis; the missing cell comes after them. Zero for
    /// categorical axes.
    numeric: Vec<usize>,
    constant: i128,
    /// The original's own intercept, without the constant columns.
    own_constant: i128,
    /// Every column goes from a number to its negative: votes. Then the values at the two ends of
    /// each axis determine what constant is left over, and votes can express a constant only by one
    /// more tree.
    votes: bool,
    /// Class 1 is decided where the lead is at least `positive`, class 0 where it is at most minus
    /// `negative`.
    positive: i128,
    negative: i128,
    /// Does class 1 win ties?
    first_wins_ties: bool,
}

impl Steps {
    fn new(model: &Ensemble, grid: &Grid, band: Option<f64>, columns: &[Column]) -> Option<Self> {
        if model.classes().len() != 2 {
            return None;
        }
        let lead = Lead::of(model, ClassId(1), ClassId(0));
        let mut exact: Vec<(Option<usize>, Vec<Exact>)> = Vec::with_capacity(columns.len());
        for column in columns {
            exact.push(column_values(model, grid, column, &lead)?);
        }
        let own = intercept_of(model, &lead);
        // Trees in no column must be constants.
        let mut apart = Exact::zero();
        let mut held = vec![false; model.trees().len()];
        columns.iter().flat_map(|column| &column.trees).for_each(|tree| held[tree.index()] = true);
        for tree in (0..held.len()).filter(|&tree| !held[tree]).map(TreeId::new) {
            let column = Column { terms: Vec::new(), trees: vec![tree], cost: 0.0 };
            match column_values(model, grid, &column, &lead)? {
                (None, values) => apart += &values[0],
                (Some(_), _) => return None,
            }
        }
        let numbers = || exact.iter().flat_map(|(_, values)| values).chain([&own, &apart]);
        let band = match band {
            Some(band) => Some(&Exact::from_f64(band)? * &lead.divisor),
            None => None,
        };
        let numbers = || numbers().chain(&band).filter(|value| !value.is_zero());
        let finest = numbers().map(Exact::exponent).min().unwrap_or(0);
        let top = numbers().map(|value| value.exponent() + value.mantissa().bits() as i64).max().unwrap_or(0);
        // Wider numbers are rounded down to a common unit, about BITS bits below the largest. The
        // slack keeps this on the safe side where a boundary is called irrelevant.
        let exponent = finest.max(top - BITS);
        let slack = if exponent > finest { columns.len() as i128 + 4 } else { 0 };
        let scaled = |value: &Exact| rounded_down(value, exponent);
        let steps: Vec<StepColumn> = exact
            .iter()
            .map(|(axis, values)| {
                let values = values.iter().map(scaled).collect::<Option<_>>()?;
                Some(StepColumn { axis: *axis, values })
            })
            .collect::<Option<_>>()?;
        let own_constant = scaled(&own)?;
        let mut constant = own_constant.checked_add(scaled(&apart)?)?;
        let mut tables: Vec<Vec<i128>> = grid.axes().iter().map(|axis| vec![0; axis.len()]).collect();
        for step in &steps {
            match step.axis {
                Some(axis) => {
                    for (slot, value) in tables[axis].iter_mut().zip(&step.values) {
                        *slot = slot.checked_add(*value)?;
                    }
                }
                None => constant = constant.checked_add(step.values[0])?,
            }
        }
        let (positive, negative) = match &band {
            Some(band) => (scaled(band)? + 1, scaled(band)? + 1),
            None => (i128::from(!lead.wins_ties), i128::from(lead.wins_ties)),
        };
        let numeric = grid.axes().iter().map(|axis| axis.bounds().map_or(0, |bounds| bounds.len() + 1));
        let numeric = numeric.collect();
        let votes = steps.iter().all(|step| {
            let first = step.values[0];
            step.axis.is_none() || step.values.iter().all(|&value| value == first || value == -first)
        });
        Some(Self {
            exponent,
            slack,
            columns: steps,
            tables,
            numeric,
            votes,
            constant,
            own_constant,
            positive,
            negative,
            first_wins_ties: lead.wins_ties,
        })
    }

    /// All contexts of an axis, without the constant; list i belongs to the i-th other axis.
    fn contexts(&self, axis: usize) -> Option<Sums> {
        let others: Vec<Vec<i128>> = (0..self.tables.len())
            .filter(|&other| other != axis)
            .map(|other| self.tables[other].clone())
            .collect();
        Sums::new(&others)
    }

    /// Decides exactly whether a boundary is relevant, where no pair was found.
    fn settle(
        &self,
        relevant: &mut Relevant,
        model: &Ensemble,
        grid: &Grid,
        band: Option<f64>,
        budget: &SearchBudget,
    ) {
        let mut contexts: Vec<Option<Option<Sums>>> = self.tables.iter().map(|_| None).collect();
        for (boundary, known) in &mut relevant.boundaries {
            if *known != Relevance::Unknown {
                continue;
            }
            // Listing the contexts of an axis can take a million sums in each half, so the budget
            // is checked first.
            if is_over(budget) {
                return;
            }
            let axis = boundary.axis;
            let Some(sums) = contexts[axis].get_or_insert_with(|| self.contexts(axis)) else { continue };
            let table = &self.tables[axis];
            let (low, high) = (table[boundary.below.index()], table[boundary.below.index() + 1]);
            match self.split_by(sums, low.min(high), low.max(high)) {
                None => *known = Relevance::Irrelevant,
                Some(positions) => {
                    let pair = pair_at(model, grid, band, *boundary, &cells_of(&positions, axis));
                    // Without slack the context always gives a pair. With slack it may not; then
                    // the boundary stays unknown.
                    if let Some(pair) = pair {
                        *known = Relevance::Relevant(pair);
                    }
                }
            }
        }
    }

    /// A context that puts the values `low <= high` on two sides, each beyond the band. With
    /// rounding slack this may be a false positive, never a false negative.
    fn split_by(&self, contexts: &Sums, low: i128, high: i128) -> Option<Vec<usize>> {
        let first = contexts.first_from(self.positive - high - self.constant - self.slack)?;
        (first.sum + self.constant + low <= self.slack - self.negative).then_some(first.positions)
    }

    /// The values that cells with values between `low` and `high` may share so that every context
    /// beyond the band stays beyond it, and the middle of these values.
    fn room(&self, contexts: &Sums, low: i128, high: i128) -> Option<Room> {
        let above = contexts.first_from(self.positive - high - self.constant);
        let below = contexts.last_up_to(-self.negative - low - self.constant);
        // Follows from t1 + u >= positive and t0 + u <= -negative.
        let least = above.map(|context| self.positive - context.sum - self.constant);
        let most = below.map(|context| -self.negative - context.sum - self.constant);
        let middle = match (least, most) {
            (Some(least), Some(most)) if least > most => return None,
            (Some(least), Some(most)) => middle_of(least, most),
            (Some(least), None) => least.max(high),
            (None, Some(most)) => most.min(low),
            (None, None) => low,
        };
        Some(Room { least: least.unwrap_or(i128::MIN), most: most.unwrap_or(i128::MAX), middle })
    }

    /// Inputs that show that votes need a constant, if they are found.
    fn opposite_corners(&self, relevant: &Relevant, grid: &Grid) -> Option<Vec<Vec<f64>>> {
        if !self.votes {
            return None;
        }
        let leads = Leads {
            constant: self.constant,
            tables: &self.tables,
            numeric: &self.numeric,
            positive: self.positive,
            negative: self.negative,
            first_wins_ties: self.first_wins_ties,
        };
        let OppositeCorners { cells, beyond } = leads.opposite_corners(relevant)?;
        let pair = relevant.pairs().filter(|(boundary, _)| Some(*boundary) == beyond);
        let pair = pair.flat_map(|(_, pair)| pair.rows.clone());
        Some(cells.iter().map(|cells| grid.witness(cells)).chain(pair).collect())
    }

    fn plan(
        &mut self,
        relevant: &Relevant,
        columns: &[Column],
        intercept: Intercept,
        budget: &SearchBudget,
    ) -> Option<StumpPlan> {
        let mut weights = vec![1.0; columns.len()];
        for axis in 0..self.tables.len() {
            if is_over(budget) {
                return None;
            }
            let boundaries = relevant.boundaries.iter().filter(|(boundary, _)| boundary.axis == axis);
            let joined: Vec<bool> = boundaries.map(|(_, known)| *known == Relevance::Irrelevant).collect();
            if let Some(chosen) = self.axis_plan(axis, &joined, columns) {
                for (column, weight) in chosen.weights {
                    weights[column] = weight;
                }
                self.tables[axis] = chosen.table;
            }
        }
        self.finish(weights, intercept)
    }

    /// Joins the cells of an axis to runs, and chooses their values and the columns that make the
    /// steps between them.
    fn axis_plan(&self, axis: usize, joined: &[bool], columns: &[Column]) -> Option<AxisPlan> {
        let at: Vec<Vec<usize>> = self.columns_at(axis)?;
        let table = &self.tables[axis];
        let count = self.numeric[axis];
        let single = at.iter().all(|columns| columns.len() <= 1);
        if single && !joined.iter().any(|&joined| joined) {
            return None; // The axis stays as it is.
        }
        let contexts = joined.iter().any(|&joined| joined).then(|| self.contexts(axis)).flatten();
        // A run grows as long as one value can serve all its cells.
        let mut runs: Vec<Run> = Vec::new();
        for cell in 0..count {
            let grown = cell.checked_sub(1).filter(|&below| joined[below]).and_then(|_| {
                let last = runs.last().expect("a run begins with the first cell");
                let (low, high) = (last.low.min(table[cell]), last.high.max(table[cell]));
                let room = self.room(contexts.as_ref()?, low, high)?;
                let candidates = candidates(&room, &table[last.start..=cell]);
                Some(Run { end: cell + 1, low, high, candidates, ..*last })
            });
            match grown {
                Some(run) => *runs.last_mut().expect("there is one to grow") = run,
                None => {
                    let value = table[cell];
                    runs.push(Run {
                        start: cell,
                        end: cell + 1,
                        low: value,
                        high: value,
                        candidates: vec![value],
                    });
                }
            }
        }
        if self.votes {
            let (first, last) = (table[0], table[count - 1]);
            match &mut runs[..] {
                [run] => run.prefer(middle_of(first, last)),
                [begin, .., end] => {
                    begin.prefer(first);
                    end.prefer(last);
                }
                [] => {}
            }
        }
        let values = choose(&runs, |boundary, rises| {
            at[boundary].iter().any(|&column| (self.step_of(column, boundary) > 0) == rises)
        })?;
        let mut weights: Vec<(usize, f64)> = at.iter().flatten().map(|&column| (column, 0.0)).collect();
        let mut kept = Vec::new();
        for (run, pair) in runs.iter().zip(values.windows(2)) {
            let (boundary, height) = (run.end - 1, pair[1] - pair[0]);
            if height == 0 {
                continue;
            }
            let fits = |&&column: &&usize| (self.step_of(column, boundary) > 0) == (height > 0);
            let cheap = |&&column: &&usize| {
                (
                    columns[column].cost.to_bits(),
                    std::cmp::Reverse(self.step_of(column, boundary).unsigned_abs()),
                )
            };
            let column = *at[boundary].iter().filter(fits).min_by_key(cheap)?;
            let step = self.step_of(column, boundary);
            let weight = if step == height { 1.0 } else { height as f64 / step as f64 };
            weights.iter_mut().filter(|(own, _)| *own == column).for_each(|(_, slot)| *slot = weight);
            kept.push((column, boundary, height));
        }
        let mut new: Vec<i128> = runs
            .iter()
            .zip(&values)
            .flat_map(|(run, &value)| std::iter::repeat_n(value, run.end - run.start))
            .collect();
        if let Some(&missing) = table.get(count) {
            // A missing value takes part in a step if the step's column gives it the value above
            // the boundary.
            let up = |&&(column, boundary, _): &&(usize, usize, i128)| {
                let values = &self.columns[column].values;
                values[count] == values[boundary + 1]
            };
            let value = values[0] + kept.iter().filter(up).map(|(_, _, height)| height).sum::<i128>();
            let same_as_before =
                value == missing || (0..count).any(|cell| table[cell] == missing && new[cell] == value);
            let fits = || {
                let room = self.room(contexts.as_ref()?, missing, missing)?;
                (room.least <= value && value <= room.most).then_some(())
            };
            if !same_as_before {
                fits()?;
            }
            new.push(value);
        }
        Some(AxisPlan { weights, table: new })
    }

    /// The columns that step at each boundary of an axis; `None` if a column of the axis is not a
    /// single step.
    fn columns_at(&self, axis: usize) -> Option<Vec<Vec<usize>>> {
        let count = self.numeric[axis];
        let mut at = vec![Vec::new(); count.checked_sub(1)?];
        for (index, column) in self.columns.iter().enumerate().filter(|(_, column)| column.axis == Some(axis))
        {
            let mut steps = (1..count).filter(|&cell| column.values[cell] != column.values[cell - 1]);
            let step = steps.next()?;
            if steps.next().is_some() {
                return None;
            }
            // The column must give a missing value one of its two values.
            if column.values[count..]
                .iter()
                .any(|value| *value != column.values[0] && *value != column.values[step])
            {
                return None;
            }
            at[step - 1].push(index);
        }
        Some(at)
    }

    fn step_of(&self, column: usize, boundary: usize) -> i128 {
        let values = &self.columns[column].values;
        values[boundary + 1] - values[boundary]
    }

    /// The plan with the constant for which the weights give the leads in the tables.
    fn finish(&self, mut weights: Vec<f64>, intercept: Intercept) -> Option<StumpPlan> {
        let exact = |value: i128| Exact::new(BigInt::from(value), self.exponent);
        let weight_of = |weight: f64| Exact::finite(weight);
        let mut constant = exact(self.constant);
        for (index, column) in self.columns.iter().enumerate() {
            match column.axis {
                Some(_) => constant = &constant - &(&weight_of(weights[index]) * &exact(column.values[0])),
                None => weights[index] = 0.0,
            }
        }
        for table in &self.tables {
            constant = &constant + &exact(table[0]);
        }
        let own = exact(self.own_constant);
        let change = &constant - &own;
        // Weights are rounded, so even without a change of the constant a last bit may be left.
        let scale: f64 = self.tables.iter().map(|table| exact(table[0]).to_f64().abs()).sum();
        if change.to_f64().abs() <= LAST_BITS * scale {
            return Some(StumpPlan { weights, constant: own, keeps_constant: true });
        }
        if intercept == Intercept::Free {
            return Some(StumpPlan { weights, constant, keeps_constant: false });
        }
        // A constant column of the right sign must carry the change, because weights are at least
        // zero.
        let carrier = self.columns.iter().position(|column| {
            column.axis.is_none() && column.values[0].signum() == i128::from(change.signum())
        })?;
        weights[carrier] = change.to_f64() / exact(self.columns[carrier].values[0]).to_f64();
        Some(StumpPlan { weights, constant: own, keeps_constant: true })
    }
}

/// The new values of an axis, and the weights of its columns.
struct AxisPlan {
    weights: Vec<(usize, f64)>,
    table: Vec<i128>,
}

/// Neighbouring cells that share a value.
struct Run {
    start: usize,
    end: usize,
    low: i128,
    high: i128,
    /// The values they may share, best first.
    candidates: Vec<i128>,
}

/// The values from `least` to `most`, and the middle, which is farthest from both ends.
struct Room {
    least: i128,
    most: i128,
    middle: i128,
}

impl Run {
    /// Puts a value first, if it is among the candidates.
    fn prefer(&mut self, value: i128) {
        if self.candidates.contains(&value) {
            self.candidates.insert(0, value);
        }
    }
}

fn candidates(room: &Room, values: &[i128]) -> Vec<i128> {
    let ends = values.first().zip(values.last()).map(|(&first, &last)| middle_of(first, last));
    let values = values.iter().copied().chain(ends);
    let fitting = values.filter(|&value| room.least <= value && value <= room.most);
    std::iter::once(room.middle).chain(fitting).collect()
}

fn middle_of(a: i128, b: i128) -> i128 {
    a + (b - a) / 2
}

/// Chooses one candidate for each run so that every step between runs has a column of its sign. It
/// prefers early candidates, beginning with the last run. `has(boundary, rises)` says whether some
/// column makes such a step.
fn choose(runs: &[Run], has: impl Fn(usize, bool) -> bool) -> Option<Vec<i128>> {
    // For each candidate of a run, a candidate of the run before it from which every step is
    // possible.
    let mut reached: Vec<Vec<Option<usize>>> = vec![vec![Some(0); runs.first()?.candidates.len()]];
    for (before, run) in runs.iter().zip(&runs[1..]) {
        let last = reached.last().expect("begins with one");
        let step = |&value: &i128| {
            (0..before.candidates.len()).find(|&from| {
                let rise = value - before.candidates[from];
                last[from].is_some() && (rise == 0 || has(before.end - 1, rise > 0))
            })
        };
        let next = run.candidates.iter().map(step).collect();
        reached.push(next);
    }
    let mut at = reached.last()?.iter().position(Option::is_some)?;
    let mut values = Vec::with_capacity(runs.len());
    for (run, reached) in runs.iter().zip(&reached).rev() {
        values.push(run.candidates[at]);
        at = reached[at].expect("only candidates that are reached are followed");
    }
    values.reverse();
    Some(values)
}

/// The cells of a context, with an arbitrary cell on the axis itself.
fn cells_of(positions: &[usize], axis: usize) -> Vec<CellId> {
    let mut cells: Vec<CellId> = positions.iter().map(|&position| CellId::new(position)).collect();
    cells.insert(axis, CellId(0));
    cells
}

/// The axis of a column and what it adds to the lead in each cell; `None` if it splits on several
/// axes.
fn column_values(
    model: &Ensemble,
    grid: &Grid,
    column: &Column,
    lead: &Lead,
) -> Option<(Option<usize>, Vec<Exact>)> {
    let mut axis = None;
    // A tree whose leaves are all equal is constant, whatever it splits on.
    let constant = |tree: TreeId| {
        let tree = model.tree(tree);
        (1..tree.leaf_count()).all(|leaf| tree.leaf(LeafId::new(leaf)) == tree.leaf(LeafId(0)))
    };
    for &tree in column.trees.iter().filter(|&&tree| !constant(tree)) {
        for split in model.tree(tree).splits() {
            let own = grid.axis_of(split.feature)?;
            if *axis.get_or_insert(own) != own {
                return None;
            }
        }
    }
    let mut leaves = vec![LeafId(0); model.trees().len()];
    let cells = axis.map_or(1, |axis| grid.axes()[axis].len());
    let mut reached: Vec<Vec<LeafId>> = Vec::with_capacity(column.trees.len());
    for &tree in &column.trees {
        reached.push(if constant(tree) {
            vec![LeafId(0); cells]
        } else {
            leaves_by_cell(model, grid, tree, axis, cells)
        });
    }
    let values: Vec<Exact> = (0..cells)
        .map(|cell| {
            for (&tree, reached) in column.trees.iter().zip(&reached) {
                leaves[tree.index()] = reached[cell];
            }
            column_lead(model, &leaves, column, lead)
        })
        .collect();
    let constant = values.iter().all(|value| *value == values[0]);
    Some(if constant { (None, values[..1].to_vec()) } else { (axis, values) })
}

/// The leaf that a tree reaches in each cell of the one axis that it splits on.
fn leaves_by_cell(
    model: &Ensemble,
    grid: &Grid,
    tree: TreeId,
    axis: Option<usize>,
    cells: usize,
) -> Vec<LeafId> {
    let tree = model.tree(tree);
    let sets: Vec<_> = tree
        .nodes()
        .map(|(_, node)| match (node, axis) {
            (Node::Split { split, .. }, Some(axis)) => {
                Some(grid.axes()[axis].left_cells(model, split, grid.intake()))
            }
            _ => None,
        })
        .collect();
    (0..cells)
        .map(|cell| {
            let mut at = 0;
            loop {
                match tree.node(secateur_model::NodeId::new(at)) {
                    Node::Split { left, right, .. } => {
                        let set = sets[at].as_ref().expect("every split has its cells");
                        at = if set.contains(CellId::new(cell)) { left } else { right }.index();
                    }
                    Node::Leaf(leaf) => return leaf,
                    Node::Unused => unreachable!("the builder lets no path reach an unused slot"),
                }
            }
        })
        .collect()
}

/// The largest integer not above the value in units of 2^exponent; `None` if it does not fit.
fn rounded_down(value: &Exact, exponent: i64) -> Option<i128> {
    match value.scaled(exponent) {
        Some(whole) => whole.to_i128(),
        // Shifting a BigInt rounds toward minus infinity.
        None => (value.mantissa() >> u64::try_from(exponent - value.exponent()).ok()?).to_i128(),
    }
}

impl Closed {
    /// The number of relevant boundaries. No model that keeps the decisions has fewer single steps.
    pub fn lower_bound(&self) -> usize {
        self.relevant.count()
    }

    /// The boundaries about which nothing is known.
    pub fn open(&self) -> impl Iterator<Item = Boundary> {
        let unknown =
            |(boundary, known): &(Boundary, Relevance)| (*known == Relevance::Unknown).then_some(*boundary);
        self.relevant.boundaries.iter().filter_map(unknown)
    }
}
