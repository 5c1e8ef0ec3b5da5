//! The rules: for each step what it needs, what follows from it, and why.

use std::ops::{Add, Sub};

pub(crate) mod boxes;
pub(crate) mod cells;
pub(crate) mod join;
pub(crate) mod meet;

/// The sums of two pairs, component by component.
fn plus<T: Add<Output = T>>(a: (T, T), b: (T, T)) -> (T, T) {
    (a.0 + b.0, a.1 + b.1)
}

/// The differences of two pairs, component by component.
fn minus<T: Sub<Output = T>>(a: (T, T), b: (T, T)) -> (T, T) {
    (a.0 - b.0, a.1 - b.1)
}
