//! Models whose scores are nearly equal decide alike, and how far scores can be apart is often the
//! easier question.
//!
//! In a system about decisions one row says that the first model's lead exceeds the band, and the
//! last one that the second model's lead is at most its rounding. Their sum says that the leads
//! differ by more than the band minus that rounding: a question about scores, of a single row. What
//! both models have in common cancels inside the pieces before any bound is computed, and a single
//! row closes larger boxes than several rows that each hold most of the space.
//!
//! A proof that no cell satisfies the sum is a proof of the system: its one lens is the sum, and
//! its steps are those of every search over boxes. If some cell satisfies the sum, that cell need
//! not satisfy the system, so nothing is known, and the search over all rows begins.

use std::sync::Mutex;

use secateur_model::CellId;

use crate::branch::{Search, Searched};
use crate::climb::ascend;
use crate::lens::Lens;
use crate::record::{ProofStep, Record};
use crate::solve::{Answer, Options, Solved};
use crate::stop::StopReason;
use crate::system::System;

/// The most boxes, unless the budget has fewer. One thread visits them, so the answer does not
/// depend on the number of threads.
const MOST_BOXES: u64 = 200_000;
/// How many cells local search starts from, of those given and at random.
const CLIMBS: usize = 4;

/// Asks whether the row about the difference has a solution, if the system has such a row. The
/// answer is a proof of the system, or undecided.
pub(crate) fn ask(system: &System<'_>, options: &Options) -> Solved {
    let unknown = |nodes| Solved { answer: Answer::Undecided(StopReason::Nodes), nodes };
    let Some(multipliers) = system.difference() else { return unknown(0) };
    let row = system.combined(multipliers);
    let lens = Lens::new(system, multipliers);
    if exceeds(&row, &lens, options) {
        return unknown(0);
    }
    let taken = options.record.as_ref().map(|_| Taken::default());
    let alone = Options { wanted: 1, progress: Default::default(), ..options.clone() };
    let record = taken.as_ref().map(|taken| taken as &dyn Record);
    let search = Search::new(&row, vec![lens], 1, &|_| true, &alone, record);
    // The other half of the time is for the search over all rows.
    let budget = options.budget.half();
    let boxes = budget.nodes.map_or(MOST_BOXES, |most| most.min(MOST_BOXES));
    let ended = search.begin(&mut search.start(), &budget, boxes);
    let nodes = search.nodes();
    if !matches!(ended, Some(Searched::Nothing)) {
        return unknown(nodes);
    }
    if let (Some(record), Some(taken)) = (&options.record, taken) {
        record.lenses(&[multipliers.to_vec()]);
        taken.hand_to(record.as_ref());
    }
    Solved { answer: Answer::Proof, nodes }
}

/// Is a solution of the row among the known cells, or found by local search?
fn exceeds(row: &System<'_>, lens: &Lens, options: &Options) -> bool {
    if options.starts.iter().any(|start| row.holds(start)) {
        return true;
    }
    let sizes = row.layout().axis_sizes();
    let mut rng = fastrand::Rng::with_seed(options.seed);
    let random: Vec<Vec<CellId>> =
        (0..CLIMBS).map(|_| sizes.iter().map(|&size| CellId(rng.u32(0..size))).collect()).collect();
    let starts = options.starts.iter().take(CLIMBS).chain(&random);
    starts.into_iter().any(|start| row.holds(&ascend(lens, &sizes, start.clone(), &mut rng, &options.budget)))
}

/// Keeps the steps of a search until it is known that they are a proof.
#[derive(Debug, Default)]
struct Taken(Mutex<Vec<(Vec<bool>, ProofStep)>>);

impl Taken {
    fn hand_to(self, record: &dyn Record) {
        let steps = self.0.into_inner().expect("no thread panics while it holds the lock");
        steps.into_iter().for_each(|(path, step)| record.step(&path, step));
    }
}

impl Record for Taken {
    fn lenses(&self, _: &[Vec<u64>]) {}

    fn step(&self, path: &[bool], step: ProofStep) {
        let mut steps = self.0.lock().expect("no thread panics while it holds the lock");
        steps.push((path.to_vec(), step));
    }

    fn meet(&self, _: &[usize]) {}
}
