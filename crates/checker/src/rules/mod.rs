//! The rules, one file each: what a step needs, what follows from it, and why.

pub(crate) mod cells;
pub(crate) mod close;
pub(crate) mod cover;
pub(crate) mod crossing;
pub(crate) mod cut;
pub(crate) mod join;
pub(crate) mod meet;
pub(crate) mod narrow;
pub(crate) mod split;
