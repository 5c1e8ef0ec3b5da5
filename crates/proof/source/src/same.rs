//! Does an emitted file compute what a model does? Works out from the tables which questions the
//! program asks, and compares these with the model's.

use std::collections::BTreeSet;

use secateur_certificate::Digest;
use secateur_formats::Link;
use secateur_model::{
    CategoryRule, Decision, Ensemble, InterceptPosition, LeafId, Node, NodeId, NumberType, Output, Softmax,
    Split, Test, Tree,
};

use super::read::{SourceFile, Table, float, integer, key};
use super::text::{Language, PROBABILITIES};
use super::unpack::{Unpacked, unpacked};
use crate::Difference;

/// Compares an emitted file with the model that it should be. `link` is how scores become
/// probabilities, if the file has these.
pub fn same_source(original: &Ensemble, link: Link, file: &SourceFile) -> Result<(), Difference> {
    let read = Read::new(original, file)?;
    read.parts(false)?;
    read.probabilities(link)?;
    read.columns()?;
    read.sums()?;
    read.trees(&mut |tree, leaf, place| read.same_leaf(&original.trees()[tree], leaf, place))
}

impl SourceFile {
    /// The digest of the model that the file names as its source.
    pub fn source(&self) -> Digest {
        self.source
    }

    /// Are the leaves small whole numbers ([`super::quantised`]) instead of the model's own?
    pub fn is_quantised(&self) -> bool {
        self.head.has("quantised")
    }
}

pub(super) fn same(same: bool, what: &'static str) -> Result<(), Difference> {
    if same { Ok(()) } else { Err(Difference::Part(what)) }
}

/// Where the next tree starts.
struct Place {
    node: usize,
    leaf: usize,
}

/// Called for every leaf with the tree, the leaf of the model, and the place among the file's
/// leaves.
pub(super) type AtLeaf<'a> = &'a mut dyn FnMut(usize, LeafId, usize) -> Result<bool, Difference>;

pub(super) struct Read<'a> {
    model: &'a Ensemble,
    file: &'a SourceFile,
    unpacked: Unpacked,
    input: NumberType,
    number: NumberType,
    number_bins: usize,
    sets: usize,
    equals: usize,
}

impl<'a> Read<'a> {
    pub(super) fn new(model: &'a Ensemble, file: &'a SourceFile) -> Result<Self, Difference> {
        let mut read = Self {
            model,
            file,
            unpacked: unpacked(file)?,
            input: model.intake().number,
            number: model.accumulation().number,
            number_bins: 0,
            sets: 0,
            equals: 0,
        };
        read.number_bins = read.count("number_bins")?;
        read.sets = if read.has("sets") { read.count("sets")? } else { 0 };
        read.equals = if read.has("equals") { read.count("equals")? } else { 0 };
        same(read.count("features")? == model.features().len(), "the columns")?;
        same(read.count("outputs")? == model.group_count(), "the number of scores")?;
        Ok(read)
    }

    pub(super) fn has(&self, part: &str) -> bool {
        self.file.head.has(part)
    }

    pub(super) fn token(&self, name: &str) -> Result<&'a str, Difference> {
        self.file.numbers.get(name).map(String::as_str).ok_or(Difference::Part("the numbers of the program"))
    }

    pub(super) fn count(&self, name: &str) -> Result<usize, Difference> {
        let count = integer(self.token(name)?).ok_or(Difference::Part("the numbers of the program"))?;
        Ok(count as usize)
    }

    /// A number in the text, whose spelling determines its type.
    fn number(&self, name: &str) -> Result<f64, Difference> {
        let token = self.token(name)?;
        let value = self.float(token, NumberType::F64).or_else(|| self.float(token, NumberType::F32));
        value.ok_or(Difference::Part("the numbers of the program"))
    }

    pub(super) fn float(&self, token: &str, number: NumberType) -> Option<f64> {
        float(self.file.head.language, token, number)
    }

    pub(super) fn integers(&self, name: &str) -> Result<&[u32], Difference> {
        match (self.unpacked.integers.get(name), self.file.tables.get(name)) {
            (Some(table), _) | (None, Some(Table::Integers(table))) => Ok(table),
            _ => Err(Difference::Part("the tables")),
        }
    }

    pub(super) fn signed(&self, name: &str) -> Result<&'a [i32], Difference> {
        match self.file.tables.get(name) {
            Some(Table::Signed(table)) => Ok(table),
            _ => Err(Difference::Part("the tables")),
        }
    }

    fn floats(&self, name: &str) -> Result<&[f64], Difference> {
        match (self.unpacked.floats.get(name), self.file.tables.get(name)) {
            (Some(table), _) | (None, Some(Table::Floats(table))) => Ok(table),
            _ => Err(Difference::Part("the tables")),
        }
    }

    /// Checks that the file has exactly the parts that the model needs. With quantised leaves the
    /// text adds whole numbers. Average and threshold are then contained in their unit, and of
    /// several sums the largest decides.
    pub(super) fn parts(&self, quantised: bool) -> Result<(), Difference> {
        let model = self.model;
        let (accumulation, trees) = (model.accumulation(), model.trees());
        same(model.scale().is_none(), "what the sums are multiplied by")?;
        let mut parts: BTreeSet<&str> = BTreeSet::new();
        parts.insert(if self.input == NumberType::F64 { "f64_input" } else { "f32_input" });
        parts.insert(match self.number {
            _ if quantised => "quantised",
            NumberType::F64 => "f64_sums",
            NumberType::F32 => "f32_sums",
        });
        let mut expect = |part: &'static str, there: bool| {
            if there {
                parts.insert(part);
            }
        };
        let average = accumulation.average.filter(|_| !quantised);
        expect("last", !quantised && accumulation.intercept == InterceptPosition::Last);
        expect("average_raw", average.is_some_and(|average| average.in_raw_scores));
        let classes = model.decision().is_classifier();
        expect("average_class", classes && average.is_some_and(|average| !average.in_raw_scores));
        expect("window", model.intake().zero_window.is_some());
        expect("class", classes);
        expect("trees", !trees.is_empty());
        expect("single", model.group_count() == 1);
        match *model.decision() {
            Decision::Threshold { strict, .. } => {
                expect("threshold", true);
                expect("strict", strict && !quantised);
            }
            Decision::Scores(_) => {}
            _ if quantised => expect("argmax", true),
            Decision::Argmax => expect("argmax", true),
            Decision::ArgmaxSoftmax(Softmax::XgBoost) => expect("softmax32", true),
            Decision::ArgmaxSoftmax(Softmax::LightGbm) => expect("softmax64", true),
            Decision::ArgmaxSigmoid { .. } => expect("sigmoid", true),
        }
        // The layout of the tables is the writer's choice; their content is compared below.
        let layout = [
            "header", "double", "math", "numbers", "keys", "steps", "zeros", "chunks", "sets", "equals",
            "splits", "tests", "full", "words", "small", "each", "every", "listed",
        ];
        let chosen = |part: &&str| !layout.contains(part) && !PROBABILITIES.contains(part);
        let said: BTreeSet<&str> = self.file.head.parts.iter().copied().filter(chosen).collect();
        same(said == parts, "the parts of the program")?;
        // In a model with several scores each tree adds to one of them, or each adds to all.
        let several = model.group_count() > 1 && !trees.is_empty();
        same(self.has("each") != self.has("every") || !several, "the parts of the program")?;
        same(several || !self.has("each") && !self.has("every"), "the parts of the program")?;
        same(self.has("trees") || !self.has("splits") && !self.has("listed"), "the parts of the program")?;
        same(self.has("numbers") || !self.has("zeros") && !self.has("chunks"), "the parts of the program")?;
        let is_text = self.file.head.language != Language::Wasm;
        same(self.has("numbers") && is_text || !self.has("keys"), "the parts of the program")?;
        let laid_out = ["tests", "words", "small"].into_iter().filter(|part| self.has(part)).count();
        same(laid_out == 0 || laid_out == 1 && is_text && self.has("splits"), "the parts of the program")?;
        same(self.has("tests") || !self.has("full"), "the parts of the program")?;
        // Part `steps` is a way to search among keys, and writes ranks in the form that these
        // layouts read.
        let ranked = self.has("keys") && (self.has("full") || self.has("words"));
        same(ranked || !self.has("steps"), "the parts of the program")?;
        // A word can only hold a leaf of 32 bits, and the words are compared with ranks that part
        // `steps` writes.
        let one_number = self.has("f32_sums") && !self.has("listed") && !self.has("every");
        same(self.has("steps") && one_number || !self.has("words"), "the parts of the program")?;
        same(!quantised || !self.has("listed"), "the parts of the program")?;
        self.doubles()
    }

    /// Are the probabilities those that the model's library computes from the scores, apart from
    /// the bits of its exponential function?
    pub(super) fn probabilities(&self, link: Link) -> Result<(), Difference> {
        let what = "the probabilities";
        let said: Vec<&str> = PROBABILITIES.into_iter().filter(|part| self.has(part)).collect();
        if said.is_empty() {
            return Ok(());
        }
        let (classes, groups) = (self.model.classes().len(), self.model.group_count());
        let number = |name: &str| Ok(self.float(self.token(name)?, NumberType::F64));
        let (rule, classes_fit): (&[&str], bool) = match link {
            Link::Logistic32 => (&["p_logistic32"], groups == 1 && classes == 2),
            Link::Logistic64 { .. } => (&["p_logistic64"], groups == 1 && classes == 2),
            Link::Softmax32 => (&["p_softmax32"], classes == groups),
            Link::Softmax64 => (&["p_softmax64"], classes == groups),
            Link::DividedSoftmax64 { .. } => (&["p_softmax64", "p_divided"], classes == groups.max(2)),
            Link::Each { .. } => (&["p_each"], classes == groups),
            Link::Identity => (&["p_identity"], classes == groups),
            _ => (&[], false),
        };
        same(said[0] == "probabilities" && said[1..] == *rule && !rule.is_empty(), what)?;
        same(self.file.head.language != Language::Wasm && classes_fit, what)?;
        same(self.model.decision().is_classifier() && self.count("classes")? == classes, what)?;
        match link {
            Link::Logistic64 { scale } | Link::Each { scale } => {
                same(scale > 0.0 && number("link_scale")? == Some(scale), what)
            }
            Link::DividedSoftmax64 { divisor } => {
                same(divisor > 0.0 && number("link_divisor")? == Some(divisor), what)
            }
            _ => Ok(()),
        }
    }

    /// If the text computes with doubles, it asks the compiler for IEEE doubles.
    fn doubles(&self) -> Result<(), Difference> {
        if self.file.head.language != Language::C {
            // Types of the other languages are those of IEEE everywhere.
            return Ok(());
        }
        let cut = self.has("threshold") && !self.has("quantised") && !self.token("threshold")?.ends_with('f');
        let parts =
            ["f64_input", "f64_sums", "average_raw", "average_class", "softmax32", "softmax64", "sigmoid"];
        // Only one rule of probabilities needs no doubles.
        let probable = self.has("probabilities") && (self.has("quantised") || !self.has("p_logistic32"));
        let used = cut || probable || parts.into_iter().any(|part| self.has(part));
        same(self.has("double") || !used, "the types that the compiler is asked for")?;
        let finite = self.file.tables.values().all(|table| match table {
            Table::Integers(_) | Table::Signed(_) => true,
            Table::Floats(values) => values.iter().all(|value| value.is_finite()),
        });
        let exponentials = ["softmax32", "softmax64", "sigmoid"].into_iter().any(|part| self.has(part))
            || self.has("probabilities") && !self.has("p_identity");
        same(self.has("math") || finite && !exponentials, "the functions that the compiler is asked for")
    }

    /// Thresholds are in order, and every index in these tables is within the table that it points
    /// into.
    pub(super) fn columns(&self) -> Result<(), Difference> {
        let what = "the tables of columns";
        let features = self.model.features().len();
        let within = |table: &[u32], count: usize| {
            table.len() == count && table.iter().all(|&feature| (feature as usize) < features)
        };
        if self.has("numbers") {
            let used = self.count("used")?;
            same(used > 0 && within(self.integers("used_feature")?, used), what)?;
            let thresholds = self.floats("threshold")?;
            same(is_partition(self.integers("first_threshold")?, used, thresholds.len()), what)?;
            same(is_partition(self.integers("first_bin")?, used, self.number_bins), what)?;
            same(self.integers("bin_sides")?.len() == self.number_bins, what)?;
            same(!self.has("chunks") || self.integers("bin_start")?.len() == self.number_bins, what)?;
            if self.has("steps") {
                self.steps()?;
            }
            for pair in self.integers("first_threshold")?.windows(2) {
                let column = &thresholds[pair[0] as usize..pair[1] as usize];
                // No number is above a NaN, so a NaN may stand before all others.
                let ordered =
                    column.windows(2).all(|pair| pair[0].is_nan() && !pair[1].is_nan() || pair[0] < pair[1]);
                same(ordered && (self.has("chunks") || column.len() <= 255), "the thresholds")?;
            }
            let sides = if self.has("zeros") { 7 } else { 1 };
            same(self.integers("bin_sides")?.iter().all(|&side| side <= sides), what)?;
        } else {
            same(self.number_bins == 0, what)?;
        }
        if self.has("sets") {
            let sets = self.sets;
            same(sets > 0 && within(self.integers("set_feature")?, sets), what)?;
            same(self.integers("set_flags")?.len() == sets, what)?;
            let (codes, listed) = (self.integers("code")?, self.floats("listed")?);
            same(is_padded_partition(self.integers("first_code")?, sets, codes), what)?;
            same(is_padded_partition(self.integers("first_listed")?, sets, listed), what)?;
        }
        if self.has("equals") {
            same(self.equals > 0 && within(self.integers("equal_feature")?, self.equals), what)?;
            same(self.integers("equal_sides")?.len() == self.equals, what)?;
            same(self.floats("equal_value")?.len() == self.equals, what)?;
        }
        let bins = self.number_bins + self.sets + self.equals;
        same(self.count("bins")? == bins.max(1), what)
    }

    /// The search by steps begins at the largest power of two that is at most the number of a
    /// column's thresholds, so there has to be at least one threshold. It also writes at least one
    /// bin, which has the column's own number if there are as many bins as columns.
    fn steps(&self) -> Result<(), Difference> {
        let (first, bins) = (self.integers("first_threshold")?, self.integers("first_bin")?);
        let counts: Vec<u32> = first.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let steps = self.integers("step")?;
        let halved = |count: u32| count.checked_ilog2();
        let fit = steps.len() == counts.len()
            && steps.iter().zip(&counts).all(|(&step, &count)| halved(count) == Some(step))
            && bins.windows(2).all(|pair| pair[0] < pair[1]);
        same(fit, "the tables of columns")
    }

    /// Intercepts, average, window, and the numbers of the decision.
    fn sums(&self) -> Result<(), Difference> {
        let model = self.model;
        let intercepts = self.floats("intercept")?;
        same(same_bits(intercepts, model.intercepts()), "the intercepts")?;
        if let Some(average) = model.accumulation().average
            && (self.has("average_raw") || self.has("average_class"))
        {
            let divisor = self.float(self.token("divisor")?, NumberType::F64);
            same(divisor.map(f64::to_bits) == Some(average.divisor.to_bits()), "the divisor of the scores")?;
        }
        self.window()?;
        match *model.decision() {
            Decision::Threshold { group, threshold, .. } => {
                same(self.count("group")? == group.index(), "the decision rules")?;
                same(self.number("threshold")?.to_bits() == threshold.to_bits(), "the decision rules")
            }
            Decision::ArgmaxSigmoid { scale } => {
                let found = self.float(self.token("scale")?, NumberType::F64);
                same(scale > 0.0 && found == Some(scale), "the decision rules")
            }
            _ => Ok(()),
        }
    }

    /// Which inputs count as zero.
    pub(super) fn window(&self) -> Result<(), Difference> {
        let Some(window) = self.model.intake().zero_window else { return Ok(()) };
        // The program compares in the type of inputs, so the largest number of that type within the
        // window has the same effect.
        let found = self.float(self.token("window")?, self.input);
        let floor = self.input.floor(window);
        let mut fits = window >= 0.0 && found.map(f64::to_bits) == Some(floor.to_bits());
        if self.has("keys") {
            let key = |name| Ok(key(self.file.head.language, self.token(name)?, self.input));
            fits = fits && key("window_low")? == Some(-floor) && key("window_high")? == Some(floor);
        }
        same(fits, "the window of zero")
    }

    fn nodes(&self) -> usize {
        if self.has("splits") { self.integers("node_bin").map_or(0, <[u32]>::len) } else { 0 }
    }

    /// The number of leaves that the tables have room for.
    fn leaf_places(&self) -> Result<usize, Difference> {
        if !self.has("trees") {
            return Ok(0);
        }
        let values = match (self.has("quantised"), self.has("listed")) {
            (true, _) => self.integers("leaf")?.len(),
            (false, true) => self.integers("leaf_index")?.len(),
            (false, false) => self.floats("leaf")?.len(),
        };
        let width = if self.has("every") { self.model.group_count() } else { 1 };
        same(values.is_multiple_of(width), "the number of leaves")?;
        Ok(values / width)
    }

    /// Walks all trees: every question has to be the model's, and `leaf` has to accept every leaf.
    pub(super) fn trees(&self, leaf: AtLeaf<'_>) -> Result<(), Difference> {
        let mut at = Place { node: 0, leaf: 0 };
        for (index, tree) in self.model.trees().iter().enumerate() {
            self.tree(index, tree, &mut at, leaf)?;
        }
        // No entry is left over, so every number of the tables was compared.
        if self.has("splits") {
            let as_many = |name| self.integers(name).map(|table| table.len() == at.node);
            same(as_many("node_rank")? && as_many("node_left")?, "the number of nodes")?;
        }
        same(at.node == self.nodes() && self.leaf_places()? == at.leaf, "the number of nodes")
    }

    fn tree(
        &self,
        index: usize,
        tree: &Tree,
        at: &mut Place,
        same_leaf: AtLeaf<'_>,
    ) -> Result<(), Difference> {
        let trees = self.model.trees().len();
        let inner = self.integers("inner")?;
        same(inner.len() == trees && self.count("trees")? == trees, "the number of trees")?;
        let inner = inner[index] as usize;
        if self.has("each") {
            let outputs = self.integers("tree_output")?;
            same(outputs.len() == trees, "the number of trees")?;
            let same_output =
                matches!(tree.output(), Output::Group(group) if group.index() == outputs[index] as usize);
            if !same_output {
                return Err(Difference::Tree { tree: index, what: "output" });
            }
        }
        let (nodes, leaves) = (self.nodes(), self.leaf_places()?);
        let differ = |node, what| Err(Difference::Node { tree: index, node, what });
        if inner > nodes - at.node || inner + 1 > leaves - at.leaf {
            return differ(NodeId(0), "shape");
        }
        // Pairs of a subtree in the file (first node, inner nodes, first leaf) and a node of the
        // model.
        let mut open = vec![(at.node, inner, at.leaf, NodeId(0))];
        while let Some((node, inner, leaf, theirs)) = open.pop() {
            match (inner, tree.node(theirs)) {
                (0, Node::Leaf(id)) => {
                    if !same_leaf(index, id, leaf)? {
                        return differ(theirs, "leaf");
                    }
                }
                (1.., Node::Split { split, left, right }) => {
                    let inner_left = self.table_at("node_left", node)? as usize;
                    if inner_left >= inner {
                        return differ(theirs, "shape");
                    }
                    // The program does not count nodes: it ends its walk where this number says so.
                    if self.has("tests")
                        && !self.has("full")
                        && (self.table_at("node_end", node)? == 1) != (inner_left + 1 == inner)
                    {
                        return differ(theirs, "shape");
                    }
                    let (bin, rank) = (self.table_at("node_bin", node)?, self.table_at("node_rank", node)?);
                    if !self.same_question(split, bin as usize, rank as usize)? {
                        return differ(theirs, "question");
                    }
                    open.push((node + 1, inner_left, leaf, left));
                    open.push((node + 1 + inner_left, inner - 1 - inner_left, leaf + inner_left + 1, right));
                }
                _ => return differ(theirs, "shape"),
            }
        }
        at.node += inner;
        at.leaf += inner + 1;
        Ok(())
    }

    pub(super) fn table_at(&self, name: &str, at: usize) -> Result<u32, Difference> {
        self.integers(name)?.get(at).copied().ok_or(Difference::Part("the tables of nodes"))
    }

    /// Does a leaf add the same numbers? The file holds the leaf after it was multiplied by the
    /// tree's weight and rounded, as the library does.
    fn same_leaf(&self, tree: &Tree, theirs: LeafId, leaf: usize) -> Result<bool, Difference> {
        let theirs = tree.leaf(theirs);
        let rounded = |value: f64| self.number.round(tree.weight() * value).to_bits();
        let values = self.floats("leaf")?;
        let value = |place: usize| {
            let place = if self.has("listed") { self.table_at("leaf_index", place)? as usize } else { place };
            let value = values.get(place).ok_or(Difference::Part("the tables of leaves"))?;
            Ok(value.to_bits())
        };
        if !self.has("every") {
            return Ok(theirs.len() == 1 && value(leaf)? == rounded(theirs[0]));
        }
        let width = self.model.group_count();
        for output in 0..width {
            let found = value(leaf * width + output)?;
            let expected = match tree.output() {
                Output::All => rounded(theirs[output]),
                Output::Group(group) if group.index() == output => rounded(theirs[0]),
                // Adding minus zero changes no number, not even a zero's sign.
                Output::Group(_) => (-0.0f64).to_bits(),
            };
            if found != expected {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Do the same values go left in both?
    fn same_question(&self, split: Split<'_>, bin: usize, rank: usize) -> Result<bool, Difference> {
        if bin < self.number_bins {
            return self.same_comparison(split, bin, rank);
        }
        // All other bins are 0 for left and 1 for right.
        if rank != 0 {
            return Ok(false);
        }
        let set = bin - self.number_bins;
        if set < self.sets {
            return self.same_set(split, set);
        }
        let equal = set - self.sets;
        if equal >= self.equals {
            return Ok(false);
        }
        let Test::Equal { value } = split.test else { return Ok(false) };
        let found = self.floats("equal_value")?[equal];
        // A number that no input can be is written as NaN, which equals nothing.
        let same_value = if self.input.round(value) == value { found == value } else { found.is_nan() };
        let sides = self.integers("equal_sides")?[equal];
        let feature = self.integers("equal_feature")?[equal] as usize;
        Ok(same_value && sides == u32::from(split.missing_left) && feature == split.feature.index())
    }

    fn same_comparison(&self, split: Split<'_>, bin: usize, rank: usize) -> Result<bool, Difference> {
        let firsts = self.integers("first_bin")?;
        let used = firsts.partition_point(|&first| first as usize <= bin) - 1;
        let thresholds = self.integers("first_threshold")?;
        let (first, end) = (thresholds[used] as usize, thresholds[used + 1] as usize);
        let start = if self.has("chunks") { self.integers("bin_start")?[bin] as usize } else { 0 };
        // A bin counts up to 255 thresholds from its start on.
        if rank >= 255 || start + rank >= end - first {
            return Ok(false);
        }
        let most = self.floats("threshold")?[first + start + rank];
        let sides = self.integers("bin_sides")?[bin];
        let feature = self.integers("used_feature")?[used] as usize;
        let zero = match sides >> 1 {
            0 => None,
            1 => Some(false),
            3 => Some(true),
            _ => return Ok(false),
        };
        let sides_fit = feature == split.feature.index() && (sides & 1 == 1) == split.missing_left;
        // This is `x <= most` for numbers x of the type of inputs; if most is NaN, no number goes
        // left.
        let above = if most == f64::INFINITY { f64::INFINITY } else { self.input.next_up(most) };
        let below = |threshold: f64| {
            if most.is_nan() {
                threshold == f64::NEG_INFINITY
            } else {
                most < threshold && above >= threshold
            }
        };
        let at_most = |threshold: f64| most <= threshold && (above > threshold || most == f64::INFINITY);
        let fits = match split.test {
            Test::Less { threshold } => zero.is_none() && below(threshold),
            Test::LessOrEqual { threshold } => zero.is_none() && at_most(threshold),
            Test::LessOrEqualButZero { threshold, zero_left } => {
                zero == Some(zero_left) && at_most(threshold)
            }
            Test::Equal { .. } | Test::Member { .. } => false,
        };
        Ok(sides_fit && fits)
    }

    fn same_set(&self, split: Split<'_>, set: usize) -> Result<bool, Difference> {
        let Test::Member { set: theirs, members_left } = split.test else { return Ok(false) };
        let Some(categories) = self.model.features().categories(split.feature) else { return Ok(false) };
        let range = |name: &str| {
            let firsts = self.integers(name)?;
            Ok(firsts[set] as usize..firsts[set + 1] as usize)
        };
        let listed = &self.floats("listed")?[range("first_listed")?];
        let (rule, same_list) = match &categories.rule {
            CategoryRule::TruncateNonNegative => (0, listed.is_empty()),
            CategoryRule::Truncate => (1, listed.is_empty()),
            CategoryRule::Whole | CategoryRule::Hashed => (2, listed.is_empty()),
            // A number that no input can be is written as NaN, which equals nothing.
            CategoryRule::Listed(values) => {
                let same_value = |(&ours, &theirs): (&f64, &f64)| {
                    if self.input.round(theirs) == theirs { ours == theirs } else { ours.is_nan() }
                };
                (3, listed.len() == values.len() && listed.iter().zip(values).all(same_value))
            }
            CategoryRule::Joined { .. } => return Ok(false),
        };
        let flags = u32::from(split.missing_left)
            | u32::from(members_left) << 1
            | u32::from(categories.unseen_is_missing) << 2
            | rule << 3;
        let codes = &self.integers("code")?[range("first_code")?];
        let feature = self.integers("set_feature")?[set] as usize;
        Ok(same_list
            && codes == theirs
            && self.integers("set_flags")?[set] == flags
            && feature == split.feature.index())
    }
}

/// Are these the starts of `count` ranges that follow each other up to `end`?
fn is_partition(firsts: &[u32], count: usize, end: usize) -> bool {
    firsts.len() == count + 1
        && firsts[0] == 0
        && firsts[count] as usize == end
        && firsts.windows(2).all(|pair| pair[0] <= pair[1])
}

/// The same for a table that holds a single zero if it would otherwise be empty.
fn is_padded_partition<T: Default + PartialEq>(firsts: &[u32], count: usize, table: &[T]) -> bool {
    is_partition(firsts, count, table.len()) || table == [T::default()] && is_partition(firsts, count, 0)
}

fn same_bits(ours: &[f64], theirs: &[f64]) -> bool {
    ours.len() == theirs.len() && ours.iter().zip(theirs).all(|(a, b)| a.to_bits() == b.to_bits())
}
