//! Several threads that check one certificate together.
//!
//! Every thread follows the whole certificate, and leaves parts of it to others: a *part* is a box
//! with all that its proof splits it into, and each part has one owner. Whoever is not the owner of
//! a part only counts its boxes, to see where it ends; everything outside of parts is checked by
//! every thread. The certificate is accepted if every thread accepts it.
//!
//! Sound because each box is checked by somebody, from the same state as in a check by one thread:
//! a box in no part by all, a box in some part by the owner of the outermost part that it is in,
//! who leaves nothing out inside of it. This holds whatever the list of parts is; the list only
//! shares the work out. A refusal is that of the first step that any thread refuses, which is the
//! one that a single thread refuses.

use std::io::Read;
use std::sync::Mutex;

use secateur_certificate::{ReadError, Reader, Step};
use secateur_kernel as kernel;
use secateur_model::Ensemble;

use crate::verdict::{Limits, Verdict};
use crate::{Scorer, check_share};

/// No more parts than this, about; what comes behind is checked by all.
const MOST: usize = 1 << 20;

/// The parts that one of several threads checks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Share<'a> {
    /// The first step of each part, ascending.
    parts: &'a [u64],
    thread: usize,
    threads: usize,
}

impl Share<'_> {
    /// All of it.
    pub(crate) const WHOLE: Share<'static> = Share { parts: &[], thread: 0, threads: 1 };

    /// Does a part begin with this step, and is it left to another thread? `None` where none
    /// begins.
    pub(crate) fn leaves_out(&self, step: u64) -> Option<bool> {
        let part = self.parts.binary_search(&step).ok()?;
        Some(part % self.threads != self.thread)
    }
}

/// Which part of a system's proof a thread is in.
pub(crate) struct Parts<'a> {
    share: Share<'a>,
    /// The next step is the first of its box.
    fresh: bool,
    /// In a part: whether it is left to another thread, and how many of its boxes are still to
    /// come.
    inside: Option<(bool, u64)>,
}

/// Who checks a step.
pub(crate) enum Place {
    /// This thread.
    Here,
    /// Another thread. If `done`, the step ends the part.
    LeftOut { done: bool },
}

impl<'a> Parts<'a> {
    pub(crate) fn new(share: Share<'a>) -> Self {
        Self { share, fresh: true, inside: None }
    }

    /// Where the next step of a proof belongs. Lenses, which come before the first box, are for
    /// all.
    pub(crate) fn place(&mut self, step: &kernel::Step, at: u64) -> Place {
        use kernel::Step::{Cells, Close, Join, Lens, Meet, Narrow, Split};
        if matches!(step, Lens(_) | Meet(_)) {
            return Place::Here;
        }
        if std::mem::replace(&mut self.fresh, false) && self.inside.is_none() {
            self.inside = self.share.leaves_out(at).map(|others| (others, 1));
        }
        let boxes = match step {
            Split { .. } => 1,
            Close(_) | Cells | Join { .. } => -1,
            Narrow { .. } | Lens(_) | Meet(_) => 0,
        };
        self.fresh = boxes != 0;
        let Some((others, open)) = &mut self.inside else { return Place::Here };
        *open = open.saturating_add_signed(boxes);
        let (others, done) = (*others, *open == 0);
        if done {
            self.inside = None;
        }
        if others { Place::LeftOut { done } } else { Place::Here }
    }
}

/// As [`check_where`](crate::check_where), by so many threads. The certificate is in memory because
/// all threads must see the same one: a file that somebody changes in the meantime could show each
/// of them another. Each thread lays the models out for itself, so memory grows with their number.
pub fn check_with_threads(
    original: &Ensemble,
    pruned: &Ensemble,
    scorers: &[Scorer<'_>],
    certificate: &[u8],
    limits: &Limits,
    stop: &(dyn Fn() -> bool + Sync),
    threads: usize,
) -> Result<Verdict, ReadError> {
    let parts = if threads > 1 { parts(certificate, limits.part_steps) } else { Vec::new() };
    let answers = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for thread in 0..threads.max(1) {
            let (parts, answers) = (&parts, &answers);
            scope.spawn(move || {
                let share = Share { parts, thread, threads: threads.max(1) };
                let answer = check_share(original, pruned, scorers, certificate, limits, stop, share, None);
                // Nobody panics while it holds the lock.
                answers.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push((thread, answer));
            });
        }
    });
    let mut answers = answers.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    answers.sort_by_key(|(thread, answer)| (place(answer), *thread));
    let (_, first) = answers.swap_remove(0);
    first
}

/// Where an answer stands among those of all threads: a refusal by its step, before what is not
/// readable, before what is accepted.
fn place(answer: &Result<Verdict, ReadError>) -> (u8, u64) {
    match answer {
        Ok(Verdict::Invalid { step, .. } | Verdict::Incomplete { step, .. }) => {
            (0, step.map_or(0, |step| step.saturating_add(1)))
        }
        Err(_) => (1, 0),
        Ok(Verdict::Valid(_)) => (2, 0),
    }
}

/// The parts of a certificate: the largest boxes whose proofs have at most so many steps. What
/// cannot be read has none here, and those who check it say why.
fn parts(certificate: impl Read, largest: u64) -> Vec<u64> {
    let mut found = Vec::new();
    let Ok(mut reader) = Reader::new(certificate) else { return found };
    // The boxes on the way to the present one: the first step of each, and its parts so far.
    let mut way: Vec<Open> = Vec::new();
    let mut inside = false;
    let mut held = 0;
    // What is known of boxes that are not done may be used as well.
    while held < MOST {
        let at = reader.steps();
        let Ok(Some(step)) = reader.next_step() else { break };
        match step {
            Step::Narrow { .. }
            | Step::Split { .. }
            | Step::Close { .. }
            | Step::Cells
            | Step::Join { .. } => {}
            // The proof of a system begins with its first box.
            _ => {
                // One that did not end is refused by all.
                held -= way.drain(..).map(|open| open.parts.len()).sum::<usize>();
                inside = false;
                continue;
            }
        }
        if !inside {
            way.push(Open { start: at, second: false, parts: Vec::new() });
            inside = true;
        }
        match step {
            Step::Narrow { .. } => {}
            Step::Split { .. } => inside = false,
            _ => {
                inside = false;
                // Boxes that end with this step.
                while let Some(done) = way.pop() {
                    held -= done.parts.len();
                    let own = if at - done.start < largest { vec![done.start] } else { done.parts };
                    held += own.len();
                    match way.last_mut() {
                        Some(parent) => {
                            let ends = parent.second;
                            parent.second = true;
                            parent.parts.extend(own);
                            if !ends {
                                break;
                            }
                        }
                        None => found.extend(own),
                    }
                }
            }
        }
    }
    found.extend(way.into_iter().flat_map(|open| open.parts));
    found
}

/// A box whose proof is being read.
struct Open {
    start: u64,
    /// Its first side is done.
    second: bool,
    parts: Vec<u64>,
}
