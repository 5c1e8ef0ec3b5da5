//! A model as tables: thresholds become ranks in bins of a byte, trees are written in preorder with
//! three small numbers for each inner node. "The text" is the fixed program of
//! `secateur_source` that reads these tables.
//!
//! Every comparison of a column is written as `x <= u`, with u of the inputs' type, and the
//! different u of a column are sorted. The rank of a value is the number of u that it is above; a
//! row goes right at a node iff its rank is above the node's. A missing value has the smallest or
//! the largest rank, by the side that the node sends it to, and so does a zero if the node has a
//! side for zero. A column therefore has a bin for each such pair of sides and for each 255
//! thresholds. A test for equality or membership has a bin of its own, which is 0 for left and 1
//! for right.

use std::collections::{BTreeMap, BTreeSet};

use secateur_formats::Link;
use secateur_model::{
    CategoryRule, Decision, Ensemble, InterceptPosition, Node, NodeId, NumberType, Output, Softmax, Split,
    Test, Tree,
};
use secateur_source::WasmData;

use crate::EmitError;
use crate::quantise::{LeafBits, Quantisation};

/// Thresholds that a bin can count.
const CHUNK: usize = 255;

/// The three numbers of an inner node: its bin, the rank up to which rows go left, and the number
/// of inner nodes on its left.
const NODE_TABLES: [&str; 3] = ["node_bin", "node_rank", "node_left"];

/// How the inner nodes of trees are laid out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum NodeLayout {
    /// About three bytes for each node, in tables that are quick to read.
    #[default]
    Compact,
    /// Each number has only as many bits as the largest one of its kind needs, without gaps: fewer
    /// bytes, but more instructions to read them. Models whose nodes need more than 31 bits and
    /// models without splits are laid out as compact. Not available in WebAssembly.
    Small,
    /// Quick to walk. Trees are filled up to perfect ones if that takes at most four bytes for each
    /// node; otherwise nodes have four bytes, with leaves of four bytes between them; if neither is
    /// possible, the layout is compact. Values are ranked as whole numbers. Not available in
    /// WebAssembly.
    Fast,
}

/// The text has code for filled-up trees of at most this many levels.
const MOST_LEVELS: usize = 8;
/// The rank of a test that sends every row left: no rank of a row is above 255.
const NEVER_RIGHT: u32 = 255;
/// The most words on the left of a node: a node's word has 14 bits for their number.
const MOST_WORDS_LEFT: usize = 0x3fff;
/// The text has code for at most this many levels without leaves.
const MOST_SURE: usize = 4;
/// No tree needs more filler words above its leaves than this: one for each leaf, if all leaves are
/// one level too high.
const MOST_ABOVE: usize = 1 << (MOST_SURE - 1);
/// Filler words may be added for another level without leaves if there are at least this many words
/// of nodes and leaves for each of them.
const WORDS_FOR_ONE_ABOVE: usize = 16;

/// The tables and numbers of a model, by their names in the text.
#[derive(Default)]
pub(crate) struct Tables {
    pub(crate) parts: BTreeSet<&'static str>,
    pub(crate) integers: BTreeMap<&'static str, Vec<u32>>,
    pub(crate) signed: BTreeMap<&'static str, Vec<i32>>,
    pub(crate) floats: BTreeMap<&'static str, Vec<f64>>,
    /// Counts in the text.
    pub(crate) counts: BTreeMap<&'static str, usize>,
    /// The other numbers in the text, each with its type.
    pub(crate) numbers: BTreeMap<&'static str, (f64, NumberType)>,
    /// The smallest sum for which a model with whole-number sums chooses class 1.
    pub(crate) limit: Option<i32>,
}

impl Tables {
    /// Lays out a model, with its own leaves or with quantised ones.
    pub(crate) fn new(model: &Ensemble, leaves: Option<LeafBits>) -> Result<Self, EmitError> {
        if model.features().steps().is_some() {
            return Err(EmitError::Steps);
        }
        if model.scale().is_some() {
            return Err(EmitError::Scale);
        }
        let quantised = leaves.map(|bits| Quantisation::new(model, bits)).transpose()?;
        let mut layout = Self::default();
        let bins = Bins::new(model)?;
        match &quantised {
            Some(quantised) => layout.quantised_facts(model, quantised),
            None => layout.facts(model),
        }
        layout.bins(model, &bins);
        layout.trees(model, &bins, quantised.as_ref())?;
        let odd = layout.floats.values().flatten().any(|value| !value.is_finite());
        if odd || ["softmax32", "softmax64", "sigmoid"].iter().any(|part| layout.parts.contains(part)) {
            layout.parts.insert("math");
        }
        Ok(layout)
    }

    /// The same tables for a WebAssembly module, where every number that is not whole is a double.
    pub(crate) fn data(&self) -> WasmData {
        let mut doubles: BTreeMap<&'static str, f64> =
            self.numbers.iter().map(|(&name, &(value, _))| (name, value)).collect();
        doubles.extend(self.limit.map(|limit| ("limit", f64::from(limit))));
        WasmData {
            counts: self.counts.iter().map(|(&name, &count)| (name, count as u32)).collect(),
            doubles,
            integers: self.integers.clone(),
            signed: self.signed.clone(),
            floats: self.floats.clone(),
        }
    }

    /// Adds the rule by which scores become probabilities.
    pub(crate) fn probabilities(&mut self, model: &Ensemble, link: Link) -> Result<(), EmitError> {
        let (rule, number): (&[&'static str], _) = match link {
            Link::Logistic32 => (&["p_logistic32"], None),
            Link::Logistic64 { scale } => (&["p_logistic64"], Some(("link_scale", scale))),
            Link::Softmax32 => (&["p_softmax32"], None),
            Link::Softmax64 => (&["p_softmax64"], None),
            Link::DividedSoftmax64 { divisor } => {
                (&["p_softmax64", "p_divided"], Some(("link_divisor", divisor)))
            }
            Link::Each { scale } => (&["p_each"], Some(("link_scale", scale))),
            Link::Identity => (&["p_identity"], None),
            _ => return Err(EmitError::NoProbabilities),
        };
        if !model.decision().is_classifier() || number.is_some_and(|(_, number)| number <= 0.0) {
            return Err(EmitError::NoProbabilities);
        }
        self.parts.insert("probabilities");
        self.parts.extend(rule);
        self.counts.insert("classes", model.classes().len());
        self.numbers.extend(number.map(|(name, number)| (name, (number, NumberType::F64))));
        self.part("math", link != Link::Identity);
        self.part("double", self.parts.contains("quantised") || link != Link::Logistic32);
        Ok(())
    }

    /// Changes the layout of the nodes. A WebAssembly module keeps the tables that `new` made.
    pub(crate) fn arrange(&mut self, nodes: NodeLayout) -> Result<(), EmitError> {
        if !self.parts.contains("splits") {
            return Ok(());
        }
        match nodes {
            NodeLayout::Compact => self.tests(),
            NodeLayout::Small if self.node_widths().iter().sum::<usize>() < 32 => self.bits()?,
            // The numbers of a node do not fit into a word: there are too many bins, or the trees
            // are too large.
            NodeLayout::Small => self.tests(),
            NodeLayout::Fast => self.fast(),
        }
        Ok(())
    }

    /// Makes the layout that is fastest to walk for these trees and leaves, if the number of a bin
    /// fits into a byte.
    fn fast(&mut self) {
        if self.counts["bins"] > 256 {
            return;
        }
        let trees = self.shapes();
        let nodes: usize = trees.iter().map(|tree| tree.inner.len()).sum();
        let leaves: usize = trees.iter().map(|tree| tree.leaves.len()).sum();
        let levels = trees.iter().map(|tree| tree.levels).max().unwrap_or_default();
        let (places, leaf) = (trees.len() << levels.min(MOST_LEVELS), self.leaf_bytes());
        // A leaf must be a word of 32 bits. The words on the left of a node are its inner nodes
        // there, their leaves, which are one more, and filler words.
        let floats = self.parts.contains("f32_sums")
            && !self.parts.contains("listed")
            && !self.parts.contains("every");
        let short = |&left: &u32| 2 * (left as usize) + 1 + MOST_ABOVE <= MOST_WORDS_LEFT;
        let short = self.integers["node_left"].iter().all(short);
        if levels <= MOST_LEVELS && (2 + leaf) * places <= 4 * nodes + leaf * leaves {
            self.steps();
            self.full(&trees, levels);
        } else if floats && short && self.parts.contains("numbers") {
            self.steps();
            self.words(&trees);
        } else {
            self.tests();
        }
    }

    /// Adds how often the number of thresholds of each column can be halved, for the search in
    /// steps.
    fn steps(&mut self) {
        if let Some(first) = self.integers.get("first_threshold") {
            let steps = first.windows(2).map(|pair| (pair[1] - pair[0]).ilog2()).collect();
            self.parts.insert("steps");
            self.integers.insert("step", steps);
        }
    }

    /// The number of bytes of a leaf in its table.
    fn leaf_bytes(&self) -> usize {
        let whole = |name: &str| match self.integers[name].iter().copied().max().unwrap_or_default() {
            0..=0xff => 1,
            0x100..=0xffff => 2,
            _ => 4,
        };
        let each = if self.parts.contains("every") { self.counts["outputs"] } else { 1 };
        let own = match self.parts.contains("quantised") {
            true => whole("leaf"),
            false if self.parts.contains("listed") => whole("leaf_index"),
            false if self.parts.contains("f64_sums") => 8,
            false => 4,
        };
        each * own
    }

    /// The places of each tree's nodes and leaves.
    fn shapes(&self) -> Vec<Shape> {
        let lefts = &self.integers["node_left"];
        let (mut node, mut leaf) = (0, 0);
        let shape = |&inner: &u32| {
            let inner = inner as usize;
            let shape = Shape::new(&lefts[node..node + inner], node, leaf);
            node += inner;
            leaf += inner + 1;
            shape
        };
        self.integers["inner"].iter().map(shape).collect()
    }

    /// Fills all trees up to this number of levels: a table has the tests by their places, and each
    /// place below the last level has a leaf.
    fn full(&mut self, trees: &[Shape], levels: usize) {
        let [bins, ranks, _] = self.nodes();
        let width = 1usize << levels;
        let mut tests = vec![NEVER_RIGHT << 8; trees.len() * width];
        // For each place of a leaf, the index of the leaf that is written there.
        let mut places = vec![0; trees.len() * width];
        for (index, tree) in trees.iter().enumerate() {
            let first = index * width;
            tests[first] = 0;
            for &(place, node) in &tree.inner {
                tests[first + place] = ranks[node] << 8 | bins[node];
            }
            for &(place, depth, leaf) in &tree.leaves {
                let below = levels - depth;
                let start = first + (place << below) - width;
                places[start..start + (1 << below)].fill(leaf);
            }
        }
        let each = if self.parts.contains("every") { self.counts["outputs"] } else { 1 };
        let name = if self.parts.contains("listed") { "leaf_index" } else { "leaf" };
        if let Some(values) = self.integers.get_mut(name) {
            *values = at_places(values, &places, each);
        } else if let Some(values) = self.floats.get_mut(name) {
            *values = at_places(values, &places, each);
        }
        self.integers.remove("inner");
        self.integers.insert("node_test", tests);
        self.counts.insert("levels", levels);
        self.parts.extend(["tests", "full"]);
    }

    /// Writes nodes of four bytes in preorder with the leaves between them. Leaves of the first
    /// levels get filler nodes above them, which every row passes to the left.
    fn words(&mut self, trees: &[Shape]) {
        let (bins, ranks) = (&self.integers["node_bin"], &self.integers["node_rank"]);
        let lefts = &self.integers["node_left"];
        let leaves = &self.floats["leaf"];
        let sure = sure_levels(trees);
        let (mut words, mut sizes) = (Vec::new(), Vec::new());
        for tree in trees {
            let before = words.len();
            let first = tree.inner.first().map_or(0, |&(_, node)| node);
            let mut open = vec![Open::Subtree(0, first, tree.inner.len(), tree.leaves[0].2)];
            while let Some(next) = open.pop() {
                match next {
                    Open::LeftDone(place) => words[place] |= ((words.len() - place - 1) as u32) << 10,
                    Open::Subtree(level, _, 0, leaf) => {
                        words.extend((level + 1..=sure).map(|level| above_leaf(level == sure)));
                        words.push((leaves[leaf] as f32).to_bits());
                    }
                    Open::Subtree(level, node, inner, leaf) => {
                        let left = lefts[node] as usize;
                        let right = inner - 1 - left;
                        let leaf_below = |inner: usize| u32::from(inner == 0 && level + 1 >= sure);
                        let sides = leaf_below(left) << 9 | leaf_below(right) << 8;
                        open.extend([
                            Open::Subtree(level + 1, node + 1 + left, right, leaf + left + 1),
                            Open::LeftDone(words.len()),
                            Open::Subtree(level + 1, node + 1, left, leaf),
                        ]);
                        words.push(ranks[node] << 24 | sides | bins[node]);
                    }
                }
            }
            sizes.push((words.len() - before) as u32);
        }
        self.nodes();
        self.floats.remove("leaf");
        self.integers.remove("inner");
        self.integers.insert("word", words);
        self.integers.insert("size", sizes);
        self.counts.insert("sure", sure);
        self.parts.insert("words");
    }

    /// Writes a test and a skip for each node, if the number of a bin fits into a byte.
    fn tests(&mut self) {
        if self.counts["bins"] > 256 {
            return;
        }
        let [bins, ranks, lefts] = self.nodes();
        let mut skips: Vec<u32> = lefts.iter().map(|left| 2 * (left + 1)).collect();
        // Nodes, each with the number of inner nodes of its subtree. If there are none on a node's
        // right, its right child is a leaf.
        let mut start = 0;
        for &inner in &self.integers["inner"] {
            let mut open = vec![(start, inner)];
            while let Some((node, below)) = open.pop() {
                if below > 0 {
                    let left = lefts[node as usize];
                    let right = below - 1 - left;
                    skips[node as usize] |= u32::from(right == 0);
                    open.extend([(node + 1 + left, right), (node + 1, left)]);
                }
            }
            start += inner;
        }
        self.parts.insert("tests");
        let tests = bins.iter().zip(&ranks).map(|(bin, rank)| rank << 8 | bin).collect();
        self.integers.insert("node_test", tests);
        self.integers.insert("node_skip", skips);
    }

    /// Writes the numbers of each node, and the positions of leaves, with as many bits as the
    /// largest one of each kind needs.
    fn bits(&mut self) -> Result<(), EmitError> {
        let widths = self.node_widths();
        let nodes = self.nodes();
        self.counts.extend(["bin_bits", "rank_bits", "left_bits"].into_iter().zip(widths));
        let rows = (0..nodes[0].len()).flat_map(|node| nodes.iter().map(move |column| column[node]));
        self.integers.insert("node_bits", words(rows.zip(widths.into_iter().cycle()))?);
        if let Some(index) = self.integers.remove("leaf_index") {
            let each = width(&index);
            self.counts.insert("index_bits", each);
            self.integers.insert("leaf_bits", words(index.iter().map(|&place| (place, each)))?);
        }
        self.parts.insert("small");
        Ok(())
    }

    /// The number of bits that a bin, a rank and the number of inner nodes on the left need.
    fn node_widths(&self) -> [usize; 3] {
        NODE_TABLES.map(|name| width(&self.integers[name]))
    }

    /// Takes bin, rank and inner nodes on the left of each node out of the tables.
    fn nodes(&mut self) -> [Vec<u32>; 3] {
        NODE_TABLES.map(|name| self.integers.remove(name).unwrap_or_default())
    }

    fn part(&mut self, part: &'static str, there: bool) {
        if there {
            self.parts.insert(part);
        }
    }

    /// Adds what the text needs to know of a row: its columns and scores, the type of inputs, and
    /// the zero window.
    fn inputs(&mut self, model: &Ensemble) {
        let domain = model.intake();
        self.counts.insert("features", model.features().len());
        self.counts.insert("outputs", model.group_count());
        self.part("single", model.group_count() == 1);
        self.part(if domain.number == NumberType::F64 { "f64_input" } else { "f32_input" }, true);
        if let Some(window) = domain.zero_window {
            self.part("window", true);
            self.numbers.insert("window", (domain.number.floor(window), domain.number));
        }
    }

    /// Adds everything except columns and trees, for a model whose sums are whole numbers.
    fn quantised_facts(&mut self, model: &Ensemble, quantised: &Quantisation) {
        self.inputs(model);
        self.part("quantised", true);
        self.part("double", model.intake().number == NumberType::F64);
        self.numbers.insert("unit", (quantised.unit, NumberType::F64));
        self.signed.insert("intercept", quantised.starts.clone());
        self.part("class", model.decision().is_classifier());
        match *model.decision() {
            Decision::Threshold { group, .. } => {
                self.part("threshold", true);
                self.counts.insert("group", group.index());
                self.limit = quantised.limit;
            }
            Decision::Scores(_) => {}
            _ => self.part("argmax", true),
        }
    }

    /// Adds everything except columns and trees.
    fn facts(&mut self, model: &Ensemble) {
        let accumulation = model.accumulation();
        self.inputs(model);
        self.floats.insert("intercept", model.intercepts().to_vec());
        self.part(if accumulation.number == NumberType::F64 { "f64_sums" } else { "f32_sums" }, true);
        self.part("last", accumulation.intercept == InterceptPosition::Last);
        let classes = model.decision().is_classifier();
        self.part("class", classes);
        if let Some(average) = accumulation.average {
            self.part("average_raw", average.in_raw_scores);
            self.part("average_class", classes && !average.in_raw_scores);
            self.numbers.insert("divisor", (average.divisor, NumberType::F64));
        }
        let mut wide = self.parts.contains("average_raw") || self.parts.contains("average_class");
        match *model.decision() {
            Decision::Threshold { group, threshold, strict } => {
                self.part("threshold", true);
                self.part("strict", strict);
                self.counts.insert("group", group.index());
                // If a float holds the threshold, it is compared as a float, which is cheaper on
                // small machines.
                let narrow =
                    accumulation.number == NumberType::F32 && NumberType::F32.round(threshold) == threshold;
                let number = if narrow { NumberType::F32 } else { NumberType::F64 };
                wide |= !narrow;
                self.numbers.insert("threshold", (threshold, number));
            }
            Decision::Argmax => self.part("argmax", true),
            Decision::ArgmaxSoftmax(Softmax::XgBoost) => self.part("softmax32", true),
            Decision::ArgmaxSoftmax(Softmax::LightGbm) => self.part("softmax64", true),
            Decision::ArgmaxSigmoid { scale } => {
                self.part("sigmoid", true);
                self.numbers.insert("scale", (scale, NumberType::F64));
            }
            Decision::Scores(_) => {}
        }
        let types = ["f64_input", "f64_sums", "softmax32", "softmax64", "sigmoid"];
        self.part("double", wide || types.iter().any(|part| self.parts.contains(part)));
    }

    fn bins(&mut self, model: &Ensemble, bins: &Bins) {
        let number = model.intake().number;
        self.counts.insert("number_bins", bins.numbers.len());
        self.counts.insert("bins", (bins.numbers.len() + bins.sets.len() + bins.equals.len()).max(1));
        if !bins.numbers.is_empty() {
            self.part("numbers", true);
            self.part("chunks", bins.thresholds.values().any(|column| column.len() > CHUNK));
            self.part("zeros", bins.numbers.keys().any(|bin| bin.sides > 1));
            let (mut first, mut first_bin, mut all) = (vec![0], vec![0], Vec::new());
            for (&feature, column) in &bins.thresholds {
                all.extend_from_slice(column);
                first.push(all.len() as u32);
                let own = bins.numbers.keys().filter(|bin| bin.feature == feature).count() as u32;
                first_bin.push(first_bin[first_bin.len() - 1] + own);
            }
            self.counts.insert("used", bins.thresholds.len());
            self.integers.insert("used_feature", bins.thresholds.keys().copied().collect());
            self.integers.insert("first_threshold", first);
            self.floats.insert("threshold", all);
            self.integers.insert("first_bin", first_bin);
            self.integers.insert("bin_sides", bins.numbers.keys().map(|bin| bin.sides).collect());
            self.integers.insert("bin_start", bins.numbers.keys().map(|bin| bin.start).collect());
        }
        if !bins.sets.is_empty() {
            self.part("sets", true);
            self.counts.insert("sets", bins.sets.len());
            let (mut first_code, mut first_listed) = (vec![0], vec![0]);
            let (mut codes, mut listed) = (Vec::new(), Vec::new());
            for set in bins.sets.keys() {
                codes.extend_from_slice(&set.codes);
                first_code.push(codes.len() as u32);
                if let Some(CategoryRule::Listed(values)) = rule(model, set.feature) {
                    listed.extend(values.iter().map(|&value| or_nan(value, number)));
                }
                first_listed.push(listed.len() as u32);
            }
            self.integers.insert("set_feature", bins.sets.keys().map(|set| set.feature).collect());
            self.integers.insert("set_flags", bins.sets.keys().map(|set| set.flags).collect());
            self.integers.insert("first_code", first_code);
            self.integers.insert("code", or_zero(codes));
            self.integers.insert("first_listed", first_listed);
            self.floats.insert("listed", or_zero(listed));
        }
        if !bins.equals.is_empty() {
            self.part("equals", true);
            self.counts.insert("equals", bins.equals.len());
            let values = bins.equals.keys().map(|equal| or_nan(f64::from_bits(equal.bits), number)).collect();
            self.integers.insert("equal_feature", bins.equals.keys().map(|equal| equal.feature).collect());
            self.integers.insert("equal_sides", bins.equals.keys().map(|equal| equal.missing_left).collect());
            self.floats.insert("equal_value", values);
        }
    }

    fn trees(
        &mut self,
        model: &Ensemble,
        bins: &Bins,
        quantised: Option<&Quantisation>,
    ) -> Result<(), EmitError> {
        let (trees, groups) = (model.trees(), model.group_count());
        if trees.is_empty() {
            return Ok(());
        }
        let every = groups > 1 && trees.iter().any(|tree| tree.output() == Output::All);
        self.part("trees", true);
        self.part("every", every);
        self.part("each", groups > 1 && !every);
        self.counts.insert("trees", trees.len());
        let mut out = Trees { number: model.accumulation().number, groups, every, ..Trees::default() };
        for (index, tree) in trees.iter().enumerate() {
            let before = out.bin.len();
            out.tree(tree, bins, quantised.map(|quantised| quantised.leaves[index].as_slice()));
            out.inner.push((out.bin.len() - before) as u32);
        }
        if out.leaf.len().max(out.whole.len()) >= 1 << 31 {
            return Err(EmitError::TooLarge("2^31 leaves and more"));
        }
        if self.parts.contains("each") {
            let output = |tree: &Tree| match tree.output() {
                Output::Group(group) => group.0,
                Output::All => 0,
            };
            self.integers.insert("tree_output", trees.iter().map(output).collect());
        }
        self.part("splits", !out.bin.is_empty());
        self.integers.insert("inner", out.inner);
        self.integers.insert("node_bin", out.bin);
        self.integers.insert("node_rank", out.rank);
        self.integers.insert("node_left", out.left);
        if let Some(quantised) = quantised {
            self.integers.insert("factor", quantised.factors.clone());
            self.integers.insert("leaf", out.whole);
            return Ok(());
        }
        // If many leaves are equal, as in forests, a list of the different ones and their indices
        // takes less memory.
        let distinct: BTreeSet<u64> = out.leaf.iter().map(|leaf| leaf.to_bits()).collect();
        let distinct: Vec<u64> = distinct.into_iter().collect();
        let size = if model.accumulation().number == NumberType::F64 { 8 } else { 4 };
        let index = match distinct.len() {
            0..=0x100 => 1,
            0x101..=0x1_0000 => 2,
            _ => 4,
        };
        if distinct.len() * size + out.leaf.len() * index < out.leaf.len() * size {
            self.part("listed", true);
            let place = |leaf: &f64| distinct.binary_search(&leaf.to_bits()).unwrap_or_default() as u32;
            self.integers.insert("leaf_index", out.leaf.iter().map(place).collect());
            self.floats.insert("leaf", distinct.into_iter().map(f64::from_bits).collect());
        } else {
            self.floats.insert("leaf", out.leaf);
        }
        Ok(())
    }
}

/// The places of a tree's nodes and leaves, in preorder. The root has place 1, and the children of
/// place i have places 2i and 2i + 1, as long as the tree has no more levels than the text has code
/// for.
struct Shape {
    levels: usize,
    /// The place of each inner node, and its index among all inner nodes of the model.
    inner: Vec<(usize, usize)>,
    /// The place of each leaf, the number of levels above it, and its index among all leaves of the
    /// model.
    leaves: Vec<(usize, usize, usize)>,
}

impl Shape {
    /// Made from the number of inner nodes on the left of each node; the tree's first node and
    /// first leaf have these indices.
    fn new(lefts: &[u32], first_node: usize, first_leaf: usize) -> Self {
        let mut shape = Self { levels: 0, inner: Vec::new(), leaves: Vec::new() };
        let mut open = vec![(1usize, 0, 0, lefts.len(), 0)];
        while let Some((place, depth, node, inner, leaf)) = open.pop() {
            shape.levels = shape.levels.max(depth);
            if inner == 0 {
                shape.leaves.push((place, depth, first_leaf + leaf));
                continue;
            }
            shape.inner.push((place, first_node + node));
            let left = lefts[node] as usize;
            // Deeper places are never used.
            let below = if depth < MOST_LEVELS { 2 * place } else { 0 };
            open.push((below + 1, depth + 1, node + 1 + left, inner - 1 - left, leaf + left + 1));
            open.push((below, depth + 1, node + 1, left, leaf));
        }
        shape
    }
}

/// Work that remains while words are written.
enum Open {
    /// Write a subtree: the number of levels above it, the index of its first node, the number of
    /// its inner nodes, and the index of its first leaf.
    Subtree(usize, usize, usize, usize),
    /// The left side of the node at this word is complete.
    LeftDone(usize),
}

/// The word of a filler node, which every row passes to the left. `leaf`: its left child is a leaf,
/// not another filler.
fn above_leaf(leaf: bool) -> u32 {
    NEVER_RIGHT << 24 | u32::from(leaf) << 9
}

/// The number of first levels that shall have no leaves, so that the walk need not test there
/// whether it has reached one. A leaf in these levels costs one filler word for each level that it
/// is too high.
fn sure_levels(trees: &[Shape]) -> usize {
    let depths = || trees.iter().flat_map(|tree| tree.leaves.iter().map(|&(_, depth, _)| depth));
    let words: usize = trees.iter().map(|tree| tree.inner.len() + tree.leaves.len()).sum();
    let above = |sure: usize| depths().map(|depth| sure.saturating_sub(depth)).sum::<usize>();
    (2..=MOST_SURE).rev().find(|&sure| above(sure) * WORDS_FOR_ONE_ABOVE <= words).unwrap_or(1)
}

/// The tables of all trees, in preorder.
struct Trees {
    number: NumberType,
    groups: usize,
    every: bool,
    inner: Vec<u32>,
    bin: Vec<u32>,
    rank: Vec<u32>,
    left: Vec<u32>,
    leaf: Vec<f64>,
    /// The leaves, if they are quantised.
    whole: Vec<u32>,
}

impl Default for Trees {
    fn default() -> Self {
        Self {
            number: NumberType::F64,
            groups: 1,
            every: false,
            inner: Vec::new(),
            bin: Vec::new(),
            rank: Vec::new(),
            left: Vec::new(),
            leaf: Vec::new(),
            whole: Vec::new(),
        }
    }
}

impl Trees {
    fn tree(&mut self, tree: &Tree, bins: &Bins, whole: Option<&[u32]>) {
        enum Visit {
            Node(NodeId),
            /// The left side of this inner node is complete.
            LeftDone(usize),
        }
        let mut open = vec![Visit::Node(NodeId(0))];
        while let Some(visit) = open.pop() {
            match visit {
                Visit::LeftDone(place) => self.left[place] = (self.bin.len() - place - 1) as u32,
                Visit::Node(node) => match tree.node(node) {
                    Node::Split { split, left, right } => {
                        let (bin, rank) = bins.of(split);
                        let place = self.bin.len();
                        self.bin.push(bin);
                        self.rank.push(rank);
                        self.left.push(0);
                        open.extend([Visit::Node(right), Visit::LeftDone(place), Visit::Node(left)]);
                    }
                    Node::Leaf(leaf) => match whole {
                        Some(numbers) => {
                            let width = tree.leaf(leaf).len();
                            self.push_whole(tree, &numbers[leaf.index() * width..][..width]);
                        }
                        None => self.push_leaf(tree, tree.leaf(leaf)),
                    },
                    Node::Unused => unreachable!("the builder lets no path reach an unused slot"),
                },
            }
        }
    }

    /// Adds the numbers of a leaf, and zero for scores that its tree does not add to.
    fn push_whole(&mut self, tree: &Tree, numbers: &[u32]) {
        match tree.output() {
            Output::Group(group) if self.every => {
                let number = |at| if at == group.index() { numbers[0] } else { 0 };
                self.whole.extend((0..self.groups).map(number));
            }
            _ => self.whole.extend(numbers),
        }
    }

    /// Adds the values of a leaf, multiplied by the tree's weight and rounded as the library does.
    fn push_leaf(&mut self, tree: &Tree, values: &[f64]) {
        let rounded = |value: f64| self.number.round(tree.weight() * value);
        match tree.output() {
            Output::Group(group) if self.every => {
                // Adding minus zero changes no number, not even the sign of a zero.
                let value = |at| if at == group.index() { rounded(values[0]) } else { -0.0 };
                self.leaf.extend((0..self.groups).map(value));
            }
            _ => self.leaf.extend(values.iter().map(|&value| rounded(value))),
        }
    }
}

/// A bin of a column with comparisons: the column, where missing values and zeros go, and the index
/// of its first threshold.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Bin {
    feature: u32,
    sides: u32,
    start: u32,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Set {
    feature: u32,
    flags: u32,
    codes: Vec<u32>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Equal {
    feature: u32,
    missing_left: u32,
    bits: u64,
}

/// The bins of a row. Each map gives the index of a bin.
struct Bins {
    input: NumberType,
    thresholds: BTreeMap<u32, Vec<f64>>,
    numbers: BTreeMap<Bin, u32>,
    sets: BTreeMap<Set, u32>,
    equals: BTreeMap<Equal, u32>,
    /// For each categorical column: how numbers become codes, and whether a number without a code
    /// is missing.
    rules: BTreeMap<u32, u32>,
}

impl Bins {
    fn new(model: &Ensemble) -> Result<Self, EmitError> {
        let mut bins = Self {
            input: model.intake().number,
            thresholds: BTreeMap::new(),
            numbers: BTreeMap::new(),
            sets: BTreeMap::new(),
            equals: BTreeMap::new(),
            rules: BTreeMap::new(),
        };
        let splits = || model.trees().iter().flat_map(|tree| tree.splits());
        for split in splits() {
            if let Some(most) = at_most(split.test, bins.input) {
                bins.thresholds.entry(split.feature.0).or_default().push(most);
            } else if let Test::Member { .. } = split.test {
                let Some(categories) = model.features().categories(split.feature) else { continue };
                let rule = match categories.rule {
                    CategoryRule::TruncateNonNegative => 0,
                    CategoryRule::Truncate => 1,
                    CategoryRule::Whole | CategoryRule::Hashed => 2,
                    CategoryRule::Listed(_) => 3,
                    CategoryRule::Joined { .. } => return Err(EmitError::Joined),
                };
                bins.rules.insert(split.feature.0, rule << 3 | u32::from(categories.unseen_is_missing) << 2);
            }
        }
        for column in bins.thresholds.values_mut() {
            column.sort_by(order);
            column.dedup_by(|a, b| order(a, b).is_eq());
        }
        for split in splits() {
            match split.test {
                Test::Member { set, members_left } => {
                    bins.sets.insert(bins.set(split, set, members_left), 0);
                }
                Test::Equal { value } => {
                    bins.equals.insert(equal(split, value), 0);
                }
                _ => {
                    bins.numbers.insert(bins.number(split).0, 0);
                }
            }
        }
        let all = bins.numbers.values_mut().chain(bins.sets.values_mut()).chain(bins.equals.values_mut());
        for (count, number) in all.enumerate() {
            *number = u32::try_from(count).map_err(|_| EmitError::TooLarge("2^32 bins and more"))?;
        }
        Ok(bins)
    }

    /// The bin of a comparison, and the rank up to which the comparison goes left.
    fn number(&self, split: Split<'_>) -> (Bin, u32) {
        let zero = match split.test {
            Test::LessOrEqualButZero { zero_left, .. } => 2 | u32::from(zero_left) << 2,
            _ => 0,
        };
        let most = at_most(split.test, self.input).unwrap_or(f64::NAN);
        let place = self.thresholds[&split.feature.0].binary_search_by(|known| order(known, &most));
        let place = place.unwrap_or_else(|place| place);
        let start = place / CHUNK * CHUNK;
        let bin = Bin {
            feature: split.feature.0,
            sides: u32::from(split.missing_left) | zero,
            start: start as u32,
        };
        (bin, (place - start) as u32)
    }

    fn set(&self, split: Split<'_>, set: &[u32], members_left: bool) -> Set {
        let rule = self.rules.get(&split.feature.0).copied().unwrap_or_default();
        let flags = rule | u32::from(split.missing_left) | u32::from(members_left) << 1;
        Set { feature: split.feature.0, flags, codes: set.to_vec() }
    }

    /// The index of a test's bin, and the rank up to which the test goes left.
    fn of(&self, split: Split<'_>) -> (u32, u32) {
        match split.test {
            Test::Member { set, members_left } => (self.sets[&self.set(split, set, members_left)], 0),
            Test::Equal { value } => (self.equals[&equal(split, value)], 0),
            _ => {
                let (bin, rank) = self.number(split);
                (self.numbers[&bin], rank)
            }
        }
    }
}

fn equal(split: Split<'_>, value: f64) -> Equal {
    // Zeros of both signs are equal to the same numbers.
    let value = if value == 0.0 { 0.0 } else { value };
    Equal { feature: split.feature.0, missing_left: u32::from(split.missing_left), bits: value.to_bits() }
}

fn rule(model: &Ensemble, feature: u32) -> Option<&CategoryRule> {
    model.features().categories(secateur_model::FeatureId(feature)).map(|categories| &categories.rule)
}

/// The u with which `x <= u` replaces a comparison, for x of the inputs' type; NaN if nothing goes
/// left.
fn at_most(test: Test<'_>, number: NumberType) -> Option<f64> {
    match test {
        Test::LessOrEqual { threshold } | Test::LessOrEqualButZero { threshold, .. } => {
            Some(number.floor(threshold))
        }
        Test::Less { threshold: f64::NEG_INFINITY } => Some(f64::NAN),
        Test::Less { threshold } => {
            let floor = number.floor(threshold);
            Some(if floor < threshold { floor } else { number.next_down(floor) })
        }
        Test::Equal { .. } | Test::Member { .. } => None,
    }
}

/// NaN, which equals nothing, if no input can have this value.
fn or_nan(value: f64, number: NumberType) -> f64 {
    if number.round(value) == value { value } else { f64::NAN }
}

/// The number of bits that the largest of these numbers needs, at least one.
fn width(numbers: &[u32]) -> usize {
    (u32::BITS - numbers.iter().copied().max().unwrap_or_default().leading_zeros()).max(1) as usize
}

/// Packs numbers with the given widths in bits into words, without gaps and from the lowest bit of
/// each word on. A word of zeros follows.
fn words(numbers: impl Iterator<Item = (u32, usize)>) -> Result<Vec<u32>, EmitError> {
    let (mut words, mut used) = (vec![0u32], 0);
    for (number, width) in numbers {
        let rest = 32 - used;
        if rest == 0 {
            words.push(number);
            used = width;
            continue;
        }
        let last = words.len() - 1;
        words[last] |= number << used;
        used += width;
        if used > 32 {
            words.push(number >> rest);
            used -= 32;
        }
    }
    words.push(0);
    // The text counts these bits with 32-bit numbers.
    if words.len() > 1 << 27 { Err(EmitError::TooLarge("2^32 bits of nodes and more")) } else { Ok(words) }
}

/// The values at these places; each place has `each` of them.
fn at_places<T: Copy>(values: &[T], places: &[usize], each: usize) -> Vec<T> {
    places.iter().flat_map(|place| &values[place * each..][..each]).copied().collect()
}

/// Adds a zero to an empty table, which C does not have.
fn or_zero<T: Default>(mut table: Vec<T>) -> Vec<T> {
    if table.is_empty() {
        table.push(T::default());
    }
    table
}

/// Compares by value, NaN first. Zeros of both signs are one threshold.
fn order(a: &f64, b: &f64) -> std::cmp::Ordering {
    match (a.is_nan(), b.is_nan()) {
        (true, true) => std::cmp::Ordering::Equal,
        (true, false) => std::cmp::Ordering::Less,
        (false, true) => std::cmp::Ordering::Greater,
        (false, false) => a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal),
    }
}
