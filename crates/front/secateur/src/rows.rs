//! What two models do on given rows: where rounding decides, and where the libraries' classes
//! differ.
//!
//! A claim says on which inputs the libraries decide alike. On a user's rows one can count how many
//! rows are outside the claim, and what happens there.

use secateur_model::{ClassId, Ensemble, FeatureId, PredictError, Predictor};
use secateur_oracle::{Band, exact_class};
use secateur_prune::certain_winner;

/// Exact sums are computed for at most this many pairs of a row and a tree.
const MOST_EXACT: usize = 4_000_000;

/// The counts for a set of rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowsSeen {
    /// The number of rows.
    pub rows: usize,
    /// Rows whose exact sums were computed: the first ones, if there are too many rows.
    pub measured: usize,
    /// Of the measured rows, those inside the band: the original's winner does not lead by more
    /// than the band. For exact arithmetic, the certain margin of the original serves as the band;
    /// `None` where no margin covers its rounding.
    pub in_band: Option<usize>,
    /// Of the measured rows, those on which the original's library decides differently from the
    /// exact sums.
    pub rounded: usize,
    /// Rows on which the library decides differently with the second model.
    pub changed: usize,
    /// Of these, the first row on which the claim rules that out: a bug of ours.
    pub excluded: Option<usize>,
}

/// Compares two models on rows that both accept. `classes` maps each class of the first model to
/// the second model's class; `score` is the band of the claim, as a score.
pub(crate) fn rows_seen(
    models: [&Ensemble; 2],
    classes: &dyn Fn(ClassId) -> ClassId,
    rows: &[f64],
    band: Band,
    score: f64,
) -> Result<RowsSeen, PredictError> {
    let [first, second] = models;
    let width = first.features().len().max(1);
    let [before, after] = models.map(|model| Predictor::new(model).classes(rows));
    let (before, after) = (before?, after?);
    let exact = band == Band::Exact;
    let inside = if exact { first.certain_margin() } else { Some(score) };
    let measured = before.len().min(MOST_EXACT / first.trees().len().max(1));
    let mut seen =
        RowsSeen { rows: before.len(), measured, in_band: inside.map(|_| 0), ..RowsSeen::default() };
    for (index, (row, (&old, &new))) in rows.chunks_exact(width).zip(before.iter().zip(&after)).enumerate() {
        let changed = classes(old) != new;
        seen.changed += usize::from(changed);
        if index >= measured && !changed {
            continue;
        }
        let read = row.iter().enumerate().filter_map(|(at, &value)| first.read(FeatureId::new(at), value));
        let read: Vec<f64> = read.collect();
        let sums = first.exact_sums(first.leaves(&read));
        let outside = |band: f64| certain_winner(first, &sums, Some(band)).is_some();
        let winner = certain_winner(first, &sums, None);
        if index < measured {
            seen.rounded += usize::from(winner != Some(old));
            if let (Some(count), Some(inside)) = (&mut seen.in_band, inside) {
                *count += usize::from(!outside(inside));
            }
        }
        let excluded = changed
            && if exact {
                winner.is_some_and(|winner| classes(winner) != exact_class(second, row))
            } else {
                outside(score)
            };
        if excluded && seen.excluded.is_none() {
            seen.excluded = Some(index);
        }
    }
    Ok(seen)
}

impl RowsSeen {
    /// The counts in words; `exact` if the claim is about exact sums.
    pub fn words(&self, exact: bool) -> String {
        let of = if self.measured == self.rows {
            String::new()
        } else {
            format!(" of the first {}", self.measured)
        };
        let mut parts = Vec::new();
        match (exact, self.in_band) {
            (false, Some(0)) | (true, Some(0)) => parts.push(format!("none{of} inside the band")),
            (false, Some(count)) => {
                parts.push(format!("{count}{of} inside the band, where nothing is claimed"))
            }
            (true, Some(count)) => parts.push(format!("{count}{of} so close that rounding may decide")),
            (_, None) => parts.push("no band covers the library's rounding".to_owned()),
        }
        if self.rounded > 0 {
            parts
                .push(format!("{}{of} that the library decides otherwise than the exact sums", self.rounded));
        }
        parts.push(match self.changed {
            0 => "every class the same with both files".to_owned(),
            1 => "1 row decided otherwise by the library with the second file".to_owned(),
            count => format!("{count} rows decided otherwise by the library with the second file"),
        });
        let rows = if self.rows == 1 { "row" } else { "rows" };
        format!("{} {rows}: {}", self.rows, parts.join("; "))
    }
}
