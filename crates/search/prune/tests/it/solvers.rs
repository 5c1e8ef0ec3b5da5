//! Whatever the solver of the linear programs says, what is proved is true: tested with solvers that
//! lie.

use crate::memory::{Memory, check, random_model};
use fastrand::Rng;
use secateur_lp::{Growing, Limits, Reason, Saved, Sign, Solution, Start, Status, simplex};
use secateur_model::Ensemble;
use secateur_oracle::{Band, Comparison};
use secateur_prune::{Claim, Config, Effort, Moves, Outcome, Pruned, Unit, Watch, prune_model};

/// Random models and configurations that have an answer.
fn cases(seeds: std::ops::Range<u64>) -> impl Iterator<Item = (u64, Ensemble, Config)> {
    seeds.filter_map(|seed| {
        let mut rng = Rng::with_seed(seed);
        let model = random_model(&mut rng)?;
        let config = Config {
            effort: *rng.choice(&[Effort::Fast, Effort::Thorough, Effort::Minimum, Effort::Minimum])?,
            moves: *rng.choice(&[Moves::Leaves, Moves::Weights])?,
            unit: *rng.choice(&[None, Some(Unit::Tree)])?,
            claim: Claim::Decisions { band: *rng.choice(&[Band::Auto, Band::Exact])? },
            seed,
            ..Config::default()
        };
        Comparison::new(&model, &model, config.claim.band().unwrap()).ok()?;
        Some((seed, model, config))
    })
}

fn pruned(model: &Ensemble, config: &Config, solver: Start) -> Pruned<Memory> {
    let config = Config { solver, ..config.clone() };
    let pruned = prune_model(&Memory(model.clone()), &[], &config, &Watch::default()).unwrap();
    check(model, &pruned, config.claim.band().unwrap(), &format!("{config:?}"));
    assert!(pruned.lower_bound <= pruned.size[1].trees, "{config:?}");
    assert!(pruned.size[1].trees <= pruned.size[0].trees, "{config:?}");
    assert_ne!(pruned.outcome, Outcome::BudgetReached, "{config:?}");
    pruned
}

/// A solver that sometimes lies; otherwise it returns what an honest solver found.
struct Liar {
    honest: Box<dyn Growing>,
    unknowns: usize,
    rng: Rng,
    lie: fn(&mut Rng, usize) -> Option<Status>,
}

impl Liar {
    fn start(costs: &[f64], signs: &[Sign], lie: fn(&mut Rng, usize) -> Option<Status>) -> Box<dyn Growing> {
        let honest = simplex(costs, signs);
        Box::new(Self { honest, unknowns: signs.len(), rng: Rng::with_seed(costs.len() as u64), lie })
    }
}

impl Growing for Liar {
    fn add_row(&mut self, coefficients: &[f64], bound: f64) {
        self.honest.add_row(coefficients, bound);
    }

    fn set_bound(&mut self, row: usize, bound: f64) {
        self.honest.set_bound(row, bound);
    }

    fn hold(&mut self, unknown: usize) {
        self.honest.hold(unknown);
    }

    fn save(&self) -> Saved {
        self.honest.save()
    }

    fn restore(&mut self, saved: Saved) {
        self.honest.restore(saved);
    }

    fn solve(&mut self, limits: &Limits<'_>) -> Status {
        (self.lie)(&mut self.rng, self.unknowns).unwrap_or_else(|| self.honest.solve(limits))
    }
}

fn point(values: Vec<f64>) -> Option<Status> {
    Some(Status::Optimal(Solution { objective: 0.0, values }))
}

/// Always says that no weights exist.
fn denies(_: &mut Rng, _: usize) -> Option<Status> {
    Some(Status::Infeasible)
}

/// Returns no trees at all, or few trees with random weights: small models that the oracle has to
/// refuse.
fn promises(rng: &mut Rng, unknowns: usize) -> Option<Status> {
    let some = |rng: &mut Rng| if rng.u32(0..4) == 0 { rng.f64() * 8.0 } else { 0.0 };
    point((0..unknowns).map(|_| some(rng)).collect())
}

/// Returns values that are no solution.
fn babbles(rng: &mut Rng, unknowns: usize) -> Option<Status> {
    match rng.u32(0..5) {
        0 => point(vec![f64::NAN; unknowns]),
        1 => point(vec![f64::INFINITY; unknowns]),
        2 => point(vec![-1.0; unknowns]),
        3 => point(vec![1.0; unknowns + 1]),
        _ => point(Vec::new()),
    }
}

/// Returns any of these lies, no answer, or the truth.
fn fickle(rng: &mut Rng, unknowns: usize) -> Option<Status> {
    match rng.u32(0..6) {
        0 => denies(rng, unknowns),
        1 => promises(rng, unknowns),
        2 => babbles(rng, unknowns),
        3 => Some(Status::Unknown(Reason::Numerical)),
        _ => None,
    }
}

#[test]
fn a_solver_that_lies_leads_to_no_false_model_and_no_false_bound() {
    let liars: [Start; 4] = [
        |costs, signs| Liar::start(costs, signs, denies),
        |costs, signs| Liar::start(costs, signs, promises),
        |costs, signs| Liar::start(costs, signs, babbles),
        |costs, signs| Liar::start(costs, signs, fickle),
    ];
    let (mut runs, mut fooled) = (0, 0);
    for (seed, model, config) in cases(300..360) {
        let honest = pruned(&model, &config, simplex);
        for liar in liars {
            runs += 1;
            // `pruned` checks the model on every cell; the bound must also hold for the honest
            // solver's model.
            let found = pruned(&model, &config, liar);
            assert!(found.lower_bound <= honest.size[1].trees, "seed {seed}: {:?}", found.lower_bound);
            assert!(honest.lower_bound <= found.size[1].trees, "seed {seed}");
            fooled += usize::from(found.size[1].trees > honest.size[1].trees);
        }
    }
    // The lies have an effect: some results have more trees.
    assert!(runs > 80 && fooled > 20, "{runs} {fooled}");
}
