//! Pruning that asks less than a proof: on the user's rows alone, or with an oracle that may look at a few boxes only.
//!
//! The paper's algorithm takes turns between a pruner, which knows points, and an oracle, which finds points that the
//! pruner does not know. Without the oracle the pruner's model decides the rows as before, and other inputs as it
//! happens. With an oracle that gives up after some boxes, what it did not refute is taken. Both are quick, and neither
//! proves anything: what comes out is marked as unproved by its type, and is never a [`Pruned`](crate::Pruned).

use secateur_model::Ensemble;

use crate::candidate::fold::{Limits, fold, unfolded};
use crate::candidate::plan::{Editable, refused_tree};
use crate::config::{Claim, Config, Effort, Moves};
use crate::outcome::PruneError;
use crate::passes::eliminate::{drop_unused, influences};
use crate::passes::reweight::divided;
use crate::points::initial::add_points;
use crate::run::{columns, has_one_feature_each, intercept};
use crate::search::weight_program::{Rows, Weights};
use crate::search::{Engine, Settled, Why, Word, spent};
use crate::watch::{Pass, Watch};

/// Further programs after the first, each with costs divided by the last weights.
const ROUNDS: usize = 4;

/// How closely a candidate is looked at before it is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scrutiny {
    /// The rows that the user gave must be decided as before; no other input is looked at.
    Rows,
    /// The oracle may visit this many boxes for each question; a candidate that it does not refute in these is taken.
    Boxes(u64),
}

/// A model that nothing is proved of.
#[derive(Clone, Debug)]
pub struct Unchecked<M> {
    /// The model file.
    pub file: M,
    /// How often the oracle was asked; zero for [`Scrutiny::Rows`].
    pub oracle_calls: u64,
    /// How many inputs the pruner knew in the end.
    pub points: usize,
    /// The time or an interrupt ended the search; the model is the best by then, perhaps the original itself.
    pub cut_short: bool,
}

/// A smaller model that decides the rows as before and **other inputs perhaps not**: what is taken is what `scrutiny`
/// does not refute. `config` counts as in [`prune`](crate::prune), but the effort: [`Effort::Fast`] is one linear program
/// with a few rounds of other costs, every other effort also tries to do without each tree.
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
    loop {
        let stop = || spent(config);
        let folded = match config.moves {
            Moves::Leaves => fold(model, &limits, &stop),
            Moves::Weights => unfolded(model, &stop),
        };
        let Some(folded) = folded.filter(|_| !stop()) else { return Ok(unchanged()) };
        let columns = columns(model, &folded, config);
        let mut engine = Engine::new(file, model, &folded, columns, intercept(file, config), config, watch)?;
        let word = match scrutiny {
            Scrutiny::Rows => {
                for (index, row) in rows.chunks_exact(model.features().len().max(1)).enumerate() {
                    if index % 64 == 0 && engine.spent() {
                        return Ok(unchanged());
                    }
                    engine.points.add(row);
                }
                Word::Points
            }
            Scrutiny::Boxes(boxes) => {
                let mut rng = fastrand::Rng::with_seed(config.seed);
                let stumps = has_one_feature_each(&engine);
                add_points(&mut engine, rows, stumps, &mut rng);
                Word::Boxes(boxes)
            }
        };
        let weights = search(&mut engine, word);
        let found = |file: M| Unchecked {
            file,
            oracle_calls: engine.oracle_calls,
            points: engine.points.rows().len(),
            cut_short: engine.spent(),
        };
        let Some(weights) = weights else { return Ok(found(file.clone())) };
        match engine.write(weights) {
            Ok(written) => return Ok(found(written)),
            // What the format cannot hold stays as it is.
            Err(error) if refused_tree(&error).is_some_and(|tree| limits.frozen.insert(tree)) => continue,
            Err(error) => return Err(error.into()),
        }
    }
}

/// Few columns that nothing known refutes; `None` where not even the first program has an answer in time.
fn search<M: Editable>(engine: &mut Engine<'_, M>, word: Word) -> Option<Weights> {
    engine.begin(Pass::Reweight);
    let costs = engine.costs();
    let all = vec![true; costs.len()];
    let mut weights = taken(engine.settle_all(&mut engine.master(&costs, &all, Rows::Lead), word))?;
    for _ in 0..ROUNDS {
        let mut master = engine.master(&divided(&costs, &weights), &all, Rows::Lead);
        match taken(engine.settle(&mut master, word)) {
            Some(next) if next.support() < weights.support() => weights = next,
            _ => break,
        }
    }
    if engine.config.effort != Effort::Fast {
        eliminate(engine, &mut weights, word);
    }
    Some(weights)
}

/// Tries to do without each column, the least influential first.
fn eliminate<M: Editable>(engine: &mut Engine<'_, M>, weights: &mut Weights, word: Word) {
    engine.begin(Pass::Eliminate);
    let mut kept: Vec<bool> = weights.columns.iter().map(|&weight| weight > 0.0).collect();
    let mut master = engine.master(&divided(&engine.costs(), weights), &kept, Rows::Lead);
    let mut refused = vec![false; kept.len()];
    loop {
        let influences = influences(engine, weights);
        let next = (0..kept.len())
            .filter(|&column| kept[column] && !refused[column])
            .min_by(|&a, &b| influences[a].total_cmp(&influences[b]).then(a.cmp(&b)));
        let Some(column) = next else { return };
        let saved = master.save();
        master.drop_column(column);
        match engine.settle(&mut master, word) {
            Settled::Proved(found) | Settled::Holds(found) => {
                *weights = found;
                drop_unused(weights, &mut kept, &mut master);
            }
            Settled::Open(Why::Budget) => return,
            Settled::Infeasible | Settled::Open(Why::Hard) => {
                master.restore(saved);
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
