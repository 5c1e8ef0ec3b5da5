//! Cuts and minima, compared with linear programs over all cells.

use fastrand::Rng;
use microlp::{ComparisonOp, OptimizationDirection, Problem, Variable};
use secateur_lp::Limits;
use secateur_model::{Ensemble, Grid, TreeId};
use secateur_oracle::{Lead, SearchBudget};
use secateur_prune::{
    Column, ColumnCut, Cutter, Intercept, Points, Separating, Settle, Settled, check_cover, indispensable,
    minimum, relevant_boundaries,
};
use secateur_testkit::{Shape, ensemble, every_row};

const INTERCEPTS: [Intercept; 3] = [Intercept::Free, Intercept::Scaled, Intercept::None];

fn columns(model: &Ensemble) -> Vec<Column> {
    let column = |index| Column { terms: vec![index], trees: vec![TreeId::new(index)], cost: 1.0 };
    (0..model.trees().len()).map(column).collect()
}

fn small_model(rng: &mut Rng) -> Ensemble {
    let shape = Shape { depth: rng.u32(1..=2), thresholds: 2, trees: rng.u32(2..=6), ..Shape::random(rng) };
    ensemble(rng, &Shape { classes: shape.classes.min(3), features: 3, categorical: 0, ..shape })
}

/// Points from all cells.
fn all_points<'a>(model: &'a Ensemble, grid: &Grid, band: Option<f64>) -> Points<'a> {
    let mut points = Points::new(model, band, columns(model));
    for row in every_row(grid) {
        points.add(&row);
    }
    points
}

/// The largest lead that weights of these columns, each at most one, can give at every demand at
/// once.
fn margin(points: &Points<'_>, kept: &[bool], intercept: Intercept) -> f64 {
    let mut problem = Problem::new(OptimizationDirection::Minimize);
    let columns: Vec<Variable> =
        kept.iter().map(|&kept| problem.add_var(0.0, (0.0, f64::from(u8::from(kept))))).collect();
    let free = if intercept == Intercept::Free { 100.0 } else { 0.0 };
    let groups: Vec<Variable> =
        (0..points.model().group_count()).map(|_| problem.add_var(0.0, (-free, free))).collect();
    // In a candidate the threshold counts once, but weights have no limit. Here weights are scaled
    // to at most one, so the threshold counts with a factor from zero to one.
    let threshold = problem.add_var(0.0, (0.0, 1.0));
    let scaled = f64::from(u8::from(intercept == Intercept::Scaled));
    let own = problem.add_var(0.0, (0.0, scaled));
    let least = problem.add_var(-1.0, (-100.0, 1.0));
    for demand in points.demands() {
        let mut terms: Vec<_> = columns.iter().copied().zip(demand.columns.iter().copied()).collect();
        terms.extend(demand.groups.iter().map(|&(group, sign)| (groups[group], sign as f64)));
        let constant = Lead::of(points.model(), demand.winner, demand.other).constant.to_f64();
        terms.extend([(threshold, constant), (own, demand.intercept - constant), (least, -1.0)]);
        problem.add_constraint(terms, ComparisonOp::Ge, 0.0);
    }
    -problem.solve().unwrap().into_solution().expect("no limit was set").objective()
}

/// Asserts that the columns outside the cut do not suffice.
fn assert_true(points: &Points<'_>, cut: &ColumnCut, intercept: Intercept) {
    let kept: Vec<bool> = (0..points.columns().len()).map(|column| !cut.columns.contains(&column)).collect();
    let margin = margin(points, &kept, intercept);
    assert!(margin < 1e-7, "{margin} without {:?}", cut.columns);
}

fn random_cuts(points: &Points<'_>, cutter: &mut Cutter, rng: &mut Rng) -> Vec<ColumnCut> {
    let mut cuts = Vec::new();
    for _ in 0..8 {
        let kept: Vec<bool> = points.columns().iter().map(|_| rng.u32(0..3) > 0).collect();
        if let Separating::Cut(cut) = cutter.separate(points, &kept, &Limits::none()) {
            assert!(cut.columns.iter().all(|&column| !kept[column]));
            cuts.push(cut);
        }
    }
    cuts
}

#[test]
fn cuts_are_true_and_changed_ones_are_refused_or_true() {
    let mut rng = Rng::with_seed(21);
    let (mut found, mut refused) = (0, 0);
    for _ in 0..150 {
        let model = small_model(&mut rng);
        let grid = Grid::new(&[&model]).unwrap();
        let band = if rng.bool() { None } else { model.certain_margin() };
        let intercept = *rng.choice(&INTERCEPTS).unwrap();
        let points = all_points(&model, &grid, band);
        let mut cutter = Cutter::new(&model, intercept);
        for cut in random_cuts(&points, &mut cutter, &mut rng) {
            found += 1;
            assert!(cut.holds(&points, intercept));
            assert_true(&points, &cut, intercept);
            let mut changed = cut.clone();
            let at = rng.usize(0..changed.demands.len());
            match rng.u32(0..5) {
                0 => changed.demands[at].1 *= 3u32,
                1 => {
                    changed.demands.remove(at);
                }
                2 => changed.demands[at].0 = rng.usize(0..points.demands().len() + 2),
                3 if !changed.columns.is_empty() => {
                    changed.columns.remove(rng.usize(0..changed.columns.len()));
                }
                _ => changed.demands.clear(),
            }
            if changed != cut {
                if changed.holds(&points, intercept) {
                    assert_true(&points, &changed, intercept);
                } else {
                    refused += 1;
                }
            }
        }
    }
    assert!(found > 150 && refused * 2 > found, "{found} {refused}");
}

#[test]
fn indispensable_columns_are_needed_by_every_candidate() {
    let mut rng = Rng::with_seed(22);
    let mut alone = 0;
    for _ in 0..60 {
        let model = small_model(&mut rng);
        let grid = Grid::new(&[&model]).unwrap();
        let intercept = *rng.choice(&INTERCEPTS).unwrap();
        let mut points = Points::new(&model, None, columns(&model));
        let mut cutter = Cutter::new(&model, intercept);
        let budget = SearchBudget::unlimited();
        let relevant = relevant_boundaries(&model, &grid, None, &[], &mut rng, &budget);
        let found = indispensable(&mut points, &grid, &mut cutter, Some(&relevant), None, &mut rng, &budget);
        let all = all_points(&model, &grid, None);
        for cut in found.cuts() {
            assert!(cut.holds(&points, intercept));
            assert_true(&all, cut, intercept);
        }
        for (column, cut) in found.alone.iter().enumerate() {
            assert!(cut.as_ref().is_none_or(|cut| cut.columns == [column]));
        }
        alone += found.count();
    }
    assert!(alone > 40, "{alone}");
}

/// Judges columns by a linear program over all cells.
struct EveryCell<'a> {
    points: Points<'a>,
    intercept: Intercept,
}

impl<'a> Settle<'a> for EveryCell<'a> {
    fn settle(&mut self, kept: &[bool]) -> Settled {
        let margin = margin(&self.points, kept, self.intercept);
        if margin > 1e-7 { Settled::Proved } else { Settled::Infeasible }
    }

    fn points(&self) -> &Points<'a> {
        &self.points
    }
}

#[test]
fn minima_are_those_of_enumeration() {
    let mut rng = Rng::with_seed(23);
    let (mut proved, mut smaller, mut rounds) = (0, 0, 0);
    while rounds < 60 {
        let model = small_model(&mut rng);
        let grid = Grid::new(&[&model]).unwrap();
        let count = model.trees().len();
        let costs: Vec<u64> = (0..count).map(|_| rng.u64(1..3)).collect();
        let intercept = Intercept::Free;
        let points = all_points(&model, &grid, Some(1e-3));
        if margin(&points, &vec![true; count], intercept) < 1e-6 {
            continue; // even all columns together have no margin at these points
        }
        rounds += 1;
        let can_do = |set: u32| {
            let kept: Vec<bool> = (0..count).map(|column| set >> column & 1 == 1).collect();
            margin(&points, &kept, intercept) > 1e-7
        };
        let cost = |set: u32| (0..count).filter(|&c| set >> c & 1 == 1).map(|c| costs[c]).sum::<u64>();
        let least = (0..1u32 << count).filter(|&set| can_do(set)).map(cost).min().unwrap();
        let mut settle = EveryCell { points: all_points(&model, &grid, Some(1e-3)), intercept };
        let mut cutter = Cutter::new(&model, intercept);
        let start = vec![true; count];
        let found =
            minimum(&mut settle, &mut cutter, &costs, start, Vec::new(), None, &SearchBudget::unlimited());
        assert!(found.bound <= least && least <= found.cost);
        let sets: Vec<Vec<usize>> = found.cuts.iter().map(|cut| cut.columns.clone()).collect();
        assert_eq!(check_cover(&sets, &costs, &found.proof), Some(found.bound));
        assert!(found.cuts.iter().all(|cut| cut.holds(&settle.points, intercept)));
        proved += usize::from(found.is_proved());
        smaller += usize::from(found.cost < costs.iter().sum());
    }
    assert!(proved >= 58 && smaller >= 20, "{proved} {smaller}");
}
