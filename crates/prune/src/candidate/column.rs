//! The unknowns of pruning: columns of trees, each scaled by one weight, and the intercept.
//!
//! A candidate's sum of group g is `sum over columns of weight * column_g(x) + intercept_g`. Weights are
//! not negative; a column of weight zero is gone.

use secateur_model::TreeId;

/// Trees that share one weight. As a function it is the sum of what its trees add, in exact arithmetic.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// The terms of the folded model that it holds.
    pub terms: Vec<usize>,
    /// The original's trees behind them; constant trees are not here but in the intercept.
    pub trees: Vec<TreeId>,
    /// What keeping it costs: trees, leaves or bytes.
    pub cost: f64,
}

/// What may become of the intercept. As a lead it holds the threshold of the decision rule too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Intercept {
    /// There is none, and there will be none.
    None,
    /// The original's own, scaled by a weight that is not negative.
    Scaled,
    /// Any.
    Free,
}

impl From<Intercept> for secateur_certificate::Intercept {
    fn from(intercept: Intercept) -> Self {
        match intercept {
            Intercept::None => Self::None,
            Intercept::Scaled => Self::Scaled,
            Intercept::Free => Self::Free,
        }
    }
}
