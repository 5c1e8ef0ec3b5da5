//! The rules: what a step needs, what follows from it, and why.

use std::ops::{Add, Sub};

pub(crate) mod boxes;
pub(crate) mod cells;
pub(crate) mod join;
pub(crate) mod meet;

/// The sums of two pairs, each by each.
fn plus<T: Add<Output = T>>(a: (T, T), b: (T, T)) -> (T, T) {
    (a.0 + b.0, a.1 + b.1)
}

/// The differences of two pairs, each by each.
fn minus<T: Sub<Output = T>>(a: (T, T), b: (T, T)) -> (T, T) {
    (a.0 - b.0, a.1 - b.1)
}
