//! Multipliers that show a system of strict inequalities to have no solution.
//!
//! Problem: points i with entries a_ij and small integer vectors e_i (the free intercept), and the
//! columns J that are kept. Is there w >= 0 on J and a free b with `sum_j w_j a_ij + b . e_i > 0`
//! at every point? Not if there is y >= 0, not zero, with `sum_i y_i a_ij <= 0` for each j in J and
//! `sum_i y_i e_i = 0` (Farkas). This file searches for such y, of sum one, with a margin t:
//! `sum_i y_i a_ij <= -t`, each column divided by its largest magnitude. A margin leaves room to
//! round y to integers (`rounding`) and to check them exactly, which the caller has to do: nothing
//! here is a proof. The search itself is in `multiplier_simplex`.
//!
//! Not covered: if a combination of kept columns is zero at all points (two trees that mirror each
//! other, or a constant tree that the intercept also covers), no margin is positive, and the answer
//! is [`Separated::NotFound`]. A kept column that is zero at all points is left out, because it
//! cannot matter.

use std::collections::HashMap;

use crate::error::Error;
use crate::multiplier_simplex::{Basis, Ended, MultiplierSimplex};
use crate::status::{Limits, Reason, Status};

/// A smaller margin than this is not worth an exact check.
pub const SMALLEST_MARGIN: f64 = 1e-9;

/// A set of points, for which multipliers can be found for many sets of columns.
///
/// Columns that are multiples of each other at all points (trees with the same split) give the same
/// inequality. They are one *kind*, and the search works with kinds.
#[derive(Debug)]
pub struct Separation {
    /// Entries of each kind, divided by the scales.
    simplex: MultiplierSimplex,
    /// The divisor of each column's entries: their largest magnitude when the separation is made,
    /// or one.
    scales: Vec<f64>,
    /// The kind of each column, and the first column of each kind.
    kinds: Vec<usize>,
    firsts: Vec<usize>,
    /// Whether a kind has an entry that is not zero.
    present: Vec<bool>,
    /// All points as they were given, kept if columns share a kind, because a later point may tell
    /// the columns apart.
    whole: (Vec<Vec<f64>>, Vec<Vec<i64>>),
    equations: usize,
    /// The best weights for all columns, from which every search starts.
    base: Option<Basis>,
    /// Whether points were added after the base was computed.
    stale: bool,
}

/// Weights of some points.
#[derive(Clone, Debug, PartialEq)]
pub struct Multipliers {
    /// The points, ascending.
    pub points: Vec<usize>,
    /// Their weights: positive, with sum one.
    pub weights: Vec<f64>,
    /// The margin that they reach, computed from them in floating point.
    pub margin: f64,
}

/// Weights that solve the system at every point, as far as floating point can tell.
#[derive(Clone, Debug, PartialEq)]
pub struct Solving {
    /// The weight of each column; zero for those that are not kept.
    pub columns: Vec<f64>,
    /// The free intercept.
    pub free: Vec<f64>,
}

/// The result of a search for multipliers.
#[derive(Clone, Debug, PartialEq)]
pub enum Separated {
    /// These multipliers are worth an exact check.
    Found(Multipliers),
    /// There are none, because these weights of the kept columns solve the system.
    Solved(Solving),
    /// The largest margin is not positive: the kept columns may well solve the system.
    NotFound,
    /// The deadline came first.
    TimeLimit,
    /// The switch came first.
    Interrupted,
    /// No answer.
    Unknown(Reason),
}

impl Separation {
    /// Makes a separation from points: their entries, one for each column, and their equality
    /// vectors, all of one length.
    pub fn new(entries: &[Vec<f64>], equalities: &[Vec<i64>]) -> Result<Self, Error> {
        let columns = entries.first().map_or(0, Vec::len);
        let equations = equalities.first().map_or(0, Vec::len);
        if entries.len() != equalities.len() {
            return Err(Error::Ragged { point: entries.len().min(equalities.len()) });
        }
        let mut scales = vec![0.0_f64; columns];
        for (index, (entries, equality)) in entries.iter().zip(equalities).enumerate() {
            check(index, entries, columns, equality, equations)?;
            scales.iter_mut().zip(entries).for_each(|(scale, entry)| *scale = scale.max(entry.abs()));
        }
        let empty: Vec<bool> = scales.iter().map(|&scale| scale == 0.0).collect();
        scales.iter_mut().filter(|scale| **scale == 0.0).for_each(|scale| *scale = 1.0);
        let mut firsts = Vec::new();
        let mut known: HashMap<Vec<u64>, usize> = HashMap::new();
        let mut kind_of = |column: usize| {
            let scaled = entries.iter().map(|entries| (entries[column] / scales[column] + 0.0).to_bits());
            *known.entry(scaled.collect()).or_insert_with(|| {
                firsts.push(column);
                firsts.len() - 1
            })
        };
        let kinds: Vec<usize> = (0..columns).map(&mut kind_of).collect();
        let present = firsts.iter().map(|&column| !empty[column]).collect();
        let simplex = MultiplierSimplex::new(firsts.len(), equations);
        let whole = (Vec::new(), Vec::new());
        let mut separation =
            Self { simplex, scales, kinds, firsts, present, whole, equations, base: None, stale: true };
        for (entries, equality) in entries.iter().zip(equalities) {
            separation.push(entries, equality);
        }
        Ok(separation)
    }

    /// Adds a point. It counts for all later questions.
    pub fn add_point(&mut self, entries: &[f64], equality: &[i64]) -> Result<(), Error> {
        check(self.points(), entries, self.scales.len(), equality, self.equations)?;
        if self.tells_apart(entries) {
            let (mut all, mut equalities) = std::mem::take(&mut self.whole);
            all.push(entries.to_vec());
            equalities.push(equality.to_vec());
            *self = Self::new(&all, &equalities)?;
            return Ok(());
        }
        for (present, &first) in self.present.iter_mut().zip(&self.firsts) {
            if entries[first] != 0.0 && !*present {
                *present = true;
                // The base was computed without a bound for this column.
                self.base = None;
            }
        }
        self.push(entries, equality);
        self.stale = true;
        Ok(())
    }

    /// Does this point tell columns apart that were of one kind before?
    fn tells_apart(&self, entries: &[f64]) -> bool {
        let scaled = |column: usize| entries[column] / self.scales[column];
        self.kinds.iter().enumerate().any(|(column, &kind)| scaled(column) != scaled(self.firsts[kind]))
    }

    /// How many points there are.
    pub fn points(&self) -> usize {
        self.simplex.points()
    }

    /// Multipliers for these columns with a margin of at least `enough`, or otherwise with the
    /// largest margin.
    ///
    /// The largest margin takes the longest time to find, and a margin of 1e-4 survives any
    /// rounding.
    pub fn find(&mut self, kept: &[usize], enough: f64, limits: &Limits<'_>) -> Separated {
        let columns = self.scales.len();
        let mut counts = vec![false; self.firsts.len()];
        for &column in kept {
            match self.kinds.get(column) {
                Some(&kind) => counts[kind] = self.present[kind],
                None => return Separated::Unknown(Reason::Invalid(Error::HeldColumn { column, columns })),
            }
        }
        let Some(base) = self.base.take().or_else(|| self.simplex.start()) else {
            return Separated::NotFound;
        };
        let base = self.base.insert(base);
        if self.stale {
            match self.simplex.improve(base, &self.present, f64::INFINITY, limits) {
                Ended::Spent(status) => return ended(&status),
                Ended::Optimal | Ended::Enough => self.stale = false,
                // The basis is still feasible, and any feasible basis may be the start.
                Ended::Stuck => {}
            }
        }
        let mut basis = base.clone();
        let end = self.simplex.improve(&mut basis, &counts, enough, limits);
        if let Some(found) = self.multipliers(&basis, &counts) {
            return Separated::Found(found);
        }
        match end {
            Ended::Optimal => {
                self.solving(&basis, &counts, kept).map_or(Separated::NotFound, Separated::Solved)
            }
            Ended::Spent(status) => ended(&status),
            Ended::Enough | Ended::Stuck => Separated::Unknown(Reason::Numerical),
        }
    }

    /// The weights of a basis, if their margin is worth an exact check.
    fn multipliers(&self, basis: &Basis, counts: &[bool]) -> Option<Multipliers> {
        let (points, mut weights): (Vec<usize>, Vec<f64>) = self.simplex.weights(basis)?.into_iter().unzip();
        let total: f64 = weights.iter().sum();
        weights.iter_mut().for_each(|weight| *weight /= total);
        let margin = -self.simplex.largest_sum(&points, &weights, counts);
        (margin > SMALLEST_MARGIN).then_some(Multipliers { points, weights, margin })
    }

    /// The weights that an optimal basis represents, if they solve the system.
    fn solving(&self, basis: &Basis, counts: &[bool], kept: &[usize]) -> Option<Solving> {
        let (mut weights, free) = self.simplex.solving(basis, counts)?;
        let mut columns = vec![0.0; self.scales.len()];
        // The first kept column of a kind gets the weight of the whole kind.
        for &column in kept {
            columns[column] = std::mem::take(&mut weights[self.kinds[column]]) / self.scales[column];
        }
        Some(Solving { columns, free })
    }

    fn push(&mut self, entries: &[f64], equality: &[i64]) {
        if self.firsts.len() < self.kinds.len() {
            self.whole.0.push(entries.to_vec());
            self.whole.1.push(equality.to_vec());
        }
        let entries = self.firsts.iter().map(|&column| entries[column] / self.scales[column]);
        self.simplex.add_point(entries, equality.iter().map(|&value| value as f64));
    }
}

fn ended(status: &Status) -> Separated {
    if *status == Status::Interrupted { Separated::Interrupted } else { Separated::TimeLimit }
}

fn check(
    point: usize,
    entries: &[f64],
    columns: usize,
    equality: &[i64],
    equations: usize,
) -> Result<(), Error> {
    if entries.len() != columns || equality.len() != equations {
        return Err(Error::Ragged { point });
    }
    match entries.iter().enumerate().find(|&(_, entry)| !entry.is_finite()) {
        Some((column, &value)) => Err(Error::Entry { point, column, value }),
        None => Ok(()),
    }
}
