//! Converts the layouts in which a file may store its trees into one form: the numbers of each node
//! (`inner`, `node_bin`, `node_rank`, `node_left`) and what the leaves add, in preorder. Each
//! layout is read here as the program's text reads it: from `node_test` and `node_skip` (part
//! `tests`), from trees that are filled up to equal depth (part `full`), from words (part `words`)
//! or from bits (part `small`).

use std::collections::BTreeMap;

use super::read::{SourceFile, Table, integer};
use super::same::same;
use crate::Difference;

/// The tables that the file has in another layout.
#[derive(Debug, Default)]
pub(super) struct Unpacked {
    pub(super) integers: BTreeMap<&'static str, Vec<u32>>,
    pub(super) floats: BTreeMap<&'static str, Vec<f64>>,
}

const WHAT: &str = "the tables of nodes";
/// No row has a rank above this one, so every row goes left. Such tests fill up a tree, and stand
/// above a leaf in layouts whose first levels have no leaves.
const NEVER_RIGHT: u32 = 255;

/// The numbers of every node, if the file has them in another layout than in tables of their own.
pub(super) fn unpacked(file: &SourceFile) -> Result<Unpacked, Difference> {
    let has = |part| file.head.has(part);
    let mut tables = Unpacked::default();
    if has("full") {
        let levels = number(file, "levels")?;
        let trees = number(file, "trees")? as usize;
        let (nodes, leaves) = full(table(file, "node_test")?, trees, levels)?;
        let width = if has("every") { number(file, "outputs")? as usize } else { 1 };
        let name = if has("listed") { "leaf_index" } else { "leaf" };
        match file.tables.get(name) {
            Some(Table::Floats(values)) => {
                tables
                    .floats
                    .insert(name, filled(values, &leaves, width, |a, b| a.to_bits() == b.to_bits())?);
            }
            Some(Table::Integers(values)) => {
                tables.integers.insert(name, filled(values, &leaves, width, |a, b| a == b)?);
            }
            _ => return Err(Difference::Part("the tables")),
        }
        tables.integers.extend(nodes.columns());
    } else if has("tests") {
        tables.integers = tests_of(table(file, "node_test")?, table(file, "node_skip")?)?;
    } else if has("words") {
        let (nodes, leaves) = words(table(file, "word")?, table(file, "size")?, number(file, "sure")?)?;
        tables.integers.extend(nodes.columns());
        tables.floats.insert("leaf", leaves);
    } else if has("small") {
        let inner = table(file, "inner")?;
        let nodes: u64 = inner.iter().map(|&inner| u64::from(inner)).sum();
        let widths = [width(file, "bin_bits")?, width(file, "rank_bits")?, width(file, "left_bits")?];
        // The program reads a node at once, and compares a rank with a byte.
        same(widths[1] <= 8 && widths.iter().sum::<u32>() < 32, WHAT)?;
        let mut columns = bits(table(file, "node_bits")?, nodes, &widths)?.into_iter();
        for name in ["node_bin", "node_rank", "node_left"] {
            tables.integers.insert(name, columns.next().unwrap_or_default());
        }
        if has("listed") {
            let leaves = nodes + inner.len() as u64;
            let each = if has("every") { u64::from(number(file, "outputs")?) } else { 1 };
            let count = leaves.checked_mul(each).ok_or(Difference::Part(WHAT))?;
            let columns = bits(table(file, "leaf_bits")?, count, &[width(file, "index_bits")?])?;
            tables.integers.insert("leaf_index", columns.into_iter().next().unwrap_or_default());
        }
    }
    Ok(tables)
}

/// The inner nodes of all trees, in preorder.
#[derive(Debug, Default)]
struct Nodes {
    inner: Vec<u32>,
    bin: Vec<u32>,
    rank: Vec<u32>,
    left: Vec<u32>,
}

impl Nodes {
    fn columns(self) -> [(&'static str, Vec<u32>); 4] {
        [("inner", self.inner), ("node_bin", self.bin), ("node_rank", self.rank), ("node_left", self.left)]
    }

    /// A node whose left side comes next.
    fn push(&mut self, bin: u32, rank: u32) -> usize {
        self.bin.push(bin);
        self.rank.push(rank);
        self.left.push(0);
        self.left.len() - 1
    }

    /// The left side of this node is complete.
    fn left_done(&mut self, node: usize) {
        self.left[node] = (self.left.len() - node - 1) as u32;
    }
}

/// Trees that are filled up to `levels` levels. The tests of each tree stand from place 1 on, and
/// the two tests below place i at 2i and 2i + 1. Where the tree has a leaf above the last level,
/// there is a test with a rank that no row is above, and all places below it have such tests too.
/// The second result says where the leaves are: for each leaf its first place, and the number of
/// places that must all hold the same number.
fn full(tests: &[u32], trees: usize, levels: u32) -> Result<(Nodes, Vec<(usize, usize)>), Difference> {
    enum Visit {
        Place(usize),
        LeftDone(usize),
    }
    // The program's text has code for these numbers of levels.
    same((1..=8).contains(&levels), WHAT)?;
    let width = 1usize << levels;
    same(trees.checked_mul(width) == Some(tests.len()), WHAT)?;
    let (mut nodes, mut leaves) = (Nodes::default(), Vec::new());
    for (tree, tests) in tests.chunks_exact(width).enumerate() {
        same(tests[0] == 0, WHAT)?;
        let before = nodes.bin.len();
        let mut open = vec![Visit::Place(1)];
        while let Some(visit) = open.pop() {
            let place = match visit {
                Visit::LeftDone(node) => {
                    nodes.left_done(node);
                    continue;
                }
                Visit::Place(place) => place,
            };
            let test = if place < width { tests[place] } else { NEVER_RIGHT << 8 };
            if test == NEVER_RIGHT << 8 {
                // All places below, level by level, down to those of the leaves.
                let mut below = (place, 1);
                while below.0 < width {
                    let filled = &tests[below.0..below.0 + below.1];
                    same(filled.iter().all(|&test| test == NEVER_RIGHT << 8), WHAT)?;
                    below = (2 * below.0, 2 * below.1);
                }
                leaves.push((tree * width + below.0 - width, below.1));
            } else {
                let node = nodes.push(test & 255, test >> 8);
                open.extend([Visit::Place(2 * place + 1), Visit::LeftDone(node), Visit::Place(2 * place)]);
            }
        }
        nodes.inner.push((nodes.bin.len() - before) as u32);
    }
    Ok((nodes, leaves))
}

/// The numbers of each leaf, once. If a leaf has several places, all of them must hold the same.
fn filled<T: Copy>(
    values: &[T],
    leaves: &[(usize, usize)],
    width: usize,
    equal: impl Fn(&T, &T) -> bool,
) -> Result<Vec<T>, Difference> {
    let places: usize = leaves.iter().map(|(_, count)| count).sum();
    same(places.checked_mul(width) == Some(values.len()), "the number of leaves")?;
    let mut all = Vec::with_capacity(leaves.len() * width);
    for &(first, count) in leaves {
        let values = &values[first * width..(first + count) * width];
        let own = &values[..width];
        let copied = values.chunks_exact(width).all(|copy| copy.iter().zip(own).all(|(a, b)| equal(a, b)));
        same(copied, "the number of leaves")?;
        all.extend_from_slice(own);
    }
    Ok(all)
}

/// Trees in preorder; the second table says how many words each has. The word of a leaf is the bits
/// of a float. The word of an inner node is the sum of its bin, 256 if a leaf is on its right, 512
/// if a leaf is on its left, 1024 times the number of words on its left, and 2^24 times its rank.
/// The first `sure` levels have no leaves, and the program does not test for leaves there. If the
/// model has a leaf in one of these levels, then nodes of rank 255 stand there instead, one for
/// each level from that of the leaf to the level `sure`; only the last of them has the 512, and
/// none has anything on its right. The leaf follows them.
fn words(words: &[u32], sizes: &[u32], sure: u32) -> Result<(Nodes, Vec<f64>), Difference> {
    enum Visit {
        /// A node is expected at this level; the root has level 1.
        Node(u32),
        Leaf,
        /// The left side of this node, whose word is at this place, is complete.
        LeftDone(usize, usize),
    }
    // The program's text has code for these numbers of levels.
    same((1..=4).contains(&sure), WHAT)?;
    let (mut nodes, mut leaves) = (Nodes::default(), Vec::new());
    let mut rest = words;
    for &size in sizes {
        let tree = rest.get(..size as usize).ok_or(Difference::Part(WHAT))?;
        rest = &rest[tree.len()..];
        let before = nodes.bin.len();
        let mut at = 0;
        let mut open = vec![Visit::Node(1)];
        while let Some(visit) = open.pop() {
            let word = |at: usize| tree.get(at).copied().ok_or(Difference::Part(WHAT));
            match visit {
                Visit::LeftDone(node, place) => {
                    nodes.left_done(node);
                    // The number of words to skip for a row that goes right.
                    same(word(place)? >> 10 & 0x3fff == (at - place - 1) as u32, WHAT)?;
                }
                Visit::Leaf => {
                    leaves.push(f64::from(f32::from_bits(word(at)?)));
                    at += 1;
                }
                Visit::Node(level) if level <= sure && word(at)? >> 24 == NEVER_RIGHT => {
                    for level in level..=sure {
                        same(word(at)? == (NEVER_RIGHT << 24 | u32::from(level == sure) << 9), WHAT)?;
                        at += 1;
                    }
                    open.push(Visit::Leaf);
                }
                Visit::Node(level) => {
                    let own = word(at)?;
                    // Only nodes that stand for a leaf of the first levels have a rank that no row
                    // is above.
                    same(own >> 24 != NEVER_RIGHT, WHAT)?;
                    // The program tests for leaves only from the last of these levels on.
                    same(level >= sure || own & (256 | 512) == 0, WHAT)?;
                    let node = nodes.push(own & 255, own >> 24);
                    let side = |leaf: u32| if own & leaf != 0 { Visit::Leaf } else { Visit::Node(level + 1) };
                    open.extend([side(256), Visit::LeftDone(node, at), side(512)]);
                    at += 1;
                }
            }
        }
        same(at == tree.len(), WHAT)?;
        nodes.inner.push((nodes.bin.len() - before) as u32);
    }
    same(rest.is_empty(), WHAT)?;
    Ok((nodes, leaves))
}

/// A test is a bin plus 256 times a rank. A skip is twice the distance to the node on the right
/// (the nodes of the left side lie between), plus 1 if the right side is a leaf instead of a node
/// (`node_end`).
fn tests_of(tests: &[u32], skips: &[u32]) -> Result<BTreeMap<&'static str, Vec<u32>>, Difference> {
    // The program compares a test with a number of 16 bits.
    same(tests.len() == skips.len() && tests.iter().all(|&test| test <= 0xffff), WHAT)?;
    same(skips.iter().all(|&skip| skip >= 2), WHAT)?;
    Ok(BTreeMap::from([
        ("node_bin", tests.iter().map(|test| test & 255).collect()),
        ("node_rank", tests.iter().map(|test| test >> 8).collect()),
        ("node_left", skips.iter().map(|skip| (skip >> 1) - 1).collect()),
        ("node_end", skips.iter().map(|skip| skip & 1).collect()),
    ]))
}

/// For each width as many numbers as `count` says. The numbers are packed one after the other,
/// starting at the lowest bit of each word. After them there are only zeros, and one word more than
/// the numbers need, because the program may read the word after any other.
fn bits(words: &[u32], count: u64, widths: &[u32]) -> Result<Vec<Vec<u32>>, Difference> {
    let all: u64 = widths.iter().map(|&width| u64::from(width)).sum();
    // The program counts bits in numbers of 32 bits.
    let end = count.checked_mul(all).filter(|&end| end <= u64::from(u32::MAX));
    let end = end.ok_or(Difference::Part(WHAT))?;
    same(words.len() as u64 == end.div_ceil(32) + 1, WHAT)?;
    let bit = |at: u64| words[(at / 32) as usize] >> (at % 32) & 1;
    same((end..32 * words.len() as u64).all(|at| bit(at) == 0), WHAT)?;
    let mut columns = vec![Vec::with_capacity(count as usize); widths.len()];
    let mut at = 0;
    for _ in 0..count {
        for (column, &width) in columns.iter_mut().zip(widths) {
            let value = (0..u64::from(width)).map(|place| bit(at + place) << place).sum();
            column.push(value);
            at += u64::from(width);
        }
    }
    // No width is larger than its numbers need, so that a file has only one spelling.
    let needed =
        |column: &[u32]| (32 - column.iter().fold(0, |all, number| all | number).leading_zeros()).max(1);
    same(columns.iter().zip(widths).all(|(column, &width)| needed(column) == width), WHAT)?;
    Ok(columns)
}

fn table<'a>(file: &'a SourceFile, name: &str) -> Result<&'a [u32], Difference> {
    match file.tables.get(name) {
        Some(Table::Integers(table)) => Ok(table),
        _ => Err(Difference::Part("the tables")),
    }
}

fn number(file: &SourceFile, name: &str) -> Result<u32, Difference> {
    let token = file.numbers.get(name).and_then(|token| integer(token));
    token.ok_or(Difference::Part("the numbers of the program"))
}

/// A number of bits: at least one, so that every position lies within the words, and fewer than a
/// word has.
fn width(file: &SourceFile, name: &str) -> Result<u32, Difference> {
    let width = number(file, name)?;
    same((1..32).contains(&width), "the numbers of the program")?;
    Ok(width)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_read_across_words_and_nothing_else_is_in_them() {
        // 13 numbers of 3 + 2 bits: 65 bits in three words.
        let numbers: Vec<(u32, u32)> = (0..13).map(|at| (at * 5 % 8, at * 3 % 4)).collect();
        let mut words = vec![0u32; 4];
        for (at, &(a, b)) in numbers.iter().enumerate() {
            for (place, value, width) in [(5 * at, a, 3), (5 * at + 3, b, 2)] {
                (0..width)
                    .for_each(|bit| words[(place + bit) / 32] |= (value >> bit & 1) << ((place + bit) % 32));
            }
        }
        let columns = bits(&words, 13, &[3, 2]).unwrap();
        let read: Vec<(u32, u32)> = columns[0].iter().copied().zip(columns[1].iter().copied()).collect();
        assert_eq!(read, numbers);
        assert!(bits(&words, 12, &[3, 2]).is_err(), "three words would do");
        assert!(bits(&words[..3], 13, &[3, 2]).is_err());
        for bit in 65..128 {
            let mut changed = words.clone();
            changed[bit / 32] |= 1 << (bit % 32);
            assert!(bits(&changed, 13, &[3, 2]).is_err(), "a bit behind the last number");
        }
        assert_eq!(bits(&[2, 0], 1, &[2]).unwrap(), [[2]]);
        assert!(bits(&[2, 0], 1, &[3]).is_err(), "two bits would do");
        assert!(bits(&[0], 1 << 31, &[31]).is_err());
    }

    #[test]
    fn trees_that_are_filled_up_have_one_spelling() {
        // A tree with a node that has a leaf on its left and a node on its right, and a tree that
        // is a leaf.
        let never = NEVER_RIGHT << 8;
        let tests = [0, 3 << 8 | 1, never, 2 << 8, 0, never, never, never];
        let (nodes, leaves) = full(&tests, 2, 2).unwrap();
        assert_eq!((&nodes.inner, &nodes.bin, &nodes.rank), (&vec![2, 0], &vec![1, 0], &vec![3, 2]));
        assert_eq!((nodes.left, &leaves), (vec![0, 0], &vec![(0, 2), (2, 1), (3, 1), (4, 4)]));
        let values = [7, 7, 8, 9, 5, 5, 5, 5];
        assert_eq!(filled(&values, &leaves, 1, |a, b| a == b).unwrap(), [7, 8, 9, 5]);
        for place in [0, 1, 4, 7] {
            let mut other = values;
            other[place] += 1;
            assert!(filled(&other, &leaves, 1, |a, b| a == b).is_err(), "two leaves in place of one");
        }
        assert!(filled(&values[1..], &leaves, 1, |a, b| a == b).is_err());
        assert!(filled(&values, &leaves, 2, |a, b| a == b).is_err());
        for (place, test) in [(0, 1), (4, never), (6, 0), (7, 0), (7, never | 1)] {
            let mut other = tests;
            other[place] = test;
            assert!(full(&other, 2, 2).is_err(), "{test} at {place}");
        }
        assert!(full(&tests, 2, 3).is_err() && full(&tests, 1, 2).is_err() && full(&[0; 512], 1, 9).is_err());
        assert!(full(&[0], 1, 0).is_err() && full(&[], usize::MAX, 2).is_err());
    }

    #[test]
    fn words_have_one_spelling() {
        let node = |rank: u32, skip: u32, leaves: u32, bin: u32| rank << 24 | skip << 10 | leaves << 8 | bin;
        let (a, b, c) = (1.5f32.to_bits(), (-2.0f32).to_bits(), 0.25f32.to_bits());
        let above = node(255, 0, 2, 0);
        // (a, (b, c)) and a leaf.
        let tree = [node(4, 1, 2, 9), a, node(0, 1, 3, 2), b, c, above, a];
        let (nodes, leaves) = words(&tree, &[5, 2], 1).unwrap();
        assert_eq!((&nodes.inner, &nodes.bin, &nodes.rank), (&vec![2, 0], &vec![9, 2], &vec![4, 0]));
        assert_eq!((nodes.left, leaves), (vec![0, 0], vec![1.5, -2.0, 0.25, 1.5]));
        // ((a, b), c).
        let (nodes, _) = words(&[node(4, 3, 1, 9), node(0, 1, 3, 2), a, b, c], &[5], 1).unwrap();
        assert_eq!((nodes.left, nodes.bin), (vec![1, 0], vec![9, 2]));
        assert!(words(&[node(4, 2, 1, 9), node(0, 1, 3, 2), a, b, c], &[5], 1).is_err(), "a wrong way right");
        for (place, word) in [
            (0, node(4, 2, 2, 9)),
            (0, node(4, 1, 3, 9)),
            (0, node(4, 1, 0, 9)),
            (0, node(255, 1, 2, 9)),
            (2, node(0, 1, 1, 2)),
            (2, node(255, 1, 3, 0)),
            (2, above),
            (5, node(255, 0, 2, 1)),
            (5, node(255, 1, 2, 0)),
            (5, node(255, 0, 3, 0)),
            (5, node(255, 0, 0, 0)),
        ] {
            let mut other = tree;
            other[place] = word;
            assert!(words(&other, &[5, 2], 1).is_err(), "{word} at {place}");
        }
        for sizes in [&[5][..], &[2, 5], &[5, 2, 0], &[4, 3], &[7], &[5, 3], &[]] {
            assert!(words(&tree, sizes, 1).is_err(), "{sizes:?}");
        }
        for sure in [0, 2, 3, 5, u32::MAX] {
            assert!(words(&tree, &[5, 2], sure).is_err(), "{sure} levels");
        }
    }

    #[test]
    fn the_first_levels_of_words_have_no_leaves() {
        let node = |rank: u32, skip: u32, leaves: u32, bin: u32| rank << 24 | skip << 10 | leaves << 8 | bin;
        let (a, b, c) = (1.5f32.to_bits(), (-2.0f32).to_bits(), 0.25f32.to_bits());
        let (above, last) = (node(255, 0, 0, 0), node(255, 0, 2, 0));
        // (a, (b, c)) and a leaf: on two and on three levels.
        let two = [node(4, 2, 0, 9), last, a, node(0, 1, 3, 2), b, c, above, last, a];
        let three =
            [node(4, 3, 0, 9), above, last, a, node(0, 2, 0, 2), last, b, last, c, above, above, last, a];
        for (tree, sizes, sure) in [(&two[..], [6, 3], 2), (&three[..], [9, 4], 3)] {
            let (nodes, leaves) = words(tree, &sizes, sure).unwrap();
            assert_eq!((&nodes.inner, &nodes.bin, &nodes.rank), (&vec![2, 0], &vec![9, 2], &vec![4, 0]));
            assert_eq!((nodes.left, leaves), (vec![0, 0], vec![1.5, -2.0, 0.25, 1.5]));
            for other in (0..=5).filter(|&other| other != sure) {
                assert!(words(tree, &sizes, other).is_err(), "{other} levels in place of {sure}");
            }
            // Flips one bit of a node. A wrong bin or rank is for the comparison with the model to
            // find.
            for (place, &word) in tree.iter().enumerate().filter(|&(_, word)| ![a, b, c].contains(word)) {
                let bits = if word >> 24 == NEVER_RIGHT { 0..32 } else { 8..24 };
                for bit in bits {
                    let mut changed = tree.to_vec();
                    changed[place] ^= 1 << bit;
                    assert!(
                        words(&changed, &sizes, sure).is_err(),
                        "bit {bit} of word {place}, {sure} levels"
                    );
                }
            }
        }
        // A node below one that stands for a leaf.
        assert!(words(&[last, node(0, 1, 3, 2), b, c], &[4], 1).is_err());
        assert!(words(&[above, node(0, 1, 3, 2), b, c], &[4], 2).is_err());
    }

    #[test]
    fn tests_have_16_bits_and_skips_lead_onwards() {
        let read = tests_of(&[7 << 8 | 3, 255], &[2, 7]).unwrap();
        assert_eq!((&read["node_bin"], &read["node_rank"]), (&vec![3, 255], &vec![7, 0]));
        assert_eq!((&read["node_left"], &read["node_end"]), (&vec![0, 2], &vec![0, 1]));
        assert!(tests_of(&[1 << 16], &[2]).is_err());
        assert!(tests_of(&[0], &[1]).is_err());
        assert!(tests_of(&[0, 0], &[2]).is_err());
    }
}
