//! CatBoost's own binary format: `CBM1`, a size, and a flatbuffer.

use serde_json::Value;

use super::core::{CategoryFeature, Core, CoreNode, CoreTree, FloatFeature, OneHot, Shape, Treatment};
use super::flat::{Buffer, Table};
use super::flat_write::{Field, FlatWriter};
use super::info::Info;
use crate::error::{FormatError, Place, Problem};

/// The first bytes of a file.
pub(super) const MAGIC: &[u8] = b"CBM1";

/// The format's name as CatBoost spells it.
const VERSION: &str = "FlabuffersModel_v1";

/// The leaf number of a node that is not a leaf.
const NO_LEAF: u32 = u32::MAX;

/// The fields of the table `ModelTrees`.
mod slot {
    pub(super) const DIMENSION: usize = 0;
    pub(super) const SPLITS: usize = 1;
    pub(super) const SIZES: usize = 2;
    pub(super) const STARTS: usize = 3;
    pub(super) const CATEGORIES: usize = 4;
    pub(super) const FLOATS: usize = 5;
    pub(super) const ONE_HOTS: usize = 6;
    pub(super) const COUNTERS: usize = 7;
    pub(super) const VALUES: usize = 8;
    pub(super) const WEIGHTS: usize = 9;
    pub(super) const STEPS: usize = 10;
    pub(super) const LEAF_OF_NODE: usize = 11;
    pub(super) const TEXTS: usize = 12;
    pub(super) const ESTIMATED: usize = 13;
    pub(super) const SCALE: usize = 14;
    pub(super) const OLD_BIAS: usize = 15;
    pub(super) const BIAS: usize = 16;
    pub(super) const EMBEDDINGS: usize = 18;
    pub(super) const COUNT: usize = 19;
}

/// The file's information beside the model: keys and values, unchanged.
pub(super) type Entries = Vec<(String, String)>;

fn fail<T>(field: &str, found: impl ToString, expected: &'static str) -> Result<T, FormatError> {
    let problem = Problem::Value { found: found.to_string(), expected };
    Err(FormatError::new(Place::Field(field.to_owned()), problem))
}

fn refuse<T>(what: &str, advice: &'static str) -> Result<T, FormatError> {
    Err(FormatError::new(Place::File, Problem::Unsupported { what: what.to_owned(), advice }))
}

/// Refuses models with counters, with the reason and advice.
pub(super) fn refuse_counters<T>() -> Result<T, FormatError> {
    refuse(
        "a CatBoost model with counters over categories (CTR)",
        "train with one_hot_max_size at least as large as the number of categories, or encode the categories as numbers \
         before training",
    )
}

/// Reads a whole file.
pub(super) fn read(bytes: &[u8]) -> Result<(Core, Entries), FormatError> {
    let cut = |inside| FormatError::new(Place::Byte(bytes.len() as u64), Problem::Truncated { inside });
    let size = bytes.get(4..8).ok_or_else(|| cut("the header"))?;
    let size = u64::from(u32::from_le_bytes(size.try_into().expect("four bytes")));
    let (start, size) = match size {
        // This value marks a longer size, which follows.
        0xffff_ffff => {
            let long = bytes.get(8..16).ok_or_else(|| cut("the header"))?;
            (16, u64::from_le_bytes(long.try_into().expect("eight bytes")))
        }
        size => (8, size),
    };
    let end = usize::try_from(size).ok().and_then(|size| size.checked_add(start));
    let core = end.and_then(|end| bytes.get(start..end)).ok_or_else(|| cut("the flatbuffers core"))?;
    let buffer = Buffer::new(core, start);
    let root = buffer.root()?;
    let version = root.text(0)?.unwrap_or("");
    if version != VERSION {
        return fail("FormatVersion", format!("{version:?}"), "FlabuffersModel_v1");
    }
    let parts = root.texts(3)?;
    if !parts.is_empty() {
        return match parts.iter().any(|part| part.starts_with("static_provider")) {
            true => refuse_counters(),
            false => refuse(
                "a CatBoost model with text or embedding features",
                "turn them into numbers before training",
            ),
        };
    }
    let Some(trees) = root.table(1)? else { return fail("ModelTrees", "nothing", "a table") };
    let mut entries = Vec::new();
    let mut info = Info::default();
    for pair in root.tables(2)? {
        let (key, value) = (pair.text(0)?.unwrap_or(""), pair.text(1)?.unwrap_or(""));
        info.take(key, &Value::String(value.to_owned()))?;
        entries.push((key.to_owned(), value.to_owned()));
    }
    if root.slots() > 4 && (4..root.slots()).any(|slot| root.has(slot).unwrap_or(true)) {
        return refuse("a CatBoost file with fields of a newer version", "save it with CatBoost 1.2");
    }
    Ok((model_trees(&trees, info)?, entries))
}

fn model_trees(table: &Table<'_>, info: Info) -> Result<Core, FormatError> {
    for slot in slot::COUNT..table.slots() {
        if table.has(slot)? {
            return refuse("a CatBoost model with fields of a newer version", "save it with CatBoost 1.2");
        }
    }
    if table.length(slot::COUNTERS)? > 0 {
        return refuse_counters();
    }
    for slot in [slot::TEXTS, slot::ESTIMATED, slot::EMBEDDINGS] {
        if table.length(slot)? > 0 {
            return refuse(
                "a CatBoost model with text or embedding features",
                "turn them into numbers before training",
            );
        }
    }
    let dimension: i32 = table.number(slot::DIMENSION, 0)?;
    let Some(dimension) = usize::try_from(dimension).ok().filter(|&dimension| dimension > 0) else {
        return fail("ApproxDimension", dimension, "a number of scores");
    };
    let mut bias: Vec<f64> = table.numbers(slot::BIAS)?;
    if bias.is_empty() {
        let old: f64 = table.number(slot::OLD_BIAS, 0.0)?;
        if dimension > 1 && old != 0.0 {
            return fail("Bias", old, "one number for each score");
        }
        // There are at most as many scores as leaves, so that a wrong number in the file costs no
        // memory.
        bias = vec![old; dimension.min(table.length(slot::VALUES)?)];
    }
    let steps: Vec<[u16; 2]> = table.numbers(slot::STEPS)?;
    let parts = Parts {
        dimension,
        splits: table.numbers(slot::SPLITS)?,
        sizes: table.numbers(slot::SIZES)?,
        starts: table.numbers(slot::STARTS)?,
        values: table.numbers(slot::VALUES)?,
        weights: table.numbers(slot::WEIGHTS)?,
        leaf_of_node: table.numbers(slot::LEAF_OF_NODE)?,
        steps,
    };
    let mut core = Core {
        dimension,
        floats: table.tables(slot::FLOATS)?.iter().map(float_feature).collect::<Result<_, _>>()?,
        categories: table.tables(slot::CATEGORIES)?.iter().map(category_feature).collect::<Result<_, _>>()?,
        one_hots: table.tables(slot::ONE_HOTS)?.iter().map(one_hot).collect::<Result<_, _>>()?,
        symmetric: parts.steps.is_empty(),
        trees: Vec::new(),
        scale: table.number(slot::SCALE, 1.0)?,
        bias,
        info,
    };
    core.trees = parts.trees(core.test_count())?;
    Ok(core)
}

fn float_feature(table: &Table<'_>) -> Result<FloatFeature, FormatError> {
    let treatment = match table.number::<i8>(5, 0)? {
        0 => Treatment::AsIs,
        1 => Treatment::AsFalse,
        2 => Treatment::AsTrue,
        other => return fail("NanValueTreatment", other, "0, 1 or 2"),
    };
    Ok(FloatFeature {
        index: table.number(1, -1)?,
        flat: table.number(2, -1)?,
        borders: table.numbers(3)?,
        has_nans: table.number::<u8>(0, 0)? != 0,
        treatment,
        id: table.text(4)?.unwrap_or("").to_owned(),
    })
}

fn category_feature(table: &Table<'_>) -> Result<CategoryFeature, FormatError> {
    Ok(CategoryFeature {
        index: table.number(0, -1)?,
        flat: table.number(1, -1)?,
        id: table.text(2)?.unwrap_or("").to_owned(),
        used: table.number::<u8>(3, 1)? != 0,
    })
}

fn one_hot(table: &Table<'_>) -> Result<OneHot, FormatError> {
    Ok(OneHot { index: table.number(0, -1)?, hashes: table.numbers(1)? })
}

/// The lists from which trees are built.
struct Parts {
    dimension: usize,
    splits: Vec<i32>,
    sizes: Vec<i32>,
    starts: Vec<i32>,
    values: Vec<f64>,
    weights: Vec<f64>,
    steps: Vec<[u16; 2]>,
    leaf_of_node: Vec<u32>,
}

impl Parts {
    fn trees(&self, tests: usize) -> Result<Vec<CoreTree>, FormatError> {
        let wrong = |field: &str, found, expected| {
            Err(FormatError::new(Place::Field(field.to_owned()), Problem::Length { expected, found }))
        };
        if self.starts.len() != self.sizes.len() {
            return wrong("TreeStartOffsets", self.starts.len(), self.sizes.len());
        }
        let mut end = 0usize;
        for (&size, &start) in self.sizes.iter().zip(&self.starts) {
            if usize::try_from(start).ok() != Some(end) {
                return fail("TreeStartOffsets", start, "where the tree before ends");
            }
            let Some(next) = usize::try_from(size).ok().and_then(|size| end.checked_add(size)) else {
                return fail("TreeSizes", size, "a size");
            };
            end = next;
        }
        if end != self.splits.len() {
            return wrong("TreeSplits", self.splits.len(), end);
        }
        if !self.values.len().is_multiple_of(self.dimension) {
            return fail("LeafValues", self.values.len(), "a whole number of leaves");
        }
        let leaves = self.values.len() / self.dimension;
        if !self.weights.is_empty() && self.weights.len() != leaves {
            return wrong("LeafWeights", self.weights.len(), leaves);
        }
        for (node, &split) in self.splits.iter().enumerate() {
            let ends_here = self.steps.get(node) == Some(&[0, 0]);
            if !((0..tests as i64).contains(&i64::from(split)) || split == 0 && ends_here) {
                return fail("TreeSplits", split, "the number of a test");
            }
        }
        if self.steps.is_empty() { self.symmetric_trees() } else { self.node_trees() }
    }

    fn symmetric_trees(&self) -> Result<Vec<CoreTree>, FormatError> {
        let (mut split, mut leaf) = (0, 0);
        let leaves = self.values.len() / self.dimension;
        let mut trees = Vec::with_capacity(self.sizes.len());
        for &size in &self.sizes {
            let size = size as usize;
            let own = u32::try_from(size).ok().and_then(|size| 1usize.checked_shl(size));
            let Some(own) = own.filter(|&own| own <= leaves - leaf) else {
                return fail("TreeSizes", size, "a depth that there are leaves for");
            };
            let range = leaf..leaf + own;
            trees.push(CoreTree {
                shape: Shape::Symmetric(self.splits[split..split + size].iter().map(|&s| s as u32).collect()),
                values: self.values[range.start * self.dimension..range.end * self.dimension].to_vec(),
                weights: self.weights.get(range.clone()).unwrap_or(&[]).to_vec(),
            });
            (split, leaf) = (split + size, range.end);
        }
        if leaf != leaves {
            return fail("LeafValues", format!("{leaves} leaves"), "as many as the trees have");
        }
        Ok(trees)
    }

    fn node_trees(&self) -> Result<Vec<CoreTree>, FormatError> {
        let wrong = |field: &str, found, expected| {
            Err(FormatError::new(Place::Field(field.to_owned()), Problem::Length { expected, found }))
        };
        let nodes = self.splits.len();
        if self.steps.len() != nodes {
            return wrong("NonSymmetricStepNodes", self.steps.len(), nodes);
        }
        if self.leaf_of_node.len() != nodes {
            return wrong("NonSymmetricNodeIdToLeafId", self.leaf_of_node.len(), nodes);
        }
        let mut trees = Vec::with_capacity(self.sizes.len());
        for (&start, &size) in self.starts.iter().zip(&self.sizes) {
            if size == 0 {
                return fail("TreeSizes", 0, "at least one node");
            }
            trees.push(self.node_tree(start as usize, (start + size) as usize)?);
        }
        Ok(trees)
    }

    /// The tree of the nodes from `start` to before `end`. A node may be half a leaf: if one of its
    /// steps is zero, that branch ends in the node's own leaf.
    fn node_tree(&self, start: usize, end: usize) -> Result<CoreTree, FormatError> {
        let mut tree = CoreTree { shape: Shape::Nodes(Vec::new()), values: Vec::new(), weights: Vec::new() };
        let mut nodes = Vec::new();
        let mut seen = vec![false; end - start];
        // Each entry: a node, whether its own leaf is meant, and the parent that gets its number.
        let mut open = vec![(start, false, None)];
        while let Some((at, own_leaf, parent)) = open.pop() {
            let number = nodes.len() as u32;
            match parent {
                Some((parent, true)) => {
                    if let CoreNode::Split { yes, .. } = &mut nodes[parent] {
                        *yes = number;
                    }
                }
                Some((parent, false)) => {
                    if let CoreNode::Split { no, .. } = &mut nodes[parent] {
                        *no = number;
                    }
                }
                None => {}
            }
            let [no, yes] = self.steps[at];
            if own_leaf || [no, yes] == [0, 0] {
                nodes.push(CoreNode::Leaf(self.push_leaf(&mut tree, at)?));
                continue;
            }
            let parent = nodes.len();
            nodes.push(CoreNode::Split { test: self.splits[at] as u32, no: 0, yes: 0 });
            for (step, side) in [(yes, true), (no, false)] {
                if step == 0 {
                    open.push((at, true, Some((parent, side))));
                    continue;
                }
                let child = at + usize::from(step);
                if child >= end || std::mem::replace(&mut seen[child - start], true) {
                    return fail(
                        "NonSymmetricStepNodes",
                        format!("node {at}"),
                        "a way to nodes of its tree, once",
                    );
                }
                open.push((child, false, Some((parent, side))));
            }
        }
        tree.shape = Shape::Nodes(nodes);
        Ok(tree)
    }

    fn push_leaf(&self, tree: &mut CoreTree, node: usize) -> Result<u32, FormatError> {
        let number = tree.values.len() / self.dimension;
        let at = self.leaf_of_node[node] as usize;
        let Some(values) = at.checked_add(self.dimension).and_then(|end| self.values.get(at..end)) else {
            return fail("NonSymmetricNodeIdToLeafId", at, "a place in LeafValues");
        };
        tree.values.extend_from_slice(values);
        tree.weights.extend(self.weights.get(at / self.dimension));
        Ok(number as u32)
    }
}

/// The bytes of a file.
pub(super) fn write(core: &Core, entries: &Entries) -> Vec<u8> {
    let mut out = FlatWriter::new();
    let [version, trees, info] = out.table(&[Field::Offset, Field::Offset, Field::Offset])[..] else {
        unreachable!("one position for each offset")
    };
    out.point_here(version);
    out.text(VERSION);
    out.point_here(trees);
    write_trees(&mut out, core);
    out.point_here(info);
    for (place, (key, value)) in out.offset_list(entries.len()).into_iter().zip(entries) {
        out.point_here(place);
        let [key_at, value_at] = out.table(&[Field::Offset, Field::Offset])[..] else {
            unreachable!("one position for each offset")
        };
        out.point_here(key_at);
        out.text(key);
        out.point_here(value_at);
        out.text(value);
    }
    let flat = out.finish();
    let mut bytes = MAGIC.to_vec();
    match u32::try_from(flat.len()).ok().filter(|&size| size != u32::MAX) {
        Some(size) => bytes.extend(size.to_le_bytes()),
        None => {
            bytes.extend(u32::MAX.to_le_bytes());
            bytes.extend((flat.len() as u64).to_le_bytes());
        }
    }
    bytes.extend(flat);
    bytes
}

fn write_trees(out: &mut FlatWriter, core: &Core) {
    let lists = Lists::of(core);
    let mut fields = [Field::None; slot::COUNT];
    fields[slot::DIMENSION] = Field::I32(core.dimension as i32);
    fields[slot::SCALE] = Field::F64(core.scale);
    let mut offsets = vec![
        slot::SPLITS,
        slot::SIZES,
        slot::STARTS,
        slot::CATEGORIES,
        slot::FLOATS,
        slot::ONE_HOTS,
        slot::VALUES,
        slot::WEIGHTS,
        slot::BIAS,
    ];
    if !core.symmetric {
        offsets.extend([slot::STEPS, slot::LEAF_OF_NODE]);
        offsets.sort_unstable();
    }
    offsets.iter().for_each(|&slot| fields[slot] = Field::Offset);
    let places = out.table(&fields);
    for (slot, place) in offsets.into_iter().zip(places) {
        out.point_here(place);
        match slot {
            slot::SPLITS => out.list(&lists.splits, 4, |v| v.to_le_bytes()),
            slot::SIZES => out.list(&lists.sizes, 4, |v| v.to_le_bytes()),
            slot::STARTS => out.list(&lists.starts, 4, |v| v.to_le_bytes()),
            slot::VALUES => out.list(&lists.values, 8, |v| v.to_le_bytes()),
            slot::WEIGHTS => out.list(&lists.weights, 8, |v| v.to_le_bytes()),
            slot::BIAS => out.list(&core.bias, 8, |v| v.to_le_bytes()),
            slot::STEPS => {
                out.list(&lists.steps, 2, |&[no, yes]| (u32::from(no) | u32::from(yes) << 16).to_le_bytes())
            }
            slot::LEAF_OF_NODE => out.list(&lists.leaf_of_node, 4, |v| v.to_le_bytes()),
            slot::CATEGORIES => {
                for (place, category) in
                    out.offset_list(core.categories.len()).into_iter().zip(&core.categories)
                {
                    out.point_here(place);
                    let used = Field::U8(u8::from(category.used));
                    let fields = [Field::I32(category.index), Field::I32(category.flat), Field::Offset, used];
                    let id = out.table(&fields)[0];
                    out.point_here(id);
                    out.text(&category.id);
                }
            }
            slot::FLOATS => {
                for (place, float) in out.offset_list(core.floats.len()).into_iter().zip(&core.floats) {
                    out.point_here(place);
                    let treatment = match float.treatment {
                        Treatment::AsIs => 0,
                        Treatment::AsFalse => 1,
                        Treatment::AsTrue => 2,
                    };
                    let [borders, id] = out.table(&[
                        Field::U8(u8::from(float.has_nans)),
                        Field::I32(float.index),
                        Field::I32(float.flat),
                        Field::Offset,
                        Field::Offset,
                        Field::U8(treatment),
                    ])[..] else {
                        unreachable!("one position for each offset")
                    };
                    out.point_here(borders);
                    out.list(&float.borders, 4, |v| v.to_le_bytes());
                    out.point_here(id);
                    out.text(&float.id);
                }
            }
            slot::ONE_HOTS => {
                for (place, one_hot) in out.offset_list(core.one_hots.len()).into_iter().zip(&core.one_hots) {
                    out.point_here(place);
                    let hashes = out.table(&[Field::I32(one_hot.index), Field::Offset])[0];
                    out.point_here(hashes);
                    out.list(&one_hot.hashes, 4, |v| v.to_le_bytes());
                }
            }
            _ => unreachable!("every slot of the list above"),
        }
    }
}

/// The lists of a file, collected from its trees.
#[derive(Default)]
struct Lists {
    splits: Vec<i32>,
    sizes: Vec<i32>,
    starts: Vec<i32>,
    values: Vec<f64>,
    weights: Vec<f64>,
    steps: Vec<[u16; 2]>,
    leaf_of_node: Vec<u32>,
}

impl Lists {
    fn of(core: &Core) -> Self {
        let mut lists = Self::default();
        for tree in &core.trees {
            let start = lists.splits.len();
            lists.starts.push(start as i32);
            match &tree.shape {
                Shape::Symmetric(splits) => lists.splits.extend(splits.iter().map(|&split| split as i32)),
                Shape::Nodes(nodes) => {
                    for (at, node) in nodes.iter().enumerate() {
                        match *node {
                            CoreNode::Split { test, no, yes } => {
                                lists.splits.push(test as i32);
                                lists.steps.push([no, yes].map(|child| (child as usize - at) as u16));
                                lists.leaf_of_node.push(NO_LEAF);
                            }
                            CoreNode::Leaf(leaf) => {
                                lists.splits.push(0);
                                lists.steps.push([0, 0]);
                                let own = leaf as usize * core.dimension;
                                lists.leaf_of_node.push((lists.values.len() + own) as u32);
                            }
                        }
                    }
                }
            }
            lists.sizes.push((lists.splits.len() - start) as i32);
            lists.values.extend_from_slice(&tree.values);
            lists.weights.extend_from_slice(&tree.weights);
        }
        lists
    }
}
