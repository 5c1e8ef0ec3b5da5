//! The two models and the claim about them: which systems the claim needs, and, for decisions, the
//! leads and how far rounding can move them.
//!
//! The lead of class y over class c is an affine function of a model's exact sums. It is multiplied
//! by the divisor of the model's average, so that nothing has to be divided: either the distance to
//! the threshold, or the difference of two sums.

use secateur_certificate::{BandClaim, Claim, Effect, Statement};
use secateur_model::{
    ClassId, ClassLabels, Decision, Ensemble, Exact, FeatureId, LeafId, LocalRounding, Near, Order, Predictor,
};

use crate::one::{Classes, Range};
use crate::refused::{ModelRole, Refused};
use crate::scores::Scores;

/// The models that a certificate is about, and the numbers of its claim. Where it is about one model,
/// both are this one; where it is about moved columns, the second is the first one's twin
/// ([`Ensemble::twins`]).
pub struct Pair<'a> {
    /// The original as it was read. Lower bounds on smaller models use it, because they are about
    /// the inputs that the original itself accepts.
    pub(crate) read: &'a Ensemble,
    /// The original, with category codes translated to those that the pruned model has for the
    /// labels.
    pub(crate) original: &'a Ensemble,
    pub(crate) pruned: &'a Ensemble,
    pub(crate) claimed: Claimed,
    predictors: [Predictor<'a>; 2],
    one_model: bool,
    has_bounds: bool,
}

/// The statement of the claim, with its numbers.
pub(crate) enum Claimed {
    Decisions(Decisions),
    Scores(Scores),
    Range(Range),
    Class(Classes),
    Rises(Rises),
}

/// The numbers of a claim that a score never falls.
pub(crate) struct Rises {
    output: usize,
    /// It never rises, instead.
    falls: bool,
    /// The claim is about the numbers that the library computes.
    bits: bool,
}

/// One system of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// The original decides `winner`, and the pruned model does not put it above `other`.
    Classes {
        /// A class of the original.
        winner: ClassId,
        /// Another class of the original.
        other: ClassId,
    },
    /// The pruned model's score of an output is too far above the original's, or below it; a score
    /// is above its limit, or below it; the twin's score is above, or below, where it may not be.
    Output {
        /// The output.
        output: usize,
        /// The pruned model's score is below the original's; otherwise above it.
        below: bool,
    },
    /// The model decides a class that is not allowed.
    Class {
        /// The class.
        class: ClassId,
    },
}

/// The numbers of a claim about decisions.
pub(crate) struct Decisions {
    /// The pruned model's class for each class of the original.
    pub(crate) classes: Vec<ClassId>,
    /// `None` for exact arithmetic.
    pub(crate) band: Option<Exact>,
    /// The pruned model's rounding over all inputs.
    pub(crate) slack: Exact,
    /// The pruned model's rounding by input, where the claim announces it.
    pub(crate) local: Option<LocalRounding>,
}

impl<'a> Pair<'a> {
    /// The original as it was read, and both models with matched labels.
    pub fn new(
        read: &'a Ensemble,
        [original, pruned]: [&'a Ensemble; 2],
        claim: &Claim,
    ) -> Result<Self, Refused> {
        let models = [original, pruned];
        let claimed = match &claim.statement {
            &Statement::Decisions { band, local_rounding, .. } => {
                Claimed::Decisions(Decisions::new(models, band, local_rounding)?)
            }
            &Statement::Scores { within } => {
                Claimed::Scores(Scores::new(models, claim.original == claim.pruned, within)?)
            }
            Statement::Range { outputs } => Claimed::Range(Range::new(original, outputs)?),
            Statement::Class { allowed, near, .. } => {
                Claimed::Class(Classes::new(original, allowed, near.as_deref())?)
            }
            Statement::Moves { effect, .. } => match *effect {
                Effect::Apart { within } => Claimed::Scores(Scores::of_twins(models, within)?),
                Effect::Decides { band, local_rounding } => {
                    Claimed::Decisions(Decisions::new(models, band, local_rounding)?)
                }
                Effect::Rises { output, falls, bits } => {
                    Claimed::Rises(Rises::new(original, output, falls, bits)?)
                }
            },
        };
        let has_bounds = matches!(claim.statement, Statement::Decisions { .. });
        // Equal digests mean equal models, but the two are one model only if their cuts are equal
        // too. Twins are two models: they read different columns.
        let same_cuts = claim.cuts().is_none_or(|[first, second]| first == second);
        let one_model = has_bounds && claim.original == claim.pruned && same_cuts;
        let predictors = models.map(Predictor::new);
        Ok(Self { read, original, pruned, claimed, predictors, one_model, has_bounds })
    }

    /// Does the claim compare a model with itself? Then it holds: the band is at least the model's
    /// own rounding, so a lead above the band fixes the decision whatever the last bits are; and in
    /// exact arithmetic a model has only one result.
    pub fn is_one_model(&self) -> bool {
        self.one_model
    }

    /// The pruned model's rounding by input, where the claim announces it.
    pub(crate) fn local(&self) -> Option<&LocalRounding> {
        match &self.claimed {
            Claimed::Decisions(decisions) => decisions.local.as_ref(),
            _ => None,
        }
    }

    /// Do the problems have the trees of the second model, too? Where the claim is about one row of
    /// one model, they do not.
    pub(crate) fn lays_second(&self) -> bool {
        !matches!(self.claimed, Claimed::Range(_) | Claimed::Class(_))
    }

    /// The inputs near a row that the claim is about, if it is about these alone.
    pub(crate) fn near(&self) -> Option<&Near> {
        match &self.claimed {
            Claimed::Class(classes) => classes.near(),
            _ => None,
        }
    }

    /// The output of a claim about the library's own numbers that holds for each tree or not at all,
    /// and whether its score falls.
    pub(crate) fn treewise(&self) -> Option<(usize, bool)> {
        match &self.claimed {
            Claimed::Rises(own) if own.bits => Some((own.output, own.falls)),
            _ => None,
        }
    }

    /// The original and the pruned model, with matched labels.
    pub fn models(&self) -> [&'a Ensemble; 2] {
        [self.original, self.pruned]
    }

    /// Has the claim a system for each pair of classes?
    pub fn is_about_decisions(&self) -> bool {
        matches!(self.claimed, Claimed::Decisions(_))
    }

    /// May a certificate of the claim have bounds on smaller models? Only one that compares the
    /// decisions of two models.
    pub fn has_bounds(&self) -> bool {
        self.has_bounds
    }

    /// How many systems the claim has.
    pub fn systems(&self) -> u64 {
        match &self.claimed {
            Claimed::Decisions(decisions) => {
                let classes = decisions.classes.len() as u64;
                classes * classes.saturating_sub(1)
            }
            Claimed::Scores(scores) if scores.is_symmetric() => scores.outputs() as u64,
            Claimed::Scores(scores) => 2 * scores.outputs() as u64,
            Claimed::Range(range) => range.sides().len() as u64,
            Claimed::Class(classes) => classes.forbidden().len() as u64,
            Claimed::Rises(own) => u64::from(!own.bits),
        }
    }

    /// The system at this index, in the order of the certificate; `None` past the last one.
    pub fn question(&self, index: u64) -> Option<Question> {
        if index >= self.systems() {
            return None;
        }
        Some(match &self.claimed {
            Claimed::Decisions(decisions) => {
                let others = decisions.classes.len() as u64 - 1;
                let (winner, other) = (index / others, index % others);
                // The winner itself is left out.
                let other = other + u64::from(other >= winner);
                Question::Classes { winner: ClassId(winner as u32), other: ClassId(other as u32) }
            }
            Claimed::Scores(scores) if scores.is_symmetric() => {
                Question::Output { output: index as usize, below: false }
            }
            Claimed::Scores(_) => Question::Output { output: (index / 2) as usize, below: index % 2 == 1 },
            Claimed::Range(range) => {
                let (output, below) = range.sides().nth(index as usize)?;
                Question::Output { output, below }
            }
            Claimed::Class(classes) => Question::Class { class: classes.forbidden()[index as usize] },
            // A score that never falls is nowhere below.
            Claimed::Rises(own) => Question::Output { output: own.output, below: !own.falls },
        })
    }

    /// This row is the witness of a cell that solves a system. Does the claim hold there
    /// nevertheless, by the libraries' own arithmetic?
    pub(crate) fn holds_at(&self, row: &[f64], question: Question) -> Result<(), Refused> {
        match (&self.claimed, question) {
            (Claimed::Decisions(decisions), Question::Classes { winner, .. }) => {
                self.decides(decisions, row, winner)
            }
            (Claimed::Scores(scores), Question::Output { output, below }) => {
                scores.holds([self.original, self.pruned], &self.predictors, row, output, below)
            }
            (Claimed::Range(claimed), Question::Output { output, below }) => {
                claimed.holds(self.original, &self.predictors[0], row, output, below)
            }
            (Claimed::Class(claimed), Question::Class { class }) => {
                claimed.holds(self.original, &self.predictors[0], row, class)
            }
            // The claim is about exact sums, and these fall.
            (Claimed::Rises(own), Question::Output { output, .. }) => {
                Err(Refused::CellsFalls { input: row.to_vec(), output, falls: own.falls })
            }
            // Every claim has systems of one kind only.
            _ => unreachable!("a claim has systems of its own kind"),
        }
    }

    /// The score of an output on this row of the claim, for each of the models that are laid out, as
    /// the library computes it.
    pub(crate) fn shown(&self, output: u32, values: &[f64]) -> Result<Vec<f64>, Refused> {
        let columns = self.original.features().len();
        let refused = || Refused::ShownInput { values: values.len(), columns, output };
        let models = [self.original, self.pruned];
        let count = if self.lays_second() { 2 } else { 1 };
        if models.iter().any(|model| leaves(model, values).is_none()) {
            return Err(refused());
        }
        let score =
            |predictor: &Predictor<'_>| predictor.decided_scores(values).ok()?.get(output as usize).copied();
        self.predictors[..count].iter().map(|own| score(own).ok_or_else(refused)).collect()
    }

    /// Does the library loading the pruned model decide `winner` (as the original counts classes)
    /// on this row?
    fn decides(&self, decisions: &Decisions, row: &[f64], winner: ClassId) -> Result<(), Refused> {
        if decisions.band.is_none() {
            return Err(Refused::CellsSolution { input: row.to_vec(), winner: winner.0 });
        }
        let expected = decisions.classes[winner.index()];
        if self.pruned.decisions_vary() {
            return if self.certain(row, expected) {
                Ok(())
            } else {
                Err(Refused::CellsOrder { input: row.to_vec(), winner: winner.0 })
            };
        }
        match self.predictors[1].classes(row).as_deref() {
            Ok([class]) if *class == expected => Ok(()),
            _ => Err(Refused::CellsSolution { input: row.to_vec(), winner: winner.0 }),
        }
    }

    /// Does every lead of the class exceed the rounding that is possible with the leaves of this
    /// row, in any order of addition that the file allows?
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
        let Claimed::Decisions(Decisions { band, .. }) = &self.claimed else { return false };
        let band = band.clone().unwrap_or_else(Exact::zero);
        others(model, winner).all(|other| {
            let lead = Lead::of(model, winner, other);
            lead.total(&sums) > &band * &lead.divisor
        })
    }
}

impl Rises {
    fn new(model: &Ensemble, output: u32, falls: bool, bits: bool) -> Result<Self, Refused> {
        let outputs = model.group_count();
        if output as usize >= outputs {
            return Err(Refused::ClaimRange { output, outputs, limit: None });
        }
        // Two calls may add in two orders; and a sum that leaves the range of its type has no order.
        if bits && (model.accumulation().order != Order::File || model.score_rounding().is_none()) {
            return Err(Refused::ClaimTreewise);
        }
        Ok(Self { output: output as usize, falls, bits })
    }
}

impl Decisions {
    fn new(
        [original, pruned]: [&Ensemble; 2],
        band: BandClaim,
        local_rounding: bool,
    ) -> Result<Self, Refused> {
        let classes = match_classes(original, pruned).ok_or_else(|| Refused::ClaimClasses {
            original: original.classes().len(),
            pruned: pruned.classes().len(),
        })?;
        let mut slack = Exact::zero();
        let band = match band {
            BandClaim::Exact => None,
            BandClaim::Score(score) => {
                let none = |model| move || Refused::ClaimNoCertainMargin { model };
                let smallest = original.certain_margin().ok_or_else(none(ModelRole::Original))?;
                let rounding = pruned.certain_margin().ok_or_else(none(ModelRole::Pruned))?;
                slack = Exact::from_f64(rounding).ok_or_else(none(ModelRole::Pruned))?;
                let refused = || Refused::ClaimBand { band: score, smallest };
                if score.is_nan() || score < smallest {
                    return Err(refused());
                }
                Some(Exact::from_f64(score).ok_or_else(refused)?)
            }
        };
        let local = match (local_rounding, &band) {
            (false, _) => None,
            (true, None) => return Err(Refused::ClaimLocalRounding { exact: true }),
            (true, Some(_)) => {
                Some(pruned.local_rounding().ok_or(Refused::ClaimLocalRounding { exact: false })?)
            }
        };
        Ok(Self { classes, band, slack, local })
    }
}

/// The other classes.
pub(crate) fn others(model: &Ensemble, class: ClassId) -> impl Iterator<Item = ClassId> + use<> {
    model.classes().ids().filter(move |&other| other != class)
}

/// The leaves that a row reaches; `None` if the model does not accept the row or the claim leaves
/// it out.
pub(crate) fn leaves(model: &Ensemble, row: &[f64]) -> Option<Vec<LeafId>> {
    if row.len() != model.features().len() || !model.domain().contains(row) {
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
        let divisor = Exact::finite(model.accumulation().divisor());
        match *model.decision() {
            Decision::Threshold { group, threshold, strict } => {
                // Class 1 is ahead above the threshold, class 0 below it.
                let sign = if winner == ClassId(1) { 1 } else { -1 };
                let constant = &(&Exact::finite(threshold) * &divisor) * &Exact::from(-sign);
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

/// The class of the pruned model for each class of the original: matched by label if both have
/// labels, otherwise by position. `None` unless this pairs the classes one to one.
pub fn match_classes(original: &Ensemble, pruned: &Ensemble) -> Option<Vec<ClassId>> {
    let (ours, theirs) = (original.classes(), pruned.classes());
    // A model without classes (a regressor) has no pairs of classes: there would be no system to
    // prove, so a claim about decisions must be refused.
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
