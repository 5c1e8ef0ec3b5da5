//! Prunes random models in every way, and checks the results on every cell.

use crate::memory::{Memory, check, random_model, settings};
use fastrand::Rng;
use secateur_model::{
    Accumulation, ClassLabels, Decision, Domain, Ensemble, EnsembleBuilder, FeatureId, Features, Grid,
    GroupId, Intake, NodeId, NumberType, Output, Split, Test, TreeBuilder,
};
use secateur_oracle::{Band, Cancel, Comparison};
use secateur_prune::{
    Claim, Config, Effort, Fate, Moves, Objective, Outcome, Pruned, Unit, Watch, certify, prune_model,
};
use secateur_testkit::{Shape, ensemble};

fn random_config(rng: &mut Rng) -> Config {
    Config {
        effort: *rng.choice(&[Effort::Fast, Effort::Thorough, Effort::Minimum]).unwrap(),
        objective: *rng.choice(&[Objective::Trees, Objective::Leaves, Objective::Bytes]).unwrap(),
        moves: *rng.choice(&[Moves::Leaves, Moves::Leaves, Moves::Weights]).unwrap(),
        unit: *rng.choice(&[None, Some(Unit::Round), Some(Unit::Tree)]).unwrap(),
        claim: Claim::Decisions { band: *rng.choice(&[Band::Auto, Band::Exact, Band::Score(0.25)]).unwrap() },
        domain: rng.choice([Domain::everything(), Domain::no_missing()]).unwrap(),
        seed: rng.u64(..),
        ..Config::default()
    }
}

fn rank(model: &Pruned<Memory>, objective: Objective, after: bool, original: &Memory) -> u64 {
    use secateur_prune::Editable;
    let size = model.size[usize::from(after)];
    match objective {
        Objective::Trees => size.trees as u64,
        Objective::Leaves => size.leaves as u64,
        Objective::Bytes if after => model.file.bytes().unwrap(),
        Objective::Bytes => original.bytes().unwrap(),
    }
}

#[test]
fn pruned_models_decide_alike_on_every_cell() {
    let (mut smaller, mut cells, mut runs, mut scaled) = (0, 0, 0, 0);
    for seed in 0..450 {
        let mut rng = Rng::with_seed(seed);
        let Some(model) = random_model(&mut rng) else { continue };
        let config = random_config(&mut rng);
        // A model whose decisions are never certain has no band; that is a clear answer, too.
        if Comparison::new(&model, &model, config.claim.band().unwrap()).is_err() {
            continue;
        }
        let context = format!("seed {seed}, {config:?}");
        let memory = Memory(model.clone());
        let data: Vec<f64> = vec![0.0; model.features().len() * 2];
        let pruned = prune_model(&memory, &data, &config, &Watch::default()).expect(&context);
        runs += 1;
        cells += check(&model, &pruned, config.claim.band().unwrap(), &context);
        let (before, after) =
            (rank(&pruned, config.objective, false, &memory), rank(&pruned, config.objective, true, &memory));
        assert!(after <= before, "{context}");
        assert_ne!(pruned.outcome, Outcome::BudgetReached, "{context}");
        assert!(pruned.lower_bound <= pruned.size[1].trees, "{context}");
        assert_eq!(pruned.fates.len(), model.trees().len());
        smaller += usize::from(after < before);
        scaled += pruned.fates.iter().filter(|fate| matches!(fate, Fate::Scaled(_))).count();
        let again = prune_model(&memory, &data, &config, &Watch::default()).expect(&context);
        assert_eq!(again.file.0, pruned.file.0, "{context}: same seed, same model");
    }
    assert!(runs > 150 && smaller > 70 && cells > 3_000, "{runs} {smaller} {cells}");
    assert!(scaled > 20, "{scaled}");
}

/// A fast run ends at an arbitrary vertex of what its points allow. Rows give it more points, but
/// never a larger model.
#[test]
fn rows_never_make_a_fast_result_worse() {
    let (mut runs, mut twice) = (0, 0);
    for seed in 0..250 {
        let mut rng = Rng::with_seed(seed);
        let Some(model) = random_model(&mut rng) else { continue };
        let config = Config { effort: Effort::Fast, ..random_config(&mut rng) };
        if Comparison::new(&model, &model, config.claim.band().unwrap()).is_err() {
            continue;
        }
        let memory = Memory(model.clone());
        let rows: Vec<f64> =
            (0..40 * model.features().len()).map(|_| f64::from(rng.i32(-4..=8)) / 2.0).collect();
        let [without, with] =
            [&[][..], &rows].map(|rows| prune_model(&memory, rows, &config, &Watch::default()).unwrap());
        // In models this small, rows hardly ever lead to a larger result. The test checks that the
        // run without rows was done too.
        if with.lower_bound < with.size[1].trees {
            assert!(with.oracle_calls > without.oracle_calls, "seed {seed}: the rows were all it looked at");
            twice += 1;
        }
        let [without, with] = [without, with].map(|pruned| rank(&pruned, config.objective, true, &memory));
        assert!(with <= without, "seed {seed}, {config:?}: {with} with rows, {without} without");
        runs += 1;
    }
    assert!(runs > 80 && twice > 20, "{runs} runs, {twice} of them twice");
}

#[test]
fn pruned_models_decide_alike_on_every_input_of_a_domain() {
    let [runs, fewer, bounds, inputs] = judged_within(0..700, &secateur_testkit::domain);
    assert!(runs > 150 && fewer > 30 && bounds > 100 && inputs > 3_000, "a weak test");
}

/// The same test for domains that ask for scores of other models.
#[test]
fn pruned_models_decide_alike_wherever_other_models_score_so() {
    let digest = |model: &Ensemble| secateur_certificate::Digest::of(model).0;
    let draw = |rng: &mut Rng, model: &Ensemble| secateur_testkit::scored_domain(rng, model, &digest);
    let [runs, fewer, bounds, inputs] = judged_within(5_000..5_500, &draw);
    assert!(runs > 100 && fewer > 20 && bounds > 50 && inputs > 3_000, "a weak test");
}

/// Checks pruned models on every input of a random domain, found from the domain's definition, and
/// has the certificates checked. Returns the numbers of runs, of runs with fewer trees than for
/// every input, of runs with a bound, and of inputs.
fn judged_within(seeds: std::ops::Range<u64>, draw: &dyn Fn(&mut Rng, &Ensemble) -> Domain) -> [usize; 4] {
    let (mut runs, mut fewer, mut inputs, mut bounds) = (0, 0, 0, 0);
    for seed in seeds {
        let mut rng = Rng::with_seed(seed);
        let Some(model) = random_model(&mut rng) else { continue };
        let drawn = draw(&mut rng, &model);
        let config = Config { domain: drawn.clone(), ..random_config(&mut rng) };
        if model.features().len() < 2
            || Comparison::new(&model, &model, config.claim.band().unwrap()).is_err()
        {
            continue;
        }
        let context = format!("seed {seed}, {config:?}");
        let memory = Memory(model.clone());
        // Rows outside the domain are ignored.
        let data: Vec<f64> = (0..4 * model.features().len()).map(|_| f64::from(rng.u32(0..3))).collect();
        let pruned = prune_model(&memory, &data, &config, &Watch::default()).expect(&context);
        check(&model, &pruned, config.claim.band().unwrap(), &context);
        let Some(rows) = secateur_testkit::inputs_of(&pruned.domain, &[&model, &pruned.file.0], 5_000) else {
            continue;
        };
        let predictor = secateur_model::Predictor::new(&pruned.file.0);
        let margin = (config.claim.band().unwrap() != Band::Exact).then_some(pruned.band);
        for row in &rows {
            let read: Vec<f64> = row.iter().map(|&value| model.intake().read(value).unwrap()).collect();
            let sums = model.exact_sums(model.leaves(&read));
            let Some(winner) = secateur_prune::certain_winner(&model, &sums, margin) else { continue };
            let found = match config.claim.band().unwrap() {
                Band::Exact => secateur_oracle::exact_class(&pruned.file.0, row),
                _ => predictor.classes(row).unwrap()[0],
            };
            assert_eq!(found, winner, "{context}: {row:?}");
        }
        let cancel = Cancel::default();
        let narrow = model.within(&drawn).unwrap();
        let certificate =
            certify(&narrow, &pruned.file.0, config.claim, Some(&pruned.evidence), &settings(&cancel))
                .expect(&context);
        assert_eq!(certificate.proved.claim.domain, pruned.domain, "{context}");
        bounds +=
            usize::from(certificate.proved.columns.is_some() || certificate.proved.thresholds.is_some());
        let points = &pruned.evidence.points;
        assert!(points.iter().all(|point| drawn.contains(point)), "{context}: a point is outside");
        let whole = Config { domain: Domain::everything(), ..config.clone() };
        let whole = prune_model(&memory, &[], &whole, &Watch::default()).expect(&context);
        fewer += usize::from(pruned.size[1].trees < whole.size[1].trees);
        (runs, inputs) = (runs + 1, inputs + rows.len());
    }
    println!(
        "{runs} runs, {fewer} with fewer trees than for every input, {bounds} with bounds, {inputs} inputs"
    );
    [runs, fewer, bounds, inputs]
}

/// A majority vote of trees that split one feature each, where half of the trees send missing
/// values to the other side. Without missing values, the two trees of a feature are equal.
fn votes_that_missing_values_tell_apart() -> Ensemble {
    let intake = Intake::everything(NumberType::F64);
    let accumulation = Accumulation::in_order(NumberType::F64);
    let decision = Decision::Threshold { group: GroupId(0), threshold: 0.0, strict: true };
    let (features, classes) = (Features::unnamed(3), ClassLabels::Unnamed(2));
    let mut builder =
        EnsembleBuilder::new(features, intake, classes, vec![0.0], accumulation, decision).unwrap();
    for (feature, missing_left) in (0..3).flat_map(|feature| [(feature, false), (feature, true)]) {
        let mut tree = TreeBuilder::new();
        let split =
            Split { feature: FeatureId(feature), test: Test::LessOrEqual { threshold: 0.5 }, missing_left };
        tree.split(split, NodeId(1), NodeId(2)).leaf(&[-1.0]).leaf(&[1.0]);
        builder.tree(tree, Output::Group(GroupId(0)), 1.0).unwrap();
    }
    builder.build()
}

#[test]
fn a_scope_without_missing_values_lets_more_go_and_is_certified_for_it() {
    let model = votes_that_missing_values_tell_apart();
    let run = |scope: Domain, data: &[f64]| {
        let config = Config { domain: scope.clone(), ..Config::default() };
        let pruned = prune_model(&Memory(model.clone()), data, &config, &Watch::default()).unwrap();
        assert_eq!(pruned.domain, scope);
        check(&model, &pruned, config.claim.band().unwrap(), &format!("{scope:?}"));
        let cancel = Cancel::default();
        let (original, file) = (model.within(&scope).unwrap(), &pruned.file.0);
        let certificate =
            certify(&original, file, config.claim, Some(&pruned.evidence), &settings(&cancel)).unwrap();
        assert_eq!(certificate.proved.claim.domain, scope);
        assert_eq!(certificate.proved.columns.unwrap().bound as usize, pruned.lower_bound);
        // The file is not a pruned model for every input, unless it was made for every input.
        let whole = certify(&model, file, config.claim, None, &settings(&cancel));
        assert_eq!(whole.is_ok(), scope == Domain::everything());
        // Rows outside the scope do not become points.
        let points = &pruned.evidence.points;
        assert!(scope == Domain::everything() || points.iter().flatten().all(|value| !value.is_nan()));
        pruned
    };
    let missing = [0.0, f64::NAN, 1.0, 1.0, 1.0, 0.0];
    let [all, narrow] = [Domain::everything(), Domain::no_missing()].map(|scope| run(scope, &missing));
    assert_eq!((narrow.size[1].trees, narrow.outcome, narrow.lower_bound), (3, Outcome::Proved, 3));
    assert!(all.size[1].trees > 3, "{:?}", all.size);
    assert_eq!(run(Domain::no_missing(), &[]).file.0, narrow.file.0);
}

#[test]
fn a_cancelled_run_ends_with_a_model_that_decides_alike() {
    for seed in 0..60 {
        let mut rng = Rng::with_seed(seed);
        let Some(model) = random_model(&mut rng) else { continue };
        let config = Config { claim: Claim::Decisions { band: Band::Exact }, ..random_config(&mut rng) };
        config.cancel.cancel();
        let memory = Memory(model.clone());
        let pruned = prune_model(&memory, &[], &config, &Watch::default()).unwrap();
        // If the closed form is proved minimal at once, it needs no budget.
        let minimal = pruned.lower_bound >= pruned.size[1].trees;
        assert_eq!(pruned.outcome == Outcome::BudgetReached, !minimal, "seed {seed}");
        check(&model, &pruned, config.claim.band().unwrap(), &format!("seed {seed}"));
    }
}

/// Stumps of two to five classes; some trees add to one class, others to all.
fn random_stumps(rng: &mut Rng) -> Option<Ensemble> {
    let mut shape = Shape::random(rng);
    shape.depth = 1;
    shape.trees = rng.u32(4..=16);
    shape.categorical = 0;
    let model = ensemble(rng, &shape);
    (Grid::new(&[&model]).ok()?.log10_cells() <= 2.6).then_some(model)
}

#[test]
fn stumps_of_many_classes_end_minimal_and_decide_alike_on_every_cell() {
    let (mut runs, mut minimal) = ([0; 2], [0; 2]);
    for seed in 0..250 {
        let mut rng = Rng::with_seed(1000 + seed);
        let Some(model) = random_stumps(&mut rng) else { continue };
        let config = Config {
            claim: Claim::Decisions { band: *rng.choice(&[Band::Auto, Band::Exact]).unwrap() },
            ..Config::default()
        };
        if Comparison::new(&model, &model, config.claim.band().unwrap()).is_err() {
            continue;
        }
        let context = format!("seed {seed}");
        let memory = Memory(model.clone());
        let pruned = prune_model(&memory, &[], &config, &Watch::default()).expect(&context);
        check(&model, &pruned, config.claim.band().unwrap(), &context);
        assert!(pruned.lower_bound <= pruned.size[1].trees, "{context}");
        let many = usize::from(model.classes().len() > 2);
        runs[many] += 1;
        minimal[many] += usize::from(pruned.lower_bound == pruned.size[1].trees);
    }
    assert!(runs[0] > 20 && runs[1] > 60, "{runs:?}");
    assert!((0..2).all(|many| minimal[many] * 10 > runs[many] * 9), "{minimal:?} of {runs:?}");
}

/// Many trees over few cells: columns are dropped on cell checks alone and the result is proved.
/// This holds for a fast run too, because a linear program ends at an arbitrary vertex.
#[test]
fn what_is_left_of_few_cells_is_irreducible_at_every_effort() {
    let (mut runs, mut past, mut irreducible) = (0, 0, [0, 0]);
    for seed in 0..60 {
        let mut rng = Rng::with_seed(2000 + seed);
        let mut shape = Shape::random(&mut rng);
        (shape.depth, shape.trees) = (2, 16);
        let model = ensemble(&mut rng, &shape);
        let fits = Grid::new(&[&model]).is_ok_and(|grid| (1.5..3.0).contains(&grid.log10_cells()));
        if !fits || Comparison::new(&model, &model, Band::Auto).is_err() {
            continue;
        }
        let context = format!("seed {seed}");
        let memory = Memory(model.clone());
        let [fast, thorough] = [Effort::Fast, Effort::Thorough].map(|effort| {
            let config = Config { effort, ..Config::default() };
            prune_model(&memory, &[], &config, &Watch::default()).expect(&context)
        });
        check(&model, &fast, Band::Auto, &context);
        check(&model, &thorough, Band::Auto, &context);
        assert!(thorough.size[1].trees <= fast.size[1].trees, "{context}");
        runs += 1;
        irreducible[0] += usize::from(fast.irreducible);
        irreducible[1] += usize::from(thorough.irreducible);
        past += usize::from(thorough.size[1].trees < fast.size[1].trees);
    }
    // In a few runs rounding in the last bits leaves a step open.
    let most = irreducible.iter().all(|&count| count * 10 > runs * 9);
    assert!(runs > 20 && past > 0 && most, "{past}, {irreducible:?} of {runs}");
}
