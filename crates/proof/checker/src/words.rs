//! A verdict in words for people.

use secateur_certificate::{BandClaim, Intercept};
use secateur_model::{Ensemble, FeatureId};

use crate::{ColumnBound, MatchedLabels, Proved, Verdict};

impl Verdict {
    /// The verdict as lines for people; the original has the names of columns.
    pub fn words(&self, original: &Ensemble) -> String {
        match self {
            Self::Valid(proved) => proved.words(original),
            Self::Invalid { reason, step } => format!("invalid: {}\n", reason.describe(*step)),
            Self::Incomplete { reason, step } => format!("incomplete: {}\n", reason.describe(*step)),
        }
    }
}

impl Proved {
    /// Which inputs the proof covers: those that both libraries accept, and how the domain
    /// restricts them.
    pub fn inputs(&self, original: &Ensemble) -> String {
        self.accepted.words(&self.claim.domain, &column_name(original))
    }

    /// What is proved, as lines for people; the original has the names of columns.
    pub fn words(&self, original: &Ensemble) -> String {
        let inputs = self.accepted.in_short(&self.claim.domain);
        let mut text = match self.claim.band() {
            None => {
                let within = self.claim.within().unwrap_or_default();
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
        if let Some([first, second]) = self.claim.cuts() {
            text += &format!(
                "decisions: at a threshold and not by the libraries' own rules: class 1 from a score of {:?} on ({:?} in the \
                 pruned model), certain where scores are more than {:e} ({:e}) from it\n",
                first.score, second.score, first.gap, second.gap
            );
        }
        text += &format!("inputs: {}\n", self.inputs(original));
        text += &label_words(&self.labels);
        let family = |bound: &ColumnBound| {
            let intercept = match bound.intercept {
                Intercept::Counted => "where constants other than zero count as one more",
                Intercept::Free => "with any constants for free",
                Intercept::Scaled => "with its intercept, scaled",
                Intercept::None => "without an intercept",
            };
            format!("{} columns of the original, {intercept}", bound.columns)
        };
        if let Some(bound) = &self.columns {
            let reached = if bound.reached { "; the pruned model has no more trees: minimal" } else { "" };
            text += &format!("at least {} of {}{reached}\n", bound.bound, family(bound));
        }
        if let Some(bound) = &self.cost {
            text += &format!("at least cost {} for {}\n", bound.bound, family(bound));
        }
        if let Some(splits) = self.thresholds {
            text += &format!("at least {splits} threshold splits in any ensemble that decides alike\n");
        }
        text
    }
}

/// The original's names of columns, as they are printed.
pub(crate) fn column_name(original: &Ensemble) -> impl Fn(FeatureId) -> String {
    |column| original.features().name(column).escape_debug().to_string()
}

/// How category labels were matched, if there are any.
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
