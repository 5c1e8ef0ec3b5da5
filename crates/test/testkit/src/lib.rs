//! Shared by the tests of all crates: random ensembles of every kind, brute force, fuzzing of
//! readers, and the files in `testdata`.
//!
//! # Where to read
//! `generate` makes random ensembles, `domains` random domains, `reference` decides by brute force,
//! `edited` edits models that have no file, and `fuzz` has the targets and what must hold for every
//! input.

mod command;
mod domains;
#[cfg(feature = "edits")]
mod edited;
mod files;
#[cfg(feature = "fuzz")]
pub mod fuzz;
mod generate;
mod reference;
mod share;

pub use command::{Limited, end_of};
pub use domains::{domain, inputs_of, scored_domain};
#[cfg(feature = "edits")]
pub use edited::edited;
pub use files::{all_of, bits, committed, doubles, testdata, words};
pub use generate::{Shape, VALUES, ensemble, mutate, small_float};
pub use reference::{all_cells, every_row, leads_by_more_than};
pub use share::{is_whole, one_in, share};
