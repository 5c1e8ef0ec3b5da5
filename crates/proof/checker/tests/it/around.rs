//! Questions about the inputs around a row: what is proved of a box holds for every input in it, and the
//! checker accepts it; what refutes it is an input of the box. The layout that is cut to a box gives the
//! answers of one that is made for it.

use fastrand::Rng;
use secateur_certificate::{Claim, Statement, Step};
use secateur_checker::Verdict;
use secateur_model::{ClassId, Column, Ensemble, Exact, FeatureId, GroupKind, Near, Predictor, Test, gap};
use secateur_oracle::{Around, Held, OneModel, Options, Part, SearchBudget, Surroundings};
use secateur_testkit::{inputs_of, share};

use crate::common::Opened;
use crate::one_model::{Case, accepted, case, judged, refused};

/// The parts of a random box around a row.
fn parts(rng: &mut Rng, of: &Surroundings<'_>, around: &Around<'_>) -> Vec<Part> {
    let part = |axis: usize| match rng.u32(0..3) {
        0 => Part::Row,
        1 => Part::Free,
        _ => {
            let home = around.home()[axis];
            match of.held()[axis].extents() {
                Some(extents)
                    if (home as usize) < extents.len()
                        && !around.spots(axis)[home as usize].values[0].is_nan() =>
                {
                    Part::Cells(rng.u32(0..=home), rng.u32(home + 1..=extents.len() as u32))
                }
                _ => Part::Row,
            }
        }
    };
    (0..of.held().len()).map(part).collect()
}

#[test]
fn boxes_around_a_row_hold_what_every_input_in_them_does() {
    let (mut held, mut failed, mut open, mut missing, mut groups, mut wheres) = (0, 0, 0, 0, 0, 0);
    for seed in 0..share(3000) as u64 {
        let Some(Case { model, inputs }) = case(seed, true) else { continue };
        if !model.decision().is_classifier() {
            continue;
        }
        let mut rng = Rng::with_seed(seed ^ 0xB0);
        let Ok(one) = OneModel::new(&model, &SearchBudget::unlimited()) else { continue };
        let of = Surroundings::new(&one);
        let row = &inputs[rng.usize(0..inputs.len())];
        let features = model.features();
        let measure = |column, value| gap(features, row, column, value);
        let found = Around::new(&of, row, &measure).unwrap();
        let Some(around) = found else {
            assert!(row.iter().any(|value| value.is_infinite()), "seed {seed}: {row:?}");
            continue;
        };
        nearest_values(seed, &of, &around, &inputs);
        let parts = parts(&mut rng, &of, &around);
        let domain = around.domain(&parts).unwrap();
        let narrow = model.within(&domain).unwrap();
        let Some(inside) = inputs_of(narrow.domain(), &[&narrow], 3_000) else { continue };
        let predictor = Predictor::new(&model);
        let allowed = [around.class()];
        let class = |row: &Vec<f64>| -> ClassId { predictor.classes(row).unwrap()[0] };
        let truth = inside.iter().all(|row| allowed.contains(&class(row)));
        let options = Options { shortcuts: !seed.is_multiple_of(3), ..Options::unlimited() };
        let Ok(found) = around.ask(&parts, &allowed, &[], &options, true) else { continue };
        match found.held {
            Held::Holds => {
                assert!(truth, "seed {seed}: {row:?} {parts:?}");
                let proved = accepted(&model, &found.certificate.unwrap());
                assert_eq!(proved.claim.domain, domain, "seed {seed}");
                held += 1;
            }
            Held::Fails(row) => {
                assert!(!truth && narrow.accepts(&row), "seed {seed}: {row:?} {parts:?}");
                assert!(!allowed.contains(&class(&row)), "seed {seed}: {row:?}");
                let cells = found.cells.unwrap();
                assert!(around.refutes(&cells, &allowed), "seed {seed}");
                failed += 1;
            }
            Held::OrderOfAddition(_) => {
                assert!(model.decisions_vary(), "seed {seed}");
                open += 1;
            }
            Held::Stopped(reason) => panic!("seed {seed}: {reason:?}"),
        }
        missing += u32::from(row.iter().any(|value| value.is_nan()));
        let group = |kind: &GroupKind| !matches!(kind, GroupKind::Table(_));
        groups += u32::from(model.domain().groups().iter().any(|own| group(&own.kind)));
        wheres += u32::from(!model.domain().wheres().is_empty());
    }
    println!("{held} held, {failed} failed, {open} open; {missing} {groups} {wheres}");
    assert!(held > 100 && failed > 60 && missing > 20 && groups > 5 && wheres > 10);
}

/// The input that stands for a cell is no farther from the row than any other input there.
fn nearest_values(seed: u64, of: &Surroundings<'_>, around: &Around<'_>, inputs: &[Vec<f64>]) {
    let model = of.one().model();
    for input in inputs {
        let cells = of.one().layout().cells_of(input).unwrap();
        for (axis, cell) in cells.iter().enumerate() {
            // Categories that no model knows are in the cell of missing values.
            if of.one().layout().grid().axes()[axis].missing_cell() == Some(*cell) {
                continue;
            }
            let columns = of.held()[axis].columns();
            let far: Option<Vec<Exact>> = columns
                .iter()
                .map(|&column| gap(model.features(), around.row(), column, input[column.index()]))
                .collect();
            let spot = &around.spots(axis)[cell.index()];
            if let Some(far) = far.and_then(|far| far.into_iter().max()) {
                assert!(spot.far.as_ref().is_some_and(|own| *own <= far), "seed {seed}: {input:?} {spot:?}");
            }
        }
    }
    for axis in 0..of.held().len() {
        for cell in 0..around.spots(axis).len() as u32 {
            let mut cells = around.home().to_vec();
            cells[axis] = cell;
            let input = around.input(&cells);
            let there = of.one().layout().grid().cells_of(&input);
            let same = of.one().layout().cells_of(&input).is_some_and(|there| there[axis].0 == cell);
            // Limits of scores may leave the input out.
            assert!(same || there.is_none() && !model.domain().scores_hold(&input), "seed {seed}: {input:?}");
        }
    }
}

/// Values of a column among which is, for every set of values that no split tells apart, the one that is
/// nearest to any number: those next to each threshold as doubles, and next to the numbers that are halfway
/// between two f32.
fn edges(model: &Ensemble, column: FeatureId, row: &[f64]) -> Vec<f64> {
    let limits = model.domain().column(column).cloned();
    let limits = limits.unwrap_or(Column { missing: model.domain().missing(), ..Column::default() });
    let mut values = vec![row[column.index()], f64::NAN, 0.0, f64::MAX, f64::MIN];
    values.extend(limits.values.iter().flatten().chain(&limits.min).chain(&limits.max));
    let mut beside = |value: f64| values.extend([value, value.next_up(), value.next_down()]);
    for split in model.trees().iter().flat_map(|tree| tree.splits()) {
        if split.feature != column {
            continue;
        }
        let places = match split.test {
            Test::Less { threshold } | Test::LessOrEqual { threshold } => vec![threshold],
            Test::LessOrEqualButZero { threshold, .. } => vec![threshold, 0.0],
            Test::Equal { value } => vec![value],
            Test::Member { set, .. } => set.iter().map(|&code| f64::from(code)).collect(),
        };
        for place in places {
            beside(place);
            let near = f64::from(place as f32);
            for own in [near, f64::from((place as f32).next_up()), f64::from((place as f32).next_down())] {
                beside(own.midpoint(f64::from((own as f32).next_up())));
                beside(own);
            }
            if let Some(window) = model.intake().zero_window {
                beside(window);
                beside(-window);
            }
        }
    }
    values.extend((-8..8).map(f64::from));
    if limits.whole {
        let whole: Vec<f64> = values.iter().flat_map(|value| [value.floor(), value.ceil()]).collect();
        values.extend(whole);
    }
    if limits.f32_only {
        let near = |value: &f64| {
            let own = *value as f32;
            [own, own.next_up(), own.next_down()].map(f64::from)
        };
        let all: Vec<f64> = values.iter().flat_map(near).collect();
        values.extend(all);
    }
    values.retain(|&value| limits.contains(value) && model.read(column, value).is_some());
    values.sort_by(f64::total_cmp);
    values.dedup_by(|a, b| a == b || a.is_nan() && b.is_nan());
    values
}

/// Every combination of such values, and of the tuples of groups; `None` if there are too many.
fn candidates(model: &Ensemble, row: &[f64]) -> Option<Vec<Vec<f64>>> {
    let columns = model.features().len();
    let mut rows = vec![row.to_vec()];
    let mut extend = |columns: &[FeatureId], choices: Vec<Vec<f64>>| {
        let one = |row: &Vec<f64>, choice: &Vec<f64>| {
            let mut row = row.clone();
            columns.iter().zip(choice).for_each(|(column, &value)| row[column.index()] = value);
            row
        };
        let next = rows.iter().flat_map(|row| choices.iter().map(move |choice| one(row, choice)));
        rows = next.collect();
        rows.len() < 30_000
    };
    for group in model.domain().groups() {
        if !extend(&group.columns, group.rows()) {
            return None;
        }
    }
    for column in (0..columns).map(FeatureId::new).filter(|&column| model.domain().group_of(column).is_none())
    {
        let used = model.trees().iter().flat_map(|tree| tree.splits()).any(|split| split.feature == column);
        let values = if used { edges(model, column, row) } else { vec![row[column.index()]] };
        if !extend(&[column], values.into_iter().map(|value| vec![value]).collect()) {
            return None;
        }
    }
    rows.retain(|row| model.accepts(row));
    Some(rows)
}

/// The distance as it is specified, without the model's own code: a number for each column, added up, or the
/// greatest of a group.
fn distance(model: &Ensemble, near: &Near, input: &[f64]) -> Option<Exact> {
    let one = |column: FeatureId| -> Option<Exact> {
        let (own, other) = (near.row[column.index()], input[column.index()]);
        let weight = Exact::finite(near.weights[column.index()]);
        if own == other || own.is_nan() && other.is_nan() {
            return Some(Exact::zero());
        }
        if own.is_nan() || other.is_nan() || own.is_infinite() || other.is_infinite() {
            return None;
        }
        if near.counted || model.features().categories(column).is_some() {
            return Some(weight);
        }
        let difference = &Exact::finite(own) - &Exact::finite(other);
        let difference = if difference < Exact::zero() { -difference } else { difference };
        Some(&difference * &weight)
    };
    let mut total = Exact::zero();
    for column in (0..input.len()).map(FeatureId::new) {
        match model.domain().groups().iter().find(|group| group.columns.contains(&column)) {
            None => total = &total + &one(column)?,
            Some(group) if group.columns[0] == column => {
                let all: Vec<Exact> =
                    group.columns.iter().map(|&column| one(column)).collect::<Option<_>>()?;
                total = &total + all.iter().max().unwrap();
            }
            Some(_) => {}
        }
    }
    Some(total)
}

#[test]
fn nothing_nearer_means_no_input_of_the_domain_is_nearer() {
    let (mut held, mut failed, mut open, mut counted, mut groups) = (0, 0, 0, 0, 0);
    let (mut forged, mut several, mut changed) = (0, 0, 0);
    for seed in 0..share(4000) as u64 {
        let Some(Case { model, inputs }) = case(seed, true) else { continue };
        if !model.decision().is_classifier() {
            continue;
        }
        let mut rng = Rng::with_seed(seed ^ 0xD1);
        let Ok(one) = OneModel::new(&model, &SearchBudget::unlimited()) else { continue };
        let grid = one.layout().grid();
        let finite: Vec<&Vec<f64>> =
            inputs.iter().filter(|row| row.iter().all(|v| !v.is_infinite())).collect();
        if finite.is_empty() {
            continue;
        }
        let columns = model.features().len();
        let plus_zero = |row: &Vec<f64>| row.iter().map(|value| value + 0.0).collect::<Vec<f64>>();
        let mut near = Near {
            row: plus_zero(finite[rng.usize(0..finite.len())]),
            than: plus_zero(finite[rng.usize(0..finite.len())]),
            weights: (0..columns).map(|_| *rng.choice(&[0.0, 0.25, 1.0, 1.0 / 3.0, 7.0]).unwrap()).collect(),
            counted: rng.bool(),
        };
        let predictor = Predictor::new(&model);
        let class = |row: &Vec<f64>| -> ClassId { predictor.classes(row).unwrap()[0] };
        let allowed = [class(&near.row)];
        let Some(all) = candidates(&model, &near.row) else { continue };
        // Often the nearest input of another class, or a next nearest one.
        let other = all.iter().filter(|row| !allowed.contains(&class(row)));
        let mut far: Vec<(Exact, &Vec<f64>)> =
            other.filter_map(|row| Some((distance(&model, &near, row)?, row))).collect();
        far.sort_by(|a, b| a.0.cmp(&b.0));
        if !far.is_empty() && rng.u32(0..4) > 0 {
            near.than = plus_zero(far[if rng.bool() { 0 } else { rng.usize(0..far.len()) }].1);
        }
        let missing = grid.axes().iter().any(|axis| axis.missing_cell().is_some());
        let least = distance(&model, &near, &near.than);
        assert_eq!(near.of_input(model.features(), model.domain(), &near.than), least, "seed {seed}");
        let statement = |near: &Near| Statement::Class {
            allowed: allowed.to_vec(),
            cut: None,
            near: Some(Box::new(near.clone())),
        };
        let forbidden = model.classes().ids().filter(|class| !allowed.contains(class));
        let steps = forbidden.flat_map(|class| [Step::ClassSystem { class: class.0 }, Step::Cells]);
        let steps: Vec<Step> = steps.collect();
        let (Some(least), false) = (least, missing) else {
            assert_eq!(near.costs(&model, grid).map(|costs| costs.least), None, "seed {seed}");
            if model.certain_margin().is_some() {
                assert_eq!(refused(&model, statement(&near), steps), "claim.near", "seed {seed}");
            }
            continue;
        };
        let nearer = far.first().is_some_and(|(nearest, _)| *nearest < least);
        let of = Surroundings::new(&one);
        let measured = near.clone();
        let measure = |column, value| measured.of_value(model.features(), column, value);
        let around = Around::new(&of, &near.row, &measure).unwrap().unwrap();
        let parts = vec![Part::Free; of.held().len()];
        let Ok(found) = around.ask_near(&near, &parts, &allowed, &Options::unlimited()) else { continue };
        match found.held {
            Held::Holds => {
                assert!(!nearer, "seed {seed}: {near:?} {:?}", far[0]);
                let certificate = found.certificate.unwrap();
                let proved = accepted(&model, &certificate);
                assert_eq!(proved.claim.near(), Some(&near), "seed {seed}");
                changed += changes(seed, &mut rng, &model, proved.claim, &certificate);
                held += 1;
            }
            Held::Fails(row) => {
                assert!(model.accepts(&row) && !allowed.contains(&class(&row)), "seed {seed}: {row:?}");
                assert!(distance(&model, &near, &row).unwrap() < least, "seed {seed}: {row:?}");
                // Of categories the candidates are not all that there are.
                let category = |at: usize| model.features().categories(FeatureId::new(at)).is_some();
                assert!(nearer || (0..columns).any(category), "seed {seed}: {row:?}");
                failed += 1;
            }
            Held::OrderOfAddition(_) => {
                assert!(model.decisions_vary(), "seed {seed}");
                open += 1;
            }
            Held::Stopped(reason) => panic!("seed {seed}: {reason:?}"),
        }
        if nearer {
            let code = refused(&model, statement(&near), steps);
            assert!(["cells.class", "limit.cells"].contains(&code), "seed {seed}: {code}");
            forged += 1;
        }
        counted += u32::from(near.counted);
        groups += u32::from(!model.domain().groups().is_empty());
        several += u32::from(model.classes().len() > 2);
    }
    println!("{held} held, {failed} failed, {open} open; {counted} {groups} {forged} {several} {changed}");
    assert!(
        held > 60
            && failed > 30
            && counted > 50
            && groups > 3
            && forged > 30
            && several > 30
            && changed > 100
    );
}

/// Changes one field after the other of what a proved claim says of the inputs near a row. With the steps of
/// its certificate the checker accepts only what is true. Returns how many it refused.
fn changes(seed: u64, rng: &mut Rng, model: &Ensemble, claim: Claim, certificate: &[u8]) -> u32 {
    let opened = Opened::read(certificate).unwrap();
    let Statement::Class { allowed, near: Some(own), .. } = &claim.statement else { unreachable!("made so") };
    let predictor = Predictor::new(model);
    let mut others: Vec<Option<Near>> = vec![None];
    for column in 0..own.row.len() {
        for list in 0..3 {
            for change in
                [|value: f64| value + 1.0, |value: f64| value.next_up(), |value: f64| value * 2.0, |_| -1.0]
            {
                let mut near = Near::clone(own);
                let slot = match list {
                    0 => &mut near.row,
                    1 => &mut near.than,
                    _ => &mut near.weights,
                };
                slot[column] = change(slot[column]) + 0.0;
                others.push(Some(near));
            }
        }
    }
    others.push(Some(Near { counted: !own.counted, ..Near::clone(own) }));
    others.push(Some(Near { row: own.than.clone(), than: own.row.clone(), ..Near::clone(own) }));
    others.push(Some(Near { weights: own.weights[1..].to_vec(), ..Near::clone(own) }));
    rng.shuffle(&mut others);
    let mut refused = 0;
    for near in others.into_iter().take(12) {
        let mut copy = opened.clone();
        let (near, allowed) = (near.map(Box::new), allowed.clone());
        copy.claim.statement = Statement::Class { allowed: allowed.clone(), cut: None, near: near.clone() };
        if !matches!(judged(model, &copy.write()), Verdict::Valid(_)) {
            refused += 1;
            continue;
        }
        let row = near.as_ref().map_or(&own.row, |near| &near.row);
        let Some(all) = candidates(model, row) else { continue };
        let inside = |input: &&Vec<f64>| {
            near.as_ref().is_none_or(|near| {
                let least = distance(model, near, &near.than).expect("the checker accepted it");
                distance(model, near, input).is_some_and(|far| far < least)
            })
        };
        let wrong =
            all.iter().filter(inside).find(|row| !allowed.contains(&predictor.classes(row).unwrap()[0]));
        assert_eq!(wrong, None, "seed {seed}: {near:?} instead of {own:?}");
    }
    refused
}
