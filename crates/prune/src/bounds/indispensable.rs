//! Which columns nothing can stand in for: each with a cut of that column alone.
//!
//! Pairs of inputs at relevant boundaries come first; a boundary that one column draws needs no solver. For
//! every column that is left the solver is asked for multipliers that separate all others. Where there are
//! none its answer is weights without that column: cells that refute them are added where all can be swept,
//! and else what these weights do without need not be asked for either. Then more inputs near the decision
//! boundary are added, until rounds of that show nothing new or the budget ends. A column without a cut is
//! not said to be dispensable.

use fastrand::Rng;
use secateur_lp::Limits;
use secateur_model::Grid;
use secateur_oracle::SearchBudget;

use crate::bounds::cut::{Cut, Cutter, Separating};
use crate::passes::relevant::Relevant;
use crate::points::all_cells::Sweep;
use crate::points::boundary_walks::{is_over, near_boundary};
use crate::points::point::Points;

/// Inputs of the first round, for each column; and at least so many.
const POINTS_PER_COLUMN: usize = 12;
const LEAST_POINTS: usize = 400;
/// Rounds that may show nothing new.
const IDLE_ROUNDS: usize = 2;
/// Inputs that one search may add, for each column.
const MOST_PER_COLUMN: usize = 60;

/// Sweeps for one question.
const MOST_SWEEPS: usize = 100;

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
    sweep: Option<&Sweep>,
    rng: &mut Rng,
    budget: &SearchBudget,
) -> Indispensable {
    let count = points.columns().len();
    let mut found = Indispensable { alone: vec![None; count], others: Vec::new() };
    for (_, pair) in relevant.iter().flat_map(|relevant| relevant.pairs()) {
        if is_over(budget) {
            return found;
        }
        if let Some(cut) = cutter.pair(points, pair) {
            found.add(cut);
        }
    }
    let stop = || is_over(budget);
    let limits = Limits { deadline: budget.deadline, stop: Some(&stop) };
    let mut wanted = (count * POINTS_PER_COLUMN).max(LEAST_POINTS);
    let mut idle = 0;
    while found.count() < count && idle < IDLE_ROUNDS && !is_over(budget) {
        let before = found.count();
        let band = points.band();
        for row in near_boundary(points.model(), grid, band, &[], wanted, rng, budget) {
            points.add(&row);
        }
        let asked = found.alone.iter().map(Option::is_none).collect();
        let ended = ask_each(points, cutter, asked, sweep, &limits, &mut |cut| found.add(cut));
        // A sweep leaves nothing for another round.
        if !ended || sweep.is_some() {
            return found;
        }
        idle = if found.count() > before { 0 } else { idle + 1 };
        wanted *= 2;
        if wanted > count * MOST_PER_COLUMN {
            break;
        }
    }
    found
}

/// Asks of each of these columns whether it is indispensable by the points, and by all cells where these can
/// be swept; false where a limit was reached before all were asked.
pub(crate) fn ask_each(
    points: &mut Points<'_>,
    cutter: &mut Cutter,
    mut asked: Vec<bool>,
    sweep: Option<&Sweep>,
    limits: &Limits<'_>,
    found: &mut dyn FnMut(Cut),
) -> bool {
    let mut kept = vec![true; asked.len()];
    for column in 0..asked.len() {
        let mut sweeps = 0;
        while asked[column] {
            kept[column] = false;
            let separating = cutter.separate(points, &kept, limits);
            kept[column] = true;
            match separating {
                Separating::Cut(cut) => found(cut),
                Separating::Solved(weights) => {
                    let refuted = sweep.is_some_and(|sweep| sweep.refute(points, &weights) > 0);
                    sweeps += 1;
                    if refuted && sweeps < MOST_SWEEPS {
                        continue;
                    }
                    if !refuted {
                        let without = weights.columns.iter().map(|&weight| weight == 0.0);
                        asked.iter_mut().zip(without).for_each(|(asked, without)| *asked &= !without);
                    }
                }
                Separating::None => {}
                Separating::Stopped => return false,
            }
            asked[column] = false;
        }
    }
    limits.spent().is_none()
}
