//! One run, from start to end: the passes in their order, each within the budget.

use std::time::{Duration, Instant};

use secateur_formats::{EditError, TreeEdit};
use secateur_model::{Ensemble, Exact, TreeId};
use secateur_oracle::Claim;

use crate::bounds::cut::{ColumnCut, Cutter};
use crate::bounds::evidence::Evidence;
use crate::bounds::indispensable::{ask_each, indispensable};
use crate::bounds::known::{
    Known, cover_bound, evidence, lower_bound, with_opposite_corners, without_constant,
};
use crate::candidate::column::{Column, Intercept, columns, intercept};
use crate::candidate::fold::{Limits, fold_for};
use crate::candidate::plan::{Constants, Editable, Plan, refused_tree};
use crate::config::{Config, Effort, Objective};
use crate::outcome::{Fate, Outcome, PruneError, Pruned, Seconds};
use crate::passes::class_changes::class_changes;
use crate::passes::eliminate::eliminate;
use crate::passes::relevant::relevant_boundaries;
use crate::passes::reweight::{reweight, reweight_again};
use crate::passes::scores;
use crate::passes::smallest::smallest;
use crate::passes::stumps::{Closed, closed_form};
use crate::points::initial::add_points;
use crate::points::point::Points;
use crate::search::weight_program::Weights;
use crate::search::{Search, claimed_band, size_of, spent};
use crate::watch::{Pass, Watch};

/// How many further eliminations follow where they are cheap: AGAIN divided by the number of
/// leaves, but at least LEAST_AGAIN and at most MOST_AGAIN.
const AGAIN: usize = 24_000;
const LEAST_AGAIN: usize = 6;
const MOST_AGAIN: usize = 100;
/// Attempts allowed per requested restart.
const ATTEMPTS: usize = 3;
/// Covers that are tried for models of one feature per column.
const STUMP_ROUNDS: usize = 30;
/// The most rows that a search for pairs of inputs starts from.
const STARTS: usize = 200;
/// A space of more than 10^LARGE cells counts as large.
const LARGE: f64 = 4.5;

/// Runs all passes. With rows, a fast run that does not end with a proved minimum is repeated as if
/// there were no rows, and the smaller model is the answer: a linear program ends at an arbitrary
/// vertex of what its points allow, so rows can lead it to a larger model, and no later pass makes
/// up for that.
pub(crate) fn run<M: Editable>(
    file: &M,
    data: &[f64],
    config: &Config,
    watch: &Watch,
) -> Result<Pruned<M>, PruneError> {
    let with = run_once(file, data, config, watch)?;
    let done = with.lower_bound >= with.size[1].trees || spent(config);
    if config.effort != Effort::Fast || data.is_empty() || done {
        return Ok(with);
    }
    let without = run_once(file, &[], config, watch)?;
    Ok(smaller(with, without, config.objective))
}

/// The smaller of two results about one model, with the work of both added up. Each result keeps
/// its own lower bound, because the bound rests on that result's evidence; of two models of the
/// same size the one with the better bound is taken.
fn smaller<M: Editable>(first: Pruned<M>, second: Pruned<M>, objective: Objective) -> Pruned<M> {
    let rank = |pruned: &Pruned<M>| {
        let [trees, leaves] = [pruned.size[1].trees as u64, pruned.size[1].leaves as u64];
        let size = match objective {
            Objective::Trees => [trees, leaves],
            Objective::Leaves => [leaves, trees],
            Objective::Bytes => [pruned.file.bytes().unwrap_or(0), trees],
        };
        (size, std::cmp::Reverse(pruned.lower_bound))
    };
    let oracle_calls = first.oracle_calls + second.oracle_calls;
    let [one, two] = [first.seconds, second.seconds];
    let seconds = Seconds { fold: one.fold + two.fold, lp: one.lp + two.lp, oracle: one.oracle + two.oracle };
    let points = first.points.max(second.points);
    let best = if rank(&second) < rank(&first) { second } else { first };
    Pruned { oracle_calls, seconds, points, ..best }
}

fn run_once<M: Editable>(
    file: &M,
    data: &[f64],
    config: &Config,
    watch: &Watch,
) -> Result<Pruned<M>, PruneError> {
    match config.claim {
        Claim::Decisions { .. } if !file.ensemble().decision().is_classifier() => {
            return Err(PruneError::NoClasses);
        }
        Claim::Decisions { .. } => {}
        Claim::Scores { within } => scores::refuse(file.ensemble(), within, config.effort)?,
    }
    // All passes use the model restricted to the domain. Candidates are read back without that
    // restriction; the oracle compares the two models on inputs that both accept.
    let model = file.ensemble().within(&config.domain)?;
    let model = model.as_ref();
    let started = Instant::now();
    watch.update(|status| {
        status.pass = Pass::Fold;
        status.best = Some(model.trees().len());
    });
    let mut limits = Limits { votes: file.votes_only(), ..Limits::default() };
    loop {
        let Some(folded) = fold_for(config.moves, model, &limits, &|| spent(config)) else {
            return unchanged(file, model, config);
        };
        let columns = columns(model, &folded, config);
        let mut search = Search::new(file, model, &folded, columns, intercept(file, config), config, watch)?;
        search.seconds.fold = started.elapsed().as_secs_f64();
        let mut known = Known::default();
        let mut cutter = Cutter::new(search.problem.model, search.intercept);
        let mut rng = fastrand::Rng::with_seed(config.seed);
        // The closed form needs neither points nor a folded model that is proved.
        if !search.keeps_scores() && in_closed_form(&mut search, data, &mut cutter, &mut known, &mut rng) {
            return Ok(finish(search, known));
        }
        search.begin(Pass::Fold);
        match search.judge_folded() {
            Ok(()) => {}
            // A tree that the format cannot rewrite keeps its form, and folding starts again.
            Err(error) if refused_tree(&error).is_some_and(|tree| limits.frozen.insert(tree)) => continue,
            // If the folded model cannot be written at all, the original stays the best.
            Err(EditError::NoTrees { .. } | EditError::NoIntercept { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        if search.keeps_scores() {
            known.irreducible = scores::passes(&mut search, data, &mut rng);
            return Ok(finish(search, known));
        }
        return Ok(passes(search, data, cutter, known, rng));
    }
}

/// The answer where the time was over before anything was known: the model as it is, which needs no
/// proof.
fn unchanged<M: Editable>(file: &M, model: &Ensemble, config: &Config) -> Result<Pruned<M>, PruneError> {
    let band = match config.claim {
        Claim::Decisions { band } => claimed_band(model, band)?,
        Claim::Scores { .. } => None,
    };
    // There are no columns yet, so each tree is one.
    let column = |tree| Column { terms: Vec::new(), trees: vec![TreeId::new(tree)], cost: 1.0 };
    let points = Points::new(model, band, (0..model.trees().len()).map(column).collect());
    let size = size_of(model);
    Ok(Pruned {
        file: file.clone(),
        outcome: Outcome::BudgetReached,
        size: [size, size],
        lower_bound: 0,
        irreducible: false,
        cut_short: false,
        band: band.unwrap_or(0.0),
        within: config.claim.within(),
        domain: model.domain().clone(),
        oracle_calls: 0,
        points: 0,
        seconds: Seconds::default(),
        fates: vec![Fate::Kept; model.trees().len()],
        evidence: Evidence::new(&points, intercept(file, config)),
        relevant: None,
    })
}

fn passes<M: Editable>(
    mut search: Search<'_, M>,
    data: &[f64],
    mut cutter: Cutter,
    mut known: Known,
    mut rng: fastrand::Rng,
) -> Pruned<M> {
    let thorough = search.problem.config.effort != Effort::Fast;
    let one_feature_each = has_one_feature_each(&search);
    // A fast run with rows is repeated without them, and so is what it does as a part of this run.
    let without_rows = (thorough && !data.is_empty()).then(|| (search.clone(), rng.clone()));
    add_points(&mut search, data, one_feature_each, &mut rng);
    if known.relevant.is_some() {
        without_constant(&mut search, &mut known);
        if lower_bound(&search, &known) >= search.best.size.trees || search.spent() {
            return finish(search, known);
        }
    }
    if one_feature_each {
        smallest_of_stumps(&mut search, data, &mut cutter, &mut known, &mut rng);
        if lower_bound(&search, &known) >= search.best.size.trees || search.spent() {
            return finish(search, known);
        }
    }
    // In a large space few columns can be dropped and proofs are expensive, so the bound, which
    // needs no proof by the oracle, comes first.
    let large = search.log10_cells() > LARGE;
    if !thorough {
        fast(&mut search, &mut known);
    } else if large {
        let copy = search.clone();
        bound(&mut search, &mut cutter, &mut known, &mut rng);
        if lower_bound(&search, &known) >= search.best.size.trees {
            return finish(search, known);
        }
        if !as_fast(&mut search, copy) {
            reweight(&mut search);
        }
    } else {
        reweight(&mut search);
    }
    if thorough {
        if let Some((mut copy, mut rng)) = without_rows
            && lower_bound(&search, &known) < search.best.size.trees
            && !search.spent()
        {
            add_points(&mut copy, &[], one_feature_each, &mut rng);
            as_fast(&mut search, copy);
        }
        eliminate_again(&mut search, &mut known, &mut rng);
        // Where most columns are left, perhaps all of them are needed.
        let most = search.points.columns().len() * 4 / 5;
        let left = search.best_weights.as_ref().map_or(usize::MAX, Weights::support);
        match known.relevant {
            None if left >= most => bound(&mut search, &mut cutter, &mut known, &mut rng),
            Some(_) if left >= most => bound_again(&mut search, &mut cutter, &mut known),
            _ => {}
        }
    }
    if thorough && known.relevant.is_none() && !search.spent() {
        pair_cuts(&mut search, &mut cutter, &mut known, &mut rng);
    }
    if search.problem.config.effort == Effort::Minimum {
        let budget = search.budget();
        smallest(&mut search, &mut cutter, &mut known, None, &budget);
    }
    finish(search, known)
}

/// What a fast run does with its points. True if it proved some weights.
fn fast<M: Editable>(search: &mut Search<'_, M>, known: &mut Known) -> bool {
    let proved = reweight(search);
    if search.sees_all()
        && let Some(weights) = search.best_weights.clone()
    {
        // A linear program ends at an arbitrary vertex, so some of its columns may not be needed.
        // Where every cell can be checked, an attempt to drop one costs little.
        let indispensable = known.indispensable(search.points.columns().len());
        known.irreducible = eliminate(search, &weights, &indispensable, None).irreducible;
    }
    proved
}

/// Does what a fast run does, in a copy of the search that was made where a fast run continues. The
/// points that a longer run has found by then would lead the linear program to another vertex,
/// which may need more columns; so a longer run takes what a fast one finds, and is never larger.
fn as_fast<'a, M: Editable>(search: &mut Search<'a, M>, mut copy: Search<'a, M>) -> bool {
    copy.allowance = search.allowance;
    let before = (copy.oracle_calls, copy.seconds);
    let proved = fast(&mut copy, &mut Known::default());
    search.adopt(copy, before);
    proved
}

/// Eliminates. Where every cell can be checked, so that attempts are cheap, it repeats this a few
/// times from other starts and in other orders, for at most half of the time that is left.
fn eliminate_again<M: Editable>(search: &mut Search<'_, M>, known: &mut Known, rng: &mut fastrand::Rng) {
    let indispensable = known.indispensable(search.points.columns().len());
    let Some(weights) = search.best_weights.clone() else { return };
    let mut best = eliminate(search, &weights, &indispensable, None);
    let cheap = search.sees_all();
    let leaves: usize = search.problem.folded.terms.iter().map(|term| term.tree.leaf_count()).sum();
    let starts = if cheap { (AGAIN / leaves.max(1)).clamp(LEAST_AGAIN, MOST_AGAIN) } else { 0 };
    let half = search.budget().half();
    let mut longest = Duration::ZERO;
    let mut begun = 0;
    // Not every attempt finds weights to start from.
    for _ in 0..ATTEMPTS * starts {
        let started = Instant::now();
        // An elimination that the time limit would probably cut off is not begun.
        let late = half.deadline.is_some_and(|deadline| started + longest >= deadline);
        if begun == starts || late || search.spent() || lower_bound(search, known) >= search.best.size.trees {
            break;
        }
        let Some(weights) = reweight_again(search, &indispensable, rng) else { continue };
        begun += 1;
        let next = eliminate(search, &weights, &indispensable, Some(rng));
        if next.proved {
            best = next;
        }
        longest = longest.max(started.elapsed());
    }
    known.irreducible = best.irreducible;
}

/// Tries the closed form for models of one feature per tree; true if the run is finished.
fn in_closed_form<M: Editable>(
    search: &mut Search<'_, M>,
    data: &[f64],
    cutter: &mut Cutter,
    known: &mut Known,
    rng: &mut fastrand::Rng,
) -> bool {
    search.begin(Pass::RelevantSplits);
    let budget = search.budget();
    let columns = search.points.columns().to_vec();
    let band = search.points.band();
    let grid = search.problem.space.grid().clone();
    let starts: Vec<&[f64]> =
        data.chunks_exact(search.problem.model.features().len().max(1)).take(STARTS).collect();
    let closed =
        closed_form(search.problem.model, &grid, band, &columns, search.intercept, &starts, rng, &budget);
    let Some(Closed { relevant, plan, opposite_corners }) = closed else { return false };
    for (_, pair) in relevant.pairs() {
        if search.spent() {
            break;
        }
        known.cuts.extend(cutter.pair(&mut search.points, pair));
    }
    known.relevant = Some(relevant);
    let Some(plan) = plan else { return false };
    let constants = match (search.intercept, plan.keeps_constant) {
        (Intercept::Free, false) => {
            let mut constants = vec![Exact::zero(); search.problem.model.group_count()];
            *constants.last_mut().expect("a model has a sum") = plan.constant;
            Constants::Own(constants)
        }
        (Intercept::Free, true) if !search.problem.file.votes_only() => {
            Constants::Own(search.original_constants())
        }
        _ => Constants::File,
    };
    let plan = Plan { weights: plan.weights, constants };
    let proved = search.prove(&plan);
    if let Some(opposite_corners) =
        opposite_corners.filter(|_| lower_bound(search, known) < search.best.size.trees)
    {
        with_opposite_corners(search, known, &opposite_corners);
    }
    known.irreducible = proved && lower_bound(search, known) >= search.best.size.trees;
    known.irreducible || search.spent()
}

/// Does each column split on at most one feature?
pub(crate) fn has_one_feature_each<M: Editable>(search: &Search<'_, M>) -> bool {
    search.points.columns().iter().all(|column| {
        let trees = column.terms.iter().map(|&term| &search.problem.folded.terms[term].tree);
        let mut features = trees.flat_map(|tree| tree.splits().map(|split| split.feature));
        let first = features.next();
        features.all(|feature| Some(feature) == first)
    })
}

/// Models of one feature per column that the closed form does not cover or does not finish. If each
/// column steps at one boundary only, the cuts of all changes of class nearly always give the whole
/// bound, so the cheapest cover of these cuts is tried first.
fn smallest_of_stumps<M: Editable>(
    search: &mut Search<'_, M>,
    data: &[f64],
    cutter: &mut Cutter,
    known: &mut Known,
    rng: &mut fastrand::Rng,
) {
    search.begin(Pass::RelevantSplits);
    let grid = search.problem.space.grid().clone();
    let starts: Vec<&[f64]> =
        data.chunks_exact(search.problem.model.features().len().max(1)).take(STARTS).collect();
    let band = search.points.band();
    for pair in class_changes(search.problem.model, &grid, band, &starts, rng, &search.budget()) {
        if search.spent() {
            break;
        }
        known.cuts.extend(cutter.pair(&mut search.points, &pair));
    }
    keep_smallest(&mut known.cuts, &|| search.spent());
    let bound = lower_bound(search, known);
    search.problem.watch.update(|status| status.lower_bound = bound);
    // If this does not end, the other passes still have half of the time.
    let budget = search.budget().half();
    smallest(search, cutter, known, Some(STUMP_ROUNDS), &budget);
}

/// Drops cuts that contain another cut, as far as the time allows: they follow from it.
fn keep_smallest(cuts: &mut Vec<ColumnCut>, stop: &dyn Fn() -> bool) {
    cuts.sort_by_key(|cut| cut.columns.len());
    let mut kept: Vec<ColumnCut> = Vec::new();
    for cut in cuts.drain(..) {
        let holds =
            |small: &ColumnCut| small.columns.iter().all(|column| cut.columns.binary_search(column).is_ok());
        if stop() || !kept.iter().any(holds) {
            kept.push(cut);
        }
    }
    *cuts = kept;
}

/// Finds relevant boundaries and the cuts that their pairs of inputs give: a bound that costs
/// little.
fn pair_cuts<M: Editable>(
    search: &mut Search<'_, M>,
    cutter: &mut Cutter,
    known: &mut Known,
    rng: &mut fastrand::Rng,
) {
    search.begin(Pass::RelevantSplits);
    let grid = search.problem.space.grid().clone();
    let starts: Vec<&[f64]> = search.points.rows().iter().take(STARTS).map(Vec::as_slice).collect();
    let band = search.points.band();
    let relevant = relevant_boundaries(search.problem.model, &grid, band, &starts, rng, &search.budget());
    for (_, pair) in relevant.pairs() {
        if search.spent() {
            break;
        }
        known.cuts.extend(cutter.pair(&mut search.points, pair));
    }
    known.relevant = Some(relevant);
}

/// Looks for columns that no others can replace.
fn bound<M: Editable>(
    search: &mut Search<'_, M>,
    cutter: &mut Cutter,
    known: &mut Known,
    rng: &mut fastrand::Rng,
) {
    search.begin(Pass::Indispensable);
    let budget = search.budget().half();
    let grid = search.problem.space.grid().clone();
    let band = search.points.band();
    let relevant = known.relevant.take().unwrap_or_else(|| {
        let starts: Vec<&[f64]> = search.points.rows().iter().take(STARTS).map(Vec::as_slice).collect();
        relevant_boundaries(search.problem.model, &grid, band, &starts, rng, &budget)
    });
    let sweep = search.sweep.as_ref();
    let found = indispensable(&mut search.points, &grid, cutter, Some(&relevant), sweep, rng, &budget);
    known.cuts.extend(found.cuts().cloned());
    known.irreducible |= found.count() == search.points.columns().len();
    known.relevant = Some(relevant);
    let bound = lower_bound(search, known);
    search.problem.watch.update(|status| status.lower_bound = bound);
}

/// Asks again about columns that were not shown to be indispensable, now that more points are
/// known.
fn bound_again<M: Editable>(search: &mut Search<'_, M>, cutter: &mut Cutter, known: &mut Known) {
    if lower_bound(search, known) >= search.best.size.trees {
        return;
    }
    search.begin(Pass::Indispensable);
    let config = search.problem.config;
    let stop = || spent(config);
    let limits = secateur_lp::Limits { deadline: config.deadline, stop: Some(&stop) };
    let in_best =
        |column: usize| search.best_weights.as_ref().is_none_or(|weights| weights.columns[column] > 0.0);
    let known_alone = |column: usize| known.cuts.iter().any(|cut| cut.columns == [column]);
    let count = search.points.columns().len();
    let asked = (0..count).map(|column| in_best(column) && !known_alone(column)).collect();
    let mut found = Vec::new();
    let sweep = search.sweep.as_ref();
    ask_each(&mut search.points, cutter, asked, sweep, &limits, &mut |cut| found.push(cut));
    known.cuts.extend(found);
}

fn finish<M: Editable>(search: Search<'_, M>, known: Known) -> Pruned<M> {
    let bound = cover_bound(&search, &known);
    let lower_bound = bound.as_ref().map_or(0, |(bound, _)| *bound as usize);
    let trees = search.best.size.trees;
    // A thorough run that ends irreducible has done what it promises, even if time runs out later.
    let done = known.irreducible
        && search.problem.config.effort == Effort::Thorough
        && !search.problem.config.cancel.is_cancelled();
    let outcome = if search.best.made.is_none() && lower_bound >= trees {
        Outcome::AlreadyMinimal
    } else if lower_bound < trees && search.spent() && !done {
        Outcome::BudgetReached
    } else {
        Outcome::Proved
    };
    let fates = fates(&search);
    let evidence = evidence(&search, &known, bound);
    Pruned {
        outcome,
        size: [size_of(search.problem.model), search.best.size],
        lower_bound,
        irreducible: known.irreducible || lower_bound >= trees,
        cut_short: search.allowance.is_over(),
        band: search.problem.band,
        within: search.problem.config.claim.within(),
        domain: search.problem.model.domain().clone(),
        oracle_calls: search.oracle_calls,
        points: search.points.rows().len(),
        seconds: search.seconds,
        fates,
        evidence,
        relevant: known.relevant,
        file: search.best.file,
    }
}

/// What became of each tree.
fn fates<M: Editable>(search: &Search<'_, M>) -> Vec<Fate> {
    let count = search.problem.model.trees().len();
    let Some((edit, plan)) = &search.best.made else { return vec![Fate::Kept; count] };
    let mut fates = vec![Fate::Dropped; count];
    for tree in &search.problem.folded.constant_trees {
        fates[tree.index()] = Fate::Constant;
    }
    let mut weights = vec![0.0; count];
    let kept = search.points.columns().iter().zip(&plan.weights).filter(|(_, weight)| **weight > 0.0);
    for (column, &weight) in kept {
        for term in column.terms.iter().map(|&term| &search.problem.folded.terms[term]) {
            weights[term.host.index()] = weight;
            for source in &term.sources {
                fates[source.index()] = Fate::Merged { into: term.host, weight };
            }
        }
    }
    for tree in &edit.trees {
        let index = tree.source().index();
        fates[index] = match tree {
            TreeEdit::Keep(_) => Fate::Kept,
            TreeEdit::Scale { factor, .. } => Fate::Scaled(*factor),
            TreeEdit::Replace { .. } => Fate::Rewritten(weights[index]),
        };
    }
    fates
}
