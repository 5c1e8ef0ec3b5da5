//! A packed file as a model, through the builder like every other format. The bytes are read by the
//! reader of `secateur-runtime`, the same one that reads them when the file is run. So a check of a
//! packed file is about what is run: if that reader misread a file, the model would differ from the
//! original.

use secateur_model::{
    Accumulation, Average, Categories, CategoryRule, ClassLabels, Decision, EnsembleBuilder, FeatureId,
    Features, GroupId, Intake, InterceptPosition, Label, NodeId, NumberType, Order, Output, Softmax, Split,
    Test, Transform, TreeBuilder, Value,
};
use secateur_runtime::internal::{self, Column, Kind, LEAF, Rule, Tests};
use secateur_runtime::{Decision as Rules, Labels, Link as Ways, LoadError, Number, Value as Values};

use super::{File, Stamp};
use crate::error::{FormatError, Place, Problem};
use crate::{Framework, Link};

pub(super) fn decode(bytes: Vec<u8>) -> Result<File, FormatError> {
    let content = internal::read_placed(&bytes).map_err(|(error, at)| refused(&bytes, error, at))?;
    let framework = Framework::from_name(&content.framework).ok_or_else(|| {
        let expected = "the name of a library whose models are packed";
        FormatError::new(Place::File, Problem::Value { found: content.framework.clone(), expected })
    })?;
    let stamp =
        Stamp { source: content.digest, cover_rows: content.cover_rows, cover_hash: content.cover_hash };
    let intake = Intake {
        number: number(content.domain.number),
        missing: content.domain.missing,
        infinities: content.domain.infinities,
        zero_window: content.domain.zero_window,
    };
    let sums = content.sums;
    let accumulation = Accumulation {
        number: number(sums.number),
        intercept: if sums.intercept_last { InterceptPosition::Last } else { InterceptPosition::First },
        order: if sums.any_order { Order::Any } else { Order::File },
        average: sums.average.map(|(divisor, in_raw_scores)| Average { divisor, in_raw_scores }),
    };
    let mut features = match content.names {
        Some(names) => Features::named(names),
        None => Features::unnamed(content.features),
    };
    for category in content.categories {
        let own = Categories {
            rule: rule(category.rule),
            unseen_is_missing: category.unseen_is_missing,
            labels: category.labels.map(labels),
        };
        features.set_categories(FeatureId(category.feature), own);
    }
    if let Some(lists) = content.unplaced {
        features.set_unplaced_labels(lists.into_iter().map(labels).collect());
    }
    let groups = content.intercepts.len();
    let (classes, decision) = (classes(content.labels)?, decision(content.decision)?);
    let mut builder =
        EnsembleBuilder::new(features, intake, classes, content.intercepts, accumulation, decision)?;
    if let Some(errors) = content.intercept_errors {
        builder.intercept_errors(errors)?;
    }
    if let Some(scale) = sums.scale {
        builder.scale(scale)?;
    }
    let splits: Vec<Split<'_>> = content.columns.iter().flat_map(splits).collect();
    let mut leaves = content.leaves.as_slice();
    for tree in &content.trees {
        let output = tree.group.map_or(Output::All, |group| Output::Group(GroupId(group)));
        let width = if tree.group.is_some() { 1 } else { groups };
        let nodes = &content.nodes[tree.nodes.clone()];
        let rights = right_children(nodes);
        let mut shape = TreeBuilder::with_capacity(nodes.len());
        for (at, &node) in nodes.iter().enumerate() {
            if node == LEAF {
                let (values, rest) = leaves.split_at(width);
                shape.leaf(values);
                leaves = rest;
            } else {
                shape.split(splits[node as usize], NodeId::new(at + 1), NodeId::new(rights[at]));
            }
        }
        // The scale is the weight of every tree.
        builder.tree(shape, output, sums.scale.unwrap_or(tree.weight))?;
    }
    let link = link(content.link)?;
    Ok(File { ensemble: builder.build(), bytes, framework, source: content.dialect, link, stamp })
}

/// Why the runtime's reader refuses a file, and where.
fn refused(bytes: &[u8], error: LoadError, at: usize) -> FormatError {
    let found = |found: String, expected| Problem::Value { found, expected };
    let problem = match error {
        LoadError::Checksum => {
            let written = bytes[at..].iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
            let expected = "the checksum of what stands before it: the file was cut or changed";
            found(format!("{written:016x}"), expected)
        }
        LoadError::NotPacked | LoadError::Version(_) => {
            found("another version".to_owned(), "version 1 of packed models")
        }
        LoadError::Truncated => Problem::Truncated { inside: "a packed model" },
        LoadError::Trailing => found("more bytes".to_owned(), "the checksum, which ends the file"),
        LoadError::Invalid(what) | LoadError::TooLarge(what) => Problem::Packed { what },
        _ => Problem::Packed { what: "for a reason that is not known here" },
    };
    FormatError::new(Place::Byte(at as u64), problem)
}

/// The runtime knows something that this crate does not. Both are versioned together, so this does
/// not happen in a release.
fn unknown(what: &'static str) -> FormatError {
    FormatError::new(Place::File, Problem::Packed { what })
}

fn number(number: Number) -> NumberType {
    match number {
        Number::F32 => NumberType::F32,
        Number::F64 => NumberType::F64,
    }
}

fn rule(rule: Rule) -> CategoryRule {
    match rule {
        Rule::TruncateNonNegative => CategoryRule::TruncateNonNegative,
        Rule::Truncate => CategoryRule::Truncate,
        Rule::Whole => CategoryRule::Whole,
        Rule::Hashed => CategoryRule::Hashed,
        Rule::Listed(values) => CategoryRule::Listed(values),
    }
}

fn labels(labels: Vec<internal::Label>) -> Vec<Label> {
    let label = |label| match label {
        internal::Label::Text(text) => Label::Text(text),
        internal::Label::Integer(number) => Label::Integer(number),
        internal::Label::Float(number) => Label::Float(number),
        internal::Label::Flag(set) => Label::Boolean(set),
        internal::Label::Unreadable(text) => Label::Unreadable(text),
        internal::Label::Hash(hash) => Label::Hash(hash),
    };
    labels.into_iter().map(label).collect()
}

fn classes(labels: Labels) -> Result<ClassLabels, FormatError> {
    Ok(match labels {
        Labels::Unnamed(count) => {
            ClassLabels::Unnamed(u32::try_from(count).map_err(|_| unknown("more classes than 2^32"))?)
        }
        Labels::Integers(labels) => ClassLabels::Integers(labels),
        Labels::Floats(labels) => ClassLabels::Floats(labels),
        Labels::Booleans(labels) => ClassLabels::Booleans(labels),
        Labels::Texts(labels) => ClassLabels::Strings(labels),
    })
}

fn decision(rule: Rules) -> Result<Decision, FormatError> {
    Ok(match rule {
        Rules::Threshold { group, threshold, strict } => {
            Decision::Threshold { group: GroupId::new(group), threshold, strict }
        }
        Rules::Argmax => Decision::Argmax,
        Rules::Softmax32 => Decision::ArgmaxSoftmax(Softmax::XgBoost),
        Rules::Softmax64 => Decision::ArgmaxSoftmax(Softmax::LightGbm),
        Rules::Sigmoid { scale } => Decision::ArgmaxSigmoid { scale },
        Rules::Scores(value) => Decision::Scores(match value {
            Values::Score => Value::Score,
            Values::SignedSquare => Value::SignedSquare,
            Values::ScoreAsF32 => Value::ScoreAsF32,
            Values::Above { threshold } => Value::Above { threshold },
            Values::Exp => Value::NotFixed(Transform::Exp),
            Values::Logistic => Value::NotFixed(Transform::Logistic),
            Values::LogOnePlusExp => Value::NotFixed(Transform::LogOnePlusExp),
            Values::Sorted => Value::NotFixed(Transform::Sorted),
            Values::MeanAndVariance => Value::NotFixed(Transform::MeanAndVariance),
            Values::PathLength => Value::NotFixed(Transform::PathLength),
            _ => return Err(unknown("an unknown way from scores to predictions")),
        }),
        _ => return Err(unknown("an unknown decision rule")),
    })
}

fn link(way: Ways) -> Result<Link, FormatError> {
    Ok(match way {
        Ways::None => Link::None,
        Ways::Logistic32 => Link::Logistic32,
        Ways::Logistic64 { scale } => Link::Logistic64 { scale },
        Ways::Softmax32 => Link::Softmax32,
        Ways::Softmax64 => Link::Softmax64,
        Ways::DividedSoftmax64 { divisor } => Link::DividedSoftmax64 { divisor },
        Ways::Each { scale } => Link::Each { scale },
        Ways::Identity => Link::Identity,
        _ => return Err(unknown("an unknown way from scores to probabilities")),
    })
}

/// The tests of a column, in their order.
fn splits(column: &Column) -> Vec<Split<'_>> {
    let split = |test| Split { feature: FeatureId(column.feature), test, missing_left: column.missing_left };
    let of_number = |&number: &f64| {
        split(match column.kind {
            Kind::Less => Test::Less { threshold: number },
            Kind::ButZero { zero_left } => Test::LessOrEqualButZero { threshold: number, zero_left },
            Kind::Equal => Test::Equal { value: number },
            // Members have sets.
            Kind::LessOrEqual | Kind::Member { .. } => Test::LessOrEqual { threshold: number },
        })
    };
    let members_left = column.kind == Kind::Member { members_left: true };
    match &column.tests {
        Tests::Numbers(numbers) => numbers.iter().map(of_number).collect(),
        Tests::Sets(sets) => sets.iter().map(|set| split(Test::Member { set, members_left })).collect(),
    }
}

/// For each split the position of its right child: the first node after its left subtree.
fn right_children(preorder: &[u32]) -> Vec<usize> {
    let mut rights = vec![0; preorder.len()];
    let mut waiting = Vec::new();
    for (at, &node) in preorder.iter().enumerate() {
        if node != LEAF {
            waiting.push(at);
        } else if let Some(split) = waiting.pop() {
            rights[split] = at + 1;
        }
    }
    rights
}
