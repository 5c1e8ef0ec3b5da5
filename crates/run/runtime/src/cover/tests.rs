//! The rows of the second cover reach everything that the rows of the first one reach, and finding
//! them takes work in proportion.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use super::{AIMED, rows_and_visits};
use crate::file::{File, Kind, LEAF, Tests, Tree};
use crate::tests::{Random, left, model};

/// The leaves (as indices of nodes) and the sides of tests that any of the rows reaches.
fn reached(file: &File, rows: &[f64]) -> (BTreeSet<usize>, BTreeSet<(usize, bool)>) {
    let tests: usize = file.columns.iter().map(|column| column.tests.len()).sum();
    let (mut leaves, mut sides) = (BTreeSet::new(), BTreeSet::new());
    for row in rows.chunks(file.features as usize) {
        sides.extend((0..tests).map(|test| (test, left(file, test, row))));
        for tree in &file.trees {
            let mut at = tree.nodes.start;
            while file.nodes[at] != LEAF {
                let (mut open, goes_left) = (1, left(file, file.nodes[at] as usize, row));
                at += 1;
                while !goes_left && open > 0 {
                    open = if file.nodes[at] == LEAF { open - 1 } else { open + 1 };
                    at += 1;
                }
            }
            leaves.insert(at);
        }
    }
    (leaves, sides)
}

fn made(file: &File, mark: u32) -> (Vec<f64>, usize) {
    rows_and_visits(&File { cover_rows: mark, ..file.clone() }, &mut |_| true).unwrap()
}

#[test]
fn the_second_cover_reaches_every_leaf_and_side_that_the_first_one_does() {
    let (mut fewer, mut all) = (0, 0);
    for seed in 0..if cfg!(miri) { 2 } else { 400 } {
        let mut random = Random(seed);
        let (depth, trees) = (random.below(7), 1 + random.below(12));
        let file = model(&mut random, depth, trees, 12);
        let (first, second) = (made(&file, 0).0, made(&file, AIMED).0);
        let (old, new) = (reached(&file, &first), reached(&file, &second));
        assert!(old.0.is_subset(&new.0), "seed {seed}: leaves {:?}", old.0.difference(&new.0));
        assert!(old.1.is_subset(&new.1), "seed {seed}: sides {:?}", old.1.difference(&new.1));
        (fewer, all) = (fewer + second.len(), all + first.len());
    }
    assert!(fewer < all);
}

/// Trees that are chains with a different test at each split; each test compares one of a few
/// features.
fn chain(depth: usize, trees: usize, features: u32, kind: Kind) -> File {
    let mut file = crate::tests::model_of(&mut Random(1), features, 0, 0, 1);
    file.categories.clear();
    let each = depth / features as usize;
    file.columns = (0..features)
        .map(|feature| crate::file::Column {
            feature,
            kind,
            missing_left: false,
            tests: Tests::Numbers((0..each).map(|number| number as f64).collect()),
        })
        .collect();
    (file.nodes, file.leaves, file.trees) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..trees {
        let first = file.nodes.len();
        let values = file.leaves.len();
        // The left child is a leaf, the right one the rest of the chain.
        for split in 0..each * features as usize {
            let (feature, number) = (split % features as usize, split / features as usize);
            file.nodes.extend([(feature * each + number) as u32, LEAF]);
        }
        file.nodes.push(LEAF);
        file.leaves.resize(values + each * features as usize + 1, 1.0);
        file.trees.push(Tree { group: Some(0), weight: 1.0, nodes: first..file.nodes.len(), values });
    }
    file
}

#[test]
fn the_search_visits_no_more_than_its_rows_do() {
    // A row of a chain visits up to all of its splits, and every leaf needs a row. The search may
    // visit a small multiple of that.
    for kind in [Kind::LessOrEqual, Kind::Equal] {
        for (depth, trees, features) in [(300, 1, 1), (600, 1, 3), (300, 20, 3)] {
            let depth = if cfg!(miri) { depth / 10 } else { depth };
            let file = chain(depth, trees, features, kind);
            let (rows, visits) = made(&file, AIMED);
            let values: usize = file.columns.iter().map(|column| 3 * column.tests.len() + 20).sum();
            let rows = rows.len() / file.features as usize;
            // The chains are equal, so that one row is in the same leaf of all trees.
            assert!(rows <= values + depth + 2, "{kind:?}, {depth}, {trees}: {rows} rows");
            assert!(
                visits <= 2 * trees * (depth + 2) * (depth + 2),
                "{kind:?}, {depth}, {trees}: {visits} visits"
            );
        }
    }
}

#[test]
fn who_watches_can_end_the_search() {
    let mut calls = 0;
    let mut file = chain(2000, 1, 1, Kind::LessOrEqual);
    file.cover_rows = AIMED;
    let mut watch = |_: f64| {
        calls += 1;
        calls < 3
    };
    assert!(rows_and_visits(&file, &mut watch).is_none());
    assert_eq!(calls, 3);
}
