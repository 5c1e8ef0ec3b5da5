//! Packing: random models of every kind and every fixture, written, read by both readers, compared node by node, and run on
//! every path with the bits of the exact predictor; and files that were changed, byte by byte.

use fastrand::Rng;
use secateur_checker::{Difference, same_model};
use secateur_formats::packed::{File, Link, PackError, Stamp};
use secateur_formats::{Framework, ModelFile};
use secateur_model::{Decision, Ensemble, EnsembleBuilder, NumberType, Predictor, Transform, Value};
use secateur_runtime::{LoadError, Model, Path, PredictError, Rows};
use secateur_testkit::fuzz::{Target, both_readers, packed};
use secateur_testkit::{Shape, ensemble, mutate};

const STAMP: Stamp = Stamp { source: [9; 32], cover_rows: 3, cover_hash: 77 };

fn pack(model: &Ensemble) -> Vec<u8> {
    File::pack_ensemble(model, (Framework::XgBoost, "made at random"), Link::None, None, &STAMP).unwrap()
}

/// Is the model of a kind that cannot be packed? The reason says so.
fn is_refused(model: &Ensemble) -> bool {
    let values = matches!(
        model.decision(),
        Decision::Scores(
            Value::Above { .. } | Value::NotFixed(Transform::MeanAndVariance | Transform::PathLength)
        )
    );
    let refused = values || model.scale().is_some();
    if refused {
        let made = (Framework::XgBoost, "made at random");
        let error = File::pack_ensemble(model, made, Link::None, None, &STAMP).unwrap_err();
        assert!(matches!(error, PackError::Values { .. } | PackError::Scale { .. }), "{error}");
    }
    refused
}

/// The scores of the cover on every path are those of the exact predictor; the number of rows.
fn check_scores(model: &Ensemble, bytes: &[u8], what: &str) -> usize {
    let runtime = Model::load(bytes).unwrap_or_else(|error| panic!("{what}: {error}"));
    let cover = runtime.cover_rows();
    let rows = Rows::row_major(&cover, model.features().len()).unwrap();
    let expected = Predictor::new(model).raw_scores(&cover).unwrap_or_else(|error| panic!("{what}: {error}"));
    let classes = Predictor::new(model).classes(&cover).unwrap();
    for path in Path::available() {
        let mut scores = vec![0.0; expected.len()];
        runtime.raw_scores_on(path, rows, &mut scores).unwrap();
        for (at, (found, expected)) in scores.iter().zip(&expected).enumerate() {
            assert_eq!(found.to_bits(), expected.to_bits(), "{what}, {path}: score {at} of the cover");
        }
    }
    check_values(model, &runtime, &cover, what);
    if !model.decision().is_classifier() {
        let refused = runtime.classes(rows, &mut vec![0; rows.count()]);
        assert_eq!(refused, Err(PredictError::NoClasses), "{what}");
        return rows.count();
    }
    let mut found = vec![0; rows.count()];
    runtime.classes(rows, &mut found).unwrap();
    assert!(found.iter().zip(&classes).all(|(found, class)| *found == class.0), "{what}: another class");
    rows.count()
}

/// A regressor's values: the exact predictor's bits where these are fixed, and what the transform says elsewhere.
fn check_values(model: &Ensemble, runtime: &Model, cover: &[f64], what: &str) {
    let rows = Rows::row_major(cover, model.features().len()).unwrap();
    let mut found = vec![0.0; rows.count() * runtime.outputs()];
    let answer = runtime.values(rows, &mut found);
    let transform: fn(f64) -> f64 = match *model.decision() {
        Decision::Scores(Value::NotFixed(Transform::Sorted)) => {
            return assert_eq!(answer, Err(PredictError::ValuesVary), "{what}");
        }
        Decision::Scores(Value::NotFixed(Transform::Exp)) => f64::exp,
        Decision::Scores(Value::NotFixed(Transform::Logistic)) => |score| 1.0 / (1.0 + (-score).exp()),
        Decision::Scores(Value::NotFixed(Transform::LogOnePlusExp)) => |score| score.exp().ln_1p(),
        Decision::Scores(_) => {
            let expected = Predictor::new(model).values(cover).unwrap().expect("its bits are fixed");
            assert!(answer.is_ok() && bits(&found) == bits(&expected), "{what}: another value");
            return;
        }
        _ => return assert_eq!(answer, Err(PredictError::NoValues), "{what}"),
    };
    answer.unwrap();
    for (found, score) in found.iter().zip(Predictor::new(model).decided_scores(cover).unwrap()) {
        let expected = transform(score);
        let near = (found - expected).abs() <= 1e-5 * expected.abs() + 1e-30;
        let both_overflow = *found == f64::INFINITY && expected > f64::from(f32::MAX);
        assert!(near || both_overflow, "{what}: {found} of the score {score}, not {expected}");
    }
}

fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|value| value.to_bits()).collect()
}

#[test]
fn random_regressors_come_back_and_run_with_the_same_bits() {
    let kinds = [
        Value::Score,
        Value::SignedSquare,
        Value::ScoreAsF32,
        Value::NotFixed(Transform::Exp),
        Value::NotFixed(Transform::Logistic),
        Value::NotFixed(Transform::LogOnePlusExp),
        Value::NotFixed(Transform::Sorted),
    ];
    for seed in 0..700 {
        let mut rng = Rng::with_seed(seed);
        let mut shape = Shape::random(&mut rng);
        shape.decision = Decision::Scores(kinds[seed as usize % kinds.len()]);
        let model = ensemble(&mut rng, &shape);
        if is_refused(&model) {
            continue;
        }
        let bytes = pack(&model);
        let read = ModelFile::parse(&bytes).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        assert_eq!(same_model(&model, read.ensemble()), Ok(()), "seed {seed}");
        check_scores(&model, &bytes, &format!("seed {seed}"));
        // Another way from scores to predictions is another model.
        let mut other = shape.clone();
        other.decision = Decision::Scores(kinds[(seed as usize + 1) % kinds.len()]);
        let other = ensemble(&mut Rng::with_seed(seed), &other);
        if other.trees().len() == model.trees().len() {
            assert!(same_model(&other, read.ensemble()).is_err(), "seed {seed}");
        }
    }
}

#[test]
fn random_models_come_back_node_by_node_and_run_with_the_same_bits() {
    let mut rows = 0;
    for seed in 0..3000 {
        let mut rng = Rng::with_seed(seed);
        let shape = Shape::random(&mut rng);
        let model = ensemble(&mut rng, &shape);
        if is_refused(&model) {
            continue;
        }
        let bytes = pack(&model);
        let read = ModelFile::parse(&bytes).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        assert_eq!(same_model(&model, read.ensemble()), Ok(()), "seed {seed}");
        rows += check_scores(&model, &bytes, &format!("seed {seed}"));
        assert_eq!(read.to_bytes(), bytes, "seed {seed}");
    }
    assert!(rows > 30_000, "{rows} rows: too few for a test");
}

#[test]
fn another_model_is_told_apart() {
    let mut found = 0;
    for seed in 0..600 {
        let mut rng = Rng::with_seed(seed);
        let shape = Shape::random(&mut rng);
        let model = ensemble(&mut rng, &shape);
        let other = mutate(&mut rng, &model);
        if is_refused(&other) {
            continue;
        }
        let read = ModelFile::parse(&pack(&other)).unwrap();
        // Swapping two equal trees, or the children of two equal leaves, changes nothing.
        if model != other {
            let verdict = same_model(&model, read.ensemble());
            let bits = |model: &Ensemble| format!("{:?}", model.trees());
            assert!(verdict.is_err() || bits(&model) == bits(&other), "seed {seed}: {verdict:?}");
            found += u32::from(matches!(verdict, Err(Difference::Node { .. })));
        }
    }
    assert!(found > 50, "{found} differences at nodes: too few for a test");
}

#[test]
fn weights_are_no_scale() {
    // A packed file whose trees have a weight each rounds otherwise than a library that multiplies sums.
    let mut found = 0;
    for seed in 0..1500 {
        let mut rng = Rng::with_seed(seed);
        let shape = Shape::random(&mut rng);
        let model = ensemble(&mut rng, &shape);
        if model.scale().is_none() {
            continue;
        }
        let mut builder = EnsembleBuilder::new(
            model.features().clone(),
            *model.domain(),
            model.classes().clone(),
            model.intercepts().to_vec(),
            *model.accumulation(),
            *model.decision(),
        )
        .unwrap();
        for tree in model.trees() {
            builder.finished_tree(tree.clone()).unwrap();
        }
        let read = ModelFile::parse(&pack(&builder.build())).unwrap();
        let verdict = same_model(&model, read.ensemble());
        assert!(
            matches!(verdict, Err(Difference::Part(what)) if what.contains("multiplied")),
            "seed {seed}: {verdict:?}"
        );
        found += 1;
    }
    assert!(found > 10, "{found} models with a scale: too few for a test");
}

#[test]
fn every_fixture_packs_into_a_fraction_and_runs_with_the_same_bits() {
    let mut sizes = (0, 0);
    let (mut count, mut refused) = (0, 0);
    for target in Target::ALL.into_iter().filter(|&target| target != Target::Packed) {
        for seed in target.seeds().unwrap() {
            let model = ModelFile::parse(&seed).unwrap();
            let what = format!("{} {count}", model.dialect());
            if is_refused(model.ensemble()) {
                refused += 1;
                continue;
            }
            let bytes = packed(&seed).unwrap();
            let read = ModelFile::parse(&bytes).unwrap_or_else(|error| panic!("{what}: {error}"));
            assert_eq!(same_model(model.ensemble(), read.ensemble()), Ok(()), "{what}");
            assert_eq!(Link::of(&read), Link::of(&model), "{what}");
            assert_eq!(read.framework(), model.framework(), "{what}");
            assert_eq!(read.logistic_scale(), model.logistic_scale(), "{what}");
            check_scores(model.ensemble(), &bytes, &what);
            sizes = (sizes.0 + seed.len(), sizes.1 + bytes.len());
            count += 1;
        }
    }
    assert!(count > 100 && refused > 10, "{count} fixtures, {refused} refused");
    // Small models have long heads; still, all together are far smaller.
    assert!(sizes.1 * 8 < sizes.0, "{} bytes became {}", sizes.0, sizes.1);
}

#[test]
fn a_changed_byte_is_an_error_and_never_a_panic() {
    for seed in [1, 5, 17, 23] {
        let mut rng = Rng::with_seed(seed);
        let shape = Shape::random(&mut rng);
        let bytes = pack(&ensemble(&mut rng, &shape));
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut changed = bytes.clone();
                changed[at] ^= 1 << bit;
                let error = Model::load(&changed).unwrap_err();
                let told =
                    matches!(error, LoadError::Checksum | LoadError::NotPacked | LoadError::Version(_));
                assert!(told, "byte {at}: {error}");
                assert!(ModelFile::parse(&changed).is_err(), "byte {at}");
                // With a checksum that fits again, the content has to be looked at.
                File::seal(&mut changed);
                both_readers(&changed);
            }
        }
        for cut in 0..bytes.len() {
            assert!(
                Model::load(&bytes[..cut]).is_err() && ModelFile::parse(&bytes[..cut]).is_err(),
                "cut at {cut}"
            );
            let mut cut = bytes[..cut].to_vec();
            File::seal(&mut cut);
            both_readers(&cut);
        }
    }
}

#[test]
fn a_file_that_declares_too_much_takes_no_memory() {
    let mut rng = Rng::with_seed(4);
    let shape = Shape::random(&mut rng);
    let bytes = pack(&ensemble(&mut rng, &shape));
    // Every position as the start of a huge count.
    for at in 4..bytes.len() - 8 {
        let mut changed = bytes.clone();
        changed.splice(at..at + 1, [0xff, 0xff, 0xff, 0xff, 0x7f]);
        File::seal(&mut changed);
        both_readers(&changed);
    }
}

#[test]
fn the_type_of_sums_decides_how_leaves_are_written() {
    let mut seen = [false; 2];
    for seed in 0..50 {
        let mut rng = Rng::with_seed(seed);
        let shape = Shape::random(&mut rng);
        seen[usize::from(shape.accumulation.number == NumberType::F64)] = true;
        let model = ensemble(&mut rng, &shape);
        assert!(ModelFile::parse(&pack(&model)).is_ok());
    }
    assert_eq!(seen, [true; 2]);
}
