//! `advise`: what would pruning, a smaller claim and packing give for this model? Each is measured
//! in a short trial on the model itself, with the command to copy.

use std::time::{Duration, Instant};

use secateur_formats::ModelFile;
use secateur_model::{ClassLabels, Predictor};
use secateur_oracle::Cancel;
use secateur_prune::{Claim, Editable, Outcome};
use serde_json::{Value, json};

use crate::packed_size::sample;
pub use crate::packed_size::{PackedSize, PackedSpeed};
use crate::prune::{PruneOptions, Way, smaller_claims, try_ways};
use crate::text::{counted, entry, grouped};

/// The share of the spread of a model's scores that the trial of `--within` allows them to move.
const WITHIN_SHARE: f64 = 0.01;

/// What was measured.
#[derive(Clone, Debug)]
pub struct Advice {
    /// The model's library and version, in words.
    pub dialect: String,
    /// Its trees.
    pub trees: usize,
    /// The size of its file.
    pub bytes: Option<u64>,
    /// The size and speed of the packed model, or why it cannot be packed.
    pub pack: Result<PackedSize, String>,
    /// The trials of pruning: the first keeps every decision on every input, the others less.
    pub trials: Vec<Trial>,
    /// How long it took.
    pub seconds: f64,
}

/// One trial of pruning.
#[derive(Clone, Debug)]
pub struct Trial {
    /// What it requires.
    pub way: Way,
    /// The trees that are left, or why there is no answer.
    pub trees: Result<usize, String>,
    /// Is it proved that no fewer trees can do?
    pub minimal: bool,
    /// Did the search end before the trial's time was over? If not, a longer run may find a smaller model.
    pub ended: bool,
    /// How long it took.
    pub seconds: f64,
}

/// Which command helps most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Door {
    /// Pruning removes at least a tenth of the trees.
    Prune,
    /// Pruning removes little, but a smaller claim removes a tenth of the trees or more.
    PruneLess,
    /// Pruning removes little; packing keeps all trees and makes them fast.
    Pack,
    /// Neither helps.
    Neither,
}

impl Door {
    /// The name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Prune => "prune",
            Self::PruneLess => "prune_less",
            Self::Pack => "pack",
            Self::Neither => "neither",
        }
    }
}

/// Measures within about `limit` what packing, pruning and pruning with a smaller claim would give.
/// `rows` are the caller's, one after the other, and may be empty; then no domain is proposed.
/// `labels` name the classes of a model whose own file has no names for them. `cancel` ends the
/// trials early.
///
/// ```
/// use std::time::Duration;
/// let model = secateur::ModelFile::parse(secateur::demo::MODEL)?;
/// let advice = secateur::advise(&model, None, (&[], None), Duration::from_secs(5), &Default::default());
/// assert_eq!(advice.door(), secateur::advise::Door::Prune);
/// println!("{}", advice.words(Some("loans.txt"), None));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn advise(
    model: &ModelFile,
    bytes: Option<u64>,
    (rows, labels): (&[f64], Option<&ClassLabels>),
    limit: Duration,
    cancel: &Cancel,
) -> Advice {
    let started = Instant::now();
    let end = started + limit;
    let pack = PackedSize::measure(model, labels, rows).map_err(|error| error.to_string());
    let options = PruneOptions::default();
    let mut ways = Vec::new();
    if model.ensemble().decision().is_classifier() {
        ways.push((Way::Decisions, PruneOptions { self_check: false, ..options.clone() }));
        ways.extend(smaller_claims(model, rows, &options));
    }
    ways.extend(within(model, rows, &options));
    let trials = try_ways(model, rows, ways, end, cancel);
    Advice {
        dialect: model.dialect(),
        trees: model.ensemble().trees().len(),
        bytes: bytes.or_else(|| Editable::bytes(model)),
        pack,
        trials,
        seconds: started.elapsed().as_secs_f64(),
    }
}

/// A trial that lets scores move by a hundredth of their spread on the sample.
fn within(model: &ModelFile, rows: &[f64], options: &PruneOptions) -> Option<(Way, PruneOptions)> {
    let ensemble = model.ensemble();
    let scores = Predictor::new(ensemble).raw_scores(&sample(ensemble, rows)).ok()?;
    let outputs = ensemble.group_count();
    let spread = (0..outputs)
        .map(|output| {
            let of = || scores.iter().skip(output).step_by(outputs).copied();
            of().fold(f64::MIN, f64::max) - of().fold(f64::MAX, f64::min)
        })
        .fold(0.0, f64::max);
    let within = one_digit(WITHIN_SHARE * spread)?;
    let claim = Claim::Scores { within };
    Some((Way::Within(within), PruneOptions { claim, self_check: false, ..options.clone() }))
}

/// A positive number rounded down to one digit, as people write examples.
fn one_digit(value: f64) -> Option<f64> {
    let unit = 10f64.powi(value.log10().floor() as i32);
    let text = format!("{:.0e}", (value / unit).floor() * unit);
    text.parse().ok().filter(|value: &f64| value.is_finite() && *value > 0.0)
}

impl Trial {
    /// Are at least a tenth of the trees gone, and more than a claim about every decision allows?
    fn helps(&self, before: usize, every_decision: usize) -> bool {
        let least = if self.way == Way::Decisions { before } else { every_decision };
        self.trees.as_ref().is_ok_and(|&after| 10 * after <= 9 * before && after < least)
    }

    fn json(&self, model: Option<&str>) -> Value {
        let mut object = self.way.json();
        object["trees"] = json!(self.trees.as_ref().ok());
        object["refused"] = json!(self.trees.as_ref().err());
        object["minimal"] = json!(self.minimal);
        object["ended"] = json!(self.ended);
        object["seconds"] = json!(self.seconds);
        object["command"] = json!(model.map(|model| self.way.command(model)));
        object
    }

    fn words(&self, before: usize, every_decision: usize) -> String {
        let requires = self.way.requires();
        let requires = if requires.is_empty() { String::new() } else { format!(", {requires}") };
        match &self.trees {
            Ok(after) if *after < before && *after >= every_decision && self.way != Way::Decisions => {
                "no fewer trees than with every decision kept".to_owned()
            }
            Ok(after) if *after < before => {
                let more = if self.ended { "" } else { "; more time may find less" };
                let after = counted(*after as u64, "tree", "trees");
                format!("{} -> {after}{requires}{more}", grouped(before as u64))
            }
            Ok(_) if self.minimal => format!("no tree less, and none can go (proved){requires}"),
            Ok(_) => format!("no tree less in {:.1} s{requires}", self.seconds),
            Err(reason) => reason.clone(),
        }
    }
}

impl Advice {
    /// The trees that are left if every decision is kept, as far as the trial went.
    fn every_decision(&self) -> usize {
        let kept = self.trials.iter().find(|trial| trial.way == Way::Decisions);
        kept.and_then(|trial| trial.trees.as_ref().ok().copied()).unwrap_or(self.trees)
    }

    /// The command that helps most.
    pub fn door(&self) -> Door {
        let helps = |trial: &Trial| trial.helps(self.trees, self.every_decision());
        match self.trials.split_first() {
            Some((first, _)) if first.way == Way::Decisions && helps(first) => Door::Prune,
            Some(_) if self.trials.iter().any(helps) => Door::PruneLess,
            _ if self.pack.is_ok() => Door::Pack,
            _ => Door::Neither,
        }
    }

    /// For scripts. `model` is the path of the model's file, for the commands.
    pub fn json(&self, model: Option<&str>) -> Value {
        let pack = self.pack.as_ref().map(|size| {
            let mut object = size.json();
            object["command"] = json!(model.map(pack_command));
            object
        });
        json!({
            "dialect": self.dialect,
            "trees": self.trees,
            "bytes": self.bytes,
            "advice": self.door().name(),
            "pack": pack.as_ref().ok(),
            "pack_refused": pack.as_ref().err(),
            "trials": self.trials.iter().map(|trial| trial.json(model)).collect::<Vec<_>>(),
            "seconds": self.seconds,
        })
    }

    /// For people: one paragraph for each way, with the command line's or Python's way to ask for
    /// it. `model` is the path of the model's file; without it, the calls are those of Python.
    /// `library` is what the caller measured of the model's own library.
    pub fn words(&self, model: Option<&str>, library: Option<&str>) -> String {
        let trees = counted(self.trees as u64, "tree", "trees");
        let bytes = self.bytes.map_or_else(String::new, |bytes| format!(", {} bytes", grouped(bytes)));
        let mut text = entry("model", &format!("{}, {trees}{bytes}", self.dialect)) + "\n";
        let mut line = |key: &str, value: &str| text += &(entry(key, value) + "\n");
        match &self.pack {
            Ok(size) => {
                line("pack", &size.words(self.bytes));
                library.into_iter().for_each(|words| line("", words));
                line("", &model.map_or_else(|| "secateur.pack(model)".to_owned(), pack_command));
            }
            Err(reason) => line("pack", reason),
        }
        for trial in &self.trials {
            line(&trial.way.name(), &trial.words(self.trees, self.every_decision()));
            if trial.helps(self.trees, self.every_decision()) {
                line("", &model.map_or_else(|| trial.way.call(), |model| trial.way.command(model)));
            }
        }
        line("advice", self.advice_words());
        text
    }

    fn advice_words(&self) -> &'static str {
        match self.door() {
            Door::Prune => "prune it: fewer trees and the same decisions; what is left can be packed, too",
            Door::PruneLess => {
                "pack it: every bit stays. Prune it with one of the smaller claims above if that claim is enough for \
                 you; only you can say so"
            }
            Door::Pack => "pack it: pruning removes little or nothing of this model",
            Door::Neither => "neither pruning nor packing helps this model",
        }
    }
}

fn pack_command(model: &str) -> String {
    format!("secateur pack {model} -o model.spk")
}

/// Did the search come to an end of its own?
pub(crate) fn ended(outcome: Outcome) -> bool {
    outcome != Outcome::BudgetReached
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_digit_is_a_number_that_people_write() {
        assert_eq!(one_digit(0.0347), Some(0.03));
        assert_eq!(one_digit(5.0), Some(5.0));
        assert_eq!(one_digit(1234.0), Some(1000.0));
        assert_eq!([one_digit(0.0), one_digit(f64::NAN), one_digit(f64::INFINITY)], [None; 3]);
    }
}
