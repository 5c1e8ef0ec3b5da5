//! Finds columns that no others can replace: each with a cut of that column alone.
//!
//! Pairs of inputs at relevant boundaries come first; a boundary that only one column draws needs
//! no solver. For every other column the solver is asked for multipliers which show that the
//! remaining columns do not suffice without it. If there are none, the solver returns weights
//! without that column. Where all cells can be swept, cells that refute these weights are added to
//! the points, and the solver is asked again. Weights that are not refuted also answer the question
//! for every other column that they leave out. Then more inputs near the decision boundary are
//! added, until this shows nothing new for some rounds or the budget is spent. A column without a
//! cut is not claimed to be dispensable.

use fastrand::Rng;
use secateur_lp::Limits;
use secateur_model::Grid;
use secateur_oracle::SearchBudget;

use crate::bounds::cut::{ColumnCut, Cutter, Separating};
use crate::passes::relevant::Relevant;
use crate::points::all_cells::Sweep;
use crate::points::boundary_walks::{is_over, near_boundary};
use crate::points::point::Points;

/// Inputs of the first round: this many for each column, but at least LEAST_POINTS in total.
const POINTS_PER_COLUMN: usize = 12;
const LEAST_POINTS: usize = 400;
/// Rounds in a row without a new indispensable column before the search ends.
const IDLE_ROUNDS: usize = 2;
/// The most inputs that a round may ask for, for each column.
const MOST_PER_COLUMN: usize = 60;

/// The most sweeps for one column.
const MOST_SWEEPS: usize = 100;

/// The cuts that were found.
#[derive(Clone, Debug)]
pub struct Indispensable {
    /// For each column, a cut of that column alone, if one was found.
    pub alone: Vec<Option<ColumnCut>>,
    /// Cuts of several columns that were found on the way.
    pub others: Vec<ColumnCut>,
}

impl Indispensable {
    /// How many columns are shown to be indispensable.
    pub fn count(&self) -> usize {
        self.alone.iter().flatten().count()
    }

    /// All cuts.
    pub fn cuts(&self) -> impl Iterator<Item = &ColumnCut> {
        self.alone.iter().flatten().chain(&self.others)
    }

    fn add(&mut self, cut: ColumnCut) {
        match cut.columns[..] {
            [column] => {
                self.alone[column].get_or_insert(cut);
            }
            _ if self.others.iter().any(|known| known.columns == cut.columns) => {}
            _ => self.others.push(cut),
        }
    }
}

/// Looks for columns that no others can replace. Inputs that are found are added to the points.
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
        // A sweep considers all cells, so another round would find nothing new.
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

/// Asks for each column in `asked` whether the points show that it is indispensable, adding cells
/// from the sweep if there is one. False if a limit was reached before all were asked.
pub(crate) fn ask_each(
    points: &mut Points<'_>,
    cutter: &mut Cutter,
    mut asked: Vec<bool>,
    sweep: Option<&Sweep>,
    limits: &Limits<'_>,
    found: &mut dyn FnMut(ColumnCut),
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
