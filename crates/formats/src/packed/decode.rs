//! Reads a packed file into a model, through the builder as every other format. Written from the specification and
//! apart from the runtime's reader.

use secateur_model::{
    Accumulation, Average, Categories, CategoryRule, ClassLabels, Decision, EnsembleBuilder, FeatureId,
    Features, GroupId, InputDomain, InterceptPosition, Label, MAX_FEATURES, NodeId, NumberType, Order,
    Output, Softmax, Split, Test, Transform, TreeBuilder, Value,
};

use super::{File, Link, MAGIC, Stamp, checksum, width};
use crate::Framework;
use crate::error::{FormatError, Place, Problem};

pub(super) fn decode(bytes: Vec<u8>) -> Result<File, FormatError> {
    let end = bytes.len().saturating_sub(8);
    let mut input = In { bytes: &bytes, at: 0, end };
    if input.take(4, "the first bytes")? != MAGIC {
        return Err(input.wrong("another version", "version 1 of packed models"));
    }
    let written = bytes[end..].iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
    if checksum(&bytes[..end]) != written {
        let expected = "the checksum of what stands before it: the file was cut or changed";
        return Err(FormatError::new(
            Place::Byte(end as u64),
            Problem::Value { found: format!("{written:016x}"), expected },
        ));
    }
    let mut source = [0; 32];
    source.copy_from_slice(input.take(32, "the digest")?);
    let cover_rows = u32::try_from(input.little_endian(4)?).expect("four bytes");
    let stamp = Stamp { source, cover_rows, cover_hash: input.little_endian(8)? };
    let framework = input.text()?;
    let framework = Framework::from_name(&framework)
        .ok_or_else(|| input.wrong(&framework, "the name of a library whose models are packed"))?;
    let source = input.text()?;
    let link = input.link()?;
    let domain = InputDomain {
        number: input.number()?,
        missing: input.flag()?,
        infinities: input.flag()?,
        zero_window: input.option()?,
    };
    // Below 1, so that every category but the first keeps its number.
    if let Some(window) = domain.zero_window.filter(|&window| window.is_nan() || window >= 1.0) {
        return Err(input.wrong(&window.to_string(), "a magnitude below 1 up to which values are zero"));
    }
    let number = input.number()?;
    let intercept = if input.flag()? { InterceptPosition::Last } else { InterceptPosition::First };
    let order = if input.flag()? { Order::Any } else { Order::File };
    let average = match input.option()? {
        Some(divisor) => Some(Average { divisor, in_raw_scores: input.flag()? }),
        None => None,
    };
    let accumulation = Accumulation { number, intercept, order, average };
    let features = input.features(&domain)?;
    let classes = input.classes()?;
    let decision = input.decision()?;
    let intercepts = input.floats()?;
    let groups = intercepts.len();
    // Of a model that gives a row several labels, each score has a probability of its own.
    let several = matches!(decision, Decision::Scores(Value::Above { .. }));
    let fits = match link {
        Link::None => true,
        Link::Each { .. } if several => true,
        Link::Logistic32 | Link::Logistic64 { .. } => groups == 1 && classes.len() == 2,
        Link::DividedSoftmax64 { divisor } => classes.len() == groups.max(2) && divisor > 0.0,
        Link::Softmax32 | Link::Softmax64 | Link::Each { .. } | Link::Identity => classes.len() == groups,
    };
    if !fits {
        return Err(input.wrong("another way", "a way from scores to probabilities that fits the classes"));
    }
    let known = features.clone();
    let mut builder = EnsembleBuilder::new(features, domain, classes, intercepts, accumulation, decision)?;
    if input.flag()? {
        builder.intercept_errors(input.floats()?)?;
    }
    let tests = input.tests(&known, domain.number)?;
    input.trees(&tests, groups, number, &mut builder)?;
    if input.at != input.end {
        return Err(input.wrong("more bytes", "the checksum, which ends the file"));
    }
    Ok(File { ensemble: builder.build(), bytes, framework, source, link, stamp })
}

/// One question of the model.
struct Question {
    feature: FeatureId,
    kind: u8,
    number: f64,
    set: Vec<u32>,
}

impl Question {
    fn split(&self) -> Split<'_> {
        let test = match self.kind >> 1 {
            0 => Test::Less { threshold: self.number },
            1 => Test::LessOrEqual { threshold: self.number },
            2 => Test::LessOrEqualButZero { threshold: self.number, zero_left: false },
            3 => Test::LessOrEqualButZero { threshold: self.number, zero_left: true },
            4 => Test::Equal { value: self.number },
            5 => Test::Member { set: &self.set, members_left: false },
            _ => Test::Member { set: &self.set, members_left: true },
        };
        Split { feature: self.feature, test, missing_left: self.kind & 1 == 1 }
    }
}

/// The bytes from `at` on, up to the checksum.
struct In<'a> {
    bytes: &'a [u8],
    at: usize,
    end: usize,
}

impl<'a> In<'a> {
    fn wrong(&self, found: &str, expected: &'static str) -> FormatError {
        FormatError::new(Place::Byte(self.at as u64), Problem::Value { found: found.to_owned(), expected })
    }

    fn left(&self) -> usize {
        self.end.saturating_sub(self.at)
    }

    fn take(&mut self, count: usize, inside: &'static str) -> Result<&'a [u8], FormatError> {
        if count > self.left() {
            return Err(FormatError::new(Place::Byte(self.at as u64), Problem::Truncated { inside }));
        }
        let taken = &self.bytes[self.at..self.at + count];
        self.at += count;
        Ok(taken)
    }

    fn byte(&mut self) -> Result<u8, FormatError> {
        Ok(self.take(1, "a number")?[0])
    }

    fn flag(&mut self) -> Result<bool, FormatError> {
        match self.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(self.wrong(&other.to_string(), "a flag, 0 or 1")),
        }
    }

    fn little_endian(&mut self, bytes: usize) -> Result<u64, FormatError> {
        Ok(self.take(bytes, "a number")?.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte)))
    }

    fn float(&mut self) -> Result<f64, FormatError> {
        Ok(f64::from_bits(self.little_endian(8)?))
    }

    fn option(&mut self) -> Result<Option<f64>, FormatError> {
        if self.flag()? { self.float().map(Some) } else { Ok(None) }
    }

    fn varint(&mut self) -> Result<u64, FormatError> {
        let mut value = 0u128;
        for place in 0..10 {
            let byte = self.byte()?;
            value |= u128::from(byte & 0x7f) << (7 * place);
            if byte < 0x80 {
                let shortest = place == 0 || byte > 0;
                return u64::try_from(value)
                    .ok()
                    .filter(|_| shortest)
                    .ok_or_else(|| self.wrong("a longer one", "a number of 64 bits in its shortest form"));
            }
        }
        Err(self.wrong("a longer one", "a number of 64 bits in its shortest form"))
    }

    fn short(&mut self) -> Result<u32, FormatError> {
        let value = self.varint()?;
        u32::try_from(value).map_err(|_| self.wrong(&value.to_string(), "a number of 32 bits"))
    }

    /// A count of items, each of which takes at least so many half bytes.
    fn count(&mut self, half_bytes: usize, what: &'static str) -> Result<usize, FormatError> {
        let declared = self.varint()?;
        self.check_count(declared, half_bytes, what)
    }

    fn check_count(
        &self,
        declared: u64,
        half_bytes: usize,
        what: &'static str,
    ) -> Result<usize, FormatError> {
        let bytes = self.left() as u64;
        if declared.checked_mul(half_bytes as u64).is_none_or(|needed| needed.div_ceil(2) > bytes) {
            return Err(FormatError::new(
                Place::Byte(self.at as u64),
                Problem::DeclaredTooMany { what, declared, bytes },
            ));
        }
        Ok(declared as usize)
    }

    fn text(&mut self) -> Result<String, FormatError> {
        let length = self.count(2, "letters")?;
        let bytes = self.take(length, "a text")?.to_vec();
        String::from_utf8(bytes).map_err(|_| self.wrong("other bytes", "a text in UTF-8"))
    }

    fn floats(&mut self) -> Result<Vec<f64>, FormatError> {
        let count = self.count(16, "numbers")?;
        (0..count).map(|_| self.float()).collect()
    }

    fn number(&mut self) -> Result<NumberType, FormatError> {
        Ok(if self.flag()? { NumberType::F64 } else { NumberType::F32 })
    }

    fn link(&mut self) -> Result<Link, FormatError> {
        Ok(match self.byte()? {
            0 => Link::None,
            1 => Link::Logistic32,
            2 => Link::Logistic64 { scale: self.float()? },
            3 => Link::Softmax32,
            4 => Link::Softmax64,
            5 => Link::Each { scale: self.float()? },
            6 => Link::Identity,
            7 => Link::DividedSoftmax64 { divisor: self.float()? },
            other => return Err(self.wrong(&other.to_string(), "a way from scores to probabilities")),
        })
    }

    fn features(&mut self, domain: &InputDomain) -> Result<Features, FormatError> {
        let count = self.short()?;
        if count as usize > MAX_FEATURES {
            return Err(self.wrong(&count.to_string(), "a number of features that is supported"));
        }
        let mut features = if self.flag()? {
            self.check_count(u64::from(count), 2, "names")?;
            Features::named((0..count).map(|_| self.text()).collect::<Result<_, _>>()?)
        } else {
            Features::unnamed(count)
        };
        let mut next = 0;
        for _ in 0..self.count(8, "categorical features")? {
            let feature = self.short()?;
            if feature < next || feature >= count {
                return Err(self.wrong(&feature.to_string(), "the next categorical feature"));
            }
            next = feature + 1;
            let rule = match self.byte()? {
                0 => CategoryRule::TruncateNonNegative,
                1 => CategoryRule::Truncate,
                2 => CategoryRule::Whole,
                3 => CategoryRule::Listed(self.listed(domain)?),
                4 => CategoryRule::Hashed,
                other => return Err(self.wrong(&other.to_string(), "a way from numbers to categories")),
            };
            let unseen_is_missing = self.flag()?;
            let labels = if self.flag()? { Some(self.labels()?) } else { None };
            features.set_categories(FeatureId(feature), Categories { rule, unseen_is_missing, labels });
        }
        if self.flag()? {
            if self.flag()? {
                return Err(self.wrong("1", "0: labels in the order of the source"));
            }
            let lists = self.count(2, "lists of labels")?;
            features.set_unplaced_labels((0..lists).map(|_| self.labels()).collect::<Result<_, _>>()?);
        }
        Ok(features)
    }

    /// The categories of a column as numbers: each one is an input, and only once.
    fn listed(&mut self, domain: &InputDomain) -> Result<Vec<f64>, FormatError> {
        let values = self.floats()?;
        let is_input = |value: f64| value.is_finite() && domain.read(value) == Some(value);
        if let Some(&value) = values.iter().find(|&&value| !is_input(value)) {
            return Err(self.wrong(&value.to_string(), "a category that an input can be"));
        }
        // Both zeros are one number.
        let mut sorted: Vec<f64> = values.iter().map(|&value| value + 0.0).collect();
        sorted.sort_by(f64::total_cmp);
        match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(self.wrong(&format!("{} twice", pair[0]), "each category once")),
            None => Ok(values),
        }
    }

    fn labels(&mut self) -> Result<Vec<Label>, FormatError> {
        let count = self.count(4, "labels")?;
        let label = |_| {
            Ok(match self.byte()? {
                0 => Label::Text(self.text()?),
                1 => Label::Integer(self.little_endian(8)? as i64),
                2 => Label::Float(self.float()?),
                3 => Label::Boolean(self.flag()?),
                4 => Label::Unreadable(self.text()?),
                5 => Label::Hash(self.short()?),
                other => return Err(self.wrong(&other.to_string(), "a kind of label")),
            })
        };
        (0..count).map(label).collect()
    }

    fn classes(&mut self) -> Result<ClassLabels, FormatError> {
        Ok(match self.byte()? {
            0 => ClassLabels::Unnamed(self.short()?),
            1 => {
                let count = self.count(16, "labels")?;
                let label = |_| Ok(self.little_endian(8)? as i64);
                ClassLabels::Integers((0..count).map(label).collect::<Result<_, FormatError>>()?)
            }
            2 => ClassLabels::Floats(self.floats()?),
            3 => {
                let count = self.count(2, "labels")?;
                ClassLabels::Booleans((0..count).map(|_| self.flag()).collect::<Result<_, _>>()?)
            }
            4 => {
                let count = self.count(2, "labels")?;
                ClassLabels::Strings((0..count).map(|_| self.text()).collect::<Result<_, _>>()?)
            }
            other => return Err(self.wrong(&other.to_string(), "a kind of class labels")),
        })
    }

    fn decision(&mut self) -> Result<Decision, FormatError> {
        Ok(match self.byte()? {
            0 => {
                let group = GroupId(self.short()?);
                Decision::Threshold { group, threshold: self.float()?, strict: self.flag()? }
            }
            1 => Decision::Argmax,
            2 => Decision::ArgmaxSoftmax(Softmax::XgBoost),
            3 => Decision::ArgmaxSoftmax(Softmax::LightGbm),
            4 => Decision::ArgmaxSigmoid { scale: self.float()? },
            5 => Decision::Scores(self.value()?),
            other => return Err(self.wrong(&other.to_string(), "a decision rule")),
        })
    }

    fn value(&mut self) -> Result<Value, FormatError> {
        Ok(match self.byte()? {
            0 => Value::Score,
            1 => Value::SignedSquare,
            2 => Value::NotFixed(Transform::Exp),
            3 => Value::NotFixed(Transform::Logistic),
            4 => Value::NotFixed(Transform::LogOnePlusExp),
            5 => Value::NotFixed(Transform::Sorted),
            6 => Value::ScoreAsF32,
            7 => Value::Above { threshold: self.float()? },
            8 => Value::NotFixed(Transform::MeanAndVariance),
            9 => Value::NotFixed(Transform::PathLength),
            other => return Err(self.wrong(&other.to_string(), "a way from scores to predictions")),
        })
    }

    /// The tests of all columns, one after the other.
    fn tests(&mut self, features: &Features, number: NumberType) -> Result<Vec<Question>, FormatError> {
        let columns = self.count(6, "columns")?;
        let mut tests: Vec<Question> = Vec::new();
        // Where the thresholds of a column stand, and whether they are f64.
        let mut compared = Vec::new();
        let mut last = None;
        for _ in 0..columns {
            let feature = self.short()?;
            let kind = self.byte()?;
            if last >= Some((feature, kind)) || kind >> 1 > 6 {
                return Err(self.wrong(&format!("feature {feature}, kind {kind}"), "the next column"));
            }
            last = Some((feature, kind));
            let categories = features.categories(FeatureId(feature));
            let categorical = categories.is_some();
            // From 2^24 on not every code is a number that an f32 can hold.
            let short = number == NumberType::F32
                && categories.is_some_and(|categories| categories.rule == CategoryRule::Truncate);
            if feature as usize >= features.len() || categorical != (kind >> 1 > 4) {
                return Err(self.wrong(&format!("feature {feature}, kind {kind}"), "a feature of this kind"));
            }
            let first = tests.len();
            let question = |number, set| Question { feature: FeatureId(feature), kind, number, set };
            match kind >> 1 {
                0..=3 => {
                    let count = self.varint()?;
                    let wide = self.flag()?;
                    let count = self.check_count(count, 1, "thresholds")?;
                    tests.extend((0..count).map(|_| question(0.0, Vec::new())));
                    compared.push((first..tests.len(), wide));
                }
                4 => {
                    let numbers = self.floats()?;
                    if numbers.iter().any(|number| number.is_nan()) {
                        return Err(self.wrong("NaN", "a number"));
                    }
                    tests.extend(numbers.into_iter().map(|number| question(number, Vec::new())));
                }
                _ => {
                    for _ in 0..self.count(2, "sets")? {
                        let set = self.set()?;
                        if let Some(code) = set.last().filter(|&&code| short && code >= 1 << 24) {
                            return Err(self.wrong(&code.to_string(), "a category that an f32 can hold"));
                        }
                        tests.push(question(0.0, set));
                    }
                }
            }
            if tests.len() == first {
                return Err(self.wrong("a column without tests", "a test"));
            }
        }
        let mut bits = BitsIn::new(self);
        for (range, wide) in compared {
            let (bits_of_key, bits_of_length) = if wide { (64, 7) } else { (32, 6) };
            let mut key = u128::from(bits.take(bits_of_key)?);
            for (index, test) in tests[range].iter_mut().enumerate() {
                if index > 0 {
                    let length = bits.take(bits_of_length)? as u32;
                    let gap = match length {
                        0 => 0,
                        1..=64 => 1 << (length - 1) | bits.take(length - 1)?,
                        _ => {
                            return Err(bits.input.wrong(&length.to_string(), "a length of at most 64 bits"));
                        }
                    };
                    key += u128::from(gap) + 1;
                }
                test.number = number_of_key(key, wide)
                    .ok_or_else(|| bits.input.wrong("a threshold beyond all numbers", "a number"))?;
            }
        }
        bits.end()?;
        Ok(tests)
    }

    fn set(&mut self) -> Result<Vec<u32>, FormatError> {
        let mut next = 0u64;
        let mut set = Vec::new();
        for _ in 0..self.count(2, "categories")? {
            let code = next + u64::from(self.short()?);
            set.push(u32::try_from(code).map_err(|_| self.wrong(&code.to_string(), "a code of 32 bits"))?);
            next = code + 1;
        }
        Ok(set)
    }

    fn trees(
        &mut self,
        tests: &[Question],
        groups: usize,
        number: NumberType,
        builder: &mut EnsembleBuilder,
    ) -> Result<(), FormatError> {
        let count = self.count(1, "trees")?;
        let mode = self.byte()?;
        let mut outputs = Vec::with_capacity(count);
        for tree in 0..count {
            outputs.push(match mode {
                0 => Output::Group(GroupId::new(tree % groups.max(1))),
                1 => Output::All,
                2 => match self.short()? {
                    0 => Output::All,
                    group => Output::Group(GroupId(group - 1)),
                },
                other => return Err(self.wrong(&other.to_string(), "a way to say what trees add to")),
            });
        }
        let weights = match self.byte()? {
            0 => vec![1.0; count],
            1 => vec![self.float()?; count],
            2 => (0..count).map(|_| self.float()).collect::<Result<_, _>>()?,
            3 => {
                let scale = self.float()?;
                builder.scale(scale)?;
                vec![scale; count]
            }
            other => return Err(self.wrong(&other.to_string(), "a way to write weights")),
        };
        let shapes = self.shapes(count, tests.len())?;
        let widths = outputs.iter().map(|&output| if output == Output::All { groups } else { 1 });
        let leaf_count = |shape: &[Option<u32>]| shape.iter().filter(|node| node.is_none()).count() as u64;
        let needed = shapes.iter().zip(widths.clone()).fold(0u64, |sum, (shape, width)| {
            sum.saturating_add(leaf_count(shape).saturating_mul(width as u64))
        });
        let needed = self.check_count(needed, 1, "leaf values")?;
        let leaves = self.leaves(needed, number)?;
        let mut leaves = leaves.as_slice();
        for (((shape, width), output), weight) in shapes.iter().zip(widths).zip(&outputs).zip(weights) {
            let mut tree = TreeBuilder::with_capacity(shape.len());
            let rights = right_children(shape);
            for (at, node) in shape.iter().enumerate() {
                match node {
                    Some(test) => {
                        let (left, right) = (NodeId::new(at + 1), NodeId::new(rights[at]));
                        tree.split(tests[*test as usize].split(), left, right);
                    }
                    None => {
                        let (values, rest) = leaves.split_at(width);
                        tree.leaf(values);
                        leaves = rest;
                    }
                }
            }
            builder.tree(tree, *output, weight)?;
        }
        Ok(())
    }

    /// The nodes of each tree in preorder: the number of a test, or none for a leaf.
    fn shapes(&mut self, count: usize, tests: usize) -> Result<Vec<Vec<Option<u32>>>, FormatError> {
        let width = width(tests);
        let mut bits = BitsIn::new(self);
        let mut shapes = Vec::with_capacity(count);
        for _ in 0..count {
            let mut shape = Vec::new();
            let mut open = 1u64;
            while open > 0 {
                if bits.take(1)? == 0 {
                    shape.push(None);
                    open -= 1;
                    continue;
                }
                let test = bits.take(width)?;
                if test >= tests as u64 {
                    return Err(bits.input.wrong(&test.to_string(), "the number of a test"));
                }
                shape.push(Some(test as u32));
                open += 1;
            }
            shapes.push(shape);
        }
        bits.end()?;
        Ok(shapes)
    }

    fn leaves(&mut self, count: usize, number: NumberType) -> Result<Vec<f64>, FormatError> {
        let (full, mantissa) = match number {
            NumberType::F32 => (32, 23),
            NumberType::F64 => (64, 52),
        };
        let float = |bits: u64| match number {
            NumberType::F32 => f64::from(f32::from_bits(bits as u32)),
            NumberType::F64 => f64::from_bits(bits),
        };
        let mode = self.byte()?;
        let bytes = match mode {
            0 => 0,
            1 => full as usize / 8,
            2 => 2,
            other => return Err(self.wrong(&other.to_string(), "a way to write leaves")),
        };
        let known: Vec<u64> = if mode == 0 {
            Vec::new()
        } else {
            let known = self.count(2 * bytes, "values")?;
            (0..known).map(|_| self.little_endian(bytes)).collect::<Result<_, _>>()?
        };
        if mode == 2 {
            // Those that no leaf uses too: the runtime's reader refuses a list with one.
            if let Some(top) = known.iter().find(|&&top| top >> (full - mantissa) != 0) {
                return Err(self.wrong(&top.to_string(), "a sign and an exponent"));
            }
        }
        let width = width(known.len());
        let mut bits = BitsIn::new(self);
        let mut leaves = Vec::with_capacity(count);
        for _ in 0..count {
            leaves.push(float(if mode == 0 {
                bits.take(full)?
            } else {
                let at = bits.take(width)?;
                let Some(&top) = known.get(at as usize) else {
                    return Err(bits.input.wrong(&at.to_string(), "the place of a value in the list"));
                };
                if mode == 1 { top } else { top << mantissa | bits.take(mantissa)? }
            }));
        }
        bits.end()?;
        Ok(leaves)
    }
}

/// For each split the position of its right child: the first node behind its left subtree.
fn right_children(shape: &[Option<u32>]) -> Vec<usize> {
    let mut rights = vec![0; shape.len()];
    let mut waiting = Vec::new();
    for (at, node) in shape.iter().enumerate() {
        if node.is_some() {
            waiting.push(at);
        } else if let Some(split) = waiting.pop() {
            rights[split] = at + 1;
        }
    }
    rights
}

fn number_of_key(key: u128, wide: bool) -> Option<f64> {
    let number = if wide {
        let key = u64::try_from(key).ok()?;
        f64::from_bits(if key >> 63 == 1 { key & !(1 << 63) } else { !key })
    } else {
        let key = u32::try_from(key).ok()?;
        f64::from(f32::from_bits(if key >> 31 == 1 { key & !(1 << 31) } else { !key }))
    };
    (!number.is_nan()).then_some(number)
}

/// A section of bits, the lowest of each byte first, from the next byte on.
struct BitsIn<'i, 'a> {
    input: &'i mut In<'a>,
    /// Bits of the last byte that are not read yet.
    rest: u8,
    left: u32,
}

impl<'i, 'a> BitsIn<'i, 'a> {
    fn new(input: &'i mut In<'a>) -> Self {
        Self { input, rest: 0, left: 0 }
    }

    fn take(&mut self, count: u32) -> Result<u64, FormatError> {
        let mut value = 0;
        let mut have = 0;
        while have < count {
            if self.left == 0 {
                self.rest = self.input.byte()?;
                self.left = 8;
            }
            let take = (count - have).min(self.left);
            value |= (u64::from(self.rest) & ((1 << take) - 1)) << have;
            self.rest = (u16::from(self.rest) >> take) as u8;
            self.left -= take;
            have += take;
        }
        Ok(value)
    }

    fn end(self) -> Result<(), FormatError> {
        if self.rest != 0 {
            return Err(self.input.wrong("bits that are set", "zeros up to the end of the byte"));
        }
        Ok(())
    }
}
