//! The checker reads emitted source back as the same model, and as no other.

use crate::common;
use fastrand::Rng;
use secateur_emit::{EmitError, Form};
use secateur_formats::Link;
use secateur_source::same_model;
use secateur_source::{SourceFile, is_name, same_source};
use secateur_testkit::{Shape, ensemble, mutate};

#[test]
fn random_models_read_back_as_themselves_and_not_as_their_neighbours() {
    let mut rng = Rng::with_seed(7);
    let (mut written, mut refused, mut seen) = (0, 0, Vec::new());
    for _ in 0..1500 {
        let mut shape = Shape::random(&mut rng);
        if rng.u8(0..3) == 0 {
            // Deep trees with different leaves, for which neither a list of leaves nor a perfect
            // tree is shorter.
            (shape.coarse, shape.depth) = (false, rng.u32(4..=8));
        }
        let model = ensemble(&mut rng, &shape);
        let form = if rng.bool() { Form::C } else { Form::Header };
        let turn = rng.usize(0..100);
        let (style, link) = (common::by_turns(&model, turn, form, "model"), common::link(&model, turn));
        let text = match common::written(&model, style, &["a note".to_owned()]) {
            Err(EmitError::Scale) if model.scale().is_some() => continue,
            other => other.unwrap(),
        };
        let file = SourceFile::parse(text.as_bytes()).unwrap_or_else(|error| panic!("{error}\n{text}"));
        same_source(&model, link, &file).unwrap_or_else(|error| panic!("{error}\n{text}"));
        written += 1;
        seen.push(common::layout_of(&text));
        let other = mutate(&mut rng, &model);
        if same_model(&model, &other).is_err() && same_source(&other, link, &file).is_err() {
            refused += 1;
        } else {
            // If another model is accepted, too, it computes the same on every row of both covers.
            let rows =
                [common::judged(&model, &mut rng).rows, common::judged(&other, &mut rng).rows].concat();
            let [ours, theirs] = [&model, &other].map(|model| common::judge(model, rows.clone()));
            let bits = |scores: &[f64]| scores.iter().map(|score| score.to_bits()).collect::<Vec<_>>();
            assert!(bits(&ours.scores) == bits(&theirs.scores) && ours.classes == theirs.classes, "{text}");
        }
    }
    assert!(written > 1000 && refused > 600, "{written} written, {refused} refused");
    let count = |layout| seen.iter().filter(|&&one| one == layout).count();
    let counts = ["words", "full", "small", "tests"].map(count);
    assert!(counts.into_iter().all(|count| count > 30), "{counts:?}");
}

#[test]
fn every_committed_model_reads_back() {
    let models = common::fixtures();
    let families: std::collections::BTreeSet<String> =
        models.iter().map(|(_, file)| format!("{:?}", file.framework())).collect();
    assert!(families.len() == 5 && models.len() > 50, "{} models of {families:?}", models.len());
    for (name, file) in &models {
        let text = common::written(file.ensemble(), common::exact(Form::C, "model"), &[])
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        let read = SourceFile::parse(text.as_bytes()).unwrap_or_else(|error| panic!("{name}: {error}"));
        same_source(file.ensemble(), Link::None, &read).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

#[test]
fn names_that_a_compiler_would_not_take_are_refused() {
    for name in ["model", "m", "House_2", "a1234567890123456789012345678901234567"] {
        assert!(is_name(name), "{name}");
    }
    let long = "a".repeat(41);
    for name in
        ["", "1st", "_m", "while", "class", "fn", "a-b", "a b", "a\n", "ä", "a;int x", "a*/", "a\\", &long]
    {
        assert!(!is_name(name), "{name}");
        let mut rng = Rng::with_seed(1);
        let shape = Shape { weighted: false, ..Shape::random(&mut rng) };
        let model = ensemble(&mut rng, &shape);
        assert_eq!(
            common::written(&model, common::exact(Form::C, name), &[]),
            Err(EmitError::Name(name.to_owned()))
        );
    }
}

#[test]
fn notes_cannot_end_the_comment() {
    let mut rng = Rng::with_seed(2);
    let shape = Shape { weighted: false, ..Shape::random(&mut rng) };
    let model = ensemble(&mut rng, &shape);
    let text = common::written(
        &model,
        common::exact(Form::C, "model"),
        &["*/ int x; /* ??/ \\\n #define y".to_owned()],
    )
    .unwrap();
    let file = SourceFile::parse(text.as_bytes()).unwrap();
    assert_eq!(same_source(&model, Link::None, &file), Ok(()));
    assert!(text.contains(" * __ int x; __ ___ __ _define y\n"), "{text}");
}
