//! The cheapest set of columns that meets every cut, and a proof that none is cheaper.
//!
//! A cut is a set of columns of which one must stay. A packing gives a lower bound: multipliers on
//! the cuts such that the multipliers of the cuts that contain a column add up to at most the
//! column's cost. No cover costs less than the sum of all multipliers (they solve the dual of the
//! linear relaxation). If the best packing is not enough, the proof branches on a column: without
//! it, its cuts get smaller; with it, they are met. The proof is a tree of branches with a packing
//! at each leaf, all in integers, so anyone can check it by addition.
//!
//! The packing is found in floating point ([`largest_set_packing`]) and rounded down to integers; only
//! the bound of the rounded packing counts.

use std::time::Duration;

use secateur_lp::{Limits, SetPacking, largest_set_packing};
use secateur_oracle::SearchBudget;

use crate::points::boundary_walks::is_over;

/// Multipliers are multiples of one part in this many.
const DENOMINATOR: u64 = 1 << 20;
/// The most branches of a search for the cheapest cover, and the most cuts that they look at in
/// all: such searches are frequent, and any bound is of use.
const MOST_BRANCHES: usize = 20_000;
const MOST_CUTS_SEEN: usize = 1_000_000;
/// The search for a packing ends after this time with the packing it has.
const LONGEST_PACKING: Duration = Duration::from_secs(5);

/// The proof that no cover is cheaper than a bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CoverProof {
    /// A packing: multipliers of cuts, as numerators over one denominator. For each column, the
    /// multipliers of the cuts that contain it add up to at most its cost. The sum of all
    /// multipliers, rounded up, is the bound.
    Packing {
        /// The index of each cut, with its numerator.
        multipliers: Vec<(usize, u64)>,
        /// What the numerators are divided by.
        denominator: u64,
    },
    /// Two cases: the column is not in the cover, or it is.
    Branch {
        /// The index of the column.
        column: usize,
        /// The proof without the column.
        without: Box<CoverProof>,
        /// The proof with the column: its cost is paid and its cuts are met.
        with: Box<CoverProof>,
    },
}

/// A cover, and a bound on the cost of all covers.
#[derive(Clone, Debug)]
pub struct Cover {
    /// The columns, ascending.
    pub columns: Vec<usize>,
    /// The cost of these columns.
    pub cost: u64,
    /// No cover costs less than this.
    pub bound: u64,
    /// The proof of the bound.
    pub proof: CoverProof,
}

/// The cheapest cover of these cuts that is found within the budget; `None` if a cut is empty.
pub fn cheapest_cover(cuts: &[Vec<usize>], costs: &[u64], budget: &SearchBudget) -> Option<Cover> {
    if cuts.iter().any(Vec::is_empty) {
        return None;
    }
    let branches = MOST_BRANCHES.min(MOST_CUTS_SEEN / cuts.len().max(1));
    let mut search = Search::new(cuts.to_vec(), costs, budget, branches);
    let root = Choice::new(costs.len());
    let (packing, hint) = search.packing(&root, &search.unmet(&root));
    let mut best = search.greedy(&root, &hint);
    let mut bound = search.packed(&packing, &root);
    let mut proof = packing;
    if bound < search.cost(&best) {
        let target = search.cost(&best);
        let mut any = |cover: &[usize]| {
            best = cover.to_vec();
            Judged::CanDo
        };
        if let Some(tree) = search.prove(&mut Choice::new(costs.len()), &mut Goal { target, judge: &mut any })
        {
            (bound, proof) = (search.cost(&best), tree);
        }
    }
    Some(Cover { cost: search.cost(&best), columns: best, bound, proof })
}

/// What a judge says about a cover.
#[derive(Clone, Debug)]
pub(crate) enum Judged {
    /// The cover suffices: from now on only cheaper covers are searched for.
    CanDo,
    /// The cover does not suffice, because it does not meet these cuts.
    Cannot(Vec<Vec<usize>>),
    /// It is not known whether the cover suffices, so the search ends.
    Unknown,
}

/// Shows that no cover that suffices costs less than `target`, or less than the cheapest cover that
/// the judge accepts. The judge is asked about every cover that is cheap enough. Cuts in its
/// answers are numbered after the given cuts, and the proof refers to them too. `None` if the
/// budget or the judge ended the search.
///
/// This is one search, not a new one for each cut: cuts are only added, so what was refuted once
/// stays refuted. It ends after `branches` at the latest.
pub(crate) fn no_cover_below(
    cuts: Vec<Vec<usize>>,
    costs: &[u64],
    target: u64,
    branches: usize,
    budget: &SearchBudget,
    judge: &mut dyn FnMut(&[usize]) -> Judged,
) -> Option<CoverProof> {
    let mut search = Search::new(cuts, costs, budget, branches);
    search.prove(&mut Choice::new(costs.len()), &mut Goal { target, judge })
}

/// Attempts to find a quick cover, each with other random choices.
const TRIES: usize = 100;

/// A cover that costs less than `target`, found by a randomised greedy search. `None` does not say
/// that there is no such cover.
pub(crate) fn quick_cover(
    cuts: &[Vec<usize>],
    costs: &[u64],
    target: u64,
    rng: &mut fastrand::Rng,
    budget: &SearchBudget,
) -> Option<Vec<usize>> {
    let mut holding: Vec<Vec<usize>> = vec![Vec::new(); costs.len()];
    for (index, cut) in cuts.iter().enumerate() {
        cut.iter().for_each(|&column| holding[column].push(index));
    }
    (0..TRIES).find_map(|_| {
        let mut met = vec![0u32; cuts.len()];
        // For each column, the number of cuts that it would meet and that no chosen column meets.
        let mut gains: Vec<usize> = holding.iter().map(Vec::len).collect();
        let (mut chosen, mut cost) = (Vec::new(), 0);
        while gains.iter().any(|&gain| gain > 0) {
            if is_over(budget) {
                return None;
            }
            let mut best = (0.0, 0);
            for (column, &gain) in gains.iter().enumerate().filter(|(_, gain)| **gain > 0) {
                let worth = gain as f64 / costs[column].max(1) as f64 * (0.7 + 0.3 * rng.f64());
                if worth > best.0 {
                    best = (worth, column);
                }
            }
            let column = best.1;
            chosen.push(column);
            cost += costs[column];
            for &cut in &holding[column] {
                if met[cut] == 0 {
                    cuts[cut].iter().for_each(|&other| gains[other] -= 1);
                }
                met[cut] += 1;
            }
        }
        chosen.retain(|&column| {
            let needed = holding[column].iter().any(|&cut| met[cut] == 1);
            if !needed {
                holding[column].iter().for_each(|&cut| met[cut] -= 1);
                cost -= costs[column];
            }
            needed
        });
        (cost < target).then_some(chosen)
    })
}

/// Checks a proof and returns the bound that it shows; `None` if the proof is wrong.
pub fn check_cover(cuts: &[Vec<usize>], costs: &[u64], proof: &CoverProof) -> Option<u64> {
    let mut choice = Choice::new(costs.len());
    Some(check(cuts, costs, proof, &mut choice)?.min(u128::from(u64::MAX)) as u64)
}

fn check(cuts: &[Vec<usize>], costs: &[u64], proof: &CoverProof, choice: &mut Choice) -> Option<u128> {
    match proof {
        CoverProof::Packing { multipliers, denominator } => {
            let denominator = u128::from(*denominator);
            let mut charged = vec![0u128; costs.len()];
            let mut total = 0u128;
            for &(cut, multiplier) in multipliers {
                let cut = cuts.get(cut)?;
                if multiplier > 0 && choice.met(cut) {
                    return None;
                }
                for &column in choice.open(cut) {
                    charged[column] += u128::from(multiplier);
                }
                total += u128::from(multiplier);
            }
            let within = charged.iter().zip(costs).all(|(sum, &cost)| *sum <= u128::from(cost) * denominator);
            (denominator > 0 && within).then(|| choice.paid(costs) + total.div_ceil(denominator))
        }
        CoverProof::Branch { column, without, with } => {
            if *choice.state.get(*column)? != State::Open {
                return None;
            }
            choice.state[*column] = State::Out;
            let first = check(cuts, costs, without, choice);
            choice.state[*column] = State::In;
            let second = check(cuts, costs, with, choice);
            choice.state[*column] = State::Open;
            Some(first?.min(second?))
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Open,
    Out,
    In,
}

/// The columns on which the search has branched.
#[derive(Clone)]
struct Choice {
    state: Vec<State>,
}

impl Choice {
    fn new(columns: usize) -> Self {
        Self { state: vec![State::Open; columns] }
    }

    fn met(&self, cut: &[usize]) -> bool {
        cut.iter().any(|&column| self.state[column] == State::In)
    }

    fn open<'a>(&'a self, cut: &'a [usize]) -> impl Iterator<Item = &'a usize> {
        cut.iter().filter(|&&column| self.state[column] == State::Open)
    }

    fn paid(&self, costs: &[u64]) -> u128 {
        let paid = self.state.iter().zip(costs).filter(|(state, _)| **state == State::In);
        paid.map(|(_, &cost)| u128::from(cost)).sum()
    }
}

/// What a search has to show.
struct Goal<'a> {
    /// No cover that suffices costs less than this.
    target: u64,
    /// Says whether a cover suffices.
    judge: &'a mut dyn FnMut(&[usize]) -> Judged,
}

/// A cut that no chosen column meets.
struct Unmet {
    cut: usize,
    /// Its open columns (on which the search has not branched), as bits.
    bits: Vec<u64>,
    /// The number of its open columns.
    count: u32,
}

struct Search<'a> {
    cuts: Vec<Vec<usize>>,
    costs: &'a [u64],
    branches: usize,
    most_branches: usize,
    budget: &'a SearchBudget,
    /// The columns of each cut as bits: `masks` has `words` words for each cut.
    words: usize,
    masks: Vec<u64>,
}

impl<'a> Search<'a> {
    fn new(cuts: Vec<Vec<usize>>, costs: &'a [u64], budget: &'a SearchBudget, most_branches: usize) -> Self {
        let words = costs.len().div_ceil(64).max(1);
        let empty =
            Self { cuts: Vec::new(), costs, branches: 0, most_branches, budget, words, masks: Vec::new() };
        cuts.into_iter().fold(empty, |mut search, cut| {
            search.add(cut);
            search
        })
    }

    fn add(&mut self, cut: Vec<usize>) {
        let from = self.masks.len();
        self.masks.resize(from + self.words, 0);
        cut.iter().for_each(|&column| self.masks[from + column / 64] |= 1 << (column % 64));
        self.cuts.push(cut);
    }

    fn mask(&self, cut: usize) -> &[u64] {
        &self.masks[cut * self.words..][..self.words]
    }

    /// The columns in this state, as bits.
    fn columns_in(&self, choice: &Choice, state: State) -> Vec<u64> {
        let mut bits = vec![0; self.words];
        let columns = choice.state.iter().enumerate().filter(|(_, own)| **own == state);
        columns.for_each(|(column, _)| bits[column / 64] |= 1 << (column % 64));
        bits
    }

    /// The cuts that are not met, smallest first. Cuts that contain another one are left out,
    /// because they follow from it.
    fn unmet(&self, choice: &Choice) -> Vec<Unmet> {
        let (chosen, open) = (self.columns_in(choice, State::In), self.columns_in(choice, State::Open));
        let mut unmet: Vec<Unmet> = (0..self.cuts.len())
            .filter(|&cut| self.mask(cut).iter().zip(&chosen).all(|(mask, chosen)| mask & chosen == 0))
            .map(|cut| {
                let bits: Vec<u64> =
                    self.mask(cut).iter().zip(&open).map(|(mask, open)| mask & open).collect();
                let count = bits.iter().map(|word| word.count_ones()).sum();
                Unmet { cut, bits, count }
            })
            .collect();
        unmet.sort_by_key(|unmet| (unmet.count, unmet.cut));
        let mut core: Vec<Unmet> = Vec::new();
        for cut in unmet {
            let holds =
                |smaller: &Vec<u64>| smaller.iter().zip(&cut.bits).all(|(small, large)| small & !large == 0);
            if !core.iter().any(|smaller| holds(&smaller.bits)) {
                core.push(cut);
            }
        }
        core
    }

    fn cost(&self, columns: &[usize]) -> u64 {
        columns.iter().map(|&column| self.costs[column]).sum()
    }

    fn packed(&self, proof: &CoverProof, choice: &Choice) -> u64 {
        check(&self.cuts, self.costs, proof, &mut choice.clone()).unwrap_or(0).min(u128::from(u64::MAX))
            as u64
    }

    /// Shows that no cover that suffices costs less than the target. `None` if the search was
    /// stopped.
    fn prove(&mut self, choice: &mut Choice, goal: &mut Goal<'_>) -> Option<CoverProof> {
        let hint = loop {
            self.branches += 1;
            if self.branches > self.most_branches || is_over(self.budget) {
                return None;
            }
            let unmet = self.unmet(choice);
            if let Some(Unmet { cut, count: 0, .. }) = unmet.first() {
                // A cut without open columns charges no column, so its multiplier may be as large
                // as is needed.
                return Some(CoverProof::Packing { multipliers: vec![(*cut, goal.target)], denominator: 1 });
            }
            if let Some(packing) = self.disjoint(choice, &unmet, goal.target) {
                return Some(packing);
            }
            let (packing, hint) = self.packing(choice, &unmet);
            if self.packed(&packing, choice) >= goal.target {
                return Some(packing);
            }
            let cover = self.greedy(choice, &hint);
            if self.cost(&cover) >= goal.target {
                break hint;
            }
            match (goal.judge)(&cover) {
                Judged::CanDo => goal.target = self.cost(&cover),
                Judged::Cannot(cuts) => cuts.into_iter().for_each(|cut| self.add(cut)),
                Judged::Unknown => return None,
            }
        };
        // Branch on the open column whose share in the relaxation is nearest to one half; among
        // equals, the one in the most cuts.
        let mut counts = vec![0usize; self.costs.len()];
        for cut in self.cuts.iter().filter(|cut| !choice.met(cut)) {
            choice.open(cut).for_each(|&column| counts[column] += 1);
        }
        let doubt = |column: usize| (hint[column] - 0.5).abs();
        let column = (0..counts.len())
            .filter(|&column| counts[column] > 0)
            .min_by(|&a, &b| doubt(a).total_cmp(&doubt(b)).then(counts[b].cmp(&counts[a])));
        let column = column?;
        let mut half = |state: State| {
            choice.state[column] = state;
            let proved = self.prove(choice, goal);
            choice.state[column] = State::Open;
            proved.map(Box::new)
        };
        let (without, with) = (half(State::Out)?, half(State::In)?);
        Some(CoverProof::Branch { column, without, with })
    }

    /// A cover that follows the hint where it can, without columns that no cut needs.
    fn greedy(&self, choice: &Choice, hint: &[f64]) -> Vec<usize> {
        let mut chosen: Vec<bool> = choice.state.iter().map(|state| *state == State::In).collect();
        let mut unmet: Vec<&Vec<usize>> = self.cuts.iter().filter(|cut| !choice.met(cut)).collect();
        while !unmet.is_empty() {
            let mut counts = vec![0usize; self.costs.len()];
            for cut in &unmet {
                choice.open(cut).for_each(|&column| counts[column] += 1);
            }
            let worth = |column: usize| {
                counts[column] as f64 * (0.01 + hint[column]) / (self.costs[column].max(1) as f64)
            };
            let best = (0..counts.len())
                .filter(|&column| counts[column] > 0)
                .max_by(|&a, &b| worth(a).total_cmp(&worth(b)).then(b.cmp(&a)));
            let Some(best) = best else { break };
            chosen[best] = true;
            unmet.retain(|cut| !cut.contains(&best));
        }
        let mut columns: Vec<usize> = (0..chosen.len()).filter(|&column| chosen[column]).collect();
        columns.sort_by_key(|&column| (std::cmp::Reverse(self.costs[column]), column));
        let mut needed = columns.clone();
        for column in columns {
            let without: Vec<usize> = needed.iter().copied().filter(|&other| other != column).collect();
            if self.cuts.iter().all(|cut| cut.iter().any(|other| without.contains(other))) {
                needed = without;
            }
        }
        needed.sort_unstable();
        needed
    }

    /// A packing of cuts that share no open column: each of them needs a column of its own. `None`
    /// if its bound is below the target.
    fn disjoint(&self, choice: &Choice, unmet: &[Unmet], target: u64) -> Option<CoverProof> {
        let mut used = vec![0u64; self.words];
        let mut total = choice.paid(self.costs);
        let mut multipliers = Vec::new();
        for Unmet { cut, bits, .. } in unmet {
            if bits.iter().zip(&used).all(|(bits, used)| bits & used == 0) {
                used.iter_mut().zip(bits).for_each(|(used, bits)| *used |= bits);
                let least = choice.open(&self.cuts[*cut]).map(|&column| self.costs[column]).min()?;
                total += u128::from(least);
                multipliers.push((*cut, least));
            }
        }
        (total >= u128::from(target)).then_some(CoverProof::Packing { multipliers, denominator: 1 })
    }

    /// A packing of the cuts that are not met, and the share of each column in the relaxation.
    fn packing(&self, choice: &Choice, unmet: &[Unmet]) -> (CoverProof, Vec<f64>) {
        let mut hint: Vec<f64> = choice.state.iter().map(|state| f64::from(*state == State::In)).collect();
        let mut multipliers = Vec::new();
        // A cut with one open column is charged that column's whole cost. Every other cut with that
        // column contains it, so `unmet` has left those out.
        let mut core: Vec<(usize, Vec<usize>)> = Vec::new();
        for unmet in unmet {
            let cut = unmet.cut;
            let open: Vec<usize> = choice.open(&self.cuts[cut]).copied().collect();
            match open[..] {
                [] => {}
                [column] => {
                    hint[column] = 1.0;
                    multipliers.push((cut, self.costs[column].saturating_mul(DENOMINATOR)));
                }
                _ => core.push((cut, open)),
            }
        }
        let (values, prices) = self.largest(&core);
        for ((index, _), value) in core.iter().zip(values) {
            let numerator = (value * DENOMINATOR as f64 - 0.5).floor();
            if numerator > 0.0 {
                multipliers.push((*index, numerator as u64));
            }
        }
        for (column, price) in prices {
            hint[column] = price.clamp(0.0, 1.0);
        }
        let packing = CoverProof::Packing { multipliers, denominator: DENOMINATOR };
        let packing = self.repaired(packing, choice);
        (packing, hint)
    }

    /// The largest packing of these cuts, in floating point: a value for each cut and a price for
    /// each column.
    fn largest(&self, core: &[(usize, Vec<usize>)]) -> (Vec<f64>, Vec<(usize, f64)>) {
        let sets: Vec<&[usize]> = core.iter().map(|(_, cut)| cut.as_slice()).collect();
        let costs: Vec<f64> = self.costs.iter().map(|&cost| cost as f64).collect();
        let stop = || is_over(self.budget);
        let SetPacking { values, prices } =
            largest_set_packing(&sets, &costs, &Limits::within(LONGEST_PACKING).or_when(&stop));
        (values, prices)
    }

    /// The packing with multipliers lowered where floating point charges a column more than its
    /// cost.
    fn repaired(&self, packing: CoverProof, choice: &Choice) -> CoverProof {
        let CoverProof::Packing { mut multipliers, denominator } = packing else { return packing };
        let mut charged = vec![0u128; self.costs.len()];
        for (cut, numerator) in &mut multipliers {
            let room = choice.open(&self.cuts[*cut]).map(|&column| {
                (u128::from(self.costs[column]) * u128::from(denominator)).saturating_sub(charged[column])
            });
            *numerator = room.min().unwrap_or(0).min(u128::from(*numerator)) as u64;
            choice.open(&self.cuts[*cut]).for_each(|&column| charged[column] += u128::from(*numerator));
        }
        multipliers.retain(|(_, numerator)| *numerator > 0);
        CoverProof::Packing { multipliers, denominator }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn random_cuts(rng: &mut fastrand::Rng) -> (Vec<Vec<usize>>, Vec<u64>) {
        let columns = rng.usize(1..9);
        let costs = (0..columns).map(|_| rng.u64(1..5)).collect();
        // Many cuts of two columns make relaxations that are far from whole numbers.
        let pairs = columns > 1 && rng.bool();
        let cuts = (0..rng.usize(0..if pairs { 30 } else { 10 })).map(|_| {
            if pairs {
                let first = rng.usize(0..columns);
                let mut cut = vec![first, (first + rng.usize(1..columns)) % columns];
                cut.sort_unstable();
                return cut;
            }
            let mut cut: Vec<usize> = (0..columns).filter(|_| rng.u32(0..3) == 0).collect();
            if cut.is_empty() {
                cut.push(rng.usize(0..columns));
            }
            cut
        });
        (cuts.collect(), costs)
    }

    #[test]
    fn covers_are_as_cheap_as_enumeration_finds_and_proved_so() {
        let mut rng = fastrand::Rng::with_seed(1);
        let mut branched = 0;
        for _ in 0..500 {
            let (cuts, costs) = random_cuts(&mut rng);
            let cover = cheapest_cover(&cuts, &costs, &SearchBudget::unlimited()).unwrap();
            let meets = |set: u32| cuts.iter().all(|cut| cut.iter().any(|&column| set >> column & 1 == 1));
            let price =
                |set: u32| (0..costs.len()).filter(|&c| set >> c & 1 == 1).map(|c| costs[c]).sum::<u64>();
            let least = (0..1u32 << costs.len()).filter(|&set| meets(set)).map(price).min().unwrap();
            assert_eq!((cover.cost, cover.bound), (least, least));
            assert!(meets(cover.columns.iter().map(|&column| 1 << column).sum()));
            assert_eq!(cover.columns.iter().map(|&column| costs[column]).sum::<u64>(), least);
            assert_eq!(check_cover(&cuts, &costs, &cover.proof), Some(least));
            branched += usize::from(matches!(cover.proof, CoverProof::Branch { .. }));
        }
        assert!(branched > 10, "{branched}");
    }

    #[test]
    fn cuts_that_a_judge_adds_on_the_way_prove_the_same_minimum() {
        let mut rng = fastrand::Rng::with_seed(3);
        let (mut added, mut accepted) = (0, 0);
        for _ in 0..500 {
            let (mut cuts, costs) = random_cuts(&mut rng);
            let least = cheapest_cover(&cuts, &costs, &SearchBudget::unlimited()).unwrap().cost;
            // Half of the cuts are known to the judge alone.
            let mut hidden = cuts.split_off(cuts.len() / 2);
            let mut known = cuts.clone();
            let all: u64 = costs.iter().sum();
            let mut best = all + 1;
            let mut judge = |cover: &[usize]| {
                let misses = |cut: &Vec<usize>| !cut.iter().any(|column| cover.contains(column));
                match hidden.iter().position(misses) {
                    Some(at) => {
                        known.push(hidden.swap_remove(at));
                        added += 1;
                        Judged::Cannot(vec![known.last().unwrap().clone()])
                    }
                    None => {
                        best = cover.iter().map(|&column| costs[column]).sum();
                        accepted += 1;
                        Judged::CanDo
                    }
                }
            };
            let proof =
                no_cover_below(cuts, &costs, all + 1, usize::MAX, &SearchBudget::unlimited(), &mut judge)
                    .unwrap();
            assert_eq!(best, least);
            assert_eq!(check_cover(&known, &costs, &proof), Some(least));
        }
        assert!(added > 100 && accepted > 500, "{added} {accepted}");
    }

    #[test]
    fn a_changed_proof_shows_no_more_than_is_true() {
        let mut rng = fastrand::Rng::with_seed(2);
        let mut refused = 0;
        for _ in 0..500 {
            let (cuts, costs) = random_cuts(&mut rng);
            let cover = cheapest_cover(&cuts, &costs, &SearchBudget::unlimited()).unwrap();
            let mut proof = cover.proof.clone();
            mutate(&mut proof, &mut rng, cuts.len(), costs.len());
            match check_cover(&cuts, &costs, &proof) {
                None => refused += 1,
                Some(bound) => assert!(bound <= cover.cost || proof == cover.proof),
            }
        }
        assert!(refused > 100, "{refused}");
    }

    fn mutate(proof: &mut CoverProof, rng: &mut fastrand::Rng, cuts: usize, columns: usize) {
        match proof {
            CoverProof::Packing { multipliers, denominator } => match rng.u32(0..4) {
                0 => *denominator /= 2,
                1 => multipliers.push((rng.usize(0..cuts + 1), rng.u64(0..DENOMINATOR * 4))),
                2 => multipliers.extend(multipliers.clone()),
                _ => *denominator = 0,
            },
            CoverProof::Branch { column, without, with } => match rng.u32(0..4) {
                0 => *column = rng.usize(0..columns + 1),
                1 => std::mem::swap(without, with),
                2 => mutate(without, rng, cuts, columns),
                _ => mutate(with, rng, cuts, columns),
            },
        }
    }

    #[test]
    fn an_empty_cut_cannot_be_met() {
        assert!(cheapest_cover(&[vec![0], vec![]], &[1], &SearchBudget::unlimited()).is_none());
        let nothing = cheapest_cover(&[], &[1, 1], &SearchBudget::unlimited()).unwrap();
        assert_eq!((nothing.cost, nothing.bound, nothing.columns.len()), (0, 0, 0));
    }
}
