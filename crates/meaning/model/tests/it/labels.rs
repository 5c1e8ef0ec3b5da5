//! Class labels: when two of them are the same, and models with other labels.

use secateur_model::{
    Accumulation, ClassId, ClassLabels, Decision, EnsembleBuilder, Features, GroupId, Intake, NumberType,
};

const DOMAIN: Intake = Intake::everything(NumberType::F32);
const SUMS: Accumulation = Accumulation::in_order(NumberType::F32);
const BINARY: Decision = Decision::Threshold { group: GroupId(0), threshold: 0.0, strict: true };

#[test]
fn labels_are_the_same_if_a_program_would_find_them_equal() {
    let text = |labels: [&str; 2]| ClassLabels::Strings(labels.map(str::to_owned).to_vec());
    let [none, whole, real, flags] = [
        ClassLabels::Unnamed(2),
        ClassLabels::Integers(vec![0, 1]),
        ClassLabels::Floats(vec![-0.0, 1.0]),
        ClassLabels::Booleans(vec![false, true]),
    ];
    let same = |a: &ClassLabels, b: &ClassLabels| {
        [0, 1].map(|own| [0, 1].map(|other| a.is_same(ClassId(own), b, ClassId(other))))
    };
    let equal = [[true, false], [false, true]];
    for (a, b) in [(&none, &whole), (&whole, &real), (&flags, &whole), (&real, &flags)] {
        assert_eq!(same(a, b), equal, "{a:?} and {b:?}");
        assert_eq!(same(b, a), equal, "{b:?} and {a:?}");
    }
    assert_eq!(same(&text(["b", "a"]), &text(["a", "b"])), [[false, true], [true, false]]);
    // Labels of different types that look the same are different: 1 == "1" is false.
    for (labels, texts) in [(&whole, ["0", "1"]), (&real, ["-0.0", "1.0"]), (&flags, ["False", "True"])] {
        assert_eq!(same(labels, &text(texts)), [[false; 2]; 2]);
        assert_eq!(same(&text(texts), labels), [[false; 2]; 2]);
    }
    // Labels are not compared as rounded numbers, and NaN equals nothing.
    let large = ClassLabels::Integers(vec![(1 << 53) + 1, 1 << 53]);
    let rounded = ClassLabels::Floats(vec![9007199254740992.0, f64::NAN]);
    assert_eq!(same(&large, &rounded), [[false, false], [true, false]]);
    assert_eq!(same(&rounded, &rounded), [[true, false], [false, false]]);
}

#[test]
fn a_model_takes_other_labels_one_for_each_class() {
    let features = Features::unnamed(1);
    let classes = ClassLabels::Unnamed(2);
    let builder = EnsembleBuilder::new(features, DOMAIN, classes, vec![0.0], SUMS, BINARY).unwrap();
    let model = builder.build();
    let labelled = model.with_classes(ClassLabels::Integers(vec![5, 7])).unwrap();
    assert_eq!(labelled.classes().text(ClassId(1)), "7");
    assert_eq!(labelled.with_classes(ClassLabels::Unnamed(2)).as_ref(), Some(&model));
    assert_eq!(model.with_classes(ClassLabels::Unnamed(3)), None);
}
