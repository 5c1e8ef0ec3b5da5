//! Certificates: the file form of a proof that two models decide alike, or that their scores are
//! near.
//!
//! A certificate is a line of text that names the format, and a compressed stream: the [`Claim`]
//! with the [`Digest`]s of both models, then [`Step`]s up to an explicit end. [`Writer`] and
//! [`Reader`] stream: neither holds more than one step. Nothing here judges a step, which is the
//! checker's work. The format is specified in `docs/spec/certificate-v1.md`, and the additions of
//! version 2 in `certificate-v2.md`; both are normative.
//!
//! # Where to read
//! `claim` and `step` are the types. `encode` has their bytes, `reader` and `writer` the stream,
//! `domain` the bytes of a domain, `digest` the digest of a model, `packing` the certificate of a
//! packed file. `explain` prints a certificate for people.

mod claim;
mod digest;
mod domain;
mod encode;
mod explain;
mod packing;
mod reader;
mod step;
mod writer;

pub use claim::{BandClaim, Claim, Effect, OutputRange, Statement};
pub use digest::{Digest, canonical};
pub use encode::encode;
pub use explain::{explain_claim, explain_step};
pub use packing::{FileDigest, PACKING_MAGIC, PackingReadError, PackingRecord, PruningStep, QuantisedStep};
pub use reader::{ReadError, Reader};
pub use step::{CoverTerm, CutTerm, Intercept, Slack, Step};
pub use writer::Writer;

pub use secateur_model::Domain;

/// The first line of every certificate of version 1.
pub const MAGIC: &[u8] = b"secateur certificate 1\n";

/// The first line of every certificate of version 2, which has claims that version 1 cannot hold.
pub const MAGIC_2: &[u8] = b"secateur certificate 2\n";

fn magic(version: u32) -> &'static [u8] {
    if version == 1 { MAGIC } else { MAGIC_2 }
}

/// The largest number of entries of a list in a step.
pub const LONGEST_LIST: u64 = 1 << 20;

/// The largest number of bytes of a multiplier of a cut.
pub const LONGEST_NUMBER: u64 = 1 << 12;

/// The example of the README, as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
