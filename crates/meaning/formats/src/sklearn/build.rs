//! Turns the parts of a classifier or regressor into the model that scikit-learn executes.
//!
//! - Trees of `sklearn.tree` compare `f64(f32(x)) <= threshold`; NaN follows `missing_go_to_left`;
//!   infinities, and numbers that round to one in f32, are refused. Gradient boosting and AdaBoost
//!   refuse NaN too.
//! - A forest adds the leaves' class fractions in f64 and divides by the number of trees. With
//!   several jobs the order of additions varies from run to run.
//! - AdaBoost lets each tree vote: it adds its weight for the first class with the largest
//!   fraction, and `-1 / (K - 1)` times it for the others; the sums are divided by the sum of all
//!   weights. For two classes the decision function is twice the second column.
//! - Gradient boosting adds `learning_rate * value` to the start; class 1 iff the sum is `>= 0`.
//! - Regressors have one sum for each output, and most have one output: a tree's value, the
//!   forest's sum divided once by the number of trees, or the start plus what boosting adds to it.
//! - An isolation forest adds, for each tree, the length of the path to the leaf and the expected
//!   length below it. Infinities are accepted. Sums start at zero, and a caller's joblib context
//!   can change their order.
//! - Histogram-based boosting compares f64 without rounding and accepts infinities. It adds leaf
//!   values to the baseline; class 1 iff the sum is `> 0`. Categorical columns are looked up in an
//!   encoder, in which an unknown category counts as missing; they are the first of the columns
//!   that the trees see.

use std::collections::HashSet;

use secateur_model::{
    Accumulation, Average, BuildError, Categories, CategoryRule, Decision, Ensemble, EnsembleBuilder,
    FeatureId, Features, GroupId, Intake, InterceptPosition, Label, NodeId, NumberType, Order, Output, Split,
    Test, TreeBuilder, TreeId,
};

use super::numeric::pairwise_sum;
use super::parts::{CategoryList, CategoryValues, Estimator, HistogramNode, Parts, PlainNode, TreeArrays};
use crate::error::{FormatError, Place, Problem};

/// If a weight's share of the sum of all weights is below this, quotients might be subnormal
/// numbers, for which halving is not exact.
const SMALLEST_SHARE: f64 = 1e-280;

/// The model.
pub(crate) fn ensemble(parts: &Parts) -> Result<Ensemble, FormatError> {
    let groups = group_count(parts)?;
    check_tree_count(parts, groups)?;
    let histogram = matches!(parts.estimator, Estimator::HistGradientBoosting { .. });
    let isolation = matches!(parts.estimator, Estimator::IsolationForest { .. });
    let intake = Intake {
        number: if histogram { NumberType::F64 } else { NumberType::F32 },
        missing: parts.missing,
        infinities: histogram || isolation,
        zero_window: None,
    };
    let forest = matches!(parts.estimator, Estimator::RandomForest | Estimator::ExtraTrees) || isolation;
    let accumulation = Accumulation {
        number: NumberType::F64,
        intercept: InterceptPosition::First,
        order: if forest { Order::Any } else { Order::File },
        average: divisor(parts)?.map(|divisor| Average { divisor, in_raw_scores: true }),
    };
    let mut builder = EnsembleBuilder::new(
        features(parts)?,
        intake,
        parts.classes.clone(),
        intercepts(parts, groups)?,
        accumulation,
        decision(parts, groups),
    )?;
    if let Estimator::GradientBoosting { start_errors, .. } = &parts.estimator
        && !start_errors.is_empty()
    {
        builder.intercept_errors(start_errors.clone())?;
    }
    for (index, part) in parts.trees.iter().enumerate() {
        let tree = TreeId::new(index);
        let (builder_tree, output) = match (&part.arrays, &parts.estimator) {
            (TreeArrays::Plain { nodes, values, outputs }, estimator) if !histogram => {
                check_outputs(parts, tree, *outputs as usize)?;
                let regression = parts.regression.is_some();
                // A regressor's tree has one value for each output, a classifier's one for each
                // class.
                let width = if regression { *outputs as usize } else { parts.classes.len() };
                plain_tree(tree, nodes, values, (estimator, regression), width, index % groups)?
            }
            (
                TreeArrays::Histogram { nodes, left, .. },
                Estimator::HistGradientBoosting { columns, categories, .. },
            ) => {
                let tree = histogram_tree(tree, nodes, left, columns, categories)?;
                (tree, Output::Group(GroupId::new(index % groups)))
            }
            _ => {
                let place = Place::TreeField { tree, field: "nodes" };
                let found = "a tree of another kind of model".to_owned();
                return Err(FormatError::new(
                    place,
                    Problem::Value { found, expected: "a tree of this one" },
                ));
            }
        };
        let weight = match &parts.estimator {
            Estimator::AdaBoost { weights } => weights[index],
            Estimator::GradientBoosting { learning_rate, .. } => *learning_rate,
            _ => 1.0,
        };
        builder.tree(builder_tree, output, weight)?;
    }
    Ok(builder.build())
}

/// The number of running sums: one for two classes if trees score only the second class.
pub(crate) fn group_count(parts: &Parts) -> Result<usize, FormatError> {
    let classes = parts.classes.len();
    if parts.regression.is_some() {
        return match parts.estimator {
            Estimator::AdaBoost { .. } => Err(at("estimators_", "an AdaBoostRegressor", "another regressor")),
            _ if classes > 0 => Err(at("classes_", format!("{classes} class(es)"), "none for a regressor")),
            _ => Ok(parts.outputs()),
        };
    }
    match parts.estimator {
        Estimator::DecisionTree | Estimator::RandomForest | Estimator::ExtraTrees if classes > 0 => {
            Ok(classes)
        }
        _ if classes > 2 => Ok(classes),
        _ if classes == 2 => Ok(1),
        _ => Err(at("classes_", format!("{classes} class(es)"), "two classes or more")),
    }
}

/// Checks that every tree has as many outputs as the first. Only regressors that are plain trees or
/// forests may have several.
fn check_outputs(parts: &Parts, tree: TreeId, outputs: usize) -> Result<(), FormatError> {
    let several = parts.regression.is_some()
        && matches!(
            parts.estimator,
            Estimator::DecisionTree | Estimator::RandomForest | Estimator::ExtraTrees
        );
    if outputs == parts.outputs() && (outputs == 1 || several) {
        return Ok(());
    }
    let found = format!("a tree with {outputs} output(s)");
    let place = Place::TreeField { tree, field: "values" };
    Err(FormatError::new(place, Problem::Value { found, expected: "as many outputs as the model has" }))
}

fn check_tree_count(parts: &Parts, groups: usize) -> Result<(), FormatError> {
    let trees = parts.trees.len();
    match &parts.estimator {
        Estimator::DecisionTree if trees != 1 => Err(at("tree_", trees, "one tree")),
        Estimator::HistGradientBoosting { .. } if !trees.is_multiple_of(groups) => {
            Err(at("_predictors", trees, "a tree for each class in every round"))
        }
        Estimator::HistGradientBoosting { .. } => Ok(()),
        _ if trees == 0 => Err(at("estimators_", "an empty list", "one tree or more")),
        Estimator::GradientBoosting { .. } if !trees.is_multiple_of(groups) => {
            Err(at("estimators_", trees, "a tree for each class in every round"))
        }
        Estimator::AdaBoost { weights } if weights.len() < trees => {
            let problem = Problem::Length { expected: trees, found: weights.len() };
            Err(FormatError::new(Place::Field("estimator_weights_".to_owned()), problem))
        }
        _ => Ok(()),
    }
}

/// The divisor of the sums.
fn divisor(parts: &Parts) -> Result<Option<f64>, FormatError> {
    match &parts.estimator {
        Estimator::RandomForest | Estimator::ExtraTrees => Ok(Some(parts.trees.len() as f64)),
        Estimator::AdaBoost { weights } => {
            let total = pairwise_sum(weights);
            let smallest = weights.iter().map(|w| w.abs()).filter(|&w| w > 0.0).fold(f64::INFINITY, f64::min);
            // `smallest / total` is NaN or zero if the total is not a finite positive number.
            if !(total > 0.0 && smallest >= f64::MIN_POSITIVE && smallest / total > SMALLEST_SHARE) {
                let found = format!("weights from {smallest:e} with a sum of {total:e}");
                return Err(at(
                    "estimator_weights_",
                    found,
                    "a set of weights that can be divided by its sum",
                ));
            }
            // -s0/W + s1/W with s0 = -s1 is exactly s1 / (W/2), because halving and doubling are
            // exact here.
            Ok(Some(if parts.classes.len() == 2 { total / 2.0 } else { total }))
        }
        _ => Ok(None),
    }
}

fn intercepts(parts: &Parts, groups: usize) -> Result<Vec<f64>, FormatError> {
    let check = |field: &str, values: &[f64]| {
        if values.len() == groups {
            // The library adds the start to zeros, so a negative zero becomes a positive one.
            return Ok(values.iter().map(|value| 0.0 + value).collect());
        }
        let problem = Problem::Length { expected: groups, found: values.len() };
        Err(FormatError::new(Place::Field(field.to_owned()), problem))
    };
    match &parts.estimator {
        Estimator::GradientBoosting { start: Some(start), .. } => check("init_", start),
        Estimator::HistGradientBoosting { baseline, .. } => check("_baseline_prediction", baseline),
        // A single tree is not added to anything: starting from negative zero keeps every bit of
        // its values.
        Estimator::DecisionTree => Ok(vec![-0.0; groups]),
        _ => Ok(vec![0.0; groups]),
    }
}

fn decision(parts: &Parts, groups: usize) -> Decision {
    let threshold = |strict| Decision::Threshold { group: GroupId(0), threshold: 0.0, strict };
    if let Some(value) = parts.regression {
        return Decision::Scores(value);
    }
    match parts.estimator {
        Estimator::GradientBoosting { .. } if groups == 1 => threshold(false),
        Estimator::AdaBoost { .. } | Estimator::HistGradientBoosting { .. } if groups == 1 => threshold(true),
        _ => Decision::Argmax,
    }
}

fn features(parts: &Parts) -> Result<Features, FormatError> {
    let mut features = match &parts.feature_names {
        Some(names) if names.len() != parts.feature_count as usize => {
            let (names, features) = (names.len(), parts.feature_count as usize);
            return Err(BuildError::FeatureNames { names, features }.into());
        }
        Some(names) => Features::named(names.clone()),
        None => Features::unnamed(parts.feature_count),
    };
    if let Estimator::HistGradientBoosting { columns, categories, .. } = &parts.estimator {
        check_columns(columns, categories, parts.feature_count)?;
        for (&column, list) in columns.iter().zip(categories) {
            let (rule, labels) = match &list.values {
                CategoryValues::Numbers(values) => (CategoryRule::Listed(values.clone()), None),
                CategoryValues::Texts(texts) => {
                    let codes = (0..texts.len()).map(|code| code as f64).collect();
                    (CategoryRule::Listed(codes), Some(texts.iter().map(Label::text).collect()))
                }
            };
            features.set_categories(FeatureId(column), Categories { rule, unseen_is_missing: true, labels });
        }
    }
    Ok(features)
}

/// Checks that every column occurs once, that categories are in an order that the encoder can
/// search, and that there are no more of them than a set has bits.
fn check_columns(columns: &[u32], categories: &[CategoryList], features: u32) -> Result<(), FormatError> {
    let mut sorted = columns.to_vec();
    sorted.sort_unstable();
    if !sorted.iter().copied().eq(0..features) || categories.len() > columns.len() {
        let found = format!("{} columns", columns.len());
        return Err(at("_preprocessor", found, "an order of the input columns"));
    }
    for list in categories {
        if list.values.count() > 256 {
            return Err(at("_preprocessor", format!("{} categories", list.values.count()), "at most 256"));
        }
        let distinct = match &list.values {
            CategoryValues::Numbers(values) => values.is_sorted_by(|a, b| a < b),
            CategoryValues::Texts(texts) => texts.iter().collect::<HashSet<_>>().len() == texts.len(),
        };
        if !distinct {
            let found = format!("{:?}", list.values);
            return Err(at("_preprocessor", found, "a list of ascending numbers, or of texts, each once"));
        }
    }
    Ok(())
}

fn at(field: &str, found: impl std::fmt::Display, expected: &'static str) -> FormatError {
    let problem = Problem::Value { found: found.to_string(), expected };
    FormatError::new(Place::Field(field.to_owned()), problem)
}

fn in_node(tree: TreeId, node: usize, found: i64, expected: &'static str) -> FormatError {
    let place = Place::Node { tree, node: NodeId::new(node) };
    FormatError::new(place, Problem::Value { found: found.to_string(), expected })
}

fn plain_tree(
    tree: TreeId,
    nodes: &[PlainNode],
    values: &[f64],
    (estimator, regressor): (&Estimator, bool),
    width: usize,
    group: usize,
) -> Result<(TreeBuilder, Output), FormatError> {
    let boosting = matches!(estimator, Estimator::GradientBoosting { .. });
    let (classes, width) = (width, if boosting { 1 } else { width });
    let one_value = boosting || regressor && width == 1;
    if nodes.is_empty() || values.len() != nodes.len() * width {
        let place = Place::TreeField { tree, field: "values" };
        let problem = Problem::Length { expected: nodes.len() * width, found: values.len() };
        return Err(FormatError::new(place, problem));
    }
    let mut builder = TreeBuilder::with_capacity(nodes.len());
    for (index, (node, values)) in nodes.iter().zip(values.chunks_exact(width)).enumerate() {
        if node.left_child == -1 {
            // The builder sees only votes, so the class fractions are checked here.
            if let Some(&value) = values.iter().find(|value| !value.is_finite()) {
                return Err(BuildError::LeafValue { tree, value, number: NumberType::F64 }.into());
            }
            match estimator {
                Estimator::AdaBoost { .. } => builder.leaf(&vote(values)),
                _ => builder.leaf(values),
            };
            continue;
        }
        let child = |child: i64| {
            u32::try_from(child).map(NodeId).map_err(|_| in_node(tree, index, child, "the number of a child"))
        };
        let feature = u32::try_from(node.feature)
            .map_err(|_| in_node(tree, index, node.feature, "the number of a feature"))?;
        let split = Split {
            feature: FeatureId(feature),
            test: Test::LessOrEqual { threshold: node.threshold },
            missing_left: node.missing_go_to_left != 0,
        };
        builder.split(split, child(node.left_child)?, child(node.right_child)?);
    }
    let one_sum = one_value || matches!(estimator, Estimator::AdaBoost { .. }) && classes == 2;
    Ok((builder, if one_sum { Output::Group(GroupId::new(group)) } else { Output::All }))
}

/// The amounts that a leaf with these class fractions adds for each unit of the tree's weight; for
/// two classes only the second column.
pub(crate) fn vote(fractions: &[f64]) -> Vec<f64> {
    let classes = fractions.len();
    let winner = Decision::Argmax.class(fractions).index();
    if classes == 2 {
        return vec![if winner == 1 { 1.0 } else { -1.0 }];
    }
    (0..classes).map(|class| if class == winner { 1.0 } else { other_vote(classes) }).collect()
}

/// The amount that a vote for another class adds.
pub(crate) fn other_vote(classes: usize) -> f64 {
    -1.0 / (classes as f64 - 1.0)
}

fn histogram_tree(
    tree: TreeId,
    nodes: &[HistogramNode],
    left: &[[u32; 8]],
    columns: &[u32],
    categories: &[CategoryList],
) -> Result<TreeBuilder, FormatError> {
    let mut builder = TreeBuilder::with_capacity(nodes.len());
    for (index, node) in nodes.iter().enumerate() {
        if node.is_leaf != 0 {
            builder.leaf(&[node.value]);
            continue;
        }
        let seen = usize::try_from(node.feature_idx).ok();
        let (seen, column) = seen
            .and_then(|seen| Some((seen, *columns.get(seen)?)))
            .ok_or_else(|| in_node(tree, index, node.feature_idx, "the number of a feature"))?;
        let missing_left = node.missing_go_to_left != 0;
        let mut set = Vec::new();
        let test = if node.is_categorical == 0 {
            Test::LessOrEqual { threshold: node.num_threshold }
        } else {
            let Some(list) = categories.get(seen) else {
                let (node, feature) = (NodeId::new(index), FeatureId(column));
                return Err(BuildError::CategoryTestOnNumber { tree, node, feature }.into());
            };
            let codes = left.get(node.bitset_idx as usize).ok_or_else(|| {
                in_node(tree, index, i64::from(node.bitset_idx), "the number of a set of categories")
            })?;
            let goes_left = |&code: &u32| has(codes, code) || missing_left && !has(&list.known, code);
            set.extend((0..list.values.count() as u32).filter(goes_left));
            Test::Member { set: &set, members_left: true }
        };
        let split = Split { feature: FeatureId(column), test, missing_left };
        builder.split(split, NodeId(node.left), NodeId(node.right));
    }
    Ok(builder)
}

/// Is this bit set?
pub(crate) fn has(bits: &[u32; 8], code: u32) -> bool {
    bits.get(code as usize / 32).is_some_and(|word| word >> (code % 32) & 1 == 1)
}
