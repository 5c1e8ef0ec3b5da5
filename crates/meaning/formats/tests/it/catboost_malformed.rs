//! Broken CatBoost files: each is refused with a message that names the place, never with a panic.
//! CatBoost loads many of them silently, and then predicts from memory that is not the model's.

use std::panic::catch_unwind;

use secateur_formats::ModelFile;
use secateur_testkit::committed;

fn fixture(name: &str) -> Vec<u8> {
    committed(format!("models/catboost/{name}"))
}

fn message(bytes: &[u8]) -> String {
    ModelFile::parse(bytes).map(drop).expect_err("a broken file is refused").to_string()
}

#[track_caller]
fn refused(bytes: &[u8], words: &str) {
    let message = message(bytes);
    assert!(message.contains(words), "{message:?} does not say {words:?}");
}

const HEADER: usize = 8;

fn word(bytes: &[u8], at: usize) -> usize {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize
}

/// The position of a table's field, from the table's own position list.
fn field(bytes: &[u8], table: usize, slot: usize) -> usize {
    // The list may be before or after its table.
    let list = table.wrapping_add_signed(-(word(bytes, table) as i32 as isize));
    let position = u16::from_le_bytes(bytes[list + 4 + 2 * slot..][..2].try_into().unwrap());
    assert!(position != 0, "slot {slot} is not there");
    table + usize::from(position)
}

fn target(bytes: &[u8], at: usize) -> usize {
    at + word(bytes, at)
}

/// The table of trees.
fn trees(bytes: &[u8]) -> usize {
    let root = target(bytes, HEADER);
    target(bytes, field(bytes, root, 1))
}

/// The position of the first element of a list in the table of trees, and the number of elements.
fn list(bytes: &[u8], slot: usize) -> (usize, usize) {
    let at = target(bytes, field(bytes, trees(bytes), slot));
    (at + 4, word(bytes, at))
}

const SPLITS: usize = 1;
const SIZES: usize = 2;
const STARTS: usize = 3;
const FLOATS: usize = 5;
const VALUES: usize = 8;
const STEPS: usize = 10;
const LEAF_OF_NODE: usize = 11;

/// The file with other bytes in one place.
fn with(bytes: &[u8], at: usize, new: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[at..at + new.len()].copy_from_slice(new);
    bytes
}

#[test]
fn a_file_that_was_cut_anywhere_is_refused() {
    for name in ["stumps.cbm", "categories_lossguide.cbm"] {
        let bytes = fixture(name);
        for end in 1..bytes.len() {
            assert!(ModelFile::parse(&bytes[..end]).is_err(), "{name} cut at {end}");
        }
        // After the core CatBoost stores parts that these models do not have; it ignores these
        // bytes.
        let longer = [&bytes[..], b"more"].concat();
        assert!(ModelFile::parse(&longer).is_ok(), "{name}");
    }
    // CatBoost would load most of these, with fewer trees.
    let bytes = fixture("stumps.json");
    for end in 1..bytes.trim_ascii_end().len() {
        assert!(ModelFile::parse(&bytes[..end]).is_err(), "cut at {end}");
    }
}

#[test]
fn no_byte_of_a_file_makes_the_reader_panic() {
    for name in ["stumps.cbm", "multiclass_lossguide.cbm"] {
        let bytes = fixture(name);
        for at in 0..bytes.len() {
            for new in [0xff, bytes[at] ^ 1] {
                let broken = with(&bytes, at, &[new]);
                let read = catch_unwind(|| ModelFile::parse(&broken).map(drop));
                assert!(read.is_ok(), "{name}: byte {at} as {new}");
            }
        }
    }
}

#[test]
fn what_catboost_would_read_beyond_its_lists_is_refused() {
    let bytes = fixture("binary.cbm");
    let at = |slot: usize, index: usize| list(&bytes, slot).0 + 4 * index;
    for split in [-1i32, 100_000, i32::MAX, i32::MIN] {
        refused(&with(&bytes, at(SPLITS, 0), &split.to_le_bytes()), "the number of a test");
    }
    for size in [30i32, 63, -1, i32::MAX] {
        let message = message(&with(&bytes, at(SIZES, 0), &size.to_le_bytes()));
        assert!(message.contains("Tree"), "{message}");
    }
    refused(&with(&bytes, at(STARTS, 1), &4i32.to_le_bytes()), "where the tree before ends");
    // Too few leaves: CatBoost would read those of the next tree.
    let (values, count) = list(&bytes, VALUES);
    refused(&with(&bytes, values - 4, &(count as u32 - 1).to_le_bytes()), "Leaf");
    refused(&with(&bytes, values - 4, &u32::MAX.to_le_bytes()), "declared");
    refused(&with(&bytes, values, &f64::NAN.to_le_bytes()), "NaN");
    refused(&with(&bytes, values, &f64::INFINITY.to_le_bytes()), "inf");
    let dimension = field(&bytes, trees(&bytes), 0);
    for scores in [0i32, -1, 3, 1 << 30] {
        let message = message(&with(&bytes, dimension, &scores.to_le_bytes()));
        assert!(!message.is_empty());
    }
}

#[test]
fn asymmetric_trees_stay_within_themselves() {
    let bytes = fixture("lossguide.cbm");
    let (steps, count) = list(&bytes, STEPS);
    let outside = "a way to nodes of its tree, once";
    refused(&with(&bytes, steps, &60_000u16.to_le_bytes()), outside);
    // Both branches lead to one node.
    let right = bytes[steps + 2..steps + 4].to_vec();
    refused(&with(&bytes, steps, &right), outside);
    let (leaves, nodes) = list(&bytes, LEAF_OF_NODE);
    assert_eq!(nodes, count);
    let leaf = (0..count).find(|index| word(&bytes, steps + 4 * index) == 0).unwrap();
    refused(&with(&bytes, leaves + 4 * leaf, &(u32::MAX - 1).to_le_bytes()), "a place in LeafValues");
    let (values, length) = list(&bytes, VALUES);
    assert!(values > 0);
    refused(&with(&bytes, leaves + 4 * leaf, &(length as u32).to_le_bytes()), "a place in LeafValues");
}

#[test]
fn borders_that_are_no_comparison_are_refused() {
    let bytes = fixture("binary.cbm");
    let first = target(&bytes, list(&bytes, FLOATS).0);
    let borders = target(&bytes, field(&bytes, first, 3)) + 4;
    assert!(word(&bytes, borders - 4) > 1);
    for border in [f32::INFINITY, f32::NAN, f32::MAX] {
        refused(&with(&bytes, borders, &border.to_le_bytes()), "sorted");
    }
    // A second column at the same place.
    let second = target(&bytes, list(&bytes, FLOATS).0 + 4);
    refused(&with(&bytes, field(&bytes, second, 2), &0i32.to_le_bytes()), "ascending");
    refused(&with(&bytes, field(&bytes, second, 2), &(1i32 << 30).to_le_bytes()), "column");
}

#[test]
fn headers_are_looked_at() {
    let bytes = fixture("binary.cbm");
    assert!(ModelFile::parse(&with(&bytes, 4, &u32::MAX.to_le_bytes())).is_err());
    refused(&with(&bytes, 4, &(bytes.len() as u32).to_le_bytes()), "ends here");
    refused(&with(&bytes, 4, &3u32.to_le_bytes()), "ends here");
    // A size of eight bytes.
    let mut long = bytes[..4].to_vec();
    long.extend(u32::MAX.to_le_bytes());
    long.extend((bytes.len() as u64 - 8).to_le_bytes());
    long.extend(&bytes[8..]);
    assert!(ModelFile::parse(&long).is_ok());
    let at = bytes.windows(18).position(|window| window == b"FlabuffersModel_v1").unwrap();
    refused(&with(&bytes, at + 17, b"2"), "FlabuffersModel_v1");
}

fn json_with(old: &str, new: &str) -> Vec<u8> {
    let text = String::from_utf8(fixture("binary.json")).unwrap();
    assert!(text.contains(old), "{old:?}");
    text.replacen(old, new, 1).into_bytes()
}

#[test]
fn json_that_catboost_reads_in_part_is_refused() {
    let text = String::from_utf8(fixture("binary.json")).unwrap();
    refused(format!("{text}x").as_bytes(), "the end of the file");
    refused(format!("{text}{{}}").as_bytes(), "the end of the file");
    refused(&json_with("\"leaf_values\"", "\"leaf_values\":[], \"leaf_values\""), "twice");
    let number = {
        let start = text.find("\"leaf_values\"").unwrap();
        let start = start + text[start..].find('[').unwrap() + 1;
        let rest = text[start..].trim_start();
        rest[..rest.find([',', '\n', ' ']).unwrap()].to_owned()
    };
    for (new, words) in [
        ("NaN", "a JSON value"),
        ("Infinity", "a JSON value"),
        ("1e400", "f64"),
        ("9007199254740993", "f64"),
        ("01", "a number"),
        ("1.", "a number"),
        ("\"1\"", "a number"),
        ("null", "a number"),
    ] {
        refused(&json_with(&number, new), words);
    }
    refused(&json_with("\"split_index\"", "\"split_number\""), "missing");
    refused(&json_with("\"oblivious_trees\"", "\"trees\":[],\"oblivious_trees\""), "one kind of trees");
    refused(&json_with("\"AsFalse\"", "\"As\""), "AsIs");
    let deep = format!("{{\"features_info\":{}", "[".repeat(100_000));
    refused(deep.as_bytes(), "nested");
}

#[test]
fn models_that_are_not_read_say_why() {
    for ending in ["cbm", "json"] {
        refused(&fixture(&format!("counters.{ending}.refused")), "one_hot_max_size");
        // A classifier without class labels is not read as a regressor.
        for name in ["binary", "multiclass", "focal"] {
            let bytes = fixture(&format!("{name}.{ending}"));
            let key = b"class_params";
            let at = bytes.windows(key.len()).position(|window| window == key).unwrap();
            let mut without = bytes.clone();
            without[at] = b'k';
            refused(&without, "without its class labels");
        }
    }
    refused(&fixture("text.cbm.refused"), "text or embedding");
}
