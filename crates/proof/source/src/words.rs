//! A verdict about a packed model in words for people.

use secateur_model::Ensemble;

use crate::{PackingProved, PackingVerdict, QuantisedProved};

impl PackingVerdict {
    /// The verdict as lines for people; the original has the names of columns.
    pub fn words(&self, is_source: bool, original: &Ensemble) -> String {
        match self {
            Self::Valid(proved) => valid_words(proved, is_source, original),
            Self::Invalid(reason) => format!("invalid: {}\n", reason.message()),
            Self::Incomplete(reason) => format!("incomplete: {}\n", reason.message()),
        }
    }
}

fn valid_words(proved: &PackingProved, is_source: bool, original: &Ensemble) -> String {
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
            let pruned = pruning.words(original);
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
    text += &scores.map_or_else(String::new, |scores| format!("inputs: {}\n", scores.inputs(original)));
    if let Some(decisions) = &leaves.decisions {
        let words = decisions.words(original);
        text += &words.replacen("valid: the two models", "decisions: the source and the model", 1);
    }
    if let Some(pruning) = &proved.pruning {
        text += &format!("the pruning is {}", pruning.words(original));
    }
    text
}
