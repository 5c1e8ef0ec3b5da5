//! Solvers of linear programs against each other; one binary, so that the tests are linked once.

mod back_ends;
mod growing;
mod multipliers;
