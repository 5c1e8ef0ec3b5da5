//! CatBoost's JSON format.
//!
//! CatBoost stops at the first syntax error and keeps what it has read before it, so a truncated
//! file loads with fewer trees. This reader requires a whole document.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Write;

use secateur_model::FeatureId;
use serde_json::Value;

use super::cbm::refuse_counters;
use super::core::{
    CategoryFeature, Core, CoreNode, CoreTest, CoreTree, FloatFeature, OneHot, Shape, Treatment,
};
use super::info::Info;
use super::number;
use crate::error::{FormatError, Place, Problem};
use crate::json::tape::{Element, Json};

fn place(field: &str) -> Place {
    Place::Field(field.to_owned())
}

fn fail<T>(field: &str, found: impl ToString, expected: &'static str) -> Result<T, FormatError> {
    Err(FormatError::new(place(field), Problem::Value { found: found.to_string(), expected }))
}

fn missing<T>(field: &str) -> Result<T, FormatError> {
    Err(FormatError::new(place(field), Problem::Missing))
}

/// A number, rounded as CatBoost reads it.
fn float(value: Element<'_>, field: &str) -> Result<f64, FormatError> {
    match value.as_number() {
        Some(text) => number::read(text).map_or_else(|| fail(field, text, "a number that f64 holds"), Ok),
        None => fail(field, "another value", "a number"),
    }
}

fn whole(value: Element<'_>, field: &str) -> Result<i64, FormatError> {
    match value.as_number() {
        Some(text) => text.parse().or_else(|_| fail(field, text, "a whole number")),
        None => fail(field, "another value", "a whole number"),
    }
}

fn small(value: Option<Element<'_>>, field: &str) -> Result<i32, FormatError> {
    let Some(value) = value else { return missing(field) };
    let number = whole(value, field)?;
    i32::try_from(number).or_else(|_| fail(field, number, "a smaller number"))
}

/// The elements of a list; none if the list is absent or `null`.
fn elements<'a>(value: Option<Element<'a>>, field: &str) -> Result<Vec<Element<'a>>, FormatError> {
    match value.filter(|value| !value.is_null()) {
        None => Ok(Vec::new()),
        Some(value) => match value.elements() {
            Some(list) => Ok(list.collect()),
            None => fail(field, "another value", "a list"),
        },
    }
}

fn floats(value: Option<Element<'_>>, field: &str) -> Result<Vec<f64>, FormatError> {
    elements(value, field)?.into_iter().map(|value| float(value, field)).collect()
}

/// Reads a whole file.
pub(super) fn read(bytes: &[u8]) -> Result<Core, FormatError> {
    let json = Json::parse(Cow::Borrowed(bytes), false)?;
    let json = json.root();
    let Some(features) = json.get("features_info") else { return missing("features_info") };
    if !elements(features.get("ctrs"), "ctrs")?.is_empty() || has_content(json.get("ctr_data")) {
        return refuse_counters();
    }
    for key in ["text_features", "embedding_features", "estimated_features"] {
        if has_content(features.get(key)) {
            let what = "a CatBoost model with text or embedding features".to_owned();
            let advice = "turn them into numbers before training";
            return Err(FormatError::new(Place::File, Problem::Unsupported { what, advice }));
        }
    }
    let mut info = Info::default();
    for (key, entry) in json.get("model_info").into_iter().flat_map(Element::entries) {
        // These entries are read with a general JSON parser: the last digit matters only for the
        // threshold, and CatBoost writes that number with few digits.
        let value: Value = serde_json::from_str(entry.raw())
            .or_else(|_| fail("model_info", key, "a JSON value that can be read"))?;
        info.take(key, &value)?;
    }
    let (symmetric, trees) = match (json.get("oblivious_trees"), json.get("trees")) {
        (Some(trees), None) => (true, elements(Some(trees), "oblivious_trees")?),
        (None, Some(trees)) => (false, elements(Some(trees), "trees")?),
        (Some(_), Some(_)) => return fail("trees", "both kinds of trees", "one kind of trees"),
        (None, None) => return missing("oblivious_trees"),
    };
    let categories = elements(features.get("categorical_features"), "categorical_features")?;
    let mut core = Core {
        dimension: 1,
        floats: elements(features.get("float_features"), "float_features")?
            .into_iter()
            .map(float_feature)
            .collect::<Result<_, _>>()?,
        categories: categories.iter().copied().map(category_feature).collect::<Result<_, _>>()?,
        one_hots: categories
            .iter()
            .filter_map(|&value| one_hot(value).transpose())
            .collect::<Result<_, _>>()?,
        symmetric,
        trees: Vec::new(),
        scale: 1.0,
        bias: Vec::new(),
        info,
    };
    let mut dimension = None;
    for tree in trees {
        let tree =
            if symmetric { symmetric_tree(tree, &mut dimension) } else { node_tree(tree, &mut dimension) };
        core.trees.push(tree?);
    }
    core.dimension = dimension.unwrap_or(1);
    if let [scale, bias] = elements(json.get("scale_and_bias"), "scale_and_bias")?[..] {
        core.scale = float(scale, "scale_and_bias")?;
        core.bias = match bias.as_number() {
            Some(_) => vec![float(bias, "scale_and_bias")?],
            None => floats(Some(bias), "scale_and_bias")?,
        };
    }
    if core.bias.is_empty() {
        core.bias = vec![0.0; core.dimension];
    }
    Ok(core)
}

fn has_content(value: Option<Element<'_>>) -> bool {
    value.is_some_and(|value| !value.is_null() && !value.is_empty())
}

fn text(value: Option<Element<'_>>) -> String {
    value.and_then(Element::as_str).unwrap_or_default().to_owned()
}

fn float_feature(value: Element<'_>) -> Result<FloatFeature, FormatError> {
    let treatment = match text(value.get("nan_value_treatment")).as_str() {
        "AsIs" => Treatment::AsIs,
        "AsFalse" => Treatment::AsFalse,
        "AsTrue" => Treatment::AsTrue,
        other => return fail("nan_value_treatment", other, "AsIs, AsFalse or AsTrue"),
    };
    let Some(has_nans) = value.get("has_nans").and_then(Element::as_bool) else { return missing("has_nans") };
    let borders = floats(value.get("borders"), "borders")?;
    Ok(FloatFeature {
        index: small(value.get("feature_index"), "feature_index")?,
        flat: small(value.get("flat_feature_index"), "flat_feature_index")?,
        borders: borders.into_iter().map(|border| border as f32).collect(),
        has_nans,
        treatment,
        id: text(value.get("feature_id")),
    })
}

fn category_feature(value: Element<'_>) -> Result<CategoryFeature, FormatError> {
    Ok(CategoryFeature {
        index: small(value.get("feature_index"), "feature_index")?,
        flat: small(value.get("flat_feature_index"), "flat_feature_index")?,
        id: text(value.get("feature_id")),
        used: has_content(value.get("values")),
    })
}

fn one_hot(value: Element<'_>) -> Result<Option<OneHot>, FormatError> {
    let values = elements(value.get("values"), "values")?;
    if values.is_empty() {
        return Ok(None);
    }
    let hash = |value: Element<'_>| {
        let number = whole(value, "values")?;
        // Hashes are written with and without a sign.
        match (i32::try_from(number), u32::try_from(number)) {
            (Ok(hash), _) => Ok(hash),
            (_, Ok(hash)) => Ok(hash as i32),
            _ => fail("values", number, "a hash of 32 bits"),
        }
    };
    let hashes = values.into_iter().map(hash).collect::<Result<_, _>>()?;
    Ok(Some(OneHot { index: small(value.get("feature_index"), "feature_index")?, hashes }))
}

/// The number of a test. CatBoost reads nothing else of a split.
fn split(value: Element<'_>) -> Result<u32, FormatError> {
    if text(value.get("split_type")) == "OnlineCtr" {
        return refuse_counters();
    }
    let Some(number) = value.get("split_index") else { return missing("split_index") };
    let number = whole(number, "split_index")?;
    u32::try_from(number).or_else(|_| fail("split_index", number, "the number of a test"))
}

/// Checks that every leaf has the same number of values, which the first leaf determines.
fn same_dimension(dimension: &mut Option<usize>, found: usize) -> Result<(), FormatError> {
    let expected = *dimension.get_or_insert(found);
    if found == expected && found > 0 {
        return Ok(());
    }
    Err(FormatError::new(place("leaf_values"), Problem::Length { expected, found }))
}

fn symmetric_tree(value: Element<'_>, dimension: &mut Option<usize>) -> Result<CoreTree, FormatError> {
    let splits: Vec<u32> =
        elements(value.get("splits"), "splits")?.into_iter().map(split).collect::<Result<_, _>>()?;
    let values = floats(value.get("leaf_values"), "leaf_values")?;
    let leaves = u32::try_from(splits.len()).ok().and_then(|depth| 1usize.checked_shl(depth));
    let Some(leaves) = leaves.filter(|&leaves| values.len().is_multiple_of(leaves)) else {
        return fail("leaf_values", format!("{} values", values.len()), "a whole number for each leaf");
    };
    same_dimension(dimension, values.len() / leaves)?;
    let weights = floats(value.get("leaf_weights"), "leaf_weights")?;
    Ok(CoreTree { shape: Shape::Symmetric(splits), values, weights })
}

fn node_tree(root: Element<'_>, dimension: &mut Option<usize>) -> Result<CoreTree, FormatError> {
    let mut nodes = Vec::new();
    let (mut values, mut weights) = (Vec::new(), Vec::new());
    let (mut leaves, mut weighted) = (0, true);
    let mut open = vec![(root, None)];
    while let Some((value, parent)) = open.pop() {
        let number = nodes.len() as u32;
        if let Some((parent, side)) = parent
            && let CoreNode::Split { no, yes, .. } = &mut nodes[parent]
        {
            *(if side { yes } else { no }) = number;
        }
        if let Some(leaf) = value.get("value") {
            let own = match leaf.elements() {
                Some(_) => floats(Some(leaf), "value")?,
                None => vec![float(leaf, "value")?],
            };
            same_dimension(dimension, own.len())?;
            values.extend(own);
            match value.get("weight") {
                Some(weight) => weights.push(float(weight, "weight")?),
                None => weighted = false,
            }
            nodes.push(CoreNode::Leaf(leaves));
            leaves += 1;
            continue;
        }
        let (Some(test), Some(left), Some(right)) =
            (value.get("split"), value.get("left"), value.get("right"))
        else {
            return missing("split");
        };
        let parent = nodes.len();
        nodes.push(CoreNode::Split { test: split(test)?, no: 0, yes: 0 });
        open.push((right, Some((parent, true))));
        open.push((left, Some((parent, false))));
    }
    if !weighted {
        weights.clear();
    }
    Ok(CoreTree { shape: Shape::Nodes(nodes), values, weights })
}

/// The text of a file with the model of `core` instead of the one in `original`, which was read
/// before.
pub(super) fn write(original: &[u8], core: &Core) -> Result<String, FormatError> {
    let json = Json::parse(Cow::Borrowed(original), false)?;
    let texts = Texts::of(&json);
    let json = json.root();
    let mut out = String::with_capacity(original.len() / 2);
    let mut separator = '{';
    for (key, entry) in json.entries() {
        let key = match key {
            "oblivious_trees" | "trees" if core.symmetric => "oblivious_trees",
            "oblivious_trees" | "trees" => "trees",
            key => key,
        };
        put(&mut out, format_args!("{separator}\n{}:", Value::from(key)));
        match key {
            "oblivious_trees" | "trees" => trees(&mut out, core, &texts),
            "features_info" => features(&mut out, entry, core, &texts),
            "scale_and_bias" => scale_and_bias(&mut out, core, &texts),
            _ => out.push_str(entry.raw()),
        }
        separator = ',';
    }
    if json.get("scale_and_bias").is_none() {
        put(&mut out, format_args!("{separator}\n\"scale_and_bias\":"));
        scale_and_bias(&mut out, core, &texts);
    }
    out.push_str("\n}");
    Ok(out)
}

/// The texts that numbers had in the file: numbers that stay are written as before, so that
/// CatBoost reads the same.
struct Texts<'a>(HashMap<u64, &'a str>);

impl<'a> Texts<'a> {
    fn of(json: &'a Json<'_>) -> Self {
        let mut texts = HashMap::new();
        for text in json.numbers_backwards() {
            if let Some(number) = number::read(text) {
                texts.entry(number.to_bits()).or_insert(text);
            }
        }
        Self(texts)
    }

    fn number(&self, value: f64) -> String {
        match self.0.get(&value.to_bits()) {
            Some(&text) => text.to_owned(),
            None => number::text(value),
        }
    }

    /// A border, which CatBoost reads as f32: every number beyond that type is read as infinite.
    fn border(&self, border: f32) -> String {
        let beyond = if border < 0.0 { -1e39 } else { 1e39 };
        self.number(if border.is_infinite() { beyond } else { f64::from(border) })
    }

    fn numbers(&self, out: &mut String, values: &[f64]) {
        for (index, &value) in values.iter().enumerate() {
            put(out, format_args!("{}{}", if index == 0 { '[' } else { ',' }, self.number(value)));
        }
        out.push_str(if values.is_empty() { "[]" } else { "]" });
    }
}

fn put(out: &mut String, arguments: std::fmt::Arguments<'_>) {
    out.write_fmt(arguments).expect("writing to a string does not fail");
}

fn scale_and_bias(out: &mut String, core: &Core, texts: &Texts<'_>) {
    put(out, format_args!("[{},", texts.number(core.scale)));
    texts.numbers(out, &core.bias);
    out.push(']');
}

/// The features with new borders and otherwise as before.
fn features(out: &mut String, features: Element<'_>, core: &Core, texts: &Texts<'_>) {
    let mut separator = '{';
    for (key, entry) in features.entries() {
        put(out, format_args!("{separator}{}:", Value::from(key)));
        separator = ',';
        if key != "float_features" {
            out.push_str(entry.raw());
            continue;
        }
        let list = entry.elements().into_iter().flatten();
        out.push('[');
        for (index, (value, float)) in list.zip(&core.floats).enumerate() {
            let mut separator = if index == 0 { "{" } else { ",{" };
            for (key, entry) in value.entries() {
                put(out, format_args!("{separator}{}:", Value::from(key)));
                separator = ",";
                if key == "borders" {
                    let borders: Vec<String> =
                        float.borders.iter().map(|&border| texts.border(border)).collect();
                    put(out, format_args!("[{}]", borders.join(",")));
                } else {
                    out.push_str(entry.raw());
                }
            }
            out.push('}');
        }
        out.push(']');
    }
    out.push_str(if separator == '{' { "{}" } else { "}" });
}

fn trees(out: &mut String, core: &Core, texts: &Texts<'_>) {
    let tests = core.tests();
    let writer = Writer { core, tests: &tests, texts };
    for (index, tree) in core.trees.iter().enumerate() {
        out.push_str(if index == 0 { "[\n" } else { ",\n" });
        match &tree.shape {
            Shape::Symmetric(splits) => {
                out.push_str("{\"leaf_values\":");
                texts.numbers(out, &tree.values);
                if !tree.weights.is_empty() {
                    out.push_str(",\"leaf_weights\":");
                    texts.numbers(out, &tree.weights);
                }
                out.push_str(",\"splits\":");
                for (index, &number) in splits.iter().enumerate() {
                    out.push(if index == 0 { '[' } else { ',' });
                    writer.split(out, number);
                }
                out.push_str(if splits.is_empty() { "null}" } else { "]}" });
            }
            Shape::Nodes(nodes) => writer.node(out, tree, nodes, 0),
        }
    }
    out.push(']');
}

struct Writer<'a> {
    core: &'a Core,
    tests: &'a [CoreTest],
    texts: &'a Texts<'a>,
}

impl Writer<'_> {
    fn split(&self, out: &mut String, number: u32) {
        match self.tests[number as usize] {
            CoreTest::Above { feature, border, .. } => {
                let own = |float: &&FloatFeature| FeatureId(float.flat as u32) == feature;
                let index = self.core.floats.iter().find(own).map_or(0, |float| float.index);
                let border = self.texts.border(border);
                put(
                    out,
                    format_args!(
                        "{{\"border\":{border},\"float_feature_index\":{index},\"split_index\":{number},\
                         \"split_type\":\"FloatFeature\"}}"
                    ),
                );
            }
            CoreTest::Is { feature, code } => {
                let own = |category: &&CategoryFeature| FeatureId(category.flat as u32) == feature;
                let index = self.core.categories.iter().find(own).map_or(0, |category| category.index);
                let one_hot = self.core.one_hots.iter().find(|one_hot| one_hot.index == index);
                let hash =
                    one_hot.and_then(|one_hot| one_hot.hashes.get(code as usize)).copied().unwrap_or(0);
                put(
                    out,
                    format_args!(
                        "{{\"cat_feature_index\":{index},\"split_index\":{number},\
                         \"split_type\":\"OneHotFeature\",\"value\":{hash}}}"
                    ),
                );
            }
        }
    }

    /// A node with everything below it. The recursion is as deep as the tree, which the reader
    /// limits to about a hundred levels.
    fn node(&self, out: &mut String, tree: &CoreTree, nodes: &[CoreNode], at: usize) {
        match nodes[at] {
            CoreNode::Leaf(leaf) => {
                let leaf = leaf as usize;
                let values = &tree.values[leaf * self.core.dimension..][..self.core.dimension];
                out.push_str("{\"value\":");
                match values {
                    [value] => out.push_str(&self.texts.number(*value)),
                    values => self.texts.numbers(out, values),
                }
                if let Some(&weight) = tree.weights.get(leaf) {
                    put(out, format_args!(",\"weight\":{}", self.texts.number(weight)));
                }
            }
            CoreNode::Split { test, no, yes } => {
                out.push_str("{\"left\":");
                self.node(out, tree, nodes, no as usize);
                out.push_str(",\"right\":");
                self.node(out, tree, nodes, yes as usize);
                out.push_str(",\"split\":");
                self.split(out, test);
            }
        }
        out.push('}');
    }
}
