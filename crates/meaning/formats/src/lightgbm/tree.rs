//! One tree's block of lines: `key=value` with lists of numbers as values.

use secateur_model::{FeatureId, NodeId, Split, Test, TreeBuilder, TreeId};

use super::categories::Columns;
use super::sections::{Sections, line_number, shown};
use crate::error::{FormatError, Place, Problem};

/// LightGBM stops reading a tree after this many lines.
const MOST_LINES: usize = 22;

/// decision_type: the split tests categories.
pub(super) const CATEGORICAL: u8 = 1;
/// decision_type: missing values go left.
pub(super) const DEFAULT_LEFT: u8 = 2;
/// decision_type: which values count as missing, two bits.
const MISSING_SHIFT: u8 = 2;
/// Missing type: none; NaN is read as zero.
const MISSING_NONE: u8 = 0;
/// Missing type: zero and NaN.
pub(super) const MISSING_ZERO: u8 = 1 << MISSING_SHIFT;
/// Missing type: NaN.
pub(super) const MISSING_NAN: u8 = 2 << MISSING_SHIFT;

/// Reads tree `index` and enters the features that it tests in `columns`. Splits keep their numbers
/// as node ids; leaf `i` follows as node `num_leaves - 1 + i`.
pub(super) fn read(
    text: &str,
    layout: &Sections,
    index: usize,
    columns: &mut Columns,
) -> Result<TreeBuilder, FormatError> {
    let tree = TreeId::new(index);
    let range = layout.trees()[index].clone();
    let block = Block::of(text, range.start, &text[range], tree)?;
    if block.get("is_linear").is_some_and(|flag| flag.trim() != "0") {
        let what = "a tree with linear models in its leaves".to_owned();
        let advice = "train with linear_tree=false";
        return Err(block.error("is_linear", Problem::Unsupported { what, advice }));
    }
    let leaves = block.number("num_leaves", 1)?;
    let sets = block.number("num_cat", 0)?;
    let leaf_values = block.list::<f64>("leaf_value", leaves)?;
    let inner = leaves - 1;
    let mut builder = TreeBuilder::with_capacity(inner + leaves);
    if inner > 0 {
        let features = block.list::<u32>("split_feature", inner)?;
        let thresholds = block.list::<f64>("threshold", inner)?;
        let lefts = block.list::<i32>("left_child", inner)?;
        let rights = block.list::<i32>("right_child", inner)?;
        // If the line is absent, LightGBM takes zeros: numeric splits, no missing values.
        let kinds = match block.get("decision_type") {
            Some(_) => block.list::<u8>("decision_type", inner)?,
            None => vec![0; inner],
        };
        let mut categories = Sets::of(&block, sets)?;
        let mut set = Vec::new();
        for node in 0..inner {
            let place = || Place::Node { tree, node: NodeId::new(node) };
            let feature = FeatureId(features[node]);
            let kind = kinds[node];
            let threshold = thresholds[node];
            if kind & !(CATEGORICAL | DEFAULT_LEFT) > MISSING_NAN {
                let expected = "a decision_type from 0 to 11";
                return Err(FormatError::new(place(), Problem::Value { found: kind.to_string(), expected }));
            }
            let test = if kind & CATEGORICAL != 0 {
                columns.categorical(feature);
                categories.take(threshold, &mut set).ok_or_else(|| {
                    let expected = "the number of a category set of this split alone";
                    FormatError::new(place(), Problem::Value { found: threshold.to_string(), expected })
                })?;
                Test::Member { set: &set, members_left: true }
            } else {
                columns.numeric(feature);
                let zero_left = kind & DEFAULT_LEFT != 0;
                match kind & !(CATEGORICAL | DEFAULT_LEFT) {
                    MISSING_ZERO => Test::LessOrEqualButZero { threshold, zero_left },
                    _ => Test::LessOrEqual { threshold },
                }
            };
            let missing_left = match kind & !DEFAULT_LEFT {
                MISSING_NONE => 0.0 <= threshold,
                MISSING_ZERO | MISSING_NAN => kind & DEFAULT_LEFT != 0,
                // Categorical splits send missing values right, whatever their missing type.
                _ => false,
            };
            let child = |child: i32| {
                let (number, count, offset) =
                    if child >= 0 { (child as usize, inner, 0) } else { (!child as usize, leaves, inner) };
                (number < count).then(|| NodeId::new(offset + number)).ok_or_else(|| {
                    let expected = "a child in this tree";
                    FormatError::new(place(), Problem::Value { found: child.to_string(), expected })
                })
            };
            builder.split(Split { feature, test, missing_left }, child(lefts[node])?, child(rights[node])?);
        }
    }
    for value in leaf_values {
        builder.leaf(&[value]);
    }
    Ok(builder)
}

/// The covers of tree `index` (`internal_count`, then `leaf_count`), by node; `None` if the file does
/// not have them.
pub(super) fn covers(text: &str, layout: &Sections, index: usize) -> Option<Vec<f64>> {
    let range = layout.trees()[index].clone();
    let block = Block::of(text, range.start, &text[range], TreeId::new(index)).ok()?;
    let leaves = block.number("num_leaves", 1).ok()?;
    if leaves == 1 {
        return Some(vec![1.0]);
    }
    let mut covers = block.list::<f64>("internal_count", leaves - 1).ok()?;
    covers.extend(block.list::<f64>("leaf_count", leaves).ok()?);
    Some(covers)
}

/// The lines of a tree.
struct Block<'a> {
    tree: TreeId,
    lines: Vec<(&'a str, &'a str)>,
}

impl<'a> Block<'a> {
    fn of(text: &str, start: usize, block: &'a str, tree: TreeId) -> Result<Self, FormatError> {
        let mut lines: Vec<(&str, &str)> = Vec::with_capacity(MOST_LINES);
        let error = |rest: &str, problem| {
            // `rest` is the end of the block, so its length gives the position in the file.
            let place = Place::Line(line_number(text, start + block.len() - rest.len()));
            Err(FormatError::new(place, problem))
        };
        let mut rest = block.split_once('\n').map_or("", |(_, rest)| rest);
        loop {
            let (line, next) = rest.split_once('\n').unwrap_or((rest, ""));
            if line.is_empty() {
                return Ok(Self { tree, lines });
            }
            let Some((key, value)) = line.split_once('=') else {
                return error(rest, Problem::Syntax { expected: "key=value", found: shown(line) });
            };
            if lines.iter().any(|(other, _)| *other == key) {
                return error(rest, Problem::DuplicateKey { key: key.to_owned() });
            }
            if lines.len() == MOST_LINES {
                let expected = "within the 22 lines that LightGBM reads of a tree";
                return error(rest, Problem::Value { found: shown(line), expected });
            }
            lines.push((key, value));
            rest = next;
        }
    }

    fn get(&self, key: &str) -> Option<&'a str> {
        self.lines.iter().find(|(name, _)| *name == key).map(|(_, value)| *value)
    }

    fn required(&self, key: &'static str) -> Result<&'a str, FormatError> {
        self.get(key).ok_or_else(|| self.error(key, Problem::Missing))
    }

    fn error(&self, field: &'static str, problem: Problem) -> FormatError {
        FormatError::new(Place::TreeField { tree: self.tree, field }, problem)
    }

    fn number(&self, key: &'static str, least: usize) -> Result<usize, FormatError> {
        let text = self.required(key)?;
        match text.parse::<usize>() {
            Ok(value) if value >= least && value <= i32::MAX as usize => Ok(value),
            _ => {
                let expected = if least == 0 { "a number from 0 on" } else { "a positive number" };
                Err(self.error(key, Problem::Value { found: shown(text), expected }))
            }
        }
    }

    /// A list of exactly `count` numbers. Memory is reserved for what the line holds, not for what
    /// is declared.
    fn list<T: Item>(&self, key: &'static str, count: usize) -> Result<Vec<T>, FormatError> {
        let line = self.required(key)?;
        // Every number takes at least a digit and a blank.
        let mut values = Vec::with_capacity(count.min(line.len() / 2 + 1));
        for item in line.split_ascii_whitespace() {
            values
                .push(item.parse().map_err(|_| {
                    self.error(key, Problem::Value { found: shown(item), expected: T::NAME })
                })?);
        }
        if values.len() != count {
            return Err(self.error(key, Problem::Length { expected: count, found: values.len() }));
        }
        Ok(values)
    }
}

/// A number in a list.
trait Item: std::str::FromStr {
    const NAME: &'static str;
}

impl Item for f64 {
    const NAME: &'static str = "a number";
}

impl Item for i32 {
    const NAME: &'static str = "a whole number";
}

impl Item for u32 {
    const NAME: &'static str = "a whole number from 0 on";
}

impl Item for u8 {
    const NAME: &'static str = "a decision_type from 0 to 11";
}

/// The category sets of a tree: bits in 32-bit words, set `c` in the words from `bounds[c]` to
/// `bounds[c + 1]`.
struct Sets {
    bounds: Vec<usize>,
    words: Vec<u32>,
    /// Sets that some split uses already: sharing a set among many splits could take its memory
    /// many times over.
    taken: Vec<bool>,
}

impl Sets {
    fn of(block: &Block<'_>, count: usize) -> Result<Self, FormatError> {
        if count == 0 {
            return Ok(Self { bounds: Vec::new(), words: Vec::new(), taken: Vec::new() });
        }
        let bounds: Vec<u32> = block.list("cat_boundaries", count + 1)?;
        let bounds: Vec<usize> = bounds.into_iter().map(|bound| bound as usize).collect();
        if bounds[0] != 0 || !bounds.is_sorted() {
            let found = "a list that does not ascend from 0".to_owned();
            let problem = Problem::Value { found, expected: "a list of places in cat_threshold" };
            return Err(block.error("cat_boundaries", problem));
        }
        let words = block.list("cat_threshold", bounds[count])?;
        Ok(Self { bounds, words, taken: vec![false; count] })
    }

    /// Puts the codes of set `number` into `codes`.
    fn take(&mut self, number: f64, codes: &mut Vec<u32>) -> Option<()> {
        codes.clear();
        let index = number as usize;
        if index as f64 != number || std::mem::replace(self.taken.get_mut(index)?, true) {
            return None;
        }
        let words = &self.words[self.bounds[index]..self.bounds[index + 1]];
        for (position, &word) in words.iter().enumerate() {
            // Codes are below 2^31, so no set needs more words.
            let first = u32::try_from(position).ok().and_then(|position| position.checked_mul(32))?;
            codes.extend((0..32).filter(|bit| word >> bit & 1 != 0).map(|bit| first + bit));
        }
        Some(())
    }
}
