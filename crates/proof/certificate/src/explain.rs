//! A certificate as text, for people.

use std::fmt::Write;

use secateur_model::{Accepted, Cut};

use crate::claim::{BandClaim, Claim, Effect, OutputRange, Statement};
use crate::step::{Intercept, Slack, Step};

/// The number of entries of a list that are shown at most.
const SHOWN: usize = 12;

/// The claim, a few lines.
pub fn explain_claim(claim: &Claim) -> String {
    let band_words = |band: BandClaim, local_rounding: bool| {
        let band = match band {
            BandClaim::Exact => "exact arithmetic, ties by rule".to_owned(),
            BandClaim::Score(score) => format!("leads above {score:e}"),
        };
        let rounding = if local_rounding { "by input where a system says so" } else { "over all inputs" };
        format!("band     {band}\nrounding {rounding}\n")
    };
    let statement = match &claim.statement {
        Statement::Scores { within } => format!("scores   at most {within:e} apart\n"),
        Statement::Range { outputs } => {
            let limit = |limit: Option<f64>, side: &str| {
                limit.map_or_else(String::new, |limit| format!(", at {side} {limit:?}"))
            };
            let words = |own: &OutputRange| {
                let (least, most) = (limit(own.at_least, "least"), limit(own.at_most, "most"));
                format!("range    output {}{least}{most}\n", own.output)
            };
            outputs.iter().take(SHOWN).map(words).collect()
        }
        Statement::Class { allowed, cut, near } => {
            let at = cut.map_or_else(String::new, |cut| {
                format!(", class 1 from {:?} on, certain {:e} from it", cut.score, cut.gap)
            });
            let near = near.as_ref().map_or_else(String::new, |near| {
                let by = if near.counted { "changed columns, by weight" } else { "weighted differences" };
                format!(
                    "near     {:?}\nthan     {:?}\nweights  {:?}, {by}\n",
                    near.row, near.than, near.weights
                )
            });
            format!("class    one of {}{at}\n{near}", list(allowed))
        }
        Statement::Moves { columns, effect } => {
            let effect = match *effect {
                Effect::Apart { within } => format!("scores   at most {within:e} apart\n"),
                Effect::Decides { band, local_rounding } => band_words(band, local_rounding),
                Effect::Rises { output, falls, bits } => {
                    let never = if falls { "rises" } else { "falls" };
                    let of =
                        if bits { "as the library computes it, tree by tree" } else { "in exact arithmetic" };
                    format!("order    the score of output {output} never {never}, {of}\n")
                }
            };
            format!("moved    columns {}\n{effect}", list(columns))
        }
        &Statement::Decisions { band, local_rounding, cuts } => {
            let cuts = cuts.map_or_else(String::new, |[original, pruned]| {
                let words = |cut: Cut| format!("{:?} on, certain {:e} from it", cut.score, cut.gap);
                format!("cuts     class 1 from {}; pruned: from {}\n", words(original), words(pruned))
            });
            band_words(band, local_rounding) + &cuts
        }
    };
    let scope = match &claim.domain {
        domain if domain.is_everything() => Accepted::OF_UNKNOWN_MODELS.to_owned(),
        domain => {
            let parts = domain.words(&|column| format!("column {column}"));
            format!("{}; of those: {}", Accepted::OF_UNKNOWN_MODELS, parts.join("; "))
        }
    };
    let models = match claim.is_about_one_model() {
        true => format!("model    {}\n", claim.original),
        false => format!("original {}\npruned   {}\n", claim.original, claim.pruned),
    };
    format!("{models}{statement}scope    {scope}\n")
}

/// One step in one line.
pub fn explain_step(step: &Step) -> String {
    match step {
        Step::Stack { original, pruned } => {
            format!(
                "stack: trees {} of the original and {} of the pruned model",
                list(original),
                list(pruned)
            )
        }
        Step::System { winner, other, slack } => {
            let slack = match slack {
                Slack::Global => "",
                Slack::Local => ", rounding by input",
            };
            format!(
                "system: the original says {winner}, the pruned model does not put it above {other}{slack}"
            )
        }
        Step::ScoreSystem { output, below } => {
            let side = if *below { "below" } else { "above" };
            format!(
                "system: the pruned model's score of output {output} is too far {side} the original's (in a claim about one \
                 model: the score is too far {side} its limit, or the score on the other input)"
            )
        }
        Step::ClassSystem { class } => format!("system: the model decides class {class}"),
        Step::Shown { output, values } => format!("shown: output {output} at {}", list(values)),
        Step::Lens { multipliers } => format!("lens: rows times {}", list(multipliers)),
        Step::Narrow { axis, low, high, lens } => {
            format!("narrow: axis {axis} to cells {low}..{high}, the rest closed by lens {lens}")
        }
        Step::Close { lens } => format!("close: by lens {lens}"),
        Step::Split { axis, cell, low_first } => {
            let first = if *low_first { "lower" } else { "upper" };
            format!("split: axis {axis} behind cell {cell}, {first} side first")
        }
        Step::Cells => "cells: each looked at".to_owned(),
        Step::Join { row, fixed } => format!("join: row {row} with the last one, axes {} fixed", list(fixed)),
        Step::Meet { first } => format!("meet: axes {} against all others", list(first)),
        Step::Point { values } => format!("point: {}", list(values)),
        Step::Columns { intercept, columns } => {
            let intercept = match intercept {
                Intercept::None => "none",
                Intercept::Scaled => "scaled",
                Intercept::Free => "free",
                Intercept::Counted => "counted as one more column",
            };
            let text: Vec<String> = columns.iter().map(|trees| format!("[{}]", list(trees))).collect();
            format!("columns: {}, intercept {intercept}", list(&text))
        }
        Step::Cut { terms } => {
            let terms: Vec<String> = terms
                .iter()
                .map(|term| {
                    format!(
                        "{} x lead of {} over {} at point {}",
                        term.multiplier, term.winner, term.other, term.point
                    )
                })
                .collect();
            format!("cut: {}", list(&terms))
        }
        Step::Cover { costs, bound } => match costs {
            Some(costs) => format!("cover: cost at least {bound}, columns cost {}", list(costs)),
            None => format!("cover: at least {bound} columns"),
        },
        Step::Branch { column } => format!("branch: column {column} kept, then not kept"),
        Step::Dual { denominator, terms } => {
            let terms: Vec<String> =
                terms.iter().map(|term| format!("{} x cut {}", term.numerator, term.cut)).collect();
            format!("dual: ({}) / {denominator}", list(&terms))
        }
        Step::Crossing { point, feature, low, high } => {
            format!("crossing: point {point} with feature {feature} at {low:?} and at {high:?}")
        }
        Step::End { steps, complete } => {
            format!("end: {steps} steps, {}", if *complete { "complete" } else { "incomplete" })
        }
    }
}

fn list<T: std::fmt::Display>(values: &[T]) -> String {
    let mut text = String::new();
    for (index, value) in values.iter().take(SHOWN).enumerate() {
        let comma = if index > 0 { ", " } else { "" };
        write!(text, "{comma}{value}").expect("text takes everything");
    }
    if values.len() > SHOWN {
        write!(text, ", ... ({} in all)", values.len()).expect("text takes everything");
    }
    if values.is_empty() {
        text.push_str("none");
    }
    text
}
