//! Claims about inputs without missing values: they are proved, refuted and checked for those
//! inputs, and are never taken for a claim about every input.

use crate::common::{self, Opened};
use fastrand::Rng;
use secateur_certificate::{Domain, Step};
use secateur_checker::Verdict;
use secateur_model::{
    Ensemble, EnsembleBuilder, FeatureId, Grid, Intake, Node, NumberType, Predictor, Tree, TreeBuilder,
};
use secateur_oracle::Verdict as Compared;
use secateur_oracle::{Band, Comparison, Options, exact_class};
use secateur_testkit::{Shape, ensemble, every_row, leads_by_more_than, mutate};

/// A value that no random model lists among its categories.
const UNSEEN: f64 = -77.0;

/// The same model, except for the sides of missing values.
fn missing_elsewhere(rng: &mut Rng, model: &Ensemble) -> Ensemble {
    rebuilt(model, *model.intake(), |tree| turned(Some(&mut *rng), tree))
}

/// The same model for other inputs, and with other trees.
fn rebuilt(model: &Ensemble, intake: Intake, mut tree: impl FnMut(&Tree) -> TreeBuilder) -> Ensemble {
    let mut builder = EnsembleBuilder::new(
        model.features().clone(),
        intake,
        model.classes().clone(),
        model.intercepts().to_vec(),
        *model.accumulation(),
        *model.decision(),
    )
    .unwrap();
    for own in model.trees() {
        builder.tree(tree(own), own.output(), own.weight()).unwrap();
    }
    builder.build()
}

/// A copy of a tree, with random sides of missing values if there is a generator.
fn turned(mut rng: Option<&mut Rng>, tree: &Tree) -> TreeBuilder {
    let mut copy = TreeBuilder::new();
    for (_, node) in tree.nodes() {
        match node {
            Node::Leaf(leaf) => copy.leaf(tree.leaf(leaf)),
            Node::Split { mut split, left, right } => {
                if let Some(rng) = &mut rng {
                    split.missing_left = rng.bool();
                }
                copy.split(split, left, right)
            }
            Node::Unused => copy.unused(),
        };
    }
    copy
}

/// Rows for every cell of both models over all inputs. If a column treats unseen categories as
/// missing values, each row with a missing value is repeated with an unseen category.
fn all_rows(first: &Ensemble, second: &Ensemble) -> Vec<Vec<f64>> {
    let grid = Grid::new(&[first, second]).unwrap();
    let mut rows: Vec<Vec<f64>> = every_row(&grid).collect();
    for feature in (0..first.features().len()).map(FeatureId::new) {
        if first.features().categories(feature).is_some_and(|categories| categories.unseen_is_missing) {
            let missing = rows.iter().filter(|row| row[feature.index()].is_nan());
            let unseen: Vec<Vec<f64>> = missing
                .map(|row| {
                    let mut row = row.clone();
                    row[feature.index()] = UNSEEN;
                    row
                })
                .collect();
            rows.extend(unseen);
        }
    }
    rows
}

/// Does the claim hold on a row, by its definition?
fn holds(models: [&Ensemble; 2], predictor: &Predictor<'_>, row: &[f64], band: Band) -> bool {
    let winner = exact_class(models[0], row);
    match band {
        Band::Exact => exact_class(models[1], row) == winner,
        _ => {
            let band = models[0].certain_margin().unwrap();
            !leads_by_more_than(models[0], row, winner, band) || predictor.classes(row).unwrap()[0] == winner
        }
    }
}

#[test]
fn a_scope_is_proved_and_checked_for_its_inputs_alone() {
    let (mut only_missing, mut unseen, mut proved, mut both, mut refuted, mut narrowed) = (0, 0, 0, 0, 0, 0);
    for seed in 0..1500u64 {
        let mut rng = Rng::with_seed(seed);
        let mut shape = Shape::random(&mut rng);
        shape.intake.missing = true;
        let first = ensemble(&mut rng, &shape);
        let changed = if rng.u32(0..4) == 0 { mutate(&mut rng, &first) } else { first.clone() };
        let second = missing_elsewhere(&mut rng, &changed);
        if Grid::new(&[&first, &second]).unwrap().log10_cells() > 3.0 {
            continue;
        }
        let band = if rng.bool() { Band::Exact } else { Band::Auto };
        let narrow = first.within(&Domain::no_missing()).unwrap();
        let Ok(comparison) = Comparison::new(&narrow, &second, band) else { continue };
        assert_eq!(comparison.domain(), Domain::no_missing());
        let rows = all_rows(&first, &second);
        let predictor = Predictor::new(&second);
        let wrong = |row: &&Vec<f64>| !holds([&first, &second], &predictor, row, band);
        let complete = |row: &&Vec<f64>| row.iter().all(|value| !value.is_nan());
        let true_there = !rows.iter().filter(complete).any(|row| wrong(&row));
        let true_everywhere = !rows.iter().any(|row| wrong(&row));
        only_missing += u32::from(true_there && !true_everywhere);

        let (compared, certificate) = comparison.certify(&Options::unlimited(), Vec::new()).unwrap();
        match &compared.verdict {
            Compared::Identical => assert!(true_there, "seed {seed}: a false claim was proved"),
            Compared::Different(example) => {
                assert!(!true_there, "seed {seed}: a true claim was refuted");
                assert!(example.row.iter().all(|value| !value.is_nan()), "seed {seed}: {:?}", example.row);
                unseen += u32::from(example.row.iter().any(|value| *value < 0.0) && shape.categorical > 0);
                refuted += 1;
            }
            // The last bits decide, in an order of addition that is not fixed.
            Compared::Undecided(_) => continue,
        }
        let whole = common::certified(&first, &second, band);
        assert!(whole.is_none() || true_everywhere, "seed {seed}: a false claim was proved");
        if let Some(whole) = whole {
            let mut opened = Opened::read(&whole).unwrap();
            assert_eq!(opened.claim.domain, Domain::everything());
            opened.claim.domain = Domain::no_missing();
            narrowed += u32::from(opened.refusal(&first, &second).is_none());
            both += 1;
        }
        let Some(certificate) = certificate else { continue };
        let mut opened = Opened::read(&certificate.finish(true).unwrap()).unwrap();
        assert_eq!(opened.claim.domain, Domain::no_missing());
        for models in [[&first, &second], [&*narrow, &second]] {
            let verdict = opened.verdict(models[0], models[1]);
            let Verdict::Valid(valid) = verdict else { panic!("seed {seed}: {verdict:?}") };
            assert_eq!(valid.claim.domain, Domain::no_missing());
        }
        proved += 1;
        opened.claim.domain = Domain::everything();
        // The scope that the caller's models have does not matter.
        for models in [[&first, &second], [&*narrow, &second]] {
            let refused = opened.refusal(models[0], models[1]).is_some();
            assert!(refused || true_everywhere, "seed {seed}: taken for a claim about every input");
        }
    }
    println!(
        "{proved} proved, {refuted} refuted ({unseen} by unseen categories), {only_missing} differ at missing values only"
    );
    println!("{both} hold everywhere, {narrowed} of their proofs hold as they are for fewer inputs");
    assert!(proved > 300 && only_missing > 200 && refuted > 50 && unseen > 5, "a weak test");
    assert!(both > 50 && narrowed > 10, "a weak test");
}

#[test]
fn a_point_with_a_missing_value_is_no_point_of_the_scope() {
    let mut rng = Rng::with_seed(3);
    let mut shape = Shape::random(&mut rng);
    shape.intake.missing = true;
    let model = ensemble(&mut rng, &shape);
    let point = Step::Point { values: vec![f64::NAN; model.features().len()] };
    for (scope, refused) in [(Domain::everything(), false), (Domain::no_missing(), true)] {
        let bytes = common::certified(&model.within(&scope).unwrap(), &model, Band::Exact).unwrap();
        let mut opened = Opened::read(&bytes).unwrap();
        opened.steps.push(point.clone());
        let reason = opened.refusal(&model, &model).map(|(reason, _)| reason.code());
        assert_eq!(reason, refused.then_some("point.values"), "{scope:?}");
    }
}

/// A bound is about models that decide as the original does on the inputs of the claim. Here the
/// original has two splits between two neighbouring f32 numbers, and the pruned model, which reads
/// f32, does without them. The claim is about f32 numbers, so no bound may count these splits.
#[test]
fn no_bound_counts_inputs_that_the_claim_is_not_about() {
    let below = f64::from(0.1f32);
    let (first, second) = (below.next_up(), below.next_up().next_up());
    let stumps = [(0, first, 0.0, 1.0), (0, second, 0.0, -1.0), (0, 2.0, 0.0, 1.0)];
    let original = common::stumps(-0.5, &stumps);
    let same = |model: &Ensemble, intake: Intake| rebuilt(model, intake, |tree| turned(None, tree));
    let pruned = common::stumps(-0.5, &stumps[2..]);
    let pruned = same(&pruned, Intake { number: NumberType::F32, ..*pruned.intake() });
    let bytes = common::certified(&original, &pruned, Band::Exact).expect("they agree on f32 numbers");
    let with = |steps: &[Step]| {
        let mut opened = Opened::read(&bytes).unwrap();
        opened.steps.extend_from_slice(steps);
        opened.verdict(&original, &pruned)
    };
    let refused = |verdict: Verdict| match verdict {
        Verdict::Invalid { reason, .. } => reason.code(),
        other => panic!("{other:?}"),
    };
    let point = |x: f64| Step::Point { values: vec![x, 0.0] };
    let crossing = |low: f64, high: f64| Step::Crossing { point: 0, feature: 0, low, high };
    assert_eq!(refused(with(&[point(first)])), "point.values");
    assert_eq!(refused(with(&[point(below), crossing(below, first)])), "crossing.decision");
    assert_eq!(refused(with(&[point(below), crossing(first, second)])), "crossing.decision");
    let Verdict::Valid(valid) = with(&[point(below), crossing(below, 2.0)]) else { panic!("a true bound") };
    assert_eq!(valid.thresholds, Some(1));

    // Values that the pruned model refuses are no inputs either.
    let whole = Intake { missing: true, infinities: true, ..*original.intake() };
    let open = same(&original, whole);
    for (value, narrow) in [
        (f64::NAN, Intake { missing: false, ..whole }),
        (f64::INFINITY, Intake { infinities: false, ..whole }),
    ] {
        let closed = same(&original, narrow);
        for (other, accepted) in [(&open, true), (&closed, false)] {
            let mut opened = Opened::read(&common::certified(&open, other, Band::Exact).unwrap()).unwrap();
            opened.steps.push(point(value));
            let reason = opened.refusal(&open, other).map(|(reason, _)| reason.code());
            assert_eq!(reason, (!accepted).then_some("point.values"), "{value}");
        }
    }
}

#[test]
fn where_no_missing_values_are_accepted_there_is_one_scope() {
    let model = common::stumps(0.5, &[(0, 0.5, -1.0, 1.0)]);
    let narrow = model.within(&Domain::no_missing()).unwrap();
    let bytes = common::certified(&narrow, &model, Band::Auto).unwrap();
    assert_eq!(bytes, common::certified(&model, &model, Band::Auto).unwrap());
    let mut opened = Opened::read(&bytes).unwrap();
    assert_eq!(opened.claim.domain, Domain::everything());
    // Stating the same scope in another way is accepted.
    opened.claim.domain = Domain::no_missing();
    assert_eq!(opened.refusal(&model, &model), None);
}
