//! Random domains, and their inputs by brute force: from a domain's definition, without its grid.

use fastrand::Rng;
use secateur_model::{
    CellId, Column, Domain, Ensemble, Exact, FeatureId, Grid, Group, GroupKind, Predictor, Side, Where,
};

use crate::generate::{Shape, ensemble};

/// A random domain over the features of a model. Numeric features get limits near the model's own
/// boundaries.
pub fn domain(rng: &mut Rng, model: &Ensemble) -> Domain {
    loop {
        let drawn = draw(rng, model);
        if let Ok(drawn) = drawn
            && drawn.fits(model).is_ok()
            && !drawn.is_everything()
        {
            return drawn;
        }
    }
}

/// A random domain that also asks for scores of one or two random models. `digest` computes a
/// model's digest. Most such domains contain some of the inputs, but not all.
pub fn scored_domain(rng: &mut Rng, model: &Ensemble, digest: &dyn Fn(&Ensemble) -> [u8; 32]) -> Domain {
    loop {
        let mut product = if rng.bool() { domain(rng, model) } else { Domain::everything() };
        let mut wheres = Vec::new();
        for _ in 0..rng.usize(1..=2) {
            let mut shape = Shape::random(rng);
            shape.features = model.features().len() as u32;
            shape.categorical = 0;
            shape.thresholds = shape.thresholds.min(3);
            shape.trees = shape.trees.min(3);
            if rng.u32(0..8) > 0 {
                shape.intake.number = model.intake().number;
            }
            let scorer = ensemble(rng, &shape);
            let output = rng.u32(0..scorer.group_count() as u32);
            let grid = Grid::new(&[&scorer]).expect("a model has a grid of its own");
            let cells: Vec<CellId> =
                grid.axes().iter().map(|axis| CellId::new(rng.usize(0..axis.len()))).collect();
            // The bound is the score of some input or next to it, so that the last bit decides
            // there.
            let scores = Predictor::new(&scorer).raw_scores(&grid.witness(&cells));
            let bound = scores.expect("a witness is an input")[output as usize];
            let bound = match rng.u32(0..4) {
                0 => bound.next_up(),
                1 => bound.next_down(),
                _ => bound,
            };
            let side = if rng.bool() { Side::AtLeast } else { Side::AtMost };
            let own = Where::of_digest(digest(&scorer), output, side, bound);
            wheres.extend(own.and_then(|own| own.with_model(scorer, "a random model")));
        }
        product = product.with_wheres(wheres);
        if !product.wheres().is_empty() && model.within(&product).is_ok() {
            return product;
        }
    }
}

fn draw(rng: &mut Rng, model: &Ensemble) -> Result<Domain, secateur_model::DomainError> {
    let features = model.features();
    let mut free: Vec<FeatureId> = (0..features.len()).map(FeatureId::new).collect();
    rng.shuffle(&mut free);
    let mut groups = Vec::new();
    while free.len() >= 2 && rng.u32(0..3) > 0 {
        let width = rng.usize(2..=free.len().min(3));
        let columns: Vec<FeatureId> = free.split_off(free.len() - width);
        let kind = match rng.u32(0..4) {
            0 => GroupKind::OneHot { none: rng.bool() },
            1 => GroupKind::Ordered,
            _ => {
                let rows = rng.usize(1..=6);
                let row = |rng: &mut Rng| {
                    columns.iter().map(|&column| some_value(rng, model, column, true)).collect()
                };
                GroupKind::Table((0..rows).map(|_| row(rng)).collect())
            }
        };
        groups.push(Group { columns, kind });
    }
    let mut columns = Vec::new();
    for feature in free {
        if rng.u32(0..4) == 0 {
            continue;
        }
        let mut column = Column { missing: rng.bool(), ..Column::default() };
        let categorical = features.categories(feature).is_some();
        match rng.u32(0..4) {
            0 => {
                let count = rng.usize(1..=4);
                column.values = Some((0..count).map(|_| some_value(rng, model, feature, false)).collect());
            }
            _ if categorical => {}
            1 => {
                let at = rng.i32(-4..4);
                (column.min, column.max) = (Some(f64::from(at)), Some(f64::from(at + rng.i32(0..5))));
                column.whole = true;
            }
            _ => {
                let ends = [0, 1].map(|_| some_value(rng, model, feature, false));
                column.min = rng.bool().then_some(ends[0].min(ends[1]));
                column.max = rng.bool().then_some(ends[0].max(ends[1]));
                column.f32_only = rng.bool();
            }
        }
        columns.push((feature, column));
    }
    Domain::new(rng.bool(), columns, groups)
}

/// Does a model's score let a row into the domain? Computed from the definition, with the
/// prediction of the whole model.
fn scores_there(own: &Where, row: &[f64]) -> bool {
    let model = own.model().expect("the domain's models are known");
    let group = own.output() as usize;
    if model.scores_vary() {
        // If the last bits of the score are not fixed, rows near enough to the bound are in the
        // domain.
        let read: Vec<f64> = row.iter().map(|&value| model.intake().read(value).expect("accepted")).collect();
        let sum = &model.exact_sums(model.leaves(&read))[group] * &Exact::from(own.sign());
        return &sum >= own.needed().expect("the domain's models are known");
    }
    let score = Predictor::new(model).raw_scores(row).expect("the model accepts the row")[group];
    match own.side() {
        Side::AtLeast => score >= own.bound(),
        Side::AtMost => score <= own.bound(),
    }
}

/// A value near one of the model's boundaries, or a small number.
fn some_value(rng: &mut Rng, model: &Ensemble, feature: FeatureId, missing: bool) -> f64 {
    if missing && model.accepts_missing() && rng.u32(0..6) == 0 {
        return f64::NAN;
    }
    let own = candidates(model, feature);
    match rng.u32(0..3) {
        0 => f64::from(rng.i32(-2..4)),
        1 => f64::from(rng.u32(0..2)),
        _ => *rng.choice(&own).unwrap_or(&0.5),
    }
}

/// Finite values of one feature: one from every cell that the model has without a domain, if the
/// cell has one, and values next to its boundaries.
fn candidates(model: &Ensemble, feature: FeatureId) -> Vec<f64> {
    let model = model.for_every_input();
    let grid = Grid::new(&[&model]).expect("a model has a grid of its own");
    let mut values = vec![0.0, 1.0, -1.0, 0.5];
    if let Some(axis) = grid.axis_of(feature).map(|axis| &grid.axes()[axis]) {
        for cell in 0..axis.len() {
            values.push(axis.witness(secateur_model::CellId::new(cell), grid.intake()));
        }
        for &bound in axis.bounds().unwrap_or_default() {
            let single = f64::from(bound as f32);
            for value in [bound, bound.next_up(), bound.next_down(), single] {
                values.extend([
                    value,
                    f64::from((single as f32).next_up()),
                    f64::from((single as f32).next_down()),
                ]);
            }
        }
    }
    values.retain(|value| value.is_finite());
    values
}

/// Inputs of the domain that the models accept: every row of each group, combined with one value of
/// each other feature for every set of values that no split tells apart. `None` if there are more
/// than `most`.
pub fn inputs_of(domain: &Domain, models: &[&Ensemble], most: usize) -> Option<Vec<Vec<f64>>> {
    let models: Vec<&Ensemble> = models.iter().copied().chain(domain.scorers()).collect();
    let width = models[0].features().len();
    let mut rows: Vec<Vec<f64>> = vec![vec![0.0; width]];
    let mut extend = |columns: &[FeatureId], choices: &[Vec<f64>]| {
        if rows.len().saturating_mul(choices.len()) > most {
            return false;
        }
        let mut next = Vec::with_capacity(rows.len() * choices.len());
        for row in &rows {
            for choice in choices {
                let mut row = row.clone();
                columns.iter().zip(choice).for_each(|(column, &value)| row[column.index()] = value);
                next.push(row);
            }
        }
        rows = next;
        true
    };
    for group in domain.groups() {
        if !extend(&group.columns, &group.rows()) {
            return None;
        }
    }
    for feature in (0..width).map(FeatureId::new).filter(|&feature| domain.group_of(feature).is_none()) {
        let column = domain
            .column(feature)
            .cloned()
            .unwrap_or(Column { missing: domain.missing(), ..Column::default() });
        let mut values: Vec<f64> = models.iter().flat_map(|model| candidates(model, feature)).collect();
        values.extend(column.values.iter().flatten());
        values.extend([column.min, column.max].into_iter().flatten());
        values.extend(
            [column.min, column.max].into_iter().flatten().flat_map(|v| [v.next_up(), v.next_down()]),
        );
        values.extend((-8..8).map(f64::from));
        values.extend([f64::NAN, f64::INFINITY, f64::NEG_INFINITY]);
        values.retain(|&value| column.contains(value));
        values.sort_by(f64::total_cmp);
        values.dedup_by(|a, b| a.to_bits() == b.to_bits());
        // Keep one value of each set that no split of any model tells apart.
        let mut seen: Vec<Vec<bool>> = Vec::new();
        values.retain(|&value| {
            let mut sides = Vec::new();
            for model in &models {
                let model = model.for_every_input();
                let Some(read) = model.read(feature, value) else { return false };
                let splits = model.trees().iter().flat_map(|tree| tree.splits());
                let own: Vec<bool> = splits
                    .filter(|split| split.feature == feature)
                    .map(|split| model.goes_left(split, read))
                    .collect();
                sides.extend(own);
            }
            sides.push(value.is_nan());
            let new = !seen.contains(&sides);
            seen.push(sides);
            new
        });
        let choices: Vec<Vec<f64>> = values.into_iter().map(|value| vec![value]).collect();
        if !extend(&[feature], &choices) {
            return None;
        }
    }
    rows.retain(|row| models.iter().all(|model| model.for_every_input().accepts(row)));
    rows.retain(|row| domain.wheres().iter().all(|own| scores_there(own, row)));
    Some(rows)
}
