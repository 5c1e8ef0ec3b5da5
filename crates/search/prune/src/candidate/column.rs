//! The unknowns of pruning: the weights of columns of trees, and the intercept.
//!
//! A candidate's sum of group g is `sum over columns of weight * column_g(x) + intercept_g`.
//! Weights are at least zero; a column of weight zero is dropped.

use std::collections::BTreeMap;

use secateur_model::{Ensemble, Output, TreeId};

use crate::candidate::fold::Folded;
use crate::candidate::plan::Editable;
use crate::config::{Config, Moves, Unit};
use crate::passes::smallest::whole_cost;

/// Trees that share one weight. As a function, a column is the sum of what its trees add, in exact
/// arithmetic.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// The terms of the folded model that it consists of.
    pub terms: Vec<usize>,
    /// The original's trees that these terms come from. Constant trees are in no column but in the
    /// intercept.
    pub trees: Vec<TreeId>,
    /// What keeping it costs, divided by the mean over all columns: trees, leaves or, for bytes,
    /// the nodes of its trees plus a frame for each tree.
    pub cost: f64,
}

/// What may become of the intercept. In a lead, the threshold of the decision rule counts as part
/// of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Intercept {
    /// There is no intercept, and none may be added.
    None,
    /// The original's own, multiplied by a weight of at least zero.
    Scaled,
    /// Any value.
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

/// The columns of a folded model, each with its cost.
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

/// What the configuration and the format allow for the intercept.
pub(crate) fn intercept<M: Editable>(file: &M, config: &Config) -> Intercept {
    let model = file.ensemble();
    match config.moves {
        // Scores have a scale, so the file's intercept stays as it is and is not an unknown.
        Moves::Weights if config.claim.within().is_some() => Intercept::None,
        Moves::Weights if model.intercepts().iter().all(|&value| value == 0.0) => Intercept::None,
        Moves::Weights => Intercept::Scaled,
        // A constant of one number can be written as a vote for either class; a constant of several
        // numbers cannot.
        Moves::Leaves if file.votes_only() && model.group_count() > 1 => Intercept::None,
        Moves::Leaves => Intercept::Free,
    }
}
