//! The two models and the claim about them: class pairs, leads, and what rounding may do.
//!
//! The lead of class y over class c is an affine function of a model's exact sums, times the divisor of its
//! average (so that nothing is divided): the distance to the threshold, or the difference of two sums.

use secateur_certificate::{BandClaim, Claim};
use secateur_model::{
    ClassId, ClassLabels, Decision, Ensemble, Exact, FeatureId, LeafId, LocalRounding, Predictor,
};

use crate::reason::{ModelRole, Reason};

/// The models that a certificate is about, and the numbers of its claim.
pub(crate) struct Pair<'a> {
    /// The original as it was read: bounds are about what it takes itself.
    pub(crate) read: &'a Ensemble,
    /// The original, its category codes those of the same labels in the pruned model.
    pub(crate) original: &'a Ensemble,
    pub(crate) pruned: &'a Ensemble,
    /// The pruned model's class for each class of the original.
    pub(crate) classes: Vec<ClassId>,
    /// `None` for exact arithmetic.
    pub(crate) band: Option<Exact>,
    /// The pruned model's rounding over all inputs.
    pub(crate) slack: Exact,
    /// The pruned model's rounding by input, where the claim announces it.
    pub(crate) local: Option<LocalRounding>,
    predictor: Predictor<'a>,
}

impl<'a> Pair<'a> {
    /// The original as it was read, and both models with matched labels.
    pub(crate) fn new(
        read: &'a Ensemble,
        [original, pruned]: [&'a Ensemble; 2],
        claim: &Claim,
    ) -> Result<Self, Reason> {
        let classes = match_classes(original, pruned).ok_or_else(|| Reason::ClaimClasses {
            original: original.classes().len(),
            pruned: pruned.classes().len(),
        })?;
        let mut slack = Exact::zero();
        let band = match claim.band {
            BandClaim::Exact => None,
            BandClaim::Score(score) => {
                let none = |model| move || Reason::ClaimNoCertainMargin { model };
                let smallest = original.certain_margin().ok_or_else(none(ModelRole::Original))?;
                let rounding = pruned.certain_margin().ok_or_else(none(ModelRole::Pruned))?;
                slack = Exact::from_f64(rounding).ok_or_else(none(ModelRole::Pruned))?;
                let refused = || Reason::ClaimBand { band: score, smallest };
                if score.is_nan() || score < smallest {
                    return Err(refused());
                }
                Some(Exact::from_f64(score).ok_or_else(refused)?)
            }
        };
        let local = match (claim.local_rounding, &band) {
            (false, _) => None,
            (true, None) => return Err(Reason::ClaimLocalRounding { exact: true }),
            (true, Some(_)) => {
                Some(pruned.local_rounding().ok_or(Reason::ClaimLocalRounding { exact: false })?)
            }
        };
        Ok(Self { read, original, pruned, classes, band, slack, local, predictor: Predictor::new(pruned) })
    }

    /// The ordered pairs of classes, in the order in which their systems come.
    pub(crate) fn class_pairs(&self) -> impl Iterator<Item = (ClassId, ClassId)> + use<> {
        let count = self.classes.len() as u32;
        (0..count).flat_map(move |winner| {
            (0..count)
                .filter(move |&other| other != winner)
                .map(move |other| (ClassId(winner), ClassId(other)))
        })
    }

    /// Does the library loading the pruned model decide `winner` (as the original counts classes) on this row?
    pub(crate) fn decides(&self, row: &[f64], winner: ClassId) -> Result<(), Reason> {
        let expected = self.classes[winner.index()];
        if self.pruned.scores_vary() {
            return if self.certain(row, expected) {
                Ok(())
            } else {
                Err(Reason::CellsOrder { input: row.to_vec(), winner: winner.0 })
            };
        }
        match self.predictor.classes(row).as_deref() {
            Ok([class]) if *class == expected => Ok(()),
            _ => Err(Reason::CellsSolution { input: row.to_vec(), winner: winner.0 }),
        }
    }

    /// Every lead of the class exceeds what rounding can do to these very leaves, whatever the file leaves open.
    fn certain(&self, row: &[f64], winner: ClassId) -> bool {
        let model = self.pruned;
        let Some(leaves) = leaves(model, row) else { return false };
        let margin = model.decision_gap().and_then(|gap| model.certain_margin_at(&leaves, gap));
        let Some(margin) = margin.and_then(Exact::from_f64) else { return false };
        let sums = model.exact_sums(leaves);
        others(model, winner).all(|other| {
            let lead = Lead::of(model, winner, other);
            lead.total(&sums) > &margin * &lead.divisor
        })
    }

    /// Does the original's exact lead of this class over every other exceed the band on this row?
    pub(crate) fn original_leads(&self, row: &[f64], winner: ClassId) -> bool {
        let model = self.read;
        let Some(leaves) = leaves(model, row) else { return false };
        let sums = model.exact_sums(leaves);
        let band = self.band.clone().unwrap_or_else(Exact::zero);
        others(model, winner).all(|other| {
            let lead = Lead::of(model, winner, other);
            lead.total(&sums) > &band * &lead.divisor
        })
    }
}

/// The other classes.
pub(crate) fn others(model: &Ensemble, class: ClassId) -> impl Iterator<Item = ClassId> + use<> {
    (0..model.classes().len() as u32).map(ClassId).filter(move |&other| other != class)
}

/// The leaves of a row, `None` where the model does not accept it or the claim is not about it.
pub(crate) fn leaves(model: &Ensemble, row: &[f64]) -> Option<Vec<LeafId>> {
    if row.len() != model.features().len() || !model.inputs().contains(row) {
        return None;
    }
    let values = row.iter().enumerate();
    let read: Vec<f64> =
        values.map(|(index, &value)| model.read(FeatureId::new(index), value)).collect::<Option<_>>()?;
    Some(model.leaves(&read).collect())
}

/// How far one class is ahead of another, times the divisor: a combination of sums plus a constant.
pub(crate) struct Lead {
    pub(crate) terms: Vec<(usize, i64)>,
    pub(crate) constant: Exact,
    pub(crate) divisor: Exact,
    pub(crate) wins_ties: bool,
}

impl Lead {
    pub(crate) fn of(model: &Ensemble, winner: ClassId, other: ClassId) -> Self {
        let finite = |value: f64| Exact::from_f64(value).expect("the builder admits finite numbers only");
        let divisor = finite(model.accumulation().average.map_or(1.0, |average| average.divisor));
        match *model.decision() {
            Decision::Threshold { group, threshold, strict } => {
                // Class 1 is ahead above the threshold, class 0 below it.
                let sign = if winner == ClassId(1) { 1 } else { -1 };
                let constant = &(&finite(threshold) * &divisor) * &Exact::from(-sign);
                let wins_ties = (winner == ClassId(1)) != strict;
                Self { terms: vec![(group.index(), sign)], constant, divisor, wins_ties }
            }
            // A model without classes has no leads, and no pair of classes asks for one.
            Decision::Argmax
            | Decision::ArgmaxSoftmax(_)
            | Decision::ArgmaxSigmoid { .. }
            | Decision::Scores(_) => {
                let terms = vec![(winner.index(), 1), (other.index(), -1)];
                Self { terms, constant: Exact::zero(), divisor, wins_ties: winner < other }
            }
        }
    }

    pub(crate) fn total(&self, sums: &[Exact]) -> Exact {
        let combined: Exact =
            self.terms.iter().map(|&(group, factor)| &sums[group] * &Exact::from(factor)).sum();
        &combined + &self.constant
    }
}

/// The class of the pruned model for each class of the original: by label where both have labels, else by
/// position. `None` unless this pairs the classes one to one.
fn match_classes(original: &Ensemble, pruned: &Ensemble) -> Option<Vec<ClassId>> {
    let (ours, theirs) = (original.classes(), pruned.classes());
    // Without classes (a regressor) there would be no pair to show anything of, and so no claim about decisions.
    let classifiers = original.decision().is_classifier() && pruned.decision().is_classifier();
    if ours.len() != theirs.len() || !classifiers {
        return None;
    }
    let ids = || (0..ours.len()).map(ClassId::new);
    if matches!(ours, ClassLabels::Unnamed(_)) || matches!(theirs, ClassLabels::Unnamed(_)) {
        return Some(ids().collect());
    }
    let partner = |class| ids().find(|&other| ours.is_same(class, theirs, other));
    let classes: Vec<ClassId> = ids().map(partner).collect::<Option<_>>()?;
    let mut seen = vec![false; classes.len()];
    classes.iter().all(|class| !std::mem::replace(&mut seen[class.index()], true)).then_some(classes)
}
