//! Shared by the tests of all crates: random ensembles of every kind, brute force, and fuzzing of
//! readers.

mod domains;
mod edited;
pub mod fuzz;
mod generate;
mod reference;

pub use domains::{domain, inputs_of, scored_domain};
pub use edited::edited;
pub use generate::{Shape, VALUES, ensemble, mutate, small_float};
pub use reference::{all_cells, every_row};
