//! What the tests of all crates share: random ensembles of every kind, and brute force.

mod generate;
mod reference;

pub use generate::{Shape, ensemble, mutate, small_float};
pub use reference::{all_cells, every_row};
