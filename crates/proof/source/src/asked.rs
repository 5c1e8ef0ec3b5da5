//! Requirements of a caller on a certificate that depend on the files: decisions at a threshold for
//! probabilities, and packed models.

use secateur_checker::{Asked, ClaimKind, Proved, Reason, Unproved, Verdict, match_classes};
use secateur_formats::{ModelFile, cut_covers, threshold_cut};
use secateur_model::{ClassId, Cut, Ensemble};

use crate::{PackingReason, PackingVerdict, QuantisedProved};

/// The verdict for a caller who asks for a claim about decisions at this threshold (`None`: about
/// the libraries' own decisions). A valid certificate about other decisions is refused. A claim
/// about scores does not depend on a threshold and stays as it is.
pub fn at_threshold(verdict: Verdict, asked: Option<f64>, files: [&ModelFile; 2]) -> Verdict {
    let Verdict::Valid(proved) = verdict else { return verdict };
    let refused = |asked| {
        let reason = Unproved::ClaimThresholdAsked { claimed: proved.claim.cuts(), asked }.into();
        Verdict::Invalid { reason, step: None }
    };
    match (proved.claim.cuts(), asked) {
        (None, None) => Verdict::Valid(proved),
        (None, Some(_)) if proved.claim.band().is_none() => {
            let found = ClaimKind::of(&proved.claim);
            let reason = Unproved::ClaimKindAsked { found, asked: ClaimKind::Decisions }.into();
            Verdict::Invalid { reason, step: None }
        }
        (Some(_), None) => refused(None),
        (claimed, Some(threshold)) => {
            let covers = |claimed: [Cut; 2]| {
                // Class 1 of the original must also be class 1 of the pruned model, since both
                // models have that threshold.
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
    /// The verdict for a caller with these requirements, and with decisions at a threshold. A valid
    /// packing is refused if the pruning before it, or the claim about quantised leaves, proves
    /// less. If all bits are equal, every requirement is met.
    #[must_use]
    pub fn asked_for(self, asked: &Asked<'_>, threshold: Option<f64>, original: &ModelFile) -> Self {
        let Self::Valid(proved) = self else { return self };
        let model = original.ensemble();
        // No packing has a pruning for a threshold, and no claim about quantised leaves is about
        // one. Without either, the bits are the same at any threshold.
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
    /// A requirement that the quantised leaves are not shown to meet.
    fn lacks(&self, asked: &Asked<'_>, original: &Ensemble) -> Option<Reason> {
        if asked.band.is_some() && self.decisions.is_none() {
            let (found, asked) = (ClaimKind::Scores, ClaimKind::Decisions);
            return Some(Unproved::ClaimKindAsked { found, asked }.into());
        }
        if let Some(asked) = asked.within.filter(|&asked| self.within > asked) {
            return Some(Unproved::ClaimWithinAsked { claimed: self.within, asked }.into());
        }
        // A band is a requirement on decisions, a limit one on scores, and inputs are one on both.
        let about_scores = Asked { band: None, ..*asked };
        let about_decisions = Asked { within: None, ..*asked };
        let lacks = |claim: &Option<Proved>, asked: &Asked<'_>| claim.as_ref()?.lacks(asked, original);
        lacks(&self.scores, &about_scores).or_else(|| lacks(&self.decisions, &about_decisions))
    }
}
