//! What a run has learned, so that a run that was ended can be resumed.
//!
//! A run is a function of the model, the rows and the options: with the same answers from the
//! oracle and the solver it takes the same steps. So the journal keeps these answers, each under a
//! digest of its question, and the plan of the best model found. A resumed run starts from the
//! beginning and finds the answers that were given before, until one is missing; from there it does
//! what an uninterrupted run would have done. For that to hold, time must not steer the run: a run
//! with a journal is ended by its cancel switch and has no deadline.
//!
//! Nothing in a journal is trusted. Inputs that refuted a candidate are used only if they are
//! inputs of the domain, and their demands are computed from the model. A candidate whose proof was
//! recalled from a journal is marked ([`crate::Pruned::recalled`]); callers must prove it again
//! before they hand it out.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use num_bigint::BigInt;
use secateur_certificate::FileDigest;
use secateur_model::Exact;
use secateur_oracle::{CheckpointError, In, Keep, Keeper, Out, Pace, StopReason, WireError};

use crate::candidate::plan::{Constants, Plan};

/// The first bytes of a journal.
const MAGIC: &[u8] = concat!("secateur prune checkpoint ", env!("CARGO_PKG_VERSION"), "\n").as_bytes();
/// The first bytes of a journal of any version, and of a checkpoint of `verify`.
const ANY: &[u8] = b"secateur prune checkpoint ";
const OF_VERIFY: &[u8] = b"secateur checkpoint ";

/// A digest under which the journal keeps something.
pub(crate) type Key = [u8; 32];

/// The oracle's answer about a candidate.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Said {
    /// The candidate keeps what the claim says.
    Proved,
    /// The candidate breaks the claim on these inputs.
    Refuted(Vec<Vec<f64>>),
    /// The oracle reached its limit of boxes or memory.
    Hard(StopReason),
}

/// An answer of the oracle, with its cost.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Answered {
    pub(crate) said: Said,
    /// Boxes that the oracle visited.
    pub(crate) boxes: u64,
}

/// The solver's answer to a linear program.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Program {
    /// The values of its unknowns.
    Optimal(Vec<f64>),
    /// No solution: the sum of these rows, with these multipliers, cannot be met.
    Infeasible(Vec<(usize, f64)>),
}

/// How the best model found is made from the original.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Best {
    /// The digest of the model that the plan gives.
    pub(crate) model: Key,
    pub(crate) plan: Plan,
}

/// What a run has learned, and where that is kept.
#[derive(Debug)]
pub struct Journal {
    place: Box<dyn Keep>,
    pages: Mutex<Pages>,
    pace: Mutex<Pace>,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Pages {
    /// A digest of the run's question: the model, the rows and the options.
    subject: Key,
    answers: BTreeMap<Key, Answered>,
    programs: BTreeMap<Key, Program>,
    best: Option<Best>,
    /// The checkpoint of the search for the certificate, with the digest of the model that it
    /// proves.
    proof: Option<(Key, Vec<u8>)>,
    /// Something was added since the journal was last written.
    fresh: bool,
}

impl Journal {
    /// Opens the journal of the run with this digest. It is written to `place`, and continues from
    /// `old` if there is an earlier journal.
    pub fn open(
        place: Box<dyn Keep>,
        subject: [u8; 32],
        old: Option<&[u8]>,
    ) -> Result<Self, CheckpointError> {
        let pages = match old {
            Some(bytes) => Pages::decode(bytes, &subject)?,
            None => Pages { subject, ..Pages::default() },
        };
        Ok(Self { place, pages: Mutex::new(pages), pace: Mutex::default() })
    }

    /// Writes the journal if something was added since it was last written.
    pub fn flush(&self) {
        let bytes = {
            let mut pages = lock(&self.pages);
            if !std::mem::take(&mut pages.fresh) {
                return;
            }
            pages.encode()
        };
        lock(&self.pace).write(|| self.place.keep(&bytes));
    }

    /// The keeper of the search for a model's certificate, given the model's digest; true where it
    /// resumes from a checkpoint.
    pub fn proof_keeper(self: &Arc<Self>, model: [u8; 32]) -> (Arc<Keeper>, bool) {
        let old =
            lock(&self.pages).proof.clone().filter(|(about, _)| *about == model).map(|(_, bytes)| bytes);
        let goes_on = old.is_some();
        let place = Certificate { journal: self.clone(), model };
        (Arc::new(Keeper::new(Box::new(place), old)), goes_on)
    }

    pub(crate) fn answer(&self, key: &Key) -> Option<Answered> {
        lock(&self.pages).answers.get(key).cloned()
    }

    /// Notes an answer, and writes the journal if a write is due.
    pub(crate) fn note(&self, key: Key, answered: Answered) {
        self.change(|pages| {
            pages.answers.insert(key, answered);
        });
        self.flush_if_due();
    }

    pub(crate) fn program(&self, key: &Key) -> Option<Program> {
        lock(&self.pages).programs.get(key).cloned()
    }

    /// Notes the answer to a linear program, and writes the journal if a write is due.
    pub(crate) fn note_program(&self, key: Key, program: Program) {
        self.change(|pages| {
            pages.programs.insert(key, program);
        });
        self.flush_if_due();
    }

    fn flush_if_due(&self) {
        if lock(&self.pace).is_due() {
            self.flush();
        }
    }

    pub(crate) fn best(&self) -> Option<Best> {
        lock(&self.pages).best.clone()
    }

    pub(crate) fn set_best(&self, best: Best) {
        self.change(|pages| pages.best = Some(best));
    }

    fn change(&self, change: impl FnOnce(&mut Pages)) {
        let mut pages = lock(&self.pages);
        change(&mut pages);
        pages.fresh = true;
    }
}

/// Puts the checkpoints of the certificate's search into the journal.
#[derive(Debug)]
struct Certificate {
    journal: Arc<Journal>,
    model: Key,
}

impl Keep for Certificate {
    fn keep(&self, checkpoint: &[u8]) {
        self.journal.change(|pages| pages.proof = Some((self.model, checkpoint.to_vec())));
        self.journal.flush();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Pages {
    fn encode(&self) -> Vec<u8> {
        let mut out = Out::default();
        out.raw(MAGIC);
        out.raw(&self.subject);
        out.number(self.answers.len() as u64);
        for (key, answered) in &self.answers {
            out.raw(key);
            answered.encode(&mut out);
        }
        out.number(self.programs.len() as u64);
        for (key, program) in &self.programs {
            out.raw(key);
            program.encode(&mut out);
        }
        out.option(self.best.as_ref(), |out, best| {
            out.raw(&best.model);
            write_plan(out, &best.plan);
        });
        out.option(self.proof.as_ref(), |out, (model, checkpoint)| {
            out.raw(model);
            out.bytes(checkpoint);
        });
        let digest = FileDigest::of(&out.0);
        out.raw(&digest.0);
        out.0
    }

    fn decode(bytes: &[u8], subject: &Key) -> Result<Self, CheckpointError> {
        if !bytes.starts_with(MAGIC) {
            return Err(match bytes {
                _ if bytes.starts_with(ANY) => CheckpointError::Version,
                _ if bytes.starts_with(OF_VERIFY) => CheckpointError::OfVerify,
                _ => CheckpointError::Magic,
            });
        }
        let (body, digest) = bytes.split_last_chunk::<32>().ok_or(CheckpointError::Damaged)?;
        if FileDigest::of(body).0 != *digest {
            return Err(CheckpointError::Damaged);
        }
        let pages =
            Self::read(&mut In::new(&body[MAGIC.len()..])).map_err(|WireError| CheckpointError::Damaged)?;
        if pages.subject == *subject { Ok(pages) } else { Err(CheckpointError::OtherRun) }
    }

    fn read(input: &mut In<'_>) -> Result<Self, WireError> {
        let pages = Self {
            subject: input.array()?,
            answers: input
                .list(|input| Ok((input.array()?, Answered::decode(input)?)))?
                .into_iter()
                .collect(),
            programs: input
                .list(|input| Ok((input.array()?, Program::decode(input)?)))?
                .into_iter()
                .collect(),
            best: input.option(|input| Ok(Best { model: input.array()?, plan: read_plan(input)? }))?,
            proof: input.option(|input| Ok((input.array()?, input.bytes()?.to_vec())))?,
            fresh: false,
        };
        input.end()?;
        Ok(pages)
    }
}

impl Answered {
    fn encode(&self, out: &mut Out) {
        out.number(self.boxes);
        match &self.said {
            Said::Proved => out.byte(0),
            Said::Refuted(rows) => {
                out.byte(1);
                out.list(rows, |out, row| out.list(row, |out, &value| out.float(value)));
            }
            Said::Hard(StopReason::Memory) => out.byte(3),
            Said::Hard(_) => out.byte(2),
        }
    }

    fn decode(input: &mut In<'_>) -> Result<Self, WireError> {
        let boxes = input.number()?;
        let said = match input.byte()? {
            0 => Said::Proved,
            1 => Said::Refuted(input.list(|input| input.list(In::float))?),
            2 => Said::Hard(StopReason::Nodes),
            3 => Said::Hard(StopReason::Memory),
            _ => return Err(WireError),
        };
        Ok(Self { said, boxes })
    }
}

impl Program {
    fn encode(&self, out: &mut Out) {
        let mut entries = |entries: &[(usize, f64)]| {
            let mut last = 0;
            out.list(entries, |out, &(at, value)| {
                out.number((at - last) as u64);
                out.float(value);
                last = at;
            });
        };
        match self {
            // Most values are zero, so only the others are written.
            Self::Optimal(values) => {
                let some = values.iter().copied().enumerate().filter(|(_, value)| value.to_bits() != 0);
                entries(&some.collect::<Vec<_>>());
                out.byte(0);
                out.number(values.len() as u64);
            }
            Self::Infeasible(rows) => {
                let mut rows = rows.clone();
                rows.sort_by_key(|&(row, _)| row);
                entries(&rows);
                out.byte(1);
            }
        }
    }

    fn decode(input: &mut In<'_>) -> Result<Self, WireError> {
        let mut at = 0usize;
        let entries = input.list(|input| {
            at = at.saturating_add(usize::try_from(input.number()?).map_err(|_| WireError)?);
            Ok((at, input.float()?))
        })?;
        match input.byte()? {
            0 => {
                let count = usize::try_from(input.number()?).map_err(|_| WireError)?;
                // No program has that many unknowns. The limit keeps a wrong number from reserving
                // memory.
                let mut values =
                    if count <= MOST_UNKNOWNS { vec![0.0; count] } else { return Err(WireError) };
                for (at, value) in entries {
                    *values.get_mut(at).ok_or(WireError)? = value;
                }
                Ok(Self::Optimal(values))
            }
            1 => Ok(Self::Infeasible(entries)),
            _ => Err(WireError),
        }
    }
}

fn write_plan(out: &mut Out, plan: &Plan) {
    out.list(&plan.weights, |out, &weight| out.float(weight));
    match &plan.constants {
        Constants::File => out.byte(0),
        Constants::Zero => out.byte(1),
        Constants::Own(constants) => {
            out.byte(2);
            out.list(constants, |out, constant| {
                out.bytes(&constant.mantissa().to_signed_bytes_le());
                out.raw(&constant.exponent().to_le_bytes());
            });
        }
    }
}

fn read_plan(input: &mut In<'_>) -> Result<Plan, WireError> {
    let weights = input.list(In::float)?;
    let constants = match input.byte()? {
        0 => Constants::File,
        1 => Constants::Zero,
        2 => Constants::Own(input.list(|input| {
            let mantissa = BigInt::from_signed_bytes_le(input.bytes()?);
            let exponent = i64::from_le_bytes(input.array()?);
            // Constants are sums of products of a few floats and stay far below these limits.
            // Beyond them, arithmetic could use up all memory.
            let sane = exponent.unsigned_abs() <= MOST_EXPONENT && mantissa.bits() <= MOST_EXPONENT;
            if sane { Ok(Exact::new(mantissa, exponent)) } else { Err(WireError) }
        })?),
        _ => return Err(WireError),
    };
    Ok(Plan { weights, constants })
}

/// The largest exponent of a constant (in magnitude), and the most bits of its mantissa.
const MOST_EXPONENT: u64 = 1 << 16;

/// The most unknowns of a program.
const MOST_UNKNOWNS: usize = 1 << 24;

#[cfg(test)]
mod tests {
    use super::*;

    fn pages() -> Pages {
        let refuted = Said::Refuted(vec![vec![0.5, f64::NEG_INFINITY], vec![-0.0, 3.0]]);
        let answers = [
            ([1; 32], Answered { said: Said::Proved, boxes: 7 }),
            ([2; 32], Answered { said: refuted, boxes: 0 }),
            ([3; 32], Answered { said: Said::Hard(StopReason::Nodes), boxes: 100_000 }),
            ([4; 32], Answered { said: Said::Hard(StopReason::Memory), boxes: 5 }),
        ];
        let constants = Constants::Own(vec![Exact::zero(), Exact::from_f64(-0.1).unwrap()]);
        Pages {
            subject: [9; 32],
            answers: answers.into_iter().collect(),
            programs: [
                ([5; 32], Program::Optimal(vec![0.0, 0.5, -0.0])),
                ([6; 32], Program::Infeasible(vec![(2, 0.25), (9, 1e-9)])),
            ]
            .into_iter()
            .collect(),
            best: Some(Best { model: [8; 32], plan: Plan { weights: vec![0.0, 1.25], constants } }),
            proof: Some(([7; 32], b"a search".to_vec())),
            fresh: false,
        }
    }

    #[test]
    fn a_journal_reads_back_and_a_changed_one_does_not() {
        let pages = pages();
        let bytes = pages.encode();
        assert_eq!(Pages::decode(&bytes, &[9; 32]), Ok(pages));
        assert_eq!(Pages::decode(&bytes, &[8; 32]), Err(CheckpointError::OtherRun));
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1;
            assert!(Pages::decode(&damaged, &[9; 32]).is_err(), "byte {at}");
            assert!(Pages::decode(&bytes[..at], &[9; 32]).is_err(), "cut at {at}");
        }
        let wrong = |bytes: &[u8]| Pages::decode(bytes, &[9; 32]).unwrap_err();
        assert_eq!(wrong(b"notes"), CheckpointError::Magic);
        assert_eq!(wrong(b"secateur prune checkpoint 0.0.1\n"), CheckpointError::Version);
        assert_eq!(wrong(b"secateur checkpoint 0.2.0\n"), CheckpointError::OfVerify);
    }
}
