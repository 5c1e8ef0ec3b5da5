//! The cheapest set of columns that can do, proved: the paper's l0.
//!
//! Every cut says that one of its columns must stay, so the cheapest cover of all known cuts costs no more
//! than any set that can do. A cover that is cheaper than the best set so far is found, greedily or, where that
//! fails, by a search. If it can do, it is the new best. If not, some cut shows why and
//! joins the others. When the search shows that no cover is cheaper than the best set, that is the minimum. So only the last
//! of these searches has to prove something. Cuts are looked for among known points
//! first; only a cover that these do not rule out is given to the loop of solver and oracle, whose
//! counterexamples are new points.
//!
//! Cuts are made small before they are kept: of each, as many columns as possible are given back, for small
//! cuts say more. After each cut its columns count as kept for the rest of the round, so that one round
//! gives several cuts that share no column.
//!
//! The bound holds whenever the search ends: it rests on the cuts and the cover's proof alone.

use secateur_lp::Limits;
use secateur_oracle::Budget;

use crate::bounds::cover::{Below, CoverProof, cheapest_cover, cover_below, quick_cover};
use crate::bounds::cut::{Cut, Cutter, Separating};
use crate::points::boundary_walks::is_over;
use crate::points::point::Points;

/// Who tries whether columns can do.
pub trait Settle<'a> {
    /// Tries to prove a model with these columns alone; what refutes one joins the points.
    fn settle(&mut self, kept: &[bool]) -> Settled;
    /// All points so far.
    fn points(&self) -> &Points<'a>;
}

/// What became of a set of columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    /// A model with no other columns is proved.
    Proved,
    /// The points rule it out, by a float's word.
    Infeasible,
    /// Neither: the budget ended, or the proof is too hard.
    Open,
}

/// What is known of the minimum.
#[derive(Clone, Debug)]
pub struct Minimum {
    /// The cheapest columns that are proved to do.
    pub kept: Vec<bool>,
    /// What they cost.
    pub cost: u64,
    /// No columns that can do cost less than this.
    pub bound: u64,
    /// The cuts that the bound rests on.
    pub cuts: Vec<Cut>,
    /// Why a cover of these cuts costs that much.
    pub proof: CoverProof,
}

impl Minimum {
    /// Is it proved that nothing cheaper can do?
    pub fn is_proved(&self) -> bool {
        self.bound >= self.cost
    }
}

/// Looks for the minimum, from columns that are proved to do and cuts that are known: until it is proved, or for a few
/// rounds, each of which takes the cheapest cover.
pub fn minimum<'a>(
    settle: &mut dyn Settle<'a>,
    cutter: &mut Cutter,
    costs: &[u64],
    start: Vec<bool>,
    cuts: Vec<Cut>,
    rounds: Option<usize>,
    budget: &Budget,
) -> Minimum {
    let cost_of =
        |kept: &[bool]| kept.iter().zip(costs).filter(|(kept, _)| **kept).map(|(_, cost)| cost).sum();
    let none = CoverProof::Packing { multipliers: Vec::new(), denominator: 1 };
    let mut known = Minimum { cost: cost_of(&start), kept: start, bound: 0, cuts, proof: none };
    let mut rng = fastrand::Rng::with_seed(0);
    let mut any_cover = rounds.is_none();
    for _ in 0..rounds.unwrap_or(usize::MAX) {
        if known.is_proved() || is_over(budget) {
            break;
        }
        let cover = if any_cover {
            below_the_best(&mut known, costs, &mut rng, budget)
        } else {
            cheapest(&mut known, costs, budget)
        };
        let Some(cover) = cover else { break };
        let mut kept = vec![false; costs.len()];
        cover.iter().for_each(|&column| kept[column] = true);
        let before = known.cuts.len();
        add_cuts(settle.points(), cutter, &kept, &mut known.cuts, budget);
        if known.cuts.len() > before {
            continue;
        }
        match settle.settle(&kept) {
            Settled::Proved => {
                known.cost = cost_of(&kept);
                known.kept = kept;
            }
            Settled::Infeasible | Settled::Open => {
                add_cuts(settle.points(), cutter, &kept, &mut known.cuts, budget);
                // Nothing is known of this cover. Others may be settled: the cheapest ones say the most.
                if known.cuts.len() == before && !std::mem::take(&mut any_cover) {
                    break;
                }
            }
        }
    }
    if !known.is_proved()
        && let Some(cover) = cheapest_cover(&sets(&known.cuts), costs, budget)
        && cover.bound > known.bound
    {
        (known.bound, known.proof) = (cover.bound, cover.proof);
    }
    known
}

/// A cover that is cheaper than the best columns so far, any one. `None` where there is none, which is then proved, or where
/// the budget ended.
fn below_the_best(
    known: &mut Minimum,
    costs: &[u64],
    rng: &mut fastrand::Rng,
    budget: &Budget,
) -> Option<Vec<usize>> {
    let sets = sets(&known.cuts);
    if let Some(cover) = quick_cover(&sets, costs, known.cost, rng, budget) {
        return Some(cover);
    }
    match cover_below(&sets, costs, known.cost, budget) {
        Below::Cover(cover) => Some(cover),
        Below::None(proof) => {
            (known.bound, known.proof) = (known.cost, proof);
            None
        }
        Below::Unknown => None,
    }
}

/// The cheapest cover, which is a bound too. `None` where it is not cheaper than the best columns so far.
fn cheapest(known: &mut Minimum, costs: &[u64], budget: &Budget) -> Option<Vec<usize>> {
    let cover = cheapest_cover(&sets(&known.cuts), costs, budget)?;
    if cover.bound > known.bound {
        (known.bound, known.proof) = (cover.bound, cover.proof);
    }
    (!known.is_proved() && cover.cost < known.cost).then_some(cover.columns)
}

/// The columns of each cut.
pub(crate) fn sets(cuts: &[Cut]) -> Vec<Vec<usize>> {
    cuts.iter().map(|cut| cut.columns.clone()).collect()
}

/// Adds cuts that the kept columns do not meet, small ones that share no column.
fn add_cuts(points: &Points<'_>, cutter: &mut Cutter, kept: &[bool], cuts: &mut Vec<Cut>, budget: &Budget) {
    let stop = || is_over(budget);
    let limits = Limits { deadline: budget.deadline, stop: Some(&stop) };
    let mut kept = kept.to_vec();
    while let Separating::Cut(cut) = cutter.separate(points, &kept, &limits) {
        let cut = smaller(points, cutter, cut, kept.len(), &limits);
        if cut.columns.is_empty() {
            return;
        }
        cut.columns.iter().for_each(|&column| kept[column] = true);
        cuts.push(cut);
    }
}

/// Attempts to make a cut smaller, times the square of the number of columns: each takes about its cube.
const WORK: usize = 1_500_000;
/// Attempts at least.
const LEAST_ATTEMPTS: usize = 8;

/// A cut of fewer columns, by giving back halves, quarters and so on, down to single ones.
fn smaller(points: &Points<'_>, cutter: &mut Cutter, cut: Cut, columns: usize, limits: &Limits<'_>) -> Cut {
    let mut best = cut;
    let mut size = best.columns.len().div_ceil(2);
    let mut attempts = (WORK / (columns * columns).max(1)).max(LEAST_ATTEMPTS);
    while best.columns.len() > 1 {
        let mut from = 0;
        while from < best.columns.len() && best.columns.len() > 1 {
            if attempts == 0 {
                return best;
            }
            attempts -= 1;
            let mut kept = vec![true; columns];
            best.columns.iter().for_each(|&column| kept[column] = false);
            let back = &best.columns[from..(from + size).min(best.columns.len())];
            back.iter().for_each(|&column| kept[column] = true);
            let all = back.len() == best.columns.len();
            match cutter.separate(points, &kept, limits) {
                Separating::Cut(found) if !all && !found.columns.is_empty() => best = found,
                Separating::Stopped => return best,
                _ => from += size,
            }
        }
        if size == 1 {
            break;
        }
        size = size.div_ceil(2);
    }
    best
}
