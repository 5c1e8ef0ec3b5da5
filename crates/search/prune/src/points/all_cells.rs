//! Checks every cell of a space that is not too large: where would these weights decide differently
//! from the original?
//!
//! Problem: the oracle returns a few counterexamples and takes long for each, while a program over
//! tens of columns needs hundreds of points before its weights are right everywhere. Where the
//! space has up to about a million cells, all of them can be checked instead.
//!
//! Idea: what a column adds depends only on the few axes that its trees split. Each column has a
//! table over its own axes. Cells are counted like the digits of a number, and a column's value is
//! added at the last digit that it depends on. Axes that few columns split come last, so that most
//! partial sums are shared by many cells.
//!
//! Two classes only. All sums are f64 and all answers are hints: finding no cell proves nothing.

use secateur_model::{Axis, CellId, ClassId, Ensemble, Grid, Output, TreeId};
use secateur_oracle::Lead;

use crate::points::boundary_walks::band_of_sums;
use crate::points::point::{Points, intercept_of};
use crate::search::weight_program::Weights;

/// Spaces of up to this many cells are swept.
const MOST_CELLS: usize = 1 << 20;
/// The same limit where scores of other models choose the inputs: then every tree of those models
/// is evaluated in each cell.
const MOST_SCORED_CELLS: usize = 1 << 16;
/// The most entries of all tables together.
const MOST_ENTRIES: usize = 1 << 24;
/// How many entries or cells are computed between two checks whether to stop.
const POLL: usize = 1 << 12;
/// The most cells that one sweep adds to the points.
const WANTED: usize = 48;

/// Tables of all columns over a space.
#[derive(Clone, Debug)]
pub struct Sweep {
    grid: Grid,
    /// The digits of a cell's number: the axis of each, and how many cells it has. The last digit
    /// changes first.
    digits: Vec<(usize, usize)>,
    tables: Vec<Table>,
    /// The original's lead of the second class over the first in each cell; 0 in cells outside the
    /// domain.
    leads: Vec<f64>,
    /// A lead counts if it exceeds this.
    band: f64,
    /// The lead of the second class over the first, and what the original's intercept adds to it.
    lead: Lead,
    intercept: f64,
}

/// What a column adds to the lead, for each combination of cells of its own axes.
#[derive(Clone, Debug)]
struct Table {
    values: Vec<f64>,
    /// The column's digits, ascending, each with the distance in the table between entries of
    /// neighbouring cells.
    strides: Vec<(usize, usize)>,
}

impl Sweep {
    /// Tables for the columns of these points, over the first `sizes[axis]` cells of each axis.
    /// `None` if there are too many cells or entries, more than two classes, or `stop` returns true
    /// before the tables are made.
    pub(crate) fn new(
        points: &Points<'_>,
        grid: &Grid,
        sizes: &[usize],
        stop: &dyn Fn() -> bool,
    ) -> Option<Self> {
        let model = points.model();
        let cells = sizes.iter().try_fold(1usize, |total, &size| total.checked_mul(size))?;
        let scored = !grid.domain().wheres().is_empty();
        let most = if scored { MOST_SCORED_CELLS } else { MOST_CELLS };
        if cells > most || model.classes().len() != 2 {
            return None;
        }
        let axes_of = |trees: &[TreeId]| {
            let mut axes: Vec<usize> = trees
                .iter()
                .flat_map(|&tree| model.tree(tree).splits())
                .filter_map(|split| grid.axis_of(split.feature))
                .collect();
            axes.sort_unstable();
            axes.dedup();
            axes
        };
        let columns: Vec<Vec<usize>> = points.columns().iter().map(|column| axes_of(&column.trees)).collect();
        let mut order: Vec<usize> = (0..sizes.len()).collect();
        let uses = |axis: usize| columns.iter().filter(|axes| axes.contains(&axis)).count();
        order.sort_by_key(|&axis| (std::cmp::Reverse(uses(axis)), axis));
        let digits: Vec<(usize, usize)> = order.iter().map(|&axis| (axis, sizes[axis])).collect();
        let entries =
            |axes: &Vec<usize>| axes.iter().try_fold(1usize, |total, &axis| total.checked_mul(sizes[axis]));
        let total = columns.iter().try_fold(0usize, |total, axes| total.checked_add(entries(axes)?))?;
        if total > MOST_ENTRIES {
            return None;
        }
        let lead = Lead::of(model, ClassId(1), ClassId(0));
        let read = read_values(model, grid, sizes);
        let table = |(trees, axes): (&[TreeId], &Vec<usize>)| {
            let own: Vec<usize> =
                (0..digits.len()).filter(|&digit| axes.contains(&digits[digit].0)).collect();
            Table::new(model, grid, &lead, trees, &digits, &own, &read, stop)
        };
        let trees = points.columns().iter().map(|column| column.trees.as_slice());
        let tables = trees.zip(&columns).map(table).collect::<Option<_>>()?;
        let intercept = intercept_of(model, &lead).to_f64();
        let band = band_of_sums(model, points.band());
        let grid = grid.clone();
        let mut sweep = Self { grid, digits, tables, leads: Vec::new(), band, lead, intercept };
        // Trees that are in no column add the same everywhere.
        let mut constant = intercept;
        let in_columns: Vec<TreeId> =
            points.columns().iter().flat_map(|column| column.trees.iter().copied()).collect();
        let first = first_row(model, &sweep.grid, &read);
        for tree in (0..model.trees().len()).map(TreeId::new).filter(|tree| !in_columns.contains(tree)) {
            constant += tree_value(model, &sweep.lead, tree, &first);
        }
        let mut leads = Vec::with_capacity(cells);
        sweep.each(&vec![1.0; columns.len()], constant, |_, lead| leads.push(lead));
        for (code, lead) in leads.iter_mut().enumerate().filter(|_| scored) {
            if code % POLL == 0 && stop() {
                return None;
            }
            if !sweep.grid.domain().scores_hold(&sweep.row(code)) {
                *lead = 0.0;
            }
        }
        sweep.leads = leads;
        Some(sweep)
    }

    /// Adds cells to the points where the weights do not lead by more than the band for the
    /// original's class. Returns how many demands are new.
    pub(crate) fn refute(&self, points: &mut Points<'_>, weights: &Weights) -> usize {
        self.violated(weights).iter().map(|row| points.add(row)).sum()
    }

    /// Inputs where the weights do not lead as the original does: the worst cells, and a selection
    /// of the others.
    fn violated(&self, weights: &Weights) -> Vec<Vec<f64>> {
        let free = |&(group, sign): &(usize, i64)| weights.groups.get(group).unwrap_or(&0.0) * sign as f64;
        let constant = self.lead.terms.iter().map(free).sum::<f64>()
            + weights.scale.map_or(0.0, |scale| scale * self.intercept);
        let mut found: Vec<(f64, usize)> = Vec::new();
        self.each(&weights.columns, constant, |code, lead| {
            let own = self.leads[code];
            let kept = if own > 0.0 { lead } else { -lead };
            if own.abs() > self.band && kept <= self.band {
                found.push((kept, code));
            }
        });
        found.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let (worst, others) = found.split_at(found.len().min(WANTED / 2));
        let step = others.len().div_ceil(WANTED / 2).max(1);
        worst.iter().chain(others.iter().step_by(step)).map(|&(_, code)| self.row(code)).collect()
    }

    /// The input of a cell, given by its number.
    fn row(&self, mut code: usize) -> Vec<f64> {
        let mut cells = vec![CellId(0); self.digits.len()];
        for &(axis, size) in self.digits.iter().rev() {
            cells[axis] = CellId::new(code % size);
            code /= size;
        }
        self.grid.witness(&cells)
    }

    /// Calls `visit` with every cell's number, in order, and the lead that the weights and the
    /// constant give there.
    fn each(&self, weights: &[f64], constant: f64, mut visit: impl FnMut(usize, f64)) {
        let count = self.digits.len();
        let mut tables: Vec<(&[f64], f64)> = Vec::new();
        // The position of each column in its table; for each digit, the columns whose position it
        // moves, with the distance, and the columns that are complete with it.
        let mut places: Vec<usize> = Vec::new();
        let mut moving: Vec<Vec<(usize, usize)>> = vec![Vec::new(); count];
        let mut complete: Vec<Vec<usize>> = vec![Vec::new(); count];
        let mut start = constant;
        for (table, &weight) in self.tables.iter().zip(weights).filter(|(_, weight)| **weight != 0.0) {
            let Some(&(last, _)) = table.strides.last() else {
                start += weight * table.values[0];
                continue;
            };
            complete[last].push(places.len());
            for &(digit, stride) in &table.strides {
                moving[digit].push((places.len(), stride));
            }
            places.push(0);
            tables.push((&table.values, weight));
        }
        let mut sums = vec![start; count + 1];
        let mut now = vec![0usize; count];
        let mut from = 0;
        for code in 0.. {
            for digit in from..count {
                let value = |&column: &usize| tables[column].0[places[column]] * tables[column].1;
                let own: f64 = complete[digit].iter().map(value).sum();
                sums[digit + 1] = sums[digit] + own;
            }
            visit(code, sums[count]);
            let mut digit = count;
            loop {
                if digit == 0 {
                    return;
                }
                digit -= 1;
                let size = self.digits[digit].1;
                if now[digit] + 1 < size {
                    now[digit] += 1;
                    moving[digit].iter().for_each(|&(column, stride)| places[column] += stride);
                    break;
                }
                now[digit] = 0;
                moving[digit].iter().for_each(|&(column, stride)| places[column] -= stride * (size - 1));
            }
            from = digit;
        }
    }
}

impl Table {
    #[expect(clippy::too_many_arguments, reason = "the parts of a sweep, put together in one place")]
    fn new(
        model: &Ensemble,
        grid: &Grid,
        lead: &Lead,
        trees: &[TreeId],
        digits: &[(usize, usize)],
        own: &[usize],
        read: &[Vec<Vec<f64>>],
        stop: &dyn Fn() -> bool,
    ) -> Option<Self> {
        let mut strides: Vec<(usize, usize)> = Vec::new();
        let mut entries = 1;
        for &digit in own.iter().rev() {
            strides.push((digit, entries));
            entries *= digits[digit].1;
        }
        strides.reverse();
        let mut row = first_row(model, grid, read);
        let mut value = |entry: usize| {
            for &(digit, stride) in &strides {
                let (axis, size) = digits[digit];
                let values = &read[axis][entry / stride % size];
                for (column, &value) in grid.axes()[axis].columns().iter().zip(values) {
                    row[column.index()] = value;
                }
            }
            trees.iter().map(|&tree| tree_value(model, lead, tree, &row)).sum()
        };
        let mut values = Vec::with_capacity(entries);
        for entry in 0..entries {
            if entry.is_multiple_of(POLL) && stop() {
                return None;
            }
            values.push(value(entry));
        }
        Some(Self { values, strides })
    }
}

/// For each axis and each of its cells: the value of each of the axis's features in that cell, as
/// the model reads it.
fn read_values(model: &Ensemble, grid: &Grid, sizes: &[usize]) -> Vec<Vec<Vec<f64>>> {
    let read = |axis: &Axis, cell: usize| {
        let mut values = Vec::with_capacity(axis.columns().len());
        axis.for_each_value(CellId::new(cell), grid.intake(), |_, value| {
            values.push(model.intake().read(value).expect("a witness is an input"));
        });
        values
    };
    grid.axes()
        .iter()
        .zip(sizes)
        .map(|(axis, &size)| (0..size).map(|cell| read(axis, cell)).collect())
        .collect()
}

/// The values of the first cell of every axis, by feature.
fn first_row(model: &Ensemble, grid: &Grid, read: &[Vec<Vec<f64>>]) -> Vec<f64> {
    let mut row = vec![0.0; model.features().len()];
    for (axis, cells) in grid.axes().iter().zip(read) {
        for (column, &value) in axis.columns().iter().zip(&cells[0]) {
            row[column.index()] = value;
        }
    }
    row
}

/// What a tree adds to a lead where the features are read as these values.
fn tree_value(model: &Ensemble, lead: &Lead, tree: TreeId, row: &[f64]) -> f64 {
    let own = model.tree(tree);
    let leaf = own.walk(|split| model.goes_left(split, row[split.feature.index()]));
    let values = own.leaf(leaf);
    let value = |&(group, factor): &(usize, i64)| {
        let value = match own.output() {
            Output::Group(of) if of.index() == group => values[0],
            Output::Group(_) => 0.0,
            Output::All => values[group],
        };
        value * factor as f64
    };
    lead.terms.iter().map(value).sum::<f64>() * own.weight()
}

#[cfg(test)]
mod tests {
    use fastrand::Rng;
    use secateur_testkit::{Shape, all_cells, ensemble};

    use super::*;
    use crate::candidate::column::Column;

    fn columns(model: &Ensemble) -> Vec<Column> {
        let column = |index| Column { terms: vec![index], trees: vec![TreeId::new(index)], cost: 1.0 };
        (0..model.trees().len()).map(column).collect()
    }

    /// Brute force over all cells: the sweep reports a cell exactly where the weights decide
    /// differently.
    #[test]
    fn leads_are_those_of_the_points_in_every_cell() {
        let mut rng = Rng::with_seed(5);
        let (mut models, mut refuted, mut kept) = (0, 0, 0);
        for _ in 0..300 {
            let shape = Shape { depth: 2, trees: 4, ..Shape::random(&mut rng) };
            let model = ensemble(&mut rng, &shape);
            let grid = Grid::new(&[&model]).unwrap();
            let sizes: Vec<usize> = grid.axes().iter().map(|axis| axis.len()).collect();
            let mut points = Points::new(&model, Some(1e-9), columns(&model));
            let Some(sweep) = Sweep::new(&points, &grid, &sizes, &|| false) else { continue };
            models += 1;
            let all: Vec<Vec<f64>> = all_cells(&grid).map(|cells| grid.witness(&cells)).collect();
            assert_eq!(sweep.leads.len(), all.len());
            let weights = Weights {
                columns: (0..model.trees().len()).map(|_| f64::from(rng.u32(0..3))).collect(),
                groups: (0..model.group_count()).map(|_| rng.f64() - 0.5).collect(),
                scale: rng.bool().then(|| rng.f64()),
            };
            // The same by demands, which are computed in another way.
            let mut judged = Points::new(&model, Some(1e-9), columns(&model));
            let wrong: Vec<&Vec<f64>> = all
                .iter()
                .filter(|row| {
                    let Some(point) = judged.place(row) else { return false };
                    judged
                        .demands_of(point)
                        .any(|demand| weights.lead(&judged.demands()[demand]) <= sweep.band)
                })
                .collect();
            let found = sweep.violated(&weights);
            assert_eq!(found.is_empty(), wrong.is_empty());
            assert!(found.len() >= wrong.len().min(WANTED / 2) && found.len() <= WANTED);
            for row in &found {
                let point = judged.place(row).expect("a cell that counts");
                let demand = judged.demands_of(point).start;
                assert!(weights.lead(&judged.demands()[demand]) <= sweep.band + 1e-12);
            }
            let fresh = sweep.refute(&mut points, &weights);
            assert_eq!(fresh > 0, !wrong.is_empty());
            refuted += usize::from(fresh > 0);
            kept += usize::from(fresh == 0);
        }
        assert!(models > 60 && refuted > 30 && kept > 0, "{models} {refuted} {kept}");
    }
}
