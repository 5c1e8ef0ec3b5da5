//! Turns the content of a file into the model as CatBoost executes it.

use secateur_model::{
    Accumulation, Categories, CategoryRule, Decision, Ensemble, EnsembleBuilder, FeatureId, Features,
    GroupId, Intake, InterceptPosition, Label, NodeId, NumberType, Order, Output, Split, Test, TreeBuilder,
};

use super::core::{Core, CoreNode, CoreTest, CoreTree, Shape};
use crate::error::{FormatError, Place, Problem};

/// Builds the model.
pub(super) fn ensemble(core: &Core) -> Result<Ensemble, FormatError> {
    core.check()?;
    let (classes, decision) = core.info.decision(core.dimension)?;
    let intake = Intake::everything(NumberType::F32);
    let accumulation = Accumulation {
        number: NumberType::F64,
        intercept: InterceptPosition::Last,
        order: Order::File,
        average: None,
    };
    let mut builder =
        EnsembleBuilder::new(features(core), intake, classes, core.bias.clone(), accumulation, decision)?;
    if core.scale != 1.0 {
        builder.scale(core.scale)?;
    }
    let tests = core.tests();
    let output = if core.dimension == 1 { Output::Group(GroupId(0)) } else { Output::All };
    for content in &core.trees {
        builder.tree(tree(content, &tests, core.dimension), output, core.scale)?;
    }
    let ensemble = builder.build();
    if decision == Decision::Argmax && ensemble.rounding().is_none() {
        let what = "a CatBoost model whose sums may leave the range of f64".to_owned();
        let advice =
            "what CatBoost makes of infinities is not what its leaves say: train with smaller leaves";
        return Err(FormatError::new(Place::File, Problem::Unsupported { what, advice }));
    }
    Ok(ensemble)
}

fn features(core: &Core) -> Features {
    let width = core.width();
    let named = core.floats.iter().map(|float| (float.flat, &float.id));
    let named = named.chain(core.categories.iter().map(|category| (category.flat, &category.id)));
    let mut names: Vec<(i32, &String)> = named.filter(|(_, id)| !id.is_empty()).collect();
    names.sort_unstable();
    // Names are used only if every column has one.
    let mut features = if names.len() == width && width > 0 {
        Features::named(names.into_iter().map(|(_, id)| id.clone()).collect())
    } else {
        Features::unnamed(width as u32)
    };
    for category in &core.categories {
        let hashes = core.one_hots.iter().find(|one_hot| one_hot.index == category.index);
        let labels =
            hashes.map(|one_hot| one_hot.hashes.iter().map(|&hash| Label::Hash(hash as u32)).collect());
        let categories = Categories {
            rule: CategoryRule::Hashed,
            unseen_is_missing: false,
            labels: Some(labels.unwrap_or_default()),
        };
        features.set_categories(FeatureId(category.flat as u32), categories);
    }
    features
}

/// The split of a test: the answer "no" goes left.
fn split<'a>(test: CoreTest, set: &'a mut [u32; 1]) -> Split<'a> {
    match test {
        CoreTest::Above { feature, border, missing_is_above } => Split {
            feature,
            test: Test::LessOrEqual { threshold: f64::from(border) },
            missing_left: !missing_is_above,
        },
        CoreTest::Is { feature, code } => {
            set[0] = code;
            // An unknown category equals none of the known ones; a missing value is not an accepted
            // input.
            Split { feature, test: Test::Member { set, members_left: false }, missing_left: true }
        }
    }
}

fn tree(content: &CoreTree, tests: &[CoreTest], dimension: usize) -> TreeBuilder {
    let mut set = [0];
    match &content.shape {
        Shape::Symmetric(splits) => {
            let mut tree = TreeBuilder::with_capacity((2 << splits.len()) - 1);
            // Level by level from the last test, so that leaves are in the order of the file.
            for (level, &number) in splits.iter().rev().enumerate() {
                for node in (1 << level) - 1..(2 << level) - 1 {
                    let split = split(tests[number as usize], &mut set);
                    tree.split(split, NodeId(2 * node + 1), NodeId(2 * node + 2));
                }
            }
            content.values.chunks(dimension).for_each(|leaf| {
                tree.leaf(leaf);
            });
            tree
        }
        Shape::Nodes(nodes) => {
            let mut tree = TreeBuilder::with_capacity(nodes.len());
            for node in nodes {
                match *node {
                    CoreNode::Split { test, no, yes } => {
                        tree.split(split(tests[test as usize], &mut set), NodeId(no), NodeId(yes));
                    }
                    CoreNode::Leaf(leaf) => {
                        tree.leaf(&content.values[leaf as usize * dimension..][..dimension]);
                    }
                }
            }
            tree
        }
    }
}
