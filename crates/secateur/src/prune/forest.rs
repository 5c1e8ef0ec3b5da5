//! Forests whose probabilities stay an average.
//!
//! The probabilities of a scikit-learn forest are the average of its trees' leaves, with nothing behind it that
//! would make them add up to one. New weights change the sum; one factor on all trees brings it back, and changes
//! no decision but by rounding. The scaled forest is another file, so it needs a proof of its own.

use secateur_formats::{Edit, ModelFile, TreeEdit};
use secateur_model::{Ensemble, Exact, TreeId};
use secateur_prune::{Fate, Pruned};

/// A sum that is off by no more than this is off by rounding alone. Nothing is decided by it: a forest that is
/// left as it is has been proved as it is.
const ROUNDING: f64 = 1e-12;

/// The pruned forest with all its trees scaled so that the probabilities add up to what they did in the original;
/// `None` where they do already, where the model is none of these, or where the format cannot hold it.
pub(super) fn averaged(original: &ModelFile, pruned: &Pruned) -> Option<Pruned> {
    let (file, factor) = scaled_file(original, &pruned.file)?;
    let fates = pruned.fates.iter().map(|fate| scaled(*fate, factor)).collect();
    Some(Pruned { file, fates, ..pruned.clone() })
}

/// The same for a forest that nothing is proved of.
pub(super) fn averaged_file(original: &ModelFile, pruned: &ModelFile) -> Option<ModelFile> {
    scaled_file(original, pruned).map(|(file, _)| file)
}

/// The scaled forest, and the factor of all its trees.
fn scaled_file(original: &ModelFile, pruned: &ModelFile) -> Option<(ModelFile, f64)> {
    if !original.averages_probabilities() {
        return None;
    }
    let [before, after] = [original, pruned].map(|file| total(file.ensemble()));
    let factor = before? / after?;
    if !factor.is_finite() || factor <= 0.0 || (factor - 1.0).abs() < ROUNDING {
        return None;
    }
    let trees = (0..pruned.ensemble().trees().len()).map(TreeId::new);
    let trees = trees.map(|tree| TreeEdit::Scale { tree, factor }).collect();
    Some((pruned.edit(&Edit { trees, intercepts: None }).ok()?, factor))
}

/// What the probabilities of all classes add up to, at one input; trees whose leaves add up to different numbers
/// are no average of probabilities, and any input is as good as another for them.
fn total(model: &Ensemble) -> Option<f64> {
    let row = vec![0.0; model.features().len()];
    let sums = model.exact_sums(model.leaves(&row));
    let sum = sums.iter().fold(Exact::zero(), |sum, value| &sum + value).to_f64();
    let divisor = model.accumulation().divisor();
    Some(sum / divisor).filter(|total| total.is_finite() && *total > 0.0)
}

fn scaled(fate: Fate, factor: f64) -> Fate {
    match fate {
        Fate::Kept => Fate::Scaled(factor),
        Fate::Scaled(weight) => Fate::Scaled(weight * factor),
        Fate::Rewritten(weight) => Fate::Rewritten(weight * factor),
        Fate::Merged { into, weight } => Fate::Merged { into, weight: weight * factor },
        other => other,
    }
}
