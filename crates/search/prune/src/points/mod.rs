//! The inputs that a run uses and where they come from: the user's rows, walks along the decision
//! boundary, and all cells of a space that is small enough.
//!
//! A point only says what a candidate must do at one input. Nothing is claimed from points alone;
//! the oracle judges every candidate on the whole space.

pub(crate) mod all_cells;
pub(crate) mod boundary_walks;
pub(crate) mod initial;
pub(crate) mod point;
pub(crate) mod profile;
