//! Packs random models of every kind and every fixture, reads the files, compares the models node by
//! node, and runs them on every path, where the scores must have the bits of the exact predictor.
//! Also reads files in which one bit was changed, for every bit.

use fastrand::Rng;
use secateur_formats::Link;
use secateur_formats::packed::{File, Stamp};
use secateur_formats::{Framework, ModelFile};
use secateur_model::{Decision, Ensemble, EnsembleBuilder, NumberType, Predictor, Transform, Value};
use secateur_runtime::{LoadError, Model, Path, PredictError, Rows};
use secateur_source::{Difference, same_model};
use secateur_testkit::fuzz::{Target, packed, read_and_run};
use secateur_testkit::{Shape, VALUES, ensemble, mutate};

const STAMP: Stamp = Stamp { source: [9; 32], cover_rows: 3, cover_hash: 77 };

fn pack(model: &Ensemble) -> Vec<u8> {
    File::pack_ensemble(model, (Framework::XgBoost, "made at random"), Link::None, None, &STAMP).unwrap()
}

/// Asserts that the scores of the cover on every path are those of the exact predictor. Returns the
/// number of rows.
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

/// Checks a regressor's values: they have the exact predictor's bits if the bits are fixed;
/// otherwise they must be near what the transform gives.
fn check_values(model: &Ensemble, runtime: &Model, cover: &[f64], what: &str) {
    let rows = Rows::row_major(cover, model.features().len()).unwrap();
    let mut found = vec![0.0; rows.count() * runtime.outputs()];
    let answer = runtime.values(rows, &mut found);
    let transform: fn(f64) -> f64 = match *model.decision() {
        Decision::Scores(Value::NotFixed(Transform::Sorted)) => {
            return assert_eq!(answer, Err(PredictError::ValuesVary), "{what}");
        }
        Decision::Scores(Value::NotFixed(Transform::PathLength)) => {
            return assert_eq!(answer, Err(PredictError::ValuesUnknown), "{what}");
        }
        Decision::Scores(Value::NotFixed(Transform::MeanAndVariance)) => |score| (2.0 * score).exp(),
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
    let mean = *model.decision() == Decision::Scores(Value::NotFixed(Transform::MeanAndVariance));
    let scores = Predictor::new(model).decided_scores(cover).unwrap();
    for (at, (found, score)) in found.iter().zip(scores).enumerate() {
        // Of mean and variance, the mean is the score itself.
        let expected = if mean && at % 2 == 0 { score } else { transform(score) };
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
    let mut scaled = 0;
    for seed in 0..1000 {
        let mut rng = Rng::with_seed(seed);
        let shape = Shape::random(&mut rng).predicting(VALUES[seed as usize % VALUES.len()]);
        let drawn = rng.clone();
        let model = ensemble(&mut rng, &shape);
        scaled += u32::from(model.scale().is_some());
        let bytes = pack(&model);
        let read = ModelFile::parse(&bytes).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        assert_eq!(same_model(&model, read.ensemble()), Ok(()), "seed {seed}");
        check_scores(&model, &bytes, &format!("seed {seed}"));
        // A model that makes another value of its scores is another model.
        for (at, &value) in VALUES.iter().enumerate().filter(|(at, _)| *at != seed as usize % VALUES.len()) {
            if value == Value::NotFixed(Transform::MeanAndVariance) && shape.classes != 2 {
                continue;
            }
            let other = ensemble(&mut drawn.clone(), &shape.clone().predicting(value));
            let verdict = same_model(&other, read.ensemble());
            assert_eq!(verdict, Err(Difference::Part("the decision rules")), "seed {seed}, value {at}");
        }
        // So is a model with another number to compare with.
        if let Decision::Scores(Value::Above { threshold }) = shape.decision {
            let other = shape.clone().predicting(Value::Above { threshold: threshold.next_up() });
            let other = ensemble(&mut drawn.clone(), &other);
            assert!(same_model(&other, read.ensemble()).is_err(), "seed {seed}");
        }
    }
    assert!(scaled > 10, "{scaled} models with a scale: too few for a test");
}

#[test]
fn random_models_come_back_node_by_node_and_run_with_the_same_bits() {
    let (mut rows, mut scaled) = (0, 0);
    for seed in 0..3000 {
        let mut rng = Rng::with_seed(seed);
        let shape = Shape::any(&mut rng);
        let model = ensemble(&mut rng, &shape);
        scaled += u32::from(model.scale().is_some());
        let bytes = pack(&model);
        let read = ModelFile::parse(&bytes).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        assert_eq!(same_model(&model, read.ensemble()), Ok(()), "seed {seed}");
        rows += check_scores(&model, &bytes, &format!("seed {seed}"));
        assert_eq!(read.to_bytes(), bytes, "seed {seed}");
    }
    assert!(rows > 30_000 && scaled > 30, "{rows} rows, {scaled} models with a scale: too few for a test");
}

#[test]
fn another_model_is_told_apart() {
    let mut found = 0;
    for seed in 0..600 {
        let mut rng = Rng::with_seed(seed);
        let shape = Shape::random(&mut rng);
        let model = ensemble(&mut rng, &shape);
        let other = mutate(&mut rng, &model);
        let read = ModelFile::parse(&pack(&other)).unwrap();
        // Swapping two equal trees, or the children of a split with two equal leaves, changes
        // nothing.
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
    // A packed file with a weight for each tree rounds differently from a library that multiplies
    // sums.
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
            *model.intake(),
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
    let (mut count, mut scaled, mut several) = (0, 0, 0);
    for target in Target::ALL.into_iter().filter(|target| target.reads_models()) {
        for seed in target.seeds().unwrap() {
            let model = ModelFile::parse(&seed).unwrap();
            let what = format!("{} {count}", model.dialect());
            scaled += u32::from(model.ensemble().scale().is_some());
            several +=
                u32::from(matches!(model.ensemble().decision(), Decision::Scores(Value::Above { .. })));
            let bytes = packed(&seed).unwrap_or_else(|| panic!("{what}: it does not pack"));
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
    assert!(
        count > 100 && scaled >= 10 && several >= 8,
        "{count} fixtures, {scaled} scaled, {several} of labels"
    );
    // Small models have long headers, but all files together are far smaller.
    assert!(sizes.1 * 8 < sizes.0, "{} bytes became {}", sizes.0, sizes.1);
}

#[test]
fn a_changed_byte_is_an_error_and_never_a_panic() {
    let of = |seed, value: Option<Value>| {
        let mut rng = Rng::with_seed(seed);
        let shape = Shape::random(&mut rng);
        ensemble(&mut rng, &value.map_or(shape.clone(), |value| shape.predicting(value)))
    };
    let scaled = (0..).map(|seed| of(seed, None)).find(|model| model.scale().is_some()).unwrap();
    let several = of(17, Some(Value::Above { threshold: 0.5 }));
    let variances = of(29, Some(Value::NotFixed(Transform::MeanAndVariance)));
    let models = [1, 5, 17, 23].map(|seed| of(seed, None)).into_iter().chain([scaled, several, variances]);
    for model in models {
        let link = match model.decision() {
            Decision::Scores(Value::Above { .. }) => Link::Each { scale: 1.0 },
            _ => Link::None,
        };
        let made = (Framework::CatBoost, "made at random");
        let bytes = File::pack_ensemble(&model, made, link, None, &STAMP).unwrap();
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut changed = bytes.clone();
                changed[at] ^= 1 << bit;
                let error = Model::load(&changed).unwrap_err();
                let told =
                    matches!(error, LoadError::Checksum | LoadError::NotPacked | LoadError::Version(_));
                assert!(told, "byte {at}: {error}");
                assert!(ModelFile::parse(&changed).is_err(), "byte {at}");
                // With a matching checksum, the content itself has to be checked.
                File::seal(&mut changed);
                read_and_run(&changed);
            }
        }
        for cut in 0..bytes.len() {
            assert!(
                Model::load(&bytes[..cut]).is_err() && ModelFile::parse(&bytes[..cut]).is_err(),
                "cut at {cut}"
            );
            let mut cut = bytes[..cut].to_vec();
            File::seal(&mut cut);
            read_and_run(&cut);
        }
    }
}

#[test]
fn a_file_that_declares_too_much_takes_no_memory() {
    let mut rng = Rng::with_seed(4);
    let shape = Shape::random(&mut rng);
    let bytes = pack(&ensemble(&mut rng, &shape));
    // Tries every position as the start of a huge count.
    for at in 4..bytes.len() - 8 {
        let mut changed = bytes.clone();
        changed.splice(at..at + 1, [0xff, 0xff, 0xff, 0xff, 0x7f]);
        File::seal(&mut changed);
        read_and_run(&changed);
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
