//! Checkpoints: a search that was stopped resumes where it was.
//!
//! A checkpoint holds the proof up to that point, as the steps of a certificate, and the boxes that
//! are still open. Nothing in it is trusted: a search that resumes from one always records its
//! proof, and only the checker's verdict on the whole certificate counts. A checkpoint is refused
//! if it is damaged, from another version, or about other models or another claim.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use secateur_certificate::FileDigest;
use secateur_model::CellId;
use thiserror::Error;

use crate::certify::{Kept, Stretch};
use crate::jobs::wire::{In, Out, WireError};
use crate::jobs::{OpenBox, Setup};

/// The first bytes of a checkpoint.
const MAGIC: &[u8] = concat!("secateur checkpoint ", env!("CARGO_PKG_VERSION"), "\n").as_bytes();
/// The first bytes of a checkpoint of any version.
const ANY: &[u8] = b"secateur checkpoint ";
/// A checkpoint is written at most this often, and writing takes at most one part in `SHARE` of the
/// time.
const OFTEN: Duration = Duration::from_secs(2);
const SHARE: u32 = 20;

/// Decides when the next checkpoint is due: at most every two seconds, and so rarely that writing
/// takes little of the time.
#[derive(Debug)]
struct Pace {
    last: Instant,
    took: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self { last: Instant::now(), took: Duration::ZERO }
    }
}

impl Pace {
    /// Is it time for the next checkpoint?
    fn is_due(&self) -> bool {
        self.last.elapsed() >= OFTEN.max(self.took * SHARE)
    }

    /// Writes a checkpoint, and measures how long that takes.
    fn write(&mut self, write: impl FnOnce()) {
        let started = Instant::now();
        write();
        *self = Self { last: Instant::now(), took: started.elapsed() };
    }
}

/// Why a checkpoint cannot be used.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum CheckpointError {
    /// It is not a checkpoint.
    #[error("this is no checkpoint of secateur")]
    Magic,
    /// Another version made it.
    #[error("this checkpoint was made by another version of secateur; this is {}", env!("CARGO_PKG_VERSION"))]
    Version,
    /// Its digest does not match its bytes.
    #[error("this checkpoint is damaged")]
    Damaged,
    /// It is about other models, another domain or another claim.
    #[error("this checkpoint is about other models, another domain or another claim")]
    Foreign,
    /// The models cannot be encoded in the form in which they are compared.
    #[error("no checkpoints are kept of this comparison")]
    Impossible,
}

/// The place where checkpoints are kept.
pub trait Keep: Send + Sync + fmt::Debug {
    /// Replaces the checkpoint kept before by this one, as a whole or not at all. If that fails,
    /// the search continues.
    fn keep(&self, checkpoint: &[u8]);
}

/// Keeps checkpoints of one search, and returns the one to resume from.
#[derive(Debug)]
pub struct Keeper {
    place: Box<dyn Keep>,
    /// The checkpoint that was there at the start, until the search takes it.
    old: Mutex<Option<Vec<u8>>>,
    pace: Mutex<Pace>,
}

/// An unfinished search.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Saved {
    /// The digest of the models and the claim ([`crate::jobs::Subject`]).
    pub(crate) subject: [u8; 32],
    /// How many questions were asked before this one, all of them proved.
    pub(crate) question: u64,
    pub(crate) setup: Setup,
    /// Boxes visited by all questions so far.
    pub(crate) nodes: u64,
    /// The open boxes, in the order of their paths.
    pub(crate) open: Vec<OpenBox>,
    pub(crate) found: Vec<(Vec<bool>, Vec<CellId>)>,
    /// An input that stays undecided, no matter how the search ends.
    pub(crate) noted: Option<Vec<f64>>,
    /// The proof up to this point.
    pub(crate) proof: Kept,
}

impl Keeper {
    /// Keeps checkpoints here, and resumes from the one kept before.
    pub fn new(place: Box<dyn Keep>, old: Option<Vec<u8>>) -> Self {
        Self { place, old: Mutex::new(old), pace: Mutex::default() }
    }

    /// The checkpoint to resume from; the next call returns `None`. `sizes` are the numbers of
    /// cells of the axes.
    pub(crate) fn take(&self, subject: &[u8; 32], sizes: &[u32]) -> Result<Option<Saved>, CheckpointError> {
        let Some(bytes) = lock(&self.old).take() else { return Ok(None) };
        let saved = Saved::decode(&bytes, subject, sizes)?;
        Ok(Some(saved))
    }

    /// Is it time for the next checkpoint?
    pub(crate) fn is_due(&self) -> bool {
        lock(&self.pace).is_due()
    }

    pub(crate) fn save(&self, saved: &Saved, sizes: &[u32]) {
        lock(&self.pace).write(|| self.place.keep(&saved.encode(sizes)));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Saved {
    fn encode(&self, sizes: &[u32]) -> Vec<u8> {
        let mut out = Out::default();
        out.raw(MAGIC);
        out.raw(&self.subject);
        out.number(self.question);
        self.setup.encode(&mut out);
        out.number(self.nodes);
        out.list(&self.open, |out, open| open.encode(out, sizes));
        out.list(&self.found, |out, (path, cells)| {
            out.path(path);
            out.list(cells, |out, cell| out.number(cell.0.into()));
        });
        out.option(self.noted.as_ref(), |out, row| out.list(row, |out, &value| out.float(value)));
        out.bytes(&self.proof.bytes);
        out.number(self.proof.steps);
        out.option(self.proof.next.as_ref(), |out, next| out.path(next));
        out.list(&self.proof.waiting, |out, stretch| stretch.encode(out));
        let digest = FileDigest::of(&out.0);
        out.raw(&digest.0);
        out.0
    }

    fn decode(bytes: &[u8], subject: &[u8; 32], sizes: &[u32]) -> Result<Self, CheckpointError> {
        if !bytes.starts_with(MAGIC) {
            let ours = bytes.starts_with(ANY);
            return Err(if ours { CheckpointError::Version } else { CheckpointError::Magic });
        }
        let (body, digest) = bytes.split_last_chunk::<32>().ok_or(CheckpointError::Damaged)?;
        if FileDigest::of(body).0 != *digest {
            return Err(CheckpointError::Damaged);
        }
        let mut input = In::new(&body[MAGIC.len()..]);
        let about: [u8; 32] = input.array().map_err(|WireError| CheckpointError::Damaged)?;
        if about != *subject {
            return Err(CheckpointError::Foreign);
        }
        Self::read(about, &mut input, sizes).map_err(|WireError| CheckpointError::Damaged)
    }

    fn read(subject: [u8; 32], input: &mut In<'_>, sizes: &[u32]) -> Result<Self, WireError> {
        let saved = Self {
            subject,
            question: input.number()?,
            setup: Setup::decode(input)?,
            nodes: input.number()?,
            open: input.list(|input| OpenBox::decode(input, sizes))?,
            found: input.list(|input| {
                let path = input.path()?;
                let cells = input.list(|input| Ok(CellId(input.small()?)))?;
                let inside =
                    cells.len() == sizes.len() && cells.iter().zip(sizes).all(|(cell, &size)| cell.0 < size);
                if inside { Ok((path, cells)) } else { Err(WireError) }
            })?,
            noted: input.option(|input| input.list(In::float))?,
            proof: Kept {
                bytes: input.bytes()?.to_vec(),
                steps: input.number()?,
                next: input.option(In::path)?,
                waiting: input.list(Stretch::decode)?,
            },
        };
        input.end()?;
        Ok(saved)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use fastrand::Rng;
    use secateur_certificate::{Step, encode};
    use secateur_checker::{Limits, Verdict as Checked, check};
    use secateur_testkit::{Shape, ensemble, mutate};

    use super::*;
    use crate::{Band, Comparison, Crew, Options, SearchBudget, Verdict};

    #[derive(Clone, Debug, Default)]
    struct Place(Arc<Mutex<Option<Vec<u8>>>>);

    impl Keep for Place {
        fn keep(&self, checkpoint: &[u8]) {
            *lock(&self.0) = Some(checkpoint.to_vec());
        }
    }

    fn options(place: &Place, old: Option<Vec<u8>>, budget: SearchBudget) -> Options {
        let crew = Crew::keeping(Arc::new(Keeper::new(Box::new(place.clone()), old)));
        Options { crew: Some(crew), budget, shortcuts: false, small_boxes: false, ..Options::unlimited() }
    }

    /// A checkpoint that claims that all open boxes are closed.
    fn forged(mut saved: Saved) -> Saved {
        let (mut bytes, mut steps) = (std::mem::take(&mut saved.proof.bytes), saved.proof.steps);
        let mut waiting: Vec<Stretch> = std::mem::take(&mut saved.proof.waiting);
        let mut next = saved.proof.next.take();
        while let Some(path) = next {
            match waiting.iter().position(|stretch| stretch.starts_at(&path)) {
                Some(at) => {
                    let stretch = waiting.remove(at);
                    bytes.extend_from_slice(stretch.bytes());
                    steps += stretch.steps();
                    next = stretch.next();
                }
                None => {
                    encode(&Step::Close { lens: 0 }, &mut bytes);
                    steps += 1;
                    next = path.iter().rposition(|&second| !second).map(|at| {
                        let mut next = path[..at].to_vec();
                        next.push(true);
                        next
                    });
                }
            }
        }
        saved.open.clear();
        saved.proof = Kept { bytes, steps, next: None, waiting: Vec::new() };
        saved
    }

    #[test]
    fn a_forged_checkpoint_ends_with_a_certificate_that_the_checker_refuses() {
        let mut refused = 0;
        for seed in 0..2_000 {
            let mut rng = Rng::with_seed(seed);
            let random = Shape::random(&mut rng);
            let shape = Shape {
                features: 7,
                categorical: 0,
                trees: 12,
                depth: 3,
                thresholds: 5,
                classes: 2,
                ..random
            };
            let first = ensemble(&mut rng, &shape);
            let second = mutate(&mut rng, &first);
            let Ok(comparison) = Comparison::new(&first, &second, Band::Exact) else { continue };
            let few = SearchBudget { nodes: Some(60_000), ..SearchBudget::unlimited() };
            let alone = Options { crew: None, ..options(&Place::default(), None, few) };
            let compared = comparison.run(&alone);
            // Only a difference that is found late leaves time to stop the search before.
            if compared.nodes < 2_600 || !matches!(compared.verdict, Verdict::Different(_)) {
                continue;
            }
            let about = crate::jobs::About::decisions(comparison.models(), comparison.given_band());
            let subject = about.subject().unwrap();
            let sizes = comparison.layout().axis_sizes();
            for run in 1..60 {
                let place = Place::default();
                let budget = SearchBudget::seconds(0.001 * f64::from(run));
                let stopped = comparison.certify(&options(&place, None, budget), Vec::new()).unwrap().0;
                let Some(kept) = lock(&place.0).take() else {
                    if matches!(stopped.verdict, Verdict::Different(_)) {
                        break;
                    }
                    continue;
                };
                let saved = Saved::decode(&kept, &subject.id, &sizes).unwrap();
                assert_eq!(saved.encode(&sizes), kept);
                let lie = forged(saved).encode(&sizes);
                let settings = options(&place, Some(lie), SearchBudget::unlimited());
                let (compared, writer) = comparison.certify(&settings, Vec::new()).unwrap();
                // Pairs of classes that the forgery does not close may show the difference.
                let Some(writer) = writer else { break };
                assert_eq!(compared.verdict, Verdict::Identical, "seed {seed}");
                let bytes = writer.finish(true).unwrap();
                let checked = check(&first, &second, &bytes[..], &Limits::default()).unwrap();
                assert!(!matches!(checked, Checked::Valid(_)), "seed {seed}: a forged proof is accepted");
                refused += 1;
                break;
            }
            if refused >= 3 {
                return;
            }
        }
        panic!("{refused} forged checkpoints: too few for a test");
    }
}
