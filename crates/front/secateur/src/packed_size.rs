//! How small and how fast is a model when it is packed? Measured on this machine, as advice: the
//! bits of a packed model are checked where it is packed, not here.

use std::time::{Duration, Instant};

use secateur_certificate::Digest;
use secateur_formats::ModelFile;
use secateur_formats::packed::{File, PackError, Stamp};
use secateur_model::{ClassLabels, Ensemble, Test};
use secateur_runtime::{Model, Rows};
use serde_json::{Value, json};

use crate::prune::accepted_rows;
use crate::text::grouped;

/// The most rows that the speed is measured on, and the most values in them.
const MOST_ROWS: usize = 1024;
const MOST_VALUES: usize = 1 << 20;
/// The most rows that are predicted one at a time.
const MOST_ALONE: usize = 64;
/// Each of the two measurements takes about this long, and at least a few rounds.
const ROUNDS_TIME: Duration = Duration::from_millis(20);
const LEAST_ROUNDS: usize = 3;

/// The size of a model's packed file, and how fast it predicts.
#[derive(Clone, Debug, PartialEq)]
pub struct PackedSize {
    /// The bytes of the packed file.
    pub bytes: u64,
    /// The time that one row takes; `None` if there was no row to measure with.
    pub speed: Option<PackedSpeed>,
    /// The file. It has not been tested, as [`pack`](crate::pack) tests what it hands out.
    pub file: Vec<u8>,
}

/// The processor's time for the raw scores of one row, on one thread, as a Rust program calls the
/// runtime.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PackedSpeed {
    /// Of a row that is predicted alone.
    pub alone: Duration,
    /// Of a row among many.
    pub among_many: Duration,
}

impl PackedSize {
    /// Packs the model without a test and measures it. The caller's rows are used if the library
    /// accepts any of them, otherwise rows whose values are thresholds of the model. `labels` name
    /// the classes of a model whose own file has no names for them.
    pub fn measure(model: &ModelFile, labels: Option<&ClassLabels>, rows: &[f64]) -> Result<Self, PackError> {
        let ensemble = model.ensemble();
        let stamp = Stamp { source: Digest::of(ensemble).0, cover_rows: 0, cover_hash: 0 };
        let file = File::pack(model, labels, &stamp)?;
        let speed = Model::load(&file).ok().and_then(|packed| speed(&packed, &sample(ensemble, rows)));
        Ok(Self { bytes: file.len() as u64, speed, file })
    }

    /// For scripts: `bytes`, `row_seconds`, `batch_row_seconds`.
    pub fn json(&self) -> Value {
        json!({
            "bytes": self.bytes,
            "row_seconds": self.speed.map(|speed| speed.alone.as_secs_f64()),
            "batch_row_seconds": self.speed.map(|speed| speed.among_many.as_secs_f64()),
        })
    }

    /// A sentence; `before` is the size of the model's file.
    pub fn words(&self, before: Option<u64>) -> String {
        let size = match before.filter(|&before| before > self.bytes && self.bytes > 0) {
            Some(before) => format!(
                "{} -> {} bytes ({:.1} times smaller)",
                grouped(before),
                grouped(self.bytes),
                before as f64 / self.bytes as f64
            ),
            None => format!("{} bytes", grouped(self.bytes)),
        };
        let speed = self.speed.map_or_else(String::new, |speed| {
            let [alone, among] = [speed.alone, speed.among_many].map(micros);
            format!(", a row in {alone} alone and in {among} among many (measured here)")
        });
        format!("{size}{speed}, with every bit of the scores")
    }
}

/// A time in microseconds, with two digits.
fn micros(time: Duration) -> String {
    let micros = time.as_secs_f64() * 1e6;
    match micros {
        micros if micros < 0.1 => format!("{micros:.3} µs"),
        micros if micros < 1.0 => format!("{micros:.2} µs"),
        micros if micros < 10.0 => format!("{micros:.1} µs"),
        micros => format!("{} µs", grouped(micros.round() as u64)),
    }
}

/// Rows to measure with, one after the other.
pub(crate) fn sample(ensemble: &Ensemble, rows: &[f64]) -> Vec<f64> {
    let width = ensemble.features().len().max(1);
    let most = (MOST_VALUES / width).clamp(1, MOST_ROWS);
    let accepted = |rows: &[f64]| -> Vec<f64> {
        accepted_rows(ensemble, rows).iter().flat_map(|&row| &rows[row * width..][..width]).copied().collect()
    };
    let own = accepted(&rows[..rows.len().min(most * width)]);
    if !own.is_empty() {
        return own;
    }
    let mut thresholds = vec![Vec::new(); width];
    for split in ensemble.trees().iter().flat_map(|tree| tree.splits()) {
        if let Test::Less { threshold }
        | Test::LessOrEqual { threshold }
        | Test::LessOrEqualButZero { threshold, .. }
        | Test::Equal { value: threshold } = split.test
        {
            thresholds[split.feature.index()].push(threshold);
        }
    }
    // The constants are those of Knuth's generator; any spread of the thresholds will do.
    let mut state = 1u64;
    let mut made = Vec::with_capacity(most * width);
    for _ in 0..most {
        for known in &thresholds {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let place = (state >> 33) as usize % known.len().max(1);
            made.push(known.get(place).copied().unwrap_or(0.0));
        }
    }
    accepted(&made)
}

/// The least time of several rounds, divided by the rows of a round.
fn speed(model: &Model, rows: &[f64]) -> Option<PackedSpeed> {
    let width = model.features().max(1);
    let count = rows.len() / width;
    if count == 0 {
        return None;
    }
    let mut scores = vec![0.0; count * model.outputs()];
    let alone = count.min(MOST_ALONE);
    let mut one_by_one = || {
        for row in rows.chunks_exact(width).take(alone) {
            let scores = &mut scores[..model.outputs()];
            model.raw_scores(Rows::row_major(row, model.features()).ok()?, scores).ok()?;
        }
        Some(())
    };
    let alone = least(&mut one_by_one)? / alone as u32;
    let mut all = || model.raw_scores(Rows::row_major(rows, model.features()).ok()?, &mut scores).ok();
    let among_many = least(&mut all)? / count as u32;
    Some(PackedSpeed { alone, among_many })
}

/// The least time that the work takes, of several rounds; `None` if it fails.
fn least(work: &mut dyn FnMut() -> Option<()>) -> Option<Duration> {
    let started = Instant::now();
    let mut least = Duration::MAX;
    let mut rounds = 0;
    while rounds < LEAST_ROUNDS || started.elapsed() < ROUNDS_TIME {
        let round = Instant::now();
        work()?;
        least = least.min(round.elapsed());
        rounds += 1;
    }
    Some(least)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_is_that_of_the_packed_file_and_rows_are_found_without_a_table() {
        let model = ModelFile::parse(crate::demo::MODEL).unwrap();
        let size = PackedSize::measure(&model, None, &[]).unwrap();
        assert_eq!(size.bytes, crate::pack(&model).unwrap().bytes.len() as u64);
        let speed = size.speed.expect("rows of thresholds");
        assert!(speed.alone > Duration::ZERO && speed.among_many > Duration::ZERO);
        assert!(size.words(Some(1 << 30)).contains("times smaller), a row in "), "{}", size.words(None));
        assert!(!sample(model.ensemble(), &[]).is_empty());
    }

    #[test]
    fn times_have_two_digits() {
        let words =
            [0.04, 0.5, 1.25, 181.4, 12_345.0].map(|time| micros(Duration::from_secs_f64(time * 1e-6)));
        assert_eq!(words, ["0.040 µs", "0.50 µs", "1.2 µs", "181 µs", "12,345 µs"]);
    }
}
