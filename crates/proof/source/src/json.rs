//! A verdict about files as JSON, as `secateur-check --json` prints it.

use secateur_certificate::{BandClaim, Intercept, Statement};
use secateur_checker::{ColumnBound, Proved, Reason, Verdict};
use secateur_formats::DomainFile;
use secateur_model::Ensemble;
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
    let outcome = match proved.pruning.as_ref().map(|pruning| pruning.claim.statement) {
        _ if proved.quantised.is_some() => match &proved.quantised {
            Some(QuantisedProved { decisions: Some(_), .. }) => "same_decisions",
            _ if proved.pruning.is_some() => "scores_within_of_pruned",
            _ => "scores_within",
        },
        None => "same_bits",
        Some(Statement::Decisions { .. }) => "same_decisions",
        Some(Statement::Scores { .. }) => "scores_within",
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
        "about": if proved.claim.within().is_some() { "scores" } else { "decisions" },
        "band": proved.claim.band().map(|band| json!({"exact": band == BandClaim::Exact, "score": band.score()})),
        "within": proved.claim.within(),
        "cuts": proved.claim.cuts().map(|cuts| cuts.map(|cut| json!({"score": cut.score, "gap": cut.gap}))),
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

fn intercept_word(intercept: Intercept) -> &'static str {
    match intercept {
        Intercept::None => "none",
        Intercept::Scaled => "scaled",
        Intercept::Free => "free",
        Intercept::Counted => "counted",
    }
}
