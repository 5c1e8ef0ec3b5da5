//! The rules: what a step needs, what follows from it, and why.

pub(crate) mod boxes;
pub(crate) mod cells;
pub(crate) mod join;
pub(crate) mod meet;
