//! Certificates: what a proof that two models decide alike is written down as.
//!
//! A certificate is a line of text that names the format, and a compressed stream: the [`Claim`] with the
//! [`Digest`]s of both models, then [`Step`]s up to an explicit end. [`Writer`] and [`Reader`] stream: neither
//! holds more than one step. Nothing here judges a step; that is the checker's work. The format is specified in
//! `docs/spec/certificate-v1.md`, which is normative.

mod claim;
mod digest;
mod encode;
mod explain;
mod reader;
mod step;
mod writer;

pub use claim::{BandClaim, Claim};
pub use digest::{Digest, canonical};
pub use encode::encode;
pub use explain::{explain_claim, explain_step};
pub use reader::{ReadError, Reader};
pub use step::{CoverTerm, CutTerm, Intercept, Slack, Step};
pub use writer::Writer;

pub use secateur_model::Scope;

/// The first line of every certificate of this version.
pub const MAGIC: &[u8] = b"secateur certificate 1\n";

/// No list in a step has more entries.
pub const LONGEST_LIST: u64 = 1 << 20;

/// No multiplier of a cut has more bytes.
pub const LONGEST_NUMBER: u64 = 1 << 12;
