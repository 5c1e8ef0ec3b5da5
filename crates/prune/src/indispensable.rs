//! Which columns nothing can stand in for: each with a cut of that column alone.
//!
//! Pairs of inputs at relevant boundaries come first; a boundary that one column draws needs no solver.
//! For every column that is left the solver is asked for multipliers that separate all others. Where it
//! finds none, more inputs near the decision boundary are added, until rounds of that show nothing new or
//! the budget ends. A column without a cut is not said to be dispensable.

use fastrand::Rng;
use secateur_lp::Limits;
use secateur_model::Grid;
use secateur_oracle::Budget;

use crate::cut::{Cut, Cutter, Separating};
use crate::near::{is_over, near_boundary};
use crate::point::Points;
use crate::relevant::Relevant;

/// Inputs of the first round, for each column; and at least so many.
const POINTS_PER_COLUMN: usize = 12;
const LEAST_POINTS: usize = 400;
/// Rounds that may show nothing new.
const IDLE_ROUNDS: usize = 2;
/// Inputs that one search may add, for each column.
const MOST_PER_COLUMN: usize = 60;

/// What was found.
#[derive(Clone, Debug)]
pub struct Indispensable {
    /// For each column a cut that holds nothing else.
    pub alone: Vec<Option<Cut>>,
    /// Cuts of several columns that were found on the way.
    pub others: Vec<Cut>,
}

impl Indispensable {
    /// How many columns are shown to be indispensable.
    pub fn count(&self) -> usize {
        self.alone.iter().flatten().count()
    }

    /// All cuts.
    pub fn cuts(&self) -> impl Iterator<Item = &Cut> {
        self.alone.iter().flatten().chain(&self.others)
    }

    fn add(&mut self, cut: Cut) {
        match cut.columns[..] {
            [column] => {
                self.alone[column].get_or_insert(cut);
            }
            _ if self.others.iter().any(|known| known.columns == cut.columns) => {}
            _ => self.others.push(cut),
        }
    }
}

/// Looks for columns that nothing can stand in for. Inputs that are found are added to the points.
pub fn indispensable(
    points: &mut Points<'_>,
    grid: &Grid,
    cutter: &mut Cutter,
    relevant: Option<&Relevant>,
    rng: &mut Rng,
    budget: &Budget,
) -> Indispensable {
    let count = points.columns().len();
    let mut found = Indispensable { alone: vec![None; count], others: Vec::new() };
    for (_, pair) in relevant.iter().flat_map(|relevant| relevant.pairs()) {
        if let Some(cut) = cutter.pair(points, pair) {
            found.add(cut);
        }
    }
    // A cut of several columns is of no use beside one of its columns alone.
    let stop = || is_over(budget);
    let limits = Limits { deadline: budget.deadline, stop: Some(&stop) };
    let mut kept = vec![true; count];
    let mut wanted = (count * POINTS_PER_COLUMN).max(LEAST_POINTS);
    let mut idle = 0;
    while found.count() < count && idle < IDLE_ROUNDS && !is_over(budget) {
        let before = found.count();
        let band = points.band();
        for row in near_boundary(points.model(), grid, band, &[], wanted, rng, budget) {
            points.add(&row);
        }
        for column in 0..count {
            if found.alone[column].is_some() {
                continue;
            }
            kept[column] = false;
            match cutter.separate(points, &kept, &limits) {
                Separating::Cut(cut) => found.add(cut),
                Separating::None => {}
                Separating::Stopped => return found,
            }
            kept[column] = true;
        }
        idle = if found.count() > before { 0 } else { idle + 1 };
        wanted *= 2;
        if points.rows().len() > count * MOST_PER_COLUMN + LEAST_POINTS {
            break;
        }
    }
    found
}
