//! Grids of domains, compared with the definition of a domain: every input of the domain has a
//! cell, and every cell has an input of it.

use fastrand::Rng;
use secateur_model::{
    Column, Domain, DomainError, Ensemble, FeatureId, Grid, GridError, Group, GroupKind, Intake, NumberType,
};
use secateur_testkit::{Shape, domain, ensemble, every_row, inputs_of, mutate};

fn leaves(model: &Ensemble, row: &[f64]) -> Vec<u32> {
    let read: Vec<f64> =
        row.iter().enumerate().map(|(at, &value)| model.read(FeatureId::new(at), value).unwrap()).collect();
    model.leaves(&read).map(|leaf| leaf.0).collect()
}

#[test]
fn a_grid_has_a_cell_for_every_input_of_the_domain_and_no_other() {
    let (mut grids, mut groups, mut dropped, mut inputs) = (0, 0, 0, 0);
    for seed in 0..3000 {
        let mut rng = Rng::with_seed(seed);
        let mut shape = Shape::random(&mut rng);
        shape.features = rng.u32(2..=4);
        shape.categorical = shape.categorical.min(shape.features);
        let first = ensemble(&mut rng, &shape);
        let second = if rng.bool() { mutate(&mut rng, &first) } else { first.clone() };
        let drawn = domain(&mut rng, &first);
        let narrow = first.within(&drawn).unwrap();
        let models = [&*narrow, &second];
        let grid = match Grid::new(&models) {
            Ok(grid) => grid,
            // The domain may leave nothing that the second model accepts.
            Err(GridError::Domain(_)) => continue,
            Err(error) => panic!("seed {seed}: {error}"),
        };
        if grid.log10_cells() > 3.0 {
            continue;
        }
        let Some(rows) = inputs_of(narrow.domain(), &[&first, &second], 20_000) else { continue };
        grids += 1;
        groups += drawn.groups().len();
        let whole = Grid::new(&[&first, &second]).unwrap();
        dropped += usize::from(grid.log10_cells() < whole.log10_cells());
        // The rows of all cells and the inputs of the domain reach the same lists of leaves.
        let reached = |row: &Vec<f64>| [leaves(&first, row), leaves(&second, row)];
        let mut by_cells: Vec<_> = every_row(&grid)
            .map(|row| {
                assert!(drawn.contains(&row), "seed {seed}: {row:?} is outside of {drawn:?}");
                assert!(narrow.accepts(&row) && second.accepts(&row), "seed {seed}: {row:?}");
                reached(&row)
            })
            .collect();
        let mut by_inputs: Vec<_> = rows.iter().map(reached).collect();
        for lists in [&mut by_cells, &mut by_inputs] {
            lists.sort();
            lists.dedup();
        }
        assert_eq!(by_cells, by_inputs, "seed {seed}: {drawn:?}");
        for row in &rows {
            let cells = grid.cells_of(row).unwrap_or_else(|| panic!("seed {seed}: {row:?} has no cell"));
            assert_eq!(reached(&grid.witness(&cells)), reached(row), "seed {seed}: {row:?}");
        }
        inputs += rows.len();
        // Rows outside of the domain have no cell.
        for row in every_row(&whole).filter(|row| !drawn.contains(row)) {
            assert_eq!(grid.cells_of(&row), None, "seed {seed}: {row:?}");
            assert!(!narrow.accepts(&row));
        }
        // Each split sends a cell where it sends the cell's witness.
        for (model, own) in models.iter().zip([&first, &second]) {
            for split in model.trees().iter().flat_map(|tree| tree.splits()) {
                let axis = grid.axis_of(split.feature).unwrap();
                let left = grid.axes()[axis].left_cells(model, split, grid.intake());
                for cells in secateur_testkit::all_cells(&grid).take(200) {
                    let row = grid.witness(&cells);
                    let read = own.read(split.feature, row[split.feature.index()]).unwrap();
                    assert_eq!(left.contains(cells[axis]), own.goes_left(split, read), "seed {seed}");
                }
            }
        }
    }
    println!("{grids} grids, {groups} groups, {dropped} with fewer cells, {inputs} inputs");
    assert!(grids > 800 && groups > 400 && dropped > 400 && inputs > 20_000, "a weak test");
}

#[test]
fn a_model_within_a_domain_and_back_is_the_model() {
    for seed in 0..200 {
        let mut rng = Rng::with_seed(seed);
        let shape = Shape::random(&mut rng);
        let model = ensemble(&mut rng, &shape);
        let drawn = domain(&mut rng, &model);
        let narrow = model.within(&drawn).unwrap();
        assert_eq!(*narrow.for_every_input(), model, "seed {seed}");
        assert_eq!(*narrow.within(&drawn).unwrap(), *narrow, "seed {seed}");
    }
}

fn one(column: Column) -> Result<Domain, DomainError> {
    Domain::new(true, [(FeatureId(0), column)], Vec::new())
}

#[test]
fn limits_are_kept_in_a_normal_form() {
    let whole = Column { min: Some(0.5), max: Some(3.5), whole: true, ..Column::default() };
    let same = Column { min: Some(1.0), max: Some(3.0), whole: true, ..Column::default() };
    assert_eq!(one(whole.clone()).unwrap(), one(same).unwrap());
    let listed = Column { values: Some(vec![3.0, -0.0, 1.0, 7.0, 1.0, 0.5]), ..whole };
    let kept = one(listed).unwrap();
    assert_eq!(kept.column(FeatureId(0)).unwrap().values, Some(vec![1.0, 3.0]));
    assert!(!kept.column(FeatureId(0)).unwrap().whole);
    assert!(one(Column::default()).unwrap().is_everything());
    let columns = [FeatureId(2), FeatureId(0)];
    let table = |rows: Vec<Vec<f64>>, columns: [FeatureId; 2]| {
        Domain::new(true, [], vec![Group { columns: columns.to_vec(), kind: GroupKind::Table(rows) }])
            .unwrap()
    };
    let turned = table(vec![vec![1.0, f64::NAN], vec![0.0, -0.0], vec![1.0, f64::NAN]], columns);
    assert_eq!(turned, table(vec![vec![0.0, 0.0], vec![f64::NAN, 1.0]], [FeatureId(0), FeatureId(2)]));
    assert!(turned.may_be_missing(FeatureId(0)) && !turned.may_be_missing(FeatureId(2)));
}

#[test]
fn what_contradicts_itself_is_refused_with_its_place() {
    let message = |result: Result<Domain, DomainError>| result.unwrap_err().to_string();
    let range = |min, max| Column { min: Some(min), max: Some(max), ..Column::default() };
    assert_eq!(message(one(range(2.0, 1.0))), "column 0: no value fits its limits (min 2, max 1)");
    let between = Column { whole: true, ..range(0.25, 0.75) };
    assert_eq!(message(one(between)), "column 0: no value fits its limits (min 1, max 0)");
    let single = Column { f32_only: true, ..range(0.1, 0.1) };
    assert_eq!(message(one(single)), "column 0: no value fits its limits (min 0.1, max 0.1)");
    assert_eq!(message(one(range(f64::NEG_INFINITY, 1.0))), "column 0: -inf is not a finite number");
    let none = Column { values: Some(vec![5.0]), ..range(0.0, 1.0) };
    assert_eq!(message(one(none)), "column 0: none of its values is within its limits");
    let group = |columns: &[u32], kind: GroupKind| Group {
        columns: columns.iter().map(|&column| FeatureId(column)).collect(),
        kind,
    };
    let of = |groups: Vec<Group>| message(Domain::new(true, [], groups));
    assert_eq!(
        of(vec![group(&[1], GroupKind::Ordered)]),
        "group 1 has 1 columns: a group needs at least two"
    );
    assert_eq!(of(vec![group(&[1, 1], GroupKind::Ordered)]), "group 1 names column 1 twice");
    assert_eq!(
        of(vec![group(&[1, 2], GroupKind::Ordered), group(&[2, 3], GroupKind::Ordered)]),
        "column 2 is in group 1 and in group 2: groups cannot overlap"
    );
    assert_eq!(of(vec![group(&[1, 2], GroupKind::Table(vec![]))]), "group 1 has no row that can occur");
    assert_eq!(
        of(vec![group(&[1, 2], GroupKind::Table(vec![vec![1.0]]))]),
        "group 1: row 1 has 1 values for 2 columns"
    );
    assert_eq!(
        of(vec![group(&[1, 2], GroupKind::Table(vec![vec![1.0, f64::INFINITY]]))]),
        "group 1: row 1 has a value that is not finite"
    );
    let both = Domain::new(true, [(FeatureId(1), range(0.0, 1.0))], vec![group(&[1, 2], GroupKind::Ordered)]);
    assert_eq!(
        message(both),
        "column 1 has limits of its own and is in group 1: a column can be in one of them only"
    );
}

#[test]
fn what_the_model_does_not_accept_is_refused() {
    let mut rng = Rng::with_seed(1);
    let mut shape = Shape { features: 2, categorical: 1, trees: 3, depth: 2, ..Shape::random(&mut rng) };
    shape.intake = Intake { number: NumberType::F32, missing: false, infinities: false, zero_window: None };
    let model = ensemble(&mut rng, &shape);
    let refused = |domain: Domain| domain.fits(&model).unwrap_err().to_string();
    let at = |column: u32, limits: Column| Domain::new(true, [(FeatureId(column), limits)], vec![]).unwrap();
    let range = Column { min: Some(1.0), ..Column::default() };
    assert_eq!(
        refused(at(2, range.clone())),
        "column 2 does not exist: the model has 2 columns, counted from 0"
    );
    assert_eq!(
        refused(at(0, range)),
        "column 0 holds categories: list those that can occur in `values`, other limits do not fit it"
    );
    let beyond = Column { min: Some(1e300), ..Column::default() };
    assert_eq!(refused(at(1, beyond)), "column 1: the model accepts none of the values that it can hold");
    let missing = GroupKind::Table(vec![vec![0.0, f64::NAN]]);
    let group = Group { columns: vec![FeatureId(0), FeatureId(1)], kind: missing };
    let domain = Domain::new(true, [], vec![group]).unwrap();
    assert_eq!(refused(domain), "group 1: the model accepts none of its rows");
}
