//! What the command says: a verdict in words for people, and as JSON.

use secateur_certificate::{BandClaim, Intercept, Statement};
use secateur_formats::DomainFile;
use secateur_model::{Ensemble, FeatureId};
use serde_json::{Value, json};

use crate::{
    ColumnBound, MatchedLabels, PackingProved, PackingReason, PackingVerdict, Proved, QuantisedProved,
    Reason, Verdict,
};

/// What `--json` prints about a packed model.
pub fn packing_json(verdict: &PackingVerdict, original: &Ensemble) -> Value {
    let (name, reason, claim) = match verdict {
        PackingVerdict::Valid(proved) => ("valid", None, packing_claim(proved, original)),
        PackingVerdict::Invalid(reason) => ("invalid", Some(reason), Value::Null),
        PackingVerdict::Incomplete(reason) => ("incomplete", Some(reason), Value::Null),
    };
    let (code, message) = (reason.map(PackingReason::code), reason.map(PackingReason::message));
    json!({"verdict": name, "reason": code, "message": message, "step": null, "claim": claim})
}

pub(super) fn packing_words(proved: &PackingProved, is_source: bool, original: &Ensemble) -> String {
    let same = if is_source {
        "valid: the source is the model itself: its code is the known text, its tables were compared node by node. The same \
         raw scores, in every bit, on every input that the library accepts, wherever compiler and processor follow the language \
         and IEEE 754\n"
    } else {
        "valid: the packed file is the model itself, compared node by node: the same raw scores, in every bit, \
         on every input\n"
    };
    if let Some(leaves) = &proved.quantised {
        return quantised_words(proved, leaves, original);
    }
    match &proved.pruning {
        None => same.to_owned(),
        Some(pruning) => {
            let pruned = words(&Verdict::Valid(pruning.clone()), original);
            format!(
                "valid: the original was pruned, and the packed file is the pruned model itself, compared node by node\n\
                 the pruning is {pruned}"
            )
        }
    }
}

/// What is said of quantised leaves.
fn quantised_words(proved: &PackingProved, leaves: &QuantisedProved, original: &Ensemble) -> String {
    let model = if proved.pruning.is_some() { "the pruned model" } else { "the model" };
    let scores = leaves.scores.as_ref();
    let inputs = scores.map_or("every input", |scores| scores.accepted.in_short(&scores.claim.domain));
    let mut text = format!(
        "valid: the source asks the questions of {model}, and its leaves are quantised: its code is the known text, its tables were compared \
         node by node, and no sum leaves its type. Its scores are at most {:e} from the raw scores of {model}'s library, averaged where it averages, on \
         {inputs}, the rounding of the library included, wherever compiler and processor follow the language\n",
        leaves.within
    );
    text += &scores.map_or_else(String::new, |scores| inputs_words(scores, original));
    if let Some(decisions) = &leaves.decisions {
        let words = words(&Verdict::Valid(decisions.clone()), original);
        text += &words.replacen("valid: the two models", "decisions: the source and the model", 1);
    }
    if let Some(pruning) = &proved.pruning {
        text += &format!("the pruning is {}", words(&Verdict::Valid(pruning.clone()), original));
    }
    text
}

pub(super) fn packing_claim(proved: &PackingProved, original: &Ensemble) -> Value {
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

/// The original's names of columns, as they are printed.
pub(super) fn column_name(original: &Ensemble) -> impl Fn(FeatureId) -> String {
    |column| original.features().name(column).escape_debug().to_string()
}

/// Which inputs were looked at, and what the domain leaves of them.
fn inputs_words(proved: &Proved, original: &Ensemble) -> String {
    format!("inputs: {}\n", proved.accepted.words(&proved.claim.domain, &column_name(original)))
}

pub(super) fn words(verdict: &Verdict, original: &Ensemble) -> String {
    match verdict {
        Verdict::Invalid { reason, step } => format!("invalid: {}\n", reason.describe(*step)),
        Verdict::Incomplete { reason, step } => format!("incomplete: {}\n", reason.describe(*step)),
        Verdict::Valid(proved) => {
            let inputs = proved.accepted.in_short(&proved.claim.domain);
            let mut text = match proved.claim.band() {
                None => {
                    let within = proved.claim.within().unwrap_or_default();
                    format!(
                        "valid: the raw scores of the two libraries, averaged where they average, are at most {within:e} apart \
                         on {inputs}, the rounding of both included\n"
                    )
                }
                Some(BandClaim::Exact) => format!(
                    "valid: the exact sums of the two models decide alike on {inputs}, ties by each model's rule; \
                     where a library's rounding decides, its classes can differ\n"
                ),
                Some(BandClaim::Score(0.0)) => format!(
                    "valid: the two models decide alike on {inputs}, as the libraries decide, wherever the \
                     original's scores do not tie\n"
                ),
                Some(BandClaim::Score(score)) => format!(
                    "valid: the two models decide alike on {inputs}, as the libraries decide, wherever the \
                     original's winner leads by more than {score:e}\n"
                ),
            };
            if let Some([first, second]) = proved.claim.cuts() {
                text += &format!(
                    "decisions: at a threshold and not by the libraries' own rules: class 1 from a score of {:?} on ({:?} in the \
                     pruned model), certain where scores are more than {:e} ({:e}) from it\n",
                    first.score, second.score, first.gap, second.gap
                );
            }
            text += &inputs_words(proved, original);
            text += &label_words(&proved.labels);
            let family = |bound: &ColumnBound| {
                let intercept = match bound.intercept {
                    Intercept::Counted => "where constants other than zero count as one more",
                    Intercept::Free => "with any constants for free",
                    Intercept::Scaled => "with its intercept, scaled",
                    Intercept::None => "without an intercept",
                };
                format!("{} columns of the original, {intercept}", bound.columns)
            };
            if let Some(bound) = &proved.columns {
                let reached =
                    if bound.reached { "; the pruned model has no more trees: minimal" } else { "" };
                text += &format!("at least {} of {}{reached}\n", bound.bound, family(bound));
            }
            if let Some(bound) = &proved.cost {
                text += &format!("at least cost {} for {}\n", bound.bound, family(bound));
            }
            if let Some(splits) = proved.thresholds {
                text += &format!("at least {splits} threshold splits in any ensemble that decides alike\n");
            }
            text
        }
    }
}

/// How category labels were matched, where there are any.
fn label_words(labels: &MatchedLabels) -> String {
    let list = |names: &[String]| {
        names.iter().map(|name| name.escape_debug().to_string()).collect::<Vec<_>>().join(", ")
    };
    let mut parts = Vec::new();
    if !labels.by_label.is_empty() {
        parts.push(format!("matched by label in {}", list(&labels.by_label)));
    }
    if !labels.by_code.is_empty() {
        let names = list(&labels.by_code);
        parts.push(format!("matched BY CODE in {names}, where only one of the models has labels"));
    }
    if labels.unplaced {
        parts.push(
            "matched BY CODE where one of the files has labels without naming their columns".to_owned(),
        );
    }
    if parts.is_empty() { String::new() } else { format!("category labels: {}\n", parts.join("; ")) }
}

/// What `--json` prints; the original has the names of columns.
pub fn to_json(verdict: &Verdict, original: &Ensemble) -> Value {
    let (name, reason, step, claim) = match verdict {
        Verdict::Valid(proved) => ("valid", None, None, claim_json(proved, original)),
        Verdict::Invalid { reason, step } => ("invalid", Some(reason), *step, Value::Null),
        Verdict::Incomplete { reason, step } => ("incomplete", Some(reason), *step, Value::Null),
    };
    let (code, message) = (reason.map(Reason::code), reason.map(Reason::message));
    json!({"verdict": name, "reason": code, "message": message, "step": step, "claim": claim})
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
        "inputs": proved.accepted.words(domain, &column_name(original)),
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
