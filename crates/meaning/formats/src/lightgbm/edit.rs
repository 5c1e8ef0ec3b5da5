//! Writes the text of an edited file: kept blocks are copied, leaf values replaced, whole trees
//! newly written.
//!
//! LightGBM finds a tree's class by its position. If one of a round's trees is removed and others
//! stay, a single leaf of zero is written instead of it. At least one round is always written.

use std::fmt::Write;

use secateur_model::{Ensemble, LeafId, Node, NodeId, Split, Test, Tree, TreeId};

use super::sections::Sections;
use super::tree::{CATEGORICAL, DEFAULT_LEFT, MISSING_NAN, MISSING_ZERO};
use crate::edit::{Edit, TreeEdit, leaves_below};
use crate::error::EditError;

/// Category codes from this one are not written: LightGBM would need a bit for every code below
/// them.
const CODE_LIMIT: u32 = 1 << 24;

/// The new text of a file.
pub(super) fn edited_text(
    text: &str,
    layout: &Sections,
    original: &Ensemble,
    edit: &Edit,
) -> Result<String, EditError> {
    let source = Source { text, layout, original };
    let mut blocks = Blocks { text: String::new(), sizes: String::new(), count: 0 };
    let groups = original.group_count();
    if let Some(intercepts) = &edit.intercepts
        && intercepts.iter().any(|&value| value != 0.0)
    {
        for &value in intercepts {
            blocks.add(|out| leaf_alone(out, value, source.has_linear_flag(TreeId(0))));
        }
    }
    let mut kept = edit.trees.iter().peekable();
    for round in 0..original.trees().len() / groups {
        let trees = round * groups..(round + 1) * groups;
        if kept.peek().is_none_or(|edit| !trees.contains(&edit.source().index())) {
            continue;
        }
        for tree in trees.map(TreeId::new) {
            match kept.next_if(|edit| edit.source() == tree) {
                Some(edit) => blocks.try_add(|out| source.write(out, edit))?,
                None => blocks.add(|out| leaf_alone(out, 0.0, source.has_linear_flag(tree))),
            }
        }
    }
    if blocks.count == 0 {
        for tree in (0..groups).map(TreeId::new) {
            blocks.add(|out| leaf_alone(out, 0.0, source.has_linear_flag(tree)));
        }
    }
    let mut out = String::with_capacity(text.len());
    for line in text[..layout.header_end()].split_inclusive('\n') {
        if line.starts_with("tree_sizes=") {
            out.extend(["tree_sizes=", &blocks.sizes, "\n"]);
        } else {
            out.push_str(line);
        }
    }
    out.push_str(&blocks.text);
    out.push_str(&text[layout.footer_start()..]);
    Ok(out)
}

/// The blocks written so far, with their sizes as `tree_sizes` lists them.
struct Blocks {
    text: String,
    sizes: String,
    count: usize,
}

impl Blocks {
    fn add(&mut self, body: impl FnOnce(&mut String)) {
        let start = self.text.len();
        put(&mut self.text, format_args!("Tree={}\n", self.count));
        body(&mut self.text);
        let blank = if self.count == 0 { "" } else { " " };
        put(&mut self.sizes, format_args!("{blank}{}", self.text.len() - start));
        self.count += 1;
    }

    fn try_add(&mut self, body: impl FnOnce(&mut String) -> Result<(), EditError>) -> Result<(), EditError> {
        let mut result = Ok(());
        self.add(|out| result = body(out));
        result
    }
}

/// The file that is edited.
struct Source<'a> {
    text: &'a str,
    layout: &'a Sections,
    original: &'a Ensemble,
}

impl Source<'_> {
    /// A tree's lines without the first, including the empty lines at the end.
    fn body(&self, tree: TreeId) -> &str {
        let block = &self.text[self.layout.trees()[tree.index()].clone()];
        block.split_once('\n').map_or("", |(_, body)| body)
    }

    /// LightGBM writes `is_linear` since it has linear trees; a new block follows its file.
    fn has_linear_flag(&self, tree: TreeId) -> bool {
        self.body(tree).lines().any(|line| line.starts_with("is_linear="))
    }

    fn write(&self, out: &mut String, edit: &TreeEdit) -> Result<(), EditError> {
        let tree = edit.source();
        let Some(leaves) = edit.folded_leaves(self.original)? else {
            out.push_str(self.body(tree));
            return Ok(());
        };
        if let TreeEdit::Replace { with, .. } = edit {
            return whole_tree(out, tree, with, &leaves, self.has_linear_flag(tree));
        }
        for line in self.body(tree).split_inclusive('\n') {
            if line.starts_with("leaf_value=") {
                list(out, "leaf_value", leaves.iter().map(|&value| Number(value)));
            } else {
                out.push_str(line);
            }
        }
        Ok(())
    }
}

/// A tree of one leaf.
fn leaf_alone(out: &mut String, value: f64, linear_flag: bool) {
    let columns = Columns { leaves: vec![value], ..Columns::default() };
    columns.write(out, linear_flag);
}

/// A tree in LightGBM's numbering: splits from the root, leaves numbered separately.
fn whole_tree(
    out: &mut String,
    id: TreeId,
    tree: &Tree,
    leaves: &[f64],
    linear_flag: bool,
) -> Result<(), EditError> {
    let mut columns = Columns::default();
    let below = leaves_below(tree);
    // A node, and where its number is entered: as the left or right child of a split.
    let mut open: Vec<(NodeId, Option<(usize, bool)>)> = vec![(NodeId(0), None)];
    while let Some((node, parent)) = open.pop() {
        let number = match tree.node(node) {
            Node::Leaf(LeafId(leaf)) => {
                columns.leaves.push(leaves[leaf as usize]);
                !to_i32(id, columns.leaves.len() - 1)?
            }
            Node::Split { split, left, right } => {
                let number = columns.kinds.len();
                let swapped =
                    columns.push(split).map_err(|what| EditError::TreeContent { tree: id, what })?;
                columns.below.push(below[node.index()]);
                let (left, right) = if swapped { (right, left) } else { (left, right) };
                open.extend([(right, Some((number, false))), (left, Some((number, true)))]);
                to_i32(id, number)?
            }
            Node::Unused => unreachable!("the builder lets no path reach an unused slot"),
        };
        match parent {
            Some((split, true)) => columns.lefts[split] = number,
            Some((split, false)) => columns.rights[split] = number,
            None => {}
        }
    }
    columns.write(out, linear_flag);
    Ok(())
}

fn to_i32(tree: TreeId, number: usize) -> Result<i32, EditError> {
    i32::try_from(number).map_err(|_| EditError::TreeContent { tree, what: "2^31 nodes" })
}

/// The lists of a tree's block.
#[derive(Default)]
struct Columns {
    features: Vec<u32>,
    thresholds: Vec<f64>,
    kinds: Vec<u8>,
    lefts: Vec<i32>,
    rights: Vec<i32>,
    leaves: Vec<f64>,
    /// The number of leaves below each split.
    below: Vec<u32>,
    /// Where each category set ends in `words`.
    set_ends: Vec<usize>,
    words: Vec<u32>,
}

impl Columns {
    /// Appends a split; returns true if its children must be swapped.
    fn push(&mut self, split: Split<'_>) -> Result<bool, &'static str> {
        let side = |left: bool| if left { DEFAULT_LEFT } else { 0 };
        let mut swapped = false;
        let (threshold, kind) = match split.test {
            // The missing type NaN does not affect zero.
            Test::LessOrEqual { threshold } => (threshold, MISSING_NAN | side(split.missing_left)),
            Test::LessOrEqualButZero { threshold, zero_left } if zero_left == (0.0 <= threshold) => {
                (threshold, MISSING_NAN | side(split.missing_left))
            }
            Test::LessOrEqualButZero { threshold, zero_left } if zero_left == split.missing_left => {
                (threshold, MISSING_ZERO | side(zero_left))
            }
            Test::LessOrEqualButZero { .. } => {
                return Err("a split that sends zero and missing values against its threshold, to two sides");
            }
            Test::Member { set, members_left } => {
                // In the file, members go left, and missing values go with the values that are not
                // members.
                if split.missing_left == members_left {
                    return Err("missing values on the side of a category set's members");
                }
                swapped = !members_left;
                (self.push_set(set)?, CATEGORICAL | MISSING_NAN)
            }
            Test::Less { .. } => return Err("a split by `<`"),
            Test::Equal { .. } => return Err("a split by `==`"),
        };
        self.features.push(split.feature.0);
        self.thresholds.push(threshold);
        self.kinds.push(kind);
        self.lefts.push(0);
        self.rights.push(0);
        Ok(swapped)
    }

    /// Appends a category set; its number is written as the threshold.
    fn push_set(&mut self, set: &[u32]) -> Result<f64, &'static str> {
        let last = set.last().copied().unwrap_or(0);
        if last >= CODE_LIMIT {
            return Err("category codes of 2^24 and more");
        }
        let start = self.words.len();
        self.words.resize(start + last as usize / 32 + 1, 0);
        for code in set {
            self.words[start + *code as usize / 32] |= 1 << (code % 32);
        }
        self.set_ends.push(self.words.len());
        Ok((self.set_ends.len() - 1) as f64)
    }

    fn write(&self, out: &mut String, linear_flag: bool) {
        let splits = self.kinds.len();
        let zeros = |count| std::iter::repeat_n(0, count);
        put(out, format_args!("num_leaves={}\nnum_cat={}\n", self.leaves.len(), self.set_ends.len()));
        list(out, "split_feature", &self.features);
        list(out, "split_gain", zeros(splits));
        list(out, "threshold", self.thresholds.iter().map(|&value| Number(value)));
        list(out, "decision_type", &self.kinds);
        list(out, "left_child", &self.lefts);
        list(out, "right_child", &self.rights);
        list(out, "leaf_value", self.leaves.iter().map(|&value| Number(value)));
        for key in ["leaf_weight", "leaf_count"] {
            list(out, key, std::iter::repeat_n(1, self.leaves.len()));
        }
        list(out, "internal_value", zeros(splits));
        for key in ["internal_weight", "internal_count"] {
            list(out, key, &self.below);
        }
        if !self.set_ends.is_empty() {
            list(out, "cat_boundaries", std::iter::once(&0).chain(&self.set_ends));
            list(out, "cat_threshold", &self.words);
        }
        if linear_flag {
            out.push_str("is_linear=0\n");
        }
        out.push_str("shrinkage=1\n\n\n");
    }
}

/// A number in the fewest digits that read back to it.
struct Number(f64);

impl std::fmt::Display for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The Debug form uses an exponent where the plain form would have hundreds of digits.
        write!(f, "{:?}", self.0)
    }
}

fn list(out: &mut String, key: &str, values: impl IntoIterator<Item: std::fmt::Display>) {
    put(out, format_args!("{key}="));
    for (index, value) in values.into_iter().enumerate() {
        put(out, format_args!("{}{value}", if index == 0 { "" } else { " " }));
    }
    out.push('\n');
}

fn put(out: &mut String, arguments: std::fmt::Arguments<'_>) {
    out.write_fmt(arguments).expect("writing to a string does not fail");
}
