//! From a model to a smaller one: its trees folded, the columns that get weights, and the edit of the file
//! that a choice of weights stands for.

pub(crate) mod column;
pub(crate) mod fold;
pub(crate) mod plan;
pub(crate) mod reach;
