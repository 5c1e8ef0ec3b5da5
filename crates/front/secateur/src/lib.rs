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
//! - [`verify`]: do two models, of any supported formats, decide alike on every input? Or, for
//!   [`Question::Scores`]: how far can their scores be apart?
//! - [`ask`](mod@ask): what can one model do? The range of its scores, what changing a column does,
//!   whether a score ever falls, which classes it decides.
//! - [`diff`](diff::diff): what changed between two versions: rows of a table, the largest move of a
//!   score, and the lead that keeps a decision.
//! - [`check`]: does a certificate prove that two models decide alike?
//! - [`predict`], [`values`] and [`raw_scores`]: predictions with exactly the bits of the model's
//!   own library.
//! - [`pack`]: the same model, bit for bit, in a fraction of its bytes, for `secateur-runtime` to
//!   run fast.
//! - [`describe`]: the facts about a model: its trees, features, classes, accepted inputs and
//!   decision rule.
//! - [`propose`]: the inputs that the rows of a data set suggest can occur, as a [`DomainFile`] for
//!   [`prune`] and [`verify`].
//! - [`prune::unproved::prune_to_size`]: the paper's baselines, which change decisions;
//!   [`prune::unproved::prune_without_proof`]: the paper's pruner without its oracle, or with an oracle
//!   that visits only a few boxes.
//!
//! # Names
//! At the root stand the jobs and what every caller of them needs. A module for each job has the
//! rest: [`mod@prune`], [`mod@verify`], [`mod@check`], [`mod@pack`], [`mod@predict`],
//! [`mod@describe`]; [`domain`] has the inputs of a claim, [`model`] what a model is, and
//! [`workers`] the help of other machines. `public.txt` lists all names.
//!
//! # What is reported about a result
//! The command line and the Python package call these functions and print the words, JSON or HTML
//! page of [`PruneReport`] and [`VerifyReport`], so that every interface reports the same.
//!
//! # Where to read
//! `advise`, `prune`, `verify`, `ask`, `check`, `pack` (with `source` and `quantised`), `predict`,
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

pub mod advise;
pub mod ask;
mod budget;
pub mod check;
mod checkpoint;
pub mod demo;
pub mod describe;
pub mod diff;
pub mod domain;
mod error;
pub mod internal;
mod logistic;
pub mod model;
pub mod pack;
mod packed_size;
mod page;
mod places;
pub mod predict;
mod probabilities;
mod propose;
pub mod prune;
mod rows;
mod text;
pub mod verify;
pub mod workers;

pub use advise::{Advice, advise};
pub use budget::Budget;
pub use check::{Verdict, check};
pub use describe::{Description, describe};
pub use domain::{Domain, DomainFile, propose};
pub use error::Error;
pub use model::{Ensemble, ModelFile};
pub use pack::{Packing, pack};
pub use places::Places;
pub use predict::{predict, raw_scores, values};
pub use prune::{Claim, Effort, PruneOptions, PruneReport, Pruning, Watch, prune};
pub use secateur_oracle::Cancel;
pub use verify::{Band, Conclusion, Progress, Question, Verification, VerifyOptions, VerifyReport, verify};
