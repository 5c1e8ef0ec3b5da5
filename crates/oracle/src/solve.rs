//! The question to the oracle, layer by layer: root bound, known points, local search, meet in the
//! middle, boxes.

use secateur_model::CellId;

use crate::branch::{Search, Searched};
use crate::lens::Lens;
use crate::multipliers;
use crate::stop::{Budget, StopReason};
use crate::system::System;

/// How to search.
#[derive(Clone, Debug)]
pub struct Options {
    /// What may be spent.
    pub budget: Budget,
    /// Threads for the search over boxes.
    pub threads: usize,
    /// How many witnesses are wanted.
    pub wanted: usize,
}

/// The oracle's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Cells that satisfy the system.
    Witnesses(Vec<Vec<CellId>>),
    /// No cell does.
    Proof,
    /// Not known: the budget ended first.
    Undecided(StopReason),
}

/// An answer and what it cost.
#[derive(Clone, Debug)]
pub struct Solved {
    /// The answer.
    pub answer: Answer,
    /// Boxes visited.
    pub nodes: u64,
}

/// Is there a cell that satisfies all rows, and that `accept` accepts?
///
/// `accept` sees only cells that satisfy the rows; one that it refuses counts as no solution.
pub fn solve(system: &System<'_>, options: &Options, accept: &(dyn Fn(&[CellId]) -> bool + Sync)) -> Solved {
    let rows = system.row_count();
    let mut lenses: Vec<Lens> = (0..rows)
        .map(|row| {
            let mut unit = vec![0; rows];
            unit[row] = 1;
            Lens::new(system, &unit)
        })
        .collect();
    let proved = |lens: &Lens| !lens.alive(&lens.root());
    if lenses.iter().any(proved) {
        return Solved { answer: Answer::Proof, nodes: 0 };
    }
    if let Some(combined) = multipliers::best(system, &lenses) {
        let lens = Lens::new(system, &combined);
        if proved(&lens) {
            return Solved { answer: Answer::Proof, nodes: 0 };
        }
        lenses.push(lens);
    }
    let search = Search::new(system, &lenses, accept, options.wanted);
    let answer = match search.run(&options.budget, options.threads) {
        Searched::Found(cells) => Answer::Witnesses(cells),
        Searched::Nothing => Answer::Proof,
        Searched::Stopped(reason) => Answer::Undecided(reason),
    };
    Solved { answer, nodes: search.nodes() }
}
