//! The only way to make an [`Ensemble`]: every index, length and number is checked here, for every
//! file format.

use thiserror::Error;

use crate::decision::{Decision, Transform, Value};
use crate::ensemble::{Accumulation, ClassLabels, Ensemble, Features, InterceptPosition, Order};
use crate::feature::{Intake, NumberType};
use crate::ids::{FeatureId, GroupId, NodeId, TreeId};
use crate::tree::{Node, Output, Split, Test, Tree, TreeBuilder};

/// More columns than any table has; a file that declares more is broken.
pub const MAX_FEATURES: usize = 1 << 24;

/// The most columns of a model whose file has no names for them, only their number. Pruning keeps
/// dozens of rows with a value for each column, so a file of a few bytes could otherwise ask for
/// gigabytes of memory.
pub const MAX_UNNAMED_FEATURES: usize = 1 << 20;

/// What is wrong with a model, and where.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
#[expect(missing_docs, reason = "each message says what its fields are")]
pub enum BuildError {
    #[error("tree {tree}: it has no nodes")]
    EmptyTree { tree: TreeId },
    #[error("tree {tree}, node {node}: child {child} does not exist (the tree has {nodes} nodes)")]
    ChildOutOfRange { tree: TreeId, node: NodeId, child: NodeId, nodes: usize },
    #[error("tree {tree}, node {node}: child {child} is reached twice (a cycle or a shared child)")]
    ChildReachedTwice { tree: TreeId, node: NodeId, child: NodeId },
    #[error("tree {tree}, node {node}: no path from the root reaches it")]
    Unreachable { tree: TreeId, node: NodeId },
    #[error("tree {tree}, node {node}: a deleted node is reached from the root")]
    UnusedReached { tree: TreeId, node: NodeId },
    #[error("tree {tree}, node {node}: feature {feature} does not exist (the model has {features})")]
    FeatureOutOfRange { tree: TreeId, node: NodeId, feature: FeatureId, features: usize },
    #[error("tree {tree}, node {node}: the threshold is NaN")]
    NanThreshold { tree: TreeId, node: NodeId },
    #[error(
        "tree {tree}, node {node}: feature {feature} is compared with a number here and is categorical elsewhere"
    )]
    NumberTestOnCategory { tree: TreeId, node: NodeId, feature: FeatureId },
    #[error(
        "tree {tree}, node {node}: feature {feature} is looked up in categories here and is numeric elsewhere"
    )]
    CategoryTestOnNumber { tree: TreeId, node: NodeId, feature: FeatureId },
    #[error("tree {tree}, node {node}: the category codes are not in ascending order without repetition")]
    UnsortedCategories { tree: TreeId, node: NodeId },
    #[error("tree {tree}, node {node}: the leaf has {found} values where {expected} are needed")]
    LeafWidth { tree: TreeId, node: NodeId, expected: usize, found: usize },
    #[error("tree {tree}: leaf value {value} is not a finite {number:?}")]
    LeafValue { tree: TreeId, value: f64, number: NumberType },
    #[error("tree {tree}: weight {value} is not a finite {number:?}")]
    TreeWeight { tree: TreeId, value: f64, number: NumberType },
    #[error("tree {tree}: output group {group} does not exist (the model has {groups})")]
    GroupOutOfRange { tree: TreeId, group: GroupId, groups: usize },
    #[error("intercept {group} is {value}, not a finite {number:?}")]
    Intercept { group: GroupId, value: f64, number: NumberType },
    #[error("the error of intercept {group} is {value}, not a finite number from zero up")]
    InterceptError { group: GroupId, value: f64 },
    #[error("{found} errors of intercepts for {groups} intercepts")]
    InterceptErrors { found: usize, groups: usize },
    #[error("{found} features are more than the {limit} that are supported")]
    TooManyFeatures { found: usize, limit: usize },
    #[error("{found} features without names are more than the {limit} that are supported")]
    TooManyUnnamedFeatures { found: usize, limit: usize },
    #[error("{names} feature names for {features} features")]
    FeatureNames { names: usize, features: usize },
    #[error("the decision rule does not fit {groups} scores and {classes} classes")]
    Decision { groups: usize, classes: usize },
    #[error("the scores are divided by {divisor}, which is not a positive number")]
    Divisor { divisor: f64 },
    #[error("sums cannot be multiplied by {scale} here")]
    Scale { scale: f64 },
    #[error("tree {tree}: its weight {weight} is not the scale {scale} of all sums")]
    ScaledWeight { tree: TreeId, weight: f64, scale: f64 },
    #[error("more than 2^32 nodes in tree {tree}")]
    TooManyNodes { tree: TreeId },
}

/// Collects the parts of an ensemble; [`build`](Self::build) returns it after everything was
/// checked.
#[derive(Debug)]
pub struct EnsembleBuilder {
    ensemble: Ensemble,
}

impl EnsembleBuilder {
    /// Starts with everything but the trees. `intercepts` has one entry for each sum.
    pub fn new(
        features: Features,
        intake: Intake,
        classes: ClassLabels,
        intercepts: Vec<f64>,
        accumulation: Accumulation,
        decision: Decision,
    ) -> Result<Self, BuildError> {
        if features.len() > MAX_FEATURES {
            return Err(BuildError::TooManyFeatures { found: features.len(), limit: MAX_FEATURES });
        }
        if !features.has_names() && features.len() > MAX_UNNAMED_FEATURES {
            let (found, limit) = (features.len(), MAX_UNNAMED_FEATURES);
            return Err(BuildError::TooManyUnnamedFeatures { found, limit });
        }
        if features.has_names() && features.names.len() != features.len() {
            return Err(BuildError::FeatureNames { names: features.names.len(), features: features.len() });
        }
        for (group, &value) in intercepts.iter().enumerate() {
            if !is_finite_of(accumulation.number, value) {
                let number = accumulation.number;
                return Err(BuildError::Intercept { group: GroupId::new(group), value, number });
            }
        }
        let (groups, class_count) = (intercepts.len(), classes.len());
        let fits = match decision {
            Decision::Threshold { group, threshold, .. } => {
                group.index() < groups && class_count == 2 && threshold.is_finite()
            }
            Decision::Argmax | Decision::ArgmaxSoftmax(_) => groups == class_count && groups > 0,
            Decision::ArgmaxSigmoid { scale } => groups == class_count && groups > 0 && scale > 0.0,
            Decision::Scores(Value::Above { threshold }) => {
                class_count == 0 && groups > 0 && threshold.is_finite()
            }
            Decision::Scores(Value::NotFixed(Transform::MeanAndVariance)) => class_count == 0 && groups == 2,
            Decision::Scores(_) => class_count == 0 && groups > 0,
        };
        if !fits {
            return Err(BuildError::Decision { groups, classes: class_count });
        }
        if let Some(average) = accumulation.average
            && !(average.divisor > 0.0 && average.divisor.is_finite())
        {
            return Err(BuildError::Divisor { divisor: average.divisor });
        }
        let (trees, intercept_errors) = (Vec::new(), vec![0.0; groups]);
        let ensemble = Ensemble {
            features,
            intake,
            missing_accepted: intake.missing,
            domain: std::sync::Arc::new(crate::domain::Domain::everything()),
            classes,
            intercepts,
            intercept_errors,
            trees,
            accumulation,
            scale: None,
            decision,
            cut: None,
        };
        Ok(Self { ensemble })
    }

    /// States how far the library's own intercepts may be from the ones given: one number for each
    /// sum.
    pub fn intercept_errors(&mut self, errors: Vec<f64>) -> Result<&mut Self, BuildError> {
        let groups = self.ensemble.group_count();
        if errors.len() != groups {
            return Err(BuildError::InterceptErrors { found: errors.len(), groups });
        }
        if let Some(group) = errors.iter().position(|&error| !(error >= 0.0 && error.is_finite())) {
            return Err(BuildError::InterceptError { group: GroupId::new(group), value: errors[group] });
        }
        self.ensemble.intercept_errors = errors;
        Ok(self)
    }

    /// States that the library adds the leaves unscaled and multiplies the sum by this number
    /// before it adds the intercept ([`Ensemble::scale`]). Every tree then has this number as its
    /// weight. Must be called before the first tree.
    pub fn scale(&mut self, scale: f64) -> Result<&mut Self, BuildError> {
        let Accumulation { number, intercept, order, average } = self.ensemble.accumulation;
        let fits = intercept == InterceptPosition::Last && order == Order::File && average.is_none();
        if !fits || !self.ensemble.trees.is_empty() || !is_finite_of(number, scale) {
            return Err(BuildError::Scale { scale });
        }
        self.ensemble.scale = Some(scale);
        Ok(self)
    }

    /// Checks and appends a tree.
    pub fn tree(&mut self, tree: TreeBuilder, output: Output, weight: f64) -> Result<&mut Self, BuildError> {
        let id = TreeId::new(self.ensemble.trees.len());
        if let Some(node) = tree.uneven_leaf() {
            let expected = self.leaf_width(output);
            return Err(BuildError::LeafWidth { tree: id, node, expected, found: tree.width() });
        }
        let width = tree.width();
        let tree = tree.finish(output, weight);
        self.check_tree(id, &tree, width)?;
        self.ensemble.trees.push(tree);
        Ok(self)
    }

    /// Checks and appends an existing tree, with its own output and weight.
    pub fn finished_tree(&mut self, tree: Tree) -> Result<&mut Self, BuildError> {
        let id = TreeId::new(self.ensemble.trees.len());
        let width = tree.leaf(crate::LeafId(0)).len();
        self.check_tree(id, &tree, width)?;
        self.ensemble.trees.push(tree);
        Ok(self)
    }

    /// The finished model.
    pub fn build(self) -> Ensemble {
        self.ensemble
    }

    fn leaf_width(&self, output: Output) -> usize {
        match output {
            Output::Group(_) => 1,
            Output::All => self.ensemble.group_count(),
        }
    }

    fn check_tree(&self, id: TreeId, tree: &Tree, width: usize) -> Result<(), BuildError> {
        if let Some(scale) = self.ensemble.scale
            && tree.weight().to_bits() != scale.to_bits()
        {
            return Err(BuildError::ScaledWeight { tree: id, weight: tree.weight(), scale });
        }
        let number = self.ensemble.accumulation.number;
        if tree.node_count() == 0 {
            return Err(BuildError::EmptyTree { tree: id });
        }
        if u32::try_from(tree.node_count()).is_err() {
            return Err(BuildError::TooManyNodes { tree: id });
        }
        if let Output::Group(group) = tree.output()
            && group.index() >= self.ensemble.group_count()
        {
            return Err(BuildError::GroupOutOfRange { tree: id, group, groups: self.ensemble.group_count() });
        }
        if !is_finite_of(number, tree.weight()) {
            return Err(BuildError::TreeWeight { tree: id, value: tree.weight(), number });
        }
        if let Some(&value) = tree.leaf_values().iter().find(|&&value| !is_finite_of(number, value)) {
            return Err(BuildError::LeafValue { tree: id, value, number });
        }
        self.check_nodes(id, tree, width)
    }

    /// Walks from the root: every child must exist and be reached once, and nodes that are not
    /// reached must be marked unused.
    fn check_nodes(&self, id: TreeId, tree: &Tree, width: usize) -> Result<(), BuildError> {
        let nodes = tree.node_count();
        let mut reached = vec![false; nodes];
        reached[0] = true;
        let mut open = vec![NodeId(0)];
        while let Some(node) = open.pop() {
            match tree.node(node) {
                Node::Split { split, left, right } => {
                    self.check_split(id, node, split)?;
                    for child in [right, left] {
                        let Some(seen) = reached.get_mut(child.index()) else {
                            return Err(BuildError::ChildOutOfRange { tree: id, node, child, nodes });
                        };
                        if std::mem::replace(seen, true) {
                            return Err(BuildError::ChildReachedTwice { tree: id, node, child });
                        }
                        open.push(child);
                    }
                }
                Node::Leaf(_) => {
                    let expected = self.leaf_width(tree.output());
                    if width != expected {
                        return Err(BuildError::LeafWidth { tree: id, node, expected, found: width });
                    }
                }
                Node::Unused => return Err(BuildError::UnusedReached { tree: id, node }),
            }
        }
        for (node, content) in tree.nodes() {
            if !reached[node.index()] && content != Node::Unused {
                return Err(BuildError::Unreachable { tree: id, node });
            }
        }
        Ok(())
    }

    fn check_split(&self, tree: TreeId, node: NodeId, split: Split<'_>) -> Result<(), BuildError> {
        let feature = split.feature;
        let features = &self.ensemble.features;
        if feature.index() >= features.len() {
            return Err(BuildError::FeatureOutOfRange { tree, node, feature, features: features.len() });
        }
        let categorical = features.categories(feature).is_some();
        match split.test {
            Test::Member { .. } if !categorical => {
                Err(BuildError::CategoryTestOnNumber { tree, node, feature })
            }
            Test::Member { set, .. } if !set.is_sorted_by(|a, b| a < b) => {
                Err(BuildError::UnsortedCategories { tree, node })
            }
            Test::Member { .. } => Ok(()),
            _ if categorical => Err(BuildError::NumberTestOnCategory { tree, node, feature }),
            Test::Less { threshold: number }
            | Test::LessOrEqual { threshold: number }
            | Test::LessOrEqualButZero { threshold: number, .. }
            | Test::Equal { value: number }
                if number.is_nan() =>
            {
                Err(BuildError::NanThreshold { tree, node })
            }
            _ => Ok(()),
        }
    }
}

fn is_finite_of(number: NumberType, value: f64) -> bool {
    value.is_finite() && number.round(value) == value
}
