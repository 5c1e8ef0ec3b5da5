//! What somebody asks of a certificate that depends on the files: decisions at a threshold for
//! probabilities, and packed models.

use secateur_checker::{Asked, Proved, Reason, Unproved, Verdict, match_classes};
use secateur_formats::{ModelFile, cut_covers, threshold_cut};
use secateur_model::{ClassId, Cut, Ensemble};

use crate::{PackingReason, PackingVerdict, QuantisedProved};

/// The verdict where a claim about decisions at this threshold is asked for, or without one a claim
/// about the libraries' own decisions: a valid certificate about other decisions is refused. One
/// about scores has no decisions and stays as it is.
pub fn at_threshold(verdict: Verdict, asked: Option<f64>, files: [&ModelFile; 2]) -> Verdict {
    let Verdict::Valid(proved) = verdict else { return verdict };
    let refused = |asked| {
        let reason = Unproved::ClaimThresholdAsked { claimed: proved.claim.cuts(), asked }.into();
        Verdict::Invalid { reason, step: None }
    };
    match (proved.claim.cuts(), asked) {
        (None, None) => Verdict::Valid(proved),
        (None, Some(_)) if proved.claim.within().is_some() => {
            Verdict::Invalid { reason: Unproved::ClaimKindAsked { about_scores: true }.into(), step: None }
        }
        (Some(_), None) => refused(None),
        (claimed, Some(threshold)) => {
            let covers = |claimed: [Cut; 2]| {
                // Class 1 of the original has to be class 1 of the pruned model too, since both
                // have that threshold.
                let [first, second] = files.map(ModelFile::ensemble);
                match_classes(first, second).is_some_and(|classes| classes[1] == ClassId(1))
                    && files
                        .iter()
                        .zip(claimed)
                        .all(|(file, cut)| cut_covers(file, cut, threshold) == Ok(true))
            };
            if claimed.is_some_and(covers) {
                return Verdict::Valid(proved);
            }
            let [first, second] = files.map(|file| threshold_cut(file, threshold));
            refused(first.ok().zip(second.ok()).map(|(first, second)| [first, second]))
        }
    }
}

impl PackingVerdict {
    /// The verdict where this is asked for, and decisions at a threshold: a packing that is valid
    /// is refused where the pruning before it, or what is claimed of quantised leaves, proves less.
    /// Equal bits are all that can be asked for.
    #[must_use]
    pub fn asked_for(self, asked: &Asked<'_>, threshold: Option<f64>, original: &ModelFile) -> Self {
        let Self::Valid(proved) = self else { return self };
        let model = original.ensemble();
        // No packing has a pruning for a threshold, and no claim about quantised leaves speaks of
        // one; without these the bits are the same, whatever they decide.
        let exact = proved.pruning.is_none() && proved.quantised.is_none();
        let threshold = threshold.filter(|_| !exact).map(|threshold| -> Reason {
            let cut = threshold_cut(original, threshold).ok();
            Unproved::ClaimThresholdAsked { claimed: None, asked: cut.map(|cut| [cut; 2]) }.into()
        });
        let pruning = || proved.pruning.as_ref().and_then(|pruning| pruning.lacks(asked, model));
        if let Some(reason) = threshold.or_else(pruning) {
            return Self::Invalid(PackingReason::Pruning { reason, step: None });
        }
        if let Some(reason) = proved.quantised.as_ref().and_then(|leaves| leaves.lacks(asked, model)) {
            return Self::Invalid(PackingReason::Quantised { reason, step: None });
        }
        Self::Valid(proved)
    }
}

impl QuantisedProved {
    /// What was asked for and quantised leaves are not shown to have.
    fn lacks(&self, asked: &Asked<'_>, original: &Ensemble) -> Option<Reason> {
        if asked.band.is_some() && self.decisions.is_none() {
            return Some(Unproved::ClaimKindAsked { about_scores: true }.into());
        }
        if let Some(asked) = asked.within.filter(|&asked| self.within > asked) {
            return Some(Unproved::ClaimWithinAsked { claimed: self.within, asked }.into());
        }
        // A band is asked of decisions, a limit of scores, and inputs of both.
        let about_scores = Asked { band: None, ..*asked };
        let about_decisions = Asked { within: None, ..*asked };
        let lacks = |claim: &Option<Proved>, asked: &Asked<'_>| claim.as_ref()?.lacks(asked, original);
        lacks(&self.scores, &about_scores).or_else(|| lacks(&self.decisions, &about_decisions))
    }
}
