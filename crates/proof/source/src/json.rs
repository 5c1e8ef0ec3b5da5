//! A verdict about files as JSON, as `secateur-check --json` prints it.

use secateur_certificate::{BandClaim, Effect, Intercept, OutputRange, Statement};
use secateur_checker::{ColumnBound, Proved, Reason, Shown, Verdict};
use secateur_formats::DomainFile;
use secateur_model::{ClassId, Ensemble};
use serde_json::{Value, json};

use crate::{PackingProved, PackingReason, PackingVerdict, QuantisedProved};

/// The verdict about two models; the original has the names of columns.
pub fn verdict_json(verdict: &Verdict, original: &Ensemble) -> Value {
    let (name, reason, step, claim) = match verdict {
        Verdict::Valid(proved) => ("valid", None, None, claim_json(proved, original)),
        Verdict::Invalid { reason, step } => ("invalid", Some(reason), *step, Value::Null),
        Verdict::Incomplete { reason, step } => ("incomplete", Some(reason), *step, Value::Null),
    };
    let (code, message) = (reason.map(Reason::code), reason.map(Reason::message));
    json!({"verdict": name, "reason": code, "message": message, "step": step, "claim": claim})
}

impl PackingVerdict {
    /// The verdict about a packed model; the original has the names of columns.
    pub fn json(&self, original: &Ensemble) -> Value {
        let (name, reason, claim) = match self {
            Self::Valid(proved) => ("valid", None, packing_claim(proved, original)),
            Self::Invalid(reason) => ("invalid", Some(reason), Value::Null),
            Self::Incomplete(reason) => ("incomplete", Some(reason), Value::Null),
        };
        let (code, message) = (reason.map(PackingReason::code), reason.map(PackingReason::message));
        json!({"verdict": name, "reason": code, "message": message, "step": null, "claim": claim})
    }
}

fn packing_claim(proved: &PackingProved, original: &Ensemble) -> Value {
    let outcome = match proved.pruning.as_ref().map(|pruning| &pruning.claim.statement) {
        _ if proved.quantised.is_some() => match &proved.quantised {
            Some(QuantisedProved { decisions: Some(_), .. }) => "same_decisions",
            _ if proved.pruning.is_some() => "scores_within_of_pruned",
            _ => "scores_within",
        },
        None => "same_bits",
        Some(Statement::Scores { .. }) => "scores_within",
        Some(_) => "same_decisions",
    };
    json!({
        "kind": match (&proved.pruning, &proved.quantised) {
            (None, None) => "packed",
            (Some(_), None) => "pruned_and_packed",
            (None, Some(_)) => "quantised",
            (Some(_), Some(_)) => "pruned_and_quantised",
        },
        "outcome": outcome,
        "original": proved.original.to_string(),
        "packed": proved.packed.to_string(),
        "pruning": proved.pruning.as_ref().map(|pruning| claim_json(pruning, original)),
        "quantised": proved.quantised.as_ref().map(|leaves| json!({
            "within": leaves.within,
            "scores": leaves.scores.as_ref().map(|claim| claim_json(claim, original)),
            "decisions": leaves.decisions.as_ref().map(|claim| claim_json(claim, original)),
        })),
    })
}

fn claim_json(proved: &Proved, original: &Ensemble) -> Value {
    let domain = &proved.claim.domain;
    let bound = |bound: &ColumnBound| {
        json!({
            "bound": bound.bound,
            "columns": bound.columns,
            "intercept": intercept_word(bound.intercept),
            "reached": bound.reached,
        })
    };
    json!({
        "original": proved.claim.original.to_string(),
        "pruned": proved.claim.pruned.to_string(),
        "about": match proved.claim.statement {
            Statement::Decisions { .. } => "decisions",
            Statement::Scores { .. } => "scores",
            Statement::Range { .. } => "range",
            Statement::Class { .. } => "class",
            Statement::Moves { .. } => "moves",
        },
        "band": proved.claim.band().map(|band| json!({"exact": band == BandClaim::Exact, "score": band.score()})),
        "within": proved.claim.within(),
        "cuts": proved.claim.cuts().map(|cuts| cuts.map(|cut| json!({"score": cut.score, "gap": cut.gap}))),
        "one_model": one_model_json(proved, original),
        "scope": proved.accepted.scope(domain),
        "inputs": proved.inputs(original),
        "domain": (!domain.is_everything()).then(|| DomainFile::of(domain, original.features()).to_json()),
        "labels": {
            "by_label": proved.labels.by_label,
            "by_code": proved.labels.by_code,
            "unplaced": proved.labels.unplaced,
        },
        "systems": proved.systems,
        "steps": proved.steps,
        "columns": proved.columns.as_ref().map(bound),
        "cost": proved.cost.as_ref().map(bound),
        "threshold_splits": proved.thresholds,
    })
}

/// What a claim says of one model; null for a claim about two.
fn one_model_json(proved: &Proved, model: &Ensemble) -> Value {
    let shown = || -> Value {
        let one = |own: &Shown| {
            json!({"output": own.output, "values": own.values.iter().map(|&v| number(v)).collect::<Vec<_>>(),
                "scores": own.scores.iter().map(|&v| number(v)).collect::<Vec<_>>()})
        };
        proved.shown.iter().map(one).collect()
    };
    match &proved.claim.statement {
        Statement::Decisions { .. } | Statement::Scores { .. } => Value::Null,
        Statement::Range { outputs } => {
            let one = |own: &OutputRange| json!({"output": own.output, "at_least": own.at_least, "at_most": own.at_most});
            json!({"range": outputs.iter().map(one).collect::<Vec<_>>(), "shown": shown()})
        }
        Statement::Class { allowed, near, .. } => {
            let text = |&class: &ClassId| model.classes().text(class).into_owned();
            let near = near.as_ref().map(|near| json!({"row": near.row, "than": near.than, "weights": near.weights, "counted": near.counted}));
            json!({"classes": allowed.iter().map(text).collect::<Vec<_>>(), "near": near})
        }
        Statement::Moves { columns, effect } => {
            let names: Vec<String> =
                columns.iter().map(|&column| model.features().name(column).into_owned()).collect();
            let effect = match *effect {
                Effect::Apart { within } => json!({"scores": "apart", "within": within}),
                Effect::Decides { band, .. } => {
                    json!({"decisions": {"exact": band == BandClaim::Exact, "score": band.score()}})
                }
                Effect::Rises { output, falls, bits } => json!({
                    "scores": if falls { "never rise" } else { "never fall" },
                    "output": output,
                    "bits": bits,
                }),
            };
            json!({"columns": names, "effect": effect, "shown": shown()})
        }
    }
}

/// A number; as text where JSON has none for it.
fn number(value: f64) -> Value {
    if value.is_finite() {
        json!(value)
    } else if value.is_nan() {
        Value::Null
    } else {
        json!(value.to_string())
    }
}

fn intercept_word(intercept: Intercept) -> &'static str {
    match intercept {
        Intercept::None => "none",
        Intercept::Scaled => "scaled",
        Intercept::Free => "free",
        Intercept::Counted => "counted",
    }
}
