//! Relevant boundaries and plans of the closed form, compared with brute force over all cells.

use std::collections::BTreeSet;

use fastrand::Rng;
use secateur_model::{
    Accumulation, ClassId, ClassLabels, Decision, Ensemble, EnsembleBuilder, Exact, FeatureId, Features,
    Grid, GroupId, Intake, InterceptPosition, NodeId, NumberType, Order, Output, Split, Test, TreeBuilder,
    TreeId,
};
use secateur_oracle::{Lead, SearchBudget};
use secateur_prune::{
    Boundary, Column, Intercept, Relevance, Relevant, certain_winner, closed_form, column_lead,
    relevant_boundaries,
};
use secateur_testkit::{Shape, all_cells, ensemble};

fn winner(model: &Ensemble, row: &[f64], band: Option<f64>) -> Option<ClassId> {
    let read: Vec<f64> = row.iter().map(|&value| model.intake().read(value).unwrap()).collect();
    certain_winner(model, &model.exact_sums(model.leaves(&read)), band)
}

fn columns(model: &Ensemble) -> Vec<Column> {
    let column = |index| Column { terms: vec![index], trees: vec![TreeId::new(index)], cost: 1.0 };
    (0..model.trees().len()).map(column).collect()
}

/// The boundaries that some pair of neighbouring cells shows to be relevant.
fn shown(model: &Ensemble, grid: &Grid, band: Option<f64>) -> BTreeSet<Boundary> {
    let mut shown = BTreeSet::new();
    for cells in all_cells(grid) {
        let Some(below) = winner(model, &grid.witness(&cells), band) else { continue };
        for (axis, own) in grid.axes().iter().enumerate() {
            if cells[axis].index() + 1 < own.bounds().map_or(0, |bounds| bounds.len() + 1) {
                let mut next = cells.clone();
                next[axis].0 += 1;
                if winner(model, &grid.witness(&next), band).is_some_and(|above| above != below) {
                    shown.insert(Boundary { axis, below: cells[axis] });
                }
            }
        }
    }
    shown
}

fn check_pairs(model: &Ensemble, grid: &Grid, band: Option<f64>, relevant: &Relevant) {
    for (boundary, pair) in relevant.pairs() {
        let [below, above] = pair.rows.each_ref().map(|row| grid.cells_of(row).unwrap());
        for (axis, (a, b)) in below.iter().zip(&above).enumerate() {
            let step = u32::from(axis == boundary.axis);
            assert_eq!(a.0 + step, b.0);
        }
        assert_eq!(below[boundary.axis], boundary.below);
        let classes = pair.rows.each_ref().map(|row| winner(model, row, band).unwrap());
        assert_eq!(classes, pair.classes);
        assert_ne!(classes[0], classes[1]);
    }
}

fn random_band(rng: &mut Rng, model: &Ensemble) -> Option<f64> {
    match rng.u32(0..3) {
        0 => None,
        1 => Some(model.certain_margin().unwrap_or(0.1)),
        _ => Some(rng.f64()),
    }
}

#[test]
fn pairs_are_true_and_most_boundaries_that_have_one_are_found() {
    let mut rng = Rng::with_seed(11);
    let (mut found, mut there) = (0, 0);
    for _ in 0..300 {
        let shape = Shape::random(&mut rng);
        let model = ensemble(&mut rng, &shape);
        let grid = Grid::new(&[&model]).unwrap();
        let band = random_band(&mut rng, &model);
        let relevant = relevant_boundaries(&model, &grid, band, &[], &mut rng, &SearchBudget::unlimited());
        check_pairs(&model, &grid, band, &relevant);
        let shown = shown(&model, &grid, band);
        assert!(relevant.pairs().all(|(boundary, _)| shown.contains(&boundary)));
        found += relevant.count();
        there += shown.len();
    }
    assert!(there > 250 && found * 100 >= there * 97, "{found} of {there}");
}

/// A random two-class model of stumps.
fn stumps(rng: &mut Rng) -> Ensemble {
    let mut shape = Shape::random(rng);
    shape.classes = 2;
    shape.depth = 1;
    shape.trees = rng.u32(1..=12);
    shape.thresholds = rng.u32(1..=6);
    if rng.bool() {
        let threshold = if rng.bool() { 0.0 } else { 0.25 };
        shape.decision = Decision::Threshold { group: GroupId(0), threshold, strict: rng.bool() };
    }
    ensemble(rng, &shape)
}

#[test]
fn relevance_of_stumps_is_what_brute_force_finds_and_plans_decide_alike() {
    let mut rng = Rng::with_seed(12);
    let (mut met, mut plans, mut smaller, mut open) = (0, 0, 0, 0);
    for round in 0..600 {
        let model = stumps(&mut rng);
        let grid = Grid::new(&[&model]).unwrap();
        let band = random_band(&mut rng, &model);
        let columns = columns(&model);
        let budget = SearchBudget::unlimited();
        let closed =
            closed_form(&model, &grid, band, &columns, Intercept::Free, &[], &mut rng, &budget).unwrap();
        check_pairs(&model, &grid, band, &closed.relevant);
        let shown = shown(&model, &grid, band);
        for (boundary, known) in &closed.relevant.boundaries {
            // Ties between numbers too wide for the tables stay open.
            if *known == Relevance::Unknown {
                open += 1;
                continue;
            }
            assert_eq!(shown.contains(boundary), *known != Relevance::Irrelevant, "{round} {boundary:?}");
        }
        let Some(plan) = closed.plan else { continue };
        plans += 1;
        let lead = Lead::of(&model, ClassId(1), ClassId(0));
        assert!(plan.weights.iter().all(|&weight| weight >= 0.0));
        for cells in all_cells(&grid) {
            let row = grid.witness(&cells);
            let read: Vec<f64> = row.iter().map(|&value| model.intake().read(value).unwrap()).collect();
            let leaves: Vec<_> = model.leaves(&read).collect();
            let total =
                columns.iter().zip(&plan.weights).fold(plan.constant.clone(), |sum, (column, &weight)| {
                    &sum + &(&column_lead(&model, &leaves, column, &lead) * &Exact::from_f64(weight).unwrap())
                });
            let Some(winner) = winner(&model, &row, band) else { continue };
            // Weights are rounded, so the last bit may break an exact tie.
            let sign = if winner == ClassId(1) { total.to_f64() } else { -total.to_f64() };
            assert!(sign > -1e-12, "{round}: {sign} in {cells:?}");
            if band.is_some_and(|band| band > 0.0) {
                assert!(sign > 0.0, "{round}: {sign} in {cells:?}");
            }
        }
        let kept = plan.weights.iter().filter(|&&weight| weight > 0.0).count();
        smaller += usize::from(kept < columns.len());
        met += usize::from(kept == closed.relevant.count());
    }
    assert!(plans > 550 && smaller > 300 && met > 150 && open < 30, "{plans} {smaller} {met} {open}");
}

/// A model of plain stumps on numeric features, as gradient boosting makes them, with steps of
/// either sign.
fn plain_stumps(rng: &mut Rng) -> Ensemble {
    let number = NumberType::F64;
    let intake = Intake { number, missing: rng.bool(), infinities: true, zero_window: None };
    let accumulation =
        Accumulation { number, intercept: InterceptPosition::First, order: Order::File, average: None };
    let decision = Decision::Threshold { group: GroupId(0), threshold: 0.0, strict: true };
    let features = rng.u32(1..=3);
    let mut builder = EnsembleBuilder::new(
        Features::unnamed(features),
        intake,
        ClassLabels::Unnamed(2),
        vec![rng.f64() - 0.5],
        accumulation,
        decision,
    )
    .unwrap();
    for feature in 0..features {
        for threshold in 0..rng.u32(1..5) {
            let mut tree = TreeBuilder::new();
            let test = Test::Less { threshold: f64::from(threshold) };
            let split = Split { feature: FeatureId(feature), test, missing_left: true };
            tree.split(split, NodeId(1), NodeId(2));
            tree.leaf(&[rng.f64() * 0.2 - 0.1]).leaf(&[rng.f64() - 0.5]);
            builder.tree(tree, Output::Group(GroupId(0)), 1.0).unwrap();
        }
    }
    builder.build()
}

#[test]
fn plain_stumps_end_with_as_many_as_there_are_relevant_boundaries() {
    let mut rng = Rng::with_seed(14);
    let (mut met, mut smaller) = (0, 0);
    for _ in 0..300 {
        let model = plain_stumps(&mut rng);
        let grid = Grid::new(&[&model]).unwrap();
        let columns = columns(&model);
        let band = model.certain_margin();
        let budget = SearchBudget::unlimited();
        let closed =
            closed_form(&model, &grid, band, &columns, Intercept::Free, &[], &mut rng, &budget).unwrap();
        let plan = closed.plan.unwrap();
        let kept = plan.weights.iter().filter(|&&weight| weight > 0.0).count();
        assert!(kept >= closed.relevant.count());
        met += usize::from(kept == closed.relevant.count());
        smaller += usize::from(kept < columns.len());
    }
    // In a few models the signs of the steps prevent it.
    assert!(met >= 290 && smaller >= 100, "{met} {smaller}");
}

#[test]
fn other_models_have_no_closed_form() {
    let mut rng = Rng::with_seed(13);
    let shape = Shape { classes: 3, depth: 1, decision: Decision::Argmax, ..Shape::random(&mut rng) };
    let model = ensemble(&mut rng, &shape);
    let grid = Grid::new(&[&model]).unwrap();
    let budget = SearchBudget::unlimited();
    let none = closed_form(&model, &grid, None, &columns(&model), Intercept::Free, &[], &mut rng, &budget);
    assert!(none.is_none());
}
