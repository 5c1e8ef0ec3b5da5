//! Linear and mixed-integer programs as callers state them, and in the form that both back ends
//! get.
//!
//! A [`Problem`] is plain data and may hold anything; [`Problem::check`] finds what a back end
//! would refuse. The back ends share a [`Model`], which holds the checked problem with its fixes.
//! There each row is divided by the power of two below its largest coefficient, which is exact. A
//! back end's tolerance is absolute, so it then means the same share of every row; otherwise
//! coefficients from 1e-6 to 1e2 would give "holds" many different meanings.

use std::collections::BTreeMap;

use crate::error::Error;
use crate::status::{Limits, Reason, Solution, Status};

/// The largest magnitude of a number in a problem. Back ends treat larger numbers as infinite.
pub const LARGEST: f64 = 1e15;

/// One unknown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Column {
    /// The cost of one unit, added to the objective.
    pub cost: f64,
    /// The lower bound; minus infinity for none.
    pub lower: f64,
    /// The upper bound; infinity for none.
    pub upper: f64,
    /// Whether only whole numbers are allowed. Then both bounds must be finite and fit in 32 bits.
    pub integer: bool,
}

impl Column {
    /// A real unknown between two bounds.
    pub fn real(cost: f64, lower: f64, upper: f64) -> Self {
        Self { cost, lower, upper, integer: false }
    }

    /// An integer unknown that is zero or one.
    pub fn binary(cost: f64) -> Self {
        Self { cost, lower: 0.0, upper: 1.0, integer: true }
    }
}

/// How a row's sum relates to its bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sense {
    /// The sum is at least the bound.
    AtLeast,
    /// The sum is at most the bound.
    AtMost,
    /// The sum equals the bound.
    Equal,
}

/// One constraint on a weighted sum of columns.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Columns and their coefficients. The coefficients of a column that occurs twice are added.
    pub terms: Vec<(usize, f64)>,
    /// How the sum relates to the bound.
    pub sense: Sense,
    /// The bound.
    pub bound: f64,
}

impl Row {
    /// The sum is at least `bound`.
    pub fn at_least(terms: Vec<(usize, f64)>, bound: f64) -> Self {
        Self { terms, sense: Sense::AtLeast, bound }
    }

    /// The sum is at most `bound`.
    pub fn at_most(terms: Vec<(usize, f64)>, bound: f64) -> Self {
        Self { terms, sense: Sense::AtMost, bound }
    }

    /// The sum is `bound`.
    pub fn equal(terms: Vec<(usize, f64)>, bound: f64) -> Self {
        Self { terms, sense: Sense::Equal, bound }
    }
}

/// Minimise the sum of cost times value over all columns, subject to the rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Problem {
    /// The unknowns.
    pub columns: Vec<Column>,
    /// The constraints.
    pub rows: Vec<Row>,
}

impl Problem {
    /// No unknowns, no constraints.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an unknown and returns its index.
    pub fn column(&mut self, column: Column) -> usize {
        self.columns.push(column);
        self.columns.len() - 1
    }

    /// Adds a constraint.
    pub fn row(&mut self, row: Row) {
        self.rows.push(row);
    }

    /// The first error that a back end would refuse the problem for.
    pub fn check(&self) -> Result<(), Error> {
        Model::new(self.clone()).map(drop)
    }
}

/// A problem with its edits, as a back end keeps it. If an edit is refused, every later solve
/// answers with the first such error.
#[derive(Debug)]
pub(crate) struct Stated(Result<Model, Error>);

impl Stated {
    pub(crate) fn new(problem: Problem) -> Self {
        Self(Model::new(problem))
    }

    pub(crate) fn edit(&mut self, edit: impl FnOnce(&mut Model) -> Result<(), Error>) {
        if let Ok(model) = &mut self.0
            && let Err(error) = edit(model)
        {
            self.0 = Err(error);
        }
    }

    /// The problem to solve, or the answer if no solver is needed.
    pub(crate) fn model(&self, limits: &Limits<'_>) -> Result<&Model, Status> {
        match &self.0 {
            Err(error) => Err(Status::Unknown(Reason::Invalid(*error))),
            Ok(model) => match limits.spent().or_else(|| model.plain_answer()) {
                Some(status) => Err(status),
                None => Ok(model),
            },
        }
    }
}

/// A checked problem with scaled rows and the present fixes.
#[derive(Debug)]
pub(crate) struct Model {
    /// Sorted terms without zeros, rows scaled.
    pub(crate) problem: Problem,
    /// The columns held at a value.
    pub(crate) fixed: BTreeMap<usize, f64>,
}

impl Model {
    pub(crate) fn new(problem: Problem) -> Result<Self, Error> {
        let Problem { columns, rows } = problem;
        for (index, column) in columns.iter().enumerate() {
            check_column(index, column)?;
        }
        let mut model = Self {
            problem: Problem { columns, rows: Vec::with_capacity(rows.len()) },
            fixed: BTreeMap::new(),
        };
        for row in rows {
            model.add_row(row)?;
        }
        Ok(model)
    }

    pub(crate) fn add_row(&mut self, row: Row) -> Result<(), Error> {
        let row = scaled(row, self.problem.rows.len(), self.problem.columns.len())?;
        self.problem.rows.push(row);
        Ok(())
    }

    pub(crate) fn fix(&mut self, column: usize, value: f64) -> Result<(), Error> {
        self.check_index(column)?;
        if !is_number(value) {
            return Err(Error::FixedValue { column, value });
        }
        self.fixed.insert(column, value);
        Ok(())
    }

    pub(crate) fn unfix(&mut self, column: usize) -> Result<(), Error> {
        self.check_index(column)?;
        self.fixed.remove(&column);
        Ok(())
    }

    pub(crate) fn set_costs(&mut self, costs: &[f64]) -> Result<(), Error> {
        let columns = self.problem.columns.len();
        if costs.len() != columns {
            return Err(Error::Costs { costs: costs.len(), columns });
        }
        if let Some((column, &value)) = costs.iter().enumerate().find(|&(_, &cost)| !is_number(cost)) {
            return Err(Error::Cost { column, value });
        }
        for (column, &cost) in self.problem.columns.iter_mut().zip(costs) {
            column.cost = cost;
        }
        Ok(())
    }

    /// The answer, if no solver is needed.
    fn plain_answer(&self) -> Option<Status> {
        if self.is_plainly_infeasible() {
            Some(Status::Infeasible)
        } else if self.problem.columns.is_empty() {
            Some(Status::Optimal(Solution { objective: 0.0, values: Vec::new() }))
        } else {
            None
        }
    }

    /// A back end's point with integer columns rounded; `None` if its values are not numbers.
    pub(crate) fn solution(&self, mut values: Vec<f64>) -> Option<Solution> {
        for (column, value) in self.problem.columns.iter().zip(&mut values) {
            if column.integer {
                *value = value.round();
            }
        }
        let costs = self.problem.columns.iter().map(|column| column.cost);
        let objective: f64 = costs.zip(&values).map(|(cost, value)| cost * value).sum();
        let whole = values.len() == self.problem.columns.len();
        (whole && objective.is_finite() && values.iter().all(|value| value.is_finite()))
            .then_some(Solution { objective, values })
    }

    /// Is there a bound above its opposite, a fix outside the bounds or between the integers, or a
    /// row without columns that does not hold? Then no solver is needed, and none can forgive it by
    /// a tolerance.
    fn is_plainly_infeasible(&self) -> bool {
        let crossed = |column: &Column| column.lower > column.upper;
        let misfit = |(&index, &value): (&usize, &f64)| {
            let column = &self.problem.columns[index];
            !(column.lower..=column.upper).contains(&value) || (column.integer && value.fract() != 0.0)
        };
        let broken = |row: &Row| {
            row.terms.is_empty()
                && match row.sense {
                    Sense::AtLeast => row.bound > 0.0,
                    Sense::AtMost => row.bound < 0.0,
                    Sense::Equal => row.bound != 0.0,
                }
        };
        self.problem.columns.iter().any(crossed)
            || self.fixed.iter().any(misfit)
            || self.problem.rows.iter().any(broken)
    }

    fn check_index(&self, column: usize) -> Result<(), Error> {
        let columns = self.problem.columns.len();
        if column < columns { Ok(()) } else { Err(Error::FixedColumn { column, columns }) }
    }
}

/// Is it a number that a back end may get?
pub(crate) fn is_number(value: f64) -> bool {
    value.abs() <= LARGEST
}

fn check_column(index: usize, column: &Column) -> Result<(), Error> {
    if !is_number(column.cost) {
        return Err(Error::Cost { column: index, value: column.cost });
    }
    for (value, open) in [(column.lower, f64::NEG_INFINITY), (column.upper, f64::INFINITY)] {
        if !is_number(value) && value != open {
            return Err(Error::ColumnBound { column: index, value });
        }
        if column.integer && !(f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&value) {
            return Err(Error::IntegerBound { column: index, value });
        }
    }
    Ok(())
}

/// The row with sorted terms, each column once, without zeros, and with its largest coefficient in
/// [1, 2).
fn scaled(row: Row, index: usize, columns: usize) -> Result<Row, Error> {
    let Row { terms, sense, mut bound } = row;
    if !is_number(bound) {
        return Err(Error::RowBound { row: index, value: bound });
    }
    let mut sums: BTreeMap<usize, f64> = BTreeMap::new();
    for (column, coefficient) in terms {
        if column >= columns {
            return Err(Error::RowColumn { row: index, column, columns });
        }
        *sums.entry(column).or_insert(0.0) += coefficient;
    }
    if let Some((&column, &value)) = sums.iter().find(|&(_, &value)| !is_number(value)) {
        return Err(Error::Coefficient { row: index, column, value });
    }
    let mut terms: Vec<(usize, f64)> = sums.into_iter().filter(|&(_, value)| value != 0.0).collect();
    let largest = terms.iter().fold(0.0_f64, |largest, &(_, value)| largest.max(value.abs()));
    if largest > 0.0 {
        // The limit keeps the factor finite for a row of subnormal coefficients.
        let factor = (-largest.log2().floor()).min(1000.0).exp2();
        for (_, coefficient) in &mut terms {
            *coefficient *= factor;
        }
        bound *= factor;
        if !is_number(bound) {
            return Err(Error::RowBound { row: index, value: bound / factor });
        }
    }
    Ok(Row { terms, sense, bound })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_scaled_by_a_power_of_two_and_its_columns_are_merged() {
        let row = Row::at_most(vec![(2, 3e-6), (0, 1e-7), (2, 1e-6), (1, 0.0)], 5e-6);
        let scaled = scaled(row, 0, 3).unwrap();
        let factor = 2.0_f64.powi(18);
        assert_eq!(scaled.terms, vec![(0, 1e-7 * factor), (2, 4e-6 * factor)]);
        assert_eq!(scaled.bound, 5e-6 * factor);
        assert!((1.0..2.0).contains(&scaled.terms[1].1));
    }

    #[test]
    fn what_no_back_end_may_see_is_refused_with_its_place() {
        let check = |column: Column, row: Row| Problem { columns: vec![column], rows: vec![row] }.check();
        let fine = || Row::at_most(vec![(0, 1.0)], 1.0);
        let column = Column::real(1.0, 0.0, f64::INFINITY);
        assert_eq!(check(column, fine()), Ok(()));
        let cost = Column { cost: f64::INFINITY, ..column };
        assert_eq!(check(cost, fine()), Err(Error::Cost { column: 0, value: f64::INFINITY }));
        let lower = Column { lower: f64::INFINITY, ..column };
        assert_eq!(check(lower, fine()), Err(Error::ColumnBound { column: 0, value: f64::INFINITY }));
        let integer = Column { integer: true, ..column };
        assert_eq!(check(integer, fine()), Err(Error::IntegerBound { column: 0, value: f64::INFINITY }));
        assert_eq!(
            check(column, Row::at_most(vec![(1, 1.0)], 1.0)),
            Err(Error::RowColumn { row: 0, column: 1, columns: 1 })
        );
        assert_eq!(
            check(column, Row::at_most(vec![(0, 1e15), (0, 1e15)], 1.0)),
            Err(Error::Coefficient { row: 0, column: 0, value: 2e15 })
        );
        assert!(matches!(
            check(column, Row::at_most(vec![(0, f64::NAN)], 1.0)),
            Err(Error::Coefficient { row: 0, column: 0, .. })
        ));
        assert!(matches!(check(column, Row::at_most(vec![(0, 1.0)], f64::NAN)), Err(Error::RowBound { .. })));
        assert!(matches!(
            check(column, Row::at_most(vec![(0, f64::MIN_POSITIVE / 8.0)], 1.0)),
            Err(Error::RowBound { .. })
        ));
    }
}
