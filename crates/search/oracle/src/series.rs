//! The questions of one claim, asked one after the other.

use std::sync::{Arc, Mutex};

use secateur_model::CellId;

use crate::jobs::{About, Asked, Question};
use crate::solve::{Answer, Options, solve, solve_from};
use crate::system::System;

/// A series of questions. If a checkpoint knows the first of them, the series continues after them.
pub(crate) struct Series<'a> {
    options: &'a Options,
    about: Option<Arc<About>>,
    number: u64,
    /// Boxes visited, those before the checkpoint included.
    pub(crate) nodes: u64,
    /// An input for which something that the files do not fix decides whether it refutes the claim.
    pub(crate) open: Arc<Mutex<Option<Vec<f64>>>>,
}

impl<'a> Series<'a> {
    /// `about` describes the two models to workers and checkpoints.
    pub(crate) fn new(options: &'a Options, about: impl FnOnce() -> Arc<About>) -> Self {
        let saved = options.crew.as_ref().and_then(|crew| crew.saved.as_deref());
        let open = Arc::new(Mutex::new(saved.and_then(|saved| saved.noted.clone())));
        let about = options.crew.as_ref().map(|_| about());
        Self { options, about, number: 0, nodes: saved.map_or(0, |saved| saved.nodes), open }
    }

    /// Asks the next question: has the system a cell that `accept` admits? Calls `begin` first,
    /// unless a checkpoint has the beginning of the search.
    pub(crate) fn ask(
        &mut self,
        system: &System<'_>,
        question: Question,
        accept: &(dyn Fn(&[CellId]) -> bool + Sync),
        begin: impl FnOnce(),
    ) -> Answer {
        let (crew, number) = (self.options.crew.as_ref(), self.number);
        self.number += 1;
        if crew.is_some_and(|crew| crew.is_proved(number)) {
            return Answer::Proof;
        }
        if crew.is_none_or(|crew| crew.saved_at(number).is_none()) {
            begin();
        }
        let asked = self.about.as_ref().map(|about| Asked {
            about: about.clone(),
            question,
            before: number,
            nodes: self.nodes,
            noted: self.open.clone(),
        });
        let options = self.options.asking(asked.as_ref());
        let solved = match options.crew.as_ref().and_then(|crew| crew.saved_at(number)) {
            Some(saved) => solve_from(system, &options, accept, saved),
            None => solve(system, &options, accept),
        };
        self.nodes += solved.nodes;
        solved.answer
    }

    /// The input that is left open, if there is one.
    pub(crate) fn left_open(&self) -> Option<Vec<f64>> {
        self.open.lock().expect("no thread panics while it holds the lock").take()
    }
}

/// The rows without repetitions, in their order.
pub(crate) fn distinct(mut rows: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    let mut seen = std::collections::HashSet::new();
    rows.retain(|row| seen.insert(row.iter().map(|value| value.to_bits()).collect::<Vec<u64>>()));
    rows
}
