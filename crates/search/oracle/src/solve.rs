//! Answers a question to the oracle, layer by layer: root bound, known points, meeting in the
//! middle, a few boxes, combined rows, local search, the difference of two models alone, all boxes.
//!
//! Checking every cell is not a layer of its own: even for 4,096 cells it takes two to six times as
//! long as boxes, which check cells one by one when at most two axes are open.

use std::borrow::Cow;
use std::sync::Arc;

use secateur_model::CellId;

use crate::branch::{Rest, Search, Searched};
use crate::jobs::{Asked, Crew, Saved};
use crate::lens::Lens;
use crate::meet::Met;
use crate::record::{ProofStep, Record};
use crate::stop::{Progress, SearchBudget, StopReason};
use crate::system::System;
use crate::{climb, difference, meet, multipliers};

/// Boxes visited before local search and the choice of multipliers, because a small space is
/// searched in less time than those take.
const FEW: u64 = 1_024;

/// How to search.
#[derive(Clone, Debug)]
pub struct Options {
    /// The limits on time, boxes and memory, and a switch that ends the search.
    pub budget: SearchBudget,
    /// Threads for the search over boxes.
    pub threads: usize,
    /// How many witnesses are wanted.
    pub wanted: usize,
    /// The seed of random choices.
    pub seed: u64,
    /// Cells to try first: witnesses of earlier questions, rows of data.
    pub starts: Vec<Vec<CellId>>,
    /// Receives how far the search has come.
    pub progress: Arc<Progress>,
    /// Receives the proof.
    pub record: Option<Arc<dyn Record>>,
    /// Whether to use the layers before the search over boxes, and combined rows in that search.
    /// Off only to test and measure the search alone.
    pub shortcuts: bool,
    /// Whether to close small boxes by joining two halves instead of splitting them. Off only to
    /// test and measure.
    pub small_boxes: bool,
    /// Who helps with questions that take long; without a crew, threads of this process do.
    pub crew: Option<Crew>,
}

impl Options {
    /// One thread, one witness, no limit.
    pub fn unlimited() -> Self {
        Self {
            budget: SearchBudget::unlimited(),
            threads: 1,
            wanted: 1,
            seed: 0,
            starts: Vec::new(),
            progress: Arc::default(),
            record: None,
            shortcuts: true,
            small_boxes: true,
            crew: None,
        }
    }
}

impl Options {
    /// The same options for a question that others can help with.
    pub(crate) fn asking<'a>(&'a self, asked: Option<&Asked>) -> Cow<'a, Self> {
        match (&self.crew, asked) {
            (Some(crew), Some(asked)) => {
                let crew = Some(Crew { asked: Some(asked.clone()), ..crew.clone() });
                Cow::Owned(Self { crew, ..self.clone() })
            }
            _ => Cow::Borrowed(self),
        }
    }
}

/// The oracle's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Cells that satisfy the system.
    Witnesses(Vec<Vec<CellId>>),
    /// No cell satisfies the system.
    Proof,
    /// Not known: the budget ended first.
    Undecided(StopReason),
}

/// An answer and what it cost.
#[derive(Clone, Debug)]
pub struct Solved {
    /// The answer.
    pub answer: Answer,
    /// Boxes visited; zero if a single bound, a known point or meeting in the middle was enough.
    pub nodes: u64,
}

impl Solved {
    fn stopped(reason: StopReason) -> Self {
        Self { answer: Answer::Undecided(reason), nodes: 0 }
    }
}

/// Does a single bound over the whole space show that the system has no solution?
pub(crate) fn proved_at_once(system: &System<'_>) -> bool {
    let rows = system.row_count();
    let single = |row: usize| proves(&Lens::new(system, &unit(rows, row)));
    (0..rows).any(single) || multipliers::proportional(system).is_some()
}

/// Does the bound of these multipliers over the whole space show that the system has no solution?
pub(crate) fn proved_by(system: &System<'_>, multipliers: &[u64]) -> bool {
    proves(&Lens::new(system, multipliers))
}

/// Is there a cell that satisfies all rows, and that `accept` accepts?
///
/// `accept` gets only cells that satisfy the rows; a cell that it refuses is not a solution.
pub fn solve(system: &System<'_>, options: &Options, accept: &(dyn Fn(&[CellId]) -> bool + Sync)) -> Solved {
    let rows = system.row_count();
    let question = Question { system, options, accept };
    // With many leaves a lens takes long, and so does a box. So the clock is checked between
    // lenses, and local search, which needs no boxes, comes first.
    let large = system.layout().is_large();
    let over = || options.budget.over().filter(|_| large).map(Solved::stopped);
    let mut lenses: Vec<Lens> = Vec::with_capacity(rows);
    for row in 0..rows {
        if let Some(stopped) = over() {
            return stopped;
        }
        let lens = Lens::of_row(system, row);
        if proves(&lens) {
            return question.proved_by(&lens);
        }
        lenses.push(lens);
    }
    if !options.shortcuts {
        let search = question.search(lenses, rows);
        return question.run(&search, search.start());
    }
    if let Some(multipliers) = multipliers::proportional(system) {
        return question.proved_by(&Lens::new(system, &multipliers));
    }
    // Solutions among known points, or found by local search, make the search over boxes
    // unnecessary.
    let mut found: Vec<Vec<CellId>> = Vec::new();
    if options.starts.iter().any(|start| question.keep(start, &mut found)) {
        return Solved { answer: Answer::Witnesses(found), nodes: 0 };
    }
    let mut weighed = rows;
    let (mut few, mut met) = (0, false);
    match meet::solve(system, &options.budget) {
        Some(Met::Nothing(first)) => {
            if let Some(record) = &options.record {
                record.meet(&first);
            }
            return Solved { answer: Answer::Proof, nodes: 0 };
        }
        // If the solution is refused, or more are wanted, the search over boxes decides.
        Some(Met::Solution(cells)) => {
            question.keep(&cells, &mut found);
            met = !found.is_empty();
        }
        None => {
            if let Some(multipliers) = multipliers::nearly_proportional(system) {
                lenses.push(Lens::new(system, &multipliers));
                weighed = lenses.len();
            }
            few = FEW;
        }
    }
    let mut climbed = met;
    if large && !met {
        question.climb(&lenses[..rows], &mut found);
        if !found.is_empty() {
            return Solved { answer: Answer::Witnesses(found), nodes: 0 };
        }
        climbed = true;
    }
    if let Some(stopped) = over() {
        return stopped;
    }
    // A record names all lenses first, so it cannot begin before the last one is known. A few boxes
    // are cheap to visit again.
    if few > 0 && options.record.is_some() {
        let quick = question.unrecorded(lenses.clone(), weighed);
        match quick.begin(&mut quick.start(), &options.budget, few) {
            Some(Searched::Nothing) => {
                let search = question.search(lenses, weighed);
                return question.run(&search, search.start());
            }
            Some(ended) => return Solved { answer: ended.into(), nodes: quick.nodes() },
            None => few = 0,
        }
    }
    let mut search = question.search(lenses, weighed);
    let mut rest = search.start();
    if few > 0
        && let Some(ended) = search.begin(&mut rest, &options.budget, few)
    {
        return Solved { answer: ended.into(), nodes: search.nodes() };
    }
    if let Some(combined) = multipliers::best(system, &options.budget) {
        let lens = Lens::new(system, &combined);
        if proves(&lens) {
            return Solved { nodes: search.nodes(), ..question.proved_by(&lens) };
        }
        search.add_lens(lens, &mut rest);
    }
    found.extend(rest.found().map(<[CellId]>::to_vec));
    if !climbed {
        question.climb(search.rows(), &mut found);
    }
    if !found.is_empty() {
        return Solved { answer: Answer::Witnesses(found), nodes: search.nodes() };
    }
    let asked = difference::ask(system, options);
    if asked.answer == Answer::Proof {
        return Solved { nodes: search.nodes() + asked.nodes, ..asked };
    }
    let solved = question.run(&search, rest);
    Solved { nodes: solved.nodes + asked.nodes, ..solved }
}

/// Resumes a search from a checkpoint; the record already has the steps that the checkpoint holds.
pub(crate) fn solve_from(
    system: &System<'_>,
    options: &Options,
    accept: &(dyn Fn(&[CellId]) -> bool + Sync),
    saved: &Saved,
) -> Solved {
    let question = Question { system, options, accept };
    let rows = system.row_count();
    let fits = |lens: &Vec<u64>| lens.len() == rows;
    let weighed = rows..=rows + saved.setup.combined.len();
    if !saved.setup.combined.iter().all(fits) || !weighed.contains(&saved.setup.weighed) {
        // The checkpoint is about another system, so nothing is known.
        return Solved::stopped(StopReason::Checkpoint);
    }
    let mut lenses: Vec<Lens> = (0..rows).map(|row| Lens::of_row(system, row)).collect();
    lenses.extend(saved.setup.combined.iter().map(|multipliers| Lens::new(system, multipliers)));
    let search = question.search(lenses, saved.setup.weighed);
    let same =
        options.crew.as_ref().and_then(|crew| crew.asked.as_ref()).is_some_and(|asked| {
            search.setup(asked.question) == saved.setup && search.confirms(&saved.found)
        });
    if !same {
        return Solved::stopped(StopReason::Checkpoint);
    }
    let rest = search.rest(saved.open.clone(), saved.found.clone());
    question.go_on(&search, rest)
}

/// Cells that satisfy all rows and that `accept` accepts, found by local search from the starts and
/// from random cells: at most as many as are wanted. An empty list proves nothing.
pub(crate) fn gather(
    system: &System<'_>,
    options: &Options,
    accept: &(dyn Fn(&[CellId]) -> bool + Sync),
) -> Vec<Vec<CellId>> {
    let rows = system.row_count();
    let question = Question { system, options, accept };
    let lenses: Vec<Lens> = (0..rows).map(|row| Lens::new(system, &unit(rows, row))).collect();
    let mut found = Vec::new();
    if options.starts.iter().any(|start| question.keep(start, &mut found)) {
        return found;
    }
    question.climb(&lenses, &mut found);
    found
}

/// The multipliers of a single row.
fn unit(rows: usize, row: usize) -> Vec<u64> {
    (0..rows).map(|other| u64::from(other == row)).collect()
}

/// Does the bound of the whole space show that there is no solution?
fn proves(lens: &Lens) -> bool {
    !lens.alive(&lens.root())
}

struct Question<'a> {
    system: &'a System<'a>,
    options: &'a Options,
    accept: &'a (dyn Fn(&[CellId]) -> bool + Sync),
}

impl Question<'_> {
    /// Stores a point if it is a new solution; returns whether there are enough solutions.
    fn keep(&self, cells: &[CellId], found: &mut Vec<Vec<CellId>>) -> bool {
        if !found.iter().any(|known| known == cells) && self.system.holds(cells) && (self.accept)(cells) {
            found.push(cells.to_vec());
        }
        found.len() >= self.options.wanted
    }

    /// Local search from the starts and from random cells.
    fn climb(&self, rows: &[Lens], found: &mut Vec<Vec<CellId>>) {
        let mut rng = fastrand::Rng::with_seed(self.options.seed);
        let sizes = self.system.layout().axis_sizes();
        let mut visit = |cells: &[CellId]| self.keep(cells, found);
        climb::climb(rows, &sizes, &self.options.starts, &mut rng, &self.options.budget, &mut visit);
    }

    /// A proof without boxes.
    fn proved_by(&self, lens: &Lens) -> Solved {
        if let Some(record) = &self.options.record {
            record.lenses(std::slice::from_ref(&lens.multipliers));
            record.step(&[], ProofStep::Close { lens: 0 });
        }
        Solved { answer: Answer::Proof, nodes: 0 }
    }

    /// The search over boxes. Branching weighs the first `weighed` lenses.
    fn search(&self, lenses: Vec<Lens>, weighed: usize) -> Search<'_> {
        Search::new(self.system, lenses, weighed, self.accept, self.options, self.options.record.as_deref())
    }

    /// The same search without a record.
    fn unrecorded(&self, lenses: Vec<Lens>, weighed: usize) -> Search<'_> {
        Search::new(self.system, lenses, weighed, self.accept, self.options, None)
    }

    /// Visits all boxes that are left.
    fn run(&self, search: &Search<'_>, rest: Rest) -> Solved {
        if let Some(record) = &self.options.record {
            record.lenses(&search.lenses().iter().map(|lens| lens.multipliers.clone()).collect::<Vec<_>>());
        }
        self.go_on(search, rest)
    }

    /// Visits all boxes that are left, for a record that has the lenses already.
    fn go_on(&self, search: &Search<'_>, mut rest: Rest) -> Solved {
        // With a limit on boxes, the place where the search ends would depend on which worker
        // visits which box when.
        let travels = |crew: &&Crew| crew.asked.is_some() && self.options.budget.nodes.is_none();
        if let Some(crew) = self.options.crew.as_ref().filter(travels) {
            match search.run_with_crew(rest, &self.options.budget, crew, self.options.threads) {
                Ok(ended) => return Solved { answer: ended.into(), nodes: search.nodes() },
                // A question that cannot be sent is answered here.
                Err(left) => rest = left,
            }
        }
        let answer = search.run(rest, &self.options.budget, self.options.threads).into();
        Solved { answer, nodes: search.nodes() }
    }
}

impl From<Searched> for Answer {
    fn from(searched: Searched) -> Self {
        match searched {
            Searched::Found(cells) => Self::Witnesses(cells),
            Searched::Nothing => Self::Proof,
            Searched::Stopped(reason) => Self::Undecided(reason),
        }
    }
}
