//! Several threads that check one certificate together.
//!
//! Every thread reads the whole certificate but leaves parts of it to others. A *part* is a box
//! with everything that its proof splits it into, and each part has one owner, the thread that
//! checks it. The other threads only count the part's boxes, to see where it ends. Every thread
//! checks everything outside of parts. The certificate is accepted if every thread accepts it.
//!
//! Sound because some thread checks each box, starting from the same state as in a check by one
//! thread: a box in no part is checked by all threads, and a box in some part by the owner of the
//! outermost part that holds it, which leaves nothing out inside of that part. This holds for any
//! list of parts; the list only distributes the work. The refusal that is reported is that of the
//! first step that any thread refuses, which is the step that a single thread refuses.

use std::io::Read;
use std::sync::Mutex;

use secateur_certificate::{ReadError, Reader, Step};
use secateur_kernel as kernel;
use secateur_model::Ensemble;

use crate::verdict::{Limits, Verdict};
use crate::{Scorer, check_share};

/// About the largest number of parts; all threads check what comes after them.
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
    /// The whole certificate, for a single thread.
    pub(crate) const WHOLE: Share<'static> = Share { parts: &[], thread: 0, threads: 1 };

    /// If a part begins with this step: is the part left to another thread? `None` if none begins.
    pub(crate) fn leaves_out(&self, step: u64) -> Option<bool> {
        let part = self.parts.binary_search(&step).ok()?;
        Some(part % self.threads != self.thread)
    }
}

/// Tracks in which part of a system's proof a thread is.
pub(crate) struct Parts<'a> {
    share: Share<'a>,
    /// The next step is the first of its box.
    fresh: bool,
    /// Inside a part: whether it is left to another thread, and how many of its boxes are still to
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

    /// Who checks the next step of a proof. Lenses, which come before the first box, are checked by
    /// all threads.
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

/// As [`check_where`](crate::check_where), with several threads. The certificate has to be in
/// memory, because all threads must see the same bytes: if somebody changed a file in the meantime,
/// each thread could read another certificate. Each thread lays the models out for itself, so
/// memory grows with the number of threads.
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

/// The rank of an answer among those of all threads: refusals first, by their step; then unreadable
/// certificates; then acceptance.
fn place(answer: &Result<Verdict, ReadError>) -> (u8, u64) {
    match answer {
        Ok(Verdict::Invalid { step, .. } | Verdict::Incomplete { step, .. }) => {
            (0, step.map_or(0, |step| step.saturating_add(1)))
        }
        Err(_) => (1, 0),
        Ok(Verdict::Valid(_)) => (2, 0),
    }
}

/// The parts of a certificate: the largest boxes whose proofs have at most `largest` steps. From
/// the first step on that cannot be read there are none; the check itself reports why.
fn parts(certificate: impl Read, largest: u64) -> Vec<u64> {
    let mut found = Vec::new();
    let Ok(mut reader) = Reader::new(certificate) else { return found };
    // The boxes that contain the present one: the first step of each, and its parts so far.
    let mut way: Vec<Open> = Vec::new();
    let mut inside = false;
    let mut held = 0;
    // If reading stops early, the parts found so far are used.
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
                // A proof that does not end is refused by all threads.
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
                // Boxes whose proofs end with this step.
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
    /// The proof of its first side is complete.
    second: bool,
    parts: Vec<u64>,
}
