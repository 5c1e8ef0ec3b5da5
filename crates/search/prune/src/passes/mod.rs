//! The passes of a run, one file each: the closed form for trees of one feature, weights by a
//! linear program, dropping one column at a time, and the smallest set of columns.

pub(crate) mod axis_sums;
pub(crate) mod class_changes;
pub(crate) mod eliminate;
pub(crate) mod minimum;
pub(crate) mod relevant;
pub(crate) mod reweight;
pub(crate) mod scores;
pub(crate) mod smallest;
pub(crate) mod stumps;
