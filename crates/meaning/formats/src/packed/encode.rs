//! Writes a packed file, section by section in the order of the specification.

use std::collections::{BTreeMap, BTreeSet};

use secateur_model::{
    Categories, CategoryRule, ClassLabels, Decision, Ensemble, FeatureId, InterceptPosition, Label, Node,
    NodeId, NumberType, Order, Output, Softmax, Split, Test, Transform, Value,
};
use thiserror::Error;

use super::{MAGIC, Stamp, checksum, width};
use crate::{Framework, Link};

/// Why a model cannot be packed.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum PackError {
    /// The model has a property that only models in memory have.
    #[error(
        "a model whose category labels were matched with another's cannot be packed; pack the file itself"
    )]
    Joined,
    /// The last step of a pipeline.
    #[error(
        "a model behind the steps of a pipeline cannot be packed, because a packed model would be given rows that did not go \
         through them; save and pack the last step, and let the others make its rows"
    )]
    Steps,
    /// The labels do not fit the classes.
    #[error("the labels given are not one for each of the {classes} classes")]
    Labels {
        /// The number of classes.
        classes: usize,
    },
    /// A number is too large for the format.
    #[error("the model is too large to be packed: {what}")]
    TooLarge {
        /// What there is too much of.
        what: &'static str,
    },
}

/// Refuses models that a packed file cannot hold, and labels that do not fit their classes.
pub fn refuse(ensemble: &Ensemble, labels: Option<&ClassLabels>) -> Result<(), PackError> {
    let (features, classes) = (ensemble.features(), ensemble.classes().len());
    if features.steps().is_some() {
        return Err(PackError::Steps);
    }
    if labels.is_some_and(|labels| labels.len() != classes) {
        return Err(PackError::Labels { classes });
    }
    let categories = (0..features.len()).filter_map(|feature| features.categories(FeatureId::new(feature)));
    let joined = |rule: &CategoryRule| matches!(rule, CategoryRule::Joined { .. });
    if categories.map(|categories| &categories.rule).any(joined)
        || features.unplaced_labels().is_some_and(|unplaced| unplaced.moved)
    {
        return Err(PackError::Joined);
    }
    // There are fewer different tests than nodes.
    if ensemble.trees().iter().map(|tree| tree.node_count()).sum::<usize>() >= 1 << 30 {
        return Err(PackError::TooLarge { what: "2^30 nodes and more" });
    }
    Ok(())
}

/// The file of a model.
pub(super) fn encode(
    ensemble: &Ensemble,
    (framework, source): (Framework, &str),
    link: Link,
    labels: Option<&ClassLabels>,
    stamp: &Stamp,
) -> Result<Vec<u8>, PackError> {
    refuse(ensemble, labels)?;
    let own = ensemble.classes();
    let classes = match labels {
        Some(labels) if matches!(own, ClassLabels::Unnamed(_)) => labels,
        _ => own,
    };
    let mut out = Out::default();
    out.bytes.extend_from_slice(&MAGIC);
    out.bytes.extend_from_slice(&stamp.source);
    out.bytes.extend_from_slice(&stamp.cover_rows.to_le_bytes());
    out.word(stamp.cover_hash);
    out.text(framework.name());
    out.text(source);
    out.link(link);
    let domain = ensemble.intake();
    out.number(domain.number);
    out.flag(ensemble.accepts_missing());
    out.flag(domain.infinities);
    out.option(domain.zero_window);
    let accumulation = ensemble.accumulation();
    out.number(accumulation.number);
    out.flag(accumulation.intercept == InterceptPosition::Last);
    out.flag(accumulation.order == Order::Any);
    out.option(accumulation.average.map(|average| average.divisor));
    if let Some(average) = accumulation.average {
        out.flag(average.in_raw_scores);
    }
    out.features(ensemble);
    out.classes(classes);
    out.decision(ensemble.decision());
    out.floats(ensemble.intercepts());
    let errors = ensemble.intercept_errors();
    let inexact = errors.iter().any(|&error| error != 0.0);
    out.flag(inexact);
    if inexact {
        out.floats(errors);
    }
    let tests = Columns::of(ensemble);
    tests.write(&mut out);
    trees(ensemble, &tests, &mut out);
    let sum = checksum(&out.bytes);
    out.word(sum);
    Ok(out.bytes)
}

#[derive(Default)]
struct Out {
    bytes: Vec<u8>,
}

impl Out {
    fn byte(&mut self, byte: u8) {
        self.bytes.push(byte);
    }

    fn flag(&mut self, flag: bool) {
        self.byte(u8::from(flag));
    }

    fn word(&mut self, word: u64) {
        self.bytes.extend_from_slice(&word.to_le_bytes());
    }

    fn float(&mut self, value: f64) {
        self.word(value.to_bits());
    }

    fn option(&mut self, value: Option<f64>) {
        self.flag(value.is_some());
        if let Some(value) = value {
            self.float(value);
        }
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.byte(value as u8 | 0x80);
            value >>= 7;
        }
        self.byte(value as u8);
    }

    fn count(&mut self, count: usize) {
        self.varint(count as u64);
    }

    fn text(&mut self, text: &str) {
        self.count(text.len());
        self.bytes.extend_from_slice(text.as_bytes());
    }

    fn floats(&mut self, values: &[f64]) {
        self.count(values.len());
        values.iter().for_each(|&value| self.float(value));
    }

    fn number(&mut self, number: NumberType) {
        self.flag(number == NumberType::F64);
    }

    fn link(&mut self, link: Link) {
        match link {
            Link::None => self.byte(0),
            Link::Logistic32 => self.byte(1),
            Link::Logistic64 { scale } => {
                self.byte(2);
                self.float(scale);
            }
            Link::Softmax32 => self.byte(3),
            Link::Softmax64 => self.byte(4),
            Link::Each { scale } => {
                self.byte(5);
                self.float(scale);
            }
            Link::Identity => self.byte(6),
            Link::DividedSoftmax64 { divisor } => {
                self.byte(7);
                self.float(divisor);
            }
        }
    }

    fn features(&mut self, ensemble: &Ensemble) {
        let features = ensemble.features();
        let ids = || (0..features.len()).map(FeatureId::new);
        self.count(features.len());
        self.flag(features.has_names());
        if features.has_names() {
            ids().for_each(|id| self.text(&features.name(id)));
        }
        let categorical: Vec<(FeatureId, &Categories)> =
            ids().filter_map(|id| Some((id, features.categories(id)?))).collect();
        self.count(categorical.len());
        for (id, categories) in categorical {
            self.varint(u64::from(id.0));
            match &categories.rule {
                CategoryRule::TruncateNonNegative => self.byte(0),
                CategoryRule::Truncate => self.byte(1),
                CategoryRule::Whole => self.byte(2),
                CategoryRule::Listed(values) => {
                    self.byte(3);
                    self.floats(values);
                }
                CategoryRule::Hashed => self.byte(4),
                CategoryRule::Joined { .. } => unreachable!("such a model is refused"),
            }
            self.flag(categories.unseen_is_missing);
            self.flag(categories.labels.is_some());
            if let Some(labels) = &categories.labels {
                self.labels(labels);
            }
        }
        let unplaced = features.unplaced_labels();
        self.flag(unplaced.is_some());
        if let Some(unplaced) = unplaced {
            self.flag(false);
            self.count(unplaced.lists.len());
            unplaced.lists.iter().for_each(|labels| self.labels(labels));
        }
    }

    fn labels(&mut self, labels: &[Label]) {
        self.count(labels.len());
        for label in labels {
            match label {
                Label::Text(text) => {
                    self.byte(0);
                    self.text(text);
                }
                Label::Integer(number) => {
                    self.byte(1);
                    self.word(*number as u64);
                }
                Label::Float(number) => {
                    self.byte(2);
                    self.float(*number);
                }
                Label::Boolean(value) => {
                    self.byte(3);
                    self.flag(*value);
                }
                Label::Hash(hash) => {
                    self.byte(5);
                    self.varint(u64::from(*hash));
                }
                Label::Unreadable(text) => {
                    self.byte(4);
                    self.text(text);
                }
            }
        }
    }

    fn classes(&mut self, classes: &ClassLabels) {
        match classes {
            ClassLabels::Unnamed(count) => {
                self.byte(0);
                self.varint(u64::from(*count));
            }
            ClassLabels::Integers(labels) => {
                self.byte(1);
                self.count(labels.len());
                labels.iter().for_each(|&label| self.word(label as u64));
            }
            ClassLabels::Floats(labels) => {
                self.byte(2);
                self.floats(labels);
            }
            ClassLabels::Booleans(labels) => {
                self.byte(3);
                self.count(labels.len());
                labels.iter().for_each(|&label| self.flag(label));
            }
            ClassLabels::Strings(labels) => {
                self.byte(4);
                self.count(labels.len());
                labels.iter().for_each(|label| self.text(label));
            }
        }
    }

    fn decision(&mut self, decision: &Decision) {
        match *decision {
            Decision::Threshold { group, threshold, strict } => {
                self.byte(0);
                self.varint(u64::from(group.0));
                self.float(threshold);
                self.flag(strict);
            }
            Decision::Argmax => self.byte(1),
            Decision::ArgmaxSoftmax(Softmax::XgBoost) => self.byte(2),
            Decision::ArgmaxSoftmax(Softmax::LightGbm) => self.byte(3),
            Decision::ArgmaxSigmoid { scale } => {
                self.byte(4);
                self.float(scale);
            }
            Decision::Scores(value) => {
                self.byte(5);
                self.byte(match value {
                    Value::Score => 0,
                    Value::SignedSquare => 1,
                    Value::NotFixed(Transform::Exp) => 2,
                    Value::NotFixed(Transform::Logistic) => 3,
                    Value::NotFixed(Transform::LogOnePlusExp) => 4,
                    Value::NotFixed(Transform::Sorted) => 5,
                    Value::ScoreAsF32 => 6,
                    Value::Above { .. } => 7,
                    Value::NotFixed(Transform::MeanAndVariance) => 8,
                    Value::NotFixed(Transform::PathLength) => 9,
                });
                if let Value::Above { threshold } = value {
                    self.float(threshold);
                }
            }
        }
    }
}

/// Bits, the lowest of each byte first.
#[derive(Default)]
struct Bits {
    bytes: Vec<u8>,
    word: u64,
    used: u32,
}

impl Bits {
    fn put(&mut self, value: u64, count: u32) {
        if count > 32 {
            self.put(value & 0xffff_ffff, 32);
            return self.put(value >> 32, count - 32);
        }
        self.word |= value << self.used;
        self.used += count;
        while self.used >= 8 {
            self.bytes.push(self.word as u8);
            self.word >>= 8;
            self.used -= 8;
        }
    }

    fn end(mut self, out: &mut Out) {
        if self.used > 0 {
            self.bytes.push(self.word as u8);
        }
        out.bytes.append(&mut self.bytes);
    }
}

/// The tests of a model, in columns: those of one feature, one kind of test and one side of missing
/// values.
struct Columns {
    columns: BTreeMap<(u32, u8), Tests>,
    /// The number of the first test of each column.
    first: BTreeMap<(u32, u8), usize>,
    count: usize,
}

enum Tests {
    /// The keys of the numbers; keys sort like the numbers.
    Numbers(Vec<u64>),
    Sets(Vec<Vec<u32>>),
}

impl Columns {
    fn of(ensemble: &Ensemble) -> Self {
        let mut numbers: BTreeMap<(u32, u8), BTreeSet<u64>> = BTreeMap::new();
        let mut sets: BTreeMap<(u32, u8), BTreeSet<Vec<u32>>> = BTreeMap::new();
        for split in ensemble.trees().iter().flat_map(|tree| tree.splits()) {
            let column = column(split);
            match split.test {
                Test::Member { set, .. } => {
                    sets.entry(column).or_default().insert(set.to_vec());
                }
                Test::Less { threshold: number }
                | Test::LessOrEqual { threshold: number }
                | Test::LessOrEqualButZero { threshold: number, .. }
                | Test::Equal { value: number } => {
                    numbers.entry(column).or_default().insert(key64(number));
                }
            }
        }
        let numbers =
            numbers.into_iter().map(|(column, keys)| (column, Tests::Numbers(keys.into_iter().collect())));
        let sets = sets.into_iter().map(|(column, sets)| (column, Tests::Sets(sets.into_iter().collect())));
        let columns: BTreeMap<(u32, u8), Tests> = numbers.chain(sets).collect();
        let mut first = BTreeMap::new();
        let mut count = 0;
        for (&column, tests) in &columns {
            first.insert(column, count);
            count += match tests {
                Tests::Numbers(keys) => keys.len(),
                Tests::Sets(sets) => sets.len(),
            };
        }
        Self { columns, first, count }
    }

    /// The number of a test.
    fn number(&self, split: Split<'_>) -> u64 {
        let column = column(split);
        let place = match (&self.columns[&column], split.test) {
            (Tests::Sets(sets), Test::Member { set, .. }) => {
                sets.binary_search_by(|known| known[..].cmp(set))
            }
            (
                Tests::Numbers(keys),
                Test::Less { threshold: number }
                | Test::LessOrEqual { threshold: number }
                | Test::LessOrEqualButZero { threshold: number, .. }
                | Test::Equal { value: number },
            ) => keys.binary_search(&key64(number)),
            _ => unreachable!("a column has tests of one kind"),
        };
        (self.first[&column] + place.expect("every test was collected")) as u64
    }

    fn write(&self, out: &mut Out) {
        out.count(self.columns.len());
        for (&(feature, kind), tests) in &self.columns {
            out.varint(u64::from(feature));
            out.byte(kind);
            match tests {
                Tests::Sets(sets) => {
                    out.count(sets.len());
                    for set in sets {
                        out.count(set.len());
                        let mut next = 0;
                        for &code in set {
                            out.varint(u64::from(code - next));
                            next = code.wrapping_add(1);
                        }
                    }
                }
                Tests::Numbers(keys) if kind >> 1 == EQUAL => {
                    out.floats(&keys.iter().map(|&key| from_key64(key)).collect::<Vec<_>>());
                }
                Tests::Numbers(keys) => {
                    out.count(keys.len());
                    out.flag(keys32(keys).is_none());
                }
            }
        }
        let mut bits = Bits::default();
        for (&(_, kind), tests) in &self.columns {
            match tests {
                Tests::Numbers(keys) if kind >> 1 != EQUAL => match keys32(keys) {
                    Some(keys) => gaps(&keys, 32, 6, &mut bits),
                    None => gaps(keys, 64, 7, &mut bits),
                },
                _ => {}
            }
        }
        bits.end(out);
    }
}

const EQUAL: u8 = 4;

/// The column of a test: its feature, and a byte with the kind of test in the upper bits and the
/// side of missing values in the lowest.
fn column(split: Split<'_>) -> (u32, u8) {
    let kind = match split.test {
        Test::Less { .. } => 0,
        Test::LessOrEqual { .. } => 1,
        Test::LessOrEqualButZero { zero_left, .. } => 2 + u8::from(zero_left),
        Test::Equal { .. } => EQUAL,
        Test::Member { members_left, .. } => 5 + u8::from(members_left),
    };
    (split.feature.0, kind << 1 | u8::from(split.missing_left))
}

/// Writes the first key in full, then for each further key the bit length of its gap to the
/// previous one, minus one, and the bits of the gap below the top bit.
fn gaps(keys: &[u64], bits_of_key: u32, bits_of_length: u32, bits: &mut Bits) {
    bits.put(keys[0], bits_of_key);
    for pair in keys.windows(2) {
        let gap = pair[1] - pair[0] - 1;
        let length = u64::BITS - gap.leading_zeros();
        bits.put(u64::from(length), bits_of_length);
        if length > 1 {
            bits.put(gap & ((1 << (length - 1)) - 1), length - 1);
        }
    }
}

fn key64(value: f64) -> u64 {
    let bits = value.to_bits();
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

fn from_key64(key: u64) -> f64 {
    f64::from_bits(if key >> 63 == 1 { key ^ 1 << 63 } else { !key })
}

/// The keys as f32 keys, if every number is an f32.
fn keys32(keys: &[u64]) -> Option<Vec<u64>> {
    let key = |&key: &u64| {
        let wide = from_key64(key);
        let bits = (wide as f32).to_bits();
        let key = if bits >> 31 == 1 { !bits } else { bits | 1 << 31 };
        (f64::from(wide as f32).to_bits() == wide.to_bits()).then_some(u64::from(key))
    };
    keys.iter().map(key).collect()
}

fn trees(ensemble: &Ensemble, tests: &Columns, out: &mut Out) {
    let trees = ensemble.trees();
    let groups = ensemble.group_count();
    out.count(trees.len());
    let in_turn = |(index, output): (usize, Output)| matches!(output, Output::Group(group) if group.index() == index % groups);
    let outputs = || trees.iter().map(|tree| tree.output());
    if outputs().enumerate().all(in_turn) {
        out.byte(0);
    } else if outputs().all(|output| output == Output::All) {
        out.byte(1);
    } else {
        out.byte(2);
        for output in outputs() {
            out.varint(match output {
                Output::All => 0,
                Output::Group(group) => u64::from(group.0) + 1,
            });
        }
    }
    let weights: Vec<u64> = trees.iter().map(|tree| tree.weight().to_bits()).collect();
    if let Some(scale) = ensemble.scale() {
        // The scale, which is the weight of every tree, multiplies the sums.
        out.byte(3);
        out.float(scale);
    } else if weights.iter().all(|&weight| weight == 1f64.to_bits()) {
        out.byte(0);
    } else if weights.windows(2).all(|pair| pair[0] == pair[1]) {
        out.byte(1);
        out.word(weights[0]);
    } else {
        out.byte(2);
        weights.iter().for_each(|&weight| out.word(weight));
    }
    let width = width(tests.count);
    let mut bits = Bits::default();
    let mut leaves = Vec::new();
    for tree in trees {
        let mut open = vec![NodeId(0)];
        while let Some(node) = open.pop() {
            match tree.node(node) {
                Node::Split { split, left, right } => {
                    bits.put(1, 1);
                    bits.put(tests.number(split), width);
                    open.extend([right, left]);
                }
                Node::Leaf(leaf) => {
                    bits.put(0, 1);
                    leaves.extend_from_slice(tree.leaf(leaf));
                }
                Node::Unused => unreachable!("the builder lets no path reach an unused slot"),
            }
        }
    }
    bits.end(out);
    write_leaves(&leaves, ensemble.accumulation().number, out);
}

/// The part of a file that has a cover for each node, in the order of the trees' nodes. `None` if
/// they do not fit: a number that is no cover, a split without cover, another number of nodes.
pub(super) fn covers(ensemble: &Ensemble, covers: &[Vec<f64>]) -> Option<Vec<u8>> {
    let narrow = covers.iter().flatten().all(|&cover| f64::from(cover as f32) == cover);
    let mut bytes = vec![if narrow { 1 } else { 2 }];
    if covers.len() != ensemble.trees().len() {
        return None;
    }
    for (tree, covers) in ensemble.trees().iter().zip(covers) {
        let mut open = vec![NodeId(0)];
        while let Some(node) = open.pop() {
            let cover = *covers.get(node.index())?;
            let is_split = match tree.node(node) {
                Node::Split { left, right, .. } => {
                    let [below, beside] = [left, right].map(|child| covers.get(child.index()).copied());
                    if below? + beside? > cover * (1.0 + 1.0 / 1024.0) {
                        return None;
                    }
                    open.extend([right, left]);
                    true
                }
                _ => false,
            };
            if !(cover >= 0.0 && cover.is_finite()) || is_split && cover == 0.0 {
                return None;
            }
            match narrow {
                true => bytes.extend_from_slice(&(cover as f32).to_le_bytes()),
                false => bytes.extend_from_slice(&cover.to_le_bytes()),
            }
        }
    }
    Some(bytes)
}

/// Writes the leaves in the shortest of three forms.
fn write_leaves(leaves: &[f64], number: NumberType, out: &mut Out) {
    let (full, mantissa) = match number {
        NumberType::F32 => (32, 23),
        NumberType::F64 => (64, 52),
    };
    let bits_of = |leaf: f64| match number {
        NumberType::F32 => u64::from((leaf as f32).to_bits()),
        NumberType::F64 => leaf.to_bits(),
    };
    let all: Vec<u64> = leaves.iter().map(|&leaf| bits_of(leaf)).collect();
    let sorted = |values: &mut dyn Iterator<Item = u64>| {
        values.collect::<BTreeSet<u64>>().into_iter().collect::<Vec<u64>>()
    };
    let known = sorted(&mut all.iter().copied());
    let tops = sorted(&mut all.iter().map(|bits| bits >> mantissa));
    let place =
        |list: &[u64], value: u64| list.binary_search(&value).expect("every value was collected") as u64;
    let listed = known.len() * full as usize + all.len() * width(known.len()) as usize;
    let split = tops.len() * 16 + all.len() * (width(tops.len()) + mantissa) as usize;
    let mut bits = Bits::default();
    if listed < split.min(all.len() * full as usize) {
        out.byte(1);
        out.count(known.len());
        for &value in &known {
            out.bytes.extend_from_slice(&value.to_le_bytes()[..full as usize / 8]);
        }
        let width = width(known.len());
        all.iter().for_each(|&value| bits.put(place(&known, value), width));
    } else if split < all.len() * full as usize {
        out.byte(2);
        out.count(tops.len());
        tops.iter().for_each(|&top| out.bytes.extend_from_slice(&(top as u16).to_le_bytes()));
        let width = width(tops.len());
        for &value in &all {
            bits.put(place(&tops, value >> mantissa), width);
            bits.put(value & ((1 << mantissa) - 1), mantissa);
        }
    } else {
        out.byte(0);
        all.iter().for_each(|&value| bits.put(value, full));
    }
    bits.end(out);
}
