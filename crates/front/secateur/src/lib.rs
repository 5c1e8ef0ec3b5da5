//! Make tree ensembles faster or smaller, and prove that they still decide the same: XGBoost,
//! LightGBM, CatBoost, scikit-learn and ONNX models.
//!
//! [`pack`] gives the same model, bit for bit, small and fast. [`prune`] removes trees and keeps
//! every decision. [`verify`] says whether two models are the same. [`advise`] measures which of
//! them helps a model.
//!
//! [`prune`] does everything in one call within one [`Budget`]. It searches for a smaller model,
//! writes it in the format of the original, reads it back, proves that the model it read decides as
//! the original does, writes that proof to a certificate, and has an independent checker verify the
//! certificate. [`Pruning::checked`] says whether the checker accepted it.
//!
//! ```
//! use std::time::Duration;
//!
//! use secateur::{Budget, ModelFile, PruneOptions, Verdict, Watch, check, demo, prune};
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     // One minute for everything: reading, pruning, the certificate and its check.
//!     let budget = Budget::limit(Duration::from_secs(60));
//!     // A model of your own: ModelFile::read("model.json".as_ref())?
//!     let original = ModelFile::parse(demo::MODEL)?;
//!
//!     // Rows of data may help the search; the claim is about every input with or without them.
//!     let pruning = prune(&original, &[], &PruneOptions::default(), &budget, &Watch::default())?;
//!     let [before, after] = pruning.pruned.size;
//!     println!("{} -> {} trees", before.trees, after.trees);
//!     assert!(pruning.checked() && after.trees < before.trees);
//!
//!     // These bytes are a file that LightGBM loads as any other.
//!     let bytes = pruning.bytes.ok_or("it came from a file")?;
//!     let certificate = pruning.certificate.ok_or("the time was too short")?;
//!
//!     // Somebody who receives the two files and the certificate need not trust the search.
//!     let smaller = ModelFile::parse(&bytes)?;
//!     let verdict = check(&original, &smaller, certificate.bytes.as_slice())?;
//!     assert!(matches!(verdict, Verdict::Valid(_)));
//!     Ok(())
//! }
//! ```
//!
//! # The other calls
//! - [`advise`]: which of packing and pruning helps this model, and by how much, measured.
//! - [`verify`]: do two models, of any supported formats, decide alike on every input?
//! - [`verify_scores`]: how far can the scores of two models be apart, on every input?
//! - [`check`]: does a certificate prove that two models decide alike?
//! - [`predict`], [`values`] and [`raw_scores`]: predictions with exactly the bits of the model's
//!   own library.
//! - [`pack`]: the same model, bit for bit, in a fraction of its bytes, for `secateur-runtime` to
//!   run fast.
//! - [`describe`]: the facts about a model: its trees, features, classes, accepted inputs and
//!   decision rule.
//! - [`propose`]: the inputs that the rows of a data set suggest can occur, as a [`DomainFile`] for
//!   [`prune`] and [`verify`].
//! - [`unproved::prune_to_size`]: the paper's baselines, which change decisions;
//!   [`unproved::prune_without_proof`]: the paper's pruner without its oracle, or with an oracle
//!   that visits only a few boxes.
//!
//! # What is reported about a result
//! The command line and the Python package call these functions and print the words, JSON or HTML
//! page of [`PruneReport`] and [`VerifyReport`], so that every interface reports the same.
//!
//! # Where to read
//! `advise`, `prune`, `verify`, `check`, `pack` (with `pack_source` and `pack_quantised`), `predict`,
//! `describe` and `propose` are one job each; in `prune` and `verify`, `words` says what is told of
//! a result. `budget` is the limit of a whole call, `checkpoint` keeps a search in a file, `domain`
//! has words and rows of a domain, `packed_size` measures a packed model, `page` turns results into
//! the data of an HTML page, and `prune/unproved` has the paper's baselines. `internal` is for the
//! interfaces of this workspace and promises nothing.
//!
//! # Other crates
//! This crate assembles the parts, which are `secateur-model` (what an ensemble computes),
//! `secateur-formats` (files), `secateur-certificate` and `secateur-checker` (what a proof is),
//! `secateur-oracle` and `secateur-prune` (the search). It re-exports what callers need of them.

mod advise;
mod budget;
mod check;
mod checkpoint;
pub mod demo;
mod describe;
mod domain;
mod error;
pub mod internal;
mod logistic;
mod pack;
mod pack_quantised;
mod pack_source;
mod packed_size;
mod page;
mod places;
mod predict;
mod probabilities;
mod propose;
mod prune;
mod text;
mod verify;

pub use advise::{Advice, Door, Trial, advise};
pub use budget::Budget;
pub use check::{check, check_scored, check_until};
pub use describe::{Description, describe, describe_within};
pub use domain::{OutsideRows, resolve_domain, resolve_domain_with};
pub use error::Error;
pub use logistic::probabilities;
pub use pack::{
    Packing, PackingCheck, PackingError, check_packing, check_packing_covering, malformed_packing, pack,
    pack_pruned, pack_watched, pack_with_covers,
};
pub use pack_quantised::{LeafOptions, QuantisedPacking, pack_quantised};
pub use pack_source::{
    Beside, SourceOptions, SourcePacking, beside, check_source, pack_source, pack_source_pruned,
};
pub use packed_size::{PackedSize, PackedSpeed};
pub use places::Places;
pub use predict::{Scorer, predict, raw_scores, values};
pub use probabilities::Probabilities;
pub use propose::{Proposal, propose};
pub use prune::{
    MOST_ROWS, ProbabilityShift, PruneOptions, PruneReport, Pruning, ScoreRows, Seconds, Way, accepted_rows,
    keep_scores, offers, prune, trial_words, unproved,
};
pub use verify::{
    ScoreOptions, ScoreOutcome, ScoreReport, ScoreVerification, Verification, VerifyOptions, VerifyReport,
    verify, verify_scores,
};

pub use secateur_certificate::ReadError as CertificateError;
pub use secateur_certificate::{Digest, PACKING_MAGIC};
pub use secateur_checker::{Proved, Reason, Verdict};
pub use secateur_emit::{Form as SourceForm, LeafBits, NodeLayout as SourceLayout};
pub use secateur_formats::catboost::category_hash;
pub use secateur_formats::{DomainFile, DomainFileError, EditError, FormatError, ModelFile, ReadError};
pub use secateur_model::{Accepted, ClassId, ClassLabels, Domain, Ensemble, FeatureId, Intake, PredictError};
pub use secateur_oracle::Verdict as Answer;
pub use secateur_oracle::{
    Band, Cancel, CompareError, Counterexample, Crew, JobError, Progress, Reply, ScorePoint, StopReason,
    Undecided, Workers, WorkersGone, work,
};
pub use secateur_prune::{
    Certificate, CertifyError, Choice, Claim, Effort, Fate, LinearSolver, Moves, Objective, Outcome, Pass,
    PruneError, Pruned, RowsSeen, Size, Status, Unit, Watch,
};
pub use secateur_source::{PackingProved, PackingReason, PackingVerdict, verdict_json};
