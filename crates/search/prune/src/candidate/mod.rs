//! From a model to a smaller one: folding its trees, the columns that get weights, and the edit of
//! the file that carries out a choice of weights.

pub(crate) mod any_model;
pub(crate) mod column;
pub(crate) mod fold;
pub(crate) mod plan;
pub(crate) mod reach;
