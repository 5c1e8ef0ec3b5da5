//! A linear program with few unknowns and ever more rows, solved in the space of the unknowns.
//!
//! Problem: minimise `c.x` subject to `a_i.x >= b_i` for all rows i, where `c >= 0` and each
//! unknown is nonnegative, free (then `c_j = 0`) or held at zero.
//!
//! Idea: the simplex method on the dual, `max b.y` subject to `y.A <= c`, `y >= 0`, which is
//! feasible from the start (y = 0). The basis is as large as the number of unknowns (tens to
//! hundreds), while rows (thousands, most of them never needed again) are only priced: the
//! multipliers of a basis are a point x, and the row that x violates most enters. Rows may be added
//! at any time, bounds changed, and unknowns held at zero, without losing the basis. A ray along
//! which the dual grows without end is a Farkas certificate: rows whose nonnegative combination no
//! x can meet.
//!
//! Invariants: `values = inverse * c`; basic slacks of nonnegative unknowns and basic rows are
//! nonnegative up to [`ROUNDING`]; slacks of free unknowns are zero; slacks of unknowns held at
//! zero are free.
//!
//! Everything is f64 and a hint. Costs are perturbed a little, always in the same way, so that ties
//! do not lead to cycles.

use crate::dense::{add_multiple, dot, eliminate, invert, times};
use crate::growing::Sign;

/// How a solve ended.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Ended {
    /// The best point.
    Optimal(Vec<f64>),
    /// Infeasible: these rows, with these positive multipliers, contradict each other.
    Infeasible(Vec<(usize, f64)>),
    /// No answer: the solve was stopped, or rounding errors became too large.
    Unknown,
}

/// A basic slack or row may be this far below zero.
const ROUNDING: f64 = 1e-9;
/// Smaller pivots are not used.
const PIVOT: f64 = 1e-9;
/// A row counts as violated by more than this share of its norm and of its largest term.
const VIOLATED: f64 = 4e-9;
/// Pivots between two inversions of the basis, or the number of unknowns if that is larger.
const REFRESH: usize = 60;
/// The number of rows on the shortlist, which are priced again before all rows are.
const SHORTLIST: usize = 48;
/// Relative size of the perturbation of costs.
const PERTURBATION: f64 = 1e-4;
/// The most pivots of one solve, for each unknown.
const MOST_PIVOTS: usize = 200;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Basic {
    Slack(usize),
    Row(usize),
}

/// The program and its present basis.
#[derive(Clone, Debug)]
pub(crate) struct Simplex {
    count: usize,
    costs: Vec<f64>,
    signs: Vec<Sign>,
    /// All rows, one after the other.
    rows: Vec<f64>,
    norms: Vec<f64>,
    bounds: Vec<f64>,
    state: State,
}

/// The state that a solve changes.
#[derive(Clone, Debug)]
pub(crate) struct State {
    basis: Vec<Basic>,
    /// Is the slack of this unknown basic?
    slack_basic: Vec<bool>,
    /// The inverse of the basis, row by row.
    inverse: Vec<f64>,
    values: Vec<f64>,
    pivots: usize,
}

impl Simplex {
    /// A program without rows.
    pub(crate) fn new(costs: &[f64], signs: &[Sign]) -> Self {
        let mut rng = fastrand::Rng::with_seed(0x5eca);
        let mut perturbed = |(cost, sign): (&f64, &Sign)| match sign {
            Sign::Free => 0.0,
            _ => cost * (1.0 + PERTURBATION * rng.f64()) + PERTURBATION * 1e-2 * rng.f64(),
        };
        let costs: Vec<f64> = costs.iter().zip(signs).map(&mut perturbed).collect();
        let count = costs.len();
        let state = State {
            basis: (0..count).map(Basic::Slack).collect(),
            slack_basic: vec![true; count],
            inverse: identity(count),
            values: costs.clone(),
            pivots: 0,
        };
        Self {
            count,
            costs,
            signs: signs.to_vec(),
            rows: Vec::new(),
            norms: Vec::new(),
            bounds: Vec::new(),
            state,
        }
    }

    /// Adds a row, with one coefficient for each unknown.
    pub(crate) fn add_row(&mut self, coefficients: impl IntoIterator<Item = f64>, bound: f64) {
        let start = self.rows.len();
        self.rows.extend(coefficients);
        debug_assert_eq!(self.rows.len(), start + self.count);
        let norm = self.rows[start..].iter().map(|value| value * value).sum::<f64>().sqrt();
        self.norms.push(norm.max(f64::MIN_POSITIVE));
        self.bounds.push(bound);
    }

    /// Changes the bound of a row.
    pub(crate) fn set_bound(&mut self, row: usize, bound: f64) {
        self.bounds[row] = bound;
    }

    /// Holds an unknown at zero. Only [`Simplex::restore`] releases it.
    pub(crate) fn hold(&mut self, unknown: usize) {
        self.signs[unknown] = Sign::Held;
    }

    /// Saves the basis and which unknowns are held at zero. Rows may be added before it is
    /// restored.
    pub(crate) fn save(&self) -> (State, Vec<Sign>) {
        (self.state.clone(), self.signs.clone())
    }

    /// Returns to a saved basis and the unknowns held at zero then.
    pub(crate) fn restore(&mut self, (state, signs): (State, Vec<Sign>)) {
        self.state = state;
        self.signs = signs;
    }

    /// Returns to the first basis.
    pub(crate) fn reset(&mut self) {
        self.state = State {
            basis: (0..self.count).map(Basic::Slack).collect(),
            slack_basic: vec![true; self.count],
            inverse: identity(self.count),
            values: self.costs.clone(),
            pivots: 0,
        };
    }

    /// Solves from the present basis.
    pub(crate) fn solve(&mut self, stop: &dyn Fn() -> bool) -> Ended {
        if self.count == 0 {
            let unmet = self.bounds.iter().position(|&bound| bound > 0.0);
            return unmet.map_or(Ended::Optimal(Vec::new()), |row| Ended::Infeasible(vec![(row, 1.0)]));
        }
        let mut shortlist: Vec<usize> = Vec::new();
        let mut refreshed = false;
        let mut point = self.point();
        // Whether the inverse was computed afresh, so that the point has no accumulated rounding
        // errors.
        let mut direct = true;
        for turn in 0..MOST_PIVOTS * (self.count + 10) {
            if turn % 8 == 0 && stop() {
                return Ended::Unknown;
            }
            if self.state.pivots >= REFRESH.max(self.count) {
                if !self.refresh() {
                    return Ended::Unknown;
                }
                (point, direct) = (self.point(), true);
            }
            let entering = self.entering(&point, &mut shortlist);
            let Some((entering, upward)) = entering else {
                if !direct {
                    (point, direct) = (self.point(), true);
                    continue;
                }
                // An optimum that was found with an updated inverse is checked once more with a
                // fresh one.
                if self.state.pivots > 0 && !refreshed && !self.is_met(&point) {
                    refreshed = true;
                    shortlist.clear();
                    if !self.refresh() {
                        return Ended::Unknown;
                    }
                    point = self.point();
                    continue;
                }
                return Ended::Optimal(clean(point, &self.signs));
            };
            refreshed = false;
            let direction = self.direction(entering, upward);
            match self.leaving(&direction) {
                Some((position, step)) => {
                    let missing = match entering {
                        Basic::Slack(unknown) => -point[unknown],
                        Basic::Row(row) => self.bounds[row] - dot(self.row(row), &point),
                    };
                    self.pivot(entering, upward, position, step, &direction);
                    add_multiple(
                        &mut point,
                        missing,
                        &self.state.inverse[position * self.count..][..self.count],
                    );
                    direct = false;
                }
                None => {
                    let ray = self.ray(entering, &direction);
                    if self.state.pivots > 0 && !self.contradicts(&ray) {
                        if !self.refresh() {
                            return Ended::Unknown;
                        }
                        (point, direct) = (self.point(), true);
                        continue;
                    }
                    return ray;
                }
            }
        }
        Ended::Unknown
    }

    /// The multipliers of the basis: the point that the basis represents.
    fn point(&self) -> Vec<f64> {
        let mut point = vec![0.0; self.count];
        for (basic, inverse) in self.state.basis.iter().zip(self.state.inverse.chunks_exact(self.count)) {
            if let Basic::Row(row) = *basic {
                add_multiple(&mut point, self.bounds[row], inverse);
            }
        }
        point
    }

    /// The slack or row that improves the dual most, and whether it grows. Slacks and the rows on
    /// the shortlist are tried first, and all rows if none of those improves it.
    fn entering(&self, point: &[f64], shortlist: &mut Vec<usize>) -> Option<(Basic, bool)> {
        let slack = self.entering_slack(point);
        let own = |row: usize| Some((self.violation(row, dot(self.row(row), point), point)?, row));
        let listed = shortlist.iter().filter_map(|&row| own(row));
        let listed = listed.max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
        match (slack, listed) {
            (Some((_, unknown, upward)), None) => return Some((Basic::Slack(unknown), upward)),
            (Some((gain, unknown, upward)), Some((violation, _))) if gain >= violation => {
                return Some((Basic::Slack(unknown), upward));
            }
            (_, Some((_, row))) => return Some((Basic::Row(row), true)),
            (None, None) => {}
        }
        let mut products = Vec::new();
        times(&self.rows, point, &mut products);
        let violated = |(row, &product): (usize, &f64)| Some((self.violation(row, product, point)?, row));
        let mut violated: Vec<(f64, usize)> = products.iter().enumerate().filter_map(violated).collect();
        violated.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        shortlist.clear();
        shortlist.extend(violated.iter().take(SHORTLIST).map(|&(_, row)| row));
        shortlist.first().map(|&row| (Basic::Row(row), true))
    }

    /// The slack to enter: of a nonnegative unknown that is below zero, or of an unknown that is
    /// held at zero but is not zero. With the gain, and whether the slack grows.
    fn entering_slack(&self, point: &[f64]) -> Option<(f64, usize, bool)> {
        let largest = point.iter().fold(0.0f64, |largest, value| largest.max(value.abs()));
        let tolerance = ROUNDING * largest.max(1e-12);
        let mut best: Option<(f64, usize, bool)> = None;
        for (unknown, &value) in point.iter().enumerate() {
            if self.state.slack_basic[unknown] {
                continue;
            }
            let (gain, upward) = match self.signs[unknown] {
                Sign::Nonnegative => (-value, true),
                Sign::Held => (value.abs(), value < 0.0),
                Sign::Free => continue,
            };
            // Unknowns that are held at zero come first.
            let weighed = if self.signs[unknown] == Sign::Held { gain * 1e6 } else { gain };
            if gain > tolerance && best.is_none_or(|(top, ..)| weighed > top) {
                best = Some((weighed, unknown, upward));
            }
        }
        best
    }

    /// How far a row with this product is violated, as a share of its norm; `None` if it is not.
    fn violation(&self, row: usize, product: f64, point: &[f64]) -> Option<f64> {
        let missing = self.bounds[row] - product;
        if missing <= VIOLATED * self.norms[row] {
            return None;
        }
        let own = self.row(row);
        let largest = own.iter().zip(point).fold(0.0f64, |largest, (a, x)| largest.max((a * x).abs()));
        (missing > VIOLATED * largest).then(|| missing / self.norms[row])
    }

    fn row(&self, row: usize) -> &[f64] {
        &self.rows[row * self.count..][..self.count]
    }

    /// By how much each basic value decreases when the entering one moves by one.
    fn direction(&self, entering: Basic, upward: bool) -> Vec<f64> {
        let sign = if upward { 1.0 } else { -1.0 };
        match entering {
            Basic::Slack(unknown) => {
                let inverse = self.state.inverse.chunks_exact(self.count);
                inverse.map(|own| sign * own[unknown]).collect()
            }
            // The multiplier of a row can only grow.
            Basic::Row(row) => {
                let mut direction = Vec::new();
                times(&self.state.inverse, self.row(row), &mut direction);
                direction
            }
        }
    }

    /// The basic variable that leaves, and how far the entering one may move. Of variables that
    /// limit the step about equally, the one with the largest pivot leaves.
    fn leaving(&self, direction: &[f64]) -> Option<(usize, f64)> {
        let fixed = |position: usize| matches!(self.state.basis[position], Basic::Slack(unknown) if self.signs[unknown] == Sign::Free);
        let held = |position: usize| matches!(self.state.basis[position], Basic::Slack(unknown) if self.signs[unknown] == Sign::Held);
        // A slack that must stay zero leaves the basis as soon as it can.
        let stuck = (0..direction.len())
            .filter(|&position| fixed(position) && direction[position].abs() > 1e-7)
            .max_by(|&a, &b| direction[a].abs().total_cmp(&direction[b].abs()));
        if let Some(position) = stuck {
            return Some((position, 0.0));
        }
        let mut limit = f64::INFINITY;
        for (position, &fall) in direction.iter().enumerate() {
            if fall > PIVOT && !held(position) && !fixed(position) {
                limit = limit.min((self.state.values[position].max(0.0) + ROUNDING) / fall);
            }
        }
        let near = |&position: &usize| {
            let fall = direction[position];
            fall > PIVOT
                && !held(position)
                && !fixed(position)
                && self.state.values[position].max(0.0) / fall <= limit
        };
        let position = (0..direction.len())
            .filter(near)
            .max_by(|&a, &b| direction[a].total_cmp(&direction[b]).then(b.cmp(&a)))?;
        Some((position, self.state.values[position].max(0.0) / direction[position]))
    }

    fn pivot(&mut self, entering: Basic, upward: bool, position: usize, step: f64, direction: &[f64]) {
        let count = self.count;
        let state = &mut self.state;
        for (value, fall) in state.values.iter_mut().zip(direction) {
            *value -= step * fall;
        }
        state.values[position] = if upward { step } else { -step };
        let sign = if upward { 1.0 } else { -1.0 };
        let column: Vec<f64> = direction.iter().map(|fall| sign * fall).collect();
        eliminate(&mut state.inverse, count, position, column[position], &column);
        if let Basic::Slack(unknown) = state.basis[position] {
            state.slack_basic[unknown] = false;
        }
        if let Basic::Slack(unknown) = entering {
            state.slack_basic[unknown] = true;
        }
        state.basis[position] = entering;
        state.pivots += 1;
    }

    /// The rows and multipliers of a direction in which the dual grows without end.
    fn ray(&self, entering: Basic, direction: &[f64]) -> Ended {
        let mut rows: Vec<(usize, f64)> = Vec::new();
        if let Basic::Row(row) = entering {
            rows.push((row, 1.0));
        }
        for (basic, &fall) in self.state.basis.iter().zip(direction) {
            if let Basic::Row(row) = *basic
                && fall < 0.0
            {
                rows.push((row, -fall));
            }
        }
        rows.sort_by_key(|&(row, _)| row);
        if rows.is_empty() { Ended::Unknown } else { Ended::Infeasible(rows) }
    }

    /// Does the point of the basis meet the basic rows within the tolerance?
    fn is_met(&self, point: &[f64]) -> bool {
        self.state.basis.iter().all(|basic| match *basic {
            Basic::Slack(_) => true,
            Basic::Row(row) => {
                let own = self.row(row);
                let largest =
                    own.iter().zip(point).fold(0.0f64, |largest, (a, x)| largest.max((a * x).abs()));
                (dot(own, point) - self.bounds[row]).abs() <= VIOLATED * largest
            }
        })
    }

    /// Do these rows contradict each other? Computed from the rows, not from the basis.
    fn contradicts(&self, ended: &Ended) -> bool {
        let Ended::Infeasible(rows) = ended else { return false };
        let mut sums = vec![(0.0f64, 0.0f64); self.count];
        let mut bound = 0.0;
        for &(row, factor) in rows {
            bound += factor * self.bounds[row];
            for (sum, value) in sums.iter_mut().zip(self.row(row)) {
                *sum = (sum.0 + factor * value, sum.1.max((factor * value).abs()));
            }
        }
        bound > 0.0
            && sums.iter().zip(&self.signs).all(|(&(sum, largest), sign)| match sign {
                Sign::Nonnegative => sum <= VIOLATED * largest,
                Sign::Free => sum.abs() <= VIOLATED * largest,
                Sign::Held => true,
            })
    }

    /// Computes the inverse and the values of the basis afresh; false if the basis is singular.
    fn refresh(&mut self) -> bool {
        let count = self.count;
        // Columns of the basis. Those of slacks are unit vectors and come first, so that
        // elimination does not fill them.
        let is_row = |position: &usize| matches!(self.state.basis[*position], Basic::Row(_));
        let (rows, mut order): (Vec<usize>, Vec<usize>) = (0..count).partition(is_row);
        order.extend(rows);
        let mut work = vec![0.0; count * count];
        for (column, &position) in order.iter().enumerate() {
            match self.state.basis[position] {
                Basic::Slack(unknown) => work[unknown * count + column] = 1.0,
                Basic::Row(row) => {
                    for (unknown, &value) in self.rows[row * count..][..count].iter().enumerate() {
                        work[unknown * count + column] = value;
                    }
                }
            }
        }
        let Some(inverse) = invert(work, count) else { return false };
        for (own, &position) in inverse.chunks_exact(count).zip(&order) {
            self.state.inverse[position * count..][..count].copy_from_slice(own);
        }
        times(&self.state.inverse, &self.costs, &mut self.state.values);
        self.state.pivots = 0;
        true
    }
}

fn identity(count: usize) -> Vec<f64> {
    let mut matrix = vec![0.0; count * count];
    matrix.iter_mut().step_by(count + 1).for_each(|value| *value = 1.0);
    matrix
}

/// The point, with values that violate their sign only by rounding set to zero.
fn clean(mut values: Vec<f64>, signs: &[Sign]) -> Vec<f64> {
    for (value, sign) in values.iter_mut().zip(signs) {
        match sign {
            Sign::Nonnegative => *value = value.max(0.0),
            Sign::Free => {}
            Sign::Held => *value = 0.0,
        }
    }
    values
}
