//! Domains with conditions on scores of other models: which rows they hold, judged by the library's
//! own prediction; which bound the exact sums of all those rows reach; and what is refused.

use fastrand::Rng;
use secateur_model::{
    Categories, CategoryRule, ClassLabels, Column, Decision, Domain, Ensemble, EnsembleBuilder, Exact,
    FeatureId, Features, Grid, Group, GroupId, GroupKind, Intake, Label, NodeId, NumberType, Order, Output,
    Outside, Predictor, Side, Split, Test, TreeBuilder, Where,
};
use secateur_testkit::{Shape, ensemble, every_row, scored_domain};

/// Any function that distinguishes the models suffices here.
fn digest(model: &Ensemble) -> [u8; 32] {
    [model.trees().len() as u8; 32]
}

#[test]
fn a_row_is_in_where_the_librarys_score_is() {
    let (mut inside, mut outside, mut beyond, mut edges) = (0, 0, 0, 0);
    for seed in 0..4000 {
        let mut rng = Rng::with_seed(seed);
        let shape = Shape::random(&mut rng);
        let scorer = ensemble(&mut rng, &shape);
        let grid = Grid::new(&[&scorer]).unwrap();
        if grid.log10_cells() > 2.0 || scorer.rounding().is_none() {
            continue;
        }
        let rows: Vec<Vec<f64>> = every_row(&grid).collect();
        let output = rng.usize(0..scorer.group_count());
        let scores = Predictor::new(&scorer).raw_scores(&rows.concat()).unwrap();
        let score = |row: usize| scores[row * scorer.group_count() + output];
        let at = score(rng.usize(0..rows.len()));
        let bound = *rng.choice(&[at, at, at.next_up(), at.next_down()]).unwrap();
        let side = if rng.bool() { Side::AtLeast } else { Side::AtMost };
        let own = Where::of_digest([1; 32], output as u32, side, bound).unwrap();
        assert!(!own.holds(&rows[0]) && own.needed().is_none(), "nothing is known without the model");
        let Ok(own) = own.with_model(scorer.clone(), "it") else { continue };
        for (at, row) in rows.iter().enumerate() {
            let there = match side {
                Side::AtLeast => score(at) >= bound,
                Side::AtMost => score(at) <= bound,
            };
            let read: Vec<f64> = row.iter().map(|&value| scorer.intake().read(value).unwrap()).collect();
            let sum = &scorer.exact_sums(scorer.leaves(&read))[output] * &Exact::from(own.sign());
            let reaches = &sum >= own.needed().unwrap();
            if scorer.scores_vary() {
                // All inputs that may reach the bound are in the domain, and those that are
                // computed to reach it are among them.
                assert!(own.holds(row) == reaches && (reaches || !there), "seed {seed}");
                continue;
            }
            assert_eq!(own.holds(row), there, "seed {seed}: {row:?}");
            assert!(
                reaches || !there,
                "seed {seed}: a row of the domain does not reach the bound of the sum"
            );
            edges += usize::from(score(at) == bound);
            *if there { &mut inside } else { &mut outside } += 1;
            beyond += usize::from(reaches && !there);
        }
    }
    assert!(
        inside > 2_000 && outside > 2_000 && edges > 1_000 && beyond > 0,
        "{inside} {outside} {edges} {beyond}"
    );
}

#[test]
fn all_of_a_cell_is_in_the_domain_or_nothing_of_it() {
    let (mut grids, mut partly) = (0, 0);
    for seed in 0..1500 {
        let mut rng = Rng::with_seed(seed);
        let mut shape = Shape::random(&mut rng);
        shape.features = rng.u32(2..=3);
        shape.categorical = shape.categorical.min(shape.features);
        let model = ensemble(&mut rng, &shape);
        let drawn = scored_domain(&mut rng, &model, &digest);
        let narrow = model.within(&drawn).unwrap();
        let Ok(grid) = Grid::new(&[&narrow]) else { continue };
        if grid.log10_cells() > 2.5 {
            continue;
        }
        grids += 1;
        let (mut held, mut cells) = (0, 0);
        for row in every_row(&grid) {
            assert!(drawn.without_wheres().contains(&row), "seed {seed}: {row:?}");
            cells += 1;
            let Some(own) = grid.cells_of(&row) else {
                assert!(!drawn.contains(&row) && !narrow.accepts(&row));
                assert!(matches!(drawn.outside(&row), Some(Outside::Score(_))), "seed {seed}");
                continue;
            };
            held += 1;
            assert!(grid.scores_hold(&own) && drawn.contains(&row), "seed {seed}: {row:?}");
        }
        partly += usize::from(held > 0 && held < cells);
        // Other rows of the product besides the witnesses.
        for row in secateur_testkit::inputs_of(&drawn.without_wheres(), &[&model], 500).unwrap_or_default() {
            let known = grid.cells_of(&row);
            assert_eq!(known.is_some(), narrow.accepts(&row) && drawn.contains(&row), "seed {seed}: {row:?}");
        }
    }
    assert!(grids > 300 && partly > 150, "{grids} {partly}");
}

#[test]
fn what_does_not_fit_is_refused() {
    let mut rng = Rng::with_seed(2);
    let shape = Shape {
        features: 2,
        categorical: 0,
        trees: 3,
        depth: 2,
        decision: Decision::Argmax,
        classes: 2,
        ..Shape::random(&mut rng)
    };
    let with = |number: NumberType, features: u32| {
        let intake = Intake { number, missing: true, infinities: true, zero_window: None };
        let mut rng = Rng::with_seed(5);
        let mut shape = Shape { intake, features, ..shape.clone() };
        shape.accumulation.order = Order::File;
        ensemble(&mut rng, &shape)
    };
    let model = with(NumberType::F32, 2);
    let of = |output: u32, bound: f64| Where::of_digest([3; 32], output, Side::AtLeast, bound);
    assert_eq!(of(0, f64::NAN).unwrap_err().to_string(), "a score cannot be compared with NaN");
    let refused = |own: Where, scorer: &Ensemble, product: Domain| {
        let own = own.with_model(scorer.clone(), "w.json");
        own.and_then(|own| product.with_wheres(vec![own]).fits(&model)).unwrap_err().to_string()
    };
    let low = || of(0, -1e6).unwrap();
    assert_eq!(
        refused(of(7, 0.0).unwrap(), &model, Domain::everything()),
        "w.json has no score 7: it has 2, counted from 0"
    );
    assert_eq!(
        refused(of(0, 1e6).unwrap(), &model, Domain::everything()),
        "no input at all has a score of w.json that is at least 1000000"
    );
    assert_eq!(
        refused(low(), &with(NumberType::F32, 3), Domain::everything()),
        "w.json has 3 columns, and the model it is to choose inputs for has 2"
    );
    let double = with(NumberType::F64, 2);
    let told = refused(low(), &double, Domain::everything());
    assert!(told.starts_with("column 0: of this model and w.json one reads float32 numbers"), "{told}");
    // If every column holds only float32 values, both read the same.
    let single = Column { f32_only: true, ..Column::default() };
    let few = Column { values: Some(vec![0.0, 0.5]), ..Column::default() };
    let alike = Domain::new(true, [(FeatureId(0), single), (FeatureId(1), few)], vec![]).unwrap();
    let own = low().with_model(double, "w.json").unwrap();
    alike.with_wheres(vec![own]).fits(&model).unwrap();
    let bare = Domain::everything().with_wheres(vec![low()]);
    let told = bare.fits(&model).unwrap_err().to_string();
    assert!(told.contains("not given") && told.contains(&"03".repeat(32)), "{told}");
    assert!(model.within(&bare).is_err() && !bare.is_everything());
    // Labels of categories that have another meaning there.
    let labelled = |names: [&str; 2]| {
        let mut features = Features::unnamed(1);
        let labels = Some(names.map(Label::text).to_vec());
        let rule = CategoryRule::TruncateNonNegative;
        features.set_categories(FeatureId(0), Categories { rule, unseen_is_missing: false, labels });
        let (domain, sums, classes) = (*model.intake(), *model.accumulation(), ClassLabels::Unnamed(2));
        let intercepts = vec![0.0, 0.0];
        let mut builder =
            EnsembleBuilder::new(features, domain, classes, intercepts, sums, Decision::Argmax).unwrap();
        let test = Test::Member { set: &[1], members_left: true };
        let mut tree = TreeBuilder::new();
        let split = Split { feature: FeatureId(0), test, missing_left: false };
        tree.split(split, NodeId(1), NodeId(2)).leaf(&[-1.0]).leaf(&[1.0]);
        builder.tree(tree, Output::Group(GroupId(0)), 1.0).unwrap();
        builder.build()
    };
    let (first, same, other) = (labelled(["a", "b"]), labelled(["a", "b"]), labelled(["b", "a"]));
    let fits = |scorer: Ensemble| {
        let own = low().with_model(scorer, "w.json").unwrap();
        Domain::everything().with_wheres(vec![own]).fits(&first).map_err(|error| error.to_string())
    };
    assert_eq!(fits(same), Ok(()));
    let told = fits(other).unwrap_err();
    assert!(told.starts_with("column 0: w.json reads its categories in another way"), "{told}");
}

/// Only missing values are allowed, but the model accepts none: each part of the domain has an
/// input, but the whole has none.
#[test]
fn what_a_model_that_scores_does_not_accept_is_refused() {
    let with = |missing: bool, seed: u64| {
        let mut rng = Rng::with_seed(seed);
        let intake = Intake { number: NumberType::F32, missing, infinities: true, zero_window: None };
        let shape =
            Shape { intake, features: 2, categorical: 0, trees: 2, depth: 2, ..Shape::random(&mut rng) };
        ensemble(&mut rng, &shape)
    };
    let kind = GroupKind::Table(vec![vec![f64::NAN, 0.0], vec![f64::NAN, 1.0]]);
    let group = Group { columns: vec![FeatureId(0), FeatureId(1)], kind };
    let product = Domain::new(true, [], vec![group]).unwrap();
    let own = Where::of_digest([3; 32], 0, Side::AtLeast, -1e6).unwrap();
    let asked = |missing: bool| {
        let own = own.with_model(with(missing, 8), "w.json").unwrap();
        product.clone().with_wheres(vec![own])
    };
    let model = with(true, 7);
    assert!(model.within(&asked(true)).is_ok());
    let told = model.within(&asked(false)).unwrap_err().to_string();
    assert_eq!(told, "group 1: the model accepts none of its rows");
}

#[test]
fn of_two_bounds_of_one_score_the_stricter_stays() {
    let of = |side: Side, bound: f64| Where::of_digest([4; 32], 0, side, bound).unwrap();
    let domain = Domain::everything().with_wheres(vec![
        of(Side::AtMost, 3.0),
        of(Side::AtLeast, 1.0),
        of(Side::AtLeast, 2.0),
        of(Side::AtMost, 4.0),
    ]);
    assert_eq!(domain.wheres(), [of(Side::AtLeast, 2.0), of(Side::AtMost, 3.0)]);
    assert!(of(Side::AtLeast, 2.0).is_within(&of(Side::AtLeast, 1.0)));
    assert!(!of(Side::AtLeast, 1.0).is_within(&of(Side::AtLeast, 2.0)));
    assert!(of(Side::AtMost, 1.0).is_within(&of(Side::AtMost, 2.0)));
    assert!(!of(Side::AtMost, 1.0).is_within(&of(Side::AtLeast, 1.0)));
    let words = domain.words(&|column| column.to_string());
    assert_eq!(words[0], "raw score 0 of the model with digest 04040404... is at least 2");
}
