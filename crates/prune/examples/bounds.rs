//! Measures what cannot go on model files: `bounds MODEL...` prints a line for each.

use std::path::Path;
use std::time::Instant;

use secateur_formats::ModelFile;
use secateur_model::Grid;
use secateur_oracle::Budget;
use secateur_prune::{near_boundary, relevant_boundaries};

fn main() {
    for path in std::env::args().skip(1) {
        let file = ModelFile::read(Path::new(&path)).expect("a model file");
        let model = file.ensemble();
        let grid = Grid::new(&[model]).expect("a model has its own columns");
        let band = model.certain_margin();
        let mut rng = fastrand::Rng::with_seed(0);
        let started = Instant::now();
        let near = near_boundary(model, &grid, band, &[], 800, &mut rng, &Budget::seconds(5.0));
        let near_seconds = started.elapsed().as_secs_f64();
        let started = Instant::now();
        let relevant = relevant_boundaries(model, &grid, band, &[], &mut rng, &Budget::seconds(10.0));
        println!(
            "{path}: near {} in {near_seconds:.2} s; relevant {} of {} in {:.2} s",
            near.len(),
            relevant.count(),
            relevant.total(),
            started.elapsed().as_secs_f64()
        );
    }
}
