//! Random ensembles of every kind: the checker accepts what the oracle proves, and brute force
//! confirms it.

use crate::common::{Opened, kernel_limits};
use fastrand::Rng;
use secateur_certificate::Step;
use secateur_checker::{Limits, Verdict, check};
use secateur_model::{Decision, Ensemble, Grid, GroupId, Order, Predictor};
use secateur_oracle::Verdict as Compared;
use secateur_oracle::{Band, Comparison, Options, exact_class};
use secateur_testkit::{Shape, ensemble, every_row, leads_by_more_than, mutate};

/// A pair of models of this seed.
fn models(seed: u64) -> (Ensemble, Ensemble) {
    let mut rng = Rng::with_seed(seed);
    let mut shape = Shape::random(&mut rng);
    match seed % 4 {
        // Stumps, which are solved by meeting in the middle.
        0 => shape.depth = 1,
        // More trees than cells, so that a real search is needed.
        1 => {
            shape.features = rng.u32(3..=4);
            shape.categorical = shape.categorical.min(1);
            shape.trees = rng.u32(6..=14);
            shape.depth = 2;
            shape.thresholds = 3;
        }
        // Even more columns, so that small boxes are joined.
        2 => {
            shape.features = rng.u32(4..=6);
            shape.categorical = shape.categorical.min(1);
            shape.trees = rng.u32(6..=14);
            shape.depth = 2;
            shape.thresholds = if shape.features > 4 { 1 } else { 3 };
        }
        _ => {}
    }
    let first = ensemble(&mut rng, &shape);
    let second = if rng.u32(0..4) == 0 { first.clone() } else { mutate(&mut rng, &first) };
    (first, second)
}

fn band(rng: &mut Rng, first: &Ensemble) -> Band {
    match rng.u32(0..4) {
        0 => Band::Exact,
        1 => Band::Auto,
        _ => first.certain_margin().map_or(Band::Exact, |margin| {
            Band::Score(margin + *rng.choice(&[0.0, 1e-3, 0.1, 0.6, 1.5]).unwrap())
        }),
    }
}

/// Does the claim hold on every cell, by its definition?
fn holds_on_every_cell(
    first: &Ensemble,
    second: &Ensemble,
    comparison: &Comparison<'_>,
    exact: bool,
) -> bool {
    let grid = Grid::new(&[first, second]).unwrap();
    let predictor = Predictor::new(second);
    every_row(&grid).all(|row| {
        let winner = exact_class(first, &row);
        if exact {
            return exact_class(second, &row) == comparison.class_in_second(winner);
        }
        let leads = leads_by_more_than(first, &row, winner, comparison.band());
        !leads || predictor.classes(&row).unwrap()[0] == comparison.class_in_second(winner)
    })
}

#[test]
fn what_the_oracle_proves_the_checker_accepts() {
    let (mut valid, mut meets, mut searched, mut local, mut exact_claims, mut any_order) = (0, 0, 0, 0, 0, 0);
    let (mut joins, mut fixing, mut unjoined) = (0, 0, 0);
    for seed in 0..1000 {
        let (first, second) = models(seed);
        let mut rng = Rng::with_seed(seed ^ 0xBAD);
        if Grid::new(&[&first, &second]).unwrap().log10_cells() > 3.5 {
            continue;
        }
        let band = band(&mut rng, &first);
        let Ok(comparison) = Comparison::new(&first, &second, band) else { continue };
        let options =
            Options { threads: 1 + (seed as usize & 1), shortcuts: seed % 8 != 2, ..Options::unlimited() };
        let (compared, certificate) = comparison.certify(&options, Vec::new()).unwrap();
        let Some(certificate) = certificate else {
            assert_ne!(compared.verdict, Compared::Identical);
            continue;
        };
        let bytes = certificate.finish(true).unwrap();
        let verdict = check(&first, &second, &bytes[..], &Limits::default()).unwrap();
        // Without masks of leaves (as for large trees) the checker gives the same answer, except
        // that it joins only pieces with masks.
        let unmasked = kernel_limits(|limits| limits.masked_leaves = 0);
        match check(&first, &second, &bytes[..], &unmasked).unwrap() {
            Verdict::Incomplete { reason, .. } if reason.code() == "limit.join" => unjoined += 1,
            same => assert_eq!(same, verdict, "seed {seed}"),
        }
        let Verdict::Valid(proved) = verdict else { panic!("seed {seed}: {verdict:?}") };
        assert_eq!(proved.claim, comparison.claim());
        assert!(
            holds_on_every_cell(&first, &second, &comparison, band == Band::Exact),
            "seed {seed}: accepted, and wrong"
        );
        for step in &Opened::read(&bytes).unwrap().steps {
            if let Step::Join { fixed, .. } = step {
                joins += 1;
                fixing += u32::from(!fixed.is_empty());
            }
        }
        valid += 1;
        searched += u32::from(compared.nodes > 3);
        local += u32::from(Opened::read(&bytes).unwrap().is_local());
        exact_claims += u32::from(band == Band::Exact);
        any_order += u32::from(second.accumulation().order == Order::Any);
        meets += u32::from(seed % 4 == 0 && proved.steps > 0);
    }
    println!(
        "{valid} valid, {searched} searched, {meets} of stumps, {local} local, {exact_claims} exact, {any_order} any order, \
         {joins} joins, {fixing} with fixed axes, {unjoined} proofs that need masks"
    );
    assert!(valid > 500 && searched > 25 && local > 20 && exact_claims > 50 && any_order > 100);
    assert!(joins > 50 && fixing > 10 && unjoined < valid / 4, "{joins} {fixing} {unjoined}");
}

/// A model that can be compared with itself only by a search over boxes, if the trees that both
/// sides have in common are not recognised.
fn large(features: u32, trees: u32, thresholds: u32) -> Ensemble {
    let mut rng = Rng::with_seed(7);
    let mut shape = Shape::random(&mut rng);
    (shape.features, shape.categorical, shape.classes) = (features, 0, 2);
    (shape.trees, shape.depth, shape.thresholds) = (trees, 2, thresholds);
    shape.decision = Decision::Threshold { group: GroupId(0), threshold: 0.0, strict: true };
    (shape.coarse, shape.weighted) = (false, false);
    ensemble(&mut rng, &shape)
}

#[test]
fn several_threads_write_the_proof_that_one_writes() {
    // With joins a model has to be larger before there is work for several threads.
    for (model, small_boxes) in [(large(6, 30, 6), false), (large(9, 50, 9), true)] {
        let comparison = Comparison::new(&model, &model, Band::Exact).unwrap();
        let certificate = |threads: usize| {
            let options = Options { threads, small_boxes, shortcuts: false, ..Options::unlimited() };
            let (compared, certificate) = comparison.certify(&options, Vec::new()).unwrap();
            (compared.nodes, certificate.unwrap().finish(true).unwrap())
        };
        let (nodes, alone) = certificate(1);
        assert!(nodes > 8_000, "{nodes} boxes: no thread would have to help");
        for threads in [2, 5] {
            assert!(certificate(threads).1 == alone, "{threads} threads write another proof");
        }
        let joins = Opened::read(&alone).unwrap().steps.iter().any(|s| matches!(s, Step::Join { .. }));
        assert_eq!(joins, small_boxes);
        let verdict = check(&model, &model, &alone[..], &Limits::default()).unwrap();
        assert!(matches!(verdict, Verdict::Valid(_)), "{verdict:?}");
    }
}
