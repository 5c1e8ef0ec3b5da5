//! Whole comparisons of random model pairs against brute force, for the exact claim and for the
//! libraries' own decisions.

use fastrand::Rng;
use secateur_model::{
    Accumulation, ClassId, ClassLabels, Decision, Ensemble, EnsembleBuilder, Exact, Grid, NumberType, Order,
    Output, Predictor,
};
use secateur_oracle::{
    Band, CompareError, Comparison, Options, SearchBudget, Undecided, Verdict, exact_class,
};
use secateur_testkit::{Shape, ensemble, every_row, mutate};

const CASES: u64 = 2500;
const ROUNDING_CASES: u64 = 3000;

fn pair(rng: &mut Rng) -> (Ensemble, Ensemble) {
    loop {
        let shape = Shape::random(rng);
        let first = ensemble(rng, &shape);
        let mut second = mutate(rng, &first);
        for _ in 0..rng.u32(0..3) {
            second = mutate(rng, &second);
        }
        if Grid::new(&[&first, &second]).unwrap().log10_cells() < 4.0 {
            return (first, second);
        }
    }
}

/// Every other search joins small boxes; two of every four use only the search over boxes.
fn options(seed: u64) -> Options {
    Options { small_boxes: seed & 1 == 0, shortcuts: seed & 2 == 0, ..Options::unlimited() }
}

#[test]
fn the_exact_claim_is_decided_as_by_brute_force() {
    let (mut same, mut different) = (0, 0);
    for seed in 0..CASES {
        let mut rng = Rng::with_seed(seed);
        let (first, second) = pair(&mut rng);
        let comparison = Comparison::new(&first, &second, Band::Exact).unwrap();
        let expected = every_row(comparison.layout().grid())
            .any(|row| plain_class(&first, &row) != plain_class(&second, &row));
        match comparison.run(&options(seed)).verdict {
            Verdict::Identical => {
                assert!(!expected, "seed {seed}: called identical");
                same += 1;
            }
            Verdict::Different(example) => {
                let classes = [plain_class(&first, &example.row), plain_class(&second, &example.row)];
                assert_eq!(classes, [exact_class(&first, &example.row), exact_class(&second, &example.row)]);
                assert_eq!(example.classes, classes, "seed {seed}");
                assert_ne!(classes[0], classes[1], "seed {seed}: {:?} is no counterexample", example.row);
                different += 1;
            }
            Verdict::Undecided(why) => panic!("seed {seed}: {why:?}"),
        }
    }
    assert!(same > 300 && different > 300, "{same} {different}: a one-sided test");
}

#[test]
fn the_claim_about_libraries_is_decided_as_by_brute_force() {
    let (mut same, mut different, mut open) = (0, 0, 0);
    for seed in 0..CASES {
        let mut rng = Rng::with_seed(seed);
        let (first, second) = pair(&mut rng);
        let comparison = match Comparison::new(&first, &second, Band::Auto) {
            Ok(comparison) => comparison,
            Err(CompareError::NoCertainMargin { .. }) => continue,
            Err(error) => panic!("seed {seed}: {error}"),
        };
        let (ours, theirs) = (Predictor::new(&first), Predictor::new(&second));
        // Inputs in the claim: A's exact winner leads by more than the band.
        let wide = Comparison::new(&first, &first, Band::Score(comparison.band())).unwrap();
        let in_claim = |row: &[f64]| leads(&first, row, wide.band());
        let expected = every_row(comparison.layout().grid())
            .any(|row| in_claim(&row) && ours.classes(&row).unwrap() != theirs.classes(&row).unwrap());
        match comparison.run(&options(seed)).verdict {
            Verdict::Identical => {
                assert!(!expected, "seed {seed}: called identical");
                same += 1;
            }
            Verdict::Different(example) => {
                assert!(in_claim(&example.row), "seed {seed}: outside the claim");
                assert!(example.in_libraries, "seed {seed}");
                let classes =
                    [ours.classes(&example.row).unwrap()[0], theirs.classes(&example.row).unwrap()[0]];
                assert_eq!(example.classes, classes, "seed {seed}");
                assert_ne!(classes[0], classes[1], "seed {seed}: no counterexample");
                different += 1;
            }
            Verdict::Undecided(Undecided::OrderOfAddition(_)) => {
                assert_eq!(second.accumulation().order, Order::Any, "seed {seed}");
                assert!(!expected, "seed {seed}: a counterexample was missed");
                open += 1;
            }
            Verdict::Undecided(why) => panic!("seed {seed}: {why:?}"),
        }
    }
    assert!(same > 300 && different > 300, "{same} {different} {open}: a one-sided test");
}

/// Does the exact winner lead every other class by more than the band?
fn leads(model: &Ensemble, row: &[f64], band: f64) -> bool {
    let read: Vec<f64> = row.iter().map(|&v| model.intake().read(v).unwrap()).collect();
    let sums = model.exact_sums(model.leaves(&read));
    let number = |value: f64| Exact::from_f64(value).unwrap();
    let divisor = number(model.accumulation().divisor());
    let needed = &number(band) * &divisor;
    match *model.decision() {
        Decision::Threshold { group, threshold, .. } => {
            (&sums[group.index()] - &(&number(threshold) * &divisor)).abs() > needed
        }
        _ => {
            let winner = exact_class(model, row).index();
            (0..sums.len()).all(|other| other == winner || &sums[winner] - &sums[other] > needed)
        }
    }
}

/// The class in exact arithmetic, computed without the oracle: the first highest sum, or the side
/// of the threshold.
fn plain_class(model: &Ensemble, row: &[f64]) -> ClassId {
    let read: Vec<f64> = row.iter().map(|&v| model.intake().read(v).unwrap()).collect();
    let sums = model.exact_sums(model.leaves(&read));
    match *model.decision() {
        Decision::Threshold { group, threshold, strict } => {
            let divisor = model.accumulation().divisor();
            let needed = &Exact::from_f64(threshold).unwrap() * &Exact::from_f64(divisor).unwrap();
            let sum = &sums[group.index()];
            ClassId(u32::from(*sum > needed || !strict && *sum == needed))
        }
        _ => {
            let highest = sums.iter().max().unwrap();
            ClassId::new(sums.iter().position(|sum| sum == highest).unwrap())
        }
    }
}

/// A model in f64 and its copy in f32, with leaves so close to each other that the copy's rounding
/// decides many inputs.
fn converted(rng: &mut Rng) -> (Ensemble, Ensemble) {
    loop {
        let mut shape = Shape::random(rng);
        shape.trees = rng.u32(2..=7);
        // Weights are of single precision.
        shape.accumulation.number = NumberType::F32;
        let model = ensemble(rng, &shape);
        if Grid::new(&[&model]).unwrap().log10_cells() > 2.5 {
            continue;
        }
        let large = rng.bool();
        let unit = f64::from(f32::EPSILON);
        let mut leaf = || {
            let small = f64::from(rng.i32(-3..=3)) * unit;
            let sign = f64::from(rng.i32(-1..=1));
            NumberType::F32.round(if large { sign * 3.0 + small } else { sign + small / 4.0 })
        };
        let leaves: Vec<Vec<f64>> =
            model.trees().iter().map(|tree| tree.leaf_values().iter().map(|_| leaf()).collect()).collect();
        let intercepts: Vec<f64> = model.intercepts().iter().map(|_| leaf()).collect();
        let uncertain = rng.u32(0..3) == 0;
        let orders = [Order::File, if rng.bool() { Order::File } else { Order::Any }];
        let copies = [NumberType::F64, NumberType::F32].map(|number| {
            let order = orders[usize::from(number == NumberType::F32)];
            let accumulation = Accumulation { number, order, ..*model.accumulation() };
            let decision = match *model.decision() {
                Decision::Threshold { group, strict, .. } => {
                    Decision::Threshold { group, threshold: 0.0, strict }
                }
                other => other,
            };
            let mut builder = EnsembleBuilder::new(
                model.features().clone(),
                *model.intake(),
                model.classes().clone(),
                intercepts.clone(),
                accumulation,
                decision,
            )
            .unwrap();
            if number == NumberType::F32 && uncertain {
                let errors = intercepts.iter().map(|_| 4.0 * unit).collect();
                builder.intercept_errors(errors).unwrap();
            }
            for (tree, leaves) in model.trees().iter().zip(&leaves) {
                builder.finished_tree(tree.with_leaf_values(leaves.clone()).unwrap()).unwrap();
            }
            builder.build()
        });
        let [first, second] = copies;
        return (first, second);
    }
}

/// The class by the library's arithmetic. If the order of addition or the intercepts vary, trees
/// are added in a random order, and each intercept is a random one of those possible.
fn class_in_some_order(rng: &mut Rng, model: &Ensemble, row: &[f64]) -> ClassId {
    let how = model.accumulation();
    let read: Vec<f64> = row.iter().map(|&v| model.intake().read(v).unwrap()).collect();
    let leaves: Vec<_> = model.leaves(&read).collect();
    let mut order: Vec<usize> = (0..leaves.len()).collect();
    let free = how.order == Order::Any;
    if free {
        rng.shuffle(&mut order);
    }
    let scores: Vec<f64> = (0..model.group_count())
        .map(|group| {
            let mut terms: Vec<f64> = order
                .iter()
                .filter_map(|&index| {
                    let tree = &model.trees()[index];
                    let value = match tree.output() {
                        Output::Group(own) if own.index() == group => tree.leaf(leaves[index])[0],
                        Output::Group(_) => return None,
                        Output::All => tree.leaf(leaves[index])[group],
                    };
                    Some(how.number.round(tree.weight() * value))
                })
                .collect();
            // Intercepts may be a few units off if the model says so.
            let units = model.intercept_errors()[group] / f64::from(f32::EPSILON);
            let off = f64::from(rng.i32(-4..=4).clamp(-units as i32, units as i32)) * f64::from(f32::EPSILON);
            let near = how.number.round(model.intercepts()[group] + off);
            let inside = (near - model.intercepts()[group]).abs() <= model.intercept_errors()[group];
            let intercept = if inside { near } else { model.intercepts()[group] };
            terms.insert(if free { rng.usize(0..=terms.len()) } else { 0 }, intercept);
            let sum = terms.into_iter().fold(0.0, |sum, term| how.number.round(sum + term));
            how.average.map_or(sum, |average| how.number.round(sum / average.divisor))
        })
        .collect();
    model.decision().class(&scores)
}

#[test]
fn rounding_that_decides_is_found_in_every_order_of_addition() {
    let (mut same, mut different, mut open) = (0, 0, 0);
    for seed in 0..ROUNDING_CASES {
        let mut rng = Rng::with_seed(seed);
        let (first, second) = converted(&mut rng);
        let comparison = match Comparison::new(&first, &second, Band::Auto) {
            Ok(comparison) => comparison,
            Err(CompareError::NoCertainMargin { .. }) => continue,
            Err(error) => panic!("seed {seed}: {error}"),
        };
        let (ours, theirs) = (Predictor::new(&first), Predictor::new(&second));
        let free = second.scores_vary();
        let (mut in_file_order, mut in_some_order) = (false, false);
        for row in every_row(comparison.layout().grid()).filter(|row| leads(&first, row, comparison.band())) {
            let class = ours.classes(&row).unwrap()[0];
            in_file_order |= class != theirs.classes(&row).unwrap()[0];
            if free {
                in_some_order |= (0..20).any(|_| class != class_in_some_order(&mut rng, &second, &row));
            }
        }
        match comparison.run(&options(seed)).verdict {
            Verdict::Identical => {
                assert!(!in_file_order && !in_some_order, "seed {seed}: called identical");
                same += 1;
            }
            Verdict::Different(_) => {
                assert!(in_file_order, "seed {seed}: no counterexample");
                different += 1;
            }
            Verdict::Undecided(Undecided::OrderOfAddition(_)) => {
                assert!(free && !in_file_order, "seed {seed}");
                open += 1;
            }
            Verdict::Undecided(why) => panic!("seed {seed}: {why:?}"),
        }
    }
    assert!(same > 100 && different > 100 && open > 100, "{same} {different} {open}: a one-sided test");
}

#[test]
fn what_is_proved_above_a_lead_holds_there_in_every_order_of_addition() {
    let (mut proved, mut none, mut met) = (0, 0, 0);
    for seed in 0..ROUNDING_CASES {
        let mut rng = Rng::with_seed(seed);
        let (first, second) = converted(&mut rng);
        let second = if seed % 4 == 0 { mutate(&mut rng, &second) } else { second };
        let Ok(comparison) = Comparison::new(&first, &second, Band::Auto) else { continue };
        let Some(above) = comparison.proved_above(&SearchBudget::unlimited()) else {
            none += 1;
            continue;
        };
        assert!(above >= comparison.band());
        proved += 1;
        let ours = Predictor::new(&first);
        for row in every_row(comparison.layout().grid()) {
            let class = ours.classes(&row).unwrap()[0];
            let differs = (0..5).any(|_| class != class_in_some_order(&mut rng, &second, &row));
            assert!(!differs || !leads(&first, &row, above), "seed {seed}: {row:?} differs above {above}");
            met += u32::from(differs && leads(&first, &row, above / 16.0));
        }
    }
    assert!(proved > 100 && none > 10 && met > 10, "{proved} {none} {met}: a test without meaning");
}

#[test]
fn classes_are_matched_by_label() {
    let mut rng = Rng::with_seed(5);
    let shape = std::iter::repeat_with(|| Shape::random(&mut rng)).find(|shape| shape.classes == 3).unwrap();
    let model = ensemble(&mut rng, &shape);
    let classes = |labels: &Ensemble, other: &Ensemble| {
        let compared = Comparison::new(labels, other, Band::Exact)?;
        Ok::<_, CompareError>([0, 1, 2].map(|class| compared.class_in_second(ClassId(class)).0))
    };
    let with = |labels: ClassLabels| model.with_classes(labels).unwrap();
    let text = |labels: [&str; 3]| with(ClassLabels::Strings(labels.map(str::to_owned).to_vec()));
    let numbers = with(ClassLabels::Integers(vec![2, 0, 1]));
    assert_eq!(classes(&numbers, &with(ClassLabels::Floats(vec![0.0, 1.0, 2.0]))), Ok([2, 0, 1]));
    // Without labels on one side, classes are matched by position.
    assert_eq!(classes(&numbers, &model), Ok([0, 1, 2]));
    assert_eq!(classes(&text(["a", "b", "c"]), &text(["c", "b", "a"])), Ok([2, 1, 0]));
    for other in [with(ClassLabels::Integers(vec![3, 1, 2])), text(["2", "0", "1"])] {
        let refused = classes(&numbers, &other);
        assert!(matches!(refused, Err(CompareError::ClassLabels { .. })), "{refused:?}");
    }
}
