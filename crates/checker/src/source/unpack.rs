//! From the ways in which a file may lay out its inner nodes to the numbers of each: `node_bin`, `node_rank`, `node_left`, and `leaf_index` of leaves in a
//! list. What the text reads from `node_test` and `node_skip` (part `tests`), or from bits (part `small`), is what is read here.

use std::collections::BTreeMap;

use super::read::{SourceFile, Table, integer};
use super::same::same;
use crate::Difference;

/// The tables that the file has in another layout.
pub(super) type Unpacked = BTreeMap<&'static str, Vec<u32>>;

const WHAT: &str = "the tables of nodes";

/// The numbers of every node, where the file has them in another layout than in tables of their own.
pub(super) fn unpacked(file: &SourceFile) -> Result<Unpacked, Difference> {
    let (tests, small) = (file.head.has("tests"), file.head.has("small"));
    same(!(tests && small) && (!(tests || small) || file.head.has("splits")), WHAT)?;
    if tests {
        return tests_of(table(file, "node_test")?, table(file, "node_skip")?);
    }
    let mut tables = Unpacked::new();
    if small {
        let inner = table(file, "inner")?;
        let nodes: u64 = inner.iter().map(|&inner| u64::from(inner)).sum();
        let widths = [width(file, "bin_bits")?, width(file, "rank_bits")?, width(file, "left_bits")?];
        // A node is read as a whole, and a rank is compared with a byte.
        same(widths[1] <= 8 && widths.iter().sum::<u32>() < 32, WHAT)?;
        let mut columns = bits(table(file, "node_bits")?, nodes, &widths)?.into_iter();
        for name in ["node_bin", "node_rank", "node_left"] {
            tables.insert(name, columns.next().unwrap_or_default());
        }
        if file.head.has("listed") {
            let leaves = nodes + inner.len() as u64;
            let each = if file.head.has("every") { u64::from(number(file, "outputs")?) } else { 1 };
            let count = leaves.checked_mul(each).ok_or(Difference::Part(WHAT))?;
            let columns = bits(table(file, "leaf_bits")?, count, &[width(file, "index_bits")?])?;
            tables.insert("leaf_index", columns.into_iter().next().unwrap_or_default());
        }
    }
    Ok(tables)
}

/// A test is a bin and 256 times a rank. A skip is twice the distance to the node on the right, which the nodes on the left lie between, and 1 where there is a
/// leaf in place of that node (`node_end`).
fn tests_of(tests: &[u32], skips: &[u32]) -> Result<Unpacked, Difference> {
    // The text compares a test with a number of 16 bits.
    same(tests.len() == skips.len() && tests.iter().all(|&test| test <= 0xffff), WHAT)?;
    same(skips.iter().all(|&skip| skip >= 2), WHAT)?;
    Ok(Unpacked::from([
        ("node_bin", tests.iter().map(|test| test & 255).collect()),
        ("node_rank", tests.iter().map(|test| test >> 8).collect()),
        ("node_left", skips.iter().map(|skip| (skip >> 1) - 1).collect()),
        ("node_end", skips.iter().map(|skip| skip & 1).collect()),
    ]))
}

/// As many numbers of each width as `count` says, one after the other, from the lowest bit of each word on. Behind them there are only zeros, with one word more than they
/// need, so that the text may read the word behind any other.
fn bits(words: &[u32], count: u64, widths: &[u32]) -> Result<Vec<Vec<u32>>, Difference> {
    let all: u64 = widths.iter().map(|&width| u64::from(width)).sum();
    // The text counts bits in numbers of 32 bits.
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
    // No width is larger than its numbers need: a file has one spelling.
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

/// A number of bits: at least one, so that no place lies behind the last word, and fewer than a word has.
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
    fn tests_have_16_bits_and_skips_lead_onwards() {
        let read = tests_of(&[7 << 8 | 3, 255], &[2, 7]).unwrap();
        assert_eq!((&read["node_bin"], &read["node_rank"]), (&vec![3, 255], &vec![7, 0]));
        assert_eq!((&read["node_left"], &read["node_end"]), (&vec![0, 2], &vec![0, 1]));
        assert!(tests_of(&[1 << 16], &[2]).is_err());
        assert!(tests_of(&[0], &[1]).is_err());
        assert!(tests_of(&[0, 0], &[2]).is_err());
    }
}
