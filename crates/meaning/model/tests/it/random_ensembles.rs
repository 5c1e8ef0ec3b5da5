//! Properties of random ensembles of every kind: the fast predictor against a plain walk, the grid
//! against sampled inputs, the rounding bound against every cell.

use fastrand::Rng;
use secateur_model::{
    Accumulation, CellId, ClassId, ClassLabels, Decision, Domain, Ensemble, EnsembleBuilder, Exact, Features,
    Grid, GroupId, Intake, InterceptPosition, NumberType, Order, Output, Predictor, TreeBuilder,
};
use secateur_testkit::{Shape, all_cells, ensemble, every_row, small_float};

const CASES: u64 = 1500;

fn cases() -> impl Iterator<Item = (u64, Rng, Ensemble)> {
    (0..CASES).map(|seed| {
        let mut rng = Rng::with_seed(seed);
        let shape = Shape::random(&mut rng);
        let model = ensemble(&mut rng, &shape);
        (seed, rng, model)
    })
}

/// The same, and those that accept missing values a second time without them.
fn scoped_cases() -> impl Iterator<Item = (u64, Rng, Ensemble)> {
    cases().flat_map(|(seed, rng, model)| {
        let narrow = model.within(&Domain::no_missing()).unwrap().into_owned();
        let narrow = (narrow.domain().clone() == Domain::no_missing()).then(|| (seed, rng.clone(), narrow));
        [(seed, rng, model)].into_iter().chain(narrow)
    })
}

/// The same as [`cases`], half of them with intercepts that are known only up to an error: large or
/// tiny compared with the rounding, sometimes larger than the intercept itself.
fn uncertain_cases() -> impl Iterator<Item = (u64, Rng, Ensemble)> {
    cases().map(|(seed, mut rng, model)| {
        if seed % 2 == 0 {
            return (seed, rng, model);
        }
        let mut builder = EnsembleBuilder::new(
            model.features().clone(),
            *model.intake(),
            model.classes().clone(),
            model.intercepts().to_vec(),
            *model.accumulation(),
            *model.decision(),
        )
        .unwrap();
        let unit = model.accumulation().number.unit_roundoff();
        let errors = (0..model.group_count()).map(|_| unit * f64::from(2u32.pow(rng.u32(0..30)))).collect();
        builder.intercept_errors(errors).unwrap();
        if let Some(scale) = model.scale() {
            builder.scale(scale).unwrap();
        }
        for tree in model.trees() {
            builder.finished_tree(tree.clone()).unwrap();
        }
        (seed, rng, builder.build())
    })
}

/// The library's arithmetic, written as plainly as possible.
fn plain_scores(model: &Ensemble, row: &[f64]) -> (Vec<f64>, ClassId) {
    let how = model.accumulation();
    let first = how.intercept == InterceptPosition::First;
    let mut sums: Vec<f64> = model.intercepts().iter().map(|&v| if first { v } else { 0.0 }).collect();
    let row: Vec<f64> = row.iter().map(|&v| model.intake().read(v).unwrap()).collect();
    for (tree, leaf) in model.trees().iter().zip(model.leaves(&row)) {
        for (offset, &value) in tree.leaf(leaf).iter().enumerate() {
            let group = match tree.output() {
                Output::Group(group) => group.index(),
                Output::All => offset,
            };
            let weight = if model.scale().is_some() { 1.0 } else { tree.weight() };
            sums[group] = how.number.round(sums[group] + how.number.round(weight * value));
        }
    }
    if let Some(scale) = model.scale() {
        sums.iter_mut().for_each(|sum| *sum = how.number.round(*sum * scale));
    }
    if !first && (model.scale().is_none() || model.intercepts().iter().any(|&v| v != 0.0)) {
        for (sum, intercept) in sums.iter_mut().zip(model.intercepts()) {
            *sum = how.number.round(*sum + intercept);
        }
    }
    let divided: Vec<f64> = match how.average {
        Some(average) => sums.iter().map(|s| how.number.round(s / average.divisor)).collect(),
        None => sums.clone(),
    };
    let class = model.decision().class(&divided);
    let in_raw = how.average.is_some_and(|average| average.in_raw_scores);
    (if in_raw { divided } else { sums }, class)
}

/// A random input that the model accepts.
fn random_row(rng: &mut Rng, model: &Ensemble) -> Vec<f64> {
    let value = |rng: &mut Rng| loop {
        let value = match rng.u32(0..6) {
            0 => f64::NAN,
            1 => f64::from(rng.i32(-2..9)) * 0.5,
            2 => *rng.choice(&[f64::INFINITY, f64::NEG_INFINITY]).unwrap(),
            _ => small_float(rng),
        };
        if model.intake().read(value).is_some() {
            return value;
        }
    };
    loop {
        let row: Vec<f64> = (0..model.features().len()).map(|_| value(rng)).collect();
        // Some categorical columns refuse values that other columns accept.
        if model.accepts(&row) {
            return row;
        }
    }
}

#[test]
fn the_fast_predictor_gives_the_bits_of_a_plain_walk() {
    for (seed, mut rng, model) in cases() {
        let predictor = Predictor::new(&model);
        let rows: Vec<Vec<f64>> = (0..70).map(|_| random_row(&mut rng, &model)).collect();
        let flat: Vec<f64> = rows.concat();
        let scores = predictor.raw_scores(&flat).unwrap();
        let classes = predictor.classes(&flat).unwrap();
        for (index, row) in rows.iter().enumerate() {
            let (plain, class) = plain_scores(&model, row);
            let ours = &scores[index * plain.len()..][..plain.len()];
            let bits = |values: &[f64]| values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(ours), bits(&plain), "seed {seed}, row {row:?}");
            assert_eq!(classes[index], class, "seed {seed}, row {row:?}");
        }
    }
}

#[test]
fn inputs_of_one_cell_reach_the_same_leaves() {
    for (seed, mut rng, model) in scoped_cases() {
        let grid = Grid::new(&[&model]).unwrap();
        for _ in 0..60 {
            let row = random_row(&mut rng, &model);
            let cells = grid.cells_of(&row).unwrap();
            let witness = grid.witness(&cells);
            let read = |row: &[f64]| row.iter().map(|&v| model.intake().read(v).unwrap()).collect::<Vec<_>>();
            assert_eq!(
                model.leaves(&read(&row)).collect::<Vec<_>>(),
                model.leaves(&read(&witness)).collect::<Vec<_>>(),
                "seed {seed}: {row:?} and {witness:?} are in the same cell"
            );
        }
    }
}

#[test]
fn a_joint_grid_tells_apart_what_either_model_does() {
    let mut mixed = 0;
    for seed in 0..CASES {
        let mut rng = Rng::with_seed(seed);
        let mut shapes = [Shape::random(&mut rng), Shape::random(&mut rng)];
        shapes[1].features = shapes[0].features;
        shapes[1].categorical = shapes[1].categorical.min(shapes[1].features);
        let [first, second] = shapes.each_ref().map(|shape| ensemble(&mut rng, shape));
        mixed += u32::from(shapes[0].categorical > 0 && shapes[0].rule != shapes[1].rule);
        let grid = Grid::new(&[&first, &second]).unwrap();
        // The cells that each split sends left, judged by the cells' witnesses.
        for model in [&first, &second] {
            for split in model.trees().iter().flat_map(|tree| tree.splits()) {
                let axis = &grid.axes()[grid.axis_of(split.feature).unwrap()];
                let left = axis.left_cells(model, split, grid.intake());
                let goes = |&cell: &CellId| {
                    model.goes_left(split, model.intake().read(axis.witness(cell, grid.intake())).unwrap())
                };
                let expected: Vec<CellId> = (0..axis.len()).map(CellId::new).filter(goes).collect();
                assert_eq!(left.iter().collect::<Vec<_>>(), expected, "seed {seed}, {split:?}");
                assert_eq!(
                    left.count() + left.other_ranges().map(|(from, to)| (to - from) as usize).sum::<usize>(),
                    axis.len()
                );
                assert!(
                    (0..axis.len())
                        .map(CellId::new)
                        .all(|cell| left.contains(cell) == expected.contains(&cell))
                );
            }
        }
        for _ in 0..60 {
            let row = random_row(&mut rng, &first);
            // Only values that both models read unchanged: the joint domain may be narrower.
            let row: Vec<f64> = row.iter().map(|&v| grid.intake().number.round(v)).collect();
            if ![&first, &second].iter().all(|model| model.accepts(&row))
                || row.iter().any(|&v| grid.intake().read(v).is_none())
            {
                continue;
            }
            let witness = grid.witness(&grid.cells_of(&row).unwrap());
            for model in [&first, &second] {
                let read =
                    |row: &[f64]| row.iter().map(|&v| model.intake().read(v)).collect::<Option<Vec<_>>>();
                assert_eq!(
                    model.leaves(&read(&row).unwrap()).collect::<Vec<_>>(),
                    model.leaves(&read(&witness).unwrap()).collect::<Vec<_>>(),
                    "seed {seed}: {row:?} and {witness:?} are in the same cell"
                );
            }
        }
    }
    assert!(mixed > 100, "only {mixed} pairs read categories differently");
}

#[test]
fn every_cell_has_a_witness_that_lies_in_it() {
    for (seed, _, model) in scoped_cases() {
        let grid = Grid::new(&[&model]).unwrap();
        for cells in all_cells(&grid).take(3000) {
            let row = grid.witness(&cells);
            assert_eq!(grid.cells_of(&row), Some(cells), "seed {seed}, row {row:?}");
        }
    }
}

#[test]
fn a_scope_without_missing_values_leaves_out_their_cells_and_nothing_else() {
    let (mut narrowed, mut unseen, mut as_they_are, mut refused) = (0, 0, 0, 0);
    for (seed, mut rng, model) in cases() {
        let narrow = model.within(&Domain::no_missing()).unwrap();
        assert_eq!(
            *narrow.within(&Domain::everything()).unwrap(),
            model,
            "seed {seed}: a scope is set, not only narrowed"
        );
        if !model.intake().missing {
            assert_eq!(*narrow, model, "seed {seed}: nothing to leave out");
            as_they_are += 1;
            continue;
        }
        assert_eq!((narrow.domain().clone(), narrow.accepts_missing()), (Domain::no_missing(), true));
        let [all, some] = [&model, &*narrow].map(|model| Grid::new(&[model]).unwrap());
        for (before, after) in all.axes().iter().zip(some.axes()) {
            // The missing cell is removed, and if unseen categories were in it, they get a cell of
            // their own.
            let counts_unseen = !before.is_numeric()
                && model.features().categories(before.feature()).is_some_and(|c| c.unseen_is_missing);
            // Some categorical columns refuse missing values anyway.
            let missing = model.features().accepts_missing(before.feature());
            assert_eq!(before.missing_cell().is_some(), missing, "seed {seed}");
            assert_eq!(after.missing_cell(), None);
            let expected = before.len() - usize::from(missing) + usize::from(counts_unseen);
            assert_eq!(after.len(), expected, "seed {seed}");
            refused += u32::from(!missing);
            unseen += u32::from(counts_unseen);
        }
        for _ in 0..20 {
            let row = random_row(&mut rng, &model);
            // Such a row is not an input of the scope, whether or not a split uses the missing
            // column.
            let missing = row.iter().any(|value| value.is_nan());
            assert_eq!(some.cells_of(&row).is_none(), missing, "seed {seed}: {row:?}");
        }
        assert!(every_row(&some).take(3000).all(|row| row.iter().all(|value| !value.is_nan())));
        narrowed += 1;
    }
    let enough = narrowed > 300 && unseen > 20 && as_they_are > 300 && refused > 20;
    assert!(enough, "{narrowed} {unseen} {as_they_are} {refused}");
}

#[test]
fn the_left_cells_of_a_split_are_those_whose_witness_goes_left() {
    for (seed, _, model) in scoped_cases() {
        let grid = Grid::new(&[&model]).unwrap();
        for split in model.trees().iter().flat_map(|tree| tree.splits()) {
            let axis = &grid.axes()[grid.axis_of(split.feature).unwrap()];
            let left = axis.left_cells(&model, split, grid.intake());
            for cell in (0..axis.len()).map(secateur_model::CellId::new) {
                let value = model.intake().read(axis.witness(cell, grid.intake())).unwrap();
                assert_eq!(
                    left.contains(cell),
                    model.goes_left(split, value),
                    "seed {seed}, {split:?}, {value}"
                );
            }
        }
    }
}

#[test]
fn no_cell_is_further_from_the_exact_score_than_the_rounding_bound() {
    let (mut tight, mut tighter) = (0, 0);
    for (seed, mut rng, model) in uncertain_cases() {
        // Tests the tighter of the two bounds, so that the result holds for both.
        let (loose, rounding) = (model.rounding().unwrap(), model.score_rounding().unwrap());
        for (loose, tight) in loose.scores.iter().zip(&rounding.scores) {
            assert!(tight <= loose, "seed {seed}: {tight} above {loose}");
            tighter += u32::from(*tight < 0.8 * loose);
        }
        let grid = Grid::new(&[&model]).unwrap();
        let divisor = model.accumulation().divisor();
        for row in every_row(&grid).take(2000) {
            let read: Vec<f64> = row.iter().map(|&v| model.intake().read(v).unwrap()).collect();
            let exact = model.exact_sums(model.leaves(&read));
            let orders = if model.scores_vary() { 3 } else { 1 };
            for _ in 0..orders {
                let rounded = decided_scores(&mut rng, &model, &read);
                for (group, (sum, score)) in exact.iter().zip(&rounded).enumerate() {
                    // |score - sum/divisor| * divisor
                    let scaled = &Exact::from_f64(*score).unwrap() * &Exact::from_f64(divisor).unwrap();
                    let error = (&scaled - sum).abs();
                    let bound = &Exact::from_f64(rounding.scores[group]).unwrap()
                        * &Exact::from_f64(divisor).unwrap();
                    assert!(error <= bound, "seed {seed}, group {group}: {error:?} above {bound:?}");
                    let half = &bound * &Exact::from_f64(0.1).unwrap();
                    tight += u32::from(!error.is_zero() && error > half);
                }
            }
        }
    }
    assert!(tight > 100, "the bound is never nearly met ({tight} times): it is too loose to mean anything");
    assert!(tighter > 100, "the bound for scores is no tighter ({tighter} times)");
}

#[test]
fn the_bound_for_scores_is_nearly_met_where_every_addition_rounds_the_same_way() {
    // Each addition after the first rounds up by almost half a unit in the last place of 1.
    let bit = f64::from(1.01f32) * 0.5f64.powi(24);
    for order in [Order::File, Order::Any] {
        let number = NumberType::F32;
        let accumulation = Accumulation { number, intercept: InterceptPosition::First, order, average: None };
        let intake = Intake { number, missing: false, infinities: false, zero_window: None };
        let decision = Decision::Threshold { group: GroupId(0), threshold: 0.0, strict: true };
        let (features, classes) = (Features::unnamed(1), ClassLabels::Unnamed(2));
        let mut builder =
            EnsembleBuilder::new(features, intake, classes, vec![1.0], accumulation, decision).unwrap();
        for _ in 0..50 {
            let mut tree = TreeBuilder::new();
            tree.leaf(&[bit]);
            builder.tree(tree, Output::Group(GroupId(0)), 1.0).unwrap();
        }
        let model = builder.build();
        let score = Predictor::new(&model).raw_scores(&[0.0]).unwrap()[0];
        let exact = model.exact_sums(model.leaves(&[0.0])).remove(0);
        let error = (&Exact::from_f64(score).unwrap() - &exact).abs().to_f64();
        let bound = model.score_rounding().unwrap().scores[0];
        assert!(error <= bound && error > 0.9 * bound, "{error} {bound}");
    }
}

#[test]
fn no_cell_is_further_from_the_exact_score_than_the_bounds_that_know_the_input() {
    let number = |value: f64| Exact::from_f64(value).unwrap();
    let (mut tight, mut tighter) = (0, 0);
    for (seed, mut rng, model) in uncertain_cases() {
        let Some(local) = model.local_rounding() else { continue };
        let global = model.rounding().unwrap();
        let grid = Grid::new(&[&model]).unwrap();
        let divisor = number(model.accumulation().divisor());
        let factor = &number(local.factor as f64) * &number(0.5f64.powi(local.factor_bits as i32));
        for row in every_row(&grid).take(500) {
            let read: Vec<f64> = row.iter().map(|&v| model.intake().read(v).unwrap()).collect();
            let leaves: Vec<_> = model.leaves(&read).collect();
            let exact = model.exact_sums(leaves.iter().copied());
            let mut bounds: Vec<Exact> = local.fixed.iter().map(|&fixed| &number(fixed) * &divisor).collect();
            for ((tree, &leaf), &steps) in model.trees().iter().zip(&leaves).zip(&local.steps) {
                let first = match tree.output() {
                    Output::Group(group) => group.index(),
                    Output::All => 0,
                };
                for (value, bound) in tree.leaf(leaf).iter().zip(&mut bounds[first..]) {
                    let magnitude = (&number(tree.weight()) * &number(*value)).abs();
                    *bound += &(&(&magnitude * &number(steps as f64)) * &factor);
                }
            }
            let at = model.certain_margin_at(&leaves, local.gap).unwrap();
            for _ in 0..3 {
                let rounded = decided_scores(&mut rng, &model, &read);
                for (group, (sum, score)) in exact.iter().zip(&rounded).enumerate() {
                    let error = (&(&number(*score) * &divisor) - sum).abs();
                    assert!(error <= bounds[group], "seed {seed}, group {group}: {error:?}");
                    let both = if exact.len() > 1 { number(2.0) } else { number(1.0) };
                    assert!(&error * &both <= &number(at) * &divisor, "seed {seed}: {error:?} above {at}");
                    tight += u32::from(!error.is_zero() && error > &bounds[group] * &number(0.1));
                    tighter += u32::from(bounds[group] < &number(global.scores[group]) * &divisor);
                }
            }
        }
    }
    assert!(tight > 100 && tighter > 1000, "{tight} {tighter}: too loose to mean anything");
}

#[test]
fn an_intercept_that_comes_last_counts_as_one_addition_more() {
    // Each addition rounds up by almost half a unit in the last place of 1.
    let bit = f64::from(1.01f32) * 0.5f64.powi(24);
    let accumulation = Accumulation {
        number: NumberType::F32,
        intercept: InterceptPosition::Last,
        order: Order::File,
        average: None,
    };
    let intake = Intake { number: NumberType::F32, missing: false, infinities: false, zero_window: None };
    let decision = Decision::Threshold { group: GroupId(0), threshold: 0.0, strict: true };
    let features = Features::unnamed(1);
    let classes = ClassLabels::Unnamed(2);
    let mut builder =
        EnsembleBuilder::new(features, intake, classes, vec![bit], accumulation, decision).unwrap();
    for value in [bit, 1.0] {
        let mut tree = TreeBuilder::new();
        tree.leaf(&[value]);
        builder.tree(tree, Output::Group(GroupId(0)), 1.0).unwrap();
    }
    let model = builder.build();
    let error = decided_scores(&mut Rng::with_seed(0), &model, &[0.0])[0] - (1.0 + 2.0 * bit);
    let local = model.local_rounding().unwrap();
    let unit = 0.5f64.powi(24);
    assert!(error > 1.9 * unit);
    assert_eq!(local.steps, [2, 2]);
    assert!(error < local.fixed[0] + unit * (local.steps[1] as f64 + 1e-6));
}

#[test]
fn multiplying_a_sum_is_a_rounding_of_its_own() {
    // Products and the sums that follow them often round the same way, so bounds that leave one of
    // the two out are too small.
    let mut rng = Rng::with_seed(7);
    let number = NumberType::F32;
    let (mut nearest, mut nearest_local, mut nearest_here) = (0.0f64, 0.0f64, 0.0f64);
    for _ in 0..20_000 {
        let [leaf, scale] = [0, 1].map(|_| number.round(1.0 + rng.f64()));
        let intercept = number.round(rng.f64() * 1e-3);
        let accumulation =
            Accumulation { number, intercept: InterceptPosition::Last, order: Order::File, average: None };
        let intake = Intake { number, missing: false, infinities: false, zero_window: None };
        let decision = Decision::Threshold { group: GroupId(0), threshold: 0.0, strict: true };
        let (features, classes) = (Features::unnamed(1), ClassLabels::Unnamed(2));
        let mut builder =
            EnsembleBuilder::new(features, intake, classes, vec![intercept], accumulation, decision).unwrap();
        builder.scale(scale).unwrap();
        let mut tree = TreeBuilder::new();
        tree.leaf(&[leaf]);
        builder.tree(tree, Output::Group(GroupId(0)), scale).unwrap();
        let model = builder.build();
        let leaves: Vec<_> = model.leaves(&[0.0]).collect();
        let score = Predictor::new(&model).raw_scores(&[0.0]).unwrap()[0];
        let exact = model.exact_sums(leaves.iter().copied()).remove(0);
        let error = (&Exact::from_f64(score).unwrap() - &exact).abs().to_f64_up();
        let bound = model.rounding().unwrap().scores[0];
        let local = model.local_rounding().unwrap();
        let factor = local.factor as f64 * 0.5f64.powi(local.factor_bits as i32);
        let known = local.fixed[0] + factor * local.steps[0] as f64 * scale * leaf;
        let here = model.certain_margin_at(&leaves, 0.0).unwrap();
        assert!(error <= bound && error <= known && error <= here, "{leaf} * {scale} + {intercept}");
        nearest = nearest.max(error / bound);
        nearest_local = nearest_local.max(error / known);
        nearest_here = nearest_here.max(error / here);
    }
    assert!(
        nearest > 0.75 && nearest_local > 0.75 && nearest_here > 0.75,
        "{nearest} {nearest_local} {nearest_here}"
    );
}

/// The scores that the decision uses, with the trees added in a random order if the order is free,
/// and with any intercept that the library may have.
fn decided_scores(rng: &mut Rng, model: &Ensemble, row: &[f64]) -> Vec<f64> {
    let how = model.accumulation();
    let leaves: Vec<_> = model.leaves(row).collect();
    let mut order: Vec<usize> = (0..leaves.len()).collect();
    if how.order == Order::Any {
        rng.shuffle(&mut order);
    }
    (0..model.group_count())
        .map(|group| {
            let first = how.intercept == InterceptPosition::First;
            let error = model.intercept_errors()[group];
            let shift = error * *rng.choice(&[-1.0, -0.5, 0.0, 0.5, 1.0]).unwrap();
            let near = how.number.round(model.intercepts()[group] + shift);
            let number = |value: f64| Exact::from_f64(value).unwrap();
            let apart = (&number(near) - &number(model.intercepts()[group])).abs();
            let intercept = if apart <= number(error) { near } else { model.intercepts()[group] };
            let mut sum = if first { intercept } else { 0.0 };
            for &index in &order {
                let tree = &model.trees()[index];
                let value = match tree.output() {
                    Output::Group(own) if own.index() == group => tree.leaf(leaves[index])[0],
                    Output::Group(_) => continue,
                    Output::All => tree.leaf(leaves[index])[group],
                };
                let weight = if model.scale().is_some() { 1.0 } else { tree.weight() };
                sum = how.number.round(sum + how.number.round(weight * value));
            }
            if let Some(scale) = model.scale() {
                sum = how.number.round(sum * scale);
            }
            if !first {
                sum = how.number.round(sum + intercept);
            }
            how.average.map_or(sum, |average| how.number.round(sum / average.divisor))
        })
        .collect()
}
