//! Measures how long a packed model takes: `time MODEL.spk [ROWS [PATH]]`. ROWS is a file of f64
//! values, one row after the other; without it the rows of the model's cover are used. PATH is the
//! only path to measure. Prints nanoseconds per row for each path, in batches of 10,000 rows and
//! one row at a time: the smallest of several rounds in which the paths take turns.

use std::hint::black_box;
use std::time::Instant;

use secateur_runtime::{Model, Path, Rows};

const BATCH: usize = 10_000;
const ROUNDS: usize = 15;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let model = Model::load(&std::fs::read(words.next().ok_or("usage: time MODEL.spk [ROWS [PATH]]")?)?)?;
    let width = model.features();
    let values: Vec<f64> = match words.next() {
        Some(path) => {
            let bytes = std::fs::read(path)?;
            bytes.as_chunks::<8>().0.iter().map(|&bytes| f64::from_le_bytes(bytes)).collect()
        }
        None => model.cover_rows(),
    };
    let values: Vec<f64> = values.chunks_exact(width).cycle().take(BATCH).flatten().copied().collect();
    let rows = Rows::row_major(&values, width)?;
    let mut scores = vec![0.0; rows.count() * model.outputs()];
    let only = words.next();
    let wanted = |path: &Path| only.as_ref().is_none_or(|name| name == path.name());
    let paths: Vec<Path> = Path::available().into_iter().filter(wanted).collect();
    let mut best = vec![[f64::INFINITY; 2]; paths.len()];
    for _ in 0..ROUNDS {
        for (&path, best) in paths.iter().zip(&mut best) {
            let start = Instant::now();
            model.raw_scores_on(path, rows, &mut scores)?;
            best[0] = best[0].min(start.elapsed().as_nanos() as f64 / BATCH as f64);
            let start = Instant::now();
            for (row, scores) in
                values.chunks_exact(width).zip(scores.chunks_exact_mut(model.outputs())).take(2000)
            {
                model.raw_scores_on(path, Rows::row_major(black_box(row), width)?, black_box(scores))?;
            }
            best[1] = best[1].min(start.elapsed().as_nanos() as f64 / BATCH.min(2000) as f64);
        }
    }
    println!("{:<10} {:>12} {:>12}", "path", "batch, ns", "one row, ns");
    for (path, [batch, one]) in paths.iter().zip(best) {
        println!("{:<10} {batch:>12.0} {one:>12.0}", path.name());
    }
    Ok(())
}
