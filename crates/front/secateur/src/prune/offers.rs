//! Suggests what would make a model smaller if little can be removed; measured on this very model,
//! in short trials.
//!
//! Each trial asks for a smaller claim (only inputs without missing values, only inputs like the
//! caller's rows, or only decisions that are not close) and reports how many trees are left.
//! Whether that claim suffices is for the caller to say. Packing keeps every bit and is offered
//! whenever the model can be packed.

use std::time::{Duration, Instant};

use secateur_certificate::Digest;
use secateur_formats::ModelFile;
use secateur_formats::packed::{self, Stamp};
use secateur_model::{Domain, FeatureId};
use secateur_oracle::{Band, Cancel};
use secateur_prune::{Claim, Watch};
use serde_json::{Value, json};

use super::{PruneOptions, Pruning, prune};
use crate::budget::Budget;
use crate::domain::resolve_domain;
use crate::logistic;
use crate::propose::propose;
use crate::text::{counted, entry, grouped};

/// The distance from one half up to which a probability counts as close, in the trial of a band.
const NEAR: f64 = 0.05;
/// A trial takes at most this long.
const LONGEST_TRIAL: Duration = Duration::from_secs(5);

/// A way to a smaller model, and how small it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Offer {
    /// What it requires.
    pub way: Way,
    /// The trees that are left after a short trial; for [`Way::Pack`] all of them.
    pub trees: usize,
    /// The size of the packed file, for [`Way::Pack`].
    pub bytes: Option<u64>,
}

/// What a smaller model requires.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Way {
    /// No input has a missing value.
    NoMissing,
    /// Every input is like the caller's rows: within their ranges and with the dependencies among
    /// their columns.
    LikeTheRows,
    /// Decisions this near to the boundary may change.
    Band {
        /// In scores.
        score: f64,
        /// The probabilities at its ends, for logistic models.
        probability: Option<[f64; 2]>,
    },
    /// Nothing: the packed file has every bit of the scores.
    Pack,
}

impl Offer {
    /// The argument for Python's `prune`, or the function to call.
    pub fn option(&self) -> String {
        match self.way {
            Way::NoMissing => "missing=False".to_owned(),
            Way::LikeTheRows => "domain=Domain.from_data(X)".to_owned(),
            Way::Band { score, .. } => format!("band={score}"),
            Way::Pack => "pack(model)".to_owned(),
        }
    }

    /// For scripts: `option` (in Python), `way` (`no_missing`, `like_the_rows`, `band`, `pack`),
    /// `trees`, `bytes`, `band`.
    pub fn json(&self) -> Value {
        let (way, band) = match self.way {
            Way::NoMissing => ("no_missing", None),
            Way::LikeTheRows => ("like_the_rows", None),
            Way::Band { score, .. } => ("band", Some(score)),
            Way::Pack => ("pack", None),
        };
        json!({"option": self.option(), "way": way, "trees": self.trees, "bytes": self.bytes, "band": band})
    }

    /// A sentence, with the command's options.
    pub fn words(&self, original: &ModelFile, original_bytes: Option<u64>) -> String {
        let left = format!(
            "{} -> {}",
            grouped(original.ensemble().trees().len() as u64),
            counted(self.trees as u64, "tree", "trees")
        );
        match self.way {
            Way::NoMissing => format!("--no-missing: {left}, if no input has a missing value"),
            Way::LikeTheRows => format!(
                "--domain FILE: {left}, if every input is like your rows (`secateur domain TABLE -o FILE` proposes the file; \
                 you vouch for it)"
            ),
            Way::Band { score, probability } => {
                let near = match probability {
                    Some(interval) => format!("whose probability is {}", logistic::words(interval)),
                    None => format!("whose winner leads by less than {score}"),
                };
                format!("--band {score}: {left}, if inputs {near} may be decided otherwise")
            }
            Way::Pack => {
                let bytes = grouped(self.bytes.unwrap_or(0));
                let before =
                    original_bytes.map_or_else(String::new, |bytes| format!("{} -> ", grouped(bytes)));
                // Deep forests run about as fast as in their own library.
                let faster = if original.averages_probabilities() { "" } else { " and faster" };
                format!("`secateur pack`: {before}{bytes} bytes{faster}, with every bit of the scores")
            }
        }
    }
}

/// The trials that helped and those that did not.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Offers {
    /// Ways to a smaller model.
    pub found: Vec<Offer>,
    /// Ways whose trials did not lead to fewer trees than are left already.
    pub in_vain: Vec<Way>,
}

impl Offers {
    /// One line for each way that helps, and one for all that do not.
    pub fn words(&self, original: &ModelFile, original_bytes: Option<u64>) -> String {
        let mut text: String = self
            .found
            .iter()
            .map(|offer| entry("would help", &offer.words(original, original_bytes)) + "\n")
            .collect();
        let names: Vec<String> = self
            .in_vain
            .iter()
            .map(|way| match way {
                Way::NoMissing => "--no-missing".to_owned(),
                Way::LikeTheRows => "a --domain that your rows suggest".to_owned(),
                Way::Band { score, .. } => format!("--band {score}"),
                Way::Pack => "packing".to_owned(),
            })
            .collect();
        if let [first @ .., last] = &names[..] {
            let all =
                if first.is_empty() { last.clone() } else { format!("{} and {last}", first.join(", ")) };
            text += &(entry("would not", &format!("{all}: in short trials no tree less")) + "\n");
        }
        text
    }
}

impl Pruning {
    /// Did pruning remove less than a tenth of the trees?
    pub fn has_little(&self) -> bool {
        let [before, after] = self.pruned.size;
        10 * after.trees > 9 * before.trees
    }
}

/// Tries within `limit` what would make `original` smaller than `so_far` trees, and adds packing.
/// `rows` and `options` are those of the preceding run. `cancel` ends the trials early.
pub fn offers(
    original: &ModelFile,
    rows: &[f64],
    options: &PruneOptions,
    so_far: usize,
    limit: Duration,
    cancel: &Cancel,
) -> Offers {
    let end = Instant::now() + limit;
    let mut offers = Offers::default();
    // Without time nothing is tried and nothing is reported.
    let trials = if limit.is_zero() { Vec::new() } else { trials(original, rows, options) };
    let mut left = trials.len() as u32;
    for (way, options) in trials {
        let share = end.saturating_duration_since(Instant::now()) / left.max(1);
        left -= 1;
        let budget = Budget::limit(share.min(LONGEST_TRIAL)).with_cancel(cancel.clone());
        let trial = prune(original, rows, &options, &budget, &Watch::default());
        match trial.map(|trial| trial.pruned.size[1].trees) {
            Ok(trees) if trees < so_far => offers.found.push(Offer { way, trees, bytes: None }),
            Ok(_) => offers.in_vain.push(way),
            // This model does not support such a claim: there is nothing to report.
            Err(_) => {}
        }
    }
    let trees = original.ensemble().trees().len();
    let packed = packed_bytes(original).map(|bytes| Offer { way: Way::Pack, trees, bytes: Some(bytes) });
    offers.found.extend(packed);
    offers
}

/// The smaller claims that make sense for this model, with the options that ask for them.
fn trials(original: &ModelFile, rows: &[f64], options: &PruneOptions) -> Vec<(Way, PruneOptions)> {
    let Claim::Decisions { band } = options.claim else { return Vec::new() };
    let ensemble = original.ensemble();
    let mut trial = PruneOptions { self_check: false, record: false, classes: Vec::new(), ..options.clone() };
    trial.checkpoint = None;
    let mut trials = Vec::new();
    if options.domain.is_everything() {
        if ensemble.intake().missing {
            trials.push((Way::NoMissing, PruneOptions { domain: Domain::no_missing(), ..trial.clone() }));
        }
        let features = ensemble.features();
        let names: Vec<String> =
            (0..features.len()).map(|index| features.name(FeatureId::new(index)).into_owned()).collect();
        let proposed = (!rows.is_empty()).then(|| propose(&names, features.has_names(), rows).ok()).flatten();
        let domain = proposed.and_then(|proposal| resolve_domain(&proposal.domain, original).ok());
        trials.extend(domain.map(|domain| (Way::LikeTheRows, PruneOptions { domain, ..trial.clone() })));
    }
    if band == Band::Auto && options.threshold.is_none() {
        let score = match original.logistic_scale() {
            Some(scale) if logistic::probabilities(original, 0.0).is_some() => {
                Some(((0.5 + NEAR) / (0.5 - NEAR)).ln() / scale)
            }
            _ if original.averages_probabilities() => Some(2.0 * NEAR),
            _ => None,
        };
        // Two decimals, since the band is only an example.
        if let Some(score) = score.map(|score| (score * 100.0).round() / 100.0).filter(|score| *score > 0.0) {
            let probability = logistic::probabilities(original, score);
            let claim = Claim::Decisions { band: Band::Score(score) };
            trials.push((Way::Band { score, probability }, PruneOptions { claim, ..trial }));
        }
    }
    trials
}

/// The size of the packed file; `None` if the model cannot be packed.
fn packed_bytes(model: &ModelFile) -> Option<u64> {
    let stamp = Stamp { source: Digest::of(model.ensemble()).0, cover_rows: 0, cover_hash: 0 };
    packed::File::pack(model, None, &stamp).ok().map(|bytes| bytes.len() as u64)
}
