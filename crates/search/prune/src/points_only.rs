//! Pruning without a proof: checked on the user's rows alone, or by an oracle that may visit only a
//! few boxes.
//!
//! The paper's algorithm takes turns between a pruner, which knows points, and an oracle, which
//! finds points that the pruner does not know. Without the oracle, the pruner's model decides the
//! rows as before; on other inputs it may decide differently. With an oracle that gives up after
//! some boxes, a model that it did not refute by then is accepted. Both are fast, and neither
//! proves anything: the type of the result says that it is unproved, and it is never a
//! [`Pruned`](crate::Pruned).

use std::time::{Duration, Instant};

use secateur_formats::EditError;
use secateur_model::Ensemble;
use secateur_oracle::Claim;

use crate::candidate::column::{columns, intercept};
use crate::candidate::fold::{Limits, fold_for};
use crate::candidate::plan::{Editable, refused_tree};
use crate::clock::Time;
use crate::config::{Config, Effort};
use crate::outcome::PruneError;
use crate::passes::eliminate::{drop_unused, influences};
use crate::passes::reweight::divided;
use crate::points::initial::add_points;
use crate::run::has_one_feature_each;
use crate::search::weight_program::{Rows, Weights};
use crate::search::{Judge, Search, Settled, Why, is_spent};
use crate::watch::{Pass, Watch};

/// Further programs after the first; each divides the costs by the last weights.
const ROUNDS: usize = 4;

/// How closely a candidate is checked before it is accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scrutiny {
    /// It must decide the user's rows as before; no other input is checked.
    Rows,
    /// The oracle may visit this many boxes for each question; a candidate that it does not refute
    /// in these is accepted.
    Boxes(u64),
}

/// A model of which nothing is proved.
#[derive(Clone, Debug)]
pub struct Unchecked<M> {
    /// The model file.
    pub file: M,
    /// How often the oracle was asked; zero for [`Scrutiny::Rows`].
    pub oracle_calls: u64,
    /// How many inputs the pruner knew at the end.
    pub points: usize,
    /// The search was ended by time or cancelled. The model is the best found by then, perhaps the
    /// original.
    pub cut_short: bool,
}

/// A smaller model that decides the rows as before and **other inputs perhaps differently**: a
/// candidate is accepted if `scrutiny` does not refute it. `config` has the same meaning as in
/// [`prune`](crate::prune), except for the effort: [`Effort::Fast`] solves one linear program and a
/// few more with other costs; every other effort also tries to drop each column.
pub fn prune_unchecked<M: Editable>(
    file: &M,
    rows: &[f64],
    config: &Config,
    scrutiny: Scrutiny,
    watch: &Watch,
) -> Result<Unchecked<M>, PruneError> {
    if !file.ensemble().decision().is_classifier() || !matches!(config.claim, Claim::Decisions { .. }) {
        return Err(PruneError::NoClasses);
    }
    let model = file.ensemble().within(&config.domain)?;
    let model: &Ensemble = model.as_ref();
    let unchanged = || Unchecked { file: file.clone(), oracle_calls: 0, points: 0, cut_short: true };
    let mut limits = Limits { votes: file.votes_only(), ..Limits::default() };
    let time = Time::between(Instant::now(), config.deadline, false);
    loop {
        let stop = || is_spent(config, time.deadline(Duration::ZERO));
        let Some(folded) = fold_for(config.moves, model, &limits, &stop) else { return Ok(unchanged()) };
        let columns = columns(model, &folded, config);
        let intercept = intercept(file, config);
        let mut search = Search::new(file, model, &folded, columns, intercept, config, time, watch)?;
        let judge = match scrutiny {
            Scrutiny::Rows => {
                for (index, row) in rows.chunks_exact(model.features().len().max(1)).enumerate() {
                    if index % 64 == 0 && search.spent() {
                        return Ok(unchanged());
                    }
                    search.points.add(row);
                }
                Judge::Points
            }
            Scrutiny::Boxes(boxes) => {
                let mut rng = fastrand::Rng::with_seed(config.seed);
                let stumps = has_one_feature_each(&search);
                add_points(&mut search, rows, stumps, &mut rng);
                Judge::Boxes(boxes)
            }
        };
        let weights = find(&mut search, judge);
        let found = |file: M| Unchecked {
            file,
            oracle_calls: search.oracle_calls,
            points: search.points.rows().len(),
            cut_short: search.spent(),
        };
        // If no program was solved in time, the folded model is the answer; it keeps every score.
        let written = match weights {
            Some(weights) => search.write(weights),
            None => search.write_folded(),
        };
        match written {
            Ok(written) => return Ok(found(written)),
            // A tree that the format cannot rewrite keeps its form, and folding starts again.
            Err(error) if refused_tree(&error).is_some_and(|tree| limits.frozen.insert(tree)) => continue,
            // If the result cannot be written at all, the original is the answer.
            Err(EditError::NoTrees { .. } | EditError::NoIntercept { .. }) => return Ok(found(file.clone())),
            Err(error) => return Err(error.into()),
        }
    }
}

/// Weights of few columns that nothing known refutes; `None` if not even the first program is
/// solved in time.
fn find<M: Editable>(search: &mut Search<'_, M>, judge: Judge) -> Option<Weights> {
    search.begin(Pass::Reweight);
    let costs = search.costs();
    let all = vec![true; costs.len()];
    let mut weights = taken(search.settle_all(&mut search.program(&costs, &all, Rows::Lead), judge))?;
    for _ in 0..ROUNDS {
        let mut program = search.program(&divided(&costs, &weights), &all, Rows::Lead);
        match taken(search.settle(&mut program, judge)) {
            Some(next) if next.support() < weights.support() => weights = next,
            _ => break,
        }
    }
    if search.problem.config.effort != Effort::Fast {
        eliminate(search, &mut weights, judge);
    }
    Some(weights)
}

/// Tries to drop each column, the least influential first.
fn eliminate<M: Editable>(search: &mut Search<'_, M>, weights: &mut Weights, judge: Judge) {
    search.begin(Pass::Eliminate);
    let mut kept: Vec<bool> = weights.columns.iter().map(|&weight| weight > 0.0).collect();
    let mut program = search.program(&divided(&search.costs(), weights), &kept, Rows::Lead);
    let mut refused = vec![false; kept.len()];
    loop {
        let influences = influences(search, weights);
        let next = (0..kept.len())
            .filter(|&column| kept[column] && !refused[column])
            .min_by(|&a, &b| influences[a].total_cmp(&influences[b]).then(a.cmp(&b)));
        let Some(column) = next else { return };
        let saved = program.save();
        program.drop_column(column);
        match search.settle(&mut program, judge) {
            Settled::Proved(found) | Settled::Holds(found) => {
                *weights = found;
                drop_unused(weights, &mut kept, &mut program);
            }
            Settled::Open(Why::SearchBudget) => return,
            Settled::Infeasible | Settled::Open(Why::Hard) => {
                program.restore(saved);
                refused[column] = true;
            }
        }
    }
}

fn taken(settled: Settled) -> Option<Weights> {
    match settled {
        Settled::Proved(weights) | Settled::Holds(weights) => Some(weights),
        Settled::Infeasible | Settled::Open(_) => None,
    }
}
