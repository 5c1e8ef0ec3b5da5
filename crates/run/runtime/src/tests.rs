//! Random models, made directly in memory, are evaluated on every path and for every number of
//! rows. The result is compared with a walk that shares nothing with the tables: it evaluates the
//! tests as the file states them.

use alloc::string::String;
use alloc::vec::Vec;

use crate::file::{Category, Column, Domain, File, Kind, LEAF, Rule, Sums, Tests, Tree};
use crate::meaning::{Decision, Labels, Link, Number};
use crate::{Model, Path, Rows};

/// Miri takes seconds where a normal run takes milliseconds.
fn fewer(count: u64) -> u64 {
    if cfg!(miri) { (count / 1500).max(1) } else { count }
}

pub(crate) struct Random(pub(crate) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, count: usize) -> usize {
        (self.next() % count.max(1) as u64) as usize
    }

    fn coin(&mut self) -> bool {
        self.below(2) == 1
    }

    fn float(&mut self) -> f64 {
        match self.below(12) {
            0 => 0.0,
            1 => -0.0,
            2 => 1e-35,
            3 => f64::from(f32::MAX),
            4 => 1e300,
            5 => f64::from_bits(1),
            _ => (self.below(64) as f64 - 32.0) / 4.0,
        }
    }
}

pub(crate) fn model(random: &mut Random, depth: usize, trees: usize, thresholds: usize) -> File {
    let features = 1 + random.below(6) as u32;
    model_of(random, features, depth, trees, thresholds)
}

pub(crate) fn model_of(
    random: &mut Random,
    features: u32,
    depth: usize,
    trees: usize,
    thresholds: usize,
) -> File {
    let groups = 1 + random.below(3);
    let number = if random.coin() { Number::F32 } else { Number::F64 };
    let sums = if random.coin() { Number::F32 } else { Number::F64 };
    let rounded = |value: f64| if sums == Number::F32 { f64::from(value as f32) } else { value };
    let mut columns: Vec<Column> = Vec::new();
    let mut categories = Vec::new();
    for feature in 0..features {
        if random.below(4) == 0 {
            let rule = match random.below(5) {
                0 => Rule::TruncateNonNegative,
                1 => Rule::Truncate,
                2 => Rule::Whole,
                3 => Rule::Hashed,
                _ => Rule::Listed((0..8).map(|code| f64::from(code) * 1.5).collect()),
            };
            let unseen_is_missing = random.coin();
            // Sets whose codes are all below 64 take a path of their own.
            let codes: Vec<u32> =
                if random.coin() { (0..64).collect() } else { (0..70).chain([5000, 70_000]).collect() };
            categories.push(Category { feature, rule, unseen_is_missing, labels: None });
            for code in 10..14 {
                let kind = Kind::Member { members_left: code > 11 };
                let sets = (0..1 + random.below(3))
                    .map(|_| codes.iter().copied().filter(|_| random.below(3) == 0).collect())
                    .collect();
                columns.push(Column { feature, kind, missing_left: code % 2 == 1, tests: Tests::Sets(sets) });
            }
            continue;
        }
        let kinds = [
            Kind::Less,
            Kind::LessOrEqual,
            Kind::ButZero { zero_left: false },
            Kind::ButZero { zero_left: true },
            Kind::Equal,
        ];
        for kind in kinds {
            for missing_left in [false, true] {
                if random.coin() {
                    let mut numbers: Vec<f64> = (0..1 + random.below(thresholds))
                        .map(|_| match random.below(20) {
                            0 => f64::INFINITY,
                            1 => f64::NEG_INFINITY,
                            _ if thresholds > 64 => (random.below(5000) as f64 - 2500.0) / 16.0,
                            _ => random.float(),
                        })
                        .collect();
                    numbers.sort_by(f64::total_cmp);
                    numbers.dedup_by_key(|number| number.to_bits());
                    columns.push(Column { feature, kind, missing_left, tests: Tests::Numbers(numbers) });
                }
            }
        }
    }
    let tests: usize = columns.iter().map(|column| column.tests.len()).sum();
    let mut file = File {
        digest: [0; 32],
        cover_rows: 0,
        cover_hash: 0,
        framework: String::new(),
        dialect: String::new(),
        link: Link::None,
        domain: Domain {
            number,
            missing: random.below(4) > 0,
            infinities: random.coin(),
            zero_window: random.coin().then_some(1e-35),
        },
        sums: Sums {
            number: sums,
            intercept_last: random.coin(),
            any_order: false,
            scale: None,
            average: random.coin().then_some((3.0, random.coin())),
        },
        features,
        names: None,
        categories,
        unplaced: None,
        labels: Labels::Unnamed(groups),
        decision: Decision::Argmax,
        intercepts: (0..groups).map(|_| rounded(random.float().clamp(-9.0, 9.0))).collect(),
        intercept_errors: None,
        columns,
        trees: Vec::new(),
        nodes: Vec::new(),
        leaves: Vec::new(),
        covers: None,
    };
    // Some libraries multiply the sums of the unweighted leaves and then add the intercepts, unless
    // all of these are zero.
    if file.sums.intercept_last && file.sums.average.is_none() && random.coin() {
        file.sums.scale = Some(rounded([0.7, -1.3, 0.0, -0.0, 1e-30, 1e30][random.below(6)]));
        if random.coin() {
            file.intercepts.fill([0.0, -0.0][random.below(2)]);
        }
    }
    for _ in 0..trees {
        let group = (random.below(3) > 0).then(|| random.below(groups) as u32);
        let (first, values) = (file.nodes.len(), file.leaves.len());
        let mut open = alloc::vec![0usize];
        let full = random.coin();
        while let Some(at) = open.pop() {
            if tests > 0 && at < depth && (full || random.below(5) > 0) {
                file.nodes.push(random.below(tests) as u32);
                open.extend([at + 1, at + 1]);
            } else {
                file.nodes.push(LEAF);
                let width = if group.is_some() { 1 } else { groups };
                let leaf = |_| rounded((random.next() % 1000) as f64 / 997.0 - 0.5);
                file.leaves.extend((0..width).map(leaf));
            }
        }
        let weight = if file.sums.scale.is_some() { 1.0 } else { rounded([1.0, 0.3][random.below(2)]) };
        file.trees.push(Tree { group, weight, nodes: first..file.nodes.len(), values });
    }
    file
}

/// Whether a test sends a row left, as the specification of the format says.
pub(crate) fn left(file: &File, test: usize, row: &[f64]) -> bool {
    let mut test = test;
    let column = file
        .columns
        .iter()
        .find(|column| match test.checked_sub(column.tests.len()) {
            Some(less) => {
                test = less;
                false
            }
            None => true,
        })
        .unwrap();
    let value = file.domain.read(row[column.feature as usize]).unwrap();
    if value.is_nan() {
        return column.missing_left;
    }
    match (&column.tests, column.kind) {
        (Tests::Numbers(numbers), Kind::Less) => value < numbers[test],
        (Tests::Numbers(_), Kind::ButZero { zero_left }) if value == 0.0 => zero_left,
        (Tests::Numbers(numbers), Kind::Equal) => value == numbers[test],
        (Tests::Numbers(numbers), _) => value <= numbers[test],
        (Tests::Sets(sets), kind) => {
            let category = file.categories.iter().find(|known| known.feature == column.feature).unwrap();
            match category.rule.code(value) {
                None if category.unseen_is_missing => column.missing_left,
                code => {
                    let member = code.is_some_and(|code| sets[test].contains(&code));
                    member == (kind == Kind::Member { members_left: true })
                }
            }
        }
    }
}

/// For each node of a tree, the index after its subtree.
fn ends(nodes: &[u32]) -> Vec<usize> {
    let mut ends = alloc::vec![0; nodes.len()];
    for at in (0..nodes.len()).rev() {
        ends[at] = if nodes[at] == LEAF { at + 1 } else { ends[ends[at + 1]] };
    }
    ends
}

/// The raw scores of a row by a plain walk.
fn walked(file: &File, row: &[f64]) -> Vec<f64> {
    let round = |value: f64| if file.sums.number == Number::F32 { f64::from(value as f32) } else { value };
    let mut sums: Vec<f64> = match file.sums.intercept_last {
        true => alloc::vec![0.0; file.intercepts.len()],
        false => file.intercepts.clone(),
    };
    for tree in &file.trees {
        let nodes = &file.nodes[tree.nodes.clone()];
        let ends = ends(nodes);
        let mut at = 0;
        while nodes[at] != LEAF {
            at = if left(file, nodes[at] as usize, row) { at + 1 } else { ends[at + 1] };
        }
        let leaf = nodes[..at].iter().filter(|&&node| node == LEAF).count();
        let mut add =
            |group: usize, value: f64| sums[group] = round(sums[group] + round(tree.weight * value));
        match tree.group {
            Some(group) => add(group as usize, file.leaves[tree.values + leaf]),
            None => {
                let width = file.intercepts.len();
                (0..width).for_each(|group| add(group, file.leaves[tree.values + leaf * width + group]));
            }
        }
    }
    // A library that multiplies sums adds no intercepts if all of them are zero.
    let bare = file.sums.scale.is_some() && file.intercepts.iter().all(|&intercept| intercept == 0.0);
    for (sum, intercept) in sums.iter_mut().zip(&file.intercepts) {
        if let Some(scale) = file.sums.scale {
            *sum = round(*sum * scale);
        }
        if file.sums.intercept_last && !bare {
            *sum = round(*sum + intercept);
        }
        if let Some((divisor, true)) = file.sums.average {
            *sum = round(*sum / divisor);
        }
    }
    sums
}

fn same(found: &[f64], expected: &[f64], what: &dyn core::fmt::Display) {
    assert_eq!(found.len(), expected.len());
    for (at, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert_eq!(found.to_bits(), expected.to_bits(), "{what}: score {at} is {found}, not {expected}");
    }
}

/// Compares the scores of the cover's rows with the walk, on every path, in every type and order.
fn check(file: &File, what: &dyn core::fmt::Display) {
    // About half of the models have the older cover.
    let mark = if file.nodes.len().is_multiple_of(4) { 0 } else { crate::AIMED };
    let model = Model::of(File { cover_rows: mark, ..file.clone() }).unwrap();
    let width = model.features();
    let mut values = model.cover_rows();
    // Only every n-th row of a large cover, since the walk is slow.
    let every = values.len() / width / if cfg!(miri) { 10 } else { 1500 } + 1;
    values = values.chunks(width).step_by(every).flatten().copied().collect();
    let rows = Rows::row_major(&values, width).unwrap();
    assert!(rows.count() > 0, "{what}: no rows");
    let expected: Vec<f64> = values.chunks(width).flat_map(|row| walked(file, row)).collect();
    let columns: Vec<f64> = (0..width)
        .flat_map(|column| (0..rows.count()).map(move |row| (row, column)))
        .map(|(row, column)| values[row * width + column])
        .collect();
    for path in Path::available() {
        let mut scores = alloc::vec![0.0; expected.len()];
        model.raw_scores_on(path, rows, &mut scores).unwrap();
        same(&scores, &expected, &format_args!("{what}, {path}"));
        scores.fill(0.0);
        model
            .raw_scores_on(path, Rows::column_major(&columns, rows.count(), width).unwrap(), &mut scores)
            .unwrap();
        same(&scores, &expected, &format_args!("{what}, {path}, by columns"));
        scores.fill(0.0);
        model.raw_scores_by_threads(path, rows, 3, &mut scores).unwrap();
        same(&scores, &expected, &format_args!("{what}, {path}, three threads"));
        let narrow: Vec<f32> = values.iter().map(|&value| value as f32).collect();
        let wide: Vec<f64> = narrow.iter().map(|&value| f64::from(value)).collect();
        if wide.chunks(width).all(|row| row.iter().enumerate().all(|(f, &v)| file.read_value(f, v).is_some()))
        {
            let expected: Vec<f64> = wide.chunks(width).flat_map(|row| walked(file, row)).collect();
            model.raw_scores_on(path, Rows::row_major(&narrow, width).unwrap(), &mut scores).unwrap();
            same(&scores, &expected, &format_args!("{what}, {path}, f32"));
        }
    }
}

#[test]
fn every_path_gives_the_bits_of_a_plain_walk() {
    for seed in 0..fewer(1500) {
        let mut random = Random(seed);
        let (depth, trees) = (random.below(8), 1 + random.below(6));
        check(&model(&mut random, depth, trees, 12), &format_args!("seed {seed}"));
    }
}

#[test]
fn large_trees_and_many_thresholds_give_the_bits_of_a_plain_walk() {
    for seed in 0..if cfg!(miri) { 1 } else { 8 } {
        let mut random = Random(1 << 32 | seed);
        let (depth, thresholds) = ([8, 9, 11, 13][seed as usize % 4], [40, 300, 1000][seed as usize % 3]);
        check(&model(&mut random, depth, 2, thresholds), &format_args!("large seed {seed}"));
    }
}

/// Replaces the trees by some with this number of leaves, of any shape: some paths are long. The
/// leaves of a pure forest add 1 to one sum and 0 to the others.
fn with_trees(file: &mut File, random: &mut Random, trees: usize, leaves: usize, pure: bool) {
    let tests: usize = file.columns.iter().map(|column| column.tests.len()).sum();
    let groups = file.intercepts.len();
    (file.trees, file.nodes, file.leaves) = (Vec::new(), Vec::new(), Vec::new());
    if pure {
        file.intercepts.fill(0.0);
    }
    let different = if random.coin() { 3 } else { 1000 };
    for _ in 0..trees {
        let group = (!pure && random.coin()).then(|| random.below(groups) as u32);
        let (first, values) = (file.nodes.len(), file.leaves.len());
        let mut open = alloc::vec![leaves];
        while let Some(size) = open.pop() {
            if size == 1 || tests == 0 {
                file.nodes.push(LEAF);
                let class = random.below(groups);
                let width = if group.is_some() { 1 } else { groups };
                let value = |at: usize| match pure {
                    true => f64::from(u8::from(at == class)),
                    false => random.below(different) as f64 / 64.0 - 1.0,
                };
                file.leaves.extend((0..width).map(value));
                continue;
            }
            file.nodes.push(random.below(tests) as u32);
            let most = if random.below(3) == 0 { 2.min(size - 1) } else { size - 1 };
            let left = 1 + random.below(most);
            open.extend([size - left, left]);
        }
        file.trees.push(Tree { group, weight: 1.0, nodes: first..file.nodes.len(), values });
    }
}

/// Forests whose trees are walked on every path, in batches that fill several blocks or a part of
/// one. Some have leaves that can be counted.
#[test]
fn deep_forests_give_the_bits_of_a_plain_walk() {
    let (mut counted, mut added) = (0, 0);
    for seed in 0..if cfg!(miri) { 1 } else { 12 } {
        let mut random = Random(1 << 41 | seed);
        let features = 1 + random.below(12) as u32;
        let thresholds = [30, 400][random.below(2)];
        let mut file = model_of(&mut random, features, 0, 0, thresholds);
        let leaves = if cfg!(miri) { 200 } else { 1600 + random.below(500) };
        with_trees(&mut file, &mut random, 3, leaves, seed % 2 == 0);
        let model = Model::of(file.clone()).unwrap();
        let large = model.large().unwrap();
        counted += u32::from(large.walks_all());
        added += u32::from(!large.walks_all());
        check(&file, &format_args!("forest {seed}"));
        let width = model.features();
        let cover = model.cover_rows();
        let count = if cfg!(miri) { 20 } else { 2600 };
        let values: Vec<f64> = cover.iter().copied().cycle().take(count * width).collect();
        let rows = |count: usize| Rows::row_major(&values[..count * width], width).unwrap();
        let mut expected = alloc::vec![0.0; count * model.outputs()];
        model.raw_scores_on(Path::Scalar, rows(count), &mut expected).unwrap();
        for path in Path::available() {
            for count in [1, 2, 5, 6, 7, 8, 9, 63, 100, 512, 513, 2048, 2049, count] {
                let count = count.min(rows(values.len() / width).count());
                let mut scores = alloc::vec![0.0; count * model.outputs()];
                model.raw_scores_on(path, rows(count), &mut scores).unwrap();
                same(
                    &scores,
                    &expected[..scores.len()],
                    &format_args!("forest {seed}, {path}, {count} rows"),
                );
            }
        }
    }
    assert!(cfg!(miri) || counted >= 3 && added >= 3, "{counted} with counted leaves, {added} others");
}

/// More tests than those whose masks are kept, with trees of all sizes: some are walked, some make
/// their own masks.
#[test]
fn many_tests_and_trees_of_all_sizes_give_the_bits_of_a_plain_walk() {
    for seed in 0..1 {
        let mut random = Random(1 << 43 | seed);
        let mut file = model_of(&mut random, 12, 0, 0, if cfg!(miri) { 20 } else { 4000 });
        let tests: usize = file.columns.iter().map(|column| column.tests.len()).sum();
        let (mut trees, mut nodes, mut leaves) = (Vec::new(), Vec::new(), Vec::new());
        for (count, size) in [(4, 20), (2, 90), (2, 600), (1, 2000), (tests / 300, 300)] {
            with_trees(&mut file, &mut random, count.min(if cfg!(miri) { 1 } else { 70 }), size, false);
            trees.extend(file.trees.drain(..).map(|tree| Tree {
                nodes: tree.nodes.start + nodes.len()..tree.nodes.end + nodes.len(),
                values: tree.values + leaves.len(),
                ..tree
            }));
            nodes.append(&mut file.nodes);
            leaves.append(&mut file.leaves);
        }
        (file.trees, file.nodes, file.leaves) = (trees, nodes, leaves);
        let words = Model::of(file.clone()).unwrap().sliced().words.len();
        assert!(cfg!(miri) || words > 1 << 14, "only {words} tests");
        check(&file, &format_args!("many tests, seed {seed}"));
    }
}

/// Tables of more columns than are read at a time.
#[test]
fn wide_tables_give_the_bits_of_a_plain_walk() {
    for seed in 0..if cfg!(miri) { 1 } else { 8 } {
        let mut random = Random(1 << 45 | seed);
        let features = 15 + random.below(40) as u32;
        let mut file = model_of(&mut random, features, 5, 40, 9);
        if seed % 2 == 0 {
            let numbers = file.columns.iter_mut().filter(|column| matches!(column.tests, Tests::Numbers(_)));
            numbers.for_each(|column| column.kind = [Kind::Less, Kind::LessOrEqual][random.below(2)]);
        }
        check(&file, &format_args!("{features} columns, seed {seed}"));
    }
}

/// Trees in which all splits of a level have the same test, as CatBoost makes them, up to the
/// largest depth that it has, and beside trees of other shapes.
#[test]
fn trees_with_one_test_a_level_give_the_bits_of_a_plain_walk() {
    for seed in 0..if cfg!(miri) { 1 } else { 40 } {
        let mut random = Random(1 << 42 | seed);
        let features = 1 + random.below(6) as u32;
        let mut file = model_of(&mut random, features, 3, 2, 12);
        let tests: usize = file.columns.iter().map(|column| column.tests.len()).sum();
        for depth in [random.below(4), random.below(11), if seed % 10 == 0 && !cfg!(miri) { 16 } else { 5 }] {
            let level: Vec<u32> = (0..depth).map(|_| random.below(tests) as u32).collect();
            let group = random.coin().then_some(0);
            let (first, values) = (file.nodes.len(), file.leaves.len());
            let mut open = alloc::vec![0];
            while let Some(at) = open.pop() {
                match level.get(at) {
                    Some(&test) if tests > 0 => {
                        file.nodes.push(test);
                        open.extend([at + 1, at + 1]);
                    }
                    _ => {
                        file.nodes.push(LEAF);
                        let width = if group.is_some() { 1 } else { file.intercepts.len() };
                        file.leaves.extend((0..width).map(|_| random.below(1000) as f64 / 64.0));
                    }
                }
            }
            file.trees.push(Tree { group, weight: 1.0, nodes: first..file.nodes.len(), values });
        }
        check(&file, &format_args!("levels {seed}"));
    }
}

/// Sparse rows give the bits of the same rows with all their values, whether absent values are zero
/// or missing, and whether or not the model works on the values that are present.
#[test]
fn sparse_rows_give_the_bits_of_full_ones() {
    let mut direct = 0;
    let most = if cfg!(miri) { 132 } else { 700 };
    for seed in 0..fewer(120) {
        let mut random = Random(1 << 44 | seed);
        let features = 1 + random.below(if seed % 3 > 0 { 4 } else { 30 }) as u32;
        let (depth, trees) = (random.below(7), 1 + random.below(30));
        let mut file = model_of(&mut random, features, depth, trees, 12);
        if seed % 3 > 0 {
            // Only comparisons of numbers, as most models have.
            let numbers = file.columns.iter_mut().filter(|column| matches!(column.tests, Tests::Numbers(_)));
            numbers.for_each(|column| column.kind = [Kind::Less, Kind::LessOrEqual][random.below(2)]);
            (file.domain.missing, file.domain.infinities) = (true, true);
        }
        let model = Model::of(file.clone()).unwrap();
        direct += u32::from(
            model.file.categories.is_empty() && model.sliced().direct.iter().all(|of| !of.is_empty()),
        );
        let width = model.features();
        let accepted = |feature: usize, value: f64| file.read_value(feature, value).is_some();
        let absent = if (0..width).all(|feature| accepted(feature, f64::NAN)) && random.coin() {
            f64::NAN
        } else {
            0.0
        };
        let cover = model.cover_rows();
        let (mut starts, mut columns, mut values) = (alloc::vec![0], Vec::new(), Vec::new());
        let mut full = Vec::new();
        for row in cover.chunks(width).cycle().take(most) {
            for (column, &value) in row.iter().enumerate() {
                let present = random.below(4) == 0;
                full.push(if present { value } else { absent });
                if present {
                    columns.push(column as u32);
                    values.push(value);
                }
            }
            starts.push(columns.len());
        }
        let outputs = model.outputs();
        let mut expected = alloc::vec![0.0; most * outputs];
        model.raw_scores_on(Path::Scalar, Rows::row_major(&full, width).unwrap(), &mut expected).unwrap();
        for path in Path::available() {
            for count in [0, 1, 60, 130, most] {
                let rows =
                    crate::SparseRows::new(&starts[..=count], &columns, &values, width, absent).unwrap();
                let mut scores = alloc::vec![0.0; count * outputs];
                model.raw_scores_of_sparse(path, rows, 2, &mut scores).unwrap();
                same(&scores, &expected[..count * outputs], &format_args!("sparse {seed}, {path}, {count}"));
            }
        }
    }
    assert!(cfg!(miri) || direct >= 10, "{direct} models work on the values that are present");
}

#[test]
fn sparse_rows_that_are_none_are_refused() {
    let of = |starts: &[usize], columns: &[u32]| {
        crate::SparseRows::new(starts, columns, &alloc::vec![1.0f32; columns.len()], 3, 0.0).is_ok()
    };
    assert!(of(&[0, 2, 2, 3], &[0, 2, 1]));
    for (starts, columns) in [
        (&[][..], &[][..]),
        (&[0, 2], &[1, 1]),
        (&[0, 2], &[2, 1]),
        (&[0, 1], &[3]),
        (&[0, 2], &[1]),
        (&[2, 0], &[0, 1]),
    ] {
        assert!(!of(starts, columns), "{starts:?}, {columns:?}");
    }
}

#[test]
fn more_thresholds_than_a_wide_column_counts_give_the_bits_of_a_plain_walk() {
    const COUNT: usize = 140_000;
    let mut random = Random(1 << 33);
    let mut file = model_of(&mut random, 1, 0, 0, 1);
    file.domain = Domain { number: Number::F64, missing: true, infinities: true, zero_window: None };
    file.categories.clear();
    let numbers = (0..COUNT).map(|number| number as f64).collect();
    let kind = Kind::LessOrEqual;
    file.columns =
        alloc::vec![Column { feature: 0, kind, missing_left: false, tests: Tests::Numbers(numbers) }];
    // A full tree of ten levels: large enough to be walked on every path.
    let mut open = alloc::vec![0];
    while let Some(depth) = open.pop() {
        if depth < 10 {
            file.nodes.push(random.below(COUNT) as u32);
            open.extend([depth + 1; 2]);
        } else {
            file.nodes.push(LEAF);
            file.leaves.push(file.leaves.len() as f64);
        }
    }
    file.trees = alloc::vec![Tree { group: Some(0), weight: 1.0, nodes: 0..file.nodes.len(), values: 0 }];
    let mut values: Vec<f64> =
        (0..if cfg!(miri) { 80 } else { 2000 }).map(|_| random.below(COUNT + 2) as f64 - 0.5).collect();
    values.extend([
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        65_534.0,
        65_535.0,
        65_536.0,
        131_070.0,
        131_071.0,
    ]);
    let expected: Vec<f64> = values.iter().flat_map(|&value| walked(&file, &[value])).collect();
    let model = Model::of(file).unwrap();
    for path in Path::available() {
        let mut scores = alloc::vec![0.0; expected.len()];
        model.raw_scores_on(path, Rows::row_major(&values, 1).unwrap(), &mut scores).unwrap();
        same(&scores, &expected, &path);
    }
}

#[test]
fn every_number_of_rows_gives_the_same_bits() {
    for seed in 0..if cfg!(miri) { 1 } else { 3 } {
        let mut random = Random(7 + seed);
        let file = model(&mut random, 6, 20, 40);
        let model = Model::of(file).unwrap();
        let width = model.features();
        let cover = model.cover_rows();
        let values: Vec<f64> = cover.iter().copied().cycle().take(1000 * width).collect();
        let mut expected = alloc::vec![0.0; 1000 * model.outputs()];
        model.raw_scores_on(Path::Scalar, Rows::row_major(&values, width).unwrap(), &mut expected).unwrap();
        for path in Path::available() {
            // The first model has every number of rows on every path; for the others the slow path
            // has every seventh.
            for count in (1..=1000).filter(|count| seed == 0 || path != Path::Portable || count % 7 == 0) {
                if cfg!(miri) && count % 331 != 2 {
                    continue;
                }
                let mut scores = alloc::vec![0.0; count * model.outputs()];
                model
                    .raw_scores_on(
                        path,
                        Rows::row_major(&values[..count * width], width).unwrap(),
                        &mut scores,
                    )
                    .unwrap();
                same(&scores, &expected[..scores.len()], &format_args!("{path}, {count} rows"));
            }
        }
    }
}

#[test]
fn what_the_library_refuses_is_refused_at_its_place() {
    let mut random = Random(3);
    let mut file = model(&mut random, 3, 3, 5);
    file.domain = Domain { number: Number::F32, missing: false, infinities: false, zero_window: None };
    let model = Model::of(file).unwrap();
    let width = model.features();
    for path in Path::available() {
        for bad in [0, 63, 400, 511, 512, 555, 599] {
            if cfg!(miri) && bad % 7 != 1 {
                continue;
            }
            for (value, feature) in [(f64::NAN, 0), (1e39, width - 1)] {
                let mut values = alloc::vec![1.0; 600 * width];
                values[bad * width + feature] = value;
                let mut scores = alloc::vec![0.0; 600 * model.outputs()];
                let rows = Rows::row_major(&values, width).unwrap();
                for threads in [1, 2] {
                    let error = model.raw_scores_by_threads(path, rows, threads, &mut scores).unwrap_err();
                    let crate::PredictError::Refused { row, feature: found, .. } = error else {
                        panic!("{error}")
                    };
                    assert_eq!((row, found), (bad, feature), "{path}");
                }
            }
        }
    }
}

/// Single rows, in models whose byte columns fit into one, two or four registers or are too many;
/// with trees that fill blocks or do not; with more trees than are added up at once; and with more
/// leaves than a byte can count.
#[test]
fn one_row_at_a_time_gives_the_bits_of_a_plain_walk() {
    let mut seen = [0; 4];
    let (mut many, mut large, mut byte) = (0, 0, 0);
    for seed in 0..fewer(150) {
        let mut random = Random(1 << 40 | seed);
        let features = [2, 5, 9, 14, 22, 40][seed as usize % 6];
        let depth = [1, 3, 5, 6, 8, 9, 11][random.below(7)];
        let trees = [1, 7, 63, 64, 65, 130, 1100][random.below(7)];
        let trees = match depth {
            0..=3 => trees,
            4..=7 => trees.min(130),
            _ => 5,
        };
        let mut file = model_of(&mut random, features, depth, trees, 30);
        if seed % 3 == 0 {
            // Features that have only comparisons of numbers are read in a different way.
            let numbers = file.columns.iter_mut().filter(|column| matches!(column.tests, Tests::Numbers(_)));
            numbers.for_each(|column| column.kind = [Kind::Less, Kind::LessOrEqual][random.below(2)]);
        }
        let model = Model::of(file.clone()).unwrap();
        many += u32::from(trees > 1024);
        large += u32::from(model.plan.roots.iter().any(|root| root.leaves > 256));
        byte += u32::from(model.plan.roots.iter().any(|root| (129..=256).contains(&root.leaves)));
        let columns = model.plan.columns;
        seen[columns.div_ceil(64).next_power_of_two().trailing_zeros().min(3) as usize] += 1;
        let width = model.features();
        let values = model.cover_rows();
        let every = values.len() / width / if cfg!(miri) { 2 } else { 60 } + 1;
        for row in values.chunks(width).step_by(every) {
            let expected = walked(&file, row);
            for path in Path::available() {
                let mut scores = alloc::vec![0.0; expected.len()];
                model.raw_scores_on(path, Rows::row_major(row, width).unwrap(), &mut scores).unwrap();
                same(&scores, &expected, &format_args!("seed {seed}, {path}, {columns} columns"));
            }
        }
    }
    let least = if cfg!(miri) { 0 } else { 10 };
    assert!(seen.iter().all(|&count| count >= least), "models by their number of columns: {seen:?}");
    let sizes = [many, large, byte];
    assert!(
        sizes.iter().all(|&count| count >= least / 2),
        "models with many trees and large ones: {sizes:?}"
    );
}
