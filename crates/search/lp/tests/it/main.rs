//! Solvers of linear programs against microlp; one binary, so that the tests are linked once.

mod growing;
mod multipliers;
mod reference;
