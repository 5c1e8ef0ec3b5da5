//! A verdict in words for people.

use secateur_certificate::{BandClaim, Effect, Intercept, OutputRange, Statement};
use secateur_lower::input_words;
use secateur_model::{ClassId, Cut, Ensemble, FeatureId, Near};

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
        let mut text = match &self.claim.statement {
            Statement::Scores { within } => format!(
                "valid: the raw scores of the two libraries, averaged where they average, are at most {within:e} apart \
                 on {inputs}, the rounding of both included\n"
            ),
            Statement::Decisions { band: BandClaim::Exact, .. } => format!(
                "valid: the exact sums of the two models decide alike on {inputs}, ties by each model's rule; \
                 where a library's rounding decides, its classes can differ\n"
            ),
            Statement::Decisions { band: BandClaim::Score(0.0), .. } => format!(
                "valid: the two models decide alike on {inputs}, as the libraries decide, wherever the \
                 original's scores do not tie\n"
            ),
            Statement::Decisions { band: BandClaim::Score(score), .. } => format!(
                "valid: the two models decide alike on {inputs}, as the libraries decide, wherever the \
                 original's winner leads by more than {score:e}\n"
            ),
            Statement::Range { outputs } => outputs.iter().map(|own| range_words(own, inputs)).collect(),
            Statement::Class { allowed, cut, near } => match near {
                Some(near) => {
                    let nearer = format!("{inputs} nearer to one row than another row is");
                    class_words(original, allowed, *cut, &nearer) + &near_words(near)
                }
                None => class_words(original, allowed, *cut, inputs),
            },
            Statement::Moves { columns, effect } => moves_words(original, columns, effect, inputs),
        };
        let two = !self.claim.is_about_one_model();
        if let Some([first, second]) = self.claim.cuts().filter(|_| two) {
            text += &format!(
                "decisions: at a threshold and not by the libraries' own rules: class 1 from a score of {:?} on ({:?} in the \
                 pruned model), certain where scores are more than {:e} ({:e}) from it\n",
                first.score, second.score, first.gap, second.gap
            );
        }
        text += &format!("inputs: {}\n", self.inputs(original));
        text += &label_words(&self.labels);
        for shown in &self.shown {
            let scores: Vec<String> = shown.scores.iter().map(|score| format!("{score:?}")).collect();
            let (scores, input) = (scores.join(" and "), input_words(&shown.values));
            text += &format!("shown: the library computes {scores} for output {} at {input}\n", shown.output);
        }
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

fn range_words(own: &OutputRange, inputs: &str) -> String {
    let limits = match (own.at_least, own.at_most) {
        (Some(least), Some(most)) => format!("between {least:?} and {most:?}"),
        (Some(least), None) => format!("at least {least:?}"),
        (None, most) => format!("at most {:?}", most.unwrap_or(f64::INFINITY)),
    };
    format!(
        "valid: raw score {} of the library, averaged where it averages, is {limits} on {inputs}, its rounding \
         included\n",
        own.output
    )
}

fn class_words(model: &Ensemble, allowed: &[ClassId], cut: Option<Cut>, inputs: &str) -> String {
    let classes: Vec<String> =
        allowed.iter().map(|&class| model.classes().text(class).into_owned()).collect();
    let rule = match cut {
        Some(cut) => {
            format!(
                "; at a threshold and not by the library's own rule: class 1 from a score of {:?} on, certain where it is more \
                 than {:e} from it",
                cut.score, cut.gap
            )
        }
        None => String::new(),
    };
    format!("valid: the library decides {} on {inputs}{rule}\n", classes.join(" or ").escape_debug())
}

fn near_words(near: &Near) -> String {
    let distance = match near.counted {
        true => "the weights of the columns that differ, added up",
        false => "the weight of each column times its difference, added up (1 for another category)",
    };
    format!(
        "nearer: to {} than {} is. The distance is {distance}; columns that the domain ties together \
         add the greatest of theirs, and values missing in one input alone are infinitely far. The weights are {}\n",
        input_words(&near.row),
        input_words(&near.than),
        input_words(&near.weights)
    )
}

fn moves_words(model: &Ensemble, columns: &[FeatureId], effect: &Effect, inputs: &str) -> String {
    let name = column_name(model);
    let names: Vec<String> = columns.iter().map(|&column| name(column)).collect();
    let names = names.join(", ");
    match *effect {
        Effect::Apart { within } => format!(
            "valid: changing {names} alone moves no raw score of the library, averaged where it averages, by more than \
             {within:e} on {inputs}, its rounding included\n"
        ),
        Effect::Decides { band: BandClaim::Exact, .. } => format!(
            "valid: changing {names} alone changes no decision of the exact sums on {inputs}, ties by the model's rule\n"
        ),
        Effect::Decides { band: BandClaim::Score(score), .. } => format!(
            "valid: changing {names} alone changes no decision of the library on {inputs}, wherever the winner leads by \
             more than {score:e}\n"
        ),
        Effect::Rises { output, falls, bits } => {
            let never = if falls { "rises" } else { "falls" };
            let how = match bits {
                true => "bit for bit, as the library computes it: each tree keeps the order",
                false => {
                    "in exact arithmetic; the library's own rounding may still lower or raise its last bits"
                }
            };
            format!(
                "valid: raw score {output} never {never} when {names} rises and all other columns stay, on {inputs} where \
                 {names} is not missing; {how}\n"
            )
        }
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
