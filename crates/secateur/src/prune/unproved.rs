//! Models of a given size that decide otherwise than the original: the paper's baselines. Nothing is proved of them,
//! and everything that is said of them says so.

use std::time::Instant;

use secateur_formats::ModelFile;
use secateur_model::{ClassId, Predictor, Tree};
use secateur_prune::PruneError;
pub use secateur_prune::baseline::Order;
use secateur_prune::baseline::prune_unproved;
use serde_json::{Value, json};

use crate::error::Error;
use crate::places::Places;
use crate::text::{counted, entry, grouped};

/// A model of a given size that **decides otherwise** than the original.
#[derive(Debug)]
pub struct Unproved {
    /// The model.
    pub file: ModelFile,
    /// Its file; `None` for a scikit-learn object in memory, which has no file.
    pub bytes: Option<Vec<u8>>,
    /// How the members were chosen.
    pub order: Order,
    /// The members (trees, or rounds of them) that stay, in the order of their choice.
    pub chosen: Vec<usize>,
    /// How many members there were.
    pub members: usize,
    /// Trees before and after.
    pub trees: [usize; 2],
    /// Leaves before and after.
    pub leaves: [usize; 2],
    /// Rows that the members were chosen by.
    pub rows: usize,
    /// Rows that are now decided otherwise.
    pub changed: usize,
    /// The shares of rows that are decided for their own class, before and after.
    pub accuracy: [f64; 2],
    /// How long it took.
    pub seconds: f64,
}

/// The order's name, as users give it.
pub fn order_name(order: Order) -> &'static str {
    match order {
        Order::Contribution => "ic",
        Order::MarginDiversity => "imd",
        Order::Diversity => "drep",
    }
}

/// Keeps `size` members, chosen by `order` on rows with known classes. **Decisions change, and nothing is proved.**
pub fn prune_to_size(
    original: &ModelFile,
    rows: &[f64],
    classes: &[ClassId],
    order: Order,
    size: usize,
) -> Result<Unproved, Error> {
    let started = Instant::now();
    if classes.is_empty() {
        return Err(PruneError::Rows {
            values: rows.len(),
            width: original.ensemble().features().len(),
            classes: 0,
        }
        .into());
    }
    let pruned = prune_unproved(original, rows, classes, order, size)?;
    let [before, after] = [original.ensemble(), pruned.file.ensemble()];
    let old = Predictor::new(before).classes(rows)?;
    let new = Predictor::new(after).classes(rows)?;
    let share = |a: &[ClassId]| a.iter().zip(classes).filter(|(a, b)| a == b).count() as f64 / a.len() as f64;
    let accuracy = [share(&old), share(&new)];
    let changed = old.iter().zip(&new).filter(|(old, new)| old != new).count();
    let mut bytes = Vec::new();
    let bytes = match pruned.file.write(&mut bytes) {
        Err(error) if error.kind() == std::io::ErrorKind::Unsupported => None,
        written => written.map(|()| Some(bytes))?,
    };
    let trees = [before, after].map(|model| model.trees().len());
    let leaves = [before, after].map(|model| model.trees().iter().map(Tree::leaf_count).sum());
    Ok(Unproved {
        file: pruned.file,
        bytes,
        order,
        chosen: pruned.chosen,
        members: pruned.members,
        trees,
        leaves,
        rows: old.len(),
        changed,
        accuracy,
        seconds: started.elapsed().as_secs_f64(),
    })
}

impl Unproved {
    /// The share of rows that are decided as before.
    pub fn fidelity(&self) -> f64 {
        (self.rows - self.changed) as f64 / self.rows as f64
    }

    /// One JSON object (`secateur prune --method --json`); `read` is the time that reading took, in seconds.
    pub fn json(&self, places: Places<'_>, read: f64) -> Value {
        json!({
            "outcome": "unproved",
            "checked": false,
            "method": order_name(self.order),
            "members": {"before": self.members, "after": self.chosen.len(), "chosen": self.chosen},
            "trees": {"before": self.trees[0], "after": self.trees[1]},
            "leaves": {"before": self.leaves[0], "after": self.leaves[1]},
            "bytes": {"before": places.original_bytes, "after": self.bytes.as_ref().map(Vec::len)},
            "lower_bound": 0,
            "minimal": false,
            "band": null,
            "fidelity": self.fidelity(),
            "accuracy": {"before": self.accuracy[0], "after": self.accuracy[1]},
            "rows": self.rows,
            "seconds": {"read": read, "total": read + self.seconds},
            "output": places.pruned,
            "certificate": null,
        })
    }

    /// The result for people.
    pub fn words(&self, places: Places<'_>) -> String {
        let mut text = format!(
            "NOT PROVED: {} -> {}, decisions change\n",
            self.trees[0],
            counted(self.trees[1] as u64, "tree", "trees")
        );
        let mut line = |key: &str, value: &str| text += &(entry(key, value) + "\n");
        let rows = counted(self.rows as u64, "labelled row", "labelled rows");
        line("method", &format!("{}, chosen by {rows}", order_name(self.order)));
        line("leaves", &format!("{} -> {}", grouped(self.leaves[0] as u64), grouped(self.leaves[1] as u64)));
        if let (Some(before), Some(after)) = (places.original_bytes, &self.bytes) {
            line("bytes", &format!("{} -> {}", grouped(before), grouped(after.len() as u64)));
        }
        line(
            "decisions",
            &format!(
                "{} of these rows decided otherwise, {:.2}% the same",
                grouped(self.changed as u64),
                100.0 * self.fidelity()
            ),
        );
        let [before, after] = self.accuracy;
        line("accuracy", &format!("{:.2}% -> {:.2}% on these rows", 100.0 * before, 100.0 * after));
        if let Some(output) = places.pruned {
            line("written", output);
        }
        line("instead", "without a method every decision stays, proved");
        text
    }
}
