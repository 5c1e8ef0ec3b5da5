//! The digest of a model as it was read: BLAKE3 over a canonical encoding of everything that the
//! meaning of the model depends on. A model in memory and its file have the same digest, and any
//! other model has another one.
//!
//! The encoding is specified in section 3 of `docs/spec/certificate-v1.md`. Every list starts with
//! its length and every choice with a tag, so that different models never have the same encoding.

use std::fmt;

use secateur_model::{
    Categories, CategoryRule, ClassLabels, Decision, Ensemble, FeatureId, InterceptPosition, Label, Node,
    NumberType, Order, Output, Softmax, Split, Test, Transform, Tree, Value,
};

/// The digest of a model.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Digest(pub [u8; 32]);

impl Digest {
    /// The digest of this model.
    pub fn of(model: &Ensemble) -> Self {
        let mut hasher = blake3::Hasher::new();
        canonical(model, &mut |bytes| {
            hasher.update(bytes);
        });
        Self(*hasher.finalize().as_bytes())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({self})")
    }
}

/// Hands the canonical encoding of a model to `out`, part by part.
pub fn canonical(model: &Ensemble, out: &mut dyn FnMut(&[u8])) {
    // Bytes are collected in blocks, because a hasher is slow on single bytes.
    let mut encoding = Encoding { block: Vec::with_capacity(2 * BLOCK), out };
    encoding.model(model);
    (encoding.out)(&encoding.block);
}

const BLOCK: usize = 1 << 14;

struct Encoding<'a> {
    block: Vec<u8>,
    out: &'a mut dyn FnMut(&[u8]),
}

impl Encoding<'_> {
    fn tag(&mut self, tag: u8) {
        self.block.push(tag);
        if self.block.len() >= BLOCK {
            (self.out)(&self.block);
            self.block.clear();
        }
    }

    fn flag(&mut self, flag: bool) {
        self.tag(u8::from(flag));
    }

    /// Little-endian, 8 bytes.
    fn count(&mut self, count: u64) {
        self.block.extend_from_slice(&count.to_le_bytes());
    }

    /// The bits, little-endian, 8 bytes.
    fn float(&mut self, value: f64) {
        self.count(value.to_bits());
    }

    fn floats(&mut self, values: &[f64]) {
        self.count(values.len() as u64);
        values.iter().for_each(|&value| self.float(value));
    }

    fn text(&mut self, text: &str) {
        self.count(text.len() as u64);
        self.block.extend_from_slice(text.as_bytes());
        // A long name fills the block at once, so the block is written.
        if self.block.len() >= BLOCK {
            (self.out)(&self.block);
            self.block.clear();
        }
    }

    fn number(&mut self, number: NumberType) {
        self.tag(match number {
            NumberType::F32 => 0,
            NumberType::F64 => 1,
        });
    }

    fn option(&mut self, value: Option<f64>) {
        self.flag(value.is_some());
        if let Some(value) = value {
            self.float(value);
        }
    }

    fn model(&mut self, model: &Ensemble) {
        self.text("secateur model 1");
        let domain = model.intake();
        self.number(domain.number);
        // What the library accepts: the scope is part of the claim, not of the model.
        self.flag(model.accepts_missing());
        self.flag(domain.infinities);
        self.option(domain.zero_window);
        self.features(model);
        self.classes(model.classes());
        let accumulation = model.accumulation();
        self.number(accumulation.number);
        self.tag(match accumulation.intercept {
            InterceptPosition::First => 0,
            InterceptPosition::Last => 1,
        });
        self.tag(match accumulation.order {
            Order::File => 0,
            Order::Any => 1,
        });
        self.option(accumulation.average.map(|average| average.divisor));
        self.flag(accumulation.average.is_some_and(|average| average.in_raw_scores));
        self.decision(model.library_decision());
        self.floats(model.intercepts());
        self.floats(model.intercept_errors());
        self.count(model.trees().len() as u64);
        model.trees().iter().for_each(|tree| self.tree(tree));
        if let Some(unplaced) = model.features().unplaced_labels() {
            self.flag(unplaced.moved);
            self.count(unplaced.lists.len() as u64);
            unplaced.lists.iter().for_each(|labels| self.labels(labels));
        }
        if let Some(scale) = model.scale() {
            // No flag follows, since there is nothing else to say.
            self.tag(2);
            self.float(scale);
        }
    }

    fn features(&mut self, model: &Ensemble) {
        let features = model.features();
        self.count(features.len() as u64);
        self.flag(features.has_names());
        let ids = || (0..features.len()).map(FeatureId::new);
        if features.has_names() {
            ids().for_each(|feature| self.text(&features.name(feature)));
        }
        let categorical = || ids().filter_map(|feature| Some((feature, features.categories(feature)?)));
        self.count(categorical().count() as u64);
        for (feature, categories) in categorical() {
            self.count(u64::from(feature.0));
            self.categories(categories);
        }
    }

    fn categories(&mut self, categories: &Categories) {
        match &categories.rule {
            CategoryRule::TruncateNonNegative => self.tag(0),
            CategoryRule::Truncate => self.tag(1),
            CategoryRule::Whole => self.tag(2),
            CategoryRule::Listed(values) => {
                self.tag(3);
                self.floats(values);
            }
            CategoryRule::Hashed => self.tag(5),
            // Only models made by this program have this rule, never models that were read.
            CategoryRule::Joined { values, unknown, missing } => {
                self.tag(4);
                self.floats(values);
                self.option(*unknown);
                self.flag(*missing);
            }
        }
        self.flag(categories.unseen_is_missing);
        match &categories.labels {
            None => self.tag(0),
            Some(labels) => self.labels(labels),
        }
    }

    /// A list that has only texts needs no types.
    fn labels(&mut self, labels: &[Label]) {
        let texts = labels.iter().all(|label| matches!(label, Label::Text(_)));
        self.tag(if texts { 1 } else { 2 });
        self.count(labels.len() as u64);
        for label in labels {
            let tag = match label {
                Label::Text(_) => 0,
                Label::Integer(_) => 1,
                Label::Float(_) => 2,
                Label::Boolean(_) => 3,
                Label::Unreadable(_) => 4,
                Label::Hash(_) => 5,
            };
            if !texts {
                self.tag(tag);
            }
            match label {
                Label::Text(text) | Label::Unreadable(text) => self.text(text),
                Label::Integer(number) => self.count(*number as u64),
                Label::Hash(hash) => self.count(u64::from(*hash)),
                Label::Float(number) => self.float(*number),
                Label::Boolean(value) => self.flag(*value),
            }
        }
    }

    fn classes(&mut self, classes: &ClassLabels) {
        self.count(classes.len() as u64);
        match classes {
            ClassLabels::Unnamed(_) => self.tag(0),
            ClassLabels::Integers(labels) => {
                self.tag(1);
                labels.iter().for_each(|&label| self.count(label as u64));
            }
            ClassLabels::Floats(labels) => {
                self.tag(2);
                labels.iter().for_each(|&label| self.float(label));
            }
            ClassLabels::Booleans(labels) => {
                self.tag(3);
                labels.iter().for_each(|&label| self.flag(label));
            }
            ClassLabels::Strings(labels) => {
                self.tag(4);
                labels.iter().for_each(|label| self.text(label));
            }
        }
    }

    fn decision(&mut self, decision: &Decision) {
        match *decision {
            Decision::Threshold { group, threshold, strict } => {
                self.tag(0);
                self.count(u64::from(group.0));
                self.float(threshold);
                self.flag(strict);
            }
            Decision::Argmax => self.tag(1),
            Decision::ArgmaxSoftmax(Softmax::XgBoost) => self.tag(2),
            Decision::ArgmaxSoftmax(Softmax::LightGbm) => self.tag(3),
            Decision::ArgmaxSigmoid { scale } => {
                self.tag(4);
                self.float(scale);
            }
            Decision::Scores(value) => {
                self.tag(5);
                self.tag(match value {
                    Value::Above { .. } => 7,
                    Value::NotFixed(Transform::MeanAndVariance) => 8,
                    Value::Score => 0,
                    Value::SignedSquare => 1,
                    Value::NotFixed(Transform::Exp) => 2,
                    Value::NotFixed(Transform::Logistic) => 3,
                    Value::NotFixed(Transform::LogOnePlusExp) => 4,
                    Value::NotFixed(Transform::Sorted) => 5,
                    Value::NotFixed(Transform::PathLength) => 9,
                    Value::ScoreAsF32 => 6,
                });
                if let Value::Above { threshold } = value {
                    self.float(threshold);
                }
            }
        }
    }

    fn tree(&mut self, tree: &Tree) {
        match tree.output() {
            Output::Group(group) => {
                self.tag(0);
                self.count(u64::from(group.0));
            }
            Output::All => self.tag(1),
        }
        self.float(tree.weight());
        self.count(tree.node_count() as u64);
        for (_, node) in tree.nodes() {
            match node {
                Node::Unused => self.tag(0),
                Node::Leaf(leaf) => {
                    self.tag(1);
                    self.floats(tree.leaf(leaf));
                }
                Node::Split { split, left, right } => {
                    self.tag(2);
                    self.split(split);
                    self.count(u64::from(left.0));
                    self.count(u64::from(right.0));
                }
            }
        }
    }

    fn split(&mut self, split: Split<'_>) {
        self.count(u64::from(split.feature.0));
        self.flag(split.missing_left);
        match split.test {
            Test::Less { threshold } => {
                self.tag(0);
                self.float(threshold);
            }
            Test::LessOrEqual { threshold } => {
                self.tag(1);
                self.float(threshold);
            }
            Test::LessOrEqualButZero { threshold, zero_left } => {
                self.tag(2);
                self.float(threshold);
                self.flag(zero_left);
            }
            Test::Equal { value } => {
                self.tag(3);
                self.float(value);
            }
            Test::Member { set, members_left } => {
                self.tag(4);
                self.flag(members_left);
                self.count(set.len() as u64);
                set.iter().for_each(|&code| self.count(u64::from(code)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fastrand::Rng;
    use secateur_model::Domain;
    use secateur_testkit::{Shape, ensemble, mutate};
    use std::collections::HashMap;

    fn bytes(model: &Ensemble) -> Vec<u8> {
        let mut bytes = Vec::new();
        canonical(model, &mut |part| bytes.extend_from_slice(part));
        bytes
    }

    #[test]
    fn different_models_have_different_digests_and_equal_ones_the_same() {
        let mut seen: HashMap<Digest, Ensemble> = HashMap::new();
        let mut changed = 0;
        for seed in 0..400 {
            let mut rng = Rng::with_seed(seed);
            let shape = Shape::any(&mut rng);
            let model = ensemble(&mut rng, &shape);
            let other = mutate(&mut rng, &model);
            assert_eq!(Digest::of(&model), Digest::of(&model.clone()));
            changed += u32::from(model != other);
            assert_eq!(
                Digest::of(&model.within(&Domain::no_missing()).unwrap()),
                Digest::of(&model),
                "seed {seed}"
            );
            for model in [model, other] {
                let known = seen.entry(Digest::of(&model)).or_insert_with(|| model.clone());
                assert_eq!(*known, model, "seed {seed}: two models, one digest");
            }
        }
        assert!(changed > 200, "{changed}: too few changes for a test");
    }

    #[test]
    fn weights_and_a_scale_are_told_apart() {
        // The exact sums are the same, but they are rounded at other places.
        let mut found = 0;
        for seed in 0..1500 {
            let mut rng = Rng::with_seed(seed);
            let shape = Shape::random(&mut rng);
            let scaled = ensemble(&mut rng, &shape);
            if scaled.scale().is_none() {
                continue;
            }
            let mut builder = secateur_model::EnsembleBuilder::new(
                scaled.features().clone(),
                *scaled.intake(),
                scaled.classes().clone(),
                scaled.intercepts().to_vec(),
                *scaled.accumulation(),
                *scaled.decision(),
            )
            .unwrap();
            for tree in scaled.trees() {
                builder.finished_tree(tree.clone()).unwrap();
            }
            assert_ne!(Digest::of(&builder.build()), Digest::of(&scaled), "seed {seed}");
            found += 1;
        }
        assert!(found > 10, "{found} models with a scale: too few for a test");
    }

    #[test]
    fn zero_and_negative_zero_are_told_apart() {
        // The numbers are equal but their bits differ, and a library may print them or divide by
        // them differently.
        let mut rng = Rng::with_seed(1);
        let shape = Shape::random(&mut rng);
        let model = ensemble(&mut rng, &shape);
        let with = |value: f64| {
            let tree = &model.trees()[0];
            tree.with_leaf_values(vec![value; tree.leaf_values().len()]).unwrap()
        };
        let encode = |tree: &Tree| {
            let mut bytes = Vec::new();
            let mut out = |part: &[u8]| bytes.extend_from_slice(part);
            let mut encoding = Encoding { block: Vec::new(), out: &mut out };
            encoding.tree(tree);
            (encoding.out)(&encoding.block);
            bytes
        };
        assert_ne!(encode(&with(0.0)), encode(&with(-0.0)));
        assert!(bytes(&model).starts_with(&16u64.to_le_bytes()));
    }
}
