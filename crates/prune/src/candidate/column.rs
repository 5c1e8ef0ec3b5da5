//! The unknowns of pruning: columns of trees, each scaled by one weight, and the intercept.
//!
//! A candidate's sum of group g is `sum over columns of weight * column_g(x) + intercept_g`. Weights are
//! not negative; a column of weight zero is gone.

use std::collections::BTreeMap;

use secateur_model::{Ensemble, Output, TreeId};

use crate::candidate::fold::Folded;
use crate::candidate::plan::Editable;
use crate::config::{Config, Moves, Unit};
use crate::passes::smallest::whole_cost;

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

/// The unknowns: what one weight belongs to, and what it costs.
pub(crate) fn columns(model: &Ensemble, folded: &Folded, config: &Config) -> Vec<Column> {
    let unit = config.unit.unwrap_or(match config.moves {
        Moves::Leaves => Unit::Tree,
        Moves::Weights => Unit::Round,
    });
    // Each tree's index among the trees with the same output.
    let mut counts: BTreeMap<Option<u32>, usize> = BTreeMap::new();
    let rounds: Vec<usize> = model
        .trees()
        .iter()
        .map(|tree| {
            let output = match tree.output() {
                Output::Group(group) => Some(group.0),
                Output::All => None,
            };
            let count = counts.entry(output).or_default();
            *count += 1;
            *count - 1
        })
        .collect();
    let mut parts: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
    for (index, term) in folded.terms.iter().enumerate() {
        let key = match unit {
            Unit::Tree => (term.host.index(), 0),
            Unit::Round => {
                (rounds[term.host.index()], usize::from(model.tree(term.host).output() == Output::All))
            }
        };
        parts.entry(key).or_default().push(index);
    }
    let cost = |terms: &[usize]| whole_cost(folded, terms, config.objective) as f64;
    let parts: Vec<Vec<usize>> = parts.into_values().collect();
    let total: f64 = parts.iter().map(|terms| cost(terms)).sum();
    let mean = if parts.is_empty() { 1.0 } else { total / parts.len() as f64 };
    let column = |terms: Vec<usize>| {
        let mut trees: Vec<TreeId> =
            terms.iter().flat_map(|&term| folded.terms[term].sources.iter().copied()).collect();
        trees.sort();
        Column { cost: cost(&terms) / mean, terms, trees }
    };
    parts.into_iter().map(column).collect()
}

/// What may become of the intercept.
pub(crate) fn intercept<M: Editable>(file: &M, config: &Config) -> Intercept {
    let model = file.ensemble();
    match config.moves {
        // Scores have a scale: the file's intercept stays as it is.
        Moves::Weights if config.claim.within().is_some() => Intercept::None,
        Moves::Weights if model.intercepts().iter().all(|&value| value == 0.0) => Intercept::None,
        Moves::Weights => Intercept::Scaled,
        // One number can be a vote for either class; several are no vote.
        Moves::Leaves if file.votes_only() && model.group_count() > 1 => Intercept::None,
        Moves::Leaves => Intercept::Free,
    }
}
