//! Accepts or refuses a certificate that two models decide alike, that their scores are near, or what
//! one model does.
//!
//! `secateur-lower` says what a claim means and turns it, with the two models, into problems about
//! whole numbers; `secateur-kernel` decides whether the steps of a certificate show that no cell
//! solves them. This crate reads a certificate, demands every problem of its claim in order, hands
//! each step to the kernel, and puts the verdict into words.
//!
//! # What is trusted
//! `secateur-model` (what a model computes, its rounding, the grid), `secateur-certificate` (the
//! reader), `secateur-lower`, `secateur-kernel`, and this crate. Nothing of the search is trusted,
//! and nothing here reads the file of a model: a caller who starts from files trusts their readers
//! too (`secateur-formats`). `SOUNDNESS.md` has the whole list, with sizes. `secateur-source` says
//! what the certificates of packed files and of source prove, and `secateur-check` is the program.
//!
//! # Threads
//! [`check`] uses one thread. With [`check_with_threads`] every thread reads the whole certificate
//! but checks only its share of the boxes, and the certificate is accepted only if all threads
//! accept it (`shares.rs`).
//!
//! # Where to read
//! `run` takes the steps in the order that the claim needs and hands them to the kernel. `verdict`
//! is what comes out, `reason` says why a certificate is refused, `bounds` is about smaller models,
//! `covers` compares two domains, `shares` is for several threads, and `dump` writes problems and
//! proofs as text.

mod asked;
mod bounds;
mod covers;
mod dump;
mod reason;
mod run;
mod shares;
mod verdict;
mod words;

use std::io::Read;

use secateur_certificate::{Claim, ReadError, Reader};
use secateur_lower::Subject;
use secateur_model::Ensemble;

pub use asked::{Asked, domain_not_covered};
pub use dump::{Answer, Dump, Unreadable, check_bounds_dump, check_dump};
pub use reason::{ClaimKind, Reason, Unproved};
pub use secateur_lower::{MatchedLabels, ModelRole, Refused, Scorer, aligned, match_classes};
use shares::Share;
pub use shares::check_with_threads;
pub use verdict::{ColumnBound, Limits, Proved, Shown, Verdict};

/// Checks a certificate for these two models. The pruned model's columns have to be in the order of
/// the original's (see [`aligned`]). An error means that this is no certificate at all.
pub fn check(
    original: &Ensemble,
    pruned: &Ensemble,
    certificate: impl Read,
    limits: &Limits,
) -> Result<Verdict, ReadError> {
    check_until(original, pruned, certificate, limits, &|| false)
}

/// As [`check`], but asks `stop` now and then. When `stop` says true, the check ends with
/// [`Verdict::Incomplete`] and [`Reason::Stopped`], whatever has been checked by then.
pub fn check_until(
    original: &Ensemble,
    pruned: &Ensemble,
    certificate: impl Read,
    limits: &Limits,
    stop: &dyn Fn() -> bool,
) -> Result<Verdict, ReadError> {
    check_where(original, pruned, &[], certificate, limits, stop)
}

/// As [`check_until`], for claims about inputs on which other models have certain scores. A
/// certificate names these models by their digests, and each of them has to be among `scorers`.
pub fn check_where(
    original: &Ensemble,
    pruned: &Ensemble,
    scorers: &[Scorer<'_>],
    certificate: impl Read,
    limits: &Limits,
    stop: &dyn Fn() -> bool,
) -> Result<Verdict, ReadError> {
    check_share(original, pruned, scorers, certificate, limits, stop, Share::WHOLE, None)
}

/// As [`check_where`], and writes every problem with its proof as text. [`Dump::finish`] returns
/// the first error of writing.
pub fn check_and_dump(
    original: &Ensemble,
    pruned: &Ensemble,
    scorers: &[Scorer<'_>],
    certificate: impl Read,
    limits: &Limits,
    stop: &dyn Fn() -> bool,
    dump: &mut Dump<'_>,
) -> Result<Verdict, ReadError> {
    check_share(original, pruned, scorers, certificate, limits, stop, Share::WHOLE, Some(dump))
}

/// Checks the share of one thread.
#[expect(clippy::too_many_arguments, reason = "the public functions give defaults to most of them")]
fn check_share(
    original: &Ensemble,
    pruned: &Ensemble,
    scorers: &[Scorer<'_>],
    certificate: impl Read,
    limits: &Limits,
    stop: &dyn Fn() -> bool,
    share: Share<'_>,
    dump: Option<&mut Dump<'_>>,
) -> Result<Verdict, ReadError> {
    let mut reader = Reader::new(certificate)?;
    let claim = reader.claim().clone();
    let context = run::Context { limits: *limits, stop, share };
    // The models are restricted to the inputs of the claim, whatever inputs the caller set them up
    // for.
    let answer = match Subject::new(original, pruned, scorers, &claim) {
        Ok(subject) => match subject.matched(&claim) {
            Ok(matched) => match matched.pair(&claim) {
                Ok(pair) => run::follow(&pair, &mut reader, context, dump)?.map(|found| Proved {
                    claim: Claim { domain: subject.domain().clone(), ..claim },
                    labels: matched.told(),
                    ..found
                }),
                Err(refused) => Err((refused.into(), None)),
            },
            Err(refused) => Err((refused.into(), None)),
        },
        Err(refused) => Err((refused.into(), None)),
    };
    Ok(match answer {
        Ok(proved) => Verdict::Valid(proved),
        Err((reason, step)) if reason.is_incomplete() => Verdict::Incomplete { reason, step },
        Err((reason, step)) => Verdict::Invalid { reason, step },
    })
}

/// The example of the README, as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
