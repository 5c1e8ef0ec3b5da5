//! Models that may decide differently from the original: the paper's baselines, which keep a given
//! number of trees, and the paper's pruner with a weakened oracle. Nothing about them is proved,
//! and every report about them says so.

use std::time::Instant;

use secateur_formats::ModelFile;
use secateur_model::{ClassId, Predictor, Tree};
use secateur_oracle::{Band, Verdict};
pub use secateur_prune::Scrutiny;
pub use secateur_prune::baseline::Order;
use secateur_prune::baseline::prune_unproved;
use secateur_prune::{PruneError, Watch, prune_unchecked};
use serde_json::{Value, json};

use crate::budget::Budget;
use crate::error::Error;
use crate::places::Places;
use crate::prune::PruneOptions;
use crate::text::{counted, entry, grouped, printable};
use crate::verify::{Conclusion, Question, VerifyOptions, VerifyReport, verify};

/// How a model without a proof was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// By one of the paper's baselines.
    Order(Order),
    /// By the paper's pruner, with no oracle or with one that may only search briefly.
    Search(Scrutiny),
}

impl Method {
    /// Its name, as users give it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Order(Order::Contribution) => "ic",
            Self::Order(Order::MarginDiversity) => "imd",
            Self::Order(Order::Diversity) => "drep",
            Self::Search(Scrutiny::Rows) => "rows",
            Self::Search(Scrutiny::Boxes(_)) => "boxes",
        }
    }
}

/// A model that **may decide differently** from the original.
#[derive(Debug)]
pub struct Unproved {
    /// The model.
    pub file: ModelFile,
    /// Its file; `None` for a scikit-learn object in memory, which has no file.
    pub bytes: Option<Vec<u8>>,
    /// How it was made.
    pub method: Method,
    /// The members (trees, or rounds of them) that a baseline keeps, in the order they were chosen,
    /// and the number of members before.
    pub members: Option<(Vec<usize>, usize)>,
    /// Trees before and after.
    pub trees: [usize; 2],
    /// Leaves before and after.
    pub leaves: [usize; 2],
    /// Rows that it was made from.
    pub rows: usize,
    /// Rows whose decision changed.
    pub changed: usize,
    /// The shares of rows that are decided for their own class, before and after, if these classes
    /// are known.
    pub accuracy: Option<[f64; 2]>,
    /// The oracle's findings about it, if the oracle was asked at the end.
    pub oracle: Option<Against>,
    /// How long it took.
    pub seconds: f64,
}

/// What the oracle finds about a model that was made without its proof.
#[derive(Debug)]
pub struct Against {
    /// Is it known, for every input of the domain, whether the two decide alike? There is no
    /// certificate for it.
    pub conclusion: Conclusion,
    json: Value,
    words: String,
}

/// Keeps `size` members, chosen by `order` on rows with known classes. **Decisions change, and
/// nothing is proved.**
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
    let members = Some((pruned.chosen, pruned.members));
    let method = Method::Order(order);
    measured(original, pruned.file, method, members, rows, classes, started)
}

/// Runs the paper's pruner with a weakened oracle: a candidate that `scrutiny` does not refute is
/// taken. **Decisions may change, and nothing is proved.** At the end the oracle is asked once, for
/// the remaining time of the budget, and the result includes its findings. The classes of the rows
/// only serve to measure accuracy and may be empty.
///
/// ```
/// use secateur::prune::unproved::{Scrutiny, prune_without_proof};
/// use secateur::{Budget, demo, ModelFile, PruneOptions, Watch};
/// let model = ModelFile::parse(demo::MODEL)?;
/// let rows = vec![0.0; 10 * model.ensemble().features().len()];
/// let (options, budget) = (PruneOptions::default(), Budget::default());
/// let found = prune_without_proof(&model, &rows, &[], Scrutiny::Rows, &options, &budget, &Watch::default())?;
/// assert_eq!(found.changed, 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn prune_without_proof(
    original: &ModelFile,
    rows: &[f64],
    classes: &[ClassId],
    scrutiny: Scrutiny,
    options: &PruneOptions,
    budget: &Budget,
    watch: &Watch,
) -> Result<Unproved, Error> {
    let started = Instant::now();
    let width = original.ensemble().features().len();
    if rows.is_empty() || !classes.is_empty() && rows.len() != classes.len() * width {
        return Err(PruneError::Rows { values: rows.len(), width, classes: classes.len() }.into());
    }
    // The oracle's final question takes the time that is otherwise reserved for a certificate.
    let config = PruneOptions { self_check: true, ..options.clone() }.config(budget);
    let pruned = prune_unchecked(original, rows, &config, scrutiny, watch)?;
    let file = super::forest::averaged_file(original, &pruned.file).unwrap_or(pruned.file);
    let mut result = measured(original, file, Method::Search(scrutiny), None, rows, classes, started)?;
    let asked = VerifyOptions {
        question: Question::Decisions { band: options.claim.band().unwrap_or(Band::Auto), threshold: None },
        domain: options.domain.clone(),
        threads: options.threads,
        seed: options.seed,
        ..VerifyOptions::default()
    };
    let answer = verify(original, &result.file, rows, &asked, budget, &watch.search)?;
    let report =
        VerifyReport { first: original, second: &result.file, answer: &answer, places: Places::default() };
    let words = match answer.decisions().map(|found| &found.verdict) {
        Some(Verdict::Identical) => {
            "finds nothing against it on any input; without --method the same is certified".to_owned()
        }
        Some(Verdict::Different(example)) => {
            let label =
                |model: &ModelFile, class| printable(&model.ensemble().classes().text(class)).into_owned();
            let [before, after] = example.classes;
            let [before, after] = [label(original, before), label(&result.file, after)];
            format!("finds an input that was {before} and is now {after}; `secateur verify` shows it")
        }
        _ => {
            format!("gives no answer: {}", answer.reason().unwrap_or("it was stopped"))
        }
    };
    let json = report.json();
    result.oracle = Some(Against { conclusion: answer.conclusion(), json, words });
    result.seconds = started.elapsed().as_secs_f64();
    Ok(result)
}

/// Measures a model without a proof on the rows.
fn measured(
    original: &ModelFile,
    file: ModelFile,
    method: Method,
    members: Option<(Vec<usize>, usize)>,
    rows: &[f64],
    classes: &[ClassId],
    started: Instant,
) -> Result<Unproved, Error> {
    let [before, after] = [original.ensemble(), file.ensemble()];
    let old = Predictor::new(before).classes(rows)?;
    let new = Predictor::new(after).classes(rows)?;
    let share = |a: &[ClassId]| a.iter().zip(classes).filter(|(a, b)| a == b).count() as f64 / a.len() as f64;
    let accuracy = (!classes.is_empty()).then(|| [share(&old), share(&new)]);
    let changed = old.iter().zip(&new).filter(|(old, new)| old != new).count();
    let mut bytes = Vec::new();
    let bytes = match file.write(&mut bytes) {
        Err(error) if error.kind() == std::io::ErrorKind::Unsupported => None,
        written => written.map(|()| Some(bytes))?,
    };
    let trees = [before, after].map(|model| model.trees().len());
    let leaves = [before, after].map(|model| model.trees().iter().map(Tree::leaf_count).sum());
    Ok(Unproved {
        file,
        bytes,
        method,
        members,
        trees,
        leaves,
        rows: old.len(),
        changed,
        accuracy,
        oracle: None,
        seconds: started.elapsed().as_secs_f64(),
    })
}

impl Unproved {
    /// The share of rows that are decided as before.
    pub fn fidelity(&self) -> f64 {
        (self.rows - self.changed) as f64 / self.rows as f64
    }

    /// The JSON object of `secateur prune --method --json`; `read` is the time that reading took,
    /// in seconds.
    pub fn json(&self, places: Places<'_>, read: f64) -> Value {
        json!({
            "outcome": "unproved",
            "checked": false,
            "method": self.method.name(),
            "members": self.members.as_ref().map(|(chosen, members)| {
                json!({"before": members, "after": chosen.len(), "chosen": chosen})
            }),
            "trees": {"before": self.trees[0], "after": self.trees[1]},
            "leaves": {"before": self.leaves[0], "after": self.leaves[1]},
            "bytes": {"before": places.original_bytes, "after": self.bytes.as_ref().map(Vec::len)},
            "lower_bound": 0,
            "minimal": false,
            "band": null,
            "fidelity": self.fidelity(),
            "accuracy": self.accuracy.map(|[before, after]| json!({"before": before, "after": after})),
            "oracle": self.oracle.as_ref().map(|against| &against.json),
            "rows": self.rows,
            "seconds": {"read": read, "total": read + self.seconds},
            "output": places.pruned,
            "certificate": null,
        })
    }

    /// The result for people.
    pub fn words(&self, places: Places<'_>) -> String {
        let mut text = format!(
            "NOT PROVED: {} -> {}, decisions {}\n",
            self.trees[0],
            counted(self.trees[1] as u64, "tree", "trees"),
            if self.oracle.is_some() { "may change" } else { "change" },
        );
        let mut line = |key: &str, value: &str| text += &(entry(key, value) + "\n");
        let rows = |one, many| counted(self.rows as u64, one, many);
        let made = match self.method {
            Method::Order(_) => format!("chosen by {}", rows("labelled row", "labelled rows")),
            Method::Search(Scrutiny::Rows) => format!("made from {} alone", rows("row", "rows")),
            Method::Search(Scrutiny::Boxes(boxes)) => {
                let boxes = counted(boxes, "box", "boxes");
                format!("{}, and an oracle that looks at {boxes} for each question", rows("row", "rows"))
            }
        };
        line("method", &format!("{}, {made}", self.method.name()));
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
        if let Some([before, after]) = self.accuracy {
            line("accuracy", &format!("{:.2}% -> {:.2}% on these rows", 100.0 * before, 100.0 * after));
        }
        if let Some(against) = &self.oracle {
            line("oracle", &against.words);
        }
        if let Some(output) = places.pruned {
            line("written", output);
        }
        line("instead", "without a method every decision stays, proved");
        text
    }
}
