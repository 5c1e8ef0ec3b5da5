//! The cheapest set of columns that suffices, proved: the paper's l0. A set of columns suffices if
//! some weights of these columns alone keep the original's decisions.
//!
//! Every cut says that one of its columns must stay, so the cheapest cover of all known cuts costs
//! no more than any set that suffices. Covers that are cheaper than the best set are found greedily
//! and, where that fails, by one search over all covers. A cover that suffices is the new best. If
//! it does not suffice, some cut shows why; the cut joins the others and the search continues with
//! it, keeping what it has refuted. When no cheaper cover is left, the best set is the minimum, and
//! the search is the proof. Cuts are first searched for among known points. Only a cover that these
//! do not rule out is given to the loop of solver and oracle, whose counterexamples become new
//! points.
//!
//! Every cut is shrunk before it is kept, because small cuts say more. After each cut its columns
//! count as kept for the rest of the round, so one round gives several cuts that share no column.
//!
//! The bound holds whenever the search ends: it rests only on the cuts and on the proof about their
//! covers.

use secateur_lp::Limits;
use secateur_oracle::SearchBudget;

use crate::bounds::cover::{CoverProof, Judged, cheapest_cover, no_cover_below, quick_cover};
use crate::bounds::cut::{ColumnCut, Cutter, Separating};
use crate::points::boundary_walks::is_over;
use crate::points::point::Points;

/// Decides whether a set of columns suffices.
pub trait Settle<'a> {
    /// Tries to prove a model with these columns alone; counterexamples join the points.
    fn settle(&mut self, kept: &[bool]) -> Settled;
    /// All points that are known.
    fn points(&self) -> &Points<'a>;
}

/// Shows that a set of columns does not suffice.
pub trait Separate {
    /// A cut that the kept columns do not meet, if these points show one.
    fn separate(&mut self, points: &Points<'_>, kept: &[bool], limits: &Limits<'_>) -> Separating;
}

impl Separate for Cutter {
    fn separate(&mut self, points: &Points<'_>, kept: &[bool], limits: &Limits<'_>) -> Separating {
        Cutter::separate(self, points, kept, limits)
    }
}

/// What was found about a set of columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    /// A model with these columns alone is proved.
    Proved,
    /// No weights meet the demands of the points, as the solver found in floating point; not
    /// proved.
    Infeasible,
    /// Neither: the budget is spent, or the proof is too hard.
    Open,
}

/// What is known about the minimum.
#[derive(Clone, Debug)]
pub struct Minimum {
    /// The cheapest columns that are proved to suffice.
    pub kept: Vec<bool>,
    /// Their cost.
    pub cost: u64,
    /// No columns that suffice cost less than this.
    pub bound: u64,
    /// The cuts that the bound rests on.
    pub cuts: Vec<ColumnCut>,
    /// The proof that no cover of these cuts costs less than the bound.
    pub proof: CoverProof,
}

impl Minimum {
    /// Is it proved that nothing cheaper suffices?
    pub fn is_proved(&self) -> bool {
        self.bound >= self.cost
    }
}

/// Which covers are tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Covers {
    /// At most this many, each the cheapest of all: few, but dear to find.
    Cheapest(usize),
    /// At most this many, in any order, as long as they are cheaper than the best columns.
    Some(usize),
    /// All that are cheaper than the best columns, until the minimum is proved or the budget is
    /// spent.
    All,
}

/// Looks for the minimum, starting from columns that are proved to suffice and from known cuts.
pub fn minimum<'a>(
    settle: &mut dyn Settle<'a>,
    cutter: &mut dyn Separate,
    costs: &[u64],
    start: Vec<bool>,
    cuts: Vec<ColumnCut>,
    covers: Covers,
    budget: &SearchBudget,
) -> Minimum {
    let none = CoverProof::Packing { multipliers: Vec::new(), denominator: 1 };
    let known = Minimum { cost: cost_of(&start, costs), kept: start, bound: 0, cuts, proof: none };
    let (rounds, left) = match covers {
        Covers::Cheapest(most) => (most, 0),
        Covers::Some(most) => (0, most),
        Covers::All => (usize::MAX, usize::MAX),
    };
    let mut state = State { settle, cutter, costs, known, left, budget };
    state.below_the_best(if covers == Covers::All { usize::MAX } else { FEW_BRANCHES });
    for _ in 0..rounds {
        if state.known.is_proved() || is_over(budget) {
            break;
        }
        let Some(cover) = state.cheapest() else { break };
        if let Judged::Unknown = state.judge(&cover) {
            break;
        }
    }
    let mut known = state.known;
    if !known.is_proved()
        && let Some(cover) = cheapest_cover(&sets(&known.cuts), costs, budget)
        && cover.bound > known.bound
    {
        (known.bound, known.proof) = (cover.bound, cover.proof);
    }
    known
}

fn cost_of(kept: &[bool], costs: &[u64]) -> u64 {
    kept.iter().zip(costs).filter(|(kept, _)| **kept).map(|(_, cost)| cost).sum()
}

/// A search for the minimum.
struct State<'s, 'a> {
    settle: &'s mut dyn Settle<'a>,
    cutter: &'s mut dyn Separate,
    costs: &'s [u64],
    known: Minimum,
    /// How many covers below the best may still be judged.
    left: usize,
    budget: &'s SearchBudget,
}

impl State<'_, '_> {
    /// Tries covers that are cheaper than the best columns, in any order, until a proof shows that
    /// none is left. A cover that is neither proved nor refuted is set aside with all its subsets,
    /// by demanding one of the columns outside it. If something cheaper is found nevertheless, the
    /// search starts again without the covers set aside. A search over all covers ends after this
    /// many branches.
    fn below_the_best(&mut self, branches: usize) {
        let mut rng = fastrand::Rng::with_seed(0);
        while self.left > 0 {
            let before = self.known.cost;
            let mut aside: Vec<Vec<usize>> = Vec::new();
            loop {
                let mut cuts = sets(&self.known.cuts);
                cuts.extend(aside.iter().cloned());
                let cover = quick_cover(&cuts, self.costs, self.known.cost, &mut rng, self.budget);
                let Some(cover) = cover else { break };
                if let Judged::Unknown = self.judge_below(&cover) {
                    if aside.len() == MOST_ASIDE || self.left == 0 {
                        return;
                    }
                    aside.push(self.outside(&cover));
                }
            }
            let mut cuts = sets(&self.known.cuts);
            cuts.extend(aside.iter().cloned());
            let (costs, budget, target) = (self.costs, self.budget, self.known.cost);
            let proof = no_cover_below(cuts, costs, target, branches, budget, &mut |cover| match self
                .judge_below(cover)
            {
                Judged::Unknown if aside.len() < MOST_ASIDE && self.left > 0 => {
                    aside.push(self.outside(cover));
                    Judged::Cannot(aside.last().cloned().into_iter().collect())
                }
                judged => judged,
            });
            match proof {
                Some(proof) if aside.is_empty() => {
                    (self.known.bound, self.known.proof) = (self.known.cost, proof);
                    return;
                }
                // Something cheaper was found, so the covers that were set aside may not matter any
                // more.
                Some(_) if self.known.cost < before => {}
                _ => return,
            }
        }
    }

    /// Judges a cover, if another one may be judged.
    fn judge_below(&mut self, cover: &[usize]) -> Judged {
        if self.left == 0 || is_over(self.budget) {
            self.left = 0;
            return Judged::Unknown;
        }
        self.left -= 1;
        self.judge(cover)
    }

    /// The columns that are not in a cover.
    fn outside(&self, cover: &[usize]) -> Vec<usize> {
        (0..self.costs.len()).filter(|column| !cover.contains(column)).collect()
    }

    /// Decides whether a cover that is cheaper than the best columns suffices. If so, it becomes
    /// the best; if not, cuts that it does not meet join the others.
    fn judge(&mut self, cover: &[usize]) -> Judged {
        let mut kept = vec![false; self.costs.len()];
        cover.iter().for_each(|&column| kept[column] = true);
        let before = self.known.cuts.len();
        self.add_cuts(&kept);
        if self.known.cuts.len() == before {
            match self.settle.settle(&kept) {
                Settled::Proved => {
                    self.known.cost = cost_of(&kept, self.costs);
                    self.known.kept = kept;
                    return Judged::CanDo;
                }
                Settled::Infeasible | Settled::Open => {
                    self.add_cuts(&kept);
                }
            }
        }
        let found = sets(&self.known.cuts[before..]);
        if found.is_empty() { Judged::Unknown } else { Judged::Cannot(found) }
    }

    /// The cheapest cover, whose bound is kept if it is better. `None` if the cover is not cheaper
    /// than the best columns.
    fn cheapest(&mut self) -> Option<Vec<usize>> {
        let cover = cheapest_cover(&sets(&self.known.cuts), self.costs, self.budget)?;
        if cover.bound > self.known.bound {
            (self.known.bound, self.known.proof) = (cover.bound, cover.proof);
        }
        (!self.known.is_proved() && cover.cost < self.known.cost).then_some(cover.columns)
    }

    /// Adds small cuts that the kept columns do not meet and that share no column.
    fn add_cuts(&mut self, kept: &[bool]) {
        let stop = || is_over(self.budget);
        let limits = Limits { deadline: self.budget.deadline, stop: Some(&stop) };
        let points = self.settle.points();
        let mut kept = kept.to_vec();
        while let Separating::Cut(cut) = self.cutter.separate(points, &kept, &limits) {
            let cut = smaller(points, self.cutter, cut, kept.len(), &limits);
            if cut.columns.is_empty() {
                return;
            }
            cut.columns.iter().for_each(|&column| kept[column] = true);
            self.known.cuts.push(cut);
        }
    }
}

/// The most branches of the search over all covers, where only some covers are tried.
const FEW_BRANCHES: usize = 300;

/// The columns of each cut.
pub(crate) fn sets(cuts: &[ColumnCut]) -> Vec<Vec<usize>> {
    cuts.iter().map(|cut| cut.columns.clone()).collect()
}

/// The most covers that are set aside before the search gives up.
const MOST_ASIDE: usize = 1_000;

/// Limits the work of shrinking a cut: the number of attempts times the square of the number of
/// columns. (The time of an attempt grows about with the cube of that number.)
const WORK: usize = 1_500_000;
/// The least number of attempts.
const LEAST_ATTEMPTS: usize = 8;
/// Cuts of at most this many columns are shrunk one column at a time: in cuts that small, several
/// columns can hardly ever be left out together.
const SINGLY: usize = 24;

/// Shrinks a cut: tries to find one without half of its columns, then without a quarter, and so on
/// down to single columns.
fn smaller(
    points: &Points<'_>,
    cutter: &mut dyn Separate,
    cut: ColumnCut,
    columns: usize,
    limits: &Limits<'_>,
) -> ColumnCut {
    let mut best = cut;
    let mut size = if best.columns.len() <= SINGLY { 1 } else { best.columns.len().div_ceil(2) };
    let mut attempts = (WORK / (columns * columns).max(1)).max(LEAST_ATTEMPTS);
    while best.columns.len() > 1 {
        let mut from = 0;
        while from < best.columns.len() && best.columns.len() > 1 {
            let mut kept = vec![true; columns];
            best.columns.iter().for_each(|&column| kept[column] = false);
            let back = &best.columns[from..(from + size).min(best.columns.len())];
            back.iter().for_each(|&column| kept[column] = true);
            if back.len() == best.columns.len() {
                from += size;
                continue;
            }
            if attempts == 0 {
                return best;
            }
            attempts -= 1;
            match cutter.separate(points, &kept, limits) {
                Separating::Cut(found) if !found.columns.is_empty() => best = found,
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
