//! The builder refuses models that no library could execute, and says where the fault is.

use secateur_model::{
    Accumulation, Average, BuildError, Categories, CategoryRule, ClassLabels, Decision, EnsembleBuilder,
    FeatureId, Features, GroupId, Intake, MAX_FEATURES, MAX_UNNAMED_FEATURES, NodeId, NumberType, Output,
    Split, Test, TreeBuilder, TreeId,
};

const DOMAIN: Intake = Intake::everything(NumberType::F32);
const SUMS: Accumulation = Accumulation::in_order(NumberType::F32);
const BINARY: Decision = Decision::Threshold { group: GroupId(0), threshold: 0.0, strict: true };

/// Two columns, the second categorical; one sum.
fn builder() -> EnsembleBuilder {
    let mut features = Features::unnamed(2);
    let rule = CategoryRule::TruncateNonNegative;
    features.set_categories(FeatureId(1), Categories { rule, unseen_is_missing: false, labels: None });
    EnsembleBuilder::new(features, DOMAIN, ClassLabels::Unnamed(2), vec![0.0], SUMS, BINARY).unwrap()
}

fn less(feature: u32, threshold: f64) -> Split<'static> {
    Split { feature: FeatureId(feature), test: Test::Less { threshold }, missing_left: false }
}

fn member(feature: u32, set: &[u32]) -> Split<'_> {
    Split { feature: FeatureId(feature), test: Test::Member { set, members_left: true }, missing_left: false }
}

/// The builder's error for a tree made by `make`.
fn refusal(make: impl FnOnce(&mut TreeBuilder)) -> BuildError {
    refusal_with(Output::Group(GroupId(0)), 1.0, make)
}

fn refusal_with(output: Output, weight: f64, make: impl FnOnce(&mut TreeBuilder)) -> BuildError {
    let mut tree = TreeBuilder::new();
    make(&mut tree);
    let mut builder = builder();
    builder.tree(tree, output, weight).map(|_| ()).unwrap_err()
}

const T: TreeId = TreeId(0);
const N: fn(u32) -> NodeId = NodeId;

#[test]
fn a_sound_tree_is_accepted() {
    let mut tree = TreeBuilder::new();
    tree.split(less(0, 1.0), N(1), N(2)).leaf(&[1.0]).split(member(1, &[3, 5]), N(3), N(4));
    tree.leaf(&[2.0]).leaf(&[3.0]).unused();
    let mut builder = builder();
    builder.tree(tree, Output::Group(GroupId(0)), 1.0).unwrap();
    assert_eq!(builder.build().trees()[0].leaf_count(), 3);
}

#[test]
fn broken_structure_is_refused_by_node() {
    assert_eq!(refusal(|_| ()), BuildError::EmptyTree { tree: T });
    assert_eq!(
        refusal(|t| {
            t.split(less(0, 1.0), N(1), N(7)).leaf(&[1.0]);
        }),
        BuildError::ChildOutOfRange { tree: T, node: N(0), child: N(7), nodes: 2 }
    );
    assert_eq!(
        refusal(|t| {
            t.split(less(0, 1.0), N(1), N(1)).leaf(&[1.0]);
        }),
        BuildError::ChildReachedTwice { tree: T, node: N(0), child: N(1) }
    );
    assert_eq!(
        refusal(|t| {
            t.split(less(0, 1.0), N(1), N(2)).leaf(&[1.0]).split(less(0, 2.0), N(0), N(3)).leaf(&[1.0]);
        }),
        BuildError::ChildReachedTwice { tree: T, node: N(2), child: N(0) }
    );
    assert_eq!(
        refusal(|t| {
            t.leaf(&[1.0]).leaf(&[2.0]);
        }),
        BuildError::Unreachable { tree: T, node: N(1) }
    );
    assert_eq!(
        refusal(|t| {
            t.split(less(0, 1.0), N(1), N(2)).leaf(&[1.0]).unused();
        }),
        BuildError::UnusedReached { tree: T, node: N(2) }
    );
}

#[test]
fn broken_splits_are_refused_by_node() {
    let with = |split: Split<'_>| {
        refusal(|t| {
            t.split(split, N(1), N(2)).leaf(&[1.0]).leaf(&[2.0]);
        })
    };
    let (node, feature) = (N(0), FeatureId(1));
    assert_eq!(
        with(less(9, 1.0)),
        BuildError::FeatureOutOfRange { tree: T, node, feature: FeatureId(9), features: 2 }
    );
    assert_eq!(with(less(0, f64::NAN)), BuildError::NanThreshold { tree: T, node });
    assert_eq!(with(less(1, 1.0)), BuildError::NumberTestOnCategory { tree: T, node, feature });
    assert_eq!(
        with(member(0, &[1])),
        BuildError::CategoryTestOnNumber { tree: T, node, feature: FeatureId(0) }
    );
    assert_eq!(with(member(1, &[2, 2])), BuildError::UnsortedCategories { tree: T, node });
    assert_eq!(with(member(1, &[3, 2])), BuildError::UnsortedCategories { tree: T, node });
}

#[test]
fn broken_leaves_are_refused() {
    assert_eq!(
        refusal(|t| {
            t.leaf(&[1.0, 2.0]);
        }),
        BuildError::LeafWidth { tree: T, node: N(0), expected: 1, found: 2 }
    );
    assert_eq!(
        refusal(|t| {
            t.split(less(0, 1.0), N(1), N(2)).leaf(&[1.0]).leaf(&[]);
        }),
        BuildError::LeafWidth { tree: T, node: N(2), expected: 1, found: 1 }
    );
    for value in [f64::INFINITY, 0.1] {
        // 0.1 is not an f32.
        let number = NumberType::F32;
        assert_eq!(
            refusal(|t| {
                t.leaf(&[value]);
            }),
            BuildError::LeafValue { tree: T, value, number }
        );
    }
    let group = GroupId(1);
    let leaf = |t: &mut TreeBuilder| {
        t.leaf(&[1.0]);
    };
    assert_eq!(
        refusal_with(Output::Group(group), 1.0, leaf),
        BuildError::GroupOutOfRange { tree: T, group, groups: 1 }
    );
    assert!(matches!(refusal_with(Output::All, f64::NAN, leaf), BuildError::TreeWeight { .. }));
}

#[test]
fn broken_headers_are_refused() {
    let build = |features, classes, intercepts, sums, decision| {
        EnsembleBuilder::new(features, DOMAIN, classes, intercepts, sums, decision).map(|_| ()).unwrap_err()
    };
    let two = || Features::unnamed(2);
    let classes = || ClassLabels::Unnamed(2);
    let (found, limit) = (MAX_UNNAMED_FEATURES + 1, MAX_UNNAMED_FEATURES);
    assert_eq!(
        build(Features::unnamed(found as u32), classes(), vec![0.0], SUMS, BINARY),
        BuildError::TooManyUnnamedFeatures { found, limit }
    );
    assert_eq!(
        build(Features::unnamed(MAX_FEATURES as u32 + 1), classes(), vec![0.0], SUMS, BINARY),
        BuildError::TooManyFeatures { found: MAX_FEATURES + 1, limit: MAX_FEATURES }
    );
    assert!(matches!(
        build(two(), classes(), vec![f64::NAN], SUMS, BINARY),
        BuildError::Intercept { group: GroupId(0), .. }
    ));
    let errors = |errors: Vec<f64>| {
        let mut builder = EnsembleBuilder::new(two(), DOMAIN, classes(), vec![0.0], SUMS, BINARY).unwrap();
        builder.intercept_errors(errors).map(|_| ()).unwrap_err()
    };
    assert_eq!(errors(vec![0.0; 2]), BuildError::InterceptErrors { found: 2, groups: 1 });
    for value in [-1.0, f64::NAN, f64::INFINITY] {
        assert!(matches!(errors(vec![value]), BuildError::InterceptError { group: GroupId(0), .. }));
    }
    for (classes, intercepts, decision) in [
        (3, vec![0.0], BINARY),
        (2, vec![], BINARY),
        (2, vec![0.0], Decision::Argmax),
        (2, vec![0.0; 2], Decision::ArgmaxSigmoid { scale: -1.0 }),
    ] {
        let groups = intercepts.len();
        assert_eq!(
            build(two(), ClassLabels::Unnamed(classes), intercepts, SUMS, decision),
            BuildError::Decision { groups, classes: classes as usize }
        );
    }
    for divisor in [0.0, -1.0, f64::INFINITY] {
        let sums = Accumulation { average: Some(Average { divisor, in_raw_scores: true }), ..SUMS };
        assert_eq!(build(two(), classes(), vec![0.0], sums, BINARY), BuildError::Divisor { divisor });
    }
}
