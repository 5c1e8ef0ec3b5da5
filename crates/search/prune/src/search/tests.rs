//! The loop, step by step, on random models small enough to check every cell.

use fastrand::Rng;
use secateur_model::{Grid, TreeId};
use secateur_oracle::exact_class;
use secateur_testkit::{Shape, edited, ensemble, every_row};

use super::*;
use crate::candidate::fold::unfolded;
use crate::points::point::certain_winner;

/// A model without a file.
#[derive(Clone)]
struct Plain(Ensemble);

impl Editable for Plain {
    fn ensemble(&self) -> &Ensemble {
        &self.0
    }

    fn edit(&self, edit: &Edit) -> Result<Self, EditError> {
        Ok(Self(edited(&self.0, edit)))
    }

    fn votes_only(&self) -> bool {
        false
    }

    fn bytes(&self) -> Option<u64> {
        Some(self.0.trees().iter().map(|tree| tree.node_count() as u64).sum())
    }
}

/// A model with few cells and two classes that does not average, so that its weights can be chosen
/// freely.
fn random_model(rng: &mut Rng) -> Ensemble {
    loop {
        let shape = Shape { depth: 2, trees: 6, ..Shape::random(rng) };
        let model = ensemble(rng, &shape);
        let cells = Grid::new(&[&model]).map_or(f64::INFINITY, |grid| grid.log10_cells());
        if cells <= 3.0 && model.accumulation().average.is_none() && model.classes().len() == 2 {
            return model;
        }
    }
}

fn columns(folded: &Folded) -> Vec<Column> {
    let column = |(index, term): (usize, &crate::candidate::fold::Term)| {
        let trees: Vec<TreeId> = term.sources.clone();
        Column { terms: vec![index], trees, cost: 1.0 }
    };
    folded.terms.iter().enumerate().map(column).collect()
}

/// Runs a test in a search without points.
fn in_engine<T>(model: &Ensemble, test: impl FnOnce(&mut Search<'_, Plain>) -> T) -> T {
    in_engine_for(Objective::Trees, model, test)
}

fn in_engine_for<T>(
    objective: Objective,
    model: &Ensemble,
    test: impl FnOnce(&mut Search<'_, Plain>) -> T,
) -> T {
    let (file, watch) = (Plain(model.clone()), Watch::default());
    let config = Config { objective, ..Config::default() };
    let folded = unfolded(model, &|| false).unwrap();
    let time = Time::between(Instant::now(), None, false);
    let mut search =
        Search::new(&file, model, &folded, columns(&folded), Intercept::Free, &config, time, &watch)
            .expect("small sums");
    test(&mut search)
}

fn decides_alike(search: &Search<'_, Plain>) -> bool {
    let (model, other) = (search.problem.model, search.best.file.ensemble());
    every_row(&Grid::new(&[model, other]).unwrap()).all(|row| {
        let read: Vec<f64> = row.iter().map(|&value| model.intake().read(value).unwrap()).collect();
        let sums = model.exact_sums(model.leaves(&read));
        certain_winner(model, &sums, Some(search.problem.band))
            .is_none_or(|class| exact_class(other, &row) == class)
    })
}

#[test]
fn what_is_refuted_is_not_kept_and_leaves_its_points() {
    let mut rng = Rng::with_seed(11);
    let (mut proved, mut refuted) = (0, 0);
    for _ in 0..150 {
        let model = random_model(&mut rng);
        in_engine(&model, |search| {
            let mut plan = search.folded_plan();
            for weight in &mut plan.weights {
                *weight = if rng.u32(0..3) == 0 { 0.0 } else { *weight };
            }
            if search.prove(&plan) {
                proved += usize::from(search.best.made.is_some());
            } else if !search.points.rows().is_empty() {
                refuted += 1;
                assert!(search.best.made.is_none());
            }
            assert!(decides_alike(search));
        });
    }
    assert!(proved > 5 && refuted > 30, "{proved} {refuted}");
}

#[test]
fn the_loop_learns_until_a_model_is_proved_and_sweeps_spare_it_questions() {
    let mut rng = Rng::with_seed(12);
    let mut calls = [0, 0];
    for _ in 0..60 {
        let model = random_model(&mut rng);
        for swept in [false, true] {
            in_engine(&model, |search| {
                if swept {
                    let sizes: Vec<usize> =
                        search.problem.space.axis_sizes().iter().map(|&n| n as usize).collect();
                    search.sweep = Sweep::new(&search.points, search.problem.space.grid(), &sizes, &|| false);
                    assert!(search.sweep.is_some());
                }
                let all = vec![true; search.points.columns().len()];
                let mut program = search.program(&search.costs(), &all, Rows::Lead);
                let Settled::Proved(weights) = search.settle(&mut program, Judge::Proof) else { return };
                calls[usize::from(swept)] += search.oracle_calls;
                // A lead as small as the rounding of these floats may come out slightly below zero;
                // `decides_alike` checks the cells.
                assert!(search.points.demands().iter().all(|demand| weights.lead(demand) > -1e-12));
                assert!(decides_alike(search));
            });
        }
    }
    // Without a sweep each program takes several questions; with one it takes hardly more than the
    // last.
    assert!(calls[0] > 90 && calls[1] < calls[0] * 3 / 4, "{calls:?}");
}

fn draft(search: &Search<'_, Plain>, plan: &Plan) -> Draft {
    let writer = Writer {
        file: search.problem.file,
        folded: search.problem.folded,
        columns: search.points.columns(),
        keeps_scores: false,
    };
    writer.draft(plan).expect("can be written")
}

#[test]
fn a_larger_model_does_not_replace_the_best() {
    let model = random_model(&mut Rng::with_seed(13));
    for objective in [Objective::Trees, Objective::Leaves, Objective::Bytes] {
        in_engine_for(objective, &model, |search| {
            let mut plan = search.folded_plan();
            plan.weights[0] = 0.0;
            let larger = (draft(search, &plan), plan.clone());
            plan.weights[1] = 0.0;
            let smaller = (draft(search, &plan), plan.clone());
            for (draft, plan) in [&smaller, &larger] {
                let weights = Weights { columns: plan.weights.clone(), groups: Vec::new(), scale: None };
                search.keep(draft, plan, Some(&weights)).expect("can be written");
                assert_eq!(search.best.size, size_of(&smaller.0.model));
                assert_eq!(
                    search.best_weights.as_ref().map(Weights::support),
                    Some(plan_support(&smaller.1))
                );
            }
        });
    }
}

#[test]
fn a_file_that_reads_back_as_another_model_than_was_proved_is_not_kept() {
    let model = random_model(&mut Rng::with_seed(14));
    in_engine(&model, |search| {
        let mut plan = search.folded_plan();
        plan.weights[0] = 0.0;
        let other = draft(search, &plan).model;
        plan.weights[1] = 0.0;
        let proved = Draft { model: other, edit: draft(search, &plan).edit };
        assert!(matches!(search.keep(&proved, &plan, None), Err(EditError::ReadBack { .. })));
        assert!(search.best.made.is_none());
    });
}

#[test]
fn a_model_that_could_not_be_checked_in_time_is_not_taken() {
    let model = random_model(&mut Rng::with_seed(13));
    in_engine(&model, |search| {
        let mut plan = search.folded_plan();
        plan.weights[0] = 0.0;
        let draft = draft(search, &plan);
        let hour = Duration::from_secs(3600);
        let now = Instant::now();
        // An hour is over, and six minutes are left. The proof took an hour, and so might the certificate.
        search.time = Time::between(now - hour, Some(now + hour / 10), true);
        search.answered_in = hour;
        assert!(!search.keep(&draft, &plan, None).expect("can be written"));
        assert!(search.best.made.is_none());
        // A cheap proof leaves enough time.
        search.answered_in = Duration::from_millis(1);
        assert!(search.keep(&draft, &plan, None).expect("can be written"));
        assert!(search.best.made.is_some());
    });
}

fn plan_support(plan: &Plan) -> usize {
    plan.weights.iter().filter(|&&weight| weight > 0.0).count()
}
