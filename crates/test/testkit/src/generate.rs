//! Random ensembles, small enough for brute force and full of what breaks comparisons: ties,
//! thresholds that are neighbouring floats, zero windows, missing values, categories.

use fastrand::Rng;
use secateur_model::{
    Accumulation, Average, Categories, CategoryRule, ClassLabels, Decision, Ensemble, EnsembleBuilder,
    FeatureId, Features, GroupId, Intake, InterceptPosition, Node, NodeId, NumberType, Order, Output,
    Softmax, Split, Test, Transform, Tree, TreeBuilder, Value,
};

/// The properties of a random ensemble. `Shape::random` draws them; tests may change a field
/// afterwards.
#[derive(Clone, Debug)]
pub struct Shape {
    /// The number of features.
    pub features: u32,
    /// How many of the features are categorical; these are the first ones.
    pub categorical: u32,
    /// How categories are read.
    pub rule: CategoryRule,
    /// The number of trees.
    pub trees: u32,
    /// Largest depth of a tree.
    pub depth: u32,
    /// The number of classes, or of outputs if there are no classes ([`Decision::Scores`]).
    pub classes: u32,
    /// Which inputs are accepted.
    pub intake: Intake,
    /// How scores are added up.
    pub accumulation: Accumulation,
    /// How scores become a class.
    pub decision: Decision,
    /// Leaves are multiples of one half, so that exact ties are common.
    pub coarse: bool,
    /// Trees have weights other than 1: each its own, or all the same one, by which the library
    /// multiplies the sums.
    pub weighted: bool,
    /// How many thresholds are drawn for each feature; few, so that there are few cells.
    pub thresholds: u32,
}

impl Shape {
    /// A random shape with few cells.
    pub fn random(rng: &mut Rng) -> Self {
        let number = if rng.bool() { NumberType::F32 } else { NumberType::F64 };
        let classes = rng.u32(2..=5);
        let features = rng.u32(1..=4);
        let decision = match rng.u32(0..6) {
            0 => Decision::ArgmaxSoftmax(Softmax::XgBoost),
            1 => Decision::ArgmaxSoftmax(Softmax::LightGbm),
            2 => Decision::ArgmaxSigmoid { scale: 1.0 },
            _ if classes == 2 && rng.bool() => Decision::Threshold {
                group: GroupId(0),
                threshold: *rng.choice(&[0.0, 0.5, 8.940_697e-8, 1.7e-16]).expect("not empty"),
                strict: rng.bool(),
            },
            _ => Decision::Argmax,
        };
        Self {
            features,
            categorical: if rng.u32(0..3) == 0 { rng.u32(0..=features) } else { 0 },
            rule: match rng.u32(0..4) {
                0 => CategoryRule::TruncateNonNegative,
                1 => CategoryRule::Truncate,
                2 => CategoryRule::Hashed,
                _ => CategoryRule::Listed((0..6).map(|c| f64::from(c) * 1.5).collect()),
            },
            trees: rng.u32(1..=6),
            depth: rng.u32(0..=3),
            classes,
            intake: Intake {
                number,
                missing: rng.bool(),
                infinities: rng.bool(),
                zero_window: (rng.u32(0..4) == 0).then_some(f64::from(1e-35f32)),
            },
            accumulation: Accumulation {
                number: if decision == Decision::ArgmaxSoftmax(Softmax::XgBoost) || rng.bool() {
                    NumberType::F32
                } else {
                    NumberType::F64
                },
                intercept: if rng.bool() { InterceptPosition::First } else { InterceptPosition::Last },
                order: if rng.bool() { Order::File } else { Order::Any },
                average: (rng.u32(0..4) == 0)
                    .then(|| Average { divisor: f64::from(rng.u32(1..=7)), in_raw_scores: rng.bool() }),
            },
            decision,
            coarse: rng.bool(),
            weighted: rng.u32(0..4) == 0,
            thresholds: rng.u32(1..=5),
        }
    }

    /// As [`random`](Self::random), but one shape in four has no classes and one of [`VALUES`].
    pub fn any(rng: &mut Rng) -> Self {
        let shape = Self::random(rng);
        match rng.u32(0..4) {
            0 => shape.predicting(*rng.choice(&VALUES).expect("not empty")),
            _ => shape,
        }
    }

    /// The same shape without classes, whose scores become this value.
    #[must_use]
    pub fn predicting(mut self, value: Value) -> Self {
        self.decision = Decision::Scores(value);
        if value == Value::NotFixed(Transform::MeanAndVariance) {
            self.classes = 2;
        }
        self
    }
}

/// Everything that a library's `predict` returns for models without classes.
pub const VALUES: [Value; 10] = [
    Value::Score,
    Value::SignedSquare,
    Value::ScoreAsF32,
    Value::Above { threshold: 0.5 },
    Value::NotFixed(Transform::Exp),
    Value::NotFixed(Transform::Logistic),
    Value::NotFixed(Transform::LogOnePlusExp),
    Value::NotFixed(Transform::Sorted),
    Value::NotFixed(Transform::MeanAndVariance),
    Value::NotFixed(Transform::PathLength),
];

/// A random ensemble of this shape.
pub fn ensemble(rng: &mut Rng, shape: &Shape) -> Ensemble {
    let groups = match shape.decision {
        Decision::Threshold { .. } => 1,
        _ => shape.classes,
    };
    let mut features = Features::unnamed(shape.features);
    for feature in 0..shape.categorical {
        let unseen_is_missing = matches!(shape.rule, CategoryRule::Listed(_)) && shape.intake.missing;
        let categories = Categories { rule: shape.rule.clone(), unseen_is_missing, labels: None };
        features.set_categories(FeatureId(feature), categories);
    }
    let number = shape.accumulation.number;
    // If a library could multiply the whole sum of a weighted model, the model is made like that if
    // its number of trees is even. Half of these models have zero intercepts, which such a library
    // does not add.
    let how = shape.accumulation;
    let fits = how.intercept == InterceptPosition::Last && how.order == Order::File && how.average.is_none();
    let scaled = shape.weighted && fits && shape.trees.is_multiple_of(2);
    let bare = scaled && rng.bool();
    let intercepts = (0..groups).map(|_| if bare { 0.0 } else { leaf_value(rng, shape) }).collect();
    let mut builder = EnsembleBuilder::new(
        features,
        shape.intake,
        ClassLabels::Unnamed(if shape.decision.is_classifier() { shape.classes } else { 0 }),
        intercepts,
        shape.accumulation,
        shape.decision,
    )
    .expect("a shape has consistent parts");
    let scale = scaled.then(|| number.round(rng.f64() * 4.0 - 1.0));
    if let Some(scale) = scale {
        builder.scale(scale).expect("it fits");
    }
    let pools: Vec<Vec<f64>> =
        (0..shape.features).map(|_| (0..shape.thresholds).map(|_| small_float(rng)).collect()).collect();
    for _ in 0..shape.trees {
        let output =
            if rng.u32(0..3) == 0 { Output::All } else { Output::Group(GroupId(rng.u32(0..groups))) };
        let weight = match scale {
            Some(scale) => scale,
            None if shape.weighted => number.round(rng.f64() * 3.0),
            None => 1.0,
        };
        let mut maker = Maker { rng, shape, pools: &pools, groups, output };
        let tree = maker.tree();
        builder.tree(tree, output, weight).expect("a generated tree is sound");
    }
    builder.build()
}

/// The same ensemble with one change: to a leaf, threshold, intercept, pair of children, direction
/// of missing values, or the list of trees. The change may have no effect.
pub fn mutate(rng: &mut Rng, original: &Ensemble) -> Ensemble {
    let mut intercepts = original.intercepts().to_vec();
    let number = original.accumulation().number;
    let count = original.trees().len();
    let victim = rng.usize(0..count);
    let what = rng.u32(0..7);
    if what == 0 {
        let group = rng.usize(0..intercepts.len());
        intercepts[group] = nudge(rng, intercepts[group], number);
    }
    let mut builder = EnsembleBuilder::new(
        original.features().clone(),
        *original.intake(),
        original.classes().clone(),
        intercepts,
        *original.accumulation(),
        *original.decision(),
    )
    .expect("taken from an ensemble");
    if let Some(scale) = original.scale() {
        builder.scale(scale).expect("taken from an ensemble");
    }
    let mut trees: Vec<(TreeBuilder, Output, f64)> = Vec::new();
    for (index, tree) in original.trees().iter().enumerate() {
        if index == victim && what == 1 && count > 1 {
            continue; // dropped
        }
        let change = (index == victim).then_some(what);
        trees.push((rebuild(rng, tree, change, number), tree.output(), tree.weight()));
        if index == victim && what == 2 {
            // duplicated
            trees.push((rebuild(rng, tree, None, number), tree.output(), tree.weight()));
        }
    }
    if what == 3 {
        rng.shuffle(&mut trees);
    }
    for (tree, output, weight) in trees {
        builder.tree(tree, output, weight).expect("a mutated tree is sound");
    }
    builder.build()
}

/// A copy of a tree, with the change at a random node if one is asked for.
fn rebuild(rng: &mut Rng, tree: &Tree, change: Option<u32>, number: NumberType) -> TreeBuilder {
    let mut copy = TreeBuilder::new();
    let target = rng.usize(0..tree.node_count());
    for (id, node) in tree.nodes() {
        let here = change.filter(|_| id.index() == target);
        match node {
            Node::Leaf(leaf) => {
                let mut values = tree.leaf(leaf).to_vec();
                if here == Some(4) {
                    let slot = rng.usize(0..values.len());
                    values[slot] = nudge(rng, values[slot], number);
                }
                copy.leaf(&values);
            }
            Node::Split { mut split, mut left, mut right } => {
                match here {
                    Some(5) => std::mem::swap(&mut left, &mut right),
                    Some(6) => split.missing_left = !split.missing_left,
                    Some(4) => {
                        if let Test::LessOrEqual { threshold } = &mut split.test {
                            *threshold = threshold.next_up();
                        }
                    }
                    _ => {}
                }
                copy.split(split, left, right);
            }
            Node::Unused => {
                copy.unused();
            }
        }
    }
    copy
}

fn nudge(rng: &mut Rng, value: f64, number: NumberType) -> f64 {
    match rng.u32(0..3) {
        0 => number.next_up(value),
        1 => number.round(value + 1e-3),
        _ => number.round(value - 1.0),
    }
}

/// Small numbers, often neighbouring floats, with some zeros, tiny numbers and huge numbers.
pub fn small_float(rng: &mut Rng) -> f64 {
    let value = match rng.u32(0..8) {
        0 => 0.0,
        1 => 1e-35f32 as f64,
        2 => f64::from_bits(rng.u64(1..5)),
        3 => *rng.choice(&[1e30, 3.5e38, f64::MAX, f64::INFINITY]).expect("not empty"),
        _ => f64::from(rng.i32(-4..=4)) * 0.25,
    };
    let value = if rng.bool() { value } else { -value };
    match rng.u32(0..6) {
        0 if value.is_finite() => value.next_up(),
        1 if value.is_finite() => value.next_down(),
        2 => f64::from((value as f32).next_up()),
        3 => f64::from(value as f32),
        _ => value,
    }
}

fn leaf_value(rng: &mut Rng, shape: &Shape) -> f64 {
    let value = if shape.coarse { f64::from(rng.i32(-2..=2)) * 0.5 } else { (rng.f64() - 0.5) * 4.0 };
    shape.accumulation.number.round(value)
}

struct Maker<'a> {
    rng: &'a mut Rng,
    shape: &'a Shape,
    pools: &'a [Vec<f64>],
    groups: u32,
    output: Output,
}

impl Maker<'_> {
    /// Nodes are numbered in the order in which they are opened, children after their parents.
    fn tree(&mut self) -> TreeBuilder {
        let mut tree = TreeBuilder::new();
        let mut depths = vec![0];
        let mut at = 0;
        while at < depths.len() {
            let depth = depths[at];
            if depth < self.shape.depth && (depth == 0 || self.rng.u32(0..4) > 0) {
                let left = NodeId::new(depths.len());
                let right = NodeId::new(depths.len() + 1);
                depths.extend([depth + 1; 2]);
                self.split(&mut tree, left, right);
            } else {
                let width = if self.output == Output::All { self.groups } else { 1 };
                let values: Vec<f64> = (0..width).map(|_| leaf_value(self.rng, self.shape)).collect();
                tree.leaf(&values);
            }
            at += 1;
        }
        tree
    }

    fn split(&mut self, tree: &mut TreeBuilder, left: NodeId, right: NodeId) {
        let feature = self.rng.u32(0..self.shape.features);
        let missing_left = self.rng.bool();
        let number = *self.rng.choice(&self.pools[feature as usize]).expect("not empty");
        let set: Vec<u32> = (0..7).filter(|_| self.rng.bool()).collect();
        let test = if feature < self.shape.categorical {
            Test::Member { set: &set, members_left: self.rng.bool() }
        } else {
            match self.rng.u32(0..8) {
                0 => Test::Equal { value: number },
                1 => Test::LessOrEqualButZero { threshold: number, zero_left: self.rng.bool() },
                2..5 => Test::Less { threshold: number },
                _ => Test::LessOrEqual { threshold: number },
            }
        };
        tree.split(Split { feature: FeatureId(feature), test, missing_left }, left, right);
    }
}
