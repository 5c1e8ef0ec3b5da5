//! Measures relevant boundaries, closed forms and indispensable columns: `bounds MODEL...` prints
//! one line for each model file.

use std::path::Path;
use std::time::Instant;

use secateur_formats::ModelFile;
use secateur_model::{Grid, TreeId};
use secateur_oracle::SearchBudget;
use secateur_prune::{
    Column, Cutter, Intercept, Points, closed_form, indispensable, near_boundary, relevant_boundaries,
};

fn main() {
    for path in std::env::args().skip(1) {
        let file = ModelFile::read(Path::new(&path)).expect("a model file");
        let model = file.ensemble();
        let grid = Grid::new(&[model]).expect("a model has its own columns");
        let band = model.certain_margin();
        let mut rng = fastrand::Rng::with_seed(0);
        let started = Instant::now();
        let near = near_boundary(model, &grid, band, &[], 800, &mut rng, &SearchBudget::seconds(5.0));
        let near_seconds = started.elapsed().as_secs_f64();
        let started = Instant::now();
        let relevant = relevant_boundaries(model, &grid, band, &[], &mut rng, &SearchBudget::seconds(10.0));
        let relevant_seconds = started.elapsed().as_secs_f64();
        let started = Instant::now();
        let column = |index| Column { terms: vec![index], trees: vec![TreeId::new(index)], cost: 1.0 };
        let columns: Vec<Column> = (0..model.trees().len()).map(column).collect();
        let closed = closed_form(
            model,
            &grid,
            band,
            &columns,
            Intercept::Free,
            &[],
            &mut rng,
            &SearchBudget::seconds(10.0),
        );
        let closed_seconds = started.elapsed().as_secs_f64();
        let started = Instant::now();
        let mut points = Points::new(model, band, columns);
        let mut cutter = Cutter::new(model, Intercept::Free);
        let budget = SearchBudget::seconds(if closed.is_some() { 0.0 } else { 30.0 });
        let needed = indispensable(&mut points, &grid, &mut cutter, Some(&relevant), None, &mut rng, &budget);
        let needed_seconds = started.elapsed().as_secs_f64();
        assert!(needed.cuts().all(|cut| cut.holds(&points, Intercept::Free)));
        let closed = closed.map(|closed| {
            let kept = closed.plan.as_ref().map(|plan| plan.weights.iter().filter(|w| **w > 0.0).count());
            let keeps = closed.plan.as_ref().map(|plan| plan.keeps_constant);
            (closed.relevant.count(), closed.open().count(), kept, keeps)
        });
        println!(
            "{path}: near {} in {near_seconds:.2} s; relevant {} of {} in {relevant_seconds:.2} s; closed {closed:?} \
             in {closed_seconds:.3} s; indispensable {} of {} in {needed_seconds:.2} s with {} points, {} other cuts",
            near.len(),
            relevant.count(),
            relevant.total(),
            needed.count(),
            model.trees().len(),
            points.rows().len(),
            needed.others.len(),
        );
    }
}
