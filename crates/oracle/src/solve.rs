//! The question to the oracle, layer by layer: root bound, known points, meet in the middle, a few boxes,
//! combined rows, local search, all boxes.

use std::sync::Arc;

use secateur_model::CellId;

use crate::branch::{Search, Searched};
use crate::lens::Lens;
use crate::stop::{Budget, Progress, StopReason};
use crate::system::System;
use crate::{climb, meet, multipliers};

/// A small space is searched in less time than local search and the choice of multipliers take: boxes that
/// are visited before those.
const FEW: u64 = 1_024;

/// How to search.
#[derive(Clone, Debug)]
pub struct Options {
    /// What may be spent.
    pub budget: Budget,
    /// Threads for the search over boxes.
    pub threads: usize,
    /// How many witnesses are wanted.
    pub wanted: usize,
    /// Where random choices start.
    pub seed: u64,
    /// Cells to try first: witnesses of earlier questions, rows of data.
    pub starts: Vec<Vec<CellId>>,
    /// Where to tell how far the search has come.
    pub progress: Arc<Progress>,
    /// Use the layers before the search over boxes, and combined rows in it. Off only to test and measure
    /// the search alone.
    pub shortcuts: bool,
}

impl Options {
    /// One thread, one witness, no limit.
    pub fn unlimited() -> Self {
        Self {
            budget: Budget::unlimited(),
            threads: 1,
            wanted: 1,
            seed: 0,
            starts: Vec::new(),
            progress: Arc::default(),
            shortcuts: true,
        }
    }
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
    /// Boxes visited; none where a single bound, a known point or meeting in the middle was enough.
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
    let search = |lenses: &[Lens], budget: &Budget, threads: usize| {
        let search = Search::new(system, lenses, accept, options.wanted, &options.progress);
        let answer = match search.run(budget, threads) {
            Searched::Found(cells) => Answer::Witnesses(cells),
            Searched::Nothing => Answer::Proof,
            Searched::Stopped(reason) => Answer::Undecided(reason),
        };
        Solved { answer, nodes: search.nodes() }
    };
    if !options.shortcuts {
        return search(&lenses, &options.budget, options.threads);
    }
    if multipliers::proportional(system).is_some() {
        return Solved { answer: Answer::Proof, nodes: 0 };
    }
    // Points that are known, or that climbing finds, spare the search.
    let mut found: Vec<Vec<CellId>> = Vec::new();
    let mut visit = |cells: &[CellId]| {
        if !found.iter().any(|known| known == cells) && system.holds(cells) && accept(cells) {
            found.push(cells.to_vec());
        }
        found.len() >= options.wanted
    };
    let mut budget = options.budget.clone();
    let mut nodes = 0;
    if !options.starts.iter().any(|start| visit(start)) {
        match meet::solve(system) {
            Some(None) => return Solved { answer: Answer::Proof, nodes: 0 },
            // What is not accepted, or is not enough, is left to the search.
            Some(Some(cells)) => {
                visit(&cells);
            }
            None => {
                let few = budget.nodes.map_or(FEW, |most| most.min(FEW));
                let solved = search(&lenses, &Budget { nodes: Some(few), ..budget.clone() }, 1);
                nodes = solved.nodes;
                if solved.answer != Answer::Undecided(StopReason::Nodes) {
                    return solved;
                }
                budget.nodes = budget.nodes.map(|most| most.saturating_sub(nodes));
                if let Some(combined) = multipliers::best(system) {
                    let lens = Lens::new(system, &combined);
                    if proved(&lens) {
                        return Solved { answer: Answer::Proof, nodes };
                    }
                    lenses.push(lens);
                }
                let mut rng = fastrand::Rng::with_seed(options.seed);
                let sizes = system.atlas().axis_sizes();
                climb::climb(&lenses[..rows], &sizes, &options.starts, &mut rng, &mut visit);
            }
        }
    }
    if !found.is_empty() {
        return Solved { answer: Answer::Witnesses(found), nodes };
    }
    let solved = search(&lenses, &budget, options.threads);
    Solved { nodes: nodes + solved.nodes, ..solved }
}
