//! Runs packed tree ensembles: `.spk` files. The scores have exactly the bits of the library that
//! the model came from.
//!
//! ```no_run
//! use secateur_runtime::{Model, Rows};
//!
//! let model = Model::load(&std::fs::read("model.spk")?)?;
//! let row = vec![0.0f32; model.features()];
//! let mut scores = vec![0.0; model.outputs()];
//! model.raw_scores(Rows::row_major(&row, model.features())?, &mut scores)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A packed file is untrusted: [`Model::load`] checks every index, count and number once, and no
//! later code can read outside of its tables. The crate has no dependencies. Without the feature
//! `std` it needs only an allocator: all layouts are made when a model is loaded, and there are no
//! threads. Probabilities and decisions that need the exponential function are then available only
//! with the feature `libm`, which calls the C library's.
//!
//! The format is specified in `docs/spec/packed-v1.md`.
//!
//! # Where to read
//! `model` is the entry. `file` reads and checks a packed file (with `bytes`), `meaning` says what
//! its scores become, and `plan` makes the tables that are fast: thresholds become ranks, trees
//! become nodes. `rows` and `sparse` are a caller's table; `cover` makes rows that reach everything, for the
//! self-test.
//!
//! `batch` chooses the way to compute and shares rows among threads: `scalar` (no special
//! instructions), `single` (one row through 64 trees at once), `sliced` (trees as masks, for many
//! rows), `large` (rows side by side through large trees). `kernel` evaluates 512 rows at a time,
//! which `read` turns into columns, ranks and masks; each instruction set brings a few operations
//! for it, and everything else is compiled once.
//! `path` names the instruction sets, `portable`, `x86` and `arm` (SSE4.2, AVX2, AVX-512 and NEON)
//! have them; these and `exponential`, which may call C, hold the only unsafe code. `decide` turns
//! scores into classes, `contributions` says what each column contributes to them.

#![cfg_attr(not(feature = "std"), no_std)]

extern crate alloc;

#[cfg(target_arch = "aarch64")]
mod arm;
mod batch;
mod bytes;
mod contributions;
mod cover;
mod decide;
mod error;
mod exponential;
mod file;
mod kernel;
mod large;
mod meaning;
mod model;
mod path;
mod plan;
mod portable;
mod read;
mod rows;
mod scalar;
#[cfg(target_arch = "x86_64")]
mod single;
mod sliced;
#[cfg(feature = "std")]
mod sparse;
#[cfg(all(test, feature = "std"))]
mod tests;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod vectors;
#[cfg(target_arch = "x86_64")]
mod x86;

pub use contributions::Contributions;
pub use cover::{AIMED, hash_of_scores};
pub use error::{LoadError, PredictError};
pub use file::MAGIC;
pub use meaning::{Decision, Labels, Link, Number, Value};
pub use model::{Model, SelfTest};
pub use path::Path;
pub use rows::{Float, Rows};
#[cfg(feature = "std")]
pub use sparse::SparseRows;

/// The content of a packed file, as this crate reads it before it runs it. It is public for
/// `secateur-formats`, so that a check of a packed file is about what is run; it is not a stable
/// interface.
pub mod internal {
    pub use crate::file::{
        Category, Column, Domain, File, Kind, LEAF, Label, Rule, Sums, Tests, Tree, read_placed,
    };
}

/// The checksum at the end of a packed file, for programs that write such files.
pub fn checksum(content: &[u8]) -> u64 {
    bytes::Checksum::of(content)
}

/// The example of the README, as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
