//! The best weights of points against columns, found by a small dense primal simplex made for this
//! problem.
//!
//! Problem: entries a_ij of points i and columns j, vectors e_i. Maximise t over y >= 0 with
//! `sum_i y_i = 1`, `sum_i y_i e_i = 0` and `sum_i y_i a_ij + t <= 0` for each column j that
//! counts.
//!
//! Why not a general solver: there are few rows (columns and equations) and many unknowns (points), all
//! dense, and the same problem is solved again with one column left out. Here a basis is a dense
//! inverse, all points are priced in one pass over the entries, and leaving out a column keeps the
//! basis feasible, because the column's slack just becomes free. So the optimum with all columns is
//! the start for every question. Measured, this is 10 to 100 times faster than either way of
//! giving it to microlp.
//!
//! Invariants: the basis stays feasible up to [`SLIP`], so there are weights whenever the search
//! ends. The equations are enforced by a penalty on [`Var::Over`] and [`Var::Under`] that is larger
//! than any price they can have. Ties are made rare by tiny right-hand sides, which the final
//! weights do not contain.
//!
//! Not covered: proof. A search that ends early or in numerical trouble says so, and weights are
//! only hints.

use crate::dense::{add_multiple, dot, eliminate, invert, times};
use crate::status::{Limits, Status};

/// A reduced cost below this counts as zero.
const PRICE: f64 = 1e-9;
/// An entry of a direction below this is too small to be a pivot.
const PIVOT: f64 = 1e-9;
/// How far a basic value may fall below zero to allow a larger pivot.
const SLIP: f64 = 1e-11;
/// The size of the right-hand sides that break ties.
const NUDGE: f64 = 1e-8;
/// A weighted sum below this may be zero up to rounding, if the weights add up to one.
const POSITIVE: f64 = 1e-12;
/// The search ends if the margin can only end below this.
const HOPELESS: f64 = -1e-6;
/// The least number of pivots between two factorisations.
const REFACTOR: usize = 64;
/// The number of points on the shortlist, which are priced again before all points are.
const SHORTLIST: usize = 64;

/// The program: points, columns and equations.
#[derive(Clone, Debug, Default)]
pub(crate) struct MultiplierSimplex {
    columns: usize,
    equations: usize,
    /// For each point its entries, then a one, then its equality vector.
    points: Vec<f64>,
}

/// An unknown of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Var {
    /// The margin t.
    Margin,
    /// The slack of a column's row.
    Slack(usize),
    /// The weight y_i of a point.
    Point(usize),
    /// How much an equation's sum is too small.
    Under(usize),
    /// How much an equation's sum is too large.
    Over(usize),
}

/// A feasible basis.
#[derive(Clone, Debug)]
pub(crate) struct Basis {
    vars: Vec<Var>,
    /// The inverse of the basis matrix, row by row.
    inverse: Vec<f64>,
    values: Vec<f64>,
}

/// How a search ended; the basis is feasible in every case.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Ended {
    /// No better weights, up to the tolerances; or, if a margin was asked for, no weights whose
    /// margin is at least zero.
    Optimal,
    /// The margin asked for is reached.
    Enough,
    /// A limit was reached.
    Spent(Status),
    /// No progress, or a basis that cannot be inverted.
    Stuck,
}

impl MultiplierSimplex {
    pub(crate) fn new(columns: usize, equations: usize) -> Self {
        Self { columns, equations, points: Vec::new() }
    }

    pub(crate) fn add_point(
        &mut self,
        entries: impl Iterator<Item = f64>,
        equality: impl Iterator<Item = f64>,
    ) {
        self.points.extend(entries.chain([1.0]).chain(equality));
    }

    pub(crate) fn points(&self) -> usize {
        self.points.len() / self.rows()
    }

    fn rows(&self) -> usize {
        self.columns + 1 + self.equations
    }

    fn point(&self, index: usize) -> &[f64] {
        &self.points[index * self.rows()..][..self.rows()]
    }

    /// The penalty for each unit by which an equation is missed. It is larger than any intercept
    /// that could help: with entries of at most one, intercepts are at most two for each step from
    /// class to class.
    fn penalty(&self) -> f64 {
        4.0 * (self.equations as f64 + 1.0)
    }

    fn cost(&self, var: Var, aim: f64) -> f64 {
        match var {
            Var::Margin => aim,
            Var::Slack(_) | Var::Point(_) => 0.0,
            Var::Under(_) | Var::Over(_) => -self.penalty(),
        }
    }

    /// The column of an unknown in the program's matrix.
    fn column(&self, var: Var) -> Vec<f64> {
        let mut column = vec![0.0; self.rows()];
        match var {
            Var::Margin => column[..self.columns].fill(1.0),
            Var::Slack(index) => column[index] = 1.0,
            Var::Point(index) => column.copy_from_slice(self.point(index)),
            Var::Under(equation) => column[self.columns + 1 + equation] = 1.0,
            Var::Over(equation) => column[self.columns + 1 + equation] = -1.0,
        }
        column
    }

    /// The right-hand sides. Those of the columns differ, to avoid ties.
    fn sides(&self, nudge: f64) -> Vec<f64> {
        let mut sides = vec![0.0; self.rows()];
        for (index, side) in sides[..self.columns].iter_mut().enumerate() {
            // Spread evenly but in no order: multiples of the golden section, modulo one.
            *side = nudge * (0.5 + (index as f64 * 0.618_033_988_749_895).fract());
        }
        sides[self.columns] = 1.0;
        sides
    }

    /// A basis with all weight on the point that is best alone; `None` if there are no points.
    pub(crate) fn start(&self) -> Option<Basis> {
        let worst = |point: usize| {
            let entries = self.point(point)[..self.columns].iter().enumerate();
            let worst = entries.max_by(|left, right| left.1.total_cmp(right.1));
            (point, worst.map_or(0.0, |(_, &entry)| entry), worst.map(|(column, _)| column))
        };
        let (point, _, column) =
            (0..self.points()).map(worst).min_by(|left, right| left.1.total_cmp(&right.1))?;
        let mut vars: Vec<Var> = (0..self.columns).map(Var::Slack).collect();
        if let Some(column) = column {
            vars[column] = Var::Margin;
        }
        vars.push(Var::Point(point));
        let equality = &self.point(point)[self.columns + 1..];
        vars.extend(
            equality.iter().enumerate().map(|(equation, &value)| {
                if value > 0.0 { Var::Over(equation) } else { Var::Under(equation) }
            }),
        );
        let mut basis = Basis { vars, inverse: Vec::new(), values: Vec::new() };
        self.factor(&mut basis, NUDGE)?;
        Some(basis)
    }

    /// Improves a basis until it is optimal, has the margin `enough`, or a limit is reached.
    /// Columns that do not count may have any sum.
    pub(crate) fn improve(
        &self,
        basis: &mut Basis,
        counts: &[bool],
        enough: f64,
        limits: &Limits<'_>,
    ) -> Ended {
        let free = |var: Var| match var {
            Var::Margin => true,
            Var::Slack(column) => !counts[column],
            _ => false,
        };
        let mut basic = vec![false; self.points()];
        for var in &basis.vars {
            if let Var::Point(index) = var {
                basic[*index] = true;
            }
        }
        // If no column counts, any margin is possible, and only the equations matter.
        let aim = if counts.contains(&true) { 1.0 } else { 0.0 };
        let refactor = REFACTOR.max(self.rows());
        let mut shortlist: Vec<usize> = Vec::new();
        for pivots in 0..100 * self.rows() {
            if pivots % refactor == refactor - 1 && self.factor(basis, NUDGE).is_none() {
                return Ended::Stuck;
            }
            if pivots % 8 == 0
                && let Some(status) = limits.spent()
            {
                return Ended::Spent(status);
            }
            if self.margin(basis) >= enough && self.is_balanced(basis) {
                return Ended::Enough;
            }
            let Some((entering, sign)) = self.price(basis, &basic, counts, aim, enough, &mut shortlist)
            else {
                return Ended::Optimal;
            };
            let direction = match entering {
                Var::Slack(row) => basis.inverse.iter().skip(row).step_by(self.rows()).copied().collect(),
                _ => basis.direction(&self.column(entering)),
            };
            let Some(leaving) = basis.ratio(&direction, sign, free) else { return Ended::Stuck };
            if let Var::Point(index) = basis.vars[leaving] {
                basic[index] = false;
            }
            if let Var::Point(index) = entering {
                basic[index] = true;
            }
            basis.pivot(entering, leaving, &direction);
        }
        Ended::Stuck
    }

    /// The unknown whose growth (or decrease, if it is free) improves the objective most. The
    /// shortlist and the unknowns that are not points are tried first, and all points if none of
    /// those helps.
    fn price(
        &self,
        basis: &Basis,
        basic: &[bool],
        counts: &[bool],
        aim: f64,
        enough: f64,
        shortlist: &mut Vec<usize>,
    ) -> Option<(Var, f64)> {
        let prices = self.prices(basis, aim);
        let mut best = (PRICE, None);
        let mut offer = |gain: f64, var: Var, sign: f64| {
            if gain > best.0 {
                best = (gain, Some((var, sign)));
            }
        };
        let gain = |index: usize| -dot(&prices, self.point(index));
        for &index in shortlist.iter().filter(|&&index| !basic[index]) {
            offer(gain(index), Var::Point(index), 1.0);
        }
        // A basic slack has price zero, up to rounding, and is not offered.
        for (column, &price) in prices[..self.columns].iter().enumerate() {
            if counts[column] {
                offer(-price, Var::Slack(column), 1.0);
            } else {
                offer(price.abs(), Var::Slack(column), -price.signum());
            }
        }
        for (equation, &price) in prices[self.columns + 1..].iter().enumerate() {
            offer(-self.penalty() - price, Var::Under(equation), 1.0);
            offer(-self.penalty() + price, Var::Over(equation), 1.0);
        }
        let best = best.1.filter(|(var, _)| matches!(var, Var::Point(_)) || !basis.vars.contains(var));
        if best.is_some() {
            return best;
        }
        let mut products = Vec::new();
        times(&self.points, &prices, &mut products);
        let mut gains: Vec<(f64, usize)> = (0..self.points())
            .filter(|&index| !basic[index])
            .map(|index| (-products[index], index))
            .filter(|&(gain, _)| gain > PRICE)
            .collect();
        gains.sort_by(|left, right| right.0.total_cmp(&left.0).then(left.1.cmp(&right.1)));
        // The weights add up to one, so the margin cannot grow by more than the largest gain. If it
        // stays below zero even then, the prices are already weights of columns that solve the
        // system.
        let most = gains.first().map_or(0.0, |gain| gain.0);
        if aim > 0.0 && enough.is_finite() && self.is_balanced(basis) && self.margin(basis) + most < HOPELESS
        {
            return None;
        }
        shortlist.clear();
        shortlist.extend(gains.iter().take(SHORTLIST).map(|&(_, index)| index));
        shortlist.first().map(|&index| (Var::Point(index), 1.0))
    }

    /// The price (dual value) of each row.
    fn prices(&self, basis: &Basis, aim: f64) -> Vec<f64> {
        let rows = self.rows();
        let mut prices = vec![0.0; rows];
        for (row, &var) in basis.vars.iter().enumerate() {
            let cost = self.cost(var, aim);
            if cost != 0.0 {
                add_multiple(&mut prices, cost, &basis.inverse[row * rows..][..rows]);
            }
        }
        prices
    }

    /// Weights of columns and equations whose sum is positive at every point, if there are any: the
    /// prices of a basis that no point improves and whose margin is negative.
    pub(crate) fn solving(&self, basis: &Basis, counts: &[bool]) -> Option<(Vec<f64>, Vec<f64>)> {
        let mut weights = self.prices(basis, 1.0);
        for (weight, &counts) in weights.iter_mut().zip(counts) {
            *weight = if counts { weight.max(0.0) } else { 0.0 };
        }
        weights[self.columns] = 0.0;
        let mut sums = Vec::new();
        times(&self.points, &weights, &mut sums);
        let solved = !sums.is_empty() && sums.iter().all(|&sum| sum > POSITIVE);
        solved.then(|| {
            let free = weights.split_off(self.columns + 1);
            weights.truncate(self.columns);
            (weights, free)
        })
    }

    fn margin(&self, basis: &Basis) -> f64 {
        let at = basis.vars.iter().position(|&var| var == Var::Margin);
        at.map_or(f64::NEG_INFINITY, |at| basis.values[at])
    }

    fn is_balanced(&self, basis: &Basis) -> bool {
        is_balanced(basis.vars.iter().copied().zip(basis.values.iter().copied()))
    }

    /// The points with positive weight and their weights, as exactly as floats allow; `None` if the
    /// equations are not met.
    pub(crate) fn weights(&self, basis: &Basis) -> Option<Vec<(usize, f64)>> {
        let core = self.core(&basis.vars)?;
        let values = core.values(&self.sides(0.0));
        let solved = || core.places.iter().map(|&at| basis.vars[at]).zip(values.iter().copied());
        let mut weights: Vec<(usize, f64)> = solved()
            .filter_map(|(var, value)| match var {
                Var::Point(index) if value > 0.0 => Some((index, value)),
                _ => None,
            })
            .collect();
        weights.sort_unstable_by_key(|&(index, _)| index);
        (is_balanced(solved()) && !weights.is_empty()).then_some(weights)
    }

    /// The largest weighted sum among the columns that count, or minus one if no column counts.
    pub(crate) fn largest_sum(&self, points: &[usize], weights: &[f64], counts: &[bool]) -> f64 {
        let mut sums = vec![0.0; self.columns];
        for (&point, weight) in points.iter().zip(weights) {
            sums.iter_mut().zip(self.point(point)).for_each(|(sum, entry)| *sum += weight * entry);
        }
        let counted = sums.iter().zip(counts).filter(|&(_, &counts)| counts);
        counted.map(|(&sum, _)| sum).reduce(f64::max).unwrap_or(-1.0)
    }

    /// Computes the inverse and the values from scratch; `None` if the basis is singular.
    fn factor(&self, basis: &mut Basis, nudge: f64) -> Option<()> {
        let (rows, sides) = (self.rows(), self.sides(nudge));
        let core = self.core(&basis.vars)?;
        let solved = core.values(&sides);
        let mut inverse = vec![0.0; rows * rows];
        let mut values = vec![0.0; rows];
        for ((&at, from), &value) in
            core.places.iter().zip(core.inverse.chunks_exact(core.size())).zip(&solved)
        {
            core.spread(from, &mut inverse[at * rows..][..rows]);
            values[at] = value;
        }
        let mut combined = vec![0.0; core.size()];
        for (at, &var) in basis.vars.iter().enumerate() {
            let Var::Slack(row) = var else { continue };
            combined.fill(0.0);
            values[at] = sides[row];
            for ((column, from), value) in
                core.columns.iter().zip(core.inverse.chunks_exact(core.size())).zip(&solved)
            {
                let factor = column[row];
                if factor != 0.0 {
                    add_multiple(&mut combined, -factor, from);
                    values[at] -= factor * value;
                }
            }
            let target = &mut inverse[at * rows..][..rows];
            core.spread(&combined, target);
            target[row] = 1.0;
        }
        (basis.inverse, basis.values) = (inverse, values);
        Some(())
    }

    /// The part of a basis that needs elimination, inverted; `None` if it is singular.
    fn core(&self, vars: &[Var]) -> Option<Core> {
        let mut open = vec![true; self.rows()];
        let mut places = Vec::new();
        for (at, &var) in vars.iter().enumerate() {
            match var {
                Var::Slack(row) => open[row] = false,
                _ => places.push(at),
            }
        }
        let rows: Vec<usize> = (0..open.len()).filter(|&row| open[row]).collect();
        let columns: Vec<Vec<f64>> = places.iter().map(|&at| self.column(vars[at])).collect();
        if rows.len() != places.len() {
            return None;
        }
        let matrix = rows.iter().flat_map(|&row| columns.iter().map(move |column| column[row])).collect();
        let inverse = invert(matrix, rows.len())?;
        Some(Core { places, columns, rows, inverse })
    }
}

/// A basis without its slacks. Most of a basis is slacks, whose columns are unit vectors; the rest
/// is a small matrix in the rows that have no basic slack.
struct Core {
    /// The places in the basis of the unknowns that are not slacks, and their columns.
    places: Vec<usize>,
    columns: Vec<Vec<f64>>,
    /// The rows that have no basic slack.
    rows: Vec<usize>,
    /// The inverse of the matrix of these columns in these rows, row by row.
    inverse: Vec<f64>,
}

impl Core {
    fn size(&self) -> usize {
        self.rows.len()
    }

    /// The values of the unknowns that are not slacks.
    fn values(&self, sides: &[f64]) -> Vec<f64> {
        let sides: Vec<f64> = self.rows.iter().map(|&row| sides[row]).collect();
        let mut values = Vec::new();
        times(&self.inverse, &sides, &mut values);
        values
    }

    /// Copies a row of this inverse to the right places of a row of the full inverse.
    fn spread(&self, entries: &[f64], target: &mut [f64]) {
        self.rows.iter().zip(entries).for_each(|(&row, &entry)| target[row] = entry);
    }
}

/// Is every equation met?
fn is_balanced(mut values: impl Iterator<Item = (Var, f64)>) -> bool {
    !values.any(|(var, value)| matches!(var, Var::Under(_) | Var::Over(_)) && value > NUDGE)
}

impl Basis {
    /// How fast the basic values fall when an unknown with this column grows.
    fn direction(&self, column: &[f64]) -> Vec<f64> {
        let mut direction = Vec::new();
        times(&self.inverse, column, &mut direction);
        direction
    }

    /// The row that limits the step; of rows that limit it about equally, the one with the largest
    /// pivot.
    fn ratio(&self, direction: &[f64], sign: f64, free: impl Fn(Var) -> bool) -> Option<usize> {
        let falling = || {
            (0..self.vars.len())
                .filter(|&row| sign * direction[row] > PIVOT && !free(self.vars[row]))
                .map(|row| (row, sign * direction[row], self.values[row].max(0.0)))
        };
        let reach = falling().map(|(_, fall, value)| (value + SLIP) / fall).reduce(f64::min)?;
        falling()
            .filter(|&(_, fall, value)| value / fall <= reach)
            .max_by(|left, right| left.1.total_cmp(&right.1))
            .map(|(row, _, _)| row)
    }

    fn pivot(&mut self, entering: Var, leaving: usize, direction: &[f64]) {
        let rows = self.vars.len();
        let step = self.values[leaving] / direction[leaving];
        eliminate(&mut self.inverse, rows, leaving, direction[leaving], direction);
        for (value, fall) in self.values.iter_mut().zip(direction) {
            *value -= fall * step;
        }
        self.values[leaving] = step;
        self.vars[leaving] = entering;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_factored_basis_is_inverted_whole() {
        let mut state = 7u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 40) as f64 / (1u64 << 23) as f64 - 1.0
        };
        let sign = |point: usize| if point.is_multiple_of(2) { 1.0 } else { -1.0 };
        let mut simplex = MultiplierSimplex::new(9, 1);
        for point in 0..40 {
            let entries: Vec<f64> = (0..9).map(|_| next()).collect();
            simplex.add_point(entries.into_iter(), [sign(point)].into_iter());
        }
        let mut basis = simplex.start().unwrap();
        assert_eq!(
            simplex.improve(&mut basis, &[true; 9], f64::INFINITY, &Limits::default()),
            Ended::Optimal
        );
        simplex.factor(&mut basis, NUDGE).unwrap();
        let slacks = basis.vars.iter().filter(|var| matches!(var, Var::Slack(_))).count();
        assert!((1..9).contains(&slacks), "{slacks} slacks show nothing");
        for (column, &var) in basis.vars.iter().enumerate() {
            for (row, entry) in basis.direction(&simplex.column(var)).into_iter().enumerate() {
                let unit = if row == column { 1.0 } else { 0.0 };
                assert!((entry - unit).abs() < 1e-9, "row {row}, unknown {column}: {entry}");
            }
        }
        let values = basis.direction(&simplex.sides(NUDGE));
        assert!(values.iter().zip(&basis.values).all(|(one, other)| (one - other).abs() < 1e-9));
        // The weights without the tie-breaking right-hand sides differ a little and meet the
        // equations.
        let weights = simplex.weights(&basis).unwrap();
        assert!((weights.iter().map(|(_, weight)| weight).sum::<f64>() - 1.0).abs() < 1e-9);
        assert!(weights.iter().map(|&(point, weight)| sign(point) * weight).sum::<f64>().abs() < 1e-9);
    }
}
