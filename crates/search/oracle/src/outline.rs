//! The facts about a comparison that are known before the models are laid out: which classes belong
//! together, the band of the claim, and its inputs. Laying out a large forest takes long; this does
//! not.

use secateur_certificate::{BandClaim, Claim, Digest, Statement};
use secateur_model::{
    Accepted, ClassId, ClassLabels, Domain, DomainError, Ensemble, Grid, GridError, LabelError, LabelMatch,
    NoMargin,
};
use thiserror::Error;

use crate::compare::Comparison;
use crate::layout::{Layout, LayoutError};
use crate::stop::{SearchBudget, StopReason};
use crate::twins::Twins;

/// How close to A's decision boundary the claim applies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Band {
    /// The smallest band for which A's own decision is certain.
    Auto,
    /// Exact arithmetic, ties by the library's rule.
    Exact,
    /// Leads above this score.
    Score(f64),
}

/// Why two models cannot be compared.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
#[expect(missing_docs, reason = "each message says what its fields are")]
pub enum CompareError {
    #[error(transparent)]
    Grid(#[from] GridError),
    #[error(transparent)]
    Labels(#[from] LabelError),
    #[error("the domain does not fit the model: {0}")]
    Domain(#[from] DomainError),
    #[error("the budget ended before the models were laid out")]
    Stopped(StopReason),
    #[error(
        "the {model} model is a regressor or ranker, or gives a row several labels: it has no classes to choose \
         from, so there are no decisions to compare; ask how far the scores can be apart: verify --scores (verify(a, b, scores=True))"
    )]
    NoClasses { model: &'static str },
    #[error("the models have {first} and {second} classes")]
    ClassCount { first: usize, second: usize },
    #[error(
        "scores are not compared on every double for a domain that asks for the score of another model (where); leave out the \
         one or the other"
    )]
    ScoresWhere,
    #[error("the models have {first} and {second} scores, so there are no pairs of them to compare")]
    ScoreCount { first: usize, second: usize },
    #[error(
        "the models have the same classes in different orders, and so their scores are in different orders too"
    )]
    ScoreOrder,
    #[error("a sum of the {model} model may overflow, and then no bound holds for its scores")]
    ScoreOverflow { model: &'static str },
    #[error("the scores are averages whose divisors are too far apart to be compared exactly")]
    ScoreScale,
    #[error(
        "one of the models is looked at with a threshold of the caller's and the other with its library's own"
    )]
    OneCut,
    #[error("the models have different classes: {first} is not a class of the second")]
    ClassLabels { first: String },
    #[error("the {model} model: {why}")]
    NoCertainMargin { model: &'static str, why: NoMargin },
    #[error(
        "a band of {band} is below the rounding of the first model ({smallest}); use auto, 0, or a larger one"
    )]
    BandTooSmall { band: f64, smallest: f64 },
}

impl From<LayoutError> for CompareError {
    fn from(error: LayoutError) -> Self {
        match error {
            LayoutError::Grid(error) => Self::Grid(error),
            LayoutError::Stopped(reason) => Self::Stopped(reason),
        }
    }
}

/// Two models that can be compared, and the claim about them.
#[derive(Clone, Debug)]
pub struct Outline<'a> {
    /// The models as they were read.
    read: [&'a Ensemble; 2],
    /// The models over the same category codes.
    labels: LabelMatch<'a>,
    accepted: Accepted,
    classes: Vec<ClassId>,
    band: Option<f64>,
    slack: f64,
    twins: Option<&'a Twins<'a>>,
}

impl<'a> Outline<'a> {
    /// Matches the category labels and the classes of two models and finds the band. Their columns
    /// must be in the same order; category codes need not be, because they are matched by label
    /// (see [`LabelMatch`]).
    pub fn new(first: &'a Ensemble, second: &'a Ensemble, band: Band) -> Result<Self, CompareError> {
        let read = [first, second];
        for (model, name) in [(first, "first"), (second, "second")] {
            if !model.decision().is_classifier() {
                return Err(CompareError::NoClasses { model: name });
            }
        }
        if first.cut().is_some() != second.cut().is_some() {
            return Err(CompareError::OneCut);
        }
        let labels = LabelMatch::new(first, second)?;
        let classes = match_classes(first, second)?;
        let (band, slack) = match band {
            Band::Exact => (None, 0.0),
            Band::Auto | Band::Score(_) => {
                let smallest = certain_margin(first, "first")?;
                let slack = certain_margin(second, "second")?;
                match band {
                    Band::Score(band) if band.is_nan() || band < smallest => {
                        return Err(CompareError::BandTooSmall { band, smallest });
                    }
                    Band::Score(band) => (Some(band), slack),
                    _ => (Some(smallest), slack),
                }
            }
        };
        let accepted = Grid::common_intake(&[first, second])?;
        if !first.domain().is_everything() {
            // A domain that the second model does not accept is an error here, as it is in the
            // checker.
            second.within(first.domain())?;
        }
        Ok(Self { read, labels, accepted, classes, band, slack, twins: None })
    }

    /// A model and its twin, paired freely: do decisions change when columns move?
    pub fn of_twins(twins: &'a Twins<'a>, band: Band) -> Result<Self, CompareError> {
        let [model, twin] = twins.models();
        Ok(Self { twins: Some(twins), ..Self::new(model, twin, band)? })
    }

    /// Lays the models out; [`CompareError::Stopped`] if the budget ends first.
    pub fn lay_out(self, budget: &SearchBudget) -> Result<Comparison<'a>, CompareError> {
        let Self { read, labels, classes, band, slack, twins, .. } = self;
        let [first, second] = labels.models();
        // If the second model may round more than the band, a bound by input is worth its cost.
        // Otherwise models that differ only by rounding would trigger an exhaustive search for
        // ties.
        let local = if band.is_some_and(|band| slack > band) { second.local_rounding() } else { None };
        let layout = match &local {
            Some(local) => Layout::with_rounding(first, second, local, budget)?,
            None if twins.is_some() => Layout::of_twins(&[first, second], budget)?,
            None => Layout::within(&[first, second], budget)?,
        };
        Ok(Comparison { read, labels, layout, classes, band, slack, local, twins })
    }

    /// The band of the claim, as a score; zero for exact arithmetic.
    pub fn band(&self) -> f64 {
        self.band.unwrap_or(0.0)
    }

    /// The second model's class that has the label of a class of the first.
    pub fn class_in_second(&self, class: ClassId) -> ClassId {
        self.classes[class.index()]
    }

    /// Are the two models equal in every number and name, so that there is nothing to prove? The
    /// claim then holds by itself: if a lead exceeds the band, which is at least the model's
    /// rounding, the decision is certain.
    pub fn is_same_model(&self) -> bool {
        let [first, second] = self.read;
        second.within(first.domain()).is_ok_and(|second| *first == *second)
    }

    /// The claim of a certificate without systems, for models with [nothing to
    /// prove](Self::is_same_model).
    pub fn claim_of_same_model(&self) -> Claim {
        let [original, pruned] = self.read.map(Digest::of);
        let band = self.band.map_or(BandClaim::Exact, BandClaim::Score);
        let cuts = self.read[0].cut().zip(self.read[1].cut()).map(|(first, second)| [first, second]);
        let statement = Statement::Decisions { band, local_rounding: false, cuts };
        Claim { original, pruned, statement, domain: self.domain() }
    }

    /// How category labels were matched, and the meaning of a row's codes.
    pub fn labels(&self) -> &LabelMatch<'a> {
        &self.labels
    }

    /// The inputs that both models accept.
    pub fn accepted(&self) -> &Accepted {
        &self.accepted
    }

    /// The decimal logarithm of the number of cells of the claim's inputs; `None` if the models
    /// have no common grid.
    pub fn log10_cells(&self) -> Option<f64> {
        Grid::new(&self.labels.models()).ok().map(|grid| grid.log10_cells())
    }

    /// The inputs of the claim. If a model accepts no missing values, the domain says nothing about
    /// them, because there are none to exclude.
    pub fn domain(&self) -> Domain {
        inputs(self.read)
    }
}

/// The smallest band of a model, or why there is none.
pub(crate) fn certain_margin(model: &Ensemble, name: &'static str) -> Result<f64, CompareError> {
    let overflow = NoMargin::Overflow(model.accumulation().number);
    model.certain_margin().ok_or_else(|| CompareError::NoCertainMargin {
        model: name,
        why: model.no_margin().unwrap_or(overflow),
    })
}

/// The inputs of a claim about two models: the domain of the model that has one. If a model accepts
/// no missing values, the domain says nothing about them.
pub(crate) fn inputs(models: [&Ensemble; 2]) -> Domain {
    let limited = models.iter().find(|model| !model.domain().is_everything());
    let domain = limited.map_or_else(Domain::everything, |model| model.domain().clone());
    let both_accept = models.iter().all(|model| model.accepts_missing());
    if both_accept { domain } else { domain.without_missing_values() }
}

/// The class of the second model for each class of the first: matched by label if both have labels,
/// otherwise by position.
pub(crate) fn match_classes(first: &Ensemble, second: &Ensemble) -> Result<Vec<ClassId>, CompareError> {
    let (ours, theirs) = (first.classes(), second.classes());
    if ours.len() != theirs.len() {
        return Err(CompareError::ClassCount { first: ours.len(), second: theirs.len() });
    }
    let ids = || (0..ours.len()).map(ClassId::new);
    if matches!(ours, ClassLabels::Unnamed(_)) || matches!(theirs, ClassLabels::Unnamed(_)) {
        return Ok(ids().collect());
    }
    ids()
        .map(|class| {
            ids()
                .find(|&other| ours.is_same(class, theirs, other))
                .ok_or_else(|| CompareError::ClassLabels { first: ours.text(class).into_owned() })
        })
        .collect()
}
