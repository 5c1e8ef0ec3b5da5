//! The evidence for lower bounds, as the independent checker judges it.

use fastrand::Rng;
use secateur_checker::{Limits, Verdict, check};
use secateur_formats::ModelFile;
use secateur_model::{Ensemble, Grid, TreeId};
use secateur_oracle::{Band, Comparison, Options, SearchBudget};
use secateur_prune::{
    Bound, Column, ColumnCut, Cutter, Evidence, Intercept, Points, cheapest_cover, indispensable,
    relevant_boundaries, write_bounds,
};
use secateur_testkit::{Shape, ensemble, testdata};

const FILES: [&str; 7] = [
    "xgboost/3.4.1-logistic.json",
    "xgboost/3.4.1-softprob.json",
    "lightgbm/binary.txt",
    "lightgbm/multiclass.txt",
    "sklearn/adaboost.skops",
    "sklearn/forest.skops",
    "onnx/gradient_boosting.onnx",
];

/// All evidence about the columns of a model's own trees.
fn evidence_of(
    model: &Ensemble,
    band: Option<f64>,
    intercept: Intercept,
    costs: Vec<u64>,
    rng: &mut Rng,
) -> Evidence {
    let grid = Grid::new(&[model]).unwrap();
    let column = |index| Column { terms: vec![index], trees: vec![TreeId::new(index)], cost: 1.0 };
    let mut points = Points::new(model, band, (0..model.trees().len()).map(column).collect());
    let mut cutter = Cutter::new(model, intercept);
    let budget = SearchBudget::unlimited();
    let relevant = relevant_boundaries(model, &grid, band, &[], rng, &budget);
    let found = indispensable(&mut points, &grid, &mut cutter, Some(&relevant), None, rng, &budget);
    let cuts: Vec<ColumnCut> = found.cuts().cloned().collect();
    let sets: Vec<Vec<usize>> = cuts.iter().map(|cut| cut.columns.clone()).collect();
    let cover = cheapest_cover(&sets, &costs, &budget).unwrap();
    let bound = Bound { costs, least: cover.bound, proof: cover.proof };
    Evidence::new(&points, intercept)
        .with_bound(&points, &cuts, bound)
        .with_relevant(&points, &grid, &relevant)
}

/// The checker's verdict on a certificate with these bounds, for a model pruned to itself. `None`
/// if the model's decisions depend on the order of addition: then there is no certificate.
fn verdict(model: &Ensemble, band: Band, evidence: &Evidence) -> Option<Verdict> {
    let comparison = Comparison::new(model, model, band).unwrap();
    let (_, writer) = comparison.certify(&Options::unlimited(), Vec::new()).unwrap();
    let mut writer = writer?;
    write_bounds(evidence, &mut writer).unwrap();
    let bytes = writer.finish(true).unwrap();
    Some(check(model, model, &bytes[..], &Limits::default()).unwrap())
}

fn band_of(model: &Ensemble, rng: &mut Rng) -> (Band, Option<f64>) {
    match model.certain_margin() {
        Some(margin) if rng.bool() => (Band::Auto, Some(margin)),
        _ => (Band::Exact, None),
    }
}

/// The bounds that a valid certificate proves: on columns or their cost, and on thresholds.
fn bounds(verdict: &Verdict) -> Option<(u64, u64)> {
    let Verdict::Valid(proved) = verdict else { return None };
    let columns = proved.cost.or(proved.columns).map_or(0, |bound| bound.bound);
    Some((columns, proved.thresholds.unwrap_or(0)))
}

#[test]
fn the_checker_accepts_evidence_and_proves_the_same_bounds() {
    let mut rng = Rng::with_seed(31);
    let (mut columns, mut thresholds) = (0, 0);
    for _ in 0..80 {
        let shape = Shape { trees: rng.u32(1..=6), ..Shape::random(&mut rng) };
        let model = ensemble(&mut rng, &shape);
        let (band, score) = band_of(&model, &mut rng);
        // Without an intercept, the original is among the candidates only if its own intercepts are
        // zero.
        let none = model.intercepts().iter().all(|&value| value == 0.0);
        let intercept = match rng.u32(0..3) {
            0 => Intercept::Free,
            1 if none => Intercept::None,
            _ => Intercept::Scaled,
        };
        let costs = model.trees().iter().map(|_| if rng.bool() { 1 } else { rng.u64(1..4) }).collect();
        let evidence = evidence_of(&model, score, intercept, costs, &mut rng);
        let least = evidence.bound.as_ref().unwrap().least;
        let Some(found) = verdict(&model, band, &evidence) else { continue };
        assert_eq!(bounds(&found), Some((least, evidence.crossings.len() as u64)), "{found:?}");
        columns += least;
        thresholds += evidence.crossings.len();
    }
    assert!(columns > 50 && thresholds > 50, "{columns} {thresholds}");
}

#[test]
fn changed_evidence_is_refused_or_shows_no_more() {
    let mut rng = Rng::with_seed(32);
    let mut refused = 0;
    for round in 0..150 {
        let shape = Shape { trees: rng.u32(2..=6), depth: 2, ..Shape::random(&mut rng) };
        let model = ensemble(&mut rng, &shape);
        let (band, score) = band_of(&model, &mut rng);
        let costs = vec![1; model.trees().len()];
        let evidence = evidence_of(&model, score, Intercept::Free, costs, &mut rng);
        let most = (evidence.bound.as_ref().unwrap().least, evidence.crossings.len() as u64);
        let mut changed = evidence.clone();
        let certain = mutate(&mut changed, &mut rng);
        if changed == evidence {
            continue;
        }
        let Some(found) = verdict(&model, band, &changed) else { continue };
        match bounds(&found) {
            None => refused += 1,
            Some(shown) => {
                assert!(!certain, "{round}: accepted {shown:?}");
                assert!(shown.0 <= most.0 && shown.1 <= most.1, "{round}: {shown:?} of {most:?}");
            }
        }
    }
    assert!(refused > 60, "{refused}");
}

/// Makes one change; true if the checker must refuse it.
fn mutate(evidence: &mut Evidence, rng: &mut Rng) -> bool {
    let points = evidence.points.len();
    match rng.u32(0..7) {
        0 => {
            evidence.bound.as_mut().unwrap().least += 1;
            return true;
        }
        1 if !evidence.cuts.is_empty() => {
            evidence.cuts.pop();
            return true;
        }
        2 if !evidence.cuts.is_empty() => {
            // This unbalances free intercepts.
            evidence.cuts[0][0].multiplier *= 2u32;
            return true;
        }
        3 if !evidence.cuts.is_empty() => {
            let term = &mut evidence.cuts[0][0];
            std::mem::swap(&mut term.winner, &mut term.other);
            return true;
        }
        4 if points > 1 && !evidence.cuts.is_empty() => evidence.cuts[0][0].point = rng.usize(0..points),
        5 if !evidence.crossings.is_empty() => {
            let crossing = &mut evidence.crossings[0];
            std::mem::swap(&mut crossing.low, &mut crossing.high);
            return true;
        }
        6 if !evidence.crossings.is_empty() => {
            evidence.crossings.push(evidence.crossings[0]);
            return true;
        }
        _ => evidence.intercept = Intercept::None.into(),
    }
    false
}

#[test]
fn files_of_every_framework_have_their_bounds_checked() {
    let folder = testdata("models");
    let mut rng = Rng::with_seed(33);
    for name in FILES {
        let file = ModelFile::read(&folder.join(name)).unwrap();
        let model = file.ensemble();
        let costs = vec![1; model.trees().len()];
        let evidence = evidence_of(model, model.certain_margin(), Intercept::Free, costs, &mut rng);
        let most = (evidence.bound.as_ref().unwrap().least, evidence.crossings.len() as u64);
        assert!(most.0 > 0 && most.1 > 0, "{name}: {most:?}");
        let found = verdict(model, Band::Auto, &evidence).unwrap();
        assert_eq!(bounds(&found), Some(most), "{name}: {found:?}");
    }
}
