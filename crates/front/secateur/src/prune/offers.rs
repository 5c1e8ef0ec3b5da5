//! What would make a model smaller if little can be removed; measured on this very model, in short
//! trials.
//!
//! Each trial asks for a smaller claim (only inputs without missing values, only inputs like the
//! caller's rows, or only decisions that are not close) and reports how many trees are left.
//! Whether that claim suffices is for the caller to say. [`advise`](crate::advise) makes the same
//! trials.

use std::time::{Duration, Instant};

use secateur_formats::ModelFile;
use secateur_model::{Domain, FeatureId};
use secateur_oracle::{Band, Cancel};
use secateur_prune::{Claim, Watch};
use serde_json::{Value, json};

use super::{PruneOptions, Pruning, prune_only};
use crate::advise::{Trial, ended};
use crate::budget::Budget;
use crate::domain::resolve_domain;
use crate::logistic;
use crate::propose::propose;
use crate::text::{counted, entry, grouped, plain};

/// The distance from one half up to which a probability counts as close, in the trial of a band.
const NEAR: f64 = 0.05;
/// A trial takes at most this long.
const LONGEST_TRIAL: Duration = Duration::from_secs(5);

/// What a smaller model requires.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Way {
    /// Nothing: every decision stays, on every input.
    Decisions,
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
    /// Every score may move by this much, and by no more.
    Within(f64),
}

impl Way {
    /// The options of the command line.
    fn options(&self) -> String {
        match self {
            Self::Decisions => String::new(),
            Self::NoMissing => " --no-missing".to_owned(),
            Self::LikeTheRows => " --domain inputs.toml".to_owned(),
            Self::Band { score, .. } => format!(" --band {}", plain(*score)),
            Self::Within(within) => format!(" --within {}", plain(*within)),
        }
    }

    /// The command and its option, as the name of a trial.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Decisions => "prune".to_owned(),
            other => other.options().trim_start().replace("inputs.toml", "FILE"),
        }
    }

    /// The command to copy; `model` is the path of the model's file.
    pub(crate) fn command(&self, model: &str) -> String {
        let ending = std::path::Path::new(model).extension().and_then(|ending| ending.to_str());
        let domain = match self {
            Self::LikeTheRows => "secateur domain TABLE -o inputs.toml && ",
            _ => "",
        };
        let ending = ending.map_or_else(String::new, |ending| format!(".{ending}"));
        format!("{domain}secateur prune {model} -o smaller{ending}{}", self.options())
    }

    /// The argument for Python's `prune`; empty if it needs none.
    pub fn option(&self) -> String {
        match self {
            Self::Decisions => String::new(),
            Self::NoMissing => "missing=False".to_owned(),
            Self::LikeTheRows => "domain=Domain.from_data(X)".to_owned(),
            Self::Band { score, .. } => format!("band={score}"),
            Self::Within(within) => format!("within={within}"),
        }
    }

    /// The call in Python.
    pub(crate) fn call(&self) -> String {
        let option = self.option().replace("Domain.", "secateur.Domain.");
        let between = if option.is_empty() { "" } else { ", " };
        format!("secateur.prune(model{between}{option})")
    }

    /// What the caller has to accept, as the end of a sentence.
    pub(crate) fn requires(&self) -> String {
        match *self {
            Self::Decisions => String::new(),
            Self::NoMissing => "if no input has a missing value".to_owned(),
            Self::LikeTheRows => {
                "if every input is like your rows (`secateur domain TABLE -o FILE` proposes the file; you vouch for it)"
                    .to_owned()
            }
            Self::Band { score, probability } => {
                let near = match probability {
                    Some(interval) => format!("whose probability is {}", logistic::words(interval)),
                    None => format!("whose winner leads by less than {score}"),
                };
                format!("if inputs {near} may be decided otherwise")
            }
            Self::Within(within) => format!("if scores may move by {}", plain(within)),
        }
    }

    /// For scripts: `way`, `option` (in Python), `band`, `within`.
    pub(crate) fn json(&self) -> Value {
        let (way, band, within) = match *self {
            Self::Decisions => ("decisions", None, None),
            Self::NoMissing => ("no_missing", None, None),
            Self::LikeTheRows => ("like_the_rows", None, None),
            Self::Band { score, .. } => ("band", Some(score), None),
            Self::Within(within) => ("within", None, Some(within)),
        };
        json!({"way": way, "option": self.option(), "band": band, "within": within})
    }
}

/// One line for each trial with fewer trees than `so_far`, and one for all others.
pub fn trial_words(trials: &[Trial], original: &ModelFile, so_far: usize) -> String {
    let before = grouped(original.ensemble().trees().len() as u64);
    let mut text = String::new();
    let mut in_vain = Vec::new();
    for Trial { way, trees, .. } in trials {
        match trees {
            Ok(trees) if *trees < so_far => {
                let left = format!("{before} -> {}", counted(*trees as u64, "tree", "trees"));
                text += &entry("would help", &format!("{}: {left}, {}", way.name(), way.requires()));
                text.push('\n');
            }
            Ok(_) if *way == Way::LikeTheRows => in_vain.push("a --domain that your rows suggest".to_owned()),
            Ok(_) => in_vain.push(way.name()),
            // This model does not support such a claim: there is nothing to report.
            Err(_) => {}
        }
    }
    if let [first @ .., last] = &in_vain[..] {
        let all = if first.is_empty() { last.clone() } else { format!("{} and {last}", first.join(", ")) };
        text += &(entry("would not", &format!("{all}: in short trials no tree less")) + "\n");
    }
    text
}

impl Pruning {
    /// Did pruning remove less than a tenth of the trees?
    pub fn has_little(&self) -> bool {
        let [before, after] = self.pruned.size;
        10 * after.trees > 9 * before.trees
    }
}

/// Tries within `limit` which smaller claims would make `original` smaller. `rows` and `options`
/// are those of the preceding run. `cancel` ends the trials early.
pub fn offers(
    original: &ModelFile,
    rows: &[f64],
    options: &PruneOptions,
    limit: Duration,
    cancel: &Cancel,
) -> Vec<Trial> {
    // Without time nothing is tried and nothing is reported.
    let ways = if limit.is_zero() { Vec::new() } else { smaller_claims(original, rows, options) };
    try_ways(original, rows, ways, Instant::now() + limit, cancel)
}

/// Makes the trials one after the other; they share the time until `end`.
pub(crate) fn try_ways(
    original: &ModelFile,
    rows: &[f64],
    ways: Vec<(Way, PruneOptions)>,
    end: Instant,
    cancel: &Cancel,
) -> Vec<Trial> {
    let mut left = ways.len() as u32;
    let mut trials = Vec::with_capacity(ways.len());
    for (way, options) in ways {
        if cancel.is_cancelled() {
            break;
        }
        let started = Instant::now();
        let share = end.saturating_duration_since(started) / left.max(1);
        left -= 1;
        let budget = Budget::limit(share.min(LONGEST_TRIAL)).with_cancel(cancel.clone());
        let pruning = prune_only(original, rows, &options, &budget, &Watch::default());
        let seconds = started.elapsed().as_secs_f64();
        trials.push(match pruning {
            Ok(pruning) => Trial {
                way,
                trees: Ok(pruning.pruned.size[1].trees),
                minimal: pruning.minimal() && options.claim.band().is_some(),
                ended: ended(pruning.pruned.outcome),
                seconds,
            },
            Err(error) => Trial { way, trees: Err(error.to_string()), minimal: false, ended: true, seconds },
        });
    }
    trials
}

/// The smaller claims that make sense for this model, with the options that ask for them.
pub(crate) fn smaller_claims(
    original: &ModelFile,
    rows: &[f64],
    options: &PruneOptions,
) -> Vec<(Way, PruneOptions)> {
    let Claim::Decisions { band } = options.claim else { return Vec::new() };
    let ensemble = original.ensemble();
    let trial = PruneOptions { self_check: false, record: false, classes: Vec::new(), ..options.clone() };
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
