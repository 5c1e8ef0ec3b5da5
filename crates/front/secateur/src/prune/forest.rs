//! Keeps the probabilities of pruned forests averages.
//!
//! The probabilities of a scikit-learn forest are the average of its trees' leaves; no later step
//! normalises them to a sum of one. New weights change that sum. One common factor on all trees
//! restores it, and changes decisions only by rounding. The scaled forest is another file, so it
//! needs a proof of its own.

use secateur_formats::{Edit, ModelFile, TreeEdit};
use secateur_model::{Ensemble, Exact, TreeId};
use secateur_prune::{Fate, Pruned};

/// Sums that differ by a smaller share than this differ only by rounding. No decision depends on
/// this constant: a forest that is not scaled keeps the proof that it has.
const ROUNDING: f64 = 1e-12;

/// The pruned forest with all its trees scaled so that the probabilities add up to the same as in
/// the original. `None` if they already do, if the model is not such a forest, or if the format
/// cannot hold the result.
pub(super) fn averaged(original: &ModelFile, pruned: &Pruned) -> Option<Pruned> {
    let (file, factor) = scaled_file(original, &pruned.file)?;
    let fates = pruned.fates.iter().map(|fate| scaled(*fate, factor)).collect();
    Some(Pruned { file, fates, ..pruned.clone() })
}

/// The same for a forest about which nothing is proved.
pub(super) fn averaged_file(original: &ModelFile, pruned: &ModelFile) -> Option<ModelFile> {
    scaled_file(original, pruned).map(|(file, _)| file)
}

/// The scaled forest, and the common factor of its trees.
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

/// The sum of the probabilities of all classes, at one input. If trees' leaves add up to different
/// numbers, the model is not an average of probabilities, and any input serves as well as another.
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
