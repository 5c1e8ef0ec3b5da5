//! Reads and checks a packed file: every index, count and number, so that no other module has to
//! check them again.
//!
//! The format is specified in `docs/spec/packed-v1.md`, in the order of the functions here.

use alloc::string::String;
use alloc::vec::Vec;

use crate::bytes::{Checksum, Reader, width};
use crate::error::LoadError;
use crate::meaning::{Decision, Labels, Link, Number, Value};

/// The first four bytes of every packed model: three letters and the version.
pub const MAGIC: [u8; 4] = *b"SPK\x01";

/// How a number becomes a category code.
#[derive(Clone, Debug, PartialEq)]
pub enum Rule {
    /// Truncated; what is below zero or from 2^24 on is none.
    TruncateNonNegative,
    /// Truncated toward zero first, then as LightGBM.
    Truncate,
    /// Whole numbers below 2^24.
    Whole,
    /// CatBoost hashes texts to codes; rows of numbers contain the codes themselves.
    Hashed,
    /// The position in this list.
    Listed(Vec<f64>),
}

impl Rule {
    /// The code of a value; it must not be NaN.
    pub(crate) fn code(&self, value: f64) -> Option<u32> {
        match self {
            Self::TruncateNonNegative => (0.0..16_777_216.0).contains(&value).then_some(value as u32),
            // Truncated toward zero first, so that -0.5 is code 0.
            Self::Truncate => (value > -1.0 && value < 2_147_483_648.0).then_some(value as u32),
            Self::Whole | Self::Hashed => {
                let code = value as u32;
                ((0.0..16_777_216.0).contains(&value) && f64::from(code) == value).then_some(code)
            }
            Self::Listed(values) => values.iter().position(|&listed| listed == value).map(|code| code as u32),
        }
    }

    /// A number that `code` maps to this code.
    pub(crate) fn value(&self, code: u32) -> Option<f64> {
        let value = match self {
            Self::Listed(values) => *values.get(code as usize)?,
            _ => f64::from(code),
        };
        (self.code(value) == Some(code)).then_some(value)
    }
}

/// A categorical feature.
#[derive(Clone, Debug)]
pub struct Category {
    /// Its column.
    pub feature: u32,
    /// How its numbers become codes.
    pub rule: Rule,
    /// Whether what is no category is missing.
    pub unseen_is_missing: bool,
    /// The labels of the codes.
    pub labels: Option<Vec<Label>>,
}

/// The question that the tests of a column ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Left iff value < threshold.
    Less,
    /// Left iff value <= threshold.
    LessOrEqual,
    /// As `LessOrEqual`, but zero goes to a fixed side.
    ButZero {
        /// Where zero goes.
        zero_left: bool,
    },
    /// Left iff value == number.
    Equal,
    /// Left iff membership in the set equals `members_left`.
    Member {
        /// Where members of the set go.
        members_left: bool,
    },
}

/// The tests of a feature that ask the same kind of question.
#[derive(Clone, Debug)]
pub struct Column {
    /// The feature.
    pub feature: u32,
    /// The question.
    pub kind: Kind,
    /// Where missing values go.
    pub missing_left: bool,
    /// What is asked for in turn. Tests are numbered from 0 through all columns.
    pub tests: Tests,
}

/// The numbers or sets of a column's tests.
#[derive(Clone, Debug)]
pub enum Tests {
    /// In ascending order for comparisons.
    Numbers(Vec<f64>),
    /// The codes of each set in ascending order.
    Sets(Vec<Vec<u32>>),
}

impl Tests {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Numbers(numbers) => numbers.len(),
            Self::Sets(sets) => sets.len(),
        }
    }
}

/// The inputs that the library accepts.
#[derive(Clone, Copy, Debug)]
pub struct Domain {
    /// The type of inputs.
    pub number: Number,
    /// Whether missing values are accepted.
    pub missing: bool,
    /// Whether infinities are.
    pub infinities: bool,
    /// Values of at most this magnitude are zero.
    pub zero_window: Option<f64>,
}

/// How values are added up.
#[derive(Clone, Copy, Debug)]
pub struct Sums {
    /// The type of sums.
    pub number: Number,
    /// Whether the intercepts are added after the trees; see [`Sums::scale`].
    pub intercept_last: bool,
    /// Whether the library may add in another order than that of the file, which this crate uses.
    pub any_order: bool,
    /// The sums of the unweighted leaves are multiplied by this before the intercepts are added. If
    /// all intercepts are zero, none is added to a scaled sum, so that it may be minus zero.
    pub scale: Option<f64>,
    /// The divisor, and whether raw scores are divided, too.
    pub average: Option<(f64, bool)>,
}

impl File {
    /// Are intercepts added after the trees? See [`Sums::scale`].
    pub(crate) fn adds_intercepts_last(&self) -> bool {
        let zero = |&intercept: &f64| intercept == 0.0;
        self.sums.intercept_last && !(self.sums.scale.is_some() && self.intercepts.iter().all(zero))
    }
}

/// A tree: its nodes in preorder are `File::nodes[nodes]`, and its leaves follow one another in
/// `File::leaves`.
#[derive(Clone, Debug)]
pub struct Tree {
    /// The index of the sum that it adds to, `None` for all sums.
    pub group: Option<u32>,
    /// By which its leaves are multiplied; 1 in a model with a scale.
    pub weight: f64,
    /// Its nodes.
    pub nodes: core::ops::Range<usize>,
    /// Where its values start.
    pub values: usize,
}

/// Marks a node that is a leaf; every other node is the index of its test.
pub const LEAF: u32 = u32::MAX;

/// The content of a file: all that it says, as it says it.
#[derive(Clone, Debug)]
pub struct File {
    /// The digest of the model that was packed.
    pub digest: [u8; 32],
    /// The number of rows of the cover, and its version in the top bit.
    pub cover_rows: u32,
    /// The hash of the cover's scores.
    pub cover_hash: u64,
    /// The name of the library.
    pub framework: String,
    /// Version and encoding in words.
    pub dialect: String,
    /// How scores become probabilities.
    pub link: Link,
    /// The inputs that are accepted.
    pub domain: Domain,
    /// How values are added up.
    pub sums: Sums,
    /// The number of features.
    pub features: u32,
    /// Their names.
    pub names: Option<Vec<String>>,
    /// The categorical ones, in ascending order.
    pub categories: Vec<Category>,
    /// Labels of categories whose columns the source does not name.
    pub unplaced: Option<Vec<Vec<Label>>>,
    /// The labels of the classes.
    pub labels: Labels,
    /// How scores become a class.
    pub decision: Decision,
    /// One for each score.
    pub intercepts: Vec<f64>,
    /// How far the library's own intercepts may be off.
    pub intercept_errors: Option<Vec<f64>>,
    /// The tests.
    pub columns: Vec<Column>,
    /// The trees.
    pub trees: Vec<Tree>,
    /// The nodes of all trees, each in preorder: the number of a test, or [`LEAF`].
    pub nodes: Vec<u32>,
    /// The values of the leaves of all trees, in the order of their nodes.
    pub leaves: Vec<f64>,
    /// For each node how much of the training data reached it, if the file says so. It changes no
    /// prediction; contributions are computed from it.
    pub covers: Option<Vec<f64>>,
}

const MAX_FEATURES: u32 = 1 << 24;
/// The most columns of a model without names for them; otherwise a few bytes of a file could ask
/// for rows of gigabytes.
const MAX_UNNAMED_FEATURES: u32 = 1 << 20;

/// Reads a file.
pub(crate) fn read(bytes: &[u8]) -> Result<File, LoadError> {
    read_placed(bytes).map_err(|(error, _)| error)
}

/// Reads a file. An error comes with the position of a byte that had been read by then; in a
/// section of bits it is the start of the section.
pub fn read_placed(bytes: &[u8]) -> Result<File, (LoadError, usize)> {
    match bytes {
        [b'S', b'P', b'K', 1, ..] => {}
        [b'S', b'P', b'K', version, ..] => return Err((LoadError::Version(*version), MAGIC.len())),
        _ => return Err((LoadError::NotPacked, 0)),
    }
    let (content, sum) = bytes.split_last_chunk::<8>().ok_or((LoadError::Truncated, bytes.len()))?;
    if content.len() < MAGIC.len() {
        return Err((LoadError::Truncated, content.len()));
    }
    if Checksum::of(content) != u64::from_le_bytes(*sum) {
        return Err((LoadError::Checksum, content.len()));
    }
    let mut reader = Reader::new(&content[MAGIC.len()..]);
    let file = content_of(&mut reader);
    let at = content.len() - reader.left();
    match file {
        Ok(_) if !reader.is_empty() => Err((LoadError::Trailing, at)),
        other => other.map_err(|error| (error, at)),
    }
}

fn content_of(r: &mut Reader<'_>) -> Result<File, LoadError> {
    let digest = r.array()?;
    let cover_rows = u32::from_le_bytes(r.array()?);
    let cover_hash = r.u64()?;
    let framework = r.text()?;
    let dialect = r.text()?;
    let link = link(r)?;
    let domain = Domain {
        number: number(r)?,
        missing: r.flag()?,
        infinities: r.flag()?,
        zero_window: if r.flag()? { Some(r.f64()?) } else { None },
    };
    if domain.zero_window.is_some_and(|window| window.is_nan() || window >= 1.0) {
        return Err(LoadError::Invalid("the window of zero is no number below 1"));
    }
    let sums = sums(r)?;
    let features = r.u32()?;
    if features > MAX_FEATURES {
        return Err(LoadError::Invalid("more than 2^24 features"));
    }
    let names = if r.flag()? { Some(r.texts(features as usize)?) } else { None };
    if names.is_none() && features > MAX_UNNAMED_FEATURES {
        return Err(LoadError::Invalid("more than 2^20 features without names"));
    }
    let categories = categories(r, features, &domain)?;
    let unplaced = unplaced_labels(r)?;
    let labels = labels(r)?;
    let decision = decision(r)?;
    let intercepts = r.floats()?;
    if intercepts.is_empty() || intercepts.iter().any(|&value| !is_finite_of(sums.number, value)) {
        return Err(LoadError::Invalid("an intercept is not a finite number of the type of the sums"));
    }
    // The errors of intercepts matter to proofs, not to predictions.
    let intercept_errors = if r.flag()? { Some(r.floats()?) } else { None };
    if let Some(errors) = &intercept_errors
        && (errors.len() != intercepts.len()
            || errors.iter().any(|&error| !(error >= 0.0 && error.is_finite())))
    {
        return Err(LoadError::Invalid("the errors of the intercepts do not fit them"));
    }
    let groups = intercepts.len();
    let fits = match decision {
        Decision::Threshold { group, threshold, .. } => {
            group < groups && labels.len() == 2 && threshold.is_finite()
        }
        Decision::Sigmoid { scale } => labels.len() == groups && scale > 0.0,
        Decision::Argmax | Decision::Softmax32 | Decision::Softmax64 => labels.len() == groups,
        Decision::Scores(Value::Above { threshold }) => labels.is_empty() && threshold.is_finite(),
        Decision::Scores(Value::MeanAndVariance) => labels.is_empty() && groups == 2,
        Decision::Scores(_) => labels.is_empty(),
    };
    if !fits {
        return Err(LoadError::Invalid("the decision rule does not fit the scores and classes"));
    }
    let several = matches!(decision, Decision::Scores(Value::Above { .. }));
    let fits = match link {
        Link::None => true,
        Link::Each { .. } if several => true,
        Link::Logistic32 | Link::Logistic64 { .. } => groups == 1 && labels.len() == 2,
        Link::DividedSoftmax64 { divisor } => labels.len() == groups.max(2) && divisor > 0.0,
        Link::Softmax32 | Link::Softmax64 | Link::Each { .. } | Link::Identity => labels.len() == groups,
    };
    if !fits {
        return Err(LoadError::Invalid("the probabilities do not fit the scores and classes"));
    }
    let columns = columns(r, features, &categories, domain.number)?;
    let mut file = File {
        digest,
        cover_rows,
        cover_hash,
        framework,
        dialect,
        link,
        domain,
        sums,
        features,
        names,
        categories,
        unplaced,
        labels,
        decision,
        intercepts,
        intercept_errors,
        columns,
        trees: Vec::new(),
        nodes: Vec::new(),
        leaves: Vec::new(),
        covers: None,
    };
    trees(r, &mut file)?;
    leaves(r, &mut file)?;
    if !r.is_empty() {
        file.covers = Some(covers(r, &file)?);
    }
    Ok(file)
}

fn number(r: &mut Reader<'_>) -> Result<Number, LoadError> {
    Ok(if r.flag()? { Number::F64 } else { Number::F32 })
}

/// Is `value` a finite number of this type?
fn is_finite_of(number: Number, value: f64) -> bool {
    value.is_finite() && (number == Number::F64 || f64::from(value as f32).to_bits() == value.to_bits())
}

fn link(r: &mut Reader<'_>) -> Result<Link, LoadError> {
    Ok(match r.byte()? {
        0 => Link::None,
        1 => Link::Logistic32,
        2 => Link::Logistic64 { scale: r.f64()? },
        3 => Link::Softmax32,
        4 => Link::Softmax64,
        5 => Link::Each { scale: r.f64()? },
        6 => Link::Identity,
        7 => Link::DividedSoftmax64 { divisor: r.f64()? },
        _ => return Err(LoadError::Invalid("an unknown way from scores to probabilities")),
    })
}

fn sums(r: &mut Reader<'_>) -> Result<Sums, LoadError> {
    let number = number(r)?;
    let intercept_last = r.flag()?;
    let any_order = r.flag()?;
    let average = if r.flag()? { Some((r.f64()?, r.flag()?)) } else { None };
    match average {
        Some((divisor, _)) if !(divisor > 0.0 && divisor.is_finite()) => {
            Err(LoadError::Invalid("the divisor of the scores is not a positive number"))
        }
        _ => Ok(Sums { number, intercept_last, any_order, scale: None, average }),
    }
}

fn categories(r: &mut Reader<'_>, features: u32, domain: &Domain) -> Result<Vec<Category>, LoadError> {
    let count = r.count(4)?;
    let mut all: Vec<Category> = Vec::with_capacity(count);
    for _ in 0..count {
        let feature = r.u32()?;
        if feature >= features || all.last().is_some_and(|last| last.feature >= feature) {
            return Err(LoadError::Invalid("the categorical features are not in order"));
        }
        let rule = match r.byte()? {
            0 => Rule::TruncateNonNegative,
            1 => Rule::Truncate,
            2 => Rule::Whole,
            4 => Rule::Hashed,
            3 => Rule::Listed(listed(r, domain)?),
            _ => return Err(LoadError::Invalid("an unknown way from numbers to categories")),
        };
        let unseen_is_missing = r.flag()?;
        let labels = if r.flag()? { Some(category_labels(r)?) } else { None };
        all.push(Category { feature, rule, unseen_is_missing, labels });
    }
    Ok(all)
}

/// The categories of a column as numbers: each one is an input, and only once.
fn listed(r: &mut Reader<'_>, domain: &Domain) -> Result<Vec<f64>, LoadError> {
    let values = r.floats()?;
    let is_input = |value: f64| {
        let rounded = domain.number == Number::F64 || f64::from(value as f32) == value;
        let zeroed = value != 0.0 && domain.zero_window.is_some_and(|window| value.abs() <= window);
        value.is_finite() && rounded && !zeroed
    };
    if !values.iter().all(|&value| is_input(value)) {
        return Err(LoadError::Invalid("a category that no input can be"));
    }
    // Both zeros are one number.
    let mut sorted: Vec<f64> = values.iter().map(|&value| value + 0.0).collect();
    sorted.sort_by(f64::total_cmp);
    match sorted.windows(2).any(|pair| pair[0] == pair[1]) {
        true => Err(LoadError::Invalid("a category twice")),
        false => Ok(values),
    }
}

/// The label of a category.
#[derive(Clone, Debug)]
pub enum Label {
    /// A text.
    Text(String),
    /// A whole number.
    Integer(i64),
    /// Another number.
    Float(f64),
    /// A truth value.
    Flag(bool),
    /// A text that stands for something unreadable.
    Unreadable(String),
    /// The hash of a text.
    Hash(u32),
}

impl Label {
    /// The text that Python prints for it.
    pub(crate) fn words(&self) -> String {
        use alloc::format;
        match self {
            Self::Text(text) | Self::Unreadable(text) => text.clone(),
            Self::Integer(number) => format!("{number}"),
            Self::Float(number) => format!("{number:?}"),
            Self::Flag(set) => String::from(if *set { "True" } else { "False" }),
            Self::Hash(hash) => format!("#{hash:08x}"),
        }
    }
}

fn category_labels(r: &mut Reader<'_>) -> Result<Vec<Label>, LoadError> {
    let count = r.count(2)?;
    let mut labels = Vec::with_capacity(count);
    for _ in 0..count {
        labels.push(match r.byte()? {
            0 => Label::Text(r.text()?),
            1 => Label::Integer(r.u64()? as i64),
            2 => Label::Float(r.f64()?),
            3 => Label::Flag(r.flag()?),
            4 => Label::Unreadable(r.text()?),
            5 => Label::Hash(r.u32()?),
            _ => return Err(LoadError::Invalid("an unknown kind of label")),
        });
    }
    Ok(labels)
}

/// Labels whose columns the source does not name. Predictions do not need them.
fn unplaced_labels(r: &mut Reader<'_>) -> Result<Option<Vec<Vec<Label>>>, LoadError> {
    if !r.flag()? {
        return Ok(None);
    }
    if r.flag()? {
        return Err(LoadError::Invalid("labels in another order than that of the source"));
    }
    let count = r.count(1)?;
    (0..count).map(|_| category_labels(r)).collect::<Result<_, _>>().map(Some)
}

fn labels(r: &mut Reader<'_>) -> Result<Labels, LoadError> {
    Ok(match r.byte()? {
        0 => Labels::Unnamed(r.u32()? as usize),
        1 => {
            let count = r.count(8)?;
            Labels::Integers((0..count).map(|_| Ok(r.u64()? as i64)).collect::<Result<_, _>>()?)
        }
        2 => Labels::Floats(r.floats()?),
        3 => {
            let count = r.count(1)?;
            Labels::Booleans((0..count).map(|_| r.flag()).collect::<Result<_, _>>()?)
        }
        4 => {
            let count = r.count(1)?;
            Labels::Texts(r.texts(count)?)
        }
        _ => return Err(LoadError::Invalid("an unknown kind of class labels")),
    })
}

fn decision(r: &mut Reader<'_>) -> Result<Decision, LoadError> {
    Ok(match r.byte()? {
        0 => {
            let group = r.u32()? as usize;
            Decision::Threshold { group, threshold: r.f64()?, strict: r.flag()? }
        }
        1 => Decision::Argmax,
        2 => Decision::Softmax32,
        3 => Decision::Softmax64,
        4 => Decision::Sigmoid { scale: r.f64()? },
        5 => Decision::Scores(value(r)?),
        _ => return Err(LoadError::Invalid("an unknown decision rule")),
    })
}

fn value(r: &mut Reader<'_>) -> Result<Value, LoadError> {
    Ok(match r.byte()? {
        0 => Value::Score,
        1 => Value::SignedSquare,
        2 => Value::Exp,
        3 => Value::Logistic,
        4 => Value::LogOnePlusExp,
        5 => Value::Sorted,
        6 => Value::ScoreAsF32,
        7 => Value::Above { threshold: r.f64()? },
        8 => Value::MeanAndVariance,
        9 => Value::PathLength,
        _ => return Err(LoadError::Invalid("an unknown way from scores to predictions")),
    })
}

fn columns(
    r: &mut Reader<'_>,
    features: u32,
    categories: &[Category],
    number: Number,
) -> Result<Vec<Column>, LoadError> {
    let count = r.count(3)?;
    let mut columns: Vec<Column> = Vec::with_capacity(count);
    // Whether each column has 64-bit numbers; the section of bits that follows needs this.
    let mut wide: Vec<bool> = Vec::with_capacity(count);
    let mut last = None;
    for _ in 0..count {
        let feature = r.u32()?;
        let code = r.byte()?;
        if feature >= features || last.is_some_and(|last| last >= (feature, code)) {
            return Err(LoadError::Invalid("the columns are not in order"));
        }
        last = Some((feature, code));
        let kind = match code >> 1 {
            0 => Kind::Less,
            1 => Kind::LessOrEqual,
            2 => Kind::ButZero { zero_left: false },
            3 => Kind::ButZero { zero_left: true },
            4 => Kind::Equal,
            5 => Kind::Member { members_left: false },
            6 => Kind::Member { members_left: true },
            _ => return Err(LoadError::Invalid("an unknown kind of column")),
        };
        let category = categories.binary_search_by_key(&feature, |category| category.feature);
        let categorical = category.is_ok();
        let short = number == Number::F32 && category.is_ok_and(|at| categories[at].rule == Rule::Truncate);
        if categorical != matches!(kind, Kind::Member { .. }) {
            return Err(LoadError::Invalid("a feature is both a number and a category"));
        }
        let mut is_wide = false;
        let tests = match kind {
            Kind::Member { .. } => {
                let count = r.count(1)?;
                let sets: Vec<Vec<u32>> = (0..count).map(|_| set(r)).collect::<Result<_, _>>()?;
                if short && sets.iter().any(|set| set.last().is_some_and(|&code| code >= 1 << 24)) {
                    return Err(LoadError::Invalid("a category that no f32 can hold"));
                }
                Tests::Sets(sets)
            }
            Kind::Equal => {
                let numbers = r.floats()?;
                if numbers.iter().any(|number| number.is_nan()) {
                    return Err(LoadError::Invalid("a test for equality with a missing value"));
                }
                Tests::Numbers(numbers)
            }
            _ => {
                // Each number has at least six bits, the first one more.
                let count = r.varint()?;
                is_wide = r.flag()?;
                let count = usize::try_from(count).map_err(|_| LoadError::Truncated)?;
                Tests::Numbers(alloc::vec![0.0; r.bounded(count)?])
            }
        };
        if tests.len() == 0 {
            return Err(LoadError::Invalid("a column without tests"));
        }
        wide.push(is_wide);
        columns.push(Column { feature, kind, missing_left: code & 1 == 1, tests });
    }
    let mut bits = r.bits();
    for (column, wide) in columns.iter_mut().zip(wide) {
        if matches!(column.kind, Kind::Equal) {
            continue;
        }
        let Tests::Numbers(numbers) = &mut column.tests else { continue };
        let (bits_of_key, bits_of_length) = if wide { (64, 7) } else { (32, 6) };
        let mut key = bits.take(bits_of_key)?;
        for (index, number) in numbers.iter_mut().enumerate() {
            if index > 0 {
                let length = bits.take(bits_of_length)? as u32;
                if length > 64 {
                    return Err(LoadError::Invalid("a threshold is too far from the one before it"));
                }
                let gap = if length == 0 { 0 } else { 1 << (length - 1) | bits.take(length - 1)? };
                key = gap.checked_add(1).and_then(|gap| key.checked_add(gap)).unwrap_or(u64::MAX);
            }
            *number = if wide { from_key64(key) } else { from_key32(key) };
            if number.is_nan() {
                return Err(LoadError::Invalid("a threshold is no number"));
            }
        }
    }
    bits.finish()?;
    Ok(columns)
}

fn set(r: &mut Reader<'_>) -> Result<Vec<u32>, LoadError> {
    let count = r.count(1)?;
    let mut codes = Vec::with_capacity(count);
    let mut next = Some(0u32);
    for _ in 0..count {
        let code = next.and_then(|next| next.checked_add(r.u32().ok()?));
        let code = code.ok_or(LoadError::Invalid("a category code beyond 32 bits"))?;
        codes.push(code);
        next = code.checked_add(1);
    }
    Ok(codes)
}

/// The float of a key. Keys are in the order of the floats, with -0.0 before 0.0.
fn from_key32(key: u64) -> f64 {
    let Ok(key) = u32::try_from(key) else { return f64::NAN };
    f64::from(f32::from_bits(if key >> 31 == 1 { key ^ 1 << 31 } else { !key }))
}

fn from_key64(key: u64) -> f64 {
    f64::from_bits(if key >> 63 == 1 { key ^ 1 << 63 } else { !key })
}

fn trees(r: &mut Reader<'_>, file: &mut File) -> Result<(), LoadError> {
    let groups = file.intercepts.len();
    // A tree has at least five bits.
    let count = usize::try_from(r.varint()?).map_err(|_| LoadError::Truncated)?;
    let count = r.bounded(count)?;
    let mode = r.byte()?;
    file.trees.reserve_exact(count);
    for tree in 0..count {
        let group = match mode {
            0 => Some((tree % groups) as u32),
            1 => None,
            2 => match r.u32()? {
                0 => None,
                group if (group as usize) <= groups => Some(group - 1),
                _ => return Err(LoadError::Invalid("a tree adds to a sum that does not exist")),
            },
            _ => return Err(LoadError::Invalid("an unknown way to say what trees add to")),
        };
        file.trees.push(Tree { group, weight: 1.0, nodes: 0..0, values: 0 });
    }
    match r.byte()? {
        0 => {}
        1 => {
            let weight = r.f64()?;
            file.trees.iter_mut().for_each(|tree| tree.weight = weight);
        }
        2 => {
            for tree in &mut file.trees {
                tree.weight = r.f64()?;
            }
        }
        // The unweighted leaves are added then, and the trees keep the weight 1.
        3 => {
            let scale = r.f64()?;
            let sums = &mut file.sums;
            let fits = sums.intercept_last && !sums.any_order && sums.average.is_none();
            if !fits || !is_finite_of(sums.number, scale) {
                return Err(LoadError::Invalid("sums like these are not multiplied by such a number"));
            }
            sums.scale = Some(scale);
        }
        _ => return Err(LoadError::Invalid("an unknown way to write weights")),
    }
    if file.trees.iter().any(|tree| !is_finite_of(file.sums.number, tree.weight)) {
        return Err(LoadError::Invalid("a weight is not a finite number of the type of the sums"));
    }
    let tests: usize = file.columns.iter().map(|column| column.tests.len()).sum();
    let width = width(tests);
    let mut bits = r.bits();
    let mut values = 0usize;
    for tree in &mut file.trees {
        let first = file.nodes.len();
        tree.values = values;
        let leaf_width = if tree.group.is_some() { 1 } else { groups };
        let mut open = 1usize;
        while open > 0 {
            if bits.take(1)? == 1 {
                let test = bits.take(width)?;
                if test as usize >= tests {
                    return Err(LoadError::Invalid("a node asks a question that does not exist"));
                }
                file.nodes.push(test as u32);
                open += 1;
            } else {
                file.nodes.push(LEAF);
                open -= 1;
                values = values.checked_add(leaf_width).ok_or(LoadError::Truncated)?;
            }
        }
        tree.nodes = first..file.nodes.len();
    }
    bits.finish()?;
    if file.nodes.len() >= 1 << 30 || tests >= LEAF as usize {
        return Err(LoadError::TooLarge("2^30 nodes and more"));
    }
    file.leaves = alloc::vec![0.0; r.bounded(values)?];
    Ok(())
}

fn leaves(r: &mut Reader<'_>, file: &mut File) -> Result<(), LoadError> {
    let number = file.sums.number;
    let full = if number == Number::F32 { 32 } else { 64 };
    let value = |bits: u64| match number {
        Number::F32 => f64::from(f32::from_bits(bits as u32)),
        Number::F64 => f64::from_bits(bits),
    };
    match r.byte()? {
        0 => {
            let mut bits = r.bits();
            for leaf in &mut file.leaves {
                *leaf = value(bits.take(full)?);
            }
            bits.finish()?;
        }
        1 => {
            let count = r.count(full as usize / 8)?;
            let mut known = Vec::with_capacity(count);
            for _ in 0..count {
                let mut word = [0; 8];
                word[..full as usize / 8].copy_from_slice(r.take(full as usize / 8)?);
                known.push(value(u64::from_le_bytes(word)));
            }
            let width = width(count);
            let mut bits = r.bits();
            for leaf in &mut file.leaves {
                let index = bits.take(width)? as usize;
                *leaf = *known.get(index).ok_or(LoadError::Invalid("a leaf that is not in the list"))?;
            }
            bits.finish()?;
        }
        2 => {
            let mantissa = if number == Number::F32 { 23 } else { 52 };
            let count = r.count(2)?;
            let tops: Vec<u16> =
                (0..count).map(|_| Ok(u16::from_le_bytes(r.array()?))).collect::<Result<_, LoadError>>()?;
            if tops.iter().any(|&top| u64::from(top) >= 1 << (full - mantissa)) {
                return Err(LoadError::Invalid("an exponent of a leaf has too many bits"));
            }
            let width = width(count);
            let mut bits = r.bits();
            for leaf in &mut file.leaves {
                let index = bits.take(width)? as usize;
                let top =
                    tops.get(index).ok_or(LoadError::Invalid("a leaf's exponent is not in the list"))?;
                *leaf = value(u64::from(*top) << mantissa | bits.take(mantissa)?);
            }
            bits.finish()?;
        }
        _ => return Err(LoadError::Invalid("an unknown way to write leaves")),
    }
    if file.leaves.iter().any(|leaf| !leaf.is_finite()) {
        return Err(LoadError::Invalid("a leaf is not a finite number"));
    }
    Ok(())
}

/// The part after the leaves, which a file may have: a cover for each node.
fn covers(r: &mut Reader<'_>, file: &File) -> Result<Vec<f64>, LoadError> {
    let wide = match r.byte()? {
        1 => false,
        2 => true,
        _ => return Err(LoadError::Trailing),
    };
    let mut covers = Vec::new();
    for _ in 0..file.nodes.len() {
        let cover = if wide { r.f64()? } else { f64::from(f32::from_le_bytes(r.array()?)) };
        if !(cover >= 0.0 && cover.is_finite()) {
            return Err(LoadError::Invalid("a cover is no finite number from zero on"));
        }
        covers.push(cover);
    }
    for tree in &file.trees {
        let nodes = &file.nodes[tree.nodes.clone()];
        let covers = &covers[tree.nodes.clone()];
        // The splits on the path whose right child is still to come.
        let mut waiting: Vec<usize> = Vec::new();
        for (at, &node) in nodes.iter().enumerate() {
            if node != LEAF {
                if covers[at] == 0.0 {
                    return Err(LoadError::Invalid("a split that no data reached"));
                }
                waiting.push(at);
            } else if let Some(split) = waiting.pop() {
                // The libraries round sums of covers; nothing else may differ.
                let both = covers[split + 1] + covers[at + 1];
                if both > covers[split] * (1.0 + COVER_SLACK) {
                    return Err(LoadError::Invalid("children with more cover than their parent"));
                }
            }
        }
    }
    Ok(covers)
}

/// By how much the covers of two children may exceed that of their parent, relative to it.
const COVER_SLACK: f64 = 1.0 / 1024.0;
